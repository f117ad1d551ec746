"""Episodes of a session: from one thing the person said to the next, and what in them did not stand."""

from __future__ import annotations

import re

from msgspec import Struct

from vir_core.distil import cues
from vir_core.transcripts.condensing import CondensedTurn


class Episode(Struct, frozen=True):
    start: int
    end: int
    last_agent: int  # index of the last substantive agent turn, or -1
    reports: tuple[int, ...] = ()  # long agent turns close to it


def episodes_of(turns: tuple[CondensedTurn, ...]) -> list[Episode]:
    starts = [i for i, turn in enumerate(turns) if turn.who in ("you", "answer") or turn.kind == "plan"]
    if not starts or starts[0] != 0:
        starts.insert(0, 0)
    found: list[Episode] = []
    for n, start in enumerate(starts):
        end = starts[n + 1] if n + 1 < len(starts) else len(turns)
        spoken = [i for i in range(start, end) if turns[i].who == "agent" and len(turns[i].text) >= 40]
        reports = tuple(i for i in spoken[-4:-1] if len(turns[i].text) >= 350)
        found.append(Episode(start, end, spoken[-1] if spoken else -1, reports))
    return found


def taken_back_in(turns: tuple[CondensedTurn, ...], episodes: list[Episode]) -> dict[int, float]:
    """Indices of agent turns whose claims did not stand, with the penalty: 9 for taken back, 2 for doubted."""
    doubted: dict[int, float] = {}

    def doubt(i: int, penalty: float) -> None:
        doubted[i] = max(doubted.get(i, 0.0), penalty)

    def agents_before(i: int, back: int) -> list[int]:
        found: list[int] = []
        for j in range(i - 1, -1, -1):
            if turns[j].who == "agent":
                found.append(j)
                if len(found) == back:
                    break
            elif turns[j].who in ("you", "answer"):
                break
        return found

    for i, turn in enumerate(turns):
        opening = turn.text[:400]
        if turn.who == "you":
            first = re.split(r"(?<=[.!?。！？\n])\s*", opening.strip(), maxsplit=1)[0]
            if cues.PERSON_DISAGREES.search(first):
                for n, j in enumerate(agents_before(i, 2)):
                    doubt(j, 9.0 if n == 0 else 2.0)
            if i and turns[i - 1].kind == "interrupt":
                for j in agents_before(i - 1, 1):
                    doubt(j, 9.0)
        elif turn.kind == "refusal":
            for j in agents_before(i, 1):
                doubt(j, 9.0)
        elif turn.who == "agent":
            if cues.AGENT_TAKES_BACK.search(opening):
                # An apology answers the person: what stood before their words is what it takes back.
                before = i
                while before and turns[before].who != "you":
                    before -= 1
                earlier = agents_before(before, 1) if before and i - before <= 6 else agents_before(i, 1)
                for j in earlier:
                    doubt(j, 9.0)
            elif cues.FAILED_TRY.search(opening):
                for j in agents_before(i, 1):
                    doubt(j, 4.0)
    last = next((e.last_agent for e in reversed(episodes) if e.last_agent >= 0), -1)
    doubted.pop(last, None)
    return doubted


_PICKS = re.compile(
    r"(?i)^(?:(?:ok(?:ay)?|yes|yep|yeah|sure|let's|lets|please|i'd|i would|do|go|take|use|pick|choose|prefer|like|think|with|for|the|then|ja|oui|sí|да|nimm|wir nehmen|vamos con|давай|选|用|好的?)[\s,.!:]*)*"
    r"(?:(?:option|variant|approach|plan|choice|number|solution|variante|opción|вариант|方案|选项)\s*|no\. ?|#)?(?P<label>[A-H]|[1-9])(?=[\s.,;:!)]|$)(?!\s+(?:more|few|bit|lot|new|second|minute|small|test|file|thing))"
)
_AGREES = re.compile(
    r"(?i)^(?:y(?:es|ep|eah)?|sure|ok(?:ay)?|do (?:it|that)|go (?:ahead|for it)|please do|sounds good|perfect|great|agreed|lgtm|ja|oui|sí|да|好的?|可以|はい)\b.{0,40}$"
)


def accepted_in(turns: tuple[CondensedTurn, ...]) -> dict[int, str]:
    """Indices of agent turns whose proposal the person took up next, with the label of the option they named, or
    nothing when they just agreed."""
    found: dict[int, str] = {}
    for i, turn in enumerate(turns):
        if turn.who not in ("you", "answer") or turn.kind == "refusal":
            continue
        text = turn.text.strip()
        before = next((j for j in range(i - 1, -1, -1) if turns[j].who in ("agent", "you", "answer")), -1)
        if before < 0 or turns[before].who != "agent":
            continue
        picked = _PICKS.match(text) if len(text) <= 240 else None
        # A bare `a` is an article.
        if picked and (picked["label"].isupper() or picked["label"].isdigit()):
            found[before] = picked["label"]
        elif _AGREES.match(text.split("\n", 1)[0]):
            found[before] = ""
    return found


_OPTION = re.compile(
    r"(?i)^\W*(?:option|variant|approach|plan|solution|variante|opción|вариант|方案|选项)?\s*\W{0,2}([A-H]|[1-9])\s*(?:[).:：]|[—–-]\s|\*\*)"
)


def option_of(source: str) -> str:
    """The label of an option that a line opens with."""
    match = _OPTION.match(source)
    return match.group(1).upper() if match else ""
