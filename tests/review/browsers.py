"""A real Chromium, driven by Playwright, in an environment of its own: it looks at pages."""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

PLAYWRIGHT = "1.56.0"
#: Where what tests install lies, shared by all runs of one user.
CACHE = Path(
    os.environ.get("PMEM_TEST_CACHE")
    or Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "pmem-tests"
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

LOOK = """
import json, sys
from playwright.sync_api import sync_playwright
browser_path, *urls = sys.argv[1:]
lightness = '''(element, of) => {
    const [r, g, b] = getComputedStyle(element)[of].match(/[0-9.]+/g).map(Number);
    return Math.round((r + g + b) / 3);
}'''
wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
narrowest = '''Math.min(1000, ...[...document.querySelectorAll("td")]
    .filter((cell) => cell.clientWidth && cell.textContent.trim().length > 12)
    .map((cell) => cell.clientWidth))'''
tick = '''Math.min(1000, ...[...document.querySelectorAll(".tick")]
    .map((text) => text.getBoundingClientRect().height))'''

def look(browser, url, scheme):
    seen = {"url": url, "scheme": scheme, "errors": [], "requests": []}
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1000, "height": 800})
    page.on("console", lambda said: seen["errors"].append(f"{said.type}: {said.text}"))
    page.on("pageerror", lambda error: seen["errors"].append(str(error)))
    page.on("request", lambda request: seen["requests"].append(request.url)
            if not request.url.startswith("data:") else None)
    page.goto(url)
    body = page.locator("body")
    seen["paper"] = body.evaluate(lightness, "backgroundColor")
    seen["ink"] = body.evaluate(lightness, "color")
    seen["overflow"] = page.evaluate(wide)
    page.set_viewport_size({"width": 390, "height": 800})
    seen["narrow_overflow"] = page.evaluate(wide)
    seen["narrowest_cell"] = page.evaluate(narrowest)
    seen["smallest_tick"] = page.evaluate(tick)
    page.emulate_media(media="print")
    seen["printed_paper"] = body.evaluate(lightness, "backgroundColor")
    page.close()
    return seen

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(
        executable_path=browser_path,
        args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
    )
    print(json.dumps([look(browser, url, s) for url in urls for s in ("light", "dark")]))
    browser.close()
"""


def looked_at(pages: Sequence[Path], place: Path) -> list[dict[str, Any]]:
    """What a browser makes of pages, in a light and a dark scheme each: errors, requests, lightness
    of paper and ink (0 to 255), and how far they are wider than the window, in pixels.

    `place` is a short path: the browser has a socket there. Skips where there is no browser.
    """
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        pytest.skip("no Chromium is installed")
    python = CACHE / f"playwright-{PLAYWRIGHT}" / "bin" / "python"
    _install(python)
    done = subprocess.run(
        [python, "-c", LOOK, browser, *(page.as_uri() for page in pages)],
        capture_output=True,
        text=True,
        timeout=240,
        env={"PATH": os.environ["PATH"], "HOME": str(place), "TMPDIR": str(place)},
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def _install(python: Path) -> None:
    """Playwright without a browser of its own; one process at a time."""
    if (python.parent.parent / "complete").exists():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "playwright.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (python.parent.parent / "complete").exists():
            return
        made = subprocess.run([sys.executable, "-m", "venv", python.parent.parent])
        pip = [python, "-m", "pip", "install", "--quiet", f"playwright=={PLAYWRIGHT}"]
        done = made if made.returncode else subprocess.run(pip, capture_output=True, text=True)
        if done.returncode:
            pytest.skip("Playwright could not be installed")
        (python.parent.parent / "complete").touch()
