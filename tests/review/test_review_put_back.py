"""A note whose file somebody removed comes back from its text, when a person says so and never over another file."""

from __future__ import annotations

import pytest

from tests.review.conftest import NOTE, TWIN, Judging, Keyed
from vir_core.contract import DoctorRequest, RecentRequest
from vir_core.review import Conflict, HumanRequired
from vir_core.search import recent
from vir_core.upkeep import doctor


def test_a_removed_file_is_written_again_as_it_was_and_found_again(keyed: Keyed) -> None:
    path = keyed.note(NOTE)
    before = path.read_bytes()
    path.unlink()
    assert keyed.run().written == () and NOTE not in keyed.found()
    [done] = keyed.decide("restore", NOTE).done
    assert keyed.vault / done.path == path and path.read_bytes() == before
    assert NOTE in keyed.found()
    tree = keyed.tree()
    assert keyed.run().written == () and keyed.tree() == tree


def test_nobody_but_a_person_puts_it_back(world: Judging) -> None:
    path = world.note(NOTE)
    path.unlink()
    before = world.tree()
    with pytest.raises(HumanRequired):
        world.judge("restore", NOTE)
    assert world.tree() == before and not path.exists()


def test_a_note_that_was_flagged_and_removed_comes_back_by_one_word(keyed: Keyed) -> None:
    path = keyed.note(NOTE)
    keyed.flag(NOTE)
    path.unlink()
    assert keyed.decide("restore", NOTE).failed == ()
    assert path.exists() and NOTE in keyed.found()


def test_another_file_in_its_place_stays_and_the_note_goes_beside_it(keyed: Keyed) -> None:
    path = keyed.note(NOTE)
    path.write_text("my own words", "utf-8")
    [done] = keyed.decide("restore", NOTE).done
    assert path.read_text("utf-8") == "my own words"
    assert keyed.vault / done.path != path and keyed.note(NOTE) == keyed.vault / done.path


def test_where_its_words_are_gone_that_is_said(keyed: Keyed) -> None:
    path = keyed.note(NOTE)
    path.unlink()
    for text in (keyed.vault / "vir/store/texts").rglob("*.txt"):
        text.unlink()
    reply = keyed.decide("restore", NOTE)
    assert not path.exists() and "have not arrived" in reply.failed[0].message


def test_a_note_that_is_there_and_held_by_nothing_is_not_written_again(keyed: Keyed) -> None:
    before = keyed.note(TWIN).read_bytes()
    with pytest.raises(Conflict, match="Nothing holds it back"):
        keyed.decide("restore", TWIN)
    assert keyed.note(TWIN).read_bytes() == before


def test_rejected_notes_are_not_taken_for_removed_ones(keyed: Keyed) -> None:
    notes = [hit.id for hit in recent(RecentRequest(vault=str(keyed.vault), limit=50)).hits]
    assert len(notes) > 4
    many = notes[: len(notes) - 1]
    assert len(keyed.decide("reject", *many, reason="not-useful").done) == len(many)
    told = doctor(DoctorRequest(vault=str(keyed.vault), claude_dir=(str(keyed.claude),)))
    assert told.vault is not None and told.vault.removed == 0
    assert told.vault.states["Rejected"] == len(many)
    assert keyed.run().written == ()
