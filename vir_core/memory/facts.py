"""The projection of the journal: what is known about notes, sessions and runs.

Applying a line is order-free. Every attribute remembers the stamp that set it, and the greatest stamp
`(at, device, line hash)` wins, so that any order of reading gives the same state. What only ever grows (known digests,
holds, run tallies) is a set or keeps the greatest stamp by key.
"""

from __future__ import annotations

import struct
from bisect import insort
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from vir_core.authority import KINDS, AnyKey, Checked, Enrolment, Keys, Revocation, Verifier, read_pin, stand
from vir_core.contract import Trust
from vir_core.journal import Journal, Line
from vir_core.machine import MachineError
from vir_core.memory.acts import (
    Adopted,
    Approved,
    AuthorityStartedOver,
    Expired,
    FlagNoted,
    Forgotten,
    Held,
    KeyEnrolled,
    KeyRevoked,
    Lifted,
    LinesGivenUp,
    NotesUndone,
    NoteWritten,
    PolicySet,
    ProjectDecided,
    ProjectJoined,
    Rejected,
    RunFinished,
    SegmentStarted,
    SessionJoined,
    SessionSettled,
    Superseded,
    TombstoneLifted,
)
from vir_core.memory.shelf import Shelf
from vir_core.memory.standing import UNJUDGED, UNSET, Claim, Setting, Standing, resolve, setting
from vir_core.memory.time import Span, is_day, today
from vir_core.memory.tombstones import Laid, LessonRef, Tombstones
from vir_core.memory.trust import SERVED, trust_on

Stamp = tuple[str, str, str]
ZERO: Stamp = ("", "", "")

Hold = Literal["suspended", "superseded", "archived", "pruned", "proposed", "unknown_act"]
_Key = TypeVar("_Key", Enrolment, Revocation)


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
    """`recorded` is the first stamp at which it was written; `claims` are the lines that judge it, in the order of their
    stamps. What they come to depends on which keys count: ask `Memory.standing`."""

    id: str
    written: Written | None = None
    words: list[str] = []
    bodies: list[str] = []
    claims: list[Claim] = []
    recorded: str = ""


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


class ForgottenState(Struct, array_like=True, frozen=True, gc=False):
    """What one line forgot; see `Forgotten`. `proof` is there when its signature is good, whoever's it is."""

    line: str
    at: str
    subject: str
    values: tuple[str, ...]
    texts: tuple[str, ...]
    sessions: tuple[str, ...]
    proof: Checked | None = None


class Joined(Struct, array_like=True):
    """What an id was last said to be part of."""

    stamp: Stamp = ZERO
    into: str = ""


class State(Struct):
    """All but the two large tables. `laid` is what lines rejected as statements and `forgotten` what they forgot, by line
    hash. `others` are the claims about subjects that are no notes (policies, rules), `heirs` the notes that a line says
    another note holds instead of, by that other note. `unproven_keys` counts lines about keys whose signature is not good."""

    runs: dict[str, RunState] = {}
    devices: dict[str, int] = {}
    newer: dict[str, str] = {}
    ignored: dict[str, int] = {}
    unreadable: int = 0
    projects: dict[str, ProjectState] = {}
    joined: dict[str, Joined] = {}
    others: dict[str, list[Claim]] = {}
    heirs: dict[str, list[str]] = {}
    enrolments: list[Enrolment] = []
    revocations: list[Revocation] = []
    unproven_keys: int = 0
    laid: dict[str, Laid] = {}
    forgotten: dict[str, ForgottenState] = {}


REVIEW_FIRST = "review_first"
REVIEW_POLICY = f"policy:{REVIEW_FIRST}"

_MOST_SEEN = 30_000

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
        ("flag_noted", FlagNoted),
        ("lifted", Lifted),
        ("tombstone_lifted", TombstoneLifted),
        ("forgotten", Forgotten),
        ("adopted", Adopted),
        ("superseded", Superseded),
        ("expired", Expired),
        ("policy_set", PolicySet),
        ("key_enrolled", KeyEnrolled),
        ("key_revoked", KeyRevoked),
        ("authority_started_over", AuthorityStartedOver),
        ("notes_undone", NotesUndone),
        ("project_decided", ProjectDecided),
        ("project_joined", ProjectJoined),
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


def likes_of(note: NoteState) -> frozenset[str]:
    """What a note was ever held beside as resembling it, whatever became of that."""
    return frozenset(claim.other for claim in note.claims if claim.act == "held" and claim.reason == "resembles")


class Memory:
    """A `Projection` of journal lines. It asks nothing of the disk; `observe` sets it against the vault.

    `vaults` are the ids this vault has or had and `root` the public key that this device trusts; see `memory_of`. Neither is
    part of what is dumped, so a checkpoint holds whoever is trusted. Without them no proof counts.
    """

    layout = 4

    def __init__(self, vaults: Collection[str] = (), root: str = "") -> None:
        self.state = State()
        self._vaults = frozenset(vaults)
        self._root = root
        self._verifier = Verifier()
        self._keys: Keys | None = None
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

    def root_project(self, project: str) -> str:
        """The id that a project goes by now, through any number of steps; itself when it never had another."""
        seen = {project}
        while (known := self.state.joined.get(project)) and known.into and known.into not in seen:
            project = known.into
            seen.add(project)
        return project

    def kin_of_project(self, project: str) -> frozenset[str]:
        """Every id that the same project has or had: notes keep the one they were written under."""
        root = self.root_project(project)
        return frozenset({project, root, *(old for old in self.state.joined if self.root_project(old) == root)})

    def root_of(self, session: str) -> str:
        """The session that `session` was found to continue, through any number of steps; itself when none."""
        seen = {session}
        while (known := self._sessions.get(session)) and known.into and known.into not in seen:
            session = known.into
            seen.add(session)
        return session

    @property
    def vaults(self) -> frozenset[str]:
        """The ids this vault has or had."""
        return self._vaults

    @property
    def root(self) -> str:
        """The public key (hex) that this device trusts; empty when it trusts none."""
        return self._root

    @property
    def keys(self) -> Keys:
        """The keys that count here."""
        if self._keys is None:
            self._keys = stand(self.state.enrolments, self.state.revocations, root=self._root, vaults=self._vaults)
        return self._keys

    def standing(self, subject: str | NoteState) -> Standing:
        """What the lines that judge a note, or anything else with an id, come to."""
        if isinstance(subject, NoteState):
            note: NoteState | None = subject
        else:
            note = self._notes.get(subject)
            if note is None:
                others = self.state.others.get(subject)
                return resolve(others, self.keys) if others else UNJUDGED
        standing = self._judged(note)
        tombstones = self.tombstones()
        if not tombstones or note.written is None:
            return standing
        return tombstones.over(standing, note.id, note.written.lessons, note.written.parts)

    def _judged(self, note: NoteState) -> Standing:
        """How a note stands by the lines about itself."""
        if not note.claims:
            return UNJUDGED
        return resolve(note.claims, self.keys, written=note.written.stamp if note.written else ZERO)

    def tombstones(self) -> Tombstones:
        """The rejected statements in force."""
        if self._tombstones is None:
            force: list[Laid] = []
            freed: set[tuple[str, str]] = set()
            by_note: dict[str, list[Laid]] = {}
            for one in self.state.laid.values():
                by_note.setdefault(one.note, []).append(one)
            for subject, some in by_note.items():
                standing = self._judged(self._note(subject))
                lines = {claim.line for claim in standing.rejects}
                force += [one for one in some if one.line in lines]
                freed |= {(subject, value) for value in standing.freed}
            force += [
                Laid(one.line, one.subject, "forgotten", one.values, when=one.at)
                for one in self.state.forgotten.values()
                if one.values
            ]
            self._tombstones = Tombstones(force, frozenset(freed))
        return self._tombstones

    def signatures_of(self, public: str) -> tuple[str, ...]:
        """The signatures that this key (hex) is known to have made, newest line first: what revoking it must name. Not more
        than fit a line, which is more than a person gives in a lifetime; the oldest would be asked about again."""
        claims = [claim for note in self._notes.values() for claim in note.claims]
        claims += [claim for others in self.state.others.values() for claim in others]
        known = [(one.at, one.proof.sig) for one in claims if one.proof is not None and one.proof.key == public]
        for one in (*self.state.enrolments, *self.state.revocations):
            if one.proof.key == public:
                known.append((one.at, one.proof.sig))
        return tuple(dict.fromkeys(sig for _, sig in sorted(known, reverse=True)))[:_MOST_SEEN]

    @property
    def policy_needs(self) -> str:
        """The version that is needed to know what was set for the whole vault; empty when this one knows. Until then verdicts
        and publishing wait, and reading goes on."""
        about_all = ("policy:", "k", "v")
        return max((core for subject, core in self.state.newer.items() if subject.startswith(about_all)), default="")

    @property
    def forgotten(self) -> Mapping[str, ForgottenState]:
        """What was forgotten, by line hash."""
        return self.state.forgotten

    def is_forgotten(self, *subjects: str) -> bool:
        """Whether one of these notes or sessions was forgotten."""
        return any(
            one.subject in subjects or not set(one.sessions).isdisjoint(subjects)
            for one in self.state.forgotten.values()
        )

    def must_destroy(self, one: ForgottenState) -> bool:
        """Whether this device destroys what the line names: a person said so with a key that counts, or nobody here has one.
        Until then it is only withheld."""
        if not self._root and not self.state.enrolments:
            return True
        return one.proof is not None and self.keys.counts(one.proof, one.at)

    def policy(self, name: str) -> Setting:
        """What a person set for the whole vault, under `policy:<name>`."""
        claims = self.state.others.get(f"policy:{name}")
        return setting(claims, self.keys) if claims else UNSET

    @property
    def review_first(self) -> bool:
        """Whether a note is served only after a person approved it. A device that trusts no key yet cannot tell whose word that
        is, and withholds until it can."""
        if self._root or REVIEW_POLICY not in self.state.others:
            return self.policy(REVIEW_FIRST).value is True
        return setting(self.state.others[REVIEW_POLICY], AnyKey(self._vaults)).value is True

    def trust(self, subject: str | NoteState, *, as_of: str = "", words: str = "") -> Trust:
        """Trust of a note on the day `as_of` (YYYY-MM-DD; empty: today). `words` is the content digest of its file now; when
        it is not given an approved note is taken to say what was approved. Raises KeyError for a note that is not there."""
        note = self._notes[subject] if isinstance(subject, str) else subject
        standing = self.standing(note)
        if standing is UNJUDGED and REVIEW_POLICY not in self.state.others:
            return "unreviewed"
        return trust_on(standing, as_of or today(), words=words, review_first=self.review_first)

    def span(self, subject: str | NoteState) -> Span:
        """When a note holds in the world, and when that was known. Raises KeyError for a note that is not there."""
        note = self._notes[subject] if isinstance(subject, str) else subject
        standing = self.standing(note)
        begins = ""
        for older in self.state.heirs.get(note.id, ()):
            before = self.standing(older)
            begins = max([begins, *(claim.day for claim in before.open if claim.other == note.id and claim.day)])
        retired = min((claim.at for claim in standing.open if not claim.struck), default="")
        return Span(begins, standing.ends, note.recorded, retired)

    def withheld(self, subject: str | NoteState, *, as_of: str = "", words: str = "") -> str:
        """Why an answer on the day `as_of` may not hold a note; empty when it may. Either its trust, or `expired` or
        `not_yet` when the day lies outside its validity."""
        note = self._notes[subject] if isinstance(subject, str) else subject
        value = self.trust(note, as_of=as_of, words=words)
        if value not in SERVED:
            return value
        if not note.claims and note.id not in self.state.heirs and not as_of:
            return ""
        return self.span(note).outside(as_of, since=note.written.date if note.written else "")

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
        self._tombstones = self._keys = None
        self._notes, self._sessions = Shelf(NoteState, *parts[1:3]), Shelf(SessionState, *parts[3:5])
        self.state = state

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
                self._judge(line, hold="unknown_act")
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

    def _judge(
        self,
        line: Line,
        *,
        hold: str = "",
        proven: bool = False,
        lifts: Collection[str] = (),
        after: str = "",
        **what: Any,
    ) -> None:
        """Keeps what a line says of its subject. `proven` asks whether its signature is good; whose it is is asked later."""
        claim = Claim(
            line.hash,
            line.at,
            self._one(line.by.device),
            line.when,
            self._one(line.by.kind),
            self._one(line.action),
            hold,
            lifts=tuple(lifts),
            after=tuple(name for name in after.split(",") if name),
            proof=self._checked(line) if proven else None,
            **what,
        )
        if line.subject.startswith("n"):
            claims = self._note(line.subject).claims
        else:
            claims = self.state.others.setdefault(line.subject, [])
        insort(claims, claim, key=_stamp_of)
        self._tombstones = None

    def _checked(self, line: Line) -> Checked | None:
        proof = bytes(line.proof)
        if not proof:
            return None
        return self._verifier.check(proof=proof, action=line.action, subject=line.subject, data=bytes(line.data))

    def _apply_newer(self, line: Line) -> None:
        if line.must:
            self.state.newer[line.subject] = max(self.state.newer.get(line.subject, ""), line.by.core)
            self._judge(line, hold="unknown_act")
        else:
            self.state.ignored[line.action] = self.state.ignored.get(line.action, 0) + 1

    def _apply_segment_started(self, line: Line, act: SegmentStarted) -> None:
        del line, act  # the journal checks it; nothing about notes is in it

    def _apply_lines_given_up(self, line: Line, act: LinesGivenUp) -> None:
        del line, act  # the lines are not there; that somebody said so is history, not state

    def _apply_note_written(self, line: Line, act: NoteWritten) -> None:
        note = self._note(line.subject)
        if not note.recorded or line.at < note.recorded:
            note.recorded = line.at
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
        self._judge(
            line,
            proven=True,
            lifts=act.lifts,
            after=act.after,
            digest=act.digest,
            text=act.text,
            body=act.body,
        )

    def _apply_adopted(self, line: Line, act: Adopted) -> None:
        self._judge(
            line,
            proven=True,
            lifts=act.lifts,
            after=act.after,
            digest=act.digest,
            text=act.text,
            body=act.body,
            other=act.revision,
        )

    def _apply_lifted(self, line: Line, act: Lifted) -> None:
        self._judge(line, proven=True, lifts=act.lifts, after=act.after, reason=act.hold)

    def _apply_rejected(self, line: Line, act: Rejected) -> None:
        # Withholding works at once and without proof, as suspended.
        if act.values:
            lessons = tuple(sorted({*act.lessons, *act.struck}))
            self.state.laid[line.hash] = Laid(
                line.hash, line.subject, act.reason, act.values, lessons, act.text, line.when
            )
        self._judge(
            line,
            hold="" if act.struck else "suspended",
            proven=True,
            after=act.after,
            reason=act.reason,
            digest=act.digest,
            lessons=act.lessons,
            struck=act.struck,
            other=act.of,
            why=act.why,
        )

    def _apply_forgotten(self, line: Line, act: Forgotten) -> None:
        # Nothing lifts it: what is destroyed does not come back, so it is a set that only grows.
        proof = self._checked(line)
        self.state.forgotten[line.hash] = ForgottenState(
            line.hash, line.at, line.subject, act.values, act.texts, act.sessions, proof
        )
        if line.subject.startswith("n"):
            self._judge(line, hold="pruned", reason="forgotten", after=act.after)
        self._tombstones = None

    def _apply_tombstone_lifted(self, line: Line, act: TombstoneLifted) -> None:
        self._judge(line, proven=True, after=act.after, lessons=act.values)

    def _apply_held(self, line: Line, act: Held) -> None:
        self._judge(
            line, hold=hold_of(act), proven=True, reason=act.reason, other=act.like, why=act.why, origin=act.origin
        )

    def _apply_flag_noted(self, line: Line, act: FlagNoted) -> None:
        self._judge(line, why=act.why, origin=act.origin)

    def _apply_superseded(self, line: Line, act: Superseded) -> None:
        self._judge(
            line,
            hold="superseded",
            proven=True,
            after=act.after,
            digest=act.digest,
            other=act.by,
            day=_day(act.since, line),
        )
        heirs = self.state.heirs.setdefault(act.by, [])
        if line.subject not in heirs:
            insort(heirs, line.subject)

    def _apply_expired(self, line: Line, act: Expired) -> None:
        self._judge(line, hold="expired", proven=True, after=act.after, digest=act.digest, day=_day(act.on, line))

    def _apply_policy_set(self, line: Line, act: PolicySet) -> None:
        self._judge(line, proven=True, after=act.after, value=act.value)

    def _apply_key_enrolled(self, line: Line, act: KeyEnrolled) -> None:
        proof = self._checked(line)
        if proof is None or act.kind not in KINDS:
            self.state.unproven_keys += 1
            return
        enrolment = Enrolment(line.hash, line.at, act.device, line.subject, act.public, act.kind, act.label, proof)
        self._add_key(self.state.enrolments, enrolment)

    def _apply_key_revoked(self, line: Line, act: KeyRevoked) -> None:
        proof = self._checked(line)
        if proof is None:
            self.state.unproven_keys += 1
            return
        revocation = Revocation(line.hash, line.at, line.subject, act.lost_since, frozenset(act.seen), proof)
        self._add_key(self.state.revocations, revocation)

    def _add_key(self, keys: list[_Key], key: _Key) -> None:
        insort(keys, key, key=_line_of)
        self._keys = self._tombstones = None

    def _apply_authority_started_over(self, line: Line, act: AuthorityStartedOver) -> None:
        del line, act  # every device decides for itself whom it trusts

    def _apply_notes_undone(self, line: Line, act: NotesUndone) -> None:
        self._judge(line, hold="archived", reason=act.run)
        if act.run:
            self._run(act.run).undone += 1

    def _apply_project_joined(self, line: Line, act: ProjectJoined) -> None:
        known = self.state.joined.get(line.subject)
        if known is None or line.stamp > known.stamp:
            self.state.joined[line.subject] = Joined(self._stamp(line), act.into)

    def _apply_project_decided(self, line: Line, act: ProjectDecided) -> None:
        known = self.state.projects.get(line.subject)
        if known is None or line.stamp > known.stamp:
            self.state.projects[line.subject] = ProjectState(line.subject, line.stamp, act.decision, act.text, act.to)


def trusted_root(state: Path | None) -> str:
    """The public key (hex) that this device trusts; empty when there is none, or its record cannot be read: then nothing is
    admitted, and doctor says why."""
    try:
        pin = read_pin(state)
    except MachineError:
        return ""
    return pin.public if pin else ""


def memory_of(journal: Journal) -> Callable[[], Memory]:
    """What `Journal.read` and `Journal.writing` make of this vault on this device, where proofs by its keys count."""
    root = trusted_root(journal.state)
    return lambda: Memory(journal.vaults, root)


# By action: looked up once a line, a hundred thousand times a replay.
_APPLY: dict[str, Callable[[Memory, Line, Any], None]] = {act: getattr(Memory, f"_apply_{act}") for act in _acts}


def _stamp_of(claim: Claim) -> Stamp:
    return claim.stamp


def _line_of(key: Enrolment | Revocation) -> str:
    return key.line


def _day(named: str, line: Line) -> str:
    """The day that a line names; that of the line when it names none that exists, for withholding must not fail."""
    return named if is_day(named) else line.when[:10]
