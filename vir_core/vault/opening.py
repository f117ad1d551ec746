"""Opening the history of a vault, the same way for everybody who reads or writes it."""

from __future__ import annotations

from vir_core import __version__
from vir_core.journal import Journal
from vir_core.vault.layout import Vault
from vir_core.vault.registry import Standing, resolve


def open_journal(vault: Vault, standing: Standing | None = None) -> Journal:
    """For reading: with the state of this machine when it is there and of this vault. A copy shares its id with the vault
    this machine knows, whose mirror and caches say nothing about it. `standing` is what `resolve` says."""
    known = standing or resolve(vault)
    return Journal(
        vault.store,
        vault.readable_state() if known.writable else None,
        vault=vault.id,
        device=known.device,
        core=__version__,
        former=vault.config.was,
    )


def open_own_journal(vault: Vault, device: str) -> Journal:
    """For writing by `device`, which `adopt` gave; its state is made when it is not there yet."""
    return Journal(vault.store, vault.state, vault=vault.id, device=device, core=__version__, former=vault.config.was)
