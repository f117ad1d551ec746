"""The command line: parse, call the verb, print. With `--json` exactly one JSON value goes to stdout; without it, words for
a person. Logs and progress go to stderr."""

from __future__ import annotations

from vir_core.cli.main import main

__all__ = ["main"]
