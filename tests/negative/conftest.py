"""A vault with a note that will be withheld and its twin, which speaks of the same and must go on being found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.ingest.conftest import PROJECT, World
from tests.serve.conftest import Serve
from tests.serve.other import write_elsewhere
from vir_core.vault import open_vault, parse, passage_texts

QUESTION = "quokka cache eviction timer loses entries"
SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7xC0fL4kRz"
VICTIM = "11111111-aaaa-4aaa-8aaa-000000000001"
TWIN = "22222222-bbbb-4bbb-8bbb-000000000002"
INTERNAL = "33333333-cccc-4ccc-8ccc-000000000003"
LATER = "44444444-dddd-4ddd-8ddd-000000000004"

VICTIM_WORDS = "zanzibar"
TWIN_WORDS = "wollongong"
INTERNAL_WORDS = "mogadishu"


class Pair(World):
    """`victim` and `twin` are note ids; the victim lies in project lantern, the twin in tidepool."""

    victim: str
    twin: str
    lesson: str

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.compose("-home-mira-src-lantern", VICTIM, VICTIM_WORDS)
        self.compose("-home-mira-src-tidepool", TWIN, TWIN_WORDS)
        self.compose("-home-mira-src-tidepool", INTERNAL, INTERNAL_WORDS, entrypoint="sdk-cli", secret="")

    def compose(self, project: str, session: str, word: str, *, entrypoint: str = "cli", secret: str = SECRET) -> None:
        """A short session of a person (or of a program, with the entry point of one) about the quokka cache."""
        folder = self.claude / project
        model = next(folder.glob("*.jsonl"))
        known = [
            json.loads(line) for line in model.read_text("utf-8").splitlines() if line[:1] == "{" and line[-1:] == "}"
        ]
        first = next(record for record in known if record.get("type") == "user" and "cwd" in record)
        typed = {"promptSource": "typed", "origin": {"kind": "human"}, "permissionMode": "default"}
        person = typed if entrypoint == "cli" else {}
        said = (
            f"The quokka cache in {word} loses entries because the eviction timer runs twice. "
            f"Fixed by starting the eviction timer of the quokka cache once, in {word}_start. "
            f"We decided to keep one timer per cache, because two timers race. {('The token was ' + secret) if secret else ''}"
        )
        turns = [
            ("user", f"why does the quokka cache {word} lose entries? {secret}", person),
            ("assistant", said, {}),
            ("user", f"yes, that fixed the quokka cache {word}, keep the eviction timer single from now on", person),
            ("assistant", f"Done: the eviction timer of the quokka cache {word} starts once and the tests pass.", {}),
        ]
        lines: list[str] = []
        parent = None
        for number, (kind, text, extra) in enumerate(turns):
            uuid = f"{session[:8]}-0000-4000-8000-{number:012x}"
            message: dict[str, Any] = {"role": kind, "content": text}
            if kind == "assistant":
                message = {"id": f"msg_{session[:8]}_{number}", "role": kind, "model": "claude-x"}
                message["content"] = [{"type": "text", "text": text}]
            lines.append(
                json.dumps(
                    {
                        "type": kind,
                        "uuid": uuid,
                        "parentUuid": parent,
                        "sessionId": session,
                        "cwd": first["cwd"],
                        "version": first.get("version", "2.0.0"),
                        "gitBranch": first.get("gitBranch", "main"),
                        "isSidechain": False,
                        "userType": "external",
                        "entrypoint": entrypoint,
                        "timestamp": f"2026-11-2{number}T10:00:00.000Z",
                        "message": message,
                        **extra,
                    }
                )
            )
            parent = uuid
        (folder / f"{session}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")

    def prepare(self) -> None:
        written = {note.session: note for note in self.run().written}
        self.victim = written[f"claude:{VICTIM}"].id
        self.twin = written[f"claude:{TWIN}"].id
        assert f"claude:{INTERNAL}" not in written
        hits = [hit for hit in self.ask(QUESTION, limit=50, budget=0).hits if hit.id == self.victim]
        assert hits, "the positive control"
        lessons = {block: text for block, text in self._lessons() if VICTIM_WORDS in text}
        self.lesson = next(iter(lessons))

    def _lessons(self) -> list[tuple[str, str]]:
        note = parse(self.note(self.victim).read_bytes())
        return [(block, text) for block, kind, text in passage_texts(note) if kind == "lesson" and block]

    def words_of(self, lesson: str) -> str:
        """The end of what a lesson says, from its own word on: nothing else in the vault says that."""
        text = dict(self._lessons())[lesson]
        return text[text.index(VICTIM_WORDS) :]

    @property
    def place(self) -> Path:
        return open_vault(self.vault).state

    def elsewhere(self, action: str, subject: str, **data: Any) -> None:
        write_elsewhere(self.vault, action, subject, **data)


class Answered(Struct):
    """What one surface gave back: the notes and lessons it named, and every byte it said."""

    ids: set[str]
    blocks: set[str]
    said: str


def of(reply: Any) -> Answered:
    hits = reply["hits"]
    return Answered({hit["id"] for hit in hits}, {hit["block"] for hit in hits}, json.dumps(reply))


def command(pair: Pair, *words: str, stdin: str | None = None, env: dict[str, str] | None = None) -> Answered:
    """A process of its own, as an agent with a shell would start it."""
    done = subprocess.run(
        [sys.executable, "-m", "vir_core", *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT), **(env or {})},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return of(json.loads(done.stdout))


ALL = ["--limit", "50", "--budget", "0", "--full", "--json"]


def cli(pair: Pair, warm: Serve) -> Answered:
    return command(pair, "query", QUESTION, "--vault", str(pair.vault), *ALL)


def stdin(pair: Pair, warm: Serve) -> Answered:
    request = {"text": QUESTION, "vault": str(pair.vault), "limit": 50, "budget": 0, "full": True}
    return command(pair, "query", "--json", "-", stdin=json.dumps(request))


def words(pair: Pair, warm: Serve) -> Answered:
    """What a person reads; it names notes by their paths."""
    done = pair.cli("query", QUESTION, "--vault", str(pair.vault), "--limit", "50", "--budget", "0", "--full")
    paths = {str(path.relative_to(pair.vault)): path for path in pair.vault.rglob("*.md")}
    ids = {
        text.partition('vir_id: "')[2][:16]
        for name, path in paths.items()
        if name in done.stdout
        for text in [path.read_text("utf-8")]
    }
    return Answered(ids, set(), done.stdout)


def warm_serve(pair: Pair, warm: Serve) -> Answered:
    return of(warm.call("query", text=QUESTION, limit=50, budget=0, full=True))


def restarted(pair: Pair, warm: Serve) -> Answered:
    fresh = Serve("--vault", str(pair.vault))
    try:
        return of(fresh.call("query", text=QUESTION, limit=50, budget=0, full=True))
    finally:
        fresh.close()


def related(pair: Pair, warm: Serve) -> Answered:
    """Asked from a third note, so that both could be in it."""
    found = of(warm.call("related", id=pair.twin, limit=50, budget=0, full=True))
    # The twin is what was asked about: that it answers at all stands for it.
    return Answered(found.ids | {pair.twin}, found.blocks, found.said)


def recent(pair: Pair, warm: Serve) -> Answered:
    return of(warm.call("recent", limit=500, budget=0, full=True))


def by_id(pair: Pair, warm: Serve) -> Answered:
    both = [of(warm.call("query", text=id, budget=0, full=True)) for id in (pair.victim, pair.twin, pair.lesson)]
    return Answered(
        set().union(*(one.ids for one in both)),
        set().union(*(one.blocks for one in both)),
        "".join(one.said for one in both),
    )


def after_rebuild(pair: Pair, warm: Serve) -> Answered:
    shutil.rmtree(pair.place / "index", ignore_errors=True)
    return cli(pair, warm)


def cold_caches(pair: Pair, warm: Serve) -> Answered:
    for name in ("gate", "checkpoint", "seen", "indexed"):
        (pair.place / name).unlink(missing_ok=True)
    shutil.rmtree(pair.place / "index", ignore_errors=True)
    return cli(pair, warm)


def stale_index(pair: Pair, warm: Serve) -> Answered:
    """The index as it was before the act: what it holds must not come through."""
    shutil.rmtree(pair.place / "index")
    shutil.copytree(pair.place.parent / "index-before", pair.place / "index")
    return cli(pair, warm)


def no_state(pair: Pair, warm: Serve) -> Answered:
    """A machine that has never run here answers from the vault alone."""
    elsewhere = pair.vault.parent / "other-machine"
    return command(pair, "query", QUESTION, "--vault", str(pair.vault), *ALL, env={"VIR_STATE_DIR": str(elsewhere)})


def after_next_run(pair: Pair, warm: Serve) -> Answered:
    pair.run()
    return warm_serve(pair, warm)


Surface = Callable[[Pair, Serve], Answered]

SURFACES: dict[str, Surface] = {
    surface.__name__: surface
    for surface in (
        cli,
        stdin,
        words,
        warm_serve,
        restarted,
        related,
        recent,
        by_id,
        stale_index,
        after_rebuild,
        cold_caches,
        no_state,
        after_next_run,
    )
}
