"""A turn's text cut into units: sentences, list items and commands that can be quoted exactly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 420  # characters of one unit; a person does not read more than that as one lesson
LONGEST_LIST = 360


class Unit(Struct, frozen=True, kw_only=True):
    """`start` and `end` bound the quote in the turn's text. `before` is where the sentence directly before it begins, in
    the same paragraph or the one above, or -1. `heading` and `intro` are what it stands under. `form` is sentence, item, row, list, run
    or code."""

    start: int
    end: int
    form: str
    heading: str = ""
    intro: str = ""
    before: int = -1
    first: bool = False


_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*([\w+#.-]*)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_BOLD_LINE = re.compile(r"^\s*(?:\d+[.)]\s*)?\*\*([^*]+?)\*\*:?\s*$")
_ITEM = re.compile(
    r"^(\s*)(?:(?:[-*+•▪◦✅❌✓✔✗➜→]\ufe0f?|\d{1,3}[.)]|[①-⑳]|[（(]?\d{1,2}[)）、])\s+(?:\[[ xX]\]\s+)?(?=\S)|(?=\*\*[^*\n]{2,60}\*\*:?\s*(?:[:：—–]|-\s)\s*\S)|(?=\*\*[^*\n]{2,60}[:：]\*\*\s+\S))"
)
_TABLE = re.compile(r"^\s*\|.*\|\s*$|^\s*\|?(?:\s*:?-{3,}:?\s*\|)+")
_TABLE_RULE = re.compile(r"^\s*\|?(?:\s*:?-{2,}:?\s*\|)+\s*(?::?-{2,}:?\s*)?$")
_RULE = re.compile(r"^\s*(?:[-*_]\s*){3,}$")
_SHELL = frozenset({"bash", "sh", "shell", "zsh", "console", "powershell", "ps1", "cmd", "fish", "terminal"})
_COLON = (":", "：")


class _Line(Struct, frozen=True):
    start: int
    end: int
    text: str


def _lines(text: str) -> Iterator[_Line]:
    at = 0
    for line in text.split("\n"):
        yield _Line(at, at + len(line), line)
        at += len(line) + 1


def units(text: str) -> list[Unit]:
    """All units of one turn, in order. Tables, headings, quoted lines and code (but for short shell blocks) are no
    units."""
    found: list[Unit] = []
    heading = intro = ""
    intro_at = -1
    last = -1  # where the last sentence of the paragraph directly above begins
    lines = list(_lines(text))
    i = 0
    while i < len(lines):
        line = lines[i]
        bare = line.text.strip()
        if not bare or _RULE.match(line.text):
            i += 1
            continue
        above, last = last, -1
        if fence := _FENCE.match(line.text):
            close = i + 1
            while close < len(lines) and not lines[close].text.strip().startswith(fence.group(1)):
                close += 1
            found.extend(_run(lines[i + 1 : close], fence.group(2).casefold(), heading, intro))
            intro, intro_at = "", -1
            i = close + 1
            continue
        if (match := _HEADING.match(line.text)) or (match := _BOLD_LINE.match(line.text)):
            heading, intro, intro_at = plain(match.group(1)), "", -1
            i += 1
            continue
        if _TABLE.match(line.text):
            stop = i + 1
            while stop < len(lines) and _TABLE.match(lines[stop].text):
                stop += 1
            found.extend(_rows(lines[i:stop], heading))
            i = stop
            continue
        if bare.startswith((">", "<")):
            i += 1
            continue
        if item := _ITEM.match(line.text):
            stop = i + 1
            while stop < len(lines) and _continues(lines[stop].text, len(item.group(1))):
                stop += 1
            start, end = line.start + item.end(), lines[stop - 1].end
            if text[start:end].rstrip().rstrip("*_ ").endswith(_COLON):
                # An item that opens a list of its own is read together with it.
                listed = _short_list(lines, stop, len(item.group(1)) + 1)
                if listed and listed[1] - start <= LONGEST_LIST:
                    found.append(Unit(start=start, end=listed[1], form="list", heading=heading))
                intro = plain(text[start:end])
            else:
                found.extend(_item(text, start, end, heading, intro))
            i = stop
            continue
        stop = i + 1
        while stop < len(lines) and _same_paragraph(lines[stop].text):
            stop += 1
        start, end = line.start + (len(line.text) - len(line.text.lstrip())), lines[stop - 1].end
        sentences = list(_sentences(text, start, end))
        if sentences and text[start:end].rstrip().rstrip("*_ ").endswith(_COLON):
            intro_at = sentences[-1][0]
            intro = plain(text[intro_at:end])
            listed = _short_list(lines, stop)
            if listed and listed[1] - intro_at <= LONGEST_LIST and listed[0] >= 2:
                before = sentences[-2][0] if len(sentences) > 1 else above
                found.append(Unit(start=intro_at, end=listed[1], form="list", heading=heading, before=before))
            sentences.pop()
        else:
            intro, intro_at = "", -1
        before = above
        for n, (a, b) in enumerate(sentences):
            found.append(Unit(start=a, end=b, form="sentence", heading=heading, before=before, first=n == 0))
            before = a
        last = before if sentences else -1
        i = stop
    return [unit for unit in found if unit.end > unit.start]


def _same_paragraph(line: str) -> bool:
    return bool(line.strip()) and not (
        _ITEM.match(line) or _HEADING.match(line) or _FENCE.match(line) or _TABLE.match(line) or _BOLD_LINE.match(line)
    )


def _continues(line: str, indent: int) -> bool:
    """A hard-wrapped list item goes on in indented lines that start no item of their own."""
    return bool(line.strip()) and len(line) - len(line.lstrip()) > indent + 1 and _same_paragraph(line)


_BOLD_LABEL = re.compile(r"\*\*([^*\n]{3,70}?)\*\*\s*(?:[:：]|[—–-])?\s*")


def _item(text: str, start: int, end: int, heading: str, intro: str) -> Iterator[Unit]:
    if end - start <= 300:
        yield Unit(start=start, end=_trim(text, start, end), form="item", heading=heading, intro=intro, first=True)
        return
    label = _BOLD_LABEL.match(text[start:end])
    bounds = list(_sentences(text, start, end))
    if label and len(bounds) > 1 and bounds[0][1] - start - label.end() < 40 and bounds[1][1] - start <= LONGEST:
        bounds[:2] = [(start, bounds[1][1])]
    before = -1
    for n, (a, b) in enumerate(bounds):
        # What a long item says after its label stands under it as under a heading.
        under = plain(label.group(1)).rstrip(" :：") if label and n else heading
        yield Unit(start=a, end=b, form="item", heading=under, intro=intro, before=before, first=n == 0)
        before = a


def _run(block: list[_Line], language: str, heading: str, intro: str) -> Iterator[Unit]:
    """A few lines of code with a sentence that says what they are: a command to run, or what is shown."""
    lines = [line for line in block if line.text.strip() and not line.text.strip().startswith("#")]
    if intro and 1 <= len(lines) <= 3 and all(len(line.text) <= 160 for line in lines):
        start = lines[0].start + len(lines[0].text) - len(lines[0].text.lstrip())
        form = "run" if language in _SHELL else "code"
        yield Unit(start=start, end=lines[-1].end, form=form, heading=heading, intro=intro)


def _rows(rows: list[_Line], heading: str) -> Iterator[Unit]:
    """Rows of a table that say something: a cell of several words, below the head."""
    ruled = next((n for n, row in enumerate(rows) if _TABLE_RULE.match(row.text)), -1)
    for row in rows[ruled + 1 :]:
        cells = [cell.strip() for cell in row.text.strip().strip("|").split("|")]
        if ruled >= 0 and any(len(cell.split()) >= 5 for cell in cells) and "…" not in row.text:
            start = row.start + row.text.index("|") + 1
            start += len(row.text[start - row.start :]) - len(row.text[start - row.start :].lstrip())
            yield Unit(start=start, end=row.start + row.text.rindex("|"), form="row", heading=heading)


def _short_list(lines: list[_Line], at: int, least: int = 0) -> tuple[int, int] | None:
    """How many items follow, and where the last one ends, when they are few and flat. `least` is the indent of the
    items of a nested list."""
    while at < len(lines) and not lines[at].text.strip():
        at += 1
    count = whole = 0
    end = -1
    indent: int | None = None
    while at < len(lines):
        line = lines[at].text
        if not line.strip():
            at += 1
            continue
        item = _ITEM.match(line)
        if least and len(line) - len(line.lstrip()) < least:
            break
        if not item or (indent is not None and len(item.group(1)) != indent):
            if item or line.startswith((" ", "\t")):
                return None
            break
        indent = len(item.group(1))
        count += 1
        words = line[item.end() :].rstrip()
        wide = len(words) + sum(ord(char) > 0x2E80 for char in words)
        whole += wide > 110 or (wide > 60 and words.endswith((".", "。", "！")))
        end = lines[at].end
        at += 1
    # Items that are sentences of their own are lessons of their own.
    return (count, end) if 1 <= count <= 5 and whole * 2 < count else None


# Ends of sentences: Latin and Cyrillic ones need a following space, CJK ones do not.
_END = re.compile(r"[.!?]+[\"'»”’)\]*_`]*(?=\s)|[。！？]+[」』”）)]*|\n(?=\s*\n)")
_NOT_AN_END = re.compile(
    r"(?i)(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|resp|incl|no|nr|fig|dr|mr|mrs|st|z\.\s?b|d\.\s?h|u\.\s?a|bzw|ca|p\.\s?ex|"
    r"c\.-à-d|p\.\s?ej|т\.\s?е|т\.\s?к|т\.\s?д|\d{1,3}|[a-z])\.$"
)
# People write without capitals; a quoted question or a short word before the mark ends nothing.
_WORD_BEFORE = re.compile(r"(?<![\w.])[^\W\d_]{3,12}[.!?]+$")
_MASK = re.compile(r"`+[^`\n]*`+|https?://\S+|\[[^\]\n]*\]\([^)\n]*\)")


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    end = _trim(text, start, end)
    body = text[start:end]
    # A code span with a full stop in it ends no sentence.
    masked = _MASK.sub(lambda m: "X" * len(m.group()), body) if "`" in body or "://" in body or "](" in body else body
    at = 0
    for match in _END.finditer(masked):
        stop = match.end()
        if masked[match.start()] == "." and _NOT_AN_END.search(masked[max(0, stop - 9) : stop]):
            continue
        following = masked[stop:].lstrip()
        if following[:1].islower() and not _WORD_BEFORE.search(masked[max(0, match.start() - 12) : stop]):
            continue
        if stop > at:
            yield from _span(text, start + at, start + stop)
        at = stop
    yield from _span(text, start + at, end)


def _span(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    end = _trim(text, start, end)
    if end > start:
        yield start, end


def _trim(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1].isspace():
        end -= 1
    return end


_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_EMPHASIS = re.compile(r"\*\*|__(?=\S)|(?<=\S)__(?!\w)|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])")
_EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f\u2b50\u2b55\u23e9-\u23fa]+")


def plain(text: str) -> str:
    """The words as a reader sees them: emphasis and list marks gone, links as their text, code spans kept."""
    parts: list[str] = []
    at = 0
    for span in re.finditer(r"`+[^`\n]*`+", text):
        parts.append(_without_marks(text[at : span.start()]))
        parts.append(span.group())
        at = span.end()
    parts.append(_without_marks(text[at:]))
    return " ".join("".join(parts).split())


def _without_marks(text: str) -> str:
    return _EMOJI.sub("", _EMPHASIS.sub("", _LINK.sub(r"\1", text)))


_NUMBERED = re.compile(r"^\d{1,2}[.)]\s+(?=\S)")
_EMPTY_CELL = re.compile(r"#?\d*|[-—–]")


def shown(text: str, unit: Unit) -> str:
    """The unit's words on one line; the items of a list are joined to the sentence that introduces them."""
    body = text[unit.start : unit.end]
    if unit.form == "list":
        head, *items = [line for line in body.split("\n") if line.strip()]
        listed = [plain(_ITEM.sub("", line)).rstrip(" .;,。；，、") for line in items]
        head = plain(head)
        if head.endswith("：") or sum(ord(char) > 0x2E80 for char in head) * 3 > len(head):
            return f"{head}{'；'.join(listed)}。"
        return f"{head} {'; '.join(listed)}."
    if unit.form == "row":
        return " — ".join(cell for cell in (plain(cell) for cell in body.split("|")) if not _EMPTY_CELL.fullmatch(cell))
    if unit.form in ("run", "code"):
        code = ("; " if unit.form == "run" else " ").join(
            line.strip() for line in body.split("\n") if line.strip() and not line.strip().startswith("#")
        )
        mark = "``" if "`" in code else "`"
        return f"{_NUMBERED.sub('', unit.intro)} {mark}{code}{mark}"
    return _NUMBERED.sub("", plain(body)) if unit.form in ("item", "sentence") else plain(body)
