"""The closeness that the product uses, on two strings: `python -m evals.nearmatch evals.nearmatch.tokens:tokens`."""

from __future__ import annotations

from vir_core.text import closeness, weights


def tokens(one: str, other: str) -> float:
    """By shared words alone, in [0, 1]; what counts as near is `vir_core.ingest.refusing.TOKENS`."""
    return closeness(weights(one), weights(other))
