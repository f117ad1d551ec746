"""The frontmatter of a note: where it ends, our own keys in it, and how they change without anything else changing.

Keys are read by lines, because ten thousand notes are read so. They are changed as lines of text, because a YAML round
trip reformats what a person wrote; ruamel only proves afterwards that every other key still says the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from vir_core.text import inert_yaml, lazy_pattern
from vir_core.vault.errors import CannotEdit

BOM = b"\xef\xbb\xbf"

ID_KEY = "vir_id"
MARK_KEY, WRONG = "vir", "wrong"
"""The property by which a person calls a note wrong in their editor, and its value."""

# `vir_id` is how files are followed in every vault and `aliases` is Obsidian's own; the others may clash with what a
# person already uses these names for, and then carry the vault's prefix.
PREFIXED = ("category", "project", "date", "trust")
OWN_KEYS = (ID_KEY, *PREFIXED, "aliases", "vir")

_QUOTED = (ID_KEY, "project", "aliases")
_OPEN = lazy_pattern(rb"---[ \t]*\r?\n")
_CLOSE = lazy_pattern(rb"^---[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_NOTE_ID = lazy_pattern(r"n[0-9a-f]{15}\Z")
_PLAIN = lazy_pattern(r"(?:[A-Za-z][A-Za-z]*(?: [A-Za-z]+)*|[0-9]{4}-[0-9]{2}-[0-9]{2})\Z")
_YAML_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
_SCALAR = lazy_pattern(
    r"""(?P<gap>[ \t]*)
        (?: "(?P<double>(?:[^"\\]|\\.)*)" | '(?P<single>(?:[^']|'')*)' | (?P<plain>[^\s"'#][^\r\n]*?) )?
        (?P<rest>[ \t]*(?:(?<=[ \t])\#[^\r\n]*)?)(?P<eol>\r?\n?)\Z""",
    re.VERBOSE,
)
# An own value that opens with one of these is a list, a map, an anchor, an alias, a tag or a block scalar.
_NOT_SCALAR = ("[", "{", "&", "*", "!", "|", ">", "@", "`", "%")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b", "a": "\a", "b": "\b", "v": "\v", "f": "\f", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}  # fmt: skip
_ESCAPE = lazy_pattern(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)


class Broken(Struct, frozen=True, kw_only=True):
    """A frontmatter that does not say clearly what it says. `id` is the note id when one could still be made out, so that
    a damaged note is not taken for a deleted one."""

    reason: str
    id: str = ""


def split(content: bytes) -> tuple[bytes | None, bytes]:
    """The lines between the two `---` lines and everything below them, both as written. `(None, content)` when there is no
    frontmatter or it is never closed. A BOM before it belongs to neither part."""
    start = len(BOM) if content.startswith(BOM) else 0
    opening = _OPEN.match(content, start)
    if opening is None:
        return None, content
    closing = _CLOSE.search(content, opening.end())
    if closing is None:
        return None, content
    return content[opening.end() : closing.start()], content[closing.end() :]


def is_open(content: bytes) -> bool:
    """Whether a frontmatter begins here, closed or not."""
    return _OPEN.match(content, len(BOM) if content.startswith(BOM) else 0) is not None


def read_keys(content: bytes, prefix: str = "") -> dict[str, str] | Broken:
    """Our own scalar keys, without the prefix, unquoted; empty for a note without any. Never raises."""
    front, _ = split(content)
    if front is not None:
        return _read(front, prefix)
    if not is_open(content):
        return {}
    # A rule at the top of an ordinary page looks the same; only a file that names one of our notes is broken.
    found = _read(content[content.index(b"\n") + 1 :][:65536], prefix)
    named = found.id if isinstance(found, Broken) else found.get(ID_KEY, "")
    return Broken(reason="the properties at the top are not closed with ---", id=named) if named else {}


def is_note_id(text: str) -> bool:
    return _NOTE_ID.match(text) is not None


def property_name(key: str, prefix: str) -> str:
    return prefix + key if key in PREFIXED else key


def render_keys(keys: Mapping[str, str | Sequence[str]], prefix: str = "", eol: str = "\n") -> str:
    """One line a key (a list: one more line an item), in the order given."""
    lines: list[str] = []
    for key, value in keys.items():
        name = property_name(key, prefix)
        if isinstance(value, str):
            lines.append(f"{name}: {_scalar(key, value)}{eol}")
        else:
            lines.append(f"{name}:{eol}")
            lines.extend(f"  - {_scalar(key, item)}{eol}" for item in value)
    return "".join(lines)


def set_keys(content: bytes, keys: Mapping[str, str | Sequence[str] | None], prefix: str = "") -> bytes:
    """`content` with these own keys set (None takes one away) and every other byte kept: line ends, comments, order,
    quoting. A key that already says it is not touched. Raises CannotEdit when that cannot be done or proven: duplicate
    or quoted own keys, flow maps, tabs, anchors, a list where a scalar is wanted, YAML that does not parse."""
    for key in keys:
        if key not in OWN_KEYS:
            raise ValueError(f"{key} is not one of our keys")
    try:
        content.decode()
    except UnicodeDecodeError:
        raise CannotEdit("the file is not UTF-8") from None
    bom = BOM if content.startswith(BOM) else b""
    front, _ = split(content)
    if front is None:
        return _with_new_front(content, bom, keys, prefix)
    opening = _OPEN.match(content, len(bom))
    assert opening is not None
    eol = "\r\n" if opening.group().endswith(b"\r\n") else "\n"
    head, tail = content[: opening.end()], content[opening.end() + len(front) :]

    old = _sections(front)
    names = {property_name(key, prefix): key for key in keys}
    lines = _lines(front)
    missing: dict[str, str | Sequence[str]] = {}
    for name, key in names.items():
        value = keys[key]
        span = _span(lines, name)
        if span is None:
            if value is not None:
                missing[key] = value
            continue
        if name in old and _says(old[name], value):
            continue
        if any(event[1] is not None for event in old.get(name, ())):
            raise CannotEdit(f"{name} carries an anchor or an alias")
        lines[span[0] : span[1]] = _replacement(lines[span[0] : span[1]], key, value, prefix, eol)

    wanted = {name: keys[key] for name, key in names.items()}
    reason = "the properties hold something vir cannot place its own lines beside"
    for at in _places(lines, names, prefix) if missing else [len(lines)]:
        added = _lines(render_keys(missing, prefix, eol).encode())
        candidate = "".join([*lines[:at], *added, *lines[at:]]).encode()
        try:
            _prove(old, _sections(candidate), wanted)
        except CannotEdit as problem:
            reason = problem.reason
            continue
        return head + candidate + tail
    raise CannotEdit(reason)


def _with_new_front(content: bytes, bom: bytes, keys: Mapping[str, str | Sequence[str] | None], prefix: str) -> bytes:
    if is_open(content):
        raise CannotEdit("the properties at the top are not closed with ---")
    given = {key: value for key, value in keys.items() if value is not None}
    if not given:
        return content
    eol = "\r\n" if content.count(b"\r\n") * 2 > content.count(b"\n") else "\n"
    front = render_keys(given, prefix, eol)
    return bom + f"---{eol}{front}---{eol}".encode() + content[len(bom) :]


# Reading by lines


def _read(front: bytes, prefix: str) -> dict[str, str] | Broken:
    keys: dict[str, str] = {}
    reason = ""
    try:
        text = front.decode()
    except UnicodeDecodeError:
        text, reason = front.decode(errors="replace"), "the properties are not UTF-8"
    for line in text.split("\n"):
        if not line or line[0] in " \t#-\r":
            continue
        name, colon, value = line.partition(":")
        if not colon:
            continue
        name = name.rstrip()
        if name[:1] in "\"'" and name[-1:] == name[:1]:
            name = name[1:-1]
        if prefix and name.startswith(prefix) and name[len(prefix) :] in PREFIXED:
            name = name[len(prefix) :]
        elif name not in OWN_KEYS or (prefix and name in PREFIXED):
            continue
        if name in keys:
            reason = reason or f"{property_name(name, prefix)} stands there twice"
            continue
        keys[name] = _unquoted(value)
    if reason:
        found = keys.get(ID_KEY, "")
        return Broken(reason=reason, id=found if is_note_id(found) else "")
    return keys


def _unquoted(value: str) -> str:
    found = _SCALAR.match(value)
    if found is None:
        return value.strip()
    if found["double"] is not None:
        return _ESCAPE.sub(_unescaped, found["double"])
    if found["single"] is not None:
        return found["single"].replace("''", "'")
    return found["plain"] or ""


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code is None:
        return _ESCAPES.get(found[4], found[4])
    number = int(code, 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"


# Changing by lines


def _lines(front: bytes) -> list[str]:
    """Lines with their ends. Split at LF only: YAML of old took NEL, LS and PS for line ends, a person's editor does not."""
    parts = front.decode().split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _span(lines: list[str], name: str) -> tuple[int, int] | None:
    """The lines of one of our keys: its own and those that continue it."""
    key = re.compile(rf"""{re.escape(name)}[ \t]*:(?:[ \t\r\n]|\Z)""")
    quoted = re.compile(rf"""(["']){re.escape(name)}\1[ \t]*:""")
    starts = [n for n, line in enumerate(lines) if key.match(line)]
    if any(quoted.match(line) for line in lines):
        raise CannotEdit(f"the property name {name} is written in quotes")
    if not starts:
        return None
    if len(starts) > 1:
        raise CannotEdit(f"{name} stands there twice")
    start = end = starts[0]
    for n in range(start + 1, len(lines)):
        line = lines[n]
        if (line[0] in " \t" and line.strip()[:1] not in ("", "#")) or line.startswith(("- ", "-\n", "-\r")):
            end = n
        elif line.strip() and not line.startswith("#"):
            break
    return start, end + 1


def _replacement(lines: list[str], key: str, value: str | Sequence[str] | None, prefix: str, eol: str) -> list[str]:
    name = property_name(key, prefix)
    first = lines[0]
    after = first[first.index(":") + 1 :]
    if value is None or not isinstance(value, str):
        if any("#" in line for line in lines) or after.lstrip().startswith(("&", "*", "!", "{", "|", ">")):
            raise CannotEdit(f"{name} holds more than plain values")
        return [] if value is None else _lines(render_keys({key: value}, prefix, eol).encode())
    if len(lines) > 1:
        raise CannotEdit(f"{name} spans several lines")
    found = _SCALAR.match(after)
    if found is None or after.lstrip().startswith(_NOT_SCALAR):
        raise CannotEdit(f"{name} is not a plain value")
    text = inert_yaml(value) if found["double"] is not None else _scalar(key, value)
    gap = found["gap"] or " "
    rest = found["rest"]
    if rest.startswith("#"):
        rest = " " + rest
    return [first[: first.index(":") + 1] + gap + text + rest + found["eol"]]


def _places(lines: list[str], names: Mapping[str, str], prefix: str) -> list[int]:
    """Where new lines may go, best first: behind the last of our keys, at the end, at the top."""
    places: list[int] = []
    for key in OWN_KEYS:
        name = property_name(key, prefix)
        try:
            span = _span(lines, name)
        except CannotEdit:
            continue
        if span is not None:
            places = [max([span[1], *places])]
    return [*places, len(lines), 0]


def _scalar(key: str, value: str) -> str:
    if key not in _QUOTED and _PLAIN.match(value) and value.lower() not in _YAML_WORDS:
        return value
    return inert_yaml(value)


# Proving that nothing else changed

# Proving costs time that grows with the square of the nesting; nobody's properties are that long.
_LONGEST_PROVEN = 1 << 16

_Events = tuple[tuple[Any, ...], ...]


def _sections(front: bytes) -> dict[str, _Events]:
    """Each top-level key with the YAML events of its value. Events, not objects: they keep `{{title}}`, custom tags,
    NaN and the difference between `1` and `"1"`, and they end on an alias that refers to itself."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if len(front) > _LONGEST_PROVEN:
        raise CannotEdit("the properties are longer than 64 KiB")
    text = front.decode()
    sections: dict[str, _Events] = {}
    try:
        events = [_event(event) for event in YAML(typ="safe", pure=True).parse(text)]  # pyright: ignore
    except (YAMLError, ValueError, TypeError, IndexError, KeyError, AssertionError, RecursionError) as problem:
        raise CannotEdit(f"the properties are not valid YAML ({_one_line(problem)})") from None
    if sum(event[0] == "DocumentStartEvent" for event in events) > 1:
        raise CannotEdit("the properties hold more than one YAML document")
    events = [event for event in events if not event[0].startswith(("Stream", "Document"))]
    if not events:
        return {}
    if events[0][0] == "ScalarEvent" and len(events) == 1 and events[0][3] == "" and events[0][1] is None:
        return {}
    if events[0][0] != "MappingStartEvent" or events[0][1] is not None:
        raise CannotEdit("the properties are not a list of names and values")
    if events[0][5]:
        raise CannotEdit("the properties are written as { … } on one line")
    at = 1
    while events[at][0] != "MappingEndEvent":
        name = events[at]
        if name[0] != "ScalarEvent" or name[1] is not None:
            raise CannotEdit("a property name is not plain text")
        if name[3] in sections:
            raise CannotEdit(f"{name[3]} stands there twice")
        end = _value_end(events, at + 1)
        sections[name[3]] = tuple(events[at + 1 : end])
        at = end
    return sections


def _event(event: Any) -> tuple[Any, ...]:
    tag = getattr(event, "tag", None)
    return (
        type(event).__name__,
        getattr(event, "anchor", None),
        None if tag is None else str(tag),
        getattr(event, "value", None),
        getattr(event, "implicit", None),
        getattr(event, "flow_style", None),
        getattr(event, "style", None),
    )


def _value_end(events: list[tuple[Any, ...]], at: int) -> int:
    depth = 0
    while True:
        kind = events[at][0]
        at += 1
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            depth += 1
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            depth -= 1
        if depth == 0:
            return at


def _says(events: _Events, value: str | Sequence[str] | None) -> bool:
    if value is None:
        return False
    if isinstance(value, str):
        return len(events) == 1 and _is_scalar(events[0], value)
    inner = events[1:-1]
    return (
        len(events) >= 2
        and events[0][0] == "SequenceStartEvent"
        and events[0][1] is None
        and len(inner) == len(value)
        and all(_is_scalar(event, item) for event, item in zip(inner, value, strict=True))
    )


def _is_scalar(event: tuple[Any, ...], value: str) -> bool:
    """A plain scalar only counts when YAML reads it as these words: `1e5` or `true` unquoted would be something else."""
    if event[0] != "ScalarEvent" or event[1] is not None or event[2] is not None or event[3] != value:
        return False
    return bool(event[6]) or (bool(_PLAIN.match(value)) and value.lower() not in _YAML_WORDS)


def _prove(old: dict[str, _Events], new: dict[str, _Events], wanted: Mapping[str, str | Sequence[str] | None]) -> None:
    others_before = [(name, events) for name, events in old.items() if name not in wanted]
    others_after = [(name, events) for name, events in new.items() if name not in wanted]
    if others_before != others_after:
        raise CannotEdit("changing vir's own properties would change others")
    for name, value in wanted.items():
        if (value is None) != (name not in new) or (value is not None and not _says(new[name], value)):
            raise CannotEdit(f"{name} would not read back as it was written")


def _one_line(problem: BaseException) -> str:
    text = str(getattr(problem, "problem", "") or problem)
    return " ".join(text.split())[:120]
