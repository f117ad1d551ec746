"""Choosing: which candidates become lessons, and which sentence says how the session ended."""

from __future__ import annotations

import re
from collections import Counter

from vir_core.distil import cues
from vir_core.distil.candidates import Candidate
from vir_core.distil.episodes import Episode

MOST_LESSONS = 7
KEEP = 2.2  # score that a lesson needs when there are others
ENOUGH = 1.6  # score that makes a session worth a note at all
STRONG_WISH = 2.0  # score of a wish that gets a place whatever else there is
ALONE = 2.7  # score of a lone report of a change that is worth one


SAME = 0.5


def alike(a: Candidate, b: Candidate) -> float:
    """How much two candidates say the same, in [0, 1]: words in common, names counting double. Two statements of a cause
    that name the same things and share a word besides are one finding said twice."""
    if a.turn.id == b.turn.id and a.turn.n == b.turn.n and a.unit.start < b.unit.end and b.unit.start < a.unit.end:
        return 1.0
    if not a.words or not b.words:
        return 0.0
    if a.words <= b.words or b.words <= a.words:
        inner, outer = _bare(a.text), _bare(b.text)
        if inner in outer or outer in inner:
            return 1.0
    shared, small, large = _shared(a.stems, b.stems)
    value = 0.85 * shared / small if small >= 5 else 0.0
    names = len(a.names & b.names)
    value = max(value, (shared + names) / (small + large - shared + len(a.names | b.names)))
    if a.blames and b.blames and a.names and b.names and (a.names <= b.names or b.names <= a.names):
        value = max(value, SAME if a.besides & b.besides else 0.0)
    return value


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _shared(a: frozenset[str], b: frozenset[str]) -> tuple[int, int, int]:
    return len(a & b), min(len(a), len(b)), max(len(a), len(b))


def _threshold(best: float, chosen: int) -> float:
    """The first two lessons need less: one alone says little about a session."""
    if chosen < 2:
        return ENOUGH
    return max(KEEP, best * 0.5) if chosen < 5 else max(KEEP + 0.4, best * 0.6)


def choose(candidates: list[Candidate]) -> list[Candidate]:
    """The best sentences that do not repeat each other. Of two alike the later one stands: it is what remained."""
    ranked = sorted((c for c in candidates if c.score > 0), key=lambda c: (-c.score, -c.turn.n, c.unit.start))
    if not ranked or ranked[0].score < ENOUGH:
        return []
    chosen: list[Candidate] = []
    per_turn: Counter[int] = Counter()
    wishes = 0
    # A long conversation is steered by what the person says they want.
    spoken = len({c.turn.n for c in candidates if c.kind == "wish"})
    most_wishes = 2 if spoken < 4 else 3
    for candidate in ranked:
        if len(chosen) == MOST_LESSONS:
            break
        if candidate.score < _threshold(ranked[0].score, len(chosen) - wishes):
            break
        twin = next((n for n, c in enumerate(chosen) if alike(c, candidate) >= SAME), -1)
        if twin >= 0:
            other = chosen[twin]
            if candidate.turn.n > other.turn.n and candidate.score >= other.score - 0.6 and candidate.kind != "wish":
                chosen[twin] = candidate
            continue
        if candidate.kind == "wish":
            if wishes == most_wishes:
                continue
            wishes += 1
        if per_turn[candidate.turn.n] == (4 if len(candidate.turn.text) < 1500 else 5):
            continue
        per_turn[candidate.turn.n] += 1
        chosen.append(candidate)
    # What the person said about how they want things is worth more than one more detail.
    left = [c for c in ranked if c.kind == "wish" and c.score >= STRONG_WISH and c not in chosen]
    for wish in left:
        if chosen and wishes < most_wishes and all(alike(c, wish) < SAME for c in chosen):
            if len(chosen) == MOST_LESSONS:
                chosen.pop(max(n for n, c in enumerate(chosen) if c.kind != "wish"))
            chosen.append(wish)
            wishes += 1
    # One report of a change alone (a file made, a test adapted) is what the repository's history already says.
    if len(chosen) == 1 and chosen[0].kind in ("change", "said") and chosen[0].score < ALONE:
        return []
    return chosen


# What was wrong is no outcome.
_LABELLED = re.compile(r"(?i)^(?:the )?(?:problem|issue|before|cause|root cause|current(?:ly)?)\s*[:：]")


def closing_of(candidates: list[Candidate], episodes: list[Episode]) -> list[Candidate]:
    """What the last episode with something to say closes with; empty when a session just breaks off."""
    for episode in reversed(episodes):
        closing = {episode.last_agent, *episode.reports}
        here = [
            c
            for c in candidates
            if c.turn.n - 1 in closing
            and c.kind != "wish"
            and c.score >= 1.2
            and c.unit.form != "run"
            and len(c.text) <= 300
        ]
        if here:
            return here
    return []


def outcome_of(closing: list[Candidate], chosen: list[Candidate]) -> Candidate | None:
    """The sentence that says how the session ended, when it says something concrete that no lesson says."""
    fresh = [
        c
        for c in closing
        if c.score >= 1.6
        and c.kind in ("change", "cause", "decision", "rule")
        and c.unit.form in ("sentence", "list")
        and (c.names or len(c.words) >= 9)
        and not _LABELLED.match(c.text)
        and not cues.REFERS.match(c.text)
        and not cues.PROPOSED.match(c.text)
        and not cues.NEXT_LABEL.match(c.text)
        and not (c.kind == "change" and cues.ABOUT_TESTS.search(c.text))
        and not cues.HYPOTHESIS.search(c.text)
        and not any(alike(c, other) >= SAME for other in chosen)
    ]

    def weight(c: Candidate) -> tuple[float, int, int]:
        early = 0.6 if c.unit.first and c.unit.form == "sentence" else 0.0
        whole = 0.5 if c.kind in ("change", "decision") else 0.0
        form = 0.2 if c.unit.form == "sentence" else 0.0
        return (c.score + early + whole + form, c.turn.n, -c.unit.start)

    return max(fresh, key=weight, default=None)
