"""The line shape: what the engine must know of one kind of journal to read, order and join its lines.

The vault's shape is the default everywhere. Another journal (the team graph's) brings its own shape and its own
projection, and gets order-free replay, damage counts, checkpoints and `known_at` from the same code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, TypeVar

from vir_core.journal.damage import Damage
from vir_core.journal.line import SEGMENT_STARTED, Line, decode_lines, digest_of
from vir_core.journal.segment import Files, list_segments


class Entry(Protocol):
    """A line as the engine sees it. `hash` is hex, at least 32 digits, and names the line: equal ones are one line.
    `at` is compared as text, `stamp` is the total order, `origin` is the device or file that speaks."""

    @property
    def hash(self) -> str: ...
    @property
    def at(self) -> str: ...
    @property
    def stamp(self) -> tuple[Any, ...]: ...
    @property
    def origin(self) -> str: ...
    @property
    def raw(self) -> bytes:
        """The line's own bytes, without its end."""
        ...


L = TypeVar("L", bound=Entry)


class Shape(Protocol[L]):
    """How lines of one kind look and which files hold them."""

    def files(self, folder: Path) -> Files:
        """The files that belong, by the name that `decode` is given; see `list_files` and `list_segments`."""
        ...

    def decode(self, block: bytes, damage: Damage, *, name: str, first: int) -> list[L]:
        """The lines in `block`, in order; never raises, what is no line is added to `damage`.

        `block` is whole lines of the file `name` (its last line may lack its end), `first` counts the line ends before
        it. A file may arrive in any number of blocks.
        """
        ...

    def claim(self, line: L) -> bool | None:
        """Whether this line says that its origin belongs to this journal; `None` when it does not say.

        Lines of an origin that nothing vouches for are counted and not applied, and a file whose first line says no is
        not read. A shape whose files all belong answers True.
        """
        ...


class MirroredShape(Shape[L], Protocol[L]):
    """A shape whose lines can be copied to a mirror, found there by hash, and given back."""

    def digest(self, piece: bytes) -> bytes:
        """`hash`, as bytes, of one well-formed stored line."""
        ...


class VaultShape:
    """Lines of a vault: `<device>/<nnnn>.jsonl`, and the device says in `segment_started` which vault it writes for."""

    def __init__(self, vaults: frozenset[str]) -> None:
        self.vaults = vaults

    def files(self, folder: Path) -> Files:
        return list_segments(folder)

    def decode(self, block: bytes, damage: Damage, *, name: str, first: int) -> list[Line]:
        del name, first  # a line of the vault says itself where it comes from
        return decode_lines(block, damage)

    def claim(self, line: Line) -> bool | None:
        return line.subject in self.vaults if line.action == SEGMENT_STARTED else None

    def digest(self, piece: bytes) -> bytes:
        return digest_of(piece)
