"""Leads: a name for what a lesson is about. A lesson without a good one has none: its sentence says it itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vir_core.distil import cues
from vir_core.distil.naming import identifiers, width
from vir_core.distil.sentences import plain

if TYPE_CHECKING:
    from collections import Counter

LEAD_WIDTH = 48
NAME_WIDTH = 40

_LABEL = re.compile(
    r"^(?:\d{1,2}[.)]\s+)?(?:\*\*(?P<bold>[^*\n]{2,70}?)\*\*|`(?P<code>[^`\n]{2,60})`|(?P<plain>[^\s:：`*][^:：.\n`*]{1,38}))"
    r"\s*(?P<mark>[:：]|(?<=[:：]\*\*)|\s[—–-]+|\s(?:→|->))\s*(?=\S)"
)
# Labels that say what kind of thing follows. They name no thing, but a reader looks for them.
_VERDICT = re.compile(
    r"(?i)^(?:(?:the|die|der|la|le|el)\s+)?(?:(?:real|actual|key|main|final|eigentliche)\s+)?(?:root cause|cause|culprit|fix|workaround|decision|key insight|insight|rule|caveat|gotcha|lesson(?: learned)?|trade-?off|conclusion|"
    r"ursache|lösung|entscheidung|regel|fazit|causa|decisión|solución|conclusión|décision|solution|conclusion|причина|решение|вывод|правило|结论|原因|根因|根本原因|决定|修复|规则|方案|結論|決定|原因|対策|방침|원인|결론)$"
)
_WEAK_LABEL = re.compile(
    r"(?i)^(?:(?:problem|issue|bug|fix|change|finding|item|point|phase|part|test|task|comment) #?\d+|found .*|(?:natural )?next steps?|line[s]? [\d–-]+|\d+|step \d+.*|note|e\.?g\.?|example|before|after|old|new|yes|no|fixed|done|added|updated|removed|changed|modified|created|moved|file|files|result|now|option \w|case \d+|https?|"
    r"(?:your )?concern|answer|correct|warning|tip|why|how|what|problem|issue|impact|purpose|location|description|risk|change|changes|benefits?|reason|here|summary|finding|findings|message|status|logic|pattern|best practice|good news|short answer|推荐|注意|说明|变更)$"
)
_DULL_CELL = re.compile(rf"(?i)p\d|high|medium|low|critical|yes|no|[\W\d]+|{_WEAK_LABEL.pattern[4:]}")
# Words that a sentence opens with and a name does not.
_NO_NAME = re.compile(
    r"(?i)^(?:i|i'd|i've|we|you|your|it|its|this|that|these|those|here|there|if|when|while|with|without|for|in|on|to|as|so|and|but|or|also|only|because|since|after|before|once|by|from|at|is|are|was|what|how|why|better|both|all|some|"
    r"ja|nein|und|aber|wenn|mit|für|ich|wir|sie|oui|non|si|pour|avec|je|nous|sí|para|con|да|нет|если|для)\b"
)


def lead_and_text(
    quote: str, text: str, form: str, heading: str, taken: set[str], topic: Counter[str]
) -> tuple[str, str]:
    """The lead of a lesson, or nothing, and the text that goes with it. `taken` are leads of this note; `topic` says how
    often a name stands in the session."""
    if form in ("item", "sentence", "list"):
        label, rest = label_of(quote)
        before = plain(quote[:rest])
        bare = re.sub(r"^\d{1,2}[.)]\s+", "", before)
        cut = next((len(start) for start in (before, bare) if start and text.startswith(start)), 0)
        if label and cut and len(text) - cut >= 20 and label.strip("`") not in taken:
            return label, text[cut:].lstrip()
    if form == "row":
        cell, _, rest = text.partition(" — ")
        bare = cell.strip("`")
        if len(rest) >= 20 and width(cell) <= LEAD_WIDTH and bare not in taken and not _DULL_CELL.fullmatch(bare):
            return cell, rest
    for lead in _names(text, heading, topic):
        if lead.strip("`") not in taken and not repeats(lead, text):
            return lead, text
    return "", text


def label_of(source: str) -> tuple[str, int]:
    """The label a sentence opens with (`**Name**: …`, `Root cause: …`), and where the rest begins; empty when there is
    none worth showing."""
    match = _LABEL.match(source)
    if match is None:
        return "", 0
    mark = match.group("mark").strip()
    raw = match.group("bold") or match.group("code") or match.group("plain") or ""
    text = re.sub(r"^\d{1,2}[.)]\s*", "", plain(raw)).strip(" :：—–-")
    # A colon inside a word (`http://`, `a:b`) ends no label.
    if mark == ":" and not source[match.end() - 1].isspace():
        return "", 0
    if _VERDICT.match(text):
        return text, match.end()
    if not text or width(text) > LEAD_WIDTH or _WEAK_LABEL.match(text.strip("`")) or text.endswith(("?", "？")):
        return "", 0
    if match.group("code"):
        text = text.strip("`")
        if re.fullmatch(r"[\w./-]+\.\w+(?::[\d, –-]+)?", text):
            return f"`{text}`", match.end()
        return (f"`{text}`", match.end()) if _naming(text) and mark not in ("→", "->") else ("", 0)
    if match.group("plain"):
        named = mark in (":", "：") and len(text.split()) <= 4 and not _NO_NAME.match(text) and '"' not in text
        return (text, match.end()) if named and not text[:1].islower() else ("", 0)
    return (text, match.end()) if not cues.GENERIC_HEADING.match(text) else ("", 0)


def _names(text: str, heading: str, topic: Counter[str]) -> list[str]:
    """Names to choose from, the best first: a heading written for this, the thing it speaks of, a heading."""
    title = _heading(heading)
    shared = len(_words(title) & _words(text))
    name = _name(text, topic)
    found = [title] if title and shared >= 2 else []
    if name:
        found.append(name)
    if title and len(title.split()) >= 2 and not found and (shared or not title.isascii()):
        found.append(title)
    return found


def _heading(heading: str) -> str:
    heading = re.sub(r"^(?:\d+[.)]|[A-Z][.)])\s*", "", heading).strip(" :：—–-")
    if (
        not heading
        or width(heading) > LEAD_WIDTH
        or heading.endswith(("?", "？", "!", "…"))
        or heading.count("(") != heading.count(")")
        or _NO_NAME.match(heading)
        or _WEAK_LABEL.match(heading)
        or re.match(r"(?i)(?:run|add|create|update|use|set|check|install|verify|make)\b", heading)
        or cues.GENERIC_HEADING.match(heading)
        or cues.DULL_HEADING.search(heading)
        or cues.OPTION_HEADING.search(heading)
    ):
        return ""
    return heading


def _name(text: str, topic: Counter[str]) -> str:
    """The identifier or command a sentence speaks of. A sentence that opens with one needs no name before it."""
    best, most = "", -1.0
    names = identifiers(text)
    for name in names:
        shown = f"`{name}`" if f"`{name}`" in text else name
        at = text.find(shown)
        if at < 0 or not _naming(name) or (shown == name and not _clearly_code(name)):
            continue
        if at <= 12:
            return ""
        if len(set(names)) > 4 and topic[name] < 3:
            continue  # one of many
        value = min(topic[name], 6) * 0.3 - at / 150
        if value > most or not best:
            best, most = shown, value
    return best


_FILE = re.compile(
    r"\w\.(?:py|tsx?|jsx?|go|rs|rb|java|kt|swift|[ch]|cpp|cs|php|sh|md|json|ya?ml|toml|sql|css|html|vue|svelte|ini|cfg|lock|mod|tf|proto)$"
)


def _clearly_code(name: str) -> bool:
    return bool(re.search(r"\w_\w|\(\)$|^[a-z]{2,}[A-Z][a-z]|^--", name) or _FILE.search(name))


def _naming(name: str) -> bool:
    """A name of one thing: no value, no expression, no word that stands in code marks only for its looks."""
    if not 3 <= width(name) <= NAME_WIDTH or "\n" in name or name[0] in "\"'“[{(<$^*/\\|&=!":
        return False
    if re.fullmatch(
        r"[0-9a-f]{7,40}|[\d\W]+|(?:true|false|null|none|nil|undefined|error|string|main|master)", name, re.IGNORECASE
    ):
        return False
    if " " in name:
        words = name.split()
        return len(words) <= 4 and not re.search(r"[,;{}<>|&\"'→]|==|:=|!=|\s=\s", name) and words[0][0].isalpha()
    if re.search(r"[{}<>|^$*\\;,\"]|\[\]", name):
        return False
    if re.fullmatch(r"\.?[\w-]+/", name) or re.search(r"(?i)\b(?:xyz|abc|foo|bar|baz|example)\b|#tag|\.{3}|…", name):
        return False
    return bool(re.search(r"[_.()/:=@#-]|[a-z][A-Z]|\d", name)) or bool(
        re.fullmatch(r"[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+", name)
    )


def repeats(lead: str, text: str) -> bool:
    """Whether a lesson's text begins with its lead, an article or a preposition aside."""
    a, b = _sequence(lead), _sequence(text)
    if not a:
        return True
    return any(b[skip : skip + len(a)] == a for skip in range(3))


def _sequence(text: str) -> list[str]:
    return re.findall(r"[^\W_]+|[\u3040-\u30ff\u3400-\u9fff]", text.casefold())


def _words(text: str) -> set[str]:
    return {word for word in _sequence(text) if len(word) >= 4 or ord(word[0]) > 0x2E80}


_RULE = re.compile(
    r"(?i)\b(?:never|always|don't|do not|must|should|we use|from now on|make sure|only|rule|avoid|regel|immer|nie|jamais|toujours|nunca|siempre)\b|никогда|всегда|нельзя|不要|必须|总是|永远|必ず|禁止|しないで|항상|절대"
)
_CHOICE = re.compile(
    r"(?i)\b(?:instead|rather than|prefer|let's|go with|choose|keep|drop|lieber|statt|stattdessen|plutôt|mejor)\b|лучше|вместо|而不是|改用|ではなく"
)


def lead_of_wish(text: str) -> str:
    """What the person said is named by what it is: the words themselves are theirs."""
    return "Your rule" if _RULE.search(text) else "Your choice" if _CHOICE.search(text) else "Your words"


# Tools are written as they are typed.
_TYPED_WORDS = "git go pip curl docker make node deno bun uv cargo rustc pytest ruff mise brew apt yarn java ruby rake gem composer kubectl helm terraform ansible vim emacs tmux bash zsh fish sudo cron systemd nginx redis sqlite sed awk jq grep vite eslint prettier mypy pyright tox nox conda poetry npx pnpm stdin stdout stderr localhost true false null none nil"
_TYPED = frozenset(_TYPED_WORDS.split())
# Scripts in which a capital letter is one character and stands for the same word.
_PLAIN_WORD = re.compile(
    r"([a-zà-öø-þα-ωά-ώа-яё])[a-zà-öø-þßÿα-ωά-ώςа-яё]*(?:['’-][a-zà-öø-þα-ωά-ώςа-яё]+)*[,;:.!?]?(?=\s|$)"
)


def capitalised(text: str) -> str:
    """The text with a capital letter at its start when a plain word stands there; names and commands keep their
    spelling."""
    match = _PLAIN_WORD.match(text)
    if match is None:
        return text
    word = match.group().rstrip(",;:.!?")
    if re.split(r"[-'’]", word)[0] in _TYPED or (len(word) > 1 and word.isascii() and not re.search(r"[aeiouy]", word)):
        return text
    return text[0].upper() + text[1:]
