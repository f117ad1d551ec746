"""Ranking: pure, from what the index found to an order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from statistics import fmean

from msgspec import Struct

from vir_core.index import Found, Match, Terms, tokens
from vir_core.text import identifier_tokens

IDENTS_WEIGHT = 0.6
"""BM25 of the identifier column counts this much beside the words: most plain words stand in one column only, and a
whole identifier is rare enough to lead anyway."""

IDENTIFIER_WEIGHT = 2.0
"""An identifier says more about what is meant than a word as rare as it: one known error code in a long complaint is an
answer, one known verb is not."""

LEAST_COVERAGE = 0.3
"""A passage that covers less than this share of the question's weight shares only its small talk. Between 0.20 and 0.45
the choice was measured to make no difference to questions asked in the note's own words."""

KIND_WEIGHT: Mapping[str, float] = {"lesson": 1.0, "summary": 0.9, "context": 0.6}
"""A lesson answers, a summary says what was asked, and a context names the branch and the files, which share the question's
words without saying anything about it."""

COUNTED_TERMS = 12
"""The share is taken of the heaviest terms only: of a pasted error of forty words nobody's note holds ten."""

WORDS_SHARE = 0.4
"""What the best match by words adds to its cosine when it covers the question, and others in proportion. Cosines of neighbours
lie closer together than that, so an identifier found as written leads whatever its neighbours mean."""

FULL_COVERAGE = 0.6
"""From here on words count in full. Below, their share falls with the square of the coverage: half the words of a question
are no half an answer."""

KIND_PRIOR: Mapping[str, float] = {"lesson": 0.0, "summary": 0.0, "context": -0.03}

ALIKE = 0.8
"""Share of words from which a passage tells what one above it has told already."""

REPEATED = 0.1
"""What such a repetition costs."""


class Calibration(Struct, frozen=True, kw_only=True):
    """When a nearness counts as an answer, which differs from model to model. The evidence of a passage is its cosine, plus
    `stands_out` times its distance from the field (the mean cosine of the neighbours behind the first ten: in a large vault
    something is near to anything), plus `words` times its coverage. `least` is what it must reach; `unknown` what it must
    reach when the question names an identifier that stands nowhere; `foreign` the cosine it must reach when the question is in
    a script that the model hardly knows, `None` when the model knows all."""

    least: float
    stands_out: float
    words: float
    unknown: float
    foreign: float | None


CALIBRATED: Mapping[str, Calibration] = {
    "all-MiniLM-L6-v2-int8": Calibration(least=0.38, stands_out=1.0, words=0.8, unknown=0.55, foreign=0.75),
}
"""Chosen on the development half of `evals/retrieval`: the least that lets no garbage through there."""

UNMEASURED = Calibration(least=0.0, stands_out=1.0, words=0.8, unknown=0.0, foreign=None)
STANDS_OUT = 0.12
"""Of models that were not measured, cosines mean nothing by themselves; a passage must stand out from the field by this."""


class Near(Struct, frozen=True, kw_only=True):
    """Passage keys with their cosine to the question, best first; every other passage lies farther. `all` says that there are
    no others, `latin` that the question is written in a script every model knows."""

    cosines: Mapping[str, float]
    model: str
    latin: bool
    all: bool

    @property
    def field(self) -> float:
        """What is near to the question by chance."""
        cosines = list(self.cosines.values())
        return fmean(cosines[10:40]) if len(cosines) > 12 else min(cosines, default=0.0)

    @property
    def farthest(self) -> float:
        return min(self.cosines.values(), default=0.0)


Priors = Callable[[Match], Mapping[str, float]]
"""What is known of a passage before any question, by name; small beside what a question says."""


class Ranked(Struct, frozen=True, kw_only=True):
    """`score` compares within one search only. `coverage` is the share of the question's weight that the passage holds, in
    [0, 1]; `terms` are the question's terms in it; `words_rank` and `meaning_rank` count from 1, 0 for not found that way;
    `cosine` is `None` where it is not known; `priors` are parts of the score."""

    match: Match
    score: float
    coverage: float
    terms: tuple[str, ...]
    words_rank: int = 0
    meaning_rank: int = 0
    cosine: float | None = None
    priors: Mapping[str, float] = {}


class _Candidate(Struct):
    match: Match
    by_words: float
    coverage: float
    terms: tuple[str, ...]
    stems: frozenset[str]
    words_rank: int = 0


def rank(
    terms: Terms,
    found: Found,
    near: Near | None = None,
    priors: Priors | None = None,
) -> list[Ranked]:
    """Passages, best first, those left out that share too little with the question in words and in meaning. `found.matches` holds
    the passages of both searches. Without `near` the score is BM25 weighed by coverage. Equal scores are ordered by note and
    anchor, so that two runs answer alike."""
    candidates = _candidates(terms, found)
    ranked = _by_words(candidates, priors) if near is None else _fused(terms, found, candidates, near, priors)
    ranked.sort(key=_order)
    stems = {one.match.key: one.stems for one in candidates}
    return _without_repetition(ranked, stems, relative=near is None)


def complete(found: Found, near: Near | None) -> bool:
    """Whether a longer search could find nothing more that counts."""
    if near is None or near.all:
        return found.complete
    rule = CALIBRATED.get(near.model)
    farther = near.farthest + (rule.stands_out if rule else 1.0) * (near.farthest - near.field)
    return found.complete and farther < (rule.least if rule else near.field + STANDS_OUT)


def _candidates(terms: Terms, found: Found) -> list[_Candidate]:
    weights = _weights(terms, found)
    total = sum(sorted(weights.values(), reverse=True)[:COUNTED_TERMS])
    stems = {term: frozenset(tokens(term, "words")) for term in terms.words}
    candidates: list[_Candidate] = []
    for match in found.matches:
        held, words = _held(terms, stems, match)
        coverage = min(1.0, sum(weights[term] for term in held) / total) if total else 0.0
        bm25 = match.words_score + IDENTS_WEIGHT * match.idents_score
        score = bm25 * (0.5 + 0.5 * coverage) * KIND_WEIGHT[match.kind] if coverage >= LEAST_COVERAGE else 0.0
        candidates.append(_Candidate(match, score, coverage, held, words))
    ordered = sorted((one for one in candidates if one.by_words), key=lambda one: -one.by_words)
    for place, one in enumerate(ordered, start=1):
        one.words_rank = place
    return candidates


def _by_words(candidates: list[_Candidate], priors: Priors | None) -> list[Ranked]:
    ranked: list[Ranked] = []
    for one in candidates:
        if one.by_words:
            known = _priors(one.match, priors)
            ranked.append(
                Ranked(
                    match=one.match,
                    score=one.by_words * (1 + sum(known.values())),
                    coverage=one.coverage,
                    terms=one.terms,
                    words_rank=one.words_rank,
                    priors=known,
                )
            )
    return ranked


def _fused(terms: Terms, found: Found, candidates: list[_Candidate], near: Near, priors: Priors | None) -> list[Ranked]:
    rule = CALIBRATED.get(near.model, UNMEASURED)
    field = near.field
    least = rule.least if near.model in CALIBRATED else field + STANDS_OUT
    if any(not found.frequency.get(term) for term in terms.marked.intersection(terms.idents)):
        least = max(least, rule.unknown)
    places = {key: place for place, key in enumerate(near.cosines, start=1)}
    best = max((one.by_words for one in candidates), default=0.0)
    ranked: list[Ranked] = []
    for one in candidates:
        cosine = near.cosines.get(one.match.key)
        # One that the search by meaning did not return lies no nearer than the last it did.
        nearness = near.farthest if cosine is None else cosine
        evidence = nearness + rule.stands_out * (nearness - field) + rule.words * one.coverage
        means = cosine is not None and evidence >= least
        if means and rule.foreign is not None and not near.latin and one.coverage < LEAST_COVERAGE:
            means = nearness >= rule.foreign
        if not (means or one.by_words):
            continue
        by_words = WORDS_SHARE * one.by_words / best * min(1.0, one.coverage / FULL_COVERAGE) ** 2 if best else 0.0
        known = _priors(one.match, priors)
        if KIND_PRIOR[one.match.kind]:
            known["kind"] = KIND_PRIOR[one.match.kind]
        ranked.append(
            Ranked(
                match=one.match,
                score=nearness + by_words + sum(known.values()),
                coverage=one.coverage,
                terms=one.terms,
                words_rank=one.words_rank,
                meaning_rank=places.get(one.match.key, 0),
                cosine=cosine,
                priors=known,
            )
        )
    return ranked


def _priors(match: Match, priors: Priors | None) -> dict[str, float]:
    return dict(priors(match)) if priors else {}


def _order(one: Ranked) -> tuple[float, str, str]:
    return (-one.score, one.match.note, one.match.anchor)


_LOOKED_AT = 48
"""Passages among which repetition is looked for; an answer shows fewer."""


def _without_repetition(ranked: list[Ranked], stems: Mapping[str, frozenset[str]], *, relative: bool) -> list[Ranked]:
    """Maximal marginal relevance over notes: what repeats another note's passage above it moves down a little, so that two
    notes about one thing do not fill an answer."""
    seen: list[tuple[str, frozenset[str]]] = []
    repeated = False
    placed: list[Ranked] = []
    for one in ranked[:_LOOKED_AT]:
        words = stems[one.match.key]
        if any(note != one.match.note and _alike(words, other) >= ALIKE for note, other in seen):
            cost = -REPEATED * (one.score if relative else 1.0)
            one = Ranked(
                match=one.match,
                score=one.score + cost,
                coverage=one.coverage,
                terms=one.terms,
                words_rank=one.words_rank,
                meaning_rank=one.meaning_rank,
                cosine=one.cosine,
                priors={**one.priors, "repeats": round(cost, 4)},
            )
            repeated = True
        seen.append((one.match.note, words))
        placed.append(one)
    if repeated:
        placed.sort(key=_order)
    return placed + ranked[_LOOKED_AT:]


def _alike(left: frozenset[str], right: frozenset[str]) -> float:
    """Dice coefficient of two sets of stems, in [0, 1]."""
    return 2 * len(left & right) / (len(left) + len(right)) if left or right else 0.0


def _weights(terms: Terms, found: Found) -> dict[str, float]:
    """What each term says: its idf. A term that stands nowhere weighs most: a question made of such terms has no answer here."""
    weights: dict[str, float] = {}
    for term in dict.fromkeys([*terms.words, *terms.idents]):
        frequency = found.frequency.get(term, 0)
        passages = max(found.passages, frequency)
        idf = log(1 + (passages - frequency + 0.5) / (frequency + 0.5))
        weights[term] = idf * IDENTIFIER_WEIGHT if frequency and term in terms.marked else idf
    return weights


def _held(terms: Terms, stems: Mapping[str, frozenset[str]], match: Match) -> tuple[tuple[str, ...], frozenset[str]]:
    """The question's terms in the passage, and the passage's stems."""
    text = f"{match.title}\n{match.text}"
    words = frozenset(tokens(text, "words"))
    held = [term for term in terms.words if stems[term] & words]
    if terms.idents:
        idents = frozenset(identifier_tokens(text))
        held += [term for term in terms.idents if term in idents]
    return tuple(dict.fromkeys(held)), words
