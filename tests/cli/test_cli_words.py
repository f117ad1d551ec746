"""What a person reads: help, plain words, and nothing that a terminal would obey."""

from __future__ import annotations

import json
import re
import shutil
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from tests.cli.conftest import say
from tests.ingest.conftest import PROJECT, World
from vir_core.cli.show import KEPT_WORDS, SKIP_WORDS, short_ids
from vir_core.contract import VERBS, RequestError
from vir_core.memory import duration
from vir_core.verbs import TABLE

BANNED = re.compile(r"\b(journal|shard|digest|tombstone|provenance)", re.IGNORECASE)
ESCAPES = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]")


def test_every_field_of_every_request_has_words_and_a_flag() -> None:
    top = say("--help")
    assert (top.code, top.err) == (0, b"")
    for name, verb in TABLE.items():
        fields = [field.encode_name for field in msgspec.structs.fields(VERBS[name][0])]
        assert sorted(verb.flags) == sorted(fields), name
        assert all(words.strip() and not words.endswith(".") for words in verb.flags.values()), name
        page = say(name, "--help")
        assert (page.code, page.err) == (0, b"")
        told = " ".join(page.text.split())
        for field in fields:
            if field in verb.unflagged:
                continue
            if verb.action and field == verb.action[0]:
                assert field.upper() in told and " ".join(verb.flags[field].split()) in told
                continue
            flag = field if field == verb.positional else "--" + field.replace("_", "-")
            assert flag in told and " ".join(verb.flags[field].split()) in told, (name, field)
        assert "--json" in told
        if verb.hidden:
            assert f"\n  {name} " not in top.text
        else:
            assert (
                verb.summary in top.text and verb.example in page.text and verb.example.startswith(f"vir_core {name}")
            )


def test_help_uses_plain_words() -> None:
    pages = [say("--help"), say(), *(say(name, "--help") for name in TABLE)]
    for page in pages:
        # The name of a verb that only scripts and people in trouble meet is not a word a person must know.
        assert not BANNED.search((page.text + page.err.decode()).replace("vir_core journal", "vir_core"))


def test_answers_to_a_person_use_plain_words(world: World, words: dict[str, list[str]], tmp_path: Path) -> None:
    said = [say(*words["run"], "--dry-run"), say(*words["run"], "--limit", "5")]
    written = sorted((world.vault / "vir").rglob("*.md"))
    said += [say(*line) for line in words.values()]
    written[0].unlink()
    copy = written[1].with_name("copied.md")
    copy.write_text(written[1].read_text("utf-8"), "utf-8")
    [segment] = (world.vault / "vir/store/journal").rglob("*.jsonl")
    with segment.open("ab") as file:
        file.write(b"damage\n")
    said += [say(*line) for line in words.values()]
    shutil.copytree(world.vault, tmp_path / "Copy")
    said += [say("doctor", "--vault", str(tmp_path / "Copy")), say("run", "--vault", str(tmp_path / "Copy"))]
    run = say(*words["runs"], "--json").value["runs"][-1]["id"]
    said += [say(*words["runs"], "undo", run), say(*words["runs"], "undo", run)]
    said += [say("doctor", "--vault", str(tmp_path / "nowhere")), say("uninstall", "--apply")]
    for one in said:
        # The folders of a vault are on disk under their own names.
        text = (one.out + one.err).decode().replace("/store/journal", "")
        assert text.strip() and not BANNED.search(text), text


def test_the_first_screens_of_the_readme_use_plain_words() -> None:
    readme = (PROJECT / "README.md").read_text("utf-8")
    above, _, below = readme.partition("## How it is built")
    assert below and not BANNED.search(above)


def test_a_second_undo_says_that_nothing_is_left(world: World, words: dict[str, list[str]]) -> None:
    run = world.run(limit=2).run
    assert "2 notes put away" in say(*words["runs"], "undo", run).text
    again = say(*words["runs"], "undo", run)
    assert again.code == 0 and "nothing left to take back" in again.text
    assert run in say(*words["runs"]).text


def test_what_hostile_sessions_are_called_does_not_reach_the_terminal(tmp_path: Path) -> None:
    world = World(tmp_path)
    shutil.rmtree(world.claude)
    evil = "\x1b]0;owned\x07\x1b[31mred\x1b[0m\x9b2J\u202etxt\r\x08\x00 [link](x) the pool"
    folder = world.claude / "-home-x"
    folder.mkdir(parents=True)
    prompt = f"Why does the {evil} deadlock in the migration? It must be fixed because the queue grows without bound."
    answer = f"The root cause was {evil}: the pool ran dry because every worker kept its connection. We decided to cap it at 20."
    records: list[dict[str, object]] = []
    for number, (who, text) in enumerate([("user", prompt), ("assistant", answer)] * 3):
        record: dict[str, object] = {
            "type": who,
            "uuid": f"{number:08x}-0000-4000-8000-000000000001",
            "parentUuid": None,
            "sessionId": "5a5a5a5a-0000-4000-8000-00000000000b",
            "cwd": f"/home/x/{evil}\nline",
            "gitBranch": evil,
            "timestamp": f"2026-11-29T10:{number:02}:00.000Z",
            "entrypoint": "cli",
            "promptSource": "typed",
            "origin": {"kind": "human"},
            "userType": "external",
            "isSidechain": False,
            "message": {"role": who, "content": text if who == "user" else [{"type": "text", "text": text}]},
        }
        records.append(record)
    records.append({"type": "ai-title", "aiTitle": evil, "sessionId": "5a5a5a5a-0000-4000-8000-00000000000b"})
    (folder / "5a5a5a5a-0000-4000-8000-00000000000b.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    strange = world.vault.parent / "\x1b[31mNotes"
    world.vault.rename(strange)
    world.vault = strange
    vault = ["--vault", str(strange)]
    lines = [
        world.run_words("--dry-run"),
        world.run_words(),
        ["query", "why does the pool deadlock", *vault],
        ["sessions", *vault, "--claude-dir", str(world.claude)],
        ["doctor", *vault, "--claude-dir", str(world.claude / "\x1b[31m")],
        ["run", *vault, "--claude-dir", str(world.claude), "--only", "\x1b[31mnone"],
        ["query", "x", *vault, "--project", "\x1b[31mnone"],
        ["run", *vault, "--since", "\x1b[31m"],
        ["runs", *vault],
        ["runs", "undo", "\x1b[31m", *vault],
        ["init", *vault],
        ["uninstall"],
        ["\x1b[31m"],
    ]
    seen = b""
    for line in lines:
        said = say(*line)
        assert not ESCAPES.search(said.out) and not ESCAPES.search(said.err), (line, said)
        seen += said.out
    assert b"pool" in seen and b"1 session file" in seen
    as_json = say("query", "why does the pool deadlock", *vault, "--json")
    assert as_json.value["hits"] and not ESCAPES.search(as_json.out.replace(b"\n", b""))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("30d", timedelta(days=30)),
        ("30", timedelta(days=30)),
        ("0", timedelta(0)),
        ("12h", timedelta(hours=12)),
        ("2w", timedelta(weeks=2)),
        ("90m", timedelta(minutes=90)),
        ("45s", timedelta(seconds=45)),
        ("999999w", timedelta(weeks=999999)),
    ],
)
def test_lengths_of_time(text: str, wanted: timedelta) -> None:
    assert duration(text) == wanted


@pytest.mark.parametrize(
    "text", ["yesterday", "d", "-3d", "1.5d", "3 d", "3D", "3y", "٣d", "1e3d", "9999999d", "+3d", "0x3d", "\x00", "３d"]
)
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(RequestError) as refused:
        duration(text)
    assert "30d" in refused.value.hint


def test_since_the_beginning_of_time_is_everything(world: World) -> None:
    assert len(world.run(since="999999w", dry_run=True).planned) == len(world.run(dry_run=True).planned) > 0
    assert world.run(since="0d", dry_run=True).planned == ()


def test_every_reason_has_words_for_a_person() -> None:
    source = "\n".join(path.read_text("utf-8") for path in (PROJECT / "vir_core" / "ingest").glob("*.py"))
    skipped = set(re.findall(r'skip\("([a-z_]+)"', source)) | set(re.findall(r'skipped\["([a-z_]+)"\]', source))
    assert {"copy", "not_a_session", "too_old"} <= skipped <= set(SKIP_WORDS)
    body = source.partition("def kept_reason(")[2].partition("\nclass ")[0]
    kept = set(re.findall(r'(?:return|if [^\n]*else|else) "([a-z]+)"', body)) | {"undone", "elsewhere"}
    assert {"edited", "removed", "waiting"} <= kept <= set(KEPT_WORDS)


def test_help_is_a_word_too() -> None:
    assert say("help").text == say("--help").text
    assert say("help", "run").text == say("run", "--help").text
    assert say("help", "nonsense").code == 2


def test_a_list_of_sessions_shows_ids_that_explain_takes(world: World) -> None:
    words = ["--vault", str(world.vault), "--claude-dir", str(world.claude), "--codex-dir", str(world.codex)]
    listed = say("sessions", *words).text.splitlines()
    rows = [line for line in listed if " prompts  " in line]
    shorts = {line.split()[2] for line in rows}
    assert len(rows) > 15 and max(map(len, shorts)) < 36
    for short in sorted(shorts)[:4]:
        page = say("sessions", "explain", short, *words)
        assert page.code == 0 and short in page.text
    human = next(line.split()[2] for line in rows if "  you (" in line)
    written = say("run", *words, "--session", human, "--json").value["written"]
    assert len(written) == 1 and human in written[0]["session"]


def test_short_ids_tell_sessions_apart() -> None:
    alike = ["01990000-0000-7000-8000-000000000001", "01990000-0000-7000-8000-000000000002", "01990000-1", "abc"]
    short = short_ids(alike)
    assert short == {alike[0]: alike[0], alike[1]: alike[1], alike[2]: "01990000-1", "abc": "abc"}
    assert short_ids(["8ccdf090-6c9a", "8ccdf091-6c9a", "8ccdf090-6c9a"]) == {
        "8ccdf090-6c9a": "8ccdf090",
        "8ccdf091-6c9a": "8ccdf091",
    }


def test_a_name_of_two_projects_is_answered_with_their_folders(world: World) -> None:
    copied = world.claude / "-elsewhere-tidepool"
    copied.mkdir()
    source = next(
        path for path in world.claude.rglob("*.jsonl") if "/home/mira/src/tidepool" in path.read_text("utf-8")
    )
    text = source.read_text("utf-8").replace("/home/mira/src/tidepool", "/elsewhere/tidepool")
    text = text.replace(source.stem, "0123abcd-0000-4000-8000-000000000000")
    (copied / "0123abcd-0000-4000-8000-000000000000.jsonl").write_text(
        re.sub(r'"uuid":"[0-9a-f]{8}', '"uuid":"0123abcd', text), "utf-8"
    )
    said = say(*world.run_words("--only", "tidepool"))
    assert said.code == 1
    for folder in ("/home/mira/src/tidepool", "/elsewhere/tidepool"):
        assert f"({folder})" in said.err.decode()


def test_init_takes_the_vault_of_the_environment(tmp_path: Path) -> None:
    said = say("init", "--json", env={"VIR_VAULT": str(tmp_path / "Mine")})
    assert said.code == 0 and said.value["vault"] == str(tmp_path / "Mine")
    assert say("init", "--json").kind == "invalid_request"
