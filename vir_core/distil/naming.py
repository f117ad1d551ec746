"""Titles: names made only of words that were said."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from vir_core.distil.cues import GENERIC_HEADING
from vir_core.distil.sentences import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

TITLE_WIDTH = 74  # columns; a CJK character takes two

_REDACTED = re.compile(r"\[(?:secret|email|private key)\]|\[?REDACTED\]?|\[…\]")
_CODE = re.compile(r"`+([^`\n]+)`+")
_IDENTIFIER = re.compile(
    r"(?<![\w/])(?:[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)+(?:\(\))?|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|\w+_\w+|--[a-z][\w-]+|[A-Za-z_]\w*\(\)|[\w.-]+/[\w./-]+)"
)
# `and/or`, `e.g`, `3/4`: written like a path or a member and naming nothing.
_WORDS_WITH_SLASH = re.compile(r"(?i)^(?:[a-z]+/[a-z]+|\d+/\d+|[a-z]\.[a-z]|vs\.?\w*|\d[\d.]*)$")


def width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def identifiers(text: str) -> list[str]:
    """Names of things in the order they appear: code spans first written as such, then words that look like code."""
    found = [match.group(1).strip() for match in _CODE.finditer(text)]
    rest = _CODE.sub(" ", text)
    found += [
        name for match in _IDENTIFIER.finditer(rest) if not _WORDS_WITH_SLASH.match(name := match.group().rstrip("./"))
    ]
    return [name for name in found if name and not _REDACTED.search(name)]


def shorten(text: str, columns: int, mark: str = "…") -> str:
    """Cut at a word, better at the end of a clause; a code span is never cut open. `mark` says where words are missing."""
    text = " ".join(text.split())
    if width(text) <= columns:
        return text
    used = 0
    end = 0
    for i, char in enumerate(text):
        used += 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if used > columns - 1:
            end = i
            break
    cut = text[:end]
    if cut.count("`") % 2:
        cut = cut[: cut.rfind("`")]
    clause = max(
        (cut.rfind(mark) for mark in (", ", " — ", " – ", " - ", "; ", ": ", " (", "，", "、", "；", "：")), default=-1
    )
    if clause > len(cut) * 0.45:
        return cut[:clause].rstrip(" ,;:—–-，、；：(")
    space = cut.rfind(" ")
    if space > len(cut) * 0.5 and ord(cut[-1]) < 0x2E80:
        cut = cut[:space]
    return _open_end(cut).rstrip(" ,;:—–-，、；：(") + mark


def closed(text: str) -> str:
    text = text.strip().rstrip(":：")
    return text if text.endswith((".", "!", "?", "。", "！", "？", "…", ")", "`", "”", '"')) else f"{text}."


_WEAK_END = re.compile(
    r"(?i)\s+(?:a|an|the|of|to|in|on|for|and|or|with|by|at|as|is|are|that|which|from|into|it|its|be|but|so|if|when|what|how|why|whether|they|we|i|you|there|two|our|your|this|der|die|das|und|de|la|le|et|el|y|и|в|на)$"
)


def _open_end(text: str) -> str:
    while match := _WEAK_END.search(text):
        text = text[: match.start()]
    return text


# --- titles ----------------------------------------------------------------------------------------------------------

_ASKING = re.compile(
    r"(?i)^(?:(?:hi|hello|hey|ok(?:ay)?|so|now|alright|great|please|pls|yes|no|also|and|well|cool|hm+|thanks|gah|ugh|help|damn|argh|almost there|finally)\b[,.! ]*\s*)+|"
    r"^(?:can|could|would|will|should) (?:you|we) (?:please |also |maybe |just |quickly )*|^(?:i(?:'d| would) like (?:you )?to|i (?:do |also |really )*(?:want|need) (?:you )?to|i wanna|let(?:'s| us)|we (?:need|have|want) to|please|help me(?: to)?|"
    r"your (?:task|job) is to|i'm trying to|i am trying to)\s+(?:please |also |just )*|"
    r"^(?:请(?:帮我|你)?|帮我|麻烦|我想(?:要)?|我们需要)|^(?:bitte|kannst du|könntest du|ich möchte(?:,? dass)?)\s+|^(?:peux-tu|pouvez-vous|est-ce que tu peux|je voudrais|merci de)\s+|"
    r"^(?:puedes|podrías|por favor|quiero que|necesito que)\s+|^(?:пожалуйста|можешь|нужно|давай)\s*,?\s*"
)
_VAGUE = re.compile(
    r"(?i)^(?:(?:please|the|a|an|my|our|this|that|it|these|those|all|some|any|and|to|in|of|for|on|with|me|you|us|at|look|check|fix|see|do|make|add|update|change|changes|review|run|test|tests|issue|issues|problem|error|errors|bug|bugs|code|file|files|unit|"
    r"branch|commit|last|latest|current|pr|feedback|comment|comments|address|continue|go|ahead|again|failing|fails|fail|now|what|why|how|is|are|was|does|did|read|then|talk|about|idea|implement|following|plan|work|help|let|know|think|start|here|there|"
    r"one|so|if|can|could|new|change|main|build|lint|linting|project|repo|repository|app|stuff|thing|things|something|directories|directory|folder|created|task|next|step|steps|finish|complete|everything|out|up|into|as|by|be|before|anything|doing|got|your)\b[\s,.!?:;'\"-]*)+$"
)
_URL = re.compile(r"https?://\S+|(?<!\w)@?(?:~|\.{1,2})?/?(?:[\w.@-]+/){3,}[\w.@-]*(?::\d+(?:-\d+)?)?|@[\w./-]+")
_PLAN = re.compile(
    r"(?i)^(?:implementation |fix |refactor(?:ing)? )?(?:plan|计划|計画|実装計画)\s*[:：—–-]\s*|\s*[—–-]?\s*\b(?:implementation )?plan$"
)
_PREFIX = re.compile(r"(?i)^(?:(?:feat|fix|chore|docs|refactor|test|perf|build|ci|style)(?:\([^)]*\))?!?:\s+)")


def tidy_title(text: str) -> str:
    """A title as it may be shown: no markup, no placeholder, no closing mark, at most `TITLE_WIDTH` columns."""
    text = re.sub(r"^(?:\[\[[^\]\n]*\]\]\s*)+", "", plain(text.strip().split("\n", 1)[0])).replace("`", "")
    text = _REDACTED.sub("", text)
    text = _PLAN.sub("", text)
    text = re.sub(r"\(\s*\)|\"\s*\"", "", text)
    text = " ".join(text.split()).strip(" .,:;!。，：；！-—–*_#\"'“”")
    text = shorten(text, TITLE_WIDTH, mark="").strip(' .,:;!?。，：；！？-—–*_#"“”')
    if text.count("(") > text.count(")"):
        text = text.rsplit("(", 1)[0].rstrip() if text.rfind("(") > len(text) // 2 else text.replace("(", "", 1)
    return text[:1].upper() + text[1:] if text[:1].isascii() and text[:1].islower() and _plain_word(text) else text


def _plain_word(text: str) -> bool:
    """An identifier at the start keeps its spelling."""
    first = text.split(" ", 1)[0]
    return bool(re.fullmatch(r"[a-z]+(?:'[a-z]+)?[,]?", first))


def goal_title(prompt: str) -> tuple[str, str]:
    """A prompt as a title, and its manner: task, statement or question. The title is its first clause with something in
    it, or empty when it names nothing."""
    first: tuple[str, str] = ("", "")
    for sentence in re.split(r"(?<=[.!?])\s+(?=\S)|[。！？\n]+|,\s+(?=(?:can|could) (?:you|we)\b)", prompt[:1500])[:12]:
        text = _URL.sub(" ", plain(sentence))
        text = " ".join(text.split())
        wanted = False
        previous = None
        while previous != text:
            previous = text
            match = _ASKING.match(text)
            if match and match.end():
                wanted = wanted or bool(_WANTED.search(match.group()))
                text = text[match.end() :].strip(" ,.:;-–—?？")
        text = _COMPLAINT.sub("", text)
        title = tidy_title(text)
        if not informative(text) or not informative(title) or _NEGATIVE.match(text):
            continue
        asks = bool(_QUESTION.match(text))
        question = asks or (sentence.rstrip().endswith(("?", "？")) and not wanted)
        if _VERB.match(text) or ((wanted or not text.isascii()) and not question):
            return title, "task"
        if not first[0]:
            first = (title, "question" if question else "statement")
    return first


_NEGATIVE = re.compile(r"(?i)^(?:no|not|nothing|none|stop|wait|never ?mind|hm+|same|still)\b")
_WANTED = re.compile(
    r"(?i)you|like|want|need|let|please|help|task|trying|请|帮|想|bitte|kannst|peux|voudrais|puedes|quiero|пожалуйста"
)
_QUESTION = re.compile(
    r"(?i)^(?:is|are|do|does|did|was|were|why|what|when|where|how|which|who|should|isn't|doesn't|if)\b"
)
_COMPLAINT = re.compile(
    r"(?i)^(?:i(?:'ve| have)? (?:just )?(?:noticed?|seen?|found|got|think|believe|guess)(?: that)?|it (?:seems|looks) (?:like|that)|there(?:'s| is)(?: an?)?|right now|currently)\s+"
)
_VERB = re.compile(
    r"(?i)^(?:add|allow|avoid|bump|change|clean|convert|create|debug|delete|disable|document|drop|enable|ensure|explain|extend|extract|fix|handle|implement|improve|install|integrate|investigate|make|merge|migrate|move|optimi[sz]e|"
    r"port|prepare|refactor|remove|rename|replace|resolve|restructure|rewrite|set|show|simplify|speed|split|support|switch|test|track|update|upgrade|use|validate|verify|write|build|design|find|configure|deploy|publish|generate)\b"
)


def informative(text: str) -> bool:
    """True when a title made of this would tell one session from another."""
    text = " ".join(_REDACTED.sub(" ", text).split())
    if not text or _VAGUE.match(text) or text.startswith(("/", "<")):
        return False
    if sum(ord(char) > 0x2E80 for char in text) >= 5:
        return True
    words = [word for word in text.split() if sum(char.isalpha() for char in word) >= 3]
    return len(words) >= 3 or (len(words) >= 2 and bool(identifiers(text)))


def heading_of(plan: str) -> str:
    """The first heading of a plan that names its subject."""
    for line in plan.split("\n"):
        match = re.match(r"^#{1,3}\s+(.+?)\s*#*$", line.strip())
        if match:
            text = _PLAN.sub("", plain(match.group(1))).strip()
            text = re.sub(r"(?i)^plan\b[:\s—–-]*", "", text)
            if informative(text) and not GENERIC_HEADING.match(text):
                return text
    return ""


_COMMIT = re.compile(r"\bgit\s+(?:-\S+\s+\S+\s+)*commit\b")
_SUBJECT = re.compile(
    r"""-m\s+(?:"\$\(cat\s+<<-?\s*['"]?(\w+)['"]?\s*\n(?P<here>[^\n]+)|"(?P<double>[^"\n$]{4,200})|'(?P<single>[^'\n]{4,200}))"""
)
_PR = re.compile(
    r"""gh\s+pr\s+(?:create|edit)\b[^\n]*?--title\s+(?:"(?P<double>[^"\n]{4,200})"|'(?P<single>[^'\n]{4,200})')"""
)


def subjects(commands: Iterable[str]) -> list[str]:
    """First lines of the commits and titles of the pull requests made in a session, in order, without repeats."""
    found: list[str] = []
    for command in commands:
        match = _PR.search(command) or (_SUBJECT.search(command) if _COMMIT.search(command) else None)
        if match is None:
            continue
        groups = match.groupdict()
        text = _PREFIX.sub("", (groups.get("here") or groups.get("double") or groups.get("single") or "").strip())
        if (
            text
            and text not in found
            and not re.match(r"(?i)^(?:wip|merge|fixup|update|tmp|test|init(?:ial commit)?)\W*$", text)
        ):
            found.append(text)
    return found
