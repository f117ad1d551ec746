"""What is known of one transcript file: where it lies, who drove it, how much a person said."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Source = Literal["claude", "codex"]
Certainty = Literal["sure", "likely", "unsure"]
Driver = Literal[
    "human",
    "plan_handoff",
    "automated",
    "headless",
    "subagent",
    "workflow",
    "teammate",
    "compaction",
    "observer",
    "internal",
    "empty",
]


class Trouble(Struct, frozen=True):
    """One file or folder that could not be used. `stage` is find or read; `message` is for people."""

    path: str
    stage: str
    message: str


class SourceFile(Struct, frozen=True):
    """A transcript file as found. `source` is the agent whose folder it lies in, `root` that folder; `size` in bytes."""

    path: str
    source: Source
    root: str
    size: int
    mtime_ns: int
    inode: int


class SessionFacts(Struct, frozen=True, kw_only=True, array_like=True):
    """One transcript file, summed up.

    `session` is the session's id; for a subagent its own agent id, `parent` then names the session that started it.
    `human_turns` counts prompts and queued prompts; `answers` the agent's texts. `started` and `ended` are the smallest
    and greatest record time (RFC 3339, UTC), empty when no record has one. `uuids` are the ids of the first and last
    few records: copies and resumed files share them. `bytes` is the file's size, `lines` its lines that are not blank,
    `bad_lines` those that could not be read whole, `oversize_lines` those too long to be decoded (part of `bad_lines`).
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

    @property
    def key(self) -> str:
        """`claude:<id>` or `codex:<id>`; agent ids repeat across sessions, so a subagent's key names its parent too."""
        if self.agent and self.parent:
            return f"{self.source}:{self.parent}/{self.agent}"
        return f"{self.source}:{self.session}"

    @property
    def branch(self) -> str:
        return self.branches[-1] if self.branches else ""


class NotASession(Exception):
    """The file's content is nobody's transcript that we read; the message says what it looks like."""
