"""The one table of verbs. A handler is named, not imported: a verb loads only what it runs."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from vir_core.contract import VERBS, Progress, Reply, Request, RequestError

OnProgress = Callable[[Progress], None]


class Asking(Protocol):
    """A person at a terminal, for a verb that may have to ask one."""

    def say(self, text: str) -> None: ...
    def line(self, prompt: str) -> str: ...
    def secret(self, prompt: str) -> str: ...


class Verb(Struct, frozen=True, kw_only=True):
    """`handler` is `module:function`, called with the request (and `progress=` when `progresses`). `flags` explains each
    field of the request; `positional` names the field that stands without a flag; `words` gives the field that the
    words after a first word go to (`runs undo ID` is `runs --undo ID`); `action` names the field that the first word itself
    goes to, and the one for the words after it. Fields in `unflagged` come only with a request on stdin. A verb that `asks`
    is called with `ask=` too, a terminal with a person at it. `heavy` lists what the verb may load of the packages that cost
    a tenth of a second or more. `scoped` verbs keep to the projects that `VIR_SCOPE` names; any other is refused in a
    process that has a scope."""

    name: str
    summary: str
    handler: str
    flags: dict[str, str]
    positional: str = ""
    words: Mapping[str, str] = {}
    action: tuple[str, str] | None = None
    unflagged: frozenset[str] = frozenset()
    asks: bool = False
    progresses: bool = False
    hidden: bool = False
    heavy: frozenset[str] = frozenset()
    scoped: bool = False
    example: str = ""

    @property
    def request(self) -> type[Request]:
        return VERBS[self.name][0]

    @property
    def reply(self) -> type[Reply]:
        return VERBS[self.name][1]

    def run(self, request: Request, progress: OnProgress | None = None, ask: Asking | None = None) -> Reply:
        if not self.scoped and (words := os.environ.get("VIR_SCOPE", "").strip()):
            raise RequestError(
                f"`{self.name}` reaches every project, and this process may read only {words}.",
                "Run it without VIR_SCOPE (and without --scope).",
            )
        module, _, function = self.handler.partition(":")
        handler: Callable[..., Any] = getattr(importlib.import_module(module), function)
        if self.asks:
            return handler(request, ask=ask)
        return handler(request, progress=progress) if self.progresses else handler(request)


_VAULT = "vault folder, or the vir folder in it (default: $VIR_VAULT, then the nearest one around here)"
_CLAUDE = (
    "folder of Claude Code transcripts, may be repeated (default: $CLAUDE_CONFIG_DIR/projects or ~/.claude/projects)"
)
_CODEX = "folder of Codex transcripts, may be repeated (default: $CODEX_HOME/sessions or ~/.codex/sessions)"

_ASKING = {
    "vault": _VAULT,
    "limit": "at most this many answers",
    "category": "only pattern, gotcha, decision or tool; may be repeated",
    "project": "only this project (name or id), may be repeated",
    "trust": "only notes that are unreviewed, verified (you approved them) or edited (since); may be repeated",
    "since": "only sessions of the last 30d, 12h, 2w …, or since a day such as 2026-11-03",
    "full": "the whole text of each note, as far as the budget goes",
    "budget": "at most about this many tokens, 0 for no bound",
    "caller": "which session asks, such as claude:ID, for `vir_core queries` (default: what the agent says of itself)",
}
"""What every verb that finds notes takes."""

TABLE: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb(
            name="init",
            summary="prepare a vault: make the vir folder and its settings",
            handler="vir_core.upkeep:init",
            flags={
                "vault": "the folder you open in Obsidian (default: $VIR_VAULT)",
                "folder": "name of the folder for notes inside the vault",
                "prefix": "put this before each property name, where your vault already uses these names otherwise",
                "moved": "this vault was moved here; go on with it",
                "copied": "this vault is a copy; give it an identity of its own",
                "base": "write vir.base (views for Obsidian Bases) again after you deleted it",
            },
            example="vir_core init --vault ~/Notes",
        ),
        Verb(
            name="run",
            summary="read new sessions and write what is worth keeping as notes",
            handler="vir_core.ingest:run",
            flags={
                "vault": _VAULT,
                "claude_dir": _CLAUDE,
                "codex_dir": _CODEX,
                "since": "only sessions that ended in the last 30d, 12h, 2w … (default: all)",
                "limit": "write at most this many notes, newest sessions first",
                "only": "only this project (name or id), may be repeated",
                "driver": "also take sessions driven by: automated, headless, subagent … (default: those of a person)",
                "session": "only this session (id, the beginning of one, key or file), also when it was settled before; may be repeated",
                "dry_run": "write nothing, say what would be read",
                "accept_removed": "many notes are gone because you deleted them: go on",
                "no_embed": "leave the new notes to be found by their words for now (faster)",
                "archive": "from now on keep a copy of each session read, without secrets, for a year or for ever; or none",
            },
            progresses=True,
            heavy=frozenset(
                {"lancedb", "pyarrow", "markdown_it", "ruamel", "kingfisher_sdk", "regex", "numpy", "onnxruntime"}
            ),
            example="vir_core run --vault ~/Notes --since 30d",
        ),
        Verb(
            name="runs",
            summary="list the runs that wrote something, or take one back",
            handler="vir_core.upkeep:runs",
            flags={"vault": _VAULT, "undo": "take this run back: its notes go to archived/, unless you touched them"},
            words={"undo": "undo"},
            heavy=frozenset({"lancedb", "pyarrow", "markdown_it", "ruamel", "regex"}),
            example="vir_core runs --vault ~/Notes",
        ),
        Verb(
            name="sessions",
            summary="list every session found, who drove it and why we think so",
            handler="vir_core.ingest:sessions",
            flags={
                "vault": _VAULT,
                "claude_dir": _CLAUDE,
                "codex_dir": _CODEX,
                "explain": "one session (id, the beginning of one, key or file): what it is, why, which lines said so, what would change it",
            },
            words={"explain": "explain"},
            heavy=frozenset({"kingfisher_sdk", "regex"}),
            example="vir_core sessions explain 3f2a91",
        ),
        Verb(
            name="projects",
            summary="list the projects your sessions belong to, and say which ones are read",
            handler="vir_core.ingest:projects",
            flags={
                "vault": _VAULT,
                "claude_dir": _CLAUDE,
                "codex_dir": _CODEX,
                "include": "read this project (name, id, or a pattern like 'client-*'), may be repeated",
                "exclude": "leave this project out; its notes stay as they are, and include takes it back",
                "ask": "neither read nor leave out this project: it waits for you",
                "give": "let the vault named with --vault have this project, and no other vault of this machine",
            },
            words={"include": "include", "exclude": "exclude", "ask": "ask", "give": "give"},
            example="vir_core projects exclude 'client-*'",
        ),
        Verb(
            name="query",
            summary="find notes",
            handler="vir_core.search:query",
            flags={
                "text": "what to look for, in your own words",
                **_ASKING,
            },
            positional="text",
            scoped=True,
            heavy=frozenset({"lancedb", "pyarrow", "numpy"}),
            example='vir_core query "why did the migration deadlock" --vault ~/Notes',
        ),
        Verb(
            name="related",
            summary="find notes that speak of the same as one",
            handler="vir_core.search:related",
            flags={"id": "the vir_id of a note", **_ASKING},
            positional="id",
            scoped=True,
            heavy=frozenset({"lancedb", "pyarrow"}),
            example="vir_core related n95535f35c3f77d3 --vault ~/Notes",
        ),
        Verb(
            name="recent",
            summary="list the latest notes",
            handler="vir_core.search:recent",
            flags=_ASKING,
            scoped=True,
            heavy=frozenset({"lancedb", "pyarrow"}),
            example="vir_core recent --project api-server --since 2w",
        ),
        Verb(
            name="queries",
            summary="tell which questions were asked here, which notes they were shown, and what was never found",
            handler="vir_core.search:queries",
            flags={
                "vault": _VAULT,
                "note": "only the questions that were shown this note, and who asked them",
                "since": "only questions of the last 30d, 12h, 2w …, or since a day such as 2026-11-03",
                "limit": "at most this many of each",
            },
            example="vir_core queries --note n95535f35c3f77d3",
        ),
        Verb(
            name="flag",
            summary="take a wrong note out of every answer at once, until you have looked at it",
            handler="vir_core.review:flag",
            flags={
                "id": "the vir_id of a note",
                "vault": _VAULT,
                "why": "what is wrong with it, in your own words",
                "caller": "the session that flags it, claude:ID or codex:ID (default: the one this runs in)",
            },
            positional="id",
            heavy=frozenset({"markdown_it", "ruamel"}),
            example='vir_core flag n95535f35c3f77d3 --why "this was never true" --vault ~/Notes',
        ),
        Verb(
            name="review",
            summary="judge notes: look at what waits, approve, reject, take it back",
            handler="vir_core.review:review",
            flags={
                "action": "queue, show, approve, reject, restore, strike, supersede, expire, adopt, undo, policy, enroll, "
                "confirm, revoke, start-over; for programs also prepare and commit",
                "id": "notes by their vir_id; NOTE#LESSON to strike; a key to confirm or revoke; NAME=VALUE for a policy",
                "vault": _VAULT,
                "reason": "why a note is rejected: wrong, not-useful, duplicate-of, out-of-date or private",
                "of": "with duplicate-of: the note that says it already",
                "lesson": "with reject: only this lesson is wrong or private, may be repeated (default: all of them)",
                "why": "the reason in your own words",
                "by": "with supersede: the note that holds instead",
                "from": "with supersede: from this day on, such as 2026-11-30 (default: today)",
                "on": "with expire: the first day on which it does not hold",
                "lost_since": "with revoke: when the key was lost, such as 2026-11-30",
                "limit": "at most this many of the queue",
                "offset": "leave out so many at the front of the queue",
                "verb": "with prepare: what is prepared, such as approve",
                "key": "with prepare: the id of the key that will sign (default: the one of this machine)",
                "items": "with commit: what prepare returned",
                "signature": "with commit: the signature over its bytes, base64",
            },
            action=("action", "id"),
            unflagged=frozenset({"items", "signature"}),
            asks=True,
            heavy=frozenset({"lancedb", "pyarrow", "markdown_it", "ruamel"}),
            example="vir_core review reject n95535f35c3f77d3 --reason wrong",
        ),
        Verb(
            name="doctor",
            summary="say what works, what does not, and what to do about it",
            handler="vir_core.upkeep:doctor",
            flags={"vault": _VAULT, "claude_dir": _CLAUDE, "codex_dir": _CODEX},
            example="vir_core doctor --vault ~/Notes",
        ),
        Verb(
            name="index",
            summary="see how the search index stands, make it anew, or finish what notes mean: status, rebuild, embed",
            handler="vir_core.upkeep:index",
            flags={
                "action": "status (only looks), rebuild (from the notes), embed (vectors for every note that has none)",
                "vault": _VAULT,
            },
            positional="action",
            progresses=True,
            heavy=frozenset({"lancedb", "pyarrow", "numpy", "onnxruntime", "markdown_it", "ruamel", "regex"}),
            example="vir_core index status --vault ~/Notes",
        ),
        Verb(
            name="history",
            summary="tell the life of one note, lesson, session or run",
            handler="vir_core.upkeep:history",
            flags={
                "id": "the vir_id of a note, a lesson's id, a session (claude:… or codex:…) or a run",
                "vault": _VAULT,
            },
            positional="id",
            example="vir_core history n95535f35c3f77d3 --vault ~/Notes",
        ),
        Verb(
            name="journal",
            summary="look after the files that hold a vault's history: status, verify, heal, accept-disk",
            handler="vir_core.upkeep:journal",
            flags={
                "action": "status (counts), verify (reads everything), heal (puts back what this machine wrote), accept-disk",
                "vault": _VAULT,
                "word": "for accept-disk: the word accept, which gives up what only this machine still has",
            },
            positional="action",
            hidden=True,
            example="vir_core journal verify --vault ~/Notes",
        ),
        Verb(
            name="forget",
            summary="destroy the words of a note, a session or a project, after you typed that you mean it",
            handler="vir_core.upkeep:forget",
            flags={
                "id": "the vir_id of a note, a session (claude:… or codex:…) or the id of a project",
                "text": "every note that holds these words, as they stand",
                "vault": _VAULT,
                "list_only": "only say where the words lie and what cannot be reached",
            },
            positional="id",
            asks=True,
            heavy=frozenset({"cryptography", "markdown_it", "ruamel", "regex"}),
            example="vir_core forget n95535f35c3f77d3 --vault ~/Notes",
        ),
        Verb(
            name="uninstall",
            summary="list everything vir wrote outside the vault, and remove it",
            handler="vir_core.upkeep:uninstall",
            flags={"apply": "remove what is listed, item by item"},
            example="vir_core uninstall --apply",
        ),
        Verb(
            name="schema",
            summary="write the schemas and the plugin's types (for people who work on vir)",
            handler="vir_core.verbs.schema:schema",
            flags={"out": "root of the project", "check": "write nothing, fail when a file would change"},
            hidden=True,
        ),
    )
}
