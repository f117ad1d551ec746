"""The facts of every file found; files that did not change since the last time are not opened."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.machine import ANYTHING, MachineError, write_atomic
from vir_core.transcripts.finding import Found
from vir_core.transcripts.reading import Outcome, Resume, outcome_of
from vir_core.transcripts.session import SessionFacts, SourceFile, Trouble

LAYOUT = 4
"""Raise it when a fact is added, or means something else: older caches are then read as none."""
WORTH_HELP = 96 << 20
"""Bytes to read from which a second process pays: it takes a tenth of a second to start."""
RESUMABLE = 256
"""Files, the newest ones, of which is kept where to go on when they grow. What is older seldom grows, and is then read anew."""

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
    """Sum up every file found. Only files whose size, time of change or inode differ from the cache are read, and of
    those that only grew since, only what was added.

    The cache holds nobody's words. It is written when something changed and its folder exists; without a folder nothing is made. A damaged cache,
    or one of another layout, is as good as none; failing to write it is no failure of the survey. `on_progress` gets
    (done, total, path) for the files that are read."""
    kept = _Kept(cache)
    old = kept.rows
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
    newest = _newest(found.files) if stale and cache is not None else frozenset[str]()
    read = 0
    resumes: dict[str, Resume] = {}
    for done, outcome in enumerate(_read(stale, known, kept, newest)):
        file = outcome.file
        if on_progress is not None:
            on_progress(done, len(stale), file.path)
        read += outcome.read
        if outcome.facts is not None:
            sessions.append(outcome.facts)
            if outcome.resume is not None:
                resumes[file.path] = outcome.resume
        elif outcome.refused:
            turned_away.append(_Refused(file.path, file.size, file.mtime_ns, file.inode, outcome.refused))
        else:
            failures.append(Trouble(file.path, "read", outcome.trouble))
    if stale:
        sessions.sort(key=_path)
        turned_away.sort(key=_path)
        failures[len(found.problems) :] = sorted(failures[len(found.problems) :], key=_path)
    elsewhere = _elsewhere(old, found)
    gone = len(known) + len(refused) > len(sessions) + len(turned_away) + len(elsewhere.sessions) + len(
        elsewhere.refused
    )
    if cache is not None and (stale or gone):
        again = {file.path for file in stale}
        here = {file.path for file in found.files}
        for path, resume in kept.resumes().items():
            if path not in again and (path in newest or path not in here):
                resumes[path] = resume
        kept.save(
            _Cache(
                LAYOUT, [_without_words(row) for row in sessions] + elsewhere.sessions, turned_away + elsewhere.refused
            ),
            list(resumes.values()),
        )
    return Survey(
        sessions=tuple(sessions),
        failures=tuple(failures),
        others=found.others + tuple(Trouble(no.path, "read", no.message) for no in turned_away),
        bytes_read=read,
        changed=len(stale),
    )


def _read(
    stale: list[SourceFile], known: dict[str, SessionFacts], kept: _Kept, newest: frozenset[str]
) -> Iterator[Outcome]:
    """Outcomes of the files to read; of many at once in any order."""
    fresh: list[SourceFile] = []
    for file in stale:
        row = known.get(file.path)
        grown = row is not None and row.inode == file.inode and row.bytes < file.size
        if grown and (resume := kept.resumes().get(file.path)):
            yield outcome_of(file, resume=resume, keep=file.path in newest)
        else:
            fresh.append(file)
    if sum(file.size for file in fresh) < WORTH_HELP:
        for file in fresh:
            yield outcome_of(file, keep=file.path in newest)
        return
    from vir_core.transcripts.crew import Task, read_all

    yield from read_all([Task(file, file.path in newest) for file in fresh])


def _newest(files: Sequence[SourceFile]) -> frozenset[str]:
    latest = sorted(files, key=lambda file: file.mtime_ns, reverse=True)[:RESUMABLE]
    return frozenset(file.path for file in latest)


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


class _Kept:
    """The cache file: eight bytes of length, the rows, and then where to go on in files that grow, which is read only
    when one did."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._rest = 0
        self._resumes: dict[str, Resume] | None = None
        self.rows = self._load()

    def _load(self) -> _Cache:
        if self._path is None:
            return _Cache(LAYOUT)
        try:
            with self._path.open("rb") as handle:
                length = int.from_bytes(handle.read(8), "big")
                content = handle.read(min(length, _LARGEST))
            # Hundreds of thousands of small objects, none of them garbage: looking for some would take as long again.
            collecting = gc.isenabled()
            gc.disable()
            try:
                loaded = _decoder.decode(content)
            finally:
                if collecting:
                    gc.enable()
        except (OSError, msgspec.MsgspecError, UnicodeError):
            return _Cache(LAYOUT)
        if loaded.layout != LAYOUT:
            return _Cache(LAYOUT)
        self._rest = 8 + length
        return loaded

    def resumes(self) -> dict[str, Resume]:
        """By path; none when there is no cache or it is damaged."""
        if self._resumes is None:
            self._resumes = {}
            if self._path is not None and self._rest:
                try:
                    with self._path.open("rb") as handle:
                        handle.seek(self._rest)
                        self._resumes = {row.path: row for row in _resume_decoder.decode(handle.read(_LARGEST))}
                except (OSError, msgspec.MsgspecError, UnicodeError):
                    # Only time is lost: files that grew are read anew.
                    return self._resumes
        return self._resumes

    def save(self, rows: _Cache, resumes: list[Resume]) -> None:
        if self._path is None or not self._path.parent.is_dir():
            return
        content = _encoder.encode(rows)
        whole = b"".join((len(content).to_bytes(8, "big"), content, _encoder.encode(resumes)))
        try:
            write_atomic(self._path, whole, expected=ANYTHING, private=True)
        except MachineError:
            # Only time is lost: the next pass reads these files again.
            return


def _without_words(row: SessionFacts) -> SessionFacts:
    """The row as it may lie on disk: what people wrote may hold a secret, and looking for some would cost half a second."""
    return msgspec.structs.replace(row, title="", first_prompt="") if row.title or row.first_prompt else row


def _path(row: SessionFacts | _Refused | Trouble) -> str:
    return row.path


_LARGEST = 1 << 30
"""Bytes of a cache that are read at most: a damaged length must not ask for more."""
_decoder = msgspec.msgpack.Decoder(_Cache)
_resume_decoder = msgspec.msgpack.Decoder(list[Resume])
_encoder = msgspec.msgpack.Encoder()
