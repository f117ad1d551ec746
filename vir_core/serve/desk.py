"""Taking calls and answering them, several at once."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from threading import Condition, Thread

from vir_core.contract import Progress, decode_request, encode_reply
from vir_core.serve.rpc import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Call,
    Refused,
    cancelled_id,
    error_line,
    progress_line,
    result_line,
)
from vir_core.verbs import TABLE, explain

QUICK = 4
"""Threads for questions. More would not answer sooner: the search engine uses all cores for one."""

LONG = 6
"""Threads for everything else, so that a run, a doctor and a few verdicts go side by side."""

MOST_WAITING = 512
PROGRESS_EVERY = 0.1
NOT_HERE = {
    "uninstall": "It removes what this process works with. Run `vir_core uninstall` in a terminal.",
    "schema": "It is for people who work on vir. Run `vir_core schema` in a terminal.",
}


class Stopped(KeyboardInterrupt):
    """The client does not want the answer any more. Passes every handler that looks for faults."""


class _Job:
    """A call that waits or runs."""

    def __init__(self, call: Call, id: bytes) -> None:
        self.call = call
        self.id = id
        self.stopped = False
        self.told = 0.0


class Desk:
    """Writes lines to the descriptor `out`. `take` is called by one thread."""

    def __init__(self, out: int) -> None:
        self._out = out
        self._writing = Condition()
        self._state = Condition()
        self._jobs: dict[bytes, _Job] = {}
        self._unanswered = 0
        self._quick: deque[_Job] = deque()
        self._long: deque[_Job] = deque()
        for queue, number in ((self._quick, QUICK), (self._long, LONG)):
            for _ in range(number):
                Thread(target=self._work, args=(queue,), daemon=True).start()

    def take(self, call: Call | Refused) -> None:
        """Begins to answer a call, and returns at once."""
        if isinstance(call, Refused):
            self._write(error_line(call.id, "invalid_request", call.message, call.hint, call.code))
        elif call.method == "$/cancel":
            self._cancel(cancelled_id(call.params))
        elif call.id is not None:
            self._begin(call, call.id)
        # Nobody would see the answer to a notification, and so nothing is done for one.

    def finish(self, seconds: float) -> None:
        """The client sends nothing more: what was asked is answered, within `seconds`. What would go on for long (a run) is
        stopped at the next safe place."""
        deadline = time.monotonic() + seconds
        with self._state:
            for job in self._jobs.values():
                job.stopped = job.stopped or TABLE[job.call.method].progresses
            while self._unanswered and (left := deadline - time.monotonic()) > 0:
                self._state.wait(left)

    def _begin(self, call: Call, id: bytes) -> None:
        verb = TABLE.get(call.method)
        if verb is None or call.method in NOT_HERE:
            hint = NOT_HERE.get(call.method, f"Methods: {', '.join(name for name in TABLE if name not in NOT_HERE)}.")
            message = f"There is no method {call.method!r}."
            self._write(error_line(id, "invalid_request", message, hint, METHOD_NOT_FOUND))
            return
        job = _Job(call, id)
        with self._state:
            known = id in self._jobs
            full = len(self._jobs) >= MOST_WAITING
            if not known and not full:
                self._jobs[id] = job
                self._unanswered += 1
                (self._quick if verb.scoped else self._long).append(job)
                self._state.notify_all()
        if known:
            message = "A request with this id is not answered yet."
            self._write(error_line(id, "invalid_request", message, "Give each its own id.", INVALID_REQUEST))
        elif full:
            message = f"{MOST_WAITING} requests are waiting."
            self._write(error_line(id, "busy", message, "Wait for answers before asking more."))

    def _cancel(self, id: bytes) -> None:
        with self._state:
            job = self._jobs.get(id)
            if job is not None:
                job.stopped = True
        # What has not begun is answered by the thread that comes to it.

    def _work(self, queue: deque[_Job]) -> None:
        while True:
            with self._state:
                while not queue:
                    self._state.wait()
                job = queue.popleft()
            line = self._answered(job)
            # Gone from the table first: a client that reads the answer may use the id again at once.
            with self._state:
                del self._jobs[job.id]
            self._write(line)
            with self._state:
                self._unanswered -= 1
                self._state.notify_all()

    def _answered(self, job: _Job) -> bytes:
        try:
            if job.stopped:
                raise Stopped
            verb = TABLE[job.call.method]
            request = decode_request(job.call.method, job.call.params)
            reply = verb.run(request, lambda progress: self._tell(job, progress))
            if job.stopped and verb.scoped:
                raise Stopped
            return result_line(job.id, encode_reply(reply))
        except BaseException as error:  # noqa: BLE001  the surface: one call must not cost the others
            explained = explain(error)
            if os.environ.get("VIR_DEBUG"):
                import traceback

                traceback.print_exc(file=sys.stderr)
            return error_line(job.id, explained.kind, explained.message, explained.hint)

    def _tell(self, job: _Job, progress: Progress) -> None:
        if job.stopped:
            raise Stopped
        now = time.monotonic()
        if now - job.told >= PROGRESS_EVERY or progress.done >= progress.total:
            job.told = now
            self._write(progress_line(job.id, progress))

    def _write(self, line: bytes) -> None:
        with self._writing:
            view = memoryview(line)
            try:
                while view:
                    view = view[os.write(self._out, view) :]
            except OSError:
                # Whoever asked has gone, and nobody else could read an answer.
                os._exit(0)
