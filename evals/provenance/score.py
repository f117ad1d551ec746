"""Scores who drove each labelled session: `.venv/bin/python -m evals.provenance.score [--shared DIR] [--write]`.

Prints confusion tables for vir and three simpler classifiers; `--write` puts them into README.md between its two marks.
Reads labels of the handed data (`data/transcripts/labels.jsonl`), those beside this script (`labels.jsonl`, for
`data/real-cli`), and `disputed.jsonl`, the files whose label we read otherwise and why.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from vir_core.transcripts import SessionFacts, find, join_lineage, survey, with_automated

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"
BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"
TAKEN = {"human", "plan_handoff"}
PERSON = ("human-driven", "codex-human")
MACHINE = (
    "agent-orchestrated",
    "codex-automation",
    "codex-exec",
    "codex-subagent",
    "sdk-headless",
    "subagent",
    "tool-driven",
    "workflow",
)
HEAD = 1 << 20
"""Bytes of a file that vir 0.27 looked at for the first user line."""


class Row(Struct):
    """One labelled file. `truth` is person, machine or neither (empty files, invented ones, a slash command alone)."""

    path: Path
    name: str
    kind: str
    group: str
    truth: str
    turns: int
    right: int
    facts: SessionFacts | None


def rows(shared: Path) -> list[Row]:
    found: list[Row] = []
    disputed = {row["file"]: row["right"] for row in _lines(HERE / "disputed.jsonl")}
    for folder, labels in (
        ("transcripts", shared / "data" / "transcripts" / "labels.jsonl"),
        ("real-cli", HERE / "labels.jsonl"),
    ):
        root = shared / "data" / folder
        sessions = survey(find([root], []), None).sessions
        sessions, _ = with_automated(sessions, join_lineage(sessions))
        known = {facts.path: facts for facts in sessions}
        for label in _lines(labels):
            path = root / label["file"]
            kind = label["classification"]
            group = (
                "per-version fixtures"
                if "fixture" in label["file"]
                else ("real CLIs" if folder == "real-cli" else "real files")
            )
            turns = label["human_turns"]
            found.append(
                Row(
                    path,
                    label["file"],
                    kind,
                    group,
                    _truth(kind),
                    turns,
                    disputed.get(label["file"], turns),
                    known.get(str(path)),
                )
            )
    return found


def _truth(kind: str) -> str:
    if kind.startswith(PERSON):
        return "person"
    return "machine" if kind.startswith(MACHINE) else "neither"


def _lines(path: Path) -> list[dict[str, object]]:  # type: ignore[type-arg]
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


# -- classifiers: does a default run take this file?


def vir(row: Row) -> bool:
    return row.facts is not None and (row.facts.driver in TAKEN or row.facts.certainty == "unsure")


def all_human(row: Row) -> bool:
    """Every file that opens as a transcript."""
    return row.facts is not None


def vir_027(row: Row) -> bool:
    """The three rules of vir 0.27: where the file lies, an entrypoint that opens with `sdk` on the first user line, any line
    of a side chain; for Codex a `source` that is an object, or `exec`."""
    if row.facts is None:
        return False
    parts = row.path.parts
    if "subagents" in parts[-5:-1]:
        return False
    if row.facts.source == "codex":
        source = _codex_source(row.path)
        return not isinstance(source, dict) and source != "exec"
    return not _claude_marks(row.path)


def _claude_marks(path: Path) -> bool:
    first_user = False
    read = 0
    with path.open("rb") as handle:
        for line in handle:
            read += len(line)
            if b'"isSidechain":true' in line or b'"isSidechain": true' in line:
                return True
            if first_user or read > HEAD or b'"user"' not in line:
                continue
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and record.get("type") == "user":
                first_user = True
                if str(record.get("entrypoint", "")).startswith("sdk"):
                    return True
    return False


def _codex_source(path: Path) -> object:
    with path.open("rb") as handle:
        for line in handle:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and record.get("type") == "session_meta":
                return (record.get("payload") or {}).get("source")
    return None


CLASSIFIERS: tuple[tuple[str, Callable[[Row], bool]], ...] = (
    ("vir", vir),
    ("the three rules of vir 0.27", vir_027),
    ("everything is a person's", all_human),
)


# -- tables


def tables(found: list[Row]) -> str:
    parts = [_errors(found, group) for group in ("real files", "real CLIs", "per-version fixtures")]
    parts += [_turns(found), _drivers(found), _let_through(found)]
    return "\n\n".join(parts)


def _errors(found: list[Row], group: str) -> str:
    people = [row for row in found if row.group == group and row.truth == "person"]
    machines = [row for row in found if row.group == group and row.truth == "machine"]
    neither = sum(row.group == group and row.truth == "neither" for row in found)
    lines = [
        f"**{group[0].upper()}{group[1:]}**: {len(people)} driven by a person, {len(machines)} by a machine, {neither} neither.",
        "",
        "| classifier | a person's, not taken | a machine's, let through |",
        "|---|---|---|",
    ]
    for name, takes in CLASSIFIERS:
        lost = sum(not takes(row) for row in people)
        through = sum(takes(row) for row in machines)
        lines.append(f"| {name} | {_share(lost, len(people))} | {_share(through, len(machines))} |")
    return "\n".join(lines)


def _turns(found: list[Row]) -> str:
    lines = [
        "**Human turns** (typed and queued prompts) equal to the label, and after the labels that we dispute:",
        "",
        "| files | as labelled | as we read them |",
        "|---|---|---|",
    ]
    for group in ("real files", "real CLIs", "per-version fixtures", ""):
        these = [row for row in found if group in ("", row.group)]
        labelled = sum(_counted(row) == row.turns for row in these)
        right = sum(_counted(row) == row.right for row in these)
        lines.append(f"| {group or 'all'} | {_share(labelled, len(these))} | {_share(right, len(these))} |")
    return "\n".join(lines)


def _counted(row: Row) -> int:
    return row.facts.human_turns if row.facts else 0


def _drivers(found: list[Row]) -> str:
    drivers = sorted({row.facts.driver if row.facts else "no session" for row in found})
    lines = [
        "**Labels against drivers**, all files:",
        "",
        "| label | " + " | ".join(drivers) + " |",
        "|---" * (len(drivers) + 1) + "|",
    ]
    for kind, group in _by_kind(found):
        counts = Counter(row.facts.driver if row.facts else "no session" for row in group)
        lines.append(f"| {kind} | " + " | ".join(str(counts[driver] or "") for driver in drivers) + " |")
    return "\n".join(lines)


def _by_kind(found: list[Row]) -> Iterable[tuple[str, list[Row]]]:
    for kind in sorted({row.kind for row in found}):
        yield kind, [row for row in found if row.kind == kind]


def _let_through(found: list[Row]) -> str:
    wrong = [row for row in found if (row.truth == "machine" and vir(row)) or (row.truth == "person" and not vir(row))]
    lines = ["**Files that vir answers otherwise than their label**:", ""]
    for row in wrong:
        assert row.facts is not None or row.truth == "person"
        said = (
            f"{row.facts.driver}, {row.facts.certainty}: {'; '.join(row.facts.evidence)}" if row.facts else "no session"
        )
        lines.append(f"- `{row.name}` ({row.kind}): {said}")
    return "\n".join(lines if wrong else [*lines, "none."])


def _share(number: int, of: int) -> str:
    return f"{number} of {of} ({number / of:.1%})" if of else "0 of 0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--shared", type=Path, default=HERE.parent.parent.parent / "shared", help="the folder with data/"
    )
    parser.add_argument("--write", action="store_true", help="put the tables into README.md")
    options = parser.parse_args()
    text = tables(rows(options.shared))
    print(text)
    if options.write:
        readme = README.read_text("utf-8")
        head, _, rest = readme.partition(BEGIN)
        _, _, tail = rest.partition(END)
        README.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}", "utf-8")


if __name__ == "__main__":
    main()
