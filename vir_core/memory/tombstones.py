"""Rejected statements: which values stand, and what they do to notes whose lines came before or after them.

A tombstone is laid by a line that rejects (or forgets) and stands as long as that line does. Everything here is derived from
sets, so that any order of lines gives the same answer. Only equal values count; what merely resembles a rejected statement
is found by a run and journaled as `held`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from vir_core.contract import Trust


class Laid(Struct, frozen=True, array_like=True, gc=False):
    """What one line rejected. `note` is the note it was said in (empty when that is forgotten), `lessons` those it names,
    none for all; `text` is the digest of the words as they were rejected, when they are other than vir wrote."""

    line: str
    note: str
    reason: str
    values: tuple[str, ...]
    lessons: tuple[str, ...] = ()
    text: str = ""
    when: str = ""


class LessonRef(Struct, frozen=True, array_like=True, gc=False):
    """A lesson of the note as vir wrote it last: its id, the digest of its evidence, its values."""

    id: str
    evidence: str = ""
    values: tuple[str, ...] = ()


class Tombstones:
    """The tombstones in force. Empty for a vault where nothing was rejected as wrong or private."""

    def __init__(self, laid: Iterable[Laid], lifted: frozenset[str] = frozenset()) -> None:
        """`lifted` are values that a person lifted by themselves."""
        self.laid: dict[str, Laid] = {one.line: one for one in sorted(laid, key=lambda one: (one.when, one.line))}
        self.lifted = lifted
        self._by_value: dict[str, list[Laid]] = {}
        for one in self.laid.values():
            for value in one.values:
                if value not in lifted:
                    self._by_value.setdefault(value, []).append(one)

    def __bool__(self) -> bool:
        return bool(self._by_value)

    @property
    def values(self) -> Mapping[str, list[Laid]]:
        return self._by_value

    def refused(self, values: Iterable[str], note: str) -> Laid | None:
        """What refuses a statement with one of these values in this note. A verdict on a note says everything about its own
        statements, so its own tombstones do nothing to it."""
        for value in values:
            for one in self._by_value.get(value, ()):
                if one.note != note:
                    return one
        return None

    def struck(self, note: str, lessons: Iterable[LessonRef]) -> list[str]:
        """The lessons of a note that state what was rejected elsewhere."""
        return [one.id for one in lessons if self.refused(one.values, note)]

    def trust(self, note: str, lessons: tuple[LessonRef, ...], parts: Iterable[str]) -> Trust | None:
        """What these tombstones make of a whole note: nothing is left of it (rejected), or its title or a sentence of its
        summary says the same (it waits for the person); `None` when at most some lessons are touched."""
        if lessons and len(self.struck(note, lessons)) == len(lessons):
            return "rejected"
        return "proposed" if any(self.refused((value,), note) for value in parts) else None
