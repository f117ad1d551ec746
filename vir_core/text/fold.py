"""Making text comparable: what is dropped, what is joined, what counts as the same."""

from __future__ import annotations

import unicodedata

from vir_core.text.lazy import lazy_pattern

# Controls but tab and line feed, C1, bidi embeddings, overrides and isolates, lone surrogates. The directional *marks*
# (200E, 200F, 061C) stay: Hebrew and Arabic text needs them and they hide nothing.
_DIRTY = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LINE_END = lazy_pattern(r"\r\n?|[\x0b\x0c\x85]")
# CSI (colour, cursor), the string commands OSC, DCS, SOS, PM, APC up to their end or the end of the line, and the
# short ones. An unfinished sequence loses its introducer only.
_ESCAPE = lazy_pattern(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b[0-Zc-~]"
)


def clean(text: str) -> str:
    """The text without what a terminal or a layout engine would obey.

    Lone surrogates become U+FFFD (a pair split over two escapes is joined), line ends become LF; NULs and other controls,
    terminal escape sequences and bidi overrides are dropped. Tabs and line feeds stay. Clean text comes back unchanged.
    """
    if not _DIRTY.search(text):
        return text
    text = well_formed(text)
    text = _ESCAPE.sub("", text)
    text = _LINE_END.sub("\n", text)
    return _DIRTY.sub("", text)


def well_formed(text: str) -> str:
    """The text with every lone surrogate as U+FFFD, so that it can be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def collapse(text: str) -> str:
    """One line: every run of Unicode white space is one space, none at the ends."""
    return " ".join(text.split())


def fold(text: str) -> str:
    """The text as it is compared: NFKC, casefold, white space collapsed."""
    return collapse(unicodedata.normalize("NFKC", text).casefold())
