"""Whose proofs count: the keys that lead back to the root this device trusts, and since when a lost one does not.

A set of enrolments and a set of revocations go in; the order in which they became known does not matter.

*Rank.* The root and recovery keys may enrol and revoke every key; a device's key may enrol devices and revoke itself. Where
the root and a recovery key revoke each other, both are revoked: whoever stole one of them cannot outlive the other, and the
person starts over.

*Dates.* A proof has two dates, the one that was signed and the stamp of its line; the later one counts. Both can be forged
by whoever holds the key. So a revocation also names every signature of the lost key that its writer had seen: from then on
no other signature of that key counts, whatever dates it bears. What cannot be known is whether a signature that the writer
had seen, dated before the loss, was made by the person.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from vir_core.authority.proof import Checked
from vir_core.text import canonical, sha256_hex

Kind = Literal["root", "device", "recovery"]
KINDS: frozenset[str] = frozenset({"root", "device", "recovery"})


class Enrolment(Struct, frozen=True, array_like=True, gc=False):
    """A line that enrols key `id` with this public key (hex) as `kind`, under a good signature, at stamp `at`. `line` is its
    hash; `label` the digest of a text with the device's name."""

    line: str
    at: str
    device: str
    id: str
    public: str
    kind: str
    label: str
    proof: Checked


class Revocation(Struct, frozen=True, array_like=True, gc=False):
    """A line that says key `id` was lost since `since` (as `at`), under a good signature. `seen` are the signatures of that
    key which its writer knew, as `Checked.sig`."""

    line: str
    at: str
    id: str
    since: str
    seen: frozenset[str]
    proof: Checked


class Key(Struct, frozen=True):
    """A key that leads back to the root. `since` is empty unless it was revoked; `at` is when it was enrolled."""

    id: str
    public: str
    kind: Kind
    at: str
    device: str
    label: str
    since: str = ""
    seen: frozenset[str] | None = None

    @property
    def revoked(self) -> bool:
        return self.seen is not None


def key_id(public: str) -> str:
    """`k` + 15 hex of a public key (hex)."""
    return "k" + sha256_hex(canonical(["vir-key/1", public]))[:15]


class Keys:
    """The keys that count on this device. `root` is the public key it trusts, empty when it trusts none; `strangers` are the
    roots that lines speak of and this device does not trust."""

    def __init__(
        self, root: str, keys: Iterable[Key], vaults: Collection[str], strangers: tuple[Enrolment, ...]
    ) -> None:
        self.root = root
        self.strangers = strangers
        self.vaults = frozenset(vaults)
        self._by_public = {key.public: key for key in keys}

    def __iter__(self) -> Iterator[Key]:
        return iter(self._by_public.values())

    def __len__(self) -> int:
        return len(self._by_public)

    @property
    def any_valid(self) -> bool:
        return any(not key.revoked for key in self._by_public.values())

    def get(self, id: str) -> Key | None:
        """A key by its id."""
        return next((key for key in self._by_public.values() if key.id == id), None)

    def counts(self, proof: Checked | None, at: str) -> bool:
        """Whether a proof on a line with stamp `at` is a person's word here."""
        if proof is None or proof.vault not in self.vaults:
            return False
        key = self._by_public.get(proof.key)
        return key is not None and _holds(key, proof, at)


def _holds(key: Key, proof: Checked, at: str) -> bool:
    if key.seen is None:
        return True
    return max(proof.at, at) < key.since and proof.sig in key.seen


class AnyKey(Keys):
    """Every key there is: what a device goes by that trusts none yet, where the question is what to withhold."""

    def __init__(self, vaults: Collection[str]) -> None:
        super().__init__("", (), vaults, ())

    def counts(self, proof: Checked | None, at: str) -> bool:
        return proof is not None and proof.vault in self.vaults


NO_KEYS = Keys("", (), (), ())


class _Lost(Struct, frozen=True):
    since: str
    seen: frozenset[str]


def stand(
    enrolments: Sequence[Enrolment], revocations: Sequence[Revocation], *, root: str, vaults: Collection[str]
) -> Keys:
    """The keys that lead back to `root` (a public key, hex; empty: none does). Pure; any order of the lines gives the same."""
    enrolled = [one for one in enrolments if one.proof.vault in vaults and one.id == key_id(one.public)]
    founders = [one for one in enrolled if one.kind == "root" and one.proof.key == one.public]
    strangers = tuple(sorted((one for one in founders if one.public != root), key=lambda one: (one.at, one.line)))
    if not root:
        return Keys("", (), vaults, strangers)
    revoked = [one for one in revocations if one.proof.vault in vaults]
    mine = min((one for one in founders if one.public == root), key=lambda one: (one.at, one.line), default=None)

    # Who ever could be at the top, whatever was revoked since: two that revoke each other must both lose, and asking
    # first whether a revocation is by a revoked key would have no answer.
    recoveries = [one for one in enrolled if one.kind == "recovery"]
    top = {root}
    while grown := {one.public for one in recoveries if one.proof.key in top} - top:
        top |= grown
    lost: dict[str, _Lost] = {}
    ids = {key_id(public): public for public in top}
    for one in revoked:
        if one.id in ids and one.proof.key in top:
            _lose(lost, ids[one.id], one)

    keys = {root: _key(root, "root", mine, lost)}
    _admit(keys, recoveries, lost)
    top_keys = dict(keys)
    devices = [one for one in enrolled if one.kind == "device"]
    targets = {one.id: one.public for one in devices if one.public not in top}
    for one in revoked:
        public = targets.get(one.id)
        signer = top_keys.get(one.proof.key)
        if public and (one.proof.key == public or (signer is not None and _holds(signer, one.proof, one.at))):
            _lose(lost, public, one)
    _admit(keys, devices, lost)
    return Keys(root, keys.values(), vaults, strangers)


def _lose(lost: dict[str, _Lost], public: str, by: Revocation) -> None:
    known = lost.get(public)
    lost[public] = _Lost(
        by.since if known is None else min(known.since, by.since), by.seen if known is None else known.seen & by.seen
    )


def _admit(keys: dict[str, Key], candidates: Sequence[Enrolment], lost: Mapping[str, _Lost]) -> None:
    """Adds every candidate that a key already there enrolled while it counted, through any number of steps."""
    waiting = sorted(candidates, key=lambda one: (one.at, one.line))
    while True:
        left = [one for one in waiting if one.public not in keys]
        admitted = [
            one for one in left if (by := keys.get(one.proof.key)) is not None and _holds(by, one.proof, one.at)
        ]
        if not admitted:
            return
        for one in admitted:
            if one.public not in keys:
                keys[one.public] = _key(one.public, "recovery" if one.kind == "recovery" else "device", one, lost)
        waiting = left


def _key(public: str, kind: Kind, enrolled: Enrolment | None, lost: Mapping[str, _Lost]) -> Key:
    gone = lost.get(public)
    return Key(
        key_id(public),
        public,
        kind,
        enrolled.at if enrolled else "",
        enrolled.device if enrolled else "",
        enrolled.label if enrolled else "",
        gone.since if gone else "",
        gone.seen if gone else None,
    )
