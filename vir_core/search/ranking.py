"""Ranking: pure, from what the index found to an order."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

from msgspec import Struct

from vir_core.index import Found, Match, Terms, tokens
from vir_core.text import identifier_tokens

IDENTS_WEIGHT = 0.6
"""BM25 of the identifier column counts this much beside the words: most plain words stand in one column only, and a
whole identifier is rare enough to lead anyway."""

IDENTIFIER_WEIGHT = 2.0
"""An identifier says more about what is meant than a word as rare as it: one known error code in a long complaint is an
answer, one known verb is not."""

LEAST_COVERAGE = 0.25
"""A passage that covers less than this share of the question's weight shares only its small talk. Between 0.20 and 0.45
the choice was measured to make no difference to questions asked in the note's own words."""

KIND_WEIGHT: Mapping[str, float] = {"lesson": 1.0, "summary": 0.9, "context": 0.6}
"""A lesson answers, a summary says what was asked, and a context names the branch and the files, which share the question's
words without saying anything about it."""

COUNTED_TERMS = 12
"""The share is taken of the heaviest terms only: of a pasted error of forty words nobody's note holds ten."""


class Ranked(Struct, frozen=True, kw_only=True):
    """`score` is BM25 weighed by coverage and compares within one search only. `coverage` is the share of the
    question's weight that the passage holds, in [0, 1]; `terms` are the question's terms in it."""

    match: Match
    score: float
    coverage: float
    terms: tuple[str, ...]


def rank(terms: Terms, found: Found) -> list[Ranked]:
    """Passages, best first, those that share too little with the question left out. Equal scores are ordered by note and
    anchor, so that two runs answer alike."""
    weights = _weights(terms, found)
    total = sum(sorted(weights.values(), reverse=True)[:COUNTED_TERMS])
    if not total:
        return []
    stems = {term: frozenset(tokens(term, "words")) for term in terms.words}
    ranked: list[Ranked] = []
    for match in found.matches:
        held = _held(terms, stems, match)
        coverage = min(1.0, sum(weights[term] for term in held) / total)
        if coverage < LEAST_COVERAGE:
            continue
        score = (
            (match.words_score + IDENTS_WEIGHT * match.idents_score) * (0.5 + 0.5 * coverage) * KIND_WEIGHT[match.kind]
        )
        ranked.append(Ranked(match=match, score=score, coverage=coverage, terms=held))
    return sorted(ranked, key=lambda one: (-one.score, one.match.note, one.match.anchor))


def _weights(terms: Terms, found: Found) -> dict[str, float]:
    """What each term says: its idf. A term that stands nowhere weighs most: a question made of such terms has no answer here."""
    weights: dict[str, float] = {}
    for term in dict.fromkeys([*terms.words, *terms.idents]):
        frequency = found.frequency.get(term, 0)
        passages = max(found.passages, frequency)
        idf = log(1 + (passages - frequency + 0.5) / (frequency + 0.5))
        weights[term] = idf * IDENTIFIER_WEIGHT if frequency and term in terms.marked else idf
    return weights


def _held(terms: Terms, stems: Mapping[str, frozenset[str]], match: Match) -> tuple[str, ...]:
    text = f"{match.title}\n{match.text}"
    words = frozenset(tokens(text, "words"))
    held = [term for term in terms.words if stems[term] & words]
    if terms.idents:
        idents = frozenset(identifier_tokens(text))
        held += [term for term in terms.idents if term in idents]
    return tuple(dict.fromkeys(held))
