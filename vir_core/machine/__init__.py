"""Everything that differs between operating systems: where the state folder lies, locks that the kernel frees, files that
are written whole or not at all, and what to tell a person when the disk refuses. No other room asks which system this is."""

from __future__ import annotations

from vir_core.machine.errors import Busy, Changed, Holder, MachineError, StorageError
from vir_core.machine.files import (
    ABSENT,
    ANYTHING,
    Expect,
    FileId,
    append,
    file_id,
    make_dirs,
    read_bytes,
    rename_no_replace,
    sha256_of,
    sweep_leftovers,
    write_atomic,
    write_once,
)
from vir_core.machine.hashing import sha256
from vir_core.machine.locks import Held, hold, holder_of, try_hold
from vir_core.machine.ownrun import OWN_ENTRYPOINT, OWN_FIRST_LINE, OWN_SIGNATURE, OwnRun, is_own_prompt, own_run
from vir_core.machine.paths import claude_projects_dirs, codex_home_dirs, state_home, user_home
from vir_core.machine.process import private_streams, when_parent_dies
from vir_core.machine.terminal import Terminal, open_terminal

__all__ = [
    "ABSENT",
    "ANYTHING",
    "OWN_ENTRYPOINT",
    "OWN_FIRST_LINE",
    "OWN_SIGNATURE",
    "Busy",
    "Changed",
    "Expect",
    "FileId",
    "Held",
    "Holder",
    "MachineError",
    "OwnRun",
    "StorageError",
    "Terminal",
    "append",
    "claude_projects_dirs",
    "codex_home_dirs",
    "file_id",
    "hold",
    "holder_of",
    "is_own_prompt",
    "make_dirs",
    "open_terminal",
    "own_run",
    "private_streams",
    "read_bytes",
    "rename_no_replace",
    "sha256",
    "sha256_of",
    "state_home",
    "sweep_leftovers",
    "try_hold",
    "user_home",
    "when_parent_dies",
    "write_atomic",
    "write_once",
]
