"""Fitting an answer into the tokens its reader has for it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vir_core.contract import Hit
from vir_core.text import lazy_pattern

SHORT = 100
"""Characters of a snippet that is cut so that more hits fit."""

LEAST_TEXT = 40
"""Tokens under which a cut text is not worth its place."""

_ROUNDS = lazy_pattern(r"\s+\S*\Z")


def tokens_of(text: str) -> int:
    """About how many tokens a model makes of this, rather too many than too few: four letters of ASCII, else one character
    each, which holds for code and for scripts without spaces alike."""
    wide = 0 if text.isascii() else sum(1 for char in text if not char.isascii())
    return (len(text) - wide + 3) // 4 + wide


def fitted(hits: Sequence[Hit], budget: int) -> tuple[tuple[Hit, ...], int]:
    """The hits that fit `budget` tokens (0: all), and how many were shortened or left out. Every hit keeps its snippet
    before any has its text: to know of eight notes is worth more than to have read one. Then snippets are cut, then the
    last hits go; the first stays, however small the budget."""
    if not budget:
        return tuple(hits), 0
    bare = [msgspec.structs.replace(hit, text="") for hit in hits]
    costs = [_cost(hit) for hit in bare]
    changed: set[int] = set()
    if sum(costs) > budget:
        for number, hit in enumerate(bare):
            if number and len(hit.snippet) > SHORT:
                bare[number] = msgspec.structs.replace(hit, snippet=_cut(hit.snippet, SHORT))
                costs[number] = _cost(bare[number])
                changed.add(number)
        while len(bare) > 1 and sum(costs) > budget:
            bare.pop()
            costs.pop()
            changed.add(len(bare))
    left = budget - sum(costs)
    for number, hit in enumerate(bare):
        text = hits[number].text
        if not text:
            continue
        need = tokens_of(text)
        if need <= left:
            bare[number] = msgspec.structs.replace(hit, text=text)
            left -= need
            continue
        changed.add(number)
        if left >= LEAST_TEXT:
            bare[number] = msgspec.structs.replace(hit, text=_cut_to(text, left))
            left = 0
    return tuple(bare), len(changed)


def _cost(hit: Hit) -> int:
    return tokens_of(msgspec.json.encode(hit).decode())


def _cut_to(text: str, tokens: int) -> str:
    """The beginning of a text that costs at most so many tokens."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if tokens_of(text[:middle]) < tokens:
            low = middle
        else:
            high = middle - 1
    return _cut(text, low)


def _cut(text: str, width: int) -> str:
    """At most `width` characters and an ellipsis, cut between words where there are words."""
    if len(text) <= width:
        return text
    start = text[:width]
    return (_ROUNDS.sub("", start) if text[width : width + 1].strip() else start).rstrip().removesuffix("…") + "…"
