"""Codex rollout lines of every era: read into facts, and into turns."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from vir_core.text import clean
from vir_core.transcripts import loose
from vir_core.transcripts.provenance import NOT_THE_PERSON, CodexSignals, codex_driver
from vir_core.transcripts.session import SessionFacts
from vir_core.transcripts.stamps import utc
from vir_core.transcripts.tools import call_text, output_text, patch_text
from vir_core.transcripts.turns import HUMAN_PROMPTS, Turn, TurnKind

NOTHING = Raw(b"")
UUIDS_KEPT = 4

WRAPPED = frozenset({
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state", "token_usage_record",
    "inter_agent_communication", "inter_agent_communication_metadata", "context_window",
})  # fmt: skip
ITEMS = frozenset({
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
    "local_shell_call", "web_search_call", "tool_search_call", "tool_search_output", "image_generation_call",
    "ghost_snapshot", "agent_message", "compaction", "compaction_summary",
})  # fmt: skip
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
    r"|apps_instructions|skills_instructions|skill|subagent_notification|INSTRUCTIONS)\b[^>]*>.*?</\1>\s*",
    re.DOTALL,
)
_machine_openings = ("<", "# AGENTS.md instructions", "You are `/root`")
_cwd = re.compile(r"<cwd>\s*(.*?)\s*</cwd>|^Current working directory: (.+)$", re.MULTILINE)
_time_in_id = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-")


class Row(Struct):
    """One line: wrapped (`type` and `payload`), or of the bare era (the item itself, or the head of the file)."""

    type: str | None = None
    timestamp: str | float | None = None
    record_type: str | None = None
    id: str | None = None
    payload: Raw = NOTHING
    instructions: Raw = NOTHING
    git: Raw = NOTHING
    role: Raw = NOTHING


class Kind(Struct):
    type: str | None = None


class Item(Struct):
    """A response item, an event, or the item inside `item_completed`; only what is used."""

    type: str | None = None
    id: str | None = None
    role: str | None = None
    phase: str | None = None
    name: str | None = None
    message: str | None = None
    call_id: str | None = None
    arguments: Raw = NOTHING
    input: Raw = NOTHING
    output: Raw = NOTHING
    action: Raw = NOTHING
    content: Raw = NOTHING
    item: Raw = NOTHING
    images: Raw = NOTHING
    thread_name: str | None = None
    turn_id: str | None = None
    num_turns: int | None = None


class Git(Struct):
    branch: str | None = None
    repository_url: str | None = None


class Meta(Struct):
    id: str | None = None
    session_id: str | None = None
    timestamp: str | float | None = None
    cwd: str | None = None
    originator: str | None = None
    cli_version: str | None = None
    source: object = None
    thread_source: str | None = None
    parent_thread_id: str | None = None
    forked_from_id: str | None = None
    git: Raw = NOTHING


class Context(Struct):
    cwd: str | None = None
    turn_id: str | None = None


class Request(NamedTuple):
    """A person's words as one channel gave them. Every prompt is written two or three times, once a channel."""

    id: str
    text: str
    at: str
    kind: TurnKind


def read_request(text: str) -> tuple[TurnKind, str]:
    """What a user message is: the words after an editor's context, or injected text of which nothing is left. A slash
    command that reaches the transcript is a prompt file the person called; the built-in ones never get here."""
    own = _request.sub("", text, count=1)
    own = _injected_block.sub("", own).strip()
    if not own or own.startswith(_machine_openings):
        return "injected", text.strip()
    if own.startswith("# Context from my IDE setup"):
        return "injected", own
    return "prompt", own


class CodexFacts:
    """Feeds on the lines of one rollout and sums them up; `CodexTurns` keeps the turns as well."""

    def __init__(self, stem: str) -> None:
        self.lines = 0
        self.bad = 0
        self.recognised = 0
        self.unknown: dict[str, int] = {}
        self._stem = stem
        self._meta: Meta | None = None
        self._bare = False
        self._seen = CodexSignals()
        self._inherited = False
        self._started = self._ended = ""
        self._cwds: dict[str, None] = {}
        self._branch = self._remote = self._title = ""
        self._ids: list[str] = []
        self._rolled_back = 0
        self._now = ""
        self._said = 0
        self._copied = 0
        self._asked: list[Request] = []  # from events and completed items
        self._echoed: list[Request] = []  # from response items
        self._counts: dict[tuple[str, int, int], dict[str, int]] = {}

    # -- lines

    def feed(self, line: bytes) -> None:
        self.lines += 1
        try:
            row = _rows.decode(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            self._feed_odd(line)
            return
        self._take(row, line)

    def _feed_odd(self, line: bytes) -> None:
        row = loose.decode_as(Row, line)
        if row is not None:
            self._take(row, line)
            return
        found, whole = loose.objects_on(line)
        if not whole or not found:
            self.bad += 1
        for value in found:
            self._take(loose.fit(Row, value), loose.encode(value))

    def _take(self, row: Row, line: bytes) -> None:
        if row.type in WRAPPED:
            self.recognised += 1
            self._note_time(utc(row.timestamp))
            self._wrapped(row)
        elif row.record_type:
            self.recognised += 1
        elif row.type in ITEMS and not len(row.payload):
            self.recognised += 1
            self._bare = True
            self._item(loose.decode_as(Item, line) or Item())
        elif row.type is None and row.id and (len(row.instructions) or len(row.git)):
            self.recognised += 1
            self._bare = True
            self._note_time(utc(row.timestamp))
            self._head(loose.decode_as(Meta, line) or Meta())
        else:
            self._count_unknown(row.type or "(none)")

    def _wrapped(self, row: Row) -> None:
        payload = row.payload
        if row.type == "response_item":
            self._item(loose.decode_as(Item, payload) or Item())
        elif row.type == "event_msg":
            self._event(payload)
        elif row.type == "session_meta":
            self._head(loose.decode_as(Meta, payload) or Meta())
        elif row.type == "turn_context":
            context = loose.decode_as(Context, payload) or Context()
            self._own_turn(context.turn_id)
            if context.cwd:
                self._cwds[context.cwd] = None
        elif row.type == "compacted":
            compacted = loose.decode_as(Item, payload) or Item()
            if compacted.message:
                self._keep("injected", "", clean(compacted.message)[:2_000], evidence="compacted")

    def _head(self, meta: Meta) -> None:
        if self._meta is not None:
            # A fork or a spawned agent copies its parent's head and history right behind its own head; a resumed file
            # repeats its own head, and one in the middle of a conversation copies nothing.
            begun = self._asked or self._echoed or self._said
            if not begun and meta.id and self._meta.id and meta.id != self._meta.id:
                self._inherited = True
            return
        self._meta = meta
        self._note_time(utc(meta.timestamp))
        git = loose.decode_as(Git, meta.git) if len(meta.git) else None
        if git is not None:
            self._branch, self._remote = git.branch or "", git.repository_url or ""
        if meta.cwd:
            self._cwds[meta.cwd] = None
        self._seen.source = meta.source
        self._seen.originator = meta.originator or ""
        self._seen.thread_source = meta.thread_source or ""

    def _own_turn(self, turn_id: str | None) -> None:
        """Ends the copied history: ids of turns hold the time they began, and a copied turn began before its copy."""
        if not self._inherited or self._meta is None:
            return
        began, born = _id_time(turn_id or ""), _id_time(self._meta.id or "")
        if began and born:
            self._inherited = began < born
            return
        stamp = utc(self._meta.timestamp)
        self._inherited = not (self._now and stamp and self._now[:19] > stamp[:19])

    def _note_time(self, time: str) -> None:
        self._now = time
        if time:
            if not self._started or time < self._started:
                self._started = time
            if time > self._ended:
                self._ended = time

    def _count_unknown(self, kind: str) -> None:
        self.unknown[kind] = self.unknown.get(kind, 0) + 1

    # -- what was said

    def _event(self, payload: Raw) -> None:
        kind = (loose.decode_as(Kind, payload) or Kind()).type or "(none)"
        if kind not in EVENTS:
            self._count_unknown(f"event_msg/{kind}")
            return
        if kind not in _USED_EVENTS:
            return
        event = loose.decode_as(Item, payload) or Item()
        if kind in ("task_started", "turn_started"):
            self._own_turn(event.turn_id)
        elif kind == "thread_name_updated":
            self._title = event.thread_name or self._title
        elif self._inherited:
            self._copied += 1
        elif kind == "user_message":
            self._ask("event", "", clean(event.message or ""))
        elif kind == "agent_message":
            self._say("event", "", clean(event.message or ""), event.phase or "")
        elif kind == "item_completed":
            self._completed(loose.decode_as(Item, event.item) or Item())
        elif kind == "turn_aborted":
            self._keep("interrupt", "", "", evidence="turn aborted")
        elif kind == "thread_rolled_back":
            self._roll_back(event.num_turns or 0)

    def _completed(self, item: Item) -> None:
        if item.type == "UserMessage":
            self._ask("item", item.id or "", _content(item.content))
        elif item.type == "AgentMessage":
            self._say("item", item.id or "", _content(item.content), item.phase or "")

    def _item(self, item: Item) -> None:
        kind = item.type or "(none)"
        if kind not in ITEMS:
            self._count_unknown(f"response_item/{kind}")
            return
        if kind == "message" and item.role == "user" and not self._cwds:
            self._find_cwd(_content(item.content))
        if self._inherited:
            self._copied += 1
            return
        if kind == "message":
            if item.role == "assistant":
                self._say("response", item.id or "", _content(item.content), item.phase or "")
            elif item.role == "user":
                self._echo(item.id or "", _content(item.content))
        elif kind in ("function_call", "custom_tool_call", "local_shell_call", "web_search_call"):
            self._seen.calls += 1
            self._call(kind, item)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._output(item)

    def _find_cwd(self, text: str) -> None:
        found = _cwd.search(text)
        if found:
            self._cwds[(found[1] or found[2]).strip()] = None

    def _ask(self, channel: str, ident: str, text: str) -> None:
        kind, words = read_request(text)
        if not self._is_new("ask", channel, words):
            return
        if kind == "injected":
            if words:
                self._keep("injected", ident, words[:2_000], evidence="injected")
            return
        self._place_request(Request(ident, words, self._now, kind), self._asked)

    def _echo(self, ident: str, text: str) -> None:
        kind, words = read_request(text)
        if kind == "injected":
            if words:
                self._keep("injected", ident, words[:2_000], evidence="injected")
            return
        self._place_request(Request(ident, words, self._now, kind), self._echoed)

    def _say(self, channel: str, ident: str, text: str, phase: str) -> None:
        text = text.strip()
        if not text:
            return
        if not self._is_new("say", channel, text):
            return
        self._seen.answers += 1
        self._keep("assistant", ident, text, evidence="commentary" if phase == "commentary" else "")

    def _is_new(self, what: str, channel: str, text: str) -> bool:
        """One prompt or answer comes through up to three channels, in any order: it was said as often as the channel
        that has it most often says it."""
        counts = self._counts.setdefault((what, len(text), hash(text)), {})
        counts[channel] = counts.get(channel, 0) + 1
        if counts[channel] <= counts.get("", 0):
            return False
        counts[""] = counts[channel]
        return True

    def _roll_back(self, turns: int) -> None:
        for _ in range(min(turns, len(self._asked))):
            self._asked.pop()
            self._rolled_back += 1
        # The channels of a turn end together, so the echoes to drop are the last ones too.
        for _ in range(min(turns, len(self._echoed))):
            self._echoed.pop()

    # -- what only turns need

    def _place_request(self, request: Request, channel: list[Request]) -> None:
        ident = request.id or f"#{len(channel) + 1 + self._rolled(channel) + self._said}"
        self._note_id(ident)
        channel.append(request._replace(id=ident))

    def _rolled(self, channel: list[Request]) -> int:
        return self._rolled_back if channel is self._asked else 0

    def _answer_ordinal(self) -> int:
        """Place of the newest answer among the session's own messages; rolled-back ones keep their numbers."""
        asked = len(self._asked) + self._rolled_back
        return self._said + (asked or len(self._echoed))

    def _keep(
        self, kind: TurnKind, ident: str, text: str, *, evidence: str = "", tool: str = "", call: str = ""
    ) -> None:
        if kind == "assistant":
            self._said += 1
            self._note_id(ident)

    def _call(self, kind: str, item: Item) -> None:
        """Facts only count calls."""

    def _output(self, item: Item) -> None:
        """Facts do not look at results."""

    def _note_id(self, ident: str) -> None:
        if ident and not ident.startswith("#"):
            self._ids.append(ident)
            if len(self._ids) > 2 * UUIDS_KEPT:
                del self._ids[UUIDS_KEPT]

    # -- the end

    def requests(self) -> list[Request]:
        """Prompts and commands once each. Response items echo them, mixed with injected text that nothing marks, so
        they are asked only when no other channel has any."""
        return self._asked or self._echoed

    def facts(self, path: str) -> SessionFacts:
        meta = self._meta or Meta()
        prompts = [request for request in self.requests() if request.kind == "prompt"]
        seen = self._seen
        seen.prompts = len(self.requests())
        seen.bare = self._bare
        seen.copied = self._copied
        seen.first_prompt = prompts[0].text[:200] if prompts else ""
        verdict = codex_driver(seen)
        human = [] if verdict.driver in NOT_THE_PERSON else prompts
        ident = meta.id or meta.session_id or _id_in(self._stem)
        parent = meta.parent_thread_id or _spawned_by(meta.source)
        if not parent and meta.session_id and meta.session_id != ident:
            parent = meta.session_id
        return SessionFacts(
            path=path,
            source="codex",
            session=ident,
            parent=parent,
            driver=verdict.driver,
            certainty=verdict.certainty,
            evidence=verdict.evidence,
            human_turns=len(human),
            answers=seen.answers,
            last_turn=human[-1].id if human else "",
            first_prompt=" ".join(prompts[0].text.split())[:200] if prompts else "",
            title=clean(self._title),
            cwd=next(iter(self._cwds), ""),
            cwds=tuple(self._cwds),
            branches=(self._branch,) if self._branch else (),
            remote=self._remote,
            started=self._started,
            ended=self._ended,
            lines=self.lines,
            bad_lines=self.bad,
            unknown=self.unknown,
            agent_version=meta.cli_version or "",
            entrypoint=meta.originator or "",
            forked_from=meta.forked_from_id or "",
            uuids=tuple(dict.fromkeys(self._ids)),
            rolled_back=self._rolled_back,
        )


class CodexTurns(CodexFacts):
    """The facts of a rollout, and its turns."""

    def __init__(self, stem: str) -> None:
        super().__init__(stem)
        self._turns: list[tuple[str, Turn]] = []  # channel (asked, echoed or empty), turn
        self._tools: dict[str, str] = {}
        self._taken: dict[str, int] = {}

    def turns(self, facts: SessionFacts) -> tuple[Turn, ...]:
        channel = "asked" if self._asked else "echoed"
        kept = [turn for where, turn in self._turns if where in ("", channel)]
        if facts.driver in NOT_THE_PERSON:
            kept = [msgspec.structs.replace(turn, kind="task") if turn.kind in HUMAN_PROMPTS else turn for turn in kept]
        return tuple(kept)

    def _place_request(self, request: Request, channel: list[Request]) -> None:
        super()._place_request(request, channel)
        placed = channel[-1]
        turn = Turn(id=placed.id, kind=placed.kind, text=placed.text, at=placed.at)
        self._turns.append(("asked" if channel is self._asked else "echoed", turn))

    def _keep(
        self, kind: TurnKind, ident: str, text: str, *, evidence: str = "", tool: str = "", call: str = ""
    ) -> None:
        super()._keep(kind, ident, text, evidence=evidence, tool=tool, call=call)
        ident = ident or (f"#{self._answer_ordinal()}" if kind == "assistant" else f"{kind}:{call or self.lines}")
        n = self._taken[ident] = self._taken.get(ident, 0) + 1
        if n > 1:
            ident = f"{ident}:{n}"
        turn = Turn(id=ident, kind=kind, text=text, at=self._now, tool=tool, call=call, evidence=evidence)
        self._turns.append(("", turn))

    def _call(self, kind: str, item: Item) -> None:
        name = clean(item.name or kind)
        call = item.call_id or item.id or ""
        self._tools[call] = name
        if kind == "function_call":
            given = loose.value_of(item.arguments) if len(item.arguments) else None
            if isinstance(given, str):
                given = loose.value_of(given.encode("utf-8", "replace"))
            shown = call_text(name, loose.mapping(given))
        elif kind == "custom_tool_call":
            given = loose.string(loose.value_of(item.input)) if len(item.input) else ""
            shown = patch_text(given) if "*** Begin Patch" in given else " ".join(given.split())[:400]
        else:
            shown = call_text("local_shell", loose.mapping(loose.value_of(item.action))) if len(item.action) else ""
        self._keep("tool_call", item.id or "", clean(shown), tool=name, call=call)

    def _output(self, item: Item) -> None:
        value = loose.value_of(item.output) if len(item.output) else ""
        text, failed = output_text(value)
        call = item.call_id or ""
        self._keep(
            "error" if failed else "tool_result", item.id or "", clean(text), tool=self._tools.get(call, ""), call=call
        )

    def _roll_back(self, turns: int) -> None:
        super()._roll_back(turns)
        channel = "asked" if any(where == "asked" for where, _ in self._turns) else "echoed"
        starts = [at for at, (where, _) in enumerate(self._turns) if where == channel]
        if turns and starts:
            cut = starts[max(0, len(starts) - turns)]
            # The echo of a prompt is written just before its event.
            while cut and self._turns[cut - 1][0]:
                cut -= 1
            del self._turns[cut:]


def _content(raw: Raw) -> str:
    return clean(loose.text_of(loose.value_of(raw))).strip() if len(raw) else ""


def _id_time(ident: str) -> int:
    """Milliseconds since 1970 in a UUIDv7; 0 for any other id."""
    found = _time_in_id.match(ident.lower())
    return int(found[1] + found[2], 16) if found else 0


def _id_in(stem: str) -> str:
    """The id at the end of `rollout-<local time>-<uuid>`; any other name as it is."""
    return stem[-36:] if stem.startswith("rollout-") and len(stem) > 36 and stem[-36:].count("-") == 4 else stem


def _spawned_by(source: object) -> str:
    spawn = loose.mapping(loose.mapping(loose.mapping(source).get("subagent")).get("thread_spawn"))
    return loose.string(spawn.get("parent_thread_id"))


_USED_EVENTS = frozenset({
    "user_message", "agent_message", "item_completed", "turn_aborted", "thread_rolled_back", "task_started", "turn_started",
    "thread_name_updated",
})  # fmt: skip
_rows = msgspec.json.Decoder(Row)
