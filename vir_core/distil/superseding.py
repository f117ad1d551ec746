"""What later turns replaced, undid or found wrong: claims that were true in the middle of a session and not at its end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vir_core.distil import cues
from vir_core.distil.fates import Fates, is_edit, replaced_by

if TYPE_CHECKING:
    from vir_core.distil.candidates import Candidate
    from vir_core.transcripts.condensing import CondensedTurn

GONE = 9.0  # what it stated is no longer so
OLDER = 2.0  # a later turn says something else of the same thing

_REMOVED = re.compile(
    r"(?i)\b(?:remov(?:e|ed|ing)|delet(?:e|ed|ing)|dropp(?:ed|ing)|drop|undo|undid|undone|revert(?:ed|ing)?|rolled back|replac(?:ed?|ing)|got rid of|no longer (?:uses?|needs?|has|have|reads?|calls?)|gone|"
    r"entfernt|gelöscht|ersetzt|supprimé|remplacé|retiré|eliminad[oa]|quitad[oa]|reemplazad[oa])\b|удал(?:ил|ён|ен|ена|ено|или)|убра(?:л|ли)|замен(?:ил|ён|ена|или)|删除|移除|去掉|删掉|替换|削除|置き換え"
)
# A claim about how things stand, which a later change makes untrue. A cause stays the cause when it is gone.
_STANDING = re.compile(
    r"(?i)\bnow\b|\bcurrent(?:ly)?\b|\bstill\b|\bdead code\b|\bunused\b|\bno callers?\b|\bnever (?:called|used|reached)\b|\bdoesn't actually\b|\bjetzt\b|\bmaintenant\b|\bahora\b|теперь|现在|目前|今は"
)
_STILL = re.compile(
    r"(?i)\b(?:still|remains?)\s+(?:~|≈|about|around|at|takes?|fail\w*|broken|slow\w*|the same|not|gets?|gives?|sees?|shows?|hangs?|crash\w*|over|\d)|\b(?:immer noch|toujours|todavía|sigue)\b|всё ещё|по-прежнему|仍然|まだ"
)
_ERROR_LINE = re.compile(
    r"(?i)error|exception|panic|fail|fatal|never called|cannot|can't|could not|not found|undefined|denied|timed? ?out|refused|ошибк|fehler|erreur|错误|失败|エラー"
)
_COMMON_LINE = re.compile(
    r"(?i)^(?:exit code \W*|npm (?:err!|error) a complete log.*|file has not been (?:read|modified).*|string to replace not found.*|.*process completed with exit code.*|error|failed|fail|\W*)$"
)
_DEFINES = re.compile(
    r"\b(?:func|def|class|function|fn|const|let|var|type|struct|interface|enum|trait)\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w{3,})"
)
_MEASURE = re.compile(r"(?i)(?<![\w.])(\d+(?:[.,]\d+)?)\s?(ms|s|sec|seconds?|min|minutes?|h|hours?|kb|mb|gb|%)(?!\w)")
_CLAIMS_DONE = re.compile(
    r"(?i)^(?:the )?(?:edit|change|file|fix|update|setting|value)\b.{0,30}\b(?:is|was|has been|are)\b.{0,20}\b(?:done|made|in place|written|updated|changed|raised|applied)\b|^(?:done|i(?:'ve| have)?|we(?:'ve| have)?)?\W*(?:changed|updated|edited|raised|set|added|wrote|replaced|removed|fixed|renamed)\b"
)


def superseded(candidates: list[Candidate], turns: tuple[CondensedTurn, ...], fates: Fates) -> dict[int, float]:
    """How much each candidate, by its place in the list, loses because of what came later."""
    lost: dict[int, float] = {}

    def lose(n: int, penalty: float) -> None:
        lost[n] = max(lost.get(n, 0.0), penalty)

    removals = _removals(candidates, turns, fates)
    renamed = _definitions_gone(turns, fates)
    recurring = _recurrences(turns)
    found = _found_at_last(turns)
    edits = [i for i, turn in enumerate(turns) if is_edit(turn)]
    standing = [i for i in edits if fates.stands(i)]
    last = max((i for i, turn in enumerate(turns) if turn.who == "agent" and len(turn.text) >= 40), default=-1)
    for n, c in enumerate(candidates):
        if c.kind == "wish":
            continue
        at = c.turn.n - 1
        subject = _subject(c)
        if subject and c.kind not in ("decision", "rule"):
            states = c.kind == "change" or bool(_STANDING.search(c.text))
            if states and not _REMOVED.search(c.text) and any(i > at and subject in names for i, names in removals):
                lose(n, GONE)
            if _STANDING.search(c.text) and any(i > at and subject == name for i, name in renamed):
                lose(n, GONE)
        # The same failure came back after this was said: what it blamed or repaired was not it, or not all of it.
        for first, again, words in recurring:
            if (
                first < at < again
                and c.kind in ("cause", "change", "said", "run")
                and (c.blames or cues.CLAIMS_FIX.search(c.text) or len(c.words & words) >= 2)
            ):
                lose(n, GONE)
        if at < last and _STILL.search(c.text) and c.kind in ("cause", "change", "said"):
            lose(n, OLDER)
        if any(at < i and before < at for before, i in found) and c.kind in ("cause", "decision", "change"):
            lose(n, OLDER)
        if edits and not any(i < at for i in standing) and any(i < at for i in edits) and _CLAIMS_DONE.match(c.text):
            lose(n, GONE)
    for n, c in enumerate(candidates):
        if c.kind in ("change", "said", "cause") and n not in lost and _measured_again(c, candidates):
            lose(n, OLDER)
    return lost


def _found_at_last(turns: tuple[CondensedTurn, ...]) -> list[tuple[int, int]]:
    """(the person's turn before, the turn) where the agent says it found it: what it held before in that answer was not
    it."""
    found: list[tuple[int, int]] = []
    asked = -1
    for i, turn in enumerate(turns):
        if turn.who in ("you", "answer"):
            asked = i
        elif turn.who == "agent" and cues.FOUND_AT_LAST.match(turn.text):
            found.append((asked, i))
    return found


def _subject(candidate: Candidate) -> str:
    """The name a claim is about: the first in it."""
    from vir_core.distil.naming import identifiers

    first = next(iter(identifiers(candidate.text)), "")
    return _bare(first)


def _bare(name: str) -> str:
    return name.rstrip("()").rpartition("/")[2].casefold()


def _removals(
    candidates: list[Candidate], turns: tuple[CondensedTurn, ...], fates: Fates
) -> list[tuple[int, frozenset[str]]]:
    """(turn, what it says was removed or replaced). What the person asks to remove counts when an edit follows."""
    standing = [i for i in range(len(turns)) if is_edit(turns[i]) and fates.stands(i)]
    found: list[tuple[int, frozenset[str]]] = []
    for i, turn in enumerate(turns):
        if turn.who not in ("agent", "you", "answer") or len(turn.text) > 6000:
            continue
        if turn.who != "agent" and not (len(turn.text) < 600 and any(j > i for j in standing)):
            continue
        if turn.who == "agent" and not any(j < i for j in standing):
            continue
        names: set[str] = set()
        for match in _REMOVED.finditer(turn.text):
            after = re.split(r"[.;\n](?:\s|$)| (?:with|by|and now|so) ", turn.text[match.end() : match.end() + 80])[0]
            names.update(_bare(word) for word in re.findall(r"[A-Za-z_][\w./-]*\w", after)[:6])
        if names:
            found.append((i, frozenset(names)))
    return found


def _definitions_gone(turns: tuple[CondensedTurn, ...], fates: Fates) -> list[tuple[int, str]]:
    """Names whose definition an edit took out without putting it back."""
    found: list[tuple[int, str]] = []
    for i, turn in enumerate(turns):
        if not is_edit(turn) or not fates.stands(i):
            continue
        old, new = replaced_by(turn)
        match = _DEFINES.search(old)
        if match and not re.search(rf"\b{match.group(1)}\b", new) and (_DEFINES.search(new) or not new):
            found.append((i, match.group(1).casefold()))
    return found


def _recurrences(turns: tuple[CondensedTurn, ...]) -> list[tuple[int, int, frozenset[str]]]:
    """(first turn, last turn, words) of failures that came back after the agent had answered one: with an edit in between
    or told by the person anew."""
    seen: dict[str, int] = {}
    found: dict[str, tuple[int, int, frozenset[str]]] = {}
    acted = -1
    for i, turn in enumerate(turns):
        if turn.who == "command" and is_edit(turn):
            acted = i
        if turn.who not in ("error", "you"):
            continue
        for line in set(turn.text.split("\n")) if "\n" in turn.text or turn.who == "error" else ():
            if len(line) > 400 or not _ERROR_LINE.search(line):
                continue
            words = re.findall(r"[^\W\d_]{3,}", re.sub(r"\S*/\S*", " ", line).casefold())
            key = " ".join(words)
            if len(words) < 3 or _COMMON_LINE.match(line.strip()):
                continue
            first = seen.setdefault(key, i)
            spoke = any(turns[j].who == "agent" for j in range(first + 1, i))
            if first < i and spoke and (turn.who == "you" or first < acted < i):
                found[key] = (first, i, frozenset(words))
    return list(found.values())


def _measured_again(candidate: Candidate, candidates: list[Candidate]) -> bool:
    """Whether a later turn gives another number for the same thing."""
    mine = {(number, unit.casefold()) for number, unit in _MEASURE.findall(candidate.text)}
    if not mine:
        return False
    for other in candidates:
        if other.turn.n <= candidate.turn.n or not (candidate.names & other.names):
            continue
        theirs = {(number, unit.casefold()) for number, unit in _MEASURE.findall(other.text)}
        if (
            theirs
            and not mine & theirs
            and {unit for _, unit in mine} & {unit for _, unit in theirs}
            and len(candidate.besides & other.besides) >= 2
        ):
            return True
    return False
