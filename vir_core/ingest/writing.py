"""Putting a batch of distilled sessions into the vault: texts, promises, lines, files, in that order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from vir_core.contract import Category, Failure, KeptNote, WrittenNote
from vir_core.distil import DISTILLER, Extract, NothingDurable
from vir_core.ingest.drafting import draft_of, evidence_of
from vir_core.ingest.refusing import Cleared, Likeness, Refuser, held_line
from vir_core.ingest.selection import Candidate
from vir_core.journal import Draft as LineDraft
from vir_core.journal import Journal, Reading, Texts
from vir_core.machine import MachineError, read_bytes
from vir_core.memory import (
    PLACES,
    EvidenceRef,
    Memory,
    NoteWritten,
    Observation,
    Promise,
    SessionJoined,
    SessionSettled,
    Spool,
    is_of_one_file,
    keep,
    likes_of,
    memory_of,
    statements_of,
)
from vir_core.text import sha256_hex
from vir_core.vault import (
    CannotEdit,
    Draft,
    NoteFile,
    Rendered,
    Secret,
    Vault,
    keep_secret,
    note_path,
    note_words,
    parse,
    path_key,
    read_keys,
    render,
    set_keys,
    split,
)

SURFACE = "run"


class Distilled(Struct, frozen=True):
    candidate: Candidate
    outcome: Extract | NothingDurable


class Outcome(Struct):
    """What a batch came to. `nothing` counts sessions with nothing durable, `refused` those of which nothing was left
    because the person rejected the same before, `lessons_refused` the lessons that were left out for it."""

    written: list[WrittenNote]
    kept: list[KeptNote]
    failed: list[Failure]
    nothing: int = 0
    refused: int = 0
    lessons_refused: int = 0
    lines: int = 0


class _Prepared(Struct, frozen=True, kw_only=True):
    """One note, ready: everything that its line names is durable. `expected` is empty for a new file. `like` is what
    the note resembles and waits for."""

    candidate: Candidate
    draft: Draft
    path: str
    content: bytes
    expected: str
    act: NoteWritten
    cleared: Cleared
    like: Likeness | None


class _Refused(Exception):
    """Every lesson of a session says what was rejected before."""

    def __init__(self, cleared: Cleared) -> None:
        super().__init__(cleared.values)
        self.cleared = cleared


class Desk:
    """Writes into one vault during one run. `taken` are path keys that a new file must not use."""

    def __init__(self, vault: Vault, journal: Journal, observation: Observation, taken: set[str], run: str) -> None:
        self.vault = vault
        self.journal = journal
        self.texts = Texts(vault.store)
        self.spool = Spool(vault.state)
        self.observation = observation
        self.taken = taken
        self.run = run
        self.reading: Reading[Memory] | None = None

    def put(self, batch: Sequence[Distilled], memory: Memory) -> Outcome:
        """Writes one batch. Whatever fails for one session is reported and leaves the others alone; a full disk ends the
        batch with `StorageError`, and nothing that was acknowledged is lost."""
        outcome = Outcome([], [], [])
        prepared: list[_Prepared] = []
        promises: dict[str, tuple[Path, Promise]] = {}
        drafts: list[LineDraft] = []
        # Made with the first lines, and by the side that writes: every line names statements by it.
        secret = keep_secret(self.vault)
        refuser = Refuser(self.vault, memory, memory.tombstones())
        for one in batch:
            drafts += self._joins(one.candidate)
            if isinstance(one.outcome, NothingDurable):
                outcome.nothing += 1
                drafts.append(_settled(one.candidate, "nothing_durable", self.run))
                continue
            try:
                ready = self._prepare(one.candidate, one.outcome, memory, secret, refuser)
            except _Refused as refused:
                outcome.refused += 1
                outcome.lessons_refused += refused.cleared.lessons
                drafts.append(_settled(one.candidate, "refused", self.run, refused.cleared.values))
                continue
            except CannotEdit:
                outcome.kept.append(self._kept(one.candidate, "broken"))
                continue
            except FileNotFoundError:
                # Deleted since the vault was looked at.
                outcome.kept.append(self._kept(one.candidate, "removed"))
                continue
            except MachineError as error:
                if not is_of_one_file(error):
                    raise
                outcome.failed.append(self._failure(one.candidate, error))
                continue
            promise = Promise(
                kind="write",
                note=ready.draft.id,
                path=ready.path,
                line=ready.act.text,
                expected=ready.expected,
                content=ready.content,
            )
            promises[ready.draft.id] = (self.spool.promise(promise), promise)
            prepared.append(ready)
        with self.journal.writing("run", memory_of(self.journal)) as writer:
            due = self._still_due(prepared, writer.reading.projection, outcome)
            for ready in due:
                drafts.append(LineDraft(action="note_written", subject=ready.draft.id, data=ready.act))
                drafts.append(_settled(ready.candidate, "noted", self.run, ready.cleared.values))
                outcome.lessons_refused += ready.cleared.lessons
                if ready.like is not None:
                    drafts.append(held_line(ready.draft.id, ready.like))
            outcome.lines += len(writer.append(drafts, kind="vir", surface=SURFACE))
            self.reading = writer.reading
        for ready in due:
            self._keep(ready, promises[ready.draft.id], outcome)
        for ready in prepared:
            if ready not in due:
                promises[ready.draft.id][0].unlink(missing_ok=True)
        return outcome

    def _joins(self, candidate: Candidate) -> list[LineDraft]:
        return [
            LineDraft(action="session_joined", subject=key, data=SessionJoined(into=candidate.key))
            for key in candidate.joins
        ]

    def _still_due(self, prepared: list[_Prepared], memory: Memory, outcome: Outcome) -> list[_Prepared]:
        """Asks once more under the journal lock: a verdict, or the note from another device, may have arrived since the plan
        was made."""
        due: list[_Prepared] = []
        for ready in prepared:
            note = memory.notes.get(ready.draft.id)
            if note is not None and memory.standing(note).judged:
                outcome.kept.append(self._kept(ready.candidate, "judged"))
            elif note is not None and note.written is not None and note.written.device != self.journal.device:
                outcome.kept.append(self._kept(ready.candidate, "elsewhere"))
            elif note is not None and memory.standing(note).archived and not ready.candidate.forced:
                outcome.kept.append(self._kept(ready.candidate, "undone"))
            else:
                due.append(ready)
        return due

    def _kept(self, candidate: Candidate, reason: str) -> KeptNote:
        file = self.observation.present.get(candidate.note)
        return KeptNote(id=candidate.note, path=file.path if file else "", session=candidate.key, reason=reason)

    def _failure(self, candidate: Candidate, error: MachineError) -> Failure:
        file = self.observation.present.get(candidate.note)
        return Failure(path=file.path if file else candidate.facts.path, stage="write", message=error.message)

    def _prepare(
        self, candidate: Candidate, extract: Extract, memory: Memory, secret: Secret, refuser: Refuser
    ) -> _Prepared:
        """Renders the note and makes its texts durable. Raises `CannotEdit`, `StorageError`, `_Refused`."""
        file = self.observation.present.get(candidate.note)
        renamed = file is not None and self._title_changed(candidate.note, extract.title, memory)
        aliases = (extract.title,) if renamed else ()
        cleared = refuser.clear(draft_of(candidate, extract, aliases), secret)
        if cleared.draft is None:
            raise _Refused(cleared)
        draft = cleared.draft
        prefix = self.vault.config.prefix
        rendered = render(draft, prefix)
        parsed = parse(rendered.content, prefix)
        state = memory.notes.get(draft.id)
        like = refuser.resembles(draft.id, statements_of(parsed, draft.title), known=likes_of(state) if state else ())
        if like is not None:
            draft = structs.replace(draft, state="Needs another look")
            rendered = render(draft, prefix)
        if file is None:
            path = note_path(self.vault, draft, self._is_taken)
            content, expected = rendered.content, ""
            self.taken.add(path_key(path))
        else:
            path = file.path
            content, expected = self._rewritten(path, rendered)
        act = self._act(candidate, draft, path, rendered.body, parse(content, prefix), secret)
        return _Prepared(
            candidate=candidate,
            draft=draft,
            path=path,
            content=content,
            expected=expected,
            act=act,
            cleared=cleared,
            like=like,
        )

    def _title_changed(self, note: str, title: str, memory: Memory) -> bool:
        state = memory.notes.get(note)
        text = self.texts.get(state.written.text) if state and state.written else None
        return text is not None and text.header.get("title") != title

    def _is_taken(self, key: str) -> bool:
        return key in self.taken

    def _rewritten(self, path: str, rendered: Rendered) -> tuple[bytes, str]:
        """The person's frontmatter with our keys brought up to date, over the new body."""
        old = read_bytes(self.vault.absolute(path))
        prefix = self.vault.config.prefix
        keys = read_keys(rendered.frontmatter, prefix)
        assert isinstance(keys, dict)
        wanted = {key: value for key, value in keys.items() if key != "vir_id"}
        edited = set_keys(old, wanted, prefix)
        _, body = split(edited)
        return edited[: len(edited) - len(body)] + rendered.body, sha256_hex(old)

    def _act(
        self, candidate: Candidate, draft: Draft, path: str, body: bytes, parsed: NoteFile, secret: Secret
    ) -> NoteWritten:
        stated = statements_of(parsed, draft.title)
        values: dict[str, tuple[str, ...]] = {}
        for one in stated:
            values[one.place] = tuple(sorted({*values.get(one.place, ()), *one.values(secret)}))
        lessons = tuple(
            EvidenceRef(
                id=lesson.id,
                evidence=self.texts.put(
                    {"kind": "evidence", "note": draft.id, "lesson": lesson.id}, evidence_of(lesson)
                ),
                values=values.get(lesson.id, ()),
            )
            for lesson in draft.lessons
        )
        parts = {place: values[place] for place in PLACES if values.get(place)}
        header = {
            "kind": "note",
            "title": draft.title,
            "path": path,
            "project": draft.project,
            "category": draft.category,
        }
        return NoteWritten(
            text=self.texts.put(header, body),
            body=sha256_hex(body),
            words=note_words(parsed, draft.category),
            category=draft.category,
            project=candidate.project.id,
            date=draft.date,
            session=candidate.key,
            run=self.run,
            distiller=DISTILLER,
            confidence=draft.confidence,
            lessons=lessons,
            turns=candidate.facts.human_turns,
            parts=parts,
        )

    def _keep(self, ready: _Prepared, promised: tuple[Path, Promise], outcome: Outcome) -> None:
        record, promise = promised
        try:
            path = keep(self.vault, promise)
        except MachineError as error:
            if not is_of_one_file(error):
                raise
            # Its line stands, so the promise stays too, and the next run tries again.
            outcome.failed.append(Failure(path=promise.path, stage="write", message=error.message))
            return
        record.unlink(missing_ok=True)
        if not path:
            # The person's editor was faster; their words stay, and the next run sees them as edited.
            outcome.kept.append(self._kept(ready.candidate, "unsaved"))
            return
        category: Category = ready.draft.category  # pyright: ignore[reportAssignmentType]
        outcome.written.append(
            WrittenNote(
                id=ready.draft.id,
                path=path,
                title=ready.draft.title,
                session=ready.candidate.key,
                category=category,
                project=ready.draft.project,
                lessons=len(ready.draft.lessons),
                resembles=ready.like.like if ready.like else "",
            )
        )


def _settled(candidate: Candidate, outcome: str, run: str, refused: tuple[str, ...] = ()) -> LineDraft:
    facts = candidate.facts
    return LineDraft(
        action="session_settled",
        subject=candidate.key,
        data=SessionSettled(
            outcome=outcome,
            note=candidate.note if outcome == "noted" else "",
            turns=facts.human_turns,
            replies=facts.answers,
            last=facts.last_turn,
            source=facts.source,
            run=run,
            refused=refused,
        ),
    )
