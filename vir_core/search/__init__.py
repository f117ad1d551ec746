"""Search: from a question to an answer. It cuts the question into terms, ranks what the index (or, without one, a scan
of the notes) finds, drops what the gate withholds, checks the few hits that remain against their files, and says how much
was left out and why. Ranking is pure; the disk is reached only through what the caller hands in."""

from vir_core.search.answering import (
    Answer,
    Current,
    Files,
    GateLookup,
    GateRow,
    Locate,
    Located,
    Reread,
    Shown,
    Source,
    Wanted,
    answer,
)
from vir_core.search.queries import queries
from vir_core.search.query import query, recent, related
from vir_core.search.ranking import Ranked, rank
from vir_core.search.reader import keep_readers, warm_reader
from vir_core.search.scan import Scan
from vir_core.search.snippets import snippet
from vir_core.search.terms import question_terms

__all__ = [
    "Answer",
    "Current",
    "Files",
    "GateLookup",
    "GateRow",
    "Locate",
    "Located",
    "Ranked",
    "Reread",
    "Scan",
    "Shown",
    "Source",
    "Wanted",
    "answer",
    "keep_readers",
    "queries",
    "query",
    "question_terms",
    "rank",
    "recent",
    "related",
    "snippet",
    "warm_reader",
]
