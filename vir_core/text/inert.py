"""Words from a session, put into a note so that they are read and do nothing.

Escaping for CommonMark alone is not enough: Templater and Dataview read the source of a file and know no backslash. So the
sequences they look for are broken in the source itself, by a backslash between the two characters or by an entity.
"""

from __future__ import annotations

import re
from itertools import count
from typing import NamedTuple

from vir_core.text.fold import clean, collapse, well_formed
from vir_core.text.lazy import lazy_pattern

# Inside a code span nothing can be escaped. With one of these in it the words are shown as plain text instead: inline
# queries (also a closing tick before `=`), template commands, inline fields, comments, links.
_UNSAFE_IN_CODE = lazy_pattern(r"^\s*\$?=|`\s*\$?=|\$=|<%|::|%%|\[\[")
_TICKS = lazy_pattern(r"`+")
_ADDRESS = lazy_pattern(
    r"""
    (?<![\w+.\-]) [\w+.\-]+ :// [^\s`]*         # any scheme, also obsidian://
    | (?<!\w) (?: www\. | mailto: ) [^\s`]+
    | (?<![:/\w]) // [^\s/`]+ \. [^\s`]+        # without a scheme
    | (?<![^\s@<>()\[\]"'`,;|]) (?: [^\s@<>()\[\]"'`,;|]+ [,;"']* | [,;"']+ ) @ [\w\[][^\s@<>()"'`,;|]*
    """,  # the last: mail, git@host:path, pkg@1.2
    re.VERBOSE | re.IGNORECASE,
)
_AFTER_ADDRESS = ".,;:!?'\"*_~"
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}
_ENTITY = lazy_pattern(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,40});")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
# Where a tag in a list item ends for Dataview, which takes `#` anywhere and knows no escape.
_ENDS_TAG = frozenset(" ,;.:!?'\"`()[]{}")
_NUMBER_SIGN = lazy_pattern(r"#[0-9]{1,12}(?=$|[ ,;.:!?'\"()\]{}])")
_BLOCK_ID = lazy_pattern(r"(?<![^\s\\\[])\^(?=[A-Za-z0-9\-]+$)")
_LIST_NUMBER = lazy_pattern(r"[0-9]{1,9}(?=[.)](?: |$))")
_LIST_DASH = lazy_pattern(r"[-+](?: |$)")
_RULE = lazy_pattern(r"[-=|:+ ]+$")
_OPENS_TAG = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz/!?%")
_YAML_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_YAML_UNPRINTABLE = lazy_pattern(r"[\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")


def inert(text: str) -> str:
    """One line of markdown that shows the words of `text` and yields nothing else in any reader we know.

    No tag, link, embed, task, inline field, comment, HTML, math, footnote, block id, heading, list, rule, template command
    or inline query. Code spans that are closed in `text` stay code spans, addresses become code spans. White space is
    collapsed, `clean` applied; no words give "". Safe anywhere in a line, except between a link's brackets.
    """
    line = collapse(clean(text))
    pieces: list[_Piece] = []
    position = 0
    for start, end, content in _code_spans(line):
        _add_text(pieces, line[position:start])
        _add_code(pieces, content)
        position = end
    _add_text(pieces, line[position:])
    return _written(pieces)


def inert_code(text: str) -> str:
    """The words as one code span, on one line; where a code span would wake something, the same words as `inert` text."""
    pieces: list[_Piece] = []
    _add_code(pieces, collapse(clean(text)))
    return _written(pieces)


def inert_yaml(text: str) -> str:
    """A double-quoted YAML scalar on one line, read back as exactly `text` (lone surrogates as U+FFFD).

    YAML 1.1 and 1.2 readers agree on it. `<%` does not occur in it. Obsidian takes a value that is `[[…]]` for a link
    after reading it, which no quoting can prevent: do not hand it such a value.
    """
    out: list[str] = []
    before = ""
    for letter in well_formed(text):
        if letter in _YAML_SHORT:
            out.append(_YAML_SHORT[letter])
        elif before == "<" and letter == "%":
            out.append("\\x25")
        elif _YAML_UNPRINTABLE.match(letter):
            out.append(f"\\x{ord(letter):02x}" if ord(letter) < 0x100 else f"\\u{ord(letter):04x}")
        else:
            out.append(letter)
        before = letter
    return '"' + "".join(out) + '"'


class _Piece(NamedTuple):
    code: bool
    words: str


def _code_spans(line: str) -> list[tuple[int, int, str]]:
    """(start, end, content) of each span: a run of backticks up to the next run of the same length."""
    runs = [found.span() for found in _TICKS.finditer(line)]
    later: dict[int, list[int]] = {}
    for number in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[number][1] - runs[number][0], []).append(number)
    spans: list[tuple[int, int, str]] = []
    number = 0
    while number < len(runs):
        start, end = runs[number]
        same = later[end - start]
        while same and same[-1] <= number:
            same.pop()
        if same and (content := line[end : runs[same[-1]][0]].strip()):
            number = same.pop()
            spans.append((start, runs[number][1], content))
        number += 1
    return spans


def _add_code(pieces: list[_Piece], content: str) -> None:
    if _UNSAFE_IN_CODE.search(content):
        _add_text(pieces, content)
    elif content:
        # Two spans side by side would share one run of backticks.
        if pieces and pieces[-1].code:
            pieces.append(_Piece(False, " "))
        pieces.append(_Piece(True, content))


def _add_text(pieces: list[_Piece], words: str) -> None:
    position = 0
    for found in _ADDRESS.finditer(words):
        address = _address(found.group())
        if not address:
            continue
        _add_plain(pieces, words[position : found.start()])
        _add_address(pieces, address)
        position = found.start() + len(address)
    _add_plain(pieces, words[position:])


def _add_plain(pieces: list[_Piece], words: str) -> None:
    if words:
        pieces.append(_Piece(False, words))


def _address(found: str) -> str:
    """Without the punctuation of the sentence around it."""
    while found:
        last = found[-1]
        unopened = last in _BRACKETS and found.count(last) > found.count(_BRACKETS[last])
        if last not in _AFTER_ADDRESS and not unopened:
            return found
        found = found[:-1]
    return ""


def _add_address(pieces: list[_Piece], address: str) -> None:
    # What is unsafe in code is cut in two, its second character stands between two spans as text.
    while (found := _UNSAFE_IN_CODE.search(address)) is not None:
        cut = max(found.start() + 1, found.end() - 1)
        if found.start() == 0 and address[0] in "$=":
            _add_plain(pieces, address[: found.end()])
            address = address[found.end() :]
            continue
        _add_code(pieces, address[:cut])
        _add_plain(pieces, address[cut])
        address = address[cut + 1 :]
    _add_code(pieces, address)


def _written(pieces: list[_Piece]) -> str:
    # Neighbouring pieces of text are one text: a `:` at the end of one and at the start of the next are `::`.
    joined: list[_Piece] = []
    for piece in pieces:
        if joined and not joined[-1].code and not piece.code:
            joined[-1] = _Piece(False, joined[-1].words + piece.words)
        else:
            joined.append(piece)
    out: list[str] = []
    for number, piece in enumerate(joined):
        if piece.code:
            out.append(_span(piece.words))
            continue
        first, last = number == 0, number == len(joined) - 1
        out.append(_escaped(piece.words, "" if first else "`", "" if last else "`"))
    return "".join(out)


def _span(content: str) -> str:
    inside = {len(run) for run in _TICKS.findall(content)}
    ticks = "`" * next(length for length in count(1) if length not in inside)
    pad = " " if content[0] == "`" or content[-1] == "`" else ""
    return f"{ticks}{pad}{content}{pad}{ticks}"


def _escaped(words: str, before: str, after: str) -> str:
    """The source of plain words. `before` and `after` are what touches them: a backtick (code), or "" (the line's end)."""
    out: list[str] = []
    at = 0
    if not before:
        lead, at = _line_start(words, not after)
        out.append(lead)
    while at < len(words):
        letter = words[at]
        if letter in _PUNCTUATION:
            end = at + 1
            if letter in "_=":
                while end < len(words) and words[end] == letter:
                    end += 1
            previous = words[at - 1] if at else before
            following = words[end] if end < len(words) else after
            if letter == "=":
                earlier = words[at - 2] if at > 1 else before
                out.append(_equals(end - at, earlier, previous, following))
            else:
                out.append(_mark(words, at, end, previous, following, not after))
            at = end
        else:
            out.append(letter)
            at += 1
    return "".join(out)


def _line_start(words: str, alone: bool) -> tuple[str, int]:
    """What only means something at the start of a line: its source, and how many characters of `words` it covers."""
    first = words[0]
    number = _LIST_NUMBER.match(words)
    if number:
        return number.group() + "\\" + words[number.end()], number.end() + 1
    dash = first in "-+" and _LIST_DASH.match(words)
    rule = first in "-|:+" and alone and _RULE.match(words)
    heading = first == "#" and words[1:2] in ("", " ")
    if first == "=":
        run = len(words) - len(words.lstrip("="))
        return "\\=" * run, run
    if dash or rule or heading or first in ">*|":
        return "\\" + first, 1
    return "", 0


def _mark(words: str, at: int, end: int, previous: str, following: str, last: bool) -> str:
    """The source of the punctuation `words[at:end]` (one character, or a run of `_`)."""
    letter = words[at]
    if letter == "\\":
        return "\\\\" if not following or following in _PUNCTUATION else "\\"
    if letter in "`[":
        return "\\" + letter
    if letter == "*":
        return "*" if previous == following == " " else "\\*"
    if letter == "_":
        inside = previous.isalnum() and following.isalnum()
        return "_" * (end - at) if inside else "\\_" * (end - at)
    if letter == "$":
        return "$" if previous in ("", " ") and following in ("", " ") else "\\$"
    if letter in ":%~":
        return "\\" + letter if previous == letter else letter
    if letter == "^":
        if last and _BLOCK_ID.match(words, at):
            return "&Hat;"
        return "\\^" if previous == "[" else "^"
    if letter == "#":
        return _hash(words, at, previous, following)
    if letter == "<":
        return "&lt;" if following in _OPENS_TAG else "<"
    if letter == "&":
        return "&amp;" if _ENTITY.match(words, at) else "&"
    return letter


def _equals(length: int, earlier: str, previous: str, following: str) -> str:
    # `==` beside a word is a highlight. One after a backtick, even a space on, looks like an inline query.
    touching = length > 1 and not (previous in ("", " ") and following in ("", " "))
    ticked = previous in ("`", "$") or (previous == " " and earlier == "`")
    return ("\\=" if ticked else "=") + ("\\=" if ticked or touching else "=") * (length - 1)


def _hash(words: str, at: int, previous: str, following: str) -> str:
    escaped = at + 1 < len(words) and following in "`["  # their backslash would be the tag's first character
    if not following or (following in _ENDS_TAG and not escaped):
        return "#"
    if _NUMBER_SIGN.match(words, at):  # no tag: those hold more than digits
        return "#" if previous.isalnum() else "\\#"
    return "&num;"
