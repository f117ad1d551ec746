"""Where a person judges notes: in which order to look, all that is known of one note, a verdict with or without proof, and what
it does to the history and to the files on this device. Stopping a note needs nobody's proof; letting one back in does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vir_core.review.committing import stated
    from vir_core.review.copies import finish
    from vir_core.review.errors import Conflict, HumanRequired, NewerData, NotFound
    from vir_core.review.flagging import called_wrong, flag
    from vir_core.review.proving import Ask
    from vir_core.review.verb import review

__all__ = [
    "Ask",
    "Conflict",
    "HumanRequired",
    "NewerData",
    "NotFound",
    "called_wrong",
    "finish",
    "flag",
    "review",
    "stated",
]

_HOME = {
    "Ask": "proving",
    "Conflict": "errors",
    "HumanRequired": "errors",
    "NewerData": "errors",
    "NotFound": "errors",
    "called_wrong": "flagging",
    "finish": "copies",
    "flag": "flagging",
    "review": "verb",
    "stated": "committing",
}


def __getattr__(name: str) -> object:
    # A surface asks for the kinds of error long before anybody judges, and should not load all of this for it.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
