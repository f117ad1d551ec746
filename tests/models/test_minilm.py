from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vir_core.models import EmbedderFailed, open_embedder
from vir_core.models import minilm as module
from vir_core.models.minilm import DIMENSIONS, MiniLM
from vir_core.models.onnx_file import read_onnx

TEXTS = [
    "The migration deadlocked because two transactions locked the tables in a different order.",
    "Use a connection pool of at most 20 for the reporting service.",
    "Das Zertifikat lief ab, deshalb schlug der Aufruf fehl.",
    "max_retries in ConfigurationManager defaults to 3",
    "",
    "连接超时",
    "word " * 400,
]


@pytest.fixture(scope="module")
def embedder() -> MiniLM:
    return MiniLM()


def cosine(left: bytes, right: bytes) -> float:
    form = f"<{DIMENSIONS}f"
    return sum(a * b for a, b in zip(struct.unpack(form, left), struct.unpack(form, right), strict=True))


def test_vectors_have_length_one_and_the_models_size(embedder: MiniLM) -> None:
    vectors = embedder.embed(TEXTS)
    assert len(vectors) == len(TEXTS)
    assert {len(vector) for vector in vectors} == {4 * embedder.model().dimensions}
    assert all(abs(cosine(vector, vector) - 1) < 1e-5 for vector in vectors)


def test_a_question_in_other_words_is_nearest_to_its_answer(embedder: MiniLM) -> None:
    asked = embedder.embed_question("database locked up while changing the schema")
    near = [cosine(asked, vector) for vector in embedder.embed(TEXTS)]
    assert max(range(len(near)), key=near.__getitem__) == 0
    assert near[0] > near[1] + 0.2


def test_both_ways_give_the_same_vectors_in_the_order_of_the_texts(
    embedder: MiniLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = embedder.embed(TEXTS)
    assert embedder._session is None
    monkeypatch.setattr(module, "FEW_TOKENS", 0)
    many = MiniLM()
    vectors = many.embed(TEXTS)
    assert many._session is not None
    assert all(cosine(one, other) > 0.9999 for one, other in zip(few, vectors, strict=True))
    assert cosine(few[0], vectors[1]) < 0.9


def test_a_text_does_not_change_with_its_company(embedder: MiniLM) -> None:
    [alone] = embedder.embed(TEXTS[:1])
    assert cosine(alone, embedder.embed(TEXTS)[0]) > 0.99999


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(EmbedderFailed, match="not installed") as caught:
        MiniLM().embed_question("anything")
    assert caught.value.hint


def test_a_damaged_model_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = module._model_path().read_bytes()
    path = tmp_path / "model.onnx"
    monkeypatch.setattr(module, "_model_path", lambda: path)
    for content in (b"", b"not a model", whole[: len(whole) // 2], whole[:1000]):
        path.write_bytes(content)
        with pytest.raises(EmbedderFailed, match="cannot be loaded"):
            MiniLM().embed_question("anything")
    path.write_bytes(whole)
    assert MiniLM().embed_question("anything")


@given(st.binary(min_size=1, max_size=300))
def test_any_bytes_are_refused_as_a_model(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"ONNX|weights|mmap"):
        read_onnx(path)


def test_the_setting_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_embedder("off", "", {}) is None
    assert isinstance(open_embedder("", "", {}), MiniLM)
    assert isinstance(open_embedder("minilm", "", {}), MiniLM)
    ollama = open_embedder("ollama nomic-embed-text:v1.5", "", {})
    assert ollama is not None
    assert ollama.name == "ollama:nomic-embed-text:v1.5"
    assert open_embedder("", "", {"VIR_EMBEDDER": "off"}) is None
    # The environment cannot send anything anywhere.
    assert isinstance(open_embedder("", "", {"VIR_EMBEDDER": "openai gpt"}), MiniLM)
    for wrong in ("openai", "ollama", "bert base", "off now"):
        with pytest.raises(EmbedderFailed, match="names no embedder"):
            open_embedder(wrong, "", {})
