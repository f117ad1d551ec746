"""Decisions as the bytes a person signs, and back."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from vir_core.authority import Payload, Verifier, payload_bytes, payload_of, proofs_of, to_sign
from vir_core.contract import Prepared, PreparedItem, RequestError
from vir_core.review.deciding import Decision
from vir_core.review.errors import HumanRequired
from vir_core.text import canonical

_PREFIX = b"vir/1\n"
_FIELDS = frozenset({"vault", "key", "verb", "subject", "digest", "args", "after", "at"})
_HOW = "Send back the `items` of `review prepare` as they were, and the `signature` over its `bytes`, both together."


class Signed(Struct, frozen=True):
    """What came back from a person: acts of one key at one time, and the proof for each."""

    vault: str
    key: str
    payloads: Sequence[Payload]
    proofs: Sequence[Raw]


def payloads_of(vault: str, key: str, at: str, decisions: Sequence[Decision]) -> list[Payload]:
    """`key` is the public key (hex), `at` the one time of the whole batch."""
    return [
        payload_of(vault=vault, key=key, at=at, action=one.action, subject=one.subject, data=one.data)
        for one in decisions
    ]


def prepared(vault: str, key: str, at: str, decisions: Sequence[Decision]) -> Prepared:
    """What a person signs for these decisions."""
    payloads = payloads_of(vault, key, at, decisions)
    return Prepared(
        bytes=base64.b64encode(to_sign(payloads)).decode(),
        key=key,
        at=at,
        items=tuple(
            PreparedItem(
                id=decision.subject,
                title=decision.title,
                payload=payload_bytes(payload).removeprefix(_PREFIX).decode(),
            )
            for decision, payload in zip(decisions, payloads, strict=True)
        ),
    )


def signed(items: Sequence[str], signature: str) -> Signed:
    """The acts in `items` with a proof for each. Raises `RequestError` for what is no such item, `HumanRequired` when the
    signature is not over exactly these."""
    payloads = [_payload(item) for item in items]
    if not payloads:
        raise RequestError("There is nothing to commit.", _HOW)
    try:
        raw = base64.b64decode(signature, validate=True)
        proofs = proofs_of(payloads, raw)
        to_sign(payloads)
    except (binascii.Error, ValueError) as error:
        raise RequestError(f"The items and their signature do not belong together: {error}.", _HOW) from error
    verifier = Verifier()
    for payload, proof in zip(payloads, proofs, strict=True):
        data = msgspec.json.encode(data_of(payload))
        if verifier.check(proof=bytes(proof), action=payload.verb, subject=payload.subject, data=data) is None:
            raise HumanRequired("The signature is not over these acts, so nobody is known to have decided them.", _HOW)
    return Signed(payloads[0].vault, payloads[0].key, payloads, proofs)


def data_of(payload: Payload) -> dict[str, Any]:
    """The data of the line that carries this act. A line has `digest` and `after` only where its act speaks of them."""
    return {**payload.args, "digest": payload.digest, "after": payload.after}


def _payload(item: str) -> Payload:
    try:
        fields = msgspec.json.decode(item, type=dict[str, Any])
        if fields.keys() != _FIELDS or canonical(fields).decode() != item:
            raise ValueError("it is not what prepare returned")
        return msgspec.convert(fields, type=Payload)
    except (ValueError, TypeError, RecursionError) as error:
        raise RequestError(f"An item cannot be read: {error}.", _HOW) from error
