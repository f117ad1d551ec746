"""The documents say what the code does: every verb, every field, every path, every reason."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from vir_core.cli.show import DRIVER_WORDS, EXCLUDED_WORDS, KEPT_WORDS, SKIP_WORDS
from vir_core.contract import VERBS, Driver, ErrorKind, Failure, KeptNote, Why, decode_request
from vir_core.machine import claude_projects_dirs, codex_home_dirs, state_home
from vir_core.verbs import TABLE

PROJECT = Path(__file__).resolve().parents[2]
README = (PROJECT / "README.md").read_text("utf-8")
WIRE = (PROJECT / "docs" / "json.md").read_text("utf-8")
SHOWN = [name for name, verb in TABLE.items() if not verb.hidden]
WIRED = [name for name in TABLE if name != "schema"]
SHARED = (Failure, KeptNote, Why)


def section(heading: str) -> str:
    """The text of json.md below a heading, up to the next of its level."""
    found = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", WIRE, re.MULTILINE | re.DOTALL)
    assert found is not None, heading
    return found[1]


def prose(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def named(text: str) -> set[str]:
    """What stands in code spans, without the marks for arrays and tables."""
    return {word.rstrip("[]{}") for word in re.findall(r"`([^`\n]+)`", prose(text))}


def structs_in(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The Structs in a type, through arrays, tables and unions."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for field in msgspec.structs.fields(kind):
            yield from structs_in(field.type)
    for inner in get_args(kind):
        yield from structs_in(inner)


def examples(name: str) -> list[str]:
    return re.findall(r"```json\n(.*?)```", section(f"`{name}`"), re.DOTALL)


@pytest.mark.parametrize("name", SHOWN)
def test_every_verb_stands_in_the_readme_and_in_the_wire_contract(name: str) -> None:
    assert re.search(rf"^\| `{name}` \|", README, re.MULTILINE)
    assert section(f"`{name}`").strip()


def test_no_verb_is_documented_that_is_not_there() -> None:
    assert set(re.findall(r"^## `([a-z]+)`$", WIRE, re.MULTILINE)) == set(WIRED)
    table = README.partition("| verb | what it does |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `([a-z]+)` \|", table, re.MULTILINE)) == set(SHOWN)
    for flag in re.findall(r"`(--[a-z-]+)", table):
        assert any(flag[2:].replace("-", "_") in verb.flags for verb in TABLE.values()) or flag == "--json", flag


@pytest.mark.parametrize("name", WIRED)
def test_every_field_of_every_request_and_reply_is_documented(name: str) -> None:
    request, reply = VERBS[name]
    told = named(section(f"`{name}`"))
    for kind in (request, *structs_in(reply)):
        if kind in SHARED:
            continue
        for field in msgspec.structs.fields(kind):
            if field.encode_name not in ("contract", "vault", "folder"):
                assert field.encode_name in told, (name, kind.__name__, field.encode_name)
    assert {"contract", "vault", "folder"} <= named(section("Calling"))
    shared = named(section("Shapes that several replies share"))
    for kind in SHARED:
        assert {field.encode_name for field in msgspec.structs.fields(kind)} <= shared


@pytest.mark.parametrize("name", WIRED)
def test_every_example_is_a_request_and_a_reply(name: str) -> None:
    asked, answered = examples(name)
    request, reply = VERBS[name]
    assert isinstance(decode_request(name, asked.encode()), request)
    decoded = msgspec.json.decode(answered.encode(), type=reply)
    assert set(json.loads(answered)) == {field.encode_name for field in msgspec.structs.fields(reply)}
    assert json.loads(msgspec.json.encode(decoded)) == json.loads(answered)


def test_every_error_kind_and_every_reason_is_documented() -> None:
    assert set(get_args(ErrorKind)) <= named(section("Errors"))
    assert set(KEPT_WORDS) <= named(section("Shapes that several replies share"))
    assert set(EXCLUDED_WORDS) <= named(section("`query`"))
    run = named(section("`run`"))
    assert set(get_args(Driver)) <= run and set(DRIVER_WORDS) == set(get_args(Driver))
    assert set(SKIP_WORDS) - {"no_words"} <= run


def test_links_lead_somewhere() -> None:
    for page in (PROJECT / "README.md", *(PROJECT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", prose(page.read_text("utf-8"))):
            assert (page.parent / target).exists(), (page.name, target)


def test_the_readmes_table_of_paths_is_where_vir_looks_and_writes() -> None:
    table = README.partition("| path | read or written | why |")[2].partition("\n\n")[0]
    home = Path("/home/mira")
    env = {"HOME": str(home), "USERPROFILE": str(home)}

    def shown(path: Path) -> str:
        return "~/" + path.relative_to(home).as_posix()

    for platform in ("linux", "darwin"):
        assert f"`{shown(state_home(env, platform))}`" in table, platform
    windows = state_home({**env, "LOCALAPPDATA": "/home/mira/local"}, "win32")
    assert windows == home / "local" / "vir" and r"`%LOCALAPPDATA%\vir`" in table
    assert (
        state_home({**env, "VIR_STATE_DIR": "/elsewhere"}, "linux") == Path("/elsewhere")
        and "`$VIR_STATE_DIR`" in table
    )
    for platform in ("linux", "darwin", "win32"):
        [claude], [codex] = claude_projects_dirs(env, platform), codex_home_dirs(env, platform)
        assert f"`{shown(claude)}`" in table
        assert f"`{shown(codex / 'sessions')}`" in table and f"`{shown(codex / 'archived_sessions')}`" in table
    assert claude_projects_dirs({**env, "CLAUDE_CONFIG_DIR": "/c"}) == [Path("/c/projects")]
    assert "`$CLAUDE_CONFIG_DIR/projects`" in table and "`$CODEX_HOME/" in table
