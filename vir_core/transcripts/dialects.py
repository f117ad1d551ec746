"""Which agent wrote a line, and the reader for it."""

from __future__ import annotations

import os

import msgspec
from msgspec import Raw, Struct

from vir_core.transcripts import loose
from vir_core.transcripts.claude import ClaudeFacts, ClaudeState
from vir_core.transcripts.claude_lines import KNOWN, NOTHING, layout_of
from vir_core.transcripts.claude_turns import ClaudeTurns
from vir_core.transcripts.codex import CodexFacts, CodexState
from vir_core.transcripts.codex_lines import ITEMS, WRAPPED
from vir_core.transcripts.codex_turns import CodexTurns
from vir_core.transcripts.session import Source

Reader = ClaudeFacts | CodexFacts
TurnReader = ClaudeTurns | CodexTurns


def facts_reader(dialect: Source, path: str) -> Reader:
    return CodexFacts(_stem(path)) if dialect == "codex" else ClaudeFacts(*_claude(path))


def turn_reader(dialect: Source, path: str) -> TurnReader:
    return CodexTurns(_stem(path)) if dialect == "codex" else ClaudeTurns(*_claude(path))


def resumed_reader(dialect: Source, path: str, state: bytes) -> Reader:
    """A reader that goes on where one stopped. Raises msgspec.MsgspecError when `state` is not of this version."""
    if dialect == "codex":
        return CodexFacts(_stem(path), msgspec.msgpack.decode(state, type=CodexState))
    return ClaudeFacts(*_claude(path), state=msgspec.msgpack.decode(state, type=ClaudeState))


def state_of(reader: Reader) -> bytes:
    """What `resumed_reader` goes on from, without anybody's words; empty when it cannot be written down."""
    try:
        return msgspec.msgpack.encode(reader.kept_state())
    except (msgspec.MsgspecError, UnicodeError, TypeError, OverflowError):
        return b""


def _claude(path: str) -> tuple[str, str, str]:
    parts = path.replace("\\", "/").split("/") if os.name == "nt" else path.split("/")
    layout, session = layout_of(tuple(parts))
    return layout, _stem(path), session


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".zst").removesuffix(".jsonl")  # noqa: PTH119  a tenth of what a Path costs


class _Probe(Struct):
    """What tells whose record a line is; its content stays undecoded."""

    type: str | None = None
    payload: Raw = NOTHING
    record_type: Raw = NOTHING
    id: Raw = NOTHING
    timestamp: Raw = NOTHING
    instructions: Raw = NOTHING
    git: Raw = NOTHING
    role: Raw = NOTHING
    call_id: Raw = NOTHING
    summary: Raw = NOTHING
    sessionId: Raw = NOTHING


def dialect_of(line: bytes) -> Source | None:
    """The agent whose record this line is, or None: a line says it better than the folder it lies in."""
    probe = loose.decode_as(_Probe, line)
    if probe is None:
        objects, _ = loose.objects_on(line)
        if not objects:
            return None
        probe = loose.fit(_Probe, objects[0])
    kind = probe.type or ""
    if (kind in WRAPPED and bytes(memoryview(probe.payload)[:1]) == b"{") or len(probe.record_type):
        return "codex"
    if probe.type is None and len(probe.id) and len(probe.timestamp) and (len(probe.instructions) or len(probe.git)):
        return "codex"
    if kind in ITEMS and (len(probe.role) or len(probe.call_id) or len(probe.summary)) and not len(probe.sessionId):
        return "codex"
    return "claude" if kind in KNOWN else None


def kinds_of(lines: list[bytes]) -> str:
    """The first few types of lines nobody knows, in brackets, for a message."""
    kinds = {loose.string(loose.mapping(loose.value_of(line)).get("type")) for line in lines}
    named = sorted(kind for kind in kinds if kind)[:3]
    return f" (its types: {', '.join(named)})" if named else ""
