"""WordPiece, as BERT's uncased models cut text: words, then the longest pieces that the vocabulary has."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

LONGEST_WORD = 100
"""Characters; the vocabulary's own limit. A longer word is one unknown token."""

CHARACTERS_A_TOKEN = 16
"""Text beyond this many characters per token allowed is not looked at: no language needs so many, a hostile text may."""

_REMEMBERED = 50_000
"""Words whose pieces are kept."""

_ASCII_WORDS = re.compile(r"[a-z0-9]+|[^a-z0-9\s\x00-\x1f\x7f]")
_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class _Model(Struct):
    vocab: dict[str, int]


class _File(Struct):
    model: _Model


class WordPiece:
    """Cuts text to token ids, `[CLS]` in front and `[SEP]` behind."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self._vocabulary = vocabulary
        self._unknown = vocabulary["[UNK]"]
        self._first = vocabulary["[CLS]"]
        self._last = vocabulary["[SEP]"]
        self._known: dict[str, list[int]] = {}

    @classmethod
    def load(cls, path: Path) -> WordPiece:
        """From a `tokenizer.json`; its settings for padding and truncation are not used. Raises `OSError` and `ValueError`."""
        try:
            return cls(msgspec.json.decode(path.read_bytes(), type=_File).model.vocab)
        except (msgspec.MsgspecError, KeyError) as error:
            raise ValueError(f"{path} holds no WordPiece vocabulary: {error}") from error

    def encode(self, text: str, most: int) -> list[int]:
        """At most `most` ids, the two special ones included; the end of a longer text is cut off."""
        ids = [self._first]
        for word in _words(text[: most * CHARACTERS_A_TOKEN]):
            ids += self._pieces(word)
            if len(ids) >= most:
                break
        del ids[most - 1 :]
        ids.append(self._last)
        return ids

    def _pieces(self, word: str) -> list[int]:
        known = self._known.get(word)
        if known is None:
            known = self._cut(word)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[word] = known
        return known

    def _cut(self, word: str) -> list[int]:
        if len(word) > LONGEST_WORD:
            return [self._unknown]
        vocabulary = self._vocabulary
        pieces: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = vocabulary.get(prefix + word[start:end])
                if piece is not None:
                    break
            else:
                return [self._unknown]
            pieces.append(piece)
            start, prefix = end, "##"
        return pieces


def _words(text: str) -> Iterable[str]:
    if text.isascii():
        # Control characters vanish rather than part a word, so they go before the text is cut.
        return (found.group() for found in _ASCII_WORDS.finditer(_ASCII_CONTROL.sub("", text).lower()))
    spaced: list[str] = []
    for letter in text:
        if letter in "\t\n\r":
            spaced.append(" ")
        elif letter == "\ufffd" or unicodedata.category(letter) in _DROPPED:
            continue
        elif letter.isspace():
            spaced.append(" ")
        elif _is_han(ord(letter)):
            spaced.append(f" {letter} ")
        else:
            spaced.append(letter)
    bare = (letter for letter in unicodedata.normalize("NFD", "".join(spaced)) if unicodedata.category(letter) != "Mn")
    words: list[str] = []
    for word in "".join(bare).lower().split():
        start = 0
        for at, letter in enumerate(word):
            if _is_punctuation(letter):
                if start < at:
                    words.append(word[start:at])
                words.append(letter)
                start = at + 1
        if start < len(word):
            words.append(word[start:])
    return words


_DROPPED = frozenset({"Cc", "Cf", "Co", "Cs"})

_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def _is_punctuation(letter: str) -> bool:
    return letter in _ASCII_PUNCTUATION or unicodedata.category(letter)[0] == "P"


def _is_han(code: int) -> bool:
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x2A6DF
        or 0x2A700 <= code <= 0x2B81F
        or 0x2B920 <= code <= 0x2CEAF
        or 0x2F800 <= code <= 0x2FA1F
    )
