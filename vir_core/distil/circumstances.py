"""The circumstances of a session: files changed, commands that build and test the project, what was left open."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from vir_core.distil.candidates import words_of
from vir_core.distil.extract import Facts
from vir_core.distil.fates import Fates, edited_paths, is_edit
from vir_core.distil.naming import closed, shorten
from vir_core.distil.sentences import shown, units
from vir_core.transcripts.condensing import CUT, CondensedTurn

if TYPE_CHECKING:
    from collections.abc import Iterable


_LOOKING = re.compile(
    r"^(?:cd|ls|cat|head|tail|sed|awk|grep|rg|find|echo|pwd|which|wc|sort|tree|stat|mkdir|touch|rm|cp|mv|sleep|export|source|true|gh (?:api|pr|issue|repo|run)|git|jq|xargs|tee|date|env|printf|test|\[|ps|kill|pkill|pgrep|launchctl|tmux|chmod|cut|tr|uniq|diff|file|less|nl|basename|dirname|realpath|readlink|du|df|time|timeout|unzip|powershell(?:\.exe)?|cmd)(?:\s|$)"
)


def context_of(turns: tuple[CondensedTurn, ...], facts: Facts, said: list[frozenset[str]], fates: Fates) -> str:
    """One or two sentences; `said` are the words of the lessons, which what was left open does not repeat. Only edits
    that stand at the end count as changes, and only commands that were let through as run."""
    from vir_core.transcripts.scrub import scrub_all

    (cwd, *branches), _ = scrub_all((facts.cwd, *facts.branches[:3]))
    files: Counter[str] = Counter()
    runs: Counter[str] = Counter()
    for index, turn in enumerate(turns):
        if turn.who != "command" or index in fates.refused or index in fates.unknown:
            continue
        if is_edit(turn):
            for path in edited_paths(turn) if fates.stands(index) else ():
                files[_relative(path, cwd)] += 1
        elif turn.tool.casefold() in (
            "bash",
            "shell",
            "shell_command",
            "exec_command",
            "local_shell",
            "powershell",
            "",
        ):
            for command in _commands(turn.text):
                runs[command] += 1
    parts: list[str] = []
    top = [
        path
        for path, _ in files.most_common(4)
        if path and len(path) <= 90 and "{" not in path and "/plans/" not in path
    ]
    branch = next((b for b in branches if b and b not in ("HEAD", "main", "master")), "")
    if top:
        more = len(files) - len(top)
        parts.append(
            f"Changed {_listed([*(f'`{path}`' for path in top), *([f'{more} more'] if more > 0 else [])])}{f' on branch `{branch}`' if branch else ''}."
        )
    elif branch:
        parts.append(f"Branch `{branch}`.")
    often = [command for command, _ in runs.most_common(3)]
    if often:
        parts.append(f"Ran {_listed(f'`{command}`' for command in often)}.")
    if left := _left_open(turns, said):
        parts.append(f"Left open: {left}")
    return " ".join(parts)


def _listed(items: Iterable[str]) -> str:
    listed = list(items)
    return listed[0] if len(listed) == 1 else ", ".join(listed[:-1]) + f" and {listed[-1]}"


def _relative(path: str, cwd: str) -> str:
    path = path.strip().strip("\"'")
    if re.match(r"^[A-Za-z]:\\", cwd) or re.match(r"^[A-Za-z]:\\", path):
        path, cwd = path.replace("\\", "/"), cwd.replace("\\", "/")
    base = cwd.rstrip("/")
    if base and path.startswith(base + "/"):
        return path[len(base) + 1 :]
    parts = path.split("/")
    return "/".join(parts[-3:]) if len(parts) > 4 else path


_QUOTED = re.compile(r"\$\([^()]*(?:\([^()]*\)[^()]*)*\)|'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_JOINT = re.compile(r"&&|\|\||;|\|")


def _commands(text: str) -> list[str]:
    """The commands of one call that say how this project is built, run or tested."""
    found: list[str] = []
    inner = re.match(r"^(?:bash|sh|zsh) -l?c (['\"])(.*)\1$", text.strip(), re.DOTALL)
    script = inner.group(2) if inner else text
    if "<<" in script:
        script = script[: script.index("<<")].rpartition("\n")[0]
    # What stands in quotes is no end of a command, nor is a line break there.
    masked = _QUOTED.sub(lambda match: "\x00" * len(match.group()), script)
    at = 0
    for line in masked.split("\n")[:3]:
        whole = script[at : at + len(line)]
        ends = [0, *(i for match in _JOINT.finditer(line) for i in match.span()), len(line)]
        at += len(line) + 1
        for part in (whole[a:b] for a, b in zip(ends[::2], ends[1::2], strict=True)):
            if "\n" in part:
                continue
            command = re.sub(r"\s+\d?>\s*\S+|\s+2>&1|^\s*(?:[A-Z_]+=\S+\s+)+(?=\w)", "", part).strip()
            if command.count("'") % 2 or command.count('"') % 2 or command.count("(") != command.count(")"):
                continue
            if (
                4 <= len(command) <= 60
                and " " in command
                and not _LOOKING.match(command)
                and re.match(r"^(?![A-Z][a-z]+\s)[\w./-]+\s", command)
                and "`" not in command
                and "$(" not in command
            ):
                found.append(" ".join(command.split()))
    return found


_OPEN = re.compile(
    r"(?i)\b(?:remaining (?:work|issues?|todo|steps?|tasks?|items?)|todo|not yet|still (?:needs?|broken|open|fails?\b(?! (?:gracefully|safely|open|closed)))|follow-?up|left to do|out of scope|for (?:now|later)|next steps?|needs? to be (?:done|checked|verified)|you(?:'ll| will| may| might| should| still) (?:still |also )?(?:want|need|have) to|future work|known (?:issue|limitation))\b|尚未|还需要|待办|遗留|懸念|未対応|残って|noch (?:offen|nicht)|reste à|pendiente|falta|осталось|懸念点"
)


def _left_open(turns: tuple[CondensedTurn, ...], said: list[frozenset[str]]) -> str:
    last = next((turn for turn in reversed(turns) if turn.who == "agent" and len(turn.text) >= 40), None)
    if last is None:
        return ""
    for unit in reversed(units(last.text)):
        text = shown(last.text, unit)
        if (
            25 <= len(text) <= 220
            and _OPEN.search(text)
            and not text.endswith(("?", "？"))
            and CUT not in text
            and unit.form != "run"
            and not any(len(words_of(text) & words) >= 0.7 * len(words) for words in said if words)
        ):
            return closed(text)
    tail = [turn for turn in turns if turn.who != "result"][-2:]
    if tail and tail[-1].who == "error":
        return (
            f"the session ends in an error, `{shorten(_first_error(tail[-1].text), 100)}`."
            if _first_error(tail[-1].text)
            else ""
        )
    return ""


def _first_error(text: str) -> str:
    for line in text.split("\n"):
        line = " ".join(line.replace("`", "'").split())
        if len(line) > 8 and not re.match(r"(?i)exit code|^\W+$|\{", line) and line != CUT:
            return line
    return ""
