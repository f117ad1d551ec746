"""A second process for the first look at many transcripts: one core decodes while another does.

It is a helper: whatever it does not answer is read here, and without it everything is the same but slower."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Thread
from typing import IO

import msgspec
from msgspec import Struct

from vir_core.transcripts.reading import Outcome, outcome_of
from vir_core.transcripts.session import SourceFile

_BATCH = 4 << 20
_AHEAD = 1
_FITS = 4_000
"""Bytes that every system's pipe holds."""
_LARGEST = 1 << 30
_START = "from vir_core.transcripts.crew import work; work()"


class Task(Struct, array_like=True):
    """A file to sum up, and whether to say where to go on when it grows."""

    file: SourceFile
    keep: bool


def read_all(tasks: Sequence[Task]) -> Iterator[Outcome]:
    """The outcome of every task, in any order. A second process helps when there is a core for it."""
    if _cores() < 2 or not sys.executable:
        for task in tasks:
            yield outcome_of(task.file, keep=task.keep)
        return
    pending = deque(_batches(tasks))
    helper = _Helper(pending)
    try:
        helper.start()
        while True:
            while batch := _first(pending):
                for task in batch:
                    yield outcome_of(task.file, keep=task.keep)
                yield from helper.taken()
            helper.wait()
            yield from helper.taken()
            if not pending:  # what a helper that died held is put back
                return
    finally:
        helper.stop()


class _Helper(Thread):
    """Hands batches from the far end of the queue to the other process, and holds its answers."""

    def __init__(self, pending: deque[list[Task]]) -> None:
        super().__init__(daemon=True)
        self._pending = pending
        self._done: deque[Outcome] = deque()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        sent: deque[list[Task]] = deque()
        try:
            # -P and the path of this process: the folder a person stands in must not lend us its modules.
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
            stdin, stdout = self._process.stdin, self._process.stdout
            if stdin is None or stdout is None:
                return
            while batch := _last(self._pending):
                sent.append(batch)
                message = _tasks.encode(batch)
                # A batch lies ready when the one before is done, because this thread gets its turn late while the other
                # decodes; but only one that fits the smallest pipe: else both sides could wait for the other to read.
                if len(message) > _FITS:
                    self._answer(sent, stdout, ahead=1)
                _send(stdin, message)
                self._answer(sent, stdout, ahead=_AHEAD if len(message) <= _FITS else 0)
            self._answer(sent, stdout, ahead=0)
        except (OSError, EOFError, ValueError, msgspec.MsgspecError):
            # Not started, died, or answered nonsense: the rest is read on this side.
            self._pending.extend(sent)

    def _answer(self, sent: deque[list[Task]], stdout: IO[bytes], ahead: int) -> None:
        """Takes answers until at most `ahead` batches are still to be answered."""
        while len(sent) > ahead:
            self._done.extend(_answers.decode(_receive(stdout)))
            sent.popleft()

    def taken(self) -> Iterator[Outcome]:
        while self._done:
            yield self._done.popleft()

    def wait(self) -> None:
        self.join()

    def stop(self) -> None:
        process = self._process
        if process is None:
            return
        process.kill()
        process.wait()
        self.join()  # at the end of its input by now
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):  # what was never sent cannot be flushed to the dead
                    stream.close()


def work() -> None:
    """The other process: batches in, outcomes out, until there is no more to read."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            batch = _batch.decode(_receive(stdin))
        except EOFError:
            return
        _send(stdout, _outcomes.encode([outcome_of(task.file, keep=task.keep) for task in batch]))


def _batches(tasks: Sequence[Task]) -> Iterator[list[Task]]:
    batch: list[Task] = []
    size = 0
    for task in tasks:
        batch.append(task)
        size += task.file.size
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _first(pending: deque[list[Task]]) -> list[Task] | None:
    """Both sides take from the queue; whoever comes second to the last batch finds none."""
    try:
        return pending.popleft()
    except IndexError:
        return None


def _last(pending: deque[list[Task]]) -> list[Task] | None:
    try:
        return pending.pop()
    except IndexError:
        return None


def _send(stream: IO[bytes], message: bytes) -> None:
    stream.write(len(message).to_bytes(8, "big"))
    stream.write(message)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes:
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    size = int.from_bytes(head, "big")
    if size > _LARGEST:
        raise ValueError("not a message")
    message = stream.read(size)
    if len(message) < size:
        raise EOFError
    return message


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


_tasks = _outcomes = msgspec.msgpack.Encoder()
_batch = msgspec.msgpack.Decoder(list[Task])
_answers = msgspec.msgpack.Decoder(list[Outcome])
