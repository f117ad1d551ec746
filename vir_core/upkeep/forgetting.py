"""`forget`: the one verb that destroys."""

from __future__ import annotations

from collections.abc import Iterable
from os import environ
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from vir_core.authority import ACTS, KeyFolder, Signer, WrongPassphrase, payload_of, sign_all
from vir_core.contract import ForgetReply, ForgetRequest, ForgottenPlace, RequestError
from vir_core.journal import Draft, Journal, Line, Texts
from vir_core.machine import Terminal, hold, make_dirs
from vir_core.memory import Forgotten, Memory, NoteState, memory_of, values_of
from vir_core.text import fold, note_id
from vir_core.upkeep.destroying import Target, destroy, digests_in, find_places, unreachable
from vir_core.vault import (
    Secret,
    SeenFile,
    SeenTable,
    Vault,
    adopt,
    find_vault,
    is_note_id,
    keep_secret,
    open_journal,
    open_own_journal,
    parse,
    plain,
    walk,
)

WORD = "forget"
TRIES = 3


class ForgetRefused(Exception):
    """Nobody who may do it was there. `message` and `hint` are whole sentences."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class _Plan(Struct, frozen=True):
    """`subjects` are notes, and sessions without a note; `places` where their words lie now."""

    subjects: tuple[str, ...]
    sessions: dict[str, tuple[str, ...]]
    texts: dict[str, tuple[str, ...]]
    places: tuple[ForgottenPlace, ...]


def forget(request: ForgetRequest, ask: Terminal | None = None) -> ForgetReply:
    """Lists what would be destroyed; with a person at a terminal who types the word (and gives the passphrase, where a key
    exists) destroys it. Raises `RequestError` when nothing is meant, `ForgetRefused`, `Busy`, `StorageError`."""
    vault = find_vault(request.vault, environ, Path.cwd())
    journal = open_journal(vault)
    memory = journal.read(memory_of(journal)).projection
    plan = _plan(vault, journal, memory, request)
    listed = ForgetReply(
        vault=str(vault.root),
        folder=vault.folder,
        subjects=plan.subjects,
        places=plan.places,
        unreachable=tuple(unreachable(vault)),
    )
    if ask is None or request.list_only:
        return listed
    _confirm(plan, listed, ask)
    return _forgotten(vault, plan, request, listed, ask)


def _plan(vault: Vault, journal: Journal, memory: Memory, request: ForgetRequest) -> _Plan:
    subjects = _meant(vault, memory, request)
    lines = journal.read(lambda: _Named(frozenset(subjects))).projection
    sessions = {subject: _sessions(memory, subject) for subject in subjects}
    texts = {subject: tuple(sorted(lines.digests.get(subject, ()))) for subject in subjects}
    target = Target(
        notes=frozenset(subject for subject in subjects if is_note_id(subject)),
        sessions=frozenset(key for keys in sessions.values() for key in keys),
        texts=frozenset(digest for found in texts.values() for digest in found),
    )
    seen = walk(vault, SeenTable.load(vault.state, vault.root))
    return _Plan(tuple(subjects), sessions, texts, tuple(find_places(vault, target, seen)))


def _meant(vault: Vault, memory: Memory, request: ForgetRequest) -> list[str]:
    """The notes and sessions that are meant. Raises `RequestError`."""
    id = request.id.strip()
    if bool(id) == bool(request.text.strip()):
        raise RequestError(
            "Say what to forget: one id, or words with --text.",
            "`vir_core forget NOTE|SESSION|PROJECT` or `vir_core forget --text WORDS`.",
        )
    if request.text.strip():
        return _holding(vault, memory, request.text)
    if is_note_id(id) and id in memory.notes:
        return [id]
    if id.startswith("p"):
        kin = memory.kin_of_project(id)
        found = [note.id for note in memory.notes.values() if note.written is not None and note.written.project in kin]
        if found:
            return sorted(found)
    if ":" in id:
        key = memory.root_of(id)
        if (note := note_id(key)) in memory.notes:
            return [note]
        if key in memory.sessions:
            return [key]
    raise RequestError(
        f"Nothing is known of {id!r}.",
        "Give the vir_id of a note, a session (claude:… or codex:…) or the id of a project; `vir_core query` and "
        "`vir_core projects` show them.",
    )


def _holding(vault: Vault, memory: Memory, words: str) -> list[str]:
    """The notes whose file or text holds the words, without regard to case and spacing."""
    wanted = fold(words)
    texts = Texts(vault.store)
    files = walk(vault, SeenTable.load(vault.state, vault.root)).notes
    found = [
        note.id
        for note in memory.notes.values()
        if note.written is not None
        and any(wanted in fold(text) for text in _words(vault, texts, note, files.get(note.id, ())))
    ]
    if not found:
        raise RequestError(
            f"No note here holds {words[:60]!r}.", "Words are looked for as they stand; try fewer of them."
        )
    return sorted(found)


def _words(vault: Vault, texts: Texts, note: NoteState, files: Iterable[SeenFile]) -> Iterable[str]:
    assert note.written is not None
    for file in files:
        content = vault.absolute(file.path).read_text("utf-8", errors="replace")
        yield f"{file.path}\n{content}\n{plain(content)}"
    text = texts.get(note.written.text)
    if text is not None:
        body = text.body.decode("utf-8", "replace")
        yield f"{text.header.get('title', '')}\n{body}\n{plain(body)}"
    for lesson in note.written.lessons:
        if (evidence := texts.get(lesson.evidence)) is not None:
            yield evidence.body.decode("utf-8", "replace")


def _sessions(memory: Memory, subject: str) -> tuple[str, ...]:
    """The session a note was made of, and every one that is known to continue or copy it."""
    note = memory.notes.get(subject)
    root = note.written.session if note is not None and note.written is not None else subject
    return tuple(sorted({root, *(key for key in memory.sessions if memory.root_of(key) == root)}))


class _Named:
    """Collects the digests that lines about some subjects name. Read whole: no checkpoint has its layout."""

    layout = -2

    def __init__(self, subjects: frozenset[str]) -> None:
        self._subjects = subjects
        self.digests: dict[str, set[str]] = {}

    def apply(self, line: Line) -> None:
        if line.subject in self._subjects:
            self.digests.setdefault(line.subject, set()).update(digests_in(bytes(line.data)))

    def dump(self) -> bytes:
        return b""

    def load(self, content: bytes) -> None:
        raise ValueError("it is read whole")


def _confirm(plan: _Plan, listed: ForgetReply, ask: Terminal) -> None:
    ask.say("This destroys, on this computer and for good:\n")
    for place in plan.places:
        number = f" ({place.count})" if place.count > 1 else ""
        ask.say(f"  {place.path}{number}\n")
    if not plan.places:
        ask.say("  nothing that is still here\n")
    ask.say("What it cannot reach:\n")
    for sentence in listed.unreachable:
        ask.say(f"  {sentence}\n")
    if ask.line(f"Type {WORD} to do it: ").strip() != WORD:
        raise ForgetRefused("Nothing was forgotten.", f"Type the word {WORD} when you are asked.")


def _forgotten(vault: Vault, plan: _Plan, request: ForgetRequest, listed: ForgetReply, ask: Terminal) -> ForgetReply:
    device = adopt(vault, verb="forget").device
    make_dirs(vault.state / "locks", private=True)
    journal = open_own_journal(vault, device)
    make = memory_of(journal)
    secret = keep_secret(vault)
    with hold(vault.state / "locks" / "run.lock", "forget"):
        memory = journal.read(make).projection
        data = [_data(vault, memory, plan, subject, request, secret) for subject in plan.subjects]
        proofs = _proofs(vault, journal, memory, plan.subjects, data, ask)
        with journal.writing("forget", make) as writer:
            drafts = [
                Draft("forgotten", subject, what, must=ACTS["forgotten"].must, proof=proof)
                for subject, what, proof in zip(plan.subjects, data, proofs, strict=True)
            ]
            writer.append(drafts, kind="person", surface="cli")
            reading = writer.reading
        emptied = destroy(vault, reading.projection, walk(vault, SeenTable.load(vault.state, vault.root)))
        journal.save_checkpoint(reading)
    return msgspec.structs.replace(listed, places=tuple(emptied), done=True)


def _data(
    vault: Vault, memory: Memory, plan: _Plan, subject: str, request: ForgetRequest, secret: Secret
) -> dict[str, object]:
    values = set(secret.values(request.text)) if request.text.strip() else set[str]()
    note = memory.notes.get(subject)
    if note is not None and note.written is not None:
        values |= {value for lesson in note.written.lessons for value in lesson.values}
        text = Texts(vault.store).get(note.written.text)
        if text is not None:
            values |= set(values_of(parse(text.body, vault.config.prefix), secret))
    act = Forgotten(
        values=tuple(sorted(values)),
        texts=plan.texts.get(subject, ()),
        sessions=plan.sessions[subject],
        after=memory.standing(subject).after,
    )
    return msgspec.to_builtins(act)


def _proofs(
    vault: Vault,
    journal: Journal,
    memory: Memory,
    subjects: Iterable[str],
    data: list[dict[str, object]],
    ask: Terminal,
) -> list[Raw]:
    """With the key of this device, once the vault has one. Raises `ForgetRefused`."""
    if not memory.state.enrolments:
        return [Raw(b"")] * len(data)
    signer = _signer(vault, memory, ask)
    at = journal.clock()
    payloads = [
        payload_of(vault=vault.id, key=signer.public, at=at, action="forgotten", subject=subject, data=what)
        for subject, what in zip(subjects, data, strict=True)
    ]
    return sign_all(payloads, signer.sign)


def _signer(vault: Vault, memory: Memory, ask: Terminal) -> Signer:
    folder = KeyFolder(vault.state)
    for sealed in folder.list():
        key = memory.keys.get(sealed.id)
        if key is None or key.revoked:
            continue
        for _ in range(TRIES):
            try:
                return folder.open(sealed, ask.secret("Passphrase of your key: "))
            except WrongPassphrase as error:
                ask.say(f"{error.message}\n")
        raise ForgetRefused("That was not the passphrase of your key, so nothing was forgotten.", "Try it again.")
    raise ForgetRefused(
        "This vault has a key and this computer has none that counts, so nothing was forgotten.",
        "Do it on the computer that has the key, or enrol this one: `vir_core review enroll`.",
    )
