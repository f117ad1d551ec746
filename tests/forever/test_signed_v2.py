"""`fixtures/journal/v2/`, what keys prove, is replayed for ever. This file may grow; nothing in it may be taken out."""

from __future__ import annotations

import filecmp
import json
import runpy
from pathlib import Path
from typing import Any

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "journal" / "v2"
SCRIPT = FIXTURE.parent / "make_v2.py"


def expected() -> dict[str, Any]:
    return json.loads((FIXTURE / "expected.json").read_text(encoding="utf-8"))


def test_v2_replays_to_what_it_always_was() -> None:
    script: dict[str, Any] = runpy.run_path(str(SCRIPT))
    assert script["expected"](FIXTURE / "store") == expected()


def test_v2_is_what_its_script_writes(tmp_path: Path) -> None:
    runpy.run_path(str(SCRIPT))["make"](tmp_path)
    committed = {path.relative_to(FIXTURE) for path in FIXTURE.rglob("*") if path.is_file()}
    assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()} == committed
    for name in committed:
        assert filecmp.cmp(FIXTURE / name, tmp_path / name, shallow=False), name


def test_v2_says_what_a_person_would_expect_of_it() -> None:
    script: dict[str, Any] = runpy.run_path(str(SCRIPT))
    note, wanted = script["note"], expected()
    pinned, unpinned = wanted["pinned"]["trust"], wanted["unpinned"]["trust"]
    assert {number: pinned[note(number)] for number in range(16)} == {
        0: "suspended",  # two devices that did not know of each other
        1: "superseded",
        2: "verified",
        3: "verified",
        4: "verified",  # rejected, then approved by who knew of it
        5: "unreviewed",  # rejected, then restored
        6: "suspended",  # a flag that arrived late was lifted by nobody
        7: "unreviewed",
        8: "unreviewed",  # no proof, a stranger's, another vault's, another note's
        9: "suspended",  # a newer version's word
        10: "verified",
        11: "verified",  # signed before the loss, and known when the key was revoked
        12: "unreviewed",  # back-dated
        13: "suspended",  # a thief may stop a note, not reject it
        14: "unreviewed",
        15: "verified",
    }
    assert "verified" not in unpinned.values() and "rejected" not in unpinned.values()
    assert {wanted["stranger"]["trust"][note(number)] for number in (8,)} == {"verified"}
    assert wanted["pinned"]["struck"][note(3)] == wanted["unpinned"]["struck"][note(3)] == ["l00000000003"]
