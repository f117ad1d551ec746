"""What a note states, piece by piece, and the values under which a rejected statement is known again.

Both sides of every comparison are read from a note body as it is written, so that escapes and marks which make words inert
leave no trace in a value.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec import Struct

from vir_core.text import said, sentences
from vir_core.vault import NoteFile, Secret, plain

_LABEL = re.compile(r"(?:Asked|Then|Outcome): ")
# Fewer words can mean another thing under another lead: "use tabs" of a Makefile and of Python.
_ALONE = 5


class Statement(Struct, frozen=True, kw_only=True):
    """One piece of a note. `lesson` is the lesson's id, empty for the title and for sentences of summary and context."""

    text: str
    lead: str = ""
    lesson: str = ""

    @property
    def whole(self) -> str:
        return f"{self.lead} {self.text}".strip()

    def values(self, secret: Secret) -> tuple[str, ...]:
        """A lesson is the same with its lead, and without it where the lead adds nothing or the text is long enough to
        stand alone."""
        if not self.lesson or not self.lead or not self.text:
            return secret.values(self.whole)
        words = said(self.text).split()
        alone = len(words) >= _ALONE or set(said(self.lead).split()) <= set(words)
        return secret.values(self.whole, *((self.text,) if alone else ()))


def statements_of(note: NoteFile, title: str = "") -> tuple[Statement, ...]:
    """Lessons first, then the title and each sentence of summary and context. The words a distiller puts before a sentence
    of the summary are none of them."""
    lessons = [
        Statement(lesson=one.block, lead=plain(one.lead).rstrip(".。:："), text=plain(one.text)) for one in note.lessons
    ]
    parts = [title]
    for section in ("summary", "context"):
        parts += [_LABEL.sub("", part) for part in sentences(plain(note.sections.get(section, "")))]
    known = {said(one.text) for one in lessons}
    return (*lessons, *(Statement(text=part) for part in parts if part.strip() and (said(part) or part) not in known))


def values_of(note: NoteFile, secret: Secret, lessons: Collection[str] = ()) -> tuple[str, ...]:
    """The values of these lessons of a note, of all of them when none is named."""
    found = {
        value
        for one in statements_of(note)
        if one.lesson and (not lessons or one.lesson in lessons)
        for value in one.values(secret)
    }
    return tuple(sorted(found))
