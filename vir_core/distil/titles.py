"""The title: what a session was about, in words that were said."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vir_core.distil import cues
from vir_core.distil.candidates import Candidate, words_of
from vir_core.distil.naming import (
    branch_topic,
    errand,
    goal_titles,
    heading_of,
    informative,
    opens_weakly,
    refers_back,
    subjects,
    thin,
    tidy_title,
    without_pointers,
)

if TYPE_CHECKING:
    from vir_core.distil.extract import Facts
    from vir_core.transcripts.condensing import CondensedTurn


def title_of(
    turns: tuple[CondensedTurn, ...], facts: Facts, goals: list[str], chosen: list[Candidate], project_name: str
) -> str:
    """The session's own title when it tells something; else a plan's heading, the subject of its commit, what was asked
    for, the branch it was done on, a finding."""
    from vir_core.transcripts.scrub import scrub, scrub_all

    given = tidy_title(scrub(facts.title).text) if facts.title else ""
    if given and informative(given):
        return given
    plan = next((heading_of(turn.text) for turn in turns if turn.kind == "plan"), "")
    if plan:
        return tidy_title(plan)
    said = frozenset[str]().union(*(candidate.words for candidate in chosen))

    def about(title: str) -> int:
        return len(words_of(without_pointers(title)) & said)

    done = [
        subject
        for subject in subjects(turn.text for turn in turns if turn.who == "command")
        if informative(subject) and informative(without_pointers(subject))
    ]
    if done and len(done) <= 3:
        return tidy_title(max(done, key=about))
    branches, _ = scrub_all(tuple(facts.branches[:6]))
    topic = tidy_title(branch_topic(branches))
    asked = [(n, title) for n, goal in enumerate(goals[:4]) for title in goal_titles(goal)]
    found = [title for candidate in chosen[:4] if (title := _finding(candidate))]
    # What was asked for first names the session, when it names anything the lessons speak of.
    for n, title in asked:
        bare = without_pointers(title)
        if not informative(bare) or opens_weakly(title) or thin(title) or (n and refers_back(title)):
            continue
        if errand(title) and (found or topic):
            continue
        if about(title) >= 1 + errand(title) + (n > 0):
            return title
    if topic and not thin(topic):
        return topic
    if found:
        return found[0]
    whole = [row for row in asked if not thin(row[1])]
    if whole and not (topic and opens_weakly(whole[0][1])):
        return max(whole, key=lambda row: about(row[1]) - 3 * opens_weakly(row[1]) - row[0])[1]
    if topic or asked:
        return topic or max(asked, key=lambda row: about(row[1]) - 3 * opens_weakly(row[1]) - row[0])[1]
    return (tidy_title(goals[0]) if goals else "") or f"Session in {project_name}"


_SUBJECT = re.compile(
    r"(?i)^(?:(?:fixed|done|found it|yes|no|summary|key insight|note|result)[.!:,]\s+)?(?:(?:now|so|and|but|also|however),?\s+)?"
    r"(?:(?:i|we)(?:'ve| have)?(?: also| now| just)?\s+(?=\w+ed\b|put\b|set\b|made\b|chose\b)|(?:the|this) (?:real |actual |root |main )?(?:issue|problem|root cause|fix|bug|reason|solution) (?:is|was)(?: that)?:?\s+)?"
)


_MAY_END = re.compile(
    r"(?i)^\s*(?:[,;:(，；：]|[—–-]\s|(?:because|when|whenever|while|if|unless|until|so|since|which|but|instead of|rather than|weil|wenn|damit|parce que|quand|porque|cuando|потому|когда|если)\b)"
)


def _finding(candidate: Candidate) -> str:
    """A lesson's first sentence as a title, or empty when it does not read as one."""
    if candidate.kind not in ("cause", "decision", "rule") or candidate.unit.form not in ("sentence", "item"):
        return ""
    if cues.REPORT.match(candidate.text) or cues.CHORE.match(candidate.text) or cues.NEXT_ACT.search(candidate.text):
        return ""
    sentence = re.split(r"(?<=[.!])\s+(?=\S)|(?<=[。！])", candidate.text, maxsplit=1)[0]
    sentence = _SUBJECT.sub("", sentence, count=1)
    if cues.DANGLING.match(sentence) or len(sentence) < 15 or re.match(r"(?i)^(?:only|the \d+|your|line)\b", sentence):
        return ""
    title = tidy_title(sentence)
    plain_sentence = " ".join(sentence.replace("`", "").split())
    rest = plain_sentence[len(title) :] if plain_sentence[1:].startswith(title[1:]) else ""
    # Cut in the middle it would be a fragment.
    if rest.strip(" .,:;!。！") and not _MAY_END.match(rest):
        return ""
    return title if informative(title) else ""
