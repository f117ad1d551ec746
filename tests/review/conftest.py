"""A vault over the example sessions, after its first run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ingest.conftest import World
from vir_core.contract import FlagReply, FlagRequest, ReviewReply, ReviewRequest
from vir_core.review import flag, review

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

    def found(self, text: str = ABOUT) -> list[str]:
        return [hit.id for hit in self.ask(text).hits]


@pytest.fixture
def world(tmp_path: Path) -> Judging:
    world = Judging(tmp_path)
    world.run()
    return world
