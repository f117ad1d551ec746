"""Who may decide: the table of acts, the bytes a person signs, the proofs that lines carry, the keys that count on this device
and the root it trusts. It knows no notes and writes no lines; it says whether a proof is good and whose it is."""

from __future__ import annotations

from vir_core.authority.acts import ACTS, Act, Effect, effect_of, needs_proof
from vir_core.authority.chain import KINDS, NO_KEYS, AnyKey, Enrolment, Key, Keys, Revocation, key_id, stand
from vir_core.authority.keys import (
    KeyFolder,
    KeyRefused,
    Sealed,
    Signer,
    WrongPassphrase,
    recovery_code,
    signer_from_code,
)
from vir_core.authority.payload import Payload, payload_bytes, payload_of
from vir_core.authority.pin import Pin, read_pin, write_pin
from vir_core.authority.proof import Checked, Proof, Verifier, proofs_of, sign_all, to_sign
from vir_core.authority.words import same_words, six_words

__all__ = [
    "ACTS",
    "KINDS",
    "NO_KEYS",
    "Act",
    "AnyKey",
    "Checked",
    "Effect",
    "Enrolment",
    "Key",
    "KeyFolder",
    "KeyRefused",
    "Keys",
    "Payload",
    "Pin",
    "Proof",
    "Revocation",
    "Sealed",
    "Signer",
    "Verifier",
    "WrongPassphrase",
    "effect_of",
    "key_id",
    "needs_proof",
    "payload_bytes",
    "payload_of",
    "proofs_of",
    "read_pin",
    "recovery_code",
    "same_words",
    "sign_all",
    "signer_from_code",
    "six_words",
    "stand",
    "to_sign",
    "write_pin",
]
