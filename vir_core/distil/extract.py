"""The question and its answer: a session goes in, a note's content or the reason for none comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from vir_core.contract import Category

if TYPE_CHECKING:
    from vir_core.transcripts.condensing import Condensed

DISTILLER = "extractive/1"


class Facts(Protocol):
    """What the distiller needs to know about a session besides its turns."""

    @property
    def title(self) -> str: ...
    @property
    def cwd(self) -> str: ...
    @property
    def branches(self) -> tuple[str, ...]: ...


class Around(Struct, frozen=True, kw_only=True):
    """A turn beside a quote; `who` is you, agent, command or error."""

    who: str
    text: str
    at: str = ""


class ExtractedLesson(Struct, frozen=True, kw_only=True):
    """`quote` is an exact substring of the condensed turn `turn_id`; `text` is the same words without markup, `lead` a
    name for them or empty: a label that became the lead is no part of the text."""

    lead: str
    text: str
    turn_id: str
    quote: str
    at: str = ""
    around: tuple[Around, ...] = ()


class Extract(Struct, frozen=True, kw_only=True):
    """What a note will say. `confidence` is in [0, 1]; `signals` are the facts it was computed from."""

    title: str
    category: Category
    summary: str
    lessons: tuple[ExtractedLesson, ...]
    context: str
    confidence: float
    grounded: str
    signals: dict[str, int] = {}


class NothingDurable(Struct, frozen=True, kw_only=True):
    """`reason` is one of: no answer, nothing asked, nothing established."""

    reason: str


def extract(condensed: Condensed, facts: Facts, project_name: str) -> Extract | NothingDurable:
    """A note from one session, or why there is none. Pure: the same session gives the same note.

    `confidence` = 0.35 + 0.05 for each lesson (at most 5) + 0.15 when the session ends in an outcome + 0.10 when the
    person confirmed one or committed it + 0.05 when a cause was named, - 0.10 for each thing taken back (at most 2)
    - 0.10 when the session breaks off in an error or an interrupt; between 0.10 and 0.85. It says how much of a session
    the note rests on, not that what was said is so."""
    # The patterns take time to build, and whoever only handles answers does not need them.
    from vir_core.distil.extractive import extract_from

    return extract_from(condensed, facts, project_name)
