"""Trust: derived, never stored."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from vir_core.contract import Trust
from vir_core.memory.facts import Memory, NoteState

SERVED: frozenset[Trust] = frozenset({"unreviewed", "verified", "edited"})

STRONGEST: tuple[Trust, ...] = (
    "rejected",
    "suspended",
    "superseded",
    "archived",
    "pruned",
    "proposed",
    "verified",
    "edited",
    "unreviewed",
)
"""The order in which `trust` asks: what stands earlier wins."""

PLAIN: dict[Trust, str] = {
    "unreviewed": "New",
    "verified": "Approved",
    "proposed": "Needs another look",
    "edited": "Needs another look",
    "suspended": "Needs another look",
    "rejected": "Rejected",
    "superseded": "Put away",
    "archived": "Put away",
    "pruned": "Put away",
}
"""The five states a person sees, by the value on the wire."""

Verdict = Literal["none", "approved", "rejected"]


class TrustFacts(Struct, frozen=True):
    """`words_match` is whether the words on disk are those that were approved; it matters only for an approved note."""

    verdict: Verdict
    holds: frozenset[str]
    words_match: bool = True


def trust(facts: TrustFacts) -> Trust:
    """The one rule. A final reject outranks every hold, and a hold that says *stop* outranks one that says *put away*;
    lifting a hold therefore restores what was there before it."""
    if facts.verdict == "rejected":
        return "rejected"
    if facts.holds & {"suspended", "unknown_act"}:
        return "suspended"
    if "superseded" in facts.holds:
        return "superseded"
    if "archived" in facts.holds:
        return "archived"
    if "pruned" in facts.holds:
        return "pruned"
    if "proposed" in facts.holds:
        return "proposed"
    if facts.verdict == "approved":
        return "verified" if facts.words_match else "edited"
    return "unreviewed"


def stronger(one: Trust, other: Trust) -> Trust:
    """What two facts that each lead to one of these values lead to together."""
    return one if STRONGEST.index(one) <= STRONGEST.index(other) else other


def holds_of(note: NoteState) -> frozenset[str]:
    return frozenset([*note.holds, *(("archived",) if note.archived else ())])


def trust_of(note: NoteState) -> Trust:
    """Trust of a note as the journal alone knows it."""
    return trust(TrustFacts(verdict="none", holds=holds_of(note)))


def trust_in(memory: Memory, note: NoteState) -> Trust:
    """Trust of a note as the journal alone knows it, with what was rejected in other notes."""
    value = trust_of(note)
    standing = memory.tombstones()
    written = note.written
    if not standing or written is None:
        return value
    found = standing.trust(note.id, written.lessons, written.parts)
    return value if found is None else stronger(found, value)


def struck_in(memory: Memory, note: NoteState) -> list[str]:
    """What of a note is in no answer, sorted: lessons that the person took out, and whatever says the same as something
    rejected: ids of lessons, `summary`, `context`."""
    standing = memory.tombstones()
    if not standing or note.written is None:
        return note.struck
    return sorted({*note.struck, *standing.struck(note.written.lessons, note.written.parts)})


def counted(trusts: Collection[Trust]) -> dict[str, int]:
    """How many notes a person would see in each of the five states."""
    counts: dict[str, int] = {}
    for value in trusts:
        plain = PLAIN[value]
        counts[plain] = counts.get(plain, 0) + 1
    return counts
