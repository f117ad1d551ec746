"""Secrets and names of people taken out of a text, before anything of it is kept or leaves the process."""

from __future__ import annotations

import math
import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, cast

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PLACEHOLDERS = {"secret": "[secret]", "private key": "[private key]", "email": "[email]", "home": "~", "home key": "-~"}


class Span(Struct, frozen=True, order=True):
    """What was found, as character offsets; `kind` is a key of `PLACEHOLDERS`."""

    start: int
    end: int
    kind: str


class Scrubbed(Struct, frozen=True, kw_only=True):
    """`found` counts what was replaced, by kind."""

    text: str
    found: dict[str, int]


def scrub(text: str) -> Scrubbed:
    """Replace secrets, e-mail addresses and home folders in one text. The same text always gives the same answer."""
    texts, found = scrub_all((text,))
    return Scrubbed(text=texts[0], found=found)


def scrub_all(texts: Sequence[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Scrub many texts in one pass: the scanner pays per call, so the turns of a session go through it together.

    Offsets are mapped back to each text, so a secret never swallows the border between two of them."""
    texts = tuple(_without_surrogates(text) for text in texts)
    joined = _BORDER.join(texts)
    spans = find_secrets(joined)
    if not spans:
        return texts, {}
    found: dict[str, int] = {}
    for span in spans:
        found[span.kind] = found.get(span.kind, 0) + 1
    scrubbed: list[str] = []
    begin = 0
    at = 0
    for text in texts:
        end = begin + len(text)
        parts: list[str] = []
        done = begin
        while at < len(spans) and spans[at].start < end:
            span = spans[at]
            if span.end > begin:
                parts.append(joined[done : max(done, span.start)])
                parts.append(PLACEHOLDERS[span.kind])
                done = min(span.end, end)
            if span.end > end:
                break
            at += 1
        parts.append(joined[done:end])
        scrubbed.append("".join(parts))
        begin = end + len(_BORDER)
    return tuple(scrubbed), dict(sorted(found.items()))


def find_secrets(text: str) -> list[Span]:
    """Everything that `scrub` would replace, in order and without overlaps."""
    text = _without_surrogates(text)
    secrets = [
        *_scanned(text),
        *_private_keys(text),
        *_prefixed(text),
        *_credentials_in_urls(text),
        *_assignments(text),
        *_bearers(text),
        *_handed_over(text),
    ]
    merged = _merge(secrets)
    names = [*_emails(text), *_homes(text)]
    return sorted([*merged, *_outside(_merge(names), merged)])


# A control character that no scanner rule accepts inside a secret, on a line of its own.
_BORDER = "\n\x1e\n"


def _without_surrogates(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


# --- the scanner -----------------------------------------------------------------------------------------------------


class _Finding(Protocol):
    rule_id: str
    secret: str
    visible: bool
    location: dict[str, int]


class _Scanner(Protocol):
    def scan(self, data: bytes) -> list[_Finding]: ...


_scanner: _Scanner | None = None


def _get_scanner() -> _Scanner:
    """The scanner of this process. Making it costs 0.3 s with its rule cache and several seconds without one, so the
    cache lies in our state folder. Only detection is made: validating is another class, and that one would use the
    network."""
    global _scanner
    if _scanner is None:
        if not os.environ.get("KF_RULE_CACHE_DIR"):
            from vir_core.machine import state_home

            os.environ["KF_RULE_CACHE_DIR"] = str(state_home() / "rule-cache")
        import kingfisher_sdk

        _scanner = cast("_Scanner", kingfisher_sdk.Scanner())
    return _scanner


def _scanned(text: str) -> Iterator[Span]:
    if not text:
        return
    data = text.encode("utf-8")
    findings = _get_scanner().scan(data)
    if not findings:
        return
    ascii_only = len(data) == len(text)
    spans = sorted(
        {(f.location["start_offset"], f.location["end_offset"]) for f in findings if not _innocent(f.secret)}
    )
    at_byte = at_char = 0
    for start, end in spans:
        if ascii_only:
            yield Span(start, end, "secret")
            continue
        # Offsets count UTF-8 bytes; walking forward keeps the conversion linear.
        at_char += len(data[at_byte:start].decode("utf-8", "ignore"))
        at_byte = start
        yield Span(at_char, at_char + len(data[start:end].decode("utf-8", "ignore")), "secret")


_HEX_ID = re.compile(r"(?:[0-9a-f]{7,12}|[0-9a-f]{40}|[0-9a-f]{64})")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


def _innocent(secret: str) -> bool:
    """Values that generic rules of the scanner take for keys and that people need to find their work again."""
    return bool(_UUID.fullmatch(secret)) or _worded(secret)


# --- rules of ours ---------------------------------------------------------------------------------------------------

_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[A-Za-z0-9+/=\s:,.\-\\]|\\n)*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|(?=\x1e)|\Z|(?=[^A-Za-z0-9+/=\s:,.\-\\]))"
)


def _private_keys(text: str) -> Iterator[Span]:
    if "PRIVATE KEY" not in text:
        return
    for match in _PRIVATE_KEY.finditer(text):
        body = match.group()
        # A sentence about the header line is no key; a body has at least one long run of base64.
        if re.search(r"[A-Za-z0-9+/]{24}", body.split("-----", 2)[-1]):
            yield Span(match.start(), match.end(), "private key")


# Forms the scanner only takes with a second half or a right checksum beside them.
_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9_])(?:(?:AKIA|ASIA)[A-Z2-7]{16}|whsec_[A-Za-z0-9+/]{24,}={0,2}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|"
    r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}|hf_[A-Za-z0-9]{30,}|sk-(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_\-]{32,}|"
    r"ATATT3x[A-Za-z0-9_\-=]{40,}|ya29\.[A-Za-z0-9_\-]{40,}|tskey-[a-z]{2,12}-[A-Za-z0-9]{8,}-[A-Za-z0-9]{20,}|"
    r"hvs\.[A-Za-z0-9_\-]{40,}|pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_\-.=]{30,}|[0-9]{8,10}:AA[A-Za-z0-9_\-]{33})(?![A-Za-z0-9_])"
)


def _prefixed(text: str) -> Iterator[Span]:
    for match in _PREFIXED.finditer(text):
        if not _worded(match.group()):
            yield Span(match.start(), match.end(), "secret")


_URL_CREDENTIALS = re.compile(
    r"\b[a-zA-Z][a-zA-Z0-9+.\-]{1,20}://[^\s/:@\"'`<>\\]{0,80}:([^\s/@\"'`<>\\]{1,200})@(?=[\w\[])"
)


def _credentials_in_urls(text: str) -> Iterator[Span]:
    if "://" not in text:
        return
    for match in _URL_CREDENTIALS.finditer(text):
        if not _placeholder(match.group(1)):
            yield Span(match.start(1), match.end(1), "secret")


_PASSWORD = re.compile(
    r"(?i)(?<![a-z])(?:[a-z0-9]{1,30}[_\-.]){0,4}(?:(?:pg)?password|passwd|passphrase|passwort|pwd|(?-i:(?<=_)PASS))(?:[_-]?(?:hash|value|raw))?"
    r"(?:\\?[\"'])?[ \t]*(?:=>|:=|=|:)[ \t]*"
    r"(?:(?P<q>\\?[\"'`])(?P<quoted>[^\"'`\r\n]{3,200}?)(?P=q)|(?P<bare>[^\s\"'`,;<>(){}\[\]|&\\]{6,200})(?P<after>[(\[.]?))"
)
_NOT_PASSWORDS = (
    "string str text null none nil true false undefined required optional number int bool boolean any unknown empty "
    "hidden visible input secret default missing invalid incorrect protected unset value varchar"
)
_NOT_A_PASSWORD = frozenset(_NOT_PASSWORDS.split())


def _passwords(text: str) -> Iterator[Span]:
    for match in _PASSWORD.finditer(text):
        quoted = match.group("quoted")
        if quoted is not None:
            # A sentence in quotes ("password: 'must not be empty'") is a message, a passphrase rarely ends a JSON value.
            if not _placeholder(quoted) and quoted.strip().casefold() not in _NOT_A_PASSWORD and not _message(quoted):
                yield Span(*match.span("quoted"), "secret")
            continue
        bare = match.group("bare")
        folded = bare.casefold().rstrip(".:!?")
        if _placeholder(bare) or folded in _NOT_A_PASSWORD or match.group("after"):
            continue
        if re.search(r"passw|pwd|secret|passphrase|environ|config|getenv", folded):
            continue
        is_assignment = ":" not in text[match.start() : match.start("bare")]
        mixed = bool(re.search(r"\d", bare)) or bool(re.search(r"[!#%^*+?~@]", bare))
        dotted = bool(re.fullmatch(r"[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)+", bare))
        if (mixed and not dotted) or (is_assignment and re.fullmatch(r"[a-z]+|[A-Z][a-z]+", bare)):
            yield Span(*match.span("bare"), "secret")


def _message(quoted: str) -> bool:
    words = quoted.split()
    return len(words) >= 3 and sum(word.strip(".,:;!?").isalpha() for word in words) == len(words)


_BEARER = re.compile(
    r"\b(?:Bearer|(?i:authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)))[ \t]+([A-Za-z0-9._~+/\-]{12,}={0,2})"
)


def _bearers(text: str) -> Iterator[Span]:
    for match in _BEARER.finditer(text):
        value = match.group(1).rstrip(".")
        if _opaque(value, least=12):
            yield Span(match.start(1), match.start(1) + len(value), "secret")


# A password as an argument of a command or said in a sentence; one group holds it. The words before each are looked for
# first, because most texts have none of them.
_HANDED = (
    (("--",), re.compile(r"(?<![\w-])--(?:[a-z]+-)*(?:password|passwd|passphrase)[ \t]+[\"']?([^\s\"'`]{6,200})")),
    (
        ("--",),
        re.compile(r"(?<![\w-])--(?:[a-z]+-)*(?:token|secret|api-?key|access-?key)[ \t]+[\"']?([^\s\"'`]{16,400})"),
    ),
    (("sshpass",), re.compile(r"\bsshpass[ \t]+-p[ \t]*[\"']?([^\s\"'`]{4,200})")),
    (
        ("curl",),
        re.compile(r"\bcurl\b[^\n]{0,300}?[ \t](?:-u|--user)[ \t]*[\"']?[^\s:\"'`]{1,80}:([^\s\"'`]{4,200})"),
    ),
    (
        ("mysql", "mariadb"),
        re.compile(r"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;]{0,200}?[ \t]-p([^\s\"'`]{6,200})"),
    ),
    (
        (" login",),
        re.compile(
            r"\b(?:docker|podman|helm)[ \t]+(?:registry[ \t]+)?login\b[^\n|;]{0,200}?[ \t]-p[ \t]+[\"']?([^\s\"'`]{6,400})"
        ),
    ),
    (
        ("asswor", "ASSWOR", "密码", "密碼", "口令", "パスワード", "비밀번호", "ароль", "ontraseña", "ot de passe"),
        re.compile(
            r"(?i)(?:\bpasswor[dt][ \t]+(?:is|ist|was|war)\b:?|(?:密码|密碼|口令|パスワード|비밀번호|пароль|contraseña|mot de passe)"
            r"[ \t]*(?:[:：=是为為は]|es\b|est\b)+)[ \t]*[\"'`“「]?([!-~]{6,200})"
        ),
    ),
)
_COOKIE = re.compile(r"(?i)\bcookie[\"']?[ \t]*:[ \t]*[\"']?([^\r\n\"']{8,4000})")
_COOKIE_VALUE = re.compile(r"=([^;,\s=]{16,})")


def _handed_over(text: str) -> Iterator[Span]:
    for needles, pattern in _HANDED:
        if not any(needle in text for needle in needles):
            continue
        for match in pattern.finditer(text):
            value = match.group(1).rstrip(".,;:!?)\"'`")
            # Without a digit between letters it is a word of the sentence, a path or a file.
            if len(value) < 4 or _placeholder(value) or "/" in value[:2] or _worded(value):
                continue
            if any(char.isdigit() for char in value) and any(char.isalpha() for char in value):
                yield Span(match.start(1), match.start(1) + len(value), "secret")
    for match in _COOKIE.finditer(text) if "ookie" in text or "COOKIE" in text else ():
        for part in _COOKIE_VALUE.finditer(match.group(1)):
            if _opaque(part.group(1), least=16):
                yield Span(match.start(1) + part.start(1), match.start(1) + part.end(1), "secret")


_KEYED = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9_.\-]{0,60})(?:\\?[\"'])?[ \t]*(?:=>|:=|=|:)[ \t]*(?P<q>\\?[\"'`])?(?P<value>[A-Za-z0-9_\-./+=~]{16,400})"
)
_KEY_NAME = re.compile(r"(?i)(?:key|secret|token|credentials?|apikey|accesskey|signature|sig)\d?$")
_OPEN_KEY = re.compile(
    r"(?i)(?:public|primary|foreign|cache|partition|sort|group|idempotency|publishable|unique|composite|object|index|row|hash|"
    r"lookup|dedupe?|natural|surrogate|map|dict|json|config|session|translation|i18n|query|react|storage|project|file|git|ssh[_-]?host)"
    r"[_\-. ]?key$|fingerprint|checksum|digest|^sig(?:nature)?$|^key$|tokens$"
)
_STRONG_NAME = re.compile(
    r"(?i)api[_\-]?key|secret|token|access[_\-]?key|private[_\-]?key|auth[_\-]?key|encryption[_\-]?key|signing[_\-]?key"
)


def _assignments(text: str) -> Iterator[Span]:
    yield from _passwords(text)
    for match in _KEYED.finditer(text):
        name = match.group("name")
        if not _KEY_NAME.search(name) or _OPEN_KEY.search(name):
            continue
        value = match.group("value").rstrip(".")
        if _placeholder(value) or not _opaque(value, least=16):
            continue
        is_id = bool(_UUID.fullmatch(value) or _HEX_ID.fullmatch(value))
        if is_id and not _STRONG_NAME.search(name):
            continue
        # An unquoted dotted or slashed value is code or a path: `token = config.auth.token2`.
        if not match.group("q") and re.fullmatch(r"[A-Za-z_]\w*(?:[./][A-Za-z_]\w*)+", value):
            continue
        yield Span(match.start("value"), match.start("value") + len(value), "secret")


def _placeholder(value: str) -> bool:
    """References and stand-ins: `$TOKEN`, `${…}`, `<your key>`, `{{…}}`, `%s`, `****`, `your-api-key-here`."""
    if value[0] in "$<{%[" or value.startswith(("process.env", "os.environ", "env.", "secrets.")):
        return True
    if len(set(value.strip("\"'").casefold())) <= 2:
        return True
    return bool(
        re.search(r"(?i)x{4,}|\*{3,}|\.{3,}|…|^your|example|placeholder|changeme|redacted|dummy|\$\{|\{\{", value)
    )


def _worded(value: str) -> bool:
    """True for joined words such as `risk-management-strategy-2026-plan` or `path/to/some_file_12`."""
    segments = [segment for segment in re.split(r"[-_./+=~]+", value) if segment]
    if len(segments) < 3:
        return False
    plain = sum(bool(re.fullmatch(r"[a-z]+|[A-Z][a-z]+|[A-Z]+|\d{1,4}|v\d+", segment)) for segment in segments)
    return plain == len(segments) and max(len(segment) for segment in segments) <= 20


def _opaque(value: str, *, least: int) -> bool:
    """True when the value looks drawn at random: letters and digits mixed and at least 3 bits a character."""
    if len(value) < least or _worded(value):
        return False
    if not (any(c.isdigit() for c in value) and any(c.isalpha() for c in value)):
        # Long runs without a digit are still keys when upper and lower case alternate.
        switches = sum(a.islower() != b.islower() for a, b in pairwise(value))
        if len(value) < 24 or switches < len(value) // 4:
            return False
    return _entropy(value) >= 3.0


def _entropy(value: str) -> float:
    counts: dict[str, int] = {}
    for char in value:
        counts[char] = counts.get(char, 0) + 1
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in counts.values())


# --- people ----------------------------------------------------------------------------------------------------------

_EMAIL = re.compile(
    r"(?<![\w.+/@\-])(?P<local>[\w](?:[\w.+%\-]{0,62}[\w+])?)@(?P<domain>(?:[\w](?:[\w\-]{0,61}[\w])?\.){1,6}(?P<tld>[^\W\d_]{2,24}))(?![\w@]|\.\w|-\w)"
)
_FILE_ENDINGS = (
    "png jpg jpeg gif svg webp ico py ts tsx js jsx mjs cjs go rs rb java kt c h cpp cs php sh md txt json jsonl yml yaml toml "
    "lock log xml html css scss sql service target timer socket mount route get post put delete fixture property"
)
_NOT_A_TLD = frozenset(_FILE_ENDINGS.split())


def _emails(text: str) -> Iterator[Span]:
    if "@" not in text:
        return
    for match in _EMAIL.finditer(text):
        local = match.group("local")
        if local == "git" or match.group("tld").casefold() in _NOT_A_TLD or match.group("domain")[0].isdigit():
            continue
        start = match.start()
        # In JSON kept as text an address can follow `\n`: the n belongs to the escape.
        if start and text[start - 1] == "\\" and text[start] in "nrt":
            start += 1
        if text[start] != "@":  # `\\n@app.command` in kept JSON is a decorator
            yield Span(start, match.end(), "email")


_UNIX_HOME = re.compile(r"(?<![\w.~])/(?:Users|home)/(?P<name>[\w][\w.\-]*)(?P<next>/?)")
_WINDOWS_HOME = re.compile(
    r"(?<![\w])(?:[A-Za-z]:|/(?:mnt/)?[A-Za-z](?=/))(?:\\{1,2}|/)Users(?:\\{1,2}|/)(?:[^\\/:*?\"<>|\r\n`']{1,60}(?=[\\/])|[\w.\-]+)"
)
_HOME_KEY = re.compile(r"(?<![\w\-])-(?:Users|home)-[A-Za-z0-9]+(?=-)")
_SHARED_HOMES = frozenset({"Shared", "Public", "Default", "All"})


def _homes(text: str) -> Iterator[Span]:
    if "Users" not in text and "home" not in text:
        return
    for match in _WINDOWS_HOME.finditer(text):
        yield Span(match.start(), match.end(), "home")
    for match in _UNIX_HOME.finditer(text):
        if match.group("name") not in _SHARED_HOMES:
            end = match.end("name")
            while text[end - 1] == ".":  # the full stop of a sentence
                end -= 1
            yield Span(match.start(), end, "home")
    for match in _HOME_KEY.finditer(text):
        yield Span(match.start(), match.end(), "home key")


# --- spans -----------------------------------------------------------------------------------------------------------


def _merge(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans):
        if span.start >= span.end:
            continue
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            kind = "private key" if "private key" in (last.kind, span.kind) else last.kind
            merged[-1] = Span(last.start, max(last.end, span.end), kind)
        else:
            merged.append(span)
    return merged


def _outside(spans: list[Span], taken: list[Span]) -> Iterator[Span]:
    """The spans that do not touch one of `taken`; both sorted."""
    at = 0
    for span in spans:
        while at < len(taken) and taken[at].end <= span.start:
            at += 1
        if at == len(taken) or taken[at].start >= span.end:
            yield span
