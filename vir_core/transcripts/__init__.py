"""What coding agents left on disk, read: where the transcripts are, who drove each, the turns in them, which files are one
session, which project it belongs to, and the condensed and scrubbed text that alone may go on to a distiller. Nothing here
writes but the survey's own cache, and a broken line never costs the rest of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vir_core.transcripts.automated import with_automated
from vir_core.transcripts.condense import Condensed, CondensedTurn, condense
from vir_core.transcripts.explain import TellingLine, telling_lines
from vir_core.transcripts.find import Found, find
from vir_core.transcripts.lineage import Lineage, Thread, join_lineage
from vir_core.transcripts.project import Project, named_project, normal_path, project_of
from vir_core.transcripts.provenance import NOT_THE_PERSON
from vir_core.transcripts.reading import Transcript, read_thread, read_turns
from vir_core.transcripts.session import NotASession, SessionFacts, SourceFile, Trouble
from vir_core.transcripts.survey import Survey, survey
from vir_core.transcripts.turns import HUMAN_PROMPTS, HUMAN_WORDS, Turn, TurnKind

if TYPE_CHECKING:
    from vir_core.transcripts.scrub import scrub_all

__all__ = [
    "HUMAN_PROMPTS",
    "HUMAN_WORDS",
    "NOT_THE_PERSON",
    "Condensed",
    "CondensedTurn",
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
    "named_project",
    "normal_path",
    "project_of",
    "read_thread",
    "read_turns",
    "scrub_all",
    "survey",
    "telling_lines",
    "with_automated",
]


def __getattr__(name: str) -> object:
    # The patterns that find secrets cost doctor, which only looks for files, more than the looking.
    if name != "scrub_all":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from vir_core.transcripts.scrub import scrub_all

    return scrub_all
