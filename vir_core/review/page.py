"""`review show`: one note with everything a person wants to know before judging it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from vir_core.contract import (
    AroundTurn,
    HistoryEntry,
    HoldInfo,
    LessonPage,
    NotePage,
    RequestError,
    ReviewReply,
    ReviewRequest,
    SimilarNote,
)
from vir_core.journal import Line
from vir_core.memory import PLAIN, Life, Memory, NoteWritten, Standing, entries_of
from vir_core.review.deciding import Found
from vir_core.review.opening import House, open_house
from vir_core.review.standing import NEVER, reason_of
from vir_core.vault import NoteFile, SeenFile, parse

_WHO = frozenset({"you", "agent", "command", "error"})


def show(request: ReviewRequest) -> ReviewReply:
    """Raises `NotFound`, `RequestError`."""
    if len(request.id) != 1:
        raise RequestError("Name one note to show.", "vir_core review show NOTE")
    house = open_house(request.vault)
    memory = house.memory()
    found = house.look(memory, request.id[0].strip())
    return ReviewReply(
        vault=str(house.vault.root), folder=house.vault.folder, action="show", note=page_of(house, memory, found)
    )


def page_of(house: House, memory: Memory, found: Found) -> NotePage:
    note, standing = found.note, found.standing
    written = note.written
    assert written is not None
    trust = found.trust
    life = house.journal.read(lambda: Life(note.id)).projection
    lines = sorted(life.lines, key=lambda line: line.stamp)
    shown = house.shown().get(note.id, NEVER)
    content = _content(house, found)
    parsed = parse(content, house.vault.config.prefix)
    approved = house.texts.get(standing.text) if standing.text and trust == "edited" else None
    header = found.header
    return NotePage(
        id=note.id,
        title=found.title,
        path=found.file.path if found.file else found.put_away.path if found.put_away else "",
        category=written.category,
        project=header.get("project", ""),
        date=written.date,
        trust=trust,
        state=PLAIN[trust],  # pyright: ignore[reportArgumentType]
        session=written.session,
        distiller=written.distiller,
        confidence=written.confidence,
        words=_words(parsed),
        lessons=tuple(_lessons(house, parsed, lines, standing)),
        holds=tuple(_holds(house, standing)),
        similar=tuple(similar(house, memory, found, parsed)),
        history=_without_texts(entries_of(lines, house.texts)),
        shown=shown.times,
        last_shown=shown.last,
        approved=_words(parse(approved.body, house.vault.config.prefix)) if approved else "",
        digest=found.digest,
        after=standing.after,
    )


def similar(house: House, memory: Memory, found: Found, parsed: NoteFile) -> Iterator[SimilarNote]:
    """Notes that say nearly the same, nearest first."""
    del house, memory, found, parsed
    yield from ()


def evidence_parts(body: bytes) -> tuple[str, str, tuple[AroundTurn, ...]]:
    """Quote, its time and the turns around it, from the text of a lesson's evidence."""
    blocks = body.decode("utf-8", "replace").split("\n\n")
    head, _, quote = blocks[0].partition("\n")
    at = head.split(" ")[2] if head.count(" ") >= 2 else ""
    turns: list[AroundTurn] = []
    for block in blocks[1:]:
        first, _, text = block.partition("\n")
        who, _, when = first.partition(" ")
        if who in _WHO:
            turns.append(AroundTurn(who=who, at=when, text=text))
        elif turns and block.strip():
            # A turn may hold an empty line of its own.
            last = turns[-1]
            turns[-1] = AroundTurn(who=last.who, at=last.at, text=f"{last.text}\n\n{block}".rstrip("\n"))
        elif block.strip():
            quote = f"{quote}\n\n{block}"
    return quote.strip("\n"), at, tuple(turns)


def _content(house: House, found: Found) -> bytes:
    """The file as it is; the text vir wrote when there is none."""
    file: SeenFile | None = found.file or found.put_away
    if file is not None:
        try:
            return house.vault.absolute(file.path).read_bytes()
        except OSError:
            # Gone between two looks.
            pass
    text = house.text(found.note.written)
    return text.body if text else b""


def _words(parsed: NoteFile) -> str:
    names = (("summary", "Summary"), ("learned", "What was learned"), ("context", "Context"))
    return "\n\n".join(f"## {shown}\n\n{parsed.sections[name]}" for name, shown in names if parsed.sections.get(name))


def _lessons(house: House, parsed: NoteFile, lines: Sequence[Line], standing: Standing) -> Iterator[LessonPage]:
    evidence: dict[str, str] = {}
    for line in lines:
        if line.action == "note_written":
            try:
                written = msgspec.json.decode(line.data, type=NoteWritten)
            except msgspec.MsgspecError:
                continue
            evidence |= {lesson.id: lesson.evidence for lesson in written.lessons}
    for lesson in parsed.lessons:
        text = house.texts.get(evidence.get(lesson.block, ""))
        quote, at, around = evidence_parts(text.body) if text else ("", "", ())
        yield LessonPage(
            id=lesson.block,
            lead=lesson.lead,
            text=lesson.text,
            quote=quote,
            at=at,
            around=around,
            struck=lesson.block in standing.struck,
        )


def _holds(house: House, standing: Standing) -> Iterator[HoldInfo]:
    for claim in (*standing.open, *standing.noted):
        why = house.texts.get(claim.why) if claim.why else None
        yield HoldInfo(
            id=claim.line,
            reason=reason_of(claim) if claim.hold or claim.struck else "flood",
            at=claim.when,
            by=claim.by,
            why=why.body.decode("utf-8", "replace") if why else "",
            like=claim.other,
            origin=claim.origin,
        )


def _without_texts(entries: Iterable[HistoryEntry]) -> tuple[HistoryEntry, ...]:
    """The page shows the words once already."""
    return tuple(msgspec.structs.replace(entry, text="") for entry in entries)
