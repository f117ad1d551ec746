"""The query log: which questions were answered here, and which notes they were shown. A record of this machine, never of
the vault; a person can turn it off. Writing it must neither slow nor fail an answer, so a line may be missing."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.machine import ANYTHING, MachineError, append, read_bytes, try_hold, write_atomic

QUERIES = "queries.jsonl"
EARLIER = "queries.1.jsonl"
SEAL = 4 << 20
"""Bytes at which the log begins anew; the part before that is kept until the next time, so at most twice this lies here."""

MOST_TEXT = 500
"""Characters of a question that are kept: enough to know it again. A pasted log is not a question to be read later."""


class Asked(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answered question. `at` is UTC; `verb` is query, related or recent; `surface` is cli, serve or mcp; `session` and
    `agent` say who asked as far as it is known; `where` is the name of the project it was asked in; `notes` are the notes
    shown, best first; `withheld` counts what matched and was not shown."""

    at: str
    verb: str
    surface: str
    text: str
    session: str = ""
    agent: str = ""
    where: str = ""
    notes: tuple[str, ...] = ()
    withheld: int = 0


class Shown(Struct, frozen=True):
    """How often a note was in an answer; `last` (UTC) and `where` are those of the latest."""

    times: int
    last: str
    where: str = ""


_decoder = msgspec.json.Decoder(Asked)


def record_asked(state: Path, asked: Asked) -> bool:
    """Adds one line; False when the disk refused. Never raises, never makes the state folder, never waits."""
    if len(asked.text) > MOST_TEXT:
        asked = msgspec.structs.replace(asked, text=asked.text[:MOST_TEXT] + "…")
    path = state / QUERIES
    try:
        line = msgspec.json.encode(asked) + b"\n"
        if append(path, line, fsync=False, private=True) + len(line) >= SEAL:
            _seal(state)
    except (MachineError, OSError, UnicodeEncodeError):
        # `doctor` looks whether the log can be written; here the answer matters.
        return False
    return True


def can_record(state: Path) -> bool:
    """Whether a line could be added now; it is found out without adding one."""
    path = state / QUERIES
    try:
        return path.is_file() and os.access(path, os.W_OK) if path.exists() else os.access(state, os.W_OK | os.X_OK)
    except OSError:
        return False


def read_asked(state: Path) -> list[Asked]:
    """Every question of the log, oldest first; a line that cannot be read is left out."""
    return list(_asked(state))


def shown_counts(state: Path) -> dict[str, Shown]:
    """Per note that was ever shown, how often and when last; empty without a log."""
    return counted_shown(_asked(state))


def counted_shown(log: Iterable[Asked]) -> dict[str, Shown]:
    """`shown_counts` of a log that was read already."""
    counts: dict[str, Shown] = {}
    for asked in log:
        for note in asked.notes:
            before = counts.get(note)
            if before is None or asked.at >= before.last:
                counts[note] = Shown((before.times if before else 0) + 1, asked.at, asked.where)
            else:
                counts[note] = Shown(before.times + 1, before.last, before.where)
    return counts


def shown_words(shown: Shown | None, now: datetime) -> str:
    """`shown 7 times, last yesterday in api-server`; empty when it never was. `now` has a zone, and days are days there."""
    if shown is None or not shown.times:
        return ""
    times = "once" if shown.times == 1 else f"{shown.times} times"
    last = _day_words(shown.last, now)
    place = f" in {shown.where}" if shown.where else ""
    return f"shown {times}, {'last ' if shown.times > 1 else ''}{last}{place}"


def asked_about(asked: Asked, notes: Collection[str]) -> bool:
    """Whether an answer to this question held one of the notes, or the question named one."""
    return any(note in asked.notes or note in asked.text for note in notes)


def erase_shown(state: Path, notes: Collection[str]) -> int:
    """Takes every question about these notes out of the log, words and all, because who asks for a thing may say it; returns
    how many. A question that is answered in this moment may be lost. Raises `StorageError`."""
    erased = 0
    for name in (EARLIER, QUERIES):
        before = list(_asked_of(state / name))
        kept = [asked for asked in before if not asked_about(asked, notes)]
        if len(kept) < len(before):
            erased += len(before) - len(kept)
            content = b"".join(msgspec.json.encode(asked) + b"\n" for asked in kept)
            write_atomic(state / name, content, expected=ANYTHING, private=True)
    return erased


def _seal(state: Path) -> None:
    held = try_hold(state / "locks" / "queries.lock", "query")
    if held is None:
        return
    with held:
        # Another process may have done it while this one came here.
        if (state / QUERIES).stat().st_size >= SEAL:
            (state / QUERIES).replace(state / EARLIER)


def _asked(state: Path) -> Iterator[Asked]:
    for name in (EARLIER, QUERIES):
        yield from _asked_of(state / name)


def _asked_of(path: Path) -> Iterator[Asked]:
    try:
        content = read_bytes(path)
    except (OSError, MachineError):
        return
    for line in content.split(b"\n"):
        # A process that was killed while writing leaves half a line.
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            if line:
                yield _decoder.decode(line)


def _day_words(at: str, now: datetime) -> str:
    try:
        day = datetime.fromisoformat(at).astimezone(now.tzinfo).date()
    except ValueError:
        return "some time ago"
    days = (now.date() - day).days
    if days < 1:
        return "today"
    if days == 1:
        return "yesterday"
    return f"{days} days ago" if days < 30 else f"on {day.isoformat()}"
