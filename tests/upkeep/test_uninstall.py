"""Leaving: everything outside the vaults is listed and goes, the vaults stay, a run at work is not robbed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from tests.ingest.conftest import World
from vir_core.contract import UninstallReply, UninstallRequest
from vir_core.machine import hold
from vir_core.upkeep import uninstall
from vir_core.vault import open_vault


def listed() -> UninstallReply:
    return uninstall(UninstallRequest())


def applied() -> UninstallReply:
    return uninstall(UninstallRequest(apply=True))


def size_of(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())


def test_everything_in_the_state_folder_is_listed_with_its_size(world: World) -> None:
    world.run(limit=3)
    (world.state / "rule-cache").mkdir()
    (world.state / "rule-cache" / "rules").write_bytes(b"x" * 5000)
    reply = listed()
    assert {Path(item.path) for item in reply.items} == set(world.state.iterdir())
    for item in reply.items:
        assert item.bytes == size_of(Path(item.path)) and item.what and not item.removed
    state = next(item for item in reply.items if item.path == str(open_vault(world.vault).state))
    assert str(world.vault) in state.what and state.loss
    assert state.bytes > 10_000


def test_listing_removes_nothing(world: World) -> None:
    world.run(limit=2)
    before = sorted(world.state.rglob("*"))
    listed()
    assert world.cli("uninstall").returncode == 0
    assert sorted(world.state.rglob("*")) == before


def test_apply_removes_all_of_it_and_leaves_the_vault(world: World) -> None:
    first = world.run()
    tree = world.tree()
    items = listed().items
    reply = applied()
    assert {item.path for item in reply.items} == {item.path for item in items}
    assert all(item.removed for item in reply.items) and reply.failed == ()
    assert not world.state.exists()
    assert world.tree() == tree
    assert (listed().items, applied().items) == ((), ())
    assert world.ask("ingest worker").hits
    assert world.run().unchanged == len(first.written)


def test_nothing_to_remove_is_no_error(world: World) -> None:
    shutil.rmtree(world.state)
    assert listed() == applied() == UninstallReply()
    assert not world.state.exists()


def test_a_run_at_work_keeps_its_state_and_is_named(world: World) -> None:
    world.run(limit=2)
    state = open_vault(world.vault).state
    other = world.state / "v00000000000000f"
    other.mkdir()
    (other / "seen").write_bytes(b"x")
    with hold(state / "locks" / "run.lock", "run"):
        reply = applied()
        assert (state / "checkpoint").exists() and (world.state / "registry").exists()
        assert not other.exists()
        done = world.cli("uninstall", "--apply")
        assert done.returncode == 1 and "wrote nothing" not in done.stdout and "vir_core run" in done.stdout
        assert "Traceback" not in done.stderr
    failed = {failure.path: failure.message for failure in reply.failed}
    assert set(failed) == {str(state), str(world.state / "registry")}
    assert f"process {os.getpid()}" in failed[str(state)]
    assert {Path(item.path).name for item in reply.items} >= {other.name}
    assert applied().failed == () and not world.state.exists()


def test_what_is_not_ours_stays(world: World) -> None:
    world.run(limit=1)
    mine = world.state / "my notes.txt"
    mine.write_text("mine")
    folder = world.state / "vacation"
    folder.mkdir()
    link = world.state / "v00000000000000e"
    target = world.vault.parent / "target"
    target.mkdir()
    (target / "kept").write_text("kept")
    link.symlink_to(target)
    paths = {item.path for item in listed().items}
    assert str(mine) not in paths and str(folder) not in paths
    applied()
    assert mine.read_text() == "mine" and folder.is_dir() and world.state.is_dir()
    assert (target / "kept").read_text() == "kept"


def test_the_json_of_an_uninstall(world: World) -> None:
    world.run(limit=1)
    done = world.cli("uninstall", "--apply", "--json")
    value = json.loads(done.stdout)
    assert done.returncode == 0 and all(item["removed"] for item in value["items"]) and value["items"]
    assert not world.state.exists() and world.vault.is_dir()
