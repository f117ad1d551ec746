"""The table of acts: what every action of the journal does to what is served, and who may do it.

One row an action. *Withholding* takes something out of answers and works at once, from anybody. *Admitting* puts something
into answers, or changes who may, and counts only when a person's key proves it; until then the line waits. *Neutral* does
neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Effect = Literal["withholds", "admits", "neutral"]
Writer = Literal["person", "model", "vir"]
Proving = Literal["never", "finally", "always"]

_ANYBODY: frozenset[Writer] = frozenset({"person", "model", "vir"})
_PERSON: frozenset[Writer] = frozenset({"person"})
_VIR: frozenset[Writer] = frozenset({"vir"})


class Act(Struct, frozen=True):
    """`must` is what its lines carry: a reader that does not know the action then withholds the subject. `proof` is
    `always` for what has no effect without one, `finally` for what works at once as a suspension and is final with one,
    `never` for what is no person's decision. `what` says in one line what the act does."""

    action: str
    effect: Effect
    writers: frozenset[Writer]
    must: bool
    proof: Proving
    what: str


ACTS: Mapping[str, Act] = {
    act.action: act
    for act in (
        Act("segment_started", "neutral", _VIR, True, "never", "begins a file of the history"),
        Act("lines_given_up", "neutral", _PERSON, True, "never", "takes the disk as it is"),
        Act("note_written", "neutral", _VIR, False, "never", "a session became a note, or its note was written again"),
        Act("session_settled", "neutral", _VIR, False, "never", "what distilling a session came to"),
        Act("session_joined", "neutral", _VIR, False, "never", "a session continues or copies another"),
        Act("run_finished", "neutral", _VIR, False, "never", "what a run did"),
        Act("project_decided", "neutral", _PERSON, False, "never", "whether sessions of a project are distilled"),
        Act("project_joined", "neutral", _VIR, False, "never", "a project goes by another id now"),
        Act("approved", "admits", _PERSON, False, "always", "these words are right"),
        Act(
            "adopted", "admits", _PERSON, False, "always", "a revision, or a file nobody wrote through vir, is taken in"
        ),
        Act("forgotten", "withholds", _PERSON, True, "finally", "its words are destroyed wherever vir can reach them"),
        Act(
            "tombstone_lifted",
            "admits",
            _PERSON,
            False,
            "always",
            "statements that were rejected here may be said again elsewhere",
        ),
        Act("lifted", "admits", _PERSON, False, "always", "takes back the acts it names"),
        Act("superseded", "withholds", _ANYBODY, True, "finally", "another note holds instead, from a day on"),
        Act("expired", "withholds", _ANYBODY, True, "finally", "it stopped being so on a day"),
        Act(
            "rejected", "withholds", _ANYBODY, True, "finally", "the note, or some of its lessons, are not to be served"
        ),
        Act("held", "withholds", _ANYBODY, True, "finally", "out of service until a person looks"),
        Act("flag_noted", "neutral", _ANYBODY, False, "never", "a flag too many from one place, to be asked about"),
        Act("notes_undone", "withholds", _ANYBODY, True, "finally", "what a run wrote was taken back"),
        Act("policy_set", "admits", _PERSON, True, "always", "a rule of this vault, such as review first"),
        Act("key_enrolled", "admits", _PERSON, True, "always", "a key may prove what a person decides"),
        Act("key_revoked", "withholds", _PERSON, True, "always", "a key was lost, and proves nothing from then on"),
        Act("authority_started_over", "neutral", _PERSON, True, "never", "a device trusts another first key"),
    )
}


def effect_of(action: str, *, must: bool = False) -> Effect:
    """What a line does as far as this version knows: an unknown action withholds when it binds."""
    act = ACTS.get(action)
    if act is None:
        return "withholds" if must else "neutral"
    return act.effect


def needs_proof(action: str) -> bool:
    """Whether a line of this action has no effect until a key proves it."""
    act = ACTS.get(action)
    return act is not None and act.proof == "always"
