"""Which files are one session: copies, files resumed into new ones, forks, archived duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from vir_core.transcripts.session import SessionFacts

_CHILDREN = frozenset({"subagent", "workflow", "compaction"})


class Thread(Struct, frozen=True, kw_only=True):
    """One session. `key` is that of its earliest file, `speaker` the file that holds most of it, `files` all of them,
    oldest first."""

    key: str
    speaker: SessionFacts
    files: tuple[SessionFacts, ...]


class Lineage(Struct, frozen=True, kw_only=True):
    """`threads` in the order of their first file; `roots` gives the thread key of every file; `parents` the thread key
    a subagent's thread belongs to (empty when that session is not here)."""

    threads: tuple[Thread, ...] = ()
    roots: dict[str, str] = {}
    parents: dict[str, str] = {}


def join_lineage(sessions: Sequence[SessionFacts]) -> Lineage:
    """Joins files by session id, by shared record ids, and by the session they say they were forked from.

    Subagents stay threads of their own: they carry their parent's session id, and are not it."""
    joined = _Joined(len(sessions))
    by_key: dict[str, int] = {}
    by_uuid: dict[str, int] = {}
    for n, facts in enumerate(sessions):
        joined.join(n, by_key.setdefault(facts.key, n))
        if facts.driver in _CHILDREN:
            continue
        for uuid in facts.uuids:
            # Ids that a program counts up for itself repeat in every session; those of records are long and random.
            if len(uuid) >= 32:
                joined.join(n, by_uuid.setdefault(f"{facts.source}:{uuid}", n))
    for n, facts in enumerate(sessions):
        if facts.forked_from and facts.driver not in _CHILDREN:
            parent = by_key.get(f"{facts.source}:{facts.forked_from}")
            if parent is not None:
                joined.join(n, parent)
    threads = tuple(_thread(tuple(sessions[n] for n in group)) for group in joined.groups())
    roots = {facts.path: thread.key for thread in threads for facts in thread.files}
    by_session = {facts.key: roots[facts.path] for facts in sessions if facts.driver not in _CHILDREN}
    parents = {
        thread.key: by_session.get(f"{thread.speaker.source}:{thread.speaker.parent}", "")
        for thread in threads
        if thread.speaker.parent
    }
    return Lineage(threads=threads, roots=roots, parents=parents)


def _thread(files: tuple[SessionFacts, ...]) -> Thread:
    oldest = sorted(
        files, key=lambda facts: (facts.started or "~", facts.ended, facts.forked_from != "", facts.key, facts.path)
    )
    speaker = max(files, key=lambda facts: (facts.human_turns, facts.answers, facts.ended, facts.bytes, facts.path))
    return Thread(key=oldest[0].key, speaker=speaker, files=tuple(oldest))


class _Joined:
    """Union-find over positions; the smallest position of a group stands for it."""

    def __init__(self, size: int) -> None:
        self._up = list(range(size))

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self._top(one), self._top(other)))
        self._up[second] = first

    def groups(self) -> Iterable[list[int]]:
        groups: dict[int, list[int]] = {}
        for n in range(len(self._up)):
            groups.setdefault(self._top(n), []).append(n)
        return groups.values()

    def _top(self, n: int) -> int:
        while self._up[n] != n:
            self._up[n] = self._up[self._up[n]]
            n = self._up[n]
        return n
