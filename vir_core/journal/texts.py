"""Texts: every body vir wrote or a person approved, and the evidence of lessons, by digest and written once.

A file is one line of JSON (the header: title, path, spellings) and the body below it. The digest is over the whole file,
so that a title cannot change under a digest that a person signed, and equal bodies under two titles are two texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.machine import StorageError, make_dirs, sha256, write_once

_DIGEST = re.compile(r"[0-9a-f]{64}").fullmatch


class Text(Struct, frozen=True):
    header: dict[str, str | list[str]]
    body: bytes


_decoder = msgspec.json.Decoder(dict[str, str | list[str]])


class Texts:
    """The texts of one vault; `store` is `<folder>/store`."""

    def __init__(self, store: Path) -> None:
        self.folder = store / "texts"

    def put(self, header: Mapping[str, str | list[str]], body: bytes) -> str:
        """Writes and fsyncs a text unless it is there; returns its digest (sha256 hex of the file).

        A line that names the digest comes after this. Raises `StorageError`.
        """
        content = _file(header, body)
        digest = sha256(content).hexdigest()
        path = self._path(digest)
        make_dirs(path.parent)
        write_once(path, content)
        return digest

    def get(self, digest: str) -> Text | None:
        """The text, or `None` while it has not arrived whole: missing, half synced, or not what its name says."""
        if not _DIGEST(digest):
            return None
        try:
            content = self._path(digest).read_bytes()
        except OSError:
            return None
        if sha256(content).hexdigest() != digest:
            # Version control may have turned line ends on check-out.
            content = content.replace(b"\r\n", b"\n")
            if sha256(content).hexdigest() != digest:
                return None
        head, _, body = content.partition(b"\n")
        try:
            return Text(_decoder.decode(head), body)
        except msgspec.MsgspecError:
            return None

    def remove(self, digest: str) -> bool:
        """Destroys a text, whole or in part here; True when there was one. Only what was forgotten is. Raises `StorageError`."""
        if not _DIGEST(digest):
            return False
        path = self._path(digest)
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StorageError.of(error, path) from error
        return True

    def has(self, digest: str) -> bool:
        """Whether a file of that name is here, by `stat` alone."""
        try:
            return bool(_DIGEST(digest)) and self._path(digest).stat().st_size > 0
        except OSError:
            return False

    def _path(self, digest: str) -> Path:
        return self.folder / digest[:2] / f"{digest}.txt"


def text_digest(header: Mapping[str, str | list[str]], body: bytes) -> str:
    """The digest that `Texts.put` would return."""
    return sha256(_file(header, body)).hexdigest()


def _file(header: Mapping[str, str | list[str]], body: bytes) -> bytes:
    plain = {
        _sound(key): _sound(value) if isinstance(value, str) else list(map(_sound, value))
        for key, value in header.items()
    }
    return msgspec.json.encode(plain, order="sorted") + b"\n" + body


def _sound(text: str) -> str:
    """A path as the file system spells it may hold lone surrogates, which no file of ours does."""
    return text.encode("utf-8", "replace").decode()
