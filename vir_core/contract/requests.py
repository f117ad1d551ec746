"""One Struct for the request of each verb. Unknown fields are refused, so that a typo is not silently ignored."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

Category = Literal["pattern", "gotcha", "decision", "tool"]
Driver = Literal[
    "human",
    "plan_handoff",
    "automated",
    "headless",
    "subagent",
    "workflow",
    "teammate",
    "compaction",
    "observer",
    "internal",
    "empty",
]


ServedTrust = Literal["unreviewed", "verified", "edited"]
"""What a note in an answer may be."""

Limit = Annotated[int, Meta(ge=0)]
Keep = Literal["", "off", "1y", "forever"]

Verdict = Literal["", "approve", "reject", "restore", "strike", "adopt", "undo", "supersede", "expire", "policy"]
"""What a person decides; `review prepare` takes one of these words."""

ReviewAction = Literal[
    "queue",
    "show",
    "prepare",
    "commit",
    "approve",
    "reject",
    "restore",
    "strike",
    "adopt",
    "undo",
    "supersede",
    "expire",
    "policy",
    "enroll",
    "confirm",
    "revoke",
    "start-over",
]
Reason = Literal["", "wrong", "not-useful", "duplicate-of", "out-of-date", "private"]


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all requests. `vault` is the vault root or the vir folder in it; empty means: look around."""


class InitRequest(Request, frozen=True, kw_only=True):
    """An empty `vault` means `$VIR_VAULT`; unlike other verbs this one looks nowhere else."""

    vault: str = ""
    folder: str = "vir"
    prefix: str = ""
    moved: bool = False
    copied: bool = False
    base: bool = False


class RunRequest(Request, frozen=True, kw_only=True):
    """`since` is a duration before now by session end (`30d`, `12h`, bare number = days); `session` takes ids or keys;
    `accept_removed` says that notes which vanished together were deleted on purpose; `archive` says from now on whether to
    keep scrubbed copies of the sessions that are read; `no_embed` leaves new notes to be found by their words alone for now."""

    vault: str = ""
    claude_dir: tuple[str, ...] = ()
    codex_dir: tuple[str, ...] = ()
    since: str = ""
    limit: Limit | None = None
    only: tuple[str, ...] = ()
    driver: tuple[Driver, ...] = ()
    session: tuple[str, ...] = ()
    dry_run: bool = False
    accept_removed: bool = False
    archive: Keep = ""
    no_embed: bool = False


class RunsRequest(Request, frozen=True, kw_only=True):
    """`undo` names a run to take back; empty lists the runs."""

    vault: str = ""
    undo: str = ""


class SessionsRequest(Request, frozen=True, kw_only=True):
    """`explain` is a session's id, key or file: the reply then says of this one what it is and why."""

    vault: str = ""
    claude_dir: tuple[str, ...] = ()
    codex_dir: tuple[str, ...] = ()
    explain: str = ""


class ProjectsRequest(Request, frozen=True, kw_only=True):
    """Without a decision it lists. `include`, `exclude` and `ask` take names, ids, or patterns with `*`, `?` or `[` that are
    held against name and key; `give` takes projects that the vault `vault` shall have, and no other vault of this machine."""

    vault: str = ""
    claude_dir: tuple[str, ...] = ()
    codex_dir: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    give: tuple[str, ...] = ()


class Asking(Request, frozen=True, kw_only=True):
    """What every request for notes may say. `since` is a day or a duration before now, by the date of the session. `full`
    gives the whole text of each hit; `budget` bounds the reply in tokens (0: no bound). `caller` says which session asks,
    for the record of questions."""

    vault: str = ""
    limit: Limit = 8
    category: tuple[Category, ...] = ()
    project: tuple[str, ...] = ()
    trust: tuple[ServedTrust, ...] = ()
    since: str = ""
    full: bool = False
    budget: Limit = 2000
    caller: str = ""


class QueryRequest(Asking, frozen=True, kw_only=True):
    """`text` may be the id of a note or of a lesson."""

    text: str


class RelatedRequest(Asking, frozen=True, kw_only=True):
    """`id` is a note's."""

    id: str


class RecentRequest(Asking, frozen=True, kw_only=True):
    """The latest notes."""


class QueriesRequest(Request, frozen=True, kw_only=True):
    """`note` asks which questions were shown that note; `since` is a day or a duration before now; `limit` bounds each list."""

    vault: str = ""
    note: str = ""
    since: str = ""
    limit: Limit = 20


class DoctorRequest(Request, frozen=True, kw_only=True):
    vault: str = ""
    claude_dir: tuple[str, ...] = ()
    codex_dir: tuple[str, ...] = ()


class JournalRequest(Request, frozen=True, kw_only=True):
    """`action` says what to do with the vault's history; `word` is what the person typed to give lines up."""

    action: Literal["status", "verify", "heal", "accept-disk"]
    vault: str = ""
    word: str = ""


class IndexRequest(Request, frozen=True, kw_only=True):
    """`status` only looks; `rebuild` makes the search index from the notes; `embed` gives a vector to every passage that has none."""

    action: Literal["status", "rebuild", "embed"]
    vault: str = ""


class HistoryRequest(Request, frozen=True, kw_only=True):
    """`id` is a note, a lesson, a session key or a run."""

    id: str
    vault: str = ""


class FlagRequest(Request, frozen=True, kw_only=True):
    """`id` is a note. `caller` names the session that flags it, as `claude:ID` or `codex:ID`; empty: what the environment says."""

    id: str
    vault: str = ""
    why: str = ""
    caller: str = ""


class ReviewRequest(Request, frozen=True, kw_only=True):
    """`action` says what; `id` on what: notes, `NOTE#LESSON` to strike, a key to confirm or revoke, `NAME=VALUE` for a policy.
    `reason`, `of`, `lesson` and `why` belong to a reject, `by` and `from` to supersede, `on` to expire (dates), `lost_since` to
    revoke. `verb` is what `prepare` prepares, to be signed with `key` (its id; empty: this device's); `commit` takes the `items`
    that prepare returned and the `signature` over their bytes, base64."""

    action: ReviewAction = "queue"
    id: tuple[str, ...] = ()
    vault: str = ""
    reason: Reason = ""
    of: str = ""
    lesson: tuple[str, ...] = ()
    why: str = ""
    by: str = ""
    since: str = field(default="", name="from")
    on: str = ""
    lost_since: str = ""
    limit: Limit = 20
    offset: Limit = 0
    verb: Verdict = ""
    key: str = ""
    items: tuple[str, ...] = ()
    signature: str = ""


class ForgetRequest(Request, frozen=True, kw_only=True):
    """`id` is a note, a session key or a project's id; `text` instead means every note that holds these words. It only lists
    unless a person at a terminal types the word; `list_only` never asks."""

    id: str = ""
    text: str = ""
    vault: str = ""
    list_only: bool = False


class UninstallRequest(Request, frozen=True, kw_only=True):
    """Without `apply` it lists what vir wrote outside the vault; with it, that is removed item by item."""

    apply: bool = False


class SchemaRequest(Request, frozen=True, kw_only=True):
    """`out` is the project root; `check` writes nothing and fails on drift."""

    out: str = "."
    check: bool = False
