"""Sessions that this machine read and whose files are gone since: told from the history, and from the copy where one is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from vir_core.contract import Explained, SessionInfo, Source
from vir_core.ingest.named import SHORTEST
from vir_core.ingest.sources import Sources
from vir_core.ingest.standing import session_key
from vir_core.memory import Memory, SessionState
from vir_core.transcripts import HUMAN_PROMPTS, Archive, Copy, named_project

PROMPTS = 5

NoteHeader = Callable[[str], dict[str, str]]
"""Title, project and path of a note by id; empty when its text is not here."""


def gone_sessions(memory: Memory, sources: Sources, device: str) -> list[SessionState]:
    """Those that this device settled and that no file found is of. Sessions of other devices never had a file here; of a file
    that could not be read, and of an agent of whom nothing at all is found, nothing is concluded."""
    threads = sources.lineage.threads
    here = {facts.key for thread in threads for facts in thread.files}
    here |= {session_key(thread, memory) for thread in threads}
    agents = {facts.source for facts in sources.sessions}
    unread = "\n".join(failure.path for failure in sources.failures)
    return [
        state
        for key, state in memory.sessions.items()
        if state.outcome
        and not state.into
        and state.settled[1] == device
        and key not in here
        and key.partition(":")[0] in agents
        and key.partition(":")[2] not in unread
    ]


def named_gone(word: str, gone: Iterable[SessionState]) -> SessionState | None:
    """The one that the word names: its key, its id, or the first six or more letters of either when no other fits."""
    close: list[SessionState] = []
    for state in gone:
        ident = state.key.partition(":")[2]
        if word in (state.key, ident):
            return state
        if len(word) >= SHORTEST and (ident.startswith(word) or state.key.startswith(word)):
            close.append(state)
    return close[0] if len(close) == 1 else None


def gone_info(state: SessionState, header: dict[str, str], copy: Copy | None) -> SessionInfo:
    """As the list shows it: without a file, so with what was written down when it was read."""
    source: Source = "codex" if state.key.startswith("codex:") else "claude"
    head = copy.head if copy else None
    project = header.get("project", "") or (named_project("", head.cwd).name if head and head.cwd else "unknown")
    return SessionInfo(
        path="",
        source=source,
        session=state.key.partition(":")[2],
        parent="",
        driver="human",
        certainty="unsure",
        evidence=("its file is gone; who drove it was decided when it was read",),
        human_turns=state.turns,
        project=project,
        cwd=head.cwd if head else "",
        branch=head.branches[-1] if head and head.branches else "",
        started=head.started if head else "",
        ended=head.ended if head else "",
        bytes=0,
        lines=0,
        bad_lines=0,
        state="gone",
        reason=state.outcome,
    )


def explain_gone(state: SessionState, header: dict[str, str], archive: Archive) -> Explained:
    """The page of a session without a file; its words come from the copy, where one is kept."""
    from vir_core.ingest.explain import shortened

    copy = archive.get(state.key)
    turns = copy.transcript.turns if copy else ()
    noted = state.outcome == "noted"
    return Explained(
        key=state.key,
        session=gone_info(state, header, copy),
        what="A session that vir read and whose file is gone: agents delete theirs after a while. "
        + ("Its note stays, with the words that its lessons rest on." if noted else "It held nothing worth keeping."),
        why=(
            f"vir read it on {state.settled[0][:10]}.",
            "No transcript with this id is here now.",
            "A copy was kept." if copy else "No copy was kept.",
        ),
        lines=(),
        changes=("When the file comes back, it is read like any other.",),
        turns=dict(sorted(Counter(turn.kind for turn in turns).items())),
        prompts=tuple(shortened([turn.text for turn in turns if turn.kind in HUMAN_PROMPTS][:PROMPTS])),
        files=copy.head.files if copy else (),
        note=header.get("path", ""),
        archived=str(archive.path(state.key)) if copy else "",
    )
