"""Callers that an issuer of OpenID Connect vouches for: a server on this machine that publishes keys."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from ghcm.errors import GhcmError
from ghcm.runtime.access.admission import Oidc
from ghcm.runtime.access.scopes import parse_scopes
from ghcm.runtime.settings import load_settings
from ghcm.supervisor.access import issuer as issuers
from ghcm.supervisor.access.issuer import Issuer, issuer_of
from tests.unit.supervisor.serving import CALLS, JSON, serving

ISSUER = "https://login.example"
KEYS: dict[str, Any] = {
    "RS256": (rsa.generate_private_key(public_exponent=65537, key_size=2048), RSAAlgorithm),
    "ES256": (ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
    "EdDSA": (ed25519.Ed25519PrivateKey.generate(), OKPAlgorithm),
}


def public(*names: str) -> dict[str, object]:
    """A JSON web key set of these keys, each with the name of its algorithm as id."""
    keys = [json.loads(KEYS[name][1].to_jwk(KEYS[name][0].public_key())) for name in names]
    return {"keys": [{**key, "kid": name, "alg": name, "use": "sig"} for key, name in zip(keys, names, strict=True)]}


def token(
    algorithm: str = "RS256", *, key: object = None, kid: str | None = "", typ: object = "JWT", **claims: object
) -> str:
    """A token that lets ann call the shop for a minute, unless the claims say otherwise; None leaves one out."""
    said = {"iss": ISSUER, "aud": "ghcm", "sub": "ann", "exp": int(time.time()) + 60, "scope": "openid call:shop"}
    said = {name: value for name, value in {**said, **claims}.items() if value is not None}
    headers = {"typ": typ} if kid is None else {"kid": kid or algorithm, "typ": typ}
    return jwt.encode(said, KEYS[algorithm][0] if key is None else key, algorithm, headers)  # type: ignore[arg-type]


@dataclass
class Published:
    keys: dict[str, object] = field(default_factory=lambda: public("RS256"))
    status: int = 200
    asked: int = 0
    url: str = ""


@contextmanager
def publishing() -> Iterator[Published]:
    published = Published()

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            published.asked += 1
            self.send_response(published.status)
            self.send_header("Location", published.url)
            self.end_headers()
            self.wfile.write(json.dumps(published.keys).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Keys) as server:
        published.url = f"http://127.0.0.1:{server.server_address[1]}/keys"
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield published
        server.shutdown()
        thread.join()


@pytest.fixture
def published() -> Iterator[Published]:
    with publishing() as found:
        yield found


def issuer(keys: str) -> Issuer:
    found = issuer_of(Oidc(issuer=ISSUER, audience="ghcm", keys=keys))
    assert found is not None
    return found


def names(asked: Issuer, *texts: str) -> list[str | None]:
    """Who bears each of these tokens."""

    async def ask() -> list[str | None]:
        return [None if (caller := await asked.caller(text)) is None else caller.name for text in texts]

    return asyncio.run(ask())


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_token_of_the_issuer_names_its_bearer(tmp_path: Path, algorithm: str) -> None:
    (tmp_path / "keys.json").write_text(json.dumps(public(*KEYS)))
    caller = asyncio.run(issuer(str(tmp_path / "keys.json")).caller(token(algorithm)))
    assert caller is not None
    assert (caller.name, caller.scopes) == (f"ann of {ISSUER}", parse_scopes("call:shop"))


def test_scopes_may_be_a_list(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text(json.dumps(public("RS256")))
    caller = asyncio.run(issuer(str(tmp_path / "keys.json")).caller(token(scope=["read:shop", 7, "x"])))
    assert caller is not None and caller.scopes == parse_scopes("read:shop")


def test_what_the_issuer_has_not_said_or_says_no_longer_is_no_token(published: Published) -> None:
    now = int(time.time())
    pem = b"-----BEGIN PUBLIC KEY-----"
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    wrong = {
        "another issuer": token(iss="https://evil.example"),
        "meant for another": token(aud="mail"),
        "over": token(exp=now - 60),
        "not begun": token(nbf=now + 600),
        "for ever": token(exp=None),
        "of nobody": token(sub=None),
        "meant for nobody": token(aud=None),
        "signed by another": token(key=other),
        "by a key that is not known": token(kid="other"),
        "unsigned": jwt.encode({"iss": ISSUER, "aud": "ghcm", "sub": "ann", "exp": now + 60}, None, "none"),  # type: ignore[arg-type]
        "signed with what all know": token("HS256", key=b"k" * 64 + pem, kid="RS256"),
        "of who has signed in": token(at_hash="x"),
        "of who has signed out": token(events={"http://schemas.openid.net/event/backchannel-logout": {}}),
        "of another kind": token(typ="logout+jwt"),
        "of a kind that is none": token(typ=["JWT"]),
        "no token": "ghcm_00000000_x",
        "nothing": "",
    }
    asked = issuer(published.url)
    assert names(asked, token(typ="at+jwt"), token(typ=None)) == [f"ann of {ISSUER}"] * 2
    found = dict(zip(wrong, names(asked, *wrong.values()), strict=True))
    assert [what for what, name in found.items() if name is not None] == []


def test_keys_are_kept_and_asked_for_again_when_a_new_one_signs(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, good = issuer(published.url), f"ann of {ISSUER}"
    assert names(asked, *[token()] * 20) == [good] * 20
    assert published.asked == 1
    published.keys = public("RS256", "ES256")
    unknown = names(asked, *[token("ES256")] * 20)
    assert (unknown, published.asked) == ([None] * 20, 1)  # nobody can have the issuer asked at every request
    monkeypatch.setattr(issuers, "_PAUSE_SECONDS", 0.0)
    assert names(asked, token("ES256"), token()) == [good, good]
    assert published.asked == 2


def test_an_issuer_that_is_away_is_done_without_where_its_keys_are_known(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuers, "_PAUSE_SECONDS", 0.0)
    asked, nobody = issuer(published.url), issuer(published.url)
    assert names(asked, token()) == [f"ann of {ISSUER}"]
    published.status = 500
    monkeypatch.setattr(issuers, "_FRESH_SECONDS", 0.0)
    assert names(asked, token()) == [f"ann of {ISSUER}"]
    with pytest.raises(GhcmError) as refused:
        names(nobody, token())
    assert refused.value.code == "GHCM-636"
    monkeypatch.setattr(issuers, "_OLDEST_SECONDS", 0.0)
    with pytest.raises(GhcmError):
        names(asked, token())


def test_an_issuer_that_speaks_no_http_is_away() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            with listener.accept()[0] as asked:
                asked.recv(1000)
                asked.sendall(b"SSH-2.0\r\n\r\n")

        thread = Thread(target=answer)
        thread.start()
        with pytest.raises(GhcmError) as refused:
            names(issuer(f"http://127.0.0.1:{listener.getsockname()[1]}/keys"), token())
        thread.join()
    assert refused.value.code == "GHCM-636"


def test_keys_are_fetched_from_the_address_that_is_given_alone(published: Published) -> None:
    published.status = 307
    with pytest.raises(GhcmError):
        names(issuer(published.url), token())
    assert published.asked == 1


def test_settings_of_an_issuer_are_whole_and_its_keys_travel_over_tls() -> None:
    assert issuer_of(Oidc()) is None
    with pytest.raises(GhcmError, match="lacks audience and keys"):
        issuer_of(Oidc(issuer=ISSUER))
    with pytest.raises(GhcmError, match="begins with https://"):
        load_settings({"oidc": {"keys": "http://login.example/keys"}}, environment={})


def test_whoever_bears_a_token_of_the_issuer_calls(tmp_path: Path, published: Published) -> None:
    oidc = {"issuer": ISSUER, "audience": "ghcm", "keys": published.url}
    with serving(tmp_path, access={"required": True}, oidc=oidc) as shop:
        header = JSON | {"Authorization": f"Bearer {token()}"}
        assert shop.ask("POST", f"{CALLS}?wait=30", {"item": "tea"}, header).json["data"] == [
            {"key": "tea", "value": 8}
        ]
        assert shop.ask("GET", "/programs/shop/sinks", headers=header).status == 403
        assert shop.ask("GET", "/programs", headers=JSON | {"Authorization": f"Bearer {token(exp=1)}"}).status == 401
        without = {"Authorization": f"Bearer {token(scope='openid')}"}
        assert shop.ask("GET", "/openapi.json", headers=without).status == 403
