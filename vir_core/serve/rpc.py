"""The grammar of JSON-RPC 2.0: lines to calls, answers to lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from vir_core.contract import ErrorKind, Progress, encode_reply

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CANCELLED: Final = -32800
SERVER_ERROR: Final = -32000
"""Whatever else went wrong; `data.kind` says what, in the words of the contract."""

_CODES: dict[ErrorKind, int] = {
    "invalid_request": INVALID_PARAMS,
    "cancelled": CANCELLED,
    "internal": INTERNAL_ERROR,
}

LONGEST = 8 << 20
"""Bytes of one request. A longer line is skipped to its end and refused."""

NO_ID: Final = b"null"


class Call(Struct, frozen=True):
    """`id` is the JSON of the id as it came, `None` for a notification; `params` is JSON."""

    id: bytes | None
    method: str
    params: bytes


class Refused(Struct, frozen=True):
    """A line that is no call. `id` is `null` where it could not be told."""

    id: bytes
    code: int
    message: str
    hint: str = ""


class _Envelope(Struct, frozen=True):
    method: str
    jsonrpc: str = ""
    id: Raw | UnsetType = UNSET
    params: Raw | UnsetType = UNSET


class _Id(Struct, frozen=True):
    id: Raw = Raw(NO_ID)


_envelope = msgspec.json.Decoder(_Envelope)
_id = msgspec.json.Decoder(_Id)


class Lines:
    """Bytes as they arrive, cut into lines; a line over `longest` is skipped and counted, not kept."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        self._first = True

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        """The lines that end in this chunk, `None` for one that was too long."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._take(part)
            yield self._line()
        self._take(rest)

    def end(self) -> Iterator[bytes | None]:
        """What came after the last line end."""
        if self._size:
            yield self._line()

    def _take(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._longest:
            self._parts.append(part)
        else:
            self._parts.clear()

    def _line(self) -> bytes | None:
        too_long = self._size > self._longest
        line = b"".join(self._parts)
        self._parts, self._size = [], 0
        if self._first:
            line, self._first = line.removeprefix(b"\xef\xbb\xbf"), False
        return None if too_long else line.strip()


def read_call(line: bytes | None) -> Call | Refused:
    """The call in one line."""
    if line is None:
        return Refused(NO_ID, INVALID_REQUEST, f"The request is longer than {LONGEST >> 20} MB.", "Send less at once.")
    if line[:1] == b"[":
        return Refused(
            NO_ID, INVALID_REQUEST, "Batches are not taken.", "Send one object a line; they run side by side."
        )
    try:
        try:
            envelope = _envelope.decode(line)
        except msgspec.DecodeError:
            envelope = _envelope.decode(_without_halves(line))
    except msgspec.ValidationError as error:
        return Refused(_id_of(line), INVALID_REQUEST, f"This is no JSON-RPC request: {error}.", _HOW)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Refused(NO_ID, PARSE_ERROR, f"This line is not one JSON object: {error}.", _HOW)
    id = None if envelope.id is UNSET else bytes(envelope.id)
    if id is not None and not _is_id(id):
        return Refused(NO_ID, INVALID_REQUEST, "An id is a string or a number.", _HOW)
    if envelope.jsonrpc != "2.0":
        return Refused(id or NO_ID, INVALID_REQUEST, 'The field "jsonrpc" must say "2.0".', _HOW)
    params = b"{}" if envelope.params is UNSET else bytes(envelope.params)
    if params[:1] != b"{":
        return Refused(id or NO_ID, INVALID_PARAMS, "params must be an object.", "Name each field of the request.")
    return Call(id, envelope.method, params)


_HOW = 'Like {"jsonrpc":"2.0","id":1,"method":"query","params":{"text":"…"}}.'


def cancelled_id(params: bytes) -> bytes:
    """Which call `$/cancel` means; `null` when it does not say."""
    return _id_of(params)


def result_line(id: bytes, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + id + b',"result":' + result + b"}\n"


def error_line(id: bytes, kind: ErrorKind, message: str, hint: str, code: int | None = None) -> bytes:
    """`kind` and `hint` stand in `data`, as the contract's error has them."""
    error = {
        "code": _CODES.get(kind, SERVER_ERROR) if code is None else code,
        "message": _well_formed(message),
        "data": {"kind": kind, "hint": _well_formed(hint)},
    }
    return b'{"jsonrpc":"2.0","id":' + id + b',"error":' + msgspec.json.encode(error) + b"}\n"


def progress_line(id: bytes, progress: Progress) -> bytes:
    """A notification about a call that goes on."""
    told = encode_reply(progress)
    return b'{"jsonrpc":"2.0","method":"$/progress","params":{"id":' + id + b"," + told[1:] + b"}\n"


def _without_halves(line: bytes) -> bytes:
    """JavaScript writes half of a cut emoji as an escape, which msgspec does not step over: it becomes U+FFFD. What else is
    wrong with a line stays wrong."""
    if b"\\ud" not in line.lower():
        return line
    import json

    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
    except (ValueError, RecursionError):
        return line
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _is_id(id: bytes) -> bool:
    return id[:1] in b'"-0123456789' or id == NO_ID


def _id_of(line: bytes) -> bytes:
    try:
        id = bytes(_id.decode(line).id)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return NO_ID
    return id if _is_id(id) else NO_ID


def _well_formed(text: str) -> str:
    """File names that are not Unicode reach an error's words with lone surrogates in them."""
    return text.encode("utf-8", "replace").decode()
