from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vir_core.text import clean, collapse, fold, well_formed

ANY = st.text(alphabet=st.characters(exclude_categories=()), max_size=60)


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\x00b", "ab"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;2;1;2;3mrgb\x1b[K", "rgb"),
        ("\x9b1mc1\x9b0m", "c1"),
        ("\x1b]0;title\x07shown", "shown"),
        ("\x1b]8;;https://x.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPsixel\x1b\\after", "after"),
        ("\x1b(Bcharset", "charset"),
        ("\x1b[?25l hidden cursor", " hidden cursor"),
        ("unfinished \x1b]0;title\nnext line", "unfinished ]0;title\nnext line"),
        ("cut \x1b[", "cut ["),
        ("a\r\nb\rc\x0bd\x0ce\x85f", "a\nb\nc\nd\ne\nf"),
        ("a\u202eb\u2066c\u2069", "abc"),
        ("שלום\u200f!", "שלום\u200f!"),
        ("\ud83d\ude00", "\U0001f600"),
        ("a\ud83d b", "a\ufffd b"),
        ("\udc00", "\ufffd"),
        ("back\x08space\x7f", "backspace"),
        ("\U0001f3f4\U000e0067\U000e0062\U000e007f", "\U0001f3f4\U000e0067\U000e0062\U000e007f"),
    ],
)
def test_clean(dirty: str, cleaned: str):
    assert clean(dirty) == cleaned


@given(ANY)
def test_clean_text_stays_and_can_be_written(text: str):
    once = clean(text)
    once.encode()
    assert clean(once) == once
    assert "\x1b" not in once and "\x00" not in once


@given(st.text(alphabet="\x1b[]P\\;0m\x07a\x9b\n", max_size=20))
def test_no_escape_is_left_by_removing_another(text: str):
    once = clean(text)
    assert clean(once) == once
    assert "\x1b" not in once and "\x9b" not in once


@given(ANY)
def test_well_formed_text_can_be_encoded(text: str):
    assert well_formed(text).encode().decode() == well_formed(text)


@given(st.text(max_size=60))
def test_folding_ignores_case_and_spacing(text: str):
    folded = fold(text)
    assert folded == fold(f"  {text}\n")
    assert collapse(folded) == folded


def test_fold_examples():
    assert fold("Ｆｕｌｌ　ＷＩＤＴＨ") == "full width"
    assert fold("Straße") == fold("STRASSE")
    assert fold("ﬁle\u00a0 name") == "file name"
    assert fold("lock") != fold("locks")
