"""A command under a real pseudo-terminal, and somebody who types."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent


class Typist:
    """`stdin` as bytes is piped in beside the terminal; else stdin is the terminal too. `shown` is all that was written to it."""

    def __init__(self, words: Sequence[str], *, columns: int = 80, stdin: bytes | None = None) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.shown = ""
        self._at = 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vir_core", *words],
            stdin=slave if stdin is None else subprocess.PIPE,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0),
            cwd=PROJECT,
            env={**os.environ, "PYTHONPATH": str(PROJECT), "TERM": "dumb"},
        )
        os.close(slave)
        if stdin is not None and self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write(stdin)
                self.process.stdin.close()

    def until(self, text: str, seconds: float = 60) -> str:
        """What was shown behind what the last call waited for, up to and with `text`."""
        deadline = time.monotonic() + seconds
        start = self._at
        while (place := self.shown.find(text, start)) < 0:
            if time.monotonic() > deadline or not self._more(deadline):
                raise AssertionError(f"{text!r} never came; shown: {self.shown[start:]!r}")
        self._at = place + len(text)
        return self.shown[start : self._at]

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self, seconds: float = 60) -> int:
        """Everything to the end, and the exit code."""
        deadline = time.monotonic() + seconds
        while self._more(deadline):
            pass
        try:
            code = self.process.wait(timeout=max(1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"it did not end; shown: {self.shown[-500:]!r}") from None
        os.close(self._master)
        return code

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            piece = os.read(self._master, 65536)
        except OSError:  # the last process that had it open is gone
            return False
        self.shown += piece.decode("utf-8", "replace")
        return bool(piece)
