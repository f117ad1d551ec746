from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from vir_core.index import Index, IndexUnusable, Passage, Terms, table
from vir_core.machine import hold

PROJECT = Path(__file__).resolve().parents[2]


def passage(note: str, block: str, text: str, title: str = "Title", **changes: object) -> Passage:
    fields: dict[str, object] = {
        "kind": "lesson" if block else "summary",
        "path": f"vir/patterns/{note}.md",
        "project": "p1",
        "project_name": "api-server",
        "category": "pattern",
        "date": "2026-11-30",
        "confidence": 0.5,
        "digest": f"digest of {note}",
        **changes,
    }
    return Passage(note=note, block=block, text=text, title=title, **fields)  # type: ignore[arg-type]


def found(index: Index, *words: str, **filters: object) -> list[tuple[str, str]]:
    answer = index.search(Terms(words=words), 50, **filters)  # type: ignore[arg-type]
    return sorted((match.note, match.anchor) for match in answer.matches)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "index"


def in_process(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_question_without_an_index_creates_nothing(folder: Path) -> None:
    index = Index(folder)
    assert index.state() == "missing"
    with pytest.raises(IndexUnusable) as caught:
        found(index, "walrus")
    assert caught.value.state == "missing"
    assert index.mark() == ""
    assert not folder.exists()
    assert not folder.parent.exists()


def test_rebuild_then_refresh_leaves_each_passage_once(folder: Path) -> None:
    index = Index(folder)
    before = [
        passage("n1", "la", "walrus"),
        passage("n1", "lb", "walrus again"),
        passage("n1", "", "walrus summary"),
        passage("n1", "", "walrus context", kind="context"),
        passage("n2", "la", "walrus"),
    ]
    assert index.rebuild(before, mark="at 1") == 5
    assert found(index, "walrus") == [("n1", "context"), ("n1", "la"), ("n1", "lb"), ("n1", "summary"), ("n2", "la")]
    assert index.mark() == "at 1"
    after = {"n1": [passage("n1", "la", "zebra"), passage("n1", "lc", "zebra")], "n3": [passage("n3", "la", "zebra")]}
    for _ in range(2):
        index.refresh(after, {"n2", "never there"}, mark="at 2")
        assert found(index, "walrus") == []
        assert found(index, "zebra") == [("n1", "la"), ("n1", "lc"), ("n3", "la")]
        assert index.count() == 3
    assert index.mark() == "at 2"
    assert index.digests() == {"n1": "digest of n1", "n3": "digest of n3"}
    index.refresh({"n1": []})
    assert found(index, "zebra") == [("n3", "la")]
    assert index.mark() == "at 2"


def test_a_passage_given_twice_is_indexed_once(folder: Path) -> None:
    index = Index(folder)
    assert index.rebuild([passage("n1", "la", "walrus"), passage("n1", "la", "walrus later")]) == 1
    index.refresh({"n2": [passage("n2", "la", "walrus"), passage("n2", "la", "walrus")]})
    assert found(index, "walrus") == [("n1", "la"), ("n2", "la")]


def test_an_empty_index_answers_and_takes_notes(folder: Path) -> None:
    index = Index(folder)
    assert index.rebuild([]) == 0
    assert index.state() == "ready"
    assert found(index, "walrus") == []
    index.refresh({"n1": [passage("n1", "la", "walrus")]})
    assert found(index, "walrus") == [("n1", "la")]


def test_the_only_note_of_a_vault_is_found_with_a_positive_score(folder: Path) -> None:
    index = Index(folder)
    index.rebuild([passage("n1", "la", "the walrus sleeps")])
    (match,) = index.search(Terms(words=("walrus",)), 5).matches
    assert match.words_score > 0


def test_filters_keep_to_categories_and_projects_whatever_their_names_hold(folder: Path) -> None:
    index = Index(folder)
    odd = "p' OR '1'='1"
    index.rebuild(
        [
            passage("n1", "la", "walrus", project=odd),
            passage("n2", "la", "walrus", project="p2", category="gotcha"),
            passage("n'3", "la", "walrus", project="p2"),
        ]
    )
    assert found(index, "walrus", projects=[odd]) == [("n1", "la")]
    assert found(index, "walrus", projects=["p2"], categories=["gotcha"]) == [("n2", "la")]
    assert found(index, "walrus", categories=["tool"]) == []
    index.refresh({}, {"n'3"})
    assert found(index, "walrus") == [("n1", "la"), ("n2", "la")]


def test_text_of_any_kind_goes_in_and_comes_out_clean(folder: Path) -> None:
    index = Index(folder)
    index.rebuild(
        [passage("n1", "la", "walrus \ud83d lone\0 nul \U0001f9ad שלום\nsecond line", title="two\nlines \udfff")]
    )
    (match,) = index.search(Terms(words=("walrus",)), 5).matches
    assert match.title == "two lines \ufffd"
    assert match.text == "walrus \ufffd lone nul \U0001f9ad שלום\nsecond line"


def test_frequency_is_counted_over_both_columns_and_capped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "FREQUENCY_CAP", 3)
    index = Index(folder)
    index.rebuild([passage(f"n{number}", "la", "walrus max_retries") for number in range(5)])
    answer = index.search(Terms(words=("walrus", "zebra"), idents=("max_retries",)), 2)
    assert answer.frequency == {"walrus": 3, "zebra": 0, "max_retries": 3}
    assert answer.passages == 5
    assert not answer.complete


def test_an_index_of_another_version_is_stale_and_a_damaged_one_unreadable_until_rebuilt(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = [passage("n1", "la", "walrus")]
    index = Index(folder)
    index.rebuild(content)
    meta = (folder / "meta.json").read_bytes()

    def check(state: str) -> None:
        fresh = Index(folder)
        assert fresh.state() == state
        with pytest.raises(IndexUnusable) as caught:
            found(fresh, "walrus")
        assert caught.value.state == state
        fresh.rebuild(content)
        assert fresh.state() == "ready"
        assert found(fresh, "walrus") == [("n1", "la")]

    (folder / "meta.json").write_bytes(meta.replace(b'"layout":', b'"layout":9'))
    check("stale")
    (folder / "meta.json").write_bytes(b'{"layout":1}')
    check("stale")
    (folder / "meta.json").write_bytes(meta[:20])
    check("unreadable")
    (folder / "meta.json").write_bytes(b"")
    check("unreadable")
    (folder / "meta.json").write_bytes(meta.replace(b'"folder":"g', b'"folder":"x'))
    check("unreadable")
    (folder / "meta.json").unlink()
    check("missing")


@pytest.mark.parametrize("part", ["data", "_versions", "_indices"])
@pytest.mark.parametrize("how", ["deleted", "emptied", "garbled"])
def test_a_half_deleted_table_answers_rightly_or_says_unreadable(folder: Path, part: str, how: str) -> None:
    content = [passage(f"n{number}", "la", f"walrus number{number}") for number in range(20)]
    Index(folder).rebuild(content)
    for file in folder.rglob("*"):
        if file.is_file() and part in file.relative_to(folder).parts:
            if how == "deleted":
                file.unlink()
            elif how == "emptied":
                file.write_bytes(b"")
            else:
                size = file.stat().st_size
                file.write_bytes(os.urandom(size))
    fresh = Index(folder)
    try:
        hits = found(fresh, "walrus")
    except IndexUnusable as error:
        assert error.state == "unreadable"
    else:
        assert len(hits) == 20
    fresh.rebuild(content)
    assert len(found(fresh, "walrus")) == 20


def test_an_open_index_sees_what_another_process_writes_and_a_rebuild_under_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vir_core.index.generations.GRACE", 0.0)
    reader, writer = Index(folder), Index(folder)
    writer.rebuild([passage("n1", "la", "walrus")])
    assert found(reader, "walrus") == [("n1", "la")]
    writer.refresh({"n2": [passage("n2", "la", "walrus")]})
    assert found(reader, "walrus") == [("n1", "la"), ("n2", "la")]
    writer.rebuild([passage("n3", "la", "walrus")])
    assert found(reader, "walrus") == [("n3", "la")]
    assert len([path for path in folder.iterdir() if path.is_dir()]) == 1


def test_a_superseded_generation_outlives_the_readers_that_may_have_it_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index(folder)
    index.rebuild([passage("n1", "la", "walrus")])
    index.rebuild([passage("n2", "la", "walrus")])
    generations = [path for path in folder.iterdir() if path.is_dir()]
    assert len(generations) == 2
    monkeypatch.setattr("vir_core.index.generations.GRACE", 0.0)
    index.optimize()
    assert len([path for path in folder.iterdir() if path.is_dir()]) == 1
    assert found(index, "walrus") == [("n2", "la")]


def test_optimize_folds_many_commits_into_few_files_and_answers_the_same(folder: Path) -> None:
    index = Index(folder)
    index.rebuild([passage("n0", "la", "walrus")])
    for number in range(1, 30):
        index.refresh({f"n{number}": [passage(f"n{number}", "la", "walrus")]})
    index.refresh({}, {"n3"})
    before = found(index, "walrus")
    files = sum(1 for _ in folder.rglob("*"))
    index.optimize()
    assert found(index, "walrus") == before
    assert ("n3", "la") not in before
    assert len(before) == 29
    assert sum(1 for _ in folder.rglob("*")) < files / 3


def test_optimize_leaves_a_few_small_commits_alone(folder: Path) -> None:
    index = Index(folder)
    index.rebuild([passage("n0", "la", "walrus")])
    index.refresh({"n1": [passage("n1", "la", "walrus")]})
    before = sorted(folder.rglob("*"))
    index.optimize()
    assert sorted(folder.rglob("*")) == before
    index.refresh({f"n{number}": [passage(f"n{number}", "la", "walrus")] for number in range(200)})
    index.optimize()
    assert sorted(folder.rglob("*")) != before
    assert len(index.search(Terms(words=("walrus",)), 500).matches) == 200


REFRESH = """
import sys
from pathlib import Path
sys.path.insert(0, "tests/index")
from test_index_table import passage
from vir_core.index import Index
from vir_core.machine import hold
folder, lock, rounds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
index = Index(folder)
for turn in range(rounds):
    notes = {f"n{turn}x{n}": [passage(f"n{turn}x{n}", "la", "walrus"), passage(f"n{turn}x{n}", "lb", "walrus")] for n in range(4)}
    with hold(lock, "test", wait=20.0):
        index.refresh(notes)
print("done")
"""


def test_two_processes_that_add_the_same_new_notes_leave_no_duplicate(folder: Path, tmp_path: Path) -> None:
    Index(folder).rebuild([])
    lock = tmp_path / "locks" / "index.lock"
    lock.parent.mkdir()
    writers = [in_process(REFRESH, folder, lock, 12) for _ in range(2)]
    for writer in writers:
        out, err = writer.communicate(timeout=60)
        assert out == "done\n", err
        assert err == ""
    index = Index(folder)
    assert index.count() == 12 * 4 * 2
    hits = index.search(Terms(words=("walrus",)), 500).matches
    assert len({(match.note, match.anchor) for match in hits}) == len(hits) == 12 * 4 * 2


REBUILD = """
import sys
from pathlib import Path
sys.path.insert(0, "tests/index")
from test_index_table import passage
from vir_core.index import Index
folder = Path(sys.argv[1])
print("ready", flush=True)
while True:
    Index(folder).rebuild([passage(f"n{n}", "la", f"walrus number{n}") for n in range(400)])
"""


@pytest.mark.slow
def test_a_rebuild_killed_anywhere_leaves_answers_as_they_were(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Index(folder).rebuild([passage(f"n{number}", "la", f"walrus number{number}") for number in range(400)])
    warm = Index(folder)
    for turn in range(12):
        writer = in_process(REBUILD, folder)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        end = time.monotonic() + 0.02 * turn
        while time.monotonic() < end:
            assert len(warm.search(Terms(words=("walrus",)), 500).matches) == 400
        writer.kill()
        writer.communicate()
        assert Index(folder).state() == "ready"
        for index in (warm, Index(folder)):
            assert len(index.search(Terms(words=("walrus",)), 500).matches) == 400
    monkeypatch.setattr("vir_core.index.generations.GRACE", 0.0)
    Index(folder).optimize()
    assert len([path for path in folder.iterdir() if path.is_dir()]) == 1


def test_threads_share_an_open_index(folder: Path) -> None:
    index = Index(folder)
    index.rebuild([passage(f"n{number}", "la", "walrus") for number in range(50)])
    counts: list[int] = []

    def ask() -> None:
        counts.extend(len(found(index, "walrus")) for _ in range(10))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [50] * 40


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_a_read_only_index_still_answers(folder: Path) -> None:
    Index(folder).rebuild([passage("n1", "la", "walrus")])
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert found(Index(folder), "walrus") == [("n1", "la")]
    finally:
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755)


def test_the_writers_lock_is_free_for_readers(folder: Path, tmp_path: Path) -> None:
    Index(folder).rebuild([passage("n1", "la", "walrus")])
    with hold(tmp_path / "index.lock", "run"):
        assert found(Index(folder), "walrus") == [("n1", "la")]
