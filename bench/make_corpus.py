"""A synthetic corpus of transcripts with the mix of shapes that real ones have.

    python -m bench.make_corpus /tmp/corpus --files 1500 --total-mb 300 --seed 1

Lines average 2.9 kB and files lie between 5 KB and 3 MB, log-normally, as counted over the public transcripts; 40 % of
the files are subagents below their parent, 20 % are Codex rollouts. It measures reading, not understanding: real files
hold images, stranger records and a dozen versions.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import time
from datetime import UTC, datetime, timedelta
from json.encoder import encode_basestring
from pathlib import Path

from bench.vocabulary import PROJECTS, Author

SMALLEST, LARGEST = 5_000, 3_000_000
MEAN_LINE = 2_900
SUBAGENTS, CODEX = 0.4, 0.2
BEGIN = datetime(2026, 6, 1, 8, tzinfo=UTC)
quoted = encode_basestring


def make_corpus(folder: Path, files: int = 1500, seed: int = 1, *, total: int = 300_000_000) -> dict[str, int]:
    """Writes `files` transcripts of about `total` bytes together below `folder/claude/projects` and `folder/codex/sessions`.

    Returns counts: files, subagents, codex, headless, empty, bytes, lines. Equal arguments write equal bytes."""
    rng = random.Random(seed)
    pool = Pool(seed)
    sizes = _sizes(files, total, rng)
    subagents, codex = round(files * SUBAGENTS), round(files * CODEX)
    mains = files - subagents - codex
    counts = {"files": files, "subagents": subagents, "codex": codex, "headless": 0, "empty": 0, "bytes": 0, "lines": 0}

    parents: list[tuple[str, str, datetime]] = []
    for n in range(files):
        size = sizes[n]
        # Newest last: sessions are spread over half a year, as in a house that keeps its transcripts.
        at = BEGIN + timedelta(seconds=n * 15_552_000 // files)
        project = PROJECTS[min(int(rng.expovariate(0.25)), len(PROJECTS) - 1)]
        cwd = f"/home/dev/src/{project}"
        if n < mains:
            session = _uuid(seed, "claude", n)
            kind = "headless" if n % 20 == 19 else "empty" if n % 33 == 32 else "human"
            path = folder / "claude/projects" / cwd.replace("/", "-") / f"{session}.jsonl"
            if kind == "empty":
                content, lines = _empty(session), 1
            else:
                content, lines = _claude(rng, pool, session, cwd, at, size, headless=kind == "headless")
                parents.append((session, cwd, at))
            if kind != "human":
                counts[kind] += 1
        elif n < mains + subagents:
            session, cwd, at = parents[rng.randrange(len(parents))]
            agent = "a" + hashlib.sha256(f"{seed}:{n}".encode()).hexdigest()[:16]
            path = folder / "claude/projects" / cwd.replace("/", "-") / session / "subagents" / f"agent-{agent}.jsonl"
            content, lines = _claude(rng, pool, session, cwd, at, size, agent=agent)
        else:
            session = _uuid(seed, "codex", n)
            name = f"rollout-{at:%Y-%m-%dT%H-%M-%S}-{session}.jsonl"
            path = folder / "codex/sessions" / f"{at:%Y/%m/%d}" / name
            content, lines = _codex(rng, pool, session, cwd, at, size)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        stamp = (at + timedelta(hours=1)).timestamp()
        os.utime(path, (stamp, stamp))
        counts["bytes"] += len(content)
        counts["lines"] += lines
    return counts


class Pool:
    """Ready-made texts. Writing each anew would take minutes; drawn from a pool of thousands, files still differ."""

    def __init__(self, seed: int) -> None:
        author = Author(seed)
        rng = author.rng
        self.asks = [quoted(author.ask()) for _ in range(1500)]
        self.says = [
            quoted(
                " ".join(
                    author.finding() if rng.random() < 0.4 else author.chatter() for _ in range(rng.randrange(1, 7))
                )
            )
            for _ in range(3000)
        ]
        self.commands = [quoted(f"{author.tool()} {author.identifier()} --{author.noun()}") for _ in range(800)]
        self.outputs = [quoted(author.output(int(min(40_000, rng.lognormvariate(6.4, 1.5))))) for _ in range(500)]
        self.errors = [
            quoted(f"Exit code 1\n{author.error()}: {author.noun()} is {author.adjective()}") for _ in range(300)
        ]
        # A few outputs as long as whole files: without them no mixture of short lines has the measured mean.
        self.large = [quoted(author.output(rng.randrange(8_000, 60_000))) for _ in range(60)]


def _uuid(*parts: object) -> str:
    h = hashlib.sha256(":".join(map(str, parts)).encode()).hexdigest()
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:32]}"


def _sizes(files: int, total: int, rng: random.Random) -> list[int]:
    drawn = [rng.lognormvariate(0, 1.3) for _ in range(files)]
    scale = total / sum(drawn)
    sizes: list[int] = []
    # Clamping moves the sum, so the scale is fitted a few times; it settles at once.
    for _ in range(8):
        sizes = [min(LARGEST, max(SMALLEST, int(value * scale))) for value in drawn]
        scale *= total / sum(sizes)
    return sizes


def _empty(session: str) -> bytes:
    head = f'{{"type":"file-history-snapshot","messageId":"{session}",'
    return (head + '"snapshot":{"trackedFileBackups":{}},"isSnapshotUpdate":false}\n').encode()


class _Lines:
    """Lines of one file, counted in bytes until the file is as large as wanted."""

    def __init__(self, at: datetime) -> None:
        self.out: list[str] = []
        self.size = 0
        self.at = at

    def add(self, line: str) -> None:
        self.out.append(line)
        self.size += len(line) + 1

    def tick(self, seconds: int) -> str:
        self.at += timedelta(seconds=seconds)
        return self.at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{len(self.out) % 1000:03d}Z"

    def done(self) -> tuple[bytes, int]:
        return ("\n".join(self.out) + "\n").encode(), len(self.out)


def _output(rng: random.Random, pool: Pool, left: int) -> str:
    """Some output that does not burst a small file."""
    text = rng.choice(pool.large) if rng.random() < 0.12 else rng.choice(pool.outputs)
    return text if len(text) < max(left, 1_000) else rng.choice(pool.errors)


def _claude(
    rng: random.Random,
    pool: Pool,
    session: str,
    cwd: str,
    at: datetime,
    size: int,
    *,
    headless: bool = False,
    agent: str = "",
) -> tuple[bytes, int]:
    lines = _Lines(at)
    version = rng.choice(("2.1.42", "2.1.112", "2.1.185", "2.1.231", "2.1.239"))
    modern = version in ("2.1.185", "2.1.231", "2.1.239")
    entry = "sdk-cli" if headless else "cli"
    side = "true" if agent else "false"
    owner = f'"agentId":"{agent}",' if agent else ""
    tail = f'"userType":"external","entrypoint":"{entry}","cwd":"{cwd}","sessionId":"{session}","version":"{version}","gitBranch":"main"}}'
    if version == "2.1.42":
        tail = tail.replace(f'"entrypoint":"{entry}",', "") if not headless else tail
    typed = ""
    if not agent and not headless:
        lines.add(f'{{"type":"permission-mode","permissionMode":"default","sessionId":"{session}"}}')
        typed = '"permissionMode":"default",' + ('"origin":{"kind":"human"},"promptSource":"typed",' if modern else "")
    elif headless and modern:
        typed = '"promptSource":"sdk",'
    last = "null"
    step = 0

    def record(kind: str, body: str, seconds: int, extra: str = "") -> None:
        nonlocal last, step
        step += 1
        uuid = f'"{session[:8]}-{step:04x}-4{agent[1:4] or "000"}-a000-{rng.getrandbits(48):012x}"'
        when = lines.tick(seconds)
        lines.add(
            f'{{"parentUuid":{last},"isSidechain":{side},{owner}"type":"{kind}",{body},"uuid":{uuid},"timestamp":"{when}",{extra}{tail}'
        )
        last = uuid

    def answer(block: str, stop: str) -> None:
        message = f"msg_{rng.getrandbits(64):016x}"
        usage = '"usage":{"input_tokens":12,"cache_read_input_tokens":40000,"output_tokens":200}'
        body = (
            f'"message":{{"model":"claude-opus-4-8","id":"{message}","type":"message","role":"assistant","content":[{block}],'
            f'"stop_reason":"{stop}",{usage}}}'
        )
        record("assistant", body, rng.randrange(2, 9))

    while lines.size < size:
        if not lines.out or (rng.random() < 0.25 and not agent) or step == 0:
            record(
                "user", f'"message":{{"role":"user","content":{rng.choice(pool.asks)}}}', rng.randrange(20, 200), typed
            )
        for _ in range(rng.randrange(1, 5)):
            call = f"toolu_{rng.getrandbits(64):016x}"
            answer(
                f'{{"type":"tool_use","id":"{call}","name":"Bash","input":{{"command":{rng.choice(pool.commands)}}}}}',
                "tool_use",
            )
            failed = rng.random() < 0.06
            text = rng.choice(pool.errors) if failed else _output(rng, pool, size - lines.size)
            flag = "true" if failed else "false"
            result = text if failed else f'{{"stdout":{text},"stderr":"","interrupted":false,"isImage":false}}'
            block = f'{{"tool_use_id":"{call}","type":"tool_result","content":{text},"is_error":{flag}}}'
            record(
                "user",
                f'"message":{{"role":"user","content":[{block}]}}',
                rng.randrange(1, 9),
                f'"toolUseResult":{result},',
            )
            if lines.size >= size:
                break
        answer(f'{{"type":"text","text":{rng.choice(pool.says)}}}', "end_turn")
    return lines.done()


def _codex(rng: random.Random, pool: Pool, session: str, cwd: str, at: datetime, size: int) -> tuple[bytes, int]:
    lines = _Lines(at)
    headless = rng.random() < 0.2
    origin, source = ("codex_exec", "exec") if headless else ("codex-tui", "cli")

    def record(kind: str, payload: str, seconds: int) -> None:
        ordinal = len(lines.out)
        lines.add(f'{{"timestamp":"{lines.tick(seconds)}","ordinal":{ordinal},"type":"{kind}","payload":{payload}}}')

    meta = (
        f'{{"id":"{session}","session_id":"{session}","timestamp":"{at:%Y-%m-%dT%H:%M:%S}.000Z","cwd":"{cwd}","originator":"{origin}",'
        f'"cli_version":"0.149.0","source":"{source}","thread_source":"user","history_mode":"paginated",'
        f'"git":{{"branch":"main","commit_hash":"{rng.getrandbits(160):040x}"}}}}'
    )
    record("session_meta", meta, 0)
    context = quoted(f"<environment_context>\n  <cwd>{cwd}</cwd>\n</environment_context>")
    record(
        "response_item", f'{{"type":"message","role":"user","content":[{{"type":"input_text","text":{context}}}]}}', 0
    )

    def said(role: str, item: str, text: str, seconds: int) -> None:
        identity = f"msg_{rng.getrandbits(64):016x}"
        block, inner = ("output_text", "Text") if role == "assistant" else ("input_text", "text")
        body = f'{{"type":"{item}","id":"{identity}","content":[{{"type":"{inner}","text":{text}}}]}}'
        record("event_msg", f'{{"type":"item_completed","thread_id":"{session}","item":{body}}}', seconds)
        body = f'{{"type":"message","id":"{identity}","role":"{role}","content":[{{"type":"{block}","text":{text}}}]}}'
        record("response_item", body, 0)

    while lines.size < size:
        said("user", "UserMessage", rng.choice(pool.asks), rng.randrange(20, 200))
        for _ in range(rng.randrange(1, 6)):
            call = f"call_{rng.getrandbits(64):016x}"
            arguments = quoted(f'{{"cmd":{rng.choice(pool.commands)}}}')
            body = f'{{"type":"function_call","name":"exec_command","arguments":{arguments},"call_id":"{call}"}}'
            record("response_item", body, rng.randrange(1, 6))
            text = _output(rng, pool, size - lines.size)
            record(
                "response_item",
                f'{{"type":"function_call_output","call_id":"{call}","output":{text}}}',
                rng.randrange(1, 8),
            )
            if lines.size >= size:
                break
        said("assistant", "AgentMessage", rng.choice(pool.says), rng.randrange(2, 12))
    return lines.done()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--total-mb", type=int, default=300)
    asked = parser.parse_args()
    began = time.perf_counter()
    counts = make_corpus(asked.folder, asked.files, asked.seed, total=asked.total_mb * 1_000_000)
    print(
        counts, f"mean line {counts['bytes'] / max(1, counts['lines']):.0f} bytes, {time.perf_counter() - began:.1f} s"
    )


if __name__ == "__main__":
    main()
