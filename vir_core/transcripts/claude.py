"""Claude Code transcripts summed up: feeds on lines and counts what was said, by whom."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import islice

import msgspec
from msgspec import Struct

from vir_core.text import clean
from vir_core.transcripts import loose
from vir_core.transcripts.claude_lines import (
    CONVERSATION,
    KNOWN,
    MACHINE_ORIGINS,
    NOTHING,
    REFUSALS,
    Attachment,
    Block,
    Message,
    Record,
    Used,
    WorktreeState,
    answers_in,
    block_text,
    blocks_of,
    fork_of,
    is_refusal,
    one_record,
    origin_of,
    read_user_text,
    records_of,
    without_injected,
    words_of_refusal,
)
from vir_core.transcripts.lines import Block as Lines
from vir_core.transcripts.lines import lines_of
from vir_core.transcripts.provenance import (
    MARKS_KEPT,
    MORE,
    NOT_THE_PERSON,
    ClaudeSignals,
    claude_driver,
    kept_marks,
    mark_of,
    scheduled,
    stand_in,
    words_or_nothing,
)
from vir_core.transcripts.session import SessionFacts, Usage
from vir_core.transcripts.stamps import exact, utc
from vir_core.transcripts.titles import as_token, clean_title, is_token, token_of
from vir_core.transcripts.turns import TurnKind

UUIDS_KEPT = 4
REMEMBERED = 150_000
"""Records whose ids are remembered to count a repeated one once; twice as many at most, some 40 MB. A repeat from further
back counts again."""
COMPARED = 20_000
"""Characters of a prompt that are looked at to tell it from another."""


_whole_uuid = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z", re.IGNORECASE)


class Prompt(Struct, array_like=True):
    """A prompt as far as the facts need it: `same` tells it from others, `order` is its place among prompts and queue lines."""

    id: str
    same: bytes
    order: int
    copied: bool = False
    mark: str = ""


class Queued(Struct, array_like=True):
    """Text typed while the agent was busy, until it is known whether another record repeats it. `id` is made of its time:
    queue lines have no uuid, and that is the steadiest they have."""

    id: str
    same: bytes
    order: int
    text: str
    at: str
    side: bool
    place: int
    mark: str = ""
    scheduled: bool = False
    open: bool = True
    dropped: bool = False


class ClaudeState(Struct, forbid_unknown_fields=True):
    """All that was learnt from the lines so far. It can be written down, and reading goes on from it when the file grew."""

    lines: int = 0
    bad: int = 0
    records: int = 0
    snake: int = 0  # lines that name their session in snake case only
    unknown: dict[str, int] = {}
    seen: ClaudeSignals = msgspec.field(default_factory=ClaudeSignals)
    uuids: dict[str, None] = {}
    older: dict[str, None] = {}
    first: list[str] = []
    sessions: dict[str, int] = {}
    agent: str = ""
    cwds: dict[str, None] = {}
    branches: dict[str, None] = {}
    started: str = ""
    ended: str = ""
    fork: str = ""
    custom_title: str = ""
    ai_title: str = ""
    summaries: dict[str, str] = {}
    queue: list[Queued] = []
    prompts: list[Prompt] = []
    order: int = 0
    answered: int = 0
    refused: int = 0
    questions: list[str] = []
    after: list[str] = []
    follows: str = ""
    opens_compacted: bool = False
    home: str = ""
    used: dict[str, Used] = {}
    spent: Usage = Usage()


class ClaudeFacts:
    """Feeds on the lines of one file and sums them up. `ClaudeTurns` keeps the turns as well; both see the same lines
    and decide the same way who spoke."""

    _keeps_results = False

    def __init__(self, layout: str, stem: str, folder_session: str, state: ClaudeState | None = None) -> None:
        self.state = state or ClaudeState()
        self.state.seen.layout = layout
        self._stem = stem
        self._folder_session = folder_session
        self._marks = {one.mark for one in (*self.state.prompts, *self.state.queue)}
        self._place: tuple[str | None, str | None, str | None, str | None] = (None, None, None, None)

    def is_stream_json(self) -> bool:
        """Whether the lines are a program's stdout: it names the session in snake case only, and gives no times."""
        return self.state.snake > 0 and not self.state.sessions and not self.state.started

    # -- lines

    def feed_block(self, block: Lines) -> None:
        """Whole lines, each with its end. One call decodes them all when nothing is odd about any."""
        records = records_of(block)
        if records is None:
            for line in lines_of(block):
                self.feed(line)
            return
        self.state.lines += len(records)
        self._take_all(records)

    def feed(self, line: bytes) -> None:
        """One line without its end."""
        self.state.lines += 1
        try:
            record = one_record(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            self._feed_odd(line)
            return
        self._take_all((record,))

    def _feed_odd(self, line: bytes) -> None:
        record = loose.decode_as(Record, line)
        if record is not None:
            self._take_all((record,))
            return
        found, whole = loose.objects_on(line)
        if not whole or not found:
            self.state.bad += 1
        for value in found:
            self._take_all((loose.fit(Record, value),))

    def _take_all(self, records: Sequence[Record]) -> None:
        self._note_times(records)
        state, seen = self.state, self.state.seen
        uuids, older = state.uuids, state.older
        known = len(uuids)
        cwd, branch, version, entrypoint = self._place
        session: str | None = None
        named = 0
        for record in records:
            state.records += 1
            kind = record.type
            if kind == "progress":
                # Hooks, running commands and, in whole, what subagents said: never the thread of this file.
                continue
            if record.sessionId == session:
                named += 1
            else:
                self._note_session(session, named)
                session, named = record.sessionId, 1
            if record.session_id and not session:
                state.snake += 1
            if (
                record.cwd != cwd
                or record.gitBranch != branch
                or record.version != version
                or record.entrypoint != entrypoint
            ):
                self._note_place(record)
                cwd, branch, version, entrypoint = self._place
            if record.forkedFrom is not NOTHING and not state.fork:
                state.fork = fork_of(record.forkedFrom)
            if kind not in CONVERSATION:
                self._state_line(record, kind or "(none)")
                known = len(uuids)  # queued text has an id too
                continue
            message, uuid = record.message, record.uuid
            # A malformed copy must not push out the good one that follows it.
            if uuid and message is not None:
                if older and uuid in older:
                    continue
                uuids[uuid] = None
                if len(uuids) == known:
                    continue
                known += 1
                if known >= REMEMBERED:
                    self._forget_oldest()
                    uuids, older, known = state.uuids, state.older, 0
            seen.records += 1
            if seen.records == 1:
                self._note_first(record)
            side = record.isSidechain is True
            if side:
                seen.sidechain += 1
            if kind == "user":
                if self._keeps_results or record.toolUseResult is NOTHING or self._may_hold_words(record):
                    self._user(record, side)
            elif message is not None:
                self._assistant(record, message, side)
        self._note_session(session, named)

    def _note_session(self, session: str | None, records: int) -> None:
        if session:
            known = self.state.sessions
            known[session] = known.get(session, 0) + records

    def _note_first(self, record: Record) -> None:
        state = self.state
        state.seen.first_type = state.seen.first_type or record.type or ""
        state.agent = record.agentId or state.agent
        self._note_origin(record.parentUuid)

    def _state_line(self, record: Record, kind: str) -> None:
        state = self.state
        if kind not in KNOWN:
            state.unknown[kind] = state.unknown.get(kind, 0) + 1
        state.seen.first_type = state.seen.first_type or kind
        if kind == "attachment":
            self._attachment(record)
        elif kind == "queue-operation":
            self._queue_operation(record)
        elif kind == "file-history-snapshot":
            state.seen.snapshots += 1
        elif kind in ("mode", "permission-mode"):
            state.seen.modes += 1
        elif kind == "summary":
            state.summaries.pop(record.leafUuid or "", None)
            state.summaries[record.leafUuid or ""] = (record.summary or "")[:400]
        elif kind == "custom-title":
            state.custom_title = record.customTitle or state.custom_title
        elif kind == "ai-title":
            state.ai_title = record.aiTitle or state.ai_title
        elif kind == "system":
            self._system(record)
        elif kind == "worktree-state" and not state.home:
            entered = loose.decode_as(WorktreeState, record.worktreeSession) if len(record.worktreeSession) else None
            state.home = (entered.originalCwd or "") if entered else ""
            if state.home.startswith("[trimmed"):
                state.home = ""

    def _note_place(self, record: Record) -> None:
        self._place = (record.cwd, record.gitBranch, record.version, record.entrypoint)
        state = self.state
        if record.cwd:
            state.cwds[record.cwd] = None
        if record.gitBranch:
            state.branches[record.gitBranch] = None
        if record.version:
            state.seen.version = record.version
        if record.entrypoint:
            state.seen.entrypoints.add(record.entrypoint)

    def _note_times(self, records: Sequence[Record]) -> None:
        """Lines are nearly in order of time and nearly all of one form: the least and the greatest of a block are checked,
        and each by itself only when one of them is odd."""
        times = [record.timestamp for record in records if record.timestamp is not None]
        if not times:
            return
        if exact(times):
            self._widen(min(times))  # pyright: ignore[reportArgumentType]
            self._widen(max(times))  # pyright: ignore[reportArgumentType]
            return
        for time in times:
            self._widen(utc(time))

    def _widen(self, time: str) -> None:
        state = self.state
        if time:
            if not state.started or time < state.started:
                state.started = time
            if time > state.ended:
                state.ended = time

    def _is_new(self, uuid: str) -> bool:
        state = self.state
        if uuid in state.uuids or uuid in state.older:
            return False
        state.uuids[uuid] = None
        return True

    def _forget_oldest(self) -> None:
        state = self.state
        state.first = state.first or list(islice(state.uuids, UUIDS_KEPT))
        state.uuids, state.older = {}, state.uuids

    def _note_origin(self, parent: str | None) -> None:
        if parent and parent not in self.state.uuids and parent not in self.state.after:
            self.state.after.append(parent)

    # -- people

    def _user(self, record: Record, side: bool) -> None:
        if record.teamName and not self.state.seen.team:
            self.state.seen.team = record.teamName
        if len(record.toolUseResult) or len(record.sourceToolAssistantUUID):
            self._results(record, side)
            return
        if record.planContent:
            self._plan(record, side)
            return
        message = record.message
        if message is None:
            return
        blocks = list(blocks_of(message))
        if any(block.type == "tool_result" for block in blocks):
            self._results(record, side)
            return
        text = "\n".join(filter(None, map(block_text, blocks)))
        if text.strip():
            self._user_text(record, side, clean(text))

    def _plan(self, record: Record, side: bool) -> None:
        seen = self.state.seen
        if not side:
            seen.plans += 1
            if not seen.prompts and not self.state.follows:
                # A hand-over that clears the context opens with a line of the session in which the plan was made.
                others = [name for name in self.state.sessions if name != record.sessionId]
                self.state.follows = others[-1] if others else ""
        self._keep(record, side, "plan", record.planContent or "")

    def _user_text(self, record: Record, side: bool, text: str) -> None:
        seen = self.state.seen
        if not side:
            if not seen.opening:
                seen.opening = text[:400]
                self.state.opens_compacted = record.isCompactSummary is True
            seen.mates += text.startswith("<teammate-message")
        if record.isMeta or record.isCompactSummary or record.isVisibleInTranscriptOnly or len(record.turnCompanion):
            self._keep(record, side, "injected", text)
            return
        origin = origin_of(record.origin)
        if origin in MACHINE_ORIGINS or (record.promptSource == "system" and origin != "human"):
            self._keep(record, side, "injected", text, evidence=f"origin {origin or 'system'}")
            return
        said = read_user_text(text)
        if side:
            self._keep(record, side, "task" if said.kind == "prompt" else said.kind, said.text)
            return
        seen.from_ide += said.ide
        if said.kind == "command":
            if said.text.startswith("!"):
                seen.shell += 1
            else:
                seen.commands += 1
            self._note_prompt("", said.text)
        elif said.kind == "prompt":
            self._prompt(record, said.text, origin)
        self._keep(record, side, said.kind, said.text, evidence=f"origin {origin}" if origin else "")

    def _prompt(self, record: Record, text: str, origin: str) -> None:
        seen = self.state.seen
        if origin == "human" or record.promptSource == "typed":
            seen.typed += 1
        elif record.promptSource == "sdk":
            seen.sdk += 1
        if len(record.permissionMode) or len(record.thinkingMetadata) or len(record.todos):
            seen.with_ui_state += 1
        self._count_prompt(record, text)

    def _count_prompt(self, record: Record, text: str) -> None:
        seen = self.state.seen
        seen.prompts += 1
        seen.scheduled += scheduled(text)
        seen.first_prompt = seen.first_prompt or text[:400]
        self._note_prompt(record.uuid or f"#{self.state.records}", text, copied=len(record.forkedFrom) > 0)

    def _note_prompt(self, ident: str, text: str, *, copied: bool = False) -> None:
        state = self.state
        state.order += 1
        state.prompts.append(Prompt(ident, _sameness(text), state.order, copied, self._mark(text) if ident else ""))

    def _mark(self, text: str) -> str:
        """Every prompt is marked until there are more kinds than are kept."""
        if len(self._marks) > MARKS_KEPT:
            return ""
        mark = mark_of(text[:COMPARED])
        self._marks.add(mark)
        return mark

    def _attachment(self, record: Record) -> None:
        if b"queued_command" not in bytes(record.attachment):
            self._injected_attachment(record)
            return
        found = loose.decode_as(Attachment, record.attachment)
        if found is None or found.type != "queued_command":
            return
        side = record.isSidechain is True
        origin = origin_of(found.origin) or origin_of(record.origin)
        said = read_user_text(clean(loose.text_in(found.prompt)))
        machine = found.isMeta or record.isMeta or origin in MACHINE_ORIGINS or found.commandMode == "task-notification"
        if machine or said.kind != "prompt" or side:
            if not self.state.seen.opening and not side:
                self.state.seen.opening = said.text[:400]
            self._keep(record, side, "injected" if said.kind == "prompt" else said.kind, said.text)
            return
        if record.uuid and not self._is_new(record.uuid):
            return
        self.state.seen.typed += origin == "human"
        self.state.seen.from_ide += said.ide
        self._count_prompt(record, said.text)
        self._keep(record, side, "queued", said.text, evidence=f"origin {origin}" if origin else "typed while busy")

    def _queue_operation(self, record: Record) -> None:
        state = self.state
        if record.operation == "enqueue" and len(record.content):
            said = read_user_text(clean(loose.text_in(record.content)))
            if said.kind in ("prompt", "command"):
                state.order += 1
                at = utc(record.timestamp)
                ident = f"queue:{at or state.order}"
                if any(queued.id == ident for queued in state.queue):
                    ident = f"{ident}:{state.order}"
                state.queue.append(
                    Queued(
                        ident,
                        _sameness(said.text),
                        state.order,
                        self._kept_words(said.text),
                        at,
                        record.isSidechain is True,
                        self._turns_so_far(),
                        self._mark(said.text) if said.kind == "prompt" else "",
                        scheduled(said.text),
                        dropped=said.kind == "command",
                    )
                )
        elif record.operation == "popAll":
            # The person took the text back into the input line; what was sent in the end is a record of its own.
            for queued in state.queue:
                queued.dropped = queued.dropped or queued.open
        elif record.operation in ("dequeue", "remove"):
            first = next((queued for queued in state.queue if queued.open and not queued.dropped), None)
            if first is not None:
                first.open = False

    def _system(self, record: Record) -> None:
        if record.logicalParentUuid and self.state.seen.records == 0:
            self._note_origin(record.logicalParentUuid)
        if len(record.content) < 16:
            return
        text = loose.string(loose.value_of(record.content))
        if text.startswith("<command-name>"):
            said = read_user_text(clean(text))
            self.state.seen.commands += 1
            self._keep(record, record.isSidechain is True, said.kind, said.text)

    # -- the agent

    def _assistant(self, record: Record, message: Message, side: bool) -> None:
        if message.usage is not None:
            self._note_usage(record, message, message.usage)
        if side or record.isApiErrorMessage or message.model == "<synthetic>":
            return
        seen = self.state.seen
        content = bytes(message.content)
        # One line holds one block; its type is the block's first key. Whatever looks otherwise is decoded.
        if b'},{"type":' not in content:
            if content.startswith(b'[{"type":"text"'):
                seen.answers += 1
                return
            if content.startswith(b'[{"type":"tool_use"') and content.find(b'"AskUserQuestion"', 0, 200) < 0:
                seen.calls += 1
                return
            if content.startswith(b'[{"type":"thinking"'):
                return
        kinds: set[str] = set()
        for block in blocks_of(message):
            kinds.add(block.type or "")
            if block.name == "AskUserQuestion" and block.id:
                self.state.questions.append(block.id)
        seen.answers += "text" in kinds
        seen.calls += "tool_use" in kinds

    def _note_usage(self, record: Record, message: Message, used: Used) -> None:
        """Every line of a streamed answer repeats its usage, the earlier ones with less: the one with the most counts."""
        if message.model == "<synthetic>":
            return
        known = self.state.used
        key = message.id or record.uuid or f"#{self.state.records}"
        if record.requestId:
            key += record.requestId
        before = known.get(key)
        if before is None or (before.output_tokens or 0) <= (used.output_tokens or 0):
            known[key] = used
            if before is None and len(known) > REMEMBERED:
                self.state.spent = summed_usage(known.values(), self.state.spent)
                known.clear()

    def _results(self, record: Record, side: bool) -> None:
        if side or not self._may_hold_words(record):
            return
        for block in blocks_of(record.message):
            if block.type == "tool_result":
                self._count_words(record, block)

    def _may_hold_words(self, record: Record) -> bool:
        """Whether a result may hold a person's words: refusals and old answers come as a text, answers as an object that
        opens with its questions. All else is a tool's output, most of the bytes of a file."""
        result = bytes(record.toolUseResult)
        if result.startswith((b'{"questions"', b'{"answers"')):
            return True
        if result and not result.startswith(b'"'):
            return False
        said = bytes(record.message.content) if record.message is not None else b""
        if any(words in said for words in REFUSALS):
            return True
        return bool(self.state.questions) and any(call.encode() in said for call in self.state.questions)

    def _count_words(self, record: Record, block: Block) -> tuple[TurnKind, str] | None:
        """A person's words inside a result, counted: an answer to a question, or what came with a refusal; a refusal
        without words is an interrupt. None for a plain result."""
        text = clean(loose.text_in(block.content))
        text = without_injected(text).strip()
        asked = block.tool_use_id in self.state.questions or bytes(record.toolUseResult).startswith(b'{"questions"')
        if asked and (answer := answers_in(record.toolUseResult, text)):
            self.state.answered += 1
            self.state.seen.words += 1
            return "answer", answer
        if not is_refusal(text):
            return None
        words = words_of_refusal(text)
        # "The user wants to clarify" is the interface's own sentence; the person's words come as the next prompt.
        if not words or words.startswith("The user wants to clarify"):
            return "interrupt", ""
        self.state.refused += 1
        self.state.seen.words += 1
        return "refusal", words

    # -- what only turns need

    def _injected_attachment(self, record: Record) -> None:
        """Listings, reminders and hook output: no turn for the facts."""

    def _keep(self, record: Record, side: bool, kind: TurnKind, text: str, *, evidence: str = "") -> None:
        """A turn was seen; facts keep none."""

    def _turns_so_far(self) -> int:
        return 0

    def _kept_words(self, text: str) -> str:
        return text[:400]

    # -- the end

    def kept_state(self) -> ClaudeState:
        """The state as it may be written down: without anybody's words."""
        state = self.state
        seen = msgspec.structs.replace(
            state.seen, opening=stand_in(state.seen.opening), first_prompt=stand_in(state.seen.first_prompt)
        )
        return msgspec.structs.replace(
            state,
            seen=seen,
            custom_title=as_token(state.custom_title),
            ai_title=as_token(state.ai_title),
            summaries={leaf: as_token(text) for leaf, text in state.summaries.items()},
            queue=[msgspec.structs.replace(queued, text=stand_in(queued.text)) for queued in state.queue],
        )

    def _late_queued(self) -> list[Queued]:
        """Queued texts that no other record repeats: for these the queue line is all there is."""
        known: dict[bytes, int] = {}
        for prompt in self.state.prompts:
            known[prompt.same] = known.get(prompt.same, 0) + 1
        late: list[Queued] = []
        for queued in self.state.queue:
            if queued.dropped:
                continue
            if known.get(queued.same, 0):
                known[queued.same] -= 1
            elif not queued.side:
                late.append(queued)
        return late

    def facts(self, path: str) -> SessionFacts:
        state = self.state
        late = self._late_queued()
        seen = msgspec.structs.replace(state.seen)
        seen.prompts += len(late)
        seen.scheduled += sum(queued.scheduled for queued in late)
        seen.cwd = next(iter(state.cwds), "")
        if late and not seen.first_prompt:
            seen.first_prompt = late[0].text[:400]
        verdict = claude_driver(seen)
        title = clean_title(self._title())
        asked = sorted(
            [
                *((prompt.order, prompt.id, prompt.mark, prompt.copied) for prompt in state.prompts if prompt.id),
                *((queued.order, queued.id, queued.mark, False) for queued in late),
            ]
        )
        people = verdict.driver not in NOT_THE_PERSON
        agent, session, parent = self._identity(verdict.driver)
        newest = [*islice(reversed(state.uuids), UUIDS_KEPT)] or [*islice(reversed(state.older), UUIDS_KEPT)]
        return SessionFacts(
            path=path,
            source="claude",
            session=session,
            agent=agent,
            parent=parent,
            driver=verdict.driver,
            certainty=verdict.certainty,
            evidence=verdict.evidence,
            human_turns=len(asked) if people else 0,
            answers=seen.answers,
            last_turn=asked[-1][1] if people and asked else "",
            first_prompt=words_or_nothing(" ".join(seen.first_prompt.split())[:200]),
            title="" if is_token(title) else title,
            titled=token_of(title),
            cwd=seen.cwd,
            cwds=tuple(state.cwds),
            branches=tuple(state.branches),
            started=state.started,
            ended=state.ended,
            lines=state.lines,
            bad_lines=state.bad,
            unknown=dict(state.unknown),
            agent_version=seen.version,
            entrypoint=",".join(sorted(seen.entrypoints)),
            forked_from=state.fork,
            uuids=tuple(dict.fromkeys([*(state.first or islice(state.uuids, UUIDS_KEPT)), *reversed(newest)])),
            marks=kept_marks(mark or MORE for _, _, mark, _ in asked),
            hands=seen.hands,
            after=tuple(parent for parent in state.after if parent not in state.uuids),
            follows=state.follows,
            opens_compacted=state.opens_compacted,
            home=state.home,
            copied=sum(copied for *_, copied in asked) if people else 0,
            team=seen.team,
            answered=state.answered,
            refused=state.refused,
            usage=summed_usage(state.used.values(), state.spent),
        )

    def _title(self) -> str:
        # A summary at the head of a file may title another session: it counts when its leaf is a record of this one.
        state = self.state
        summaries = [text for leaf, text in state.summaries.items() if leaf in state.uuids or leaf in state.older]
        return state.custom_title or state.ai_title or (summaries[-1] if summaries else "")

    def _identity(self, driver: str) -> tuple[str, str, str]:
        """(agent id, session id, parent). A main file is its session whatever ids its lines carry: a resumed file keeps
        lines of the session it continues."""
        sessions = self.state.sessions
        named = max(sessions, key=lambda name: sessions[name], default="")
        if driver in ("subagent", "workflow", "compaction"):
            stem = self._stem
            agent = stem.removeprefix("agent-") if stem.startswith("agent-") else self.state.agent or stem
            return agent, agent, named or self._folder_session
        if _whole_uuid.match(self._stem) or not named:
            return "", self._stem, ""
        return "", named, ""


def summed_usage(used: Iterable[Used], *before: Usage) -> Usage:
    """The tokens of these answers, each once, on top of those counted `before`."""
    answers = sum(one.answers for one in before)
    fresh = sum(one.fresh for one in before)
    written = sum(one.written for one in before)
    cached = sum(one.cached for one in before)
    output = sum(one.output for one in before)
    for one in used:
        answers += 1
        fresh += one.input_tokens or 0
        written += one.cache_creation_input_tokens or 0
        cached += one.cache_read_input_tokens or 0
        output += one.output_tokens or 0
    return Usage(answers, fresh, written, cached, output)


def _sameness(text: str) -> bytes:
    folded = " ".join(text[:COMPARED].split())
    return blake2b(folded.encode("utf-8", "surrogatepass"), digest_size=8).digest()
