"""The payload of each line that memory understands. Fields are added, never renamed; a changed meaning is a new action."""

from __future__ import annotations

from msgspec import Struct, field


class EvidenceRef(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A lesson, the digest of the text that holds its quote with the turns around it, and its values: keyed digests of what
    it states (see `statements`)."""

    id: str
    evidence: str = ""
    values: tuple[str, ...] = ()


class SegmentStarted(Struct, frozen=True, kw_only=True):
    vault: str
    device: str
    n: int
    prev: str = ""


class NoteWritten(Struct, frozen=True, kw_only=True):
    """`text` is the digest of the text (header and body), `body` that of the bytes below the frontmatter, `words` the
    content digest, `turns` how many prompts and answers of a person the session had, `parts` the values of the title and of
    the sentences of summary and context, by these names."""

    text: str
    body: str
    words: str
    category: str
    project: str
    date: str
    session: str
    run: str = ""
    distiller: str = ""
    confidence: float = 0.0
    lessons: tuple[EvidenceRef, ...] = ()
    turns: int = 0
    parts: dict[str, tuple[str, ...]] = {}


class SessionSettled(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`outcome` is noted, nothing_durable or refused. `refused` are the values of what was rejected before and so not written
    again. `turns` counts the person's prompts and `replies` what the agent said, so that a
    session read while the agent was still at work is seen to have gone on; -1 where that was not written down."""

    outcome: str
    note: str = ""
    turns: int = 0
    replies: int = -1
    last: str = ""
    source: str = ""
    run: str = ""
    refused: tuple[str, ...] = ()


class SessionJoined(Struct, frozen=True, kw_only=True):
    """`into` is the key of the session that the subject continues or copies."""

    into: str


class RunFinished(Struct, frozen=True, kw_only=True):
    written: int = 0
    kept: int = 0
    unchanged: int = 0
    failed: int = 0
    skipped: dict[str, int] = {}


class Approved(Struct, frozen=True, kw_only=True):
    """`digest` is the content digest of the words a person read, `text` the text that holds them and `body` the digest of the
    bytes below the frontmatter of the file they lay in. `lifts` are the hashes of
    the withholding lines they saw and overruled: exactly these, so that one that arrives later is not swallowed. `after`
    names the last verdict lines they saw on the subject, joined by commas. `args` binds what else was shown (title, project)."""

    digest: str = ""
    text: str = ""
    body: str = ""
    after: str = ""
    lifts: tuple[str, ...] = ()
    args: dict[str, str] = {}


class Adopted(Struct, frozen=True, kw_only=True):
    """A revision, or a file that nobody wrote through vir, is taken in and thereby approved. `revision` is the hash of the
    line that laid it, empty for a file. The rest as `Approved`."""

    digest: str = ""
    text: str = ""
    body: str = ""
    revision: str = ""
    after: str = ""
    lifts: tuple[str, ...] = ()
    args: dict[str, str] = {}


class Rejected(Struct, frozen=True, kw_only=True):
    """`lessons` are those whose words are wrong or private; with `struck` the lessons alone are taken out. `values` are those
    of the statements that shall not come back, `text` the digest of the words as they were rejected when they are other than
    vir wrote."""

    reason: str = ""
    digest: str = ""
    lessons: tuple[str, ...] = ()
    struck: tuple[str, ...] = ()
    of: str = ""
    why: str = ""
    after: str = ""
    values: tuple[str, ...] = ()
    text: str = ""


class Held(Struct, frozen=True, kw_only=True):
    """`reason` is flagged, resembles, superseded, pruned, marked (the property `vir: wrong`), or another; `like` is what it
    resembles, `n…#l…`, and `place` the lesson of its own that does, or title, summary or context; `why` the digest of a text
    with the person's words. `origin` is who said so, a session's key or `<surface>@<device>`, so that many from one can be
    asked about as one."""

    reason: str = ""
    like: str = ""
    why: str = ""
    place: str = ""
    origin: str = ""


class FlagNoted(Struct, frozen=True, kw_only=True):
    """A flag beyond those that one origin may have open at a time: written down and asked about with the others, and the note
    stays in service."""

    why: str = ""
    origin: str = ""


class Forgotten(Struct, frozen=True, kw_only=True):
    """The subject, a note or a session, is forgotten. `values` are those of what it stated, `texts` the digests of texts that are
    destroyed, `sessions` the keys that are not distilled again."""

    values: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    after: str = ""


class TombstoneLifted(Struct, frozen=True, kw_only=True):
    """These values may be said again in other notes; the subject, the note they were rejected in, stays as it is."""

    values: tuple[str, ...] = ()
    after: str = ""


class Lifted(Struct, frozen=True, kw_only=True):
    """Takes back the lines whose hashes are in `lifts`, withholding or admitting, and what is below them holds again: a reject
    (restore), a flag, an undone run, a struck lesson, an approval (undo), or another `lifted`. `hold` is for reading only."""

    hold: str = ""
    after: str = ""
    lifts: tuple[str, ...] = ()


class Superseded(Struct, frozen=True, kw_only=True):
    """The subject held until `from` (YYYY-MM-DD, empty: the day of the line); from then on the note `by` holds instead."""

    by: str = ""
    since: str = field(name="from", default="")
    after: str = ""
    digest: str = ""


class Expired(Struct, frozen=True, kw_only=True):
    """It stopped being so on the day `on` (YYYY-MM-DD): that day is the first on which it does not hold."""

    on: str = ""
    after: str = ""
    digest: str = ""


class PolicySet(Struct, frozen=True, kw_only=True):
    """The subject is `policy:<name>`. `after` as for verdicts, on this subject."""

    value: bool | int | str
    after: str = ""


class KeyEnrolled(Struct, frozen=True, kw_only=True):
    """The subject is the key's id, `public` its public key (hex), `kind` root, device or recovery, `device` the device it was
    made for and `label` the digest of a text with that device's name. A root is proven by itself, any other key by one that
    counts already."""

    public: str
    kind: str
    device: str = ""
    label: str = ""


class KeyRevoked(Struct, frozen=True, kw_only=True):
    """`lost_since` is a moment in the form of `at`; what the key signed from then on does not count. `seen` are the
    signatures of the key that the writer knew (`Checked.sig`), and no other counts whatever date it bears."""

    lost_since: str
    seen: tuple[str, ...] = ()


class AuthorityStartedOver(Struct, frozen=True, kw_only=True):
    """One device trusts the public key `root` from now on, and `former` no longer. A note in the history; each device decides
    for itself."""

    root: str
    former: str = ""


class ProjectJoined(Struct, frozen=True, kw_only=True):
    """The subject is the id that project `into` had before it was known by something better: a first commit, a remote."""

    into: str


class ProjectDecided(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person decided about distilling a project: include, exclude, ask, or given to the vault `to`. The subject is
    the project's id, or `pattern:<digest>` for all whose name or key fit a pattern; `text` is the digest of the text that
    holds the pattern, or the project's name, in words. A preference: it withholds nothing and notes stay as they are."""

    decision: str
    text: str = ""
    to: str = ""


class NotesUndone(Struct, frozen=True, kw_only=True):
    run: str = ""


class LinesGivenUp(Struct, frozen=True, kw_only=True):
    """A person took the disk as it is: `count` lines of `devices` that one computer still had no longer count there. `list`
    is sha256 over their sorted hashes."""

    count: int = 0
    list: str = ""
    devices: tuple[str, ...] = ()
