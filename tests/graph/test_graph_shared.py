"""A real team journal, whole and cut in every way that keeps its order: the graph is always the same."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.graph.conftest import Team
from vir_core.graph import Graph, TeamGraph, TeamShape, read_graph
from vir_core.journal import Damage, read_lines

ACTIONS = {"add_edge": 1043, "update_node": 883, "add_node": 612, "remove_node": 16, "remove_edge": 1}
TYPES = {
    "episode": 236,
    "task": 141,
    "discovery": 65,
    "decision": 62,
    "document": 36,
    "pattern": 25,
    "fail": 12,
    "incident": 7,
    "constraint": 6,
    "workflow": 5,
    "person": 1,
}
EDGE_TYPES = {
    "part_of": 402,
    "relates_to": 361,
    "led_to": 185,
    "resolved_by": 75,
    "supersedes": 15,
    "contradicts": 2,
}
SOURCES = {"curate-skill": 539, "deterministic": 304, "task-parent": 112, "batch": 84, "manual": 1}

pytestmark = pytest.mark.slow


@pytest.fixture
def handed(shared: Path) -> bytes:
    return (shared / "data" / "cognition" / "journal.jsonl").read_bytes()


def write(team: Team, content: bytes) -> Team:
    (team.folder / "journal.jsonl").write_bytes(content)
    return team


def in_order(content: bytes) -> tuple[dict[str, Any], dict[tuple[str, str, str], Any]]:
    """A plain replay, one line after the other."""
    nodes: dict[str, Any] = {}
    edges: dict[tuple[str, str, str], Any] = {}
    for raw in content.splitlines():
        value = json.loads(raw)
        data = value["data"]
        match value["action"]:
            case "add_node":
                nodes[data["id"]] = dict(data)
            case "update_node":
                nodes[data["id"]].update(data)
            case "remove_node":
                del nodes[data["id"]]
                edges = {triple: each for triple, each in edges.items() if data["id"] not in triple[:2]}
            case "add_edge":
                edges[data["from_id"], data["to_id"], data["edge_type"]] = data
            case _:
                del edges[data["from_id"], data["to_id"], data["edge_type"]]
    return nodes, edges


def assert_is(graph: Graph, content: bytes) -> None:
    """Every attribute of every node and edge is the one of the plain replay, and the counts are the handed ones."""
    nodes, edges = in_order(content)
    assert (len(graph.nodes), len(graph.edges)) == (596, 1040)
    assert Counter(node.type for node in graph.nodes.values()) == TYPES
    assert Counter(edge.edge_type for edge in graph.edges.values()) == EDGE_TYPES
    assert Counter(edge.source for edge in graph.edges.values()) == SOURCES
    assert graph.nodes.keys() == nodes.keys() and graph.edges.keys() == edges.keys()
    for name, node in graph.nodes.items():
        assert all(value == nodes[name].get(key) for key, value in node.more.items())
        for key in nodes[name].keys() - node.more.keys():
            value = getattr(node, key)
            assert (list(value) if isinstance(value, tuple) else value) == nodes[name][key], (name, key)
    for triple, edge in graph.edges.items():
        assert {key: getattr(edge, key) for key in edges[triple]} == edges[triple]
    assert (graph.collisions, graph.waiting_edges, graph.waiting_edits, graph.unreadable) == (0, 0, 0, 0)
    assert graph.unknown == {} and graph.absent == ()


def stamped(raw: bytes, number: int) -> bytes:
    """A line of the legacy journal as a shard would have it."""
    return raw[:-1] + f', "at": "2026-09-15T10:{number // 60:02}:{number % 60:02}.000000+00:00"}}'.encode()


def test_whole_journal_replays_to_the_handed_counts(handed: bytes, team: Team) -> None:
    write(team, handed)
    lines = read_lines(team.folder, TeamShape()).lines
    assert Counter(line.action for line in lines) == ACTIONS
    graph = read_graph(team.folder)
    assert_is(graph, handed)
    assert graph.lines == 2555 and graph.damage == Damage()


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_line_ends_change_nothing(handed: bytes, team: Team, end: bytes) -> None:
    assert handed.count(b"\r\n") == 2549
    write(team, handed.replace(b"\r\n", b"\n").replace(b"\n", end))
    assert_is(read_graph(team.folder), handed)


def test_lines_in_any_order_change_nothing(handed: bytes, team: Team, rng: random.Random) -> None:
    lines = read_lines(write(team, handed).folder, TeamShape()).lines
    for _ in range(3):
        rng.shuffle(lines)
        graph = TeamGraph()
        for line in lines:
            graph.apply(line)
        assert_is(graph.view(), handed)


def test_repeated_lines_of_the_legacy_journal_change_nothing(handed: bytes, team: Team, rng: random.Random) -> None:
    raws = handed.splitlines(keepends=True)
    write(team, b"".join(raw * rng.choice((1, 1, 2, 3)) for raw in raws))
    graph = read_graph(team.folder)
    assert graph.lines > 2555
    assert_is(graph, handed)


def test_random_shards_change_nothing(
    handed: bytes, team: Team, rng: random.Random, scaled: Callable[[int], int], tmp_path: Path
) -> None:
    raws = handed.splitlines()
    (team.folder / "journal").mkdir()
    for trial in range(scaled(60)):
        checkpoint = tmp_path / f"checkpoint-{trial}"
        people = [f"person-{number}" for number in range(rng.randrange(1, 9))]
        legacy = rng.choice((0, rng.randrange(len(raws)), len(raws)))
        pieces: dict[str, list[bytes]] = {person: [] for person in people}
        for number, raw in enumerate(raws[legacy:]):
            pieces[rng.choice(people)].append(stamped(raw, number))
        write(team, b"".join(raw + rng.choice((b"\n", b"\r\n")) for raw in raws[:legacy]))
        for path in team.folder.glob("journal/*"):
            path.unlink()
        read_graph(team.folder, checkpoint=checkpoint)
        for person in rng.sample(people, len(people)):
            own = pieces[person]
            # As a union merge leaves them: out of order, some twice, some glued, and in a copy of the file.
            own += rng.sample(own, len(own) // 10)
            rng.shuffle(own)
            content = b"".join(raw + rng.choice((b"\n", b"\r\n", b"")) for raw in own)
            path = team.folder / "journal" / f"{person}.jsonl"
            path.write_bytes(content[: rng.randrange(len(content) + 1)])
            read_graph(team.folder, checkpoint=checkpoint)
            path.write_bytes(content)
            if rng.random() < 0.3:
                path.with_name(f"{person} (conflicted copy).jsonl").write_bytes(content)
        graph = read_graph(team.folder, checkpoint=checkpoint)
        assert_is(graph, handed)
        assert graph == read_graph(team.folder)


def test_known_at_is_the_graph_of_the_lines_up_to_then(handed: bytes, team: Team, rng: random.Random) -> None:
    raws = handed.splitlines()
    (team.folder / "journal").mkdir()
    halves: tuple[list[bytes], list[bytes]] = ([], [])
    for number, raw in enumerate(raws):
        rng.choice(halves).append(stamped(raw, number))
    for name, half in zip(("ann", "bob"), halves, strict=True):
        (team.folder / "journal" / f"{name}.jsonl").write_bytes(b"\n".join(half) + b"\n")
    for cut in rng.sample(range(len(raws)), 5):
        nodes, edges = in_order(b"\n".join(raws[: cut + 1]))
        at = json.loads(stamped(raws[cut], cut))["at"]
        graph = read_graph(team.folder, known_at=at)
        assert (graph.nodes.keys(), graph.edges.keys()) == (nodes.keys(), edges.keys())


def test_journal_that_grows_piece_by_piece_is_followed_from_its_checkpoint(
    handed: bytes, team: Team, rng: random.Random, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    length = 0
    while length < len(handed):
        length += rng.randrange(1, 60_000)
        write(team, handed[:length])
        graph = read_graph(team.folder, checkpoint=checkpoint)
        assert graph.damage.total == 0
    assert_is(graph, handed)
    assert graph == read_graph(team.folder)
