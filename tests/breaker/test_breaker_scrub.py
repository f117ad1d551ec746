"""Secrets in places and shapes that real sessions have them in."""

from __future__ import annotations

import json
import random
import string

import pytest

from tests.ingest.conftest import World
from vir_core.transcripts.scrub import scrub

_DRAW = random.Random(20261130)
_ALNUM = string.ascii_letters + string.digits


def drawn(n: int) -> str:
    """Always with a digit and letters of both kinds."""
    return "a7K" + "".join(_DRAW.choice(_ALNUM) for _ in range(n - 3))


HANDED = [
    ("sk-ant-" + "oat01-" + drawn(86), "{}"),
    ("sk-proj-" + drawn(48), "{}"),
    ("hf_" + drawn(34), "{}"),
    ("7612613768:" + "AA" + drawn(33), "{}"),
    ("hvs." + drawn(90), "{}"),
    ("ya29." + drawn(80), "{}"),
    (drawn(20), "DB_PASS={}"),
    (drawn(12), "PGPASSWORD={} psql"),
    (drawn(40), "run --token {}"),
    (drawn(10), "run --password {} --verbose"),
    (drawn(20), "sshpass -p {} ssh root@host"),
    (drawn(18), "curl -s -u admin:{} https://api.example"),
    (drawn(20), "mysql -u root -p{} readings"),
    (drawn(36), "docker login -u me -p {} registry.example"),
    (drawn(30), "Cookie: session={}; theme=dark"),
    (drawn(16), "密码：{}"),
    (drawn(16), "the password is {}."),
]

INNOCENT = [
    "--token is required",
    "--password stdin",
    "--password-stdin",
    "run --token $GITHUB_TOKEN",
    "the password is stored hashed",
    "the password is required, see docs/login.md",
    "curl -u admin:$PASS https://api.example",
    "mkdir -p src/parser2/lib",
    "mysql -u root -p readings",
    "docker run -p 8080:80 nginx",
    "ssh -p 2222 root@host",
    "Cookie: SameSite=Lax",
    "first_pass = compute_tree2",
    "the tests pass: 12345678",
    "sk-ant-colony-optimisation-parameters-for-the-scheduler",
    "密码是必填项",
]


@pytest.mark.parametrize(("secret", "frame"), HANDED, ids=[frame[:12] for _, frame in HANDED])
def test_a_secret_handed_to_a_command_or_said_in_a_sentence_goes(secret: str, frame: str) -> None:
    scrubbed = scrub(f"We ran {frame.format(secret)} because of it").text
    assert secret not in scrubbed and secret[-12:] not in scrubbed
    assert "[secret]" in scrubbed and scrubbed.endswith("because of it")


@pytest.mark.parametrize("text", INNOCENT)
def test_words_around_passwords_stay(text: str) -> None:
    assert scrub(text).text == text


def test_a_secret_in_the_name_of_a_branch_or_a_folder_reaches_no_file_of_the_vault(world: World) -> None:
    branch, folder = "ghp_" + drawn(36), "glpat-" + drawn(20)
    for path in world.claude.rglob("*.jsonl"):
        lines: list[str] = []
        for line in path.read_text("utf-8", "replace").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if "gitBranch" in record:
                record["gitBranch"] = f"fix/{branch}"
            if "cwd" in record:
                record["cwd"] = f"/home/mira/src/{folder}"
            lines.append(json.dumps(record))
        path.write_text("\n".join(lines) + "\n", "utf-8")
    assert world.run().written
    for path in world.vault.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert branch.encode() not in content, path
            assert folder.encode() not in content, path
