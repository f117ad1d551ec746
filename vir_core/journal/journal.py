"""The journal of one vault: reading it, and writing to it under its lock."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Generic

import msgspec
from msgspec import Struct

from vir_core.journal.checkpoint import Checkpoint, load_checkpoint, store_checkpoint
from vir_core.journal.line import (
    LAST,
    SEGMENT_STARTED,
    By,
    Draft,
    Line,
    compose,
    encode,
    now,
    stamp_shifted,
)
from vir_core.journal.mirror import DONE, Mirror, guard
from vir_core.journal.replay import Known, Marks, P, Reading, Replay, without_collector
from vir_core.journal.retire import LINES_GIVEN_UP, Retirement
from vir_core.journal.segment import SEAL, Cut, number_of
from vir_core.journal.shape import VaultShape
from vir_core.journal.verify import Verdict, verify
from vir_core.machine import (
    ABSENT,
    ANYTHING,
    MachineError,
    StorageError,
    append,
    hold,
    make_dirs,
    try_hold,
    write_atomic,
)

ACCEPT = "accept"
"""The word a person types to give up what is not on the disk."""

_SAMPLE = 16

_ROOM = SEAL - 2048
"""Bytes of lines that fit a new segment beside its first line."""


class JournalError(Exception):
    """The journal cannot be written here. `message` and `hint` are whole sentences."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Healed(Struct, frozen=True):
    """What a healing put back. `given_back` are this device's lines that its files had lost, `completed` those whose writer
    died, `given_up` those whose giving up was finished; `others` are lines of other devices that only this computer still
    has. `waiting` says why nothing was put back, when files are not here or cannot be read; empty otherwise."""

    given_back: int = 0
    completed: int = 0
    given_up: int = 0
    others: int = 0
    waiting: str = ""


class GivenUp(Struct, frozen=True):
    """`list` is the digest that the audit line names; the lines lie in `retired/` of the state folder."""

    lines: int = 0
    devices: tuple[str, ...] = ()
    list: str = ""


class Tail(Struct):
    """What came after some marks. Not `valid`: the past changed, replay everything. `marks` are those behind `lines`."""

    valid: bool
    lines: list[Line]
    marks: Marks


class Journal:
    """`store` is `<folder>/store`, `state` the machine's folder for this vault. Without a state there is no mirror and no
    checkpoint, and nothing can be written. `former` are ids this vault had before it became a copy: their segments count
    as its own. `clock` returns UTC in the form of `at`."""

    def __init__(
        self,
        store: Path,
        state: Path | None,
        *,
        vault: str,
        device: str,
        core: str,
        former: Sequence[str] = (),
        clock: Callable[[], str] = now,
    ) -> None:
        self.store = store
        self.state = state
        self.vault = vault
        self.device = device
        self.core = core
        self.clock = clock
        self.folder = store / "journal"
        self.vaults = frozenset((vault, *former))
        self.shape = VaultShape(self.vaults)
        self.mirror = Mirror(state / "mirror", device, self.shape) if state else None

    def read(self, make: Callable[[], P], *, known_at: str = "") -> Reading[P]:
        """The projection of every line, from the checkpoint where it holds. Takes no lock, writes nothing, never raises
        for what the files contain.

        With `known_at` (UTC in the form of `at`) only of the lines up to that moment: everything is read anew, and the
        reading makes no checkpoint.
        """
        if known_at:
            return self._read_all(make, keep=False, known_at=known_at)
        return self._read(make, keep=False)

    def since(self, marks: Marks) -> Tail:
        """The lines after `marks`, for a reader that keeps its own cache. A line may be one that the marks include."""
        lines: list[Line] = []
        replay = self._replay(lines.append, marks, None)
        valid = replay.run(keep=False)
        return Tail(valid, lines if valid else [], replay.marks)

    @contextmanager
    def writing(self, verb: str, make: Callable[[], P]) -> Generator[Writer[P], None, None]:
        """Holds the journal lock, catches up, gives lost lines back to the segments and yields a writer.

        Raises `Busy` when another process holds the lock for 2 s, `JournalError` when there is nothing to write to, and
        `StorageError`.
        """
        with self._locked(verb) as mirror:
            given_up = Retirement(mirror.folder.parent, mirror).finish()
            reading = self._read(make, keep=True)
            writer = Writer(self, mirror, reading)
            writer.heal()
            writer.healed = msgspec.structs.replace(writer.healed, given_up=given_up)
            yield writer

    def heal(self, make: Callable[[], P], *, verb: str = "heal") -> Healed:
        """What every writing does first, for its own sake. Raises like `writing`."""
        with self.writing(verb, make) as writer:
            return writer.healed

    def verify(self, *, knows: Callable[[Line], bool] = lambda _: True) -> Verdict:
        """What the files, the chain of `prev` and the mirror show. Takes no lock and writes nothing.

        `knows` says whether the projection understands a line; binding lines that it does not are found as `newer`.
        """
        saved = load_checkpoint(self.state / "checkpoint") if self.state else None
        retired = Retirement(self.state, self.mirror).hashes() if self.state and self.mirror else frozenset[bytes]()
        return verify(
            self.folder,
            self.mirror,
            self.shape,
            device=self.device,
            saved=saved.marks if saved else None,
            retired=retired,
            knows=knows,
            horizon=stamp_shifted(self.clock(), days=1),
        )

    def accept_disk(self, word: str, make: Callable[[], P], *, kind: str = "person", surface: str = "cli") -> GivenUp:
        """Gives up the lines that only the mirror holds: what lies on the disk is what happened from now on.

        `word` is what the person typed and must be `accept`. An audit line that binds is written first; then the lines
        are moved out of the mirror, and kept. Raises `JournalError` when the word is another or files are still in the
        cloud or unreadable (nothing is changed), and like `writing`.
        """
        if word != ACCEPT:
            raise JournalError(
                "Nothing was given up.", f"Type `{ACCEPT}` to give up the lines that are not on the disk."
            )
        with self._locked("accept-disk") as mirror:
            retirement = Retirement(mirror.folder.parent, mirror)
            retirement.finish()
            whole = self._replay(lambda _: None, None, None)
            whole.run(keep=True)
            marks = whole.marks
            if marks.absent or marks.unreadable:
                raise JournalError(
                    "Some files of the history are still in the cloud or cannot be opened, so nothing was given up.",
                    "Wait until they are here, then try again.",
                )
            lost = {bytes.fromhex(name) for name in marks.missing} | {
                digest for digest in whole.pending if digest not in whole.seen
            }
            if not lost:
                return GivenUp()
            devices = sorted({line.by.device for line in mirror.fetch(lost)})
            digest = retirement.intend(frozenset(lost))
            projection = make()
            replay = self._replay(projection.apply, None, None, without=frozenset(lost))
            replay.run(keep=True)
            replay.marks.newest = max(replay.marks.newest, marks.newest)
            replay.marks.segment = max(replay.marks.segment, marks.segment)
            draft = Draft(
                LINES_GIVEN_UP, self.vault, {"count": len(lost), "list": digest, "devices": devices}, must=True
            )
            Writer(self, mirror, Reading(projection, replay, None)).append([draft], kind=kind, surface=surface)
            retirement.finish()
            return GivenUp(len(lost), tuple(devices), digest)

    @contextmanager
    def _locked(self, verb: str) -> Generator[Mirror[Line], None, None]:
        if self.state is None or self.mirror is None:
            raise JournalError("This vault is open for reading only.", "Run `vir_core init` on it first.")
        if not self.store.is_dir():
            raise JournalError(
                f"{self.store} is not there, so nothing was written.",
                "If it is still syncing, wait; else run `vir_core init`.",
            )
        locks = self.state / "locks"
        make_dirs(locks, private=True)
        with hold(locks / "journal.lock", verb):
            yield self.mirror

    def save_checkpoint(self, reading: Reading[P], extra: Mapping[str, bytes] = {}) -> bool:
        """Writes the checkpoint of a reading and, each to its own file of the state folder, the `extra` caches.

        Returns False when the disk refused: a cache that cannot be written costs time and nothing else.
        """
        if self.state is None or reading.known_at:
            return False
        try:
            self._keep_read(self.state, reading.replay)
            if reading.moved:
                with without_collector():
                    checkpoint = Checkpoint(
                        layout=reading.projection.layout,
                        core=self.core,
                        vaults=sorted(self.vaults),
                        device=self.device,
                        marks=reading.marks,
                        known=reading.known(),
                    )
                    store_checkpoint(self.state / "checkpoint", checkpoint, reading.projection.dump())
                reading.saved()
            for name, content in extra.items():
                write_atomic(self.state / name, content, expected=ANYTHING, private=True)
        except MachineError:
            return False
        return True

    def _keep_read(self, state: Path, replay: Replay[Line]) -> None:
        """Mirrors the lines that a reader met, unless a writer is at work: it will do so itself."""
        if not replay.owes_mirror:
            return
        held = try_hold(state / "locks" / "journal.lock", "read")
        if held is not None:
            with held:
                replay.keep_read()

    def _read(self, make: Callable[[], P], *, keep: bool) -> Reading[P]:
        return self._resume(make, keep=keep) or self._read_all(make, keep=keep)

    def _resume(self, make: Callable[[], P], *, keep: bool) -> Reading[P] | None:
        saved = load_checkpoint(self.state / "checkpoint") if self.state else None
        projection = make()
        if saved is None or (saved.layout, saved.core, saved.vaults, saved.device) != (
            projection.layout,
            self.core,
            sorted(self.vaults),
            self.device,
        ):
            return None
        if keep and not saved.marks.mirrored:
            return None
        lines: list[Line] = []
        replay = self._replay(lines.append, saved.marks, Known(saved.known))
        if not replay.run(keep=keep):
            return None
        try:
            projection.load(saved.projection)
        except (ValueError, TypeError, LookupError):
            return None
        for line in lines:
            projection.apply(line)
        replay.applies(projection.apply)
        return Reading(projection, replay, saved.marks)

    def _read_all(self, make: Callable[[], P], *, keep: bool, known_at: str = "") -> Reading[P]:
        projection = make()
        replay = self._replay(projection.apply, None, None, until=known_at)
        replay.run(keep=keep)
        return Reading(projection, replay, None, known_at)

    def _replay(
        self,
        apply: Callable[[Line], None],
        base: Marks | None,
        known: Known | None,
        *,
        until: str = "",
        without: frozenset[bytes] = frozenset(),
    ) -> Replay[Line]:
        return Replay(
            self.folder,
            self.mirror,
            self.shape,
            device=self.device,
            apply=apply,
            base=base,
            known=known,
            until=until,
            without=without,
        )


class Writer(Generic[P]):
    """Appends under the journal lock. `reading` moves on with every append."""

    def __init__(self, journal: Journal, mirror: Mirror[Line], reading: Reading[P]) -> None:
        self.reading = reading
        self.healed = Healed()
        self._journal = journal
        self._mirror = mirror
        self._replay: Replay[Line] = reading.replay
        self._number = max(self._replay.marks.segment, self._highest())
        self._owing = False

    @without_collector()
    def append(self, drafts: Sequence[Draft], *, kind: str, surface: str) -> list[Line]:
        """Writes one line a draft, durable when it returns, and applies them; returns the lines.

        One batch is written whole or not at all as long as it fits a segment (1 MiB); a larger one is written in parts.
        Raises `StorageError` when the disk refuses (nothing was written), `ValueError` for a line larger than a segment.
        """
        if not drafts:
            return []
        if self._owing:
            self._catch_up()
        by = By(kind, surface, self._journal.device, self._journal.core)
        first: Line | None = None
        if len(drafts) > _SAMPLE and self._probably_full(drafts, by):
            first = self._first_line()
        lines = self._compose(drafts, by, after=first)
        size = sum([len(line.raw) + 1 for line in lines])
        if size > _ROOM:
            if len(drafts) == 1:
                raise ValueError(f"a line of {size} bytes does not fit a segment")
            half = len(drafts) // 2
            return [
                *self.append(drafts[:half], kind=kind, surface=surface),
                *self.append(drafts[half:], kind=kind, surface=surface),
            ]
        path = None if first else self._segment_with_room(size)
        if path is not None:
            self._commit(path, lines, new=False)
            return lines
        if first is None:
            first = self._first_line()
            lines = self._compose(drafts, by, after=first)
        self._commit(self._path(number_of(first)), [first, *lines], new=True)
        self._number = number_of(first)
        return lines

    def heal(self) -> None:
        """Gives back to the segments what the mirror knows this device wrote and they do not hold; see `healed`.

        Nothing is given back while the cloud keeps one of this device's segments elsewhere, or one cannot be read: the
        lines are in there.
        """
        own = self._journal.device + "/"
        marks = self._replay.marks
        others = sum(device != self._journal.device for device in marks.missing.values())
        self.healed = Healed(others=others)
        if marks.unreadable or any(name.startswith(own) for name in marks.absent):
            waiting = "Files of this device's history are still in the cloud."
            if marks.unreadable:
                waiting = "Files of the history cannot be opened."
            # Nobody can tell whether a pending line is in there. It counts from the mirror, for every reader alike.
            for line in self._mirror.fetch(self._replay.unsettled()):
                self._replay.take_lost(line)
            if self._replay.pending:
                self._settle(None)
            self.healed = Healed(others=others, waiting=waiting)
            return
        owed = self._replay.owed()
        if owed:
            lines = [line for line in self._mirror.fetch(owed) if line.by.device == self._journal.device]
            completed = sum(bytes.fromhex(line.hash) in self._replay.pending for line in lines)
            self._give_back([line.raw for line in sorted(lines, key=lambda line: line.stamp)])
            self.healed = Healed(len(lines) - completed, completed, others=others)
        if self._replay.pending:
            self._settle(None)

    def _catch_up(self) -> None:
        """A write of this writer failed half way: its lines come first, as they would for the next writer."""
        mirror, folder = self._mirror, self._journal.folder
        try:
            self._replay.follow_mirror(mirror.own, str(mirror.folder / mirror.own))
            name = self._name(self._number)
            if (folder / name).exists():
                self._replay.follow_segment(name, str(folder / name))
        except (Cut, OSError) as error:
            raise StorageError(folder, "The history changed while it was written.", "Run the command again.") from error
        self.heal()
        self._owing = False

    def _give_back(self, raws: list[bytes]) -> None:
        while raws:
            count = size = 0
            while count < len(raws) and (size := size + len(raws[count]) + 1) <= _ROOM:
                count += 1
            part, raws = raws[: count or 1], raws[count or 1 :]
            path = self._segment_with_room(sum(map(len, part)) + len(part)) or self._start_segment()
            append(path, guard(path) + b"\n".join(part) + b"\n")
            self._settle(path)

    def _compose(self, drafts: Sequence[Draft], by: By, *, after: Line | None = None) -> list[Line]:
        """The lines, behind what is written or behind a line that will be written with them."""
        marks = self._replay.marks
        prev = after.hash if after else marks.heads.get(by.device, ("", ""))[1]
        newest = after.at if after else marks.newest
        return compose(drafts, newest=newest, clock=self._journal.clock(), by=by, prev=prev)

    def _probably_full(self, drafts: Sequence[Draft], by: By) -> bool:
        """Whether a batch of such lines needs a new segment, by a few of them: composing it twice costs more than a segment
        that begins early. A batch that fits no segment is not judged."""
        step = len(drafts) // _SAMPLE
        some = [len(encode(draft, at=LAST, by=by, prev="0" * 64)) + 1 for draft in drafts[::step]]
        size = sum(some) * len(drafts) // len(some)
        return size < _ROOM * 9 // 10 and self._segment_with_room(size * 21 // 20) is None

    def _segment_with_room(self, size: int) -> Path | None:
        """The segment being written, or `None` when there is none or it would grow beyond its limit.

        Only the highest number this device ever used counts: an earlier segment is sealed even if it is short.
        """
        mark = self._replay.marks.files.get(self._name(self._number))
        if mark is None or mark.foreign or not mark.offset:
            return None
        path = self._path(self._number)
        return path if 0 <= _size(path) < SEAL - size else None

    def _start_segment(self) -> Path:
        first = self._first_line()
        path = self._path(number_of(first))
        self._commit(path, [first], new=True)
        self._number = number_of(first)
        return path

    def _first_line(self) -> Line:
        """The line that begins the next segment; the segment's folder is there."""
        journal = self._journal
        number = self._number + 1
        while os.path.lexists(self._path(number)):  # a folder, or a file that nobody could read
            number += 1
        make_dirs(self._path(number).parent)
        prev = self._replay.marks.heads.get(journal.device, ("", ""))[1]
        data = {"vault": journal.vault, "device": journal.device, "n": number, "prev": prev}
        draft = Draft(SEGMENT_STARTED, journal.vault, data, must=True)
        return self._compose([draft], By("vir", "journal", journal.device, journal.core))[0]

    def _highest(self) -> int:
        """The highest number that a file of this device has, of any vault."""
        prefix = self._journal.device + "/"
        numbers = [
            int(match[1])
            for name in (*self._replay.marks.files, *self._replay.marks.absent)
            if name.startswith(prefix) and (match := _NUMBERED(name[len(prefix) :]))
        ]
        return max(numbers, default=0)

    def _name(self, number: int) -> str:
        return f"{self._journal.device}/{number:04}.jsonl"

    def _path(self, number: int) -> Path:
        return self._journal.folder / self._name(number)

    def _commit(self, path: Path, lines: list[Line], *, new: bool) -> None:
        content = b"\n".join([line.raw for line in lines]) + b"\n"
        mirrored = self._mirror.begin(content)
        before = _status(path)
        try:
            if new:
                write_atomic(path, content, expected=ABSENT)
            else:
                append(path, guard(path) + content)
        except MachineError:
            # Unless the disk kept a part, it is as if nothing had been asked. A part is completed by the next writer.
            self._owing = True
            if _size(path) == (before.st_size if before else -1):
                with suppress(OSError):  # then the lines stay pending, which is the other honest outcome
                    self._mirror.cut(mirrored)
                    self._owing = False
            raise
        name = f"{path.parent.name}/{path.name}"
        own = str(self._mirror.folder / self._mirror.own)
        try:
            self._mirror.done()
            if self._replay.adopt_mirror(own, mirrored, len(content) + len(DONE)) and self._replay.adopt(
                name, str(path), before, content, lines
            ):
                return
        except (MachineError, OSError):
            self._replay.marks.mirrored = False  # the lines are durable; the next writer finds them in their segment
        self._settle(path)
        for line in lines:
            if bytes.fromhex(line.hash) not in self._replay.seen:
                self._replay.take_lost(line)

    def _settle(self, path: Path | None) -> None:
        """Marks own lines as done, and reads back what was written the way any replay reads it."""
        with suppress(MachineError):  # the lines are durable; the next writer finds them in their segment
            self._mirror.done()
        try:
            self._replay.follow_mirror(self._mirror.own, str(self._mirror.folder / self._mirror.own))
            if path is not None:
                self._replay.follow_segment(f"{path.parent.name}/{path.name}", str(path), appended=True)
                self._replay.place_waiting()
        except (Cut, OSError):
            # Somebody took the file away under the lock. What was acknowledged is in the mirror; read all anew next time.
            self._replay.marks.mirrored = False


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _size(path: Path) -> int:
    status = _status(path)
    return -1 if status is None else status.st_size


_NUMBERED = re.compile(r"([0-9]{4,9})\.jsonl").fullmatch
