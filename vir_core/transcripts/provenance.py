"""Who drove a session, from what its file says; the evidence is kept in words a person understands.

Unsure is an answer: a session is only taken from the person when its own records say a machine drove it. No single field
decides against a person: `userType` is "external" on everything, `isSidechain` is false in every script's session, and both
`entrypoint` and Codex's `thread_source` are what a launcher chose to write."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b

from msgspec import Struct

from vir_core.machine import OWN_ENTRYPOINT, OWN_FIRST_LINE, is_own_prompt, state_home
from vir_core.transcripts.session import Certainty, Driver

NOT_THE_PERSON: frozenset[Driver] = frozenset(
    {"automated", "subagent", "workflow", "teammate", "compaction", "observer", "internal"}
)
"""In these sessions what reads like a prompt was written by an agent or a program. A script's prompts are not among them:
who wrote the script or typed `claude -p "…"` is not in the file."""

RECALLED_BLOCKS = (
    "claude-mem-context",
    "supermemory-context",
    "hindsight_memories",
    "relevant-memories",
    "relevant_memories",
    "letta_context",
    "letta_memory_blocks",
    "letta_memory_update",
    "letta_message",
    "observed_from_primary_session",
)
"""Elements that memory tools put around the text they recall into a prompt or report from one: never the person's words."""

_PEOPLE = frozenset({"claude-vscode", "claude-desktop", "claude-web", "remote_mobile", "local-agent"})
_OBSERVER_OPENINGS = ("Hello memory agent", "You are a Claude-Mem", "<observed_from_primary_session>")
MATE_OPENING = "<teammate-message"
KEPT_NOTHING = "…"
_OBSERVER_PLACES = (".claude-mem/observer-sessions", "claude-mem-observer-sessions")
_OWN_PLACES = ("/.local/state/vir", "/Library/Application Support/vir", "/AppData/Local/vir")
_QUEUE_ERA = ((2, 0, 64), (2, 1, 78))
"""Versions in which every prompt at the terminal carried todos, thinking or permission state, and no entrypoint was written."""

MARKS_KEPT = 24
MORE = "+"
_stamp = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\b\d{1,2}:\d\d(?::\d\d)?\b"
)
_named = re.compile(r"(?:(?<!\S)|(?<=[\"'`]))\S*[/\\\d]\S*|\"[^\"]*\"|'[^'\s]+'|`[^`]*`")
_digit = re.compile(r"\d")
_hint = re.compile(r"[/\\\d\"'`]")
_schedule = re.compile(r"\A(?:<scheduled-task name=|Automation: .{1,400}?Automation ID: |\[cron[: ])", re.DOTALL)
_dated = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_dispatch = re.compile(r"\A\[([^\]\n]{2,40})\]\s+\S{1,80}\s+(?:<-|←|->|→)\s+\S{1,80}")
_role = re.compile(r"\AI am (?:the )?[A-Z][\w-]*(?: [A-Z][\w-]*)?(?:[.,:]| (?:for|of|in|at) \S+?[.,:!]?(?:\s|\Z))")


class Verdict(Struct, frozen=True):
    driver: Driver
    certainty: Certainty
    evidence: tuple[str, ...]


# -- what one prompt looks like


def scheduled(text: str) -> bool:
    """Whether the prompt itself says that a schedule sent it."""
    return _schedule.match(text) is not None


def mark_of(text: str) -> str:
    """A prompt's shape in a few letters, the same for prompts that differ in names, numbers, times and paths only.

    `s` opens the mark of a prompt that says a schedule sent it, `d` one with the header of a dispatcher (`[tag] to <- from`
    and a time), `r` one in which the agent introduces itself by its role, `p` every other."""
    head = " ".join(text[:600].split())
    if scheduled(head):
        return "s" + _digest(head[:24])
    # People put tags and arrows into prompts too ("[bug] a -> b is wrong"); none of them dates the line to the minute.
    if (found := _dispatch.match(head)) and _dated.search(head, 0, 240):
        return "d" + _digest(found[1].casefold())
    folded = head[:300]
    # Most prompts hold nothing of the kind, and looking for it at every letter costs ten times as much as seeing that.
    if _digit.search(folded):
        folded = _stamp.sub("#", folded)
    if _hint.search(folded):
        folded = _named.sub("#", folded)
    folded = folded.casefold()
    return ("r" if _role.match(head) else "p") + _digest(folded)


def marks_of(texts: Iterable[str]) -> tuple[str, ...]:
    """The marks of a session's prompts, as `kept_marks` keeps them."""
    return kept_marks(map(mark_of, texts))


def kept_marks(marks: Iterable[str]) -> tuple[str, ...]:
    """The distinct ones in order of their first appearance; `+` ends them when there are more than twenty-four."""
    kept: dict[str, None] = {}
    for mark in marks:
        kept[mark] = None
        if len(kept) > MARKS_KEPT:
            return (*list(kept)[:MARKS_KEPT], MORE)
    return tuple(kept)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=5).hexdigest()


# -- whose place, whose voice


@cache
def _own_folder(*_told: str | None) -> str:
    """vir's state folder, found once for what the environment says: this is asked for every file."""
    return str(state_home()).replace("\\", "/").rstrip("/")


def ours(cwd: str, entrypoints: Iterable[str], opening: str) -> str:
    """How we know that vir itself started this session, by the marks of `machine.own_run`; empty when nothing says so."""
    place = cwd.replace("\\", "/").rstrip("/")
    own = _own_folder(*map(os.environ.get, ("VIR_STATE_DIR", "HOME", "USERPROFILE", "LOCALAPPDATA")))
    if place and (place == own or place.startswith(own + "/")):
        return f"runs in {cwd}, vir's own folder"
    if any(place.endswith(name) or f"{name}/" in place for name in _OWN_PLACES):
        return f"runs in {cwd}, where vir keeps its own folder"
    if OWN_ENTRYPOINT in entrypoints:
        return f"entrypoint {OWN_ENTRYPOINT}: vir started it"
    if is_own_prompt(opening):
        return "opens with the prompt that vir sends to a model"
    return ""


def stand_in(text: str) -> str:
    """What may be written down of a session's first words where the words may not: the beginning that tells whose they are,
    else an ellipsis. A verdict on it is a verdict on the words."""
    if ours("", (), text):
        return OWN_FIRST_LINE
    for opening in (*_OBSERVER_OPENINGS, MATE_OPENING):
        if text.startswith(opening):
            return opening
    return KEPT_NOTHING if text else ""


def words_or_nothing(text: str) -> str:
    """The words themselves; empty when only their stand-in is known."""
    return "" if text == KEPT_NOTHING else text


def _observer(cwd: str, entrypoints: Iterable[str], opening: str) -> Verdict | None:
    if own := ours(cwd, entrypoints, opening):
        return Verdict("observer", "sure", (own,))
    if any(place in cwd.replace("\\", "/") for place in _OBSERVER_PLACES):
        return Verdict("observer", "sure", (f"runs in {cwd}, where a memory tool keeps its observers",))
    if opening.startswith(_OBSERVER_OPENINGS):
        return Verdict("observer", "sure", ("opens with a memory tool's prompt to its observer",))
    return None


# -- Claude Code


class ClaudeSignals(Struct, kw_only=True):
    """What a Claude Code file shows, counted while it is read."""

    layout: str = ""  # workflow, compaction, subagent or empty, from where the file lies
    records: int = 0
    sidechain: int = 0
    prompts: int = 0
    typed: int = 0  # prompts that say a person typed them
    sdk: int = 0  # prompts that say a program sent them
    scheduled: int = 0  # prompts that say a schedule sent them
    with_ui_state: int = 0  # prompts with permissionMode, thinkingMetadata or todos
    from_ide: int = 0
    plans: int = 0
    commands: int = 0
    shell: int = 0
    words: int = 0  # answers to questions, words of refusal
    answers: int = 0
    calls: int = 0
    snapshots: int = 0
    modes: int = 0
    team: str = ""
    mates: int = 0  # messages of agents of the same team
    first_type: str = ""
    entrypoints: set[str] = set()
    version: str = ""
    opening: str = ""  # the first user text of any kind: observers mark theirs as meta
    first_prompt: str = ""
    cwd: str = ""

    @property
    def hands(self) -> int:
        """What only somebody at the keyboard does."""
        return self.commands + self.shell + self.words


def claude_driver(seen: ClaudeSignals) -> Verdict:
    if seen.layout == "workflow":
        return Verdict("workflow", "sure", ("lies under subagents/workflows/",))
    if seen.layout == "compaction":
        return Verdict(
            "compaction", "sure", ("file name agent-acompact-*: writes the summary when a session is compacted",)
        )
    if seen.layout == "subagent":
        return Verdict("subagent", "sure", ("lies under subagents/ or is named agent-*",))
    # On all records, not on the first line (which is often a state line) and not on any (subagents of old versions stand in
    # their parent's file).
    if seen.records and seen.sidechain == seen.records:
        return Verdict("subagent", "sure", (f"isSidechain on all {seen.records} records",))
    if watcher := _observer(seen.cwd, seen.entrypoints, seen.opening or seen.first_prompt):
        return watcher
    said = seen.prompts + seen.plans + seen.shell + seen.words
    if not said and not seen.answers and not seen.calls:
        return Verdict("empty", "sure", ("nothing was asked and nothing answered",))
    # The lead of a team carries its name on every line too, and is the session a person talks to.
    if seen.mates and not said and seen.opening.startswith(MATE_OPENING):
        team = f"belongs to the team {seen.team}" if seen.team else "names no team"
        return Verdict("teammate", "sure", ("opens with a message of another agent", team, "no prompt of a person"))
    if seen.scheduled and seen.scheduled == seen.prompts and not seen.hands and not seen.plans:
        return Verdict(
            "automated", "likely", ("every prompt says that a schedule sent it", _count(seen.prompts, "prompt"))
        )
    if not seen.prompts and seen.plans:
        return Verdict("plan_handoff", "sure", ("the only prompt is a plan the agent wrote and a person accepted",))
    return _claude_headless(seen) or _claude_person(seen)


def _claude_headless(seen: ClaudeSignals) -> Verdict | None:
    if not seen.prompts or seen.typed or seen.from_ide:
        return None
    entry = sorted(seen.entrypoints)
    programs = [name for name in entry if name.startswith("sdk-")]
    if entry and len(programs) == len(entry):
        evidence = [f"entrypoint {', '.join(entry)}"]
        if seen.sdk == seen.prompts:
            evidence.append("every prompt came through the SDK")
        if seen.shell or seen.words:
            # Editors drive the same interface: somebody answered a question or refused a call in words.
            return Verdict(
                "headless", "unsure", (*evidence, f"but somebody answered or refused {seen.shell + seen.words} times")
            )
        return Verdict("headless", "sure" if seen.sdk == seen.prompts else "likely", tuple(evidence))
    if entry == ["cli"] and seen.sdk == seen.prompts and not (seen.hands or seen.modes):
        # Some launchers write `cli` over what the script's run would be called; they do not change who sent the prompts,
        # and at the terminal a mode line is written in the versions that say who did.
        return Verdict(
            "headless",
            "likely",
            ("entrypoint cli", "but every prompt came through the SDK", "no line of interface state"),
        )
    if entry:
        return None
    # Before entrypoints were recorded an interactive prompt of these versions always carried UI state, and the file
    # snapshots. A queue marker as first line is no sign by itself, editors write it as well; so only a single prompt
    # counts, which is what a script's run has.
    first, last = _QUEUE_ERA
    if (
        first <= _version(seen.version) < last
        and seen.prompts == 1
        and seen.first_type in ("queue-operation", "user")
        and not (seen.with_ui_state or seen.snapshots or seen.hands or seen.modes)
    ):
        opening = "first line is a queue marker" if seen.first_type == "queue-operation" else "first line is the prompt"
        return Verdict(
            "headless", "likely", (opening, "one prompt, without any state of the interface", f"version {seen.version}")
        )
    return None


def _claude_person(seen: ClaudeSignals) -> Verdict:
    evidence: list[str] = []
    if seen.prompts:
        evidence.append(_count(seen.prompts, "prompt"))
    if seen.commands or seen.shell:
        evidence.append(_count(seen.commands + seen.shell, "slash or ! command"))
    if seen.entrypoints:
        evidence.append(f"entrypoint {', '.join(sorted(seen.entrypoints))}")
    if seen.typed:
        return Verdict("human", "sure", (*evidence, f"{seen.typed} of them marked as typed by a person"))
    if seen.from_ide or seen.entrypoints & _PEOPLE:
        return Verdict("human", "likely", (*evidence, "sent from an editor or app"))
    if any(name != name.strip() for name in seen.entrypoints):
        return Verdict("human", "unsure", (*evidence, "the entrypoint was written over afterwards"))
    if seen.prompts and (seen.with_ui_state or seen.snapshots):
        return Verdict("human", "likely", (*evidence, "prompts carry state of the interactive interface"))
    if seen.hands:
        return Verdict("human", "likely", (*evidence, "a person's commands or answers"))
    return Verdict("human", "unsure", (*evidence, "nothing says that a machine drove it"))


# -- Codex


class CodexSignals(Struct, kw_only=True):
    """What a Codex rollout shows, counted while it is read."""

    source: object = None
    resumed: object = None  # the source in a later head of the same session
    originator: str = ""
    thread_source: str = ""
    cwd: str = ""
    prompts: int = 0
    scheduled: int = 0  # prompts that say a schedule sent them
    answers: int = 0
    calls: int = 0
    copied: int = 0  # records of another session's history at the head of this file
    bare: bool = False
    first_prompt: str = ""


def codex_driver(seen: CodexSignals) -> Verdict:
    kind, detail = _codex_kind(seen.source)
    origin = f"originator {seen.originator}" if seen.originator else "no originator"
    if seen.thread_source in ("guardian_review", "memory_consolidation"):
        return Verdict("internal", "sure", (f"thread source {seen.thread_source}",))
    if kind == "internal" or detail in ("guardian", "memory_consolidation"):
        return Verdict("internal", "sure", (f"source {kind} {detail}".strip(),))
    if detail == "compact":
        return Verdict("compaction", "sure", ("source subagent compact",))
    if kind == "subagent":
        return Verdict("subagent", "sure", (f"source subagent {detail}".strip(),))
    if watcher := _observer(seen.cwd, (seen.originator,), seen.first_prompt):
        return watcher
    if not seen.prompts and not seen.answers and not seen.calls and not seen.copied:
        return Verdict("empty", "sure", ("opened and closed: nothing was asked and nothing answered",))
    # thread_source says "user" here as well: it tells a thread from its helpers, not a person from a script.
    if kind == "exec" and _codex_kind(seen.resumed)[0] in ("cli", "vscode"):
        return Verdict("human", "likely", (f"source {kind}", origin, "then resumed in a terminal, editor or app"))
    if kind == "exec" or (not kind and seen.originator == "codex_exec"):
        return Verdict("headless", "sure", (f"source {kind or 'missing'}", origin))
    evidence = (_count(seen.prompts, "prompt"), f"source {kind or 'missing'}", origin)
    if not seen.prompts and seen.copied:
        return Verdict("human", "unsure", (*evidence, "holds only history copied from the session it was forked from"))
    if not seen.prompts:
        return Verdict("human", "unsure", (*evidence, "no prompt found, and nothing says that a machine drove it"))
    if seen.scheduled == seen.prompts:
        return Verdict("automated", "likely", (*evidence, "every prompt says that a schedule sent it"))
    if kind == "cli" and seen.originator in ("codex_cli_rs", "codex-tui", ""):
        return Verdict("human", "sure", evidence)
    if seen.originator in ("codex_cli_rs", "codex-tui", "codex_vscode", "Codex Desktop"):
        return Verdict("human", "likely", evidence)
    if seen.bare:
        return Verdict("human", "likely", (*evidence, "written before sources were recorded"))
    return Verdict("human", "unsure", (*evidence, "nothing says that a machine drove it"))


def _codex_kind(source: object) -> tuple[str, str]:
    """`source` is a word, or an object that names one: {"subagent": {"thread_spawn": …}}, {"subagent": {"other": "guardian"}}."""
    names: list[str] = []
    while isinstance(source, dict) and source:
        name, source = next(iter(source.items()))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        names.append(str(name))  # pyright: ignore[reportUnknownArgumentType]
        if len(names) == 3:
            break
    if isinstance(source, str):
        names.append(source)
    kind = names[0] if names else ""
    known = ("guardian", "memory_consolidation", "compact", "review", "thread_spawn")
    return kind, next((name for name in names[1:] if name in known), names[1] if len(names) > 1 else "")


def _version(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3] if part.isascii() and part.isdigit() and len(part) < 9)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"
