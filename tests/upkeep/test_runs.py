"""Listing runs, and taking one back without touching what a person made of its notes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.conftest import World
from vir_core import __version__
from vir_core.contract import RequestError, RunsReply, RunsRequest
from vir_core.journal import Draft, Journal
from vir_core.memory import Memory, Promise, Rejected, Spool
from vir_core.upkeep import runs
from vir_core.vault import NoVault, adopt, open_vault

ARCHIVED = "vir/store/archived/"


def listed(world: World) -> RunsReply:
    return runs(RunsRequest(vault=str(world.vault)))


def undo(world: World, run: str) -> RunsReply:
    return runs(RunsRequest(vault=str(world.vault), undo=run))


def test_runs_are_listed_newest_first_and_only_when_they_wrote(world: World) -> None:
    assert listed(world).runs == ()
    first = world.run(limit=3)
    second = world.run(limit=2)
    assert world.run(limit=0).run == ""
    reply = listed(world)
    assert [(run.id, run.written, run.undone, run.here) for run in reply.runs] == [
        (second.run, len(second.written), 0, True),
        (first.run, len(first.written), 0, True),
    ]
    assert reply.runs[0].at > reply.runs[1].at
    assert (reply.vault, reply.folder) == (str(world.vault), "vir")
    tree = world.tree()
    listed(world)
    assert world.tree() == tree


def test_undo_moves_what_nobody_touched_and_answers_stop(world: World) -> None:
    reply = world.run()
    note = reply.written[0]
    words = (world.vault / note.path).read_bytes()
    assert note.id in {hit.id for hit in world.ask(note.title, limit=30).hits}
    undone = undo(world, reply.run)
    assert len(undone.undone) == len(reply.written) and undone.kept == undone.failed == ()
    assert all(path.startswith(ARCHIVED) for path in undone.undone)
    assert not [path for path in (world.vault / "vir").rglob("*.md") if "archived" not in path.parts]
    assert (world.vault / ARCHIVED / Path(note.path).name).read_bytes() == words
    assert world.ask(note.title, limit=30).hits == ()
    [info] = listed(world).runs
    assert (info.written, info.undone) == (len(reply.written), len(reply.written))


def test_undo_keeps_what_a_person_edited_linked_judged_copied_or_removed(world: World) -> None:
    reply = world.run()
    edited, linked, pathed, judged, copied, removed, properties, moved = reply.written[:8]
    at = {note.id: world.vault / note.path for note in reply.written}
    at[edited.id].write_text(at[edited.id].read_text("utf-8") + "\nMine.\n", "utf-8")
    daily = world.vault / "Daily.md"
    daily.write_text(
        f"See [[{at[linked.id].stem}|this]] and [that](vir/{pathed.path.split('/', 1)[1].replace(' ', '%20')}).\n",
        "utf-8",
    )
    copy = at[copied.id].with_name("Copy.md")
    copy.write_bytes(at[copied.id].read_bytes())
    at[removed.id].unlink()
    text = at[properties.id].read_text("utf-8").replace("---\n", "---\nmine: 1\n", 1)
    at[properties.id].write_text(text, "utf-8")
    elsewhere = world.vault / "Mine" / "Own name.md"
    elsewhere.parent.mkdir()
    at[moved.id].rename(elsewhere)
    vault = open_vault(world.vault)
    journal = Journal(vault.store, vault.state, vault=vault.id, device=adopt(vault).device, core=__version__)
    with journal.writing("test", Memory) as writer:
        act = Rejected(reason="wrong")
        writer.append([Draft("rejected", judged.id, act, must=True)], kind="person", surface="test")
    undone = undo(world, reply.run)
    assert {kept.id: kept.reason for kept in undone.kept} == {
        edited.id: "edited",
        linked.id: "linked",
        pathed.id: "linked",
        judged.id: "judged",
        copied.id: "edited",
        removed.id: "removed",
    }
    for note in (edited, linked, pathed, judged, copied):
        assert at[note.id].is_file()
    assert copy.is_file() and not at[removed.id].exists()
    assert len(undone.undone) == len(reply.written) - 6
    assert not elsewhere.exists() and f"{ARCHIVED}Own name.md" in undone.undone
    assert {kept.session for kept in undone.kept} <= {note.session for note in reply.written}


def test_an_undone_session_is_not_written_again_unless_it_is_asked_for(world: World) -> None:
    reply = world.run()
    note = next(one for one in reply.written if "83ac5aac" in one.session)
    undo(world, reply.run)
    tree = world.tree()
    assert world.run().written == () and world.tree() == tree
    world.grow(
        "83ac5aac-11a5-4bfc-9e19-5df183bfeade",
        "What is the limit?",
        "The pool must stay below 20 because pgbouncer drops the twenty-first connection.",
    )
    again = world.run()
    assert [(kept.id, kept.reason) for kept in again.kept] == [(note.id, "undone")] and world.tree() == tree
    forced = world.run(session=(note.session,))
    assert [one.id for one in forced.written] == [note.id]
    assert (world.vault / forced.written[0].path).is_file()
    assert note.id in {hit.id for hit in world.ask("pgbouncer connection").hits}
    assert world.run().written == ()


def test_undo_twice_changes_nothing_more(world: World) -> None:
    reply = world.run(limit=4)
    assert len(undo(world, reply.run).undone) == len(reply.written)
    tree = world.tree()
    again = undo(world, reply.run)
    assert (again.undone, again.kept, again.failed) == ((), (), ())
    assert world.tree() == tree


def test_undo_takes_back_only_its_own_run(world: World) -> None:
    first, second = world.run(limit=3), world.run(limit=3)
    undo(world, first.run)
    for note in second.written:
        assert (world.vault / note.path).is_file()
    assert {run.id: run.undone for run in listed(world).runs} == {first.run: len(first.written), second.run: 0}


def test_a_note_that_a_later_run_wrote_again_is_that_runs(world: World) -> None:
    first = world.run()
    world.grow(
        "83ac5aac-11a5-4bfc-9e19-5df183bfeade",
        "What is the limit?",
        "The pool must stay below 20 because pgbouncer drops the twenty-first connection.",
    )
    second = world.run()
    [again] = second.written
    undone = undo(world, first.run)
    assert len(undone.undone) == len(first.written) - 1
    assert (world.vault / again.path).is_file()
    assert undo(world, second.run).undone == (ARCHIVED + Path(again.path).name,)


def test_two_notes_of_one_name_both_keep_a_place(world: World) -> None:
    reply = world.run()
    note = reply.written[0]
    taken = world.vault / ARCHIVED / Path(note.path).name
    taken.parent.mkdir(parents=True)
    taken.write_text("mine")
    undone = undo(world, reply.run)
    assert taken.read_text() == "mine" and len(set(undone.undone)) == len(reply.written)
    assert all((world.vault / path).is_file() for path in undone.undone)


def test_an_unknown_run_is_refused_and_changes_nothing(world: World) -> None:
    reply = world.run(limit=2)
    tree = world.tree()
    for wrong in ("r000000000000000", reply.run[:-1], "undo", "../x", "\0"):
        with pytest.raises(RequestError) as refused:
            undo(world, wrong)
        assert "runs" in refused.value.hint
    assert world.tree() == tree
    with pytest.raises(NoVault):
        runs(RunsRequest(vault=str(world.vault.parent / "nowhere")))


def test_undo_right_after_a_run_that_died_takes_its_last_note_too(world: World) -> None:
    reply = world.run(limit=3)
    note = reply.written[0]
    path = world.vault / note.path
    [line] = [one for one in world.lines() if one["action"] == "note_written" and one["subject"] == note.id]
    # As if the process had died between the line and the file.
    promise = Promise(kind="write", note=note.id, path=note.path, line=line["data"]["text"], content=path.read_bytes())
    Spool(open_vault(world.vault).state).promise(promise)
    path.unlink()
    undone = undo(world, reply.run)
    assert undone.kept == () and len(undone.undone) == len(reply.written)
    assert not path.exists() and Spool(open_vault(world.vault).state).open() == []


def test_undo_that_died_before_the_move_is_finished_by_the_next_run(world: World) -> None:
    reply = world.run(limit=3)
    note = reply.written[0]
    path, state = world.vault / note.path, open_vault(world.vault).state
    content = path.read_bytes()
    undo(world, reply.run)
    archived = world.vault / ARCHIVED / path.name
    archived.rename(path)
    import hashlib

    promise = Promise(
        kind="move",
        note=note.id,
        path=ARCHIVED + path.name,
        line=reply.run,
        expected=hashlib.sha256(content).hexdigest(),
        source=note.path,
    )
    Spool(state).promise(promise)
    assert world.ask(note.title).hits == ()
    world.run(limit=0)
    assert archived.read_bytes() == content and not path.exists() and Spool(state).open() == []


def test_the_json_of_an_undo(world: World) -> None:
    reply = world.run(limit=1)
    done = world.cli("runs", "undo", reply.run, "--vault", str(world.vault), "--json")
    value: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == 0 and value["undone"] and value["runs"] == []
