"""`projects`: what is read, what is left out, and whose it is on a machine with several vaults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vir_core.contract import (
    InitRequest,
    ProjectInfo,
    ProjectsReply,
    ProjectsRequest,
    RequestError,
    RunReply,
    RunRequest,
)
from vir_core.ingest import projects, run
from vir_core.ingest.policy import Decided, Pattern, Policy
from vir_core.ingest.projects import plan_decisions
from vir_core.transcripts import Project
from vir_core.upkeep import init


def ask(world, vault: Path | None = None, **fields: Any) -> ProjectsReply:
    return projects(
        ProjectsRequest(
            vault=str(vault or world.vault), claude_dir=(str(world.claude),), codex_dir=(str(world.codex),), **fields
        )
    )


def named(reply: ProjectsReply, name: str) -> ProjectInfo:
    (found,) = [info for info in reply.projects if info.name == name]
    return found


def decisions(world, vault: Path | None = None) -> list[dict[str, Any]]:
    base = (vault or world.vault) / "vir" / "store" / "journal"
    lines = [
        json.loads(line) for path in sorted(base.rglob("*.jsonl")) for line in path.read_text("utf-8").splitlines()
    ]
    return [line for line in lines if line["action"] == "project_decided"]


def second_vault(world, tmp_path: Path) -> Path:
    vault = tmp_path / "Second"
    (vault / ".obsidian").mkdir(parents=True)
    init(InitRequest(vault=str(vault)))
    return vault


def run_in(world, vault: Path, **fields: Any) -> RunReply:
    return run(RunRequest(vault=str(vault), claude_dir=(str(world.claude),), codex_dir=(str(world.codex),), **fields))


def test_the_list_counts_every_session_once(world) -> None:
    before = ask(world)
    assert before.default == "include"
    assert {info.decision for info in before.projects} == {"include"}
    assert sum(info.sessions for info in before.projects) == sum(info.pending for info in before.projects) > 10
    reply = world.run()
    after = ask(world)
    assert sum(info.pending for info in after.projects) == 0
    assert sum(info.notes for info in after.projects) == len(reply.written)
    assert sum(info.sessions + info.others for info in after.projects) == sum(reply.drivers.values())


def test_an_excluded_project_is_left_out_and_comes_back(world) -> None:
    ask(world, exclude=("tidepool",))
    first = world.run()
    assert first.written and first.skipped["excluded"] > 0
    assert "tidepool" not in {note.project for note in first.written}
    assert named(ask(world), "tidepool").decision == "exclude"
    ask(world, include=("tidepool",))
    second = world.run()
    assert {note.project for note in second.written} == {"tidepool"}
    assert "excluded" not in second.skipped


def test_excluding_touches_no_note(world) -> None:
    world.run()
    tree = {path: digest for path, digest in world.tree().items() if path.endswith(".md")}
    ask(world, exclude=("*",))
    again = world.run()
    assert {path: digest for path, digest in world.tree().items() if path.endswith(".md")} == tree
    assert (again.written, again.unchanged) == ((), len(tree))
    assert world.ask("why does the ingest worker hang").hits


def test_deciding_the_same_again_is_no_line(world) -> None:
    ask(world, exclude=("tidepool", "lan*"))
    tree = world.tree()
    ask(world, exclude=("tidepool", "lan*"))
    assert world.tree() == tree
    assert len(decisions(world)) == 2


def test_a_line_holds_no_name_and_no_pattern(world) -> None:
    ask(world, exclude=("tidepool", "secret-client-*"))
    lines = decisions(world)
    assert {line["by"]["kind"] for line in lines} == {"person"} and not any(line["must"] for line in lines)
    assert all(word not in json.dumps(lines) for word in ("tidepool", "secret-client"))
    assert [info.pattern for info in ask(world).patterns] == ["secret-client-*"]


def test_a_project_decided_by_name_stands_above_any_pattern(world) -> None:
    ask(world, exclude=("*",))
    ask(world, include=("tidepool",))
    reply = ask(world)
    assert (named(reply, "tidepool").decision, named(reply, "tidepool").by) == ("include", "you")
    others = {(info.decision, info.by) for info in reply.projects if info.name != "tidepool"}
    assert others == {("exclude", "pattern")}
    assert {note.project for note in world.run().written} == {"tidepool"}


def test_an_undecided_project_waits_unless_it_is_named_for_one_run(world) -> None:
    ask(world, ask=("tidepool",))
    assert world.run().skipped["undecided"] > 0
    assert {note.project for note in world.run(only=("tidepool",)).written} == {"tidepool"}


def test_a_session_named_outright_is_taken_from_an_excluded_project(world) -> None:
    ask(world, exclude=("*",))
    assert len(world.run(session=("8ccdf090-6c9a-478d-b9b3-124cfff2449e",)).written) == 1
    assert world.run().written == ()


def test_in_a_second_vault_every_project_waits_until_it_is_included_there(world, tmp_path: Path) -> None:
    second = second_vault(world, tmp_path)
    first = run_in(world, second)
    assert first.written == () and first.skipped["undecided"] > 10
    reply = ask(world, second, include=("tidepool",))
    assert reply.default == "ask"
    assert named(reply, "tidepool").decision == "include"
    assert {note.project for note in run_in(world, second).written} == {"tidepool"}
    assert named(ask(world), "tidepool").decision == "given"
    home = world.run()
    assert "tidepool" not in {note.project for note in home.written} and home.written
    assert home.skipped["given"] > 0


def test_a_project_is_given_to_another_vault_and_back(world, tmp_path: Path) -> None:
    second = second_vault(world, tmp_path)
    ask(world, second, give=("lantern",))
    assert (named(ask(world), "lantern").decision, named(ask(world, second), "lantern").decision) == (
        "given",
        "include",
    )
    ask(world, give=("lantern",))
    assert (named(ask(world), "lantern").decision, named(ask(world, second), "lantern").decision) == (
        "include",
        "given",
    )


def test_a_vault_that_is_gone_leaves_the_other_the_first(world, tmp_path: Path) -> None:
    second = second_vault(world, tmp_path)
    assert ask(world, second).default == "ask"
    world.vault.rename(tmp_path / "put away")
    (tmp_path / "put away" / "vir" / "store" / "config.yaml").unlink()
    assert ask(world, second).default == "include"


def test_a_folder_that_is_gone_counts_for_what_was_found_there(world, tmp_path: Path) -> None:
    repo = tmp_path / "tree"
    (repo / ".git").mkdir(parents=True)
    (repo / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:sam/orchard.git\n')
    file = next(world.claude.rglob("8ccdf090-*.jsonl"))
    old = json.loads(next(line for line in file.read_text("utf-8").splitlines() if '"cwd"' in line))["cwd"]
    file.write_text(file.read_text("utf-8").replace(old, str(repo)), "utf-8")
    world.run(limit=1)
    assert named(ask(world), "orchard").key == "github.com/sam/orchard"
    (repo / ".git" / "config").unlink()
    (repo / ".git").rmdir()
    repo.rmdir()
    from vir_core.transcripts import project_of

    project_of.cache_clear()
    assert named(ask(world), "orchard").key == "github.com/sam/orchard"
    (world.state / "places").unlink()
    project_of.cache_clear()
    assert "orchard" not in {info.name for info in ask(world).projects}


def test_words_that_fit_nothing_are_refused_and_nothing_is_written(world) -> None:
    tree = world.tree()
    with pytest.raises(RequestError, match="No project is called"):
        ask(world, exclude=("nothing",))
    with pytest.raises(RequestError, match="under include and under exclude"):
        ask(world, include=("tidepool",), exclude=("tidepool",))
    assert world.tree() == tree


def test_the_command_line(world) -> None:
    words = ["--vault", str(world.vault), "--claude-dir", str(world.claude), "--codex-dir", str(world.codex)]
    done = world.cli("projects", "exclude", "tidepool", "harbor*", *words)
    assert done.returncode == 0, done.stderr
    assert "left out (you decided)" in done.stdout and "left out (pattern harbor*)" in done.stdout
    reply = json.loads(world.cli("projects", "--json", *words).stdout)
    assert {info["decision"] for info in reply["projects"] if info["name"] == "tidepool"} == {"exclude"}
    assert world.cli("projects", "exclude", *words).returncode == 2
    assert world.cli("projects", "nonsense", "tidepool", *words).returncode == 2


# -- pure


SHOP = Project("github.com/acme/shop", "p1", "shop", "/home/sam/shop", True)


def test_the_newest_fitting_pattern_decides_and_a_name_before_it() -> None:
    patterns = (
        Pattern(subject="pattern:1", pattern="s*", decision="ask"),
        Pattern(subject="pattern:2", pattern="github.com/ACME/*", decision="exclude"),
    )
    policy = Policy(patterns=patterns)
    assert policy.about(SHOP).decision == "ask"
    assert Policy(patterns=patterns[::-1]).about(SHOP).decision == "exclude"
    decided = Policy(patterns=patterns, projects={"p1": Decided(decision="include", by="you")})
    assert (decided.about(SHOP).decision, decided.skips(SHOP, named=False)) == ("include", "")
    assert (policy.skips(SHOP, named=False), policy.skips(SHOP, named=True)) == ("undecided", "")


def test_a_project_is_named_by_id_name_key_or_folder() -> None:
    for word in ("p1", "Shop", "github.com/acme/shop", "/home/sam/shop/"):
        (choice,) = plan_decisions(ProjectsRequest(exclude=(word,)), {"p1": SHOP})
        assert (choice.subject, choice.decision) == ("p1", "exclude")
