"""A person signs in with a token in a real browser, watches, and is asked again when the token has ended."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.system.browser import browser
from tests.unit.supervisor.serving import serving

pytestmark = pytest.mark.system


def test_a_person_signs_in_watches_and_is_asked_again(tmp_path: Path) -> None:
    with serving(tmp_path, access={"required": True}) as shop, browser() as chromium:
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
