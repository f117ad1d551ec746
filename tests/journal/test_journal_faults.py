"""Processes, signals and full disks."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vir_core.journal import Draft, Journal, Line
from vir_core.machine import StorageError

Make = Callable[..., Journal]
Say = Callable[..., list[Line]]

SEED = int(os.environ.get("VIR_SEED", "20261130"))

WRITER = """
import sys
from pathlib import Path
from vir_core.journal import Draft, Journal
from vir_core.machine import Busy

class Count:
    layout = 1
    def __init__(self): self.lines = 0
    def apply(self, line): self.lines += 1
    def dump(self): return str(self.lines).encode()
    def load(self, content): self.lines = int(content)

base, name, count, device = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
journal = Journal(base / "store", base / f"state-{device}", vault="v1", device=device, core="0.1.0")
for number in range(count):
    while True:
        try:
            with journal.writing("test", Count) as writer:
                drafts = [Draft("held", f"{name}-{number}-{part}", {"x": 1}) for part in range(1 + number % 3)]
                lines = writer.append(drafts, kind="vir", surface="cli")
                if number % 5 == 0:
                    journal.save_checkpoint(writer.reading)
            break
        except Busy:
            continue
    for line in lines:
        print(line.subject, flush=True)
"""


def start(base: Path, name: str, count: int, device: str = "d1") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(base), name, str(count), device], stdout=subprocess.PIPE, text=True
    )


def counts(journal: Journal, latest: type[Any]) -> dict[str, int]:
    return {key: seen[0] for key, seen in journal.read(latest).projection.seen.items() if key != "v1"}


def desk(base: Path, state: Path | None) -> Journal:
    return Journal(base / "store", state, vault="v1", device="d1", core="0.1.0")


@pytest.mark.slow
def test_killed_writers_lose_no_acknowledged_line_and_double_none(tmp_path: Path, latest: type[Any]) -> None:
    chance = random.Random(SEED)
    (tmp_path / "store").mkdir()
    acknowledged: list[str] = []
    for round_ in range(30):
        process = start(tmp_path, f"k{round_}", 10_000)
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(chance.random() * 0.12)
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
        acknowledged += (first + rest).split("\n")[:-1]
        seen = counts(desk(tmp_path, tmp_path / "state-d1"), latest)
        assert {name: seen.get(name) for name in acknowledged} == dict.fromkeys(acknowledged, 1), f"VIR_SEED={SEED}"
        assert set(seen.values()) == {1}, f"VIR_SEED={SEED}"
        if round_ % 7 == 3:
            # Half a line at the end, as a power cut leaves it.
            path = max((tmp_path / "store" / "journal" / "d1").glob("*.jsonl"))
            path.write_bytes(path.read_bytes()[: -chance.randrange(1, 200)])
    with desk(tmp_path, tmp_path / "state-d1").writing("test", latest) as writer:
        assert writer.reading.missing == 0
    bare = counts(desk(tmp_path, None), latest)
    assert bare == counts(desk(tmp_path, tmp_path / "state-d1"), latest)
    assert set(acknowledged) <= set(bare)


@pytest.mark.slow
def test_two_writers_at_once_lose_nothing(tmp_path: Path, latest: type[Any]) -> None:
    (tmp_path / "store").mkdir()
    writers = [start(tmp_path, name, 60) for name in ("a", "b")]
    said = [line for writer in writers for line in writer.communicate()[0].split()]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(said) == len(set(said)) == 2 * sum(1 + number % 3 for number in range(60))
    for state in (tmp_path / "state-d1", None):
        reading = desk(tmp_path, state).read(latest)
        assert counts(desk(tmp_path, state), latest) == dict.fromkeys(said, 1)
        assert (reading.damage.total, reading.missing, reading.unfinished) == (0, 0, 0)
    chain = {line.hash: line.prev for line in collected(tmp_path)}
    assert sorted(chain.values()) == sorted(["", *(key for key in chain if key != newest(tmp_path))])


def collected(base: Path) -> list[Line]:
    lines: list[Line] = []

    class Keep:
        layout = 1

        def apply(self, line: Line) -> None:
            lines.append(line)

        def dump(self) -> bytes:
            return b""

        def load(self, content: bytes) -> None: ...

    desk(base, None).read(Keep)
    return lines


def newest(base: Path) -> str:
    return max(collected(base), key=lambda line: line.stamp).hash


@pytest.mark.slow
def test_four_writers_at_once_lose_nothing(tmp_path: Path, latest: type[Any], scaled: Callable[[int], int]) -> None:
    (tmp_path / "store").mkdir()
    count = scaled(5000)
    writers = [start(tmp_path, name, count) for name in "abcd"]
    said = [line for writer in writers for line in writer.communicate()[0].split()]
    assert [writer.returncode for writer in writers] == [0, 0, 0, 0]
    assert len(said) == len(set(said)) == 4 * sum(1 + number % 3 for number in range(count))
    for state in (tmp_path / "state-d1", None):
        reading = desk(tmp_path, state).read(latest)
        assert counts(desk(tmp_path, state), latest) == dict.fromkeys(said, 1)
        assert (reading.damage.total, reading.missing, reading.unfinished) == (0, 0, 0)
    verdict = desk(tmp_path, tmp_path / "state-d1").verify()
    assert (verdict.findings, verdict.lines) == ((), reading.lines)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["append", "heal", "checkpoint", "accept-disk"])
def test_killed_at_any_moment_every_told_line_is_there_once(
    tmp_path: Path, mode: str, scaled: Callable[[int], int], rng: random.Random
) -> None:
    rig = Path(__file__).with_name("kill_rig.py")
    seed = rng.randrange(10**6)
    done = subprocess.run(
        [sys.executable, str(rig), str(tmp_path), mode, str(scaled(200)), str(seed)], capture_output=True, text=True
    )
    assert done.returncode == 0, f"seed {seed}: {done.stdout}{done.stderr}"
    assert int(done.stdout.split()[0]) > scaled(200)


HEALER = """
import sys
from pathlib import Path
from vir_core.journal import Journal

class Nothing:
    layout = 1
    def apply(self, line): pass
    def dump(self): return b""
    def load(self, content): pass

base, device = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
print(Journal(base / "store", base / f"state-{device}", vault="v1", device=device, core="0.1.0").heal(Nothing).given_back)
"""


def test_two_healers_at_once_converge(tmp_path: Path, latest: type[Any]) -> None:
    (tmp_path / "store").mkdir()
    devices = {name: Journal(tmp_path / "store", tmp_path / f"state-{name}", vault="v1", device=name, core="0.1.0")
               for name in ("d1", "d2")}  # fmt: skip
    for round_ in range(2):
        for name, journal in devices.items():
            with journal.writing("test", latest) as writer:
                drafts = [Draft("held", f"{name}-{round_}-{number}", {}) for number in range(20)]
                writer.append(drafts, kind="vir", surface="cli")
    wanted = devices["d1"].read(latest).projection.seen
    for path in (tmp_path / "store" / "journal").rglob("*.jsonl"):
        path.write_bytes(path.read_bytes()[:3000])
    healers = [
        subprocess.Popen([sys.executable, "-c", HEALER, str(tmp_path), name], stdin=-1, stdout=-1, text=True)
        for name in ("d1", "d1", "d2", "d2")
    ]
    for healer in healers:
        assert healer.stdout is not None and healer.stdout.readline() == "ready\n"
    for healer in healers:
        assert healer.stdin is not None
        healer.stdin.write("go\n")
        healer.stdin.flush()
    back = [int(healer.communicate()[0]) for healer in healers]
    assert all(count > 20 for count in (max(back[:2]), max(back[2:])))
    assert min(back[:2]) == min(back[2:]) == 0, "the second finds nothing to do"
    bare = desk(tmp_path, None).read(latest)
    assert bare.projection.seen == wanted
    before = {path: path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()}
    for journal in devices.values():
        assert journal.heal(latest).given_back == 0
        assert not [finding for finding in journal.verify().findings if finding.harm and finding.kind != "damaged"]
    assert {path: path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_reader_beside_a_writer_sees_whole_lines_and_no_loss(tmp_path: Path, latest: type[Any]) -> None:
    (tmp_path / "store").mkdir()
    writer = start(tmp_path, "a", 80)
    seen = 0
    while writer.poll() is None:
        reading = desk(tmp_path, tmp_path / "state-d1").read(latest)
        assert (reading.damage.total, reading.missing) == (0, 0)
        assert reading.lines >= seen
        seen = reading.lines
    told = writer.communicate()[0].count("\n")
    assert told and desk(tmp_path, None).read(latest).lines == told + 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KB; skips where this account may not mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("cannot mount a small disk here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True, capture_output=True)


def fill(journal: Journal, latest: type[Any]) -> int:
    """Appends until the disk refuses; returns how many lines were acknowledged."""
    number = 0
    while True:
        with journal.writing("test", latest) as writer:
            try:
                writer.append([Draft("held", f"n{number}", {"x": "y" * 700})], kind="vir", surface="cli")
            except StorageError as error:
                assert "full" in error.message
                return number
        number += 1


def test_full_vault_disk_is_a_clean_error_and_nothing_is_half_written(
    small_disk: Path, tmp_path: Path, latest: type[Any]
) -> None:
    (small_disk / "store").mkdir()
    journal = Journal(small_disk / "store", tmp_path / "state", vault="v1", device="d1", core="0.1.0")
    told = fill(journal, latest)
    assert told > 10
    for reading in (
        journal.read(latest),
        Journal(small_disk / "store", None, vault="v1", device="d1", core="1").read(latest),
    ):
        assert reading.lines == told + 1
        assert (reading.damage.total, reading.unfinished, reading.missing) == (0, 0, 0)
    subprocess.run(["mount", "-o", "remount,size=256k", str(small_disk)], check=True)
    with journal.writing("test", latest) as writer:
        assert writer.append([Draft("held", "after", {})], kind="vir", surface="cli")
        assert f"n{told}" not in writer.reading.projection.seen
        assert writer.reading.lines == told + 2


def test_full_state_disk_is_a_clean_error_before_anything_is_written(
    small_disk: Path, tmp_path: Path, latest: type[Any]
) -> None:
    (tmp_path / "store").mkdir()
    journal = Journal(tmp_path / "store", small_disk / "state", vault="v1", device="d1", core="0.1.0")
    told = fill(journal, latest)
    assert told > 10
    assert not journal.save_checkpoint(journal.read(latest), {"gate": b"x" * 100_000})
    for reading in (
        journal.read(latest),
        Journal(tmp_path / "store", None, vault="v1", device="d1", core="1").read(latest),
    ):
        assert (reading.lines, reading.damage.total, reading.missing) == (told + 1, 0, 0)


def test_read_only_disk_reads_and_refuses_to_write(small_disk: Path, tmp_path: Path, latest: type[Any]) -> None:
    (small_disk / "store").mkdir()
    journal = Journal(small_disk / "store", tmp_path / "state", vault="v1", device="d1", core="0.1.0")
    with journal.writing("test", latest) as writer:
        writer.append([Draft("held", "a", {})], kind="vir", surface="cli")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StorageError, match="read-only"), journal.writing("test", latest) as writer:
        writer.append([Draft("held", "b", {})], kind="vir", surface="cli")
    assert set(journal.read(latest).projection.seen) == {"v1", "a"}
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    with journal.writing("test", latest) as writer:
        writer.append([Draft("held", "c", {})], kind="vir", surface="cli")
        assert set(writer.reading.projection.seen) == {"v1", "a", "c"}
