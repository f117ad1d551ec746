"""The extractive distiller: a note made of sentences that were said, each found again in the condensed session."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vir_core.distil import cues
from vir_core.distil.candidates import Candidate, candidates_of, frequencies, words_of
from vir_core.distil.choosing import choose, outcome_of
from vir_core.distil.circumstances import context_of
from vir_core.distil.episodes import episodes_of, taken_back_in
from vir_core.distil.extract import Around, Extract, ExtractedLesson, Facts, NothingDurable
from vir_core.distil.naming import (
    closed,
    goal_title,
    heading_of,
    informative,
    label_of,
    lead_for,
    shorten,
    subjects,
    tidy_title,
    weak_label,
)
from vir_core.distil.sentences import plain, shown, units
from vir_core.transcripts.condense import Condensed, CondensedTurn

if TYPE_CHECKING:
    from vir_core.contract import Category

AROUND_BYTES = 2048


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
    candidates = [c for turn in turns for c in candidates_of(turn, turns, episodes, taken_back, frequent)]
    chosen = choose(candidates)
    if not chosen:
        return NothingDurable(reason="nothing established")

    goals = _goals(turns)
    outcome = outcome_of(candidates, episodes, chosen)
    title = _title(condensed, facts, goals, chosen, project_name)
    lessons = _lessons(chosen, turns)
    signals = _signals(turns, chosen, outcome, taken_back)
    return Extract(
        title=title,
        category=_category(chosen, turns),
        summary=_summary(goals, outcome, chosen),
        lessons=lessons,
        context=context_of(turns, facts),
        confidence=_confidence(signals),
        grounded=f"{len(lessons)} of {len(lessons)} lessons quote words found in the session",
        signals=signals,
    )


_ACK = re.compile(
    r"(?i)^(?:y(?:es|ep|eah)?|no|ok(?:ay)?|sure|continue|go(?: ahead| on)?|please|thanks?|do it|great|perfect|sounds good|lgtm|commit.*|push.*|hi|hello|test|ping|好的?|继续|可以|はい|ja|oui|sí|да)[\s.!,]*$"
)


def _goals(turns: tuple[CondensedTurn, ...]) -> list[str]:
    """What the person asked for, in order: the first thing of substance and later turns of direction."""
    found: list[str] = []
    for turn in turns:
        if turn.kind == "plan":
            heading = heading_of(turn.text)
            if heading:
                found.append(heading)
        elif turn.who == "you":
            text = turn.text.strip()
            if _ACK.match(text) or (text.startswith(("/", "<")) and " " not in text):
                continue
            text = _CONTROL.sub("", text)
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
        elif turn.kind == "command" and not found and len(turn.text.split()) > 1:
            found.append(turn.text.strip())
    return found


_CONTROL = re.compile(r"^(?:\[\[[^\]\n]*\]\]\s*)+")


def _summary(goals: list[str], outcome: Candidate | None, chosen: list[Candidate]) -> str:
    parts: list[str] = []
    if goals:
        parts.append(f"Asked: {closed(_goal_words(goals[0], 240))}")
        said = frozenset[str]().union(*(candidate.words for candidate in chosen))
        later = [
            (len(words_of(goal[:400]) & said), n, goal)
            for n, goal in enumerate(goals[1:])
            if informative(goal[:400]) and len(goal) >= 20
        ]
        if later and max(later)[0] >= 1:
            parts.append(f"Then: {closed(_goal_words(max(later)[2], 160))}")
    end = outcome or chosen[0]
    parts.append(f"Outcome: {closed(end.text)}")
    return " ".join(parts)


def _goal_words(goal: str, columns: int) -> str:
    """The first sentences of a prompt that fit."""
    words = ""
    for unit in units(goal):
        text = shown(goal, unit)
        if words and len(words) + len(text) > columns:
            break
        words = f"{words} {text}".strip()
        if len(words) >= 60:
            break
    return shorten(words or plain(goal.split("\n", 1)[0]), columns)


def _title(condensed: Condensed, facts: Facts, goals: list[str], chosen: list[Candidate], project_name: str) -> str:
    from vir_core.transcripts.scrub import scrub

    given = tidy_title(scrub(facts.title).text) if facts.title else ""
    if given and informative(given):
        return given
    plan = next((heading_of(turn.text) for turn in condensed.turns if turn.kind == "plan"), "")
    if plan:
        return tidy_title(plan)
    said = frozenset[str]().union(*(candidate.words for candidate in chosen))

    def about(title: str) -> int:
        return len(words_of(title) & said)

    done = [
        subject
        for subject in subjects(turn.text for turn in condensed.turns if turn.who == "command")
        if informative(subject)
    ]
    if done and len(done) <= 3:
        return tidy_title(max(done, key=about))
    # What was asked for names a session when the lessons speak of it. A question does not say what came of it, so a
    # short finding goes before it.
    asked = [(title, manner) for goal in goals[:6] for title, manner in (goal_title(goal),) if title]
    for manner, least, early in (("task", 1, 4), ("statement", 2, 1)):
        for title, how in asked[:early]:
            if how == manner and about(title) >= least:
                return title
    found = [title for candidate in chosen[:4] if (title := _finding(candidate))]
    for title in found:
        if len(title) <= 58:
            return title
    for title, _ in asked:
        if about(title) >= 1:
            return title
    if found or asked:
        return found[0] if found else asked[0][0]
    return (tidy_title(goals[0]) if goals else "") or f"Session in {project_name}"


_SUBJECT = re.compile(
    r"(?i)^(?:(?:fixed|done|found it|yes|no|summary|key insight|note|result)[.!:,]\s+)?(?:(?:now|so|and|but|also|however),?\s+)?"
    r"(?:(?:i|we)(?:'ve| have)?(?: also| now| just)?\s+(?=\w+ed\b|put\b|set\b|made\b|chose\b)|(?:the|this) (?:real |actual |root |main )?(?:issue|problem|root cause|fix|bug|reason|solution) (?:is|was)(?: that)?:?\s+)?"
)


def _finding(candidate: Candidate) -> str:
    """A lesson's first sentence as a title, or empty when it does not read as one."""
    if candidate.kind == "wish" or candidate.unit.form != "sentence":
        return ""
    sentence = re.split(r"(?<=[.!])\s+(?=\S)|(?<=[。！])", candidate.text, maxsplit=1)[0]
    sentence = _SUBJECT.sub("", sentence, count=1)
    if cues.DANGLING.match(sentence) or len(sentence) < 15:
        return ""
    title = tidy_title(sentence)
    return title if informative(title) else ""


def _lessons(chosen: list[Candidate], turns: tuple[CondensedTurn, ...]) -> tuple[ExtractedLesson, ...]:
    lessons: list[ExtractedLesson] = []
    taken: set[str] = set()
    for candidate in chosen:
        unit, turn = candidate.unit, candidate.turn
        quote = turn.text[unit.start : unit.end]
        text = candidate.text
        lead = ""
        if unit.form in ("item", "sentence"):
            label, rest = label_of(quote)
            if label and not weak_label(label) and len(quote) - rest >= 20:
                lead, text = label, plain(quote[rest:])
        if not lead and candidate.kind == "wish":
            lead = "You said" if turn.who == "you" else "You answered"
        if not lead:
            lead = lead_for(text, unit.heading, taken)
        taken.add(lead.strip("`"))
        lessons.append(
            ExtractedLesson(
                lead=lead,
                text=closed(text),
                turn_id=turn.id,
                quote=quote,
                at=turn.at,
                around=_around(turn, quote, turns),
            )
        )
    return tuple(lessons)


def _around(turn: CondensedTurn, quote: str, turns: tuple[CondensedTurn, ...]) -> tuple[Around, ...]:
    """The turns before and after the quoted one, and the words beside the quote in its own: 2 KB in all."""
    index = turn.n - 1
    beside = [_skip_results(turns, index, -1), turn, _skip_results(turns, index, +1)]
    budget = AROUND_BYTES - 200
    found: list[Around] = []
    for near in beside:
        if near is None:
            continue
        share = budget // 2 if near is turn else budget // 4
        text = near.text
        if near is turn:
            text = _window(text, quote, share)
        else:
            text = _fit(" ".join(text.split()), share)
        who = {"answer": "you", "note": "agent" if near.kind == "plan" else "you"}.get(near.who, near.who)
        found.append(Around(who=who, text=text, at=near.at))
    return tuple(found)


def _skip_results(turns: tuple[CondensedTurn, ...], index: int, step: int) -> CondensedTurn | None:
    i = index + step
    while 0 <= i < len(turns):
        if turns[i].who != "result" and turns[i].kind != "interrupt":
            return turns[i]
        i += step
    return None


def _fit(text: str, size: int) -> str:
    data = text.encode("utf-8")
    if len(data) <= size:
        return text
    return data[: size - 3].decode("utf-8", "ignore").rstrip() + "…"


def _window(text: str, quote: str, size: int) -> str:
    """The paragraph around a quote, cut to size."""
    at = text.find(quote)
    begin = max(0, text.rfind("\n\n", 0, at) + 2 if text.rfind("\n\n", 0, at) >= 0 else 0)
    if at - begin > 300:
        begin = at
    end = text.find("\n\n", at + len(quote))
    end = len(text) if end < 0 else end
    return _fit(" ".join(text[begin:end].split()), size)


def _category(chosen: list[Candidate], turns: tuple[CondensedTurn, ...]) -> Category:
    errors = sum(turn.who == "error" for turn in turns)
    weight: dict[str, float] = {"gotcha": 0.0, "decision": 0.0, "tool": 0.0}
    for n, candidate in enumerate(chosen):
        share = 1.0 / (1 + 0.3 * n)
        text = candidate.text
        if cues.CAUSE.search(text) and re.search(
            r"(?i)error|fail|bug|issue|problem|broken|crash|panic|wrong|missing|silent|leak|race|stale|hang|slow|timeout|cannot|can't|doesn't|错误|失败|问题|エラー|失敗|問題|fehler|problem|erreur|problème|falla|ошибк|проблем",
            text,
        ):
            weight["gotcha"] += share * (1.3 if errors else 1.0)
        if cues.DECISION.search(text) or candidate.kind == "wish":
            weight["decision"] += share * 0.9
        if candidate.kind == "run" or re.search(r"`[a-z][\w-]+ [^`]*`|`--[a-z]|--[a-z][\w-]+", text):
            weight["tool"] += share * 0.7
    best = max(weight, key=lambda name: weight[name])
    if weight[best] < 0.9:
        return "pattern"
    return "gotcha" if best == "gotcha" else "decision" if best == "decision" else "tool"


def _signals(
    turns: tuple[CondensedTurn, ...], chosen: list[Candidate], outcome: Candidate | None, taken_back: dict[int, float]
) -> dict[str, int]:
    spoken = [turn for turn in turns if turn.who in ("you", "answer")]
    confirmed = any(cues.CONFIRMS.search(turn.text) for turn in spoken[1:]) or any(
        turn.who == "command" and re.search(r"git commit|gh pr create", turn.text) for turn in turns
    )
    tail = [turn for turn in turns if turn.who != "result"]
    return {
        "lessons": len(chosen),
        "outcome": int(outcome is not None),
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
