"""`query`: from a request to an answer, over the index, the gate and the files as they lie now."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from os import environ
from pathlib import Path

from vir_core.contract import Category, Hit, QueryReply, QueryRequest, RequestError
from vir_core.index import Index, IndexUnusable, all_passages, bring_up_to_date
from vir_core.journal import Texts
from vir_core.machine import MachineError, try_hold
from vir_core.memory import Gate, Memory, build_gate, current_gate, memory_of, observe
from vir_core.search.answering import Answer, Current, Located, Shown, answer
from vir_core.search.scan import Scan
from vir_core.vault import (
    SeenFile,
    SeenTable,
    Vault,
    find_vault,
    look_at,
    note_words,
    open_journal,
    parse,
    passage_texts,
    walk,
)

GATE = "gate"
WALK_SECONDS = 0.15
"""How long one query may look for notes that lie elsewhere than when they were indexed."""


def query(request: QueryRequest) -> QueryReply:
    """Never waits for a writer and creates no folder. Raises `NoVault`, `RequestError`."""
    started = time.perf_counter()
    vault = find_vault(request.vault, environ, Path.cwd())
    reader = _Reader(vault)
    found, degraded = reader.answer(request)
    return QueryReply(
        vault=str(vault.root),
        folder=vault.folder,
        hits=tuple(_hit(shown) for shown in found.hits),
        degraded=degraded,
        excluded=found.excluded,
        took_ms=round((time.perf_counter() - started) * 1000, 1),
    )


class _Reader:
    """One vault, open for one answer."""

    def __init__(self, vault: Vault) -> None:
        self.vault = vault
        self.journal = open_journal(vault)
        self.state = self.journal.state
        self.texts = Texts(vault.store)
        self._seen: SeenTable | None = None
        self._walked: Mapping[str, str] | None = None

    def answer(self, request: QueryRequest) -> tuple[Answer, str | None]:
        """The answer, and why it is not as good as it could be (None when it is)."""
        if self.state is None:
            return self._without_index(request, "this vault has not been read on this machine yet")
        gate, anew = current_gate(self.journal, self.state / GATE)
        index = Index(self.state / "index")
        if anew:
            self._save_gate()
        if index.state() != "ready" and not self._rebuild(index):
            return self._without_index(request, "the search index is being rebuilt or cannot be written")
        for first in (True, False):
            try:
                return self._over(index, gate, request), None
            except IndexUnusable as error:
                if not first or not self._rebuild(index):
                    return self._without_index(request, error.why)
        raise AssertionError("two attempts, both decided above")

    def _over(self, source: Index | Scan, gate: Gate, request: QueryRequest) -> Answer:
        return answer(
            request.text,
            source,
            gate,
            locate=self._locate,
            reread=self._reread,
            approved=lambda note: self._text(gate.approved_text(note)),
            limit=request.limit,
            categories=request.category,
            projects=self._projects(request.project),
        )

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

    def _without_index(self, request: QueryRequest, why: str) -> tuple[Answer, str]:
        """Everything read from the history and the note files, in memory."""
        reading = self.journal.read(memory_of(self.journal))
        gate, _ = build_gate(reading)
        seen = walk(self.vault, SeenTable())
        observation = observe(reading.projection, seen, {}, self.texts.has)
        self._walked = {note: file.path for note, file in observation.present.items()}
        passages = all_passages(self.vault, reading.projection, observation.served(reading.projection))
        return self._over(Scan(passages), gate, request), why

    def _projects(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Project ids that the request means. A name is looked up among the notes' texts."""
        if not asked:
            return ()
        memory = self.journal.read(memory_of(self.journal)).projection
        ids = [word for word in asked if _is_project_id(word)]
        names = {word.casefold() for word in asked if not _is_project_id(word)}
        if names:
            known = self._project_names(memory)
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
        return tuple(sorted({kin for id in ids for kin in memory.kin_of_project(id)}))

    def _project_names(self, memory: Memory) -> dict[str, str]:
        """Project id to display name, from one note of each project; a project of several ids goes by its present one."""
        names: dict[str, str] = {}
        for note in memory.notes.values():
            project = memory.root_project(note.written.project) if note.written is not None else ""
            if note.written is not None and project not in names:
                text = self.texts.get(note.written.text)
                if text is not None:
                    names[project] = str(text.header.get("project", ""))
        return names

    def _locate(self, note: str, path: str, digest: str) -> Located | None:
        """Where the note lies: its known path, else where it was seen last, else one bounded walk."""
        for candidate in self._places(note, path):
            file = self._look(candidate)
            # What its person calls wrong among its properties is withheld before a run has written that down.
            if file is not None and file.id == note and not file.wrong:
                return Located(path=candidate, size=file.size, mtime_ns=file.mtime_ns, unchanged=file.body == digest)
        return None

    def _places(self, note: str, path: str) -> Iterator[str]:
        """The likeliest first; the walk begins only when the file was not there."""
        yield path
        yield from self._other_places(note, path)

    def _look(self, path: str) -> SeenFile | None:
        """The file there now; one that may not be read, or is a link in a circle, is not there for an answer."""
        try:
            return look_at(self.vault, path)
        except OSError:
            return None

    def _other_places(self, note: str, path: str) -> list[str]:
        if self._walked is None:
            table = self._table()
            known = [file.path for file in table.by_id(note) if file.path != path]
            if any(self._look(place) for place in known):
                return known
            seen = walk(self.vault, table, seconds=WALK_SECONDS)
            self._walked = {id: files[0].path for id, files in seen.notes.items()}
        found = self._walked.get(note)
        return [found] if found and found != path else []

    def _table(self) -> SeenTable:
        if self._seen is None:
            self._seen = SeenTable.load(self.state, self.vault.root) if self.state else SeenTable()
        return self._seen

    def _text(self, digest: str) -> Current | None:
        """The words of a text that a person approved."""
        text = self.texts.get(digest) if digest else None
        if text is None:
            return None
        note = parse(b"---\n---\n" + text.body, self.vault.config.prefix)
        blocks = {block or kind: words for block, kind, words in passage_texts(note)}
        return Current(blocks=blocks, words=lambda category: note_words(note, category))

    def _reread(self, path: str) -> Current | None:
        try:
            content = self.vault.absolute(path).read_bytes()
        except OSError:
            # Gone between two looks: the caller drops the hit and counts it.
            return None
        note = parse(content, self.vault.config.prefix)
        blocks = {block or kind: words for block, kind, words in passage_texts(note)}
        return Current(blocks=blocks, words=lambda category: note_words(note, category))


def _is_project_id(word: str) -> bool:
    return len(word) == 16 and word[0] == "p" and all(char in "0123456789abcdef" for char in word[1:])


def _hit(shown: Shown) -> Hit:
    category: Category = shown.category  # pyright: ignore[reportAssignmentType]
    return Hit(
        id=shown.note,
        type="note",
        path=shown.path,
        title=shown.title,
        category=category,
        project=shown.project_name,
        date=shown.date,
        score=shown.score,
        trust=shown.trust,
        # The index keeps single precision; two digits were written.
        confidence=round(shown.confidence, 2),
        snippet=shown.snippet,
        block=shown.block,
    )
