"""A headless Chromium for the pages: opened from disk, with everything off that would reach for the network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def missing() -> str:
    """Why there is no browser to test in; empty if there is one."""
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        return "needs the Debian packages chromium and chromium-driver"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "needs selenium, which is in the extra `test`"
    return ""


@contextmanager
def chromium(profile: Path, width: int = 1300, height: int = 1000) -> Iterator[Any]:
    """A driver. profile: a new, empty folder."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*_FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        driver.set_script_timeout(30)
        yield driver
    finally:
        driver.quit()


def open_page(driver: Any, path: Path) -> None:
    """Open it from disk, and wait until its plots may be asked for."""
    driver.get(path.as_uri())
    wait(driver, "return document.documentElement.dataset.ready === 'true'")


def wait(driver: Any, script: str, seconds: float = 20.0) -> Any:
    """What the script returns, once that is true."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, seconds, poll_frequency=0.05).until(lambda each: each.execute_script(script))


def errors(driver: Any) -> list[str]:
    """What the console has to complain about since it was last asked."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def keep_screenshot(driver: Any, name: str, folder: Path) -> None:
    """The whole page as a picture, in $CGM_SCREENSHOTS if that is set."""
    place = Path(os.environ.get("CGM_SCREENSHOTS", folder))
    place.mkdir(parents=True, exist_ok=True)
    height = driver.execute_script("return document.documentElement.scrollHeight")
    driver.set_window_size(1300, min(height + 150, 8000))
    wait(driver, "return [...document.querySelectorAll('figure[data-quantity]')].every((f) => f.dataset.drawn)")
    assert driver.save_screenshot(str(place / f"{name}.png"))
    driver.set_window_size(1300, 1000)


needs_browser = pytest.mark.skipif(bool(missing()), reason=missing() or "-")
