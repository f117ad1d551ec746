"""Looking after a vault: preparing it, saying how it is, taking a run back, leaving without a trace. Each is a pure plan and
a thin apply; doctor only looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vir_core.upkeep.destroying import destroy
    from vir_core.upkeep.doctor import doctor
    from vir_core.upkeep.forgetting import ForgetRefused, forget
    from vir_core.upkeep.history import history
    from vir_core.upkeep.init import InitRefused, init
    from vir_core.upkeep.journal import journal
    from vir_core.upkeep.runs import runs
    from vir_core.upkeep.searchindex import index
    from vir_core.upkeep.uninstall import uninstall

__all__ = [
    "ForgetRefused",
    "InitRefused",
    "destroy",
    "doctor",
    "forget",
    "history",
    "index",
    "init",
    "journal",
    "runs",
    "uninstall",
]

_HOME = {name: name for name in ("doctor", "history", "init", "journal", "runs", "uninstall")} | {
    "ForgetRefused": "forgetting",
    "forget": "forgetting",
    "InitRefused": "init",
    "destroy": "destroying",
    "index": "searchindex",
}


def __getattr__(name: str) -> object:
    # The verbs of this room share nothing, and a person who asks one of them should not wait for the others to load.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value  # loading a module of the same name put the module here
    return value
