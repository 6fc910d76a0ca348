"""What the gate refuses: other names, pages of others, forms, and requests that break off. None of it starts a call."""

import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.envelope import LIMIT
from ghcm.runtime.settings import load_settings
from ghcm.runtime.unpacking import MOST_BYTES
from tests.unit.supervisor.serving import CALLS, JSON, Served, serving

TEA = {"item": "tea"}
PAGE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    http = {"origins": ["https://office.example"], "hosts": ["Shop.example"], "body_time": 0.2}
    with serving(tmp_path_factory.mktemp("shop"), http=http) as served:
        yield served


def own(shop: Served) -> dict[str, str]:
    return {"Origin": shop.url, "Sec-Fetch-Site": "same-origin"}


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "[::1",
        "a, localhost",
        "evil@localhost",
        "localhost#@evil.example",
    ],
)
def test_a_foreign_host_reads_and_starts_nothing(shop: Served, host: str) -> None:
    before = shop.calls()
    for method, path in (("GET", "/programs"), ("POST", CALLS), ("GET", "/openapi.json"), ("DELETE", f"{CALLS}/x")):
        refused = shop.ask(method, path, TEA if method == "POST" else None, {"Host": host, **JSON})
        assert (refused.status, refused.json["code"]) == (421, "GHCM-332")
    assert shop.calls() == before


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1", "LOCALHOST", "[::1]:8000", "shop.example:443"])
def test_names_of_this_machine_and_those_of_the_settings_pass(shop: Served, host: str) -> None:
    assert shop.get("/programs", Host=host).status == 200


def test_a_request_names_one_host(shop: Served) -> None:
    for hosts in ("", "Host: localhost\r\nHost: evil.example\r\n"):
        assert b" 421 " in raw(shop, f"GET /programs HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {**PAGE, "Sec-Fetch-Dest": "iframe"},
    ],
)
def test_pages_of_others_read_and_start_nothing(shop: Served, headers: Mapping[str, str]) -> None:
    before = shop.calls()
    for method, path in (("GET", "/programs"), ("POST", CALLS), ("OPTIONS", CALLS), ("DELETE", f"{CALLS}/x")):
        refused = shop.ask(method, path, TEA if method == "POST" else None, {**JSON, **headers})
        assert (refused.status, refused.json["code"]) == (403, "GHCM-332")
        assert "access-control-allow-origin" not in refused.headers
    assert shop.calls() == before


def test_links_from_elsewhere_are_followed_and_do_nothing(shop: Served) -> None:
    assert shop.ask("GET", "/programs/shop/watch", headers=PAGE).status == 200
    assert shop.ask("POST", CALLS, TEA, JSON | PAGE).status == 403


def test_our_own_pages_and_those_of_the_settings_ask(shop: Served) -> None:
    assert shop.ask("POST", f"{CALLS}?wait=60", TEA, JSON | own(shop)).json["state"] == "done"
    office = {"Origin": "https://office.example", "Sec-Fetch-Site": "cross-site"}
    answer = shop.ask("POST", f"{CALLS}?wait=60", TEA, JSON | office)
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, "https://office.example")
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    assert shop.ask("OPTIONS", CALLS, headers=office | asked).status == 200


@pytest.mark.parametrize(
    "media", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "json"]
)
@pytest.mark.parametrize("body", [b"", b'{"item": "tea"}'])
def test_what_a_form_can_send_starts_nothing(shop: Served, media: str | None, body: bytes) -> None:
    before = shop.calls()
    for unit in ("total", "all_totals"):
        headers = {} if media is None else {"Content-Type": media}
        refused = shop.ask("POST", f"/programs/shop/units/{unit}/calls", body, headers)
        assert (refused.status, refused.json["code"]) == (415, "GHCM-324")
    assert shop.calls() == before


@pytest.mark.parametrize("sent", ["", "{}", "1;x\r\n"])
def test_a_request_that_is_cut_off_starts_nothing(shop: Served, sent: str) -> None:
    before = shop.calls()
    length = "Transfer-Encoding: chunked" if ";" in sent else "Content-Length: 1000"
    head = (
        "POST /programs/shop/units/all_totals/calls HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    )
    with socket.create_connection(("127.0.0.1", shop.port)) as connection:
        connection.sendall(f"{head}{length}\r\n\r\n{sent}".encode())
    # The server works on requests in one loop: what is answered now came behind the end of the one above.
    for _ in range(3):
        assert shop.get("/health").status == 200
    assert shop.calls() == before


@pytest.mark.parametrize(
    "lengths",
    [
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: +2\r\n\r\n{}",
    ],
)
def test_a_request_whose_end_two_could_see_at_two_places_is_refused(shop: Served, lengths: str) -> None:
    before = shop.calls()
    head = f"POST {CALLS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
    answer = raw(shop, head + lengths)
    assert answer.startswith(b"HTTP/1.1 400 ") and b"\r\ncontent-type: application/problem+json" in answer
    assert shop.calls() == before


def test_methods_that_no_route_has_are_refused(shop: Served) -> None:
    for method in ("TRACE", "PUT", "PATCH", "CONNECT"):
        assert b" 405 " in raw(shop, f"{method} /programs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")


def test_a_body_that_does_not_come_is_not_waited_for(shop: Served) -> None:
    head = f"POST {CALLS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
    answer = raw(shop, head, ends=False)
    assert answer.startswith(b"HTTP/1.1 408 ") and b"GHCM-333" in answer


def test_browsers_are_told_to_show_answers_to_nobody_else(shop: Served) -> None:
    for path in ("/programs", "/nothing", "/openapi.json", "/programs/shop/sinks/kept/rows?format=csv"):
        headers = shop.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "base-uri 'none'; form-action 'none'; frame-ancestors 'none'" in headers["content-security-policy"]
        assert (headers["referrer-policy"], headers["cache-control"]) == ("no-referrer", "no-store")
        assert "strict-transport-security" not in headers  # it would be said in clear


def test_a_page_that_has_not_changed_keeps_what_it_may_do(shop: Served) -> None:
    page = shop.get("/programs/shop/watch").headers
    again = shop.get("/programs/shop/watch", If_None_Match=page["etag"])
    assert (again.status, again.headers.get("content-security-policy")) == (304, None)


def test_settings_name_hosts_and_origins() -> None:
    found = load_settings({}, environment={"GHCM_HTTP_ORIGINS": "https://a.example, http://b.example:1"})
    assert found.http.origins == ("https://a.example", "http://b.example:1")
    with pytest.raises(GhcmError, match="a setting is wrong"):
        load_settings({}, environment={"GHCM_HTTP_ORIGINS": "*"})


def raw(shop: Served, text: str, *, ends: bool = True) -> bytes:
    """What is answered to these bytes, until the server ends or the first part has come."""
    with socket.create_connection(("127.0.0.1", shop.port), timeout=60) as connection:
        connection.sendall(text.encode())
        parts = [connection.recv(65536)]
        while ends and parts[-1]:
            parts.append(connection.recv(65536))
        return b"".join(parts)


def test_what_the_gate_refuses_is_noted_with_the_reason(tmp_path: Path) -> None:
    with serving(tmp_path, http={"body_time": 0.2}) as shop:
        shop.ask("GET", "/programs", None, {"Host": "evil.example"})
        shop.get("/programs", Origin="https://evil.example")
        shop.get("/programs", **{"Sec-Fetch-Site": "cross-site"})
        shop.ask("POST", CALLS, TEA)
        shop.ask("POST", CALLS, None, {**JSON, "Content-Length": "1000000"})
        head = f"POST {CALLS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9"
        raw(shop, f"{head}\r\n\r\n{{")
        lines = shop.audited()
    assert {(line["action"], line["caller"], line["from"]) for line in lines} == {("refused", "", "127.0.0.1")}
    assert [(line["status"], line["method"]) for line in lines] == [
        (421, "GET"),
        (403, "GET"),
        (403, "GET"),
        (415, "POST"),
        (413, "POST"),
        (408, "POST"),
    ]
    assert lines[0]["why"] == 'the host "evil.example" is not this server'


def test_bundles_are_taken_at_one_address_and_larger_than_calls_but_not_at_any_size(shop: Served) -> None:
    bundle = {"Content-Type": "application/octet-stream"} | shop.token("submit")
    assert shop.ask("POST", CALLS, b"{}", bundle).status == 415
    assert shop.ask("POST", "/programs", bytes(10 * LIMIT), bundle).json["code"] == "GHCM-723"  # no daemon is there
    lines = ["POST /programs HTTP/1.1", "Host: localhost", *(f"{name}: {text}" for name, text in bundle.items()), ""]
    head = "\r\n".join(lines)
    assert b" 413 " in raw(shop, f"{head}Content-Length: {MOST_BYTES + 1}\r\nConnection: close\r\n\r\n")
    assert b" 408 " in raw(shop, f"{head}Content-Length: 1000\r\nConnection: close\r\n\r\nPK")
    assert list(shop.supervisor.state.incoming.iterdir()) == []
