"""The checkpoint: a projection with the marks it was read up to. A cache: deleting it costs one full replay."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable, Iterator, Sequence
from io import FileIO
from itertools import chain
from pathlib import Path
from zlib import crc32

import msgspec
from msgspec import Struct

from vir_core.journal.replay import Marks
from vir_core.machine import ANYTHING, make_dirs, write_atomic

_MAGIC = b"vircp\0\0\2"
_SIZES = struct.Struct(">IQQQ")
_WRITE = 1024 * 1024


class Checkpoint(Struct, array_like=True):
    """`known` is the table of `Known`. Valid only for the same layout, core, vaults and device."""

    layout: int
    core: str
    vaults: list[str]
    device: str
    marks: Marks
    known: bytes = b""
    projection: bytes = b""


_decoder = msgspec.msgpack.Decoder(Checkpoint)


def load_checkpoint(path: Path) -> Checkpoint | None:
    """The checkpoint, or `None` when it is missing, damaged or of another make.

    The parts are read one by one: the projection of a long history is the largest thing in memory, and there once.
    """
    try:
        with path.open("rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode) or _read(file, 8) != _MAGIC:
                return None
            sizes = _read(file, _SIZES.size)
            check, *lengths = _SIZES.unpack(sizes)
            if os.fstat(file.fileno()).st_size != 8 + _SIZES.size + sum(lengths):
                return None
            head, known, projection = (_read(file, length) for length in lengths)
    except (OSError, struct.error):
        return None
    if check != _checksum(sizes[4:], head, known, projection):
        return None
    try:
        checkpoint = _decoder.decode(head)
    except msgspec.MsgspecError:
        return None
    checkpoint.known, checkpoint.projection = known, projection
    return checkpoint


def store_checkpoint(path: Path, checkpoint: Checkpoint, projection: bytes | Sequence[bytes | memoryview]) -> None:
    """`projection` is what its `dump` returned; the one of `checkpoint` is not looked at. Raises `StorageError`, `Busy`."""
    known = checkpoint.known
    head = msgspec.msgpack.encode(msgspec.structs.replace(checkpoint, known=b"", projection=b""))
    parts = (projection,) if isinstance(projection, bytes) else projection
    lengths = _SIZES.pack(0, len(head), len(known), sum(map(len, parts)))[4:]
    check = _checksum(lengths, head, known, *parts)
    make_dirs(path.parent, private=True)
    content = chain((_MAGIC, check.to_bytes(4, "big"), lengths, head, known), parts)
    write_atomic(path, _gathered(content), expected=ANYTHING, private=True)


def _gathered(parts: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """Parts of some size: of a million small ones the calls would cost more than the bytes."""
    size = 0
    waiting: list[bytes | memoryview] = []
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size >= _WRITE:
            yield b"".join(waiting)
            size = 0
            waiting.clear()
    yield b"".join(waiting)


def _read(file: FileIO, size: int) -> bytes:
    content = file.read(size) or b""
    while len(content) < size:  # one call reads at most 2 GiB
        more = file.read(size - len(content))
        if not more:
            break
        content += more
    return content


def _checksum(*parts: bytes | memoryview) -> int:
    check = 0
    for part in parts:
        check = crc32(part, check)
    return check
