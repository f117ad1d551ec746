"""The table of verbs: what each takes, answers and may load. Surfaces look a verb up here, run it, and turn what it raises
into an error kind; they know nothing else of the rooms below."""

from __future__ import annotations

from vir_core.verbs.failures import Explained, explain
from vir_core.verbs.table import TABLE, OnProgress, Verb

__all__ = ["TABLE", "Explained", "OnProgress", "Verb", "explain"]
