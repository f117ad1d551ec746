"""How a subject stands: what the lines that judge it come to, given the keys that count.

The lines are a set; no order of arrival is known here. Three rules decide, in this order.

1. *Taking back.* A proven act takes back exactly the lines its signed `lifts` name, unless it was itself taken back. A flag
   that arrives later, or bears an old date, is named by nobody and therefore holds.
2. *Verdicts* (approved, adopted, rejected with a proof) are ordered by `after`, which names what the person had seen, and not
   by time. Those that no other one saw are in force; when they disagree the withholding one holds, and a person looks again.
3. *Holds*, proven or not, hold until they are taken back.

A copy of a proven line under another stamp is the same act: acts are counted by what was signed, not by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from vir_core.authority import Checked, Keys, needs_proof

Verdict = Literal["none", "approved", "rejected"]

_VERDICTS = frozenset({"approved", "adopted", "rejected"})
# What was said of the note itself is not among them.
_OF_OTHERS = frozenset({"archived", "retold", "tombstoned"})
_INTERVALS = frozenset({"superseded", "expired"})


class Claim(Struct, frozen=True, array_like=True, gc=False):
    """A line that judges. `line` is its hash and `hold` what it lays when nothing takes it back; empty for what admits.
    `other` is the note it names (duplicate of, resembles, superseded by) or the revision it adopts, `day` a date
    (YYYY-MM-DD), `proof` present when the signature is good, whoever's it is."""

    line: str
    at: str
    device: str
    when: str
    by: str
    act: str
    hold: str = ""
    reason: str = ""
    digest: str = ""
    text: str = ""
    body: str = ""
    lessons: tuple[str, ...] = ()
    struck: tuple[str, ...] = ()
    lifts: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    other: str = ""
    day: str = ""
    why: str = ""
    origin: str = ""
    value: bool | int | str | None = None
    proof: Checked | None = None

    @property
    def stamp(self) -> tuple[str, str, str]:
        return (self.at, self.device, self.line)


class Standing(Struct, frozen=True):
    """`approved` are the content digests that a person approved; `digest`, `text` and `body` say the latest of them, the text
    that holds it and the bytes below the frontmatter it lay in.

    `heads` are the acts that no later one saw: what the next verdict carries as `after`. `open` is everything that withholds
    and may be taken back: what an admitting act names in `lifts`. `holds` are the names of the holds, without those that begin
    on a day; `unknown_act` among them is what only a newer version can take back. `waiting` are lines that admit and that no
    key proves here. `rejects` are rejects not taken back, of the whole or of lessons, `noted` flags that were only written
    down (until something `lifts` them), and `counted` the lines whose proof counts. `ends` is the first day on which the
    subject no longer holds, `successor` the note that holds instead. `freed` are values of its statements that may be said
    again, though the reject stands. `refused` are those of `struck` that say what was rejected in this note or another:
    lessons, `summary` and `context`.
    """

    verdict: Verdict = "none"
    disputed: bool = False
    approved: tuple[str, ...] = ()
    digest: str = ""
    text: str = ""
    body: str = ""
    heads: tuple[str, ...] = ()
    holds: frozenset[str] = frozenset()
    open: tuple[Claim, ...] = ()
    struck: frozenset[str] = frozenset()
    waiting: tuple[Claim, ...] = ()
    rejects: tuple[Claim, ...] = ()
    noted: tuple[Claim, ...] = ()
    counted: frozenset[str] = frozenset()
    ends: str = ""
    successor: str = ""
    freed: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()

    @property
    def archived(self) -> bool:
        """Taken back by `runs undo`, and not written again since."""
        return "archived" in self.holds

    @property
    def judged(self) -> bool:
        """Whether somebody said something about it that a machine must not overwrite. A line that still waits for its key
        may be a person's."""
        struck = self.struck - self.refused
        return bool(self.verdict != "none" or struck or self.waiting or self.ends or self.holds - _OF_OTHERS)

    @property
    def after(self) -> str:
        """`heads` as a line carries them."""
        return ",".join(self.heads)


UNJUDGED = Standing()


class _Act(Struct):
    """What was signed once, with every line that carries it; the first speaks."""

    claim: Claim
    lines: list[str]


def resolve(claims: Sequence[Claim], keys: Keys, *, written: tuple[str, str, str] = ("", "", "")) -> Standing:
    """How the subject of these claims stands. `written` is the stamp of its latest `note_written` line: a run taken back
    before that says nothing about what was written after."""
    if not claims:
        return UNJUDGED
    ordered = sorted(claims, key=lambda claim: claim.stamp)
    acts, by_line = _proven(ordered, keys)
    gone = _taken_back(ordered, acts.values(), by_line)

    seen = _seen(acts.values(), by_line)
    heads = tuple(sorted(act.lines[0] for act in acts.values() if act.lines[0] not in seen[""]))

    live = [act for act in acts.values() if _is_verdict(act.claim) and act.lines[0] not in gone]
    below = {line for act in live for line in seen[act.lines[0]]}
    force = [act.claim for act in live if act.lines[0] not in below]
    admits = [claim for claim in force if claim.act != "rejected"]
    latest = max(admits, key=lambda claim: claim.stamp, default=None)
    disputed = bool(admits) and len(admits) < len(force)
    verdict: Verdict = "none" if not force else "approved" if len(admits) == len(force) else "rejected"

    overruling = {claim.line for claim in force if claim.act == "rejected"}
    open: list[Claim] = []
    waiting: list[Claim] = []
    rejects: list[Claim] = []
    freed: set[str] = set()
    noted: list[Claim] = []
    holds: set[str] = set()
    for claim in ordered:
        if claim.line in gone:
            continue
        counts = claim.line in by_line
        if claim.hold == "unknown_act":
            holds.add(claim.hold)
            continue
        if claim.act == "rejected":
            rejects.append(claim)
        if claim.act == "tombstone_lifted" and counts:
            freed.update(claim.lessons)
        if claim.act == "flag_noted":
            noted.append(claim)
            continue
        if needs_proof(claim.act):
            if not counts:
                waiting.append(claim)
        elif claim.act in _INTERVALS and not counts and force:
            # What a person judged, only a person may say the end of.
            waiting.append(claim)
        elif claim.act == "rejected" and counts and not claim.struck:
            if claim.line in overruling:
                open.append(claim)
        elif claim.act != "notes_undone" or claim.stamp > written:
            open.append(claim)
            if claim.hold and claim.act not in _INTERVALS:
                holds.add(claim.hold)
    ends = min((claim for claim in open if claim.act in _INTERVALS), key=lambda c: (c.day, c.stamp), default=None)
    return Standing(
        verdict=verdict,
        disputed=disputed,
        approved=tuple(sorted({claim.digest for claim in admits})),
        digest=latest.digest if latest else "",
        text=latest.text if latest else "",
        body=latest.body if latest else "",
        heads=heads,
        holds=frozenset(holds),
        open=tuple(open),
        struck=frozenset(lesson for claim in open for lesson in claim.struck),
        waiting=tuple(waiting),
        rejects=tuple(rejects),
        noted=tuple(noted),
        counted=frozenset(by_line),
        freed=frozenset(freed),
        ends=ends.day if ends else "",
        successor=next((claim.other for claim in open if claim.act == "superseded" and claim.day == ends.day), "")
        if ends
        else "",
    )


def _is_verdict(claim: Claim) -> bool:
    """An approval that names no words would be one of whatever the file says next."""
    return claim.act in _VERDICTS and not claim.struck and (claim.act == "rejected" or bool(claim.digest))


class Setting(Struct, frozen=True):
    """`value` is `None` where nobody set it; `heads` are what the next line on it carries as `after`."""

    value: bool | int | str | None = None
    heads: tuple[str, ...] = ()

    @property
    def after(self) -> str:
        """`heads` as a line carries them."""
        return ",".join(self.heads)


UNSET = Setting()


def setting(claims: Sequence[Claim], keys: Keys) -> Setting:
    """What a person set last. Of several that did not know of each other the stricter: true before false, then the greater."""
    acts, by_line = _proven(sorted(claims, key=lambda claim: claim.stamp), keys)
    seen = _seen(acts.values(), by_line)[""]
    force = [act.claim for act in acts.values() if act.lines[0] not in seen]
    values = [claim.value for claim in force if claim.value is not None]
    return Setting(
        max(values, key=lambda value: (type(value).__name__, value), default=None),
        tuple(sorted(claim.line for claim in force)),
    )


def _proven(ordered: Iterable[Claim], keys: Keys) -> tuple[dict[str, _Act], dict[str, _Act]]:
    """The acts whose proof counts, by what was signed and by line."""
    acts: dict[str, _Act] = {}
    by_line: dict[str, _Act] = {}
    for claim in ordered:
        if claim.proof is None or not keys.counts(claim.proof, claim.at):
            continue
        act = acts.setdefault(claim.proof.act, _Act(claim, []))
        act.lines.append(claim.line)
        by_line[claim.line] = act
    return acts, by_line


def _taken_back(claims: Iterable[Claim], acts: Iterable[_Act], by_line: Mapping[str, _Act]) -> frozenset[str]:
    """The lines that a proven act names and that are therefore void. An act that was itself taken back takes back nothing; a
    line can only name older ones, so asking ends."""
    by_name: dict[str, list[_Act]] = {}
    for act in acts:
        if act.claim.act != "rejected":
            for name in act.claim.lifts:
                by_name.setdefault(name, []).append(act)
    if not by_name:
        return frozenset()
    known: dict[str, bool] = {}

    def family(line: str) -> list[str]:
        act = by_line.get(line)
        return act.lines if act else [line]

    def is_gone(line: str) -> bool:
        # Without recursion: a chain of undo and redo may be as long as somebody has patience.
        path = [line]
        while path:
            askers = [act.lines[0] for name in family(path[-1]) for act in by_name.get(name, ())]
            unknown = [one for one in askers if one not in known]
            if unknown:
                path += unknown
            else:
                known[path.pop()] = any(not known[one] for one in askers)
        return known[line]

    gone: set[str] = set()
    for claim in claims:
        # What only a newer version understands, only a newer version may take back.
        if claim.hold != "unknown_act" and is_gone(claim.line):
            gone.add(claim.line)
    return frozenset(gone)


def _seen(acts: Iterable[_Act], by_line: Mapping[str, _Act]) -> dict[str, set[str]]:
    """Per act (by its first line), the lines of all acts it saw, through any number of steps. Under the empty name those
    that any act saw."""
    seen: dict[str, set[str]] = {"": set()}
    for act in acts:
        found: set[str] = set()
        ask = [name for name in act.claim.after if name in by_line]
        while ask:
            older = by_line[ask.pop()]
            if older is act or older.lines[0] in found:
                continue
            found.update(older.lines)
            ask += [name for name in older.claim.after if name in by_line]
        seen[act.lines[0]] = found
        seen[""] |= found
    return seen
