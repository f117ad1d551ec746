"""What the machine can refuse.

MachineError
  Busy          somebody holds the lock, or the file is open elsewhere
  Changed       the file is not what the caller last saw
  StorageError  the disk said no
"""

from __future__ import annotations

import errno
import os

from msgspec import Struct


class Holder(Struct, frozen=True, kw_only=True):
    """Who holds a lock, as far as the note in the lock file says. `age` is in seconds, since the lock was taken."""

    verb: str = ""
    pid: int = 0
    age: float = 0.0


class MachineError(Exception):
    """`message` says what happened, `hint` what a person can do; both are whole sentences."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Busy(MachineError):
    """The lock or file is in use. `holder` is empty (`pid == 0`) when nobody left a readable note."""

    def __init__(self, holder: Holder, path: str | os.PathLike[str] = "") -> None:
        self.holder = holder
        self.path = os.fspath(path)
        if holder.pid:
            message = f"`vir_core {holder.verb}` is running (process {holder.pid}, since {_duration(holder.age)})."
            hint = "Try again when it is done."
        else:
            message = f"{self.path or 'The lock'} is in use by another program."
            hint = "Close what has it open, or try again in a moment."
        super().__init__(message, hint)


class Changed(MachineError):
    """The file at `path` appeared, vanished or has other bytes than expected; nothing was written."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        super().__init__(
            f"{self.path} was changed by somebody else in the meantime.", "Nothing was written; try again."
        )


class StorageError(MachineError):
    """The disk refused. `code` is the errno (0 when there is none)."""

    def __init__(self, path: str | os.PathLike[str], message: str, hint: str = "", code: int = 0) -> None:
        self.path = os.fspath(path)
        self.code = code
        super().__init__(message, hint)

    @classmethod
    def of(cls, error: OSError, path: str | os.PathLike[str]) -> StorageError:
        """The same fault in words a person can act on."""
        name = os.fspath(path)
        code = error.errno or 0
        say, hint = _SENTENCES.get(code, ("{path} could not be used ({reason}).", "Check the disk and try again."))
        return cls(name, say.format(path=name, reason=error.strerror or type(error).__name__), hint, code)


_SENTENCES: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("The disk is full; {path} was not written.", "Free some space and run it again."),
    errno.EDQUOT: ("Your disk quota is used up; {path} was not written.", "Free some space and run it again."),
    errno.EFBIG: ("{path} would be larger than this disk or account allows.", "Move the folder to another disk."),
    errno.EROFS: ("{path} lies on a read-only disk.", "Make the disk writable, or choose another folder."),
    errno.EACCES: (
        "There is no permission to use {path}.",
        "Give your account access to it, or choose another folder.",
    ),
    errno.EPERM: ("The system does not allow changing {path}.", "Check its owner, flags and permissions."),
    errno.ENAMETOOLONG: ("The name {path} is too long for this disk.", "Use a shorter path for the folder."),
    errno.EISDIR: ("{path} is a folder, not a file.", "Move the folder away, or choose another name."),
    errno.ENOTDIR: ("A part of {path} is a file, not a folder.", "Move that file away, or choose another folder."),
    errno.ENOENT: ("{path} is not there.", "Check that the disk is mounted and the folder was not moved."),
    errno.ELOOP: ("{path} is a link that leads in a circle.", "Repair or remove the link."),
    errno.EXDEV: ("{path} lies on another disk.", "Keep the vir folder on one disk."),
    errno.EMFILE: ("Too many files are open to use {path}.", "Close other programs, or raise the limit (ulimit -n)."),
    errno.ENFILE: ("Too many files are open on this machine to use {path}.", "Close other programs and try again."),
    errno.EIO: ("The disk failed while using {path}.", "Check the disk; nothing can be promised about it."),
    errno.ENOLCK: ("The disk that holds {path} cannot lock files.", "Set VIR_STATE_DIR to a folder on a local disk."),
    errno.EOPNOTSUPP: ("The disk that holds {path} cannot do this.", "Set VIR_STATE_DIR to a folder on a local disk."),
}


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"
