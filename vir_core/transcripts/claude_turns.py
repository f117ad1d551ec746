"""The turns of a Claude Code transcript."""

from __future__ import annotations

import msgspec

from vir_core.text import clean
from vir_core.transcripts import loose
from vir_core.transcripts.claude import ClaudeFacts
from vir_core.transcripts.claude_lines import (
    Attachment,
    Block,
    Message,
    Record,
    block_text,
    blocks_of,
    read_user_text,
    without_injected,
)
from vir_core.transcripts.provenance import NOT_THE_PERSON
from vir_core.transcripts.session import SessionFacts
from vir_core.transcripts.stamps import utc
from vir_core.transcripts.tools import call_text, result_text, spilled_to
from vir_core.transcripts.turns import HUMAN_PROMPTS, LEFT_BRANCH, Turn, TurnKind

INJECTED_CAP = 2_000
"""Characters kept of injected text: nobody distils it, a reader may want to see what it was."""


class ClaudeTurns(ClaudeFacts):
    """The facts of a file, and its turns."""

    _keeps_results = True

    def __init__(self, layout: str, stem: str, folder_session: str) -> None:
        super().__init__(layout, stem, folder_session)
        self._turns: list[tuple[bool, Turn]] = []
        self._tools: dict[str, str] = {}
        self._message = ""
        self._spoken: set[tuple[str, int]] = set()
        self._ids: dict[str, int] = {}
        self._retracted: set[str] = set()
        self._asked_after: dict[str, int] = {}
        self._left: list[tuple[int, int]] = []

    def turns(self, facts: SessionFacts) -> tuple[Turn, ...]:
        """Turns of the main thread in file order; of a subagent's file all of them. What reads like a prompt in a file
        no person drove is a task."""
        late = self._late_queued()
        rows = list(self._turns)
        for begin, end in self._left:
            for n in range(begin, end):
                side, turn = rows[n]
                rows[n] = (side, msgspec.structs.replace(turn, evidence=LEFT_BRANCH))
        for queued in reversed(late):
            turn = Turn(id=queued.id, kind="queued", text=queued.text, at=queued.at, evidence="typed while busy")
            rows.insert(queued.place, (queued.side, turn))
        whole = facts.driver in ("subagent", "workflow", "compaction")
        kept = [turn for side, turn in rows if whole or not side]
        if self._retracted:
            kept = [turn for turn in kept if turn.kind != "assistant" or turn.id not in self._retracted]
        if facts.driver in NOT_THE_PERSON:
            kept = [_as_task(turn) for turn in kept]
        return tuple(kept)

    def _turns_so_far(self) -> int:
        return len(self._turns)

    def _kept_words(self, text: str) -> str:
        return text

    def _keep(self, record: Record, side: bool, kind: TurnKind, text: str, *, evidence: str = "") -> None:
        if kind == "injected":
            text = text[:INJECTED_CAP]
        elif kind == "interrupt" and self._turns and self._turns[-1][1].kind == "interrupt":
            return  # a refused call and the line that says so are one
        elif kind == "prompt" and not side and record.parentUuid:
            self._note_branch(record.parentUuid)
        self._add(record, side, kind, text, evidence=evidence)

    def _note_branch(self, parent: str) -> None:
        """Two prompts after one record: the person went back and asked otherwise, and what stands between was left. Only
        prompts tell: calls made at once have one parent too."""
        now = len(self._turns)
        if (first := self._asked_after.get(parent)) is not None:
            self._left.append((first, now))
        self._asked_after[parent] = now

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
        ident = record.uuid or f"#{self.state.records}"
        n = self._ids[ident] = self._ids.get(ident, 0) + 1
        if n > 1:
            ident = f"{ident}:{n}"
        turn = Turn(id=ident, kind=kind, text=text, at=utc(record.timestamp), tool=tool, call=call, evidence=evidence)
        self._turns.append((side, turn))
        self._message = ""

    def _system(self, record: Record) -> None:
        super()._system(record)
        if len(record.retractedMessageUuids):
            # The model took these answers back; the file keeps them.
            retracted = loose.sequence(loose.value_of(record.retractedMessageUuids))
            self._retracted.update(uuid for uuid in retracted if isinstance(uuid, str))

    def _assistant(self, record: Record, message: Message, side: bool) -> None:
        super()._assistant(record, message, side)
        if record.isApiErrorMessage or message.model == "<synthetic>":
            return
        for block in blocks_of(message):
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
        words = not side and self._may_hold_words(record)
        for block in blocks_of(record.message):
            if block.type == "tool_result":
                self._result(record, side, block, words=words)
            elif text := block_text(block).strip():
                said = read_user_text(clean(text))
                # A text beside a result is the interface speaking, but for the interrupt.
                self._keep(record, side, said.kind if said.kind == "interrupt" else "injected", said.text)

    def _result(self, record: Record, side: bool, block: Block, *, words: bool) -> None:
        call = block.tool_use_id or ""
        tool = self._tools.get(call, "")
        if words and (given := self._count_words(record, block)):
            kind, text = given
            self._add(record, side, kind, text, tool=tool, call=call)
            return
        text = without_injected(clean(loose.text_in(block.content))).strip()
        shown, failed = result_text(text)
        kind: TurnKind = "error" if failed or block.is_error else "tool_result"
        spilled = spilled_to(text)
        self._add(record, side, kind, shown, tool=tool, call=call, evidence=f"whole in {spilled}" if spilled else "")

    def _injected_attachment(self, record: Record) -> None:
        found = loose.decode_as(Attachment, record.attachment)
        if found is None or not len(found.content):
            return
        text = clean(loose.text_in(found.content)).strip()
        if text:
            self._keep(record, record.isSidechain is True, "injected", text, evidence=found.type or "attachment")


def _as_task(turn: Turn) -> Turn:
    return msgspec.structs.replace(turn, kind="task") if turn.kind in HUMAN_PROMPTS else turn
