"""Which project a folder belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from vir_core.transcripts.project import normal_path, project_of, remote_key


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/Sam/Shop.git",
        "https://github.com/sam/shop",
        "https://token@github.com/sam/shop.git/",
        "git@github.com:sam/shop.git",
        "ssh://git@github.com:22/sam/shop.git",
        "git://GitHub.com/sam/shop",
    ],
)
def test_spellings_of_one_remote_are_one_key(url: str) -> None:
    assert remote_key(url) == "github.com/sam/shop"


@pytest.mark.parametrize(
    "url", ["", "/srv/git/shop.git", "../shop", "file:///srv/git/shop.git", "C:\\git\\shop", "C:/git/shop"]
)
def test_local_remotes_are_no_key(url: str) -> None:
    assert remote_key(url) == ""


def test_case_counts_where_the_host_lets_it() -> None:
    assert remote_key("git@git.example.org:Sam/Shop.git") == "git.example.org/Sam/Shop"


@pytest.mark.parametrize(
    ("cwd", "path"),
    [
        ("/home/sam/shop/", "/home/sam/shop"),
        ("/home/sam/shop/.claude/worktrees/fix-1/src", "/home/sam/shop"),
        ("/home/sam/shop/.worktrees/2", "/home/sam/shop"),
        ("D:\\Work\\Shop", "d:/work/shop"),
        ("d:/work/shop", "d:/work/shop"),
        ("\\\\nas\\Share\\shop", "//nas/share/shop"),
        ("/", "/"),
        ("", ""),
    ],
)
def test_one_spelling_of_a_folder(cwd: str, path: str) -> None:
    assert normal_path(cwd) == path


def make_repo(folder: Path, url: str = "") -> Path:
    (folder / ".git").mkdir(parents=True)
    remote = f'[remote "origin"]\n\turl = {url}\n\tfetch = +refs/heads/*\n' if url else ""
    (folder / ".git" / "config").write_text(f'[core]\n\tbare = false\n{remote}[branch "main"]\n\tremote = origin\n')
    return folder


def test_subfolders_worktrees_and_clones_are_one_project(tmp_path: Path) -> None:
    url = "git@github.com:sam/shop.git"
    repo = make_repo(tmp_path / "shop", url)
    (repo / "src" / "deep").mkdir(parents=True)
    linked = repo / ".git" / "worktrees" / "fix"
    linked.mkdir(parents=True)
    (linked / "commondir").write_text("../..\n")
    tree = tmp_path / "elsewhere"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {linked}\n")
    clone = make_repo(tmp_path / "copy", "https://github.com/Sam/shop")
    projects = {project_of(str(path), device="d1") for path in (repo, repo / "src" / "deep", tree, clone)}
    assert {(project.key, project.name) for project in projects} == {("github.com/sam/shop", "shop")}
    assert next(iter(projects)).id.startswith("p")


def test_a_repository_without_remote_is_its_place_on_this_device(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop")
    (repo / "src").mkdir()
    one, other = project_of(str(repo), device="d1"), project_of(str(repo / "src"), device="d1")
    assert one == other
    assert one.key == f"d1:{repo}"
    assert project_of(str(repo), device="d2").id != one.id


def test_a_folder_that_is_not_here_goes_by_the_recorded_remote_then_by_its_path() -> None:
    named = project_of("/nowhere/shop", device="d1", remote="git@github.com:sam/shop.git")
    assert (named.key, named.name) == ("github.com/sam/shop", "shop")
    placed = project_of("/nowhere/shop/.worktrees/2", device="d1")
    assert (placed.key, placed.name) == ("d1:/nowhere/shop", "shop")
    assert project_of("", device="d1").name == "unknown"


def test_a_broken_git_file_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"\xff\xfe nonsense")
    assert project_of(str(tmp_path), device="d1").key == f"d1:{tmp_path}"
