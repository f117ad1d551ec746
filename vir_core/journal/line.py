"""The line: one JSON object and a line end, written and read here and nowhere else.

The envelope is decoded first and `data` and `proof` stay raw, because a line of a newer vir must still say whom it is
about and whether it binds. Reading never raises: what can be read is read, the rest is counted in a `Damage`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field
from msgspec.structs import force_setattr

from vir_core.journal.damage import LINE_LIMIT, Damage, plain, salvage, stripped
from vir_core.machine import sha256

VERSION = 1
SEGMENT_STARTED = "segment_started"

_OPENING = re.compile(r'\{"v":')
_NOT_ONE_LINE = "a line would not read back as it is written"

# Years end at 8999: a stamp beyond is no stamp of ours, and the microsecond after the last one still has a name.
LAST = "8999-12-31T23:59:59.999999Z"
_AT = re.compile(
    r"[1-8][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z"
).fullmatch


class By(Struct, frozen=True, gc=False):
    """Who wrote a line. `kind` is person, model or vir; `surface` is cli, obsidian, serve …; `core` is vir's version."""

    kind: str
    surface: str
    device: str
    core: str


class Line(Struct, frozen=True, gc=False):
    """A line as read. `hash` is sha256 (hex) over `raw`, the object's own bytes. `at` and `clock` are UTC, microseconds."""

    v: int
    at: str
    by: By
    action: str
    subject: str
    must: bool
    data: Raw = Raw(b"")
    prev: str = ""
    clock: str = ""
    proof: Raw = Raw(b"")
    # Not of the object, and set by the reader whatever a line says of itself; the names only keep plain keys ignored.
    hash: str = field(default="", name="(hash)")
    raw: bytes = field(default=b"", name="(raw)")

    @property
    def origin(self) -> str:
        """The device that wrote it."""
        return self.by.device

    @property
    def stamp(self) -> tuple[str, str, str]:
        """The total order of lines, the same on every device."""
        return (self.at, self.by.device, self.hash)

    @property
    def when(self) -> str:
        """The time to show: what the writer's own clock said."""
        return self.clock or self.at


class Draft(Struct, frozen=True):
    """A line before it has a time and a place. `data` holds ids, digests and choices, never a person's words."""

    action: str
    subject: str
    data: Struct | dict[str, Any]
    must: bool = False
    proof: Raw = Raw(b"")


class _Written(Struct, frozen=True, kw_only=True):
    """The order of fields on disk."""

    v: int
    at: str
    by: By
    action: str
    subject: str
    data: Any
    must: bool
    prev: str
    clock: str | UnsetType
    proof: Raw | UnsetType


_decode = msgspec.json.Decoder(Line).decode
_check = msgspec.json.Decoder(Raw).decode_lines
_encode = msgspec.json.Encoder().encode


def now() -> str:
    """This machine's clock, in the form of `at`."""
    return _named(datetime.now(UTC))


def stamp_after(newest: str, clock: str) -> str:
    """The time a new line gets: what the clock says, but later than everything its writer has seen.

    A line that names the last microsecond there is cannot be outdone; the new one stands beside it.
    """
    if clock > newest:
        return clock
    micro = newest[20:26]
    if micro != "999999":
        return f"{newest[:20]}{int(micro) + 1:06}Z"  # the same by the calendar takes ten times as long
    return min(LAST, _named(_moment(newest) + timedelta(microseconds=1)))


def stamp_shifted(at: str, *, days: int) -> str:
    """The stamp so many days later."""
    return min(LAST, _named(_moment(at) + timedelta(days=days)))


def differs(at: str, clock: str) -> bool:
    """Whether the two are more than a second apart, so that the writer's own clock is worth keeping."""
    return at != clock and abs(_moment(at) - _moment(clock)) > timedelta(seconds=1)


def _named(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")[:26] + "Z"  # strftime takes ten times as long


def _moment(at: str) -> datetime:
    # A foreign stamp may name a day its month lacks; counting from the first of the month keeps the result no earlier.
    first = datetime(int(at[:4]), int(at[5:7]), 1, tzinfo=UTC)
    return first + timedelta(
        days=int(at[8:10]) - 1,
        hours=int(at[11:13]),
        minutes=int(at[14:16]),
        seconds=int(at[17:19]),
        microseconds=int(at[20:26]),
    )


def encode(draft: Draft, *, at: str, by: By, prev: str, clock: str = "") -> bytes:
    """The bytes of a line without its line end. Raises `TypeError`, `ValueError` for data that JSON cannot hold."""
    return _written(draft, draft.data, at, by, prev, clock)


def compose(drafts: Sequence[Draft], *, newest: str, clock: str, by: By, prev: str) -> list[Line]:
    """The lines of one batch, a microsecond apart and later than `newest`, each naming the one before it and the first one
    `prev`; as any reader will read them. Raises like `encode`, and `ValueError` when a line would not be one whole line."""
    at = newest
    shown = clock if differs(stamp_after(at, clock), clock) else ""
    lines: list[Line] = []
    for draft in drafts:
        at = stamp_after(at, clock)
        data, proof = Raw(_encode(draft.data)), draft.proof
        raw = _written(draft, data, at, by, prev, shown)
        name = sha256(raw).hexdigest()
        lines.append(
            Line(VERSION, at, by, draft.action, draft.subject, draft.must, data, prev, shown, proof, name, raw)
        )
        prev = name
    whole = b"\n".join([line.raw for line in lines])
    if whole.count(b"\n") >= len(lines) or len(_check(whole)) != len(lines):
        raise ValueError(_NOT_ONE_LINE)
    # Where nothing is escaped a reader finds just these values; decoding them again would be half the cost of a batch.
    unescaped = b"\\" not in whole and plain(whole) and len(whole) <= LINE_LIMIT
    return lines if unescaped else [_reread(line.raw) for line in lines]


def _written(draft: Draft, data: Any, at: str, by: By, prev: str, clock: str) -> bytes:
    return _encode(
        _Written(
            v=VERSION,
            at=at,
            by=by,
            action=draft.action,
            subject=draft.subject,
            data=data,
            must=draft.must,
            prev=prev,
            clock=clock or UNSET,
            proof=draft.proof if bytes(draft.proof) else UNSET,
        )
    )


def _reread(raw: bytes) -> Line:
    damage = Damage()
    lines = decode_lines(raw, damage)
    if len(lines) != 1 or damage.total or lines[0].raw != raw:
        raise ValueError(_NOT_ONE_LINE)
    return lines[0]


def digest_of(piece: bytes) -> bytes:
    """The line hash of one well-formed stored line, as 32 bytes."""
    if piece[0] != 0x7B or piece[-1] != 0x7D:
        piece = stripped(piece)
    return sha256(piece).digest()


def decode_lines(block: bytes, damage: Damage) -> list[Line]:
    """Every line in `block`, in order; what is not a line is added to `damage`."""
    lines: list[Line] = []
    careful = not plain(block)
    for piece in block.split(b"\n"):
        if not piece:
            continue
        raw = piece
        if raw[0] != 0x7B or raw[-1] != 0x7D:
            raw = stripped(piece)
            if b"\0" in piece:
                damage.padding += 1
            if not raw:
                continue
        if len(raw) > LINE_LIMIT:
            damage.oversize += 1
            continue
        if careful and not plain(raw):
            lines.extend(salvage(raw, damage, opening=_OPENING, read=_read))
            continue
        try:
            line = _line(_decode(raw), raw)
        except (ValueError, RecursionError):
            lines.extend(salvage(raw, damage, opening=_OPENING, read=_read))
            continue
        if line is None:
            damage.garbage += 1
        else:
            lines.append(line)
    return lines


def _line(line: Line, raw: bytes) -> Line | None:
    """The decoded line with its bytes and their hash; `None` when it is no line of ours."""
    if line.v < 1 or _AT(line.at) is None:
        return None
    # Set in place: the line was decoded a moment ago and nobody else has it. Building a second one takes as long as decoding.
    force_setattr(line, "hash", sha256(raw).hexdigest())
    force_setattr(line, "raw", raw)
    if line.clock and not _AT(line.clock):
        force_setattr(line, "clock", "")
    return line


def _read(fast: bytes, own: bytes) -> Line | None:
    return _line(_decode(fast), own)
