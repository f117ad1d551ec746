"""File names from titles: the title's own words and script, less what a file system or a link cannot carry."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from vir_core.text.fold import clean, collapse
from vir_core.text.lazy import lazy_pattern

LONGEST = 80
"""Characters as a reader counts them (grapheme clusters)."""
LONGEST_BYTES = 180
"""UTF-8 bytes: file systems stop at 255, and `.md`, a short id and sync tools' suffixes need room."""
UNTITLED = "Untitled"

# `a/b`, `12:30`, `std::vector` keep their two halves apart; elsewhere these are only separators.
_BETWEEN = lazy_pattern(r"(?<=\S)[/\\|:]+(?=\S)")
_SPACED = lazy_pattern(r"[/\\|:*<>\[\]]")
_DROPPED = lazy_pattern(r"[\"?#^`\u200b\u2028\u2029\ufeff\ufffe\uffff]")
_COMMENT = lazy_pattern(r"%{2,}")
# Names of devices on Windows, with any extension.
_RESERVED = lazy_pattern(r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³])(?=\s*(?:\.|$))", re.IGNORECASE)


def file_stem(title: str) -> str:
    """The title as a file name without its extension: NFC, at most 80 characters and 180 bytes, never empty.

    Without `* " \\ / < > : | ? # ^ [ ]`, backticks, controls, a dot or dash at the start, a dot or space at the end, and
    not a name that Windows keeps for devices. Idempotent.
    """
    stem = unicodedata.normalize("NFC", clean(title)).replace("\n", " ")
    stem = _DROPPED.sub("", stem)
    stem = _COMMENT.sub("%", _SPACED.sub(" ", _BETWEEN.sub("-", stem)))
    stem = _edges(_cut(_edges(collapse(stem)), LONGEST, LONGEST_BYTES))
    if not any(unicodedata.category(letter)[0] in "LNSP" for letter in stem):
        return UNTITLED
    return _RESERVED.sub(lambda found: found.group() + "_", stem, count=1) if _RESERVED.match(stem) else stem


def unique_stem(stem: str, id: str, taken: Callable[[str], bool]) -> str:
    """`stem`, or with as much of `id` behind it as it takes to be free.

    `taken` is asked with `stem_key(candidate)`, because two names that differ only in case or composition are one file on
    many disks: keep the keys of the names in the folder, not the names.
    """
    if not taken(stem_key(stem)):
        return stem
    for length in (6, 10, len(id)):
        candidate = _with(stem, id[:length])
        if not taken(stem_key(candidate)):
            return candidate
    number = 2
    while taken(stem_key(candidate := _with(stem, f"{id} {number}"))):
        number += 1
    return candidate


def stem_key(stem: str) -> str:
    """What two file names share when a disk may take them for one: NFC without case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", stem).casefold())


def _with(stem: str, tail: str) -> str:
    room = _cut(stem, LONGEST - len(tail) - 1, LONGEST_BYTES - len(tail) - 1)
    return f"{room.rstrip(' .')} {tail}"


def _edges(stem: str) -> str:
    return stem.lstrip(".- ").rstrip(". ")


def _cut(stem: str, characters: int, size: int) -> str:
    """The longest beginning that keeps both limits, ending between words when one ends near the limit."""
    if len(stem) <= characters and (stem.isascii() or len(stem.encode()) <= size):
        return stem
    cut = ""
    used = 0
    for cluster in _clusters(stem)[:characters]:
        used += len(cluster.encode())
        if used > size:
            break
        cut += cluster
    if not cut:  # one character with a tower of marks on it
        cut = stem.encode()[:size].decode(errors="ignore")
    if len(cut) == len(stem):
        return cut
    space = cut.rfind(" ")
    ends_a_word = stem[len(cut)] == " "
    return cut if ends_a_word or space < len(cut) * 3 // 4 else cut[:space]


def _clusters(stem: str) -> list[str]:
    if stem.isascii():
        return list(stem)
    import regex

    return regex.findall(r"\X", stem)
