"""Reading the graph of a team from its folder."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from vir_core.graph.lines import LEGACY, decode_graph_lines
from vir_core.graph.projection import Graph, TeamGraph
from vir_core.journal import Damage


def read_graph(folder: Path) -> Graph:
    """The graph that `<repo>/.cognition` holds. Takes no lock, writes nothing, never raises for what the files contain; a
    folder that is not there is an empty graph."""
    graph = TeamGraph()
    damage = Damage()
    lines: set[str] = set()
    files = [(LEGACY, folder / "journal.jsonl")]
    files += [(path.name, path) for path in sorted((folder / "journal").glob("*.jsonl"))]
    for name, path in files:
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue
        except OSError:
            damage.unreadable += 1
            continue
        for line in decode_graph_lines(content, name, damage):
            if line.hash not in lines:
                lines.add(line.hash)
                graph.apply(line)
    return replace(graph.view(), lines=len(lines), damage=damage)
