from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vir_core.journal import Draft, Journal, Line, mirror, segment

Make = Callable[..., Journal]
Say = Callable[..., list[Line]]


def lines_of(journal: Journal) -> list[bytes]:
    return [line for path in sorted(journal.folder.glob("*/*.jsonl")) for line in path.read_bytes().splitlines()]


def test_example_projection_of_the_docstring_works(journal: Make, say: Say, latest: type[Any]) -> None:
    lines = say(journal(), "n1", "n2", "n1")
    assert journal().read(latest).projection.seen["n1"] == (2, lines[-1].stamp, "held")


def test_checkpoint_gives_what_a_full_replay_gives(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, *"abc")
    reading = desk.read(latest)
    assert reading.moved
    assert desk.save_checkpoint(reading, {"gate": b"opaque"})
    assert (desk.state / "gate").read_bytes() == b"opaque"
    say(desk, *"cde")
    say(journal("d2"), *"efg")
    resumed, full = desk.read(latest), journal(state=None).read(latest)
    assert resumed.projection.seen == full.projection.seen
    for name in ("lines", "newest", "devices", "bytes", "damage", "missing", "unfinished", "newer"):
        assert getattr(resumed, name) == getattr(full, name), name


def test_projection_that_dumps_in_parts_is_resumed(journal: Make, say: Say, latest: type[Any]) -> None:
    class InParts(latest):
        def dump(self) -> list[bytes | memoryview]:
            whole = memoryview(super().dump())
            return [whole[:7], b"", bytes(whole[7:])]

    desk = journal()
    say(desk, *"abc")
    assert desk.save_checkpoint(desk.read(InParts))
    resumed = desk.read(InParts)
    assert not resumed.moved
    assert resumed.projection.seen == journal(state=None).read(latest).projection.seen


def test_checkpoint_is_written_once(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, "a")
    desk.save_checkpoint(desk.read(latest))
    path = desk.state / "checkpoint"
    before = path.stat()
    again = desk.read(latest)
    assert not again.moved
    desk.save_checkpoint(again)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_only_what_moved_is_opened(journal: Make, say: Say, latest: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    desk = journal()
    with desk.writing("test", latest) as writer:
        for number in range(4):
            writer.append([Draft("held", f"n{number}", {"x": "y" * 900_000})], kind="vir", surface="cli")
        assert desk.save_checkpoint(writer.reading)
        assert not writer.reading.moved
    say(journal("d2"), "a")
    opened: list[str] = []

    def spy(path: str, mark: segment.Mark) -> Any:
        opened.append(path)
        return real(path, mark)

    real = segment.open_behind
    monkeypatch.setattr(segment, "open_behind", spy)
    monkeypatch.setattr(mirror, "open_behind", spy)
    assert "a" in desk.read(latest).projection.seen
    assert opened == [str(desk.folder / "d2" / "0001.jsonl")]


def test_damaged_checkpoint_costs_time_only(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, *"abc")
    desk.save_checkpoint(desk.read(latest))
    good = (desk.state / "checkpoint").read_bytes()
    expected = desk.read(latest).projection.seen
    chance = random.Random(7)
    spoiled = [b"", good[:5], good[:-1], good + b"x", b"\0" * len(good)]
    spoiled += [good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :] for at in chance.sample(range(len(good)), 40)]
    for content in spoiled:
        (desk.state / "checkpoint").write_bytes(content)
        reading = desk.read(latest)
        assert reading.projection.seen == expected
        assert reading.moved


def test_checkpoint_of_another_layout_core_or_device_is_not_used(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, *"abc")
    desk.save_checkpoint(desk.read(latest))
    assert not desk.read(latest).moved

    class Grown(latest):
        layout = 2

    assert desk.read(Grown).moved
    newer = Journal(desk.store, desk.state, vault=desk.vault, device="d1", core="0.2.0")
    assert newer.read(latest).moved
    assert Journal(desk.store, desk.state, vault=desk.vault, device="d2", core="0.1.0").read(latest).moved


def test_projection_that_refuses_its_dump_is_replayed(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, *"abc")
    reading = desk.read(latest)
    reading.projection.dump = lambda: b"\xc1 no msgpack"
    desk.save_checkpoint(reading)
    assert set(desk.read(latest).projection.seen) == {desk.vault, *"abc"}


def test_changed_past_is_noticed(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, *"abc")
    say(journal("d2"), *"xyz")
    marks = desk.read(latest).marks
    path = desk.folder / "d2" / "0001.jsonl"
    good = path.read_bytes()
    assert desk.since(marks).valid
    cut = good[: good.rindex(b"\n", 0, -1) + 1]
    for content in (cut, cut[:-30], b"", good.replace(b"flagged", b"suspect"), good.replace(b"\n", b"\r\n")):
        path.write_bytes(content)
        assert not desk.since(marks).valid
    path.unlink()
    assert not desk.since(marks).valid
    path.write_bytes(good)
    tail = desk.since(marks)
    assert tail.valid and tail.lines == []


def test_since_gives_exactly_the_new_lines(journal: Make, say: Say, latest: type[Any]) -> None:
    desk, laptop = journal(), journal("d2")
    say(desk, "a")
    marks = desk.read(latest).marks
    new = say(laptop, "b", "c") + say(desk, "d")
    tail = desk.since(marks)
    assert tail.valid
    assert [line.subject for line in tail.lines if line.subject != desk.vault] and {
        line.hash for line in tail.lines if line.action == "held"
    } == {line.hash for line in new}
    assert desk.since(tail.marks).lines == []


def test_marks_survive_msgpack(journal: Make, say: Say, latest: type[Any]) -> None:
    import msgspec

    from vir_core.journal import Marks

    desk = journal()
    say(desk, "a")
    (desk.folder / "d1" / "torn.jsonl").write_bytes(b"rubbish\n" + "名".encode() + b"\xff\n{")
    marks = desk.read(latest).marks
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(marks), type=Marks) == marks


def test_conflict_copies_are_more_lines_and_equal_lines_one(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, *"abc")
    path = desk.folder / "d1" / "0001.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    expected = desk.read(latest)
    desk.save_checkpoint(expected)
    for name in (
        "0001 (conflict).jsonl",
        "0001.sync-conflict-20261130-205817-ABCDEFG.jsonl",
        "0001 (Bob's conflicted copy 2026-11-30).jsonl",
    ):
        path.with_name(name).write_bytes(b"".join(lines))
        path.write_bytes(b"".join(lines[:2]))
    for reading in (desk.read(latest), journal(state=None).read(latest)):
        assert reading.projection.seen == expected.projection.seen
        assert (reading.lines, reading.missing) == (expected.lines, 0)


def test_newer_lines_reach_the_projection_and_say_which_version(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, "a")
    path = desk.folder / "d1" / "0001.jsonl"
    newer = path.read_bytes().splitlines()[-1].replace(b'{"v":1', b'{"v":3').replace(b'"0.1.0"', b'"4.0.0"')
    path.write_bytes(path.read_bytes() + newer + b"\n")
    reading = desk.read(latest)
    assert reading.projection.seen["a"][0] == 2
    assert reading.newer == ("4.0.0",)
    desk.save_checkpoint(reading)
    assert desk.read(latest).newer == ("4.0.0",)


def test_placeholder_is_not_here_yet_and_no_damage(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(journal("d2"), "a")
    say(desk, "b")
    desk.save_checkpoint(desk.read(latest))
    for device in ("d1", "d2"):
        path = desk.folder / device / "0001.jsonl"
        path.rename(path.with_name("away"))
        path.with_name(".0001.jsonl.icloud").write_bytes(b"bplist")
    reading = desk.read(latest)
    assert {"a", "b"} <= set(reading.projection.seen)
    assert (reading.absent, reading.damage.total) == (2, 0)
    say(desk, "c")
    assert len(list((desk.folder / "d1").glob("*.jsonl"))) == 1
    for device in ("d1", "d2"):
        path = desk.folder / device / "0001.jsonl"
        path.with_name("away").rename(path)
        path.with_name(".0001.jsonl.icloud").unlink()
    reading = desk.read(latest)
    assert {key: seen[0] for key, seen in reading.projection.seen.items()} == {desk.vault: 3, "a": 1, "b": 1, "c": 1}
    assert (reading.absent, reading.missing) == (0, 0)


def test_unreadable_files_are_counted(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, "a")
    (desk.folder / "d1" / "0002.jsonl").mkdir()
    (desk.folder / "d1" / "0003.jsonl").symlink_to("nowhere")
    (desk.folder / "stray.jsonl").write_bytes(b"not in a folder\n")
    assert desk.read(latest).lines == 2
    assert desk.read(latest).damage.total == 0


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_order_duplication_cut_and_line_end_gives_the_same_state(
    data: st.DataObject, latest: type[Any], tmp_path_factory: Any
) -> None:
    base: Path = tmp_path_factory.mktemp("order")
    store = base / "clean"
    store.mkdir()
    for device in ("d1", "d2", "d1", "d3"):
        desk = Journal(store, base / device, vault="v1", device=device, core="0.1.0")
        with desk.writing("test", latest) as writer:
            drafts = [Draft("held", f"n{number % 3}", {"n": number}) for number in range(3)]
            writer.append(drafts, kind="vir", surface="cli")
    reader = {"vault": "v1", "device": "d9", "core": "0.1.0"}
    clean = Journal(store, None, **reader).read(latest)
    lines = lines_of(Journal(store, None, **reader))
    shuffled = data.draw(st.permutations(lines))
    shuffled += data.draw(st.lists(st.sampled_from(lines), max_size=6))
    files: list[bytes] = [b""] * data.draw(st.integers(1, 4))
    for raw in shuffled:
        place = data.draw(st.integers(0, len(files) - 1))
        if data.draw(st.booleans()) and not files[place].endswith(b"}"):
            files[place] += raw[: data.draw(st.integers(0, len(raw) - 1))] + data.draw(st.sampled_from([b"", b"\n"]))
        end = data.draw(st.sampled_from([b"\n", b"\r\n", b"\0\0\n", b"", b"\n\n"]))
        files[place] += data.draw(st.sampled_from([b"", b"\xef\xbb\xbf", b"\0"])) + raw + end
    other = base / "other"
    for number, content in enumerate(files):
        folder = other / "journal" / f"f{number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:04}.jsonl").write_bytes(content)
    mixed = Journal(other, base / "m", **reader)
    with mixed.writing("test", latest) as writer:
        assert writer.reading.projection.seen == clean.projection.seen
        assert writer.reading.lines == clean.lines
        mixed.save_checkpoint(writer.reading)
    assert mixed.read(latest).projection.seen == clean.projection.seen
    # Arriving in two parts, with a checkpoint between them.
    late = base / "late"
    halves = Journal(late, base / "h", **reader)
    (late / "journal" / "x").mkdir(parents=True)
    cuts = [data.draw(st.integers(0, len(content))) for content in files]
    for number, content in enumerate(files):
        (late / "journal" / "x" / f"{number:04}.jsonl").write_bytes(content[: cuts[number]])
    halves.save_checkpoint(halves.read(latest), {})
    for number, content in enumerate(files):
        with (late / "journal" / "x" / f"{number:04}.jsonl").open("ab") as file:
            file.write(content[cuts[number] :])
    resumed = halves.read(latest)
    assert resumed.projection.seen == clean.projection.seen
    assert resumed.lines == clean.lines
