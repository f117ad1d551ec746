"""Where a session stands between the transcripts and what a vault knows of it. Pure."""

from __future__ import annotations

from collections.abc import Set
from datetime import datetime

from vir_core.memory import Memory, SessionState
from vir_core.transcripts import SessionFacts, Thread

TAKEN = frozenset({"human", "plan_handoff"})
"""Drivers that a default run distils; whatever is unsure is taken as well."""


def wanted(facts: SessionFacts, drivers: Set[str] = TAKEN) -> bool:
    """Whether a run that takes these drivers takes the session: unsure is not a reason to lose one."""
    return facts.driver in drivers or facts.certainty == "unsure"


def resting(thread: Thread, now: datetime) -> bool:
    """Whether nobody is at work in any file of the session."""
    return not any(facts.active(now) for facts in thread.files)


def session_key(thread: Thread, memory: Memory) -> str:
    """The key a thread's note is made of. A session first distilled under one key keeps it, whatever older file is found
    since; a file known to continue another session is that session."""
    keys = [facts.key for facts in thread.files]
    for key in keys:
        root = memory.root_of(key)
        known = memory.sessions.get(root)
        if known is not None and known.outcome:
            return root
    return memory.root_of(thread.key)


def waits(thread: Thread, memory: Memory) -> bool:
    """Whether no run has settled what the session holds."""
    settled = memory.sessions.get(session_key(thread, memory))
    return settled is None or not settled.outcome or gained(thread.speaker, settled)


def gained(facts: SessionFacts, settled: SessionState) -> bool:
    """Whether more was said than the session's outcome knew. The agent's answer counts: a run may fall between a prompt and
    its answer, and then the session holds what the outcome did not know, without another prompt ever coming. Only growth
    counts: of two ends of one session, equally long on two devices, each would settle the other for ever."""
    return facts.human_turns > settled.turns or 0 <= settled.replies < facts.answers
