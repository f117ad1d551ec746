"""Folders of which one at a time is pointed at: a rebuild makes a new one, and readers of the old one get time to leave."""

from __future__ import annotations

import time
from pathlib import Path

GRACE = 60.0
"""Seconds a superseded generation stays for readers that had it open."""


def new_generation(folder: Path, letter: str) -> Path:
    """An empty folder in `folder` whose name begins with `letter`. Raises `StorageError` (from `machine`)."""
    from vir_core.machine import make_dirs
    from vir_core.text import random_id

    make_dirs(folder, private=True)
    target = folder / random_id(letter)
    make_dirs(target, private=True)
    return target


def sweep_generations(folder: Path, letter: str, keep: str) -> None:
    """Removes generations nobody can still be reading, a killed rebuild's among them."""
    for path in folder.iterdir():
        superseded = path.name.startswith(letter) and path.name != keep and path.is_dir()
        if superseded and time.time() - path.stat().st_mtime >= GRACE:
            drop_generation(path)


def drop_generation(path: Path) -> None:
    """What another process still has open (Windows) stays, and goes the next time."""
    from shutil import rmtree

    rmtree(path, ignore_errors=True)
