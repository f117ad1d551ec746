"""Reading and writing files so that nobody ever sees half of one."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from vir_core.machine import native
from vir_core.machine.errors import Busy, Changed, Holder, StorageError
from vir_core.machine.hashing import sha256

T = TypeVar("T")

_BINARY: int = getattr(os, "O_BINARY", 0)
_NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)
_PATIENCE = 2.0  # seconds that a file open in another program is waited for
_STALE = 3600.0  # seconds after which a temporary file has no living writer


class Expect(Enum):
    """What may lie at the target, when it is not a known digest."""

    ABSENT = "absent"
    ANYTHING = "anything"


ABSENT = Expect.ABSENT
ANYTHING = Expect.ANYTHING


class FileId(Struct, frozen=True):
    """The same file under any name, as long as it stays on its disk."""

    device: int
    inode: int


def write_atomic(
    path: str | Path, content: bytes | Iterable[bytes], *, expected: str | Expect, private: bool = False
) -> str:
    """Put `content`, whole or in parts that need never be in memory together, at `path` in one step; returns its sha256 hex.

    `expected` is the sha256 hex of the bytes that must be there now, ABSENT, or ANYTHING. A temporary file in the same
    folder is written and fsynced, the target is hashed again, then renamed over; ABSENT never replaces, even a file that
    appeared in the last microsecond. A link is followed, so that it stays a link. The old file's mode is kept; a new one
    is 0644 less the umask, or 0600 when `private`. The folder must exist.

    Raises Changed (nothing written), Busy (open elsewhere for 2 s), StorageError.
    """
    target = os.fspath(path)
    place = os.path.realpath(target) if expected is not ABSENT else target
    try:
        if isinstance(content, bytes):
            _write_atomic(place, (content,), expected, private)
            return sha256(content).hexdigest()
        from hashlib import sha256 as incremental

        whole = incremental()
        _write_atomic(place, _hashed(content, whole.update), expected, private)
        return whole.hexdigest()
    except OSError as error:
        raise StorageError.of(error, target) from error


def _hashed(parts: Iterable[bytes], update: Callable[[bytes], object]) -> Iterator[bytes]:
    for part in parts:
        update(part)
        yield part


def _write_atomic(target: str, parts: Iterable[bytes], expected: str | Expect, private: bool) -> None:
    folder = os.path.dirname(target) or "."  # noqa: PTH120
    old = _status(target)
    if old is not None:
        if expected is ABSENT:
            raise Changed(target)
        if stat.S_ISDIR(old.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
        # A rename would replace it all the same; whoever took the write permission away meant it.
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    temp = os.path.join(folder, f".vir-{os.urandom(8).hex()}.tmp")  # noqa: PTH118
    try:
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600 if private else 0o644)
        try:
            for part in parts:
                _write_all(fd, part)
            if private:
                native.keep_mode(fd, 0o600)
            elif old is not None:
                native.keep_mode(fd, stat.S_IMODE(old.st_mode))
            native.sync_file(fd)
        finally:
            os.close(fd)
        if expected is ABSENT:
            try:
                _patiently(target, lambda: native.publish(temp, target))
            except FileExistsError as error:
                raise Changed(target) from error
        else:
            if isinstance(expected, str) and _digest_or_empty(target) != expected:
                raise Changed(target)
            _patiently(target, lambda: os.replace(temp, target))  # noqa: PTH105
        native.sync_folder(folder)
    finally:
        _drop(temp)


def write_once(path: str | Path, content: bytes) -> None:
    """Put an immutable blob at `path`; its folder is made when missing, the folder above must exist.

    Equal bytes already there: nothing happens. Other bytes there are damage (the name is the digest) and are replaced.
    Raises Busy, StorageError.
    """
    target = Path(path)
    try:
        if _holds(target, content):
            return
        if not target.parent.is_dir():
            _make_folder(target.parent, 0o755)
    except OSError as error:
        raise StorageError.of(error, target) from error
    write_atomic(target, content, expected=ANYTHING)


def append(path: str | Path, content: bytes, *, fsync: bool = True, private: bool = False) -> int:
    """Add `content` at the end of the file, whole or not at all; returns the offset at which it begins.

    When a write fails half way, or the flush does, the file is cut back to its old size before StorageError is raised. The
    caller holds the lock that keeps other writers away; should bytes of somebody else have arrived all the same, nothing
    is cut.
    """
    target = os.fspath(path)
    try:
        # Probed first: O_CREAT does not say whether it created, and a new name needs its folder flushed.
        new = _status(target) is None
        fd = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _BINARY | _NONBLOCK, 0o600 if private else 0o644)
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "not a regular file", target)
            size = found.st_size
            _append_whole(fd, content, size, fsync)
        finally:
            os.close(fd)
        if new and fsync:
            native.sync_folder(os.path.dirname(target) or ".")  # noqa: PTH120
    except OSError as error:
        raise StorageError.of(error, target) from error
    return size


def _append_whole(fd: int, content: bytes, size: int, fsync: bool) -> None:
    written = 0
    try:
        view = memoryview(content)
        while written < len(content):
            written += os.write(fd, view[written:])
        if fsync:
            native.sync_file(fd)
    except BaseException:  # an interrupt must not leave half a line either
        if size <= os.fstat(fd).st_size <= size + len(content):
            os.ftruncate(fd, size)
        raise


def read_bytes(path: str | Path) -> bytes:
    """The whole file. Raises FileNotFoundError when it is not there, which is an answer; Busy and StorageError otherwise.

    A pipe or device is refused instead of waited for.
    """
    fd = _open_regular(path)
    try:
        with os.fdopen(fd, "rb", buffering=0) as file:
            return file.read()
    except OSError as error:
        raise StorageError.of(error, path) from error


def sha256_of(path: str | Path) -> str:
    """sha256 hex of the file's bytes, read in pieces. Raises like `read_bytes`."""
    from hashlib import file_digest

    fd = _open_regular(path)
    try:
        with os.fdopen(fd, "rb", buffering=0) as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StorageError.of(error, path) from error


def file_id(path: str | Path) -> FileId:
    """Device and inode, links followed. Raises FileNotFoundError, StorageError."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError.of(error, path) from error
    return FileId(found.st_dev, found.st_ino)


def make_dirs(path: str | Path, private: bool = False) -> None:
    """Make the folder and those above it; existing ones are left as they are. `private` makes new ones 0700.

    Raises StorageError.
    """
    folder = Path(os.path.abspath(path))  # noqa: PTH100
    missing: list[Path] = []
    try:
        while not folder.is_dir():
            missing.append(folder)
            if folder.parent == folder:
                break
            folder = folder.parent
        for each in reversed(missing):
            _make_folder(each, 0o700 if private else 0o755)
    except OSError as error:
        raise StorageError.of(error, path) from error


def rename_no_replace(src: str | Path, dst: str | Path) -> None:
    """Move a file within one disk; what already has the name `dst` is never replaced. The folder of `dst` must exist.

    Raises Changed (`dst` is taken, or `src` is gone), Busy, StorageError.
    """
    before, after = os.fspath(src), os.fspath(dst)
    try:
        _patiently(before, lambda: native.move_no_replace(before, after))
        folders = {os.path.dirname(after) or ".", os.path.dirname(before) or "."}  # noqa: PTH120
        for folder in sorted(folders):
            native.sync_folder(folder)
    except FileExistsError as error:
        raise Changed(after) from error
    except FileNotFoundError as error:
        if not os.path.lexists(before):
            raise Changed(before) from error
        raise StorageError.of(error, after) from error
    except OSError as error:
        raise StorageError.of(error, after) from error


def sweep_leftovers(folder: str | Path, older_than: float = _STALE) -> list[Path]:
    """Remove our own temporary files that a killed process left in this folder (not below it); returns them.

    Younger than `older_than` seconds: perhaps a living writer's, kept. A folder that cannot be read has none.
    """
    gone: list[Path] = []
    limit = time.time() - older_than
    try:
        with os.scandir(folder) as entries:
            leftovers = [entry for entry in entries if _is_temp(entry.name)]
    except OSError:
        return gone
    for entry in leftovers:
        try:
            if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime <= limit:
                os.unlink(entry.path)  # noqa: PTH108
                gone.append(Path(entry.path))
        except OSError:
            continue  # swept by somebody else, or next time
    return gone


def _is_temp(name: str) -> bool:
    body = name[5:-4]
    return (
        name.startswith(".vir-")
        and name.endswith(".tmp")
        and len(body) == 16
        and all(letter in "0123456789abcdef" for letter in body)
    )


def _open_regular(path: str | Path) -> int:
    def opened() -> int:
        fd = os.open(path, os.O_RDONLY | _BINARY | _NONBLOCK)
        try:
            mode = os.fstat(fd).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
            if not stat.S_ISREG(mode):
                raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        except BaseException:
            os.close(fd)
            raise
        return fd

    try:
        return _patiently(path, opened)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError.of(error, path) from error


def _patiently(path: str | Path, act: Callable[[], T]) -> T:
    """`act()`, again for a while when the file is open in another program; then Busy."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return act()
        except OSError as error:
            if not native.in_use(error):
                raise
            if time.monotonic() >= deadline:
                if isinstance(error, PermissionError) and not os.access(path, os.W_OK):
                    raise
                raise Busy(Holder(), path) from error
        time.sleep(0.05)


def _write_all(fd: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _digest_or_empty(path: str) -> str:
    try:
        return sha256_of(path)
    except FileNotFoundError:
        return ""


def _holds(path: Path, content: bytes) -> bool:
    try:
        if path.stat().st_size != len(content):
            return False
        return path.read_bytes() == content
    except FileNotFoundError:
        return False


def _make_folder(path: Path, mode: int) -> None:
    try:
        path.mkdir(mode)
    except FileExistsError:
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
        return
    native.sync_folder(str(path.parent))


def _drop(temp: str) -> None:
    try:
        os.unlink(temp)  # noqa: PTH108
    except OSError:
        return  # renamed away, or left for sweep_leftovers
