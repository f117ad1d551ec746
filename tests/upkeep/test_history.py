"""The life of one thing, as it is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ingest.conftest import World
from vir_core import __version__
from vir_core.contract import HistoryRequest, RequestError, RunsRequest
from vir_core.journal import Draft, Journal
from vir_core.memory import Memory, Rejected
from vir_core.text import note_id
from vir_core.upkeep import history, runs
from vir_core.vault import adopt, open_vault

PLAIN = "83ac5aac-11a5-4bfc-9e19-5df183bfeade"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_note_is_told_from_its_first_words_to_its_last_verdict(world: World) -> None:
    world.run(session=(PLAIN,))
    world.grow(
        PLAIN, "What is the limit?", "The pool must stay below 20 because pgbouncer drops the twenty-first connection."
    )
    world.run(session=(PLAIN,))
    id = note_id(f"claude:{PLAIN}")
    vault = open_vault(world.vault)
    journal = Journal(vault.store, vault.state, vault=vault.id, device=adopt(vault).device, core=__version__)
    with journal.writing("test", Memory) as writer:
        writer.append([Draft("rejected", id, Rejected(reason="wrong"), must=True)], kind="person", surface="test")
    reply = history(HistoryRequest(vault=str(world.vault), id=id))
    written = [entry for entry in reply.entries if entry.action == "note_written"]
    assert [entry.action for entry in reply.entries][-1] == "rejected"
    assert len(written) == 2 and written[1].before == written[0].after != written[1].after
    assert "pgbouncer" in written[1].text and "pgbouncer" not in written[0].text
    assert written[0].title and written[0].by == "vir"
    assert (reply.type, reply.trust) == ("note", "suspended")
    assert reply.entries[-1].words == "You rejected it (wrong)."


def test_a_session_a_run_and_a_lesson_have_a_life_too(world: World) -> None:
    reply = world.run(session=(PLAIN,))
    session = history(HistoryRequest(vault=str(world.vault), id=f"claude:{PLAIN}"))
    assert {entry.action for entry in session.entries} >= {"session_settled", "note_written"}
    run = history(HistoryRequest(vault=str(world.vault), id=reply.run))
    assert {entry.action for entry in run.entries} >= {"note_written", "run_finished"}
    [written] = [line for line in world.lines() if line["action"] == "note_written"]
    lesson = written["data"]["lessons"][0]["id"]
    assert [entry.subject for entry in history(HistoryRequest(vault=str(world.vault), id=lesson)).entries] == [
        reply.written[0].id
    ]


def test_what_nobody_ever_wrote_down_is_a_clear_refusal(world: World) -> None:
    world.run(limit=1)
    with pytest.raises(RequestError):
        history(HistoryRequest(vault=str(world.vault), id="n000000000000000"))


def test_a_person_reads_it_as_a_page_without_inner_words(world: World) -> None:
    first = world.run(limit=1)
    runs(RunsRequest(vault=str(world.vault), undo=first.run))
    answer = world.cli("history", first.written[0].id, "--vault", str(world.vault))
    assert answer.returncode == 0, answer.stderr
    assert "wrote the note from session" in answer.stdout and "took back the run" in answer.stdout
    assert "Now: Put away." in answer.stdout
    assert not {"journal", "digest", "tombstone", "shard", "provenance"} & set(answer.stdout.casefold().split())


def test_asking_writes_nothing(world: World) -> None:
    first = world.run(limit=1)
    tree = world.tree()
    answer = json.loads(world.cli("history", first.written[0].id, "--vault", str(world.vault), "--json").stdout)
    assert answer["entries"] and world.tree() == tree
