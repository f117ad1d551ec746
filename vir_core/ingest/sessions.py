"""`sessions`: every transcript found, who drove it, why we think so, and what became of it."""

from __future__ import annotations

from datetime import UTC, datetime
from os import environ
from pathlib import Path

from vir_core.contract import SessionInfo, SessionsReply, SessionsRequest
from vir_core.ingest.places import Places
from vir_core.ingest.policy import Policy
from vir_core.ingest.projects import read_policy
from vir_core.ingest.sources import find_sources, read_sources
from vir_core.ingest.standing import gained, resting, session_key, wanted
from vir_core.journal import Texts
from vir_core.memory import Memory, memory_of
from vir_core.transcripts import Project, SessionFacts, Thread
from vir_core.vault import NoVault, Vault, find_vault, open_journal


def sessions(request: SessionsRequest) -> SessionsReply:
    """Works without a vault; then every session that a run would take is new. Newest first. With `explain` it tells of one
    session; raises `RequestError` when none is called so."""
    vault, memory, device = _memory(request)
    policy = read_policy(memory, vault) if vault else Policy()
    sources = read_sources(find_sources(request))
    places = Places(sources.sessions, device)
    if request.explain:
        from vir_core.ingest.explain import explain

        def info(facts: SessionFacts, thread: Thread) -> SessionInfo:
            return session_info(facts, thread, memory, places.project(facts), policy)

        def note_path(note: str) -> str:
            written = memory.notes[note].written if note in memory.notes else None
            text = Texts(vault.store).get(written.text) if vault and written else None
            return str(text.header.get("path", "")) if text else ""

        return SessionsReply(
            explained=explain(request.explain, sources, memory, info, note_path), failed=sources.failures
        )
    infos: list[SessionInfo] = []
    for thread in sources.lineage.threads:
        for facts in thread.files:
            infos.append(session_info(facts, thread, memory, places.project(facts), policy))
    infos.sort(key=lambda info: (info.ended or info.started, info.path), reverse=True)
    return SessionsReply(sessions=tuple(infos), failed=sources.failures)


def _memory(request: SessionsRequest) -> tuple[Vault | None, Memory, str]:
    try:
        vault = find_vault(request.vault, environ, Path.cwd())
    except NoVault:
        if request.vault:
            raise
        return None, Memory(), ""
    journal = open_journal(vault)
    return vault, journal.read(memory_of(journal)).projection, journal.device


def session_info(facts: SessionFacts, thread: Thread, memory: Memory, project: Project, policy: Policy) -> SessionInfo:
    """One file as the wire shows it, and what became of its session."""
    left = policy.skips(project, named=False) or ("" if resting(thread, datetime.now(UTC)) else "active")
    state, reason = _standing(facts, thread, memory, left)
    return SessionInfo(
        path=facts.path,
        source=facts.source,
        session=facts.session,
        parent=facts.parent,
        driver=facts.driver,
        certainty=facts.certainty,
        evidence=facts.evidence,
        human_turns=facts.human_turns,
        project=project.name,
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


def _standing(facts: SessionFacts, thread: Thread, memory: Memory, left: str) -> tuple[str, str]:
    if facts.path != thread.speaker.path:
        return "skipped", "copy"
    settled = memory.sessions.get(session_key(thread, memory))
    if settled is not None and settled.outcome:
        if gained(facts, settled):
            return ("skipped", left) if left else ("new", "")
        return ("noted", "") if settled.outcome == "noted" else ("settled", settled.outcome)
    if not wanted(facts):
        return "skipped", facts.driver
    return ("skipped", left) if left else ("new", "")
