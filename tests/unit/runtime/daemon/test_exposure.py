"""Nobody is reached from other machines without tokens and TLS."""

from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.access.scopes import parse_scopes
from ghcm.runtime.access.tokens import TokenFile
from ghcm.runtime.daemon.control import listen
from ghcm.runtime.daemon.exposure import refuse_exposed
from ghcm.runtime.settings import Settings
from tests.certificates import certificate


def refused(folder: Path, host: str, **http: object) -> GhcmError | None:
    """What is said about a daemon that listens there."""
    settings = Settings.model_validate({"state": folder, "http": {"host": host, **http}})
    with listen(host, 0) as listener:
        try:
            refuse_exposed(listener, settings, folder)
        except GhcmError as error:
            return error
    return None


def token(folder: Path, seconds: int = 60) -> None:
    TokenFile(folder / "tokens.json").create("ann", parse_scopes("read:*"), seconds)


def with_tls(folder: Path) -> dict[str, object]:
    return dict(zip(("certificate", "key"), certificate(folder), strict=True))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1.2.3"])
def test_this_machine_needs_neither(tmp_path: Path, host: str) -> None:
    assert refused(tmp_path, host) is None


@pytest.mark.parametrize(
    ("tokens", "tls", "lacks"),
    [(False, False, "tokens and TLS"), (True, False, "TLS"), (False, True, "tokens"), (True, True, None)],
)
def test_others_need_both(tmp_path: Path, tokens: bool, tls: bool, lacks: str | None) -> None:
    if tokens:
        token(tmp_path)
    error = refused(tmp_path, "0.0.0.0", **with_tls(tmp_path) if tls else {})
    if lacks is None:
        assert error is None
        return
    assert error is not None
    assert (error.code, error.message) == ("GHCM-634", f"other machines would reach 0.0.0.0 without {lacks}")
    assert ("ghcm token create" in error.hint, "--certificate" in error.hint) == (not tokens, not tls)


def test_tokens_that_are_over_are_none(tmp_path: Path) -> None:
    token(tmp_path, seconds=0)
    TokenFile(tmp_path / "tokens.json").revoke(next(iter(TokenFile(tmp_path / "tokens.json").all())))
    error = refused(tmp_path, "0.0.0.0", **with_tls(tmp_path))
    assert error is not None
    assert error.code == "GHCM-634"


def test_a_certificate_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    mine, key = certificate(tmp_path)
    other, with_password = certificate(tmp_path, "other", b"secret")
    assert (alone := refused(tmp_path, "127.0.0.1", certificate=mine)) is not None
    wrong = [
        refused(tmp_path, "127.0.0.1", certificate=first, key=second)
        for first, second in ((other, key), (other, with_password), (tmp_path / "none", key), (key, key))
    ]
    assert {error.code for error in (alone, *wrong) if error is not None} == {"GHCM-633"}
    assert None not in wrong
