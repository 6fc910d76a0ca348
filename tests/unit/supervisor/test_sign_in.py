"""People who sign in look by a cookie: as long as their token is valid, and at nothing that changes something."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ghcm.supervisor.access import sessions
from ghcm.supervisor.access.sessions import Ended, key_in
from tests.unit.supervisor.serving import CALLS, JSON, Reply, Served, serving

WATCH = "/programs/shop/watch"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("shop"), access={"required": True}) as served:
        yield served


def signed_in(shop: Served, scopes: str, **headers: str) -> Reply:
    text = shop.token(scopes)["Authorization"].removeprefix("Bearer ")
    return shop.post("/sign-in", {"token": text}, **headers)


def cookie(answer: Reply) -> dict[str, str]:
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


def test_a_browser_is_led_to_the_form_and_a_program_is_told(shop: Served) -> None:
    led = shop.get(f"{WATCH}?a=b", Accept="text/html,*/*;q=0.8")
    assert (led.status, led.headers["location"]) == (303, "/sign-in?next=/programs/shop/watch%3Fa%3Db")
    assert b"<form" in shop.get("/sign-in").body and shop.get("/watch/sign-in.js").status == 200
    assert shop.get(WATCH).status == 401
    assert shop.ask("POST", CALLS, {"item": "tea"}, JSON | {"Accept": "text/html"}).status == 401


def test_a_cookie_shows_what_the_token_may_see(shop: Served) -> None:
    answer = signed_in(shop, "read:shop,call:shop")
    mine = cookie(answer)
    assert answer.status == 204
    assert shop.get(WATCH, **mine).status == 200
    assert shop.get("/programs/shop/sinks/kept/rows", **mine).status == 200
    assert shop.get("/programs/shop/sinks", **cookie(signed_in(shop, "read:other"))).status == 403


def test_no_script_and_no_other_site_has_the_cookie(shop: Served) -> None:
    words = signed_in(shop, "read:shop").headers["set-cookie"].lower().split("; ")
    assert {"httponly", "samesite=strict", "path=/"} <= set(words)
    assert "secure" not in words
    proxied = {"Origin": f"https://127.0.0.1:{shop.port}"}  # as a browser says that came by TLS to a proxy
    over_tls = signed_in(shop, "read:shop", **proxied)
    assert over_tls.headers["set-cookie"].startswith("__Host-")
    assert "secure" in over_tls.headers["set-cookie"].lower().split("; ")
    assert shop.get(WATCH, **cookie(over_tls)).status == 200


def test_a_cookie_changes_nothing(shop: Served) -> None:
    mine, before = cookie(signed_in(shop, "read:*,call:*,cancel:*")), shop.calls()
    assert shop.post(CALLS, {"item": "tea"}, **mine).status == 401
    assert shop.ask("DELETE", f"{CALLS}/x", headers=mine).status == 401
    assert shop.calls() == before


def test_a_cookie_ends_with_its_token_and_none_is_made_up(shop: Served, tmp_path: Path) -> None:
    mine = cookie(signed_in(shop, "read:shop"))
    assert shop.get(WATCH, **mine).status == 200
    shop.tokens.revoke([*shop.tokens.all()][-1])
    assert shop.get(WATCH, **mine).status == 401
    name, _, value = mine["Cookie"].partition("=")
    for other in (value[:-2], value.replace("a", "b", 1), "", "x.y.z"):
        assert shop.get(WATCH, Cookie=f"{name}={other}").status == 401


def test_whoever_signs_in_with_no_token_is_refused(shop: Served) -> None:
    refused = shop.post("/sign-in", {"token": "ghcm_00000000_x"})
    assert (refused.status, refused.json["code"]) == (401, "GHCM-350")
    assert "set-cookie" not in refused.headers


def test_who_signs_out_is_given_a_cookie_that_is_over(shop: Served) -> None:
    answer = shop.ask("DELETE", "/sign-in", headers=cookie(signed_in(shop, "read:shop")))
    assert answer.status == 204 and "max-age=0" in answer.headers["set-cookie"].lower()
    assert answer.headers["clear-site-data"] == '"cache", "storage"'


def test_a_cookie_that_was_copied_is_over_when_its_owner_signs_out(shop: Served) -> None:
    mine, other = (cookie(signed_in(shop, "read:shop")) for _ in range(2))
    assert shop.ask("DELETE", "/sign-in", headers=mine).status == 204
    assert (shop.get(WATCH, **mine).status, shop.get(WATCH, **other).status) == (401, 200)
    assert shop.ask("DELETE", "/sign-in", headers={"Cookie": "ghcm_session=x"}).status == 204


def test_who_signs_in_once_more_leaves_no_session_behind(shop: Served) -> None:
    before = cookie(signed_in(shop, "read:shop"))
    after = cookie(signed_in(shop, "read:shop", **before))
    assert (shop.get(WATCH, **before).status, shop.get(WATCH, **after).status) == (401, 200)


def test_which_sessions_were_ended_is_known_to_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file, now = tmp_path / "session.ended", int(time.time())
    Ended(file).add("first", now + 60)
    ended = Ended(file)
    monkeypatch.setattr(sessions, "_MOST_ENDED", 2)
    for name, until in (("over", now - 1), ("second", now + 70), ("third", now + 80)):
        ended.add(name, until)
    assert [each for each in ("first", "over", "second", "third") if each in Ended(file)] == ["second", "third"]
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("{")
    assert "second" not in Ended(file) and "is not known" in caplog.text
    gone = Ended(tmp_path / "missing" / "session.ended")
    gone.add("first", now + 60)
    assert "first" in gone and "cannot be written" in caplog.text


def test_the_key_of_cookies_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    key = key_in(tmp_path / "session.key")
    assert key_in(tmp_path / "session.key") == key
    assert (len(key), (tmp_path / "session.key").stat().st_mode & 0o777) == (32, 0o600)


@pytest.mark.parametrize("left", [b"", b"\0" * 31])
def test_what_a_full_disk_has_left_of_a_key_is_none(tmp_path: Path, left: bytes) -> None:
    (tmp_path / "session.key").write_bytes(left)
    assert len(set(key_in(tmp_path / "session.key"))) > 8
