"""What sync tools do to a vault folder that several devices open, file by file and in any order.

A `Copier` stands between folders like the server of a sync service: it takes what changed on a device since it last looked
there, settles conflicts the way its `Tool` does, and delivers the rest one file at a time. Every choice comes from the dice
it is given, so a seed repeats a week exactly. It works on bytes and names alone and knows nothing of vir but the two
folders whose files may be asked to come first or last.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path, PurePosixPath

GONE = None
"""Content of a path where no file is."""

Order = Callable[[str], object]

_JOURNAL = "/store/journal/"
_TEXTS = "/store/texts/"


@dataclass(frozen=True)
class Tool:
    """`conflict` names the copy it makes of a file that changed on two sides (empty: it makes none; files that end in one of
    `merges` become one, of others the newer stays). `only` are the endings that it carries (empty: all). `stubs` leaves a placeholder before the
    file: `icloud` a hidden one of another name, `empty` a file of no bytes. `keeps_times` gives a file the time it had where
    it came from. `pieces` may show a file's beginning before the whole. `crlf` turns the line ends of text on arrival."""

    name: str
    conflict: str = ""
    merges: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    carries_obsidian: bool = False
    stubs: str = ""
    keeps_times: bool = True
    pieces: bool = True
    crlf: bool = False
    in_place: bool = False


DROPBOX = Tool("Dropbox", conflict="{stem} (conflicted copy 2026-11-30){suffix}", stubs="empty")
ICLOUD = Tool("iCloud", conflict="{stem} 2{suffix}", stubs="icloud", carries_obsidian=True, in_place=True)
SYNCTHING = Tool("Syncthing", conflict="{stem}.sync-conflict-20261130-101530-ABCDEFG{suffix}", carries_obsidian=True)
OBSIDIAN = Tool("Obsidian Sync", merges=(".md",), carries_obsidian=True)
OBSIDIAN_NOTES_ONLY = replace(OBSIDIAN, name="Obsidian Sync without other types", only=(".md", ".base", ".canvas"))
GIT = Tool("git", merges=(".md", ".jsonl"), keeps_times=False, pieces=False, in_place=True)
GIT_CRLF = replace(GIT, name="git with CRLF", crlf=True)
TOOLS = (DROPBOX, ICLOUD, SYNCTHING, OBSIDIAN, GIT, GIT_CRLF)


# Orders of delivery: the smaller key first, equal keys as the dice fall.


def any_order(path: str) -> object:
    del path
    return 0


def journal_first(path: str) -> object:
    return _JOURNAL not in f"/{path}"


def notes_first(path: str) -> object:
    return not path.endswith(".md")


def texts_last(path: str) -> object:
    return _TEXTS in f"/{path}"


ORDERS: tuple[Order, ...] = (any_order, journal_first, notes_first, texts_last)


@dataclass
class _Side:
    """One device. `base` is what the copier last agreed on with it, `shown` what it put there that is not yet the whole file:
    how, and with which bytes."""

    root: Path
    base: dict[str, bytes] = field(default_factory=dict)
    shown: dict[str, tuple[str, bytes]] = field(default_factory=dict)


class Copier:
    """The copier between `roots`, by device name. `tool` speaks for all of them, `tools` for single ones."""

    def __init__(
        self, roots: dict[str, Path], tool: Tool, rng: random.Random, tools: dict[str, Tool] | None = None
    ) -> None:
        self.rng = rng
        self.tool = tool
        self.tools = tools or {}
        self.sides = {name: _Side(root) for name, root in roots.items()}
        self.cloud: dict[str, bytes] = {}
        self.times: dict[str, int] = {}
        self.conflicts: list[str] = []
        self.whole: Callable[[str], bool] = lambda path: False
        """Paths that are never shown in pieces."""

    def add(self, name: str, root: Path) -> None:
        """A further device, with an empty folder or one that was copied there by hand."""
        root.mkdir(parents=True, exist_ok=True)
        self.sides[name] = _Side(root)

    def sync(self, name: str, most: int | None = None, order: Order = any_order) -> int:
        """Takes everything from a device and gives it at most `most` files; returns how many are still to come."""
        self.take(name)
        return self.give(name, most, order)

    def settle(self, rounds: int = 8) -> None:
        """Brings every device everything. Raises when they do not come to rest."""
        for _ in range(rounds):
            for name in self.sides:
                self.sync(name)
            if all(self.waiting(name) == 0 and not self._changes(name) for name in self.sides):
                return
        raise AssertionError("the copier does not come to rest")

    def waiting(self, name: str) -> int:
        """How many files of the cloud a device does not have as they are there."""
        return len(self._owed(name))

    # Taking

    def take(self, name: str) -> None:
        """Uploads what changed on a device since the last time, in any order."""
        side = self.sides[name]
        for path, content in self._changes(name):
            before, there = side.base.get(path), self.cloud.get(path)
            if there in (before, content):
                self._put(path, content, self._time(side, path))
                _remember(side.base, path, content)
            elif content is GONE:
                side.base.pop(path, None)  # deleted here, changed there: what was changed comes back
            elif there is GONE:
                self._put(path, content, self._time(side, path))  # deleted there, changed here: it comes back there
                side.base[path] = content
            else:
                self._conflict(name, path, before, content, there)

    def _conflict(self, name: str, path: str, before: bytes | None, here: bytes, there: bytes) -> None:
        side, tool = self.sides[name], self._tool(name)
        self.conflicts.append(path)
        if tool.conflict:
            pure = PurePosixPath(path)
            copy = str(pure.with_name(tool.conflict.format(stem=pure.stem, suffix=pure.suffix)))
            self._put(copy, here, self._time(side, path))
            side.base.pop(path, None)
            _local(side, path).rename(_local(side, copy))
            side.base[copy] = here
            return
        if before is not GONE and path.endswith(tool.merges):
            merged = merge(before, here, there)
            self._put(path, merged, max(self._time(side, path), self.times.get(path, 0)))
        elif self._time(side, path) > self.times.get(path, 0):
            self._put(path, here, self._time(side, path))
        # What lies here now is settled with; what the cloud decided comes as any other change does.
        side.base[path] = here

    def _changes(self, name: str) -> list[tuple[str, bytes | None]]:
        side = self.sides[name]
        found = self._scan(name)
        changed: list[tuple[str, bytes | None]] = [
            (path, content) for path, content in found.items() if content != side.base.get(path)
        ]
        changed += [(path, GONE) for path in side.base if path not in found]
        changed = [
            (path, content) for path, content in changed if path not in side.shown or side.shown[path][1] != content
        ]
        for path, _ in changed:
            self._forget_stub(side, path)
        changed.sort(key=lambda change: change[0])
        self.rng.shuffle(changed)
        return changed

    def _scan(self, name: str) -> dict[str, bytes]:
        side, tool = self.sides[name], self._tool(name)
        found: dict[str, bytes] = {}
        for folder, folders, names in os.walk(side.root):
            below = Path(folder).relative_to(side.root).as_posix().removeprefix(".").strip("/")
            folders[:] = sorted(
                one for one in folders if one[0] != "." or (one == ".obsidian" and tool.carries_obsidian)
            )
            for one in names:
                path = f"{below}/{one}" if below else one
                if one[0] != "." and self._carries(tool, path):
                    content = (Path(folder) / one).read_bytes()
                    if tool.crlf and _is_text(path):
                        content = content.replace(b"\r\n", b"\n")
                    found[path] = content
        # A hidden placeholder stands for the file: it was not deleted.
        for path, (kind, _) in side.shown.items():
            if kind == "icloud" and _stub(side, path).exists():
                found[path] = side.shown[path][1]
        return found

    # Giving

    def give(self, name: str, most: int | None = None, order: Order = any_order) -> int:
        """Delivers at most `most` files; returns how many are still to come."""
        owed = self._owed(name)
        owed.sort()
        self.rng.shuffle(owed)
        owed.sort(key=order)  # pyright: ignore[reportArgumentType]
        for path in owed if most is None else owed[:most]:
            self._deliver(name, path, whole=most is None or self.rng.random() < 0.7)
        return self.waiting(name)

    def deliver(self, name: str, wanted: Callable[[str], bool]) -> None:
        """Delivers whole what is wanted of what a device does not have, and nothing else."""
        for path in sorted(filter(wanted, self._owed(name))):
            self._deliver(name, path, whole=True)

    def hold_back(self, name: str, path: str, *, stub: str = "", keep: int = 0) -> None:
        """Takes a delivered file back to what it was before it arrived: a placeholder (`stub`), or its first `keep` bytes."""
        side = self.sides[name]
        content = side.base.pop(path)
        self._show(side, path, stub or "part", content[:keep] if not stub else b"")

    def _owed(self, name: str) -> list[str]:
        side, tool = self.sides[name], self._tool(name)
        paths = [path for path in {*self.cloud, *side.base} if self._carries(tool, path)]
        return [path for path in paths if self.cloud.get(path) != side.base.get(path)]

    def _deliver(self, name: str, path: str, *, whole: bool) -> None:
        side, tool = self.sides[name], self._tool(name)
        content = self.cloud.get(path)
        place = _local(side, path)
        if content is GONE:
            self._forget_stub(side, path)
            place.unlink(missing_ok=True)
            side.base.pop(path, None)
            return
        if not whole and path not in side.base and tool.stubs and self.rng.random() < 0.5:
            self._show(side, path, tool.stubs, b"")
            return
        if not whole and tool.pieces and len(content) > 1 and not self.whole(path):
            self._show(side, path, "part", content[: self.rng.randrange(1, len(content))])
            return
        self._forget_stub(side, path)
        written = content
        if tool.crlf and _is_text(path):
            written = content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        _write(place, written, in_place=tool.in_place)
        if tool.keeps_times and path in self.times:
            os.utime(place, ns=(self.times[path], self.times[path]))
        side.base[path] = content

    def _show(self, side: _Side, path: str, kind: str, content: bytes) -> None:
        self._forget_stub(side, path)
        place = _local(side, path)
        if kind == "icloud":
            place.unlink(missing_ok=True)
            _write(_stub(side, path), b"bplist00")
        else:
            _write(place, content)
        side.base.pop(path, None)
        side.shown[path] = (kind, content)

    def _forget_stub(self, side: _Side, path: str) -> None:
        if path in side.shown:
            kind, _ = side.shown.pop(path)
            if kind == "icloud":
                _stub(side, path).unlink(missing_ok=True)

    # The rest

    def _put(self, path: str, content: bytes | None, time: int) -> None:
        _remember(self.cloud, path, content)
        if content is GONE:
            self.times.pop(path, None)
        else:
            self.times[path] = time

    def _tool(self, name: str) -> Tool:
        return self.tools.get(name, self.tool)

    def _carries(self, tool: Tool, path: str) -> bool:
        return not tool.only or path.endswith(tool.only)

    def _time(self, side: _Side, path: str) -> int:
        try:
            return _local(side, path).stat().st_mtime_ns
        except FileNotFoundError:
            return 0


def merge(before: bytes, one: bytes, other: bytes) -> bytes:
    """The lines of `one` and `other`, where both changed the same place both, as a merge driver or Obsidian Sync would."""
    base, ours, theirs = (text.splitlines(keepends=True) for text in (before, one, other))
    changes: list[tuple[int, int, list[bytes]]] = []
    for side in (ours, theirs):
        for tag, start, end, there, stop in SequenceMatcher(None, base, side, autojunk=False).get_opcodes():
            if tag != "equal":
                changes.append((start, end, side[there:stop]))
    merged: list[bytes] = []
    place = 0
    done: list[list[bytes]] = []
    for start, end, lines in sorted(changes, key=lambda change: (change[0], change[1])):
        merged += base[place:start]
        if lines not in done or start > place:
            merged += lines
            done = [lines] if start > place else [*done, lines]
        place = max(place, end)
    return b"".join([*merged, *base[place:]])


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones and all."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def restore(root: Path, files: dict[str, bytes], paths: Iterable[str] | None = None) -> None:
    """Puts a folder, or the given paths in it, back to what a `snapshot` holds, as a backup tool does."""
    if paths is None:
        for entry in root.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    for path in files if paths is None else paths:
        _write(root / path, files[path])


def _remember(table: dict[str, bytes], path: str, content: bytes | None) -> None:
    if content is GONE:
        table.pop(path, None)
    else:
        table[path] = content


def _local(side: _Side, path: str) -> Path:
    return side.root / path


def _stub(side: _Side, path: str) -> Path:
    place = _local(side, path)
    return place.with_name(f".{place.name}.icloud")


def _is_text(path: str) -> bool:
    return path.endswith((".md", ".jsonl", ".txt", ".yaml", ".base"))


def _write(place: Path, content: bytes, *, in_place: bool = False) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if in_place:
        place.write_bytes(content)
        return
    arriving = place.with_name(f".{place.name}.arriving")
    arriving.write_bytes(content)
    arriving.replace(place)
