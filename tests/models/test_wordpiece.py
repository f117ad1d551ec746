from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vir_core.models.minilm import MOST_TOKENS, _vocabulary_path
from vir_core.models.wordpiece import WordPiece

CUTTER = WordPiece.load(_vocabulary_path())

TEXTS = [
    "",
    "   ",
    "How do I undo a rejected note?",
    "naïve café Straße ﬁ Ⅳ İstanbul",
    "连接超时 error in 数据库",
    "日本語テスト かな",
    "한국어 시험",
    "emoji 😀👩‍👩‍👧 x",
    "a\x00b\x07c\ufffdd\x0b\x0c e",
    "עברית مرحبا",
    "\u200bzero\u200dwidth\u2028line",
    "x" * 300,
    "__init__ foo_bar-baz:*( C++ C# a->b `code`",
    "e\u0301 n\u0303",
]


def test_ids_are_those_of_the_vocabulary() -> None:
    assert CUTTER.encode("How do I undo a rejected note?", 256) == [
        101, 2129, 2079, 1045, 25672, 1037, 5837, 3602, 1029, 102,
    ]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_cut_as_the_reference_does(text: str) -> None:
    assert CUTTER.encode(text, MOST_TOKENS) == _reference(text)


@given(st.text(st.characters(exclude_categories=("Cs", "Cn", "Co"), max_codepoint=0x2FFFF), max_size=60))
@settings(max_examples=200, deadline=None)
def test_cut_as_the_reference_does_in_any_script(text: str) -> None:
    # The reference has an older Unicode; letters and marks that came since are classed otherwise.
    old = "".join(letter for letter in text if unicodedata.ucd_3_2_0.category(letter) == unicodedata.category(letter))
    assert CUTTER.encode(old, MOST_TOKENS) == _reference(old)


def test_a_long_text_is_cut_off_and_costs_no_more() -> None:
    ids = CUTTER.encode("word " * 1_000_000, 256)
    assert len(ids) == 256
    assert ids[0] == 101
    assert ids[-1] == 102
    assert len(CUTTER.encode("连" * 1_000_000, 16)) == 16


def test_another_file_is_refused(tmp_path) -> None:
    path = tmp_path / "tokenizer.json"
    for content in ("", "{}", '{"model": {"vocab": {}}}', '{"model": {"vocab": ["a"]}}'):
        path.write_text(content)
        with pytest.raises(ValueError, match="WordPiece"):
            WordPiece.load(path)


def _reference(text: str) -> list[int]:
    tokenizers = pytest.importorskip("tokenizers")
    global _cutter
    if _cutter is None:
        _cutter = tokenizers.Tokenizer.from_file(str(_vocabulary_path()))
        _cutter.no_padding()
        _cutter.enable_truncation(MOST_TOKENS)
    return _cutter.encode(text).ids


_cutter = None
