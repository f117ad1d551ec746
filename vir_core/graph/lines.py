"""The team graph's line: `{"action", "data", "at"}`, written by another tool into the repository a team shares.

Two kinds of file hold such lines. The *legacy* journal was written by everybody; its lines have no time and their order is
where they stand. A *shard* is one person's; its lines carry the time of writing. A line's origin is the file it lies in, so
the same bytes in two files are two lines.

Reading never raises: what can be read is read, the rest is counted in a `Damage`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from vir_core.journal import LINE_LIMIT, Damage, Files, list_file, list_folder, plain, salvage, stripped

LEGACY = ""
"""The `file` of lines in the legacy journal."""

_LEGACY_NAME = "journal.jsonl"
_SHARDS = "journal"

Stamp = tuple[int, str, str, str]
"""`(tier, at, file, place)`: every line of the legacy journal (tier 0) comes before every line of a shard (tier 1)."""

ZERO: Stamp = (0, "", "", "")
END_OF_LEGACY: Stamp = (0, "", "", "~")
"""After every line of the legacy journal, before every line of a shard."""

_OPENING = re.compile(r'\{"action"\s*:')
_CANONICAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}\+00:00").fullmatch


class GraphLine(Struct, frozen=True, gc=False):
    """A line as read; `raw` is the object's own bytes.

    `file` is the shard's name, or `LEGACY`; `at` is UTC with microseconds and `+00:00`, empty in the legacy journal and when
    the line does not say; `place` decides between lines of one file and time. `hash` names the line: the same bytes in two
    files, or twice in the legacy journal, are two lines.
    """

    action: str
    data: Raw
    at: str
    file: str
    place: str
    hash: str
    raw: bytes

    @property
    def stamp(self) -> Stamp:
        """The total order of lines, the same for everybody who has the same files."""
        return (1 if self.file else 0, self.at, self.file, self.place)

    @property
    def origin(self) -> str:
        return self.file or _LEGACY_NAME


class _Envelope(Struct, frozen=True, gc=False):
    action: str
    data: Raw
    at: Any = None


class TeamShape:
    """Which files of a `.cognition` folder hold lines, and how they look: `journal.jsonl` and `journal/<person>.jsonl`."""

    def files(self, folder: Path) -> Files:
        files = list_file(folder / _LEGACY_NAME)
        shards = list_folder(folder / _SHARDS)
        files.found.update({f"{_SHARDS}/{name}": found for name, found in shards.found.items()})
        files.absent.update(f"{_SHARDS}/{name}" for name in shards.absent)
        files.unreadable += shards.unreadable
        return files

    def decode(self, block: bytes, damage: Damage, *, name: str, first: int) -> list[GraphLine]:
        file = LEGACY if name == _LEGACY_NAME else name.removeprefix(f"{_SHARDS}/")
        return decode_graph_lines(block, file, damage, first=first)

    def claim(self, line: GraphLine) -> bool:
        del line  # whatever lies in the folder belongs to the team
        return True


_decode = msgspec.json.Decoder(_Envelope).decode


def decode_graph_lines(block: bytes, file: str, damage: Damage, *, first: int = 0) -> list[GraphLine]:
    """Every line in `block`, in order. `first` is the index, in its file, of the line that `block` begins with; only the
    legacy journal's stamps need it. An object without its line end is read when it is whole."""
    lines: list[GraphLine] = []
    for index, piece in enumerate(block.split(b"\n"), first):
        raw = stripped(piece)
        if b"\0" in piece:
            damage.padding += 1
        if not raw:
            continue
        if len(raw) > LINE_LIMIT:
            damage.oversize += 1
            continue
        if plain(raw):
            try:
                envelope = _decode(raw)
            except (ValueError, RecursionError):
                pass
            else:
                lines.append(_line(envelope, raw, file, index, 0))
                continue
        lines.extend(_salvaged(raw, file, index, damage))
    return lines


def _salvaged(raw: bytes, file: str, index: int, damage: Damage) -> list[GraphLine]:
    ordinals = count()

    def read(fast: bytes, own: bytes) -> GraphLine:
        ordinal = next(ordinals)
        return _line(_decode(fast), own, file, index, ordinal)

    return salvage(raw, damage, opening=_OPENING, read=read)


def _line(envelope: _Envelope, raw: bytes, file: str, index: int, extra: int) -> GraphLine:
    if file == LEGACY:
        place = where = f"{index:012}#{extra:04}" if extra else f"{index:012}"
        at = ""
    else:
        # The digest, not the index: a merge that moves lines in a shard must not change what wins. It is the object's own
        # digest also when several are glued on one line, so that pulling them apart changes nothing either.
        at, place, where = _moment(envelope.at), sha256(raw).hexdigest(), file
    name = sha256(f"{where}\0".encode("utf-8", "surrogateescape") + raw).hexdigest()
    return GraphLine(envelope.action, envelope.data, at, file, place, name, raw)


def _moment(at: Any) -> str:
    """A time in the form that compares as text; empty (before every other line of a shard) when it is none."""
    if not isinstance(at, str):
        return ""
    try:
        moment = datetime.fromisoformat(at)
        if _CANONICAL(at):
            return at
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError):
        return ""
