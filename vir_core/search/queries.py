"""`queries`: what was asked here, what nobody found, and which notes were shown how often."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from os import environ
from pathlib import Path

from vir_core.contract import AskedQuestion, QueriesReply, QueriesRequest, ShownNote, Unanswered
from vir_core.journal import Texts
from vir_core.memory import Asked, Shown, counted_shown, day_since, memory_of, read_asked, shown_words
from vir_core.search.reader import reader_of
from vir_core.text import fold
from vir_core.vault import find_vault


def queries(request: QueriesRequest) -> QueriesReply:
    """The record of this machine. Raises `NoVault`, `RequestError`."""
    reader = reader_of(find_vault(request.vault, environ, Path.cwd()))
    now = datetime.now().astimezone()
    log = read_asked(reader.state) if reader.state else []
    begins = log[0].at if log else ""
    if request.since:
        earliest = _instant(day_since(request.since, now))
        log = [asked for asked in log if asked.at >= earliest]
    note = request.note.strip()
    if note:
        log = [asked for asked in log if note in asked.notes]
    counts = counted_shown(log)
    gate = reader.gate()
    served = [id for id in gate.trusts() if (row := gate.row(id)) is not None and row.served]
    silent = [] if note else sorted(id for id in served if id not in counts)
    chosen = {note: counts[note]} if note in counts else _most(counts, request.limit)
    titles = _Titles(reader.texts, reader.journal.read(memory_of(reader.journal)).projection.notes)
    return QueriesReply(
        vault=str(reader.vault.root),
        folder=reader.vault.folder,
        recorded=reader.vault.config.queries and reader.state is not None,
        since=begins,
        questions=len(log),
        asked=tuple(_asked(one) for one in reversed(log[-request.limit :] if request.limit else [])),
        unanswered=tuple(unanswered(log)[: request.limit]),
        shown=tuple(_shown(id, one, titles, now) for id, one in ({} if note and not counts else chosen).items()),
        silent=len(silent),
        never=tuple(_shown(id, Shown(0, ""), titles, now) for id in silent[: request.limit]),
    )


def unanswered(log: Iterable[Asked]) -> list[Unanswered]:
    """Questions that found nothing, the most asked first; the spelling is that of the last time."""
    found: dict[str, Unanswered] = {}
    for asked in log:
        if asked.verb != "query" or not asked.text.strip():
            continue
        key = fold(asked.text)
        if asked.notes:
            # Once it is found it is no gap any more.
            found.pop(key, None)
            continue
        before = found.get(key)
        found[key] = Unanswered(text=asked.text, times=before.times + 1 if before else 1, last=asked.at)
    return sorted(found.values(), key=lambda one: (one.times, one.last), reverse=True)


class _Titles:
    """Titles as vir wrote them, read one by one: a reply holds few."""

    def __init__(self, texts: Texts, notes: Mapping[str, object]) -> None:
        self._texts = texts
        self._notes = notes

    def __getitem__(self, note: str) -> str:
        written = getattr(self._notes.get(note), "written", None)
        text = self._texts.get(written.text) if written is not None else None
        return str(text.header.get("title", "")) if text is not None else ""


def _most(counts: Mapping[str, Shown], limit: int) -> dict[str, Shown]:
    best: Sequence[str] = sorted(counts, key=lambda id: (counts[id].times, counts[id].last, id), reverse=True)
    return {id: counts[id] for id in best[:limit]}


def _asked(one: Asked) -> AskedQuestion:
    return AskedQuestion(
        at=one.at,
        verb=one.verb,
        surface=one.surface,
        text=one.text,
        session=one.session,
        agent=one.agent,
        where=one.where,
        notes=one.notes,
        withheld=one.withheld,
    )


def _shown(id: str, one: Shown, titles: _Titles, now: datetime) -> ShownNote:
    return ShownNote(
        id=id, title=titles[id], times=one.times, last=one.last, where=one.where, words=shown_words(one, now)
    )


def _instant(day: str) -> str:
    """The beginning of a day of this machine, in UTC."""
    try:
        return datetime.fromisoformat(day).astimezone(UTC).isoformat()[:19]
    except (ValueError, OverflowError):
        return ""
