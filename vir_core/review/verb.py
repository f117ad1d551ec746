"""The verb `review`: which of its actions does what, and what of it needs a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Raw

from vir_core.authority import needs_proof
from vir_core.contract import Refused, RequestError, ReviewReply, ReviewRequest
from vir_core.memory import Memory
from vir_core.review.committing import Commit, Outcome, commit
from vir_core.review.deciding import Decision, Found, plan_decisions, policy_decision
from vir_core.review.errors import Conflict, HumanRequired
from vir_core.review.flagging import caller_of_environment
from vir_core.review.opening import House, open_writing
from vir_core.review.page import show
from vir_core.review.proving import Ask, keys_here, may_judge, opened, proofs_by
from vir_core.review.queue import queue

_VERDICTS = ("approve", "reject", "restore", "strike", "adopt", "undo", "supersede", "expire", "policy")


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
    may_judge(memory)
    decisions, refused, found = decided(request, request.action, house, memory)
    needed = any(needs_proof(one.action) or _ends_a_verdict(one, found) for one in decisions)
    house, proofs = _proven(request, house, memory, decisions, ask, needed=needed)
    by = "person" if proofs or not caller_of_environment() else "model"
    outcome = commit(house, Commit(decisions, proofs, found, by, "cli"))
    return judged(house, request.action, outcome, refused)


def decided(
    request: ReviewRequest, verb: str, house: House, memory: Memory
) -> tuple[list[Decision], list[Refused], dict[str, Found]]:
    """What the request means, and the notes it is about. Raises `Conflict` when it fits none of them."""
    found: dict[str, Found] = {}

    def look(id: str) -> Found:
        if id not in found:
            found[id] = house.look(memory, id)
        return found[id]

    if verb == "policy":
        return [policy_decision(request, lambda name: memory.policy(name).after)], [], {}
    request = _without_groups(request, verb, memory)
    decisions, refused = plan_decisions(request, verb, look)
    if not decisions:
        raise Conflict(refused[0].message, "Nothing was changed.")
    return decisions, refused, found


def judged(house: House, action: str, outcome: Outcome, refused: Sequence[Refused]) -> ReviewReply:
    return ReviewReply(
        vault=str(house.vault.root),
        folder=house.vault.folder,
        action=action,
        done=tuple(outcome.done),
        refused=(*refused, *outcome.refused),
        failed=tuple(outcome.failed),
    )


def _without_groups(request: ReviewRequest, verb: str, memory: Memory) -> ReviewRequest:
    """Names of floods replaced by the notes that were flagged in them; for undo without a name, the last verdict given here."""
    import msgspec

    ids: list[str] = []
    for id in request.id:
        origin = id.removeprefix("flood:")
        ids += [id] if origin == id else flooded(memory, origin)
    if verb == "undo" and not ids:
        ids = last_judged(memory)
        if not ids:
            raise RequestError("There is nothing to take back.", "vir_core review undo NOTE")
    return msgspec.structs.replace(request, id=tuple(ids))


def flooded(memory: Memory, origin: str) -> list[str]:
    """The notes whose flags from one place wait as one question."""
    return [
        note.id
        for note in memory.notes.values()
        if note.claims and any(claim.origin == origin for claim in memory.standing(note).noted)
    ]


def last_judged(memory: Memory) -> list[str]:
    """The notes of the last thing a person proved: one verdict, or all of one batch."""
    latest: tuple[tuple[str, str, str], str] = (("", "", ""), "")
    notes: dict[str, list[str]] = {}
    for note in memory.notes.values():
        for claim in note.claims:
            if claim.proof is not None and memory.keys.counts(claim.proof, claim.at):
                latest = max(latest, (claim.stamp, claim.proof.sig))
                notes.setdefault(claim.proof.sig, []).append(note.id)
    return notes.get(latest[1], [])


def _proven(
    request: ReviewRequest,
    house: House,
    memory: Memory,
    decisions: Sequence[Decision],
    ask: Ask | None,
    *,
    needed: bool,
) -> tuple[House, Sequence[Raw]]:
    """The proof of each decision, none where none is needed and none was given; and the vault with the keys it has by then."""
    if ask is not None:
        here = keys_here(house, memory)
        if here:
            prompt = "Your passphrase: " if needed else "Your passphrase (Enter alone: only hold it back for now): "
            signer = opened(house, here[0], ask, prompt)
            if signer is not None:
                return house, proofs_by(house, signer, decisions)
        elif needed and not memory.root and not memory.keys.strangers:
            from vir_core.review.keyring import found, reopened

            ask.say(
                "Only you can let a note in. For that you need a key; it lies on this machine behind a passphrase.\n"
            )
            made = found(house, ask)
            ask.say(f"Write this recovery code down, it is shown once:  {made.code}\n")
            house = reopened(house)
            return house, proofs_by(house, made.signer, decisions)
    if needed:
        raise _human_required(request, memory, asked=ask is not None)
    return house, ()


def _ends_a_verdict(decision: Decision, found: Mapping[str, Found]) -> bool:
    """Whether it says the end of what a person judged, which only a person may."""
    known = found.get(decision.subject)
    return decision.verb in ("supersede", "expire") and known is not None and known.standing.verdict != "none"


def _human_required(request: ReviewRequest, memory: Memory, *, asked: bool) -> HumanRequired:
    what = f"Only a person can {request.action}, and nothing here proves that one asked for it."
    if not asked:
        return HumanRequired(
            what,
            "Run it yourself in a terminal, where it asks for your passphrase, or do it in Obsidian. For programs: `prepare`, let "
            "the person's key sign, `commit`.",
        )
    if not memory.root and memory.keys.strangers:
        return HumanRequired(what, "This device does not trust the vault's first key yet: vir_core review confirm.")
    if not any(not key.revoked for key in memory.keys):
        return HumanRequired(what, "Make a key first: vir_core review enroll.")
    return HumanRequired(what, "Give your passphrase; a device without a key gets one with: vir_core review enroll.")


def _prepare(request: ReviewRequest, ask: Ask | None) -> ReviewReply:
    from vir_core.review.offering import prepare

    del ask
    return prepare(request)


def _commit(request: ReviewRequest, ask: Ask | None) -> ReviewReply:
    from vir_core.review.offering import commit_signed

    del ask
    return commit_signed(request)


def _keys(name: str) -> Callable[[ReviewRequest, Ask | None], ReviewReply]:
    def act(request: ReviewRequest, ask: Ask | None) -> ReviewReply:
        from vir_core.review import keyring

        actions = {
            "enroll": keyring.enroll,
            "confirm": keyring.confirm,
            "revoke": keyring.revoke,
            "start-over": keyring.start_over,
        }
        return actions[name](request, ask)

    return act


_ACTIONS: Mapping[str, Callable[[ReviewRequest, Ask | None], ReviewReply]] = {
    "queue": _queue,
    "show": _show,
    "prepare": _prepare,
    "commit": _commit,
    **dict.fromkeys(_VERDICTS, _judge),
    **{name: _keys(name) for name in ("enroll", "confirm", "revoke", "start-over")},
}
