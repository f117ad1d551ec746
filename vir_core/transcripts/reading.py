"""One transcript file, opened once: which agent wrote it, and everything it says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from vir_core.transcripts.lines import LineReader
from vir_core.transcripts.session import NotASession, SessionFacts, Source, SourceFile
from vir_core.transcripts.turns import HUMAN_PROMPTS, Turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from vir_core.transcripts.dialects import Reader
    from vir_core.transcripts.lineage import Thread

R = TypeVar("R", bound="Reader")

_PEEKED = 400
"""Lines looked at before giving up on a file whose records nobody knows."""


class Transcript(Struct, frozen=True, kw_only=True):
    """`turns` in file order, which is causal order; `title` as the agent or the person named the session, or empty."""

    facts: SessionFacts
    turns: tuple[Turn, ...] = ()
    title: str = ""


class Summed(Struct, frozen=True):
    """Facts of one file, and the bytes that were read for them."""

    facts: SessionFacts
    read: int


# The readers' patterns and Structs take milliseconds to build, and a pass that finds nothing new needs none of them.


def sum_up(file: SourceFile) -> Summed:
    """The facts of one file. Raises NotASession for content that is nobody's transcript, OSError when it cannot be read."""
    from vir_core.transcripts.dialects import facts_reader

    _, facts, read = _read(file.path, file.source, facts_reader)
    return Summed(facts, read)


def read_turns(file: SourceFile | SessionFacts | Path | str, source: Source = "claude") -> Transcript:
    """All turns of one file, in memory bounded by its text: results are capped, lines over 16 MiB left out.

    Raises NotASession for content that is nobody's transcript, OSError when it cannot be read."""
    from vir_core.transcripts.dialects import turn_reader

    if isinstance(file, (Path, str)):
        path = str(file)
    else:
        path, source = file.path, file.source
    reader, facts, _ = _read(path, source, turn_reader)
    return Transcript(facts=facts, turns=reader.turns(facts), title=facts.title)


def read_thread(thread: Thread) -> Transcript:
    """The turns of all files of one session, each once, the oldest file first: a fork's own words and those of the
    session it left are both there. Facts are the speaker's, with counts, times and branches of the whole.

    A file that disappeared meanwhile is left out unless it is the speaker; raises as `read_turns` does."""
    spoken = read_turns(thread.speaker)
    if len(thread.files) == 1:
        return spoken
    seen: set[tuple[str, str]] = set()
    turns: list[Turn] = []
    for facts in thread.files:
        try:
            transcript = spoken if facts.path == thread.speaker.path else read_turns(facts)
        except (FileNotFoundError, NotASession):
            continue
        for turn in transcript.turns:
            if (turn.id, turn.text) not in seen:
                seen.add((turn.id, turn.text))
                turns.append(turn)
    human = [turn for turn in turns if turn.kind in HUMAN_PROMPTS]
    started = min((facts.started for facts in thread.files if facts.started), default="")
    whole = msgspec.structs.replace(
        spoken.facts,
        human_turns=len(human),
        last_turn=human[-1].id if human else "",
        started=started,
        ended=max(facts.ended for facts in thread.files),
        branches=tuple(dict.fromkeys(branch for facts in thread.files for branch in facts.branches)),
    )
    title = spoken.title or next((facts.title for facts in reversed(thread.files) if facts.title), "")
    return Transcript(facts=whole, turns=tuple(turns), title=title)


def _read(path: str, source: Source, make: Callable[[Source, str], R]) -> tuple[R, SessionFacts, int]:
    with Path(path).open("rb", buffering=0) as handle:
        # The size now, not later: what is appended while we read belongs to the next pass, and the numbers kept must be
        # those of what was read.
        stat = os.fstat(handle.fileno())
        lines = LineReader(handle, stat.st_size)
        reader = _fed(lines, path, source, make)
    facts = reader.facts(path)
    facts = msgspec.structs.replace(
        facts,
        bytes=stat.st_size,
        mtime_ns=stat.st_mtime_ns,
        inode=stat.st_ino,
        lines=facts.lines + lines.oversize,
        bad_lines=facts.bad_lines + lines.oversize,
        oversize_lines=lines.oversize,
    )
    return reader, facts, lines.read


def _fed(lines: LineReader, path: str, source: Source, make: Callable[[Source, str], R]) -> R:
    from vir_core.transcripts.dialects import ClaudeFacts, dialect_of, kinds_of

    feed = iter(lines)
    held: list[bytes] = []
    dialect: Source | None = None
    for line in feed:
        if not held and (line == b"{" or line.startswith(b"[")):
            raise NotASession("One JSON document over many lines; Claude Code and Codex write one record a line.")
        held.append(line)
        dialect = dialect_of(line)
        if dialect or len(held) >= _PEEKED:
            break
    if dialect is None and held:
        raise NotASession(f"No line of it is a record of Claude Code or Codex{kinds_of(held)}.")
    reader = make(dialect or source, path)
    take = reader.feed
    for line in held:
        take(line)
    for line in feed:
        take(line)
    if isinstance(reader, ClaudeFacts) and reader.is_stream_json():
        raise NotASession(
            "The output of `--output-format stream-json`, no transcript; the session has a file of its own."
        )
    return reader
