"""A note asked for by its id, or by that of one of its lessons."""

from __future__ import annotations

from collections.abc import Collection

from vir_core.index import Match
from vir_core.search.answering import Answer, Files, GateLookup, Source, Wanted, sift
from vir_core.search.ranking import Ranked

_ORDER = ("summary", "lesson", "context")


def named(id: str, source: Source, gate: GateLookup, wanted: Wanted, files: Files) -> Answer | None:
    """The one note; an empty answer when it is withheld or gone; `None` when nothing here has this id, so that the words
    are a question like any other. Filters other than the scope do not apply: who has the id means that note."""
    unfiltered = Wanted(limit=min(1, wanted.limit), as_of=wanted.as_of, scope=wanted.scope)
    if id[0] == "l":
        matches = source.passages(blocks=(id,))
        if not matches:
            return None
    else:
        row = gate.row(id, wanted.as_of)
        if row is None or (wanted.scope is not None and row.project not in wanted.scope):
            return None
        if not row.served:
            return Answer(hits=(), excluded={row.reason: 1})
        matches = source.passages(notes=(id,))
        if not matches:
            return Answer(hits=(), excluded={"absent": 1})
    return sift(lambda _: (as_ranked(matches), True), gate, unfiltered, files)


def as_ranked(matches: Collection[Match]) -> list[Ranked]:
    """Passages in the order in which a note has them, none better than another."""
    ordered = sorted(matches, key=lambda match: (_ORDER.index(match.kind), match.block))
    return [Ranked(match=match, score=1.0, coverage=1.0, terms=()) for match in ordered]
