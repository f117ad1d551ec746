"""`schemas/vectors/proof.json`: what every implementation must give, and what no one may accept."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import msgspec
import pytest

from vir_core.authority import Payload, Signer, Verifier, key_id, payload_bytes, signer_from_code, six_words
from vir_core.authority.payload import MOST, leaf, root_and_paths, root_from
from vir_core.text import canonical

PROJECT = Path(__file__).resolve().parents[2]
VECTORS: dict[str, Any] = json.loads((PROJECT / "schemas" / "vectors" / "proof.json").read_text("utf-8"))
decoded = msgspec.json.decode


def named(part: str) -> Any:
    return pytest.mark.parametrize("case", VECTORS[part], ids=lambda case: case["name"])


def test_the_vectors_are_what_their_script_makes() -> None:
    script = runpy.run_path(str(PROJECT / "fixtures" / "make_proof_vectors.py"))
    assert script["content"]() == (PROJECT / "schemas" / "vectors" / "proof.json").read_bytes()


@named("canonical")
def test_canonical_json(case: dict[str, Any]) -> None:
    assert canonical(json.loads(case["json"])).decode() == case["canonical"]


@named("refused")
def test_what_has_no_canonical_form_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        canonical(json.loads(case["json"]))


@named("payloads")
def test_payload_bytes(case: dict[str, Any]) -> None:
    item = payload_bytes(msgspec.convert(case["payload"], Payload))
    assert item.decode() == case["bytes"] and leaf(item).hex() == case["leaf"]


@named("batches")
def test_batch_roots_and_paths(case: dict[str, Any]) -> None:
    leaves = [leaf(item.encode()) for item in case["items"]]
    root, paths = root_and_paths(leaves)
    assert root.hex() == case["root"] and [[hash.hex() for hash in path] for path in paths] == case["paths"]
    count = len(leaves)
    for index, path in enumerate(paths):
        assert root_from(leaves[index], index, count, path) == root
        for wrong in (index + 1, index - 1, count):
            assert root_from(leaves[index], wrong, count, path) != root
        assert root_from(leaves[index], index, count, [*path, bytes(32)]) != root
        if path:
            assert root_from(leaves[index], index, count, path[:-1]) != root
            assert root_from(leaves[index], index, count, [bytes(32), *path[1:]]) != root


def test_a_batch_has_at_least_one_act_and_not_too_many() -> None:
    assert root_and_paths([bytes(32)] * 3)[0]
    for count in (0, MOST + 1):
        with pytest.raises(ValueError):
            root_and_paths([bytes(32)] * count)


@named("signatures")
def test_signatures(case: dict[str, Any]) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(case["key"]))
    try:
        key.verify(bytes.fromhex(case["sig"]), case["message"].encode())
        good = True
    except InvalidSignature:
        good = False
    assert good == case["good"]


@named("lines")
def test_lines(case: dict[str, Any]) -> None:
    checked = Verifier().check(
        proof=json.dumps(case["proof"]).encode(),
        action=case["action"],
        subject=case["subject"],
        data=json.dumps(case["data"]).encode(),
    )
    assert (checked is not None) == case["good"]


def test_keys_words_and_recovery_codes() -> None:
    for one in VECTORS["keys"]:
        assert key_id(one["public"]) == one["id"] and list(six_words(one["public"])) == one["words"]
    for one in VECTORS["recovery"]:
        assert signer_from_code(one["code"]).public == one["public"]


@pytest.mark.parametrize(
    "proof",
    [b"", b"null", b"[]", b"{", b'{"vault":1}', b'{"vault":"v","key":"zz","at":"","sig":"00"}', b"[" * 5000],
    ids=str,
)
def test_a_proof_that_is_none_is_no_error(proof: bytes) -> None:
    assert Verifier().check(proof=proof, action="approved", subject="n1", data=b"{}") is None


def test_data_with_a_key_twice_is_checked_as_it_is_read() -> None:
    """A line may not show the checker one value and the reader another."""
    from vir_core.authority import payload_of, sign_all
    from vir_core.memory import Approved

    signer = Signer(bytes(32))
    twice = b'{"digest":"aa","digest":"bb"}'
    assert msgspec.json.decode(twice, type=Approved).digest == "bb"
    at = "2026-12-01T09:30:00.000000Z"
    for value, good in (("bb", True), ("aa", False)):
        one = payload_of(vault="v1", key=signer.public, at=at, action="approved", subject="n1", data={"digest": value})
        [proof] = sign_all([one], signer.sign)
        checked = Verifier().check(proof=bytes(proof), action="approved", subject="n1", data=twice)
        assert (checked is not None) == good
