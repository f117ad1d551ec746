"""Public reports about who drove a session, whose file it is and which project it belongs to; each with the right answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vir_core.transcripts import find, join_lineage, project_of, read_thread, survey
from vir_core.transcripts.lineage import Lineage

Make = Callable[..., Any]
FIRST, SECOND = (f"{n}{n}{n}{n}{n}{n}{n}{n}-2222-4333-8444-555555555555" for n in (3, 4))


def lineage_of(folder: Path) -> Lineage:
    return join_lineage(survey(find([folder], [folder]), None).sessions)


def agent(claude: Make, ident: str, *, start: int, session: str = FIRST) -> Any:
    file = claude(session, isSidechain=True, agentId=ident)
    file.n = start
    file.user("find the retries")
    file.says("they are in retry.py")
    return file


def test_history_is_whole_across_a_resume_that_changes_the_session_id(claude: Make, tmp_path: Path) -> None:
    """Report 2: one file holds two session ids; the file is the session."""
    file = claude(FIRST)
    file.user("before", sessionId=SECOND)
    file.says("yes", sessionId=SECOND)
    file.user("after")
    file.write(tmp_path)
    (thread,) = lineage_of(tmp_path).threads
    assert (thread.key, thread.speaker.human_turns) == (f"claude:{FIRST}", 2)


def test_a_record_that_stands_in_two_files_leaves_no_child_dangling(claude: Make, tmp_path: Path) -> None:
    """Report 11: the copy is dropped, what hangs off it stays."""
    old = claude(FIRST)
    shared = old.user("before")
    old.write(tmp_path)
    new = claude(SECOND)
    new.user("before", uuid=shared)
    new.user("after", parentUuid=shared)
    new.write(tmp_path)
    (thread,) = lineage_of(tmp_path).threads
    assert [turn.text for turn in read_thread(thread).turns] == ["before", "after"]


def test_only_the_first_head_of_a_rollout_is_its_identity_and_archives_are_copies(codex: Make, tmp_path: Path) -> None:
    """Report 33: a spawned thread copies its parent's head; the live and the archived file are one session."""
    child = codex("01990000-0000-7000-8000-000000000002")
    child.meta(
        source={"subagent": {"thread_spawn": {"parent_thread_id": "01990000-0000-7000-8000-000000000001", "depth": 1}}}
    )
    child.line(
        "session_meta", {"id": "01990000-0000-7000-8000-000000000001", "source": "cli", "originator": "codex-tui"}
    )
    child.answers("found")
    live = child.write(tmp_path)
    archived = tmp_path / "archived_sessions" / live.name
    archived.parent.mkdir()
    archived.write_bytes(live.read_bytes())
    (thread,) = lineage_of(tmp_path).threads
    assert (thread.key, thread.speaker.driver) == (f"codex:{child.ident}", "subagent")
    assert thread.speaker.parent == "01990000-0000-7000-8000-000000000001"


def test_agents_are_found_in_the_old_flat_layout_and_in_the_new_one(claude: Make, tmp_path: Path) -> None:
    """Reports 34 and 35: the folder is walked, whatever the main file says about its agents."""
    main = claude(FIRST)
    main.user("go")
    main.write(tmp_path)
    agent(claude, "0a1b2c3d", start=10).write(tmp_path, "agent-0a1b2c3d.jsonl")
    agent(claude, "a52dc45", start=20).write(tmp_path, f"{FIRST}/subagents/agent-a52dc45.jsonl")
    lineage = lineage_of(tmp_path)
    assert lineage.parents == {
        f"claude:{FIRST}/0a1b2c3d": f"claude:{FIRST}",
        f"claude:{FIRST}/a52dc45": f"claude:{FIRST}",
    }


def test_workflow_agents_are_read_and_the_journal_of_the_workflow_is_not(claude: Make, tmp_path: Path) -> None:
    """Report 36."""
    agent(claude, "a1", start=0).write(tmp_path, f"{FIRST}/subagents/workflows/wf_1/agent-a1.jsonl")
    journal = tmp_path / "projects" / "-home-sam-shop" / FIRST / "subagents" / "workflows" / "wf_1" / "journal.jsonl"
    journal.write_text(
        '{"type":"started","key":"v2:00","agentId":"a1"}\n{"type":"result","key":"v2:00","agentId":"a1","result":{}}\n'
    )
    found = find([tmp_path], [])
    assert [facts.driver for facts in survey(found, None).sessions] == ["workflow"]
    assert [Path(other.path).name for other in found.others] == ["journal.jsonl"]


def test_a_person_has_one_session_however_many_agents_it_started(
    claude: Make, tmp_path: Path, scaled: Callable[[int], int]
) -> None:
    """Reports 37, 38 and 43: agents belong to their parent, keep ids that are no UUID, and are never merged into it."""
    main = claude(FIRST)
    main.user("go")
    main.write(tmp_path)
    number = scaled(100) + 2
    for n in range(number):
        agent(claude, f"a{n}", start=100 * (n + 1)).write(tmp_path, f"{FIRST}/subagents/agent-a{n}.jsonl")
    lineage = lineage_of(tmp_path)
    assert [thread.key for thread in lineage.threads if thread.speaker.driver == "human"] == [f"claude:{FIRST}"]
    assert set(lineage.parents.values()) == {f"claude:{FIRST}"}
    assert len(lineage.parents) == number
    assert len(lineage.threads) == number + 1


def test_workers_with_plain_names_are_known_by_what_they_hold(claude: Make, tmp_path: Path) -> None:
    """Reports 39 and 40: neither isSidechain nor the name tells; the launcher's marks do."""
    file = claude(FIRST, entrypoint="sdk-py")
    file.user("label this", promptSource="sdk")
    file.says("bug")
    file.write(tmp_path)
    (thread,) = lineage_of(tmp_path).threads
    assert (thread.speaker.driver, thread.speaker.agent) == ("headless", "")


def test_warm_up_sidechains_are_not_in_the_list(claude: Make, tmp_path: Path) -> None:
    """Report 41."""
    file = claude(FIRST, isSidechain=True)
    file.user("Warmup")
    file.says("ready")
    file.write(tmp_path)
    (thread,) = lineage_of(tmp_path).threads
    assert (thread.speaker.driver, thread.speaker.human_turns) == ("subagent", 0)


def test_a_state_line_first_hides_no_sidechain_and_a_team_is_seen(claude: Make, tmp_path: Path) -> None:
    """Report 42."""
    file = claude(FIRST, isSidechain=True)
    file.state("mode", mode="default")
    file.state("file-history-snapshot", messageId="m", snapshot={})
    file.user("task")
    file.says("done")
    file.write(tmp_path)
    mate = claude(SECOND, teamName="crew")
    mate.n = 50
    mate.state("mode", mode="default")
    mate.user('<teammate-message teammate_id="team-lead">look</teammate-message>')
    mate.says("looking")
    mate.write(tmp_path)
    assert sorted(thread.speaker.driver for thread in lineage_of(tmp_path).threads) == ["subagent", "teammate"]


def test_worktrees_and_codex_share_the_project_of_the_repository(claude: Make, codex: Make, tmp_path: Path) -> None:
    """Report 53: worktrees, also deleted ones, and both agents' sessions in one folder are one project."""
    repo = tmp_path / "shop"
    (repo / ".git").mkdir(parents=True)
    (repo / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:sam/shop.git\n')
    file = claude(cwd=f"{repo}/.worktrees/2")
    file.user("go")
    file.write(tmp_path / "t")
    other = codex()
    other.meta(cwd=str(repo))
    other.asks("go")
    other.write(tmp_path / "t")
    threads = lineage_of(tmp_path / "t").threads
    found = {project_of(thread.speaker.cwd, device="d1", remote=thread.speaker.remote).key for thread in threads}
    assert (len(threads), found) == (2, {"github.com/sam/shop"})


def test_codex_subagents_hang_off_the_thread_that_spawned_them(codex: Make, tmp_path: Path) -> None:
    """Report 64."""
    main = codex()
    main.meta()
    main.asks("go")
    main.answers("started one")
    main.write(tmp_path)
    child = codex("01990000-0000-7000-8000-000000000002")
    child.meta(source={"subagent": {"thread_spawn": {"parent_thread_id": main.ident, "depth": 1}}})
    child.asks("find the retries")
    child.answers("found")
    child.write(tmp_path)
    lineage = lineage_of(tmp_path)
    assert lineage.parents == {f"codex:{child.ident}": f"codex:{main.ident}"}
    assert {thread.key: thread.speaker.human_turns for thread in lineage.threads} == {
        f"codex:{main.ident}": 1,
        f"codex:{child.ident}": 0,
    }


def test_a_guardian_is_internal_and_a_pinned_judge_makes_nobodys_thread_one(codex: Make, tmp_path: Path) -> None:
    """Report 65."""
    judge = codex("01990000-0000-7000-8000-000000000002")
    judge.meta(source="cli", thread_source="guardian_review")
    judge.asks("judge this")
    judge.answers("allowed")
    judge.write(tmp_path)
    main = codex()
    main.meta(source="cli", thread_source="user", base_instructions={"text": "You are judging one planned action."})
    main.asks("go")
    main.answers("done")
    main.write(tmp_path)
    drivers = {thread.key: thread.speaker.driver for thread in lineage_of(tmp_path).threads}
    assert drivers == {f"codex:{judge.ident}": "internal", f"codex:{main.ident}": "human"}
