"""Opening the history of a vault, the same way for every verb of this room."""

from __future__ import annotations

from vir_core import __version__
from vir_core.journal import Journal
from vir_core.vault import Standing, Vault, resolve


def open_journal(vault: Vault, standing: Standing | None = None) -> Journal:
    """For reading, or for writing by this device: with the state of this machine where it has one that may be used."""
    known = standing or resolve(vault)
    return Journal(
        vault.store,
        vault.readable_state() if known.writable else None,
        vault=vault.id,
        device=known.device,
        core=__version__,
        former=vault.config.was,
    )
