"""What proven lines come to: who admits, what holds, and in which order it became known."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.authority.conftest import (
    LAPTOP,
    NOTE,
    OTHER_WORDS,
    ROOT,
    ROOT_LINE,
    SECOND,
    STRANGER,
    WORDS,
    enrolled,
    line,
    memory_of,
    note_line,
    proven,
)
from vir_core.journal import Line

WRITTEN = note_line()
FLAG = line("held", NOTE, {"reason": "flagged"}, when=5, must=True, kind="model")


def approve(*lifts: Line, after: str = "", when: int = 10, by=ROOT, digest: str = WORDS, device: str = "") -> Line:  # type: ignore[no-untyped-def]
    data = {"digest": digest, "text": "11" * 32, "after": after, "lifts": [one.hash for one in lifts], "args": {}}
    return proven(by, "approved", NOTE, data, when=when, **({"device": device} if device else {}))


def reject(*, after: str = "", when: int = 20, by=ROOT, device: str = "") -> Line:  # type: ignore[no-untyped-def]
    data = {"reason": "wrong", "after": after}
    return proven(by, "rejected", NOTE, data, when=when, must=True, **({"device": device} if device else {}))


def lift(*lifts: Line, after: str = "", when: int = 30, by=ROOT) -> Line:  # type: ignore[no-untyped-def]
    return proven(by, "lifted", NOTE, {"lifts": [one.hash for one in lifts], "after": after}, when=when)


def test_an_approval_by_the_key_of_this_vault_admits_and_any_other_waits() -> None:
    good = memory_of(WRITTEN, ROOT_LINE, approve())
    assert good.trust(NOTE) == "verified" and good.trust(NOTE, words=OTHER_WORDS) == "edited"
    for memory in (
        memory_of(WRITTEN, ROOT_LINE, approve(by=STRANGER)),
        memory_of(WRITTEN, ROOT_LINE, approve(), root=None),
        memory_of(WRITTEN, ROOT_LINE, approve(), root=STRANGER),
        memory_of(WRITTEN, ROOT_LINE, approve(), vault="v000000000000009"),
        memory_of(WRITTEN, ROOT_LINE, line("approved", NOTE, {"digest": WORDS})),
    ):
        assert memory.trust(NOTE) == "unreviewed"
        assert len(memory.standing(NOTE).waiting) == 1


def test_a_reject_without_a_key_stops_a_note_and_with_one_it_is_final() -> None:
    assert (
        memory_of(WRITTEN, ROOT_LINE, line("rejected", NOTE, {"reason": "wrong"}, must=True)).trust(NOTE) == "suspended"
    )
    assert memory_of(WRITTEN, ROOT_LINE, reject(by=STRANGER)).trust(NOTE) == "suspended"
    assert memory_of(WRITTEN, ROOT_LINE, reject()).trust(NOTE) == "rejected"


def test_an_approval_lifts_the_flag_it_names_and_no_other() -> None:
    late = line("held", NOTE, {"reason": "flagged", "why": "33" * 32}, when=2, must=True, device=LAPTOP)
    named = approve(FLAG)
    assert memory_of(WRITTEN, ROOT_LINE, FLAG).trust(NOTE) == "suspended"
    assert memory_of(WRITTEN, ROOT_LINE, FLAG, named).trust(NOTE) == "verified"
    # Back-dated before the approval, and not in front of the person who gave it.
    assert memory_of(WRITTEN, ROOT_LINE, FLAG, named, late).trust(NOTE) == "suspended"
    assert memory_of(WRITTEN, ROOT_LINE, FLAG, approve()).trust(NOTE) == "suspended"


def test_taking_back_a_reject_restores_what_was_below_it_and_may_be_taken_back_itself() -> None:
    yes = approve()
    no = reject(after=yes.hash)
    back = lift(no, after=no.hash)
    again = lift(back, after=back.hash, when=40)
    assert memory_of(WRITTEN, ROOT_LINE, yes, no).trust(NOTE) == "rejected"
    assert memory_of(WRITTEN, ROOT_LINE, yes, no, back).trust(NOTE) == "verified"
    assert memory_of(WRITTEN, ROOT_LINE, yes, no, back, again).trust(NOTE) == "rejected"
    assert memory_of(WRITTEN, ROOT_LINE, no, back).trust(NOTE) == "unreviewed"
    undone = lift(yes, after=yes.hash)
    memory = memory_of(WRITTEN, ROOT_LINE, yes, undone)
    assert memory.trust(NOTE) == "unreviewed" and memory.standing(NOTE).heads == (undone.hash,)


def test_the_later_verdict_is_the_one_that_saw_the_other_whatever_the_clocks_say() -> None:
    yes = approve(when=50)
    no = reject(after=yes.hash, when=3)
    assert memory_of(WRITTEN, ROOT_LINE, yes, no).trust(NOTE) == "rejected"
    other = reject(when=50)
    better = approve(other, after=other.hash, when=3)
    assert memory_of(WRITTEN, ROOT_LINE, other, better).trust(NOTE) == "verified"


def test_of_two_verdicts_that_did_not_know_of_each_other_the_withholding_one_holds() -> None:
    yes, no = approve(device=LAPTOP), reject()
    memory = memory_of(WRITTEN, ROOT_LINE, yes, no)
    standing = memory.standing(NOTE)
    assert memory.trust(NOTE) == "suspended" and standing.disputed
    assert set(standing.heads) == {yes.hash, no.hash} and [claim.line for claim in standing.open] == [no.hash]
    settled = approve(no, after=standing.after, when=60)
    memory = memory_of(WRITTEN, ROOT_LINE, yes, no, settled)
    assert memory.trust(NOTE) == "verified" and not memory.standing(NOTE).disputed
    both = memory_of(WRITTEN, ROOT_LINE, approve(when=2), approve(when=3, digest=OTHER_WORDS))
    assert both.trust(NOTE, words=WORDS) == both.trust(NOTE, words=OTHER_WORDS) == "verified"
    assert both.trust(NOTE, words="c3" * 32) == "edited"


def test_a_copy_of_a_proven_line_under_another_stamp_is_the_same_act() -> None:
    yes = approve()
    undone = lift(yes, after=yes.hash)
    copies = [
        line(
            "approved",
            NOTE,
            {"digest": WORDS, "text": "11" * 32, "after": "", "lifts": [], "args": {}},
            when=when,
            device=LAPTOP,
            proof=yes.proof,
        )
        for when in (1, 90)
    ]
    assert memory_of(WRITTEN, ROOT_LINE, yes).trust(NOTE) == "verified"
    assert memory_of(WRITTEN, ROOT_LINE, yes, undone).trust(NOTE) == "unreviewed"
    for copy in copies:
        assert copy.hash != yes.hash
        memory = memory_of(WRITTEN, ROOT_LINE, yes, undone, copy)
        assert memory.trust(NOTE) == "unreviewed", copy.at
        assert memory_of(WRITTEN, ROOT_LINE, copy).trust(NOTE) == "verified"
        no = reject(after=yes.hash)
        assert memory_of(WRITTEN, ROOT_LINE, yes, no, copy).trust(NOTE) == "rejected"


SCENES = (
    [approve()],
    [approve(), reject(after=approve().hash)],
    [approve(device=LAPTOP), reject(), FLAG],
    [FLAG, approve(FLAG), lift(approve(FLAG), after=approve(FLAG).hash)],
    [
        reject(),
        lift(reject(), after=reject().hash),
        line("rejected", NOTE, {"struck": ["l00000000001"]}, when=7, must=True),
    ],
    [approve(by=SECOND), line("notes_undone", NOTE, {"run": "r000000000000001"}, when=8, must=True)],
    [proven(ROOT, "expired", NOTE, {"on": "2026-01-01", "after": ""}, when=9, must=True), approve(by=STRANGER)],
)


@given(st.sampled_from(SCENES), st.data())
@settings(max_examples=120, deadline=None)
def test_lines_in_any_order_with_the_enrolment_last_come_to_the_same(scene: list[Line], data: st.DataObject) -> None:
    keys = [ROOT_LINE, enrolled(SECOND, "device", ROOT)]
    wanted = memory_of(*keys, WRITTEN, *scene)
    shuffled = data.draw(st.permutations([WRITTEN, *scene]))
    late = memory_of(*shuffled, *reversed(keys))
    assert late.dump() == wanted.dump()
    assert late.standing(NOTE) == wanted.standing(NOTE) and late.trust(NOTE) == wanted.trust(NOTE)
    resumed = memory_of()
    resumed.load(memory_of(*shuffled).dump())
    for one in keys:
        resumed.apply(one)
    assert resumed.dump() == wanted.dump() and resumed.trust(NOTE) == wanted.trust(NOTE)


def test_until_the_enrolment_arrives_a_second_device_key_admits_nothing() -> None:
    before = memory_of(WRITTEN, ROOT_LINE, approve(by=SECOND))
    assert before.trust(NOTE) == "unreviewed"
    before.apply(enrolled(SECOND, "device", ROOT, when=99))
    assert before.trust(NOTE) == "verified"


@pytest.mark.parametrize("action", ["superseded", "expired"])
def test_the_end_of_what_a_person_judged_needs_a_key_and_of_anything_else_it_does_not(action: str) -> None:
    data = {"by": "n000000000000002", "from": "2026-01-01"} if action == "superseded" else {"on": "2026-01-01"}
    loose = line(action, NOTE, data, when=40, must=True)
    plain = memory_of(WRITTEN, ROOT_LINE, loose)
    assert plain.withheld(NOTE) == ("superseded" if action == "superseded" else "expired")
    judged = memory_of(WRITTEN, ROOT_LINE, approve(), loose)
    assert judged.withheld(NOTE) == "" and len(judged.standing(NOTE).waiting) == 1
    signed = memory_of(WRITTEN, ROOT_LINE, approve(), proven(ROOT, action, NOTE, data, when=41, must=True))
    assert signed.withheld(NOTE) != ""
    assert signed.withheld(NOTE, as_of="2025-12-31") == "not_yet" != signed.withheld(NOTE, as_of="2026-01-01")


def test_an_approval_that_names_no_words_approves_none() -> None:
    assert memory_of(WRITTEN, ROOT_LINE, approve()).trust(NOTE) == "verified"
    assert memory_of(WRITTEN, ROOT_LINE, approve(digest="")).trust(NOTE) == "unreviewed"
