"""Stopping a note at once, from anywhere and without proof: the verb `flag`, and the property by which a person calls a note wrong."""

from __future__ import annotations

from os import environ

import msgspec

from vir_core.contract import FlagReply, FlagRequest
from vir_core.memory import PLAIN, Held
from vir_core.review.committing import Commit, commit
from vir_core.review.deciding import Decision, why_text
from vir_core.review.opening import open_writing
from vir_core.review.standing import standing_of

FLAGGED = "flagged"


def flag(request: FlagRequest) -> FlagReply:
    """The note is out of the very next answer. Raises `NotFound`, `JournalError`, `StorageError`, `Busy`."""
    house = open_writing(request.vault, "flag")
    memory = house.memory()
    found = house.look(memory, request.id.strip())
    id = found.note.id
    caller = request.caller or caller_of_environment()
    text = why_text(id, request.why)
    decision = Decision(
        verb="flag",
        action="held",
        subject=id,
        data=msgspec.to_builtins(Held(reason=FLAGGED, why=text.digest if text else "")),
        title=found.title,
        texts=(text,) if text else (),
    )
    by = "model" if caller else "person"
    outcome = commit(house, Commit([decision], (), {id: found}, by, "cli"))
    [done] = outcome.done
    now = house.memory()
    state = PLAIN[standing_of(now, now.notes[id]).trust]
    return FlagReply(
        vault=str(house.vault.root),
        folder=house.vault.folder,
        id=id,
        path=done.path,
        title=done.title,
        state=state,  # pyright: ignore[reportArgumentType]
        failed=tuple(outcome.failed),
    )


def caller_of_environment() -> str:
    """The session that runs this command, as the agents say it in the environment of what they start; empty when none does."""
    for source, name in (("claude", "CLAUDE_CODE_SESSION_ID"), ("codex", "CODEX_THREAD_ID")):
        if id := environ.get(name, ""):
            return f"{source}:{id}"
    return ""
