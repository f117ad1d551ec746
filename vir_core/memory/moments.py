"""Times that a person types, turned into days and stamps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from vir_core.contract import RequestError
from vir_core.memory.time import is_day

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def duration(text: str) -> timedelta:
    """`30d`, `12h`, `2w`, `90m`, `45s`; a bare whole number is days. Raises `RequestError`."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "d")
    if not (number.isascii() and number.isdigit()) or len(number) > 6:
        raise RequestError(f"--since {text!r} is not a length of time.", "Write it like 30d, 12h or 2w.")
    return timedelta(seconds=int(number) * _UNITS[unit])


def day_since(text: str, now: datetime) -> str:
    """The day (YYYY-MM-DD) that `--since` means: one itself, or so long before `now`. Raises `RequestError`."""
    if is_day(text):
        return text
    try:
        return (now - duration(text)).date().isoformat()
    except RequestError:
        raise RequestError(
            f"--since {text!r} is no day and no length of time.", "Write it like 2026-11-03, 30d, 12h or 2w."
        ) from None
    except OverflowError:
        return datetime.min.date().isoformat()


def stamp_of(text: str, flag: str) -> str:
    """A moment as a stamp (UTC, microseconds); a bare day means its end in this machine's zone, because who asks what was
    known on a day means all of it. Raises `RequestError`."""
    whole = is_day(text)
    try:
        moment = datetime.fromisoformat(text)
        if whole:
            moment += timedelta(days=1) - timedelta(microseconds=1)
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise RequestError(
            f"{flag} {text!r} is not a time.", "Write it like 2026-11-03 or 2026-11-03T14:00:00Z."
        ) from None
    return moment.isoformat(timespec="microseconds")[:26] + "Z"
