"""Passages that say much the same as a text: by meaning where there are vectors, by shared words where there are none."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from vir_core.index.table import Index, Match, Terms, tokens
from vir_core.index.vectors import Vectors, VectorsUnusable
from vir_core.models import Embedder, EmbedderFailed
from vir_core.text import identifier_tokens

ALIKE_IN_MEANING = {"all-MiniLM-L6-v2-int8": 0.55}
"""Cosine from which two lessons are taken to say the same, by model. On the development half of `evals/nearmatch` it finds every
duplicate and every rewording, a third of the paraphrases and a third of what is merely on the same topic, and two of ten thousand
pairs that have nothing to do with each other. A model that is not listed was not measured: it finds, and judges nothing the same."""

ALIKE_IN_WORDS = 0.4
"""Dice coefficient over stems and identifiers, likewise."""

_CANDIDATES = 64
_MOST_TERMS = 40


class Alike(Struct, frozen=True, kw_only=True):
    """`nearness` is a cosine or a Dice coefficient, as `by` says; `same` that it reaches the measured threshold of its kind."""

    match: Match
    by: Literal["meaning", "words"]
    nearness: float
    same: bool


def similar(
    text: str,
    limit: int,
    index: Index,
    vectors: Vectors | None = None,
    embedder: Embedder | None = None,
    *,
    without: Collection[str] = (),
) -> list[Alike]:
    """The `limit` passages most like a text, nearest first, those of the notes in `without` left out. Which of them may be shown
    is the caller's to ask the gate. Raises `IndexUnusable`; what fails about meaning only falls back to words."""
    if vectors is not None and embedder is not None:
        try:
            return _by_meaning(text, limit, index, vectors, embedder, without)
        except (EmbedderFailed, VectorsUnusable):
            pass  # words answer
    return _by_words(text, limit, index, without)


def _by_meaning(
    text: str, limit: int, index: Index, vectors: Vectors, embedder: Embedder, without: Collection[str]
) -> list[Alike]:
    if vectors.meta().model != embedder.model():
        raise VectorsUnusable("the notes were embedded by another model")
    near = vectors.near(embedder.embed_question(text), limit + 8 * len(without) + 8)
    found = index.by_key([key for key, _ in near])
    least = ALIKE_IN_MEANING.get(embedder.name, 2.0)
    kept = [(found[key], cosine) for key, cosine in near if key in found and found[key].note not in without]
    return [
        Alike(match=match, by="meaning", nearness=round(cosine, 4), same=cosine >= least)
        for match, cosine in kept[:limit]
    ]


def _by_words(text: str, limit: int, index: Index, without: Collection[str]) -> list[Alike]:
    stems, idents = list(dict.fromkeys(tokens(text, "words"))), list(dict.fromkeys(identifier_tokens(text)))
    mine = frozenset((*stems, *idents))
    if not mine:
        return []
    found = index.search(Terms(words=tuple(stems[:_MOST_TERMS]), idents=tuple(idents[:_MOST_TERMS])), _CANDIDATES)
    alike: list[Alike] = []
    for match in found.matches:
        if match.note not in without:
            theirs = frozenset((*tokens(match.text, "words"), *identifier_tokens(match.text)))
            share = 2 * len(mine & theirs) / (len(mine) + len(theirs))
            alike.append(Alike(match=match, by="words", nearness=round(share, 4), same=share >= ALIKE_IN_WORDS))
    return sorted(alike, key=lambda one: (-one.nearness, one.match.key))[:limit]
