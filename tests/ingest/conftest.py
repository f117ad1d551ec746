"""A vault over the committed example sessions, and small ways to act on it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from vir_core.contract import InitRequest, QueryReply, QueryRequest, RunReply, RunRequest
from vir_core.ingest import run
from vir_core.search import query
from vir_core.upkeep import init

PROJECT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = PROJECT / "fixtures" / "transcripts"


class World:
    """A home with transcripts of its own and a vault."""

    def __init__(self, folder: Path) -> None:
        self.vault = folder / "Notes"
        self.claude = folder / "claude"
        self.codex = folder / "codex"
        self.state = Path(os.environ["VIR_STATE_DIR"])
        shutil.copytree(EXAMPLES / "claude" / "projects", self.claude)
        shutil.copytree(EXAMPLES / "codex" / "sessions", self.codex)
        (self.vault / ".obsidian").mkdir(parents=True)
        init(InitRequest(vault=str(self.vault)))

    def run(self, **fields: Any) -> RunReply:
        request = RunRequest(
            vault=str(self.vault), claude_dir=(str(self.claude),), codex_dir=(str(self.codex),), **fields
        )
        return run(request)

    def ask(self, text: str, **fields: Any) -> QueryReply:
        return query(QueryRequest(text=text, vault=str(self.vault), **fields))

    def cli(self, *words: str, stdin: str | None = None, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "vir_core", *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=PROJECT,
            **kwargs,
        )

    def run_words(self, *more: str) -> list[str]:
        return [
            "run",
            "--vault",
            str(self.vault),
            "--claude-dir",
            str(self.claude),
            "--codex-dir",
            str(self.codex),
            *more,
        ]

    def tree(self) -> dict[str, str]:
        """Every file of the vault by its digest, journal included."""
        return {
            str(path.relative_to(self.vault)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.vault.rglob("*"))
            if path.is_file()
        }

    def note(self, id: str) -> Path:
        """The one file of the vault that carries this id."""
        found = [path for path in self.vault.rglob("*.md") if f'"{id}"' in path.read_text("utf-8")]
        assert len(found) == 1, found
        return found[0]

    def lines(self) -> list[dict[str, Any]]:
        return [
            json.loads(line)
            for path in sorted((self.vault / "vir" / "store" / "journal").rglob("*.jsonl"))
            for line in path.read_text("utf-8").splitlines()
        ]

    def grow(self, session: str, text: str, answer: str, at: datetime | None = None) -> None:
        """Appends a typed prompt and the agent's answer to a Claude transcript, as the agent itself would; records of a
        day long past unless `at` says when."""
        path = next(self.claude.rglob(f"{session}.jsonl"))
        records = [
            json.loads(line)
            for line in path.read_text("utf-8").splitlines()
            if line.startswith("{") and line.endswith("}")
        ]
        last = [record for record in records if record.get("type") == "user"][-1]
        number = len(records)
        base = {key: last[key] for key in ("cwd", "sessionId", "version", "gitBranch") if key in last}
        when = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.000Z}" if at else f"2026-11-29T10:{number % 60:02}:00.000Z"
        common = {**base, "isSidechain": False, "userType": "external", "timestamp": when}
        asked = {
            **common,
            "type": "user",
            "uuid": f"{number:08x}-0000-4000-8000-000000000001",
            "parentUuid": last["uuid"],
            "entrypoint": "cli",
            "promptSource": "typed",
            "origin": {"kind": "human"},
            "permissionMode": "default",
            "message": {"role": "user", "content": text},
        }
        said = {
            **common,
            "type": "assistant",
            "uuid": f"{number:08x}-0000-4000-8000-000000000002",
            "parentUuid": asked["uuid"],
            "message": {
                "id": f"msg_grown_{number}",
                "role": "assistant",
                "model": "claude-x",
                "content": [{"type": "text", "text": answer}],
            },
        }
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asked) + "\n" + json.dumps(said) + "\n")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def expected() -> list[dict[str, Any]]:
    """What the committed table says of every example file."""
    lines = (EXAMPLES / "expected.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture
def noted(expected: list[dict[str, Any]]) -> set[str]:
    """Keys of the sessions that should have a note."""
    return {row["session"] for row in expected if row["noted"]}


WorldMaker = Callable[[Path], World]
