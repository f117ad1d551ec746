"""A session that somebody is at waits, and comes back by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.ingest.conftest import World
from vir_core.contract import RunRequest, SessionsRequest
from vir_core.ingest import sessions
from vir_core.ingest.selection import RunPlan, plan_run
from vir_core.ingest.sources import find_sources, read_sources
from vir_core.memory import Memory, observe
from vir_core.transcripts import Project, SessionFacts
from vir_core.vault import SeenTable, open_vault, walk

SESSION = "8ccdf090-6c9a-478d-b9b3-124cfff2449e"
KEY = f"claude:{SESSION}"


def minutes_ago(minutes: float) -> datetime:
    return datetime.now(UTC) - timedelta(minutes=minutes)


def planned(world: World, now: datetime) -> RunPlan:
    def project(facts: SessionFacts) -> Project:
        return Project(facts.cwd, facts.cwd, facts.cwd)

    request = RunRequest(claude_dir=(str(world.claude),), codex_dir=(str(world.codex),))
    sources = read_sources(find_sources(request))
    empty = observe(Memory(), walk(open_vault(world.vault), SeenTable()), {})
    return plan_run(sources.lineage, Memory(), empty, request, project=project, device="d", now=now)


def state_of(world: World) -> tuple[str, str]:
    rows = sessions(SessionsRequest(vault=str(world.vault), claude_dir=(str(world.claude),))).sessions
    [row] = [row for row in rows if row.session == SESSION]
    return row.state, row.reason


def test_the_examples_are_at_rest(world: World) -> None:
    assert "active" not in world.run().skipped


def test_a_session_that_goes_on_waits_and_is_counted(world: World) -> None:
    world.grow(SESSION, "and the other worker?", "It hangs the same way.", minutes_ago(2))
    reply = world.run()
    assert reply.skipped["active"] == 1 and KEY not in {note.session for note in reply.written}
    assert state_of(world) == ("skipped", "active")
    asked = world.run(session=(SESSION,))
    assert [note.session for note in asked.written] == [KEY] and "active" not in asked.skipped
    assert state_of(world) == ("noted", "")
    assert world.run().skipped.get("active", 0) == 0


def test_it_comes_back_when_it_has_rested_ten_minutes(world: World) -> None:
    ended = minutes_ago(2)
    world.grow(SESSION, "and the other worker?", "It hangs the same way.", ended)

    def taken(after: timedelta) -> bool:
        plan = planned(world, ended + after)
        assert plan.skipped.get("active", 0) == (KEY not in {one.key for one in plan.take})
        return KEY in {one.key for one in plan.take}

    assert not taken(timedelta(minutes=1))
    assert not taken(timedelta(minutes=9, seconds=50))
    assert taken(timedelta(minutes=10, seconds=10))


def test_the_time_of_the_record_counts_not_that_of_the_file(world: World) -> None:
    world.grow(SESSION, "and the other worker?", "It hangs the same way.", minutes_ago(11))
    reply = world.run()
    assert "active" not in reply.skipped and KEY in {note.session for note in reply.written}


def test_a_note_that_exists_stays_while_its_session_goes_on(world: World) -> None:
    world.run()
    before = world.tree()
    world.grow(SESSION, "and the other worker?", "It hangs because the pool is never closed.", minutes_ago(1))
    reply = world.run()
    assert reply.skipped["active"] == 1 and world.tree() == before
    assert state_of(world) == ("skipped", "active")


def test_a_record_from_a_clock_far_ahead_does_not_make_it_wait_for_ever(world: World) -> None:
    world.grow(SESSION, "and the other worker?", "It hangs the same way.", minutes_ago(-60))
    assert KEY in {note.session for note in world.run().written}
