"""Devices: each with a home, a state folder, transcripts and a clock of its own, all opening one vault through a copier."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.conftest import EXAMPLES, World
from tests.sync.copier import Copier, Tool
from vir_core import __version__
from vir_core.contract import DoctorReply, DoctorRequest, InitRequest, QueryReply, RunReply
from vir_core.journal import Draft, Journal, Line
from vir_core.memory import Held, Memory, Rejected, current_gate
from vir_core.upkeep import doctor, init
from vir_core.vault import Vault, adopt, open_vault, parse

PLAIN = "83ac5aac-11a5-4bfc-9e19-5df183bfeade"


class Lines:
    """A projection that keeps every line."""

    layout = 990

    def __init__(self) -> None:
        self.all: dict[str, Line] = {}

    def apply(self, line: Line) -> None:
        self.all[line.hash] = line

    def dump(self) -> bytes:
        raise NotImplementedError

    def load(self, content: bytes) -> None:
        raise ValueError(content)


class Device(World):
    """A computer. Everything that reads or writes happens with its environment and its clock."""

    def __init__(self, folder: Path, name: str, *, ahead: timedelta = timedelta()) -> None:
        self.name = name
        self.home = folder / name
        self.vault = self.home / "Notes"
        self.claude = self.home / "claude"
        self.codex = self.home / "codex"
        self.state = self.home / "state"
        self.ahead = ahead
        self.acknowledged: set[str] = set()
        self.vault.mkdir(parents=True)
        self.claude.mkdir()
        self.codex.mkdir()

    @contextmanager
    def awake(self) -> Generator[None]:
        """As if the process ran on this computer."""
        mine = {"HOME": str(self.home), "USERPROFILE": str(self.home), "VIR_STATE_DIR": str(self.state)}
        before = {key: os.environ.get(key, "") for key in mine}
        defaults = Journal.__init__.__kwdefaults__
        assert defaults is not None
        clock = defaults["clock"]
        defaults["clock"] = self.clock
        os.environ.update(mine)
        try:
            yield
        finally:
            os.environ.update(before)
            defaults["clock"] = clock

    def clock(self) -> str:
        return (datetime.now(UTC) + self.ahead).isoformat(timespec="microseconds")[:26] + "Z"

    def init(self) -> None:
        with self.awake():
            init(InitRequest(vault=str(self.vault)))

    def run(self, **fields: Any) -> RunReply:
        with self.awake():
            try:
                return super().run(**fields)
            finally:
                self.note_down()

    def ask(self, text: str, **fields: Any) -> QueryReply:
        with self.awake():
            return super().ask(text, **fields)

    def doctor(self) -> DoctorReply:
        with self.awake():
            return doctor(
                DoctorRequest(vault=str(self.vault), claude_dir=(str(self.claude),), codex_dir=(str(self.codex),))
            )

    def learn(self, *sessions: str) -> None:
        """Puts example sessions on this computer: Claude sessions by id, all of them when none is named."""
        for source, target in (
            (EXAMPLES / "claude" / "projects", self.claude),
            (EXAMPLES / "codex" / "sessions", self.codex),
        ):
            for path in source.rglob("*.jsonl"):
                if not sessions or any(one in path.as_posix() for one in sessions):
                    place = target / path.relative_to(source)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, place)

    def grow(self, session: str, text: str, answer: str) -> None:
        """As it is said, with record ids that no other session has: by those a resumed copy is known."""
        super().grow(session, text, answer)
        path = next(self.claude.rglob(f"{session}.jsonl"))
        grown = re.sub(r"([0-9a-f]{8})-0000-(4000-8000-0{11}[12])", rf"\1-{session[9:13]}-\2", path.read_text("utf-8"))
        path.write_text(grown, "utf-8")

    def reject(self, note: str) -> None:
        self.write(Draft(action="rejected", subject=note, data=Rejected(reason="wrong"), must=True))

    def hold(self, note: str) -> None:
        self.write(Draft(action="held", subject=note, data=Held(reason="resembles"), must=True))

    def write(self, *drafts: Draft) -> None:
        with self.awake(), self.journal().writing("test", Memory) as writer:
            writer.append(drafts, kind="person", surface="test")
        self.note_down()

    def journal(self) -> Journal:
        """Use it while awake."""
        vault = self.opened()
        return Journal(
            vault.store,
            vault.state,
            vault=vault.id,
            device=adopt(vault).device,
            core=__version__,
            former=vault.config.was,
        )

    def opened(self) -> Vault:
        """Its `state` is named by the environment when it is asked: ask while awake."""
        return open_vault(self.vault)

    def records(self) -> Path:
        """What this device keeps of the vault outside of it."""
        with self.awake():
            return self.opened().state

    def note_down(self) -> None:
        """Remembers every line that lies in this device's own segments: it was promised to somebody."""
        with self.awake():
            try:
                vault = self.opened()
            except Exception:  # noqa: BLE001  half a vault acknowledges nothing
                return
            if not vault.state.is_dir():
                return
            device = adopt(vault).device
            journal = Journal(vault.store, None, vault=vault.id, device=device, core=__version__)
            lines = journal.read(Lines).projection.all.values()
        self.acknowledged |= {line.hash for line in lines if line.by.device == device}

    def known(self) -> dict[str, Line]:
        """Every line that this device can read, by hash."""
        with self.awake():
            return self.journal().read(Lines).projection.all

    def memory(self) -> Memory:
        with self.awake():
            return self.journal().read(Memory).projection

    def trusts(self) -> dict[str, str]:
        """What the gate says of every note, the way the read path asks."""
        with self.awake():
            gate, _ = current_gate(self.journal(), self.opened().state / "gate")
            trusts: dict[str, str] = dict(gate.trusts())
            return trusts

    def answers(self, questions: Iterable[str]) -> list[list[tuple[str, str, str, str]]]:
        """The hits of each question, by what a person would see of them."""
        answers: list[list[tuple[str, str, str, str]]] = []
        for question in questions:
            reply = self.ask(question, limit=30)
            assert reply.degraded is None
            answers.append(sorted((hit.id, hit.path, hit.title, hit.trust) for hit in reply.hits))
        return answers

    def found(self, question: str) -> set[str]:
        return {hit.id for hit in self.ask(question, limit=50).hits}

    def files(self) -> dict[str, tuple[str, str]]:
        """Every note file by path: its id and the bytes below its frontmatter."""
        notes: dict[str, tuple[str, str]] = {}
        for path in sorted(self.vault.rglob("*.md")):
            if "store" not in path.parts and path.is_file():
                content = path.read_bytes()
                body = content.decode("utf-8", "replace").replace("\r\n", "\n").split("\n---\n", 1)[-1]
                notes[path.relative_to(self.vault).as_posix()] = (parse(content).id, body)
        return notes


class Fleet:
    """Devices around one copier. The first makes the vault."""

    def __init__(self, folder: Path, rng: random.Random, tool: Tool, names: Iterable[str] = ("a", "b")) -> None:
        self.folder = folder
        self.devices = {name: Device(folder, name) for name in names}
        self.copier = Copier({name: device.vault for name, device in self.devices.items()}, tool, rng)
        next(iter(self.devices.values())).init()

    def __getitem__(self, name: str) -> Device:
        return self.devices[name]

    def add(self, name: str) -> Device:
        """A computer that joins later."""
        device = self.devices[name] = Device(self.folder, name)
        self.copier.add(name, device.vault)
        return device

    def settle(self) -> None:
        self.copier.settle()

    def assert_nothing_lost(self) -> None:
        """Every line that any device acknowledged is read on each, and no other line is."""
        promised = {line for device in self.devices.values() for line in device.acknowledged}
        for device in self.devices.values():
            read = set(device.known())
            assert promised - read == set(), f"{len(promised - read)} lines lost on {device.name}"
            assert read - promised == set(), f"{len(read - promised)} lines from nowhere on {device.name}"

    def assert_agreed(self, questions: Iterable[str]) -> None:
        """Every device says the same of every note."""
        asked = list(questions)
        first, *others = self.devices.values()
        for other in others:
            assert other.trusts() == first.trusts()
            assert other.answers(asked) == first.answers(asked)

    def assert_at_rest_each(self, times: int = 3) -> None:
        """Running again on each device, without any sync, changes no byte there."""
        for device in self.devices.values():
            tree = device.tree()
            for _ in range(times):
                reply = device.run()
                assert (reply.written, reply.run, reply.failed) == ((), "", ())
                assert device.tree() == tree, device.name

    def assert_at_rest(self, times: int = 5) -> None:
        """Running again anywhere, and syncing again, changes no byte."""
        trees = {name: device.tree() for name, device in self.devices.items()}
        for _ in range(times):
            for name, device in self.devices.items():
                reply = device.run()
                assert (reply.written, reply.run, reply.failed) == ((), "", ())
                assert device.tree() == trees[name], name
            self.settle()
        assert {name: device.tree() for name, device in self.devices.items()} == trees


@pytest.fixture
def dice() -> random.Random:
    """For tests of one course of events: always the same."""
    return random.Random(20261130)
