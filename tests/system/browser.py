"""A real browser for tests: the one of the system, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tests.conftest import miss

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def executable() -> str | None:
    """The browser that GHCM_BROWSER names, or the first on the path."""
    named = os.environ.get("GHCM_BROWSER")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser without a window; the test that asked is skipped where there is none, and fails in CI."""
    path = executable()
    if path is None:
        miss('a browser: no "chromium" on the path (Debian: apt-get install chromium), and GHCM_BROWSER names none')
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--disable-dev-shm-usage"])
        try:
            yield opened
        finally:
            opened.close()
