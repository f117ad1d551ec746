"""Locks that the kernel frees when their holder dies, whatever killed it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import TracebackType

import msgspec
from msgspec import Struct

from vir_core.machine import native
from vir_core.machine.errors import Busy, Holder, StorageError
from vir_core.machine.files import make_dirs

_BINARY: int = getattr(os, "O_BINARY", 0)
_NOTE_LIMIT = 512  # bytes


class _Note(Struct, frozen=True):
    """What a holder leaves in the lock file. Advisory: only the kernel's lock decides. `started` is Unix time."""

    verb: str
    pid: int
    started: float


_note = msgspec.json.Decoder(_Note)


class Held:
    """A lock that is held; leaving the `with` block, `release()` or the end of the process frees it."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd

    def __enter__(self) -> Held:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Free the lock; a second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        _leave_note(fd, b"")
        _let_go(fd)


def hold(path: str | Path, verb: str, wait: float = 2.0) -> Held:
    """Take the lock at `path`, waiting in the kernel for up to `wait` seconds; use it as `with hold(...):`.

    The file is made when missing (0600, its folder 0700) and never removed. Works from any thread, also against another
    thread of the same process; not re-entrant. Raises Busy with the holder's verb, pid and age; StorageError when the
    disk cannot lock.
    """
    place = Path(path)
    deadline = time.monotonic() + wait
    while True:
        fd = _open(place)
        if not _lock_now(place, fd) and not _lock_within(place, fd, deadline - time.monotonic()):
            raise Busy(holder_of(place), place)
        # Whoever removed the state folder removed the file we waited on: the next holder would lock another one.
        if _is_current(place, fd):
            return _taken(place, fd, verb)
        _let_go(fd)


def try_hold(path: str | Path, verb: str) -> Held | None:
    """Take the lock if it is free, else None at once. Raises StorageError when the disk cannot lock."""
    place = Path(path)
    while True:
        fd = _open(place)
        if not _lock_now(place, fd):
            os.close(fd)
            return None
        if _is_current(place, fd):
            return _taken(place, fd, verb)
        _let_go(fd)


def holder_of(path: str | Path) -> Holder:
    """Who left a note in the lock file; an empty Holder when it is missing, torn, or of a process that is gone."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            note = _note.decode(file.read(_NOTE_LIMIT))
    except (OSError, msgspec.DecodeError):
        return Holder()
    if note.pid <= 0 or not native.alive(note.pid):
        return Holder()
    return Holder(verb=note.verb, pid=note.pid, age=max(0.0, time.time() - note.started))


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | _BINARY
    try:
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            make_dirs(path.parent, private=True)
            return os.open(path, flags, 0o600)
    except OSError as error:
        raise StorageError.of(error, path) from error


def _lock_now(path: Path, fd: int) -> bool:
    try:
        return native.lock_now(fd)
    except OSError as error:
        os.close(fd)
        raise StorageError.of(error, path) from error


def _lock_within(path: Path, fd: int, seconds: float) -> bool:
    """True with the lock on `fd`; False when time ran out, and `fd` is then no longer the caller's.

    A helper thread sits in the blocking call, because a kernel wait with a time limit needs signals, which only the main
    thread gets. When its waiter has given up it lets go the moment the lock arrives.
    """
    if seconds <= 0:
        os.close(fd)
        return False

    import threading

    turn = threading.Lock()
    decided = threading.Event()
    arrived = False
    abandoned = False
    fault: OSError | None = None

    def wait_in_kernel() -> None:
        nonlocal arrived, fault
        try:
            native.lock_wait(fd)
        except OSError as error:
            fault = error
        with turn:
            if abandoned:
                os.close(fd)
            arrived = True
        decided.set()

    threading.Thread(target=wait_in_kernel, name=f"lock {path.name}", daemon=True).start()
    returned = False
    try:
        decided.wait(seconds)
        returned = True
    finally:
        with turn:
            if not arrived:
                abandoned = True
            elif fault is not None or not returned:
                os.close(fd)
    if fault is not None:
        raise StorageError.of(fault, path) from fault
    return arrived


def _is_current(path: Path, fd: int) -> bool:
    try:
        named = path.stat()
    except OSError:
        return False
    ours = os.fstat(fd)
    return (named.st_dev, named.st_ino) == (ours.st_dev, ours.st_ino)


def _taken(path: Path, fd: int, verb: str) -> Held:
    _leave_note(fd, msgspec.json.encode(_Note(verb[:64], os.getpid(), time.time())) + b"\n")
    return Held(path, fd)


def _leave_note(fd: int, note: bytes) -> None:
    try:
        os.ftruncate(fd, 0)
        if note:
            os.lseek(fd, 0, os.SEEK_SET)
            os.write(fd, note)
    except OSError:
        return  # a full disk must not stop a verb over a courtesy


def _let_go(fd: int) -> None:
    try:
        # Said before closing: a forked child may still have the descriptor, and closing ours would not free it.
        native.unlock(fd)
    finally:
        os.close(fd)
