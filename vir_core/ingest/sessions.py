"""`sessions`: every transcript found, who drove it, why we think so, and what became of it."""

from __future__ import annotations

from datetime import UTC, datetime
from os import environ
from pathlib import Path

from vir_core.contract import RequestError, SessionInfo, SessionsReply, SessionsRequest
from vir_core.ingest.gone import explain_gone, gone_info, gone_sessions, named_gone
from vir_core.ingest.places import Places
from vir_core.ingest.policy import Policy
from vir_core.ingest.projects import read_policy
from vir_core.ingest.sources import find_sources, read_sources
from vir_core.ingest.standing import gained, resting, session_key, wanted
from vir_core.journal import Texts
from vir_core.machine import state_home
from vir_core.memory import Memory, memory_of
from vir_core.transcripts import Archive, Project, SessionFacts, Thread
from vir_core.upkeep.copies import ARCHIVE
from vir_core.vault import NoVault, Vault, find_vault, open_journal


def sessions(request: SessionsRequest) -> SessionsReply:
    """Works without a vault; then every session that a run would take is new. Newest first. With `explain` it tells of one
    session; raises `RequestError` when none is called so."""
    vault, memory, device = _memory(request)
    policy = read_policy(memory, vault) if vault else Policy()
    sources = read_sources(find_sources(request))
    places = Places(sources.sessions, device)
    archive = Archive((vault.state if vault else state_home()) / ARCHIVE)

    def header(note: str) -> dict[str, str]:
        written = memory.notes[note].written if note in memory.notes else None
        text = Texts(vault.store).get(written.text) if vault and written else None
        return {name: value for name, value in text.header.items() if isinstance(value, str)} if text else {}

    if request.explain:
        from vir_core.ingest.explain import explain

        def info(facts: SessionFacts, thread: Thread) -> SessionInfo:
            return session_info(facts, thread, memory, places.project(facts), policy)

        try:
            page = explain(request.explain, sources, memory, info, header, archive)
        except RequestError:
            lost = named_gone(request.explain, gone_sessions(memory, sources, device))
            if lost is None:
                raise
            page = explain_gone(lost, header(lost.note), archive)
        return SessionsReply(explained=page, failed=sources.failures)
    infos: list[SessionInfo] = []
    for thread in sources.lineage.threads:
        for facts in thread.files:
            infos.append(session_info(facts, thread, memory, places.project(facts), policy))
    # With folders named, most sessions lie elsewhere, and that says nothing about their files.
    if not (request.claude_dir or request.codex_dir):
        for state in gone_sessions(memory, sources, device):
            infos.append(gone_info(state, header(state.note), archive.get(state.key)))
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
