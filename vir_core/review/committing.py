"""Putting decisions into the history and into the files: texts, the record of file changes, lines, files, in that order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Raw, Struct

from vir_core.contract import Failure, Judged, Refused
from vir_core.journal import Draft, Line, Reading
from vir_core.machine import MachineError, try_hold
from vir_core.memory import PLAIN, SERVED, Memory, build_gate, observe
from vir_core.review.copies import FileChange, finish, keep, promise, put_away
from vir_core.review.deciding import Decision, Found
from vir_core.review.errors import Conflict, NewerData
from vir_core.review.opening import House
from vir_core.review.restoring import put_back
from vir_core.vault import walk

VERB = "review"


class Commit(Struct, frozen=True):
    """Decisions with the proof of each (none: nothing proves them), and the notes as they were found."""

    decisions: Sequence[Decision]
    proofs: Sequence[Raw]
    found: Mapping[str, Found]
    by: str
    surface: str


class Outcome(Struct):
    done: list[Judged]
    refused: list[Refused]
    failed: list[Failure]


def commit(house: House, what: Commit) -> Outcome:
    """Appends a line for each decision whose subject stands as it stood when it was made; the others are refused. Raises
    `Conflict` when that leaves none, `NewerData`, `JournalError`, `StorageError`, `Busy`."""
    for decision in what.decisions:
        for text in decision.texts:
            house.texts.put(dict(text.header), text.body)
    changes = [one for decision in what.decisions if (one := _change(house, decision, what.found))]
    record = promise(house.vault, changes)
    outcome = Outcome([], [], [])
    with house.journal.writing(VERB, house.make) as writer:
        memory = writer.reading.projection
        due: list[tuple[Decision, Draft]] = []
        for place, decision in enumerate(what.decisions):
            why = _stale(memory, decision, proven=bool(what.proofs))
            if why is not None:
                outcome.refused.append(why)
                continue
            proof = what.proofs[place] if what.proofs else Raw(b"")
            draft = Draft(decision.action, decision.subject, dict(decision.data), must=decision.must, proof=proof)
            due.append((decision, draft))
        if not due:
            if record is not None:
                record.unlink(missing_ok=True)
            raise _nothing_left(memory, outcome.refused)
        lines = writer.append([draft for _, draft in due], kind=what.by, surface=what.surface)
        reading = writer.reading
    memory = reading.projection
    state_of = stated(memory)
    paths, outcome.failed = keep(house.vault, record, changes, state_of)
    outcome.failed += finish(house.vault, state_of)
    back = _put_back(house, memory, due, what.found, outcome.failed)
    paths = {**paths, **back}
    for (decision, _), line in zip(due, lines, strict=True):
        outcome.done.append(_judged(memory, decision, line, paths, what.found))
    if what.proofs:
        if back or _lets_in(memory, what):
            outcome.failed += searchable(house, memory)
        remember(house, reading)
    return outcome


def _put_back(
    house: House,
    memory: Memory,
    due: Sequence[tuple[Decision, Draft]],
    found: Mapping[str, Found],
    failed: list[Failure],
) -> dict[str, str]:
    """Writes restored notes that have no file from their texts; the path of each. A process that dies before it leaves a note
    that can be restored again."""
    paths: dict[str, str] = {}
    for decision, _ in due:
        known = found.get(decision.subject)
        if decision.verb != "restore" or known is None or known.file is not None or known.put_away is not None:
            continue
        # As it stands now: `known` is how it stood before the verdict.
        note = memory.notes.get(decision.subject)
        if note is None or memory.trust(note) not in SERVED:
            continue
        try:
            path = put_back(house.vault, memory, house.texts, note)
        except MachineError as error:
            failed.append(Failure(path=decision.subject, stage="write", message=error.message))
            continue
        if path:
            paths[decision.subject] = path
        else:
            why = "its words are not here: they have not arrived from another device, or were forgotten"
            failed.append(Failure(path=decision.subject, stage="write", message=why))
    return paths


def stated(memory: Memory) -> Callable[[str], str]:
    """The word a person sees for a note; empty for a note nobody wrote."""

    def state_of(id: str) -> str:
        note = memory.notes.get(id)
        return PLAIN[memory.trust(note)] if note is not None and note.written is not None else ""

    return state_of


def _lets_in(memory: Memory, what: Commit) -> bool:
    """Whether a note may be served now that could not before: a run may have taken it out of the index meanwhile."""
    if any(decision.action == "policy_set" for decision in what.decisions):
        return True
    return any(known.trust not in SERVED and memory.trust(id) in SERVED for id, known in what.found.items())


def searchable(house: House, memory: Memory) -> list[Failure]:
    """Brings the index up to date, unless somebody else is at it: they, or the next run, will."""
    from vir_core.index import Index, IndexUnusable, bring_up_to_date

    try:
        held = try_hold(house.vault.state / "locks" / "index.lock", VERB)
        if held is None:
            return []
        with held:
            seen = walk(house.vault, house.table)
            index = Index(house.vault.state / "index")
            bring_up_to_date(house.vault, memory, observe(memory, seen, {}), index)
    except (MachineError, IndexUnusable) as error:
        why = error.message if isinstance(error, MachineError) else error.why
        return [Failure(path=str(house.vault.state), stage="index", message=why)]
    return []


def remember(house: House, reading: Reading[Memory]) -> None:
    """Keeps what was read for the next reader, who else would have to read it again to learn that a note may be served."""
    _, gate = build_gate(reading)
    house.journal.save_checkpoint(reading, {"gate": gate})


def _stale(memory: Memory, decision: Decision, *, proven: bool) -> Refused | None:
    """Why the line may not be written: the note was judged since it was shown."""
    id = decision.subject
    if id in memory.newer:
        return Refused(
            id=id, reason="newer", message=f"vir {memory.newer[id]} decided something about it; update first."
        )
    if not proven or decision.action == "policy_set":
        return None
    note = memory.notes.get(id)
    if note is None:
        return Refused(id=id, reason="conflict", message="It is not there any more.")
    if memory.standing(note).after != decision.after:
        return Refused(id=id, reason="conflict", message="Somebody judged it since you saw it; look again.")
    return None


def _nothing_left(memory: Memory, refused: Sequence[Refused]) -> Conflict | NewerData:
    first = refused[0]
    if first.reason == "newer":
        version = memory.newer[first.id]
        return NewerData(f"vir {version} decided something about {first.id}.", f"Update vir to {version} or later.")
    return Conflict(first.message, "Nothing was changed. Look at the note again and decide anew.")


def _change(house: House, decision: Decision, found: Mapping[str, Found]) -> FileChange | None:
    """What the verdict may do to the note's file on this device; what the note is after it decides."""
    known = found.get(decision.subject)
    if known is None:
        return None
    vault = house.vault
    unmark = decision.verb in ("approve", "restore", "undo")
    if known.file is not None:
        path = known.file.path
        return FileChange(note=known.note.id, path=path, target=put_away(vault, path), unmark=unmark)
    if known.put_away is not None:
        path = known.put_away.path
        target = path.removeprefix(put_away(vault, ""))
        return FileChange(note=known.note.id, path=path, target=target, unmark=unmark)
    return None


def _judged(
    memory: Memory, decision: Decision, line: Line, paths: Mapping[str, str], found: Mapping[str, Found]
) -> Judged:
    note = memory.notes.get(decision.subject)
    known = found.get(decision.subject)
    trust = memory.trust(note) if note is not None and note.written is not None else None
    path = paths.get(decision.subject, known.file.path if known and known.file else "")
    return Judged(
        id=decision.subject,
        verb=decision.verb,
        path=path,
        title=decision.title,
        trust=trust,
        state=PLAIN[trust] if trust else "",
        line=line.hash,
        final=bool(bytes(line.proof)),
    )
