"""Lines of every kind, made without a journal, and gates made from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from vir_core.journal import Damage, Line, Marks
from vir_core.journal.line import decode_lines
from vir_core.memory import Gate, Memory, build_gate, load_gate

DEVICES = ("d000000000000001", "d000000000000002", "d000000000000003")
NOTES = tuple(f"n{number:015x}" for number in (1, 2, 3, 0xABCDEF, 0xFFFFFFFFFFFFFFF))
SESSIONS = tuple(f"claude:s{number}" for number in range(4))
RUNS = tuple(f"r{number:015x}" for number in range(3))
LESSONS = ("l00000000001", "l00000000002", "l00000000003")
HEX = tuple(f"{number:02x}" * 32 for number in (1, 2, 3))


def at(number: int) -> str:
    """A stamp that grows with the number."""
    return f"2026-11-01T00:{number // 60 % 60:02}:{number % 60:02}.{number:06}Z"


def line(
    action: str,
    subject: str,
    data: object = {},
    *,
    when: int = 1,
    device: str = DEVICES[0],
    must: bool = False,
    v: int = 1,
    core: str = "0.1.0",
) -> Line:
    by = {"kind": "vir", "surface": "test", "device": device, "core": core}
    record = {"v": v, "at": at(when), "by": by, "action": action, "subject": subject, "data": data, "must": must}
    damage = Damage()
    [read] = decode_lines(json.dumps(record).encode() + b"\n", damage)
    assert damage.total == 0
    return read


def note_line(note: str = NOTES[0], **how: Any) -> Line:
    data = {
        "text": HEX[0],
        "body": HEX[1],
        "words": HEX[2],
        "category": "gotcha",
        "project": "p00000000000000a",
        "date": "2026-11-01",
        "session": SESSIONS[0],
        "run": RUNS[0],
        **how.pop("data", {}),
    }
    return line("note_written", note, data, **how)


_hex = st.sampled_from((*HEX, "not hex", ""))
_notes = st.sampled_from((*NOTES, "n0", "weather"))
_written = st.fixed_dictionaries(
    {
        "text": _hex,
        "body": _hex,
        "words": _hex,
        "category": st.sampled_from(("gotcha", "tool")),
        "project": st.sampled_from(("p00000000000000a", "p00000000000000b", "", "odd")),
        "date": st.just("2026-11-01"),
        "session": st.sampled_from(SESSIONS),
        "run": st.sampled_from((*RUNS, "")),
        "turns": st.integers(0, 3),
    }
)
_acts = st.one_of(
    st.tuples(st.just("note_written"), _notes, _written),
    st.tuples(st.just("note_written"), _notes, _written),
    st.tuples(
        st.just("session_settled"),
        st.sampled_from(SESSIONS),
        st.fixed_dictionaries(
            {
                "outcome": st.sampled_from(("noted", "nothing_durable")),
                "note": _notes,
                "turns": st.integers(0, 3),
                "last": st.sampled_from(("a", "b")),
                "run": st.sampled_from(RUNS),
            }
        ),
    ),
    st.tuples(
        st.just("session_joined"),
        st.sampled_from(SESSIONS),
        st.fixed_dictionaries({"into": st.sampled_from(SESSIONS)}),
    ),
    st.tuples(
        st.just("run_finished"),
        st.sampled_from(RUNS),
        st.fixed_dictionaries({"written": st.integers(0, 3), "skipped": st.just({"copy": 1})}),
    ),
    st.tuples(
        st.just("rejected"),
        _notes,
        st.fixed_dictionaries(
            {"reason": st.just("wrong")}, optional={"struck": st.lists(st.sampled_from(LESSONS), max_size=2)}
        ),
    ),
    st.tuples(
        st.just("held"),
        _notes,
        st.fixed_dictionaries({"reason": st.sampled_from(("resembles", "superseded", "pruned", "flagged", ""))}),
    ),
    st.tuples(st.just("notes_undone"), _notes, st.fixed_dictionaries({"run": st.sampled_from((*RUNS, ""))})),
    st.tuples(st.just("approved"), _notes, st.just({"digest": HEX[0]})),
    st.tuples(st.just("lifted"), _notes, st.just({"hold": "suspended"})),
    st.tuples(st.just("segment_started"), st.just("v000000000000001"), st.just({"vault": "v", "device": "d", "n": 1})),
    st.tuples(st.sampled_from(("sealed_by_notary", "weather_seen")), _notes, st.just({"any": [1, None]})),
)
_unreadable = st.tuples(
    st.sampled_from(("note_written", "rejected", "held", "notes_undone", "run_finished", "session_settled", "lifted")),
    _notes,
    st.sampled_from(([1], "text", {"struck": 7, "reason": [], "run": 1, "outcome": 3, "written": "x", "hold": 4})),
)


@st.composite
def lines(draw: st.DrawFn, *, least: int = 0, most: int = 12, first: int = 1) -> list[Line]:
    """Lines of all acts, acts of a newer vir, payloads that do not fit, and some of a later envelope. Stamps lie from
    `first` on, and collide now and then."""
    made: list[Line] = []
    for action, subject, data in draw(
        st.lists(st.one_of(_acts, _acts, _acts, _unreadable), min_size=least, max_size=most)
    ):
        made.append(
            line(
                action,
                subject,
                data,
                when=first + draw(st.integers(0, 40)),
                device=draw(st.sampled_from(DEVICES)),
                must=draw(st.booleans()),
                v=draw(st.sampled_from((1, 1, 1, 1, 1, 2))),
                core=draw(st.sampled_from(("0.1.0", "3.0.0"))),
            )
        )
    return list({one.hash: one for one in made}.values())


class FakeReading(Struct):
    """What `build_gate` asks of a reading."""

    projection: Memory
    marks: Marks
    newest: str


def memory_of(some: Sequence[Line]) -> Memory:
    memory = Memory()
    for one in some:
        memory.apply(one)
    return memory


def gate_of(some: Sequence[Line], path: Path | None = None) -> Gate:
    """The gate built from these lines; through its file when a path is given."""
    newest = max((one.at for one in some), default="")
    reading: Any = FakeReading(memory_of(some), Marks(newest=newest, lines=len(some)), newest)
    gate, content = build_gate(reading)
    if path is None:
        return gate
    path.write_bytes(content)
    loaded = load_gate(path)
    assert loaded is not None
    return loaded
