"""`history`: the life of one note, lesson, session or run, in the order in which it happened."""

from __future__ import annotations

from os import environ
from pathlib import Path

from vir_core.contract import HistoryReply, HistoryRequest, RequestError, Trust
from vir_core.journal import Journal, Texts
from vir_core.memory import Life, entries_of, memory_of
from vir_core.vault import find_vault, open_journal


def history(request: HistoryRequest) -> HistoryReply:
    """Everything that was ever written down about one id, oldest first. Raises `RequestError` when there is nothing."""
    vault = find_vault(request.vault, environ, Path.cwd())
    journal = open_journal(vault)
    id = request.id.strip()
    life = journal.read(lambda: Life(id)).projection
    lines = sorted(life.lines, key=lambda line: line.stamp)
    if not lines:
        raise RequestError(
            f"Nothing is known of {id!r}.",
            "Give the vir_id of a note, the id of a lesson, a session (claude:… or codex:…) or a run; `vir_core query` and "
            "`vir_core runs` show them.",
        )
    return HistoryReply(
        vault=str(vault.root),
        folder=vault.folder,
        id=id,
        type=_type(id),
        trust=_trust(journal, id),
        entries=tuple(entries_of(lines, Texts(vault.store))),
    )


def _type(id: str) -> str:
    if ":" in id:
        return "session"
    return {"n": "note", "l": "lesson", "r": "run", "v": "vault"}.get(id[:1], "note")


def _trust(journal: Journal, id: str) -> Trust | None:
    memory = journal.read(memory_of(journal)).projection
    note = memory.notes.get(id)
    return memory.trust(note) if note is not None and note.written is not None else None
