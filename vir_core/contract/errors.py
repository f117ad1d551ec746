"""What can go wrong, as a client sees it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

ErrorKind = Literal[
    "invalid_request",
    "not_found",
    "busy",
    "conflict",
    "no_vault",
    "human_required",
    "over_budget",
    "provider_unavailable",
    "quota_exhausted",
    "unsupported_contract",
    "newer_data",
    "storage",
    "cancelled",
    "internal",
]


class WireError(Struct, frozen=True, kw_only=True):
    """`kind` is for programs, `message` says what happened, `hint` says what to do."""

    kind: ErrorKind
    message: str
    hint: str = ""


class ErrorReply(Struct, frozen=True, kw_only=True):
    error: WireError
