"""The secret of a vault: what makes the digest of a rejected or forgotten statement say nothing about the statement.

A plain digest of a short sentence can be guessed by hashing sentences. So statements are known by HMAC-SHA256 under a random
secret in `store/secrets/`, which travels with the vault: every device can check a statement against a line, and a line
that leaves the vault (a bug report, a log, a shared piece of history) reveals nothing. Who holds the whole vault folder can
still test a guess; a secret in the key store of one machine would prevent that and leave the other devices of the person
unable to keep out what was forgotten.

Two devices may each make one before they first meet. Then both count, and a statement has a digest under each.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from vir_core.machine import MachineError, make_dirs, read_bytes, write_once
from vir_core.text import said, sha256_hex
from vir_core.vault.layout import Vault

SECRETS = "secrets"
DIGITS = 24
"""Hex digits of a value: 96 bits, so that no two of a person's statements ever meet by accident."""

_NAME = re.compile(r"([0-9a-f]{16})\.txt")
_CONTENT = re.compile(rb"[0-9a-f]{64}")


class Secret:
    """The secrets of one vault, oldest name first. Without any it gives no values."""

    def __init__(self, keys: Iterable[bytes]) -> None:
        self._keys = tuple(sorted(set(keys)))

    def __bool__(self) -> bool:
        return bool(self._keys)

    def values(self, *statements: str) -> tuple[str, ...]:
        """The values of these statements: each in the form of `said`, under each secret; sorted, none twice. A statement
        without words has none."""
        import hmac

        forms = {form.encode("utf-8", "replace") for text in statements if (form := said(text))}
        return tuple(sorted({hmac.digest(key, form, "sha256").hex()[:DIGITS] for form in forms for key in self._keys}))


def read_secret(vault: Vault) -> Secret:
    """What is there, in the vault or in this machine's copy. Writes nothing and never raises for what the files hold."""
    return Secret(_found(vault.store / SECRETS) | _found(vault.state / SECRETS))


def keep_secret(vault: Vault) -> Secret:
    """The same, made when there is none yet, and each copy completed by the other: a sync tool that drops the file must not
    make the vault forget what was rejected. Raises `StorageError`."""
    here, there = _found(vault.store / SECRETS), _found(vault.state / SECRETS)
    keys = here | there or {os.urandom(32).hex().encode()}
    for folder, known, private in ((vault.state / SECRETS, there, True), (vault.store / SECRETS, here, False)):
        for key in sorted(keys - known):
            make_dirs(folder, private=private)
            write_once(folder / f"{sha256_hex(key)[:16]}.txt", key)
    return Secret(keys)


def _found(folder: Path) -> set[bytes]:
    """Files that are what their name says; half of one that is still syncing is none."""
    try:
        names = [name for name in os.listdir(folder) if _NAME.fullmatch(name)]  # noqa: PTH208
    except OSError:
        return set()
    keys: set[bytes] = set()
    for name in names:
        try:
            content = read_bytes(folder / name).strip()
        except (OSError, MachineError):
            continue  # not here yet; its values are compared when it is
        if _CONTENT.fullmatch(content) and sha256_hex(content)[:16] == name[:16]:
            keys.add(content)
    return keys
