"""Answers do not get worse unnoticed. Floors stand a little below what was measured (evals/retrieval/README.md)."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from evals.retrieval.__main__ import Result, measured
from evals.retrieval.corpora import Corpus, real, sixty, written
from evals.retrieval.measures import summary

QUICK = ("literal", "own-language-literal", "garbage", "absent")


def figures(result: Result, *kinds: str) -> dict[str, float]:
    return summary([row for row in result.questions.values() if not kinds or row.kind in kinds], result.limit)


def quick(corpus: Corpus) -> Corpus:
    """A part of the questions that can be asked within a second or two."""
    chosen = tuple(one for one in corpus.questions if one.split == "dev" and one.kind in QUICK)
    return msgspec.structs.replace(corpus, questions=chosen)


def withheld_stays_away(result: Result) -> None:
    assert result.withheld > 0 and result.forbidden == 0.0 and result.still_there >= 0.98


def test_written_notes_are_found_in_their_own_words_and_nonsense_finds_nothing(tmp_path: Path) -> None:
    result = measured(quick(written(tmp_path / "Notes")), 8)
    assert figures(result, "literal")["recall@1"] >= 0.95
    assert figures(result, "own-language-literal")["recall@1"] == 1.0
    assert figures(result, "garbage", "absent")["garbage"] <= 0.05
    withheld_stays_away(result)


@pytest.mark.slow
def test_sixty_handed_notes_are_found(tmp_path: Path, shared: Path) -> None:
    result = measured(sixty(tmp_path / "Notes", shared), 8)
    assert figures(result, "literal")["recall@1"] == 1.0
    withheld_stays_away(result)


@pytest.mark.slow
def test_notes_of_real_sessions_are_found(tmp_path: Path, shared: Path) -> None:
    result = measured(real(tmp_path / "Notes", shared), 8)
    assert figures(result, "identifier")["recall@5"] >= 0.97
    assert figures(result, "error")["recall@5"] >= 0.85
    assert figures(result, "half")["recall@5"] >= 0.9
    assert figures(result, "garbage", "absent")["garbage"] <= 0.25
    withheld_stays_away(result)
