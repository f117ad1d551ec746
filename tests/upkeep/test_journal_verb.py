"""Looking after the history from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.conftest import World
from vir_core.contract import JournalReply, JournalRequest, RequestError
from vir_core.upkeep import journal


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.run()
    return made


def asked(world: World, action: Any, **fields: str) -> JournalReply:
    return journal(JournalRequest(vault=str(world.vault), action=action, **fields))


def segment(world: World) -> Path:
    return next((world.vault / "vir" / "store" / "journal").rglob("0001.jsonl"))


def test_a_whole_history_is_sound_and_looking_writes_nothing(world: World) -> None:
    tree = world.tree()
    for action in ("status", "verify"):
        reply = asked(world, action)
        assert reply.sound and reply.lines == len(world.lines()) and reply.devices == 1
    assert not [finding for finding in asked(world, "verify").findings if finding.harm]
    assert world.tree() == tree


def test_lines_the_vault_lost_are_named_and_put_back(world: World) -> None:
    before = sorted(line["subject"] for line in world.lines())
    path = segment(world)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-5]))
    broken = asked(world, "verify")
    assert not broken.sound and broken.missing == 5
    assert {finding.kind for finding in broken.findings if finding.harm} & {"missing", "altered"}
    healed = asked(world, "heal")
    assert healed.given_back == 5 and healed.sound
    assert sorted(line["subject"] for line in world.lines()) == before
    assert asked(world, "heal").given_back == 0
    # A backup ends where it likes.
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    assert not asked(world, "verify").sound
    assert asked(world, "heal").sound and asked(world, "verify").sound
    assert asked(world, "status").lines == len(before)


def test_a_restored_backup_is_obeyed_only_after_the_word(world: World) -> None:
    path = segment(world)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-5]))
    with pytest.raises(RequestError):
        asked(world, "accept-disk")
    with pytest.raises(RequestError):
        asked(world, "accept-disk", word="yes")
    given = asked(world, "accept-disk", word="accept")
    assert given.given_up == 5
    after = asked(world, "verify")
    assert after.missing == 0
    assert asked(world, "heal").given_back == 0
    assert world.lines()[-1]["action"] == "lines_given_up"


def test_every_cache_may_go_between_two_looks(world: World) -> None:
    before = asked(world, "status")
    shutil.rmtree(world.state)
    after = asked(world, "status")
    assert (after.lines, after.devices, after.sound) == (before.lines, before.devices, before.sound)


def test_the_command_line_answers_in_words_and_in_json(world: World) -> None:
    words = world.cli("journal", "verify", "--vault", str(world.vault))
    assert words.returncode == 0 and "Everything is as it was written." in words.stdout
    answer = json.loads(world.cli("journal", "status", "--vault", str(world.vault), "--json").stdout)
    assert answer["sound"] is True
    assert json.loads(world.cli("journal", "mend", "--json").stdout)["error"]["kind"] == "invalid_request"
