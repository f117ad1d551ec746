"""The table of acts and the projection know the same actions."""

from __future__ import annotations

from vir_core.authority import ACTS, effect_of, needs_proof
from vir_core.memory.facts import actions


def test_every_action_that_memory_reads_stands_in_the_table_and_no_other() -> None:
    assert set(ACTS) == actions()


def test_what_withholds_or_sets_policy_binds_and_what_admits_needs_a_proof() -> None:
    for act in ACTS.values():
        if act.effect == "withholds" or act.action in ("policy_set", "key_enrolled"):
            assert act.must, act.action
        assert (act.effect == "admits") <= (act.proof == "always"), act.action
        assert (act.effect == "admits") <= (act.writers == {"person"}), act.action
        assert needs_proof(act.action) == (act.proof == "always")


def test_an_action_nobody_knows_withholds_when_it_binds() -> None:
    assert effect_of("sealed_by_notary", must=True) == "withholds"
    assert effect_of("weather_seen") == "neutral"
