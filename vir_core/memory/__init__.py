"""What the journal says about notes, sessions and runs, set against what lies on disk: the projection, derived trust, the
gate that every answer passes, and the promises of file writes not yet kept. It decides what may be served; it finds, ranks
and writes nothing."""

from __future__ import annotations

from vir_core.memory.acts import (
    Adopted,
    Approved,
    AuthorityStartedOver,
    EvidenceRef,
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
    SessionJoined,
    SessionSettled,
    Superseded,
)
from vir_core.memory.facts import (
    Memory,
    NoteState,
    ProjectState,
    RunState,
    SessionState,
    Written,
    understands,
)
from vir_core.memory.gate import ROW_BYTES, Gate, Row, build_gate, current_gate, load_gate
from vir_core.memory.life import Life, entries_of
from vir_core.memory.observe import Census, Observation, observe, take_census
from vir_core.memory.spool import Promise, Spool, is_of_one_file, keep
from vir_core.memory.trust import PLAIN, SERVED, TrustFacts, counted, holds_of, trust, trust_of

__all__ = [
    "PLAIN",
    "ROW_BYTES",
    "SERVED",
    "Adopted",
    "Approved",
    "AuthorityStartedOver",
    "Census",
    "EvidenceRef",
    "Expired",
    "Gate",
    "Held",
    "KeyEnrolled",
    "KeyRevoked",
    "Life",
    "Lifted",
    "LinesGivenUp",
    "Memory",
    "NoteState",
    "NoteWritten",
    "NotesUndone",
    "Observation",
    "PolicySet",
    "ProjectDecided",
    "ProjectState",
    "Promise",
    "Rejected",
    "Row",
    "RunFinished",
    "RunState",
    "SessionJoined",
    "SessionSettled",
    "SessionState",
    "Spool",
    "Superseded",
    "TrustFacts",
    "Written",
    "build_gate",
    "counted",
    "current_gate",
    "entries_of",
    "holds_of",
    "is_of_one_file",
    "keep",
    "load_gate",
    "observe",
    "take_census",
    "trust",
    "trust_of",
    "understands",
]
