"""`index`: how the search index stands, and making it anew."""

from __future__ import annotations

import time
from collections.abc import Callable
from os import environ
from pathlib import Path

from vir_core.contract import EmbeddingStatus, IndexReply, IndexRequest, Progress
from vir_core.index import (
    Index,
    IndexUnusable,
    Vectors,
    VectorsUnusable,
    bring_up_to_date,
    keep_embedded,
    passage_count,
    waiting_passages,
)
from vir_core.journal import Texts
from vir_core.machine import StorageError, hold, make_dirs
from vir_core.memory import memory_of, observe
from vir_core.models import EmbedderFailed, open_embedder
from vir_core.vault import SeenTable, Vault, adopt, find_vault, open_journal, resolve, walk

OnProgress = Callable[[Progress], None]


def index(request: IndexRequest, progress: OnProgress | None = None) -> IndexReply:
    """`status` reads, `rebuild` makes the index from the notes and keeps vectors that still fit, `embed` gives every passage its
    vector however long it takes. Raises `NoVault`, `Busy`, `StorageError`."""
    started = time.monotonic()
    vault = find_vault(request.vault, environ, Path.cwd())
    tell = progress or _silent
    if request.action == "status":
        return _status(vault, request.action, started)
    adopt(vault, verb="index")
    make_dirs(vault.state / "locks", private=True)
    with hold(vault.state / "locks" / "run.lock", "index"):
        before = _state(vault, Index(vault.state / "index"))
        if request.action == "rebuild" or before != "ready":
            tell(Progress(stage="index", done=0, total=1))
            _rebuild(vault)
        embedding = keep_embedded(
            vault,
            Index(vault.state / "index"),
            environ,
            verb="index",
            check=True,
            tell=lambda number, total: tell(Progress(stage="embed", done=number, total=total)),
        )
    shown = (
        EmbeddingStatus(
            model=embedding.model, embedded=embedding.embedded, waiting=embedding.waiting, why=embedding.why
        )
        if embedding
        else None
    )
    return _reply(vault, request.action, started, before=before, embedding=shown)


def _rebuild(vault: Vault) -> None:
    journal = open_journal(vault, resolve(vault))
    memory = journal.read(memory_of(journal)).projection
    seen = walk(vault, SeenTable.load(vault.state, vault.root))
    observation = observe(memory, seen, {}, Texts(vault.store).has)
    try:
        with hold(vault.state / "locks" / "index.lock", "index"):
            bring_up_to_date(vault, memory, observation, Index(vault.state / "index"), anew=True)
    except IndexUnusable as error:
        raise StorageError(
            vault.state / "index",
            f"Nothing was made anew: {error.why}.",
            "Free space on the disk, or make that folder writable, then run it again.",
        ) from error


def _status(vault: Vault, action: str, started: float) -> IndexReply:
    if not resolve(vault).writable or not vault.state.is_dir():
        return IndexReply(vault=str(vault.root), folder=vault.folder, action=action, state="missing", was="missing")
    embedding = None
    try:
        embedder = open_embedder(vault.config.embedder, vault.config.embedder_url, environ)
        if embedder is not None:
            at = Index(vault.state / "index")
            embedding = _embedding(embedder.name, at, Vectors(vault.state / "index"))
    except EmbedderFailed as error:
        embedding = EmbeddingStatus(model=vault.config.embedder, why=error.message)
    return _reply(vault, action, started, before="", embedding=embedding)


def _embedding(name: str, at: Index, vectors: Vectors) -> EmbeddingStatus:
    try:
        meta = vectors.meta()
    except VectorsUnusable as error:
        return EmbeddingStatus(model=name, waiting=waiting_passages(at, vectors), why=error.why)
    if meta.model.name != name:
        return EmbeddingStatus(
            model=name, waiting=_passages(at), why=f"{meta.rows} passages were embedded by {meta.model.name}"
        )
    covered = bool(meta.covers) and meta.covers == at.mark()
    return EmbeddingStatus(model=name, embedded=meta.rows, waiting=0 if covered else waiting_passages(at, vectors))


def _reply(vault: Vault, action: str, started: float, *, before: str, embedding: EmbeddingStatus | None) -> IndexReply:
    at = Index(vault.state / "index")
    state = _state(vault, at)
    return IndexReply(
        vault=str(vault.root),
        folder=vault.folder,
        action=action,
        state=state,
        was=before or state,
        passages=_passages(at),
        bytes=sum(path.stat().st_size for path in (vault.state / "index").rglob("*") if path.is_file()),
        embedding=embedding,
        seconds=round(time.monotonic() - started, 3),
    )


def _state(vault: Vault, at: Index) -> str:
    """As `Index.state`, after a look into the table as well."""
    state = at.state()
    if state == "ready":
        try:
            at.count()
        except IndexUnusable as error:
            return error.state
        if passage_count(vault, at) is None:
            return "stale"
    return state


def _passages(at: Index) -> int:
    try:
        return at.count()
    except IndexUnusable:
        return 0


def _silent(progress: Progress) -> None:
    del progress
