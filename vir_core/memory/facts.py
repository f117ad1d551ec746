"""The projection of the journal: what is known about notes, sessions and runs.

Applying a line is order-free. Every attribute remembers the stamp that set it, and the greatest stamp
`(at, device, line hash)` wins, so that any order of reading gives the same state. What only ever grows (known digests,
holds, run tallies) is a set or keeps the greatest stamp by key.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from vir_core.journal import Line
from vir_core.memory.acts import (
    Adopted,
    Approved,
    AuthorityStartedOver,
    Expired,
    Held,
    KeyEnrolled,
    KeyRevoked,
    Lifted,
    LinesGivenUp,
    NotesUndone,
    NoteWritten,
    PolicySet,
    ProjectDecided,
    Rejected,
    RunFinished,
    SegmentStarted,
    SessionJoined,
    SessionSettled,
    Superseded,
)
from vir_core.memory.shelf import Shelf
from vir_core.memory.tombstones import Laid, LessonRef, Tombstones

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
    lessons: tuple[LessonRef, ...] = ()
    parts: dict[str, tuple[str, ...]] = {}


class NoteState(Struct, array_like=True, gc=False):
    """`holds` maps a hold to the stamp that laid it; `waiting` counts admitting lines that no key proves;
    `likes` are what it was ever held beside, whatever became of that."""

    id: str
    written: Written | None = None
    words: list[str] = []
    bodies: list[str] = []
    holds: dict[str, Stamp] = {}
    struck: list[str] = []
    waiting: int = 0
    undone: Stamp = ZERO
    last_verdict: Stamp = ZERO
    likes: list[str] = []

    @property
    def archived(self) -> bool:
        """Taken back by `runs undo`, unless it was written again since."""
        return self.undone > (self.written.stamp if self.written else ZERO)

    @property
    def judged(self) -> bool:
        return self.last_verdict != ZERO


class SessionState(Struct, array_like=True, gc=False):
    """`turns` and `replies` count the person's prompts and the agent's answers that the latest outcome knew, `replies` -1
    where it did not say; `last` is the id of the last prompt."""

    key: str
    settled: Stamp = ZERO
    outcome: str = ""
    note: str = ""
    turns: int = 0
    replies: int = -1
    last: str = ""
    run: str = ""
    into: str = ""
    joined: Stamp = ZERO
    refused: tuple[str, ...] = ()


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
    """All but the two large tables."""

    runs: dict[str, RunState] = {}
    devices: dict[str, int] = {}
    newer: dict[str, str] = {}
    ignored: dict[str, int] = {}
    unreadable: int = 0
    projects: dict[str, ProjectState] = {}
    laid: dict[str, Laid] = {}


_PART = struct.Struct(">Q")

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
        ("adopted", Adopted),
        ("superseded", Superseded),
        ("expired", Expired),
        ("policy_set", PolicySet),
        ("key_enrolled", KeyEnrolled),
        ("key_revoked", KeyRevoked),
        ("authority_started_over", AuthorityStartedOver),
        ("notes_undone", NotesUndone),
        ("project_decided", ProjectDecided),
        ("segment_started", SegmentStarted),
        ("lines_given_up", LinesGivenUp),
    )
}

# A near match waits as proposed; whatever else lays a hold stops the note.
_HOLD_OF_REASON: Mapping[str, Hold] = {"resembles": "proposed", "superseded": "superseded", "pruned": "pruned"}


def decoder_of(line: Line) -> msgspec.json.Decoder[Any] | None:
    """What reads the payload of a line; `None` for a line of a newer vir."""
    return _acts.get(line.action) if line.v == 1 else None


def actions() -> frozenset[str]:
    """The actions that this version knows."""
    return frozenset(_acts)


def understands(line: Line) -> bool:
    """Whether this version knows what the line does."""
    return decoder_of(line) is not None


def hold_of(act: Held) -> Hold:
    """The hold that a `held` line lays."""
    return _HOLD_OF_REASON.get(act.reason, "suspended")


class Memory:
    """A `Projection` of journal lines. It asks nothing of the disk; `observe` sets it against the vault."""

    layout = 3

    def __init__(self) -> None:
        self.state = State()
        self._notes = Shelf(NoteState)
        self._sessions = Shelf(SessionState)
        self._same: dict[str, str] = {}
        self._tombstones: Tombstones | None = None

    @property
    def notes(self) -> Mapping[str, NoteState]:
        return self._notes

    @property
    def sessions(self) -> Mapping[str, SessionState]:
        return self._sessions

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

    def tombstones(self) -> Tombstones:
        """The rejected statements in force."""
        if self._tombstones is None:
            self._tombstones = Tombstones(self.state.laid.values())
        return self._tombstones

    def root_of(self, session: str) -> str:
        """The session that `session` was found to continue, through any number of steps; itself when none."""
        seen = {session}
        while (known := self._sessions.get(session)) and known.into and known.into not in seen:
            session = known.into
            seen.add(session)
        return session

    def dump(self) -> bytes:
        # Joined once: of a million lines this is hundreds of MB.
        pieces: list[bytes | memoryview] = [_encoder.encode(self.state)]
        sizes = [len(pieces[0])]
        for shelf in (self._notes, self._sessions):
            index, rows = shelf.dump()
            pieces.append(index.tobytes())
            pieces += rows
            sizes += (len(index) * index.itemsize, sum(map(len, rows)))
        return b"".join([*map(_PART.pack, sizes), *pieces])

    def load(self, content: bytes) -> None:
        view = memoryview(content)
        if len(view) < 5 * _PART.size:
            raise ValueError("too short")
        parts: list[memoryview] = []
        position = 5 * _PART.size
        for number in range(5):
            (size,) = _PART.unpack_from(view, number * _PART.size)
            parts.append(view[position : position + size])
            position += size
        if position != len(view):
            raise ValueError("not as long as it says")
        state = _decoder.decode(parts[0])
        self._notes, self._sessions = Shelf(NoteState, *parts[1:3]), Shelf(SessionState, *parts[3:5])
        self.state = state
        self._tombstones = None

    def apply(self, line: Line) -> None:
        device = line.by.device
        devices = self.state.devices
        devices[device] = devices.get(device, 0) + 1
        decoder = _acts.get(line.action) if line.v == 1 else None
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
        _APPLY[line.action](self, line, act)

    def _one(self, text: str) -> str:
        """The same object for equal words that many lines repeat."""
        return self._same.setdefault(text, text)

    def _stamp(self, line: Line) -> Stamp:
        return (line.at, self._one(line.by.device), line.hash)

    def _note(self, subject: str) -> NoteState:
        return self._notes.get(subject) or self._notes.put(subject, NoteState(id=subject))

    def _session(self, key: str) -> SessionState:
        return self._sessions.get(key) or self._sessions.put(key, SessionState(key=key))

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

    def _apply_lines_given_up(self, line: Line, act: LinesGivenUp) -> None:
        del line, act  # the lines are not there; that somebody said so is history, not state

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
                stamp=self._stamp(line),
                when=line.when,
                device=self._one(line.by.device),
                text=act.text,
                body=act.body,
                words=act.words,
                category=self._one(act.category),
                project=self._one(act.project),
                date=self._one(act.date),
                session=act.session,
                run=self._one(act.run),
                distiller=self._one(act.distiller),
                confidence=act.confidence,
                turns=act.turns,
                lessons=tuple([LessonRef(one.id, one.evidence, one.values) for one in act.lessons]),
                parts=act.parts,
            )

    def _apply_session_settled(self, line: Line, act: SessionSettled) -> None:
        session = self._session(line.subject)
        if line.stamp > session.settled:
            session.settled = self._stamp(line)
            session.outcome = self._one(act.outcome)
            session.note = act.note
            session.turns = act.turns
            session.replies = act.replies
            session.last = act.last
            session.run = self._one(act.run)
            session.refused = act.refused

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

    def _apply_adopted(self, line: Line, act: Adopted) -> None:
        del act
        self._note(line.subject).waiting += 1

    def _apply_superseded(self, line: Line, act: Superseded) -> None:
        del act
        self._hold(line.subject, "superseded", line.stamp)

    def _apply_expired(self, line: Line, act: Expired) -> None:
        del act
        self._hold(line.subject, "suspended", line.stamp)

    def _apply_policy_set(self, line: Line, act: PolicySet) -> None:
        del line, act

    def _apply_key_enrolled(self, line: Line, act: KeyEnrolled) -> None:
        del line, act

    def _apply_key_revoked(self, line: Line, act: KeyRevoked) -> None:
        del line, act

    def _apply_authority_started_over(self, line: Line, act: AuthorityStartedOver) -> None:
        del line, act

    def _apply_rejected(self, line: Line, act: Rejected) -> None:
        # Withholding works at once and without proof, as suspended.
        note = self._note(line.subject)
        note.last_verdict = max(note.last_verdict, line.stamp)
        if act.values:
            self._tombstones = None
            lessons = tuple(sorted({*act.lessons, *act.struck}))
            self.state.laid[line.hash] = Laid(
                line.hash, line.subject, act.reason, act.values, lessons, act.text, line.when
            )
        if act.struck:
            note.struck = sorted({*note.struck, *act.struck})
        else:
            self._hold(line.subject, "suspended", line.stamp)

    def _apply_held(self, line: Line, act: Held) -> None:
        if act.like and line.subject.startswith("n"):
            note = self._note(line.subject)
            note.likes = sorted({*note.likes, act.like})
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


# By action: looked up once a line, a hundred thousand times a replay.
_APPLY: dict[str, Callable[[Memory, Line, Any], None]] = {act: getattr(Memory, f"_apply_{act}") for act in _acts}
