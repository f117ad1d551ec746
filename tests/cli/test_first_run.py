"""The conversation of a first run, on a terminal of its own."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND
from tests.ingest.conftest import PROJECT, World
from vir_core.vault import open_vault

QUESTION = "[y/N]"
COPIES = "[y/f/N]"


class Terminal:
    """One command on a pseudo-terminal."""

    def __init__(self, *words: str) -> None:
        self.main, side = pty.openpty()
        self.process = subprocess.Popen(
            [*COMMAND, *words],
            stdin=side,
            stdout=side,
            stderr=side,
            cwd=PROJECT,
            start_new_session=True,
            preexec_fn=_own_terminal,
        )
        os.close(side)
        self.text = ""

    def until(self, words: str, seconds: float = 60) -> str:
        """What was shown so far, once `words` are in it."""
        deadline = time.monotonic() + seconds
        while words not in self.text:
            assert time.monotonic() < deadline, self.text
            if not self._more(deadline):
                break
        assert words in self.text, self.text
        return self.text

    def end(self, seconds: float = 60) -> int:
        deadline = time.monotonic() + seconds
        while self._more(deadline):
            assert time.monotonic() < deadline, self.text
        code = self.process.wait(timeout=seconds)
        os.close(self.main)
        assert "Traceback" not in self.text
        return code

    def type(self, keys: bytes) -> None:
        os.write(self.main, keys)

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self.main], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return True
        try:
            content = os.read(self.main, 65536)
        except OSError:
            return False
        self.text += content.decode("utf-8", "replace")
        return bool(content)


def _own_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def notes(world: World) -> list[Path]:
    return sorted((world.vault / "vir").rglob("*.md"))


@pytest.fixture
def first(world: World) -> Terminal:
    return begun(world, b"n\n")


def begun(world: World, copies: bytes) -> Terminal:
    """A first run up to the question about the rest, with this answer to the one about copies."""
    terminal = Terminal(*world.run_words())
    terminal.until(COPIES)
    terminal.type(copies)
    terminal.until(QUESTION)
    return terminal


def test_the_screen_says_whose_what_and_where_and_the_ten_newest_are_written(
    world: World, first: Terminal, noted: set[str]
) -> None:
    screen = first.text
    for words in (
        "driven by:",
        "you",
        "subagents",
        "tidepool",
        "lantern",
        "never changed",
        "Nothing leaves this machine",
    ):
        assert words in screen, words
    assert str(world.vault) in screen
    assert screen.index("driven by:") < screen.index("The newest first:") < screen.index(QUESTION)
    shown = re.findall(r"^  (vir/.+\.md)\r?$", screen.partition("The newest first:")[2], re.MULTILINE)
    assert sorted(world.vault / path for path in shown) == notes(world)
    assert 8 <= len(shown) <= 10 < len(noted)
    newest = [line for line in world.lines() if line["action"] == "session_settled"]
    assert len(newest) == 10
    first.type(b"n\n")
    assert first.end() == 0


def test_no_leaves_the_rest_for_later(world: World, first: Terminal, noted: set[str]) -> None:
    before = world.tree()
    first.type(b"n\n")
    assert first.end() == 0
    assert "Left for later" in first.text
    assert world.tree() == before
    world.run()
    assert len(notes(world)) == len(noted)


def test_yes_takes_the_rest(world: World, first: Terminal, noted: set[str]) -> None:
    first.type(b"y\n")
    assert first.end() == 0
    assert "Left for later" not in first.text
    assert len(notes(world)) == len(noted)
    assert world.run().written == ()


def test_an_end_of_input_is_a_no(world: World, first: Terminal) -> None:
    before = world.tree()
    first.type(b"\x04")
    assert first.end() == 0
    assert "Left for later" in first.text and world.tree() == before


def test_an_interrupt_at_the_question_is_a_stop(world: World, first: Terminal) -> None:
    before = world.tree()
    first.type(b"\x03")
    assert first.end() == 1
    assert "Stopped." in first.text and world.tree() == before
    assert world.run().written


def test_an_interrupt_while_it_writes_loses_nothing(world: World, noted: set[str]) -> None:
    terminal = Terminal(*world.run_words())
    terminal.until(COPIES)
    terminal.type(b"n\n")
    terminal.until("Writing notes")
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.end() == 1
    assert "Stopped." in terminal.text
    world.run()
    assert len(notes(world)) == len(noted)


def test_nothing_is_asked_when_a_person_said_yes_before_or_little_is_new(world: World, noted: set[str]) -> None:
    terminal = Terminal(*world.run_words("--yes"))
    assert terminal.end() == 0
    assert QUESTION not in terminal.text and len(notes(world)) == len(noted)
    again = Terminal(*world.run_words())
    assert again.end() == 0
    assert QUESTION not in again.text and "Nothing new." in again.text
    world.grow(
        "83ac5aac-11a5-4bfc-9e19-5df183bfeade",
        "What is the limit?",
        "The pool must stay below 20 because pgbouncer drops the twenty-first connection.",
    )
    grown = Terminal(*world.run_words())
    assert grown.end() == 0
    assert QUESTION not in grown.text and "1 note written" in grown.text


def test_a_dry_run_and_a_limit_ask_nothing(world: World) -> None:
    tree = world.tree()
    dry = Terminal(*world.run_words("--dry-run"))
    assert dry.end() == 0
    assert "Nothing was written." in dry.text and QUESTION not in dry.text and world.tree() == tree
    two = Terminal(*world.run_words("--limit", "2"))
    assert two.end() == 0
    assert QUESTION not in two.text and len(notes(world)) == 2


def test_no_sessions_at_all_say_so_and_ask_nothing(world: World, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    terminal = Terminal("run", "--vault", str(world.vault), "--claude-dir", str(empty))
    assert terminal.end() == 0
    assert QUESTION not in terminal.text and "0 session files" in terminal.text


def setting(world: World) -> str:
    return open_vault(world.vault).config.archive


def copies(world: World) -> list[Path]:
    return sorted((open_vault(world.vault).state / "archive").glob("*"))


@pytest.mark.parametrize(
    ("answer", "kept"), [(b"y\n", "1y"), (b"f\n", "forever"), (b"n\n", "off"), (b"\n", "off"), (b"\x04", "")]
)
def test_whether_to_keep_copies_is_asked_once_with_place_and_size(world: World, answer: bytes, kept: str) -> None:
    terminal = begun(world, answer)
    asked = terminal.text.partition("without secrets")[2].partition(COPIES)[0]
    assert str(open_vault(world.vault).state / "archive") in asked and re.search(r"about [\d.]+ (bytes|KB|MB)", asked)
    terminal.type(b"n\n")
    assert terminal.end() == 0
    assert setting(world) == kept
    assert len(copies(world)) == (10 if kept in ("1y", "forever") else 0)
    again = Terminal(*world.run_words())
    assert again.end() == 0
    assert COPIES not in again.text
    assert (len(copies(world)) > 10) == (kept in ("1y", "forever"))


def test_without_a_terminal_nothing_is_asked_and_nothing_copied(world: World) -> None:
    assert world.cli(*world.run_words()).returncode == 0
    assert setting(world) == "" and copies(world) == []
    assert world.cli(*world.run_words("--archive", "1y")).returncode == 0
    assert setting(world) == "1y"
