"""A simulated week: two or three computers, runs, verdicts, edits, renames and deletes, and a sync tool in between that
brings files when it likes. In the end nothing is lost, nobody's words were touched, nothing was written twice, and every
computer says the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.sync.conftest import Device, Fleet
from tests.sync.copier import GIT_CRLF, ORDERS, TOOLS, Tool
from vir_core.contract import RunReply
from vir_core.ingest import VanishedNotes
from vir_core.journal import JournalError
from vir_core.text import note_id
from vir_core.vault import VaultError, parse

SESSIONS = {
    "83ac5aac-11a5-4bfc-9e19-5df183bfeade": "ingest worker",
    "8979edfa-d924-4ad6-a42a-719d6c87f5c3": "Pods",
    "ad4a85bc-4557-430b-9709-cfd8dd1439e7": "berth watcher",
    "d59662fe-8dfd-4440-88e0-acbb414395f1": "terraform state",
    "349495ac-8180-4abf-b5fe-ff4df369a034": "备注",
    "6774cad0-0151-4b23-8d10-c57c7654c30d": "crew handbook",
    "ad89900c-cbd7-4e41-900a-bad78d74f531": "fares price",
    "d2d72e55-28df-4db0-a4e1-425d78e27413": "local buffer gauges",
    "8ccdf090-6c9a-478d-b9b3-124cfff2449e": "object store upload",
}
QUESTIONS = (*SESSIONS.values(), "pgbouncer limit", "because")
FACTS = (
    "The limit of pool {0} must stay below 20 because pgbouncer drops the twenty-first connection.",
    "Decision: keep replica {0} because the failover takes a minute without it.",
    "The root cause is that worker {0} holds the lock while it waits for the network.",
    "Retries of queue {0} must be capped at five because the broker forgets the lease otherwise.",
)


# Where line ends were turned no body is one that vir wrote, and of two files with one id the computers choose differently:
# see test_a_checkout_that_turned_line_ends_is_no_edit.
WEEKLY = tuple(tool for tool in TOOLS if tool is not GIT_CRLF)


class Week:
    """One course of events. `versions` counts how often a session went on, by device; `told` maps a `note_written` line to
    the session and version that it is about."""

    def __init__(self, folder: Path, seed: int, tool: Tool, names: tuple[str, ...]) -> None:
        self.dice = random.Random(seed)
        self.fleet = Fleet(folder, self.dice, tool, names)
        self.fleet.copier.whole = lambda path: "/texts/" in path
        self.versions: dict[tuple[str, str], str] = {}
        self.told: dict[str, tuple[str, str]] = {}
        self.words: list[str] = []
        self.runs = self.refused = self.notes = self.kept = 0
        for device in self.fleet.devices.values():
            device.ahead = timedelta(seconds=self.dice.choice((0, 0, -90, 40, 86_400, -86_400)))
        # Half of what each computer has, the other has too.
        self.local: dict[str, list[str]] = {name: [] for name in names}

    @property
    def device(self) -> Device:
        return self.fleet[self.dice.choice(list(self.fleet.devices))]

    def live(self, steps: int) -> None:
        acts: tuple[tuple[int, Callable[[Device], None]], ...] = (
            (8, self.sync),
            (6, self.run),
            (3, self.begin),
            (4, self.go_on),
            (2, self.judge),
            (2, self.edit),
            (1, self.rename),
            (1, self.delete),
            (1, self.lose_caches),
        )
        deeds = [act for weight, act in acts for _ in range(weight)]
        for _ in range(steps):
            self.dice.choice(deeds)(self.device)

    # What happens

    def sync(self, device: Device) -> None:
        self.fleet.copier.sync(device.name, self.dice.choice((1, 3, 9, 30, None)), self.dice.choice(ORDERS))

    def begin(self, device: Device) -> None:
        new = [session for session in SESSIONS if session not in self.local[device.name]]
        if new:
            session = self.dice.choice(new)
            self.local[device.name].append(session)
            device.learn(session)
            self.versions[device.name, session] = "0"

    def go_on(self, device: Device) -> None:
        """With words that another device's end of the session has at the same place, or has not."""
        if not self.local[device.name]:
            return
        session = self.dice.choice(self.local[device.name])
        before = self.versions[device.name, session]
        number = len(before)
        device.grow(session, f"And what about {number}?", FACTS[number % len(FACTS)].format(number))
        self.versions[device.name, session] = before + "+"

    def judge(self, device: Device) -> None:
        known = self.known(device)
        if known:
            note = self.dice.choice(sorted(known))
            try:
                self.dice.choice((device.reject, device.hold))(note)
            except (VaultError, JournalError):
                self.refused += 1

    def edit(self, device: Device) -> None:
        if path := self.some_note(device):
            word = f"mine{len(self.words):04}"
            place = device.vault / path
            text = place.read_bytes()
            if parse(text).id:
                place.write_bytes(text + f"\nAnd {word}, which I add myself.\n".encode())
                self.words.append(word)

    def rename(self, device: Device) -> None:
        if path := self.some_note(device):
            target = device.vault / "Mine" / f"{self.dice.randrange(10**6)}.md"
            target.parent.mkdir(exist_ok=True)
            (device.vault / path).rename(target)

    def delete(self, device: Device) -> None:
        if path := self.some_note(device):
            (device.vault / path).unlink()

    def lose_caches(self, device: Device) -> None:
        try:
            state = device.records()
        except VaultError:
            return
        for name in ("checkpoint", "gate"):
            (state / name).unlink(missing_ok=True)

    def run(self, device: Device) -> None:
        """Whatever the sync tool left half done, a run touches nobody's words and writes only what is new."""
        before = device.files()
        told = self.spoken(device)
        tree = device.tree()
        try:
            reply = device.run()
        except (VanishedNotes, JournalError, VaultError):
            self.refused += 1
            assert device.tree() == tree
            return
        self.check(device, reply, before, told)

    def check(
        self, device: Device, reply: RunReply, before: dict[str, tuple[str, str]], told: set[tuple[str, str]]
    ) -> None:
        assert reply.failed == ()
        after = device.files()
        changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
        assert changed == {note.path for note in reply.written}
        for path in changed & before.keys():
            assert not [word for word in self.words if word in before[path][1]], path
        for note in reply.written:
            session = note.session.removeprefix("claude:")
            fact = (session, self.versions[device.name, session])
            assert fact not in told, f"{device.name} wrote {session} again without a new fact"
        self.runs += 1
        self.notes += len(reply.written)
        self.kept += len(reply.kept)
        if reply.written:
            for hash, line in device.known().items():
                if line.action == "note_written" and hash not in self.told:
                    session = next(one for one in SESSIONS if note_id(f"claude:{one}") == line.subject)
                    self.told[hash] = (session, self.versions[device.name, session])

    # What is known

    def spoken(self, device: Device) -> set[tuple[str, str]]:
        """What the notes say that are the latest for this device. An older one that another device wrote at the same time,
        without knowing of it, may have said more; then it is written again."""
        try:
            notes = device.memory().notes.values()
        except VaultError:
            return set()
        return {self.told[note.written.stamp[2]] for note in notes if note.written is not None}

    def known(self, device: Device) -> set[str]:
        try:
            return set(device.trusts())
        except VaultError:
            return set()

    def some_note(self, device: Device) -> str:
        notes = [path for path, (id, _) in device.files().items() if id]
        return self.dice.choice(notes) if notes else ""

    # The end of the week

    def end(self) -> None:
        """Everything arrives, everybody runs once or twice more."""
        fleet = self.fleet
        fleet.settle()
        for _ in range(2):
            for device in fleet.devices.values():
                try:
                    device.run()
                except VanishedNotes:
                    device.run(accept_removed=True)
                fleet.settle()
        fleet.assert_nothing_lost()
        fleet.assert_at_rest(2)
        fleet.assert_agreed(QUESTIONS)
        learnt = {note_id(f"claude:{session}") for sessions in self.local.values() for session in sessions}
        assert set(fleet["a"].trusts()) == learnt
        for device in fleet.devices.values():
            for path in device.tree():
                assert "/journal/" not in path or Path(path).name[:4].isdigit(), path
        # A journal folder has one writer: no tool ever finds it changed on two sides.
        assert [path for path in fleet.copier.conflicts if "/store/" in path] == []


def week(folder: Path, seed: int, tool: Tool, names: tuple[str, ...] = ("a", "b"), steps: int = 60) -> Week:
    folder.mkdir(parents=True)
    course = Week(folder, seed, tool, names)
    try:
        course.live(steps)
        course.end()
    except BaseException as error:
        error.add_note(f"week {seed} over {tool.name} with {', '.join(names)}")
        raise
    return course


@pytest.mark.parametrize("number", range(3))
def test_a_week_on_two_devices(tmp_path: Path, rng: random.Random, number: int) -> None:
    seeds = [rng.randrange(10**9) for _ in range(number + 1)]
    week(tmp_path / "week", seeds[-1], rng.choice(WEEKLY), steps=40)


@pytest.mark.slow
def test_many_weeks_on_two_devices(tmp_path: Path, rng: random.Random, scaled: Callable[[int], int]) -> None:
    courses = [week(tmp_path / str(n), rng.randrange(10**9), rng.choice(WEEKLY)) for n in range(scaled(40))]
    assert sum(course.notes for course in courses) >= len(courses)
    assert sum(course.runs for course in courses) > 5 * len(courses)


@pytest.mark.slow
def test_a_week_on_three_devices(tmp_path: Path, rng: random.Random, scaled: Callable[[int], int]) -> None:
    for number in range(scaled(30)):
        week(tmp_path / str(number), rng.randrange(10**9), rng.choice(WEEKLY), ("a", "b", "c"), steps=90)


@pytest.mark.slow
@pytest.mark.parametrize("tool", WEEKLY, ids=lambda tool: tool.name)
def test_a_week_over_each_tool(tmp_path: Path, rng: random.Random, scaled: Callable[[int], int], tool: Tool) -> None:
    for number in range(scaled(10)):
        week(tmp_path / str(number), rng.randrange(10**9), tool)
