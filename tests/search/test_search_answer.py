from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from vir_core.contract import Trust
from vir_core.index import Found, IndexUnusable, Passage, Terms
from vir_core.search import Answer, Current, Files, Located, Scan, Wanted, answer


class Row(msgspec.Struct, frozen=True):
    served: bool = True
    reason: str = ""
    trust: Trust = "unreviewed"
    approved: str = ""
    project: str = "p1"
    body: str = ""
    struck: frozenset[str] = frozenset()


class Gate:
    def __init__(self, *, review_first: bool = False, **rows: Row) -> None:
        self.rows = rows
        self.review_first = review_first

    def row(self, note: str, as_of: str = "", /) -> Row | None:
        return self.rows.get(note)


def passage(note: str, block: str, text: str) -> Passage:
    return Passage(
        note=note,
        block=block,
        kind="lesson" if block else "summary",
        title=f"About {note}",
        text=text,
        path=f"vir/{note}.md",
        project="p1",
        project_name="api-server",
        category="gotcha",
        date="2026-11-30",
        confidence=0.5,
        digest="ab" * 32,
    )


def located(note: str, path: str, digest: str) -> Located | None:
    return Located(path=path, size=1, mtime_ns=1, unchanged=True)


def changed(note: str, path: str, digest: str) -> Located | None:
    return Located(path=f"moved/{note}.md", size=2, mtime_ns=2, unchanged=False)


def unasked(path: str) -> Any:
    raise AssertionError(f"{path} was asked for")


def ask(
    gate: Gate,
    passages: list[Passage],
    *,
    locate: Callable[[str, str, str], Located | None] = located,
    reread: Callable[[str], Current | None] = unasked,
    approved: Callable[[str], Current | None] = lambda _: None,
    limit: int = 8,
    question: str = "walrus",
) -> Answer:
    return answer(
        question, Scan(passages), gate, Wanted(limit=limit), Files(locate=locate, reread=reread, approved=approved)
    )


def notes(found: Answer) -> list[str]:
    return [hit.note for hit in found.hits]


def test_a_note_is_one_hit_with_its_best_passage_and_where_it_lies() -> None:
    found = ask(
        Gate(n1=Row()), [passage("n1", "la", "a walrus " + "filler " * 60), passage("n1", "lb", "walrus walrus")]
    )
    (hit,) = found.hits
    assert (hit.note, hit.block, hit.kind, hit.path) == ("n1", "lb", "lesson", "vir/n1.md")
    assert (hit.trust, hit.category, hit.project, hit.date) == ("unreviewed", "gotcha", "p1", "2026-11-30")
    assert hit.snippet == "walrus walrus"
    assert hit.score > 0
    assert hit.terms == ("walrus",)
    assert found.excluded == {}


@pytest.mark.parametrize("reason", ["rejected", "suspended", "superseded", "archived", "proposed"])
def test_what_the_gate_withholds_is_counted_once_while_its_twin_is_shown(reason: str) -> None:
    passages = [passage("n1", "la", "walrus"), passage("n1", "lb", "walrus"), passage("n2", "la", "walrus")]
    found = ask(Gate(n1=Row(served=False, reason=reason), n2=Row()), passages)
    assert notes(found) == ["n2"]
    assert found.excluded == {reason: 1}


def test_a_note_the_gate_never_heard_of_is_not_shown() -> None:
    found = ask(Gate(n2=Row()), [passage("n1", "la", "walrus"), passage("n2", "la", "walrus")])
    assert notes(found) == ["n2"]
    assert found.excluded == {"unknown": 1}


def test_a_struck_lesson_gives_way_to_the_next_of_its_note() -> None:
    gate = Gate(n1=Row(struck=frozenset({"la"})), n2=Row(struck=frozenset({"la"})))
    passages = [passage("n1", "la", "walrus walrus"), passage("n1", "", "walrus other"), passage("n2", "la", "walrus")]
    found = ask(gate, passages)
    assert [(hit.note, hit.block) for hit in found.hits] == [("n1", "")]
    assert found.excluded == {"struck": 2}


def test_a_missing_file_is_counted_and_made_up_for() -> None:
    asked: list[str] = []

    def locate(note: str, path: str, digest: str) -> Located | None:
        asked.append(note)
        return None if note == "n1" else located(note, path, digest)

    passages = [passage("n1", "la", "walrus"), passage("n1", "lb", "walrus"), passage("n2", "la", "walrus too")]
    found = ask(Gate(n1=Row(), n2=Row()), passages, locate=locate)
    assert notes(found) == ["n2"]
    assert found.excluded == {"absent": 1}
    assert asked.count("n1") == 1


def test_a_changed_file_answers_with_what_it_says_now() -> None:
    current = Current(blocks={"la": "the walrus, corrected", "summary": "now"}, words=lambda category: "cd" * 32)
    found = ask(Gate(n1=Row()), [passage("n1", "la", "walrus as written")], locate=changed, reread=lambda path: current)
    (hit,) = found.hits
    assert hit.snippet == "the walrus, corrected"
    assert hit.path == "moved/n1.md"
    assert hit.trust == "unreviewed"


def test_a_block_that_is_gone_from_its_file_is_not_shown() -> None:
    current = Current(blocks={"summary": "walrus"}, words=unasked)
    passages = [passage("n1", "la", "walrus"), passage("n2", "", "walrus summary")]
    found = ask(Gate(n1=Row(), n2=Row()), passages, locate=changed, reread=lambda path: current)
    assert [(hit.note, hit.snippet) for hit in found.hits] == [("n2", "walrus")]
    assert found.excluded == {"changed": 1}
    broken = ask(Gate(n1=Row()), passages[:1], locate=changed, reread=lambda path: None)
    assert broken.hits == ()
    assert broken.excluded == {"changed": 1}


def test_an_approved_note_whose_words_changed_is_edited_and_one_that_only_moved_is_not() -> None:
    gate = Gate(n1=Row(trust="verified", approved="ab" * 16))
    passages = [passage("n1", "la", "walrus")]
    for words, trust in (("ab" * 32, "verified"), ("cd" * 32, "edited")):
        current = Current(
            blocks={"la": "walrus"}, words=lambda category, digest=words: digest if category == "gotcha" else ""
        )
        (hit,) = ask(gate, passages, locate=changed, reread=lambda path, now=current: now).hits
        assert hit.trust == trust


def test_a_file_that_the_index_read_after_an_edit_is_asked_for_its_words() -> None:
    """It is as it was when last read, and that says nothing about what a person approved."""
    passages = [passage("n1", "la", "walrus")]
    for body, words, trust in (
        ("ab" * 16, "", "verified"),
        ("00" * 16, "12" * 32, "verified"),
        ("00" * 16, "", "edited"),
    ):
        gate = Gate(n1=Row(trust="verified", approved="12" * 16, body=body))
        current = Current(blocks={"la": "walrus"}, words=lambda _, digest=words: digest)
        (hit,) = ask(gate, passages, reread=lambda path, now=current: now).hits
        assert hit.trust == trust


def test_when_review_comes_first_an_edited_note_answers_with_the_words_that_were_approved() -> None:
    passages = [passage("n1", "la", "walrus in the edit"), passage("n1", "lb", "walrus added since")]
    now = Current(blocks={"la": "walrus in the edit", "lb": "walrus added since"}, words=lambda _: "cd" * 32)
    before = Current(blocks={"la": "walrus as approved"}, words=lambda _: "ab" * 32)
    row = Row(trust="verified", approved="ab" * 16)
    (hit,) = ask(
        Gate(n1=row, review_first=True), passages, locate=changed, reread=lambda _: now, approved=lambda _: before
    ).hits
    assert (hit.trust, hit.snippet) == ("edited", "walrus as approved")
    (hit,) = ask(Gate(n1=row), passages[:1], locate=changed, reread=lambda _: now).hits
    assert (hit.trust, hit.snippet) == ("edited", "walrus in the edit")
    found = ask(Gate(n1=row, review_first=True), passages, locate=changed, reread=lambda _: now)
    assert found.hits == () and set(found.excluded) == {"proposed"}


def test_hits_are_refilled_past_many_withheld_notes_and_files_are_asked_once() -> None:
    passages = [passage(f"n{number:03}", "la", "walrus " * 3) for number in range(200)]
    passages += [passage(f"z{number}", "la", "walrus and more words after it") for number in range(5)]
    gate = Gate(
        **{one.note: Row(served=False, reason="rejected") for one in passages if one.note.startswith("n")},
        **{f"z{number}": Row() for number in range(5)},
    )
    asked: list[str] = []

    def locate(note: str, path: str, digest: str) -> Located | None:
        asked.append(note)
        return located(note, path, digest)

    found = ask(gate, passages, locate=locate, limit=3)
    assert notes(found) == ["z0", "z1", "z2"]
    assert found.excluded == {"rejected": 200}
    assert sorted(asked) == ["z0", "z1", "z2"]


def test_refilling_ends() -> None:
    class Endless:
        fetched: list[int] = []

        def search(self, terms: Terms, limit: int, **filters: object) -> Found:
            self.fetched.append(limit)
            return Found(matches=(), frequency={"walrus": 5}, passages=10, complete=False)

    source = Endless()
    assert answer("walrus", source, Gate(), Wanted(), Files(locate=located, reread=unasked)).hits == ()
    assert len(source.fetched) < 6
    assert max(source.fetched) <= 2048


@pytest.mark.parametrize("question", ["", "the", "\0"])
def test_a_question_without_terms_touches_nothing(question: str) -> None:
    class Broken:
        def search(self, terms: Terms, limit: int, **filters: object) -> Found:
            raise IndexUnusable("missing", "there is no search index yet")

    if question == "the":  # a stop word may still name something
        with pytest.raises(IndexUnusable):
            answer(question, Broken(), Gate(), Wanted(), Files(locate=located, reread=unasked))
    else:
        assert answer(question, Broken(), Gate(), Wanted(), Files(locate=located, reread=unasked)) == Answer(
            hits=(), excluded={}
        )
    assert answer("walrus", Broken(), Gate(), Wanted(limit=0), Files(locate=located, reread=unasked)).hits == ()


def test_filters_reach_the_source() -> None:
    passages = [passage("n1", "la", "walrus")]
    gate = Gate(n1=Row())
    for filters, expected in (({"categories": ["tool"]}, 0), ({"categories": ["gotcha"], "projects": ["p1"]}, 1)):
        found = answer("walrus", Scan(passages), gate, Wanted(**filters), Files(locate=located, reread=unasked))
        assert len(found.hits) == expected
