"""Answering without an index: BM25 in memory over the passages themselves, with the index's own terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from math import log

import msgspec

from vir_core.index import FREQUENCY_CAP, Found, Kind, Match, Passage, Terms, tokens
from vir_core.text import identifier_tokens

_K1 = 1.2
_B = 0.75
_MATCH_FIELDS = tuple(name for name in Match.__struct_fields__ if not name.endswith("_score"))


class Scan:
    """A `Source` over passages in memory. It ranks as the index does (BM25 with k1 1.2, b 0.75), and costs a look at every
    passage: a few seconds for ten thousand notes."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._passages = list(passages)

    def search(
        self,
        terms: Terms,
        limit: int,
        *,
        categories: Collection[str] = (),
        projects: Collection[str] = (),
        notes: Collection[str] = (),
        since: str = "",
        meanwhile: Callable[[], None] | None = None,
    ) -> Found:
        """As `Index.search`; raises nothing."""
        if meanwhile:
            meanwhile()
        words = self._column(_stems(terms.words), _WordsColumn(self._passages))
        idents = self._column({term: term for term in terms.idents}, _IdentsColumn(self._passages))
        frequency: dict[str, int] = {}
        for scores in (words, idents):
            for term, count in scores[1].items():
                frequency[term] = min(FREQUENCY_CAP, max(frequency.get(term, 0), count))
        allowed = {
            number
            for number, passage in enumerate(self._passages)
            if _fits(passage, categories=categories, projects=projects, notes=notes, since=since)
        }
        tops = [_top(scores[0], allowed, limit) for scores in (words, idents)]
        matches = [
            _match(self._passages[number], words[0].get(number, 0.0), idents[0].get(number, 0.0))
            for number in dict.fromkeys([*tops[0], *tops[1]])
        ]
        return Found(
            matches=tuple(matches),
            frequency=frequency,
            passages=len(self._passages),
            complete=all(len(top) < limit for top in tops),
        )

    def by_key(self, keys: Collection[str]) -> dict[str, Match]:
        """As `Index.by_key`."""
        return {passage.key: _match(passage, 0.0, 0.0) for passage in self._passages if passage.key in keys}

    def passages(
        self,
        *,
        notes: Collection[str] = (),
        blocks: Collection[str] = (),
        kinds: Collection[Kind] = (),
        categories: Collection[str] = (),
        projects: Collection[str] = (),
        since: str = "",
    ) -> tuple[Match, ...]:
        """As `Index.passages`."""
        return tuple(
            _match(passage, 0.0, 0.0)
            for passage in self._passages
            if _fits(passage, categories=categories, projects=projects, notes=notes, since=since)
            and (not blocks or passage.block in blocks)
            and (not kinds or passage.kind in kinds)
        )

    def newest(
        self, limit: int, *, categories: Collection[str] = (), projects: Collection[str] = (), since: str = ""
    ) -> tuple[str, ...]:
        """As `Index.newest`."""
        dates = {
            passage.note: passage.date
            for passage in self._passages
            if _fits(passage, categories=categories, projects=projects, notes=(), since=since)
        }
        return tuple(sorted(dates, key=lambda note: (dates[note], note), reverse=True)[:limit])

    def _column(
        self, terms: dict[str, str], column: _WordsColumn | _IdentsColumn
    ) -> tuple[dict[int, float], dict[str, int]]:
        """Scores by passage number, and passages per surface term. `terms` maps a term of the column to its surface."""
        counted = column.counted(terms)
        total = len(self._passages)
        average = sum(column.lengths) / total if total else 1.0
        holding = Counter(term for counts, _ in counted.values() for term in counts)
        scores: dict[int, float] = {}
        for number, (counts, length) in counted.items():
            norm = _K1 * (1 - _B + _B * length / (average or 1.0))
            scores[number] = sum(
                log(1 + (total - holding[term] + 0.5) / (holding[term] + 0.5)) * count * (_K1 + 1) / (count + norm)
                for term, count in counts.items()
            )
        return scores, {surface: holding[term] for term, surface in terms.items()}


class _WordsColumn:
    def __init__(self, passages: Sequence[Passage]) -> None:
        self._texts = [f"{passage.title}\n{passage.text}" for passage in passages]
        # Stop words are not counted by the index; they are half of a text, and the average length is off by as much.
        self.lengths = [max(1, len(text.split()) * 6 // 10) for text in self._texts]

    def counted(self, terms: dict[str, str]) -> dict[int, tuple[Counter[str], int]]:
        # Cutting a text into stems is the cost, so only texts that hold the beginning of a term are cut.
        needles = [_needle(term) for term in terms]
        counted: dict[int, tuple[Counter[str], int]] = {}
        for number, text in enumerate(self._texts):
            lowered = text.lower()
            if lowered.isascii() and not any(needle in lowered for needle in needles):
                continue
            cut = tokens(text, "words")
            counts = Counter(token for token in cut if token in terms)
            if counts:
                counted[number] = counts, len(cut)
        return counted


class _IdentsColumn:
    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self.lengths = [max(1, len(passage.ident.split())) for passage in passages]

    def counted(self, terms: dict[str, str]) -> dict[int, tuple[Counter[str], int]]:
        counted: dict[int, tuple[Counter[str], int]] = {}
        for number, passage in enumerate(self._passages):
            cut = passage.ident.split() or identifier_tokens(f"{passage.title}\n{passage.text}")
            counts = Counter(token for token in cut if token in terms)
            if counts:
                counted[number] = counts, len(cut)
        return counted


def _fits(
    passage: Passage, *, categories: Collection[str], projects: Collection[str], notes: Collection[str], since: str
) -> bool:
    return (
        (not categories or passage.category in categories)
        and (not projects or passage.project in projects)
        and (not notes or passage.note in notes)
        and passage.date >= since
    )


def _stems(words: Iterable[str]) -> dict[str, str]:
    return {stem: word for word in words for stem in tokens(word, "words")}


def _needle(stem: str) -> str:
    """What any word of this stem holds: `happi` comes from happy, so the last letter is not sure."""
    return stem if len(stem) < 4 else stem[:-1]


def _top(scores: dict[int, float], allowed: set[int], limit: int) -> list[int]:
    return sorted((number for number in scores if number in allowed), key=lambda number: (-scores[number], number))[
        :limit
    ]


def _match(passage: Passage, words_score: float, idents_score: float) -> Match:
    fields = {name: getattr(passage, name) for name in _MATCH_FIELDS}
    return msgspec.convert({**fields, "words_score": words_score, "idents_score": idents_score}, Match)
