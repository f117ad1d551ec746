"""One vault, open for a verdict: its history, and where the file of one note lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from os import environ
from pathlib import Path

from vir_core import __version__
from vir_core.journal import Journal, Text, Texts
from vir_core.machine import make_dirs
from vir_core.memory import Memory, NoteState, Shown, Written, memory_of, shown_counts, values_of
from vir_core.review.copies import put_away
from vir_core.review.deciding import Found
from vir_core.review.errors import NotFound
from vir_core.vault import (
    SeenFile,
    SeenTable,
    Standing,
    Vault,
    adopt,
    find_vault,
    is_note_id,
    keep_secret,
    look_at,
    note_words,
    parse,
    resolve,
    split,
    walk,
)


class House:
    """`state` is `None` for a vault that this machine does not write to: it is read, and nobody judges there."""

    def __init__(self, vault: Vault, standing: Standing) -> None:
        self.vault = vault
        self.standing = standing
        self.state = vault.readable_state() if standing.writable else None
        self.texts = Texts(vault.store)
        self.journal = Journal(
            vault.store,
            self.state,
            vault=vault.id,
            device=standing.device,
            core=__version__,
            former=vault.config.was,
        )
        self._make = memory_of(self.journal)
        self._table: SeenTable | None = None
        self._walked: Mapping[str, tuple[SeenFile, ...]] | None = None

    @property
    def table(self) -> SeenTable:
        """The files of the last walk, as they were then."""
        if self._table is None:
            self._table = SeenTable.load(self.state, self.vault.root) if self.state else SeenTable()
        return self._table

    def make(self) -> Memory:
        """What this machine reads the history into."""
        return self._make()

    def memory(self) -> Memory:
        return self.journal.read(self.make).projection

    def shown(self) -> Mapping[str, Shown]:
        """How often answers held each note, as this machine remembers it."""
        return shown_counts(self.state) if self.state else {}

    def look(self, memory: Memory, id: str) -> Found:
        """One note with its file. Raises `NotFound`."""
        note = known_note(memory, id)
        written = note.written
        assert written is not None
        text = self.texts.get(written.text)
        header = {key: str(value) for key, value in text.header.items()} if text else {}
        file = self.file(note)
        away = None if file else self.rejected_file(id, header.get("path", ""))
        standing = memory.standing(note)
        digest, body, known, sha = written.words, b"", True, written.body
        lessons: tuple[str, ...] = ()
        if file is not None and not file.broken and file.body != written.body:
            content = self.vault.absolute(file.path).read_bytes()
            parsed = parse(content, self.vault.config.prefix)
            digest, body, sha = note_words(parsed, written.category), split(content)[1], file.body
            known = False
            lessons = tuple(lesson.block for lesson in parsed.lessons)
        return Found(
            note=note,
            standing=standing,
            trust=memory.trust(note, words=digest if file else ""),
            title=header.get("title", ""),
            file=file,
            digest=digest,
            body=body,
            body_sha=sha,
            known=known,
            header={key: value for key, value in header.items() if key in ("project", "category")},
            lessons=lessons,
            put_away=away,
            values=self._values_of(file or away, text),
        )

    def file(self, note: NoteState) -> SeenFile | None:
        """The file that speaks for the note now; `None` when it has none in the vault."""
        return self.speaker(note, self.files(note.id))

    def files(self, note: str) -> list[SeenFile]:
        """Every file in service that carries the id. The vault is walked only when none lies where it was seen last."""
        known = [now for file in self.table.by_id(note) if (now := self._look(file.path, file)) and now.id == note]
        if known:
            return known
        if self._walked is None:
            self._walked = walk(self.vault, self.table).notes
        return list(self._walked.get(note, ()))

    def speaker(self, note: NoteState, files: list[SeenFile]) -> SeenFile | None:
        """Of several files with one id the one whose words vir knows, as every reader chooses."""
        latest = note.written.body if note.written else ""
        return min(
            files,
            key=lambda file: (file.body != latest, file.body not in note.bodies, len(file.path), file.path),
            default=None,
        )

    def rejected_file(self, note: str, path: str) -> SeenFile | None:
        """The file of a note that was put to `rejected/`; `path` is where vir wrote it first."""
        for candidate in self._rejected(path):
            file = self._look(candidate, None)
            if file is not None and file.id == note:
                return file
        return None

    def _values_of(self, file: SeenFile | None, text: Text | None) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
        def values(lessons: tuple[str, ...]) -> tuple[str, ...]:
            content = self.vault.absolute(file.path).read_bytes() if file else text.body if text else b""
            return values_of(parse(content, self.vault.config.prefix), keep_secret(self.vault), lessons)

        return values

    def words_of(self, file: SeenFile, category: str) -> str:
        """The content digest of a file as it is now; of something else when it cannot be read."""
        try:
            content = self.vault.absolute(file.path).read_bytes()
        except OSError:
            return "unreadable"
        return note_words(parse(content, self.vault.config.prefix), category)

    def title(self, written: Written | None) -> str:
        text = self.text(written)
        return str(text.header.get("title", "")) if text else ""

    def text(self, written: Written | None) -> Text | None:
        return self.texts.get(written.text) if written else None

    def _rejected(self, path: str) -> Iterator[str]:
        yield put_away(self.vault, path)
        folder = self.vault.absolute(put_away(self.vault, ""))
        if folder.is_dir():
            yield from map(self.vault.relative, sorted(folder.rglob("*.md")))

    def _look(self, path: str, known: SeenFile | None) -> SeenFile | None:
        try:
            return look_at(self.vault, path, known)
        except OSError:
            # A file that may not be read speaks for nobody.
            return None


def open_house(vault: str) -> House:
    """For looking. Creates nothing. Raises `NoVault`."""
    found = find_vault(vault, environ, Path.cwd())
    return House(found, resolve(found))


def open_writing(vault: str, verb: str) -> House:
    """For a verdict: this machine becomes a writer of the vault. Raises `NoVault`, `CopyOfVault`, `Busy`, `StorageError`."""
    found = find_vault(vault, environ, Path.cwd())
    standing = adopt(found, verb=verb)
    make_dirs(found.state / "locks", private=True)
    return House(found, standing)


def known_note(memory: Memory, id: str) -> NoteState:
    """The note of that id. Raises `NotFound`."""
    note = memory.notes.get(id) if is_note_id(id) else None
    if note is None or note.written is None:
        hint = "Give the vir_id of a note: `vir_core review queue` and `vir_core query` show them."
        raise NotFound(f"No note is called {id!r}.", hint)
    return note
