"""The index as a projection of the notes that may be served: what is missing is added, what may not be served goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.index.passages import Passage
from vir_core.index.table import Index, IndexUnusable
from vir_core.journal import Texts
from vir_core.machine import ANYTHING, MachineError, read_bytes, write_atomic
from vir_core.memory import Memory, Observation
from vir_core.text import random_id
from vir_core.vault import SeenFile, Vault, parse, passage_texts

MANIFEST = "indexed"


class _Manifest(Struct):
    """What the index with mark `mark` holds: per note the body, path and text it was cut from. Spares a run that changes
    nothing the opening of the index."""

    mark: str
    passages: int
    notes: dict[str, tuple[str, str, str]]


def passages_of(vault: Vault, memory: Memory, note: str, file: SeenFile, texts: Texts) -> list[Passage]:
    """The passages of one note as its file stands; none when the file or its text is not to be had. The title is the one
    vir wrote. `digest` is the sha256 of the body they were cut from."""
    written = memory.notes[note].written
    assert written is not None
    text = texts.get(written.text)
    if text is None:
        return []
    try:
        content = vault.absolute(file.path).read_bytes()
    except OSError:
        # Gone since the walk: the next look sees it as absent.
        return []
    parsed = parse(content, vault.config.prefix)
    struck = memory.standing(note).struck
    return [
        Passage(
            note=note,
            block=block,
            kind=kind,
            title=str(text.header.get("title", "")),
            text=words,
            path=file.path,
            project=written.project,
            project_name=str(text.header.get("project", "")),
            category=written.category,
            date=written.date,
            confidence=written.confidence,
            digest=parsed.body_sha,
            distiller=written.distiller,
        )
        for block, kind, words in passage_texts(parsed)
        if (block or kind) not in struck
    ]


def all_passages(vault: Vault, memory: Memory, served: Mapping[str, SeenFile]) -> Iterator[Passage]:
    """The passages of every note that may be served, in note order."""
    texts = Texts(vault.store)
    for note in sorted(served):
        yield from passages_of(vault, memory, note, served[note], texts)


def bring_up_to_date(
    vault: Vault, memory: Memory, observation: Observation, index: Index, *, anew: bool = False
) -> bool:
    """Makes the index hold exactly the notes that may be served, as they stand; True when it changed. The caller holds
    `index.lock`. Raises `IndexUnusable` and `StorageError` when it cannot be written."""
    served = observation.served(memory)
    wanted = {note: _mark_of(memory, note, file) for note, file in served.items()}
    manifest = None if anew else _manifest(vault.state / MANIFEST, index)
    held = manifest.notes if manifest else None
    if held == wanted:
        return False
    # A text of which only a piece is here is late; the note must not pass for one that is in the index.
    texts = Texts(vault.store)
    late = {
        note
        for note, mark in wanted.items()
        if (held or {}).get(note) != mark and texts.get(_text_of(memory, note)) is None
    }
    served = {note: file for note, file in served.items() if note not in late}
    wanted = {note: mark for note, mark in wanted.items() if note not in late}
    if held == wanted:
        return False
    mark = random_id("m")
    if held is None:
        index.rebuild(all_passages(vault, memory, served), mark=mark)
    else:
        changed = sorted(note for note, what in wanted.items() if held.get(note) != what)
        upserts = {note: passages_of(vault, memory, note, served[note], texts) for note in changed}
        try:
            index.refresh(upserts, _gone(held, wanted), mark=mark)
            index.optimize()
        except IndexUnusable:
            index.rebuild(all_passages(vault, memory, served), mark=mark)
    content = msgspec.msgpack.encode(_Manifest(mark=mark, passages=index.count(), notes=wanted))
    write_atomic(vault.state / MANIFEST, content, expected=ANYTHING, private=True)
    return True


def passage_count(vault: Vault, index: Index) -> int | None:
    """How many passages the index holds, by the manifest alone; `None` when the two do not belong together."""
    manifest = _manifest(vault.state / MANIFEST, index)
    return None if manifest is None else manifest.passages


def _mark_of(memory: Memory, note: str, file: SeenFile) -> tuple[str, str, str]:
    state = memory.notes[note]
    assert state.written is not None
    return (file.body, file.path, state.written.text + "".join(sorted(memory.standing(state).struck)))


def _text_of(memory: Memory, note: str) -> str:
    written = memory.notes[note].written
    assert written is not None
    return written.text


def _gone(held: Iterable[str], wanted: Mapping[str, object]) -> set[str]:
    return {note for note in held if note not in wanted}


def _manifest(path: Path, index: Index) -> _Manifest | None:
    mark = index.mark()
    if not mark or index.state() != "ready":
        return None
    try:
        manifest = msgspec.msgpack.decode(read_bytes(path), type=_Manifest)
    except (OSError, MachineError, msgspec.MsgspecError):
        return None
    return manifest if manifest.mark == mark else None
