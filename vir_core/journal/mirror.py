"""The mirror: a verbatim copy of every line this machine ever wrote or read, one file a device.

A sync tool or a restored backup may take lines from the segments; it cannot take them from here. In the file of this
device a line is *pending* until a `#done` below it says that the segment holds it too. A pending line whose segment lacks
it is completed by the next writer: that is what happens to a line that reached the disk while its writer died before
answering, so nobody can tell the two apart. A write that failed cleanly is *void*: its lines are cut off again before the
caller hears of it, so they never apply.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic

from msgspec import Struct

from vir_core.journal.damage import Damage
from vir_core.journal.segment import Files, Mark, blocks, last_behind, list_folder, mark_at, open_behind
from vir_core.journal.shape import L, MirroredShape
from vir_core.machine import append, make_dirs, sha256

DONE = b"#done\n"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


class Mirrored(Struct):
    """Line hashes of one mirror file. `pending` lines are behind the mark and are read again."""

    done: set[bytes]
    pending: set[bytes]
    mark: Mark


class Unread:
    """The lines of one mirror file behind a mark, as far as they were there when this was opened.

    Mostly they are the very bytes of the segments, in the same order. So they are compared with those first (`skip`); only
    what is left is hashed (`rest`), which takes ten times as long.
    """

    def __init__(self, path: str, mark: Mark, *, own: bool, digest: Callable[[bytes], bytes]) -> None:
        self._digest = digest
        self._file, self._status = open_behind(path, mark)
        size = self._status.st_size
        # What is done stays; of what is pending nobody knows, and it may be cut off while this is read.
        self._limit = last_behind(self._file, b"\n" + DONE if own else b"\n", mark.offset, size)
        self._blocks = blocks(self._file, mark.offset, self._limit)
        self._block = b""
        self._place = 0

    def skip(self, content: bytes) -> bool:
        """Passes over whole lines, if they come next and are done; else nothing is passed over."""
        while len(self._block) - self._place < len(content):
            more = self._more()
            if not more:
                return False
            self._block = self._block[self._place :] + more
            self._place = 0
        if not self._block.startswith(content, self._place):
            return False
        self._place += len(content)
        return True

    def rest(self) -> Mirrored:
        """The hashes of what was not passed over; the mark is behind all that is done. Closes the file."""
        try:
            done = self._hashes(self._block[self._place :])
            while more := self._more():
                done |= self._hashes(more)
            pending: set[bytes] = set()
            for block, _, whole in blocks(self._file, self._limit, self._status.st_size):
                if block and whole:
                    pending |= self._hashes(block)
            return Mirrored(done, pending, mark_at(self._file, self._status, self._limit))
        finally:
            self.close()

    def close(self) -> None:
        os.close(self._file)

    def _more(self) -> bytes:
        for block, _, _ in self._blocks:
            if block and (lines := block.replace(DONE, b"")):
                return lines
        return b""

    def _hashes(self, block: bytes) -> set[bytes]:
        # A torn piece is no line and nobody was told of it; looking for it would never end.
        pieces = [piece for piece in block.split(b"\n") if piece.endswith(b"}") and not piece.startswith(b"#")]
        return set(map(self._digest, pieces))


class Mirror(Generic[L]):
    """`folder` is of one vault and one machine; `device` writes its lines here."""

    def __init__(self, folder: Path, device: str, shape: MirroredShape[L]) -> None:
        self.folder = folder
        self.shape = shape
        self.own = _file_name(device)

    def files(self) -> Files:
        return list_folder(self.folder)

    def open(self, name: str, path: str, mark: Mark) -> Unread:
        """What the file holds behind `mark`. Raises `Cut` and `OSError` like `read_segment`."""
        return Unread(path, mark, own=name == self.own, digest=self.shape.digest)

    def name_of(self, device: str) -> str:
        """The file that holds the lines of `device`."""
        return _file_name(device)

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
            self._append(name, b"\n".join(raws) + b"\n")
            if name == self.own:
                self.done()

    def begin(self, lines: bytes) -> int:
        """Writes own lines, each with its end, as pending; returns the length to `cut` back to."""
        before = self._size()
        self._append(self.own, lines)
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

    def _append(self, name: str, lines: bytes) -> None:
        make_dirs(self.folder, private=True)
        path = self.folder / name
        append(path, guard(path) + lines, private=True)


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
