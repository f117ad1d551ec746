"""Finding files and summing them up: every file accounted for, nothing read twice, nothing made by reading."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.transcripts.conftest import wordless
from vir_core.transcripts import find, survey


def names(found) -> list[str]:
    return sorted(Path(file.path).name for file in found.files)


def test_a_config_folder_a_projects_folder_and_any_tree_find_the_same(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("go")
    path = file.write(tmp_path)
    (tmp_path / "history.jsonl").write_text("{}\n")
    for folder in (tmp_path, tmp_path / "projects", path.parent):
        assert [file.path for file in find([folder], []).files] == [str(path)]


def test_a_codex_home_holds_sessions_and_archived_ones(codex, tmp_path: Path) -> None:
    file = codex()
    file.meta()
    live = file.write(tmp_path)
    archived = tmp_path / "archived_sessions" / "rollout-2026-03-04T12-00-00-x.jsonl"
    archived.parent.mkdir()
    archived.write_bytes(live.read_bytes())
    found = find([], [tmp_path])
    assert sorted(file.path for file in found.files) == sorted([str(live), str(archived)])
    assert found.others == ()
    assert {file.source for file in found.files} == {"codex"}


def test_what_is_no_session_is_named_and_spilled_results_are_not_looked_at(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("go")
    path = file.write(tmp_path)
    session = path.with_suffix("")
    (session / "subagents" / "workflows" / "wf_1").mkdir(parents=True)
    (session / "subagents" / "workflows" / "wf_1" / "journal.jsonl").write_text('{"type":"started"}\n')
    (session / "tool-results").mkdir()
    (session / "tool-results" / "toolu_1.jsonl").write_text("x")
    (path.parent / "sessions-index.json").write_text("{}")
    found = find([tmp_path], [])
    assert names(found) == [path.name]
    assert [Path(other.path).name for other in found.others] == ["journal.jsonl"]
    assert found.problems == ()


def test_a_missing_folder_a_file_for_a_folder_and_a_folder_for_a_file(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("go")
    path = file.write(tmp_path)
    (path.parent / "folder.jsonl").mkdir()
    found = find([tmp_path / "projects", tmp_path / "nowhere", path], [])
    assert names(found) == [path.name]
    assert len(find([Path("nul\0nul")], []).problems) == 1
    assert sorted(Path(problem.path).name for problem in found.problems) == sorted(
        ["folder.jsonl", "nowhere", path.name]
    )
    assert all(problem.stage == "find" and problem.message for problem in found.problems)


def test_link_loops_end_and_a_file_met_twice_counts_once(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("go")
    path = file.write(tmp_path)
    (path.parent / "loop").symlink_to(tmp_path / "projects")
    (path.parent / "again.jsonl").symlink_to(path)
    (path.parent / "dangling.jsonl").symlink_to(tmp_path / "gone")
    found = find([tmp_path, tmp_path / "projects"], [tmp_path])
    assert [file.path for file in found.files] == [str(path)]
    assert {Path(problem.path).name for problem in found.problems} == {"dangling.jsonl"}


def test_a_linked_projects_folder_is_followed(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("go")
    path = file.write(tmp_path / "real")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "projects").symlink_to(tmp_path / "real" / "projects")
    assert names(find([tmp_path / "config"], [])) == [path.name]


@pytest.mark.skipif(os.name == "nt", reason="names are UTF-16 there")
def test_a_name_that_is_no_text_is_a_problem_not_a_crash(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("go")
    path = file.write(tmp_path)
    path.rename(os.fsdecode(os.fsencode(path.parent) + b"/caf\xe9.jsonl"))
    found = find([tmp_path], [])
    assert found.files == ()
    assert len(found.problems) == 1
    found.problems[0].path.encode()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no users to tell apart")
def test_no_permission_is_reported_and_the_rest_is_done(claude) -> None:
    file = claude()
    file.user("go")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        good = file.write(folder)
        bad = file.write(folder, "22222222-2222-4333-8444-555555555555.jsonl")
        bad.chmod(0)
        shut = folder / "projects" / "shut"
        shut.mkdir()
        shut.chmod(0)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)  # root may read everything
        try:
            result = survey(find([folder], []), None)
        finally:
            if root:
                os.seteuid(0)
            shut.chmod(0o700)
    assert [facts.path for facts in result.sessions] == [str(good)]
    assert [(failure.path, failure.stage) for failure in result.failures] == [(str(shut), "find"), (str(bad), "read")]
    assert all("permission" in failure.message for failure in result.failures)


def test_a_file_that_disappears_between_find_and_read(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("go")
    good = file.write(tmp_path)
    bad = file.write(tmp_path, "22222222-2222-4333-8444-555555555555.jsonl")
    found = find([tmp_path], [])
    bad.unlink()
    result = survey(found, None)
    assert [facts.path for facts in result.sessions] == [str(good)]
    assert "disappeared" in result.failures[0].message


def test_nothing_changed_reads_nothing_and_writes_nothing(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("go")
    path = file.write(tmp_path)
    (path.parent / "foreign.jsonl").write_text("not json\n")
    cache = tmp_path / "state" / "seen"
    cache.parent.mkdir()
    first = survey(find([tmp_path], []), cache)
    before = cache.stat()
    assert before.st_mode & 0o077 == 0
    second = survey(find([tmp_path], []), cache)
    assert (first.changed, second.changed, second.bytes_read) == (2, 0, 0)
    assert (wordless(second), second.others) == (wordless(first), first.others)
    after = cache.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_growth_replacement_and_removal_are_seen(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("one")
    path = file.write(tmp_path)
    other = file.write(tmp_path, "22222222-2222-4333-8444-555555555555.jsonl")
    cache = tmp_path / "state" / "seen"
    cache.parent.mkdir()
    survey(find([tmp_path], []), cache)
    file.user("two")
    file.write(tmp_path)
    grown = survey(find([tmp_path], []), cache)
    assert (grown.changed, [facts.human_turns for facts in grown.sessions]) == (1, [2, 1])
    stat = path.stat()
    fresh = path.with_suffix(".tmp")
    fresh.write_bytes(path.read_bytes().replace(b'"content":"two"', b'"content":"2.."'))
    os.utime(fresh, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    fresh.replace(path)
    assert survey(find([tmp_path], []), cache).changed == 1
    other.unlink()
    assert len(survey(find([tmp_path], []), cache).sessions) == 1


def test_looking_at_one_folder_keeps_what_is_known_of_another(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("one")
    file.write(tmp_path / "a")
    file.write(tmp_path / "b")
    cache = tmp_path / "state" / "seen"
    cache.parent.mkdir()
    survey(find([tmp_path / "a", tmp_path / "b"], []), cache)
    assert survey(find([tmp_path / "a"], []), cache).changed == 0
    assert survey(find([tmp_path / "a", tmp_path / "b"], []), cache).changed == 0


def test_a_damaged_cache_is_as_good_as_none(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("one")
    file.write(tmp_path)
    cache = tmp_path / "state" / "seen"
    cache.parent.mkdir()
    first = survey(find([tmp_path], []), cache)
    good = cache.read_bytes()
    for content in (b"", b"\xc1", good[:100], good[8:], b"\x93\x00\x90\x90", b"\x81\xa1x\x01"):
        cache.write_bytes(content)
        again = survey(find([tmp_path], []), cache)
        assert (again.changed, again.sessions) == (1, first.sessions)
        assert cache.read_bytes() == good


def test_reading_makes_no_folder(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("one")
    file.write(tmp_path)
    cache = tmp_path / "state" / "deep" / "seen"
    assert len(survey(find([tmp_path], []), cache).sessions) == 1
    assert not (tmp_path / "state").exists()


def test_progress_names_the_files_that_are_read(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("one")
    path = file.write(tmp_path)
    seen: list[tuple[int, int, str]] = []
    survey(find([tmp_path], []), None, lambda *step: seen.append(step))
    assert seen == [(0, 1, str(path))]


def test_facts_do_not_depend_on_whether_turns_are_kept(claude, codex, tmp_path: Path) -> None:
    from vir_core.transcripts import read_turns

    file = claude()
    file.user("one")
    file.says("answer")
    file.state("queue-operation", operation="enqueue", content="two", timestamp="2026-03-04T10:09:00.000Z")
    file.write(tmp_path)
    other = codex()
    other.meta()
    other.asks("one")
    other.answers("two")
    other.write(tmp_path)
    for facts in survey(find([tmp_path], [tmp_path]), None).sessions:
        transcript = read_turns(facts)
        assert transcript.facts == facts
        human = [turn for turn in transcript.turns if turn.kind in ("prompt", "queued")]
        assert (len(human), human[-1].id) == (facts.human_turns, facts.last_turn)


def test_no_file_is_stated_twice(claude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for digit in "123":
        file = claude(f"{digit * 8}-2222-4333-8444-555555555555")
        file.user("go")
        file.write(tmp_path)
    cache = tmp_path / "scan"
    survey(find([tmp_path], []), cache)
    stated: list[str] = []
    real = os.stat

    def counting(path, *args, **kwargs):
        stated.append(os.fspath(path) if not isinstance(path, int) else "")
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "stat", counting)
    assert survey(find([tmp_path], []), cache).changed == 0
    files = [path for path in stated if path.endswith(".jsonl")]
    assert sorted(files) == sorted(set(files)) and len(files) == 3
