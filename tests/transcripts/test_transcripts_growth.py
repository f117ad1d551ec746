"""Transcripts that grow, move and grow cold: only what was added is read, and the facts are those of the whole."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import pytest

from tests.transcripts.conftest import wordless
from vir_core.transcripts import Found, find, read_turns, survey
from vir_core.transcripts import crew as crew_module
from vir_core.transcripts.lines import CHUNK, OVERSIZE

survey_module = import_module("vir_core.transcripts.surveying")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    return folder / "scan"


def full_claude(claude) -> list[bytes]:
    """A session with everything that a reader has to remember across lines."""
    file = claude()
    file.state("file-history-snapshot", messageId="x", snapshot={})
    file.user("start", permissionMode="default")
    file.state("queue-operation", operation="enqueue", content="late words", timestamp="2026-03-04T10:02:00.000Z")
    file.state("queue-operation", operation="remove", timestamp="2026-03-04T10:03:00.000Z")
    file.calls("AskUserQuestion", {"questions": []}, "q1")
    file.result('User has answered your questions: "Name?"="ledger".', "q1")
    file.state("queue-operation", operation="enqueue", content="twice", timestamp="2026-03-04T10:06:00.000Z")
    file.record("attachment", attachment={"type": "queued_command", "prompt": "twice", "commandMode": "prompt"})
    usage = {"input_tokens": 1, "output_tokens": 2}
    for output in (2, 40):
        block = {"type": "text", "text": f"part {output}"}
        file.record("assistant", message={"id": "m", "content": [block], "usage": {**usage, "output_tokens": output}})
    file.user("start", uuid="aaaaaaaa-0000-4000-8000-000000000001")  # repeated
    leaf = file.user("<command-name>/review</command-name>")
    file.state("summary", summary="A title", leafUuid=leaf)
    file.state("hologram", x=1)
    file.user("moved", cwd="/home/sam/other", gitBranch="next", version="2.1.239", entrypoint="cli")
    file.raw(b'{"torn')
    file.user("last", timestamp="2026-03-04T09:00:00.000Z")
    return file.lines


def full_codex(codex) -> list[bytes]:
    file = codex()
    file.meta(git={"branch": "main", "repository_url": "git@github.com:sam/shop.git"})
    file.asks("one")
    file.event("token_count", info={"total_token_usage": {"input_tokens": 9, "output_tokens": 4}})
    file.answers("answer one")
    file.asks("two, a mistake")
    file.event("thread_rolled_back", num_turns=1)
    file.asks("two")
    file.event("token_count", info={"total_token_usage": {"input_tokens": 19, "output_tokens": 5}})
    item = {"type": "AgentMessage", "id": "m1", "content": [{"type": "Text", "text": "Done."}]}
    file.event("item_completed", item=item)
    file.message("assistant", "Done.", id="m1")
    file.event("from_the_future")
    return file.lines


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_file_read_as_it_grew_says_what_it_says_when_read_at_once(
    claude, codex, tmp_path: Path, cache: Path, agent: str, rng: random.Random, scaled: Callable[[int], int]
) -> None:
    lines = full_claude(claude) if agent == "claude" else full_codex(codex)
    whole = b"\n".join(lines) + b"\n"
    path = tmp_path / "t" / "11111111-2222-4333-8444-555555555555.jsonl"
    path.parent.mkdir()
    for _ in range(scaled(200)):
        cache.unlink(missing_ok=True)
        path.write_bytes(b"")
        cuts = sorted(rng.randrange(1, len(whole)) for _ in range(rng.randrange(1, 6)))
        for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
            with path.open("ab") as out:
                out.write(whole[begin:end])
            grown = survey(find([path.parent], []), cache)
            fresh = survey(find([path.parent], []), None)
            assert wordless(grown) == wordless(fresh)
            assert grown.others == fresh.others


def test_only_what_was_added_behind_the_last_whole_line_is_read(claude, tmp_path: Path, cache: Path) -> None:
    file = claude()
    for n in range(50):
        file.user(f"prompt {n} " + "x" * 2000)
    path = file.write(tmp_path)
    size = path.stat().st_size
    survey(find([tmp_path / "projects"], []), cache)
    file.user("one more")
    file.write(tmp_path)
    grown = survey(find([tmp_path / "projects"], []), cache)
    assert grown.bytes_read == path.stat().st_size - size
    assert grown.sessions[0].human_turns == 51
    file.user("and one")
    file.write(tmp_path)
    assert survey(find([tmp_path / "projects"], []), cache).sessions[0].human_turns == 52


def test_where_to_go_on_is_kept_for_the_newest_files_and_older_ones_are_read_anew(
    claude, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey_module, "RESUMABLE", 1)
    paths: list[Path] = []
    for n in range(2):
        file = claude(f"{n}1111111-2222-4333-8444-555555555555")
        file.user("one")
        paths.append(file.write(tmp_path))
        os.utime(paths[-1], (1_770_000_000 + n, 1_770_000_000 + n))
    survey(find([tmp_path / "projects"], []), cache)
    for path in paths:
        with path.open("ab") as out:
            out.write(path.read_bytes().replace(b"0001", b"0002"))
    read = survey(find([tmp_path / "projects"], []), cache)
    assert [facts.human_turns for facts in read.sessions] == [2, 2]
    old, new = (path.stat().st_size for path in paths)
    assert read.bytes_read == old + new // 2


def test_a_damaged_resume_costs_time_and_nothing_else(claude, tmp_path: Path, cache: Path) -> None:
    file = claude()
    file.user("one")
    path = file.write(tmp_path)
    survey(find([tmp_path / "projects"], []), cache)
    content = cache.read_bytes()
    rest = 8 + int.from_bytes(content[:8], "big")
    for damage in (b"", b"\xc1", content[rest:-9], content[rest:].replace(b"lines", b"sinel")):
        cache.write_bytes(content[:rest] + damage)
        file.user("more")
        file.write(tmp_path)
        grown = survey(find([tmp_path / "projects"], []), cache)
        assert wordless(grown) == wordless(survey(find([path.parent], []), None))


def test_a_session_is_active_by_its_newest_record_not_by_its_file(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("go", timestamp="2026-03-04T10:00:00.000Z")
    nested = {"type": "bash_progress", "output": "still building"}
    file.record("progress", data=nested, timestamp="2026-03-04T10:12:00.000Z")
    facts = read_turns(file.write(tmp_path)).facts  # written just now
    assert facts.active(datetime(2026, 3, 4, 10, 21, 59, tzinfo=UTC))
    assert not facts.active(datetime(2026, 3, 4, 10, 22, 1, tzinfo=UTC))
    assert not facts.active(datetime.now(UTC))
    assert not facts.active(datetime(2026, 3, 3, tzinfo=UTC))  # dated a day ahead by a wrong clock
    timeless = claude()
    timeless.user("go", timestamp=None)
    assert not read_turns(timeless.write(tmp_path, "b.jsonl")).facts.active(datetime.now(UTC))


# -- cold and archived rollouts


def rollout(codex, prompt: str = "go"):
    file = codex()
    file.meta()
    file.asks(prompt)
    file.answers("done")
    return file


def test_a_compressed_rollout_is_read_like_a_plain_one(codex, tmp_path: Path, cache: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = rollout(codex).write(tmp_path)
    plain = read_turns(path)
    cold = path.with_name(path.name + ".zst")
    # Two frames, as an appending writer leaves them.
    half = path.read_bytes().index(b"\n") + 1
    content = path.read_bytes()
    cold.write_bytes(zstandard.compress(content[:half]) + zstandard.compress(content[half:]))
    path.unlink()
    (facts,) = survey(find([], [tmp_path]), cache).sessions
    assert (facts.key, facts.human_turns, facts.answers) == (plain.facts.key, 1, 1)
    assert read_turns(facts).turns == plain.turns
    assert facts.bytes == cold.stat().st_size
    assert survey(find([], [tmp_path]), cache).changed == 0


def test_the_plain_file_beside_its_compressed_copy_and_the_active_one_win(codex, tmp_path: Path) -> None:
    live = rollout(codex).write(tmp_path)
    cold = live.with_name(live.name + ".zst")
    cold.write_bytes(b"not even zstd")
    archived = tmp_path / "archived_sessions" / live.name
    archived.parent.mkdir()
    archived.write_bytes(live.read_bytes())
    found = find([], [tmp_path])
    assert [file.path for file in found.files] == [str(live)]
    assert {other.path for other in found.others} == {str(cold), str(archived)}
    assert all(str(live) in other.message for other in found.others)
    live.unlink()
    cold.unlink()
    assert [file.path for file in find([], [tmp_path]).files] == [str(archived)]


def test_a_damaged_compressed_file_gives_what_can_be_read_and_says_so(codex, tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    file = rollout(codex)
    for n in range(400):
        file.asks(f"prompt {n} " + random.Random(n).randbytes(200).hex())
    path = file.write(tmp_path)
    packed = zstandard.compress(path.read_bytes())
    path.unlink()
    cold = path.with_name(path.name + ".zst")
    cold.write_bytes(packed[: len(packed) // 2] + b"\0" * 400 + packed[len(packed) // 2 :])
    good = rollout(codex)
    good.ident = "01990000-0000-7000-8000-000000000002"
    good.write(tmp_path)
    result = survey(find([], [tmp_path]), None)
    assert result.failures == ()
    damaged = next(facts for facts in result.sessions if facts.path == str(cold))
    assert damaged.bad_lines >= 1
    assert len(result.sessions) == 2


def test_a_missing_decompressor_is_said_for_the_file_that_needs_it(
    codex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = rollout(codex).write(tmp_path)
    other = path.with_name("rollout-2026-03-04T12-00-00-01990000-0000-7000-8000-00000000000a.jsonl.zst")
    other.write_bytes(b"(\xb5/\xfd")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    result = survey(find([], [tmp_path]), None)
    assert [facts.path for facts in result.sessions] == [str(path)]
    assert "zstandard is not installed" in result.failures[0].message


def test_reading_plain_files_loads_no_decompressor(claude, tmp_path: Path) -> None:
    file = claude()
    file.user("go")
    path = file.write(tmp_path)
    code = "import sys; from vir_core.transcripts import read_turns; read_turns(sys.argv[1]); print('zstandard' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


# -- changed under our hands


@pytest.mark.parametrize("change", ["cut", "replaced", "rewritten"])
def test_a_file_that_changes_while_it_is_read_is_reported_and_the_rest_is_done(
    claude, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    from vir_core.transcripts import reading

    file = claude()
    file.user("go")
    path = file.write(tmp_path)
    other = file.write(tmp_path, "22222222-2222-4333-8444-555555555555.jsonl")
    finish = reading._finish  # pyright: ignore[reportPrivateUsage]

    def disturbed(reader, lines) -> None:
        finish(reader, lines)
        if path.exists() and "11111111" in reader._stem and not done:
            done.append(True)
            if change == "cut":
                os.truncate(path, 40)
            elif change == "replaced":
                path.with_suffix(".new").write_bytes(b"x")
                path.with_suffix(".new").replace(path)
            else:
                path.write_bytes(path.read_bytes()[::-1])
                os.utime(path, (1, 1))

    done: list[bool] = []
    monkeypatch.setattr(reading, "_finish", disturbed)
    result = survey(find([tmp_path / "projects"], []), cache)
    assert [facts.path for facts in result.sessions] == [str(other)]
    assert [failure.path for failure in result.failures] == [str(path)]
    assert "while it was being read" in result.failures[0].message
    file.write(tmp_path)
    again = survey(find([tmp_path / "projects"], []), cache)
    assert (len(again.sessions), again.failures) == (2, ())


def test_a_file_that_only_grows_while_it_is_read_is_no_trouble(
    claude, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vir_core.transcripts import reading

    file = claude()
    file.user("one")
    file.user("two")
    first, second = file.lines
    path = file.write(tmp_path)
    path.write_bytes(first + b"\n")
    finish = reading._finish  # pyright: ignore[reportPrivateUsage]

    def growing(reader, lines) -> None:
        finish(reader, lines)
        if path.stat().st_size == len(first) + 1:
            with path.open("ab") as out:
                out.write(second + b"\n")

    monkeypatch.setattr(reading, "_finish", growing)
    result = survey(find([tmp_path / "projects"], []), cache)
    assert ([facts.human_turns for facts in result.sessions], result.failures) == ([1], ())
    assert survey(find([tmp_path / "projects"], []), cache).sessions[0].human_turns == 2


# -- a second process


@pytest.fixture
def many(claude, codex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Found:
    """Forty files, and every pass over them worth a helper."""
    for n in range(40):
        file = (
            claude(f"{n:08d}-2222-4333-8444-555555555555") if n % 3 else codex(f"{n:08d}-0000-7000-8000-000000000001")
        )
        if n % 3 == 0:
            file.meta()
        for k in range(20):
            (file.user if n % 3 else file.asks)(f"prompt {k} of {n}")
        file.write(tmp_path)
    (tmp_path / "projects" / "-home-sam-shop" / "foreign.jsonl").write_text("nobody's\n")
    monkeypatch.setattr(survey_module, "WORTH_HELP", 0)
    monkeypatch.setattr(crew_module, "_BATCH", 8_000)
    monkeypatch.setattr(crew_module, "_cores", lambda: 2)
    return find([tmp_path], [tmp_path])


def test_two_processes_find_what_one_finds(many: Found, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int, str]] = []
    shared = survey(many, cache, lambda *step: seen.append(step))
    monkeypatch.setattr(survey_module, "WORTH_HELP", 1 << 60)
    alone = survey(many, None)
    assert (shared.sessions, shared.others, shared.failures) == (alone.sessions, alone.others, alone.failures)
    assert shared.bytes_read == alone.bytes_read
    assert [step[0] for step in seen] == list(range(41))
    assert survey(many, cache).changed == 0


@pytest.mark.parametrize("start", ["import sys; sys.exit(1)", "print('no frames', flush=True)", "raise SystemError"])
def test_without_a_helper_that_works_everything_is_read_here(
    many: Found, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    monkeypatch.setattr(crew_module, "_START", start)
    assert len(survey(many, None).sessions) == 40
    monkeypatch.setattr(crew_module.sys, "executable", "/nowhere/python")
    assert len(survey(many, None).sessions) == 40


def test_many_small_files_in_a_batch_do_not_lock_the_two_processes(
    many: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew_module, "_BATCH", 1 << 30)
    repeated = Found(files=many.files * 60)
    assert len(survey(repeated, None).sessions) == 40 * 60


# -- memory


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"
    filler = b"A" * 3_000
    with path.open("wb") as out:
        for n in range(60_000):
            out.write(
                b'{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"tool_result",'
                b'"tool_use_id":"t","content":"%s"}]},"uuid":"aaaaaaaa-0000-4000-8000-%012d","timestamp":'
                b'"2026-03-04T10:00:00.000Z","toolUseResult":{"stdout":""},"sessionId":"s"}\n' % (filler, n)
            )
        out.write(b'{"type":"user","message":{"content":"' + b"B" * (OVERSIZE + 80_000_000) + b'"}}\n')
        out.write(b'{"type":"user","sessionId":"s","message":{"content":"after"}}\n')
    code = (
        "import re,sys;from pathlib import Path;from vir_core.transcripts import find,survey;"
        "facts=survey(find([Path(sys.argv[1])],[]),None).sessions[0];"
        "peak=int(re.search(r'VmHWM:\\s+(\\d+)',Path('/proc/self/status').read_text())[1])//1024;"
        "print(peak,facts.lines,facts.oversize_lines,facts.human_turns)"
    )
    told = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    peak, lines, oversize, human = map(int, told.stdout.split())
    assert (lines, oversize, human) == (60_002, 1, 1)
    assert peak < 150


def test_blocks_end_with_their_lines_wherever_chunks_end(tmp_path: Path, rng: random.Random) -> None:
    from vir_core.transcripts.lines import LineReader, lines_of

    lines = [b"x" * rng.choice((0, 1, 7, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK)) for _ in range(40)]
    path = tmp_path / "lines"
    path.write_bytes(b"\n".join(lines))
    with path.open("rb") as handle:
        reader = LineReader(handle)
        blocks = [bytes(block) for block in reader]
    assert all(block.endswith(b"\n") for block in blocks)
    assert b"".join(blocks) + reader.tail == path.read_bytes()
    assert [*(line for block in blocks for line in lines_of(block)), *lines_of(reader.tail)] == [
        line for line in lines if line
    ]
    assert reader.complete == len(path.read_bytes()) - len(reader.tail)
