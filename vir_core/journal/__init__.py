"""The journal: facts as lines in append-only files that travel with the vault, and the texts those lines name. It knows
how a line is written, ordered, mirrored, replayed and checkpointed, and it knows no notes: what a line means is the
business of the projection that it is replayed into. The engine reads journals of other shapes too."""

from __future__ import annotations

from vir_core.journal.damage import LINE_LIMIT, Damage, plain, salvage, stripped
from vir_core.journal.journal import ACCEPT, GivenUp, Healed, Journal, JournalError, Tail, Writer
from vir_core.journal.line import By, Draft, Line
from vir_core.journal.reading import Lines, read_lines, read_projection, save_reading
from vir_core.journal.replay import Marks, Projection, ProjectionOf, Reading
from vir_core.journal.segment import Files, list_file, list_folder
from vir_core.journal.shape import Entry, Shape, VaultShape
from vir_core.journal.texts import Text, Texts, text_digest
from vir_core.journal.verify import Finding, FindingKind, Verdict

__all__ = [
    "ACCEPT",
    "LINE_LIMIT",
    "By",
    "Damage",
    "Draft",
    "Entry",
    "Files",
    "Finding",
    "FindingKind",
    "GivenUp",
    "Healed",
    "Journal",
    "JournalError",
    "Line",
    "Lines",
    "Marks",
    "Projection",
    "ProjectionOf",
    "Reading",
    "Shape",
    "Tail",
    "Text",
    "Texts",
    "VaultShape",
    "Verdict",
    "Writer",
    "list_file",
    "list_folder",
    "plain",
    "read_lines",
    "read_projection",
    "salvage",
    "save_reading",
    "stripped",
    "text_digest",
]
