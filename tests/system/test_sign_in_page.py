"""A person signs in with a token in a real browser, watches, and is asked again when the token has ended."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.system.browser import browser
from tests.unit.supervisor.serving import Served, serving

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("shop"), access={"required": True}) as served:
        yield served


def test_a_person_signs_in_watches_and_is_asked_again(shop: Served, chromium: Browser) -> None:
    page, complaints = chromium.new_page(), list[str]()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{shop.url}/programs/shop/watch")
    expect(page).to_have_title("Sign in")
    page.fill("#token", "ghcm_00000000_x")
    page.click("#sign-in button")
    expect(page.locator("#problem")).to_have_text("the token is none of this server's")
    page.fill("#token", shop.token("read:shop")["Authorization"].removeprefix("Bearer "))
    page.click("#sign-in button")
    page.wait_for_url("**/programs/shop/watch")
    page.wait_for_selector("section[data-ready]")
    assert page.evaluate("document.cookie") == ""
    shop.tokens.revoke([*shop.tokens.all()][-1])
    page.wait_for_url("**/sign-in?next=*")
    page.click("#sign-out")
    expect(page.locator("#done")).to_have_text("signed out")
    assert page.context.cookies() == []
    assert complaints == []


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [("/.//evil.invalid/x", "//evil.invalid/x"), ("//evil.invalid", "/docs"), ("javascript:alert(1)", "/docs")],
)
def test_nobody_who_signs_in_is_led_elsewhere(shop: Served, chromium: Browser, wanted: str, shown: str) -> None:
    page = chromium.new_page()
    page.goto(f"{shop.url}/sign-in?next={wanted}")
    page.fill("#token", shop.token("read:shop")["Authorization"].removeprefix("Bearer "))
    page.click("#sign-in button")
    page.wait_for_url(f"{shop.url}{shown}")
    page.close()
