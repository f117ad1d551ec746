"""The vault over the example sessions, as the tests of the run have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.conftest import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
