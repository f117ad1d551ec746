"""What the distiller makes of things that did not happen, did not last, or were decided in the end."""

from __future__ import annotations

import pytest
from msgspec import Struct

from vir_core.distil import Extract, NothingDurable, extract
from vir_core.distil.fates import fates_of
from vir_core.distil.leads import capitalised
from vir_core.distil.naming import branch_topic, thin
from vir_core.transcripts.condensing import Condensed, condense
from vir_core.transcripts.turns import Turn, TurnKind


class Facts(Struct, frozen=True, kw_only=True):
    title: str = ""
    cwd: str = "/home/dev/shop"
    branches: tuple[str, ...] = ("main",)


class Session(Struct, frozen=True):
    turns: tuple[Turn, ...]


Said = tuple[TurnKind, str] | tuple[TurnKind, str, str]


def condensed(*said: Said) -> Condensed:
    return condense(
        Session(
            tuple(
                Turn(id=f"t{n}", kind=s[0], text=s[1], at="2026-11-30T10:00:00Z", tool=s[2] if len(s) > 2 else "")
                for n, s in enumerate(said)
            )
        )
    )


def note(*said: Said, facts: Facts | None = None) -> Extract:
    found = extract(condensed(*said), facts or Facts(), "shop")
    assert isinstance(found, Extract), found
    return found


def texts(found: Extract) -> str:
    return "\n".join(lesson.text for lesson in found.lessons)


CAUSE = "Fares stay old because a price change deletes only the keys of its own route, and `fare:return` hides under the outward leg."
ASKED: Said = ("prompt", "after a price change people see the old fare until the next day, find out why")
RESULT: Said = ("tool_result", "ok\nok", "Bash")


@pytest.mark.parametrize(
    "answer",
    [
        ("refusal", "don't flush production", "Bash"),
        ("interrupt", "", "Bash"),
        ("interrupt", ""),
        ("error", "The user doesn't want to proceed with this tool use. The tool use was rejected.", "Bash"),
        ("error", "Command rejected by user", ""),
        ("error", "bash: kv: command not found", "Bash"),
    ],
)
def test_a_command_that_never_ran_is_no_run_and_no_evidence(answer: Said) -> None:
    found = note(
        ASKED,
        ("tool_call", "npm run kv:flush -- --env production", "Bash"),
        answer,
        ("assistant", "Understood, I leave production alone."),
        ("prompt", "so what is it?"),
        ("tool_call", "npm test -- fares", "Bash"),
        RESULT,
        ("assistant", CAUSE),
    )
    assert "kv:flush" not in found.context
    assert "`npm test -- fares`" in found.context
    if answer[0] != "error" or "found" not in answer[1]:
        assert not any("kv:flush" in near.text for lesson in found.lessons for near in lesson.around)


def test_calls_side_by_side_are_told_apart() -> None:
    turns = condensed(
        ASKED,
        ("tool_call", "npm test -- fares", "Bash"),
        ("tool_call", "npm run kv:flush", "Bash"),
        ("tool_call", "/home/dev/shop/a.ts", "Read"),
        RESULT,
        ("interrupt", "", "Bash"),
        ("tool_result", "x", "Read"),
    ).turns
    assert fates_of(turns).refused == {2}


def test_the_later_of_two_calls_is_meant_when_one_had_nothing_to_say() -> None:
    turns = condensed(
        ASKED, ("tool_call", "make a", "Bash"), ("tool_call", "make b", "Bash"), ("interrupt", "", "Bash")
    ).turns
    assert fates_of(turns).refused == {2}


def test_an_edit_that_failed_changed_nothing() -> None:
    found = note(
        ("prompt", "raise the retry limit in notes.md please"),
        ("tool_call", "/home/dev/shop/notes.md: max_retries: 3 → max_retries: 5", "Edit"),
        ("error", "String to replace not found in file", "Edit"),
        (
            "assistant",
            "Decision: raise `max_retries` to 5 because the upstream drops 2% of connections. Changed `max_retries` in `notes.md`, so calls are retried five times.",
        ),
    )
    assert "notes.md" not in found.context
    assert "Decision" in [lesson.lead for lesson in found.lessons]
    assert "Changed `max_retries`" not in texts(found)


@pytest.mark.parametrize(
    "undo",
    [
        ("tool_call", "/home/dev/shop/.gitignore: a wingman.lock → a", "Edit"),
        ("tool_call", "git checkout -- .gitignore", "Bash"),
        ("tool_call", "git restore --staged --worktree .gitignore && git status", "Bash"),
        ("tool_call", "rm -f /home/dev/shop/.gitignore", "Bash"),
        ("tool_call", "git reset --hard", "Bash"),
    ],
)
def test_a_file_whose_change_was_undone_is_not_listed(undo: Said) -> None:
    found = note(
        ASKED,
        ("tool_call", "/home/dev/shop/.gitignore: a → a wingman.lock", "Edit"),
        RESULT,
        ("prompt", "the tool should do that itself, not this repository"),
        undo,
        RESULT,
        ("tool_call", "/home/dev/shop/common.go: tmp → tmp wingman.lock", "Edit"),
        RESULT,
        ("assistant", CAUSE),
    )
    assert ".gitignore" not in found.context
    assert "common.go" in found.context


def test_a_claim_is_dropped_when_the_same_error_comes_back() -> None:
    wrong = "The issue was that `npm ci` has a known bug in containers, so the fix is to use `npm install`."
    right = "The build fails because the base image has no `python3`, which `node-gyp` needs for `better-sqlite3`."
    error = "exit code 1\nnpm error Exit handler never called in this build!"
    found = note(
        ("prompt", "the container does not build, please find out why"),
        ("tool_call", "container build .", "Bash"),
        ("error", error, "Bash"),
        ("assistant", wrong),
        ("tool_call", "/home/dev/shop/Containerfile: npm ci → npm install", "Edit"),
        RESULT,
        ("tool_call", "container build .", "Bash"),
        ("error", error, "Bash"),
        ("assistant", right),
    )
    assert wrong not in texts(found)
    assert right in texts(found)


def test_a_claim_about_something_removed_later_is_dropped_and_a_cause_stays() -> None:
    cause = "Staging misses files because `StageFiles()` uses the cache of go-git, which never sees external changes."
    stale = "The old `StageFiles()` function at `common.go:719` is now dead code, it has no callers."
    found = note(
        ("prompt", "can you review the staging change in this branch?"),
        ("assistant", f"{cause}\n\n{stale}"),
        ("prompt", "ok, take it out then"),
        ("tool_call", "/home/dev/shop/common.go: func StageFiles() { a } → ", "Edit"),
        RESULT,
        (
            "assistant",
            "Removed `StageFiles()` from `common.go`; staging goes through `StageFilesWithCLI()` everywhere.",
        ),
    )
    assert stale not in texts(found)
    assert cause in texts(found)


def test_a_test_that_an_edit_replaced_is_not_described() -> None:
    stale = "The test `TestDefaults` doesn't actually test the default because `Hidden: true` returns early."
    found = note(
        ("prompt", "look at the telemetry tests please"),
        ("assistant", stale),
        ("tool_call", "/home/dev/shop/a_test.go: func TestDefaults(t) → func TestBuildPayload(t)", "Edit"),
        RESULT,
        ("assistant", "`BuildPayload()` is separate from the spawning now, because only so can its default be tested."),
    )
    assert stale not in texts(found)


def test_of_two_measurements_the_later_stands() -> None:
    early = "The query on `open_alerts` still takes ~800 ms with the index, so the planner does not use it."
    late = "The query on `open_alerts` takes 2 ms because the planner uses the index when the predicate is a literal."
    found = note(
        ("prompt", "why is open_alerts slow?"),
        ("assistant", early),
        ("tool_call", "/home/dev/shop/open.sql: a → b", "Edit"),
        RESULT,
        ("assistant", late),
    )
    assert late in texts(found)
    assert early not in texts(found)


def test_the_option_the_person_picked_is_kept_and_the_other_is_not() -> None:
    found = note(
        ("prompt", "how should the cache be invalidated?"),
        (
            "assistant",
            "Two ways:\n\nA) Delete the keys of every route in `fares/api.ts`, because that needs no schema.\n\n"
            "B) Put a price version into the key of `fareKey()`, because a change can touch hundreds of routes.",
        ),
        ("prompt", "yes, do B"),
        ("tool_call", "/home/dev/shop/fares/api.ts: a → b", "Edit"),
        RESULT,
        ("assistant", "Done, the tests pass."),
    )
    assert "price version" in texts(found)
    assert "Delete the keys" not in texts(found)


@pytest.mark.parametrize(
    "chore",
    [
        "Updated Go version from 1.25.5 to 1.25.6 in `mise.toml` and `go.mod`.",
        "Resolved the conflict in `hooks.go` and `hooks_test.go`.",
        "Line 58: `bytes(...)` to `[]byte(...)`.",
        "Added tests for `appendShellCompletion()` and `detectShell()`.",
        "`TestConflict_WarningMessage` - Verifies the message holds both `session_id` values.",
        "However, the `Summary` comment in `checkpoint.go:394` says:\n- `1/` first\n- `2/` second",
    ],
)
def test_lines_of_a_change_log_are_no_lessons(chore: str) -> None:
    found = extract(
        condensed(("prompt", "please get the shell branch ready for review"), ("assistant", chore)), Facts(), "shop"
    )
    assert isinstance(found, NothingDurable)


def test_a_change_with_its_reason_is_one() -> None:
    reason = "Updated `go.mod` to Go 1.25.6, because 1.25.5 miscompiles `crypto/rand` on arm64."
    assert reason in texts(note(("prompt", "the arm64 build crashes, please look"), ("assistant", reason)))


def test_a_lesson_inside_another_is_not_said_twice() -> None:
    short = "`setupRepo` uses `t.Chdir()`, which means these tests cannot use `t.Parallel()`"
    found = note(
        ("prompt", "why do the tests panic?"),
        ("assistant", f"{short}."),
        ("prompt", "explain in full"),
        ("assistant", f"{short} because Go panics when both are used in one test."),
    )
    assert texts(found).count("setupRepo") == 1


@pytest.mark.parametrize(
    ("branch", "topic"),
    [
        ("claude/fix-pool-leak-n63c70", "Fix pool leak"),
        ("feat/add-sha256-digest", "Add sha256 digest"),
        ("agent/stale-fares-8f3a2b1", "Stale fares"),
        ("fix/ipv6-support-v2", "Ipv6 support v2"),
    ],
)
def test_branches_lose_what_a_tool_appends(branch: str, topic: str) -> None:
    assert branch_topic((branch,)).casefold() in (topic.casefold(), f"fix {topic}".casefold())


@pytest.mark.parametrize("vague", ["Talk about secrets", "Improve enable", "Fix the tests"])
def test_a_thin_request_yields_to_the_main_finding(vague: str) -> None:
    assert thin(vague)
    answer = "`redact.Bytes()` leaks short secrets, because its pattern needs ten characters."
    found = note(
        ("prompt", f"{vague} please"), ("assistant", f"{answer} So secrets below ten characters stay in logs.")
    )
    assert found.title.startswith("redact.Bytes() leaks short secrets") or found.title.startswith(
        "redact.Bytes leaks short secrets"
    )


def test_a_branch_and_a_prompt_never_run_together() -> None:
    found = note(
        ("prompt", "can you address the open comments and fix the tests?"),
        ("assistant", CAUSE),
        facts=Facts(branches=("soph/allow-local-dev",)),
    )
    assert found.title == "Allow local dev" or found.title.startswith("Fares stay old")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("raise max_retries to 5", "Raise max_retries to 5"),
        ("никогда не печатай ключи", "Никогда не печатай ключи"),
        ("ποτέ μην τυπώνεις", "Ποτέ μην τυπώνεις"),
        ("max_retries is 5", "max_retries is 5"),
        ("client.close() waits", "client.close() waits"),
        ("npm ci fails", "npm ci fails"),
        ("git reset drops it", "git reset drops it"),
        ("go-git's cache", "go-git's cache"),
        ("`x` is", "`x` is"),
        ("isComposing is false", "isComposing is false"),
        ("总是", "总是"),
        ("", ""),
    ],
)
def test_a_text_begins_with_a_capital_only_where_a_plain_word_stands(text: str, shown: str) -> None:
    assert capitalised(text) == shown


def test_the_quote_stays_as_it_was_said_under_a_capital() -> None:
    lesson = note(
        ("prompt", "how often do we retry?"),
        ("assistant", "**Decision:** raise `max_retries` to 5 because the upstream drops 2% of connections."),
    ).lessons[0]
    assert lesson.text.startswith("Raise `max_retries`")
    assert "**Decision:** raise" in lesson.quote


def test_evidence_repeats_no_quote_is_short_and_shows_no_marks() -> None:
    long = " ".join(f"The number {n} of the **gauges** is read by its own task." for n in range(40))
    found = note(
        ("prompt", f"# Why does it hang?\n\n**Please** look. {long}"),
        ("assistant", CAUSE),
        ("prompt", f"- thanks, and **now**? {long}"),
        (
            "assistant",
            "**Look:** the pool is small. The worker hangs because `ingest()` holds a connection. That is *all*.",
        ),
    )
    alone = next(lesson for lesson in found.lessons if lesson.quote == CAUSE)
    assert [near.who for near in alone.around] == ["you", "you"]
    for lesson in found.lessons:
        for near in lesson.around:
            assert len(near.text) <= 300
            assert "**" not in near.text and lesson.quote not in near.text
            assert near.text.endswith((".", "…", "?"))


def test_asked_is_sentences_and_no_form_of_a_tracker() -> None:
    summary = note(
        (
            "prompt",
            "Redundant default case duplicates the other case\nLow Severity\n\nThe default case in build.go is a copy of "
            "the case before it\nand any fix has to be made twice. "
            + "More words follow here that are not needed. "
            * 8,
        ),
        ("assistant", CAUSE),
    ).summary
    assert "Severity" not in summary
    assert "duplicates the other case. The default case" in summary
    assert len(summary.split(" Outcome:")[0]) <= 210
