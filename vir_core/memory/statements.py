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

PLACES = ("title", "summary", "context")


class Statement(Struct, frozen=True, kw_only=True):
    """One piece of a note. `place` is a lesson's id, or title, summary or context."""

    place: str
    text: str
    lead: str = ""

    @property
    def is_lesson(self) -> bool:
        return self.place not in PLACES

    @property
    def whole(self) -> str:
        return f"{self.lead} {self.text}".strip()

    def values(self, secret: Secret) -> tuple[str, ...]:
        """A lesson is the same with its lead, and without it where the lead adds nothing or the text is long enough to
        stand alone."""
        if not self.is_lesson or not self.lead or not self.text:
            return secret.values(self.whole)
        words = said(self.text).split()
        alone = len(words) >= _ALONE or set(said(self.lead).split()) <= set(words)
        return secret.values(self.whole, *((self.text,) if alone else ()))


def statements_of(note: NoteFile, title: str = "") -> tuple[Statement, ...]:
    """Lessons first, then the title and each sentence of summary and context. The words a distiller puts before a sentence
    of the summary are none of them."""
    found = [
        Statement(place=one.block, lead=plain(one.lead).rstrip(".。:："), text=plain(one.text)) for one in note.lessons
    ]
    if title.strip():
        found.append(Statement(place="title", text=title))
    for place in ("summary", "context"):
        found += [Statement(place=place, text=bare(part)) for part in sentences(plain(note.sections.get(place, "")))]
    return tuple(found)


def bare(sentence: str) -> str:
    """A sentence of a summary without the word that a distiller puts before it."""
    return _LABEL.sub("", sentence)


def values_of(note: NoteFile, secret: Secret, lessons: Collection[str] = ()) -> tuple[str, ...]:
    """The values of these lessons of a note, of all of them when none is named."""
    found = {
        value
        for one in statements_of(note)
        if one.is_lesson and (not lessons or one.place in lessons)
        for value in one.values(secret)
    }
    return tuple(sorted(found))
