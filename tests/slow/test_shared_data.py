"""The handed transcripts, all of them, through `run`."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]


def vir(*words: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "vir_core", *words, "--json"], capture_output=True, text=True, cwd=PROJECT, timeout=300
    )
    assert "Traceback" not in done.stderr and done.stderr == "", done.stderr
    return json.loads(done.stdout)


def tree(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
def test_every_handed_file_is_accounted_for_and_a_second_run_changes_nothing(shared: Path, tmp_path: Path) -> None:
    vault = tmp_path / "Notes"
    vault.mkdir()
    vir("init", "--vault", str(vault))
    data = shared / "data"
    sources = [
        "--claude-dir",
        str(data / "transcripts"),
        "--claude-dir",
        str(data / "real-cli" / "claude-code"),
        "--codex-dir",
        str(data / "real-cli" / "codex" / "sessions"),
    ]
    reply = vir("run", "--vault", str(vault), *sources)
    files = [
        path
        for root in (data / "transcripts", data / "real-cli" / "claude-code", data / "real-cli" / "codex" / "sessions")
        for path in root.rglob("*.jsonl")
    ]
    # Not transcripts by name and place: the labels, and the typed prompts of all sessions.
    known = [path for path in files if path.name not in {"labels.jsonl", "history.jsonl"}]
    counted = (
        len(reply["written"])
        + len(reply["kept"])
        + reply["unchanged"]
        + len(reply["failed"])
        + sum(reply["skipped"].values())
    )  # type: ignore[arg-type, operator]
    assert counted >= len(known)
    assert counted <= len(files)
    assert reply["failed"] == []
    before = tree(vault)
    again = vir("run", "--vault", str(vault), *sources)
    assert again["written"] == [] and again["run"] == ""
    assert tree(vault) == before
    assert vir("query", "git hook", "--vault", str(vault))["hits"]
    assert vir("doctor", "--vault", str(vault), *sources)["journal"]["damaged"] == 0  # type: ignore[index]
