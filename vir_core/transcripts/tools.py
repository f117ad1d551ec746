"""Tool calls and their results as a line or two a person can read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from vir_core.transcripts import loose
from vir_core.transcripts.loose import Object

RESULT_HEAD = 24_000
RESULT_TAIL = 8_000
"""Characters kept of a long result: what was asked for comes first, what went wrong comes last."""
_ARGUMENTS = 400
_CHANGE = 160
_TASK = 1_200

_exit_line = re.compile(r"\A(?:Exit code:? |Process exited with code )(-?\d+)[ \t]*\n?", re.MULTILINE)
_codex_head = re.compile(
    r"\A((?:(?:Chunk ID|Wall time|Original token count|Total output lines|Process|Exit code)[^\n]*\n)+)(?:Output:\n?)?"
)
_codex_exit = re.compile(r"^(?:Process exited with code|Exit code:) ?(-?\d+)", re.MULTILINE)
_tool_error = re.compile(r"\A<tool_use_error>(.*?)(?:</tool_use_error>)?\Z", re.DOTALL)
_spilled = re.compile(r"\A<persisted-output>\n?Output too large[^\n]*? saved to: ([^\n]+)")
_patched = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)


def call_text(name: str, given: Object) -> str:
    """What was run: a command as typed, a path with the change made to it, a question; else the arguments as JSON."""
    path = (
        loose.string(given.get("file_path"))
        or loose.string(given.get("notebook_path"))
        or loose.string(given.get("path"))
    )
    match name:
        case "Bash" | "BashOutput" | "KillShell" | "PowerShell":
            if command := _command(given.get("command")):
                return command
        case "exec_command" | "shell" | "shell_command" | "local_shell" | "container.exec":
            if command := _command(given.get("command")) or _command(given.get("cmd")):
                return command
        case "Edit" | "str_replace_editor":
            old, new = loose.string(given.get("old_string")), loose.string(given.get("new_string"))
            return f"{path}: {_short(old, _CHANGE)} → {_short(new, _CHANGE)}" if old or new else path
        case "MultiEdit":
            return f"{path}: {len(loose.sequence(given.get('edits')))} edits"
        case "Write" | "Read" | "NotebookEdit" | "NotebookRead" | "LS":
            if path:
                return path
        case "Glob" | "Grep":
            return " ".join(filter(None, (loose.string(given.get("pattern")), path)))
        case "Task" | "Agent":
            parts = (loose.string(given.get("description")), _short(loose.string(given.get("prompt")), _TASK))
            return ": ".join(filter(None, parts))
        case "WebFetch" | "WebSearch":
            return loose.string(given.get("url")) or loose.string(given.get("query"))
        case "ExitPlanMode":
            if plan := loose.string(given.get("plan")):
                return plan
        case "AskUserQuestion":
            return "\n".join(_question(question) for question in loose.sequence(given.get("questions")))
        case "Skill" | "SlashCommand":
            called = loose.string(given.get("skill")) or loose.string(given.get("command"))
            return " ".join(filter(None, (called, loose.string(given.get("args")))))
        case _:
            pass
    return arguments_text(given)


def arguments_text(given: Object) -> str:
    """Arguments as compact JSON, cut at 400 characters."""
    return (
        _short(json.dumps(given, ensure_ascii=False, separators=(",", ":"), default=str), _ARGUMENTS) if given else ""
    )


def patch_text(patch: str) -> str:
    """The files an `apply_patch` names: `Update src/a.py; Add src/b.py`."""
    named = [
        f"{what} {path.strip()}" if what else f"move to {moved.strip()}"
        for what, path, moved in _patched.findall(patch)
    ]
    return "; ".join(named) or _short(patch, _ARGUMENTS)


def result_text(text: str) -> tuple[str, bool]:
    """(text without wrappers, whether it says itself that it failed). Long results keep their head and their tail."""
    failed = False
    if wrapped := _tool_error.match(text):
        text, failed = wrapped[1], True
    elif code := _exit_line.match(text):
        failed = code[1] != "0"
    return _capped(text), failed


def spilled_to(text: str) -> str:
    """The file that holds the whole of a result too large for the transcript, as the agent wrote its path; else empty."""
    found = _spilled.match(text)
    return found[1].strip() if found else ""


def output_text(output: object) -> tuple[str, bool]:
    """(text, failed) of a Codex tool output: a text with a header of its own, JSON in a string, or an object."""
    if isinstance(output, str):
        stripped = output.lstrip()
        if stripped.startswith("{") and ('"output"' in stripped[:200] or '"metadata"' in stripped):
            inner = loose.mapping(loose.value_of(stripped.encode("utf-8", "replace")))
            if "output" in inner:
                return _object_output(inner)
        return _headed_output(output)
    if isinstance(output, dict):
        return _object_output(loose.mapping(output))  # pyright: ignore[reportUnknownArgumentType]
    return _capped(loose.text_of(output)), False


def _object_output(found: Object) -> tuple[str, bool]:
    body = found.get("output", found.get("content"))
    code = loose.mapping(found.get("metadata")).get("exit_code", found.get("exit_code"))
    text, failed = _headed_output(body) if isinstance(body, str) else (_capped(loose.text_of(body)), False)
    return text, failed or found.get("success") is False or (isinstance(code, int) and code != 0)


def _headed_output(text: str) -> tuple[str, bool]:
    head = _codex_head.match(text)
    if head is None:
        return _capped(text), False
    code = _codex_exit.search(head[1])
    return _capped(text[head.end() :]), code is not None and code[1] != "0"


def _command(value: object) -> str:
    """A command line, or the script inside `["bash", "-lc", script]`."""
    if isinstance(value, str):
        return value.strip()
    words = [word for word in loose.sequence(value) if isinstance(word, str)]
    if len(words) == 3 and words[1] in ("-lc", "-c", "-Command"):
        return words[2].strip()
    return _joined(words)


def _joined(words: Sequence[str]) -> str:
    return " ".join(f'"{word}"' if " " in word else word for word in words)


def _question(value: object) -> str:
    found = loose.mapping(value)
    labels = [loose.string(loose.mapping(option).get("label")) for option in loose.sequence(found.get("options"))]
    asked = loose.string(found.get("question"))
    return f"{asked} ({' | '.join(filter(None, labels))})" if any(labels) else asked


def _short(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _capped(text: str) -> str:
    text = text.strip()
    if len(text) <= RESULT_HEAD + RESULT_TAIL:
        return text
    return f"{text[:RESULT_HEAD]}\n…\n{text[-RESULT_TAIL:]}"
