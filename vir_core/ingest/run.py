"""The run: scan, choose, distil, write, index."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from os import environ
from pathlib import Path

from msgspec import Struct

from vir_core import __version__
from vir_core.contract import Failure, KeptNote, PlannedSession, Progress, RunReply, RunRequest, WrittenNote
from vir_core.index import Index, bring_up_to_date
from vir_core.ingest.places import Places
from vir_core.ingest.projects import read_policy
from vir_core.ingest.selection import Candidate, RunPlan, plan_run
from vir_core.ingest.sources import Sources, find_sources, read_sources
from vir_core.ingest.writing import Desk, Distilled
from vir_core.journal import Draft, Journal, Reading, Texts
from vir_core.machine import MachineError, hold, make_dirs, sweep_leftovers
from vir_core.memory import Memory, Observation, RunFinished, Spool, build_gate, load_gate, observe
from vir_core.text import clean, random_id
from vir_core.vault import FOLDERS, Seen, SeenTable, Vault, adopt, find_vault, path_key, walk

OnProgress = Callable[[Progress], None]

BATCH = 16
GATE = "gate"


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
        device = ""
        house = _open(vault, device, has_state=vault.state.is_dir())
        sources = read_sources(find_sources(request), tell)
        plan = _plan(house, sources, request)
        return _reply(request, vault, sources, plan, started, planned=plan.take)
    device = adopt(vault, verb="run").device
    make_dirs(vault.state / "locks", private=True)
    with hold(vault.state / "locks" / "run.lock", "run"):
        house = _open(vault, device)
        if house.observation.vanished and not request.accept_removed:
            raise VanishedNotes(len(house.observation.vanished))
        if _kept_promises(house):
            house = _open(vault, device)
        sources = read_sources(find_sources(request), tell)
        plan = _plan(house, sources, request)
        written = _write(house, plan, tell)
        _index(house, written, tell)
    return _reply(request, vault, sources, plan, started, written=written)


class _Written(Struct):
    run: str = ""
    notes: list[WrittenNote] = []
    kept: list[KeptNote] = []
    failed: list[Failure] = []
    nothing: int = 0
    lines: int = 0
    bytes: int = 0
    reading: Reading[Memory] | None = None


def _open(vault: Vault, device: str, *, has_state: bool = True) -> _House:
    """Catches up with the journal and looks at every note. Raises `JournalError`, `VaultError`."""
    journal = Journal(
        vault.store,
        vault.state if has_state else None,
        vault=vault.id,
        device=device,
        core=__version__,
        former=vault.config.was,
    )
    reading = journal.read(Memory)
    before = SeenTable.load(vault.state, vault.root)
    seen = walk(vault, before)
    texts = Texts(vault.store)

    def arrived(digest: str) -> bool:
        return texts.has(digest)

    foreign = any(
        note.written is not None and note.written.device != device for note in reading.projection.notes.values()
    )
    observation = observe(reading.projection, seen, before.files, arrived if foreign else None)
    return _House(vault, journal, reading, seen, before, observation, device)


def _kept_promises(house: _House) -> bool:
    """Keeps what a run that died had promised, so that this one sees the vault as that one meant it. True when it did."""
    spool = Spool(house.vault.state)
    if not spool.open():
        return False
    for folder in (house.vault.base, *(house.vault.base / name for name in FOLDERS.values())):
        if folder.is_dir():
            sweep_leftovers(folder)
    return bool(spool.settle(house.vault, house.reading.projection, house.seen))


def _plan(house: _House, sources: Sources, request: RunRequest) -> RunPlan:
    places = Places(sources.sessions, house.device)
    plan = plan_run(
        sources.lineage,
        house.reading.projection,
        house.observation,
        request,
        project=places.project,
        device=house.device,
        now=datetime.now(UTC),
        policy=read_policy(house.reading.projection, house.vault),
    )
    if not request.dry_run:
        places.keep()
    return plan


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
        distilled = list(_distilled(batch, done))
        outcome = desk.put(distilled, house.reading.projection)
        done.notes += outcome.written
        done.kept += outcome.kept
        done.failed += outcome.failed
        done.nothing += outcome.nothing
        done.lines += outcome.lines
        if desk.reading is not None:
            house.reading = done.reading = desk.reading
    if done.lines:
        _finish(house, plan, done)
    return done


def _finish(house: _House, plan: RunPlan, done: _Written) -> None:
    skipped = Counter(plan.skipped)
    skipped["nothing_durable"] += done.nothing
    act = RunFinished(
        written=len(done.notes),
        kept=len(plan.kept) + len(done.kept),
        unchanged=plan.unchanged,
        failed=len(done.failed),
        skipped=dict(sorted((+skipped).items())),
    )
    with house.journal.writing("run", Memory) as writer:
        writer.append([Draft(action="run_finished", subject=done.run, data=act)], kind="vir", surface="run")
        house.reading = done.reading = writer.reading


def _distilled(batch: Sequence[Candidate], done: _Written) -> Iterator[Distilled]:
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
            yield Distilled(candidate, extract(condensed, facts, candidate.project.name))
        except (OSError, NotASession) as error:
            done.failed.append(Failure(path=facts.path, stage=stage, message=_plain(error)))
        except (ValueError, LookupError, TypeError, RecursionError, AssertionError) as error:
            # One session that we read wrongly must not cost the others; it is named, and taken again by the next run.
            done.failed.append(
                Failure(path=facts.path, stage=stage, message=f"could not be distilled: {_plain(error)}")
            )


def _index(house: _House, done: _Written, tell: OnProgress) -> None:
    """Brings the caches up to date with what lies on disk now. Where they cannot be written the run still succeeded."""
    seen, observation, table = house.seen, house.observation, house.before
    if done.notes or done.kept:
        table = house.seen.table
        seen = walk(house.vault, table)
        observation = observe(house.reading.projection, seen, {}, None)
    elif done.lines:
        observation = observe(house.reading.projection, seen, {}, None)
    index = Index(house.vault.state / "index")
    try:
        tell(Progress(stage="index", done=0, total=1))
        with hold(house.vault.state / "locks" / "index.lock", "run"):
            bring_up_to_date(house.vault, house.reading.projection, observation, index)
            if seen.fresh or house.seen.fresh:
                seen.table.save(house.vault.state, house.vault.root)
            if house.reading.moved or load_gate(house.vault.state / GATE) is None:
                _, gate = build_gate(house.reading)
                house.journal.save_checkpoint(house.reading, {GATE: gate})
    except MachineError as error:
        done.failed.append(Failure(path=str(house.vault.state), stage="index", message=error.message))


def _reply(
    request: RunRequest,
    vault: Vault,
    sources: Sources,
    plan: RunPlan,
    started: float,
    *,
    planned: Sequence[Candidate] = (),
    written: _Written | None = None,
) -> RunReply:
    done = written or _Written()
    skipped = Counter(plan.skipped)
    skipped["nothing_durable"] += done.nothing
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
        failed=(*sources.failures, *done.failed),
        dry_run=request.dry_run,
        planned=tuple(_planned(one) for one in planned),
        seconds=round(time.monotonic() - started, 3),
        bytes=sources.bytes + done.bytes,
    )


def _planned(one: Candidate) -> PlannedSession:
    facts = one.facts
    title = clean(facts.title or facts.first_prompt).strip().partition("\n")[0][:80]
    return PlannedSession(
        session=one.key,
        path=facts.path,
        project=one.project.name,
        title=title,
        ended=facts.ended,
        human_turns=facts.human_turns,
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
