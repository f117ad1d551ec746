"""Every test lives in a house of its own: home, state folder and agents' folders are temporary."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
SHARED = PROJECT.parent / "shared"


def pytest_configure() -> None:
    """A shell starts what it puts in the background with interrupts ignored, and so would every vir that a test interrupts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def sandbox(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary home; returns it. The secret scanner's compiled rules are shared, they take seconds to make."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("VIR_", "CLAUDE_", "CODEX_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("VIR_STATE_DIR", str(home / "state"))
    monkeypatch.setenv("KF_RULE_CACHE_DIR", str(PROJECT / ".stamps" / "rule-cache"))
    # Loading a model takes longer than most tests; those about meaning switch it on.
    monkeypatch.setenv("VIR_EMBEDDER", "off")
    monkeypatch.setenv("LANCE_LOG", "error")
    monkeypatch.setenv("LANCEDB_LOG", "error")
    return home


@pytest.fixture
def shared() -> Path:
    """The handed data; tests that want it skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("../shared is not here")
    return SHARED


SCALE = float(os.environ.get("VIR_TEST_SCALE", "0.1"))
SEED = int(os.environ.get("VIR_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)
os.environ["VIR_TEST_SEED"] = str(SEED)  # workers of one run throw the same dice


def pytest_report_header() -> str:
    return f"counts x {SCALE} (VIR_TEST_SCALE), seed {SEED} (VIR_TEST_SEED)"


@pytest.fixture
def scaled() -> Callable[[int], int]:
    """Turns a full count into the count of this run: a tenth by default, all of it in `make nightly`."""
    return lambda full: max(1, round(full * SCALE))


@pytest.fixture
def rng() -> random.Random:
    """The seeded dice of this run; the seed is printed at its start."""
    return random.Random(SEED)
