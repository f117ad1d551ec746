"""`schema`: writes what is generated from the contract, or says what has drifted."""

from __future__ import annotations

from pathlib import Path

from vir_core.contract import SchemaReply, SchemaRequest
from vir_core.contract.schema import drift, generate
from vir_core.machine import ANYTHING, make_dirs, write_atomic


def schema(request: SchemaRequest) -> SchemaReply:
    """With `check`, lists files that differ from what would be written; otherwise writes them."""
    root = Path(request.out)
    drifted = tuple(sorted(drift(root)))
    if request.check:
        return SchemaReply(drifted=drifted)
    files = generate()
    for relative in drifted:
        content = files.get(relative)
        if content is None:
            (root / relative).unlink(missing_ok=True)
            continue
        path = root / relative
        make_dirs(path.parent)
        write_atomic(path, content, expected=ANYTHING)
    return SchemaReply(written=drifted)
