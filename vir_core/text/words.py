"""The words of a note: what a person would have to change for it to say something else."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from vir_core.text.digest import canonical, sha256_hex
from vir_core.text.fold import well_formed
from vir_core.text.lazy import lazy_pattern

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

MARK = "\x00"
"""Stands before and after code. CommonMark replaces every NUL in its input, so no text can imitate it."""

_NESTING = 100
# White space as ECMAScript's \s has it; Python's own set differs by six characters.
_SPACE = r"[\t\n\x0b\x0c\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
_SPACES = lazy_pattern(_SPACE + "+")
# Python and JavaScript disagree about which of these are white space and which are trimmed from a line.
_CONTROL = lazy_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_FAINT = lazy_pattern(r"[\u2028\u2029\ufeff]")
_BLOCK_ID = lazy_pattern(r"(?:^| )\^l[0-9a-f]{11}$")
_WIKILINK = lazy_pattern(r"!?\[\[([^\[\]|\r\n]+)(?:\|([^\[\]\r\n]*))?\]\]")

_parser: MarkdownIt | None = None


def words(markdown: str) -> list[str]:
    """The words of a piece of markdown, one string a block, empty ones left out.

    Parsed as CommonMark: a paragraph, heading, or item of a list is one string of its shown text; code spans, fences and
    indented code stand between two NULs; links, wikilinks and embeds are their shown text, images their alternative text;
    HTML counts as its source. White space is collapsed, the result is NFC, a block id of ours at a block's end is
    dropped. Emphasis, list and quote marks, heading levels, escapes, link targets and line ends leave no trace.
    """
    source = _FAINT.sub(" ", _CONTROL.sub("\ufffd", well_formed(markdown)))
    tokens = _markdown().parse(source)
    # Past its nesting limit the parser drops text. Nobody writes such a thing by hand, and hidden words must count.
    if any(token.level >= _NESTING - 2 for token in tokens):
        return [line for line in map(_tidy, re.split(r"\r\n?|\n", source)) if line]
    blocks: list[str] = []
    for token in tokens:
        if token.type == "inline":
            blocks.append(_shown(token.children or []))
        elif token.type in ("fence", "code_block"):
            blocks.append(MARK + token.content + MARK)
        elif token.type == "html_block":
            blocks.append(token.content)
    return [line for line in map(_tidy, blocks) if line]


def words_digest(category: str, summary: str, learned: str, context: str) -> str:
    """The content digest of a note: sha256 hex of canonical JSON
    `{"v": 1, "category": …, "words": {"summary": […], "learned": […], "context": […]}}`.

    The three arguments are the markdown of the sections without their headings; each is parsed by itself. An object and
    not one list, so that a line that moves to another section changes the digest.
    """
    spoken = {"summary": words(summary), "learned": words(learned), "context": words(context)}
    return sha256_hex(canonical({"v": 1, "category": well_formed(category), "words": spoken}))


def _tidy(block: str) -> str:
    line = _SPACES.sub(" ", unicodedata.normalize("NFC", well_formed(block))).strip(" ")
    return _BLOCK_ID.sub("", line)


def _shown(tokens: list[Token]) -> str:
    parts: list[str] = []
    for token in tokens:
        if token.type == "code_inline":
            parts.append(MARK + token.content + MARK)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif token.type == "image":
            parts.append(_shown(token.children or []))
        elif not token.nesting:
            parts.append(token.content)
    return "".join(parts)


def _markdown() -> MarkdownIt:
    global _parser
    if _parser is None:
        from markdown_it import MarkdownIt

        _parser = MarkdownIt("commonmark", {"maxNesting": _NESTING})
        _parser.inline.ruler.before("link", "wikilink", _wikilink)
        # How an address is shown or refused differs between the Python and the JavaScript parser and their versions;
        # addresses are no words, so every one is taken as it stands.
        _parser.normalizeLink = lambda url: url
        _parser.normalizeLinkText = lambda link: link
        _parser.validateLink = lambda url: True
    return _parser


def _wikilink(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "[!":
        return False
    found = _WIKILINK.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        target, shown = found.groups()
        # In a table the bar of a wikilink is written `\|`.
        state.push("text", "", 0).content = shown or target.removesuffix("\\")
    state.pos = found.end()
    return True
