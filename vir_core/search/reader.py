"""One vault, open for questions: its gate, its index and where its notes lie, each brought up to date at every question."""

from __future__ import annotations

import time
from _thread import allocate_lock
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from os import environ
from pathlib import Path
from typing import TypeVar

from vir_core.contract import RequestError
from vir_core.index import Index, IndexUnusable, Vectors, all_passages, bring_up_to_date
from vir_core.journal import JournalError, Texts
from vir_core.machine import MachineError, try_hold
from vir_core.memory import Gate, build_gate, current_gate, is_project_id, memory_of, observe, trusted_root
from vir_core.search.answering import Current, Files, Located, Source
from vir_core.search.meaning import Meaning, meaning_of
from vir_core.search.scan import Scan
from vir_core.vault import (
    SEEN,
    SeenFile,
    SeenTable,
    Standing,
    Vault,
    VaultError,
    find_vault,
    look_at,
    note_words,
    open_journal,
    parse,
    passage_texts,
    resolve,
    walk,
)

GATE = "gate"
WALK_SECONDS = 0.15
"""How long a question may look for notes that lie elsewhere than when they were indexed."""

WALK_AGAIN = 10.0
"""Seconds that what such a walk found is believed by a process that stays."""

SCAN_AGAIN = 30.0
"""Seconds that a process which stays believes what it read from all notes, when there is no index to be had."""

_T = TypeVar("_T")


class Reader:
    """Stays open as long as the vault is the same one. Several threads may ask at once."""

    def __init__(self, vault: Vault, standing: Standing) -> None:
        self.vault = vault
        self.standing = standing
        self.journal = open_journal(vault, standing)
        self.state = self.journal.state
        self.texts = Texts(vault.store)
        self.index = Index(self.state / "index") if self.state else None
        self._vectors = Vectors(self.state / "index") if self.state else None
        self._lock = allocate_lock()
        self._gate: Gate | None = None
        self._projects: tuple[int, dict[str, str], Callable[[str], Iterable[str]]] | None = None
        self._scan: tuple[float, int, Scan, dict[str, str]] | None = None
        self._seen: tuple[tuple[int, int], SeenTable] | None = None
        self._walked: tuple[float, Mapping[str, str]] | None = None

    def over(self, ask: Callable[[Source, Gate], _T]) -> tuple[_T, str | None]:
        """What `ask` makes of the index, or of the notes themselves where there is none; then also why (`degraded`). The
        gate knows every line that was on disk when this was called."""
        gate = self.gate()
        if self.state is None or self.index is None:
            return self._without_index(gate, ask, "this vault has not been read on this machine yet")
        if self.index.state() != "ready" and not self._rebuild(self.index):
            return self._without_index(gate, ask, "the search index is being rebuilt or cannot be written")
        for first in (True, False):
            try:
                return ask(self.index, gate), None
            except IndexUnusable as error:
                if not first or not self._rebuild(self.index):
                    return self._without_index(gate, ask, error.why)
        raise AssertionError("two attempts, both decided above")

    def meaning(self, question: str) -> Meaning | None:
        """What the question means, to be found out when it is asked for; `None` where the vault's settings say that meaning is
        not to be used, and where nothing was ever indexed."""
        if self.index is None or self._vectors is None:
            return None
        return meaning_of(question, self.vault.config, environ, self._vectors, self.index)

    def gate(self) -> Gate:
        """A gate that knows every line on disk now."""
        with self._lock:
            if self._gate is not None and self._gate.fits(trusted_root(self.state), self.journal.vaults):
                tail = self.journal.since(self._gate.marks)
                if tail.valid and self._gate.extend(tail):
                    return self._gate
            self._gate, anew = current_gate(self.journal, self.state / GATE if self.state else None)
            if anew and self.state is not None:
                self._save_gate()
            return self._gate

    def kin(self, projects: Iterable[str]) -> frozenset[str]:
        """These project ids and every other id that the same projects went by."""
        of = self._known_projects()[2]
        return frozenset(id for project in projects for id in of(project))

    def _known_projects(self) -> tuple[int, dict[str, str], Callable[[str], Iterable[str]]]:
        """Lines known, project id to display name (from one note of each, under the present id), and the ids of a project."""
        lines = self.gate().marks.lines
        known = self._projects
        if known is not None and known[0] == lines:
            return known
        memory = self.journal.read(memory_of(self.journal)).projection
        names: dict[str, str] = {}
        for note in memory.notes.values():
            project = memory.root_project(note.written.project) if note.written is not None else ""
            if note.written is not None and project not in names:
                text = self.texts.get(note.written.text)
                if text is not None:
                    names[project] = str(text.header.get("project", ""))
        self._projects = lines, names, memory.kin_of_project
        return self._projects

    def project_ids(self, asked: tuple[str, ...], scope: frozenset[str] | None) -> tuple[str, ...]:
        """Project ids that a request means, by id or name. Raises `RequestError`, which names only projects in `scope`."""
        if not asked:
            return ()
        ids = [word for word in asked if is_project_id(word)]
        names = {word.casefold() for word in asked if not is_project_id(word)}
        if names:
            known = {id: name for id, name in self._known_projects()[1].items() if scope is None or id in scope}
            for name in sorted(names):
                fits = sorted(id for id, shown in known.items() if shown.casefold() == name)
                if len(fits) > 1:
                    raise RequestError(
                        f"More than one project is called {name!r}.", f"Name it by id: {', '.join(fits)}."
                    )
                if not fits:
                    names_here = ", ".join(sorted(set(known.values()))[:20]) or "none"
                    raise RequestError(f"No note belongs to a project called {name!r}.", f"Projects: {names_here}.")
                ids += fits
        return tuple(sorted(self.kin(ids)))

    def locate(self, note: str, path: str, digest: str) -> Located | None:
        """Where the note lies: its known path, else where it was seen last, else one bounded walk."""
        for candidate in self._places(note, path):
            file = self._look(candidate)
            if file is not None and file.id == note:
                return Located(path=candidate, size=file.size, mtime_ns=file.mtime_ns, unchanged=file.body == digest)
        return None

    def files(self, gate: Gate) -> Files:
        """How an answer under this gate looks at the notes."""
        return Files(locate=self.locate, reread=self.reread, approved=lambda note: self.text(gate.approved_text(note)))

    def reread(self, path: str) -> Current | None:
        """What the file says now; `None` when it is gone between two looks."""
        try:
            content = self.vault.absolute(path).read_bytes()
        except OSError:
            return None
        return self._current(content)

    def text(self, digest: str) -> Current | None:
        """The words of a text that vir keeps; `None` when it is not here."""
        text = self.texts.get(digest) if digest else None
        return None if text is None else self._current(b"---\n---\n" + text.body)

    def _current(self, content: bytes) -> Current:
        note = parse(content, self.vault.config.prefix)
        blocks = {block or kind: words for block, kind, words in passage_texts(note)}
        return Current(blocks=blocks, words=lambda category: note_words(note, category))

    def _save_gate(self) -> None:
        """A gate that had to be built is kept for the next reader, when its writer is not just now at it."""
        reading = self.journal.read(memory_of(self.journal))
        _, content = build_gate(reading)
        self.journal.save_checkpoint(reading, {GATE: content})

    def _rebuild(self, index: Index) -> bool:
        """Makes the index anew from the notes, unless someone else holds it or the disk refuses."""
        assert self.state is not None
        try:
            held = try_hold(self.state / "locks" / "index.lock", "query")
            if held is None:
                return False
            with held:
                memory = self.journal.read(memory_of(self.journal)).projection
                seen = walk(self.vault, SeenTable.load(self.state, self.vault.root))
                bring_up_to_date(self.vault, memory, observe(memory, seen, {}), index, anew=True)
        except (MachineError, IndexUnusable, OSError):
            # The answer says `degraded`, and doctor says what is wrong with the disk.
            return False
        return True

    def _without_index(self, gate: Gate, ask: Callable[[Source, Gate], _T], why: str) -> tuple[_T, str]:
        """Everything read from the history and the note files, in memory."""
        known, now = self._scan, time.monotonic()
        if known is None or known[1] != gate.marks.lines or now - known[0] > SCAN_AGAIN:
            reading = self.journal.read(memory_of(self.journal))
            seen = walk(self.vault, SeenTable())
            observation = observe(reading.projection, seen, {}, self.texts.has)
            places = {note: file.path for note, file in observation.present.items()}
            passages = all_passages(self.vault, reading.projection, observation.served(reading.projection))
            known = now, gate.marks.lines, Scan(passages), places
            self._scan = known
        self._walked = known[0], known[3]
        return ask(known[2], gate), why

    def _places(self, note: str, path: str) -> Iterator[str]:
        """The likeliest first; the walk begins only when the file was not there."""
        if path:
            yield path
        yield from self._other_places(note, path)

    def _look(self, path: str) -> SeenFile | None:
        """The file there now; one that may not be read, or is a link in a circle, is not there for an answer."""
        try:
            return look_at(self.vault, path)
        except OSError:
            return None

    def _other_places(self, note: str, path: str) -> list[str]:
        walked = self._walked
        if walked is None or time.monotonic() - walked[0] > WALK_AGAIN:
            table = self._table()
            known = [file.path for file in table.by_id(note) if file.path != path]
            if any(self._look(place) for place in known):
                return known
            seen = walk(self.vault, table, seconds=WALK_SECONDS)
            walked = self._walked = time.monotonic(), {id: files[0].path for id, files in seen.notes.items()}
        found = walked[1].get(note)
        return [found] if found and found != path else []

    def _table(self) -> SeenTable:
        """Where the notes lay at the last run; read again when a run has written it since."""
        mark = (0, 0)
        if self.state is not None:
            with suppress(OSError):
                status = (self.state / SEEN).stat()
                mark = status.st_mtime_ns, status.st_size
        if self._seen is None or self._seen[0] != mark:
            table = SeenTable.load(self.state, self.vault.root) if self.state else SeenTable()
            self._seen = mark, table
        return self._seen[1]


_readers: dict[str, Reader] = {}
_kept = False


def keep_readers() -> None:
    """From now on a vault that was asked once stays open, for a process that answers many questions."""
    global _kept
    _kept = True


def reader_of(vault: Vault) -> Reader:
    """A reader of this vault as its settings and this machine's registry stand now."""
    standing = resolve(vault)
    known = _readers.get(str(vault.base))
    state = vault.readable_state() if standing.writable else None
    if known is not None and (known.vault, known.standing, known.state) == (vault, standing, state):
        return known
    reader = Reader(vault, standing)
    if _kept:
        _readers[str(vault.base)] = reader
    return reader


def warm_reader() -> None:
    """Opens the vault that a request without one would mean, and everything that its first question needs; nothing when
    there is none. What is wrong with it is said to whoever asks."""
    from vir_core.search.terms import question_terms

    try:
        reader = reader_of(find_vault("", environ, Path.cwd()))
        reader.over(lambda source, _: source.search(question_terms("warm"), 1))
    except (VaultError, MachineError, JournalError, OSError):
        return
