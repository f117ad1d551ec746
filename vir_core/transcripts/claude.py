"""Claude Code's transcript lines: read into facts, and into turns."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from vir_core.text import clean
from vir_core.transcripts import loose
from vir_core.transcripts.provenance import NOT_THE_PERSON, ClaudeSignals, claude_driver
from vir_core.transcripts.session import SessionFacts
from vir_core.transcripts.stamps import utc
from vir_core.transcripts.tools import call_text, result_text
from vir_core.transcripts.turns import HUMAN_PROMPTS, Turn, TurnKind

NOTHING = Raw(b"")
UUIDS_KEPT = 4
INJECTED_CAP = 2_000
"""Characters kept of injected text: nobody distils it, a reader may want to see what it was."""

CONVERSATION = frozenset({"user", "assistant"})
KNOWN = CONVERSATION | {
    "progress", "file-history-snapshot", "file-history-delta", "system", "queue-operation", "summary", "attachment",
    "permission-mode", "mode", "last-prompt", "ai-title", "custom-title", "agent-name", "agent-color", "agent-setting",
    "pr-link", "worktree-state", "relocated", "frame-link", "bridge-session", "bridge_status", "atis-latch",
    "isolation-latch", "tag", "ended", "attribution-snapshot", "content-replacement", "cost-state",
    "conversation_reset", "companion_intro",
}  # fmt: skip
_MACHINE_ORIGINS = frozenset({"task-notification", "auto-continuation", "peer", "coordinator", "teammate"})

_injected_block = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics|user-prompt-submit-hook|session-start-hook"
    r"|claude-mem-context|local-command-caveat)\b[^>]*>.*?</\1>\s*",
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
_slash = re.compile(r"/[A-Za-z][\w:.-]*\Z")
_tag = re.compile(r"<(command-name|command-args|bash-input)>(.*?)</\1>", re.DOTALL)
_shell_output = re.compile(r"</?bash-(?:stdout|stderr)>")
_plain_content = re.compile(rb'"content": ?"')
_object = re.compile(rb"\s*\{")
_said = re.compile(r"the user said:\s*(.*)\Z", re.DOTALL)
_answered = re.compile(r'"((?:[^"\\]|\\.)*)"="((?:[^"\\]|\\.)*)"')
_refused = "The user doesn't want to proceed"
_plan_refused = "The agent proposed a plan that was rejected"
_uuid = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z", re.IGNORECASE)


class Record(Struct):
    """The fields of a line that are used; everything nested stays undecoded until somebody asks."""

    type: str | None = None
    uuid: str | None = None
    timestamp: str | float | None = None
    sessionId: str | None = None
    session_id: str | None = None
    agentId: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None
    version: str | None = None
    entrypoint: str | None = None
    promptSource: str | None = None
    operation: str | None = None
    isSidechain: bool | None = None
    isMeta: bool | None = None
    isCompactSummary: bool | None = None
    isVisibleInTranscriptOnly: bool | None = None
    isApiErrorMessage: bool | None = None
    summary: str | None = None
    leafUuid: str | None = None
    customTitle: str | None = None
    aiTitle: str | None = None
    planContent: str | None = None
    message: Raw = NOTHING
    toolUseResult: Raw = NOTHING
    sourceToolAssistantUUID: Raw = NOTHING
    attachment: Raw = NOTHING
    content: Raw = NOTHING
    origin: Raw = NOTHING
    forkedFrom: Raw = NOTHING
    turnCompanion: Raw = NOTHING
    permissionMode: Raw = NOTHING
    thinkingMetadata: Raw = NOTHING
    todos: Raw = NOTHING


class Message(Struct):
    id: str | None = None
    model: str | None = None
    content: Raw = NOTHING


class Block(Struct):
    type: str | None = None
    text: str | None = None
    id: str | None = None
    name: str | None = None
    tool_use_id: str | None = None
    is_error: bool | None = None
    input: Raw = NOTHING
    content: Raw = NOTHING


class Origin(Struct):
    kind: str | None = None


class Attachment(Struct):
    type: str | None = None
    prompt: Raw = NOTHING
    content: Raw = NOTHING
    commandMode: str | None = None
    isMeta: bool | None = None
    origin: Raw = NOTHING


class Fork(Struct):
    sessionId: str | None = None


class Queued(Struct):
    """Text typed while the agent was busy, until it is known whether another record repeats it."""

    text: str
    at: str
    side: bool
    place: int
    open: bool = True
    dropped: bool = False


class Said(NamedTuple):
    kind: TurnKind
    text: str
    ide: bool = False


def read_user_text(text: str) -> Said:
    """What a `user` text is: a prompt, a command, an interrupt, or machine text. Injected blocks are taken out first,
    because editors and hooks put them before and after what a person typed."""
    own = _injected_block.sub("", text).strip()
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


class ClaudeFacts:
    """Feeds on the lines of one file and sums them up. `ClaudeTurns` keeps the turns as well; both see the same lines
    and decide the same way who spoke."""

    def __init__(self, layout: str, stem: str, folder_session: str) -> None:
        self.lines = 0
        self.bad = 0
        self.recognised = 0
        self.stream_json = 0
        self.unknown: dict[str, int] = {}
        self._seen = ClaudeSignals(layout=layout, entrypoints=set())
        self._stem = stem
        self._folder_session = folder_session
        self._uuids: set[str] = set()
        self._first_uuids: list[str] = []
        self._last_uuids: deque[str] = deque(maxlen=UUIDS_KEPT)
        self._sessions: dict[str, int] = {}
        self._agent = ""
        self._cwds: dict[str, None] = {}
        self._branches: dict[str, None] = {}
        self._started = self._ended = ""
        self._fork = ""
        self._custom_title = self._ai_title = ""
        self._summaries: dict[str, str] = {}
        self._queue: list[Queued] = []
        self._prompts: list[tuple[str, str, bool]] = []  # id, text, side; in file order
        self._last_time = ""
        self._line = b""
        self._last_place: tuple[str | None, ...] = ()

    def is_stream_json(self) -> bool:
        """Whether the lines are a program's stdout: it names the session in snake case only, and gives no times."""
        return self.stream_json > 0 and not self._sessions and not self._started

    # -- lines

    def feed(self, line: bytes) -> None:
        self.lines += 1
        self._line = line
        at = line.find(b'"type":"progress"', 0, 2048)
        # Only a key of the record itself has no other brace before it; inside strings quotes are escaped.
        if at > 0 and line.find(b"{", 1, at) < 0 and line.endswith(b"}"):
            self.recognised += 1
            return
        try:
            record = _records.decode(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            self._feed_odd(line)
            return
        self._take(record)

    def _feed_odd(self, line: bytes) -> None:
        record = loose.decode_as(Record, line)
        if record is not None:
            self._take(record)
            return
        found, whole = loose.objects_on(line)
        if not whole or not found:
            self.bad += 1
        for value in found:
            self._line = loose.encode(value)
            self._take(loose.fit(Record, value))

    def _take(self, record: Record) -> None:
        kind = record.type or "(none)"
        if kind in KNOWN:
            self.recognised += 1
        else:
            self.unknown[kind] = self.unknown.get(kind, 0) + 1
        if not self._seen.first_type:
            self._seen.first_type = kind
        self._note_place(record)
        if kind in CONVERSATION:
            # A malformed copy must not push out the good one that follows it.
            if record.uuid and _object.match(record.message):
                if record.uuid in self._uuids:
                    return
                self._note_uuid(record.uuid)
            self._seen.records += 1
            side = bool(record.isSidechain)
            self._seen.sidechain += side
            if kind == "user":
                self._user(record, side)
            else:
                self._assistant(record, side)
        elif kind == "attachment":
            self._attachment(record)
        elif kind == "queue-operation":
            self._queue_operation(record)
        elif kind == "file-history-snapshot":
            self._seen.snapshots += 1
        elif kind in ("mode", "permission-mode"):
            self._seen.modes += 1
        elif kind == "summary":
            self._summaries[record.leafUuid or ""] = record.summary or ""
        elif kind == "custom-title":
            self._custom_title = record.customTitle or self._custom_title
        elif kind == "ai-title":
            self._ai_title = record.aiTitle or self._ai_title
        elif kind == "system":
            self._system(record)

    def _note_place(self, record: Record) -> None:
        if record.sessionId:
            self._sessions[record.sessionId] = self._sessions.get(record.sessionId, 0) + 1
        elif record.session_id:
            self.stream_json += 1
        place = (record.cwd, record.gitBranch, record.version, record.entrypoint, record.agentId)
        if place != self._last_place:
            self._last_place = place
            self._note_change(record)
        if len(record.forkedFrom) and not self._fork:
            fork = loose.decode_as(Fork, record.forkedFrom)
            self._fork = (fork.sessionId or "") if fork else ""
        self._last_time = time = utc(record.timestamp)
        if time:
            if not self._started or time < self._started:
                self._started = time
            if time > self._ended:
                self._ended = time

    def _note_change(self, record: Record) -> None:
        if record.cwd:
            self._cwds[record.cwd] = None
        if record.gitBranch:
            self._branches[record.gitBranch] = None
        if record.version:
            self._seen.version = record.version
        if record.entrypoint:
            self._seen.entrypoints.add(record.entrypoint)
        if record.agentId and not self._agent:
            self._agent = record.agentId

    def _note_uuid(self, uuid: str) -> None:
        self._uuids.add(uuid)
        if len(self._first_uuids) < UUIDS_KEPT:
            self._first_uuids.append(uuid)
        self._last_uuids.append(uuid)

    # -- people

    def _user(self, record: Record, side: bool) -> None:
        if len(record.toolUseResult) or len(record.sourceToolAssistantUUID):
            self._results(record, side)
            return
        if record.planContent:
            self._seen.plans += not side
            self._keep(record, side, "plan", record.planContent)
            return
        message = loose.decode_as(Message, record.message) if len(record.message) else None
        blocks = list(_blocks(message)) if message else []
        if any(block.type == "tool_result" for block in blocks):
            self._results(record, side)
            return
        text = "\n".join(filter(None, map(_block_text, blocks)))
        if not text.strip():
            return
        self._user_text(record, side, clean(text))

    def _user_text(self, record: Record, side: bool, text: str) -> None:
        if record.isMeta or record.isCompactSummary or record.isVisibleInTranscriptOnly or len(record.turnCompanion):
            self._keep(record, side, "injected", text)
            return
        origin = _origin(record.origin)
        if origin in _MACHINE_ORIGINS or (record.promptSource == "system" and origin != "human"):
            self._keep(record, side, "injected", text, evidence=f"origin {origin or 'system'}")
            return
        said = read_user_text(text)
        if side:
            self._keep(record, side, "task" if said.kind == "prompt" else said.kind, said.text)
            return
        self._seen.from_ide += said.ide
        if said.kind == "command":
            if said.text.startswith("!"):
                self._seen.shell += 1
            else:
                self._seen.commands += 1
            self._prompts.append(("", said.text, side))
        elif said.kind == "prompt":
            self._prompt(record, said.text, origin)
        self._keep(record, side, said.kind, said.text, evidence=f"origin {origin}" if origin else "")

    def _prompt(self, record: Record, text: str, origin: str) -> None:
        self._seen.prompts += 1
        if origin == "human" or record.promptSource == "typed":
            self._seen.typed += 1
        elif record.promptSource == "sdk":
            self._seen.sdk += 1
        if any(len(raw) for raw in (record.permissionMode, record.thinkingMetadata, record.todos)):
            self._seen.with_ui_state += 1
        self._seen.first_prompt = self._seen.first_prompt or text[:400]
        self._prompts.append((record.uuid or f"#{self.lines}", text, False))

    def _attachment(self, record: Record) -> None:
        if b"queued_command" not in self._line:
            self._injected_attachment(record)
            return
        found = loose.decode_as(Attachment, record.attachment)
        if found is None or found.type != "queued_command":
            return
        side = bool(record.isSidechain)
        origin = _origin(found.origin) or _origin(record.origin)
        text = clean(loose.text_of(loose.value_of(found.prompt)))
        said = read_user_text(text)
        machine = (
            found.isMeta or record.isMeta or origin in _MACHINE_ORIGINS or found.commandMode == "task-notification"
        )
        if machine or said.kind != "prompt" or side:
            self._keep(record, side, "injected" if said.kind == "prompt" else said.kind, said.text)
            return
        if record.uuid:
            if record.uuid in self._uuids:
                return
            self._uuids.add(record.uuid)
        self._seen.prompts += 1
        self._seen.typed += origin == "human"
        self._seen.from_ide += said.ide
        self._seen.first_prompt = self._seen.first_prompt or said.text[:400]
        self._prompts.append((record.uuid or f"#{self.lines}", said.text, False))
        self._keep(record, side, "queued", said.text, evidence=f"origin {origin}" if origin else "typed while busy")

    def _queue_operation(self, record: Record) -> None:
        if record.operation == "enqueue" and len(record.content):
            said = read_user_text(clean(loose.text_of(loose.value_of(record.content))))
            if said.kind in ("prompt", "command"):
                self._queue.append(
                    Queued(
                        said.text,
                        self._last_time,
                        bool(record.isSidechain),
                        self._place(),
                        dropped=said.kind == "command",
                    )
                )
        elif record.operation == "popAll":
            # The person took the text back into the input line; what was sent in the end is a record of its own.
            for queued in self._queue:
                queued.dropped = queued.dropped or queued.open
        elif record.operation in ("dequeue", "remove"):
            first = next((queued for queued in self._queue if queued.open and not queued.dropped), None)
            if first is not None:
                first.open = False

    def _system(self, record: Record) -> None:
        if not len(record.content):
            return
        text = loose.string(loose.value_of(record.content))
        if text.startswith("<command-name>"):
            said = read_user_text(clean(text))
            self._seen.commands += 1
            self._keep(record, bool(record.isSidechain), said.kind, said.text)

    # -- what only turns need; the facts count

    def _assistant(self, record: Record, side: bool) -> None:
        if record.isApiErrorMessage or side:
            return
        # Quotes inside strings are escaped, so these bytes are structure; some writers put a space after the colon.
        line = self._line
        self._seen.answers += (
            b'"type":"text"' in line or b'"type": "text"' in line or _plain_content.search(line) is not None
        )
        self._seen.calls += b'"type":"tool_use"' in line or b'"type": "tool_use"' in line

    def _results(self, record: Record, side: bool) -> None:
        if not side and b'"answers"' in self._line:
            self._seen.words += 1

    def _injected_attachment(self, record: Record) -> None:
        """Listings, reminders and hook output: no turn for the facts."""

    def _keep(self, record: Record, side: bool, kind: TurnKind, text: str, *, evidence: str = "") -> None:
        """A turn was seen; facts keep none."""

    def _place(self) -> int:
        return 0

    # -- the end

    def _late_queued(self) -> list[Queued]:
        """Queued texts that no other record repeats: for these the queue line is all there is."""
        known: dict[str, int] = {}
        for _, text, _ in self._prompts:
            folded = " ".join(text.split())
            known[folded] = known.get(folded, 0) + 1
        late: list[Queued] = []
        for queued in self._queue:
            folded = " ".join(queued.text.split())
            if queued.dropped:
                continue
            if known.get(folded, 0):
                known[folded] -= 1
            elif not queued.side:
                late.append(queued)
        return late

    def facts(self, path: str) -> SessionFacts:
        seen = self._seen
        late = self._late_queued()
        seen.prompts += len(late)
        seen.cwd = next(iter(self._cwds), "")
        if late and not seen.first_prompt:
            seen.first_prompt = late[0].text[:400]
        verdict = claude_driver(seen)
        typed = [(ident, text) for ident, text, _ in self._prompts if ident]
        human = 0 if verdict.driver in NOT_THE_PERSON else len(typed) + len(late)
        last = (
            queue_id(late[-1])
            if late and (not typed or late[-1].at >= self._ended)
            else (typed[-1][0] if typed else "")
        )
        agent, session, parent = self._identity(verdict.driver)
        return SessionFacts(
            path=path,
            source="claude",
            session=session,
            agent=agent,
            parent=parent,
            driver=verdict.driver,
            certainty=verdict.certainty,
            evidence=verdict.evidence,
            human_turns=human,
            answers=seen.answers,
            last_turn=last if human else "",
            first_prompt=" ".join(seen.first_prompt.split())[:200],
            title=clean(self._title()),
            cwd=seen.cwd,
            cwds=tuple(self._cwds),
            branches=tuple(self._branches),
            started=self._started,
            ended=self._ended,
            lines=self.lines,
            bad_lines=self.bad,
            unknown=self.unknown,
            agent_version=seen.version,
            entrypoint=",".join(sorted(seen.entrypoints)),
            forked_from=self._fork,
            uuids=tuple(dict.fromkeys([*self._first_uuids, *self._last_uuids])),
        )

    def _title(self) -> str:
        # A summary at the head of a file may title another session: it counts when its leaf is a record of this one.
        summaries = [text for leaf, text in self._summaries.items() if leaf in self._uuids]
        return self._custom_title or self._ai_title or (summaries[-1] if summaries else "")

    def _identity(self, driver: str) -> tuple[str, str, str]:
        """(agent id, session id, parent). A main file is its session whatever ids its lines carry: a resumed file keeps
        lines of the session it continues."""
        named = max(self._sessions, key=lambda name: self._sessions[name], default="")
        if driver in ("subagent", "workflow", "compaction"):
            agent = self._stem.removeprefix("agent-") if self._stem.startswith("agent-") else self._agent or self._stem
            return agent, agent, named or self._folder_session
        if _uuid.match(self._stem) or not named:
            return "", self._stem, ""
        return "", named, ""


class ClaudeTurns(ClaudeFacts):
    """The facts of a file, and its turns."""

    def __init__(self, layout: str, stem: str, folder_session: str) -> None:
        super().__init__(layout, stem, folder_session)
        self._turns: list[tuple[bool, Turn]] = []
        self._tools: dict[str, str] = {}
        self._message = ""
        self._spoken: set[tuple[str, int]] = set()
        self._ids: dict[str, int] = {}

    def turns(self, facts: SessionFacts) -> tuple[Turn, ...]:
        """Turns of the main thread in file order; of a subagent's file all of them. What reads like a prompt in a file
        no person drove is a task."""
        late = self._late_queued()
        rows = list(self._turns)
        for queued in reversed(late):
            turn = Turn(id=queue_id(queued), kind="queued", text=queued.text, at=queued.at, evidence="typed while busy")
            rows.insert(queued.place, (queued.side, turn))
        whole = facts.driver in ("subagent", "workflow", "compaction")
        kept = [turn for side, turn in rows if whole or not side]
        if facts.driver in NOT_THE_PERSON:
            kept = [_as_task(turn) for turn in kept]
        return tuple(kept)

    def _place(self) -> int:
        return len(self._turns)

    def _keep(self, record: Record, side: bool, kind: TurnKind, text: str, *, evidence: str = "") -> None:
        if kind == "injected":
            text = text[:INJECTED_CAP]
        elif kind == "interrupt" and self._turns and self._turns[-1][1].kind == "interrupt":
            return  # a refused call and the line that says so are one
        self._add(record, side, kind, text, evidence=evidence)

    def _add(
        self,
        record: Record,
        side: bool,
        kind: TurnKind,
        text: str,
        *,
        tool: str = "",
        call: str = "",
        evidence: str = "",
    ) -> None:
        ident = record.uuid or f"#{self.lines}"
        n = self._ids[ident] = self._ids.get(ident, 0) + 1
        if n > 1:
            ident = f"{ident}:{n}"
        turn = Turn(id=ident, kind=kind, text=text, at=utc(record.timestamp), tool=tool, call=call, evidence=evidence)
        self._turns.append((side, turn))
        self._message = ""

    def _assistant(self, record: Record, side: bool) -> None:
        super()._assistant(record, side)
        message = loose.decode_as(Message, record.message) if len(record.message) else None
        if message is None or record.isApiErrorMessage or message.model == "<synthetic>":
            return
        for block in _blocks(message):
            if block.type == "text" and block.text and block.text.strip():
                self._say(record, side, message.id or "", clean(block.text).strip())
            elif block.type in ("tool_use", "server_tool_use", "mcp_tool_use"):
                name = clean(block.name or "")
                self._tools[block.id or ""] = name
                shown = clean(call_text(name, loose.mapping(loose.value_of(block.input))))
                self._add(record, side, "tool_call", shown, tool=name, call=block.id or "")

    def _say(self, record: Record, side: bool, message: str, text: str) -> None:
        said = (message, hash(text))
        if message and said in self._spoken:
            return
        self._spoken.add(said)
        if message and message == self._message:
            _, last = self._turns[-1]
            self._turns[-1] = (side, msgspec.structs.replace(last, text=f"{last.text}\n\n{text}"))
            return
        self._add(record, side, "assistant", text)
        self._message = message

    def _results(self, record: Record, side: bool) -> None:
        super()._results(record, side)
        message = loose.decode_as(Message, record.message) if len(record.message) else None
        for block in _blocks(message) if message else ():
            if block.type == "tool_result":
                self._result(record, side, block)
            elif text := _block_text(block).strip():
                said = read_user_text(clean(text))
                # A text beside a result is the interface speaking, but for the interrupt.
                self._keep(record, side, said.kind if said.kind == "interrupt" else "injected", said.text)

    def _result(self, record: Record, side: bool, block: Block) -> None:
        call = block.tool_use_id or ""
        tool = self._tools.get(call, "")
        text = clean(loose.text_of(loose.value_of(block.content))) if len(block.content) else ""
        text = _injected_block.sub("", text).strip()
        if tool == "AskUserQuestion" and (answer := _answers(record.toolUseResult, text)):
            self._add(record, side, "answer", answer, tool=tool, call=call)
            return
        if text.startswith((_refused, _plan_refused)):
            said = _said.search(text)
            words = said[1].strip() if said else ""
            # "The user wants to clarify" is the interface's own sentence; the person's words come as the next prompt.
            if words and not words.startswith("The user wants to clarify"):
                self._add(record, side, "refusal", words, tool=tool, call=call)
            else:
                self._add(record, side, "interrupt", "", tool=tool, call=call)
            return
        shown, failed = result_text(text)
        kind: TurnKind = "error" if failed or block.is_error else "tool_result"
        self._add(record, side, kind, shown, tool=tool, call=call)

    def _injected_attachment(self, record: Record) -> None:
        found = loose.decode_as(Attachment, record.attachment)
        if found is None or not len(found.content):
            return
        text = clean(loose.text_of(loose.value_of(found.content))).strip()
        if text:
            self._keep(record, bool(record.isSidechain), "injected", text, evidence=found.type or "attachment")


def queue_id(queued: Queued) -> str:
    """The id of a text that only a queue line holds; such lines have no uuid, their time is the steadiest they have."""
    return f"queue:{queued.at or queued.place}"


def _as_task(turn: Turn) -> Turn:
    return msgspec.structs.replace(turn, kind="task") if turn.kind in HUMAN_PROMPTS else turn


def _blocks(message: Message) -> Iterator[Block]:
    """Content is a string, a list of blocks, or in malformed lines a number or null."""
    raw = bytes(message.content)
    if raw[:1] == b'"':
        yield Block(type="text", text=loose.string(loose.value_of(raw)))
    elif raw[:1] == b"[":
        try:
            yield from _block_list.decode(raw)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            for value in loose.sequence(loose.value_of(raw)):
                yield Block(type="text", text=value) if isinstance(value, str) else loose.fit(Block, value)


def _block_text(block: Block) -> str:
    if block.type == "text":
        return block.text or ""
    return "[image]" if block.type == "image" else ""


def _origin(raw: Raw) -> str:
    found = loose.decode_as(Origin, raw) if len(raw) else None
    return (found.kind or "") if found else ""


def _answers(result: Raw, text: str) -> str:
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


_records = msgspec.json.Decoder(Record)
_block_list = msgspec.json.Decoder(list[Block])
