"""`review queue`: in which order a person looks at notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from vir_core.contract import QueueItem, ReviewReply, ReviewRequest, Trust
from vir_core.memory import PLAIN, Memory, NoteState, Shown, Standing, Written, counted
from vir_core.review.opening import House, open_house
from vir_core.review.proving import strangers_told
from vir_core.review.standing import NEVER, reasons_of, since_of

LATELY = timedelta(days=30)
"""How long after an answer held a new note it still comes before the other new ones."""

MOST_READ = 100
"""Files of approved notes that were changed, read anew for one queue; each takes about a millisecond."""

NEW: frozenset[Trust] = frozenset({"unreviewed", "proposed"})
"""What nobody judged yet. Where a person reviews first, it waits as proposed without anything against it."""

PUT_AWAY: frozenset[Trust] = frozenset({"rejected", "superseded", "archived", "pruned"})


class Waiting(Struct, frozen=True, kw_only=True):
    """One place in the queue. `reasons` are empty for a new note; `notes` are those that one question is about."""

    id: str
    written: Written | None
    trust: Trust
    reasons: tuple[str, ...] = ()
    since: str = ""
    shown: Shown = NEVER
    notes: tuple[str, ...] = ()
    origin: str = ""


class Queue(Struct, frozen=True):
    """`places` in the order in which to look, `again` of them first because they need another look; `counts` by state."""

    places: Sequence[Waiting]
    again: int
    counts: Mapping[str, int]


def plan_queue(
    memory: Memory,
    words: Callable[[NoteState, Standing], str],
    shown: Mapping[str, Shown],
    *,
    now: datetime,
) -> Queue:
    """What needs another look, latest first; then new notes that answers held lately, most shown first; then the other new
    ones, latest session first. `words` gives the content digest of an approved note's file, empty when nobody looked."""
    again: list[Waiting] = []
    lately: list[Waiting] = []
    rest: list[Waiting] = []
    trusts: list[Trust] = []
    floods: dict[str, list[tuple[str, str]]] = {}
    horizon = (now.astimezone(UTC) - LATELY).isoformat()
    for id, note in memory.notes.items():
        if note.written is None:
            continue
        standing = memory.standing(note)
        trust = memory.trust(note)
        if trust == "verified":
            trust = memory.trust(note, words=words(note, standing))
        trusts.append(trust)
        for claim in standing.noted:
            floods.setdefault(claim.origin, []).append((claim.when, id))
        if trust in PUT_AWAY:
            continue
        seen = shown.get(id, NEVER)
        reasons = reasons_of(standing, trust)
        if reasons:
            again.append(
                Waiting(
                    id=id,
                    written=note.written,
                    trust=trust,
                    reasons=reasons,
                    since=since_of(standing) or note.written.when,
                    shown=seen,
                )
            )
        elif trust in NEW:
            place = Waiting(id=id, written=note.written, trust=trust, shown=seen)
            (lately if seen.times and seen.last >= horizon else rest).append(place)
    again += [_question(origin, found) for origin, found in floods.items()]
    again.sort(key=lambda place: (place.since, place.id), reverse=True)
    lately.sort(key=lambda place: (place.shown.times, place.shown.last, place.id), reverse=True)
    rest.sort(key=lambda place: (_date(place), place.id), reverse=True)
    return Queue(places=[*again, *lately, *rest], again=len(again), counts=counted(trusts))


def queue(request: ReviewRequest) -> ReviewReply:
    """Reads the history and the table of files; of the notes themselves only the texts of those it returns."""
    house = open_house(request.vault)
    memory = house.memory()
    plan = plan_queue(memory, words_now(house), house.shown(), now=datetime.now(UTC))
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
        policy={"review_first": "on"} if memory.review_first else {},
        notices=strangers_told(memory),
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


def words_now(house: House) -> Callable[[NoteState, Standing], str]:
    """The content digest of an approved note's file as it is now. It is taken from the body where that is a known one; else
    the file is read, `MOST_READ` times: what lies beyond is found by the next look at it."""
    left = MOST_READ

    def words(note: NoteState, standing: Standing) -> str:
        nonlocal left
        assert note.written is not None
        file = house.file(note)
        if file is None or file.body == standing.body:
            return ""
        if file.body == note.written.body:
            return note.written.words
        if left <= 0:
            return ""
        left -= 1
        return house.words_of(file, note.written.category)

    return words


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
