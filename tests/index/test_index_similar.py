from __future__ import annotations

from pathlib import Path

import pytest

from tests.index.test_index_table import passage
from tests.index.test_index_vectors import Letters
from vir_core.index import Index, Vectors, embed_missing, similar
from vir_core.models import open_embedder


@pytest.fixture
def index(tmp_path: Path) -> Index:
    index = Index(tmp_path / "index")
    index.rebuild(
        [
            passage(
                "n1", "la", "The migration deadlocked because two transactions locked tables in a different order."
            ),
            passage("n2", "lb", "Use a connection pool of at most 20 for the reporting service."),
            passage("n3", "lc", "Two transactions locked the tables in different order, so the migration deadlocked."),
        ],
        mark="m",
    )
    return index


def test_without_an_embedder_shared_words_decide(index: Index) -> None:
    found = similar("two transactions locked the tables in different order and deadlocked the migration", 5, index)
    assert [(one.match.note, one.by, one.same) for one in found[:2]] == [("n3", "words", True), ("n1", "words", True)]
    assert not any(one.same for one in found if one.match.note == "n2")
    [other, *_] = similar(found[0].match.text, 5, index, without={"n3"})
    assert other.match.note == "n1"
    assert similar("", 5, index) == []


def test_with_one_meaning_decides(index: Index, tmp_path: Path) -> None:
    embedder = open_embedder("minilm", "", {})
    assert embedder is not None
    vectors = Vectors(tmp_path / "index")
    embed_missing(index, vectors, embedder, tmp_path / "lock", verb="test")
    found = similar(
        "the schema change hung since both sessions took locks in opposite order", 3, index, vectors, embedder
    )
    assert {one.by for one in found} == {"meaning"}
    assert found[-1].match.note == "n2"
    assert not found[-1].same
    [again, *_] = similar("Use a connection pool of at most 20 for the reporting service.", 3, index, vectors, embedder)
    assert again.match.note == "n2"
    assert again.same


def test_another_models_vectors_are_not_compared(index: Index, tmp_path: Path) -> None:
    vectors = Vectors(tmp_path / "index")
    embed_missing(index, vectors, Letters(), tmp_path / "lock", verb="test")
    found = similar("a connection pool for the reporting service", 3, index, vectors, Letters("other"))
    assert [one.by for one in found] == ["words"] * len(found)
    assert found[0].match.note == "n2"
    assert {one.by for one in similar("a connection pool", 3, index, vectors, Letters())} == {"meaning"}
