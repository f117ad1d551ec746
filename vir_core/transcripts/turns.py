"""The turn: what every transcript format is read into."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

TurnKind = Literal[
    "prompt",  # typed by a person at the prompt
    "queued",  # typed by a person while the agent was busy
    "answer",  # a person's answer to a question the agent asked
    "refusal",  # a person's words when refusing a tool call or a plan
    "command",  # a slash command or a `!` command: a person's action, `text` holds its words
    "task",  # what another agent or a program told this one to do: it reads like a prompt and is nobody's words
    "plan",  # a plan the agent wrote and a person handed over with a keypress
    "interrupt",  # a person stopped the agent
    "assistant",  # what the agent said
    "tool_call",  # what the agent ran: `tool` names it, `text` holds the command, path or arguments
    "tool_result",  # what came back
    "error",  # a tool result marked as error, or a failing exit code
    "injected",  # reminders, hooks, skills, recalled memory, summaries of compaction: never a person's, never distilled
]

LEFT_BRANCH = "in a branch that was left"
"""Evidence of a turn that the person went back from to ask otherwise: it was said, and is not what came of the session."""

HUMAN_PROMPTS: frozenset[str] = frozenset({"prompt", "queued"})
HUMAN_WORDS: frozenset[str] = frozenset({"prompt", "queued", "answer", "refusal"})


class Turn(Struct, frozen=True, kw_only=True):
    """One thing said or done. `id` is the record's uuid (Claude), the item's id, or `#` + its ordinal among the session's
    own messages (Codex). `at` is UTC, RFC 3339, or empty. `text` is cleaned of lone surrogates, NULs and terminal
    escapes, and of injected blocks; it is not scrubbed of secrets yet."""

    id: str
    kind: TurnKind
    text: str
    at: str = ""
    tool: str = ""
    call: str = ""
    evidence: str = ""
