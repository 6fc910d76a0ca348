"""Signatures of bundles: who is trusted is taken, whatever else is refused, and the program stays the same bytes."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from ghcm import signing
from ghcm.driver import build
from ghcm.errors import GhcmError
from ghcm.runtime.bundle import Bundle
from ghcm.seal import read_seal, seal

PROGRAM = "program {name}\n\nresponsive stream look() {{\n  files({name!r}, format = text).reply()\n}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A program, and the keys `ours` and `theirs`."""
    (tmp_path / "mine.istream").write_text(PROGRAM.format(name="mine").replace("'", '"'))
    for name in ("ours", "theirs"):
        signing.create_key(tmp_path / name)
    return tmp_path


def signed(folder: Path, key: str = "ours.key", program: str = "mine") -> Path:
    return build(folder / f"{program}.istream", folder / f"{program}-{key}.ghcm", key=folder / key)


def trusting(folder: Path, bundle: Path, keys: str = "ours.pub") -> Bundle:
    return Bundle.open(bundle, cache=folder / "cache", trusted=signing.read_trusted(folder / keys))


def refused(folder: Path, bundle: Path, keys: str = "ours.pub") -> str:
    with pytest.raises(GhcmError) as caught:
        trusting(folder, bundle, keys)
    assert caught.value.code in ("GHCM-610", "GHCM-625") and caught.value.hint
    return caught.value.message


def test_the_private_key_is_for_its_owner_alone_and_none_is_overwritten(folder: Path) -> None:
    assert (folder / "ours.key").stat().st_mode & 0o077 == 0
    with pytest.raises(GhcmError, match="is there already"):
        signing.create_key(folder / "ours")


def test_a_signed_bundle_is_the_unsigned_one_with_a_signature(folder: Path) -> None:
    plain = build(folder / "mine.istream")
    bundle = signed(folder)
    assert bundle.read_bytes() == signed(folder).read_bytes()
    assert seal(bundle.read_bytes()) == plain.read_bytes() != bundle.read_bytes()
    opened = trusting(folder, bundle)
    assert opened.hash == Bundle.open(plain, cache=folder / "cache").hash
    assert opened.program.name == "mine" and opened.edited == ()


def test_what_is_not_signed_by_who_is_trusted_is_refused(folder: Path) -> None:
    plain = build(folder / "mine.istream")
    assert "it is not signed" in refused(folder, plain)
    assert "is none of those" in refused(folder, signed(folder, "theirs.key"))
    shutil.unpack_archive(signed(folder), folder / "unpacked", "zip")
    assert "it is a folder" in refused(folder, folder / "unpacked")
    (folder / "both.pub").write_bytes((folder / "theirs.pub").read_bytes() + (folder / "ours.pub").read_bytes())
    (folder / "keys").mkdir()
    for name in ("ours", "theirs"):
        shutil.copy(folder / f"{name}.pub", folder / "keys")
    for keys in ("both.pub", "keys"):
        assert trusting(folder, signed(folder, "theirs.key"), keys).program.name == "mine"


def test_a_signature_is_good_for_its_bundle_alone(folder: Path) -> None:
    (folder / "other.istream").write_text(PROGRAM.format(name="other").replace("'", '"'))
    other = build(folder / "other.istream")
    moved = read_seal(signed(folder).read_bytes()).signature
    assert moved is not None
    other.write_bytes(seal(other.read_bytes(), moved))
    assert "it is not what the key" in refused(folder, other)


def test_no_byte_of_a_signed_bundle_can_be_changed(folder: Path) -> None:
    data = signed(folder).read_bytes()
    draw = random.Random(13)
    bits = [draw.randrange(8 * len(data)) for _ in range(300)]
    bits += [8 * byte + draw.randrange(8) for byte in range(len(data) - 300, len(data))]
    for bit in bits:
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        (folder / "changed.ghcm").write_bytes(changed)
        refused(folder, folder / "changed.ghcm")
    assert not (folder / "cache").exists()  # nothing was unpacked before it was known whose it is


def test_a_bundle_that_was_changed_and_sealed_again_is_refused(folder: Path) -> None:
    data = signed(folder).read_bytes()
    body = data[: data.rfind(b"PK\5\6") + 20].replace(b"mine.istream", b"evil.istream")
    (folder / "changed.ghcm").write_bytes(seal(body + bytes(2)))
    assert "it is not signed" in refused(folder, folder / "changed.ghcm")
    (folder / "changed.ghcm").write_bytes(seal(body + bytes(2), read_seal(data).signature))
    assert "it is not what the key" in refused(folder, folder / "changed.ghcm")


def test_keys_of_openssl_are_taken(folder: Path) -> None:
    openssl = shutil.which("openssl")
    assert openssl is not None, "apt-get install openssl"
    for line in ("genpkey -algorithm ed25519 -out ssl.key", "pkey -in ssl.key -pubout -out ssl.pub"):
        subprocess.run([openssl, *line.split()], cwd=folder, check=True, capture_output=True)
    assert trusting(folder, signed(folder, "ssl.key"), "ssl.pub").program.name == "mine"
    locked = "pkey -in ssl.key -aes256 -passout pass:secret -out locked.key"
    subprocess.run([openssl, *locked.split()], cwd=folder, check=True, capture_output=True)
    with pytest.raises(GhcmError, match="has a passphrase"):
        signed(folder, "locked.key")
    subprocess.run([openssl, *["genpkey", "-algorithm", "ed448", "-out", "other.key"]], cwd=folder, check=True)
    with pytest.raises(GhcmError, match="another kind than Ed25519"):
        signed(folder, "other.key")


def test_what_is_no_key_is_told(folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / "junk.pub").write_text("-----BEGIN PUBLIC KEY-----\nno\n-----END PUBLIC KEY-----\n")
    for file in ("missing.pub", "junk.pub", "mine.istream", "ours.key", "empty"):
        with pytest.raises(GhcmError) as caught:
            signing.read_trusted(folder / file)
        assert caught.value.code == "GHCM-626" and file in caught.value.message and caught.value.hint
    for file in ("missing.key", "junk.pub", "ours.pub"):
        with pytest.raises(GhcmError) as caught:
            signing.read_key(folder / file)
        assert caught.value.code == "GHCM-626" and file in caught.value.message and caught.value.hint
