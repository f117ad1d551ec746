"""Kills a process at random moments of its work on a journal, and has a fresh one look at what is left.

    python kill_rig.py FOLDER append|heal|checkpoint|accept-disk KILLS SEED

The process tells what it was told in a file: `told ID…` after an append returned, `risk ID…` before it cuts lines off its own
segment in order to give them up, `gone ID…` after it gave them up. After each kill a fresh process must see every told line
once (a line at risk once or not at all), no line twice, none that is gone, and none that was cut off again as void.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from vir_core.journal import Draft, Journal, Line

VAULT, DEVICE = "v" + "1" * 15, "d" + "1" * 15


class Counts:
    layout = 1

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def apply(self, line: Line) -> None:
        if line.action == "held":
            self.seen[line.subject] = self.seen.get(line.subject, 0) + 1

    def dump(self) -> bytes:
        return msgspec.msgpack.encode(self.seen)

    def load(self, content: bytes) -> None:
        self.seen = msgspec.msgpack.decode(content, type=dict[str, int])


def desk(base: Path) -> Journal:
    return Journal(base / "store", base / "state", vault=VAULT, device=DEVICE, core="0.1.0")


def segments(base: Path) -> list[Path]:
    return sorted((base / "store" / "journal" / DEVICE).glob("*.jsonl"))


def work(base: Path, mode: str, round_: int, chance: random.Random) -> None:
    told = os.open(base / "told", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def tell(what: str, ids: list[str]) -> None:
        if ids:
            os.write(told, f"{what} {' '.join(ids)}\n".encode())

    number = 0
    while True:
        number += 1
        ids = [f"k{round_}-{number}-{part}" for part in range(1 + number % 3)]
        journal = desk(base)
        with journal.writing("test", Counts) as writer:
            writer.append([Draft("held", one, {"x": 1}) for one in ids], kind="vir", surface="cli")
            tell("told", ids)
            if mode == "checkpoint" or number % 5 == 0:
                journal.save_checkpoint(writer.reading)
        files = segments(base)
        if mode == "heal":
            # A backup of the vault comes back: the newest segment is a piece of what it was, or nothing.
            content = files[-1].read_bytes()
            files[-1].write_bytes(content[: chance.randrange(len(content) + 1)])
            desk(base).heal(Counts)
        elif mode == "accept-disk" and number % 2:
            content = files[-1].read_bytes()
            cut = content[: chance.randrange(len(content) // 2, len(content) + 1)]
            whole = cut[: cut.rfind(b"\n") + 1]
            lost = [one for one in counts_of(content) if one not in counts_of(whole)]
            tell("risk", lost)
            files[-1].write_bytes(whole)
            given = desk(base).accept_disk("accept", Counts)
            if given.lines:
                tell("gone", lost)


def counts_of(content: bytes) -> list[str]:
    lines: list[dict[str, Any]] = []
    for piece in content.splitlines():
        try:
            lines.append(msgspec.json.decode(piece))
        except msgspec.DecodeError:
            continue
    return [line["subject"] for line in lines if line["action"] == "held"]


def faults(base: Path) -> list[str]:
    """What a fresh process finds wrong: read alone, then after the next writer came, then without any cache."""
    told: set[str] = set()
    risk: set[str] = set()
    gone: set[str] = set()
    record = (base / "told").read_text() if (base / "told").exists() else ""
    for row in record.splitlines():
        what, *ids = row.split()
        {"told": told, "risk": risk, "gone": gone}[what].update(ids)
    found: list[str] = []
    after: list[dict[str, int]] = []
    for step in ("read", "write", "without caches"):
        if step == "write":
            with desk(base).writing("test", Counts) as writer:
                seen = dict(writer.reading.projection.seen)
                if writer.reading.missing:
                    found.append(f"{step}: {writer.reading.missing} lines are not on the disk")
        elif step == "without caches":
            (base / "state" / "checkpoint").unlink(missing_ok=True)
            seen = desk(base).read(Counts).projection.seen
        else:
            seen = desk(base).read(Counts).projection.seen
        after.append(seen)
        missing = {one for one in told - risk if seen.get(one) != 1}
        back = gone & set(seen)
        double = {one for one, times in seen.items() if times != 1}
        for what, ids in (("not there once", missing), ("back", back), ("double", double)):
            if ids:
                found.append(f"{step}: {what}: {sorted(ids)[:5]}")
    bare = Journal(base / "store", None, vault=VAULT, device="d9", core="0.1.0").read(Counts).projection.seen
    if not (after[1] == after[2] == bare):
        found.append("disk, mirror and checkpoint disagree")
    return found


def told_size(base: Path) -> int:
    return (base / "told").stat().st_size if (base / "told").exists() else 0


def main() -> int:
    base, mode, kills, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    chance = random.Random(seed)
    (base / "store").mkdir(parents=True, exist_ok=True)
    for round_ in range(kills):
        child = os.fork()
        if not child:
            work(base, mode, round_, random.Random(seed * 1000 + round_))
            os._exit(1)
        before = told_size(base)
        patience = time.monotonic() + (5 if chance.random() < 0.8 else 0)  # a fifth dies before it said anything
        while told_size(base) == before and time.monotonic() < patience:
            time.sleep(0.001)
        time.sleep(chance.random() ** 2 * 0.06)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        checker = os.fork()
        if not checker:
            found = ["the checker died"]
            try:
                found = faults(base)
            finally:
                for fault in found:
                    sys.stdout.write(f"kill {round_}: {fault}\n")
                sys.stdout.flush()
                os._exit(bool(found))
        _, status = os.waitpid(checker, 0)
        if status:
            return 1
    sys.stdout.write(f"{len((base / 'told').read_text().split())} told\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
