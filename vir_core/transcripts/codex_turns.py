"""The turns of a Codex rollout."""

from __future__ import annotations

import msgspec

from vir_core.text import clean
from vir_core.transcripts import loose
from vir_core.transcripts.codex import CodexFacts, Request
from vir_core.transcripts.codex_lines import Payload, content_of, read_request
from vir_core.transcripts.provenance import NOT_THE_PERSON
from vir_core.transcripts.session import SessionFacts
from vir_core.transcripts.tools import call_text, output_text, patch_text
from vir_core.transcripts.turns import HUMAN_PROMPTS, Turn, TurnKind


class CodexTurns(CodexFacts):
    """The facts of a rollout, and its turns."""

    _keeps_results = True

    def __init__(self, stem: str) -> None:
        super().__init__(stem)
        self._turns: list[tuple[str, Turn]] = []  # channel (asked, echoed or empty), turn
        self._tools: dict[str, str] = {}
        self._taken: dict[str, int] = {}

    def turns(self, facts: SessionFacts) -> tuple[Turn, ...]:
        channel = "asked" if self.state.asked or self.state.rolled_back else "echoed"
        kept = [turn for where, turn in self._turns if where in ("", channel)]
        if facts.driver in NOT_THE_PERSON:
            kept = [msgspec.structs.replace(turn, kind="task") if turn.kind in HUMAN_PROMPTS else turn for turn in kept]
        return tuple(kept)

    def _place_request(self, request: Request, channel: list[Request]) -> None:
        super()._place_request(request, channel)
        turn = Turn(id=channel[-1].id, kind=request.kind, text=request.text, at=request.at)
        self._turns.append(("asked" if channel is self.state.asked else "echoed", turn))

    def _keep(
        self, kind: TurnKind, ident: str, text: str, *, evidence: str = "", tool: str = "", call: str = ""
    ) -> None:
        super()._keep(kind, ident, text, evidence=evidence, tool=tool, call=call)
        ident = ident or (
            f"#{self._answer_ordinal()}"
            if kind == "assistant"
            else f"{kind}:{call or self.state.lines}:{len(self._turns)}"
        )
        n = self._taken[ident] = self._taken.get(ident, 0) + 1
        if n > 1:
            ident = f"{ident}:{n}"
        turn = Turn(id=ident, kind=kind, text=text, at=self._now(), tool=tool, call=call, evidence=evidence)
        self._turns.append(("", turn))

    def _later_echo(self, item: Payload) -> None:
        kind, words = read_request(content_of(item.content))
        if kind == "injected" and words:
            self._keep("injected", item.id or "", words[:2_000], evidence="injected")

    def _call(self, kind: str, item: Payload) -> None:
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

    def _output(self, item: Payload) -> None:
        # Lists of blocks may hold pictures; a text or an object is decoded whole.
        listed = bytes(memoryview(item.output)[:1]) == b"["
        value = loose.text_in(item.output) if listed else loose.value_of(item.output) if len(item.output) else ""
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
