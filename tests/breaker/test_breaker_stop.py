"""A stop while the program is still loading itself."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.ingest.conftest import PROJECT
from vir_core.contract import encode_error

_STOP_WHILE_LOADING = """
import sys
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "vir_core.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stop())
sys.argv = ["vir_core", "query", "x", *sys.argv[1:]]
from vir_core.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_stop_while_loading_is_said_and_not_traced(flags: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _STOP_WHILE_LOADING, *flags], capture_output=True, text=True, cwd=PROJECT, timeout=60
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    if flags:
        said = json.loads(done.stdout)
        like = json.loads(encode_error("cancelled", "Stopped.", "Run the same command again."))
        assert said == like
    else:
        assert done.stdout == "" and done.stderr == "Stopped.\n"
