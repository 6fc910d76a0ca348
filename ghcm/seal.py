"""The seal of a bundle file: a line at its end that says what all bytes before it are.

It is the comment of the zip file, so that every tool opens a sealed one. A file without a comment, which another tool
has zipped, is whole as far as its checksums tell.
"""

import hashlib
import re
from dataclasses import dataclass

_END = b"PK\x05\x06"
_END_BYTES = 22
"""What ends each zip file: this sign, its fields, two bytes for the length of the comment; then the comment."""

_LINE = re.compile(rb"ghcm sha256:([0-9a-f]{64})\n")
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Sealed:
    """A file that is what its seal says. `content` is the SHA-256 of everything before the seal, in hex."""

    content: str


def seal(archive: bytes) -> bytes:
    """The zip file, which has no comment, with its seal."""
    content = _digest(archive[:-2])
    line = f"ghcm sha256:{content}\n".encode()
    return archive[:-2] + len(line).to_bytes(2, "little") + line


def read_seal(data: bytes) -> Sealed:
    """What the seal of a file says, if it has one. ValueError if the file is not what that says, or is no zip file."""
    at = data.rfind(_END, max(0, len(data) - _END_BYTES - _LONGEST))
    if at < 0 or at + _END_BYTES > len(data):
        raise ValueError("it is no zip file, or its end is missing")
    body, length, line = data[: at + 20], data[at + 20 : at + 22], data[at + 22 :]
    found = _LINE.fullmatch(line)
    if len(line) != int.from_bytes(length, "little") or (line and found is None):
        raise ValueError("it is damaged at its end")
    content = _digest(body)
    if found is not None and found[1].decode() != content:
        raise ValueError("it is damaged: it is not what was built")
    return Sealed(content)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
