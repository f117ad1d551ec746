"""Replies in words for a person on a terminal. What came from a transcript is shown without control characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vir_core.contract import (
    ArchiveStatus,
    DoctorReply,
    EmbeddingStatus,
    Explained,
    FlagReply,
    ForgetReply,
    HistoryEntry,
    HistoryReply,
    IndexReply,
    InitReply,
    JournalReply,
    KeptNote,
    NotePage,
    ProjectInfo,
    ProjectsReply,
    QueriesReply,
    QueryReply,
    QueueItem,
    Reply,
    Request,
    ReviewReply,
    RunReply,
    RunsReply,
    RunsRequest,
    SchemaReply,
    SessionsReply,
    UninstallReply,
)
from vir_core.text import clean

DRIVER_WORDS: Mapping[str, str] = {
    "human": "you",
    "plan_handoff": "a plan you handed over",
    "automated": "a machine typing",
    "headless": "scripts (claude -p, codex exec)",
    "subagent": "subagents",
    "workflow": "workflows",
    "teammate": "agent teammates",
    "compaction": "compaction helpers",
    "observer": "memory tools",
    "internal": "the agent itself",
    "empty": "nobody (opened and closed)",
}
SKIP_WORDS: Mapping[str, str] = {
    "copy": "copies of a session already counted",
    "nothing_durable": "held nothing worth keeping",
    "not_selected": "belong to other projects",
    "refused": "say only what you rejected before",
    "forgotten": "were forgotten",
    "too_old": "ended before --since",
    "over_limit": "wait for the next run (--limit)",
    "not_asked": "were not asked for (--session)",
    "not_a_session": "are not sessions",
    "excluded": "belong to projects you left out",
    "undecided": "wait for you to decide about their project (vir_core projects)",
    "given": "belong to projects that another vault has",
    "active": "are still going on; a run takes them when they have rested for ten minutes",
}
STATE_WORDS: Mapping[str, str] = {"gone": "its file is gone; what was kept of it stays"}
KEPT_WORDS: Mapping[str, str] = {
    "edited": "you changed it",
    "judged": "you judged it",
    "removed": "you removed it",
    "undone": "its run was taken back",
    "waiting": "its history from another device has not arrived",
    "copy": "it lies in the vault twice",
    "broken": "its properties cannot be read",
    "elsewhere": "another device wrote it",
    "linked": "another note links to it",
    "in_cloud": "it is still in the cloud",
    "older": "an earlier run wrote it too",
    "unsaved": "the file changed while it was being written",
}
EXCLUDED_WORDS: Mapping[str, str] = {
    "proposed": "waiting for another look",
    "suspended": "waiting for another look",
    "rejected": "rejected",
    "superseded": "put away",
    "archived": "put away",
    "pruned": "put away",
    "struck": "in a lesson that was taken out",
    "changed": "in a passage that is not there any more",
    "absent": "in a note that is gone",
    "unknown": "waiting for the history of another device",
}


SHORT = 8
"""Letters of a session's id that a list shows, where they tell it from every other."""


def show(verb: str, request: Request, reply: Reply) -> str:
    """What `reply` says, for a person."""
    if isinstance(reply, RunsReply) and isinstance(request, RunsRequest) and request.undo:
        return _undone(reply)
    return _SHOWN[verb](reply)


def line(text: str) -> str:
    """Words from a session or a path, on one line and without anything that a terminal would obey."""
    return clean(text).replace("\n", " ")


def size(amount: float) -> str:
    """Bytes as a person reads them."""
    for unit in ("bytes", "KB", "MB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "bytes" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GB"


def count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def counts(table: Mapping[str, int], words: Mapping[str, str]) -> list[str]:
    """One line for each entry, largest first."""
    ordered = sorted(table.items(), key=lambda item: (-item[1], item[0]))
    return [f"  {number:>6}  {_skip(words, name)}" for name, number in ordered]


def _skip(words: Mapping[str, str], name: str) -> str:
    if name in words:
        return words[name]
    return DRIVER_WORDS.get(name, name.replace("_", " "))


def _init(reply: InitReply) -> str:
    lines = [f"Your vault is ready: {line(reply.vault)}", f"Notes will be written to {line(reply.folder)}/ in it."]
    lines += [f"  made {line(path)}" for path in reply.created]
    lines += [f"Note: {line(notice)}" for notice in reply.notices]
    lines += ["", f"Next:  vir_core run --vault {_quoted(reply.vault)}"]
    return "\n".join(lines)


def _run(reply: RunReply) -> str:
    lines: list[str] = []
    for note in reply.written:
        waits = "  (waits for you: it resembles something you rejected)" if note.resembles else ""
        lines.append(f"  {line(note.path)}{waits}")
    if reply.dry_run:
        lines += [f"  {line(item.project)}: {line(item.title)}" for item in reply.planned]
        lines.append(f"{count(len(reply.planned), 'session')} would be read. Nothing was written.")
    elif reply.written:
        lines.append(f"{count(len(reply.written), 'note')} written to {line(reply.folder)}/ in {line(reply.vault)}.")
    else:
        lines.append("Nothing new.")
    lines += [f"  waits for you: {line(note.path)} (it resembles something you rejected)" for note in reply.held]
    if reply.refused:
        lines.append(f"  left out: {count(reply.refused, 'lesson')} that you rejected before")
    lines += _kept(reply.kept)
    if reply.skipped:
        lines += [
            "Not taken:",
            *counts(reply.skipped, {**SKIP_WORDS, **{k: f"driven by {v}" for k, v in DRIVER_WORDS.items()}}),
        ]
    lines += _failed(reply.failed)
    if reply.embedding and reply.embedding.waiting:
        lines.append(_waiting(reply.embedding))
    return "\n".join(lines)


def _waiting(embedding: EmbeddingStatus) -> str:
    waiting = f"{count(embedding.waiting, 'passage')} can be found by words only for now"
    if embedding.why:
        return f"{waiting}: {clean(embedding.why)}"
    return f"{waiting}; the next runs go on with it, or `vir_core index embed` finishes it."


def _kept(kept: Iterable[KeptNote]) -> list[str]:
    """By name where there are few; what a person did to their own notes is theirs to know and is only counted."""
    notes = list(kept)
    named = [note for note in notes if note.path and note.reason not in ("edited", "removed")]
    lines = [f"  left as it is: {clean(note.path)} ({KEPT_WORDS.get(note.reason, note.reason)})" for note in named[:20]]
    rest: dict[str, int] = {}
    for note in notes:
        if note not in named[:20]:
            rest[note.reason] = rest.get(note.reason, 0) + 1
    lines += [
        f"  left as they are: {count(number, 'note')} ({KEPT_WORDS.get(why, why)})"
        for why, number in sorted(rest.items())
    ]
    return lines


def _failed(failed: Iterable[Any]) -> list[str]:
    lines = [f"  {line(failure.path)}: {line(failure.message)}" for failure in failed]
    return ["These could not be done, the rest was:", *lines] if lines else []


def _undone(reply: RunsReply) -> str:
    first = f"{count(len(reply.undone), 'note')} put away in {line(reply.folder)}/store/archived/."
    if not reply.undone:
        first = "Nothing was taken back." if reply.kept or reply.failed else "There is nothing left to take back."
    return "\n".join([first, *_kept(reply.kept), *_failed(reply.failed)])


FORGOTTEN_WORDS: Mapping[str, str] = {
    "note": "note",
    "put_away": "note that was put away",
    "texts": "kept words",
    "spool": "note being written",
    "archive": "copy of the session",
    "questions": "answered questions",
    "cache": "made anew from what is left",
}


def _forgotten(reply: ForgetReply) -> str:
    first = "Forgotten. These held it:" if reply.done else "These hold it:"
    lines = [first if reply.places else "Nothing on this computer holds it any more."]
    for place in reply.places:
        number = f", {place.count}" if place.count > 1 else ""
        lines.append(f"  {line(place.path)} ({FORGOTTEN_WORDS.get(place.kind, place.kind)}{number})")
    lines.append("vir cannot reach:")
    lines += [f"  {line(sentence)}" for sentence in reply.unreachable]
    if not reply.done:
        lines.append("Nothing was destroyed. Run it in a terminal of your own to be asked.")
    return "\n".join(lines)


def _runs(reply: RunsReply) -> str:
    if not reply.runs:
        return "No run has written anything yet."
    lines = ["run               when                  notes  taken back"]
    lines += [
        f"{run.id:<17} {run.at[:16].replace('T', ' '):<21} {run.written:>5}  {run.undone:>10}" for run in reply.runs
    ]
    return "\n".join([*lines, "", "Take one back:  vir_core runs undo ID"])


TURN_WORDS: Mapping[str, str] = {
    "prompt": "typed by you",
    "queued": "typed by you while the agent was busy",
    "left": "of these in a branch that you went back from",
    "answer": "your answers to its questions",
    "refusal": "your words when you refused something",
    "command": "slash and ! commands",
    "task": "tasks that another agent or a program wrote",
    "plan": "plans you handed over",
    "interrupt": "times you stopped it",
    "assistant": "said by the agent",
    "tool_call": "things it ran",
    "tool_result": "results",
    "error": "errors",
    "injected": "put in by programs: reminders, hooks, summaries",
}


def _explained(page: Explained) -> str:
    """One session as a page: what, why, which lines, what would change it."""
    info = page.session
    when = " to ".join(part[:16].replace("T", " ") for part in (info.started, info.ended) if part) or "no date"
    lines = [line(page.what), ""]
    lines += [f"session   {line(page.key)}", f"file      {line(info.path) or 'gone'}"]
    lines += [f"          {line(path)}" for path in page.files if path != info.path]
    lines += [f"project   {line(info.project)}  ({line(info.cwd) or 'no folder recorded'})", f"when      {when}"]
    state = STATE_WORDS.get(info.state) or info.reason or info.state
    lines.append(f"standing  {SKIP_WORDS.get(state, DRIVER_WORDS.get(state, state))}")
    if page.note:
        lines.append(f"note      {line(page.note)}")
    if page.archived:
        lines.append(f"copy      {line(page.archived)}")
    if page.parent:
        lines.append(f"started by {line(page.parent)}")
    if page.follows:
        lines.append(f"its plan was made in {line(page.follows)}")
    if page.children:
        lines.append(
            f"{count(len(page.children), 'helper')}: {line(', '.join(page.children[:4]))}{' …' if len(page.children) > 4 else ''}"
        )
    lines += ["", "Why:", *(f"  - {line(why)}" for why in page.why)]
    if page.lines:
        lines += ["", "Lines that say so:"]
        lines += [f"  {one.n:>6}  {line(one.says)}" + (f": {line(one.text)}" if one.text else "") for one in page.lines]
    if page.turns:
        words = (
            TURN_WORDS
            if info.driver in ("human", "plan_handoff")
            else {**TURN_WORDS, "prompt": "prompts", "queued": "queued prompts"}
        )
        lines += ["", "In it:", *counts(page.turns, words)]
    if page.tokens:
        lines += ["", "Tokens: " + ", ".join(f"{number:,} {what}" for what, number in page.tokens.items())]
    lines += ["", "What would change it:", *(f"  - {line(change)}" for change in page.changes)]
    return "\n".join(lines)


DECISION_WORDS: Mapping[str, str] = {
    "include": "read",
    "exclude": "left out",
    "ask": "waits for you",
    "given": "in another vault",
}


def _projects(reply: ProjectsReply) -> str:
    if not reply.projects:
        return "\n".join(["No sessions were found, so there are no projects yet.", *_failed(reply.failed)])
    yours = [info for info in reply.projects if info.sessions or info.notes or info.by == "you"]
    named = Counter(info.name.casefold() for info in yours)
    lines = [f"{'project':<28} {'sessions':>8} {'to read':>8} {'notes':>6}  decision"]
    for info in yours:
        lines.append(_project(info))
        if named[info.name.casefold()] > 1:
            lines.append(f"  {info.id}  {line(info.places[0] if info.places else info.key)}")
    if others := len(reply.projects) - len(yours):
        lines.append(f"{count(others, 'more', 'more')} with sessions of scripts and agents only.")
    if reply.patterns:
        lines += ["", "Patterns:"]
        lines += [
            f"  {line(one.pattern)}: {DECISION_WORDS[one.decision]} ({count(one.projects, 'project')})"
            for one in reply.patterns
        ]
    if reply.default == "ask":
        lines += ["", "This is not the first vault of this machine, so every project waits until you include it here."]
    lines += ["", "Decide:  vir_core projects include|exclude|ask NAME   (notes that exist stay as they are)"]
    return "\n".join([*lines, *_failed(reply.failed)])


def _project(info: ProjectInfo) -> str:
    how = DECISION_WORDS[info.decision]
    if info.by == "pattern":
        how += f" (pattern {line(info.pattern)})"
    elif info.by == "you":
        how += " (you decided)"
    return f"{line(info.name)[:28]:<28} {info.sessions:>8} {info.pending:>8} {info.notes:>6}  {how}"


def _sessions(reply: SessionsReply) -> str:
    if reply.explained is not None:
        return "\n".join([_explained(reply.explained), *_failed(reply.failed)])
    lines: list[str] = []
    short = short_ids(item.session for item in reply.sessions)
    width = max(map(len, short.values()), default=0)
    for item in reply.sessions:
        when = (item.ended or item.started)[:16].replace("T", " ") or "no date"
        what = DRIVER_WORDS.get(item.driver, item.driver)
        state = STATE_WORDS.get(item.state) or item.reason or item.state
        lines.append(
            f"{when}  {line(short[item.session]):<{width}}  {item.source:<6} {line(item.project)[:24]:<24} {item.human_turns:>4} prompts  {what} ({item.certainty})  {SKIP_WORDS.get(state, state)}"
        )
    lines.append(f"{count(len(reply.sessions), 'session file')}.")
    if reply.sessions:
        lines.append("Why one counts as what it counts:  vir_core sessions explain ID")
    return "\n".join([*lines, *_failed(reply.failed)])


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """For each id as many letters, eight or more, as no other one begins with."""
    ordered = sorted(set(ids))
    short: dict[str, str] = {}
    for before, id, after in zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False):
        size = SHORT
        while size < len(id) and id[:size] in (before[:size], after[:size]):
            size += 1
        short[id] = id[:size]
    return short


def _query(reply: QueryReply) -> str:
    lines: list[str] = []
    for hit in reply.hits:
        about = " · ".join(part for part in (hit.category, line(hit.project), hit.date) if part)
        words = [f"  {line(part)}" for part in hit.text.split("\n\n")] if hit.text else [f"  {line(hit.snippet)}"]
        lines += [line(hit.title), f"  {about}", *words, f"  {line(hit.path)}  ({hit.id})", ""]
    if not reply.hits:
        lines.append("Nothing found.")
    hidden = sum(reply.excluded.values())
    if hidden:
        reasons: dict[str, int] = {}
        for why, number in sorted(reply.excluded.items()):
            words = EXCLUDED_WORDS.get(why, why.replace("_", " "))
            reasons[words] = reasons.get(words, 0) + number
        left = ", ".join(f"{number} {words}" for words, number in reasons.items())
        lines.append(f"{count(hidden, 'more match', 'more matches')} left out: {left}.")
    if reply.truncated:
        lines.append(f"Cut to fit: {count(reply.truncated, 'answer')}. --budget 0 shows all.")
    if reply.degraded:
        lines.append(f"Not as good as it could be: {line(reply.degraded)}.")
    return "\n".join(lines).rstrip()


def _queries(reply: QueriesReply) -> str:
    if not reply.questions:
        nothing = "No question is on record." if reply.recorded else "Questions are not recorded in this vault."
        return nothing if not reply.silent else f"{nothing} {count(reply.silent, 'note')} could be found."
    lines = [f"{count(reply.questions, 'question')} since {(reply.since or 'today')[:10]}."]
    if not reply.recorded:
        lines.append("Questions are not recorded any more.")
    if reply.asked:
        lines += ["", "Asked:"]
    for one in reply.asked:
        about = " · ".join(line(part) for part in (one.agent or one.surface, one.where, one.session) if part)
        found = count(len(one.notes), "note")
        words = line(one.text)[:100] or one.verb
        lines += [f"  {one.at[:16].replace('T', ' ')}  {words}", f"                    {found} · {about}"]
    if reply.unanswered:
        lines += ["", "Never found:"]
        lines += [f"  {one.times:>4}  {line(one.text)[:100]}" for one in reply.unanswered]
    if reply.shown:
        lines += ["", "Shown most:"]
        lines += [f"  {line(one.title) or one.id}  ({line(one.words)})" for one in reply.shown]
    if reply.silent:
        lines += ["", f"Never shown: {count(reply.silent, 'note')}."]
        lines += [f"  {line(one.title) or one.id}" for one in reply.never[:5]]
    return "\n".join(lines)


def _doctor(reply: DoctorReply) -> str:
    lines = [f"vir {reply.version}  (Python {reply.python})"]
    if reply.vault:
        states = ", ".join(f"{number} {state.lower()}" for state, number in sorted(reply.vault.states.items()))
        lines.append(f"vault     {line(reply.vault.path)}  ({line(reply.vault.folder)}/)")
        lines.append(f"notes     {count(reply.vault.notes, 'note')}" + (f": {states}" if states else ""))
        if reply.vault.removed:
            lines.append(f"          {count(reply.vault.removed, 'note')} removed by you")
    if reply.index:
        lines.append(f"search    {reply.index.state}, {count(reply.index.passages, 'passage')}")
    for source in reply.sources:
        age = f", oldest {source.oldest_days:.0f} days" if source.oldest_days is not None else ""
        if source.days_left is not None:
            age += f"; {source.waiting} not read yet, deleted in {source.days_left:.0f} days at the earliest"
        lines.append(
            f"{source.source:<9} {line(source.path)}: "
            + (f"{count(source.files, 'file')}{age}" if source.found else "not found")
        )
    if reply.archive and (reply.archive.sessions or reply.archive.keep in ("1y", "forever")):
        lines.append(f"copies    {_copies(reply.archive)}")
    lines.append(f"last run  {(reply.last_run or 'never')[:16].replace('T', ' ')}")
    if not reply.problems:
        lines.append("No problems.")
    for problem in reply.problems:
        lines += ["", f"! {line(problem.what)}", f"  why: {line(problem.why)}", f"  fix: {line(problem.fix)}"]
    return "\n".join(lines)


REASON_WORDS: Mapping[str, str] = {
    "flagged": "flagged",
    "marked": "you called it wrong in its properties",
    "rejected": "rejected by somebody without a key",
    "resembles": "much like something you rejected",
    "edited": "changed since you approved it",
    "revision": "a newer version waits",
    "disagreed": "judged differently on two devices",
    "newer": "a newer vir decided something about it",
    "suspended": "held back",
    "flood": "many notes flagged from one place at once; they stay in service until you decide",
}


def _flag(reply: FlagReply) -> str:
    lines = [f"Out of every answer until you have looked at it: {line(reply.title) or reply.id}"]
    if not reply.withheld:
        lines = [
            f"Noted, and left in service: {reply.together} notes were flagged from one place in a day,",
            "which is one question for you now: vir_core review queue",
        ]
    lines += [f"  still stands in {line(path)}" for path in reply.still_published]
    return "\n".join([*lines, *_failed(reply.failed)])


def _review(reply: ReviewReply) -> str:
    lines: list[str] = []
    if reply.note is not None:
        return "\n".join(page(reply.note))
    if reply.action == "queue":
        return "\n".join(_queue(reply))
    for one in reply.done:
        name = line(one.title) or one.id
        lines.append(f"{one.state or 'Done'}: {name}" + ("" if one.final else "  (not proven by your key)"))
    lines += [f"Left as it is: {one.id}: {line(one.message)}" for one in reply.refused]
    for key in reply.keys:
        where = ", here" if key.here else ""
        lines.append(f"{key.kind} key {key.id}{where}" + ("" if key.valid else ", revoked"))
        if key.words:
            lines.append(f"  its six words: {key.words}")
        if key.code:
            lines += [f"  your recovery code: {key.code}", "  Write it down now. It is shown this once."]
    lines += [f"  still stands in {line(path)}" for path in reply.still_published]
    lines += [line(notice) for notice in reply.notices]
    return "\n".join([*lines, *_failed(reply.failed)]) or "Nothing to do."


def _queue(reply: ReviewReply) -> list[str]:
    lines = [
        ", ".join(f"{number} {state.lower()}" for state, number in sorted(reply.counts.items())) or "No notes yet."
    ]
    if reply.waiting:
        lines.append(f"{count(reply.waiting, 'note needs', 'notes need')} another look.")
    lines += [line(notice) for notice in reply.notices]
    for item in reply.items:
        lines += ["", *queued(item)]
    if reply.total > reply.offset + len(reply.items):
        lines += ["", f"{reply.total - reply.offset - len(reply.items)} more."]
    if reply.items:
        lines += ["", "Look at one:  vir_core review show ID"]
    return lines


def queued(item: QueueItem) -> list[str]:
    """One place of the queue, in a few lines."""
    if item.notes:
        return [f"{count(len(item.notes), 'note')} from {line(item.origin)}", f"  {REASON_WORDS['flood']}"]
    about = " · ".join(part for part in (item.id, item.category, line(item.project), item.date) if part)
    lines = [line(item.title) or item.id, f"  {about}"]
    if item.reasons:
        lines.append("  " + "; ".join(REASON_WORDS.get(why, why.replace("_", " ")) for why in item.reasons))
    if item.shown:
        lines.append(f"  shown {count(item.shown, 'time')}, last {item.last_shown[:10]}")
    return lines


def page(note: NotePage, *, evidence: bool = True, history: bool = True) -> list[str]:
    """One note with all that is known of it."""
    about = " · ".join(part for part in (note.category, line(note.project), note.date) if part)
    lines = [line(note.title) or note.id, f"  {about}", f"  {note.state}, {line(note.path) or 'no file in the vault'}"]
    for hold in note.holds:
        why = f": {line(hold.why)}" if hold.why else ""
        who = f" by {line(hold.origin)}" if hold.origin else ""
        lines.append(f"  ! {REASON_WORDS.get(hold.reason, hold.reason)}{who}{why}  ({hold.at[:10]})")
    lines += ["", *(clean(one) for one in note.words.split("\n"))]
    if note.approved:
        lines += ["", "Approved were these words:", *(f"  {clean(one)}" for one in note.approved.split("\n"))]
    if evidence:
        lines += _evidence(note)
    for one in note.similar:
        lines += ["", f"Much like {one.id}: {line(one.title)}", f"  {line(one.snippet)}"]
    if note.shown:
        lines += ["", f"Shown {count(note.shown, 'time')}, last {note.last_shown[:10]}."]
    lines += [f"Stands in {line(path)}" for path in note.published]
    if history:
        lines += ["", *(_event(entry) for entry in note.history)]
    return lines


def _evidence(note: NotePage) -> list[str]:
    lines: list[str] = []
    for number, lesson in enumerate(note.lessons, start=1):
        taken = "  (taken out)" if lesson.struck else ""
        lines += ["", f"{number}. {line(lesson.lead)}{taken}  #{lesson.id}"]
        if lesson.quote:
            lines.append(f"   “{line(lesson.quote)}”")
        lines += [f"   {turn.who}: {line(turn.text)}" for turn in lesson.around]
    return lines


def _event(entry: HistoryEntry) -> str:
    return f"{entry.at[:16].replace('T', ' ')}  {clean(entry.words)}  [{clean(entry.surface)}, {entry.device[:6]}]"


KEEP_WORDS: Mapping[str, str] = {
    "": "no new ones are made",
    "off": "no new ones are made",
    "1y": "kept for a year",
    "forever": "kept for ever",
}


def _copies(archive: ArchiveStatus) -> str:
    held = f"{count(archive.sessions, 'session')}, {size(archive.bytes)}"
    if archive.oldest_days is not None:
        held += f", oldest {archive.oldest_days:.0f} days"
    return f"{line(archive.path)}: {held} ({KEEP_WORDS[archive.keep]})"


def _history(reply: HistoryReply) -> str:
    lines: list[str] = []
    for entry in reply.entries:
        when = entry.at[:16].replace("T", " ")
        where = f"  [{clean(entry.surface)}, {entry.device[:6]}]"
        lines.append(f"{when}  {clean(entry.words)}{where}")
        if entry.title:
            lines.append(f"                  “{clean(entry.title)}”")
        if entry.text:
            lines += [f"                  {clean(line)}" for line in _beginning(entry.text)]
    if reply.trust:
        from vir_core.memory import PLAIN

        lines += ["", f"Now: {PLAIN[reply.trust]}."]
    return "\n".join(lines)


def _beginning(text: str, most: int = 12) -> list[str]:
    """What a person reads of a note's body: not the folded boxes below it."""
    kept = [line for line in text.split("\n") if line.strip() and not line.startswith(">")]
    return kept[:most] + (["…"] if len(kept) > most else [])


def _journal(reply: JournalReply) -> str:
    lines = [f"{count(reply.lines, 'entry', 'entries')} from {count(reply.devices, 'device')}, {size(reply.bytes)}"]
    if reply.given_back or reply.completed:
        lines.append(f"put back: {reply.given_back + reply.completed}")
    if reply.given_up:
        lines.append(f"given up: {reply.given_up}")
    if reply.others:
        lines.append(
            f"{count(reply.others, 'entry', 'entries')} of other devices only this machine has; let those devices sync."
        )
    if reply.waiting:
        lines.append(clean(reply.waiting))
    for finding in reply.findings:
        place = f"  ({finding.file})" if finding.file else ""
        lines.append(f"  {'!' if finding.harm else '-'} {clean(finding.words)}{place}")
    lines.append("Everything is as it was written." if reply.sound else "Something is not as it was written.")
    return "\n".join(lines)


def _uninstall(reply: UninstallReply) -> str:
    if not reply.items:
        return "\n".join(_failed(reply.failed)) or "vir wrote nothing outside your vaults."
    lines = ["Removed:" if all(item.removed for item in reply.items) else "Outside your vaults vir wrote:"]
    for item in reply.items:
        lines.append(
            f"  {size(item.bytes):>10}  {line(item.path)}  ({line(item.what)})"
            + (f"  {item.loss}" if item.loss else "")
        )
    if not any(item.removed for item in reply.items):
        lines += ["", "Remove all of it:  vir_core uninstall --apply", "Your vaults are not touched."]
    return "\n".join([*lines, *_failed(reply.failed)])


def _schema(reply: SchemaReply) -> str:
    if reply.drifted:
        return "These files differ from the contract; run `vir_core schema`:\n" + "\n".join(
            f"  {path}" for path in reply.drifted
        )
    return "\n".join([f"wrote {path}" for path in reply.written]) or "Everything is as the contract says."


def _quoted(path: str) -> str:
    path = line(path)
    return f'"{path}"' if " " in path else path


_INDEX_WORDS = {
    "ready": "ready",
    "missing": "not there; the next question or run makes it",
    "stale": "of another version; the next question or run makes it anew",
    "unreadable": "damaged; the next question or run makes it anew",
}


def _index(reply: IndexReply) -> str:
    lines = [f"The search index is {_INDEX_WORDS.get(reply.state, reply.state)}."]
    if reply.state == "ready":
        lines.append(f"  {count(reply.passages, 'passage')}, {size(reply.bytes)}")
    if reply.was != reply.state:
        lines.append(f"  It was {_INDEX_WORDS.get(reply.was, reply.was).partition(';')[0]}, and was made anew.")
    if reply.embedding is None:
        lines.append("  Notes are found by their words only: meaning is switched off.")
    else:
        lines.append(f"  by meaning: {line(reply.embedding.model)}")
        if reply.embedding.waiting:
            lines.append(f"  {_waiting(reply.embedding)}")
        elif reply.embedding.why:
            lines.append(f"  {clean(reply.embedding.why)}")
    return "\n".join(lines)


_SHOWN: Mapping[str, Callable[[Any], str]] = {
    "init": _init,
    "run": _run,
    "runs": _runs,
    "sessions": _sessions,
    "projects": _projects,
    "query": _query,
    "related": _query,
    "recent": _query,
    "queries": _queries,
    "doctor": _doctor,
    "flag": _flag,
    "review": _review,
    "forget": _forgotten,
    "history": _history,
    "index": _index,
    "journal": _journal,
    "uninstall": _uninstall,
    "schema": _schema,
}
