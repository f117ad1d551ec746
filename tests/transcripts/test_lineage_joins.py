"""What makes several files one session, and what only looks as if it did."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vir_core.transcripts import LEFT_BRANCH, find, join_lineage, read_thread, read_turns, survey
from vir_core.transcripts.lineage import Lineage

Make = Callable[..., Any]
FIRST, SECOND, THIRD = (f"{n}{n}{n}{n}{n}{n}{n}{n}-2222-4333-8444-555555555555" for n in (3, 4, 5))


def lineage_of(folder: Path) -> Lineage:
    return join_lineage(survey(find([folder], [folder]), None).sessions)


def keys(lineage: Lineage) -> list[str]:
    return sorted(thread.key for thread in lineage.threads)


def ids(n: int) -> str:
    return f"dddddddd-0000-4000-8000-{n:012d}"


def test_a_session_compacted_into_a_new_file_by_the_record_it_continues(claude: Make, tmp_path: Path) -> None:
    before = claude(FIRST)
    before.user("why is it slow", uuid=ids(1))
    before.says("because of the cache", uuid=ids(2))
    before.write(tmp_path)
    after = claude(SECOND)
    after.record(
        "system",
        subtype="compact_boundary",
        parentUuid=None,
        logicalParentUuid=ids(2),
        uuid=ids(3),
        timestamp="2026-03-04T12:00:00.000Z",
    )
    after.user(
        "This session is being continued from a previous conversation.",
        isCompactSummary=True,
        parentUuid=ids(3),
        uuid=ids(4),
        timestamp="2026-03-04T12:00:01.000Z",
    )
    after.user("then make it fast", uuid=ids(5), timestamp="2026-03-04T12:01:00.000Z")
    after.write(tmp_path)
    (thread,) = lineage_of(tmp_path).threads
    assert (thread.key, len(thread.files)) == (f"claude:{FIRST}", 2)
    human = [turn.text for turn in read_thread(thread).turns if turn.kind == "prompt"]
    assert human == ["why is it slow", "then make it fast"]


def test_a_session_compacted_into_a_new_file_by_title_and_time(claude: Make, tmp_path: Path) -> None:
    def pair(folder: Path, second_starts: str) -> Lineage:
        before = claude(FIRST)
        before.user("why is it slow", uuid=ids(1), timestamp="2026-03-04T10:00:00.000Z")
        before.says("because", uuid=ids(2), timestamp="2026-03-04T10:05:00.000Z")
        before.state("ai-title", aiTitle="Slow cache")
        before.write(folder)
        after = claude(SECOND)
        after.user(
            "This session is being continued from a previous conversation.",
            isCompactSummary=True,
            uuid=ids(4),
            timestamp=second_starts,
        )
        after.user("then make it fast", uuid=ids(5), timestamp=second_starts)
        after.state("ai-title", aiTitle="Slow cache")
        after.write(folder)
        return lineage_of(folder)

    assert keys(pair(tmp_path / "at once", "2026-03-04T10:06:00.000Z")) == [f"claude:{FIRST}"]
    assert len(pair(tmp_path / "a day later", "2026-03-05T10:06:00.000Z").threads) == 2


def test_the_same_title_joins_nothing_by_itself(claude: Make, tmp_path: Path) -> None:
    for n, name in enumerate((FIRST, SECOND)):
        file = claude(name)
        file.user(f"prompt {n}", uuid=ids(n))
        file.state("custom-title", customTitle="Daily")
        file.write(tmp_path)
    assert len(lineage_of(tmp_path).threads) == 2


def test_a_summary_at_the_head_of_a_file_may_title_another_session(claude: Make, tmp_path: Path) -> None:
    one = claude(FIRST)
    one.user("why is it slow", uuid=ids(1))
    one.write(tmp_path)
    other = claude(SECOND)
    other.state("summary", summary="Slow cache", leafUuid=ids(1))
    other.user("add a verb", uuid=ids(2))
    other.write(tmp_path)
    lineage = lineage_of(tmp_path)
    assert len(lineage.threads) == 2
    assert {thread.speaker.title for thread in lineage.threads} == {""}


def test_forks_of_a_session_that_is_gone_are_one(claude: Make, tmp_path: Path) -> None:
    for n, name in enumerate((SECOND, THIRD)):
        fork = claude(name)
        fork.user("before", uuid=ids(10 + n), forkedFrom={"sessionId": FIRST, "messageUuid": ids(1)})
        fork.user(f"own {n}", uuid=ids(20 + n), timestamp=f"2026-03-05T1{n}:00:00.000Z")
        fork.write(tmp_path)
    lineage = lineage_of(tmp_path)
    assert len(lineage.threads) == 1
    assert {facts.copied for facts in lineage.threads[0].files} == {1}


def test_a_plan_handed_over_is_a_session_of_its_own_that_knows_where_it_came_from(claude: Make, tmp_path: Path) -> None:
    plan = claude(FIRST)
    plan.user("plan a cache", uuid=ids(1))
    plan.says("here it is", uuid=ids(2))
    plan.write(tmp_path)
    work = claude(SECOND)
    work.user([{"type": "text", "text": "[Request interrupted by user for tool use]"}], sessionId=FIRST, uuid=ids(3))
    work.user("Implement the following plan:\n\n# Cache", planContent="# Cache", uuid=ids(4))
    work.says("done", uuid=ids(5))
    work.write(tmp_path)
    lineage = lineage_of(tmp_path)
    assert keys(lineage) == [f"claude:{FIRST}", f"claude:{SECOND}"]
    assert lineage.follows == {f"claude:{SECOND}": f"claude:{FIRST}"}


def test_a_relocated_session_is_found_by_its_id_under_any_key(claude: Make, tmp_path: Path) -> None:
    file = claude(FIRST)
    file.user("before")
    file.write(tmp_path)
    file.state("relocated", relocatedCwd="/home/sam/shop/.claude/worktrees/fix")
    file.user("after", cwd="/home/sam/shop/.claude/worktrees/fix")
    other = tmp_path / "projects" / "-home-sam-shop--claude-worktrees-fix" / f"{FIRST}.jsonl"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"\n".join(file.lines) + b"\n")
    (thread,) = lineage_of(tmp_path).threads
    assert (len(thread.files), thread.speaker.path, thread.speaker.human_turns) == (2, str(other), 2)


def test_a_rewound_session_keeps_both_branches_once(claude: Make, tmp_path: Path) -> None:
    file = claude(FIRST)
    root = file.user("start")
    file.user("left", parentUuid=root)
    file.user("right", parentUuid=root)
    path = file.write(tmp_path)
    assert keys(lineage_of(path.parent)) == [f"claude:{FIRST}"]
    (thread,) = lineage_of(tmp_path).threads
    assert [turn.text for turn in read_thread(thread).turns] == ["start", "left", "right"]


def test_what_a_person_went_back_from_is_marked(claude: Make, tmp_path: Path) -> None:
    file = claude(FIRST)
    start = file.says("ready", parentUuid=file.user("start"))
    wrong = file.user("use a mutex", parentUuid=start)
    file.says("done with a mutex", parentUuid=wrong)
    right = file.user("use a channel", parentUuid=start)
    file.says("first half", parentUuid=right)
    file.says("second half", parentUuid=right)  # answers and calls share parents without anybody going back
    file.user("good", parentUuid=right)
    turns = read_turns(file.write(tmp_path)).turns
    assert [turn.text for turn in turns if turn.evidence == LEFT_BRANCH] == ["use a mutex", "done with a mutex"]
    assert {turn.text for turn in turns if turn.evidence != LEFT_BRANCH} >= {"start", "use a channel", "good"}


def test_a_person_who_forks_a_scripts_session_speaks_for_both(claude: Make, tmp_path: Path) -> None:
    script = claude(FIRST, entrypoint="sdk-cli")
    for n in range(4):
        script.user(f"step {n}", promptSource="sdk", uuid=ids(n))
        script.says("done", uuid=ids(10 + n))
    script.write(tmp_path)
    mine = claude(SECOND, entrypoint="cli")
    mine.user(
        "what did step 2 do?",
        promptSource="typed",
        origin={"kind": "human"},
        uuid=ids(30),
        forkedFrom={"sessionId": FIRST, "messageUuid": ids(3)},
    )
    mine.says("it wrote the file", uuid=ids(31))
    path = mine.write(tmp_path)
    (thread,) = lineage_of(tmp_path).threads
    assert (thread.speaker.path, thread.speaker.driver) == (str(path), "human")


def test_a_guardian_that_was_shown_a_session_is_not_that_session(codex: Make, tmp_path: Path) -> None:
    file = codex()
    file.meta()
    file.asks("delete the branch")
    file.answers("done")
    file.write(tmp_path)
    judge = codex("01990000-0000-7000-8000-000000000009")
    judge.meta(
        source={"subagent": {"other": "guardian"}},
        thread_source="guardian_review",
        forked_from_id=file.ident,
        parent_thread_id=file.ident,
    )
    judge.asks("the transcript so far: delete the branch")
    judge.answers("allowed")
    judge.write(tmp_path)
    lineage = lineage_of(tmp_path)
    assert keys(lineage) == [f"codex:{file.ident}", f"codex:{judge.ident}"]
    assert lineage.parents == {f"codex:{judge.ident}": f"codex:{file.ident}"}


def test_an_agent_names_its_session_wherever_its_file_lies(claude: Make, tmp_path: Path) -> None:
    """A resumed workflow is split over two session folders; the records say whose it is."""
    main = claude(FIRST)
    main.user("go")
    main.write(tmp_path)
    agent = claude(FIRST, isSidechain=True, agentId="a1")
    agent.n = 50
    agent.user("task")
    agent.write(tmp_path, f"{SECOND}/subagents/workflows/wf_1/agent-a1.jsonl")
    assert lineage_of(tmp_path).parents == {f"claude:{FIRST}/a1": f"claude:{FIRST}"}
