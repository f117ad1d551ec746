"""Stopping a note at once, from anywhere and without proof: the verb `flag`, and the property by which a person calls a note wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from os import environ

import msgspec

from vir_core.contract import FlagReply, FlagRequest
from vir_core.journal import Draft
from vir_core.memory import FlagNoted, Held, Memory
from vir_core.review.committing import Commit, commit
from vir_core.review.deciding import Decision, why_text
from vir_core.review.opening import open_writing
from vir_core.review.standing import FLAGGED, MARKED
from vir_core.vault import Seen

MOST_FLAGS = 20
"""Notes that one place may stop within `WINDOW`; a person is asked about all further ones at once, and they stay in service
until then, so that one agent gone wrong cannot empty a vault."""

WINDOW = timedelta(days=1)


def flag(request: FlagRequest) -> FlagReply:
    """The note is out of the very next answer. Raises `NotFound`, `JournalError`, `StorageError`, `Busy`."""
    house = open_writing(request.vault, "flag")
    memory = house.memory()
    found = house.look(memory, request.id.strip())
    id = found.note.id
    caller = request.caller or caller_of_environment()
    origin = caller or f"cli@{house.standing.device}"
    text = why_text(id, request.why)
    why = text.digest if text else ""
    others = flags_of(memory, origin, datetime.now(UTC))
    flood = len(others) >= MOST_FLAGS
    act = FlagNoted(why=why, origin=origin) if flood else Held(reason=FLAGGED, why=why, origin=origin)
    decision = Decision(
        verb="flag",
        action="flag_noted" if flood else "held",
        subject=id,
        data=msgspec.to_builtins(act),
        title=found.title,
        texts=(text,) if text else (),
    )
    by = "model" if caller else "person"
    outcome = commit(house, Commit([decision], (), {id: found}, by, "cli"))
    [done] = outcome.done
    return FlagReply(
        vault=str(house.vault.root),
        folder=house.vault.folder,
        id=id,
        path=done.path,
        title=done.title,
        state=done.state,  # pyright: ignore[reportArgumentType]
        withheld=not flood,
        together=len({*others, id}) if flood else 0,
        failed=tuple(outcome.failed),
    )


def called_wrong(memory: Memory, seen: Seen, device: str) -> list[Draft]:
    """A line for each note that a person called wrong among its properties since anybody last wrote that down. A note that was
    let in again while the property still stands is held again: the property is the later word."""
    drafts: list[Draft] = []
    for id, files in seen.notes.items():
        note = memory.notes.get(id)
        if note is None or note.written is None or not any(file.wrong for file in files):
            continue
        if any(claim.reason == MARKED for claim in memory.standing(note).open) or memory.trust(note) == "rejected":
            continue
        act = Held(reason=MARKED, origin=f"file@{device}")
        drafts.append(Draft("held", id, msgspec.to_builtins(act), must=True))
    return drafts


def flags_of(memory: Memory, origin: str, now: datetime) -> frozenset[str]:
    """The notes that one place flagged within `WINDOW` and nobody has looked at since."""
    horizon = (now - WINDOW).strftime("%Y-%m-%dT%H:%M:%S")
    return frozenset(
        note.id
        for note in memory.notes.values()
        if any(claim.origin == origin and claim.when >= horizon for claim in note.claims)
        and any(
            claim.origin == origin and claim.when >= horizon
            for standing in (memory.standing(note),)
            for claim in (*standing.open, *standing.noted)
        )
    )


def caller_of_environment() -> str:
    """The session that runs this command, as the agents say it in the environment of what they start; empty when none does."""
    for source, name in (("claude", "CLAUDE_CODE_SESSION_ID"), ("codex", "CODEX_THREAD_ID")):
        if id := environ.get(name, ""):
            return f"{source}:{id}"
    return ""
