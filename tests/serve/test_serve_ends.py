"""Serve leaves nothing behind: it ends with its stdin, with its parent, with its reader."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ingest.conftest import PROJECT, World
from tests.serve.conftest import COMMAND, Serve

Serving = Callable[..., Serve]

PARENT = """
import os, subprocess, sys, time
# stdin is held open by somebody else too, so that only the death of the parent can end serve.
source, kept = os.pipe()
os.set_inheritable(kept, True)
child = subprocess.Popen(sys.argv[1:], stdin=source, stdout=subprocess.DEVNULL, close_fds=False)
holder = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], pass_fds=[kept])
print(child.pid, holder.pid, flush=True)
time.sleep(60)
"""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def gone(pid: int, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not alive(pid):
            return True
        time.sleep(0.1)
    return False


def test_it_ends_with_stdin_and_answers_what_was_asked(serving: Serving) -> None:
    serve = serving()
    asked = [serve.start("query", text="worker") for _ in range(5)]
    assert serve.end() == 0
    answered = {serve.next()["id"] for _ in asked}
    assert answered == set(asked) and serve.next() is None


def test_requests_from_a_pipe_are_answered(world: World) -> None:
    calls = b"".join(
        json.dumps({"jsonrpc": "2.0", "id": n, "method": "query", "params": {"text": "worker"}}).encode() + b"\r\n"
        for n in range(3)
    )
    done = subprocess.run(
        [*COMMAND, "--vault", str(world.vault)],
        input=calls.removesuffix(b"\r\n"),
        capture_output=True,
        timeout=60,
        cwd=PROJECT,
        check=True,
    )
    assert {json.loads(line)["id"] for line in done.stdout.splitlines()} == {0, 1, 2} and done.stderr == b""


def test_a_run_is_stopped_when_nobody_listens_any_more(serving: Serving, world: World, tmp_path: Path) -> None:
    other = World(tmp_path / "other")
    serve = serving()
    serve.call("query", text="worker")
    run = serve.start("run", vault=str(other.vault), claude_dir=[str(other.claude)], codex_dir=[str(other.codex)])
    assert serve.end() == 0
    while (value := serve.next()) is not None and value.get("id") != run:
        pass
    assert value is None or value.get("error", value.get("result"))
    assert other.run().failed == ()


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not handed to a new parent there")
def test_a_killed_parent_takes_it_along(world: World) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *COMMAND, "--vault", str(world.vault)], stdout=subprocess.PIPE, cwd=PROJECT
    )
    assert parent.stdout is not None
    with parent.stdout:
        child, holder = map(int, parent.stdout.readline().split())
        try:
            time.sleep(1.5)
            assert alive(child)
            parent.send_signal(signal.SIGKILL)
            parent.wait(10)
            assert gone(child)
        finally:
            for pid in (holder, child):
                if alive(pid):
                    os.kill(pid, signal.SIGKILL)


def test_a_reader_that_went_ends_it(serving: Serving) -> None:
    serve = serving()
    serve.call("query", text="worker")
    assert serve.process.stdout is not None
    os.close(os.dup(serve.process.stdout.fileno()))
    process = subprocess.Popen(
        [*COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=PROJECT
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdout.close()
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"doctor"}\n')
    process.stdin.flush()
    assert process.wait(30) == 0
    assert b"Traceback" not in process.stderr.read()
    process.stdin.close()
    process.stderr.close()


def test_an_interrupt_ends_it_quietly(serving: Serving) -> None:
    serve = serving()
    serve.call("query", text="worker")
    serve.process.send_signal(signal.SIGINT)
    assert serve.process.wait(20) == 0
    assert serve.errors == ""


def test_its_words_are_explained(tmp_path: Path) -> None:
    told = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, cwd=PROJECT, check=True)
    assert "--scope" in told.stdout and "--vault" in told.stdout
    wrong = subprocess.run([*COMMAND, "--colour"], capture_output=True, text=True, cwd=PROJECT, check=False)
    assert wrong.returncode == 2 and wrong.stdout == ""
