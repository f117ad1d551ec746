"""`review` on a terminal: one note after the other, one key each."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from vir_core.cli.show import count, line, page, queued
from vir_core.contract import QueueItem, Reason, ReviewReply, ReviewRequest
from vir_core.machine import Terminal
from vir_core.text import clean
from vir_core.verbs import TABLE, explain

_PAGE = 50
_WIDEST = 100
_KEYS = "[a]pprove  [r]eject  [s]kip  [u]ndo  [e]vidence  [q]uit"
_FLOOD_KEYS = "[a] leave them in service  [r]eject all  [s]kip  [u]ndo  [q]uit"
_REASONS: Mapping[str, Reason] = {
    "w": "wrong",
    "n": "not-useful",
    "d": "duplicate-of",
    "o": "out-of-date",
    "p": "private",
}
_WHY = "[w]rong  [n]ot useful  [d]uplicate  [o]ut of date  [p]rivate  other key: back"


class _Passphrase:
    """The person, who gives the passphrase once for the whole walk. A wrong one is not kept."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._kept = ""
        self._typed = ""
        self._used = False

    def say(self, text: str) -> None:
        self._terminal.say(clean(text))

    def line(self, prompt: str) -> str:
        return self._terminal.line(prompt)

    def secret(self, prompt: str) -> str:
        if self._kept and not self._used:
            self._used = True
            return self._kept
        self._typed = self._terminal.secret(prompt)
        return self._typed

    def next(self, *, right: bool) -> None:
        """Called after each verdict."""
        if right and self._typed:
            self._kept = self._typed
        self._typed, self._used = "", False


class _Tally(Struct):
    skipped: set[str] = set()
    undoable: list[tuple[str, ...]] = []
    judged: int = 0


def walk(request: ReviewRequest, terminal: Terminal) -> int:
    """The conversation; ends with q, at the end of the queue, or when the terminal goes."""
    person = _Passphrase(terminal)
    tally = _Tally(skipped=set(), undoable=[])
    try:
        while (found := _next(request, tally.skipped)) is not None:
            item, left = found
            _tell(terminal, ["", "─" * _width(terminal), *_face(request, item), ""])
            if not _asked(request, terminal, person, tally, item, left):
                break
        else:
            _tell(terminal, ["", "Nothing more waits."])
    except EOFError:
        # Hung up: what was decided is written already.
        return 1
    _tell(terminal, [f"{count(tally.judged, 'note')} judged."])
    return 0


def _next(request: ReviewRequest, skipped: set[str]) -> tuple[QueueItem, int] | None:
    offset = 0
    while True:
        reply = _run(msgspec.structs.replace(request, action="queue", limit=_PAGE, offset=offset), None)
        for item in reply.items:
            if item.id not in skipped:
                return item, reply.total - len(skipped)
        offset += _PAGE
        if offset >= reply.total:
            return None


def _face(request: ReviewRequest, item: QueueItem) -> list[str]:
    """What a person reads before judging."""
    if item.notes:
        titles = [f"  - {line(_title(request, id))}" for id in item.notes[:10]]
        more = [f"  and {len(item.notes) - 10} more"] if len(item.notes) > 10 else []
        return [*queued(item), *titles, *more]
    reply = _run(msgspec.structs.replace(request, action="show", id=(item.id,)), None)
    assert reply.note is not None
    shown = [f"Shown {count(item.shown, 'time')}, last {item.last_shown[:10]}."] if item.shown else []
    return [*page(reply.note, evidence=False, history=False), *shown]


def _title(request: ReviewRequest, id: str) -> str:
    reply = _run(msgspec.structs.replace(request, action="show", id=(id,)), None)
    return reply.note.title if reply.note else id


def _asked(
    request: ReviewRequest, terminal: Terminal, person: _Passphrase, tally: _Tally, item: QueueItem, left: int
) -> bool:
    """One note until it is judged or left; False to stop."""
    while True:
        key = terminal.key(f"{left} left   {_FLOOD_KEYS if item.notes else _KEYS} ").lower()
        terminal.say(f"{key}\n" if key.isalpha() else "\n")
        match key:
            case "q":
                return False
            case "s":
                tally.skipped.add(item.id)
                return True
            case "e" if not item.notes:
                reply = _run(msgspec.structs.replace(request, action="show", id=(item.id,)), None)
                assert reply.note is not None
                _tell(terminal, page(reply.note)[len(page(reply.note, evidence=False, history=False)) :])
            case "u":
                if not tally.undoable:
                    _tell(terminal, ["Nothing to take back yet."])
                elif _decided(msgspec.structs.replace(request, action="undo", id=tally.undoable[-1]), terminal, person):
                    tally.skipped -= set(tally.undoable.pop())
                    tally.judged -= 1
                    return True
            case "a":
                action = "restore" if item.notes else "approve"
                if _judged(msgspec.structs.replace(request, action=action, id=(item.id,)), terminal, person, tally):
                    return True
            case "r":
                rejecting = _rejecting(msgspec.structs.replace(request, action="reject", id=(item.id,)), terminal)
                if rejecting and _judged(rejecting, terminal, person, tally):
                    # Without a key it still waits, and would be the next one again.
                    tally.skipped.add(item.id)
                    return True
            case _:
                _tell(terminal, ["One of these keys, please."])


def _rejecting(request: ReviewRequest, terminal: Terminal) -> ReviewRequest | None:
    reason = _REASONS.get(terminal.key(f"{_WHY} ").lower(), "")
    terminal.say(f"\n{reason or 'back'}\n")
    if not reason:
        return None
    of = terminal.line("The note that says it already (its id): ").strip() if reason == "duplicate-of" else ""
    return msgspec.structs.replace(request, reason=reason, of=of)


def _judged(request: ReviewRequest, terminal: Terminal, person: _Passphrase, tally: _Tally) -> bool:
    done = _decided(request, terminal, person)
    if done:
        tally.judged += 1
        tally.undoable.append(done)
    return bool(done)


def _decided(request: ReviewRequest, terminal: Terminal, person: _Passphrase) -> tuple[str, ...]:
    """The notes that were judged; none when it could not be, which is said."""
    try:
        reply = _run(request, person)
    except EOFError:
        raise
    except Exception as error:  # noqa: BLE001  one note that cannot be judged must not end the walk
        person.next(right=False)
        explained = explain(error)
        _tell(terminal, [explained.message, *([explained.hint] if explained.hint else [])])
        return ()
    person.next(right=any(one.final for one in reply.done))
    for one in reply.done[:3]:
        _tell(terminal, [f"{one.state}: {line(one.title)}" + ("" if one.final else "  (without a key it only waits)")])
    _tell(terminal, [line(one.message) for one in (*reply.refused, *reply.failed)])
    return tuple(one.id for one in reply.done)


def _run(request: ReviewRequest, person: _Passphrase | None) -> ReviewReply:
    reply = TABLE["review"].run(request, ask=person)
    assert isinstance(reply, ReviewReply)
    return reply


def _tell(terminal: Terminal, lines: list[str]) -> None:
    width = _width(terminal)
    for text in lines:
        for piece in wrapped(text, width):
            terminal.say(piece + "\n")


def _width(terminal: Terminal) -> int:
    return max(20, min(_WIDEST, terminal.width() or 80) - 1)


def wrapped(text: str, width: int) -> Iterator[str]:
    """The text in lines of at most `width` columns, without anything a terminal would obey. A line of a list goes on below
    its words. Wide characters take two columns."""
    for one in clean(text).split("\n"):
        indent = len(one) - len(one.lstrip(" "))
        hang = " " * min(indent + (2 if one.lstrip().startswith(("- ", "* ")) else 0), width // 2)
        begun, used = "", 0
        for word in one.expandtabs(4)[indent:].split(" "):
            if begun.strip() and used + 1 + columns(word) > width:
                yield begun
                begun, used = hang, len(hang)
            elif begun:
                begun, used = f"{begun} ", used + 1
            else:
                begun, used = one[:indent], indent
            for char in word:
                if used + columns(char) > width:
                    yield begun
                    begun, used = hang, len(hang)
                begun, used = begun + char, used + columns(char)
        yield begun


def columns(text: str) -> int:
    """How many columns a terminal gives the text."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
