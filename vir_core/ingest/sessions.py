"""`sessions`: every transcript found, who drove it, why we think so, and what became of it."""

from __future__ import annotations

from os import environ
from pathlib import Path

from vir_core import __version__
from vir_core.contract import SessionInfo, SessionsReply, SessionsRequest
from vir_core.ingest.selection import TAKEN, gained, session_key
from vir_core.ingest.sources import find_sources, read_sources
from vir_core.journal import Journal
from vir_core.memory import Memory
from vir_core.transcripts import SessionFacts, Thread, project_of
from vir_core.vault import NoVault, find_vault, resolve


def sessions(request: SessionsRequest) -> SessionsReply:
    """Works without a vault; then every session that a run would take is new. Newest first."""
    memory, device = _memory(request)
    sources = read_sources(find_sources(request))
    infos: list[SessionInfo] = []
    for thread in sources.lineage.threads:
        for facts in thread.files:
            infos.append(_info(facts, thread, memory, device))
    infos.sort(key=lambda info: (info.ended or info.started, info.path), reverse=True)
    return SessionsReply(sessions=tuple(infos), failed=sources.failures)


def _memory(request: SessionsRequest) -> tuple[Memory, str]:
    try:
        vault = find_vault(request.vault, environ, Path.cwd())
    except NoVault:
        if request.vault:
            raise
        return Memory(), ""
    device = resolve(vault).device
    state = vault.readable_state()
    journal = Journal(vault.store, state, vault=vault.id, device=device, core=__version__, former=vault.config.was)
    return journal.read(Memory).projection, device


def _info(facts: SessionFacts, thread: Thread, memory: Memory, device: str) -> SessionInfo:
    state, reason = _standing(facts, thread, memory)
    return SessionInfo(
        path=facts.path,
        source=facts.source,
        session=facts.session,
        parent=facts.parent,
        driver=facts.driver,
        certainty=facts.certainty,
        evidence=facts.evidence,
        human_turns=facts.human_turns,
        project=project_of(facts.cwd, device=device, remote=facts.remote).name,
        cwd=facts.cwd,
        branch=facts.branch,
        started=facts.started,
        ended=facts.ended,
        bytes=facts.bytes,
        lines=facts.lines,
        bad_lines=facts.bad_lines,
        state=state,
        reason=reason,
    )


def _standing(facts: SessionFacts, thread: Thread, memory: Memory) -> tuple[str, str]:
    if facts.path != thread.speaker.path:
        return "skipped", "copy"
    settled = memory.sessions.get(session_key(thread, memory))
    if settled is not None and settled.outcome:
        if gained(facts, settled):
            return "new", ""
        return ("noted", "") if settled.outcome == "noted" else ("settled", settled.outcome)
    if facts.driver not in TAKEN and facts.certainty != "unsure":
        return "skipped", facts.driver
    return "new", ""
