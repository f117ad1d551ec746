"""Keys on this machine: sealed, readable by this account alone, and the code on paper."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec
import pytest

from tests.authority.conftest import ROOT, SECOND
from vir_core.authority import (
    KeyFolder,
    KeyRefused,
    Pin,
    WrongPassphrase,
    read_pin,
    recovery_code,
    same_words,
    signer_from_code,
    six_words,
    write_pin,
)
from vir_core.authority.words import word_list
from vir_core.machine import Changed, StorageError


def test_a_sealed_key_opens_with_its_passphrase_and_no_other(tmp_path: Path) -> None:
    folder = KeyFolder(tmp_path)
    assert folder.list() == []
    sealed = folder.seal(ROOT, "correct horse é", kind="root")
    assert folder.list() == [sealed]
    assert folder.open(sealed, "correct horse e\u0301").public == ROOT.public
    for wrong in ("", "correct horse", "Correct horse é"):
        with pytest.raises(WrongPassphrase):
            folder.open(sealed, wrong)
    with pytest.raises(Changed):
        folder.seal(ROOT, "another", kind="root")


def test_a_key_file_is_private_and_holds_no_secret_in_the_clear(tmp_path: Path) -> None:
    KeyFolder(tmp_path).seal(ROOT, "pass", kind="root")
    [path] = (tmp_path / "keys").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    seed = bytes([1]) * 32
    content = path.read_bytes()
    assert seed not in content and seed.hex().encode() not in content
    assert ROOT.public.encode() in content


def test_a_key_file_that_was_tampered_with_opens_for_nobody(tmp_path: Path) -> None:
    folder = KeyFolder(tmp_path)
    sealed = folder.seal(ROOT, "pass", kind="root")
    for change in (
        {"kind": "device"},
        {"public": SECOND.public},
        {"n": 1 << 30},
        {"salt": "zz"},
        {"box": sealed.box[:-2] + ("00" if sealed.box[-2:] != "00" else "11")},
    ):
        with pytest.raises(WrongPassphrase):
            folder.open(msgspec.structs.replace(sealed, **change), "pass")
    (tmp_path / "keys" / "k1.json").write_text("{")
    with pytest.raises(KeyRefused):
        folder.list()


def test_a_recovery_code_is_read_however_it_is_typed() -> None:
    code, signer = recovery_code()
    assert [len(group) for group in code.split("-")] == [5] * 6
    sloppy = code.lower().replace("-", "  ").replace("1", "l").replace("0", "o")
    assert signer_from_code(code).public == signer_from_code(sloppy).public == signer.public
    assert recovery_code()[0] != code


def test_a_mistyped_recovery_code_is_noticed() -> None:
    code, _ = recovery_code()
    for place, char in enumerate(code):
        if char == "-":
            continue
        wrong = code[:place] + ("7" if char != "7" else "8") + code[place + 1 :]
        with pytest.raises(KeyRefused):
            signer_from_code(wrong)
    swapped = code[1] + code[0] + code[2:]
    if swapped != code:
        with pytest.raises(KeyRefused):
            signer_from_code(swapped)
    for wrong in ("", code[:-1], code + "0", "U" + code[1:]):
        with pytest.raises(KeyRefused):
            signer_from_code(wrong)


def test_a_key_has_six_words_that_another_does_not_have() -> None:
    words = six_words(ROOT.public)
    assert len(words) == 6 and words == six_words(ROOT.public) != six_words(SECOND.public)
    assert same_words(f" {words[0].upper()}, " + " - ".join(words[1:]), words)
    assert not same_words(" ".join(words[:5]), words) and not same_words(" ".join(reversed(words)), words)
    every = word_list()
    assert len(every) == len(set(every)) == 1024 and list(every) == sorted(every)
    assert all(word.isascii() and word.isalpha() and word.islower() and 2 < len(word) <= 10 for word in every)
    for wrong in ("", "ab", "zz" * 32):
        with pytest.raises(ValueError):
            six_words(wrong)


def test_a_pin_is_replaced_only_by_who_saw_it(tmp_path: Path) -> None:
    assert read_pin(tmp_path) is None and read_pin(None) is None
    first = Pin(public=ROOT.public, how="made", at="2026-12-01T00:00:00.000000Z")
    second = Pin(public=SECOND.public, how="confirmed", at=first.at, former=(first.public,))
    write_pin(tmp_path, first, over=None)
    assert read_pin(tmp_path) == first
    for over in (None, second):
        with pytest.raises(Changed):
            write_pin(tmp_path, second, over=over)
    write_pin(tmp_path, second, over=first)
    assert read_pin(tmp_path) == second
    assert stat.S_IMODE((tmp_path / "root").stat().st_mode) == 0o600


def test_a_damaged_pin_is_not_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / "root").write_text('{"v":1}')
    with pytest.raises(StorageError):
        read_pin(tmp_path)
    with pytest.raises(Changed):
        write_pin(tmp_path, Pin(public=ROOT.public, how="made", at="x"), over=None)
    pin = Pin(public=ROOT.public, how="confirmed", at="x")
    write_pin(tmp_path, pin, over="damaged")
    assert read_pin(tmp_path) == pin
    with pytest.raises(Changed):
        write_pin(tmp_path, Pin(public=SECOND.public, how="made", at="x"), over="damaged")
