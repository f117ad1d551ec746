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


# Where a phrase may end before it is over; what is left must still say something.
_BREAK = re.compile(
    r"(?i)\s+(?:because|when|whenever|so that|so we|so i|that|which|where|if|while|unless|in order to|but|and|then|instead of|rather than|in case|since|before|after|as|for|with|from|by|using|via|to|at|on|in|of|weil|damit|wenn|parce que|porque|потому)\s"
)
_CLAUSE = re.compile(r"[,;:] | [—–-] | \(|[，、；：]")


def phrase(text: str, columns: int) -> str:
    """The beginning of a text that fits, ended where a phrase ends rather than in the middle of one."""
    text = " ".join(text.split())
    if width(text) <= columns:
        return text
    fits = len(shorten(text, columns + 1, mark=""))
    while fits < len(text) and width(text[: fits + 1]) <= columns:
        fits += 1
    for ends, least in ((_CLAUSE, 0.4), (_BREAK, 0.5)):
        found = [match.start() for match in ends.finditer(text) if fits * least <= match.start() <= fits]
        if found and len(text[: found[-1]].split()) >= 3:
            head = text[: found[-1]]
            # A clause that is over may end in any word.
            return head if text[found[-1]] in ",;:，；：" else _open_end(head)
    return re.sub(r"(?i)\s(?:an?|the)\s\S+$", "", shorten(text, columns, mark=""))


def closed(text: str) -> str:
    text = text.strip().rstrip(":：")
    if text.endswith((".", "!", "?", "。", "！", "？", "…", ")", "`", "”", '"')):
        return text
    return f"{text}。" if "\u3040" <= text[-1:] <= "\u9fff" else f"{text}."


_WEAK_END = re.compile(
    r"(?i)\s+(?:a|an|the|of|to|in|on|for|and|or|with|by|at|as|is|are|that|which|from|into|it|its|be|but|so|if|when|what|how|why|whether|then|they|we|i|you|there|two|our|your|this|like|i.d like|want|need|would like|der|die|das|und|de|la|le|et|el|y|и|в|на)$"
)


def _open_end(text: str) -> str:
    while match := _WEAK_END.search(text):
        text = text[: match.start()]
    return text


# --- titles ----------------------------------------------------------------------------------------------------------

_ASKING = re.compile(
    r"(?i)^(?:(?:hi|hello|hey|ok(?:ay)?|so|now|alright|great|please|pls|yes|no|also|and|well|cool|hm+|thanks|gah|ugh|help|damn|argh|almost there|finally|or|then|maybe)\b[,.! ]*\s*)+|"
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
_HTML = re.compile(
    r"(?i)</?(?:a|b|i|p|br|hr|em|img|svg|div|pre|sub|sup|code|span|font|form|link|meta|base|body|html|head|embed|input|style|video|audio|table|button|object|script|iframe|strong|details|summary|h[1-6]|td|tr|th|ul|ol|li)(?:\s[^<>]*)?/?>"
)
_WIKI_LINK = re.compile(r"!?\[\[(?:[^\]|\n]*\|)?([^\]\n]*)\]\]")
# `#tag`, not `#12`.
_HASH_TAG = re.compile(r"(?<!\S)#(?=[^\W\d_])")
_PREFIX = re.compile(r"(?i)^(?:(?:feat|fix|chore|docs|refactor|test|perf|build|ci|style)(?:\([^)]*\))?!?:\s+)")


def tidy_title(text: str) -> str:
    """A title as it may be shown: no markup, no placeholder, no closing mark, at most `TITLE_WIDTH` columns."""
    text = re.sub(r"^(?:\[\[[^\]\n]*\]\]\s*)+", "", plain(text.strip().split("\n", 1)[0])).replace("`", "")
    text = _HTML.sub("", _WIKI_LINK.sub(r"\1", text))
    text = _HASH_TAG.sub("", _REDACTED.sub("", text))
    text = _PLAN.sub("", text)
    text = re.sub(r"(?i)\(\s*\)|\"\s*\"|\s*\((?:e\.?g\.?|i\.e\.|for example)[^)]*\)", "", text)
    text = " ".join(text.split()).strip(" .,:;!。，：；！-—–*_#\"'“”")
    text = phrase(text, TITLE_WIDTH).strip(' .,:;!?。，：；！？-—–*_#"“”')
    if text.count('"') % 2:
        text = text.replace('"', "")
    if text.count("(") > text.count(")"):
        text = text.rsplit("(", 1)[0].rstrip() if text.rfind("(") > len(text) // 2 else text.replace("(", "", 1)
    return text[:1].upper() + text[1:] if text[:1].isascii() and text[:1].islower() and _plain_word(text) else text


def _plain_word(text: str) -> bool:
    """An identifier at the start keeps its spelling."""
    first = text.split(" ", 1)[0]
    return bool(re.fullmatch(r"[a-z]+(?:['’-][a-z]+)*[,:]?", first))


def goal_titles(prompt: str) -> list[str]:
    """What a prompt asks for or complains of, sentence by sentence, as titles; those that name nothing are left out."""
    found: list[str] = []
    sentences = re.split(r"(?<=[.!?])\s+(?=\S)|[。！？\n]+|,\s+(?=(?:can|could) (?:you|we)\b)", prompt[:1500])
    # A long prompt is mostly pasted, below what the person has to say about it.
    for sentence in sentences[: 12 if len(prompt) <= 600 else 4]:
        text = " ".join(_URL.sub(" ", plain(sentence.strip().lstrip("#> "))).split())
        previous = None
        while previous != text:
            previous = text
            match = _ASKING.match(text)
            if match and match.end():
                text = text[match.end() :].strip(" ,.:;-–—?？")
        text = re.sub(r"(?i)^(?:our|my)\s+(?=\S)", "", _TOPIC.sub("", _COMPLAINT.sub("", text)))
        text = re.sub(r"(?i),\s*(?:why|how come|right|ok(?:ay)?)\s*\??$", "", text)
        title = tidy_title(text)
        if text.count('"') % 2 or text.count("“") != text.count("”"):
            continue
        if informative(text) and informative(title) and not _NEGATIVE.match(text) and title not in found:
            found.append(title)
    return found


_NEGATIVE = re.compile(r"(?i)^(?:no|not|nothing|none|stop|wait|never ?mind|hm+|same|still)\b")
_COMPLAINT = re.compile(
    r"(?i)^(?:i(?:'ve| have)? (?:just )?(?:noticed?|seen?|found|got|think|believe|guess)(?: that)?|it (?:seems|looks) (?:like|that)|there(?:'s| is)(?: an?)?|right now|currently)\s+"
)
# What a question is asked with; what is left names its subject.
_TOPIC = re.compile(
    r"(?i)^(?:what (?:currently )?happens (?:currently )?(?:if|when|to)(?: (?:i|we|you) (?:have|do|use))?|(?:do|did) (?:we|you) (?:already |still )?(?:have|need)|is there(?: already)?|are there|"
    r"(?:can|could|should|would|do|does) (?:i|we|you|it) (?:please |also )?(?:check|see|verify|confirm|look|find out|tell me)? ?(?:if|whether|why|what|how)(?: (?:there (?:would be|are|is)(?: any| an?)? (?:issues?|problems?)(?: with)?))?|"
    r"(?:check|see|verify|find out|look|confirm|tell me|explain)(?: to me)? (?:if|whether)(?: there (?:would be|are|is)(?: any| an?)? (?:issues?|problems?)(?: with| when| in)?)?|"
    r"what(?:'s| is| are)(?: the (?:right|best) way to)?|how (?:do|can|should|could|would) (?:i|we|you)|which|is|are)\s+(?:an?\s+)?"
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


_TICKET = re.compile(r"(?i)^[a-z]{2,6}-\d+(?=[-_/]|$)|^\d{3,}(?=[-_/]|$)|^(?:19|20)\d{6}(?=[-_/]|$)")
_BRANCH_WORDS = "feat feature fix bugfix hotfix chore docs doc refactor test tests perf build ci style release wip dev infra task tasks issue issues user users"
_KIND_OF_BRANCH = frozenset(_BRANCH_WORDS.split())
_PLAIN_BRANCH = _KIND_OF_BRANCH | {"branch", "new", "my", "main", "master", "develop", "temp", "tmp", "old", "work"}


# What a tool appends to make a branch its own: letters and digits mixed without a word in them.
_SUFFIX = re.compile(
    r"(?=.*\d)(?=.*[a-z])(?!v\d|py\d|h\d|utf|oauth\d|sha\d|md\d|ipv\d|ed\d|x\d\d|e2e)[A-Za-z0-9]{5,12}|\d{4,}|[0-9a-f]{7,}",
    re.IGNORECASE,
)


def branch_topic(branches: Iterable[str]) -> str:
    """What the last branch with a telling name is called for, as words: `mira/fix-pool-leak` is `Fix pool leak`."""
    for branch in reversed(tuple(branches)):
        *folders, name = branch.split("/")
        if not folders and branch.casefold() in ("main", "master", "develop", "head", "trunk", "staging"):
            continue
        while ticket := _TICKET.match(name):
            name = name[ticket.end() :].lstrip("-_/")
        words = [word for word in re.split(r"[-_.\s]+", name) if word]
        while len(words) > 2 and _SUFFIX.fullmatch(words[-1]):
            words.pop()
        while words and (words[0].casefold() in _KIND_OF_BRANCH and len(words) > 3):
            words.pop(0)
        if all(word.casefold() in _PLAIN_BRANCH for word in words):
            continue
        if len(words) >= 2 and sum(len(word) for word in words) >= 8 and not re.search(r"\d{5,}|[0-9a-f]{12}", name):
            text = " ".join(words)
            return text[:1].upper() + text[1:]
        if len(words) == 1 and len(folders) and len(words[0]) >= 6 and words[0].isalpha():
            return words[0][:1].upper() + words[0][1:]
    return ""


_POINTS_AWAY = re.compile(
    r"(?i)\b(?:(?:this|that|these|those|my|our|your|his|her|their|last|open|the|some|any|all)\s+(?:(?:pr|review|open|last|latest|current|new|failing|unit|merge|github|outstanding|remaining)\s+){0,2})?"
    r"(?:branch|branches|prs?|pull requests?|changes?|commits?|comments?|feedback|tests?|method|function|files?|issues?|conflicts?|review|findings?|docs?|doc updates|plan|errors?|linter|lint|linting|ci|build|it|them|this|that|#\d+)\b"
)


def without_pointers(title: str) -> str:
    """A title without the words that only point at something: `address the PR comments` has nothing left."""
    return " ".join(_POINTS_AWAY.sub(" ", title).split())


_WEAK_START = re.compile(
    r"(?i)^(?:if|or|for|and|but|so|we|our|my|something|anything|it's|it|its|this|that|could|would|only|because|then|not|no|now|start|i|you|when|while|in|on|at|with|maybe|does|do|did|he|she|they|there|let)\b"
)


def opens_weakly(title: str) -> bool:
    return bool(_WEAK_START.match(title))


# A review or a repair is named by its object alone.
_ERRAND = re.compile(
    r"(?i)^(?:review|check|look|address|start|update|merge|fix|test|see|compare|verify|rebase|investigate|continue|finish|read|explain|talk)\b|\bhelp me\b"
)
_REFERS = re.compile(r"(?i)\b(?:then|also|the others?|it|them|too|as well|again|the same|these|those|your)\b")


def errand(title: str) -> bool:
    return bool(_ERRAND.search(title))


def refers_back(title: str) -> bool:
    return bool(_REFERS.search(title))


_ACTION = re.compile(
    r"(?i)^(?:improve|enable|disable|talk|discuss|fix|update|change|add|remove|refactor|clean ?up|rework|support|check|review|test|look|explain|better|about|at|into|the|a|an|my|our|some|up|small|new|more|and|of|for|with|to|in|on|wip|work|stuff|try|make|use)$"
)


def thin(title: str) -> bool:
    """Whether a title is an action and hardly anything it acts on: `Talk about secrets`, `Improve enable`."""
    if not title.isascii() or identifiers(title):
        return False
    words = re.findall(r"[\w'’-]+", title)
    return len(words) <= 3 and sum(not _ACTION.match(word) for word in words) < 2
