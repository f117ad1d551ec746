"""The gate: what it says from its file, what newer lines change on top, and what damage does to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.memory.conftest import DEVICES, LESSONS, NOTES, RUNS, at, gate_of, line, lines, note_line
from vir_core.journal import Draft, Journal, Line, Marks, Tail
from vir_core.memory import ROW_BYTES, Memory, build_gate, current_gate, load_gate, memory_of


def tail(*some: Line) -> Tail:
    return Tail(True, list(some), Marks(lines=99))


def test_a_gate_comes_back_from_its_file(tmp_path: Path) -> None:
    some = [
        note_line(NOTES[0], when=1),
        note_line(NOTES[4], when=2, data={"project": "", "body": "ab" * 32}),
        line("held", NOTES[4], {"reason": "resembles"}, when=3, must=True),
        line("rejected", NOTES[0], {"reason": "wrong", "struck": [LESSONS[0]]}, when=4, must=True),
        line("run_finished", RUNS[0], {"written": 2}, when=5),
        line("sealed_by_notary", NOTES[2], {}, when=6, must=True, core="7.0.0"),
    ]
    built = gate_of(some)
    loaded = gate_of(some, tmp_path / "gate")
    for gate in (built, loaded):
        assert len(gate) == 2
        one, other = gate.row(NOTES[0]), gate.row(NOTES[4])
        assert one is not None and other is not None
        assert (one.trust, one.served, one.reason, one.project) == ("unreviewed", True, "", "p00000000000000a")
        assert one.struck == {LESSONS[0]}
        assert (other.trust, other.served, other.reason, other.project) == ("proposed", False, "proposed", "")
        assert other.body == "ab" * 16 and other.approved == ""
        assert gate.row(NOTES[1]) is None and gate.row("nonsense") is None
        assert gate.trusts() == {NOTES[0]: "unreviewed", NOTES[4]: "proposed"}
        assert gate.last_run == at(5) and gate.newer == {NOTES[2]: "7.0.0"}
        assert gate.marks.lines == len(some)


def test_a_row_is_64_bytes(tmp_path: Path) -> None:
    assert ROW_BYTES == 64
    sizes: list[int] = []
    for count in (1, 2, 5):
        gate_of([note_line(note) for note in NOTES[:count]], tmp_path / "gate")
        sizes.append((tmp_path / "gate").stat().st_size)
    assert sizes[1] - sizes[0] == 64 and sizes[2] - sizes[1] == 3 * 64


@given(lines(), st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_gate_with_newer_lines_on_top_is_the_gate_of_all_lines(before: list[Line], data: st.DataObject) -> None:
    later = data.draw(st.sampled_from((1, 20, 41, 60)))
    after = [one for one in data.draw(lines(most=4, first=later)) if one.hash not in {old.hash for old in before}]
    gate = gate_of(before)
    if not gate.extend(tail(*after)):
        return
    assert all(one.at > max((old.at for old in before), default="") for one in after)
    anew = gate_of([*before, *after])
    assert gate.trusts() == anew.trusts()
    assert gate.newer == anew.newer
    for note in (*NOTES, "n0", "weather"):
        assert gate.row(note) == anew.row(note), note


@pytest.mark.parametrize(
    ("act", "value"),
    [
        (line("rejected", NOTES[0], {"reason": "wrong"}, when=9, must=True), "suspended"),
        (line("held", NOTES[0], {"reason": "resembles"}, when=9, must=True), "proposed"),
        (line("held", NOTES[0], {"reason": "superseded"}, when=9, must=True), "superseded"),
        (line("notes_undone", NOTES[0], {"run": RUNS[0]}, when=9, must=True), "archived"),
        (line("sealed_by_notary", NOTES[0], {}, when=9, must=True), "suspended"),
        (line("held", NOTES[0], "?", when=9, must=True), "suspended"),
    ],
)
def test_a_newer_line_withholds_without_a_rebuild(act: Line, value: str) -> None:
    gate = gate_of([note_line(NOTES[0]), note_line(NOTES[1])])
    row = gate.row(NOTES[0])
    assert row is not None and row.served
    assert gate.extend(tail(act))
    row, other = gate.row(NOTES[0]), gate.row(NOTES[1])
    assert row is not None and (row.trust, row.served, row.reason) == (value, False, value)
    assert other is not None and other.served
    assert gate.marks.lines == 99


def test_a_stop_is_not_weakened_by_what_comes_after_it() -> None:
    flagged = line("held", NOTES[0], {"reason": "flagged"}, when=2, must=True)
    undone = line("notes_undone", NOTES[0], {"run": RUNS[0]}, when=9, must=True)
    gate = gate_of([note_line(), flagged])
    assert gate.extend(tail(undone))
    assert gate.trusts() == {NOTES[0]: "suspended"}
    gate = gate_of([note_line()])
    assert gate.extend(tail(undone, line("held", NOTES[0], {}, when=10, must=True)))
    assert gate.trusts() == {NOTES[0]: "suspended"}


def test_a_lesson_struck_after_the_gate_was_built_is_known_beside_the_older_ones() -> None:
    first = line("rejected", NOTES[0], {"struck": [LESSONS[0]]}, when=2, must=True)
    gate = gate_of([note_line(), first])
    assert gate.extend(tail(line("rejected", NOTES[0], {"struck": [LESSONS[1]]}, when=9, must=True)))
    row = gate.row(NOTES[0])
    assert row is not None and row.served and row.struck == set(LESSONS[:2])


@pytest.mark.parametrize(
    "act",
    [
        note_line(NOTES[1], when=9),
        note_line(NOTES[0], when=9),
        line("approved", NOTES[0], {}, when=9),
        line("approved", NOTES[0], {}, when=9, must=True),
        line("lifted", NOTES[0], {}, when=9),
        line("weather_seen", NOTES[0], {}, when=9),
        line("held", NOTES[0], {}, when=5, must=True, device=DEVICES[1]),
        line("held", NOTES[0], {}, when=2, must=True, device=DEVICES[1]),
    ],
    ids=["another note", "the note again", "approved", "binding approval", "lifted", "newer", "same stamp", "late"],
)
def test_what_may_admit_or_came_late_means_building_anew(act: Line) -> None:
    assert not gate_of([note_line(when=5)]).extend(tail(act))
    assert gate_of([note_line(when=5)]).extend(tail(line("held", NOTES[0], {}, when=6, must=True)))


def test_lines_that_speak_of_no_note_leave_the_rows_alone() -> None:
    gate = gate_of([note_line()])
    before = gate.row(NOTES[0])
    some = [
        line("session_settled", "claude:s1", {"outcome": "noted"}, when=9),
        line("session_joined", "claude:s1", {"into": "claude:s2"}, when=10),
        line("segment_started", "v1", {"vault": "v1", "device": "d1", "n": 2}, when=11, must=True),
        line("run_finished", RUNS[0], {"written": 1}, when=12),
    ]
    assert gate.extend(tail(*some))
    assert gate.row(NOTES[0]) == before and gate.last_run == at(12)


def test_a_note_whose_line_names_no_digest_still_has_a_row() -> None:
    gate = gate_of([note_line(data={"body": "zzz", "project": "odd"}), note_line("weather", when=2)])
    row = gate.row(NOTES[0])
    assert row is not None and row.served and row.body == "0" * 32
    assert gate.row("weather") is None and list(gate.trusts()) == [NOTES[0]]


def test_a_damaged_gate_is_no_gate(tmp_path: Path, rng: Any) -> None:
    path = tmp_path / "gate"
    assert load_gate(path) is None
    gate_of([note_line(note) for note in NOTES], path)
    whole = path.read_bytes()
    assert load_gate(path) is not None
    for size in (0, 4, 8, 11, 12, 15, 16, 40, len(whole) - 64, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert load_gate(path) is None, size
    path.write_bytes(whole + b"\0" * 64)
    assert load_gate(path) is None
    for place in rng.sample(range(len(whole)), 60):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        assert load_gate(path) is None, place
    path.unlink()
    path.mkdir()
    assert load_gate(path) is None


def test_the_gate_on_disk_follows_the_journal(tmp_path: Path) -> None:
    store, state = tmp_path / "store", tmp_path / "state"
    store.mkdir()
    journal = Journal(store, state, vault="v" + "1" * 15, device=DEVICES[0], core="0.1.0")
    path = state / "gate"

    def say(action: str, data: object, *, must: bool = False) -> None:
        with journal.writing("test", Memory) as writer:
            writer.append([Draft(action, NOTES[0], data, must=must)], kind="vir", surface="test")  # pyright: ignore

    say("note_written", {**_payload(), "body": "cd" * 32})
    gate, anew = current_gate(journal, path)
    assert anew and gate.trusts() == {NOTES[0]: "unreviewed"}
    reading = journal.read(memory_of(journal))
    journal.save_checkpoint(reading, {"gate": build_gate(reading)[1]})
    assert current_gate(journal, path)[1] is False
    say("held", {"reason": "flagged"}, must=True)
    gate, anew = current_gate(journal, path)
    assert not anew and gate.trusts() == {NOTES[0]: "suspended"}
    say("note_written", {**_payload(), "body": "ef" * 32})
    gate, anew = current_gate(journal, path)
    row = gate.row(NOTES[0])
    assert anew and row is not None and row.body == "ef" * 16 and not row.served
    # A past that is not the one the gate was built from is never built upon.
    reading = journal.read(memory_of(journal))
    journal.save_checkpoint(reading, {"gate": build_gate(reading)[1]})
    [segment] = (store / "journal" / DEVICES[0]).iterdir()
    segment.write_bytes(b"".join(segment.read_bytes().splitlines(keepends=True)[:2]))
    gate, anew = current_gate(journal, path)
    assert anew and gate.trusts() == {NOTES[0]: "suspended"}


def _payload() -> dict[str, Any]:
    return {
        "text": "1" * 64,
        "words": "2" * 64,
        "category": "tool",
        "project": "p00000000000000a",
        "date": "2026-11-01",
        "session": "claude:s1",
    }
