"""What a run does about statements that were rejected: the same one is not written, one that resembles it waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from vir_core.journal import Draft, Texts
from vir_core.memory import Held, Laid, Memory, Statement, Tombstones, statements_of
from vir_core.text import Weights, closeness, weights
from vir_core.vault import NoteFile, Secret, Vault, parse

TOKENS = 0.55
"""From this closeness of their words on, one statement resembles another. See `evals/nearmatch`."""


class Meaning(Struct, frozen=True):
    """An embedder's word on how near two statements are, and from where on one resembles the other."""

    closeness: Callable[[str, str], float]
    threshold: float


class Likeness(Struct, frozen=True):
    """`like` is what was rejected, `n…#l…`; `lesson` the lesson that resembles it, empty for title, summary and context."""

    like: str
    lesson: str
    closeness: float


def held_line(note: str, like: Likeness) -> Draft:
    held = Held(reason="resembles", like=like.like, lesson=like.lesson)
    return Draft(action="held", subject=note, data=held, must=True)


class _Rejected(Struct, frozen=True):
    name: str
    note: str
    text: str
    weights: Weights


class Refuser:
    """The rejected statements of one vault, asked about statements that would be written. Their words are read from `texts/`
    when the first is asked about: a vault where nothing stands rejected pays nothing."""

    def __init__(self, vault: Vault, memory: Memory, tombstones: Tombstones, meaning: Meaning | None = None) -> None:
        self._vault = vault
        self._memory = memory
        self._texts = Texts(vault.store)
        self._meaning = meaning
        self._words: dict[str, tuple[_Rejected, ...]] = {}
        self.tombstones = tombstones

    def refused(self, note: str, parsed: NoteFile, secret: Secret) -> dict[str, tuple[str, ...]]:
        """The lessons of a note that say exactly what was rejected, each with the values that refuse it."""
        found: dict[str, tuple[str, ...]] = {}
        for one in statements_of(parsed) if self.tombstones else ():
            if one.lesson:
                values = tuple(value for value in one.values(secret) if self.tombstones.refused((value,), note))
                if values:
                    found[one.lesson] = values
        return found

    def resembles(
        self,
        note: str,
        statements: Iterable[Statement],
        *,
        among: Iterable[Laid] | None = None,
        known: Iterable[str] = (),
    ) -> Likeness | None:
        """The nearest of what was rejected in other notes, when it is near enough. `among` narrows what is asked; `known`
        are names that this note was held beside before, which a person has seen."""
        best: Likeness | None = None
        passed = frozenset(known)
        rejected = [
            one
            for laid in (self.tombstones.laid.values() if among is None else among)
            if laid.note != note
            for one in self._rejected(laid)
            if one.name not in passed and one.note != note
        ]
        if not rejected:
            return None
        for statement in statements:
            mine = weights(statement.whole)
            for one in rejected:
                near = self._near(statement.whole, mine, one)
                if near is not None and (best is None or near > best.closeness):
                    best = Likeness(one.name, statement.lesson, round(near, 3))
        return best

    def words_of(self, laid: Laid) -> tuple[str, ...]:
        """The statements that one line rejected; none when their words are destroyed or have not arrived."""
        return tuple(one.text for one in self._rejected(laid))

    def _near(self, text: str, mine: Weights, other: _Rejected) -> float | None:
        near = closeness(mine, other.weights)
        if near >= TOKENS:
            return near
        if self._meaning is not None:
            meant = self._meaning.closeness(text, other.text)
            if meant >= self._meaning.threshold:
                return meant
        return None

    def _rejected(self, laid: Laid) -> tuple[_Rejected, ...]:
        """The words of one tombstone: as they were rejected, and as vir wrote them. None when they are destroyed or have not
        arrived; then the values alone decide."""
        known = self._words.get(laid.line)
        if known is None:
            known = self._words[laid.line] = tuple(self._read(laid))
        return known

    def _read(self, laid: Laid) -> Iterable[_Rejected]:
        state = self._memory.notes.get(laid.note)
        digests = {laid.text, state.written.text if state and state.written else ""} - {""}
        seen: set[str] = set()
        for digest in sorted(digests):
            text = self._texts.get(digest)
            if text is None:
                continue
            for one in statements_of(parse(text.body, self._vault.config.prefix)):
                if one.lesson and (not laid.lessons or one.lesson in laid.lessons) and one.whole not in seen:
                    seen.add(one.whole)
                    yield _Rejected(f"{laid.note}#{one.lesson}", laid.note, one.whole, weights(one.whole))
