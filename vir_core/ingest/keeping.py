"""Copies of the sessions that a run reads, where the person wants them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from vir_core.contract import Failure
from vir_core.ingest.selection import Candidate
from vir_core.machine import MachineError
from vir_core.transcripts import Transcript
from vir_core.upkeep.copies import ARCHIVE
from vir_core.vault import Vault

if TYPE_CHECKING:
    from vir_core.transcripts.archive import Archive


def open_archive(vault: Vault) -> Archive | None:
    """The archive to write to; None when the person does not want one or was never asked."""
    if vault.config.archive not in ("1y", "forever"):
        return None
    from vir_core.transcripts.archive import Archive

    return Archive(vault.state / ARCHIVE)


def keep(archive: Archive, candidate: Candidate, transcript: Transcript, failed: list[Failure]) -> None:
    """Copies one session. A note is worth having without its copy, so failing is told and nothing else."""
    files = tuple(file.path for file in candidate.thread.files)
    try:
        archive.put(candidate.key, transcript, files, datetime.now(UTC))
    except MachineError as error:
        failed.append(Failure(path=candidate.facts.path, stage="archive", message=error.message))


def rotate(vault: Vault, failed: list[Failure]) -> None:
    """Removes copies older than the person said to keep them."""
    if vault.config.archive != "1y" or not (vault.state / ARCHIVE).is_dir():
        return
    from vir_core.transcripts.archive import YEAR, Archive

    try:
        Archive(vault.state / ARCHIVE).rotate(YEAR, datetime.now(UTC))
    except OSError as error:
        failed.append(Failure(path=str(vault.state / ARCHIVE), stage="archive", message=error.strerror or str(error)))
