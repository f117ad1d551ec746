"""What the benches measure on has the shape they claim, and is the same each time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from bench.make_corpus import make_corpus
from bench.make_vault import make_vault
from vir_core.journal import Journal, Texts
from vir_core.memory.facts import Memory
from vir_core.transcripts import find, survey
from vir_core.vault import parse, resolve


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_corpus_is_read_as_it_was_meant(tmp_path: Path) -> None:
    counts = make_corpus(tmp_path, files=200, seed=3, total=4_000_000)
    found = find((tmp_path / "claude/projects",), (tmp_path / "codex/sessions",))
    read = survey(found, None)
    assert not read.failures
    assert sum(one.bad_lines for one in read.sessions) == 0
    drivers = Counter(one.driver for one in read.sessions)
    assert drivers["subagent"] == counts["subagents"] == 80
    assert drivers["empty"] == counts["empty"] > 0
    assert Counter(one.source for one in read.sessions)["codex"] == counts["codex"] == 40
    assert drivers["human"] > 60
    assert 3_500_000 < counts["bytes"] < 6_000_000


def test_corpus_depends_on_its_seed_alone(tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        make_corpus(tmp_path / name, files=30, seed=seed, total=300_000)
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    assert tree(tmp_path / "a") != tree(tmp_path / "c")


def test_vault_replays_whole_and_its_files_are_those_the_journal_names(tmp_path: Path) -> None:
    vault = make_vault(tmp_path / "v", notes=25, lines=120, seed=2)
    device = resolve(vault).device
    reading = Journal(vault.store, vault.state, vault=vault.id, device=device, core="0.1.0").read(Memory)
    memory = reading.projection
    assert reading.damage.total == 0
    assert len(memory.notes) == 25
    assert Counter(one.outcome for one in memory.sessions.values())["nothing_durable"] == 120 - 2 * 25 - 2
    bodies = {parse(path.read_bytes()).id: parse(path.read_bytes()).body_sha for path in vault.base.rglob("*.md")}
    texts = Texts(vault.store)
    for note, state in memory.notes.items():
        assert state.written is not None
        assert bodies[note] == state.written.body
        assert texts.has(state.written.text)
