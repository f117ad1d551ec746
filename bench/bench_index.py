"""Index and one-shot lexical query at 10,000 notes (50,000 synthetic passages): `python bench/bench_index.py`.

Prints build time, one-note refresh, warm query times, and the wall time of fresh processes from start to answer, which is
what a person waits for. Words are drawn from a Zipf-like list, so posting lists are as uneven as in text; the sentences mean
nothing, so nothing here says how good an answer is. Bytecode is warm: the first process of each kind is not counted.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vir_core.index import Passage

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

NOTES = 10_000
PASSAGES_A_NOTE = 5
WORDS_A_PASSAGE = 45
RUNS = 15

FRESH = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from vir_core.index import Index
from vir_core.search import question_terms, rank
terms = question_terms(sys.argv[3])
found = Index(Path(sys.argv[2])).search(terms, 32)
print(len(rank(terms, found)))
"""


def vocabulary(seed: int = 7, size: int = 20_000) -> tuple[list[str], list[float]]:
    chance = random.Random(seed)
    words = ["".join(chance.choices("etaoinshrdlucmfwypvbgk", k=chance.randint(3, 9))) for _ in range(size)]
    return words, list(accumulate(1 / (place + 3) for place in range(size)))


def passages(words: list[str], weights: list[float]) -> Iterator[Passage]:
    from vir_core.index import Passage

    chance = random.Random(11)
    for note in range(NOTES):
        title = " ".join(chance.choices(words, cum_weights=weights, k=6))
        for number in range(PASSAGES_A_NOTE):
            drawn = chance.choices(words, cum_weights=weights, k=WORDS_A_PASSAGE)
            drawn[7] = f"{drawn[7]}_{drawn[8]}"
            yield Passage(
                note=f"n{note:015x}",
                block=f"l{number:011x}" if number else "",
                kind="lesson" if number else "summary",
                title=title,
                text=" ".join(drawn),
                path=f"vir/patterns/{title}.md",
                project=f"p{note % 12:015x}",
                project_name=f"project {note % 12}",
                category="pattern",
                date="2026-11-30",
                confidence=0.5,
                digest="0" * 64,
            )


def milliseconds(action: Callable[[], object], runs: int = RUNS) -> str:
    """Wall time, and processor time of the processes it started (which a busy machine stretches less)."""
    wall: list[float] = []
    before = os.times()
    for _ in range(runs):
        start = time.perf_counter()
        action()
        wall.append((time.perf_counter() - start) * 1000)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    cpu = f", cpu {spent * 1000 / runs:.0f} ms" if spent > 0.001 else ""
    return f"median {statistics.median(wall):.0f} ms, min {min(wall):.0f} ms{cpu}"


def main() -> None:
    from vir_core.index import Index
    from vir_core.search import question_terms, rank

    words, weights = vocabulary()
    start = time.perf_counter()
    everything = list(passages(words, weights))
    print(f"{len(everything)} passages made in {time.perf_counter() - start:.1f} s (not counted below)")
    with tempfile.TemporaryDirectory() as folder:
        index = Index(Path(folder) / "index")
        start = time.perf_counter()
        index.rebuild(everything)
        print(f"build: {time.perf_counter() - start:.2f} s")
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        source = sum(len(f"{passage.title}{passage.text}".encode()) for passage in everything)
        print(f"bytes: {size / 1e6:.1f} MB for {source / 1e6:.1f} MB of text")
        note = everything[:PASSAGES_A_NOTE]
        print("refresh of one note:", milliseconds(lambda: index.refresh({note[0].note: note}), 5))
        questions = {
            "common words": " ".join(words[place] for place in (0, 1, 2)),
            "mixed, 5 words": " ".join(words[place] for place in (3, 50, 400, 3000, 12000)),
            "one rare word": words[15_000],
            "identifier": f"{words[900]}_{words[5000]}",
            "unknown words": "qqqzzz xxyyzz",
            "chinese": "连接超时",
        }
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        bare = [sys.executable, "-c", "pass"]
        print("fresh python alone:", milliseconds(lambda: subprocess.run(bare, check=True)))
        for name, question in questions.items():
            terms = question_terms(question)
            print(f"{name}: warm {milliseconds(lambda t=terms: rank(t, index.search(t, 32)))}", end="; ")
            command = [sys.executable, "-c", FRESH, str(PROJECT), str(index._folder), question]
            run = lambda c=command: subprocess.run(c, check=True, env=environment, stdout=subprocess.DEVNULL)  # noqa: E731
            run()
            print(f"fresh process {milliseconds(run)}")
        for number in range(20):
            note = everything[number * PASSAGES_A_NOTE : (number + 1) * PASSAGES_A_NOTE]
            index.refresh({note[0].note: note})
        common = question_terms(" ".join(words[:3]))
        print("common words after 20 commits more: warm", milliseconds(lambda: rank(common, index.search(common, 32))))
        start = time.perf_counter()
        index.optimize()
        print(f"optimize: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
