"""Keys, lines proven by them, and memories that trust them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from vir_core.authority import Payload, Signer, payload_of, proofs_of, sign_all, to_sign
from vir_core.journal import By, Damage, Draft, Line
from vir_core.journal.line import decode_lines, encode
from vir_core.memory import Memory

UNPROVEN = Raw(b"")
VAULT, OTHER_VAULT = "v000000000000001", "v000000000000002"
DESK, LAPTOP, PHONE = "d000000000000001", "d000000000000002", "d000000000000003"
NOTE, OTHER = "n000000000000001", "n000000000000002"
WORDS, OTHER_WORDS = "a1" * 32, "b2" * 32


def key(number: int) -> Signer:
    """The same key for the same number."""
    return Signer(bytes([number]) * 32)


ROOT, RECOVERY, SECOND, STRANGER = key(1), key(2), key(3), key(9)


def at(number: int) -> str:
    """A stamp that grows with the number; a day has 1440 of them."""
    return f"2026-11-{1 + number // 1440:02}T{number // 60 % 24:02}:{number % 60:02}:00.000000Z"


def line(
    action: str,
    subject: str,
    data: Mapping[str, Any] = {},
    *,
    when: int = 1,
    device: str = DESK,
    must: bool = False,
    proof: Raw = UNPROVEN,
    core: str = "0.1.0",
    kind: str = "person",
) -> Line:
    draft = Draft(action, subject, dict(data), must=must, proof=proof)
    raw = encode(draft, at=at(when), by=By(kind, "test", device, core), prev="")
    damage = Damage()
    [read] = decode_lines(raw + b"\n", damage)
    assert damage.total == 0
    return read


def payload(
    by: Signer,
    action: str,
    subject: str,
    data: Mapping[str, Any],
    *,
    when: int = 1,
    vault: str = VAULT,
    signed: int | None = None,
) -> Payload:
    moment = at(when if signed is None else signed)
    return payload_of(vault=vault, key=by.public, at=moment, action=action, subject=subject, data=data)


def proven(
    by: Signer,
    action: str,
    subject: str,
    data: Mapping[str, Any] = {},
    *,
    when: int = 1,
    vault: str = VAULT,
    signed: int | None = None,
    device: str = DESK,
    must: bool = False,
) -> Line:
    """A line with a proof; `signed` is when it says it was signed."""
    [proof] = sign_all([payload(by, action, subject, data, when=when, vault=vault, signed=signed)], by.sign)
    return line(action, subject, data, when=when, device=device, must=must, proof=proof)


def batch(by: Signer, acts: Sequence[tuple[str, str, Mapping[str, Any]]], *, when: int = 1) -> list[Line]:
    """Lines under one signature."""
    payloads = [payload(by, action, subject, data, when=when) for action, subject, data in acts]
    proofs = proofs_of(payloads, by.sign(to_sign(payloads)))
    return [
        line(action, subject, data, when=when + place, proof=proof)
        for place, ((action, subject, data), proof) in enumerate(zip(acts, proofs, strict=True))
    ]


def enrolled(
    who: Signer, kind: str, by: Signer, *, when: int = 0, device: str = DESK, signed: int | None = None
) -> Line:
    data = {"public": who.public, "kind": kind, "device": device, "label": ""}
    return proven(by, "key_enrolled", who.id, data, when=when, device=device, must=True, signed=signed)


def revoked(
    who: Signer, by: Signer, *, since: int, seen: Sequence[Line] = (), when: int = 100, signed: int | None = None
) -> Line:
    data = {"lost_since": at(since), "seen": sorted(signature_of(one) for one in seen)}
    return proven(by, "key_revoked", who.id, data, when=when, must=True, signed=signed)


def signature_of(one: Line) -> str:
    """By what a revocation names the signature of a line."""
    from hashlib import sha256

    proof = msgspec.json.decode(one.proof, type=dict[str, Any])
    return sha256(bytes.fromhex(proof["sig"])).hexdigest()[:24]


def note_line(note: str = NOTE, *, when: int = 1, **how: Any) -> Line:
    data = {
        "text": "11" * 32,
        "body": "22" * 32,
        "words": WORDS,
        "category": "gotcha",
        "project": "p00000000000000a",
        "date": "2026-11-01",
        "session": "claude:s1",
        "run": "r000000000000001",
        **how,
    }
    return line("note_written", note, data, when=when, kind="vir")


ROOT_LINE = enrolled(ROOT, "root", ROOT)


def memory_of(*some: Line, root: Signer | None = ROOT, vault: str = VAULT) -> Memory:
    memory = Memory({vault}, root.public if root else "")
    for one in some:
        memory.apply(one)
    return memory
