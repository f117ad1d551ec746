"""Codex rollouts of every era: who said what, counted once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vir_core.transcripts import read_turns


def texts(turns, *of: str) -> list[str]:
    return [turn.text for turn in turns if turn.kind in of]


def test_legacy_rollout_says_everything_once(codex, tmp_path: Path) -> None:
    file = codex()
    file.meta(git={"branch": "main", "repository_url": "git@github.com:sam/shop.git"})
    file.message("user", "<environment_context>\n<cwd>/home/sam/shop</cwd>\n</environment_context>")
    file.message("user", "# AGENTS.md instructions for /home/sam/shop\n\nbe terse")
    file.asks("raise the retry limit")
    file.answers("Looking.")
    file.item(
        "function_call",
        name="shell",
        call_id="c1",
        arguments=json.dumps({"command": ["bash", "-lc", "grep retries ."]}),
    )
    file.item(
        "function_call_output", call_id="c1", output=json.dumps({"output": "a.py:3", "metadata": {"exit_code": 0}})
    )
    file.item("function_call", name="exec_command", call_id="c2", arguments=json.dumps({"cmd": "make"}))
    file.item(
        "function_call_output",
        call_id="c2",
        output="Wall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno rule",
    )
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-3\n+5\n*** Add File: b.py\n+x\n*** End Patch"
    file.item("custom_tool_call", name="apply_patch", call_id="c3", input=patch)
    file.answers("Raised.")
    file.asks("raise the retry limit")
    transcript = read_turns(file.write(tmp_path), "codex")
    facts = transcript.facts
    assert texts(transcript.turns, "prompt") == ["raise the retry limit", "raise the retry limit"]
    assert texts(transcript.turns, "assistant") == ["Looking.", "Raised."]
    assert texts(transcript.turns, "tool_call") == ["grep retries .", "make", "Update a.py; Add b.py"]
    assert texts(transcript.turns, "tool_result") == ["a.py:3"]
    assert texts(transcript.turns, "error") == ["no rule"]
    assert [turn.id for turn in transcript.turns if turn.kind in ("prompt", "assistant")] == ["#1", "#2", "#3", "#4"]
    assert (facts.driver, facts.certainty, facts.human_turns) == ("human", "sure", 2)
    assert facts.last_turn == "#4"
    assert facts.key == f"codex:{file.ident}"
    assert (facts.branch, facts.remote) == ("main", "git@github.com:sam/shop.git")


def test_paginated_rollout_takes_words_and_ids_from_completed_items(codex, tmp_path: Path) -> None:
    file = codex()
    file.meta(originator="codex-tui", history_mode="paginated")
    file.message("user", "raise it", id="msg_echo")
    file.event(
        "item_completed", item={"type": "UserMessage", "id": "u1", "content": [{"type": "text", "text": "raise it"}]}
    )
    file.event(
        "item_completed", item={"type": "AgentMessage", "id": "m1", "content": [{"type": "Text", "text": "Done."}]}
    )
    file.message("assistant", "Done.", id="m1")
    file.event("item_completed", item={"type": "Plan", "id": "p1"})
    transcript = read_turns(file.write(tmp_path), "codex")
    assert [(turn.kind, turn.id, turn.text) for turn in transcript.turns] == [
        ("prompt", "u1", "raise it"),
        ("assistant", "m1", "Done."),
    ]
    assert transcript.facts.last_turn == "u1"
    assert transcript.facts.unknown == {}


def test_prompt_in_both_modes_is_one_prompt(codex, tmp_path: Path) -> None:
    file = codex()
    file.meta()
    file.asks("raise it")
    file.event(
        "item_completed", item={"type": "UserMessage", "id": "u1", "content": [{"type": "text", "text": "raise it"}]}
    )
    assert read_turns(file.write(tmp_path), "codex").facts.human_turns == 1


def test_bare_era(tmp_path: Path) -> None:
    rows = [
        {
            "id": "5f0b1c2e-0000-4000-8000-00000000cccc",
            "timestamp": "2025-08-01T10:00:00Z",
            "instructions": None,
            "git": {},
        },
        {"record_type": "state"},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "<environment_context><cwd>/home/sam/old</cwd></environment_context>"}
            ],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "add a health check"}]},
        {"type": "function_call", "name": "shell", "call_id": "c", "arguments": '{"command":["ls","-la"]}'},
        {"type": "function_call_output", "call_id": "c", "output": '{"output":"main.go","metadata":{"exit_code":0}}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Added."}]},
    ]
    path = tmp_path / "rollout-2025-08-01T12-00-00-5f0b1c2e-0000-4000-8000-00000000cccc.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    transcript = read_turns(path)
    facts = transcript.facts
    assert (facts.source, facts.session) == ("codex", "5f0b1c2e-0000-4000-8000-00000000cccc")
    assert (facts.driver, facts.human_turns, facts.cwd) == ("human", 1, "/home/sam/old")
    assert (facts.started, facts.ended) == ("2025-08-01T10:00:00Z", "2025-08-01T10:00:00Z")
    assert texts(transcript.turns, "tool_call", "tool_result") == ["ls -la", "main.go"]


def test_words_after_the_editors_context_are_the_persons(codex, tmp_path: Path) -> None:
    file = codex()
    file.meta(originator="codex_vscode", source="vscode")
    file.asks("# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nrename it\n")
    transcript = read_turns(file.write(tmp_path), "codex")
    assert texts(transcript.turns, "prompt") == ["rename it"]
    assert transcript.facts.driver == "human"


def test_rolled_back_turns_are_dropped_and_counted(codex, tmp_path: Path) -> None:
    file = codex()
    file.meta()
    file.asks("one")
    file.answers("answer one")
    file.asks("two, a mistake")
    file.answers("answer two")
    file.event("thread_rolled_back", num_turns=1)
    file.asks("two, better")
    transcript = read_turns(file.write(tmp_path), "codex")
    assert [turn.text for turn in transcript.turns] == ["one", "answer one", "two, better"]
    assert (transcript.facts.human_turns, transcript.facts.rolled_back) == (2, 1)
    assert transcript.facts.last_turn == transcript.turns[-1].id


def test_interrupts_and_compaction(codex, tmp_path: Path) -> None:
    file = codex()
    file.meta()
    file.asks("go")
    file.event("turn_aborted", reason="interrupted")
    file.line("compacted", {"message": "summary", "replacement_history": [{"type": "message", "role": "user"}]})
    transcript = read_turns(file.write(tmp_path), "codex")
    assert [turn.kind for turn in transcript.turns] == ["prompt", "interrupt", "injected"]


@pytest.mark.parametrize(
    ("meta", "driver"),
    [
        ({"source": "exec", "originator": "codex_exec", "thread_source": "user"}, "headless"),
        ({"source": "exec", "originator": "Codex Desktop"}, "headless"),
        ({"source": None, "originator": "codex_exec"}, "headless"),
        ({"source": None, "originator": "codex_cli_rs"}, "human"),
        ({"source": "unknown", "originator": "someones-ui"}, "human"),
        ({"source": {"subagent": "review"}}, "subagent"),
        ({"source": {"subagent": "compact"}}, "compaction"),
        ({"source": {"subagent": {"other": "guardian"}}}, "internal"),
        ({"source": {"internal": "memory_consolidation"}}, "internal"),
        ({"source": "cli", "thread_source": "guardian_review"}, "internal"),
        ({"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p1", "depth": 1}}}}, "subagent"),
    ],
)
def test_drivers(codex, tmp_path: Path, meta: dict[str, object], driver: str) -> None:
    file = codex()
    file.meta(**meta)
    file.asks("go")
    facts = read_turns(file.write(tmp_path), "codex").facts
    assert facts.driver == driver
    if driver in ("subagent", "internal", "compaction"):
        assert facts.human_turns == 0
    if "thread_spawn" in str(meta):
        assert facts.parent == "p1"


def test_opened_and_closed_is_empty(codex, tmp_path: Path) -> None:
    file = codex()
    file.meta()
    file.message("user", "<environment_context><cwd>/x</cwd></environment_context>")
    assert read_turns(file.write(tmp_path), "codex").facts.driver == "empty"


def test_only_the_first_head_is_identity_and_copied_history_is_not_the_forks(codex, tmp_path: Path) -> None:
    file = codex("01990000-0000-7000-8000-00000000000f")
    file.meta(forked_from_id="01980000-0000-7000-8000-000000000001")
    file.meta(id="01980000-0000-7000-8000-000000000001", cwd="/elsewhere")
    file.event("task_started", turn_id="01980000-0001-7000-8000-000000000002")
    file.asks("the parent's prompt")
    file.answers("the parent's answer")
    file.event("task_started", turn_id="01990000-0005-7000-8000-000000000003")
    file.asks("the fork's own prompt")
    transcript = read_turns(file.write(tmp_path), "codex")
    assert [turn.text for turn in transcript.turns] == ["the fork's own prompt"]
    facts = transcript.facts
    assert (facts.session, facts.cwd, facts.human_turns) == (file.ident, "/home/sam/shop", 1)
    assert facts.forked_from == "01980000-0000-7000-8000-000000000001"


def test_a_resumed_files_repeated_heads_copy_nothing(codex, tmp_path: Path) -> None:
    file = codex()
    file.meta()
    file.meta()
    file.asks("one")
    file.meta()
    file.asks("two")
    assert read_turns(file.write(tmp_path), "codex").facts.human_turns == 2


def test_unknown_types_are_counted_and_cost_nothing(codex, tmp_path: Path) -> None:
    file = codex()
    file.meta()
    file.line("from_the_future", {"x": 1})
    file.event("new_event")
    file.item("new_item")
    file.asks("go")
    facts = read_turns(file.write(tmp_path), "codex").facts
    assert facts.human_turns == 1
    assert facts.unknown == {"from_the_future": 1, "event_msg/new_event": 1, "response_item/new_item": 1}
