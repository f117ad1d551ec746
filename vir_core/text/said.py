"""What a statement says, apart from how it is typed: the form under which a rejected statement is known again."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from vir_core.text.fold import clean, collapse

_QUOTES = str.maketrans({"‘": "'", "’": "'", "‛": "'", "′": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))
# Emphasis only in pairs around words: `*args`, `__init__` and `a * b` are no emphasis.
_BOLD = re.compile(r"(?<![\w*])(\*{1,3})(?=\S)([^*]+?)(?<=\S)\1(?![\w*])")
# A leading `!` or `.` may be a negation or part of a name, so marks go from the end only; quotes and brackets from both.
_ENDING = '.,;:!?…。，、；：！？"'
_OPENING = '"'
_ENDS = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")


def said(text: str) -> str:
    """The words in the form in which two typings of one statement are equal: NFKC, casefold, white space collapsed, format
    characters, back quotes, emphasis and the marks that end a phrase gone. Identifiers keep their signs, negations stay
    apart. Never empty for a text that holds a letter or a digit of any script."""
    plain = unicodedata.normalize("NFKC", clean(text)).casefold()
    plain = "".join(char for char in plain if unicodedata.category(char) != "Cf")
    plain = _BOLD.sub(r"\2", plain.translate(_QUOTES).translate(_DASHES).replace("`", ""))
    words = [word.lstrip(_OPENING).rstrip(_ENDING) for word in plain.split()]
    return " ".join(word for word in words if word) or collapse(plain)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a plain text, in order, none empty. A dot inside a name or a number ends nothing."""
    for piece in _ENDS.split(text):
        if piece.strip():
            yield piece.strip()
