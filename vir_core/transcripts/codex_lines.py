"""The grammar of Codex rollout lines, in every era: their shapes, and whose words a user message holds."""

from __future__ import annotations

import re

import msgspec
from msgspec import Raw, Struct

from vir_core.text import clean
from vir_core.transcripts import loose
from vir_core.transcripts.provenance import RECALLED_BLOCKS
from vir_core.transcripts.turns import TurnKind

NOTHING = Raw(b"")

WRAPPED = frozenset({
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state", "token_usage_record",
    "inter_agent_communication", "inter_agent_communication_metadata", "context_window",
})  # fmt: skip
ITEMS = frozenset({
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
    "local_shell_call", "web_search_call", "tool_search_call", "tool_search_output", "image_generation_call",
    "ghost_snapshot", "agent_message", "compaction", "compaction_summary",
})  # fmt: skip
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
SKIMMED = OUTPUTS | {"reasoning"}
EVENTS = frozenset({
    "user_message", "agent_message", "item_completed", "item_started", "turn_aborted", "thread_rolled_back", "token_count",
    "agent_reasoning", "agent_reasoning_raw_content", "agent_reasoning_section_break", "task_started", "task_complete",
    "mcp_tool_call_begin", "mcp_tool_call_end", "entered_review_mode", "exited_review_mode", "guardian_assessment",
    "exec_command_begin", "exec_command_end", "thread_goal_updated", "collab_agent_spawn_begin", "collab_agent_spawn_end",
    "collab_agent_interaction_begin", "collab_agent_interaction_end", "collab_waiting_begin", "collab_waiting_end",
    "collab_close_begin", "collab_close_end", "sub_agent_activity", "context_compacted", "patch_apply_begin",
    "patch_apply_end", "thread_settings_applied", "thread_name_updated", "undo_completed", "error", "warning",
    "stream_error", "image_generation_end", "view_image_tool_call", "dynamic_tool_call_request",
    "dynamic_tool_call_response", "web_search_begin", "web_search_end", "plan_update", "turn_diff", "turn_started",
    "turn_complete",
})  # fmt: skip

_request = re.compile(r"\A# Context from my IDE setup:.*?## My request for Codex:\s*", re.DOTALL)
_injected_block = re.compile(
    r"<(environment_context|user_instructions|permissions instructions|collaboration_mode|turn_aborted|multi_agent_mode"
    r"|apps_instructions|skills_instructions|skill|subagent_notification|INSTRUCTIONS|"
    + "|".join(RECALLED_BLOCKS)
    + r")\b[^>]*>.*?</\1>\s*",
    re.DOTALL,
)
_machine_openings = ("<", "# AGENTS.md instructions", "You are `/root`")
_cwd = re.compile(r"<cwd>\s*(.*?)\s*</cwd>|^Current working directory: (.+)$", re.MULTILINE)
_time_in_id = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-")


class Message(Struct, gc=False):
    """The item inside `item_completed`."""

    type: str | None = None
    id: str | None = None
    content: Raw = NOTHING
    phase: str | None = None


class Payload(Struct, gc=False):
    """What a wrapped line carries: a response item, an event, the head of a session or the context of a turn. One shape for all, so that a line is decoded once; what is nested stays undecoded until asked for. The
    fields stand in the order in which they are written, which is the order in which the decoder looks for them."""

    type: str | None = None
    id: str | None = None
    role: str | None = None
    phase: str | None = None
    name: str | None = None
    message: str | None = None
    content: Raw = NOTHING
    arguments: Raw = NOTHING
    call_id: str | None = None
    input: Raw = NOTHING
    output: Raw = NOTHING
    action: Raw = NOTHING
    item: Message | None = None
    info: Raw = NOTHING
    images: Raw = NOTHING
    local_images: Raw = NOTHING
    thread_name: str | None = None
    turn_id: str | None = None
    num_turns: int | None = None
    cwd: str | None = None
    session_id: str | None = None
    timestamp: str | float | None = None
    originator: str | None = None
    cli_version: str | None = None
    source: Raw = NOTHING
    thread_source: str | None = None
    parent_thread_id: str | None = None
    forked_from_id: str | None = None
    git: Raw = NOTHING


class Row(Struct, gc=False):
    """One line of the wrapped eras."""

    timestamp: str | float | None = None
    type: str | None = None
    payload: Payload | None = None


class WholeRow(Struct, gc=False):
    """A line of which nothing is missing, as nearly all are."""

    timestamp: str
    type: str
    payload: Payload


class Bare(Struct):
    """One line of the bare era: the item itself, a marker, or the head of the file."""

    type: str | None = None
    record_type: str | None = None
    id: str | None = None
    timestamp: str | float | None = None
    instructions: Raw = NOTHING
    git: Raw = NOTHING


class Git(Struct):
    branch: str | None = None
    repository_url: str | None = None


class Tokens(Struct):
    """Running totals of a session; `input_tokens` holds the cached ones as well."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0


class Info(Struct):
    total_token_usage: Tokens | None = None


def read_request(text: str) -> tuple[TurnKind, str]:
    """What a user message is: the words after an editor's context, or injected text of which nothing is left. A slash
    command that reaches the transcript is a prompt file the person called; the built-in ones never get here."""
    own = _request.sub("", text, count=1) if text.startswith("# Context") else text
    own = (_injected_block.sub("", own) if "</" in own else own).strip()
    if not own or own.startswith(_machine_openings):
        return "injected", text.strip()
    if own.startswith("# Context from my IDE setup"):
        return "injected", own
    return "prompt", own


def cwd_in(text: str) -> str:
    """The folder that the environment block of a message names, or empty."""
    found = _cwd.search(text)
    return (found[1] or found[2]).strip() if found else ""


def content_of(raw: Raw) -> str:
    return clean(loose.text_in(raw)).strip()


def with_images(event: Payload) -> str:
    """The words, and a line for each picture that came with them: what it holds stays undecoded."""
    pictures = 0
    for raw in (event.images, event.local_images):
        if len(raw) > 2:
            pictures += len(loose.items_in(raw))
    return "\n".join([event.message or "", *["[image]"] * pictures]) if pictures else event.message or ""


def id_time(ident: str) -> int:
    """Milliseconds since 1970 in a UUIDv7; 0 for any other id."""
    found = _time_in_id.match(ident.lower())
    return int(found[1] + found[2], 16) if found else 0


def id_in(stem: str) -> str:
    """The id at the end of `rollout-<local time>-<uuid>`; any other name as it is."""
    return stem[-36:] if stem.startswith("rollout-") and len(stem) > 36 and stem[-36:].count("-") == 4 else stem


def spawned_by(source: object) -> str:
    spawn = loose.mapping(loose.mapping(loose.mapping(source).get("subagent")).get("thread_spawn"))
    return loose.string(spawn.get("parent_thread_id"))


USED_EVENTS = frozenset({
    "user_message", "agent_message", "item_completed", "turn_aborted", "thread_rolled_back", "task_started", "turn_started",
    "thread_name_updated", "token_count",
})  # fmt: skip
whole_rows = msgspec.json.Decoder(WholeRow)
