"""The piece of a passage that an answer shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vir_core.text import lazy_pattern

WIDTH = 240
"""Characters, ellipses included."""

_CONTROL = lazy_pattern("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_SPACES = lazy_pattern(r"\s+")


def snippet(text: str, terms: Sequence[str], width: int = WIDTH) -> str:
    """At most `width` characters of one line around the densest group of terms, cut between words where there are words
    and never inside a grapheme; cut ends show an ellipsis."""
    line = _SPACES.sub(" ", _CONTROL.sub(" ", text)).strip()
    if len(line) <= width:
        return line
    room = width - 2
    places = _places(line, terms)
    start = _densest(places, room, len(line))
    end = min(start + room, len(line))
    start, end = _to_words(line, start, end)
    if not line.isascii():
        start, end = _to_graphemes(line, start, end)
    # A space may carry a combining mark, so outside ASCII it is not taken off.
    shown = line[start:end].strip() if line.isascii() else line[start:end]
    return f"{'…' if start else ''}{shown}{'…' if end < len(line) else ''}"


def _places(line: str, terms: Sequence[str]) -> list[int]:
    lowered = line.lower()
    if len(lowered) != len(line):  # a few letters grow when lowered, and places would be off
        lowered = line
    places: list[int] = []
    for term in terms:
        # A stem is mostly the word less its ending, so its beginning finds its relatives too.
        needle = term.lower() if len(term) < 5 else term.lower()[: max(4, len(term) - 3)]
        places.extend(found.start() for found in re.finditer(re.escape(needle), lowered))
    return sorted(places)


def _densest(places: list[int], room: int, length: int) -> int:
    best, most = 0, 0
    low = 0
    for high, place in enumerate(places):
        while place - places[low] > room - 40:
            low += 1
        if high - low + 1 > most:
            most, best = high - low + 1, places[low]
    return max(0, min(best - 40, length - room))


def _to_words(line: str, start: int, end: int) -> tuple[int, int]:
    if start and not line[start - 1].isspace():
        space = line.find(" ", start, start + 40)
        start = space + 1 if space >= 0 else start
    if end < len(line) and not line[end].isspace():
        space = line.rfind(" ", max(start + 1, end - 40), end)
        end = space if space >= 0 else end
    return start, end


def _to_graphemes(line: str, start: int, end: int) -> tuple[int, int]:
    import regex

    starts = [found.start() for found in regex.finditer(r"\X", line)]
    first = next((place for place in starts if place >= start), len(line))
    last = end if end == len(line) else max((place for place in starts if place <= end), default=first)
    return first, max(first, last)
