"""Giving up lines that only the mirror holds, so that a kill at any byte leaves it done or not begun.

1. `retired/retiring` lists the hashes. 2. The audit line, which names the digest of that list, is written like any line:
from the moment the mirror holds it whole, the lines are given up. 3. They are copied to `retired/<device>.jsonl` and taken
out of the mirror; the list goes last. The next writer that finds a list finishes it when the audit line is in the mirror,
and throws it away when it is not.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.journal.damage import Damage
from vir_core.journal.line import Line, decode_lines
from vir_core.journal.mirror import Mirror, guard
from vir_core.machine import ANYTHING, StorageError, append, make_dirs, read_bytes, sha256, write_atomic

LINES_GIVEN_UP = "lines_given_up"


class _GivenUp(Struct):
    list: str = ""


class Retirement:
    """`state` is the machine's folder for the vault; the journal lock is held."""

    def __init__(self, state: Path, mirror: Mirror[Line]) -> None:
        self.folder = state / "retired"
        self._state = state
        self._mirror = mirror
        self._list = self.folder / "retiring"

    def intend(self, hashes: frozenset[bytes]) -> str:
        """Writes the list; returns its digest, sha256 over the sorted hashes. Raises `StorageError`."""
        names = sorted(digest.hex() for digest in hashes)
        make_dirs(self.folder, private=True)
        write_atomic(self._list, "\n".join(names).encode() + b"\n", expected=ANYTHING, private=True)
        return _digest(names)

    def finish(self) -> int:
        """Carries out what an audit line says was given up; returns how many lines. Raises `MachineError`."""
        try:
            names = read_bytes(self._list).decode("ascii", "replace").split()
        except FileNotFoundError:
            return 0
        count = 0
        if self._audited(_digest(names)):
            count = self._retire({bytes.fromhex(name) for name in names})
        _remove(self._list)
        return count

    def hashes(self) -> frozenset[bytes]:
        """Of every line that was given up here."""
        found: set[bytes] = set()
        for path in sorted(self.folder.glob("*.jsonl")):
            try:
                content = path.read_bytes()
            except OSError:
                continue  # they only soften a finding
            found.update(bytes.fromhex(line.hash) for line in decode_lines(content, Damage()))
        return frozenset(found)

    def _audited(self, digest: str) -> bool:
        try:
            content = read_bytes(self._mirror.folder / self._mirror.own)
        except FileNotFoundError:
            return False
        # A line without its end is torn: whoever wrote it was not told that it happened.
        whole = content[: content.rfind(b"\n") + 1]
        pieces = [piece for piece in whole.split(b"\n") if digest.encode() in piece]
        return any(
            line.action == LINES_GIVEN_UP and _named(line) == digest
            for line in decode_lines(b"\n".join(pieces), Damage())
        )

    def _retire(self, hashes: set[bytes]) -> int:
        # A checkpoint or gate that counts them is refused later, because the mirror has shrunk; this one at once.
        _remove(self._state / "checkpoint")
        taken = 0
        for name, (path, _) in self._mirror.files().found.items():
            content = read_bytes(path)
            kept: list[bytes] = []
            out: list[bytes] = []
            for piece in content.split(b"\n"):
                given_up = piece and not piece.startswith(b"#") and self._mirror.shape.digest(piece) in hashes
                (out if given_up else kept).append(piece)
            if not out:
                continue
            aside = self.folder / name
            append(aside, guard(aside) + b"\n".join(out) + b"\n", private=True)
            write_atomic(path, b"\n".join(kept), expected=ANYTHING, private=True)
            taken += len(out)
        return taken


def _digest(names: list[str]) -> str:
    return sha256("\n".join(sorted(names)).encode()).hexdigest()


def _named(line: Line) -> str:
    try:
        return msgspec.json.decode(line.data, type=_GivenUp).list
    except msgspec.MsgspecError:
        return ""


def _remove(path: Path) -> None:
    try:
        os.unlink(path)  # noqa: PTH108
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError.of(error, path) from error
