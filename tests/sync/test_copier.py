"""The copier itself: it loses nothing, repeats by seed, and does to files what each tool is known for."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.sync.copier import (
    DROPBOX,
    GIT,
    GIT_CRLF,
    ICLOUD,
    OBSIDIAN,
    OBSIDIAN_NOTES_ONLY,
    SYNCTHING,
    TOOLS,
    Copier,
    Tool,
    journal_first,
    merge,
    notes_first,
    restore,
    snapshot,
    texts_last,
)


class Two:
    def __init__(self, folder: Path, tool: Tool, seed: int = 1, tools: dict[str, Tool] | None = None) -> None:
        self.a, self.b = folder / "a", folder / "b"
        self.a.mkdir(parents=True)
        self.b.mkdir()
        self.copier = Copier({"a": self.a, "b": self.b}, tool, random.Random(seed), tools)

    def put(self, side: Path, path: str, text: str) -> Path:
        place = side / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
        return place


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_one_side_has_the_other_gets_and_deletes_follow(tmp_path: Path, tool: Tool) -> None:
    two = Two(tmp_path, tool)
    for number in range(9):
        two.put(two.a, f"vir/store/texts/{number:02}/{number}.txt", f"text {number}\n")
    two.put(two.a, "vir/patterns/One.md", "one\n")
    two.put(two.a, ".hidden/x.md", "never\n")
    two.copier.settle()
    assert (two.b / "vir/patterns/One.md").read_bytes().replace(b"\r", b"") == b"one\n"
    assert len(list(two.b.rglob("*.txt"))) == 9
    assert not (two.b / ".hidden").exists()
    (two.b / "vir/patterns/One.md").unlink()
    two.copier.settle()
    assert not (two.a / "vir/patterns/One.md").exists()
    two.put(two.b, "vir/patterns/One.md", "one\n")
    two.copier.settle()
    assert (two.a / "vir/patterns/One.md").is_file()
    assert two.copier.conflicts == []


def test_a_seed_repeats_everything(tmp_path: Path) -> None:
    def week(folder: Path, seed: int) -> list[dict[str, bytes]]:
        two = Two(folder, DROPBOX, seed)
        dice = random.Random(5)
        trees: list[dict[str, bytes]] = []
        for number in range(30):
            side = dice.choice([two.a, two.b])
            two.put(side, f"{dice.randrange(6)}.md", f"{number} said on {side.name}\n")
            two.copier.sync("a", 2)
            two.copier.sync("b", 2)
            trees += [snapshot(two.a), snapshot(two.b)]
        return trees

    assert week(tmp_path / "x", 3) == week(tmp_path / "y", 3)
    assert week(tmp_path / "z", 4) != week(tmp_path / "w", 3)


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        (DROPBOX, "N (conflicted copy 2026-11-30).md"),
        (ICLOUD, "N 2.md"),
        (SYNCTHING, "N.sync-conflict-20261130-101530-ABCDEFG.md"),
    ],
)
def test_both_sides_of_a_conflict_stay_under_the_name_that_the_tool_gives(
    tmp_path: Path, tool: Tool, name: str
) -> None:
    two = Two(tmp_path, tool)
    two.put(two.a, "N.md", "start\n")
    two.copier.settle()
    two.put(two.a, "N.md", "from a\n")
    two.put(two.b, "N.md", "from b\n")
    two.copier.settle()
    assert two.copier.conflicts == ["N.md"]
    for side in (two.a, two.b):
        assert snapshot(side) == {"N.md": b"from a\n", name: b"from b\n"}


@pytest.mark.parametrize("tool", [OBSIDIAN, GIT])
def test_notes_are_merged_where_the_tool_merges(tmp_path: Path, tool: Tool) -> None:
    two = Two(tmp_path, tool)
    two.put(two.a, "N.md", "one\ntwo\nthree\n")
    two.copier.settle()
    two.put(two.a, "N.md", "ONE\ntwo\nthree\n")
    two.put(two.b, "N.md", "one\ntwo\nTHREE\n")
    two.copier.settle()
    assert snapshot(two.a) == snapshot(two.b) == {"N.md": b"ONE\ntwo\nTHREE\n"}


def test_a_merge_keeps_what_both_sides_say_in_one_place() -> None:
    assert merge(b"a\nb\n", b"a\nb\nx\n", b"a\nb\ny\n") == b"a\nb\nx\ny\n"
    assert merge(b"a\nb\n", b"a\nX\n", b"a\nb\n") == b"a\nX\n"
    assert merge(b"a\n", b"a\nsame\n", b"a\nsame\n") == b"a\nsame\n"


def test_without_other_types_only_notes_arrive(tmp_path: Path) -> None:
    two = Two(tmp_path, OBSIDIAN_NOTES_ONLY)
    two.put(two.a, "vir/patterns/One.md", "one\n")
    two.put(two.a, "vir/store/journal/d1/0001.jsonl", "{}\n")
    two.put(two.a, "vir/store/config.yaml", "vir: v1\n")
    two.copier.settle()
    assert set(snapshot(two.b)) == {"vir/patterns/One.md"}


def test_a_checkout_turns_line_ends_and_the_times_are_now(tmp_path: Path) -> None:
    two = Two(tmp_path, GIT, tools={"b": GIT_CRLF})
    place = two.put(two.a, "N.md", "one\n")
    import os

    os.utime(place, (1_000_000_000, 1_000_000_000))
    two.copier.settle()
    assert (two.b / "N.md").read_bytes() == b"one\r\n"
    assert (two.b / "N.md").stat().st_mtime > 1_700_000_000
    assert two.copier.waiting("a") == two.copier.waiting("b") == 0
    kept = Two(tmp_path / "kept", DROPBOX)
    os.utime(kept.put(kept.a, "N.md", "one\n"), (1_000_000_000, 1_000_000_000))
    kept.copier.settle()
    assert (kept.b / "N.md").stat().st_mtime == 1_000_000_000


@pytest.mark.parametrize(
    ("order", "first"), [(journal_first, "0001.jsonl"), (notes_first, "One.md"), (texts_last, None)]
)
def test_what_comes_first_comes_first(tmp_path: Path, order: object, first: str | None) -> None:
    two = Two(tmp_path, GIT)
    two.put(two.a, "vir/patterns/One.md", "one\n")
    two.put(two.a, "vir/store/journal/d1/0001.jsonl", "{}\n")
    for number in range(5):
        two.put(two.a, f"vir/store/texts/aa/{number}.txt", "t\n")
    two.copier.take("a")
    two.copier.give("b", 1, order)  # pyright: ignore[reportArgumentType]
    [name] = [Path(path).name for path in snapshot(two.b)]
    assert name == first if first else not name.endswith(".txt")


def test_a_file_arrives_in_pieces_or_as_a_stub_and_whole_in_the_end(tmp_path: Path) -> None:
    seen: set[str] = set()
    for seed in range(40):
        for tool in (ICLOUD, DROPBOX):
            two = Two(tmp_path / tool.name / str(seed), tool, seed)
            two.put(two.a, "N.md", "0123456789\n")
            two.copier.take("a")
            two.copier.give("b", 1)
            [(name, text)] = snapshot(two.b).items()
            assert (name, text) in {("N.md", b""), (".N.md.icloud", b"bplist00")} or b"0123456789\n".startswith(text)
            seen.add("stub" if "icloud" in name else "empty" if not text else "whole" if b"\n" in text else "piece")
            two.copier.settle()
            assert snapshot(two.b) == snapshot(two.a) == {"N.md": b"0123456789\n"}
    assert seen == {"stub", "empty", "whole", "piece"}


def test_a_delete_on_one_side_does_not_take_a_change_of_the_other(tmp_path: Path) -> None:
    for deleter in ("a", "b"):
        two = Two(tmp_path / deleter, SYNCTHING)
        two.put(two.a, "N.md", "start\n")
        two.copier.settle()
        gone, changed = (two.a, two.b) if deleter == "a" else (two.b, two.a)
        (gone / "N.md").unlink()
        two.put(changed, "N.md", "changed\n")
        two.copier.settle()
        assert snapshot(two.a) == snapshot(two.b) == {"N.md": b"changed\n"}


def test_a_backup_brings_back_what_it_held(tmp_path: Path) -> None:
    two = Two(tmp_path, DROPBOX)
    two.put(two.a, "x/N.md", "old\n")
    backup = snapshot(two.a)
    two.put(two.a, "x/N.md", "new\n")
    two.put(two.a, "M.md", "later\n")
    restore(two.a, backup)
    assert snapshot(two.a) == backup == {"x/N.md": b"old\n"}
