"""Two devices with one vault between them: who signs what, and what each makes of it, over real journals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.authority.conftest import DESK, LAPTOP, NOTE, RECOVERY, ROOT, SECOND, VAULT, WORDS, note_line
from vir_core.authority import ACTS, Pin, Signer, Verifier, payload_of, proofs_of, to_sign, write_pin
from vir_core.journal import Draft, Journal
from vir_core.memory import Memory, memory_of

Act = tuple[str, str, dict[str, Any]]


class Device:
    """A journal with a machine of its own; `store` is what the sync tool carries."""

    def __init__(self, store: Path, state: Path, device: str) -> None:
        store.mkdir(exist_ok=True)
        self.state = state
        self.journal = Journal(store, state, vault=VAULT, device=device, core="0.1.0")

    def memory(self) -> Memory:
        reading = self.journal.read(memory_of(self.journal))
        self.journal.save_checkpoint(reading)
        return reading.projection

    def write(self, *drafts: Draft) -> None:
        with self.journal.writing("test", memory_of(self.journal)) as writer:
            writer.append(drafts, kind="person", surface="test")

    def sign(self, by: Signer, *acts: Act) -> None:
        at = self.journal.clock()
        payloads = [
            payload_of(vault=VAULT, key=by.public, at=at, action=action, subject=subject, data=data)
            for action, subject, data in acts
        ]
        proofs = proofs_of(payloads, by.sign(to_sign(payloads)))
        self.write(
            *[
                Draft(action, subject, data, must=ACTS[action].must, proof=proof)
                for (action, subject, data), proof in zip(acts, proofs, strict=True)
            ]
        )

    def pin(self, root: Signer) -> None:
        write_pin(self.state, Pin(public=root.public, how="confirmed", at=self.journal.clock()), over=None)


def enrol(who: Signer, kind: str) -> Act:
    return "key_enrolled", who.id, {"public": who.public, "kind": kind, "device": "", "label": ""}


def approve(after: str = "", lifts: Sequence[str] = (), digest: str = WORDS, note: str = NOTE) -> Act:
    data = {"digest": digest, "text": "", "body": "", "after": after, "lifts": list(lifts), "args": {}}
    return "approved", note, data


def reject(after: str = "") -> Act:
    return "rejected", NOTE, {"reason": "wrong", "digest": WORDS, "after": after}


@pytest.fixture
def devices(tmp_path: Path) -> tuple[Device, Device]:
    """The first made the keys; the second has only the folder."""
    desk = Device(tmp_path / "store", tmp_path / "desk", DESK)
    laptop = Device(tmp_path / "store", tmp_path / "laptop", LAPTOP)
    desk.pin(ROOT)
    desk.write(Draft("note_written", NOTE, msgspec.json.decode(note_line().data)))
    desk.sign(ROOT, enrol(ROOT, "root"), enrol(RECOVERY, "recovery"))
    return desk, laptop


def test_a_second_device_believes_nobody_before_a_person_compared_the_words(devices: tuple[Device, Device]) -> None:
    desk, laptop = devices
    desk.sign(ROOT, approve())
    assert desk.memory().trust(NOTE) == "verified"
    before = laptop.memory()
    assert before.trust(NOTE) == "unreviewed" and len(before.standing(NOTE).waiting) == 1
    assert [one.public for one in before.keys.strangers] == [ROOT.public]
    laptop.pin(ROOT)
    assert laptop.memory().trust(NOTE) == "verified" and not laptop.memory().keys.strangers


def test_a_code_typed_on_the_second_device_enrols_its_key(devices: tuple[Device, Device]) -> None:
    desk, laptop = devices
    laptop.pin(ROOT)
    laptop.sign(SECOND, approve())
    assert desk.memory().trust(NOTE) == laptop.memory().trust(NOTE) == "unreviewed"
    laptop.sign(RECOVERY, enrol(SECOND, "device"))
    assert desk.memory().trust(NOTE) == laptop.memory().trust(NOTE) == "verified"


def test_both_judge_the_same_note_and_the_one_who_looks_last_settles_it(devices: tuple[Device, Device]) -> None:
    desk, laptop = devices
    laptop.pin(ROOT)
    desk.sign(ROOT, enrol(SECOND, "device"))
    desk.sign(ROOT, approve())
    laptop.sign(SECOND, reject())
    for one in devices:
        assert one.memory().trust(NOTE) == "suspended" and one.memory().standing(NOTE).disputed
    standing = desk.memory().standing(NOTE)
    desk.sign(ROOT, approve(standing.after, [claim.line for claim in standing.open]))
    for one in devices:
        assert one.memory().trust(NOTE) == "verified" and not one.memory().standing(NOTE).disputed


def test_a_lost_device_is_cut_off_and_what_it_had_approved_before_stays(devices: tuple[Device, Device]) -> None:
    desk, laptop = devices
    laptop.pin(ROOT)
    desk.sign(ROOT, enrol(SECOND, "device"))
    laptop.sign(SECOND, approve())
    seen = desk.memory().signatures_of(SECOND.public)
    lost = {"lost_since": desk.journal.clock(), "seen": list(seen)}
    desk.sign(ROOT, ("key_revoked", SECOND.id, lost))
    assert desk.memory().trust(NOTE) == "verified"
    # The thief has the device: its key, its clock and its journal.
    standing = desk.memory().standing(NOTE)
    laptop.journal.clock = lambda: "2026-01-01T00:00:00.000000Z"
    laptop.sign(SECOND, approve(standing.after, digest="ee" * 32))
    laptop.sign(SECOND, ("lifted", NOTE, {"lifts": list(standing.heads), "after": standing.after}))
    assert desk.memory().standing(NOTE).approved == (WORDS,) and desk.memory().trust(NOTE) == "verified"
    laptop.sign(SECOND, enrol(Signer(bytes([77]) * 32), "device"))
    assert len(desk.memory().keys) == 3


def test_a_signature_is_checked_once_and_never_again_from_the_checkpoint(
    devices: tuple[Device, Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, _ = devices
    desk.sign(ROOT, *[approve(note=f"n{number:015x}") for number in range(2, 40)])
    asked: list[str] = []
    real = Verifier._ask  # pyright: ignore[reportPrivateUsage]

    def ask(self: Verifier, key: str, signature: bytes, message: bytes) -> bool:
        asked.append(signature.hex())
        return real(self, key, signature, message)

    monkeypatch.setattr(Verifier, "_ask", ask)
    (desk.state / "checkpoint").unlink(missing_ok=True)
    assert desk.memory().standing("n000000000000005").verdict == "approved"
    assert len(asked) == len(set(asked)) == 2  # the keys and the batch
    asked.clear()
    assert desk.memory().standing("n000000000000005").verdict == "approved"
    assert asked == []
