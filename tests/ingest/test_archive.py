"""Copies of sessions: written when wanted, scrubbed, good to check a note against when the agent has deleted its files."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.ingest.conftest import World
from vir_core.cli.show import show
from vir_core.contract import DoctorRequest, RequestError, SessionsReply, SessionsRequest, UninstallRequest
from vir_core.ingest import sessions
from vir_core.journal import Texts
from vir_core.transcripts import Archive, condense
from vir_core.upkeep import doctor, uninstall
from vir_core.vault import open_vault

SESSION = "8ccdf090-6c9a-478d-b9b3-124cfff2449e"
KEY = f"claude:{SESSION}"


def archive_of(world: World) -> Archive:
    return Archive(open_vault(world.vault).state / "archive")


def asked(world: World, explain: str = "") -> SessionsReply:
    """With the folders found as the agents' own, so that what is not there is gone."""
    return sessions(SessionsRequest(vault=str(world.vault), explain=explain))


@pytest.fixture
def at_home(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The agents' folders where they are looked for by default."""
    home = world.vault.parent
    (home / "config").mkdir()
    world.claude = world.claude.rename(home / "config" / "projects")
    (home / "codex-home").mkdir()
    world.codex = world.codex.rename(home / "codex-home" / "sessions")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "config"))
    monkeypatch.setenv("CODEX_HOME", str(home / "codex-home"))
    return world


def test_every_quote_of_a_note_is_found_in_the_copy_of_its_session(world: World) -> None:
    reply = world.run(archive="forever")
    archive, texts = archive_of(world), Texts(open_vault(world.vault).store)
    written = [line for line in world.lines() if line["action"] == "note_written"]
    assert len(written) == len(reply.written) and reply.failed == ()
    checked = 0
    for line in written:
        copy = archive.get(line["data"]["session"])
        assert copy is not None and copy.head.key == line["data"]["session"]
        said = {turn.id: turn.text for turn in condense(copy.transcript).turns}
        for lesson in line["data"]["lessons"]:
            text = texts.get(lesson["evidence"])
            assert text is not None
            first, quote = text.body.decode().split("\n")[:2]
            assert quote in said[first.split()[1]]
            checked += 1
    assert checked > 20


def test_no_copy_is_made_unless_somebody_wanted_one(world: World) -> None:
    world.run(limit=3)
    world.run(archive="off")
    assert not archive_of(world).folder.exists()


def test_copies_are_of_the_person_alone_and_hold_no_secret(world: World) -> None:
    secret = "ghp_" + "Zk3vQ9xT7bLm2Rw8Yd5Nc1Hf6Js4Gp0AeUiO"
    world.grow(SESSION, f"log in with {secret} and mail ada.lovelace@engines.co.uk", f"export TOKEN={secret}")
    world.run(archive="1y", session=(SESSION,))
    archive = archive_of(world)
    copy = archive.get(KEY)
    assert copy is not None
    shown = repr(copy)
    assert "log in with" in shown and secret not in shown and "ada.lovelace" not in shown
    assert all(turn.kind != "injected" for turn in copy.transcript.turns)
    if os.name == "posix":
        assert archive.folder.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in archive.folder.iterdir()} == {0o600}
    assert not [path for path in world.vault.rglob("*") if path.suffix == ".zst"]


def test_a_session_that_went_on_is_copied_anew(world: World) -> None:
    world.run(archive="1y")
    world.grow(SESSION, "And what keeps it from coming back?", "A timeout on every pooled connection.")
    world.run()
    copy = archive_of(world).get(KEY)
    assert copy is not None and "And what keeps it from coming back?" in [turn.text for turn in copy.transcript.turns]


def test_copies_go_after_a_year_when_a_year_was_said(world: World) -> None:
    world.run(archive="1y")
    archive = archive_of(world)
    old, young = (archive.path(KEY), next(path for path in archive.folder.iterdir() if path != archive.path(KEY)))
    for path, days in ((old, 366), (young, 364)):
        then = time.time() - days * 86400
        os.utime(path, (then, then))
    before = world.tree()
    world.run()
    assert not old.exists() and young.exists() and world.tree() == before
    then = time.time() - 4000 * 86400
    os.utime(young, (then, then))
    world.run(archive="off")
    world.run(archive="forever")
    assert young.exists()
    world.run(archive="1y")
    assert not young.exists()


def test_a_copy_that_cannot_be_written_costs_no_note(world: World) -> None:
    folder = archive_of(world).folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("in the way")
    reply = world.run(archive="1y", limit=2)
    assert len(reply.written) == 2 and {failure.stage for failure in reply.failed} == {"archive"}


def test_a_damaged_copy_is_none(world: World) -> None:
    world.run(archive="1y", limit=4)
    archive = archive_of(world)
    path = next(archive.folder.iterdir())
    [key] = [
        line["subject"]
        for line in world.lines()
        if line["action"] == "session_settled" and archive.path(line["subject"]) == path
    ]
    assert archive.get(key) is not None
    whole = path.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"garbage", whole[:90] + bytes([whole[90] ^ 1]) + whole[91:]):
        path.write_bytes(damaged)
        assert archive.get(key) is None


def test_a_session_whose_file_is_gone_is_told_and_its_page_comes_from_the_copy(at_home: World) -> None:
    world = at_home
    world.run(archive="forever")
    page = asked(world, KEY).explained
    assert page is not None and page.session.state == "noted" and Path(page.archived).is_file()
    next(world.claude.rglob(f"{SESSION}.jsonl")).unlink()
    tree = world.tree()
    [row] = [row for row in asked(world).sessions if row.state == "gone"]
    assert (row.session, row.reason, row.path) == (SESSION, "noted", "")
    assert row.project == page.session.project and row.human_turns == page.session.human_turns
    gone = asked(world, SESSION[:8]).explained
    assert gone is not None and gone.prompts == page.prompts and gone.note == page.note
    assert "gone" in gone.what and "stays" in gone.what
    shown = show("sessions", SessionsRequest(), SessionsReply(explained=gone))
    assert "gone" in shown and "copy  " in shown
    reply = world.run()
    assert reply.failed == () and reply.written == () and world.tree() == tree


def test_without_a_copy_a_gone_session_still_has_a_page(at_home: World) -> None:
    world = at_home
    world.run()
    assert [row for row in asked(world).sessions if row.state == "gone"] == []
    next(world.claude.rglob(f"{SESSION}.jsonl")).unlink()
    gone = asked(world, KEY).explained
    assert gone is not None and gone.prompts == () and gone.archived == "" and gone.note
    assert (world.vault / gone.note).is_file()
    with pytest.raises(RequestError):
        asked(world, "nonesuch")
    narrowed = SessionsRequest(vault=str(world.vault), claude_dir=(str(world.claude),))
    assert [row for row in sessions(narrowed).sessions if row.state == "gone"] == []


def test_a_file_that_comes_back_is_no_longer_gone(at_home: World) -> None:
    world = at_home
    world.run(archive="1y")
    path = next(world.claude.rglob(f"{SESSION}.jsonl"))
    content = path.read_bytes()
    path.unlink()
    assert [row.session for row in asked(world).sessions if row.state == "gone"] == [SESSION]
    path.write_bytes(content)
    assert [row for row in asked(world).sessions if row.state == "gone"] == []
    assert world.run().written == ()


def test_doctor_and_uninstall_name_the_copies(world: World) -> None:
    request = DoctorRequest(vault=str(world.vault), claude_dir=(str(world.claude),), codex_dir=(str(world.codex),))
    before = doctor(request).archive
    assert before is not None and (before.keep, before.sessions, before.oldest_days) == ("", 0, None)
    world.run(archive="forever")
    archive = archive_of(world)
    reply = doctor(request)
    status = reply.archive
    assert status is not None and status.keep == "forever" and status.path == str(archive.folder)
    assert status.sessions == len(list(archive.folder.iterdir())) > 10 and status.oldest_days == 0
    assert status.bytes == sum(path.stat().st_size for path in archive.folder.iterdir())
    assert "copies " in show("doctor", request, reply) and "for ever" in show("doctor", request, reply)
    items = {item.path: item for item in uninstall(UninstallRequest()).items}
    assert items[str(archive.folder)].bytes == status.bytes and items[str(archive.folder)].loss
    done = uninstall(UninstallRequest(apply=True))
    assert done.failed == () and not world.state.exists()


def test_a_copy_is_plain_lines_under_zstd(world: World) -> None:
    import zstandard

    world.run(archive="1y", session=(SESSION,))
    content = zstandard.ZstdDecompressor().decompress(archive_of(world).path(KEY).read_bytes())
    head, *turns = [json.loads(line) for line in content.splitlines()]
    assert head["v"] == 1 and head["key"] == KEY and head["files"] == [f"{SESSION}.jsonl"]
    assert datetime.fromisoformat(head["at"]).tzinfo is UTC or head["at"].endswith("Z")
    assert {"id", "kind", "text"} <= set(turns[0])


def test_an_agent_of_whom_nothing_is_found_has_lost_no_session(at_home: World) -> None:
    world = at_home
    world.run()
    away = world.claude.rename(world.claude.with_name("away"))
    assert [row for row in asked(world).sessions if row.state == "gone"] == []
    away.rename(world.claude)
    assert [row for row in asked(world).sessions if row.state == "gone"] == []


def test_a_file_that_cannot_be_read_is_not_gone(at_home: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from vir_core.transcripts import reading

    world = at_home
    world.run()
    (world.state / "scan").unlink()
    real = reading.sum_up

    def refused(file, **fields):
        if SESSION in file.path:
            raise PermissionError(13, "not yours")
        return real(file, **fields)

    monkeypatch.setattr(reading, "sum_up", refused)
    reply = asked(world)
    assert [failure for failure in reply.failed if SESSION in failure.path]
    assert [row for row in reply.sessions if row.state == "gone"] == []
