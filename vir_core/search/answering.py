"""An answer: ranked passages, less what may not be shown, checked against the files they came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from msgspec import Struct

from vir_core.contract import Trust
from vir_core.index import Found, Match, Terms
from vir_core.search.ranking import Ranked, rank
from vir_core.search.snippets import snippet
from vir_core.search.terms import question_terms

FETCH_FACTOR = 4
LEAST_FETCH = 32
MOST_FETCH = 2048
"""Passages per column after which an answer stays short rather than slow."""


class Source(Protocol):
    """Where passages are found: the index, or a scan of the notes when there is none."""

    def search(
        self, terms: Terms, limit: int, *, categories: Collection[str] = (), projects: Collection[str] = ()
    ) -> Found: ...


class GateRow(Protocol):
    """`reason` says why a note is withheld; `approved` is the beginning of the words digest a person approved, or empty, and
    `body` that of the digest of the body these words lay in; `struck` are the lessons taken out of the note."""

    @property
    def served(self) -> bool: ...
    @property
    def reason(self) -> str: ...
    @property
    def trust(self) -> Trust: ...
    @property
    def approved(self) -> str: ...
    @property
    def body(self) -> str: ...
    @property
    def struck(self) -> frozenset[str]: ...


class GateLookup(Protocol):
    """`review_first`: of a note that was edited since it was approved, the approved text is shown."""

    def row(self, note: str, /) -> GateRow | None: ...
    @property
    def review_first(self) -> bool: ...


class Located(Struct, frozen=True, kw_only=True):
    """Where a note's file lies now (`path` relative to the vault root), and whether it is as it was when last read."""

    path: str
    size: int
    mtime_ns: int
    unchanged: bool


class Current(Struct, frozen=True, kw_only=True):
    """A changed file, read again: the text of each lesson by its id and of the sections under `summary` and `context`.
    `words` gives the words digest of the whole under a category, which counts; it is asked only where it matters."""

    blocks: Mapping[str, str]
    words: Callable[[str], str]


Locate = Callable[[str, str, str], Located | None]
"""Note id, last known path and the digest it was indexed with, to where it lies now. `None`: not there, not to be served,
or not to be told from a copy."""

Reread = Callable[[str], Current | None]
"""Path to what the file says now; `None` when it cannot be read as a note."""

ApprovedText = Callable[[str], Current | None]
"""Note id to the text a person approved; `None` when it is not here."""


def _no_text(note: str) -> Current | None:
    del note
    return None


class Shown(Struct, frozen=True, kw_only=True):
    """One hit. `score` compares within one answer only; `trust` is what holds for the words on disk now."""

    note: str
    block: str
    kind: str
    path: str
    title: str
    category: str
    project: str
    project_name: str
    date: str
    score: float
    confidence: float
    trust: Trust
    snippet: str
    terms: tuple[str, ...]


class Answer(Struct, frozen=True, kw_only=True):
    """`excluded` counts notes that matched and were withheld, by reason; `struck` and `changed` count passages."""

    hits: tuple[Shown, ...]
    excluded: dict[str, int]


def answer(
    question: str,
    source: Source,
    gate: GateLookup,
    *,
    locate: Locate,
    reread: Reread,
    approved: ApprovedText = _no_text,
    limit: int = 8,
    categories: Collection[str] = (),
    projects: Collection[str] = (),
) -> Answer:
    """The best `limit` notes for a question, one passage each. Whatever is dropped is made up for from further down, until
    `MOST_FETCH` passages were looked at. Raises what `source` raises (`IndexUnusable`)."""
    terms = question_terms(question)
    if limit < 1 or not (terms.words or terms.idents):
        return Answer(hits=(), excluded={})
    sieve = _Sieve(gate, locate, reread, approved)
    fetch = max(LEAST_FETCH, limit * FETCH_FACTOR)
    while True:
        found = source.search(terms, fetch, categories=categories, projects=projects)
        hits = sieve.shown(rank(terms, found), limit)
        if len(hits) >= limit or found.complete or fetch >= MOST_FETCH:
            return Answer(hits=tuple(hits), excluded=dict(sieve.excluded))
        fetch *= FETCH_FACTOR


class _Sieve:
    """Decides note by note and remembers, so that a second, longer fetch asks the disk nothing twice."""

    def __init__(self, gate: GateLookup, locate: Locate, reread: Reread, approved: ApprovedText) -> None:
        self._gate = gate
        self._locate = locate
        self._reread = reread
        self._approved = approved
        self._located: dict[str, Located | None] = {}
        self._current: dict[str, Current | None] = {}
        self.excluded: Counter[str] = Counter()

    def shown(self, ranked: list[Ranked], limit: int) -> list[Shown]:
        self.excluded = Counter()
        hits: list[Shown] = []
        done: set[str] = set()
        for one in ranked:
            if len(hits) >= limit:
                break
            match = one.match
            if match.note in done:
                continue
            row = self._gate.row(match.note)
            if row is None or not row.served:
                self.excluded[row.reason if row else "unknown"] += 1
                done.add(match.note)
            elif match.anchor in row.struck:
                self.excluded["struck"] += 1
            else:
                hit = self._checked(one, row)
                if isinstance(hit, Shown):
                    hits.append(hit)
                    done.add(match.note)
                else:
                    self.excluded[hit] += 1
                    if hit == "absent":
                        done.add(match.note)
        return hits

    def _checked(self, one: Ranked, row: GateRow) -> Shown | str:
        """The hit as its file says it now, or why there is none."""
        match = one.match
        note = match.note
        if note not in self._located:
            self._located[note] = self._locate(note, match.path, match.digest)
        located = self._located[note]
        if located is None:
            return "absent"
        # Whether approved words still stand is asked of the words: what the index last read may be an edit.
        sure = row.trust != "verified" or bool(row.body and match.digest.startswith(row.body))
        if located.unchanged and sure:
            return _shown(one, located.path, row.trust, match.text)
        if note not in self._current:
            self._current[note] = self._reread(located.path)
        current = self._current[note]
        text = current.blocks.get(match.anchor) if current else None
        if current is None or not text:
            return "changed"
        trust = row.trust
        if trust == "verified" and not current.words(match.category).startswith(row.approved):
            trust = "edited"
            if self._gate.review_first:
                before = self._approved(note)
                text = before.blocks.get(match.anchor) if before else None
                if not text:
                    return "proposed"
        return _shown(one, located.path, trust, text)


def _shown(one: Ranked, path: str, trust: Trust, text: str) -> Shown:
    match: Match = one.match
    return Shown(
        note=match.note,
        block=match.block,
        kind=match.kind,
        path=path,
        title=match.title,
        category=match.category,
        project=match.project,
        project_name=match.project_name,
        date=match.date,
        score=round(one.score, 4),
        confidence=match.confidence,
        trust=trust,
        snippet=snippet(text, one.terms),
        terms=one.terms,
    )
