"""Index terms that a word stemmer would lose: identifiers, and scripts written without spaces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache

from vir_core.text.lazy import lazy_pattern

LONGEST = 128
"""Characters. A longer run of letters and digits (base64, minified code) is no term and has no parts."""

_REMEMBERED = 64
"""Characters of a run whose terms are kept."""

# Han, kana, bopomofo, hangul, Thai, Lao, Khmer, Myanmar. After NFKC, so half-width kana need no range.
_UNSPACED = (
    r"\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b\u3040-\u30ff\u3100-\u318f\u31a0-\u31bf"
    r"\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\u1100-\u11ff"
    r"\u0e00-\u0e7f\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_JOINERS = r"_.\-/\\:@+#$~"
_ASCII_RUN = lazy_pattern(rf"[A-Za-z0-9{_JOINERS}]+")
_SEGMENTS = lazy_pattern(r"[/\\:@+#$~]+")
_PIECES = lazy_pattern(r"[.]+")
_PARTS = lazy_pattern(r"[\-_]+")
_EDGES_LEFT = r"/\:+#~"
_EDGES_RIGHT = r"/\:.-@$~"


def identifier_tokens(text: str) -> list[str]:
    """Lower-cased terms for the identifier column, in order, repeated as often as they occur; none holds white space.

    An identifier (it has a joiner, a digit beside a letter, or a capital inside) gives itself as written, the same without
    joiners (`max_retries` and `MaxRetries` meet in `maxretries`), and its parts of two characters and more. Scripts
    written without spaces give overlapping pairs of characters, a lone character itself. Plain words give nothing: the
    stemmed column has them.
    """
    if text.isascii():
        # A vault is written in few words, so what each gives is remembered; a run nobody could read is not worth it.
        return [
            term
            for run in _ASCII_RUN.findall(text)
            for term in (_known(run, False) if len(run) <= _REMEMBERED else _identifier(run, False))
        ]
    return list(_tokens(text, plain=False))


def query_tokens(text: str) -> list[str]:
    """The terms to look up for a query: those of `identifier_tokens`, and plain words, which may be parts of identifiers.
    Each once, in order."""
    return list(dict.fromkeys(_tokens(text, plain=True)))


def _tokens(text: str, *, plain: bool) -> Iterator[str]:
    if text.isascii():
        for run in _ASCII_RUN.findall(text):
            yield from _identifier(run, plain)
        return
    for unspaced, run in _runs().findall(unicodedata.normalize("NFKC", text)):
        if unspaced:
            yield from _pairs(unspaced)
        else:
            yield from _identifier(run, plain)


@cache
def _runs() -> re.Pattern[str]:
    # Takes 3 ms to compile, and most queries are ASCII.
    return re.compile(rf"([{_UNSPACED}]+)|((?:(?![{_UNSPACED}])\w|[{_JOINERS}])+)")


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for at in range(len(run) - 1):
        yield run[at : at + 2]


@lru_cache(maxsize=1 << 15)
def _known(run: str, plain: bool) -> tuple[str, ...]:
    return _identifier(run, plain)


def _identifier(run: str, plain: bool) -> tuple[str, ...]:
    whole = _trimmed(run)
    if not whole:
        return ()
    if whole.isalnum() and len(_humps(whole)) < 2:
        return (whole.casefold(),) if plain and len(whole) > 1 else ()
    terms: dict[str, None] = {}
    if len(whole) <= LONGEST:
        terms[whole.casefold()] = None
    for segment in _SEGMENTS.split(whole):
        _add(terms, segment.strip(".-"))
        for piece in _PIECES.split(segment):
            bare = piece.strip("-_")
            _add(terms, bare)
            names = _PARTS.split(bare)
            _add(terms, "".join(names))
            for name in names:
                _add(terms, name)
                for part in _humps(name):
                    _add(terms, part)
    return tuple(terms)


def _add(terms: dict[str, None], term: str) -> None:
    if 1 < len(term) <= LONGEST:
        terms[term.casefold()] = None


def _trimmed(run: str) -> str:
    # A sentence ends in a dot and a list begins with a dash, but `.env`, `--no-verify`, `C++` and `__init__` keep theirs.
    whole = run.removeprefix("./").removeprefix("~/").lstrip(_EDGES_LEFT).rstrip(_EDGES_RIGHT)
    if not any(letter.isalnum() for letter in whole):
        return ""
    if whole.startswith("..") or (whole.startswith(".") and not whole[1:2].isalnum()):
        whole = whole.lstrip(".")
    return whole


def _humps(name: str) -> list[str]:
    """`HTTP2Error` gives HTTP2, HTTP, Error; `maxRetries` gives max, Retries."""
    if len(name) > LONGEST or (name.islower() and name.isalpha()):
        return []
    parts: list[str] = []
    start = 0
    for at in range(1, len(name)):
        before, now = _kind(name[at - 1]), _kind(name[at])
        follows = _kind(name[at + 1]) if at + 1 < len(name) else ""
        if (
            (before in "a0" and now == "A")
            or (before == "A" and now == "A" and follows == "a")
            or (before == "0" and now == "a")
        ):
            parts.append(name[start:at])
            start = at
    parts.append(name[start:])
    for part in list(parts):
        bare = part.rstrip("0123456789")
        if bare and bare != part:
            parts.extend((bare, part[len(bare) :]))
    return parts


def _kind(letter: str) -> str:
    if letter.isdigit():
        return "0"
    return "A" if letter.isupper() else "a"
