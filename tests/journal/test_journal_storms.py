"""Storms: writers that die or are refused at any write, between files that are cut, rolled back, removed, padded, glued,
copied and rewritten, in any order. After every blow each device reads the same with and without its caches, and every line
that somebody was told of exactly once."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.journal.conftest import VAULT
from vir_core.journal import Draft, Journal, Reading
from vir_core.journal import journal as journal_module
from vir_core.machine import StorageError, append

WRITES = ("say", "say", "say", "die before", "die within", "die after", "refused", "heal")
BLOWS = ("cut", "remove", "roll back", "remember", "pad", "turn line ends", "glue", "copy")
CLOUD = ("send away", "send away", "bring back")
CACHES = ("save a reading", "drop the checkpoint")


class Killed(BaseException):
    pass


def counts(reading: Reading[Any]) -> dict[str, int]:
    return {key: seen[0] for key, seen in reading.projection.seen.items() if key.startswith("n")}


class Storm:
    """`told` and `read` are, by device, the subjects that must be there: told of by it, and copied to its mirror."""

    def __init__(self, base: Path, latest: type[Any], chance: random.Random, blows: tuple[str, ...]) -> None:
        (base / "store").mkdir(parents=True)
        self.base = base
        self.latest = latest
        self.chance = chance
        self.blows = blows
        self.devices = ["d1", "d2"][: chance.choice((1, 2))]
        self.told: dict[str, set[str]] = {device: set() for device in self.devices}
        self.read: dict[str, set[str]] = {device: set() for device in self.devices}
        self.log: list[str] = []
        self._number = 0
        self._remembered: dict[Path, bytes] = {}

    def journal(self, device: str) -> Journal:
        return Journal(self.base / "store", self.base / f"state-{device}", vault=VAULT, device=device, core="0.1.0")

    def step(self, monkeypatch: pytest.MonkeyPatch) -> None:
        device, act = self.chance.choice(self.devices), self.chance.choice((*WRITES, *self.blows, *CACHES))
        self.log.append(f"{device} {act}")
        if act in WRITES:
            with monkeypatch.context() as patch:
                self._write(self.journal(device), act, patch)
        elif act in CACHES:
            self._cache(self.journal(device), act)
        elif act == "bring back":
            self.bring_back()
        elif files := sorted((self.base / "store").rglob("*.jsonl")):
            self._blow(self.chance.choice(files), act)
        for each in self.devices:
            self.check(each)

    def _write(self, journal: Journal, act: str, patch: pytest.MonkeyPatch) -> None:
        chance = self.chance
        spared = chance.randrange(3)

        def failing(path: Path, content: bytes, **how: Any) -> int:
            nonlocal spared
            spared -= 1
            if spared >= 0 and act != "refused":
                return append(path, content, **how)
            if act == "refused":
                raise StorageError(path, "The disk is full.")
            if act != "die before":
                append(path, content if act == "die after" else content[: chance.randrange(len(content))], **how)
            raise Killed

        if act not in ("say", "heal"):
            patch.setattr(journal_module, "append", failing)
        drafts = [
            Draft("held", self._subject(), {"x": "y" * chance.choice((1, 3000))}) for _ in range(chance.randrange(1, 4))
        ]
        if chance.random() < 0.1:
            drafts = [Draft("held", self._subject(), {"x": "y" * 400_000}) for _ in range(3)]
        try:
            with journal.writing("test", self.latest) as writer:
                if act != "heal":
                    lines = writer.append(drafts, kind="vir", surface="cli")
                    self.told[journal.device].update(line.subject for line in lines)
                live = counts(writer.reading)
                self.read[journal.device].update(live)
                if chance.random() < 0.5:
                    journal.save_checkpoint(writer.reading)
        except (Killed, StorageError):
            return
        assert counts(journal.read(self.latest)) == live, self.log

    def _subject(self) -> str:
        self._number += 1
        return f"n{self._number}"

    def _cache(self, journal: Journal, act: str) -> None:
        assert journal.state is not None
        if act == "save a reading":
            journal.save_checkpoint(journal.read(self.latest))
        else:
            (journal.state / "checkpoint").unlink(missing_ok=True)

    def _blow(self, path: Path, act: str) -> None:
        content = path.read_bytes()
        place = self.chance.randrange(len(content) + 1)
        match act:
            case "cut":
                path.write_bytes(content[:place])
            case "remove":
                path.unlink()
            case "remember":
                self._remembered[path] = content
            case "roll back":
                path.write_bytes(self._remembered.get(path, content))
            case "pad":
                path.write_bytes(content[:place] + b"\0" * (len(content) - place))
            case "turn line ends":
                path.write_bytes(
                    content.replace(b"\r\n", b"\n") if b"\r" in content else content.replace(b"\n", b"\r\n")
                )
            case "glue":
                path.write_bytes(content[:place] + content[place:].replace(b"\n", b"", 1))
            case "send away":
                path.rename(path.with_name(f".{path.name}.icloud"))
            case _:
                path.with_name(f"{path.stem} (conflicted copy).jsonl").write_bytes(content)

    def bring_back(self) -> None:
        for away in sorted((self.base / "store").rglob(".*.icloud")):
            path = away.with_name(away.name[1 : -len(".icloud")])
            if not path.exists():
                away.rename(path)

    def check(self, device: str) -> None:
        journal = self.journal(device)
        assert journal.state is not None
        checkpoint, aside = journal.state / "checkpoint", journal.state / "aside"
        resumed = journal.read(self.latest)
        if checkpoint.exists():
            checkpoint.rename(aside)
        full = journal.read(self.latest)
        if aside.exists():
            aside.rename(checkpoint)
        assert resumed.projection.seen == full.projection.seen, self.log
        # While a segment is away nobody can say what is missing.
        for name in ("lines", "newest", "devices", *(() if full.absent else ("missing",))):
            assert getattr(resumed, name) == getattr(full, name), (name, self.log)
        seen = counts(full)
        assert set(seen.values()) <= {1}, self.log
        assert self.told[device] <= seen.keys(), (device, self.log)
        assert self.read[device] <= seen.keys(), (device, self.log)


@pytest.mark.slow
@pytest.mark.parametrize(
    "blows",
    [pytest.param(BLOWS, id="without cloud"), pytest.param((*BLOWS, *CLOUD), id="cloud")],
)
def test_no_storm_loses_or_doubles_a_line_or_parts_replay_from_the_live_view(
    tmp_path: Path,
    latest: type[Any],
    rng: random.Random,
    scaled: Callable[[int], int],
    monkeypatch: pytest.MonkeyPatch,
    blows: tuple[str, ...],
) -> None:
    for number in range(scaled(1000)):
        storm = Storm(tmp_path / str(number), latest, rng, blows)
        for _ in range(rng.randrange(3, 14)):
            storm.step(monkeypatch)
        storm.bring_back()
        for device in storm.devices:
            with storm.journal(device).writing("test", latest):
                pass
        for device in storm.devices:
            storm.check(device)
        # Somebody who has nothing but the folder reads every line that any device was told of.
        stranger = Journal(tmp_path / str(number) / "store", None, vault=VAULT, device="d9", core="0.1.0")
        assert set().union(*storm.told.values()) <= counts(stranger.read(latest)).keys(), storm.log
