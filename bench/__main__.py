"""The table of bench/README.md: whole commands, as a person or a plugin starts them.

    make bench                      prints the table
    python -m bench --write         and replaces it in bench/README.md
    python -m bench --keep DIR      keeps (and next time reuses) the generated corpus and vault

Bytecode is compiled first, as an installed tool has it. Every figure is the median of fresh processes; each row stands
beside what the machine needs for the least that could be done (starting Python, grep over the same notes) in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.make_corpus import make_corpus
from bench.make_vault import make_vault

PROJECT = Path(__file__).resolve().parent.parent
VIR = PROJECT / ".venv" / "bin" / "vir_core"
README = PROJECT / "bench" / "README.md"
BEGIN, END = "<!-- table:begin -->", "<!-- table:end -->"
ROUNDS = 15


class Row:
    def __init__(self, what: str, seconds: Sequence[float], bar: float | None = None, note: str = "") -> None:
        self.what = what
        self.median = statistics.median(seconds)
        self.low = min(seconds)
        self.high = max(seconds)
        self.bar = bar
        self.note = note


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--write", action="store_true", help="replace the table in bench/README.md")
    parser.add_argument("--keep", metavar="DIR", help="keep the generated data here and reuse it")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="fresh processes a figure")
    options = parser.parse_args()
    folder = Path(options.keep or tempfile.mkdtemp(prefix="vir-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-m", "compileall", "-q", "vir_core"], cwd=PROJECT, env=env, check=True)
    try:
        rows = [
            *start_up(env, options.rounds),
            *runs(folder, env, options.rounds),
            *large_vault(folder, env, options.rounds),
        ]
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    table = render(rows)
    print(table)
    if options.write:
        text = README.read_text("utf-8")
        head, _, rest = text.partition(BEGIN)
        _, _, tail = rest.partition(END)
        README.write_text(f"{head}{BEGIN}\n{table}\n{END}{tail}", "utf-8")
    return 0


def start_up(env: dict[str, str], rounds: int) -> list[Row]:
    python = str(PROJECT / ".venv" / "bin" / "python")
    return [
        Row("start Python and do nothing", timed([python, "-c", "pass"], env, rounds)),
        Row("start Python and import msgspec", timed([python, "-c", "import msgspec"], env, rounds)),
        Row("`vir_core --version`", timed([str(VIR), "--version"], env, rounds)),
    ]


def runs(folder: Path, env: dict[str, str], rounds: int) -> list[Row]:
    """A first run over 1,500 files and then runs that find nothing new."""
    corpus, vault = folder / "corpus", folder / "small"
    if not corpus.is_dir():
        make_corpus(corpus)
    size = sum(path.stat().st_size for path in corpus.rglob("*") if path.is_file())
    env = {**env, "VIR_STATE_DIR": str(folder / "state-small")}
    shutil.rmtree(vault, ignore_errors=True)
    shutil.rmtree(folder / "state-small", ignore_errors=True)
    vault.mkdir()
    subprocess.run([str(VIR), "init", "--vault", str(vault)], env=env, check=True, capture_output=True)
    words = [
        str(VIR),
        "run",
        "--vault",
        str(vault),
        "--claude-dir",
        str(corpus / "claude"),
        "--codex-dir",
        str(corpus / "codex"),
        "--json",
    ]
    began = time.perf_counter()
    first = json.loads(subprocess.run(words, env=env, capture_output=True).stdout)
    took = time.perf_counter() - began
    notes = len(first["written"])
    return [
        Row(f"first run, 1,500 files, {size / 1e6:.0f} MB, {notes} notes", [took], note="once, cold caches"),
        Row("run with nothing new over the same 1,500 files", timed(words, env, rounds), bar=0.35),
    ]


def large_vault(folder: Path, env: dict[str, str], rounds: int) -> list[Row]:
    """10,000 notes and a history of 50,000 lines, searched by words, with one verdict and one edit since the index was written."""
    place, state = folder / "large", folder / "state-large"
    # By words alone: embedding 60,000 passages takes minutes, and what meaning costs is not measured here.
    env = {**env, "VIR_STATE_DIR": str(state), "VIR_EMBEDDER": "off"}
    empty = folder / "nothing"
    empty.mkdir(exist_ok=True)
    if not place.is_dir():
        os.environ["VIR_STATE_DIR"] = str(state)
        make_vault(place)
    run = [str(VIR), "run", "--vault", str(place), "--claude-dir", str(empty), "--json"]
    shutil.rmtree(next(path for path in state.iterdir() if path.name.startswith("v")) / "index", ignore_errors=True)
    began = time.perf_counter()
    subprocess.run(run, env=env, check=True, capture_output=True)
    built = time.perf_counter() - began
    question = "connection pool timeout retry"
    ask = [str(VIR), "query", question, "--vault", str(place), "--json"]
    before = json.loads(subprocess.run(ask, env=env, check=True, capture_output=True).stdout)
    rejected, edited = before["hits"][0]["id"], place / before["hits"][1]["path"]
    withhold(place, state, rejected)
    edited.write_text(edited.read_text("utf-8") + "\nA line of my own.\n", "utf-8")
    after = json.loads(subprocess.run(ask, env=env, check=True, capture_output=True).stdout)
    assert rejected not in {hit["id"] for hit in after["hits"]}, "a withheld note was answered"
    assert after["degraded"] is None, after["degraded"]
    notes = str(place / "vir")
    return [
        Row("run at 10k notes that must build the whole index", [built], note="once; index without vectors"),
        Row("`query` by words at 10k notes, 50k history lines", timed(ask, env, rounds), bar=0.22),
        Row("`query`, a rare identifier", timed([*ask[:2], "max_connections", *ask[3:]], env, rounds), bar=0.22),
        Row(
            "`query`, very common words",
            timed([*ask[:2], "the error in the test and the server", *ask[3:]], env, rounds),
            bar=0.22,
        ),
        Row(
            "`doctor` at 10k notes",
            timed([str(VIR), "doctor", "--vault", str(place), "--claude-dir", str(empty), "--json"], env, rounds),
            bar=0.2,
        ),
        Row(
            "`grep -ril timeout` over the same notes",
            timed(["grep", "-ril", "--include=*.md", "timeout", notes], env, rounds),
        ),
    ]


def withhold(place: Path, state: Path, note: str) -> None:
    """One verdict since the index was written, through the room that writes verdicts."""
    code = (
        "import sys; from vir_core import __version__; from vir_core.journal import Draft, Journal; from vir_core.memory import Memory, Rejected;"
        "from vir_core.vault import adopt, open_vault; v = open_vault(sys.argv[1]);"
        "j = Journal(v.store, v.state, vault=v.id, device=adopt(v).device, core=__version__)\n"
        "with j.writing('bench', Memory) as w: w.append([Draft(action='rejected', subject=sys.argv[2], data=Rejected(reason='wrong'), must=True)], kind='person', surface='bench')"
    )
    python = str(PROJECT / ".venv" / "bin" / "python")
    subprocess.run([python, "-c", code, str(place), note], env={**os.environ, "VIR_STATE_DIR": str(state)}, check=True)


def timed(words: Sequence[str], env: dict[str, str], rounds: int) -> list[float]:
    """Wall seconds of fresh processes, one warm-up not counted."""
    return measure(lambda: subprocess.run(words, env=env, capture_output=True, stdin=subprocess.DEVNULL), rounds)


def measure(action: Callable[[], object], rounds: int) -> list[float]:
    action()
    seconds: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - began)
    return seconds


def render(rows: Sequence[Row]) -> str:
    """Markdown, with machine, date and load."""
    base = rows[0].median
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f} at the end.",
        "",
        "| what | median ms | min-max ms | bar ms | x starting Python | |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        bar = "" if row.bar is None else f"{row.bar * 1000:.0f}{'' if row.median <= row.bar else ' **missed**'}"
        lines.append(
            f"| {row.what} | {row.median * 1000:.0f} | {row.low * 1000:.0f}-{row.high * 1000:.0f} | {bar} | {row.median / base:.1f} | {row.note} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
