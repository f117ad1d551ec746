"""Writers of small transcript files in the shape the agents give them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from vir_core.transcripts import SessionFacts, Survey

SESSION = "11111111-2222-4333-8444-555555555555"


class Claude:
    """Lines of one Claude Code session; every record gets its own uuid and a minute of its own."""

    def __init__(self, session: str = SESSION, **common: Any) -> None:
        self.lines: list[bytes] = []
        self.session = session
        self.common: dict[str, Any] = {"cwd": "/home/sam/shop", "gitBranch": "main", "version": "2.1.197", **common}
        self.n = 0

    def record(self, kind: str, **fields: Any) -> str:
        self.n += 1
        uuid = fields.pop("uuid", f"aaaaaaaa-0000-4000-8000-{self.n:012d}")
        line = {
            "isSidechain": False,
            "type": kind,
            "uuid": uuid,
            "timestamp": f"2026-03-04T10:{self.n % 60:02d}:00.000Z",
            "sessionId": self.session,
            **self.common,
            **fields,
        }
        self.lines.append(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
        return uuid

    def state(self, kind: str, **fields: Any) -> None:
        line = {"type": kind, "sessionId": self.session, **fields}
        self.lines.append(json.dumps(line, separators=(",", ":")).encode())

    def user(self, text: Any, **fields: Any) -> str:
        return self.record("user", message={"role": "user", "content": text}, **fields)

    def says(self, text: str, message: str = "", **fields: Any) -> str:
        block = {"type": "text", "text": text}
        return self.record("assistant", message={"id": message or f"msg_{self.n}", "content": [block]}, **fields)

    def calls(self, name: str, given: dict[str, Any], call: str = "toolu_1", message: str = "") -> str:
        block = {"type": "tool_use", "id": call, "name": name, "input": given}
        return self.record("assistant", message={"id": message or f"msg_{self.n}", "content": [block]})

    def result(
        self, content: Any, call: str = "toolu_1", *, error: bool = False, result: Any = "x", **fields: Any
    ) -> str:
        block = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": error}
        return self.record("user", message={"role": "user", "content": [block]}, toolUseResult=result, **fields)

    def raw(self, line: bytes) -> None:
        self.lines.append(line)

    def write(self, folder: Path, name: str = "", *, end: bytes = b"\n") -> Path:
        path = folder / "projects" / "-home-sam-shop" / (name or f"{self.session}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join(self.lines) + end)
        return path


class Codex:
    """Lines of one Codex rollout in the wrapped form."""

    def __init__(self, ident: str = "01990000-0000-7000-8000-000000000001") -> None:
        self.ident = ident
        self.lines: list[bytes] = []
        self.n = 0

    def line(self, kind: str, payload: Any, **fields: Any) -> None:
        self.n += 1
        row = {"timestamp": f"2026-03-04T11:{self.n % 60:02d}:00.000Z", "type": kind, "payload": payload, **fields}
        self.lines.append(json.dumps(row, separators=(",", ":")).encode())

    def meta(self, **fields: Any) -> None:
        base = {
            "id": self.ident,
            "timestamp": "2026-03-04T11:00:00.000Z",
            "cwd": "/home/sam/shop",
            "cli_version": "0.60.0",
        }
        self.line("session_meta", {**base, "originator": "codex_cli_rs", "source": "cli", **fields})

    def event(self, kind: str, /, **fields: Any) -> None:
        self.line("event_msg", {"type": kind, **fields})

    def item(self, kind: str, /, **fields: Any) -> None:
        self.line("response_item", {"type": kind, **fields})

    def message(self, role: str, text: str, **fields: Any) -> None:
        block = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        self.item("message", role=role, content=[block], **fields)

    def asks(self, text: str) -> None:
        """A prompt as the legacy mode writes it: a response item, then the event."""
        self.message("user", text)
        self.event("user_message", message=text, kind="plain")

    def answers(self, text: str) -> None:
        self.event("agent_message", message=text)
        self.message("assistant", text)

    def write(self, folder: Path, name: str = "") -> Path:
        path = folder / "sessions" / "2026" / "03" / "04" / (name or f"rollout-2026-03-04T12-00-00-{self.ident}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join(self.lines) + b"\n")
        return path


def wordless(survey: Survey) -> list[SessionFacts]:
    """What a survey found, without the words that its cache does not keep."""
    return [msgspec.structs.replace(facts, title="", first_prompt="") for facts in survey.sessions]


@pytest.fixture
def claude() -> Callable[..., Claude]:
    return Claude


@pytest.fixture
def codex() -> Callable[..., Codex]:
    return Codex
