from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vir_core.journal import Texts, text_digest


def test_text_is_found_by_the_digest_of_its_file(tmp_path: Path) -> None:
    texts = Texts(tmp_path)
    digest = texts.put({"title": "连接池", "paths": ["a.md", "b.md"]}, b"body\n\nmore\n")
    path = tmp_path / "texts" / digest[:2] / f"{digest}.txt"
    assert sha256(path.read_bytes()).hexdigest() == digest
    text = texts.get(digest)
    assert text is not None
    assert text.header == {"title": "连接池", "paths": ["a.md", "b.md"]}
    assert text.body == b"body\n\nmore\n"
    assert texts.has(digest)
    assert text_digest({"paths": ["a.md", "b.md"], "title": "连接池"}, b"body\n\nmore\n") == digest


def test_equal_bodies_under_two_titles_are_two_texts(tmp_path: Path) -> None:
    texts = Texts(tmp_path)
    first, second = texts.put({"title": "a"}, b"body"), texts.put({"title": "b"}, b"body")
    assert first != second
    found = texts.get(first)
    assert found is not None and found.header == {"title": "a"}


def test_text_is_written_once(tmp_path: Path) -> None:
    texts = Texts(tmp_path)
    digest = texts.put({}, b"body")
    path = tmp_path / "texts" / digest[:2] / f"{digest}.txt"
    before = path.stat()
    assert texts.put({}, b"body") == digest
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_text_that_has_not_arrived_whole_is_not_there(tmp_path: Path) -> None:
    texts = Texts(tmp_path)
    digest = texts.put({"title": "a"}, b"body\r\nmore\n")
    path = tmp_path / "texts" / digest[:2] / f"{digest}.txt"
    whole = path.read_bytes()
    for content in (b"", whole[:-1], whole[:3], whole + b"x", whole.replace(b"body", b"BODY")):
        path.write_bytes(content)
        assert texts.get(digest) is None
    texts.put({"title": "a"}, b"body\r\nmore\n")
    assert texts.get(digest) is not None
    path.unlink()
    assert texts.get(digest) is None
    assert not texts.has(digest)


def test_turned_line_ends_do_not_lose_a_text(tmp_path: Path) -> None:
    texts = Texts(tmp_path)
    digest = texts.put({"title": "a"}, b"one\ntwo\n")
    path = tmp_path / "texts" / digest[:2] / f"{digest}.txt"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    text = texts.get(digest)
    assert text is not None and text.body == b"one\ntwo\n"


def test_digest_of_a_line_cannot_choose_a_path(tmp_path: Path) -> None:
    texts = Texts(tmp_path)
    (tmp_path / "secret.txt").write_bytes(b"{}\n")
    for name in ("", "../secret", "../../etc/passwd", "ab", "A" * 64, "a" * 63 + "\n"):
        assert texts.get(name) is None
        assert not texts.has(name)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(st.text(st.characters(codec=None)), st.binary(max_size=200))
def test_any_title_and_body_come_back(tmp_path: Path, title: str, body: bytes) -> None:
    texts = Texts(tmp_path)
    text = texts.get(texts.put({"title": title}, body))
    assert text is not None
    assert text.body == body
    assert text.header["title"] == title.encode("utf-8", "replace").decode()
