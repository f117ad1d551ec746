"""SHA-256 without OpenSSL for a few kilobytes.

Loading OpenSSL takes as long as checking the history of ten thousand notes; Python's own SHA-256 is there at once and a few
times slower by the byte. Past `_FEW` bytes in one process OpenSSL has paid for itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol

_FEW = 256 * 1024


class Hash(Protocol):
    def digest(self) -> bytes: ...
    def hexdigest(self) -> str: ...


_left = _FEW
_full: Callable[[bytes], Hash] | None = None


def sha256(content: bytes | bytearray | memoryview) -> Hash:
    """As `hashlib.sha256`, for bytes that are all there."""
    global _left
    if _full is not None:
        return _full(content)  # pyright: ignore[reportArgumentType]
    _left -= len(content)
    small = None if _left < 0 or "_hashlib" in sys.modules else _own_sha256()
    return small(content) if small is not None else _openssl()(content)  # pyright: ignore[reportArgumentType]


def _own_sha256() -> Callable[[bytes], Hash] | None:
    """The module has another name from Python 3.12 on, and none where Python was built without it."""
    try:
        from _sha2 import sha256 as own  # pyright: ignore
    except ImportError:
        try:
            from _sha256 import sha256 as own  # pyright: ignore
        except ImportError:
            return None
    return own  # pyright: ignore


def _openssl() -> Callable[[bytes], Hash]:
    global _full
    from hashlib import sha256 as full

    _full = full
    return full
