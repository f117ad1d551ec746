"""The projection of a team graph: nodes and typed edges, from lines in any order.

What counts is the greatest stamp: for each attribute of a node, for a node's removal, and for whether an edge
`(from, to, type)` is there. Nothing is thrown away while lines arrive, and the graph is derived from all that arrived, so an
edge or an edit that is read before its node simply waits, and no order of reading can differ from another:

- A node is there when one of its `add_node` lines is later than its last removal; of what was written to it, only what is
  later than that removal counts. An edit never brings a removed node back.
- The earliest of those `add_node` lines says who it is. Another from a different file that differs in type, timestamp or
  author is a collision: two people minted one id, and the later one's node is counted and not mixed in.
- An edge is there when both its nodes are and it was written after the last removal of either: removing a node takes its
  edges, and adding it again does not bring them back.
- A removal in the legacy journal that stands before every `add_node` of its node was moved there by a merge. It removes
  the node all the same: every adding line of the legacy journal or, when there is none, the first of the shards.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from vir_core.graph.lines import END_OF_LEGACY, LEGACY, ZERO, GraphLine, Stamp
from vir_core.journal import Damage

Triple = tuple[str, str, str]
"""`(from, to, type)`: what names an edge."""


class Node(Struct, frozen=True, gc=False):
    """A node as it stands. `timestamp` is as its writer put it, `severity` any word or None; an attribute that is not named
    here, or does not have the type that it has here, stands in `more`."""

    id: str
    type: str = ""
    summary: str = ""
    detail: str = ""
    context: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    severity: str | None = None
    timestamp: str = ""
    author: str = ""
    metadata: dict[str, Any] = {}
    more: dict[str, Any] = {}


class Edge(Struct, frozen=True, gc=False):
    """An edge as last written. Edges without a source are from before sources were written, and a curator's. `more` is as
    in `Node`."""

    from_id: str
    to_id: str
    edge_type: str
    timestamp: str = ""
    source: str = "curator"
    reason: str | None = None
    curation_session: str | None = None
    more: dict[str, Any] = {}


class Graph(Struct, frozen=True):
    """The graph that some lines say, with what was found on the way. `collisions` are added nodes that were not mixed into another of the same id.

    `waiting_edges` and `waiting_edits` name a node that no line has added so far (each edge and each edited node once);
    those of removed nodes are in neither. `unknown` counts lines by the action that this version does not know,
    `unreadable` those whose data is not what their action promises. `damage` is what no line could be read from, `absent`
    the files of which only a cloud placeholder is here.
    """

    nodes: dict[str, Node]
    edges: dict[Triple, Edge]
    collisions: int
    waiting_edges: int
    waiting_edits: int
    unknown: dict[str, int]
    unreadable: int
    lines: int = 0
    damage: Damage = field(default_factory=Damage)
    absent: tuple[str, ...] = ()


class _Add(Struct, frozen=True, array_like=True, order=True):
    """One `add_node` line; the fields are JSON."""

    stamp: Stamp
    fields: tuple[tuple[str, bytes], ...]


class _NodeState(Struct, array_like=True):
    """`added` is sorted. `edits` holds the latest write of each attribute by `update_node`, as JSON. `removed` is the last
    removal, `early` the first one in the legacy journal (its `file` and `at` are empty), `ZERO` when there is none."""

    added: list[_Add] = []
    edits: dict[str, tuple[Stamp, bytes]] = {}
    removed: Stamp = ZERO
    early: Stamp = ZERO


class _EdgeState(Struct, frozen=True, array_like=True, order=True, gc=False):
    """The latest line about an edge: its data, as JSON, when it adds the edge, `None` when it removes it."""

    stamp: Stamp
    content: bytes | None


class _Dump(Struct, array_like=True):
    """Edges are a sorted list because keys of an ordered map are text."""

    nodes: dict[str, _NodeState]
    edges: list[tuple[Triple, _EdgeState]]
    unknown: dict[str, int]
    unreadable: int


class _Identified(Struct, frozen=True):
    id: str


class _Ends(Struct, frozen=True):
    from_id: str
    to_id: str
    edge_type: str

    @property
    def triple(self) -> Triple:
        return (self.from_id, self.to_id, self.edge_type)


def _decoders(**types: Any) -> dict[str, Callable[[bytes], Any]]:
    return {name: msgspec.json.Decoder(kind).decode for name, kind in types.items()}


_texts = tuple[str, ...]
_node_values = _decoders(
    type=str,
    summary=str,
    detail=str,
    context=_texts,
    references=_texts,
    severity=str | None,
    timestamp=str,
    author=str,
    metadata=dict[str, Any],
)
_edge_values = _decoders(timestamp=str, source=str, reason=str | None, curation_session=str | None)
_identified = msgspec.json.Decoder(_Identified).decode
_ends = msgspec.json.Decoder(_Ends).decode
_members = msgspec.json.Decoder(dict[str, Raw]).decode
_any: Callable[[bytes], Any] = msgspec.json.Decoder().decode
# Two orders of reading give the same bytes too.
_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_decode = msgspec.msgpack.Decoder(_Dump).decode


class TeamGraph:
    """A `Projection` of `GraphLine`s. The same line twice is the same as once, except in the counts of `Graph`."""

    layout = 1

    def __init__(self) -> None:
        self._nodes: dict[str, _NodeState] = {}
        self._edges: dict[Triple, _EdgeState] = {}
        self._unknown: dict[str, int] = {}
        self._unreadable = 0
        self._acts: dict[str, Callable[[GraphLine], None]] = {
            "add_node": self._add_node,
            "update_node": self._update_node,
            "remove_node": self._remove_node,
            "add_edge": self._add_edge,
            "remove_edge": self._remove_edge,
            "shard_start": self._shard_start,
        }

    def apply(self, line: GraphLine) -> None:
        act = self._acts.get(line.action)
        if act is None:
            self._unknown[line.action] = self._unknown.get(line.action, 0) + 1
            return
        try:
            act(line)
        except (ValueError, RecursionError):
            self._unreadable += 1

    def dump(self) -> bytes:
        return _encode(_Dump(self._nodes, sorted(self._edges.items()), self._unknown, self._unreadable))

    def load(self, content: bytes) -> None:
        dump = _decode(content)
        self._nodes, self._edges = dump.nodes, dict(dump.edges)
        self._unknown, self._unreadable = dump.unknown, dump.unreadable

    def view(self) -> Graph:
        """The graph as it stands, its nodes and edges in the order of their names. Takes time for each node and edge."""
        nodes: dict[str, Node] = {}
        removed: dict[str, Stamp] = {}
        collisions = waiting_edits = 0
        for name, state in sorted(self._nodes.items()):
            last = removed[name] = _last_removal(state)
            living = [add for add in state.added if add.stamp > last]
            if living:
                own = _of_the_first(living, state.added)
                collisions += len(living) - len(own)
                nodes[name] = _node(name, own, {key: edit for key, edit in state.edits.items() if edit[0] > last})
            elif not state.added and last == ZERO:
                waiting_edits += 1
        edges: dict[Triple, Edge] = {}
        waiting_edges = 0
        for triple, edge in sorted(self._edges.items()):
            if edge.content is None:
                continue
            ends = triple[:2]
            if all(end in nodes and edge.stamp > removed[end] for end in ends):
                edges[triple] = _edge(triple, edge.content)
            elif any(self._is_awaited(end) for end in ends):
                waiting_edges += 1
        return Graph(nodes, edges, collisions, waiting_edges, waiting_edits, dict(self._unknown), self._unreadable)

    def _is_awaited(self, node: str) -> bool:
        state = self._nodes.get(node)
        return state is None or (not state.added and _last_removal(state) == ZERO)

    def _node(self, line: GraphLine) -> _NodeState:
        name = _identified(line.data).id
        state = self._nodes.get(name)
        if state is None:
            state = self._nodes[name] = _NodeState()
        return state

    def _add_node(self, line: GraphLine) -> None:
        fields = _members(line.data)
        state = self._node(line)
        del fields["id"]
        add = _Add(line.stamp, tuple(sorted((key, bytes(value)) for key, value in fields.items())))
        if add not in state.added:
            insort(state.added, add)

    def _update_node(self, line: GraphLine) -> None:
        fields = _members(line.data)
        state = self._node(line)
        del fields["id"]
        for key, value in fields.items():
            edit = (line.stamp, bytes(value))
            state.edits[key] = max(state.edits.get(key, edit), edit)

    def _remove_node(self, line: GraphLine) -> None:
        state = self._node(line)
        state.removed = max(state.removed, line.stamp)
        if line.file == LEGACY:
            state.early = line.stamp if state.early == ZERO else min(state.early, line.stamp)

    def _add_edge(self, line: GraphLine) -> None:
        self._put_edge(_ends(line.data).triple, _EdgeState(line.stamp, bytes(line.data)))

    def _remove_edge(self, line: GraphLine) -> None:
        self._put_edge(_ends(line.data).triple, _EdgeState(line.stamp, None))

    def _put_edge(self, triple: Triple, state: _EdgeState) -> None:
        known = self._edges.get(triple)
        if known is None or (state.stamp, state.content or b"") > (known.stamp, known.content or b""):
            self._edges[triple] = state

    def _shard_start(self, line: GraphLine) -> None:
        del line  # it says how long the legacy journal was when the shard began; nothing about the graph is in it


def _last_removal(state: _NodeState) -> Stamp:
    """What is not later than this was removed."""
    if state.early != ZERO and state.added and state.added[0].stamp > state.early:
        return max(state.removed, END_OF_LEGACY, state.added[0].stamp)
    return state.removed


def _of_the_first(living: list[_Add], added: list[_Add]) -> list[_Add]:
    """The lines that add the same node as the first of them: from its file, or saying the same about who it is."""
    if len(living) == 1:
        return living
    first = living[0]
    # Copies that sync tools make of a file hold the same line: whose it is, all of them say.
    files = {add.stamp[2] for add in added if (add.stamp[1], add.fields) == (first.stamp[1], first.fields)}
    return [add for add in living if add.stamp[2] in files or _identity(add) == _identity(first)]


def _identity(add: _Add) -> tuple[bytes | None, ...]:
    fields = dict(add.fields)
    return tuple(fields.get(key) for key in ("type", "timestamp", "author"))


def _node(name: str, added: list[_Add], edits: dict[str, tuple[Stamp, bytes]]) -> Node:
    latest = dict(edits)
    for add in added:
        for key, value in add.fields:
            latest[key] = max(latest.get(key, (ZERO, b"")), (add.stamp, value))
    known, more = _typed({key: value for key, (_, value) in latest.items()}, _node_values)
    return Node(id=name, more=more, **known)


def _edge(triple: Triple, content: bytes) -> Edge:
    fields = {key: bytes(value) for key, value in _members(content).items() if key not in _Ends.__struct_fields__}
    known, more = _typed(fields, _edge_values)
    if known.get("source") == "":
        del known["source"]
    return Edge(*triple, more=more, **known)


def _typed(
    fields: Mapping[str, bytes], decoders: Mapping[str, Callable[[bytes], Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The attributes that have the type they should, and the others."""
    known: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for key, content in fields.items():
        decode = decoders.get(key)
        try:
            if decode is not None:
                known[key] = decode(content)
                continue
        except (ValueError, RecursionError):
            pass
        try:
            more[key] = _any(content)
        except (ValueError, RecursionError):
            more[key] = content.decode("utf-8", "replace")  # a number or a depth that only its text can hold
    return known, more
