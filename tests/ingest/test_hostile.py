"""Hostile transcripts through the whole of a run: whatever they hold comes out as words."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.hostile_text import encoded, hostile_text
from vir_core.contract import InitRequest, RunRequest
from vir_core.ingest import run
from vir_core.text import note_id
from vir_core.upkeep import init

SESSION = "0f0f0f0f-1111-4222-8333-444444444444"
INLINE = {"text", "code_inline", "softbreak", "strong_open", "strong_close", "em_open", "em_close", "text_special"}
BLOCKS = {"heading", "inline", "paragraph", "bullet_list", "ordered_list", "list_item", "blockquote"}
PROPERTIES = {"vir_id", "category", "project", "date", "trust"}


def record(number: int, kind: str, text: str, **more: Any) -> bytes:
    content: Any = text if kind == "user" else [{"type": "text", "text": text}]
    return encoded(
        {
            "type": kind,
            "uuid": f"{number:08x}-0000-4000-8000-000000000000",
            "parentUuid": f"{number - 1:08x}-0000-4000-8000-000000000000" if number else None,
            "timestamp": f"2026-11-20T10:00:{number:02}.000Z",
            "sessionId": SESSION,
            "isSidechain": False,
            "userType": "external",
            "entrypoint": "cli",
            "version": "2.1.231",
            "message": {"role": kind, "id": f"msg_{number}", "content": content},
            **({"origin": {"kind": "human"}, "promptSource": "typed"} if kind == "user" else {}),
            **more,
        }
    )


@st.composite
def sessions(draw: st.DrawFn) -> bytes:
    """A session a person drove, with a real finding in it and hostile words in every place that reaches a note."""
    bad = hostile_text(max_pieces=6)
    cwd = draw(st.sampled_from(["/home/u/x", "/w/[[link]] #tag", "C:\\w\\<% x %>", "/w/a\nb", "/w/`= this`"]))
    branch = draw(st.sampled_from(["main", "feat/[[x]]", "#tag", "`$= x`", "a\nb", "%%"]))
    where = {"cwd": cwd, "gitBranch": branch}
    lines = [
        record(0, "user", "The export job hangs after a hundred rows, why? " + draw(bad), **where),
        record(1, "assistant", f"The root cause is that `export()` holds the lock because {draw(bad)}", **where),
        record(2, "user", f"we never call the network inside a transaction {draw(bad)}", **where),
        record(
            3, "assistant", f"Decision: use a queue instead of a lock, because {draw(bad)} it cannot block.", **where
        ),
        encoded({"type": "ai-title", "aiTitle": draw(bad), "sessionId": SESSION}),
    ]
    return b"\n".join(lines) + b"\n"


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(sessions())
def test_nothing_in_a_session_does_anything_in_the_vault(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    folder = Path(tempfile.mkdtemp(prefix="vir-hostile-"))
    try:
        monkeypatch.setenv("VIR_STATE_DIR", str(folder / "state"))
        source, vault = folder / "projects" / "-x", folder / "Notes"
        source.mkdir(parents=True)
        vault.mkdir()
        (source / f"{SESSION}.jsonl").write_bytes(content)
        init(InitRequest(vault=str(vault)))
        reply = run(RunRequest(vault=str(vault), claude_dir=(str(folder / "projects"),)))
        assert reply.failed == ()
        assume(reply.written)  # noise can leave nothing to keep; then no words reached the vault
        [note] = reply.written
        assert note.id == note_id(f"claude:{SESSION}")
        check(vault, note.path)
        for line in (vault / "vir" / "store" / "journal").rglob("*.jsonl"):
            assert b"approved" not in line.read_bytes()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check(vault: Path, path: str) -> None:
    assert re.fullmatch(r"vir/(patterns|gotchas|decisions|tools)/[^/]+\.md", path)
    name = path.rpartition("/")[2]
    assert not re.search(r'[\x00-\x1f*"\\<>:|?#^\[\]]', name) and not name.startswith(".")
    assert [found.name for found in (vault / "vir").rglob("*.md")] == [name]
    text = (vault / path).read_text("utf-8")
    _, front, body = text.split("---\n", 2)
    assert {line.partition(":")[0] for line in front.splitlines()} <= PROPERTIES
    assert "\ntrust: New\n" in f"\n{front}"
    for awake in ("<%", "$=", "%%", "::", "[["):
        assert awake not in text, awake
    assert not re.search(r"`\s*\$?=", text)
    assert not re.search(r"^[\s>]*(?:[-*+]|\d+[.)])\s+\[.\]", body, re.MULTILINE)
    assert not any(char in text for char in "\0\x1b\x9b\u202e\u2028\u2029\r")
    ids = re.findall(r"(?:^|\s)\^([A-Za-z0-9-]+)[ \t]*$", body, re.MULTILINE)
    assert all(re.fullmatch(r"l[0-9a-f]{11}", id) for id in ids)
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(body)
    assert {token.type.removesuffix("_open").removesuffix("_close") for token in tokens} <= BLOCKS
    assert {child.type for token in tokens for child in token.children or []} <= INLINE
    words = "\n".join(
        "".join(child.content if child.type == "text" else "\n" for child in token.children or []) for token in tokens
    )
    assert not re.search(r"(?i)(?<![\w])(?:https?://|www\.\w)|[\w.]@[\w-]+\.\w", words)
