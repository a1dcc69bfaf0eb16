"""A real headless Chromium for tests of pages; where there is none the tests are skipped, with the reason."""

from __future__ import annotations

import contextlib
import shutil

import pytest

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextlib.contextmanager
def chromium():
    """A browser, as long as a module's tests run."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no Chromium on this machine: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


class Visit:
    """A page that remembers everything that went wrong on it."""

    def __init__(self, browser, **settings) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **settings})
        self.page = self.context.new_page()
        self.page.set_default_timeout(30_000)
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.errors.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *error) -> None:
        self.context.close()

    def column(self, table: str, number: int) -> list[str]:
        """The texts in a column of a table."""
        return self.page.locator(f"{table} tbody td:nth-child({number})").all_inner_texts()

    def inked(self, key: str) -> float:
        """The share of a chart's pixels that are not the background: nothing was drawn if it is 0."""
        return self.page.evaluate(
            """key => {
                const canvas = document.querySelector(`[data-key="${key}"] canvas`);
                const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
                let inked = 0;
                for (let at = 3; at < pixels.length; at += 4) inked += pixels[at] > 0;
                return inked / (pixels.length / 4);
            }""",
            key,
        )

    def fits(self) -> bool:
        """Whether nothing sticks out to the right."""
        return self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
