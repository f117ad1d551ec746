"""Which files are one session: copies, files resumed or compacted into new ones, forks, archived duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from vir_core.transcripts.provenance import NOT_THE_PERSON
from vir_core.transcripts.session import SessionFacts

_PEOPLE = frozenset({"human", "plan_handoff"})
_HELPERS = frozenset({"subagent", "workflow", "compaction"})
COMPACTED_WITHIN = 600.0
"""Seconds between the end of a file and the start of the one it was compacted into."""
RECORD_ID = 32
"""Characters of a record id from which on it is random; shorter ones are counted up and repeat in every session."""


class Thread(Struct, frozen=True, kw_only=True):
    """One session. `key` is that of its earliest file, `speaker` the file that holds most of it, `files` all of them,
    oldest first."""

    key: str
    speaker: SessionFacts
    files: tuple[SessionFacts, ...]


class Lineage(Struct, frozen=True, kw_only=True):
    """`threads` in the order of their first file; `roots` gives the thread key of every file; `parents` the thread key
    a subagent's thread belongs to (empty when that session is not here); `follows` the thread key of the session in which
    a plan was made that was handed over to this one."""

    threads: tuple[Thread, ...] = ()
    roots: dict[str, str] = {}
    parents: dict[str, str] = {}
    follows: dict[str, str] = {}


def join_lineage(sessions: Sequence[SessionFacts]) -> Lineage:
    """Joins files by session id, by shared record ids, by the session they say they were forked from (two forks of one that
    is gone are still one), and by the record that the head of a file continues.

    Subagents stay threads of their own: they carry their parent's session id, and are not it. So does a session that a plan
    was handed over to: it is new work, and says where the plan came from. A summary's leaf joins nothing: at the head of a
    file it may title a session that has nothing to do with it."""
    joined = _Joined(len(sessions))
    keys = [facts.key for facts in sessions]
    by_key: dict[str, int] = {}
    by_uuid: dict[str, dict[str, int]] = {"claude": {}, "codex": {}}
    whole: list[int] = []
    for n, facts in enumerate(sessions):
        joined.join(n, by_key.setdefault(keys[n], n))
        if facts.driver in NOT_THE_PERSON:
            continue
        whole.append(n)
        known = by_uuid[facts.source]
        for uuid in facts.uuids:
            if len(uuid) >= RECORD_ID and (first := known.setdefault(uuid, n)) != n:
                joined.join(n, first)
    for n in whole:
        facts = sessions[n]
        if facts.forked_from:
            joined.join(n, by_key.setdefault(f"{facts.source}:{facts.forked_from}", n))
        for uuid in facts.after:
            if len(uuid) >= RECORD_ID and (earlier := by_uuid[facts.source].get(uuid)) is not None:
                joined.join(n, earlier)
    _join_compacted(sessions, whole, joined)
    threads = tuple(_thread(tuple(sessions[n] for n in group)) for group in joined.groups())
    roots = {facts.path: thread.key for thread in threads for facts in thread.files}
    by_session = {
        key: roots[facts.path] for key, facts in zip(keys, sessions, strict=True) if facts.driver not in _HELPERS
    }
    parents = {
        thread.key: by_session.get(f"{thread.speaker.source}:{thread.speaker.parent}", "")
        for thread in threads
        if thread.speaker.parent
    }
    follows = {
        thread.key: before
        for thread in threads
        for facts in thread.files
        if facts.follows and (before := by_session.get(f"{facts.source}:{facts.follows}", "")) not in ("", thread.key)
    }
    return Lineage(threads=threads, roots=roots, parents=parents, follows=follows)


def _join_compacted(sessions: Sequence[SessionFacts], whole: Sequence[int], joined: _Joined) -> None:
    """Joins a file that opens with the summary of a compaction to the one of the same title and folder that ended right
    before it began. Only the nearest one: a title may name several sessions."""
    titled: dict[tuple[str, str, str], list[int]] = {}
    for n in whole:
        if sessions[n].titled:
            titled.setdefault((sessions[n].source, sessions[n].titled, sessions[n].cwd), []).append(n)
    for n in whole:
        facts = sessions[n]
        if not facts.opens_compacted or not facts.titled:
            continue
        began = _seconds(facts.started)
        near: list[tuple[float, int]] = []
        for other in titled[facts.source, facts.titled, facts.cwd]:
            ended = _seconds(sessions[other].ended)
            if other != n and began and ended and 0 <= began - ended <= COMPACTED_WITHIN:
                near.append((began - ended, other))
        if near:
            joined.join(n, min(near)[1])


def _thread(files: tuple[SessionFacts, ...]) -> Thread:
    if len(files) == 1:
        return Thread(key=files[0].key, speaker=files[0], files=files)
    oldest = sorted(
        files, key=lambda facts: (facts.started or "~", facts.ended, facts.forked_from != "", facts.key, facts.path)
    )
    # A person who takes a script's session over makes it theirs.
    speaker = max(
        files,
        key=lambda facts: (
            facts.driver in _PEOPLE,
            facts.human_turns,
            facts.answers,
            facts.ended,
            facts.bytes,
            facts.path,
        ),
    )
    return Thread(key=oldest[0].key, speaker=speaker, files=tuple(oldest))


def _seconds(time: str) -> float:
    try:
        return datetime.fromisoformat(time).timestamp() if time else 0.0
    except (ValueError, OverflowError, OSError):
        return 0.0


class _Joined:
    """Union-find over positions; the smallest position of a group stands for it."""

    def __init__(self, size: int) -> None:
        self._up = list(range(size))

    def join(self, one: int, other: int) -> None:
        if one == other:
            return
        first, second = sorted((self._top(one), self._top(other)))
        self._up[second] = first

    def groups(self) -> Iterable[list[int]]:
        groups: dict[int, list[int]] = {}
        for n, up in enumerate(self._up):
            if up == n:
                groups[n] = [n]  # the smallest position of a group comes first
            else:
                groups[self._top(n)].append(n)
        return groups.values()

    def _top(self, n: int) -> int:
        while self._up[n] != n:
            self._up[n] = self._up[self._up[n]]
            n = self._up[n]
        return n
