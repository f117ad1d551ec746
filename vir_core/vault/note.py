"""The note: the one owner of the grammar of a note file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from vir_core.text import (
    clean,
    file_stem,
    inert,
    inert_code,
    lazy_pattern,
    sha256_hex,
    stem_key,
    unique_stem,
    words_digest,
)
from vir_core.vault.frontmatter import ID_KEY, PREFIXED, Broken, is_note_id, read_keys, render_keys, split
from vir_core.vault.layout import Vault


class EvidenceTurn(Struct, frozen=True, kw_only=True):
    """One turn shown around a quote; `who` is you, agent, command or error."""

    who: str
    text: str
    at: str = ""


class Quote(Struct, frozen=True, kw_only=True):
    """Words that stand verbatim in the condensed, scrubbed text of a session. `turn` is the turn's id."""

    turn: str
    text: str
    at: str = ""


class Lesson(Struct, frozen=True, kw_only=True):
    """`id` is also the block id. `lead` is a few words, `text` a sentence or two."""

    id: str
    lead: str
    text: str
    quote: Quote
    around: tuple[EvidenceTurn, ...] = ()


class Draft(Struct, frozen=True, kw_only=True):
    """Everything a note says, before it is made inert and written. `project` is the display name, `date` is YYYY-MM-DD in
    the zone of the machine, `confidence` is in [0, 1]. `related` are paths of notes, relative to the vault root; `state` is one of the
    five that a person sees."""

    id: str
    title: str
    category: str
    project: str
    date: str
    summary: str
    lessons: tuple[Lesson, ...]
    context: str
    session: str
    source: str
    branches: tuple[str, ...]
    distiller: str
    grounded: str
    confidence: float
    related: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    state: str = "New"


class Rendered(Struct, frozen=True, kw_only=True):
    """A note file is `frontmatter` (with both `---` lines) and then `body`."""

    frontmatter: bytes
    body: bytes

    @property
    def content(self) -> bytes:
        return self.frontmatter + self.body


class ParsedLesson(Struct, frozen=True, kw_only=True):
    """A block with one of our block ids, as it stands in the file. `line` counts from 1 in the file; `text` is markdown
    without the lead, the list mark and the block id."""

    block: str
    lead: str
    text: str
    line: int


class NoteFile(Struct, frozen=True, kw_only=True):
    """A note as it stands in a file. `keys` are our own properties without prefix. `sections` has the markdown of Summary,
    What was learned, Context and Related under `summary`, `learned`, `context`, `related`, as far as they are there.
    `body_sha` is over the bytes below the frontmatter. `broken` says why the properties cannot be trusted to be read."""

    id: str
    keys: dict[str, str]
    sections: dict[str, str]
    lessons: tuple[ParsedLesson, ...]
    body_sha: str
    broken: str | None = None


Kind = Literal["summary", "lesson", "context"]

FOLDERS = {"pattern": "patterns", "gotcha": "gotchas", "decision": "decisions", "tool": "tools"}

_HEADINGS = {"Summary": "summary", "What was learned": "learned", "Context": "context", "Related": "related"}
_SECTIONS = {heading.casefold(): name for heading, name in _HEADINGS.items()}
_ABOUT, _EVIDENCE = "About this note", "Evidence"
_SOURCES = {"claude": "Claude Code", "codex": "Codex"}


# Writing


def note_path(vault: Vault, draft: Draft, taken: Callable[[str], bool]) -> str:
    """Where a new note goes, relative to the vault root: the folder of its category, named by its title. `taken` is asked
    with the `path_key` of a path and says whether a file is there already."""
    folder = f"{vault.folder}/{FOLDERS.get(draft.category, FOLDERS['pattern'])}"
    stem = unique_stem(file_stem(draft.title), draft.id, lambda stem: taken(path_key(f"{folder}/{stem}.md")))
    return f"{folder}/{stem}.md"


def path_key(path: str) -> str:
    """What two paths share when a disk may take them for one: letter case and composition do not count."""
    return stem_key(path)


def render(draft: Draft, prefix: str = "") -> Rendered:
    """The note as it is written the first time. Everything that came from a session is inert in it."""
    parts = [f"## Summary\n\n{inert(draft.summary)}"]
    if draft.lessons:
        parts.append("## What was learned\n\n" + "\n".join(_lesson(lesson) for lesson in draft.lessons))
    if draft.context.strip():
        parts.append(f"## Context\n\n{inert(draft.context)}")
    if draft.related:
        parts.append("## Related\n\n" + "\n".join(_link(path) for path in draft.related))
    parts.append(_about(draft))
    if draft.lessons:
        parts.append(_evidence(draft.lessons))
    return Rendered(
        frontmatter=frontmatter_of(
            id=draft.id,
            category=draft.category,
            project=draft.project,
            date=draft.date,
            state=draft.state,
            aliases=draft.aliases,
            prefix=prefix,
        ),
        body=("\n" + "\n\n".join(parts) + "\n").encode(),
    )


def frontmatter_of(
    *, id: str, category: str, project: str, date: str, state: str, aliases: Sequence[str] = (), prefix: str = ""
) -> bytes:
    """The properties of a note of ours with both `---` lines. `state` is one of the five that a person sees."""
    keys: dict[str, str | list[str]] = {
        "category": category,
        "project": _property(project),
        "date": date,
        "trust": state,
    }
    if aliases:
        keys["aliases"] = [_property(alias) for alias in aliases]
    keys[ID_KEY] = id
    return f"---\n{render_keys(keys, prefix)}---\n".encode()


def _lesson(lesson: Lesson) -> str:
    return " ".join(part for part in ("-", _lead(lesson.lead), inert(lesson.text), f"^{lesson.id}") if part)


def _lead(lead: str) -> str:
    """The lead in bold with a full stop. Spaces inside the asterisks would leave them standing as asterisks."""
    text = inert(lead).strip()
    if not text:
        return ""
    if text[-1] in ".!?:;…。！？：；":
        return f"**{text}**"
    return f"**{text}{'。' if _is_wide(text[-1]) else '.'}**"


def _is_wide(char: str) -> bool:
    return "\u3040" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff"


def _link(path: str) -> str:
    target = path.removesuffix(".md")
    return f"- [[{target}|{target.rpartition('/')[2]}]]"


def _about(draft: Draft) -> str:
    rows = [
        ("Session", inert_code(draft.session)),
        ("Source", inert(_SOURCES.get(draft.source, draft.source))),
        ("Branch" if len(draft.branches) == 1 else "Branches", ", ".join(inert_code(name) for name in draft.branches)),
        ("Distilled by", inert(draft.distiller)),
        ("Grounded", inert(draft.grounded)),
        ("Confidence", f"{draft.confidence:.2f}"),
    ]
    return "\n".join([f"> [!info]- {_ABOUT}", *(f"> - **{name}** {value}" for name, value in rows if value)])


def _evidence(lessons: tuple[Lesson, ...]) -> str:
    lines = [f"> [!quote]- {_EVIDENCE}"]
    for number, lesson in enumerate(lessons, start=1):
        lines.append(
            " ".join(part for part in (f"> {number}.", _lead(lesson.lead), f"“{inert(lesson.quote.text)}”") if part)
        )
        lines.extend(f">     - *{inert(turn.who)}*: {_turn(turn)}" for turn in lesson.around)
    return "\n".join(lines)


def _turn(turn: EvidenceTurn) -> str:
    return inert_code(turn.text) if turn.who == "command" else inert(turn.text)


def _property(text: str) -> str:
    """A name as a property value, which no quoting makes inert: brackets, angle brackets, per cent and back quotes would be
    a link, a template or a query to what reads properties, an address a link, two colons an inline field."""
    text = re.sub(r"[\[\]<>{}%`$=|]+|(?:[A-Za-z][A-Za-z0-9+.-]*)?:/{2,}", " ", clean(text))
    return " ".join(re.sub(r":{2,}", ":", text).split()).lstrip("#^!& ")


# Reading


_HEADING = lazy_pattern(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\Z")
_UNDERLINE = lazy_pattern(r" {0,3}(=+|-+)[ \t]*\Z")
_FENCE = lazy_pattern(r" {0,3}(`{3,}|~{3,})")
_CALLOUT = lazy_pattern(r" {0,3}>[ \t]*\[!(?:info|quote)\][+-]?[ \t]*(.*?)[ \t]*\Z", re.IGNORECASE)
_BLOCK = lazy_pattern(r"(?:^|[ \t])\^(l[0-9a-f]{11})[ \t]*\Z")
_MARK = lazy_pattern(r"[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|\Z)(?:\[.\][ \t]+)?|>[ \t]?)*")
_ITEM = lazy_pattern(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|\Z)")
_BOLD = lazy_pattern(r"(?:\*\*|__)(?=\S)(.+?)(?<=\S)(?:\*\*|__)(?:[ \t]+|\Z)", re.DOTALL)
_FENCES = frozenset("`~")
_UNDERLINES = frozenset("=-")
_OWN_CALLOUTS = {_ABOUT.casefold(), _EVIDENCE.casefold()}


def parse(content: bytes, prefix: str = "") -> NoteFile:
    """What the file says, whatever a person made of it: sections are found by their heading at any level and in any order,
    lessons by their block id anywhere. Never raises; `broken` says what could not be read."""
    front, body = split(content)
    keys = read_keys(content, prefix)
    broken = keys.reason if isinstance(keys, Broken) else None
    note_id = keys.id if isinstance(keys, Broken) else keys.get(ID_KEY, "")
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text, broken = body.decode(errors="replace"), broken or "the file is not UTF-8"
    above = content[: len(content) - len(body)].count(b"\n") if front is not None else 0
    sections, lessons = _read_body(text, above)
    return NoteFile(
        id=note_id if is_note_id(note_id) else "",
        keys={} if isinstance(keys, Broken) else {key: keys[key] for key in (*PREFIXED, "vir") if key in keys},
        sections=sections,
        lessons=lessons,
        body_sha=sha256_hex(body.replace(b"\r\n", b"\n")),
        broken=broken,
    )


def note_words(note: NoteFile, category: str) -> str:
    """The content digest of what stands in the file now. Loads markdown-it; `body_sha` answers "unchanged" without it."""
    sections = note.sections
    return words_digest(category, sections.get("summary", ""), sections.get("learned", ""), sections.get("context", ""))


def passage_texts(note: NoteFile) -> list[tuple[str, Kind, str]]:
    """(block id or "", kind, plain words) for each piece the index keeps: the summary, each lesson, what a person added
    among the lessons, the context."""
    learned = {lesson.block: f"{lesson.lead} {lesson.text}" for lesson in note.lessons}
    pieces: list[tuple[str, Kind, str]] = [("", "summary", note.sections.get("summary", ""))]
    pieces.extend((block, "lesson", text) for block, text in learned.items())
    added = [
        block.text for block in _blocks(note.sections.get("learned", "").split("\n"), 0) if block.id not in learned
    ]
    pieces.append(("", "lesson", "\n".join(added)))
    pieces.append(("", "context", note.sections.get("context", "")))
    return [(block, kind, words) for block, kind, text in pieces if (words := plain(text))]


class _Block(Struct):
    """Consecutive lines that make one list item or paragraph; `id` is its block id, if it is one of ours."""

    line: int
    lines: list[str]
    id: str = ""

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()


def _read_body(text: str, above: int) -> tuple[dict[str, str], tuple[ParsedLesson, ...]]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    sections: dict[str, list[str]] = {}
    rest: list[str] = []
    current, level, fence, skipping = rest, 7, "", False
    for at, line in enumerate(lines):
        # Its first letter rules most of these patterns out; an index reads every line of a vault.
        first = line.lstrip()[:1]
        if skipping and first == ">":
            rest.append("")
            continue
        skipping = False
        if fence:
            fence = "" if line.strip().startswith(fence) and not line.strip().strip(fence[0]) else fence
        elif first in _FENCES and (opened := _FENCE.match(line)):
            fence = opened[1]
        elif first == ">" and (callout := _CALLOUT.match(line)) and callout[1].casefold() in _OWN_CALLOUTS:
            skipping = True
            continue
        elif found := _heading(lines, at):
            name = _SECTIONS.get(found[1])
            if name is not None:
                current, level = sections.setdefault(name, []), found[0]
                if current:
                    current.append("")
                continue
            if found[0] <= level:
                current, level = rest, 7
        elif at and first in _UNDERLINES and _UNDERLINE.match(line) and _heading(lines, at - 1):
            continue
        current.append(line)
    lessons = [lesson for block in _blocks(lines, above) if (lesson := _parsed_lesson(block))]
    unique = {lesson.block: lesson for lesson in reversed(lessons)}
    return (
        {name: "\n".join(kept).strip() for name, kept in sections.items()},
        tuple(lesson for lesson in lessons if unique[lesson.block] is lesson),
    )


def _heading(lines: list[str], at: int) -> tuple[int, str] | None:
    """(level, folded text) of the heading that begins on this line, `#` or underlined."""
    line = lines[at]
    found = _HEADING.match(line) if "#" in line else None
    if found:
        return len(found[1]), _folded(found[2] or "")
    under = _UNDERLINE.match(lines[at + 1]) if at + 1 < len(lines) and lines[at + 1] else None
    if under and _folded(line) in _SECTIONS:
        return (1 if under[1][0] == "=" else 2), _folded(line)
    return None


def _folded(text: str) -> str:
    return " ".join(text.strip().strip("*_=~`: ").casefold().split())


def _blocks(lines: list[str], above: int) -> Iterable[_Block]:
    """List items and paragraphs outside code fences and our own callouts, with the block id at their end or, as Obsidian
    also has it, on a line of its own below them."""
    block: _Block | None = None
    last: _Block | None = None
    done: list[_Block] = []
    fence, skipping = "", False

    def close() -> None:
        nonlocal block, last
        if block is not None:
            done.append(block)
            last, block = block, None

    for at, line in enumerate(lines):
        first = line.lstrip()[:1]
        if skipping and first == ">":
            continue
        skipping = False
        if fence:
            fence = "" if line.strip().startswith(fence) and not line.strip().strip(fence[0]) else fence
            continue
        if first in _FENCES and (opened := _FENCE.match(line)):
            fence = opened[1]
            close()
            continue
        if first == ">" and (callout := _CALLOUT.match(line)) and callout[1].casefold() in _OWN_CALLOUTS:
            close()
            skipping = True
            continue
        if not first or (first == "#" and _HEADING.match(line)):
            close()
            continue
        if not first.isalpha() and _ITEM.match(line):
            close()
        found = _BLOCK.search(line) if "^" in line else None
        kept = line[: found.start()] if found else line
        if found and not kept.strip(" \t>"):
            owner = block or last
            if owner is not None and not owner.id:
                owner.id = found[1]
            close()
            continue
        if block is None:
            block = _Block(line=above + at + 1, lines=[kept[_mark_end(kept) :]])
        else:
            block.lines.append(kept.strip())
        if found:
            block.id = found[1]
            close()
    close()
    return done


def _mark_end(line: str) -> int:
    if line[:1].isalpha():
        return 0
    found = _MARK.match(line)
    return found.end() if found else 0


def _parsed_lesson(block: _Block) -> ParsedLesson | None:
    if not block.id:
        return None
    text = block.text
    bold = _BOLD.match(text)
    lead = bold[1] if bold else ""
    return ParsedLesson(block=block.id, lead=lead, text=text[bold.end() :] if bold else text, line=block.line)


# Plain words for the index: light on purpose, markdown-it costs more than the query it would serve.

_CODE = lazy_pattern(r"(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_WIKILINK = lazy_pattern(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]")
_MDLINK = lazy_pattern(r"!?\[((?:[^\[\]\\]|\\.)*)\]\((?:[^()\\]|\\.|\([^()]*\))*\)")
_AUTOLINK = lazy_pattern(r"<((?:https?|mailto):[^<>\s]*)>")
_EMPHASIS = lazy_pattern(r"(?<!\\)(\*{1,3}|~~|==)(?=\S)(.+?)(?<=[^\s\\])\1", re.DOTALL)
_UNDERSCORE = lazy_pattern(r"(?<![\\\w])(_{1,3})(?=\S)(.+?)(?<=[^\s\\])\1(?!\w)", re.DOTALL)
_ENTITY = lazy_pattern(r"(?<!\\)&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ESCAPED = lazy_pattern(r"\\([!-/:-@\[-`{-~])")


# Past this many characters a paragraph keeps its emphasis marks: the patterns below are quadratic on hostile text.
_LONG = 4000


def plain(markdown: str) -> str:
    """The words of a piece of note markdown on one line: marks, links' targets, escapes and block ids gone."""
    paragraphs: list[list[str]] = [[]]
    for line in markdown.replace("\r\n", "\n").split("\n"):
        kept = _BLOCK.sub("", line) if "^" in line else line
        end = _mark_end(kept)
        if end or not kept.strip():
            paragraphs.append([])
        paragraphs[-1].append(kept[end:])
    return " ".join(" ".join(_plain_paragraph("\n".join(lines)) for lines in paragraphs if lines).split())


def _plain_paragraph(text: str) -> str:
    if len(text) > _LONG:
        return _unescaped(text)
    if "`" not in text:
        return _plain_inline(text)
    out: list[str] = []
    at = 0
    for span in _CODE.finditer(text):
        out.append(_plain_inline(text[at : span.start()]))
        out.append(span[2].strip())
        at = span.end()
    out.append(_plain_inline(text[at:]))
    return "".join(out)


def _plain_inline(text: str) -> str:
    # Each pattern is tried only where its first letter stands: a vault is mostly plain words, and an index reads all of it.
    if "[" in text:
        text = _MDLINK.sub(r"\1", _WIKILINK.sub(r"\1", text))
    if "<" in text:
        text = _AUTOLINK.sub(r"\1", text)
    if "*" in text or "~~" in text or "==" in text:
        text = _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", text))
    if "_" in text:
        text = _UNDERSCORE.sub(r"\2", text)
    return _unescaped(text)


def _unescaped(text: str) -> str:
    if "&" in text:
        from html import unescape

        text = _ENTITY.sub(lambda found: unescape(found[0]), text)
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text
