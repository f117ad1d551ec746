"""The figures that rankings are judged by are what they say they are."""

from __future__ import annotations

from math import log2

import pytest

from evals.retrieval.__main__ import Result, comparison
from evals.retrieval.corpora import Question
from evals.retrieval.measures import difference, judged, ndcg, summary

ONE = Question("q", "concept", "dev", "?", ("a",), ("b",))


def test_ndcg_is_one_for_the_best_order_and_less_for_any_other() -> None:
    assert ndcg(ONE, ["a", "b", "x"]) == 1.0
    assert ndcg(ONE, ["x", "a"]) == pytest.approx((2 / log2(3)) / (2 + 1 / log2(3)))
    assert ndcg(ONE, ["a"]) < ndcg(ONE, ["b", "a"]) < 1.0
    assert ndcg(ONE, ["x"] * 8 + ["a"]) == 0.0


def test_a_note_that_answers_in_part_counts_for_recall() -> None:
    row = judged(ONE, ["x", "b"])
    assert row.rank == 2 and summary([row], 8)["recall@5"] == 1.0 and summary([row], 8)["recall@1"] == 0.0


def test_questions_without_an_answer_count_only_as_garbage() -> None:
    nothing = Question("g", "garbage", "dev", "!!")
    told = summary([judged(nothing, ["x"]), judged(nothing, ()), judged(ONE, ["a"])], 8)
    assert told["garbage"] == 0.5 and told["recall@1"] == 1.0 and told["n"] == 3
    assert "ndcg@8" not in summary([judged(nothing, ())], 8)


def test_no_figure_looks_further_than_was_fetched() -> None:
    assert summary([judged(ONE, ["a"])], 8)["mrr@8"] == 1.0
    with pytest.raises(ValueError, match="fetch at least 8"):
        summary([judged(ONE, ["a"])], 5)


def test_a_difference_comes_with_an_interval_that_holds_it() -> None:
    questions = [Question(f"q{n}", "concept", "dev", "?", (f"n{n}",)) for n in range(40)]
    before = {one.id: judged(one, ["x", *one.gold]) for one in questions}
    after = {one.id: judged(one, [*one.gold] if n % 4 else ["x", *one.gold]) for n, one in enumerate(questions)}
    mean, low, high = difference(before, after, "recall@1")
    assert mean == pytest.approx(0.75) and 0.55 < low < mean < high < 0.95
    assert difference(after, after, "recall@1") == (0.0, 0.0, 0.0)
    back, _, top = difference(after, before, "recall@1")
    assert back == pytest.approx(-0.75) and top < 0


def test_results_over_other_notes_are_not_compared() -> None:
    def result(digest: str) -> Result:
        return Result(
            corpus="c",
            notes=1,
            digest=digest,
            commit="",
            day="",
            method="lexical",
            limit=8,
            questions={"q": judged(ONE, ["a"])},
            withheld=0,
            forbidden=0.0,
            still_there=1.0,
        )

    assert "| c | ndcg@8 |" in comparison([result("1")], [result("1")], "dev")
    with pytest.raises(ValueError, match="not the same notes"):
        comparison([result("1")], [result("2")], "dev")
