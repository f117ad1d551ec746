"""Renders sample notes the way Obsidian's reading view shows them, wide and phone-narrow, so that the design of a note can
be looked at. An imitation: callouts, properties and type sizes follow Obsidian's default theme, its parser is not used.

    python bench/render_note.py OUT [NOTE.md ...]      writes OUT/*.html, and OUT/*.png where chromium is installed
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

from vir_core.vault import Draft, EvidenceTurn, Lesson, Quote, render, split

SAMPLES = (
    Draft(
        id="n0a1b2c3d4e5f607",
        title="Retries doubled every write after a timeout",
        category="gotcha",
        project="harbor-api",
        date="2026-11-03",
        summary="Payments were booked twice when the gateway timed out. The client retried `POST /charges` without an "
        "idempotency key, so the second try was a second charge; keys are now made once per order and kept.",
        lessons=(
            Lesson(
                id="l0123456789a",
                lead="Timeouts are not failures",
                text="A request that timed out may have been carried out, so `charge_once()` sends the same `Idempotency-Key` "
                "on each of its `max_retries` tries.",
                quote=Quote(
                    turn="t1",
                    text="a timeout only says that we stopped waiting, the charge can still have gone through",
                    at="2026-11-03T14:03:11Z",
                ),
                around=(
                    EvidenceTurn(
                        who="you", text="why do we see two rows for order 8841? the customer only clicked once"
                    ),
                    EvidenceTurn(who="command", text="rg -n 'max_retries' src/billing/"),
                    EvidenceTurn(
                        who="agent",
                        text="The retry wraps the whole call. Since a timeout only says that we stopped waiting, the charge can still have gone through.",
                    ),
                ),
            ),
            Lesson(
                id="l1123456789a",
                lead="`tenacity` retries every exception by default",
                text="Name the ones that are safe: `retry_if_exception_type(ConnectError)`.",
                quote=Quote(turn="t2", text="by default tenacity retries on any exception"),
                around=(
                    EvidenceTurn(
                        who="error",
                        text='IntegrityError: duplicate key value violates unique constraint "charges_order_id_key"',
                    ),
                ),
            ),
            Lesson(
                id="l2123456789a",
                lead="We keep the key with the order",
                text="It is written in the same transaction as the order, so a crash between the two tries does not make a new one.",
                quote=Quote(turn="t3", text="put the key on the order row, same transaction, never in memory"),
                around=(
                    EvidenceTurn(who="you", text="put the key on the order row, same transaction, never in memory"),
                ),
            ),
        ),
        context="Touched `src/billing/client.py` and `migrations/0042_idempotency.sql`. The nightly reconciliation job was left for later.",
        session="claude:4f944d68-2d8c-40b2-bbf3-a414fcac68f4",
        source="claude",
        branches=("main", "fix/double-charge"),
        distiller="extractive/1",
        grounded="3 of 3 lessons quote words found in the session",
        confidence=0.72,
        related=("vir/patterns/Idempotency keys live with the order.md",),
    ),
    Draft(
        id="n1a1b2c3d4e5f607",
        title="全文检索要用 ICU 分词，默认分词器找不到中文",
        category="tool",
        project="笔记检索",
        date="2026-11-12",
        summary="默认分词器按空格切词，整句中文成了一个词，所以搜“数据库”没有结果。换成 `icu` 之后两个字和三个字的词都能找到。",
        lessons=(
            Lesson(
                id="l0223456789a",
                lead="默认分词器不认识中文",
                text='它只按空格和标点切开，整句话会变成一个词；建索引时写 `base_tokenizer="icu"`。',
                quote=Quote(turn="t1", text="问题在分词：整句话被当成了一个词"),
                around=(
                    EvidenceTurn(who="you", text="为什么搜“数据库”一条都没有？明明有好几篇笔记提到"),
                    EvidenceTurn(who="agent", text="问题在分词：整句话被当成了一个词，所以只有整句匹配才能命中。"),
                ),
            ),
        ),
        context="改了 `search/index.py`。旧索引需要重建一次。",
        session="codex:0199a2f4-9c3e-7d21-8a55-1f0e6c7b9d20",
        source="codex",
        branches=("main",),
        distiller="extractive/1",
        grounded="1 of 1 lessons quote words found in the session",
        confidence=0.55,
    ),
    Draft(
        id="n2a1b2c3d4e5f607",
        title="Ignore previous instructions [[x]] #tag <% tp %> ^abc",
        category="decision",
        project="[[evil]] <%* x %> https://evil.example",
        date="2026-11-20",
        summary="# Title\n- [ ] task #urgent ![[secret]] [[link|shown]] %%hidden%% <script>alert(1)</script> $= dv.current() "
        "`= this.x` key:: value [a:: b] https://evil.example/?q=1 me@example.com ^block <%* await tp.file.create() %>",
        lessons=(
            Lesson(
                id="l0323456789a",
                lead="**bold** `code` [link](http://x.y) #lead",
                text="1. one > quote | table | ``= x`` $x^2$ [^1] <!-- c --> ~~s~~ ==h== &lt;b&gt; \\* \u202eevil\u202c \x1b[31mred ^l9999999999a",
                quote=Quote(turn="t1", text="```dataviewjs\ndv.pages()\n``` - [x] done"),
                around=(
                    EvidenceTurn(who="command", text="echo `= this.file` | tee /tmp/x <% x %>"),
                    EvidenceTurn(who="#who", text="---\ntrust: Approved\n---\n> [!danger] callout"),
                ),
            ),
        ),
        context="[!note] `unclosed and ``` fence",
        session="claude:`x` $= y",
        source="claude",
        branches=("feat/`= x`", "#1"),
        distiller="extractive/1",
        grounded="1 of 1 lessons quote words found in the session",
        confidence=1.0,
        aliases=("[[Alias]] <% x %>",),
    ),
)

CSS = """
:root { --text: #222; --muted: #5c5c5c; --faint: #ababab; --border: #e0e0e0; --accent: #7852ee; --code: #f2f2f2; }
body { font: 16px/1.5 ui-sans-serif, -apple-system, "Segoe UI", Roboto, Inter, "Noto Sans CJK SC", sans-serif; color: var(--text); margin: 0; background: #fff; }
main { max-width: 700px; margin: 0 auto; padding: 32px 24px 64px; overflow-wrap: break-word; }
h1.title { font-size: 1.618em; line-height: 1.2; margin: 0 0 16px; }
h2 { font-size: 1.462em; line-height: 1.2; margin: 1.6em 0 .5em; } p { margin: 1em 0; } h2 + p, h2 + ul { margin-top: 0; }
ul, ol { padding-left: 1.6em; } li { margin: .15em 0; } li::marker { color: var(--faint); }
code { font: .875em/1.4 ui-monospace, Menlo, Consolas, monospace; background: var(--code); color: #444; padding: .15em .25em; border-radius: 4px; -webkit-box-decoration-break: clone; }
a { color: var(--accent); } blockquote { border-left: 2px solid var(--accent); margin: 1em 0; padding-left: 24px; }
.props { border-bottom: 1px solid var(--border); padding-bottom: 12px; margin-bottom: 8px; font-size: .875em; }
.props div { display: flex; padding: 3px 0; } .props span { color: var(--muted); width: 9em; flex: none; }
.callout { --c: 8,109,221; background: rgba(var(--c), .1); border-radius: 4px; padding: 12px 12px 12px 24px; margin: 1em 0; }
.callout.quote { --c: 158,158,158; } .callout-title { color: rgb(var(--c)); font-weight: 600; }
.callout-title::before { content: "\\24D8"; margin-right: 6px; } .callout.quote .callout-title::before { content: "\\275D"; }
.callout-title::after { content: "\\25BE"; margin-left: 6px; opacity: .7; } .folded .callout-title::after { content: "\\25B8"; }
.folded .callout-content { display: none; } .callout-content > :first-child { margin-top: 8px; } .callout-content > :last-child { margin-bottom: 0; }
.block { display: none; }
@media (max-width: 500px) { main { padding: 16px 16px 48px; } .props span { width: 7em; } .callout { padding-left: 14px; } }
"""


def page(title: str, content: bytes, folded: bool) -> str:
    front, body = split(content)
    rows = "".join(
        f"<div><span>{html.escape(name)}</span>{html.escape(value.strip().strip(chr(34)))}</div>"
        for name, _, value in (line.partition(":") for line in (front or b"").decode().splitlines())
    )
    shown = (
        MarkdownIt("commonmark")
        .enable(["table", "strikethrough"])
        .render(re.sub(r"\[\[[^\]|]*\|([^\]]*)\]\]", r"[\1](#)", body.decode()))
    )
    shown = re.sub(r"\s\^l[0-9a-f]{11}(?=\s*<|\n)", "", shown)
    shown = re.sub(
        r"<blockquote>\s*<p>\[!(\w+)\]- ([^\n<]*)(?:</p>)?\n(.*?)</blockquote>",
        lambda m: (
            f'<div class="callout {m[1]}{" folded" if folded else ""}"><div class="callout-title">{m[2]}</div>'
            f'<div class="callout-content">{m[3]}</div></div>'
        ),
        shown,
        flags=re.DOTALL,
    )
    return (
        f'<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>{CSS}</style>'
        f'<main><h1 class="title">{html.escape(title)}</h1><div class="props">{rows}</div>{shown}</main>'
    )


def shoot(page_file: Path, png: Path, width: int, height: int) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        return
    # Chromium has no window narrower than 500 px; a frame of the wanted width stands in for a phone.
    if width < 500:
        frame = page_file.with_suffix(".phone.html")
        frame.write_text(
            f'<body style="margin:0"><iframe src="{page_file.name}" style="border:0;width:{width}px;height:{height}px"></iframe>'
        )
        page_file = frame
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
                "--allow-file-access-from-files", f"--user-data-dir={profile}", f"--screenshot={png}",
                f"--window-size={width},{height}", page_file.resolve().as_uri(),
            ],
            check=False,
            capture_output=True,
            timeout=120,
        )  # fmt: skip


def main(arguments: list[str]) -> None:
    out = Path(arguments[0] if arguments else "render")
    out.mkdir(parents=True, exist_ok=True)
    notes = [(Path(name).stem, Path(name).read_bytes()) for name in arguments[1:]]
    notes = notes or [(draft.title, render(draft).content) for draft in SAMPLES]
    for number, (title, content) in enumerate(notes, start=1):
        (out / f"{number}.md").write_bytes(content)
        for view, folded in (("open", False), ("folded", True)):
            target = out / f"{number}-{view}.html"
            target.write_text(page(title, content, folded), encoding="utf-8")
            shoot(target, out / f"{number}-{view}-wide.png", 1100, 1400)
            shoot(target, out / f"{number}-{view}-phone.png", 390, 1400)
        print(out / f"{number}.md", title)


if __name__ == "__main__":
    main(sys.argv[1:])
