"""`journal`: how the history's files are, putting back what they lost, and giving up what only this machine still has."""

from __future__ import annotations

from os import environ
from pathlib import Path

import msgspec

from vir_core.contract import HistoryFinding, JournalReply, JournalRequest, RequestError
from vir_core.journal import ACCEPT, Journal
from vir_core.machine import hold, make_dirs
from vir_core.memory import build_gate, memory_of, understands
from vir_core.vault import Vault, adopt, find_vault, open_journal, open_own_journal


def journal(request: JournalRequest) -> JournalReply:
    """`status` counts, `verify` reads everything and names what is not as it was written, `heal` puts back what this device
    wrote and the vault lost, `accept-disk` gives up what only this machine has. The first two write nothing."""
    vault = find_vault(request.vault, environ, Path.cwd())
    match request.action:
        case "status":
            return _status(vault, open_journal(vault))
        case "verify":
            return _verify(vault, open_journal(vault))
        case "heal":
            return _heal(vault)
        case "accept-disk":
            return _accept(vault, request.word)


def _status(vault: Vault, history: Journal) -> JournalReply:
    marks = history.read(memory_of(history)).marks
    return JournalReply(
        vault=str(vault.root),
        folder=vault.folder,
        action="status",
        lines=marks.lines,
        devices=marks.devices,
        bytes=marks.bytes,
        damaged=marks.damage.total,
        missing=len(marks.missing),
        placeholders=len(marks.absent),
        sound=not (marks.damage.total or marks.missing or marks.absent),
    )


def _verify(vault: Vault, history: Journal) -> JournalReply:
    verdict = history.verify(knows=understands)
    findings = tuple(
        HistoryFinding(
            kind=one.kind,
            words=one.words,
            device=one.device,
            file=one.file,
            offset=one.offset,
            line=one.line,
            count=one.count,
            harm=one.harm,
        )
        for one in verdict.findings
    )
    return msgspec.structs.replace(
        _status(vault, history),
        action="verify",
        lines=verdict.lines,
        devices=verdict.devices,
        bytes=verdict.bytes,
        sound=verdict.sound,
        findings=findings,
    )


def _heal(vault: Vault) -> JournalReply:
    history = _for_writing(vault, "journal heal")
    with hold(vault.state / "locks" / "run.lock", "journal heal"):
        healed = history.heal(memory_of(history), verb="journal heal")
        _refresh(history)
    return msgspec.structs.replace(
        _status(vault, history),
        action="heal",
        sound=history.verify(knows=understands).sound,
        given_back=healed.given_back,
        completed=healed.completed,
        others=healed.others,
        waiting=healed.waiting,
    )


def _accept(vault: Vault, word: str) -> JournalReply:
    if word != ACCEPT:
        raise RequestError(
            "Nothing was given up.",
            f"Type the word {ACCEPT} (--word {ACCEPT}) to give up the entries that the vault does not hold any more.",
        )
    history = _for_writing(vault, "journal accept-disk")
    with hold(vault.state / "locks" / "run.lock", "journal accept-disk"):
        given = history.accept_disk(word, memory_of(history))
        _refresh(history)
    return msgspec.structs.replace(_status(vault, history), action="accept-disk", given_up=given.lines)


def _for_writing(vault: Vault, verb: str) -> Journal:
    device = adopt(vault, verb=verb).device
    make_dirs(vault.state / "locks", private=True)
    return open_own_journal(vault, device)


def _refresh(history: Journal) -> None:
    """The gate of the state before would be rebuilt by the next reader; better now than while somebody waits."""
    reading = history.read(memory_of(history))
    _, gate = build_gate(reading)
    history.save_checkpoint(reading, {"gate": gate})
