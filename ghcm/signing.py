"""Signatures of bundles, by Ed25519: the keys that make them, and those that a daemon trusts.

Keys are PEM files as OpenSSL makes and reads them. What a signature covers is said in `ghcm.seal`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ghcm.errors import GhcmError, listed, sentence
from ghcm.places import private_opener
from ghcm.seal import Sealed, Signature, read_seal, seal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_BEGIN = b"-----BEGIN"
_MAKE = "ghcm key create NAME makes one, or openssl genpkey -algorithm ed25519."


def create_key(path: Path) -> tuple[Path, Path]:
    """Make a key: `<path>.key`, for this user alone, signs; `<path>.pub` is for those who trust it. Where both are.
    GhcmError where one is there already or cannot be written.
    """
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    public = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    files = path.with_name(f"{path.name}.key"), path.with_name(f"{path.name}.pub")
    if there := [str(file) for file in files if file.exists()]:
        raise GhcmError(f'"{there[0]}" is there already', code="GHCM-604", hint="choose another name for the key.")
    try:
        with open(files[0], "xb", opener=private_opener) as file:
            file.write(private)
        files[1].write_bytes(public)
    except OSError as error:
        raise GhcmError(f'the key "{path}" cannot be written', code="GHCM-626", detail=sentence(error)) from error
    return files


def read_key(path: Path) -> Ed25519PrivateKey:
    """The key in a file. GhcmError if it has none that can sign."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except TypeError:
        hint = f"openssl pkey -in {path} -out FILE gives it without one."
        raise GhcmError(f'the key "{path}" has a passphrase', code="GHCM-626", hint=hint) from None
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        raise _no_key(path, "no key to sign with", error) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key(path, "no key to sign with", ValueError("it is a key of another kind than Ed25519"))
    return key


def sign(bundle: bytes, key: Ed25519PrivateKey) -> bytes:
    """The bundle file with a signature of all that is in it, instead of one that it has."""
    sealed = Sealed(read_seal(bundle).content)
    return seal(bundle, Signature(_id(key.public_key()), key.sign(sealed.signed)))


@dataclass(frozen=True, slots=True)
class TrustedKeys:
    """The keys, by their ids, of which one must have signed a bundle; `source` is where they stand."""

    source: Path
    keys: Mapping[str, Ed25519PublicKey]

    def require(self, bundle: Path, sealed: Sealed | None) -> None:
        """GhcmError unless the bundle is signed by one of them; `sealed` is what it says at its end, None where it is
        a folder.
        """
        from cryptography.exceptions import InvalidSignature

        if sealed is None or sealed.signature is None:
            raise self._refusal(bundle, "it is not signed" if sealed else "it is a folder, which cannot be signed")
        key = self.keys.get(sealed.signature.key)
        if key is None:
            raise self._refusal(bundle, f"its key, {sealed.signature.key}, is none of those")
        try:
            key.verify(sealed.signature.made, sealed.signed)
        except InvalidSignature:
            raise self._refusal(bundle, f"it is not what the key {sealed.signature.key} has signed") from None

    def _refusal(self, bundle: Path, why: str) -> GhcmError:
        return GhcmError(
            f'bundle "{bundle}" is refused: {why}',
            code="GHCM-625",
            detail=f'Only bundles signed by a key in "{self.source}" are taken: {listed(self.keys)}.',
            hint="sign it with ghcm build --sign KEY, or add the public key of who has signed it.",
        )


def read_trusted(path: Path) -> TrustedKeys:
    """The public keys in a file, one behind the other, or in the `.pub` and `.pem` files of a folder. GhcmError if
    there is none, or one cannot be read.
    """
    files = sorted(each for each in path.iterdir() if each.suffix in (".pub", ".pem")) if path.is_dir() else [path]
    keys = {_id(key): key for file in files for key in _public_keys(file)}
    if not keys:
        raise GhcmError(f'there is no key to trust in "{path}"', code="GHCM-626", hint=_MAKE)
    return TrustedKeys(path, keys)


def _public_keys(file: Path) -> list[Ed25519PublicKey]:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        before, *parts = file.read_bytes().split(_BEGIN)
        found = [load_pem_public_key(_BEGIN + part) for part in parts] or [load_pem_public_key(before)]
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        raise _no_key(file, "no public key", error) from error
    keys = [key for key in found if isinstance(key, Ed25519PublicKey)]
    if len(keys) < len(found):
        raise _no_key(file, "no public key", ValueError("one is of another kind than Ed25519"))
    return keys


def _id(key: Ed25519PublicKey) -> str:
    """What a key is called: the begin of its digest, in hex."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def _no_key(path: Path, what: str, error: Exception) -> GhcmError:
    return GhcmError(f'"{path}" has {what}', code="GHCM-626", detail=sentence(error), hint=_MAKE)
