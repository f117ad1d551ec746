"""Counts the verdicts of a round against the rule in README.md.

python evals/extractive/score.py evals/extractive/round1
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> int:
    folder = Path(sys.argv[1])
    verdicts: dict[str, list[dict[str, object]]] = {}
    for path in sorted((folder / "verdicts").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            verdict = json.loads(line)
            verdicts.setdefault(verdict["packet"], []).append(verdict)
    notes = {name: given for name, given in verdicts.items() if name.startswith("note")}
    skips = {name: given for name, given in verdicts.items() if name.startswith("skip")}
    kept = sorted(name for name, given in notes.items() if all(one["keep"] for one in given))
    both = {name: given for name, given in notes.items() if len(given) > 1}
    agreed = sum(len({one["keep"] for one in given}) == 1 for given in both.values())
    wrong = sorted(name for name, given in skips.items() if not all(one["right"] for one in given))
    noise = sum(len(one["noise"]) for given in notes.values() for one in given) / sum(map(len, notes.values()))  # type: ignore[arg-type]
    passed = len(kept) >= 20 and len(wrong) <= len(skips) / 10
    print(
        f"kept {len(kept)} of {len(notes)} notes (needed 20); the judges agree on {agreed} of {len(both)} they both read"
    )
    print(f"wrong skips {len(wrong)} of {len(skips)} (allowed {len(skips) / 10:.1f}): {', '.join(wrong) or 'none'}")
    print(f"not kept: {', '.join(sorted(set(notes) - set(kept)))}")
    print(f"noisy lessons a note: {noise:.1f}")
    print("passed" if passed else "NOT passed")
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
