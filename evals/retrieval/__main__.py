"""Asks the questions and counts what is found.

    python -m evals.retrieval ask NAME [--sets written real sixty] [--shared DIR] [--limit 8]
                                                    makes the vaults anew, asks, writes results/NAME.json, prints tables
    python -m evals.retrieval show NAME [--split dev]
    python -m evals.retrieval compare BEFORE AFTER [--split dev]      paired bootstrap, and the questions that got worse
    python -m evals.retrieval table NAME…           puts the tables of results into README.md

Questions go through `search`, as those of a person do. After all are asked, every fourth note is withheld in turns (rejected,
flagged, its file deleted) and its questions are asked again: such a note may not come back (`forbidden`), and those of
the others must (`still there`).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from evals.retrieval.corpora import HERE, Corpus, real, sixty, written
from evals.retrieval.measures import Asked, difference, judged, summary

RESULTS = HERE / "results"
BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"
SPLITS = ("dev", "test", "all")
Ask = Callable[[Path, str, int], tuple[tuple[str, ...], str, str | None]]


class Result(Struct, frozen=True, kw_only=True):
    """`questions` by id. `method` is what the answers call their way of searching; `forbidden` and `still_there` are shares
    of the questions asked after notes were withheld."""

    corpus: str
    notes: int
    digest: str
    commit: str
    day: str
    method: str
    limit: int
    questions: dict[str, Asked]
    withheld: int
    forbidden: float
    still_there: float


def ask(vault: Path, text: str, limit: int) -> tuple[tuple[str, ...], str, str | None]:
    """Ids found best first, the method, and what was amiss, through the function that the verb calls."""
    from vir_core.contract import QueryRequest
    from vir_core.search import query

    reply = query(QueryRequest(text=text, vault=str(vault), limit=limit))
    return tuple(hit.id for hit in reply.hits), reply.method, reply.degraded


def measured(corpus: Corpus, limit: int, asking: Ask = ask) -> Result:
    """Asks everything. Raises RuntimeError when an answer is not as good as it could be: that would be measured instead."""
    questions: dict[str, Asked] = {}
    methods: set[str] = set()
    for question in corpus.questions:
        hits, method, degraded = asking(corpus.vault, question.question, limit)
        if degraded:
            raise RuntimeError(f"{corpus.name}: {degraded}")
        methods.add(method)
        questions[question.id] = judged(question, hits)
    withheld = withhold(corpus)
    forbidden, there = [], []
    for question in corpus.questions:
        if not question.gold:
            continue
        hits, _, _ = asking(corpus.vault, question.question, limit)
        if question.answers & withheld:
            forbidden.append(bool(withheld & set(hits)))
        elif questions[question.id].rank:
            there.append(bool(question.answers & set(hits)))
    return Result(
        corpus=corpus.name,
        notes=corpus.notes,
        digest=corpus.digest,
        commit=_commit(),
        day=datetime.now(UTC).date().isoformat(),
        method=" ".join(sorted(methods)),
        limit=limit,
        questions=questions,
        withheld=len(withheld),
        forbidden=round(sum(forbidden) / len(forbidden), 4),
        still_there=round(sum(there) / len(there), 4),
    )


def withhold(corpus: Corpus) -> frozenset[str]:
    """Every fourth note that a question wants: rejected, flagged, or its file deleted, in turns. The index is left as it is."""
    from vir_core import __version__
    from vir_core.journal import Draft, Journal
    from vir_core.memory import Memory
    from vir_core.memory.acts import Held, Rejected
    from vir_core.vault import SeenTable, open_vault, resolve, walk

    vault = open_vault(corpus.vault)
    seen = walk(vault, SeenTable())
    chosen = sorted({note for question in corpus.questions for note in question.answers} & set(seen.notes))[::4]
    journal = Journal(vault.store, vault.state, vault=vault.id, device=resolve(vault).device, core=__version__)
    lines = [Draft("rejected", note, Rejected(reason="not-useful"), must=True) for note in chosen[::3]]
    lines += [Draft("held", note, Held(reason="flagged"), must=True) for note in chosen[1::3]]
    with journal.writing("evals", Memory) as writer:
        writer.append(lines, kind="person", surface="evals")
    for note in chosen[2::3]:
        vault.absolute(seen.notes[note][0].path).unlink()
    return frozenset(chosen)


def _commit() -> str:
    told = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    dirty = subprocess.run(
        ["git", "status", "--porcelain", "--", "vir_core"],
        cwd=HERE.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.strip() + ("+" if dirty.stdout.strip() else "")


# -- tables


def tables(results: list[Result], split: str) -> str:
    parts: list[str] = []
    for result in results:
        rows = _of(result, split)
        kinds = list(dict.fromkeys(row.kind for row in rows.values()))
        limit = result.limit
        lines = [
            f"**{result.corpus}**, {split}: {result.notes} notes, {len(rows)} questions, {result.method}, commit "
            f"{result.commit}, {result.day}; withheld {result.withheld}: forbidden {result.forbidden:.3f}, still there "
            f"{result.still_there:.3f}",
            "",
            f"| class | n | nDCG@8 | recall@1 | recall@5 | MRR@{limit} | found nothing | garbage got a hit |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for kind in [*kinds, ""]:
            told = summary([row for row in rows.values() if kind in ("", row.kind)], limit)
            figures = [
                told.get(name) for name in ("ndcg@8", "recall@1", "recall@5", f"mrr@{limit}", "silent", "garbage")
            ]
            shown = " | ".join("" if figure is None else f"{figure:.3f}" for figure in figures)
            lines.append(f"| {kind or 'all'} | {told['n']:g} | {shown} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def comparison(before: list[Result], after: list[Result], split: str) -> str:
    """Raises ValueError when the two were not asked over the same notes."""
    pairs = [(one, other) for one in before for other in after if one.corpus == other.corpus]
    lines = ["| set | figure | class | before | after | difference (95 %) |", "|---|---|---|---|---|---|"]
    worse: list[str] = []
    for one, other in pairs:
        if one.digest != other.digest or one.limit != other.limit:
            raise ValueError(f"{one.corpus}: not the same notes (or limit); ask again at both commits")
        first, second = _of(one, split), _of(other, split)
        for kind in ["", *dict.fromkeys(row.kind for row in first.values())]:
            old = {name: row for name, row in first.items() if kind in ("", row.kind)}
            new = {name: row for name, row in second.items() if kind in ("", row.kind)}
            told, retold = summary(old.values(), one.limit), summary(new.values(), one.limit)
            for figure in ("ndcg@8", "recall@1", "recall@5", "garbage"):
                if figure in told and (figure in ("ndcg@8", "garbage") or not kind):
                    mean, low, high = difference(old, new, figure)
                    lines.append(
                        f"| {one.corpus} | {figure} | {kind or 'all'} | {told[figure]:.3f} | {retold[figure]:.3f} | "
                        f"{mean:+.3f} [{low:+.3f}, {high:+.3f}] |"
                    )
        worse += _worse(one.corpus, first, second)
    return "\n".join([*lines, "", f"Worse ({split}):", *(worse or ["none"])])


def _worse(name: str, first: dict[str, Asked], second: dict[str, Asked]) -> Iterator[str]:
    for question in sorted(first.keys() & second.keys()):
        old, new = first[question], second[question]
        if old.wanted and (not new.rank or 0 < old.rank < new.rank) and old.rank != new.rank:
            yield f"- {name} {question}: place {old.rank or 'none'} to {new.rank or 'none'}"
        elif not old.wanted and new.hits and not old.hits:
            yield f"- {name} {question}: finds {len(new.hits)}"


def _of(result: Result, split: str) -> dict[str, Asked]:
    return {name: row for name, row in result.questions.items() if split in ("all", row.split)}


# -- files


def kept(name: str) -> list[Result]:
    return msgspec.json.decode((RESULTS / f"{name}.json").read_bytes(), type=list[Result])


def keep(name: str, results: list[Result]) -> None:
    RESULTS.mkdir(exist_ok=True)
    content = msgspec.json.format(msgspec.json.encode(results), indent=1)
    (RESULTS / f"{name}.json").write_bytes(_one_a_line(content) + b"\n")


def _one_a_line(content: bytes) -> bytes:
    """One question a line, so that a change of a result can be read."""
    import re

    return re.sub(rb"\{\n\s+\"kind\"[^}]*\}", lambda found: re.sub(rb"\n\s*", b" ", found[0]), content)


def put_into_readme(names: list[str]) -> None:
    text = "\n\n".join(f"### {name}\n\n{tables(kept(name), 'all')}" for name in names)
    readme = (HERE / "README.md").read_text("utf-8")
    head, _, rest = readme.partition(BEGIN)
    _, _, tail = rest.partition(END)
    (HERE / "README.md").write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}", "utf-8")


def _asked(options: argparse.Namespace) -> None:
    makers: dict[str, Callable[[Path], Corpus]] = {
        "written": written,
        "real": lambda folder: real(folder, options.shared),
        "sixty": lambda folder: sixty(folder, options.shared),
    }
    results: list[Result] = []
    for name in options.sets:
        with tempfile.TemporaryDirectory(prefix="vir-evals-") as place:
            # A machine of its own for each: a run asks which of several vaults a project belongs to.
            os.environ["VIR_STATE_DIR"] = f"{place}/state"
            results.append(measured(makers[name](Path(place) / name), options.limit))
    keep(options.name, results)
    print(tables(results, options.split))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    one = actions.add_parser("ask")
    one.add_argument("name")
    one.add_argument("--sets", nargs="+", choices=("written", "real", "sixty"), default=["written", "real", "sixty"])
    one.add_argument("--shared", type=Path, default=HERE.parent.parent.parent / "shared", help="the folder with data/")
    one.add_argument("--limit", type=int, default=8, help="hits to fetch; no figure looks further")
    one.add_argument("--split", choices=SPLITS, default="dev", help="what is printed; all is kept")
    two = actions.add_parser("show")
    two.add_argument("name")
    two.add_argument("--split", choices=SPLITS, default="dev")
    three = actions.add_parser("compare")
    three.add_argument("before")
    three.add_argument("after")
    three.add_argument("--split", choices=SPLITS, default="dev")
    four = actions.add_parser("table")
    four.add_argument("names", nargs="+")
    options = parser.parse_args()
    match options.action:
        case "ask":
            _asked(options)
        case "show":
            print(tables(kept(options.name), options.split))
        case "compare":
            print(comparison(kept(options.before), kept(options.after), options.split))
        case _:
            put_into_readme(options.names)


if __name__ == "__main__":
    main()
