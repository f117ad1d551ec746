"""A vault over the example sessions, as young as if they had just ended."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.ingest.conftest import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    for root in (world.claude, world.codex):
        for path in root.rglob("*.jsonl"):
            os.utime(path, (time.time() - 3600, time.time() - 3600))
    return world
