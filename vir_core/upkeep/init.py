"""`init`: makes a folder in a vault vir's, once. Repeating it changes no byte."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.contract.replies import InitReply
from vir_core.contract.requests import InitRequest
from vir_core.machine import ABSENT, Changed, make_dirs, write_atomic
from vir_core.text import random_id
from vir_core.vault import (
    BASE,
    CONFIG,
    STORE,
    Config,
    ConfigError,
    NoVault,
    Standing,
    Vault,
    adopt,
    base_text,
    normal,
    open_vault,
    place_of,
    read_keys,
    resolve,
    root_of,
    split,
    write_config,
)

# What Obsidian may think our properties are. A vault that typed them otherwise shows warnings on every note of ours.
_TYPES = {
    "category": ("text",),
    "project": ("text",),
    "date": ("date", "datetime"),
    "trust": ("text",),
}
_PREFIXES = ("vir_", "virnote_")
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,15}\Z")
_FORBIDDEN = re.compile(r'[\x00-\x1f*"\\<>:|?#^\[\]]')
# Notes read at most when asking whether a folder is another tool's.
_LOOKED_AT = 2000

SYNC_ON = (
    "Obsidian Sync is on here: turn on Settings > Sync > Sync all other types on each device, or the notes arrive without "
    "their history."
)
SYNC_ONCE = (
    "If you use Obsidian Sync: it carries vir's history only with “Sync all other types” on, a setting of each device."
)


class InitRefused(Exception):
    """Nothing was written. `message` says what stands in the way, `hint` what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Look(Struct, frozen=True, kw_only=True):
    """What lies where `init` would write. `given` is the folder named, absolute; `vault` the vir vault already there;
    `in_the_way` a file where a folder must be; `foreign` a note of another tool in the folder; `half` whether there is a
    history but no config; `types` Obsidian's property types; `sync` whether Obsidian Sync is on; `base` whether a
    `vir.base` is there."""

    given: Path
    root: Path
    folder: str
    vault: Vault | None = None
    standing: Standing | None = None
    in_the_way: str = ""
    unwritable: str = ""
    foreign: str = ""
    half: bool = False
    damaged: str = ""
    types: Mapping[str, str] = {}
    sync: bool = False
    base: bool = False
    store: bool = False
    given_is_new: bool = False
    obsidian: bool = True


class InitPlan(Struct, frozen=True, kw_only=True):
    """`config` is what `config.yaml` says afterwards; `new` whether there was none; `base` whether the view is written;
    `moved` whether this place becomes the known one of two."""

    root: Path
    folder: str
    config: Config
    new: bool
    base: bool
    moved: bool
    store: bool
    notices: tuple[str, ...]


def init(request: InitRequest, cwd: Path | None = None) -> InitReply:
    """Looks, plans and applies. Raises InitRefused, ConfigError, `vault.CopyOfVault`, `machine.Busy`,
    `machine.StorageError`."""
    cwd = cwd or Path.cwd()
    if not request.vault:
        request = msgspec.structs.replace(request, vault=os.environ.get("VIR_VAULT", ""))
    try:
        return apply_init(plan_init(request, look(request, cwd)))
    except Changed:
        # Another init was here at the same moment; what it made is what this one finds now.
        return apply_init(plan_init(request, look(request, cwd)))


def look(request: InitRequest, cwd: Path) -> Look:
    """The disk as `init` finds it. Writes nothing."""
    given = normal(place_of(request.vault or ".", cwd))
    folder = request.folder.replace("\\", "/").strip("/")
    vault = _vault_at(given)
    damaged = ""
    if isinstance(vault, str):
        vault, damaged = None, vault
    if vault is not None:
        base, root = vault.base, vault.root
    else:
        base = given / folder
        root = root_of(base, folder)
    return Look(
        given=given,
        root=root,
        folder=base.relative_to(root).as_posix(),
        vault=vault,
        standing=resolve(vault) if vault is not None else None,
        in_the_way=_in_the_way(base),
        unwritable=_unwritable(base),
        foreign="" if vault is not None else _other_tool(base),
        half=vault is None and (base / STORE / "journal").is_dir(),
        damaged=damaged,
        types=_property_types(root),
        sync=_sync_is_on(root),
        base=os.path.lexists(base / BASE),
        store=(base / STORE).is_dir(),
        given_is_new=not given.exists(),
        obsidian=(root / ".obsidian").is_dir(),
    )


def plan_init(request: InitRequest, look: Look, new_id: str = "") -> InitPlan:
    """Raises InitRefused. `new_id` is the vault id to give, when one is needed; empty means a random one."""
    _refuse(request, look)
    before = look.vault.config if look.vault is not None else None
    notices: list[str] = []
    if before is None:
        config = Config(id=new_id or random_id("v"), folder=look.folder, prefix=request.prefix)
    else:
        config = before
        if request.prefix and request.prefix != before.prefix:
            config = msgspec.structs.replace(config, prefix=request.prefix)
            notices.append(
                f'Notes written from now on use the property names "{request.prefix}…"; older ones keep theirs.'
            )
        if request.copied and (look.standing is None or look.standing.kind != "known"):
            config = msgspec.structs.replace(config, id=new_id or random_id("v"), was=(*config.was, config.id))
    write_base = not look.base and (request.base or not config.base)
    if request.base and look.base:
        notices.append(f"{BASE} is there already and was left as it is.")
    if not config.base:
        config = msgspec.structs.replace(config, base=True)
    if look.given_is_new:
        notices.append(f"{look.given} was not there and has been made.")
    elif before is None and not look.obsidian:
        notices.append(f"Obsidian has not opened {look.root} yet; if your vault is another folder, run init there.")
    notices += _type_notices(look.types, config.prefix)
    if look.sync:
        notices.append(SYNC_ON)
    elif before is None:
        notices.append(SYNC_ONCE)
    return InitPlan(
        root=look.root,
        folder=look.folder,
        config=config,
        new=before is None,
        base=write_base,
        moved=request.moved,
        store=not look.store,
        notices=tuple(notices),
    )


def apply_init(plan: InitPlan) -> InitReply:
    """Raises `machine.Changed` when the config appeared or changed meanwhile, `machine.StorageError`, `machine.Busy`."""
    vault = Vault(root=plan.root, folder=plan.folder, id=plan.config.id, config=plan.config)
    created: list[str] = []
    make_dirs(vault.store)
    if plan.store:
        created.append(f"{plan.folder}/{STORE}")
    # The view first: the config says that it was written, and a config is what makes the folder a vault.
    if plan.base:
        try:
            write_atomic(vault.base / BASE, base_text(plan.config.prefix), expected=ABSENT)
            created.append(f"{plan.folder}/{BASE}")
        except Changed:
            if not os.path.lexists(vault.base / BASE):
                raise
    path = vault.store / CONFIG
    if plan.new:
        if os.path.lexists(path):
            raise Changed(path)
        created.append(f"{plan.folder}/{STORE}/{CONFIG}")
    write_config(path, plan.config)
    standing = adopt(vault, moved=plan.moved)
    return InitReply(
        vault=str(plan.root),
        folder=plan.folder,
        id=plan.config.id,
        device=standing.device,
        created=tuple(created),
        notices=plan.notices,
    )


# Deciding


def _refuse(request: InitRequest, look: Look) -> None:
    if not request.vault.strip():
        raise InitRefused(
            "No folder was named",
            "Give --vault the folder you open in Obsidian, or set VIR_VAULT; . is the one you are in.",
        )
    if request.moved and request.copied:
        raise InitRefused("--moved and --copied say opposite things", "Name one of them.")
    if request.prefix and not _PREFIX.match(request.prefix):
        raise InitRefused(
            f"{request.prefix} cannot stand before a property name",
            "Use up to 16 letters, digits, - and _, beginning with a letter; vir_ for example.",
        )
    parts = request.folder.replace("\\", "/").strip("/").split("/")
    if any(not part.strip() or part.startswith((".", "_")) or _FORBIDDEN.search(part) for part in parts):
        raise InitRefused(
            f'"{request.folder}" cannot be vir\'s folder',
            "Use a folder name inside the vault that Obsidian shows and links can hold; vir for example.",
        )
    if look.damaged:
        raise InitRefused(look.damaged, f"Put {STORE}/{CONFIG} back from a backup or from another device.")
    if look.in_the_way:
        raise InitRefused(
            f"{look.in_the_way} is a file where a folder must be", "Move it away, or name another folder."
        )
    if look.foreign:
        raise InitRefused(
            f"{look.root / look.folder} holds notes of another tool called vir ({look.foreign})",
            "Choose another folder with --folder; vir never writes into that one.",
        )
    if look.unwritable:
        raise InitRefused(f"{look.unwritable} cannot be written to", "Check its permissions, or name another folder.")
    if look.half:
        raise InitRefused(
            f"{look.root / look.folder} has a history but no {STORE}/{CONFIG}",
            "If the vault is still syncing, wait for it; else put the file back from another device or a backup.",
        )
    if look.vault is not None and request.folder not in ("vir", look.folder) and look.vault.base != look.given:
        raise InitRefused(
            f"This vault has its vir folder already: {look.folder}",
            "Move that folder in Obsidian if you want it elsewhere; vir finds it again.",
        )
    if look.standing is not None and look.standing.kind == "copy" and not (request.moved or request.copied):
        raise InitRefused(
            f"{look.root / look.folder} is a copy: the same vault is still at {look.standing.other}",
            "Run init again with --moved if you use this one from now on, or with --copied to make it a vault of its own.",
        )


def _type_notices(types: Mapping[str, str], prefix: str) -> list[str]:
    clashes = _clashes(types, prefix)
    if not clashes:
        return []
    said = ", ".join(f"{name} as {types[name]}" for name in clashes)
    proposed = next((p for p in _PREFIXES if p != prefix and not _clashes(types, p)), "")
    way = (
        f"run init again with --prefix {proposed} before the first notes are written"
        if proposed
        else "choose a --prefix"
    )
    return [f"This vault already uses {said}. To keep both apart, {way}."]


def _clashes(types: Mapping[str, str], prefix: str) -> list[str]:
    return [prefix + key for key, fit in _TYPES.items() if types.get(prefix + key, fit[0]) not in fit]


# Looking


def _vault_at(given: Path) -> Vault | str | None:
    if not given.is_dir():
        return None
    try:
        return open_vault(given)
    except ConfigError as problem:
        return problem.message
    except NoVault as problem:
        return problem.message if "more than one" in problem.message else None


def _in_the_way(base: Path) -> str:
    for place in (*reversed(base.parents), base, base / STORE):
        if os.path.lexists(place) and not place.is_dir():
            return str(place)
    return str(base / STORE / CONFIG) if (base / STORE / CONFIG).is_dir() else ""


def _unwritable(base: Path) -> str:
    place = next(place for place in (base / STORE, base, *base.parents) if place.is_dir())
    return "" if os.access(place, os.W_OK | os.X_OK) else str(place)


def _other_tool(base: Path) -> str:
    """The first note that carries `session_id` and no `vir_id`."""
    looked = 0
    for folder, folders, names in os.walk(base):
        folders[:] = sorted(name for name in folders if name not in (STORE, "node_modules"))
        for name in sorted(names):
            if not name.endswith(".md"):
                continue
            looked += 1
            if looked > _LOOKED_AT:
                return ""
            try:
                with Path(folder, name).open("rb") as file:
                    head = file.read(8192)
            except OSError:
                # What cannot be read says nothing about whose folder this is.
                continue
            front, _ = split(head)
            if front is None or not re.search(rb"^session_id[ \t]*:", front, re.MULTILINE):
                continue
            keys = read_keys(head)
            if isinstance(keys, dict) and "vir_id" not in keys:
                return Path(folder, name).relative_to(base).as_posix()
    return ""


def _property_types(root: Path) -> dict[str, str]:
    types = _json(root / ".obsidian" / "types.json").get("types")
    if not isinstance(types, dict):
        return {}
    return {name: kind for name, kind in types.items() if isinstance(name, str) and isinstance(kind, str)}  # pyright: ignore[reportUnknownVariableType]


def _sync_is_on(root: Path) -> bool:
    plugins = _raw_json(root / ".obsidian" / "core-plugins.json")
    if isinstance(plugins, list):
        return "sync" in plugins
    if isinstance(plugins, dict) and "sync" in plugins:
        return plugins["sync"] is True
    return (root / ".obsidian" / "sync.json").is_file()


def _json(path: Path) -> dict[str, object]:
    loaded = _raw_json(path)
    return loaded if isinstance(loaded, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _raw_json(path: Path) -> object:
    """Obsidian's own settings are hints here; a file that is missing or damaged gives none."""
    try:
        return msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
