"""What a person decides with a key is final, stands in the files of this device, and can be taken back."""

from __future__ import annotations

import pytest

from tests.review.conftest import ABOUT, NOTE, TWIN, TWIN_ABOUT, Keyed, Person
from vir_core.contract import ReviewRequest
from vir_core.review import Conflict, HumanRequired, review


def state_in_file(world: Keyed, id: str = NOTE) -> str:
    [line] = [line for line in world.note(id).read_text("utf-8").splitlines() if line.startswith("trust:")]
    return line.removeprefix("trust: ")


def trust(world: Keyed, id: str = NOTE) -> str:
    page = world.judge("show", id).note
    assert page is not None
    return page.trust


def test_the_first_key_comes_with_a_recovery_code_and_six_words(keyed: Keyed) -> None:
    again = keyed.enroll()
    kinds = {key.kind: key for key in again.keys}
    assert set(kinds) == {"root", "recovery"} and kinds["root"].here and len(kinds["root"].words.split()) == 6
    assert not kinds["recovery"].code and "already" in again.notices[0]
    assert len([line for line in keyed.lines() if line["action"] == "key_enrolled"]) == 2


def test_an_approve_holds_for_these_words_and_is_seen_everywhere(keyed: Keyed) -> None:
    [done] = keyed.decide("approve", NOTE).done
    assert (done.state, done.final) == ("Approved", True)
    assert state_in_file(keyed) == "Approved" and keyed.ask(ABOUT).hits[0].trust == "verified"
    assert keyed.judge("queue", limit=100).counts["Approved"] == 1
    path = keyed.note(NOTE)
    path.write_text(path.read_text("utf-8").replace(" hung ", " never hung "), "utf-8")
    queue = keyed.judge("queue", limit=100)
    assert queue.items[0].id == NOTE and queue.items[0].reasons == ("edited",)
    assert keyed.ask(ABOUT).hits[0].trust == "edited"
    page = keyed.judge("show", NOTE).note
    assert page is not None and page.approved and page.approved != page.words
    keyed.decide("approve", NOTE)
    assert keyed.judge("queue", limit=100).waiting == 0 and trust(keyed) == "verified"


def test_what_a_formatter_does_leaves_an_approval_intact(keyed: Keyed) -> None:
    keyed.decide("approve", NOTE)
    path = keyed.note(NOTE)
    text = path.read_text("utf-8")
    path.write_text(text.replace("\n- **", "\n* **").replace("\n## ", "\n\n## "), "utf-8")
    assert path.read_text("utf-8") != text
    assert keyed.judge("queue", limit=100).waiting == 0 and trust(keyed) == "verified"


def test_a_reject_with_a_key_is_final_and_puts_the_file_away(keyed: Keyed) -> None:
    path = keyed.note(NOTE)
    [done] = keyed.decide("reject", NOTE, reason="wrong", why="never so").done
    assert (done.state, done.final) == ("Rejected", True)
    away = keyed.vault / "vir/store/rejected" / path.relative_to(keyed.vault)
    assert done.path == away.relative_to(keyed.vault).as_posix() and away.exists() and not path.exists()
    assert "trust: Rejected" in away.read_text("utf-8")
    assert NOTE not in keyed.found() and keyed.found(TWIN_ABOUT)[0] == TWIN
    assert keyed.run().written == () and not path.exists()
    with pytest.raises(Conflict, match="already"):
        keyed.decide("reject", NOTE, reason="wrong")


def test_a_restore_puts_back_what_was_there(keyed: Keyed) -> None:
    keyed.decide("approve", NOTE)
    path, text = keyed.note(NOTE), keyed.note(NOTE).read_bytes()
    keyed.decide("reject", NOTE, reason="wrong")
    assert not path.exists() and NOTE not in keyed.found()
    [done] = keyed.decide("restore", NOTE).done
    assert done.state == "Approved" and path.read_bytes() == text and keyed.found()[0] == NOTE


def test_undo_takes_back_the_last_verdict_whatever_it_was(keyed: Keyed) -> None:
    tree = keyed.note(NOTE).read_bytes()
    keyed.decide("approve", NOTE)
    keyed.decide("undo", NOTE)
    assert trust(keyed) == "unreviewed" and keyed.note(NOTE).read_bytes() == tree
    keyed.decide("undo", NOTE)
    assert trust(keyed) == "verified"
    keyed.decide("reject", NOTE, TWIN, reason="not-useful")
    assert {trust(keyed), trust(keyed, TWIN)} == {"rejected"}
    done = keyed.decide("undo").done
    assert {one.id for one in done} == {NOTE, TWIN}
    assert (trust(keyed), trust(keyed, TWIN)) == ("verified", "unreviewed")
    assert [line["action"] for line in keyed.lines() if line["subject"] == NOTE][-3:] == [
        "lifted",
        "rejected",
        "lifted",
    ]


def test_an_approve_overrules_the_flags_that_were_shown_and_no_later_one(keyed: Keyed) -> None:
    keyed.flag(NOTE, "once")
    keyed.decide("approve", NOTE)
    assert trust(keyed) == "verified"
    keyed.flag(NOTE, "again")
    assert trust(keyed) == "suspended" and NOTE not in keyed.found()
    keyed.decide("restore", NOTE)
    assert trust(keyed) == "verified" and keyed.found()[0] == NOTE


def test_a_struck_lesson_is_put_back_alone(keyed: Keyed) -> None:
    block = keyed.ask(ABOUT).hits[0].block
    keyed.decide("strike", f"{NOTE}#{block}", reason="wrong")
    assert block not in [hit.block for hit in keyed.ask(ABOUT).hits]
    keyed.decide("approve", NOTE)
    assert block not in [hit.block for hit in keyed.ask(ABOUT).hits]
    keyed.decide("restore", f"{NOTE}#{block}")
    page = keyed.judge("show", NOTE).note
    assert page is not None and not any(lesson.struck for lesson in page.lessons) and page.trust == "verified"
    keyed.run()
    assert block in [hit.block for hit in keyed.ask(ABOUT).hits]


def test_a_superseded_note_and_an_expired_one_leave_on_their_day(keyed: Keyed) -> None:
    keyed.decide("supersede", NOTE, by=TWIN)
    assert NOTE not in keyed.found() and keyed.found(TWIN_ABOUT)[0] == TWIN
    assert keyed.judge("queue", limit=100).counts["Put away"] == 1
    keyed.decide("expire", TWIN, on="2026-01-01")
    assert TWIN not in keyed.found(TWIN_ABOUT)
    keyed.decide("undo", NOTE)
    assert keyed.found()[0] == NOTE


def test_a_policy_is_set_by_a_person_only(keyed: Keyed) -> None:
    with pytest.raises(HumanRequired):
        keyed.judge("policy", "review_first=on")
    waiting = keyed.judge("queue").total
    keyed.decide("policy", "review_first=on")
    queue = keyed.judge("queue")
    assert queue.total == waiting and queue.policy == {"review_first": "on"}
    assert keyed.found("ingest worker") == []
    keyed.decide("approve", NOTE)
    assert keyed.found("ingest worker") == [NOTE]
    keyed.decide("policy", "review_first=off")
    assert keyed.found(TWIN_ABOUT)[0] == TWIN


def test_a_wrong_passphrase_decides_nothing(keyed: Keyed) -> None:
    before = keyed.tree()
    keyed.person.passphrase = "not the right one"
    with pytest.raises(HumanRequired):
        keyed.decide("approve", NOTE)
    keyed.person.passphrase = ""
    with pytest.raises(HumanRequired):
        keyed.decide("approve", NOTE)
    assert keyed.tree() == before
    [done] = keyed.decide("reject", NOTE, reason="wrong").done
    assert not done.final and done.state == "Needs another look"


def test_a_lost_key_is_revoked_with_the_recovery_code_and_another_takes_its_place(
    tmp_path: object, keyed: Keyed
) -> None:
    over = Person(lines=("start over",))
    reply = review(ReviewRequest(action="start-over", vault=str(keyed.vault)), over)
    [code] = [key.code for key in reply.keys if key.code]
    [root] = [key.id for key in reply.keys if key.kind == "root"]
    keyed.decide("approve", NOTE)
    lost = Person(passphrase="", lines=(code,))
    request = ReviewRequest(action="revoke", id=(root,), lost_since="2030-01-01", vault=str(keyed.vault))
    assert {key.id: key.valid for key in review(request, lost).keys}[root] is False
    assert trust(keyed) == "verified"
    with pytest.raises(HumanRequired):
        keyed.decide("approve", TWIN)
    keyed.person.lines = [code.lower()]
    keyed.enroll()
    keyed.decide("approve", TWIN)
    assert trust(keyed, TWIN) == "verified"


def test_a_flood_of_flags_from_one_place_is_one_question(keyed: Keyed) -> None:
    ids = keyed.more(25)
    first, rest = ids[:20], ids[20:]
    assert all(keyed.flag(id, caller="claude:gone-wrong").withheld for id in first)
    assert keyed.flag(NOTE, caller="claude:another").withheld
    replies = [keyed.flag(id, caller="claude:gone-wrong") for id in rest]
    assert not any(reply.withheld for reply in replies) and replies[-1].together == 25
    assert {trust(keyed, id) for id in first} == {"suspended"} and {trust(keyed, id) for id in rest} == {"unreviewed"}
    queue = keyed.judge("queue", limit=100)
    [flood] = [item for item in queue.items if item.notes]
    assert set(flood.notes) == set(rest) and flood.origin == "claude:gone-wrong" and flood.reasons == ("flood",)
    keyed.decide("restore", flood.id)
    assert not [item for item in keyed.judge("queue", limit=100).items if item.notes]
    keyed.decide("reject", *rest, reason="wrong")
    assert {trust(keyed, id) for id in rest} == {"rejected"}
