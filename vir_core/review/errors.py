"""Why a verdict was not given. `message` and `hint` are whole sentences; the verbs' table knows the kind of each."""

from __future__ import annotations


class ReviewError(Exception):
    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NotFound(ReviewError):
    """No note, lesson or key has that id."""


class HumanRequired(ReviewError):
    """Only a person can do this, and nothing here proves that one did."""


class Conflict(ReviewError):
    """What the person saw is not what is there now; nothing was changed."""


class NewerData(ReviewError):
    """A newer vir decided something about the note that this version does not know."""
