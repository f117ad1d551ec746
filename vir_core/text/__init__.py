"""Text without a disk or a clock: what counts as the same, what is hashed and how ids come from it, which terms are
indexed, how a title becomes a file name, and how words from a session are put into markdown without doing anything."""

from __future__ import annotations

from vir_core.text.digest import canonical, lesson_id, note_id, project_id, random_id, sha256_hex
from vir_core.text.fold import clean, collapse, fold, well_formed
from vir_core.text.inert import inert, inert_code, inert_yaml
from vir_core.text.lazy import lazy_pattern
from vir_core.text.names import file_stem, stem_key, unique_stem
from vir_core.text.near import Weights, closeness, nearest, weights
from vir_core.text.said import said, sentences
from vir_core.text.tokens import identifier_tokens, query_tokens
from vir_core.text.words import words, words_digest

__all__ = [
    "Weights",
    "canonical",
    "clean",
    "closeness",
    "collapse",
    "file_stem",
    "fold",
    "identifier_tokens",
    "inert",
    "inert_code",
    "inert_yaml",
    "lazy_pattern",
    "lesson_id",
    "nearest",
    "note_id",
    "project_id",
    "query_tokens",
    "random_id",
    "said",
    "sentences",
    "sha256_hex",
    "stem_key",
    "unique_stem",
    "weights",
    "well_formed",
    "words",
    "words_digest",
]
