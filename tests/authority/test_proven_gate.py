"""The gate and proven lines: built from them, and never extended over one without asking the keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.authority.conftest import (
    DESK,
    NOTE,
    OTHER,
    ROOT,
    ROOT_LINE,
    SECOND,
    STRANGER,
    VAULT,
    WORDS,
    enrolled,
    line,
    memory_of,
    note_line,
    proven,
)
from vir_core.authority import Pin, Signer, payload_of, sign_all, write_pin
from vir_core.journal import Draft, Journal, Line, Marks, Tail
from vir_core.memory import Gate, Memory, build_gate, current_gate
from vir_core.memory import memory_of as made_for

YES = proven(ROOT, "approved", NOTE, {"digest": WORDS, "body": "22" * 32, "after": "", "lifts": []}, when=10)
NO = proven(ROOT, "rejected", NOTE, {"reason": "wrong", "after": ""}, when=20, must=True)


class FakeReading:
    """What `build_gate` asks of a reading."""

    def __init__(self, memory: Memory, newest: str) -> None:
        self.projection = memory
        self.newest = newest
        self.marks = Marks(newest=newest)


def gate_of(*some: Line, root: Signer | None = ROOT) -> Gate:
    reading: Any = FakeReading(memory_of(*some, root=root), max(one.at for one in some))
    return build_gate(reading)[0]


def test_an_approved_note_says_which_words_and_which_bytes() -> None:
    row = gate_of(note_line(), ROOT_LINE, YES).row(NOTE)
    assert row is not None and (row.trust, row.served) == ("verified", True)
    assert (row.approved, row.body) == (WORDS[:32], "22" * 16)
    plain = gate_of(note_line(), ROOT_LINE).row(NOTE)
    assert plain is not None and (plain.trust, plain.approved, plain.body) == ("unreviewed", "", "22" * 16)
    edited = proven(ROOT, "approved", NOTE, {"digest": "cc" * 32, "body": "dd" * 32, "after": "", "lifts": []}, when=10)
    row = gate_of(note_line(), ROOT_LINE, edited).row(NOTE)
    assert row is not None and (row.approved, row.body) == ("cc" * 16, "dd" * 16)


def test_a_proven_line_or_a_new_key_means_building_anew() -> None:
    for one in (
        YES,
        NO,
        enrolled(SECOND, "device", ROOT, when=30),
        proven(ROOT, "expired", NOTE, {"on": "2026-01-01"}, when=9, must=True),
    ):
        assert not gate_of(note_line(), ROOT_LINE).extend(Tail(True, [one], Marks()))
    loose = line("rejected", NOTE, {"reason": "wrong"}, when=20, must=True)
    gate = gate_of(note_line(), ROOT_LINE, YES)
    assert gate.extend(Tail(True, [loose], Marks())) and gate.trusts() == {NOTE: "suspended"}


def test_a_note_is_served_from_its_first_day_to_the_day_before_its_last() -> None:
    ends = proven(ROOT, "superseded", NOTE, {"by": OTHER, "from": "2026-03-01", "after": ""}, when=9, must=True)
    gate = gate_of(note_line(date="2026-01-10"), note_line(OTHER, date="2026-01-20"), ROOT_LINE, ends)
    said = {
        (id, day): (row.served, row.reason)
        for id in (NOTE, OTHER)
        for day in ("2026-01-09", "2026-01-10", "2026-02-28", "2026-03-01", "")
        if (row := gate.row(id, day)) is not None
    }
    assert said == {
        (NOTE, "2026-01-09"): (False, "not_yet"),
        (NOTE, "2026-01-10"): (True, ""),
        (NOTE, "2026-02-28"): (True, ""),
        (NOTE, "2026-03-01"): (False, "superseded"),
        (NOTE, ""): (False, "superseded"),
        (OTHER, "2026-01-09"): (False, "not_yet"),
        (OTHER, "2026-01-10"): (False, "not_yet"),
        (OTHER, "2026-02-28"): (False, "not_yet"),
        (OTHER, "2026-03-01"): (True, ""),
        (OTHER, ""): (True, ""),
    }
    assert gate.trusts() == {NOTE: "superseded", OTHER: "unreviewed"}
    expired = gate_of(note_line(), ROOT_LINE, line("expired", NOTE, {"on": "2026-03-01"}, when=9, must=True))
    row = expired.row(NOTE)
    assert row is not None and (row.served, row.reason, row.trust) == (False, "expired", "unreviewed")
    future = gate_of(note_line(), ROOT_LINE, line("expired", NOTE, {"on": "2999-01-01"}, when=9, must=True)).row(NOTE)
    assert future is not None and future.served


def test_a_day_that_is_none_ends_a_note_on_the_day_it_was_said() -> None:
    for day in ("", "soon", "2026-02-30", "2026-1-1"):
        row = gate_of(note_line(), ROOT_LINE, line("expired", NOTE, {"on": day}, when=9, must=True)).row(NOTE)
        assert row is not None and not row.served, day


def test_review_first_serves_what_was_approved_and_nothing_else() -> None:
    text = proven(ROOT, "approved", NOTE, {"digest": WORDS, "text": "11" * 32, "after": "", "lifts": []}, when=10)
    first = proven(ROOT, "policy_set", "policy:review_first", {"value": True, "after": ""}, when=11, must=True)
    lines = [note_line(), note_line(OTHER), ROOT_LINE, text]
    plain, strict = gate_of(*lines), gate_of(*lines, first)
    assert not plain.review_first and plain.trusts() == {NOTE: "verified", OTHER: "unreviewed"}
    assert strict.review_first and strict.trusts() == {NOTE: "verified", OTHER: "proposed"}
    assert (strict.approved_text(NOTE), strict.approved_text(OTHER), plain.approved_text(NOTE)) == ("11" * 32, "", "")
    off = proven(ROOT, "policy_set", "policy:review_first", {"value": False, "after": first.hash}, when=12, must=True)
    beside = proven(ROOT, "policy_set", "policy:review_first", {"value": False, "after": ""}, when=12, must=True)
    assert not gate_of(*lines, first, off).review_first
    # A device that trusts nobody yet goes by it all the same, and one that knows better does not mind a stranger's.
    assert gate_of(*lines, first, root=None).review_first and not gate_of(*lines, first, off, root=None).review_first
    odd = proven(STRANGER, "policy_set", "policy:review_first", {"value": True, "after": ""}, when=11, must=True)
    assert not gate_of(*lines, odd).review_first and gate_of(*lines, odd, root=None).review_first
    unsigned = line("policy_set", "policy:review_first", {"value": True, "after": ""}, when=11, must=True)
    assert not gate_of(*lines, unsigned, root=None).review_first
    assert gate_of(*lines, first, beside).review_first


def hash_of(one: Line) -> str:
    return one.hash


OTHERS = (
    line("held", NOTE, {"reason": "flagged"}, when=40, must=True),
    line("held", NOTE, {"reason": "pruned"}, when=41, must=True),
    line("rejected", NOTE, {"reason": "wrong"}, when=42, must=True),
    line("rejected", NOTE, {"struck": ["l00000000001"]}, when=43, must=True),
    line("notes_undone", NOTE, {"run": "r000000000000001"}, when=44, must=True),
    line("superseded", NOTE, {"by": OTHER, "from": "2026-01-01"}, when=45, must=True),
    line("sealed_by_notary", NOTE, {}, when=46, must=True),
    line("authority_started_over", VAULT, {"root": STRANGER.public}, when=47, must=True),
    line("flag_noted", NOTE, {"origin": "x"}, when=48),
)
EARLIER = (YES, NO, proven(ROOT, "lifted", NOTE, {"lifts": [NO.hash], "after": NO.hash}, when=30))


@given(
    st.lists(st.sampled_from(EARLIER), unique_by=hash_of),
    st.lists(st.sampled_from(OTHERS), unique_by=hash_of, max_size=3),
)
@settings(max_examples=150, deadline=None)
def test_a_gate_extended_is_the_gate_built_anew(earlier: list[Line], later: list[Line]) -> None:
    before = [note_line(), note_line(OTHER), ROOT_LINE, *earlier]
    gate = gate_of(*before)
    if gate.extend(Tail(True, later, Marks())):
        anew = gate_of(*before, *later)
        assert gate.trusts() == anew.trusts()
        assert gate.row(NOTE) == anew.row(NOTE)


def test_a_gate_of_other_keys_is_built_anew(tmp_path: Path) -> None:
    store, state = tmp_path / "store", tmp_path / "state"
    store.mkdir()
    journal = Journal(store, state, vault=VAULT, device=DESK, core="0.1.0")
    at = journal.clock()
    enrol = {"public": ROOT.public, "kind": "root", "device": DESK, "label": ""}
    approve = {"digest": WORDS, "text": "", "body": "", "after": "", "lifts": [], "args": {}}
    drafts = [Draft("note_written", NOTE, _note())]
    for action, subject, data in (("key_enrolled", ROOT.id, enrol), ("approved", NOTE, approve)):
        payload = payload_of(vault=VAULT, key=ROOT.public, at=at, action=action, subject=subject, data=data)
        [proof] = sign_all([payload], ROOT.sign)
        drafts.append(Draft(action, subject, data, proof=proof))
    with journal.writing("test", made_for(journal)) as writer:
        writer.append(drafts, kind="person", surface="test")
    reading = journal.read(made_for(journal))
    journal.save_checkpoint(reading, {"gate": build_gate(reading)[1]})
    gate, anew = current_gate(journal, state / "gate")
    assert not anew and gate.trusts() == {NOTE: "unreviewed"}

    write_pin(state, Pin(public=ROOT.public, how="confirmed", at=at), over=None)
    gate, anew = current_gate(journal, state / "gate")
    assert anew and gate.trusts() == {NOTE: "verified"}
    # The checkpoint says nothing about whom this device trusts, and holds.
    assert journal.read(made_for(journal)).projection.trust(NOTE) == "verified"
    reading = journal.read(made_for(journal))
    journal.save_checkpoint(reading, {"gate": build_gate(reading)[1]})
    assert current_gate(journal, state / "gate")[1] is False

    (state / "root").write_text("nonsense")
    gate, anew = current_gate(journal, state / "gate")
    assert anew and gate.trusts() == {NOTE: "unreviewed"}


def _note() -> dict[str, Any]:
    import msgspec

    return msgspec.json.decode(note_line().data, type=dict[str, Any])
