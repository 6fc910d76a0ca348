"""A daemon that other machines reach: with a token, over TLS, and not otherwise."""

import getpass
import json
import stat
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import requests
import schemathesis

from ghcm.driver import build
from ghcm.runtime.access.scopes import parse_scopes
from ghcm.runtime.access.tokens import TokenFile
from tests.certificates import certificate
from tests.system.running import Running, ghcm, request, running

pytestmark = pytest.mark.system

PROGRAM = """\
program shop

responsive stream double(number: int) {
  generate(rows = 1).map(n => number * 2).reply()
}
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.istream").write_text(PROGRAM)
    public, key = certificate(folder)
    tokens(folder).create("nobody", parse_scopes("read:other"), 600)
    secured = {"GHCM_HTTP_CERTIFICATE": str(public), "GHCM_HTTP_KEY": str(key)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(public))  # whom the test itself trusts
        with running(folder, GHCM_HTTP_HOST="0.0.0.0", **secured) as daemon:
            daemon.submit("shop.istream")
            yield daemon


def tokens(folder: Path) -> TokenFile:
    return TokenFile(folder / ".ghcm" / "tokens.json")


def call(shop: Running, *words: str, **environment: str) -> CompletedProcess[str]:
    return ghcm("call", *words, cwd=shop.folder, **{"SSL_CERT_FILE": "", **environment})


def test_a_call_needs_a_token_and_gets_its_answer_over_tls(shop: Running) -> None:
    refused = call(shop, "shop.double", "number=4")
    assert refused.returncode == 2, refused.stderr
    assert "GHCM-350" in refused.stderr and "GHCM_TOKEN" in refused.stderr
    _, token = tokens(shop.folder).create("ann", parse_scopes("call:shop"), 600)
    answered = call(shop, "shop.double", "number=4", "--wait", "--json", GHCM_TOKEN=token)
    assert json.loads(answered.stdout)["data"] == [{"value": 8}], answered.stderr


def test_a_server_is_asked_by_its_name_once_its_authority_is_known(shop: Running) -> None:
    _, token = tokens(shop.folder).create("ann", parse_scopes("call:shop"), 600)
    port = shop.url.rpartition(":")[2]
    there = ("shop.double", "number=5", "--wait", "--json", "--server", f"https://localhost:{port}")
    untrusted = call(shop, *there, GHCM_TOKEN=token)
    assert untrusted.returncode != 0 and "GHCM_CA" in untrusted.stdout
    answered = call(shop, *there, GHCM_TOKEN=token, GHCM_CA=str(shop.folder / "localhost.crt"))
    assert json.loads(answered.stdout)["data"] == [{"value": 10}], answered.stderr


def test_who_submits_and_stops_is_noted(shop: Running) -> None:
    assert shop.cli("stop", "other").returncode != 0
    lines = [json.loads(line) for line in shop.state.audit.read_text().splitlines()]
    submitted = next(line for line in lines if line["action"] == "submit")
    stopped = next(line for line in lines if line["action"] == "stop")
    assert submitted["caller"] == stopped["caller"] == getpass.getuser()
    assert submitted["bundle"].endswith("shop.ghcm") and stopped["job"] == "other"
    assert submitted["from"].startswith("process ")
    assert stat.S_IMODE(shop.state.audit.stat().st_mode) == 0o600


def test_nobody_is_answered_in_clear_or_without_a_token(shop: Running) -> None:
    assert shop.url.startswith("https://0.0.0.0:")
    refused = shop.get("/programs")
    assert refused.status == 401
    assert refused.headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        request("GET", shop.url.replace("https", "http") + "/health")


def test_a_daemon_that_lacks_them_does_not_start(tmp_path: Path) -> None:
    done = ghcm("supervise", "--host", "0.0.0.0", "--port", "0", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "GHCM-634" in done.stderr and "ghcm token create" in done.stderr


def test_a_program_is_submitted_changed_and_stopped_from_elsewhere(shop: Running) -> None:
    """Every answer is one that OpenAPI tells of."""
    folder = shop.folder / "elsewhere"
    folder.mkdir()
    (folder / "far.istream").write_text(PROGRAM.replace("program shop", "program far"))
    _, mine = tokens(shop.folder).create("ann", parse_scopes("submit:far,call:far"), 600)
    _, other = tokens(shop.folder).create("bob", parse_scopes("submit:other"), 600)
    there = f"https://localhost:{shop.url.rpartition(':')[2]}"

    def far(*words: str, token: str = mine) -> CompletedProcess[str]:
        known = {"GHCM_CA": str(shop.folder / "localhost.crt"), "SSL_CERT_FILE": ""}
        return ghcm(*words, "--server", there, "--json", cwd=folder, **known, GHCM_TOKEN=token)

    refused = far("submit", "far.istream", token=other)
    assert refused.returncode == 2 and json.loads(refused.stdout)["errors"][0]["code"] == "GHCM-351", refused.stdout
    submitted = far("submit", "far.istream", "--wait")
    job = json.loads(submitted.stdout)
    assert job["state"] == "running", submitted.stdout
    assert shop.state.folder_of(job["id"]) == shop.folder  # that of the daemon
    assert json.loads(far("call", "far.double", "number=4", "--wait").stdout)["data"] == [{"value": 8}]
    (folder / "far.istream").write_text((folder / "far.istream").read_text().replace("* 2", "* 3"))
    grown = json.loads(far("submit", "far.istream").stdout)
    assert (grown["id"], grown["version"]) == (job["id"], 2)
    assert [each["name"] for each in grown["growth"]["changes"] if each["change"] != "kept"] == ["double"]
    header = {"Authorization": f"Bearer {mine}", "Content-Type": "application/octet-stream"}
    bundle = build(folder / "far.istream").read_bytes()
    document = shop.get("/openapi.json", Authorization=f"Bearer {mine}").json
    checked = schemathesis.openapi.from_dict(document)
    for status, method, query, body in (
        (409, "POST", "", bundle),  # nothing has changed
        (422, "POST", "", bundle[:-100]),
        (200, "DELETE", "?grace=5", None),
        (404, "DELETE", "", None),
        (201, "POST", "?again=fresh&directory=elsewhere", bundle),
    ):
        path, name = ("/programs", "/programs") if method == "POST" else ("/programs/far", "/programs/{program}")
        answer = requests.request(
            method, shop.url + path + query, data=body, headers=header, verify=str(shop.folder / "localhost.crt")
        )
        assert answer.status_code == status, answer.text
        assert str(status) in document["paths"][name][method.lower()]["responses"]
        checked[name][method].validate_response(answer)
        assert str(shop.folder) not in answer.text
    told = request("GET", f"{shop.url}/programs/far/job?wait=60", headers=header)
    assert told.json["state"] == "running"
    assert shop.state.folder_of(told.json["id"]) == folder
    assert json.loads(far("stop", "far").stdout)["state"] == "stopped"
    lines = [json.loads(line) for line in shop.state.audit.read_text().splitlines()]
    mine_done = [line for line in lines if line["caller"].startswith("ann") and line["action"] in ("submit", "stop")]
    assert [line["status"] for line in mine_done] == [201, 200, 409, 422, 200, 404, 201, 200]
    assert {(line["program"], line["job"]) for line in mine_done[:2]} == {("far", job["id"])}
    assert [(line["action"], line["status"]) for line in lines if line["caller"].startswith("bob")] == [("submit", 403)]
    assert not list(shop.state.incoming.iterdir())
