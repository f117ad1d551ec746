"""Command-line options, made from the requests: a field becomes a flag, so the two cannot drift apart."""

from __future__ import annotations

import argparse
from typing import Any, Literal, NoReturn, cast, get_args, get_origin

import msgspec

from vir_core import __version__
from vir_core.verbs import TABLE, Verb


class UsageError(Exception):
    """The words on the command line do not fit; `usage` is the line that would."""

    def __init__(self, message: str, usage: str) -> None:
        super().__init__(message)
        self.message = message
        self.usage = usage


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, self.format_usage().strip())


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help whose words are not broken at their hyphens: what is copied from it must be what is meant."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        import textwrap

        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


def _epilog() -> str:
    lines = ["Start here:", "  vir_core init --vault ~/Notes", "  vir_core run --vault ~/Notes", "", "Verbs:"]
    lines += [f"  {verb.name:<10} {verb.summary}" for verb in TABLE.values() if not verb.hidden]
    lines += [
        "",
        "vir_core help VERB explains a verb. Every verb takes --json; `VERB --json -` reads the request from stdin.",
    ]
    return "\n".join(lines)


def top_parser() -> argparse.ArgumentParser:
    """The parser of the first word."""
    parser = _Parser(
        prog="vir_core",
        description="Turns coding-agent sessions into notes you own, and finds them again. Nothing leaves this machine.",
        epilog=_epilog(),
        formatter_class=_Help,
    )
    parser.add_argument("--version", action="version", version=f"vir_core {__version__}")
    parser.add_argument("verb", metavar="VERB", choices=list(TABLE), help="what to do")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def verb_parser(verb: Verb) -> argparse.ArgumentParser:
    """The parser of one verb: a flag for each field of its request, `--json`, and `-` for a request on stdin."""
    parser = _Parser(
        prog=f"vir_core {verb.name}",
        description=verb.summary[:1].upper() + verb.summary[1:] + ".",
        epilog=f"Example:\n  {verb.example}" if verb.example else None,
        formatter_class=_Help,
    )
    for name, kind, default in _fields(verb):
        if name not in verb.unflagged and name not in (verb.action or ())[:1]:
            _add(parser, verb, name, kind, default)
    if verb.action:
        action, rest = verb.action
        parser.add_argument("words", nargs="*", metavar=f"{action.upper()} {rest.upper()}", help=verb.flags[action])
    elif verb.words:
        first = "|".join(verb.words)
        parser.add_argument(
            "words",
            nargs="*",
            metavar=f"{first} NAME",
            help=f"the same as --{' NAME, --'.join(verb.words.values())} NAME",
        )
    elif not verb.positional:
        parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument(
        "--json",
        action="store_true",
        help="answer with one JSON value; with - as the only word, read the request from stdin",
    )
    if verb.progresses:
        parser.add_argument("--progress", choices=["json"], help="report progress as JSON lines on stderr")
        parser.add_argument("--yes", action="store_true", help="do not ask on a terminal, take everything")
    return parser


def _fields(verb: Verb) -> list[tuple[str, Any, Any]]:
    info = msgspec.structs.fields(verb.request)
    return [(field.encode_name, field.type, field.default) for field in info]


def _add(parser: argparse.ArgumentParser, verb: Verb, name: str, kind: Any, default: Any) -> None:
    text = verb.flags[name]
    if name == verb.positional:
        parser.add_argument(name, nargs="*", help=text)
        return
    flag = "--" + name.replace("_", "-")
    if kind is bool:
        parser.add_argument(flag, action="store_true", dest=name, help=text)
    elif str(kind).startswith("tuple"):
        parser.add_argument(
            flag, action="append", dest=name, default=[], metavar=name.split("_")[-1].upper(), help=text
        )
    elif get_origin(kind) is Literal:
        choices = [word for word in get_args(kind) if word]
        parser.add_argument(flag, dest=name, default=None, choices=choices, help=text)
    elif kind is str:
        shown = f"{text} (default: {default})" if isinstance(default, str) and default else text
        parser.add_argument(flag, dest=name, default=None, metavar=name.upper(), help=shown)
    else:
        shown = f"{text} (default: {default})" if isinstance(default, int) else text
        parser.add_argument(flag, dest=name, default=None, type=int, metavar="N", help=shown)


def usage(verb: Verb) -> str:
    return verb_parser(verb).format_usage().strip()


def given_fields(verb: Verb, parsed: argparse.Namespace) -> dict[str, object]:
    """What was given with flags or by its place, as fields of the request."""
    given: dict[str, object] = {}
    for name, _kind, _default in _fields(verb):
        value = getattr(parsed, name, None)
        if value is None or value == [] or value is False:
            continue
        given[name] = " ".join(value) if name == verb.positional else value
    return given


def request_fields(verb: Verb, parsed: argparse.Namespace) -> dict[str, object]:
    """What was given, as fields of the request; what was not given is left to the request's defaults."""
    given = given_fields(verb, parsed)
    words = [word for word in getattr(parsed, "words", []) if word != "-"]
    if verb.action and words:
        action, rest = verb.action
        given[action] = words[0]
        if words[1:] or rest in given:
            given[rest] = [*cast("list[str]", given.get(rest, [])), *words[1:]]
    elif verb.words and words:
        field = verb.words.get(words[0])
        many = any(name == field and str(kind).startswith("tuple") for name, kind, _default in _fields(verb))
        if field is None or len(words) < 2 or (len(words) > 2 and not many):
            raise UsageError(f"unrecognized words: {' '.join(words)}", usage(verb))
        given[field] = [*cast("list[str]", given.get(field, [])), *words[1:]] if many else words[1]
    elif words:
        raise UsageError(f"unrecognized words: {' '.join(words)}", usage(verb))
    for name, _kind, default in _fields(verb):
        if default is msgspec.NODEFAULT and name not in given:
            shown = name.upper() if name == verb.positional else f"--{name}"
            raise UsageError(f"{shown} is missing", usage(verb))
    return given
