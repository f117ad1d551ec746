"""What reading transcripts costs: a pass that finds nothing new, a first pass, and the memory of one large file.

    python -m bench.bench_scan                    prints the table (about a minute, 1 GB of temporary files)
    python -m bench.bench_scan --keep DIR         keeps (and next time reuses) the generated files
    python -m bench.bench_scan --only pass,memory

Generated files (`make_corpus.py`), page cache warm, compiled bytecode. Throughput stands beside a decoder that reads the same
bytes line by line into a header and leaves the content undecoded, in the same run and in turns, because a shared machine
changes from minute to minute: the ratio holds, the megabytes a second are this machine's. CPU time counts for one core, wall
time for two. Memory is the peak of a fresh process.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import msgspec

from bench.make_corpus import Pool, _claude, make_corpus  # pyright: ignore[reportPrivateUsage]
from vir_core.transcripts import Found, find, survey

LARGE = 500_000_000
SUM_UP = """
import re, resource, sys, time
from pathlib import Path
from vir_core.transcripts import find, survey
began = time.perf_counter()
facts = survey(find([Path(sys.argv[1])], []), None).sessions[0]
took = time.perf_counter() - began
try:  # ru_maxrss of a child begins with what its parent had
    peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak // 1024, facts.bytes, facts.lines, facts.oversize_lines, took)
"""


class Header(msgspec.Struct, gc=False):
    """The fields a reader of both formats cannot do without."""

    type: str | None = None
    uuid: str | None = None
    timestamp: str | None = None
    sessionId: str | None = None
    cwd: str | None = None
    message: msgspec.Raw = msgspec.Raw(b"")
    toolUseResult: msgspec.Raw = msgspec.Raw(b"")
    payload: msgspec.Raw = msgspec.Raw(b"")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.bench_scan")
    parser.add_argument("--keep", metavar="DIR", help="keep the generated files here and reuse them")
    parser.add_argument("--only", default="nothing,pass,memory", help="of: nothing, pass, memory")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    folder = Path(options.keep or tempfile.mkdtemp(prefix="vir-scan-"))
    folder.mkdir(parents=True, exist_ok=True)
    wanted = options.only.split(",")
    rows: list[tuple[str, str, str]] = []
    try:
        if "nothing" in wanted:
            rows += nothing_new(folder, options.rounds)
        if "pass" in wanted:
            rows += first_pass(folder, options.rounds)
        if "memory" in wanted:
            rows += memory(folder)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f} at the end.\n"
    )
    print("| what | measured | bar |\n|---|---:|---:|")
    for what, measured, bar in rows:
        print(f"| {what} | {measured} | {bar} |")
    return 0


def nothing_new(folder: Path, rounds: int) -> list[tuple[str, str, str]]:
    """Find and survey in this process when no file changed; the least that could be done is to list and stat them."""
    rows: list[tuple[str, str, str]] = []
    for files, megabytes, bar in ((1_500, 300, 25), (15_000, 150, 300)):
        corpus = _corpus(folder, files, megabytes)
        cache = folder / f"state-{files}" / "scan"
        cache.parent.mkdir(exist_ok=True)
        cache.unlink(missing_ok=True)
        survey(_found(corpus), cache)

        def once(corpus: Path = corpus, cache: Path = cache) -> None:
            assert survey(_found(corpus), cache).changed == 0

        wall, cpu = _measured(once, rounds * 3)
        least, least_cpu = _measured(lambda corpus=corpus: _listed(corpus), rounds * 3)
        rows.append((f"nothing new in {files:,} files", f"{wall * 1000:.1f} ms ({cpu * 1000:.1f} ms CPU)", f"{bar} ms"))
        rows.append((f"listing and stat of the {files:,} alone", f"{least * 1000:.1f} ms ({least_cpu * 1000:.1f})", ""))
    return rows


def first_pass(folder: Path, rounds: int) -> list[tuple[str, str, str]]:
    corpus = _corpus(folder, 1_500, 300)
    found = _found(corpus)
    paths = [file.path for file in found.files]
    size = sum(file.size for file in found.files)
    ours: list[float] = []
    header: list[float] = []
    with mock.patch("vir_core.transcripts.surveying.WORTH_HELP", 1 << 60):
        for _ in range(rounds):
            header.append(_cpu(lambda: _headers(paths)))
            ours.append(_cpu(lambda: survey(found, None)))
    # Four times the files, so that the helper's start weighs as little as it does in a house with years of transcripts.
    many = Found(files=found.files * 4)
    one: list[float] = []
    two: list[float] = []
    for _ in range(max(2, rounds // 2)):
        with mock.patch("vir_core.transcripts.surveying.WORTH_HELP", 1 << 60):
            one.append(_wall(lambda: survey(many, None)))
        two.append(_wall(lambda: survey(many, None)))
    best, least = min(ours), min(header)
    return [
        ("first pass, one core, 300 MB", f"{size / best / 1e6:.0f} MB/s", "400, aim 640"),
        ("… median of the rounds", f"{size / statistics.median(ours) / 1e6:.0f} MB/s", ""),
        ("header and undecoded content, same bytes", f"{size / least / 1e6:.0f} MB/s", ""),
        (
            "… ours against it, round by round",
            f"{statistics.median(h / o for h, o in zip(header, ours, strict=True)):.2f}x",
            "0.6x",
        ),
        ("first pass, two processes against one, 1.2 GB", f"{min(one) / min(two):.2f}x", "1.6x"),
        ("… wall time with two", f"{4 * size / min(two) / 1e6:.0f} MB/s", ""),
    ]


def memory(folder: Path) -> list[tuple[str, str, str]]:
    rows: list[tuple[str, str, str]] = []
    for name, giant in (("usual lines", False), ("and a line of 100 MB", True)):
        place = folder / ("large-giant" if giant else "large")
        path = place / "projects" / "-big" / "11111111-2222-4333-8444-555555555555.jsonl"
        if not path.exists():
            path.parent.mkdir(parents=True)
            _write_large(path, giant)
        python = [sys.executable, "-c", SUM_UP, str(place)]
        peak, size, lines, oversize, took = subprocess.run(
            python, check=True, capture_output=True, text=True
        ).stdout.split()
        rows.append(
            (
                f"peak memory, one file of {int(size) / 1e6:.0f} MB, {int(lines):,} lines, {name}",
                f"{peak} MB ({int(size) / float(took) / 1e6:.0f} MB/s, oversize {oversize})",
                "150 MB",
            )
        )
    return rows


def _write_large(path: Path, giant: bool) -> None:
    rng, pool = random.Random(3), Pool(3)
    written = 0
    with path.open("wb") as out:
        n = 0
        while written < LARGE:
            n += 1
            session = f"{n:08x}-2222-4333-8444-555555555555"
            content, _ = _claude(rng, pool, session, "/home/dev/src/big", datetime(2026, 6, 1, tzinfo=UTC), 5_000_000)
            written += out.write(content)
            if giant and n == 40:
                line = b'{"type":"user","sessionId":"x","message":{"role":"user","content":"' + b"A" * 100_000_000
                written += out.write(line + b'"}}\n')


def _corpus(folder: Path, files: int, megabytes: int) -> Path:
    corpus = folder / f"corpus-{files}"
    if not corpus.is_dir():
        make_corpus(corpus, files, total=megabytes * 1_000_000)
    return corpus


def _found(corpus: Path) -> Found:
    return find([corpus / "claude"], [corpus / "codex"])


def _listed(corpus: Path) -> int:
    pending, files = [str(corpus)], 0
    while pending:
        for entry in os.scandir(pending.pop()):
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            else:
                os.stat(entry.path)  # noqa: PTH116  the least there is
                files += 1
    return files


def _headers(paths: list[str]) -> None:
    decode = msgspec.json.Decoder(Header).decode
    for path in paths:
        with Path(path).open("rb") as lines:
            for line in lines:
                decode(line)


def _measured(action: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Medians of wall and of CPU seconds, one warm-up not counted."""
    action()
    wall: list[float] = []
    cpu: list[float] = []
    for _ in range(rounds):
        began, used = time.perf_counter(), time.process_time()
        action()
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
    return statistics.median(wall), statistics.median(cpu)


def _cpu(action: Callable[[], object]) -> float:
    began = time.process_time()
    action()
    return time.process_time() - began


def _wall(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


if __name__ == "__main__":
    raise SystemExit(main())
