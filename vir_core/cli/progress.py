"""How far a long verb has come: JSON lines for a program, one changing line for a person on a terminal, else silence."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

from vir_core.contract import Progress, encode_reply
from vir_core.verbs import OnProgress

_WORDS = {
    "read": "Reading sessions",
    "distil": "Writing notes",
    "index": "Making notes searchable",
    "embed": "Reading what notes mean",
}
_EVERY = 0.1


@contextmanager
def shown_progress(*, as_json: bool, quiet: bool = False) -> Generator[OnProgress | None]:
    """What to hand to a verb. The line on a terminal is wiped when the verb is done."""
    if as_json:
        yield _json_line
    elif quiet or not sys.stderr.isatty():
        yield None
    else:
        line = _Line()
        try:
            yield line.show
        finally:
            line.wipe()


def _json_line(progress: Progress) -> None:
    sys.stderr.write(encode_reply(progress).decode() + "\n")


class _Line:
    def __init__(self) -> None:
        self._last = 0.0
        self._width = 0

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._last < _EVERY and progress.done < progress.total:
            return
        self._last = now
        text = f"{_WORDS.get(progress.stage, progress.stage)} … {progress.done} of {progress.total}"
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def wipe(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
