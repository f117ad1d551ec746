"""Pieces of LanceDB's SQL conditions, and of its errors."""

from __future__ import annotations

from collections.abc import Iterable


def one_of(column: str, values: Iterable[str]) -> str:
    """`column IN (…)`, with every value quoted."""
    listed = ", ".join("'" + value.replace("'", "''") + "'" for value in sorted(values))
    return f"{column} IN ({listed})"


def first_line(error: Exception) -> str:
    """What a native error says, short enough for a sentence."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
