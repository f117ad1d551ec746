"""Verifying a journal: what the chain of `prev`, the mirror and the files show, in words a person can act on.

Reads everything anew, twice where something is wrong (the second time for the place), and writes nothing.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from vir_core.journal.damage import Damage
from vir_core.journal.line import LAST, VERSION, Line
from vir_core.journal.mirror import Mirror
from vir_core.journal.replay import Marks, Replay
from vir_core.journal.segment import Mark, blocks, open_behind
from vir_core.journal.shape import VaultShape

FindingKind = Literal[
    "gap",
    "fork",
    "altered",
    "missing",
    "pending",
    "given_up",
    "other_vault",
    "unplaced",
    "damaged",
    "untidy",
    "unreadable",
    "placeholder",
    "newer",
    "future",
]

_MOST = 50
"""Findings of one kind that are named one by one."""

_DAMAGE = {
    "torn": "The end of a line is missing here; the rest of the line cannot be read.",
    "garbage": "Something stands here that is no line of vir's history.",
    "oversize": "A line here is larger than 16 MiB and was not read.",
    "glued": "Several lines stand on one here; all of them were read.",
    "padding": "Empty bytes stand here, as a power cut leaves them; the lines around them were read.",
}
_HARMLESS = ("glued", "padding")

_TELLING = len('{"v":1,"at":"2026-11-30T20:58:17.123456Z"')
"""Bytes of a torn line that say which line it was."""


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that is not as it was written. `file` is below the journal's folder, `offset` in bytes (-1: no place),
    `line` a line hash. Without `harm` nothing was lost and nothing is withheld."""

    kind: FindingKind
    words: str
    device: str = ""
    file: str = ""
    offset: int = -1
    line: str = ""
    count: int = 1
    harm: bool = True


class Verdict(Struct, frozen=True, kw_only=True):
    """`lines` are the distinct lines of disk and mirror, `bytes` the size of all files."""

    lines: int
    devices: int
    bytes: int
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing was found that costs a line."""
        return not any(finding.harm for finding in self.findings)


class _Place(Struct):
    file: str
    offset: int
    line: Line


class _Chain:
    """Who names whom. Hashes are cut to 16 bytes: a million lines are a few hundred MB otherwise."""

    def __init__(self, knows: Callable[[Line], bool], horizon: str) -> None:
        self.prevs: dict[bytes, bytes] = {}
        self.children: dict[bytes, list[bytes] | bytes] = {}
        self.newer: Counter[tuple[str, str]] = Counter()
        self.future: Counter[str] = Counter()
        self._knows = knows
        self._horizon = horizon

    def apply(self, line: Line) -> None:
        digest = bytes.fromhex(line.hash)[:16]
        prev = _key(line.prev, line.by.device)
        self.prevs[digest] = prev
        known = self.children.get(prev)
        if known is None:
            self.children[prev] = digest
        elif line.at != LAST:  # lines at the end of time cannot be told apart by their order
            self.children[prev] = [*([known] if isinstance(known, bytes) else known), digest]
        if line.must and (line.v > VERSION or not self._knows(line)):
            self.newer[line.by.device, line.by.core] += 1
        if line.at > self._horizon:
            self.future[line.by.device] += 1

    def forks(self) -> Iterator[list[bytes]]:
        return (known for known in self.children.values() if isinstance(known, list))

    def broken(self) -> Iterator[bytes]:
        """Lines whose `prev` is nowhere."""
        return (digest for digest, prev in self.prevs.items() if len(prev) == 16 and prev not in self.prevs)


def _key(prev: str, device: str) -> bytes:
    """16 bytes for a line; for a device's first one something else, of its own."""
    try:
        named = bytes.fromhex(prev)
    except ValueError:
        named = b""
    return named[:16] if len(named) == 32 else b"first " + device.encode("utf-8", "replace") + b" " * 16


def verify(
    folder: Path,
    mirror: Mirror[Line] | None,
    shape: VaultShape,
    *,
    device: str,
    saved: Marks | None,
    retired: frozenset[bytes],
    knows: Callable[[Line], bool],
    horizon: str,
) -> Verdict:
    """`saved` are marks of an earlier reading, `retired` hashes of lines given up here, `knows` whether an action is
    understood, `horizon` the stamp beyond which a line comes from the future."""
    chain = _Chain(knows, horizon)
    replay = Replay(folder, mirror, shape, device=device, apply=chain.apply)
    replay.run(keep=False)
    marks = replay.marks
    lost = {bytes.fromhex(name) for name in marks.missing}
    pending = {digest for digest in replay.pending if digest not in replay.seen}
    gone = {line.hash: line for line in mirror.fetch(lost)} if mirror and lost else {}
    broken = set(chain.broken())
    forks = list(chain.forks())
    places: dict[bytes, _Place] = {}
    twins: dict[tuple[str, str], list[_Place]] = defaultdict(list)
    damage: list[Finding] = []
    torn: dict[int, bytes] = {}
    if broken or forks or gone or any(mark.damage.total for mark in marks.files.values()):
        wanted = broken | {digest for fork in forks for digest in fork}
        moments = {(line.by.device, line.at) for line in gone.values()}
        for place in _places(folder, shape, marks, damage, torn):
            digest = bytes.fromhex(place.line.hash)[:16]
            if digest in wanted:
                places.setdefault(digest, place)
            if (place.line.by.device, place.line.at) in moments:
                twins[place.line.by.device, place.line.at].append(place)
    _mend(damage, torn, _places(folder, shape, marks, [], {}) if torn else ())
    altered = _altered(chain, gone, places, twins)
    found = [
        *_gaps(chain, broken, places, marks, saved, retired),
        *_forks(forks, places, altered),
        *altered.values(),
        *_missing(marks, device),
        *_pending(len(pending), device),
        *_elsewhere(marks),
        *damage,
        *_not_here(marks),
        *_newer(chain),
    ]
    return Verdict(lines=marks.lines, devices=marks.devices, bytes=marks.bytes, findings=tuple(_capped(found)))


def _places(
    folder: Path, shape: VaultShape, marks: Marks, damage: list[Finding], torn: dict[int, bytes]
) -> Iterator[_Place]:
    """Every line on disk with its place; damage is added on the way, and of what is torn, by its index, the bytes."""
    for name, (path, _) in shape.files(folder).found.items():
        if marks.files.get(name, Mark(foreign=True)).foreign:
            continue
        try:
            file, status = open_behind(path, Mark())
        except OSError:
            continue  # counted as unreadable by the reading before
        try:
            for block, end, whole in blocks(file, 0, status.st_size):
                if block is None:
                    damage.append(_damaged(name, end, "oversize"))
                    continue
                offset = end - len(block)
                for piece in block.split(b"\n"):
                    trial = Damage()
                    for line in shape.decode(piece, trial, name=name, first=0):
                        yield _Place(name, offset, line)
                    last = not whole and offset + len(piece) == end
                    if trial.total and not last:
                        if trial.torn and len(piece) >= _TELLING:
                            torn[len(damage)] = piece  # the first kind of `_DAMAGE`
                        damage += (_damaged(name, offset, kind) for kind in _DAMAGE if getattr(trial, kind))
                    offset += len(piece) + 1
        finally:
            os.close(file)


def _mend(damage: list[Finding], torn: dict[int, bytes], places: Iterable[_Place]) -> None:
    """Where a torn piece is the beginning of a line that stands whole in some file, nothing was lost."""
    for place in places:
        for index in [index for index, piece in torn.items() if place.line.raw.startswith(piece)]:
            del torn[index]
            words = "The beginning of a line stands here; the whole line stands elsewhere, and was read."
            damage[index] = replace(damage[index], kind="untidy", words=words, harm=False)


def _damaged(name: str, offset: int, kind: str) -> Finding:
    harmless = kind in _HARMLESS
    return Finding(
        kind="untidy" if harmless else "damaged", words=_DAMAGE[kind], file=name, offset=offset, harm=not harmless
    )


def _altered(
    chain: _Chain,
    gone: dict[str, Line],
    places: dict[bytes, _Place],
    twins: dict[tuple[str, str], list[_Place]],
) -> dict[bytes, Finding]:
    """Lines on disk that stand where the mirror holds another, by hash: the same moment of the same device, or the same
    predecessor while only the mirrored one has a successor."""
    found: dict[bytes, Finding] = {}
    for name, line in gone.items():
        digest = bytes.fromhex(name)[:16]
        near = list(twins.get((line.by.device, line.at), ()))
        siblings = chain.children.get(_key(line.prev, line.by.device), b"")
        if digest in chain.children and isinstance(siblings, list):
            near += [places[one] for one in siblings if one in places and one not in chain.children]
        for place in near:
            if place.line.hash == name or place.line.hash in gone:
                continue
            found[bytes.fromhex(place.line.hash)[:16]] = Finding(
                kind="altered",
                words="A line was changed after it was written. Both forms count; this computer kept the first one.",
                device=line.by.device,
                file=place.file,
                offset=place.offset,
                line=place.line.hash,
            )
    return found


def _gaps(
    chain: _Chain,
    broken: Iterable[bytes],
    places: dict[bytes, _Place],
    marks: Marks,
    saved: Marks | None,
    retired: frozenset[bytes],
) -> Iterator[Finding]:
    given_up = {digest[:16] for digest in retired}
    absent = {name.partition("/")[0] for name in marks.absent}
    for digest in broken:
        place = places.get(digest)
        device = place.line.by.device if place else ""
        if device in absent or marks.unreadable:
            continue  # what is named may be in the file that is not here
        before = saved.files.get(place.file) if saved and place else None
        kind: FindingKind
        if chain.prevs[digest] in given_up:
            kind, words = "given_up", "The line before this one was given up on this computer."
        elif place and before and before.offset > place.offset and marks.files[place.file].size >= before.size:
            # As long as it was, and yet what this line names is not in it.
            kind = "altered"
            words = "The line before this one is not the one that was written: the file was changed in place."
        else:
            kind = "gap"
            words = "This line follows one that is nowhere: it has not arrived yet, or it was taken out or changed."
        yield Finding(
            kind=kind,
            words=words,
            device=device,
            file=place.file if place else "",
            offset=place.offset if place else -1,
            line=place.line.hash if place else digest.hex(),
            harm=kind != "given_up",
        )


def _forks(forks: list[list[bytes]], places: dict[bytes, _Place], altered: dict[bytes, Finding]) -> Iterator[Finding]:
    for fork in forks:
        lines = [digest for digest in fork if digest not in altered]
        # The line that an altered one replaced is no second branch.
        if len(lines) < 2 or len(lines) < len(fork):
            continue
        place = next((places[digest] for digest in lines if digest in places), None)
        yield Finding(
            kind="fork",
            words="Two lines follow the same one: this device was copied or restored. Nothing is lost, both are kept.",
            device=place.line.by.device if place else "",
            file=place.file if place else "",
            offset=place.offset if place else -1,
            line=place.line.hash if place else lines[0].hex(),
            count=len(lines),
            harm=False,
        )


def _missing(marks: Marks, device: str) -> Iterator[Finding]:
    for origin, count in sorted(Counter(marks.missing.values()).items()):
        lines = _number(count, "line")
        if origin == device:
            words = f"{lines} of this device are gone from its files and kept here; the next write puts them back."
        else:
            words = f"{lines} of another device are gone from its files; they count, from this computer's copy."
        yield Finding(kind="missing", words=words, device=origin, count=count)


def _pending(count: int, device: str) -> Iterator[Finding]:
    if count:
        words = f"{_number(count, 'line')} are being written, or their writer stopped; the next write completes them."
        yield Finding(kind="pending", words=words, device=device, count=count, harm=False)


def _elsewhere(marks: Marks) -> Iterator[Finding]:
    for name, mark in marks.files.items():
        if mark.foreign:
            yield Finding(
                kind="other_vault",
                words="This file belongs to another vault and is not read.",
                device=name.partition("/")[0],
                file=name,
                harm=False,
            )
    for device, count in sorted(marks.unplaced.items()):
        yield Finding(
            kind="unplaced",
            words=f"{_number(count, 'line')} do not say which vault they belong to and wait for the beginning of their file.",
            device=device,
            count=count,
        )


def _not_here(marks: Marks) -> Iterator[Finding]:
    for name in marks.absent:
        yield Finding(
            kind="placeholder",
            words="This file is still in the cloud; its lines count when it is here.",
            device=name.partition("/")[0],
            file=name,
            harm=False,
        )
    if marks.unreadable:
        words = f"{_number(marks.unreadable, 'file')} or folders of the history could not be opened."
        yield Finding(kind="unreadable", words=words, count=marks.unreadable)


def _newer(chain: _Chain) -> Iterator[Finding]:
    for (device, core), count in sorted(chain.newer.items()):
        yield Finding(
            kind="newer",
            words=f"{_number(count, 'binding line')} need vir {core or 'of a newer version'} to be understood; what they "
            "are about is withheld until then.",
            device=device,
            count=count,
        )
    for device, count in sorted(chain.future.items()):
        yield Finding(
            kind="future",
            words=f"{_number(count, 'line')} are dated more than a day ahead: a clock was wrong. Later lines come after them "
            "all the same.",
            device=device,
            count=count,
            harm=False,
        )


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _capped(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The first of each kind, and one that counts the rest."""
    counts: Counter[str] = Counter()
    rest: dict[str, Finding] = {}
    for finding in findings:
        counts[finding.kind] += 1
        if counts[finding.kind] <= _MOST:
            yield finding
        else:
            rest[finding.kind] = finding
    for kind, finding in rest.items():
        more = counts[kind] - _MOST
        yield Finding(kind=finding.kind, words=f"{more:,} more of the same kind.", count=more, harm=finding.harm)
