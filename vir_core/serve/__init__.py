"""Serve: the warm surface. JSON-RPC 2.0 over stdin and stdout, one object a line; a method is a verb and its params are the
request that the command line takes. It keeps what is costly to open and nothing that could be out of date: history,
settings and files are looked at again for every answer."""

from __future__ import annotations

from vir_core.serve.main import main

__all__ = ["main"]
