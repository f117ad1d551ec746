"""What was known at a moment, and lines that nobody vouches for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vir_core.journal import Draft, Journal, Line

Make = Callable[..., Journal]
Say = Callable[..., list[Line]]

OTHER = "v" + "2" * 15


def segment(journal: Journal) -> Path:
    return journal.folder / journal.device / "0001.jsonl"


def test_known_at_is_what_a_reader_of_that_moment_saw(journal: Make, say: Say, latest: type[Any]) -> None:
    desk, laptop = journal(), journal("d2")
    moments: list[tuple[str, dict[str, Any]]] = [("2020-01-01T00:00:00.000000Z", {})]
    for subject in "abacad":
        (line,) = say(desk if subject == "a" else laptop, subject)
        moments.append((line.at, dict(desk.read(latest).projection.seen)))
    desk.save_checkpoint(desk.read(latest))
    checkpoint = (desk.state / "checkpoint").read_bytes()
    for at, seen in moments:
        for one in (desk, laptop, journal(state=None)):
            reading = one.read(latest, known_at=at)
            assert reading.projection.seen == seen
            assert reading.newest <= at
            assert not reading.moved and not one.save_checkpoint(reading)
    assert (desk.state / "checkpoint").read_bytes() == checkpoint
    assert desk.read(latest).projection.seen == moments[-1][1]


def test_known_at_holds_for_lines_that_only_the_mirror_has(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    (first,) = say(desk, "a")
    say(desk, "b")
    content = segment(desk).read_bytes()
    segment(desk).unlink()
    assert set(desk.read(latest, known_at=first.at).projection.seen) == {desk.vault, "a"}
    segment(desk).write_bytes(content)
    assert set(desk.read(latest, known_at=first.at).projection.seen) == {desk.vault, "a"}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_known_at_any_moment_is_the_replay_of_that_prefix(
    data: st.DataObject, latest: type[Any], tmp_path_factory: Any
) -> None:
    base: Path = tmp_path_factory.mktemp("past")
    (base / "store").mkdir()
    lines: list[Line] = []
    for device in data.draw(st.lists(st.sampled_from(("d1", "d2")), min_size=1, max_size=5)):
        desk = Journal(base / "store", base / device, vault="v1", device=device, core="0.1.0")
        with desk.writing("test", latest) as writer:
            drafts = [Draft("held", f"n{number % 3}", {}) for number in range(data.draw(st.integers(1, 4)))]
            lines += writer.append(drafts, kind="vir", surface="cli")
    cut = data.draw(st.sampled_from(lines)).at
    wanted = latest()
    for line in lines:
        if line.at <= cut:
            wanted.apply(line)
    reader = Journal(base / "store", None, vault="v1", device="d9", core="0.1.0")
    seen = reader.read(latest, known_at=cut).projection.seen
    seen.pop("v1")
    assert seen == wanted.seen


@pytest.mark.parametrize("cut", ["head", "torn head", "in two"])
def test_foreign_segment_without_its_first_line_stays_out(journal: Make, say: Say, latest: type[Any], cut: str) -> None:
    desk, stranger = journal(), journal("d7", vault=OTHER)
    say(desk, "a")
    say(stranger, "x", "y")
    lines = segment(stranger).read_bytes().splitlines(keepends=True)
    if cut == "in two":
        segment(stranger).write_bytes(b"".join(lines[:2]))
        segment(stranger).with_name("0001 (conflict).jsonl").write_bytes(lines[2])
    else:
        segment(stranger).write_bytes((lines[0][40:] if cut == "torn head" else b"") + b"".join(lines[1:]))
    for one in (desk, journal("d2"), journal(state=None)):
        reading = one.read(latest)
        assert set(reading.projection.seen) == {desk.vault, "a"}
        assert reading.damage.unplaced == (1 if cut == "in two" else 2)
    say(desk, "b")
    assert b'"x"' not in b"".join(path.read_bytes() for path in (desk.state / "mirror").iterdir())
    found = [finding for finding in desk.verify().findings if finding.kind == "unplaced"]
    assert [finding.device for finding in found] == ["d7"]
    own = journal("d8", vault=OTHER, state=None).read(latest)
    assert ("x" in own.projection.seen) == (cut == "in two"), "for its own vault it is the same"


def test_own_lines_count_when_their_first_line_was_cut(journal: Make, say: Say, latest: type[Any]) -> None:
    desk, laptop = journal(), journal("d2")
    say(desk, "a", "b")
    say(laptop, "c")
    content = segment(desk).read_bytes()
    segment(desk).write_bytes(content[content.index(b"\n") + 1 :])
    for one in (desk, laptop):
        assert {"a", "b", "c"} <= set(one.read(latest).projection.seen), "the mirror knows the device"
    guest = journal("d9", state=None)
    assert set(guest.read(latest).projection.seen) == {desk.vault, "c"}
    assert guest.read(latest).damage.unplaced == 2
    desk.heal(latest)
    assert {"a", "b", "c"} <= set(guest.read(latest).projection.seen)
    assert guest.read(latest).damage.total == 0


@pytest.mark.parametrize("order", ["beginning first", "beginning last"])
def test_lines_that_waited_for_their_beginning_count_when_it_comes(
    journal: Make, say: Say, latest: type[Any], order: str
) -> None:
    desk, laptop = journal(), journal("d2")
    say(desk, "a")
    say(laptop, "b", "c")
    content = segment(laptop).read_bytes()
    head, rest = content[: content.index(b"\n") + 1], content[content.index(b"\n") + 1 :]
    third = journal("d3")
    segment(laptop).write_bytes(rest if order == "beginning last" else head)
    with third.writing("test", latest) as writer:
        assert "b" not in writer.reading.projection.seen
        third.save_checkpoint(writer.reading)
    marks = third.read(latest).marks
    late = segment(laptop).with_name("0001 (conflict).jsonl")
    late.write_bytes(head if order == "beginning last" else rest)
    assert third.since(marks).valid == (order == "beginning first")
    reading = third.read(latest)
    assert {"a", "b", "c"} <= set(reading.projection.seen)
    assert (reading.damage.total, reading.lines) == (0, 5)
    say(third, "d")
    assert (third.state / "mirror" / "d2.jsonl").read_bytes().count(b"\n") == 3
