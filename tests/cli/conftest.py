"""A vault over the example sessions, and the command line as a script or a person sees it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from tests.ingest.conftest import PROJECT, World

COMMAND = [sys.executable, "-m", "vir_core"]


class Said(Struct):
    """What one command answered; stdout and stderr as bytes came."""

    code: int
    out: bytes
    err: bytes

    @property
    def value(self) -> Any:
        """The one JSON value on stdout."""
        assert self.out.count(b"\n") == 1 and self.out.endswith(b"\n"), self.out[:500]
        return json.loads(self.out)

    @property
    def kind(self) -> str:
        return self.value["error"]["kind"]

    @property
    def text(self) -> str:
        return self.out.decode()


def say(*words: str, stdin: bytes = b"", cwd: Path = PROJECT, env: dict[str, str] | None = None) -> Said:
    """Runs one command. Nothing that it says may ever be a traceback."""
    path = {"PYTHONPATH": str(PROJECT)}
    done = subprocess.run(
        [*COMMAND, *words],
        input=stdin,
        capture_output=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, **path, **(env or {})},
    )
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr, done.stderr.decode()
    assert b"Traceback" not in done.stdout
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def noted() -> set[str]:
    """Keys of the example sessions that should have a note."""
    table = (PROJECT / "fixtures/transcripts/expected.jsonl").read_text("utf-8")
    return {row["session"] for row in map(json.loads, table.splitlines()) if row["noted"]}


@pytest.fixture
def words(world: World) -> dict[str, list[str]]:
    """Every verb over this world, as words on the command line."""
    vault = ["--vault", str(world.vault)]
    sources = ["--claude-dir", str(world.claude), "--codex-dir", str(world.codex)]
    return {
        "init": ["init", *vault],
        "run": ["run", *vault, *sources],
        "runs": ["runs", *vault],
        "sessions": ["sessions", *vault, *sources],
        "projects": ["projects", *vault, *sources],
        "query": ["query", "why does the ingest worker hang", *vault],
        "related": ["related", "n95535f35c3f77d3", *vault],
        "recent": ["recent", *vault],
        "queries": ["queries", *vault],
        "forget": ["forget", "n95535f35c3f77d3", "--list-only", *vault],
        "history": ["history", "n95535f35c3f77d3", *vault],
        "flag": ["flag", "n95535f35c3f77d3", "--why", "it was never true", *vault],
        "review": ["review", "queue", *vault],
        "index": ["index", "status", *vault],
        "journal": ["journal", "verify", *vault],
        "doctor": ["doctor", *vault, *sources],
        "uninstall": ["uninstall"],
        "schema": ["schema", "--check"],
    }
