"""Giving up the lines that only the mirror holds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vir_core import machine
from vir_core.journal import Draft, Journal, JournalError, Line, VaultShape, read_lines
from vir_core.journal import journal as journal_module
from vir_core.journal import mirror as mirror_module
from vir_core.journal import retire as retire_module

Make = Callable[..., Journal]
Say = Callable[..., list[Line]]


def segment(journal: Journal, device: str = "") -> Path:
    return journal.folder / (device or journal.device) / "0001.jsonl"


def rolled_back(journal: Make, say: Say) -> tuple[Journal, Journal, list[Line]]:
    """Own `c` and the other device's `b` are gone from the disk; the mirror has them."""
    desk, laptop = journal(), journal("d2")
    say(desk, "a")
    say(laptop, "x")
    own, theirs = segment(desk).read_bytes(), segment(laptop).read_bytes()
    gone = say(laptop, "b") + say(desk, "c")
    segment(desk).write_bytes(own)
    segment(laptop).write_bytes(theirs)
    return desk, laptop, gone


def test_disk_is_what_happened_once_the_person_said_so(
    journal: Make, say: Say, latest: type[Any], tmp_path: Path
) -> None:
    desk, _, gone = rolled_back(journal, say)
    before = desk.read(latest)
    assert {"a", "b", "c", "x"} <= set(before.projection.seen) and before.missing == 2
    desk.save_checkpoint(before)
    given_up = desk.accept_disk("accept", latest)
    assert (given_up.lines, given_up.devices) == (2, ("d1", "d2"))
    for reading in (desk.read(latest), journal(state=None).read(latest)):
        assert set(reading.projection.seen) == {desk.vault, "a", "x"}
        assert reading.missing == 0
    audit = json.loads(segment(desk).read_bytes().splitlines()[-1])
    assert (audit["action"], audit["must"]) == ("lines_given_up", True)
    assert audit["data"] == {"count": 2, "list": given_up.list, "devices": ["d1", "d2"]}
    assert audit["at"] > max(line.at for line in gone), "it beats what was given up too"
    kept = b"".join(path.read_bytes() for path in sorted((desk.state / "retired").glob("*.jsonl")))
    assert sorted(kept.splitlines()) == sorted(line.raw for line in gone)
    say(desk, "d")
    assert set(desk.read(latest).projection.seen) == {desk.vault, "a", "x", "d"}
    assert desk.verify().sound
    assert desk.accept_disk("accept", latest).lines == 0, "a second time there is nothing to give up"
    assert segment(desk).read_bytes().count(b"lines_given_up") == 1


def test_another_word_gives_nothing_up(journal: Make, say: Say, latest: type[Any], tmp_path: Path) -> None:
    desk, _, _ = rolled_back(journal, say)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for word in ("", "yes", "Accept", "accept "):
        with pytest.raises(JournalError, match="Nothing was given up"):
            desk.accept_disk(word, latest)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert desk.accept_disk("accept", latest).lines == 2


def test_what_is_still_in_the_cloud_cannot_be_given_up(journal: Make, say: Say, latest: type[Any]) -> None:
    desk, laptop, _ = rolled_back(journal, say)
    away = segment(laptop).rename(segment(laptop).with_name("away"))
    segment(laptop).with_name(".0001.jsonl.icloud").write_bytes(b"bplist")
    with pytest.raises(JournalError, match="cloud"):
        desk.accept_disk("accept", latest)
    assert (desk.read(latest).missing, desk.read(latest).absent) == (1, 1)
    segment(laptop).with_name(".0001.jsonl.icloud").unlink()
    away.rename(segment(laptop))
    assert desk.accept_disk("accept", latest).lines == 2


def test_line_given_up_here_counts_again_when_the_disk_has_it(journal: Make, say: Say, latest: type[Any]) -> None:
    desk, laptop, _ = rolled_back(journal, say)
    desk.accept_disk("accept", latest)
    assert "b" not in desk.read(latest).projection.seen
    laptop.heal(latest)
    assert desk.read(latest).projection.seen["b"][0] == 1
    assert "c" not in desk.read(latest).projection.seen
    assert desk.verify().sound


def test_number_of_a_segment_given_up_is_not_used_again(journal: Make, say: Say, latest: type[Any]) -> None:
    desk = journal()
    with desk.writing("test", latest) as writer:
        for number in range(3):
            writer.append([Draft("held", f"n{number}", {"x": "y" * 700_000})], kind="vir", surface="cli")
    (desk.folder / "d1" / "0003.jsonl").unlink()
    assert desk.accept_disk("accept", latest).lines == 2
    assert sorted(path.name for path in (desk.folder / "d1").iterdir()) == ["0001.jsonl", "0002.jsonl", "0004.jsonl"]
    assert desk.verify().sound


class Killed(BaseException):
    pass


class Dying:
    """The disk functions, of which the call number `step` does only a `part` of its work, and then the process is gone."""

    def __init__(self, step: int, part: float) -> None:
        self.step = step
        self.part = part
        self.calls = 0

    def dies(self) -> bool:
        self.calls += 1
        return self.calls == self.step

    def append(self, path: Path, content: bytes, **how: Any) -> int:
        if self.dies():
            machine.append(path, content[: int(len(content) * self.part)], **how)
            raise Killed
        return machine.append(path, content, **how)

    def write_atomic(self, path: Path, content: bytes, **how: Any) -> str:
        dies = self.dies()
        digest = machine.write_atomic(path, content, **how) if self.part == 1.0 or not dies else ""
        if dies:
            raise Killed
        return digest

    def remove(self, path: Path) -> None:
        dies = self.dies()
        if self.part == 1.0 or not dies:
            path.unlink(missing_ok=True)
        if dies:
            raise Killed

    def patch(self, patch: pytest.MonkeyPatch) -> None:
        for module in (journal_module, mirror_module, retire_module):
            for label, fake in (("append", self.append), ("write_atomic", self.write_atomic), ("_remove", self.remove)):
                if hasattr(module, label):
                    patch.setattr(module, label, fake)


def audits(journal: Journal) -> int:
    lines = read_lines(journal.folder, VaultShape(journal.vaults)).lines
    return sum(line.action == "lines_given_up" for line in lines)


def test_killed_at_any_write_it_is_done_or_not_begun(
    journal: Make, say: Say, latest: type[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, _, _ = rolled_back(journal, say)
    for name in ("store", "state-d1"):
        shutil.copytree(tmp_path / name, tmp_path / "keep" / name)
    bare = {desk.vault, "a", "x", "after"}
    outcomes: list[bool] = []
    for step in range(1, 60):
        for part in (0.0, 0.5, 0.99, 1.0):
            for name in ("store", "state-d1"):
                shutil.rmtree(tmp_path / name)
                shutil.copytree(tmp_path / "keep" / name, tmp_path / name)
            disk = Dying(step, part)
            with monkeypatch.context() as patch:
                disk.patch(patch)
                try:
                    journal().accept_disk("accept", latest)
                except Killed:
                    pass
                else:
                    assert disk.calls < step
                    assert outcomes.count(True) > 5 and outcomes.count(False) > 5
                    return
            # Whoever comes next settles it; what is acknowledged after that stays.
            say(journal(), "after")
            reading = journal().read(latest)
            seen = reading.projection.seen
            assert set(seen) in (bare, {*bare, "b", "c"}), (step, part)
            assert {value[0] for key, value in seen.items() if key != desk.vault} == {1}
            outcomes.append("c" not in seen)
            if "c" in seen:
                assert audits(desk) == 0
                assert journal().accept_disk("accept", latest).devices == ("d2",), "its own line was put back"
            assert audits(desk) == 1
            assert "b" not in journal().read(latest).projection.seen
            assert not (tmp_path / "state-d1" / "retired" / "retiring").exists()
    raise AssertionError("it never came to an end")
