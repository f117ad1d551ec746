"""Which keys count: enrolled by one that counts, and not after they were lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.authority.conftest import (
    LAPTOP,
    NOTE,
    OTHER_VAULT,
    PHONE,
    RECOVERY,
    ROOT,
    ROOT_LINE,
    SECOND,
    STRANGER,
    VAULT,
    WORDS,
    at,
    enrolled,
    key,
    line,
    memory_of,
    note_line,
    proven,
    revoked,
    signature_of,
)
from vir_core.authority import Signer, key_id
from vir_core.journal import Line

DAY = 1440
PAPER = enrolled(RECOVERY, "recovery", ROOT)
DEVICE = enrolled(SECOND, "device", ROOT)
WRITTEN = note_line()


def approve(by: Signer, *, when: int = 10, signed: int | None = None, device: str = LAPTOP) -> Line:
    data = {"digest": WORDS, "text": "", "after": "", "lifts": []}
    return proven(by, "approved", NOTE, data, when=when, signed=signed, device=device)


def trust(*some: Line) -> str:
    return memory_of(WRITTEN, *some).trust(NOTE)


def test_a_key_counts_when_one_that_counts_enrolled_it_however_many_steps() -> None:
    third = key(4)
    chain = [ROOT_LINE, DEVICE, enrolled(third, "device", SECOND, device=PHONE)]
    assert trust(*chain, approve(third)) == "verified"
    for missing in (1, 2):
        assert trust(*[one for place, one in enumerate(chain) if place != missing], approve(third)) == "unreviewed"
    assert trust(ROOT_LINE, PAPER, enrolled(SECOND, "device", RECOVERY), approve(SECOND)) == "verified"
    assert trust(ROOT_LINE, enrolled(SECOND, "device", STRANGER), approve(SECOND)) == "unreviewed"
    # The pin is enough: the root's own line may still be on its way.
    assert trust(DEVICE, approve(SECOND)) == "verified"


def test_no_line_makes_a_root() -> None:
    usurper = enrolled(STRANGER, "root", STRANGER, when=0)
    memory = memory_of(WRITTEN, usurper, ROOT_LINE, approve(STRANGER))
    assert memory.trust(NOTE) == "unreviewed"
    assert [one.public for one in memory.keys.strangers] == [STRANGER.public]
    assert memory_of(WRITTEN, usurper, ROOT_LINE, approve(ROOT)).trust(NOTE) == "verified"
    crowned = enrolled(STRANGER, "root", ROOT)
    assert trust(ROOT_LINE, crowned, approve(STRANGER)) == "unreviewed"


def test_a_device_enrols_devices_and_nothing_above() -> None:
    paper = enrolled(STRANGER, "recovery", SECOND)
    memory = memory_of(ROOT_LINE, DEVICE, paper)
    assert memory.keys.get(STRANGER.id) is None
    assert memory_of(ROOT_LINE, DEVICE, enrolled(STRANGER, "device", SECOND)).keys.get(STRANGER.id) is not None
    coup = revoked(ROOT, SECOND, since=1)
    assert trust(ROOT_LINE, DEVICE, coup, approve(ROOT)) == "verified"
    assert trust(ROOT_LINE, PAPER, revoked(ROOT, RECOVERY, since=1), approve(ROOT)) == "unreviewed"


def test_an_enrolment_that_was_altered_or_is_of_another_vault_counts_for_nothing() -> None:
    assert trust(ROOT_LINE, DEVICE, approve(SECOND)) == "verified"
    other_id = proven(ROOT, "key_enrolled", key_id(STRANGER.public), {"public": SECOND.public, "kind": "device"})
    assert trust(ROOT_LINE, other_id, approve(SECOND)) == "unreviewed"
    swapped = line("key_enrolled", SECOND.id, {"public": SECOND.public, "kind": "recovery"}, proof=DEVICE.proof)
    assert trust(ROOT_LINE, swapped, approve(SECOND)) == "unreviewed"
    data = {"public": SECOND.public, "kind": "device", "device": LAPTOP, "label": ""}
    elsewhere = proven(ROOT, "key_enrolled", SECOND.id, data, vault=OTHER_VAULT)
    assert trust(ROOT_LINE, elsewhere, approve(SECOND)) == "unreviewed"
    there = memory_of(elsewhere, vault=OTHER_VAULT)
    assert there.keys.get(SECOND.id) is not None and VAULT != OTHER_VAULT


def test_what_a_lost_key_signed_before_the_loss_stands_and_nothing_after() -> None:
    before, after = approve(SECOND, when=10), approve(SECOND, when=2 * DAY)
    lost = revoked(SECOND, ROOT, since=DAY, seen=[before, after], when=3 * DAY)
    assert trust(ROOT_LINE, DEVICE, before, lost) == "verified"
    assert trust(ROOT_LINE, DEVICE, after) == "verified"
    assert trust(ROOT_LINE, DEVICE, after, lost) == "unreviewed"


@pytest.mark.parametrize(
    ("when", "signed"),
    [(10, 10), (10, 3 * DAY), (3 * DAY, 10)],
    ids=["both dates forged", "the stamp forged", "the signed time forged"],
)
def test_a_back_dated_line_of_a_lost_key_is_not_rescued_by_its_dates(when: int, signed: int) -> None:
    genuine = approve(SECOND, when=9)
    forged = approve(SECOND, when=when, signed=signed)
    lost = revoked(SECOND, ROOT, since=DAY, seen=[genuine], when=2 * DAY)
    assert trust(ROOT_LINE, DEVICE, forged) == "verified"
    assert trust(ROOT_LINE, DEVICE, forged, lost) == "unreviewed"
    assert trust(ROOT_LINE, DEVICE, genuine, forged, lost) == "verified"


def test_a_clock_a_day_off_errs_on_the_side_of_asking_again() -> None:
    # A day ahead: an honest line looks as if it were made after the loss, and the note comes back to the person.
    ahead = approve(SECOND, when=10 + DAY, signed=10 + DAY)
    lost = revoked(SECOND, ROOT, since=DAY, seen=[ahead], when=2 * DAY)
    assert trust(ROOT_LINE, DEVICE, ahead, lost) == "unreviewed"
    # A day behind: a line made after the loss counts only if the person had it in view when revoking.
    behind = approve(SECOND, when=DAY - 10, signed=DAY - 10)
    assert trust(ROOT_LINE, DEVICE, behind, revoked(SECOND, ROOT, since=DAY, seen=[], when=2 * DAY)) == "unreviewed"
    assert trust(ROOT_LINE, DEVICE, behind, revoked(SECOND, ROOT, since=DAY, seen=[behind], when=2 * DAY)) == "verified"


def test_a_reject_by_a_key_that_was_lost_still_stops_the_note() -> None:
    no = proven(SECOND, "rejected", NOTE, {"reason": "wrong"}, when=2 * DAY, must=True)
    lost = revoked(SECOND, ROOT, since=DAY, when=3 * DAY)
    assert trust(ROOT_LINE, DEVICE, no) == "rejected"
    assert trust(ROOT_LINE, DEVICE, no, lost) == "suspended"


def test_the_root_and_the_recovery_key_that_revoke_each_other_are_both_out() -> None:
    one, other = revoked(ROOT, RECOVERY, since=0), revoked(RECOVERY, ROOT, since=0)
    keys = [ROOT_LINE, PAPER]
    assert trust(*keys, approve(ROOT)) == trust(*keys, approve(RECOVERY)) == "verified"
    assert trust(*keys, one, approve(ROOT)) == trust(*keys, other, approve(RECOVERY)) == "unreviewed"
    for by in (ROOT, RECOVERY):
        assert trust(*keys, one, other, approve(by)) == "unreviewed"


def test_the_recovery_key_carries_on_when_the_root_is_lost() -> None:
    third = key(4)
    lost = revoked(ROOT, RECOVERY, since=DAY, seen=[ROOT_LINE, PAPER, DEVICE], when=2 * DAY)
    again = enrolled(third, "device", RECOVERY, when=2 * DAY + 1)
    thief = enrolled(STRANGER, "device", ROOT, when=5, signed=5)
    chain = [ROOT_LINE, PAPER, DEVICE, lost, again, thief]
    for by in (SECOND, third, RECOVERY):
        assert trust(*chain, approve(by, when=3 * DAY)) == "verified"
    for by in (ROOT, STRANGER):
        assert trust(*chain, approve(by, when=3 * DAY)) == "unreviewed"
    # Nor does the thief of the root take the other devices away.
    revenge = revoked(SECOND, ROOT, since=0, when=4)
    assert trust(*chain, revenge, approve(SECOND, when=3 * DAY)) == "verified"


def test_a_key_revokes_itself_and_a_device_no_other() -> None:
    third = key(4)
    keys = [ROOT_LINE, DEVICE, enrolled(third, "device", ROOT)]
    assert trust(*keys, revoked(SECOND, SECOND, since=0), approve(SECOND)) == "unreviewed"
    assert trust(*keys, revoked(SECOND, third, since=0), approve(SECOND)) == "verified"


def test_of_two_revocations_the_earlier_loss_and_what_both_had_seen_count() -> None:
    early, late = approve(SECOND, when=5), approve(SECOND, when=DAY - 1)
    first = revoked(SECOND, ROOT, since=DAY, seen=[early, late], when=3 * DAY)
    second = revoked(SECOND, RECOVERY, since=100, seen=[early], when=3 * DAY)
    keys = [ROOT_LINE, PAPER, DEVICE]
    assert trust(*keys, first, late) == "verified"
    assert trust(*keys, first, second, late) == "unreviewed"
    assert trust(*keys, first, second, early) == "verified"


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_keys_come_to_the_same_in_any_order(data: st.DataObject) -> None:
    people = [ROOT, RECOVERY, SECOND, key(4), STRANGER]
    pick = st.sampled_from(people)
    made: list[Line] = [ROOT_LINE]
    for _ in range(data.draw(st.integers(1, 6))):
        who, by, when = data.draw(pick), data.draw(pick), data.draw(st.integers(0, 4))
        if data.draw(st.booleans()):
            made.append(enrolled(who, data.draw(st.sampled_from(["root", "device", "recovery"])), by, when=when))
        else:
            seen = data.draw(st.lists(st.sampled_from(made), max_size=3))
            made.append(revoked(who, by, since=data.draw(st.integers(0, 4)), seen=seen, when=when))
    made = list({one.hash: one for one in made}.values())
    one, other = memory_of(*made), memory_of(*data.draw(st.permutations(made)))
    assert sorted(one.keys, key=lambda k: k.id) == sorted(other.keys, key=lambda k: k.id)
    assert one.dump() == other.dump()
    for public in (who.public for who in people):
        # Nobody counts whom the pinned root did not let in, directly or through others.
        if public != ROOT.public and not any(
            f'"{public}"'.encode() in line.raw and line.action == "key_enrolled" for line in made
        ):
            assert one.keys.get(key_id(public)) is None


def test_every_signature_of_a_key_is_named_when_it_is_revoked() -> None:
    yes, policy = approve(SECOND), proven(SECOND, "policy_set", "policy:review_first", {"value": True}, when=4)
    memory = memory_of(ROOT_LINE, DEVICE, yes, policy, approve(ROOT))
    assert set(memory.signatures_of(SECOND.public)) == {signature_of(yes), signature_of(policy)}
    assert at(1) < at(DAY)
