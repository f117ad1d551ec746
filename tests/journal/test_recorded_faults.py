"""What went wrong in the journals of a tool that kept a team's memory before this one, staged against this engine.

Numbers are those of the recorded faults. Faults of ids, edges and whole nodes are staged in `tests/graph`, those of two
writers at once and of full disks in `test_journal_faults.py`; those of its version control, vectors and tools have nothing
here to happen to.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vir_core.journal import Draft, Journal, Line, Reading
from vir_core.journal import journal as journal_module
from vir_core.machine import StorageError

Make = Callable[..., Journal]
Say = Callable[..., list[Line]]


def segment(journal: Journal, number: int = 1) -> Path:
    return journal.folder / journal.device / f"{number:04}.jsonl"


def counts(reading: Reading[Any]) -> dict[str, int]:
    """How often each subject was spoken of, but for the vault itself."""
    return {key: seen[0] for key, seen in reading.projection.seen.items() if not key.startswith("v")}


def assert_agree(desk: Journal, latest: type[Any]) -> dict[str, int]:
    """What is read from the checkpoint is what is read without any cache; returns it."""
    resumed = desk.read(latest)
    assert desk.state is not None
    checkpoint = desk.state / "checkpoint"
    aside = checkpoint.with_name("aside")
    if checkpoint.exists():
        checkpoint.rename(aside)
    full = desk.read(latest)
    if aside.exists():
        aside.rename(checkpoint)
    assert counts(resumed) == counts(full)
    assert resumed.projection.seen == full.projection.seen
    for name in ("lines", "newest", "devices", "missing", "damage", "unfinished", "absent"):
        assert getattr(resumed, name) == getattr(full, name), name
    return counts(full)


def test_02_torn_tail_of_a_crashed_writer_does_not_swallow_the_next_line(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    desk, laptop = journal("d1"), journal("d2")
    said = say(laptop, "a", "b")
    say(desk, "z")
    torn = said[-1].raw[: len(said[-1].raw) // 2]
    later = said[-1].raw.replace(b'"b"', b'"c"')
    # As a writer that looks at nothing leaves it: half a line, and the next one glued to it.
    segment(laptop).write_bytes(segment(laptop).read_bytes() + torn + later + b"\n")
    assert counts(desk.read(latest)) == {"a": 1, "b": 1, "c": 1, "z": 1}
    assert desk.read(latest).damage.torn == 1
    assert_agree(desk, latest)


def test_03_merge_that_inserts_lines_below_the_same_first_line_is_noticed(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    desk, laptop = journal("d1"), journal("d2")
    said = say(laptop, "a", "b")
    say(desk, "z")
    desk.save_checkpoint(desk.read(latest))
    first, *rest = segment(laptop).read_bytes().splitlines(keepends=True)
    segment(laptop).write_bytes(b"".join([first, said[0].raw.replace(b'"a"', b'"inserted"') + b"\n", *rest]))
    assert assert_agree(desk, latest) == {"a": 1, "b": 1, "inserted": 1, "z": 1}


@pytest.mark.parametrize("lines", [3, 60])
def test_04_replacement_of_equal_or_larger_size_is_noticed(
    journal: Make, say: Say, latest: type[Any], lines: int
) -> None:
    desk, laptop = journal("d1"), journal("d2")
    subjects = [f"n{number:04}" for number in range(lines)]
    say(laptop, *subjects)
    say(desk, "z")
    desk.save_checkpoint(desk.read(latest))
    expected = {**dict.fromkeys(subjects, 1), "z": 1}
    assert assert_agree(desk, latest) == expected
    content = segment(laptop).read_bytes()
    # Equal: another line says something else at the front of the file. Larger: and one follows at its end.
    other = content.replace(b'"n0000"', b'"o0000"', 1)
    segment(laptop).write_bytes(other)
    assert assert_agree(desk, latest) == {**expected, "o0000": 1}
    segment(laptop).write_bytes(other.replace(b'"n0001"', b'"o0001"', 1) + other.splitlines(keepends=True)[-1])
    assert assert_agree(desk, latest) == {**expected, "o0000": 1, "o0001": 1}


def test_05_rolled_back_file_is_no_truth_for_a_fresh_process_nor_a_living_one(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    desk = journal()
    say(desk, "a")
    old = segment(desk).read_bytes()
    with desk.writing("test", latest) as writer:
        writer.append([Draft("held", "b", {})], kind="vir", surface="cli")
        segment(desk).write_bytes(old)
        writer.append([Draft("held", "c", {})], kind="vir", surface="cli")
        assert counts(writer.reading) == {"a": 1, "b": 1, "c": 1}
        desk.save_checkpoint(writer.reading)
    assert assert_agree(desk, latest) == {"a": 1, "b": 1, "c": 1}
    segment(desk).write_bytes(old)
    assert assert_agree(desk, latest) == {"a": 1, "b": 1, "c": 1}
    with desk.writing("test", latest) as writer:
        assert counts(writer.reading) == {"a": 1, "b": 1, "c": 1}
    assert counts(journal(state=None).read(latest)) == {"a": 1, "b": 1, "c": 1}


def test_06_07_08_loss_is_told_until_the_lines_are_back_whatever_else_happens(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    desk, laptop, tablet = journal("d1"), journal("d2"), journal("d3")
    say(laptop, "a", "b")
    say(tablet, "t")
    say(desk, "z")
    whole = segment(laptop).read_bytes()
    segment(laptop).write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 1])
    for subject in ("c", "d"):
        assert desk.read(latest).missing == 1
        desk.save_checkpoint(desk.read(latest))
        assert desk.read(latest).missing == 1
        say(desk, subject)
    # A second loss, and the repair of an own one, hide nothing of the first.
    segment(tablet).unlink()
    segment(desk).write_bytes(segment(desk).read_bytes()[:-1000])
    say(desk, "e")
    assert desk.read(latest).missing == 3
    assert assert_agree(desk, latest)["b"] == 1
    segment(laptop).write_bytes(whole)
    assert desk.read(latest).missing == 2


def test_09_failed_append_leaves_no_phantom_in_the_live_view(
    journal: Make, say: Say, latest: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = journal()
    say(desk, "a")

    def full(path: Path, content: bytes, **how: Any) -> int:
        raise StorageError(path, "The disk is full.")

    with desk.writing("test", latest) as writer:
        with monkeypatch.context() as patch:
            patch.setattr(journal_module, "append", full)
            with pytest.raises(StorageError):
                writer.append([Draft("held", "void", {})], kind="vir", surface="cli")
        assert counts(writer.reading) == {"a": 1}
        writer.append([Draft("held", "b", {})], kind="vir", surface="cli")
        assert counts(writer.reading) == {"a": 1, "b": 1}
        desk.save_checkpoint(writer.reading)
    assert assert_agree(desk, latest) == {"a": 1, "b": 1}


def test_10_11_12_line_ends_rewritten_under_the_offsets_lose_and_double_nothing(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    desk, laptop = journal("d1"), journal("d2")
    say(laptop, "a", "b")
    say(desk, "z")
    desk.save_checkpoint(desk.read(latest))
    for old, new in ((b"\n", b"\r\n"), (b"\r\n", b"\n"), (b"\n", b"\r\r\n")):
        for each in (desk, laptop):
            segment(each).write_bytes(segment(each).read_bytes().replace(old, new))
        assert assert_agree(desk, latest) == {"a": 1, "b": 1, "z": 1}
    say(desk, "y")
    say(laptop, "c")
    assert assert_agree(desk, latest) == {"a": 1, "b": 1, "c": 1, "y": 1, "z": 1}
    assert desk.read(latest).damage.total == desk.read(latest).missing == 0


def test_14_19_25_order_of_arrival_and_rebuilding_change_no_decision(
    journal: Make, say: Say, latest: type[Any], rng: random.Random
) -> None:
    devices = [journal(f"d{number}") for number in range(1, 4)]
    for _ in range(4):
        for each in devices:
            say(each, "n1", "n2")
    expected = devices[0].read(latest).projection.seen
    files = {segment(each): segment(each).read_bytes() for each in devices}
    shutil.rmtree(devices[0].folder)
    arriving = journal("d9")
    for path in rng.sample(sorted(files), len(files)):
        lines = files[path].splitlines(keepends=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        for count in sorted(rng.sample(range(1, len(lines)), 2)):
            path.write_bytes(b"".join(lines[:count]))
            arriving.save_checkpoint(arriving.read(latest))
        path.write_bytes(files[path])
    assert arriving.read(latest).projection.seen == expected
    assert_agree(arriving, latest)
    # "Use mine" took the other side's lines away; who had seen them still has them.
    with arriving.writing("test", latest):
        pass
    for path in files:
        path.write_bytes(files[path].splitlines(keepends=True)[0])
    assert counts(arriving.read(latest)) == {"n1": 12, "n2": 12}
    assert_agree(arriving, latest)


def test_15_fast_clock_of_one_device_makes_no_later_edit_lose(journal: Make, say: Say, latest: type[Any]) -> None:
    fast = journal("d1", clock=lambda: "2026-12-01T09:00:00.000000Z")
    slow = journal("d2", clock=lambda: "2026-12-01T08:00:00.000000Z")
    say(fast, "n1")
    edit = say(slow, "n1")[-1]
    assert slow.read(latest).projection.seen["n1"] == (2, edit.stamp, "held")
    again = say(fast, "n1")[-1]
    assert fast.read(latest).projection.seen["n1"] == (3, again.stamp, "held")


def test_18_only_identical_lines_are_one(journal: Make, say: Say, latest: type[Any]) -> None:
    desk, laptop = journal("d1"), journal("d2")
    say(laptop, "n1", "n1", "n1")
    say(desk, "z")
    segment(laptop).write_bytes(segment(laptop).read_bytes() * 2)
    (laptop.folder / "d2" / "0001 (conflicted copy).jsonl").write_bytes(segment(laptop).read_bytes())
    assert counts(desk.read(latest)) == {"n1": 3, "z": 1}
    assert_agree(desk, latest)


def test_20_26_giving_up_counts_both_sources_audits_first_and_is_told_no_more(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    desk, laptop = journal("d1"), journal("d2")
    say(laptop, "a", "b")
    say(desk, "y", "z")
    for each in (desk, laptop):
        content = segment(each).read_bytes()
        segment(each).write_bytes(content[: content.rindex(b"\n", 0, -1) + 1])
    assert desk.read(latest).missing == 2
    given = desk.accept_disk("accept", latest)
    assert (given.lines, given.devices) == (2, ("d1", "d2"))
    assert counts(desk.read(latest)) == {"a": 1, "y": 1}
    assert b"lines_given_up" in segment(desk).read_bytes()
    for _ in range(2):
        assert desk.read(latest).missing == 0
        with desk.writing("test", latest) as writer:
            assert writer.reading.missing == 0
            desk.save_checkpoint(writer.reading)
    assert assert_agree(desk, latest) == {"a": 1, "y": 1}
    assert desk.accept_disk("accept", latest).lines == 0, "nothing is given up twice"


def test_24_file_made_or_grown_within_one_tick_of_the_clock_is_read(journal: Make, say: Say, latest: type[Any]) -> None:
    desk, laptop = journal("d1"), journal("d2")
    say(laptop, "a")
    say(desk, "z")
    desk.save_checkpoint(desk.read(latest))
    paths = [laptop.folder, laptop.folder / "d2", segment(laptop)]
    ticks = {path: path.stat().st_mtime_ns for path in paths}
    say(laptop, "b")
    say(journal("d3"), "c")
    for path, tick in ticks.items():
        os.utime(path, ns=(tick, tick))
    assert assert_agree(desk, latest) == {"a": 1, "b": 1, "c": 1, "z": 1}


def test_a_lost_first_line_and_lines_that_speak_of_it_are_given_back(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    desk = journal()
    with desk.writing("test", latest) as writer:
        writer.append([Draft("held", "n1", {"reason": "segment_started"})], kind="vir", surface="cli")
        writer.append([Draft("held", "n2", {"reason": "x"})], kind="vir", surface="cli")
    whole = sorted(segment(desk).read_bytes().splitlines())
    segment(desk).write_bytes(segment(desk).read_bytes().splitlines(keepends=True)[-1])
    assert counts(desk.read(latest)) == {"n1": 1, "n2": 1}
    with desk.writing("test", latest) as writer:
        assert writer.healed.given_back == 2
    assert sorted(segment(desk).read_bytes().splitlines()) == whole
    stranger = journal("d2", state=None)
    assert counts(stranger.read(latest)) == {"n1": 1, "n2": 1}


def test_c_own_file_deleted_whole_is_told_at_once_and_given_back(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, "a")
    desk.save_checkpoint(desk.read(latest))
    segment(desk).unlink()
    assert desk.read(latest).missing == 2
    assert assert_agree(desk, latest) == {"a": 1}
    with desk.writing("test", latest) as writer:
        assert writer.reading.missing == 0
    assert counts(journal(state=None).read(latest)) == {"a": 1}


# What follows was found by looking for more of the same.


class Killed(BaseException):
    pass


def die_before_the_segment(desk: Journal, say: Say, monkeypatch: pytest.MonkeyPatch, subject: str) -> None:
    def die(path: Path, content: bytes, **how: Any) -> int:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(journal_module, "append", die)
        with pytest.raises(Killed):
            say(desk, subject)


def test_line_whose_writer_died_is_the_same_for_all_readers_while_its_segment_is_in_the_cloud(
    journal: Make, say: Say, latest: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = journal()
    say(desk, "a")
    die_before_the_segment(desk, say, monkeypatch, "pending")
    segment(desk).rename(segment(desk).with_name(".0001.jsonl.icloud"))
    with desk.writing("test", latest) as writer:
        writer.append([Draft("held", "b", {})], kind="vir", surface="cli")
        live = counts(writer.reading)
        desk.save_checkpoint(writer.reading)
    assert {"a", "b"} <= live.keys()
    # From the checkpoint, and without any cache.
    assert counts(desk.read(latest)) == live
    assert desk.state is not None
    (desk.state / "checkpoint").unlink()
    assert counts(desk.read(latest)) == live


def test_giving_up_takes_no_line_that_lies_on_the_disk(journal: Make, say: Say, latest: type[Any]) -> None:
    desk, laptop = journal("d1"), journal("d2")
    say(laptop, "a", "b", "c")
    say(desk, "z")
    lines = segment(laptop).read_bytes().splitlines(keepends=True)
    segment(laptop).write_bytes(b"".join(lines[1:]))
    assert counts(desk.read(latest)) == {"a": 1, "b": 1, "c": 1, "z": 1}
    assert desk.read(latest).missing == 1, "the line that began the segment"
    assert desk.accept_disk("accept", latest).lines == 1


def test_since_calls_no_line_missing_that_lies_on_the_disk(
    journal: Make, say: Say, latest: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = journal()
    say(desk, "a")
    with monkeypatch.context() as patch:  # as a power cut leaves it: the mark is not flushed
        patch.setattr(desk.mirror, "done", lambda: None)
        say(desk, "b")
    marks = desk.read(latest).marks
    say(desk, "c")
    tail = desk.since(marks)
    assert tail.valid and "c" in [line.subject for line in tail.lines]
    assert tail.marks.missing == {}
    assert desk.read(latest).missing == 0


def test_line_that_was_only_ever_read_is_told_missing_when_it_is_rolled_back(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    desk, laptop = journal("d1"), journal("d2")
    say(desk, "z")
    say(laptop, "a")
    old = segment(laptop).read_bytes()
    say(laptop, "b")
    desk.save_checkpoint(desk.read(latest))
    assert "b" in counts(desk.read(latest))
    segment(laptop).write_bytes(old)
    reading = desk.read(latest)
    assert "b" in counts(reading) or reading.missing


@pytest.mark.parametrize("tail", [b"\0" * 200, b'{"v":1,"at":"2026'])
def test_torn_mirror_is_not_searched_again_and_again(
    journal: Make, say: Say, latest: type[Any], monkeypatch: pytest.MonkeyPatch, tail: bytes
) -> None:
    desk = journal()
    say(desk, "a")
    assert desk.mirror is not None
    path = desk.mirror.folder / desk.mirror.own
    path.write_bytes(path.read_bytes() + tail)
    say(desk, "b")
    searches: list[set[bytes]] = []
    fetch = desk.mirror.fetch

    def spy(wanted: set[bytes]) -> list[Line]:
        searches.append(wanted)
        return fetch(wanted)

    monkeypatch.setattr(desk.mirror, "fetch", spy)
    for _ in range(3):
        assert counts(desk.read(latest)) == {"a": 1, "b": 1}
    assert searches == []
    # A line that really is gone is searched for.
    segment(desk).write_bytes(segment(desk).read_bytes().splitlines(keepends=True)[0])
    assert counts(desk.read(latest)) == {"a": 1, "b": 1} and len(searches) == 1


def test_segment_in_the_cloud_is_not_here_yet_and_nothing_is_missing(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    desk, laptop = journal("d1"), journal("d2")
    say(laptop, "a", "b")
    say(desk, "z")
    with desk.writing("test", latest) as writer:
        desk.save_checkpoint(writer.reading)
    segment(laptop).rename(segment(laptop).with_name(".0001.jsonl.icloud"))
    for _ in range(2):
        reading = desk.read(latest)
        assert counts(reading) == {"a": 1, "b": 1, "z": 1}
        assert (reading.absent, reading.missing) == (1, 0)
        assert desk.state is not None
        (desk.state / "checkpoint").unlink(missing_ok=True)


def test_folder_that_has_the_name_of_the_next_segment_stops_no_writer(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    desk = journal()
    say(desk, "a")
    segment(desk).unlink()
    segment(desk, 2).mkdir()
    say(desk, "b")
    assert assert_agree(desk, latest) == {"a": 1, "b": 1}


def test_line_lost_while_another_segment_was_away_is_given_back_when_it_returns(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    desk = journal()
    say(desk, "a")
    with desk.writing("test", latest) as writer:
        desk.save_checkpoint(writer.reading)
    away = segment(desk).with_name(".0001.jsonl.icloud")
    segment(desk).rename(away)
    say(desk, "b", "c")
    # Lost before any checkpoint knew the second segment.
    segment(desk, 2).write_bytes(b"".join(segment(desk, 2).read_bytes().splitlines(keepends=True)[:-1]))
    desk.save_checkpoint(desk.read(latest))
    away.rename(segment(desk))
    with desk.writing("test", latest) as writer:
        assert counts(writer.reading) == {"a": 1, "b": 1, "c": 1}
    assert counts(journal(state=None).read(latest)) == {"a": 1, "b": 1, "c": 1}


def test_line_read_while_its_writer_died_counts_also_when_its_segment_goes_to_the_cloud(
    journal: Make, say: Say, latest: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = journal()
    with monkeypatch.context() as patch:  # killed between the segment and the mark behind it
        patch.setattr(desk.mirror, "done", lambda: None)
        say(desk, "a")
    desk.save_checkpoint(desk.read(latest))
    segment(desk).rename(segment(desk).with_name(".0001.jsonl.icloud"))
    assert counts(desk.read(latest)) == {"a": 1}
    assert desk.state is not None
    (desk.state / "checkpoint").unlink()
    assert counts(desk.read(latest)) == {"a": 1}


def test_placeholder_that_was_left_beside_its_file_keeps_nothing_back(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    desk = journal()
    say(desk, "a")
    say(desk, "b")
    whole = segment(desk).read_bytes()
    left = segment(desk).with_name(".0001.jsonl.icloud")
    left.write_bytes(b"")
    segment(desk).write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    assert desk.read(latest).absent == 0
    healed = desk.heal(latest)
    assert (healed.given_back, healed.waiting) == (1, "")
    assert segment(desk).read_bytes() == whole
    # Without the file itself the placeholder says that it is not here yet.
    segment(desk).unlink()
    assert desk.read(latest).absent == 1 and desk.heal(latest).waiting
