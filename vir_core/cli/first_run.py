"""`run` on a terminal: say what will happen, show ten notes, ask before the rest."""

from __future__ import annotations

import msgspec

from vir_core.cli.progress import shown_progress
from vir_core.cli.show import DRIVER_WORDS, count, counts, line, show, size
from vir_core.contract import ArchiveStatus, Keep, Request, RunReply, RunRequest
from vir_core.verbs import TABLE

FIRST = 10
ARCHIVED_SHARE = 0.05
"""Of a transcript's bytes, what its copy takes: 4.8 % of 21 MB of real ones, 3 to 10 % of most."""


def walk(request: Request) -> int:
    """The conversation. Where everything fits into the first ten notes, nothing is asked; nor later, when a few are new."""
    assert isinstance(request, RunRequest)
    if request.dry_run or request.limit is not None:
        return _finish(request, _run(request))
    planned = _run(msgspec.structs.replace(request, dry_run=True))
    if planned.unchanged and len(planned.planned) <= FIRST:
        return _finish(request, _run(request))
    print(screen(planned))
    if not planned.planned:
        return _finish(request, planned)
    if planned.archive and not (planned.archive.keep or planned.unchanged or request.archive):
        request = msgspec.structs.replace(request, archive=_archiving(planned, planned.archive))
    first = _run(msgspec.structs.replace(request, limit=FIRST))
    rest = len(planned.planned) - min(FIRST, len(planned.planned))
    if rest <= 0:
        return _finish(request, first)
    print(f"\nThe newest first:\n{_paths(first)}\n\nOpen {line(first.vault)} in Obsidian and look at them.")
    if not _yes(f"Read the other {count(rest, 'session')} now? [y/N] "):
        print("Left for later: run the same command again whenever you like.")
        return 1 if first.failed else 0
    return _finish(request, _run(request))


def screen(planned: RunReply) -> str:
    """One screen: whose sessions these are, which projects, what is read and written."""
    projects: dict[str, int] = {}
    for item in planned.planned:
        projects[item.project] = projects.get(item.project, 0) + 1
    shown = dict(sorted(projects.items(), key=lambda entry: -entry[1])[:8])
    lines = [
        f"Found {count(sum(planned.drivers.values()), 'session file')}, driven by:",
        *counts(planned.drivers, DRIVER_WORDS),
        "",
        f"{count(len(planned.planned), 'session')} of yours to read, by project:",
        *counts(shown, {name: line(name) for name in shown}),
    ]
    if len(projects) > len(shown):
        lines.append(f"          and {len(projects) - len(shown)} more")
    lines += [
        "",
        "Read:     the session files of Claude Code and Codex (never changed)",
        f"Written:  notes in {line(planned.vault)}, under {line(planned.folder)}/",
        "Nothing leaves this machine: no key, no network.",
    ]
    return "\n".join(lines)


def _archiving(planned: RunReply, archive: ArchiveStatus) -> Keep:
    """Asks once whether to keep copies. Without an answer none are kept, and the question stays open."""
    about = sum(item.bytes for item in planned.planned) * ARCHIVED_SHARE
    print(
        "\nThe agents delete their files after a while. vir can keep a copy of each session it reads, without secrets,\n"
        f"so that a note can be checked against it later: about {size(about)} now, in\n{line(archive.path)}."
    )
    try:
        answer = input("Keep copies for a year, for ever, or none? [y/f/N] ").strip().casefold()
    except EOFError:
        print()
        return ""
    return "1y" if answer in {"y", "yes", "year"} else "forever" if answer in {"f", "forever", "for ever"} else "off"


def _run(request: RunRequest) -> RunReply:
    with shown_progress(as_json=False) as tell:
        reply = TABLE["run"].run(request, tell)
    assert isinstance(reply, RunReply)
    return reply


def _paths(reply: RunReply) -> str:
    lines = [f"  {line(note.path)}" for note in reply.written]
    if empty := reply.skipped.get("nothing_durable", 0):
        lines.append(f"  ({count(empty, 'session')} held nothing worth keeping)")
    return "\n".join(lines)


def _yes(question: str) -> bool:
    try:
        return input(question).strip().casefold() in {"y", "yes"}
    except EOFError:
        return False


def _finish(request: RunRequest, reply: RunReply) -> int:
    print(show("run", request, reply))
    return 1 if reply.failed else 0
