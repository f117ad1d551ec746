from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from vir_core.text import file_stem, stem_key, unique_stem

FORBIDDEN = set('*"\\/<>:|?#^[]`')


@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("Acknowledge jobs after the work", "Acknowledge jobs after the work"),
        ("数据库连接池耗尽", "数据库连接池耗尽"),
        ("Fix: the src/main.rs path", "Fix the src-main.rs path"),
        ("std::vector at 12:30", "std-vector at 12-30"),
        ("Vec<String> in [list] `code` *bold*", "Vec String in list code bold"),
        ('Why "it" fails? #1 [[Note|alias]]', "Why it fails 1 Note-alias"),
        ("snake_case and __init__", "snake_case and __init__"),
        ("__init__ comes first", "__init__ comes first"),
        (".env is read twice", "env is read twice"),
        ("--no-verify is ignored", "no-verify is ignored"),
        ("ends with dots...", "ends with dots"),
        ("  spaces \n and\tlines ", "spaces and lines"),
        ("<% tp.file %> %%x%%", "% tp.file % %x%"),
        ("CON", "CON_"),
        ("con.notes", "con_.notes"),
        ("Console", "Console"),
        ("COM1", "COM1_"),
        ("COM12", "COM12"),
        ("lpt9 .x", "lpt9_ .x"),
        ("NUL: the device", "NUL the device"),
        ("", "Untitled"),
        ("???", "Untitled"),
        ("...", "Untitled"),
        ("\u200b\u0301", "Untitled"),
        ("\u202egnp.exe", "gnp.exe"),
        ("cafe\u0301", "caf\u00e9"),
        ("👩‍👩‍👧 family", "👩‍👩‍👧 family"),
        ("a\ud800b", "a\ufffdb"),
    ],
)
def test_file_stem(title: str, stem: str):
    assert file_stem(title) == stem


def check(stem: str) -> None:
    assert stem
    assert not FORBIDDEN & set(stem)
    assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in stem)
    assert stem == unicodedata.normalize("NFC", stem)
    assert stem[0] not in ".- " and stem[-1] not in ". "
    assert len(stem.encode()) <= 181  # a reserved name gains one
    assert len(regex.findall(r"\X", stem)) <= 80
    assert not re.fullmatch(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])\s*(\..*)?", stem, re.IGNORECASE)
    assert "%%" not in stem and "<%" not in stem


@settings(max_examples=300)
@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=200))
def test_any_title_gives_a_name(title: str):
    stem = file_stem(title)
    check(stem)
    assert file_stem(stem) == stem


@given(
    st.lists(
        st.sampled_from(["a", "é", "e\u0301", "数", "👩‍👩‍👧", " ", ".", "-", "%", ":", "con", "\u0301", "🇩🇪", "ห", "์"]),
        max_size=150,
    ).map("".join)
)
def test_long_titles_are_cut_between_characters(title: str):
    stem = file_stem(title)
    check(stem)
    assert file_stem(stem) == stem


def test_cut_ends_between_words_when_it_can():
    title = "The quick brown fox jumps over the lazy dog while the import service keeps losing jobs again"
    stem = file_stem(title)
    assert stem == "The quick brown fox jumps over the lazy dog while the import service keeps"
    assert title.startswith(stem)


def test_cut_never_splits_an_emoji_family():
    stem = file_stem("👩‍👩‍👧‍👦" * 30)
    assert set(regex.findall(r"\X", stem)) == {"👩‍👩‍👧‍👦"}
    assert len(stem.encode()) <= 180


def test_a_tower_of_marks_is_cut():
    assert len(file_stem("a" + "\u0301" * 500).encode()) <= 180


def test_names_exist_on_this_disk(tmp_path: Path):
    for title in ("数" * 300, "😀" * 300, "a" * 300, "é" * 300, "👩‍👩‍👧‍👦" * 50):
        (tmp_path / f"{file_stem(title)} n0123456789abcde.md").write_bytes(b"")
    assert len(os.listdir(tmp_path)) == 5  # noqa: PTH208


def test_a_short_id_only_when_the_name_is_taken():
    there = {stem_key("Café"), stem_key("Other")}
    taken = there.__contains__
    assert unique_stem("Free", "n0123456789abcde", taken) == "Free"
    assert unique_stem("Other", "n0123456789abcde", taken) == "Other n01234"
    assert unique_stem("OTHER", "n0123456789abcde", taken) == "OTHER n01234"
    assert unique_stem("cafe\u0301", "n0123456789abcde", taken) == "cafe\u0301 n01234"
    there.add(stem_key("Other n01234"))
    assert unique_stem("Other", "n0123456789abcde", taken) == "Other n012345678"
    there.update({stem_key("Other n012345678"), stem_key("Other n0123456789abcde")})
    assert unique_stem("Other", "n0123456789abcde", taken) == "Other n0123456789abcde 2"


def test_a_unique_name_keeps_the_limits():
    long = file_stem("word " * 40)
    made = unique_stem(long, "n0123456789abcde", lambda key: not key.endswith("n0123456789abcde"))
    assert made.endswith(" n0123456789abcde")
    check(made)
    wide = file_stem("数" * 100)
    check(unique_stem(wide, "n0123456789abcde", lambda key: key == stem_key(wide)))
