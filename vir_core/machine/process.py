"""What a process knows of the one that started it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

_EVERY = 1.0


def when_parent_dies(parent: int, act: Callable[[], None]) -> None:
    """Calls `act` from a thread of its own within about a second of the death of `parent`, which the caller asked for
    (`os.getppid`) when it began: a parent may die before the first line of a slow start. A parent that is killed cannot say
    goodbye, and its end of our stdin may live on in another child of it. Windows hands no process to a new parent; there
    the closing of stdin has to be enough."""
    from _thread import start_new_thread

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_EVERY)
        act()

    start_new_thread(watch, ())


def private_streams() -> tuple[int, int]:
    """Takes stdin and stdout away from everybody else: returns (input, output) descriptors of our own. What a library then
    prints goes to stderr, and a program that is started reads nothing."""
    null = os.open(os.devnull, os.O_RDWR)
    pair = [_own(number, null) for number in (0, 1)]
    try:
        os.fstat(2)
    except OSError:
        os.dup2(null, 2)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return pair[0], pair[1]


def _own(number: int, null: int) -> int:
    try:
        return os.dup(number)
    except OSError:
        # The caller closed it: it reads as empty and writes to nowhere.
        return os.dup(null)
