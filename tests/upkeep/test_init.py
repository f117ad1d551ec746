from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vir_core.contract.replies import InitReply
from vir_core.contract.requests import InitRequest
from vir_core.machine import StorageError, state_home
from vir_core.upkeep.init import SYNC_ON, SYNC_ONCE, InitRefused, Look, init, plan_init
from vir_core.vault import CONFIG, open_vault, read_config, resolve


def run(root: Path, **options: object) -> InitReply:
    return init(InitRequest(vault=str(root), **options), Path("/"))  # pyright: ignore


def tree(*roots: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns)
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.name.endswith(".lock")
    }


def test_init_makes_a_vault_and_a_second_run_changes_no_byte(tmp_path: Path) -> None:
    root = tmp_path / "new" / "vault"
    reply = run(root)
    assert reply.created == ("vir/store", "vir/vir.base", "vir/store/config.yaml")
    assert (reply.vault, reply.folder) == (str(root), "vir")
    assert reply.device.startswith("d")
    assert reply.notices == (f"{root} was not there and has been made.", SYNC_ONCE)
    vault = open_vault(root)
    assert vault.id == reply.id
    assert resolve(vault).kind == "known"
    before = tree(root, state_home())
    again = run(root)
    assert (again.created, again.id, again.device, again.notices) == ((), reply.id, reply.device, ())
    assert run(root / "vir") == again
    assert tree(root, state_home()) == before


def test_a_vault_inside_obsidians_gets_obsidians_root(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    reply = run(tmp_path / "work", folder="agents/vir")
    assert (reply.vault, reply.folder) == (str(tmp_path), "work/agents/vir")
    assert read_config(tmp_path / "work/agents/vir/store" / CONFIG).folder == "work/agents/vir"  # pyright: ignore
    assert run(tmp_path).id == reply.id


def test_a_deleted_view_stays_deleted_until_it_is_asked_for(tmp_path: Path) -> None:
    run(tmp_path)
    view = tmp_path / "vir" / "vir.base"
    view.unlink()
    assert run(tmp_path).created == ()
    assert not view.exists()
    assert run(tmp_path, base=True).created == ("vir/vir.base",)
    view.write_text("mine")
    assert "left as it is" in run(tmp_path, base=True).notices[0]
    assert view.read_text() == "mine"


def test_notes_of_the_persons_own_are_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "vir").mkdir()
    note = tmp_path / "vir" / "mine.md"
    note.write_text("---\ntopic: session_id\n---\nsession_id: in the text\n")
    run(tmp_path)
    assert note.read_text().endswith("in the text\n")


def test_a_folder_of_another_tool_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "vir" / "patterns").mkdir(parents=True)
    (tmp_path / "vir" / "patterns" / "a-1234.md").write_text('---\r\ntopic: "a"\r\nsession_id: 1234\r\n---\r\nbody')
    before = tree(tmp_path)
    with pytest.raises(InitRefused, match="another tool"):
        run(tmp_path)
    assert tree(tmp_path) == before
    assert not (tmp_path / "vir" / "store").exists()
    assert run(tmp_path, folder="notes").folder == "notes"


@pytest.mark.parametrize("place", ["vir", "vir/store", "vir/store/config.yaml/", ""])
def test_something_in_the_way_is_refused(tmp_path: Path, place: str) -> None:
    root = tmp_path / "v"
    if place.endswith("/"):
        (root / place).mkdir(parents=True)
    else:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text("x")
    with pytest.raises(InitRefused, match="is a file where"):
        run(root)


def test_a_place_that_cannot_be_written_is_refused() -> None:
    with pytest.raises((InitRefused, StorageError)):
        run(Path("/proc/vault"))
    with pytest.raises(InitRefused, match="cannot be written"):
        plan_init(InitRequest(vault="/v"), Look(given=Path("/v"), root=Path("/v"), folder="vir", unwritable="/v"))


def test_a_half_synced_or_damaged_folder_is_not_made_anew(tmp_path: Path) -> None:
    (tmp_path / "vir" / "store" / "journal" / "d1").mkdir(parents=True)
    with pytest.raises(InitRefused, match="history but no"):
        run(tmp_path)
    (tmp_path / "vir" / "store" / CONFIG).write_text("vir: ???\n")
    with pytest.raises(InitRefused, match="does not name a vault"):
        run(tmp_path)
    assert (tmp_path / "vir" / "store" / CONFIG).read_text() == "vir: ???\n"


@pytest.mark.parametrize("folder", ["", "/", "..", "a/../b", ".vir", "_vir", "a:b", "x#y", "a//b", " "])
def test_a_folder_obsidian_would_not_show_is_refused(tmp_path: Path, folder: str) -> None:
    with pytest.raises(InitRefused):
        run(tmp_path, folder=folder)
    assert not list(tmp_path.iterdir())


def test_a_second_vir_folder_in_one_vault_is_refused(tmp_path: Path) -> None:
    run(tmp_path)
    with pytest.raises(InitRefused, match="already: vir"):
        run(tmp_path, folder="other")


def test_clashing_property_types_propose_a_prefix_that_fits(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    types = {"category": "multitext", "date": "datetime", "project": "text", "vir_trust": "checkbox"}
    (tmp_path / ".obsidian" / "types.json").write_text(json.dumps({"types": types}))
    (notice, _) = run(tmp_path).notices
    assert "category as multitext" in notice
    assert "date" not in notice.split(".")[0]
    assert "--prefix virnote_" in notice
    assert [n for n in run(tmp_path, prefix="virnote_").notices if "types" in n or "already uses" in n] == []
    assert open_vault(tmp_path).config.prefix == "virnote_"
    for damage in (b"", b"[1]", b'{"types": 3}', b"\xff"):
        (tmp_path / ".obsidian" / "types.json").write_bytes(damage)
        run(tmp_path)
    for bad in ("1x", "a b", "a:", "x" * 17):
        with pytest.raises(InitRefused):
            run(tmp_path, prefix=bad)


@pytest.mark.parametrize(
    ("plugins", "on"), [({"sync": True}, True), ({"sync": False}, False), (["sync"], True), (["x"], False)]
)
def test_obsidian_sync_is_named_when_it_is_on(tmp_path: Path, plugins: object, on: bool) -> None:
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian" / "core-plugins.json").write_text(json.dumps(plugins))
    assert run(tmp_path).notices == ((SYNC_ON if on else SYNC_ONCE),)
    assert run(tmp_path).notices == ((SYNC_ON,) if on else ())


def test_a_copy_says_so_and_becomes_a_vault_of_its_own(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    first = run(one)
    shutil.copytree(one, two)
    before = tree(two, state_home())
    with pytest.raises(InitRefused, match="is a copy") as refused:
        run(two)
    assert "--moved" in refused.value.hint
    assert tree(two, state_home()) == before
    second = run(two, copied=True)
    assert second.id != first.id
    assert second.device != first.device
    assert open_vault(two).config.was == (first.id,)
    assert open_vault(two).config.ids == (second.id, first.id)
    after = tree(two, state_home())
    assert run(two, copied=True).id == second.id
    assert run(two).device == second.device
    assert tree(two, state_home()) == after
    assert run(one).device == first.device


def test_a_moved_vault_is_found_again_and_moved_settles_a_copy(tmp_path: Path) -> None:
    first = run(tmp_path / "one")
    shutil.move(tmp_path / "one", tmp_path / "two")
    assert run(tmp_path / "two").device == first.device
    shutil.copytree(tmp_path / "two", tmp_path / "three")
    assert run(tmp_path / "three", moved=True).device == first.device
    assert resolve(open_vault(tmp_path / "three")).kind == "known"
    assert resolve(open_vault(tmp_path / "two")).kind == "copy"
    with pytest.raises(InitRefused, match="opposite"):
        run(tmp_path / "three", moved=True, copied=True)


def test_a_copy_taken_to_another_machine_becomes_its_own_once(tmp_path: Path) -> None:
    first = run(tmp_path / "one")
    shutil.rmtree(state_home())
    second = run(tmp_path / "one", copied=True)
    assert second.id != first.id
    assert run(tmp_path / "one", copied=True).id == second.id


def test_two_inits_at_once_make_one_vault(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: run(tmp_path), range(8)))
    assert len({reply.id for reply in replies}) == 1
    assert len({reply.device for reply in replies}) == 1


def test_planning_touches_no_disk() -> None:
    plan = plan_init(InitRequest(vault="/v"), Look(given=Path("/v"), root=Path("/v"), folder="vir"), "v0123456789abcde")
    assert (plan.new, plan.base, plan.config.id, plan.config.base) == (True, True, "v0123456789abcde", True)
