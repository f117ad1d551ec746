"""Picks the surface. One console script, so that a plugin, a script and a person all start the same thing."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

# The shape of `contract.encode_error`, for a stop that comes while the contract itself is being loaded.
_STOPPED = '{"error":{"kind":"cancelled","message":"Stopped.","hint":"Run the same command again."}}\n'


def main() -> NoReturn:
    """Ends the process. Taking an interpreter and a search engine apart takes a tenth of the time of a question, so that is
    left to the operating system: all that vir keeps is on disk by then, and every lock is one that the kernel frees."""
    code = run()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def run() -> int:
    """One command; the code to exit with."""
    parent = os.getppid()
    try:
        _spare_typing_extensions()
        if sys.argv[1:2] == ["serve"]:
            from vir_core.serve import main as warm

            return warm(sys.argv[2:], parent)
        from vir_core.cli import main as command_line
    except KeyboardInterrupt:
        as_json = "--json" in sys.argv
        (sys.stdout if as_json else sys.stderr).write(_STOPPED if as_json else "Stopped.\n")
        return 1
    return command_line()


def _spare_typing_extensions() -> None:
    """Imports msgspec without `typing_extensions`, which it takes where it finds it and needs on no Python that vir runs on;
    loading that costs more than msgspec itself. Whoever imports it later gets the real one."""
    modules: dict[str, object] = sys.modules  # pyright: ignore[reportAssignmentType]
    if "typing_extensions" in modules or "msgspec" in modules:
        return
    modules["typing_extensions"] = None
    try:
        import msgspec  # noqa: F401  # pyright: ignore[reportUnusedImport]
    finally:
        del modules["typing_extensions"]


if __name__ == "__main__":
    main()
