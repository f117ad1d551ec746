"""What verifying finds, and that it changes nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vir_core.journal import Draft, Journal, Line, Verdict

Make = Callable[..., Journal]
Say = Callable[..., list[Line]]


def segment(journal: Journal, number: int = 1) -> Path:
    return journal.folder / journal.device / f"{number:04}.jsonl"


def kinds(verdict: Verdict) -> list[str]:
    return [finding.kind for finding in verdict.findings]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_sound_journal_has_no_findings(journal: Make, say: Say, latest: type[Any], tmp_path: Path) -> None:
    desk, laptop = journal(), journal("d2")
    say(desk, "a", "b")
    say(laptop, "c")
    say(desk, "d")
    before = tree(tmp_path)
    for one in (desk, laptop, journal(state=None)):
        verdict = one.verify()
        assert (verdict.findings, verdict.sound, verdict.lines, verdict.devices) == ((), True, 6, 2)
    assert tree(tmp_path) == before


def test_line_taken_out_is_a_gap_where_nobody_kept_it_and_missing_where_somebody_did(
    journal: Make, say: Say, latest: type[Any], tmp_path: Path
) -> None:
    desk, laptop = journal(), journal("d2")
    say(laptop, *"abcd")
    say(desk, "e")
    lines = segment(laptop).read_bytes().splitlines(keepends=True)
    segment(laptop).write_bytes(b"".join(lines[:2] + lines[3:]))
    before = tree(tmp_path)
    (gap,) = journal("d3").verify().findings
    assert (gap.kind, gap.device, gap.file) == ("gap", "d2", "d2/0001.jsonl")
    assert segment(laptop).read_bytes()[gap.offset :].startswith(lines[3])
    (kept,) = desk.verify().findings
    assert (kept.kind, kept.device, kept.count) == ("missing", "d2", 1)
    assert "another device" in kept.words
    (own,) = laptop.verify().findings
    assert (own.kind, own.count) == ("missing", 1)
    assert "puts them back" in own.words
    assert tree(tmp_path) == before
    assert laptop.heal(latest).given_back == 1
    assert not laptop.verify().findings and not journal("d3").verify().findings


def test_torn_line_that_stands_whole_elsewhere_costs_nothing(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, *"abcd")
    whole = segment(desk).read_bytes()
    segment(desk).write_bytes(whole[:-100])
    assert desk.heal(latest).given_back == 1
    verdict = desk.verify()
    (torn,) = verdict.findings
    assert (verdict.sound, torn.kind, torn.harm) == (True, "untidy", False)
    assert segment(desk).read_bytes()[torn.offset :].startswith(b'{"v":1')
    # A piece of a line that is nowhere is a loss, and so is one that does not say which line it was.
    for lost in (whole[-100:], b'{"v":1,"at":"2026-11-30T20:58:17.123456Z","by":{"kind":"person"', b'{"v":1,"a'):
        segment(desk).write_bytes(lost.strip() + b"\n" + whole)
        verdict = desk.verify()
        assert not verdict.sound and kinds(verdict) == ["damaged"]


@pytest.mark.parametrize("place", [1, 2, 4])
def test_changed_line_is_altered_and_no_fork(journal: Make, say: Say, latest: type[Any], place: int) -> None:
    desk, laptop = journal(), journal("d2")
    say(laptop, *"abcd")
    say(desk, "e")
    stranger = journal("d3")
    assert stranger.save_checkpoint(stranger.read(latest))
    shutil.rmtree(stranger.state / "mirror")
    lines = segment(laptop).read_bytes().splitlines(keepends=True)
    changed = lines[place].replace(b'"flagged"', b'"fl4gged"')
    content = b"".join([*lines[:place], changed, *lines[place + 1 :]])
    segment(laptop).write_bytes(content)
    for one in (desk, laptop):
        found = {finding.kind: finding for finding in one.verify().findings}
        assert set(found) == {"altered", "missing"}
        assert (found["altered"].file, found["altered"].offset) == ("d2/0001.jsonl", content.index(changed))
    found = stranger.verify().findings
    if place < 4:
        assert [finding.kind for finding in found] == ["altered"], "the file is as long as it was"
        assert content[found[0].offset :].startswith(lines[place + 1])
    else:
        assert found == (), "nothing later names the last line"
    segment(laptop).write_bytes(b"".join(lines))
    assert not desk.verify().findings


def test_cloned_device_is_a_fork_and_loses_nothing(tmp_path: Path, latest: type[Any]) -> None:
    def machine(name: str) -> Journal:
        return Journal(tmp_path / name / "store", tmp_path / name / "state", vault="v1", device="d1", core="0.1.0")

    def write(journal: Journal, *subjects: str) -> None:
        with journal.writing("test", latest) as writer:
            writer.append([Draft("held", subject, {"x": 1}) for subject in subjects], kind="vir", surface="cli")

    (tmp_path / "one" / "store").mkdir(parents=True)
    one, two = machine("one"), machine("two")
    write(one, "a", "b")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    write(one, "c1", "c2")
    write(two, "d1", "d2")
    assert not one.verify().findings and not two.verify().findings
    # A sync tool: the later file wins on one side, and lies as a conflict copy on the other.
    theirs = segment(two).read_bytes()
    segment(two).with_name("0001 (conflicted copy 2026-11-30).jsonl").write_bytes(segment(one).read_bytes())
    segment(one).write_bytes(theirs)
    wanted = {"v1": 1, **dict.fromkeys(("a", "b", "c1", "c2", "d1", "d2"), 1)}
    for device in (one, two):
        assert kinds(device.verify()).count("fork") == 1
        device.heal(latest)
        reading = device.read(latest)
        assert {key: seen[0] for key, seen in reading.projection.seen.items()} == wanted
        verdict = device.verify()
        assert kinds(verdict) == ["fork"] and verdict.sound
        assert "copied or restored" in verdict.findings[0].words
        write(device, "after")
    bare = Journal(tmp_path / "one" / "store", None, vault="v1", device="d9", core="0.1.0").read(latest)
    assert {key: seen[0] for key, seen in bare.projection.seen.items()} == {**wanted, "after": 1}


def test_other_vault_placeholder_damage_and_newer_lines_are_found_with_their_place(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    desk = journal()
    say(desk, "a", "b")
    say(journal("d2", vault="v" + "2" * 15), "x")
    (desk.folder / "d4").mkdir()
    (desk.folder / "d4" / ".0001.jsonl.icloud").write_bytes(b"bplist")
    good = segment(desk).read_bytes()
    middle = good.index(b"\n") + 1
    segment(desk).write_bytes(good[:middle] + b"<<<<<<< HEAD\n\0\0\0\n" + good[middle:] + b'{"v":1,"torn\n{"half')
    found = {finding.kind: finding for finding in desk.verify(knows=lambda line: line.subject != "b").findings}
    assert set(found) == {"other_vault", "placeholder", "damaged", "untidy", "newer"}
    places = [(one.kind, one.offset) for one in desk.verify().findings if one.kind in ("damaged", "untidy")]
    size = segment(desk).stat().st_size
    assert places == [
        ("damaged", middle),
        ("untidy", middle + len(b"<<<<<<< HEAD\n")),
        ("damaged", size - len(b'{"v":1,"torn\n{"half')),
    ]
    assert (found["other_vault"].file, found["placeholder"].file) == ("d2/0001.jsonl", "d4/0001.jsonl")
    assert "0.1.0" in found["newer"].words
    assert "newer" not in kinds(desk.verify())
    segment(desk).write_bytes(good)
    assert set(kinds(desk.verify())) == {"other_vault", "placeholder"}


def test_given_up_line_is_named_as_such(journal: Make, say: Say, latest: type[Any]) -> None:
    desk, laptop = journal(), journal("d2")
    say(laptop, "a", "b", "c")
    say(desk, "d")
    lines = segment(laptop).read_bytes().splitlines(keepends=True)
    segment(laptop).write_bytes(b"".join(lines[:2] + lines[3:]))
    assert desk.accept_disk("accept", latest).lines == 1
    verdict = desk.verify()
    assert kinds(verdict) == ["given_up"] and verdict.sound
    assert kinds(laptop.verify()) == ["missing"]


def test_line_of_the_future_is_found_and_stops_nothing(journal: Make, say: Say, latest: type[Any]) -> None:
    say(journal("d2", clock=lambda: "8999-12-31T23:59:59.999999Z"), "a", "b")
    desk = journal()
    for subject in ("c", "d", "d"):
        say(desk, subject)
    reading = desk.read(latest)
    assert {"a", "b", "c", "d"} <= set(reading.projection.seen)
    assert reading.newest == "8999-12-31T23:59:59.999999Z"
    assert reading.damage.total == 0
    verdict = desk.verify()
    assert set(kinds(verdict)) == {"future"} and verdict.sound


def test_line_of_the_year_9000_is_no_line_and_stops_nothing(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, "a")
    stray = segment(desk).read_bytes().splitlines()[-1].replace(b'"at":"2', b'"at":"9')
    with segment(desk).open("ab") as file:
        file.write(stray + b"\n")
    (line,) = say(desk, "b")
    assert line.at.startswith("2")
    assert desk.read(latest).damage.garbage == 1
    assert "damaged" in kinds(desk.verify())


def test_second_half_of_a_batch_is_chained_even_after_a_failed_write(
    journal: Make, say: Say, latest: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from vir_core import machine
    from vir_core.journal import journal as module

    desk = journal()
    say(desk, "a")

    def half(path: Path, content: bytes, **how: Any) -> int:
        machine.append(path, content[: len(content) - 20])
        raise machine.StorageError(path, "The disk failed.")

    with desk.writing("test", latest) as writer:
        with monkeypatch.context() as patch:
            patch.setattr(module, "append", half)
            with pytest.raises(machine.StorageError):
                writer.append([Draft("held", "b", {}), Draft("held", "c", {})], kind="vir", surface="cli")
        writer.append([Draft("held", "d", {})], kind="vir", surface="cli")
        live = dict(writer.reading.projection.seen)
    assert {key: seen[0] for key, seen in live.items()} == {desk.vault: 1, "a": 1, "b": 1, "c": 1, "d": 1}
    assert desk.read(latest).projection.seen == live == journal(state=None).read(latest).projection.seen
    assert set(kinds(desk.verify())) == {"untidy"}, "half a line that is whole behind it, and no fork"
