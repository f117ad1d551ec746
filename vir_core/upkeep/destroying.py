"""Destroying the words of what was forgotten, wherever this machine can reach them.

The line comes first and names every text. Whoever runs next, here or on another device of the vault, finishes what a killed
process began: every step looks for what is still there, and doing it again does nothing.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.contract import ForgottenPlace
from vir_core.journal import Texts
from vir_core.machine import ANYTHING, MachineError, StorageError, read_bytes, write_atomic
from vir_core.memory import ForgottenState, Memory, Spool, asked_about, erase_shown, read_asked
from vir_core.text import note_id
from vir_core.vault import SEEN, STORE, Seen, Vault, is_note_id, parse

DONE = "forgotten"
_PUT_AWAY = ("rejected", "archived")
_CACHES = ("index", "indexed", SEEN)
"""Of this machine: they hold words, or titles as paths, and are made anew from what is left."""


class Target(Struct, frozen=True, kw_only=True):
    """What is to be destroyed: notes by id, session keys, digests of texts."""

    notes: frozenset[str]
    sessions: frozenset[str]
    texts: frozenset[str]


def target_of(forgotten: Collection[ForgottenState]) -> Target:
    return Target(
        notes=frozenset(one.subject for one in forgotten if is_note_id(one.subject)),
        sessions=frozenset(key for one in forgotten for key in one.sessions),
        texts=frozenset(digest for one in forgotten for digest in one.texts),
    )


def find_places(vault: Vault, target: Target, seen: Seen) -> list[ForgottenPlace]:
    """Every place on this machine that holds words of the target and that vir can empty; the paths of vault files are
    relative to its root, others absolute."""
    places = [
        ForgottenPlace(kind="note", path=file.path)
        for note in sorted(target.notes)
        for file in seen.notes.get(note, ())
    ]
    places += [ForgottenPlace(kind="put_away", path=path) for path in _put_away(vault, target.notes)]
    texts = Texts(vault.store)
    held = [digest for digest in sorted(target.texts) if texts.has(digest)]
    if held:
        places.append(ForgottenPlace(kind="texts", path=f"{vault.folder}/{STORE}/texts", count=len(held)))
    for record, promise in Spool(vault.state).open():
        if promise is not None and promise.note in target.notes:
            places.append(ForgottenPlace(kind="spool", path=str(record)))
    for key in sorted(target.sessions):
        copy = _copy(vault, key)
        if copy.is_file():
            places.append(ForgottenPlace(kind="archive", path=str(copy)))
    if asked := _asked(vault, target):
        places.append(ForgottenPlace(kind="questions", path=str(vault.state / "queries.jsonl"), count=asked))
    return places


def find_caches(vault: Vault) -> list[ForgottenPlace]:
    """Caches that may hold words of anything: they are dropped whole."""
    paths = [vault.state / name for name in _CACHES]
    return [ForgottenPlace(kind="cache", path=str(path)) for path in paths if path.exists()]


def destroy(vault: Vault, memory: Memory, seen: Seen) -> list[ForgottenPlace]:
    """Empties every place of everything that was forgotten and must be destroyed here; returns the places that were emptied.
    The caller holds `run.lock`. Raises `StorageError`; what was not done is done by the next call."""
    due = [one for one in memory.forgotten.values() if memory.must_destroy(one)]
    if not due:
        return []
    target = target_of(due)
    places = find_places(vault, target, seen)
    done = _done(vault)
    new = {one.line for one in due} - done
    if not places and not new:
        return []
    texts = Texts(vault.store)
    for place in places:
        if place.kind == "texts":
            for digest in target.texts:
                texts.remove(digest)
        elif place.kind == "questions":
            erase_shown(vault.state, target.notes)
        else:
            _remove(vault.root / place.path)
    for place in find_caches(vault):
        _remove(Path(place.path))
    _keep_done(vault, {one.line for one in due})
    return places


def unreachable(vault: Vault) -> list[str]:
    """What vir cannot empty, each in a sentence."""
    found = [
        "Your agents' own session files (Claude Code, Codex) are not touched; delete them there.",
        "Other devices of this vault destroy their copies when the change has synced and vir runs there.",
        "Backups, and the version history of a sync service, keep what they hold.",
        "Obsidian's own file recovery (Settings, File recovery) may keep snapshots of the note; clear it there.",
    ]
    if any((place / ".git").exists() for place in (vault.root, *vault.root.parents)):
        found.append("The vault lies in a git repository: its earlier commits keep the text.")
    if (vault.root / ".trash").is_dir():
        found.append("Obsidian's .trash folder may hold deleted notes; empty it.")
    return found


_HEX = re.compile(rb"[0-9a-f]{64}")


def digests_in(data: bytes) -> Iterator[str]:
    """Every digest that a line's payload names. Those of bodies and words are no names of texts and destroy nothing."""
    yield from (found.decode() for found in _HEX.findall(data))


def _put_away(vault: Vault, notes: Collection[str]) -> Iterator[str]:
    for name in _PUT_AWAY:
        folder = vault.store / name
        for path in sorted(folder.rglob("*.md")) if folder.is_dir() else ():
            try:
                id = parse(read_bytes(path), vault.config.prefix).id
            except (OSError, MachineError):
                continue
            if id in notes:
                yield vault.relative(path)


def _copy(vault: Vault, key: str) -> Path:
    return vault.state / "archive" / f"{note_id(key)}.jsonl.zst"


def _asked(vault: Vault, target: Target) -> int:
    """How many remembered questions were about one of the notes."""
    return sum(asked_about(asked, target.notes) for asked in read_asked(vault.state))


def _remove(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError.of(error, path) from error


def _done(vault: Vault) -> set[str]:
    try:
        return msgspec.msgpack.decode(read_bytes(vault.state / DONE), type=set[str])
    except (OSError, MachineError, msgspec.MsgspecError):
        return set()


def _keep_done(vault: Vault, lines: set[str]) -> None:
    if lines != _done(vault):
        write_atomic(vault.state / DONE, msgspec.msgpack.encode(sorted(lines)), expected=ANYTHING, private=True)
