"""One transcript file, opened once: which agent wrote it, and everything it says."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

import msgspec
from msgspec import Struct

from vir_core.transcripts.lines import Block, LineReader, lines_of
from vir_core.transcripts.session import NotASession, SessionFacts, Source, SourceFile, Usage
from vir_core.transcripts.turns import HUMAN_PROMPTS, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from vir_core.transcripts.claude_lines import Used
    from vir_core.transcripts.compressed import Unpacked
    from vir_core.transcripts.dialects import Reader
    from vir_core.transcripts.lineage import Thread

R = TypeVar("R", bound="Reader")

_PEEKED = 400
_PEEKED_BYTES = 4 << 20
"""Lines, and bytes, looked at before giving up on a file whose records nobody knows."""
_PROVEN = 4096
"""Bytes at the head and before the offset that must be as they were for reading to go on from there."""


class Transcript(Struct, frozen=True, kw_only=True):
    """`turns` in file order, which is causal order; `title` as the agent or the person named the session, or empty."""

    facts: SessionFacts
    turns: tuple[Turn, ...] = ()
    title: str = ""


class Resume(Struct, frozen=True, array_like=True):
    """Where to go on in a file that grows: behind its last whole line at `offset`, with what was learnt up to there. `head`
    and `tail` are digests of its first bytes and of those before the offset; a rewritten file has others."""

    path: str
    inode: int
    offset: int
    head: bytes
    tail: bytes
    source: Source
    state: bytes
    oversize: int = 0


class Summed(Struct, frozen=True):
    """Facts of one file, the bytes that were read for them, and where to go on when it has grown."""

    facts: SessionFacts
    read: int
    resume: Resume | None = None


class ChangedMeanwhile(OSError):
    """The file was cut, rewritten or replaced while it was read; what was read is of no whole file."""


# The readers' patterns and Structs take milliseconds to build, and a pass that finds nothing new needs none of them.


def sum_up(file: SourceFile, *, resume: Resume | None = None, keep: bool = False) -> Summed:
    """The facts of one file. `resume` lets reading go on where it stopped when the file has only grown since; `keep` asks
    for the next such place.

    Raises NotASession for content that is nobody's transcript, ChangedMeanwhile when it changed under our hands, OSError
    when it cannot be read."""
    from vir_core.transcripts.dialects import facts_reader, resumed_reader

    if resume is not None:
        try:
            reader = resumed_reader(resume.source, file.path, resume.state)
        except msgspec.MsgspecError:
            reader = None
        if reader is not None and (summed := _Reading(file.path).on(reader, resume, keep)):
            return summed
    reading = _Reading(file.path)
    reader = reading.whole(file.source, facts_reader, keep)
    return Summed(reading.facts(reader), reading.taken, reading.resume)


class Outcome(Struct, frozen=True, array_like=True):
    """What became of one file: its facts, why it is no session, or what went wrong."""

    file: SourceFile
    facts: SessionFacts | None = None
    refused: str = ""
    trouble: str = ""
    read: int = 0
    resume: Resume | None = None


def outcome_of(file: SourceFile, *, resume: Resume | None = None, keep: bool = False) -> Outcome:
    """As `sum_up`, but whatever goes wrong with this file is told, not raised: it must not cost the other sessions."""
    try:
        summed = sum_up(file, resume=resume, keep=keep)
    except NotASession as reason:
        return Outcome(file, refused=str(reason), read=file.size)
    except OSError as error:
        return Outcome(file, trouble=_because(error))
    except (TypeError, ValueError, LookupError, AttributeError, AssertionError, RecursionError, MemoryError) as error:
        # A record shaped as no reader expected; the file is named and tried again.
        return Outcome(file, trouble=f"It could not be understood ({type(error).__name__}).")
    return Outcome(file, summed.facts, read=summed.read, resume=summed.resume)


def _because(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "No permission to read this transcript."
    if isinstance(error, FileNotFoundError):
        return "The transcript disappeared while it was being read."
    if isinstance(error, ChangedMeanwhile):
        return "The transcript was cut, rewritten or replaced while it was being read; the next run reads it again."
    return f"The transcript could not be read: {error.strerror or error}."


def read_turns(file: SourceFile | SessionFacts | Path | str, source: Source = "claude") -> Transcript:
    """All turns of one file, in memory bounded by its text: results are capped, lines over 16 MiB left out.

    Raises NotASession for content that is nobody's transcript, OSError when it cannot be read."""
    from vir_core.transcripts.dialects import turn_reader

    if isinstance(file, (Path, str)):
        path = str(file)
    else:
        path, source = file.path, file.source
    reading = _Reading(path)
    reader = reading.whole(source, turn_reader)
    facts = reading.facts(reader)
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


def names_of(facts: SessionFacts) -> tuple[str, str]:
    """(title, first prompt) of a session, read again when the facts come from the cache, which keeps no words. Empty when the
    file cannot be read now."""
    if facts.title or (facts.first_prompt and not facts.titled) or not (facts.titled or facts.human_turns):
        return facts.title, facts.first_prompt
    from vir_core.transcripts.dialects import facts_reader

    try:
        found = _Reading(facts.path).whole(facts.source, facts_reader).facts(facts.path)
    except (OSError, NotASession):
        return "", ""
    return found.title, found.first_prompt


def usage_of(thread: Thread) -> Usage:
    """The tokens that one session used, each answer of the API once, however many lines and files of the session repeat it.
    A file that cannot be read now counts nothing."""
    if len(thread.files) == 1:
        return thread.speaker.usage
    from vir_core.transcripts.claude import ClaudeFacts, summed_usage
    from vir_core.transcripts.dialects import facts_reader

    answers: dict[str, Used] = {}
    counted: dict[str, Usage] = {}  # of rollouts, whose totals belong to one id: copies of it say the same or less
    total = Usage()
    for facts in thread.files:
        try:
            reader = _Reading(facts.path).whole(facts.source, facts_reader)
        except (OSError, NotASession):
            continue
        if isinstance(reader, ClaudeFacts):
            for key, used in reader.state.used.items():
                before = answers.get(key)
                if before is None or (before.output_tokens or 0) <= (used.output_tokens or 0):
                    answers[key] = used
            total = summed_usage((), total, reader.state.spent)
        else:
            mine, known = reader.state.spent, counted.get(facts.session, Usage())
            counted[facts.session] = max(mine, known, key=lambda one: (one.answers, one.output))
    return summed_usage(answers.values(), total, *counted.values())


class _Reading:
    """One look at one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.resume: Resume | None = None
        self.taken = 0
        self._oversize = 0
        self._torn = False

    def whole(self, source: Source, make: Callable[[Source, str], R], keep: bool = False) -> R:
        with open(self.path, "rb", buffering=0) as handle:  # noqa: PTH123  a Path costs as much as the opening
            # The size now, not later: what is appended while we read belongs to the next pass, and the numbers kept must
            # be those of what was read.
            self._stat = stat = os.fstat(handle.fileno())
            packed = _unpacked(handle) if self.path.endswith(".zst") else None
            lines = LineReader(packed, None) if packed else LineReader(handle, stat.st_size)
            blocks = iter(lines)
            dialect, held = _peek(blocks, lines)
            reader = make(dialect or source, self.path)
            for block in held:
                reader.feed_block(block)
            for block in blocks:
                reader.feed_block(block)
            if keep and not packed:
                self._note_resume(handle, reader, lines)
            _finish(reader, lines)
            self._torn = packed is not None and packed.torn
            self.taken = stat.st_size if packed else lines.read
            if not packed:
                self._check(handle, lines.read == stat.st_size)
        self._oversize = lines.oversize
        return reader

    def on(self, reader: Reader, resume: Resume, keep: bool) -> Summed | None:
        """Goes on from `resume`, or None when the file is not the one it was with something added."""
        with open(self.path, "rb", buffering=0) as handle:  # noqa: PTH123  a Path costs as much as the opening
            self._stat = stat = os.fstat(handle.fileno())
            if (
                stat.st_ino != resume.inode
                or stat.st_size < resume.offset
                or _proof(handle, resume.offset)
                != (
                    resume.head,
                    resume.tail,
                )
            ):
                return None
            handle.seek(resume.offset)
            lines = LineReader(handle, stat.st_size - resume.offset, resume.offset)
            lines.oversize = resume.oversize
            for block in lines:
                reader.feed_block(block)
            if keep:
                self._note_resume(handle, reader, lines)
            _finish(reader, lines)
            self.taken = lines.read
            self._check(handle, resume.offset + lines.read == stat.st_size)
        self._oversize = lines.oversize
        return Summed(self.facts(reader), self.taken, self.resume)

    def facts(self, reader: Reader) -> SessionFacts:
        facts = reader.facts(self.path)
        stat = self._stat
        return msgspec.structs.replace(
            facts,
            bytes=stat.st_size,
            mtime_ns=stat.st_mtime_ns,
            inode=stat.st_ino,
            lines=facts.lines + self._oversize,
            bad_lines=facts.bad_lines + self._oversize + self._torn,
            oversize_lines=self._oversize,
        )

    def _note_resume(self, handle: BinaryIO, reader: Reader, lines: LineReader) -> None:
        from vir_core.transcripts.dialects import CodexFacts, state_of

        if lines.complete <= 0 or not (state := state_of(reader)):
            return
        head, tail = _proof(handle, lines.complete)
        source: Source = "codex" if isinstance(reader, CodexFacts) else "claude"
        self.resume = Resume(self.path, self._stat.st_ino, lines.complete, head, tail, source, state, lines.oversize)

    def _check(self, handle: BinaryIO, complete: bool) -> None:
        """Growing is what a live transcript does; anything else means that the lines read do not belong together."""
        before, after = self._stat, os.fstat(handle.fileno())
        rewritten = after.st_size == before.st_size and after.st_mtime_ns != before.st_mtime_ns
        if not complete or after.st_size < before.st_size or rewritten or after.st_nlink == 0:
            raise ChangedMeanwhile("changed while it was being read")


def _unpacked(handle: BinaryIO) -> Unpacked:
    from vir_core.transcripts.compressed import Unpacked

    return Unpacked(handle)


def _finish(reader: Reader, lines: LineReader) -> None:
    """The last line without an end: whole in copies that lost the line end, torn while the agent writes it. Reading
    resumes before it."""
    from vir_core.transcripts.dialects import ClaudeFacts

    for line in lines_of(lines.tail):
        reader.feed(line)
    if isinstance(reader, ClaudeFacts) and reader.is_stream_json():
        raise NotASession(
            "The output of `--output-format stream-json`, no transcript; the session has a file of its own."
        )


def _proof(handle: BinaryIO, offset: int) -> tuple[bytes, bytes]:
    handle.seek(0)
    head = sha256(handle.read(min(_PROVEN, offset))).digest()[:16]
    handle.seek(max(0, offset - _PROVEN))
    return head, sha256(handle.read(min(_PROVEN, offset))).digest()[:16]


def _peek(blocks: Iterator[Block], lines: LineReader) -> tuple[Source | None, list[Block]]:
    """(whose records these are, the blocks taken to see it)."""
    from vir_core.transcripts.dialects import dialect_of, kinds_of

    held: list[Block] = []
    seen: list[bytes] = []
    for block in blocks:
        # A block is good until the next is asked for; the one that decides is used at once.
        for line in lines_of(block):
            if not seen:
                _refuse_document(line)
            seen.append(line)
            if dialect := dialect_of(line):
                return dialect, [*held, block]
            if len(seen) >= _PEEKED:
                break
        held.append(bytes(block))
        if len(seen) >= _PEEKED or sum(map(len, held)) > _PEEKED_BYTES:
            break
    else:
        for line in lines_of(lines.tail):
            if not seen:
                _refuse_document(line)
            seen.append(line)
            if dialect := dialect_of(line):
                return dialect, held
    if seen:
        raise NotASession(f"No line of it is a record of Claude Code or Codex{kinds_of(seen)}.")
    return None, held


def _refuse_document(line: bytes) -> None:
    if line == b"{" or line.startswith(b"["):
        raise NotASession("One JSON document over many lines; Claude Code and Codex write one record a line.")
