"""What a pass over the transcripts writes down holds nobody's words, and a later pass answers the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from tests.transcripts.conftest import Claude, Codex
from vir_core.transcripts import Survey, find, join_lineage, names_of, survey
from vir_core.transcripts.provenance import OWN_FIRST_LINE

SECRET = "xyzzy-plugh-secret"


def look(tmp_path: Path, cache: Path | None) -> Survey:
    projects, codex = tmp_path / "projects", tmp_path / "sessions"
    return survey(find([projects] if projects.is_dir() else [], [tmp_path] if codex.is_dir() else []), cache)


def spoken(claude: Callable[..., Claude]) -> Claude:
    file = claude()
    file.state("summary", summary=f"summary {SECRET}", leafUuid="aaaaaaaa-0000-4000-8000-000000000001")
    file.state("ai-title", aiTitle=f"ai {SECRET}")
    file.state("custom-title", customTitle=f"title {SECRET}")
    file.user(f"first {SECRET}")
    file.state("queue-operation", operation="enqueue", content=f"queued {SECRET}", timestamp="2026-03-04T10:30:00.000Z")
    file.says(f"answer {SECRET}")
    return file


def test_neither_the_rows_nor_where_to_go_on_hold_a_word(
    tmp_path: Path, claude: Callable[..., Claude], codex: Callable[..., Codex]
) -> None:
    spoken(claude).write(tmp_path)
    rollout = codex()
    rollout.meta()
    rollout.asks(f"first {SECRET}")
    rollout.answers(f"answer {SECRET}")
    rollout.event("thread_name_updated", thread_name=f"title {SECRET}")
    rollout.write(tmp_path)
    cache = tmp_path / "scan"
    first = look(tmp_path, cache)
    assert {facts.title for facts in first.sessions} == {f"title {SECRET}"}
    assert all(SECRET in facts.first_prompt and facts.titled for facts in first.sessions)
    assert SECRET.encode() not in cache.read_bytes()
    again = look(tmp_path, cache)
    assert again.bytes_read == 0
    for new, old in zip(again.sessions, first.sessions, strict=True):
        assert (new.title, new.first_prompt) == ("", "")
        assert names_of(new) == names_of(old) == (f"title {SECRET}", f"first {SECRET}")
        assert msgspec.structs.replace(old, title="", first_prompt="") == new


def test_a_file_that_grew_is_summed_up_as_if_read_anew(tmp_path: Path, claude: Callable[..., Claude]) -> None:
    file = spoken(claude)
    file.write(tmp_path)
    cache = tmp_path / "scan"
    look(tmp_path, cache)
    file.user("and then?")
    file.write(tmp_path)
    grown, anew = look(tmp_path, cache), look(tmp_path, None)
    assert 0 < grown.bytes_read < anew.bytes_read
    [one], [other] = grown.sessions, anew.sessions
    assert msgspec.structs.replace(other, title="", first_prompt="") == msgspec.structs.replace(
        one, title="", first_prompt=""
    )
    assert one.human_turns == 3 and names_of(one)[0] == f"title {SECRET}"
    assert SECRET.encode() not in cache.read_bytes()


def test_whose_words_a_file_opened_with_is_remembered_without_them(
    tmp_path: Path, claude: Callable[..., Claude]
) -> None:
    openings = {
        "1": f"{OWN_FIRST_LINE}\nvir/distil/1 {SECRET}",
        "2": f"Hello memory agent, {SECRET}",
        "3": f"<teammate-message from=lead>{SECRET}</teammate-message>",
        "4": f"plain {SECRET}",
    }
    files: list[Claude] = []
    for digit, opening in openings.items():
        file = claude(f"{digit * 8}-2222-4333-8444-555555555555")
        file.n = int(digit) * 100
        file.user(opening)
        file.says("yes")
        file.write(tmp_path)
        files.append(file)
    cache = tmp_path / "scan"
    before = [facts.driver for facts in look(tmp_path, cache).sessions]
    assert before == ["observer", "observer", "teammate", "human"]
    for file in files:
        file.says("more")
        file.write(tmp_path)
    grown = look(tmp_path, cache)
    assert [facts.driver for facts in grown.sessions] == before
    assert grown.bytes_read < look(tmp_path, None).bytes_read
    assert SECRET.encode() not in cache.read_bytes()


def test_a_title_joins_a_compacted_file_from_the_cache_too(tmp_path: Path, claude: Callable[..., Claude]) -> None:
    early = claude()
    early.state("custom-title", customTitle="One title")
    early.user("start")
    early.says("done")
    early.write(tmp_path)
    late = claude("99999999-2222-4333-8444-555555555555")
    late.n = 3
    late.state("custom-title", customTitle="One title")
    late.user("This session is being continued from a previous conversation. …", isCompactSummary=True)
    late.user("go on")
    late.says("done")
    cache = tmp_path / "scan"
    look(tmp_path, cache)
    late.write(tmp_path)
    assert len(join_lineage(look(tmp_path, cache).sessions).threads) == 1
