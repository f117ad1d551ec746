"""One answer a command: JSON for a script, words for a person, an exit code for both."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.conftest import COMMAND, say
from tests.ingest.conftest import PROJECT, World
from vir_core.contract import VERBS
from vir_core.machine import hold
from vir_core.vault import open_vault
from vir_core.verbs import TABLE


def test_every_verb_answers_with_one_json_value_and_silence_elsewhere(words: dict[str, list[str]]) -> None:
    assert set(words) == set(TABLE) == set(VERBS)
    for name, line in words.items():
        said = say(*line, "--json")
        assert (said.code, said.err) == (0, b""), (name, said)
        reply = msgspec.convert(said.value, VERBS[name][1])
        assert reply.contract == 1
        assert said.value.keys() == set(msgspec.structs.asdict(reply)), name


def test_every_verb_answers_a_person_in_words_on_stdout(words: dict[str, list[str]]) -> None:
    for name, line in words.items():
        said = say(*line)
        assert (said.code, said.err) == (0, b""), (name, said)
        assert said.text.strip() and not said.text.lstrip().startswith("{"), name


def test_a_request_on_stdin_answers_as_flags_do(world: World, words: dict[str, list[str]]) -> None:
    say(*words["run"])
    vault, sources = str(world.vault), {"claude_dir": [str(world.claude)], "codex_dir": [str(world.codex)]}
    requests: dict[str, dict[str, Any]] = {
        "init": {"vault": vault},
        "run": {"vault": vault, **sources},
        "runs": {"vault": vault},
        "sessions": {"vault": vault, **sources},
        "projects": {"vault": vault, **sources},
        "query": {"vault": vault, "text": "why does the ingest worker hang"},
        "related": {"vault": vault, "id": "n95535f35c3f77d3"},
        "recent": {"vault": vault},
        "queries": {"vault": vault},
        "forget": {"vault": vault, "id": "n95535f35c3f77d3", "list_only": True},
        "history": {"vault": vault, "id": "n95535f35c3f77d3"},
        "flag": {"vault": vault, "id": "n95535f35c3f77d3", "why": "it was never true"},
        "review": {"vault": vault, "action": "queue"},
        "index": {"vault": vault, "action": "status"},
        "journal": {"vault": vault, "action": "verify"},
        "doctor": {"vault": vault, **sources},
        "uninstall": {},
        "schema": {"check": True},
    }
    for name, request in requests.items():
        flags = say(*words[name], "--json").value
        asked = say(name, "--json", "-", stdin=json.dumps(request).encode())
        assert (asked.code, asked.err) == (0, b""), name
        answered = asked.value
        for answer in (flags, answered):
            answer.pop("seconds", None)
            answer.pop("took_ms", None)
        # The first of two runs read the sessions, and a record of questions grows with each.
        assert name == "run" or answered == flags, name
        assert answered.keys() >= {"contract"}
    empty = say("uninstall", "--json", "-", stdin=b"")
    assert empty.code == 0
    marked = say("uninstall", "--json", "-", stdin=b"\xef\xbb\xbf{}\r\n")
    assert marked.code == 0


def test_flags_beside_a_request_on_stdin_are_refused(world: World) -> None:
    request = json.dumps({"text": "worker"}).encode()
    said = say("query", "--json", "-", "--vault", str(world.vault), stdin=request)
    assert (said.code, said.kind) == (2, "invalid_request")
    assert "--vault" in said.value["error"]["message"]
    whole = json.dumps({"text": "worker", "vault": str(world.vault)}).encode()
    assert say("query", "--json", "-", stdin=whole).code == 0


@pytest.mark.parametrize(
    "order",
    [
        ["query", "--json", "{text}", "--vault", "{vault}"],
        ["query", "{text}", "--vault", "{vault}", "--json"],
        ["query", "--vault", "{vault}", "--json", "{text}"],
        ["query", "--vault", "{vault}", "--limit", "3", "{text}", "--json"],
        ["query", "--json", "--vault", "{vault}", "--", "{text}"],
    ],
)
def test_words_may_stand_in_any_order(world: World, order: list[str]) -> None:
    world.run()
    text = "why does the ingest worker hang"
    said = say(*(word.format(text=text, vault=world.vault) for word in order))
    assert said.code == 0 and said.value["hits"]


def test_runs_undo_takes_its_id_on_either_side_of_the_flags(world: World) -> None:
    id = world.run(limit=1).run
    vault = ["--vault", str(world.vault)]
    assert len(say("runs", *vault, "undo", id, "--json").value["undone"]) == 1
    assert say("runs", "undo", id, *vault, "--json").value["undone"] == []
    assert say("runs", "--undo", id, *vault, "--json").value["undone"] == []
    for wrong in (["undo"], ["undo", id, "more"], ["redo", id]):
        said = say("runs", *vault, *wrong, "--json")
        assert (said.code, said.kind) == (2, "invalid_request")


# Errors


@pytest.mark.parametrize("name", ["run", "runs", "query", "doctor", "sessions"])
def test_no_vault_is_said_and_what_to_do(tmp_path: Path, name: str) -> None:
    words = [name, *(["worker"] if name == "query" else []), "--vault", str(tmp_path / "nowhere"), "--json"]
    said = say(*words)
    if name == "doctor":
        assert said.code == 0 and "init" in said.value["problems"][0]["fix"]
        return
    assert (said.code, said.kind, said.err) == (1, "no_vault", b"")
    assert "init" in said.value["error"]["hint"]
    person = say(*words[:-1])
    assert (person.code, person.out) == (1, b"") and b"init" in person.err


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ([], 2),
        (["nonesuch"], 2),
        (["--nonesuch"], 2),
        (["doctor", "--nonesuch"], 2),
        (["doctor", "words"], 2),
        (["query"], 2),
        (["init"], 1),
        (["run", "--limit", "many"], 2),
        (["run", "--limit"], 2),
        (["run", "--progress", "xml"], 2),
        (["run", "--since", "yesterday", "--vault", "{vault}"], 1),
        (["run", "--limit", "-1", "--vault", "{vault}"], 1),
        (["run", "--driver", "ghost", "--vault", "{vault}"], 1),
        (["run", "--only", "nonesuch", "--vault", "{vault}", "--claude-dir", "{claude}"], 1),
        (["run", "--session", "nonesuch", "--vault", "{vault}", "--claude-dir", "{claude}"], 1),
        (["query", "x", "--category", "poem", "--vault", "{vault}"], 1),
        (["query", "x", "--project", "nonesuch", "--vault", "{vault}"], 1),
        (["runs", "undo", "r000000000000000", "--vault", "{vault}"], 1),
        (["init", "--vault", "{vault}", "--moved", "--copied"], 1),
        (["init", "--vault", "{vault}", "--prefix", "a b"], 1),
    ],
)
def test_what_does_not_fit_is_an_invalid_request(world: World, line: list[str], code: int) -> None:
    filled = [word.format(vault=world.vault, claude=world.claude) for word in line]
    said = say(*filled, "--json")
    assert (said.code, said.kind, said.err) == (code, "invalid_request", b""), said
    assert said.value["error"]["message"]
    person = say(*filled)
    assert (person.code, person.out) == (code, b"")
    assert 0 < len(person.err.splitlines()) < (30 if line else 60)


@pytest.mark.parametrize(
    "stdin",
    [
        b"{",
        b"[]",
        b"3",
        b'"text"',
        b"{} {}",
        b'{"vault": 3}',
        b'{"vualt": "x"}',
        b"\xff\xfe{\x00}\x00",
        '{"vault": "x"}'.encode("utf-16"),
        '{"vault": "x"}'.encode("utf-16-be"),
        b"\xff\xff\xff",
        b"\0",
        b"[" * 100_000,
        b'{"vault":' * 50_000,
        b'{"vault": "' + b"x" * 5_000_000,
    ],
    ids=lambda value: repr(value[:12]),
)
def test_stdin_that_is_no_request_is_an_invalid_request(stdin: bytes) -> None:
    said = say("doctor", "--json", "-", stdin=stdin)
    assert (said.code, said.kind, said.err) == (1, "invalid_request", b"")
    assert len(said.out) < 2000


def test_a_huge_request_is_answered(world: World) -> None:
    world.run(limit=3)
    request = {"vault": str(world.vault), "text": "ingest worker " * 200_000}
    said = say("query", "--json", "-", stdin=json.dumps(request).encode())
    assert (said.code, said.err) == (0, b"") and "hits" in said.value
    half = json.dumps({"vault": str(world.vault), "text": "worker \ud83d"}).encode()
    assert say("query", "--json", "-", stdin=half).code == 0


def test_busy_names_who_holds_it(world: World, words: dict[str, list[str]]) -> None:
    state = open_vault(world.vault).state
    with hold(state / "locks" / "run.lock", "run"):
        said = say(*words["run"], "--json")
    assert (said.code, said.kind) == (1, "busy")
    assert (
        f"process {os.getpid()}" in said.value["error"]["message"] and "vir_core run" in said.value["error"]["message"]
    )
    assert say(*words["run"], "--json").code == 0


def test_a_copy_is_a_conflict(world: World, words: dict[str, list[str]], tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "Copy"
    shutil.copytree(world.vault, copy)
    line = [word.replace(str(world.vault), str(copy)) for word in words["run"]]
    said = say(*line, "--json")
    assert (said.code, said.kind) == (1, "conflict") and "--moved" in said.value["error"]["hint"]
    assert say(*words["run"], "--json").code == 0


def test_a_disk_that_refuses_is_storage(world: World, words: dict[str, list[str]], tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    said = say(*words["run"], "--json", env={"VIR_STATE_DIR": str(blocked)})
    assert (said.code, said.kind) == (1, "storage") and str(blocked) in said.value["error"]["message"]
    assert say(*words["run"], "--json").code == 0


def test_a_read_only_disk_is_storage_and_is_still_read(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if (
        os.geteuid()
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(disk)], check=False).returncode
    ):
        pytest.skip("only root can mount")
    try:
        (disk / "world").mkdir()
        world = World(disk / "world")
        world.run(limit=2)
        assert subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=False).returncode == 0
        said = say(*world.run_words("--json"))
        assert (said.code, said.kind, said.err) == (1, "storage", b"")
        assert "read-only" in said.value["error"]["message"]
        asked = say("query", "worker", "--vault", str(world.vault), "--json")
        assert asked.code == 0
        assert say("doctor", "--vault", str(world.vault), "--json").code == 0
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_interrupt_is_cancelled(world: World, tmp_path: Path) -> None:
    pipe = world.claude / "-home-x" / "5a5a5a5a-0000-4000-8000-00000000000b.jsonl"
    pipe.parent.mkdir()
    # Long enough to be interrupted while it is read.
    line = json.dumps({"type": "user", "uuid": "u", "message": {"role": "user", "content": "x" * 500}}) + "\n"
    pipe.write_text(line * 150_000)
    process = subprocess.Popen(
        [*COMMAND, *world.run_words("--json", "--progress", "json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=PROJECT,
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    assert json.loads(first)["stage"] == "read"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert b"Traceback" not in err
    assert all(json.loads(line)["stage"] for line in err.splitlines())
    assert process.returncode == 1 and json.loads(out)["error"]["kind"] == "cancelled"


def test_failures_in_part_are_exit_1_with_a_reply(world: World) -> None:
    missing = str(world.vault.parent / "nowhere")
    said = say("run", "--vault", str(world.vault), "--claude-dir", str(world.claude), "--claude-dir", missing, "--json")
    assert said.code == 1 and [failure["path"] for failure in said.value["failed"]] == [missing]
    assert said.value["written"]


# Streams


def test_progress_goes_to_stderr_line_by_line(world: World) -> None:
    said = say(*world.run_words("--json", "--progress", "json"))
    assert said.code == 0 and said.value["written"]
    lines = [json.loads(line) for line in said.err.splitlines()]
    assert {line["stage"] for line in lines} == {"read", "distil", "index"}
    assert all(0 <= line["done"] <= line["total"] for line in lines)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_went_away_is_no_traceback(
    world: World, words: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch, unbuffered: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    world.run()
    lines = [words[name] for name in ("sessions", "query", "doctor")]
    lines += [[*line, "--json"] for line in lines]
    for line in (
        *lines,
        ["doctor", "--nonesuch", "--json"],
        ["query", "x", "--vault", "/nowhere", "--json"],
        ["--help"],
    ):
        reading, writing = os.pipe()
        os.close(reading)
        try:
            done = subprocess.run([*COMMAND, *line], stdout=writing, stderr=subprocess.PIPE, cwd=PROJECT, check=False)
        finally:
            os.close(writing)
        assert done.stderr == b"", line
        assert done.returncode == 1 or line == ["--help"], line


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="wants /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_answer_that_cannot_be_written_is_said(
    words: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch, unbuffered: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with Path("/dev/full").open("wb") as full:
        for line in (words["sessions"], [*words["sessions"], "--json"], ["doctor", "--nonesuch", "--json"]):
            done = subprocess.run([*COMMAND, *line], stdout=full, stderr=subprocess.PIPE, cwd=PROJECT, check=False)
            assert done.returncode == 1
            assert done.stderr.count(b"\n") == 1 and b"could not be written" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_cost_nothing_else(world: World, words: dict[str, list[str]], closed: str) -> None:
    import shlex

    for line in (words["run"], [*words["query"], "--json"], ["doctor", "--json", "-"], ["nonesuch"]):
        command = f"{shlex.join([*COMMAND, *line])} {closed}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, cwd=PROJECT, check=False)
        assert b"Traceback" not in done.stderr and b"Exception" not in done.stderr, done.stderr
        assert done.returncode == (2 if line == ["nonesuch"] else 0), (line, done)
        if closed == "<&-" and "--json" in line:
            json.loads(done.stdout)


def test_a_terminal_that_knows_only_ascii_gets_the_answer(world: World, words: dict[str, list[str]]) -> None:
    world.run()
    env = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    plain = say("query", "输入法选词时回车", "--vault", str(world.vault), env=env)
    assert plain.code == 0 and plain.out.isascii() and b"\\u8f93" in plain.out
    as_json = say("query", "输入法选词时回车", "--vault", str(world.vault), "--json", env=env)
    assert as_json.value["hits"][0]["title"].startswith("输入法")
    assert say("query", "输入法选词时回车", "--vault", str(world.vault)).text.startswith("输入法")


# Finding the vault


def test_the_vault_is_the_one_named_then_the_environments_then_the_nearest(world: World, tmp_path: Path) -> None:
    root, folder = world.vault, world.vault / "vir"
    other = tmp_path / "Other"
    assert say("init", "--vault", str(other)).code == 0
    deep = folder / "gotchas" / "deeper"
    deep.mkdir(parents=True)
    empty = tmp_path / "elsewhere"
    empty.mkdir()

    def found(*words: str, cwd: Path = empty, env: dict[str, str] | None = None) -> str | None:
        status = say("doctor", "--json", *words, cwd=cwd, env=env).value["vault"]
        return status and status["path"]

    assert found("--vault", str(root)) == found("--vault", str(folder)) == str(root)
    assert found("--vault", "Notes", cwd=tmp_path) == str(root)
    assert found(env={"VIR_VAULT": str(root)}) == str(root)
    assert found("--vault", str(other), env={"VIR_VAULT": str(root)}) == str(other)
    assert found(cwd=root) == found(cwd=folder) == found(cwd=deep) == str(root)
    assert found(cwd=deep, env={"VIR_VAULT": str(other)}) == str(other)
    assert found() is None
    assert found(env={"VIR_VAULT": str(empty)}) is None
    with suppress(FileNotFoundError):
        (root / "Daily").mkdir()
    assert found(cwd=root / "Daily") == str(root)
