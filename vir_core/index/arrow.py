"""Answers of the native module, read without pyarrow.

The native side hands a result over through Arrow's C stream interface: it looks up `RecordBatchReader` in the module `pyarrow`
and gives it the address of a stream. Loading pyarrow for that costs as much as the search. This stand-in reads the stream itself;
of Arrow's types it knows the ones our columns have, and hands a stream with any other on to pyarrow. The native side keeps
for good what it finds first, so it must serve for as long as the process lives.
The interface is a stable ABI: https://arrow.apache.org/docs/format/CStreamInterface.html and CDataInterface.html.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from itertools import pairwise
from struct import Struct as Layout
from types import ModuleType
from typing import Any

_SCHEMA = Layout("@PPPqqPPPP")  # format, name, metadata, flags, n_children, children, dictionary, release, private_data
_ARRAY = Layout(
    "@qqqqqPPPPP"
)  # length, null_count, offset, n_buffers, n_children, buffers, children, dictionary, release, …
_STREAM = Layout("@PPPPP")  # get_schema, get_next, get_last_error, release, private_data
_POINTER = Layout("@P")

_NUMBERS = {"f": "f", "g": "d", "l": "q", "L": "Q", "i": "i"}
_TEXTS = {"u": "i", "U": "q"}


class Batch:
    """One record batch, its columns already turned into lists."""

    def __init__(self, rows: int, columns: dict[str, list[Any]]) -> None:
        self.num_rows = rows
        self._columns = columns

    def to_pylist(self) -> list[dict[str, Any]]:
        names = list(self._columns)
        return [dict(zip(names, values, strict=True)) for values in zip(*self._columns.values(), strict=True)]


class RecordBatchReader:
    """What the native side makes of a stream with one batch in it."""

    def __init__(self, batches: list[Batch]) -> None:
        self._batches = batches

    @classmethod
    def _import_from_c(cls, address: int) -> Any:
        """Reads the whole stream. It stays its owner's to release: its owner waits for this call."""
        import ctypes

        columns = _columns(ctypes, address)
        if columns is None:
            return _load().RecordBatchReader._import_from_c(address)
        return cls(list(_batches(ctypes, address, columns)))

    def read_next_batch(self) -> Batch:
        if not self._batches:
            raise StopIteration
        return self._batches.pop(0)


_load: Callable[[], Any]


def stand_in(load: Callable[[], Any]) -> ModuleType:
    """A module to stand under the name `pyarrow` while native calls run that return rows; `load` gives the real one."""
    global _load
    _load = load
    module = ModuleType("pyarrow")
    module.__dict__["RecordBatchReader"] = RecordBatchReader
    return module


def _columns(ctypes: Any, stream: int) -> list[tuple[str, str]] | None:
    """Name and format of each column; `None` when one is of a type that is not read here."""
    get_schema, *_ = _STREAM.unpack(ctypes.string_at(stream, _STREAM.size))
    content = ctypes.create_string_buffer(_SCHEMA.size)
    if _function(ctypes, get_schema)(stream, ctypes.addressof(content)):
        raise OSError("the search engine's answer has no columns")
    shape, _, _, _, count, children, _, release, _ = _SCHEMA.unpack(bytes(content))
    try:
        if ctypes.string_at(shape) != b"+s":
            return None
        found: list[tuple[str, str]] = []
        for child in _pointers(ctypes, children, count):
            kind, name, _, _, _, _, dictionary, *_ = _SCHEMA.unpack(ctypes.string_at(child, _SCHEMA.size))
            form = ctypes.string_at(kind).decode()
            if dictionary or (form not in _NUMBERS and form not in _TEXTS):
                return None
            found.append((ctypes.string_at(name).decode(), form))
        return found
    finally:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(release)(ctypes.addressof(content))


def _batches(ctypes: Any, stream: int, columns: list[tuple[str, str]]) -> Iterator[Batch]:
    _, get_next, *_ = _STREAM.unpack(ctypes.string_at(stream, _STREAM.size))
    while True:
        content = ctypes.create_string_buffer(_ARRAY.size)
        if _function(ctypes, get_next)(stream, ctypes.addressof(content)):
            raise OSError("the search engine's answer broke off")
        fields = _ARRAY.unpack(bytes(content))
        release = fields[8]
        if not release:  # an array that is released already ends the stream
            return
        try:
            yield _batch(ctypes, fields, columns)
        finally:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(release)(ctypes.addressof(content))


def _batch(ctypes: Any, fields: tuple[int, ...], columns: list[tuple[str, str]]) -> Batch:
    length, _, offset, _, count, _, children, *_ = fields
    values = {
        name: _values(ctypes, _ARRAY.unpack(ctypes.string_at(child, _ARRAY.size)), form, offset, length)
        for child, (name, form) in zip(_pointers(ctypes, children, count), columns, strict=True)
    }
    return Batch(length, values)


def _values(ctypes: Any, fields: tuple[int, ...], form: str, offset: int, length: int) -> list[Any]:
    _, nulls, first, parts, _, addresses, *_ = fields
    first += offset
    buffers = _pointers(ctypes, addresses, parts)
    if form in _NUMBERS:
        values: list[Any] = _numbers(ctypes, buffers[1], _NUMBERS[form], first, length)
    else:
        ends = _numbers(ctypes, buffers[1], _TEXTS[form], first, length + 1)
        start = ends[0]
        text = ctypes.string_at(buffers[2] + start, ends[-1] - start) if ends[-1] > start else b""
        values = [text[begin - start : end - start].decode() for begin, end in pairwise(ends)]
    if nulls and buffers[0]:
        bits = ctypes.string_at(buffers[0], (first + length + 7) // 8)
        return [value if bits[n >> 3] >> (n & 7) & 1 else None for n, value in enumerate(values, first)]
    return values


def _numbers(ctypes: Any, address: int, code: str, first: int, count: int) -> list[Any]:
    numbers: array[Any] = array(code)
    if count:
        numbers.frombytes(ctypes.string_at(address + first * numbers.itemsize, count * numbers.itemsize))
    return numbers.tolist()


def _function(ctypes: Any, address: int) -> Any:
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(address)


def _pointers(ctypes: Any, address: int, count: int) -> list[int]:
    if not count:
        return []
    content = ctypes.string_at(address, count * _POINTER.size)
    return [pointer for (pointer,) in _POINTER.iter_unpack(content)]
