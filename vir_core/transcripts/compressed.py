"""Rollouts that Codex compressed when they grew cold: `.jsonl.zst`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

SUFFIX = ".zst"
_WINDOW = 64 << 20
"""Bytes that a frame may make us keep; Codex writes frames of 8 MiB at most."""


class Stream(Protocol):
    def readinto(self, buffer: memoryview, /) -> int: ...


class Unpacked:
    """What a compressed file holds, a piece at a time. A damaged or cut file ends where it can no longer be read: `torn`
    says so."""

    def __init__(self, handle: BinaryIO) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise OSError("it is compressed, and the package zstandard is not installed") from error
        self._damage = zstandard.ZstdError
        self._stream: Stream = zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(
            handle, read_across_frames=True
        )
        self.torn = False

    def readinto(self, buffer: memoryview, /) -> int:
        if self.torn:
            return 0
        try:
            return self._stream.readinto(buffer)
        except self._damage:
            self.torn = True
            return 0


def unpacked_lines(handle: BinaryIO) -> Iterator[bytes]:
    """The lines of a compressed file with their ends, to where it can no longer be read; a last line of it may be cut.
    Raises OSError."""
    held = b""
    unpacked = Unpacked(handle)
    space = memoryview(bytearray(1 << 18))
    while taken := unpacked.readinto(space):
        *whole, held = (held + bytes(space[:taken])).split(b"\n")
        yield from (line + b"\n" for line in whole)
    if held:
        yield held
