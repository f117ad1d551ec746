"""What a person rejected does not come back by itself, and its correction reaches the person."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.authority.laundry import journal_of, quiet, reject, say
from tests.ingest.conftest import World
from tests.sync.conftest import Fleet
from tests.sync.copier import GIT_CRLF, SYNCTHING, Tool
from vir_core.memory import current_gate
from vir_core.text import note_id
from vir_core.vault import open_vault, parse

TABS = "Always use tabs for indentation in this repository."
LIKE = "You must always use tabs when you do the indentation of this repository."
RULE = [
    (
        f"The diffs of the pantry repo are unreadable. {TABS}",
        "Understood.\n\nThe root cause of the noisy diffs was that the editor config was missing.",
    ),
    ("Great, that works. Commit it.", "Committed. The formatter now runs in the pre-commit hook."),
]
QUESTION = "tabs for indentation"


def restated(text: str) -> list[tuple[str, str]]:
    return [
        (
            "The nightly label printer of the shop prints nothing since Friday, find out why.",
            "The root cause was that the cron job reads the label sheet from a folder that was renamed.",
        ),
        (f"Great, that works. {text} Commit it.", "Committed. The printer works again."),
    ]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return quiet(World(tmp_path))


def lesson_with(world: World, note: str, words: str) -> str:
    parsed = parse(world.note(note).read_bytes())
    [found] = [one.block for one in parsed.lessons if words in one.text]
    return found


def served(world: World, question: str = QUESTION) -> list[str]:
    return [
        hit.snippet.replace("**", "") for hit in world.ask(question).hits if "tabs" in hit.snippet.replace("**", "")
    ]


def tell(world: World, name: str, turns: list[tuple[str, str]]) -> str:
    return note_id(say(world.claude, name, turns))


def rejected(world: World) -> str:
    """A note with the rule, of which the rule was rejected as wrong."""
    note = tell(world, "first", RULE)
    world.run()
    assert served(world), "the rule is served before it is rejected"
    reject(world.vault, note, lessons=[lesson_with(world, note, "tabs")])
    assert not served(world)
    return note


def test_the_same_statement_from_another_session_is_not_written(world: World) -> None:
    rejected(world)
    other = tell(world, "second", restated(TABS))
    reply = world.run()
    assert reply.refused == 1
    [note] = reply.written
    assert note.id == other
    body = world.note(other).read_text("utf-8")
    assert "cron job" in body, "the rest of the session is kept"
    assert "tabs" not in body.partition("> [!quote]")[0]
    assert not served(world)
    assert any("cron" in hit.snippet for hit in world.ask("label printer cron job").hits)


@pytest.mark.parametrize(
    "typed",
    [
        "ALWAYS  use tabs for indentation in this repository",
        "Always use `tabs` for **indentation** in this repository!",
        "Always use tabs for indentation in this repository.".replace("tabs", "ta\u200bbs"),
        "Always use ｔａｂｓ for indentation in this repository.",
    ],
)
def test_another_typing_of_the_statement_is_the_same_statement(world: World, typed: str) -> None:
    rejected(world)
    tell(world, "second", restated(typed))
    reply = world.run()
    assert not served(world)
    assert reply.refused or any(note.resembles for note in reply.written)
    # A statement that shares no words is written and served: the test would see something that came through.
    tell(world, "third", restated("Always cut cheese with the wire and never with a knife."))
    world.run()
    assert any("cheese" in hit.snippet for hit in world.ask("cut cheese").hits)


@pytest.mark.parametrize(
    "typed",
    [
        LIKE,
        "In this repository, for indentation, always use tabs please.",
        "Indentation here must always be done with tabs, in every file of this repository.",
    ],
)
def test_the_statement_in_other_words_waits_for_the_person(world: World, typed: str) -> None:
    first = rejected(world)
    other = tell(world, "second", restated(typed))
    [note] = world.run().written
    assert note.id == other
    assert note.resembles.startswith(f"{first}#l")
    assert "trust: Needs another look" in world.note(other).read_text("utf-8")
    assert not served(world)
    assert world.ask("label printer cron job").hits == (), "the note waits as a whole"


def test_a_correction_reaches_the_person_and_no_agent_before(world: World) -> None:
    first = rejected(world)
    other = tell(world, "second", restated("Never use tabs for indentation in this repository."))
    [note] = world.run().written
    assert note.id == other and note.resembles.startswith(first)
    assert "Never use tabs" in world.note(other).read_text("utf-8"), "the correction is written, not dropped"
    answer = world.ask(QUESTION)
    assert answer.hits == ()
    state = open_vault(world.vault).state
    gate, _ = current_gate(journal_of(open_vault(world.vault)), state / "gate")
    row = gate.row(other)
    assert row is not None and row.trust == "proposed"


def test_a_session_that_says_nothing_else_makes_no_note_and_is_read_again_when_its_cause_goes(world: World) -> None:
    note = tell(world, "first", RULE)
    world.run()
    reject(world.vault, note)
    copy = tell(world, "second", RULE)
    reply = world.run()
    assert reply.written == () and reply.skipped["refused"] == 1
    assert reply.refused == 2
    again = world.run()
    assert again.skipped["refused"] == 1 and again.run == ""
    assert not [path for path in world.vault.rglob("*.md") if f'"{copy}"' in path.read_text("utf-8")]


def test_not_useful_duplicate_and_out_of_date_keep_nothing_out(world: World) -> None:
    note = tell(world, "first", RULE)
    world.run()
    reject(world.vault, note, reason="not_useful")
    other = tell(world, "second", restated(TABS))
    [written] = world.run().written
    assert (written.id, written.resembles) == (other, "")
    assert served(world)


def test_a_note_that_came_first_loses_the_lesson_when_another_says_the_same(world: World) -> None:
    first, second = tell(world, "first", RULE), tell(world, "second", restated(TABS))
    world.run()
    assert len(served(world)) == 2
    reject(world.vault, first, lessons=[lesson_with(world, first, "tabs")])
    # At once, without a run: the same value is known to whoever reads the history.
    assert not served(world)
    assert any("cron" in hit.snippet for hit in world.ask("label printer cron job").hits)
    assert second in {hit.id for hit in world.ask("label printer cron job").hits}


def test_a_note_that_came_first_is_held_by_the_next_run_when_it_resembles(world: World) -> None:
    first = tell(world, "first", RULE)
    second = tell(world, "second", restated(LIKE))
    world.run()
    reject(world.vault, first, lessons=[lesson_with(world, first, "tabs")])
    assert len(served(world)) == 1
    reply = world.run()
    assert [held.id for held in reply.held] == [second]
    assert not served(world)
    tree = world.tree()
    assert world.run().held == ()
    assert world.tree() == tree, "compared once"


def test_comparing_again_without_its_cache_writes_nothing(world: World) -> None:
    rejected(world)
    tell(world, "second", restated(LIKE))
    world.run()
    tree = world.tree()
    (open_vault(world.vault).state / "compared").unlink()
    world.run()
    assert world.tree() == tree


def test_a_restored_backup_does_not_bring_it_back(world: World, tmp_path: Path) -> None:
    note = tell(world, "first", RULE)
    world.run()
    backup = tmp_path / "backup"
    shutil.copytree(world.vault, backup)
    reject(world.vault, note, lessons=[lesson_with(world, note, "tabs")])
    shutil.rmtree(world.vault)
    shutil.copytree(backup, world.vault)
    assert not served(world)
    tell(world, "second", restated(TABS))
    reply = world.run()
    assert reply.refused == 1 and not served(world)


def test_reading_everything_again_from_nothing_but_the_vault_does_not_bring_it_back(world: World) -> None:
    rejected(world)
    shutil.rmtree(world.state)
    tell(world, "second", restated(TABS))
    reply = world.run()
    assert reply.refused == 1 and not served(world)


@pytest.mark.parametrize("tool", [SYNCTHING, GIT_CRLF], ids=lambda tool: tool.name)
def test_devices_that_were_apart_agree(tmp_path: Path, rng: random.Random, tool: Tool) -> None:
    """One rejects; the other, offline, distils the same and something like it; then they meet."""
    fleet = Fleet(tmp_path, rng, tool)
    a, b = fleet["a"], fleet["b"]
    first = tell(a, "first", RULE)
    a.run()
    fleet.settle()
    same = tell(b, "second", restated(TABS))
    like = tell(b, "third", restated(LIKE))
    b.run()
    assert {same, like} <= b.found(QUESTION)
    with a.awake():
        reject(a.vault, first, lessons=[lesson_with(a, first, "tabs")])
    a.note_down()
    fleet.settle()
    for device in (a, b):
        device.run()
    fleet.settle()
    for device in (a, b):
        device.run()
        assert not [text for text in served(device) if "tabs" in text], device.name
        assert same in device.found("label printer cron job"), "what else the session said stays"
        assert like not in device.found("label printer cron job")
        trusts = device.trusts()
        assert (trusts[same], trusts[like]) == ("unreviewed", "proposed")
    fleet.settle()
    fleet.assert_agreed([QUESTION, "label printer cron job"])
    fleet.assert_nothing_lost()
