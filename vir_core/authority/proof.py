"""The proof a line carries: made with a private key, and checked from the line alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from vir_core.authority.payload import Payload, batch_bytes, leaf, payload_bytes, payload_of, root_and_paths, root_from
from vir_core.machine import sha256

Sign = Callable[[bytes], bytes]


class Proof(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As it stands on a line; all binary is lower-case hex. `at` is when it was signed. With `count`, the signature is over
    a batch of that many acts of which this is number `index` (from 0), and `path` the hashes that lead to its root."""

    vault: str
    key: str
    at: str
    sig: str
    count: int = 0
    index: int = 0
    path: tuple[str, ...] = ()


class Checked(Struct, frozen=True, array_like=True, gc=False):
    """A proof whose signature is good for its line. Whether it *counts* depends on whose key it is; see `Keys.counts`.

    `act` is the hash of the payload (hex): a copy of a proven line under another stamp is the same act. `sig` are the first
    24 digits of the sha256 of the signature, by which a revocation names it.
    """

    vault: str
    key: str
    at: str
    act: str
    sig: str


_decode = msgspec.json.Decoder(Proof).decode
_encode = msgspec.json.Encoder().encode
_args = msgspec.json.Decoder(dict[str, Any]).decode


def sign_all(payloads: Sequence[Payload], sign: Sign) -> list[Raw]:
    """Proofs for the lines of these payloads, in their order: one signature, however many. All name the same vault, key and
    time. Raises ValueError when they do not, or for none at all."""
    message = to_sign(payloads)
    return proofs_of(payloads, sign(message))


def to_sign(payloads: Sequence[Payload]) -> bytes:
    """The bytes that one signature over these payloads is made of: those of the act, or of the batch.

    Raises ValueError when the payloads differ in vault, key or time, and for none.
    """
    if not payloads or len({(one.vault, one.key, one.at) for one in payloads}) != 1:
        raise ValueError("one signature is by one key, at one time, for one vault")
    if len(payloads) == 1:
        return payload_bytes(payloads[0])
    first = payloads[0]
    root, _ = root_and_paths([leaf(payload_bytes(one)) for one in payloads])
    return batch_bytes(vault=first.vault, key=first.key, at=first.at, count=len(payloads), root=root)


def proofs_of(payloads: Sequence[Payload], signature: bytes) -> list[Raw]:
    """What each line carries, given the signature over `to_sign(payloads)`. It is not checked here."""
    first = payloads[0]
    paths: list[list[bytes]] = [[]]
    if len(payloads) > 1:
        _, paths = root_and_paths([leaf(payload_bytes(one)) for one in payloads])
    proofs: list[Raw] = []
    for index, path in enumerate(paths):
        proof = Proof(
            vault=first.vault,
            key=first.key,
            at=first.at,
            sig=signature.hex(),
            count=len(payloads) if len(payloads) > 1 else 0,
            index=index,
            path=tuple(hash.hex() for hash in path),
        )
        proofs.append(Raw(_encode(proof)))
    return proofs


class Verifier:
    """Checks proofs of lines. A signature is checked once, however many lines of a batch carry it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, bytes], bool] = {}
        self._keys: dict[str, Any] = {}

    def check(self, *, proof: bytes, action: str, subject: str, data: bytes) -> Checked | None:
        """The proof, when its signature is good for exactly this action, subject and data; else `None`. Never raises."""
        try:
            read = _decode(proof)
            args: Mapping[str, Any] = _args(data)
            payload = payload_of(vault=read.vault, key=read.key, at=read.at, action=action, subject=subject, data=args)
            item = payload_bytes(payload)
            message = item
            if read.count:
                path = [bytes.fromhex(hash) for hash in read.path]
                root = root_from(leaf(item), read.index, read.count, path)
                if root is None:
                    return None
                message = batch_bytes(vault=read.vault, key=read.key, at=read.at, count=read.count, root=root)
            signature = bytes.fromhex(read.sig)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        if not self._is_signed(read.key, signature, message):
            return None
        return Checked(read.vault, read.key, read.at, leaf(item).hex(), sha256(signature).hexdigest()[:24])

    def _is_signed(self, key: str, signature: bytes, message: bytes) -> bool:
        place = (key, signature.hex(), sha256(message).digest())
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = self._ask(key, signature, message)
        return known

    def _ask(self, key: str, signature: bytes, message: bytes) -> bool:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if key not in self._keys:
            try:
                self._keys[key] = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
            except ValueError:
                self._keys[key] = None
        public: Ed25519PublicKey | None = self._keys[key]
        if public is None:
            return False
        try:
            public.verify(signature, message)
        except InvalidSignature:
            return False
        return True
