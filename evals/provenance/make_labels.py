"""Writes labels.jsonl: what each transcript under data/real-cli is, from that folder's README, which says how it was made."""

from __future__ import annotations

import json
from pathlib import Path

PRINT = "made by `claude -p`"
INTERACTIVE = "typed into the real terminal interface"
CLAUDE = "claude-code/home-noninteractive-projects/-home-dev-work-proj"
TYPED = "claude-code/home-interactive-projects/-home-dev-work-proj2"
CODEX = "codex/sessions/2026/11/30/rollout-2026-11-30T18-58"

# file, what it is, prompts in it, why
ROWS = [
    (f"{TYPED}/4f944d68-2d8c-40b2-bbf3-a414fcac68f4.jsonl", "human-driven", 4, f"{INTERACTIVE}: four prompts, one ! and three / commands"),
    (f"{TYPED}/77db08cb-51c7-401c-8a1d-594aad4ceb34.jsonl", "human-driven", 1, f"{INTERACTIVE} after /clear"),
    (f"{TYPED}/4f944d68-2d8c-40b2-bbf3-a414fcac68f4/subagents/agent-a56834f6053cc73df.jsonl", "subagent", 0, "started by the typed session"),
    (f"{CLAUDE}/2033ad27-363f-4708-bc8c-4dca8fcb2564.jsonl", "sdk-headless", 1, f"{PRINT} with stream-json output"),
    (f"{CLAUDE}/29c0f90b-5f4c-4346-bddd-6d3a68018bfb.jsonl", "sdk-headless", 1, f"{PRINT}, starts a subagent"),
    (f"{CLAUDE}/29c0f90b-5f4c-4346-bddd-6d3a68018bfb/subagents/agent-a6258aa9b60e192f8.jsonl", "subagent", 0, "started by a script's session"),
    (f"{CLAUDE}/3bbf824c-6641-4889-9e8e-fbf392a4c49c.jsonl", "sdk-headless", 1, PRINT),
    (f"{CLAUDE}/49fce02b-85c1-43ee-abf8-acc8f7faeae5.jsonl", "sdk-headless", 2, f"{PRINT}, then --resume into the same file"),
    (f"{CLAUDE}/67a15062-0c5c-465b-a329-33364b56999b.jsonl", "sdk-headless", 1, PRINT),
    (f"{CLAUDE}/75b0b5cc-a1a6-4630-94f2-ae40fa2667fd.jsonl", "sdk-headless", 4, f"{PRINT} --fork-session: two prompts copied, then --continue"),
    (f"{CLAUDE}/88f507a8-f163-4a17-abbe-62190957e619.jsonl", "sdk-headless", 1, f"{PRINT} --json-schema"),
    (f"{CLAUDE}/92cc3900-54f9-4c0c-9254-3c7ad4885084.jsonl", "sdk-headless", 1, f"{PRINT}, an edit is denied"),
    (f"{CLAUDE}/b2b5b801-12a8-448e-9bdc-928ed7ea3bf3.jsonl", "sdk-headless", 1, "TypeScript SDK"),
    (f"{CLAUDE}/b2b5b801-12a8-448e-9bdc-928ed7ea3bf3/subagents/agent-aaa2bf32a2e596c1c.jsonl", "subagent", 0, "started by an SDK session"),
    (f"{CLAUDE}/f321e693-3d1e-4843-b777-35ff3f825109.jsonl", "sdk-headless", 1, "Python SDK"),
    (f"{CLAUDE}/f9e6f2b9-d934-47f8-a39f-0c70bc03893b.jsonl", "sdk-headless", 1, f"{PRINT}, two overload errors retried"),
    (f"{CODEX}-25-01a22dd2-97a6-7c32-bd39-3924b16252f2.jsonl", "codex-exec", 1, "codex exec --json"),
    (f"{CODEX}-44-01a22dd2-e11f-7cd3-b449-30d736285708.jsonl", "codex-exec", 2, "codex exec, then exec resume --last"),
    (f"{CODEX}-45-01a22dd2-e356-7d70-9a95-f08fd39acb40.jsonl", "codex-exec", 1, "codex exec --output-schema"),
    (f"{CODEX}-48-01a22dd2-efdb-70c3-8346-4a6db076b361.jsonl", "codex-human (TUI)", 2, "typed into the real terminal interface, with /compact between"),
]  # fmt: skip


def main() -> None:
    lines = [
        json.dumps({"file": file, "classification": kind, "human_turns": turns, "evidence": [why]}, ensure_ascii=False)
        for file, kind, turns, why in ROWS
    ]
    Path(__file__).with_name("labels.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
