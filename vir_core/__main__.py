"""Picks the surface. One console script, so that a plugin, a script and a person all start the same thing."""

from __future__ import annotations

import sys

# The shape of `contract.encode_error`, for a stop that comes while the contract itself is being loaded.
_STOPPED = '{"error":{"kind":"cancelled","message":"Stopped.","hint":"Run the same command again."}}\n'


def main() -> int:
    try:
        from vir_core.cli import main as command_line
    except KeyboardInterrupt:
        as_json = "--json" in sys.argv
        (sys.stdout if as_json else sys.stderr).write(_STOPPED if as_json else "Stopped.\n")
        return 1
    return command_line()


if __name__ == "__main__":
    raise SystemExit(main())
