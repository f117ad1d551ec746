"""Who drove a session, from what its file says; the evidence is kept in words a person understands.

Unsure is an answer: a session is only taken from the person when its own records say a machine drove it."""

from __future__ import annotations

from msgspec import Struct

from vir_core.transcripts.session import Certainty, Driver

NOT_THE_PERSON: frozenset[Driver] = frozenset({"subagent", "workflow", "compaction", "observer", "internal"})
"""In these sessions what reads like a prompt was written by an agent or a program."""

_PEOPLE = ("claude-vscode", "claude-desktop", "claude-web", "remote_mobile", "local-agent")
_OBSERVER_PROMPTS = ("Hello memory agent", "You are a Claude-Mem")
_OBSERVER_PLACES = (".claude-mem/observer-sessions", "claude-mem-observer-sessions")


class Verdict(Struct, frozen=True):
    driver: Driver
    certainty: Certainty
    evidence: tuple[str, ...]


class ClaudeSignals(Struct, kw_only=True):
    """What a Claude Code file shows, counted while it is read."""

    layout: str = ""  # workflow, compaction, subagent or empty, from where the file lies
    records: int = 0
    sidechain: int = 0
    prompts: int = 0
    typed: int = 0  # prompts that say a person typed them
    sdk: int = 0  # prompts that say a program sent them
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
    first_type: str = ""
    entrypoints: set[str] = set()
    version: str = ""
    first_prompt: str = ""
    cwd: str = ""


def claude_driver(seen: ClaudeSignals) -> Verdict:
    if seen.layout == "workflow":
        return Verdict("workflow", "sure", ("lies under subagents/workflows/",))
    if seen.layout == "compaction":
        return Verdict(
            "compaction", "sure", ("file name agent-acompact-*: writes the summary when a session is compacted",)
        )
    if seen.layout == "subagent":
        return Verdict("subagent", "sure", ("lies under subagents/ or is named agent-*",))
    if seen.records and seen.sidechain == seen.records:
        return Verdict("subagent", "sure", (f"isSidechain on all {seen.records} records",))
    if any(place in seen.cwd.replace("\\", "/") for place in _OBSERVER_PLACES):
        return Verdict("observer", "sure", (f"runs in {seen.cwd}, where a memory tool keeps its observers",))
    if seen.first_prompt.startswith(_OBSERVER_PROMPTS):
        return Verdict("observer", "sure", ("opens with a memory tool's prompt to its observer",))
    said = seen.prompts + seen.plans + seen.shell + seen.words
    if not said and not seen.answers and not seen.calls:
        return Verdict("empty", "sure", ("nothing was asked and nothing answered",))
    if not seen.prompts and seen.plans:
        return Verdict("plan_handoff", "sure", ("the only prompt is a plan the agent wrote and a person accepted",))
    headless = _claude_headless(seen)
    return headless or _claude_person(seen)


def _claude_headless(seen: ClaudeSignals) -> Verdict | None:
    if not seen.prompts or seen.typed or seen.from_ide:
        return None
    entry = sorted(seen.entrypoints)
    if entry and any(not name.startswith("sdk-") for name in entry):
        return None
    if entry:
        evidence = [f"entrypoint {', '.join(entry)}"]
        if seen.sdk == seen.prompts:
            evidence.append("every prompt came through the SDK")
        return Verdict("headless", "sure" if seen.sdk == seen.prompts else "likely", tuple(evidence))
    # Before entrypoints were recorded an interactive prompt of these versions always carried UI state, and the file
    # snapshots; a queue marker as first line alone is no sign, IDEs write it as well.
    if (
        _version(seen.version) >= (2, 0, 64)
        and seen.first_type == "queue-operation"
        and not (seen.with_ui_state or seen.snapshots or seen.commands or seen.shell or seen.words or seen.modes)
    ):
        return Verdict(
            "headless", "likely", ("first line is a queue marker", "no prompt carries state of the interface")
        )
    return None


def _claude_person(seen: ClaudeSignals) -> Verdict:
    evidence: list[str] = []
    if seen.prompts:
        evidence.append(f"{seen.prompts} prompt{'s' if seen.prompts != 1 else ''}")
    if seen.commands or seen.shell:
        evidence.append(f"{seen.commands + seen.shell} slash or ! commands")
    if seen.entrypoints:
        evidence.append(f"entrypoint {', '.join(sorted(seen.entrypoints))}")
    if seen.typed:
        return Verdict("human", "sure", (*evidence, f"{seen.typed} of them marked as typed by a person"))
    if seen.from_ide or seen.entrypoints & set(_PEOPLE):
        return Verdict("human", "likely", (*evidence, "sent from an editor or app"))
    if seen.prompts and (seen.with_ui_state or seen.snapshots):
        return Verdict("human", "likely", (*evidence, "prompts carry state of the interactive interface"))
    if seen.commands or seen.words or seen.shell:
        return Verdict("human", "likely", (*evidence, "a person's commands or answers"))
    return Verdict("human", "unsure", (*evidence, "nothing says that a machine drove it"))


class CodexSignals(Struct, kw_only=True):
    """What a Codex rollout shows, counted while it is read."""

    source: object = None
    originator: str = ""
    thread_source: str = ""
    prompts: int = 0
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
    if not seen.prompts and not seen.answers and not seen.calls and not seen.copied:
        return Verdict("empty", "sure", ("opened and closed: nothing was asked and nothing answered",))
    if kind == "exec" or (not kind and seen.originator == "codex_exec"):
        return Verdict("headless", "sure", (f"source {kind or 'missing'}", origin))
    evidence = (f"{seen.prompts} prompt{'s' if seen.prompts != 1 else ''}", f"source {kind or 'missing'}", origin)
    if not seen.prompts and seen.copied:
        return Verdict("human", "unsure", (*evidence, "holds only history copied from the session it was forked from"))
    if not seen.prompts:
        return Verdict("human", "unsure", (*evidence, "no prompt found, and nothing says that a machine drove it"))
    if seen.first_prompt.startswith("Automation:"):
        return Verdict("human", "unsure", (*evidence, "opens like a scheduled automation of the desktop app"))
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
