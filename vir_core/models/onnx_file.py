"""The few things we read of an ONNX file: its stored tensors, and which of them each matrix product uses.

ONNX is protocol buffers. A reader of four field kinds is a page of code and takes a millisecond; the library for it would take
longer to import than a question takes to answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path

from msgspec import Struct

FLOAT, INT8 = 1, 3
"""ONNX's numbers for the element types that we read."""

_GRAPH, _NODE, _INITIALIZER = 7, 1, 5
_INPUT, _OPERATOR = 1, 4
_DIMS, _TYPE, _NAME, _RAW = 1, 2, 8, 9


class Tensor(Struct, frozen=True):
    """Where a tensor's bytes lie in the file: little-endian, row by row."""

    kind: int
    shape: tuple[int, ...]
    start: int
    end: int


class OnnxFile(Struct, frozen=True):
    """`content` is the file, mapped: of a big table of tokens a question touches a few pages. `products` are the inputs of
    the matrix products, in the order in which they are computed."""

    content: mmap
    tensors: dict[str, Tensor]
    products: list[tuple[str, ...]]


def read_onnx(path: Path) -> OnnxFile:
    """Raises `OSError`, and `ValueError` for what is no ONNX file."""
    with path.open("rb") as file:
        content = mmap(file.fileno(), 0, access=ACCESS_READ)
    tensors: dict[str, Tensor] = {}
    products: list[tuple[str, ...]] = []
    try:
        for field, start, end in _fields(content, 0, len(content)):
            if field != _GRAPH:
                continue
            for inner, begin, stop in _fields(content, start, end):
                if inner == _INITIALIZER:
                    name, tensor = _tensor(content, begin, stop)
                    tensors[name] = tensor
                elif inner == _NODE:
                    operator, inputs = _node(content, begin, stop)
                    if operator == b"MatMul":
                        products.append(inputs)
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no ONNX file") from error
    if not tensors:
        raise ValueError(f"{path} holds no weights")
    return OnnxFile(content, tensors, products)


def _tensor(content: mmap, start: int, end: int) -> tuple[str, Tensor]:
    name, kind, raw, shape = "", 0, (0, 0), list[int]()
    for field, begin, stop in _fields(content, start, end):
        if field == _NAME:
            name = content[begin:stop].decode()
        elif field == _TYPE:
            kind = begin
        elif field == _RAW:
            raw = (begin, stop)
        elif field == _DIMS and stop < 0:
            shape.append(begin)
        elif field == _DIMS:
            while begin < stop:
                size, begin = _number(content, begin)
                shape.append(size)
    return name, Tensor(kind, tuple(shape), *raw)


def _node(content: mmap, start: int, end: int) -> tuple[bytes, tuple[str, ...]]:
    operator, inputs = b"", list[str]()
    for field, begin, stop in _fields(content, start, end):
        if field == _OPERATOR:
            operator = content[begin:stop]
        elif field == _INPUT:
            inputs.append(content[begin:stop].decode())
    return operator, tuple(inputs)


def _fields(content: mmap, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Field number with where its bytes begin and end; for a number, the number and -1."""
    while at < end:
        tag, at = _number(content, at)
        field, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = _number(content, at)
            yield field, value, -1
            continue
        if kind == 2:
            size, at = _number(content, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError("no ONNX file")
        if at + size > end:
            raise ValueError("an ONNX file that was cut short")
        yield field, at, at + size
        at += size


def _number(content: mmap, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("no ONNX file")
