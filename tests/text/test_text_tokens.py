from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vir_core.text import identifier_tokens, query_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("max_retries", ["max_retries", "maxretries", "max", "retries"]),
        ("maxRetries", ["maxretries", "max", "retries"]),
        ("ConfigurationManager", ["configurationmanager", "configuration", "manager"]),
        ("HTTP2Error", ["http2error", "http2", "error", "http"]),
        ("parseJSONBody", ["parsejsonbody", "parse", "json", "body"]),
        ("E0308", ["e0308", "0308"]),
        ("--no-verify", ["--no-verify", "no-verify", "noverify", "no", "verify"]),
        ("foo/bar-baz.py", ["foo/bar-baz.py", "foo", "bar-baz.py", "bar-baz", "barbaz", "bar", "baz", "py"]),
        ("std::vector", ["std::vector", "std", "vector"]),
        ("__init__", ["__init__", "init"]),
        (".env", [".env", "env"]),
        ("C++ and C#", ["c++", "c#"]),
        ("v2", ["v2"]),
        ("1.2.3", ["1.2.3"]),
        ("src/main.rs:12", ["src/main.rs:12", "src", "main.rs", "main", "rs", "12"]),
        ("/etc/hosts", ["etc/hosts", "etc", "hosts"]),
        ("./run.sh", ["run.sh", "run", "sh"]),
        ("$HOME", ["$home", "home"]),
        ("@scope/pkg", ["@scope/pkg", "scope", "pkg"]),
        ("plain words only.", []),
        ("Plain. Words: only - here -- there ... !", []),
        ("数据库连接", ["数据", "据库", "库连", "连接"]),
        ("库", ["库"]),
        ("用redis缓存", ["用", "缓存"]),
        ("データベース", ["デー", "ータ", "タベ", "ベー", "ース"]),
        ("ﾃﾞｰﾀ", ["デー", "ータ"]),
        ("데이터 베이스", ["데이", "이터", "베이", "이스"]),
        ("ฐาน", ["ฐา", "าน"]),
        ("ｍａｘ＿ｒｅｔｒｉｅｓ", ["max_retries", "maxretries", "max", "retries"]),
        ("größe_max", ["grösse_max", "grössemax", "grösse", "max"]),
        ("", []),
    ],
)
def test_identifier_tokens(text: str, tokens: list[str]):
    assert identifier_tokens(text) == tokens


def test_repeated_identifiers_count_each_time():
    assert identifier_tokens("max_retries max_retries").count("max") == 2


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("retries", "set max_retries"),
        ("max retries", "set maxRetries"),
        ("MaxRetries", "set max_retries"),
        ("max-retries", "set MAX_RETRIES"),
        ("configuration manager", "class ConfigurationManager"),
        ("main.rs", "in src/main.rs:12"),
        ("verify", "git commit --no-verify"),
        ("--no-verify", "git commit --no-verify."),
        ("E0308", "error[E0308]: mismatched types"),
        ("e0308", "error[E0308]"),
        ("数据库", "关于数据库连接的问题"),
        ("C++", "in C++, this"),
        (".env", "(.env)"),
        ("http", "HTTP2Error"),
        ("bar-baz", "foo/bar-baz.py"),
    ],
)
def test_a_query_meets_the_text(query: str, text: str):
    assert set(query_tokens(query)) & set(identifier_tokens(text))


@pytest.mark.parametrize(
    ("query", "text"), [("retry", "set max_retries"), ("据连", "数据库连接"), ("E0309", "error[E0308]")]
)
def test_a_query_does_not_meet_other_text(query: str, text: str):
    assert not set(query_tokens(query)) & set(identifier_tokens(text))


def test_a_query_has_each_term_once_and_its_plain_words():
    assert query_tokens("retries of max_retries") == ["retries", "of", "max_retries", "maxretries", "max"]


def test_a_very_long_run_is_not_one_term():
    assert all(len(token) <= 128 for token in identifier_tokens("aB3/" * 5000 + "x" * 300 + "_y"))


@given(st.text(max_size=60))
def test_terms_survive_a_white_space_tokenizer(text: str):
    for token in identifier_tokens(text) + query_tokens(text):
        assert token.split() == [token]
        assert token == token.casefold()


@given(st.text(alphabet="aB1_-./:数 ", max_size=30))
def test_a_query_for_the_whole_text_finds_all_its_terms(text: str):
    assert set(identifier_tokens(text)) <= set(query_tokens(text))
