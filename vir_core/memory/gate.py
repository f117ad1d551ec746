"""The gate: per note, 64 bytes that say whether an answer may hold it.

The read path loads nothing else of memory. A file is a header (marks of the journal it was built from, counts) and rows
sorted by id; a row is found by bisection in the raw bytes. Journal lines newer than the marks are applied on top when all
they can do is withhold; anything else, and any doubt about the prefix, means building the gate anew from memory.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from datetime import date
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
from msgspec import Struct

from vir_core.contract import Trust
from vir_core.journal import Journal, Line, Marks, Reading, Tail
from vir_core.machine import ANYTHING, MachineError, read_bytes, write_atomic
from vir_core.memory.acts import (
    AuthorityStartedOver,
    FlagNoted,
    Held,
    LinesGivenUp,
    NotesUndone,
    ProjectDecided,
    ProjectJoined,
    Rejected,
    RunFinished,
    SegmentStarted,
    SessionJoined,
    SessionSettled,
)
from vir_core.memory.facts import Memory, NoteState, decoder_of, hold_of, memory_of, trusted_root
from vir_core.memory.standing import Standing
from vir_core.memory.time import is_day, today
from vir_core.memory.trust import SERVED, stronger, trust_on
from vir_core.vault import is_note_id

_MAGIC = b"virgate3"
_ROW = struct.Struct(">Q16s16sQxxBBIII")
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
_SUPERSEDED = 2
_BEGINS = 4


class Row(Struct, frozen=True):
    """`reason` is why it is withheld, empty when served. `body` and `approved` are the first 32 hex digits of digests: of the
    bytes below the frontmatter that vir wrote last or a person approved, and of the words approved (empty: none)."""

    id: str
    trust: Trust
    served: bool
    reason: str
    body: str
    approved: str
    project: str
    struck: frozenset[str]


class _Header(Struct):
    """`root` and `vaults` are whose proofs counted when it was built: a gate of other keys is another gate. `texts` are the
    texts a person approved, by note, where answers hold nothing else (`review_first`)."""

    marks: Marks
    newest: str
    rows: int
    struck: dict[str, list[str]]
    newer: dict[str, str]
    last_run: str
    root: str
    vaults: list[str]
    review_first: bool
    texts: dict[str, str]


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
        """Every note with its trust today."""
        values: dict[str, Trust] = {}
        day = _ordinal(today())
        for row in _ROW.iter_unpack(self._rows):
            number: int = row[0]
            values[f"n{number:015x}"] = _trust_on(row, day)
        for note, value in self._withheld.items():
            if note in values:
                values[note] = stronger(values[note], value)
        return values

    @property
    def newer(self) -> dict[str, str]:
        """Subjects that a newer vir wrote something binding about, with the version that wrote it."""
        return self._header.newer

    @property
    def last_run(self) -> str:
        """When a run last wrote something; empty when none did."""
        return self._header.last_run

    @property
    def review_first(self) -> bool:
        """Whether of an edited note the approved text is served, and of one that nobody approved nothing."""
        return self._header.review_first

    def approved_text(self, note: str) -> str:
        """Under `review_first`, the digest of the text a person approved; empty when there is none."""
        return self._header.texts.get(note, "")

    def row(self, note: str, as_of: str = "") -> Row | None:
        """What the gate knows of a note on the day `as_of` (YYYY-MM-DD; empty: today); `None` when the journal never heard of
        it."""
        position = self._find(note)
        if position is None:
            return None
        fields = _ROW.unpack_from(self._rows, position * ROW_BYTES)
        body: bytes = fields[1]
        approved: bytes = fields[2]
        project: int = fields[3]
        flags: int = fields[5]
        begins: int = fields[6]
        ends: int = fields[7]
        day = _ordinal(as_of or today())
        value = _trust_on(fields, day)
        value = stronger(self._withheld.get(note, value), value)
        struck = self._struck.get(note, frozenset())
        if flags & _STRUCK:
            struck = struck | frozenset(self._header.struck.get(note, ()))
        reason = "" if value in SERVED else value
        if not reason and ends and day >= ends:
            reason = "expired"
        if not reason and begins and day < begins and (as_of or flags & _BEGINS):
            reason = "not_yet"
        return Row(
            id=note,
            trust=value,
            served=not reason,
            reason=reason,
            body=body.hex(),
            approved="" if not any(approved) else approved.hex(),
            project=f"p{project:015x}" if project else "",
            struck=struck,
        )

    def fits(self, root: str, vaults: Collection[str]) -> bool:
        """Whether it was built for a device that trusts this root, of a vault with these ids."""
        return self._header.root == root and self._header.vaults == sorted(vaults)

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
            if line.at <= self._header.newest or not self._take(line):
                return False
        self._header.marks = tail.marks
        return True

    def _take(self, line: Line) -> bool:
        """One line, as `Memory.apply` would; False when it may do more than withhold."""
        decoder = decoder_of(line)
        if decoder is None:
            if line.must:
                newer = self._header.newer
                newer[line.subject] = max(newer.get(line.subject, ""), line.by.core)
                self._withhold(line.subject, "suspended")
            return line.must
        try:
            act = decoder.decode(line.data)
        except msgspec.MsgspecError:
            if line.must:
                self._withhold(line.subject, "suspended")
            return True
        if bytes(line.proof):
            return False  # final rather than suspended, when it is good; that takes the keys to say
        match act:
            case Rejected(values=(_, *_)):
                # It may take lessons out of other notes too.
                return False
            case Rejected(struck=(_, *_)):
                self._struck[line.subject] = self._struck.get(line.subject, frozenset()) | frozenset(act.struck)
            case Rejected():
                self._withhold(line.subject, "suspended")
            case Held():
                hold = hold_of(act)
                self._withhold(line.subject, "suspended" if hold == "unknown_act" else hold)
            case NotesUndone():
                self._withhold(line.subject, "archived")
            case RunFinished():
                self._header.last_run = max(self._header.last_run, line.when)
            case (
                SessionSettled()
                | SessionJoined()
                | SegmentStarted()
                | LinesGivenUp()
                | ProjectDecided()
                | ProjectJoined()
                | AuthorityStartedOver()
                | FlagNoted()
            ):
                pass
            case _:
                return False
        return True

    def _withhold(self, note: str, value: Trust) -> None:
        self._withheld[note] = stronger(self._withheld.get(note, value), value)


def _key(note: str) -> bytes:
    try:
        return int(note[1:], 16).to_bytes(8, "big")
    except (ValueError, OverflowError):
        return b"\xff" * 8


def _first_16(digest: str) -> bytes:
    """Half a digest; zeros for a line that names something else."""
    try:
        return bytes.fromhex(digest[:32]).ljust(16, b"\0")
    except ValueError:
        return bytes(16)


def _ordinal(day: str) -> int:
    """The number of a day, 0 for what is none."""
    return date.fromisoformat(day).toordinal() if is_day(day) else 0


def _trust_on(fields: tuple[Any, ...], day: int) -> Trust:
    """The trust of an unpacked row on a day."""
    number: int = fields[4]
    value = _TRUSTS[number]
    if fields[5] & _SUPERSEDED and day >= fields[7]:
        return stronger(value, "superseded")
    return value


def _packed(note: NoteState, memory: Memory, standing: Standing, *, review_first: bool) -> bytes | None:
    """`None` for what no file can carry, and so no answer can hold."""
    written = note.written
    if written is None or not is_note_id(note.id):
        return None
    project = _key(written.project) if written.project else bytes(8)
    flags = _STRUCK if standing.struck else 0
    begins = memory.span(note).valid_from if note.id in memory.state.heirs else ""
    if standing.successor:
        flags |= _SUPERSEDED
    if begins:
        flags |= _BEGINS
    # Of several approved side by side the one that vir wrote, else the latest: the others count as edited.
    approved = ""
    if standing.approved:
        approved = written.words if written.words in standing.approved else standing.digest
    return _ROW.pack(
        int.from_bytes(_key(note.id), "big"),
        _first_16(written.body if not approved or approved == written.words else standing.body),
        _first_16(approved),
        int.from_bytes(project, "big"),
        _TRUSTS.index(trust_on(standing, "", review_first=review_first)),
        flags,
        _ordinal(begins or written.date),
        _ordinal(standing.ends),
        _ordinal(note.recorded[:10]),
    )


def build_gate(reading: Reading[Memory]) -> tuple[Gate, bytes]:
    """The gate of a reading, and the bytes of its file."""
    memory = reading.projection
    rows: list[bytes] = []
    struck: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    review_first = memory.review_first
    for note in memory.notes.values():
        standing = memory.standing(note)
        packed = _packed(note, memory, standing, review_first=review_first)
        if packed is None:
            continue
        rows.append(packed)
        if standing.struck:
            struck[note.id] = sorted(standing.struck)
        if review_first and standing.text:
            texts[note.id] = standing.text
    rows.sort()
    header = _Header(
        marks=reading.marks,
        newest=reading.newest,
        rows=len(rows),
        struck=struck,
        newer=dict(memory.newer),
        last_run=max((run.at for run in memory.runs.values() if run.at), default=""),
        root=memory.root,
        vaults=sorted(memory.vaults),
        review_first=review_first,
        texts=texts,
    )
    body = b"".join(rows)
    head = msgspec.msgpack.encode(header)
    sealed = len(head).to_bytes(4, "big") + head + body
    content = _MAGIC + crc32(sealed).to_bytes(4, "big") + sealed
    return Gate(header, memoryview(body)), content


def load_gate(path: Path) -> Gate | None:
    """The gate as it was last written; `None` when it is missing, damaged or of another layout."""
    try:
        content = read_bytes(path)
    except (OSError, MachineError):
        return None
    # A damaged byte could serve what is withheld, so it must not pass for a row.
    sealed = memoryview(content)[12:]
    if content[:8] != _MAGIC or len(sealed) < 4 or int.from_bytes(content[8:12], "big") != crc32(sealed):
        return None
    size = int.from_bytes(sealed[:4], "big")
    try:
        header = msgspec.msgpack.decode(sealed[4 : 4 + size], type=_Header)
    except msgspec.MsgspecError:
        return None
    rows = sealed[4 + size :]
    if len(rows) != header.rows * ROW_BYTES:
        return None
    return Gate(header, rows)


def current_gate(journal: Journal, path: Path | None) -> tuple[Gate, bool]:
    """A gate that knows every line on disk, and whether it had to be built anew (then the caller may save it)."""
    gate = load_gate(path) if path else None
    if gate is not None and gate.fits(trusted_root(journal.state), journal.vaults):
        tail = journal.since(gate.marks)
        if tail.valid and gate.extend(tail):
            return gate, False
    gate, _ = build_gate(journal.read(memory_of(journal)))
    return gate, True


def save_gate(path: Path, content: bytes) -> None:
    write_atomic(path, content, expected=ANYTHING, private=True)
