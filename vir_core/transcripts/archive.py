"""Scrubbed copies of sessions that were distilled, kept when the person asked for it: quotes stay checkable after the agent
has deleted its file. A record of this machine: nothing removes it but its stated age, `forget` and `uninstall`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.machine import ANYTHING, make_dirs, write_atomic
from vir_core.text import note_id
from vir_core.transcripts.reading import Transcript
from vir_core.transcripts.session import SessionFacts, Source
from vir_core.transcripts.turns import Turn

SUFFIX = ".jsonl.zst"
YEAR = timedelta(days=365)
LEVEL = 6
_LARGEST = 1 << 30
"""Bytes that one copy may unfold to: a damaged frame must not ask for more."""


class Head(Struct, frozen=True, kw_only=True):
    """First line of a copy. `files` are names without their folders; `at` is when it was made, UTC."""

    v: int = 1
    key: str
    at: str
    source: Source
    session: str
    title: str = ""
    cwd: str = ""
    branches: tuple[str, ...] = ()
    started: str = ""
    ended: str = ""
    human_turns: int = 0
    answers: int = 0
    files: tuple[str, ...] = ()


class Copy(Struct, frozen=True):
    head: Head
    transcript: Transcript


class Holdings(Struct, frozen=True, kw_only=True):
    """What an archive holds: copies, their bytes on disk, and when the oldest was made (seconds since 1970, 0 without any)."""

    copies: int = 0
    bytes: int = 0
    oldest: float = 0.0


class Archive:
    """One vault's copies, a file a session, named by the id that its note has or would have."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str) -> Path:
        """Where the copy of the session with this key lies, or would."""
        return self.folder / f"{note_id(key)}{SUFFIX}"

    def put(self, key: str, transcript: Transcript, files: tuple[str, ...], at: datetime) -> int:
        """Writes or replaces the copy of a session; returns its bytes. What programs put into the session is left out, the
        rest is scrubbed as for a distiller. Raises `machine.MachineError`."""
        import zstandard

        from vir_core.transcripts.scrub import scrub_all

        facts = transcript.facts
        kept = [turn for turn in transcript.turns if turn.kind != "injected"]
        names = (transcript.title, facts.cwd, *facts.branches)
        texts, _ = scrub_all((*names, *(turn.text for turn in kept)))
        head = Head(
            key=key,
            at=f"{at:%Y-%m-%dT%H:%M:%SZ}",
            source=facts.source,
            session=facts.session,
            title=texts[0],
            cwd=texts[1],
            branches=texts[2 : len(names)],
            started=facts.started,
            ended=facts.ended,
            human_turns=facts.human_turns,
            answers=facts.answers,
            files=tuple(os.path.basename(path) for path in files),  # noqa: PTH119  of either system
        )
        turns = (msgspec.structs.replace(turn, text=text) for turn, text in zip(kept, texts[len(names) :], strict=True))
        content = b"".join(_encoder.encode(one) + b"\n" for one in (head, *turns))
        packed = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(content)
        make_dirs(self.folder, private=True)
        write_atomic(self.path(key), packed, expected=ANYTHING, private=True)
        return len(packed)

    def get(self, key: str) -> Copy | None:
        """The copy of a session; None when there is none, or none that can be read. Turns of a kind that this version does
        not know are left out."""
        try:
            packed = self.path(key).read_bytes()
        except OSError:
            return None
        import zstandard

        try:
            content = zstandard.ZstdDecompressor().decompress(packed, max_output_size=_LARGEST)
        except (zstandard.ZstdError, MemoryError):
            return None
        first, *rest = content.split(b"\n")
        try:
            head = _heads.decode(first)
        except (msgspec.MsgspecError, UnicodeError):
            return None
        facts = SessionFacts(
            path="",
            source=head.source,
            session=head.session,
            driver="human",
            certainty="unsure",
            title=head.title,
            cwd=head.cwd,
            branches=head.branches,
            started=head.started,
            ended=head.ended,
            human_turns=head.human_turns,
            answers=head.answers,
        )
        return Copy(head, Transcript(facts=facts, turns=tuple(_turns_of(rest)), title=head.title))

    def holdings(self) -> Holdings:
        """Counts from one look at the folder; nothing is opened."""
        times: list[float] = []
        total = 0
        for entry in self._entries():
            stat = entry.stat()
            total += stat.st_size
            times.append(stat.st_mtime)
        return Holdings(copies=len(times), bytes=total, oldest=min(times, default=0.0))

    def rotate(self, keep: timedelta, now: datetime) -> int:
        """Removes copies made longer ago than `keep`; returns how many. A session that went on was copied anew."""
        last = (now - keep).timestamp()
        old = [entry.path for entry in self._entries() if entry.stat().st_mtime < last]
        for path in old:
            Path(path).unlink(missing_ok=True)
        return len(old)

    def _entries(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.folder) as entries:
                return [entry for entry in entries if entry.name.endswith(SUFFIX)]
        except (FileNotFoundError, NotADirectoryError):
            return []


def _turns_of(lines: list[bytes]) -> Iterator[Turn]:
    for line in lines:
        try:
            yield _turns.decode(line)
        except (msgspec.MsgspecError, UnicodeError):
            continue


_encoder = msgspec.json.Encoder()
_heads = msgspec.json.Decoder(Head)
_turns = msgspec.json.Decoder(Turn)
