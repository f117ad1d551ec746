"""Pieces of LanceDB's SQL conditions, and of its errors."""

from __future__ import annotations

from collections.abc import Collection, Iterable

_COLUMNS = {"categories": "category", "projects": "project", "notes": "note", "blocks": "block", "kinds": "kind"}


def condition(since: str = "", **columns: Collection[str]) -> str:
    """The condition that a row fits every filter; empty without any. Filters are named by the plural of their column, `since`
    is the earliest date."""
    parts = [one_of(_COLUMNS[name], values) for name, values in columns.items() if values]
    if since:
        parts.append(f"date >= {_quoted(since)}")
    return " AND ".join(parts)


def one_of(column: str, values: Iterable[str]) -> str:
    return f"{column} IN ({', '.join(_quoted(value) for value in sorted(values))})"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def first_line(error: Exception) -> str:
    """What a native error says, short enough for a sentence."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
