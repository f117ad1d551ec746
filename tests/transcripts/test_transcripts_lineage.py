"""Which files are one session."""

from __future__ import annotations

from pathlib import Path

from vir_core.transcripts import find, join_lineage, read_thread, survey


def lineage_of(folder: Path):
    return join_lineage(survey(find([folder], [folder]), None).sessions)


def test_growth_copies_are_one_and_the_longest_speaks(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("one")
    file.write(tmp_path / "step1")
    file.user("two")
    whole = file.write(tmp_path / "step2")
    other = claude("99999999-2222-4333-8444-555555555555")
    other.user("one", uuid="dddddddd-0000-4000-8000-000000000001")
    other.write(tmp_path)
    lineage = lineage_of(tmp_path)
    assert len(lineage.threads) == 2
    thread = next(thread for thread in lineage.threads if thread.key == f"claude:{file.session}")
    assert (len(thread.files), thread.speaker.path) == (2, str(whole))


def test_a_resumed_file_with_the_same_records_keeps_the_first_key(claude, tmp_path: Path) -> None:
    first = claude("33333333-2222-4333-8444-555555555555")
    first.user("before")
    first.write(tmp_path)
    second = claude("22222222-2222-4333-8444-555555555555")
    second.user("before")
    second.user("after")
    resumed = second.write(tmp_path)
    lineage = lineage_of(tmp_path)
    assert [thread.key for thread in lineage.threads] == [f"claude:{first.session}"]
    assert lineage.threads[0].speaker.path == str(resumed)
    assert set(lineage.roots.values()) == {lineage.threads[0].key}


def test_fork_by_name(claude, tmp_path: Path) -> None:
    parent = claude("33333333-2222-4333-8444-555555555555")
    parent.user("before", uuid="dddddddd-0000-4000-8000-000000000001")
    parent.write(tmp_path)
    fork = claude("22222222-2222-4333-8444-555555555555")
    fork.user("mine", forkedFrom={"sessionId": parent.session, "messageUuid": "x"}, timestamp="2026-03-05T10:00:00Z")
    fork.write(tmp_path)
    lineage = lineage_of(tmp_path)
    assert [thread.key for thread in lineage.threads] == [f"claude:{parent.session}"]


def test_archived_duplicate_is_the_same_session(codex, tmp_path: Path) -> None:
    file = codex()
    file.meta()
    file.asks("go")
    live = file.write(tmp_path)
    archived = tmp_path / "archived_sessions" / live.name
    archived.parent.mkdir()
    archived.write_bytes(live.read_bytes())
    lineage = lineage_of(tmp_path)
    assert [(thread.key, [one.path for one in thread.files]) for thread in lineage.threads] == [
        (f"codex:{file.ident}", [str(live)])
    ]


def test_subagents_stay_apart_and_name_their_parent(claude, tmp_path: Path) -> None:
    main = claude()
    main.user("go")
    main.write(tmp_path)
    for agent in ("a1", "a2"):
        child = claude(isSidechain=True, agentId=agent)
        child.n = 10 if agent == "a1" else 20
        child.user("task")
        child.write(tmp_path, f"{main.session}/subagents/agent-{agent}.jsonl")
    lineage = lineage_of(tmp_path)
    assert sorted(thread.key for thread in lineage.threads) == [
        f"claude:{main.session}",
        f"claude:{main.session}/a1",
        f"claude:{main.session}/a2",
    ]
    assert lineage.parents == {f"claude:{main.session}/{agent}": f"claude:{main.session}" for agent in ("a1", "a2")}


def test_order_of_reading_changes_nothing(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("one")
    file.write(tmp_path / "x")
    file.user("two")
    file.write(tmp_path / "y")
    sessions = survey(find([tmp_path], []), None).sessions
    one, other = join_lineage(sessions), join_lineage(sessions[::-1])
    assert one.roots == other.roots
    assert {thread.speaker.path for thread in one.threads} == {thread.speaker.path for thread in other.threads}


def test_a_fork_and_what_it_left_are_read_as_one_with_nothing_twice(claude, tmp_path: Path) -> None:
    parent = claude("33333333-2222-4333-8444-555555555555")
    parent.user("before the fork")
    parent.says("answer")
    parent.user("parent goes on", uuid="dddddddd-0000-4000-8000-000000000001")
    parent.write(tmp_path)
    fork = claude("22222222-2222-4333-8444-555555555555", gitBranch="other")
    fork.user("before the fork")
    fork.says("answer")
    fork.user("fork goes on", uuid="dddddddd-0000-4000-8000-000000000002", timestamp="2026-03-05T10:00:00.000Z")
    gone = fork.write(tmp_path)
    (thread,) = lineage_of(tmp_path).threads
    transcript = read_thread(thread)
    assert [turn.text for turn in transcript.turns] == ["before the fork", "answer", "parent goes on", "fork goes on"]
    assert (transcript.facts.human_turns, transcript.facts.last_turn) == (3, transcript.turns[-1].id)
    assert transcript.facts.branches == ("main", "other")
    assert transcript.facts.ended == "2026-03-05T10:00:00.000Z"
    if thread.speaker.path != str(gone):
        gone.unlink()
        assert [turn.text for turn in read_thread(thread).turns][-1] == "parent goes on"
