"""From transcripts to notes: what a run takes and why it leaves the rest, the writing of a batch in an order that a kill
cannot break, the listing and explaining of sessions, and which projects are taken. It holds no rule about turns, distilling or trust; it calls the rooms that do."""

from __future__ import annotations

from vir_core.ingest.projects import projects
from vir_core.ingest.run import VanishedNotes, run
from vir_core.ingest.sessions import sessions

__all__ = ["VanishedNotes", "projects", "run", "sessions"]
