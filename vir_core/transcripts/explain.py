"""The lines of a transcript that say who drove it, each with what it tells a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from vir_core.text import clean
from vir_core.transcripts import loose
from vir_core.transcripts.compressed import SUFFIX, unpacked_lines
from vir_core.transcripts.loose import Object
from vir_core.transcripts.session import SessionFacts
from vir_core.transcripts.stamps import utc

LONGEST = 4 << 20
"""Bytes; a longer line is passed over here."""
PER_SIGN = 2
AT_MOST = 30
_ONCE = ("entry ", "side", "team", "fork", "meta")


class TellingLine(Struct, frozen=True, kw_only=True):
    """Line `n` of the file, counted from 1. `says` is what it tells, `text` what stands there; not scrubbed of secrets."""

    n: int
    at: str
    says: str
    text: str = ""


def telling_lines(facts: SessionFacts) -> Iterator[TellingLine]:
    """The first lines of each kind that bear on who drove the session, in file order, thirty at most; those of a compressed
    file are counted as they stand in what it holds. Raises OSError."""
    signs = _claude if facts.source == "claude" else _codex
    met: dict[str, int] = {}
    told = 0
    with Path(facts.path).open("rb") as handle:
        lines = unpacked_lines(handle) if facts.path.endswith(SUFFIX) else handle
        for n, line in _numbered(lines):
            found = loose.mapping(loose.value_of(line))
            if not found:
                continue
            for sign, says, text in signs(found, n):
                met[sign] = met.get(sign, 0) + 1
                if met[sign] > (1 if sign.startswith(_ONCE) else PER_SIGN):
                    continue
                yield TellingLine(n=n, at=utc(_time(found)), says=says, text=clean(text))
                told += 1
                if told == AT_MOST:
                    return


def _numbered(handle: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    for n, line in enumerate(handle, 1):
        if len(line) <= LONGEST and (bare := line.strip(b"\r\n\x00 \t\x0c\xef\xbb\xbf")):
            yield n, bare


def _time(found: Object) -> str | float | None:
    value = found.get("timestamp")
    return value if isinstance(value, (str, int, float)) else None


Sign = tuple[str, str, str]


def _claude(found: Object, n: int) -> Iterator[Sign]:
    kind = loose.string(found.get("type"))
    if n == 1 and kind == "queue-operation":
        yield "queue", "opens with a queue marker, as scripts and editors do", ""
    if kind == "queue-operation" and found.get("operation") == "enqueue":
        yield "enqueue", "put into the queue while the agent was busy", loose.text_of(found.get("content"))
    if kind == "attachment":
        attached = loose.mapping(found.get("attachment"))
        if attached.get("type") == "queued_command":
            yield "queued", "taken from the queue", loose.text_of(attached.get("prompt"))
    if kind == "worktree-state":
        session = loose.mapping(found.get("worktreeSession"))
        yield "worktree", "works in a worktree of this folder", loose.string(session.get("originalCwd"))
    if kind not in ("user", "assistant"):
        return
    if found.get("isSidechain") is True:
        yield "side", "isSidechain: part of a helper's conversation", ""
    if entry := loose.string(found.get("entrypoint")):
        yield f"entry {entry}", f"entrypoint {entry}", ""
    if team := loose.string(found.get("teamName")):
        yield "team", f"belongs to the team {clean(team)}", ""
    if fork := loose.string(loose.mapping(found.get("forkedFrom")).get("sessionId")):
        yield "fork", f"copied from the session {clean(fork)}", ""
    if kind == "user":
        yield from _claude_user(found)


def _claude_user(found: Object) -> Iterator[Sign]:
    text = loose.text_of(loose.mapping(found.get("message")).get("content")).strip()
    if plan := loose.string(found.get("planContent")):
        yield "plan", "a plan that the agent wrote and a person accepted", plan
        return
    result = loose.mapping(found.get("toolUseResult"))
    if "answers" in result:
        answers = loose.mapping(result.get("answers"))
        yield "answer", "a person answered a question", "; ".join(map(loose.text_of, answers.values()))
    if found.get("toolUseResult") is not None or not text:
        return
    if found.get("isCompactSummary") is True:
        yield "summary", "the summary of a compaction, written by the agent", text
    elif found.get("isMeta") is True:
        yield "meta", "marked as not a person's words (isMeta)", text
    elif text.startswith("[Request interrupted"):
        yield "interrupt", "a person stopped the agent", text
    elif text.startswith("<command-"):
        yield "command", "a slash command", text
    elif text.startswith("<bash-input>"):
        yield "shell", "a ! command", text
    elif text.startswith("<teammate-message"):
        yield "mate", "a message of another agent", text
    elif not text.startswith("<"):
        yield "prompt", _prompt_says(found), text


def _prompt_says(found: Object) -> str:
    said = [
        f"origin {origin}" if (origin := loose.string(loose.mapping(found.get("origin")).get("kind"))) else "",
        f"promptSource {source}" if (source := loose.string(found.get("promptSource"))) else "",
        "carries state of the interface" if _ui_state(found) else "",
    ]
    told = ", ".join(clean(part) for part in said if part)
    return f"a prompt ({told})" if told else "a prompt, without a word on where it came from"


def _ui_state(found: Object) -> bool:
    return any(key in found for key in ("permissionMode", "thinkingMetadata", "todos"))


def _codex(found: Object, n: int) -> Iterator[Sign]:
    del n
    kind = loose.string(found.get("type"))
    payload = loose.mapping(found.get("payload"))
    if kind == "session_meta":
        yield "meta", _meta_says(payload), ""
        return
    if "instructions" in found and kind == "":
        yield "meta", "written before sources were recorded", ""
        return
    item = payload or found
    if kind == "event_msg" and item.get("type") == "user_message":
        yield "prompt", "a prompt", loose.string(item.get("message"))
    elif kind == "event_msg" and item.get("type") == "item_completed":
        done = loose.mapping(item.get("item"))
        if done.get("type") == "UserMessage":
            yield "prompt", "a prompt", loose.text_of(done.get("content"))
    elif kind == "event_msg" and item.get("type") == "turn_aborted":
        yield "interrupt", "the turn was stopped", ""
    elif item.get("type") == "message" and item.get("role") == "user":
        text = loose.text_of(item.get("content")).strip()
        if text.startswith(("<", "# AGENTS.md")):
            yield "injected", "put in by the agent itself, not a prompt", text
        elif kind == "message":
            yield "prompt", "a prompt", text


def _meta_says(meta: Object) -> str:
    source = meta.get("source")
    shown = source if isinstance(source, str) else loose.encode(source).decode() if source is not None else "missing"
    said = [f"source {shown}"]
    said += [
        f"{name.replace('_', ' ')} {value}"
        for name in ("originator", "thread_source", "forked_from_id", "parent_thread_id")
        if (value := loose.string(meta.get(name)))
    ]
    return clean(", ".join(said))
