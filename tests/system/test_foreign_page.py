"""A page of another origin in a real browser reads nothing of a Supervisor and starts nothing; our own pages work."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, Frame, expect

from tests.system.browser import browser
from tests.unit.supervisor.serving import CALLS, JSON, Served, serving

pytestmark = pytest.mark.system

FORM = """\
<!doctype html><title>evil</title><body>
<form id="form" method="post" enctype="text/plain" target="frame" action="TARGET">
<input name='{"a":"' value='"}'></form>
<iframe name="frame" id="frame"></iframe><img id="image" src="PICTURE">
"""
ASKING = """async ([path, options]) => {
  try {
    const answer = await fetch(path, options);
    return answer.type === "opaque" ? "opaque" : `${answer.status} ${await answer.text()}`;
  } catch (error) { return "refused"; }
}"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("shop")) as served:
        yield served


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """The address of a page of somebody else on this machine."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_address[1]}/evil.html"
        server.shutdown()
        thread.join()


def _inner(frame: Frame) -> bool:
    """Whether a frame of the page shows what it was answered, or that the browser may not show it."""
    return frame.parent_frame is not None


def test_a_page_of_another_origin_reads_and_starts_nothing(
    shop: Served, chromium: Browser, elsewhere: str, tmp_path: Path
) -> None:
    picture = f"{shop.url}/programs/shop/sinks/kept/chart?kind=bar&x=item&y=amount"
    text = FORM.replace("TARGET", f"{shop.url}/programs/shop/units/all_totals/calls").replace("PICTURE", picture)
    (tmp_path / "evil.html").write_text(text)
    before, page = shop.calls(), chromium.new_page()
    page.goto(elsewhere)
    for mode in ("cors", "no-cors"):
        read: dict[str, object] = {"mode": mode}
        for options in (read, {**read, "method": "POST", "body": "{}"}, {**read, "method": "POST", "headers": JSON}):
            for path in ("/programs", f"{CALLS}?wait=10", "/programs/shop/units/all_totals/calls", "/openapi.json"):
                told = page.evaluate(ASKING, [shop.url + path, options])
                assert told in ("refused", "opaque"), (path, options)
    with page.expect_event("framenavigated", _inner):
        page.evaluate("document.getElementById('form').submit()")
    page.wait_for_function("document.getElementById('image').complete")
    assert page.evaluate("document.getElementById('image').naturalWidth") == 0
    with page.expect_event("framenavigated", _inner):
        page.evaluate("url => { document.getElementById('frame').src = url }", f"{shop.url}/programs/shop/watch")
    assert all(frame.locator("#panels").count() == 0 for frame in page.frames)
    page.close()
    assert shop.calls() == before


def test_the_documentation_is_shown_without_a_foreign_host(shop: Served, chromium: Browser) -> None:
    page = chromium.new_page()
    foreign, complaints = list[str](), list[str]()
    page.on("request", lambda request: foreign.append(request.url) if not request.url.startswith(shop.url) else None)
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.goto(f"{shop.url}/docs")
    expect(page.get_by_text('Call the stream unit "total"')).to_be_visible(timeout=60_000)
    page.close()
    assert [url for url in foreign if not url.startswith(("data:", "blob:"))] == []
    assert complaints == []
