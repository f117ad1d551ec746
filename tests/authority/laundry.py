"""Sessions made on the spot, and verdicts, for tests of what must not come back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

from tests.ingest.conftest import World
from vir_core import __version__
from vir_core.journal import Draft, Journal
from vir_core.memory import Rejected, memory_of, values_of
from vir_core.text import note_id
from vir_core.vault import Vault, adopt, keep_secret, open_vault, parse


def quiet(world: World) -> World:
    """The same house without the example sessions."""
    for folder in (world.claude, world.codex):
        for path in folder.rglob("*.jsonl"):
            path.unlink()
    return world


def say(claude: Path, name: str, turns: Sequence[tuple[str, str]], project: str = "pantry") -> str:
    """A session of typed prompts and answers; returns its key. The same name gives the same session."""
    session = str(uuid5(NAMESPACE_OID, name))
    day = 1 + int(session[:2], 16) % 27
    folder = claude / f"-home-mira-src-{project}"
    folder.mkdir(parents=True, exist_ok=True)
    records: list[dict[str, object]] = []
    parent: str | None = None
    for number, (asked, said) in enumerate(turns):
        for role, text in (("user", asked), ("assistant", said)):
            uuid = str(uuid5(NAMESPACE_OID, f"{name}/{number}/{role}"))
            record: dict[str, object] = {
                "type": role,
                "uuid": uuid,
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": f"/home/mira/src/{project}",
                "sessionId": session,
                "version": "2.1.20",
                "gitBranch": "main",
                "timestamp": f"2026-11-{day:02}T10:{2 * number + (role == 'assistant'):02}:00.000Z",
            }
            if role == "user":
                record |= {
                    "entrypoint": "cli",
                    "promptSource": "typed",
                    "origin": {"kind": "human"},
                    "permissionMode": "default",
                    "message": {"role": "user", "content": text},
                }
            else:
                content = [{"type": "text", "text": text}]
                record["message"] = {
                    "id": f"msg_{uuid[:8]}",
                    "role": "assistant",
                    "model": "claude-x",
                    "content": content,
                }
            records.append(record)
            parent = uuid
    path = folder / f"{session}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return f"claude:{session}"


def journal_of(vault: Vault) -> Journal:
    return Journal(vault.store, vault.state, vault=vault.id, device=adopt(vault, verb="t").device, core=__version__)


def reject(folder: Path, note: str, reason: str = "wrong", lessons: Sequence[str] = ()) -> None:
    """A reject without a proof, as any surface may give it, with the tombstones it lays."""
    vault = open_vault(folder)
    path = next(p for p in folder.rglob("*.md") if f'"{note}"' in p.read_text("utf-8"))
    values = values_of(parse(path.read_bytes()), keep_secret(vault), lessons) if reason in ("wrong", "private") else ()
    act = Rejected(reason=reason, lessons=tuple(lessons), values=values)
    journal = journal_of(vault)
    with journal.writing("reject", memory_of(journal)) as writer:
        writer.append([Draft("rejected", note, act, must=True)], kind="person", surface="cli")


def note_of(session: str) -> str:
    return note_id(session)
