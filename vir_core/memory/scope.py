"""Scope: which projects a process may read. Fixed when it starts, by one variable of its environment, so that nothing a
request says can widen it."""

from __future__ import annotations

from collections.abc import Mapping

from vir_core.contract import RequestError

VARIABLE = "VIR_SCOPE"
_HOW = "Give project ids as `project:<id>`, several with commas; `vir_core projects` shows them."


def process_scope(environ: Mapping[str, str]) -> frozenset[str] | None:
    """The ids of the projects this process may read; `None` for all of them. Raises `RequestError` for words that name no
    project: guessing would read too much."""
    words = environ.get(VARIABLE)
    return parse_scope(words) if words is not None and words.strip() else None


def parse_scope(words: str) -> frozenset[str]:
    """`project:p…[,project:p…]` to project ids. Raises `RequestError`."""
    ids: set[str] = set()
    for word in words.split(","):
        kind, _, id = word.strip().partition(":")
        if kind != "project" or not is_project_id(id):
            raise RequestError(f"The scope {word.strip()!r} names no project.", _HOW)
        ids.add(id)
    return frozenset(ids)


def is_project_id(word: str) -> bool:
    return len(word) == 16 and word[0] == "p" and all(char in "0123456789abcdef" for char in word[1:])
