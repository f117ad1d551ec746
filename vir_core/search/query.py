"""`query`, `related` and `recent`: from a request to an answer, over the index, the gate and the files as they lie now."""

from __future__ import annotations

import time
from datetime import datetime
from os import environ
from pathlib import Path

import msgspec

from vir_core.contract import (
    Asking,
    Category,
    Hit,
    QueryReply,
    QueryRequest,
    RecentRequest,
    RelatedRequest,
    RequestError,
    Trust,
    Why,
)
from vir_core.memory import Gate, day_since, process_scope
from vir_core.search import neighbours
from vir_core.search.answering import Answer, Shown, Source, Wanted, answer
from vir_core.search.asking import record
from vir_core.search.budget import fitted
from vir_core.search.naming import named
from vir_core.search.reader import Reader, reader_of
from vir_core.text import lazy_pattern
from vir_core.vault import find_vault

MOST_CHOSEN = 1000
"""Notes of the wanted trust up to which they are looked for by name; more are sifted out of what is found."""

_ID = lazy_pattern(r"n[0-9a-f]{15}|l[0-9a-f]{11}")


def query(request: QueryRequest) -> QueryReply:
    """Never waits for a writer and creates no folder. Raises `NoVault`, `RequestError`."""
    started = time.perf_counter()
    reader = reader_of(find_vault(request.vault, environ, Path.cwd()))
    wanted = wanted_of(request, reader)
    text = request.text.strip()

    def ask(source: Source, gate: Gate) -> Answer:
        if _ID.fullmatch(text):
            found = named(text, source, gate, wanted, reader.files(gate))
            if found is not None:
                return found
        return answer(text, source, gate, _chosen(wanted, gate), reader.files(gate), meaning, _today())

    meaning = reader.meaning(text)
    found, degraded = reader.over(ask)
    method = "lexical"
    if meaning is not None:
        method = "hybrid" if meaning.used else "lexical"
        degraded = degraded or meaning.why
        if meaning.other_model:
            found = msgspec.structs.replace(found, excluded={**found.excluded, "other_model": meaning.other_model})
    return replied("query", request, reader, found, degraded, started=started, text=request.text, method=method)


def _today() -> str:
    return datetime.now().astimezone().date().isoformat()


def related(request: RelatedRequest) -> QueryReply:
    """Notes that speak of the same as one. Raises `NoVault`, `RequestError`."""
    started = time.perf_counter()
    reader = reader_of(find_vault(request.vault, environ, Path.cwd()))
    wanted = wanted_of(request, reader)
    note = request.id.strip()
    found, degraded = reader.over(
        lambda source, gate: neighbours.related(note, source, gate, _chosen(wanted, gate), reader.files(gate))
    )
    if found is None:
        raise RequestError(f"There is no note {note!r}.", "Give the vir_id of a note; `vir_core query` shows it.")
    return replied("related", request, reader, found, degraded, started=started, text=note)


def recent(request: RecentRequest) -> QueryReply:
    """The latest notes by the date of their session. Raises `NoVault`, `RequestError`."""
    started = time.perf_counter()
    reader = reader_of(find_vault(request.vault, environ, Path.cwd()))
    wanted = wanted_of(request, reader)
    now = datetime.now().astimezone()
    found, degraded = reader.over(
        lambda source, gate: neighbours.recent(source, gate, _chosen(wanted, gate), reader.files(gate), now)
    )
    return replied("recent", request, reader, found, degraded, started=started, text="")


def wanted_of(request: Asking, reader: Reader) -> Wanted:
    """What a request lets into its answer, within the scope of this process. Raises `RequestError`."""
    scope = process_scope(environ)
    if scope is not None:
        scope = reader.kin(scope)
    return Wanted(
        limit=request.limit,
        categories=request.category,
        projects=reader.project_ids(request.project, scope),
        since=day_since(request.since, datetime.now().astimezone()) if request.since else "",
        trusts=frozenset(request.trust),
        scope=scope,
    )


def replied(
    verb: str,
    request: Asking,
    reader: Reader,
    found: Answer,
    degraded: str | None,
    *,
    started: float,
    text: str,
    method: str = "lexical",
) -> QueryReply:
    """The reply within its budget, and the question put on record."""
    hits = tuple(_hit(shown, reader, request.full) for shown in found.hits)
    hits, truncated = fitted(hits, request.budget)
    if reader.vault.config.queries:
        record(
            reader.state,
            environ,
            verb=verb,
            text=text,
            notes=[hit.id for hit in hits],
            withheld=sum(found.excluded.values()),
            caller=request.caller,
            cwd=Path.cwd(),
        )
    return QueryReply(
        vault=str(reader.vault.root),
        folder=reader.vault.folder,
        hits=hits,
        method=method,
        degraded=degraded,
        excluded=found.excluded,
        truncated=truncated,
        took_ms=round((time.perf_counter() - started) * 1000, 1),
    )


def _chosen(wanted: Wanted, gate: Gate) -> Wanted:
    """Where few notes have the wanted trust they are named, so that they are found behind any number of others."""
    if not wanted.trusts or "unreviewed" in wanted.trusts:
        return wanted
    # What was approved may have been edited since, which only its file says.
    could_be: frozenset[Trust] = frozenset({"verified", "edited"})
    notes = [note for note, value in gate.trusts().items() if value in could_be]
    if not notes:
        return msgspec.structs.replace(wanted, limit=0)
    return wanted if len(notes) > MOST_CHOSEN else msgspec.structs.replace(wanted, notes=tuple(sorted(notes)))


def _hit(shown: Shown, reader: Reader, full: bool) -> Hit:
    category: Category = shown.category  # pyright: ignore[reportAssignmentType]
    text = _whole(shown, reader) if full else ""
    return Hit(
        id=shown.note,
        type="note",
        path=shown.path,
        title=shown.title,
        category=category,
        project=shown.project_name,
        date=shown.date,
        score=shown.score,
        trust=shown.trust,
        # The index keeps single precision; two digits were written.
        confidence=round(shown.confidence, 2),
        snippet=shown.snippet,
        block=shown.block,
        text=text,
        why=_why(shown),
    )


def _why(shown: Shown) -> Why | None:
    if not (shown.words_rank or shown.meaning_rank):
        return None
    return Why(
        words_rank=shown.words_rank,
        meaning_rank=shown.meaning_rank,
        coverage=shown.coverage,
        cosine=shown.cosine,
        terms=shown.terms,
        priors=dict(shown.priors),
    )


def _whole(shown: Shown, reader: Reader) -> str:
    """The note's own words, without lessons that were taken out of it."""
    current = reader.text(reader.gate().approved_text(shown.note)) if shown.as_approved else reader.reread(shown.path)
    if current is None:
        return ""
    return "\n\n".join(words for block, words in current.blocks.items() if block not in shown.struck)
