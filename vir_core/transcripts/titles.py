"""Titles of sessions: the words while a file is read, and a digest of them where words may not be written down."""

from __future__ import annotations

from hashlib import blake2b

from vir_core.text import clean

_MARK = "\0"


def clean_title(title: str) -> str:
    """As `text.clean`; a digest stays one."""
    return title if is_token(title) else clean(title)


def token_of(title: str) -> str:
    """A digest of the title, the same for its words and for what stands for them; empty for an empty title."""
    if is_token(title):
        return title[1:]
    return blake2b(title.encode("utf-8", "replace"), digest_size=8).hexdigest() if title else ""


def as_token(title: str) -> str:
    """What stands for the title where its words may not be written down."""
    return title if is_token(title) or not title else _MARK + token_of(clean(title))


def is_token(title: str) -> bool:
    """Whether this stands for a title; no title begins so, because control characters are taken out of them."""
    return title.startswith(_MARK)
