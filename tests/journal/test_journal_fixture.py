"""`fixtures/journal/v1/` is replayed for ever. This file may grow; nothing in it may be taken out."""

from __future__ import annotations

import filecmp
import json
import runpy
from pathlib import Path
from typing import Any

from vir_core.journal import Journal, Texts

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "journal" / "v1"
SCRIPT = FIXTURE.parent / "make_v1.py"
ACTIONS = {
    "segment_started",
    "note_written",
    "session_settled",
    "session_joined",
    "run_finished",
    "approved",
    "rejected",
    "held",
    "lifted",
    "notes_undone",
    "sealed_by_notary",
    "weather_seen",
}


def test_v1_replays_to_what_it_always_was() -> None:
    wanted = json.loads((FIXTURE / "expected.json").read_text(encoding="utf-8"))
    script: dict[str, Any] = runpy.run_path(str(SCRIPT))
    assert script["expected"](FIXTURE / "store") == wanted
    assert {seen[5] for seen in wanted["seen"].values()} == ACTIONS
    assert wanted["lines"] == len(wanted["seen"]) == 21
    assert (wanted["devices"], wanted["unfinished"], wanted["other_vault"], wanted["damage"]) == (2, 1, 1, 1)
    assert wanted["newer"] == ["9.1.0"]


def test_v1_is_what_its_script_writes(tmp_path: Path) -> None:
    runpy.run_path(str(SCRIPT))["make"](tmp_path)
    committed = {path.relative_to(FIXTURE) for path in FIXTURE.rglob("*") if path.is_file()}
    assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()} == committed
    for name in committed:
        assert filecmp.cmp(FIXTURE / name, tmp_path / name, shallow=False), name


def test_v1_texts_are_found_by_the_digests_of_its_lines() -> None:
    texts = Texts(FIXTURE / "store")
    wanted = json.loads((FIXTURE / "expected.json").read_text(encoding="utf-8"))
    cards = [seen[8] for seen in wanted["seen"].values() if seen[5] == "note_written" and seen[0] == 1]
    assert len(cards) == 4
    for card in cards:
        text = texts.get(card["text"])
        assert text is not None and text.header["title"] and text.body.startswith(b"## Summary")
        evidence = texts.get(card["lessons"][0]["evidence"])
        assert evidence is not None and evidence.header["note"]


def test_v1_can_be_written_on(tmp_path: Path) -> None:
    import shutil

    shutil.copytree(FIXTURE / "store", tmp_path / "store")
    script: dict[str, Any] = runpy.run_path(str(SCRIPT))
    journal = Journal(
        tmp_path / "store", tmp_path / "state", vault=script["VAULT"], device=script["DESK"], core="0.1.0"
    )
    with journal.writing("test", script["Seen"]) as writer:
        assert writer.reading.lines == 21
    assert (tmp_path / "store/journal" / script["DESK"] / "0002.jsonl").read_bytes() == (
        FIXTURE / "store/journal" / script["DESK"] / "0002.jsonl"
    ).read_bytes()
