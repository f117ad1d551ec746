"""A transcript file as blocks of whole lines: whatever a sync tool, an editor or a crash did to the file, line by line."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Protocol

CHUNK = 1 << 18
OVERSIZE = 16 << 20
"""Bytes. A longer line is not decoded: one such line would take several times its size in memory."""


class Readable(Protocol):
    def read(self, size: int, /) -> bytes | None: ...


class LineReader:
    """Reads at most `limit` bytes of `handle` (all of it when None) in chunks of 256 KiB, which stay in the processor's cache while they are decoded; `offset` is where in the file
    the handle stands, and at 0 the encoding is looked for.

    Iterating gives blocks: one or more whole lines with their ends. After it `tail` holds what stands behind the last line
    end, `read` the bytes taken, `oversize` the lines that were longer than 16 MiB and were dropped, and `complete` the
    place in the file behind the last line end, or -1 when the file is not UTF-8 and places mean nothing."""

    def __init__(self, handle: Readable, limit: int | None = None, offset: int = 0) -> None:
        self._handle = handle
        self._left = limit
        self._offset = offset
        self.read = 0
        self.oversize = 0
        self.tail = b""
        self.complete = offset

    def __iter__(self) -> Iterator[bytes]:
        pieces: list[bytes] = []
        held = 0
        dropping = False
        for chunk in self._chunks():
            if dropping:
                cut = chunk.find(b"\n")
                if cut < 0:
                    continue
                chunk = chunk[cut + 1 :]
                dropping = False
            end = chunk.rfind(b"\n") + 1
            if end:
                if held:
                    first = chunk.find(b"\n") + 1
                    if held + first > OVERSIZE + 1:
                        self.oversize += 1
                        pieces.clear()
                        chunk, end = chunk[first:], end - first
                pieces.append(chunk[:end])
                block = b"".join(pieces)
                pieces.clear()
                held = 0
                if block:
                    yield block
                chunk = chunk[end:]
            if chunk:
                pieces.append(chunk)
                held += len(chunk)
            if held > OVERSIZE:
                self.oversize += 1
                pieces.clear()
                held = 0
                dropping = True
        self.tail = b"".join(pieces)

    def _chunks(self) -> Iterator[bytes]:
        first = self._take()
        encoding = _encoding(first) if self._offset == 0 else None
        if encoding is None:
            self._mark(first, self._offset)
            yield first.removeprefix(codecs.BOM_UTF8) if self._offset == 0 else first
            at = self._offset + len(first)
            while chunk := self._take():
                self._mark(chunk, at)
                at += len(chunk)
                yield chunk
            return
        self.complete = -1
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        chunk = first
        while chunk:
            yield decoder.decode(chunk).removeprefix("\ufeff").encode("utf-8", "replace")
            chunk = self._take()
        if tail := decoder.decode(b"", True):
            yield tail.encode("utf-8", "replace")

    def _mark(self, chunk: bytes, at: int) -> None:
        end = chunk.rfind(b"\n")
        if end >= 0:
            self.complete = at + end + 1

    def _take(self) -> bytes:
        size = CHUNK if self._left is None else min(CHUNK, self._left)
        chunk = (self._handle.read(size) or b"") if size else b""
        self.read += len(chunk)
        if self._left is not None:
            self._left -= len(chunk)
        return chunk


def line_ends(block: bytes) -> int:
    """How many lines the block has. `bytes.count` looks at each byte by itself; `find` is five times as fast."""
    ends = at = 0
    find = block.find
    while at := find(b"\n", at) + 1:
        ends += 1
    return ends


def lines_of(block: bytes) -> Iterator[bytes]:
    """The lines of a block without their ends; blank ones and those of NUL padding alone are left out."""
    at = 0
    while at < len(block):
        end = block.find(b"\n", at)
        if end < 0:
            end = len(block)
        if line := block[at:end].strip(b"\r\x00 \t\x0c"):
            yield line
        at = end + 1


def _encoding(head: bytes) -> str | None:
    """UTF-16 when the head says so, with or without a mark; None for everything that is read as UTF-8."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head[:1] in (b"{", b"[") and head[1:2] == b"\x00" and head[3:4] == b"\x00":
        return "utf-16-le"
    if head[:3] in (b"\x00{\x00", b"\x00[\x00"):
        return "utf-16-be"
    return None
