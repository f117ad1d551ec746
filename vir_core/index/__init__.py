"""The search index: LanceDB as a projection of what the gate lets through. It is a cache of passages cut from notes, with
BM25 over their words and over their identifiers; it says where a question's terms stand and how rare they are. Which of
its matches may be shown is not its business, and any damage to it is answered by a rebuild. Writers hold `index.lock`."""

from vir_core.index.passages import Kind, Passage, ident_terms
from vir_core.index.projection import all_passages, bring_up_to_date, passage_count
from vir_core.index.table import FREQUENCY_CAP, Found, Index, IndexUnusable, Match, State, Terms, tokens

__all__ = [
    "FREQUENCY_CAP",
    "Found",
    "Index",
    "IndexUnusable",
    "Kind",
    "Match",
    "Passage",
    "State",
    "Terms",
    "all_passages",
    "bring_up_to_date",
    "ident_terms",
    "passage_count",
    "tokens",
]
