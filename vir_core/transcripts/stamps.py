"""Record times: strings, seconds or milliseconds in, RFC 3339 in UTC out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

_exact = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z\Z", re.ASCII
)


def utc(value: object) -> str:
    """`value` as RFC 3339 in UTC, or empty when it is no time. A number above 1e11 is taken as milliseconds."""
    if isinstance(value, str):
        return value if _exact.match(value) else _parsed(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
        return _counted(value)
    return ""


def _parsed(value: str) -> str:
    if value.isascii() and value.replace(".", "", 1).isdigit():
        return _counted(float(value))
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return ""
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return _written(time)


def _counted(value: float) -> str:
    try:
        return _written(datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC))
    except (ValueError, OverflowError, OSError):
        return ""


def _written(time: datetime) -> str:
    try:
        return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError):
        return ""


def exact(times: Sequence[object]) -> bool:
    """Whether all are RFC 3339 in UTC with milliseconds, so that they are in order of time when in order of letters. The
    least and the greatest are looked at whole, the others by their length: one program wrote them all."""
    try:
        if set(map(len, times)) != {24}:  # type: ignore[arg-type]
            return False
        return all(map(_exact.match, (min(times), max(times))))  # type: ignore[type-var,arg-type]
    except TypeError:
        return False
