from __future__ import annotations

import errno
import hashlib
import os
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vir_core.machine import (
    ABSENT,
    ANYTHING,
    Busy,
    Changed,
    StorageError,
    append,
    file_id,
    make_dirs,
    native,
    read_bytes,
    rename_no_replace,
    sha256_of,
    sweep_leftovers,
    write_atomic,
    write_once,
)

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and links")
# Root may write anywhere, so a refusal by permission cannot be made with chmod.
not_root = pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root is never refused")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_write_then_replace_what_was_seen(tmp_path: Path):
    note = tmp_path / "note.md"
    first = write_atomic(note, b"one", expected=ABSENT)
    assert first == digest(b"one") == sha256_of(note)
    second = write_atomic(note, b"two", expected=first)
    assert note.read_bytes() == b"two"
    assert second == digest(b"two")
    assert names(tmp_path) == ["note.md"]


def test_parts_are_written_as_one_file_and_one_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    first = write_atomic(note, (part for part in (b"one ", b"", b"two")), expected=ABSENT)
    assert note.read_bytes() == b"one two"
    assert first == hashlib.sha256(b"one two").hexdigest()

    def parts() -> Iterator[bytes]:
        yield b"three"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_atomic(note, parts(), expected=first)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"one two"]


def test_absent_never_replaces(tmp_path: Path):
    note = tmp_path / "note.md"
    note.write_bytes(b"mine")
    with pytest.raises(Changed):
        write_atomic(note, b"other", expected=ABSENT)
    assert note.read_bytes() == b"mine"
    assert names(tmp_path) == ["note.md"]


def test_absent_never_replaces_a_file_that_appears_at_the_last_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    note = tmp_path / "note.md"
    real = native.publish

    def late(temp: str, dst: str) -> None:
        note.write_bytes(b"mine")
        real(temp, dst)

    monkeypatch.setattr(native, "publish", late)
    with pytest.raises(Changed):
        write_atomic(note, b"other", expected=ABSENT)
    assert note.read_bytes() == b"mine"
    assert names(tmp_path) == ["note.md"]


@posix
@pytest.mark.parametrize("rename_works", [True, False])
def test_absent_on_a_disk_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rename_works: bool):
    def no_link(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links")

    monkeypatch.setattr(os, "link", no_link)
    if not rename_works:
        monkeypatch.setattr(native, "_renamed", lambda src, dst: False)
    note = tmp_path / "note.md"
    write_atomic(note, b"one", expected=ABSENT)
    assert note.read_bytes() == b"one"
    assert stat.S_IMODE(note.stat().st_mode) == 0o644 & ~_umask()
    with pytest.raises(Changed):
        write_atomic(note, b"two", expected=ABSENT)
    assert note.read_bytes() == b"one"
    assert names(tmp_path) == ["note.md"]


def test_changed_meanwhile_is_not_overwritten(tmp_path: Path):
    note = tmp_path / "note.md"
    seen = write_atomic(note, b"one", expected=ABSENT)
    note.write_bytes(b"edited by the person")
    with pytest.raises(Changed) as caught:
        write_atomic(note, b"two", expected=seen)
    assert caught.value.path == str(note)
    assert note.read_bytes() == b"edited by the person"
    note.unlink()
    with pytest.raises(Changed):
        write_atomic(note, b"two", expected=seen)
    assert names(tmp_path) == []


def test_the_target_is_hashed_after_the_temporary_file_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    note = tmp_path / "note.md"
    seen = write_atomic(note, b"one", expected=ABSENT)
    real = native.sync_file

    def edit_while_flushing(fd: int) -> None:
        real(fd)
        note.write_bytes(b"edited")

    monkeypatch.setattr(native, "sync_file", edit_while_flushing)
    with pytest.raises(Changed):
        write_atomic(note, b"two", expected=seen)
    assert note.read_bytes() == b"edited"


def test_many_writers_with_the_same_expectation_have_one_winner(tmp_path: Path):
    note = tmp_path / "note.md"
    won: list[int] = []
    gate = threading.Barrier(8)

    def write(number: int) -> None:
        gate.wait()
        try:
            write_atomic(note, b"%d" % number, expected=ABSENT)
        except Changed:
            return
        won.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert note.read_bytes() == b"%d" % won[0]
    assert names(tmp_path) == ["note.md"]


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


@posix
def test_modes(tmp_path: Path):
    note = tmp_path / "note.md"
    write_atomic(note, b"one", expected=ABSENT)
    assert stat.S_IMODE(note.stat().st_mode) == 0o644 & ~_umask()
    note.chmod(0o664)
    write_atomic(note, b"two", expected=ANYTHING)
    assert stat.S_IMODE(note.stat().st_mode) == 0o664
    secret = tmp_path / "state"
    write_atomic(secret, b"x", expected=ABSENT, private=True)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    append(tmp_path / "log", b"x\n", private=True)
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


@posix
def test_a_link_stays_a_link(tmp_path: Path):
    real = tmp_path / "elsewhere"
    real.mkdir()
    (real / "note.md").write_bytes(b"one")
    link = tmp_path / "note.md"
    link.symlink_to(real / "note.md")
    write_atomic(link, b"two", expected=digest(b"one"))
    assert link.is_symlink()
    assert (real / "note.md").read_bytes() == b"two"
    dangling = tmp_path / "dangling.md"
    dangling.symlink_to(tmp_path / "nowhere")
    with pytest.raises(Changed):
        write_atomic(dangling, b"x", expected=ABSENT)
    assert not (tmp_path / "nowhere").exists()


@posix
def test_a_file_the_person_made_read_only_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    note = tmp_path / "note.md"
    note.write_bytes(b"one")
    note.chmod(0o444)
    if os.geteuid() == 0:
        monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StorageError) as caught:
        write_atomic(note, b"two", expected=ANYTHING)
    assert caught.value.code == errno.EACCES
    assert note.read_bytes() == b"one"


def test_a_missing_folder_is_not_made(tmp_path: Path):
    with pytest.raises(StorageError) as caught:
        write_atomic(tmp_path / "gone" / "note.md", b"x", expected=ABSENT)
    assert caught.value.code == errno.ENOENT
    with pytest.raises(StorageError):
        append(tmp_path / "gone" / "log", b"x")
    assert names(tmp_path) == []


def test_a_folder_in_the_way(tmp_path: Path):
    (tmp_path / "x").mkdir()
    for act in (
        lambda: write_atomic(tmp_path / "x", b"x", expected=ANYTHING),
        lambda: append(tmp_path / "x", b"x"),
        lambda: read_bytes(tmp_path / "x"),
        lambda: sha256_of(tmp_path / "x"),
        lambda: write_once(tmp_path / "x", b"x"),
    ):
        with pytest.raises(StorageError) as caught:
            act()
        assert caught.value.code == errno.EISDIR
        assert caught.value.hint
    assert names(tmp_path) == ["x"]


def test_too_long_a_name_is_a_storage_error(tmp_path: Path):
    with pytest.raises(StorageError) as caught:
        write_atomic(tmp_path / ("x" * 300), b"x", expected=ABSENT)
    assert caught.value.code == errno.ENAMETOOLONG


@posix
def test_the_longest_note_name_leaves_room_for_the_temporary_file(tmp_path: Path):
    name = "名" * 84 + ".md"  # 255 bytes
    write_atomic(tmp_path / name, b"x", expected=ABSENT)
    assert names(tmp_path) == [name]


def test_a_full_disk_leaves_nothing_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    note = tmp_path / "note.md"
    note.write_bytes(b"one")
    log = tmp_path / "log"
    log.write_bytes(b"line\n")
    real = os.write
    room = [3]

    def short_write(fd: int, content: bytes) -> int:
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        part = bytes(content)[: room[0]]
        room[0] -= len(part)
        return real(fd, part)

    monkeypatch.setattr(os, "write", short_write)
    with pytest.raises(StorageError) as caught:
        append(log, b"another line\n")
    assert caught.value.code == errno.ENOSPC
    assert "full" in caught.value.message
    assert log.read_bytes() == b"line\n"
    room[0] = 3
    with pytest.raises(StorageError):
        write_atomic(note, b"two two two", expected=ANYTHING)
    assert note.read_bytes() == b"one"
    room[0] = 3
    with pytest.raises(StorageError):
        write_once(tmp_path / "ab" / "blob", b"two two two")
    assert names(tmp_path / "ab") == []
    room[0] = 10**6
    append(log, b"another line\n")
    assert log.read_bytes() == b"line\nanother line\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_FSIZE as a full disk")
def test_a_real_write_that_stops_half_way_is_cut_back(tmp_path: Path):
    script = textwrap.dedent(
        """
        import resource, signal, sys
        from vir_core.machine import StorageError, append
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        append(sys.argv[1], b"x" * 900)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        try:
            append(sys.argv[1], b"y" * 900)
        except StorageError as error:
            print(error.code)
        """
    )
    log = tmp_path / "log"
    done = subprocess.run([sys.executable, "-c", script, str(log)], capture_output=True, text=True, check=True)
    assert int(done.stdout) == errno.EFBIG
    assert log.read_bytes() == b"x" * 900


def test_a_failed_flush_is_cut_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    log = tmp_path / "log"
    append(log, b"one\n")

    def fails(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(native, "sync_file", fails)
    with pytest.raises(StorageError):
        append(log, b"two\n")
    assert log.read_bytes() == b"one\n"
    append(log, b"three\n", fsync=False)
    assert log.read_bytes() == b"one\nthree\n"


def test_an_interrupt_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    log = tmp_path / "log"
    append(log, b"one\n")
    real = os.write

    def interrupted(fd: int, content: bytes) -> int:
        real(fd, bytes(content)[:2])
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        append(log, b"two\n")
    assert log.read_bytes() == b"one\n"


def test_cutting_back_never_takes_what_somebody_else_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    log = tmp_path / "log"
    append(log, b"one\n")
    real = os.write

    def other_writer(fd: int, content: bytes) -> int:
        real(fd, bytes(content)[:2])
        with log.open("ab") as other:
            other.write(b"a long line of another writer\n")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", other_writer)
    with pytest.raises(StorageError):
        append(log, b"two\n")
    assert log.read_bytes().endswith(b"a long line of another writer\n")


def test_append_says_where_it_wrote(tmp_path: Path):
    log = tmp_path / "log"
    assert append(log, b"one\n") == 0
    assert append(log, b"two\n") == 4
    assert append(log, b"") == 8
    assert log.read_bytes() == b"one\ntwo\n"


def test_two_processes_appending_keep_their_lines_whole(tmp_path: Path):
    log = tmp_path / "log"
    script = (
        "import sys\nfrom vir_core.machine import append\n"
        "for n in range(100): append(sys.argv[1], (sys.argv[2] * 2000 + '\\n').encode(), fsync=False)"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(log), letter]) for letter in "ab"]
    assert [each.wait() for each in running] == [0, 0]
    lines = log.read_bytes().splitlines()
    assert len(lines) == 200
    assert set(lines) == {b"a" * 2000, b"b" * 2000}


def test_write_once(tmp_path: Path):
    blob = tmp_path / "ab" / "blob.txt"
    write_once(blob, b"content")
    before = blob.stat().st_mtime_ns
    write_once(blob, b"content")
    assert blob.stat().st_mtime_ns == before
    blob.write_bytes(b"cont")
    write_once(blob, b"content")
    assert blob.read_bytes() == b"content"
    blob.write_bytes(b"\0" * 7)
    write_once(blob, b"content")
    assert blob.read_bytes() == b"content"
    with pytest.raises(StorageError):
        write_once(tmp_path / "gone" / "ab" / "blob.txt", b"content")
    assert not (tmp_path / "gone").exists()


def test_reading_what_is_not_there(tmp_path: Path):
    for read in (read_bytes, sha256_of, file_id):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "gone")


@posix
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for act in (read_bytes, sha256_of, lambda path: append(path, b"x")):
        with pytest.raises(StorageError):
            act(pipe)


@posix
@not_root
def test_no_permission_says_so(tmp_path: Path):
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "x").write_bytes(b"x")
    folder.chmod(0)
    try:
        for act in (
            lambda: read_bytes(folder / "x"),
            lambda: write_atomic(folder / "x", b"y", expected=ANYTHING),
            lambda: append(folder / "x", b"y"),
            lambda: make_dirs(folder / "a"),
        ):
            with pytest.raises(StorageError) as caught:
                act()
            assert "permission" in caught.value.message
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize("code", [errno.EROFS, errno.EDQUOT, errno.EPERM, errno.EIO, errno.ENOTDIR, 9999])
def test_every_refusal_is_a_sentence_with_advice(code: int):
    error = StorageError.of(OSError(code, "reason"), "/some/path")
    assert "/some/path" in error.message
    assert error.message.endswith(".") and error.hint.endswith(".")
    assert error.code == code


def test_file_id_follows_the_file(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x")
    before = file_id(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    assert file_id(tmp_path / "b") == before


def test_make_dirs(tmp_path: Path):
    make_dirs(tmp_path / "a" / "b", private=True)
    make_dirs(tmp_path / "a" / "b")
    if os.name != "nt":
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    (tmp_path / "file").write_bytes(b"x")
    for path in (tmp_path / "file", tmp_path / "file" / "c"):
        with pytest.raises(StorageError) as caught:
            make_dirs(path)
        assert caught.value.code == errno.ENOTDIR


@pytest.mark.parametrize("rename_works", [True, False])
def test_rename_never_replaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rename_works: bool):
    if os.name != "nt" and not rename_works:
        monkeypatch.setattr(native, "_renamed", lambda src, dst: False)
    (tmp_path / "rejected").mkdir()
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "rejected" / "a").write_bytes(b"older")
    with pytest.raises(Changed):
        rename_no_replace(tmp_path / "a", tmp_path / "rejected" / "a")
    assert (tmp_path / "rejected" / "a").read_bytes() == b"older"
    assert (tmp_path / "a").read_bytes() == b"a"
    rename_no_replace(tmp_path / "a", tmp_path / "rejected" / "b")
    assert (tmp_path / "rejected" / "b").read_bytes() == b"a"
    assert names(tmp_path) == ["rejected"]
    with pytest.raises(Changed) as caught:
        rename_no_replace(tmp_path / "a", tmp_path / "rejected" / "c")
    assert caught.value.path == str(tmp_path / "a")
    with pytest.raises(StorageError):
        rename_no_replace(tmp_path / "rejected" / "b", tmp_path / "gone" / "b")
    assert (tmp_path / "rejected" / "b").read_bytes() == b"a"
    assert names(tmp_path / "rejected") == ["a", "b"]


@pytest.mark.slow
def test_a_file_in_use_is_waited_for_then_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    note = tmp_path / "note.md"
    note.write_bytes(b"one")
    real = os.replace
    until = time.monotonic() + 0.3

    def in_use(src: str, dst: str) -> None:
        if time.monotonic() < until:
            raise OSError(errno.EBUSY, "Device or resource busy")
        real(src, dst)

    monkeypatch.setattr(os, "replace", in_use)
    write_atomic(note, b"two", expected=ANYTHING)
    assert note.read_bytes() == b"two"
    until = time.monotonic() + 60
    with pytest.raises(Busy):
        write_atomic(note, b"three", expected=ANYTHING)
    assert note.read_bytes() == b"two"
    assert names(tmp_path) == ["note.md"]


def test_sweeping_takes_only_our_old_temporary_files(tmp_path: Path):
    old = time.time() - 7200
    ours = tmp_path / ".vir-0123456789abcdef.tmp"
    young = tmp_path / ".vir-fedcba9876543210.tmp"
    others = [
        tmp_path / name
        for name in (".vir-notes.tmp", "vir-0123456789abcdef.tmp", ".vir-0123456789ABCDEF.tmp", "note.md")
    ]
    for path in (ours, young, *others):
        path.write_bytes(b"x")
        os.utime(path, (old, old))
    os.utime(young)
    (tmp_path / ".vir-00000000000000ff.tmp").mkdir()
    assert sweep_leftovers(tmp_path) == [ours]
    assert not ours.exists()
    assert all(path.exists() for path in (young, *others))
    assert sweep_leftovers(tmp_path / "gone") == []


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_killed_writer_leaves_the_old_or_the_new_file(tmp_path: Path):
    """Killed at twenty random moments while replacing and appending: never half a file, and only our temporary files."""
    script = textwrap.dedent(
        """
        import sys
        from vir_core.machine import ANYTHING, append, write_atomic
        note, log = sys.argv[1:]
        print("ready", flush=True)
        n = 0
        while True:
            n += 1
            write_atomic(note, bytes([48 + n % 10]) * 200_000, expected=ANYTHING)
            append(log, b"z" * 5000 + b"\\n")
        """
    )
    folder = tmp_path / "vault"
    folder.mkdir()
    note, log = folder / "note.md", folder / "log"
    for round_ in range(20):
        with subprocess.Popen([sys.executable, "-c", script, str(note), str(log)], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(0.01 + round_ * 0.003)
            child.kill()
        if note.exists():
            content = note.read_bytes()
            assert len(content) == 200_000 and len(set(content)) == 1
        if log.exists():
            assert all(len(line) == 5000 for line in log.read_bytes().splitlines())
    leftovers = [name for name in names(folder) if name not in ("note.md", "log")]
    sweep_leftovers(folder, older_than=-1)
    assert names(folder) == ["log", "note.md"], leftovers
