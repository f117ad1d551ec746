"""Stopping a note needs nobody's proof and is seen by the next answer; letting one in needs a person."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.review.conftest import ABOUT, NOTE, TWIN, TWIN_ABOUT, Judging
from vir_core.memory import Asked, record_asked
from vir_core.review import HumanRequired, NotFound
from vir_core.vault import open_vault


def test_a_flag_is_seen_by_the_next_answer_and_only_it(world: Judging) -> None:
    before = world.found()
    assert before[0] == NOTE
    reply = world.flag(NOTE, "it was never true")
    assert (reply.state, reply.withheld) == ("Needs another look", True)
    answer = world.ask(ABOUT)
    assert NOTE not in [hit.id for hit in answer.hits] and answer.excluded["suspended"] == 1
    assert [hit.id for hit in answer.hits] == before[1:] and world.found(TWIN_ABOUT)[0] == TWIN


def test_the_words_of_a_flag_stand_in_a_text_and_not_in_the_history(world: Judging) -> None:
    world.flag(NOTE, "it was never true, Ludmila said")
    lines = [line for line in world.lines() if line["action"] == "held"]
    assert len(lines) == 1 and "Ludmila" not in str(lines)
    texts = [path for path in (world.vault / "vir/store/texts").rglob("*.txt") if "Ludmila" in path.read_text("utf-8")]
    assert [path.stem for path in texts] == [lines[0]["data"]["why"]]
    [hold] = world.judge("show", NOTE).note.holds  # type: ignore[union-attr]
    assert (hold.reason == "flagged" and hold.id == lines[0]["prev"]) or hold.id


def test_a_reject_without_proof_holds_the_note_and_leaves_its_file_where_it_is(world: Judging) -> None:
    path = world.note(NOTE)
    reply = world.judge("reject", NOTE, reason="wrong")
    [done] = reply.done
    assert (done.state, done.final) == ("Needs another look", False)
    assert path.exists() and "trust: Needs another look" in path.read_text("utf-8")
    assert NOTE not in world.found() and world.found(TWIN_ABOUT)[0] == TWIN
    assert world.run().written == () and world.note(NOTE) == path


def test_a_struck_lesson_is_out_of_answers_and_its_note_stays(world: Judging) -> None:
    [first, *_] = world.ask(ABOUT).hits
    assert first.id == NOTE and first.block
    world.judge("strike", f"{NOTE}#{first.block}", reason="wrong")
    answer = world.ask(ABOUT)
    assert first.block not in [hit.block for hit in answer.hits]
    assert "trust: New" in world.note(NOTE).read_text("utf-8")
    lessons = {lesson.id: lesson.struck for lesson in world.judge("show", NOTE).note.lessons}  # type: ignore[union-attr]
    assert lessons.pop(first.block) and lessons and not any(lessons.values())


@pytest.mark.parametrize("action", ["approve", "restore"])
def test_letting_in_needs_a_person(world: Judging, action: str) -> None:
    world.flag(NOTE)
    before = world.tree()
    with pytest.raises(HumanRequired) as refused:
        world.judge(action, NOTE)
    assert "terminal" in refused.value.hint
    assert world.tree() == before and NOTE not in world.found()


@pytest.mark.parametrize("id", ["n000000000000000", "nonesuch", "../../etc", ""])
def test_an_id_of_nothing_is_not_found(world: Judging, id: str) -> None:
    before = world.tree()
    for act in (
        lambda: world.flag(id),
        lambda: world.judge("show", id),
        lambda: world.judge("reject", id, reason="wrong"),
    ):
        with pytest.raises(NotFound):
            act()
    assert world.tree() == before


def test_the_page_of_a_note_has_its_words_its_evidence_and_its_history(world: Judging) -> None:
    page = world.judge("show", NOTE).note
    assert page is not None
    assert page.title == "Ingest worker hangs when the pool runs dry" and page.state == "New"
    assert "## Summary" in page.words and page.path == world.note(NOTE).relative_to(world.vault).as_posix()
    assert page.lessons and all(lesson.quote and lesson.around for lesson in page.lessons)
    assert [entry.action for entry in page.history] == ["note_written", "session_settled"]


def test_what_needs_another_look_comes_first_and_states_are_counted(world: Judging) -> None:
    all_new = world.judge("queue", limit=100)
    assert all_new.waiting == 0 and set(all_new.counts) == {"New"}
    assert [item.date for item in all_new.items] == sorted((item.date for item in all_new.items), reverse=True)
    last = all_new.items[-1].id
    world.flag(last)
    queue = world.judge("queue", limit=100)
    assert queue.items[0].id == last and queue.items[0].reasons == ("flagged",) and queue.waiting == 1
    assert queue.counts == {"New": all_new.counts["New"] - 1, "Needs another look": 1}
    assert queue.total == all_new.total == len(queue.items)
    assert world.judge("queue", limit=2, offset=1).items == queue.items[1:3]
    assert world.judge("queue", limit=0).items == ()


def test_new_notes_that_answers_held_come_before_the_other_new_ones(world: Judging) -> None:
    last = world.judge("queue", limit=100).items[-1]
    state = open_vault(world.vault).state
    for times, id in ((3, last.id), (1, NOTE)):
        for _ in range(times):
            assert record_asked(state, Asked(at=now(), verb="query", surface="cli", text="x", notes=(id,)))
    first, second, *_ = world.judge("queue").items
    assert (first.id, second.id) == (last.id, NOTE) and (first.shown, second.shown) == (3, 1)
    assert first.last_shown and world.judge("show", last.id).note.shown == 3  # type: ignore[union-attr]
    world.flag(TWIN)
    assert [item.id for item in world.judge("queue").items[:3]] == [TWIN, last.id, NOTE]


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
