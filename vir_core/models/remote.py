"""Embedders behind HTTP, for people who chose one: an Ollama server, or whatever answers as OpenAI's `/v1/embeddings` does."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from math import isfinite, sqrt
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from vir_core.models.embedder import EmbedderFailed, EmbeddingModel, Vector

Dialect = Literal["ollama", "openai"]

PLACES: Mapping[Dialect, str] = {"ollama": "http://localhost:11434", "openai": "https://api.openai.com"}
PATHS: Mapping[Dialect, str] = {"ollama": "/api/embed", "openai": "/v1/embeddings"}

BATCH = 32
PASSAGES_SECONDS = 60.0
QUESTION_SECONDS = 3.0
"""A person waits for a question; without a vector in this time it is answered by words."""

MOST_CHARACTERS = 8000
"""Of one text. Servers refuse, or silently cut, what is longer than their model reads."""

MOST_BYTES = 64 << 20
"""Of one reply."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class _Item(Struct):
    embedding: list[float]
    index: int = 0


class _Reply(Struct):
    """Ollama fills `embeddings`, OpenAI `data`."""

    embeddings: list[list[float]] = []
    data: list[_Item] = []


class RemoteEmbedder:
    """An `Embedder`. A key is sent to the host it belongs to and to no other: OPENAI_API_KEY to api.openai.com, and
    VIR_EMBEDDER_KEY to the host that VIR_EMBEDDER_HOST names. The address stands in a file that travels with the vault, so
    whoever can write that file must not be able to have a key sent to himself."""

    def __init__(self, dialect: Dialect, model: str, url: str, environment: Mapping[str, str]) -> None:
        self._dialect: Dialect = dialect
        self._model = model
        self._url = url.rstrip("/") or PLACES[dialect]
        self._environment = environment
        self._known: EmbeddingModel | None = None

    @property
    def name(self) -> str:
        return f"{self._dialect}:{self._model}"

    def model(self) -> EmbeddingModel:
        if self._known is None:
            self._ask(["model"], PASSAGES_SECONDS)
        assert self._known is not None
        return self._known

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for start in range(0, len(texts), BATCH):
            vectors += self._ask(texts[start : start + BATCH], PASSAGES_SECONDS)
        return vectors

    def embed_question(self, text: str) -> Vector:
        return self._ask([text], QUESTION_SECONDS)[0]

    def _ask(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        body = msgspec.json.encode({"model": self._model, "input": [text[:MOST_CHARACTERS] or " " for text in texts]})
        content = self._post(body, seconds)
        try:
            reply = msgspec.json.decode(content, type=_Reply)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self._failed(f"answered something else than vectors: {error}") from error
        lists = reply.embeddings or [item.embedding for item in sorted(reply.data, key=lambda one: one.index)]
        if len(lists) != len(texts):
            raise self._failed(f"answered {len(lists)} vectors for {len(texts)} texts")
        vectors = [self._unit(values) for values in lists]
        dimensions = len(lists[0])
        if self._known is None:
            self._known = EmbeddingModel(name=self.name, dimensions=dimensions)
        if any(len(values) != self._known.dimensions for values in lists):
            raise self._failed("answered vectors of different lengths")
        return vectors

    def _unit(self, values: Sequence[float]) -> Vector:
        length = sqrt(sum(value * value for value in values))
        if not values or not length or not isfinite(length):
            raise self._failed("answered an empty vector")
        floats = array("f", [value / length for value in values])
        return _little_endian(floats)

    def _post(self, body: bytes, seconds: float) -> bytes:
        from http.client import HTTPConnection, HTTPException, HTTPSConnection

        place = urlsplit(self._url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise self._failed(f"has an address that is none: {self._url}")
        headers = {"Content-Type": "application/json", **self._authorization(place.hostname, place.scheme)}
        kind: Any = HTTPSConnection if place.scheme == "https" else HTTPConnection
        connection: HTTPConnection | HTTPSConnection = kind(place.hostname, place.port, timeout=seconds)
        try:
            connection.request("POST", place.path + PATHS[self._dialect], body, headers)
            answer = connection.getresponse()
            content = answer.read(MOST_BYTES + 1)
        except TimeoutError as error:
            raise self._failed(f"gave no answer in {seconds:.0f} s") from error
        except (OSError, HTTPException, ValueError) as error:
            raise self._failed(f"cannot be reached: {error}") from error
        finally:
            connection.close()
        if len(content) > MOST_BYTES:
            raise self._failed("answered far too much")
        if answer.status != 200:
            # The body may repeat what was sent, key included, and goes nowhere.
            raise self._failed(f"answered {answer.status} {answer.reason}")
        return content

    def _authorization(self, host: str, scheme: str) -> dict[str, str]:
        key = ""
        if self._dialect == "openai" and host == "api.openai.com":
            key = self._environment.get("OPENAI_API_KEY", "")
        elif host == self._environment.get("VIR_EMBEDDER_HOST", ""):
            key = self._environment.get("VIR_EMBEDDER_KEY", "")
        if not key or (scheme != "https" and host not in LOOPBACK):
            return {}
        return {"Authorization": f"Bearer {key}"}

    def _failed(self, what: str) -> EmbedderFailed:
        return EmbedderFailed(
            f"The embedding service {self._url} {what}.",
            "Start it or correct `embedder` and `embedder_url` in store/config.yaml; until then answers go by words alone.",
        )


def _little_endian(floats: array[float]) -> bytes:
    import sys

    if sys.byteorder == "big":
        floats.byteswap()
    return floats.tobytes()
