"""Looking after a vault: preparing it, saying how it is, taking a run back, leaving without a trace. Each is a pure plan and
a thin apply; doctor only looks."""

from __future__ import annotations

from vir_core.upkeep.doctor import doctor
from vir_core.upkeep.init import InitRefused, init
from vir_core.upkeep.runs import runs
from vir_core.upkeep.uninstall import uninstall

__all__ = ["InitRefused", "doctor", "init", "runs", "uninstall"]
