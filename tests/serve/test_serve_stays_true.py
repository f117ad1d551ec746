"""A warm serve never answers from what was true a moment ago."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.conftest import World
from tests.serve.conftest import Serve
from tests.serve.other import write_elsewhere
from vir_core.vault import open_vault

Serving = Callable[..., Serve]
QUESTION = "why does the ingest worker hang"
BROAD = "test"


def ids(reply: Any) -> list[str]:
    return [hit["id"] for hit in reply["hits"]]


def test_a_reject_in_another_process_is_in_the_next_answer(serving: Serving, world: World) -> None:
    serve = serving()
    before = serve.call("query", text=BROAD, limit=20, budget=0)
    first, second, third = ids(before)[:3]
    write_elsewhere(world.vault, "rejected", first, reason="wrong")
    after = serve.call("query", text=BROAD, limit=20, budget=0)
    assert ids(after) == [id for id in ids(before) if id != first]
    assert sum(after["excluded"].values()) == 1
    write_elsewhere(world.vault, "held", second, reason="flagged")
    assert second not in ids(serve.call("query", text=BROAD, limit=20))
    [lesson] = [hit for hit in before["hits"] if hit["id"] == third]
    if lesson["block"]:
        write_elsewhere(world.vault, "rejected", third, struck=[lesson["block"]])
        shown = serve.call("query", text=BROAD, limit=20, budget=0)["hits"]
        assert lesson["block"] not in {hit["block"] for hit in shown}
    assert serve.call("query", text=first)["hits"] == [] == serve.call("query", text=second)["hits"]
    assert serve.call("query", text=third)["hits"]


def test_what_another_process_writes_is_found(serving: Serving, world: World) -> None:
    session = next(line for line in world.lines() if line["action"] == "session_settled")["subject"]
    serve = serving()
    assert serve.call("query", text="quokka")["hits"] == []
    world.grow(
        session.partition(":")[2],
        "why does the quokka cache lose entries",
        "The quokka cache loses entries because the eviction timer runs twice. Fixed by starting it once.",
    )
    assert world.run().written
    assert serve.call("query", text="quokka cache")["hits"]


def test_a_moved_an_edited_and_a_deleted_note(serving: Serving, world: World) -> None:
    serve = serving()
    best = serve.call("query", text=QUESTION)["hits"][0]
    note = world.vault / best["path"]
    moved = world.vault / "Elsewhere" / "Renamed.md"
    moved.parent.mkdir()
    note.rename(moved)
    assert serve.call("query", text=QUESTION)["hits"][0]["path"] == "Elsewhere/Renamed.md"
    text = moved.read_text("utf-8")
    moved.write_text(text.replace("hang", "stall").replace("hung", "stalled"), "utf-8")
    assert "hung" not in serve.call("query", text=QUESTION)["hits"][0]["snippet"]
    moved.unlink()
    gone = serve.call("query", text=QUESTION)
    assert best["id"] not in ids(gone) and gone["excluded"] == {"absent": 1}


def test_settings_are_read_for_every_answer(serving: Serving, world: World) -> None:
    serve = serving()
    log = open_vault(world.vault).state / "queries.jsonl"
    serve.call("query", text=QUESTION)
    size = log.stat().st_size
    config = world.vault / "vir" / "store" / "config.yaml"
    config.write_text(config.read_text("utf-8") + "queries: off\n", "utf-8")
    serve.call("query", text=QUESTION)
    assert log.stat().st_size == size
    assert '"surface":"serve"' in log.read_text("utf-8")


def test_the_index_may_go_be_damaged_or_be_made_anew_under_it(serving: Serving, world: World) -> None:
    state = open_vault(world.vault).state
    serve = serving()
    expected = ids(serve.call("query", text=BROAD, limit=20))
    shutil.rmtree(state / "index")
    assert ids(serve.call("query", text=BROAD, limit=20)) == expected
    for path in (state / "index").rglob("*"):
        if path.is_file() and path.name != "meta.json":
            path.write_bytes(b"damaged")
    reply = serve.call("query", text=BROAD, limit=20)
    assert set(ids(reply)) == set(expected)
    for name in ("gate", "checkpoint", "seen", "indexed"):
        (state / name).unlink(missing_ok=True)
    assert set(ids(serve.call("query", text=BROAD, limit=20))) == set(expected)
    assert not (world.vault / "vir" / "store" / "index").exists()


def test_the_whole_state_folder_may_go(serving: Serving, world: World) -> None:
    serve = serving()
    expected = set(ids(serve.call("query", text=BROAD, limit=20)))
    shutil.rmtree(open_vault(world.vault).state)
    reply = serve.call("query", text=BROAD, limit=20)
    assert set(ids(reply)) == expected and reply["degraded"]


@pytest.fixture
def unread(tmp_path: Path) -> World:
    """A vault that no run has written to yet."""
    return World(tmp_path / "unread")


def test_a_run_does_not_keep_questions_waiting(unread: World) -> None:
    sources = {"claude_dir": [str(unread.claude)], "codex_dir": [str(unread.codex)]}
    serve = Serve("--vault", str(unread.vault))
    try:
        run = serve.start("run", **sources)
        answered = 0
        while run not in serve.answers and answered < 1000:
            serve.call("query", text=QUESTION)
            answered += 1
        assert answered >= 3
        assert serve.wait(run)["result"]["written"]
        assert serve.call("query", text=QUESTION)["hits"]
        assert {notice["method"] for notice in serve.notices} == {"$/progress"}
        assert {notice["params"]["id"] for notice in serve.notices} == {run}
        assert {"stage", "done", "total"} <= serve.notices[0]["params"].keys()
    finally:
        serve.close()


def test_many_questions_at_once_are_each_answered(serving: Serving) -> None:
    serve = serving()
    expected = {text: ids(serve.call("query", text=text)) for text in (QUESTION, BROAD, "terraform state", "banana")}
    asked = {serve.start("query", text=text): text for _ in range(25) for text in expected}
    for id, text in asked.items():
        assert ids(serve.wait(id)["result"]) == expected[text]


def test_a_cancelled_run_is_answered_as_that_and_goes_on_later(unread: World) -> None:
    sources = {"claude_dir": [str(unread.claude)], "codex_dir": [str(unread.codex)]}
    serve = Serve("--vault", str(unread.vault))
    try:
        run = serve.start("run", **sources)
        serve.send(b'{"jsonrpc":"2.0","method":"$/cancel","params":{"id":%d}}\n' % run)
        error = serve.wait(run)["error"]
        assert error["code"] == -32800 and error["data"]["kind"] == "cancelled"
        assert serve.call("query", text=QUESTION)["hits"] == []
        assert serve.call("run", **sources)["failed"] == []
        assert serve.call("query", text=QUESTION)["hits"]
    finally:
        serve.close()


def test_scope_is_fixed_at_the_start(serving: Serving, world: World) -> None:
    free = serving()
    every = free.call("query", text=BROAD, limit=50, budget=0)["hits"]
    projects = {info["name"]: info["id"] for info in free.call("projects")["projects"]}
    own, other = projects["tidepool"], projects["lantern"]
    bound = serving("--scope", f"project:{own}")
    inside = bound.call("query", text=BROAD, limit=50, budget=0)
    assert {hit["id"] for hit in inside["hits"]} == {hit["id"] for hit in every if hit["project"] == "tidepool"}
    assert inside["hits"] and inside["excluded"] == {}
    assert bound.call("query", text=BROAD, project=[other, own])["hits"]
    assert bound.call("query", text=BROAD, project=[other])["hits"] == []
    foreign = next(hit for hit in every if hit["project"] == "lantern")
    assert bound.call("query", text=foreign["id"])["hits"] == []
    for verb, params in (("history", {"id": foreign["id"]}), ("doctor", {}), ("sessions", {}), ("runs", {})):
        refused = bound.wait(bound.start(verb, **params))["error"]
        assert refused["data"]["kind"] == "invalid_request" and "every project" in refused["message"]
    narrower = serving("--scope", f"project:{own}", env={"VIR_SCOPE": f"project:{other}"})
    assert narrower.call("query", text=BROAD)["hits"] == []
    wrong = serving("--scope", "everything")
    assert wrong.process.wait(30) == 2
