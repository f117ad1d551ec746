from __future__ import annotations

import json
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vir_core import contract
from vir_core.contract import (
    VERBS,
    ErrorReply,
    QueryReply,
    QueryRequest,
    RequestError,
    RunRequest,
    SchemaReply,
    decode_request,
    encode_error,
    encode_reply,
    request_of,
)


def test_a_request_is_read_from_one_json_object() -> None:
    raw = '{"text": "why 重试", "limit": 3, "category": ["tool"]}'.encode()
    assert decode_request("query", raw) == QueryRequest(text="why 重试", limit=3, category=("tool",))


@pytest.mark.parametrize("raw", [b"", b"  \r\n", b"{}", b"\xef\xbb\xbf{}\r\n"])
def test_an_empty_request_is_one_without_fields(raw: bytes) -> None:
    assert decode_request("run", raw) == RunRequest()


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b'{"text":"x","limt":3}', "unknown field `limt`"),
        (b'{"text":"x","limit":"3"}', "`limit` is wrong: Expected `int`, got `str`"),
        (b'{"text":"x","limit":1.5}', "`limit`"),
        (b'{"text":"x","limit":1e400}', ""),
        (b'{"text":"x","limit":null}', "`limit`"),
        (b'{"text":"x","category":["tools"]}', "`category[0]`"),
        (b'{"text":"x","category":"tool"}', "`category`"),
        (b"{}", "required field `text`"),
        (b"[]", "Expected `object`"),
        (b"null", "Expected `object`"),
        (b"{", "not one JSON object"),
        (b'{"text":"a"} {}', "not one JSON object"),
        (b'{"text":"a"}\n{"text":"b"}', "not one JSON object"),
        (b"{'text':'a'}", "not one JSON object"),
        (b'{"text":"\xff"}', "not one JSON object"),
        (b'{"text":"\\ud800"} x', "not one JSON object"),
        (b'{"text":"a\x00"}', "not one JSON object"),
        ('{"text":"a"}'.encode("utf-16"), "UTF-16"),
        (b'{"text":' + b"[" * 200_000, ""),
        (b'{"text":"\\ud800","vault":' + b"[" * 200_000, ""),
    ],
)
def test_a_request_that_cannot_be_understood_says_why_and_what_fits(raw: bytes, says: str) -> None:
    with pytest.raises(RequestError) as caught:
        decode_request("query", raw)
    assert says in caught.value.message
    assert caught.value.hint.endswith(".")


def test_a_wrong_word_is_answered_with_the_right_ones() -> None:
    with pytest.raises(RequestError) as caught:
        decode_request("query", b'{"text":"x","category":["tools"]}')
    assert caught.value.hint == "`category` takes: decision, gotcha, pattern, tool."


def test_an_unknown_verb_is_answered_with_the_known_ones() -> None:
    with pytest.raises(RequestError) as caught:
        decode_request("querry", b"{}")
    assert "query" in caught.value.hint


def test_half_an_emoji_from_javascript_does_not_cost_the_request() -> None:
    assert decode_request("query", b'{"text":"cut \\ud83d off"}') == QueryRequest(text="cut \ufffd off")
    assert decode_request("query", b'{"text":"whole \\ud83d\\ude00"}') == QueryRequest(text="whole 😀")
    with pytest.raises(RequestError, match="limt"):
        decode_request("query", b'{"text":"\\ud83d","limt":1}')


@given(st.binary(max_size=60))
def test_no_bytes_make_reading_a_request_fail_otherwise(raw: bytes) -> None:
    try:
        decode_request("query", raw)
    except RequestError as error:
        assert error.message


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_no_values_make_reading_a_request_fail_otherwise(value: object) -> None:
    try:
        request_of("run", {"limit": value, "only": value})
    except RequestError as error:
        assert error.message


def test_values_of_a_command_line_are_checked_like_json() -> None:
    assert request_of("query", {"text": "x", "category": ["tool"]}) == QueryRequest(text="x", category=("tool",))
    with pytest.raises(RequestError, match="category"):
        request_of("query", {"text": "x", "category": ["tools"]})
    with pytest.raises(RequestError, match="driver"):
        request_of("run", {"driver": ("robot",)})


def test_a_reply_is_one_line_of_utf8() -> None:
    raw = encode_reply(QueryReply(vault="/金\n", folder="vir"))
    assert b"\n" not in raw
    assert json.loads(raw)["vault"] == "/金\n"
    assert json.loads(raw)["contract"] == contract.CONTRACT


def test_a_file_name_that_is_not_unicode_does_not_cost_the_reply() -> None:
    raw = encode_reply(SchemaReply(written=("a\udcff/金\ud83d\ude00", "b")))
    assert json.loads(raw)["written"] == ["a\ufffd/金😀", "b"]
    assert json.loads(encode_error("internal", "x\udc80"))["error"]["message"] == "x\ufffd"


@given(st.lists(st.text(st.characters())))
def test_every_text_can_be_answered(texts: list[str]) -> None:
    raw = encode_reply(SchemaReply(written=tuple(texts)))
    assert len(msgspec.json.decode(raw, type=SchemaReply).written) == len(texts)


def test_an_error_has_kind_message_and_hint() -> None:
    raw = encode_error("no_vault", "No vault here.", "Run init.")
    assert json.loads(raw) == {"error": {"kind": "no_vault", "message": "No vault here.", "hint": "Run init."}}
    assert msgspec.json.decode(raw, type=ErrorReply).error.kind == "no_vault"


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_has_a_request_that_refuses_and_a_reply_that_tolerates_what_it_does_not_know(verb: str) -> None:
    request, reply = VERBS[verb]
    assert request.__struct_config__.forbid_unknown_fields
    assert not reply.__struct_config__.forbid_unknown_fields
    assert request.__struct_config__.frozen and reply.__struct_config__.frozen


def test_the_room_names_what_it_hands_out() -> None:
    assert sorted(contract.__all__, key=str) == sorted(set(contract.__all__))
    for name in contract.__all__:
        assert hasattr(contract, name)


def test_importing_the_room_loads_nothing_heavy() -> None:
    code = "import sys, vir_core.contract; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "vir_core.contract.wire" in loaded
    for name in ("vir_core.contract.schema", "json", "asyncio", "logging", "subprocess"):
        assert name not in loaded
