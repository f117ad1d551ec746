"""Sessions that look like a person's and were typed by a program: only a comparison of many gives them away.

A daemon that types into a terminal leaves the very records a person leaves. What it cannot hide is that it says the same
again, at a pace no person keeps, and that nobody ever says anything else in its sessions. All three are asked for: people
open many sessions with the same words too (each day's first prompt, a plan worked off task by task, a feature tried out
again and again), and a wrong answer here would take a session from the person who drove it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from math import comb

import msgspec

from vir_core.transcripts.lineage import Lineage, Thread
from vir_core.transcripts.project import normal_path
from vir_core.transcripts.provenance import MORE, Verdict
from vir_core.transcripts.session import SessionFacts

ALIKE = 8
"""Sessions with one opening in one folder, below which no pace is looked at: four intervals alike are a coincidence."""
ROLES = 3
"""Sessions in one folder in which the agent introduces itself by the same role; people do not speak as the agent."""
DISPATCHED = 2
"""Sessions of one dispatcher; its headers carry a sender, a recipient and a time."""
BAND_SHARE, BAND_SECONDS = 0.02, 60.0
"""How far two intervals may differ to be one: 2 % of it, and never more than a minute."""
ALIKE_INTERVALS = 5
BY_CHANCE = 1e-4
ALONE = 24
"""Sessions after which no pace is asked for, where nobody ever said anything else in the folder: no other opening, no second
prompt, not one command."""
A_DAY = 8
"""Such sessions on a day that has any: a habit of every morning is a person's, however alike its mornings are."""
CROWD, CROWD_HOURS = 40, 6
RESTLESS_HOURS, RESTLESS_PAUSE, RESTLESS_STARTS = 30, 3, 12


def with_automated(sessions: Sequence[SessionFacts], lineage: Lineage) -> tuple[tuple[SessionFacts, ...], Lineage]:
    """The same sessions and lineage, with the driver of automated ones changed to that. The lineage comes first, so that
    copies of one session at successive times, forks and resumed files are one before anything is compared."""
    found = find_automated(lineage.threads)
    if not found:
        return tuple(sessions), lineage
    changed: dict[str, SessionFacts] = {}
    threads: list[Thread] = []
    for thread in lineage.threads:
        verdict = found.get(thread.key)
        if verdict is None:
            threads.append(thread)
            continue
        files = tuple(_driven(facts, verdict) for facts in thread.files)
        changed.update((facts.path, facts) for facts in files)
        threads.append(msgspec.structs.replace(thread, files=files, speaker=changed[thread.speaker.path]))
    return (
        tuple(changed.get(facts.path, facts) for facts in sessions),
        msgspec.structs.replace(lineage, threads=tuple(threads)),
    )


def find_automated(threads: Iterable[Thread]) -> dict[str, Verdict]:
    """The threads that a program drove, by key, each with what said so. Pure; the order of the threads changes nothing."""
    dispatched: dict[tuple[str, str], list[Thread]] = {}
    alike: dict[tuple[str, str, str], list[Thread]] = {}
    talked: Counter[str] = Counter()
    for thread in threads:
        speaker = thread.speaker
        if speaker.driver not in ("human", "plan_handoff"):
            continue
        place = normal_path(speaker.cwd)
        talked[place] += 1
        if speaker.driver != "human" or not speaker.marks:
            continue
        opening = speaker.marks[0]
        if opening.startswith("d"):
            dispatched.setdefault((speaker.source, opening), []).append(thread)
        else:
            alike.setdefault((speaker.source, place, opening), []).append(thread)
    found: dict[str, Verdict] = {}
    for group in dispatched.values():
        if len(group) >= DISPATCHED:
            why = f"{len(group)} sessions open with the header of the same dispatcher: who to whom, and when"
            found.update(_verdicts(group, (why,)))
    for (_, place, opening), group in alike.items():
        if len(group) < ROLES or _shares_hands(group):
            continue
        same = f"{len(group)} sessions in this folder open with the same words"
        if opening.startswith("r"):
            found.update(_verdicts(group, (same, "in which the agent introduces itself by its role")))
        elif len(group) >= ALIKE and (pace := pace_of([thread.files[0].started for thread in group])):
            found.update(_verdicts(group, (same, pace)))
        elif len(group) >= ALONE and _busy([thread.files[0].started for thread in group]):
            verdicts = _verdicts(group, (same, "and nobody ever said anything else there"))
            if len(verdicts) == talked[place]:
                found.update(verdicts)
    return found


def _verdicts(group: Sequence[Thread], why: tuple[str, ...]) -> Mapping[str, Verdict]:
    """Those of a group in which nobody said anything that was not said in others of it, or acted at the keyboard."""
    said = Counter(mark for thread in group for mark in thread.speaker.marks)
    verdict = Verdict("automated", "likely", (*why, "nobody typed anything else in it"))
    return {
        thread.key: verdict
        for thread in group
        if not any(facts.hands or facts.driver != "human" for facts in thread.files)
        and all(mark != MORE and (mark[0] in "sdr" or said[mark] >= ROLES) for mark in thread.speaker.marks)
    }


def _busy(starts: Iterable[str]) -> bool:
    seconds = sorted(filter(None, map(_seconds, starts)))
    days = {int((at - seconds[0]) // 86_400) for at in seconds}
    return len(seconds) >= A_DAY * max(1, len(days))


def _shares_hands(group: Sequence[Thread]) -> bool:
    """Whether a person took part in more than a tenth of these: then the opening is a habit of theirs."""
    return sum(any(facts.hands for facts in thread.files) for thread in group) * 10 > len(group)


def pace_of(starts: Iterable[str]) -> str:
    """What is machine-like about these times (RFC 3339), in words; empty when a person could have kept them."""
    seconds = sorted(filter(None, map(_seconds, starts)))
    if len(seconds) < ALIKE:
        return ""
    gaps = sorted(later - earlier for earlier, later in pairwise(seconds) if later > earlier)
    return _regular(gaps) or _crowded(seconds) or _restless(seconds)


def _regular(gaps: Sequence[float]) -> str:
    """Intervals that agree to 2 % and far more often than those around them, so that a habit (every morning at nine, a task
    of about ten minutes) does not count: a person's intervals spread evenly over the neighbourhood."""
    best = 0
    said = ""
    for first, low in enumerate(gaps):
        width = min(low * BAND_SHARE, BAND_SECONDS)
        count = bisect_right(gaps, low + width) - first
        if count < ALIKE_INTERVALS or count <= best:
            continue
        near = bisect_right(gaps, low + 5.5 * width) - bisect_left(gaps, low - 4.5 * width)
        if _tail(near, count, 0.1) < BY_CHANCE:
            best = count
            said = f"{count} of {len(gaps)} starts follow the one before by {_shown(low)}, within {max(1, round(width))} seconds"
    return said


def _tail(n: int, at_least: int, p: float) -> float:
    """P(X >= at_least) for X ~ Binomial(n, p)."""
    return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(at_least, n + 1))


def _crowded(seconds: Sequence[float]) -> str:
    for first in range(len(seconds) - CROWD + 1):
        if seconds[first + CROWD - 1] - seconds[first] <= CROWD_HOURS * 3600:
            return f"{CROWD} of them started within {CROWD_HOURS} hours"
    return ""


def _restless(seconds: Sequence[float]) -> str:
    first = 0
    for n in range(1, len(seconds)):
        if seconds[n] - seconds[n - 1] > RESTLESS_PAUSE * 3600:
            first = n
        elif seconds[n] - seconds[first] >= RESTLESS_HOURS * 3600 and n - first + 1 >= RESTLESS_STARTS:
            return f"they started for {RESTLESS_HOURS} hours without a pause of {RESTLESS_PAUSE}"
    return ""


def _driven(facts: SessionFacts, verdict: Verdict) -> SessionFacts:
    return msgspec.structs.replace(
        facts, driver=verdict.driver, certainty=verdict.certainty, evidence=(*facts.evidence, *verdict.evidence)
    )


def _seconds(time: str) -> float | None:
    try:
        return datetime.fromisoformat(time).timestamp() if time else None
    except (ValueError, OverflowError, OSError):
        return None


def _shown(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [
        f"{hours} h" if hours else "",
        f"{minutes} min" if minutes else "",
        f"{rest} s" if rest and not hours else "",
    ]
    return " ".join(filter(None, parts)) or "0 s"
