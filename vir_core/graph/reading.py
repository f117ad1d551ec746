"""Reading the graph of a team from its folder."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from vir_core.graph.lines import TeamShape
from vir_core.graph.projection import Graph, TeamGraph
from vir_core.journal import read_projection, save_reading


def read_graph(folder: Path, *, checkpoint: Path | None = None, known_at: str = "") -> Graph:
    """The graph that `folder`, a `<repo>/.cognition`, holds. A folder that is not there is an empty graph.

    Takes no lock, writes nothing into `folder`, never raises for what the files contain. With `checkpoint`, a file of this
    machine, only what is new since the last call is read. `known_at` (UTC, microseconds, `+00:00`) leaves out what shards
    say after that moment; the legacy journal has no times and is always read whole.
    """
    reading = read_projection(folder, TeamShape(), TeamGraph, checkpoint=checkpoint, known_at=known_at)
    if checkpoint is not None:
        save_reading(checkpoint, folder, reading)
    return replace(reading.projection.view(), lines=reading.lines, damage=reading.damage, absent=reading.marks.absent)
