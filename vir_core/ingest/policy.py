"""Which projects a run distils: what the person decided, and what counts where they decided nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from vir_core.contract import Decision
from vir_core.transcripts import Project

PATTERN = "pattern:"
SKIPPED: Mapping[Decision, str] = {"exclude": "excluded", "ask": "undecided", "given": "given"}
"""The reason that a session is skipped for, by the decision about its project."""


class Decided(Struct, frozen=True, kw_only=True):
    """`by` is you, pattern or default; `to` the vault a project was given to."""

    decision: Decision
    by: str
    pattern: str = ""
    to: str = ""


class Pattern(Struct, frozen=True, kw_only=True):
    subject: str
    pattern: str
    decision: Decision


class Policy(Struct, frozen=True, kw_only=True):
    """`projects` by id, `patterns` newest first; a decision about the project itself counts before any pattern."""

    default: Decision = "include"
    projects: Mapping[str, Decided] = {}
    patterns: Sequence[Pattern] = ()

    def about(self, project: Project) -> Decided:
        if known := self.projects.get(project.id):
            return known
        for one in self.patterns:
            if fits(one.pattern, project):
                return Decided(decision=one.decision, by="pattern", pattern=one.pattern)
        return Decided(decision=self.default, by="default")

    def skips(self, project: Project, *, named: bool) -> str:
        """Why the sessions of a project wait or are left out; empty when they are taken. Naming an undecided project for
        this run (`named`) is an answer for this run."""
        decision = self.about(project).decision
        return "" if named and decision == "ask" else SKIPPED.get(decision, "")


def is_pattern(word: str) -> bool:
    return any(sign in word for sign in "*?[")


def fits(pattern: str, project: Project) -> bool:
    """Whether the pattern matches the project's name, its key, or its folder, without regard to case."""
    wanted = pattern.casefold()
    return any(fnmatchcase(said.casefold(), wanted) for said in (project.name, project.key, project.place) if said)
