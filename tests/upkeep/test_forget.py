"""What was forgotten is gone from every place vir can reach, and does not come back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.authority.laundry import quiet, say
from tests.ingest.conftest import PROJECT, World
from vir_core.contract import ForgetReply, ForgetRequest, RequestError
from vir_core.text import note_id
from vir_core.upkeep import ForgetRefused, forget
from vir_core.vault import open_vault

SECRET = "The customs broker is paid from the account ending in 4711."
SESSION = [
    (
        f"The import of spices fails at the border. {SECRET}",
        "The root cause was that the customs form lacked the account number of the broker.",
    ),
    ("Great, that works. Commit it.", "Committed. The form is complete now."),
]
OTHER = [
    (
        "The nightly label printer of the shop prints nothing since Friday, find out why.",
        "The root cause was that the cron job reads the label sheet from a folder that was renamed.",
    ),
    ("Great, that works. Commit it.", "Committed. The printer works again."),
]


class Person:
    """Sits at the terminal and types one word when asked."""

    def __init__(self, *words: str) -> None:
        self.words = list(words)
        self.heard = ""

    def say(self, text: str) -> None:
        self.heard += text

    def line(self, prompt: str) -> str:
        self.heard += prompt
        return self.words.pop(0)

    def secret(self, prompt: str) -> str:
        return self.line(prompt)

    def key(self) -> str:
        return ""

    def width(self) -> int:
        return 80

    def close(self) -> None:
        pass


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = quiet(World(tmp_path))
    say(world.claude, "spices", SESSION)
    say(world.claude, "labels", OTHER)
    world.run()
    return world


SPICES = note_id(say(Path("/tmp") / f"vir-names-{os.getpid()}", "spices", SESSION))
shutil.rmtree(Path("/tmp") / f"vir-names-{os.getpid()}")


def asked(world: World, *words: str, **fields: str) -> ForgetReply:
    return forget(ForgetRequest(vault=str(world.vault), **(fields or {"id": SPICES})), ask=Person(*words))


def holding(world: World, words: bytes = b"4711") -> list[str]:
    """Files of the vault and of this machine's state that hold the words as they stand."""
    return [
        str(path)
        for root in (world.vault, world.state)
        for path in root.rglob("*")
        if path.is_file() and words in path.read_bytes()
    ]


def test_listing_destroys_nothing_and_names_every_place(world: World) -> None:
    tree = world.tree()
    reply = forget(ForgetRequest(vault=str(world.vault), id=SPICES))
    assert not reply.done and world.tree() == tree
    assert {place.kind for place in reply.places} == {"note", "texts"}
    assert any("session files" in sentence for sentence in reply.unreachable)


def test_another_word_destroys_nothing(world: World) -> None:
    tree = world.tree()
    with pytest.raises(ForgetRefused):
        asked(world, "yes")
    assert world.tree() == tree


def test_no_program_can_forget(world: World) -> None:
    tree = world.tree()
    for words in ((), ("--json",)):
        done = world.cli(
            "forget", SPICES, "--vault", str(world.vault), *words, stdin="forget\nforget\n", start_new_session=True
        )
        assert "Traceback" not in done.stderr
        assert world.tree() == tree
    assert asked(world, "forget").done, "a person can"


def test_what_is_forgotten_is_nowhere_and_the_rest_stays(world: World) -> None:
    assert holding(world) and world.ask("customs broker account").hits
    reply = asked(world, "forget")
    assert reply.done and {place.kind for place in reply.places} == {"note", "texts", "questions"}
    assert holding(world) == []
    assert holding(world, b"customs") == []
    assert world.ask("customs broker account").hits == ()
    assert world.ask("label printer cron job").hits, "another note is served as before"


def test_it_is_not_distilled_again_by_any_run(world: World) -> None:
    asked(world, "forget")
    for fields in ({}, {"session": (say(world.claude, "spices", SESSION),)}):
        reply = world.run(**fields)
        assert reply.written == ()
        assert reply.skipped.get("forgotten") == 1
    assert holding(world) == []
    tree = world.tree()
    world.run()
    assert world.tree() == tree


def test_the_same_statement_from_another_session_is_not_written(world: World) -> None:
    asked(world, "forget")
    say(world.claude, "again", [(OTHER[0][0], OTHER[0][1]), (SESSION[0][0], SESSION[0][1])])
    world.run()
    assert not any(
        "customs form lacked" in path.read_text("utf-8").partition("> [!quote]")[0]
        for path in world.vault.rglob("*.md")
    )


def test_words_find_their_notes(world: World) -> None:
    reply = asked(world, "forget", text="ACCOUNT ending in  4711")
    assert reply.subjects == (SPICES,) and holding(world) == []
    with pytest.raises(RequestError):
        asked(world, "forget", text="words nobody said")


def test_a_note_that_was_put_away_is_found(world: World) -> None:
    path = world.note(SPICES)
    away = world.vault / "vir" / "store" / "archived" / path.name
    away.parent.mkdir(parents=True, exist_ok=True)
    path.rename(away)
    reply = asked(world, "forget")
    assert "put_away" in {place.kind for place in reply.places}
    assert holding(world) == []


def test_a_copy_that_comes_back_is_destroyed_by_the_next_run(world: World, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    shutil.copytree(world.vault, backup)
    asked(world, "forget")
    shutil.copytree(backup / "vir", world.vault / "vir", dirs_exist_ok=True)
    assert holding(world)
    world.run()
    assert holding(world) == []
    assert world.ask("customs broker account").hits == ()


def test_a_second_device_destroys_its_copies_when_the_line_arrives(world: World, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(world.vault, other / "Notes")
    asked(world, "forget")
    for path in (world.vault / "vir" / "store" / "journal").rglob("*.jsonl"):
        target = other / "Notes" / path.relative_to(world.vault)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    env = {**os.environ, "VIR_STATE_DIR": str(other / "state")}
    words = [
        "run",
        "--vault",
        str(other / "Notes"),
        "--claude-dir",
        str(world.claude),
        "--codex-dir",
        str(world.codex),
        "--json",
    ]
    done = world.cli(*words, env={**env, "PYTHONPATH": str(PROJECT)})
    assert done.returncode == 0, done.stderr
    left = [str(path) for path in other.rglob("*") if path.is_file() and b"4711" in path.read_bytes()]
    assert left == []


KILLED = """
import os, signal, sys
from vir_core.contract import ForgetRequest
from vir_core.upkeep import destroying, forget
from tests.upkeep.test_forget import Person
left = int(sys.argv[3])
def dies(real):
    def act(*args):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*args)
    return act
destroying._remove = dies(destroying._remove)
destroying.Texts.remove = dies(destroying.Texts.remove)
forget(ForgetRequest(vault=sys.argv[1], id=sys.argv[2]), ask=Person("forget"))
"""


@pytest.mark.parametrize("steps", [0, 1, 2, 4])
def test_killed_in_the_middle_the_next_call_finishes(world: World, steps: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(world.vault), SPICES, str(steps)],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
    )
    assert done.returncode == -9, done.stderr.decode()
    assert holding(world), "it was killed before it was through"
    assert world.ask("customs broker account").hits == (), "withheld from the moment of the line"
    world.run()
    assert holding(world) == []


def test_lines_hold_no_words(world: World) -> None:
    asked(world, "forget")
    journal = (world.vault / "vir" / "store" / "journal").rglob("*.jsonl")
    last = [line for path in journal for line in path.read_bytes().splitlines() if b'"forgotten"' in line][-1]
    data = msgspec.json.decode(last)["data"]
    assert set(data) == {"values", "texts", "sessions", "after"}
    assert all(len(value) == 24 for value in data["values"]) and data["values"]
    secrets = [path.read_text() for path in (open_vault(world.vault).store / "secrets").iterdir()]
    assert secrets and all(secret not in last.decode() for secret in secrets)
