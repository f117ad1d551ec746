"""Files as crashes, sync tools and other programs leave them: what can be read is read, the rest is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vir_core.transcripts import NotASession, find, read_turns, survey
from vir_core.transcripts.lines import CHUNK, OVERSIZE


def prompts(path: Path) -> list[str]:
    return [turn.text for turn in read_turns(path).turns if turn.kind in ("prompt", "queued")]


def test_torn_last_line_costs_only_itself(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("one")
    file.user("two")
    path = file.write(tmp_path)
    path.write_bytes(path.read_bytes()[:-40])
    facts = read_turns(path).facts
    assert prompts(path) == ["one"]
    assert (facts.lines, facts.bad_lines) == (2, 1)


def test_missing_final_newline_is_no_damage(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("one")
    path = file.write(tmp_path, end=b"")
    assert prompts(path) == ["one"]
    assert read_turns(path).facts.bad_lines == 0


def test_broken_line_in_the_middle(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("one")
    file.raw(b'{"type":"user","message":{"role":"user","content":"tor')
    file.raw(b"\x80\x81 not json")
    file.raw(b"[1, 2]")
    file.raw(b"null")
    file.user("two")
    path = file.write(tmp_path)
    assert prompts(path) == ["one", "two"]
    assert read_turns(path).facts.bad_lines == 4


def test_two_objects_on_one_line_are_both_read(claude, tmp_path: Path) -> None:
    file = claude()
    leaf = file.user("one")
    file.says("answer")
    first, second = file.lines
    summary = json.dumps({"type": "summary", "summary": "Glued", "leafUuid": leaf}).encode()
    path = file.write(tmp_path)
    path.write_bytes(first + second + summary + b"\n")
    transcript = read_turns(path)
    assert [turn.kind for turn in transcript.turns] == ["prompt", "assistant"]
    assert transcript.title == "Glued"
    assert (transcript.facts.lines, transcript.facts.bad_lines) == (1, 0)


def test_half_an_object_before_a_whole_one(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("one")
    file.user("two")
    first, second = file.lines
    path = file.write(tmp_path)
    path.write_bytes(first + b"\n" + first[:90] + second + b"\n")
    assert prompts(path) == ["one", "two"]
    assert read_turns(path).facts.bad_lines == 1


def test_inside_of_a_torn_record_is_not_taken_for_a_record(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("mine")
    nested = {"type": "user", "message": {"role": "user", "content": "an agent's task"}, "uuid": "x"}
    whole = json.dumps({"parentUuid": None, "type": "assistant", "message": {"content": [nested]}}).encode()
    file.raw(whole[:-4])
    path = file.write(tmp_path)
    assert prompts(path) == ["mine"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_other_encodings_and_line_ends(claude, tmp_path: Path, encoding: str, end: str) -> None:
    file = claude()
    file.user("größer als 数据库 🎉")
    file.says("ok")
    text = "".join(line.decode() + end for line in file.lines)
    path = file.write(tmp_path)
    path.write_bytes(text.encode(encoding))
    assert prompts(path) == ["größer als 数据库 🎉"]
    assert read_turns(path).facts.bad_lines == 0


def test_nul_padding_before_between_and_after(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("one")
    file.user("two")
    path = file.write(tmp_path)
    path.write_bytes(
        b"\0" * 512 + file.lines[0] + b"\0\0\n" + b"\0" * 64 + b"\n" + file.lines[1] + b"\n" + b"\0" * 4096
    )
    assert prompts(path) == ["one", "two"]
    assert read_turns(path).facts.bad_lines == 0


def test_lone_surrogates_become_replacement_characters(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("before")
    line = file.lines[0].replace(b"before", b"cut \\udcb2 here \\ud83d\\ude00").replace(b"000001", b"000002")
    place = line.replace(b"/home/sam/shop", b"/home/\\ud83a").replace(b"000002", b"000003")
    file.raw(line)
    file.raw(place)
    path = file.write(tmp_path)
    transcript = read_turns(path)
    assert prompts(path)[1] == "cut \ufffd here 😀"
    assert transcript.facts.cwds == ("/home/sam/shop", "/home/\ufffd")
    assert transcript.facts.bad_lines == 0
    (tmp_path / "state").mkdir()
    found = find([tmp_path], [])
    assert survey(found, tmp_path / "state" / "seen") == survey(found, None)


@pytest.mark.parametrize(
    "message",
    [
        None,
        7,
        "a string",
        {},
        {"content": None},
        {"content": 3},
        {"content": [None, 1, "x"]},
        {"content": [{"type": 5, "text": 6}]},
        {"role": "user"},
    ],
)
def test_malformed_messages_cost_nothing_else(claude, tmp_path: Path, message: object) -> None:
    file = claude()
    file.record("user", message=message)
    file.record("assistant", message=message)
    file.user("real")
    path = file.write(tmp_path)
    assert prompts(path)[-1] == "real"
    assert read_turns(path).facts.bad_lines == 0


@pytest.mark.parametrize("depth", [400, 900, 5000, 200_000])
def test_deep_nesting_costs_at_most_its_line(claude, tmp_path: Path, depth: int) -> None:
    file = claude()
    file.user("before")
    deep = b"[" * depth + b'"\\udcb2"' + b"]" * depth
    file.raw(b'{"type":"user","sessionId":"s","uuid":"u","message":{"content":' + deep + b"}}")
    file.raw(
        b'{"type":"user","sessionId":"s","uuid":"v","origin":'
        + deep
        + b',"cwd":"\\udcb2","message":{"content":"kept?"}}'
    )
    file.user("after")
    kept = prompts(file.write(tmp_path))
    assert (kept[0], kept[-1]) == ("before", "after")


@pytest.mark.parametrize(
    "time",
    [1e300, -1, True, "²", "99999999999999999999", "2026-13-45T99:99:99Z", "2026-03-04T10:00:00+02:00", 1772618400123],
)
def test_odd_times(claude, tmp_path: Path, time: object) -> None:
    file = claude(version="²")
    file.user("go", timestamp=time)
    facts = read_turns(file.write(tmp_path)).facts
    known = {"2026-03-04T10:00:00+02:00": "2026-03-04T08:00:00.000Z", 1772618400123: "2026-03-04T10:00:00.123Z"}
    assert facts.started == facts.ended == known.get(time, "")  # type: ignore[arg-type]


def test_one_odd_field_does_not_lose_its_line(claude, tmp_path: Path) -> None:
    file = claude(version=2, gitBranch=["main"], cwd={"x": 1})
    file.user("still here", timestamp={"s": 1}, isMeta="no", permissionMode=[1])
    path = file.write(tmp_path)
    assert prompts(path) == ["still here"]


def test_malformed_copy_does_not_push_out_the_good_one(claude, tmp_path: Path) -> None:
    file = claude()
    file.record("user", message="error", uuid="bbbbbbbb-0000-4000-8000-000000000001")
    file.user("good", uuid="bbbbbbbb-0000-4000-8000-000000000001")
    assert prompts(file.write(tmp_path)) == ["good"]


def test_empty_file_is_an_empty_session(tmp_path: Path) -> None:
    path = tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"
    path.touch()
    facts = read_turns(path).facts
    assert (facts.driver, facts.session, facts.lines) == ("empty", path.stem, 0)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (json.dumps({"sessionId": "x", "messages": [{"type": "user"}]}, indent=2), "One JSON document"),
        (json.dumps([{"type": "user"}]), "One JSON document"),
        (
            json.dumps({"type": "session.start", "data": {}, "id": "1", "timestamp": "2026-01-01T00:00:00Z"}),
            "session.start",
        ),
        ("hello\nworld\n", "No line of it"),
        (
            '{"type":"system","subtype":"init","session_id":"x"}\n'
            '{"type":"assistant","message":{"content":[]},"session_id":"x"}\n'
            '{"type":"result","session_id":"x"}\n',
            "stream-json",
        ),
    ],
)
def test_foreign_files_are_refused_with_a_reason(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "full.jsonl"
    path.write_text(content)
    with pytest.raises(NotASession, match=says):
        read_turns(path)
    result = survey(find([tmp_path], []), None)
    assert result.sessions == ()
    assert [other.path for other in result.others] == [str(path)]
    assert says in result.others[0].message


def test_the_agent_is_told_by_content_not_by_folder(codex, tmp_path: Path) -> None:
    file = codex()
    file.meta()
    file.asks("go")
    file.write(tmp_path)
    result = survey(find([tmp_path], []), None)
    assert [facts.key for facts in result.sessions] == [f"codex:{file.ident}"]


def test_unknown_types_are_counted_and_the_rest_is_read(claude, tmp_path: Path) -> None:
    file = claude()
    file.state("hologram", x=1)
    file.record("hologram")
    file.user("go")
    path = file.write(tmp_path)
    assert prompts(path) == ["go"]
    assert read_turns(path).facts.unknown == {"hologram": 2}


def test_huge_first_prompt_and_lines_across_chunks(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("x" * (CHUNK + 77))
    file.user("y" * (2 * CHUNK))
    path = file.write(tmp_path)
    assert [len(text) for text in prompts(path)] == [CHUNK + 77, 2 * CHUNK]


def test_a_line_over_the_limit_is_counted_and_not_decoded(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("before")
    file.user("z" * (OVERSIZE + 10))
    file.user("after")
    path = file.write(tmp_path)
    facts = read_turns(path).facts
    assert prompts(path) == ["before", "after"]
    assert (facts.lines, facts.bad_lines, facts.oversize_lines) == (3, 1, 1)


def test_what_is_appended_after_the_open_belongs_to_the_next_pass(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("one")
    path = file.write(tmp_path)
    facts = read_turns(path).facts
    assert facts.bytes == path.stat().st_size


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 5000), junk=st.binary(max_size=40), at=st.integers(0, 5000))
def test_damage_anywhere_loses_at_most_what_it_touched(claude, tmp_path: Path, cut: int, junk: bytes, at: int) -> None:
    file = claude()
    for n in range(6):
        file.user(f"prompt {n}")
        file.says(f"answer {n}")
    whole = b"\n".join(file.lines) + b"\n"
    at = min(at, len(whole))
    damaged = whole[:at] + junk + whole[at + min(cut, 300) :]
    path = tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"
    path.write_bytes(damaged)
    try:
        kept = set(prompts(path))
    except NotASession:
        assert at < 400
        return
    untouched = {
        json.loads(line)["message"]["content"]
        for line in file.lines
        if b'"type":"user"' in line
        and line + b"\n" in whole[: max(at - 1, 0)] + b"\0" + whole[at + min(cut, 300) + 300 :]
    }
    assert untouched <= kept


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(
                ["type", "message", "payload", "uuid", "timestamp", "sessionId", "attachment", "content", "cwd"]
            ),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.just("user"),
                lambda inner: (
                    st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "content"]), inner)
                ),
                max_leaves=6,
            ),
        ),
        max_size=6,
    )
)
def test_no_json_makes_a_reader_raise(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    head = {"type": "user", "sessionId": "s", "message": {"content": "go"}}
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, [head, *rows])), encoding="utf-8")
    assert read_turns(path).turns[0].text == "go"
    meta = {"type": "session_meta", "payload": {"id": "s"}}
    wrapped = [
        {"type": kind, "payload": row} for row in rows for kind in ("event_msg", "response_item", "session_meta")
    ]
    path.write_text("\n".join(map(json.dumps, [meta, *rows, *wrapped])), encoding="utf-8")
    assert read_turns(path).facts.source == "codex"
