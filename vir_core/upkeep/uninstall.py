"""`uninstall`: everything vir wrote outside vaults, listed and removed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.contract import Failure, OutsideItem, UninstallReply, UninstallRequest
from vir_core.machine import MachineError, hold, state_home
from vir_core.upkeep.copies import ARCHIVE
from vir_core.vault import read_registry, registry_path


class _Known(Struct, frozen=True):
    what: str
    loss: str = ""


_FILES = {
    "registry": _Known(
        "which vaults this machine writes to",
        "a vault used again here counts as another device: notes written until now no longer follow sessions that go on",
    ),
    "places": _Known(
        "which project each folder belonged to", "sessions of deleted folders can count as projects of their own"
    ),
    "scan": _Known("what the session files held when last read"),
    "agents": _Known("the folder that vir's own agents run in"),
    "rule-cache": _Known("compiled patterns that find secrets"),
}


_STAYS = "it is still needed, because the rest could not be removed"


def uninstall(request: UninstallRequest) -> UninstallReply:
    """Notes and vaults are never touched. What cannot be removed is reported and the rest goes on."""
    home = state_home()
    items = list(_items(home))
    if not request.apply:
        return UninstallReply(items=tuple(items))
    removed: list[OutsideItem] = []
    failed: list[Failure] = []
    registry = str(registry_path())
    # The list of vaults goes last, and only when nothing else stays: without it a run at work is a stranger in its vault.
    for item in sorted(items, key=lambda item: item.path == registry):
        problem = _STAYS if failed and item.path == registry else _remove(Path(item.path))
        if problem:
            failed.append(Failure(path=item.path, stage="write", message=problem))
        else:
            removed.append(msgspec.structs.replace(item, removed=True))
    if not failed and home.is_dir() and not any(home.iterdir()):
        home.rmdir()
    return UninstallReply(items=tuple(removed), failed=tuple(failed))


def _items(home: Path) -> Iterator[OutsideItem]:
    """One item for each thing in the state folder; what we do not recognise is not ours to list."""
    if not home.is_dir():
        return
    vaults = read_registry()
    for entry in sorted(home.iterdir()):
        name = entry.name
        if name in _FILES:
            known = _FILES[name]
        elif name.endswith((".lock", ".tmp")):
            known = _Known("a lock")
        elif name.startswith("v") and len(name) == 16 and entry.is_dir():
            place = vaults[name].path if name in vaults else "a vault that is not known here any more"
            if (copies := entry / ARCHIVE).is_dir():
                yield OutsideItem(
                    path=str(copies),
                    what=f"copies, without secrets, of the sessions that were read into {place}",
                    bytes=_size(copies),
                    loss="what a session said can then not be looked up once its agent has deleted the file",
                )
            known = _Known(
                f"search index and second copy of the history of {place}",
                "history that the vault itself has lost can then not be put back",
            )
        else:
            continue
        yield OutsideItem(path=str(entry), what=known.what, bytes=_size(entry, without=ARCHIVE), loss=known.loss)


def _size(path: Path, without: str = "") -> int:
    """In bytes, the folder `without` directly below it left out. A file that goes while it is counted counts nothing."""
    places = [path]
    if path.is_dir():
        left = path / without if without else None
        walk = ((folder, names) for folder, _, names in os.walk(path) if Path(folder) != left)
        places = [Path(folder, name) for folder, names in walk for name in names]
    total = 0
    for place in places:
        with suppress(OSError):
            total += place.lstat().st_size
    return total


def _remove(path: Path) -> str:
    """Why it could not be removed, empty when it is gone. A vault's state goes only when no run is at work in it."""
    try:
        if not path.is_dir():
            path.unlink(missing_ok=True)
        elif (locks := (path.parent if path.name == ARCHIVE else path) / "locks").is_dir():
            with hold(locks / "run.lock", "uninstall"):
                shutil.rmtree(path)
        else:
            shutil.rmtree(path)
    except MachineError as error:
        return error.message
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return ""
