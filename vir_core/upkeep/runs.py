"""`runs`: which runs wrote something, and taking one back."""

from __future__ import annotations

import re
from os import environ
from pathlib import Path

from msgspec import Struct

from vir_core.contract import Failure, KeptNote, RequestError, RunInfo, RunsReply, RunsRequest
from vir_core.index import Index, bring_up_to_date
from vir_core.journal import Draft
from vir_core.machine import MachineError, hold, make_dirs
from vir_core.memory import Memory, NotesUndone, Observation, Promise, Spool, build_gate, keep, memory_of, observe
from vir_core.vault import (
    STORE,
    SeenFile,
    SeenTable,
    Vault,
    adopt,
    find_vault,
    open_journal,
    open_own_journal,
    resolve,
    walk,
)

ARCHIVED = "archived"
_LINK = re.compile(r"\[\[([^\[\]|#^]+)|\]\(<?([^()<>]+?)>?\)")


class UndoPlan(Struct, frozen=True):
    """`move`: the notes that go to `archived/`; `kept`: those that stay, with the reason."""

    move: tuple[SeenFile, ...]
    kept: tuple[KeptNote, ...]


def runs(request: RunsRequest) -> RunsReply:
    """Lists runs, newest first; with `undo` takes one back. Raises `RequestError` for an unknown run."""
    vault = find_vault(request.vault, environ, Path.cwd())
    if request.undo:
        return _undo(vault, request.undo)
    standing = resolve(vault)
    journal = open_journal(vault, standing)
    memory = journal.read(memory_of(journal)).projection
    infos = [
        RunInfo(
            id=run.id,
            at=run.at,
            device=run.device,
            written=len(run.notes),
            undone=run.undone,
            here=run.device == standing.device,
        )
        for run in memory.runs.values()
        if run.notes
    ]
    infos.sort(key=lambda info: (info.at, info.id), reverse=True)
    return RunsReply(vault=str(vault.root), folder=vault.folder, runs=tuple(infos))


def plan_undo(run: str, memory: Memory, observation: Observation, linked: frozenset[str]) -> UndoPlan:
    """What taking a run back does. A note that a person changed, judged or linked to stays; so does one that a later run
    wrote again, and one that an earlier run had written. `linked` holds the ids of notes that other notes link to. Raises `RequestError`."""
    state = memory.runs.get(run)
    if state is None or not state.notes:
        raise RequestError(f"There is no run {run!r}.", "`vir_core runs` lists them with their ids.")
    move: list[SeenFile] = []
    kept: list[KeptNote] = []
    for id in state.notes:
        note = memory.notes[id]
        if note.written is None or note.written.run != run or memory.standing(note).archived:
            continue
        file = observation.present.get(id)
        reason = ""
        if file is None:
            reason = "removed"
        elif memory.standing(note).judged:
            reason = "judged"
        elif id in observation.edited or id in observation.copies or file.broken:
            reason = "edited"
        elif id in linked:
            reason = "linked"
        elif any(id in other.notes and not other.undone for other in memory.runs.values() if other.id != run):
            reason = "older"
        if reason:
            kept.append(KeptNote(id=id, path=file.path if file else "", session=note.written.session, reason=reason))
        elif file is not None:
            move.append(file)
    return UndoPlan(tuple(move), tuple(kept))


def _undo(vault: Vault, run: str) -> RunsReply:
    device = adopt(vault, verb="runs undo").device
    locks = vault.state / "locks"
    make_dirs(locks, private=True)
    journal = open_own_journal(vault, device)
    spool = Spool(vault.state)
    undone: list[str] = []
    failed: list[Failure] = []
    with hold(locks / "run.lock", "runs undo"):
        table = SeenTable.load(vault.state, vault.root)
        seen = walk(vault, table)
        memory = journal.read(memory_of(journal)).projection
        if spool.settle(vault, memory, seen):
            seen = walk(vault, seen.table)
        failed += [Failure(path=promise.path, stage="write", message=why) for promise, why in spool.refused]
        observation = observe(memory, seen, {})
        plan = plan_undo(run, memory, observation, _linked(vault, observation, seen.table))
        promised: list[tuple[Path, Promise]] = []
        for file in plan.move:
            promise = Promise(
                kind="move",
                note=file.id,
                path=f"{vault.folder}/{STORE}/{ARCHIVED}/{file.path.rpartition('/')[2]}",
                line=run,
                expected=_digest(vault, file),
                source=file.path,
            )
            promised.append((spool.promise(promise), promise))
        with journal.writing("runs undo", memory_of(journal)) as writer:
            lines = [
                Draft(action="notes_undone", subject=promise.note, data=NotesUndone(run=run), must=True)
                for _, promise in promised
            ]
            writer.append(lines, kind="person", surface="cli")
            reading = writer.reading
        for record, promise in promised:
            try:
                path = keep(vault, promise)
            except MachineError as error:
                failed.append(Failure(path=promise.source, stage="write", message=error.message))
                continue
            record.unlink(missing_ok=True)
            undone.append(path or promise.source)
        seen = walk(vault, seen.table)
        try:
            with hold(locks / "index.lock", "runs undo"):
                index = Index(vault.state / "index")
                bring_up_to_date(vault, reading.projection, observe(reading.projection, seen, {}), index)
                seen.table.save(vault.state, vault.root)
                _, gate = build_gate(reading)
                journal.save_checkpoint(reading, {"gate": gate})
        except MachineError as error:
            failed.append(Failure(path=str(vault.state), stage="index", message=error.message))
    return RunsReply(
        vault=str(vault.root), folder=vault.folder, undone=tuple(undone), kept=plan.kept, failed=tuple(failed)
    )


def _digest(vault: Vault, file: SeenFile) -> str:
    from vir_core.machine import sha256_of

    return sha256_of(vault.absolute(file.path))


def _linked(vault: Vault, observation: Observation, table: SeenTable) -> frozenset[str]:
    """Ids of present notes that some other markdown file of the vault links to, by name or by path."""
    by_name: dict[str, str] = {}
    for id, file in observation.present.items():
        stem = file.path.removesuffix(".md")
        by_name[stem.casefold()] = id
        by_name[stem.rpartition("/")[2].casefold()] = id
    linked: set[str] = set()
    for path, row in table.files.items():
        try:
            text = vault.absolute(path).read_text("utf-8", errors="replace")
        except OSError:
            # Gone since the walk: it links to nothing any more.
            continue
        for match in _LINK.finditer(text):
            target = (match[1] or match[2] or "").strip().replace("%20", " ").removesuffix(".md").casefold()
            id = by_name.get(target) or by_name.get(target.rpartition("/")[2])
            if id and id != row.id:
                linked.add(id)
    return frozenset(linked)
