"""Trust: derived, never stored."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from vir_core.contract import Trust
from vir_core.memory.standing import Standing, Verdict

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


class TrustFacts(Struct, frozen=True):
    """`words_match` is whether the words on disk are those that were approved; it matters only for an approved note.
    `disputed`: a verdict that withholds and one that admits did not know of each other. `review_first`: nothing is served
    before a person approved it."""

    verdict: Verdict
    holds: frozenset[str]
    words_match: bool = True
    disputed: bool = False
    review_first: bool = False


def trust(facts: TrustFacts) -> Trust:
    """The one rule. A final reject outranks every hold, and a hold that says *stop* outranks one that says *put away*;
    lifting a hold therefore restores what was there before it. Verdicts in dispute stop a note until a person looks again. A
    note of which every lesson was rejected in other notes is rejected with them; one whose title was waits."""
    if (facts.verdict == "rejected" and not facts.disputed) or "tombstoned" in facts.holds:
        return "rejected"
    if facts.disputed or facts.holds & {"suspended", "unknown_act"}:
        return "suspended"
    if "superseded" in facts.holds:
        return "superseded"
    if "archived" in facts.holds:
        return "archived"
    if "pruned" in facts.holds:
        return "pruned"
    if facts.holds & {"proposed", "retold"}:
        return "proposed"
    if facts.verdict == "approved":
        return "verified" if facts.words_match else "edited"
    return "proposed" if facts.review_first else "unreviewed"


def trust_on(standing: Standing, day: str, *, words: str = "", review_first: bool = False) -> Trust:
    """Trust of what stands so on a day (YYYY-MM-DD). `words` is the content digest of its file, empty when nobody looked."""
    holds = standing.holds
    if standing.successor and day >= standing.ends:
        holds = holds | {"superseded"}
    return trust(
        TrustFacts(
            verdict=standing.verdict,
            holds=holds,
            words_match=not words or words in standing.approved,
            disputed=standing.disputed,
            review_first=review_first,
        )
    )


def stronger(one: Trust, other: Trust) -> Trust:
    """What two facts that each lead to one of these values lead to together."""
    return one if STRONGEST.index(one) <= STRONGEST.index(other) else other


def counted(trusts: Collection[Trust]) -> dict[str, int]:
    """How many notes a person would see in each of the five states."""
    counts: dict[str, int] = {}
    for value in trusts:
        plain = PLAIN[value]
        counts[plain] = counts.get(plain, 0) + 1
    return counts
