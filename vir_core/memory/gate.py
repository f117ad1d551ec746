"""The gate: per note, 64 bytes that say whether an answer may hold it.

The read path loads nothing else of memory. A file is a header (marks of the journal it was built from, counts) and rows
sorted by id; a row is found by bisection in the raw bytes. Journal lines newer than the marks are applied on top when all
they can do is withhold; anything else, and any doubt about the prefix, means building the gate anew from memory.
"""

from __future__ import annotations

import struct
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.contract import Trust
from vir_core.journal import Journal, Line, Marks, Reading, Tail
from vir_core.machine import ANYTHING, read_bytes, write_atomic
from vir_core.memory.facts import Memory, NoteState
from vir_core.memory.trust import SERVED, holds_of, trust_of

_MAGIC = b"virgate1"
_ROW = struct.Struct(">Q16s16sQHBBIIxxxx")
ROW_BYTES = _ROW.size
assert ROW_BYTES == 64

_TRUSTS: tuple[Trust, ...] = (
    "proposed",
    "unreviewed",
    "verified",
    "edited",
    "rejected",
    "suspended",
    "superseded",
    "archived",
    "pruned",
)
_STRUCK = 1
_SPEAK_OF_NO_NOTE = frozenset({"run_finished", "session_settled", "session_joined", "segment_started"})
_WITHHOLDING = frozenset({"rejected", "held", "notes_undone"})


class Row(Struct, frozen=True):
    """`reason` is why it is withheld, empty when served. `words` and `approved` are the first 32 hex digits of digests."""

    id: str
    trust: Trust
    served: bool
    reason: str
    words: str
    approved: str
    project: str
    struck: frozenset[str]


class _Header(Struct):
    marks: Marks
    newest: str
    rows: int
    struck: dict[str, list[str]]
    newer: dict[str, str]
    last_run: str


class Gate:
    """Look-ups over the rows, with what newer lines withhold on top."""

    def __init__(self, header: _Header, rows: memoryview) -> None:
        self._header = header
        self._rows = rows
        self._withheld: dict[str, Trust] = {}
        self._struck: dict[str, frozenset[str]] = {}

    def __len__(self) -> int:
        return self._header.rows

    def trusts(self) -> dict[str, Trust]:
        """Every note with its trust."""
        values: dict[str, Trust] = {}
        for row in _ROW.iter_unpack(self._rows):
            number: int = row[0]
            trust_number: int = row[5]
            values[f"n{number:015x}"] = _TRUSTS[trust_number]
        values.update((note, value) for note, value in self._withheld.items() if note in values)
        return values

    @property
    def newer(self) -> dict[str, str]:
        """Subjects that a newer vir wrote something binding about, with the version that wrote it."""
        return self._header.newer

    @property
    def last_run(self) -> str:
        """When a run last wrote something; empty when none did."""
        return self._header.last_run

    def row(self, note: str) -> Row | None:
        """What the gate knows of a note; `None` when the journal never heard of it."""
        position = self._find(note)
        if position is None:
            return None
        fields = _ROW.unpack_from(self._rows, position * ROW_BYTES)
        words: bytes = fields[1]
        approved: bytes = fields[2]
        project: int = fields[3]
        trust_number: int = fields[5]
        flags: int = fields[6]
        value = self._withheld.get(note) or _TRUSTS[trust_number]
        struck = self._struck.get(note, frozenset())
        if flags & _STRUCK:
            struck = struck | frozenset(self._header.struck.get(note, ()))
        served = value in SERVED
        return Row(
            id=note,
            trust=value,
            served=served,
            reason="" if served else value,
            words=words.hex(),
            approved="" if not any(approved) else approved.hex(),
            project=f"p{project:015x}" if project else "",
            struck=struck,
        )

    @property
    def marks(self) -> Marks:
        """How far into the journal the rows go."""
        return self._header.marks

    def _find(self, note: str) -> int | None:
        key = _key(note)
        low, high = 0, self._header.rows
        while low < high:
            middle = (low + high) // 2
            here = self._rows[middle * ROW_BYTES : middle * ROW_BYTES + 8]
            if bytes(here) < key:
                low = middle + 1
            else:
                high = middle
        if low < self._header.rows and bytes(self._rows[low * ROW_BYTES : low * ROW_BYTES + 8]) == key:
            return low
        return None

    def extend(self, tail: Tail) -> bool:
        """Applies newer lines that can only withhold. False when one of them could do more, or came late: build anew."""
        for line in tail.lines:
            if line.at <= self._header.newest:
                return False
            if line.action in _SPEAK_OF_NO_NOTE and line.v == 1:
                if line.action == "run_finished":
                    self._header.last_run = max(self._header.last_run, line.when)
                continue
            if line.v != 1 or line.action not in _WITHHOLDING:
                if not line.must:
                    return False
                self._header.newer[line.subject] = line.by.core
                self._withhold(line.subject, "suspended")
            elif line.action == "rejected" and (struck := _struck_of(line)):
                self._struck[line.subject] = self._struck.get(line.subject, frozenset()) | struck
            elif line.action == "notes_undone":
                self._withhold(line.subject, "archived")
            else:
                self._withhold(line.subject, "suspended")
        self._header.marks = tail.marks
        return True

    def _withhold(self, note: str, value: Trust) -> None:
        # Suspended says stop; a put-away that arrives beside it changes nothing a reader sees.
        if self._withheld.get(note) != "suspended":
            self._withheld[note] = value


class _Struck(Struct):
    struck: list[str] = []


def _struck_of(line: Line) -> frozenset[str]:
    try:
        return frozenset(msgspec.json.decode(line.data, type=_Struck).struck)
    except msgspec.MsgspecError:
        return frozenset()


def _key(note: str) -> bytes:
    try:
        return int(note[1:], 16).to_bytes(8, "big")
    except (ValueError, OverflowError):
        return b"\xff" * 8


def _packed(note: NoteState) -> bytes | None:
    written = note.written
    if written is None:
        return None
    project = _key(written.project) if written.project else bytes(8)
    return _ROW.pack(
        int.from_bytes(_key(note.id), "big"),
        bytes.fromhex(written.words[:32]).ljust(16, b"\0"),
        bytes(16),
        int.from_bytes(project, "big"),
        len(holds_of(note)),
        _TRUSTS.index(trust_of(note)),
        _STRUCK if note.struck else 0,
        0,
        0,
    )


def build_gate(reading: Reading[Memory]) -> tuple[Gate, bytes]:
    """The gate of a reading, and the bytes of its file."""
    rows: list[bytes] = []
    struck: dict[str, list[str]] = {}
    for note in reading.projection.notes.values():
        packed = _packed(note)
        if packed is None:
            continue
        rows.append(packed)
        if note.struck:
            struck[note.id] = note.struck
    rows.sort()
    header = _Header(
        marks=reading.marks,
        newest=reading.newest,
        rows=len(rows),
        struck=struck,
        newer=dict(reading.projection.newer),
        last_run=max((run.at for run in reading.projection.runs.values() if run.at), default=""),
    )
    body = b"".join(rows)
    head = msgspec.msgpack.encode(header)
    content = _MAGIC + len(head).to_bytes(4, "big") + head + body
    return Gate(header, memoryview(body)), content


def load_gate(path: Path) -> Gate | None:
    """The gate as it was last written; `None` when it is missing, damaged or of another layout."""
    try:
        content = read_bytes(path)
    except OSError:
        return None
    if content[:8] != _MAGIC or len(content) < 12:
        return None
    size = int.from_bytes(content[8:12], "big")
    try:
        header = msgspec.msgpack.decode(content[12 : 12 + size], type=_Header)
    except msgspec.MsgspecError:
        return None
    rows = memoryview(content)[12 + size :]
    if len(rows) != header.rows * ROW_BYTES:
        return None
    return Gate(header, rows)


def current_gate(journal: Journal, path: Path | None) -> tuple[Gate, bool]:
    """A gate that knows every line on disk, and whether it had to be built anew (then the caller may save it)."""
    gate = load_gate(path) if path else None
    if gate is not None:
        tail = journal.since(gate.marks)
        if tail.valid and gate.extend(tail):
            return gate, False
    gate, _ = build_gate(journal.read(Memory))
    return gate, True


def save_gate(path: Path, content: bytes) -> None:
    write_atomic(path, content, expected=ANYTHING, private=True)
