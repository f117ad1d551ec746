from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from vir_core.machine import Busy, StorageError, hold, holder_of, native, try_hold

HOLDER = textwrap.dedent(
    """
    import sys, time
    from vir_core.machine import hold
    with hold(sys.argv[1], sys.argv[2]):
        print("held", flush=True)
        sys.stdin.read()
    print("freed", flush=True)
    """
)


def holder(lock: Path, verb: str = "run") -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock), verb], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def let_go(child: subprocess.Popen[str]) -> None:
    assert child.communicate()[0] == "freed\n"
    assert child.returncode == 0


def helpers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("lock ")]


def test_taken_and_freed(tmp_path: Path):
    lock = tmp_path / "locks" / "run.lock"
    with hold(lock, "run"):
        assert try_hold(lock, "query") is None
        assert holder_of(lock).verb == "run"
        assert holder_of(lock).pid == os.getpid()
    assert holder_of(lock).pid == 0
    again = try_hold(lock, "query")
    assert again is not None
    with again:
        pass
    again.release()
    assert not helpers()
    if os.name != "nt":
        assert lock.stat().st_mode & 0o777 == 0o600
        assert lock.parent.stat().st_mode & 0o777 == 0o700


def test_freed_when_the_block_fails(tmp_path: Path):
    lock = tmp_path / "run.lock"
    with pytest.raises(ZeroDivisionError), hold(lock, "run"):
        raise ZeroDivisionError
    with hold(lock, "run", wait=0):
        pass


def test_busy_names_verb_pid_and_age(tmp_path: Path):
    lock = tmp_path / "run.lock"
    child = holder(lock)
    began = time.monotonic()
    with pytest.raises(Busy) as caught:
        hold(lock, "doctor", wait=0.1)
    assert time.monotonic() - began < 60
    assert caught.value.holder.verb == "run"
    assert caught.value.holder.pid == child.pid
    assert 0 <= caught.value.holder.age < 600
    assert str(child.pid) in caught.value.message
    let_go(child)
    with hold(lock, "doctor", wait=30):
        pass


def test_waits_until_another_process_is_done(tmp_path: Path):
    lock = tmp_path / "run.lock"
    child = holder(lock)
    assert child.stdin is not None
    threading.Timer(0.2, child.stdin.close).start()
    with hold(lock, "run", wait=60):
        assert holder_of(lock).pid == os.getpid()
    assert child.wait() == 0
    assert child.stdout is not None
    child.stdout.close()


def test_works_against_a_thread_and_from_a_thread(tmp_path: Path):
    lock = tmp_path / "run.lock"
    inside = 0
    most = 0
    failed: list[BaseException] = []

    def work() -> None:
        nonlocal inside, most
        try:
            for _ in range(20):
                with hold(lock, "run", wait=60):
                    inside += 1
                    most = max(most, inside)
                    time.sleep(0.0005)
                    inside -= 1
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert most == 1


def test_a_waiter_that_gave_up_never_keeps_the_lock(tmp_path: Path):
    lock = tmp_path / "run.lock"
    with hold(lock, "run"):
        for _ in range(3):
            with pytest.raises(Busy):
                hold(lock, "doctor", wait=0.02)
        assert len(helpers()) == 3
    for thread in helpers():
        thread.join(30)
    assert not helpers()
    with hold(lock, "query", wait=0):
        pass


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_interrupt_while_waiting_gives_the_lock_up(tmp_path: Path):
    lock = tmp_path / "run.lock"
    with hold(lock, "run"):
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            hold(lock, "doctor", wait=60)
    for thread in helpers():
        thread.join(30)
    with hold(lock, "query", wait=30):
        pass


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_killed_holder_frees_the_lock_and_its_note_is_not_believed(tmp_path: Path):
    lock = tmp_path / "run.lock"
    child = holder(lock)
    child.kill()
    child.wait()
    assert child.stdout and child.stdin
    child.stdout.close()
    child.stdin.close()
    assert b'"run"' in lock.read_bytes()
    assert holder_of(lock).pid == 0
    with hold(lock, "doctor", wait=30):
        assert holder_of(lock).verb == "doctor"


@pytest.mark.parametrize(
    "note", [b"", b"{", b"\x00\x00\x00", b'{"verb":"run"}', b'{"verb":1,"pid":2,"started":3}', b"\xff", b'{"verb":"run","pid":-5,"started":1.0}', b"x" * 5000]
)  # fmt: skip
def test_a_torn_note_breaks_nothing(tmp_path: Path, note: bytes):
    lock = tmp_path / "run.lock"
    with hold(lock, "run"):
        with lock.open("r+b") as file:
            file.truncate(0)
            file.write(note)
        with pytest.raises(Busy) as caught:
            hold(lock, "doctor", wait=0.01)
        assert caught.value.holder.pid == 0
        assert caught.value.message and caught.value.hint
    with hold(lock, "query", wait=30):
        assert holder_of(lock).verb == "query"


def test_a_huge_pid_is_nobody(tmp_path: Path):
    lock = tmp_path / "run.lock"
    lock.write_bytes(b'{"verb":"run","pid":99999999999999999,"started":1.0}')
    assert holder_of(lock).pid == 0


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed")
def test_two_holders_never_hold_different_files(tmp_path: Path):
    """The state folder may be removed while a lock is waited for; the waiter must lock the file that the path names."""
    lock = tmp_path / "run.lock"
    first = hold(lock, "run")
    got: list[str] = []

    def wait() -> None:
        with hold(lock, "index", wait=60):
            got.append("second")

    waiter = threading.Thread(target=wait)
    waiter.start()
    while not helpers():
        time.sleep(0.005)
    lock.unlink()
    with hold(lock, "third", wait=30):
        first.release()
        time.sleep(0.1)
        assert got == []
    waiter.join(60)
    assert got == ["second"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX errors")
def test_a_disk_that_cannot_lock_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import errno

    def refuses(fd: int) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(native, "lock_now", refuses)
    for take in (hold, try_hold):
        with pytest.raises(StorageError) as caught:
            take(tmp_path / "run.lock", "run")
        assert "VIR_STATE_DIR" in caught.value.hint


def test_a_folder_where_the_lock_should_be(tmp_path: Path):
    (tmp_path / "run.lock").mkdir()
    with pytest.raises(StorageError):
        hold(tmp_path / "run.lock", "run")


def test_no_descriptor_is_left_open(tmp_path: Path):
    open_files = Path("/proc/self/fd")
    if not open_files.is_dir():
        pytest.skip("no /proc")
    lock = tmp_path / "run.lock"
    before = len(list(open_files.iterdir()))
    for _ in range(5):
        with hold(lock, "run"):
            assert try_hold(lock, "x") is None
            with pytest.raises(Busy):
                hold(lock, "x", wait=0.01)
    for thread in helpers():
        thread.join(30)
    assert len(list(open_files.iterdir())) == before
