"""Comparing what is already there with what was rejected: a rejection may arrive after the note that says the same.

Equal statements need nobody to compare them; replay knows them. What merely resembles a rejected statement is found here,
once for each pair: a rejection that is new on this machine with the notes that share words with it, and a note that another
device wrote with every rejection. What was compared is a cache of this machine; without it the pairs are compared again and
give the same lines, of which none is written twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.index import Index, IndexUnusable
from vir_core.ingest.refusing import TOKENS, Likeness, Refuser
from vir_core.journal import Texts
from vir_core.machine import ANYTHING, MachineError, read_bytes, write_atomic
from vir_core.memory import Laid, Memory, NoteState, Observation, Statement, likes_of, statements_of
from vir_core.vault import Vault, parse

COMPARED = "compared"
CANDIDATES = 200
"""Passages that share words with a rejected lesson, best first, of which the notes are looked at."""


class Compared(Struct):
    """`threshold` is the one that was used; `laid` the hashes of rejecting lines, `texts` the first 16 digits of the digests
    of note texts."""

    threshold: float = TOKENS
    laid: set[str] = set()
    texts: set[str] = set()


class Pairs(Struct, frozen=True):
    """`laid` are to be compared with every note, and the notes in `arrived` with everything that was rejected."""

    laid: tuple[Laid, ...]
    arrived: tuple[str, ...]


def read_compared(state: Path) -> Compared:
    try:
        found = msgspec.msgpack.decode(read_bytes(state / COMPARED), type=Compared)
    except (OSError, MachineError, msgspec.MsgspecError):
        return Compared()
    return found if found.threshold == TOKENS else Compared()


def plan_pairs(memory: Memory, compared: Compared, here: Collection[str]) -> Pairs:
    """`here` are the notes that this run wrote: they were compared before they were written."""
    laid = tuple(one for line, one in memory.tombstones().laid.items() if line not in compared.laid)
    if not compared.laid:
        return Pairs(laid, ())
    arrived = tuple(
        note.id
        for note in memory.notes.values()
        if note.written is not None and note.written.text[:16] not in compared.texts and note.id not in here
    )
    return Pairs(laid, arrived)


def after(memory: Memory) -> Compared:
    """What is compared once a run is through."""
    texts = {note.written.text[:16] for note in memory.notes.values() if note.written is not None}
    return Compared(TOKENS, set(memory.tombstones().laid), texts)


def keep_compared(state: Path, before: Compared, now: Compared) -> None:
    """Raises `StorageError`."""
    if before != now:
        write_atomic(state / COMPARED, msgspec.msgpack.encode(now), expected=ANYTHING, private=True)


class Comparer:
    """Looks at notes as they lie. An approved note is left alone: a person judged those very words."""

    def __init__(self, vault: Vault, memory: Memory, observation: Observation, index: Index) -> None:
        self._vault = vault
        self._memory = memory
        self._observation = observation
        self._index = index
        self._texts = Texts(vault.store)
        self._refuser = Refuser(vault, memory, memory.tombstones())

    def find(self, pairs: Pairs) -> dict[str, Likeness]:
        """The notes to hold, each beside what it resembles most."""
        found: dict[str, Likeness] = {}
        for laid in pairs.laid:
            for note in self._candidates(laid):
                self._compare(note, (laid,), found)
        for note in pairs.arrived:
            self._compare(note, None, found)
        return found

    def _compare(self, id: str, among: Iterable[Laid] | None, found: dict[str, Likeness]) -> None:
        note = self._memory.notes.get(id)
        if note is None or self._memory.trust(note) != "unreviewed":
            return
        like = self._refuser.resembles(id, self._statements(note), among=among, known=likes_of(note))
        if like is not None and (id not in found or like.closeness > found[id].closeness):
            found[id] = like

    def _statements(self, note: NoteState) -> Iterator[Statement]:
        """What the note says now and is in service: lessons that are struck are not."""
        file = self._observation.present.get(note.id)
        assert note.written is not None
        text = self._texts.get(note.written.text)
        if file is None or text is None:
            return
        try:
            content = self._vault.absolute(file.path).read_bytes()
        except OSError:
            return
        struck = self._memory.standing(note).struck
        for one in statements_of(parse(content, self._vault.config.prefix), str(text.header.get("title", ""))):
            if one.place not in struck:
                yield one

    def _candidates(self, laid: Laid) -> Iterable[str]:
        from vir_core.search import question_terms

        notes: dict[str, None] = {}
        for text in self._refuser.words_of(laid):
            try:
                matches = self._index.search(question_terms(text), CANDIDATES).matches
            except IndexUnusable:
                # Every note is a candidate then.
                return sorted(self._observation.present)
            notes.update((match.note, None) for match in matches if match.note != laid.note)
        return notes
