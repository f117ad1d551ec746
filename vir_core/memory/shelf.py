"""A large table of Structs that is opened without being unpacked.

A checkpoint of a hundred thousand sessions would take longer to unpack than a run takes to look at the ten that it needs.
So rows lie one after the other in the bytes that were read, sorted by key, and a row is decoded when somebody asks for it.
"""

from __future__ import annotations

from array import array
from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

S = TypeVar("S", bound=Struct)
_NONE = memoryview(b"")

# Two orders of reading give the same bytes too.
_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class Shelf(Mapping[str, S], Generic[S]):
    """`index` holds two numbers a row: where its key begins in `rows` and where its value does."""

    def __init__(self, kind: type[S], index: memoryview = _NONE, rows: memoryview = _NONE) -> None:
        """Raises ValueError for an index that does not fit the rows."""
        self._decode = msgspec.msgpack.Decoder(kind).decode
        # Numbers lie as this machine has them; the file is a cache of this machine.
        self._index = index.cast("Q")
        self._rows = rows
        self._packed = len(self._index) // 2
        self._live: dict[str, S] = {}
        self._new = 0
        if len(self._index) % 2 or (self._packed and self._index[-1] > len(rows)):
            raise ValueError("the index does not fit the rows")

    def __getitem__(self, key: str) -> S:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def get(self, key: str, default: S | None = None) -> S | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        found = self._live.get(key)
        if found is not None or not self._packed:
            return default if found is None else found
        place = self._find(key.encode("utf-8", "surrogatepass"))
        if place is None:
            return default
        found = self._live[key] = self._decode(self._value(place))
        return found

    def put(self, key: str, row: S) -> S:
        """Adds a row whose key is not there."""
        self._live[key] = row
        self._new += 1
        return row

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.get(key) is not None

    def __len__(self) -> int:
        return self._packed + self._new

    def __iter__(self) -> Iterator[str]:
        if not self._packed:
            yield from self._live
            return
        for place in range(self._packed):
            yield bytes(self._key(place)).decode("utf-8", "surrogatepass")
        if self._new:
            yield from [key for key in self._live if self._find(_bytes(key)) is None]

    def values(self) -> ValuesView[S]:
        return _Values(self)

    def items(self) -> ItemsView[str, S]:
        return _Items(self)

    def walk(self) -> Iterator[tuple[str, S]]:
        """Every row with its key, in one pass instead of a search each."""
        if not self._packed:
            yield from self._live.items()
            return
        for place in range(self._packed):
            key = bytes(self._key(place)).decode("utf-8", "surrogatepass")
            row = self._live.get(key)
            if row is None:
                row = self._live[key] = self._decode(self._value(place))
            yield key, row
        if self._new:
            yield from [(key, self._live[key]) for key in self._live if self._find(_bytes(key)) is None]

    def dump(self) -> tuple[array[int], list[bytes | memoryview]]:
        """Index, and rows in pieces; equal tables give equal bytes."""
        index = array("Q")
        rows: list[bytes | memoryview] = []
        position = place = 0
        live = self._live
        for name in sorted(live, key=_bytes):
            key = _bytes(name)
            if self._packed:
                # Untouched rows are copied in one piece up to the next touched one.
                stop = self._after(key)
                first = stop - 1 if stop and bytes(self._key(stop - 1)) == key else stop
                position = self._copy(place, first, index, rows, position)
                place = stop
            value = _encode(live[name])
            index.append(position)
            index.append(position + len(key))
            rows.append(key + value)
            position += len(key) + len(value)
        self._copy(place, self._packed, index, rows, position)
        return index, rows

    def _copy(self, place: int, stop: int, index: array[int], rows: list[bytes | memoryview], position: int) -> int:
        if place >= stop:
            return position
        begin = self._index[2 * place]
        end = self._index[2 * stop] if stop < self._packed else len(self._rows)
        rows.append(self._rows[begin:end])
        shift = position - begin
        old = self._index[2 * place : 2 * stop]
        index.extend(old if not shift else [number + shift for number in old])
        return position + end - begin

    def _key(self, place: int) -> memoryview:
        return self._rows[self._index[2 * place] : self._index[2 * place + 1]]

    def _value(self, place: int) -> memoryview:
        end = self._index[2 * place + 2] if place + 1 < self._packed else len(self._rows)
        return self._rows[self._index[2 * place + 1] : end]

    def _after(self, key: bytes) -> int:
        """How many packed keys are not beyond `key`."""
        low, high = 0, self._packed
        while low < high:
            middle = (low + high) // 2
            if bytes(self._key(middle)) <= key:
                low = middle + 1
            else:
                high = middle
        return low

    def _find(self, key: bytes) -> int | None:
        place = self._after(key) - 1
        return place if place >= 0 and bytes(self._key(place)) == key else None


class _Values(ValuesView[S]):
    def __init__(self, shelf: Shelf[S]) -> None:
        super().__init__(shelf)
        self._shelf = shelf

    def __iter__(self) -> Iterator[S]:
        return (row for _, row in self._shelf.walk())


class _Items(ItemsView[str, S]):
    def __init__(self, shelf: Shelf[S]) -> None:
        super().__init__(shelf)
        self._shelf = shelf

    def __iter__(self) -> Iterator[tuple[str, S]]:
        return self._shelf.walk()


def _bytes(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")
