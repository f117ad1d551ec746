"""The shapes of Claude Code's lines, and what a text on one of them is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from vir_core.text import clean
from vir_core.transcripts import loose
from vir_core.transcripts.lines import Block as Lines
from vir_core.transcripts.lines import line_ends
from vir_core.transcripts.provenance import RECALLED_BLOCKS
from vir_core.transcripts.turns import TurnKind

NOTHING = Raw(b"")

CONVERSATION = frozenset({"user", "assistant"})
KNOWN = CONVERSATION | {
    "progress", "file-history-snapshot", "file-history-delta", "system", "queue-operation", "summary", "attachment",
    "permission-mode", "mode", "last-prompt", "ai-title", "custom-title", "agent-name", "agent-color", "agent-setting",
    "pr-link", "worktree-state", "relocated", "frame-link", "bridge-session", "bridge_status", "atis-latch",
    "isolation-latch", "tag", "ended", "attribution-snapshot", "content-replacement", "cost-state",
    "conversation_reset", "companion_intro",
}  # fmt: skip
MACHINE_ORIGINS = frozenset({"task-notification", "auto-continuation", "peer", "coordinator", "teammate"})

_injected_block = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics|user-prompt-submit-hook|session-start-hook"
    r"|local-command-caveat|" + "|".join(map(re.escape, RECALLED_BLOCKS)) + r")\b[^>]*>.*?</\1>\s*",
    re.DOTALL,
)
_machine_openings = (
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "Caveat: The messages below",
    "<task-notification>",
    "<agent-notification>",
    "<teammate-message",
    "<user-prompt-submit-hook>",
    "<system-reminder>",
    "<observed_from_primary_session>",
    "<command-contents>",
    "This session is being continued from a previous conversation",
    "Unknown skill: ",
    "Unknown slash command: ",
    "Commands are in the form `/command [args]`",
)
_said = re.compile(r"the user said:\s*(.*)\Z", re.DOTALL)
_answered = re.compile(r'"((?:[^"\\]|\\.)*)"="((?:[^"\\]|\\.)*)"')
_refused = "The user doesn't want to proceed"
_plan_refused = "The agent proposed a plan that was rejected"
REFUSALS = (b"doesn't want to proceed", b"doesn\\u0027t want to proceed", b"plan that was rejected")
_slash = re.compile(r"/[A-Za-z][\w:.-]*\Z")
_tag = re.compile(r"<(command-name|command-args|bash-input)>(.*?)</\1>", re.DOTALL)
_shell_output = re.compile(r"</?bash-(?:stdout|stderr)>")


class Used(Struct, gc=False):
    """What one API message says it used, in tokens. While an answer streams its lines say less than the last one."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class Message(Struct, gc=False):
    model: str | None = None
    id: str | None = None
    content: Raw = NOTHING
    usage: Used | None = None


class Record(Struct, gc=False):
    """The fields of a line that are used; what is nested stays undecoded until somebody asks. Tens of thousands of these
    are made a second, none of them in a cycle: the collector need not know them. The fields stand in the order in which
    the agent writes them, which is the order in which the decoder looks for them."""

    parentUuid: str | None = None
    isSidechain: bool | None = None
    agentId: str | None = None
    type: str | None = None
    message: Message | None = None
    requestId: str | None = None
    uuid: str | None = None
    timestamp: str | float | None = None
    permissionMode: Raw = NOTHING
    origin: Raw = NOTHING
    promptSource: str | None = None
    toolUseResult: Raw = NOTHING
    sourceToolAssistantUUID: Raw = NOTHING
    entrypoint: str | None = None
    cwd: str | None = None
    sessionId: str | None = None
    version: str | None = None
    gitBranch: str | None = None
    session_id: str | None = None
    teamName: str | None = None
    thinkingMetadata: Raw = NOTHING
    todos: Raw = NOTHING
    attachment: Raw = NOTHING
    content: Raw = NOTHING
    operation: str | None = None
    isMeta: bool | None = None
    isCompactSummary: bool | None = None
    isVisibleInTranscriptOnly: bool | None = None
    isApiErrorMessage: bool | None = None
    logicalParentUuid: str | None = None
    summary: str | None = None
    leafUuid: str | None = None
    customTitle: str | None = None
    aiTitle: str | None = None
    planContent: str | None = None
    forkedFrom: Raw = NOTHING
    turnCompanion: Raw = NOTHING
    retractedMessageUuids: Raw = NOTHING
    worktreeSession: Raw = NOTHING


class Block(Struct):
    type: str | None = None
    text: str | None = None
    id: str | None = None
    name: str | None = None
    tool_use_id: str | None = None
    is_error: bool | None = None
    input: Raw = NOTHING
    content: Raw = NOTHING


class Attachment(Struct):
    type: str | None = None
    prompt: Raw = NOTHING
    content: Raw = NOTHING
    commandMode: str | None = None
    isMeta: bool | None = None
    origin: Raw = NOTHING


class WorktreeState(Struct):
    originalCwd: str | None = None


class _Origin(Struct):
    kind: str | None = None


class _Fork(Struct):
    sessionId: str | None = None


class Said(NamedTuple):
    kind: TurnKind
    text: str
    ide: bool = False


def without_injected(text: str) -> str:
    """The text without the blocks that hooks, editors and memory tools put into it."""
    return _injected_block.sub("", text) if "</" in text else text


def read_user_text(text: str) -> Said:
    """What a `user` text is: a prompt, a command, an interrupt, or machine text. Injected blocks are taken out first,
    because editors and hooks put them before and after what a person typed."""
    own = without_injected(text).strip()
    ide = own != text.strip() and "<ide_" in text
    if not own:
        return Said("injected", text)
    if own.startswith("[Request interrupted by user"):
        return Said("interrupt", own)
    if own.startswith(("<command-name>", "<command-message>")):
        tags = dict(_tag.findall(own))
        name = tags.get("command-name", "").strip()
        return Said("command", f"{name} {tags.get('command-args', '').strip()}".strip(), ide)
    if own.startswith("<bash-input>"):
        return Said("command", "! " + dict(_tag.findall(own)).get("bash-input", "").strip(), ide)
    if own.startswith(("<bash-stdout>", "<bash-stderr>")):
        return Said("tool_result", _shell_output.sub("", own).strip())
    if own.startswith(_machine_openings):
        return Said("injected", own)
    if _slash.match(own):
        return Said("command", own, ide)
    return Said("prompt", own, ide)


def blocks_of(message: Message | None) -> Iterator[Block]:
    """Content is a string, a list of blocks, or in malformed lines a number or null."""
    if message is None:
        return
    raw = bytes(message.content)
    if raw[:1] == b'"':
        yield Block(type="text", text=loose.string(loose.value_of(raw)))
    elif raw[:1] == b"[":
        try:
            yield from _block_list.decode(raw)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            for value in loose.sequence(loose.value_of(raw)):
                yield Block(type="text", text=value) if isinstance(value, str) else loose.fit(Block, value)


def block_text(block: Block) -> str:
    if block.type == "text":
        return block.text or ""
    return "[image]" if block.type == "image" else "[document]" if block.type == "document" else ""


def origin_of(raw: Raw) -> str:
    found = loose.decode_as(_Origin, raw) if len(raw) else None
    return (found.kind or "") if found else ""


def fork_of(raw: Raw) -> str:
    found = loose.decode_as(_Fork, raw) if len(raw) else None
    return (found.sessionId or "") if found else ""


def is_refusal(text: str) -> bool:
    """Whether a result says that the person refused the call, or the plan."""
    return text.startswith((_refused, _plan_refused))


def words_of_refusal(text: str) -> str:
    """What the person said when refusing; empty when nothing."""
    said = _said.search(text)
    return said[1].strip() if said else ""


def answers_in(result: Raw, text: str) -> str:
    """The person's choices and words, each under its question when there are several."""
    given = loose.mapping(loose.mapping(loose.value_of(result) if len(result) else None).get("answers"))
    pairs = [(str(question), loose.string(answer) or loose.text_of(answer)) for question, answer in given.items()]
    if not pairs:
        pairs = [
            (question.replace('\\"', '"'), answer.replace('\\"', '"')) for question, answer in _answered.findall(text)
        ]
    pairs = [(clean(question), clean(answer).strip()) for question, answer in pairs if answer.strip()]
    if len(pairs) == 1:
        return pairs[0][1]
    return "\n".join(f"{question}: {answer}" for question, answer in pairs)


def layout_of(parts: tuple[str, ...]) -> tuple[str, str]:
    """(layout, session folder) from the last parts of a path: `<sid>/subagents/[workflows/wf_*/]agent-*.jsonl`, or a
    flat `agent-*.jsonl` of older versions."""
    name = parts[-1] if parts else ""
    folders = parts[:-1]
    if "subagents" in folders:
        at = len(folders) - 1 - folders[::-1].index("subagents")
        session = folders[at - 1] if at else ""
        if name.startswith("agent-acompact-"):
            return "compaction", session
        return ("workflow" if "workflows" in folders[at:] else "subagent"), session
    if name.startswith("agent-acompact-"):
        return "compaction", ""
    return ("subagent" if name.startswith("agent-") else ""), ""


def one_record(line: bytes) -> Record:
    """Raises msgspec.DecodeError, UnicodeError or RecursionError for everything odd."""
    return _record.decode(line)


def records_of(block: Lines) -> list[Record] | None:
    """The records of a block of whole lines, one a line, or None when any line is blank, glued, torn or odd."""
    try:
        records = _record.decode_lines(block)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return records if len(records) == line_ends(block) else None


_record = msgspec.json.Decoder(Record)
_block_list = msgspec.json.Decoder(list[Block])
