"""Reading a journal of any shape: its lines, or a projection of them, without a mirror and without writing to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic

from msgspec import Struct

from vir_core.journal.checkpoint import Checkpoint, load_checkpoint, store_checkpoint
from vir_core.journal.replay import Known, Marks, P, ProjectionOf, Reading, Replay
from vir_core.journal.shape import L, Shape
from vir_core.machine import MachineError, sha256


class Lines(Struct, Generic[L]):
    """Distinct lines by stamp. `marks` says how far each file was read and what could not be."""

    lines: list[L]
    marks: Marks


def read_lines(folder: Path, shape: Shape[L], *, known_at: str = "") -> Lines[L]:
    """Every line below `folder`. Takes no lock, writes nothing, never raises for what the files contain."""
    lines: list[L] = []
    replay = Replay(folder, None, shape, device="", apply=lines.append, until=known_at)
    replay.run(keep=False)
    lines.sort(key=lambda line: line.stamp)
    return Lines(lines, replay.marks)


def read_projection(
    folder: Path, shape: Shape[L], make: Callable[[], P], *, checkpoint: Path | None = None, known_at: str = ""
) -> Reading[P]:
    """A projection of every line below `folder`, in the order of the files; applying must be order-free.

    With `checkpoint` (a file of this machine, a cache) only what is new since `save_reading` is read; `known_at` reads
    everything up to that moment anew.
    """
    saved = load_checkpoint(checkpoint) if checkpoint and not known_at else None
    projection = make()
    if saved is not None and (saved.layout, saved.device) == (projection.layout, _place(folder)):
        new: list[L] = []
        resumed = Replay(folder, None, shape, device="", apply=new.append, base=saved.marks, known=Known(saved.known))
        if resumed.run(keep=False) and _loads(projection, saved.projection):
            for line in new:
                projection.apply(line)
            resumed.applies(projection.apply)
            return Reading(projection, resumed, saved.marks)
        projection = make()
    full = Replay(folder, None, shape, device="", apply=projection.apply, until=known_at)
    full.run(keep=False)
    return Reading(projection, full, None, known_at)


def save_reading(checkpoint: Path, folder: Path, reading: Reading[Any]) -> bool:
    """Writes the checkpoint that `read_projection` resumes from; False when the disk refused or there is nothing to say."""
    if not reading.moved:
        return False
    content = Checkpoint(
        layout=reading.projection.layout,
        core="",
        vaults=[],
        device=_place(folder),
        marks=reading.marks,
        known=reading.known(),
    )
    try:
        store_checkpoint(checkpoint, content, reading.projection.dump())
    except MachineError:
        return False
    reading.saved()
    return True


def _loads(projection: ProjectionOf[Any], content: bytes) -> bool:
    try:
        projection.load(content)
    except (ValueError, TypeError, LookupError):
        return False
    return True


def _place(folder: Path) -> str:
    return sha256(str(folder.absolute()).encode("utf-8", "surrogateescape")).hexdigest()
