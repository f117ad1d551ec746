"""The distiller: reads a condensed session and decides what of it is worth a note.

The extractive one needs no model and no network. It picks sentences that were said, so every lesson carries its quote,
and it proves what was said, not what is so."""

from __future__ import annotations

from vir_core.distil.extract import (
    DISTILLER,
    Around,
    Extract,
    ExtractedLesson,
    Facts,
    NothingDurable,
    extract,
)

__all__ = [
    "DISTILLER",
    "Around",
    "Extract",
    "ExtractedLesson",
    "Facts",
    "NothingDurable",
    "extract",
]
