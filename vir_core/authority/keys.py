"""Private keys on this machine, sealed with a passphrase, and the recovery code that is a key on paper.

They lie in the machine's state folder, never in the vault: what travels with the vault travels to everybody who has it.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from vir_core.authority.chain import key_id
from vir_core.machine import ABSENT, MachineError, make_dirs, read_bytes, sha256, write_atomic

_COST = 1 << 16
_BLOCK = 8
_MEMORY = 132 * _COST * _BLOCK  # bytes; what scrypt needs and a little more

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_READ = {**{char: value for value, char in enumerate(_ALPHABET)}, "I": 1, "L": 1, "O": 0}
_SECRET_CHARS, _CHECK_CHARS, _GROUP = 26, 4, 5


class KeyRefused(Exception):
    """A key cannot be used. `message` and `hint` are whole sentences."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class WrongPassphrase(KeyRefused):
    """The passphrase does not open this key."""


class Signer:
    """A private key that is open. `public` is hex."""

    def __init__(self, seed: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self._seed = seed
        self.public = self._private.public_key().public_bytes_raw().hex()
        self.id = key_id(self.public)

    def sign(self, message: bytes) -> bytes:
        """64 bytes (Ed25519)."""
        return self._private.sign(message)

    @classmethod
    def make(cls) -> Signer:
        """A new key."""
        return cls(os.urandom(32))


class Sealed(Struct, frozen=True, kw_only=True):
    """A key as it lies on disk. `kind` is root or device; `salt`, `nonce` and `box` are hex."""

    v: int = 1
    id: str
    public: str
    kind: str
    n: int
    r: int
    salt: str
    nonce: str
    box: str


class KeyFolder:
    """`keys/` in the state of one vault: one file a key, readable by this account alone."""

    def __init__(self, state: Path) -> None:
        self._folder = state / "keys"

    def list(self) -> list[Sealed]:
        """The keys of this machine, whether or not they count. Raises `KeyRefused` for a file that cannot be read."""
        if not self._folder.is_dir():
            return []
        found: list[Sealed] = []
        for path in sorted(self._folder.glob("k*.json")):
            try:
                found.append(msgspec.json.decode(read_bytes(path), type=Sealed))
            except (msgspec.MsgspecError, MachineError, OSError) as error:
                raise KeyRefused(
                    f"{path} cannot be read as a key.", "Move it away and enroll this device again."
                ) from error
        return found

    def seal(self, signer: Signer, passphrase: str, *, kind: str) -> Sealed:
        """Keeps the key. Raises `StorageError`, `Changed` when it is there already."""
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        salt, nonce = os.urandom(16), os.urandom(12)
        bound = _bound(signer.public, kind)
        box = ChaCha20Poly1305(_derived(passphrase, salt, _COST, _BLOCK)).encrypt(nonce, signer._seed, bound)  # pyright: ignore[reportPrivateUsage]
        sealed = Sealed(
            id=signer.id,
            public=signer.public,
            kind=kind,
            n=_COST,
            r=_BLOCK,
            salt=salt.hex(),
            nonce=nonce.hex(),
            box=box.hex(),
        )
        make_dirs(self._folder, private=True)
        content = msgspec.json.format(msgspec.json.encode(sealed), indent=1) + b"\n"
        write_atomic(self._folder / f"{signer.id}.json", content, expected=ABSENT, private=True)
        return sealed

    def open(self, sealed: Sealed, passphrase: str) -> Signer:
        """The key, about 0.2 s after it was asked for. Raises `WrongPassphrase`."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        try:
            # A record that asks for more than ours is not ours.
            if sealed.n > _COST or sealed.r > _BLOCK:
                raise ValueError
            key = _derived(passphrase, bytes.fromhex(sealed.salt), sealed.n, sealed.r)
            seed = ChaCha20Poly1305(key).decrypt(
                bytes.fromhex(sealed.nonce), bytes.fromhex(sealed.box), _bound(sealed.public, sealed.kind)
            )
            signer = Signer(seed)
        except (InvalidTag, ValueError) as error:
            raise WrongPassphrase("That passphrase does not open this key.", "Type it again.") from error
        if signer.public != sealed.public:
            raise WrongPassphrase("That passphrase does not open this key.", "Type it again.")
        return signer


def recovery_code() -> tuple[str, Signer]:
    """A new code to write down, in six groups of five, and the key it stands for. 128 random bits."""
    secret = os.urandom(16)
    number = int.from_bytes(secret, "big") << 2
    text = "".join(_ALPHABET[number >> 5 * place & 31] for place in reversed(range(_SECRET_CHARS)))
    text += _check(secret)
    groups = [text[place : place + _GROUP] for place in range(0, len(text), _GROUP)]
    return "-".join(groups), _from_secret(secret)


def signer_from_code(code: str) -> Signer:
    """The key of a code as a person types it: any case and spacing, `I L O` for `1 1 0`.

    Raises `KeyRefused` that says whether the length or a character is wrong.
    """
    typed = [char for char in code.upper() if not char.isspace() and char != "-"]
    if len(typed) != _SECRET_CHARS + _CHECK_CHARS:
        raise KeyRefused(
            f"A recovery code has {_SECRET_CHARS + _CHECK_CHARS} letters and digits; this one has {len(typed)}.",
            "Compare it with what you wrote down.",
        )
    if unknown := [char for char in typed if char not in _READ]:
        raise KeyRefused(f"{unknown[0]!r} is in no recovery code.", "Compare it with what you wrote down.")
    number = 0
    for char in typed[:_SECRET_CHARS]:
        number = number << 5 | _READ[char]
    secret = (number >> 2).to_bytes(16, "big")
    given = "".join(_ALPHABET[_READ[char]] for char in typed[_SECRET_CHARS:])
    if number & 3 or _check(secret) != given:
        raise KeyRefused("Something in the recovery code is mistyped.", "Compare it with what you wrote down.")
    return _from_secret(secret)


def _check(secret: bytes) -> str:
    digest = int.from_bytes(sha256(b"vir-recovery-check/1\0" + secret).digest()[:4], "big")
    return "".join(_ALPHABET[digest >> 5 * place & 31] for place in range(_CHECK_CHARS))


def _from_secret(secret: bytes) -> Signer:
    return Signer(sha256(b"vir-recovery/1\0" + secret).digest())


def _bound(public: str, kind: str) -> bytes:
    return f"vir-key/1\n{public}\n{kind}".encode()


def _derived(passphrase: str, salt: bytes, n: int, r: int) -> bytes:
    import hashlib
    import unicodedata

    # The same passphrase typed on another keyboard may come composed otherwise.
    typed = unicodedata.normalize("NFKC", passphrase).encode("utf-8", "surrogatepass")
    return hashlib.scrypt(typed, salt=salt, n=n, r=r, p=1, maxmem=_MEMORY + (1 << 20), dklen=32)
