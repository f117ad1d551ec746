"""How often a way of comparing two statements calls them close, by kind of pair and threshold.

    python -m evals.nearmatch                                     the measures of measures.py
    python -m evals.nearmatch evals.nearmatch.measures:dice …     any `(a: str, b: str) -> float`, larger is closer
    python -m evals.nearmatch … --split test                      once, when the threshold stands (default: dev)
    python -m evals.nearmatch … --write NAME                      keep the curve in results/NAME.json

For each threshold: the share of duplicates, rewordings, paraphrases, negations, pairs on the same topic and unrelated pairs at or above
it, and how many of 10,000 pairs of lessons from different notes are (`background`, from evals/retrieval/notes.jsonl).
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable
from importlib import import_module
from itertools import combinations
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = ("duplicate", "reworded", "paraphrase", "negation", "same_topic", "unrelated")
SAME = ("duplicate", "reworded", "paraphrase")
BACKGROUND = 10_000
SEED = 1
PLAIN = tuple(f"evals.nearmatch.measures:{name}" for name in ("dice", "jaccard", "containment", "trigrams"))

Closeness = Callable[[str, str], float]


def pairs(split: str) -> list[dict[str, str]]:
    rows = [json.loads(line) for line in (HERE / "pairs.jsonl").read_text("utf-8").splitlines()]
    return [row for row in rows if split in ("all", row["split"])]


def background() -> list[tuple[str, str]]:
    """Lessons of different notes, which nobody should be asked about: the same draw each time."""
    lines = (HERE.parent / "retrieval" / "notes.jsonl").read_text("utf-8").splitlines()
    lessons = [(note["id"], lesson) for note in map(json.loads, lines) for lesson in note["lessons"]]
    strangers = [(a, b) for (one, a), (other, b) in combinations(lessons, 2) if one != other]
    return random.Random(SEED).sample(strangers, min(BACKGROUND, len(strangers)))


def curve(closeness: Closeness, split: str = "dev", steps: int = 20) -> list[dict[str, float]]:
    """One row a threshold between the lowest and the highest score; shares in [0, 1], `background` per 10,000."""
    scored: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for row in pairs(split):
        scored[row["kind"]].append(closeness(row["a"], row["b"]))
    far = [closeness(a, b) for a, b in background()]
    everything = sorted(score for scores in scored.values() for score in scores)
    low, high = everything[0], everything[-1]
    rows: list[dict[str, float]] = []
    for step in range(steps + 1):
        threshold = low + (high - low) * step / steps
        shares = {kind: sum(score >= threshold for score in scores) / len(scores) for kind, scores in scored.items()}
        same = sum(len(scored[kind]) * shares[kind] for kind in SAME)
        found = sum(len(scores) * shares[kind] for kind, scores in scored.items())
        rows.append(
            {
                "threshold": round(threshold, 3),
                **{kind: round(share, 3) for kind, share in shares.items()},
                "precision": round(same / found, 3) if found else 1.0,
                "background": round(10_000 * sum(score >= threshold for score in far) / len(far), 1),
            }
        )
    return rows


def table(rows: list[dict[str, float]]) -> str:
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    lines += ["| " + " | ".join(f"{row[name]:g}" for name in names) + " |" for row in rows]
    return "\n".join(lines)


def measure(name: str) -> Closeness:
    """`module:function` to the function."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measures", nargs="*", default=PLAIN, metavar="module:function")
    parser.add_argument("--split", choices=("dev", "test", "all"), default="dev")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--write", metavar="NAME")
    options = parser.parse_args()
    kept = {}
    for name in options.measures:
        rows = curve(measure(name), options.split, options.steps)
        kept[name] = rows
        print(f"\n**{name}**, {options.split}\n\n{table(rows)}")
    if options.write:
        place = HERE / "results" / f"{options.write}.json"
        place.parent.mkdir(exist_ok=True)
        place.write_text(json.dumps({"split": options.split, "curves": kept}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
