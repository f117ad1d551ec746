"""The wire of serve: JSON-RPC 2.0, one object a line, whatever comes in."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec

from tests.ingest.conftest import World
from tests.serve.conftest import Serve
from vir_core.contract import VERBS
from vir_core.serve.rpc import LONGEST, Call, Lines, Refused, read_call

Serving = Callable[..., Serve]
QUESTION = "why does the ingest worker hang"


def test_a_question_answers_as_the_command_line_does(serving: Serving, world: World) -> None:
    serve = serving()
    warm = serve.call("query", text=QUESTION)
    cold = json.loads(world.cli("query", QUESTION, "--vault", str(world.vault), "--json").stdout)
    for answer in (warm, cold):
        assert answer.pop("took_ms") > 0
    assert warm == cold and warm["hits"]
    assert serve.call("query", text=QUESTION, vault=str(world.vault))["hits"] == warm["hits"]
    assert serve.end() == 0 and serve.errors == ""


def test_verbs_that_read_answer_in_their_own_shape(serving: Serving, world: World) -> None:
    serve = serving()
    sources = {"claude_dir": [str(world.claude)], "codex_dir": [str(world.codex)]}
    for name, params in (
        ("doctor", sources),
        ("sessions", sources),
        ("projects", sources),
        ("runs", {}),
        ("history", {"id": "n95535f35c3f77d3"}),
        ("journal", {"action": "verify"}),
        ("run", sources),
        ("init", {"vault": str(world.vault)}),
    ):
        reply = msgspec.convert(serve.call(name, **params), VERBS[name][1])
        assert reply.contract == 1
    assert serve.end() == 0 and serve.errors == ""


NOT_UNDERSTOOD: list[tuple[bytes, int]] = [
    (b"not json", -32700),
    (b"{", -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"query","params":{"text":"a"}} trailing', -32700),
    (b"\xff\xfe\x00", -32700),
    (b'{"a":' * 20000, -32700),
    (b"[" * 20000, -32600),
    (b"[]", -32600),
    (b'[{"jsonrpc":"2.0","id":1,"method":"doctor"}]', -32600),
    (b"null", -32600),
    (b"7", -32600),
    (b"{}", -32600),
    (b'{"jsonrpc":"2.0","id":1}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
    (b'{"jsonrpc":"1.0","id":1,"method":"query"}', -32600),
    (b'{"id":1,"method":"query"}', -32600),
    (b'{"jsonrpc":"2.0","id":{"a":1},"method":"query"}', -32600),
    (b'{"jsonrpc":"2.0","id":true,"method":"query"}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"serve"}', -32601),
    (b'{"jsonrpc":"2.0","id":1,"method":"uninstall","params":{"apply":true}}', -32601),
    (b'{"jsonrpc":"2.0","id":1,"method":"__class__"}', -32601),
    (b'{"jsonrpc":"2.0","id":1,"method":"query","params":["a"]}', -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"query","params":null}', -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"query"}', -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"query","params":{"text":"a","limit":-1}}', -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"query","params":{"text":"a","colour":"red"}}', -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"query","params":{"text":"a","vault":"/nowhere/at/all"}}', -32000),
]


def test_what_cannot_be_understood_is_an_error_and_the_next_request_works(serving: Serving) -> None:
    serve = serving()
    for line, code in NOT_UNDERSTOOD:
        fault = serve.fault(line + b"\n")
        assert fault["error"]["code"] == code and fault["error"]["message"], line[:80]
        assert fault["error"]["data"].keys() == {"kind", "hint"}
        assert fault["id"] in (None, 1)
        assert serve.call("query", text=QUESTION)["hits"], line[:80]
    assert serve.end() == 0 and serve.errors == ""


def test_errors_carry_the_kinds_of_the_contract(serving: Serving) -> None:
    serve = serving()
    error = serve.wait(serve.start("query", text="a", vault="/nowhere/at/all"))["error"]
    assert error["data"]["kind"] == "no_vault" and "init" in error["data"]["hint"]
    error = serve.wait(serve.start("query", text="a", project=["nobody"]))["error"]
    assert error["data"]["kind"] == "invalid_request" and "tidepool" in error["data"]["hint"]


def test_line_ends_marks_blanks_and_ids_of_every_kind(serving: Serving) -> None:
    serve = serving()
    call = b'"jsonrpc":"2.0","method":"query","params":{"text":"worker"}'
    serve.send(b"\xef\xbb\xbf{" + call + b',"id":"one"}\r\n\r\n\n  \n')
    serve.send(b"{" + call + b',"id":-2.5}\n{' + call + b',"id":null}\n')
    serve.send(b"{" + call + b',"id":1}\n{' + call + b',"id":"1"}\n')
    ids = [serve.next()["id"] for _ in range(5)]
    assert sorted(map(repr, ids)) == sorted(map(repr, ["one", -2.5, None, 1, "1"]))


def test_notifications_are_not_answered_and_do_nothing(serving: Serving, world: World) -> None:
    serve = serving()
    before = world.tree()
    for line in (
        b'{"jsonrpc":"2.0","method":"init","params":{"vault":"/tmp/never"}}',
        b'{"jsonrpc":"2.0","method":"$/cancel"}',
        b'{"jsonrpc":"2.0","method":"$/cancel","params":{"id":99}}',
        b'{"jsonrpc":"2.0","method":"$/unknown","params":[]}',
    ):
        serve.send(line + b"\n")
    error = serve.next()
    assert error["error"]["code"] == -32602  # params that are no object are refused even there
    assert serve.call("query", text=QUESTION)["hits"] and world.tree() == before


def test_a_request_of_any_size_is_answered(serving: Serving) -> None:
    serve = serving()
    reply = serve.call("query", text="noise " * 20_000 + QUESTION)
    assert reply["hits"]
    serve.send(b'{"jsonrpc":"2.0","id":1,"method":"query","params":{"text":"' + b"a" * (LONGEST + 10) + b'"}}\n')
    fault = serve.next()
    assert fault["error"]["code"] == -32600 and fault["id"] is None
    assert serve.call("query", text=QUESTION)["hits"]


ODD = [
    "",
    "   \n\t",
    "the of and",
    '"foo/bar-baz:*(',
    "(a+)+$|[^x]{1,9}\\",
    "🦭🦄",
    "a\0b",
    "\u202eabc\u200f",
    "\ud83d",
    "'; DROP TABLE passages; --",
    "worker AND (hang OR",
    "x" * 100_000,
    "{{json}} %s <%= 7 %>",
]


def test_any_text_is_a_question(serving: Serving) -> None:
    serve = serving()
    for text in ODD:
        assert "hits" in serve.call("query", text=text), text[:80]
        assert serve.call("query", text=QUESTION)["hits"]
    assert serve.end() == 0 and serve.errors == ""


def test_what_a_library_prints_does_not_reach_stdout(serving: Serving, world: World) -> None:
    noisy = world.vault.parent / "noisy"
    noisy.mkdir()
    (noisy / "sitecustomize.py").write_text(
        "import atexit, os, threading, warnings\n"
        "def noise():\n"
        "    import vir_core.search.terms as terms\n"
        "    real = terms.question_terms\n"
        "    def loud(text):\n"
        "        print('printed'); os.write(1, b'written\\n'); warnings.warn('warned', stacklevel=1)\n"
        "        os.system('echo from a child')\n"
        "        return real(text)\n"
        "    terms.question_terms = loud\n"
        "    import vir_core.search.answering as answering\n"
        "    answering.question_terms = loud\n"
        "noise()\n"
    )
    from tests.ingest.conftest import PROJECT

    serve = serving(env={"PYTHONPATH": f"{noisy}:{PROJECT}"})
    assert serve.call("query", text=QUESTION)["hits"]
    assert serve.end() == 0
    assert serve.next() is None
    errors = serve.errors
    assert "printed" in errors and "written" in errors and "from a child" in errors


def test_lines_are_cut_wherever_the_chunks_end() -> None:
    text = b'{"a":1}\r\n\n{"b":2}\nrest'
    for size in (1, 2, 3, 7, 100):
        lines = Lines()
        got = [line for at in range(0, len(text), size) for line in lines.feed(text[at : at + size])]
        assert [*got, *lines.end()] == [b'{"a":1}', b"", b'{"b":2}', b"rest"]
    short = Lines(longest=4)
    assert [*short.feed(b"12345"), *short.feed(b"67\nab\n")] == [None, b"ab"]


def test_a_call_keeps_its_id_as_it_was_written() -> None:
    call = read_call(b'{"jsonrpc":"2.0", "id": 1.50, "method":"query", "params": {"text":"\\n"}}')
    assert call == Call(b"1.50", "query", b'{"text":"\\n"}')
    half = read_call(b'{"jsonrpc":"2.0","id":"\\ud83d","method":"query","params":{"text":"a\\ud83d\\ude00\\ud83d"}}')
    assert half == Call('"\ufffd"'.encode(), "query", '{"text": "a\U0001f600\ufffd"}'.encode())
    assert isinstance(read_call(b'{"jsonrpc":"2.0","id":5,"method":1}'), Refused)
    assert read_call(b'{"jsonrpc":"2.0","id":5,"method":1}').id == b"5"
