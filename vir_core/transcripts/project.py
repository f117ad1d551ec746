"""Which project a session belongs to: the repository at its folder, by a key that every clone and machine shares."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path, PurePosixPath

from msgspec import Struct

from vir_core.text import project_id

_CONFIG_CAP = 1 << 20
_worktree = re.compile(r"^(.+?)/(?:\.claude/worktrees|\.worktrees)/[^/]+(?:/.*)?$")
_scp = re.compile(r"^(?:[^@/\s]+@)?([^:/\s]+):(?!//)(.+)$")
_url = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^@/]*@)?([^/:]*)(?::\d+)?/(.+)$", re.IGNORECASE)
_drive = re.compile(r"^[A-Za-z]:(?:/|$)")
_section = re.compile(r'^\s*\[\s*remote\s+"(.*)"\s*\]')
_any_section = re.compile(r"^\s*\[")
_setting = re.compile(r"^\s*url\s*=\s*(.+?)\s*$", re.IGNORECASE)
_CASELESS_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org"})


class Project(Struct, frozen=True):
    """`key` is `<host>/<path>` of the remote, else `<device>:<path>`; `id` is derived from it; `name` is for people."""

    key: str
    id: str
    name: str


@lru_cache(maxsize=4096)
def project_of(cwd: str, *, device: str = "", remote: str = "") -> Project:
    """The project of a session that ran in `cwd`; `remote` is a repository URL its records name. Never raises.

    The repository at the folder, when that exists here, speaks first: its remote, else its place on this device. Folders
    below a repository and its worktrees belong to it. Answers are remembered per process."""
    path = normal_path(cwd)
    top = _repository(cwd) if cwd and not path.startswith("//") else None
    url = _remote_of(top) if top is not None else ""
    key = remote_key(url) or remote_key(remote)
    if key:
        return Project(key, project_id(key), PurePosixPath(key).name)
    place = normal_path(str(_work_folder(top))) if top is not None else path
    key = f"{device}:{place}"
    return Project(key, project_id(key), PurePosixPath(place).name or "unknown")


def remote_key(url: str) -> str:
    """`host/owner/repo` of a git remote, the same for its https, ssh and scp spellings; empty for a local path, which
    means nothing on another machine."""
    url = url.strip()
    if _drive.match(url.replace("\\", "/")):
        return ""
    found = _url.match(url) or (None if "://" in url else _scp.match(url))
    if not found or not found[1] or url.lower().startswith("file:"):
        return ""
    host = found[1].lower()
    path = re.sub(r"/+", "/", found[2].split("?")[0].split("#")[0]).strip("/").removesuffix(".git").strip("/")
    if not path:
        return ""
    return f"{host}/{path.casefold() if host in _CASELESS_HOSTS else path}"


def normal_path(cwd: str) -> str:
    """One spelling of a folder: forward slashes, no trailing one, a worktree as the folder it hangs off, and Windows paths
    folded, because they compare without case."""
    path = cwd.strip().replace("\\", "/")
    lead = "//" if path.startswith("//") else ""
    path = lead + re.sub(r"/+", "/", path[len(lead) :])
    if len(path) > 1:
        path = path.rstrip("/")
    if found := _worktree.match(path):
        path = found[1]
    return path.casefold() if _drive.match(path) else path


def _repository(cwd: str) -> Path | None:
    """The folder that holds config and objects of the repository at or above `cwd`."""
    try:
        start = Path(cwd)
        if not start.is_absolute() or not start.is_dir():
            return None
        for folder in (start, *start.parents):
            git = folder / ".git"
            if git.is_dir():
                return git
            if git.is_file():
                return _common(git)
    except (OSError, ValueError, RuntimeError):  # RuntimeError: a loop of links
        return None
    return None


def _common(git: Path) -> Path | None:
    """Where a `.git` file leads: for a worktree the repository it belongs to, for a submodule its own."""
    line = _text(git).strip()
    if not line.startswith("gitdir:"):
        return None
    folder = (git.parent / line.removeprefix("gitdir:").strip()).resolve()
    common = _text(folder / "commondir").strip()
    return (folder / common).resolve() if common else folder


def _work_folder(git: Path) -> Path:
    return git.parent if git.name == ".git" else git


def _remote_of(git: Path) -> str:
    """`origin`, else the first remote that the config names."""
    remotes: dict[str, str] = {}
    name = ""
    for line in _text(git / "config").splitlines():
        if section := _section.match(line):
            name = section[1]
        elif _any_section.match(line):
            name = ""
        elif name and name not in remotes and (setting := _setting.match(line)):
            remotes[name] = setting[1].strip('"')
    return remotes.get("origin") or next(iter(remotes.values()), "")


def _text(path: Path) -> str:
    try:
        with path.open("rb") as handle:
            return handle.read(_CONFIG_CAP).decode("utf-8", "replace")
    except OSError:
        return ""
