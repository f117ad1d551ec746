"""A transcript file as lines of bytes: whatever a sync tool, an editor or a crash did to the file, line by line."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

CHUNK = 1 << 20
OVERSIZE = 16 << 20
"""Bytes. A longer line is not decoded: one such line would take several times its size in memory."""


class LineReader:
    """Reads at most `limit` bytes of `handle` (all of it when None) in chunks of 1 MiB. After the iteration `read` holds
    the bytes taken and `oversize` the lines that were longer than 16 MiB and were dropped."""

    def __init__(self, handle: BinaryIO, limit: int | None = None) -> None:
        self._handle = handle
        self._left = limit
        self.read = 0
        self.oversize = 0

    def __iter__(self) -> Iterator[bytes]:
        """Lines without their ends; blank ones and those of NUL padding alone are left out."""
        rest = b""
        dropping = False
        for chunk in self._chunks():
            if dropping:
                cut = chunk.find(b"\n")
                if cut < 0:
                    continue
                chunk = chunk[cut + 1 :]
                dropping = False
            lines = (rest + chunk if rest else chunk).split(b"\n")
            rest = lines.pop()
            for line in lines:
                if len(line) > OVERSIZE:
                    self.oversize += 1
                elif line := _bare(line):
                    yield line
            if len(rest) > OVERSIZE:
                self.oversize += 1
                rest = b""
                dropping = True
        if rest := _bare(rest):
            yield rest

    def _chunks(self) -> Iterator[bytes]:
        first = self._take()
        encoding = _encoding(first)
        if encoding is None:
            yield first.removeprefix(codecs.BOM_UTF8)
            while chunk := self._take():
                yield chunk
            return
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        chunk = first
        while chunk:
            yield decoder.decode(chunk).removeprefix("\ufeff").encode("utf-8", "replace")
            chunk = self._take()
        if tail := decoder.decode(b"", True):
            yield tail.encode("utf-8", "replace")

    def _take(self) -> bytes:
        size = CHUNK if self._left is None else min(CHUNK, self._left)
        chunk = self._handle.read(size) if size else b""
        self.read += len(chunk)
        if self._left is not None:
            self._left -= len(chunk)
        return chunk


def _bare(line: bytes) -> bytes:
    return line.strip(b"\r\x00 \t\x0c") if line else line


def _encoding(head: bytes) -> str | None:
    """UTF-16 when the head says so, with or without a mark; None for everything that is read as UTF-8."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head[:1] in (b"{", b"[") and head[1:2] == b"\x00" and head[3:4] == b"\x00":
        return "utf-16-le"
    if head[:3] in (b"\x00{\x00", b"\x00[\x00"):
        return "utf-16-be"
    return None
