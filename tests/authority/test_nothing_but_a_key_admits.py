"""Every act that admits, tried with everything but a good proof: without one, with a stranger's, altered, replayed, for
another vault or another note, back-dated, and by a newer version. Each attempt stands beside the same act with a good proof,
which works."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest
from msgspec import Raw, Struct

from tests.authority.conftest import (
    NOTE,
    OTHER,
    OTHER_VAULT,
    OTHER_WORDS,
    RECOVERY,
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
from vir_core.authority import ACTS
from vir_core.journal import Line
from vir_core.memory import Memory

FLAG = line("held", NOTE, {"reason": "flagged"}, when=5, must=True, kind="model")
NO = proven(ROOT, "rejected", NOTE, {"reason": "wrong", "after": ""}, when=6, must=True)
YES = proven(ROOT, "approved", NOTE, {"digest": WORDS, "after": "", "lifts": []}, when=7)
OTHER_NOTE = note_line(OTHER, words=OTHER_WORDS)
BEFORE = (note_line(), OTHER_NOTE, ROOT_LINE)


VALUE = "ab" * 12
REPEATED = note_line(
    OTHER, words=OTHER_WORDS, when=2, lessons=[{"id": "l00000000001", "evidence": "33" * 32, "values": [VALUE]}]
)
NEVER = proven(ROOT, "rejected", NOTE, {"reason": "wrong", "values": [VALUE], "after": ""}, when=6, must=True)


def approved(memory: Memory) -> bool:
    return memory.trust(NOTE) == "verified"


def served(memory: Memory) -> bool:
    return memory.withheld(NOTE) == ""


def ended(memory: Memory) -> bool:
    return memory.withheld(NOTE) != ""


class Admission(Struct, frozen=True):
    """An act, what lies before it, and what it brings about when it is proven."""

    name: str
    action: str
    subject: str
    data: Mapping[str, Any]
    worked: Callable[[Memory], bool]
    before: tuple[Line, ...] = ()

    @property
    def must(self) -> bool:
        return ACTS[self.action].must


ADMISSIONS = (
    Admission("approve", "approved", NOTE, {"digest": WORDS, "after": "", "lifts": []}, approved),
    Admission(
        "approve what was flagged",
        "approved",
        NOTE,
        {"digest": WORDS, "after": "", "lifts": [FLAG.hash]},
        approved,
        (FLAG,),
    ),
    Admission(
        "approve what was rejected",
        "approved",
        NOTE,
        {"digest": WORDS, "after": NO.hash, "lifts": [NO.hash]},
        approved,
        (NO,),
    ),
    Admission("adopt", "adopted", NOTE, {"digest": WORDS, "revision": "cd" * 32, "after": "", "lifts": []}, approved),
    Admission("lift a flag", "lifted", NOTE, {"lifts": [FLAG.hash], "after": ""}, served, (FLAG,)),
    Admission("undo a reject", "lifted", NOTE, {"lifts": [NO.hash], "after": NO.hash}, served, (NO,)),
    Admission(
        "let what was rejected be said elsewhere",
        "tombstone_lifted",
        NOTE,
        {"values": [VALUE], "after": NEVER.hash},
        lambda memory: memory.withheld(OTHER) == "",
        (REPEATED, NEVER),
    ),
    Admission(
        "supersede what was approved",
        "superseded",
        NOTE,
        {"by": OTHER, "from": "2026-01-01", "after": YES.hash},
        ended,
        (YES,),
    ),
    Admission("expire what was approved", "expired", NOTE, {"on": "2026-01-01", "after": YES.hash}, ended, (YES,)),
    Admission(
        "policy",
        "policy_set",
        "policy:review_first",
        {"value": True, "after": ""},
        lambda memory: memory.policy("review_first").value is True,
    ),
    Admission(
        "enrol a device",
        "key_enrolled",
        SECOND.id,
        {"public": SECOND.public, "kind": "device", "device": "", "label": ""},
        lambda memory: memory.keys.get(SECOND.id) is not None,
    ),
    Admission(
        "enrol a recovery code",
        "key_enrolled",
        RECOVERY.id,
        {"public": RECOVERY.public, "kind": "recovery", "device": "", "label": ""},
        lambda memory: memory.keys.get(RECOVERY.id) is not None,
    ),
    Admission(
        "revoke",
        "key_revoked",
        SECOND.id,
        {"lost_since": "2026-10-01T00:00:00.000000Z", "seen": []},
        lambda memory: bool((key := memory.keys.get(SECOND.id)) and key.revoked),
        (enrolled(SECOND, "device", ROOT),),
    ),
)


def written(act: Admission, proof: bytes = b"", **how: Any) -> Line:
    data = how.pop("data", act.data)
    return line(
        how.pop("action", act.action),
        how.pop("subject", act.subject),
        data,
        must=act.must,
        proof=Raw(proof),
        when=30,
        **how,
    )


def signed(act: Admission, by: Any = ROOT, **how: Any) -> Line:
    how = {"when": 30, "must": act.must, **how}
    return proven(by, act.action, how.pop("subject", act.subject), how.pop("data", act.data), **how)


def altered(act: Admission, **fields: Any) -> Line:
    """The proven line with fields of its proof replaced."""
    proof = msgspec.json.decode(signed(act).proof, type=dict[str, Any])
    return written(act, msgspec.json.encode({**proof, **fields}))


ATTEMPTS: dict[str, Callable[[Admission], Line]] = {
    "no proof": lambda act: written(act),
    "no proof, by vir": lambda act: written(act, kind="vir"),
    "no proof, by a model": lambda act: written(act, kind="model"),
    "a proof that is none": lambda act: written(act, b'{"sig":"00"}'),
    "a proof that says yes": lambda act: written(act, b'{"approved":true}'),
    "a stranger's key": lambda act: signed(act, STRANGER),
    "a stranger's key, back-dated": lambda act: signed(act, STRANGER, when=0),
    "a stranger's signature under the root's name": lambda act: altered(
        act, sig=msgspec.json.decode(signed(act, STRANGER).proof, type=dict[str, Any])["sig"]
    ),
    "another vault": lambda act: signed(act, vault=OTHER_VAULT),
    "another vault's proof with this vault's name": lambda act: written(
        act,
        msgspec.json.encode(
            {
                **msgspec.json.decode(signed(act, vault=OTHER_VAULT).proof, type=dict[str, Any]),
                "vault": "v000000000000001",
            }
        ),
    ),
    "another subject's proof": lambda act: written(act, bytes(signed(act, subject=OTHER).proof)),
    "another time": lambda act: altered(act, at="2026-11-30T00:00:00.000000Z"),
    "a field more": lambda act: written(act, bytes(signed(act).proof), data={**act.data, "more": 1}),
    "one field less": lambda act: written(
        act, bytes(signed(act).proof), data={key: value for key, value in act.data.items() if key != max(act.data)}
    ),
    "another after": lambda act: written(act, bytes(signed(act).proof), data={**act.data, "after": "ff" * 32}),
    "said to be of a batch": lambda act: altered(act, count=2, index=0, path=["00" * 32]),
    "another action's proof": lambda act: written(
        act, bytes(proven(ROOT, "held", act.subject, act.data, when=30).proof)
    ),
}


@pytest.mark.parametrize("act", ADMISSIONS, ids=lambda act: act.name)
def test_with_a_good_proof_it_works(act: Admission) -> None:
    before = memory_of(*BEFORE, *act.before)
    assert not act.worked(before)
    before.apply(signed(act))
    assert act.worked(before)


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("act", ADMISSIONS, ids=lambda act: act.name)
def test_with_anything_else_it_does_not(act: Admission, attempt: str) -> None:
    one = ATTEMPTS[attempt](act)
    assert not act.worked(memory_of(*BEFORE, *act.before, one))
    # Nor on a device that trusts nobody yet, nor beside the key that a program made for itself.
    assert not act.worked(memory_of(*BEFORE, *act.before, one, enrolled(STRANGER, "root", STRANGER, when=0)))
    unpinned = memory_of(*BEFORE, *act.before, signed(act), root=None)
    fresh = memory_of(*BEFORE, *act.before, root=None)
    if act.action not in ("superseded", "expired"):
        assert act.worked(unpinned) == act.worked(fresh)


@pytest.mark.parametrize("act", ADMISSIONS, ids=lambda act: act.name)
def test_every_admitting_action_of_the_table_is_tried(act: Admission) -> None:
    tried = {one.action for one in ADMISSIONS}
    assert {one.action for one in ACTS.values() if one.proof == "always"} <= tried
    assert act.action in ACTS


def test_what_a_newer_version_calls_an_approval_withholds_when_it_binds_and_does_nothing_else() -> None:
    assert served(memory_of(*BEFORE, line("canonized", NOTE, {"digest": WORDS}, when=30, core="9.0.0")))
    newer = memory_of(*BEFORE, line("canonized", NOTE, {"digest": WORDS}, when=30, must=True, core="9.0.0"))
    assert newer.trust(NOTE) == "suspended" and newer.newer == {NOTE: "9.0.0"}
    [bound] = [one for one in newer.notes[NOTE].claims if one.hold == "unknown_act"]
    assert not served(
        memory_of(
            *BEFORE,
            line("canonized", NOTE, {}, when=30, must=True),
            proven(ROOT, "lifted", NOTE, {"lifts": [bound.line], "after": ""}, when=31),
        )
    )


def test_a_reject_that_is_replayed_after_it_was_taken_back_has_no_effect() -> None:
    back = proven(ROOT, "lifted", NOTE, {"lifts": [NO.hash], "after": NO.hash}, when=8)
    again = line("rejected", NOTE, {"reason": "wrong", "after": ""}, when=40, must=True, proof=NO.proof)
    assert memory_of(*BEFORE, NO).trust(NOTE) == "rejected"
    assert again.hash != NO.hash and memory_of(*BEFORE, again).trust(NOTE) == "rejected"
    assert served(memory_of(*BEFORE, NO, back)) and served(memory_of(*BEFORE, NO, back, again))


def test_a_lift_that_is_replayed_lifts_nothing_that_came_later() -> None:
    lift = {"lifts": [FLAG.hash], "after": ""}
    done = proven(ROOT, "lifted", NOTE, lift, when=8)
    later = line("held", NOTE, {"reason": "flagged"}, when=20, must=True)
    replayed = line("lifted", NOTE, lift, when=41, proof=done.proof)
    assert served(memory_of(*BEFORE, FLAG, done))
    assert not served(memory_of(*BEFORE, FLAG, done, later, replayed))
