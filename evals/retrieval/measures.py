"""What an answer is worth, and whether one ranking is better than another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log2

from msgspec import Struct

from evals.retrieval.corpora import Question

GOLD, ALSO = 2.0, 1.0
RESAMPLES = 10_000
SEED = 1


class Asked(Struct, frozen=True):
    """One question answered: the class and split it belongs to, the group it is resampled with, the ids found (best first,
    at most `limit` of the result), and the figures that follow from them."""

    kind: str
    split: str
    group: str
    hits: tuple[str, ...]
    wanted: bool
    ndcg: float
    rank: int
    """Of the first note that answers, from 1; 0 when none was found."""


def judged(question: Question, hits: Sequence[str]) -> Asked:
    first = next((place for place, note in enumerate(hits, 1) if note in question.answers), 0)
    return Asked(
        kind=question.kind,
        split=question.split,
        group=min(question.gold, default=question.id),
        hits=tuple(hits),
        wanted=bool(question.gold),
        ndcg=round(ndcg(question, hits), 4),
        rank=first,
    )


def ndcg(question: Question, hits: Sequence[str], k: int = 8) -> float:
    """Järvelin & Kekäläinen 2002, gains 2 and 1, discount log2(rank + 1). A question without answers gives 0."""
    gains = {**dict.fromkeys(question.also, ALSO), **dict.fromkeys(question.gold, GOLD)}
    best = sum(gain / log2(place + 1) for place, gain in enumerate(sorted(gains.values(), reverse=True)[:k], 1))
    got = sum(gains.get(note, 0.0) / log2(place + 1) for place, note in enumerate(hits[:k], 1))
    return got / best if best else 0.0


def summary(asked: Iterable[Asked], limit: int) -> dict[str, float]:
    """Over questions that have an answer: nDCG@8, recall@1, recall@5, reciprocal rank (0 beyond `limit`). Over those that
    have none: how many got a hit. Raises ValueError when fewer hits were fetched than a figure looks at."""
    rows = list(asked)
    wanted = [row for row in rows if row.wanted]
    garbage = [row for row in rows if not row.wanted]
    found: dict[str, float] = {"n": len(rows)}
    if wanted:
        if limit < 8:
            raise ValueError(f"nDCG@8 cannot be told from {limit} hits; fetch at least 8")
        found |= {
            "ndcg@8": _mean(row.ndcg for row in wanted),
            "recall@1": _mean(row.rank == 1 for row in wanted),
            "recall@5": _mean(1 <= row.rank <= 5 for row in wanted),
            f"mrr@{limit}": _mean(1 / row.rank if row.rank else 0.0 for row in wanted),
            "silent": _mean(not row.hits for row in wanted),
        }
    if garbage:
        found["garbage"] = _mean(bool(row.hits) for row in garbage)
    return found


def difference(before: Mapping[str, Asked], after: Mapping[str, Asked], figure: str) -> tuple[float, float, float]:
    """Mean of `after` less `before` for the questions in both, with a 95 % interval from 10,000 paired resamples. Questions
    about one note are drawn together, for they stand and fall together."""
    import numpy as np

    groups: dict[str, list[float]] = {}
    for name in sorted(before.keys() & after.keys()):
        one, other = before[name], after[name]
        if one.wanted != (figure == "garbage"):
            groups.setdefault(one.group, []).append(_value(other, figure) - _value(one, figure))
    if not groups:
        return 0.0, 0.0, 0.0
    sums = np.array([sum(values) for values in groups.values()])
    sizes = np.array([len(values) for values in groups.values()])
    drawn = np.random.default_rng(SEED).integers(0, len(sums), size=(RESAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(sums.sum() / sizes.sum()), float(low), float(high)


def _value(row: Asked, figure: str) -> float:
    match figure:
        case "ndcg@8":
            return row.ndcg
        case "recall@1":
            return float(row.rank == 1)
        case "recall@5":
            return float(1 <= row.rank <= 5)
        case "garbage":
            return float(bool(row.hits))
        case _:
            return 1 / row.rank if row.rank else 0.0


def _mean(values: Iterable[float]) -> float:
    everything = list(values)
    return round(sum(everything) / len(everything), 4)
