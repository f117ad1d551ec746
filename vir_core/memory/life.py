"""The life of one id: the lines that speak of it, and each as a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from vir_core.contract import HistoryEntry
from vir_core.journal import Line, Text, Texts

_WHO = {"person": "You", "model": "A model", "vir": "vir"}
_MUST_KNOW = "a newer vir decided something that this version does not know"


class Life:
    """Collects the lines that speak of one id. Never kept in a checkpoint: no checkpoint has its layout."""

    layout = -1

    def __init__(self, id: str) -> None:
        self.id = id
        self.lines: list[Line] = []
        self._name = f'"{id}"'.encode()

    def apply(self, line: Line) -> None:
        if line.subject == self.id or line.subject.startswith(f"{self.id}#") or self._names(line):
            self.lines.append(line)

    def dump(self) -> bytes:
        return b""

    def load(self, content: bytes) -> None:
        raise ValueError("a life is read whole")

    def _names(self, line: Line) -> bool:
        """Whether the payload names the id: a lesson in a note, a note of a run, the session of a note."""
        return self._name in bytes(line.data)


def entries_of(lines: Iterable[Line], texts: Texts) -> Iterator[HistoryEntry]:
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
        case "forgotten":
            return f"{who} had its words destroyed."
        case "tombstone_lifted":
            return f"{who} said that what was rejected here may be said again elsewhere."
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
