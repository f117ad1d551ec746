"""Promises: changes to note files that a journal line already names.

A line goes before the file it speaks of. A process that dies between the two would leave a note that looks like one the
person deleted, so the promise is fsynced first and kept by whoever writes next. Promises are a machine-local record and
never a source of answers.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from vir_core.machine import (
    ABSENT,
    ANYTHING,
    Busy,
    Changed,
    MachineError,
    StorageError,
    make_dirs,
    read_bytes,
    rename_no_replace,
    write_atomic,
)
from vir_core.memory.facts import Memory
from vir_core.text import sha256_hex
from vir_core.vault import Seen, Vault


class Promise(Struct, frozen=True, kw_only=True):
    """`write` puts `content` at `path` where nothing lies, or over bytes whose sha256 is `expected`; `move` takes the file at
    `source` there when its sha256 is `expected`. Paths are relative to the vault root. `line` is what the journal must say
    of the note before the promise is due: the text digest (write) or the run taken back (move)."""

    kind: Literal["write", "move"]
    note: str
    path: str
    line: str
    expected: str = ""
    source: str = ""
    content: bytes = b""


_OF_ONE_FILE = frozenset(
    {errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL}
)


def is_of_one_file(error: MachineError) -> bool:
    """Whether a refusal says something about one file only (protected, open elsewhere, something else in its place), so that
    the other notes can still be written. A full or read-only disk refuses all of them."""
    return isinstance(error, Busy | Changed) or (isinstance(error, StorageError) and error.code in _OF_ONE_FILE)


class Spool:
    """Folder `spool/` in the state of one vault: one file a promise. The caller holds `run.lock`. `refused` are the promises
    that the last `settle` could not keep, with the reason; they stay and are tried again."""

    def __init__(self, state: Path) -> None:
        self._folder = state / "spool"
        self.refused: list[tuple[Promise, str]] = []

    def promise(self, promise: Promise) -> Path:
        """Makes it durable. Raises `StorageError`."""
        make_dirs(self._folder, private=True)
        path = self._folder / f"{promise.kind}-{promise.note}.promise"
        write_atomic(path, msgspec.msgpack.encode(promise), expected=ANYTHING, private=True)
        return path

    def open(self) -> list[tuple[Path, Promise | None]]:
        """Every promise not yet kept; `None` beside one that cannot be read."""
        if not self._folder.is_dir():
            return []
        found: list[tuple[Path, Promise | None]] = []
        for path in sorted(self._folder.glob("*.promise")):
            try:
                found.append((path, msgspec.msgpack.decode(read_bytes(path), type=Promise)))
            except (OSError, MachineError, msgspec.MsgspecError):
                found.append((path, None))
        return found

    def settle(self, vault: Vault, memory: Memory, seen: Seen) -> list[tuple[Promise, str]]:
        """Keeps what an earlier process promised and did not live to do, and forgets what never became due. Returns the
        promises kept, with the path of each. Raises `StorageError` when the disk refuses; the promise then stays."""
        kept: list[tuple[Promise, str]] = []
        self.refused = []
        for record, promise in self.open():
            if promise is None:
                # Bytes that say nothing are forgotten; a disk that will not read them must not cost the promise.
                read_bytes(record)
            elif _is_due(promise, memory):
                try:
                    path = keep(vault, promise, seen)
                except MachineError as error:
                    if not is_of_one_file(error):
                        raise
                    self.refused.append((promise, error.message))
                    continue
                if path:
                    kept.append((promise, path))
            record.unlink(missing_ok=True)
        return kept


def keep(vault: Vault, promise: Promise, seen: Seen | None = None) -> str:
    """Does what was promised; returns the path the note has then, empty when the person's file stands in the way of it (it
    stays as it is). `seen` tells whether a note that should be new lies somewhere already."""
    target = vault.absolute(promise.path)
    if promise.kind == "move":
        source = vault.absolute(promise.source)
        if not source.is_file() or sha256_hex(read_bytes(source)) != promise.expected:
            return ""
        make_dirs(target.parent)
        try:
            rename_no_replace(source, target)
        except Changed:
            target = _beside(target, promise.note)
            rename_no_replace(source, target)
        return vault.relative(target)
    if not promise.expected:
        if seen is not None and promise.note in seen.notes:
            return ""
        make_dirs(target.parent)
        try:
            write_atomic(target, promise.content, expected=ABSENT)
        except Changed:
            # Somebody's file took the name between choosing it and writing.
            target = _beside(target, promise.note)
            write_atomic(target, promise.content, expected=ABSENT)
        return vault.relative(target)
    try:
        write_atomic(target, promise.content, expected=promise.expected)
    except Changed:
        return ""
    return promise.path


def _beside(target: Path, note: str) -> Path:
    return target.with_name(f"{target.stem} {note[1:8]}{target.suffix}")


def _is_due(promise: Promise, memory: Memory) -> bool:
    note = memory.notes.get(promise.note)
    if note is None or note.written is None:
        return False
    archived = memory.standing(note).archived
    if promise.kind == "move":
        return archived
    return note.written.text == promise.line and not archived
