"""What a line of the team graph is, whatever happened to the file it lies in."""

from __future__ import annotations

from hashlib import sha256

import pytest

from tests.graph.conftest import Team, edge, edit, gone, line, moment, node
from vir_core.graph import GraphLine, TeamShape, read_graph
from vir_core.journal import Damage, read_lines


def decode(block: bytes, name: str = "journal/ann.jsonl", first: int = 0) -> tuple[list[GraphLine], Damage]:
    damage = Damage()
    return TeamShape().decode(block, damage, name=name, first=first), damage


def test_stamp_of_the_legacy_journal_is_the_place_of_the_line() -> None:
    one, two = line(*node("a")), line(*node("b"), at=moment(1))
    lines, damage = decode(one + b"\n\nno line\n" + two + b"\n", "journal.jsonl", first=7)
    assert [each.stamp for each in lines] == [(0, "", "", "000000000007"), (0, "", "", "000000000010")]
    assert damage == Damage(garbage=1)


def test_stamp_of_a_shard_is_time_file_and_digest() -> None:
    raw = line(*node("a"), at=moment(1))
    lines, _ = decode(b"  " + raw + b"\r\n", "journal/owner%40example.com.jsonl")
    assert lines[0].stamp == (1, moment(1), "owner%40example.com.jsonl", sha256(raw).hexdigest())
    assert lines[0].raw == raw


def test_every_line_of_a_shard_is_later_than_the_legacy_journal() -> None:
    legacy, _ = decode(line(*node("a")) + b"\n", "journal.jsonl", first=999_999)
    shard, _ = decode(line(*node("a")) + b"\n")
    assert shard[0].at == ""
    assert shard[0].stamp > legacy[0].stamp


@pytest.mark.parametrize(
    ("at", "read"),
    [
        ("2026-09-15T10:00:00.000001+00:00", "2026-09-15T10:00:00.000001+00:00"),
        ("2026-09-15T12:00:00+02:00", "2026-09-15T10:00:00.000000+00:00"),
        ("2026-09-15T10:00:00Z", "2026-09-15T10:00:00.000000+00:00"),
        ("2026-09-15T10:00:00", "2026-09-15T10:00:00.000000+00:00"),
        ("2026-13-45T99:00:00.000000+00:00", ""),
        ("~ later than anything", ""),
        (None, ""),
    ],
)
def test_time_that_would_not_compare_as_text_is_put_in_its_form(at: str | None, read: str) -> None:
    assert decode(line(*node("a"), at=at))[0][0].at == read
    assert decode(b'{"action": "remove_node", "data": {"id": "a"}, "at": 7}')[0][0].at == ""


def test_same_bytes_are_one_line_in_a_shard_and_two_in_two_files_or_the_legacy_journal() -> None:
    raw = line(*edit("a", severity="high"), at=moment(1)) + b"\n"
    twice, _ = decode(raw + raw.replace(b"\n", b"\r\n"))
    assert twice[0].hash == twice[1].hash and twice[0].stamp == twice[1].stamp
    copy, _ = decode(raw, "journal/ann (conflicted copy).jsonl")
    assert copy[0].hash != twice[0].hash
    legacy, _ = decode(raw + raw, "journal.jsonl")
    assert legacy[0].hash != legacy[1].hash


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r\r\n", b"\0\0\n", b" \t\n"])
def test_line_ends_and_padding_change_no_line(team: Team, end: bytes) -> None:
    clean = Team(team.folder.parent / "clean")
    acts = [node("a"), node("b"), edge("a", "b"), edit("a", summary="Grüße, 世界 🙂")]
    team.legacy(*acts, end=end)
    clean.legacy(*acts)
    path = team.folder / "journal.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    graph, expected = read_graph(team.folder), read_graph(clean.folder)
    assert (graph.nodes, graph.edges, graph.lines) == (expected.nodes, expected.edges, 4)
    assert graph.nodes["a"].summary == "Grüße, 世界 🙂"
    assert read_lines(team.folder, TeamShape()).lines == read_lines(clean.folder, TeamShape()).lines


def test_glued_objects_are_all_read_in_their_order_and_counted() -> None:
    acts = [node("a"), edit("a", summary="new"), gone("a")]
    glued = b"".join(line(*each) for each in acts)
    lines, damage = decode(glued + b"\n" + line(*node("b")) + b"\n", "journal.jsonl")
    assert [each.action for each in lines] == ["add_node", "update_node", "remove_node", "add_node"]
    assert [each.stamp for each in lines] == sorted({each.stamp for each in lines})
    assert damage == Damage(glued=1)
    apart, _ = decode(b"\n".join(line(*each, at=moment(1)) for each in acts))
    together, _ = decode(b" ".join(line(*each, at=moment(1)) for each in acts))
    assert together == apart


def test_torn_line_that_swallowed_the_next_gives_the_next_back() -> None:
    whole = line(*node("b"), at=moment(2))
    for keep in range(1, len(whole)):
        torn = line(*node("a", detail='she said {"action": now'), at=moment(1))[:keep]
        lines, damage = decode(torn + whole + b"\n")
        assert lines[-1].raw == whole, torn
        assert len(lines) == 1 and damage.torn == 1, torn


def test_torn_last_line_waits_for_its_end(team: Team) -> None:
    path = team.legacy(node("a"), node("b"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    assert set(read_graph(team.folder).nodes) == {"a"}
    assert read_graph(team.folder).damage == Damage()
    path.write_bytes(whole[:-1])
    assert set(read_graph(team.folder).nodes) == {"a", "b"}


def test_marks_of_a_merge_conflict_hide_no_line(team: Team) -> None:
    ours, theirs = line(*node("a"), at=moment(1)), line(*node("b"), at=moment(2))
    path = team.shard("ann", (0, node("z")))
    path.write_bytes(path.read_bytes() + b"<<<<<<< HEAD\n" + ours + b"\n=======\n" + theirs + b"\n>>>>>>> branch 'x'\n")
    graph = read_graph(team.folder)
    assert set(graph.nodes) == {"a", "b", "z"}
    assert graph.damage == Damage(garbage=3)


@pytest.mark.parametrize(
    "bad", [b"[]", b"7", b'"add_node"', b"{}", b'{"action": 3, "data": {}}', b'{"action": "add_node"}', b"\xff\xfe{"]
)
def test_what_is_no_line_is_counted_and_the_rest_read(bad: bytes) -> None:
    lines, damage = decode(bad + b"\n" + line(*node("a")) + b"\n")
    assert [each.action for each in lines] == ["add_node"]
    assert damage.total == 1


def test_broken_characters_cost_the_character_and_not_the_line(team: Team) -> None:
    path = team.legacy(node("a", summary="caf@", detail="half ~"))
    path.write_bytes(path.read_bytes().replace(b"@", b"\xe9").replace(b"~", b"\\ud83d"))
    graph = read_graph(team.folder)
    assert (graph.nodes["a"].summary, graph.nodes["a"].detail) == ("caf�", "half �")
    assert graph.damage.total == 0


def test_only_the_journals_of_the_folder_are_read(team: Team) -> None:
    team.legacy(node("a"))
    team.shard("ann", (1, node("b")))
    for name in (
        "people/ann.profile.jsonl",
        "local/own-appends.jsonl",
        "journal/.hidden.jsonl",
        "journal/ann.jsonl.mine",
    ):
        path = team.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(line(*node("no")) + b"\n")
    (team.folder / "journal" / ".bob.jsonl.icloud").write_bytes(b"bplist")
    (team.folder / "journal" / "cyd.jsonl").mkdir()
    before = sorted(team.folder.rglob("*"))
    graph = read_graph(team.folder)
    assert set(graph.nodes) == {"a", "b"}
    assert graph.absent == ("journal/bob.jsonl",)
    assert sorted(team.folder.rglob("*")) == before, "reading writes nothing"


def test_folder_that_is_not_there_is_an_empty_graph(team: Team) -> None:
    graph = read_graph(team.folder / "nowhere")
    assert (graph.nodes, graph.edges, graph.lines, graph.damage) == ({}, {}, 0, Damage())
    assert not (team.folder / "nowhere").exists()
