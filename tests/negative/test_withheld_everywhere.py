"""What is withheld is withheld on every surface, while its twin is found there.

A new surface is a row of `SURFACES`, a new way to be withheld a row of `ACTS`; each act is asked of every surface.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.negative.conftest import (
    INTERNAL_WORDS,
    SECRET,
    SURFACES,
    TWIN_WORDS,
    VICTIM_WORDS,
    Pair,
    command,
)
from tests.serve.conftest import Serve


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    made = Pair(tmp_path)
    made.prepare()
    return made


@pytest.fixture
def warm(pair: Pair) -> Iterator[Serve]:
    """A serve that has answered before anything was withheld."""
    serve = Serve("--vault", str(pair.vault))
    try:
        yield serve
    finally:
        serve.close()


def rejected(pair: Pair) -> None:
    pair.elsewhere("rejected", pair.victim, reason="wrong")


def flagged(pair: Pair) -> None:
    assert pair.cli("flag", pair.victim, "--why", "never true", "--vault", str(pair.vault)).returncode == 0


def superseded(pair: Pair) -> None:
    pair.elsewhere("superseded", pair.victim, by=pair.twin)


def expired(pair: Pair) -> None:
    pair.elsewhere("expired", pair.victim, on=(date.today() - timedelta(days=2)).isoformat())


def resembling(pair: Pair) -> None:
    pair.elsewhere("held", pair.victim, reason="resembles", like=pair.twin)


def of_a_newer_vir(pair: Pair) -> None:
    pair.elsewhere("sealed_by_notary", pair.victim, weather=1)


def absent(pair: Pair) -> None:
    pair.note(pair.victim).unlink()


ACTS: dict[str, Callable[[Pair], None]] = {
    act.__name__: act for act in (rejected, flagged, superseded, expired, resembling, of_a_newer_vir, absent)
}


@pytest.mark.parametrize(
    "act", [act if act == "rejected" else pytest.param(act, marks=pytest.mark.slow) for act in ACTS]
)
def test_a_withheld_note_is_nowhere_and_its_twin_everywhere(act: str, pair: Pair, warm: Serve) -> None:
    shutil.copytree(pair.place / "index", pair.place.parent / "index-before")
    for name, surface in SURFACES.items():
        if name != "stale_index":
            before = surface(pair, warm)
            assert {pair.victim, pair.twin} <= before.ids, (name, "the positive control")
    ACTS[act](pair)
    for name, surface in SURFACES.items():
        after = surface(pair, warm)
        assert pair.twin in after.ids, (act, name)
        assert pair.victim not in after.ids, (act, name)
        assert VICTIM_WORDS not in after.said.lower(), (act, name)


@pytest.mark.slow
def test_a_struck_lesson_is_nowhere_while_its_note_is(pair: Pair, warm: Serve) -> None:
    shutil.copytree(pair.place / "index", pair.place.parent / "index-before")
    telling = pair.words_of(pair.lesson)
    assert VICTIM_WORDS in telling and telling in SURFACES["cli"](pair, warm).said
    pair.elsewhere("rejected", pair.victim, struck=[pair.lesson])
    for name, surface in SURFACES.items():
        after = surface(pair, warm)
        assert pair.twin in after.ids, name
        assert pair.lesson not in after.blocks, name
        assert telling not in after.said, name


def test_another_projects_notes_are_behind_the_wall(pair: Pair) -> None:
    info = pair.cli("projects", "--vault", str(pair.vault), "--json")
    ids = {project["name"]: project["id"] for project in json.loads(info.stdout)["projects"]}
    scope = f"project:{ids['tidepool']}"
    bound = Serve("--vault", str(pair.vault), "--scope", scope)
    try:
        for name in ("warm_serve", "related", "recent", "by_id"):
            after = SURFACES[name](pair, bound)
            assert pair.twin in after.ids and pair.victim not in after.ids, name
            assert VICTIM_WORDS not in after.said.lower(), name
    finally:
        bound.close()
    cold = command(
        pair,
        "query",
        "quokka cache eviction timer",
        "--project",
        ids["lantern"],
        "--project",
        ids["tidepool"],
        "--vault",
        str(pair.vault),
        "--json",
        env={"VIR_SCOPE": scope},
    )
    assert pair.twin in cold.ids and pair.victim not in cold.ids and VICTIM_WORDS not in cold.said.lower()


@pytest.mark.slow
def test_what_programs_said_and_what_is_secret_is_on_no_surface(pair: Pair, warm: Serve) -> None:
    shutil.copytree(pair.place / "index", pair.place.parent / "index-before")
    for name, surface in SURFACES.items():
        found = surface(pair, warm)
        assert {pair.victim, pair.twin} <= found.ids, name
        assert name == "related" or TWIN_WORDS in found.said.lower(), name
        assert INTERNAL_WORDS not in found.said.lower(), name
        assert SECRET not in found.said and SECRET[4:20] not in found.said, name
    for path in pair.vault.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path
