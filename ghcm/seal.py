"""The seal of a bundle file: a line at its end that says what all bytes before it are, and who has signed that.

It is the comment of the zip file, so that every tool opens a sealed one, and without the signature the same program
gives the same bytes. A file without a comment, which another tool has zipped, is whole as far as its checksums tell.
"""

import hashlib
import re
from dataclasses import dataclass

_END = b"PK\x05\x06"
_END_BYTES = 22
"""What ends each zip file: this sign, its fields, two bytes for the length of the comment; then the comment."""

_LINE = re.compile(rb"ghcm sha256:([0-9a-f]{64})(?: ed25519:([0-9a-f]{16}):([0-9a-f]{128}))?\n")
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature by Ed25519: the id of the key that made it, and its 64 bytes."""

    key: str
    made: bytes


@dataclass(frozen=True, slots=True)
class Sealed:
    """What a file says at its end. `content` is the SHA-256 of everything before the seal, in hex: the same with a
    signature and without.
    """

    content: str
    signature: Signature | None = None

    @property
    def signed(self) -> bytes:
        """What a signature is made of."""
        return f"ghcm bundle 1 sha256:{self.content}".encode()


def seal(file: bytes, signature: Signature | None = None) -> bytes:
    """The zip file, which has no comment or an older seal, with its seal. ValueError if it is no zip file."""
    body, content = _body(file), read_seal(file).content
    more = f" ed25519:{signature.key}:{signature.made.hex()}" if signature else ""
    line = f"ghcm sha256:{content}{more}\n".encode()
    return body + len(line).to_bytes(2, "little") + line


def read_seal(file: bytes) -> Sealed:
    """What the seal of a file says, if it has one. ValueError if the file is not what that says, or is no zip file."""
    body = _body(file)
    length, line = file[len(body) : len(body) + 2], file[len(body) + 2 :]
    found = _LINE.fullmatch(line)
    if len(line) != int.from_bytes(length, "little") or (line and found is None):
        raise ValueError("it is damaged at its end")
    content = hashlib.sha256(body).hexdigest()
    if found is None:
        return Sealed(content)
    said, key, made = found.groups()
    if said.decode() != content:
        raise ValueError("it is damaged: it is not what was built")
    return Sealed(content, Signature(key.decode(), bytes.fromhex(made.decode())) if key else None)


def _body(file: bytes) -> bytes:
    """Everything that a seal covers: all before the length of the comment. ValueError if it is no zip file."""
    at = file.rfind(_END, max(0, len(file) - _END_BYTES - _LONGEST))
    if at < 0 or at + _END_BYTES > len(file):
        raise ValueError("it is no zip file, or its end is missing")
    return file[: at + _END_BYTES - 2]
