"""The page for the people on watch in a real browser: it shows what the sinks hold, follows them, and says when not."""

import os
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from ghcm.driver import check
from ghcm.runtime.data.dead_letter import table_of
from ghcm.runtime.sinks.sink import open_writer
from tests.redis_server import connected
from tests.system.browser import browser
from tests.system.running import Running, running, until
from tests.system.watching import HOSTILE, Feed, begin, feed, flood, lay_out, office

pytestmark = pytest.mark.system

PATIENCE_MS = 60_000
TOLD = "1. 2026-01-05 09:00:00: mallory attacks web.\n2. 5 minutes later: web, a victim itself, goes on to db."


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def source() -> Iterator[Feed]:
    with feed() as opened:
        yield opened


@pytest.fixture(scope="module")
def monitor(tmp_path_factory: pytest.TempPathFactory, source: Feed) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("watch")
    program = lay_out(folder, source.port)
    with running(folder) as daemon:
        daemon.submit(program.name)
        source.send(office(begin(), 28))
        # The windows that the last connection lets end, ten seconds of disorder before it; no more come by themselves.
        until(lambda: len(rows(daemon, "throughput", "limit=1000")) >= 166, "the windows of the first half hour")
        until(lambda: len(rows(daemon, "alerts")) >= 5, "the alarms of the first half hour")
        until(lambda: rebuilt(daemon) == ["done"], "the call of the policy at the end of the alerts that lie in a file")
        write_chain(folder, program)
        yield daemon


@pytest.fixture
def page(chromium: Browser, monitor: Running) -> Iterator[Page]:
    opened = chromium.new_page(viewport={"width": 1280, "height": 900})
    opened.set_default_timeout(PATIENCE_MS)
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto(f"{monitor.url}/programs/traffic/watch")
    opened.wait_for_selector("section")
    opened.wait_for_selector("section:not([data-ready])", state="detached")
    yield opened
    opened.close()
    assert complaints == []


def rebuilt(daemon: Running) -> list[str]:
    """How the calls are that would write other chains."""
    return [str(each["state"]) for each in daemon.get("/programs/traffic/units/rebuild/calls").json]


def write_chain(folder: Path, program: Path) -> None:
    """A chain as the job of the program writes it."""
    made = check(program)
    places = connected(folder)
    at = 1_767_603_600_000_000
    steps: list[tuple[object, ...]] = [
        ("c1", 1, at, at, "mallory", "web", HOSTILE, "x", 1, 3, None, False),
        ("c1", 2, at + 300_000_000, at, "web", "db", "Brute force", "x", 1, 1, 300_000_000, False),
    ]
    chain: tuple[object, ...] = ("c1", "mallory", at, at, 2, 1, 18, 1, ["mallory", "web", "db"], TOLD)
    for name, written in (("chains", [chain]), ("steps", steps)):
        writer = open_writer(made.sink(name), places, writer="test")
        writer.write(written)
        writer.prepare("c1")
        writer.commit("c1")
        writer.close()


def rows(daemon: Running, sink: str, query: str = "") -> list[dict[str, object]]:
    found: list[dict[str, object]] = daemon.get(f"/programs/traffic/sinks/{sink}/rows?{query}").json["rows"]
    return found


def section(name: str) -> str:
    return f'section[data-panel="{name}"]'


def test_numbers_states_and_alarms_are_those_of_the_sinks(page: Page, monitor: Running) -> None:
    newest = rows(monitor, "throughput", "limit=1")[0]
    for name, column in (("bytes-in-ten-seconds", "bytes"), ("connections-in-ten-seconds", "flows")):
        shown = page.locator(f"{section(name)} .value")
        expect(shown).to_have_attribute("data-value", str(newest[column]))
    tiles = page.locator(f"{section('key-servers')} li")
    latest = {row["name"]: row["state"] for row in reversed(rows(monitor, "servers"))}
    assert sorted(tiles.locator(".name").all_inner_texts()) == sorted(map(str, latest))
    assert (
        dict(zip(tiles.locator(".name").all_inner_texts(), tiles.locator(".how").all_inner_texts(), strict=True))
        == latest
    )
    alarms = page.locator(f"{section('alarms')} tbody tr")
    expected = [row["signature"] for row in rows(monitor, "alerts", "order=-ts")]
    assert [line.locator("td").nth(2).inner_text() for line in alarms.all()] == expected


def test_a_hostile_name_is_text(page: Page) -> None:
    expect(page.get_by_text(f"ET SCAN {HOSTILE}")).to_be_visible()
    assert page.locator("section img:not(.chart)").count() == 0
    expect(page).to_have_title("Traffic monitor – watch")


def test_charts_are_pictures_of_the_server(page: Page) -> None:
    for name in ("traffic-over-time", "protocols-over-time", "busiest-hosts-of-five-minutes", "who-attacks-whom"):
        picture = page.locator(f"{section(name)} img.chart")
        expect(picture).to_have_attribute("data-loaded", "true")
        assert picture.evaluate("image => image.naturalWidth") >= 280, name
    page.locator(f"{section('busiest-hosts-of-five-minutes')} summary").click()
    expect(page.locator(f"{section('busiest-hosts-of-five-minutes')} tbody tr").first).to_be_visible()


def test_a_scenario_is_told_and_drawn(page: Page) -> None:
    story = page.locator(f"{section('scenarios')} details.story")
    expect(story).to_have_count(1)
    expect(story.locator("p")).to_contain_text("web, a victim itself, goes on to db.")
    expect(story.locator("img.chart")).to_have_attribute("data-loaded", "true")


def test_an_alarm_appears_and_a_chart_changes_while_one_looks(page: Page, source: Feed, monitor: Running) -> None:
    picture = page.locator(f"{section('traffic-over-time')} img.chart")
    before = picture.get_attribute("src")
    source.send(flood(begin() + timedelta(minutes=28)))
    alarm = page.locator(f"{section('alarms')} tbody tr").filter(has_text="Flood: 600 connections")
    expect(alarm).to_be_visible(timeout=PATIENCE_MS)
    expect(alarm.locator(".badge")).to_have_text("1 high")
    expect(page.locator("#news")).to_contain_text("Flood")
    expect(picture).not_to_have_attribute("src", before or "", timeout=PATIENCE_MS)
    until(lambda: len(rows(monitor, "throughput", "limit=1000")) >= 173, "the windows behind the flood")
    newest = rows(monitor, "throughput", "limit=1")[0]
    shown = page.locator(f"{section('bytes-in-ten-seconds')} .value")
    expect(shown).to_have_attribute("data-value", str(newest["bytes"]), timeout=PATIENCE_MS)


def test_alarms_are_chosen_by_severity_with_the_keyboard(page: Page) -> None:
    lines = page.locator(f"{section('alarms')} tbody tr")
    worst = lines.filter(has_text="1 high").count()
    for level in (2, 3):
        button = page.get_by_role("button", name=f"severity {level}")
        button.focus()
        page.keyboard.press("Enter")
        expect(button).to_have_attribute("aria-pressed", "false")
    expect(lines).to_have_count(worst)


def test_it_fits_a_phone(chromium: Browser, monitor: Running) -> None:
    phone = chromium.new_page(viewport={"width": 375, "height": 800}, color_scheme="dark")
    phone.goto(f"{monitor.url}/programs/traffic/watch")
    phone.wait_for_selector("section:not([data-ready])", state="detached", timeout=PATIENCE_MS)
    assert phone.evaluate("() => document.documentElement.scrollWidth") <= 375
    phone.close()


def test_nothing_comes_from_elsewhere(chromium: Browser, monitor: Running) -> None:
    opened = chromium.new_page()
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    answer = opened.goto(f"{monitor.url}/programs/traffic/watch")
    opened.wait_for_selector("section:not([data-ready])", state="detached", timeout=PATIENCE_MS)
    opened.close()
    assert answer is not None and "script-src 'self'" in answer.headers["content-security-policy"]
    assert [url for url in asked if not url.startswith((monitor.url, f"blob:{monitor.url}"))] == []


def test_a_server_that_is_away_is_told_and_found_again(page: Page, monitor: Running) -> None:
    page.route("**/programs/traffic/**", lambda route: route.abort())
    away = page.locator("#away")
    expect(away).to_contain_text("The server is away since", timeout=PATIENCE_MS)
    expect(page.locator("#status-text")).to_have_text("no answer")
    expect(page.locator(f"{section('alarms')} tbody tr").first).to_be_visible()
    page.unroute("**/programs/traffic/**")
    expect(away).to_be_hidden(timeout=PATIENCE_MS)


def test_it_goes_on_when_the_server_was_killed(page: Page, monitor: Running) -> None:
    """The daemon keeps the address, so that a question waits for the next process."""
    pid = monitor.pid("http")
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: monitor.pid("http") not in (None, pid), "another process")
    with page.expect_response(lambda answer: answer.url.endswith("/sinks") and answer.ok, timeout=PATIENCE_MS):
        pass
    expect(page.locator("#away")).to_be_hidden(timeout=PATIENCE_MS)


def test_records_that_failed_are_listed(monitor: Running, page: Page) -> None:
    table = table_of(monitor.state.dead / "traffic" / "monitor")
    writer = open_writer(table, connected(monitor.folder), writer="test")
    writer.write([("monitor", "flows", "bad_record", "<b>no flow</b>", "{x", "traffic.istream:40:9")])
    writer.prepare("test-dead")
    writer.commit("test-dead")
    writer.close()
    page.reload()
    section = page.locator("#dead")
    expect(section).to_be_visible()
    section.locator("summary").click()
    expect(section.locator("td", has_text="<b>no flow</b>").first).to_be_visible()
