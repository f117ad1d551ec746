"""A vault over the example sessions, after its first run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ingest.conftest import World
from vir_core.contract import FlagReply, FlagRequest, ReviewReply, ReviewRequest
from vir_core.journal import Draft, Texts
from vir_core.memory import NoteWritten, memory_of
from vir_core.review import flag, review
from vir_core.vault import open_journal, open_vault

NOTE = "n95535f35c3f77d3"
ABOUT = "why does the ingest worker hang"
TWIN, TWIN_ABOUT = "n0fd5ffa89a020e8", "splitting the terraform state"
"""A note that nobody judges, and a question that finds it."""


class Judging(World):
    """A world whose notes can be judged."""

    def judge(self, action: Any, *id: str, **fields: Any) -> ReviewReply:
        return review(ReviewRequest(action=action, id=id, vault=str(self.vault), **fields))

    def flag(self, id: str, why: str = "", **fields: Any) -> FlagReply:
        return flag(FlagRequest(id=id, vault=str(self.vault), why=why, **fields))

    def more(self, number: int) -> list[str]:
        """Notes that are in the history and have no file."""
        vault = open_vault(self.vault)
        journal = open_journal(vault)
        ids = [f"n{place:015x}" for place in range(1, number + 1)]
        with journal.writing("test", memory_of(journal)) as writer:
            drafts: list[Draft] = []
            for id in ids:
                text = Texts(vault.store).put(
                    {"kind": "note", "title": f"Note {id}", "project": "made"}, b"words of it"
                )
                act = NoteWritten(
                    text=text,
                    body=text,
                    words=text,
                    category="gotcha",
                    project="",
                    date="2026-11-01",
                    session=f"claude:{id}",
                )
                drafts.append(Draft("note_written", id, act))
            writer.append(drafts, kind="vir", surface="test")
        return ids

    def found(self, text: str = ABOUT) -> list[str]:
        return [hit.id for hit in self.ask(text).hits]


@pytest.fixture
def world(tmp_path: Path) -> Judging:
    world = Judging(tmp_path)
    world.run()
    return world


PASSPHRASE = "correct horse battery"


class Person:
    """Somebody at a terminal: answers what is asked, and remembers what was said."""

    def __init__(self, passphrase: str = PASSPHRASE, *, lines: tuple[str, ...] = ()) -> None:
        self.passphrase = passphrase
        self.lines = list(lines)
        self.said = ""

    def say(self, text: str) -> None:
        self.said += text

    def line(self, prompt: str) -> str:
        self.said += prompt
        return self.lines.pop(0)

    def secret(self, prompt: str) -> str:
        self.said += prompt
        return self.passphrase


class Keyed(Judging):
    """A world whose person has a key, and is there to give the passphrase."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.person = Person()

    def enroll(self) -> ReviewReply:
        return review(ReviewRequest(action="enroll", vault=str(self.vault)), self.person)

    def decide(self, action: Any, *id: str, **fields: Any) -> ReviewReply:
        return review(ReviewRequest(action=action, id=id, vault=str(self.vault), **fields), self.person)


@pytest.fixture
def keyed(tmp_path: Path) -> Keyed:
    world = Keyed(tmp_path)
    world.run()
    world.enroll()
    return world
