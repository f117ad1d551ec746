from __future__ import annotations

from vir_core.transcripts.condensing import CUT, TOTAL_CAP, Condensed, condense
from vir_core.transcripts.turns import Turn, TurnKind


class Session:
    def __init__(self, *turns: Turn) -> None:
        self.turns = turns


def turn(kind: TurnKind, text: str, n: int = 0, tool: str = "") -> Turn:
    return Turn(id=f"{kind}-{n}", kind=kind, text=text, at="2026-11-30T10:00:00Z", tool=tool)


def condensed(*turns: Turn) -> Condensed:
    return condense(Session(*turns))


def test_injected_text_is_gone_and_counted_and_the_persons_words_stay() -> None:
    c = condensed(turn("injected", "recalled memory"), turn("prompt", "fix the parser"), turn("assistant", "Fixed."))
    assert "recalled memory" not in c.text
    assert "fix the parser" in c.text
    assert c.removed["injected"] == 1


def test_results_are_stubs_and_errors_are_kept() -> None:
    c = condensed(turn("tool_result", "line one\nline two"), turn("error", "E: boom"))
    assert "line one" not in c.text and "(2 lines)" in c.text
    assert "E: boom" in c.text


def test_every_turn_stands_verbatim_in_the_text_and_numbers_follow_on() -> None:
    c = condensed(
        turn("prompt", "a", 1),
        turn("command", "/model opus", 2),
        turn("answer", "the second one", 3),
        turn("refusal", "no, use rg", 4),
        turn("plan", "# Plan\ndo it", 5),
        turn("interrupt", "[Request interrupted by user]", 6),
        turn("tool_call", "ls", 7, "Bash"),
    )
    assert [t.n for t in c.turns] == list(range(1, 8))
    assert [t.who for t in c.turns] == ["you", "note", "answer", "you", "note", "note", "command"]
    assert all(f"[{t.n} {t.who}]\n{t.text}" in c.text for t in c.turns)


def test_secrets_are_scrubbed_last_over_everything() -> None:
    c = condensed(
        turn("prompt", "PASSWORD=hunter2x"),
        turn("tool_call", "curl https://u:pw@h/", tool="Bash"),
        turn("error", "bob@x.org"),
    )
    assert "hunter2x" not in c.text and ":pw@" not in c.text and "bob@" not in c.text
    assert c.removed["secret"] == 2 and c.removed["email"] == 1


def test_long_code_is_shortened_and_the_words_around_it_are_not() -> None:
    code = "\n".join(f"line{i}" for i in range(100))
    c = condensed(turn("assistant", f"before\n```py\n{code}\n```\nafter"))
    assert "before" in c.text and "after" in c.text and "line0" in c.text and "line99" in c.text
    assert "line50" not in c.text and CUT in c.text


def test_an_open_fence_at_the_end_loses_nothing_of_the_words_before_it() -> None:
    c = condensed(turn("assistant", "words\n```\n" + "x\n" * 50))
    assert "words" in c.text


def test_a_long_paste_keeps_its_head_and_tail() -> None:
    c = condensed(turn("prompt", "QUESTION\n" + "log line\n" * 5000 + "LAST WORDS"))
    assert "QUESTION" in c.text and "LAST WORDS" in c.text and len(c.text) < 7000


def test_a_very_long_session_keeps_all_the_persons_turns_and_the_ends_of_the_rest() -> None:
    turns: list[Turn] = []
    for i in range(400):
        turns.append(turn("prompt", f"wish number {i}.", i))
        turns.append(turn("assistant", f"answer number {i}. " + "words " * 300, i))
    c = condensed(*turns)
    assert all(f"wish number {i}." in c.text for i in range(400))
    assert "answer number 0." in c.text and "answer number 399." in c.text and "answer number 150." not in c.text
    assert len(c.text) < TOTAL_CAP * 1.1
    assert c.removed["over total"] > 0


def test_an_empty_session_is_empty() -> None:
    c = condensed()
    assert c.turns == () and c.text == ""


def test_the_same_session_gives_the_same_bytes() -> None:
    turns = (turn("prompt", "é 数据 \r\n x\x1ey"), turn("assistant", "ok /home/bob/x"))
    assert condensed(*turns) == condensed(*turns)
    assert "\x1e" not in condensed(*turns).text
