"""The checkpoint: a projection with the marks it was read up to. A cache: deleting it costs one full replay."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import msgspec
from msgspec import Struct

from vir_core.journal.replay import Marks
from vir_core.machine import ANYTHING, MachineError, make_dirs, read_bytes, write_atomic

_MAGIC = b"vircp\0\0\1"


class Checkpoint(Struct, array_like=True):
    """`known` is the table of `Known`. Valid only for the same layout, core, vaults and device."""

    layout: int
    core: str
    vaults: list[str]
    device: str
    marks: Marks
    known: bytes
    projection: bytes


_decoder = msgspec.msgpack.Decoder(Checkpoint)


def load_checkpoint(path: Path) -> Checkpoint | None:
    """The checkpoint, or `None` when it is missing, damaged or of another make."""
    try:
        content = read_bytes(path)
    except (FileNotFoundError, MachineError):
        return None
    if content[:8] != _MAGIC:
        return None
    body = memoryview(content)[12:]
    if int.from_bytes(content[8:12], "big") != crc32(body):
        return None
    try:
        return _decoder.decode(body)
    except msgspec.MsgspecError:
        return None


def store_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Raises `StorageError`, `Busy`."""
    body = msgspec.msgpack.encode(checkpoint)
    make_dirs(path.parent, private=True)
    write_atomic(path, _MAGIC + crc32(body).to_bytes(4, "big") + body, expected=ANYTHING, private=True)
