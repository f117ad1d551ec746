"""What can go wrong with a vault.

VaultError
├── NoVault      no vir folder where one was looked for
├── CopyOfVault  the same vault stands in two places, nobody said which one is meant
└── CannotEdit   a frontmatter that cannot be changed without touching what is not ours
"""

from __future__ import annotations


class VaultError(Exception):
    """`message` says what is so, `hint` says what a person can do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NoVault(VaultError):
    """There is no vir folder at, above or below the place that was named."""


class CopyOfVault(VaultError):
    """Two folders carry one vault id and both are there; nothing is written until a person says which is which."""


class CannotEdit(VaultError):
    """The file is left as it is; the reason is for doctor."""

    @property
    def reason(self) -> str:
        return self.message
