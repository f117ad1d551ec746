"""One project by whatever name its folder is called, here or anywhere."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from vir_core.transcripts.project import named_project, normal_path, project_of, root_commit


def git(folder: Path, *words: str, date: str = "2026-03-04T10:00:00Z") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["git", "-c", "user.name=Sam", "-c", "user.email=sam@example.org", "-c", "init.defaultBranch=main", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date},
    )
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository without a remote."""
    folder = tmp_path / "shop"
    git(folder, "init", "--quiet")
    (folder / "a.txt").write_text("a")
    git(folder, "add", "a.txt")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder


@pytest.mark.parametrize(
    ("cwd", "path"),
    [
        ("\\\\?\\D:\\Work\\Shop", "d:/work/shop"),
        ("\\\\?\\UNC\\nas\\Share\\shop", "//nas/share/shop"),
        ("\\\\NAS\\share\\Shop", "//nas/share/shop"),
        ("\\\\wsl$\\Ubuntu\\home\\sam\\shop", "/home/sam/shop"),
        ("\\\\wsl.localhost\\Ubuntu\\home\\sam\\shop", "/home/sam/shop"),
        ("C:\\work\\shop\\.claude\\worktrees\\fix\\src", "c:/work/shop"),
        ("c:\\", "c:"),
    ],
)
def test_windows_spellings_are_one(cwd: str, path: str) -> None:
    assert normal_path(cwd) == path


def test_a_mounted_drive_is_the_drive_only_where_windows_is() -> None:
    assert (
        normal_path("/mnt/d/Work/Shop", windows=True) == normal_path("D:\\work\\shop", windows=True) == "d:/work/shop"
    )
    assert normal_path("/mnt/d/Work/Shop", windows=False) == "/mnt/d/Work/Shop"
    assert normal_path("/mnt/data/Shop", windows=True) == "/mnt/data/Shop"


def test_clones_without_a_remote_are_one_by_their_first_commit(repo: Path, tmp_path: Path) -> None:
    clone = tmp_path / "elsewhere" / "copy"
    git(tmp_path, "clone", "--quiet", str(repo), str(clone))
    git(clone, "remote", "remove", "origin")
    one, other = project_of(str(repo), device="d1"), project_of(str(clone), device="d2")
    assert one.key == f"root:{git(repo, 'rev-list', '--max-parents=0', 'HEAD')}"
    assert (one.id, one.name) == (other.id, "shop")


def test_a_history_merged_in_later_changes_nothing(repo: Path) -> None:
    before = root_commit(str(repo / ".git"))
    git(repo, "checkout", "--quiet", "--orphan", "side")
    git(repo, "commit", "--quiet", "-m", "an older beginning", date="2019-01-01T00:00:00Z")
    git(repo, "checkout", "--quiet", "main")
    git(repo, "merge", "--quiet", "--allow-unrelated-histories", "-m", "join", "side")
    root_commit.__globals__["_asked_root"].cache_clear()
    assert len(git(repo, "rev-list", "--max-parents=0", "HEAD").split()) == 2
    assert root_commit(str(repo / ".git")) == before


def test_a_shallow_clone_and_an_empty_repository_have_no_first_commit(repo: Path, tmp_path: Path) -> None:
    (repo / "b.txt").write_text("b")
    git(repo, "add", "b.txt")
    git(repo, "commit", "--quiet", "-m", "second")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{repo}", str(shallow))
    assert root_commit(str(shallow / ".git")) == ""
    empty = tmp_path / "empty"
    git(empty, "init", "--quiet")
    assert root_commit(str(empty / ".git")) == ""
    assert project_of(str(empty), device="d1").key == f"d1:{empty}"


def test_without_git_the_folder_is_the_project(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    root_commit.__globals__["_asked_root"].cache_clear()
    project_of.cache_clear()
    assert project_of(str(repo), device="d1").key == f"d1:{repo}"
    project_of.cache_clear()
    root_commit.__globals__["_asked_root"].cache_clear()


def test_worktrees_belong_to_their_repository_also_when_they_are_gone(repo: Path, tmp_path: Path) -> None:
    tree = tmp_path / "beside" / "fix"
    git(repo, "worktree", "add", "--quiet", str(tree))
    inside = repo / "trees" / "two"
    git(repo, "worktree", "add", "--quiet", str(inside))
    project = project_of(str(repo), device="d1")
    assert project_of(str(tree), device="d1") == project_of(str(inside), device="d1") == project
    git(repo, "worktree", "remove", str(inside))
    git(repo, "worktree", "remove", str(tree))
    project_of.cache_clear()
    assert project_of(str(inside), device="d1").id == project.id
    assert project_of(str(tree), device="d1", home=str(repo)).id == project.id
    assert project_of(str(tree), device="d1").id != project.id
    assert named_project(project.key, project.place).id == project.id


def test_a_worktree_whose_repository_is_gone_still_says_which_one_it_was(tmp_path: Path) -> None:
    tree = tmp_path / "fix"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {tmp_path}/shop/.git/worktrees/fix\n")
    assert project_of(str(tree), device="d1").key == f"d1:{tmp_path / 'shop'}"


def test_a_repository_of_settings_in_the_home_folder_claims_nothing_below_it(sandbox: Path) -> None:
    (sandbox / ".git").mkdir()
    (sandbox / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:sam/dotfiles.git\n')
    below = sandbox / "work" / "shop"
    below.mkdir(parents=True)
    assert project_of(str(sandbox), device="d1").key == "github.com/sam/dotfiles"
    assert project_of(str(below), device="d1").key == f"d1:{below}"


def test_a_link_and_the_folder_it_leads_to_are_one(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    assert project_of(str(tmp_path / "link"), device="d1") == project_of(str(real), device="d1")


def test_a_network_share_is_not_looked_at(tmp_path: Path) -> None:
    one = project_of("\\\\nas\\share\\shop", device="d1")
    other = project_of("//NAS/Share/shop", device="d1")
    assert (one.key, one) == ("d1://nas/share/shop", other)
