"""Which sessions a run takes, and why it leaves the others. Pure: facts in, a plan out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from vir_core.contract import KeptNote, RequestError, RunRequest
from vir_core.ingest.named import find_session
from vir_core.ingest.policy import Policy
from vir_core.ingest.standing import TAKEN, gained, resting, session_key, waits, wanted
from vir_core.memory import Memory, Observation, SessionState, Tombstones, duration
from vir_core.text import note_id
from vir_core.transcripts import Lineage, Project, SessionFacts, Thread


class Candidate(Struct, frozen=True, kw_only=True):
    """A session to distil. `key` is the session key that its note id is made of; `facts` are those of the file that holds
    most of it; `joins` are keys of further files of the same session that the journal does not know to be one yet;
    `forced`: a person named it."""

    key: str
    note: str
    thread: Thread
    project: Project
    joins: tuple[str, ...] = ()
    forced: bool = False

    @property
    def facts(self) -> SessionFacts:
        return self.thread.speaker


class RunPlan(Struct, frozen=True, kw_only=True):
    """`take` newest first. Every file of the lineage is in exactly one of take, kept, unchanged or skipped. `waiting` are the
    sessions that a run without any filter would take now or later, those of `take` among them."""

    take: tuple[Candidate, ...]
    kept: tuple[KeptNote, ...]
    unchanged: int
    skipped: Mapping[str, int]
    waiting: tuple[Thread, ...] = ()


def _before(now: datetime, length: timedelta) -> datetime:
    try:
        return now - length
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def moment(text: str) -> datetime | None:
    """A record's time as UTC; `None` when it is empty or not a time."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def chosen_projects(asked: Sequence[str], projects: Mapping[str, Project]) -> frozenset[str] | None:
    """The ids that `--only` or `--project` means; `None` when nothing was asked. `projects` is by id. Raises
    `RequestError` for a name that fits none, or more than one."""
    if not asked:
        return None
    chosen: set[str] = set()
    for word in asked:
        if word in projects:
            chosen.add(word)
            continue
        fits = sorted(id for id, project in projects.items() if project.name.casefold() == word.casefold())
        if len(fits) > 1:
            places = ", ".join(f"{id} ({projects[id].place or projects[id].key})" for id in fits)
            raise RequestError(f"More than one project is called {word!r}.", f"Name it by id: {places}.")
        if not fits:
            names = ", ".join(sorted({project.name for project in projects.values()})[:20]) or "none"
            raise RequestError(f"No project is called {word!r}.", f"Projects: {names}.")
        chosen.add(fits[0])
    return frozenset(chosen)


def plan_run(
    lineage: Lineage,
    memory: Memory,
    observation: Observation,
    request: RunRequest,
    *,
    project: Callable[[SessionFacts], Project],
    device: str,
    now: datetime,
    policy: Policy | None = None,
) -> RunPlan:
    """Decides for every thread. Raises `RequestError` when a filter names nothing."""
    policy = policy or Policy()
    plan = _Plan(memory.tombstones())
    drivers = TAKEN | frozenset(request.driver)
    since = _before(now, duration(request.since)) if request.since else None
    projects = {facts.path: project(facts) for thread in lineage.threads for facts in (thread.speaker,)}
    only = chosen_projects(
        tuple(map(memory.root_project, request.only)), {found.id: found for found in projects.values()}
    )
    forgotten = {name for one in memory.forgotten.values() for name in (one.subject, *one.sessions)}
    asked = {find_session(word, lineage.threads, memory)[0].key for word in request.session}
    for thread in lineage.threads:
        facts = thread.speaker
        plan.skip("copy", len(thread.files) - 1)
        key = session_key(thread, memory)
        hit = thread.key in asked
        if wanted(facts) and not policy.skips(projects[facts.path], named=True) and waits(thread, memory):
            plan.waiting.append(thread)
        if forgotten and not forgotten.isdisjoint(kin(thread, key)):
            plan.skip("forgotten")
        elif asked and not hit:
            plan.skip("not_asked")
        elif not hit and not wanted(facts, drivers):
            plan.skip(facts.driver)
        elif only is not None and projects[facts.path].id not in only:
            plan.skip("not_selected")
        elif since is not None and ((ended := moment(facts.ended)) is None or ended < since):
            plan.skip("too_old")
        else:
            left = "" if hit else policy.skips(projects[facts.path], named=only is not None)
            left = left or ("" if hit or resting(thread, now) else "active")
            _decide(plan, thread, key, projects[facts.path], memory, observation, device, forced=hit, left=left)
    return plan.done(request.limit)


def _decide(
    plan: _Plan,
    thread: Thread,
    key: str,
    project: Project,
    memory: Memory,
    observation: Observation,
    device: str,
    *,
    forced: bool,
    left: str,
) -> None:
    """`left` is why the session is left out for now; what was distilled before stays as it is."""
    facts, note = thread.speaker, note_id(key)
    settled = memory.sessions.get(key)
    if (
        settled is not None
        and settled.outcome
        and not forced
        and not gained(facts, settled)
        and not plan.freed(settled)
    ):
        if settled.outcome == "noted":
            plan.unchanged += 1
        else:
            plan.skip(settled.outcome)
        return
    if left:
        plan.skip(left)
        return
    if reason := kept_reason(note, memory, observation, device, forced=forced):
        files = observation.present.get(note) or next(iter(observation.waiting.get(note, ())), None)
        plan.kept.append(KeptNote(id=note, path=files.path if files else "", session=key, reason=reason))
        return
    joins = tuple(sorted({f.key for f in thread.files if f.key != key and memory.root_of(f.key) != key}))
    plan.take.append(Candidate(key=key, note=note, thread=thread, project=project, joins=joins, forced=forced))


def kept_reason(note: str, memory: Memory, observation: Observation, device: str, *, forced: bool) -> str:
    """Why the note of a session must not be written; empty when it may."""
    state = memory.notes.get(note)
    if note in observation.waiting:
        return "waiting"
    if state is None or state.written is None:
        return "judged" if state is not None and memory.standing(state).judged else ""
    standing = memory.standing(state)
    if standing.archived:
        return "" if forced else "undone"
    if standing.judged:
        return "judged"
    if note in observation.absent:
        return "removed"
    if note in observation.away:
        return "in_cloud"
    if note in observation.edited:
        return "edited"
    if note in observation.copies:
        return "copy"
    if observation.present[note].broken:
        return "broken"
    # Each note has one writer, or two devices would rewrite it in turn; a person who asks for it knows better.
    return "" if forced or state.written.device == device else "elsewhere"


def kin(thread: Thread, key: str) -> frozenset[str]:
    """The names of a session and of those it copies or continues, also of ones that are not here any more."""
    copied = {f"{facts.source}:{facts.forked_from}" for facts in thread.files if facts.forked_from}
    return frozenset({key, thread.key, note_id(key), *(facts.key for facts in thread.files), *copied})


class _Plan:
    def __init__(self, tombstones: Tombstones) -> None:
        self.tombstones = tombstones
        self.take: list[Candidate] = []
        self.kept: list[KeptNote] = []
        self.unchanged = 0
        self.waiting: list[Thread] = []
        self.skipped: Counter[str] = Counter()

    def freed(self, settled: SessionState) -> bool:
        """Whether something that the session's outcome left out may be written now."""
        return any(not self.tombstones.refuse((value,)) for value in settled.refused)

    def skip(self, reason: str, number: int = 1) -> None:
        if number:
            self.skipped[reason] += number

    def done(self, limit: int | None) -> RunPlan:
        ordered = sorted(self.take, key=lambda one: (one.facts.ended or one.facts.started, one.key), reverse=True)
        taken = ordered if limit is None else ordered[: max(0, limit)]
        self.skip("over_limit", len(ordered) - len(taken))
        return RunPlan(
            take=tuple(taken),
            kept=tuple(self.kept),
            unchanged=self.unchanged,
            skipped=dict(sorted(self.skipped.items())),
            waiting=tuple(self.waiting),
        )
