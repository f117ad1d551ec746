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

    def refuse(self, values: Iterable[str]) -> bool:
        """Whether a statement with one of these values was rejected."""
        return any(value in self._by_value for value in values)

    def struck(self, lessons: Iterable[LessonRef], parts: Mapping[str, tuple[str, ...]]) -> list[str]:
        """What of a note says the same as something rejected: ids of lessons, and `summary` or `context` whole."""
        return [one.id for one in lessons if self.refuse(one.values)] + [
            place for place in ("summary", "context") if self.refuse(parts.get(place, ()))
        ]

    def trust(self, note: str, lessons: tuple[LessonRef, ...], parts: Mapping[str, tuple[str, ...]]) -> Trust | None:
        """What was rejected in other notes makes of this one: nothing is left of it (rejected), or its title, which stands on
        every answer, says the same (it waits for the person). `None` when at most parts of it are struck."""
        if lessons and all(self._elsewhere(one.values, note) for one in lessons):
            return "rejected"
        return "proposed" if self._elsewhere(parts.get("title", ()), note) else None

    def _elsewhere(self, values: Iterable[str], note: str) -> bool:
        return any(one.note != note for value in values for one in self._by_value.get(value, ()))
