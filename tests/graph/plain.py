"""The rules of the team graph told as a story: lines in the order of their stamps, one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from vir_core.graph import GraphLine

Triple = tuple[str, str, str]


class Story:
    def __init__(self) -> None:
        self.nodes: dict[str, dict[str, Any]] = {}
        self.edges: dict[Triple, dict[str, Any]] = {}
        self._refused: dict[str, int] = {}
        self._minted: dict[str, tuple[set[str], tuple[Any, ...]]] = {}
        self._copies: dict[tuple[str, bytes], set[str]] = {}
        self._edits: dict[str, list[dict[str, Any]]] = {}
        self._pending: dict[Triple, dict[str, Any]] = {}
        self._ever: set[str] = set()
        self._doomed: set[str] = set()

    @property
    def collisions(self) -> int:
        """Nodes that were not mixed into one that still stands."""
        return sum(self._refused.values())

    def tell(self, lines: Iterable[GraphLine]) -> Story:
        in_legacy = True
        lines = sorted(lines, key=lambda each: each.stamp)
        for line in lines:
            self._copies.setdefault((line.at, line.raw), set()).add(line.file)
        for line in lines:
            if in_legacy and line.file:
                in_legacy = False
                self._end_of_legacy()
            data = msgspec.json.decode(line.data)
            if line.action == "add_node":
                self._add(line, data)
            elif line.action == "update_node":
                if data["id"] in self.nodes:
                    self.nodes[data["id"]].update(data)
                else:
                    self._edits.setdefault(data["id"], []).append(data)
            elif line.action == "remove_node":
                if not line.file and data["id"] not in self._ever:
                    self._doomed.add(data["id"])
                self._drop(data["id"])
            elif line.action == "add_edge":
                triple = (data["from_id"], data["to_id"], data["edge_type"])
                self.edges.pop(triple, None)
                self._pending[triple] = data
            elif line.action == "remove_edge":
                triple = (data["from_id"], data["to_id"], data["edge_type"])
                self.edges.pop(triple, None)
                self._pending.pop(triple, None)
            for triple in [each for each in self._pending if each[0] in self.nodes and each[1] in self.nodes]:
                self.edges[triple] = self._pending.pop(triple)
        if in_legacy:
            self._end_of_legacy()
        return self

    def _add(self, line: GraphLine, data: dict[str, Any]) -> None:
        name = data["id"]
        self._ever.add(name)
        if name in self._doomed:
            # A removal that a merge moved before this: it waits for the node and removes it.
            if line.file:
                self._doomed.discard(name)
                self._drop(name)
            return
        minted = (self._copies[line.at, line.raw], tuple(data.get(key) for key in ("type", "timestamp", "author")))
        if name in self.nodes:
            if line.file not in self._minted[name][0] and minted[1] != self._minted[name][1]:
                self._refused[name] = self._refused.get(name, 0) + 1
                return
            self.nodes[name].update(data)
            return
        self._minted[name] = minted
        early: dict[str, Any] = {}
        for edit in self._edits.pop(name, []):
            early.update(edit)
        self.nodes[name] = early | data

    def _drop(self, name: str) -> None:
        self.nodes.pop(name, None)
        self._edits.pop(name, None)
        self._refused.pop(name, None)
        for edges in (self.edges, self._pending):
            for triple in [each for each in edges if name in each[:2]]:
                del edges[triple]

    def _end_of_legacy(self) -> None:
        for name in self._doomed & self._ever:
            self._drop(name)
            self._doomed.discard(name)
