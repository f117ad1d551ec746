"""Bytes to requests and replies to bytes: the only place where the wire's JSON is read or written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from vir_core.contract import replies, requests
from vir_core.contract.errors import ErrorKind, ErrorReply, WireError

VERBS: Final[dict[str, tuple[type[requests.Request], type[replies.Reply]]]] = {
    "doctor": (requests.DoctorRequest, replies.DoctorReply),
    "flag": (requests.FlagRequest, replies.FlagReply),
    "forget": (requests.ForgetRequest, replies.ForgetReply),
    "history": (requests.HistoryRequest, replies.HistoryReply),
    "index": (requests.IndexRequest, replies.IndexReply),
    "init": (requests.InitRequest, replies.InitReply),
    "journal": (requests.JournalRequest, replies.JournalReply),
    "projects": (requests.ProjectsRequest, replies.ProjectsReply),
    "queries": (requests.QueriesRequest, replies.QueriesReply),
    "query": (requests.QueryRequest, replies.QueryReply),
    "recent": (requests.RecentRequest, replies.QueryReply),
    "related": (requests.RelatedRequest, replies.QueryReply),
    "review": (requests.ReviewRequest, replies.ReviewReply),
    "run": (requests.RunRequest, replies.RunReply),
    "runs": (requests.RunsRequest, replies.RunsReply),
    "schema": (requests.SchemaRequest, replies.SchemaReply),
    "sessions": (requests.SessionsRequest, replies.SessionsReply),
    "uninstall": (requests.UninstallRequest, replies.UninstallReply),
}

_BOMS: Final = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))
_UTF8_BOM: Final = b"\xef\xbb\xbf"


class RequestError(ValueError):
    """A request that cannot be understood; a surface answers it as `invalid_request`.

    `message` says what is wrong and where, `hint` what would be right (may be empty).
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def decode_request(verb: str, raw: bytes) -> requests.Request:
    """The request of `verb` from exactly one JSON object.

    Empty input stands for an object without fields. A UTF-8 byte order mark is dropped, because some shells put one
    in front of whatever they pipe. Raises `RequestError`.
    """
    kind = _request_type(verb)
    for mark, name in _BOMS:
        if raw.startswith(mark):
            raise RequestError(f"The request is {name}, not UTF-8.", "Send the request as UTF-8.")
    body = raw.removeprefix(_UTF8_BOM).strip()
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise _explained(error, kind) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if b"\\ud" in body.lower():
            return _decode_with_halves(body, kind)
        raise _not_json(error, kind) from error
    except RecursionError as error:
        raise RequestError("The request is nested too deeply.", _fields_of(kind)) from error


def request_of(verb: str, fields: Mapping[str, object]) -> requests.Request:
    """The request of `verb` from values that are already Python's, checked as `decode_request` would.

    Building the Struct directly checks nothing, which is how a wrong category would get past a command line.
    Raises `RequestError`.
    """
    kind = _request_type(verb)
    try:
        return msgspec.convert(dict(fields), type=kind)
    except msgspec.ValidationError as error:
        raise _explained(error, kind) from error


def encode_reply(reply: replies.Reply | replies.Progress | ErrorReply) -> bytes:
    """One line of JSON without line end.

    File names that are not Unicode reach us with lone surrogates in them; those become U+FFFD, since one odd name
    must not cost the person the whole answer.
    """
    try:
        return msgspec.json.encode(reply)
    except UnicodeEncodeError:
        return msgspec.json.encode(_well_formed(msgspec.to_builtins(reply)))


def encode_error(kind: ErrorKind, message: str, hint: str = "") -> bytes:
    """The error form of any reply, one line of JSON without line end."""
    return encode_reply(ErrorReply(error=WireError(kind=kind, message=message, hint=hint)))


def _request_type(verb: str) -> type[requests.Request]:
    if verb in VERBS:
        return VERBS[verb][0]
    raise RequestError(f"There is no verb {verb!r}.", f"Verbs: {', '.join(sorted(VERBS))}.")


def _decode_with_halves(body: bytes, kind: type[requests.Request]) -> requests.Request:
    """JavaScript writes half of a cut emoji as an escape, which msgspec refuses; it is read as U+FFFD."""
    import json

    try:
        return msgspec.convert(_well_formed(json.loads(body)), type=kind)
    except msgspec.ValidationError as error:
        raise _explained(error, kind) from error
    except (ValueError, RecursionError) as error:
        raise _not_json(error, kind) from error


def _not_json(error: Exception, kind: type[requests.Request]) -> RequestError:
    return RequestError(f"The request is not one JSON object: {error}", _fields_of(kind))


def _explained(error: msgspec.ValidationError, kind: type[requests.Request]) -> RequestError:
    what, _, where = str(error).partition(" - at `$")
    place = where.rstrip("`").lstrip(".")
    what = what.rstrip(".")
    if not place:
        return RequestError(f"The request is wrong: {what}.", _fields_of(kind))
    return RequestError(f"In the request, `{place}` is wrong: {what}.", _choices_of(kind, place) or _fields_of(kind))


def _choices_of(kind: type[requests.Request], place: str) -> str:
    """The words a field takes, when it takes only certain words; else empty."""
    from msgspec import inspect

    name = place.partition("[")[0]
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    for field in info.fields:
        inner = field.type.item_type if isinstance(field.type, inspect.VarTupleType) else field.type
        if field.encode_name == name and isinstance(inner, inspect.LiteralType):
            return f"`{name}` takes: {', '.join(str(value) for value in inner.values)}."
    return ""


def _fields_of(kind: type[requests.Request]) -> str:
    return f"Fields: {', '.join(kind.__struct_encode_fields__)}."


def _well_formed(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [_well_formed(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value
