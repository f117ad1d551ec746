from __future__ import annotations

import json
from hashlib import sha256

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vir_core.journal.damage import LINE_LIMIT, Damage
from vir_core.journal.line import (
    By,
    Draft,
    compose,
    decode_lines,
    digest_of,
    encode,
    now,
    stamp_after,
)

BY = By("person", "cli", "d1", "0.1.0")


def raw(subject: str = "n1", at: str = "2026-11-30T20:58:17.123456Z", **data: object) -> bytes:
    return encode(Draft("held", subject, {"reason": "flagged", **data}, must=True), at=at, by=BY, prev="")


def read(block: bytes) -> tuple[list[str], Damage]:
    damage = Damage()
    return [line.subject for line in decode_lines(block, damage)], damage


def test_envelope_has_its_final_shape() -> None:
    text = encode(
        Draft("approved", "n1", {"digest": "d"}, proof=msgspec.Raw(b'{"key":"k"}')),
        at="2026-11-30T20:58:17.123456Z",
        by=BY,
        prev="p",
        clock="2026-11-30T19:58:17.123456Z",
    )
    assert text == (
        b'{"v":1,"at":"2026-11-30T20:58:17.123456Z","by":{"kind":"person","surface":"cli","device":"d1","core":"0.1.0"},'
        b'"action":"approved","subject":"n1","data":{"digest":"d"},"must":false,"prev":"p",'
        b'"clock":"2026-11-30T19:58:17.123456Z","proof":{"key":"k"}}'
    )
    assert b"clock" not in raw() and b"proof" not in raw()


def test_hash_covers_the_object_and_nothing_around_it() -> None:
    line = raw()
    expected = sha256(line).hexdigest()
    for block in (
        line + b"\n",
        line + b"\r\n",
        b"\xef\xbb\xbf" + line + b"\n",
        b"\0\0" + line + b"\0\0\n",
        b"  " + line,
    ):
        (found,) = decode_lines(block, Damage())
        assert found.hash == expected
        assert found.raw == line
        assert digest_of(block.rstrip(b"\n")).hex() == expected


def test_line_of_the_future_says_whom_it_binds() -> None:
    text = (
        b'{"v":7,"at":"2026-11-30T20:58:17.123456Z","by":{"kind":"ghost","surface":"moon","device":"d9","core":"9","x":[]},'
        b'"action":"sealed","subject":"n1","data":[1,{"a":null}],"must":true,"odd":{},"prev":"p"}'
    )
    (line,) = decode_lines(text, Damage())
    assert (line.v, line.subject, line.must, line.by.core) == (7, "n1", True, "9")


def test_glued_objects_are_all_read_and_counted() -> None:
    subjects, damage = read(raw("n1") + raw("n2") + b" " + raw("n3") + b"\n" + raw("n4") + b"\n")
    assert subjects == ["n1", "n2", "n3", "n4"]
    assert damage == Damage(glued=1)


def test_line_glued_to_a_torn_one_is_read() -> None:
    for cut in range(1, len(raw("n1"))):
        subjects, damage = read(raw("n1")[:cut] + raw("n2") + b"\n")
        assert subjects == ["n2"]
        assert damage.torn == 1


def test_line_quoted_in_a_string_is_never_taken_for_a_line() -> None:
    quoting = raw("n1", text=raw("n9").decode())
    assert read(quoting + b"\n") == (["n1"], Damage())
    assert read(quoting[:-20] + b"\n") == ([], Damage(torn=1))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (b"<<<<<<< HEAD", "garbage"),
        (b"[]", "garbage"),
        (b'{"action":"add_node","data":{}}', "garbage"),
        (b'{"v":0,' + raw()[7:], "garbage"),
        (b'{"v":"1",' + raw()[7:], "garbage"),
        (b'{"v":1.5,' + raw()[7:], "garbage"),
        (raw().replace(b"2026-11-30", b"2026-13-30"), "garbage"),
        (raw().replace(b"2026-11-30", b"9999-11-30"), "garbage"),
        (raw().replace(b'"subject":"n1"', b'"subject":["n1"]'), "garbage"),
        (raw()[:-1], "torn"),
        (b"{" * 5000, "torn"),
        (b'{"v":1,"data":' + b"[" * 200_000, "torn"),
        (b"\0" * 100, "padding"),
    ],
)
def test_damage_is_counted_and_the_next_line_read(text: bytes, kind: str) -> None:
    subjects, damage = read(text + b"\n" + raw("n2") + b"\n")
    assert subjects == ["n2"]
    assert damage == Damage(**{kind: 1})


def test_broken_unicode_costs_the_character_and_not_the_line() -> None:
    escaped = raw("n1", why="X").replace(b'"X"', b'"a\\ud800b"')
    bytes_ = raw("n2", why="X").replace(b'"X"', b'"a\xff\xfeb"')
    pair = raw("n3", why="X").replace(b'"X"', b'"\\ud83d\\ude00"')
    damage = Damage()
    lines = decode_lines(b"\n".join((escaped, bytes_, pair)), damage)
    assert [json.loads(bytes(line.data))["why"] for line in lines] == ["a\ufffdb", "a\ufffd\ufffdb", "😀"]
    assert [line.hash for line in lines] == [sha256(text).hexdigest() for text in (escaped, bytes_, pair)]
    assert damage.total == 0


def test_line_beyond_the_limit_is_counted() -> None:
    subjects, damage = read(raw("n1", x="y" * LINE_LIMIT) + b"\n" + raw("n2"))
    assert subjects == ["n2"]
    assert damage == Damage(oversize=1)


def test_stamp_is_later_than_everything_seen() -> None:
    assert stamp_after("2026-11-30T20:58:17.999999Z", "2026-11-30T20:00:00.000000Z") == "2026-11-30T20:58:18.000000Z"
    assert stamp_after("2026-11-30T20:58:17.999999Z", "2026-12-30T20:00:00.000000Z") == "2026-12-30T20:00:00.000000Z"
    assert stamp_after("2027-02-31T23:59:59.999999Z", now()) > "2027-02-31T23:59:59.999999Z"
    assert len(now()) == 27


@given(st.binary(max_size=400) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_reading_never_raises(noise: bytes) -> None:
    subjects, _ = read(noise + b"\n" + raw("n1") + b"\n" + noise)
    assert "n1" in subjects


@given(st.lists(st.sampled_from(["\n", "\r\n", "", "\0", "\0\n", " ", "\n\n", "\ufeff"]), min_size=3, max_size=3))
def test_whatever_stands_between_lines_every_line_is_read(gaps: list[str]) -> None:
    block = b"".join(raw(f"n{number}") + gap.encode() for number, gap in enumerate(gaps))
    assert read(block)[0] == ["n0", "n1", "n2"]


SAID = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["\\ud800", "\\n", "\n", "naïve", '"', "}\x00{"]
)
DRAFTS = st.lists(
    st.builds(
        Draft,
        SAID,
        SAID,
        st.dictionaries(SAID, SAID | st.none() | st.integers(-(2**63), 2**63 - 1) | st.lists(SAID), max_size=3),
        must=st.booleans(),
        proof=st.sampled_from([msgspec.Raw(b""), msgspec.Raw(b'{"key": "k"}'), msgspec.Raw(b'["\\ud83d\\ude00"]')]),
    ),
    min_size=1,
    max_size=5,
)


@given(DRAFTS, st.sampled_from(["2026-11-30T20:58:17.123456Z", "2026-11-30T22:58:17.999998Z"]))
def test_batch_is_what_any_reader_reads(drafts: list[Draft], newest: str) -> None:
    lines = compose(drafts, newest=newest, clock="2026-11-30T21:00:00.000000Z", by=BY, prev="p")
    damage = Damage()
    again = decode_lines(b"\n".join(line.raw for line in lines) + b"\n", damage)
    assert again == lines
    assert damage.total == 0
    assert [line.prev for line in lines] == ["p", *(line.hash for line in lines[:-1])]
    assert newest < lines[0].at and sorted({line.at for line in lines}) == [line.at for line in lines]
    assert {line.clock for line in lines} == {"" if newest < "2026-11-30T21" else "2026-11-30T21:00:00.000000Z"}


@pytest.mark.parametrize("proof", [b'{"key":\n"k"}', b'{"key":', b'"a"}{"v":1'])
def test_batch_with_a_line_that_would_not_read_back_is_refused(proof: bytes) -> None:
    drafts = [Draft("held", "n1", {}), Draft("held", "n2", {}, proof=msgspec.Raw(proof))]
    with pytest.raises(ValueError, match=r"read back|malformed|truncated"):
        compose(drafts, newest="", clock=now(), by=BY, prev="")
    assert len(compose(drafts[:1], newest="", clock=now(), by=BY, prev="")) == 1


def test_rest_of_a_torn_line_before_a_whole_one_is_counted() -> None:
    assert read(raw("n1")[-12:] + raw("n2") + b"\n") == (["n2"], Damage(torn=1))
    assert read(b"\0\0" + raw("n2") + b" \r\n") == (["n2"], Damage(padding=1))
