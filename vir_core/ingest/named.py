"""Which session a person means by a word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from vir_core.contract import RequestError
from vir_core.ingest.standing import session_key
from vir_core.memory import Memory
from vir_core.transcripts import SessionFacts, Thread

SHORTEST = 6
"""Letters from which on the beginning of an id may stand for it."""


def find_session(word: str, threads: Sequence[Thread], memory: Memory) -> tuple[Thread, SessionFacts]:
    """The session meant, and the file of it: the one named, else the one that holds most. `word` is its id, its key, a file,
    or the first six or more letters of an id. Raises `RequestError` when none or several are called so."""
    asked = Path(word).expanduser()
    path = str(asked if asked.is_absolute() else asked.absolute())
    close: dict[str, tuple[Thread, SessionFacts]] = {}
    for thread in threads:
        for facts in thread.files:
            if path == facts.path:
                return thread, facts
        for name in _names(thread, memory):
            if word == name:
                return thread, thread.speaker
            if len(word) >= SHORTEST and name.startswith(word):
                close[thread.key] = (thread, thread.speaker)
    if len(close) == 1:
        return next(iter(close.values()))
    if close:
        raise RequestError(f"More than one session begins with {word!r}.", f"Name one: {', '.join(sorted(close)[:8])}.")
    raise RequestError(f"No session here is called {word!r}.", "`vir_core sessions` lists them with their ids.")


def _names(thread: Thread, memory: Memory) -> Iterator[str]:
    """Its key, also the one it was first distilled under, and every id and key of its files."""
    key = session_key(thread, memory)
    yield key
    yield key.partition(":")[2]
    for facts in thread.files:
        yield facts.key
        yield facts.session
