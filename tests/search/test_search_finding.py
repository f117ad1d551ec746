from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from vir_core.index import Index, Passage
from vir_core.search import Scan, Source, question_terms, rank


def passage(note: str, text: str, title: str = "", block: str = "la", **changes: object) -> Passage:
    fields: dict[str, object] = {
        "kind": "lesson" if block else "summary",
        "path": f"vir/patterns/{note}.md",
        "project": "p1",
        "project_name": "api-server",
        "category": "pattern",
        "date": "2026-11-30",
        "confidence": 0.5,
        "digest": "d" * 64,
        **changes,
    }
    return Passage(note=note, block=block, text=text, title=title, **fields)  # type: ignore[arg-type]


NOTES = [
    passage("retries", "Set max_retries to 5 in the client, three was not enough during deploys.", "Retry more"),
    passage("manager", "ConfigurationManager reads the file once; restart the service to see changes.", "Settings"),
    passage("plain", "The configuration manager of the cluster keeps two copies of every key.", "Cluster"),
    passage("path", "The flaky test lives in tests/api/test_login.py and needs a free port.", "Flaky login test"),
    passage("error", "error[E0308]: mismatched types came from the async block returning a Result.", "Rust types"),
    passage("npm", "npm ERR! code ERESOLVE unable to resolve dependency tree: use an override.", "Peer conflict"),
    passage("chinese", "数据库连接池耗尽，导致请求超时。把最大连接数调到五十。", "连接池耗尽"),
    passage("japanese", "キャッシュを無効にするとテストが通る。", "キャッシュ"),
    passage("korean", "배포 전에 데이터베이스 마이그레이션을 실행한다.", "마이그레이션"),
    passage("hebrew", "המטמון נמחק בכל פריסה ולכן הדף הראשון איטי.", "מטמון"),
    passage("emoji", "The 🦭 icon breaks the terminal width, pad by two columns.", "Icon width"),
    passage("french", "Le café est servi avant la réunion de déploiement.", "Café"),
    passage("sqlite", "SQLite in WAL mode lets readers proceed while one writer appends.", "WAL mode"),
    passage("docker", "The docker image shrank after a multi-stage build removed the compiler.", "Small images"),
]


@pytest.fixture(params=["index", "scan"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    if request.param == "scan":
        return Scan(NOTES)
    index = Index(tmp_path / "index")
    index.rebuild(NOTES)
    return index


def ask(source: Source, question: str, limit: int = 32) -> list[str]:
    terms = question_terms(question)
    return list(dict.fromkeys(one.match.note for one in rank(terms, source.search(terms, limit))))


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("max_retries", "retries"),
        ("maxRetries", "retries"),
        ("how many retries for the client during a deploy", "retries"),
        ("ConfigurationManager", "manager"),
        ("configurationmanager", "manager"),
        ("tests/api/test_login.py", "path"),
        ("test_login", "path"),
        ("E0308", "error"),
        ("error[E0308]: mismatched types", "error"),
        ("npm ERR! code ERESOLVE", "npm"),
        ("连接", "chinese"),
        ("连接池", "chinese"),
        ("请求超时", "chinese"),
        ("キャッシュ", "japanese"),
        ("마이그레이션", "korean"),
        ("מטמון", "hebrew"),
        ("🦭 icon terminal", "emoji"),
        ("cafe", "french"),
        ("CAFÉ", "french"),
        ("sqlite wal readers", "sqlite"),
        ("dockers images", "docker"),
        ("WAL", "sqlite"),
    ],
)
def test_a_question_finds_its_note_first(source: Source, question: str, note: str) -> None:
    assert ask(source, question)[:1] == [note]


def test_an_identifier_and_its_words_find_each_other(source: Source) -> None:
    assert set(ask(source, "configuration manager")) >= {"plain", "manager"}
    assert set(ask(source, "ConfigurationManager")) >= {"plain", "manager"}
    assert set(ask(source, "configuration_manager")) >= {"plain", "manager"}


@pytest.mark.parametrize(
    "question",
    [
        "banana helicopter sunset",
        "what is the weather in paris today",
        "best pizza near the cathedral",
        "asdf qwer zxcv",
        "xyzzy_frobnicate",
        "量子力学",
        "",
        "   \n\t",
        "\0",
        "\ud83d",
        "the of and",
        '"(:*^~',
        "🦄",
        "\u202e\u200f",
    ],
)
def test_garbage_finds_nothing(source: Source, question: str) -> None:
    assert ask(source, question) == []


@pytest.mark.parametrize(
    "question",
    [
        '"sqlite wal"',
        "+sqlite -wal",
        "sqlite AND (wal OR",
        "sqlite~2 wal^3",
        "sqlite\0wal",
        "words:sqlite wal*",
        "sqlite\\wal",
        "'; DROP TABLE passages; -- sqlite wal",
        "\x1b[31msqlite\x1b[0m wal",
        "\ud800sqlite wal",
    ],
)
def test_there_is_no_query_syntax(source: Source, question: str) -> None:
    assert ask(source, question)[:1] == ["sqlite"]


def test_a_pasted_log_of_any_length_is_taken_by_its_ends(source: Source) -> None:
    noise = "\n".join(f"line {number} of noise {number:08x}" for number in range(4000))
    assert len(noise) > 100_000
    assert len(question_terms(noise).words) <= 40
    assert ask(source, f"{noise}\nnpm ERR! code ERESOLVE unable to resolve dependency tree") == ["npm"]
    assert ask(source, f"error[E0308]: mismatched types\n{noise}")[:1] == ["error"]
    assert ask(source, "连接" * 40_000)[:1] == ["chinese"]
    ask(source, "a" * 100_000)
    ask(source, "a_" * 50_000)


def test_filters_narrow(source: Source) -> None:
    terms = question_terms("sqlite wal")
    assert source.search(terms, 8, categories=["pattern"], projects=["p1"]).matches
    assert not source.search(terms, 8, categories=["gotcha"]).matches
    assert not source.search(terms, 8, projects=["p2"]).matches


def test_stop_words_alone_still_find_what_is_named_so(tmp_path: Path) -> None:
    index = Index(tmp_path / "index")
    index.rebuild([*NOTES, passage("not", "Use is_not instead of comparing.", "Operators")])
    assert ask(index, "is not") == ["not"]
    assert ask(index, "the and of") == []


def test_the_only_note_is_found(tmp_path: Path) -> None:
    index = Index(tmp_path / "index")
    index.rebuild([NOTES[0]])
    assert ask(index, "max_retries") == ["retries"]
    assert ask(index, "walrus") == []


def test_scan_and_index_agree_on_the_best_note_and_on_the_frequencies(tmp_path: Path) -> None:
    index = Index(tmp_path / "index")
    index.rebuild(NOTES)
    scan = Scan(NOTES)
    for note in NOTES:
        question = " ".join(note.text.split()[:6])
        terms = question_terms(question)
        assert index.search(terms, 32).frequency == scan.search(terms, 32).frequency
        assert ask(index, question)[:1] == ask(scan, question)[:1] == [note.note]


def retrieval(shared: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (shared / "data" / "retrieval60.jsonl").read_text().splitlines()]


def recall(source: Source, rows: Iterable[dict[str, str]], kind: str, at: int) -> float:
    hits = [f"n{row['id']}" in ask(source, row[kind])[:at] for row in rows]
    return sum(hits) / len(hits)


@pytest.mark.slow
def test_literal_questions_over_the_sixty_notes_are_all_answered_first(shared: Path, tmp_path: Path) -> None:
    rows = retrieval(shared)
    notes = [passage(f"n{row['id']}", row["note"]) for row in rows]
    index = Index(tmp_path / "index")
    index.rebuild(notes)
    for source in (index, Scan(notes)):
        assert recall(source, rows, "literal", 1) == 1.0
    same = [ask(index, row["literal"])[:1] == ask(Scan(notes), row["literal"])[:1] for row in rows]
    assert all(same)
