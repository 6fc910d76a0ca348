"""Certificates for tests, that sign themselves."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)


def certificate(folder: Path, name: str = "localhost", password: bytes | None = None) -> tuple[Path, Path]:
    """A certificate for this name and this machine, and its key, as files."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    addresses = [x509.IPAddress(ip_address(each)) for each in ("127.0.0.1", "0.0.0.0")]
    names = x509.SubjectAlternativeName([x509.DNSName(name), *addresses])
    signed = (
        x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    kept: KeySerializationEncryption = BestAvailableEncryption(password) if password else NoEncryption()
    files = folder / f"{name}.crt", folder / f"{name}.key"
    files[0].write_bytes(signed.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, kept))
    return files
