"""The notes as files: where a vault lies and whose it is, what stands in a note, and how a note is changed without touching
what a person wrote. It knows the grammar of a note file, of its properties and of `config.yaml`; it knows no history and
decides nothing about trust."""

from __future__ import annotations

from vir_core.vault.base import BASE, base_text
from vir_core.vault.config import CONFIG, Config, ConfigError, parse_config, read_config, write_config
from vir_core.vault.errors import CannotEdit, CopyOfVault, NoVault, VaultError
from vir_core.vault.frontmatter import OWN_KEYS, Broken, is_note_id, property_name, read_keys, set_keys, split
from vir_core.vault.layout import STORE, Vault, find_vault, is_vault_folder, normal, open_vault, place_of, root_of
from vir_core.vault.note import (
    FOLDERS,
    Draft,
    EvidenceTurn,
    Lesson,
    NoteFile,
    ParsedLesson,
    Quote,
    Rendered,
    frontmatter_of,
    note_path,
    note_words,
    parse,
    passage_texts,
    path_key,
    plain,
    render,
)
from vir_core.vault.opening import open_journal, open_own_journal
from vir_core.vault.registry import Entry, Standing, adopt, copy_refused, read_registry, registry_path, resolve
from vir_core.vault.secret import SECRETS, Secret, keep_secret, read_secret
from vir_core.vault.seen import SEEN, Seen, SeenFile, SeenTable, look_at, walk

__all__ = [
    "BASE",
    "CONFIG",
    "FOLDERS",
    "OWN_KEYS",
    "SECRETS",
    "SEEN",
    "STORE",
    "Broken",
    "CannotEdit",
    "Config",
    "ConfigError",
    "CopyOfVault",
    "Draft",
    "Entry",
    "EvidenceTurn",
    "Lesson",
    "NoVault",
    "NoteFile",
    "ParsedLesson",
    "Quote",
    "Rendered",
    "Secret",
    "Seen",
    "SeenFile",
    "SeenTable",
    "Standing",
    "Vault",
    "VaultError",
    "adopt",
    "base_text",
    "copy_refused",
    "find_vault",
    "frontmatter_of",
    "is_note_id",
    "is_vault_folder",
    "keep_secret",
    "look_at",
    "normal",
    "note_path",
    "note_words",
    "open_journal",
    "open_own_journal",
    "open_vault",
    "parse",
    "parse_config",
    "passage_texts",
    "path_key",
    "place_of",
    "plain",
    "property_name",
    "read_config",
    "read_keys",
    "read_registry",
    "read_secret",
    "registry_path",
    "render",
    "resolve",
    "root_of",
    "set_keys",
    "split",
    "walk",
    "write_config",
]
