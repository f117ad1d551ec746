"""Models behind small protocols. An embedder turns text into vectors: the one that comes along works offline and needs no
account; others are asked only when a person named them. Whatever fails here costs meaning, never an answer."""

from vir_core.models.choosing import open_embedder
from vir_core.models.embedder import Embedder, EmbedderFailed, EmbeddingModel, Vector

__all__ = [
    "Embedder",
    "EmbedderFailed",
    "EmbeddingModel",
    "Vector",
    "open_embedder",
]
