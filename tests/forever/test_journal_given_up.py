"""`fixtures/journal/v1-given-up/` is replayed for ever: what was given up stays given up. This file may grow; nothing in it
may be taken out."""

from __future__ import annotations

import json
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

from vir_core.journal import Journal, Marks
from vir_core.memory import Memory, understands

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "journal" / "v1-given-up"
WANTED: dict[str, Any] = json.loads((FIXTURE / "expected.json").read_text("utf-8"))


@pytest.fixture
def seen() -> type[Any]:
    return runpy.run_path(str(FIXTURE.parent / "make_v1_given_up.py"))["Seen"]


def journal(base: Path, *, with_state: bool = True) -> Journal:
    state = base / "state" if with_state else None
    return Journal(base / "store", state, vault=WANTED["vault"], device=WANTED["device"], core="0.1.0")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("store", "state"):
        shutil.copytree(FIXTURE / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("with_state", [True, False])
def test_what_was_given_up_is_in_no_answer(copy: Path, seen: type[Any], with_state: bool) -> None:
    reading = journal(copy, with_state=with_state).read(seen)
    assert reading.projection.lines == WANTED["seen"]
    assert (reading.lines, reading.newest, reading.missing) == (WANTED["lines"], WANTED["newest"], 0)
    assert reading.damage.total == 0
    subjects = {subject for _, _, subject, _ in reading.projection.lines.values()}
    assert len(WANTED["given_up"]) == 3 and not subjects & set(WANTED["given_up"])
    assert [row[3]["count"] for row in WANTED["seen"].values() if row[1] == "lines_given_up"] == [3]


def test_line_that_says_so_is_understood_and_withholds_nothing(copy: Path) -> None:
    mine = journal(copy)
    lines = mine.since(Marks()).lines
    assert {line.action for line in lines} == {"segment_started", "held", "lines_given_up"}
    assert all(understands(line) for line in lines)
    memory = mine.read(Memory).projection
    held = {row[2] for row in WANTED["seen"].values() if row[1] == "held"}
    assert set(memory.notes) == held and len(held) == 3


def test_next_writer_brings_nothing_back_and_what_was_given_up_is_kept(copy: Path, seen: type[Any]) -> None:
    before = {path: path.read_bytes() for path in copy.rglob("*.jsonl")}
    desk = journal(copy)
    healed = desk.heal(seen)
    assert (healed.given_back, healed.completed, healed.given_up, healed.others) == (0, 0, 0, 0)
    assert {path: path.read_bytes() for path in copy.rglob("*.jsonl")} == before
    kept = b"".join(path.read_bytes() for path in sorted((copy / "state" / "retired").glob("*.jsonl")))
    subjects = {json.loads(line)["subject"] for line in kept.splitlines()}
    assert subjects == set(WANTED["given_up"])
    assert desk.verify(knows=understands).sound
