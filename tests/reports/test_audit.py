"""The pages by the rules of axe-core (WCAG 2.1, level AA, and best practices), in light and dark, wide and narrow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cgm_cli.certificates.points import certify
from cgm_cli.reports.certificate_page import certificate_page
from cgm_cli.reports.collect import collect
from cgm_cli.reports.html import page
from tests.reports.browser import chromium, errors, needs_browser, open_page, wait
from tests.reports.support import make_sweep

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
RUN = """
const [done] = arguments;
axe.run({ resultTypes: ["violations"] }).then(
  ({ violations }) => done(violations.map((each) =>
    `${each.id}: ${each.help}; ${each.nodes.map((node) => node.html.slice(0, 150)).slice(0, 3).join(" | ")}`)),
  (fault) => done([String(fault)]));
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def pages(three, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, place in (("one", three / "beta1"), ("sweep", make_sweep(tmp_path_factory.mktemp("sweep"), 24))):
        found = collect([place])
        (folder / f"{name}.html").write_text(page(found.entries, found.faults), encoding="utf-8")
    points = np.random.default_rng(0).standard_normal((40, 2)) + 3.0 * (np.arange(40) % 2)[:, None]
    certificate = certify(points, clusters=2)
    (folder / "certificate.html").write_text(certificate_page(certificate, points, "points.csv"), encoding="utf-8")
    return folder


def audit(driver) -> list[str]:
    driver.execute_script(AXE)
    return driver.execute_async_script(RUN)


@needs_browser
@pytest.mark.parametrize("name", ["one", "sweep", "certificate"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1300), ("dark", 1300), ("light", 400)])
def test_a_page_breaks_no_rule(driver, pages, name, scheme, width):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    metrics = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    if name == "certificate":  # it has no script
        driver.get((pages / f"{name}.html").as_uri())
    else:
        open_page(driver, pages / f"{name}.html")
        # Everything is drawn, as for someone who has read to the end.
        driver.execute_script("figures.forEach(draw); document.getElementById('pictures')?.scrollIntoView()")
        wait(driver, "return figures.every((figure) => figure.dataset.drawn)")
    if name == "sweep":
        driver.execute_script("document.getElementById('plot-first').click()")
        driver.execute_script("document.getElementById('parameters').scrollIntoView()")
        wait(driver, "return document.getElementById('heat-plot').rows.length")
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width, "nothing is cut off"
    assert "\n".join(audit(driver)) == ""
    assert errors(driver) == []


@needs_browser
def test_the_audit_finds_what_is_wrong(driver, tmp_path):
    (tmp_path / "page.html").write_text("<!DOCTYPE html><html><body><img src=''><input></body></html>")
    driver.get((tmp_path / "page.html").as_uri())
    found = " ".join(audit(driver))
    assert "image-alt" in found and "html-has-lang" in found and "label" in found
