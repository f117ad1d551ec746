from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from vir_core.machine import state_home
from vir_core.vault import (
    CONFIG,
    STORE,
    Config,
    ConfigError,
    CopyOfVault,
    NoVault,
    Vault,
    adopt,
    find_vault,
    open_vault,
    parse_config,
    read_config,
    read_registry,
    registry_path,
    resolve,
    write_config,
)

ID = "v0123456789abcde"
OTHER = "vfedcba987654321"


def make(base: Path, *, id: str = ID, folder: str = "vir") -> Path:
    (base / STORE).mkdir(parents=True)
    write_config(base / STORE / CONFIG, Config(id=id, folder=folder))
    return base


# Finding


@pytest.mark.parametrize("folder", ["vir", "notes/agents/vir"])
@pytest.mark.parametrize("obsidian", [True, False])
def test_root_and_folder_open_the_same_vault(tmp_path: Path, folder: str, obsidian: bool) -> None:
    root = tmp_path / "vault"
    make(root / folder, folder=folder)
    if obsidian:
        (root / ".obsidian").mkdir()
    expected = Vault(root=root, folder=folder, id=ID, config=Config(id=ID, folder=folder))
    assert open_vault(root) == expected
    assert open_vault(root / folder) == expected
    assert open_vault(f"{root}/{folder}/../{Path(folder).name}/") == expected
    assert expected.store == root / folder / "store"
    assert expected.state == state_home() / ID
    assert expected.relative(root / folder / "gotchas" / "x.md") == f"{folder}/gotchas/x.md"


def test_the_folder_obsidian_opens_is_the_root_even_when_init_was_given_another(tmp_path: Path) -> None:
    base = make(tmp_path / "vault" / "work" / "vir")
    assert open_vault(base).root == tmp_path / "vault" / "work"
    (tmp_path / "vault" / ".obsidian").mkdir()
    assert open_vault(base).root == tmp_path / "vault"
    assert open_vault(base).folder == "work/vir"


def test_a_folder_renamed_in_obsidian_is_still_the_vault(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    make(tmp_path / "vir")
    (tmp_path / "vir").rename(tmp_path / "Lernen")
    vault = open_vault(tmp_path)
    assert (vault.root, vault.folder) == (tmp_path, "Lernen")
    assert open_vault(tmp_path / "Lernen") == vault


def test_find_goes_from_argument_to_environment_to_here(tmp_path: Path) -> None:
    one, two, three = (make(tmp_path / name / "vir", id=f"v{n}23456789abcdef"[:16]) for n, name in enumerate("abc"))
    env = {"VIR_VAULT": str(two.parent)}
    assert find_vault(str(one.parent), env, three).base == one
    assert find_vault("a", env, tmp_path).base == one
    assert find_vault("", env, three).base == two
    (three / "gotchas" / "deep").mkdir(parents=True)
    for here in (three, three / "gotchas" / "deep", three.parent, three / STORE):
        assert find_vault("", {}, here).base == three
    (three.parent / ".obsidian").mkdir()
    (three.parent / "daily" / "2026").mkdir(parents=True)
    assert find_vault("", {}, three.parent / "daily" / "2026").base == three


def test_no_vault_says_what_was_looked_for_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "plain" / "store").mkdir(parents=True)
    (tmp_path / "plain" / "store" / "config.yaml").write_text("port: 8080\n")
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "gone", tmp_path / "file", tmp_path / "plain", tmp_path):
        with pytest.raises(NoVault) as missing:
            open_vault(path)
        assert "init" in missing.value.hint
    with pytest.raises(NoVault):
        find_vault("", {}, tmp_path)
    with pytest.raises(NoVault):
        find_vault("~nobody-of-this-name/vault", {}, tmp_path)
    with pytest.raises(NoVault):
        find_vault("a\0b" + "c" * 5000, {}, tmp_path)


def test_two_vir_folders_ask_which_one(tmp_path: Path) -> None:
    make(tmp_path / "vir")
    make(tmp_path / "vir 2", id=OTHER)
    with pytest.raises(NoVault, match="vir, vir 2"):
        open_vault(tmp_path)
    assert open_vault(tmp_path / "vir 2").id == OTHER


def test_a_half_synced_folder_is_not_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / "vir" / STORE / "journal" / "d1").mkdir(parents=True)
    with pytest.raises(NoVault, match="not complete"):
        open_vault(tmp_path)
    (tmp_path / "vir" / STORE / CONFIG).write_text("")
    with pytest.raises(ConfigError):
        open_vault(tmp_path)


def test_a_linked_folder_keeps_the_place_it_has_in_the_vault(tmp_path: Path) -> None:
    (tmp_path / "vault" / ".obsidian").mkdir(parents=True)
    make(tmp_path / "elsewhere" / "vir")
    (tmp_path / "vault" / "vir").symlink_to(tmp_path / "elsewhere" / "vir")
    assert open_vault(tmp_path / "vault").root == tmp_path / "vault"
    assert open_vault(tmp_path / "vault" / "vir").folder == "vir"


# Config


def test_config_is_read_without_yaml_when_it_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ruamel.yaml", None)
    config = Config(id=ID, folder="a/b", prefix="vir_", base=True, was=(OTHER,))
    write_config(tmp_path / CONFIG, config)
    assert read_config(tmp_path / CONFIG) == config
    assert config.ids == (ID, OTHER)


@pytest.mark.parametrize(
    "text",
    [
        f'vir: "{ID}"\nfolder: notes\n',
        f"vir: '{ID}'\r\nfolder: \"notes\" # where\r\n",
        f"\ufeff# hello\nvir:   {ID}   # id\n\nfolder: notes\nmine: 3\n",
        f"{{vir: {ID}, folder: notes}}\n",
        f"folder:\n  notes\nvir: {ID}\n",
        f"vir: {ID}\nfolder: notes\nmine: [1, 2]\nobj:\n  a: 1\n",
    ],
)
def test_config_is_read_however_a_person_formatted_it(text: str) -> None:
    assert parse_config(text.encode(), Path("c")) == Config(id=ID, folder="notes")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"vir:\n",
        b"vir: nope\n",
        b"\xff\xfe",
        b"vir: [\n",
        b"- vir\n",
        b"\0\0\0",
        f"vir: {ID}\nvir: {OTHER}\n".encode(),
    ],
)
def test_a_config_that_names_no_vault_is_an_error(content: bytes) -> None:
    with pytest.raises(ConfigError):
        parse_config(content, Path("c"))


def test_writing_config_keeps_comments_unknown_keys_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / CONFIG
    path.write_bytes(f"# mine\r\nvir: {ID} # id\r\ntheme: dark\r\nprefix:  # none yet\r\n".encode())
    assert write_config(path, Config(id=ID, prefix="vir_", base=True))
    assert (
        path.read_bytes()
        == f'# mine\r\nvir: {ID} # id\r\ntheme: dark\r\nprefix: "vir_"  # none yet\r\nbase: "written"\r\n'.encode()
    )
    before = path.stat().st_mtime_ns
    assert not write_config(path, Config(id=ID, prefix="vir_", base=True))
    assert path.stat().st_mtime_ns == before
    path.write_bytes(f"{{vir: {ID}}}\n".encode())
    with pytest.raises(ConfigError):
        write_config(path, Config(id=ID, prefix="vir_"))
    assert path.read_bytes() == f"{{vir: {ID}}}\n".encode()


# Standing


def test_a_vault_is_new_then_known_and_reading_writes_nothing(tmp_path: Path) -> None:
    vault = open_vault(make(tmp_path / "v" / "vir"))
    assert resolve(vault).kind == "new"
    assert not state_home().exists()
    first = adopt(vault)
    assert (first.kind, resolve(vault).kind) == ("new", "known")
    assert first.device == resolve(vault).device
    assert first.device.startswith("d")
    content = registry_path().read_bytes()
    assert adopt(vault).kind == "known"
    assert registry_path().read_bytes() == content


def test_a_moved_vault_is_adopted_silently_with_its_device(tmp_path: Path) -> None:
    device = adopt(open_vault(make(tmp_path / "v" / "vir"))).device
    shutil.move(tmp_path / "v", tmp_path / "w")
    vault = open_vault(tmp_path / "w")
    assert resolve(vault).kind == "moved"
    assert adopt(vault).device == device
    assert resolve(vault).kind == "known"
    assert read_registry()[ID].path == str((tmp_path / "w" / "vir").resolve())


def test_a_copy_is_only_read_until_a_person_says_which_one(tmp_path: Path) -> None:
    device = adopt(open_vault(make(tmp_path / "v" / "vir"))).device
    shutil.copytree(tmp_path / "v", tmp_path / "w")
    first, second = open_vault(tmp_path / "v"), open_vault(tmp_path / "w")
    standing = resolve(second)
    assert (standing.kind, standing.writable, standing.other) == (
        "copy",
        False,
        str((tmp_path / "v" / "vir").resolve()),
    )
    assert resolve(first).writable
    with pytest.raises(CopyOfVault) as refused:
        adopt(second)
    assert "--copied" in refused.value.hint
    assert adopt(second, moved=True).device == device
    assert resolve(second).kind == "known"
    assert resolve(first).kind == "copy"


def test_one_folder_under_two_names_is_not_a_copy(tmp_path: Path) -> None:
    adopt(open_vault(make(tmp_path / "v" / "vir")))
    (tmp_path / "link").symlink_to(tmp_path / "v")
    assert resolve(open_vault(tmp_path / "link")).kind == "known"


def test_a_damaged_registry_costs_the_device_id_and_nothing_else(tmp_path: Path) -> None:
    vault = open_vault(make(tmp_path / "v" / "vir"))
    old = adopt(vault).device
    for damage in (b"", b"{", b"\0" * 50, b"[]", b'{"vaults": {"x": 1}}'):
        registry_path().write_bytes(damage)
        assert resolve(vault).kind == "new"
        assert adopt(vault).device != old
        assert resolve(vault).kind == "known"


def test_vaults_do_not_push_each_other_out(tmp_path: Path) -> None:
    one, two = open_vault(make(tmp_path / "a" / "vir")), open_vault(make(tmp_path / "b" / "vir", id=OTHER))
    assert adopt(one).device != adopt(two).device
    assert {resolve(one).kind, resolve(two).kind} == {"known"}
    assert registry_path().stat().st_mode & 0o077 in (0, 0o044)
