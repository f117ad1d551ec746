"""What must go, what must stay. Every secret here is made up on the spot; none is written down as such."""

from __future__ import annotations

import base64
import itertools
import random
import string
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vir_core.transcripts.scrub import find_secrets, scrub, scrub_all

_DRAW = random.Random(20261130)
_ALNUM = string.ascii_letters + string.digits


def drawn(n: int, alphabet: str = _ALNUM) -> str:
    return "".join(_DRAW.choice(alphabet) for _ in range(n))


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


TOKEN = drawn(36)
HEX = drawn(32, "0123456789abcdef")
JWT = ".".join((_b64(b'{"alg":"HS256","typ":"JWT"}'), _b64(b'{"sub":"1234567890"}'), _b64(_DRAW.randbytes(32))))
KEY_BODY = "\n".join(drawn(64) for _ in range(6))

SECRETS = [
    ("sk-ant-" + "api03-" + drawn(93) + "AA", None),
    ("ghp_" + TOKEN, None),
    ("AKIA" + drawn(16, string.ascii_uppercase + "234567"), None),
    ("whsec_" + drawn(32), None),
    ("npm_" + drawn(36), None),
    (JWT, None),
    ("hunter2!", 'password = "{}"'),
    ("hunter2!", "password: {}"),
    ("swordfish", "PASSWORD={}"),
    ("hunter2", r"{{\"password\":\"{}\"}}"),
    ("密码Abc123!", "数据库 password={}"),
    ("p4ss", "postgres://u:{}@db.example/x"),
    (drawn(20), "https://x-access-token:{}@github.com/a/b"),
    (drawn(40), "Authorization: Bearer {}"),
    (drawn(40), 'curl -H "authorization: token {}"'),
    (HEX, "API_KEY={}"),
    (drawn(28), '{{"apiKey": "{}"}}'),
    (drawn(24), '"client_secret": "{}"'),
    (drawn(40), "export GITHUB_TOKEN={}"),
    (drawn(30), "token: {}"),
]

INNOCENT = [
    "risk-management-strategy-2026-plan",
    "sk-management-strategy-2026-plan",
    "risk-ant-colony-optimisation-parameters",
    "the bearer of bad news and authentications",
    "a line that ends with Bearer\nnext line",
    "git@github.com:org/repo.git",
    "import @foo/bar",
    "@app.route('/x')",
    "commit 4832248a1b2c3d4e5f60718293a4b5c6d7e8f901",
    "sha256:" + drawn(64, "0123456789abcdef"),
    "550e8400-e29b-41d4-a716-446655440000",
    '"integrity": "sha512-' + base64.b64encode(_DRAW.randbytes(64)).decode() + '"',
    "go.sum h1:" + base64.b64encode(_DRAW.randbytes(32)).decode(),
    "react@18.2.0",
    "logo@2x.png",
    "golang.org/x/tools@v0.1.0",
    "password = getpass.getpass()",
    "password: string",
    "password=${PASSWORD}",
    "password: must be set before login",
    "the password must be at least 12 characters",
    "const apiKey = process.env.OPENAI_API_KEY",
    "api_key = os.environ['X']",
    "api_key=settings.OPENAI_API_KEY",
    "primary_key: 550e8400-e29b-41d4-a716-446655440000",
    "max_tokens: 100000000000000000",
    "sort_key = user_created_at_timestamp_v2",
    "cache_key=entire/sessions/abc12345/full.jsonl",
    "if token == expected_token_from_server_123:",
    "func NewToken(key string) (token string, err error)",
    "https://api.example.com/Users/42",
    "a -----BEGIN PRIVATE KEY----- header is needed",
    r"\n@app.command()",
    "/Users/Shared/x",
]


@pytest.mark.parametrize(("secret", "frame"), SECRETS, ids=range(len(SECRETS)))
def test_secret_goes_and_its_surroundings_stay(secret: str, frame: str | None) -> None:
    text = (frame or "before {} after").format(secret)
    scrubbed = scrub(text)
    assert secret not in scrubbed.text
    assert "[secret]" in scrubbed.text
    assert scrubbed.found["secret"] == 1
    head, tail = text.split(secret, 1)
    assert scrubbed.text.startswith(head[:6])
    assert scrubbed.text.endswith(tail[-3:])


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_is_left_alone(text: str) -> None:
    assert scrub(text).text == text
    assert scrub(f"é 数据 {text}").text == f"é 数据 {text}"


def test_private_key_over_many_lines_goes_whole() -> None:
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}\n-----END RSA PRIVATE KEY-----"
    assert scrub(f"here:\n{key}\nafter").text == "here:\n[private key]\nafter"
    cut_off = scrub(f"-----BEGIN OPENSSH PRIVATE KEY-----\n{KEY_BODY}").text
    assert KEY_BODY[:40] not in cut_off and KEY_BODY[-40:] not in cut_off


def test_names_of_people_go() -> None:
    text = "mail bob@x.org, see /Users/bob/a.py, /home/bob., C:\\Users\\Bob Smith\\x and C:\\\\Users\\\\bob\\\\y, ~/.c/-Users-bob-src/z"
    assert scrub(text).text == "mail [email], see ~/a.py, ~., ~\\x and ~\\\\y, ~/.c/-~-src/z"


def test_an_escaped_line_end_before_an_address_keeps_its_n() -> None:
    assert scrub(r"a\nbob@x.org").text == r"a\n[email]"


def test_offsets_hold_in_scripts_of_several_bytes() -> None:
    secret = "ghp_" + TOKEN
    text = f"数据库𝒳é {secret} ü — {secret}。"
    assert scrub(text).text == "数据库𝒳é [secret] ü — [secret]。"


def test_many_texts_keep_their_borders() -> None:
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}"
    texts, found = scrub_all(("one", key, "", "bob@x.org", "last é ghp_" + TOKEN))
    assert texts[0] == "one" and texts[2] == "" and texts[3] == "[email]" and texts[4] == "last é [secret]"
    assert KEY_BODY[:40] not in texts[1]
    assert found["email"] == 1


def test_lone_surrogates_do_not_stop_it() -> None:
    assert "\ud83a" not in scrub("a \ud83a b ghp_" + TOKEN).text
    assert "[secret]" in scrub("a \ud83a b ghp_" + TOKEN).text


def test_scrubbing_twice_changes_nothing_more() -> None:
    once = scrub("password = 'hunter2!' bob@x.org /home/bob/x ghp_" + TOKEN).text
    assert scrub(once).text == once


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=6))
def test_any_texts_come_back_in_number_and_order(texts: list[str]) -> None:
    scrubbed, _ = scrub_all(tuple(texts))
    assert len(scrubbed) == len(texts)
    spans = find_secrets("\n".join(texts))
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))


@pytest.mark.slow
def test_the_rule_cache_lies_in_the_state_folder_and_nothing_is_loaded_before_a_scrub(tmp_path: Path) -> None:
    code = (
        "import sys, os; import vir_core.transcripts.scrub as s; assert 'kingfisher_sdk' not in sys.modules;"
        "s.scrub('x'); print(os.environ['KF_RULE_CACHE_DIR'])"
    )
    env = {"VIR_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.strip() == str(tmp_path / "state" / "rule-cache")
    assert not (tmp_path / ".cache").exists()
