"""What a person signs: the bytes of one act, and the root over the acts of a batch.

The bytes are `vir/1`, a line feed and canonical JSON (RFC 8785). A batch is a Merkle tree over the bytes of its items, as
RFC 9162 builds it, and one signature over its root and its length, so that each line of three hundred carries nine hashes
and is verified alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from vir_core.machine import sha256
from vir_core.text import canonical

PREFIX = b"vir/1\n"
BATCH = "batch"
MOST = 10_000
"""Items of one batch."""

_LEAF, _NODE = b"\0", b"\1"
_DEEPEST = MOST.bit_length() + 1


class Payload(Struct, frozen=True, kw_only=True):
    """One act as it is signed. `verb` is the action of the line, `key` the public key (hex), `at` the signer's clock (as on
    a line). `args` are all of the line's data but `digest` and `after`, so that nothing in a proven line can be altered.
    `after` names the lines the person saw last on the subject, joined by commas; empty when there were none."""

    vault: str
    key: str
    verb: str
    subject: str
    at: str
    digest: str = ""
    args: Mapping[str, Any] = {}
    after: str = ""


def payload_bytes(payload: Payload) -> bytes:
    """The bytes to sign for one act. Raises ValueError for what has no canonical form."""
    return PREFIX + canonical(
        {
            "vault": payload.vault,
            "key": payload.key,
            "verb": payload.verb,
            "subject": payload.subject,
            "digest": payload.digest,
            "args": payload.args,
            "after": payload.after,
            "at": payload.at,
        }
    )


def payload_of(*, vault: str, key: str, at: str, action: str, subject: str, data: Mapping[str, Any]) -> Payload:
    """The payload that a line with this data must have been signed as. Raises ValueError when `digest` or `after` of the
    data is no string."""
    args = dict(data)
    digest, after = args.pop("digest", ""), args.pop("after", "")
    if not isinstance(digest, str) or not isinstance(after, str):
        raise ValueError("`digest` and `after` are strings")
    return Payload(vault=vault, key=key, verb=action, subject=subject, at=at, digest=digest, args=args, after=after)


def batch_bytes(*, vault: str, key: str, at: str, count: int, root: bytes) -> bytes:
    """The bytes to sign for a batch."""
    return PREFIX + canonical({"vault": vault, "key": key, "verb": BATCH, "count": count, "root": root.hex(), "at": at})


def leaf(item: bytes) -> bytes:
    """The hash of one item's bytes (32 bytes)."""
    return sha256(_LEAF + item).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(_NODE + left + right).digest()


def root_and_paths(leaves: Sequence[bytes]) -> tuple[bytes, list[list[bytes]]]:
    """The root over the leaf hashes, and for each leaf the hashes beside its way up, lowest first.

    Raises ValueError for no leaves and for more than `MOST`.
    """
    if not 0 < len(leaves) <= MOST:
        raise ValueError(f"a batch holds 1 to {MOST} acts")
    paths: list[list[bytes]] = [[] for _ in leaves]
    level = [(hash, range(place, place + 1)) for place, hash in enumerate(leaves)]
    # Pairing neighbours and letting the odd one rise gives the tree of RFC 9162.
    while len(level) > 1:
        above: list[tuple[bytes, range]] = []
        for place in range(0, len(level) - 1, 2):
            (left, mine), (right, theirs) = level[place], level[place + 1]
            for one in mine:
                paths[one].append(right)
            for one in theirs:
                paths[one].append(left)
            above.append((_node(left, right), range(mine.start, theirs.stop)))
        if len(level) % 2:
            above.append(level[-1])
        level = above
    return level[0][0], paths


def root_from(hash: bytes, index: int, count: int, path: Sequence[bytes]) -> bytes | None:
    """The root that leaf `index` of `count` leads to along `path`; `None` when the path is not as long as its place in a
    tree of that size says."""
    if not 0 <= index < count <= MOST or len(path) > _DEEPEST:
        return None
    last = count - 1
    for beside in path:
        if last == 0:
            return None
        if index % 2 or index == last:
            # A last one without a neighbour rises until it has one on its left.
            while index % 2 == 0:
                index //= 2
                last //= 2
            hash = _node(beside, hash)
        else:
            hash = _node(hash, beside)
        index //= 2
        last //= 2
    return hash if last == 0 else None
