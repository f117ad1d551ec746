"""What each verb loads: a package that costs a tenth of a second is loaded only by a verb that says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ingest.conftest import PROJECT, World
from vir_core.verbs import TABLE

HEAVY = frozenset(
    {
        "lancedb",
        "lance_namespace",
        "pyarrow",
        "numpy",
        "onnxruntime",
        "pandas",
        "pydantic",
        "markdown_it",
        "ruamel",
        "kingfisher_sdk",
        "cryptography",
        "regex",
        "anthropic",
        "asyncio",
    }
)

RUNNER = """
import json, sys
from vir_core.__main__ import run
sys.argv = ["vir_core", *json.loads(sys.argv[1])]
code = run()
sys.stdout.flush()
print("LOADED", json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), code, file=sys.stderr)
"""


def loaded(*words: str) -> frozenset[str]:
    """The heavy packages that a process has loaded by the time it has answered."""
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, json.dumps(words)], capture_output=True, text=True, timeout=120, cwd=PROJECT
    )
    [line] = [line for line in done.stderr.splitlines() if line.startswith("LOADED")]
    names, _ = json.JSONDecoder().raw_decode(line[len("LOADED ") :])
    assert line.endswith(" 0"), done.stdout + done.stderr
    return frozenset(names) & HEAVY


def all_loaded(*words: str) -> frozenset[str]:
    """Everything that a process has loaded by the time it has answered, modules of ours by their full names."""
    runner = RUNNER.replace('{name.partition(".")[0] for name in sys.modules}', "sys.modules")
    done = subprocess.run(
        [sys.executable, "-c", runner, json.dumps(words)], capture_output=True, text=True, timeout=120, cwd=PROJECT
    )
    [line] = [line for line in done.stderr.splitlines() if line.startswith("LOADED")]
    names, _ = json.JSONDecoder().raw_decode(line[len("LOADED ") :])
    return frozenset(names)


@pytest.fixture
def sources(world: World) -> list[str]:
    return ["--claude-dir", str(world.claude), "--codex-dir", str(world.codex)]


def test_verbs_that_only_look_load_nothing_heavy(world: World, sources: list[str]) -> None:
    vault = ["--vault", str(world.vault)]
    for words in (
        ["--help"],
        ["--version"],
        *([name, "--help"] for name in TABLE),
        ["init", "--vault", str(world.vault)],
        ["init", "--vault", str(world.vault.parent / "Another")],
        ["sessions", *sources],
        ["sessions", *vault, *sources],
        ["doctor", *vault, *sources],
        ["runs", *vault],
        ["uninstall"],
        ["schema", "--check"],
    ):
        assert loaded(*words) == frozenset(), words


def test_a_verb_loads_no_more_than_it_says_after_a_run(world: World, sources: list[str]) -> None:
    reply = world.run()
    vault = ["--vault", str(world.vault)]
    for words in (
        ["query", "ingest worker", *vault],
        ["query", "", *vault],
        ["doctor", *vault, *sources],
        ["sessions", *vault, *sources],
        ["runs", *vault],
        world.run_words(),
    ):
        assert loaded(*words) <= TABLE[words[0]].heavy, words
    assert loaded("doctor", *vault, *sources) == loaded("runs", *vault) == frozenset()
    # A run with nothing new opens no index and scrubs nothing.
    assert loaded(*world.run_words()) == frozenset()
    assert "pyarrow" not in loaded("query", "ingest worker", *vault) or "pyarrow" in TABLE["query"].heavy
    [state] = [path for path in world.state.iterdir() if path.is_dir() and path.name.startswith("v")]
    (state / "index" / "meta.json").unlink()
    assert loaded("query", "ingest worker", *vault) <= TABLE["query"].heavy
    assert loaded("runs", *vault, "undo", reply.run) <= TABLE["runs"].heavy


def test_unusual_properties_load_no_more_than_a_verb_says(world: World, sources: list[str]) -> None:
    reply = world.run()
    note = world.vault / reply.written[0].path
    text = note.read_text("utf-8").replace("---\n", "---\nmine: {a: [1, 2], b: >-\n  x}\nlist:\n- *x\n", 1)
    note.write_text(text, "utf-8")
    vault = ["--vault", str(world.vault)]
    for words in (["query", note.stem, *vault], ["doctor", *vault, *sources], ["runs", *vault]):
        assert loaded(*words) <= TABLE[words[0]].heavy, words


def test_the_table_names_only_packages_that_we_watch() -> None:
    for verb in TABLE.values():
        assert verb.heavy <= HEAVY


def test_a_run_loads_what_it_distils_and_indexes_with(world: World) -> None:
    found = loaded(*world.run_words())
    assert {"kingfisher_sdk", "markdown_it"} <= found <= TABLE["run"].heavy
    assert Path(os.environ["VIR_STATE_DIR"]).is_dir()


def test_what_is_asked_most_loads_neither_openssl_nor_the_readers_of_transcripts(
    world: World, sources: list[str]
) -> None:
    world.run()
    vault = ["--vault", str(world.vault)]
    unwanted = {
        "_hashlib",
        "typing_extensions",
        "vir_core.transcripts.claude",
        "vir_core.transcripts.codex",
        "vir_core.transcripts.surveying",
    }
    for words in (["query", "ingest worker", *vault], ["doctor", *vault, *sources]):
        found = all_loaded(*words)
        assert "vir_core.journal" in found
        assert not unwanted & found, words
