"""Where things lie on this machine. Nothing here touches the disk except to ask whether a folder exists."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def user_home(env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """The person's home folder: what the environment says, else the account's entry."""
    names = ("USERPROFILE", "HOME") if platform == "win32" else ("HOME",)
    for name in names:
        if env.get(name):
            return Path(env[name])
    return Path.home()


def state_home(env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """The folder of machine-local records and caches; it need not exist.

    `$VIR_STATE_DIR`, else one fixed place under the home. Not from XDG variables: a terminal has them and an Obsidian
    started from the dock does not, and both must find the same locks.
    """
    told = env.get("VIR_STATE_DIR", "").strip()
    home = user_home(env, platform)
    if told:
        return _absolute(told, home)
    if platform == "win32":
        local = env.get("LOCALAPPDATA", "")
        return (Path(local) if local else home / "AppData" / "Local") / "vir"
    if platform == "darwin":
        return home / "Library" / "Application Support" / "vir"
    return home / ".local" / "state" / "vir"


def claude_projects_dirs(env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> list[Path]:
    """Claude Code's folders of transcripts: `$CLAUDE_CONFIG_DIR/projects` (a comma list), else `~/.claude/projects`."""
    home = user_home(env, platform)
    return [folder / "projects" for folder in _listed(env.get("CLAUDE_CONFIG_DIR", ""), home) or [home / ".claude"]]


def codex_home_dirs(env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> list[Path]:
    """Codex's homes: `$CODEX_HOME` (a comma list), else `~/.codex`; transcripts lie in sessions/ and archived_sessions/."""
    home = user_home(env, platform)
    return _listed(env.get("CODEX_HOME", ""), home) or [home / ".codex"]


def _listed(value: str, home: Path) -> list[Path]:
    # A folder may have a comma in its name: the whole value wins when it exists.
    whole = value.strip()
    if not whole:
        return []
    if "," in whole and _absolute(whole, home).is_dir():
        return [_absolute(whole, home)]
    folders = [_absolute(part.strip(), home) for part in whole.split(",") if part.strip()]
    return list(dict.fromkeys(folders))


def _absolute(value: str, home: Path) -> Path:
    # `~` arrives unexpanded when the variable was set in a settings file and not by a shell.
    if value == "~" or value.startswith(("~/", "~\\")):
        return home / value[2:]
    return Path(os.path.abspath(value))  # noqa: PTH100  (resolve() would follow links; two spellings stay two)
