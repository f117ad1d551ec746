"""The run: scan, choose, distil, write, index."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from vir_core.contract import (
    EmbeddingStatus,
    Failure,
    HeldNote,
    Keep,
    KeptNote,
    PlannedSession,
    Progress,
    RunReply,
    RunRequest,
    WrittenNote,
)
from vir_core.index import Index, IndexUnusable, bring_up_to_date, keep_embedded
from vir_core.ingest import keeping
from vir_core.ingest.comparing import Comparer, after, keep_compared, plan_pairs, read_compared
from vir_core.ingest.places import Places
from vir_core.ingest.projects import read_policy
from vir_core.ingest.refusing import Likeness, held_line
from vir_core.ingest.selection import Candidate, RunPlan, plan_run
from vir_core.ingest.sources import Sources, find_sources, read_sources
from vir_core.ingest.standing import session_key, waits
from vir_core.ingest.writing import Desk, Distilled
from vir_core.journal import Draft, Journal, JournalError, Reading, Texts
from vir_core.machine import MachineError, hold, make_dirs, sweep_leftovers
from vir_core.memory import (
    Memory,
    Observation,
    ProjectJoined,
    RunFinished,
    Spool,
    build_gate,
    load_gate,
    memory_of,
    observe,
)
from vir_core.text import clean, random_id
from vir_core.upkeep.copies import archive_status
from vir_core.upkeep.destroying import destroy
from vir_core.upkeep.passes import load_pass, save_pass
from vir_core.vault import (
    CONFIG,
    FOLDERS,
    Seen,
    SeenTable,
    Vault,
    adopt,
    find_vault,
    open_journal,
    open_own_journal,
    path_key,
    walk,
    write_config,
)

if TYPE_CHECKING:
    from vir_core.transcripts.archive import Archive

OnProgress = Callable[[Progress], None]

BATCH = 16
GATE = "gate"

EMBED_SECONDS = 30.0
"""How long a run goes on embedding, newest notes first. The rest is found by its words, and embedded by the runs to come or by
`index embed`: a first run must not keep a person waiting for what they did not ask for."""


class VanishedNotes(Exception):
    """Many notes went at once; nothing is concluded from that and nothing was written."""

    def __init__(self, number: int) -> None:
        self.message = f"{number} notes that were in the vault are gone, so nothing was written."
        self.hint = (
            "If the vault is still syncing, wait for it. If you deleted them, run again with --accept-removed; "
            "they will not be written again."
        )
        super().__init__(self.message)


class _House(Struct):
    """One vault, open for a run."""

    vault: Vault
    journal: Journal
    reading: Reading[Memory]
    seen: Seen
    before: SeenTable
    observation: Observation
    device: str


def run(request: RunRequest, progress: OnProgress | None = None) -> RunReply:
    """Reads what is new and writes notes. A run that finds nothing new writes nothing at all."""
    started = time.monotonic()
    vault = find_vault(request.vault, environ, Path.cwd())
    tell = progress or _silent
    if request.dry_run:
        house = _open(vault, open_journal(vault))
        sources = read_sources(find_sources(request), tell)
        plan = _plan(house, sources, request)
        return _reply(request, vault, sources, plan, started, planned=plan.take)
    device = adopt(vault, verb="run").device
    make_dirs(vault.state / "locks", private=True)
    lock = vault.state / "locks" / "run.lock"
    # Whoever leaves a lock empties it; a name still in it is of a run that lives and makes us wait, or of one that was killed.
    killed = lock.is_file() and lock.stat().st_size > 0
    with hold(lock, "run"):
        if killed:
            _sweep(vault)
        vault = _choosing(vault, request.archive)
        house = _open(vault, open_own_journal(vault, device))
        if house.observation.vanished and not request.accept_removed:
            raise VanishedNotes(len(house.observation.vanished))
        # What another device forgot, or a process here that was killed.
        if house.reading.projection.forgotten and destroy(vault, house.reading.projection, house.seen):
            house = _open(vault, house.journal)
        refused: list[Failure] = []
        _catch_up(house)
        if _kept_promises(house, refused) | _kept_verdicts(house, refused):
            house = _open(vault, open_own_journal(vault, device))
        sources = read_sources(find_sources(request), tell)
        plan = _plan(house, sources, request)
        written = _write(house, plan, tell)
        written.failed += refused
        _note_pass(house, sources, plan, written)
        keeping.rotate(vault, written.failed)
        _index(house, written, tell)
        if _compare(house, written):
            _index(house, written, tell)
        embedding = _embed(house, request, len(written.notes), tell)
    return _reply(request, vault, sources, plan, started, written=written, embedding=embedding)


def _choosing(vault: Vault, keep: Keep) -> Vault:
    """The vault, with what the person chose about copies written down."""
    if not keep or keep == vault.config.archive:
        return vault
    config = msgspec.structs.replace(vault.config, archive=keep)
    write_config(vault.store / CONFIG, config)
    return msgspec.structs.replace(vault, config=config)


def _note_pass(house: _House, sources: Sources, plan: RunPlan, done: _Written) -> None:
    """Writes down which sessions still wait, for whoever wants to know before the agent deletes their files."""
    memory = house.reading.projection
    kept = {note.session for note in (*plan.kept, *done.kept)}
    waiting = [
        facts.path
        for thread in plan.waiting
        if waits(thread, memory) and session_key(thread, memory) not in kept
        for facts in thread.files
    ]
    waiting += (failure.path for failure in sources.failures if failure.stage == "read")
    before = load_pass(house.vault.state)
    save_pass(house.vault.state, before, before.over(sources.found, waiting))


class _Written(Struct):
    run: str = ""
    notes: list[WrittenNote] = []
    kept: list[KeptNote] = []
    failed: list[Failure] = []
    held: list[HeldNote] = []
    nothing: int = 0
    refused: int = 0
    lessons_refused: int = 0
    lines: int = 0
    bytes: int = 0
    reading: Reading[Memory] | None = None


def _open(vault: Vault, journal: Journal) -> _House:
    """Catches up with the journal and looks at every note. Raises `JournalError`, `VaultError`."""
    device = journal.device
    reading = journal.read(memory_of(journal))
    before = SeenTable.load(vault.state, vault.root)
    seen = walk(vault, before)
    observation = _observed(vault, reading, seen, before, device)
    return _House(vault, journal, reading, seen, before, observation, device)


def _observed(vault: Vault, reading: Reading[Memory], seen: Seen, before: SeenTable, device: str) -> Observation:
    """What another device wrote may be here without its text; what this one wrote has it."""
    memory = reading.projection
    foreign = any(note.written is not None and note.written.device != device for note in memory.notes.values())
    return observe(memory, seen, before.files, Texts(vault.store).has if foreign else None)


def _catch_up(house: _House) -> None:
    """Copies to the mirror what other devices wrote and gives back to the segments what they lost of this one, so that a run
    which finds nothing new leaves the history as safe as one that does. Raises `JournalError` when all of the history is
    gone from the vault at once: a vault that is half here proves nothing, and half of it is not completed."""
    marks = house.reading.marks
    if house.reading.lines and not marks.files and not marks.absent:
        raise JournalError(
            f"The history of this vault is gone from {house.journal.folder}, so nothing was written.",
            "If the vault is still syncing, wait for it. If the folder was deleted, put it back from a backup, or run "
            "`vir_core journal heal`: it is written anew from this machine's copy.",
        )
    if marks.mirrored and not house.reading.replay.pending and house.device not in marks.missing.values():
        return
    with house.journal.writing("run", memory_of(house.journal)) as writer:
        house.reading = writer.reading
    house.observation = _observed(house.vault, house.reading, house.seen, house.before, house.device)


def _sweep(vault: Vault) -> None:
    """Removes the temporary files that a killed run left in vir's own folders, however young: `run.lock` says that nobody is
    at work on them."""
    folders = [vault.base, *(vault.base / name for name in FOLDERS.values()), vault.state, vault.state / "spool"]
    for parent in (vault.texts, vault.journal):
        folders += [parent, *(below for below in parent.glob("*") if below.is_dir())]
    for folder in folders:
        sweep_leftovers(folder, older_than=0)


def _kept_promises(house: _House, refused: list[Failure]) -> bool:
    """Keeps what a run that died had promised, so that this one sees the vault as that one meant it. True when it did;
    `refused` takes what one file alone stood in the way of."""
    spool = Spool(house.vault.state)
    promises = spool.open()
    if not promises:
        return False
    for folder in {house.vault.absolute(promise.path).parent for _, promise in promises if promise is not None}:
        sweep_leftovers(folder, older_than=0)
    kept = spool.settle(house.vault, house.reading.projection, house.seen)
    refused += [Failure(path=promise.path, stage="write", message=why) for promise, why in spool.refused]
    return bool(kept)


def _kept_verdicts(house: _House, refused: list[Failure]) -> bool:
    """Does to the files what verdicts before this run did not live to do, and writes down which notes their person calls wrong.
    True when something was done."""
    memory = house.reading.projection
    records = any((house.vault.state / "spool").glob("*.verdict"))
    marked = any(file.wrong for files in house.seen.notes.values() for file in files)
    if not records and not marked:
        return False
    from vir_core.review import called_wrong, finish, stated

    if records:
        refused += finish(house.vault, stated(memory))
    drafts = called_wrong(memory, house.seen, house.device)
    if drafts:
        with house.journal.writing("run", memory_of(house.journal)) as writer:
            writer.append(drafts, kind="person", surface="file")
    return records or bool(drafts)


def _plan(house: _House, sources: Sources, request: RunRequest) -> RunPlan:
    places = Places(sources.sessions, house.device)
    if not request.dry_run:
        _join_projects(house, sources, places)
    plan = plan_run(
        sources.lineage,
        house.reading.projection,
        house.observation,
        request,
        project=places.project,
        device=house.device,
        now=datetime.now(UTC),
        policy=read_policy(house.reading.projection, house.vault, places.formers),
    )
    if not request.dry_run:
        places.keep()
    return plan


def _join_projects(house: _House, sources: Sources, places: Places) -> None:
    """Says in the history which id a project goes by now, when something is there under an earlier one. No note moves."""
    for thread in sources.lineage.threads:
        places.project(thread.speaker)
    if not places.learnt or not places.formers:
        return
    memory = house.reading.projection
    named = {note.written.project for note in memory.notes.values() if note.written} | set(memory.projects)
    present = {memory.root_project(id) for id in named}
    drafts = [
        Draft(action="project_joined", subject=old, data=ProjectJoined(into=new))
        for old, new in sorted(places.formers.items())
        if old in present and memory.root_project(new) != old
    ]
    if drafts:
        with house.journal.writing("run", memory_of(house.journal)) as writer:
            writer.append(drafts, kind="vir", surface="run")
            house.reading = writer.reading


def _write(house: _House, plan: RunPlan, tell: OnProgress) -> _Written:
    """Distils and writes in batches, so that a stop loses at most one batch's work and no note."""
    done = _Written()
    if not plan.take:
        return done
    done.run = random_id("r")
    taken = {path_key(path) for path in house.seen.table.files}
    desk = Desk(house.vault, house.journal, house.observation, taken, done.run)
    for number, batch in enumerate(_batches(plan.take)):
        tell(Progress(stage="distil", done=number * BATCH, total=len(plan.take), path=batch[0].facts.path))
        distilled = list(_distilled(batch, done, keeping.open_archive(house.vault)))
        outcome = desk.put(distilled, house.reading.projection)
        done.notes += outcome.written
        done.kept += outcome.kept
        done.failed += outcome.failed
        done.nothing += outcome.nothing
        done.refused += outcome.refused
        done.lessons_refused += outcome.lessons_refused
        done.lines += outcome.lines
        if desk.reading is not None:
            house.reading = done.reading = desk.reading
    if done.lines:
        _finish(house, plan, done)
    return done


def _finish(house: _House, plan: RunPlan, done: _Written) -> None:
    skipped = Counter(plan.skipped)
    skipped["nothing_durable"] += done.nothing
    skipped["refused"] += done.refused
    act = RunFinished(
        written=len(done.notes),
        kept=len(plan.kept) + len(done.kept),
        unchanged=plan.unchanged,
        failed=len(done.failed),
        skipped=dict(sorted((+skipped).items())),
    )
    with house.journal.writing("run", memory_of(house.journal)) as writer:
        writer.append([Draft(action="run_finished", subject=done.run, data=act)], kind="vir", surface="run")
        house.reading = done.reading = writer.reading


def _distilled(batch: Sequence[Candidate], done: _Written, archive: Archive | None) -> Iterator[Distilled]:
    from vir_core.distil import extract
    from vir_core.transcripts import NotASession, condense, read_thread

    for candidate in batch:
        facts = candidate.facts
        stage = "read"
        try:
            transcript = read_thread(candidate.thread)
            done.bytes += sum(file.bytes for file in candidate.thread.files)
            stage = "distil"
            condensed = condense(transcript)
            named = msgspec.structs.replace(facts, title=transcript.title)
            distilled = Distilled(candidate, extract(condensed, named, candidate.project.name))
            if archive is not None:
                keeping.keep(archive, candidate, transcript, done.failed)
            yield distilled
        except (OSError, NotASession) as error:
            done.failed.append(Failure(path=facts.path, stage=stage, message=_plain(error)))
        except (ValueError, LookupError, TypeError, RecursionError, AssertionError) as error:
            # One session that we read wrongly must not cost the others; it is named, and taken again by the next run.
            done.failed.append(
                Failure(path=facts.path, stage=stage, message=f"could not be distilled: {_plain(error)}")
            )


def _index(house: _House, done: _Written, tell: OnProgress) -> None:
    """Brings the caches up to date with what lies on disk now. Where they cannot be written the run still succeeded."""
    seen, observation = house.seen, house.observation
    if done.notes or done.kept:
        seen = walk(house.vault, house.seen.table)
    if done.notes or done.kept or done.lines:
        observation = _observed(house.vault, house.reading, seen, house.before, house.device)
    index = Index(house.vault.state / "index")
    try:
        tell(Progress(stage="index", done=0, total=1))
        with hold(house.vault.state / "locks" / "index.lock", "run"):
            sweep_leftovers(house.vault.state / "index", older_than=0)
            bring_up_to_date(house.vault, house.reading.projection, observation, index)
            if seen.fresh or house.seen.fresh:
                _remember(house, seen)
            if house.reading.moved or load_gate(house.vault.state / GATE) is None:
                _, gate = build_gate(house.reading)
                house.journal.save_checkpoint(house.reading, {GATE: gate})
    except (MachineError, IndexUnusable) as error:
        why = error.message if isinstance(error, MachineError) else error.why
        done.failed.append(Failure(path=str(house.vault.state), stage="index", message=why))


def _embed(house: _House, request: RunRequest, wrote: int, tell: OnProgress) -> EmbeddingStatus | None:
    if request.no_embed:
        return None
    vault = house.vault
    done = keep_embedded(
        vault,
        Index(vault.state / "index"),
        environ,
        verb="run",
        check=bool(wrote),
        seconds=EMBED_SECONDS,
        tell=lambda number, total: tell(Progress(stage="embed", done=number, total=total)),
    )
    if done is None:
        return None
    return EmbeddingStatus(model=done.model, embedded=done.embedded, waiting=done.waiting, why=done.why)


def _compare(house: _House, done: _Written) -> bool:
    """Takes notes out of service that resemble what was rejected on another device, or after they were written. True when
    it did."""
    memory, state = house.reading.projection, house.vault.state
    if not memory.tombstones():
        return False
    before = read_compared(state)
    pairs = plan_pairs(memory, before, {note.id for note in done.notes})
    held: dict[str, Likeness] = {}
    if pairs.laid or pairs.arrived:
        seen = walk(house.vault, house.seen.table)
        observation = _observed(house.vault, house.reading, seen, house.before, house.device)
        held = Comparer(house.vault, memory, observation, Index(state / "index")).find(pairs)
        if held:
            with house.journal.writing("run", memory_of(house.journal)) as writer:
                writer.append([held_line(note, like) for note, like in sorted(held.items())], kind="vir", surface="run")
                house.reading = writer.reading
            done.lines += len(held)
            paths = {note: observation.present[note].path for note in held}
            done.held += [
                HeldNote(id=note, path=paths[note], resembles=like.like) for note, like in sorted(held.items())
            ]
    try:
        keep_compared(state, before, after(memory))
    except MachineError as error:
        done.failed.append(Failure(path=str(state), stage="index", message=error.message))
    return bool(held)


def _remember(house: _House, seen: Seen) -> None:
    """Saves what lies where. A note in the cloud keeps its row: without it, it would look deleted to the next run."""
    away = house.observation.away
    rows = {path: file for path, file in house.before.files.items() if file.id in away}
    if not rows:
        seen.table.save(house.vault.state, house.vault.root)
    elif (files := {**seen.table.files, **rows}) != house.before.files:
        SeenTable(files.values()).save(house.vault.state, house.vault.root)


def _reply(
    request: RunRequest,
    vault: Vault,
    sources: Sources,
    plan: RunPlan,
    started: float,
    *,
    planned: Sequence[Candidate] = (),
    written: _Written | None = None,
    embedding: EmbeddingStatus | None = None,
) -> RunReply:
    done = written or _Written()
    skipped = Counter(plan.skipped)
    skipped["nothing_durable"] += done.nothing
    skipped["refused"] += done.refused
    skipped["not_a_session"] += len(sources.others)
    return RunReply(
        vault=str(vault.root),
        folder=vault.folder,
        run=done.run if done.lines else "",
        drivers=sources.drivers,
        skipped=dict(sorted((+skipped).items())),
        written=tuple(done.notes),
        kept=(*plan.kept, *done.kept),
        unchanged=plan.unchanged,
        held=tuple(done.held),
        refused=done.lessons_refused,
        failed=(*sources.failures, *done.failed),
        dry_run=request.dry_run,
        planned=tuple(_planned(one) for one in planned),
        seconds=round(time.monotonic() - started, 3),
        bytes=sources.bytes + done.bytes,
        # Counting ten thousand copies takes as long as finding that nothing is new.
        archive=archive_status(vault) if request.dry_run or done.run else None,
        embedding=embedding,
    )


def _planned(one: Candidate) -> PlannedSession:
    from vir_core.transcripts import names_of

    facts = one.facts
    title, prompt = names_of(facts)
    title = clean(title or prompt).strip().partition("\n")[0][:80]
    return PlannedSession(
        session=one.key,
        path=facts.path,
        project=one.project.name,
        title=title,
        ended=facts.ended,
        human_turns=facts.human_turns,
        bytes=sum(file.bytes for file in one.thread.files),
    )


def _batches(take: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
    for start in range(0, len(take), BATCH):
        yield take[start : start + BATCH]


def _plain(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return clean(str(error) or type(error).__name__)[:300]


def _silent(progress: Progress) -> None:
    del progress
