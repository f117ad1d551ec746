"""Vectors beside the passages: what is embedded, kept, dropped, and never mixed."""

from __future__ import annotations

import math
import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.test_index_table import PROJECT, passage
from vir_core.index import Content, Index, Vectors, VectorsUnusable, embed_missing, plan_embedding, waiting_passages
from vir_core.machine import hold
from vir_core.models import EmbedderFailed, EmbeddingModel


class Letters:
    """An embedder that counts letters, and what it was asked."""

    def __init__(self, name: str = "letters", letters: str = "abcdefgh") -> None:
        self.name = name
        self.letters = letters
        self.texts: list[str] = []
        self.fails_after = 10**9

    def model(self) -> EmbeddingModel:
        return EmbeddingModel(name=self.name, dimensions=len(self.letters))

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if len(self.texts) + len(texts) > self.fails_after:
            raise EmbedderFailed("The service is down.")
        self.texts += texts
        return [self.embed_question(text) for text in texts]

    def embed_question(self, text: str) -> bytes:
        counts = [text.count(letter) + 0.001 for letter in self.letters]
        length = math.sqrt(sum(count * count for count in counts))
        return struct.pack(f"<{len(counts)}f", *(count / length for count in counts))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "index.lock"


def filled(folder: Path, mark: str = "m1", **texts: str) -> Index:
    index = Index(folder)
    index.rebuild([passage(note, "la", text) for note, text in texts.items()], mark=mark)
    return index


def embed(folder: Path, lock: Path, embedder: Letters, **options: float) -> tuple[int, int, int]:
    done = embed_missing(Index(folder), Vectors(folder), embedder, lock, verb="test", **options)
    return done.embedded, done.removed, done.waiting


def nearest(folder: Path, text: str, embedder: Letters) -> list[str]:
    return [key.partition("#")[0] for key, _ in Vectors(folder).near(embedder.embed_question(text), 3)]


def test_what_was_embedded_is_found_by_nearness_and_again_costs_nothing(folder: Path, lock: Path) -> None:
    filled(folder, n1="aaa", n2="bbb", n3="aab")
    letters = Letters()
    assert embed(folder, lock, letters) == (3, 0, 0)
    assert nearest(folder, "aaaa", letters) == ["n1", "n3", "n2"]
    [(_, cosine), *_] = Vectors(folder).near(letters.embed_question("t\naaa"), 1)
    assert 0.9 < cosine <= 1.0001
    asked, before = len(letters.texts), files(folder)
    assert embed(folder, lock, letters) == (0, 0, 0)
    assert (len(letters.texts), files(folder)) == (asked, before)


def test_only_what_changed_is_embedded_and_what_went_is_dropped(folder: Path, lock: Path) -> None:
    index = filled(folder, n1="aaa", n2="bbb", n3="ccc")
    letters = Letters()
    embed(folder, lock, letters)
    index.refresh({"n2": [passage("n2", "la", "ddd")]}, {"n3"}, mark="m2")
    letters.texts.clear()
    assert embed(folder, lock, letters) == (1, 1, 0)
    assert [text.splitlines()[-1] for text in letters.texts] == ["ddd"]
    assert nearest(folder, "ddd", letters)[0] == "n2"
    assert "n3" not in nearest(folder, "ccc", letters)
    assert set(Vectors(folder).held()) == {"n1#la", "n2#la"}


def test_a_rebuild_of_the_passages_keeps_the_vectors(folder: Path, lock: Path) -> None:
    filled(folder, n1="aaa", n2="bbb")
    letters = Letters()
    embed(folder, lock, letters)
    filled(folder, mark="m2", n1="aaa", n2="bbb", n4="ddd")
    letters.texts.clear()
    assert embed(folder, lock, letters) == (1, 0, 0)
    assert len(letters.texts) == 1


def test_another_model_begins_anew_and_is_never_compared(folder: Path, lock: Path) -> None:
    filled(folder, n1="aaa", n2="bbb")
    embed(folder, lock, Letters())
    other = Letters("other", "bacdefghijklmnop")
    assert embed(folder, lock, other) == (2, 0, 0)
    meta = Vectors(folder).meta()
    assert meta.model == other.model()
    assert meta.rows == 2
    assert nearest(folder, "bbb", other)[0] == "n2"
    # The same name with other dimensions is another model too.
    grown = Letters("other", "bacdefghijklmnopqrstuvwx")
    filled(folder, mark="m2", n1="aaa", n2="bbb")
    assert embed(folder, lock, grown) == (2, 0, 0)
    assert Vectors(folder).meta().model.dimensions == 24


def test_a_stop_loses_one_chunk_and_the_next_call_goes_on(
    folder: Path, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vir_core.index.embedding.FIRST_CHUNK", 2)
    monkeypatch.setattr("vir_core.index.embedding.CHUNK", 3)
    filled(folder, **{f"n{number}": "abc"[number % 3] * 3 + "x" * number for number in range(10)})
    letters = Letters()
    letters.fails_after = 6
    with pytest.raises(EmbedderFailed):
        embed(folder, lock, letters)
    assert Vectors(folder).meta().rows == 5
    assert Vectors(folder).meta().covers == ""
    assert waiting_passages(Index(folder), Vectors(folder)) == 5
    letters.fails_after = 10**9
    letters.texts.clear()
    assert embed(folder, lock, letters) == (5, 0, 0)
    assert len(letters.texts) == 5
    assert Vectors(folder).meta().covers == "m1"


def test_a_budget_of_time_ends_after_a_chunk_and_says_what_waits(
    folder: Path, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vir_core.index.embedding.FIRST_CHUNK", 2)
    monkeypatch.setattr("vir_core.index.embedding.CHUNK", 2)
    index = Index(folder)
    index.rebuild(
        [passage(f"n{number}", "la", "a" * number, date=f"2026-0{number}-01") for number in range(1, 8)], mark="m1"
    )
    letters = Letters()
    assert embed(folder, lock, letters, seconds=0.0) == (2, 0, 5)
    # The newest come first.
    assert set(Vectors(folder).held()) == {"n7#la", "n6#la"}
    assert embed(folder, lock, letters) == (5, 0, 0)


def test_no_lock_is_held_while_the_model_works(folder: Path, lock: Path) -> None:
    filled(folder, n1="aaa")

    class Looking(Letters):
        def embed(self, texts: Sequence[str]) -> list[bytes]:
            with hold(lock, "somebody else", wait=0.1):
                return super().embed(texts)

    assert embed(folder, lock, Looking()) == (1, 0, 0)


def test_damage_is_answered_by_embedding_anew(folder: Path, lock: Path) -> None:
    filled(folder, n1="aaa", n2="bbb")
    letters = Letters()
    embed(folder, lock, letters)
    good = (folder / "vectors.json").read_bytes()
    generation = Vectors(folder).meta().folder
    for name, damage in {
        "no pointer": lambda: (folder / "vectors.json").unlink(),
        "half a pointer": lambda: (folder / "vectors.json").write_bytes(good[:20]),
        "another layout": lambda: (folder / "vectors.json").write_bytes(good.replace(b'"layout":1', b'"layout":7')),
        "no table": lambda: (folder / "vectors.json").write_bytes(good.replace(generation.encode(), b"v0")),
    }.items():
        damage()
        with pytest.raises(VectorsUnusable):
            Vectors(folder).near(letters.embed_question("a"), 1)
        letters.texts.clear()
        assert embed(folder, lock, letters) == (2, 0, 0), name
        assert nearest(folder, "aaa", letters)[0] == "n1", name
    for path in (folder / Vectors(folder).meta().folder).rglob("*.lance"):
        if path.is_file():
            path.write_bytes(b"")
    with pytest.raises(VectorsUnusable):
        Vectors(folder).near(letters.embed_question("a"), 1)
    # What covers everything is believed without a look, so that a run with nothing new costs nothing.
    assert embed(folder, lock, letters) == (0, 0, 0)
    assert embed(folder, lock, letters, check=True) == (2, 0, 0)
    assert nearest(folder, "aaa", letters)[0] == "n1"
    letters.texts.clear()
    assert embed(folder, lock, letters, check=True) == (0, 0, 0)
    assert not letters.texts


def test_filters_apply_before_the_nearest_are_counted(folder: Path, lock: Path) -> None:
    index = Index(folder)
    index.rebuild(
        [
            passage(f"n{n}", "la", "a" * (9 - n), category="tool" if n == 8 else "pattern", date=f"2026-01-0{n}")
            for n in range(1, 9)
        ],
        mark="m",
    )
    letters = Letters()
    embed(folder, lock, letters)
    near = Vectors(folder)
    asked = letters.embed_question("a")
    assert [key for key, _ in near.near(asked, 2, categories=("tool",))] == ["n8#la"]
    assert {key for key, _ in near.near(asked, 9, since="2026-01-07")} == {"n7#la", "n8#la"}
    assert [key for key, _ in near.near(asked, 9, notes=("n3", "it's"))] == ["n3#la"]


def test_a_vector_of_another_length_is_refused(folder: Path, lock: Path) -> None:
    filled(folder, n1="aaa")

    class Lying(Letters):
        def model(self) -> EmbeddingModel:
            return EmbeddingModel(name=self.name, dimensions=3)

    with pytest.raises(VectorsUnusable, match="length"):
        embed(folder, lock, Lying())


def test_many_vectors_get_an_approximate_index_that_finds_what_a_full_look_finds(
    folder: Path, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vir_core.index.vectors.FLAT", 300)
    index = Index(folder)
    # Every one in a direction of its own: among near copies an approximate index may take any.
    alphabet = "abcdefghijklmnopqrstuvwx"
    words = [alphabet[n % 24] * 20 + alphabet[n // 24] * 11 for n in range(576)]
    index.rebuild([passage(f"n{n}", "la", text) for n, text in enumerate(words)], mark="m")
    letters = Letters(letters=alphabet)
    embed(folder, lock, letters)
    assert Vectors(folder).meta().ann == "IvfRq"
    found = [
        f"n{n}#la" in [key for key, _ in Vectors(folder).near(letters.embed_question("t " + words[n]), 10)]
        for n in range(0, 576, 29)
    ]
    assert sum(found) >= 18


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("12")),
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("12")),
)
def test_a_plan_brings_what_is_held_to_what_is_wanted(wanted: dict[str, str], held: dict[str, str]) -> None:
    contents = [
        Content(key, key, hash, "", "", f"2026-01-0{place % 9}") for place, (key, hash) in enumerate(wanted.items())
    ]
    plan = plan_embedding(contents, held)
    after = {key: hash for key, hash in held.items() if key not in plan.gone}
    after.update({one.key: one.hash for one in plan.missing})
    assert after == wanted
    assert all(held.get(one.key) != one.hash for one in plan.missing)
    assert [one.date for one in plan.missing] == sorted((one.date for one in plan.missing), reverse=True)


KILLED = """
import sys, os
from pathlib import Path
sys.path.insert(0, ".")
from tests.index.test_index_vectors import Letters
from vir_core.index import Index, Vectors, embed_missing
import vir_core.index.embedding as module
module.FIRST_CHUNK = module.CHUNK = 20
class Dying(Letters):
    def embed(self, texts):
        if len(self.texts) >= int(sys.argv[3]):
            os.kill(os.getpid(), 9)
        return super().embed(texts)
folder = Path(sys.argv[1])
embed_missing(Index(folder), Vectors(folder), Dying(), Path(sys.argv[2]), verb="test")
"""


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_a_killed_embedder_leaves_what_it_had_committed(folder: Path, lock: Path) -> None:
    filled(folder, **{f"n{number}": "abc"[number % 3] * (number + 1) for number in range(70)})
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), str(lock), "40"], cwd=PROJECT, capture_output=True, timeout=120
    )
    assert done.returncode == -9
    letters = Letters()
    assert len(Vectors(folder).held()) == 40
    assert nearest(folder, "aaa", letters)
    assert embed(folder, lock, letters) == (30, 0, 0)
    assert len(Vectors(folder).held()) == 70


def files(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
