"""Two and three computers on one vault: the same session twice, backups, absence, wrong clocks, half a folder."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.sync.conftest import PLAIN, Device, Fleet
from tests.sync.copier import GIT_CRLF, OBSIDIAN, SYNCTHING, TOOLS, Tool, restore, snapshot
from vir_core.contract import Progress, RunRequest
from vir_core.ingest import VanishedNotes, run
from vir_core.journal import JournalError
from vir_core.text import note_id
from vir_core.vault import VaultError

NOTE = note_id(f"claude:{PLAIN}")
QUESTIONS = ("ingest worker pool connection", "terraform state", "flaky summary test", "pgbouncer")
QUIET = "2dd51c63-efb1-40c4-9f90-40c697b39b5b"
"""A person's session with nothing durable in it."""


def is_config(path: str) -> bool:
    return path.endswith("config.yaml")


def joined(fleet: Fleet) -> tuple[Device, Device]:
    """The two devices, the second with nothing but the config."""
    fleet.copier.take("a")
    fleet.copier.deliver("b", is_config)
    return fleet["a"], fleet["b"]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@pytest.mark.parametrize("same", [True, False], ids=["same words", "other words"])
def test_a_session_that_two_devices_distilled_has_one_note(
    tmp_path: Path, dice: random.Random, tool: Tool, same: bool
) -> None:
    fleet = Fleet(tmp_path, dice, tool)
    a, b = joined(fleet)
    for device in (a, b):
        device.learn(PLAIN, "d59662fe")
    if not same:
        b.grow(PLAIN, "And the limit?", "The pool must stay below 20 because pgbouncer drops the twenty-first.")
    assert {note.id for note in a.run().written} == {note.id for note in b.run().written} != set()
    bodies = {body for device in (a, b) for note, body in device.files().values() if note == NOTE}
    assert len(bodies) == (1 if same else 2)
    fleet.settle()
    fleet.assert_at_rest()
    fleet.assert_nothing_lost()
    fleet.assert_agreed(QUESTIONS)
    copies = {device.doctor().vault.copies for device in (a, b)}  # pyright: ignore[reportOptionalMemberAccess]
    files = [path for path, (note, _) in a.files().items() if note == NOTE]
    assert copies == {len(files) - 1}
    hits = [hit for hit in a.ask(QUESTIONS[0], limit=50).hits if hit.id == NOTE]
    assert len(hits) == 1
    if len(files) > 1:
        # The one whose words were written last speaks.
        assert "pgbouncer" in a.files()[hits[0].path][1]
        assert any(all(path in one.what for path in files) for one in b.doctor().problems)


@pytest.mark.parametrize("tool", [OBSIDIAN, SYNCTHING], ids=lambda tool: tool.name)
def test_a_session_that_two_devices_distilled_and_that_went_on(tmp_path: Path, dice: random.Random, tool: Tool) -> None:
    """Where one file is left, the device that wrote last goes on with it, although the sync tool kept the other's words."""
    fleet = Fleet(tmp_path, dice, tool)
    a, b = joined(fleet)
    for device in (a, b):
        device.learn(PLAIN)
    b.grow(PLAIN, "And the limit?", "The pool must stay below 20 because pgbouncer drops the twenty-first.")
    b.run()
    a.run()  # the later line, and the later file
    fleet.settle()
    [one] = {path for path, (note, _) in a.files().items() if note == NOTE and "conflict" not in path}
    fleet.copier.settle()
    later = "Retries must be capped at five because the queue grows without bound otherwise."
    b.grow(PLAIN, "And retries?", later)
    assert [kept.reason for kept in b.run().kept] in (["elsewhere"], ["copy"])
    a.grow(PLAIN, "And the limit?", "The pool must stay below 20 because pgbouncer drops the twenty-first.")
    a.grow(PLAIN, "And retries?", later)
    reply = a.run()
    if tool.conflict:
        assert [kept.reason for kept in reply.kept] == ["copy"]
    else:
        assert [(note.id, note.path) for note in reply.written] == [(NOTE, one)]
    fleet.settle()
    fleet.assert_at_rest()
    fleet.assert_nothing_lost()


def test_a_note_that_the_sync_tool_put_back_is_no_edit(tmp_path: Path, dice: random.Random) -> None:
    fleet = Fleet(tmp_path, dice, SYNCTHING)
    a = fleet["a"]
    a.learn(PLAIN)
    a.run()
    old = snapshot(a.vault)
    [path] = [path for path, (note, _) in a.files().items() if note == NOTE]
    a.grow(PLAIN, "And the limit?", "The pool must stay below 20 because pgbouncer drops the twenty-first.")
    assert a.run().written
    restore(a.vault, old, [path])
    tree = a.tree()
    assert a.run().written == () and a.tree() == tree
    a.grow(PLAIN, "And retries?", "Retries must be capped at five because the queue grows without bound otherwise.")
    assert [note.path for note in a.run().written] == [path]
    assert "capped at five" in a.files()[path][1]
    # What a person wrote into it stays, whatever was there before.
    edited = old[path].replace(b"## Summary\n", b"## Summary\n\nZanzibar is mine.\n")
    (a.vault / path).write_bytes(edited)
    a.grow(PLAIN, "And locks?", "The lock must be taken before the read because another worker writes in between.")
    assert [kept.reason for kept in a.run().kept] == ["edited"]
    assert (a.vault / path).read_bytes() == edited


def test_a_checkout_that_turned_line_ends_is_no_edit(tmp_path: Path, dice: random.Random) -> None:
    fleet = Fleet(tmp_path, dice, GIT_CRLF)
    a, _ = joined(fleet)
    a.learn(PLAIN)
    a.run()
    for path in a.vault.rglob("*.md"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    a.grow(PLAIN, "And retries?", "Retries must be capped at five because the queue grows without bound otherwise.")
    assert [note.id for note in a.run().written] == [NOTE]


def test_two_ends_of_one_session_are_each_settled_once(tmp_path: Path, dice: random.Random) -> None:
    """A session went on on both devices, as long here as there, and held nothing durable on either."""
    fleet = Fleet(tmp_path, dice, SYNCTHING)
    a, b = joined(fleet)
    for device, words in ((a, "thanks a lot"), (b, "ok, bye for now")):
        device.learn(QUIET)
        device.grow(QUIET, words, "You are welcome.")
        if device is b:
            # The records of the two ends differ in their ids too.
            path = next(b.claude.rglob(f"{QUIET}.jsonl"))
            path.write_text(path.read_text("utf-8").replace("-4000-8000-00000000000", "-4000-9000-00000000000"))
    for _ in range(2):
        a.run()
        b.run()
        fleet.settle()
    assert {line.action for line in a.known().values()} >= {"session_settled"}
    fleet.assert_at_rest()


def test_a_note_that_arrives_while_it_is_being_distilled_stays_the_other_devices(
    tmp_path: Path, dice: random.Random
) -> None:
    fleet = Fleet(tmp_path, dice, SYNCTHING)
    a, b = joined(fleet)
    for device in (a, b):
        device.learn(PLAIN, "d59662fe")
    a.run(session=(PLAIN,))
    fleet.copier.take("a")
    arrived: list[dict[str, tuple[str, str]]] = []

    def sync(progress: Progress) -> None:
        if progress.stage == "distil" and not arrived:
            fleet.copier.deliver("b", lambda path: True)
            arrived.append(b.files())

    request = RunRequest(vault=str(b.vault), claude_dir=(str(b.claude),), codex_dir=(str(b.codex),))
    with b.awake():
        reply = run(request, sync)
    b.note_down()
    assert [(kept.id, kept.reason) for kept in reply.kept] == [(NOTE, "elsewhere")]
    assert {note.session[:15] for note in reply.written} == {"claude:d59662fe"}
    assert arrived and {path: b.files()[path] for path in arrived[0]} == arrived[0]
    fleet.settle()
    a.run()
    b.run()
    fleet.settle()
    fleet.assert_nothing_lost()
    fleet.assert_at_rest()


def test_a_verdict_that_arrives_while_a_note_is_being_rewritten_holds(tmp_path: Path, dice: random.Random) -> None:
    fleet = Fleet(tmp_path, dice, SYNCTHING)
    a, b = joined(fleet)
    a.learn(PLAIN)
    a.run()
    fleet.settle()
    b.run()
    b.reject(NOTE)
    fleet.copier.take("b")
    a.grow(PLAIN, "And the limit?", "The pool must stay below 20 because pgbouncer drops the twenty-first.")
    notes = a.files()

    def sync(progress: Progress) -> None:
        if progress.stage == "distil":
            fleet.copier.deliver("a", lambda path: True)

    request = RunRequest(vault=str(a.vault), claude_dir=(str(a.claude),), codex_dir=(str(a.codex),))
    with a.awake():
        reply = run(request, sync)
    assert [(kept.id, kept.reason) for kept in reply.kept] == [(NOTE, "judged")] and a.files() == notes
    assert a.trusts()[NOTE] == "suspended"


def test_what_a_run_only_read_is_kept_when_the_vault_loses_it(tmp_path: Path, dice: random.Random) -> None:
    fleet = Fleet(tmp_path, dice, SYNCTHING)
    a, b = joined(fleet)
    a.learn()
    a.run()
    fleet.settle()
    assert b.run().run == ""
    found, trusts = b.answers(QUESTIONS), b.trusts()
    device = next(line.by.device for line in a.known().values())
    shutil.rmtree(b.vault / "vir" / "store" / "journal" / device)
    (b.vault / "vir" / "store" / "journal" / "other").mkdir()
    for name in ("checkpoint", "gate"):
        (b.records() / name).unlink()
    assert (b.answers(QUESTIONS), b.trusts()) == (found, trusts)
    fleet.assert_nothing_lost()


def test_an_idle_run_gives_back_what_a_backup_took(tmp_path: Path, dice: random.Random) -> None:
    """As doctor promises. A third device that joins then reads everything."""
    fleet = Fleet(tmp_path, dice, SYNCTHING)
    a = fleet["a"]
    a.learn(PLAIN)
    a.run()
    backup = snapshot(a.vault)
    a.learn("d59662fe")
    later = a.run().written
    a.reject(NOTE)
    journal = [path for path in backup if "/journal/" in path]
    restore(a.vault, backup, journal)
    [problem] = a.doctor().problems
    assert "missing" in problem.what and "vir_core run" in problem.fix
    tree = a.files()
    reply = a.run()
    assert (reply.written, reply.run) == ((), "") and a.files() == tree
    assert a.doctor().problems == ()
    whole = a.tree()
    assert a.run().run == "" and a.tree() == whole
    c = fleet.add("c")
    fleet.settle()
    fleet["b"].run()
    c.run()
    fleet.assert_nothing_lost()
    fleet.assert_agreed(QUESTIONS)
    assert later[0].id in c.trusts() and c.trusts()[NOTE] == "suspended"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_vault_rolled_back_by_three_days(tmp_path: Path, dice: random.Random, tool: Tool) -> None:
    """The backup tool works below the sync tool, which takes what it finds for what the person did."""
    fleet = Fleet(tmp_path, dice, tool)
    a, b = joined(fleet)
    a.learn("345e3d00", "8979edfa", PLAIN)
    b.learn("ad4a85bc", "a2e84a99")
    for device in (a, b):
        device.run()
        fleet.settle()
    backup = snapshot(a.vault)
    a.learn()
    a.run()
    b.learn("349495ac", "d59662fe")
    fleet.settle()
    b.run()
    b.reject(NOTE)
    fleet.settle()
    a.grow(PLAIN, "And the limit?", "The pool must stay below 20 because pgbouncer drops the twenty-first.")
    assert [kept.reason for kept in a.run().kept] == ["judged"]
    fleet.settle()
    trusts = a.trusts()
    assert trusts == b.trusts() and trusts[NOTE] == "suspended"

    restore(a.vault, backup)
    tree = a.tree()
    with pytest.raises(VanishedNotes):
        a.run()
    assert a.tree() == tree
    assert a.trusts() == trusts
    fleet.copier.sync("a")
    fleet.settle()
    for device in (a, b, a, b):
        try:
            assert device.run().written == ()
        except VanishedNotes:
            assert device.run(accept_removed=True).written == ()
        fleet.settle()
    fleet.assert_nothing_lost()
    assert a.trusts() == b.trusts() == trusts
    fleet.assert_at_rest()
    fleet.assert_agreed(QUESTIONS)


def test_a_device_that_was_away_for_a_week(tmp_path: Path, dice: random.Random) -> None:
    fleet = Fleet(tmp_path, dice, SYNCTHING, ("a", "b", "c"))
    a, b, c = fleet["a"], fleet["b"], fleet["c"]
    a.learn(PLAIN, "345e3d00")
    a.run()
    fleet.settle()
    c.run()
    c.learn("349495ac", "d59662fe", PLAIN)
    c.run()
    c.reject(NOTE)
    b.learn("8979edfa", "ad4a85bc")
    for day in range(7):
        a.grow(PLAIN, f"Day {day}?", f"The limit number {day} must stay below 20 because pgbouncer drops the next one.")
        a.run()
        fleet.copier.sync("a")
        fleet.copier.sync("b")
        b.grow(
            "8979edfa-d924-4ad6-a42a-719d6c87f5c3", f"Day {day}?", f"Decision: keep replica {day} because it is cheap."
        )
        b.run()
        fleet.copier.sync("b")
        fleet.copier.sync("a")
    # The clock of lines goes on: what c said while away came before what it sees now, and withholds all the same.
    fleet.settle()
    for device in fleet.devices.values():
        assert device.run().written == ()
        fleet.settle()
    fleet.assert_nothing_lost()
    fleet.assert_agreed(QUESTIONS)
    assert a.trusts()[NOTE] == "suspended"
    fleet.assert_at_rest()
    assert fleet.copier.conflicts == []


@pytest.mark.parametrize("ahead", [timedelta(days=1), timedelta(days=-1)], ids=["ahead", "behind"])
def test_a_clock_that_is_a_day_off_puts_nothing_out_of_order(
    tmp_path: Path, dice: random.Random, ahead: timedelta
) -> None:
    fleet = Fleet(tmp_path, dice, SYNCTHING)
    a, b = joined(fleet)
    b.ahead = ahead
    a.learn(PLAIN)
    b.learn("d59662fe")
    written: list[str] = []

    def new_lines(device: Device) -> None:
        found = sorted(device.known().values(), key=lambda line: line.stamp)
        fresh = [line.hash for line in found if line.hash not in written]
        written.extend(fresh)
        fleet.settle()

    for number in range(4):
        text = f"The limit number {number} must stay below 20 because pgbouncer drops the next one."
        a.grow(PLAIN, f"And {number}?", text)
        a.run()
        new_lines(a)
        b.run()
        b.hold(NOTE) if number == 3 else b.grow("d59662fe-8dfd-4440-88e0-acbb414395f1", f"And {number}?", text)
        new_lines(b)
    a.reject(NOTE)
    new_lines(a)
    a.run()
    b.run()
    fleet.settle()
    for device in (a, b):
        assert [line.hash for line in sorted(device.known().values(), key=lambda line: line.stamp)] == written
    fleet.assert_nothing_lost()
    fleet.assert_agreed(QUESTIONS)
    late = {line.by.device for line in a.known().values() if line.clock}
    assert len(late) == 1  # whose clock was behind what it had seen says what its clock said
    fleet.assert_at_rest()


def _no_folder(device: Device) -> None:
    shutil.rmtree(device.vault / "vir")


def _no_vault(device: Device) -> None:
    shutil.rmtree(device.vault)


def _no_store(device: Device) -> None:
    shutil.rmtree(device.vault / "vir" / "store")


def _no_config(device: Device) -> None:
    (device.vault / "vir" / "store" / "config.yaml").unlink()


def _no_journal(device: Device) -> None:
    shutil.rmtree(device.vault / "vir" / "store" / "journal")


def _no_segments(device: Device) -> None:
    for path in (device.vault / "vir" / "store" / "journal").rglob("*.jsonl"):
        path.unlink()


def _half_of_the_notes(device: Device) -> None:
    for path in list(device.files())[::2]:
        (device.vault / path).unlink()


def _all_notes(device: Device) -> None:
    for path in device.files():
        (device.vault / path).unlink()


@pytest.mark.parametrize(
    "lose",
    [_no_vault, _no_folder, _no_store, _no_config, _no_journal, _no_segments, _half_of_the_notes, _all_notes],
    ids=lambda lose: lose.__name__.strip("_").replace("_", " "),
)
@pytest.mark.parametrize("caches", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["", "without caches"])
def test_from_half_a_folder_nothing_is_concluded(
    tmp_path: Path, dice: random.Random, lose: Callable[[Device], None], caches: bool
) -> None:
    fleet = Fleet(tmp_path, dice, SYNCTHING)
    a, b = joined(fleet)
    a.learn()
    a.run()
    fleet.settle()
    b.run()
    b.learn(PLAIN, "d59662fe")
    b.run()
    b.hold(NOTE)
    fleet.settle()
    a.run()
    before, trusts, answers = snapshot(a.vault), a.trusts(), a.answers(QUESTIONS)
    state = a.records()
    lose(a)
    if not caches:
        for name in ("checkpoint", "gate", "index", "indexed"):
            path = state / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    a.grow(PLAIN, "And the limit?", "The pool must stay below 20 because pgbouncer drops the twenty-first.")
    a.grow("8979edfa-d924-4ad6-a42a-719d6c87f5c3", "And?", "The lock must be short because writers wait for it.")
    tree = a.tree() if a.vault.exists() else {}
    for _ in range(2):
        with pytest.raises((VaultError, JournalError, VanishedNotes)):
            a.run()
        assert (a.tree() if a.vault.exists() else {}) == tree
    assert a.doctor().problems or lose in (_no_vault,)
    restore(a.vault, before) if a.vault.exists() else (a.vault.mkdir(), restore(a.vault, before))
    assert a.trusts() == trusts
    reply = a.run()
    assert [note.session for note in reply.written] == ["claude:8979edfa-d924-4ad6-a42a-719d6c87f5c3"]
    assert [kept.reason for kept in reply.kept] == ["judged"]
    assert a.answers(QUESTIONS[:2]) == answers[:2]
    fleet.settle()
    fleet.assert_nothing_lost()
