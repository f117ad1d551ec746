"""Whatever order lines arrive in, and however the files were cut, the graph is the one that the order of stamps tells."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.graph.conftest import Act, Team, edge, edit, gone, no_edge, node
from tests.graph.plain import Story
from vir_core.graph import Graph, GraphLine, TeamGraph, TeamShape, read_graph
from vir_core.journal import read_lines

NAMES = st.sampled_from("abcd")
WORDS = st.sampled_from(["one", "two", "three"])
ACTS: st.SearchStrategy[Act] = st.one_of(
    st.builds(node, NAMES, summary=WORDS, author=st.sampled_from(["ann", "bob"])),
    st.builds(node, NAMES, metadata=st.fixed_dictionaries({"status": WORDS})),
    st.builds(edit, NAMES, summary=WORDS),
    st.builds(edit, NAMES, metadata=st.fixed_dictionaries({"status": WORDS}), curated_by_skill_at=WORDS),
    st.builds(gone, NAMES),
    st.builds(edge, NAMES, NAMES, st.sampled_from(["led_to", "part_of"]), reason=WORDS),
    st.builds(no_edge, NAMES, NAMES, st.sampled_from(["led_to", "part_of"])),
)
# Few moments, so that files tie.
SHARDS = st.dictionaries(
    st.sampled_from(["ann", "bob", "cyd"]), st.lists(st.tuples(st.integers(0, 8), ACTS), max_size=12)
)


def plain(graph: Graph) -> tuple[dict[str, Any], dict[Any, Any]]:
    """The graph in the words of its lines: what `Story` holds."""
    nodes = {name: msgspec.to_builtins(each) for name, each in graph.nodes.items()}
    edges = {triple: msgspec.to_builtins(each) for triple, each in graph.edges.items()}
    return nodes, edges


def told(story: Story) -> tuple[dict[str, Any], dict[Any, Any]]:
    """The same of a story: with what is left unsaid filled in."""
    nodes: dict[str, Any] = {}
    for name, said in story.nodes.items():
        whole = {"type": "", "summary": "", "detail": "", "context": [], "references": [], "severity": None}
        whole |= {"timestamp": "", "author": "", "metadata": {}, "more": {}}
        more = {key: value for key, value in said.items() if key not in {"id", *whole}}
        nodes[name] = whole | {key: value for key, value in said.items() if key not in more} | {"more": more}
    edges: dict[Any, Any] = {}
    for triple, said in story.edges.items():
        whole = {"timestamp": "", "source": "curator", "reason": None, "curation_session": None, "more": {}}
        edges[triple] = whole | said
    return nodes, edges


def frozen(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode([sorted(value[0].items()), sorted(value[1].items())]))


def lines_of(team: Team) -> list[GraphLine]:
    return read_lines(team.folder, TeamShape()).lines


def graph_of(lines: list[GraphLine]) -> TeamGraph:
    graph = TeamGraph()
    for each in lines:
        graph.apply(each)
    return graph


@settings(max_examples=300, deadline=None)
@given(st.lists(ACTS, max_size=20), SHARDS, st.randoms(use_true_random=False))
def test_any_order_of_arrival_gives_the_graph_of_the_stamps(
    legacy: list[Act], shards: dict[str, list[tuple[int, Act]]], chance: random.Random
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        team = Team(Path(folder) / ".cognition")
        team.legacy(*legacy)
        for person, acts in shards.items():
            team.shard(person, *acts)
        lines = lines_of(team)
        read = read_graph(team.folder)
    story = Story().tell(lines)
    assert frozen(plain(read)) == frozen(told(story))
    assert read.collisions == story.collisions
    shuffled = lines + lines[: len(lines) // 2]
    chance.shuffle(shuffled)
    other = graph_of(shuffled)
    assert other.view() == graph_of(lines).view()
    assert other.dump() == graph_of(lines).dump()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ACTS, max_size=12), SHARDS, st.randoms(use_true_random=False))
def test_files_that_grow_byte_by_byte_give_the_same_graph_from_a_checkpoint(
    legacy: list[Act], shards: dict[str, list[tuple[int, Act]]], chance: random.Random
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole, growing = Team(Path(folder) / "whole"), Team(Path(folder) / "growing")
        whole.legacy(*legacy, end=chance.choice([b"\n", b"\r\n"]))
        for person, acts in shards.items():
            whole.shard(person, *acts)
        files = {path.relative_to(whole.folder): path.read_bytes() for path in whole.folder.rglob("*.jsonl")}
        (growing.folder / "journal").mkdir()
        held = dict.fromkeys(files, 0)
        checkpoint = Path(folder) / "checkpoint"
        while files:
            name = chance.choice(sorted(files))
            held[name] = min(held[name] + chance.randrange(1, 400), len(files[name]))
            (growing.folder / name).write_bytes(files[name][: held[name]])
            seen = read_graph(growing.folder, checkpoint=checkpoint)
            assert seen == read_graph(growing.folder)
            if held[name] == len(files[name]):
                del files[name]
        assert frozen(plain(read_graph(growing.folder))) == frozen(plain(read_graph(whole.folder)))


def test_checkpoint_follows_a_shard_that_a_merge_rewrote(team: Team, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    team.shard("ann", (1, node("a")), (5, edit("a", summary="late")))
    assert read_graph(team.folder, checkpoint=checkpoint).nodes["a"].summary == "late"
    path = team.folder / "journal" / "ann.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    team.shard("bob", (3, edit("a", detail="between")), (4, node("b")))
    inserted = (team.folder / "journal" / "bob.jsonl").read_bytes()
    path.write_bytes(first + inserted + second)
    (team.folder / "journal" / "bob.jsonl").unlink()
    graph = read_graph(team.folder, checkpoint=checkpoint)
    assert (graph.nodes["a"].summary, graph.nodes["a"].detail) == ("late", "between")
    assert set(graph.nodes) == {"a", "b"} and graph == read_graph(team.folder)
    # Repeating the same lines, in this file or in a copy of it, says nothing new.
    path.write_bytes(path.read_bytes() + second + first)
    (team.folder / "journal" / "ann (conflicted copy).jsonl").write_bytes(first + inserted)
    again = read_graph(team.folder, checkpoint=checkpoint)
    assert (again.nodes, again.edges, again.collisions) == (graph.nodes, graph.edges, 0)


def test_checkpoint_is_read_instead_of_the_files(team: Team, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    team.legacy(node("a"), node("b"), edge("a", "b"))
    first = read_graph(team.folder, checkpoint=checkpoint)
    before = checkpoint.stat()
    assert read_graph(team.folder, checkpoint=checkpoint) == first
    assert checkpoint.stat().st_mtime_ns == before.st_mtime_ns
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1])
    assert read_graph(team.folder, checkpoint=checkpoint) == first
    team.legacy(gone("a"))
    assert set(read_graph(team.folder, checkpoint=checkpoint).nodes) == {"b"}
