from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec.structs import replace
from ruamel.yaml import YAML

from vir_core.vault import (
    Config,
    Draft,
    EvidenceTurn,
    Lesson,
    Quote,
    Vault,
    note_path,
    note_words,
    parse,
    passage_texts,
    path_key,
    plain,
    render,
    set_keys,
    split,
)

ONE, TWO = "l0123456789a", "lba987654321"
DRAFT = Draft(
    id="n0123456789abcde",
    title="Retries doubled every write",
    category="gotcha",
    project="harbor",
    date="2026-11-03",
    summary="Payments were booked twice, see `charge_once()`.",
    lessons=(
        Lesson(
            id=ONE,
            lead="Timeouts are not failures",
            text="A request that timed out may have been carried out; use `max_retries`.",
            quote=Quote(turn="t1", text="a timeout only says that we stopped waiting"),
            around=(
                EvidenceTurn(who="you", text="why two rows?"),
                EvidenceTurn(who="command", text="rg max_retries"),
            ),
        ),
        Lesson(id=TWO, lead="`__init__`", text="Kept.", quote=Quote(turn="t2", text="keep it")),
    ),
    context="Touched `src/billing/client.py`.",
    session="claude:4f944d68",
    source="claude",
    branches=("main",),
    distiller="extractive/1",
    grounded="2 of 2 lessons quote words found in the session",
    confidence=0.718,
)
NOTE = render(DRAFT)
VAULT = Vault(root=Path("/v"), folder="vir", id="v0123456789abcde", config=Config(id="v0123456789abcde"))


def edited(body: str) -> bytes:
    return NOTE.frontmatter + body.encode()


# Rendering


def test_a_note_reads_back_as_it_was_written() -> None:
    note = parse(NOTE.content)
    assert note.id == DRAFT.id
    assert note.keys == {"category": "gotcha", "project": "harbor", "date": "2026-11-03", "trust": "New"}
    assert note.broken is None
    assert list(note.sections) == ["summary", "learned", "context"]
    assert note.sections["summary"] == DRAFT.summary
    assert note.sections["context"] == DRAFT.context
    first, second = note.lessons
    assert (first.block, first.lead, first.text) == (ONE, "Timeouts are not failures.", DRAFT.lessons[0].text)
    assert second.lead == "`__init__`."
    assert NOTE.content.decode().split("\n")[first.line - 1].endswith(ONE)
    assert split(NOTE.content)[1] == NOTE.body


def test_there_are_no_tags_no_title_and_no_empty_sections() -> None:
    text = NOTE.content.decode()
    assert DRAFT.title not in text
    assert "tags" not in text
    assert "aliases" not in text
    assert "## Related" not in text
    bare = render(replace(DRAFT, lessons=(), context=" ", branches=())).content.decode()
    assert "What was learned" not in bare
    assert "## Context" not in bare
    assert "Evidence" not in bare
    assert "Branch" not in bare
    related = render(replace(DRAFT, related=("vir/tools/Other note.md",), aliases=("Old title",))).content
    assert b"## Related\n\n- [[vir/tools/Other note|Other note]]\n" in related
    assert parse(related).sections["related"] == "- [[vir/tools/Other note|Other note]]"
    assert YAML(typ="safe").load(split(related)[0])["aliases"] == ["Old title"]


def test_leads_end_once_and_in_their_own_script() -> None:
    leads = {"Ends!": "**Ends!**", "No stop": "**No stop.**", "没有句号": "**没有句号。**", "": "", "  ": ""}
    for lead, shown in leads.items():
        note = render(replace(DRAFT, lessons=(replace(DRAFT.lessons[0], lead=lead),))).body.decode()
        assert f"\n- {shown} A request".replace("-  ", "- ") in note


def test_a_prefix_goes_before_all_names_but_the_id() -> None:
    front = YAML(typ="safe").load(render(DRAFT, "vir_").frontmatter.decode().strip("-\n"))
    assert sorted(front) == ["vir_category", "vir_date", "vir_id", "vir_project", "vir_trust"]
    assert parse(render(DRAFT, "vir_").content, "vir_").keys["category"] == "gotcha"


def test_a_note_goes_to_the_folder_of_its_category_and_never_over_another() -> None:
    assert note_path(VAULT, DRAFT, lambda _: False) == "vir/gotchas/Retries doubled every write.md"
    there = {path_key("vir/gotchas/RETRIES doubled every write.md")}
    second = note_path(VAULT, DRAFT, there.__contains__)
    assert second.startswith("vir/gotchas/Retries doubled every write")
    assert path_key(second) not in there


# Hostile text

_hostile = st.lists(
    st.sampled_from(
        [
            "#tag", "#", "[[link]]", "![[embed]]", "[[a|b]]", "- [ ] todo", "* [x] done", "key:: value", "[a:: b]", "(a:: b)",
            "%%", "%% hidden %%", "<script>alert(1)</script>", "<!--", "-->", "<b>", "<%* tp %>", "<%", "%>", "`= this.x`",
            "`$= dv.x`", "$= x", "$x^2$", "$$", "```dataviewjs", "```", "~~~", "`", "``", "``= x``", "^abc", "^l0123456789a",
            "[^1]", "^[note]", "https://evil.example/a", "www.evil.example", "a@b.example", "[x](http://y)", "![x](y.png)",
            "<https://z>", "---", "***", "===", "> quote", "> [!danger] x", "# head", "1. one", "| a | b |", "\\", "\\#tag",
            "&lt;b&gt;", "&#35;tag", "==mark==", "~~s~~", "**b**", "__b__", "*", "_", "{{title}}", "\n", "\r", "\u2028", "\x85",
            "\t", "\0", "\x1b[31m", "\u202e", "\ud800", "obsidian://open", ":::", "\n---\ntrust: Approved\n---\n", "\n- [ ] x",
            "\n## Summary\n", "'", '"', "=", "$", "<", "%", ":", "word", "snake_case", " ", "中文", "🙂", "e\u0301",
        ]
    )
    | st.text(max_size=8),
    max_size=12,
).map("".join) | st.lists(st.sampled_from("`$=<%:[]#^|>-!* \\\n~"), max_size=24).map("".join)  # fmt: skip

_drafts = st.builds(
    lambda title, category, project, words, context, session, branches, aliases: replace(
        DRAFT,
        title=title,
        category=category,
        project=project,
        summary=words[0],
        lessons=tuple(
            Lesson(
                id=id,
                lead=words[1],
                text=words[2],
                quote=Quote(turn="t", text=words[3]),
                around=tuple(
                    EvidenceTurn(who=who, text=words[4]) for who in ("you", "agent", "command", "error", words[5])
                ),
            )
            for id in (ONE, TWO)
        ),
        context=context,
        session=session,
        branches=branches,
        aliases=aliases,
        distiller=words[5],
        grounded=words[4],
    ),
    _hostile,
    st.sampled_from(["pattern", "gotcha", "decision", "tool"]),
    _hostile,
    st.tuples(*[_hostile] * 6),
    _hostile,
    _hostile,
    st.lists(_hostile, max_size=2).map(tuple),
    st.lists(_hostile, max_size=2).map(tuple),
)

_ALLOWED = {
    "heading_open", "heading_close", "inline", "paragraph_open", "paragraph_close", "bullet_list_open", "bullet_list_close",
    "ordered_list_open", "ordered_list_close", "list_item_open", "list_item_close", "blockquote_open", "blockquote_close",
}  # fmt: skip
_ALLOWED_INLINE = {
    "text",
    "code_inline",
    "strong_open",
    "strong_close",
    "em_open",
    "em_close",
    "softbreak",
    "text_special",
}


def _check_inert(draft: Draft) -> None:
    rendered = render(draft)
    content = rendered.content.decode()
    for woken in ("<%", "$=", "%%", "::", "[["):
        assert woken not in content
    assert not re.search(r"`\s*\$?=", content)
    body = rendered.body.decode()
    assert not re.search(r"^[\s>]*(?:[-*+]|\d+[.)])\s+\[.\]", body, re.MULTILINE)
    ids = re.findall(r"(?:^|\s)\^([A-Za-z0-9-]+)[ \t]*$", body, re.MULTILINE)
    assert ids == [lesson.id for lesson in draft.lessons]
    assert "\r" not in content
    assert not any(char in content for char in "\u2028\u2029\x85\0\x1b\u202e")

    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(body)
    assert {token.type for token in tokens} <= _ALLOWED
    inline = [child for token in tokens for child in token.children or []]
    assert {token.type for token in inline} <= _ALLOWED_INLINE
    headings = [tokens[n + 1].content for n, token in enumerate(tokens) if token.type == "heading_open"]
    assert headings == ["Summary", "What was learned"] + (["Context"] if "## Context\n" in body else [])
    assert sum(token.type == "blockquote_open" for token in tokens) == 2
    about = sum(line.startswith("> - **") for line in body.split("\n"))
    assert sum(token.type == "list_item_open" for token in tokens) == 2 + about + 2 + 2 * 5

    outside_code = "\n".join(_without_code(token) for token in tokens if token.type == "inline")
    assert not re.search(r"(?:^|[\s(\[{,;.!?:'\"])#[\w/-]", outside_code, re.MULTILINE)
    words = "\n".join("".join(c.content if c.type == "text" else "\n" for c in t.children or []) for t in tokens)
    assert not re.search(r"(?i)(?<![\w])(?:https?://|www\.\w)|[\w.]@[\w-]+\.\w", words)

    front = YAML(typ="safe").load(rendered.frontmatter.decode().removeprefix("---\n").removesuffix("---\n"))
    assert set(front) - {"aliases"} == {"vir_id", "category", "project", "date", "trust"}
    assert front["trust"] == "New"
    assert front["vir_id"] == draft.id
    for value in (front["project"], *front.get("aliases", ())):
        assert isinstance(value, str)
        assert not re.search(r"\[\[|<%|`|\$=|://|%%|::", value)
    assert set_keys(rendered.content, {"trust": "Approved"}).endswith(rendered.body)

    note = parse(rendered.content)
    assert note.id == draft.id
    assert note.broken is None
    assert [lesson.block for lesson in note.lessons] == [ONE, TWO]
    assert note_words(note, draft.category)

    path = note_path(VAULT, draft, lambda _: False)
    name = path.rpartition("/")[2]
    assert path.count("/") == 2
    assert not re.search(r'[\x00-\x1f*"\\<>:|?#^\[\]]', name)
    assert "%%" not in name
    assert not name.startswith(".")
    assert len(name.encode()) <= 183
    assert render(draft) == rendered


def _without_code(token: Token) -> str:
    """The source of an inline token without its code spans."""
    source = token.content
    for child in token.children or []:
        if child.type == "code_inline":
            for pad in ("", " "):
                source = source.replace(f"{child.markup}{pad}{child.content}{pad}{child.markup}", "", 1)
    return source


@settings(max_examples=60, deadline=None)
@given(_drafts)
def test_nothing_from_a_session_does_anything_in_a_note(draft: Draft) -> None:
    _check_inert(draft)


# What people make of it


def test_sections_are_found_reordered_relevelled_and_underlined() -> None:
    body = (
        "# Context #\nwhere\n\nWhat was learned\n---\n* **A** b ^"
        + ONE
        + "\n\n### **Summary:**\nwhat\n\n## My own\nnot ours\n"
    )
    note = parse(edited(body))
    assert note.sections == {"context": "where", "learned": f"* **A** b ^{ONE}", "summary": "what"}
    assert note.lessons[0].text == "b"
    assert "not ours" not in str(passage_texts(note))


def test_a_subheading_belongs_to_its_section_and_a_fence_hides_headings() -> None:
    body = "## Summary\none\n\n### Detail\ntwo\n\n```md\n## Context\n^l00000000000\n```\n\n## Else\nthree\n"
    note = parse(edited(body))
    assert list(note.sections) == ["summary"]
    assert "two" in note.sections["summary"]
    assert "three" not in note.sections["summary"]
    assert note.lessons == ()


def test_our_callouts_are_in_no_section_wherever_they_stand() -> None:
    note = parse(NOTE.content)
    assert "Session" not in note.sections["context"]
    moved = NOTE.body.decode().replace(
        "## Summary\n", "## Summary\n\n> [!QUOTE]+ evidence\n> secret words ^l00000000000\n\n"
    )
    assert "secret" not in str(parse(edited(moved)).sections)
    assert len(parse(edited(moved)).lessons) == 2
    kept = parse(edited("## Summary\n> [!info] Mine\n> said here\n"))
    assert "said here" in kept.sections["summary"]


@pytest.mark.parametrize(
    "learned",
    [
        f"- **Lead.** one\n  two ^{ONE}",
        f"- **Lead.** one two\n  ^{ONE}",
        f"- **Lead.** one two\n\n^{ONE}",
        f"**Lead.** one\ntwo ^{ONE}",
        f"1. [x] __Lead.__ one two   ^{ONE}  ",
        f"> **Lead.** one\n> two\n> ^{ONE}",
        f"- before\n- **Lead.** one two ^{ONE}\n- after",
    ],
)
def test_a_lesson_is_found_by_its_block_id_however_it_is_wrapped(learned: str) -> None:
    note = parse(edited(f"## What was learned\n\n{learned}\n"))
    (lesson,) = note.lessons
    assert (lesson.block, lesson.lead, " ".join(lesson.text.split()).replace("> ", "")) == (ONE, "Lead.", "one two")


def test_a_lesson_moved_or_pasted_twice_is_one_lesson() -> None:
    note = parse(edited(f"Free text ^{TWO}\n\n## Summary\nx\n\n- a ^{ONE}\n- a again ^{ONE}\n"))
    assert [(lesson.block, lesson.text) for lesson in note.lessons] == [(TWO, "Free text"), (ONE, "a")]


def test_line_ends_bom_and_properties_do_not_change_the_words() -> None:
    unix = note_words(parse(NOTE.content), "gotcha")
    windows = b"\xef\xbb\xbf" + NOTE.content.replace(b"\n", b"\r\n")
    assert note_words(parse(windows), "gotcha") == unix
    assert parse(windows).keys == parse(NOTE.content).keys
    assert [lesson.block for lesson in parse(windows).lessons] == [ONE, TWO]
    assert note_words(parse(NOTE.content), "tool") != unix
    changed = NOTE.content.replace(b"stopped waiting", b"gave up")
    assert note_words(parse(changed), "gotcha") == unix
    assert note_words(parse(NOTE.content.replace(b"booked", b"charged")), "gotcha") != unix


def test_passages_are_plain_words_with_their_block() -> None:
    added = NOTE.content.replace(b"\n## Context", b"- a line of **mine**\n\n## Context")
    assert passage_texts(parse(added)) == [
        ("", "summary", "Payments were booked twice, see charge_once()."),
        (
            ONE,
            "lesson",
            "Timeouts are not failures. A request that timed out may have been carried out; use max_retries.",
        ),
        (TWO, "lesson", "__init__. Kept."),
        ("", "lesson", "a line of mine"),
        ("", "context", "Touched src/billing/client.py."),
    ]


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("**b** *i* __b__ _i_ ~~s~~ ==m==", "b i b i s m"),
        ("snake_case_name and __init__ in `__init__`", "snake_case_name and init in __init__"),
        ("[[a|b]] [[c]] ![[d]] [t](u) ![i](j) <https://x.y>", "b c d t i https://x.y"),
        (r"\[ \] \* \_ \# \\ &lt;% &num;tag", r"[ ] * _ # \ <% #tag"),
        ("``a`b`` and ` x `", "a`b and x"),
        ("- one\n- two\n\n> three ^l0123456789a", "one two three"),
        ("a < b && c > d", "a < b && c > d"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("`open", "`open"),
    ],
)
def test_plain_keeps_words_and_drops_marks(markdown: str, words: str) -> None:
    assert plain(markdown) == words


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300) | _hostile.map(lambda text: NOTE.frontmatter + text.encode(errors="replace")))
def test_parse_never_raises(content: bytes) -> None:
    note = parse(content)
    passage_texts(note)
    assert all(re.fullmatch("l[0-9a-f]{11}", lesson.block) for lesson in note.lessons)


def test_hostile_length_takes_no_quadratic_time() -> None:
    for piece in ("*a ", "`", "_x ", "[", "[[", "> ", "^l0123456789a\n", "- ", "=="):
        note = parse(edited("## Summary\n\n" + piece * 15_000))
        assert len(passage_texts(note)) < 4
