"""Which vaults this machine has written to, where they lay, and which device id it writes under in each.

One small file in the state folder. Readers never write it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from vir_core.machine import ANYTHING, hold, make_dirs, state_home, write_atomic
from vir_core.text import random_id
from vir_core.vault.config import CONFIG, ConfigError, read_config
from vir_core.vault.errors import CopyOfVault
from vir_core.vault.layout import STORE, Vault

REGISTRY = "registry"


class Entry(Struct, frozen=True, kw_only=True):
    """`path` is the real path of vir's folder when it was last written to, `st_dev` and `st_ino` are that folder's;
    `device` is the id under which this machine writes history there."""

    path: str
    st_dev: int
    st_ino: int
    device: str


class Standing(Struct, frozen=True, kw_only=True):
    """`known`: where this machine left it. `new`: never written to from here. `moved`: it lies elsewhere now and the old
    place is empty. `copy`: it lies here and also still at `other`. `device` is empty for `new`."""

    kind: Literal["known", "new", "moved", "copy"]
    device: str = ""
    other: str = ""

    @property
    def writable(self) -> bool:
        return self.kind != "copy"


class _Registry(Struct, frozen=True, kw_only=True):
    v: int = 1
    vaults: dict[str, Entry] = {}


def registry_path() -> Path:
    return state_home() / REGISTRY


def read_registry() -> dict[str, Entry]:
    """Vault id to entry; empty when there is no file. A file that cannot be read as ours counts as empty: what it loses is
    the device id, and a new one continues the history as another writer."""
    try:
        content = registry_path().read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        # Readers then answer from the vault alone, and a writer is told when it comes to writing there.
        return {}
    try:
        return msgspec.json.decode(content, type=_Registry).vaults
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}


def resolve(vault: Vault) -> Standing:
    """Where `vault` stands against what this machine remembers. Writes nothing."""
    return _standing(vault, read_registry().get(vault.id))


def adopt(vault: Vault, *, moved: bool = False, verb: str = "init") -> Standing:
    """Makes this machine a writer of the vault where it lies now, and returns the standing it had before with its device id.
    A new vault gets a device id, a moved one its new path, a known one costs no write. With `moved` a person said that this
    is the one they use, so a copy becomes the known one. Raises CopyOfVault otherwise, `machine.Busy`, `machine.StorageError`."""
    before = resolve(vault)
    if before.kind == "known":
        return before
    make_dirs(state_home(), private=True)
    with hold(state_home() / f"{REGISTRY}.lock", verb):
        vaults = read_registry()
        before = _standing(vault, vaults.get(vault.id))
        if before.kind == "known":
            return before
        if before.kind == "copy" and not moved:
            raise copy_refused(vault, before.other)
        entry = _entry(vault, before.device or random_id("d"))
        content = msgspec.json.format(msgspec.json.encode(_Registry(vaults={**vaults, vault.id: entry})), indent=1)
        write_atomic(registry_path(), content + b"\n", expected=ANYTHING)
    return Standing(kind=before.kind, device=entry.device, other=before.other)


def copy_refused(vault: Vault, other: str) -> CopyOfVault:
    return CopyOfVault(
        f"{vault.base} is a copy: the same vault is still at {other}",
        f"Run `vir_core init --vault {vault.root} --moved` if you use this one from now on, or with --copied to make it a "
        "vault of its own. Until then it is only read.",
    )


def _entry(vault: Vault, device: str) -> Entry:
    real = vault.base.resolve()
    stat = real.stat()
    return Entry(path=str(real), st_dev=stat.st_dev, st_ino=stat.st_ino, device=device)


def _standing(vault: Vault, entry: Entry | None) -> Standing:
    if entry is None:
        return Standing(kind="new")
    if str(vault.base.resolve()) == entry.path or _same_folder(vault.base, entry.path):
        return Standing(kind="known", device=entry.device)
    if _lives(entry.path, vault.id):
        return Standing(kind="copy", device=entry.device, other=entry.path)
    return Standing(kind="moved", device=entry.device, other=entry.path)


def _same_folder(here: Path, there: str) -> bool:
    """Two names of one folder (bind mounts, letter case, a symlink above it) are not a copy."""
    try:
        return here.samefile(there)
    except OSError:
        return False


def _lives(base: str, vault_id: str) -> bool:
    try:
        config = read_config(Path(base, STORE, CONFIG))
    except (ConfigError, OSError):
        return False
    return config is not None and config.id == vault_id
