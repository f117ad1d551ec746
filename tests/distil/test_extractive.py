"""What the extractive distiller keeps of a session, and what it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from vir_core.distil import Extract, NothingDurable, extract
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


CAUSE = "The checkout hangs because `PaymentClient.close()` waits for `ShutdownTimeout`, which is 0 by default and means wait forever."
FIX = "I set `ShutdownTimeout` to 100 ms in `payment/client.go`, so the process exits even when the gateway is unreachable."

SESSION: tuple[Said, ...] = (
    ("prompt", "The checkout command hangs for seconds at exit, please find out why and fix it"),
    ("assistant", "Let me look at the payment client."),
    ("tool_call", "/home/dev/shop/payment/client.go", "Read"),
    ("error", "Exit code 1\npanic: context deadline exceeded"),
    ("assistant", f"Found it. {CAUSE}"),
    ("tool_call", "/home/dev/shop/payment/client.go", "Edit"),
    ("tool_call", "go test ./payment/... 2>&1 | tail -5", "Bash"),
    ("assistant", f"All tests pass. {FIX}\n\nWould you like me to commit this?"),
    ("prompt", "thanks, yes. And never call os.Exit in library code, we use run() for that"),
    ("tool_call", 'git commit -m "Stop checkout from hanging at exit"', "Bash"),
    ("assistant", "Committed as `abc1234`."),
)


def test_note_holds_cause_fix_and_rule_and_leaves_talk_out() -> None:
    found = note(*SESSION)
    assert CAUSE in texts(found)
    assert FIX in texts(found)
    assert "Never call os.Exit in library code" in texts(found)
    for talk in ("Let me look", "All tests pass", "Would you like", "Committed as"):
        assert talk not in texts(found)
    assert found.title == "Stop checkout from hanging at exit"
    assert found.category == "gotcha"
    assert "payment/client.go" in found.context and "go test ./payment/..." in found.context
    assert found.summary.startswith("Asked: The checkout command hangs")
    assert 2 <= len(found.lessons) <= 7


def test_every_quote_stands_verbatim_in_the_turn_it_names() -> None:
    c = condensed(*SESSION)
    found = note(*SESSION)
    for lesson in found.lessons:
        turn = next(turn for turn in c.turns if turn.id == lesson.turn_id)
        assert lesson.quote in turn.text
        assert lesson.at == turn.at
        assert sum(len(near.text.encode()) for near in lesson.around) <= 2048
        assert {near.who for near in lesson.around} <= {"you", "agent", "command", "error"}
    assert found.grounded == f"{len(found.lessons)} of {len(found.lessons)} lessons quote words found in the session"


def test_the_same_session_gives_the_same_note() -> None:
    assert note(*SESSION) == note(*SESSION)


WRONG = "The tests fail because `parse_date()` ignores the timezone and returns UTC for every input."
RIGHT = "The tests fail because `conftest.py` sets `TZ=UTC` before the fixtures load, so `parse_date()` never sees the zone."


@pytest.mark.parametrize(
    "objection",
    [
        "No, that's wrong. parse_date is fine",
        "that's not it, still failing",
        "不对，还是报错",
        "nein, das stimmt nicht",
        "нет, не работает",
    ],
)
def test_a_claim_the_person_rejects_is_not_kept_and_the_later_one_is(objection: str) -> None:
    found = note(
        ("prompt", "Why do the date tests fail on CI?"),
        ("assistant", WRONG),
        ("prompt", objection),
        ("tool_call", "pytest tests/test_dates.py", "Bash"),
        ("assistant", RIGHT),
    )
    assert WRONG not in texts(found) and WRONG not in found.summary
    assert RIGHT in texts(found)
    assert found.signals["taken_back"] >= 1


def test_a_claim_the_agent_takes_back_itself_is_not_kept() -> None:
    found = note(
        ("prompt", "Why do the date tests fail on CI?"),
        ("assistant", WRONG),
        ("tool_call", "pytest tests/test_dates.py", "Bash"),
        ("assistant", f"I was wrong about that. {RIGHT}"),
    )
    assert WRONG not in texts(found)
    assert RIGHT in texts(found)


def test_what_was_interrupted_is_not_kept() -> None:
    proposal = "The `exhaustive` linter requires all enum cases, so I must add `//nolint:exhaustive` to `switch.go`."
    found = note(
        ("prompt", "linting fails"),
        ("assistant", proposal),
        ("interrupt", "[Request interrupted by user for tool use]"),
        ("prompt", "could we instead just list all the cases explicitly, never use nolint here"),
        (
            "assistant",
            "Every `AgentType` is now listed explicitly in `switch.go`, because the `exhaustive` linter requires it.",
        ),
    )
    assert "nolint:exhaustive" not in texts(found)
    assert "listed explicitly" in texts(found)
    assert "never use nolint" in texts(found)


def test_near_duplicates_are_one_lesson_and_the_later_stands() -> None:
    found = note(
        ("prompt", "make the cache safe"),
        (
            "assistant",
            "The cache must take `lock.acquire()` before `cache.evict()` because two workers race on `cache.size`.",
        ),
        ("tool_call", "pytest", "Bash"),
        (
            "assistant",
            "The cache must always take `lock.acquire()` before `cache.evict()`, because two workers race on `cache.size`.",
        ),
    )
    assert texts(found).count("lock.acquire()") == 1
    assert "must always take" in texts(found)


TALKS = [
    (("prompt", "hi"), ("assistant", "Hello! How can I help you today?")),
    (("prompt", "/clarify"), ("assistant", "Could you let me know what you’d like me to clarify?")),
    (("prompt", "run the tests"), ("tool_call", "make test", "Bash"), ("assistant", "All tests pass.")),
    (
        ("prompt", "create a file notes.txt with hello in it"),
        ("assistant", "Created `notes.txt` with the specified contents."),
    ),
    (("prompt", "你好"), ("assistant", "你好！有什么可以帮你的吗？")),
    (("prompt", "ok"), ("assistant", "Great, let me know if you need anything else.")),
]


@pytest.mark.parametrize("said", TALKS, ids=range(len(TALKS)))
def test_greetings_probes_and_status_are_nothing_durable(said: tuple[Said, ...]) -> None:
    assert isinstance(extract(condensed(*said), Facts(), "shop"), NothingDurable)


def test_no_answer_is_nothing_durable() -> None:
    assert extract(condensed(("prompt", "why does it hang")), Facts(), "shop") == NothingDurable(reason="no answer")
    assert extract(condensed(), Facts(), "shop") == NothingDurable(reason="no answer")


def test_a_short_decision_without_tools_is_kept() -> None:
    found = note(
        ("prompt", "Postgres or SQLite for the sync queue? We never want a server to run."),
        (
            "assistant",
            "We'll use SQLite in WAL mode instead of Postgres, because readers must not block and no server has to run.",
        ),
    )
    assert "SQLite in WAL mode instead of Postgres" in texts(found)
    assert found.category == "decision"


LANGUAGES = [
    (
        "zh",
        "数据库连接一直超时，请修复",
        "超时的原因是 `pool.max` 默认为 5，因此第六个请求必须等待。我已将 `pool.max` 改为 20，而不是增加超时时间。",
        "`pool.max` 默认为 5",
    ),
    (
        "ja",
        "ビルドが失敗する原因を調べて直してください",
        "原因は `.nvmrc` が未設定のため、CI が古い Node を使っていたことです。`.nvmrc` に `22.1.0` を追加しました。",
        "CI が古い Node",
    ),
    (
        "de",
        "Der Export bricht ab, bitte finde die Ursache",
        "Der Export bricht ab, weil `flush()` nie aufgerufen wird. Deshalb muss `Writer.close()` immer im finally stehen.",
        "weil `flush()` nie aufgerufen wird",
    ),
    (
        "fr",
        "Corrige l'export CSV qui échoue",
        "L'export échoue parce que `csv.writer` est fermé avant `flush()`. Il faut toujours appeler `flush()` avant `close()`.",
        "parce que `csv.writer`",
    ),
    (
        "es",
        "La migración falla, encuentra la causa",
        "La migración falla porque `0042_users` se ejecuta antes de `0041_roles`. Siempre hay que ordenar por `depends_on`.",
        "porque `0042_users`",
    ),
    (
        "ru",
        "Почему падает сборка?",
        "Сборка падает, потому что `go.sum` не обновлён. Всегда нужно запускать `go mod tidy` перед коммитом.",
        "потому что `go.sum`",
    ),
    (
        "ko",
        "빌드가 왜 실패하나요?",
        "빌드가 실패하는 원인은 `tsconfig.json` 의 `paths` 설정이 없기 때문입니다.",
        "원인은 `tsconfig.json`",
    ),
    (
        "hi",
        "बिल्ड क्यों टूटता है?",
        "बिल्ड टूटता है क्योंकि `webpack.config.js` में `resolve.alias` गलत `src/lib` पर जाता है और `npm run build` उसे नहीं पाता।",
        "`resolve.alias`",
    ),
]


@pytest.mark.parametrize(("asked", "answer", "kept"), [row[1:] for row in LANGUAGES], ids=[row[0] for row in LANGUAGES])
def test_other_languages_and_scripts_yield_notes_too(asked: str, answer: str, kept: str) -> None:
    found = note(("prompt", asked), ("assistant", answer))
    assert kept in texts(found)
    assert found.title


def test_given_title_is_used_and_scrubbed_and_a_telling_one_is_preferred() -> None:
    assert note(*SESSION, facts=Facts(title="Payment client shutdown hang")).title == "Payment client shutdown hang"
    assert "@" not in note(*SESSION, facts=Facts(title="Payment client hang for bob@shop.org")).title
    assert note(*SESSION, facts=Facts(title="/clear")).title == "Stop checkout from hanging at exit"


def test_plan_heading_names_the_session_not_the_hand_over_sentence() -> None:
    found = note(
        (
            "plan",
            "Implement the following plan:\n\n# Plan: Cache invalidation for product pages\n\n## Problem\n\nStale prices are shown because `ProductCache` never expires.",
        ),
        (
            "assistant",
            "`ProductCache` now expires after 60 s, because stale prices were shown. `invalidate()` must be called after each import.",
        ),
    )
    assert found.title == "Cache invalidation for product pages"


def test_titles_have_no_markup_no_ending_mark_and_fit() -> None:
    long = "please refactor the **very long** `module_name_here` thing so that it handles all of the seven different kinds of input files we get from partners."
    found = note(("prompt", long), ("assistant", f"{CAUSE} {FIX}"))
    assert len(found.title) <= 74
    assert not set("`*") & set(found.title)
    assert found.title[-1] not in ".…,:;"


def test_lists_are_read_with_the_sentence_that_introduces_them() -> None:
    found = note(
        ("prompt", "bump go everywhere"),
        (
            "assistant",
            "Go must be changed in both files, because CI reads `mise.toml`:\n\n- `mise.toml` - tools configuration\n- `go.mod` - module declaration",
        ),
    )
    assert (
        found.lessons[0].text
        == "Go must be changed in both files, because CI reads `mise.toml`: `mise.toml` - tools configuration; `go.mod` - module declaration."
    )


def test_command_with_its_purpose_is_a_lesson() -> None:
    found = note(
        ("prompt", "how do I profile startup?"),
        (
            "assistant",
            "Profile startup with the trace file:\n\n```bash\nSHOP_TRACE=trace.out ./shop help\ngo tool trace trace.out\n```",
        ),
    )
    assert found.lessons[0].quote == "SHOP_TRACE=trace.out ./shop help\ngo tool trace trace.out"
    assert found.lessons[0].text.startswith("Profile startup with the trace file:")


def test_confidence_falls_with_what_was_taken_back_and_when_it_breaks_off() -> None:
    good = note(*SESSION)
    doubted = note(*SESSION[:5], ("prompt", "no, that's wrong"), *SESSION[4:])
    broken = note(*SESSION[:5], ("tool_call", "make", "Bash"), ("error", "Exit code 2\nmake: *** no rule"))
    assert doubted.confidence < good.confidence
    assert broken.confidence < good.confidence
    assert all(0.1 <= n.confidence <= 0.85 for n in (good, doubted, broken))


def test_placeholders_of_secrets_never_reach_a_title() -> None:
    found = note(
        ("prompt", "if my api key is PASSWORD=hunter2x give me the build command for the release binary"),
        ("assistant", f"{CAUSE} {FIX}"),
    )
    assert "secret" not in found.title and "hunter2x" not in str(found)


LEADS = [
    # the thing a sentence speaks of
    ("The worker hung because `ingest()` held a pooled connection across an HTTP call.", "`ingest()`"),
    ("I'd move resources with `terraform state mv` rather than remove and import them.", "`terraform state mv`"),
    # a label is the lead, and no part of the text
    ("Decision: keep `max_size=2` over raising it, because a bigger pool only hides the wait.", "Decision"),
    ("**Root cause:** the pool is never released because `release()` is skipped on errors.", "Root cause"),
    (
        "Die Ursache: Liveness und Readiness fragen denselben Endpunkt, weil `/healthz` die Datenbank prüft.",
        "Die Ursache",
    ),
    ("结论：必须同时检查 `isComposing` 和 `keyCode`，因为 Safari 先结束组合输入再发送按键事件。", "结论"),
    # none is better than the beginning said twice, a plain word or half a phrase
    ("`prevent_destroy` cannot be set on a module call, only on a resource inside of the module.", ""),
    ("Your laptop only works because the old client sends no ACL by default.", ""),
    ("A plan of `apps` takes 50 s instead of 9 min because every state is read only once.", ""),
    ("Arithmetic on aware datetimes is wall-clock arithmetic, so it never sees the change of offset.", ""),
]


@pytest.mark.parametrize(("sentence", "lead"), LEADS, ids=range(len(LEADS)))
def test_a_lead_names_the_thing_or_there_is_none(sentence: str, lead: str) -> None:
    lesson = note(("prompt", "why does this happen in the deploy job?"), ("assistant", sentence)).lessons[0]
    assert lesson.lead == lead
    assert sentence.replace("*", "").casefold().endswith(lesson.text.casefold())
    assert not lead or not lesson.text.startswith(lead.strip("`"))


def test_one_cause_said_twice_is_one_lesson_and_another_of_the_same_thing_is_not() -> None:
    first = "The root cause is that `ingest()` keeps its database connection while it waits for the gauge's web server."
    again = "The worker hung because `ingest()` held a pooled connection across an HTTP call without a timeout."
    other = "Parsing is slow because `ingest()` compiles the schema for each row it reads."
    found = note(
        ("prompt", "the worker hangs"),
        ("assistant", first),
        ("prompt", "ok, fix it"),
        ("assistant", f"{again} {other}"),
    )
    assert (first in texts(found)) != (again in texts(found))
    assert other in texts(found)


def test_sentences_of_a_chinese_list_are_lessons_of_their_own_and_short_items_keep_its_marks() -> None:
    long = note(
        ("prompt", "先查原因"),
        (
            "assistant",
            "修复分两处，因为两个地方都会提交：\n\n- `NoteInput.tsx` 必须在提交之前检查 `event.isComposing`，否则选词的回车会提交备注。\n"
            "- `Form.tsx` 里的全局快捷键监听也必须做同样的判断，否则 Safari 仍然会提交。",
        ),
    )
    assert len(long.lessons) == 2 and "。；" not in texts(long)
    short = note(
        ("prompt", "升级 go"),
        (
            "assistant",
            "必须同时修改两个文件，因为 CI 读取 `mise.toml`：\n\n- `mise.toml` 工具配置。\n- `go.mod` 模块声明。",
        ),
    )
    assert (
        short.lessons[0].text
        == "必须同时修改两个文件，因为 CI 读取 `mise.toml`：`mise.toml` 工具配置；`go.mod` 模块声明。"
    )


def test_a_sentence_that_refers_to_another_is_shown_with_it_or_not_at_all() -> None:
    antecedent = "`GaugeCache` never expires its rows, because nobody calls `evict()`."
    referring = "That means every price is stale after the first import, even when `refresh()` runs."
    joined = note(("prompt", "prices are stale"), ("assistant", f"{antecedent}\n\n{referring}"))
    assert any(antecedent in lesson.text and referring in lesson.text for lesson in joined.lessons)
    alone = note(
        ("prompt", "prices are stale"),
        (
            "assistant",
            f"{referring}\n\n- {antecedent}\n- `import_prices()` must call `evict()` first, because rows stay.",
        ),
    )
    assert antecedent in texts(alone)
    assert referring not in texts(alone)


def test_an_answer_is_kept_without_the_words_that_agree() -> None:
    found = note(
        ("prompt", "we could put the buffer on NFS"),
        ("assistant", "A buffer on NFS is fine with `WAL` mode."),
        ("prompt", "no, that's wrong"),
        (
            "assistant",
            "You are right and I was wrong: WAL keeps its index in shared memory, so on NFS it can corrupt `buffer.db`.",
        ),
    )
    assert found.lessons[0].text.startswith("WAL keeps its index in shared memory")


def test_rules_of_the_person_are_kept_whatever_they_open_with() -> None:
    found = note(
        *SESSION[:-3],
        ("prompt", "ah, good. and from now on never print .env files, use a list of variable names only."),
        ("assistant", "Understood."),
    )
    rule = next(lesson for lesson in found.lessons if lesson.lead == "Your rule")
    assert rule.text == "From now on never print .env files, use a list of variable names only."


def test_a_rule_that_opens_with_no_keeps_its_no() -> None:
    found = note(
        *SESSION[:8], ("prompt", "no downtime migrations are a must here, never both in one deploy"), *SESSION[-1:]
    )
    assert "No downtime migrations are a must here" in texts(found)


def test_summary_says_no_agreement_and_repeats_no_lesson() -> None:
    found = note(
        *SESSION[:8],
        ("prompt", "agreed, do that. the payment gateway test should use a fake clock as well"),
        ("assistant", "I moved the send out of the block."),
    )
    assert "agreed" not in found.summary
    assert "Then: the payment gateway test should use a fake clock as well." in found.summary
    assert "I moved the send" not in found.summary
    assert not any(lesson.text in found.summary for lesson in found.lessons)


def test_a_command_the_person_typed_is_no_goal_when_they_said_one() -> None:
    found = note(("command", "! git log --oneline -2"), *SESSION)
    assert found.summary.startswith("Asked: The checkout command")


def test_context_names_files_and_whole_commands_only() -> None:
    found = note(
        *SESSION[:5],
        ("tool_call", "/home/dev/shop/src/text.ts: text(node.value) → text(clean(node.value)) \\u200b", "Edit"),
        ("tool_call", "Update src/session.rs; Add src/plan.rs", "apply_patch"),
        ("tool_call", "rg 'a|b; c' src | head", "Bash"),
        ("tool_call", 'git commit -m "One\n\nTwo lines of it; and more" && make check all', "Bash"),
        ("tool_call", "bash -lc 'cd x && pytest -q tests; echo done'", "Bash"),
        ("assistant", FIX),
    )
    assert "Changed `src/text.ts`, `src/session.rs` and `src/plan.rs`." in found.context
    assert "`make check all`" in found.context and "`pytest -q tests`" in found.context
    for wrong in ("node.value", "/u200b", "c' src", "Two lines"):
        assert wrong not in found.context
    windows = note(
        *SESSION[:5],
        ("tool_call", r"C:\work\shop\src\text.ts", "Write"),
        ("assistant", FIX),
        facts=Facts(cwd=r"C:\work\shop"),
    )
    assert "`src/text.ts`" in windows.context


TITLES = [
    ("Importing the [[crew handbook]] <script>#safely</script>", (), "anything", "Importing the crew handbook safely"),
    (
        "",
        ("mira/fix-payment-shutdown-hang",),
        "can you address the PR comments?",
        "Payment shutdown hang",
    ),
    ("", ("main",), "The payment client hangs at exit, why?", "The payment client hangs at exit"),
    (
        "",
        ("main",),
        "what happens currently if I have an open gateway and the payment process exits?",
        "Open gateway and the payment process exits",
    ),
    (
        "",
        ("main",),
        "payment-client waits forever when the gateway hangs",
        "Payment-client waits forever when the gateway hangs",
    ),
]


@pytest.mark.parametrize(("given", "branches", "asked", "title"), TITLES, ids=range(len(TITLES)))
def test_titles_name_the_topic(given: str, branches: tuple[str, ...], asked: str, title: str) -> None:
    found = note(("prompt", asked), ("assistant", f"{CAUSE} {FIX}"), facts=Facts(title=given, branches=branches))
    assert found.title == title


WORDS = st.sampled_from(
    [
        "because",
        "`x_y()`",
        "**bold**",
        "- item",
        "1. one",
        "```",
        "```bash",
        "| a | b |",
        "|---|---|",
        "## H",
        "must",
        "no",
        "?",
        ".",
        "。",
        "：",
        ":",
        "\n",
        "\n\n",
        "never",
        "sorry",
        "`",
        "é",
        "数据",
        "<b>",
        "https://x.y/z",
        "…",
        "--flag",
        "“q”",
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["prompt", "assistant", "plan", "error", "tool_call", "answer", "refusal", "interrupt", "command"]
            ),
            st.lists(WORDS, max_size=40),
        ),
        max_size=12,
    )
)
def test_hostile_markdown_never_breaks_a_quote(said: list[tuple[TurnKind, list[str]]]) -> None:
    c = condense(
        Session(tuple(Turn(id=f"t{n}", kind=kind, text=" ".join(words)) for n, (kind, words) in enumerate(said)))
    )
    found = extract(c, Facts(), "shop")
    if isinstance(found, Extract):
        by_id = {turn.id: turn.text for turn in c.turns}
        assert found.title and found.summary and found.lessons
        assert all(lesson.quote and lesson.quote in by_id[lesson.turn_id] and lesson.text for lesson in found.lessons)


@pytest.mark.slow
def test_real_sessions_give_grounded_notes(shared: Path) -> None:
    from vir_core.transcripts import read_turns

    notes = 0
    for path in sorted((shared / "data/transcripts/claude-code/entireio-cli").rglob("*.jsonl")):
        transcript = read_turns(path, "claude")
        c = condense(transcript)
        found = extract(c, Facts(), "cli")
        if isinstance(found, Extract):
            notes += 1
            by_id: dict[str, list[str]] = {}
            for turn in c.turns:
                by_id.setdefault(turn.id, []).append(turn.text)
            assert all(any(lesson.quote in text for text in by_id[lesson.turn_id]) for lesson in found.lessons)
    assert notes >= 30
