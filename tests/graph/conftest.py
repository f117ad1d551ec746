"""Small team journals in temporary folders, and a plain replay to hold the projection against."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

Act = tuple[str, dict[str, Any]]


def line(action: str, data: dict[str, Any], at: str | None = None) -> bytes:
    """As the tool writes it, without a line end."""
    value = {"action": action, "data": data} | ({} if at is None else {"at": at})
    return json.dumps(value, ensure_ascii=False).encode()


def moment(number: int) -> str:
    return f"2026-09-15T10:{number // 60:02}:{number % 60:02}.000000+00:00"


def node(name: str, **fields: Any) -> Act:
    whole: dict[str, Any] = {"id": name, "type": "task", "summary": f"about {name}", "detail": "", "context": []}
    whole |= {"references": [], "severity": None, "timestamp": "2026-09-01T00:00:00.000000+00:00", "author": "ann"}
    return "add_node", whole | fields


def edit(name: str, **fields: Any) -> Act:
    return "update_node", {"id": name, **fields}


def gone(name: str) -> Act:
    return "remove_node", {"id": name}


def edge(start: str, end: str, kind: str = "led_to", **fields: Any) -> Act:
    return "add_edge", {"from_id": start, "to_id": end, "edge_type": kind, **fields}


def no_edge(start: str, end: str, kind: str = "led_to") -> Act:
    return "remove_edge", {"from_id": start, "to_id": end, "edge_type": kind}


class Team:
    """A `.cognition` folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)

    def legacy(self, *acts: Act, end: bytes = b"\n") -> Path:
        path = self.folder / "journal.jsonl"
        self._append(path, [line(*act) for act in acts], end)
        return path

    def shard(self, person: str, *acts: tuple[int, Act], end: bytes = b"\n") -> Path:
        """Each act with its time, in seconds."""
        path = self.folder / "journal" / f"{person}.jsonl"
        path.parent.mkdir(exist_ok=True)
        self._append(path, [line(*act, at=moment(at)) for at, act in acts], end)
        return path

    @staticmethod
    def _append(path: Path, lines: Sequence[bytes], end: bytes) -> None:
        with path.open("ab") as file:
            file.writelines(each + end for each in lines)


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path / ".cognition")
