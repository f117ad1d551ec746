from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vir_core.text import canonical, fold, lesson_id, note_id, project_id, random_id, sha256_hex, words, words_digest

VECTORS = json.loads((Path(__file__).parents[2] / "schemas" / "vectors" / "digest.json").read_text(encoding="utf-8"))
CASES = {case["name"]: case for case in VECTORS["cases"]}


def test_the_vectors_are_enough():
    assert len(CASES) == len(VECTORS["cases"]) >= 60
    assert len(VECTORS["pairs_equal"]) >= 20
    assert len(VECTORS["pairs_differ"]) >= 20


_leaves = st.one_of(
    st.text(max_size=8),
    st.text(st.characters(max_codepoint=0x7F), max_size=12),
    st.integers(),
    st.integers(-(2**53), 2**53),
    st.floats(),
    st.booleans(),
    st.none(),
)


@given(
    st.recursive(_leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=4), inner), max_leaves=12)
)
@settings(max_examples=400, deadline=None)
def test_the_quick_way_to_canonical_json_gives_what_the_library_gives(value: object) -> None:
    import rfc8785

    try:
        wanted: bytes | None = rfc8785.dumps(value)  # pyright: ignore[reportArgumentType]
    except (rfc8785.CanonicalizationError, UnicodeError):
        wanted = None
    try:
        made: bytes | None = canonical(value)  # pyright: ignore[reportArgumentType]
    except ValueError:
        made = None
    assert made == wanted


@pytest.mark.parametrize("name", CASES)
def test_digest_vector(name: str):
    case = CASES[name]
    for section in ("summary", "learned", "context"):
        assert words(case[section]) == case["words"][section]
    assert words_digest(case["category"], case["summary"], case["learned"], case["context"]) == case["digest"]


def test_pairs_that_must_be_equal():
    for pair in VECTORS["pairs_equal"]:
        one, other = pair["names"]
        assert CASES[one]["digest"] == CASES[other]["digest"], pair


def test_pairs_that_must_differ():
    for pair in VECTORS["pairs_differ"]:
        one, other = pair["names"]
        assert CASES[one]["digest"] != CASES[other]["digest"], pair


def test_words_are_idempotent_on_plain_text():
    assert words("one two\n\nthree") == ["one two", "three"]


@given(st.text(max_size=80))
def test_any_text_has_words_and_a_digest(text: str):
    for block in words(text):
        assert block == unicodedata.normalize("NFC", block).strip()
        assert "\n" not in block
        assert block.count("\x00") % 2 == 0
    assert len(words_digest("tool", text, text, text)) == 64


@given(st.text(alphabet="ab`*_ \\[]\x00", max_size=30))
def test_text_without_backticks_is_never_code(text: str):
    if "`" not in text and not text.startswith("    ") and "\n    " not in text:
        assert all("\x00" not in block for block in words("x" + text))


def test_lone_surrogates_do_not_stop_a_digest():
    assert words("a\ud800b") == ["a\ufffdb"]
    assert words_digest("tool", "a\ud800b", "", "") == words_digest("tool", "a\ufffdb", "", "")


def test_canonical_json_follows_rfc_8785():
    assert canonical({"b": 1, "a": ["é", "\x1f", 1.0, True, None]}) == b'{"a":["\xc3\xa9","\\u001f",1,true,null],"b":1}'
    # UTF-16 order, not code point order: U+1F600 is D83D DE00 and sorts before U+FB01.
    assert canonical({"\ufb01": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ufb01":1}'.encode()
    assert canonical(("a", ("b",))) == b'["a",["b"]]'


@pytest.mark.parametrize("value", [2**53, float("nan"), float("inf"), "\ud800", ["x", "\udfff"]])
def test_what_has_no_canonical_form_is_refused(value: object):
    with pytest.raises(ValueError):
        canonical(value)  # pyright: ignore[reportArgumentType]


def test_ids_are_those_of_the_first_vault():
    """These are in vaults. They never change."""
    assert note_id("claude:2c0dd5a8-9f1e-4b5c-8f3f-0d6c1f6a7b11") == (
        "n" + sha256_hex(b'["vir-note/1","claude:2c0dd5a8-9f1e-4b5c-8f3f-0d6c1f6a7b11"]')[:15]
    )
    assert note_id("claude:x") == "n56e657abfe590fd"
    assert lesson_id("n1", "t", "Q  q") == "l220b5d61a50"
    assert project_id("x") == "p23b2b0c9a3cd9bf"


def test_a_lesson_keeps_its_id_when_only_case_and_spacing_of_the_quote_change():
    assert lesson_id("n1", "t", "Use  the\nLock ") == lesson_id("n1", "t", "use the lock")
    assert lesson_id("n1", "t", "use the lock") != lesson_id("n1", "t", "use a lock")
    assert lesson_id("n1", "t", "use the lock") != lesson_id("n1", "u", "use the lock")


def test_a_lesson_id_exists_for_any_quote():
    assert len(lesson_id("n1", "t", "a\ud800b")) == 12


def test_random_ids_begin_with_their_letter_and_differ():
    made = {random_id("r") for _ in range(100)}
    assert len(made) == 100
    assert all(len(each) == 16 and each[0] == "r" for each in made)


def test_parts_of_an_id_cannot_run_together():
    assert lesson_id("n1", "tq", "x") != lesson_id("n1t", "q", "x")
    assert fold("") == ""
