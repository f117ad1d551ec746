"""`projects`: every project that sessions were found of, and the person's decision about each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import environ
from pathlib import Path
from types import MappingProxyType
from typing import get_args

import msgspec
from msgspec import Struct

from vir_core.contract import (
    Decision,
    Failure,
    PatternInfo,
    ProjectInfo,
    ProjectsReply,
    ProjectsRequest,
    RequestError,
)
from vir_core.ingest.places import Places
from vir_core.ingest.policy import PATTERN, Decided, Pattern, Policy, fits, is_pattern
from vir_core.ingest.selection import chosen_projects
from vir_core.ingest.sources import Sources, find_sources, read_sources
from vir_core.ingest.standing import gained, session_key, wanted
from vir_core.journal import Draft, JournalError, Texts
from vir_core.machine import MachineError, make_dirs
from vir_core.memory import Memory, ProjectDecided, memory_of
from vir_core.text import project_id, sha256_hex
from vir_core.transcripts import Project, normal_path
from vir_core.vault import (
    NoVault,
    Vault,
    VaultError,
    adopt,
    find_vault,
    open_journal,
    open_own_journal,
    open_vault,
    read_registry,
    resolve,
)

_DECISIONS: frozenset[Decision] = frozenset(get_args(Decision))


class _Row(Struct):
    project: Project
    sessions: int = 0
    pending: int = 0
    others: int = 0
    notes: int = 0
    newest: str = ""
    places: dict[str, None] = {}


def projects(request: ProjectsRequest) -> ProjectsReply:
    """Lists, or decides and lists. Deciding touches no note and can be taken back by deciding again. Raises `RequestError`
    for a name that fits no project or several."""
    vault = find_vault(request.vault, environ, Path.cwd())
    decides = request.include or request.exclude or request.ask or request.give
    device = (adopt(vault, verb="projects") if decides else resolve(vault)).device
    sources = read_sources(find_sources(request))
    journal = open_own_journal(vault, device) if decides else open_journal(vault)
    memory = journal.read(memory_of(journal)).projection
    places = Places(sources.sessions, device)
    rows = _rows(sources, memory, places, Texts(vault.store))
    known = {row.project.id: row.project for row in rows.values()}
    plan = plan_decisions(_by_present_ids(request, memory), known)
    changed: list[str] = []
    failed: list[Failure] = list(sources.failures)
    if plan:
        others = _other_vaults(vault)
        _write(vault, plan, "")
        changed = [one.words for one in plan]
        # A session belongs to one vault of a machine: what this one takes in, the others let go.
        taken = [one for one in plan if one.decision == "include"]
        for other in others if taken else ():
            try:
                there = resolve(other).device
                _write(other, [one.for_device(device, there) for one in taken], vault.id)
            except (MachineError, JournalError, VaultError) as error:
                failed.append(
                    Failure(path=str(other.base), stage="write", message=getattr(error, "message", str(error)))
                )
        memory = journal.read(memory_of(journal)).projection
    policy = read_policy(memory, vault, places.formers)
    return ProjectsReply(
        vault=str(vault.root),
        folder=vault.folder,
        default=policy.default,
        projects=_infos(rows.values(), policy),
        patterns=tuple(
            PatternInfo(
                pattern=one.pattern,
                decision=one.decision,
                projects=sum(fits(one.pattern, row.project) for row in rows.values()),
            )
            for one in policy.patterns
        ),
        changed=tuple(changed),
        failed=tuple(failed),
    )


# -- what was decided


def read_policy(memory: Memory, vault: Vault, formers: Mapping[str, str] = MappingProxyType({})) -> Policy:
    """The person's decisions, the newest patterns first; of several about ids of one project the newest counts. `formers`
    are ids a project had, as `Places` finds them, that the history does not know of yet. A decision whose words have not
    arrived from another device yet waits."""
    texts = Texts(vault.store)
    decided: dict[str, Decided] = {}
    patterns: list[Pattern] = []
    for state in sorted(memory.projects.values(), key=lambda state: state.stamp, reverse=True):
        decision = _decision(state.decision)
        if decision is None:
            continue
        if not state.subject.startswith(PATTERN):
            project = memory.root_project(formers.get(state.subject, state.subject))
            decided.setdefault(project, Decided(decision=decision, by="you", to=state.to))
        elif (text := texts.get(state.text)) is not None and isinstance(words := text.header.get("pattern"), str):
            patterns.append(Pattern(subject=state.subject, pattern=words, decision=decision))
    return Policy(default=default_decision(vault), projects=decided, patterns=patterns)


def default_decision(vault: Vault) -> Decision:
    """The first vault of a machine takes every project; in a further one each waits to be asked about, because a session
    belongs to one vault."""
    for id, entry in read_registry().items():
        if id == vault.id:
            return "include"
        if _living(id, entry.path) is not None:
            return "ask"
    return "include"


def _decision(word: str) -> Decision | None:
    return word if word in _DECISIONS else None  # pyright: ignore[reportReturnType]


# -- deciding


def _by_present_ids(request: ProjectsRequest, memory: Memory) -> ProjectsRequest:
    """An id that a project had names it still."""
    return msgspec.structs.replace(
        request,
        **{
            name: tuple(map(memory.root_project, getattr(request, name)))
            for name in ("include", "exclude", "ask", "give")
        },
    )


class Choice(Struct, frozen=True, kw_only=True):
    """One line to write: `subject` is a project's id or `pattern:<digest>`, `words` what the person called it, `key` the
    project's key (empty for a pattern)."""

    subject: str
    decision: Decision
    words: str
    key: str = ""

    def for_device(self, here: str, there: str) -> Choice:
        """The same project as another vault of this machine calls it: a folder's key begins with the device id, and that
        is another one in each vault."""
        if not self.key.startswith(f"{here}:"):
            return self
        key = there + self.key.removeprefix(here)
        return msgspec.structs.replace(self, key=key, subject=project_id(key))


def plan_decisions(request: ProjectsRequest, known: Mapping[str, Project]) -> tuple[Choice, ...]:
    """Pure: the request's words as lines to write, each subject once. Raises `RequestError` for a word that fits nothing or
    stands under two decisions."""
    choices: dict[str, Choice] = {}
    asked: tuple[tuple[Decision, tuple[str, ...]], ...] = (
        ("include", request.include + request.give),
        ("exclude", request.exclude),
        ("ask", request.ask),
    )
    for decision, words in asked:
        for word in words:
            for choice in _choices(word, decision, known):
                before = choices.setdefault(choice.subject, choice)
                if before.decision != decision:
                    raise RequestError(
                        f"{word!r} is named under {before.decision} and under {decision}.", "Name it under one."
                    )
    return tuple(choices.values())


def _choices(word: str, decision: Decision, known: Mapping[str, Project]) -> Iterable[Choice]:
    if is_pattern(word):
        subject = PATTERN + sha256_hex(word.casefold().encode())[:16]
        return (Choice(subject=subject, decision=decision, words=word),)
    folder = normal_path(word)
    exact = frozenset(id for id, project in known.items() if word == project.key or folder == project.place)
    ids = exact or chosen_projects((word,), known) or frozenset()
    return tuple(Choice(subject=id, decision=decision, words=known[id].name, key=known[id].key) for id in sorted(ids))


def _write(vault: Vault, plan: Iterable[Choice], given_to: str) -> None:
    """Appends one line a choice; `given_to` names the vault that has it now when this one is to let it go. What already
    stands so is no line. Raises `Busy`, `JournalError`, `StorageError`."""
    device = adopt(vault, verb="projects").device
    make_dirs(vault.state / "locks", private=True)
    journal = open_own_journal(vault, device)
    texts = Texts(vault.store)
    known = journal.read(memory_of(journal)).projection.projects
    drafts: list[Draft] = []
    for one in plan:
        decision: Decision = "given" if given_to else one.decision
        state = known.get(one.subject)
        if state is not None and (state.decision, state.to) == (decision, given_to):
            continue
        header = {"kind": "project", "name" if one.key else "pattern": one.words}
        act = ProjectDecided(decision=decision, text=texts.put(header, b""), to=given_to)
        drafts.append(Draft(action="project_decided", subject=one.subject, data=act))
    if drafts:
        with journal.writing("projects", memory_of(journal)) as writer:
            writer.append(drafts, kind="person", surface="projects")


def _other_vaults(vault: Vault) -> list[Vault]:
    found = (_living(id, entry.path) for id, entry in read_registry().items() if id != vault.id)
    return [other for other in found if other is not None]


def _living(id: str, path: str) -> Vault | None:
    try:
        vault = open_vault(path)
    except (NoVault, OSError):
        return None
    return vault if vault.id == id else None


# -- the list


def _rows(sources: Sources, memory: Memory, places: Places, texts: Texts) -> dict[str, _Row]:
    rows: dict[str, _Row] = {}

    def row_of(project: Project) -> _Row:
        return rows.setdefault(project.id, _Row(project))

    for thread in sources.lineage.threads:
        facts = thread.speaker
        row = row_of(places.project(facts))
        row.others += len(thread.files) - 1
        if not wanted(facts):
            row.others += 1
            continue
        row.sessions += 1
        row.newest = max(row.newest, facts.ended or facts.started)
        settled = memory.sessions.get(session_key(thread, memory))
        row.pending += settled is None or not settled.outcome or gained(facts, settled)
        if row.project.place or facts.cwd:
            row.places[row.project.place or facts.cwd] = None
    for note in memory.notes.values():
        if note.written is not None and not memory.standing(note).archived and note.written.project:
            project = memory.root_project(places.formers.get(note.written.project, note.written.project))
            if project not in rows:
                text = texts.get(note.written.text)
                name = str(text.header.get("project", "")) if text else ""
                rows[project] = _Row(Project(project, project, name or project))
            rows[project].notes += 1
    return rows


def _infos(rows: Iterable[_Row], policy: Policy) -> tuple[ProjectInfo, ...]:
    infos: list[ProjectInfo] = []
    for row in rows:
        decided = policy.about(row.project)
        infos.append(
            ProjectInfo(
                id=row.project.id,
                name=row.project.name,
                key=row.project.key,
                decision=decided.decision,
                by=decided.by,
                to=decided.to,
                pattern=decided.pattern,
                sessions=row.sessions,
                pending=row.pending,
                others=row.others,
                notes=row.notes,
                newest=row.newest,
                places=tuple(row.places),
            )
        )
    return tuple(sorted(infos, key=lambda info: (-info.pending, -info.sessions, info.name, info.id)))
