"""What the journal says about notes, sessions and runs, set against what lies on disk: the projection, derived trust, the
gate that every answer passes, and the promises of file writes not yet kept. It decides what may be served; it finds, ranks
and writes nothing."""

from __future__ import annotations

from vir_core.memory.acts import (
    Approved,
    EvidenceRef,
    Held,
    Lifted,
    LinesGivenUp,
    NotesUndone,
    NoteWritten,
    ProjectDecided,
    Rejected,
    RunFinished,
    SessionJoined,
    SessionSettled,
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
from vir_core.memory.observe import Census, Observation, observe, take_census
from vir_core.memory.spool import Promise, Spool, is_of_one_file, keep
from vir_core.memory.statements import Statement, statements_of, values_of
from vir_core.memory.tombstones import Laid, LessonRef, Standing
from vir_core.memory.trust import PLAIN, SERVED, TrustFacts, counted, holds_of, struck_in, trust, trust_in, trust_of

__all__ = [
    "PLAIN",
    "ROW_BYTES",
    "SERVED",
    "Approved",
    "Census",
    "EvidenceRef",
    "Gate",
    "Held",
    "Laid",
    "LessonRef",
    "Lifted",
    "LinesGivenUp",
    "Memory",
    "NoteState",
    "NoteWritten",
    "NotesUndone",
    "Observation",
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
    "Standing",
    "Statement",
    "TrustFacts",
    "Written",
    "build_gate",
    "counted",
    "current_gate",
    "holds_of",
    "is_of_one_file",
    "keep",
    "load_gate",
    "observe",
    "statements_of",
    "struck_in",
    "take_census",
    "trust",
    "trust_in",
    "trust_of",
    "understands",
    "values_of",
]
