"""The extractive distiller: a note made of sentences that were said, each found again in the condensed session."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import structs

from vir_core.distil import cues
from vir_core.distil.candidates import Candidate, candidates_of, frequencies, named, words_of
from vir_core.distil.choosing import choose, closing_of, outcome_of
from vir_core.distil.circumstances import context_of
from vir_core.distil.episodes import accepted_in, episodes_of, taken_back_in
from vir_core.distil.extract import Around, Extract, ExtractedLesson, Facts, NothingDurable
from vir_core.distil.fates import Fates, fates_of
from vir_core.distil.leads import capitalised, lead_and_text, lead_of_wish
from vir_core.distil.naming import closed, heading_of, informative, shorten
from vir_core.distil.sentences import Unit, plain, shown, units
from vir_core.distil.superseding import GONE, superseded
from vir_core.distil.titles import title_of
from vir_core.transcripts.condensing import Condensed, CondensedTurn

if TYPE_CHECKING:
    from collections import Counter

    from vir_core.contract import Category

AROUND_BYTES = 2048
AROUND_CHARS = 300


def extract_from(condensed: Condensed, facts: Facts, project_name: str) -> Extract | NothingDurable:
    """What `extract` answers."""
    turns = condensed.turns
    episodes = episodes_of(turns)
    if not any(turn.who == "agent" for turn in turns):
        return NothingDurable(reason="no answer")
    if not any(turn.who in ("you", "answer") or turn.kind == "plan" for turn in turns) and not any(
        turn.who == "command" for turn in turns
    ):
        return NothingDurable(reason="nothing asked")

    taken_back = taken_back_in(turns, episodes)
    frequent = frequencies(turns)
    fates = fates_of(turns)
    accepted = accepted_in(turns)
    found = [c for turn in turns for c in candidates_of(turn, turns, episodes, taken_back, frequent, accepted)]
    later = superseded(found, turns, fates)
    candidates = [
        structs.replace(c, score=c.score - later[n], retracted=c.retracted or later[n] >= GONE) if n in later else c
        for n, c in enumerate(found)
    ]
    chosen = choose(candidates)
    if not chosen:
        return NothingDurable(reason="nothing established")

    goals = _goals(turns)
    closing = closing_of(candidates, episodes)
    outcome = outcome_of(closing, chosen)
    title = title_of(turns, facts, goals, chosen, project_name)
    lessons = _lessons(chosen, turns, named(turns), fates)
    signals = _signals(turns, chosen, closing, taken_back)
    return Extract(
        title=title,
        category=_category(chosen, goals, turns),
        summary=_summary(goals, outcome, chosen),
        lessons=lessons,
        context=context_of(turns, facts, [candidate.words for candidate in chosen], fates),
        confidence=_confidence(signals),
        grounded=f"{len(lessons)} of {len(lessons)} lessons quote words found in the session",
        signals=signals,
    )


_ACK = re.compile(
    r"(?i)^(?:y(?:es|ep|eah)?|no|ok(?:ay)?|sure|continue|go(?: ahead| on)?|please|thanks?|do it|great|perfect|sounds good|lgtm|commit.*|push.*|hi|hello|test|ping|好的?|继续|可以|はい|ja|oui|sí|да)[\s.!,]*$"
)


def _goals(turns: tuple[CondensedTurn, ...]) -> list[str]:
    """What the person asked for, in order: the first thing of substance and later turns of direction. A command they
    typed is a goal only where nothing else is."""
    found: list[str] = []
    commands: list[str] = []
    for turn in turns:
        if turn.kind == "plan":
            heading = heading_of(turn.text)
            if heading:
                found.append(heading)
        elif turn.who == "you":
            text = _CONTROL.sub("", turn.text.strip())
            if _ACK.match(text) or (text.startswith(("/", "<")) and " " not in text):
                continue
            if (
                found
                and (
                    cues.PERSON_DISAGREES.search(text)
                    or re.match(r"(?i)^(?:hm+|ok(?:ay)?|sure|yes|yeah|cool|great|nice|and|but|so)\b", text)
                )
                and len(text) < 60
            ):
                continue
            found.append(text)
        elif turn.kind == "command" and len(turn.text.split()) > 1 and not turn.text.lstrip().startswith("!"):
            commands.append(turn.text.strip())
    return found or commands[:1]


_CONTROL = re.compile(r"^(?:\[\[[^\]\n]*\]\]\s*)+")


def _summary(goals: list[str], outcome: Candidate | None, chosen: list[Candidate]) -> str:
    """What was asked, what changed the direction, how it ended: each only when it says what no lesson says."""
    parts: list[str] = []
    if goals:
        parts.append(f"Asked: {closed(_goal_words(goals[0], SUMMARY_WIDTH))}")
        if then := _then(goals, chosen):
            parts.append(f"Then: {closed(_FILLER.sub('', then))}")
    if outcome or not parts:
        parts.append(f"Outcome: {closed((outcome or chosen[0]).text)}")
    return " ".join(parts)


_ORDER = re.compile(
    r"(?i)^(?:(?:but|and|also|now|so|then|ok(?:ay)?|please|actually|instead|no|yes|sure|alright|cool|great|can you|could you|could we|can we|let's|let us|i want you to|i'd like you to|i want to|we should|we need to)[,.! ]+)*"
    r"(?:also |just |please )*(?:add|use|make|move|remove|rename|replace|keep|drop|put|change|convert|write|skip|split|support|handle|ignore|allow|set|switch|bump|include|exclude|document|test|store|show|log|fix|implement|investigate|update|create|extend|refactor|only|never|always|don't|do not)\b"
)


_OUGHT = re.compile(r"(?i)\b(?:should|must|has to|have to|needs? to|soll(?:te)?|muss|doit|debe)\b|должн|нужно")


def _then(goals: list[str], chosen: list[Candidate]) -> str:
    """The later sentence of the person that turned the work most: a constraint, or a new thing to do, on what the
    lessons speak of. What is a lesson already is not said twice, nor agreement at all."""
    said = frozenset[str]().union(*(candidate.words for candidate in chosen))
    first = words_of(goals[0][:400])
    best: tuple[float, str] = (0.0, "")
    for goal in goals[1:]:
        if len(goal) > 1500:  # pasted
            continue
        for unit in units(goal)[:12]:
            text = shown(goal, unit)
            words = words_of(text)
            cjk = sum(ord(char) > 0x2E80 for char in text)
            if (
                len(text) + cjk < 24
                or goal[unit.start : unit.end].count("\n") > 1
                or re.match(r"(?i)^(?:i|we) (?:don't|can't|didn't|do not|did not|cannot) (?!want|use|need)", text)
                or len(text) > 200
                or not informative(text)
                or (text.endswith(("?", "？", "right")) and not _ORDER.match(text))
                or any(len(words & c.words) >= 0.6 * len(words) for c in chosen if words)
                or len(words & first) >= 0.6 * len(words)
                or cues.DANGLING.match(text)
                or cues.PERSON_DISAGREES.search(text)
            ):
                continue
            value = 1.0 * bool(_ORDER.match(text) or _OUGHT.search(text) or cjk > 4) + 1.0 * bool(
                cues.RULE.search(text)
            )
            if value:
                value += 0.4 * min(len(words & said), 4)
            if value >= 1.4 and value > best[0]:
                best = (value, text)
    return best[1]


# What a bug tracker writes beside a report.
_METADATA = re.compile(
    r"(?i)^(?:(?:low|medium|high|critical|minor|major|trivial|blocker) (?:severity|priority|risk)|(?:severity|priority|status|type|labels?|assignees?|reporter|reported by|component|milestone|created|updated|version|environment|additional locations?)\s*[:(].{0,60}|p[0-4]|#\d+|fix in (?:cursor|web).*|description start|locations?(?: \d+)?)\W*$"
)
SUMMARY_WIDTH = 200


def _goal_words(goal: str, columns: int) -> str:
    """The first sentences of a prompt that fit. Lines that are no hard-wrapped paragraph are sentences of their own."""
    words = ""
    for sentence in _sentences_of(goal):
        whole = closed(sentence)
        if words and (sentence.count('"') % 2 or sentence.count("“") != sentence.count("”")):
            break
        if words and len(words) + 1 + len(whole) > columns:
            break
        words = f"{words} {whole}".strip()
        if len(words) >= 60:
            break
    return shorten(words or plain(goal.split("\n", 1)[0]), columns)


def _sentences_of(goal: str) -> list[str]:
    found: list[str] = []
    text = _unwrapped(goal)[:4000]
    for unit in units(text):
        found.append(shown(text, unit))
        if len(found) == 12:
            break
    return found


def _unwrapped(goal: str) -> str:
    """The prompt with a blank line between lines that do not run on, and without the marks of a bug tracker."""
    lines = [line for line in goal.split("\n")[:60] if not _METADATA.match(line.strip())]
    out: list[str] = []
    fenced = False
    for line in lines:
        previous = out[-1].strip() if out else ""
        fence = line.lstrip().startswith(("```", "~~~"))
        runs_on = len(previous) >= 56 and not previous.endswith((".", "!", "?", ":", ";", "。", "！", "？", "："))
        if not fenced and previous and line.strip() and not line.strip()[0].islower() and not runs_on:
            out.append("")
        fenced ^= fence
        out.append(line)
    return "\n".join(out)


# How a person's sentence hangs on the one before it.
# A bare `no` is no filler: without it the sentence says the opposite.
_FILLER = re.compile(
    r"(?i)^(?:(?:and|but|so(?! that| much| many)|also|und|aber|et|mais|y|pero|и|а|но),? +|(?:ok(?:ay)?|sure|alright|right|yes|yeah|great|good|cool|hm+|well|gut|ja|oui|sí|да)\s*[,.!]+ +)+(?=\S)"
)


def _lessons(
    chosen: list[Candidate], turns: tuple[CondensedTurn, ...], topic: Counter[str], fates: Fates
) -> tuple[ExtractedLesson, ...]:
    lessons: list[ExtractedLesson] = []
    taken: set[str] = set()
    for candidate in chosen:
        unit, turn = candidate.unit, candidate.turn
        quote = turn.text[unit.start : unit.end]
        if candidate.kind == "wish":
            lead, text = lead_of_wish(candidate.text), _FILLER.sub("", candidate.text)
        else:
            lead, text = lead_and_text(quote, candidate.text, unit.form, unit.heading, taken, topic)
            taken.add(lead.strip("`"))
        lessons.append(
            ExtractedLesson(
                lead=lead,
                text=capitalised(closed(text)),
                turn_id=turn.id,
                quote=quote,
                at=turn.at,
                around=_around(turn, unit, turns, fates),
            )
        )
    return tuple(lessons)


def _around(turn: CondensedTurn, unit: Unit, turns: tuple[CondensedTurn, ...], fates: Fates) -> tuple[Around, ...]:
    """The turns before and after the quoted one, and what its own says beside the quote, if anything: 2 KB in all. A
    call that was refused is no evidence of anything."""
    index = turn.n - 1
    own = _beside(turn, unit)
    beside = [(_neighbour(turns, index, -1, fates), ""), (turn, own), (_neighbour(turns, index, +1, fates), "")]
    found: list[Around] = []
    for near, text in beside:
        if near is None or (near is turn and not text):
            continue
        who = {"answer": "you", "note": "agent" if near.kind == "plan" else "you"}.get(near.who, near.who)
        if near is not turn:
            text = near.text if near.who in ("command", "error") else _prose(near.text)
        found.append(Around(who=who, text=_fit(_ended(" ".join(text.split())), AROUND_BYTES // 4), at=near.at))
    return tuple(found)


def _neighbour(turns: tuple[CondensedTurn, ...], index: int, step: int, fates: Fates) -> CondensedTurn | None:
    i = index + step
    while 0 <= i < len(turns):
        if turns[i].who != "result" and turns[i].kind != "interrupt" and i not in fates.refused:
            return turns[i]
        i += step
    return None


_LINE_MARK = re.compile(r"(?m)^[ \t]*(?:#{1,6}[ \t]+|[-*+][ \t]+|>[ \t]?)")


def _prose(text: str) -> str:
    """What was said without emphasis, headings, bullets and fences."""
    return plain(_LINE_MARK.sub("", re.sub(r"(?m)^[ \t]*(?:```|~~~).*$", "", text)))


def _beside(turn: CondensedTurn, unit: Unit) -> str:
    """The sentences before and after the quote in its own paragraph; `…` stands for the quote."""
    text = turn.text
    begin = max(text.rfind("\n\n", 0, unit.start) + 2, 0) if "\n\n" in text[: unit.start] else 0
    end = text.find("\n\n", unit.end)
    before = _prose(text[begin : unit.start])
    after = _prose(text[unit.end : end if end >= 0 else len(text)])
    if len(before) > AROUND_CHARS // 2:
        cut = [m.end() for m in re.finditer(r"[.!?。！？][\"')»”]*\s+|[。！？]", before)]
        before = next((before[at:] for at in cut if len(before) - at <= AROUND_CHARS // 2), "")
    if sum(char.isalnum() for char in before + after) < 12:
        return ""
    return " ".join(part for part in (before, "…", after) if part)


def _ended(text: str) -> str:
    """At most `AROUND_CHARS` characters, ended with a sentence where one ends."""
    if len(text) <= AROUND_CHARS:
        return text
    head = text[: AROUND_CHARS + 1]
    ends = [m.end() for m in re.finditer(r"[.!?][\"')»”]*(?=\s)|[。！？]", head)]
    if ends and ends[-1] >= AROUND_CHARS // 3:
        return text[: ends[-1]]
    cut = head[: AROUND_CHARS - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[AROUND_CHARS // 2 :] else cut).rstrip() + "…"


def _fit(text: str, size: int) -> str:
    data = text.encode("utf-8")
    if len(data) <= size:
        return text
    return data[: size - 3].decode("utf-8", "ignore").rstrip() + "…"


_TROUBLE = re.compile(
    r"(?i)error|fail|bug|issue|problem|broken|break|crash|panic|wrong|missing|silent|leak|race|stale|hang|hung|slow|timeout|deadlock|flaky|refus|corrupt|cannot|can't|doesn't|never sees|\b[45]\d\d\b|oom|dies\b|错误|失败|问题|误|エラー|失敗|問題|fehler|problem|neu gestartet|bricht|erreur|problème|échoue|falla|ошибк|проблем|падает"
)


def _category(chosen: list[Candidate], goals: list[str], turns: tuple[CondensedTurn, ...]) -> Category:
    """What most of the lessons are, the first of them counting most. A cause named for trouble that the person came with
    is a gotcha, whatever words it is named in."""
    errors = sum(turn.who == "error" for turn in turns)
    came_with_trouble = bool(goals) and bool(_TROUBLE.search(goals[0][:600]))
    weight: dict[str, float] = {"gotcha": 0.0, "decision": 0.0, "tool": 0.0}
    for n, candidate in enumerate(chosen):
        share = 1.0 / (1 + 0.3 * n)
        text = candidate.text
        if candidate.kind == "cause" or candidate.blames:
            if _TROUBLE.search(text):
                weight["gotcha"] += share * (1.3 if errors else 1.0)
            elif came_with_trouble:
                weight["gotcha"] += share * 0.8
        if cues.DECISION.search(text) or candidate.kind == "wish":
            weight["decision"] += share * 0.9
        if candidate.kind == "run" or re.search(r"`[a-z][\w-]+ [^`]*`|`--[a-z]|--[a-z][\w-]+", text):
            weight["tool"] += share * 0.7
    best = max(weight, key=lambda name: weight[name])
    if weight[best] < 0.9:
        return "pattern"
    return "gotcha" if best == "gotcha" else "decision" if best == "decision" else "tool"


def _signals(
    turns: tuple[CondensedTurn, ...], chosen: list[Candidate], closing: list[Candidate], taken_back: dict[int, float]
) -> dict[str, int]:
    spoken = [turn for turn in turns if turn.who in ("you", "answer")]
    confirmed = any(cues.CONFIRMS.search(turn.text) for turn in spoken[1:]) or any(
        turn.who == "command" and re.search(r"git commit|gh pr create", turn.text) for turn in turns
    )
    tail = [turn for turn in turns if turn.who != "result"]
    return {
        "lessons": len(chosen),
        "outcome": int(bool(closing)),
        "confirmed": int(confirmed),
        "causes": sum(candidate.kind == "cause" for candidate in chosen),
        "wishes": sum(candidate.kind == "wish" for candidate in chosen),
        "taken_back": sum(penalty >= 9 for penalty in taken_back.values()),
        "broken_off": int(
            bool(tail) and (tail[-1].who == "error" or tail[-1].kind == "interrupt" or tail[-1].who == "command")
        ),
        "turns": len(turns),
    }


def _confidence(signals: dict[str, int]) -> float:
    value = 0.35 + 0.05 * min(signals["lessons"], 5)
    value += 0.15 * signals["outcome"] + 0.10 * signals["confirmed"] + 0.05 * min(signals["causes"], 1)
    value -= 0.10 * min(signals["taken_back"], 2) + 0.10 * signals["broken_off"]
    return round(min(0.85, max(0.10, value)), 2)
