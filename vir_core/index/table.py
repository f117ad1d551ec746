"""The index of one vault: a folder of generations, and a pointer to the one that answers.

    index/
      meta.json          which generation answers, its layout, how many passages it holds
      g<hex>/            a LanceDB database with one table

A rebuild makes a new generation and then replaces the pointer, so a reader sees the old one or the new one and never a
half. The folder is a cache: whatever is wrong with it, the remedy is a rebuild from the notes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from vir_core.index import native
from vir_core.index.conditions import condition, first_line, one_of
from vir_core.index.generations import drop_generation, new_generation, sweep_generations
from vir_core.index.passages import ANSWERED, LAYOUT, TOKENIZERS, Kind, Passage, rows, title_and_text

State = Literal["ready", "missing", "stale", "unreadable"]

META = "meta.json"
LETTER = "g"
NOTES_A_COMMIT = 2000
ROWS_A_BATCH = 10_000
COMMITS_LEFT = 16
PASSAGES_LEFT = 100
"""Commits, and passages outside the text indexes, that are left alone until the next ingest."""

FREQUENCY_CAP = 1000
"""A term in more passages than this is common; how common does not matter, and counting costs time."""

_T = TypeVar("_T")


class IndexUnusable(Exception):
    """The index cannot answer. `state` is missing, stale or unreadable; `why` is a sentence for a person."""

    def __init__(self, state: State, why: str) -> None:
        super().__init__(why)
        self.state: State = state
        self.why = why


class Terms(Struct, frozen=True, kw_only=True):
    """A question, cut for the two columns: `words` in their surface form, one per stem, and `idents`, the terms to look for
    among identifiers. `marked` are those of `idents` that were written as identifiers or in a script without spaces."""

    words: tuple[str, ...] = ()
    idents: tuple[str, ...] = ()
    marked: frozenset[str] = frozenset()


class Match(Struct, frozen=True, kw_only=True):
    """A passage that shares a term with the question. `words_score` and `idents_score` are BM25 in one column each, 0 where
    that column was not among the best; they compare within one search only."""

    note: str
    block: str
    kind: Kind
    title: str
    text: str
    path: str
    project: str
    project_name: str
    category: str
    date: str
    confidence: float
    digest: str
    distiller: str = ""
    words_score: float = 0.0
    idents_score: float = 0.0

    @property
    def anchor(self) -> str:
        return self.block or self.kind

    @property
    def key(self) -> str:
        return f"{self.note}#{self.anchor}"


class Content(Struct, frozen=True):
    """One passage of the index: which, and the hash of what its vector is made of."""

    key: str
    note: str
    hash: str
    project: str
    category: str
    date: str


class Found(Struct, frozen=True, kw_only=True):
    """`frequency` says in how many passages a term stands, counted up to `FREQUENCY_CAP`, under any filter. `passages` is
    how many there are in all. `complete` is false when there may be more matches than were fetched."""

    matches: tuple[Match, ...]
    frequency: Mapping[str, int]
    passages: int
    complete: bool


class _Meta(Struct, frozen=True, kw_only=True):
    layout: int
    tokenizers: dict[str, native.Tokenizer]
    folder: str
    passages: int
    mark: str = ""


_META = msgspec.json.Decoder(_Meta)


class Index:
    """`folder` is `<state>/<vault id>/index`. Reading creates nothing and takes no lock; whoever writes holds
    `index.lock` around the call. An open `Index` sees what other processes write, and a rebuild under it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: tuple[str, native.Table] | None = None

    # --- reading ---

    def state(self) -> State:
        """A cheap look (no table is opened): damage inside the table shows only when it is used."""
        try:
            self._meta()
        except IndexUnusable as error:
            return error.state
        return "ready"

    def mark(self) -> str:
        """What the last writer said the index covers (an opaque string of the caller's); empty when unknown."""
        try:
            return self._meta().mark
        except IndexUnusable:
            return ""

    def count(self) -> int:
        """Passages in the table. Raises `IndexUnusable`."""
        return self._use(lambda table, _: table.count())

    def digests(self) -> dict[str, str]:
        """Per indexed note the digest it was indexed with, for finding what changed. Raises `IndexUnusable`."""
        found = self._use(lambda table, _: table.read(["note", "digest"]))
        return {row["note"]: row["digest"] for row in found}

    def contents(self) -> list[Content]:
        """What stands in the index, for finding what has no vector yet. Raises `IndexUnusable`."""
        columns = Content.__struct_fields__
        return [Content(**row) for row in self._use(lambda table, _: table.read(columns))]

    def by_key(self, keys: Collection[str]) -> dict[str, Match]:
        """Passages by key, without scores; a key that is not there is left out. Raises `IndexUnusable`."""
        if not keys:
            return {}
        where = one_of(native.KEY, keys)
        found = self._use(lambda table, _: table.read((*ANSWERED, native.KEY), where))
        return {row[native.KEY]: _match(row) for row in found}

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
    ) -> Found:
        """The best `limit` passages of each column, in no order that means anything across columns; filters take
        category names, project ids, note ids and the earliest date (YYYY-MM-DD). `meanwhile` is called while
        the search runs. Raises `IndexUnusable`."""
        where = condition(categories=categories, projects=projects, notes=notes, since=since)
        asked = {"words": terms.words, "idents": terms.idents}
        lists = [
            native.TextQuery(column=column, text=" ".join(values), limit=limit, columns=(*ANSWERED, "key"), where=where)
            for column, values in asked.items()
            if values
        ]
        counted = [(column, value) for column, values in asked.items() for value in values]
        counts = [native.TextQuery(column=column, text=value, limit=FREQUENCY_CAP) for column, value in counted]

        def search(table: native.Table, meta: _Meta) -> Found:
            answers = table.find([*lists, *counts], meanwhile) if lists else []
            merged: dict[str, dict[str, Any]] = {}
            for query, answer in zip(lists, answers, strict=False):
                for row in answer.rows:
                    merged.setdefault(row["key"], row)[f"{query.column}_score"] = float(row["_score"])
            frequency: dict[str, int] = {}
            for (_, value), answer in zip(counted, answers[len(lists) :], strict=True):
                frequency[value] = max(frequency.get(value, 0), answer.count)
            return Found(
                matches=tuple(_match(row) for row in merged.values()),
                frequency=frequency,
                passages=meta.passages,
                complete=all(answer.count < limit for answer in answers[: len(lists)]),
            )

        return self._use(search)

    def passages(
        self,
        *,
        notes: Collection[str] = (),
        blocks: Collection[str] = (),
        kinds: Collection[Kind] = (),
        categories: Collection[str] = (),
        projects: Collection[str] = (),
        since: str = "",
    ) -> tuple[Match, ...]:
        """The passages that fit every filter given, in no order; without any, all. Raises `IndexUnusable`."""
        where = condition(
            notes=notes, blocks=blocks, kinds=kinds, categories=categories, projects=projects, since=since
        )
        return tuple(_match(row) for row in self._use(lambda table, _: table.read(ANSWERED, where)))

    def newest(
        self, limit: int, *, categories: Collection[str] = (), projects: Collection[str] = (), since: str = ""
    ) -> tuple[str, ...]:
        """The `limit` notes of the latest dates, newest first, by id where the date is one. Raises `IndexUnusable`."""
        where = condition(categories=categories, projects=projects, since=since)
        found = self._use(lambda table, _: table.read(("note", "date"), where))
        dates = {row["note"]: row["date"] for row in found}
        return tuple(sorted(dates, key=lambda note: (dates[note], note), reverse=True)[:limit])

    def _meta(self) -> _Meta:
        path = self._folder / META
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise IndexUnusable("missing", "there is no search index yet") from None
        except OSError as error:
            raise IndexUnusable("unreadable", f"the search index cannot be read: {error.strerror}") from error
        try:
            meta = _META.decode(content)
        except msgspec.ValidationError as error:
            raise IndexUnusable("stale", "the search index was made by another version of vir") from error
        except msgspec.DecodeError as error:
            raise IndexUnusable("unreadable", "the search index is damaged") from error
        if meta.layout != LAYOUT or meta.tokenizers != TOKENIZERS:
            raise IndexUnusable("stale", "the search index was made by another version of vir")
        if not (self._folder / meta.folder / f"{native.TABLE}.lance" / "_versions").is_dir():
            raise IndexUnusable("unreadable", "the search index is damaged")
        return meta

    def _use(self, action: Callable[[native.Table, _Meta], _T]) -> _T:
        """Runs `action` on the generation that answers; again when a rebuild swept that generation away meanwhile."""
        meta = self._meta()
        try:
            return action(self._table(meta), meta)
        except Exception as error:  # the native side raises what it likes
            self._open = None
            again = self._meta()
            if again.folder == meta.folder:
                raise IndexUnusable("unreadable", f"the search index cannot be used: {first_line(error)}") from error
            return self._use(action)

    def _table(self, meta: _Meta) -> native.Table:
        if self._open is None or self._open[0] != meta.folder:
            self._open = meta.folder, native.store().open(str(self._folder / meta.folder))
        return self._open[1]

    # --- writing; the caller holds index.lock ---

    def refresh(
        self,
        upserts: Mapping[str, Sequence[Passage]],
        removals: Collection[str] = (),
        *,
        mark: str = "",
    ) -> None:
        """Makes the passages of the notes in `upserts` exactly these and drops those of `removals`, in one commit per two
        thousand notes. Raises `IndexUnusable`; the caller then rebuilds. `mark` is what `mark()` answers afterwards."""
        meta = self._meta()
        gone = [note for note in removals if note not in upserts]
        empty = [note for note, passages in upserts.items() if not passages]
        full = [note for note, passages in upserts.items() if passages]

        def write(table: native.Table, _: _Meta) -> int:
            if gone or empty:
                table.remove(one_of("note", [*gone, *empty]))
            for start in range(0, len(full), NOTES_A_COMMIT):
                notes = full[start : start + NOTES_A_COMMIT]
                unique = {passage.key: passage for note in notes for passage in upserts[note]}
                table.put(rows(list(unique.values())), one_of("note", notes))
            return table.count()

        passages = self._use(write)
        self._point(msgspec.structs.replace(meta, passages=passages, mark=mark or meta.mark))

    def rebuild(self, passages: Iterable[Passage], *, mark: str = "") -> int:
        """A new generation from these passages; returns how many. Until the pointer is replaced, in the last step, readers
        get the old answers. Raises `StorageError` (from `machine`) or `IndexUnusable` when it cannot be written."""
        unique = {passage.key: passage for passage in passages}
        ordered = list(unique.values())
        batches = [rows(ordered[start : start + ROWS_A_BATCH]) for start in range(0, len(ordered), ROWS_A_BATCH)]
        target = new_generation(self._folder, LETTER)
        try:
            count = native.store().create(str(target), batches or [rows([])], TOKENIZERS)
        except Exception as error:
            drop_generation(target)
            raise IndexUnusable("unreadable", f"the search index cannot be written: {first_line(error)}") from error
        old = self._generation()
        self._point(_Meta(layout=LAYOUT, tokenizers=TOKENIZERS, folder=target.name, passages=count, mark=mark))
        if old is not None:
            # The grace of readers that have it open begins now.
            (self._folder / old).touch()
        sweep_generations(self._folder, LETTER, keep=target.name)
        return count

    def optimize(self) -> None:
        """At the end of an ingest: takes what many small commits left into the text indexes and drops old versions and
        generations. Does so only when enough has come together, because it costs half a second at fifty thousand
        passages, and each commit or passage left over costs a search well under a millisecond. A removed passage answers no
        more but its bytes may stay in a file until the next `rebuild`. Raises `IndexUnusable`."""
        meta = self._meta()
        versions = self._folder / meta.folder / f"{native.TABLE}.lance" / "_versions"
        commits = sum(1 for _ in versions.iterdir())

        def tidy(table: native.Table, _: _Meta) -> None:
            if commits >= COMMITS_LEFT or table.unindexed() >= PASSAGES_LEFT:
                table.optimize()

        self._use(tidy)
        sweep_generations(self._folder, LETTER, keep=meta.folder)

    def _generation(self) -> str | None:
        try:
            folder = self._meta().folder
        except IndexUnusable:
            return None
        return folder

    def _point(self, meta: _Meta) -> None:
        from vir_core.machine import ANYTHING, write_atomic

        write_atomic(self._folder / META, msgspec.json.encode(meta), expected=ANYTHING, private=True)


def tokens(text: str, column: Literal["words", "idents"]) -> list[str]:
    """The terms the index makes of a text in that column (stemmed, folded), in order and with repeats."""
    return native.store().tokens(text, TOKENIZERS[column])


def _match(row: dict[str, Any]) -> Match:
    title, text = title_and_text(row["words"])
    return Match(
        note=row["note"],
        block=row["block"],
        kind=row["kind"],
        title=title,
        text=text,
        path=row["path"],
        project=row["project"],
        project_name=row["project_name"],
        category=row["category"],
        date=row["date"],
        confidence=row["confidence"],
        digest=row["digest"],
        distiller=row["distiller"],
        words_score=row.get("words_score", 0.0),
        idents_score=row.get("idents_score", 0.0),
    )
