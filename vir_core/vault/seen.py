"""What lies where in the vault: one walk over the folder Obsidian opens, reading only what changed since the last one.

Notes are followed by `vir_id`, so they are looked for in the whole vault. The table is a cache; without it everything is
read once more.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from stat import S_ISREG

import msgspec
from msgspec import Struct

from vir_core.machine import ANYTHING, make_dirs, sha256, write_atomic
from vir_core.vault.frontmatter import ID_KEY, MARK_KEY, WRONG, Broken, is_note_id, is_open, read_keys, split
from vir_core.vault.layout import STORE, Vault

SEEN = "seen"
_LAYOUT = 2
_HEAD = 4096
# A frontmatter longer than this is not one of ours that a person added a few properties to.
_LONGEST_FRONT = 1 << 20
_SKIPPED = frozenset({"node_modules"})


class SeenFile(Struct, frozen=True, array_like=True, gc=False):
    """One markdown file. `path` is relative to the vault root, with `/`; `id` is empty for a file that is none of ours;
    `body` is the sha256 of the bytes below the frontmatter (ours only); `broken` says why its properties cannot be read.
    `settled` is False when the file was so young that it could change once more without a new time or size. `wrong`: a person
    wrote `vir: wrong` among its properties."""

    path: str
    size: int
    mtime_ns: int
    id: str = ""
    body: str = ""
    broken: str = ""
    settled: bool = True
    wrong: bool = False


class _Saved(Struct, frozen=True, array_like=True):
    layout: int
    root: str
    files: list[SeenFile]


class SeenTable:
    """The files of the last walk, by path. Replaced by `walk`, never changed in place."""

    def __init__(self, files: Iterable[SeenFile] = ()) -> None:
        self.files: Mapping[str, SeenFile] = {file.path: file for file in files}
        self._by_id: dict[str, tuple[SeenFile, ...]] | None = None

    @classmethod
    def load(cls, state: Path, root: Path | None = None) -> SeenTable:
        """The saved table; an empty one when there is none, it is damaged, of another layout, or about another root."""
        try:
            saved = _DECODER.decode((state / SEEN).read_bytes())
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return cls()
        if saved.layout != _LAYOUT or (root is not None and saved.root != str(root)):
            return cls()
        return cls(saved.files)

    def save(self, state: Path, root: Path) -> None:
        """Raises `machine.StorageError`."""
        make_dirs(state, private=True)
        saved = _Saved(_LAYOUT, str(root), list(self.files.values()))
        write_atomic(state / SEEN, msgspec.msgpack.encode(saved), expected=ANYTHING)

    def by_id(self, note_id: str) -> tuple[SeenFile, ...]:
        """Every file that carries this note id, in path order."""
        if self._by_id is None:
            self._by_id = _grouped(self.files.values())
        return self._by_id.get(note_id, ())


_DECODER = msgspec.msgpack.Decoder(_Saved)


class Seen(Struct, frozen=True, kw_only=True):
    """What one walk found. `notes`: id to its files, more than one when somebody made copies. `changed`: ids whose files are
    not what the table said, vanished ones among them. `foreign`: markdown files inside vir's folder that carry no note id.
    `placeholders`: files a cloud service has not brought yet. `problems`: (path, why) of what could not be looked at.
    `complete` is False when the walk was cut short or a folder could not be read: then nothing may be concluded from what is
    missing. `table` is the new table; `fresh` says whether it differs from the old one."""

    notes: dict[str, tuple[SeenFile, ...]]
    changed: frozenset[str]
    foreign: tuple[str, ...]
    placeholders: tuple[str, ...]
    problems: tuple[tuple[str, str], ...]
    complete: bool
    fresh: bool
    table: SeenTable


def walk(
    vault: Vault, table: SeenTable, *, seconds: float | None = None, clock: Callable[[], float] = time.monotonic
) -> Seen:
    """Looks at every markdown file below the vault root once: a stat for a file that the table knows unchanged, its head for
    any other, all of it when it is one of ours. Hidden folders, `store/`, `node_modules` and symbolic links are left out;
    vir's own folder is entered even when it is itself a link. With `seconds` it gives up after that long (`complete` is
    False). A missing root gives an empty, incomplete answer."""
    look = _Look(vault, table.files, None if seconds is None else clock() + seconds, clock)
    look.run()
    files = look.files
    changed = look.changed
    if look.complete:
        changed |= {file.id for path, file in table.files.items() if file.id and path not in files}
    else:
        # What was not reached keeps its row: a walk that was cut short knows less, not otherwise.
        files = {path: file for path, file in table.files.items() if path not in files and look.missed(path)} | files
    new = SeenTable(files.values())
    notes = _grouped(files.values())
    inside = vault.folder + "/"
    return Seen(
        notes=notes,
        changed=frozenset(changed),
        foreign=tuple(sorted(path for path, file in files.items() if not file.id and path.startswith(inside))),
        placeholders=tuple(sorted(look.placeholders)),
        problems=tuple(sorted(look.problems)),
        complete=look.complete,
        fresh=len(files) != len(table.files) or any(table.files.get(path) is not file for path, file in files.items()),
        table=new,
    )


def look_at(vault: Vault, path: str, known: SeenFile | None = None) -> SeenFile | None:
    """The row of one file as it is now, `known` itself when size and time say it is unchanged; None when there is no such
    file, or something else has its name: a folder, a pipe (opening one waits for ever). Raises OSError when it is there and
    cannot be read."""
    full = vault.absolute(path)
    try:
        stat = full.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not S_ISREG(stat.st_mode):
        return None
    if known is not None and _unchanged(known, stat):
        return known
    return _read(str(full), path, stat, vault.config.prefix)


class _Look:
    """The state of one walk."""

    def __init__(
        self, vault: Vault, known: Mapping[str, SeenFile], deadline: float | None, clock: Callable[[], float]
    ) -> None:
        self.vault = vault
        self.known = known
        self.deadline = deadline
        self.clock = clock
        self.files: dict[str, SeenFile] = {}
        self.changed: set[str] = set()
        self.placeholders: list[str] = []
        self.problems: list[tuple[str, str]] = []
        self.complete = True
        self.cut = False
        self.unread: list[str] = []

    def missed(self, path: str) -> bool:
        """Whether this walk cannot know if there is a file at `path`."""
        return self.cut or path.startswith(tuple(self.unread))

    def run(self) -> None:
        store = f"{self.vault.folder}/{STORE}"
        if not self.vault.store.is_dir():
            # Half a vault (not synced yet, a disk that is not mounted) proves nothing about the notes that are not here.
            self.complete = False
            self.unread.append(self.vault.folder + "/")
            self.problems.append((store, "this folder is not here"))
        base_seen = False
        pending = [(str(self.vault.root), "")]
        while pending:
            folder, below = pending.pop()
            if self.deadline is not None and self.clock() > self.deadline:
                self.complete, self.cut = False, True
                return
            base_seen = base_seen or below == self.vault.folder + "/"
            for entry in self._entries(folder, below):
                name = entry.name
                path = below + name
                if name[0] == ".":
                    if name.endswith(".icloud"):
                        self.placeholders.append(below + name[1:].removesuffix(".icloud"))
                    continue
                # One look at a note: most of what lies in a vault is notes that the table knows.
                if name[-3:].lower() == ".md" and self._file(entry, path):
                    continue
                if entry.is_dir(follow_symlinks=False) and name not in _SKIPPED and path != store:
                    pending.append((entry.path, path + "/"))
            if not pending and not base_seen:
                # Behind a link the walk above does not follow.
                base_seen = True
                if self.vault.base.is_dir():
                    pending.append((str(self.vault.base), self.vault.folder + "/"))

    def _entries(self, folder: str, below: str) -> list[os.DirEntry[str]]:
        found: list[os.DirEntry[str]] = []
        try:
            with os.scandir(folder) as entries:
                found += entries
        except OSError as problem:
            self.complete = False
            self.unread.append(below)
            self.problems.append((_readable(below or "."), problem.strerror or str(problem)))
        return found

    def _file(self, entry: os.DirEntry[str], path: str) -> bool:
        """False when it is no file, whatever its name says."""
        try:
            stat = entry.stat(follow_symlinks=False)
            if not S_ISREG(stat.st_mode):
                return False
            known = self.known.get(path)
            if known is not None and _unchanged(known, stat):
                self.files[path] = known
                return True
            path.encode()
            file = _read(entry.path, path, stat, self.vault.config.prefix)
        except FileNotFoundError:
            return True
        except UnicodeEncodeError:
            self.problems.append((_readable(path), "its name is not Unicode"))
            return True
        except OSError as problem:
            self.complete = False
            self.unread.append(path)
            self.problems.append((path, problem.strerror or str(problem)))
            return True
        if known is None or (known.id, known.body, known.broken, known.wrong) != (
            file.id,
            file.body,
            file.broken,
            file.wrong,
        ):
            self.changed |= {row.id for row in (known, file) if row is not None and row.id}
        self.files[path] = file
        return True


def _unchanged(known: SeenFile, stat: os.stat_result) -> bool:
    return known.mtime_ns == stat.st_mtime_ns and known.size == stat.st_size and known.settled


def _read(full: str, path: str, stat: os.stat_result, prefix: str) -> SeenFile:
    with open(full, "rb", buffering=0) as file:  # noqa: PTH123
        content = file.read(_HEAD)
        note_id, broken, wrong = "", "", False
        if is_open(content):
            if split(content)[0] is None:
                content += file.read(_LONGEST_FRONT)
            keys = read_keys(content, prefix)
            if isinstance(keys, Broken):
                note_id, broken = keys.id, keys.reason
            elif is_note_id(keys.get(ID_KEY, "")):
                note_id, wrong = keys[ID_KEY], keys.get(MARK_KEY, "").strip().casefold() == WRONG
        body = ""
        if note_id:
            content += file.readall()
            body = sha256(split(content)[1].replace(b"\r\n", b"\n")).hexdigest()
    return SeenFile(
        path, stat.st_size, stat.st_mtime_ns, note_id, body, broken if note_id else "", _settled(stat), wrong
    )


def _settled(stat: os.stat_result) -> bool:
    """Whether a later change must show in the time. File systems with whole seconds (FAT: two) need that long, others count
    in kernel ticks."""
    grain = 2_000_000_000 if stat.st_mtime_ns % 1_000_000_000 == 0 else 50_000_000
    return not 0 <= time.time_ns() - stat.st_mtime_ns < grain


def _grouped(files: Iterable[SeenFile]) -> dict[str, tuple[SeenFile, ...]]:
    notes: dict[str, tuple[SeenFile, ...]] = {}
    for file in files:
        if file.id:
            others = notes.get(file.id)
            notes[file.id] = (file,) if others is None else tuple(sorted((*others, file), key=lambda row: row.path))
    return notes


def _readable(path: str) -> str:
    return path.encode(errors="replace").decode()
