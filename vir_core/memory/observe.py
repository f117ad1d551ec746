"""The journal set against the disk. Computed at each call, never journaled."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from vir_core.contract import Trust
from vir_core.memory.facts import Memory, NoteState
from vir_core.vault import Seen, SeenFile

# Fewer than this many may vanish together in a small vault before we stop to ask: a tenth of twelve notes is one.
_ALWAYS_ALLOWED = 3
_MOST_AT_ONCE = 20

# Without a file they are as they should be.
_GONE = frozenset({"archived", "pruned", "rejected"})
# Their files were moved out of service by a verb, so nobody removed them.


class Census(Struct, frozen=True, kw_only=True):
    """Which notes have a file and which files have a note. `absent`: written once, no file now. `away`: in place of their
    file lies the placeholder of a cloud service, or nothing is in it. `waiting`: files with our id whose history has not
    arrived. `broken`: files whose properties cannot be read, with the reason. `vanished`: notes that were there at the last
    look and went together with too many others."""

    absent: frozenset[str]
    away: frozenset[str]
    waiting: Mapping[str, tuple[SeenFile, ...]]
    broken: Mapping[str, str]
    vanished: frozenset[str]


class Observation(Struct, frozen=True, kw_only=True):
    """A census, and note by note: `present` maps a note id to the one file that speaks for it. `edited`: present notes whose
    body is none that vir wrote; an earlier one of its own was put there by a backup or a sync tool. `copies`: further files with the same id, shown and not served. `textless`: notes whose
    text has not arrived."""

    present: Mapping[str, SeenFile]
    edited: frozenset[str]
    copies: Mapping[str, tuple[SeenFile, ...]]
    absent: frozenset[str]
    away: frozenset[str]
    waiting: Mapping[str, tuple[SeenFile, ...]]
    textless: frozenset[str]
    broken: Mapping[str, str]
    vanished: frozenset[str]

    def served(self, memory: Memory) -> dict[str, SeenFile]:
        """The notes that an answer may hold today, with the file each is read from."""
        return {
            note: file for note, file in self.present.items() if note not in self.textless and not memory.withheld(note)
        }


def take_census(trusts: Mapping[str, Trust], seen: Seen, before: Mapping[str, SeenFile]) -> Census:
    """Sets the notes that the journal knows against the files of a walk. `before` holds the files of the walk before it, by
    path; with none, nothing can have vanished."""
    away = frozenset(
        file.id for path, file in before.items() if file.id and file.id not in seen.notes and _is_stub(path, seen)
    )
    absent = frozenset(
        note for note, value in trusts.items() if value not in _GONE and note not in seen.notes and note not in away
    )
    was_there = {file.id for file in before.values() if file.id}
    vanished = absent & was_there
    known = len(trusts) - len(absent) + len(vanished)
    if len(vanished) <= min(_MOST_AT_ONCE, max(_ALWAYS_ALLOWED, known // 10)):
        vanished = frozenset[str]()
    return Census(
        absent=absent,
        away=away & trusts.keys(),
        waiting={note: files for note, files in seen.notes.items() if note not in trusts},
        broken={file.path: file.broken for files in seen.notes.values() for file in files if file.broken},
        vanished=vanished,
    )


def observe(
    memory: Memory, seen: Seen, before: Mapping[str, SeenFile], has_text: Callable[[str], bool] | None = None
) -> Observation:
    """What the walk `seen` says about every note in `memory`, as `take_census` and note by note. `has_text` tells whether a
    text has arrived (`None`: all have)."""
    written = {note.id: note for note in memory.notes.values() if note.written is not None}
    census = take_census({id: memory.trust(note) for id, note in written.items()}, seen, before)
    present: dict[str, SeenFile] = {}
    copies: dict[str, tuple[SeenFile, ...]] = {}
    edited: set[str] = set()
    textless: set[str] = set()
    for id, note in written.items():
        assert note.written is not None
        if has_text is not None and not has_text(note.written.text):
            textless.add(id)
        files = seen.notes.get(id, ())
        if not files:
            continue
        speaker = files[0] if len(files) == 1 else _speaker(note, files)
        present[id] = speaker
        if speaker.body not in note.bodies:
            edited.add(id)
        if len(files) > 1:
            copies[id] = tuple(file for file in files if file is not speaker)
    return Observation(
        present=present,
        edited=frozenset(edited),
        copies=copies,
        absent=census.absent,
        away=census.away,
        waiting=census.waiting,
        textless=frozenset(textless),
        broken=census.broken,
        vanished=census.vanished,
    )


def _is_stub(path: str, seen: Seen) -> bool:
    """Whether a placeholder lies where a note was: one of a name of its own, or a file that is empty until it is opened."""
    file = seen.table.files.get(path)
    return path in seen.placeholders if file is None else not file.size


def _speaker(note: NoteState, files: tuple[SeenFile, ...]) -> SeenFile:
    """Of several files with one id, the one whose body vir knows; the latest body before older ones, then the shorter path
    (a copy's name is the longer one), so that every device picks the same."""
    assert note.written is not None
    latest = note.written.body
    return min(files, key=lambda file: (file.body != latest, file.body not in note.bodies, len(file.path), file.path))
