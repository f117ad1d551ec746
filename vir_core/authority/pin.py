"""Which first key this device trusts. A record of this machine: no line of the journal can set or change it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from vir_core.machine import ABSENT, Changed, StorageError, make_dirs, read_bytes, write_atomic
from vir_core.text import sha256_hex

ROOT = "root"


class Pin(Struct, frozen=True, kw_only=True):
    """`public` is the root's public key (hex); `how` is whether it was made here or a person confirmed its six words; `at`
    when, UTC. `former` are roots that a person gave up here by starting over."""

    v: int = 1
    public: str
    how: Literal["made", "confirmed"]
    at: str
    former: tuple[str, ...] = ()


def read_pin(state: Path | None) -> Pin | None:
    """The pin; `None` when nothing was pinned here. Raises `StorageError` for one that cannot be read: taking that for none
    would let the next key that comes along be the first."""
    if state is None:
        return None
    path = state / ROOT
    try:
        return msgspec.json.decode(read_bytes(path), type=Pin)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise StorageError(
            path, "The record of the key this device trusts is damaged.", "Confirm the six words again."
        ) from error


def write_pin(state: Path, pin: Pin, *, over: Pin | Literal["damaged"] | None) -> None:
    """Keeps the pin. `over` is the pin that the person meant to replace, `None` when there was none, `damaged` for a record
    that could not be read.

    Raises `Changed` when another is there by now, `StorageError`.
    """
    make_dirs(state, private=True)
    path = state / ROOT
    expected = ABSENT if over is None else sha256_hex(_encoded(over)) if isinstance(over, Pin) else _damaged(path)
    write_atomic(path, _encoded(pin), expected=expected, private=True)


def _damaged(path: Path) -> str:
    content = read_bytes(path)
    try:
        msgspec.json.decode(content, type=Pin)
    except msgspec.MsgspecError:
        return sha256_hex(content)
    raise Changed(path)


def _encoded(pin: Pin) -> bytes:
    return msgspec.json.encode(pin) + b"\n"
