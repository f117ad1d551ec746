"""Codex rollouts summed up: feeds on the lines of every era and counts what was said."""

from __future__ import annotations

from itertools import islice
from zlib import crc32

import msgspec
from msgspec import Raw, Struct

from vir_core.text import clean
from vir_core.transcripts import loose
from vir_core.transcripts.codex_lines import (
    CALLS,
    EVENTS,
    ITEMS,
    OUTPUTS,
    SKIMMED,
    USED_EVENTS,
    WRAPPED,
    Bare,
    Git,
    Info,
    Message,
    Payload,
    Row,
    Tokens,
    content_of,
    cwd_in,
    id_in,
    id_time,
    read_request,
    spawned_by,
    whole_rows,
    with_images,
)
from vir_core.transcripts.lines import Block, line_ends, lines_of
from vir_core.transcripts.provenance import (
    MARKS_KEPT,
    MORE,
    NOT_THE_PERSON,
    CodexSignals,
    codex_driver,
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
REMEMBERED = 50_000
"""Messages remembered to find their echoes; an echo stands within a few lines of what it repeats."""
_KNOWN = 1_000
COMPARED = 20_000
"""Characters of a prompt that are looked at to tell it from another."""


class Meta(Struct, array_like=True):
    """The head of a session, as far as it is used."""

    id: str = ""
    session_id: str = ""
    timestamp: str = ""
    originator: str = ""
    cli_version: str = ""
    source: object = None
    thread_source: str = ""
    parent: str = ""
    forked_from: str = ""


class Request(Struct, array_like=True, frozen=True):
    """A person's words as one channel gave them. Every prompt is written two or three times, once a channel. The facts keep
    the beginning of `text`."""

    id: str
    text: str
    at: str
    kind: TurnKind
    scheduled: bool = False
    mark: str = ""


class CodexState(Struct, forbid_unknown_fields=True):
    """All that was learnt from the lines so far. It can be written down, and reading goes on from it when the file grew."""

    lines: int = 0
    bad: int = 0
    unknown: dict[str, int] = {}
    meta: Meta | None = None
    seen: CodexSignals = msgspec.field(default_factory=CodexSignals)
    inherited: bool = False
    started: str = ""
    ended: str = ""
    now: str = ""  # time of the head in the bare era, whose items have none
    cwds: dict[str, None] = {}
    branch: str = ""
    remote: str = ""
    title: str = ""
    ids: list[str] = []
    rolled_back: int = 0
    said: int = 0
    asked: list[Request] = []  # from events and completed items
    echoed: list[Request] = []  # from response items
    counts: dict[str, dict[str, int]] = {}
    known: dict[str, None] = {}  # ids of the latest answers
    tokens: Tokens = msgspec.field(default_factory=Tokens)
    spent: Usage = Usage()


class CodexFacts:
    """Feeds on the lines of one rollout and sums them up; `CodexTurns` keeps the turns as well."""

    _keeps_results = False

    def __init__(self, stem: str, state: CodexState | None = None) -> None:
        self.state = state or CodexState()
        self._stem = stem
        self._stamp: str | float | None = None
        self._info = b""
        self._marks = {one.mark for one in (*self.state.asked, *self.state.echoed)}

    # -- lines

    def feed_block(self, block: Block) -> None:
        """Whole lines, each with its end. One call decodes them all when nothing is odd about any."""
        try:
            rows = whole_rows.decode_lines(block)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            rows = []
        if len(rows) != line_ends(block):
            for line in lines_of(block):
                self.feed(line)
            return
        self.state.lines += len(rows)
        times = [row.timestamp for row in rows]
        if times and exact(times):
            self._widen(min(times))
            self._widen(max(times))
        else:
            for time in times:
                self._widen(utc(time))
        state, skims = self.state, not self._keeps_results
        for row in rows:
            if skims and row.type == "response_item" and not state.inherited:
                # Two lines of three, and all that facts want of them.
                kind = row.payload.type
                if kind in CALLS:
                    state.seen.calls += 1
                    continue
                if kind in SKIMMED:
                    continue
            self._wrapped(row.type, row.timestamp, row.payload)

    def feed(self, line: bytes) -> None:
        """One line without its end."""
        self.state.lines += 1
        row = loose.decode_as(Row, line)
        if row is not None:
            self._take(row, line)
            return
        found, whole = loose.objects_on(line)
        if not whole or not found:
            self.state.bad += 1
        for value in found:
            self._take(loose.fit(Row, value), loose.encode(value))

    def _take(self, row: Row, line: bytes) -> None:
        if row.payload is not None or row.type in WRAPPED:
            self._widen(utc(row.timestamp))
            self._wrapped(row.type or "(none)", row.timestamp, row.payload or Payload())
            return
        bare = loose.decode_as(Bare, line) or Bare()
        if bare.record_type:
            return
        if bare.type in ITEMS:
            self.state.seen.bare = True
            self._item(loose.decode_as(Payload, line) or Payload())
        elif bare.type is None and bare.id and (len(bare.instructions) or len(bare.git)):
            self.state.seen.bare = True
            self.state.now = utc(bare.timestamp)
            self._widen(self.state.now)
            self._head(loose.decode_as(Payload, line) or Payload())
        else:
            self._count_unknown(bare.type or "(none)")

    def _wrapped(self, kind: str, stamp: str | float | None, payload: Payload) -> None:
        self._stamp = stamp
        if kind == "response_item":
            self._item(payload)
        elif kind == "event_msg":
            self._event(payload)
        elif kind == "session_meta":
            self._head(payload)
        elif kind == "turn_context":
            self._own_turn(payload.turn_id)
            if payload.cwd:
                self.state.cwds[payload.cwd] = None
        elif kind == "compacted":
            if payload.message:
                self._keep("injected", "", clean(payload.message)[:2_000], evidence="compacted")
        elif kind not in WRAPPED:
            self._count_unknown(kind)

    def _head(self, found: Payload) -> None:
        state = self.state
        if state.meta is not None:
            # A fork or a spawned agent copies its parent's head and history right behind its own head; a resumed file
            # repeats its own head, and one in the middle of a conversation copies nothing.
            begun = state.asked or state.echoed or state.said
            if not begun and found.id and state.meta.id and found.id != state.meta.id:
                state.inherited = True
            elif found.id == state.meta.id and len(found.source):
                state.seen.resumed = loose.value_of(found.source)
            return
        source = loose.value_of(found.source) if len(found.source) else None
        state.meta = Meta(
            id=found.id or "",
            session_id=found.session_id or "",
            timestamp=utc(found.timestamp),
            originator=found.originator or "",
            cli_version=found.cli_version or "",
            source=source,
            thread_source=found.thread_source or "",
            parent=found.parent_thread_id or spawned_by(source),
            forked_from=found.forked_from_id or "",
        )
        self._widen(state.meta.timestamp)
        git = loose.decode_as(Git, found.git) if len(found.git) else None
        if git is not None:
            state.branch, state.remote = git.branch or "", git.repository_url or ""
        if found.cwd:
            state.cwds[found.cwd] = None
        state.seen.source = source
        state.seen.originator = state.meta.originator
        state.seen.thread_source = state.meta.thread_source

    def _own_turn(self, turn_id: str | None) -> None:
        """Ends the copied history: ids of turns hold the time they began, and a copied turn began before its copy."""
        state = self.state
        if not state.inherited or state.meta is None:
            return
        began, born = id_time(turn_id or ""), id_time(state.meta.id)
        if began and born:
            state.inherited = began < born
            return
        now, stamp = self._now(), state.meta.timestamp
        state.inherited = not (now and stamp and now[:19] > stamp[:19])

    def _now(self) -> str:
        """Time of the line being read; of the bare era's items, that of the head."""
        return utc(self._stamp) or self.state.now

    def _widen(self, time: str) -> None:
        state = self.state
        if time:
            if not state.started or time < state.started:
                state.started = time
            if time > state.ended:
                state.ended = time

    def _count_unknown(self, kind: str) -> None:
        self.state.unknown[kind] = self.state.unknown.get(kind, 0) + 1

    # -- what was said

    def _event(self, event: Payload) -> None:
        kind = event.type or "(none)"
        if kind not in EVENTS:
            self._count_unknown(f"event_msg/{kind}")
            return
        if kind not in USED_EVENTS:
            return
        state = self.state
        if kind in ("task_started", "turn_started"):
            self._own_turn(event.turn_id)
        elif kind == "token_count":
            self._note_tokens(event.info)
        elif kind == "thread_name_updated":
            state.title = event.thread_name or state.title
        elif state.inherited:
            state.seen.copied += 1
        elif kind == "user_message":
            self._ask("event", "", clean(with_images(event)))
        elif kind == "agent_message":
            self._say("event", "", clean(event.message or ""), event.phase or "")
        elif kind == "item_completed":
            self._completed(event.item or Message())
        elif kind == "turn_aborted":
            self._keep("interrupt", "", "", evidence="turn aborted")
        elif kind == "thread_rolled_back":
            self._roll_back(event.num_turns or 0)

    def _note_tokens(self, info: Raw) -> None:
        """Totals only grow and are repeated unchanged; what the parent of a fork used stands before the first own turn."""
        raw = bytes(info)
        if not raw or raw == self._info:
            return
        self._info = raw
        found = loose.decode_as(Info, raw)
        total = found.total_token_usage if found else None
        if total is None:
            return
        state = self.state
        before, state.tokens = state.tokens, total
        if state.inherited or total == before:
            return
        if total.input_tokens < before.input_tokens or total.output_tokens < before.output_tokens:
            before = Tokens()  # counted from the beginning again
        cached = max(0, total.cached_input_tokens - before.cached_input_tokens)
        written = max(0, total.cache_write_input_tokens - before.cache_write_input_tokens)
        taken = total.input_tokens - before.input_tokens
        spent = state.spent
        state.spent = Usage(
            answers=spent.answers + 1,
            fresh=spent.fresh + max(0, taken - cached - written),
            written=spent.written + written,
            cached=spent.cached + cached,
            output=spent.output + total.output_tokens - before.output_tokens,
        )

    def _completed(self, item: Message) -> None:
        if item.type == "UserMessage":
            self._ask("item", item.id or "", content_of(item.content))
        elif item.type == "AgentMessage" and not self._is_known(item.id):
            self._say("item", item.id or "", content_of(item.content), item.phase or "")

    def _is_known(self, ident: str | None) -> bool:
        """Whether an answer of this id came through another channel; then its text need not be decoded to see that."""
        if not ident:
            return False
        known = self.state.known
        if ident in known:
            return True
        if len(known) >= _KNOWN:
            known.clear()
        known[ident] = None
        return False

    def _item(self, item: Payload) -> None:
        kind = item.type or "(none)"
        if kind not in ITEMS:
            self._count_unknown(f"response_item/{kind}")
            return
        state = self.state
        if kind == "message" and item.role == "user" and not state.cwds:
            self._find_cwd(content_of(item.content))
        if state.inherited:
            state.seen.copied += 1
            return
        if kind == "message":
            if item.role == "assistant" and not self._is_known(item.id):
                self._say("response", item.id or "", content_of(item.content), item.phase or "")
            elif item.role == "user":
                self._echo(item)
        elif kind in CALLS:
            state.seen.calls += 1
            self._call(kind, item)
        elif kind in OUTPUTS:
            self._output(item)

    def _find_cwd(self, text: str) -> None:
        if cwd := cwd_in(text):
            self.state.cwds[cwd] = None

    def _ask(self, channel: str, ident: str, text: str) -> None:
        kind, words = read_request(text)
        if not self._is_new("ask", channel, words):
            return
        if kind == "injected":
            if words:
                self._keep("injected", ident, words[:2_000], evidence="injected")
            return
        self._place_request(self._request(ident, words, kind), self.state.asked)

    def _echo(self, item: Payload) -> None:
        if self.state.asked or self.state.rolled_back:
            # Another channel has the prompts: the echo adds nothing but injected text.
            self._later_echo(item)
            return
        text = content_of(item.content)
        kind, words = read_request(text)
        if kind == "injected":
            if words:
                self._keep("injected", item.id or "", words[:2_000], evidence="injected")
            return
        request = self._request(item.id or "", words, kind)
        self._place_request(request, self.state.echoed)

    def _request(self, ident: str, words: str, kind: TurnKind) -> Request:
        mark = ""
        if kind == "prompt" and len(self._marks) <= MARKS_KEPT:  # until there are more kinds than are kept
            mark = mark_of(words[:COMPARED])
            self._marks.add(mark)
        return Request(ident, words, self._now(), kind, kind == "prompt" and scheduled(words), mark)

    def _say(self, channel: str, ident: str, text: str, phase: str) -> None:
        text = text.strip()
        if not text:
            return
        if not self._is_new("say", channel, text):
            return
        self.state.seen.answers += 1
        self._keep("assistant", ident, text, evidence="commentary" if phase == "commentary" else "")

    def _is_new(self, what: str, channel: str, text: str) -> bool:
        """One prompt or answer comes through up to three channels, in any order: it was said as often as the channel
        that has it most often says it. Pictures are not compared, the channels name them differently."""
        if what == "ask" and "[image]" in text:
            text = text.replace("[image]", "").strip()
        key = f"{what}:{len(text)}:{crc32(text.encode('utf-8', 'surrogatepass')):x}"
        known = self.state.counts
        counts = known.get(key)
        if counts is None:
            if len(known) >= REMEMBERED:
                for old in list(islice(known, REMEMBERED // 2)):
                    del known[old]
            counts = known[key] = {}
        counts[channel] = counts.get(channel, 0) + 1
        if counts[channel] <= counts.get("", 0):
            return False
        counts[""] = counts[channel]
        return True

    def _roll_back(self, turns: int) -> None:
        state = self.state
        for _ in range(min(turns, len(state.asked))):
            state.asked.pop()
            state.rolled_back += 1
        # The channels of a turn end together, so the echoes to drop are the last ones too.
        for _ in range(min(turns, len(state.echoed))):
            state.echoed.pop()

    # -- what only turns need

    def _place_request(self, request: Request, channel: list[Request]) -> None:
        ident = request.id or f"#{len(channel) + 1 + self._rolled(channel) + self.state.said}"
        self._note_id(ident)
        channel.append(msgspec.structs.replace(request, id=ident, text=request.text[:400]))

    def _rolled(self, channel: list[Request]) -> int:
        return self.state.rolled_back if channel is self.state.asked else 0

    def _answer_ordinal(self) -> int:
        """Place of the newest answer among the session's own messages; rolled-back ones keep their numbers."""
        state = self.state
        asked = len(state.asked) + state.rolled_back
        return state.said + (asked or len(state.echoed))

    def _keep(
        self, kind: TurnKind, ident: str, text: str, *, evidence: str = "", tool: str = "", call: str = ""
    ) -> None:
        if kind == "assistant":
            self.state.said += 1
            self._note_id(ident)

    def _later_echo(self, item: Payload) -> None:
        """Facts have what they need."""

    def _call(self, kind: str, item: Payload) -> None:
        """Facts only count calls."""

    def _output(self, item: Payload) -> None:
        """Facts do not look at results."""

    def _note_id(self, ident: str) -> None:
        ids = self.state.ids
        if ident and not ident.startswith("#"):
            ids.append(ident)
            if len(ids) > 2 * UUIDS_KEPT:
                del ids[UUIDS_KEPT]

    # -- the end

    def kept_state(self) -> CodexState:
        """The state as it may be written down: without anybody's words."""
        state = self.state
        asked, echoed = (
            [msgspec.structs.replace(one, text=stand_in(one.text)) for one in channel]
            for channel in (state.asked, state.echoed)
        )
        return msgspec.structs.replace(state, title=as_token(state.title), asked=asked, echoed=echoed)

    def requests(self) -> list[Request]:
        """Prompts and commands once each. Response items echo them, mixed with injected text that nothing marks, so
        they are asked only when no other channel has any."""
        return self.state.asked if self.state.asked or self.state.rolled_back else self.state.echoed

    def facts(self, path: str) -> SessionFacts:
        state = self.state
        meta = state.meta or Meta()
        prompts = [request for request in self.requests() if request.kind == "prompt"]
        seen = msgspec.structs.replace(state.seen)
        seen.prompts = len(self.requests())
        seen.scheduled = sum(prompt.scheduled for prompt in prompts)
        seen.cwd = next(iter(state.cwds), "")
        seen.first_prompt = prompts[0].text[:200] if prompts else ""
        verdict = codex_driver(seen)
        title = clean_title(state.title)
        human = [] if verdict.driver in NOT_THE_PERSON else prompts
        ident = meta.id or meta.session_id or id_in(self._stem)
        parent = meta.parent
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
            first_prompt=words_or_nothing(" ".join(prompts[0].text.split())[:200]) if prompts else "",
            title="" if is_token(title) else title,
            titled=token_of(title),
            cwd=seen.cwd,
            cwds=tuple(state.cwds),
            branches=(state.branch,) if state.branch else (),
            remote=state.remote,
            started=state.started,
            ended=state.ended,
            lines=state.lines,
            bad_lines=state.bad,
            unknown=dict(state.unknown),
            agent_version=meta.cli_version,
            entrypoint=meta.originator,
            forked_from=meta.forked_from,
            uuids=tuple(dict.fromkeys(state.ids)),
            rolled_back=state.rolled_back,
            marks=kept_marks(prompt.mark or MORE for prompt in prompts),
            usage=state.spent,
        )
