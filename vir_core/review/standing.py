"""How one note stands: what holds it back and what was decided about it."""

from __future__ import annotations

from msgspec import Struct

from vir_core.contract import Trust
from vir_core.memory import Memory, NoteState, trust_of


class Shown(Struct, frozen=True):
    """How often answers held a note, and when last (UTC; empty when never)."""

    times: int = 0
    last: str = ""


class Open(Struct, frozen=True, kw_only=True):
    """Something that keeps a note out of service. `line` is what lifting it must name."""

    line: str
    reason: str
    at: str = ""
    by: str = ""
    why: str = ""
    like: str = ""
    origin: str = ""


class Standing(Struct, frozen=True, kw_only=True):
    trust: Trust
    open: tuple[Open, ...] = ()
    noted: tuple[Open, ...] = ()
    after: str = ""
    digests: tuple[str, ...] = ()
    text: str = ""
    disputed: bool = False
    revision: str = ""
    struck: tuple[str, ...] = ()

    @property
    def since(self) -> str:
        return max((hold.at for hold in self.open), default="")


_REASONS = {"suspended": "flagged", "proposed": "resembles", "unknown_act": "newer"}


def standing_of(memory: Memory, note: NoteState) -> Standing:
    del memory
    holds = tuple(
        Open(line=stamp[2], reason=_REASONS.get(hold, hold), at=stamp[0]) for hold, stamp in note.holds.items()
    )
    return Standing(trust=trust_of(note), open=holds, struck=tuple(note.struck))
