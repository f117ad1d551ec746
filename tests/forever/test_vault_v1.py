"""A vault made by the first version opens unchanged, for ever. These tests may be added to and never weakened."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from vir_core import __version__
from vir_core.contract import DoctorRequest, QueryRequest, RunRequest, RunsRequest
from vir_core.ingest import run
from vir_core.journal import Journal, Texts
from vir_core.memory import Memory
from vir_core.search import query
from vir_core.upkeep import doctor, runs
from vir_core.vault import open_vault, resolve

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    place = tmp_path / "Notes"
    shutil.copytree(FIXTURES / "vault-v1" / "Notes", place)
    (place / ".obsidian").mkdir(exist_ok=True)
    return place


@pytest.fixture
def expected() -> dict[str, Any]:
    return json.loads((FIXTURES / "vault-v1" / "expected.json").read_text("utf-8"))


def tree(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def ask(vault: Path, text: str) -> dict[str, set[str]]:
    """Note id to the lesson blocks that answered, over many questions' worth of hits."""
    reply = query(QueryRequest(text=text, vault=str(vault), limit=50))
    found: dict[str, set[str]] = {}
    for hit in reply.hits:
        found.setdefault(hit.id, set()).add(hit.block)
    return found


def test_every_line_is_understood_and_means_what_it_meant(vault: Path, expected: dict[str, Any]) -> None:
    opened = open_vault(vault)
    journal = Journal(opened.store, None, vault=opened.id, device=resolve(opened).device, core=__version__)
    reading = journal.read(Memory)
    memory = reading.projection
    assert reading.damage.total == 0 and reading.lines == expected["lines"]
    assert memory.newer == {} and memory.state.unreadable == 0
    assert {id: memory.trust(note) for id, note in memory.notes.items() if note.written} == expected["trust"]
    texts = Texts(opened.store)
    for note in memory.notes.values():
        assert note.written is not None
        text = texts.get(note.written.text)
        assert text is not None and text.header["title"] and b"## Summary" in text.body


def test_a_new_machine_answers_from_it_and_writes_no_byte(vault: Path, expected: dict[str, Any]) -> None:
    before = tree(vault)
    trust = expected["trust"]
    served = {id for id, value in trust.items() if value == "unreviewed"} - {expected["removed"]}
    words = (
        "the root cause connection index server because test data file error decision 输入法 Ursache rule import state"
    )
    found = set(ask(vault, words)) | set(ask(vault, "Pods Datenbankwartung")) | set(ask(vault, "输入法 备注"))
    assert found and found <= served
    withheld = set(trust) - served
    for id in withheld:
        assert id not in found
    assert tree(vault) == before


def test_a_run_over_the_same_sessions_finds_nothing_new(vault: Path, expected: dict[str, Any]) -> None:
    before = tree(vault)
    reply = run(
        RunRequest(
            vault=str(vault),
            claude_dir=(str(FIXTURES / "transcripts" / "claude" / "projects"),),
            codex_dir=(str(FIXTURES / "transcripts" / "codex" / "sessions"),),
        )
    )
    assert reply.written == () and reply.failed == () and reply.kept == ()
    assert reply.unchanged == len(expected["trust"])
    assert tree(vault) == before
    blocks = ask(vault, "readings index migration concurrently planner predicate")
    struck, lesson = expected["struck"]
    assert lesson not in blocks.get(struck, set())


def test_doctor_and_runs_read_it(vault: Path, expected: dict[str, Any]) -> None:
    reply = doctor(DoctorRequest(vault=str(vault), claude_dir=(str(FIXTURES / "transcripts" / "claude" / "projects"),)))
    assert reply.vault is not None and reply.journal is not None
    assert reply.vault.notes == len(expected["trust"]) - 1 and reply.vault.removed == 1
    assert reply.vault.states["Put away"] == expected["undone"]
    assert reply.vault.states["Needs another look"] == 2
    assert reply.journal.damaged == 0
    listed = runs(RunsRequest(vault=str(vault))).runs
    assert sum(one.written for one in listed) == len(expected["trust"])
    assert sum(one.undone for one in listed) == expected["undone"]
