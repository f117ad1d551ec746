"""The example projection, taken from the docstring that shows it, and journals in temporary folders."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from vir_core.journal import Draft, Journal, Line, replay

VAULT = "v" + "1" * 15


def example() -> type[Any]:
    source = (replay.__doc__ or "").partition("class Latest:")[2]
    namespace: dict[str, Any] = {"msgspec": msgspec, "Line": Line}
    exec(textwrap.dedent("    class Latest:" + source), namespace)
    return namespace["Latest"]


@pytest.fixture
def latest() -> type[Any]:
    return example()


@pytest.fixture
def journal(tmp_path: Path) -> Callable[..., Journal]:
    """Makes a journal over `tmp_path/store`; each device has its own state folder."""

    def make(device: str = "d1", **how: Any) -> Journal:
        (tmp_path / "store").mkdir(exist_ok=True)
        state = how.pop("state", tmp_path / f"state-{device}")
        return Journal(tmp_path / "store", state, vault=how.pop("vault", VAULT), device=device, core="0.1.0", **how)

    return make


@pytest.fixture
def say(latest: type[Any]) -> Callable[..., list[Line]]:
    """Appends a `held` line for each subject, in one batch."""

    def append(journal: Journal, *subjects: str) -> list[Line]:
        with journal.writing("test", latest) as writer:
            drafts = [Draft("held", subject, {"reason": "flagged"}, must=True) for subject in subjects]
            return writer.append(drafts, kind="person", surface="cli")

    return append
