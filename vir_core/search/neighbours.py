"""Notes found by another note instead of by a question: those that speak of the same thing, and the latest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from math import log

import msgspec

from vir_core.index import Found, Match, Terms
from vir_core.search.answering import Answer, Files, GateLookup, Source, Wanted, sift
from vir_core.search.naming import as_ranked
from vir_core.search.ranking import Ranked, rank
from vir_core.search.terms import question_terms

MOST_TERMS = 16
"""Terms that a note is looked for by. It holds many more, and what it says is in its rarest."""

LEAST_SHARED = 2
"""Terms that two notes must share: one rare word, a person's name or a branch, makes no kinship."""

_WIDER = (14, 60, 365)
"""Days back that the latest notes are looked for in, one after the other, before all are looked at."""


def related(note: str, source: Source, gate: GateLookup, wanted: Wanted, files: Files) -> Answer | None:
    """Notes that speak of what this one speaks of, best first, itself left out; `None` when nothing here has this id. A note
    that is withheld relates to nothing. Raises what `source` raises."""
    row = gate.row(note, wanted.as_of)
    if row is None or (wanted.scope is not None and row.project not in wanted.scope):
        return None
    if not row.served:
        return Answer(hits=(), excluded={row.reason: 1})
    own = [match for match in source.passages(notes=(note,)) if match.block not in row.struck]
    if not own or wanted.limit < 1 or wanted.nowhere:
        return Answer(hits=(), excluded={})
    text = f"{own[0].title}\n" + "\n".join(one.match.text for one in as_ranked(own) if one.match.kind != "context")
    return alike(text, {note}, source, gate, wanted, files)


def alike(text: str, apart: Collection[str], source: Source, gate: GateLookup, wanted: Wanted, files: Files) -> Answer:
    """Notes that share the telling terms of a text, those in `apart` left out. Raises what `source` raises."""
    terms = question_terms(text)
    if not (terms.words or terms.idents):
        return Answer(hits=(), excluded={})

    def ranked(fetch: int) -> tuple[list[Ranked], bool]:
        found = source.search(
            terms,
            fetch,
            categories=wanted.categories,
            projects=wanted.within,
            notes=wanted.notes,
            since=wanted.since,
        )
        telling = _telling(terms, found)
        others = msgspec.structs.replace(
            found, matches=tuple(match for match in found.matches if match.note not in apart)
        )
        return [one for one in rank(telling, others) if len(one.terms) >= LEAST_SHARED], found.complete

    return sift(ranked, gate, wanted, files)


def recent(source: Source, gate: GateLookup, wanted: Wanted, files: Files, now: datetime) -> Answer:
    """The latest notes by the date of their session. Raises what `source` raises."""
    if wanted.limit < 1 or wanted.nowhere:
        return Answer(hits=(), excluded={})
    found = Answer(hits=(), excluded={})
    for days in (*_WIDER, None):
        since = wanted.since
        if days is not None:
            since = max(since, (now - timedelta(days=days)).date().isoformat())
        found = _latest(source, gate, wanted, files, since)
        if len(found.hits) >= wanted.limit or since == wanted.since:
            break
    return found


def _latest(source: Source, gate: GateLookup, wanted: Wanted, files: Files, since: str) -> Answer:
    def ranked(fetch: int) -> tuple[list[Ranked], bool]:
        notes = source.newest(fetch, categories=wanted.categories, projects=wanted.within, since=since)
        by_note: dict[str, list[Match]] = {note: [] for note in notes}
        for match in source.passages(notes=notes) if notes else ():
            by_note[match.note].append(match)
        return [one for matches in by_note.values() for one in as_ranked(matches)], len(notes) < fetch

    return sift(ranked, gate, wanted, files)


def _telling(terms: Terms, found: Found) -> Terms:
    """The rarest terms that stand in more than one passage: the note itself is one of them."""
    weights: dict[str, float] = {}
    for term in dict.fromkeys([*terms.words, *terms.idents]):
        frequency = found.frequency.get(term, 0)
        if frequency > 1:
            weights[term] = log(1 + found.passages / frequency) * (2.0 if term in terms.marked else 1.0)
    best = frozenset(sorted(weights, key=lambda term: (-weights[term], term))[:MOST_TERMS])
    return Terms(words=_of(terms.words, best), idents=_of(terms.idents, best), marked=terms.marked & best)


def _of(terms: Sequence[str], best: frozenset[str]) -> tuple[str, ...]:
    return tuple(term for term in terms if term in best)
