"""Ways of telling how close two sentences are, without a model. The first is the plainest that could do."""

from __future__ import annotations

from collections import Counter


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
