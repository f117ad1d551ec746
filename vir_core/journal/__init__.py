"""The journal: facts as lines in append-only files that travel with the vault, and the texts those lines name. It knows
how a line is written, ordered, mirrored, replayed and checkpointed, and it knows no notes: what a line means is the
business of the projection that it is replayed into."""

from __future__ import annotations

from vir_core.journal.journal import Journal, JournalError, Tail, Writer
from vir_core.journal.line import By, Damage, Draft, Line
from vir_core.journal.replay import Marks, Projection, Reading
from vir_core.journal.texts import Text, Texts, text_digest

__all__ = [
    "By",
    "Damage",
    "Draft",
    "Journal",
    "JournalError",
    "Line",
    "Marks",
    "Projection",
    "Reading",
    "Tail",
    "Text",
    "Texts",
    "Writer",
    "text_digest",
]
