"""Digests and the ids made from them. What is hashed here is fixed for ever: every device must mint the same."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import msgspec

from vir_core.text.fold import clean, fold

Canonical: TypeAlias = "str | int | float | bool | Sequence[Canonical] | Mapping[str, Canonical] | None"

_SAFE = (1 << 53) - 1
_encode = msgspec.json.Encoder(order="sorted").encode


def sha256_hex(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def canonical(value: Canonical) -> bytes:
    """The value as canonical JSON (RFC 8785), UTF-8.

    Raises ValueError for what has no canonical form: integers from 2^53 on, NaN, infinities, lone surrogates.
    """
    if _is_simple(value):
        quick = _encode(value)
        if b"\\" not in quick:
            return quick
    import rfc8785

    try:
        return rfc8785.dumps(_plain(value))
    except (rfc8785.CanonicalizationError, UnicodeError) as error:
        raise ValueError(str(error)) from error


def note_id(session_key: str) -> str:
    """`n` + 15 hex. The same session key gives the same id on every device."""
    return "n" + _digest("vir-note/1", session_key)[:15]


def lesson_id(note: str, turn: str, quote: str) -> str:
    """`l` + 11 hex, also the lesson's block id. The quote counts folded: case and spacing do not make another lesson."""
    return "l" + _digest("vir-lesson/1", note, turn, fold(clean(quote)))[:11]


def project_id(project_key: str) -> str:
    """`p` + 15 hex."""
    return "p" + _digest("vir-project/1", project_key)[:15]


def random_id(prefix: str) -> str:
    """`prefix` + 15 random hex digits. The prefix is a letter, so that YAML never reads the id as a number."""
    return prefix + os.urandom(8).hex()[:15]


def _digest(*parts: str) -> str:
    return sha256_hex(canonical(list(parts)))


def _is_simple(value: object) -> bool:
    """Whether it holds only what every encoder writes alike once keys are sorted: ASCII text, whole numbers that a double
    holds, and none of the fractions and orders of keys that RFC 8785 is about. Proofs are checked by the thousand, and this
    is four times as fast; a test holds the two ways together."""
    kind = type(value)
    if kind is str:
        return cast("str", value).isascii()
    if value is None or kind is bool:
        return True
    if kind is int:
        return -_SAFE <= cast("int", value) <= _SAFE
    if kind is dict:
        return all(
            type(key) is str and key.isascii() and _is_simple(item)
            for key, item in cast("dict[object, object]", value).items()
        )
    return (kind is list or kind is tuple) and all(map(_is_simple, cast("Sequence[object]", value)))


def _plain(value: Canonical) -> Canonical:
    # rfc8785 takes only lists and dicts; tuples and frozen mappings are what our Structs hold.
    if isinstance(value, str) or value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value]
