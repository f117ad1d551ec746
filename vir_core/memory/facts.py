"""The projection of the journal: what is known about notes, sessions and runs.

Applying a line is order-free. Every attribute remembers the stamp that set it, and the greatest stamp
`(at, device, line hash)` wins, so that any order of reading gives the same state. What only ever grows (known digests,
holds, run tallies) is a set or keeps the greatest stamp by key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from vir_core.journal import Line
from vir_core.memory.acts import (
    Approved,
    Held,
    Lifted,
    NotesUndone,
    NoteWritten,
    ProjectDecided,
    Rejected,
    RunFinished,
    SegmentStarted,
    SessionJoined,
    SessionSettled,
)

Stamp = tuple[str, str, str]
ZERO: Stamp = ("", "", "")

Hold = Literal["suspended", "superseded", "archived", "pruned", "proposed", "unknown_act"]


class Written(Struct, frozen=True, array_like=True, gc=False):
    """What the latest `note_written` line says; `device` distilled it and alone may rewrite the file."""

    stamp: Stamp
    when: str
    device: str
    text: str
    body: str
    words: str
    category: str
    project: str
    date: str
    session: str
    run: str
    distiller: str
    confidence: float
    turns: int


class NoteState(Struct, array_like=True, gc=False):
    """`holds` maps a hold to the stamp that laid it; `waiting` counts admitting lines that no key proves."""

    id: str
    written: Written | None = None
    words: list[str] = []
    bodies: list[str] = []
    holds: dict[str, Stamp] = {}
    struck: list[str] = []
    waiting: int = 0
    undone: Stamp = ZERO
    last_verdict: Stamp = ZERO

    @property
    def archived(self) -> bool:
        """Taken back by `runs undo`, unless it was written again since."""
        return self.undone > (self.written.stamp if self.written else ZERO)

    @property
    def judged(self) -> bool:
        return self.last_verdict != ZERO


class SessionState(Struct, array_like=True, gc=False):
    """`turns` counts the person's prompts and answers that the latest outcome knew; `last` is the id of the last one."""

    key: str
    settled: Stamp = ZERO
    outcome: str = ""
    note: str = ""
    turns: int = 0
    last: str = ""
    run: str = ""
    into: str = ""
    joined: Stamp = ZERO


class RunState(Struct, array_like=True):
    id: str
    at: str = ""
    device: str = ""
    counters: dict[str, int] = {}
    finished: Stamp = ZERO
    notes: list[str] = []
    undone: int = 0


class ProjectState(Struct, array_like=True):
    """What was last decided about the projects that `subject` names: a project's id, or `pattern:<digest>`."""

    subject: str
    stamp: Stamp = ZERO
    decision: str = ""
    text: str = ""
    to: str = ""


class State(Struct):
    notes: dict[str, NoteState] = {}
    sessions: dict[str, SessionState] = {}
    runs: dict[str, RunState] = {}
    devices: dict[str, int] = {}
    newer: dict[str, str] = {}
    ignored: dict[str, int] = {}
    unreadable: int = 0
    projects: dict[str, ProjectState] = {}


# Two orders of reading give the same bytes too.
_encoder = msgspec.msgpack.Encoder(order="deterministic")
_decoder = msgspec.msgpack.Decoder(State)
_acts: dict[str, msgspec.json.Decoder[Any]] = {
    act: msgspec.json.Decoder(kind)
    for act, kind in (
        ("note_written", NoteWritten),
        ("session_settled", SessionSettled),
        ("session_joined", SessionJoined),
        ("run_finished", RunFinished),
        ("approved", Approved),
        ("rejected", Rejected),
        ("held", Held),
        ("lifted", Lifted),
        ("notes_undone", NotesUndone),
        ("project_decided", ProjectDecided),
        ("segment_started", SegmentStarted),
    )
}

# A near match waits as proposed; whatever else lays a hold stops the note.
_HOLD_OF_REASON: Mapping[str, Hold] = {"resembles": "proposed", "superseded": "superseded", "pruned": "pruned"}


def decoder_of(line: Line) -> msgspec.json.Decoder[Any] | None:
    """What reads the payload of a line; `None` for a line of a newer vir."""
    return _acts.get(line.action) if line.v == 1 else None


def hold_of(act: Held) -> Hold:
    """The hold that a `held` line lays."""
    return _HOLD_OF_REASON.get(act.reason, "suspended")


class Memory:
    """A `Projection` of journal lines. It asks nothing of the disk; `observe` sets it against the vault."""

    layout = 2

    def __init__(self) -> None:
        self.state = State()

    @property
    def notes(self) -> Mapping[str, NoteState]:
        return self.state.notes

    @property
    def sessions(self) -> Mapping[str, SessionState]:
        return self.state.sessions

    @property
    def runs(self) -> Mapping[str, RunState]:
        return self.state.runs

    @property
    def projects(self) -> Mapping[str, ProjectState]:
        """Decisions about projects, by project id or `pattern:<digest>`."""
        return self.state.projects

    @property
    def newer(self) -> Mapping[str, str]:
        """Subjects that a newer vir wrote something binding about, with the version that wrote it."""
        return self.state.newer

    def root_of(self, session: str) -> str:
        """The session that `session` was found to continue, through any number of steps; itself when none."""
        seen = {session}
        while (known := self.state.sessions.get(session)) and known.into and known.into not in seen:
            session = known.into
            seen.add(session)
        return session

    def dump(self) -> bytes:
        return _encoder.encode(self.state)

    def load(self, content: bytes) -> None:
        self.state = _decoder.decode(content)

    def apply(self, line: Line) -> None:
        self.state.devices[line.by.device] = self.state.devices.get(line.by.device, 0) + 1
        decoder = decoder_of(line)
        if decoder is None:
            self._apply_newer(line)
            return
        try:
            act = decoder.decode(line.data)
        except msgspec.MsgspecError:
            # The envelope reads and the rest does not: what it withholds must stay withheld.
            self.state.unreadable += 1
            if line.must:
                self._hold(line.subject, "unknown_act", line.stamp)
            return
        apply = getattr(self, f"_apply_{line.action}")
        apply(line, act)

    def _note(self, subject: str) -> NoteState:
        note = self.state.notes.get(subject)
        if note is None:
            note = self.state.notes[subject] = NoteState(id=subject)
        return note

    def _session(self, key: str) -> SessionState:
        session = self.state.sessions.get(key)
        if session is None:
            session = self.state.sessions[key] = SessionState(key=key)
        return session

    def _run(self, run: str) -> RunState:
        state = self.state.runs.get(run)
        if state is None:
            state = self.state.runs[run] = RunState(id=run)
        return state

    def _hold(self, subject: str, hold: str, stamp: Stamp) -> None:
        if subject.startswith("n"):
            holds = self._note(subject).holds
            holds[hold] = max(holds.get(hold, ZERO), stamp)

    def _apply_newer(self, line: Line) -> None:
        if line.must:
            self.state.newer[line.subject] = max(self.state.newer.get(line.subject, ""), line.by.core)
            self._hold(line.subject, "unknown_act", line.stamp)
        else:
            self.state.ignored[line.action] = self.state.ignored.get(line.action, 0) + 1

    def _apply_segment_started(self, line: Line, act: SegmentStarted) -> None:
        del line, act  # the journal checks it; nothing about notes is in it

    def _apply_note_written(self, line: Line, act: NoteWritten) -> None:
        note = self._note(line.subject)
        if act.words not in note.words:
            note.words.append(act.words)
            note.words.sort()
        if act.body not in note.bodies:
            note.bodies.append(act.body)
            note.bodies.sort()
        if act.run:
            run = self._run(act.run)
            if line.subject not in run.notes:
                run.notes.append(line.subject)
                run.notes.sort()
        if note.written is None or line.stamp > note.written.stamp:
            note.written = Written(
                stamp=line.stamp,
                when=line.when,
                device=line.by.device,
                text=act.text,
                body=act.body,
                words=act.words,
                category=act.category,
                project=act.project,
                date=act.date,
                session=act.session,
                run=act.run,
                distiller=act.distiller,
                confidence=act.confidence,
                turns=act.turns,
            )

    def _apply_session_settled(self, line: Line, act: SessionSettled) -> None:
        session = self._session(line.subject)
        if line.stamp > session.settled:
            session.settled = line.stamp
            session.outcome = act.outcome
            session.note = act.note
            session.turns = act.turns
            session.last = act.last
            session.run = act.run

    def _apply_session_joined(self, line: Line, act: SessionJoined) -> None:
        session = self._session(line.subject)
        if line.stamp > session.joined:
            session.joined = line.stamp
            session.into = act.into

    def _apply_run_finished(self, line: Line, act: RunFinished) -> None:
        run = self._run(line.subject)
        if line.stamp > run.finished:
            run.finished = line.stamp
            run.at = line.when
            run.device = line.by.device
            run.counters = {"written": act.written, "kept": act.kept, "unchanged": act.unchanged, "failed": act.failed}

    def _apply_approved(self, line: Line, act: Approved) -> None:
        del act  # admits: without a provable key it waits, and no key can be enrolled yet
        note = self._note(line.subject)
        note.waiting += 1

    def _apply_lifted(self, line: Line, act: Lifted) -> None:
        del act
        self._note(line.subject).waiting += 1

    def _apply_rejected(self, line: Line, act: Rejected) -> None:
        # Withholding works at once and without proof, as suspended.
        note = self._note(line.subject)
        note.last_verdict = max(note.last_verdict, line.stamp)
        if act.struck:
            note.struck = sorted({*note.struck, *act.struck})
        else:
            self._hold(line.subject, "suspended", line.stamp)

    def _apply_held(self, line: Line, act: Held) -> None:
        self._hold(line.subject, hold_of(act), line.stamp)

    def _apply_notes_undone(self, line: Line, act: NotesUndone) -> None:
        note = self._note(line.subject)
        note.undone = max(note.undone, line.stamp)
        if act.run:
            self._run(act.run).undone += 1

    def _apply_project_decided(self, line: Line, act: ProjectDecided) -> None:
        known = self.state.projects.get(line.subject)
        if known is None or line.stamp > known.stamp:
            self.state.projects[line.subject] = ProjectState(line.subject, line.stamp, act.decision, act.text, act.to)
