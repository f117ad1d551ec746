"""The calls that differ between operating systems; beside `terminal`, the only module that asks which one this is."""

from __future__ import annotations

import errno
import os
import sys

if sys.platform == "win32":
    import ctypes
    import msvcrt
    from ctypes import wintypes

    # Lock one byte far behind the content: Windows locks are mandatory, and the note at the start must stay readable.
    _LOCK_OFFSET = 0x7FFF_0000
    _FAIL_IMMEDIATELY, _EXCLUSIVE = 1, 2
    _ERROR_LOCK_VIOLATION, _ERROR_IO_PENDING = 33, 997
    _SHARING = (32, 33)
    _ACCESS_DENIED = 5

    class _Overlapped(ctypes.Structure):
        _fields_ = [
            ("Internal", ctypes.c_size_t),
            ("InternalHigh", ctypes.c_size_t),
            ("Offset", wintypes.DWORD),
            ("OffsetHigh", wintypes.DWORD),
            ("hEvent", wintypes.HANDLE),
        ]

    _kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel32.LockFileEx.argtypes = [
        wintypes.HANDLE,
        wintypes.DWORD,
        wintypes.DWORD,
        wintypes.DWORD,
        wintypes.DWORD,
        ctypes.POINTER(_Overlapped),
    ]
    _kernel32.UnlockFileEx.argtypes = [
        wintypes.HANDLE,
        wintypes.DWORD,
        wintypes.DWORD,
        wintypes.DWORD,
        ctypes.POINTER(_Overlapped),
    ]

    def _lock(fd: int, flags: int) -> bool:
        where = _Overlapped(Offset=_LOCK_OFFSET)
        handle = msvcrt.get_osfhandle(fd)
        if _kernel32.LockFileEx(handle, _EXCLUSIVE | flags, 0, 1, 0, ctypes.byref(where)):
            return True
        code = ctypes.get_last_error()
        if flags and code in (_ERROR_LOCK_VIOLATION, _ERROR_IO_PENDING):
            return False
        raise ctypes.WinError(code)

    def lock_now(fd: int) -> bool:
        return _lock(fd, _FAIL_IMMEDIATELY)

    def lock_wait(fd: int) -> None:
        _lock(fd, 0)

    def unlock(fd: int) -> None:
        where = _Overlapped(Offset=_LOCK_OFFSET)
        if not _kernel32.UnlockFileEx(msvcrt.get_osfhandle(fd), 0, 1, 0, ctypes.byref(where)):
            raise ctypes.WinError(ctypes.get_last_error())

    def alive(pid: int) -> bool:
        return True  # os.kill(pid, 0) would end the process here; an unsure answer only affects the wording

    def sync_file(fd: int) -> None:
        os.fsync(fd)

    def sync_folder(path: str) -> None:
        pass  # a folder cannot be opened for it, and NTFS journals the entry

    def keep_mode(fd: int, mode: int) -> None:
        pass

    def move_no_replace(src: str, dst: str) -> None:
        os.rename(src, dst)  # noqa: PTH104

    def publish(temp: str, dst: str) -> None:
        os.rename(temp, dst)  # noqa: PTH104

    def in_use(error: OSError) -> bool:
        return error.winerror in _SHARING or error.winerror == _ACCESS_DENIED

else:
    import fcntl

    # What file systems without hard links, or without the flag, answer: FAT, exFAT, SMB, some FUSE mounts.
    _UNSUPPORTED = frozenset(
        {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EMLINK, errno.EACCES}
    )

    def lock_now(fd: int) -> bool:
        """True when the lock is ours; False when somebody has it."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def lock_wait(fd: int) -> None:
        """Returns with the lock, however long it takes."""
        fcntl.flock(fd, fcntl.LOCK_EX)

    def unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)

    def alive(pid: int) -> bool:
        """False when there is surely no such process."""
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except PermissionError:
            return True
        return True

    def sync_file(fd: int) -> None:
        """Bytes are on the medium when this returns. macOS needs F_FULLFSYNC for that; not every disk offers it."""
        if sys.platform == "darwin":
            try:
                fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
                return
            except OSError as error:
                if error.errno not in _UNSUPPORTED:
                    raise
        os.fsync(fd)

    def sync_folder(path: str) -> None:
        """The names in the folder are on the medium; network disks that cannot do it are let pass."""
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
        finally:
            os.close(fd)

    def keep_mode(fd: int, mode: int) -> None:
        """Give the file these permission bits; disks without permissions are let pass."""
        try:
            os.fchmod(fd, mode)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise

    def publish(temp: str, dst: str) -> None:
        """The bytes of `temp` appear under the name `dst`; FileExistsError if anything is there. `temp` is gone after."""
        try:
            os.link(temp, dst, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            move_no_replace(temp, dst)
        else:
            os.unlink(temp)  # noqa: PTH108

    def move_no_replace(src: str, dst: str) -> None:
        """One rename that never replaces; FileExistsError if `dst` is there."""
        if not _renamed(src, dst):
            _claim_and_rename(src, dst)

    def _renamed(src: str, dst: str) -> bool:
        # Python has no rename that refuses to replace; both kernels do.
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        before, after = os.fsencode(src), os.fsencode(dst)
        try:
            if sys.platform == "darwin":
                result = libc.renamex_np(before, after, 4)  # RENAME_EXCL
            else:
                result = libc.renameat2(-100, before, -100, after, 1)  # AT_FDCWD, RENAME_NOREPLACE
        except AttributeError:  # a C library without the call
            return False
        if result == 0:
            return True
        code = ctypes.get_errno()
        if code in _UNSUPPORTED - {errno.EPERM, errno.EACCES}:
            return False
        raise OSError(code, os.strerror(code), src, None, dst)

    def _claim_and_rename(src: str, dst: str) -> None:
        # An empty file made exclusively holds the name; only then is it replaced by the full one.
        os.close(os.open(dst, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            os.replace(src, dst)  # noqa: PTH105
        except OSError:
            os.unlink(dst)  # noqa: PTH108
            raise

    def in_use(error: OSError) -> bool:
        """True when waiting a little may help."""
        return error.errno in (errno.EBUSY, errno.ETXTBSY)
