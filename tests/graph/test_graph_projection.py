"""What lines make of a team graph."""

from __future__ import annotations

import pytest

from tests.graph.conftest import Act, Team, edge, edit, gone, moment, no_edge, node
from vir_core.graph import Node, read_graph


def test_node_and_edge_are_what_their_lines_say(team: Team) -> None:
    team.legacy(
        node("a", type="decision", context=["x", "y"], references=["doc:1"], severity="high", metadata={"k": [1]}),
        node("wp-opaque-id"),
        edge("a", "wp-opaque-id", "part_of", timestamp="t", source="manual", reason="why", curation_session="s"),
        edge("wp-opaque-id", "a"),
    )
    graph = read_graph(team.folder)
    assert graph.nodes["a"] == Node(
        id="a",
        type="decision",
        summary="about a",
        context=("x", "y"),
        references=("doc:1",),
        severity="high",
        timestamp="2026-09-01T00:00:00.000000+00:00",
        author="ann",
        metadata={"k": [1]},
    )
    assert graph.nodes["wp-opaque-id"].metadata == {}
    full, bare = graph.edges["a", "wp-opaque-id", "part_of"], graph.edges["wp-opaque-id", "a", "led_to"]
    assert (full.timestamp, full.source, full.reason, full.curation_session) == ("t", "manual", "why", "s")
    assert (bare.source, bare.reason) == ("curator", None)


def test_latest_write_of_each_attribute_wins_and_metadata_is_one_attribute(team: Team) -> None:
    team.shard("ann", (1, node("a", metadata={"x": 1, "y": 1})), (5, edit("a", metadata={"x": 2})))
    team.shard("bob", (3, edit("a", summary="third", detail="third")), (4, edit("a", summary="fourth")))
    graph = read_graph(team.folder)
    assert (graph.nodes["a"].summary, graph.nodes["a"].detail) == ("fourth", "third")
    assert graph.nodes["a"].metadata == {"x": 2}


def test_equal_times_in_two_files_are_decided_by_the_file(team: Team) -> None:
    team.shard("ann", (1, node("a")), (2, edit("a", summary="ann")))
    team.shard("bob", (2, edit("a", summary="bob")))
    assert read_graph(team.folder).nodes["a"].summary == "bob"


def test_old_writer_of_the_legacy_journal_is_read_and_loses_to_every_shard(team: Team) -> None:
    team.legacy(node("a"))
    team.shard("ann", (1, edit("a", summary="shard")))
    team.legacy(edit("a", summary="straggler", detail="straggler"))
    graph = read_graph(team.folder)
    assert (graph.nodes["a"].summary, graph.nodes["a"].detail) == ("shard", "straggler")


def test_removing_a_node_takes_its_edges_and_adding_it_again_does_not_bring_them_back(team: Team) -> None:
    team.legacy(node("a"), node("b"), edge("a", "b"), edge("b", "a"), edit("a", curated_by_skill_at="t"))
    assert len(read_graph(team.folder).edges) == 2
    team.legacy(gone("a"))
    graph = read_graph(team.folder)
    assert (set(graph.nodes), graph.edges) == ({"b"}, {})
    team.legacy(node("a", summary="again"), edge("a", "b", "part_of"))
    graph = read_graph(team.folder)
    assert graph.nodes["a"].summary == "again"
    assert graph.nodes["a"].more == {}, "nothing of the removed node is left"
    assert set(graph.edges) == {("a", "b", "part_of")}


def test_edit_after_a_removal_brings_nothing_back(team: Team) -> None:
    team.shard("ann", (1, node("a")), (3, gone("a")))
    team.shard("bob", (4, edit("a", summary="late")))
    graph = read_graph(team.folder)
    assert graph.nodes == {} and graph.waiting_edits == 0
    team.shard("ann", (5, node("a")))
    assert read_graph(team.folder).nodes["a"].summary == "about a"


def test_removal_that_is_older_than_the_adding_line_removes_nothing(team: Team) -> None:
    team.shard("ann", (2, node("a")))
    team.shard("bob", (1, gone("a")))
    assert "a" in read_graph(team.folder).nodes
    team.shard("bob", (3, gone("a")))
    assert read_graph(team.folder).nodes == {}


def test_removal_that_a_merge_moved_before_its_node_still_removes_it(team: Team) -> None:
    team.legacy(gone("a"), node("a"), node("b"), edge("a", "b"), node("a", summary="the same line twice"))
    graph = read_graph(team.folder)
    assert (set(graph.nodes), graph.edges) == ({"b"}, {})
    team.shard("ann", (1, node("a", summary="again")))
    assert read_graph(team.folder).nodes["a"].summary == "again"


def test_removal_in_the_legacy_journal_waits_for_a_node_that_only_a_shard_adds(team: Team) -> None:
    team.legacy(gone("a"))
    team.shard("ann", (1, node("a")), (2, node("b")))
    assert set(read_graph(team.folder).nodes) == {"b"}
    team.shard("bob", (3, node("a", summary="again")))
    assert read_graph(team.folder).nodes["a"].summary == "again"


def test_edge_waits_for_its_nodes_whatever_their_file_and_time(team: Team) -> None:
    team.shard("ann", (1, node("a")), (2, edge("a", "b")), (3, edge("a", "c")))
    graph = read_graph(team.folder)
    assert graph.edges == {} and graph.waiting_edges == 2
    team.shard("bob", (9, node("b")))
    graph = read_graph(team.folder)
    assert set(graph.edges) == {("a", "b", "led_to")}
    assert graph.waiting_edges == 1
    team.shard("bob", (10, node("c")), (11, gone("c")))
    graph = read_graph(team.folder)
    assert set(graph.edges) == {("a", "b", "led_to")}
    assert graph.waiting_edges == 0, "an edge of a removed node waits for nobody"


def test_edit_waits_for_its_node_and_loses_to_what_is_later(team: Team) -> None:
    team.shard("ann", (1, edit("a", summary="early", scope_review={"suggested": "project"})))
    graph = read_graph(team.folder)
    assert graph.nodes == {} and graph.waiting_edits == 1
    team.shard("bob", (2, node("a")))
    graph = read_graph(team.folder)
    assert graph.nodes["a"].summary == "about a"
    assert graph.nodes["a"].more == {"scope_review": {"suggested": "project"}}
    assert graph.waiting_edits == 0


def test_edge_is_one_by_its_ends_and_type(team: Team) -> None:
    team.legacy(node("a"), node("b"), edge("a", "b", reason="old"), edge("a", "b", "part_of"))
    team.legacy(edge("a", "b", reason="new"), no_edge("a", "b", "part_of"), no_edge("b", "a"))
    graph = read_graph(team.folder)
    assert {triple: each.reason for triple, each in graph.edges.items()} == {("a", "b", "led_to"): "new"}
    team.legacy(edge("a", "b", "part_of"))
    assert len(read_graph(team.folder).edges) == 2


def test_removal_of_an_edge_that_is_read_first_still_wins_by_its_stamp(team: Team) -> None:
    team.shard("ann", (5, no_edge("a", "b")))
    team.shard("bob", (1, node("a")), (2, node("b")), (3, edge("a", "b")))
    assert read_graph(team.folder).edges == {}
    team.shard("bob", (6, edge("a", "b")))
    assert len(read_graph(team.folder).edges) == 1


@pytest.mark.parametrize("field", ["type", "timestamp", "author"])
def test_two_people_who_mint_one_id_do_not_mix_their_nodes(team: Team, field: str) -> None:
    team.shard("bob", (1, node("a", summary="bob's", severity="low")))
    other: Act = node("a", summary="ann's", **{field: "other"})
    team.shard("ann", (2, other))
    graph = read_graph(team.folder)
    assert (graph.nodes["a"].summary, graph.nodes["a"].severity) == ("bob's", "low")
    assert graph.collisions == 1
    # The same person may write it again, and so may a copy of the file.
    team.shard("bob", (3, node("a", summary="again", **{field: "other"})))
    team.shard("bob (conflicted copy)", (1, node("a", summary="bob's", severity="low")))
    graph = read_graph(team.folder)
    assert graph.nodes["a"].summary == "again"
    assert graph.collisions == 1


def test_what_is_unknown_or_malformed_is_counted_and_the_rest_goes_on(team: Team) -> None:
    team.shard(
        "ann",
        (0, ("shard_start", {"legacy_bytes": 0, "legacy_sha256": "", "plugin_version": "0.44.0"})),
        (1, ("merge_nodes", {"id": "a"})),
        (2, ("merge_nodes", {"id": "b"})),
        (3, ("add_node", {"summary": "no id"})),
        (4, ("add_node", {"id": 7})),
        (5, ("add_edge", {"from_id": "a", "to_id": "b"})),
        (6, node("a")),
    )
    graph = read_graph(team.folder)
    assert graph.unknown == {"merge_nodes": 2}
    assert graph.unreadable == 3
    assert set(graph.nodes) == {"a"} and graph.lines == 7 and graph.damage.total == 0


def test_attribute_of_another_type_is_kept_and_hides_no_node(team: Team) -> None:
    team.legacy(node("a", context="one text", detail=None, metadata=[1], colour="red"), node("b"))
    team.legacy(edge("a", "b", reason=["x"], source=None, weight=0.5))
    graph = read_graph(team.folder)
    odd = graph.nodes["a"]
    assert (odd.summary, odd.context, odd.detail, odd.metadata) == ("about a", (), "", {})
    assert odd.more == {"context": "one text", "detail": None, "metadata": [1], "colour": "red"}
    link = graph.edges["a", "b", "led_to"]
    assert (link.source, link.reason) == ("curator", None)
    assert link.more == {"reason": ["x"], "source": None, "weight": 0.5}


def test_known_at_leaves_out_what_shards_said_later(team: Team) -> None:
    team.legacy(node("old"))
    team.shard("ann", (1, node("a")), (3, edit("a", summary="later")), (4, gone("old")))
    graph = read_graph(team.folder, known_at=moment(2))
    assert set(graph.nodes) == {"a", "old"} and graph.nodes["a"].summary == "about a"
    graph = read_graph(team.folder, known_at=moment(4))
    assert set(graph.nodes) == {"a"} and graph.nodes["a"].summary == "later"
