"""The passage: an indexed piece of a note, and how it is cut into terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from vir_core.index.native import Rows, Tokenizer

Kind = Literal["lesson", "summary", "context"]

LAYOUT = 2
"""Raised when a column, its meaning or what goes into it changes; an index of another layout is rebuilt, never mixed."""

WORDS = Tokenizer(
    base_tokenizer="simple",
    stem=True,
    remove_stop_words=True,
    ascii_folding=True,
    max_token_length=64,
)
"""English words: stemmed, accents folded, stop words dropped."""

IDENTS = Tokenizer(
    base_tokenizer="whitespace",
    stem=False,
    remove_stop_words=False,
    ascii_folding=False,
)
"""Identifiers and pieces of scripts without spaces, cut by us and kept as they are."""

TOKENIZERS = {"words": WORDS, "idents": IDENTS}


class Passage(Struct, frozen=True, kw_only=True):
    """`block` is the lesson's id, empty for a section. `path` is where the note lay when it was indexed, relative to the
    vault root. `project` is the id, `project_name` the display name. `ident` holds the terms of the identifier column,
    separated by spaces; empty means: derived from title and text. `confidence` is in [0, 1]; `date` is YYYY-MM-DD;
    `digest` is that of the file's body when the passage was cut from it."""

    note: str
    block: str
    kind: Kind
    title: str
    text: str
    path: str
    project: str
    project_name: str
    category: str
    date: str
    confidence: float
    digest: str
    ident: str = ""
    distiller: str = ""

    @property
    def anchor(self) -> str:
        """What tells the passages of one note apart: the lesson's id, else the section's name."""
        return self.block or self.kind

    @property
    def key(self) -> str:
        return f"{self.note}#{self.anchor}"


STORED = (
    "note",
    "block",
    "kind",
    "path",
    "project",
    "project_name",
    "category",
    "date",
    "confidence",
    "digest",
    "distiller",
)
"""Columns kept as they are. Title and text stand together in `words`, the title being its first line."""

ANSWERED = (*STORED, "words")
"""What an answer reads; `key`, `hash` (of `words`, which is also what is embedded) and `idents`
serve only finding."""


_WRITTEN_BY_PEOPLE = frozenset({"path", "project", "project_name"})


def rows(passages: Sequence[Passage]) -> Rows:
    """The columns of the table. Text is cleaned here, because one lone surrogate would fail the whole batch."""
    from vir_core.text import clean, identifier_tokens, sha256_hex

    columns: dict[str, list[Any]] = {name: [] for name in ("key", "hash", *STORED, *TOKENIZERS)}
    for passage in passages:
        title, text = " ".join(clean(passage.title).split()), clean(passage.text)
        words = f"{title}\n{text}"
        columns["key"].append(passage.key)
        columns["hash"].append(sha256_hex(words.encode())[:24])
        columns["words"].append(words)
        columns["idents"].append(clean(passage.ident) or " ".join(identifier_tokens(words)))
    for name in STORED:
        values: list[Any] = [getattr(passage, name) for passage in passages]
        columns[name] = [clean(value) for value in values] if name in _WRITTEN_BY_PEOPLE else values
    return columns


def title_and_text(words: str) -> tuple[str, str]:
    """What `rows` joined."""
    title, _, text = words.partition("\n")
    return title, text
