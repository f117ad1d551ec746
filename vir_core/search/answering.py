"""An answer: ranked passages, less what may not be shown, checked against the files they came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

import msgspec
from msgspec import Struct

from vir_core.contract import Trust
from vir_core.index import Found, Kind, Match, Terms
from vir_core.search.priors import priors_of
from vir_core.search.ranking import Near, Ranked, complete, rank
from vir_core.search.snippets import snippet
from vir_core.search.terms import question_terms

FETCH_FACTOR = 4
LEAST_FETCH = 32
MOST_FETCH = 2048
"""Passages per column after which an answer stays short rather than slow."""


class Source(Protocol):
    """Where passages are found: the index, or a scan of the notes when there is none."""

    def search(
        self,
        terms: Terms,
        limit: int,
        *,
        categories: Collection[str] = (),
        projects: Collection[str] = (),
        notes: Collection[str] = (),
        since: str = "",
        meanwhile: Callable[[], None] | None = None,
    ) -> Found: ...

    def by_key(self, keys: Collection[str]) -> Mapping[str, Match]: ...

    def passages(
        self,
        *,
        notes: Collection[str] = (),
        blocks: Collection[str] = (),
        kinds: Collection[Kind] = (),
        categories: Collection[str] = (),
        projects: Collection[str] = (),
        since: str = "",
    ) -> tuple[Match, ...]: ...

    def newest(
        self, limit: int, *, categories: Collection[str] = (), projects: Collection[str] = (), since: str = ""
    ) -> tuple[str, ...]: ...


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
    def project(self) -> str: ...
    @property
    def body(self) -> str: ...
    @property
    def struck(self) -> frozenset[str]: ...


class GateLookup(Protocol):
    """`review_first`: of a note that was edited since it was approved, the approved text is shown."""

    def row(self, note: str, as_of: str = "", /) -> GateRow | None: ...
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


class Files(Struct, frozen=True, kw_only=True):
    """How an answer looks at the notes it would show."""

    locate: Locate
    reread: Reread
    approved: ApprovedText = _no_text


class Wanted(Struct, frozen=True, kw_only=True):
    """What an answer may hold. Empty filters let everything through; `projects` are ids, `since` the earliest date,
    `trusts` what must hold for the words on disk now, `as_of` the day on which a note must hold in the world (empty:
    today). `scope` are the projects this process may read, `None` all: it is no
    filter but a wall, and what lies behind it is not even counted."""

    limit: int = 8
    categories: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    since: str = ""
    trusts: frozenset[Trust] = frozenset()
    as_of: str = ""
    scope: frozenset[str] | None = None

    @property
    def nowhere(self) -> bool:
        """Whether no project is left to look in."""
        return self.scope is not None and not (self.scope.intersection(self.projects) if self.projects else self.scope)

    @property
    def within(self) -> tuple[str, ...]:
        """The project ids to look in; empty for all, so `nowhere` is asked first."""
        if self.scope is None:
            return self.projects
        return tuple(sorted(self.scope.intersection(self.projects) if self.projects else self.scope))


class Shown(Struct, frozen=True, kw_only=True):
    """One hit. `score` compares within one answer only; `trust` is what holds for the words on disk now;
    `struck` are the lessons of the note that must not be shown with it;
    `as_approved` says that these are the words a person approved, and those on disk must not be shown."""

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
    struck: frozenset[str]
    as_approved: bool = False
    words_rank: int = 0
    meaning_rank: int = 0
    coverage: float = 0.0
    cosine: float | None = None
    priors: Mapping[str, float] = {}


class Answer(Struct, frozen=True, kw_only=True):
    """`excluded` counts notes that matched and were withheld, by reason; `struck` and `changed` count passages."""

    hits: tuple[Shown, ...]
    excluded: dict[str, int]


class Nearness(Protocol):
    """What a question means, for those who can say."""

    def prepare(self) -> None: ...

    def near(
        self,
        limit: int,
        *,
        categories: Collection[str] = (),
        projects: Collection[str] = (),
        notes: Collection[str] = (),
        since: str = "",
    ) -> Near | None: ...


def answer(
    question: str,
    source: Source,
    gate: GateLookup,
    wanted: Wanted,
    files: Files,
    meaning: Nearness | None = None,
    today: str = "",
) -> Answer:
    """The best notes for a question, one passage each: by words, and by `meaning` where there is one. `today` (YYYY-MM-DD) is
    what a note's age counts to. Raises what `source` raises (`IndexUnusable`)."""
    terms = question_terms(question)
    if wanted.limit < 1 or wanted.nowhere or not (terms.words or terms.idents):
        return Answer(hits=(), excluded={})
    if not (terms.words or terms.marked):
        # Stop words mean nothing, and are near to everything that is short.
        meaning = None

    def ranked(fetch: int) -> tuple[list[Ranked], bool]:
        found = source.search(
            terms,
            fetch,
            categories=wanted.categories,
            projects=wanted.within,
            notes=wanted.notes,
            since=wanted.since,
            meanwhile=meaning.prepare if meaning else None,
        )
        near = _near(meaning, wanted, fetch)
        if near is not None:
            known = {match.key for match in found.matches}
            more = source.by_key([key for key in near.cosines if key not in known])
            found = msgspec.structs.replace(found, matches=(*found.matches, *more.values()))
        return rank(terms, found, near, priors_of(gate, today)), complete(found, near)

    return sift(ranked, gate, wanted, files)


def _near(meaning: Nearness | None, wanted: Wanted, fetch: int) -> Near | None:
    if meaning is None:
        return None
    return meaning.near(
        fetch, categories=wanted.categories, projects=wanted.within, notes=wanted.notes, since=wanted.since
    )


def sift(
    ranked: Callable[[int], tuple[list[Ranked], bool]],
    gate: GateLookup,
    wanted: Wanted,
    files: Files,
) -> Answer:
    """What may be shown of a ranking, one passage a note. `ranked` is asked for a number of passages and says whether that
    was all there is; whatever is dropped is made up for from further down, until `MOST_FETCH` passages were looked at."""
    sieve = _Sieve(gate, wanted, files)
    fetch = max(LEAST_FETCH, wanted.limit * FETCH_FACTOR)
    looked = False
    while True:
        some, all_there_is = ranked(fetch)
        hits = sieve.shown(some, wanted.limit)
        enough = len(hits) >= wanted.limit or all_there_is or fetch >= MOST_FETCH
        # Where nothing was dropped the ranking has no more to say, and looking at two thousand passages would not change that.
        if enough or (looked and not sieve.dropped and len(some) < fetch // 2):
            return Answer(hits=tuple(hits), excluded=dict(sieve.excluded))
        looked = True
        fetch *= FETCH_FACTOR


class _Sieve:
    """Decides note by note and remembers, so that a second, longer fetch asks the disk nothing twice."""

    def __init__(self, gate: GateLookup, wanted: Wanted, files: Files) -> None:
        self._gate = gate
        self._wanted = wanted
        self._locate = files.locate
        self._reread = files.reread
        self._approved = files.approved
        self._located: dict[str, Located | None] = {}
        self._current: dict[str, Current | None] = {}
        self.excluded: Counter[str] = Counter()
        self.dropped = False

    def shown(self, ranked: list[Ranked], limit: int) -> list[Shown]:
        self.excluded = Counter()
        self.dropped = False
        hits: list[Shown] = []
        done: set[str] = set()
        for one in ranked:
            if len(hits) >= limit:
                break
            match = one.match
            if match.note in done:
                continue
            row = self._gate.row(match.note, self._wanted.as_of)
            if self._behind_the_wall(row):
                self.dropped = True
                done.add(match.note)
            elif row is None or not row.served:
                self.excluded[row.reason if row else "unknown"] += 1
                done.add(match.note)
            elif match.anchor in row.struck:
                self.excluded["struck"] += 1
            else:
                hit = self._checked(one, row)
                if isinstance(hit, Shown):
                    done.add(match.note)
                    if not self._wanted.trusts or hit.trust in self._wanted.trusts:
                        hits.append(hit)
                    else:
                        self.dropped = True
                else:
                    self.excluded[hit] += 1
                    if hit == "absent":
                        done.add(match.note)
        self.dropped = self.dropped or bool(self.excluded)
        return hits

    def _behind_the_wall(self, row: GateRow | None) -> bool:
        scope = self._wanted.scope
        return scope is not None and (row is None or row.project not in scope)

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
            return _shown(one, located.path, row, row.trust, match.text)
        if note not in self._current:
            self._current[note] = self._reread(located.path)
        current = self._current[note]
        text = current.blocks.get(match.anchor) if current else None
        if current is None or not text:
            return "changed"
        trust, as_approved = row.trust, False
        if trust == "verified" and not current.words(match.category).startswith(row.approved):
            trust, as_approved = "edited", self._gate.review_first
            if as_approved:
                before = self._approved(note)
                text = before.blocks.get(match.anchor) if before else None
                if not text:
                    return "proposed"
        return _shown(one, located.path, row, trust, text, as_approved=as_approved)


def _shown(one: Ranked, path: str, row: GateRow, trust: Trust, text: str, *, as_approved: bool = False) -> Shown:
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
        struck=row.struck,
        as_approved=as_approved,
        words_rank=one.words_rank,
        meaning_rank=one.meaning_rank,
        coverage=round(one.coverage, 3),
        cosine=None if one.cosine is None else round(one.cosine, 3),
        priors=one.priors,
    )
