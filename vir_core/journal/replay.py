"""Replay: the segments and the mirror, joined by line hash, applied to a projection in any order.

A projection is anything that can be built from lines. This one counts what happened to each subject and keeps the latest:

    class Latest:
        layout = 1

        def __init__(self) -> None:
            self.seen: dict[str, tuple[int, tuple[str, str, str], str]] = {}

        def apply(self, line: Line) -> None:
            count, stamp, action = self.seen.get(line.subject, (0, ("", "", ""), ""))
            if line.stamp > stamp:
                stamp, action = line.stamp, line.action
            self.seen[line.subject] = (count + 1, stamp, action)

        def dump(self) -> bytes:
            return msgspec.msgpack.encode(self.seen)

        def load(self, content: bytes) -> None:
            self.seen = msgspec.msgpack.decode(content, type=dict[str, tuple[int, tuple[str, str, str], str]])
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from zlib import crc32

from msgspec import Struct

from vir_core.journal.damage import Damage
from vir_core.journal.line import SEGMENT_STARTED, VERSION, Line
from vir_core.journal.mirror import Mirror, Mirrored, Unread
from vir_core.journal.segment import Cut, Mark, mark_at, number_of, read_segment, same_file
from vir_core.journal.shape import Entry, L, Shape

E = TypeVar("E", bound=Entry, contravariant=True)


class ProjectionOf(Protocol[E]):
    """State built from lines of one shape.

    `apply` gets every line once, in any order, also lines it does not know (`v` above 1, unknown actions) and lines whose
    `data` is not what their action promises; it never raises. `layout` changes when what `dump` returns does.
    """

    layout: int

    def apply(self, line: E, /) -> None: ...

    def dump(self) -> bytes | Sequence[bytes | memoryview]:
        """The state, whole or in parts: of a long history the parts should not be in memory a second time, joined."""
        ...

    def load(self, content: bytes, /) -> None:
        """The reverse of `dump`, of its parts joined. May raise ValueError, TypeError or LookupError; then everything is
        replayed."""
        ...


class Projection(ProjectionOf[Line], Protocol):
    """State built from the lines of a vault."""


P = TypeVar("P", bound=ProjectionOf[Any])


_UNKEPT = 20_000
"""Lines that a reader holds for the mirror; beyond, the next writer reads them again."""


class Marks(Struct):
    """How far the journal was read: enough to tell new lines from old ones, and a changed past from the same one.

    `files` and `mirror` are by file name, `heads` holds stamp and hash of each device's latest line. `missing` are lines
    that only the mirror holds, with their device. `mirrored`: the mirror holds every line read so far. `newer` are the
    versions of vir that wrote lines with a later `v`, `absent` the segments of which the cloud left a placeholder.
    `unplaced` counts, by device, lines that were not applied because nothing says which vault that device writes for.
    """

    files: dict[str, Mark] = {}
    mirror: dict[str, Mark] = {}
    lines: int = 0
    newest: str = ""
    heads: dict[str, tuple[str, str]] = {}
    segment: int = 0
    missing: dict[str, str] = {}
    mirrored: bool = True
    newer: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unreadable: int = 0
    unplaced: dict[str, int] = {}

    @property
    def devices(self) -> int:
        return len(self.heads)

    @property
    def bytes(self) -> int:
        """Size of all segments."""
        return sum(mark.size for mark in self.files.values())

    @property
    def damage(self) -> Damage:
        total = Damage(unreadable=self.unreadable, unplaced=sum(self.unplaced.values()))
        for mark in self.files.values():
            total.add(mark.damage)
        return total

    def copy(self) -> Marks:
        return Marks(
            files=dict(self.files),
            mirror=dict(self.mirror),
            lines=self.lines,
            newest=self.newest,
            heads=dict(self.heads),
            segment=self.segment,
            missing=dict(self.missing),
            mirrored=self.mirrored,
            newer=self.newer,
            absent=self.absent,
            unreadable=self.unreadable,
            unplaced=dict(self.unplaced),
        )


class Known:
    """Hashes of the lines in a checkpoint, cut to 12 bytes each, sorted: looked up without being unpacked."""

    WIDTH = 12

    def __init__(self, table: bytes = b"") -> None:
        self.table = table

    def __contains__(self, digest: bytes) -> bool:
        key = digest[: self.WIDTH]
        place = self._place(key)
        return self.table[place : place + self.WIDTH] == key

    def merged(self, digests: Iterable[bytes]) -> bytes:
        """The table with these hashes in it."""
        keys = sorted([digest[: self.WIDTH] for digest in digests])
        if not self.table:
            return b"".join(keys)
        pieces: list[bytes] = []
        done = 0
        for key in keys:
            place = self._place(key)
            if self.table[place : place + self.WIDTH] != key:
                pieces += (self.table[done:place], key)
                done = place
        return b"".join((*pieces, self.table[done:]))

    def _place(self, key: bytes) -> int:
        width, table = self.WIDTH, self.table
        low, high = 0, len(table) // width
        while low < high:
            middle = (low + high) // 2
            if table[middle * width : (middle + 1) * width] < key:
                low = middle + 1
            else:
                high = middle
        return low * width


@contextmanager
def without_collector() -> Generator[None, None, None]:
    """Builds millions of small objects without the cycle collector walking them again and again: none of them is in a
    cycle, and it takes as long as everything else together."""
    import gc

    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Replay(Generic[L]):
    """Reads what is new behind `base` and hands each new line to `apply`, once.

    `device` writes here; its lines need nobody to vouch for them. With `until`, lines of a later `at` are passed over.
    """

    def __init__(
        self,
        journal: Path,
        mirror: Mirror[L] | None,
        shape: Shape[L],
        *,
        device: str,
        apply: Callable[[L], None],
        base: Marks | None = None,
        known: Known | None = None,
        until: str = "",
        without: frozenset[bytes] = frozenset(),
    ) -> None:
        self.marks = base.copy() if base else Marks()
        self.known = known or Known()
        self.seen: set[bytes] = set()
        self.pending: set[bytes] = set()
        self._journal = journal
        self._mirror = mirror
        self._shape = shape
        self._device = device
        self._apply = apply
        self._until = until
        self._without = without
        self._done: set[bytes] = set()
        # Every device with an applied line was vouched for.
        self._ours = {device, *self.marks.heads}
        self._waiting: list[L] = []
        self._unread: dict[str, Unread] = {}
        # Without the table of known lines, what is not seen may still lie before the marks.
        self._blind = base is not None and known is None
        self.unkept: list[L] = []

    def applies(self, apply: Callable[[L], None]) -> None:
        """From here on lines go to `apply`."""
        self._apply = apply

    def run(self, *, keep: bool) -> bool:
        """Reads everything new; False when the past is not what the marks describe, and then the result is worthless.

        `keep` mirrors what the mirror lacks; it wants the journal lock.
        """
        # The mirror is opened first: a line that is done there is in its segment, so a writer at work is not mistaken for a
        # loss. It is read along with the segments, because mostly it holds the same bytes.
        with without_collector(), self._closing():
            try:
                if not (self._open_mirror() and self._read_segments(keep)):
                    return False
                for name in list(self._unread):
                    self._hash_mirror(name)
                self._keep(self._place_mirrored(), keep)
                self._serve_lost()
                self._keep(self.place_waiting(), keep)
                if keep and self._mirror is not None:
                    self._remark_mirror(self._mirror)
                    # Keeping lines of this device marked those done that were still pending.
                    self._serve_lost()
            except Cut:
                return False
        return True

    @contextmanager
    def _closing(self) -> Generator[None, None, None]:
        try:
            yield
        finally:
            for unread in self._unread.values():
                unread.close()
            self._unread.clear()

    def _open_mirror(self) -> bool:
        if self._mirror is None:
            return True
        files = self._mirror.files()
        if any(name not in files.found for name in self.marks.mirror):
            return False
        for name, (path, status) in files.found.items():
            mark = self.marks.mirror.get(name)
            # Behind the mark of this device's own file lie lines that are still pending; they are looked at each time.
            if mark is None or mark.offset != mark.size or not same_file(mark, status):
                try:
                    self._unread[name] = self._mirror.open(name, path, mark or Mark())
                except OSError:
                    # A mirror that cannot be read gives nothing; what was built on it must not stay.
                    if mark is not None:
                        return False
        return True

    def _hash_mirror(self, name: str) -> None:
        unread = self._unread.pop(name, None)
        if unread is None:
            return
        try:
            self._show(name, unread.rest())
        except OSError as error:
            if name in self.marks.mirror:
                raise Cut from error

    def _show(self, name: str, shown: Mirrored) -> None:
        self.marks.mirror[name] = shown.mark
        self._done |= shown.done - self._without
        if self._mirror is not None and name == self._mirror.own:
            self.pending = shown.pending - self._without

    def _read_segments(self, keep: bool) -> bool:
        files = self._shape.files(self._journal)
        before, self.marks.absent = self.marks.absent, tuple(sorted(files.absent))
        self.marks.unreadable = files.unreadable
        if any(name not in files.found and name not in files.absent for name in self.marks.files):
            return False
        if any(name not in files.absent and name not in self.marks.files for name in before):
            # It came, or went for good. What it should hold was not counted as missing while it was away.
            return False
        for name, (path, status) in files.found.items():
            mark = self.marks.files.get(name)
            if mark is not None and same_file(mark, status):
                continue
            try:
                unkept = self.follow_segment(name, path)
            except OSError:
                if mark is not None:
                    return False
                self.marks.unreadable += 1
                continue
            self._keep(unkept, keep)
        return True

    def _keep(self, unkept: list[L], keep: bool) -> None:
        if not unkept:
            return
        if keep and self._mirror is not None:
            self._mirror.keep(unkept)
            return
        if self._mirror is not None and (self.marks.mirrored or self.unkept):
            self.unkept += unkept
        self.marks.mirrored = False
        if len(self.unkept) > _UNKEPT:
            self.unkept.clear()

    @property
    def owes_mirror(self) -> bool:
        """Whether lines were read that the mirror lacks, or calls pending still though a segment holds them."""
        return bool(self.unkept) or len(self.unsettled()) < len(self.pending)

    def keep_read(self) -> None:
        """Mirrors the lines that were read without the lock, which the caller holds now; so whoever wrote a line that is
        still pending is gone, and what was read of it counts from here on. Raises `MachineError`."""
        if self._mirror is None or not self.owes_mirror:
            return
        if self.unkept:
            self._mirror.keep(self.unkept)
            self.unkept.clear()
            self.marks.mirrored = True
        if len(self.unsettled()) < len(self.pending):
            self._mirror.done()
        self._remark_mirror(self._mirror)
        self._serve_lost()

    def _remark_mirror(self, mirror: Mirror[L]) -> None:
        for name, (path, status) in mirror.files().found.items():
            mark = self.marks.mirror.get(name)
            if mark is None or not same_file(mark, status):
                try:
                    self.follow_mirror(name, path)
                except (Cut, OSError):
                    self.marks.mirror.pop(name, None)
                    self.marks.mirrored = False

    def _serve_lost(self) -> None:
        lost = {digest for digest in self._done if digest not in self.seen and digest not in self.known}
        if lost and self._mirror is not None:
            for line in self._mirror.fetch(lost):
                if not (self._blind and self._on_disk(line)):
                    self.take_lost(line)

    def _on_disk(self, line: L) -> bool:
        """Whether some file holds the line. Rare, and then it reads them all."""
        for path, _ in self._shape.files(self._journal).found.values():
            try:
                if line.raw in Path(path).read_bytes():
                    return True
            except OSError:
                continue  # a file that cannot be read holds nothing for anybody
        return False

    def follow_mirror(self, name: str, path: str) -> None:
        assert self._mirror is not None
        self._show(name, self._mirror.open(name, path, self.marks.mirror.get(name, Mark())).rest())

    def follow_segment(self, name: str, path: str, *, appended: bool = False) -> list[L]:
        """Applies the new lines of one segment and returns those that the mirror lacks. Raises `Cut`, `OSError`.

        `appended`: this process has just written to it under the lock.
        """
        shape = self._shape

        def decode(block: bytes, damage: Damage, first: int) -> list[L]:
            return shape.decode(block, damage, name=name, first=first)

        mark = self.marks.files.get(name, Mark())
        lines, self.marks.files[name] = read_segment(path, mark, decode, self._elsewhere, appended=appended)
        placed: list[L] = []
        ours = self._ours
        for line in lines:
            known = line.origin in ours or self._vouched(line)
            (placed if known else self._waiting).append(line)
        return self._unmirrored(self._take(placed))

    def _unmirrored(self, lines: list[L]) -> list[L]:
        """Of lines just taken from a segment those that the mirror lacks."""
        mirror = self._mirror
        if mirror is None:
            return lines
        unmirrored: list[L] = []
        for origin, group in groupby(lines, key=attrgetter("origin")):
            own = list(group)
            name = mirror.name_of(origin)
            unread = self._unread.get(name)
            if unread is not None:
                if unread.skip(b"\n".join([line.raw for line in own]) + b"\n"):
                    continue
                self._hash_mirror(name)
            for line in own:
                digest = bytes.fromhex(line.hash)
                if digest in self._done:
                    # What was seen need not be remembered twice: of a long history the hashes alone are a hundred MB.
                    self._done.discard(digest)
                elif digest not in self.pending:
                    unmirrored.append(line)
        return unmirrored

    def adopt(self, name: str, path: str, before: os.stat_result | None, content: bytes, lines: list[L]) -> bool:
        """Applies lines that this process has just appended to a file that is as it was marked, without reading them back.

        `before` is the file's status before `content` was added. False when the file was not as marked, or is not longer by
        just that: then nothing was done and `follow_segment` finds out.
        """
        mark = self.marks.files.get(name, Mark())
        if before is not None and (not same_file(mark, before) or mark.offset != before.st_size):
            return False
        if before is None and mark.size:
            return False
        grown = _grown(path, mark, len(content))
        if grown is None:
            return False
        grown.ends = mark.ends + len(lines)
        grown.prefix = crc32(content, mark.prefix)
        self.marks.files[name] = grown
        self._ours.update(line.origin for line in lines)
        self._take(lines)
        return True

    def adopt_mirror(self, path: str, before: int, size: int) -> bool:
        """Moves the mark of this device's mirror file behind the bytes just appended to it, all of it done."""
        assert self._mirror is not None
        mark = self.marks.mirror.get(self._mirror.own, Mark())
        grown = _grown(path, mark, size) if mark.offset == before and not self.pending else None
        if grown is not None:
            self.marks.mirror[self._mirror.own] = grown
        return grown is not None

    def _take(self, lines: Iterable[L]) -> list[L]:
        """Applies those of these lines, found in a segment, that are not known yet; returns them."""
        seen, missing = self.seen, self.marks.missing
        known = self.known if self.known.table else frozenset[bytes]()
        taken: list[L] = []
        for line in lines:
            digest = bytes.fromhex(line.hash)
            if digest not in seen:
                seen.add(digest)
                if digest not in known:
                    taken.append(line)
                    continue
            if missing:
                missing.pop(line.hash, None)
        self._enter(taken)
        return taken

    def _elsewhere(self, line: L) -> bool:
        return self._shape.claim(line) is False

    def _vouched(self, line: L) -> bool:
        """Whether the line says that its device belongs here. Raises `Cut` when that places lines passed over before."""
        if not self._shape.claim(line):
            return False
        if line.origin in self.marks.unplaced:
            raise Cut
        self._ours.add(line.origin)
        return True

    def _place_mirrored(self) -> list[L]:
        """Of the waiting lines those that the mirror holds: they had their place before, and so has their device."""
        placed: list[L] = []
        for line in self._waiting:
            digest = bytes.fromhex(line.hash)
            if digest in self._done or digest in self.pending:
                placed.append(line)
        self._ours.update(line.origin for line in placed)
        return self._unmirrored(self._take(placed))

    def place_waiting(self) -> list[L]:
        """Applies the lines whose device was vouched for after they were read, and counts the others; returns those applied
        that the mirror lacks."""
        waiting, self._waiting = self._waiting, []
        unplaced = {line.hash: line.origin for line in waiting if line.origin not in self._ours}
        for origin in unplaced.values():
            self.marks.unplaced[origin] = self.marks.unplaced.get(origin, 0) + 1
        return self._unmirrored(self._take(line for line in waiting if line.origin in self._ours))

    def take_lost(self, line: L) -> None:
        """Applies a line that no segment holds."""
        self.seen.add(bytes.fromhex(line.hash))
        self._ours.add(line.origin)
        if self._until and line.at > self._until:
            return
        away = [name for name in self.marks.absent if name.partition("/")[0] == line.origin]
        if away:
            # Perhaps it is in there. Without a mark such a file is looked through whole when it is back.
            for name in away:
                self.marks.files.pop(name, None)
        else:
            self.marks.missing[line.hash] = line.origin
        self._enter([line])

    def unsettled(self) -> set[bytes]:
        """Hashes of pending lines that were not found in a segment."""
        return {digest for digest in self.pending if digest not in self.seen and digest not in self.known}

    def owed(self) -> set[bytes]:
        """Hashes of this device's lines that its segments should hold and do not."""
        owed = self.unsettled()
        owed.update(bytes.fromhex(name) for name, device in self.marks.missing.items() if device == self._device)
        return owed

    def _enter(self, lines: list[L]) -> None:
        """Applies lines that nobody applied before."""
        marks, apply, until = self.marks, self._apply, self._until
        if until:
            lines = [line for line in lines if line.at <= until]
        heads, newest = marks.heads, marks.newest
        for line in lines:
            at = line.at
            if at > newest:
                newest = at
            origin = line.origin
            head = heads.get(origin)
            if head is None or at > head[0] or (at == head[0] and line.hash > head[1]):
                heads[origin] = (at, line.hash)
            if isinstance(line, Line):
                if line.v > VERSION and line.by.core not in marks.newer:
                    marks.newer = tuple(sorted({*marks.newer, line.by.core}))
                if line.action == SEGMENT_STARTED and origin == self._device:
                    marks.segment = max(marks.segment, number_of(line))
            apply(line)
        marks.newest = newest
        marks.lines += len(lines)


def _grown(path: str, mark: Mark, size: int) -> Mark | None:
    """The mark of a file that had nothing behind `mark` and got `size` bytes; `None` when it is of another size."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(file)
        if status.st_size != mark.offset + size:
            return None
        grown = mark_at(file, status, status.st_size)
    finally:
        os.close(file)
    grown.damage = mark.damage
    return grown


class Reading(Generic[P]):
    """A projection and what was found on the way to it. The writer's reading moves on with every append."""

    def __init__(self, projection: P, replay: Replay[Any], base: Marks | None, known_at: str = "") -> None:
        self.projection = projection
        self.replay = replay
        self.known_at = known_at
        self._base = base

    @property
    def marks(self) -> Marks:
        return self.replay.marks

    @property
    def lines(self) -> int:
        """Distinct lines."""
        return self.marks.lines

    @property
    def newest(self) -> str:
        """The `at` of the newest line; empty when there is none."""
        return self.marks.newest

    @property
    def devices(self) -> int:
        return self.marks.devices

    @property
    def bytes(self) -> int:
        return self.marks.bytes

    @property
    def damage(self) -> Damage:
        return self.marks.damage

    @property
    def unfinished(self) -> int:
        """Segments that end in the middle of a line, as they do while it is being written."""
        return sum(mark.unfinished for mark in self.marks.files.values())

    @property
    def missing(self) -> int:
        """Lines that are served from the mirror because no segment holds them any more."""
        return len(self.marks.missing)

    @property
    def absent(self) -> int:
        """Segments that are not here yet: the cloud left a placeholder."""
        return len(self.marks.absent)

    @property
    def newer(self) -> tuple[str, ...]:
        """Versions of vir that wrote lines of a later envelope than this one knows; empty when there are none."""
        return self.marks.newer

    @property
    def moved(self) -> bool:
        """Whether a checkpoint of this reading would differ from the one it came from; a reading of a past has none."""
        return not self.known_at and (self._base is None or self._base != self.marks)

    def saved(self) -> None:
        """Says that a checkpoint of this reading is on disk."""
        self._base = self.marks.copy()

    def known(self) -> bytes:
        """The hashes of all lines, for the checkpoint."""
        return self.replay.known.merged(self.replay.seen)
