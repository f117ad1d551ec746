"""The vectors of one vault's passages: a folder of its own beside the passages, and a pointer to it.

    index/
      vectors.json       which model made them, how many, which state of the passages they cover
      v<hex>/            a LanceDB database with one table

Embedding a vault takes minutes where indexing its words takes seconds, so vectors outlive a rebuild of the passages: a row
knows the passage by its key and by the hash of what was embedded. A pointer names one model and every row is of that model;
another model begins another folder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from vir_core.index import native
from vir_core.index.conditions import condition, first_line, one_of
from vir_core.index.generations import drop_generation, new_generation, sweep_generations
from vir_core.models import EmbeddingModel, Vector

LAYOUT = 1
META = "vectors.json"
TABLE = "vectors"
LETTER = "v"

FLAT = 20_000
"""Below so many rows a look at each is as fast as an approximate index, and exact."""

MANY = 500_000
"""Above so many one bit a dimension loses too much, and a whole byte is worth its build."""

REFINE = 10
PROBES: Mapping[native.Ann, int] = {"IvfRq": 20, "IvfSq": 50}

COMMITS_LEFT = 16
UNTRAINED_SHARE = 0.1

_T = TypeVar("_T")


class VectorsUnusable(Exception):
    """There are none, or they cannot be read. `why` is a sentence for a person."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Embedded(Struct, frozen=True, kw_only=True):
    """One row: the passage's key, the hash of what was embedded, what questions filter by, and the vector."""

    key: str
    hash: str
    note: str
    project: str
    category: str
    date: str
    vector: Vector


class VectorsMeta(Struct, frozen=True, kw_only=True):
    """`covers` is the mark of the passages whose every one has its vector here; empty while some lack one. `trained` is how many
    rows the approximate index was made from, 0 for none."""

    layout: int
    model: EmbeddingModel
    folder: str
    rows: int = 0
    covers: str = ""
    ann: native.Ann | None = None
    trained: int = 0


_META = msgspec.json.Decoder(VectorsMeta)


class Vectors:
    """`folder` is the index folder. Reading creates nothing and takes no lock; whoever writes holds `index.lock`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: tuple[str, native.Table] | None = None

    # --- reading ---

    def meta(self) -> VectorsMeta:
        """Raises `VectorsUnusable`."""
        try:
            meta = _META.decode((self._folder / META).read_bytes())
        except FileNotFoundError:
            raise VectorsUnusable("no note has been embedded yet") from None
        except OSError as error:
            raise VectorsUnusable(f"the vectors cannot be read: {error.strerror}") from error
        except msgspec.MsgspecError as error:
            raise VectorsUnusable("the vectors are damaged") from error
        if meta.layout != LAYOUT:
            raise VectorsUnusable("the vectors were made by another version of vir")
        if not (self._folder / meta.folder / f"{TABLE}.lance" / "_versions").is_dir():
            raise VectorsUnusable("the vectors are damaged")
        return meta

    def near(
        self,
        vector: Vector,
        limit: int,
        *,
        categories: Collection[str] = (),
        projects: Collection[str] = (),
        notes: Collection[str] = (),
        since: str = "",
    ) -> list[tuple[str, float]]:
        """Keys of the passages nearest to a vector of the same model, with their cosine, best first. Raises
        `VectorsUnusable`."""
        where = condition(categories=categories, projects=projects, notes=notes, since=since)

        def near(table: native.Table, meta: VectorsMeta) -> list[tuple[str, float]]:
            if not meta.rows:
                return []
            query = native.NearQuery(
                vector=vector,
                limit=limit,
                columns=(native.KEY,),
                where=where,
                probes=PROBES[meta.ann] if meta.ann else 1,
                refine=REFINE if meta.ann else 1,
            )
            return [(row[native.KEY], 1 - float(row["_distance"])) for row in table.near(query)]

        return self._use(near)

    def check(self) -> None:
        """Uses the table as a question would. Raises `VectorsUnusable` when that fails."""
        from array import array

        dimensions = self.meta().model.dimensions
        self.near(array("f", [dimensions**-0.5] * dimensions).tobytes(), 1)
        self.held()

    def held(self) -> dict[str, str]:
        """Per passage key the hash of what was embedded. Raises `VectorsUnusable`."""
        return {row[native.KEY]: row["hash"] for row in self._use(lambda table, _: table.read([native.KEY, "hash"]))}

    def of(self, keys: Collection[str]) -> dict[str, Vector]:
        """The vectors of some passages. Raises `VectorsUnusable`."""
        from array import array

        if not keys:
            return {}
        where = one_of(native.KEY, keys)
        rows = self._use(lambda table, _: table.read([native.KEY, native.VECTOR], where))
        return {row[native.KEY]: array("f", row[native.VECTOR]).tobytes() for row in rows}

    def _use(self, action: Callable[[native.Table, VectorsMeta], _T]) -> _T:
        meta = self.meta()
        try:
            return action(self._table(meta), meta)
        except VectorsUnusable:
            raise
        except Exception as error:  # the native side raises what it likes
            self._open = None
            if self.meta().folder == meta.folder:
                raise VectorsUnusable(f"the vectors cannot be used: {first_line(error)}") from error
            return self._use(action)

    def _table(self, meta: VectorsMeta) -> native.Table:
        if self._open is None or self._open[0] != meta.folder:
            self._open = meta.folder, native.store().open(str(self._folder / meta.folder), TABLE)
        return self._open[1]

    # --- writing; the caller holds index.lock ---

    def begin(self, model: EmbeddingModel, rows: Sequence[Embedded]) -> None:
        """A new table of this model, with its first rows, in place of whatever there is. Raises `StorageError` (from `machine`)
        and `VectorsUnusable`."""
        target = new_generation(self._folder, LETTER)
        try:
            count = native.store().create(str(target), [_rows(rows, model)], {}, TABLE)
        except Exception as error:
            drop_generation(target)
            raise VectorsUnusable(f"the vectors cannot be written: {first_line(error)}") from error
        self._point(VectorsMeta(layout=LAYOUT, model=model, folder=target.name, rows=count))
        sweep_generations(self._folder, LETTER, keep=target.name)

    def put(self, rows: Sequence[Embedded], removals: Collection[str] = ()) -> None:
        """In one commit each: the rows replace those of the same keys, and `removals` go. Raises `VectorsUnusable`."""
        meta = self.meta()

        def write(table: native.Table, _: VectorsMeta) -> int:
            if removals:
                table.remove(one_of(native.KEY, removals))
            if rows:
                table.put(_rows(rows, meta.model), "")
            return table.count()

        self._point(msgspec.structs.replace(meta, rows=self._use(write), covers=""))

    def settle(self, covers: str) -> None:
        """After a round of embedding: says which passages are covered, merges what many commits left, and trains an
        approximate index once there are enough rows. Raises `VectorsUnusable`."""
        meta = self.meta()
        versions = self._folder / meta.folder / f"{TABLE}.lance" / "_versions"
        commits = sum(1 for _ in versions.iterdir())

        def tidy(table: native.Table, _: VectorsMeta) -> VectorsMeta:
            ann, trained = meta.ann, meta.trained
            if commits >= COMMITS_LEFT:
                table.optimize()
            wanted = _ann(meta)
            if wanted and (wanted != ann or table.unindexed() > UNTRAINED_SHARE * meta.rows or meta.rows > 2 * trained):
                table.index_vectors(wanted)
                ann, trained = wanted, meta.rows
            return msgspec.structs.replace(meta, ann=ann, trained=trained, covers=covers)

        self._point(self._use(tidy))
        sweep_generations(self._folder, LETTER, keep=meta.folder)

    def _point(self, meta: VectorsMeta) -> None:
        from vir_core.machine import ANYTHING, write_atomic

        write_atomic(self._folder / META, msgspec.json.encode(meta), expected=ANYTHING, private=True)


def _ann(meta: VectorsMeta) -> native.Ann | None:
    if meta.rows < FLAT:
        return None
    # One bit a dimension is packed into bytes.
    return "IvfRq" if meta.rows < MANY and meta.model.dimensions % 8 == 0 else "IvfSq"


def _rows(rows: Sequence[Embedded], model: EmbeddingModel) -> native.Rows:
    if any(len(row.vector) != 4 * model.dimensions for row in rows):
        raise VectorsUnusable("the embedder gave vectors of another length than it said")
    names = (native.KEY, "hash", "note", "project", "category", "date", native.VECTOR)
    return {name: [getattr(row, name) for row in rows] for name in names}
