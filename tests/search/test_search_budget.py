"""An answer that fits what its reader has for it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vir_core.contract import Hit
from vir_core.search.budget import fitted, tokens_of


def hit(number: int = 1, snippet: str = "short", text: str = "") -> Hit:
    return Hit(
        id=f"n{number:015x}",
        type="note",
        path=f"vir/gotchas/Note {number}.md",
        title=f"Note {number}",
        category="gotcha",
        project="api-server",
        date="2026-11-30",
        score=1.0,
        trust="unreviewed",
        confidence=0.5,
        snippet=snippet,
        block="",
        text=text,
    )


def cost(hits: tuple[Hit, ...]) -> int:
    return sum(tokens_of(msgspec.json.encode(one).decode()) for one in hits)


def test_everything_stays_as_it_is_where_it_fits() -> None:
    hits = [hit(n, text="whole words") for n in range(3)]
    assert fitted(hits, 10_000) == (tuple(hits), 0)
    assert fitted(hits, 0) == (tuple(hits), 0)
    assert fitted([], 5) == ((), 0)


def test_every_hit_has_its_snippet_before_any_has_its_text() -> None:
    hits = [hit(n, snippet="word " * 40, text="text " * 400) for n in range(4)]
    shown, cut = fitted(hits, 900)
    assert len(shown) == 4 and all(one.snippet for one in shown)
    assert shown[0].text.startswith("text text") and shown[0].text.endswith("…")
    assert not any(one.text for one in shown[1:])
    assert cut == 4 and cost(shown) <= 960


def test_the_best_stays_and_the_last_go() -> None:
    hits = [hit(n, snippet="word " * 40) for n in range(20)]
    shown, cut = fitted(hits, 500)
    assert [one.id for one in shown] == [one.id for one in hits[: len(shown)]]
    assert 1 < len(shown) < 20 and cut >= 20 - len(shown)
    assert cost(shown) <= 500
    alone, cut = fitted(hits, 1)
    assert [one.id for one in alone] == [hits[0].id] and cut == 20 - 1


@pytest.mark.parametrize(("text", "least"), [("abcd" * 10, 10), ("数据库连接池", 6), ("", 0), ("naïve", 2)])
def test_tokens_are_rather_overcounted(text: str, least: int) -> None:
    assert tokens_of(text) >= least


_words = st.builds(lambda piece, times: piece * times, st.text(min_size=1, max_size=6), st.integers(0, 80))


@given(st.lists(st.tuples(_words, _words), max_size=6), st.integers(1, 2000))
def test_a_budget_is_kept_but_for_the_first_hit(texts: list[tuple[str, str]], budget: int) -> None:
    hits = [hit(n, snippet=one, text=two) for n, (one, two) in enumerate(texts)]
    shown, cut = fitted(hits, budget)
    assert len(shown) <= len(hits)
    if len(shown) > 1:
        bare = tuple(msgspec.structs.replace(one, text="") for one in shown)
        assert cost(bare) + sum(tokens_of(one.text) for one in shown) <= budget + 1
    assert (cut == 0) == (list(shown) == hits)
