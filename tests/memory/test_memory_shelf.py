"""The packed table behaves as a dict does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from vir_core.memory.shelf import Shelf


class Row(Struct, array_like=True):
    words: str


def packed(shelf: Shelf[Row]) -> tuple[bytes, bytes]:
    index, rows = shelf.dump()
    return index.tobytes(), b"".join(rows)


def reopened(shelf: Shelf[Row]) -> Shelf[Row]:
    return Shelf(Row, *map(memoryview, packed(shelf)))


_keys = st.text(st.characters(codec=None), max_size=4)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.tuples(_keys, st.text(max_size=5)), max_size=8), min_size=1, max_size=4))
def test_it_holds_what_a_dict_holds_however_often_it_was_packed(rounds: list[list[tuple[str, str]]]) -> None:
    shelf, plain = Shelf(Row), dict[str, str]()
    for rows in rounds:
        for key, words in rows:
            words = words.encode("utf-8", "replace").decode()
            row = shelf.get(key)
            if row is None:
                shelf.put(key, Row(words))
            else:
                row.words = words
            plain[key] = words
        assert len(shelf) == len(plain)
        assert {key: row.words for key, row in shelf.items()} == plain
        assert sorted(row.words for row in shelf.values()) == sorted(plain.values())
        assert set(shelf) == set(plain)
        shelf = reopened(shelf)
    fresh = Shelf(Row)
    for key in reversed(plain):
        fresh.put(key, Row(plain[key]))
    assert packed(fresh) == packed(shelf), "the same rows are the same bytes"
    for key, words in plain.items():
        assert (shelf[key].words, key in shelf) == (words, True)
    for key in ("", "a", "absent", "\ud800"):
        assert (key in shelf) == (key in plain)
        if key not in plain:
            assert shelf.get(key) is None
            with pytest.raises(KeyError):
                shelf[key]


def test_index_of_other_rows_is_refused() -> None:
    shelf = Shelf(Row)
    shelf.put("a", Row("x" * 100))
    index, rows = packed(shelf)
    assert Shelf(Row, memoryview(index), memoryview(rows))["a"].words == "x" * 100
    for bad in (index[:8], index[:-1]):
        with pytest.raises((ValueError, TypeError)):
            Shelf(Row, memoryview(bad), memoryview(rows))
    with pytest.raises(ValueError, match="does not fit"):
        Shelf(Row, memoryview(index), memoryview(rows[:3]).cast("B")[:0])
