"""What became of the calls of a session: which ran, which failed or were refused, and which edits still stand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from vir_core.transcripts.condensing import CondensedTurn

_EDITS = frozenset({"edit", "write", "multiedit", "notebookedit", "apply_patch", "str_replace_editor", "create_file"})
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_NAMED_CHANGE = re.compile(r"(?:^|; )(?:Add|Update|Delete|move to) ([^;\n]+)")
_SHOWN_EDIT = re.compile(r"^(?P<path>[^\n]+?):\s(?P<old>.*?) → (?P<new>.*)$", re.DOTALL)

# What comes back when a call was not let through.
_NOT_RUN = re.compile(
    r"(?i)user (?:doesn't|does not|didn't|did not) want|(?:user|hook|policy|rules?) (?:has |have )?(?:reject|declin|denied|deni|refus|block)|(?:rejected|declined|denied|refused|cancell?ed|blocked|aborted) by (?:the )?(?:user|hook|policy|you)|"
    r"(?:tool use|command|call|request) (?:was |has been )?(?:rejected|declined|refused|cancell?ed|blocked)|permission to use|haven't granted|not (?:been )?(?:granted|approved)|requires approval|interrupted by (?:the )?user"
)
_NO_COMMAND = re.compile(r"(?i)command not found|not recognized as|no such command|: not found\b")

_RESTORED = re.compile(
    r"\bgit\s+(?:-\S+\s+)*(?:checkout\s+(?:\S+\s+)?--\s+|restore\s+(?:--?[\w=~^-]+\s+)*)(?P<paths>[^&|;\n]+)"
)
_DELETED = re.compile(r"(?:^|&&|;|\n)\s*(?:git\s+)?rm\s+(?:-\S+\s+)*(?P<paths>[^&|;\n]+)")
_RESET = re.compile(r"\bgit\s+(?:reset\s+--hard|checkout\s+(?:--\s+)?\.(?:\s|$)|restore\s+\.(?:\s|$))")


class Fates(Struct, frozen=True, kw_only=True):
    """Indices of calls that were refused or never ran, of those that came back with an error, and of edits that a later
    call undid."""

    refused: frozenset[int]
    failed: frozenset[int]
    unknown: frozenset[int]  # failed for want of the command
    undone: frozenset[int]

    def stands(self, index: int) -> bool:
        """Whether an edit was made and is still there at the end."""
        return not (index in self.refused or index in self.failed or index in self.undone)


def is_edit(turn: CondensedTurn) -> bool:
    return turn.who == "command" and (turn.tool.casefold() in _EDITS or bool(_PATCHED.search(turn.text)))


def edited_paths(turn: CondensedTurn) -> list[str]:
    """The files a call edited. Its text goes on with what was changed in them, which is for the repository to keep."""
    if patched := _PATCHED.findall(turn.text):
        return patched
    line = turn.text.split("\n", 1)[0]
    if named := _NAMED_CHANGE.findall(line):
        return named
    return [re.split(r":\s", line, maxsplit=1)[0]]


def replaced_by(turn: CondensedTurn) -> tuple[str, str]:
    """What an edit took out and what it put in, as far as the session shows it; empty when it does not."""
    match = _SHOWN_EDIT.match(turn.text)
    return (match.group("old").strip(), match.group("new").strip()) if match else ("", "")


def fates_of(turns: tuple[CondensedTurn, ...]) -> Fates:
    """Calls that run side by side come back in the order they were made. Where fewer came back, the missing ones had
    nothing to say, and those are the earlier."""
    refused: set[int] = set()
    failed: set[int] = set()
    unknown: set[int] = set()
    calls: list[int] = []
    answers: list[int] = []

    def settle() -> None:
        open_calls = list(calls)
        left: dict[str, int] = {}
        for a in answers:
            left[turns[a].tool] = left.get(turns[a].tool, 0) + 1
        for a in answers:
            answer = turns[a]
            same = [c for c in open_calls if not answer.tool or turns[c].tool == answer.tool]
            if not same:
                continue
            if answer.kind == "interrupt" and not answer.tool:
                refused.update(same)
                open_calls.clear()
                continue
            call = same[max(0, len(same) - left[answer.tool])] if answer.tool else same[0]
            left[answer.tool] -= 1
            open_calls.remove(call)
            if answer.kind in ("interrupt", "refusal") or (answer.who == "error" and _NOT_RUN.search(answer.text)):
                refused.add(call)
            elif answer.who == "error":
                failed.add(call)
                if _NO_COMMAND.search(answer.text):
                    unknown.add(call)
        calls.clear()
        answers.clear()

    for i, turn in enumerate(turns):
        if turn.who == "command":
            if answers:
                settle()
            calls.append(i)
        elif turn.who in ("result", "error") or turn.kind in ("interrupt", "refusal", "answer"):
            answers.append(i)
        elif turn.who in ("you", "agent") and answers:
            settle()
    settle()
    return Fates(
        refused=frozenset(refused),
        failed=frozenset(failed),
        unknown=frozenset(unknown),
        undone=frozenset(_undone(turns, refused | failed)),
    )


def _undone(turns: tuple[CondensedTurn, ...], lost: set[int]) -> set[int]:
    """Edits that a later edit turned back, and edits of files that were restored or deleted afterwards."""
    gone: set[int] = set()
    standing: list[tuple[int, tuple[str, ...], str, str]] = []
    committed = -1
    for i, turn in enumerate(turns):
        if turn.who != "command" or i in lost:
            continue
        if is_edit(turn):
            paths = tuple(edited_paths(turn))
            old, new = replaced_by(turn)
            back = next(
                (
                    row
                    for row in reversed(standing)
                    if old != new and row[1] == paths and (row[2], row[3]) == (new, old)
                ),
                None,
            )
            if back:
                gone.update((back[0], i))
                standing.remove(back)
            else:
                standing.append((i, paths, old, new))
            continue
        names = {
            path.strip("\"'")
            for match in (*_RESTORED.finditer(turn.text), *_DELETED.finditer(turn.text))
            for path in match.group("paths").split()
        }
        for row in list(standing):
            if (names and all(_is_one_of(path, names) for path in row[1])) or (
                row[0] > committed and _RESET.search(turn.text)
            ):
                gone.add(row[0])
                standing.remove(row)
        if "git commit" in turn.text:
            committed = i
    return gone


def _is_one_of(path: str, names: set[str]) -> bool:
    return any(len(name) > 2 and (path == name or path.endswith("/" + name.removeprefix("./"))) for name in names)
