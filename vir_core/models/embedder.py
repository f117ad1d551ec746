"""What an embedder is, whichever model stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

Vector = bytes
"""Little-endian 32-bit floats, of length 1, so that a dot product is the cosine, in [-1, 1]."""


class EmbeddingModel(Struct, frozen=True, kw_only=True):
    """Which model made a vector. Vectors are comparable when these are equal, and only then: `tokenizer` is part of it,
    because the same weights after another cut give other vectors."""

    name: str
    dimensions: int
    tokenizer: str = ""


class EmbedderFailed(Exception):
    """No vectors came. `message` says what happened, `hint` what to do about it; the search goes on by words."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Embedder(Protocol):
    """Text to vectors. Making one is cheap; weights are loaded by the first call. Every call may raise `EmbedderFailed`."""

    @property
    def name(self) -> str:
        """The model's name, known without loading anything."""
        ...

    def model(self) -> EmbeddingModel:
        """May have to ask a server how long its vectors are."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a text, in the same order. Handed a few hundred at a time it can sort them by length."""
        ...

    def embed_question(self, text: str) -> Vector:
        """As `embed` for one text, by whatever is fastest in a process that has just begun."""
        ...
