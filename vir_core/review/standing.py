"""Why a note is where it is, in the words of the wire."""

from __future__ import annotations

from vir_core.contract import Trust
from vir_core.memory import Claim, Shown, Standing

FLAGGED = "flagged"
MARKED = "marked"
_PUT_AWAY = frozenset({"superseded", "expired", "undone", "pruned"})


NEVER = Shown(0, "")
"""Of a note that no answer held."""


def reason_of(claim: Claim) -> str:
    """Why a line holds a note back."""
    match claim.act:
        case "rejected":
            return "struck" if claim.struck else "rejected"
        case "notes_undone":
            return "undone"
        case "superseded" | "expired":
            return claim.act
        case _:
            return claim.reason or "suspended"


def reasons_of(standing: Standing, trust: Trust, *, revision: bool = False) -> tuple[str, ...]:
    """Why a note needs another look, the gravest first; empty when it does not."""
    if trust == "rejected":
        return ()
    reasons = ["newer"] if "unknown_act" in standing.holds else []
    reasons += [reason_of(claim) for claim in standing.open if claim.hold]
    if standing.disputed:
        reasons.append("disagreed")
    if trust == "edited":
        reasons.append("edited")
    if revision:
        reasons.append("revision")
    return tuple(dict.fromkeys(reason for reason in reasons if reason not in _PUT_AWAY))


def since_of(standing: Standing) -> str:
    """The stamp of the latest line that holds a note back; empty when none does."""
    return max((claim.when for claim in standing.open if claim.hold), default="")
