"""From a person's word about notes to the acts that say so: pure, but for texts whose digests are named before they are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

import msgspec
from msgspec import Struct

from vir_core.authority import ACTS
from vir_core.contract import Refused, RequestError, ReviewRequest, Trust
from vir_core.journal import text_digest
from vir_core.memory import (
    Approved,
    Claim,
    Expired,
    Lifted,
    NoteState,
    PolicySet,
    Rejected,
    Standing,
    Superseded,
)
from vir_core.text import clean
from vir_core.vault import SeenFile

MOST = 10_000
"""Notes in one batch."""

POLICIES: Mapping[str, tuple[str, ...]] = {"review_first": ("on", "off")}

_NOT_AGAIN = frozenset({"wrong", "private"})
"""Reasons that speak of the statements, wherever they stand; the others speak of the note."""

_LESSON = re.compile(r"(n[0-9a-f]{15})#(l[0-9a-f]{11})\Z")


class NewText(Struct, frozen=True):
    """A text that a line names; written before it."""

    header: Mapping[str, str]
    body: bytes

    @property
    def digest(self) -> str:
        return text_digest(dict(self.header), self.body)


def _no_values(lessons: tuple[str, ...]) -> tuple[str, ...]:
    """Of a note without words."""
    del lessons
    return ()


class Found(Struct, frozen=True, kw_only=True):
    """One note as it is now. `digest` is of the words in its file (of those vir wrote last when it has none), `known` whether its
    body is the one vir wrote last; else `body` are the bytes below the properties, and `lessons` those in it. `body_sha` is the
    digest of these bytes. `put_away` is its file in `rejected/`, when it lies there. `values` gives what stands for the
    statements of some of its lessons (none named: of all, and of the note) in a line that says they shall not come back."""

    note: NoteState
    standing: Standing
    trust: Trust
    title: str
    file: SeenFile | None
    digest: str
    body: bytes = b""
    body_sha: str = ""
    known: bool = True
    header: Mapping[str, str] = {}
    lessons: tuple[str, ...] = ()
    put_away: SeenFile | None = None
    values: Callable[[tuple[str, ...]], tuple[str, ...]] = _no_values

    @property
    def text(self) -> NewText:
        """The file's words as a text that a line may name."""
        path = self.file.path if self.file else ""
        return NewText({"kind": "note", **self.header, "title": self.title, "path": path}, self.body)


class Decision(Struct, frozen=True, kw_only=True):
    """One act, ready to be signed or to be put on a line. `data` is that of the line."""

    verb: str
    action: str
    subject: str
    data: Mapping[str, Any]
    title: str = ""
    texts: tuple[NewText, ...] = ()

    @property
    def after(self) -> str:
        return str(self.data.get("after", ""))

    @property
    def must(self) -> bool:
        return ACTS[self.action].must


Look = Callable[[str], Found]


def plan_decisions(request: ReviewRequest, verb: str, look: Look) -> tuple[list[Decision], list[Refused]]:
    """The acts that `verb` stands for on each of `request.id`, and the notes it does not fit. `look` raises `NotFound`.

    Raises `RequestError` for words that fit no note."""
    ids = tuple(dict.fromkeys(request.id))
    if not ids:
        raise RequestError(f"Nothing is named to {verb}.", _USAGE[verb])
    if len(ids) > MOST:
        raise RequestError(f"{len(ids)} at once are too many.", f"Name at most {MOST}.")
    decided: list[Decision] = []
    refused: list[Refused] = []
    for id in ids:
        made = _PLANS[verb](request, id, look)
        if isinstance(made, Decision):
            decided.append(made)
        else:
            refused.append(made)
    return decided, refused


def _approve(request: ReviewRequest, id: str, look: Look) -> Decision | Refused:
    found = look(id)
    if found.file is None:
        return _unfit(id, "It has no file in the vault to approve; restore it first.")
    if found.file.broken:
        return _unfit(id, "Its properties cannot be read, so nobody can tell what would be approved.")
    standing = found.standing
    if found.trust == "verified":
        return _unfit(id, "It is approved already.")
    texts: tuple[NewText, ...] = ()
    text = found.note.written.text if found.note.written else ""
    if not found.known:
        texts, text = (found.text,), found.text.digest
    act = Approved(digest=found.digest, text=text, body=found.body_sha, after=standing.after, lifts=_lifts(standing))
    return _decision(request, "approve", "approved", found, act, texts)


def _reject(request: ReviewRequest, id: str, look: Look) -> Decision | Refused:
    found = look(id)
    if not request.reason:
        raise RequestError("A reject says why.", _USAGE["reject"])
    of = request.of
    if request.reason == "duplicate-of":
        if not of or of == id:
            raise RequestError("A duplicate names the note it repeats.", "Add --of with the id of the note to keep.")
        look(of)
    elif of:
        raise RequestError("Only a duplicate repeats another note.", "Leave --of out, or give --reason duplicate-of.")
    lessons = _lessons(request.lesson, found)
    if found.trust == "rejected":
        return _unfit(id, "It is rejected already.")
    why, texts = _why(request, id)
    values, words = _not_again(request, found, lessons)
    act = Rejected(
        reason=request.reason,
        digest=found.digest,
        lessons=lessons,
        of=of,
        why=why,
        after=found.standing.after,
        values=values,
        text=words[0].digest if words else "",
    )
    return _decision(request, "reject", "rejected", found, act, (*texts, *words))


def _strike(request: ReviewRequest, id: str, look: Look) -> Decision | Refused:
    named = _LESSON.match(id)
    if named is None:
        raise RequestError(f"{id!r} names no lesson.", _USAGE["strike"])
    found = look(named[1])
    lessons = _lessons((named[2],), found)
    if lessons[0] in found.standing.struck:
        return _unfit(id, "That lesson is taken out already.")
    why, texts = _why(request, named[1])
    values, words = _not_again(request, found, lessons)
    act = Rejected(
        reason=request.reason,
        digest=found.digest,
        struck=lessons,
        why=why,
        after=found.standing.after,
        values=values,
        text=words[0].digest if words else "",
    )
    return _decision(request, "strike", "rejected", found, act, (*texts, *words))


def _not_again(
    request: ReviewRequest, found: Found, lessons: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[NewText, ...]]:
    """The values of what shall not come back in other notes, and the words it was rejected in when vir did not write them."""
    if request.reason not in _NOT_AGAIN:
        return (), ()
    return found.values(lessons), () if found.known else (found.text,)


def _restore(request: ReviewRequest, id: str, look: Look) -> Decision | Refused:
    named = _LESSON.match(id)
    found = look(named[1] if named else id)
    if named:
        lifts = tuple(sorted(claim.line for claim in found.standing.open if named[2] in claim.struck))
    else:
        lifts = _lifts(found.standing)
    # A file that somebody removed is put back without taking anything back; that too is a person's to say.
    removed = not named and found.file is None and found.put_away is None
    if not lifts and not removed:
        return _unfit(id, "Nothing holds it back.")
    return _decision(request, "restore", "lifted", found, Lifted(after=found.standing.after, lifts=lifts))


def _undo(request: ReviewRequest, id: str, look: Look) -> Decision | Refused:
    """Takes back the last verdict; where nothing proven was said, the latest of what holds the note back."""
    found = look(id)
    lifts = found.standing.heads
    if not lifts and found.standing.open:
        latest: Claim = max(found.standing.open, key=lambda claim: claim.stamp)
        lifts = (latest.line,)
    if not lifts:
        return _unfit(id, "Nobody has decided anything about it.")
    return _decision(request, "undo", "lifted", found, Lifted(after=found.standing.after, lifts=lifts))


def _supersede(request: ReviewRequest, id: str, look: Look) -> Decision | Refused:
    if not request.by or request.by == id:
        raise RequestError("Say which note holds instead.", _USAGE["supersede"])
    found, _instead = look(id), look(request.by)
    act = Superseded(
        by=request.by, since=_day(request.since, "--from"), after=found.standing.after, digest=found.digest
    )
    return _decision(request, "supersede", "superseded", found, act)


def _expire(request: ReviewRequest, id: str, look: Look) -> Decision | Refused:
    if not request.on:
        raise RequestError("Say on which day it stopped being so.", _USAGE["expire"])
    found = look(id)
    act = Expired(on=_day(request.on, "--on"), after=found.standing.after, digest=found.digest)
    return _decision(request, "expire", "expired", found, act)


def _adopt(request: ReviewRequest, id: str, look: Look) -> Decision | Refused:
    return _unfit(look(id).note.id, "No newer version of it waits.")


_PLANS: Mapping[str, Callable[[ReviewRequest, str, Look], Decision | Refused]] = {
    "approve": _approve,
    "reject": _reject,
    "strike": _strike,
    "restore": _restore,
    "undo": _undo,
    "supersede": _supersede,
    "expire": _expire,
    "adopt": _adopt,
}

_USAGE: Mapping[str, str] = {
    "approve": "vir_core review approve NOTE…",
    "reject": "vir_core review reject NOTE… --reason wrong|not-useful|duplicate-of|out-of-date|private",
    "strike": "vir_core review strike NOTE#LESSON --reason wrong",
    "restore": "vir_core review restore NOTE…",
    "undo": "vir_core review undo NOTE…",
    "supersede": "vir_core review supersede OLD --by NEW [--from 2026-11-30]",
    "expire": "vir_core review expire NOTE --on 2026-11-30",
    "adopt": "vir_core review adopt NOTE",
    "policy": "vir_core review policy review_first=on",
}


def policy_decision(request: ReviewRequest, after: Callable[[str], str]) -> Decision:
    """`NAME=VALUE` as an act. `after` gives what the person saw last on the policy. Raises `RequestError`."""
    if len(request.id) != 1 or "=" not in request.id[0]:
        raise RequestError("A policy is a name and a value.", _USAGE["policy"])
    name, _, value = request.id[0].partition("=")
    if name not in POLICIES or value not in POLICIES[name]:
        choices = ", ".join(f"{known}={'|'.join(values)}" for known, values in POLICIES.items())
        raise RequestError(f"There is no policy {clean(request.id[0])!r}.", f"Policies: {choices}.")
    act = PolicySet(value=value == "on", after=after(name))
    return Decision(verb="policy", action="policy_set", subject=f"policy:{name}", data=msgspec.to_builtins(act))


def _decision(
    request: ReviewRequest, verb: str, action: str, found: Found, act: Struct, texts: Sequence[NewText] = ()
) -> Decision:
    del request
    return Decision(
        verb=verb,
        action=action,
        subject=found.note.id,
        data=msgspec.to_builtins(act),
        title=found.title,
        texts=tuple(texts),
    )


def _lifts(standing: Standing) -> tuple[str, ...]:
    """What approving or restoring a note overrules; a lesson that was struck stays so."""
    return tuple(sorted(claim.line for claim in (*standing.open, *standing.noted) if not claim.struck))


def _lessons(named: Sequence[str], found: Found) -> tuple[str, ...]:
    lessons = tuple(dict.fromkeys(name.rpartition("#")[2] for name in named))
    for lesson in lessons:
        if found.lessons and lesson not in found.lessons:
            raise RequestError(
                f"The note {found.note.id} has no lesson {clean(lesson)!r}.",
                f"Its lessons: {', '.join(found.lessons)}.",
            )
    return lessons


def _why(request: ReviewRequest, note: str) -> tuple[str, tuple[NewText, ...]]:
    text = why_text(note, request.why)
    return ("", ()) if text is None else (text.digest, (text,))


def why_text(note: str, why: str) -> NewText | None:
    """A person's reason as a text; `None` for no words."""
    words = clean(why).strip()
    return NewText({"kind": "why", "note": note}, words.encode()) if words else None


def _day(text: str, flag: str) -> str:
    if not text:
        return ""
    try:
        return date.fromisoformat(text).isoformat() if len(text) == 10 else _bad_day(text, flag)
    except ValueError:
        return _bad_day(text, flag)


def _bad_day(text: str, flag: str) -> str:
    raise RequestError(f"{clean(text)!r} is no day.", f"Give {flag} a day such as 2026-11-30.")


def _unfit(id: str, message: str) -> Refused:
    return Refused(id=id, reason="unfit", message=message)
