"""Notes, history and texts that arrive one before the other: what is not whole waits, and comes when the rest does."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sync.conftest import PLAIN, Fleet
from tests.sync.copier import (
    OBSIDIAN_NOTES_ONLY,
    ORDERS,
    SYNCTHING,
    TOOLS,
    Tool,
    snapshot,
)
from vir_core.contract import Problem
from vir_core.text import note_id
from vir_core.vault import NoVault, parse

NOTE = note_id(f"claude:{PLAIN}")
QUESTION = "ingest worker pool connection"


def words(problem: Problem) -> str:
    return f"{problem.what} {problem.why} {problem.fix}"


def is_note(path: str) -> bool:
    return path.endswith(".md")


def is_history(path: str) -> bool:
    return "/journal/" in path


def is_text(path: str) -> bool:
    return "/texts/" in path


def is_config(path: str) -> bool:
    return path.endswith("config.yaml")


@pytest.fixture
def fleet(tmp_path: Path, dice: random.Random) -> Fleet:
    """Device a has written its notes; the copier took them, and gave b only the config."""
    fleet = Fleet(tmp_path, dice, SYNCTHING)
    fleet["a"].learn()
    assert fleet["a"].run().written
    fleet.copier.take("a")
    fleet.copier.deliver("b", is_config)
    return fleet


def test_notes_whose_history_has_not_arrived_wait(fleet: Fleet) -> None:
    a, b = fleet["a"], fleet["b"]
    ids = {line.subject for line in a.known().values() if line.action == "note_written"}
    fleet.copier.deliver("b", is_note)
    b.learn()
    notes = b.files()
    assert b.run().written == () and b.files() == notes  # one session held nothing durable; nobody had said so here
    tree = b.tree()
    for _ in range(2):
        reply = b.run()
        assert (reply.written, reply.run, reply.failed) == ((), "", ())
        assert {kept.id for kept in reply.kept} == ids and {kept.reason for kept in reply.kept} == {"waiting"}
        assert b.tree() == tree
    assert b.found(QUESTION) == set()
    report = b.doctor()
    [problem] = [one for one in report.problems if "history of another device" in one.why]
    assert problem.what == f"{len(ids)} notes are not found when you ask."
    assert not [one for one in report.problems if "forged" in words(one) or "another tool" in words(one)]
    b.grow(PLAIN, "And the limit?", "The pool must stay below 20 because pgbouncer drops the twenty-first.")
    assert b.run().written == () and b.tree() == tree
    forced = b.run(session=(PLAIN,))
    assert forced.written == () and [kept.reason for kept in forced.kept] == ["waiting"] and b.tree() == tree

    fleet.copier.deliver("b", is_history)
    fleet.copier.deliver("b", is_text)
    arrived = b.tree()
    reply = b.run()
    assert reply.written == () and {kept.reason for kept in reply.kept} == {"elsewhere"}
    assert reply.unchanged == len(ids) - 1
    assert b.tree() == arrived
    assert b.doctor().problems == ()
    assert b.found(QUESTION) == a.found(QUESTION) != set()
    fleet.settle()
    fleet.assert_nothing_lost()


def test_history_whose_notes_have_not_arrived_writes_none_of_them(fleet: Fleet) -> None:
    a, b = fleet["a"], fleet["b"]
    fleet.copier.deliver("b", is_history)
    fleet.copier.deliver("b", is_text)
    b.learn()
    tree = b.tree()
    reply = b.run()
    assert reply.written == () and reply.unchanged == len(a.trusts()) and b.tree() == tree
    b.grow(PLAIN, "And the limit?", "The pool must stay below 20 because pgbouncer drops the twenty-first.")
    reply = b.run()
    assert [(kept.id, kept.reason) for kept in reply.kept] == [(NOTE, "removed")] and b.tree() == tree
    assert b.found(QUESTION) == set()
    fleet.copier.deliver("b", is_note)
    assert b.run().written == ()
    assert b.found(QUESTION) == a.found(QUESTION) != set()


def test_a_note_whose_text_is_late_is_served_when_it_comes(fleet: Fleet) -> None:
    a, b = fleet["a"], fleet["b"]
    fleet.copier.deliver("b", lambda path: not is_text(path))
    assert b.run().written == ()
    assert b.found(QUESTION) == set()
    assert any("texts have not arrived" in one.why for one in b.doctor().problems)
    fleet.copier.deliver("b", is_text)
    b.run()
    assert b.found(QUESTION) == a.found(QUESTION) != set()
    assert b.doctor().problems == ()


def test_a_late_text_is_served_also_when_the_run_before_it_wrote_notes(fleet: Fleet) -> None:
    """That run looks at the vault a second time, after writing."""
    a, b = fleet["a"], fleet["b"]
    fleet.copier.deliver("b", lambda path: not is_text(path))
    b.learn("2dd51c63-efb1-40c4-9f90-40c697b39b5b")
    b.grow(
        "2dd51c63-efb1-40c4-9f90-40c697b39b5b",
        "Why is the export slow, and what do we do about it?",
        "The root cause is that the exporter opens one connection per row because the pool is disabled in the config.",
    )
    assert len(b.run().written) == 1
    assert b.found(QUESTION) & set(a.trusts()) == set()
    fleet.copier.deliver("b", is_text)
    b.run()
    assert b.found(QUESTION) >= a.found(QUESTION) != set()


@pytest.mark.parametrize("kind", ["empty", "part"])
def test_a_text_of_which_only_a_piece_is_here_is_late(fleet: Fleet, kind: str) -> None:
    a, b = fleet["a"], fleet["b"]
    fleet.copier.deliver("b", lambda path: True)
    for path in list(snapshot(b.vault)):
        if is_text(path):
            fleet.copier.hold_back("b", path, stub="empty" if kind == "empty" else "", keep=20)
    b.run()
    assert b.found(QUESTION) == set()
    fleet.settle()
    b.run()
    assert b.found(QUESTION) == a.found(QUESTION) != set()


@pytest.mark.parametrize("keep", [1, 40, 400, 4000])
def test_a_history_that_ends_in_the_middle_of_a_line_goes_on(fleet: Fleet, keep: int) -> None:
    a, b = fleet["a"], fleet["b"]
    fleet.copier.deliver("b", lambda path: True)
    [segment] = [path for path in snapshot(b.vault) if is_history(path)]
    fleet.copier.hold_back("b", segment, keep=keep)
    notes = b.files()
    b.learn()
    reply = b.run()
    assert reply.written == () and b.files() == notes
    fleet.settle()
    reply = b.run()
    assert reply.written == () and reply.kept == () and b.files() == notes
    assert b.found(QUESTION) == a.found(QUESTION) != set()
    fleet.settle()
    fleet.assert_nothing_lost()


@pytest.mark.parametrize("stub", ["icloud", "empty"])
def test_a_history_in_the_cloud_is_not_here_yet_and_no_loss(fleet: Fleet, stub: str) -> None:
    """The device had it, and the tool gave the room to something else."""
    b = fleet["b"]
    fleet.copier.deliver("b", lambda path: True)
    b.run()
    found = b.found(QUESTION)
    [segment] = [path for path in snapshot(b.vault) if is_history(path)]
    fleet.copier.hold_back("b", segment, stub=stub)
    assert b.found(QUESTION) == found != set()
    b.learn()
    tree = b.tree()
    reply = b.run()
    assert (reply.written, reply.kept) == ((), ()) and b.tree() == tree
    fleet.settle()
    assert b.found(QUESTION) == found


@pytest.mark.parametrize("stub", ["icloud", "empty"])
def test_notes_in_the_cloud_did_not_vanish(fleet: Fleet, stub: str) -> None:
    """`Optimise storage` took half of them away. The rest of the vault goes on, and they are not called removed."""
    a = fleet["a"]
    before = a.found(QUESTION)
    held = snapshot(a.vault)
    paths = sorted(filter(is_note, held), key=lambda path: NOTE.encode() not in held[path])
    away = paths[::2]
    assert len(away) > 5
    for path in away:
        fleet.copier.hold_back("a", path, stub=stub)
    tree = a.tree()
    reply = a.run()
    assert (reply.written, reply.kept) == ((), ()) and a.tree() == tree
    report = a.doctor()
    assert report.vault is not None and report.vault.removed == 0
    [problem] = report.problems
    assert problem.what == f"{len(away)} notes are not found when you ask." and "cloud" in problem.why
    for path in paths:
        note = parse(fleet.copier.cloud[path]).id
        assert (note in a.found(Path(path).stem)) == (path not in away)
    a.grow(PLAIN, "And the limit?", "The pool must stay below 20 because pgbouncer drops the twenty-first.")
    for _ in range(2):
        reply = a.run()
        assert [(kept.id, kept.reason) for kept in reply.kept] == [(NOTE, "in_cloud")] and a.tree() == tree
    fleet.settle()
    assert [one.id for one in a.run().written] == [NOTE]
    assert a.found(QUESTION) == before
    assert a.doctor().problems == ()
    (a.vault / paths[1]).unlink()
    report = a.doctor()
    assert report.vault is not None and (report.vault.removed, report.problems) == (1, ())


def test_without_other_types_a_device_that_never_had_the_history_stays_out(tmp_path: Path, dice: random.Random) -> None:
    fleet = Fleet(tmp_path, dice, OBSIDIAN_NOTES_ONLY)
    a, b = fleet["a"], fleet["b"]
    a.learn()
    a.run()
    fleet.settle()
    tree = b.tree()
    assert tree and all(path.endswith((".md", ".base")) for path in tree)
    b.learn()
    with pytest.raises(NoVault):
        b.run()
    assert b.tree() == tree
    assert b.doctor().problems


def test_without_other_types_two_histories_of_one_vault_do_not_fight(tmp_path: Path, dice: random.Random) -> None:
    """The store was copied by hand once; from then on only notes travel."""
    fleet = Fleet(tmp_path, dice, OBSIDIAN_NOTES_ONLY)
    a, b = fleet["a"], fleet["b"]
    a.learn()
    first = a.run(limit=4)
    shutil.copytree(a.vault / "vir" / "store", b.vault / "vir" / "store")
    fleet.settle()
    a.run()
    fleet.settle()
    later = set(a.trusts()) - {note.id for note in first.written}
    b.learn()
    notes = b.files()
    assert b.run().written == () and b.files() == notes
    tree = b.tree()
    reply = b.run()
    assert reply.written == () and {kept.id for kept in reply.kept if kept.reason == "waiting"} == later
    assert b.tree() == tree
    assert len(later) > 5 and any(f"{len(later)} notes are" in one.what for one in b.doctor().problems)


FULL = ("8979edfa-d924-4ad6-a42a-719d6c87f5c3", "349495ac-8180-4abf-b5fe-ff4df369a034")


def arrive(folder: Path, rng: random.Random, tool: Tool, order: Callable[[str], object]) -> None:
    """b runs after every few files, and writes nothing of a's at any moment."""
    fleet = Fleet(folder, rng, tool)
    fleet.copier.whole = is_text
    a, b = fleet["a"], fleet["b"]
    a.learn()
    a.run()
    fleet.copier.take("a")
    fleet.copier.deliver("b", is_config)
    b.learn(PLAIN, *FULL)
    own: set[str] = set()
    left = 1
    while left:
        left = fleet.copier.give("b", rng.randint(1, 24), order)
        notes = b.files()
        own |= {note.id for note in b.run().written}
        after = b.files()
        assert {path: after.get(path) for path in notes} == notes
        assert set(b.trusts()) <= set(a.trusts())
    # Whatever it distilled, it distilled before any word of it had come.
    assert own <= {note_id(f"claude:{key}") for key in (PLAIN, *FULL)}
    fleet.settle()
    for device in (a, b, a, b):
        device.run()
        fleet.settle()
    fleet.assert_nothing_lost()
    fleet.assert_at_rest(3)
    fleet.assert_agreed([QUESTION, "terraform state", "why does it hang"])


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_file_by_file_in_some_order_comes_to_the_same(tmp_path: Path, rng: random.Random, tool: Tool) -> None:
    arrive(tmp_path, rng, tool, rng.choice(ORDERS))


@pytest.mark.nightly
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.__name__)
def test_file_by_file_in_any_order_comes_to_the_same(
    tmp_path: Path, rng: random.Random, tool: Tool, order: Callable[[str], object]
) -> None:
    for number in range(5):
        arrive(tmp_path / str(number), rng, tool, order)
