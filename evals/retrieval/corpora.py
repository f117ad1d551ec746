"""The vaults that are asked, made by the rooms that make real ones, below a folder of the caller's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from vir_core import __version__
from vir_core.contract import InitRequest, RunRequest
from vir_core.ingest import run
from vir_core.journal import Draft as LineDraft
from vir_core.journal import Journal, Texts
from vir_core.memory import EvidenceRef, Memory, NoteWritten, SessionSettled
from vir_core.text import canonical, lesson_id, note_id, project_id, sha256_hex
from vir_core.upkeep import init
from vir_core.vault import (
    Draft,
    Lesson,
    Quote,
    Vault,
    note_path,
    note_words,
    open_vault,
    parse,
    path_key,
    render,
    resolve,
)

HERE = Path(__file__).resolve().parent
DRIVERS = ("automated", "headless", "subagent", "teammate", "workflow")


class Question(Struct, frozen=True, rename={"kind": "class"}):
    """`gold` are the notes that answer, `also` those that answer in part; both empty: nothing does."""

    id: str
    kind: str
    split: str
    question: str
    gold: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def answers(self) -> frozenset[str]:
        return frozenset((*self.gold, *self.also))


class Corpus(Struct, frozen=True):
    """`digest` is over the words of every note: two results compare only when it is the same."""

    name: str
    vault: Path
    notes: int
    digest: str
    questions: tuple[Question, ...]


def written(folder: Path) -> Corpus:
    """The notes of notes.jsonl, one lesson a statement."""
    vault = write_notes(folder, ((row["id"], row) for row in _rows(HERE / "notes.jsonl")))
    return _corpus("written", vault, _questions(HERE / "written.jsonl", note_of))


def real(folder: Path, shared: Path) -> Corpus:
    """What a run makes of the handed transcripts, whoever drove them."""
    vault = _founded(folder)
    data = shared / "data"
    run(
        RunRequest(
            vault=str(folder),
            claude_dir=(str(data / "transcripts"), str(data / "real-cli" / "claude-code")),
            codex_dir=(str(data / "transcripts"), str(data / "real-cli" / "codex")),
            driver=DRIVERS,
        )
    )
    return _corpus("real", vault, _questions(HERE / "real.jsonl", str))


def sixty(folder: Path, shared: Path) -> Corpus:
    """Sixty notes of one statement each, with a near-literal and a paraphrased question. They have no titles of their own;
    the first words stand for one, as in a note that the extractive distiller wrote."""
    rows = _rows(shared / "data" / "retrieval60.jsonl")
    vault = write_notes(
        folder,
        (
            (
                f"sixty-{row['id']}",
                {
                    "title": " ".join(row["note"].split()[:7]).rstrip(".,;:"),
                    "category": "pattern",
                    "project": "sixty",
                    "lessons": [row["note"]],
                },
            )
            for row in rows
        ),
    )
    questions = tuple(
        # Handed without a split: half of them by the parity of their number.
        Question(
            f"{row['id']}/{kind}", kind, "dev" if row["id"] % 2 else "test", row[kind], (note_of(f"sixty-{row['id']}"),)
        )
        for row in rows
        for kind in ("literal", "paraphrase")
    )
    return _corpus("sixty", vault, questions)


def write_notes(folder: Path, notes: Iterable[tuple[str, dict[str, object]]]) -> Vault:
    """A vault with one note for each name, written as a run writes it. The note id follows from the name."""
    vault = _founded(folder)
    journal = Journal(vault.store, vault.state, vault=vault.id, device=resolve(vault).device, core=__version__)
    texts = Texts(vault.store)
    taken: set[str] = set()
    lines: list[LineDraft] = []
    for name, note in notes:
        lines += _write(vault, texts, taken, name, note)
    with journal.writing("evals", Memory) as writer:
        writer.append(lines, kind="vir", surface="run")
    return vault


def _write(vault: Vault, texts: Texts, taken: set[str], name: str, note: dict[str, object]) -> Iterator[LineDraft]:
    session = f"claude:{name}"
    identity = note_id(session)
    statements: Sequence[str] = note["lessons"]  # type: ignore[assignment]
    lessons = tuple(
        Lesson(id=lesson_id(identity, f"t{k}", text), lead="", text=text, quote=Quote(turn=f"t{k}", text=text))
        for k, text in enumerate(statements)
    )
    draft = Draft(
        id=identity,
        title=str(note["title"]),
        category=str(note["category"]),
        project=str(note["project"]),
        date="2026-11-01",
        summary="",
        lessons=lessons,
        context="",
        session=session,
        source="claude",
        branches=(),
        distiller="extractive/1",
        grounded="",
        confidence=0.6,
    )
    rendered = render(draft)
    path = note_path(vault, draft, taken.__contains__)
    taken.add(path_key(path))
    vault.absolute(path).parent.mkdir(parents=True, exist_ok=True)
    vault.absolute(path).write_bytes(rendered.content)
    act = NoteWritten(
        text=texts.put({"kind": "note", "title": draft.title, "path": path, "project": draft.project}, rendered.body),
        body=sha256_hex(rendered.body),
        words=note_words(parse(rendered.content), draft.category),
        category=draft.category,
        project=project_id(f"evals:{draft.project}"),
        date=draft.date,
        session=session,
        distiller=draft.distiller,
        confidence=draft.confidence,
        lessons=tuple(
            EvidenceRef(id=one.id, evidence=texts.put({"kind": "evidence", "lesson": one.id}, one.text.encode()))
            for one in lessons
        ),
        turns=len(lessons),
    )
    yield LineDraft(action="note_written", subject=identity, data=act)
    yield LineDraft(
        action="session_settled",
        subject=session,
        data=SessionSettled(outcome="noted", note=identity, turns=len(lessons)),
    )


def _founded(folder: Path) -> Vault:
    (folder / ".obsidian").mkdir(parents=True)
    init(InitRequest(vault=str(folder)))
    return open_vault(folder)


def _corpus(name: str, vault: Vault, questions: tuple[Question, ...]) -> Corpus:
    files = [parse(path.read_bytes()) for path in sorted(vault.base.rglob("*.md"))]
    words = {file.id: note_words(file, file.keys.get("category", "")) for file in files if file.id}
    known = {note for question in questions for note in question.answers}
    if missing := sorted(known - set(words)):
        print(f"{name}: {len(missing)} notes that questions want are not in the vault: {' '.join(missing)}")
    return Corpus(name, vault.root, len(words), sha256_hex(canonical(words))[:16], questions)


def _questions(path: Path, named: Callable[[str], str]) -> tuple[Question, ...]:
    return tuple(
        Question(
            row["id"],
            row["class"],
            row["split"],
            row["question"],
            tuple(map(named, row["gold"])),
            tuple(map(named, row.get("also", ()))),
        )
        for row in _rows(path)
    )


def note_of(name: str) -> str:
    """The id of the note written under this name."""
    return note_id(f"claude:{name}")


def _rows(path: Path) -> list[dict[str, object]]:  # type: ignore[type-arg]
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
