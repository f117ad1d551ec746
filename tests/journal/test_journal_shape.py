"""The engine over lines that are not the vault's."""

from __future__ import annotations

import json
import random
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct

from vir_core.journal import Damage, Files, list_file, list_folder, read_lines, read_projection, save_reading


class Said(Struct, frozen=True):
    """A line of a diary: whoever the file is named after said a word at a time."""

    at: str
    origin: str
    word: str
    raw: bytes

    @property
    def hash(self) -> str:
        return sha256(f"{self.origin} {self.at} ".encode() + self.raw).hexdigest()

    @property
    def stamp(self) -> tuple[str, str, str]:
        return (self.at, self.origin, self.hash)


class Diary:
    """An old file `diary.jsonl`, whose lines have no time but their place, and one file a person under `people/`."""

    def files(self, folder: Path) -> Files:
        old, people = list_file(folder / "diary.jsonl"), list_folder(folder / "people")
        found = {f"people/{name}": place for name, place in people.found.items()}
        return Files({**old.found, **found}, old.absent | {f"people/{name}" for name in people.absent})

    def decode(self, block: bytes, damage: Damage, *, name: str, first: int) -> list[Said]:
        lines: list[Said] = []
        for number, piece in enumerate(block.split(b"\n"), first):
            raw = piece.strip()
            if not raw:
                continue
            try:
                value = json.loads(raw)
            except ValueError:
                damage.torn += 1
                continue
            lines.append(Said(value.get("at", f"{number:012}"), name, value["word"], raw))
        return lines

    def claim(self, line: Said) -> bool:
        return True


class LastWord:
    layout = 1

    def __init__(self) -> None:
        self.words: dict[str, tuple[Any, ...]] = {}

    def apply(self, line: Said) -> None:
        self.words[line.word] = max(self.words.get(line.word, ("",)), line.stamp)

    def dump(self) -> bytes:
        return json.dumps(self.words).encode()

    def load(self, content: bytes) -> None:
        self.words = {word: tuple(stamp) for word, stamp in json.loads(content).items()}


def write(folder: Path) -> None:
    (folder / "people").mkdir(parents=True)
    (folder / "diary.jsonl").write_bytes(b'{"word":"a"}\r\n{"word":"b"}\r\n{"word":"a"}\r\n')
    for person in ("ann", "bob"):
        lines = [json.dumps({"at": f"2026-11-0{day}", "word": word}) for day, word in ((1, "b"), (2, "c"), (3, person))]
        (folder / "people" / f"{person}.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "people" / "ann.txt").write_text("not a journal")


def test_lines_of_another_shape_are_read_in_their_order(tmp_path: Path) -> None:
    write(tmp_path)
    read = read_lines(tmp_path, Diary())
    assert [line.word for line in read.lines] == ["a", "b", "a", "b", "b", "c", "c", "ann", "bob"]
    assert [line.at for line in read.lines][:3] == ["000000000000", "000000000001", "000000000002"]
    assert (read.marks.damage.total, read.marks.lines) == (0, 9)
    assert [line.word for line in read_lines(tmp_path, Diary(), known_at="2026-11-01").lines] == [
        "a",
        "b",
        "a",
        "b",
        "b",
    ]


def test_place_in_the_file_is_the_same_however_the_file_arrived(tmp_path: Path, rng: random.Random) -> None:
    write(tmp_path / "whole")
    whole = read_projection(tmp_path / "whole", Diary(), LastWord)
    content = (tmp_path / "whole" / "diary.jsonl").read_bytes()
    for number in range(20):
        folder, cache = tmp_path / f"part{number}", tmp_path / f"cache{number}"
        write(folder)
        cut = rng.randrange(len(content) + 1)
        (folder / "diary.jsonl").write_bytes(content[:cut])
        assert save_reading(cache, folder, read_projection(folder, Diary(), LastWord, checkpoint=cache))
        with (folder / "diary.jsonl").open("ab") as file:
            file.write(content[cut:])
        late = read_projection(folder, Diary(), LastWord, checkpoint=cache)
        assert late.projection.words == whole.projection.words
        assert late.lines == whole.lines


def test_checkpoint_of_another_shape_is_resumed_and_belongs_to_its_folder(tmp_path: Path) -> None:
    write(tmp_path / "a")
    cache = tmp_path / "cache"
    reading = read_projection(tmp_path / "a", Diary(), LastWord, checkpoint=cache)
    assert save_reading(cache, tmp_path / "a", reading)
    assert not save_reading(cache, tmp_path / "a", reading)
    again = read_projection(tmp_path / "a", Diary(), LastWord, checkpoint=cache)
    assert (again.projection.words, again.moved) == (reading.projection.words, False)
    (tmp_path / "b").mkdir()
    other = read_projection(tmp_path / "b", Diary(), LastWord, checkpoint=cache)
    assert (other.projection.words, other.moved) == ({}, True)
    past = read_projection(tmp_path / "a", Diary(), LastWord, checkpoint=cache, known_at="2026-11-02")
    assert "ann" not in past.projection.words and "c" in past.projection.words
    assert not save_reading(cache, tmp_path / "a", past)
