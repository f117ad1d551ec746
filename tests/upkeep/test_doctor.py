"""Doctor names each trouble when it is there, names none when it is not, and changes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.conftest import World
from vir_core.contract import DoctorReply, DoctorRequest, InitRequest, Problem, ProjectsRequest, SourceStatus
from vir_core.ingest import projects
from vir_core.memory import Promise, Spool
from vir_core.upkeep import doctor, init
from vir_core.vault import open_vault


def asked(world: World, **fields: Any) -> DoctorReply:
    sources = {"claude_dir": (str(world.claude),), "codex_dir": (str(world.codex),)}
    return doctor(DoctorRequest(**{"vault": str(world.vault), **sources, **fields}))


def only(reply: DoctorReply) -> Problem:
    [problem] = reply.problems
    for words in (problem.what, problem.why, problem.fix):
        assert words[:1].isupper() or words[:1] in "`0123456789v/", words
        assert words.endswith(".") and ".." not in words.replace("../", ""), words
    return problem


def everything(*roots: Path) -> dict[str, tuple[str, int]]:
    """Every file and folder, by its content and time."""
    found: dict[str, tuple[str, int]] = {}
    for root in roots:
        for path in sorted(root.rglob("*")):
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            found[str(path)] = (content, path.stat().st_mtime_ns)
    return found


def state_of(world: World) -> Path:
    return open_vault(world.vault).state


def segment_of(world: World) -> Path:
    [segment] = (world.vault / "vir/store/journal").rglob("*.jsonl")
    return segment


def test_a_healthy_vault_has_no_problem(world: World) -> None:
    reply = asked(world)
    assert reply.problems == () and reply.vault is not None and reply.vault.notes == 0
    assert reply.last_run is None and reply.index is not None and reply.index.state == "missing"
    written = world.run()
    reply = asked(world)
    assert reply.problems == ()
    assert reply.vault is not None and reply.journal is not None and reply.index is not None
    assert (reply.vault.notes, reply.vault.states) == (len(written.written), {"New": len(written.written)})
    assert (reply.vault.path, reply.vault.folder) == (str(world.vault), "vir")
    assert (reply.vault.removed, reply.vault.waiting, reply.vault.copies, reply.vault.broken) == (0, 0, 0, 0)
    assert (reply.journal.lines, reply.journal.devices, reply.journal.damaged) == (len(world.lines()), 1, 0)
    assert reply.journal.bytes == segment_of(world).stat().st_size
    assert reply.index.state == "ready" and reply.index.passages > len(written.written)
    finished = [line for line in world.lines() if line["action"] == "run_finished"][-1]
    assert reply.last_run == finished["at"]
    assert {(source.source, source.found) for source in reply.sources} == {("claude", True), ("codex", True)}
    assert sum(source.files for source in reply.sources) == len(
        [*world.claude.rglob("*.jsonl"), *world.codex.rglob("*.jsonl")]
    )
    for source in reply.sources:
        assert source.oldest_days is not None and 0 <= source.oldest_days < 1


def test_doctor_changes_nothing_anywhere(world: World, tmp_path: Path) -> None:
    world.run()
    segment = segment_of(world)
    with segment.open("ab") as file:
        file.write(b"damage\n")
    next((world.vault / "vir").rglob("*.md")).unlink()
    (state_of(world) / "gate").unlink()
    before = everything(world.vault, world.state, world.claude, world.codex)
    assert asked(world).problems
    assert world.cli("doctor", "--vault", str(world.vault)).returncode == 0
    assert everything(world.vault, world.state, world.claude, world.codex) == before
    shutil.rmtree(world.state)
    asked(world)
    assert not world.state.exists()
    doctor(DoctorRequest(vault=str(tmp_path / "nowhere")))
    assert not world.state.exists() and not (tmp_path / "nowhere").exists()


def test_no_vault(world: World, tmp_path: Path) -> None:
    reply = asked(world, vault=str(tmp_path / "nowhere"))
    problem = only(reply)
    assert problem.what == "No notes can be written or found." and "vir_core init" in problem.fix
    assert (reply.vault, reply.journal, reply.index) == (None, None, None)
    assert reply.sources[0].found
    assert asked(world).problems == ()


@pytest.mark.parametrize("content", ["", "vir: ???\n", "{{{", "\ufffe"])
def test_a_damaged_config(world: World, content: str) -> None:
    config = world.vault / "vir/store/config.yaml"
    good = config.read_bytes()
    (world.vault / "vir/store/journal").mkdir(exist_ok=True)
    config.write_text(content, "utf-8")
    assert "config.yaml" in only(asked(world)).why
    config.write_bytes(good)
    assert asked(world).problems == ()


def test_a_copy_of_a_vault(world: World, tmp_path: Path) -> None:
    written = world.run()
    copy = tmp_path / "Copy"
    shutil.copytree(world.vault, copy)
    reply = asked(world, vault=str(copy))
    problem = only(reply)
    assert str(world.vault) in problem.why and "--moved" in problem.fix and "--copied" in problem.fix
    assert reply.vault is not None and reply.vault.notes == len(written.written)
    assert asked(world).problems == ()
    init(InitRequest(vault=str(copy), copied=True))
    assert asked(world, vault=str(copy)).problems == ()


@pytest.mark.parametrize("damage", [b"garbage\n", b'{"v":1,"at":"20\n', b"\0" * 40 + b"\n"])
def test_a_damaged_line(world: World, damage: bytes) -> None:
    world.run()
    notes = asked(world).vault
    with segment_of(world).open("ab") as file:
        file.write(damage)
    reply = asked(world)
    assert "history cannot be read" in only(reply).what and "1 damaged place " in only(reply).why
    assert reply.journal is not None and reply.journal.damaged == 1
    assert reply.vault == notes


def test_lines_that_only_this_machine_still_has(world: World) -> None:
    world.run()
    notes = asked(world).vault
    segment = segment_of(world)
    whole = segment.read_bytes()
    segment.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    reply = asked(world)
    problem = only(reply)
    assert "answered from this machine's copy" in problem.what and "1 entry" in problem.why
    assert reply.vault == notes
    segment.write_bytes(b"".join(whole.splitlines(keepends=True)[:-3]))
    assert "3 entries" in only(asked(world)).why
    segment.write_bytes(whole)
    assert asked(world).problems == ()


def test_a_run_puts_back_what_was_taken_away(world: World) -> None:
    world.run()
    segment = segment_of(world)
    whole = segment.read_bytes().splitlines()
    segment.write_bytes(b"\n".join(whole[:-2]) + b"\n")
    assert asked(world).problems != ()
    world.grow(
        "83ac5aac-11a5-4bfc-9e19-5df183bfeade",
        "What is the limit?",
        "The pool must stay below 20 because pgbouncer drops the twenty-first connection.",
    )
    world.run()
    assert asked(world).problems == ()
    assert set(whole) <= set(segment.read_bytes().splitlines())


def test_a_history_file_that_is_still_in_the_cloud(world: World) -> None:
    world.run()
    segment = segment_of(world)
    other = segment.parent.parent / "d00000000000000f"
    other.mkdir()
    (other / ".0001.jsonl.icloud").write_bytes(b"bplist00")
    problem = only(asked(world))
    assert problem.what == "Some notes are not found yet." and "1 history file is still in the cloud" in problem.why
    (other / ".0001.jsonl.icloud").unlink()
    assert asked(world).problems == ()


def test_an_act_of_a_newer_vir(world: World) -> None:
    id = world.run().written[0].id
    foreign = segment_of(world).parent.parent / "d00000000000000f" / "0001.jsonl"
    foreign.parent.mkdir()
    vault = open_vault(world.vault).id

    def said(action: str, subject: str, core: str, data: dict[str, Any], *, must: bool, at: str) -> str:
        by = {"kind": "vir", "surface": "run", "device": "d00000000000000f", "core": core}
        record = {"v": 1, "at": at, "by": by, "action": action, "subject": subject, "data": data, "must": must}
        return json.dumps({**record, "prev": ""}) + "\n"

    start = said("segment_started", vault, "0.1.0", {"vault": vault, "device": "d00000000000000f", "n": 1}, must=True, at="2026-12-01T10:00:00.000000Z")  # fmt: skip
    quiet = said("weather_seen", id, "9.0.0", {}, must=False, at="2026-12-01T10:00:01.000000Z")
    foreign.write_text(start + quiet)
    assert asked(world).problems == ()
    binding = said("sealed", id, "0.9.0", {}, must=True, at="2026-12-01T10:00:02.000000Z")
    foreign.write_text(start + quiet + binding)
    reply = asked(world)
    problem = only(reply)
    assert problem.what == "1 note is held back." and "vir 0.9.0" in problem.fix
    assert reply.vault is not None and reply.vault.states["Needs another look"] == 1
    later = said("sealed", "n000000000000001", "0.10.0", {}, must=True, at="2026-12-01T10:00:03.000000Z")
    foreign.write_text(start + quiet + binding + later)
    problem = only(asked(world))
    assert problem.what == "2 notes are held back." and "vir 0.10.0" in problem.fix


def test_many_notes_gone_at_once(world: World) -> None:
    written = world.run().written
    for note in written[:2]:
        (world.vault / note.path).unlink()
    reply = asked(world)
    assert reply.problems == () and reply.vault is not None and reply.vault.removed == 2
    for note in written[2:9]:
        (world.vault / note.path).unlink()
    problem = only(asked(world))
    assert problem.what == "Nothing new is written to this vault." and "9 notes" in problem.why
    assert "--accept-removed" in problem.fix
    world.run(accept_removed=True)
    reply = asked(world)
    assert reply.problems == () and reply.vault is not None and reply.vault.removed == 9


def test_notes_that_wait_for_their_history(world: World) -> None:
    written = world.run().written
    journal = world.vault / "vir/store/journal"
    aside = world.vault.parent / "journal"
    shutil.move(journal, aside)
    state = world.vault.parent / "state"
    shutil.move(world.state, state)
    reply = asked(world)
    problem = only(reply)
    assert problem.what == f"{len(written)} notes are not found when you ask." and "Sync all other types" in problem.fix
    assert reply.vault is not None and (reply.vault.waiting, reply.vault.notes) == (len(written), 0)
    shutil.move(aside, journal)
    shutil.move(state, world.state)
    assert asked(world).problems == ()


def test_texts_that_have_not_arrived_from_another_device(world: World) -> None:
    first = world.run(limit=4).written
    # A machine that forgot who it was writes as another device.
    shutil.rmtree(world.state)
    init(InitRequest(vault=str(world.vault)))
    assert world.run().written
    reply = asked(world)
    assert reply.problems == () and reply.journal is not None and reply.journal.devices == 2
    texts = world.vault / "vir/store/texts"
    wanted = next(line["data"]["text"] for line in world.lines() if line["subject"] == first[0].id)
    text = texts / wanted[:2] / f"{wanted}.txt"
    content = text.read_bytes()
    text.unlink()
    problem = only(asked(world))
    assert problem.what == "1 note is not found when you ask." and "have not arrived" in problem.why
    text.write_bytes(content)
    assert asked(world).problems == ()


def test_two_files_of_one_note(world: World) -> None:
    note = world.vault / world.run().written[0].path
    copy = note.with_name("Copied.md")
    shutil.copy(note, copy)
    reply = asked(world)
    problem = only(reply)
    assert "Copied.md" in problem.what and note.name in problem.what and "vir_id" in problem.fix
    assert reply.vault is not None and reply.vault.copies == 1
    copy.unlink()
    assert asked(world).problems == ()


@pytest.mark.parametrize("kind", ["twice", "not UTF-8", "not closed"])
def test_properties_that_cannot_be_read(world: World, kind: str) -> None:
    note = world.vault / world.run().written[0].path
    good = note.read_bytes()
    match kind:
        case "twice":
            bad = good.replace(b"---\n", b"---\ntrust: mine\n", 1)
        case "not UTF-8":
            bad = good.replace(b"---\n", b"---\nmine: \xff\xfe\n", 1)
        case _:
            front, _, body = good[4:].partition(b"---\n")
            bad = b"---\n" + front + body
    note.write_bytes(bad)
    reply = asked(world)
    problem = only(reply)
    assert note.name in problem.what and kind in problem.why and "---" in problem.fix
    assert reply.vault is not None and reply.vault.broken == 1
    note.write_bytes(good)
    assert asked(world).problems == ()


def test_a_run_that_was_stopped_in_the_middle(world: World) -> None:
    note = world.run().written[0]
    content = (world.vault / note.path).read_bytes()
    promise = Promise(kind="write", note=note.id, path=note.path, line="0" * 64, content=content)
    Spool(state_of(world)).promise(promise)
    problem = only(asked(world))
    assert problem.what == "1 note is still to be written." and "vir_core run" in problem.fix
    world.run()
    assert asked(world).problems == ()


def test_an_index_that_cannot_answer_is_made_anew_by_asking(world: World) -> None:
    world.run()
    (state_of(world) / "index" / "meta.json").write_text("{}")
    assert "next question takes longer" in only(asked(world)).what
    assert world.ask("ingest worker").degraded is None
    assert asked(world).problems == ()


def test_no_sources(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = doctor(DoctorRequest(vault=str(world.vault)))
    problem = only(reply)
    assert problem.what == "There are no sessions to read." and "--claude-dir" in problem.fix
    assert [source.found for source in reply.sources] == [False, False]
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(world.vault.parent / "agent"))
    shutil.copytree(world.claude, world.vault.parent / "agent" / "projects")
    assert doctor(DoctorRequest(vault=str(world.vault))).problems == ()


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_source_folder_that_was_named_and_is_none(world: World, kind: str) -> None:
    named = world.vault.parent / "named"
    if kind == "file":
        named.write_text("x")
    reply = asked(world, claude_dir=(str(world.claude), str(named)))
    problem = only(reply)
    assert str(named) in problem.what
    assert [source.found for source in reply.sources if source.source == "claude"] == [True, False]
    assert asked(world).problems == ()


@pytest.mark.parametrize(("days", "warned"), [(24, False), (24.9, False), (26, True), (40, True)])
def test_old_transcripts(world: World, days: float, warned: bool) -> None:
    old = next(world.claude.rglob("*.jsonl"))
    then = time.time() - days * 86400
    os.utime(old, (then, then))
    reply = asked(world)
    assert [round(s.oldest_days or 0, 1) for s in reply.sources if s.source == "claude"] == [days]
    if not warned:
        assert reply.problems == ()
        return
    problem = only(reply)
    when = "in 4 days" if days < 30 else "any moment now"
    assert when in problem.what and "30 days" in problem.why and "cleanupPeriodDays" in problem.fix
    codex = next(world.codex.rglob("*.jsonl"))
    os.utime(old, None)
    os.utime(codex, (then, then))
    assert asked(world).problems == ()


def age(path: Path, days: float) -> None:
    then = time.time() - days * 86400
    os.utime(path, (then, then))


def claude_of(reply: DoctorReply) -> SourceStatus:
    return next(source for source in reply.sources if source.source == "claude")


def test_only_what_no_run_settled_has_days_left(world: World) -> None:
    read = next(path for path in world.claude.rglob("83ac5aac*.jsonl"))
    for path in world.claude.rglob("*.jsonl"):
        age(path, 1)
    age(read, 28)
    before = claude_of(asked(world))
    assert before.waiting > 10 and before.days_left == 2 and before.kept_days == 30
    world.run()
    after = asked(world)
    assert after.problems == () and claude_of(after).oldest_days == 28
    assert (claude_of(after).waiting, claude_of(after).days_left) == (0, None)


def test_what_a_run_left_has_days_left(world: World) -> None:
    for path in world.claude.rglob("*.jsonl"):
        age(path, 1)
    oldest = next(world.claude.rglob("83ac5aac*.jsonl"))
    age(oldest, 20)
    assert world.run(limit=1).skipped["over_limit"]
    left = claude_of(asked(world))
    assert left.waiting > 5 and left.days_left == 10
    world.run(only=("lantern",))
    assert 0 < claude_of(asked(world)).waiting < left.waiting
    world.run()
    assert claude_of(asked(world)).waiting == 0


def test_a_file_that_came_or_grew_since_the_last_run_waits_again(world: World) -> None:
    for path in world.claude.rglob("*.jsonl"):
        age(path, 9)
    world.run()
    assert claude_of(asked(world)).waiting == 0
    world.grow("83ac5aac-11a5-4bfc-9e19-5df183bfeade", "And then?", "The pool was closed.")
    status = claude_of(asked(world))
    assert status.waiting == 1 and status.days_left == 30
    helper = world.claude / "-x" / "83ac5aac-11a5-4bfc-9e19-5df183bfeade" / "subagents" / "agent-a1b2c3d.jsonl"
    helper.parent.mkdir(parents=True)
    helper.write_text("{}\n")
    assert claude_of(asked(world)).waiting == 1


def test_a_project_that_was_left_out_does_not_wait(world: World) -> None:
    sources = {"claude_dir": (str(world.claude),), "codex_dir": (str(world.codex),)}
    projects(ProjectsRequest(vault=str(world.vault), exclude=("*",), **sources))
    for path in world.claude.rglob("*.jsonl"):
        age(path, 9)
    assert claude_of(asked(world)).waiting > 10
    world.run()
    assert claude_of(asked(world)).waiting == 0


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        ('{"cleanupPeriodDays": 90, "model": "opus"}', 90),
        ('{"cleanupPeriodDays": 0}', 30),
        ('{"cleanupPeriodDays": "long"}', 30),
        ('{"model": "opus"}', 30),
        ("not json", 30),
    ],
)
def test_how_long_files_live_is_read_from_the_agents_settings(world: World, settings: str, days: int) -> None:
    folder = world.vault.parent / "config"
    folder.mkdir()
    world.claude = world.claude.rename(folder / "projects")
    (folder / "settings.json").write_text(settings, "utf-8")
    age(next(world.claude.rglob("*.jsonl")), 20)
    status = claude_of(asked(world))
    assert status.kept_days == days and status.days_left == days - 20


def test_a_lost_record_of_the_last_run_warns_too_often_and_never_too_little(world: World) -> None:
    for path in world.claude.rglob("*.jsonl"):
        age(path, 9)
    world.run()
    record = state_of(world) / "pass"
    for content in (b"", b"garbage", b"[1]"):
        record.write_bytes(content)
        assert claude_of(asked(world)).waiting > 10
    world.run()
    assert claude_of(asked(world)).waiting == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may look everywhere")
def test_a_part_of_the_vault_that_cannot_be_looked_at(world: World) -> None:
    world.run()
    closed = world.vault / "closed"
    closed.mkdir(mode=0o000)
    assert "closed" in only(asked(world)).what
    closed.chmod(0o755)
    assert asked(world).problems == ()


def test_a_file_that_no_run_could_read_waits(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from vir_core.transcripts import reading

    for path in world.claude.rglob("*.jsonl"):
        age(path, 9)
    real = reading.sum_up

    def refused(file, **fields):
        if "83ac5aac" in file.path:
            raise PermissionError(13, "not yours")
        return real(file, **fields)

    with monkeypatch.context() as patched:
        patched.setattr(reading, "sum_up", refused)
        assert world.run().failed
        assert claude_of(asked(world)).waiting == 1
    world.run()
    assert claude_of(asked(world)).waiting == 0
