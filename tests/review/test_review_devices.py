"""A second device: it trusts nobody until the six words were compared, and its verdicts count everywhere after that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.review.conftest import NOTE, Keyed, Person
from vir_core.contract import ReviewRequest
from vir_core.review import HumanRequired, review


def trust(world: Keyed, id: str = NOTE) -> str:
    page = world.judge("show", id).note
    assert page is not None
    return page.trust


def test_a_second_device_compares_six_words_and_gets_its_own_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: Path
) -> None:
    world = Keyed(tmp_path)
    world.run()
    made = world.enroll().keys
    [code] = [key.code for key in made if key.code]
    [words] = [key.words for key in made if key.words]
    world.decide("approve", NOTE)
    monkeypatch.setenv("VIR_STATE_DIR", str(sandbox / "another"))
    # What the first device proved is not taken on its word here.
    assert trust(world) == "unreviewed"
    assert any("review confirm" in notice for notice in world.judge("queue").notices)
    with pytest.raises(HumanRequired, match="Only a person"):
        world.decide("reject", NOTE, reason="wrong") and world.decide("restore", NOTE)
    world.judge("show", NOTE)
    for typed in ("", "yes", "apple banana cherry grape lemon melon"):
        with pytest.raises(HumanRequired):
            review(ReviewRequest(action="confirm", vault=str(world.vault)), Person(lines=(typed,)))
    confirmed = review(ReviewRequest(action="confirm", vault=str(world.vault)), Person(lines=(words.upper(),)))
    assert {key.kind for key in confirmed.keys} == {"root", "recovery"} and not confirmed.notices
    with pytest.raises(HumanRequired):
        review(ReviewRequest(action="enroll", vault=str(world.vault)), Person(lines=("AAAAA-BBBBB",)))
    mine = Person("another passphrase", lines=(code,))
    reply = review(ReviewRequest(action="enroll", vault=str(world.vault)), mine)
    assert [key.kind for key in reply.keys if key.here] == ["device"]
    restored = review(ReviewRequest(action="restore", id=(NOTE,), vault=str(world.vault)), mine)
    assert restored.done[0].state == "Approved" and trust(world) == "verified"
    monkeypatch.setenv("VIR_STATE_DIR", str(sandbox / "state"))
    assert trust(world) == "verified" and not world.judge("queue").notices
