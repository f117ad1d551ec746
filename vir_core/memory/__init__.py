"""What the journal says about notes, sessions and runs, set against what lies on disk: the projection, derived trust, the
gate that every answer passes, the promises of file writes not yet kept, and which questions were shown what. It decides what
may be served; it finds, ranks and writes nothing of the vault."""

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
from vir_core.memory.scope import is_project_id, parse_scope, process_scope
from vir_core.memory.shown import (
    Asked,
    Shown,
    counted_shown,
    erase_shown,
    read_asked,
    record_asked,
    shown_counts,
    shown_words,
)
from vir_core.memory.spool import Promise, Spool, is_of_one_file, keep
from vir_core.memory.times import day_since, duration, stamp_of
from vir_core.memory.trust import PLAIN, SERVED, TrustFacts, counted, holds_of, trust, trust_of

__all__ = [
    "PLAIN",
    "ROW_BYTES",
    "SERVED",
    "Approved",
    "Asked",
    "Census",
    "EvidenceRef",
    "Gate",
    "Held",
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
    "Shown",
    "Spool",
    "TrustFacts",
    "Written",
    "build_gate",
    "counted",
    "counted_shown",
    "current_gate",
    "day_since",
    "duration",
    "erase_shown",
    "holds_of",
    "is_of_one_file",
    "is_project_id",
    "keep",
    "load_gate",
    "observe",
    "parse_scope",
    "process_scope",
    "read_asked",
    "record_asked",
    "shown_counts",
    "shown_words",
    "stamp_of",
    "take_census",
    "trust",
    "trust_of",
    "understands",
]
