"""`related`, `recent` and `queries` over a real vault."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.conftest import World
from vir_core.contract import QueriesRequest, QueryReply, RecentRequest, RelatedRequest, RequestError
from vir_core.index import Passage
from vir_core.memory import read_asked
from vir_core.search import Scan, queries, recent, related
from vir_core.search.answering import Files, Located, Wanted
from vir_core.search.neighbours import recent as latest
from vir_core.search.neighbours import related as alike_notes
from vir_core.vault import open_vault

NOTE = "n95535f35c3f77d3"


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.run()
    return made


def latest_of(world: World, **fields: Any) -> QueryReply:
    return recent(RecentRequest(vault=str(world.vault), **fields))


def test_the_latest_come_first_and_filters_hold(world: World) -> None:
    every = latest_of(world, limit=100, budget=0).hits
    assert len(every) == len(list((world.vault / "vir").rglob("*.md")))
    assert [hit.date for hit in every] == sorted((hit.date for hit in every), reverse=True)
    assert [hit.id for hit in latest_of(world, limit=3).hits] == [hit.id for hit in every[:3]]
    one = latest_of(world, limit=100, budget=0, project=("lantern",)).hits
    assert one and {hit.project for hit in one} == {"lantern"}
    since = latest_of(world, limit=100, budget=0, since=every[4].date).hits
    assert {hit.id for hit in since} == {hit.id for hit in every if hit.date >= every[4].date}
    assert latest_of(world, limit=0).hits == () and latest_of(world, since="2126-01-01").hits == ()


def test_a_note_relates_to_others_and_never_to_itself(world: World) -> None:
    request = RelatedRequest(vault=str(world.vault), id=NOTE, limit=50, budget=0)
    ids = [hit.id for hit in related(request).hits]
    assert NOTE not in ids and len(ids) == len(set(ids))
    with pytest.raises(RequestError, match="no note"):
        related(RelatedRequest(vault=str(world.vault), id="n00000000000dead"))


def passage(note: str, text: str, date: str = "2026-11-01", title: str = "") -> Passage:
    return Passage(
        note=note,
        block="",
        kind="summary",
        title=title or note,
        text=text,
        path=f"vir/{note}.md",
        project="p1",
        project_name="api",
        category="gotcha",
        date=date,
        confidence=0.5,
        digest="ab" * 32,
    )


class AllServed:
    review_first = False

    class Row:
        served, reason, trust, approved, body, project = True, "", "unreviewed", "", "", "p1"
        struck: frozenset[str] = frozenset()

    def row(self, note: str, as_of: str = "", /) -> Any:
        return self.Row()


HERE = Files(
    locate=lambda note, path, digest: Located(path=path, size=1, mtime_ns=1, unchanged=True), reread=lambda path: None
)


def test_kinship_needs_more_than_one_rare_word() -> None:
    filler = [passage(f"f{number}", f"unrelated filler words about topic{number} gardening") for number in range(30)]
    source = Scan(
        [
            passage("a", "The pooled connection starves while the ingest worker waits for the HTTP timeout."),
            passage("b", "A connection of the pooled set was kept by the ingest worker; HTTP timeout missing."),
            passage("c", "The picnic needed a worker umbrella."),
            *filler,
        ]
    )
    found = alike_notes("a", source, AllServed(), Wanted(), HERE)
    assert found is not None and [hit.note for hit in found.hits] == ["b"]
    alone = alike_notes("f3", Scan([passage("f3", "one note only")]), AllServed(), Wanted(), HERE)
    assert alone is not None and alone.hits == ()


def test_the_latest_are_looked_for_ever_further_back() -> None:
    now = datetime(2026, 12, 1, tzinfo=UTC)
    dates = ["2026-11-30", "2026-10-20", "2026-03-01", "2019-01-01"]
    source = Scan([passage(f"n{number}", "text", date) for number, date in enumerate(dates)])
    for limit in range(1, 5):
        found = latest(source, AllServed(), Wanted(limit=limit), HERE, now)
        assert [hit.note for hit in found.hits] == [f"n{number}" for number in range(limit)]


def test_the_record_tells_what_was_shown_and_what_was_not_found(world: World) -> None:
    world.ask("why does the ingest worker hang", caller="claude:3f2a")
    world.ask("Banana  helicopter")
    world.ask("banana helicopter")
    world.ask("terraform state")
    related(RelatedRequest(vault=str(world.vault), id=NOTE))
    reply = queries(QueriesRequest(vault=str(world.vault)))
    assert reply.questions == 5 and reply.recorded
    assert [one.verb for one in reply.asked] == ["related", "query", "query", "query", "query"]
    assert [(one.text, one.times) for one in reply.unanswered] == [("banana helicopter", 2)]
    best = next(one for one in reply.shown if one.id == NOTE)
    assert best.title and best.words.startswith("shown") and "today" in best.words
    every = {hit.id for hit in latest_of(world, limit=100, budget=0).hits}
    shown = {note for one in read_asked(open_vault(world.vault).state)[:5] for note in one.notes}
    assert reply.silent == len(every - shown) > 0 and {one.id for one in reply.never} <= every - shown
    about = queries(QueriesRequest(vault=str(world.vault), note=NOTE))
    assert {one.session for one in about.asked} >= {"claude:3f2a"}
    assert all(NOTE in one.notes for one in about.asked) and [one.id for one in about.shown] == [NOTE]
    assert queries(QueriesRequest(vault=str(world.vault), since="2126-01-01")).questions == 0
    assert queries(QueriesRequest(vault=str(world.vault), note="n00000000000dead")).asked == ()


def test_a_question_that_was_answered_later_is_no_gap(world: World) -> None:
    world.ask("quokka")
    session = next(line for line in world.lines() if line["action"] == "session_settled")["subject"]
    world.grow(session.partition(":")[2], "why does the quokka cache lose entries", "The quokka cache loses entries.")
    before = queries(QueriesRequest(vault=str(world.vault)))
    assert [one.text for one in before.unanswered] == ["quokka"]
