from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from vir_core.journal import Draft, Journal, JournalError, Line
from vir_core.machine import Busy

Make = Callable[..., Journal]
Say = Callable[..., list[Line]]


def stored(journal: Journal) -> list[bytes]:
    return [line for path in sorted(journal.folder.glob("*/*.jsonl")) for line in path.read_bytes().splitlines()]


def test_first_line_opens_the_segment_and_each_names_the_one_before(journal: Make, say: Say) -> None:
    desk = journal()
    lines = say(desk, "n1", "n2") + say(desk, "n3")
    on_disk = stored(desk)
    opened = json.loads(on_disk[0])
    assert (desk.folder / "d1" / "0001.jsonl").is_file()
    assert opened["action"] == "segment_started"
    assert opened["must"] is True
    assert opened["data"] == {"vault": desk.vault, "device": "d1", "n": 1, "prev": ""}
    assert [line.raw for line in lines] == on_disk[1:]
    hashes = [sha256(text).hexdigest() for text in on_disk]
    assert [json.loads(text)["prev"] for text in on_disk] == ["", *hashes[:-1]]
    assert [line.at for line in lines] == sorted({line.at for line in lines})


def test_nothing_to_say_writes_nothing(journal: Make, latest: type[Any]) -> None:
    desk = journal()
    with desk.writing("test", latest) as writer:
        assert writer.append([], kind="vir", surface="cli") == []
    assert not desk.folder.exists()


def test_line_of_a_slow_clock_still_comes_last_and_keeps_its_own_time(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    (first,) = say(journal("d1", clock=lambda: "2030-01-01T00:00:00.000000Z"), "n1")
    (second,) = say(journal("d2", clock=lambda: "2026-11-30T00:00:00.000000Z"), "n1")
    assert second.stamp > first.stamp
    assert second.at.startswith("2030-01-01T00:00:00.0000")
    assert second.when == "2026-11-30T00:00:00.000000Z"
    assert (first.clock, first.when) == ("", first.at)
    assert journal().read(latest).projection.seen["n1"] == (2, second.stamp, "held")


def test_clock_within_a_second_is_not_kept(journal: Make, say: Say) -> None:
    say(journal("d1", clock=lambda: "2026-11-30T00:00:00.000000Z"), "n1")
    (line,) = say(journal("d2", clock=lambda: "2026-11-29T23:59:59.500000Z"), "n1")
    assert line.clock == ""


def test_segment_is_sealed_before_it_passes_its_limit(journal: Make, latest: type[Any]) -> None:
    desk = journal()
    drafts = [Draft("held", f"n{number}", {"reason": "x" * 1000}) for number in range(3000)]
    with desk.writing("test", latest) as writer:
        lines = [
            *writer.append(drafts[:500], kind="vir", surface="cli"),
            *writer.append(drafts[500:], kind="vir", surface="cli"),
        ]
        live = writer.reading.projection.seen
        count = writer.reading.lines
    sizes = [path.stat().st_size for path in sorted(desk.folder.glob("d1/*.jsonl"))]
    assert len(sizes) >= 4 and max(sizes) <= 1024 * 1024
    assert [line.subject for line in lines] == [f"n{number}" for number in range(3000)]
    heads = [json.loads(path.read_bytes().splitlines()[0]) for path in sorted(desk.folder.glob("d1/*.jsonl"))]
    assert [head["data"]["n"] for head in heads] == list(range(1, len(sizes) + 1))
    assert all(head["action"] == "segment_started" for head in heads)
    fresh = desk.read(latest)
    assert fresh.projection.seen == live
    assert fresh.lines == count == 3000 + len(sizes)
    before = [path.read_bytes() for path in sorted(desk.folder.glob("d1/*.jsonl"))][:-1]
    with desk.writing("test", latest) as writer:
        writer.append(drafts, kind="vir", surface="cli")
    assert [path.read_bytes() for path in sorted(desk.folder.glob("d1/*.jsonl"))][: len(before)] == before


def test_line_that_fits_no_segment_is_refused(journal: Make, latest: type[Any], say: Say) -> None:
    desk = journal()
    with desk.writing("test", latest) as writer, pytest.raises(ValueError, match="does not fit"):
        writer.append([Draft("held", "n1", {"reason": "x" * 2_000_000})], kind="vir", surface="cli")
    assert [line.subject for line in say(desk, "n2")] == ["n2"]
    assert desk.read(latest).lines == 2


def test_torn_tail_of_its_own_never_swallows_the_next_line(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, "n1")
    path = desk.folder / "d1" / "0001.jsonl"
    with path.open("ab") as file:
        file.write(b'{"v":1,"at":"2026-')
    assert (desk.read(latest).unfinished, desk.read(latest).damage.total) == (1, 0)
    say(desk, "n2")
    reading = desk.read(latest)
    assert {"n1", "n2"} <= set(reading.projection.seen)
    assert (reading.unfinished, reading.damage.torn, reading.damage.total) == (0, 1, 1)


def test_line_without_its_line_end_is_read_and_kept_apart_from_the_next(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    desk = journal()
    say(desk, "n1")
    path = desk.folder / "d1" / "0001.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    desk.save_checkpoint(desk.read(latest))
    say(desk, "n2")
    for reading in (desk.read(latest), journal(state=None).read(latest)):
        assert {key: seen[0] for key, seen in reading.projection.seen.items()} == {desk.vault: 1, "n1": 1, "n2": 1}
        assert reading.damage.total == 0


def test_reader_writes_nothing_and_creates_no_folder(journal: Make, latest: type[Any], tmp_path: Path) -> None:
    desk = journal()
    assert desk.read(latest).lines == 0
    assert desk.since(desk.read(latest).marks).lines == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store"]
    assert list((tmp_path / "store").iterdir()) == []


def test_missing_store_is_never_made_anew(journal: Make, say: Say, tmp_path: Path) -> None:
    desk = journal()
    say(desk, "n1")
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    with pytest.raises(JournalError):
        desk_without_store(desk, say)
    assert not (tmp_path / "store").exists()
    (tmp_path / "elsewhere").rename(tmp_path / "store")
    assert say(desk, "n2")


def desk_without_store(desk: Journal, say: Say) -> None:
    say(desk, "n2")


def test_without_state_it_reads_and_refuses_to_write(journal: Make, say: Say, latest: type[Any]) -> None:
    say(journal(), "n1")
    guest = journal(state=None)
    assert guest.read(latest).lines == 2
    with pytest.raises(JournalError):
        say(guest, "n2")


def test_second_writer_is_told_who_is_first(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    with desk.writing("run", latest), pytest.raises(Busy) as refused:
        say(desk, "n1")
    assert refused.value.holder.verb == "run"


def test_segment_of_another_vault_is_counted_and_not_read(journal: Make, say: Say, latest: type[Any]) -> None:
    say(journal("d1"), "n1")
    say(journal("d2", vault="v" + "2" * 15), "n2")
    reading = journal("d1").read(latest)
    assert "n2" not in reading.projection.seen
    assert reading.damage.other_vault == 1
    adopted = journal("d3", former=("v" + "2" * 15,)).read(latest)
    assert {"n1", "n2"} <= set(adopted.projection.seen)
    assert adopted.damage.other_vault == 0


def test_segment_of_another_vault_in_the_own_folder_is_not_written_to(
    journal: Make, say: Say, latest: type[Any]
) -> None:
    say(journal("d1", vault="v" + "2" * 15), "n2")
    foreign = (journal().folder / "d1" / "0001.jsonl").read_bytes()
    say(journal("d1", state=journal().store.parent / "new-state"), "n1")
    assert (journal().folder / "d1" / "0001.jsonl").read_bytes() == foreign
    assert (journal().folder / "d1" / "0002.jsonl").is_file()


def test_device_cannot_choose_where_the_mirror_writes(journal: Make, say: Say, tmp_path: Path) -> None:
    desk, evil = journal("d1"), journal("../../evil")
    say(desk, "n1")
    text = (desk.folder / "d1" / "0001.jsonl").read_bytes().replace(b'"device":"d1"', b'"device":"../../evil"')
    (desk.folder / "d9").mkdir()
    (desk.folder / "d9" / "0001.jsonl").write_bytes(text)
    say(desk, "n2")
    assert evil.mirror is not None and evil.mirror.own.startswith("other-")
    assert not list(tmp_path.parent.rglob("evil*"))
    assert (tmp_path / "state-d1" / "mirror" / evil.mirror.own).is_file()
