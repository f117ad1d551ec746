"""Bringing the vectors up to the passages: what has none gets one, what went takes its vector along.

Embedding is slow and may lag behind: passages without a vector are found by their words. It commits as it goes, so a
stop at any moment loses one chunk, and the next call goes on where this one ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from vir_core.index.table import Content, Index, IndexUnusable
from vir_core.index.vectors import Embedded, Vectors, VectorsUnusable
from vir_core.machine import MachineError, hold
from vir_core.models import Embedder, EmbedderFailed, open_embedder
from vir_core.vault import Vault

CHUNK = 512
"""Passages embedded and committed at once: about four seconds of work."""

FIRST_CHUNK = 64
"""So that progress shows, and a short budget is kept."""


class EmbeddingPlan(Struct, frozen=True):
    """`missing` newest first, because what was learnt lately is asked for most; `gone` are keys whose passage is no more."""

    missing: tuple[Content, ...]
    gone: tuple[str, ...]


class EmbeddingDone(Struct, frozen=True, kw_only=True):
    """`waiting` passages have no vector yet."""

    embedded: int = 0
    removed: int = 0
    waiting: int = 0


class Embedding(Struct, frozen=True, kw_only=True):
    """How a vault's vectors stand after a round. `why` says what kept passages waiting, when anything but time did."""

    model: str
    embedded: int = 0
    waiting: int = 0
    why: str | None = None


def keep_embedded(
    vault: Vault,
    index: Index,
    environment: Mapping[str, str],
    *,
    verb: str,
    seconds: float | None = None,
    tell: Callable[[int, int], None] | None = None,
    check: bool = False,
) -> Embedding | None:
    """`embed_missing` with the vault's own embedder; `None` when it is switched off. Raises nothing that an embedder, a lock or
    a disk can cause: notes are found by their words meanwhile, and the next round goes on."""
    try:
        embedder = open_embedder(vault.config.embedder, vault.config.embedder_url, environment)
    except EmbedderFailed as error:
        return Embedding(model=vault.config.embedder, why=error.message)
    if embedder is None:
        return None
    vectors = Vectors(vault.state / "index")
    lock = vault.state / "locks" / "index.lock"
    done, why = EmbeddingDone(), None
    try:
        done = embed_missing(index, vectors, embedder, lock, verb=verb, seconds=seconds, tell=tell, check=check)
    except (EmbedderFailed, MachineError) as error:
        why = error.message
    except (IndexUnusable, VectorsUnusable) as error:
        why = error.why
    waiting = done.waiting if why is None else waiting_passages(index, vectors)
    return Embedding(model=embedder.name, embedded=done.embedded, waiting=waiting, why=why)


def waiting_passages(index: Index, vectors: Vectors) -> int:
    """How many passages have no vector yet."""
    try:
        contents = index.contents()
    except IndexUnusable:
        return 0
    try:
        held = vectors.held()
    except VectorsUnusable:
        return len(contents)
    return len(plan_embedding(contents, held).missing)


def plan_embedding(contents: Sequence[Content], held: Mapping[str, str]) -> EmbeddingPlan:
    """`held`: key of a passage to the hash that its vector was made of."""
    missing = [one for one in contents if held.get(one.key) != one.hash]
    wanted = {one.key for one in contents}
    return EmbeddingPlan(
        tuple(sorted(missing, key=lambda one: (one.date, one.key), reverse=True)),
        tuple(sorted(key for key in held if key not in wanted)),
    )


def embed_missing(
    index: Index,
    vectors: Vectors,
    embedder: Embedder,
    lock: Path,
    *,
    verb: str,
    seconds: float | None = None,
    tell: Callable[[int, int], None] | None = None,
    check: bool = False,
) -> EmbeddingDone:
    """Embeds until all is done or `seconds` are over (begun chunks are finished). `lock` is held around each commit and never
    while the model works; `tell` hears how many of how many; `check` looks whether what is there can be
    used at all, which costs a look at it. Raises `EmbedderFailed`, `IndexUnusable`, `VectorsUnusable`, and
    what `machine.hold` raises; what was committed by then stays."""
    started = time.monotonic()
    mark = index.mark()
    if not check and mark and _covered(vectors, embedder) == mark:
        return EmbeddingDone()
    held = _held(vectors, embedder, check)
    plan = plan_embedding(index.contents(), held or {})
    begun = held is not None
    if plan.gone:
        with hold(lock, verb):
            vectors.put([], plan.gone)
    embedded = 0
    for chunk in _chunks(plan.missing):
        if seconds is not None and embedded and time.monotonic() - started >= seconds:
            break
        if tell:
            tell(embedded, len(plan.missing))
        rows = _embedded(index, embedder, chunk)
        with hold(lock, verb):
            if begun:
                vectors.put(rows)
            elif rows:
                vectors.begin(embedder.model(), rows)
                begun = True
        embedded += len(chunk)
    waiting = len(plan.missing) - embedded
    if begun:
        with hold(lock, verb):
            vectors.settle("" if waiting else mark)
    return EmbeddingDone(embedded=embedded, removed=len(plan.gone), waiting=waiting)


def _covered(vectors: Vectors, embedder: Embedder) -> str:
    """Which passages this embedder's vectors cover, by their mark; empty when not all or not known."""
    try:
        meta = vectors.meta()
    except VectorsUnusable:
        return ""
    return meta.covers if meta.model.name == embedder.name else ""


def _held(vectors: Vectors, embedder: Embedder, check: bool) -> Mapping[str, str] | None:
    """What this embedder has embedded; `None` when there is no usable table of its vectors."""
    try:
        if vectors.meta().model != embedder.model():
            return None
        if check:
            vectors.check()
        return vectors.held()
    except VectorsUnusable:
        return None


def _embedded(index: Index, embedder: Embedder, chunk: Sequence[Content]) -> list[Embedded]:
    found = index.by_key([one.key for one in chunk])
    here = [one for one in chunk if one.key in found]
    texts = [f"{found[one.key].title}\n{found[one.key].text}" for one in here]
    return [
        Embedded(
            key=one.key,
            hash=one.hash,
            note=one.note,
            project=one.project,
            category=one.category,
            date=one.date,
            vector=vector,
        )
        for one, vector in zip(here, embedder.embed(texts), strict=True)
    ]


def _chunks(missing: Sequence[Content]) -> Iterator[Sequence[Content]]:
    if missing:
        yield missing[:FIRST_CHUNK]
    for start in range(FIRST_CHUNK, len(missing), CHUNK):
        yield missing[start : start + CHUNK]
