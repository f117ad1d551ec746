"""The facts of every file found; files that did not change since the last time are not opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.machine import ANYTHING, MachineError, write_atomic
from vir_core.transcripts.find import Found
from vir_core.transcripts.reading import sum_up
from vir_core.transcripts.session import NotASession, SessionFacts, SourceFile, Trouble

LAYOUT = 1
"""Raise it when a fact is added, or means something else: older caches are then read as none."""

Progress = Callable[[int, int, str], None]


class Survey(Struct, frozen=True, kw_only=True):
    """`sessions` in the order of their paths; `others` are files found that are no session, with the reason; `bytes_read`
    is what was read from transcripts this time. `changed` is how many files were read."""

    sessions: tuple[SessionFacts, ...] = ()
    failures: tuple[Trouble, ...] = ()
    others: tuple[Trouble, ...] = ()
    bytes_read: int = 0
    changed: int = 0


class _Refused(Struct, frozen=True, array_like=True):
    path: str
    size: int
    mtime_ns: int
    inode: int
    message: str


class _Cache(Struct, array_like=True):
    layout: int
    sessions: list[SessionFacts] = []
    refused: list[_Refused] = []


def survey(found: Found, cache: Path | None, on_progress: Progress | None = None) -> Survey:
    """Sum up every file found. Only files whose size, time of change or inode differ from the cache are read.

    The cache is written when something changed and its folder exists; without a folder nothing is made. A damaged cache,
    or one of another layout, is as good as none; failing to write it is no failure of the survey. `on_progress` gets
    (done, total, path) for the files that are read."""
    old = _load(cache)
    known = {row.path: row for row in old.sessions}
    refused = {row.path: row for row in old.refused}
    sessions: list[SessionFacts] = []
    turned_away: list[_Refused] = []
    failures: list[Trouble] = list(found.problems)
    stale: list[SourceFile] = []
    for file in found.files:
        row = known.get(file.path)
        if row is not None and row.bytes == file.size and row.mtime_ns == file.mtime_ns and row.inode == file.inode:
            sessions.append(row)
            continue
        no = refused.get(file.path)
        if no is not None and no.size == file.size and no.mtime_ns == file.mtime_ns and no.inode == file.inode:
            turned_away.append(no)
            continue
        stale.append(file)
    read = 0
    for done, file in enumerate(stale):
        if on_progress is not None:
            on_progress(done, len(stale), file.path)
        try:
            summed = sum_up(file)
        except NotASession as reason:
            turned_away.append(_Refused(file.path, file.size, file.mtime_ns, file.inode, str(reason)))
            read += file.size
        except OSError as error:
            failures.append(Trouble(file.path, "read", _because(error)))
        except (TypeError, ValueError, LookupError, AttributeError, AssertionError, RecursionError) as error:
            # A record shaped as no reader expected must not cost the other sessions; the file is named and tried again.
            failures.append(Trouble(file.path, "read", f"It could not be understood ({type(error).__name__})."))
        else:
            sessions.append(summed.facts)
            read += summed.read
    if stale:
        sessions.sort(key=_path)
        turned_away.sort(key=_path)
    elsewhere = _elsewhere(old, found)
    gone = len(known) + len(refused) > len(sessions) + len(turned_away) + len(elsewhere.sessions) + len(
        elsewhere.refused
    )
    if cache is not None and (stale or gone):
        _save(cache, _Cache(LAYOUT, sessions + elsewhere.sessions, turned_away + elsewhere.refused))
    return Survey(
        sessions=tuple(sessions),
        failures=tuple(failures),
        others=found.others + tuple(Trouble(no.path, "read", no.message) for no in turned_away),
        bytes_read=read,
        changed=len(stale),
    )


def _elsewhere(old: _Cache, found: Found) -> _Cache:
    """Rows of folders that were not looked at this time: a run over one folder must not cost the next full run."""
    here = {file.path for file in found.files}
    roots = tuple(f"{root}{sep}" for root in found.roots for sep in "/\\")

    def kept(path: str) -> bool:
        return path not in here and not path.startswith(roots)

    if all(row.path in here for row in old.sessions) and all(row.path in here for row in old.refused):
        return _Cache(LAYOUT)
    return _Cache(
        LAYOUT,
        [row for row in old.sessions if kept(row.path)],
        [row for row in old.refused if kept(row.path)],
    )


def _load(cache: Path | None) -> _Cache:
    if cache is None:
        return _Cache(LAYOUT)
    try:
        content = cache.read_bytes()
        loaded = _decoder.decode(content)
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return _Cache(LAYOUT)
    return loaded if loaded.layout == LAYOUT else _Cache(LAYOUT)


def _save(cache: Path, rows: _Cache) -> None:
    if not cache.parent.is_dir():
        return
    try:
        write_atomic(cache, _encoder.encode(rows), expected=ANYTHING, private=True)
    except MachineError:
        # Only time is lost: the next pass reads these files again.
        return


def _because(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "No permission to read this transcript."
    if isinstance(error, FileNotFoundError):
        return "The transcript disappeared while it was being read."
    return f"The transcript could not be read: {error.strerror or error}."


def _path(row: SessionFacts | _Refused) -> str:
    return row.path


_decoder = msgspec.msgpack.Decoder(_Cache)
_encoder = msgspec.msgpack.Encoder()
