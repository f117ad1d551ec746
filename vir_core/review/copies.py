"""What a verdict does to files: the copy of the state among a note's properties, and the move out of or back into service.

The journal line comes first, so a record of what is to be done to the files is made durable before it; whoever judges or runs
next finishes the record of a process that died. Nothing trusts the copy, and a file that cannot be edited is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.contract import Failure
from vir_core.machine import (
    ANYTHING,
    Changed,
    MachineError,
    make_dirs,
    read_bytes,
    rename_no_replace,
    write_atomic,
)
from vir_core.memory import PLAIN, is_of_one_file
from vir_core.text import random_id, sha256_hex
from vir_core.vault import STORE, CannotEdit, Vault, set_keys

REJECTED = "rejected"
_SUFFIX = ".verdict"
_AT_ONCE = 8
"""Files written at the same time: most of writing one is waiting for the disk."""


class FileChange(Struct, frozen=True, kw_only=True):
    """The file of a note at `path`, into whose properties goes the word for what the note is by then. It moves to `target` when
    that says on which side of `rejected/` it belongs (empty: it stays). With `unmark` the property `vir` goes, by which a
    person had called the note wrong. Paths are relative to the root."""

    note: str
    path: str
    target: str = ""
    unmark: bool = False


class Record(Struct, frozen=True):
    changes: tuple[FileChange, ...]


def promise(vault: Vault, changes: Sequence[FileChange]) -> Path | None:
    """Makes the changes durable as a record; `None` when there are none. Raises `StorageError`."""
    if not changes:
        return None
    folder = vault.state / "spool"
    make_dirs(folder, private=True)
    path = folder / f"{random_id('w')}{_SUFFIX}"
    write_atomic(path, msgspec.msgpack.encode(Record(tuple(changes))), expected=ANYTHING, private=True)
    return path


def keep(
    vault: Vault, record: Path | None, changes: Sequence[FileChange], state_of: Callable[[str], str]
) -> tuple[dict[str, str], list[Failure]]:
    """Makes the changes and drops the record. `state_of` gives the word for what a note is now, empty for none. Returns where
    each file lies after it, by note, and what could not be done. Raises `StorageError` when the disk takes nothing at all;
    the record then stays."""
    due = [(change, state) for change in changes if (state := state_of(change.note))]
    paths: dict[str, str] = {}
    failed: list[Failure] = []
    for (change, _), done in zip(due, _attempts(vault, due), strict=True):
        if isinstance(done, MachineError):
            failed.append(Failure(path=change.path, stage="write", message=done.message))
        else:
            paths[change.note] = done
    if record is not None:
        record.unlink(missing_ok=True)
    return paths, failed


def finish(vault: Vault, state_of: Callable[[str], str]) -> list[Failure]:
    """Keeps the records that processes left which died between a line and its files."""
    folder = vault.state / "spool"
    failed: list[Failure] = []
    for path in sorted(folder.glob(f"*{_SUFFIX}")) if folder.is_dir() else ():
        try:
            record = msgspec.msgpack.decode(read_bytes(path), type=Record)
        except FileNotFoundError:
            # Its own process has just finished it.
            continue
        except msgspec.MsgspecError:
            path.unlink(missing_ok=True)
            continue
        failed += keep(vault, path, record.changes, state_of)[1]
    return failed


def _attempts(vault: Vault, due: Sequence[tuple[FileChange, str]]) -> list[str | MachineError]:
    def attempt(one: tuple[FileChange, str]) -> str | MachineError:
        return _attempt(vault, *one)

    if len(due) < 2:
        return list(map(attempt, due))
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(_AT_ONCE, len(due))) as pool:
        return list(pool.map(attempt, due))


def _attempt(vault: Vault, change: FileChange, state: str) -> str | MachineError:
    try:
        return _change(vault, change, state)
    except MachineError as error:
        if not is_of_one_file(error):
            raise
        return error


def _change(vault: Vault, change: FileChange, state: str) -> str:
    """Where the file lies then; empty when it is not where it was."""
    path = vault.absolute(change.path)
    try:
        _stamp(vault, path, state, unmark=change.unmark)
    except FileNotFoundError:
        return ""
    if not change.target or is_put_away(vault, change.target) != (state == PLAIN["rejected"]):
        return change.path
    target = vault.absolute(change.target)
    make_dirs(target.parent)
    try:
        rename_no_replace(path, target)
    except Changed:
        if not path.exists():
            return ""
        target = target.with_name(f"{target.stem} {change.note[1:8]}{target.suffix}")
        rename_no_replace(path, target)
    return vault.relative(target)


def is_put_away(vault: Vault, path: str) -> bool:
    """Whether a path lies in `rejected/`."""
    return path.startswith(put_away(vault, ""))


def put_away(vault: Vault, path: str) -> str:
    """Where the file at `path` lies while its note is rejected: below `rejected/` as it lay in the vault, so that it finds back."""
    return f"{vault.folder}/{STORE}/{REJECTED}/{path}"


def _stamp(vault: Vault, path: Path, state: str, *, unmark: bool) -> None:
    """Writes the word over the file as it is now. Where the person's editor is faster twice, their file stands without it."""
    keys = {"trust": state, **({"vir": None} if unmark else {})}
    for _ in range(2):
        content = read_bytes(path)
        try:
            edited = set_keys(content, keys, vault.config.prefix)
            if edited != content:
                write_atomic(path, edited, expected=sha256_hex(content))
        except CannotEdit:
            return
        except Changed:
            continue
        return
