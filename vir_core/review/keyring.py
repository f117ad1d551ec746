"""Keys: the first one of a vault, one for another device, the six words that compare them, a lost one, and starting over."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from vir_core.authority import (
    ACTS,
    Key,
    KeyFolder,
    KeyRefused,
    Pin,
    Signer,
    read_pin,
    recovery_code,
    same_words,
    sign_all,
    signer_from_code,
    six_words,
    write_pin,
)
from vir_core.contract import KeyInfo, RequestError, ReviewReply, ReviewRequest
from vir_core.journal import Draft
from vir_core.memory import AuthorityStartedOver, KeyEnrolled, KeyRevoked, Memory
from vir_core.review.committing import VERB, remember
from vir_core.review.deciding import Decision
from vir_core.review.errors import Conflict, HumanRequired, NotFound
from vir_core.review.opening import House, open_writing
from vir_core.review.proving import Ask, keys_here, opened
from vir_core.review.signing import payloads_of

SHORTEST = 8
"""Characters of a passphrase."""

START_OVER = "start over"

_AT_A_TERMINAL = "Run it yourself in a terminal, or do it in Obsidian."
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d{6})?Z)?\Z")


class Founded(Struct, frozen=True):
    signer: Signer
    code: str


def enroll(request: ReviewRequest, ask: Ask | None) -> ReviewReply:
    """A key for this device: the first of the vault, else one that the recovery code lets in."""
    person = _person(ask, "make a key")
    house = open_writing(request.vault, VERB)
    memory = house.memory()
    if keys_here(house, memory):
        return _reply(house, memory, "enroll", notices=("This device has a key already.",))
    if not memory.root and not memory.keys.strangers:
        founded = found(house, person)
        return _reply(house, reopened(house).memory(), "enroll", code=founded.code)
    if not memory.root:
        _trust(house, memory, person, "")
        house = reopened(house)
        memory = house.memory()
        if keys_here(house, memory):
            return _reply(house, memory, "enroll")
    by = _recovered(memory, person)
    passphrase = _new_passphrase(person)
    signer = Signer.make()
    KeyFolder(house.vault.state).seal(signer, passphrase, kind="device")
    act = KeyEnrolled(public=signer.public, kind="device", device=house.standing.device)
    _append(house, [_decision("key_enrolled", signer.id, act)], by)
    return _reply(house, house.memory(), "enroll")


def confirm(request: ReviewRequest, ask: Ask | None) -> ReviewReply:
    """This device trusts the first key of the vault once a person has compared its six words."""
    person = _person(ask, "trust a key")
    house = open_writing(request.vault, VERB)
    memory = house.memory()
    if memory.root:
        raise Conflict(
            "This device trusts the vault's first key already.",
            "If that key was lost or is not yours: vir_core review start-over.",
        )
    _trust(house, memory, person, request.id[0] if request.id else "")
    house = reopened(house)
    return _reply(house, house.memory(), "confirm")


def revoke(request: ReviewRequest, ask: Ask | None) -> ReviewReply:
    """What a lost key signed since `lost_since` does not count, nor what it signs from now on."""
    if len(request.id) != 1 or not _MOMENT.match(request.lost_since):
        raise RequestError(
            "Say which key was lost, and since when.", "vir_core review revoke KEY --lost-since 2026-11-30"
        )
    person = _person(ask, "revoke a key")
    house = open_writing(request.vault, VERB)
    memory = house.memory()
    key = memory.keys.get(request.id[0])
    if key is None:
        known = ", ".join(f"{one.id} ({one.kind})" for one in memory.keys) or "none"
        raise NotFound(f"No key of this vault is called {request.id[0]!r}.", f"Keys: {known}.")
    if key.revoked:
        raise Conflict("That key is revoked already.", "Nothing was changed.")
    since = request.lost_since if "T" in request.lost_since else f"{request.lost_since}T00:00:00.000000Z"
    since = since if "." in since else since.replace("Z", ".000000Z")
    act = KeyRevoked(lost_since=since, seen=memory.signatures_of(key.public))
    _append(house, [_decision("key_revoked", key.id, act)], _who_may(house, memory, key, person))
    return _reply(house, house.memory(), "revoke")


def start_over(request: ReviewRequest, ask: Ask | None) -> ReviewReply:
    """A new first key; what the old ones proved does not count here any more."""
    person = _person(ask, "start over")
    house = open_writing(request.vault, VERB)
    former = read_pin(house.vault.state)
    person.say(
        "This device will trust a new key and none of those before. Notes you approved count as new until you approve them\n"
        "again; what was rejected stays out of answers. Your other devices ask you to confirm the new key.\n"
    )
    if person.line(f"Type {START_OVER} to do that: ").strip().casefold() != START_OVER:
        raise HumanRequired("Nothing was changed.", f"Type `{START_OVER}` to start over.")
    founded = found(house, person, former=former)
    house = reopened(house)
    return _reply(house, house.memory(), "start-over", code=founded.code)


def found(house: House, ask: Ask, *, former: Pin | None = None) -> Founded:
    """Makes the first key of the vault with its recovery code, and trusts it here. Nothing is trusted before the lines that
    enroll it are written; a process that dies in between leaves a key that `enroll` goes on with."""
    passphrase = _new_passphrase(ask)
    signer = Signer.make()
    code, recovery = recovery_code()
    KeyFolder(house.vault.state).seal(signer, passphrase, kind="root")
    acts = [
        _decision(
            "key_enrolled", signer.id, KeyEnrolled(public=signer.public, kind="root", device=house.standing.device)
        ),
        _decision("key_enrolled", recovery.id, KeyEnrolled(public=recovery.public, kind="recovery")),
    ]
    if former is not None:
        over = AuthorityStartedOver(root=signer.public, former=former.public)
        acts.append(_decision("authority_started_over", house.vault.id, over))
    _append(house, acts, signer)
    _pin(house, signer.public, "made", former)
    return Founded(signer, code)


def reopened(house: House) -> House:
    """The same vault with the keys that this device trusts by now."""
    return House(house.vault, house.standing)


def key_infos(house: House, memory: Memory, *, words: bool = False, code: str = "") -> tuple[KeyInfo, ...]:
    """Every key that leads back to the root; the root with its six words when asked (a tenth of a second)."""
    here = {sealed.id for sealed in KeyFolder(house.vault.state).list()}
    return tuple(
        KeyInfo(
            id=key.id,
            kind=key.kind,
            valid=not key.revoked,
            here=key.id in here,
            since=key.at,
            words=" ".join(six_words(key.public)) if words and key.kind == "root" else "",
            code=code if key.kind == "recovery" else "",
        )
        for key in sorted(memory.keys, key=lambda key: (key.at, key.id))
    )


def _person(ask: Ask | None, what: str) -> Ask:
    if ask is None:
        raise HumanRequired(f"Only a person can {what}, and nobody can be asked here.", _AT_A_TERMINAL)
    return ask


def _trust(house: House, memory: Memory, ask: Ask, id: str) -> None:
    strangers = [one for one in memory.keys.strangers if id in ("", one.id)]
    if not strangers:
        raise NotFound("There is no key here that waits for you.", "Make the first one: vir_core review enroll.")
    mine = {sealed.public: sealed for sealed in KeyFolder(house.vault.state).list() if sealed.kind == "root"}
    for one in strangers:
        if one.public in mine:
            # Made here by a process that died before it was trusted.
            if opened(house, mine[one.public], ask, "The passphrase you chose for this device's key: ") is None:
                raise HumanRequired("Nothing was trusted.", _AT_A_TERMINAL)
            _pin(house, one.public, "made", None)
            return
    typed = ask.line("Type the six words that the device which made the key shows: ")
    for one in strangers:
        if same_words(typed, six_words(one.public)):
            _pin(house, one.public, "confirmed", None)
            return
    raise HumanRequired(
        "These are not the words of a key in this vault, so nothing was trusted.",
        "Compare them with what the other device shows (vir_core review enroll). If they differ there, somebody else made a key.",
    )


def _pin(house: House, public: str, how: str, former: Pin | None) -> None:
    gone = (*former.former, former.public) if former else ()
    pin = Pin(public=public, how="made" if how == "made" else "confirmed", at=house.journal.clock(), former=gone)
    write_pin(house.vault.state, pin, over=former)


def _recovered(memory: Memory, ask: Ask) -> Signer:
    """The key behind a recovery code, when it counts."""
    try:
        signer = signer_from_code(ask.line("Your recovery code: "))
    except KeyRefused as error:
        raise HumanRequired(error.message, error.hint) from error
    key = memory.keys.get(signer.id)
    if key is None or key.revoked:
        raise HumanRequired("That code is not one of this vault's.", "Type the code that was shown with the first key.")
    return signer


def _who_may(house: House, memory: Memory, lost: Key, ask: Ask) -> Signer:
    for sealed in keys_here(house, memory):
        key = memory.keys.get(sealed.id)
        if key is not None and (key.kind == "root" or key.id == lost.id):
            signer = opened(house, sealed, ask, "Your passphrase (Enter alone: use the recovery code): ")
            if signer is not None:
                return signer
    return _recovered(memory, ask)


def _new_passphrase(ask: Ask) -> str:
    first = ask.secret("Choose a passphrase for your key: ")
    if len(first) < SHORTEST:
        raise HumanRequired("No key was made.", f"A passphrase has at least {SHORTEST} characters.")
    if ask.secret("The same again: ") != first:
        raise HumanRequired("The two were not the same, so no key was made.", "Try it again.")
    return first


def _decision(action: str, subject: str, act: Struct) -> Decision:
    return Decision(verb=action, action=action, subject=subject, data=msgspec.to_builtins(act))


def _append(house: House, acts: Sequence[Decision], signer: Signer) -> None:
    at = house.journal.clock()
    proofs: list[Raw] = sign_all(payloads_of(house.vault.id, signer.public, at, acts), signer.sign)
    with house.journal.writing(VERB, house.make) as writer:
        drafts = [
            Draft(act.action, act.subject, dict(act.data), must=ACTS[act.action].must, proof=proof)
            for act, proof in zip(acts, proofs, strict=True)
        ]
        writer.append(drafts, kind="person", surface="cli")
        reading = writer.reading
    remember(house, reading)


def _reply(house: House, memory: Memory, action: str, *, code: str = "", notices: tuple[str, ...] = ()) -> ReviewReply:
    keys = key_infos(house, memory, words=True, code=code)
    return ReviewReply(
        vault=str(house.vault.root), folder=house.vault.folder, action=action, keys=keys, notices=notices
    )
