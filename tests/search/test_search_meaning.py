"""Questions asked in other words than the notes'."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ingest.conftest import PROJECT, World
from vir_core.contract import IndexRequest, QueryReply, QueryRequest, RunRequest
from vir_core.ingest import run
from vir_core.machine import Busy, hold
from vir_core.search import query
from vir_core.upkeep import index
from vir_core.vault import open_vault


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def vault(world: World, monkeypatch: pytest.MonkeyPatch) -> str:
    """A vault after a run with the built-in embedder."""
    monkeypatch.setenv("VIR_EMBEDDER", "minilm")
    reply = run(RunRequest(vault=str(world.vault), claude_dir=(str(world.claude),), codex_dir=(str(world.codex),)))
    assert reply.written
    assert reply.embedding is not None
    assert (reply.embedding.waiting, reply.embedding.why) == (0, None)
    assert reply.embedding.embedded
    return str(world.vault)


def ask(vault: str, text: str) -> QueryReply:
    return query(QueryRequest(vault=vault, text=text))


OTHER_WORDS = "background job gets stuck because it keeps a database session open during a network request"


def test_other_words_find_the_note_and_the_hit_says_why(vault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = ask(vault, OTHER_WORDS)
    assert (reply.method, reply.degraded) == ("hybrid", None)
    assert reply.hits[0].id == "n95535f35c3f77d3"
    why = reply.hits[0].why
    assert why is not None
    assert why.meaning_rank == 1
    assert why.cosine is not None and 0.3 < why.cosine <= 1
    monkeypatch.setenv("VIR_EMBEDDER", "off")
    by_words = ask(vault, OTHER_WORDS)
    assert (by_words.method, by_words.degraded) == ("lexical", None)
    assert [hit.id for hit in by_words.hits] != [hit.id for hit in reply.hits]
    found = ask(vault, "why does the ingest worker hang")
    assert found.hits[0].why is not None
    assert (found.hits[0].why.words_rank, found.hits[0].why.cosine) == (1, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "the of and to",
        '"foo/bar-baz:*(',
        "^(a|b)*$",
        "🦄🦄🦄",
        "\0",
        "?!?!",
        "roast chicken with lemon",
        "עברית",
        "a" * 100_000,
    ],
)
def test_anything_may_be_asked_and_what_means_nothing_here_finds_nothing(vault: str, text: str) -> None:
    reply = ask(vault, text)
    assert reply.hits == ()
    assert reply.degraded is None
    assert ask(vault, "ingest worker " + text).hits


def test_missing_vectors_are_said_and_words_answer(vault: str) -> None:
    folder = open_vault(Path(vault)).state / "index"
    (folder / "vectors.json").unlink()
    reply = ask(vault, "why does the ingest worker hang")
    assert reply.hits[0].id == "n95535f35c3f77d3"
    assert reply.method == "lexical"
    assert "index embed" in (reply.degraded or "")
    status = index(IndexRequest(vault=vault, action="status"))
    assert status.embedding is not None and status.embedding.waiting == status.passages
    done = index(IndexRequest(vault=vault, action="embed"))
    assert done.embedding is not None and done.embedding.waiting == 0
    assert ask(vault, OTHER_WORDS).method == "hybrid"


def test_a_dead_service_costs_meaning_and_nothing_else(vault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIR_EMBEDDER")
    config = open_vault(Path(vault)).store / "config.yaml"
    config.write_text(config.read_text() + 'embedder: "ollama nomic"\nembedder_url: "http://127.0.0.1:9"\n')
    reply = ask(vault, "why does the ingest worker hang")
    assert reply.hits[0].id == "n95535f35c3f77d3"
    assert reply.method == "lexical"
    assert "embedded by all-MiniLM" in (reply.degraded or "")
    assert reply.excluded["other_model"] > 0
    done = index(IndexRequest(vault=vault, action="embed"))
    assert done.embedding is not None
    assert "127.0.0.1:9" in (done.embedding.why or "")
    config.write_text(config.read_text().replace("ollama nomic", "elephant"))
    assert "names no embedder" in (ask(vault, "ingest worker").degraded or "")


def test_a_withheld_note_does_not_come_back_by_its_meaning(vault: str) -> None:
    before = ask(vault, OTHER_WORDS)
    path = Path(vault) / before.hits[0].path
    kept = path.read_bytes()
    path.unlink()
    gone = ask(vault, OTHER_WORDS)
    assert before.hits[0].id not in [hit.id for hit in gone.hits]
    assert gone.excluded.get("absent") == 1
    path.write_bytes(kept)
    assert ask(vault, OTHER_WORDS).hits[0].id == before.hits[0].id


def test_a_broken_index_is_made_anew_and_that_is_said(vault: str) -> None:
    folder = open_vault(Path(vault)).state / "index"
    meta = json.loads((folder / "meta.json").read_bytes())
    damages = {
        "unreadable": lambda: (folder / "meta.json").write_bytes(b"{"),
        "stale": lambda: (folder / "meta.json").write_bytes(json.dumps({**meta, "layout": 99}).encode()),
        "missing": lambda: (folder / "meta.json").unlink(),
    }
    for state, damage in damages.items():
        damage()
        assert index(IndexRequest(vault=vault, action="status")).state == state
        done = index(IndexRequest(vault=vault, action="rebuild"))
        assert (done.was, done.state) == (state, "ready")
        assert done.embedding is not None and (done.embedding.embedded, done.embedding.waiting) == (0, 0)
        assert ask(vault, OTHER_WORDS).hits[0].id == "n95535f35c3f77d3"


def test_two_rebuilds_at_once_do_not_mix(vault: str) -> None:
    with hold(open_vault(Path(vault)).state / "locks" / "run.lock", "index"):
        with pytest.raises(Busy):
            index(IndexRequest(vault=vault, action="rebuild"))
        # Looking and asking wait for nobody.
        assert index(IndexRequest(vault=vault, action="status")).state == "ready"
        assert ask(vault, OTHER_WORDS).hits


KILLED = """
import os, sys
from vir_core.index import native
store = native.store()
create = type(store).create
def dying(self, folder, batches, tokenizers, table="passages"):
    create(self, folder, batches, tokenizers, table)
    os.kill(os.getpid(), 9)
type(store).create = dying
from vir_core.contract import IndexRequest
from vir_core.upkeep import index
index(IndexRequest(vault=sys.argv[1], action="rebuild"))
"""


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_a_killed_rebuild_leaves_the_old_answers(vault: str) -> None:
    before = [hit.id for hit in ask(vault, OTHER_WORDS).hits]
    done = subprocess.run([sys.executable, "-c", KILLED, vault], cwd=PROJECT, capture_output=True, timeout=120)
    assert done.returncode == -9, done.stderr
    reply = ask(vault, OTHER_WORDS)
    assert ([hit.id for hit in reply.hits], reply.degraded) == (before, None)
    assert index(IndexRequest(vault=vault, action="rebuild")).state == "ready"


def test_a_second_run_embeds_nothing_and_writes_nothing(vault: str, world: World) -> None:
    state = open_vault(Path(vault)).state / "index"
    before = {path: path.stat().st_mtime_ns for path in state.rglob("*")}
    again = run(RunRequest(vault=vault, claude_dir=(str(world.claude),), codex_dir=(str(world.codex),)))
    assert again.embedding is not None
    assert again.embedding.embedded == 0
    assert {path: path.stat().st_mtime_ns for path in state.rglob("*")} == before
