"""`prepare` and `commit`: acts that a person signs somewhere else, such as in Obsidian, and that come back signed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vir_core.authority import Payload
from vir_core.contract import Refused, RequestError, ReviewReply, ReviewRequest
from vir_core.memory import Memory
from vir_core.review.committing import Commit, commit
from vir_core.review.deciding import Decision, Found, NewText, why_text
from vir_core.review.errors import Conflict, HumanRequired, NotFound
from vir_core.review.opening import House, open_house, open_writing
from vir_core.review.proving import keys_here, may_judge
from vir_core.review.signing import data_of, prepared, signed
from vir_core.review.verb import decided, judged

_VERBS = {
    "approved": "approve",
    "rejected": "reject",
    "lifted": "restore",
    "superseded": "supersede",
    "expired": "expire",
    "adopted": "adopt",
    "policy_set": "policy",
}


def prepare(request: ReviewRequest) -> ReviewReply:
    """Writes nothing. Raises `HumanRequired` when no key is named and this machine has none that counts."""
    if not request.verb:
        raise RequestError("Say what to prepare.", "Give `verb`: approve, reject, restore, strike …")
    house = open_house(request.vault)
    memory = house.memory()
    may_judge(memory)
    decisions, refused, _ = decided(request, request.verb, house, memory)
    offer = prepared(house.vault.id, _public(request, house, memory), house.journal.clock(), decisions)
    return ReviewReply(
        vault=str(house.vault.root),
        folder=house.vault.folder,
        action="prepare",
        prepared=offer,
        refused=tuple(refused),
    )


def commit_signed(request: ReviewRequest) -> ReviewReply:
    """Appends what was signed, where it still is what the person saw. Nothing is restamped: the acts count as they were signed
    or not at all."""
    read = signed(request.items, request.signature)
    house = open_writing(request.vault, "review")
    memory = house.memory()
    may_judge(memory)
    if read.vault != house.vault.id:
        raise HumanRequired("These acts were signed for another vault.", "Prepare them again for this one.")
    key = next((key for key in memory.keys if key.public == read.key), None)
    if key is None or key.revoked:
        raise HumanRequired(
            "The key that signed does not count in this vault on this device.",
            "Confirm the vault's first key here (vir_core review confirm), or enroll that key.",
        )
    decisions: list[Decision] = []
    proofs: list[msgspec.Raw] = []
    found: dict[str, Found] = {}
    refused: list[Refused] = []
    for payload, proof in zip(read.payloads, read.proofs, strict=True):
        try:
            decision = _decision(request, house, memory, payload, found)
        except NotFound as error:
            refused.append(Refused(id=payload.subject, reason="conflict", message=error.message))
            continue
        if isinstance(decision, Refused):
            refused.append(decision)
        else:
            decisions.append(decision)
            proofs.append(proof)
    if not decisions:
        raise Conflict(refused[0].message, "Nothing was changed. Look at the note again and decide anew.")
    outcome = commit(house, Commit(decisions, proofs, found, "person", "json"))
    return judged(house, "commit", outcome, refused)


def _public(request: ReviewRequest, house: House, memory: Memory) -> str:
    if not request.key:
        here = keys_here(house, memory)
        if not here:
            raise HumanRequired("This device has no key that counts.", "Name the `key` that will sign, or enroll one.")
        return here[0].public
    key = memory.keys.get(request.key)
    if key is None or key.revoked:
        raise NotFound(f"No key of this vault is called {request.key!r}.", "vir_core review enroll shows them.")
    return key.public


def _decision(
    request: ReviewRequest, house: House, memory: Memory, payload: Payload, found: dict[str, Found]
) -> Decision | Refused:
    """The act as it goes on a line, with the texts it names; refused when the note is not as it was seen."""
    if payload.verb not in _VERBS:
        raise RequestError(f"{payload.verb!r} is not decided here.", f"Acts: {', '.join(_VERBS)}.")
    data = data_of(payload)
    if payload.verb == "policy_set":
        name = payload.subject.removeprefix("policy:")
        if memory.policy(name).after != payload.after:
            return Refused(id=payload.subject, reason="conflict", message="It was set anew since you saw it.")
        return Decision(verb="policy", action=payload.verb, subject=payload.subject, data=data)
    note = house.look(memory, payload.subject)
    found[payload.subject] = note
    if payload.digest and payload.digest != note.digest:
        return Refused(
            id=payload.subject, reason="conflict", message="Its words were changed since you saw it; look again."
        )
    texts: Sequence[NewText] = ()
    if payload.verb == "approved" and not note.known:
        texts = (note.text,)
        if note.text.digest != data.get("text") or note.body_sha != data.get("body"):
            return Refused(
                id=payload.subject, reason="conflict", message="Its file was changed since you saw it; look again."
            )
    if data.get("why"):
        why = why_text(payload.subject, request.why)
        if why is None or why.digest != data["why"]:
            raise RequestError("The reason is not the one that was signed.", "Send `why` as it was prepared.")
        texts = (*texts, why)
    if payload.verb == "rejected" and data.get("text"):
        if note.text.digest != data["text"]:
            return Refused(
                id=payload.subject, reason="conflict", message="Its file was changed since you saw it; look again."
            )
        texts = (*texts, note.text)
    verb = "strike" if data.get("struck") else _VERBS[payload.verb]
    return Decision(
        verb=verb, action=payload.verb, subject=payload.subject, data=data, title=note.title, texts=tuple(texts)
    )
