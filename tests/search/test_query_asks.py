"""`query` over a real vault: by id, with filters, within a budget, on record."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.conftest import World
from vir_core.contract import DoctorRequest, RequestError
from vir_core.memory import read_asked
from vir_core.search.reader import reader_of
from vir_core.upkeep import doctor
from vir_core.vault import open_vault

QUESTION = "why does the ingest worker hang"
NOTE = "n95535f35c3f77d3"
BROAD = "test"
"""Notes of several projects and days speak of it."""


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.run()
    return made


def test_an_id_finds_its_note_and_a_lessons_id_its_lesson(world: World) -> None:
    [hit] = world.ask(NOTE).hits
    assert hit.id == NOTE and hit.block == ""
    best = world.ask(QUESTION).hits[0]
    [lesson] = world.ask(f"  {best.block}\n").hits
    assert (lesson.id, lesson.block) == (best.id, best.block)
    assert world.ask(NOTE, category=("tool",), since="2126-01-01").hits[0].id == NOTE
    assert world.ask("n00000000000dead").hits == world.ask("l0000000dead").hits == ()


def test_an_id_of_what_is_not_there_says_so(world: World) -> None:
    assert world.ask(NOTE).hits
    (world.vault / world.note(NOTE)).unlink()
    reply = world.ask(NOTE)
    assert reply.hits == () and reply.excluded == {"absent": 1}


def test_full_gives_the_notes_own_words_within_the_budget(world: World) -> None:
    short = world.ask(QUESTION)
    assert short.hits and not any(hit.text for hit in short.hits) and short.truncated == 0
    full = world.ask(QUESTION, full=True, budget=0, limit=1).hits[0]
    body = world.note(full.id).read_text("utf-8")
    assert full.text.count("\n\n") >= 2 and len(full.text) > len(full.snippet)
    assert "Evidence" not in full.text and "vir_id" not in full.text
    assert full.text.split()[0] in body
    broad = world.ask(BROAD, limit=20, full=True, budget=0)
    assert len(broad.hits) > 8 and all(hit.text for hit in broad.hits)
    cut = world.ask(BROAD, limit=20, full=True, budget=600)
    assert cut.truncated and len(cut.hits) > 1
    assert [hit.id for hit in cut.hits] == [hit.id for hit in broad.hits][: len(cut.hits)]


def test_since_takes_a_day_or_a_length_of_time(world: World) -> None:
    every = world.ask(BROAD, limit=50, budget=0).hits
    day = sorted(hit.date for hit in every)[len(every) // 2]
    later = world.ask(BROAD, limit=50, budget=0, since=day).hits
    assert {hit.id for hit in later} == {hit.id for hit in every if hit.date >= day}
    assert 0 < len(later) < len(every)
    assert world.ask(QUESTION, since="999999d").hits == world.ask(QUESTION).hits
    for wrong in ("yesterday", "2026-13-01", "-3d", "30x"):
        with pytest.raises(RequestError):
            world.ask(QUESTION, since=wrong)


def test_trust_filters_by_what_holds_now(world: World) -> None:
    assert world.ask(QUESTION, trust=("unreviewed",)).hits == world.ask(QUESTION).hits
    assert world.ask(QUESTION, trust=("verified",)).hits == ()
    assert world.ask(QUESTION, trust=("verified", "edited")).excluded == {}


def test_scope_is_a_wall_that_arguments_cannot_widen(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    every = world.ask(BROAD, limit=50, budget=0).hits
    best = world.ask(QUESTION).hits[0]
    other = next(hit for hit in every if hit.project != best.project)
    own = _project_id(world, best.id)
    monkeypatch.setenv("VIR_SCOPE", f"project:{own}")
    inside = world.ask(BROAD, limit=50, budget=0).hits
    assert {hit.id for hit in inside} == {hit.id for hit in every if hit.project == best.project}
    assert world.ask(best.id).hits and world.ask(other.id).hits == () == world.ask(other.block or other.id).hits
    both = world.ask(BROAD, project=(own, _project_id(world, other.id)), limit=50, budget=0)
    assert {hit.project for hit in both.hits} == {best.project} and both.excluded == {}
    with pytest.raises(RequestError, match="No note belongs") as refused:
        world.ask(BROAD, project=(other.project,))
    assert other.project not in refused.value.hint
    monkeypatch.setenv("VIR_SCOPE", "project:p00000000000dead")
    hidden = world.ask(QUESTION)
    assert hidden.hits == () and hidden.excluded == {} and world.ask(best.id).hits == ()
    for wrong in ("tidepool", "project:tidepool", "folder:x", "project:"):
        monkeypatch.setenv("VIR_SCOPE", wrong)
        with pytest.raises(RequestError, match="names no project"):
            world.ask(QUESTION)


def test_questions_are_on_record_with_who_asked(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    state = open_vault(world.vault).state
    repository = tmp_path / "api-server"
    (repository / ".git").mkdir(parents=True)
    (repository / "src").mkdir()
    monkeypatch.chdir(repository / "src")
    found = world.ask(QUESTION)
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "3f2a")
    world.ask("banana helicopter")
    world.ask(QUESTION, caller="codex:77")
    first, second, third = read_asked(state)
    assert (first.text, first.verb, first.surface) == (QUESTION, "query", "cli")
    assert first.notes == tuple(hit.id for hit in found.hits) and first.where == "api-server"
    assert (first.session, first.agent) == ("", "")
    assert (second.session, second.agent, second.notes) == ("claude:3f2a", "claude", ())
    assert (third.session, third.agent) == ("codex:77", "codex")


def test_the_record_can_be_off_and_is_never_in_the_vault(world: World) -> None:
    config = world.vault / "vir" / "store" / "config.yaml"
    config.write_text(config.read_text("utf-8") + "queries: off\n", "utf-8")
    before = world.tree()
    assert world.ask(QUESTION).hits
    assert read_asked(open_vault(world.vault).state) == [] and world.tree() == before


def test_a_record_that_cannot_be_written_costs_no_answer(world: World) -> None:
    state = open_vault(world.vault).state
    expected = [hit.id for hit in world.ask(QUESTION).hits]
    (state / "queries.jsonl").unlink()
    (state / "queries.jsonl").mkdir()
    assert [hit.id for hit in world.ask(QUESTION).hits] == expected
    told = doctor(DoctorRequest(vault=str(world.vault))).problems
    assert any("not recorded" in problem.what for problem in told)
    (state / "queries.jsonl").rmdir()
    world.ask(QUESTION)
    assert not any("recorded" in one.what for one in doctor(DoctorRequest(vault=str(world.vault))).problems)


def _project_id(world: World, note: str) -> str:
    row = reader_of(open_vault(world.vault)).gate().row(note)
    assert row is not None
    return row.project
