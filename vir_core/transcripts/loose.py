"""Tolerant decoding of JSON whose shape drifts: one odd field never loses its line, one odd line never loses the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeVar, cast, get_args

import msgspec

T = TypeVar("T", bound=msgspec.Struct)
Object = Mapping[str, object]

_any = msgspec.json.Decoder()
_stdlib = json.JSONDecoder(strict=False)
_record = re.compile(r"\{\s*\"(?:parentUuid|timestamp|type|uuid|sessionId|isSidechain|record_type|leafUuid|ordinal)\"")
_surrogate = re.compile("[\ud800-\udfff]")
_ATTEMPTS = 64


@cache
def decoder_of(shape: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(shape)


def decode_as(shape: type[T], raw: bytes | msgspec.Raw) -> T | None:
    """`raw` as `shape`; fields of another type than declared keep their default. None when it is no JSON object."""
    try:
        return decoder_of(shape).decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = value_of(raw)
        return fit(shape, cast("object", value)) if isinstance(value, dict) else None


def fit(shape: type[T], value: object) -> T:
    """A decoded JSON object as `shape`, field by field, dropping the fields that do not fit."""
    found = mapping(value)
    kept: dict[str, object] = {}
    for field in msgspec.structs.fields(shape):
        if field.encode_name not in found:
            continue
        try:
            given = _well_formed(found[field.encode_name])
        except RecursionError:
            continue
        if field.type is msgspec.Raw:
            kept[field.name] = msgspec.Raw(encode(given))
            continue
        if inner := _struct_in(field.type):
            if isinstance(given, dict):
                kept[field.name] = fit(inner, cast("object", given))
            continue
        try:
            kept[field.name] = msgspec.convert(given, field.type)
        except (msgspec.ValidationError, UnicodeError):
            continue
    return shape(**kept)


@cache
def _struct_in(shape: object) -> type[msgspec.Struct] | None:
    """The Struct a field holds, alone or as `Struct | None`."""
    for one in (shape, *get_args(shape)):
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            return one
    return None


def _well_formed(value: object) -> object:
    if isinstance(value, str):
        return _surrogate.sub("\ufffd", value)
    if isinstance(value, dict):
        return {string(_well_formed(key)): _well_formed(inner) for key, inner in mapping(cast("object", value)).items()}
    if isinstance(value, list):
        return [_well_formed(inner) for inner in sequence(cast("object", value))]
    return value


def encode(value: object) -> bytes:
    """JSON of a decoded value; lone surrogates become U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeError, msgspec.MsgspecError, TypeError, RecursionError):
        pass
    try:
        return _surrogate.sub("\ufffd", json.dumps(value, ensure_ascii=False, default=str)).encode()
    except (ValueError, RecursionError):
        return b"null"


def value_of(raw: bytes | msgspec.Raw) -> object:
    """The value of `raw`, lone surrogates kept for the cleaning of texts; None when it is not one JSON value."""
    try:
        return _any.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        try:
            return cast("object", json.loads(bytes(raw).decode("utf-8", "replace"), strict=False))
        except (ValueError, RecursionError):
            return None


def objects_on(line: bytes) -> tuple[list[Object], bool]:
    """The objects of a line that is not one JSON object, in order, and whether all of the line could be read.

    An append after a missing line end puts two objects on one line; a crash leaves half an object before a whole one.
    After a broken stretch reading goes on at the next object that opens like a record."""
    text = line.decode("utf-8", "replace")
    found: list[Object] = []
    whole = True
    at = 0
    for _ in range(_ATTEMPTS):
        while at < len(text) and text[at] in " \t\r\n\x00\x0c\ufeff,":
            at += 1
        if at >= len(text):
            return found, whole
        try:
            value, at = cast("tuple[object, int]", _stdlib.raw_decode(text, at))
        except (ValueError, RecursionError):
            whole = False
            nxt = _record.search(text, at + 1)
            if nxt is None:
                return found, False
            at = nxt.start()
            continue
        if isinstance(value, dict):
            if whole or _stands_alone(mapping(cast("object", value))):
                found.append(mapping(cast("object", value)))
        else:
            whole = False
    return found, False


def _stands_alone(value: Object) -> bool:
    """After a broken stretch an object may be the inside of a torn one; only what names its session or its payload is
    a record of its own."""
    return any(key in value for key in ("sessionId", "payload", "leafUuid", "record_type"))


def mapping(value: object) -> Object:
    """`value` when it is an object, else an empty one."""
    return cast("Object", value) if isinstance(value, dict) else {}


def sequence(value: object) -> Sequence[object]:
    """`value` when it is an array, else an empty one."""
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def string(value: object) -> str:
    """`value` when it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


class Piece(msgspec.Struct):
    """A block of content of which only text is wanted: what an image holds is skipped without being decoded."""

    type: str | None = None
    text: str | None = None


def text_in(raw: bytes | msgspec.Raw) -> str:
    """As `text_of`, from undecoded JSON; payloads of images and documents stay undecoded."""
    if not len(raw):
        return ""
    try:
        given = _texts.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text_of(value_of(raw))
    if isinstance(given, str):
        return given
    if len(given) == 1 and given[0].text:
        return given[0].text
    return "\n".join(filter(None, (piece.text or _placeholder(piece.type or "") for piece in given)))


def items_in(raw: bytes | msgspec.Raw) -> list[msgspec.Raw]:
    """The items of an array, undecoded; none when it is no array."""
    try:
        return _raws.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []


def _placeholder(kind: str) -> str:
    return "[image]" if "image" in kind else "[document]" if kind == "document" else ""


def text_of(content: object) -> str:
    """The text of a message's content: a string, or the texts of a list of blocks, one a paragraph. Images and other
    bulk are left out: base64 is no text."""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for block in sequence(content):
        if isinstance(block, str):
            texts.append(block)
            continue
        found = mapping(block)
        text = string(found.get("text"))
        if text := text or _placeholder(string(found.get("type"))):
            texts.append(text)
    return "\n".join(texts)


_texts = msgspec.json.Decoder(str | list[Piece])
_raws = msgspec.json.Decoder(list[msgspec.Raw])
