"""Faults that people reported of other readers of these files: a small file of the reported shape, and the right value.

The numbers are those of the list of reports; lineage, subagents and projects have theirs in test_reported_lineage.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vir_core.transcripts import NotASession, find, read_turns, survey
from vir_core.transcripts.session import Usage


def said(path: Path, *kinds: str) -> list[str]:
    return [turn.text for turn in read_turns(path).turns if turn.kind in kinds]


def one(folder: Path):
    (facts,) = survey(find([folder], []), None).sessions
    return facts


def test_history_written_again_each_turn_counts_once(claude, tmp_path: Path) -> None:
    """Report 1."""
    file = claude(entrypoint="sdk-cli")
    for turn in range(1, 4):
        for n in range(1, turn + 1):  # every turn repeats the ones before it, with their ids
            file.user(f"prompt {n}", uuid=f"bbbbbbbb-0000-4000-8000-{n:012d}")
            file.says(f"answer {n}", f"msg_{n}", uuid=f"cccccccc-0000-4000-8000-{n:012d}")
    path = file.write(tmp_path)
    facts = one(tmp_path)
    assert (facts.human_turns, facts.answers, facts.lines) == (3, 3, 12)
    assert said(path, "prompt") == ["prompt 1", "prompt 2", "prompt 3"]
    assert said(path, "assistant") == ["answer 1", "answer 2", "answer 3"]


def test_repeated_state_lines_are_no_conversation_and_hide_none(claude, tmp_path: Path) -> None:
    """Report 3."""
    file = claude()
    for _ in range(40):
        file.state("mode", mode="normal")
        file.state("permission-mode", permissionMode="default")
    file.user("the only prompt")
    file.says("the only answer")
    for _ in range(40):
        file.state("permission-mode", permissionMode="acceptEdits")
    path = file.write(tmp_path)
    facts = one(tmp_path)
    assert (facts.driver, facts.human_turns, facts.answers, facts.unknown) == ("human", 1, 1, {})
    assert facts.first_prompt == "the only prompt"
    assert said(path, "prompt", "assistant") == ["the only prompt", "the only answer"]


def test_a_truncated_line_in_the_middle_does_not_end_the_file(claude, tmp_path: Path) -> None:
    """Report 4."""
    file = claude()
    file.user("before")
    file.record("attachment", attachment={"type": "file", "content": "x" * 500})
    file.lines[-1] = file.lines[-1][:300]
    file.user("after")
    path = file.write(tmp_path)
    assert said(path, "prompt") == ["before", "after"]
    assert (one(tmp_path).lines, one(tmp_path).bad_lines) == (3, 1)


def test_lines_of_one_message_have_ids_of_their_own(claude, tmp_path: Path) -> None:
    """Report 6."""
    file = claude()
    file.user("go")
    for n in range(4):
        file.says(f"part {n}", "msg_same") if n % 2 else file.calls(
            "Bash", {"command": f"step {n}"}, f"t{n}", "msg_same"
        )
    turns = read_turns(file.write(tmp_path)).turns
    assert [turn.text for turn in turns] == ["go", "step 0", "part 1", "step 2", "part 3"]
    assert len({turn.id for turn in turns}) == len(turns)


def test_text_before_a_call_of_the_same_message_is_kept(claude, tmp_path: Path) -> None:
    """Report 7."""
    file = claude()
    file.user("go")
    file.says("I found the reason.", "msg_same")
    file.calls("Read", {"file_path": "/a.py"}, "t1", "msg_same")
    path = file.write(tmp_path)
    assert said(path, "assistant") == ["I found the reason."]
    assert said(path, "tool_call") == ["/a.py"]
    assert one(tmp_path).answers == 1


def test_a_first_prompt_longer_than_any_window_is_found(claude, tmp_path: Path) -> None:
    """Report 8."""
    file = claude()
    file.user("Here is the log. " + "x" * 600_000)
    file.says("Seen.")
    path = file.write(tmp_path)
    facts = one(tmp_path)
    assert (facts.driver, facts.human_turns) == ("human", 1)
    assert facts.first_prompt.startswith("Here is the log.")
    assert len(said(path, "prompt")[0]) > 600_000


@pytest.mark.parametrize("marked", [True, False])
def test_a_summary_of_compaction_is_nobodys_prompt(claude, tmp_path: Path, marked: bool) -> None:
    """Report 18."""
    file = claude()
    file.user("build the ledger")
    marks = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True} if marked else {}
    file.record("system", subtype="compact_boundary", content="Conversation compacted", logicalParentUuid="x")
    file.user("This session is being continued from a previous conversation that ran out of context. " * 40, **marks)
    file.user("now test it")
    path = file.write(tmp_path)
    assert said(path, "prompt", "queued") == ["build the ledger", "now test it"]
    assert one(tmp_path).human_turns == 2


def test_words_typed_while_busy_are_read_once_in_their_place_with_or_without_a_picture(claude, tmp_path: Path) -> None:
    """Report 19."""
    file = claude()
    file.user("start")
    steer = [
        {"type": "text", "text": "look at this"},
        {"type": "image", "source": {"type": "base64", "data": "iVBOR" * 99}},
    ]
    file.state("queue-operation", operation="enqueue", content=steer, timestamp="2026-03-04T10:02:00.000Z")
    file.says("working")
    file.state("queue-operation", operation="remove", timestamp="2026-03-04T10:03:00.000Z")
    file.record("attachment", attachment={"type": "queued_command", "prompt": steer, "commandMode": "prompt"})
    file.state(
        "queue-operation", operation="enqueue", content="only in the queue", timestamp="2026-03-04T10:05:00.000Z"
    )
    file.says("done")
    path = file.write(tmp_path)
    turns = [(turn.kind, turn.text) for turn in read_turns(path).turns]
    assert turns == [
        ("prompt", "start"),
        ("assistant", "working"),
        ("queued", "look at this\n[image]"),
        ("queued", "only in the queue"),
        ("assistant", "done"),
    ]
    assert one(tmp_path).human_turns == 3


def spends(file, message: str, output: int, block: dict[str, object], **fields: object) -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": output,
        "cache_read_input_tokens": 700,
        "cache_creation_input_tokens": 50,
    }
    file.record("assistant", message={"id": message, "model": "m", "content": [block], "usage": usage}, **fields)


def test_an_answer_over_several_lines_is_paid_once(claude, tmp_path: Path) -> None:
    """Report 20."""
    file = claude()
    file.user("go")
    spends(file, "msg_1", 30, {"type": "text", "text": "a"}, requestId="req_1")
    spends(file, "msg_1", 30, {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}, requestId="req_1")
    spends(file, "msg_2", 5, {"type": "text", "text": "b"}, requestId="req_2")
    file.write(tmp_path)
    assert one(tmp_path).usage == Usage(answers=2, fresh=20, written=100, cached=1400, output=35)


def test_every_view_of_a_session_has_the_same_totals(claude, tmp_path: Path) -> None:
    """Report 21."""
    file = claude()
    file.user("go")
    for line in range(3):
        spends(file, "msg_1", 30, {"type": "text", "text": f"part {line}"})
    path = file.write(tmp_path)
    assert read_turns(path).facts.usage == one(tmp_path).usage == Usage(1, 10, 50, 700, 30)


def test_partial_counts_while_streaming_do_not_win(claude, tmp_path: Path) -> None:
    """Report 22."""
    file = claude()
    file.user("go")
    for output in (1, 8, 412, 8):  # an early line can be written late
        spends(file, "msg_1", output, {"type": "text", "text": f"until {output}"})
    file.write(tmp_path)
    assert one(tmp_path).usage.output == 412


def test_codex_totals_that_repeat_or_were_inherited_add_nothing(codex, tmp_path: Path) -> None:
    """Reports 23 and 24, which the collected files do not show."""

    def totals(read: int, cached: int, out: int) -> dict[str, object]:
        return {"total_token_usage": {"input_tokens": read, "cached_input_tokens": cached, "output_tokens": out}}

    file = codex("01990000-0000-7000-8000-00000000000f")
    file.meta(forked_from_id="01980000-0000-7000-8000-000000000001")
    file.meta(id="01980000-0000-7000-8000-000000000001")
    file.asks("the parent's prompt")
    file.event("token_count", info=totals(1000, 400, 50))
    file.event("task_started", turn_id="01990000-0005-7000-8000-000000000003")
    file.asks("my own")
    file.event("token_count", info=totals(1500, 600, 70))
    file.event("token_count", info=totals(1500, 600, 70))
    file.event("token_count", info=None)
    (facts,) = survey(find([], [file.write(tmp_path).parent]), None).sessions
    assert facts.usage == Usage(answers=1, fresh=300, written=0, cached=200, output=20)


def test_a_stale_or_empty_index_file_hides_no_session(claude, tmp_path: Path) -> None:
    """Report 56."""
    paths = []
    for n in range(3):
        file = claude(f"{n}1111111-2222-4333-8444-555555555555")
        file.user(f"prompt {n}")
        paths.append(str(file.write(tmp_path)))
    index = {"version": 1, "entries": [{"sessionId": "elsewhere", "fullPath": "/gone.jsonl", "firstPrompt": "wrong"}]}
    (Path(paths[0]).parent / "sessions-index.json").write_text(json.dumps(index))
    assert [facts.path for facts in survey(find([tmp_path], []), None).sessions] == sorted(paths)


def test_a_codex_prompt_far_into_the_file_is_found_among_many_files(codex, tmp_path: Path) -> None:
    """Report 58."""
    for n in range(230):
        file = codex(f"01990000-0000-7000-8000-{n:012d}")
        file.meta(cwd=f"/home/sam/p{n % 3}", base_instructions={"text": "y" * (90_000 if n == 0 else 10)})
        file.asks(f"prompt of {n}")
        file.write(tmp_path)
    sessions = survey(find([], [tmp_path]), None).sessions
    assert len(sessions) == 230
    assert {facts.first_prompt for facts in sessions} == {f"prompt of {n}" for n in range(230)}
    assert sum(facts.cwd == "/home/sam/p0" for facts in sessions) == 77


def test_a_half_written_last_line_is_read_when_it_is_whole(claude, tmp_path: Path) -> None:
    """Report 74."""
    file = claude()
    file.user("one")
    file.user("two")
    path = file.write(tmp_path)
    whole = path.read_bytes()
    cache = tmp_path / "state" / "scan"
    cache.parent.mkdir()
    path.write_bytes(whole[:-60])
    assert survey(find([tmp_path / "projects"], []), cache).sessions[0].human_turns == 1
    with path.open("ab") as out:
        out.write(whole[-60:])
    again = survey(find([tmp_path / "projects"], []), cache)
    assert (again.sessions[0].human_turns, again.sessions[0].bad_lines) == (2, 0)
    assert again.bytes_read < len(whole)


@pytest.mark.parametrize("change", ["shrunk", "regrown", "replaced", "rewritten"])
def test_what_is_not_growth_is_read_anew(claude, tmp_path: Path, change: str) -> None:
    """Report 76."""
    file = claude()
    for n in range(6):
        file.user(f"prompt {n}")
    path = file.write(tmp_path)
    cache = tmp_path / "state" / "scan"
    cache.parent.mkdir()
    assert survey(find([tmp_path / "projects"], []), cache).sessions[0].human_turns == 6
    lines = path.read_bytes().splitlines(keepends=True)
    changed = {
        "shrunk": lines[:2],
        "regrown": [line.replace(b"prompt", b"another prompt") for line in lines] * 1,
        "replaced": [*lines, lines[0].replace(b"000001", b"000099").replace(b"prompt 0", b"prompt 6")],
        "rewritten": [lines[0].replace(b"prompt 0", b"prompt X"), *lines[1:], lines[0].replace(b"000001", b"000099")],
    }[change]
    if change == "replaced":
        fresh = path.with_suffix(".new")
        fresh.write_bytes(b"".join(changed))
        fresh.replace(path)
    else:
        path.write_bytes(b"".join(changed))
    result = survey(find([tmp_path / "projects"], []), cache)
    assert result.sessions == survey(find([tmp_path / "projects"], []), None).sessions
    assert result.sessions[0].human_turns == {"shrunk": 2, "regrown": 6, "replaced": 7, "rewritten": 7}[change]
    assert result.bytes_read == path.stat().st_size


def test_two_objects_on_one_line_are_two_records(claude, tmp_path: Path) -> None:
    """Report 79."""
    file = claude()
    leaf = file.user("one")
    file.says("answer")
    summary = json.dumps({"type": "summary", "summary": "The joined title", "leafUuid": leaf}, separators=(",", ":"))
    path = file.write(tmp_path)
    path.write_bytes(file.lines[0] + b"\n" + file.lines[1] + summary.encode() + b"\n")
    facts = one(tmp_path)
    assert (facts.title, facts.human_turns, facts.answers) == ("The joined title", 1, 1)
    assert (facts.lines, facts.bad_lines) == (2, 0)


def test_session_time_is_the_least_and_the_greatest_of_all_lines(claude, tmp_path: Path) -> None:
    """Report 84."""
    file = claude()
    file.user("two", timestamp="2026-03-04T12:00:00.000Z")
    file.says("four", timestamp="2026-03-04T18:30:00.000Z")
    file.record("system", subtype="informational", timestamp="2026-03-04T09:00:00.000Z", content="one")
    file.state("queue-operation", operation="popAll", timestamp="2026-03-04T13:00:00.000Z")
    file.write(tmp_path)
    facts = one(tmp_path)
    assert (facts.started, facts.ended) == ("2026-03-04T09:00:00.000Z", "2026-03-04T18:30:00.000Z")


def test_a_programs_output_stream_is_refused_and_says_why(claude, tmp_path: Path) -> None:
    """Report 98."""
    rows = [
        {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/x"},
        {"type": "user", "message": {"role": "user", "content": "go"}, "session_id": "s"},
        {"type": "assistant", "message": {"id": "m", "content": [], "usage": {"output_tokens": 3}}, "session_id": "s"},
        {"type": "result", "session_id": "s", "usage": {"output_tokens": 3}},
    ]
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(NotASession, match="stream-json"):
        read_turns(path)
    result = survey(find([tmp_path], []), None)
    assert (result.sessions, result.failures) == ((), ())
    assert "stream-json" in result.others[0].message
    # Its twin: a transcript that carries the snake-case copy beside its own names is one.
    file = claude(session_id="11111111-2222-4333-8444-555555555555")
    file.user("go")
    assert read_turns(file.write(tmp_path / "other")).facts.human_turns == 1
