"""The order of an answer, without an index."""

from __future__ import annotations

from vir_core.index import Found, Match, Terms
from vir_core.search.priors import priors_of
from vir_core.search.ranking import Near, complete, rank

MODEL = "all-MiniLM-L6-v2-int8"


def match(note: str, text: str = "something else entirely", words: float = 0.0, **fields: object) -> Match:
    values: dict[str, object] = {
        "block": "la", "kind": "lesson", "title": "", "path": "", "project": "p", "project_name": "p", "category": "pattern",
        "date": "2026-11-01", "confidence": 0.5, "digest": "", "distiller": "extractive/1", "words_score": words, **fields,
    }  # fmt: skip
    return Match(note=note, text=text, **values)  # type: ignore[arg-type]


def found(*matches: Match, **frequency: int) -> Found:
    return Found(matches=matches, frequency=frequency, passages=100, complete=True)


def near(latin: bool = True, model: str = MODEL, **cosines: float) -> Near:
    field = {f"x{number}#la": 0.1 - number / 1000 for number in range(40)}
    ordered = sorted(
        {**{f"{note}#la": cosine for note, cosine in cosines.items()}, **field}.items(), key=lambda one: -one[1]
    )
    return Near(cosines=dict(ordered), model=model, latin=latin, all=False)


def notes(terms: Terms, given: Found, nearness: Near | None) -> list[str]:
    return [one.match.note for one in rank(terms, given, nearness)]


def test_an_identifier_as_written_leads_whatever_its_neighbours_mean() -> None:
    terms = Terms(idents=("max_retries",), marked=frozenset({"max_retries"}))
    exact = match("exact", "set max_retries to 3", idents_score=9.0)
    given = found(exact, match("a"), match("b"), max_retries=1)
    assert notes(terms, given, near(a=0.45, b=0.44, exact=0.2))[0] == "exact"
    # Also where the search by meaning did not see it at all.
    assert notes(terms, given, near(a=0.45, b=0.44))[0] == "exact"


def test_what_is_only_as_near_as_anything_is_left_out() -> None:
    terms = Terms(words=("bread",))
    given = found(match("a"), match("b"))
    assert notes(terms, given, near(a=0.18, b=0.15)) == []
    assert notes(terms, given, near(a=0.5, b=0.15)) == ["a"]


def test_a_question_for_an_identifier_that_stands_nowhere_needs_more() -> None:
    given = found(match("a"))
    assert notes(Terms(words=("fails",)), given, near(a=0.3)) == ["a"]
    unknown = Terms(words=("fails",), idents=("ora-00942",), marked=frozenset({"ora-00942"}))
    assert notes(unknown, given, near(a=0.3)) == []
    assert notes(unknown, given, near(a=0.6)) == ["a"]


def test_a_script_the_model_hardly_knows_needs_more() -> None:
    terms, given = Terms(idents=("今晚",), marked=frozenset({"今晚"})), found(match("a"), 今晚=1)
    assert notes(terms, given, near(latin=False, a=0.6)) == []
    assert notes(terms, given, near(latin=False, a=0.8)) == ["a"]


def test_of_an_unmeasured_model_only_standing_out_counts() -> None:
    terms, given = Terms(words=("bread",)), found(match("a"), match("b"))
    assert notes(terms, given, near(model="ollama:nomic", a=0.5, b=0.12)) == ["a"]


def test_what_repeats_a_hit_moves_behind_what_does_not() -> None:
    said = "always take the locks of the two tables in one order"
    given = found(match("a", said), match("b", said), match("c", "roll the schema back before the retry"))
    ranked = rank(Terms(words=("deadlock",)), given, near(a=0.62, b=0.6, c=0.55))
    assert [one.match.note for one in ranked] == ["a", "c", "b"]
    assert ranked[2].priors["repeats"] == -0.1
    # Two passages of one note are no repetition of each other: only one of them is shown.
    same = found(match("a", said), match("a", said, block="lb"))
    one = Near(cosines={"a#la": 0.6, "a#lb": 0.6}, model=MODEL, latin=True, all=True)
    assert all("repeats" not in passage.priors for passage in rank(Terms(words=("deadlock",)), same, one))


class _Gate:
    def row(self, note: str, /) -> _Gate:
        self.trust = "verified" if note == "approved" else "unreviewed"
        return self


def test_approval_and_age_decide_between_equals_and_never_against_a_better_answer() -> None:
    priors = priors_of(_Gate(), "2026-12-01")  # type: ignore[arg-type]
    terms = Terms(words=("deadlock",))
    given = found(match("approved"), match("plain", "another one"), match("old", "a third", date="2022-01-01"))
    order = [one.match.note for one in rank(terms, given, near(approved=0.5, plain=0.5, old=0.5), priors)]
    assert order == ["approved", "plain", "old"]
    order = [one.match.note for one in rank(terms, given, near(approved=0.5, plain=0.5, old=0.56), priors)]
    assert order[0] == "old"


def test_a_search_ends_where_nothing_further_can_count() -> None:
    assert complete(found(), near(a=0.5))
    close = Near(cosines={f"n{n}#la": 0.6 - n / 1000 for n in range(64)}, model=MODEL, latin=True, all=False)
    assert not complete(found(), close)
    assert complete(found(), Near(cosines=close.cosines, model=MODEL, latin=True, all=True))
