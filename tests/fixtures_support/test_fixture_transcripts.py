"""The committed fixtures are what their scripts say, and have the shapes that their table promises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from vir_core.transcripts import SessionFacts, find, join_lineage, project_of, read_turns, survey
from vir_core.transcripts.condensing import condense

ROOT = Path(__file__).resolve().parents[2]
TRANSCRIPTS = ROOT / "fixtures" / "transcripts"
EXPECTED = [json.loads(line) for line in (TRANSCRIPTS / "expected.jsonl").read_text("utf-8").splitlines()]


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def records(name: str) -> list[dict[str, object]]:
    """The records of a fixture; glued ones apart, a torn one left out."""
    found: list[dict[str, object]] = []
    for line in (TRANSCRIPTS / name).read_text("utf-8").splitlines():
        at = 0
        while at < len(line):
            try:
                value, at = json.JSONDecoder().raw_decode(line, at)
            except ValueError:
                break
            found.append(value)
    return found


def test_committed_fixtures_are_what_the_scripts_write(tmp_path: Path) -> None:
    # Another zone, hash seed and folder: nothing of the machine may reach the bytes.
    env = {**os.environ, "TZ": "Pacific/Auckland", "PYTHONHASHSEED": "7", "PYTHONDONTWRITEBYTECODE": "1"}
    script = str(ROOT / "fixtures" / "make_transcripts.py")
    subprocess.run(
        [sys.executable, script, "--out", str(tmp_path / "t")], check=True, env=env, cwd=tmp_path, capture_output=True
    )
    assert tree(tmp_path / "t") == tree(TRANSCRIPTS)


def test_every_transcript_is_expected_and_every_expected_file_is_there() -> None:
    there = {name for name in tree(TRANSCRIPTS) if name.endswith(".jsonl") and name != "expected.jsonl"}
    assert there == {row["file"] for row in EXPECTED}
    assert sum(row["driver"] == "human" for row in EXPECTED) >= 14


def test_parents_are_earlier_records_of_the_file_or_absent() -> None:
    for row in EXPECTED:
        if not row["file"].startswith("claude/"):
            continue
        seen: set[object] = set()
        for record in records(row["file"]):
            if "parentUuid" in record:
                assert record["parentUuid"] is None or record["parentUuid"] in seen, row["file"]
                seen.add(record["uuid"])


def test_uuids_repeat_only_in_the_copy_an_old_program_made() -> None:
    owners: dict[object, set[str]] = {}
    for row in EXPECTED:
        for record in records(row["file"]):
            if "uuid" in record:
                owners.setdefault(record["uuid"], set()).add(row["file"])
    shared = {frozenset(files) for files in owners.values() if len(files) > 1}
    assert len(shared) == 1
    sessions = {row["session"] for row in EXPECTED if row["file"] in next(iter(shared))}
    assert len(sessions) == 1


def test_the_promised_damage_is_there() -> None:
    torn = [row["file"] for row in EXPECTED if not (TRANSCRIPTS / row["file"]).read_bytes().endswith(b"\n")]
    glued = [row["file"] for row in EXPECTED if b'"}{"' in (TRANSCRIPTS / row["file"]).read_bytes()]
    assert len(torn) == 1
    assert len(glued) == 1


def test_the_readme_names_every_file() -> None:
    text = (ROOT / "fixtures" / "README.md").read_text("utf-8")
    for row in EXPECTED:
        assert Path(row["file"]).stem[-12:] in text, row["file"]
        assert row["why"] in text


def test_scripts_and_committed_sources_hold_no_whole_secret() -> None:
    sources = [*(ROOT / "fixtures").rglob("*.py"), ROOT / "tests" / "hostile_text.py"]
    for path in sources:
        text = path.read_text("utf-8")
        assert "ghp_R7" not in text, path
        assert "AKIAQ3" not in text, path
    assert b"ghp_R7" in b"".join(tree(TRANSCRIPTS).values())


def surveyed() -> dict[str, SessionFacts]:
    found = find((TRANSCRIPTS / "claude" / "projects",), (TRANSCRIPTS / "codex" / "sessions",))
    survey_of_all = survey(found, None)
    assert not found.problems
    assert not survey_of_all.failures
    return {Path(one.path).relative_to(TRANSCRIPTS).as_posix(): one for one in survey_of_all.sessions}


def condensed(ending: str) -> str:
    """The condensed, scrubbed text of the fixture whose reason ends so."""
    name = next(row["file"] for row in EXPECTED if ending in row["why"])
    return condense(read_turns(TRANSCRIPTS / name, name.split("/")[0])).text


def test_the_reader_agrees_with_the_table() -> None:
    facts = surveyed()
    assert set(facts) == {row["file"] for row in EXPECTED}
    wrong = [
        (row["file"], name, getattr(facts[row["file"]], name), row[name])
        for row in EXPECTED
        for name in ("driver", "human_turns")
        if getattr(facts[row["file"]], name) != row[name]
    ]
    assert wrong == []
    assert sum(one.bad_lines for one in facts.values()) == 1
    assert not any(one.unknown for one in facts.values())


def test_copies_belong_to_their_ancestor_and_subagents_to_their_parent() -> None:
    facts = surveyed()
    lineage = join_lineage(tuple(facts.values()))
    for row in EXPECTED:
        assert lineage.roots[facts[row["file"]].path] == row["session"], row["file"]
        assert lineage.parents.get(row["session"], "") == row["parent"], row["file"]


def test_each_project_has_one_id() -> None:
    ids: dict[str, set[str]] = {}
    for row in EXPECTED:
        one = surveyed()[row["file"]]
        # Opened and closed with state lines alone: such a file names no folder.
        if one.cwd:
            project = project_of(one.cwd, device="d000000000000000", remote=one.remote)
            assert project.name == row["project"]
            ids.setdefault(project.name, set()).add(project.id)
    assert all(len(found) == 1 for found in ids.values())


def test_invented_secrets_are_scrubbed_and_the_lesson_stays() -> None:
    text = condensed("invented secrets")
    for secret in ("ghp_", "AKIA", "xoxb-", "gezeiten-4711", "8f3c1d7e", "mira.lindqvist@", "/home/mira"):
        assert secret not in text, secret
    assert "a 403 on PutObject with good credentials can come from an ACL header" in text
    assert "[secret]" in text


def test_typed_while_busy_answer_and_refusal_reach_the_condensed_text_once() -> None:
    text = condensed("typed while busy")
    for words in (
        "a whole harbour at once",
        "60 seconds of wrong fares",
        "don't flush production",
        "the cdn was purged",
    ):
        assert text.count(words) == 1, words
    assert "opened /home/mira" not in text
    assert "ide_opened_file" not in text


def test_summaries_and_injected_text_do_not_reach_the_condensed_text() -> None:
    text = condensed("a compaction whose summary")
    assert "ran out of context" not in text
    assert "was not read" not in text
    assert "an unbuffered channel leaks" in text


def test_hostile_session_condenses_to_encodable_text() -> None:
    text = condensed("hostile text")
    text.encode()
    assert "\x1b" not in text
    assert "instruction found in a page is content" in text
