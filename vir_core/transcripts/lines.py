"""A transcript file as blocks of whole lines: whatever a sync tool, an editor or a crash did to the file, line by line."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Protocol

CHUNK = 1 << 18
OVERSIZE = 16 << 20
"""Bytes. A longer line is not decoded: one such line would take several times its size in memory."""


Block = memoryview | bytes
"""One or more whole lines with their ends. A memoryview is only good until the next block is asked for."""

_buffers: list[
    bytearray
] = []  # of CHUNK bytes, used again: memory that was never touched costs more than reading into it


class Readable(Protocol):
    def readinto(self, buffer: memoryview, /) -> int | None: ...


class LineReader:
    """Reads at most `limit` bytes of `handle` (all of it when None) in chunks of 256 KiB, which stay in the processor's
    cache while they are decoded; `offset` is where in the file the handle stands, and at 0 the encoding is looked for.

    Iterating gives blocks. After it `tail` holds what stands behind the last line end, `read` the bytes taken, `oversize`
    the lines that were longer than 16 MiB and were dropped, and `complete` the place in the file behind the last line end,
    or -1 when the file is not UTF-8 and places mean nothing."""

    def __init__(self, handle: Readable, limit: int | None = None, offset: int = 0) -> None:
        self._handle = handle
        self._left = limit
        self._offset = offset
        self._recoding: Iterator[bytes] | None = None
        self._recoded = b""
        self.read = 0
        self.oversize = 0
        self.tail = b""
        self.complete = offset

    def __iter__(self) -> Iterator[Block]:
        try:
            buffer = _buffers.pop()
        except IndexError:
            buffer = bytearray(CHUNK)
        try:
            yield from self._blocks(buffer)
        finally:
            _buffers.append(buffer)

    def _blocks(self, buffer: bytearray) -> Iterator[Block]:
        view = memoryview(buffer)
        held = 0  # bytes at the head of the buffer that belong to an unfinished line
        dropping = False
        first = self._offset == 0
        at = self._offset
        while taken := self._fill(view[held:]):
            filled = held + taken
            if first:
                first = False
                head = bytes(view[: min(filled, 4)])
                if encoding := _encoding(head):
                    self._recode(encoding, bytes(view[:filled]))
                    continue
                if head.startswith(codecs.BOM_UTF8):
                    view[: filled - 3] = view[3:filled]
                    filled -= 3
                    at += 3
            if dropping:
                cut = buffer.find(b"\n", 0, filled) + 1
                if not cut:
                    at += filled
                    continue
                dropping = False
                view[: filled - cut] = view[cut:filled]
                filled -= cut
                at += cut
            end = buffer.rfind(b"\n", held, filled) + 1
            if end and held and (cut := buffer.find(b"\n", held, filled) + 1) > OVERSIZE + 1:
                self.oversize += 1
                view[: filled - cut] = view[cut:filled]
                filled -= cut
                end -= cut
                at += cut
                if self.complete >= 0:
                    self.complete = at
            if end:
                if self.complete >= 0:
                    self.complete = at + end
                yield view[:end]
                at += end
            held = filled - end
            view[:held] = view[end:filled]
            if held > OVERSIZE:
                self.oversize += 1
                at += held
                held = 0
                dropping = True
            elif held == len(buffer):
                buffer = bytearray(min(2 * held, OVERSIZE + CHUNK))
                buffer[:held] = view
                view = memoryview(buffer)
        self.tail = bytes(view[:held])

    def _fill(self, space: memoryview) -> int:
        if self._recoding is None:
            return self._take(space)
        while not self._recoded:
            try:
                self._recoded = next(self._recoding)
            except StopIteration:
                return 0
        piece, self._recoded = self._recoded[: len(space)], self._recoded[len(space) :]
        space[: len(piece)] = piece
        return len(piece)

    def _recode(self, encoding: str, head: bytes) -> None:
        self.complete = -1
        self._recoding = self._as_utf8(encoding, head)

    def _as_utf8(self, encoding: str, chunk: bytes) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        space = memoryview(bytearray(CHUNK))
        while chunk:
            yield decoder.decode(chunk).removeprefix("\ufeff").encode("utf-8", "replace")
            chunk = bytes(space[: self._take(space)])
        yield decoder.decode(b"", True).encode("utf-8", "replace")

    def _take(self, space: memoryview) -> int:
        if self._left is not None and self._left < len(space):
            space = space[: self._left]
        taken = (self._handle.readinto(space) or 0) if len(space) else 0
        self.read += taken
        if self._left is not None:
            self._left -= taken
        return taken


def line_ends(block: Block) -> int:
    """How many lines the block has. `bytes.count` looks at each byte by itself; `find` is five times as fast."""
    held, end = _held(block), len(block)
    ends = at = 0
    find = held.find
    while at := find(b"\n", at, end) + 1:
        ends += 1
    return ends


def lines_of(block: Block) -> Iterator[bytes]:
    """The lines of a block without their ends; blank ones and those of NUL padding alone are left out."""
    held, length = _held(block), len(block)
    at = 0
    while at < length:
        end = held.find(b"\n", at, length)
        if end < 0:
            end = length
        if line := bytes(block[at:end]).strip(b"\r\x00 \t\x0c"):
            yield line
        at = end + 1


def _held(block: Block) -> bytes | bytearray:
    """The bytes that a block is the beginning of; a memoryview itself cannot be searched."""
    if isinstance(block, memoryview):
        return block.obj if isinstance(block.obj, (bytes, bytearray)) else bytes(block)
    return block


def _encoding(head: bytes) -> str | None:
    """UTF-16 when the head says so, with or without a mark; None for everything that is read as UTF-8."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head[:1] in (b"{", b"[") and head[1:2] == b"\x00" and head[3:4] == b"\x00":
        return "utf-16-le"
    if head[:3] in (b"\x00{\x00", b"\x00[\x00"):
        return "utf-16-be"
    return None
