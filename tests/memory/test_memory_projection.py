"""Applying lines: any order gives the same state, and what withholds works whatever comes with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.memory.conftest import DEVICES, LESSONS, NOTES, RUNS, SESSIONS, line, lines, memory_of, note_line
from vir_core.journal import Draft, Journal, Line
from vir_core.memory import Memory


@given(st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_order_of_lines_gives_the_same_state(data: st.DataObject) -> None:
    some = data.draw(lines())
    shuffled = data.draw(st.permutations(some))
    one, other = memory_of(some), memory_of(shuffled)
    assert one.state == other.state
    assert one.dump() == other.dump()
    for key in SESSIONS:
        assert one.root_of(key) == other.root_of(key)


@given(lines(), lines(first=20))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_saved_state_goes_on_where_it_was(before: list[Line], after: list[Line]) -> None:
    resumed = Memory()
    resumed.load(memory_of(before).dump())
    for one in after:
        resumed.apply(one)
    assert resumed.dump() == memory_of([*before, *after]).dump()


def test_a_line_that_lies_twice_in_the_journal_counts_once(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    journal = Journal(store, tmp_path / "state", vault="v" + "1" * 15, device=DEVICES[0], core="0.1.0")
    with journal.writing("test", Memory) as writer:
        drafts = [Draft("approved", NOTES[0], {}), Draft("notes_undone", NOTES[0], {"run": RUNS[0]}, must=True)]
        writer.append(drafts, kind="person", surface="cli")
    [segment] = (store / "journal" / DEVICES[0]).iterdir()
    segment.with_name("0001 (conflicted copy).jsonl").write_bytes(segment.read_bytes())
    memory = journal.read(Memory).projection
    assert len(memory.standing(NOTES[0]).waiting) == 1
    assert memory.runs[RUNS[0]].undone == 1
    with (store / "journal" / DEVICES[0] / "9999.jsonl").open("wb") as more:
        more.write(line("approved", NOTES[0], {}, when=50).raw + b"\n")
    assert len(journal.read(Memory).projection.standing(NOTES[0]).waiting) == 2


@pytest.mark.parametrize(
    ("withheld", "wanted"),
    [
        (line("rejected", NOTES[0], {"reason": "wrong"}, when=2, must=True), "suspended"),
        (line("held", NOTES[0], {"reason": "flagged"}, when=2, must=True), "suspended"),
        (line("held", NOTES[0], {"reason": "resembles"}, when=2, must=True), "proposed"),
        (line("held", NOTES[0], {"reason": "superseded"}, when=2, must=True), "superseded"),
        (line("held", NOTES[0], {"reason": "pruned"}, when=2, must=True), "pruned"),
        (line("held", NOTES[0], {"reason": "a reason of next year"}, when=2, must=True), "suspended"),
        (line("notes_undone", NOTES[0], {"run": RUNS[0]}, when=2, must=True), "archived"),
        (line("sealed_by_notary", NOTES[0], {}, when=2, must=True), "suspended"),
        (line("held", NOTES[0], {"reason": "flagged"}, when=2, must=True, v=2), "suspended"),
        (line("rejected", NOTES[0], {"struck": 7}, when=2, must=True), "suspended"),
        (line("held", NOTES[0], [1, 2], when=2, must=True), "suspended"),
        (line("approved", NOTES[0], "?", when=2, must=True), "suspended"),
    ],
)
def test_what_withholds_a_note_works_at_once(withheld: Line, wanted: str) -> None:
    memory = memory_of([note_line()])
    assert memory.trust(NOTES[0]) == "unreviewed"
    memory.apply(withheld)
    assert memory.trust(NOTES[0]) == wanted
    early = memory_of([withheld, note_line()])
    assert early.trust(NOTES[0]) == wanted


@pytest.mark.parametrize("action", ["approved", "lifted"])
def test_what_admits_waits_for_a_key(action: str) -> None:
    held = line("held", NOTES[0], {"reason": "flagged"}, when=2, must=True)
    admits = line(action, NOTES[0], {}, when=3)
    memory = memory_of([note_line(), held, admits])
    standing = memory.standing(NOTES[0])
    assert (memory.trust(NOTES[0]), len(standing.waiting), standing.verdict) == ("suspended", 1, "none")
    plain = memory_of([note_line(), admits])
    assert (plain.trust(NOTES[0]), len(plain.standing(NOTES[0]).waiting)) == ("unreviewed", 1)
    assert memory_of([note_line()]).trust(NOTES[0]) == "unreviewed"


def test_an_act_of_a_newer_vir_binds_only_when_it_says_so() -> None:
    ignored = memory_of([note_line(), line("weather_seen", NOTES[0], {}, when=2, must=False, core="9.9.9")])
    assert ignored.trust(NOTES[0]) == "unreviewed"
    assert ignored.state.ignored == {"weather_seen": 1} and ignored.newer == {}
    bound = memory_of([note_line(), line("sealed_by_notary", NOTES[0], {}, when=2, must=True, core="9.9.9")])
    assert bound.trust(NOTES[0]) == "suspended"
    assert bound.newer == {NOTES[0]: "9.9.9"} and bound.state.ignored == {}


def test_a_payload_that_does_not_fit_is_counted_and_withholds_when_it_binds() -> None:
    for must, wanted in ((True, "suspended"), (False, "unreviewed")):
        memory = memory_of([note_line(), line("held", NOTES[0], {"reason": []}, when=2, must=must)])
        assert memory.state.unreadable == 1
        assert memory.trust(NOTES[0]) == wanted


def test_a_struck_lesson_leaves_its_note_in_service() -> None:
    struck = line("rejected", NOTES[0], {"reason": "wrong", "struck": [LESSONS[1]]}, when=2, must=True)
    more = line("rejected", NOTES[0], {"reason": "private", "struck": [LESSONS[0], LESSONS[1]]}, when=3, must=True)
    memory = memory_of([note_line(), struck, more])
    standing = memory.standing(NOTES[0])
    assert standing.struck == set(LESSONS[:2])
    assert (memory.trust(NOTES[0]), standing.judged) == ("unreviewed", True)


def test_a_note_written_again_is_back_from_an_undone_run() -> None:
    undone = line("notes_undone", NOTES[0], {"run": RUNS[0]}, when=2, must=True)
    memory = memory_of([note_line(), undone])
    assert memory.standing(NOTES[0]).archived
    memory.apply(note_line(when=3, data={"run": RUNS[1]}))
    assert not memory.standing(NOTES[0]).archived
    assert memory.trust(NOTES[0]) == "unreviewed"
    assert [memory.runs[run].notes for run in RUNS[:2]] == [[NOTES[0]], [NOTES[0]]]


def test_every_body_ever_written_stays_known_and_the_latest_speaks() -> None:
    memory = memory_of([note_line(when=5, data={"body": "b" * 64}), note_line(when=4, data={"body": "a" * 64})])
    note = memory.notes[NOTES[0]]
    assert note.written is not None and note.written.body == "b" * 64
    assert note.bodies == ["a" * 64, "b" * 64]


def test_a_session_is_followed_through_joins_and_through_a_circle() -> None:
    one, two, three = SESSIONS[:3]
    chain = [line("session_joined", one, {"into": two}), line("session_joined", two, {"into": three}, when=2)]
    memory = memory_of(chain)
    assert [memory.root_of(key) for key in (one, two, three, "claude:unheard")] == [
        three,
        three,
        three,
        "claude:unheard",
    ]
    memory.apply(line("session_joined", three, {"into": one}, when=3))
    assert {memory.root_of(key) for key in (one, two, three)} <= {one, two, three}


def test_a_state_that_is_not_one_is_refused() -> None:
    for content in (b"", b"\xc1", b"\x93\x01\x02\x03", json.dumps({"notes": 1}).encode()):
        with pytest.raises((ValueError, TypeError, LookupError)):
            Memory().load(content)


def test_the_committed_journal_reads_as_it_always_did() -> None:
    import runpy

    project = Path(__file__).resolve().parents[2]
    fixture = project / "fixtures" / "journal"
    script: dict[str, Any] = runpy.run_path(str(fixture / "make_v1.py"))
    journal = Journal(fixture / "v1" / "store", None, vault=script["VAULT"], device=script["DESK"], core="0.1.0")
    memory = journal.read(Memory).projection
    trusts = sorted(memory.trust(note) for note in memory.notes.values() if note.written is not None)
    assert len(trusts) == 4
    # One waits beside what it resembles; a newer vir's act and a flag stop others.
    assert "proposed" in trusts and "suspended" in trusts
    assert memory.newer and memory.state.ignored
