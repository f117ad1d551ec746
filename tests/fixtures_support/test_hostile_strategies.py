"""The strategies really produce what they promise: without this, a test that draws from them could pass on plain text."""

from __future__ import annotations

import json
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.hostile_text import (
    CHARACTERS,
    INJECTIONS,
    MARKS,
    claude_transcripts,
    codex_transcripts,
    hostile_line,
    hostile_text,
)

few = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def drawn(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    found: list[Any] = []

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @hypothesis.seed(11)
    @given(strategy)
    def collect(value: object) -> None:
        found.append(value)

    collect()
    return found


def test_text_holds_markup_injections_and_half_characters() -> None:
    text = "".join(drawn(hostile_text(), 120))
    assert sum(mark in text for mark in MARKS) > 30
    assert any(words in text for words in INJECTIONS)
    assert sum(char in text for char in CHARACTERS) > 10
    assert any("\ud800" <= char <= "\udfff" for char in text)


@few
@given(hostile_line(surrogates=False))
def test_a_line_is_one_line_and_encodes(line: str) -> None:
    assert "\n" not in line
    line.encode()


@few
@given(claude_transcripts(damaged=False), codex_transcripts(damaged=False))
def test_undamaged_transcripts_are_objects_line_by_line(claude: bytes, codex: bytes) -> None:
    for line in (claude + codex).split(b"\n"):
        assert not line or isinstance(json.loads(line), dict)


@pytest.mark.parametrize("strategy", [claude_transcripts(), codex_transcripts()])
def test_damaged_transcripts_hold_broken_and_whole_lines(strategy: st.SearchStrategy[bytes]) -> None:
    whole = broken = 0
    for content in drawn(strategy, 40):
        for line in content.split(b"\n"):
            try:
                json.loads(line)
                whole += 1
            except ValueError:
                broken += bool(line)
    assert whole > 20
    assert broken > 5
