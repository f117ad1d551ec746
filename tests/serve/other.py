"""Another process that writes one line of history: `python -m tests.serve.other VAULT ACTION SUBJECT DATA`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.ingest.conftest import PROJECT


def write_elsewhere(vault: Path, action: str, subject: str, **data: Any) -> None:
    """Returns when the line is durable."""
    subprocess.run(
        [sys.executable, "-m", "tests.serve.other", str(vault), action, subject, json.dumps(data)],
        check=True,
        timeout=60,
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )


def main(where: str, action: str, subject: str, data: str) -> None:
    from vir_core.journal import Draft, Journal
    from vir_core.memory import Memory
    from vir_core.vault import open_vault, resolve

    vault = open_vault(where)
    journal = Journal(vault.store, vault.state, vault=vault.id, device=resolve(vault).device, core="0.1.0")
    with journal.writing("test", Memory) as writer:
        draft = Draft(action=action, subject=subject, data=json.loads(data), must=True)
        writer.append([draft], kind="person", surface="test")


if __name__ == "__main__":
    main(*sys.argv[1:])
