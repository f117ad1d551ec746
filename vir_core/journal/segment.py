"""Segments: which files hold lines, and reading one of them from where it was left.

`journal/<device>/<nnnn>.jsonl` has one writer. Copies that sync tools make under other names lie beside it and are read
alike: where a line comes from is said by the line. What a line is, is said by the shape.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar
from zlib import crc32

from msgspec import MsgspecError, Struct, field
from msgspec.json import decode as decode_json

from vir_core.journal.damage import LINE_LIMIT, Damage
from vir_core.journal.line import Line
from vir_core.machine import sha256

SEAL = 1024 * 1024
"""Bytes. A segment that the next batch would take beyond this is never written again."""

_BLOCK = 4 * 1024 * 1024
_WINDOW = 4096
_STEP = 64 * 1024


class Mark(Struct, array_like=True):
    """How far a file was read and how to tell that those bytes are still the same.

    `offset` is behind the last complete line and `ends` counts the line ends before it; `window` is sha256 over the (at
    most 4,096) bytes before it and `prefix` crc32 over all of them. `size`, `mtime_ns` and `inode` are from before the read: when they have not moved, the file
    is not opened.
    """

    offset: int = 0
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0
    window: bytes = b""
    foreign: bool = False
    unfinished: bool = False
    damage: Damage = field(default_factory=Damage)
    ends: int = 0
    prefix: int = 0


class Files(Struct):
    """Files by `folder/name`; `absent` are those of which only a cloud placeholder is here."""

    found: dict[str, tuple[str, os.stat_result]]
    absent: set[str]
    unreadable: int = 0


class Cut(Exception):
    """The bytes before a mark are not the bytes that were read."""


def list_segments(journal: Path) -> Files:
    files = Files({}, set())
    for name, path in _entries(journal, files):
        if not name.startswith(".") and os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
            _list_folder(name + "/", path, files)
    return files


def list_folder(folder: Path) -> Files:
    """The `.jsonl` files of one folder, by name."""
    files = Files({}, set())
    _list_folder("", str(folder), files)
    return files


def list_file(path: Path) -> Files:
    """One file by its name, with its placeholder if that is all there is."""
    beside = list_folder(path.parent)
    return Files(
        {name: found for name, found in beside.found.items() if name == path.name},
        beside.absent & {path.name},
        beside.unreadable,
    )


def _list_folder(prefix: str, folder: str, files: Files) -> None:
    for name, path in _entries(folder, files):
        if name.startswith(".") and name.endswith(".jsonl.icloud"):
            files.absent.add(_key(prefix + name[1 : -len(".icloud")]))
        elif name.endswith(".jsonl") and not name.startswith("."):
            try:
                status = os.stat(path)  # noqa: PTH116
            except OSError:
                # Gone since it was listed is like never listed; a dangling link too.
                continue
            if stat.S_ISREG(status.st_mode):
                files.found[_key(prefix + name)] = (path, status)
    # A placeholder beside the file that it stands for was left over; waiting for it would never end.
    files.absent -= files.found.keys()


def _entries(folder: Path | str, files: Files) -> Iterator[tuple[str, str]]:
    try:
        with os.scandir(folder) as entries:
            yield from sorted((entry.name, entry.path) for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:
        files.unreadable += 1


def _key(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()


def same_file(mark: Mark, status: os.stat_result) -> bool:
    return mark.size == status.st_size and mark.mtime_ns == status.st_mtime_ns and mark.inode == status.st_ino


def _read_at(file: int, position: int, size: int) -> bytes:
    os.lseek(file, position, os.SEEK_SET)
    return os.read(file, size)


def _window(file: int, offset: int) -> bytes:
    size = min(offset, _WINDOW)
    return sha256(_read_at(file, offset - size, size)).digest()


def open_behind(path: str, mark: Mark) -> tuple[int, os.stat_result]:
    """Opens a file to read behind `mark`. Raises `Cut` when the bytes before it changed, `OSError` when it cannot."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(file)
        if status.st_size < mark.offset or (mark.offset and _window(file, mark.offset) != mark.window):
            raise Cut
    except BaseException:
        os.close(file)
        raise
    return file, status


def mark_at(file: int, status: os.stat_result, offset: int) -> Mark:
    """A mark at `offset` of an open file whose status was taken before it was read."""
    return Mark(
        offset=offset,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        inode=status.st_ino,
        window=_window(file, offset) if offset else b"",
    )


def blocks(file: int, start: int, end: int) -> Iterator[tuple[bytes | None, int, bool]]:
    """The bytes from `start` to `end` as `(block, its end, whole)`.

    A whole block ends with a line end; only the last one may not. `None` stands for a line beyond the limit.
    """
    position = start
    carry = b""
    oversize = False
    while position < end:
        block = _read_at(file, position, min(_BLOCK, end - position))
        if not block:
            break
        base = position
        position += len(block)
        if oversize:
            first = block.find(b"\n") + 1
            if not first:
                continue
            oversize = False
            yield None, base + first, True
            block, base = block[first:], base + first
        cut = block.rfind(b"\n") + 1
        if cut:
            yield carry + block[:cut], base + cut, True
            carry = block[cut:]
        else:
            carry += block
        if len(carry) > LINE_LIMIT:
            carry, oversize = b"", True
    if oversize:
        yield None, position, False
    elif carry:
        yield carry, position, False


def last_behind(file: int, ending: bytes, start: int, end: int) -> int:
    """The offset behind the last `ending` (it begins with a line end) between `start`, where a line begins, and `end`;
    `start` when there is none."""
    stop = end
    while stop > start:
        low = max(start, stop - _STEP)
        before = b"\n" if low == start else b""
        place = (before + _read_at(file, low, stop - low)).rfind(ending)
        if place >= 0:
            return low - len(before) + place + len(ending)
        if low == start:
            break
        stop = low + len(ending) - 1
    return start


L = TypeVar("L")


def read_segment(
    path: str,
    mark: Mark,
    decode: Callable[[bytes, Damage, int], list[L]],
    elsewhere: Callable[[L], bool],
    *,
    appended: bool = False,
) -> tuple[list[L], Mark]:
    """The lines behind `mark` and the mark behind them; none of a file that begins with a line from `elsewhere`.

    `decode` gets a block, the damage to add to, and the line ends before the block. A file that moved may have changed
    anywhere, so all bytes before the mark are compared, except when the caller itself `appended` to it. Raises `Cut` when
    they changed and `OSError` when the file cannot be read.
    """
    file, status = open_behind(path, mark)
    try:
        if mark.offset and not appended and _checksum(file, 0, mark.offset) != mark.prefix:
            raise Cut
        prefix = mark.prefix
        lines: list[L] = []
        damage = Damage()
        damage.add(mark.damage)
        offset, ends = mark.offset, mark.ends
        unfinished = False
        for block, end, whole in blocks(file, offset, status.st_size):
            trial = Damage()
            found = [] if block is None else decode(block, trial, ends)
            if mark.offset == 0 and not lines and found and elsewhere(found[0]):
                foreign = mark_at(file, status, 0)
                foreign.foreign = True
                foreign.damage = Damage(other_vault=1)
                return [], foreign
            lines += found
            if not whole and not _finished(block or b"", decode, ends):
                # A writer may be in the middle of this line; what is whole in it is read, the rest waits for its end.
                unfinished = True
                break
            damage.add(trial)
            damage.oversize += block is None
            prefix = _checksum(file, offset, end, prefix) if block is None else crc32(block, prefix)
            offset = end
            ends += int(whole) if block is None else block.count(b"\n")
        result = mark_at(file, status, offset)
        result.unfinished = unfinished
        result.damage = damage
        result.ends = ends
        result.prefix = prefix
        return lines, result
    finally:
        os.close(file)


def _checksum(file: int, position: int, end: int, check: int = 0) -> int:
    while position < end:
        block = _read_at(file, position, min(_BLOCK, end - position))
        if not block:
            break
        check = crc32(block, check)
        position += len(block)
    return check


def _finished(block: bytes, decode: Callable[[bytes, Damage, int], list[L]], ends: int) -> bool:
    """Whether the last line, which lacks its end, is whole all the same."""
    start = block.rfind(b"\n") + 1
    damage = Damage()
    found = decode(block[start:], damage, ends + block.count(b"\n"))
    return bool(found) and not (damage.torn or damage.garbage)


class _Started(Struct):
    n: int = 0


def number_of(line: Line) -> int:
    """The number of the segment that a `segment_started` line opened; 0 when it does not say."""
    try:
        return decode_json(line.data, type=_Started).n
    except MsgspecError:
        return 0
