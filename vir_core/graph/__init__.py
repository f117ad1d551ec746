"""The team graph: decisions, tasks, findings and how they hang together, from the journal that a team keeps in its
repository. Another tool writes it; here it is read, by the same engine that reads the vault's journal."""

from __future__ import annotations

from vir_core.graph.lines import GraphLine, TeamShape
from vir_core.graph.projection import Edge, Graph, Node, TeamGraph
from vir_core.graph.reading import read_graph

__all__ = [
    "Edge",
    "Graph",
    "GraphLine",
    "Node",
    "TeamGraph",
    "TeamShape",
    "read_graph",
]
