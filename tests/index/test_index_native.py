"""The fast way into LanceDB must give what the documented way gives, and load nothing it promised not to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]

SETUP = """
import json, sys
from pathlib import Path
sys.path.insert(0, "tests/index")
from test_index_table import passage
from vir_core.index import Index, Terms, native
folder = Path(sys.argv[1])
"""

# No two notes are of one length, so no two scores are equal: the order of equals is LanceDB's to choose.
NOTES = """
words = "retry socket timeout cache lock index worker queue retry lock".split()
notes = [
    passage(
        f"n{n}",
        "la",
        " ".join(words[(n * k + k) % 10] for k in range(3 + n % 5)) + f" max_retries{n % 7} 连接超时" + " filler_word" * n,
    )
    for n in range(120)
]
"""

ASK = """
answers = []
for terms in (
    Terms(words=("retries", "locks")),
    Terms(words=("cache",), idents=("max_retries3",)),
    Terms(idents=("连接", "接超")),
    Terms(words=("zebra",)),
):
    found = Index(folder).search(terms, 20)
    order = sorted(found.matches, key=lambda m: (-m.words_score, -m.idents_score, m.note))
    answers.append([[m.note, round(m.words_score, 4), round(m.idents_score, 4)] for m in order])
    answers.append(dict(found.frequency))
answers.append(native.store().tokens("The running retries of café", native.Tokenizer(
    base_tokenizer="simple", stem=True, remove_stop_words=True, ascii_folding=True)))
table = native.store().open(str(folder / Index(folder)._meta().folder))
answers.append([row["key"] for row in table.find([native.TextQuery(column="words", text="socket", limit=30, columns=("key",))])[0].rows])
print(json.dumps(answers))
"""


def run(code: str, *arguments: object) -> str:
    command = [sys.executable, "-W", "error", "-c", SETUP + code, *map(str, arguments)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("builder", ["native", "public"])
def test_native_and_public_api_give_the_same_passages_in_the_same_order(tmp_path: Path, builder: str) -> None:
    public = "import warnings; warnings.simplefilter('default')\nnative._store = native.public_store()\n"
    build = (
        NOTES + "Index(folder).rebuild(notes[:100]); Index(folder).refresh({n.note: [n] for n in notes[90:]}, {'n5'})\n"
    )
    run((public if builder == "public" else "") + build, tmp_path / "index")
    fast = json.loads(run("assert type(native.store()).__name__ == '_NativeStore'\n" + ASK, tmp_path / "index"))
    slow = json.loads(run(public + ASK, tmp_path / "index"))
    assert fast == slow
    assert fast[0]
    assert all(fast[position] for position in (0, 2, 4))
    assert fast[6] == []


def test_a_search_process_loads_neither_asyncio_nor_numpy_nor_the_rest_of_lancedb(tmp_path: Path) -> None:
    run(NOTES + "Index(folder).rebuild(notes)", tmp_path / "index")
    code = """
import sys
from pathlib import Path
from vir_core.index import Index
from vir_core.search import question_terms, rank
terms = question_terms("worker queue max_retries3")
assert rank(terms, Index(Path(sys.argv[1])).search(terms, 20))
print(" ".join(sorted({name for name in sys.modules if sys.modules[name] is not None})))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "index")], cwd=PROJECT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "lancedb._lancedb" in loaded
    heavy = {
        "asyncio",
        "numpy",
        "pyarrow",
        "pydantic",
        "lance_namespace",
        "lancedb.table",
        "subprocess",
        "logging",
        "markdown_it",
    }
    assert not loaded & heavy


def test_real_asyncio_and_numpy_still_work_after_and_around_a_search(tmp_path: Path) -> None:
    code = (
        NOTES
        + """
Index(folder).rebuild(notes)
assert "asyncio" not in sys.modules
import asyncio, threading
ask = lambda: len(Index(folder).search(Terms(words=("cache",)), 200).matches)
expected = ask()
assert expected

async def inside():
    here = asyncio.get_running_loop()
    assert ask() == expected
    assert asyncio.get_running_loop() is here
    await asyncio.sleep(0)
    return await asyncio.gather(*(asyncio.to_thread(ask) for _ in range(4)))

assert asyncio.run(inside()) == [expected] * 4
import numpy
assert numpy.arange(3).sum() == 3
assert ask() == expected
print("fine")
"""
    )
    assert run(code, tmp_path / "index") == "fine\n"


def test_the_first_search_in_a_thread_leaves_no_stand_in_behind(tmp_path: Path) -> None:
    code = (
        NOTES
        + """
import threading
errors = []
def work():
    try:
        Index(folder).rebuild(notes)
        assert Index(folder).search(Terms(words=("cache",)), 200).matches
    except BaseException as error:
        errors.append(error)
thread = threading.Thread(target=work); thread.start(); thread.join()
assert not errors, errors
import asyncio
async def nothing(): return 7
assert asyncio.run(nothing()) == 7
print("fine")
"""
    )
    assert run(code, tmp_path / "index") == "fine\n"


def test_without_the_native_module_the_public_api_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    from vir_core.index import native

    def missing() -> object:
        raise AttributeError("tokenize")

    sentinel = object()
    monkeypatch.setattr(native, "_store", None)
    monkeypatch.setattr(native, "_load_native", missing)
    monkeypatch.setattr(native, "public_store", lambda: sentinel)
    assert native.store() is sentinel


def test_an_error_of_the_native_side_reaches_the_caller_and_the_next_call_works(tmp_path: Path) -> None:
    code = (
        NOTES
        + """
import os
Index(folder).rebuild(notes)
try:
    native.store().open(str(folder / "nothing"))
except Exception as error:
    assert "nothing" in str(error) or "passages" in str(error), error
else:
    raise SystemExit("no error")
assert Index(folder).count() == 120
print("fine")
"""
    )
    assert run(code, tmp_path / "index") == "fine\n"


def test_rows_read_without_pyarrow_are_those_that_pyarrow_reads(tmp_path: Path) -> None:
    code = (
        NOTES
        + """
from vir_core.index import arrow
Index(folder).rebuild([passage("n1", "", "plain words"), passage("n2", "lb", "连接 café 🙂 " + "x" * 3000), *notes])
table = native.store().open(str(folder / Index(folder)._meta().folder))
columns = ("key", "note", "words", "idents", "confidence", "date")
query = native.TextQuery(column="words", text="retry socket", limit=7, columns=columns, where="note != 'n5'")
counted = native.TextQuery(column="words", text="cache", limit=50)
nothing = native.TextQuery(column="words", text="zebra", limit=5, columns=columns)
"""
    )
    ask = """
rows = sorted(table.read(columns), key=lambda row: row["key"])
found = table.find([query, counted, nothing])
assert ("pyarrow" in sys.modules) == (sys.argv[2] == "pyarrow"), sys.modules.get("pyarrow")
print(json.dumps([rows, [[answer.rows, answer.count] for answer in found]], ensure_ascii=True))
"""
    build = "if sys.argv[2] == 'build': raise SystemExit\n"
    run(code + build, tmp_path / "index", "build")
    reopen = code.replace("Index(folder).rebuild(", "(lambda _: None)(")
    ours = json.loads(run(reopen + ask, tmp_path / "index", "ours"))
    theirs = json.loads(run("import pyarrow\n" + reopen + ask, tmp_path / "index", "pyarrow"))
    assert ours == theirs
    rows, [found, counts, none] = ours
    assert len(rows) == 122 and any("连接" in row["words"] for row in rows)
    assert len(found[0]) == 7 and counts[1] > 7 and none == [[], 0]


def test_a_column_that_we_do_not_read_is_read_by_pyarrow_and_the_stand_in_goes(tmp_path: Path) -> None:
    code = (
        NOTES
        + """
from vir_core.index import arrow
Index(folder).rebuild(notes)
"""
    )
    run(code, tmp_path / "index")
    code = """
from vir_core.index import arrow
assert arrow._TEXTS.pop("u")
assert Index(folder).search(Terms(words=("cache",)), 200).matches
assert sys.modules["pyarrow"].__file__
import pyarrow
assert pyarrow.array([1, 2]).to_pylist() == [1, 2]
print("fine")
"""
    assert run(code, tmp_path / "index") == "fine\n"


def test_real_pyarrow_works_after_rows_were_read_without_it(tmp_path: Path) -> None:
    run(NOTES + "Index(folder).rebuild(notes)", tmp_path / "index")
    code = """
from test_index_table import passage
before = Index(folder).search(Terms(words=("cache",)), 200)
assert "pyarrow" not in sys.modules
Index(folder).refresh({"n500": [passage("n500", "", "cache of a kind")]}, set())
assert sys.modules["pyarrow"].__file__
after = Index(folder).search(Terms(words=("cache",)), 200)
assert len(after.matches) == len(before.matches) + 1
print("fine")
"""
    assert run(code, tmp_path / "index") == "fine\n"
