"""Draws the sessions that are judged and writes what the judges see.

    python evals/extractive/draw.py --out DIR       (needs ../shared)

Eligible is what `labels.jsonl` calls driven by a person (typed, plan hand-off, Codex TUI or IDE), outside the per-version
fixtures; of copies of one session the one that holds most. `real-cli` has no labels: its interactive sessions count. Labels
and not our own reading decide, so that a session we read wrongly is drawn like any other.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHARED = HERE.parent.parent.parent / "shared"
PERSON = {"human-driven", "human-driven (plan hand-off only)", "codex-human (TUI)", "codex-human (IDE)"}
REAL_CLI = (
    "real-cli/claude-code/home-interactive-projects/-home-dev-work-proj2/4f944d68-2d8c-40b2-bbf3-a414fcac68f4.jsonl",
    "real-cli/codex/sessions/2026/11/30/rollout-2026-11-30T18-58-48-01a22dd2-efdb-70c3-8346-4a6db076b361.jsonl",
)
NOTES, SKIPS = 30, 20


def eligible() -> list[str]:
    """Paths below `../shared/data` of every file a person drove, as labelled."""
    found: list[str] = []
    for line in (SHARED / "data" / "transcripts" / "labels.jsonl").read_text("utf-8").splitlines():
        label = json.loads(line)
        if label["classification"] in PERSON and "-fixtures/" not in label["file"]:
            found.append(f"transcripts/{label['file']}")
    return sorted([*found, *REAL_CLI])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    out = Path(parser.parse_args().out)
    os.environ.setdefault("VIR_STATE_DIR", tempfile.mkdtemp(prefix="vir-eval-"))
    from vir_core.distil import NothingDurable, extract
    from vir_core.ingest.drafting import draft_of
    from vir_core.ingest.selection import Candidate
    from vir_core.text import note_id
    from vir_core.transcripts import condense, join_lineage, project_of, read_thread
    from vir_core.vault import render

    paths = [SHARED / "data" / name for name in eligible()]
    sessions = _facts(paths)
    lineage = join_lineage(sessions)
    seed = (HERE / "seed.txt").read_text().strip()
    threads = sorted(lineage.threads, key=lambda thread: str(Path(thread.speaker.path).relative_to(SHARED / "data")))
    random.Random(seed).shuffle(threads)
    became: Counter[str] = Counter()
    notes, skips = [], []
    for thread in threads:
        facts = thread.speaker
        condensed = condense(read_thread(thread))
        project = project_of(facts.cwd, device="eval", remote=facts.remote)
        outcome = extract(condensed, facts, project.name)
        name = str(Path(facts.path).relative_to(SHARED / "data"))
        if isinstance(outcome, NothingDurable):
            became[f"nothing durable ({outcome.reason})"] += 1
            skips.append((name, condensed, outcome.reason))
            continue
        became["note"] += 1
        draft = draft_of(Candidate(key=thread.key, note=note_id(thread.key), thread=thread, project=project), outcome)
        for lesson in draft.lessons:
            assert any(lesson.quote.text in turn.text for turn in condensed.turns), "a quote that nobody said"
        notes.append((name, condensed, draft.title, render(draft).body.decode()))
    out.mkdir(parents=True, exist_ok=True)
    index = []
    for number, (name, condensed, title, body) in enumerate(notes[:NOTES], 1):
        _packet(out / f"note-{number:02}.md", name, condensed.text, f"# {title}\n{body}")
        index.append({"packet": f"note-{number:02}", "file": name, "note": hashlib.sha256(body.encode()).hexdigest()})
    for number, (name, condensed, reason) in enumerate(skips[:SKIPS], 1):
        _packet(out / f"skip-{number:02}.md", name, condensed.text, f"(no note: {reason})")
        index.append({"packet": f"skip-{number:02}", "file": name, "reason": reason})
    (out / "drawn.jsonl").write_text("".join(json.dumps(row) + "\n" for row in index), "utf-8")
    print(f"{len(paths)} files, {len(threads)} sessions, seed {seed}")
    print(dict(became))
    print(f"{len(notes[:NOTES])} notes and {len(skips[:SKIPS])} skips to judge in {out}")


def _facts(paths: list[Path]) -> list[object]:
    """Each file through the same reader as a run's."""
    from vir_core.transcripts import find, survey

    folders = sorted({path.parent for path in paths})
    wanted = {str(path) for path in paths}
    claude = [folder for folder in folders if "codex" not in folder.parts]
    codex = [folder for folder in folders if "codex" in folder.parts]
    return [facts for facts in survey(find(claude, codex), None).sessions if facts.path in wanted]


def _packet(path: Path, name: str, transcript: str, note: str) -> None:
    path.write_text(
        f"FILE {name}\n\n===== NOTE =====\n\n{note}\n\n===== SESSION (condensed) =====\n\n{transcript}\n", "utf-8"
    )


if __name__ == "__main__":
    main()
