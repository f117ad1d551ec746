"""Sessions that look like a person's and were typed by a program, and the habits of people that look like that."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from vir_core.transcripts import SessionFacts, join_lineage, with_automated
from vir_core.transcripts.automated import pace_of
from vir_core.transcripts.provenance import MORE, kept_marks, mark_of, marks_of

START = datetime(2026, 5, 4, 7, 0, tzinfo=UTC)
CWD = "/home/sam/work"


def session(n: int, after: float, *prompts: str, **fields: Any) -> SessionFacts:
    """The facts of a session that began `after` seconds after the start."""
    began = START + timedelta(seconds=after)
    ident = str(UUID(int=(n + 1) * 7919))
    base: dict[str, Any] = {
        "path": f"/t/{ident}.jsonl",
        "source": "claude",
        "session": ident,
        "driver": "human",
        "certainty": "likely",
        "cwd": CWD,
        "human_turns": len(prompts),
        "answers": 1,
        "marks": marks_of(prompts),
        "first_prompt": prompts[0] if prompts else "",
        "started": began.isoformat().replace("+00:00", "Z"),
        "ended": (began + timedelta(seconds=40)).isoformat().replace("+00:00", "Z"),
        "uuids": (str(UUID(int=(n + 1) * 104729)),),
    }
    return SessionFacts(**{**base, **fields})


def automated(sessions: Iterable[SessionFacts]) -> set[str]:
    given = list(sessions)
    found, lineage = with_automated(given, join_lineage(given))
    drivers = {facts.path for facts in found if facts.driver == "automated"}
    assert drivers == {
        facts.path for thread in lineage.threads for facts in thread.files if facts.driver == "automated"
    }
    assert all(facts.certainty == "likely" for facts in found if facts.driver == "automated")
    return drivers


def every(seconds: float, times: int, *, jitter: float = 0.0, seed: int = 1) -> list[float]:
    dice = random.Random(seed)
    return [n * seconds + dice.uniform(-jitter, jitter) for n in range(times)]


# -- programs


def test_the_same_prompt_at_a_machines_pace() -> None:
    patrol = [session(n, at, "tool patrol") for n, at in enumerate(every(510, 12, jitter=3))]
    assert len(automated(patrol)) == 12
    evidence = with_automated(patrol, join_lineage(patrol))[0][0].evidence
    assert any("12 sessions in this folder open with the same words" in line for line in evidence)
    assert any("8 min" in line for line in evidence)


def test_a_daemon_that_pauses_and_is_restarted_keeps_its_pace() -> None:
    starts = [at + pause for pause in (0.0, 30_000.0, 90_000.0) for at in every(180, 9, jitter=1, seed=round(pause))]
    assert len(automated(session(n, at, "tool patrol") for n, at in enumerate(starts))) == len(starts)


def test_names_numbers_and_times_in_the_prompt_make_no_difference() -> None:
    patrol = [
        session(n, at, f"check lane {n} since 2026-05-04T07:{n:02}:00Z and read /var/log/{n}.txt")
        for n, at in enumerate(every(600, 10, jitter=2))
    ]
    assert len(automated(patrol)) == 10


def test_a_daily_cron_to_the_second() -> None:
    assert len(automated(session(n, at, "make the report") for n, at in enumerate(every(86_400, 10, jitter=4)))) == 10


def test_forty_in_six_hours_without_any_rhythm() -> None:
    dice = random.Random(5)
    starts = sorted(dice.uniform(0, 5 * 3600) for _ in range(45))
    assert len(automated(session(n, at, "handle the next event") for n, at in enumerate(starts))) == 45


def test_somebody_who_never_sleeps() -> None:
    dice = random.Random(6)
    starts = [0.0]
    while starts[-1] < 40 * 3600:
        starts.append(starts[-1] + dice.uniform(4_000, 10_000))
    assert len(automated(session(n, at, "look after it") for n, at in enumerate(starts))) == len(starts)


@pytest.mark.parametrize("seed", range(5))
def test_two_dozen_sessions_in_a_folder_where_nobody_ever_said_anything_else(seed: int) -> None:
    dice = random.Random(seed)
    starts = [0.0]
    while len(starts) < 24:
        pause = 40_000 if len(starts) == 12 else dice.uniform(200, 4_000)
        starts.append(starts[-1] + pause)
    rounds = [session(n, at, "tool patrol") for n, at in enumerate(starts)]
    assert len(automated(rounds)) == 24
    assert automated(rounds[:-1]) == set()
    assert automated([*rounds, session(99, 500, "what is this folder for?")]) == set()
    assert automated([*rounds, session(99, 500, "tool patrol", hands=1)]) == set()


def test_the_header_of_a_dispatcher_in_two_sessions() -> None:
    one = session(1, 0, "[HIVE] queen <- clock • 2026-05-04T07:00 • start", "I am Queen for hive. Begin.")
    two = session(2, 9_000, "[HIVE] drone/7 <- queen • 2026-05-04T09:30 • assigned:x-1", cwd="/home/sam/hive/drone")
    assert automated([one, two]) == {one.path, two.path}
    assert automated([one]) == set()


def test_an_agent_that_introduces_itself_by_its_role() -> None:
    rounds = [session(n, at, "I am Witness for orchard. Start the round.") for n, at in enumerate((0, 700, 9_000))]
    assert len(automated(rounds)) == 3
    assert automated(rounds[:2]) == set()


def test_prompts_that_follow_count_when_they_too_are_said_again_and_again() -> None:
    rounds = [session(n, at, "tool patrol", "report now") for n, at in enumerate(every(300, 12, jitter=1))]
    assert len(automated(rounds)) == 12


# -- people


def test_one_prompt_of_a_persons_own_keeps_a_session_theirs() -> None:
    patrol = [session(n, at, "tool patrol") for n, at in enumerate(every(510, 20, jitter=3))]
    mine = session(99, 4_000, "tool patrol", "why did it restart the worker?")
    found = automated([*patrol, mine])
    assert mine.path not in found
    assert len(found) == 20


def test_a_command_or_an_answer_keeps_a_session_theirs() -> None:
    patrol = [session(n, at, "tool patrol") for n, at in enumerate(every(510, 20, jitter=3))]
    mine = session(99, 4_000, "tool patrol", hands=1)
    found = automated([*patrol, mine])
    assert mine.path not in found
    assert len(found) == 20


def test_every_morning_the_same_first_prompt() -> None:
    """With and without a conversation after it, for sixty days, to within twenty minutes."""
    days = every(86_400, 60, jitter=1_200)
    talked = [
        session(n, at, "read TODO.md and go on", f"no, the part about topic {n} x{n}y") for n, at in enumerate(days)
    ]
    assert automated(talked) == set()
    assert automated(session(n, at, "read TODO.md and go on") for n, at in enumerate(days)) == set()


@pytest.mark.parametrize("seed", range(20))
def test_a_plan_worked_off_task_by_task_by_hand(seed: int) -> None:
    """Thirty sessions of about ten minutes, each begun when the one before was done, over three days; and the one in which
    the plan was made."""
    dice = random.Random(seed)
    starts: list[float] = []
    for day in range(3):
        at = day * 86_400.0
        for _ in range(10):
            at += dice.uniform(300, 1_100)
            starts.append(at)
    plan = session(99, -4_000, "let us plan the move to the new API", "shorter, and write it to PLAN.md")
    tasks = [session(n, at, "Read PLAN.md and do the next task") for n, at in enumerate(starts)]
    assert automated([plan, *tasks]) == set()
    assert automated([session(99, -4_000, "ignored", driver="plan_handoff", marks=(), human_turns=0), *tasks]) == set()


@pytest.mark.parametrize("seed", range(20))
def test_a_feature_tried_out_again_and_again(seed: int) -> None:
    dice = random.Random(seed)
    starts = [0.0]
    for _ in range(18):
        starts.append(starts[-1] + dice.choice([35, 50, 80, 140, 300, 900, 2_000]) * dice.uniform(0.8, 1.25))
    assert automated(session(n, at, "create a red file") for n, at in enumerate(starts)) == set()


def test_the_same_prompt_pasted_into_many_worktrees_at_once() -> None:
    folders = [session(n, n * 20.0, "port the tests to vitest", cwd=f"{CWD}/try-{n}") for n in range(12)]
    assert automated(folders) == set()


def test_an_opening_that_is_a_persons_habit_is_never_compared() -> None:
    starts = every(600, 30, jitter=2)
    habit = [session(n, at, "status", hands=int(n % 5 == 0)) for n, at in enumerate(starts)]
    assert automated(habit) == set()


@pytest.mark.parametrize(
    "text",
    [
        "[bug] a -> b is rendered wrong",
        "[PR 12] main <- feature does not merge",
        "I am getting an error in the parser",
        "I am Sam and I want a parser",
        "I am the owner of this repo, please check it",
    ],
)
def test_what_people_write_is_not_taken_for_a_machines_shape(text: str) -> None:
    assert mark_of(text)[0] == "p"
    assert automated(session(n, n * 5_000.0 + n * n * 311, text) for n in range(6)) == set()


def test_a_session_with_more_prompts_than_are_known_is_not_compared() -> None:
    many = [f"{word} it" for word in "abcdefghijklmnopqrstuvwxyz"]
    assert kept_marks(map(mark_of, many))[-1] == MORE
    rounds = [session(n, at, "tool patrol", *many) for n, at in enumerate(every(510, 12, jitter=3))]
    assert automated(rounds) == set()


# -- what is compared


def test_copies_of_one_session_at_successive_times_are_one() -> None:
    copies = [
        session(1, 0, "tool patrol", path=f"/t/step{n}.jsonl", ended=(START + timedelta(minutes=n)).isoformat())
        for n in range(30)
    ]
    assert automated(copies) == set()


def test_forks_and_resumed_files_are_one() -> None:
    root = session(1, 0, "tool patrol")
    forks = [session(n + 2, at, "tool patrol", forked_from=root.session) for n, at in enumerate(every(510, 15))]
    resumed = [session(n + 40, at, "tool patrol", uuids=root.uuids) for n, at in enumerate(every(510, 15))]
    assert automated([root, *forks]) == set()
    assert automated([root, *resumed]) == set()


def test_nobody_elses_sessions_change_the_answer(rng: random.Random) -> None:
    patrol = [session(n, at, "tool patrol") for n, at in enumerate(every(510, 12, jitter=3))]
    others = [session(100 + n, n * 3_333.0, f"why is {word} slow") for n, word in enumerate("abcdefgh")]
    mixed = patrol + others
    rng.shuffle(mixed)
    assert automated(mixed) == automated(patrol)


def test_scripts_and_helpers_are_left_as_they_are() -> None:
    rows = [session(n, at, "tool patrol", driver="headless") for n, at in enumerate(every(510, 12, jitter=3))]
    assert automated(rows) == set()


@pytest.mark.parametrize("starts", [[], [""] * 9, ["not a time"] * 9, ["2026-05-04T07:00:00Z"] * 30])
def test_times_that_are_missing_or_equal_say_nothing(starts: list[str]) -> None:
    assert pace_of(starts) == ""


def test_a_persons_intervals_never_look_regular(rng: random.Random, scaled: Callable[[int], int]) -> None:
    """Chance alone: many people, each with one opening for every session of a month."""
    for _ in range(scaled(1_000)):
        starts: list[float] = []
        for day in range(20):
            at = day * 86_400.0 + rng.uniform(0, 7_200)
            for _ in range(rng.randrange(4)):
                at += rng.uniform(300, 9_000)
                starts.append(at)
        assert pace_of((START + timedelta(seconds=at)).isoformat() for at in starts) == ""
