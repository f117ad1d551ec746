"""When a note holds in the world, and when that was known. Days are `YYYY-MM-DD`, intervals closed on the left and open on
the right."""

from __future__ import annotations

import re
from datetime import date
from time import strftime

from msgspec import Struct

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch


class Span(Struct, frozen=True):
    """`valid_from` and `valid_to` are days, empty where nobody said; `recorded` and `retired` are stamps of lines: when it was
    first written, and when the earliest of what withholds it now was said (empty: nothing does)."""

    valid_from: str = ""
    valid_to: str = ""
    recorded: str = ""
    retired: str = ""

    def outside(self, as_of: str = "", *, since: str = "") -> str:
        """`expired` or `not_yet` when a day (empty: today) lies outside, else empty. `since` is the day of the session: a
        question about the past takes a note as holding from then on when nobody said otherwise. One about today does
        not, because the session may have been written down east of here, tomorrow."""
        day = as_of or today()
        if self.valid_to and day >= self.valid_to:
            return "expired"
        begins = self.valid_from or (since if as_of and is_day(since) else "")
        return "not_yet" if begins and day < begins else ""


def today() -> str:
    """The day it is where this machine is: `expire --on` today is meant by somebody's calendar, not by Greenwich's."""
    return strftime("%Y-%m-%d")


def is_day(day: str) -> bool:
    """Whether it names a day of the calendar."""
    if not _DAY(day):
        return False
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True
