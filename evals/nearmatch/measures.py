"""Ways of telling how close two sentences are: by the words they share, and by what they mean."""

from __future__ import annotations

from collections import Counter
from functools import cache
from struct import unpack


def dice(a: str, b: str) -> float:
    """Shared stems and identifiers against all of them, in [0, 1]; words that mean nothing by themselves left out."""
    return _overlap(_stems(a), _stems(b))


def jaccard(a: str, b: str) -> float:
    """As `dice`, over the union."""
    first, second = set(_stems(a)), set(_stems(b))
    return len(first & second) / len(first | second) if first | second else 0.0


def containment(a: str, b: str) -> float:
    """How much of the shorter one stands in the longer one. One word stands in many, so three are the least."""
    first, second = set(_stems(a)), set(_stems(b))
    return len(first & second) / max(3, min(len(first), len(second)))


def trigrams(a: str, b: str) -> float:
    """Dice over runs of three characters, spaces and signs taken out: the same for every script."""
    return _overlap(_grams(a), _grams(b))


def _overlap(first: list[str], second: list[str]) -> float:
    total = len(first) + len(second)
    return 2 * sum((Counter(first) & Counter(second)).values()) / total if total else 0.0


def _stems(text: str) -> list[str]:
    from vir_core.index import ident_terms, tokens

    return sorted({*tokens(text, "words"), *ident_terms(text)})


def _grams(text: str) -> list[str]:
    from vir_core.text import fold

    bare = "".join(char for char in fold(text) if char.isalnum())
    return [bare[at : at + 3] for at in range(max(1, len(bare) - 2))]


def tokens(a: str, b: str) -> float:
    """What a run asks about statements that were rejected."""
    from vir_core.text import closeness, weights

    return closeness(weights(a), weights(b))


def meaning(a: str, b: str) -> float:
    """Cosine of the embedder that comes along, in [-1, 1]."""
    return sum(x * y for x, y in zip(_vector(a), _vector(b), strict=True))


@cache
def _vector(text: str) -> tuple[float, ...]:
    from vir_core.models import open_embedder

    embedder = open_embedder("minilm", "", {})
    assert embedder is not None
    return unpack(f"<{embedder.model().dimensions}f", embedder.embed([text])[0])
