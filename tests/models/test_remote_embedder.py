"""Against a real HTTP server on this machine."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from vir_core.models import EmbedderFailed, open_embedder
from vir_core.models import remote as module
from vir_core.models.embedder import Embedder


class Service(ThreadingHTTPServer):
    """Answers as told and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.status = 200
        self.raw: bytes | None = None
        self.delay = 0.0
        self.dimensions = 3

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str, body: dict[str, Any]) -> bytes:
        if self.raw is not None:
            return self.raw
        lists = [[float(len(text)), 1.0, *[0.0] * (self.dimensions - 2)] for text in body["input"]]
        if path == "/api/embed":
            return json.dumps({"model": body["model"], "embeddings": lists}).encode()
        items = [{"object": "embedding", "index": number, "embedding": one} for number, one in enumerate(lists)]
        return json.dumps({"object": "list", "data": items[::-1]}).encode()


class _Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body, dict(self.headers)))
        time.sleep(self.server.delay)
        content = self.server.answer(self.path, body)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with suppress(BrokenPipeError):  # the caller gave up
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def service() -> Iterator[Service]:
    server = Service()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def opened(words: str, service: Service, **environment: str) -> Embedder:
    embedder = open_embedder(words, service.url, environment)
    assert embedder is not None
    return embedder


@pytest.mark.parametrize(("words", "path"), [("ollama nomic", "/api/embed"), ("openai small", "/v1/embeddings")])
def test_vectors_come_back_in_order_and_of_length_one(service: Service, words: str, path: str) -> None:
    embedder = opened(words, service)
    texts = [f"{'x' * number}" for number in range(40)]
    vectors = embedder.embed(texts)
    assert [place for place, _, _ in service.asked] == [path, path]
    first = [struct.unpack("<3f", vector)[0] for vector in vectors]
    assert first == sorted(first)
    assert all(abs(sum(value**2 for value in struct.unpack("<3f", vector)) - 1) < 1e-5 for vector in vectors)
    assert embedder.model().dimensions == 3
    assert embedder.model().name == words.replace(" ", ":")


def test_a_key_goes_only_to_the_host_it_belongs_to(service: Service) -> None:
    keys = {"OPENAI_API_KEY": "sk-one", "VIR_EMBEDDER_KEY": "two"}
    opened("openai small", service, **keys).embed_question("x")
    opened("ollama nomic", service, **keys).embed_question("x")
    opened("openai small", service, **keys, VIR_EMBEDDER_HOST="example.org").embed_question("x")
    assert all("Authorization" not in headers for _, _, headers in service.asked)
    opened("openai small", service, **keys, VIR_EMBEDDER_HOST="127.0.0.1").embed_question("x")
    assert service.asked[-1][2]["Authorization"] == "Bearer two"


def test_a_key_is_not_sent_unencrypted_over_a_network() -> None:
    far = module.RemoteEmbedder("openai", "m", "http://example.org", {})
    keys = {"VIR_EMBEDDER_KEY": "two", "VIR_EMBEDDER_HOST": "example.org", "OPENAI_API_KEY": "one"}
    far._environment = keys
    assert far._authorization("example.org", "http") == {}
    assert far._authorization("example.org", "https") == {"Authorization": "Bearer two"}
    assert far._authorization("api.openai.com", "http") == {}
    assert far._authorization("api.openai.com", "https") == {"Authorization": "Bearer one"}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>",
        b"{}",
        b"[]",
        b'{"embeddings": []}',
        b'{"embeddings": [[]]}',
        b'{"embeddings": [[0, 0, 0]]}',
        b'{"embeddings": [[1, 2], [3, 4]]}',
        b'{"embeddings": [[1e308, 1e308]]}',
        b'{"embeddings": [["a"]]}',
        b"\xff\xfe",
    ],
)
def test_anything_but_vectors_is_an_error_that_says_what_to_do(service: Service, raw: bytes) -> None:
    service.raw = raw
    with pytest.raises(EmbedderFailed) as caught:
        opened("ollama nomic", service).embed_question("x")
    assert service.url in caught.value.message
    assert "config.yaml" in caught.value.hint


def test_a_refusal_shows_its_status_and_nothing_of_its_body(service: Service) -> None:
    service.status, service.raw = 401, b"your key two is wrong"
    with pytest.raises(EmbedderFailed, match="401") as caught:
        opened("openai m", service, VIR_EMBEDDER_KEY="two", VIR_EMBEDDER_HOST="127.0.0.1").embed_question("x")
    assert "two" not in caught.value.message + caught.value.hint


def test_vectors_of_another_length_are_refused(service: Service) -> None:
    embedder = opened("ollama nomic", service)
    embedder.embed_question("x")
    service.dimensions = 4
    with pytest.raises(EmbedderFailed, match="different lengths"):
        embedder.embed_question("x")


def test_a_slow_service_and_a_dead_one_are_given_up(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUESTION_SECONDS", 0.2)
    service.delay = 1.0
    with pytest.raises(EmbedderFailed, match="no answer"):
        opened("ollama nomic", service).embed_question("x")
    for url in ("http://127.0.0.1:9", "ftp://127.0.0.1", "nonsense", "http://"):
        embedder = open_embedder("ollama nomic", url, {})
        assert embedder is not None
        with pytest.raises(EmbedderFailed):
            embedder.embed_question("x")
