"""Picks the surface. One console script, so that a plugin, a script and a person all start the same thing."""

from __future__ import annotations


def main() -> int:
    from vir_core.cli import main as command_line

    return command_line()


if __name__ == "__main__":
    raise SystemExit(main())
