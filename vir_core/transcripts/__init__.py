"""What coding agents left on disk, read: where the transcripts are, who drove each, the turns in them, which files are one
session, which project it belongs to, and the condensed and scrubbed text that alone may go on to a distiller. Nothing here
writes but the survey's own cache and the copies a person asked for, and a broken line never costs the rest of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vir_core.transcripts.archive import Archive, Copy
    from vir_core.transcripts.automated import with_automated
    from vir_core.transcripts.condensing import Condensed, CondensedTurn, condense
    from vir_core.transcripts.explain import TellingLine, telling_lines
    from vir_core.transcripts.finding import Found, find
    from vir_core.transcripts.lineage import Lineage, Thread, join_lineage
    from vir_core.transcripts.project import Project, look_again, named_project, normal_path, project_of
    from vir_core.transcripts.provenance import NOT_THE_PERSON
    from vir_core.transcripts.reading import Transcript, names_of, read_thread, read_turns, usage_of
    from vir_core.transcripts.scrub import scrub_all
    from vir_core.transcripts.session import NotASession, SessionFacts, SourceFile, Trouble
    from vir_core.transcripts.surveying import Survey, survey
    from vir_core.transcripts.turns import HUMAN_PROMPTS, HUMAN_WORDS, LEFT_BRANCH, Turn, TurnKind

__all__ = [
    "HUMAN_PROMPTS",
    "HUMAN_WORDS",
    "LEFT_BRANCH",
    "NOT_THE_PERSON",
    "Archive",
    "Condensed",
    "CondensedTurn",
    "Copy",
    "Found",
    "Lineage",
    "NotASession",
    "Project",
    "SessionFacts",
    "SourceFile",
    "Survey",
    "TellingLine",
    "Thread",
    "Transcript",
    "Trouble",
    "Turn",
    "TurnKind",
    "condense",
    "find",
    "join_lineage",
    "look_again",
    "named_project",
    "names_of",
    "normal_path",
    "project_of",
    "read_thread",
    "read_turns",
    "scrub_all",
    "survey",
    "telling_lines",
    "usage_of",
    "with_automated",
]

# Loaded when asked for: doctor only looks for files, and reading them is most of this room. No module here may have the name
# of something it hands out, or importing the one would hide the other.
_HOME = {
    "HUMAN_PROMPTS": "turns",
    "HUMAN_WORDS": "turns",
    "LEFT_BRANCH": "turns",
    "NOT_THE_PERSON": "provenance",
    "Archive": "archive",
    "Condensed": "condensing",
    "CondensedTurn": "condensing",
    "Copy": "archive",
    "Found": "finding",
    "Lineage": "lineage",
    "NotASession": "session",
    "Project": "project",
    "SessionFacts": "session",
    "SourceFile": "session",
    "Survey": "surveying",
    "TellingLine": "explain",
    "Thread": "lineage",
    "Transcript": "reading",
    "Trouble": "session",
    "Turn": "turns",
    "TurnKind": "turns",
    "condense": "condensing",
    "find": "finding",
    "join_lineage": "lineage",
    "look_again": "project",
    "named_project": "project",
    "names_of": "reading",
    "normal_path": "project",
    "project_of": "project",
    "read_thread": "reading",
    "read_turns": "reading",
    "scrub_all": "scrub",
    "survey": "surveying",
    "telling_lines": "explain",
    "usage_of": "reading",
    "with_automated": "automated",
}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
