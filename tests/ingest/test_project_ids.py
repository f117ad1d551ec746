"""A project is known better with time: a folder becomes a repository, a repository gets a remote. What was decided about it
and written for it stays its own, and no note moves."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.conftest import World
from vir_core.contract import ProjectInfo, ProjectsRequest
from vir_core.ingest import projects

SESSION = "8ccdf090-6c9a-478d-b9b3-124cfff2449e"


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=Sam", "-c", "user.email=sam@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def folder(world: World) -> Path:
    """The folder of one session, for real."""
    made = world.vault.parent / "src" / "lighthouse"
    made.mkdir(parents=True)
    path = next(world.claude.rglob(f"{SESSION}.jsonl"))
    lines: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        record: dict[str, Any] = json.loads(line) if line.startswith("{") and line.endswith("}") else {}
        if "cwd" in record:
            record["cwd"] = str(made)
        lines.append(json.dumps(record) if record else line)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return made


def lighthouse(world: World, **fields: Any) -> list[ProjectInfo]:
    request = ProjectsRequest(vault=str(world.vault), claude_dir=(str(world.claude),), **fields)
    return [info for info in projects(request).projects if info.name == "lighthouse"]


def joins(world: World) -> list[dict[str, Any]]:
    return [line for line in world.lines() if line["action"] == "project_joined"]


def test_notes_and_decisions_follow_a_project_that_becomes_a_repository_and_gets_a_remote(
    world: World, folder: Path
) -> None:
    first = world.run()
    [written] = [note for note in first.written if note.session.endswith(SESSION)]
    [before] = lighthouse(world, exclude=("lighthouse",))
    assert (before.decision, before.notes) == ("exclude", 1)
    tree = {path for path in world.tree() if path.endswith(".md")}
    ids = [before.id]
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x")):
        git(folder, *words)
    for step in ("root", "remote"):
        if step == "remote":
            git(folder, "remote", "add", "origin", "git@github.com:sam/lighthouse.git")
        [listed] = lighthouse(world)
        assert (listed.decision, listed.notes) == ("exclude", 1) and listed.id not in ids
        world.grow(SESSION, "And then?", "It hung because nobody closed the pool.")
        assert world.run().skipped["excluded"] >= 1
        [listed] = lighthouse(world)
        assert (listed.decision, listed.notes, listed.sessions) == ("exclude", 1, 1)
        ids.append(listed.id)
    assert [line["data"]["into"] for line in joins(world)] == ids[1:]
    assert {path for path in world.tree() if path.endswith(".md")} == tree
    for word in (*ids, "lighthouse"):
        hits = world.ask(written.title, project=(word,)).hits
        assert [hit.id for hit in hits] == [written.id], word
    for word in ids:
        [again] = lighthouse(world, include=(word,))
        assert again.decision == "include"
        [again] = lighthouse(world, exclude=(word,))
        assert again.decision == "exclude"
    tree_now = world.tree()
    world.run()
    assert world.tree() == tree_now


def test_a_join_is_written_once(world: World, folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    world.run()
    git(folder, "remote", "add", "origin", "git@github.com:sam/lighthouse.git")
    world.run()
    assert len(joins(world)) == 1
    world.run()
    assert len(joins(world)) == 1


def test_another_remote_in_the_same_place_is_another_project(world: World, folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    git(folder, "remote", "add", "origin", "git@github.com:sam/lighthouse.git")
    world.run()
    [before] = lighthouse(world, exclude=("lighthouse",))
    git(folder, "remote", "set-url", "origin", "git@github.com:ada/lamp.git")
    world.run()
    assert joins(world) == []
    request = ProjectsRequest(vault=str(world.vault), claude_dir=(str(world.claude),))
    [lamp] = [info for info in projects(request).projects if info.name == "lamp"]
    assert lamp.decision == "include" and lamp.id != before.id
