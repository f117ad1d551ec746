"""`review queue`: in which order a person looks at notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from vir_core.contract import QueueItem, ReviewReply, ReviewRequest, Trust
from vir_core.memory import PLAIN, Memory, NoteState, Written, counted
from vir_core.review.opening import House, open_house
from vir_core.review.standing import Shown, Standing, standing_of
from vir_core.vault import SeenTable

LATELY = timedelta(days=30)
"""How long after an answer held a new note it still comes before the other new ones."""

PUT_AWAY: frozenset[Trust] = frozenset({"rejected", "superseded", "archived", "pruned"})


class Waiting(Struct, frozen=True, kw_only=True):
    """One place in the queue. `reasons` are empty for a new note; `notes` are those that one question is about."""

    id: str
    written: Written | None
    trust: Trust
    reasons: tuple[str, ...] = ()
    since: str = ""
    shown: Shown = Shown()
    notes: tuple[str, ...] = ()
    origin: str = ""


class Queue(Struct, frozen=True):
    """`places` in the order in which to look, `again` of them first because they need another look; `counts` by state."""

    places: Sequence[Waiting]
    again: int
    counts: Mapping[str, int]


def plan_queue(
    memory: Memory,
    changed: Callable[[NoteState], bool],
    shown: Mapping[str, Shown],
    *,
    now: datetime,
) -> Queue:
    """What needs another look, latest first; then new notes that answers held lately, most shown first; then the other new
    ones, latest session first. `changed` says of an approved note whether its file holds other words than were approved."""
    again: list[Waiting] = []
    lately: list[Waiting] = []
    rest: list[Waiting] = []
    trusts: list[Trust] = []
    floods: dict[str, list[tuple[str, str]]] = {}
    horizon = (now.astimezone(UTC) - LATELY).isoformat()
    for id, note in memory.notes.items():
        if note.written is None:
            continue
        standing = standing_of(memory, note)
        trust: Trust = standing.trust
        if trust == "verified" and changed(note):
            trust = "edited"
        trusts.append(trust)
        for noted in standing.noted:
            floods.setdefault(noted.origin, []).append((noted.at, id))
        if trust in PUT_AWAY:
            continue
        seen = shown.get(id, Shown())
        reasons = reasons_of(standing, trust)
        if reasons:
            again.append(
                Waiting(
                    id=id,
                    written=note.written,
                    trust=trust,
                    reasons=reasons,
                    since=standing.since or note.written.when,
                    shown=seen,
                )
            )
        elif trust == "unreviewed":
            place = Waiting(id=id, written=note.written, trust=trust, shown=seen)
            (lately if seen.times and seen.last >= horizon else rest).append(place)
    again += [_question(origin, found) for origin, found in floods.items()]
    again.sort(key=lambda place: (place.since, place.id), reverse=True)
    lately.sort(key=lambda place: (place.shown.times, place.shown.last, place.id), reverse=True)
    rest.sort(key=lambda place: (_date(place), place.id), reverse=True)
    return Queue(places=[*again, *lately, *rest], again=len(again), counts=counted(trusts))


def reasons_of(standing: Standing, trust: Trust) -> tuple[str, ...]:
    """Why a note needs another look, the gravest first; empty when it does not."""
    reasons = [
        hold.reason for hold in standing.open if hold.reason not in ("superseded", "expired", "undone", "pruned")
    ]
    if standing.disputed:
        reasons.append("disagreed")
    if trust == "edited":
        reasons.append("edited")
    if standing.revision:
        reasons.append("revision")
    return tuple(dict.fromkeys(reasons))


def queue(request: ReviewRequest) -> ReviewReply:
    """Reads the history and the table of files; of the notes themselves only the texts of those it returns."""
    house = open_house(request.vault)
    memory = house.memory()
    plan = plan_queue(memory, changed_since(house.table), house.shown(), now=datetime.now(UTC))
    wanted = plan.places[request.offset : request.offset + request.limit]
    return ReviewReply(
        vault=str(house.vault.root),
        folder=house.vault.folder,
        action="queue",
        items=tuple(items_of(house, wanted)),
        counts=dict(plan.counts),
        waiting=plan.again,
        total=len(plan.places),
        offset=request.offset,
    )


def items_of(house: House, places: Iterable[Waiting]) -> Iterable[QueueItem]:
    for place in places:
        text = house.text(place.written)
        header = text.header if text else {}
        known = house.table.by_id(place.id)
        yield QueueItem(
            id=place.id,
            title=str(header.get("title", "")),
            path=known[0].path if known else "",
            category=place.written.category if place.written else "",
            project=str(header.get("project", "")),
            date=place.written.date if place.written else "",
            trust=place.trust,
            state=PLAIN[place.trust],  # pyright: ignore[reportArgumentType]
            reasons=place.reasons,
            since=place.since,
            shown=place.shown.times,
            last_shown=place.shown.last,
            notes=place.notes,
            origin=place.origin,
        )


def changed_since(table: SeenTable) -> Callable[[NoteState], bool]:
    """Whether a note's file, as it was when last seen, holds a body that is none of those known for the note."""

    def changed(note: NoteState) -> bool:
        files = table.by_id(note.id)
        return bool(files) and all(file.body not in note.bodies for file in files)

    return changed


def _question(origin: str, found: list[tuple[str, str]]) -> Waiting:
    notes = tuple(dict.fromkeys(id for _, id in sorted(found)))
    return Waiting(
        id=f"flood:{origin}",
        written=None,
        trust="unreviewed",
        reasons=("flood",),
        since=max(at for at, _ in found),
        notes=notes,
        origin=origin,
    )


def _date(place: Waiting) -> str:
    return place.written.date if place.written else ""
