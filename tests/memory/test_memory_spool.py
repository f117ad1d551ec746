"""Promises: a process that died at any step left something that the next one finishes, once."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.memory.conftest import HEX, NOTES, RUNS, line, memory_of, note_line
from vir_core.contract import InitRequest
from vir_core.machine import StorageError
from vir_core.memory import Memory, Promise, Spool, keep
from vir_core.text import sha256_hex
from vir_core.upkeep import init
from vir_core.vault import Seen, SeenTable, Vault, open_vault, walk

NOTE = NOTES[0]
PATH = "vir/gotchas/Pool runs dry.md"
CONTENT = f'---\nvir_id: "{NOTE}"\n---\n## Summary\n\nThe pool.\n'.encode()


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    init(InitRequest(vault=str(tmp_path / "Notes")))
    return open_vault(tmp_path / "Notes")


def looked(vault: Vault) -> Seen:
    return walk(vault, SeenTable())


def promised(vault: Vault, **how: Any) -> tuple[Spool, Path]:
    fields: dict[str, Any] = {"kind": "write", "note": NOTE, "path": PATH, "line": HEX[0], "content": CONTENT, **how}
    spool = Spool(vault.state)
    return spool, spool.promise(Promise(**fields))


def due() -> Memory:
    return memory_of([note_line(NOTE)])


def test_a_line_without_its_file_gets_it(vault: Vault) -> None:
    spool, record = promised(vault)
    [(promise, path)] = spool.settle(vault, due(), looked(vault))
    assert (promise.note, path) == (NOTE, PATH)
    assert vault.absolute(PATH).read_bytes() == CONTENT
    assert not record.exists() and spool.open() == []
    assert spool.settle(vault, due(), looked(vault)) == []


def test_a_file_that_was_written_before_the_end_is_not_written_twice(vault: Vault) -> None:
    spool, record = promised(vault)
    moved = vault.root / "Mine" / "Another name.md"
    moved.parent.mkdir()
    moved.write_bytes(CONTENT)
    assert spool.settle(vault, due(), looked(vault)) == []
    assert not record.exists() and not vault.absolute(PATH).exists()
    assert [path.name for path in vault.root.rglob("*.md")] == ["Another name.md"]


@pytest.mark.parametrize(
    "memory",
    [
        Memory(),
        memory_of([note_line(NOTE, data={"text": HEX[1]})]),
        memory_of([note_line(NOTE), line("notes_undone", NOTE, {"run": RUNS[0]}, when=2, must=True)]),
    ],
    ids=["no line", "another text", "taken back"],
)
def test_a_promise_that_never_became_due_is_forgotten(vault: Vault, memory: Memory) -> None:
    spool, record = promised(vault)
    assert spool.settle(vault, memory, looked(vault)) == []
    assert not record.exists() and not vault.absolute(PATH).exists()


def test_a_file_of_the_persons_at_that_path_stays_and_the_note_lies_beside_it(vault: Vault) -> None:
    spool, _ = promised(vault)
    target = vault.absolute(PATH)
    target.parent.mkdir(parents=True)
    target.write_text("mine")
    [(_, path)] = spool.settle(vault, due(), looked(vault))
    assert target.read_text() == "mine"
    assert path != PATH and vault.absolute(path).read_bytes() == CONTENT


def test_a_target_that_a_person_edited_keeps_their_words(vault: Vault) -> None:
    target = vault.absolute(PATH)
    target.parent.mkdir(parents=True)
    target.write_bytes(CONTENT)
    changed = CONTENT + b"\nmore\n"
    spool, record = promised(vault, content=changed, expected=sha256_hex(CONTENT))
    [(_, path)] = spool.settle(vault, due(), looked(vault))
    assert path == PATH and target.read_bytes() == changed
    mine = CONTENT + b"\nmine\n"
    target.write_bytes(mine)
    spool, record = promised(vault, content=changed, expected=sha256_hex(CONTENT))
    assert spool.settle(vault, due(), looked(vault)) == []
    assert target.read_bytes() == mine and not record.exists()
    target.unlink()
    promised(vault, content=changed, expected=sha256_hex(CONTENT))
    assert spool.settle(vault, due(), looked(vault)) == []
    assert not target.exists()


def test_a_promised_move_is_done_once_and_never_onto_another_file(vault: Vault) -> None:
    memory = memory_of([note_line(NOTE), line("notes_undone", NOTE, {"run": RUNS[0]}, when=2, must=True)])
    source = vault.absolute(PATH)
    archived = "vir/store/archived/Pool runs dry.md"
    move: dict[str, Any] = {"kind": "move", "path": archived, "source": PATH, "line": RUNS[0], "content": b""}
    source.parent.mkdir(parents=True)
    source.write_bytes(CONTENT)
    spool, _ = promised(vault, **move, expected=sha256_hex(CONTENT))
    assert [path for _, path in spool.settle(vault, memory, looked(vault))] == [archived]
    assert not source.exists() and vault.absolute(archived).read_bytes() == CONTENT
    # It died between the move and forgetting the promise.
    promised(vault, **move, expected=sha256_hex(CONTENT))
    assert spool.settle(vault, memory, looked(vault)) == []
    assert vault.absolute(archived).read_bytes() == CONTENT
    source.write_bytes(CONTENT)
    promised(vault, **move, expected=sha256_hex(CONTENT))
    [(_, second)] = spool.settle(vault, memory, looked(vault))
    assert second != archived and vault.absolute(second).is_file() and vault.absolute(archived).is_file()
    source.write_bytes(CONTENT + b"mine")
    promised(vault, **move, expected=sha256_hex(CONTENT))
    assert spool.settle(vault, memory, looked(vault)) == [] and source.exists()
    promised(vault, **move, expected=sha256_hex(source.read_bytes()))
    assert spool.settle(vault, due(), looked(vault)) == [] and source.exists()


def test_a_record_that_says_nothing_is_forgotten_and_one_the_disk_withholds_stays(vault: Vault) -> None:
    spool, record = promised(vault)
    record.write_bytes(b"\xc1 torn")
    assert [promise for _, promise in spool.open()] == [None]
    assert spool.settle(vault, due(), looked(vault)) == [] and not record.exists()
    record.mkdir()
    assert [promise for _, promise in spool.open()] == [None]
    with pytest.raises(StorageError):
        spool.settle(vault, due(), looked(vault))
    assert record.exists()


def test_one_file_that_cannot_be_written_keeps_its_promise_and_lets_the_others_through(vault: Vault) -> None:
    spool, record = promised(vault)
    other = "vir/tools/Other.md"
    promised(vault, note=NOTES[1], path=other, content=CONTENT.replace(NOTE.encode(), NOTES[1].encode()))
    target = vault.absolute(PATH)
    target.parent.write_text("a file where the folder must be")
    memory = memory_of([note_line(NOTE), note_line(NOTES[1], when=2)])
    assert [path for _, path in spool.settle(vault, memory, looked(vault))] == [other]
    [(promise, why)] = spool.refused
    assert promise.note == NOTE and why and record.exists()
    target.parent.unlink()
    assert [path for _, path in spool.settle(vault, memory, looked(vault))] == [PATH]
    assert spool.refused == [] and spool.open() == []


def test_a_disk_that_refuses_everything_keeps_every_promise(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(disk)]
    if not hasattr(os, "geteuid") or os.geteuid() or subprocess.run(mount, check=False).returncode:
        pytest.skip("only root can mount")
    try:
        init(InitRequest(vault=str(disk / "Notes")))
        vault = open_vault(disk / "Notes")
        spool, record = promised(vault)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(StorageError):
            spool.settle(vault, due(), looked(vault))
        assert record.exists()
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        assert len(spool.settle(vault, due(), looked(vault))) == 1
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_no_spool_folder_is_no_promise(vault: Vault) -> None:
    shutil.rmtree(vault.state, ignore_errors=True)
    assert Spool(vault.state).open() == [] and not vault.state.exists()


def test_keeping_a_new_note_without_a_walk_writes_it(vault: Vault) -> None:
    promise = Promise(kind="write", note=NOTE, path=PATH, line=HEX[0], content=CONTENT)
    assert keep(vault, promise) == PATH
    assert vault.absolute(PATH).read_bytes() == CONTENT
