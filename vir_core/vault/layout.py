"""Where things lie: the folder Obsidian opens, vir's folder in it, and how both are found."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from vir_core.machine import state_home
from vir_core.vault.config import CONFIG, Config, ConfigError, read_config
from vir_core.vault.errors import NoVault

STORE = "store"

_MAKE_ONE = "Run `vir_core init --vault DIR` with the folder you open in Obsidian."
# A vault root is asked for its vir folder by name first; this bounds the search for one that lies deeper.
_DEPTH = 4
_FOLDERS = 3000


class Vault(Struct, frozen=True, kw_only=True):
    """`root` is the folder Obsidian opens, absolute; `folder` is vir's folder below it, with `/`; `id` is the vault id."""

    root: Path
    folder: str
    id: str
    config: Config

    @property
    def base(self) -> Path:
        return self.root / self.folder

    @property
    def store(self) -> Path:
        return self.base / STORE

    @property
    def journal(self) -> Path:
        return self.store / "journal"

    @property
    def texts(self) -> Path:
        return self.store / "texts"

    @property
    def state(self) -> Path:
        """This machine's records and caches of the vault. Not created here."""
        return state_home() / self.id

    def readable_state(self) -> Path | None:
        """`state`, when it is there and may be used."""
        return self.state if os.access(self.state, os.R_OK | os.X_OK) and _is(Path.is_dir, self.state) else None

    def relative(self, path: Path | str) -> str:
        """`path` below the root with `/`, as the wire says it. Raises ValueError for a path outside the vault."""
        return normal(path).relative_to(self.root).as_posix()

    def absolute(self, relative: str) -> Path:
        return self.root / relative


def find_vault(arg: str, env: Mapping[str, str], cwd: Path) -> Vault:
    """The vault meant by `arg`, else by `$VIR_VAULT`, else the nearest vir folder at or above `cwd`, else one level below
    it, else one level below the Obsidian vault that `cwd` lies in. Raises NoVault."""
    if arg:
        return open_vault(place_of(arg, cwd))
    if named := env.get("VIR_VAULT", ""):
        return open_vault(place_of(named, cwd))
    here = normal(cwd)
    for place in (here, *here.parents):
        if _is_base(place):
            return _vault_of(place)
    for place in (here, *_obsidian_roots(here)):
        if bases := _bases_below(place):
            return _vault_of(_only(bases, place))
    raise NoVault(f"There is no vir folder in, above or just below {here}", _MAKE_ONE)


def open_vault(path: Path | str) -> Vault:
    """The vault at `path`, which is the vault root or vir's folder in it; both answer the same. Raises NoVault."""
    place = normal(path)
    if _is_base(place):
        return _vault_of(place)
    if not _is(Path.is_dir, place):
        raise NoVault(f"{place} is not a folder", _MAKE_ONE)
    if bases := _bases_below(place) or _bases_deeper(place):
        return _vault_of(_only(bases, place))
    if any(_is(Path.is_dir, folder / STORE / "journal") for folder in (place, place / "vir")):
        raise NoVault(
            f"The vir folder in {place} is not complete: {STORE}/{CONFIG} is not here",
            "If the vault is still syncing, wait for it; else put the file back from another device or a backup.",
        )
    raise NoVault(f"There is no vir folder in {place}", _MAKE_ONE)


def root_of(base: Path, folder: str) -> Path:
    """The folder Obsidian opens: the nearest ancestor of `base` with `.obsidian`, else what `init` was given, which is
    `folder` upwards from `base`."""
    for place in _obsidian_roots(base.parent):
        return place
    parts = Path(folder).parts
    if parts and base.parts[-len(parts) :] == parts and len(base.parts) > len(parts):
        return base.parents[len(parts) - 1]
    return base.parent


def normal(path: Path | str) -> Path:
    """`path` absolute and without `..`, by its names alone: a link in a vault keeps the place it has there."""
    return Path(os.path.abspath(path))  # noqa: PTH100


def is_vault_folder(place: Path) -> bool:
    """Whether `place` is vir's folder in some vault. A damaged config counts: it is still not anyone else's."""
    return _is_base(place)


def place_of(text: str, cwd: Path) -> Path:
    """The path a person typed, against the folder they typed it in."""
    try:
        return cwd / Path(text).expanduser()
    except RuntimeError:
        # `~name` of nobody here is a folder that begins with a tilde.
        return cwd / text


def _vault_of(base: Path) -> Vault:
    config = read_config(base / STORE / CONFIG)
    if config is None:
        raise NoVault(f"The vir folder {base} went away while it was opened", _MAKE_ONE)
    root = root_of(base, config.folder)
    return Vault(root=root, folder=base.relative_to(root).as_posix(), id=config.id, config=config)


def _is_base(place: Path) -> bool:
    return _is(Path.is_file, place / STORE / CONFIG) and _names_a_vault(place)


def _names_a_vault(place: Path) -> bool:
    """Other tools keep a `store/config.yaml` too. Ours has the line, or lies beside a journal."""
    try:
        return read_config(place / STORE / CONFIG) is not None
    except ConfigError:
        return _is(Path.is_dir, place / STORE / "journal")


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    """False also for a place we may not look into: it cannot be the one that was meant."""
    try:
        return kind(path)
    except OSError:
        return False


def _obsidian_roots(start: Path) -> tuple[Path, ...]:
    for place in (start, *start.parents):
        if _is(Path.is_dir, place / ".obsidian"):
            return (place,)
    return ()


def _bases_below(place: Path) -> list[Path]:
    return [Path(folder) for folder in _folders(place) if _is_base(Path(folder))]


def _bases_deeper(place: Path) -> list[Path]:
    """Vir folders up to `_DEPTH` levels down, nearest first; the search ends at the first level that has one."""
    level = _folders(place)
    looked = len(level)
    for _ in range(_DEPTH - 1):
        level = [below for folder in level for below in _folders(Path(folder))]
        looked += len(level)
        if bases := [Path(folder) for folder in level if _is_base(Path(folder))]:
            return bases
        if looked > _FOLDERS:
            return []
    return []


def _folders(place: Path) -> list[str]:
    try:
        with os.scandir(place) as entries:
            return sorted(
                e.path for e in entries if not e.name.startswith(".") and e.name != "node_modules" and e.is_dir()
            )
    except OSError:
        # A folder we may not look into cannot be the one that was meant; the caller says what was not found.
        return []


def _only(bases: list[Path], place: Path) -> Path:
    if len(bases) > 1:
        names = ", ".join(base.name for base in bases)
        raise NoVault(f"There is more than one vir folder in {place}: {names}", "Name one of them with --vault.")
    return bases[0]
