"""Damage: what a line that was torn, glued, padded or badly encoded still holds, for lines of every shape.

Reading never raises: what can be read is read, the rest is counted in a `Damage`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

LINE_LIMIT = 16 * 1024 * 1024
"""Bytes. A longer line is not read."""

_TRIES = 100
_PADDING = b" \t\r\0"
_BOM = b"\xef\xbb\xbf"

L = TypeVar("L")

_encode = msgspec.json.Encoder().encode


class Damage(Struct, array_like=True):
    """What could not be read, by kind.

    `torn` incomplete objects, `garbage` lines that are no line of ours, `oversize` lines beyond 16 MiB, `unreadable` files
    that do not open, `other_vault` segments that name another vault, `unplaced` lines of a device that nowhere says which
    vault it writes for. `glued` lines held several objects and `padding`
    lines held NULs; nothing of those two was lost.
    """

    torn: int = 0
    garbage: int = 0
    oversize: int = 0
    unreadable: int = 0
    other_vault: int = 0
    glued: int = 0
    padding: int = 0
    unplaced: int = 0

    @property
    def total(self) -> int:
        lost = self.torn + self.garbage + self.oversize + self.unreadable + self.other_vault + self.unplaced
        return lost + self.glued + self.padding

    def add(self, other: Damage) -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def stripped(piece: bytes) -> bytes:
    """A stored line without line end, padding and byte order marks."""
    piece = piece.strip(_PADDING)
    while piece.startswith(_BOM):
        piece = piece[3:].strip(_PADDING)
    return piece


def plain(block: bytes) -> bool:
    """Whether the fast decoder sees every string as it is: valid UTF-8 and no escaped surrogates, lone or paired."""
    # Looking for one byte first is ten times as fast.
    if b"\\" in block and (b"\\ud" in block or b"\\uD" in block):
        return False
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def salvage(
    raw: bytes, damage: Damage, *, opening: re.Pattern[str], read: Callable[[bytes, bytes], L | None]
) -> list[L]:
    """What can be read of a line that the fast decoder refuses: glued objects, torn pieces, broken Unicode.

    `opening` is how an object of this shape begins, as it cannot occur inside a JSON string: behind what is torn the next one
    is looked for there. `read` gets an object as the decoder can take it and its own bytes, and returns `None`, or raises
    ValueError or RecursionError, when that is no line.
    """
    import json

    scan = json.JSONDecoder().raw_decode
    text = raw.decode("utf-8", "surrogateescape")
    lines: list[L] = []
    objects = failures = end = 0
    lost = False
    position = text.find("{")
    while position >= 0 and failures < _TRIES:
        try:
            value, stop = scan(text, position)
        except (ValueError, RecursionError):
            failures += 1
            found = opening.search(text, position + 1)
            position = found.start() if found else -1
            continue
        lost = lost or not _blank(text[end:position])
        end = stop
        objects += 1
        own = text[position:end].encode("utf-8", "surrogateescape")
        try:
            line = read(own if plain(own) else _encode(_mended(value)), own)
        except (ValueError, RecursionError):
            line = None
        if line is None:
            damage.garbage += 1
        else:
            lines.append(line)
        position = text.find("{", end)
    if objects > 1:
        damage.glued += 1
    if objects:
        damage.torn += lost or not _blank(text[end:])
    else:
        damage.torn += "{" in text
        damage.garbage += "{" not in text
    return lines


def _blank(text: str) -> bool:
    return not text.strip(" \t\r\0\ufeff")


def _mended(value: Any) -> Any:
    """The value with every lone surrogate and undecodable byte replaced by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mended(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value
