from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vir_core import machine
from vir_core.journal import Draft, Journal, Line, VaultShape
from vir_core.journal import journal as journal_module
from vir_core.journal.segment import last_behind
from vir_core.machine import StorageError

Make = Callable[..., Journal]
Say = Callable[..., list[Line]]


def mirrored(journal: Journal) -> list[bytes]:
    assert journal.mirror is not None
    return (journal.mirror.folder / journal.mirror.own).read_bytes().splitlines()


def segment(journal: Journal) -> Path:
    return journal.folder / journal.device / "0001.jsonl"


def test_every_line_written_or_read_is_mirrored_verbatim(journal: Make, say: Say) -> None:
    desk, laptop = journal("d1"), journal("d2")
    say(laptop, "a", "b")
    say(desk, "c")
    own, other = mirrored(desk), (desk.state / "mirror" / "d2.jsonl").read_bytes()
    assert other == segment(laptop).read_bytes()
    assert [text for text in own if not text.startswith(b"#")] == segment(desk).read_bytes().splitlines()
    assert own[-1] == b"#done"
    before = {path: path.read_bytes() for path in (desk.state / "mirror").iterdir()}
    with desk.writing("test", lambda: desk.read(NoOp).projection):
        pass
    assert {path: path.read_bytes() for path in (desk.state / "mirror").iterdir()} == before


class NoOp:
    layout = 1

    def apply(self, line: Line) -> None: ...

    def dump(self) -> bytes:
        return b""

    def load(self, content: bytes) -> None: ...


@pytest.mark.parametrize("checkpoint", [True, False])
def test_own_lines_that_the_disk_lost_come_back(journal: Make, say: Say, latest: type[Any], checkpoint: bool) -> None:
    desk = journal()
    say(desk, "a")
    short = segment(desk).read_bytes()
    if checkpoint:
        desk.save_checkpoint(desk.read(latest))
    say(desk, "b", "c")
    expected = desk.read(latest).projection.seen
    # Rolled back to what the checkpoint knew: nothing about the file itself says that anything is gone.
    segment(desk).write_bytes(short)
    served = desk.read(latest)
    assert served.projection.seen == expected
    assert served.missing == 2
    assert segment(desk).read_bytes() == short
    with desk.writing("test", latest) as writer:
        assert writer.reading.missing == 0
    bare = journal(state=None).read(latest)
    assert bare.projection.seen == expected
    assert (bare.lines, bare.damage.total) == (served.lines, 0)


def test_own_segment_that_vanished_comes_back_under_a_new_number(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, "a", "b")
    old = segment(desk).read_bytes()
    shutil.rmtree(desk.folder)
    assert set(desk.read(latest).projection.seen) == {desk.vault, "a", "b"}
    say(desk, "c")
    assert not segment(desk).exists()
    assert {"a", "b", "c"} <= set(journal(state=None).read(latest).projection.seen)
    lines = desk.read(latest).lines
    segment(desk).write_bytes(old)
    again = desk.read(latest)
    assert (again.lines, again.missing) == (lines, 0)


def test_lines_of_others_are_served_and_never_written_for_them(journal: Make, say: Say, latest: type[Any]) -> None:
    desk, laptop = journal("d1"), journal("d2")
    say(laptop, "a")
    say(desk, "b")
    text = segment(laptop).read_bytes()
    segment(laptop).unlink()
    say(desk, "c")
    reading = desk.read(latest)
    assert "a" in reading.projection.seen
    assert reading.missing == 2
    assert not segment(laptop).exists()
    desk.save_checkpoint(reading)
    assert desk.read(latest).missing == 2
    segment(laptop).write_bytes(text)
    assert desk.read(latest).missing == 0
    assert desk.read(latest).projection.seen["a"][0] == 1


def test_deleting_the_state_loses_nothing_that_the_vault_holds(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, *"abc")
    say(journal("d2"), *"cde")
    desk.save_checkpoint(desk.read(latest))
    expected = desk.read(latest)
    assert desk.state is not None
    shutil.rmtree(desk.state)
    assert desk.read(latest).projection.seen == expected.projection.seen
    assert not desk.state.exists()
    with desk.writing("test", latest) as writer:
        assert writer.reading.lines == expected.lines
    shutil.rmtree(desk.folder)
    assert desk.read(latest).projection.seen == expected.projection.seen


def test_cleanly_failed_write_never_applies(
    journal: Make, say: Say, latest: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = journal()
    say(desk, "a")
    before = segment(desk).read_bytes(), mirrored(desk)

    def full(path: Path, content: bytes, **how: Any) -> int:
        raise StorageError(path, "The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(journal_module, "append", full)
        with pytest.raises(StorageError):
            say(desk, "void")
    assert (segment(desk).read_bytes(), mirrored(desk)) == before
    say(desk, "b")
    seen = desk.read(latest).projection.seen
    assert "b" in seen and "void" not in seen
    assert b"void" not in segment(desk).read_bytes()


@pytest.mark.parametrize("checkpoint", [True, False])
def test_line_whose_writer_died_before_the_segment_is_completed(
    journal: Make, say: Say, latest: type[Any], monkeypatch: pytest.MonkeyPatch, checkpoint: bool
) -> None:
    desk = journal()
    say(desk, "a")

    class Killed(BaseException):
        pass

    def die(path: Path, content: bytes, **how: Any) -> int:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(journal_module, "append", die)
        with pytest.raises(Killed):
            say(desk, "b")
    reading = desk.read(latest)
    assert "b" not in reading.projection.seen, "nobody was told that it happened, and a reader cannot know"
    if checkpoint:
        desk.save_checkpoint(reading)
    say(desk, "c")
    for reading in (desk.read(latest), journal(state=None).read(latest)):
        assert {key: seen[0] for key, seen in reading.projection.seen.items()} == {
            desk.vault: 1,
            "a": 1,
            "b": 1,
            "c": 1,
        }
        assert reading.missing == 0


def test_line_whose_writer_died_after_the_segment_is_there_once(
    journal: Make, say: Say, latest: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = journal()
    say(desk, "a")
    with monkeypatch.context() as patch:
        patch.setattr(desk.mirror, "done", lambda: None)
        say(desk, "b")
    assert desk.read(latest).projection.seen["b"][0] == 1
    say(desk, "c")
    assert segment(desk).read_bytes().count(b'"subject":"b"') == 1
    assert mirrored(desk)[-1] == b"#done"


def test_part_of_a_failed_batch_on_the_disk_is_completed(
    journal: Make, say: Say, latest: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = journal()
    say(desk, "a")

    def half(path: Path, content: bytes, **how: Any) -> int:
        machine.append(path, content[: len(content) - 20])
        raise StorageError(path, "The disk failed.")

    with monkeypatch.context() as patch:
        patch.setattr(journal_module, "append", half)
        with pytest.raises(StorageError):
            say(desk, "b", "c")
    say(desk, "d")
    seen = journal(state=None).read(latest).projection.seen
    assert {key: value[0] for key, value in seen.items()} == {desk.vault: 1, "a": 1, "b": 1, "c": 1, "d": 1}


def test_torn_mirror_swallows_nothing(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, "a")
    assert desk.mirror is not None
    path = desk.mirror.folder / desk.mirror.own
    with path.open("ab") as file:
        file.write(b'{"v":1,"at":"20')
    say(desk, "b")
    shutil.rmtree(desk.folder)
    reading = desk.read(latest)
    assert set(reading.projection.seen) == {desk.vault, "a", "b"}
    assert reading.damage.total == 0


def test_mirror_that_was_cut_is_filled_again(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    say(desk, *"abc")
    desk.save_checkpoint(desk.read(latest))
    assert desk.mirror is not None
    path = desk.mirror.folder / desk.mirror.own
    for content in (b"", path.read_bytes()[:100], b"\0" * 400):
        path.write_bytes(content)
        expected = desk.read(latest)
        assert set(expected.projection.seen) == {desk.vault, *"abc"}
        with desk.writing("test", latest):
            pass
        assert segment(desk).read_bytes().splitlines() == [
            line for line in mirrored(desk) if line.startswith(b"{") and line.endswith(b"}")
        ]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_cut_or_rollback_of_own_segments_heals(
    data: st.DataObject, latest: type[Any], tmp_path_factory: Any
) -> None:
    base: Path = tmp_path_factory.mktemp("cut")
    (base / "store").mkdir()

    def desk() -> Journal:
        return Journal(base / "store", base / "state", vault="v1", device="d1", core="0.1.0")

    said = 0
    for _ in range(data.draw(st.integers(1, 4))):
        with desk().writing("test", latest) as writer:
            count = data.draw(st.integers(1, 3))
            subjects = [f"n{number}" for number in range(said, said + count)]
            said += count
            writer.append([Draft("held", subject, {"x": 1}) for subject in subjects], kind="vir", surface="cli")
            if data.draw(st.booleans()):
                desk().save_checkpoint(writer.reading)
        files = sorted((base / "store" / "journal" / "d1").glob("*.jsonl"))
        path = data.draw(st.sampled_from(files))
        content = path.read_bytes()
        match data.draw(st.sampled_from(["none", "cut", "remove", "zero", "all"])):
            case "cut":
                path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
            case "remove":
                path.unlink()
            case "zero":
                at = data.draw(st.integers(0, len(content)))
                path.write_bytes(content[:at] + b"\0" * (len(content) - at))
            case "all":
                shutil.rmtree(base / "store" / "journal")
            case _:
                pass
        if data.draw(st.booleans()):
            (base / "state" / "checkpoint").unlink(missing_ok=True)
        wanted = {f"n{number}": 1 for number in range(said)}
        reading = desk().read(latest)
        assert {key: seen[0] for key, seen in reading.projection.seen.items() if key != "v1"} == wanted
    with desk().writing("test", latest) as writer:
        assert writer.reading.missing == 0
    bare = Journal(base / "store", None, vault="v1", device="d2", core="0.1.0").read(latest)
    assert {key: seen[0] for key, seen in bare.projection.seen.items() if key != "v1"} == wanted


@pytest.mark.parametrize("way", ["write", "read and save"])
def test_keeping_a_line_of_a_twin_does_not_hide_a_pending_one(
    journal: Make, say: Say, latest: type[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, way: str
) -> None:
    desk = journal()
    say(desk, "a")
    shutil.copytree(tmp_path / "state-d1", tmp_path / "state-twin")
    twin = journal("d1", state=tmp_path / "state-twin")

    class Killed(BaseException):
        pass

    def die(path: Path, content: bytes, **how: Any) -> int:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(journal_module, "append", die)
        with pytest.raises(Killed):
            say(desk, "pending")
    say(twin, "of the twin")
    if way == "write":
        with desk.writing("test", latest) as writer:
            live = dict(writer.reading.projection.seen)
            desk.save_checkpoint(writer.reading)
    else:
        reading = desk.read(latest)
        desk.save_checkpoint(reading)
        live = dict(reading.projection.seen)
    assert {"a", "pending", "of the twin"} <= set(live)
    assert desk.read(latest).projection.seen == live
    (desk.state / "checkpoint").unlink()
    assert desk.read(latest).projection.seen == live
    say(desk, "b")
    assert set(journal(state=None).read(latest).projection.seen) == {*live, "b"}


def test_mirror_that_holds_the_bytes_of_the_segments_is_not_hashed(
    journal: Make, say: Say, latest: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, laptop = journal("d1"), journal("d2")
    for number in range(4):
        say(laptop, f"l{number}")
        say(desk, f"a{number}", f"b{number}")
    wanted = desk.read(latest).projection.seen
    hashed: list[bytes] = []
    digest = VaultShape.digest

    def spy(shape: VaultShape, piece: bytes) -> bytes:
        hashed.append(piece)
        return digest(shape, piece)

    monkeypatch.setattr(VaultShape, "digest", spy)
    reading = desk.read(latest)
    assert (reading.projection.seen, reading.missing, reading.marks.mirrored) == (wanted, 0, True)
    assert hashed == []
    # From the first line on that stands elsewhere all are looked up by hash, and the answer is the same.
    lines = segment(laptop).read_bytes().splitlines(keepends=True)
    segment(laptop).write_bytes(b"".join([lines[0], lines[2], lines[1], *lines[3:]]))
    again = desk.read(latest)
    assert (again.projection.seen, again.missing, again.marks.mirrored) == (wanted, 0, True)
    assert len(hashed) == len(lines)
    assert again.marks.mirror == reading.marks.mirror


@given(
    st.lists(st.sampled_from([b"#done\n", b'{"a"}\n', b"{" + b"x" * 90_000 + b"}\n", b"#done", b"\n"]), max_size=6),
    st.sampled_from([b"\n#done\n", b"\n"]),
    st.data(),
)
def test_last_mark_is_found_from_the_end(pieces: list[bytes], ending: bytes, data: st.DataObject) -> None:
    content = b"".join(pieces)
    starts = [0, *(place + 1 for place, byte in enumerate(content) if byte == 0x0A)]
    start = data.draw(st.sampled_from(starts))
    end = data.draw(st.integers(start, len(content)))
    place = (b"\n" + content[start:end]).rfind(ending)
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(content)
        wanted = start if place < 0 else start - 1 + place + len(ending)
        assert last_behind(file.fileno(), ending, start, end) == wanted
