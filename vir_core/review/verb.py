"""The verb `review`: which of its actions does what, and how a person proves that it was they."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from vir_core.authority import needs_proof
from vir_core.contract import ReviewReply, ReviewRequest
from vir_core.review.committing import Commit, commit
from vir_core.review.deciding import Decision, Found, plan_decisions
from vir_core.review.errors import Conflict, HumanRequired
from vir_core.review.flagging import caller_of_environment
from vir_core.review.opening import House, open_writing
from vir_core.review.page import show
from vir_core.review.queue import queue


class Ask(Protocol):
    """A person at a terminal. None where nobody can be asked."""

    def say(self, text: str) -> None: ...
    def line(self, prompt: str) -> str: ...
    def secret(self, prompt: str) -> str: ...


def review(request: ReviewRequest, ask: Ask | None = None) -> ReviewReply:
    """Raises `NotFound`, `HumanRequired`, `Conflict`, `NewerData`, `RequestError` and what opening and writing raise."""
    return _ACTIONS[request.action](request, ask)


def _queue(request: ReviewRequest, ask: Ask | None) -> ReviewReply:
    del ask
    return queue(request)


def _show(request: ReviewRequest, ask: Ask | None) -> ReviewReply:
    del ask
    return show(request)


def _judge(request: ReviewRequest, ask: Ask | None) -> ReviewReply:
    house = open_writing(request.vault, "review")
    memory = house.memory()
    found: dict[str, Found] = {}

    def look(id: str) -> Found:
        if id not in found:
            found[id] = house.look(memory, id)
        return found[id]

    decisions, refused = plan_decisions(request, request.action, look)
    if not decisions:
        raise Conflict(refused[0].message, "Nothing was changed.")
    del ask
    if any(needs_proof(decision.action) for decision in decisions):
        raise HumanRequired(
            f"Only a person can {request.action} a note, and nothing here shows that one asked for it.",
            "Run it yourself in a terminal, where it asks for your passphrase, or do it in Obsidian.",
        )
    by = "model" if caller_of_environment() else "person"
    outcome = commit(house, Commit(decisions, (), found, by, "cli"))
    return _reply(
        house,
        request.action,
        decisions,
        done=tuple(outcome.done),
        refused=(*refused, *outcome.refused),
        failed=tuple(outcome.failed),
    )


def _reply(house: House, action: str, decisions: list[Decision], **fields: object) -> ReviewReply:
    del decisions
    return ReviewReply(vault=str(house.vault.root), folder=house.vault.folder, action=action, **fields)  # pyright: ignore[reportArgumentType]


_ACTIONS: Mapping[str, Callable[[ReviewRequest, Ask | None], ReviewReply]] = {
    "queue": _queue,
    "show": _show,
    **dict.fromkeys(("approve", "reject", "restore", "strike", "adopt", "undo", "supersede", "expire"), _judge),
}
