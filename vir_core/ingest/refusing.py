"""What a run does about statements that were rejected: the same one is not written, one that resembles it waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct, structs

from vir_core.journal import Draft as LineDraft
from vir_core.journal import Texts
from vir_core.memory import Held, Laid, Memory, Statement, Tombstones, bare, statements_of
from vir_core.text import Weights, closeness, sentences, weights
from vir_core.vault import Draft, Secret, Vault, parse, render

TOKENS = 0.55
"""From this closeness of their words on, one statement resembles another. See `evals/nearmatch`."""


class Meaning(Struct, frozen=True):
    """An embedder's word on how near two statements are, and from where on one resembles the other."""

    closeness: Callable[[str, str], float]
    threshold: float


class Likeness(Struct, frozen=True):
    """`like` is what was rejected, `n…#l…`; `place` the lesson that resembles it, or title, summary or context."""

    like: str
    place: str
    closeness: float


def held_line(note: str, like: Likeness) -> LineDraft:
    held = Held(reason="resembles", like=like.like, place=like.place)
    return LineDraft(action="held", subject=note, data=held, must=True)


class Cleared(Struct, frozen=True):
    """`draft` is `None` when nothing is left. `values` are those of what was left out, `lessons` how many lessons were."""

    draft: Draft | None
    values: tuple[str, ...] = ()
    lessons: int = 0


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

    def clear(self, draft: Draft, secret: Secret) -> Cleared:
        """The draft without what says exactly what was rejected."""
        if not self.tombstones:
            return Cleared(draft)
        prefix = self._vault.config.prefix
        refused: dict[str, set[str]] = {}
        for one in statements_of(parse(render(draft, prefix).content, prefix), draft.title):
            if values := {value for value in one.values(secret) if self.tombstones.refuse((value,))}:
                refused.setdefault(one.place, set()).update(values)
        if not refused:
            return Cleared(draft)
        lessons = tuple(lesson for lesson in draft.lessons if lesson.id not in refused)
        values = tuple(sorted({value for found in refused.values() for value in found}))
        left_out = len(draft.lessons) - len(lessons)
        if not lessons:
            return Cleared(None, values, left_out)
        grounded = f"{len(lessons)} of {len(lessons)} lessons quote words found in the session"
        cleared = structs.replace(
            draft,
            title=_headline(lessons[0].text) if "title" in refused else draft.title,
            summary=self._without(draft.summary, secret) or lessons[0].text,
            context=self._without(draft.context, secret),
            lessons=lessons,
            grounded=grounded if left_out else draft.grounded,
        )
        return Cleared(cleared, values, left_out)

    def _without(self, text: str, secret: Secret) -> str:
        kept = [part for part in sentences(text) if not self.tombstones.refuse(secret.values(bare(part)))]
        return text if len(kept) == len(list(sentences(text))) else " ".join(kept)

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
                    best = Likeness(one.name, statement.place, round(near, 3))
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
                if one.is_lesson and (not laid.lessons or one.place in laid.lessons) and one.whole not in seen:
                    seen.add(one.whole)
                    yield _Rejected(f"{laid.note}#{one.place}", laid.note, one.whole, weights(one.whole))


_LONGEST_TITLE = 80


def _headline(text: str) -> str:
    """The first sentence, cut at a word."""
    first = next(sentences(text), text).rstrip(".。")
    if len(first) <= _LONGEST_TITLE:
        return first
    return first[: _LONGEST_TITLE - 1].rpartition(" ")[0] + "…"
