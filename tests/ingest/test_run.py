"""A run from transcripts to notes, and every later run over what a person made of them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.conftest import World
from vir_core.contract import RequestError
from vir_core.memory import Rejected
from vir_core.text import note_id

PLAIN = "83ac5aac-11a5-4bfc-9e19-5df183bfeade"


def test_every_session_worth_keeping_has_one_note_and_every_file_is_accounted_for(
    world: World, noted: set[str], expected: list[dict[str, Any]]
) -> None:
    reply = world.run()
    assert {note.session for note in reply.written} == noted
    assert reply.failed == ()
    counted = len(reply.written) + len(reply.kept) + reply.unchanged + sum(reply.skipped.values())
    assert counted == len(expected)
    assert sum(reply.drivers.values()) == len(expected)
    for note in reply.written:
        assert note.id == note_id(note.session)
        assert (world.vault / note.path).is_file()


def test_a_second_run_changes_no_byte_and_writes_no_line(world: World) -> None:
    first = world.run()
    assert first.written
    tree = world.tree()
    again = world.run()
    assert world.tree() == tree
    assert again.written == () and again.run == ""
    assert again.unchanged == len(first.written)
    assert again.bytes == 0


def test_caches_may_go_at_any_time(world: World) -> None:
    first = world.run()
    question = "why does the ingest worker hang"
    before = world.ask(question)
    assert before.hits and before.degraded is None
    tree = world.tree()
    [state] = [path for path in world.state.iterdir() if path.is_dir() and path.name.startswith("v")]
    for name in ("checkpoint", "gate", "seen", "indexed", "index"):
        path = state / name
        assert path.exists(), name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (world.state / "scan").unlink()
    after = world.ask(question)
    assert (after.hits, after.degraded, after.excluded) == (before.hits, None, before.excluded)
    again = world.run()
    assert again.unchanged == len(first.written) and world.tree() == tree


def test_a_session_that_went_on_is_distilled_again_into_the_same_file(world: World) -> None:
    world.run()
    id = note_id(f"claude:{PLAIN}")
    note = world.note(id)
    moved = world.vault / "Elsewhere" / "My own name.md"
    moved.parent.mkdir()
    note.rename(moved)
    added = "The pool size must stay below 20 because pgbouncer drops the twenty-first connection."
    world.grow(PLAIN, "What is the limit of the pool?", added)
    reply = world.run()
    assert [one.id for one in reply.written] == [id]
    assert reply.written[0].path == "Elsewhere/My own name.md"
    assert "pgbouncer" in moved.read_text("utf-8")
    assert not note.exists()
    hit = world.ask("pgbouncer twenty-first connection").hits[0]
    assert (hit.id, hit.path) == (id, "Elsewhere/My own name.md")


def test_a_body_that_a_person_edited_is_never_overwritten(world: World) -> None:
    world.run()
    id = note_id(f"claude:{PLAIN}")
    path = world.note(id)
    mine = path.read_text("utf-8").replace("## Summary\n", "## Summary\n\nZanzibar is what I call this.\n")
    path.write_text(mine, "utf-8")
    world.grow(
        PLAIN,
        "And what about retries?",
        "Retries must be capped at five because the queue grows without bound otherwise.",
    )
    reply = world.run()
    assert [(kept.id, kept.reason) for kept in reply.kept] == [(id, "edited")]
    assert path.read_text("utf-8") == mine
    assert world.ask("Zanzibar").hits[0].id == id


def test_properties_a_person_added_survive_a_rewrite(world: World) -> None:
    world.run()
    id = note_id(f"claude:{PLAIN}")
    path = world.note(id)
    text = path.read_text("utf-8").replace("---\ncategory", '---\nmood:   "fine"   # mine\ncategory', 1)
    path.write_text(text, "utf-8")
    world.grow(
        PLAIN, "Which index did we need?", "The index must cover tenant_id first because every query filters on it."
    )
    assert [one.id for one in world.run().written] == [id]
    after = path.read_text("utf-8")
    assert 'mood:   "fine"   # mine\n' in after and "tenant_id" in after


def test_a_deleted_note_is_not_written_again_and_not_found(world: World) -> None:
    world.run()
    id = note_id(f"claude:{PLAIN}")
    title = world.note(id).stem
    assert id in {hit.id for hit in world.ask(title, limit=20).hits}
    world.note(id).unlink()
    assert id not in {hit.id for hit in world.ask(title, limit=20).hits}
    world.grow(
        PLAIN, "Once more?", "The lease must be renewed every ten seconds because the broker forgets it otherwise."
    )
    reply = world.run()
    assert [(kept.id, kept.reason) for kept in reply.kept] == [(id, "removed")]
    assert id not in {hit.id for hit in world.ask(title, limit=20).hits}


def test_a_copied_note_is_answered_once_and_from_the_one_vir_wrote(world: World) -> None:
    world.run()
    id = note_id(f"claude:{PLAIN}")
    path = world.note(id)
    copy = path.with_name(f"{path.stem} 2.md")
    copy.write_text(path.read_text("utf-8") + "\nChanged in the copy: xylophone.\n", "utf-8")
    world.run()
    hits = [hit for hit in world.ask(path.stem, limit=20).hits if hit.id == id]
    assert [hit.path for hit in hits] == [str(path.relative_to(world.vault))]
    assert id not in {hit.id for hit in world.ask("xylophone").hits}


def test_a_moved_note_is_found_before_the_next_run(world: World) -> None:
    world.run()
    id = note_id(f"claude:{PLAIN}")
    path = world.note(id)
    target = world.vault / "Archive of mine" / path.name
    target.parent.mkdir()
    path.rename(target)
    hit = next(hit for hit in world.ask(path.stem, limit=20).hits if hit.id == id)
    assert hit.path == f"Archive of mine/{path.name}"


def test_a_lesson_a_person_took_out_of_a_note_is_not_answered(world: World) -> None:
    world.run()
    hit = next(hit for hit in world.ask("ingest worker pool connection timeout", limit=20).hits if hit.block)
    path = world.vault / hit.path
    lines = path.read_text("utf-8").splitlines(keepends=True)
    assert any(f"^{hit.block}" in line for line in lines)
    path.write_text("".join(line for line in lines if f"^{hit.block}" not in line), "utf-8")
    after = world.ask("ingest worker pool connection timeout", limit=20)
    assert hit.block not in {one.block for one in after.hits}
    assert after.hits


def test_many_notes_gone_at_once_stop_the_run_until_a_person_says_so(world: World) -> None:
    first = world.run()
    gone = [world.vault / note.path for note in first.written][:8]
    for path in gone:
        path.unlink()
    tree = world.tree()
    refused = world.cli(*world.run_words("--json"))
    error = json.loads(refused.stdout)["error"]
    assert refused.returncode == 1 and error["kind"] == "conflict" and "--accept-removed" in error["hint"]
    assert world.tree() == tree
    reply = world.run(accept_removed=True)
    assert reply.written == ()
    assert world.run().written == ()


def test_a_withheld_note_is_neither_answered_nor_rewritten(world: World) -> None:
    from vir_core import __version__
    from vir_core.journal import Draft, Journal
    from vir_core.memory import Memory
    from vir_core.vault import adopt, open_vault

    world.run()
    id = note_id(f"claude:{PLAIN}")
    title = world.note(id).stem
    before = world.ask(title, limit=20)
    assert id in {hit.id for hit in before.hits}
    vault = open_vault(world.vault)
    journal = Journal(vault.store, vault.state, vault=vault.id, device=adopt(vault).device, core=__version__)
    with journal.writing("test", Memory) as writer:
        act = Rejected(reason="wrong")
        writer.append([Draft(action="rejected", subject=id, data=act, must=True)], kind="person", surface="test")
    after = world.ask(title, limit=20)
    assert id not in {hit.id for hit in after.hits} and after.excluded.get("suspended") == 1
    assert {hit.id for hit in after.hits} == {hit.id for hit in before.hits} - {id}
    world.grow(PLAIN, "Again?", "The lock must be taken before the read because another worker writes in between.")
    assert [(kept.id, kept.reason) for kept in world.run().kept] == [(id, "judged")]
    assert id not in {hit.id for hit in world.ask(title, limit=20).hits}
    forced = world.run(session=(PLAIN,))
    assert forced.written == () and [kept.reason for kept in forced.kept] == ["judged"]


def test_secrets_of_a_session_reach_no_file(world: World) -> None:
    reply = world.run()
    assert reply.written
    needles = (b"ghp_", b"AKIA", b"xoxb-", b"gezeiten-4711", b"8f3c1d7e", b"mira.lindqvist@", b"/home/mira")
    for root in (world.vault, world.state):
        for path in root.rglob("*"):
            if path.is_file() and path.name != "scan":
                content = path.read_bytes()
                assert not [needle for needle in needles if needle in content], path


def test_every_quote_stands_in_what_was_said(world: World) -> None:
    from vir_core.journal import Texts
    from vir_core.transcripts import condense, read_turns

    reply = world.run()
    said = {
        "codex:" + path.stem[-36:] if "rollout" in path.name else "claude:" + path.stem: path
        for root in (world.claude, world.codex)
        for path in root.rglob("*.jsonl")
    }
    texts = Texts(world.vault / "vir" / "store")
    checked = 0
    for line in world.lines():
        if line["action"] != "note_written":
            continue
        sources = [line["data"]["session"], *(c["subject"] for c in world.lines() if c["action"] == "session_joined")]
        turns = [turn.text for key in sources for turn in condense(read_turns(said[key])).turns]
        for lesson in line["data"]["lessons"]:
            text = texts.get(lesson["evidence"])
            assert text is not None
            quote = text.body.decode().split("\n", 1)[1].split("\n\n")[0]
            assert any(quote.rstrip("\n") in turn for turn in turns), quote
            checked += 1
    assert checked >= len(reply.written)


def test_limit_takes_the_newest_and_counts_the_rest(world: World, noted: set[str]) -> None:
    reply = world.run(limit=2)
    assert reply.skipped["over_limit"] >= len(noted) - 2
    rest = world.run()
    assert {note.session for note in (*reply.written, *rest.written)} == noted


def test_only_and_since_and_session_choose(world: World) -> None:
    dry = world.run(dry_run=True)
    projects = {one.project for one in dry.planned}
    assert {"tidepool", "lantern"} <= projects
    assert {one.project for one in world.run(only=("lantern",)).written} == {"lantern"}
    assert {one.session for one in world.run(session=(PLAIN,)).written} == {f"claude:{PLAIN}"}
    for wrong in ({"only": ("nonesuch",)}, {"session": ("nonesuch",)}, {"since": "yesterday"}):
        with pytest.raises(RequestError):
            world.run(**wrong)


def test_a_dry_run_writes_nothing_at_all(world: World) -> None:
    tree = world.tree()
    state = sorted(str(path) for path in world.state.rglob("*"))
    reply = world.run(dry_run=True)
    assert reply.planned and reply.written == ()
    assert world.tree() == tree
    assert sorted(str(p) for p in world.state.rglob("*") if p.name != "scan") == [
        p for p in state if not p.endswith("scan")
    ]


def test_a_source_that_goes_away_takes_nothing_with_it(world: World) -> None:
    first = world.run()
    shutil.rmtree(world.claude)
    world.claude.mkdir()
    tree = world.tree()
    reply = world.run()
    assert reply.written == () and world.tree() == tree
    assert world.ask("ingest worker").hits
    assert first.written


@pytest.mark.parametrize("kind", ["utf16", "nul", "empty", "folder", "garbage", "surrogate", "unreadable"])
def test_one_bad_file_does_not_cost_the_others(world: World, noted: set[str], kind: str) -> None:
    bad = world.claude / "-home-x" / "5a5a5a5a-0000-4000-8000-00000000000b.jsonl"
    bad.parent.mkdir()
    match kind:
        case "utf16":
            bad.write_text('{"type":"user","message":{"role":"user","content":"hi"}}\n', "utf-16")
        case "nul":
            bad.write_bytes(b"\0" * 5000)
        case "empty":
            bad.touch()
        case "folder":
            bad.mkdir()
        case "garbage":
            bad.write_bytes(os.urandom(4000))
        case "surrogate":
            bad.write_bytes(
                b'{"type":"user","uuid":"u1","timestamp":"2026-11-01T00:00:00Z","message":{"role":"user","content":"\\ud83a"}}\n'
            )
        case _:
            bad.write_text("{}\n")
            bad.chmod(0)
            if os.access(bad, os.R_OK):
                pytest.skip("root reads everything")
    reply = world.run()
    assert {note.session for note in reply.written} == noted
    total = len(reply.written) + len(reply.kept) + reply.unchanged + sum(reply.skipped.values()) + len(reply.failed)
    assert total >= 24


def test_a_vault_without_its_folder_is_a_clear_error(world: World) -> None:
    world.run()
    shutil.rmtree(world.vault / "vir")
    answer = world.cli(*world.run_words("--json"))
    assert answer.returncode == 1 and json.loads(answer.stdout)["error"]["kind"] == "no_vault"
    assert not (world.vault / "vir").exists()


def test_a_half_synced_vault_writes_nothing_of_another_devices(world: World) -> None:
    """Notes are here, their history is not: they wait, are not answered and not written twice."""
    first = world.run()
    ids = {note.id for note in first.written}
    shutil.rmtree(world.vault / "vir" / "store" / "journal")
    shutil.rmtree(world.state)
    notes = {path: digest for path, digest in world.tree().items() if path.endswith(".md")}
    reply = world.run()
    assert reply.written == () and {kept.id for kept in reply.kept} == ids
    assert {kept.reason for kept in reply.kept} == {"waiting"}
    assert {path: digest for path, digest in world.tree().items() if path.endswith(".md")} == notes
    assert world.ask("ingest worker").hits == ()


def test_a_copied_vault_is_only_read_until_a_person_says_what_it_is(world: World, tmp_path: Path) -> None:
    first = world.run()
    copy = tmp_path / "Copy"
    shutil.copytree(world.vault, copy)
    original, world.vault = world.vault, copy
    tree = world.tree()
    answer = world.cli(*world.run_words("--json"))
    assert json.loads(answer.stdout)["error"]["kind"] == "conflict"
    found = world.ask("ingest worker")
    assert found.hits and found.degraded
    assert world.tree() == tree
    assert world.cli("init", "--vault", str(copy), "--copied", "--json").returncode == 0
    again = world.run()
    assert again.written == () and again.unchanged == len(first.written)
    assert world.ask("ingest worker").degraded is None
    world.vault = original
    assert world.run().unchanged == len(first.written)


def test_a_moved_vault_goes_on_silently(world: World, tmp_path: Path) -> None:
    first = world.run()
    moved = tmp_path / "Moved"
    world.vault.rename(moved)
    world.vault = moved
    assert world.ask("ingest worker").hits
    assert world.run().unchanged == len(first.written)
    assert world.ask("ingest worker").degraded is None


@pytest.mark.parametrize("early", ["The limit is", ""])
def test_a_session_read_before_the_answer_came_is_taken_again(world: World, early: str) -> None:
    """The last prompt had no answer yet, and no other prompt ever follows."""
    session = "5c5c5c5c-0000-4000-8000-0000000000aa"
    path = next(world.claude.rglob(f"{PLAIN}.jsonl")).with_name(f"{session}.jsonl")
    source = next(world.claude.rglob(f"{PLAIN}.jsonl")).read_text("utf-8").splitlines()
    prompt = next(line for line in source if json.loads(line).get("type") == "user")
    path.write_text(prompt.replace(PLAIN, session).replace('"uuid":"', '"uuid":"f') + "\n", "utf-8")
    first = world.run(session=(session,))
    assert first.written == ()
    assert world.run().skipped["nothing_durable"] >= 1
    world.grow(
        session,
        early or "and?",
        "The worker must fetch first because a pooled connection held over HTTP starves the pool.",
    )
    lines = path.read_text("utf-8").splitlines()
    answer = lines[-1]
    path.write_text("\n".join([lines[0], answer]) + "\n", "utf-8")
    reply = world.run()
    assert [note.session for note in reply.written] == [f"claude:{session}"]
    assert world.run().written == ()
