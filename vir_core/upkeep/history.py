"""`history`: the life of one note, lesson, session or run, in the order in which it happened."""

from __future__ import annotations

from collections.abc import Iterator
from os import environ
from pathlib import Path
from typing import Any

import msgspec

from vir_core.contract import HistoryEntry, HistoryReply, HistoryRequest, RequestError, Trust
from vir_core.journal import Journal, Line, Text, Texts
from vir_core.memory import memory_of
from vir_core.upkeep.opening import open_journal
from vir_core.vault import find_vault

_WHO = {"person": "You", "model": "A model", "vir": "vir"}
_MUST_KNOW = "a newer vir decided something that this version does not know"


def history(request: HistoryRequest) -> HistoryReply:
    """Everything that was ever written down about one id, oldest first. Raises `RequestError` when there is nothing."""
    vault = find_vault(request.vault, environ, Path.cwd())
    journal = open_journal(vault)
    id = request.id.strip()
    life = journal.read(lambda: _Life(id)).projection
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


def entries_of(lines: list[Line], texts: Texts) -> Iterator[HistoryEntry]:
    """One entry a line, in the order given. `before` is what the same note held before, by what these lines say."""
    current: dict[str, str] = {}
    for line in lines:
        data = _data(line)
        after = str(data.get("text", "")) if line.action in ("note_written", "approved") else ""
        text = texts.get(after) if after else None
        yield HistoryEntry(
            at=line.when,
            action=line.action,
            subject=line.subject,
            by=line.by.kind,
            surface=line.by.surface,
            device=line.by.device,
            core=line.by.core,
            words=_words(line, data, first=line.subject not in current),
            before=current.get(line.subject, ""),
            after=after,
            title=str(text.header.get("title", "")) if text else "",
            text=_shown(text),
        )
        if after:
            current[line.subject] = after


class _Life:
    """Collects the lines that speak of one id. Never kept in a checkpoint: no checkpoint has its layout."""

    layout = -1

    def __init__(self, id: str) -> None:
        self.id = id
        self.lines: list[Line] = []

    def apply(self, line: Line) -> None:
        if line.subject == self.id or line.subject.startswith(f"{self.id}#") or self._names(line):
            self.lines.append(line)

    def dump(self) -> bytes:
        return b""

    def load(self, content: bytes) -> None:
        raise ValueError("a life is read whole")

    def _names(self, line: Line) -> bool:
        """Whether the payload names the id: a lesson in a note, a note of a run, the session of a note."""
        return f'"{self.id}"'.encode() in bytes(line.data)


def _type(id: str) -> str:
    if ":" in id:
        return "session"
    return {"n": "note", "l": "lesson", "r": "run", "v": "vault"}.get(id[:1], "note")


def _trust(journal: Journal, id: str) -> Trust | None:
    memory = journal.read(memory_of(journal)).projection
    note = memory.notes.get(id)
    return memory.trust(note) if note is not None and note.written is not None else None


def _data(line: Line) -> dict[str, Any]:
    try:
        return msgspec.json.decode(line.data, type=dict[str, Any])
    except msgspec.MsgspecError:
        # The entry still says that something happened, who did it and when.
        return {}


def _words(line: Line, data: dict[str, Any], *, first: bool) -> str:
    who = _WHO.get(line.by.kind, line.by.kind)
    match line.action:
        case "note_written":
            return (
                f"{who} {'wrote the note' if first else 'wrote the note again'} from session {data.get('session', '')}."
            )
        case "session_settled":
            kept = "wrote a note from it" if data.get("outcome") == "noted" else "found nothing worth keeping in it"
            return f"{who} read the session ({data.get('turns', 0)} prompts) and {kept}."
        case "session_joined":
            return f"{who} found that it continues session {data.get('into', '')}."
        case "run_finished":
            return f"{who} finished a run: {data.get('written', 0)} written, {data.get('kept', 0)} left as they were."
        case "rejected":
            what = "took out some of its lessons" if data.get("struck") else "rejected it"
            return f"{who} {what}{_because(data)}."
        case "approved":
            return f"{who} approved it; that waits for a key."
        case "held":
            return f"{who} held it back{_because(data)}."
        case "lifted":
            return f"{who} lifted what held it back; that waits for a key."
        case "notes_undone":
            return f"{who} took back the run that wrote it ({data.get('run', '')})."
        case "segment_started":
            return f"{who} began a new file of the history."
        case "lines_given_up":
            return f"{who} gave up {data.get('count', 0)} entries that were missing from the vault."
        case _:
            return f"{who} did something ({line.action}) with vir {line.by.core}" + (
                f": {_MUST_KNOW}." if line.must else "."
            )


def _because(data: dict[str, Any]) -> str:
    reason = str(data.get("reason", ""))
    return f" ({reason.replace('_', ' ')})" if reason else ""


def _shown(text: Text | None) -> str:
    return text.body.decode("utf-8", "replace").strip() if text else ""
