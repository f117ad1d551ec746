"""Exceptions of the rooms, turned into error kinds once."""

from __future__ import annotations

import sys

from msgspec import Struct

from vir_core.contract import ErrorKind, RequestError
from vir_core.machine import Busy, Changed, MachineError, StorageError

_KINDS: tuple[tuple[str, str, ErrorKind], ...] = (
    ("vir_core.vault", "NoVault", "no_vault"),
    ("vir_core.vault", "CopyOfVault", "conflict"),
    ("vir_core.vault", "ConfigError", "no_vault"),
    ("vir_core.vault", "VaultError", "invalid_request"),
    ("vir_core.journal", "JournalError", "storage"),
    ("vir_core.index", "IndexUnusable", "storage"),
    ("vir_core.ingest", "VanishedNotes", "conflict"),
    ("vir_core.upkeep", "InitRefused", "invalid_request"),
    ("vir_core.upkeep", "ForgetRefused", "human_required"),
    ("vir_core.review", "NotFound", "not_found"),
    ("vir_core.review", "HumanRequired", "human_required"),
    ("vir_core.review", "Conflict", "conflict"),
    ("vir_core.review", "NewerData", "newer_data"),
    ("vir_core.authority", "KeyRefused", "human_required"),
)
"""Room, exception, kind: the more special before the more general. A room is asked only when it is loaded."""


class Explained(Struct, frozen=True):
    kind: ErrorKind
    message: str
    hint: str = ""


def explain(error: BaseException) -> Explained:
    """The kind, the sentence and the way out for anything a verb may raise."""
    match error:
        case RequestError():
            return Explained("invalid_request", error.message, error.hint)
        case Busy():
            return Explained("busy", error.message, error.hint)
        case Changed():
            return Explained("conflict", error.message, error.hint)
        case StorageError():
            return Explained("storage", error.message, error.hint)
        case MachineError():
            return Explained("storage", error.message, error.hint)
        case OSError():
            # What no room foresaw is still the disk's word, and a person can act on the path in it.
            refused = StorageError.of(error, str(error.filename or "a file"))
            return Explained("storage", refused.message, refused.hint)
        case KeyboardInterrupt():
            return Explained("cancelled", "Stopped.", "Run the same command again; it goes on where it stopped.")
        case MemoryError():
            return Explained("storage", "The machine ran out of memory.", "Close something, or give --limit.")
        case _:
            pass
    for module, name, kind in _KINDS:
        room = sys.modules.get(module)
        if room is not None and isinstance(error, getattr(room, name)):
            return Explained(kind, _sentence(getattr(error, "message", str(error))), getattr(error, "hint", ""))
    return Explained(
        "internal",
        f"Something in vir went wrong ({type(error).__name__}: {str(error)[:300]}).",
        "Nothing was lost. Run it with VIR_DEBUG=1 to see where, and report that.",
    )


def _sentence(message: str) -> str:
    return message if message.endswith((".", "!", "?")) else f"{message}."
