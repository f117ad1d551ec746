"""How an agent that vir itself starts is marked, so that its transcript is never taken for a person's. Whoever starts one uses
`own_run`; whoever reads transcripts looks for the same three marks, any of which is enough: the first goes when a wrapper
sets its own, the second when the state folder moves, the third when a prompt is rewritten."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from vir_core.machine.files import make_dirs
from vir_core.machine.paths import state_home

OWN_ENTRYPOINT = "sdk-vir"
"""What both agents write into their transcripts as the program that started them."""
OWN_FIRST_LINE = "[vir distils a transcript; nobody typed this]"
"""First line of every prompt that vir sends to an agent."""
OWN_SIGNATURE = "vir/distil/"
"""Opens the second line of such a prompt, with the version of the prompt: a wrapper may put words before the first line."""

_MARKERS = ("CLAUDE_CODE_ENTRYPOINT", "CODEX_INTERNAL_ORIGINATOR_OVERRIDE")


class OwnRun(NamedTuple):
    """`environment` and `folder` (made, private) to start the agent in, and the `prompt` to give it."""

    environment: dict[str, str]
    folder: Path
    prompt: str


def own_run(prompt: str, version: str, environment: Mapping[str, str] = os.environ) -> OwnRun:
    """A run of an agent with all three marks: what to start it with so that `prompt`, of this `version`, is answered and its
    transcript known for ours. Raises StorageError when the folder cannot be made."""
    if not version or any(letter.isspace() for letter in version):
        raise ValueError("the version of a prompt is one word")
    folder = state_home() / "agents"
    make_dirs(folder, private=True)
    return OwnRun(
        environment={**environment, **dict.fromkeys(_MARKERS, OWN_ENTRYPOINT)},
        folder=folder,
        prompt=f"{OWN_FIRST_LINE}\n{OWN_SIGNATURE}{version}\n\n{prompt}",
    )


def is_own_prompt(text: str) -> bool:
    """Whether a session that opens with this text was asked by vir."""
    return text.startswith(OWN_FIRST_LINE) or f"\n{OWN_SIGNATURE}" in text[:400]
