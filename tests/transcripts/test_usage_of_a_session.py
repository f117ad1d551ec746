"""Tokens of a session are counted once, over every file that holds a part of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.transcripts.conftest import Claude, Codex
from vir_core.transcripts import Thread, find, join_lineage, survey, usage_of
from vir_core.transcripts.session import Usage

OTHER = "99999999-2222-4333-8444-555555555555"


def threads(tmp_path: Path) -> list[Thread]:
    projects = tmp_path / "projects"
    return list(
        join_lineage(
            survey(
                find(
                    [projects] if projects.is_dir() else [],
                    [path for path in (tmp_path / "codex", tmp_path / "old") if path.is_dir()],
                ),
                None,
            ).sessions
        ).threads
    )


def answer(file: Claude, message: str, output: int, request: str = "", **fields: Any) -> None:
    usage = {"input_tokens": 10, "output_tokens": output, "cache_read_input_tokens": 100}
    block = {"type": "text", "text": f"{message} says {output}"}
    more = {"requestId": request} if request else {}
    file.record(
        "assistant", message={"id": message, "model": "m", "content": [block], "usage": usage}, **more, **fields
    )


def test_a_resumed_copy_repeats_its_answers_and_adds_its_own(tmp_path: Path, claude: Callable[..., Claude]) -> None:
    first = claude()
    first.user("why does the build hang?")
    answer(first, "msg_1", 5, "req_1")
    answer(first, "msg_1", 20, "req_1")
    answer(first, "msg_2", 7, "req_2")
    first.write(tmp_path)
    resumed = claude(OTHER)
    resumed.user("why does the build hang?")
    answer(resumed, "msg_1", 20, "req_1")
    answer(resumed, "msg_2", 30, "req_2")
    resumed.user("and now?")
    answer(resumed, "msg_3", 1, "req_3")
    resumed.write(tmp_path)
    [thread] = threads(tmp_path)
    assert len(thread.files) == 2
    assert usage_of(thread) == Usage(answers=3, fresh=30, written=0, cached=300, output=51)
    assert sum(facts.usage.answers for facts in thread.files) == 5


def test_two_sessions_are_two_counts(tmp_path: Path, claude: Callable[..., Claude]) -> None:
    for session, start in ((None, 0), (OTHER, 100)):
        file = claude(session) if session else claude()
        file.n = start
        file.user("why does the build hang?")
        answer(file, f"msg_{start}", 5)
        file.write(tmp_path)
    assert [usage_of(thread).output for thread in threads(tmp_path)] == [5, 5]


def test_a_copy_that_went_away_costs_nothing(tmp_path: Path, claude: Callable[..., Claude]) -> None:
    file = claude()
    file.user("why does the build hang?")
    answer(file, "msg_1", 5)
    path = file.write(tmp_path)
    copy = tmp_path / "projects" / "-elsewhere" / path.name
    copy.parent.mkdir()
    shutil.copy(path, copy)
    [thread] = threads(tmp_path)
    assert usage_of(thread) == Usage(1, 10, 0, 100, 5)
    copy.unlink()
    assert usage_of(thread) == Usage(1, 10, 0, 100, 5)


def tokens(file: Codex, taken: int, output: int) -> None:
    total = {"input_tokens": taken, "cached_input_tokens": 0, "output_tokens": output}
    file.event("token_count", info={"total_token_usage": total})


def test_an_archived_copy_of_a_rollout_is_counted_once(tmp_path: Path, codex: Callable[..., Codex]) -> None:
    file = codex()
    file.meta()
    file.asks("why does the build hang?")
    file.answers("The lock is held.")
    tokens(file, 100, 10)
    file.write(tmp_path / "old")
    file.asks("and now?")
    file.answers("It is free.")
    tokens(file, 300, 25)
    file.write(tmp_path / "codex")
    [thread] = threads(tmp_path)
    assert len(thread.files) == 2
    assert usage_of(thread) == Usage(answers=2, fresh=300, written=0, cached=0, output=25)
