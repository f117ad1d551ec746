"""The mirror: a verbatim copy of every line this machine ever wrote or read, one file a device.

A sync tool or a restored backup may take lines from the segments; it cannot take them from here. In the file of this
device a line is *pending* until a `#done` below it says that the segment holds it too. A pending line whose segment lacks
it is completed by the next writer: that is what happens to a line that reached the disk while its writer died before
answering, so nobody can tell the two apart. A write that failed cleanly is *void*: its lines are cut off again before the
caller hears of it, so they never apply.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Generic

from msgspec import Struct

from vir_core.journal.line import Damage
from vir_core.journal.segment import Files, Mark, blocks, list_folder, mark_at, open_behind
from vir_core.journal.shape import L, MirroredShape
from vir_core.machine import append, make_dirs, sha256

DONE = b"#done\n"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


class Mirrored(Struct):
    """Line hashes of one mirror file. `pending` lines are behind the mark and are read again."""

    done: set[bytes]
    pending: set[bytes]
    mark: Mark


class Mirror(Generic[L]):
    """`folder` is of one vault and one machine; `device` writes its lines here."""

    def __init__(self, folder: Path, device: str, shape: MirroredShape[L]) -> None:
        self.folder = folder
        self.shape = shape
        self.own = _file_name(device)

    def files(self) -> Files:
        return list_folder(self.folder)

    def read(self, name: str, path: str, mark: Mark) -> Mirrored:
        """The hashes behind `mark`. Raises `Cut` and `OSError` like `read_segment`."""
        file, status = open_behind(path, mark)
        try:
            done: set[bytes] = set()
            pending: set[bytes] = set()
            offset = mark.offset
            own = name == self.own
            digest = self.shape.digest
            for block, end, whole in blocks(file, offset, status.st_size):
                if not whole:
                    break
                position = end - len(block or b"")
                for piece in (block or b"").split(b"\n")[:-1]:
                    position += len(piece) + 1
                    if not piece.startswith(b"#"):
                        # A torn piece is no line and nobody was told of it; looking for it would never end.
                        if piece.endswith(b"}"):
                            pending.add(digest(piece))
                    elif own and piece == DONE[:-1]:
                        done |= pending
                        pending.clear()
                        offset = position
                if not own:
                    done |= pending
                    pending.clear()
                    offset = end
            return Mirrored(done, pending, mark_at(file, status, offset))
        finally:
            os.close(file)

    def fetch(self, wanted: set[bytes]) -> list[L]:
        """The lines with these hashes, each once. Reads the whole mirror: wanted only when something was lost."""
        found: dict[str, L] = {}
        digest = self.shape.digest
        for name, (path, _) in self.files().found.items():
            try:
                file, status = open_behind(path, Mark())
            except OSError:
                continue  # what cannot be read here was not promised to anyone; the segments speak alone
            try:
                for block, _, whole in blocks(file, 0, status.st_size):
                    if not whole or block is None:
                        continue
                    kept = [piece for piece in block.split(b"\n") if piece and digest(piece) in wanted]
                    for line in self.shape.decode(b"\n".join(kept), Damage(), name=name, first=0):
                        found.setdefault(line.hash, line)
            finally:
                os.close(file)
        return [line for line in found.values() if bytes.fromhex(line.hash) in wanted]

    def keep(self, lines: Iterable[L]) -> None:
        """Mirrors lines that were read from segments, in the files of the devices they came from."""
        by_file: dict[str, list[bytes]] = {}
        for line in lines:
            by_file.setdefault(_file_name(line.origin), []).append(line.raw)
        for name, raws in by_file.items():
            self._append(name, raws)
            if name == self.own:
                self.done()

    def begin(self, raws: list[bytes]) -> int:
        """Writes own lines as pending; returns the length to `cut` back to."""
        before = self._size()
        self._append(self.own, raws)
        return before

    def done(self) -> None:
        """Marks every own line as held by its segment. Raises `StorageError`."""
        path = self.folder / self.own
        append(path, guard(path) + DONE, fsync=False, private=True)

    def cut(self, before: int) -> None:
        """Makes void what `begin` wrote. Needs no free space. Raises `OSError`."""
        with (self.folder / self.own).open("r+b") as file:
            file.truncate(before)
            os.fsync(file.fileno())

    def _size(self) -> int:
        try:
            return (self.folder / self.own).stat().st_size
        except FileNotFoundError:
            return 0

    def _append(self, name: str, raws: list[bytes]) -> None:
        make_dirs(self.folder, private=True)
        path = self.folder / name
        append(path, guard(path) + b"\n".join(raws) + b"\n", private=True)


def guard(path: Path) -> bytes:
    """What must precede an append so that a torn last line does not swallow it: a line end or nothing."""
    try:
        with path.open("rb") as file:
            if file.seek(0, os.SEEK_END) == 0:
                return b""
            file.seek(-1, os.SEEK_END)
            return b"" if file.read(1) == b"\n" else b"\n"
    except FileNotFoundError:
        return b""


def _file_name(device: str) -> str:
    # A device names itself in its lines; what is no plain name must not choose a path here.
    if 0 < len(device) <= 40 and _PLAIN.issuperset(device):
        return f"{device}.jsonl"
    return f"other-{sha256(device.encode('utf-8', 'replace')).hexdigest()[:16]}.jsonl"
