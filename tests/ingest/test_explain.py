"""`sessions explain`: a page that a person understands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vir_core.cli.show import show
from vir_core.contract import Explained, RequestError, SessionsRequest
from vir_core.ingest import sessions
from vir_core.ingest.explain import _CHANGES, _WHAT
from vir_core.transcripts.session import Driver


def explain(world, word: str) -> Explained:
    request = SessionsRequest(
        vault=str(world.vault), claude_dir=(str(world.claude),), codex_dir=(str(world.codex),), explain=word
    )
    page = sessions(request).explained
    assert page is not None
    return page


def test_every_file_of_the_examples_has_a_page(world) -> None:
    world.run()
    rows = sessions(
        SessionsRequest(vault=str(world.vault), claude_dir=(str(world.claude),), codex_dir=(str(world.codex),))
    )
    assert len(rows.sessions) > 15
    for row in rows.sessions:
        page = explain(world, row.path)
        assert page.session == row
        assert page.what.endswith(".") and page.why and page.changes
        assert [line.n for line in page.lines] == sorted(line.n for line in page.lines)
        if row.human_turns:
            assert page.prompts
        if row.state == "noted":
            assert (world.vault / page.note).is_file()


def test_every_driver_has_words() -> None:
    drivers = set(Driver.__args__)  # type: ignore[attr-defined]
    assert set(_WHAT) == set(_CHANGES) == drivers


def test_the_lines_named_are_the_lines_of_the_file(world) -> None:
    page = explain(world, "8ccdf090")
    lines = Path(page.session.path).read_text("utf-8").splitlines()
    prompts = [line for line in page.lines if line.says.startswith("a prompt")]
    assert prompts
    for line in prompts:
        record = json.loads(lines[line.n - 1])
        assert record["type"] == "user"
        assert line.text.split()[0] in json.dumps(record, ensure_ascii=False)


def test_a_session_is_found_by_id_key_path_and_the_beginning_of_its_id(world) -> None:
    one = explain(world, "8ccdf090-6c9a-478d-b9b3-124cfff2449e")
    path = one.session.path
    assert one == explain(world, f"claude:{one.session.session}") == explain(world, path) == explain(world, "8ccdf090")


def test_an_agents_file_names_the_session_that_started_it_and_back(world) -> None:
    page = explain(world, str(next(world.claude.rglob("agent-*.jsonl"))))
    assert page.session.driver == "subagent"
    assert page.parent == "claude:ad4a85bc-4557-430b-9709-cfd8dd1439e7"
    assert page.key in explain(world, page.parent).children


def test_words_that_name_nothing_or_several_are_refused(world) -> None:
    with pytest.raises(RequestError, match="No session here"):
        explain(world, "nothing")
    with pytest.raises(RequestError, match="More than one"):
        explain(world, "claude:")


def test_a_secret_in_a_prompt_is_not_on_the_page(world) -> None:
    secret = "ghp_" + "Zk3vQ9xT7bLm2Rw8Yd5Nc1Hf6Js4Gp0AeUiO"
    world.grow("8ccdf090-6c9a-478d-b9b3-124cfff2449e", f"use {secret} to log in", "done")
    page = explain(world, "8ccdf090")
    shown = show(
        "sessions", SessionsRequest(), sessions(SessionsRequest(claude_dir=(str(world.claude),), explain="8ccdf090"))
    )
    assert "to log in" in repr(page)
    assert secret not in repr(page) and secret not in shown


def test_the_command_line_takes_it_as_words_and_as_json(world) -> None:
    words = ["--vault", str(world.vault), "--claude-dir", str(world.claude)]
    done = world.cli("sessions", "explain", "8ccdf090", *words)
    assert done.returncode == 0, done.stderr
    for part in ("A session that you drove", "Why:", "Lines that say so:", "What would change it:"):
        assert part in done.stdout
    done = world.cli("sessions", "explain", "8ccdf090", "--json", *words)
    reply = json.loads(done.stdout)
    assert reply["explained"]["session"]["driver"] == "human" and reply["sessions"] == []


def test_a_file_that_went_away_still_has_a_page(world) -> None:
    page = explain(world, "8ccdf090")
    path = Path(page.session.path)
    request = SessionsRequest(vault=str(world.vault), claude_dir=(str(world.claude),), explain=str(path))
    path.unlink()
    with pytest.raises(RequestError):
        sessions(request)


def test_a_compressed_rollout_shows_its_lines(world) -> None:
    import zstandard

    plain = next(path for path in sorted(world.codex.rglob("rollout-*.jsonl")) if explain(world, str(path)).lines)
    before = explain(world, str(plain))
    packed = plain.with_name(plain.name + ".zst")
    packed.write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    plain.unlink()
    after = explain(world, str(packed))
    assert after.lines == before.lines and after.turns == before.turns and after.prompts == before.prompts
    packed.write_bytes(packed.read_bytes()[:-20])
    assert explain(world, str(packed)).why
