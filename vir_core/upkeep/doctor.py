"""`doctor`: what works, what does not, and what to do. It heals nothing."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping
from os import environ
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core import __version__
from vir_core.contract import (
    DoctorReply,
    DoctorRequest,
    IndexStatus,
    JournalStatus,
    Problem,
    SourceStatus,
    Trust,
    VaultStatus,
)
from vir_core.contract import Source as SourceName
from vir_core.index import Index, passage_count
from vir_core.journal import Journal, Texts
from vir_core.machine import claude_projects_dirs, codex_home_dirs
from vir_core.memory import (
    QUERIES,
    Census,
    Gate,
    Spool,
    can_record,
    counted,
    current_gate,
    memory_of,
    take_census,
)
from vir_core.transcripts import Found, find
from vir_core.upkeep.copies import archive_status
from vir_core.upkeep.passes import LastPass, load_pass
from vir_core.vault import (
    NoVault,
    Seen,
    SeenFile,
    SeenTable,
    Standing,
    Vault,
    VaultError,
    find_vault,
    open_journal,
    resolve,
    walk,
)

KEPT_DAYS = 30
"""Days after which Claude Code deletes a transcript that nobody touched, unless its settings say otherwise."""

_SOON = 5


class _Settings(Struct, frozen=True):
    cleanupPeriodDays: int = KEPT_DAYS


_cleanup = msgspec.json.Decoder(_Settings)


class Look(Struct, frozen=True, kw_only=True):
    """Everything doctor judges, gathered before it judges."""

    vault: Vault | None
    standing: Standing | None
    gate: Gate | None
    trusts: Mapping[str, Trust]
    seen: Seen | None
    census: Census | None
    textless: int
    index: IndexStatus | None
    sources: tuple[SourceStatus, ...]
    troubles: tuple[tuple[str, str], ...]
    promises: int
    no_vault: NoVault | VaultError | None


def doctor(request: DoctorRequest) -> DoctorReply:
    """Writes nothing. Without a vault it still reports on the sources."""
    look = _look(request)
    return DoctorReply(
        version=__version__,
        python=".".join(str(part) for part in sys.version_info[:3]),
        vault=_vault_status(look),
        journal=_journal_status(look),
        index=look.index,
        sources=look.sources,
        last_run=(look.gate.last_run or None) if look.gate else None,
        archive=archive_status(look.vault) if look.vault else None,
        problems=tuple(find_problems(look)),
    )


def find_problems(look: Look) -> Iterator[Problem]:
    """What a person should know, consequence first."""
    yield from _vault_problems(look)
    yield from _history_problems(look)
    yield from _note_problems(look)
    yield from _source_problems(look)


def _vault_problems(look: Look) -> Iterator[Problem]:
    if look.no_vault is not None:
        yield Problem(
            what="No notes can be written or found.",
            why=look.no_vault.message + ".",
            fix=look.no_vault.hint or "Run `vir_core init --vault DIR`.",
        )
    if look.standing is not None and look.standing.kind == "copy":
        yield Problem(
            what="Nothing is written to this vault.",
            why=f"It is a copy: the same vault is still at {look.standing.other}.",
            fix="Run `vir_core init` here with --moved if you use this one from now on, or with --copied to make it one of its own.",
        )
    if look.index is not None and look.index.state not in ("ready", "missing"):
        yield Problem(
            what="The next question takes longer.",
            why=f"The search index is {look.index.state}.",
            fix="Nothing to do: it is made anew when you ask something.",
        )
    state = look.vault.readable_state() if look.vault is not None and look.vault.config.queries else None
    if state is not None and not can_record(state):
        yield Problem(
            what="Questions are answered and not recorded, so vir cannot say which notes were shown to whom.",
            why=f"{state / QUERIES} cannot be written.",
            fix="Check its permissions, or write `queries: off` into vir/store/config.yaml.",
        )
    if look.seen is not None:
        for path, why in look.seen.problems:
            yield Problem(
                what=f"Notes in {path or 'the vault'} are not found.",
                why=f"It cannot be read: {why}.",
                fix="Check its permissions.",
            )


def _history_problems(look: Look) -> Iterator[Problem]:
    if look.gate is None:
        return
    marks, newer = look.gate.marks, look.gate.newer
    damage = marks.damage
    if damage.total:
        yield Problem(
            what="A part of this vault's history cannot be read; everything around it can.",
            why=f"{'1 damaged place' if damage.total == 1 else f'{damage.total} damaged places'} in the history files.",
            fix="Nothing you need to do. If another device or a backup has the same files whole, put them back.",
        )
    if marks.missing:
        yield Problem(
            what="A part of this vault's history is missing from the vault and is answered from this machine's copy.",
            why=f"A sync tool or a restored backup took away {_entries(len(marks.missing))}.",
            fix="Run `vir_core run`: what this machine wrote is put back. Let the other devices sync for the rest.",
        )
    if marks.absent:
        yield Problem(
            what="Some notes are not found yet.",
            why=f"{'1 history file is' if len(marks.absent) == 1 else f'{len(marks.absent)} history files are'} still in the cloud.",
            fix="Open the folder in your sync tool and let it download.",
        )
    if newer:
        version = max(newer.values(), key=_numbers)
        yield Problem(
            what=f"{_notes(len(newer))} held back.",
            why=f"vir {version} on another device decided something about them that this version does not know.",
            fix=f"Install vir {version} or newer here.",
        )


def _note_problems(look: Look) -> Iterator[Problem]:
    seen = look.census
    if seen is None:
        return
    if seen.vanished:
        yield Problem(
            what="Nothing new is written to this vault.",
            why=f"{len(seen.vanished)} notes that were there at the last run are gone.",
            fix="If it is still syncing, wait. If you deleted them, run `vir_core run --accept-removed` once.",
        )
    if seen.waiting:
        yield Problem(
            what=f"{_notes(len(seen.waiting))} not found when you ask.",
            why="They wait for the history of another device.",
            fix="Let vir/store sync too; Obsidian Sync carries it only with *Sync all other types* on.",
        )
    if look.textless:
        yield Problem(
            what=f"{_notes(look.textless)} not found when you ask.",
            why="Their texts have not arrived from another device.",
            fix="Let vir/store sync too; Obsidian Sync carries it only with *Sync all other types* on.",
        )
    if seen.away:
        yield Problem(
            what=f"{_notes(len(seen.away))} not found when you ask.",
            why="Their files are still in the cloud, or empty.",
            fix="Let your sync tool download vir's folder and keep it on this computer.",
        )
    for files in _copied(look):
        yield Problem(
            what=f"Only one of {' and '.join(file.path for file in files)} is found when you ask.",
            why="They carry the same vir_id: one is a copy of the other.",
            fix="Remove the property vir_id from the one that should be a note of its own, or delete one.",
        )
    for path, why in seen.broken.items():
        yield Problem(
            what=f"{path} keeps its properties as they are; vir will not update them.",
            why=f"They cannot be read safely: {why}.",
            fix="Repair the lines between the --- marks in Obsidian's source view.",
        )
    if look.promises:
        yield Problem(
            what=f"{_notes(look.promises)} still to be written.",
            why="The last run was stopped in the middle.",
            fix="Run `vir_core run` again; it goes on where it stopped.",
        )


def _source_problems(look: Look) -> Iterator[Problem]:
    for path, why in look.troubles:
        yield Problem(
            what=f"Sessions in {path} are not read.",
            why=why,
            fix="Check that the folder is there and that you may read it.",
        )
    if not any(source.found for source in look.sources):
        yield Problem(
            what="There are no sessions to read.",
            why="Neither Claude Code nor Codex left any here.",
            fix="Name their folders with --claude-dir or --codex-dir.",
        )
    for source in look.sources:
        if source.days_left is None or source.kept_days is None or source.days_left > _SOON:
            continue
        left = f"in {source.days_left:.0f} days" if source.days_left >= 1 else "any moment now"
        yield Problem(
            what=f"Claude Code deletes sessions that vir may not have read, the first {left}.",
            why=f"{_files(source.waiting)} not read yet, and it deletes what nobody touched for {source.kept_days} days.",
            fix=f"Run `vir_core run` now, or raise cleanupPeriodDays in {_settings(Path(source.path))}.",
        )


def _files(number: int) -> str:
    return "1 session file is" if number == 1 else f"{number} session files are"


def _notes(number: int) -> str:
    return "1 note is" if number == 1 else f"{number} notes are"


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def _numbers(version: str) -> tuple[int, ...]:
    """Orders versions as people count them: 0.10 comes after 0.9."""
    return tuple(int(part) for part in re.findall(r"[0-9]{1,9}", version))


def _copied(look: Look) -> list[tuple[SeenFile, ...]]:
    return [] if look.seen is None else [files for files in look.seen.notes.values() if len(files) > 1]


def _look(request: DoctorRequest) -> Look:
    founds = _founds(request)
    troubles = tuple((trouble.path, trouble.message) for _, _, _, found in founds for trouble in found.problems)
    try:
        vault = find_vault(request.vault, environ, Path.cwd())
    except VaultError as error:
        return Look(
            vault=None,
            standing=None,
            gate=None,
            trusts={},
            seen=None,
            census=None,
            textless=0,
            index=None,
            sources=_statuses(founds, LastPass()),
            troubles=troubles,
            promises=0,
            no_vault=error,
        )
    standing = resolve(vault)
    journal = open_journal(vault, standing)
    state = journal.state
    gate, _ = current_gate(journal, state / "gate" if state else None)
    trusts = gate.trusts()
    table = SeenTable.load(state, vault.root) if state else SeenTable()
    seen = walk(vault, table)
    return Look(
        vault=vault,
        standing=standing,
        gate=gate,
        trusts=trusts,
        seen=seen,
        census=take_census(trusts, seen, table.files),
        textless=_textless(vault, journal) if gate.marks.heads.keys() - {standing.device} else 0,
        index=_index_status(vault) if state else IndexStatus(state="missing", passages=0),
        sources=_statuses(founds, load_pass(state)),
        troubles=troubles,
        promises=len(Spool(state).open()) if state else 0,
        no_vault=None,
    )


def _textless(vault: Vault, journal: Journal) -> int:
    """Notes whose text has not arrived: what this device wrote is here, and without another's lines nothing is looked for."""
    has = Texts(vault.store).has
    notes = journal.read(memory_of(journal)).projection.notes.values()
    return sum(1 for note in notes if note.written is not None and not has(note.written.text))


def _index_status(vault: Vault) -> IndexStatus:
    index = Index(vault.state / "index")
    state = index.state()
    passages = passage_count(vault, index)
    if state == "ready" and passages is None:
        state = "stale"
    return IndexStatus(state=state, passages=passages or 0)


_Source = tuple[SourceName, Path, bool, Found]


def _founds(request: DoctorRequest) -> list[_Source]:
    """Each folder of transcripts: whose it is, where, whether it is here, what is in it."""
    asked = bool(request.claude_dir or request.codex_dir)
    claude = [Path(name).expanduser() for name in request.claude_dir] if asked else claude_projects_dirs(environ)
    codex = [Path(name).expanduser() for name in request.codex_dir] if asked else codex_home_dirs(environ)
    named: list[tuple[SourceName, list[Path]]] = [("claude", claude), ("codex", codex)]
    founds: list[_Source] = []
    for name, folders in named:
        for folder in folders:
            here = folder.is_dir()
            found = Found()
            if here or asked:
                found = find([folder], []) if name == "claude" else find([], [folder])
            founds.append((name, folder, here, found))
    return founds


def _statuses(founds: list[_Source], last: LastPass) -> tuple[SourceStatus, ...]:
    now = time.time()
    statuses: list[SourceStatus] = []
    for name, folder, here, found in founds:
        waiting = [file.mtime_ns for file in found.files if last.waits(file)]
        kept = _kept_days(folder) if name == "claude" else None
        oldest = min((file.mtime_ns for file in found.files), default=None)
        left = None if kept is None or not waiting else max(0.0, kept - _days(now, min(waiting)))
        statuses.append(
            SourceStatus(
                source=name,
                path=str(folder),
                found=here,
                files=len(found.files),
                oldest_days=None if oldest is None else round(_days(now, oldest), 1),
                waiting=len(waiting),
                kept_days=kept,
                days_left=None if left is None else round(left, 1),
            )
        )
    return tuple(statuses)


def _days(now: float, mtime_ns: int) -> float:
    return max(0.0, now - mtime_ns / 1e9) / 86400


def _settings(projects: Path) -> Path:
    """The settings of the Claude Code whose transcripts lie here."""
    return (projects.parent if projects.name == "projects" else projects) / "settings.json"


def _kept_days(projects: Path) -> int:
    """What the settings say; the default when they are missing, cannot be read, or say nothing that could be meant."""
    try:
        said = _cleanup.decode(_settings(projects).read_bytes()).cleanupPeriodDays
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return KEPT_DAYS
    return said if said > 0 else KEPT_DAYS


def _vault_status(look: Look) -> VaultStatus | None:
    if look.vault is None or look.gate is None or look.census is None:
        return None
    census = look.census
    trusts: list[Trust] = [value for note, value in look.trusts.items() if note not in census.absent]
    complete = look.seen is not None and look.seen.complete
    return VaultStatus(
        path=str(look.vault.root),
        folder=look.vault.folder,
        id=look.vault.id,
        notes=len(trusts),
        states=counted(trusts),
        removed=len(census.absent) if complete else 0,
        waiting=len(census.waiting),
        copies=sum(len(files) - 1 for files in _copied(look)),
        broken=len(census.broken),
    )


def _journal_status(look: Look) -> JournalStatus | None:
    if look.gate is None:
        return None
    marks = look.gate.marks
    return JournalStatus(lines=marks.lines, devices=marks.devices, bytes=marks.bytes, damaged=marks.damage.total)
