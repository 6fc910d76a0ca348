"""`python -m tests.system.screenshots`: takes the pictures of the documentation, of the real page and its charts."""

import io
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize

from tests.system.browser import browser
from tests.system.running import Running, running, until
from tests.system.watching import begin, feed, flood, lay_out, office

OUTPUT = Path(__file__).resolve().parents[2] / "docs" / "pictures"
WIDE: ViewportSize = {"width": 1360, "height": 900}
CHARTS = ("traffic-over-time", "protocols-over-time", "busiest-hosts-of-five-minutes", "who-attacks-whom")


def main(output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, feed() as source:
        folder = Path(name)
        program = lay_out(folder, source.port)
        with running(folder) as daemon:
            daemon.submit(program.name)
            start = begin()
            source.send(office(start, 30))
            rows = "/programs/traffic/sinks/alerts/rows"
            until(lambda: len(daemon.get(rows).json["rows"]) >= 5, "the alarms of half an hour")
            call = daemon.post("/programs/traffic/units/rebuild/calls").json["links"]["self"]
            until(lambda: daemon.get(call).json["state"] == "done", "the chains", 300)
            source.send(flood(start + timedelta(minutes=30)))
            until(lambda: daemon.get(f"{rows}?where=origin:flood").json["rows"], "the flood to be seen")
            photograph(daemon, output)


def photograph(daemon: Running, output: Path) -> None:
    with browser() as chromium:
        for theme in ("light", "dark"):
            page = chromium.new_page(viewport=WIDE, color_scheme=theme)
            shown(page, daemon)
            if theme == "light":
                page.set_viewport_size({"width": 1360, "height": 2400})
            save(page, output / f"watch-{theme}.png")
            if theme == "dark":
                save(page, output / "scenario.png", "section[data-panel=scenarios]")
            page.close()
        page = chromium.new_page(viewport={"width": 390, "height": 844}, device_scale_factor=2)
        shown(page, daemon)
        save(page, output / "watch-phone.png")
    for panel in CHARTS:
        answer = daemon_bytes(daemon, f"/programs/traffic/panels/{panel}/chart?format=png&width=900")
        (output / f"chart-{panel}.png").write_bytes(answer)


def save(page: Page, path: Path, part: str = "") -> None:
    """A picture with few colours, which is small."""
    taken = page.locator(part).screenshot() if part else page.screenshot()
    Image.open(io.BytesIO(taken)).convert("RGB").quantize(160).save(path, optimize=True)


def shown(page: Page, daemon: Running) -> None:
    """The page with all its panels."""
    page.goto(f"{daemon.url}/programs/traffic/watch")
    page.wait_for_selector("section")
    for unready in ("section:not([data-ready])", "img.chart:not([data-loaded])"):
        page.wait_for_selector(unready, state="detached", timeout=60_000)


def daemon_bytes(daemon: Running, path: str) -> bytes:
    import urllib.request

    with urllib.request.urlopen(daemon.url + path, timeout=60) as found:
        return bytes(found.read())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT)
