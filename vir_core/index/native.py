"""LanceDB, opened fast: the one file that touches its private native module.

`import lancedb` takes over a second, most of it generated classes for remote catalogues. An empty module named `lancedb`
that only knows where the package lies lets the native module load alone, in about 10 ms. Two more costs are avoided on the
way: rows are read without pyarrow (`arrow.py`), which is loaded only to write, and then without numpy (two thirds of its
time); and the native calls are driven by a loop of a few lines, because `asyncio` takes longer to import than a query takes
to run. When any of this stops working (another version of
LanceDB), the public API does the same work more slowly; a test compares the two.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

import msgspec
from msgspec import Struct

from vir_core.index.arrow import stand_in

if TYPE_CHECKING:
    from types import ModuleType

T = TypeVar("T")

TABLE = "passages"
KEY = "key"
NUMBERS = frozenset({"confidence"})
"""Columns of 32-bit floats; every other one but `VECTOR` holds strings."""

VECTOR = "vector"
"""The column of vectors: bytes of little-endian 32-bit floats, all of one length."""

Ann = Literal["IvfRq", "IvfSq"]
"""Approximate indexes over vectors, by LanceDB's names."""

Rows = dict[str, list[Any]]
"""Column name to values, all of one length."""


class Tokenizer(Struct, frozen=True, kw_only=True):
    """How a column is cut into terms; the names are LanceDB's."""

    base_tokenizer: str
    stem: bool
    remove_stop_words: bool
    ascii_folding: bool
    lower_case: bool = True
    max_token_length: int | None = None
    language: str = "English"


class TextQuery(Struct, frozen=True, kw_only=True):
    """One BM25 search over one column; `where` is a SQL condition applied before ranking. Without `columns` only the number
    of rows is asked for."""

    column: str
    text: str
    limit: int
    columns: tuple[str, ...] = ()
    where: str = ""


class NearQuery(Struct, frozen=True, kw_only=True):
    """The `limit` rows nearest to a vector by cosine. `probes` and `refine` matter to an approximate index only."""

    vector: bytes
    limit: int
    columns: tuple[str, ...]
    where: str = ""
    probes: int = 20
    refine: int = 1


class Answers(Struct, frozen=True):
    rows: list[dict[str, Any]]
    count: int


class Table(Protocol):
    """An open table. Every call blocks until it is done; LanceDB's own exceptions come through."""

    def find(self, queries: Sequence[TextQuery], meanwhile: Callable[[], None] | None = None) -> list[Answers]:
        """Answers in the order of the queries, rows best first with their BM25 under `_score`. `meanwhile` is called once
        the searches run."""
        ...

    def near(self, query: NearQuery) -> list[dict[str, Any]]:
        """Rows, nearest first, with 1 - cosine under `_distance`."""
        ...

    def read(self, columns: Sequence[str], where: str = "") -> list[dict[str, Any]]: ...

    def count(self) -> int: ...

    def put(self, rows: Rows, replacing: str) -> None:
        """One commit: rows whose key is there are replaced, others added, and rows that match the condition `replacing`
        (empty: none) without being in `rows` are removed."""
        ...

    def remove(self, where: str) -> None: ...

    def unindexed(self) -> int:
        """Rows that were added since the text indexes were brought up to date; every search reads them one by one."""
        ...

    def index_vectors(self, kind: Ann) -> None:
        """Trains an approximate index, in place of the one there may be."""
        ...

    def index_key(self) -> None:
        """An index over the key, for lookups in a large table."""
        ...

    def optimize(self) -> None:
        """Merges small files and the unindexed tail, and drops old versions. Legal only while nobody else writes."""
        ...


class Store(Protocol):
    def open(self, folder: str, table: str = TABLE) -> Table: ...

    def create(self, folder: str, batches: Iterable[Rows], tokenizers: dict[str, Tokenizer], table: str = TABLE) -> int:
        """A new table with one text index per entry of `tokenizers`; returns the number of rows."""
        ...

    def tokens(self, text: str, tokenizer: Tokenizer) -> list[str]: ...


# --- driving native calls without asyncio -----------------------------------------------------------------------------


class _Future:
    """What the native side settles, through `_Loop.call_soon_threadsafe`, when its work is done."""

    __slots__ = ("_done", "_error", "_result")

    def __init__(self) -> None:
        self._done = False
        self._result: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        return self._done

    def cancelled(self) -> bool:
        return False

    def add_done_callback(self, callback: object, *, context: object = None) -> None:
        # The native side only wants to hear of a cancellation, and nothing cancels here.
        pass

    def set_result(self, result: Any) -> None:
        self._result, self._done = result, True

    def set_exception(self, error: BaseException) -> None:
        self._error, self._done = error, True

    def __await__(self) -> Generator[_Future, None, Any]:
        while not self._done:
            yield self
        if self._error is not None:
            raise self._error
        return self._result


class _Loop:
    """Runs coroutines that wait for nothing but native calls."""

    def __init__(self) -> None:
        from _queue import SimpleQueue

        self._ready: Any = SimpleQueue()

    def create_future(self) -> _Future:
        return _Future()

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: object, context: object = None) -> None:
        self._ready.put((callback, args))

    def run(self, coroutines: Sequence[Coroutine[Any, Any, Any]], meanwhile: Callable[[], None] | None) -> list[Any]:
        results: list[Any] = [None] * len(coroutines)
        running = dict(enumerate(coroutines))
        try:
            while True:
                for number, coroutine in list(running.items()):
                    try:
                        coroutine.send(None)
                    except StopIteration as end:
                        results[number] = end.value
                        del running[number]
                if meanwhile:
                    meanwhile()
                    meanwhile = None
                if not running:
                    return results
                callback, args = self._ready.get()
                callback(*args)
        finally:
            for coroutine in running.values():
                coroutine.close()


_loops: dict[int, _Loop] = {}


def _stand_in() -> ModuleType:
    """A module for the native side to find under the name `asyncio`: it asks for the running loop and for nothing else.

    The native side keeps what it finds for good, so once real asyncio is loaded this one hands on to it.
    """
    from _thread import get_ident
    from types import ModuleType

    def get_running_loop() -> Any:
        loop = _loops.get(get_ident())
        return loop if loop is not None else _real("get_running_loop")()

    def _real(name: str) -> Any:
        import importlib

        return getattr(importlib.import_module("asyncio"), name)

    module = ModuleType("asyncio")
    module.__dict__.update(get_running_loop=get_running_loop, __getattr__=_real)
    return module


_met_native = False


def _drive(*coroutines: Coroutine[Any, Any, Any], meanwhile: Callable[[], None] | None = None) -> list[Any]:
    """The results of all, run side by side; `meanwhile` is called in this thread once all have begun. The first error of any of them is raised."""
    global _met_native
    from _thread import _count, get_ident  # pyright: ignore[reportPrivateUsage,reportAttributeAccessIssue,reportUnknownVariableType]

    loop = _Loop()
    thread = get_ident()
    stand_in = None
    if not _met_native and "asyncio" not in sys.modules:
        if _count() == 0:
            stand_in = sys.modules["asyncio"] = _stand_in()
        else:
            # Another thread could import asyncio meanwhile and would be handed the stand-in.
            import asyncio  # noqa: F401  # pyright: ignore[reportUnusedImport]
    events: Any = sys.modules.get("asyncio.events")
    before = events._get_running_loop() if events else None
    _loops[thread] = loop
    if events:
        events._set_running_loop(loop)
    try:
        return loop.run(coroutines, meanwhile)
    except BaseException as error:
        # A Rust panic passes every `except Exception` on its way up, and a damaged file can cause one.
        if type(error).__name__ == "PanicException":
            raise RuntimeError(str(error)) from error
        raise
    finally:
        _met_native = True
        del _loops[thread]
        if events:
            events._set_running_loop(before)
        if stand_in is not None and sys.modules.get("asyncio") is stand_in:
            del sys.modules["asyncio"]


# --- the native module ------------------------------------------------------------------------------------------------


def _load_native() -> Any:
    """LanceDB's native module; raises ImportError when it cannot be had alone."""
    # The Rust side writes warnings to stderr ("No existing dataset…") that mean nothing to a reader.
    os.environ.setdefault("LANCEDB_LOG", "error")
    os.environ.setdefault("LANCE_LOG", "error")
    if "lancedb" not in sys.modules:
        from importlib.util import find_spec
        from types import ModuleType

        spec = find_spec("lancedb")
        if spec is None or not spec.submodule_search_locations:
            raise ImportError("lancedb is not installed")
        module = ModuleType("lancedb")
        module.__path__ = list(spec.submodule_search_locations)
        module.__spec__ = spec
        sys.modules["lancedb"] = module
        try:
            import lancedb._lancedb as native  # pyright: ignore[reportPrivateUsage]
        except ImportError:
            del sys.modules["lancedb"]
            raise
    else:
        import lancedb._lancedb as native  # pyright: ignore[reportPrivateUsage]
    for name in ("connect", "tokenize", "Table"):
        getattr(native, name)
    return native


def _load_pyarrow() -> Any:
    """pyarrow without numpy, unless something already loaded it; lists go in and come out, so nothing here misses it."""
    if "pyarrow" in sys.modules or "numpy" in sys.modules:
        import pyarrow  # pyright: ignore[reportMissingTypeStubs]

        return pyarrow
    modules = cast("dict[str, Any]", sys.modules)
    modules["numpy"] = None
    try:
        import pyarrow  # pyright: ignore[reportMissingTypeStubs]

        return pyarrow
    finally:
        del modules["numpy"]


def _with_rows(call: Callable[[], T]) -> T:
    """The result of native calls that return rows: read by ourselves where pyarrow is not loaded yet and nobody could load it
    meanwhile and be handed the stand-in, with pyarrow else."""
    from _thread import _count  # pyright: ignore[reportPrivateUsage,reportAttributeAccessIssue,reportUnknownVariableType]

    if "pyarrow" in sys.modules or _count():
        _load_pyarrow()
        return call()
    module = sys.modules["pyarrow"] = stand_in(_load_real_pyarrow)
    try:
        return call()
    finally:
        if sys.modules.get("pyarrow") is module:
            del sys.modules["pyarrow"]


def _load_real_pyarrow() -> Any:
    """As `_load_pyarrow`, from under the stand-in."""
    sys.modules.pop("pyarrow", None)
    return _load_pyarrow()


class FTS:
    """Settings of a text index. The native side reads attributes by name and knows the kind of index by this class's name."""

    with_position = False
    ngram_min_length = 3
    ngram_max_length = 3
    prefix_only = False
    block_size = 128
    custom_stop_words = None
    memory_limit = None
    num_workers = None
    document_granularity = "row"

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.__dict__.update(msgspec.structs.asdict(tokenizer))


class _AnnSettings:
    """Settings of an approximate index; known to the native side by the class's name as well, so each has its own class."""

    distance_type = "cosine"
    num_partitions = None
    target_partition_size = None
    max_iterations = 50
    sample_rate = 256
    accelerator = None
    num_bits = 1


class IvfRq(_AnnSettings):
    pass


class IvfSq(_AnnSettings):
    pass


class BTree:
    pass


_ANN: dict[Ann, type[_AnnSettings]] = {"IvfRq": IvfRq, "IvfSq": IvfSq}


def _batch(rows: Rows) -> Any:
    pyarrow = _load_pyarrow()
    fields: list[Any] = []
    arrays: list[Any] = []
    for name, values in rows.items():
        array = _vectors(values) if name == VECTOR else pyarrow.array(values, _kind(name))
        fields.append(pyarrow.field(name, array.type, nullable=False))
        arrays.append(array)
    return pyarrow.record_batch(arrays, schema=pyarrow.schema(fields))


def _kind(name: str) -> Any:
    pyarrow = _load_pyarrow()
    return pyarrow.float32() if name in NUMBERS else pyarrow.string()


def _vectors(values: Sequence[bytes]) -> Any:
    """Raises ValueError when they are not all of one length: their bytes would shift into each other."""
    pyarrow = _load_pyarrow()
    [size] = {len(value) for value in values}
    joined = pyarrow.py_buffer(b"".join(values))
    floats = pyarrow.Array.from_buffers(pyarrow.float32(), len(values) * size // 4, [None, joined])
    return pyarrow.FixedSizeListArray.from_arrays(floats, size // 4)


def _floats(vector: bytes) -> Any:
    pyarrow = _load_pyarrow()
    return pyarrow.Array.from_buffers(pyarrow.float32(), len(vector) // 4, [None, pyarrow.py_buffer(vector)])


def _reader(batches: Iterable[Any]) -> Any:
    pyarrow = _load_pyarrow()
    batches = list(batches)
    return pyarrow.RecordBatchReader.from_batches(batches[0].schema, batches)


class _NativeTable:
    def __init__(self, table: Any) -> None:
        self._table = table

    def find(self, queries: Sequence[TextQuery], meanwhile: Callable[[], None] | None = None) -> list[Answers]:
        return _with_rows(lambda: _drive(*(self._find(query) for query in queries), meanwhile=meanwhile))

    async def _find(self, query: TextQuery) -> Answers:
        search = self._table.query().nearest_to_text({"query": query.text, "columns": [query.column]})
        search.limit(query.limit)
        search.select_columns([*query.columns, "_score"])
        if query.where:
            search.where(query.where)
        batches = [batch async for batch in await search.execute(None, None)]
        rows = [row for batch in batches for row in batch.to_pylist()] if query.columns else []
        return Answers(rows, sum(batch.num_rows for batch in batches))

    def near(self, query: NearQuery) -> list[dict[str, Any]]:
        vector = _floats(query.vector)

        def near() -> list[dict[str, Any]]:
            search = self._table.query().nearest_to(vector)
            search.distance_type("cosine")
            search.limit(query.limit)
            search.minimum_nprobes(query.probes)
            search.maximum_nprobes(query.probes)
            if query.refine > 1:
                search.refine_factor(query.refine)
            search.select_columns([*query.columns, "_distance"])
            if query.where:
                search.where(query.where)
            return _drive(_collect(search))[0]

        return _with_rows(near)

    def read(self, columns: Sequence[str], where: str = "") -> list[dict[str, Any]]:
        def read() -> list[dict[str, Any]]:
            query = self._table.query()
            query.select_columns(list(columns))
            if where:
                query.where(where)
            return _drive(_collect(query))[0]

        return _with_rows(read)

    def count(self) -> int:
        async def count() -> int:
            return await self._table.count_rows(None)

        return _drive(count())[0]

    def put(self, rows: Rows, replacing: str) -> None:
        settings: dict[str, Any] = {
            "on": [KEY],
            "when_matched_update_all": True,
            "when_matched_update_all_condition": None,
            "when_not_matched_insert_all": True,
            "when_not_matched_by_source_delete": bool(replacing),
            "when_not_matched_by_source_condition": replacing or None,
            "when_not_matched_by_source_condition_expr": None,
            "timeout": None,
            # With an index on the key LanceDB was measured to duplicate keys that two writers insert at once.
            "use_index": False,
            "use_lsm": None,
            "validate_single_shard": None,
        }

        async def put() -> None:
            await self._table.execute_merge_insert(_reader([_batch(rows)]), settings)

        _drive(put())

    def remove(self, where: str) -> None:
        async def remove() -> None:
            await self._table.delete(where)

        _drive(remove())

    def unindexed(self) -> int:
        async def unindexed() -> int:
            return max((index.num_unindexed_rows or 0 for index in await self._table.list_indices()), default=0)

        return _drive(unindexed())[0]

    def index_vectors(self, kind: Ann) -> None:
        self._index(VECTOR, _ANN[kind]())

    def index_key(self) -> None:
        self._index(KEY, BTree())

    def _index(self, column: str, settings: object) -> None:
        async def index() -> None:
            await self._table.create_index(column, settings, True, None, name=None, train=True)

        _drive(index())

    def optimize(self) -> None:
        async def optimize() -> None:
            await self._table.optimize(cleanup_since_ms=0, delete_unverified=True)

        _drive(optimize())


async def _collect(query: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    async for batch in await query.execute(None, None):
        rows.extend(batch.to_pylist())
    return rows


class _NativeStore:
    def __init__(self, native: Any) -> None:
        self._native = native

    async def _connect(self, folder: str) -> Any:
        # The sixth argument asks for the newest version at every read, for a process that stays open while others write.
        return await self._native.connect(folder, None, None, None, None, 0.0, None, None, None)

    def open(self, folder: str, table: str = TABLE) -> Table:
        async def open_table() -> Any:
            return await (await self._connect(folder)).open_table(table)

        return _NativeTable(_drive(open_table())[0])

    def create(self, folder: str, batches: Iterable[Rows], tokenizers: dict[str, Tokenizer], table: str = TABLE) -> int:
        arrow = [_batch(rows) for rows in batches]

        async def create() -> int:
            connection = await self._connect(folder)
            made = await connection.create_table(table, "create", _reader(arrow))
            await made.set_unenforced_primary_key([KEY])
            for column, tokenizer in tokenizers.items():
                await made.create_index(column, FTS(tokenizer), True, None, name=None, train=True)
            return await made.count_rows(None)

        return _drive(create())[0]

    def tokens(self, text: str, tokenizer: Tokenizer) -> list[str]:
        return [token.text for token in self._native.tokenize(text, **msgspec.structs.asdict(tokenizer))]


# --- the public API ---------------------------------------------------------------------------------------------------


class _PublicTable:
    def __init__(self, table: Any) -> None:
        self._table = table

    def find(self, queries: Sequence[TextQuery], meanwhile: Callable[[], None] | None = None) -> list[Answers]:
        if meanwhile:
            meanwhile()
        return [self._find(query) for query in queries]

    def _find(self, query: TextQuery) -> Answers:
        search = self._table.search(query.text, query_type="fts", fts_columns=query.column)
        search = search.limit(query.limit).select([*query.columns, "_score"])
        if query.where:
            search = search.where(query.where, prefilter=True)
        rows = search.to_list()
        return Answers(rows, len(rows))

    def near(self, query: NearQuery) -> list[dict[str, Any]]:
        search = self._table.search(_floats(query.vector).to_pylist(), vector_column_name=VECTOR).metric("cosine")
        search = search.limit(query.limit).select([*query.columns, "_distance"]).nprobes(query.probes)
        if query.refine > 1:
            search = search.refine_factor(query.refine)
        if query.where:
            search = search.where(query.where, prefilter=True)
        return search.to_list()

    def read(self, columns: Sequence[str], where: str = "") -> list[dict[str, Any]]:
        search = self._table.search().select(list(columns)).limit(self.count() or 1)
        return (search.where(where) if where else search).to_list()

    def count(self) -> int:
        return self._table.count_rows()

    def put(self, rows: Rows, replacing: str) -> None:
        merge = self._table.merge_insert(KEY).when_matched_update_all().when_not_matched_insert_all()
        if replacing:
            merge = merge.when_not_matched_by_source_delete(replacing)
        merge.use_index(False).execute(_reader([_batch(rows)]))

    def remove(self, where: str) -> None:
        self._table.delete(where)

    def unindexed(self) -> int:
        return max((index.num_unindexed_rows or 0 for index in self._table.list_indices()), default=0)

    def index_vectors(self, kind: Ann) -> None:
        from lancedb import index

        self._table.create_index(VECTOR, config=getattr(index, kind)(distance_type="cosine"))

    def index_key(self) -> None:
        from lancedb.index import BTree as PublicBTree

        self._table.create_index(KEY, config=PublicBTree())

    def optimize(self) -> None:
        from datetime import timedelta

        self._table.optimize(cleanup_older_than=timedelta(0), delete_unverified=True)


class _PublicStore:
    def __init__(self) -> None:
        import lancedb

        self._lancedb: Any = lancedb

    def _connect(self, folder: str) -> Any:
        from datetime import timedelta

        return self._lancedb.connect(folder, read_consistency_interval=timedelta(0))

    def open(self, folder: str, table: str = TABLE) -> Table:
        return _PublicTable(self._connect(folder).open_table(table))

    def create(self, folder: str, batches: Iterable[Rows], tokenizers: dict[str, Tokenizer], table: str = TABLE) -> int:
        from lancedb.index import FTS as PublicFTS

        made = self._connect(folder).create_table(table, _reader([_batch(rows) for rows in batches]))
        made.set_unenforced_primary_key(KEY)
        for column, tokenizer in tokenizers.items():
            made.create_index(column, config=PublicFTS(**msgspec.structs.asdict(tokenizer)))
        return made.count_rows()

    def tokens(self, text: str, tokenizer: Tokenizer) -> list[str]:
        return [token.text for token in self._lancedb.tokenize(text, **msgspec.structs.asdict(tokenizer))]


def public_store() -> Store:
    """The same work through the documented API: slow to load, sure to exist."""
    return _PublicStore()


_store: Store | None = None


def store() -> Store:
    """The fast store, or the public one where the native module is not what we know. Loaded once a process."""
    global _store
    if _store is None:
        try:
            _store = _NativeStore(_load_native())
        except (ImportError, AttributeError):
            _store = public_store()
    return _store
