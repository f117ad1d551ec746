"""Runs that die or meet. Real processes, killed where the clock happens to be."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ingest.conftest import PROJECT, World
from vir_core.memory import Spool
from vir_core.vault import open_vault


def started(world: World) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "vir_core", *world.run_words("--json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=PROJECT,
    )


def assert_whole(world: World, noted: set[str]) -> None:
    """What an undisturbed run leaves: one file for each session worth keeping, no leftovers, answers."""
    sessions = [line["data"]["session"] for line in world.lines() if line["action"] == "note_written"]
    assert sorted(sessions) == sorted(noted)
    files = list((world.vault / "vir").rglob("*.md"))
    assert len(files) == len(noted)
    ids = {line["subject"] for line in world.lines() if line["action"] == "note_written"}
    for id in ids:
        text = world.note(id).read_text("utf-8")
        assert text.startswith("---\n") and "## Summary" in text
    assert Spool(open_vault(world.vault).state).open() == []
    assert not list(world.vault.rglob(".vir-*"))
    answer = world.ask("ingest worker pool")
    assert answer.hits and answer.degraded is None


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_run_stopped_anywhere_is_completed_by_the_next(
    tmp_path: Path, noted: set[str], scaled: Callable[[int], int], rng: random.Random, stop: signal.Signals
) -> None:
    for number in range(scaled(60)):
        folder = tmp_path / str(number)
        folder.mkdir()
        os.environ["VIR_STATE_DIR"] = str(folder / "state")
        world = World(folder)
        for _ in range(3):
            process = started(world)
            wait_for_the_first_line(world, process, rng)
            process.send_signal(stop)
            process.communicate(timeout=60)
        for path in world.vault.rglob(".vir-*"):
            os.utime(path, (time.time() - 7200, time.time() - 7200))
        reply = world.run()
        assert reply.failed == ()
        assert_whole(world, noted)
        tree = world.tree()
        assert world.run().written == () and world.tree() == tree


def wait_for_the_first_line(world: World, process: subprocess.Popen[bytes], rng: random.Random) -> None:
    """Waits until writing began or a random moment passed, whichever is later, so that most kills fall into the writing."""
    texts = world.vault / "vir" / "store" / "texts"
    deadline = time.monotonic() + 30
    while process.poll() is None and not texts.exists() and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(rng.random() * 0.15)


def test_a_promise_of_a_dead_run_is_kept_by_the_next(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies between the line and the file: the note must appear, not look deleted."""
    import vir_core.ingest.writing as writing

    real = writing.keep

    def dies(*args: object, **kwargs: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(writing, "keep", dies)
    with pytest.raises(KeyboardInterrupt):
        world.run(limit=3)
    promised = [line["subject"] for line in world.lines() if line["action"] == "note_written"]
    assert len(promised) == 3 and not list((world.vault / "vir").rglob("*.md"))
    monkeypatch.setattr(writing, "keep", real)
    world.run()
    for id in promised:
        assert world.note(id).is_file()


def test_a_note_deleted_after_a_dead_run_was_completed_stays_deleted(world: World) -> None:
    world.run(limit=1)
    [id] = [line["subject"] for line in world.lines() if line["action"] == "note_written"]
    world.note(id).unlink()
    world.run()
    assert not [path for path in world.vault.rglob("*.md") if id in path.read_text("utf-8")]


def test_a_second_run_at_once_is_told_who_is_at_work(world: World) -> None:
    from vir_core.machine import hold

    state = open_vault(world.vault).state
    with hold(state / "locks" / "run.lock", "run"):
        answer = world.cli(*world.run_words("--json"))
    error = json.loads(answer.stdout)["error"]
    assert answer.returncode == 1 and error["kind"] == "busy"
    assert str(os.getpid()) in error["message"] and "run" in error["message"]
    assert json.loads(world.cli(*world.run_words("--json")).stdout)["written"]


def test_two_runs_started_together_write_every_note_once(world: World, noted: set[str]) -> None:
    both = [started(world), started(world)]
    replies = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    world.run()
    assert_whole(world, noted)
    for reply in replies:
        assert "written" in reply or reply["error"]["kind"] == "busy"
