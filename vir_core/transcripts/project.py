"""Which project a session belongs to: the repository at its folder, by a key that every clone and machine shares."""

from __future__ import annotations

import os
import re
import sys
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath

from msgspec import Struct

from vir_core.machine import user_home
from vir_core.text import project_id

_CONFIG_CAP = 1 << 20
_GIT_SECONDS = 3.0
_worktree = re.compile(r"^(.+?)/(?:\.claude/worktrees|\.worktrees)/[^/]+(?:/.*)?$")
_scp = re.compile(r"^(?:[^@/\s]+@)?([^:/\s]+):(?!//)(.+)$")
_url = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^@/]*@)?([^/:]*)(?::\d+)?/(.+)$", re.IGNORECASE)
_drive = re.compile(r"^[A-Za-z]:(?:/|$)")
_device_path = re.compile(r"^//[?.]/(?:(UNC)/)?", re.IGNORECASE)
_wsl_share = re.compile(r"^//(?:wsl\$|wsl\.localhost)/[^/]+(?=/|$)", re.IGNORECASE)
_wsl_drive = re.compile(r"^/mnt/([a-z])(?=/|$)")
_shell_drive = re.compile(r"^/(?:cygdrive/)?([a-z])(?=/|$)", re.IGNORECASE)
_section = re.compile(r'^\s*\[\s*remote\s+"(.*)"\s*\]')
_any_section = re.compile(r"^\s*\[")
_setting = re.compile(r"^\s*url\s*=\s*(.+?)\s*$", re.IGNORECASE)
_commit = re.compile(r"[0-9a-f]{40,64}\b")
_CASELESS_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org"})


class Project(Struct, frozen=True):
    """`key` is `<host>/<path>` of the remote, else `root:<first commit>`, else `<device>:<path>`; `id` is derived from it;
    `name` is for people. `place` is the folder it goes by on this machine; `repository` says that a repository was found
    there, so that the key holds wherever else that folder's sessions are met."""

    key: str
    id: str
    name: str
    place: str = ""
    repository: bool = False


@lru_cache(maxsize=4096)
def project_of(cwd: str, *, device: str = "", remote: str = "", home: str = "") -> Project:
    """The project of a session that ran in `cwd`; `remote` is a repository URL that its records name, `home` the folder
    that its worktree was made from. Never raises.

    The repository at the folder, when that exists here, speaks first: its remote, its first commit, else its place on this
    device. Folders below a repository and its worktrees belong to it, also when they are gone. Answers are remembered
    until `look_again`."""
    path = normal_path(cwd)
    top = _repository(cwd) or (_repository(home) if home else None)
    url = _remote_of(top) if top is not None else ""
    place = normal_path(str(_work_folder(top))) if top is not None else normal_path(home or _real(cwd, path))
    name = PurePosixPath(place).name
    if key := remote_key(url) or remote_key(remote):
        return Project(key, project_id(key), PurePosixPath(key).name, place, top is not None)
    if top is not None and (root := root_commit(str(top))):
        key = f"root:{root}"
        return Project(key, project_id(key), name or "unknown", place, True)
    key = f"{device}:{place}"
    return Project(key, project_id(key), name or "unknown", place)


def named_project(key: str, place: str) -> Project:
    """The project of a key that was found earlier for `place`, where nothing is left now."""
    name = place if key.startswith("root:") else key
    return Project(key, project_id(key), PurePosixPath(name).name or "unknown", place, True)


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


@lru_cache(maxsize=4096)
def normal_path(cwd: str, *, windows: bool | None = None) -> str:
    """One spelling of a folder: forward slashes, no trailing one, a worktree as the folder it hangs off, and Windows paths
    and network shares folded, because they compare without case.

    On Windows and in WSL (`windows`; None asks the platform) `/mnt/d/x` and `D:\\x` are one folder, and so are
    `\\\\wsl.localhost\\Ubuntu\\home\\x` and `/home/x`. Elsewhere `/mnt/d` is a folder like any other."""
    path = cwd.strip().replace("\\", "/")
    if found := _device_path.match(path):
        path = ("//" if found[1] else "") + path[found.end() :]
    lead = "//" if path.startswith("//") else ""
    path = lead + re.sub(r"/+", "/", path[len(lead) :])
    if found := _wsl_share.match(path):
        path = path[found.end() :] or "/"
    if _on_windows() if windows is None else windows:
        path = _wsl_drive.sub(r"\1:", path)
        if sys.platform == "win32":
            path = _shell_drive.sub(r"\1:", path)
    if len(path) > 1:
        path = path.rstrip("/")
    if found := _worktree.match(path):
        path = found[1]
    return path.casefold() if _drive.match(path) or path.startswith("//") else path


def root_commit(git: str) -> str:
    """The first commit of the repository whose `.git` this is; empty without one, without git, in a shallow clone (whose
    history begins anywhere) or where git takes longer than three seconds. By the way of first parents, because a history
    that is merged in later brings a beginning of its own, perhaps an older one.

    Asked of git, because in packed history the way back leads through every commit."""
    if not git or (Path(git) / "shallow").exists():
        return ""
    return _asked_root(git)


def look_again() -> None:
    """Forgets what was found: since the last look a folder may have become a repository, or got a remote."""
    project_of.cache_clear()
    _asked_root.cache_clear()


@cache
def _asked_root(git: str) -> str:
    import subprocess

    command = ["git", f"--git-dir={git}", "rev-list", "--max-parents=0", "--first-parent", "HEAD"]
    env = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(command, capture_output=True, timeout=_GIT_SECONDS, env=env, text=True, check=False)
    except (OSError, subprocess.SubprocessError, UnicodeError):
        return ""
    found = _commit.match(done.stdout)
    return found[0] if found and done.returncode == 0 else ""


@cache
def _on_windows() -> bool:
    if sys.platform == "win32":
        return True
    return hasattr(os, "uname") and "microsoft" in os.uname().release.lower()


def _local(cwd: str) -> str:
    """The folder under the name it has on this machine; empty for a network share: a look at one that is gone takes minutes."""
    path = cwd.strip().replace("\\", "/")
    if found := _wsl_share.match(path):
        return path[found.end() :] if sys.platform != "win32" else ""
    if path.startswith("//"):
        return ""
    if sys.platform != "win32" and _on_windows() and _drive.match(path):
        return f"/mnt/{path[0].lower()}{path[2:]}"
    if sys.platform == "win32" and (found := _wsl_drive.match(path)):
        return f"{found[1]}:{path[found.end() :] or '/'}"
    return cwd


def _real(cwd: str, path: str) -> str:
    """Where links lead, when the folder is here; else the path as it stands."""
    here = _local(cwd)
    try:
        return str(Path(here).resolve()) if here and Path(here).is_absolute() and Path(here).is_dir() else path
    except (OSError, ValueError, RuntimeError):
        return path


def _repository(cwd: str) -> Path | None:
    """The folder that holds config and objects of the repository at or above `cwd`.

    A repository that is the home folder itself keeps a person's settings: it claims no project below it."""
    here = _local(cwd)
    try:
        start = Path(here)
        if not here or not start.is_absolute():
            return None
        home = user_home().resolve()
        for folder in (start, *start.parents):
            git = folder / ".git"
            if git.is_dir():
                found: Path | None = git
            elif git.is_file():
                found = _common(git)
            else:
                continue
            return None if folder != start and folder.resolve() == home else found
    except (OSError, ValueError, RuntimeError):  # RuntimeError: a loop of links
        return None
    return None


def _common(git: Path) -> Path | None:
    """Where a `.git` file leads: for a worktree the repository it belongs to, for a submodule its own."""
    line = _text(git).strip()
    if not line.startswith("gitdir:"):
        return None
    folder = (git.parent / line.removeprefix("gitdir:").strip()).resolve()
    if common := _text(folder / "commondir").strip():
        return (folder / common).resolve()
    # The repository has forgotten this worktree, or is gone; the way to it still says which one it was.
    return folder.parent.parent if folder.parent.name == "worktrees" else folder


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
