"""The one rule of trust, every combination of facts."""

from __future__ import annotations

from itertools import chain, combinations, product
from typing import get_args

import pytest

from vir_core.contract import Trust
from vir_core.memory import PLAIN, SERVED, TrustFacts, counted, trust
from vir_core.memory.facts import Hold
from vir_core.memory.trust import STRONGEST, stronger

HOLDS = get_args(Hold)
EVERY_SET = [frozenset(some) for some in chain.from_iterable(combinations(HOLDS, n) for n in range(len(HOLDS) + 1))]
ALONE = {
    "unknown_act": "suspended",
    "suspended": "suspended",
    "superseded": "superseded",
    "archived": "archived",
    "pruned": "pruned",
    "proposed": "proposed",
}


@pytest.mark.parametrize("verdict", ["none", "approved", "rejected"])
def test_every_combination_of_verdict_holds_and_words(verdict: str) -> None:
    for holds, match, disputed, first in product(EVERY_SET, (True, False), (True, False), (True, False)):
        if disputed and verdict != "rejected":
            continue
        value = trust(
            TrustFacts(
                verdict=verdict,  # pyright: ignore[reportArgumentType]
                holds=holds,
                words_match=match,
                disputed=disputed,
                review_first=first,
            )
        )
        if verdict == "rejected":
            wanted = "suspended" if disputed else "rejected"
        elif holds:
            wanted = next(one for one in STRONGEST if one in {ALONE[hold] for hold in holds})
        elif verdict == "approved":
            wanted = "verified" if match else "edited"
        else:
            wanted = "proposed" if first else "unreviewed"
        assert value == wanted, (holds, match, disputed, first)
        assert (value in SERVED) == (not holds and wanted not in ("rejected", "suspended", "proposed"))


def test_lifting_a_hold_restores_what_was_there_before_it() -> None:
    for holds in EVERY_SET:
        for hold in holds:
            rest = trust(TrustFacts(verdict="approved", holds=holds - {hold}))
            both = trust(TrustFacts(verdict="approved", holds=holds))
            assert stronger(rest, both) == both


def test_the_order_names_every_value_once_and_takes_the_stronger() -> None:
    assert sorted(STRONGEST) == sorted(get_args(Trust)) == sorted(PLAIN)
    for one, other in product(STRONGEST, repeat=2):
        assert stronger(one, other) == stronger(other, one)
        assert stronger(one, one) == one


def test_a_person_sees_five_states() -> None:
    assert set(PLAIN.values()) == {"New", "Approved", "Needs another look", "Rejected", "Put away"}
    assert counted(["unreviewed", "unreviewed", "archived", "pruned"]) == {"New": 2, "Put away": 2}
    assert counted([]) == {}
