"""The last pass over the transcripts: what it left unread, so that a look at the vault can say how long that has to live
without reading a transcript. A record of this machine, written by runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.machine import ANYTHING, MachineError, read_bytes, write_atomic
from vir_core.transcripts import Found, SourceFile

PASS = "pass"

_HELPERS = ("/subagents/", "/agent-")


class LastPass(Struct, frozen=True, kw_only=True):
    """`roots` gives for each folder of transcripts the newest change of a file (nanoseconds since 1970) that the last pass
    over it saw; `waiting` the files of sessions that a default run would take and that none has settled."""

    v: int = 1
    roots: Mapping[str, int] = {}
    waiting: frozenset[str] = frozenset()

    def over(self, found: Found, waiting: Iterable[str]) -> LastPass:
        """This record after a pass over `found`; what was not looked at stays as it was."""
        roots = dict(self.roots)
        for root in found.roots:
            roots[root] = max((file.mtime_ns for file in found.files if file.root == root), default=0)
        here = tuple(f"{root}{sep}" for root in found.roots for sep in "/\\")
        elsewhere = (path for path in self.waiting if not path.startswith(here))
        return LastPass(roots=roots, waiting=frozenset((*elsewhere, *waiting)))

    def waits(self, file: SourceFile) -> bool:
        """Whether the file may hold a session of a person that no run has settled: it was left, or nobody has looked yet.
        Of a file that nobody looked at only its place says whether it is a helper's."""
        if file.path in self.waiting:
            return True
        seen = self.roots.get(file.root)
        place = file.path.replace("\\", "/")
        return (seen is None or file.mtime_ns > seen) and not any(part in place for part in _HELPERS)


def load_pass(state: Path | None) -> LastPass:
    """The record in a vault's state folder; an empty one when it is missing or damaged: then every file may wait."""
    if state is None:
        return LastPass()
    try:
        return _decoder.decode(read_bytes(state / PASS))
    except (OSError, MachineError, msgspec.MsgspecError, UnicodeError):
        return LastPass()


def save_pass(state: Path, before: LastPass, now: LastPass) -> None:
    """Writes it when it changed. Failing to costs only what doctor says."""
    if now == before:
        return
    try:
        write_atomic(state / PASS, msgspec.json.encode(now, order="sorted") + b"\n", expected=ANYTHING, private=True)
    except MachineError:
        return


_decoder = msgspec.json.Decoder(LastPass)
