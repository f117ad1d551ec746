"""One Struct for the reply of each verb. Added fields keep `contract`; a changed meaning raises it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from vir_core.contract.requests import Category, Driver, Keep

CONTRACT = 1

Certainty = Literal["sure", "likely", "unsure"]
Source = Literal["claude", "codex"]
Trust = Literal[
    "proposed",
    "unreviewed",
    "verified",
    "edited",
    "rejected",
    "suspended",
    "superseded",
    "archived",
    "pruned",
]


class Reply(Struct, frozen=True, kw_only=True):
    contract: int = CONTRACT


class Failure(Struct, frozen=True, kw_only=True):
    """One thing that did not work while the rest went on. `stage` is find, read, distil, archive, write or index."""

    path: str
    stage: str
    message: str


class Problem(Struct, frozen=True, kw_only=True):
    """`what` says the consequence first, `why` the cause, `fix` what a person can do."""

    what: str
    why: str
    fix: str


class InitReply(Reply, frozen=True, kw_only=True):
    vault: str
    folder: str
    id: str
    device: str
    created: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


class WrittenNote(Struct, frozen=True, kw_only=True):
    """`path` is relative to the vault root, with `/`. `resembles` names the rejected lesson (`n…#l…`) that the note is like; it
    is not served until the person has looked at it."""

    id: str
    path: str
    title: str
    session: str
    category: Category
    project: str
    lessons: int
    resembles: str = ""


class KeptNote(Struct, frozen=True, kw_only=True):
    """A note that was not rewritten. `reason`: edited, judged, removed, undone, waiting, copy, broken,
    elsewhere, in_cloud, linked, older, unsaved."""

    id: str
    path: str
    session: str
    reason: str


class HeldNote(Struct, frozen=True, kw_only=True):
    """A note taken out of service because it is like `resembles`, a rejected lesson (`n…#l…`)."""

    id: str
    path: str
    resembles: str


class ArchiveStatus(Struct, frozen=True, kw_only=True):
    """The scrubbed copies of sessions on this machine. `keep` is what the person chose, empty while nobody asked; `path` the
    folder, which need not exist; `oldest_days` the age of the oldest copy."""

    keep: Keep
    path: str
    sessions: int = 0
    bytes: int = 0
    oldest_days: float | None = None


class PlannedSession(Struct, frozen=True, kw_only=True):
    """A session that a dry run would distil. `bytes` is the size of its files."""

    session: str
    path: str
    project: str
    title: str
    ended: str
    human_turns: int
    bytes: int = 0


class EmbeddingStatus(Struct, frozen=True, kw_only=True):
    """How notes are found by meaning. `model` made the vectors; `waiting` passages have none yet and are found by their words;
    `why` says what stood in the way, when it was not time alone."""

    model: str
    embedded: int = 0
    waiting: int = 0
    why: str | None = None


class RunReply(Reply, frozen=True, kw_only=True):
    """Every transcript found is counted once: in `written`, `kept`, `unchanged`, `failed`, `planned` or `skipped`.
    `held` are older notes that were found to resemble what was rejected meanwhile, `refused` counts lessons left out because
    the same was rejected before. `seconds` is wall time; `bytes` is what was read from transcripts in this run."""

    vault: str
    folder: str
    run: str = ""
    drivers: dict[str, int] = {}
    skipped: dict[str, int] = {}
    written: tuple[WrittenNote, ...] = ()
    kept: tuple[KeptNote, ...] = ()
    unchanged: int = 0
    held: tuple[HeldNote, ...] = ()
    refused: int = 0
    failed: tuple[Failure, ...] = ()
    dry_run: bool = False
    planned: tuple[PlannedSession, ...] = ()
    seconds: float = 0.0
    bytes: int = 0
    archive: ArchiveStatus | None = None
    embedding: EmbeddingStatus | None = None


class RunInfo(Struct, frozen=True, kw_only=True):
    id: str
    at: str
    device: str
    written: int
    undone: int
    here: bool


class RunsReply(Reply, frozen=True, kw_only=True):
    vault: str
    folder: str
    runs: tuple[RunInfo, ...] = ()
    undone: tuple[str, ...] = ()
    kept: tuple[KeptNote, ...] = ()
    failed: tuple[Failure, ...] = ()


class SessionInfo(Struct, frozen=True, kw_only=True):
    """One transcript file. `path` is absolute; times are UTC, RFC 3339; `state` is new, noted, settled, skipped or gone;
    `reason` says why it was skipped or settled without a note. Of a session that is gone, which this machine read and whose
    file is no longer here, `path` is empty and `reason` says what had become of it."""

    path: str
    source: Source
    session: str
    parent: str
    driver: Driver
    certainty: Certainty
    evidence: tuple[str, ...]
    human_turns: int
    project: str
    cwd: str
    branch: str
    started: str
    ended: str
    bytes: int
    lines: int
    bad_lines: int
    state: str
    reason: str


class SourceLine(Struct, frozen=True, kw_only=True):
    """A line of a transcript that says who drove it: `n` counts from 1, `says` is what it tells, `text` what stands there,
    shortened and without secrets."""

    n: int
    at: str
    says: str
    text: str


class Explained(Struct, frozen=True, kw_only=True):
    """Why a session counts as what it counts. `what` is one sentence; `why` what was seen; `lines` the lines that said so;
    `changes` what would make it something else; `turns` counts what was said and done by kind; `files` are all files of the
    session; `parent`, `children` and `follows` name related sessions by key; `prompts` are the person's, shortened;
    `tokens` is what its files say was used, each answer of the API counted once over all of them: fresh, written (to the cache), cached (read
    from it), output; `note` is the path of its note, relative to the vault root, `archived` that of its scrubbed copy on this
    machine; both may be empty."""

    key: str
    session: SessionInfo
    what: str
    why: tuple[str, ...]
    lines: tuple[SourceLine, ...]
    changes: tuple[str, ...]
    turns: dict[str, int] = {}
    tokens: dict[str, int] = {}
    prompts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    parent: str = ""
    children: tuple[str, ...] = ()
    follows: str = ""
    note: str = ""
    archived: str = ""


class SessionsReply(Reply, frozen=True, kw_only=True):
    """`explained` is there when one session was asked about; `sessions` is empty then."""

    sessions: tuple[SessionInfo, ...] = ()
    failed: tuple[Failure, ...] = ()
    explained: Explained | None = None


Decision = Literal["include", "exclude", "ask", "given"]


class ProjectInfo(Struct, frozen=True, kw_only=True):
    """One project that sessions were found of or notes exist of. `decision` says whether a run distils it, `by` who decided:
    you, pattern or default; `to` is the vault it was given to. `sessions` counts those a default run would take, `pending`
    those of them that no run has settled, `others` the rest (copies, scripts, agents); `newest` is the end of the last."""

    id: str
    name: str
    key: str
    decision: Decision
    by: str
    to: str = ""
    pattern: str = ""
    sessions: int = 0
    pending: int = 0
    others: int = 0
    notes: int = 0
    newest: str = ""
    places: tuple[str, ...] = ()


class PatternInfo(Struct, frozen=True, kw_only=True):
    pattern: str
    decision: Decision
    projects: int


class ProjectsReply(Reply, frozen=True, kw_only=True):
    """`default` is what counts for a project that nobody decided about; `changed` are the names of what was decided now."""

    vault: str = ""
    folder: str = ""
    default: Decision = "include"
    projects: tuple[ProjectInfo, ...] = ()
    patterns: tuple[PatternInfo, ...] = ()
    changed: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()


class Why(Struct, frozen=True, kw_only=True):
    """Why a note was found. `words_rank` and `meaning_rank` are its places among what was found by words and by meaning, from 1,
    0 for not found that way. `coverage` is the share of the question's weight that its words cover, `cosine` how near it is in
    meaning (null: not compared), `terms` the question's words that it holds, `priors` what counted before any question."""

    words_rank: int
    meaning_rank: int
    coverage: float
    cosine: float | None
    terms: tuple[str, ...]
    priors: dict[str, float]


class Hit(Struct, frozen=True, kw_only=True):
    """`score` orders within one reply only; `block` is the lesson's block id, or empty for a section. `text` is the note's
    own words, where they were asked for and fit."""

    id: str
    type: str
    path: str
    title: str
    category: Category
    project: str
    date: str
    score: float
    trust: Trust
    confidence: float
    snippet: str
    block: str
    text: str = ""
    why: Why | None = None


class QueryReply(Reply, frozen=True, kw_only=True):
    """`excluded` counts what was found and withheld, by reason; `truncated` counts hits that the budget shortened or
    left out; `took_ms` is measured inside the process."""

    vault: str
    folder: str
    hits: tuple[Hit, ...] = ()
    method: str = "lexical"
    degraded: str | None = None
    excluded: dict[str, int] = {}
    truncated: int = 0
    took_ms: float = 0.0


class AskedQuestion(Struct, frozen=True, kw_only=True):
    """One question that was answered. `verb` is query, related or recent, `surface` where it came in; `session`, `agent` and
    `where` (a project's name) are empty where nobody said; `notes` are those shown, best first."""

    at: str
    verb: str
    surface: str
    text: str
    session: str
    agent: str
    where: str
    notes: tuple[str, ...]
    withheld: int


class Unanswered(Struct, frozen=True, kw_only=True):
    """A question that found nothing, asked `times` times, `last` at (UTC)."""

    text: str
    times: int
    last: str


class ShownNote(Struct, frozen=True, kw_only=True):
    """A note and how often answers held it; `words` says it in words. Never: `times` is 0."""

    id: str
    title: str
    times: int
    last: str
    where: str
    words: str


class QueriesReply(Reply, frozen=True, kw_only=True):
    """`recorded` is whether questions are recorded now; `since` is when the record begins. `questions` counts all,
    `silent` how many of the notes that may be shown never were."""

    vault: str
    folder: str
    recorded: bool
    since: str = ""
    questions: int = 0
    asked: tuple[AskedQuestion, ...] = ()
    unanswered: tuple[Unanswered, ...] = ()
    shown: tuple[ShownNote, ...] = ()
    silent: int = 0
    never: tuple[ShownNote, ...] = ()


class VaultStatus(Struct, frozen=True, kw_only=True):
    path: str
    folder: str
    id: str
    notes: int
    states: dict[str, int] = {}
    removed: int = 0
    waiting: int = 0
    copies: int = 0
    broken: int = 0


class JournalStatus(Struct, frozen=True, kw_only=True):
    lines: int
    devices: int
    bytes: int
    damaged: int


class IndexStatus(Struct, frozen=True, kw_only=True):
    """`state` is ready, missing, stale or unreadable."""

    state: str
    passages: int


class IndexReply(Reply, frozen=True, kw_only=True):
    """`state` is ready, missing, stale or unreadable, and `was` what it was before. `bytes` is on disk, vectors included;
    `embedding` is null where the vault's settings say that meaning is not used."""

    vault: str
    folder: str
    action: str
    state: str
    was: str
    passages: int = 0
    bytes: int = 0
    embedding: EmbeddingStatus | None = None
    seconds: float = 0.0


class HistoryFinding(Struct, frozen=True, kw_only=True):
    """Something about the history's files that is not as it was written. `kind` is gap, fork, altered, missing, pending,
    given_up, other_vault, unplaced, damaged, untidy, unreadable, placeholder, newer or future; `offset` is in bytes, -1 where
    there is no place; without `harm` nothing was lost."""

    kind: str
    words: str
    device: str
    file: str
    offset: int
    line: str
    count: int
    harm: bool


class JournalReply(Reply, frozen=True, kw_only=True):
    """What `journal` found or did. `given_back` and `completed` were put back into the vault, `others` are lines of other
    devices that only this computer has; `given_up` were given up for good and lie in the state folder."""

    vault: str
    folder: str
    action: str
    lines: int = 0
    devices: int = 0
    bytes: int = 0
    damaged: int = 0
    missing: int = 0
    placeholders: int = 0
    sound: bool = True
    findings: tuple[HistoryFinding, ...] = ()
    given_back: int = 0
    completed: int = 0
    others: int = 0
    given_up: int = 0
    waiting: str = ""


class HistoryEntry(Struct, frozen=True, kw_only=True):
    """One thing that happened. `at` is the writer's clock, UTC; `words` says it in a sentence; `before` and `after` are
    digests of the texts it changed between, `title` and `text` what `after` holds (empty while it has not arrived)."""

    at: str
    action: str
    subject: str
    by: str
    surface: str
    device: str
    core: str
    words: str
    before: str
    after: str
    title: str
    text: str


class HistoryReply(Reply, frozen=True, kw_only=True):
    """`type` is note, lesson, session, run or vault."""

    vault: str
    folder: str
    id: str
    type: str
    trust: Trust | None = None
    entries: tuple[HistoryEntry, ...] = ()


State = Literal["New", "Approved", "Needs another look", "Rejected", "Put away"]


class FlagReply(Reply, frozen=True, kw_only=True):
    """`withheld` is False when so many notes were flagged from one place that they wait as one question (`together` counts
    them) and stay in service. `still_published` names the files where its words still stand."""

    vault: str
    folder: str
    id: str
    path: str = ""
    title: str = ""
    state: State = "Needs another look"
    withheld: bool = True
    together: int = 0
    still_published: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()


class QueueItem(Struct, frozen=True, kw_only=True):
    """A note that waits for a person, or may. `reasons` say why another look is needed: flagged, marked, rejected (without a
    key), resembles, edited, revision, disagreed, newer, flood; none for a new note. `since` is when it came to wait. `shown`
    counts answers that held it, `last_shown` is the latest (empty when never). A `flood` stands for all of `notes`, flagged
    from one place, `from`, in a short time."""

    id: str
    title: str
    path: str = ""
    category: str = ""
    project: str = ""
    date: str = ""
    trust: Trust
    state: State
    reasons: tuple[str, ...] = ()
    since: str = ""
    shown: int = 0
    last_shown: str = ""
    notes: tuple[str, ...] = ()
    origin: str = field(default="", name="from")


class AroundTurn(Struct, frozen=True, kw_only=True):
    """One turn beside a quote; `who` is you, agent, command or error."""

    who: str
    at: str
    text: str


class LessonPage(Struct, frozen=True, kw_only=True):
    """A lesson as its file says it, its quote, and the turns around that. `struck`: taken out of every answer."""

    id: str
    lead: str
    text: str
    quote: str = ""
    at: str = ""
    around: tuple[AroundTurn, ...] = ()
    struck: bool = False


class SimilarNote(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    path: str
    trust: Trust
    snippet: str


class HoldInfo(Struct, frozen=True, kw_only=True):
    """Something that keeps a note out of service. `id` is what a restore names; `like` the note it resembles."""

    id: str
    reason: str
    at: str
    by: str
    why: str = ""
    like: str = ""
    origin: str = field(default="", name="from")


class NotePage(Struct, frozen=True, kw_only=True):
    """One note with all that is known of it. `words` is its text as it stands (as vir wrote it when the file is gone);
    `approved` the text that was approved, when it differs. `digest` and `after` are what a verdict must carry."""

    id: str
    title: str
    path: str
    category: str
    project: str
    date: str
    trust: Trust
    state: State
    session: str
    distiller: str
    confidence: float
    words: str
    lessons: tuple[LessonPage, ...] = ()
    holds: tuple[HoldInfo, ...] = ()
    similar: tuple[SimilarNote, ...] = ()
    history: tuple[HistoryEntry, ...] = ()
    shown: int = 0
    last_shown: str = ""
    published: tuple[str, ...] = ()
    approved: str = ""
    digest: str = ""
    after: str = ""


class Judged(Struct, frozen=True, kw_only=True):
    """One note after a verdict: where its file lies now, and its state. `line` is what `undo` and a later verdict name.
    `final` is False while the verdict lacks a key's proof."""

    id: str
    verb: str
    path: str
    title: str
    trust: Trust | None
    state: str
    line: str
    final: bool = True


class Refused(Struct, frozen=True, kw_only=True):
    """A note that was left as it is: it changed since it was shown (`conflict`), or the verdict does not fit it (`unfit`)."""

    id: str
    reason: str
    message: str


class PreparedItem(Struct, frozen=True, kw_only=True):
    """One act as it is signed: `payload` is canonical JSON, and `vir/1`, a line feed and these bytes are what is hashed."""

    id: str
    title: str
    payload: str


class Prepared(Struct, frozen=True, kw_only=True):
    """What a person signs: `bytes` is base64, of the one item or for all `items` together; `key` is the public key (hex) that
    must sign, `at` the time it is signed for."""

    bytes: str
    key: str
    at: str
    items: tuple[PreparedItem, ...]


class KeyInfo(Struct, frozen=True, kw_only=True):
    """A key that can prove a person's verdicts. `kind` is root, device or recovery; `words` are the six to compare; `code` is a
    recovery code, shown once."""

    id: str
    kind: str
    valid: bool
    here: bool = False
    since: str = ""
    words: str = ""
    code: str = ""


class ReviewReply(Reply, frozen=True, kw_only=True):
    """`items` is the queue, in the order in which to look, from `offset` on; `total` how many wait. `counts` are notes by
    state. `note` answers show, `prepared` prepare, `done` and `refused` a verdict, `keys` what concerns keys."""

    vault: str
    folder: str
    action: str
    items: tuple[QueueItem, ...] = ()
    counts: dict[str, int] = {}
    waiting: int = 0
    total: int = 0
    offset: int = 0
    note: NotePage | None = None
    prepared: Prepared | None = None
    done: tuple[Judged, ...] = ()
    refused: tuple[Refused, ...] = ()
    still_published: tuple[str, ...] = ()
    policy: dict[str, str] = {}
    keys: tuple[KeyInfo, ...] = ()
    notices: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()


class SourceStatus(Struct, frozen=True, kw_only=True):
    """`oldest_days` is the age of the oldest transcript by its last change, in days. `waiting` counts the files that no run
    has settled; `kept_days` is after how many days the agent deletes a file (null when it does not), `days_left` how many
    the oldest waiting one has left."""

    source: Source
    path: str
    found: bool
    files: int
    oldest_days: float | None
    waiting: int = 0
    kept_days: int | None = None
    days_left: float | None = None


class DoctorReply(Reply, frozen=True, kw_only=True):
    version: str
    python: str
    vault: VaultStatus | None
    journal: JournalStatus | None
    index: IndexStatus | None
    sources: tuple[SourceStatus, ...]
    last_run: str | None
    problems: tuple[Problem, ...]
    archive: ArchiveStatus | None = None


class ForgottenPlace(Struct, frozen=True, kw_only=True):
    """Where words of it lie, or lay. `kind` is note, put_away, texts, spool, archive, questions or cache; `count` how many there
    are at `path`, which is relative to the vault root or absolute."""

    kind: str
    path: str
    count: int = 1


class ForgetReply(Reply, frozen=True, kw_only=True):
    """`subjects` are the notes and sessions that are meant, `places` where their words lie; with `done` they lay there and are
    destroyed. `unreachable` says what vir cannot empty."""

    vault: str
    folder: str
    subjects: tuple[str, ...] = ()
    places: tuple[ForgottenPlace, ...] = ()
    unreachable: tuple[str, ...] = ()
    done: bool = False


class OutsideItem(Struct, frozen=True, kw_only=True):
    """Something vir wrote outside the vault. `loss` says what removing it costs the person."""

    path: str
    what: str
    bytes: int
    loss: str
    removed: bool = False


class UninstallReply(Reply, frozen=True, kw_only=True):
    items: tuple[OutsideItem, ...] = ()
    failed: tuple[Failure, ...] = ()


class SchemaReply(Reply, frozen=True, kw_only=True):
    written: tuple[str, ...] = ()
    drifted: tuple[str, ...] = ()


class Progress(Struct, frozen=True, kw_only=True):
    """A progress line on stderr (`--progress json`), or a notification of `serve`."""

    stage: str
    done: int
    total: int
    path: str = ""
