from __future__ import annotations

from pathlib import Path

import pytest

from vir_core.machine import claude_projects_dirs, codex_home_dirs, state_home, user_home


def test_state_home_on_each_system():
    linux = {"HOME": "/home/me", "XDG_STATE_HOME": "/elsewhere", "XDG_DATA_HOME": "/elsewhere"}
    assert state_home(linux, "linux") == Path("/home/me/.local/state/vir")
    assert state_home({"HOME": "/Users/me"}, "darwin") == Path("/Users/me/Library/Application Support/vir")
    windows = {"USERPROFILE": "C:/Users/me", "LOCALAPPDATA": "C:/Users/me/AppData/Local", "HOME": "/c/Users/me"}
    assert state_home(windows, "win32") == Path("C:/Users/me/AppData/Local/vir")
    assert state_home({"USERPROFILE": "C:/Users/me"}, "win32") == Path("C:/Users/me/AppData/Local/vir")
    assert user_home(windows, "win32") == Path("C:/Users/me")


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_told_state_home_wins_everywhere(platform: str):
    env = {"HOME": "/home/me", "USERPROFILE": "/home/me", "VIR_STATE_DIR": "/data/vir"}
    assert state_home(env, platform) == Path("/data/vir")
    assert state_home({**env, "VIR_STATE_DIR": "~/vir"}, platform) == Path("/home/me/vir")
    assert state_home({**env, "VIR_STATE_DIR": " "}, platform) != Path.cwd()


def test_a_relative_state_home_is_made_absolute():
    assert state_home({"HOME": "/home/me", "VIR_STATE_DIR": "here"}, "linux") == Path.cwd() / "here"


def test_the_sandbox_is_used_by_default(sandbox: Path):
    assert state_home() == sandbox / "state"
    assert user_home() == sandbox
    assert claude_projects_dirs() == [sandbox / ".claude" / "projects"]
    assert codex_home_dirs() == [sandbox / ".codex"]


def test_no_home_in_the_environment_asks_the_account():
    assert user_home({}).is_absolute()


def test_agents_folders_take_comma_lists(tmp_path: Path):
    env = {"HOME": "/home/me", "CLAUDE_CONFIG_DIR": "/a, ~/b,,/a", "CODEX_HOME": "/c,/d"}
    assert claude_projects_dirs(env, "linux") == [Path("/a/projects"), Path("/home/me/b/projects")]
    assert codex_home_dirs(env, "linux") == [Path("/c"), Path("/d")]
    odd = tmp_path / "with, comma"
    odd.mkdir()
    assert codex_home_dirs({"HOME": "/home/me", "CODEX_HOME": str(odd)}, "linux") == [odd]
    assert codex_home_dirs({"HOME": "/home/me", "CODEX_HOME": " , "}, "linux") == [Path("/home/me/.codex")]


def test_links_are_not_resolved(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert codex_home_dirs({"CODEX_HOME": str(tmp_path / "link")}, "linux") == [tmp_path / "link"]
