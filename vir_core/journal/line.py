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

from vir_core.machine import sha256

VERSION = 1
LINE_LIMIT = 16 * 1024 * 1024
SEGMENT_STARTED = "segment_started"

# Broken objects on one line are looked for at this opening, which cannot occur inside a JSON string.
_OPENING = '{"v":'
_TRIES = 100
_NOT_ONE_LINE = "a line would not read back as it is written"
_PADDING = b" \t\r\0"
_BOM = b"\xef\xbb\xbf"

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


class Damage(Struct, array_like=True):
    """What could not be read, by kind.

    `torn` incomplete objects, `garbage` lines that are no line of ours, `oversize` lines beyond 16 MiB, `unreadable` files
    that do not open, `other_vault` segments that name another vault, `unplaced` lines of a device that nowhere says which
    vault it writes for. `glued` lines held several objects and `padding`
    lines held NULs; nothing of those two was lost.
    """

    torn: int = 0
    garbage: int = 0
    oversize: int = 0
    unreadable: int = 0
    other_vault: int = 0
    glued: int = 0
    padding: int = 0
    unplaced: int = 0

    @property
    def total(self) -> int:
        lost = self.torn + self.garbage + self.oversize + self.unreadable + self.other_vault + self.unplaced
        return lost + self.glued + self.padding

    def add(self, other: Damage) -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


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
    plain = b"\\" not in whole and _plain(whole) and len(whole) <= LINE_LIMIT
    return lines if plain else [_reread(line.raw) for line in lines]


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
        piece = _stripped(piece)
    return sha256(piece).digest()


def decode_lines(block: bytes, damage: Damage) -> list[Line]:
    """Every line in `block`, in order; what is not a line is added to `damage`."""
    lines: list[Line] = []
    careful = not _plain(block)
    for piece in block.split(b"\n"):
        if not piece:
            continue
        raw = piece
        if raw[0] != 0x7B or raw[-1] != 0x7D:
            raw = _stripped(piece)
            if b"\0" in piece:
                damage.padding += 1
            if not raw:
                continue
        if len(raw) > LINE_LIMIT:
            damage.oversize += 1
            continue
        if careful and not _plain(raw):
            lines.extend(_salvage(raw, damage))
            continue
        try:
            line = _line(_decode(raw), raw)
        except (ValueError, RecursionError):
            lines.extend(_salvage(raw, damage))
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


def _stripped(piece: bytes) -> bytes:
    piece = piece.strip(_PADDING)
    if piece.startswith(_BOM):
        piece = piece[3:].strip(_PADDING)
    return piece


def _plain(block: bytes) -> bool:
    """Whether the fast decoder sees every string as it is: valid UTF-8 and no escaped surrogates, lone or paired."""
    # Looking for one byte first is ten times as fast.
    if b"\\" in block and (b"\\ud" in block or b"\\uD" in block):
        return False
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _salvage(raw: bytes, damage: Damage) -> list[Line]:
    """Reads a line that the fast decoder refuses: glued objects, torn pieces, broken Unicode."""
    import json

    scan = json.JSONDecoder().raw_decode
    text = raw.decode("utf-8", "surrogateescape")
    lines: list[Line] = []
    objects = failures = 0
    lost = False
    position = text.find("{")
    while position >= 0 and failures < _TRIES:
        try:
            value, end = scan(text, position)
        except (ValueError, RecursionError):
            failures += 1
            lost = True
            position = text.find(_OPENING, position + 1)
            continue
        objects += 1
        line = _relined(value, text[position:end].encode("utf-8", "surrogateescape"))
        if line is None:
            damage.garbage += 1
        else:
            lines.append(line)
        position = text.find("{", end)
        between = text[end:position] if position >= 0 else text[end:]
        lost = lost or bool(between.strip(" \t\r\0\ufeff"))
    if objects > 1:
        damage.glued += 1
    if lost:
        damage.torn += 1
    elif not objects:
        damage.garbage += 1
    return lines


def _relined(value: Any, raw: bytes) -> Line | None:
    try:
        if _plain(raw):
            return _line(_decode(raw), raw)
        return _line(_decode(_encode(_mended(value))), raw)
    except (ValueError, RecursionError):
        return None


def _mended(value: Any) -> Any:
    """The value with every lone surrogate and undecodable byte replaced by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mended(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value
