"""Rejected statements: which values stand, and what they do to notes whose lines came before or after them.

A tombstone is laid by a line that rejects (or forgets) and stands as long as that line does. Everything here is derived from
sets, so that any order of lines gives the same answer. Only equal values count; what merely resembles a rejected statement
is found by a run and journaled as `held`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, structs

from vir_core.memory.standing import Standing


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

    def __init__(self, laid: Iterable[Laid], freed: frozenset[tuple[str, str]] = frozenset()) -> None:
        """`freed` are the values that a person said may come back, each with the note it was rejected in."""
        self.laid: dict[str, Laid] = {one.line: one for one in sorted(laid, key=lambda one: (one.when, one.line))}
        self._by_value: dict[str, list[Laid]] = {}
        for one in self.laid.values():
            for value in one.values:
                if (one.note, value) not in freed:
                    self._by_value.setdefault(value, []).append(one)

    def __bool__(self) -> bool:
        return bool(self._by_value)

    def refuse(self, values: Iterable[str]) -> bool:
        """Whether a statement with one of these values was rejected."""
        return any(value in self._by_value for value in values)

    def over(
        self, standing: Standing, note: str, lessons: tuple[LessonRef, ...], parts: Mapping[str, tuple[str, ...]]
    ) -> Standing:
        """How a note stands that stood so by itself. Lessons, and summary and context as wholes, are struck where they say
        what was rejected, in this note or another. When other notes leave no lesson of it, it is rejected with them; when
        its title, which stands on every answer, says the same, it waits."""
        refused = [one.id for one in lessons if self.refuse(one.values)]
        refused += [place for place in ("summary", "context") if self.refuse(parts.get(place, ()))]
        holds: list[str] = []
        if lessons and all(self._elsewhere(one.values, note) for one in lessons):
            holds.append("tombstoned")
        if self._elsewhere(parts.get("title", ()), note):
            holds.append("retold")
        if not refused and not holds:
            return standing
        return structs.replace(
            standing,
            struck=standing.struck.union(refused),
            refused=frozenset(refused) - standing.struck,
            holds=standing.holds.union(holds),
        )

    def _elsewhere(self, values: Iterable[str], note: str) -> bool:
        return any(one.note != note for value in values for one in self._by_value.get(value, ()))
