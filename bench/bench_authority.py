"""What proofs cost: checking ten thousand signatures cold, reading them again from the checkpoint, signing a batch.

    python -m bench.bench_authority                  10,000 proven verdicts
    python -m bench.bench_authority --lines 50000

Medians (least-most) of one fresh process a figure, in CPU seconds (user and system), so that a busy machine does not count.
Beside the cold readings stands what the least would cost: the same lines without proofs, and the bare Ed25519 checks. It does
not show a cold page cache. Opening a key is slow on purpose and stands here so that nobody counts it as a verdict's cost.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vir_core.authority import KeyFolder, Payload, Pin, Signer, payload_of, proofs_of, six_words, to_sign, write_pin
from vir_core.journal import Draft, Journal
from vir_core.memory import memory_of

VAULT, DEVICE, CORE = "v" + "1" * 15, "d" + "1" * 15, "0.1.0"
ROOT = Signer(bytes(32))
AT = "2026-12-01T00:00:00.000000Z"
BARS = {"cold, one signature each": 2.0, "again, from the checkpoint": None, "sign 300 and make their proofs": 1.0}


def approval(number: int) -> tuple[str, dict[str, Any]]:
    words = f"{number:064x}"
    args = {"title": f"Note number {number} and what it is about", "project": "p00000000000000a"}
    return f"n{number:015x}", {"digest": words, "text": words, "body": words, "after": "", "lifts": [], "args": args}


def payload(subject: str, data: dict[str, Any]) -> Payload:
    return payload_of(vault=VAULT, key=ROOT.public, at=AT, action="approved", subject=subject, data=data)


def journal(folder: Path) -> Journal:
    return Journal(folder / "store", folder / "state", vault=VAULT, device=DEVICE, core=CORE)


def make(folder: Path, lines: int, size: int) -> None:
    """A journal of so many approvals, `size` under each signature (0: without proofs)."""
    (folder / "store").mkdir(parents=True)
    write_pin(folder / "state", Pin(public=ROOT.public, how="made", at=AT), over=None)
    made = journal(folder)
    acts = [approval(number) for number in range(lines)]
    drafts: list[Draft] = []
    for first in range(0, lines, size or lines):
        some = acts[first : first + (size or lines)]
        if not size:
            drafts += [Draft("approved", subject, data) for subject, data in some]
            continue
        payloads = [payload(subject, data) for subject, data in some]
        proofs = proofs_of(payloads, ROOT.sign(to_sign(payloads)))
        drafts += [
            Draft("approved", subject, data, proof=proof) for (subject, data), proof in zip(some, proofs, strict=True)
        ]
    with made.writing("bench", memory_of(made)) as writer:
        for first in range(0, lines, 500):
            writer.append(drafts[first : first + 500], kind="person", surface="bench")


def cpu() -> float:
    spent = os.times()
    return spent.user + spent.system


def measure(what: str, folder: Path) -> float:
    """One figure, in this process."""
    if what == "sign":
        acts = [approval(number) for number in range(300)]
        began = cpu()
        payloads = [payload(subject, data) for subject, data in acts]
        proofs_of(payloads, ROOT.sign(to_sign(payloads)))
        return cpu() - began
    if what == "words":
        began = cpu()
        six_words(ROOT.public)
        return cpu() - began
    if what == "open":
        keys = KeyFolder(folder / "keys-of-bench")
        sealed = (keys.list() or [keys.seal(ROOT, "passphrase", kind="root")])[0]
        began = cpu()
        keys.open(sealed, "passphrase")
        return cpu() - began
    if what == "bare":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        message = to_sign([payload(*approval(1))])
        signature = ROOT.sign(message)
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(ROOT.public))
        began = cpu()
        for _ in range(10_000):
            key.verify(signature, message)
        return cpu() - began
    read = journal(folder)
    if what == "cold":
        (folder / "state" / "checkpoint").unlink(missing_ok=True)
    began = cpu()
    reading = read.read(memory_of(read))
    spent = cpu() - began
    memory = reading.projection
    if what == "trust":
        began = cpu()
        for note in memory.notes.values():
            memory.trust(note)
        return cpu() - began
    if what == "cold":
        read.save_checkpoint(reading)
    return spent


def fresh(what: str, folder: Path, rounds: int) -> list[float]:
    command = [sys.executable, "-m", "bench.bench_authority", "--measure", what, "--folder", str(folder)]
    return [float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(rounds)]


def row(what: str, seconds: Sequence[float]) -> str:
    bar = BARS.get(what)
    shown = f"{bar:.1f}" if bar else ""
    return f"| {what} | {statistics.median(seconds):.3f} | {min(seconds):.3f}-{max(seconds):.3f} | {shown} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.bench_authority")
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5, help="fresh processes a figure")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=Path(), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(measure(options.measure, options.folder))
        return 0
    rows: list[str] = []
    with tempfile.TemporaryDirectory(prefix="vir-bench-authority-") as place:
        for name, size in (("without proofs", 0), ("one signature each", 1), ("300 under a signature", 300)):
            folder = Path(place) / str(size)
            make(folder, options.lines, size)
            rows.append(row(f"cold, {name}", fresh("cold", folder, options.rounds)))
        folder = Path(place) / "1"
        rows.append(row("again, from the checkpoint", fresh("read", folder, options.rounds)))
        rows.append(row("trust of every note", fresh("trust", folder, options.rounds)))
        for what, name in (
            ("bare", "10,000 bare Ed25519 checks"),
            ("sign", "sign 300 and make their proofs"),
            ("open", "open a key with its passphrase"),
            ("words", "six words of a key"),
        ):
            rows.append(row(name, fresh(what, folder, options.rounds)))
    print(f"{time.strftime('%Y-%m-%d')}, {options.lines:,} verdicts, {os.cpu_count()} cores.\n")
    print("| what | CPU s | least-most | bar s |\n|---|---:|---:|---:|")
    print("\n".join(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
