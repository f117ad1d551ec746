"""Who drove a session: each sign that decides, and each that looks as if it did and must not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vir_core.machine import OWN_ENTRYPOINT, OWN_FIRST_LINE, OWN_SIGNATURE, own_run
from vir_core.transcripts import SessionFacts, find, read_turns, survey
from vir_core.transcripts.provenance import RECALLED_BLOCKS

TAKEN = {"human", "plan_handoff"}
UI = {"thinkingMetadata": {"maxThinkingTokens": 31999}, "todos": [], "permissionMode": "default"}
SDK = {"promptSource": "sdk"}
TYPED = {"promptSource": "typed", "origin": {"kind": "human"}}


def facts_of(folder: Path) -> SessionFacts:
    (facts,) = survey(find([folder], [folder]), None).sessions
    return facts


def taken(facts: SessionFacts) -> bool:
    """What a default run distils."""
    return facts.driver in TAKEN or facts.certainty == "unsure"


Make = Callable[..., Any]


# -- signs that decide


def test_a_prompt_marked_as_typed_is_a_persons(claude: Make, tmp_path: Path) -> None:
    file = claude(entrypoint="cli", version="2.1.240")
    file.user("why is it slow", **TYPED)
    file.says("because")
    file.write(tmp_path)
    facts = facts_of(tmp_path)
    assert (facts.driver, facts.certainty, facts.human_turns) == ("human", "sure", 1)


def test_every_prompt_through_the_sdk_is_a_scripts(claude: Make, tmp_path: Path) -> None:
    file = claude(entrypoint="sdk-cli", version="2.1.240")
    file.user("summarise the log", **SDK)
    file.says("done")
    file.write(tmp_path)
    facts = facts_of(tmp_path)
    assert (facts.driver, facts.certainty) == ("headless", "sure")
    assert "entrypoint sdk-cli" in facts.evidence


@pytest.mark.parametrize("first", ["queue-operation", "user"])
def test_one_bare_prompt_before_entrypoints_were_written_is_a_scripts(claude: Make, tmp_path: Path, first: str) -> None:
    file = claude(version="2.1.12")
    if first == "queue-operation":
        file.state("queue-operation", operation="dequeue", timestamp="2026-03-04T10:00:00.000Z")
    file.user("run the checks")
    file.says("they pass")
    file.write(tmp_path)
    assert (facts_of(tmp_path).driver, facts_of(tmp_path).certainty) == ("headless", "likely")


def test_a_launcher_that_writes_cli_over_a_scripts_run_does_not_make_it_a_persons(claude: Make, tmp_path: Path) -> None:
    file = claude(entrypoint="cli", version="2.1.240")
    file.user("summarise the log", **SDK)
    file.says("done")
    file.write(tmp_path)
    assert facts_of(tmp_path).driver == "headless"
    again = claude("22222222-2222-4333-8444-555555555555", entrypoint="cli", version="2.1.240")
    again.user("summarise the log", uuid="dddddddd-0000-4000-8000-000000000001", **TYPED)
    again.says("done")
    again.write(tmp_path / "typed")
    assert facts_of(tmp_path / "typed").driver == "human"


def test_helper_files_go_by_their_place(claude: Make, tmp_path: Path) -> None:
    names = {
        "subagents/agent-a52dc45.jsonl": "subagent",
        "subagents/agent-acompact-05ae9f.jsonl": "compaction",
        "subagents/workflows/wf_1/agent-a1.jsonl": "workflow",
        "subagents/agent-aprompt_suggestion-1.jsonl": "subagent",
    }
    for n, name in enumerate(names):
        file = claude(isSidechain=True, agentId=f"a{n}")
        file.user("find the retries")
        file.says("found")
        file.write(tmp_path, f"{file.session}/{name}")
    found = {Path(facts.path).name: facts for facts in survey(find([tmp_path], []), None).sessions}
    for name, driver in names.items():
        facts = found[Path(name).name]
        assert (facts.driver, facts.human_turns) == (driver, 0), name


def test_an_agent_of_a_team_is_a_teammate_and_its_lead_a_person(claude: Make, tmp_path: Path) -> None:
    mate = claude("22222222-2222-4333-8444-555555555555", teamName="crew", agentName="scout")
    mate.user('<teammate-message teammate_id="team-lead">look for the leak</teammate-message>')
    mate.says("looking")
    mate.write(tmp_path / "mate")
    facts = facts_of(tmp_path / "mate")
    assert (facts.driver, facts.team, facts.human_turns) == ("teammate", "crew", 0)

    lead = claude("33333333-2222-4333-8444-555555555555", teamName="crew")
    lead.user("split this up", **UI)
    lead.says("started two")
    lead.user('<teammate-message teammate_id="scout">found it</teammate-message>')
    lead.says("good")
    lead.write(tmp_path / "lead")
    facts = facts_of(tmp_path / "lead")
    assert (facts.driver, facts.team, facts.human_turns) == ("human", "crew", 1)


def test_a_person_who_talks_to_a_teammate_makes_it_theirs(claude: Make, tmp_path: Path) -> None:
    mate = claude(teamName="crew", agentName="scout")
    mate.user('<teammate-message teammate_id="team-lead">look for the leak</teammate-message>')
    mate.says("looking")
    mate.user("stop, it is in the cache", **UI)
    mate.write(tmp_path)
    assert (facts_of(tmp_path).driver, facts_of(tmp_path).human_turns) == ("human", 1)


@pytest.mark.parametrize(
    "opening",
    [
        '<scheduled-task name="digest" file="/home/sam/.claude/scheduled-tasks/digest/SKILL.md">\nThis is an automated run.',
        "Automation: Morning report\nAutomation ID: report\nLast run: never",
        "[cron:4f1c morning] read the inbox",
    ],
)
def test_a_prompt_that_says_a_schedule_sent_it_has_no_person(claude: Make, tmp_path: Path, opening: str) -> None:
    file = claude(entrypoint="claude-desktop")
    file.user(opening)
    file.says("done")
    file.write(tmp_path / "alone")
    facts = facts_of(tmp_path / "alone")
    assert (facts.driver, facts.certainty) == ("automated", "likely")
    file.user("and what about yesterday?")
    file.write(tmp_path / "taken over")
    assert facts_of(tmp_path / "taken over").driver == "human"


def test_a_plan_accepted_with_a_keypress_is_kept_and_says_where_it_was_made(claude: Make, tmp_path: Path) -> None:
    file = claude()
    before = "99999999-2222-4333-8444-555555555555"
    file.record(
        "user",
        message={"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}]},
        sessionId=before,
    )
    file.user("Implement the following plan:\n\n# Cache", planContent="# Cache")
    file.says("done")
    file.write(tmp_path)
    facts = facts_of(tmp_path)
    assert (facts.driver, facts.human_turns, facts.follows) == ("plan_handoff", 0, before)


def test_a_file_of_state_lines_is_empty(claude: Make, tmp_path: Path) -> None:
    file = claude()
    file.state("file-history-snapshot", messageId="m", snapshot={})
    file.state("mode", mode="default")
    file.write(tmp_path)
    assert facts_of(tmp_path).driver == "empty"


def test_a_usage_probe_of_a_menu_bar_tool_is_empty(claude: Make, tmp_path: Path) -> None:
    file = claude(entrypoint="cli", cwd="/Users/sam/Library/Application Support/Bar/Probe")
    file.user(
        "<local-command-caveat>Caveat: The messages below were generated by the user</local-command-caveat>",
        isMeta=True,
    )
    file.user(
        "<command-name>/usage</command-name><command-message>usage</command-message><command-args></command-args>"
    )
    file.user("<local-command-stdout>ok</local-command-stdout>")
    file.write(tmp_path)
    assert (facts_of(tmp_path).driver, facts_of(tmp_path).human_turns) == ("empty", 0)


# -- signs that decide nothing


@pytest.mark.parametrize(
    "entrypoint", ["claude-vscode", "claude-desktop", "claude-web", "remote_mobile", "local-agent"]
)
def test_editors_and_apps_drive_the_sdk_and_a_person_drives_them(claude: Make, tmp_path: Path, entrypoint: str) -> None:
    file = claude(entrypoint=entrypoint)
    file.state("queue-operation", operation="dequeue", timestamp="2026-03-04T10:00:00.000Z")
    file.user("why is it slow", promptSource="sdk", origin={"kind": "human"})
    file.says("because")
    file.write(tmp_path)
    assert facts_of(tmp_path).driver == "human"


def test_a_leading_queue_marker_is_not_a_script(claude: Make, tmp_path: Path) -> None:
    file = claude(version="2.1.12")
    file.state("queue-operation", operation="dequeue", timestamp="2026-03-04T10:00:00.000Z")
    file.user("<ide_opened_file>The user opened a.py</ide_opened_file>why is it slow")
    file.says("because")
    file.write(tmp_path / "editor")
    assert facts_of(tmp_path / "editor").driver == "human"
    many = claude(version="2.1.12")
    many.state("queue-operation", operation="dequeue", timestamp="2026-03-04T10:00:00.000Z")
    many.user("why is it slow")
    many.says("because")
    many.user("then make it fast")
    many.write(tmp_path / "several")
    assert taken(facts_of(tmp_path / "several"))


def test_permission_mode_does_not_make_a_scripts_run_a_persons(claude: Make, tmp_path: Path) -> None:
    file = claude(entrypoint="sdk-cli")
    file.user("run the checks", permissionMode="bypassPermissions", **SDK)
    file.says("done")
    file.write(tmp_path)
    assert facts_of(tmp_path).driver == "headless"


def test_a_mode_line_in_a_resumed_scripts_run_is_no_person(claude: Make, tmp_path: Path) -> None:
    file = claude(entrypoint="sdk-cli")
    file.state("mode", mode="default")
    file.user("run the checks", **SDK)
    file.says("done")
    file.write(tmp_path)
    assert facts_of(tmp_path).driver == "headless"


def test_user_type_external_and_sidechain_false_stand_on_a_scripts_lines_too(claude: Make, tmp_path: Path) -> None:
    file = claude(entrypoint="sdk-py", userType="external")
    file.user("label this", **SDK)
    file.says("done")
    file.write(tmp_path)
    assert facts_of(tmp_path).driver == "headless"


def test_a_person_who_resumes_a_scripts_session_makes_it_theirs(claude: Make, tmp_path: Path) -> None:
    file = claude(entrypoint="sdk-cli")
    file.user("run the checks", **SDK)
    file.says("two fail")
    file.user("fix the first one", entrypoint="cli", **TYPED)
    file.write(tmp_path)
    assert (facts_of(tmp_path).driver, facts_of(tmp_path).certainty) == ("human", "sure")


def test_an_entrypoint_written_over_afterwards_settles_nothing(claude: Make, tmp_path: Path) -> None:
    file = claude(entrypoint="cli    ")
    file.user("run the checks")
    file.says("done")
    file.write(tmp_path)
    facts = facts_of(tmp_path)
    assert (facts.driver, facts.certainty) == ("human", "unsure")


def test_answers_and_refusals_in_an_sdk_session_leave_it_unsure(claude: Make, tmp_path: Path) -> None:
    file = claude(entrypoint="sdk-ts")
    file.user("add a cache", **SDK)
    file.calls("AskUserQuestion", {"questions": [{"question": "Where?"}]})
    file.result("User has answered", result={"questions": [], "answers": {"Where?": "in memory"}})
    file.says("done")
    file.write(tmp_path)
    facts = facts_of(tmp_path)
    assert (facts.certainty, taken(facts), facts.hands) == ("unsure", True, 1)


def test_a_sidechain_first_line_is_not_a_sidechain_session(claude: Make, tmp_path: Path) -> None:
    file = claude(version="1.0.60")
    file.user("Warmup", isSidechain=True)
    file.says("ready", isSidechain=True)
    file.user("why is it slow")
    file.says("because")
    file.write(tmp_path)
    assert (facts_of(tmp_path).driver, facts_of(tmp_path).human_turns) == ("human", 1)


def test_machine_texts_on_plain_user_lines_are_no_prompts(claude: Make, tmp_path: Path) -> None:
    file = claude()
    file.user("go on", **UI)
    for text in (
        "Unknown skill: shipit",
        "Commands are in the form `/command [args]`",
        "<task-notification>done</task-notification>",
        "This session is being continued from a previous conversation that ran out of context.",
    ):
        file.user(text)
    file.user("still building", origin={"kind": "auto-continuation"})
    file.user("from the other one", origin={"kind": "peer"})
    file.write(tmp_path)
    assert (facts_of(tmp_path).driver, facts_of(tmp_path).human_turns) == ("human", 1)


# -- memory tools, and ourselves


@pytest.mark.parametrize("meta", [False, True])
@pytest.mark.parametrize("opening", ["Hello memory agent, you continue to watch.", "You are a Claude-Mem observer."])
def test_observers_of_memory_tools_are_known_by_their_first_prompt(
    claude: Make, tmp_path: Path, opening: str, meta: bool
) -> None:
    file = claude(entrypoint="sdk-cli")
    file.user(opening, isMeta=meta)
    file.says("<observation>…</observation>")
    file.write(tmp_path)
    assert (facts_of(tmp_path).driver, facts_of(tmp_path).human_turns) == ("observer", 0)


@pytest.mark.parametrize(
    "cwd", ["/home/sam/.claude-mem/observer-sessions", "C:\\Users\\sam\\.claude-mem\\observer-sessions"]
)
def test_observers_are_known_by_their_folder(claude: Make, tmp_path: Path, cwd: str) -> None:
    file = claude(cwd=cwd)
    file.user("anything", **UI)
    file.says("noted")
    file.write(tmp_path)
    assert facts_of(tmp_path).driver == "observer"


@pytest.mark.parametrize("layer", ["folder", "default folder", "entrypoint", "first line", "signature"])
def test_our_own_model_runs_are_known_three_ways(claude: Make, tmp_path: Path, sandbox: Path, layer: str) -> None:
    common: dict[str, Any] = {"entrypoint": "sdk-cli"}
    text = "distil this"
    if layer == "folder":
        common["cwd"] = str(sandbox / "state" / "v123" / "models")
    elif layer == "default folder":
        common["cwd"] = "/Users/sam/Library/Application Support/vir/v123"
    elif layer == "entrypoint":
        common["entrypoint"] = OWN_ENTRYPOINT
    elif layer == "first line":
        text = f"{OWN_FIRST_LINE}\n{OWN_SIGNATURE}1\nthe transcript"
    else:
        text = f"A wrapper's words\n{OWN_SIGNATURE}1\nthe transcript"
    file = claude(**common)
    file.user(text, **SDK)
    file.says("{}")
    file.write(tmp_path)
    assert facts_of(tmp_path).driver == "observer"


@pytest.mark.parametrize("kept", ["environment", "folder", "prompt"])
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_run_that_vir_starts_is_known_by_any_one_of_its_marks(
    claude: Make, codex: Make, tmp_path: Path, agent: str, kept: str
) -> None:
    run = own_run("Say what was learnt.", "distil-3", {"PATH": "/bin"})
    assert run.environment["PATH"] == "/bin" and run.folder.is_dir() and run.prompt.endswith("Say what was learnt.")
    cwd = str(run.folder) if kept == "folder" else "/home/sam/shop"
    text = run.prompt if kept == "prompt" else "Say what was learnt."
    marker = "CLAUDE_CODE_ENTRYPOINT" if agent == "claude" else "CODEX_INTERNAL_ORIGINATOR_OVERRIDE"
    entry = run.environment[marker] if kept == "environment" else ""
    if agent == "claude":
        file = claude(cwd=cwd, entrypoint=entry or "cli")
        file.user(text, **UI)
        file.says("{}")
    else:
        file = codex()
        file.meta(cwd=cwd, originator=entry or "codex_cli_rs")
        file.asks(text)
        file.answers("{}")
    file.write(tmp_path)
    facts = facts_of(tmp_path)
    assert (facts.driver, facts.human_turns) == ("observer", 0) and "vir" in facts.evidence[0]


def test_a_project_called_vir_is_a_project(claude: Make, tmp_path: Path) -> None:
    file = claude(cwd="/home/sam/src/vir/.local/state")
    file.user("add a verb", **UI)
    file.says("done")
    file.write(tmp_path)
    assert facts_of(tmp_path).driver == "human"


@pytest.mark.parametrize("block", RECALLED_BLOCKS)
def test_text_that_a_memory_tool_recalled_is_not_the_persons(claude: Make, tmp_path: Path, block: str) -> None:
    file = claude()
    file.user("so that is said first", **UI)
    file.user(f"<{block}>we chose Redis in May</{block}>\nwhich cache do we use?", **UI)
    path = file.write(tmp_path)
    human = [turn.text for turn in read_turns(path).turns if turn.kind == "prompt"]
    assert human == ["so that is said first", "which cache do we use?"]


# -- Codex


def rollout(codex: Make, folder: Path, text: str = "why is it slow", **meta: Any) -> SessionFacts:
    file = codex()
    file.meta(**meta)
    file.asks(text)
    file.answers("because")
    file.write(folder)
    return facts_of(folder)


@pytest.mark.parametrize(
    ("meta", "driver"),
    [
        ({"source": "cli", "originator": "codex-tui"}, "human"),
        ({"source": "vscode", "originator": "codex_vscode"}, "human"),
        ({"source": "vscode", "originator": "somebody_elses_ui"}, "human"),
        ({"source": None, "originator": "codex_cli_rs"}, "human"),
        ({"source": None, "originator": "codex_exec"}, "headless"),
        ({"source": "exec", "originator": "codex_exec", "thread_source": "user"}, "headless"),
        ({"source": "exec", "originator": "Codex Desktop"}, "headless"),
        ({"source": "exec", "originator": "codex_exec", "cli_version": "1.17.7"}, "headless"),
        ({"source": {"subagent": "review"}}, "subagent"),
        ({"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}}}, "subagent"),
        ({"source": {"subagent": "compact"}}, "compaction"),
        ({"source": {"subagent": {"other": "guardian"}}, "thread_source": "user"}, "internal"),
        ({"source": "cli", "thread_source": "guardian_review"}, "internal"),
        ({"source": {"internal": "memory_consolidation"}}, "internal"),
        ({"source": "cli", "cwd": "/home/sam/.claude-mem/observer-sessions"}, "observer"),
    ],
)
def test_codex_sources(codex: Make, tmp_path: Path, meta: dict[str, Any], driver: str) -> None:
    facts = rollout(codex, tmp_path, **meta)
    assert facts.driver == driver
    assert (facts.human_turns > 0) == (driver in ("human", "headless"))


def test_a_thread_with_the_guardians_instructions_pinned_on_it_stays_the_persons(codex: Make, tmp_path: Path) -> None:
    facts = rollout(
        codex, tmp_path, source="cli", thread_source="user", base_instructions={"text": "You are judging …"}
    )
    assert facts.driver == "human"


def test_a_desktop_automation_has_no_person(codex: Make, tmp_path: Path) -> None:
    meta = {"source": "vscode", "originator": "Codex Desktop"}
    opening = "Automation: Daily\nAutomation ID: daily\nLast run: never\n\nmake the report"
    assert rollout(codex, tmp_path / "a", opening, **meta).driver == "automated"
    assert rollout(codex, tmp_path / "b", "Automation: is it worth it here?", **meta).driver == "human"


def test_a_person_who_resumes_an_exec_run_makes_it_theirs(codex: Make, tmp_path: Path) -> None:
    file = codex()
    file.meta(source="exec", originator="codex_exec")
    file.asks("run the checks")
    file.answers("two fail")
    file.write(tmp_path / "before")
    assert facts_of(tmp_path / "before").driver == "headless"
    file.meta(source="cli", originator="codex-tui")
    file.asks("fix the first one")
    file.write(tmp_path / "after")
    facts = facts_of(tmp_path / "after")
    assert (facts.driver, facts.human_turns) == ("human", 2)


def test_an_opened_and_closed_rollout_is_empty(codex: Make, tmp_path: Path) -> None:
    file = codex()
    file.meta()
    file.message("user", "<environment_context>\n<cwd>/home/sam</cwd>\n</environment_context>")
    file.write(tmp_path)
    assert facts_of(tmp_path).driver == "empty"
