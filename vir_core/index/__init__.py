"""The search index: LanceDB as a projection of what the gate lets through. It is a cache of passages cut from notes, with
BM25 over their words and over their identifiers, and of their vectors where there is an embedder; it says where a question's terms stand and how rare they are. Which of
its matches may be shown is not its business, and any damage to it is answered by a rebuild. Writers hold `index.lock`."""

from vir_core.index.embedding import (
    Embedding,
    EmbeddingDone,
    EmbeddingPlan,
    embed_missing,
    keep_embedded,
    plan_embedding,
    waiting_passages,
)
from vir_core.index.passages import Kind, Passage
from vir_core.index.projection import all_passages, bring_up_to_date, passage_count
from vir_core.index.similar import ALIKE_IN_MEANING, ALIKE_IN_WORDS, Alike, similar
from vir_core.index.table import FREQUENCY_CAP, Content, Found, Index, IndexUnusable, Match, State, Terms, tokens
from vir_core.index.vectors import Vectors, VectorsMeta, VectorsUnusable

__all__ = [
    "ALIKE_IN_MEANING",
    "ALIKE_IN_WORDS",
    "FREQUENCY_CAP",
    "Alike",
    "Content",
    "Embedding",
    "EmbeddingDone",
    "EmbeddingPlan",
    "Found",
    "Index",
    "IndexUnusable",
    "Kind",
    "Match",
    "Passage",
    "State",
    "Terms",
    "Vectors",
    "VectorsMeta",
    "VectorsUnusable",
    "all_passages",
    "bring_up_to_date",
    "embed_missing",
    "keep_embedded",
    "passage_count",
    "plan_embedding",
    "similar",
    "tokens",
    "waiting_passages",
]
