"""The payload of each line that memory understands. Fields are added, never renamed; a changed meaning is a new action."""

from __future__ import annotations

from msgspec import Struct


class EvidenceRef(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A lesson, the digest of the text that holds its quote with the turns around it, and its values: keyed digests of what
    it states (see `statements`)."""

    id: str
    evidence: str = ""
    values: tuple[str, ...] = ()


class SegmentStarted(Struct, frozen=True, kw_only=True):
    vault: str
    device: str
    n: int
    prev: str = ""


class NoteWritten(Struct, frozen=True, kw_only=True):
    """`text` is the digest of the text (header and body), `body` that of the bytes below the frontmatter, `words` the
    content digest, `turns` how many prompts and answers of a person the session had, `parts` the values of the title and of
    the sentences of summary and context."""

    text: str
    body: str
    words: str
    category: str
    project: str
    date: str
    session: str
    run: str = ""
    distiller: str = ""
    confidence: float = 0.0
    lessons: tuple[EvidenceRef, ...] = ()
    turns: int = 0
    parts: tuple[str, ...] = ()


class SessionSettled(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`outcome` is noted, nothing_durable or refused. `refused` are the values of what was rejected before and so not written
    again. `turns` counts the person's prompts and `replies` what the agent said, so that a
    session read while the agent was still at work is seen to have gone on; -1 where that was not written down."""

    outcome: str
    note: str = ""
    turns: int = 0
    replies: int = -1
    last: str = ""
    source: str = ""
    run: str = ""
    refused: tuple[str, ...] = ()


class SessionJoined(Struct, frozen=True, kw_only=True):
    """`into` is the key of the session that the subject continues or copies."""

    into: str


class RunFinished(Struct, frozen=True, kw_only=True):
    written: int = 0
    kept: int = 0
    unchanged: int = 0
    failed: int = 0
    skipped: dict[str, int] = {}


class Approved(Struct, frozen=True, kw_only=True):
    digest: str = ""
    text: str = ""
    after: str = ""
    args: dict[str, str] = {}


class Rejected(Struct, frozen=True, kw_only=True):
    """`lessons` are those whose words are wrong or private; with `struck` the lessons alone are taken out. `values` are those
    of the statements that shall not come back, `text` the digest of the words as they were rejected when they are other than
    vir wrote."""

    reason: str = ""
    digest: str = ""
    lessons: tuple[str, ...] = ()
    struck: tuple[str, ...] = ()
    of: str = ""
    why: str = ""
    after: str = ""
    values: tuple[str, ...] = ()
    text: str = ""


class Held(Struct, frozen=True, kw_only=True):
    """`like` is what the note resembles, `n…#l…`, and `lesson` the lesson of its own that does."""

    reason: str = ""
    like: str = ""
    lesson: str = ""


class Lifted(Struct, frozen=True, kw_only=True):
    hold: str = ""
    after: str = ""


class ProjectDecided(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person decided about distilling a project: include, exclude, ask, or given to the vault `to`. The subject is
    the project's id, or `pattern:<digest>` for all whose name or key fit a pattern; `text` is the digest of the text that
    holds the pattern, or the project's name, in words. A preference: it withholds nothing and notes stay as they are."""

    decision: str
    text: str = ""
    to: str = ""


class NotesUndone(Struct, frozen=True, kw_only=True):
    run: str = ""


class LinesGivenUp(Struct, frozen=True, kw_only=True):
    """A person took the disk as it is: `count` lines of `devices` that one computer still had no longer count there. `list`
    is sha256 over their sorted hashes."""

    count: int = 0
    list: str = ""
    devices: tuple[str, ...] = ()
