"""A session made small: what was asked, said, run and what failed. This is the only text a distiller sees."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from vir_core.transcripts.turns import Turn, TurnKind

if TYPE_CHECKING:
    from collections.abc import Sequence

Who = Literal["you", "agent", "command", "error", "result", "answer", "note"]

# Caps in characters. A pasted log or file is cut in the middle: people put the question before or after it.
PROMPT_CAP = 6_000
AGENT_CAP = 8_000
PLAN_CAP = 12_000
COMMAND_CAP = 600
ERROR_CAP = 1_200
TOTAL_CAP = 240_000
FENCE_LINES = 14

CUT = "[…]"


class CondensedTurn(Struct, frozen=True, kw_only=True):
    """One turn as a distiller sees it. `n` counts from 1; `id` is the turn's own id; `kind` is what it was in the
    transcript, `who` what a reader is shown; `tool` names what ran."""

    n: int
    id: str
    who: Who
    text: str
    at: str = ""
    kind: TurnKind = "assistant"
    tool: str = ""


class Condensed(Struct, frozen=True, kw_only=True):
    """`text` holds every turn's text verbatim under a line `[n who]`; a quote lies inside one turn. `removed` counts what
    is not here, by reason: turns dropped as `injected` or `over total`, `results` stubbed, `characters` cut, and
    `secret`, `email`, `home` … replaced."""

    turns: tuple[CondensedTurn, ...]
    text: str
    removed: dict[str, int]


class HasTurns(Protocol):
    @property
    def turns(self) -> Sequence[Turn]: ...


_WHO: dict[TurnKind, Who] = {
    "prompt": "you",
    "queued": "you",
    "answer": "answer",
    "refusal": "you",
    "command": "note",
    "plan": "note",
    "interrupt": "note",
    "assistant": "agent",
    "tool_call": "command",
    "tool_result": "result",
    "task": "note",
    "error": "error",
}
_KEPT_WHOLE: frozenset[Who] = frozenset({"you", "answer", "note"})


def condense(transcript: HasTurns) -> Condensed:
    """Strip, trim and then scrub one session. Deterministic: the same turns give the same text, byte for byte."""
    removed: dict[str, int] = {}

    def count(reason: str, n: int = 1) -> None:
        if n:
            removed[reason] = removed.get(reason, 0) + n

    kept: list[CondensedTurn] = []
    for turn in transcript.turns:
        who = _WHO.get(turn.kind)
        if who is None:
            count(turn.kind)
            continue
        text = _trimmed(turn)
        if not text:
            count("empty")
            continue
        if turn.kind == "tool_result":
            count("results")
        else:
            count("characters", max(0, len(turn.text) - len(text)))
        kept.append(CondensedTurn(n=0, id=turn.id, who=who, text=text, at=turn.at, kind=turn.kind, tool=turn.tool))

    within, dropped = _within_total(kept)
    count("over total", dropped)
    from vir_core.transcripts.scrub import scrub_all

    texts, found = scrub_all(tuple(turn.text for turn in within))
    for kind, n in found.items():
        count(kind, n)
    turns = tuple(
        CondensedTurn(n=n, id=turn.id, who=turn.who, text=text, at=turn.at, kind=turn.kind, tool=turn.tool)
        for n, (turn, text) in enumerate(zip(within, texts, strict=True), 1)
    )
    return Condensed(
        turns=turns,
        text="\n\n".join(f"[{turn.n} {turn.who}]\n{turn.text}" for turn in turns),
        removed=dict(sorted(removed.items())),
    )


def _trimmed(turn: Turn) -> str:
    text = turn.text.replace("\r\n", "\n").replace("\r", "\n").replace("\x1e", " ").strip()
    if turn.kind == "tool_result":
        lines = text.count("\n") + 1
        return f"({lines} lines)" if text and lines > 1 else "(1 line)" if text else ""
    if turn.kind == "interrupt":
        return "[interrupted]"
    if turn.kind in ("assistant", "plan"):
        return _cut(_short_fences(text), PLAN_CAP if turn.kind == "plan" else AGENT_CAP)
    if turn.kind == "tool_call":
        return _cut(text, COMMAND_CAP)
    if turn.kind == "error":
        return _cut(text, ERROR_CAP)
    return _cut(text, PROMPT_CAP)


def _cut(text: str, cap: int) -> str:
    """The head and the tail of a long text, cut at line ends where one is near."""
    if len(text) <= cap:
        return text
    head = text[: cap * 2 // 3]
    tail = text[-(cap // 3) :]
    if (end := head.rfind("\n")) > len(head) * 3 // 4:
        head = head[:end]
    if 0 <= (start := tail.find("\n")) < len(tail) // 4:
        tail = tail[start + 1 :]
    return f"{head.rstrip()}\n{CUT}\n{tail.lstrip()}"


_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")


def _short_fences(text: str) -> str:
    """Code blocks keep their first and last lines; the code itself lies in the repository."""
    if "```" not in text and "~~~" not in text:
        return text
    out: list[str] = []
    block: list[str] | None = None
    mark = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if block is None:
            out.append(line)
            if match:
                block, mark = [], match.group(1)
        elif match and line.strip().startswith(mark) and not line.strip().strip(mark[0]):
            out.extend(_short(block))
            out.append(line)
            block = None
        else:
            block.append(line)
    if block is not None:
        out.extend(_short(block))
    return "\n".join(out)


def _short(block: list[str]) -> list[str]:
    if len(block) <= FENCE_LINES:
        return block
    return [*block[: FENCE_LINES - 4], CUT, *block[-3:]]


def _within_total(turns: list[CondensedTurn]) -> tuple[list[CondensedTurn], int]:
    """All of the person's turns, and the head and tail of the rest: beginnings hold the problem, ends the outcome."""
    total = sum(len(turn.text) for turn in turns)
    if total <= TOTAL_CAP:
        return turns, 0
    budget = TOTAL_CAP - sum(len(turn.text) for turn in turns if turn.who in _KEPT_WHOLE)
    others = [i for i, turn in enumerate(turns) if turn.who not in _KEPT_WHOLE]
    keep: set[int] = set()
    for order, share in ((others, budget * 3 // 10), (others[::-1], budget * 7 // 10)):
        for i in order:
            share -= len(turns[i].text)
            if share < 0:
                break
            keep.add(i)
    within = [turn for i, turn in enumerate(turns) if turn.who in _KEPT_WHOLE or i in keep]
    return within, len(turns) - len(within)
