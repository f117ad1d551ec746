"""What speaks for a passage before any question is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Protocol

from vir_core.contract import Trust
from vir_core.index import Match

TRUST: Mapping[Trust, float] = {"verified": 0.03, "edited": 0.02}
"""A person read these and said yes."""

SENTENCES_PICKED = -0.01
"""A distiller that picks sentences proves what was said, not what is so; a person's approval makes up for it."""

NEW = 0.02
HALF_LIFE = 180.0
"""Days in which what is new loses half of that."""


class _Row(Protocol):
    @property
    def trust(self) -> Trust: ...


class _Rows(Protocol):
    def row(self, note: str, /) -> _Row | None: ...


def priors_of(gate: _Rows, today: str) -> Callable[[Match], Mapping[str, float]]:
    """Per passage its priors by name, those that are zero left out. They decide between passages that a question does not tell
    apart, and are too small to put one before another that answers better: the spread of all is below a twentieth of a
    cosine."""
    now = _day(today)

    def priors(match: Match) -> Mapping[str, float]:
        row = gate.row(match.note)
        trust = TRUST.get(row.trust, 0.0) if row else 0.0
        picked = SENTENCES_PICKED if not trust and match.distiller.startswith("extractive") else 0.0
        day = _day(match.date)
        age = max(0, now - day) if now and day else 0
        new = NEW * 0.5 ** (age / HALF_LIFE) if now and day else 0.0
        named = {"trust": trust, "distiller": picked, "recency": round(new, 4)}
        return {name: value for name, value in named.items() if value}

    return priors


def _day(text: str) -> int:
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        return 0
