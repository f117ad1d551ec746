"""The walk on a real terminal: one key each, plain words, nothing that the terminal would obey."""

from __future__ import annotations

import re
import sys

import pytest

from tests.review.conftest import NOTE, PASSPHRASE, Keyed
from tests.terminals import Typist
from vir_core.cli.review_walk import columns, wrapped

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="wants a pseudo-terminal")
BANNED = re.compile(r"\b(journal|shard|digest|tombstone|provenance)", re.IGNORECASE)


def trust(world: Keyed, id: str) -> str:
    page = world.judge("show", id).note
    assert page is not None
    return page.trust


def test_a_walk_approves_rejects_skips_and_takes_back(keyed: Keyed) -> None:
    first, second, third, *_ = [item.id for item in keyed.judge("queue").items]
    walk = Typist(["review", "--vault", str(keyed.vault)])
    walk.until("[q]uit")
    walk.type("a")
    walk.until("passphrase: ")
    walk.type(PASSPHRASE + "\n")
    assert PASSPHRASE not in walk.until("[q]uit") and "Approved: " in walk.shown
    walk.type("r")
    walk.until("other key: back")
    walk.type("n")
    walk.until("Rejected: ")
    walk.until("[q]uit")
    assert trust(keyed, first) == "verified" and trust(keyed, second) == "rejected"
    walk.type("u")
    walk.until("New: ")
    walk.until("[q]uit")
    walk.type("s")
    walk.until("[q]uit")
    walk.type("e")
    assert "“" in walk.until("[q]uit")
    walk.type("x")
    walk.until("One of these keys")
    walk.until("[q]uit")
    walk.type("q")
    assert walk.end() == 0
    assert trust(keyed, second) == trust(keyed, third) == "unreviewed"
    assert not BANNED.search(walk.shown.replace("/store/journal", ""))
    assert "\x1b" not in walk.shown and all(columns(line) <= 80 for line in walk.shown.replace("\r", "").split("\n"))
    assert PASSPHRASE not in walk.shown


def test_a_wrong_passphrase_is_asked_again_and_is_not_kept(keyed: Keyed) -> None:
    [first, *_] = [item.id for item in keyed.judge("queue").items]
    walk = Typist(["review", "--vault", str(keyed.vault)])
    walk.until("[q]uit")
    walk.type("a")
    for _ in range(3):
        walk.until("passphrase: ")
        walk.type("no idea\n")
    walk.until("not the passphrase")
    walk.until("[q]uit")
    assert trust(keyed, first) == "unreviewed"
    walk.type("a")
    walk.until("passphrase: ")
    walk.type(PASSPHRASE + "\n")
    walk.until("Approved: ")
    walk.until("[q]uit")
    walk.type("q")
    assert walk.end() == 0 and trust(keyed, first) == "verified"


def test_what_a_note_says_does_not_reach_the_terminal_as_a_command(keyed: Keyed) -> None:
    path = keyed.note(NOTE)
    evil = "\x1b]0;owned\x07\x1b[31mred\x1b[0m\x9b2J\u202etxt\x08"
    path.write_text(path.read_text("utf-8").replace(" hung ", f" hung {evil} "), "utf-8")
    keyed.flag(NOTE, f"because {evil}")
    for columns_ in (80, 30):
        walk = Typist(["review", "--vault", str(keyed.vault)], columns=columns_)
        walk.until("[q]uit")
        walk.type("e")
        walk.until("[q]uit")
        walk.type("q")
        assert walk.end() == 0
        assert "because" in walk.shown and "hung" in walk.shown
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]", walk.shown)


def test_a_terminal_that_hangs_up_ends_the_walk(keyed: Keyed) -> None:
    walk = Typist(["review", "--vault", str(keyed.vault)])
    walk.until("[q]uit")
    walk.type("\x04")
    assert walk.end() == 1


def test_without_a_terminal_it_lists(keyed: Keyed) -> None:
    said = keyed.cli("review", "--vault", str(keyed.vault), start_new_session=True)
    assert said.returncode == 0 and "17 new" in said.stdout


@pytest.mark.parametrize("width", [20, 40, 80])
def test_lines_fit_whatever_the_script(width: int) -> None:
    text = (
        "- 输入法选词时回车会直接发送消息因为组合事件没有结束 and "
        + "x" * 200
        + "\n  indented words that go on and on and on\n\n"
    )
    lines = list(wrapped(text, width))
    assert all(columns(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
