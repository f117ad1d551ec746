"""When a note holds in the world, and when that was known: two axes, each asked alone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.authority.conftest import DESK, NOTE, OTHER, ROOT, ROOT_LINE, VAULT, at, line, memory_of, note_line, proven
from vir_core.journal import Draft, Journal
from vir_core.memory import Span, is_day
from vir_core.memory import memory_of as made_for

OLD, NEW = note_line(date="2026-01-10"), note_line(OTHER, date="2026-01-20", when=3)
CORRECTED = proven(ROOT, "superseded", NOTE, {"by": OTHER, "from": "2026-03-01", "after": ""}, when=9, must=True)


def test_correcting_a_note_keeps_the_past_answer_reachable() -> None:
    before, after = memory_of(ROOT_LINE, OLD, NEW), memory_of(ROOT_LINE, OLD, NEW, CORRECTED)
    for day in ("2026-01-20", "2026-02-28", "2026-03-01", ""):
        assert before.withheld(NOTE, as_of=day) == before.withheld(OTHER, as_of=day) == ""
    said = {
        day: (after.withheld(NOTE, as_of=day), after.withheld(OTHER, as_of=day)) for day in ("2026-02-28", "2026-03-01")
    }
    assert said == {"2026-02-28": ("", "not_yet"), "2026-03-01": ("superseded", "")}
    assert (after.withheld(NOTE), after.withheld(OTHER)) == ("superseded", "")


def test_a_span_says_since_when_and_until_when_in_the_world_and_in_the_books() -> None:
    memory = memory_of(ROOT_LINE, OLD, NEW, CORRECTED)
    assert memory.span(NOTE) == Span("", "2026-03-01", at(1), at(9))
    assert memory.span(OTHER) == Span("2026-03-01", "", at(3), "")
    memory.apply(proven(ROOT, "lifted", NOTE, {"lifts": [CORRECTED.hash], "after": CORRECTED.hash}, when=20))
    assert memory.span(NOTE) == Span("", "", at(1), "") and memory.span(OTHER) == Span("", "", at(3), "")
    memory.apply(note_line(date="2026-01-10", when=0))
    assert memory.span(NOTE).recorded == at(0)


def test_notes_that_supersede_each_other_are_both_put_away_from_their_day_on() -> None:
    circle = [
        line("superseded", NOTE, {"by": OTHER, "from": "2026-03-01"}, when=9, must=True),
        line("superseded", OTHER, {"by": NOTE, "from": "2026-04-01"}, when=9, must=True),
    ]
    memory = memory_of(OLD, NEW, *circle)
    assert memory.withheld(NOTE, as_of="2026-05-01") == memory.withheld(OTHER, as_of="2026-05-01") == "superseded"
    assert memory.withheld(OTHER, as_of="2026-03-15") == ""


def test_of_two_ends_the_earlier_one_holds() -> None:
    late = proven(ROOT, "expired", NOTE, {"on": "2026-06-01", "after": ""}, when=9, must=True)
    early = proven(ROOT, "expired", NOTE, {"on": "2026-05-01", "after": ""}, when=8, must=True)
    memory = memory_of(ROOT_LINE, OLD, late, early)
    assert [memory.withheld(NOTE, as_of=day) for day in ("2026-04-30", "2026-05-01", "2026-06-01")] == [
        "",
        "expired",
        "expired",
    ]
    put_off = proven(ROOT, "lifted", NOTE, {"lifts": [early.hash], "after": ""}, when=10)
    memory = memory_of(ROOT_LINE, OLD, late, early, put_off)
    assert [memory.withheld(NOTE, as_of=day) for day in ("2026-05-31", "2026-06-01")] == ["", "expired"]


def test_what_was_known_then_is_read_from_the_lines_of_then(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    journal = Journal(store, tmp_path / "state", vault=VAULT, device=DESK, core="0.1.0")
    for minute, draft in (
        (5, Draft("note_written", NOTE, msgspec.json.decode(OLD.data))),
        (50, Draft("expired", NOTE, {"on": "2026-02-01", "after": ""}, must=True)),
    ):
        journal.clock = lambda minute=minute: at(minute)
        with journal.writing("test", made_for(journal)) as writer:
            writer.append([draft], kind="person", surface="test")
    now, then = (journal.read(made_for(journal), known_at=moment).projection for moment in (at(60), at(10)))
    # The end lies in February; that it does became known in minute 50.
    assert (now.withheld(NOTE, as_of="2026-02-01"), then.withheld(NOTE, as_of="2026-02-01")) == ("expired", "")
    assert now.withheld(NOTE, as_of="2026-01-31") == then.withheld(NOTE, as_of="2026-01-31") == ""


@pytest.mark.parametrize(
    ("day", "good"),
    [
        ("2026-02-28", True),
        ("2024-02-29", True),
        ("2026-02-29", False),
        ("2026-2-1", False),
        ("20260201", False),
        ("", False),
    ],
)
def test_a_day_is_one_of_the_calendar(day: str, good: bool) -> None:
    assert is_day(day) == good
