"""A real `vir_core serve` beside a real vault."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.conftest import PROJECT, World

COMMAND = [sys.executable, "-m", "vir_core", "serve"]


class Serve:
    """One process. What it says is read by a thread, so that no test can hang on it."""

    def __init__(self, *words: str, env: dict[str, str] | None = None, cwd: Path = PROJECT) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(PROJECT), **(env or {})},
        )
        self.said: queue.Queue[bytes] = queue.Queue()
        self.answers: dict[Any, Any] = {}
        self.notices: list[Any] = []
        self.ids = 0
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.put(line)
        self.said.put(b"")

    def send(self, raw: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def start(self, method: str, **params: Any) -> int:
        """Sends a request and returns its id."""
        self.ids += 1
        call = {"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}
        self.send(json.dumps(call).encode() + b"\n")
        return self.ids

    def next(self, seconds: float = 60) -> Any:
        """The next line, which is one JSON-RPC object or the end (`None`)."""
        line = self.said.get(timeout=seconds)
        if line == b"":
            return None
        assert line.endswith(b"\n") and line.count(b"\n") == 1
        value = json.loads(line)
        assert value["jsonrpc"] == "2.0"
        return value

    def wait(self, id: Any, seconds: float = 60) -> Any:
        """The answer to a request, whatever comes before it."""
        end = time.monotonic() + seconds
        while id not in self.answers:
            value = self.next(max(0.1, end - time.monotonic()))
            assert value is not None, "serve ended"
            if "id" in value:
                self.answers[value["id"]] = value
            else:
                self.notices.append(value)
        return self.answers.pop(id)

    def call(self, method: str, **params: Any) -> Any:
        """The result of a request that works."""
        answer = self.wait(self.start(method, **params))
        assert "result" in answer, answer
        return answer["result"]

    def fault(self, raw: bytes) -> Any:
        """The error that a raw line is answered with."""
        self.send(raw)
        value = self.next()
        assert value is not None and "error" in value, value
        return value

    def end(self) -> int:
        """Closes stdin and waits."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(30)

    def close(self) -> None:
        """Whatever happened: no process and no descriptor is left."""
        self.process.kill()
        self.process.wait(10)
        self.reader.join(10)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    @property
    def errors(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.run()
    return made


@pytest.fixture
def serving(world: World) -> Iterator[Callable[..., Serve]]:
    """Starts serve over the world's vault; whatever is left at the end is killed."""
    started: list[Serve] = []

    def start(*words: str, **how: Any) -> Serve:
        started.append(Serve("--vault", str(world.vault), *words, **how))
        return started[-1]

    yield start
    for one in started:
        one.close()
