"""The transcripts of this machine, found, summed up and joined into sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from os import environ
from pathlib import Path

from msgspec import Struct

from vir_core.contract import (
    DoctorRequest,
    Failure,
    Progress,
    ProjectsRequest,
    RequestError,
    RunRequest,
    SessionsRequest,
)
from vir_core.machine import claude_projects_dirs, codex_home_dirs, state_home
from vir_core.transcripts import Found, Lineage, SessionFacts, Trouble, find, join_lineage, survey, with_automated

SCAN = "scan"


class Sources(Struct, frozen=True, kw_only=True):
    """`sessions` one a file; `others` are files that are no session, `failures` what could not be read. `bytes` is what was
    read for this."""

    found: Found
    sessions: tuple[SessionFacts, ...]
    lineage: Lineage
    others: tuple[Trouble, ...]
    failures: tuple[Failure, ...]
    drivers: dict[str, int]
    bytes: int


def find_sources(request: RunRequest | SessionsRequest | ProjectsRequest | DoctorRequest) -> Found:
    """Looks where the request says, else where the agents keep their files. A default that is not there is no failure."""
    if request.claude_dir or request.codex_dir:
        return find([_path(name) for name in request.claude_dir], [_path(name) for name in request.codex_dir])
    claude = [path for path in claude_projects_dirs(environ) if path.is_dir()]
    codex = [path for path in codex_home_dirs(environ) if path.is_dir()]
    return find(claude, codex)


def read_sources(found: Found, tell: Callable[[Progress], None] | None = None) -> Sources:
    """Reads what changed since the last look on this machine and joins files into sessions."""

    def report(done: int, total: int, path: str) -> None:
        if tell is not None:
            tell(Progress(stage="read", done=done, total=total, path=path))

    home = state_home()
    result = survey(found, home / SCAN if home.is_dir() else None, report)
    facts, lineage = with_automated(result.sessions, join_lineage(result.sessions))
    drivers = Counter(one.driver for one in facts)
    return Sources(
        found=found,
        sessions=facts,
        lineage=lineage,
        others=result.others,
        failures=tuple(Failure(path=one.path, stage=one.stage, message=one.message) for one in result.failures),
        drivers=dict(sorted(drivers.items())),
        bytes=result.bytes_read,
    )


def _path(name: str) -> Path:
    if not name.strip():
        raise RequestError("A folder of transcripts is named by nothing.", "Name it, or leave the option out.")
    return Path(name).expanduser().absolute()
