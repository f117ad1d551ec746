"""Shapes that few files hold: pictures, spilled results, retracted answers, words inside results, memory tools' text."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from vir_core.transcripts import condense, find, read_turns, survey
from vir_core.transcripts.loose import text_in

PICTURE = base64.b64encode(bytes(range(256)) * 400).decode()


def test_pictures_are_placeholders_everywhere_and_their_bytes_nowhere(claude, tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
    document = {"type": "document", "source": {"type": "base64", "data": PICTURE}}
    file = claude()
    file.user([image, {"type": "text", "text": "what is wrong here?"}, document])
    file.calls("Read", {"file_path": "/shot.png"}, "r1")
    file.result([image], "r1", result={"type": "image", "file": {"base64": PICTURE}})
    file.record(
        "attachment", attachment={"type": "queued_command", "prompt": [image, {"type": "text", "text": "and here?"}]}
    )
    transcript = read_turns(file.write(tmp_path))
    assert [(turn.kind, turn.text) for turn in transcript.turns] == [
        ("prompt", "[image]\nwhat is wrong here?\n[document]"),
        ("tool_call", "/shot.png"),
        ("tool_result", "[image]"),
        ("queued", "[image]\nand here?"),
    ]
    assert PICTURE[:40] not in condense(transcript).text
    assert transcript.facts.human_turns == 2


def test_pictures_of_codex_are_counted_and_a_prompt_with_one_is_one_prompt(codex, tmp_path: Path) -> None:
    url = "data:image/png;base64," + PICTURE
    file = codex()
    file.meta()
    blocks = [{"type": "input_text", "text": "what is this?"}, {"type": "input_image", "image_url": url}]
    file.item("message", role="user", content=blocks)
    file.event("user_message", message="what is this?", images=[url], local_images=[])
    item = [{"type": "text", "text": "what is this?"}, {"type": "image", "image_url": url}]
    file.event("item_completed", item={"type": "UserMessage", "id": "u1", "content": item})
    file.item("function_call", name="view_image", call_id="c", arguments="{}")
    file.item("function_call_output", call_id="c", output=[{"type": "input_image", "image_url": url}])
    transcript = read_turns(file.write(tmp_path), "codex")
    assert [(turn.kind, turn.text) for turn in transcript.turns] == [
        ("prompt", "what is this?\n[image]"),
        ("tool_call", ""),
        ("tool_result", "[image]"),
    ]
    assert transcript.facts.human_turns == 1


def test_payloads_are_skipped_not_decoded() -> None:
    # An escape that no decoder accepts: had the payload been decoded, the whole would have been refused.
    assert text_in(b'[{"type":"image","source":{"data":"\\udcb2"}},{"type":"text","text":"seen"}]') == "[image]\nseen"
    assert text_in(b'"plain"') == "plain"
    assert text_in(b"7") == text_in(b"null") == text_in(b"") == ""
    assert text_in(b'["a",{"type":"text","text":"b"}]') == "a\nb"


def test_a_spilled_result_keeps_its_preview_and_names_the_file_of_the_whole(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("go")
    file.calls("Bash", {"command": "make"}, "b1")
    where = "/home/sam/.claude/projects/-home-sam-shop/s/tool-results/b1.txt"
    preview = f"<persisted-output>\nOutput too large (263.6KB). Full output saved to: {where}\n\nPreview (first 2KB):\nline one\n...\n</persisted-output>"
    file.result(preview, "b1")
    file.calls("Bash", {"command": "ls"}, "b2")
    file.result("short", "b2")
    path = file.write(tmp_path)
    folder = path.with_suffix("") / "tool-results"
    folder.mkdir(parents=True)
    (folder / "b1.txt").write_text("line one\n" * 9000)
    results = [turn for turn in read_turns(path).turns if turn.kind == "tool_result"]
    assert "line one" in results[0].text
    assert [turn.evidence for turn in results] == [f"whole in {where}", ""]
    assert [Path(file.path).name for file in find([tmp_path], []).files] == [path.name]


def test_answers_the_model_took_back_are_no_turns(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("go")
    taken = file.says("a refused answer")
    file.record("system", subtype="model_refusal_fallback", content="x", retractedMessageUuids=[taken, 7])
    file.says("the answer that stands")
    turns = read_turns(file.write(tmp_path)).turns
    assert [turn.text for turn in turns] == ["go", "the answer that stands"]


def test_answers_and_refusals_are_counted_apart_from_prompts(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("start")
    file.calls("AskUserQuestion", {"questions": []}, "q1")
    file.result("answered", "q1", result={"questions": [], "answers": {"Which?": "SQLite"}})
    file.calls("Edit", {"file_path": "/a.py"}, "e1")
    refused = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
    file.result(refused + "use a constant", "e1", error=True)
    file.calls("Edit", {"file_path": "/a.py"}, "e2")
    file.result(refused + "The user wants to clarify these questions.", "e2", error=True)
    file.calls("Read", {"file_path": "/q.json"}, "r1")
    file.result('{"questions":[],"answers":{"a":"b"}}', "r1", result={"type": "text", "file": {"content": "…"}})
    file.calls("Grep", {"pattern": "x"}, "g1")
    file.result(f"notes.md: {refused}nothing", "g1", result="x")
    path = file.write(tmp_path)
    (facts,) = survey(find([tmp_path], []), None).sessions
    assert (facts.human_turns, facts.answered, facts.refused, facts.hands) == (1, 1, 1, 2)
    kinds = [turn.kind for turn in read_turns(path).turns if turn.kind not in ("tool_call", "prompt")]
    assert kinds == ["answer", "refusal", "interrupt", "tool_result", "tool_result"]
    assert read_turns(path).facts == facts


@pytest.mark.parametrize("tag", ["claude-mem-context", "supermemory-context", "relevant-memories"])
def test_text_that_a_memory_tool_recalled_is_not_the_persons(claude, codex, tmp_path: Path, tag: str) -> None:
    recalled = f"<{tag}>\nOnce they said: use Postgres\n</{tag}>\n"
    file = claude()
    file.user(recalled + "add the table")
    other = codex()
    other.meta()
    other.asks(recalled + "add the table")
    for path in (file.write(tmp_path), other.write(tmp_path)):
        prompts = [turn.text for turn in read_turns(path).turns if turn.kind == "prompt"]
        assert prompts == ["add the table"]


def test_repeated_ids_far_back_are_still_repeats(claude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vir_core.transcripts.claude.REMEMBERED", 10)
    file = claude()
    for n in range(15):
        file.user(f"prompt {n}")
    file.user("prompt 3", uuid="aaaaaaaa-0000-4000-8000-000000000004")
    facts = read_turns(file.write(tmp_path)).facts
    assert facts.human_turns == 15
    assert facts.uuids[0] == "aaaaaaaa-0000-4000-8000-000000000001"
    assert facts.uuids[-1] == "aaaaaaaa-0000-4000-8000-000000000015"


def test_the_words_of_an_interrupted_or_failed_turn_are_no_answers(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("go")
    file.says("API Error: overloaded", isApiErrorMessage=True)
    file.record(
        "assistant", message={"id": "m", "model": "<synthetic>", "content": [{"type": "text", "text": "No response"}]}
    )
    file.user("[Request interrupted by user]")
    transcript = read_turns(file.write(tmp_path))
    assert [turn.kind for turn in transcript.turns] == ["prompt", "interrupt"]
    assert (transcript.facts.answers, transcript.facts.usage.answers) == (0, 0)
