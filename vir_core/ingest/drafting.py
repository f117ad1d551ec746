"""From what a distiller found to what a note says."""

from __future__ import annotations

from datetime import datetime

from vir_core.distil import DISTILLER, Extract
from vir_core.ingest.selection import Candidate, moment
from vir_core.text import lesson_id
from vir_core.vault import Draft, EvidenceTurn, Lesson, Quote

_EVIDENCE_BYTES = 2048


def draft_of(candidate: Candidate, extract: Extract, aliases: tuple[str, ...] = ()) -> Draft:
    """Lessons whose quote gives an id that an earlier lesson of the note has are dropped: they rest on the same words."""
    from vir_core.transcripts.scrub import scrub_all

    lessons: dict[str, Lesson] = {}
    for found in extract.lessons:
        id = lesson_id(candidate.note, found.turn_id, found.quote)
        lessons.setdefault(
            id,
            Lesson(
                id=id,
                lead=found.lead,
                text=found.text,
                quote=Quote(turn=found.turn_id, text=found.quote, at=found.at),
                around=tuple(EvidenceTurn(who=turn.who, text=turn.text, at=turn.at) for turn in found.around),
            ),
        )
    facts = candidate.facts
    # Names that stand in no turn have not been through the scrubbing of a session.
    (project, *branches), _ = scrub_all((candidate.project.name, *facts.branches))
    return Draft(
        id=candidate.note,
        title=extract.title,
        category=extract.category,
        project=project,
        date=day(facts.ended or facts.started),
        summary=extract.summary,
        lessons=tuple(lessons.values()),
        context=extract.context,
        session=candidate.key,
        source=facts.source,
        branches=tuple(branches),
        distiller=DISTILLER,
        grounded=extract.grounded,
        confidence=round(extract.confidence, 2),
        aliases=aliases,
    )


def day(at: str) -> str:
    """The day of a record's time in the zone of this machine; today's when the record has none."""
    found = moment(at)
    return (found.astimezone() if found else datetime.now().astimezone()).date().isoformat()


def evidence_of(lesson: Lesson) -> bytes:
    """What stands behind a lesson: its quote and the turns around it, at most 2 KB, cut at a character."""
    lines = [f"quote {lesson.quote.turn} {lesson.quote.at}".rstrip(), lesson.quote.text, ""]
    for turn in lesson.around:
        lines += [f"{turn.who} {turn.at}".rstrip(), turn.text, ""]
    return "\n".join(lines).encode("utf-8", "replace")[:_EVIDENCE_BYTES].decode("utf-8", "ignore").encode()
