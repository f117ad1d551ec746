"""Files that are not what their names say, that may not be read or written, and what a kill leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.conftest import PROJECT, World
from vir_core.contract import DoctorRequest, JournalRequest
from vir_core.journal import JournalError
from vir_core.machine import StorageError
from vir_core.memory import Spool
from vir_core.text import note_id
from vir_core.transcripts.dialects import dialect_of
from vir_core.upkeep import doctor
from vir_core.upkeep import journal as look_after
from vir_core.verbs import explain

PLAIN = "83ac5aac-11a5-4bfc-9e19-5df183bfeade"
NOTE = note_id(f"claude:{PLAIN}")
ADDED = "The pool size must stay below 20 because pgbouncer drops the twenty-first connection."


@pytest.mark.parametrize("value", [[], {}, [["x"]], {"a": 1}, 7, None, True])
def test_a_type_that_is_no_word_costs_one_file_and_not_the_run(world: World, value: Any) -> None:
    line = {"type": value, "payload": {}, "sessionId": "x", "uuid": "y", "message": {"role": "user", "content": "hi"}}
    assert dialect_of(json.dumps(line).encode()) is None
    odd = world.claude / "-home-mira-src-odd"
    odd.mkdir()
    (odd / "odd.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    reply = world.run()
    assert reply.written and reply.skipped["not_a_session"] == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_named_like_a_note_is_not_waited_for(world: World) -> None:
    world.run()
    title = world.note(NOTE).stem
    pipe = world.note(NOTE)
    pipe.unlink()
    os.mkfifo(pipe)
    os.mkfifo(world.vault / "elsewhere.md")
    query = world.cli("query", title, "--vault", str(world.vault), "--json")
    assert NOTE not in {hit["id"] for hit in json.loads(query.stdout)["hits"]}
    looked = world.cli("doctor", "--vault", str(world.vault), "--json")
    assert json.loads(looked.stdout)["vault"]["removed"] == 1
    assert world.run().written == ()


@pytest.mark.parametrize("kind", ["folder", "circle"])
def test_something_else_in_the_place_of_a_note_costs_only_that_note(world: World, kind: str) -> None:
    world.run()
    path = world.note(NOTE)
    title = path.stem
    path.unlink()
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path.name)
    reply = world.ask(title, limit=20)
    assert NOTE not in {hit.id for hit in reply.hits}
    assert reply.excluded.get("absent") == 1


def _refused(path: str, code: int) -> StorageError:
    return StorageError.of(OSError(code, os.strerror(code), path), path)


def test_a_protected_note_fails_alone_and_is_written_when_the_protection_goes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    from vir_core.memory import spool

    world.run()
    path = world.note(NOTE)
    write = spool.write_atomic
    others = {row.name for row in path.parent.iterdir()}

    def guarded(target: Path, content: bytes, **kinds: Any) -> str:
        if target == path:
            raise _refused(str(target), errno.EACCES)
        return write(target, content, **kinds)

    monkeypatch.setattr(spool, "write_atomic", guarded)
    world.grow(PLAIN, "What is the limit of the pool?", ADDED)
    before = path.read_bytes()
    for _ in range(2):
        reply = world.run()
        assert [failure.path for failure in reply.failed] == [path.relative_to(world.vault).as_posix()]
        assert path.read_bytes() == before
    assert {row.name for row in path.parent.iterdir()} == others
    monkeypatch.setattr(spool, "write_atomic", write)
    assert world.run().failed == ()
    assert "pgbouncer" in path.read_text("utf-8")
    [state] = [folder for folder in world.state.iterdir() if folder.name.startswith("v") and folder.is_dir()]
    assert Spool(state).open() == []


def test_a_full_disk_still_ends_the_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    from vir_core.memory import spool

    world.run()
    world.grow(PLAIN, "What is the limit of the pool?", ADDED)

    def full(target: Path, content: bytes, **kinds: Any) -> str:
        raise _refused(str(target), errno.ENOSPC)

    monkeypatch.setattr(spool, "write_atomic", full)
    with pytest.raises(StorageError, match="disk is full"):
        world.run()


def test_a_registry_that_may_not_be_read_costs_no_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run()
    registry = world.state / "registry"
    registry.unlink()
    registry.mkdir()
    assert world.ask("why does the ingest worker hang").hits
    assert doctor(DoctorRequest(vault=str(world.vault))).vault


def test_what_no_room_foresaw_about_a_disk_is_still_said_as_that() -> None:
    told = explain(PermissionError(13, "Permission denied", "/x/y"))
    assert told.kind == "storage" and "/x/y" in told.message and told.hint


def _killed_run(world: World, delay: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "vir_core", *world.run_words("--json")],
        cwd=PROJECT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills differ here")
def test_temporary_files_of_a_killed_run_are_gone_after_the_next(world: World) -> None:
    world.run(limit=3)
    (world.vault / "vir" / "gotchas").mkdir(exist_ok=True)
    [state] = [folder for folder in world.state.iterdir() if folder.name.startswith("v") and folder.is_dir()]
    store = world.vault / "vir" / "store"
    shard = next(folder for folder in (store / "texts").iterdir() if folder.is_dir())
    left = [
        folder / ".vir-0123456789abcdef.tmp"
        for folder in (shard, world.vault / "vir" / "gotchas", state, state / "spool")
    ]
    # A living run empties its lock when it goes; a killed one leaves its name in it.
    (state / "locks" / "run.lock").write_text('{"verb":"run","pid":999999,"started":1.0}\n', "utf-8")
    for path in left:
        path.write_bytes(b"half")
    world.run()
    assert [path for path in left if path.exists()] == []


def test_a_run_that_ended_well_leaves_nothing_to_sweep_for(world: World) -> None:
    world.run()
    [state] = [folder for folder in world.state.iterdir() if folder.name.startswith("v") and folder.is_dir()]
    assert (state / "locks" / "run.lock").stat().st_size == 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills differ here")
def test_whatever_the_moment_of_a_kill_the_next_run_completes(tmp_path: Path, rng: Any) -> None:
    (tmp_path / "whole").mkdir()
    whole = World(tmp_path / "whole")
    ids = {note.id for note in whole.run().written}
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()
        world = World(folder)
        for _ in range(rng.randint(1, 3)):
            _killed_run(world, rng.uniform(0.05, 1.5))
        world.run()
        tree = world.tree()
        notes = [json.loads(line)["subject"] for line in _lines(world) if b'"note_written"' in line]
        assert set(notes) == ids
        assert len({world.note(id) for id in ids}) == len(ids)
        assert list(world.vault.rglob("*.tmp")) == []
        assert world.run().written == () and world.tree() == tree


def _lines(world: World) -> list[bytes]:
    return [
        line
        for path in sorted((world.vault / "vir" / "store" / "journal").rglob("*.jsonl"))
        for line in path.read_bytes().splitlines()
    ]


@pytest.mark.parametrize("how", ["deleted", "cut", "all gone"])
def test_history_that_the_vault_lost_is_back_after_a_run_with_nothing_new(world: World, how: str) -> None:
    import shutil

    world.run()
    lines = set(_lines(world))
    journal = world.vault / "vir" / "store" / "journal"
    [segment] = journal.rglob("*.jsonl")
    if how == "deleted":
        segment.unlink()
    elif how == "cut":
        segment.write_bytes(segment.read_bytes()[: segment.stat().st_size // 2])
    else:
        shutil.rmtree(journal)
    assert any("history" in problem.what for problem in doctor(DoctorRequest(vault=str(world.vault))).problems)
    if how != "cut":
        # All of it gone at once proves nothing: the vault may be half here. A person says so with `journal heal`.
        with pytest.raises(JournalError):
            world.run()
        assert not _lines(world)
        look_after(JournalRequest(vault=str(world.vault), action="heal"))
    assert world.run().written == ()
    assert lines <= set(_lines(world))
    assert not [p for p in doctor(DoctorRequest(vault=str(world.vault))).problems if "missing" in p.what]
    tree = world.tree()
    assert world.run().written == () and world.tree() == tree
