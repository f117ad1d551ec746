"""Where the transcript files are: one walk, one stat a file, nothing opened."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from msgspec import Struct

from vir_core.transcripts.session import Source, SourceFile, Trouble

_SKIPPED_FOLDERS = frozenset({"tool-results", "memory", "node_modules", ".git"})
_NOT_SESSIONS = {
    "journal.jsonl": "the journal of a workflow, not a session",
    "history.jsonl": "the history of typed prompts, not a session",
    "session_index.jsonl": "a list of sessions, not a session",
}


class Found(Struct, frozen=True, kw_only=True):
    """`files` in the order of their paths. `others` are files that look like transcripts and are none (each says why);
    `problems` are folders and files that could not be looked at."""

    files: tuple[SourceFile, ...] = ()
    problems: tuple[Trouble, ...] = ()
    others: tuple[Trouble, ...] = ()
    roots: tuple[str, ...] = ()


class _Walk:
    def __init__(self) -> None:
        self.files: dict[str, SourceFile] = {}
        self.problems: list[Trouble] = []
        self.others: list[Trouble] = []
        self._walked: list[str] = []  # real paths of roots and of folders that links led to
        self._inodes: set[tuple[int, int]] = set()

    def root(self, path: Path, source: Source) -> str | None:
        root = os.path.abspath(path)  # noqa: PTH100  a link stays the path the person knows
        try:
            stat = os.stat(root)  # noqa: PTH116  paths are strings from here on, 15,000 of them
        except ValueError:
            self.problems.append(Trouble(_shown(root).replace("\0", ""), "find", "This is no path: it holds a NUL."))
            return None
        except OSError as error:
            self.problems.append(Trouble(_shown(root), "find", _because(error, "this folder")))
            return None
        if not S_ISDIR(stat.st_mode):
            self.problems.append(Trouble(_shown(root), "find", "This is a file; a folder of transcripts was expected."))
            return None
        self._tree(root, root, source)
        return root

    def _tree(self, folder: str, root: str, source: Source) -> None:
        """Links are followed after everything else, so that a file has the path without the link when it has one; what
        they lead to is entered once, whatever loops there are, and not at all when it lies in what was walked."""
        links = self._folders(folder, root, source) if self._enter(folder) else []
        while links:
            link = links.pop()
            try:
                stat = os.stat(link)  # noqa: PTH116
            except OSError as error:
                self.problems.append(Trouble(_shown(link), "find", _because(error, "the target of this link")))
                continue
            if S_ISREG(stat.st_mode):
                self._file(link, stat, root, source)
            elif S_ISDIR(stat.st_mode) and self._enter(link):
                links.extend(self._folders(link, root, source))

    def _enter(self, folder: str) -> bool:
        real = os.path.realpath(folder)
        if any(real == walked or real.startswith(walked.rstrip(os.sep) + os.sep) for walked in self._walked):
            return False
        self._walked.append(real)
        return True

    def _folders(self, top: str, root: str, source: Source) -> list[str]:
        """Everything below `top` without following a link; returns the links."""
        links: list[str] = []
        pending = [top]
        while pending:
            folder = pending.pop()
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        self._entry(entry, root, source, pending, links)
            except OSError as error:
                self.problems.append(Trouble(_shown(folder), "find", _because(error, "this folder")))
        return links

    def _entry(self, entry: os.DirEntry[str], root: str, source: Source, pending: list[str], links: list[str]) -> None:
        name = entry.name
        transcript = name.endswith((".jsonl", ".jsonl.zst"))
        try:
            if transcript and name not in _NOT_SESSIONS and entry.is_file(follow_symlinks=False):
                # Not entry.stat(): on Windows it is read from the folder and knows no inode.
                self._file(entry.path, os.stat(entry.path), root, source)  # noqa: PTH116
            elif entry.is_symlink():
                if transcript or "." not in name:
                    links.append(entry.path)
            elif entry.is_dir():
                if transcript:
                    self.problems.append(
                        Trouble(_shown(entry.path), "find", "A folder has the name of a transcript; it was not read.")
                    )
                elif name not in _SKIPPED_FOLDERS:
                    pending.append(entry.path)
            elif reason := _NOT_SESSIONS.get(name):
                self.others.append(Trouble(_shown(entry.path), "find", reason))
            elif transcript:
                self.problems.append(Trouble(_shown(entry.path), "find", "This is no regular file; it was not read."))
        except OSError as error:
            self.problems.append(Trouble(_shown(entry.path), "find", _because(error, "this entry")))

    def _file(self, path: str, stat: os.stat_result, root: str, source: Source) -> None:
        inode = stat.st_ino
        if inode:
            identity = (stat.st_dev, inode)
            if identity in self._inodes:
                return
            self._inodes.add(identity)
        if not path.isascii() and not _writable_name(path):
            self.problems.append(
                Trouble(_shown(path), "find", "The file's name is not valid UTF-8; rename it to have it read.")
            )
            return
        self.files[path] = SourceFile(path, source, root, stat.st_size, stat.st_mtime_ns, inode)

    def one_of_each(self) -> None:
        """Codex moves a rollout when it is archived and compresses one that grew cold, and may be met half-way: of two
        files of one name the one in use counts before the archived one, and the plain one before the compressed."""
        if not any(path.endswith(".zst") or "archived_sessions" in path for path in self.files):
            return
        copies: dict[str, list[str]] = {}
        for path in self.files:
            name = os.path.basename(path)  # noqa: PTH119
            if name.startswith("rollout-") and name.endswith((".jsonl", ".jsonl.zst")):
                copies.setdefault(name.removesuffix(".zst"), []).append(path)
        for paths in copies.values():
            if len(paths) == 1:
                continue
            # Copies in two homes are two files, which lineage joins; only what lies below one home is a move met half-way.
            for home in {_home(path) for path in paths}:
                same = sorted((path for path in paths if _home(path) == home), key=_standing)
                for path in same[1:]:
                    del self.files[path]
                    self.others.append(Trouble(path, "find", f"a copy of {same[0]}, which is read"))


def _home(path: str) -> str:
    for name in ("sessions", "archived_sessions"):
        head, found, _ = path.replace("\\", "/").partition(f"/{name}/")
        if found:
            return head
    return ""


def _standing(path: str) -> tuple[bool, bool, str]:
    return "/archived_sessions/" in path.replace("\\", "/"), path.endswith(".zst"), path


def find(claude_dirs: Sequence[Path], codex_dirs: Sequence[Path]) -> Found:
    """The transcript files below these folders; never raises for what lies there.

    A Claude folder is `projects` itself, a config folder that holds it, or any tree with `.jsonl` files; a Codex folder is
    `sessions`, a home that holds `sessions` or `archived_sessions`, or any tree. A file met twice counts once."""
    walk = _Walk()
    roots = [
        *(walk.root(path, "claude") for folder in claude_dirs for path in _inside(folder, ("projects",))),
        *(
            walk.root(path, "codex")
            for folder in codex_dirs
            for path in _inside(folder, ("sessions", "archived_sessions"))
        ),
    ]
    walk.one_of_each()
    return Found(
        files=tuple(walk.files[path] for path in sorted(walk.files)),
        problems=tuple(walk.problems),
        others=tuple(walk.others),
        roots=tuple(dict.fromkeys(root for root in roots if root)),
    )


def _inside(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    held = [folder / name for name in names if os.path.isdir(folder / name)]  # noqa: PTH112  is_dir raises without permission
    yield from held or [folder]


def _writable_name(path: str) -> bool:
    """Whether the path survives being written down; names of other encodings come from the system as lone surrogates."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(path: str) -> str:
    return path.encode("utf-8", "replace").decode()


def _because(error: OSError, what: str) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{what[0].upper()}{what[1:]} does not exist."
    if isinstance(error, PermissionError):
        return f"No permission to look at {what}."
    return f"{what[0].upper()}{what[1:]} could not be read: {error.strerror or error}."
