"""The query log: kept on this machine, bounded, never in the way."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.ingest.conftest import PROJECT
from vir_core.memory import Asked, Shown, erase_shown, read_asked, record_asked, shown_counts, shown_words
from vir_core.memory import shown as log

NOTES = ("n000000000000001", "n000000000000002", "n000000000000003")


def asked(text: str, *notes: str, at: str = "2026-11-30T10:00:00.000Z", where: str = "api-server") -> Asked:
    return Asked(at=at, verb="query", surface="cli", text=text, notes=notes, where=where)


def test_what_was_shown_is_counted_with_its_latest_place(tmp_path: Path) -> None:
    assert shown_counts(tmp_path) == {} and read_asked(tmp_path) == []
    assert record_asked(tmp_path, asked("why", NOTES[0], NOTES[1]))
    assert record_asked(tmp_path, asked("how", NOTES[0], at="2026-11-30T11:00:00.000Z", where="web"))
    assert record_asked(tmp_path, asked("nothing", at="2026-11-30T12:00:00.000Z"))
    counts = shown_counts(tmp_path)
    assert counts == {
        NOTES[0]: Shown(2, "2026-11-30T11:00:00.000Z", "web"),
        NOTES[1]: Shown(1, "2026-11-30T10:00:00.000Z", "api-server"),
    }
    assert [one.text for one in read_asked(tmp_path)] == ["why", "how", "nothing"]
    assert stat.S_IMODE((tmp_path / "queries.jsonl").stat().st_mode) == 0o600


def test_the_sentence_about_a_note() -> None:
    now = datetime(2026, 12, 1, 9, tzinfo=UTC)
    assert shown_words(Shown(7, "2026-11-30T10:00:00.000Z", "api-server"), now) == (
        "shown 7 times, last yesterday in api-server"
    )
    assert shown_words(Shown(1, "2026-12-01T08:00:00.000Z"), now) == "shown once, today"
    assert shown_words(Shown(2, "2026-11-20T10:00:00.000Z", "web"), now) == "shown 2 times, last 11 days ago in web"
    assert shown_words(Shown(2, "2026-01-20T10:00:00.000Z"), now) == "shown 2 times, last on 2026-01-20"
    assert shown_words(Shown(2, "soon"), now) == "shown 2 times, last some time ago"
    assert shown_words(None, now) == ""


def test_a_missing_or_refusing_folder_costs_the_line_and_nothing_else(tmp_path: Path) -> None:
    assert not record_asked(tmp_path / "nowhere", asked("why"))
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "queries.jsonl").mkdir()
    assert not record_asked(tmp_path, asked("why"))
    assert read_asked(tmp_path) == []


def test_half_a_line_and_a_newer_field_cost_nothing_else(tmp_path: Path) -> None:
    record_asked(tmp_path, asked("first", NOTES[0]))
    with (tmp_path / "queries.jsonl").open("ab") as file:
        file.write(b'{"at":"2026","verb":"query","surface":"cli","text":"later","weather":[1]}\n{"at":"20\n\xff\n\n')
    record_asked(tmp_path, asked("second", NOTES[0]))
    assert [one.text for one in read_asked(tmp_path)] == ["first", "later", "second"]


def test_a_pasted_log_is_kept_by_its_beginning(tmp_path: Path) -> None:
    record_asked(tmp_path, asked("x" * 100_000))
    [one] = read_asked(tmp_path)
    assert len(one.text) == log.MOST_TEXT + 1


def test_the_log_begins_anew_and_keeps_the_part_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locks").mkdir()
    monkeypatch.setattr(log, "SEAL", 1000)
    for number in range(40):
        record_asked(tmp_path, asked(f"question {number}", NOTES[0]))
    assert (tmp_path / "queries.jsonl").stat().st_size < 1000 if (tmp_path / "queries.jsonl").exists() else True
    assert (tmp_path / "queries.1.jsonl").stat().st_size < 1300
    kept = [one.text for one in read_asked(tmp_path)]
    assert kept[-1] == "question 39" and 5 < len(kept) < 20


def test_two_processes_write_side_by_side(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from vir_core.memory import Asked, record_asked\n"
        "for n in range(300): assert record_asked(Path(sys.argv[1]), Asked(at='2026', verb='query', surface='cli',"
        " text=f'{sys.argv[2]} {n} ' + 'w' * 300))"
    )
    env = {**os.environ, "PYTHONPATH": str(PROJECT)}
    both = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name], env=env) for name in "ab"]
    assert [one.wait(60) for one in both] == [0, 0]
    texts = {" ".join(one.text.split()[:2]) for one in read_asked(tmp_path)}
    assert texts == {f"{name} {number}" for name in "ab" for number in range(300)}


def test_a_forgotten_note_leaves_the_log(tmp_path: Path) -> None:
    record_asked(tmp_path, asked("only it", NOTES[0]))
    record_asked(tmp_path, asked("both", NOTES[0], NOTES[1]))
    record_asked(tmp_path, asked("another", NOTES[2]))
    record_asked(tmp_path, asked(f"what became of {NOTES[0]}"))
    assert erase_shown(tmp_path, [NOTES[0]]) == 3
    assert [one.text for one in read_asked(tmp_path)] == ["another"]
    assert NOTES[0].encode() not in (tmp_path / "queries.jsonl").read_bytes()
    assert erase_shown(tmp_path, [NOTES[0]]) == 0
    (tmp_path / "queries.jsonl").rename(tmp_path / "queries.1.jsonl")
    assert erase_shown(tmp_path, [NOTES[2]]) == 1 and read_asked(tmp_path) == []
