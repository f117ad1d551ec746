"""`sessions explain`: what one session is, why we think so, which lines said so, and what would change it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from vir_core.contract import Explained, SessionInfo, SourceLine
from vir_core.ingest.gone import NoteHeader
from vir_core.ingest.named import find_session
from vir_core.ingest.sources import Sources
from vir_core.ingest.standing import session_key, wanted
from vir_core.memory import Memory
from vir_core.transcripts import (
    HUMAN_PROMPTS,
    LEFT_BRANCH,
    Archive,
    NotASession,
    SessionFacts,
    Thread,
    Turn,
    read_turns,
    scrub_all,
    telling_lines,
    usage_of,
)

SHOWN = 160
"""Characters of a line or a prompt."""
PROMPTS = 5
CHILDREN = 50

_WHAT: Mapping[str, str] = {
    "human": "A session that you drove",
    "plan_handoff": "A session that you started by accepting a plan: the agent wrote the first prompt and you handed it over",
    "automated": "A session that looks like yours and was typed or scheduled by a program",
    "headless": "A script's session: a program sent the prompts (claude -p, codex exec, an SDK)",
    "subagent": "A helper that another session started: an agent wrote its task",
    "workflow": "An agent of a workflow: a script wrote its task",
    "teammate": "An agent of a team: another agent talks to it",
    "compaction": "A helper that wrote the summary when a session was compacted",
    "observer": "A session of a memory tool that watches other sessions, or of vir itself",
    "internal": "A session that the agent keeps for itself: it reviews or remembers other sessions",
    "empty": "A session that was opened and closed: nothing was asked and nothing answered",
}
_CERTAINTY: Mapping[str, str] = {
    "sure": "The file says so itself.",
    "likely": "Several signs say so and none speaks against it.",
    "unsure": "Nothing in the file settles it, so it is kept rather than lost.",
}
_CHANGES: Mapping[str, tuple[str, ...]] = {
    "human": (
        "It would count as a program's if every prompt were marked as sent by one, or if many sessions in this folder opened "
        "with the same words at a pace no person keeps and nobody typed anything else in them.",
    ),
    "plan_handoff": ("One prompt of yours after the plan makes it a session that you drove.",),
    "automated": (
        "Anything of your own in it makes it yours: another prompt, a slash or ! command, an answer, a refusal in words.",
        "So does a session with the same opening in which you took part, when more than one in ten is like that.",
    ),
    "headless": (
        "One prompt that is marked as typed by a person makes it yours, for instance after you resumed it in the terminal.",
    ),
    "subagent": ("Nothing in the file can: what is worth keeping of it was reported to the session that started it.",),
    "workflow": ("Nothing in the file can: what is worth keeping of it was reported to the session that started it.",),
    "teammate": ("A prompt of yours to this agent, typed in its own session, makes it yours.",),
    "compaction": ("Nothing: its summary stands in the session that was compacted.",),
    "observer": (
        "It runs in the tool's own folder or opens with the tool's own prompt; only another folder and prompt would.",
    ),
    "internal": ("Nothing: the agent's own records name it.",),
    "empty": ("The first prompt makes it yours.",),
}

Info = Callable[[SessionFacts, Thread], SessionInfo]


def explain(word: str, sources: Sources, memory: Memory, info: Info, header: NoteHeader, archive: Archive) -> Explained:
    """The page of one session. `word` is its id, its key, a file, or the first six or more letters of an id; a session whose
    file cannot be read now shows what its copy holds. Raises `RequestError` when none or several are called so."""
    thread, facts = find_session(word, sources.lineage.threads, memory)
    key = session_key(thread, memory)
    shown = info(facts, thread)
    turns, trouble = _turns(facts)
    copied = archive.path(key).is_file()
    if trouble and copied and (copy := archive.get(key)):
        turns = copy.transcript.turns
    prompts = [turn.text for turn in turns if turn.kind in HUMAN_PROMPTS][:PROMPTS]
    lines = [] if trouble else list(telling_lines(facts))
    texts = shortened([*(line.text for line in lines), *prompts])
    settled = memory.sessions.get(key)
    lineage = sources.lineage
    children = sorted(child for child, parent in lineage.parents.items() if parent == thread.key)
    return Explained(
        key=key,
        session=shown,
        what=f"{_WHAT[facts.driver]}. {_CERTAINTY[facts.certainty]}",
        why=facts.evidence,
        lines=tuple(
            SourceLine(n=line.n, at=line.at, says=line.says, text=text)
            for line, text in zip(lines, texts[: len(lines)], strict=True)
        ),
        changes=(*_changes(facts, shown, key), *trouble),
        turns=_counted(turns),
        tokens=_tokens(thread),
        prompts=tuple(texts[len(lines) :]),
        files=tuple(file.path for file in thread.files),
        parent=lineage.parents.get(thread.key, "") or (f"{facts.source}:{facts.parent}" if facts.parent else ""),
        children=tuple(children[:CHILDREN]),
        follows=lineage.follows.get(thread.key, "") or (f"{facts.source}:{facts.follows}" if facts.follows else ""),
        note=header(settled.note).get("path", "") if settled is not None and settled.note else "",
        archived=str(archive.path(key)) if copied else "",
    )


def _counted(turns: Sequence[Turn]) -> dict[str, int]:
    """Turns by kind; `left` counts the prompts that a person went back from."""
    counts = Counter[str](turn.kind for turn in turns)
    counts["left"] = sum(turn.kind in HUMAN_PROMPTS and turn.evidence == LEFT_BRANCH for turn in turns)
    return dict(sorted((+counts).items()))


def _tokens(thread: Thread) -> dict[str, int]:
    used = usage_of(thread)
    counts = {"fresh": used.fresh, "written": used.written, "cached": used.cached, "output": used.output}
    return counts if any(counts.values()) else {}


def _turns(facts: SessionFacts) -> tuple[tuple[Turn, ...], tuple[str, ...]]:
    try:
        return read_turns(facts).turns, ()
    except (OSError, NotASession):
        return (), ("The file cannot be read now, so its lines are not shown.",)


def _changes(facts: SessionFacts, shown: SessionInfo, key: str) -> Iterator[str]:
    if facts.source == "codex" and facts.driver == "headless":
        yield "A later part of it that you resumed in the terminal, an editor or the app makes it yours."
    else:
        yield from _CHANGES[facts.driver]
    if shown.reason in ("excluded", "undecided"):
        yield f"Its project is left out for now: `vir_core projects include {shown.project}` takes it in."
    elif shown.reason == "active":
        yield f"Somebody is still at it: a run takes it when it has rested for ten minutes, or at once with `vir_core run --session {key}`."
    elif shown.reason == "given":
        yield "Its project belongs to another vault of this machine; `vir_core projects include` brings it here."
    elif not wanted(facts):
        yield f"To have it distilled as it is: `vir_core run --session {key}`, or `--driver {facts.driver}` for all like it."


def shortened(texts: list[str]) -> list[str]:
    """Shortened, and without what nobody should read over a shoulder."""
    short = tuple(" ".join(text[:2_000].split()) for text in texts)
    cleaned, _ = scrub_all(short)
    return [text if len(text) <= SHOWN else text[: SHOWN - 1] + "…" for text in cleaned]
