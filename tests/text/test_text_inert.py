"""Hostile words, judged twice: by a CommonMark parser, and by patterns over the source as other plugins read it."""

from __future__ import annotations

import importlib.util
import io
import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from vir_core.text import clean, collapse, inert, inert_code, inert_yaml, words

# Anywhere in the source, code spans included: Templater, Dataview and exporters do not parse markdown.
IN_SOURCE = {
    "template command": r"<%",
    "inline query": r"`\s*=",
    "inline script": r"\$=|`\s*\$?=",
    "inline field": r"::",
    "comment": r"%%",
    "wikilink": r"\[\[",
    "block id": r"(^|\s|\\)\^[A-Za-z0-9-]+\s*$",
    "more than a line": r"[\n\r\v\f\x85\u2028\u2029]",
}
# In the source outside code spans.
OUTSIDE_CODE = {
    "tag": r"#(?![0-9]+(?=[\s,;.:!?'\"`()\[\]{}]|$))[^\s,;.:!?'\"`()\[\]{}]",
    "number as tag": r"(^|\s)#[0-9]",
    "html": r"<[A-Za-z/!?]",
    "task": r"^\s*\[.\]",
    "link or image": r"(?<!\\)(\\\\)*\[",
    "footnote": r"\[\^",
    "math": r"(?<!\\)(\\\\)*\$(?=\S)",
    "highlight": r"(?<=[^\s=])==|==(?=[^\s=])",
    "strikethrough": r"~~",
    "address": r"\w://\w|\bwww\.\w|\w@\w",
    "heading, list, quote, rule, table": r"^(#+|[-+*]|[0-9]{1,9}[.)])(\s|$)|^>|^[-=|:+*_\s]+$|^\|",
}
HARMLESS = {"text", "code_inline"}

commonmark = MarkdownIt("commonmark")
# Tables, strikethrough and, where the optional linkifier is installed, bare addresses.
generous = MarkdownIt("js-default")
if importlib.util.find_spec("linkify_it"):
    generous = MarkdownIt("gfm-like")
    generous.linkify.set({"fuzzy_link": False, "fuzzy_email": True, "fuzzy_ip": True})  # pyright: ignore


def check(source: str) -> None:
    for what, pattern in IN_SOURCE.items():
        assert not re.search(pattern, source), (what, source)
    tokens = commonmark.parse(source)
    outside = source
    if source:
        assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"], source
        children = tokens[1].children or []
        assert {token.type for token in children} <= HARMLESS, source
        for token in children:
            if token.type == "code_inline":
                # Exactly as written, so that the span is found again in the source.
                at = re.search(re.escape(token.markup) + " ?" + re.escape(token.content) + " ?" + token.markup, outside)
                assert at, source
                outside = outside[: at.start()] + "`" + outside[at.end() :]
    for what, pattern in OUTSIDE_CODE.items():
        assert not re.search(pattern, outside), (what, source)
    for lead in ("", "- ", "1. ", "> ", "> [!note]- ", "- **Lead.** ", "text\n", "- [ ] "):
        for parser in (commonmark, generous):
            kinds = {token.type for part in parser.parse(lead + source) for token in part.children or []}
            if lead:
                allowed = {kind for part in parser.parse(lead + "x") for kind in [t.type for t in part.children or []]}
                assert kinds <= HARMLESS | allowed, (lead, source)
            else:
                assert kinds <= HARMLESS, source
            blocks = [token.type for token in parser.parse(lead + source)]
            assert not source or blocks == [token.type for token in parser.parse(lead + "x")], (lead, source)


HOSTILE = [
    "#tag and #nested/tag and #1a",
    "# heading",
    "issue #123, C# and F# code, #!",
    "[[Note]] ![[Embed]] [[a|b]] [[[triple]]]",
    "[text](http://x.example) ![img](x.png) [ref][x] [x]: http://y.example",
    "- [ ] task",
    "[ ] task",
    "[x] done",
    "1. one",
    "1986) two",
    "123456789. list",
    "key:: value",
    "[key:: value] (key:: value)",
    "`std::vector` and std::vector",
    "::: warning",
    "a :: b ::: c :",
    "%% hidden %% 100%% %",
    "<% tp.file.title %> <%* %> `<% x %>` \\<% x",
    "<script>alert(1)</script> <!-- x --> <?php <b> </b> <! x",
    "Vec<String> a < b <3 <- x<y>z",
    "&lt;b&gt; &#60;b&#62; &#x3c; &amp;lt; & &foo; &copy;",
    "`= this.x` `$= dv.x` ` = x` `` `= x` `` \\`= x\\`",
    "`a` = 1 and `b`=2 and `c` $= 3",
    "$x$ $$y$$ $HOME costs $5 and $6 $ npm",
    "text[^1] and ^[inline] [^1]: note",
    "text ^abc-123",
    "^abc",
    "^l0123456789a",
    "a^b x ^y z",
    "---",
    "- - -",
    "===",
    "= x",
    "***",
    "* * *",
    "___",
    "| a | b |",
    "|---|---|",
    ":-- | --:",
    "> quote",
    "> [!danger] callout",
    "+ plus",
    "-",
    "```dataviewjs dv.pages() ```",
    "```",
    "~~~js",
    "~~strike~~ ==mark== a==b a == b === !== ~",
    "__init__ _x_ snake_case_name __a_b__ *a* **b** a*b*c a * b",
    "https://x.example/a_b?c=1#d, (http://y.example/z_(w)) www.z.example! mailto:a@b.example",
    "<https://x.example> obsidian://open?vault=x file:///etc/passwd //cdn.example/x.js",
    "me@x.example git@github.com:a/b.git pkg@1.2.3 @decorator a@b@c@d",
    "http://a::b/%%/[[c]]$=d",
    "http://x`y`http://z",
    "`a``b``` c`",
    "`a",
    "` `",
    "``",
    "`` ` ``",
    "C:\\Users\\me\\*.txt \\\\server\\share \\",
    "\\",
    "\\`a`",
    "\\[[x]] \\#tag \\$x$ \\<b>",
    "`[[ -f x ]]` `a%%b` `x$=y` `#include <x>` `$HOME` `<div>` `a|b`",
    "`a:`:b",
    "a:`:b`",
    "x\ny\r\nz\u2028w\x85v\x0bu",
    "\u202egnol\u202c",
    "\ud800 lone",
    "\x1b[31mred\x1b[0m",
    "    indented",
    "\ttab",
    "{{title}} {{date}}",
    "![](x) !`a` ![`a`](x)",
    "a\\",
    "_a_`b`_c_",
    "&`amp;`",
    "`x`#tag `x`^abc",
    "1.`a`",
    "#`a`",
    "-`a` - b",
    "::a b:: :a:",
    "$",
    "$$",
    "`a$`= b",
    "`a\\`= b",
    "😀*a*😀 𐄀_b_𐄀",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_do_nothing(text: str):
    check(inert(text))
    check(inert_code(text))


PIECES = [
    "a", "B", "é", "数", "😀", " ", "  ", "\n", "\t", "`", "``", "```", "*", "**", "_", "__", "[", "]", "[[", "]]", "(", ")",
    "!", "#", "##", "1", "12", ".", ":", "::", "%", "%%", "<", ">", "<%", "%>", "$", "$=", "=", "==", "^", "^a", "&", "&lt;",
    "&#60;", ";", "~", "~~", "|", "-", "---", "+", "\\", "/", "//", "@", "http://", "www.", "x.io", "mailto:", "[^1]", "[ ]",
    "<b>", "'", '"', ",", "?", "{", "}", "\x00", "\ud800", "\u2028", "\u200b", "\u202e", "\x1b[1m",
]  # fmt: skip


ANY_MIX = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@settings(max_examples=100, deadline=None)
@given(ANY_MIX)
@example("`a` =b")
@example("a ^a")
@example("#1`")
@example("//([[&##[[<b>\\^a")
@example("^,``` ==")
@example("http://`@==**|$=")
@example("mailto:,@B12$")
@example("B!=_``,//^ax.io")
def test_any_mix_of_marks_does_nothing(text: str):
    check(inert(text))
    check(inert_code(text))


@pytest.mark.slow
@settings(max_examples=3000, deadline=None)
@given(ANY_MIX)
def test_any_mix_of_marks_does_nothing_at_length(text: str):
    check(inert(text))
    check(inert_code(text))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_text_does_nothing(text: str):
    check(inert(text))
    check(inert_code(text))


# Without backticks and addresses nothing becomes code, so the words must come back letter by letter.
@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [piece for piece in PIECES if "`" not in piece and piece not in ("//", "@", "http://", "www.", "mailto:")]
        ),
        max_size=14,
    )
    .map("".join)
    .filter(lambda text: "//" not in text and "\x1b" not in text)
)
def test_the_words_come_back(text: str):
    expected = collapse(clean(text))
    assert words(inert(text)) == ([expected] if expected else [])


@pytest.mark.parametrize(
    "text",
    [
        "Set max_retries to 3 and call foo(bar) -> baz.",
        "snake_case_name a->b foo(bar) C# x < y, 5 > 3 50% a:b",
        "--no-verify is ignored; see src/main.rs:12 (line 3).",
        "Use `__init__` or `a*b*c`, not ``a`b``.",
        "数据库连接 needs max_connections = 10",
        'it\'s "fine"! really? {yes} a|b a+b a/b ~/x ~ = and & so',
    ],
)
def test_ordinary_text_looks_as_it_was(text: str):
    assert inert(text) == text


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("`std::sync` works", "std:\\:sync works"),
        ("`= this.x`", "\\= this.x"),
        ("see https://a.example/b_c.", "see `https://a.example/b_c`."),
        ("(www.a.example)", "(`www.a.example`)"),
        ("mail me@a.example!", "mail `me@a.example`!"),
        ("#tag #12 c#12", "&num;tag \\#12 c#12"),
        ("Vec<String>", "Vec&lt;String>"),
        ("[[a]]", "\\[\\[a]]"),
        ("end ^abc", "end &Hat;abc"),
        ("one\n\ntwo", "one two"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_inert_examples(text: str, source: str):
    assert inert(text) == source


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("npm test", "`npm test`"),
        ("a `b` c", "``a `b` c``"),
        ("`a", "`` `a ``"),
        ("a``b", "`a``b`"),
        ("git log\n--oneline", "`git log --oneline`"),
        ("<% x %>", "&lt;% x %>"),
        ("a::b", "a:\\:b"),
        ("$=x", "\\$\\=x"),
        ("", ""),
    ],
)
def test_inert_code_examples(text: str, source: str):
    assert inert_code(text) == source
    if text:
        shown = "".join(words(source)).replace("\x00", "")
        assert shown == collapse(text)


def test_long_hostile_runs_take_no_time():
    for piece in ("_", "=", "`", "[", "a@", "http://", "&#", "a:", "``` `` ", "a" * 50, "x//"):
        check_size = inert(piece * 4000)
        assert check_size or not piece


@settings(max_examples=150)
@given(st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=40))
@example("\x85\u2028\u2029\ufeff\xa0\x7f\x00\x1b\ufffe\\\"'<%#: - [x] {{y}}")
@example("l0123456789a")
def test_yaml_reads_back_the_same(text: str):
    from ruamel.yaml import YAML

    source = inert_yaml(text)
    assert "<%" not in source
    assert len(source.splitlines()) == 1
    for version in ((1, 1), (1, 2)):
        yaml = YAML(typ="safe", pure=True)
        yaml.version = version  # pyright: ignore
        assert yaml.load(io.StringIO(f"key: {source}\nlist: [{source}, x]\n"))["key"] == text


def test_yaml_replaces_lone_surrogates():
    assert inert_yaml("a\ud800") == '"a\ufffd"'


@given(st.text(alphabet='ab"\\é 数', max_size=20))
def test_ordinary_yaml_is_also_json(text: str):
    assert json.loads(inert_yaml(text)) == text
