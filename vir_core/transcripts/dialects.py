"""Which agent wrote a line, and the reader for it."""

from __future__ import annotations

from pathlib import PurePath

from vir_core.transcripts import loose
from vir_core.transcripts.claude import KNOWN, ClaudeFacts, ClaudeTurns, layout_of
from vir_core.transcripts.codex import ITEMS, WRAPPED, CodexFacts, CodexTurns
from vir_core.transcripts.session import Source

Reader = ClaudeFacts | CodexFacts
TurnReader = ClaudeTurns | CodexTurns


def facts_reader(dialect: Source, path: str) -> Reader:
    pure = PurePath(path)
    return CodexFacts(pure.stem) if dialect == "codex" else ClaudeFacts(*_claude(pure))


def turn_reader(dialect: Source, path: str) -> TurnReader:
    pure = PurePath(path)
    return CodexTurns(pure.stem) if dialect == "codex" else ClaudeTurns(*_claude(pure))


def _claude(path: PurePath) -> tuple[str, str, str]:
    layout, session = layout_of(path.parts)
    return layout, path.stem, session


def dialect_of(line: bytes) -> Source | None:
    """The agent whose record this line is, or None: a line says it better than the folder it lies in."""
    value = loose.value_of(line)
    found = loose.mapping(value)
    if not found:
        objects, _ = loose.objects_on(line)
        found = objects[0] if objects else found
    kind = loose.string(found.get("type"))
    if (isinstance(found.get("payload"), dict) and kind in WRAPPED) or "record_type" in found:
        return "codex"
    if (
        found.get("type") is None
        and "id" in found
        and "timestamp" in found
        and ("instructions" in found or "git" in found)
    ):
        return "codex"
    if kind in ITEMS and ("role" in found or "call_id" in found or "summary" in found) and "sessionId" not in found:
        return "codex"
    return "claude" if kind in KNOWN else None


def kinds_of(lines: list[bytes]) -> str:
    """The first few types of lines nobody knows, in brackets, for a message."""
    kinds = {loose.string(loose.mapping(loose.value_of(line)).get("type")) for line in lines}
    named = sorted(kind for kind in kinds if kind)[:3]
    return f" (its types: {', '.join(named)})" if named else ""
