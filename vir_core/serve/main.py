"""`vir_core serve`: from start to the end of stdin."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from vir_core.contract import RequestError

FINISH = 10.0
"""Seconds that answers already asked for may take after stdin has ended."""

_CHUNK = 1 << 16


def main(argv: Sequence[str], parent: int) -> int:
    """Answers until stdin ends or the process `parent` dies. Returns 0, or 2 when the words do not fit."""
    parser = argparse.ArgumentParser(
        prog="vir_core serve",
        description="Stay warm and answer JSON-RPC 2.0, one object a line, on stdin and stdout. docs/json.md says how.",
    )
    parser.add_argument("--vault", metavar="DIR", help="the vault that requests mean when they name none")
    parser.add_argument(
        "--scope",
        metavar="SCOPE",
        help="read only these projects, whatever is asked: project:ID, several with commas, or project:here",
    )
    options = parser.parse_args(list(argv))
    if options.vault:
        os.environ["VIR_VAULT"] = options.vault
    os.environ.setdefault("VIR_SURFACE", "serve")
    try:
        if options.scope is not None:
            _narrow(options.scope)
    except RequestError as error:
        print(f"vir_core serve: {error.message}\n{error.hint}", file=sys.stderr)
        return 2
    _answer_all(parent)
    return 0


def _narrow(words: str) -> None:
    """Fixes the scope of this process. One that the environment has already is narrowed, never widened."""
    from vir_core.memory import parse_scope, process_scope

    asked = parse_scope(words.replace("project:here", f"project:{_project_here()}") if "here" in words else words)
    outer = process_scope(os.environ)
    # An empty meeting of the two is a scope of its own, in which nothing lies.
    ids = asked if outer is None else asked & outer or frozenset({"p" + "0" * 15})
    os.environ["VIR_SCOPE"] = ",".join(f"project:{id}" for id in sorted(ids))


def _project_here() -> str:
    """The id of the project that the working folder belongs to, as this machine's notes of the vault have it."""
    from vir_core.transcripts.project import project_of
    from vir_core.vault import VaultError, find_vault, resolve

    try:
        device = resolve(find_vault("", os.environ, Path.cwd())).device
    except VaultError:
        device = ""
    return project_of(str(Path.cwd()), device=device).id


def _answer_all(parent: int) -> None:
    from vir_core.machine import private_streams, when_parent_dies

    when_parent_dies(parent, lambda: os._exit(0))
    source, out = private_streams()
    sys.stdout = sys.stderr
    # Many threads take turns here: a question must not wait 5 ms for each turn while a run is busy.
    sys.setswitchinterval(0.001)
    _warm()
    from vir_core.serve.desk import Desk
    from vir_core.serve.rpc import Lines, read_call

    desk, lines = Desk(out), Lines()
    try:
        while chunk := os.read(source, _CHUNK):
            for line in lines.feed(chunk):
                if line != b"":
                    desk.take(read_call(line))
        for line in lines.end():
            if line:
                desk.take(read_call(line))
    except KeyboardInterrupt:
        return
    desk.finish(FINISH)


def _warm() -> None:
    """Loads what the first question would wait for, while there is one thread: some of it must not be loaded by two."""
    # The search engine borrows these names where it is alone in its process; here it gets the real ones.
    import asyncio  # noqa: F401  # pyright: ignore[reportUnusedImport]
    import gc

    import pyarrow  # noqa: F401  # pyright: ignore[reportUnusedImport,reportMissingTypeStubs]

    from vir_core.search import keep_readers, question_terms, warm_reader

    keep_readers()
    question_terms("warm")
    warm_reader()
    gc.collect()
    gc.freeze()
