"""The plugin's words of a note against the core's, over markdown nobody would write."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from vir_core.text import words

PLUGIN = Path(__file__).resolve().parents[2] / "obsidian-plugin"
ESBUILD = PLUGIN / "node_modules" / ".bin" / "esbuild"

SEED = int(os.environ.get("VIR_SEED", random.randrange(1 << 32)))

# Pieces parted by blanks; `␣` stands for a blank, `␤` for a line end.
MARKS = """
* ** *** _ __ ` `` ``` ~~~ ~~ == [ ] ( ) [[ ]] | ! ![ < > \\ ␤ ␤␤ ␣␣␤ ␣␣␣␣ ␤␣␣␣␣ -␣ ␤-␣ ␤␣␣-␣ 1.␣ 1)␣ >␣ ␤>␣ #␣ --- ===
a b word __init__ foo_bar 你好 é ẞ 😀 € ´ ٠ ␣ . , " ' : ^ $ % { } %% #tag -␣[␣]␣ |␣a␣|␣b␣|␤|---|---|␤
<b> </b> <!--␣x␣--> <div> <?php <![CDATA[ ]]> <!A <http://a.b> http://x.y
[a]:␣b␤ [s]:␣a\\␣ [s] [ß]:␣/u␤ [SS] [x](y␣'z') [x](<y>) ![i](u) ](a␣ (b \\[ \\* \\␣
&amp; &lt &#0; &#x41; &#xd800; &#1114112; &acE; &nbsp; &Tab; [[a]] [[a|b]] ![[a\\|b]] ␣^l0123456789a ^l0123456789a
"""
ODD = ["é", "İ", "\x00", "\x7f", "\x1b", "\ufeff", "\u200b"]
BLANK = ["\t", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u00a0", "\u2028", "\u3000"]
PIECES = [mark.replace("␣", " ").replace("␤", "\n") for mark in MARKS.split()] + ODD + BLANK

ASK = """
import { createInterface } from 'node:readline';
import { words } from './digest.mjs';
for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(words(JSON.parse(line))));
"""


@pytest.mark.slow
def test_the_plugin_finds_the_same_words_in_any_markdown(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not ESBUILD.exists():
        pytest.skip("the plugin's packages are not installed (npm ci in obsidian-plugin)")
    chance = random.Random(SEED)
    texts = ["".join(chance.choices(PIECES, k=chance.randint(1, 40))) for _ in range(5000)]
    bundle = [str(ESBUILD), "src/core/digest.ts", "--bundle", "--format=esm", "--log-level=warning", f"--outfile={tmp_path / 'digest.mjs'}"]  # fmt: skip
    subprocess.run(bundle, cwd=PLUGIN, check=True)
    (tmp_path / "ask.mjs").write_text(ASK)
    asked = "".join(json.dumps(text) + "\n" for text in texts)
    answered = subprocess.run([node, "ask.mjs"], cwd=tmp_path, input=asked, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in answered.stdout.split("\n") if line]
    assert len(found) == len(texts)
    differing = [
        (text, words(text), theirs) for text, theirs in zip(texts, found, strict=True) if words(text) != theirs
    ]
    assert not differing, f"with VIR_SEED={SEED}"
