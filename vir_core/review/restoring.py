"""Writing a removed note again from its text."""

from __future__ import annotations

from vir_core.journal import Texts
from vir_core.memory import PLAIN, Memory, NoteState, Promise, keep
from vir_core.vault import Vault, frontmatter_of


def plan_put_back(vault: Vault, memory: Memory, texts: Texts, note: NoteState) -> Promise | None:
    """The file of a note that has none, with its properties and the words a person approved last, else those vir wrote last;
    `None` while its text has not arrived or was forgotten. Its place is where vir wrote it first."""
    written = note.written
    if written is None:
        return None
    for digest in (memory.standing(note).text, written.text):
        text = texts.get(digest) if digest else None
        if text is None:
            continue
        vir_wrote = texts.get(written.text)
        header = {**(vir_wrote.header if vir_wrote else {}), **text.header}
        front = frontmatter_of(
            id=note.id,
            category=written.category,
            project=str(header.get("project", "")),
            date=written.date,
            state=PLAIN[memory.trust(note)],
            prefix=vault.config.prefix,
        )
        return Promise(
            kind="write",
            note=note.id,
            path=str(header.get("path", "")) or f"{vault.folder}/{note.id}.md",
            line=written.text,
            content=front + text.body,
        )
    return None


def put_back(vault: Vault, memory: Memory, texts: Texts, note: NoteState) -> str:
    """Writes it; returns its path relative to the root, empty when there is nothing to write it from. Another file that lies
    in its place stays, and the note goes beside it. Raises `StorageError`."""
    promise = plan_put_back(vault, memory, texts, note)
    return keep(vault, promise) if promise is not None else ""
