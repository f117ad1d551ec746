"""How much is kept of the sessions that were read on this machine."""

from __future__ import annotations

import time

from vir_core.contract import ArchiveStatus, Keep
from vir_core.vault import Vault

ARCHIVE = "archive"


def archive_status(vault: Vault) -> ArchiveStatus:
    """What is kept of sessions on this machine, and what the person said about it."""
    keep: Keep = vault.config.archive  # pyright: ignore[reportAssignmentType]
    folder = vault.state / ARCHIVE
    if not folder.is_dir():
        return ArchiveStatus(keep=keep, path=str(folder))
    from vir_core.transcripts.archive import Archive

    held = Archive(folder).holdings()
    age = round(max(0.0, time.time() - held.oldest) / 86400, 1) if held.copies else None
    return ArchiveStatus(keep=keep, path=str(folder), sessions=held.copies, bytes=held.bytes, oldest_days=age)
