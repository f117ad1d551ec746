from __future__ import annotations

import os
from pathlib import Path

import pytest

import vir_core.vault.seen as module
from vir_core.text import sha256_hex
from vir_core.vault import CONFIG, STORE, Config, SeenTable, Vault, look_at, open_vault, walk, write_config

IDS = [f"n{n:015x}" for n in range(20)]


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    (tmp_path / "v" / ".obsidian").mkdir(parents=True)
    (tmp_path / "v" / "vir" / STORE).mkdir(parents=True)
    write_config(tmp_path / "v" / "vir" / STORE / CONFIG, Config(id="v0123456789abcde"))
    return open_vault(tmp_path / "v")


def put(vault: Vault, path: str, id: str = "", body: str = "words\n", aged: bool = True) -> Path:
    file = vault.absolute(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    front = f'---\nvir_id: "{id}"\n---\n' if id else "---\ntitle: mine\n---\n"
    file.write_text(front + body)
    if aged:
        age(file)
    return file


def age(file: Path) -> None:
    stat = file.stat()
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns - 5_000_000_000))


def test_notes_are_found_wherever_they_lie_in_the_vault(vault: Vault) -> None:
    put(vault, "vir/gotchas/a.md", IDS[0])
    put(vault, "Areas/Work/b renamed.md", IDS[1])
    put(vault, "c.MD", IDS[2])
    put(vault, "Daily/today.md")
    put(vault, "vir/gotchas/by hand.md")
    seen = walk(vault, SeenTable())
    assert {id: [file.path for file in files] for id, files in seen.notes.items()} == {
        IDS[0]: ["vir/gotchas/a.md"],
        IDS[1]: ["Areas/Work/b renamed.md"],
        IDS[2]: ["c.MD"],
    }
    assert seen.notes[IDS[0]][0].body == sha256_hex(b"words\n")
    assert seen.foreign == ("vir/gotchas/by hand.md",)
    assert seen.changed == {IDS[0], IDS[1], IDS[2]}
    assert seen.complete
    assert seen.fresh


def test_what_obsidian_hides_and_what_is_out_of_service_is_left_out(vault: Vault) -> None:
    for number, path in enumerate(
        [".trash/a.md", ".obsidian/b.md", ".git/c.md", "node_modules/x/d.md", "vir/store/archived/e.md", ".f.md"]
    ):
        put(vault, path, IDS[number])
    put(vault, "store/kept.md", IDS[9])
    assert list(walk(vault, SeenTable()).notes) == [IDS[9]]


def test_a_second_walk_reads_no_file_and_says_so(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, id in enumerate(IDS):
        put(vault, f"vir/tools/{number}.md", id)
    first = walk(vault, SeenTable())
    first.table.save(vault.state, vault.root)
    table = SeenTable.load(vault.state, vault.root)
    assert table.files == first.table.files
    monkeypatch.setattr(module, "_read", lambda *_: pytest.fail("a file was read"))
    second = walk(vault, table)
    assert (second.changed, second.fresh, second.notes) == (frozenset(), False, first.notes)


def test_edit_move_copy_delete_and_new_show_as_changed(vault: Vault) -> None:
    _, moved, _, deleted, touched = (put(vault, f"vir/tools/{n}.md", IDS[n]) for n in range(5))
    put(vault, "vir/tools/same.md", IDS[9])
    first = walk(vault, SeenTable())
    put(vault, "vir/tools/0.md", IDS[0], "other words\n")
    moved.rename(vault.absolute("moved.md"))
    put(vault, "copy.md", IDS[2])
    deleted.unlink()
    os.utime(touched)
    age(touched)
    age(touched)
    put(vault, "vir/tools/new.md", IDS[5])
    seen = walk(vault, first.table)
    assert seen.changed == {IDS[0], IDS[1], IDS[2], IDS[3], IDS[5]}
    assert [file.path for file in seen.notes[IDS[1]]] == ["moved.md"]
    assert [file.path for file in seen.notes[IDS[2]]] == ["copy.md", "vir/tools/2.md"]
    assert IDS[3] not in seen.notes
    assert seen.table.by_id(IDS[2]) == seen.notes[IDS[2]]
    assert seen.table.by_id(IDS[3]) == ()


def test_a_change_that_keeps_size_and_time_is_not_missed_in_a_young_file(vault: Vault) -> None:
    file = put(vault, "vir/tools/a.md", IDS[0], "one\n", aged=False)
    first = walk(vault, SeenTable())
    stat = file.stat()
    file.write_text(file.read_text().replace("one", "two"))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert walk(vault, first.table).changed == {IDS[0]}


def test_a_damaged_note_keeps_its_id(vault: Vault) -> None:
    vault.base.joinpath("a.md").write_bytes(f"---\nvir_id: {IDS[0]}\nx: 1\n\n## Summary\n".encode())
    vault.base.joinpath("b.md").write_bytes(f"---\nvir_id: {IDS[1]}\ntrust: a\ntrust: b\n---\n".encode())
    vault.base.joinpath("c.md").write_bytes(b"---\nno id and no end\n" * 500)
    vault.base.joinpath("d.md").write_bytes(b"")
    vault.base.joinpath("e.md").write_bytes("---\nvir_id: x\n---\n".encode("utf-16"))
    vault.base.joinpath("f.md").write_bytes(b"---\n" + b"tags: [x]\n" * 900 + f"vir_id: {IDS[2]}\n---\nbody".encode())
    seen = walk(vault, SeenTable())
    assert {id: bool(files[0].broken) for id, files in seen.notes.items()} == {
        IDS[0]: True,
        IDS[1]: True,
        IDS[2]: False,
    }
    assert seen.notes[IDS[2]][0].body == sha256_hex(b"body")
    assert not seen.problems


def test_links_are_not_followed_but_a_linked_vir_folder_is_entered(vault: Vault, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    vault.base.rename(tmp_path / "real vir")
    vault.root.joinpath("vir").symlink_to(tmp_path / "real vir")
    put(vault, "vir/tools/a.md", IDS[0])
    (outside / "b.md").write_text(f"---\nvir_id: {IDS[1]}\n---\n")
    vault.root.joinpath("more").symlink_to(outside)
    vault.root.joinpath("loop").symlink_to(vault.root)
    vault.root.joinpath("link.md").symlink_to(outside / "b.md")
    seen = walk(open_vault(vault.root), SeenTable())
    assert {id: [file.path for file in files] for id, files in seen.notes.items()} == {IDS[0]: ["vir/tools/a.md"]}


def test_what_could_not_be_looked_at_is_not_taken_for_gone(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    put(vault, "vir/tools/a.md", IDS[0])
    put(vault, "vir/gotchas/b.md", IDS[1])
    first = walk(vault, SeenTable())
    scan = os.scandir

    def refuse(folder: str) -> object:
        if folder.endswith("gotchas"):
            raise PermissionError(13, "Permission denied", folder)
        return scan(folder)

    monkeypatch.setattr(module.os, "scandir", refuse)
    seen = walk(vault, first.table)
    assert not seen.complete
    assert seen.problems == (("vir/gotchas/", "Permission denied"),)
    assert set(seen.notes) == {IDS[0], IDS[1]}
    assert seen.changed == frozenset()
    monkeypatch.undo()
    ticks = iter(range(100))
    short = walk(vault, first.table, seconds=1.5, clock=lambda: next(ticks))
    assert not short.complete
    assert set(short.notes) == {IDS[0], IDS[1]}


def test_a_missing_root_or_base_is_an_incomplete_or_empty_answer(vault: Vault) -> None:
    put(vault, "vir/tools/a.md", IDS[0])
    first = walk(vault, SeenTable())
    vault.root.rename(vault.root.with_name("gone"))
    seen = walk(vault, first.table)
    assert not seen.complete
    assert set(seen.notes) == {IDS[0]}
    vault.root.with_name("gone").rename(vault.root)
    vault.store.rename(vault.root / "elsewhere")
    assert not walk(vault, first.table).complete
    vault.root.joinpath("vir", "tools", "a.md").unlink()
    assert set(walk(vault, first.table).notes) == {IDS[0]}
    vault.root.joinpath("elsewhere").rename(vault.store)
    assert walk(vault, first.table).complete
    assert not walk(vault, first.table).notes


def test_cloud_placeholders_are_named(vault: Vault) -> None:
    vault.base.joinpath(".Title.md.icloud").write_bytes(b"bplist00")
    assert walk(vault, SeenTable()).placeholders == ("vir/Title.md",)


def test_names_that_are_not_unicode_are_a_problem_and_stop_nothing(vault: Vault) -> None:
    put(vault, "vir/a.md", IDS[0])
    with open(os.fsencode(vault.base) + b"/b\xff.md", "w") as file:  # noqa: PTH123
        file.write(f"---\nvir_id: {IDS[1]}\n---\n")
    seen = walk(vault, SeenTable())
    assert set(seen.notes) == {IDS[0]}
    assert seen.problems == (("vir/b?.md", "its name is not Unicode"),)
    seen.table.save(vault.state, vault.root)


def test_a_damaged_or_foreign_table_is_an_empty_one(vault: Vault) -> None:
    put(vault, "vir/a.md", IDS[0])
    walk(vault, SeenTable()).table.save(vault.state, vault.root)
    assert SeenTable.load(vault.state, vault.root).files
    assert not SeenTable.load(vault.state, vault.root.parent).files
    for damage in (b"", b"\x00", b"\x93\x02", b"not msgpack at all"):
        (vault.state / "seen").write_bytes(damage)
        assert not SeenTable.load(vault.state, vault.root).files


def test_one_file_is_looked_at_without_a_walk(vault: Vault) -> None:
    file = put(vault, "vir/a.md", IDS[0])
    row = look_at(vault, "vir/a.md")
    assert row is not None
    assert row.id == IDS[0]
    assert look_at(vault, "vir/a.md", row) is row
    file.write_text(file.read_text() + "more\n")
    new = look_at(vault, "vir/a.md", row)
    assert new is not None
    assert new.body != row.body
    assert look_at(vault, "vir/gone.md") is None
