from __future__ import annotations

import unicodedata

import regex
from hypothesis import given
from hypothesis import strategies as st

from vir_core.search import snippet

LONG = "alpha beta gamma delta. " * 30


def test_a_short_text_is_shown_whole_on_one_line() -> None:
    assert snippet("one\n  two\tthree", ["two"]) == "one two three"


def test_the_piece_lies_where_the_terms_are_densest() -> None:
    text = f"walrus {LONG} the walrus and the zebra meet max_retries {LONG}"
    shown = snippet(text, ["walrus", "zebra", "max_retries"])
    assert "the walrus and the zebra meet max_retries" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= 240


def test_a_cut_falls_between_words() -> None:
    text = f"{LONG} the retries {LONG}"
    shown = snippet(text, ["retry"]).strip("…")
    assert set(shown.split()) <= set(text.split())
    assert "retries" in shown


def test_controls_and_overrides_are_not_shown() -> None:
    shown = snippet("a\x1b[31mred\x00\u202eevil\u2066 \u2028 end", [])
    assert not any(unicodedata.category(letter) in {"Cc", "Zl"} or letter in "\u202e\u2066" for letter in shown)
    assert "evil" in shown


def test_text_without_spaces_is_cut_at_graphemes() -> None:
    family = "👨‍👩‍👧‍👦"
    text = family * 200
    shown = snippet(text, [])
    assert len(shown) <= 240
    assert set(regex.findall(r"\X", shown.strip("…"))) == {family}
    chinese = "数据" * 200 + "连接超时" + "数据" * 200
    assert "连接超时" in snippet(chinese, ["连接", "接超", "超时"])


@given(st.text(), st.lists(st.text(min_size=1, max_size=8), max_size=4), st.integers(20, 300))
def test_a_snippet_is_one_line_no_longer_than_asked(text: str, terms: list[str], width: int) -> None:
    shown = snippet(text, terms, width)
    assert len(shown) <= width
    assert "\n" not in shown
    assert not any("\x00" <= letter < " " for letter in shown)


@given(st.text(alphabet="ab İßẞ\u0301👩\u200d🏽é連\n ", min_size=300, max_size=600))
def test_a_snippet_never_begins_or_ends_inside_a_grapheme(text: str) -> None:
    line = " ".join(text.split())
    shown = snippet(text, ["b"]).strip("…")
    whole = regex.findall(r"\X", line)
    assert all(piece in whole for piece in regex.findall(r"\X", shown))
