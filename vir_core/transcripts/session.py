"""What is known of one transcript file: where it lies, who drove it, how much a person said."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from vir_core.contract import Certainty, Driver, Source

ACTIVE = timedelta(minutes=10)


class Trouble(Struct, frozen=True):
    """One file or folder that could not be used. `stage` is find or read; `message` is for people."""

    path: str
    stage: str
    message: str


class SourceFile(Struct, frozen=True, gc=False):
    """A transcript file as found. `source` is the agent whose folder it lies in, `root` that folder; `size` in bytes."""

    path: str
    source: Source
    root: str
    size: int
    mtime_ns: int
    inode: int


class Usage(Struct, frozen=True, array_like=True, gc=False):
    """Tokens that the API says were used, each answer counted once however many lines it takes: `fresh` were read anew,
    `written` to the cache, `cached` read from it, `output` written by the model."""

    answers: int = 0
    fresh: int = 0
    written: int = 0
    cached: int = 0
    output: int = 0


class SessionFacts(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """One transcript file, summed up.

    `session` is the session's id; for a subagent its own agent id, `parent` then names the session that started it.
    `human_turns` counts prompts and queued prompts; `answers` the agent's texts. `started` and `ended` are the smallest
    and greatest record time (RFC 3339, UTC), empty when no record has one. `uuids` are the ids of the first and last
    few records: copies and resumed files share them. `title` and `first_prompt` are there when the file was read just now and
    empty when the facts come from the cache, where no words are kept; `titled` is a digest of the title, empty without one. `bytes` is the file's size, `lines` its lines that are not blank,
    `bad_lines` those that could not be read whole, `oversize_lines` those too long to be decoded (part of `bad_lines`).
    `marks` are the shapes of the first prompts, to compare sessions by; `hands` counts what only somebody at the keyboard
    does: commands, answers to questions, refusals in words. `after` are ids of records in other files that the head of this
    one continues, `opens_compacted` says that it begins with the summary of a compaction; `follows` is the session whose
    plan was handed over here; `copied` counts the prompts in `human_turns`
    that a fork brought along; `team` is the team of agents that it belongs to or leads; `home` is the folder
    a worktree was entered from. `answered` counts a person's answers
    to questions, `refused` the refusals with words of theirs; neither is a human turn.
    """

    path: str
    source: Source
    session: str
    driver: Driver
    certainty: Certainty
    evidence: tuple[str, ...] = ()
    agent: str = ""
    parent: str = ""
    human_turns: int = 0
    answers: int = 0
    last_turn: str = ""
    first_prompt: str = ""
    title: str = ""
    titled: str = ""
    cwd: str = ""
    cwds: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    remote: str = ""
    started: str = ""
    ended: str = ""
    bytes: int = 0
    mtime_ns: int = 0
    inode: int = 0
    lines: int = 0
    bad_lines: int = 0
    oversize_lines: int = 0
    unknown: dict[str, int] = {}
    agent_version: str = ""
    entrypoint: str = ""
    forked_from: str = ""
    uuids: tuple[str, ...] = ()
    rolled_back: int = 0
    marks: tuple[str, ...] = ()
    hands: int = 0
    after: tuple[str, ...] = ()
    follows: str = ""
    opens_compacted: bool = False
    copied: int = 0
    team: str = ""
    home: str = ""
    answered: int = 0
    refused: int = 0
    usage: Usage = Usage()

    @property
    def key(self) -> str:
        """`claude:<id>` or `codex:<id>`; agent ids repeat across sessions, so a subagent's key names its parent too."""
        if self.agent and self.parent:
            return f"{self.source}:{self.parent}/{self.agent}"
        return f"{self.source}:{self.session}"

    @property
    def branch(self) -> str:
        return self.branches[-1] if self.branches else ""

    def active(self, now: datetime) -> bool:
        """Whether somebody may still be at it: its newest record is less than ten minutes old. The time of the record, not
        of the file: a copy made just now is as old as what stands in it. A record dated ten minutes ahead or more comes
        from a clock that was wrong, and must not make its session wait for ever."""
        try:
            newest = datetime.fromisoformat(self.ended)
        except ValueError:
            return False
        return abs(now - newest) < ACTIVE


class NotASession(Exception):
    """The file's content is nobody's transcript that we read; the message says what it looks like."""
