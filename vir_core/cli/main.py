"""From the words on the command line to one answer."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path

import msgspec

from vir_core.cli.options import UsageError, given_fields, request_fields, top_parser, usage, verb_parser
from vir_core.cli.progress import shown_progress
from vir_core.contract import (
    JournalRequest,
    Reply,
    Request,
    ReviewRequest,
    decode_request,
    encode_error,
    encode_reply,
    request_of,
)
from vir_core.machine import Terminal, open_terminal
from vir_core.text import clean
from vir_core.verbs import TABLE, Verb, explain


class _NotWritten(Exception):
    """stdout took no more; `why` is empty when whoever read it has gone."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command. Returns 0 without an error and without `failed`, 2 when the words do not fit, else 1."""
    # One command lives a fraction of a second and builds large tables that hold no cycles.
    gc.set_threshold(200_000, 20, 20)
    _open_streams()
    try:
        code = _answered(list(sys.argv[1:] if argv is None else argv))
        with _written():
            sys.stdout.flush()
    except _NotWritten as error:
        _give_up_stdout()
        if error.why:
            print(f"The answer could not be written: {error.why}.", file=sys.stderr)
        return 1
    return code


def _answered(words: list[str]) -> int:
    as_json = "--json" in words
    try:
        return _run(words)
    except SystemExit as done:  # --help and --version have printed what they say
        return int(done.code or 0)
    except UsageError as error:
        if as_json:
            _write(encode_error("invalid_request", f"The command line does not fit: {error.message}.", error.usage))
        else:
            print(clean(f"vir_core: {error.message}\n{error.usage}"), file=sys.stderr)
        return 2
    except _NotWritten:
        raise
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  the last surface: a person or a plugin gets a sentence
        explained = explain(error)
        if os.environ.get("VIR_DEBUG"):
            import traceback

            traceback.print_exc()
        if as_json:
            _write(encode_error(explained.kind, explained.message, explained.hint))
        else:
            print(clean(explained.message), file=sys.stderr)
            if explained.hint:
                print(clean(explained.hint), file=sys.stderr)
        return 1


def _open_streams() -> None:
    """A stream that the caller closed reads as empty and writes to nowhere, and a letter that the terminal cannot show
    must not cost the answer."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115  open as long as the process
        elif mode == "w" and isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _give_up_stdout() -> None:
    """What is left in the buffer must not raise again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str]) -> int:
    if not words:
        top_parser().print_help(sys.stderr)
        return 2
    if words[0] == "help":
        words = [*words[1:2], "--help"]
    first = top_parser().parse_args(words[:1])
    verb = TABLE[first.verb]
    parsed = verb_parser(verb).parse_args(words[1:])
    on_stdin = parsed.json and (
        getattr(parsed, "words", None) == ["-"] or getattr(parsed, verb.positional, None) == ["-"]
    )
    if on_stdin:
        if given := set(given_fields(verb, parsed)) - {verb.positional}:
            flags = ", ".join("--" + name.replace("_", "-") for name in sorted(given))
            raise UsageError(
                f"with --json - the whole request comes from stdin, so {flags} cannot be given", usage(verb)
            )
        request = decode_request(verb.name, sys.stdin.buffer.read())
    else:
        request = request_of(verb.name, request_fields(verb, parsed))
    if parsed.json:
        with shown_progress(as_json=_wants_progress(parsed), quiet=True) as tell:
            reply = verb.run(request, tell)
        _write(encode_reply(reply))
        return _code(reply)
    return _for_a_person(verb, request, parsed)


def _for_a_person(verb: Verb, request: Request, parsed: object) -> int:
    if verb.name == "run" and sys.stdin.isatty() and sys.stdout.isatty() and not getattr(parsed, "yes", False):
        from vir_core.cli.first_run import walk

        return walk(request)
    if isinstance(request, ReviewRequest) and not getattr(parsed, "words", []) and sys.stdout.isatty():
        with _asking(verb) as terminal:
            if terminal is not None:
                from vir_core.cli.review_walk import walk as walk_notes

                return walk_notes(request, terminal)
    from vir_core.cli.show import show

    if (
        isinstance(request, JournalRequest)
        and request.action == "accept-disk"
        and not request.word
        and sys.stdin.isatty()
    ):
        typed = input(
            "Entries that the vault does not hold any more will be given up for good. Type accept to do that: "
        )
        request = msgspec.structs.replace(request, word=typed.strip())
    with _asking(verb) as ask, shown_progress(as_json=_wants_progress(parsed)) as tell:
        reply = verb.run(request, tell, ask)
    with _written():
        print(show(verb.name, request, reply))
    return _code(reply)


@contextmanager
def _asking(verb: Verb) -> Generator[Terminal | None]:
    """The person at the terminal, for a verb that may have to ask one. What is piped into stdin is not a person."""
    terminal = open_terminal() if verb.asks else None
    try:
        yield terminal
    finally:
        if terminal is not None:
            terminal.close()


def _wants_progress(parsed: object) -> bool:
    return getattr(parsed, "progress", None) == "json"


def _code(reply: Reply) -> int:
    return 1 if any(getattr(reply, name, ()) for name in ("failed", "refused", "drifted")) else 0


def _write(content: bytes) -> None:
    with _written():
        sys.stdout.buffer.write(content + b"\n")
        sys.stdout.buffer.flush()


@contextmanager
def _written() -> Generator[None]:
    """Tells a fault of stdout from a fault of the verb."""
    try:
        yield
    except BrokenPipeError:
        raise _NotWritten("") from None
    except OSError as error:
        raise _NotWritten(error.strerror or str(error)) from error
