"""Who is let in over HTTP, and where to."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.routing import Route

from ghcm.runtime.access.audit import AuditLog
from ghcm.supervisor.access.needs import Open, ask_at_each_route, need_of
from ghcm.supervisor.gate import BUNDLE
from tests.unit.supervisor.serving import CALLS, JSON, Served, serving

PLACE = {"program": "shop", "unit": "total", "id": "x", "sink": "kept", "panel": "kept", "name": "watch.js"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("shop"), access={"required": True}) as served:
        yield served


def test_every_route_says_what_it_needs_and_refuses_who_has_not_got_it(shop: Served) -> None:
    foreign = JSON | shop.token("call:other,read:other,cancel:other")
    routes = [route for route in shop.app.routes if isinstance(route, Route)]
    assert len(routes) == len(shop.app.routes) > 20
    for route in routes:
        need = need_of(route)
        for method in sorted(route.methods or ()):
            path = route.path.format(**PLACE)
            bare, with_token = shop.ask(method, path, headers=JSON), shop.ask(method, path, headers=foreign)
            if need.open_to is Open.EVERYONE:
                assert bare.status not in (401, 403), path
                continue
            assert (bare.status, bare.headers["www-authenticate"]) == (401, "Bearer"), path
            assert method == "HEAD" or bare.json["code"] == "GHCM-350", path
            assert with_token.status == (200 if need.open_to is Open.CALLERS else 403), path


def test_a_route_that_declares_nothing_cannot_be_served(tmp_path: Path) -> None:
    app = FastAPI()
    app.get("/forgotten")(lambda: "everything")
    with pytest.raises(TypeError, match=r"/forgotten.*does not declare what it needs"):
        ask_at_each_route(app, AuditLog(tmp_path / "audit.jsonl"), lambda _: None)


@pytest.mark.parametrize(
    ("scopes", "method", "path", "status"),
    [
        ("call:shop/total", "POST", CALLS, 202),
        ("call:shop/all_totals", "POST", CALLS, 403),
        ("read:shop,cancel:shop", "POST", CALLS, 403),
        ("call:*", "POST", CALLS, 202),
        ("call:shop", "POST", CALLS, 202),
        ("read:shop/total", "GET", CALLS, 200),
        ("call:shop/total", "GET", CALLS, 403),
        ("read:shop/total", "GET", "/programs/shop/sinks", 403),
        ("read:shop", "GET", "/programs/shop/sinks", 200),
        ("call:shop/total", "GET", "/programs/shop", 200),
        ("call:shop/total", "DELETE", f"{CALLS}/x", 403),
        ("cancel:shop/total", "DELETE", f"{CALLS}/x", 404),
        ("call:*,read:*,cancel:*", "POST", "/programs", 403),
        ("submit:other", "POST", "/programs", 415),
        ("submit:other", "DELETE", "/programs/shop", 403),
        ("call:*,cancel:*", "DELETE", "/programs/shop", 403),
        ("submit:shop", "DELETE", "/programs/shop", 503),
        ("submit:shop", "GET", "/programs/shop/job", 200),
        ("submit:shop", "GET", "/programs/shop/sinks", 403),
        ("submit:shop", "POST", CALLS, 403),
    ],
)
def test_scopes_allow_what_they_say(shop: Served, scopes: str, method: str, path: str, status: int) -> None:
    body = {"item": "tea"} if method == "POST" else None
    answer = shop.ask(method, path, body, JSON | shop.token(scopes))
    assert answer.status == status, answer.body
    if status == 403:
        assert answer.json["code"] == "GHCM-351"


def test_who_calls_follows_his_own_calls_alone(shop: Served) -> None:
    mine, other, reader = (shop.token(scope) for scope in ("call:shop", "call:shop", "read:shop"))
    here = shop.post(f"{CALLS}?wait=30", {"item": "tea"}, **mine).json["links"]
    for path in (here["self"], here["data"]):
        assert [shop.get(path, **each).status for each in (mine, other, reader)] == [200, 403, 200]
    assert shop.get(f"{CALLS}/none", **mine).status == 404


def test_programs_are_listed_for_those_who_may_do_something_with_them(shop: Served) -> None:
    seen = [shop.get("/programs", **shop.token(scope)).json for scope in ("cancel:shop/total", "read:b")]
    assert [[each["name"] for each in programs] for programs in seen] == [["shop"], []]


def test_a_token_ends_when_it_is_revoked_and_when_its_time_is_over(shop: Served) -> None:
    header = shop.token("read:*")
    assert shop.get("/programs", **header).status == 200
    shop.tokens.revoke([*shop.tokens.all()][-1])
    assert shop.get("/programs", **header).status == 401
    assert shop.get("/programs", **shop.token("read:*", seconds=0)).status == 401


def test_a_file_of_tokens_that_is_damaged_lets_nobody_in(shop: Served) -> None:
    header, whole = shop.token("read:*"), shop.tokens.path.read_bytes()
    shop.tokens.path.write_text("{")
    answer = shop.get("/programs", **header)
    assert (answer.status, answer.json["code"]) == (503, "GHCM-632")
    shop.tokens.path.write_bytes(whole)
    assert shop.get("/programs", **header).status == 200


@pytest.mark.parametrize("sent", ["Bearer ghcm_00000000_x", "Bearer", "Basic YTpi", "ghcm_00000000_x"])
def test_a_wrong_token_is_refused_where_none_is_needed(open_shop: Served, sent: str) -> None:
    assert open_shop.get("/programs").json != []
    refused = open_shop.get("/programs", Authorization=sent)
    assert refused.status == 401
    assert "_x" not in json.dumps([refused.json, open_shop.audited()])


def test_nobody_submits_or_stops_without_a_token_where_none_is_needed(open_shop: Served) -> None:
    for method, path in (("POST", "/programs"), ("DELETE", "/programs/shop")):
        refused = open_shop.ask(method, path, b"PK", {"Content-Type": BUNDLE})
        assert (refused.status, refused.json["code"]) == (403, "GHCM-351")


def test_a_token_is_taken_at_its_word_where_none_is_needed(open_shop: Served) -> None:
    assert open_shop.get("/programs/shop/sinks", **open_shop.token("read:other")).status == 403


def test_who_calls_cancels_and_is_refused_is_noted_and_from_where(tmp_path: Path) -> None:
    """Of a server of its own: of a second with many refusals, as others make them, some are left out."""
    with serving(tmp_path, access={"required": True}) as shop:
        header = shop.token("call:shop,cancel:shop,read:other")
        call = shop.post(CALLS, {"item": "tea"}, **header).json
        shop.ask("DELETE", call["links"]["self"], headers=header)
        shop.get("/programs/shop/sinks", **header)
        shop.get("/programs", Authorization="Bearer ghcm_00000000_secret")
        shop.get("/programs", **header)  # looks alone
        called, cancelled, not_allowed, unknown = shop.audited()
        name = called["caller"]
        assert name.startswith("ann (") and cancelled["caller"] == not_allowed["caller"] == name
        where = {"from": "127.0.0.1", "program": "shop", "unit": "total", "call": call["id"]}
        assert {"action": "call", "status": 202, **where}.items() <= called.items()
        assert {"action": "cancel", "status": 200, **where}.items() <= cancelled.items()
        assert (not_allowed["action"], not_allowed["path"]) == ("refused", "/programs/shop/sinks")
        assert (unknown["caller"], unknown["from"], unknown["path"]) == ("", "127.0.0.1", "/programs")
        assert "secret" not in json.dumps(shop.audited())


@pytest.fixture(scope="module")
def open_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("open")) as served:
        yield served
