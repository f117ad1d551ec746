"""What the journal costs: appending, catching up, opening from the checkpoint, replaying whole.

    python -m bench.bench_journal                     100,000 lines
    python -m bench.bench_journal --lines 1000000     a million, with memory
    python -m bench.bench_journal --keep DIR          keeps (and next time reuses) the generated journal
    python -m bench.bench_journal --write             and replaces the table of that many lines in bench/README.md

Medians (least-most) of one process a figure for whole replays, of repeated calls for the small ones. Beside each stands, from
the same run, what the machine needs for the least that could be done: writing and fsyncing the same bytes, reading the same
files, starting Python with the same imports. The mix: of every five lines one `note_written` with four lessons (1,100 bytes), one
`session_settled` of that note and three of sessions without one (430 bytes); every twentieth note has a new run. Names are
drawn, shapes are real. It does not show a cold page cache, nor a disk whose fsync is slower than this one's.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path

from vir_core.journal import Draft, Journal, Line
from vir_core.memory import EvidenceRef, NoteWritten, SessionSettled, memory_of

README = Path(__file__).with_name("README.md")
VAULT, DEVICE, CORE = "v" + "1" * 15, "d" + "1" * 15, "0.1.0"
BATCH = 500


class Nothing:
    """A projection that keeps nothing: the engine alone."""

    layout = 0

    def apply(self, line: Line) -> None: ...

    def dump(self) -> bytes:
        return b""

    def load(self, content: bytes) -> None: ...


def named(prefix: str, length: int, *parts: object) -> str:
    return prefix + sha256(repr(parts).encode()).hexdigest()[:length]


def drafts(lines: int) -> Iterator[Draft]:
    for note in range(lines // 5):
        name, run = named("n", 15, "note", note), named("r", 15, "run", note // 20)
        session = named("claude:", 36, "session", note)
        lessons = tuple(
            EvidenceRef(id=named("l", 11, note, part), evidence=named("", 64, note, part)) for part in range(4)
        )
        written = NoteWritten(
            text=named("", 64, "text", note),
            body=named("", 64, "body", note),
            words=named("", 64, "words", note),
            category="gotcha",
            project=named("p", 15, "project", note % 40),
            date="2026-11-30",
            session=session,
            run=run,
            distiller="extractive",
            confidence=0.62,
            lessons=lessons,
            turns=5,
        )
        yield Draft("note_written", name, written)
        settled = SessionSettled(
            outcome="noted", note=name, turns=5, last=named("", 36, "turn", note), source="claude", run=run
        )
        yield Draft("session_settled", session, settled)
        for part in range(3):
            quiet = SessionSettled(
                outcome="nothing_durable", turns=2, last=named("", 36, "turn", note, part), source="claude", run=run
            )
            yield Draft("session_settled", named("claude:", 36, "quiet", note, part), quiet)


def journal_at(base: Path) -> Journal:
    return Journal(base / "store", base / "state", vault=VAULT, device=DEVICE, core=CORE)


def make_journal(base: Path, lines: int) -> None:
    """Without fsync: a journal for a bench may be made again."""
    real = os.fsync
    os.fsync = lambda fd: None
    try:
        (base / "store").mkdir(parents=True)
        waiting = drafts(lines)
        with journal_at(base).writing("bench", Nothing) as writer:
            while batch := list(islice(waiting, BATCH)):
                writer.append(batch, kind="vir", surface="bench")
    finally:
        os.fsync = real


def timed(action: Callable[[], object], rounds: int) -> list[float]:
    """Wall milliseconds, one round before that does not count."""
    action()
    took: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        action()
        took.append((time.perf_counter() - began) * 1000)
    return took


class Table:
    def __init__(self) -> None:
        self.rows: list[str] = []

    def render(self, lines: int) -> str:
        head = (
            f"{lines:,} lines of history; {datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores, "
            f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f} at the end."
        )
        return "\n".join(
            [head, "", "| what | median | least-most | beside | bar |", "|---|---:|---:|---|---|", *self.rows]
        )

    def row(self, what: str, took: Sequence[float], beside: str = "", bar: str = "", *, unit: str = "ms") -> float:
        median = statistics.median(took)
        digits = 2 if median < 10 else 0
        span = f"{min(took):.{digits}f}-{max(took):.{digits}f}"
        self.rows.append(f"| {what} | {median:.{digits}f} {unit} | {span} | {beside} | {bar} |")
        return median


def appending(base: Path, table: Table, rounds: int) -> None:
    """Every append beside two bare writes with fsync of its own bytes, turn by turn, so that both meet the same disk. What a
    batch costs beyond its fsyncs is without those it makes, which are three when it begins a segment."""
    (base / "store").mkdir(parents=True)
    journal = journal_at(base)
    plain = [base / "plain-1", base / "plain-2"]
    waiting = drafts(10_000_000)
    files = [os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for path in plain]

    def bare(content: bytes) -> float:
        began = time.perf_counter()
        for file in files:
            os.write(file, content)
            os.fsync(file)
        return (time.perf_counter() - began) * 1000

    waited = idle = 0.0
    real = os.fsync

    def counted(file: int) -> None:
        nonlocal waited, idle
        began, worked = time.perf_counter(), time.process_time()
        real(file)
        waited += (time.perf_counter() - began) * 1000
        idle += (time.process_time() - worked) * 1000

    with journal.writing("bench", memory_of(journal)) as writer:
        for size, name, count in (
            (1, "append one line", rounds * 10),
            (1000, "append 1,000 lines in one batch", rounds),
        ):
            took: list[float] = []
            floor: list[float] = []
            work: list[float] = []
            over: list[float] = []
            for number in range(count + 1):
                batch = list(islice(waiting, size))
                os.fsync, waited, idle = counted, 0.0, 0.0
                began, worked = time.perf_counter(), time.process_time()
                lines = writer.append(batch, kind="vir", surface="bench")
                spent, worked = (time.perf_counter() - began) * 1000, (time.process_time() - worked) * 1000
                os.fsync = real
                least = bare(b"".join([line.raw + b"\n" for line in lines]))
                if number:
                    took.append(spent)
                    floor.append(least)
                    work.append(worked - idle)
                    over.append(spent - waited)
            least = statistics.median(floor)
            beside = f"two bare write+fsync {least:.2f} ms"
            if size == 1:
                ratio = statistics.median(took) / least
                table.row(name, took, f"{beside}: x {ratio:.1f}", "x 3")
            else:
                table.row(f"{name}, all of it", took, beside)
                table.row(f"{name}, beyond its fsyncs", over, f"{statistics.median(work):.1f} ms of processor", "10 ms")
    for file in files:
        os.close(file)


CHILD = """
import resource, sys, time
from pathlib import Path
from bench.bench_journal import Nothing, journal_at
from vir_core.memory import memory_of

base, what = Path(sys.argv[1]), sys.argv[2]
journal = journal_at(base)
began, worked = time.perf_counter(), time.process_time()
if what == "read":
    for path in sorted(journal.folder.rglob("*.jsonl")):
        with path.open("rb", buffering=0) as file:
            while file.read(4 << 20): pass
    reading = None
else:
    reading = journal.read(Nothing if what == "engine" else memory_of(journal))
if what in ("touch", "save"):
    began, worked = time.perf_counter(), time.process_time()
if what == "touch":
    sum(1 for _ in reading.projection.notes.values()), sum(1 for _ in reading.projection.sessions.values())
if what == "save":
    assert journal.save_checkpoint(reading)
took, worked = time.perf_counter() - began, time.process_time() - worked
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
if what in ("open", "touch"):
    assert not reading.moved, "the checkpoint was not used"
print(took * 1000, peak, worked * 1000)
"""


def child(base: Path, what: str, rounds: int) -> tuple[list[float], str]:
    """Milliseconds inside fresh processes; the most memory one of them had, and the median of processor time, in words."""
    took: list[float] = []
    work: list[float] = []
    most = 0.0
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(base), what], capture_output=True, text=True, check=True
        )
        spent, peak, worked = map(float, done.stdout.split())
        took.append(spent)
        work.append(worked)
        most = max(most, peak)
    return took, f"{statistics.median(work):.0f} ms of processor, {most:.0f} MB"


def reading(base: Path, table: Table, lines: int, rounds: int) -> None:
    journal = journal_at(base)
    checkpoint = base / "state" / "checkpoint"
    checkpoint.unlink(missing_ok=True)
    size = sum(path.stat().st_size for path in journal.folder.rglob("*.jsonl"))
    million = lines >= 1_000_000
    bytes_, _ = child(base, "read", rounds)
    what = f"merely read {size / 1e6:.0f} MB of segments ({size / lines:.0f} bytes a line)"
    floor = table.row(what, bytes_)
    engine, cost = child(base, "engine", rounds)
    table.row("full replay, engine alone", engine, f"x {statistics.median(engine) / floor:.0f} the reading, {cost}")
    whole, cost = child(base, "whole", rounds)
    bar = "1.5 GB" if million else "1,200 ms (aim 800)"
    table.row("full replay into memory", whole, f"x {statistics.median(whole) / floor:.0f} the reading, {cost}", bar)
    saved, cost = child(base, "save", 1)
    table.row("write the checkpoint anew", saved, f"{checkpoint.stat().st_size / 1e6:.0f} MB on disk, {cost}")
    opened, cost = child(base, "open", max(rounds, 5))
    bar = "1,200 ms, 600 MB" if million else "200 ms"
    table.row("open from the checkpoint", opened, cost, bar)
    touched, cost = child(base, "touch", rounds)
    table.row("then look at every note and session", touched, cost)
    marks = journal.read(memory_of(journal)).marks
    table.row("catch up when nothing is new (`since`)", timed(lambda: journal.since(marks), 50), "", "1.5 ms")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.bench_journal")
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5, help="fresh processes a figure")
    parser.add_argument("--keep", metavar="DIR", help="keep the generated journal here and reuse it")
    parser.add_argument("--write", action="store_true", help="replace the table of that many lines in bench/README.md")
    options = parser.parse_args()
    folder = Path(options.keep or tempfile.mkdtemp(prefix="vir-bench-journal-"))
    table = Table()
    try:
        base = folder / f"lines-{options.lines}"
        if not base.is_dir():
            make_journal(base, options.lines)
        with tempfile.TemporaryDirectory(prefix="vir-bench-append-", dir=folder) as place:
            appending(Path(place), table, options.rounds * 4)
        reading(base, table, options.lines, options.rounds)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    shown = table.render(options.lines)
    print(shown)
    if options.write:
        replace_table(options.lines, shown)
    return 0


def replace_table(lines: int, shown: str) -> None:
    begin, end = f"<!-- journal {lines}:begin -->", f"<!-- journal {lines}:end -->"
    text = README.read_text("utf-8")
    if begin not in text:
        text += f"\n{begin}\n{end}\n"
    head, _, rest = text.partition(begin)
    README.write_text(f"{head}{begin}\n{shown}\n{end}{rest.partition(end)[2]}", "utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
