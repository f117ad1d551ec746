"""docs/trust.md says what the table of acts says, and names files, symbols and tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vir_core.authority import ACTS

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs" / "trust.md").read_text("utf-8")


def table(heading: str) -> list[list[str]]:
    part = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_the_acts_are_those_of_the_code() -> None:
    told = {row[0].strip("`"): row[1:] for row in table("The acts")}
    assert told == {
        act.action: [act.effect, ", ".join(sorted(act.writers)), act.proof, "yes" if act.must else "no", act.what]
        for act in ACTS.values()
    }


@pytest.mark.parametrize("row", table("Seven marks"), ids=lambda row: row[0])
def test_every_mark_has_its_file_its_symbol_and_its_test(row: list[str]) -> None:
    _, _, file, symbol, test = (cell.strip("`") for cell in row)
    source = (PROJECT / file).read_text("utf-8")
    for name in symbol.split("."):
        assert re.search(rf"^\s*(?:class|def) {name}\b", source, re.MULTILINE), (file, name)
    if test != "the same":
        path, _, function = test.partition("::")
        assert f"def {function}(" in (PROJECT / path).read_text("utf-8") if function else (PROJECT / path).is_file()


def test_there_are_seven_marks() -> None:
    assert len(table("Seven marks")) == 7
