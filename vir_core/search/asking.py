"""Who asked, and the record of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from vir_core.memory import Asked, record_asked
from vir_core.text import clean

# Claude Code and Codex name the session in the environment of the commands they run.
_SESSIONS = (("CLAUDE_CODE_SESSION_ID", "claude"), ("CODEX_THREAD_ID", "codex"))
_AGENTS = (("CLAUDECODE", "claude"), ("CODEX_THREAD_ID", "codex"), ("CODEX_SANDBOX", "codex"))
_MOST = 200

SURFACE = "VIR_SURFACE"
"""The variable that a surface other than the command line names itself in, for the record."""


def record(
    state: Path | None,
    environ: Mapping[str, str],
    *,
    verb: str,
    text: str,
    notes: Iterable[str],
    withheld: int,
    caller: str,
    cwd: Path,
) -> bool:
    """One line in the log of this vault; False when there is nowhere to write it. Never raises."""
    if state is None:
        return False
    session, agent = caller_of(caller, environ)
    asked = Asked(
        at=datetime.now(UTC).isoformat(timespec="milliseconds")[:23] + "Z",
        verb=verb,
        surface=environ.get(SURFACE, "cli")[:_MOST],
        text=clean(text[: 4 * _MOST]),
        session=session,
        agent=agent,
        where=place_of_work(cwd),
        notes=tuple(notes),
        withheld=withheld,
    )
    return record_asked(state, asked)


def caller_of(given: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """(session key, agent) of who asks: what the request says, else what the environment does, else empty."""
    if given:
        source, sep, _ = given.partition(":")
        return clean(given[:_MOST]), clean(source[:40]) if sep else ""
    for variable, source in _SESSIONS:
        if id := environ.get(variable, ""):
            return f"{source}:{clean(id[:_MOST])}", source
    return "", next((agent for variable, agent in _AGENTS if environ.get(variable)), "")


def place_of_work(cwd: Path) -> str:
    """The name of the repository that `cwd` lies in; empty outside of one."""
    for place in (cwd, *cwd.parents):
        try:
            if (place / ".git").exists():
                return clean(place.name)
        except OSError:
            # A folder that may not be looked into names nothing.
            return ""
    return ""
