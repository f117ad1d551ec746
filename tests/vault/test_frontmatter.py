from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from vir_core.vault import Broken, CannotEdit, read_keys, set_keys, split

ID = "n0123456789abcde"
NOTE = f'---\nvir_id: "{ID}"\ncategory: gotcha\nproject: "vir"\ndate: 2026-11-03\ntrust: New\n---\n\n## Summary\n\nWords.\n'.encode()


def loaded(content: bytes) -> dict[str, object]:
    front, _ = split(content)
    assert front is not None
    return YAML(typ="safe", pure=True).load(front.decode()) or {}


@pytest.mark.parametrize(
    ("content", "front", "body"),
    [
        (b"---\na: 1\n---\nbody", b"a: 1\n", b"body"),
        (b"---\r\na: 1\r\n---\r\nbody\r\n", b"a: 1\r\n", b"body\r\n"),
        (b"\xef\xbb\xbf---\na: 1\n---\nbody", b"a: 1\n", b"body"),
        (b"---  \na: 1\n--- \t\nbody", b"a: 1\n", b"body"),
        (b"---\n---\nbody", b"", b"body"),
        (b"---\na: 1\n---", b"a: 1\n", b""),
        (b"---\na: |\n  ---\n---\nbody", b"a: |\n  ---\n", b"body"),
    ],
)
def test_split_finds_both_parts(content: bytes, front: bytes, body: bytes) -> None:
    assert split(content) == (front, body)


@pytest.mark.parametrize(
    "content",
    [b"", b"---", b"---\n", b"---\na: 1\n", b" ---\na: 1\n---\n", b"text\n---\na: 1\n---\n", b"----\na: 1\n---\n"],
)
def test_split_takes_nothing_else_for_frontmatter(content: bytes) -> None:
    assert split(content) == (None, content)


def test_own_keys_are_read_in_every_quoting() -> None:
    content = f'---\nvir_id: {ID}\ncategory: \'gotcha\'\nproject: "a \\"b\\" \\u4e2d"\ndate:   2026-11-03  # when\ntrust: New\nother: x\n---\n'.encode()
    assert read_keys(content) == {
        "vir_id": ID,
        "category": "gotcha",
        "project": 'a "b" 中',
        "date": "2026-11-03",
        "trust": "New",
    }


def test_a_prefix_leaves_the_persons_own_names_alone() -> None:
    content = f"---\nvir_id: {ID}\nvir_category: tool\ncategory: recipes\n---\n".encode()
    assert read_keys(content, "vir_") == {"vir_id": ID, "category": "tool"}
    assert read_keys(content) == {"vir_id": ID, "category": "recipes"}


def test_a_broken_frontmatter_still_names_its_note() -> None:
    assert read_keys(f"---\nvir_id: {ID}\ncategory: tool\n\n## Summary\n".encode()) == Broken(
        reason="the properties at the top are not closed with ---", id=ID
    )
    twice = read_keys(f"---\nvir_id: {ID}\ntrust: New\ntrust: Approved\n---\n".encode())
    assert isinstance(twice, Broken)
    assert twice.id == ID
    latin = read_keys(f"---\nvir_id: {ID}\ntitel: Gr".encode() + b"\xfc\xdfe\n---\n")
    assert isinstance(latin, Broken)
    assert latin.id == ID
    assert read_keys(b"---\nJust a rule at the top of a page\n") == {}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("trust: New\n", "trust: Approved\n"),
        ("trust: New\r\n", "trust: Approved\r\n"),
        ("trust: 'New'\n", "trust: Approved\n"),
        ('trust: "New"\n', 'trust: "Approved"\n'),
        ("trust:   New  # mine\n", "trust:   Approved  # mine\n"),
        ("trust: New # mine\nnext: 1\n", "trust: Approved # mine\nnext: 1\n"),
        ("trust:\n", "trust: Approved\n"),
        ("x: 1\ntrust: New\n\n# a comment\ny: {{title}}\n", "x: 1\ntrust: Approved\n\n# a comment\ny: {{title}}\n"),
        ("tags:\n- a\n-   b\ntrust: New\n", "tags:\n- a\n-   b\ntrust: Approved\n"),
        ("s: |+\n  x\n\ntrust: New\n", "s: |+\n  x\n\ntrust: Approved\n"),
        ("n: .nan\nz: ~\nt: True\ntrust: New\n", "n: .nan\nz: ~\nt: True\ntrust: Approved\n"),
        ("a: &x 1\nb: *x\ntrust: New\n", "a: &x 1\nb: *x\ntrust: Approved\n"),
        ("t: !secret x\ntrust: New\n", "t: !secret x\ntrust: Approved\n"),
        ("trust: New\n  # indented remark\nb: 1\n", "trust: Approved\n  # indented remark\nb: 1\n"),
    ],
)
def test_one_key_changes_and_no_other_byte(before: str, after: str) -> None:
    eol = "\r\n" if "\r" in before else "\n"
    head, tail = f"---{eol}", f"---{eol}\n## Summary\n\ntrust: New\n"
    assert set_keys((head + before + tail).encode(), {"trust": "Approved"}) == (head + after + tail).encode()


def test_a_key_that_already_says_it_is_not_touched() -> None:
    for line in ("trust: New", "trust: 'New' # so", 'trust:    "New"'):
        content = f"---\n{line}\n---\n".encode()
        assert set_keys(content, {"trust": "New"}) == content
    assert set_keys(NOTE, {"trust": "New", "vir_id": ID, "date": "2026-11-03"}) == NOTE


def test_words_that_yaml_would_read_otherwise_are_quoted() -> None:
    for word in ("true", "No", "1e5", "null", "a: b", "#x", "- y", "'", '"', "\\", "", "x\ny", "中文", "{{title}}"):
        new = set_keys(NOTE, {"category": word})
        assert loaded(new)["category"] == word
        assert read_keys(new)["category"] == word  # pyright: ignore
    assert b"category: 'true'" not in set_keys(b"---\ncategory: true\n---\n", {"category": "true"})
    assert loaded(set_keys(b"---\ncategory: true\n---\n", {"category": "true"}))["category"] == "true"


def test_missing_keys_go_behind_ours_and_a_file_without_properties_gets_some() -> None:
    new = set_keys(f'---\nmine: 1\nvir_id: "{ID}"\nlast: 2\n---\nbody'.encode(), {"trust": "Approved"})
    assert new == f'---\nmine: 1\nvir_id: "{ID}"\ntrust: Approved\nlast: 2\n---\nbody'.encode()
    assert set_keys(b"body\r\n", {"trust": "New"}) == b"---\r\ntrust: New\r\n---\r\nbody\r\n"
    assert set_keys(b"\xef\xbb\xbfbody\n", {"trust": "New"}) == b"\xef\xbb\xbf---\ntrust: New\n---\nbody\n"
    assert set_keys(b"---\n---\nbody\n", {"trust": "New"}) == b"---\ntrust: New\n---\nbody\n"
    assert set_keys(b"---\n# only a remark\n---\n", {"trust": "New"}) == b"---\n# only a remark\ntrust: New\n---\n"


def test_a_key_behind_an_open_block_scalar_finds_a_place() -> None:
    content = b"---\nnotes: |+\n  keep\n\n\n---\nbody"
    new = set_keys(content, {"trust": "New"})
    assert loaded(new) == {"notes": "keep\n\n\n", "trust": "New"}
    assert new.replace(b"trust: New\n", b"") == content


def test_aliases_are_set_replaced_and_taken_away() -> None:
    new = set_keys(NOTE, {"aliases": ["Old title", "x: [[y]]"]})
    assert loaded(new)["aliases"] == ["Old title", "x: [[y]]"]
    assert set_keys(new, {"aliases": ["Old title", "x: [[y]]"]}) == new
    assert loaded(set_keys(new, {"aliases": ["One"]}))["aliases"] == ["One"]
    assert set_keys(new, {"aliases": None}) == NOTE
    assert loaded(set_keys(b"---\naliases: [a, b]\nx: 1\n---\n", {"aliases": ["c"]})) == {"aliases": ["c"], "x": 1}


@pytest.mark.parametrize(
    "front",
    [
        "{trust: New}\n",
        "trust: New\ntrust: New\n",
        "other: 1\nother: 2\ntrust: New\n",
        '"trust": New\n',
        "'trust': New\n",
        "trust: [New]\n",
        "trust:\n  - New\n",
        "trust:\n- New\n",
        "trust: &a New\nx: *a\n",
        "x: &a New\ntrust: *a\n",
        "trust: !t New\n",
        "trust: |\n  New\n",
        "trust: New\n  and more\n",
        "\ttrust: New\n",
        "x:\n\t- 1\ntrust: New\n",
        "x: [1\ntrust: New\n",
        "x: 1\n...\ntrust: New\n",
        "- trust\n",
        "just words\n",
        "x: '\ntrust: New'\n",
        "? [a]\n: 1\ntrust: New\n",
        "trust: New\rtrust: Old\n",
        "x: \x07\ntrust: New\n",
    ],
)
def test_what_cannot_be_edited_safely_is_refused(front: str) -> None:
    content = f"---\n{front}---\nbody\n".encode()
    with pytest.raises(CannotEdit) as refused:
        set_keys(content, {"trust": "Approved"})
    assert refused.value.reason


@pytest.mark.parametrize("content", [b"---\ntrust: New\n", b"---\nx: Gr\xfc\xdfe\n---\n", b"\xff\xfe-\x00-\x00-\x00"])
def test_an_unclosed_or_undecodable_file_is_refused(content: bytes) -> None:
    with pytest.raises(CannotEdit):
        set_keys(content, {"trust": "Approved"})


def test_a_deep_or_endless_value_is_refused_or_kept_but_never_hangs() -> None:
    deep = b"---\nx: " + b"[" * 200 + b"]" * 200 + b"\ntrust: New\n---\n"
    try:
        assert set_keys(deep, {"trust": "Old"}) == deep.replace(b"trust: New", b"trust: Old")
    except CannotEdit as refused:
        assert refused.reason
    with pytest.raises(CannotEdit, match="64 KiB"):
        set_keys(b"---\nx: |\n" + b"  words\n" * 10_000 + b"trust: New\n---\n", {"trust": "Old"})
    loop = b"---\nx: &a [*a]\ntrust: New\n---\n"
    assert set_keys(loop, {"trust": "Old"}) == loop.replace(b"trust: New", b"trust: Old")


# What people and their tools put beside our keys.
_pieces = st.sampled_from(
    [
        "tags: [a, b]\n", "tags:\n  - a\n  - b # c\n", "up: \"[[Index]]\"\n", "created: <% tp.date.now() %>\n", "t: {{title}}\n",
        "rating:   4\n", "# remark\n", "\n", "block: |\n  one\n\n  two\n", "fold: >-\n  one\n  two\n", "flag: True\n", "nil: ~\n",
        "empty:\n", "url: https://x.y/z#q\n", "q: 'it''s'\n", "中文: 值\n", "emoji: 🙂\n", "k: 2026-01-01T10:00\n",
        "obj:\n    a: 1\n    b:   [x,  y]\n", "multi: one\n  two\n", "cssclasses:\n- wide\n", "a: \u2028x\n", "nel: x\x85y\n",
        "\"quoted key\": 1\n", "x: \"a\\\n  b\"\n", "bad: [\n", "bad2: a: b\n", "\tt: 1\n", "trailing: x   \n", "k:v\n", "-\n",
    ]
)  # fmt: skip
_values = st.sampled_from(["New", "Approved", "Needs another look", "on", "1e5", "x # y", "", "中"]) | st.text(
    max_size=12
).filter(lambda text: not any("\ud800" <= char <= "\udfff" for char in text))


@settings(max_examples=120, deadline=None)
@given(
    st.lists(_pieces, max_size=6, unique=True),
    st.lists(_pieces, max_size=4, unique=True),
    st.sampled_from(["trust: New\n", "trust: 'New' # r\n", ""]),
    _values,
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_set_keys_keeps_every_other_byte(
    above: list[str], below: list[str], own: str, value: str, eol: str, bom: bool
) -> None:
    front = "".join([*above, own, *(piece for piece in below if piece not in above)]).replace("\n", eol)
    body = f"body{eol}trust: New{eol}"
    content = (b"\xef\xbb\xbf" if bom else b"") + f"---{eol}{front}---{eol}{body}".encode()
    try:
        new = set_keys(content, {"trust": value})
    except CannotEdit as refused:
        assert refused.reason
        return
    assert split(new)[1] == split(content)[1]
    old_lines = [line for line in content.split(b"\n") if not line.startswith(b"trust:")]
    assert [line for line in new.split(b"\n") if not line.startswith(b"trust:")] == old_lines
    keys = read_keys(new)
    assert isinstance(keys, dict)
    assert keys["trust"] == value
    assert YAML(typ="rt").load(split(new)[0].decode())["trust"] == value  # pyright: ignore
    assert set_keys(new, {"trust": value}) == new


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: f"---\n{text}\n---\n".encode(errors="replace")))
def test_nothing_a_person_can_write_raises(content: bytes) -> None:
    front, body = split(content)
    assert content.endswith(body)
    assert isinstance(read_keys(content), dict | Broken)
    assert front is None or front in content
