"""How a person shows that it was they: with the passphrase of this device's key, or with acts that were signed elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Raw

from vir_core.authority import KeyFolder, Sealed, Signer, WrongPassphrase, sign_all
from vir_core.memory import Memory
from vir_core.review.deciding import Decision
from vir_core.review.errors import HumanRequired, NewerData
from vir_core.review.opening import House
from vir_core.review.signing import payloads_of

TRIES = 3


class Ask(Protocol):
    """A person at a terminal. `None` where nobody can be asked."""

    def say(self, text: str) -> None: ...
    def line(self, prompt: str) -> str: ...
    def secret(self, prompt: str) -> str: ...


def keys_here(house: House, memory: Memory) -> list[Sealed]:
    """The keys of this machine that count now. Raises `KeyRefused` for one that cannot be read."""
    folder = KeyFolder(house.vault.state)
    return [sealed for sealed in folder.list() if (key := memory.keys.get(sealed.id)) is not None and not key.revoked]


def opened(house: House, sealed: Sealed, ask: Ask, prompt: str) -> Signer | None:
    """The key behind a passphrase; `None` when the person gave none. Raises `HumanRequired` after three wrong ones."""
    folder = KeyFolder(house.vault.state)
    for _ in range(TRIES):
        passphrase = ask.secret(prompt)
        if not passphrase:
            return None
        try:
            return folder.open(sealed, passphrase)
        except WrongPassphrase as error:
            ask.say(f"{error.message}\n")
    raise HumanRequired("That was not the passphrase of this device's key, so nothing was decided.", "Try it again.")


def proofs_by(house: House, signer: Signer, decisions: Sequence[Decision]) -> list[Raw]:
    """One signature over all of them, as each line carries it."""
    at = house.journal.clock()
    return sign_all(payloads_of(house.vault.id, signer.public, at, decisions), signer.sign)


def strangers_told(memory: Memory) -> tuple[str, ...]:
    """What a person should know of first keys that this device does not trust."""
    if not memory.keys.strangers:
        return ()
    if not memory.root:
        return ("Somebody made a key for this vault on another device; if that was you: vir_core review confirm.",)
    return tuple(
        f"There is a first key {one.id} in this vault that this device does not trust, made {one.at[:10]}."
        for one in memory.keys.strangers
    )


def may_judge(memory: Memory) -> None:
    """Raises `NewerData` when a newer vir set something for the whole vault: until it is known, nobody judges here."""
    if needed := memory.policy_needs:
        raise NewerData(
            f"vir {needed} decided something about this vault that this version does not know, so nothing can be judged here.",
            f"Update vir to {needed} or later.",
        )
