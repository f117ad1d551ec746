"""Over the handed transcripts: no session that a person drove is skipped by a default run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from vir_core.transcripts import find, join_lineage, read_turns, survey

TAKEN = {"human", "plan_handoff"}

pytestmark = pytest.mark.slow


def test_no_person_is_lost_and_turns_are_counted_right(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = shared / "data" / "transcripts"
    result = survey(find([root], []), None)
    facts = {row.path: row for row in result.sessions}
    assert result.failures == ()
    labels = [json.loads(line) for line in (root / "labels.jsonl").read_text().splitlines()]
    lost: list[str] = []
    let_through = machines = agree = real = real_agree = 0
    for label in labels:
        row = facts.get(str(root / label["file"]))
        if row is None:
            continue
        kind = label["classification"]
        if kind.startswith(("human-driven", "codex-human")) and row.driver not in TAKEN:
            lost.append(label["file"])
        if kind.startswith(("subagent", "sdk-headless", "codex-exec", "codex-subagent", "workflow")):
            machines += 1
            let_through += row.driver in TAKEN
        same = row.human_turns == label["human_turns"]
        agree += same
        if not kind.startswith("fixture") and "fixture" not in label["file"]:
            real += 1
            real_agree += same
    with capsys.disabled():
        sys.stdout.write(
            f"\nhuman_turns: {agree} of {len(labels)} files agree, {real_agree} of {real} real ones; "
            f"machine-driven let through: {let_through} of {machines}; person-driven lost: {len(lost)}\n"
        )
    assert lost == []


def test_every_file_is_accounted_for(shared: Path) -> None:
    for folder in ("transcripts", "real-cli"):
        root = shared / "data" / folder
        found = find([root], [])
        result = survey(found, None)
        told = {row.path for row in result.sessions} | {row.path for row in (*result.failures, *result.others)}
        assert {str(path) for path in root.rglob("*.jsonl")} == told
        join_lineage(result.sessions)


def test_facts_and_turns_agree_on_every_file(shared: Path) -> None:
    for row in survey(find([shared / "data"], []), None).sessions:
        transcript = read_turns(row)
        assert transcript.facts == row
        human = [turn for turn in transcript.turns if turn.kind in ("prompt", "queued")]
        assert len(human) == row.human_turns, row.path
        if human:
            assert row.last_turn in {turn.id for turn in human}, row.path
        ids = [turn.id for turn in transcript.turns]
        assert len(ids) == len(set(ids)), row.path
