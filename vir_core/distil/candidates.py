"""Candidates: the sentences of a session that could be lessons, with a score for what they say and where they stand."""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct

from vir_core.distil import cues
from vir_core.distil.episodes import Episode, option_of
from vir_core.distil.naming import identifiers
from vir_core.distil.sentences import LONGEST, Unit, plain, shown, units
from vir_core.transcripts.condensing import CUT, CondensedTurn

FEWEST_CHARS = 25  # of a Latin sentence; half of it for CJK


class Candidate(Struct, frozen=True, kw_only=True):
    turn: CondensedTurn
    unit: Unit
    text: str
    score: float
    words: frozenset[str]
    names: frozenset[str] = frozenset()
    stems: frozenset[str] = frozenset()  # beginnings of the words
    besides: frozenset[str] = frozenset()  # those of words that say something and are no part of a name
    kind: str  # what it is evidence of: cause, rule, decision, change, run, said, wish
    blames: bool = False  # says outright what the cause was
    retracted: bool = False


_WORD = re.compile(r"[^\W_]{2,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_STOP_WORDS = (
    "the and for with that this are was were has have had not but from into its it's you your can will now all any also been "
    "being they their there then than which what when where who how why does did doing done use used uses using just only "
    "both each more most some such via per our out let here these those "
    "der die das und ist nicht ein eine mit auf les des une est pas que pour dans los las una que con por para"
)
_STOP = frozenset(_STOP_WORDS.split())
_COMMON_STEM_WORDS = "cause becau root issue probl reaso chang error fail faile faili test tests after befor while witho inste never alway"
_COMMON_STEMS = frozenset(_COMMON_STEM_WORDS.split())
_NUMBER = re.compile(
    r"(?<![\w.])\d+(?:[.,]\d+)?\s?(?:ms|s|sec|seconds?|min|minutes?|h|hours?|kb|mb|gb|bytes?|%|x|lines?|px|times|个|秒|分)?\b"
)


def words_of(text: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(text.casefold()) if word not in _STOP)


def _candidate(
    turn: CondensedTurn, unit: Unit, text: str, score: float, kind: str, retracted: bool = False
) -> Candidate:
    words = words_of(text)
    names = frozenset(name.rstrip("()").rpartition("/")[2].casefold() or name for name in identifiers(text))
    parts = words_of(" ".join(names))
    return Candidate(
        turn=turn,
        unit=unit,
        text=text,
        score=score,
        words=words,
        names=names,
        stems=frozenset(word[:5] for word in words),
        besides=frozenset(word[:5] for word in words - parts if len(word) >= 4 or ord(word[0]) > 0x2E80)
        - _COMMON_STEMS,
        kind=kind,
        blames=bool(cues.BLAMES.search(text)),
        retracted=retracted,
    )


def frequencies(turns: tuple[CondensedTurn, ...]) -> Counter[str]:
    """In how many of the person's and the agent's turns a word stands: what recurs is what the session is about."""
    counted: Counter[str] = Counter()
    for turn in turns:
        if turn.who in ("you", "answer", "agent") or turn.kind == "plan":
            counted.update(words_of(turn.text))
    return counted


def named(turns: tuple[CondensedTurn, ...]) -> Counter[str]:
    """In how many of the person's and the agent's turns an identifier stands."""
    counted: Counter[str] = Counter()
    for turn in turns:
        if turn.who in ("you", "answer", "agent") or turn.kind == "plan":
            counted.update(set(identifiers(turn.text)))
    return counted


def candidates_of(
    turn: CondensedTurn,
    turns: tuple[CondensedTurn, ...],
    episodes: list[Episode],
    taken_back: dict[int, float],
    frequent: Counter[str],
    accepted: dict[int, str],
) -> list[Candidate]:
    index = turn.n - 1
    if turn.who == "agent" or turn.kind == "plan":
        penalty = taken_back.get(index, 0.0)
        place = _place(index, episodes)
        after_error = any(turns[j].who == "error" for j in range(max(0, index - 3), index))
        found: list[Candidate] = []
        for unit in units(turn.text):
            unit = _answer_itself(turn.text, _with_antecedent(turn.text, unit))
            text = shown(turn.text, unit)
            score, kind = _score_agent(text, unit, turn, frequent)
            if score <= 0:
                continue
            score += place if turn.kind != "plan" else -0.3
            score += _taken_up(turn.text, unit, text, accepted.get(index), kind)
            if after_error and kind == "cause":
                score += 0.4
            found.append(_candidate(turn, unit, text, score - penalty, kind, retracted=penalty >= 4))
        return found
    if turn.who in ("you", "answer"):
        return _person_candidates(turn, frequent)
    return []


def _taken_up(source: str, unit: Unit, text: str, label: str | None, kind: str) -> float:
    """What the person's choice among the options of a turn adds to one of its sentences."""
    if label is None:
        return 0.0
    if not label:
        return 0.4 if kind == "decision" or cues.DECISIVE.search(text) else 0.0
    line = source[source.rfind("\n", 0, unit.start) + 1 : unit.end]
    mine = option_of(line) or option_of(unit.heading)
    if not mine:
        return 0.0
    # The chosen one is no longer an idea among others, and those are no longer any.
    return 2.2 if mine == label.upper() else -1.5


def _place(index: int, episodes: list[Episode]) -> float:
    """Outcomes count more than what was said on the way, and the last one most."""
    last = next((n for n in range(len(episodes) - 1, -1, -1) if episodes[n].last_agent >= 0), -1)
    for n, episode in enumerate(episodes):
        if episode.start <= index < episode.end:
            full = 1.0 if n == last else 0.7
            if index == episode.last_agent:
                return full
            # A report is often followed by a check and one closing line.
            return 0.8 * full if index in episode.reports else 0.1 * (n + 1) / len(episodes)
    return 0.0


def _with_antecedent(text: str, unit: Unit) -> Unit:
    """A sentence that opens with `this` or `so` takes the sentence before it along, when both fit."""
    if unit.before < 0 or unit.end - unit.before > LONGEST:
        return unit
    body = plain(text[unit.start : unit.end])
    if not cues.DANGLING.match(body):
        return unit
    previous = plain(text[unit.before : unit.start])
    # `Found it.` names nothing that could be referred to.
    if len(previous) < 26 and not identifiers(previous) and previous.isascii():
        return unit
    if cues.REFERS.match(previous) or cues.PROGRESS.search(previous) or cues.OFFER.search(previous):
        return unit
    if previous.endswith(("?", "？")):
        return unit
    return Unit(
        start=unit.before, end=unit.end, form=unit.form, heading=unit.heading, intro=unit.intro, first=unit.first
    )


def _score_agent(text: str, unit: Unit, turn: CondensedTurn, frequent: Counter[str]) -> tuple[float, str]:
    cjk = sum(ord(char) > 0x2E80 for char in text)
    length = len(text) + cjk
    if length < FEWEST_CHARS or length > LONGEST * 1.5 or CUT in text:
        return 0.0, ""
    if text.endswith(("?", "？", ":", "：", "…")) or text.count("`") % 2 or _half_quoted(text):
        return 0.0, ""
    if unit.form == "list" and ("?" in text or "？" in text):
        return 0.0, ""
    if re.search(r"</?[a-z_]+>", re.sub(r"`[^`]*`", "", text)):
        return 0.0, ""
    if _mostly_code(unit.intro if unit.form in ("run", "code") else text):
        return 0.0, ""
    if cues.OFFER.search(text):
        return 0.0, ""
    names = len(set(identifiers(text)))
    score = min(names, 3) * 0.35 + (0.25 if _NUMBER.search(text) else 0.0)
    kind = "said"
    cause = bool(cues.CAUSE.search(text))
    reported = bool(cues.REPORT.match(text))
    if reported and not re.search(r"(?i)\b(?:because|since|so that|due to|otherwise|so|which)\b", text):
        cause = False
    rule = bool(cues.RULE.search(text))
    decision = bool(cues.DECISION.search(text))
    change = bool(cues.CHANGE.search(text))
    if change:
        score += 0.5
        kind = "change"
    if decision:
        score += 0.6
        kind = "decision"
    if rule:
        score += 0.7
        kind = "rule" if not decision else kind
    if cause:
        score += 1.3
        kind = "cause"
    if cues.SUMS_UP.match(text):
        score += 1.3
        kind = "rule" if kind in ("said", "change") else kind
    if unit.form == "item" and unit.intro and cues.OPEN_INTRO.search(unit.intro):
        score -= 1.3
    elif cues.BLAMING_INTRO.search(f"{unit.heading} {unit.intro}"):
        score += 0.4 if cause else 0.8
        kind = "cause"
    guess = bool(cues.HYPOTHESIS.search(text))
    if cues.DECISIVE.search(text) and not guess:
        score += 0.9
        kind = "decision" if kind in ("said", "change") else kind
    if cues.FAULT.search(text):
        score += 0.5
        kind = "cause" if kind == "said" else kind
    if unit.form == "run":
        score += 1.0
        kind = "run"
    elif unit.form == "code":
        score += 0.2
        kind = kind if kind != "said" else "change"
    elif unit.form == "list":
        score += 0.3
    if length > 260:
        score -= 0.3
    elif length >= 70:
        score += 0.25
    # What the session keeps coming back to.
    topic = sorted((frequent[word] for word in words_of(text)), reverse=True)[:4]
    score += min(0.5, sum(n - 1 for n in topic if n > 1) * 0.04)
    if unit.heading:
        if cues.DULL_HEADING.search(unit.heading):
            score -= 1.2
        elif cues.OPTION_HEADING.search(unit.heading):
            score -= 0.9
        elif cues.TELLING_HEADING.search(unit.heading):
            score += 0.3
    if cues.STATUS.search(text):
        score -= 1.6 if not cause else 0.6
    if cues.PROGRESS.search(text):
        score -= 1.8 if cause and names else 3.5
    if guess:
        score -= 2.2
    if text[:1].islower() and unit.form in ("sentence", "code") and not unit.heading:
        score -= 0.6  # the rest of a sentence that began elsewhere
    if cues.REPLY.match(text):
        score -= 0.8
    if cues.TRIVIAL.search(text):
        score -= 0.8
    if cues.ADVICE.search(text) or cues.NEXT_LABEL.match(text) or re.match(r"^[A-H1-9]\)", text):
        score -= 0.9
    if cues.PROPOSED.search(text):
        score -= 0.9
    if cues.DANGLING.match(text):
        # What it refers to stands in a sentence that is not here, or in the heading that becomes its lead.
        named = unit.heading and not cues.GENERIC_HEADING.match(unit.heading)
        score -= 2.2 if cues.REFERS.match(text) and not named else 0.7
    if cues.NEXT_ACT.search(text):
        score -= 1.6
    reason = cause or rule or bool(cues.REASON.search(text))
    if not reason and (reported or cues.CHORE.match(text)):
        score -= 0.9  # what was changed without why: the repository's history says it
    if cues.LINE_NUMBER.match(text):
        score -= 1.2
    if not cause and cues.ABOUT_TESTS.search(text):
        score -= 0.5
    if cues.TEST_ITEM.match(text) and not cues.BLAMES.search(text):
        score -= 2.0
    if cues.OPEN_END.search(text) or (unit.form in ("list", "code") and cues.GOES_ON.match(text)):
        score -= 1.6
    if re.search(r"REDACTED|\[secret\]|\[email\]", text):
        score -= 0.5
    if unit.form == "item" and not (cause or rule or decision) and not re.search(r"\s", text.strip("` ")):
        return 0.0, ""
    if unit.form == "item" and length < 45 and not (cause or rule):
        score -= 0.6
    if unit.form in ("item", "row") and unit.intro and not names:
        score -= 0.5
    if unit.form == "row":
        score -= 0.3
    return score, kind


def _answer_itself(text: str, unit: Unit) -> Unit:
    """Without the `you are right:` that what is said begins with."""
    match = cues.ANSWERED.match(text[unit.start : unit.end]) if unit.form == "sentence" else None
    if match is None or unit.end - unit.start - match.end() < 40:
        return unit
    return Unit(start=unit.start + match.end(), end=unit.end, form=unit.form, heading=unit.heading, first=unit.first)


def _half_quoted(text: str) -> bool:
    """Whether a quotation opens or closes outside of the text; code spans and inches aside."""
    bare = re.sub(r"`[^`]*`|\d\"", "", text)
    return bool(bare.count('"') % 2) or bare.count("“") != bare.count("”")


def _mostly_code(text: str) -> bool:
    outside = re.sub(r"`+[^`]*`+", "", text)
    letters = sum(char.isalpha() for char in outside)
    if letters < 12:
        return True
    return bool(
        re.search(
            r"[{};]\s*$|^\s*(?:\$|>|//|#include|import |from \w+ import|const |let |var |func |def |class |return )",
            text,
        )
    )


# Words of a person speaking for themselves; pasted reviews and reports have none of them.
_OWN_WORDS = re.compile(
    r"(?i)\b(?:i|i'd|i'm|i've|we|we'd|we'll|let's|you|your|our|my|please|ich|wir|je|nous|nosotros|quiero|necesito)\b|[а-яё]{3}|"
    r"\bfrom now on\b|^(?:and |but |also |so )?(?:from now on,? )?(?:never|always|don't|do not|use|keep|prefer|avoid|no|only|make sure|remember|stop)\b"
)
_REQUEST = re.compile(
    r"(?i)^(?:(?:please|then|and|now|so|also|ok|okay|great|sure|can you|could you|would you|i want you to|i need you to|let's)[, ]+)*(?:tell|show|explain|list|give|find|check|look|run|read|add|create|write|use|update|remove|fix|make|move|rename|put|take|continue|help|review|describe|summari[sz]e|investigate|implement|test|verify|commit|push|merge)\b"
)


# A request that holds for more than this once.
_GENERAL = re.compile(
    r"(?i)\beverywhere(?=[,.!]|$)|\b(?:always|never|from now on|rather than|in general|every|rule|convention|style guide|regel|immer|überall|partout|toujours|siempre)\b|всегда|везде|总是|以后|所有|常に|必ず"
)


# One thing chosen over another.
_CONTRAST = re.compile(
    r"(?i)\b(?:and|,) not\b(?! (?:sure|only|yet))|\binstead of\b|\brather than\b|\bnot \S+(?: \S+)?,? but\b|\bstatt\b|\bau lieu de\b|\ben (?:lugar|vez) de\b|вместо|а не |而不是|ではなく"
)


def _person_candidates(turn: CondensedTurn, frequent: Counter[str]) -> list[Candidate]:
    text = turn.text
    # Long prompts are mostly pasted: only what reads as a rule in them is the person's own.
    pasted = len(text) > 1200
    found: list[Candidate] = []
    for unit in units(text):
        unit = _with_antecedent(text, unit)
        body = shown(text, unit)
        cjk = sum(ord(char) > 0x2E80 for char in body)
        length = len(body) + cjk
        if (
            not 28 <= length <= LONGEST * 1.3
            or CUT in body
            or "REDACTED" in body
            or _mostly_code(body)
            or _half_quoted(body)
        ):
            continue
        wish = bool(cues.WISH.search(body))
        if not wish:
            continue
        if cjk < 4 and not _OWN_WORDS.search(body):
            continue
        reason = bool(cues.CAUSE.search(body)) or bool(re.search(r"(?i)\bwe (?:had|tried|got burned)\b", body))
        rule = (
            bool(
                re.search(
                    r"(?i)\b(?:never|always|don't|do not|must|should|we use|instead|rather than|prefer|explicitly|from now on|make sure|rule|regel|everywhere|no \w+ and no)\b",
                    body,
                )
            )
            or (cjk > 4 and bool(cues.RULE.search(body)))
            or bool(cues.RULE.search(body) and not re.search(r"(?i)\b(?:need to|have to|only)\b", body))
        )
        score = 1.0 + (0.9 if rule else 0.0) + (0.7 if reason else 0.0) + min(len(set(identifiers(body))), 3) * 0.3
        if body.endswith(("?", "？")) or re.match(
            r"(?i)^(?:can|could|would|will|what|why|how|is|are|do|does|did)\b", body
        ):
            score -= 0.9 if not re.search(r"(?i)\b(?:instead|rather|just|explicitly)\b", body) else 0.2
        if turn.kind in ("refusal", "answer"):
            score += 0.5
        if _GENERAL.search(body) and not body.endswith(("?", "？")):
            score += 0.3
        contrast = bool(_CONTRAST.search(body))
        if contrast:
            score += 0.0 if rule else 0.9
        if _REQUEST.match(body) and not reason and not contrast and not _GENERAL.search(body):
            score -= 0.7
        if pasted or length > 240:
            score -= 0.9
        if length < 45:
            score -= 0.5
        if re.search(r"(?i)\b(?:don't|do not|not) (?:know|sure)\b|\bi wonder\b|不知道|不确定|weiß nicht|не знаю", body):
            score -= 1.2
        if cues.PERSON_DISAGREES.search(body) and not reason:
            score -= 0.5
        topic = sorted((frequent[word] for word in words_of(body)), reverse=True)[:4]
        score += min(0.4, sum(n - 1 for n in topic if n > 1) * 0.04)
        found.append(_candidate(turn, unit, body, score, "wish"))
    return found
