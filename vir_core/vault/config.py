"""`store/config.yaml`: what marks a folder as vir's, and preferences. Never policy.

The file is a list of `key: value` lines, one scalar each, so that the two or three keys a query needs are read without a
YAML library. A person may reformat it; then ruamel reads it.
"""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from vir_core.machine import ABSENT, read_bytes, write_atomic
from vir_core.text import lazy_pattern, sha256_hex
from vir_core.vault.errors import VaultError

CONFIG = "config.yaml"
ARCHIVE = ("off", "1y", "forever")

_VAULT_ID = lazy_pattern(r"v[0-9a-f]{15}\Z")
_LINE = lazy_pattern(
    r"""(?P<key>[A-Za-z_][A-Za-z0-9_-]*)[ ]*:[ ]*
        (?: "(?P<double>[^"\\]*)" | '(?P<single>[^']*)' | (?P<plain>[^\s"'\[\]{}&*!|>%@`#,][^"'#:{}\[\]]*?) )?
        [ ]*(?:\#.*)?\Z""",
    re.VERBOSE,
)
_OFF = frozenset({"off", "no", "false"})
_HEAD = """\
# vir recognises the folder above this file by the line "vir:". Keep this file beside the notes.
"""


class ConfigError(VaultError):
    """The file is there and does not say which vault it belongs to."""


class Config(Struct, frozen=True, kw_only=True):
    """`id` is the vault id. `folder` is where vir's folder lies below the vault root, with `/`; it keeps the root derivable
    when the vault moves and Obsidian has never opened it. `archive` says whether scrubbed copies of sessions are kept on
    the machines that read them: off, 1y or forever, empty while nobody was asked. `prefix` stands before our property
    names. `base` says that the Bases view was written once. `queries` says whether questions are recorded on this machine.
    `was` are the ids this vault had before it was made a vault of its own; history under them is still its history.
    `embedder` says what turns text into vectors (empty: what comes along), `embedder_url` where a
    service for it is."""

    id: str
    folder: str = "vir"
    prefix: str = ""
    base: bool = False
    queries: bool = True
    archive: str = ""
    was: tuple[str, ...] = ()
    embedder: str = ""
    embedder_url: str = ""

    @property
    def ids(self) -> tuple[str, ...]:
        """Every vault id whose history belongs here."""
        return (self.id, *self.was)


def read_config(path: Path) -> Config | None:
    """The config at `path`, None when there is no such file. Raises ConfigError when it names no vault, and what
    `machine.read_bytes` raises."""
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError:
        content = read_bytes(path)
    return parse_config(content, path)


def parse_config(content: bytes, path: Path) -> Config:
    """`path` is only named in the error."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _broken(path) from None
    keys = _quick(text)
    if keys is None:
        keys = _slow(text)
    if not _VAULT_ID.match(keys.get("vir", "")):
        raise _broken(path)
    return Config(
        id=keys["vir"],
        folder=_folder(keys.get("folder", "")) or "vir",
        prefix=keys.get("prefix", ""),
        base=keys.get("base", "") == "written",
        queries=keys.get("queries", "").casefold() not in _OFF,
        archive=word if (word := keys.get("archive", "")) in ARCHIVE else "",
        was=tuple(word for word in keys.get("was", "").split() if _VAULT_ID.match(word)),
        embedder=keys.get("embedder", "").strip(),
        embedder_url=keys.get("embedder_url", "").strip(),
    )


def write_config(path: Path, config: Config) -> bool:
    """Writes the keys that differ, each in its own line, and leaves every other line and comment alone. True when the file
    changed. Raises `machine.Changed` when someone else wrote it meanwhile."""
    try:
        old = path.read_bytes()
    except FileNotFoundError:
        write_atomic(path, _edited(_HEAD, config, {}), expected=ABSENT)
        return True
    before = parse_config(old, path)
    if before == config:
        return False
    text = old.decode("utf-8-sig")
    new = _edited(text, config, _keys(before))
    if parse_config(new, path) != config:
        raise ConfigError(
            f"{path} is written in a way vir cannot change",
            "Write one `key: value` per line, or change the value there yourself.",
        )
    write_atomic(path, new, expected=sha256_hex(old))
    return True


def _keys(config: Config) -> dict[str, str]:
    return {
        "vir": config.id,
        "folder": config.folder,
        "prefix": config.prefix,
        "base": "written" if config.base else "",
        "queries": "" if config.queries else "off",
        "archive": config.archive,
        "was": " ".join(config.was),
        "embedder": config.embedder,
        "embedder_url": config.embedder_url,
    }


def _edited(text: str, config: Config, before: dict[str, str]) -> bytes:
    eol = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    for key, value in _keys(config).items():
        if value == before.get(key, ""):
            continue
        line = f'{key}: "{value}"{eol}'
        at = next((n for n, old in enumerate(lines) if re.match(rf"{key}[ ]*:", old)), None)
        if at is not None:
            comment = re.search(r"[ ]+#[^\"']*\Z", lines[at].rstrip("\r\n"))
            lines[at] = f'{key}: "{value}"{comment.group() if comment else ""}{eol}'
        else:
            if lines and not lines[-1].endswith("\n"):
                lines[-1] += eol
            lines.append(line)
    return "".join(lines).encode()


def _quick(text: str) -> dict[str, str] | None:
    """The keys of a file of simple lines; None for anything else."""
    keys: dict[str, str] = {}
    for raw in text.split("\n"):
        line = raw.rstrip()
        if not line or line.startswith("#"):
            continue
        found = _LINE.match(line)
        if found is None or found["key"] in keys:
            return None
        keys[found["key"]] = found["double"] or found["single"] or found["plain"] or ""
    return keys


def _slow(text: str) -> dict[str, str]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        loaded: object = YAML(typ="safe", pure=True).load(text)  # pyright: ignore[reportUnknownMemberType]
    except (YAMLError, ValueError, TypeError):
        return {}
    if not isinstance(loaded, dict):
        return {}
    keys: dict[str, str] = {}
    for key, value in loaded.items():  # pyright: ignore[reportUnknownVariableType]
        if isinstance(key, str) and isinstance(value, str | bool | list):
            keys[key] = str(value) if isinstance(value, str | bool) else " ".join(str(item) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return keys


def _folder(text: str) -> str:
    parts = [part for part in text.replace("\\", "/").split("/") if part not in ("", ".")]
    return "" if ".." in parts else "/".join(parts)


def _broken(path: Path) -> ConfigError:
    return ConfigError(
        f"{path} does not name a vault",
        'Put back its line `vir: "v…"` from a backup or from another device.',
    )
