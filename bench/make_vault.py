"""A synthetic vault, made through the rooms that make real ones.

    python -m bench.make_vault /tmp/bench-vault --notes 10000 --lines 50000 --seed 1

Notes, texts and journal lines are written by `vault/` and `journal/` as a run writes them, so that what is measured on
top reads true shapes. Two things differ: words are drawn (see vocabulary.py), and fsync is off while writing, because a
vault for a bench may be made again. Caches (index, checkpoint, gate) are left to the verbs that own them.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from bench.vocabulary import PROJECTS, Author
from vir_core import journal as history
from vir_core.memory.acts import EvidenceRef, NoteWritten, RunFinished, SessionSettled
from vir_core.memory.facts import Memory
from vir_core.text import lesson_id, note_id, project_id, sha256_hex
from vir_core.vault import (
    CONFIG,
    FOLDERS,
    Config,
    Draft,
    EvidenceTurn,
    Lesson,
    Quote,
    Rendered,
    Vault,
    adopt,
    note_path,
    note_words,
    open_vault,
    parse,
    path_key,
    render,
    write_config,
)

CORE = "0.1.0"
BATCH = 500
NOTES_A_RUN = 20
BEGIN = datetime(2026, 5, 1, 8, tzinfo=UTC)
SPAN = timedelta(days=180)
CATEGORIES = ("gotcha", "gotcha", "gotcha", "pattern", "pattern", "decision", "decision", "tool")


def make_vault(folder: Path, notes: int = 10_000, lines: int = 50_000, seed: int = 1, *, per_note: int = 4) -> Vault:
    """Writes a vault of `notes` notes with `per_note` lessons each and a journal of about `lines` lines below `folder`.

    Each note has a `note_written` and a `session_settled` line, each twenty a `run_finished`; the rest are sessions that
    settled as nothing durable. Equal arguments give equal notes and lines; the device id is this machine's."""
    with _without_fsync():
        vault = _found(folder, seed)
        device = adopt(vault, verb="bench").device
        clock = _Clock()
        kept = history.Journal(vault.store, vault.state, vault=vault.id, device=device, core=CORE, clock=clock)
        with kept.writing("bench", Memory) as writer:
            written = 0
            for batch in _batches(_lines(vault, notes, lines, seed, per_note)):
                clock.at = BEGIN + SPAN * written / max(1, lines)
                writer.append(batch, kind="vir", surface="cli")
                written += len(batch)
    return vault


class _Clock:
    """Half a year of work. The journal may ask more than once for a line, so time moves on with the batches only."""

    def __init__(self) -> None:
        self.at = BEGIN

    def __call__(self) -> str:
        self.at += timedelta(microseconds=1)
        return self.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@contextmanager
def _without_fsync() -> Iterator[None]:
    real = os.fsync
    os.fsync = lambda fd: None  # 60,000 small files would take minutes to reach the disk one by one
    try:
        yield
    finally:
        os.fsync = real


def _found(folder: Path, seed: int) -> Vault:
    base = folder / "vir"
    (base / "store" / "journal").mkdir(parents=True)
    (folder / ".obsidian").mkdir(exist_ok=True)
    write_config(
        base / "store" / CONFIG, Config(id="v" + hashlib.sha256(f"bench {seed} {folder}".encode()).hexdigest()[:15])
    )
    return open_vault(folder)


def _batches(drafts: Iterator[history.Draft]) -> Iterator[list[history.Draft]]:
    while batch := list(islice(drafts, BATCH)):
        yield batch


def _lines(vault: Vault, notes: int, lines: int, seed: int, per_note: int) -> Iterator[history.Draft]:
    rng = random.Random(seed)
    author = Author(seed)
    texts = history.Texts(vault.store)
    taken: set[str] = set()
    folders = {vault.base / name for name in FOLDERS.values()}
    for place in sorted(folders):
        place.mkdir(parents=True, exist_ok=True)
    runs = -(-notes // NOTES_A_RUN)
    noise = max(0, lines - 2 * notes - runs)
    quiet = 0
    for n in range(notes):
        run = f"r{_hex(seed, 'run', n // NOTES_A_RUN)[:15]}"
        session = f"claude:{_uuid(seed, n)}"
        draft = _draft(rng, author, session, n, notes, per_note)
        path = note_path(vault, draft, taken.__contains__)
        taken.add(path_key(path))
        rendered = render(draft)
        vault.absolute(path).write_bytes(rendered.content)
        yield from _written(texts, draft, rendered, path, run)
        due = noise * (n + 1) // notes
        for k in range(quiet, due):
            settled = SessionSettled(
                outcome="nothing_durable", turns=1 + k % 4, last=_uuid(seed, "turn", k), source="claude", run=run
            )
            yield history.Draft("session_settled", f"claude:{_uuid(seed, 'quiet', k)}", settled)
        if (n + 1) % NOTES_A_RUN == 0 or n + 1 == notes:
            counts = RunFinished(written=n % NOTES_A_RUN + 1, skipped={"nothing_durable": due - quiet})
            yield history.Draft("run_finished", run, counts)
        quiet = due


def _draft(rng: random.Random, author: Author, session: str, n: int, notes: int, per_note: int) -> Draft:
    identity = note_id(session)
    project = PROJECTS[min(int(rng.expovariate(0.25)), len(PROJECTS) - 1)]
    lessons: list[Lesson] = []
    for k in range(per_note):
        text = author.finding()
        turn = _uuid(session, k)
        around = (
            EvidenceTurn(who="you", text=author.ask()),
            EvidenceTurn(who="agent", text=f"{author.chatter()} {text}"),
        )
        lead = f"{author.adjective().title()} {author.noun()} in {author.tool()}"
        quote = Quote(turn=turn, text=text)
        lessons.append(Lesson(id=lesson_id(identity, turn, text), lead=lead, text=text, quote=quote, around=around))
    day = (BEGIN + SPAN * n / max(1, notes)).date()
    return Draft(
        id=identity,
        title=author.title(),
        category=rng.choice(CATEGORIES),
        project=project,
        date=day.isoformat(),
        summary=f"{author.finding()} {author.finding()}",
        lessons=tuple(lessons),
        context=f"Asked: {author.ask()}. {author.chatter()} {author.finding()}",
        session=session,
        source="claude",
        branches=("main",),
        distiller="extractive",
        grounded=f"{per_note} of {per_note} quotes found",
        confidence=rng.randrange(40, 95) / 100,
    )


def _written(texts: history.Texts, draft: Draft, rendered: Rendered, path: str, run: str) -> Iterator[history.Draft]:
    refs: list[EvidenceRef] = []
    for lesson in draft.lessons:
        told = "\n".join(f"{turn.who}: {turn.text}" for turn in lesson.around)
        refs.append(
            EvidenceRef(
                id=lesson.id, evidence=texts.put({"lesson": lesson.id}, f"{lesson.quote.text}\n\n{told}\n".encode())
            )
        )
    text = texts.put({"title": draft.title, "path": path, "project": draft.project}, rendered.body)
    note = NoteWritten(
        text=text,
        body=sha256_hex(rendered.body),
        words=note_words(parse(rendered.content), draft.category),
        category=draft.category,
        project=project_id(f"bench:{draft.project}"),
        date=draft.date,
        session=draft.session,
        run=run,
        distiller=draft.distiller,
        confidence=draft.confidence,
        lessons=tuple(refs),
        turns=len(draft.lessons),
    )
    yield history.Draft("note_written", draft.id, note)
    settled = SessionSettled(
        outcome="noted",
        note=draft.id,
        turns=len(draft.lessons),
        last=draft.lessons[-1].quote.turn,
        source="claude",
        run=run,
    )
    yield history.Draft("session_settled", draft.session, settled)


def _hex(*parts: object) -> str:
    return hashlib.sha256(":".join(map(str, parts)).encode()).hexdigest()


def _uuid(*parts: object) -> str:
    h = _hex(*parts)
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:32]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--lines", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    began = time.perf_counter()
    vault = make_vault(asked.folder, asked.notes, asked.lines, asked.seed)
    size = sum(path.stat().st_size for path in vault.journal.rglob("*.jsonl"))
    print(f"{vault.base}: {asked.notes} notes, journal {size / 1e6:.1f} MB, {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
