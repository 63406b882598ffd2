"""The page of `cgm report --html`: as text, and in a browser that opens it from disk."""

from __future__ import annotations

import hashlib
import json
import re
from importlib import resources

import pytest

from cgm_cli.reports.collect import Collection, Unreadable, collect
from cgm_cli.reports.html import page
from tests.reports.browser import chromium, errors, keep_screenshot, needs_browser, open_page, wait
from tests.reports.support import make_run, make_sweep, spec

EVIL = "<script>alert(1)</script>\"'&`${1}</script><!--<img src=x onerror=alert(2)>∂ü漢字🦉" + "x" * 300


def data_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """Two runs whose names, terms and values are out to do harm."""
    folder = tmp_path_factory.mktemp("evil") / "<b>&\"'ü"
    make_run(folder / "a<script>alert(3)", spec(EVIL, beta0=1.0, note="</script><script>alert(4)</script>"))
    make_run(folder / "b", spec("b", beta0=2.0, note="%{x} <i>note</i>"))
    found = collect([folder])
    return Collection(found.entries, [Unreadable(folder / "</ul><script>alert(5)", "because <b>")])


def test_a_page_of_one_run_is_small(three):
    assert len(page(collect([three / "beta1"]).entries, []).encode()) < 1_500_000


def test_the_script_is_the_one_that_is_named():
    folder = resources.files("cgm_cli.reports") / "page" / "plotly"
    digest = hashlib.sha256((folder / "plotly-basic.min.js").read_bytes()).hexdigest()
    assert digest in (folder / "README.md").read_text(encoding="utf-8")


def test_names_are_text_wherever_they_stand(evil):
    text = page(evil.entries, evil.faults)
    assert text.count("<script") - text.count('<script type="') == 1 + _plotly().count("<script")
    assert "<img src=x" not in text.replace(_plotly(), "")
    assert EVIL in data_of(text)["runs"][0]["label"]


def _plotly():
    from cgm_cli.reports import html

    return html._plotly()


def test_it_fetches_nothing(three):
    text = page(collect([three]).entries, []).replace(_plotly(), "")
    assert "default-src 'none'" in text
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", text)
    assert "://" not in text


def test_every_image_has_a_text_and_every_control_a_name(three):
    text = page(collect([three]).entries, []).replace(_plotly(), "")
    assert all("alt=" in tag for tag in re.findall(r"<img[^>]*>", text))
    for tag in re.findall(r"<(?:input|select)[^>]*>", text):
        inside = re.search(r"id=\"([^\"]*)\"", tag)
        assert (
            "aria-label" in tag
            or (inside and f'for="{inside[1]}"' in text)
            or re.search(rf"<label>{re.escape(tag)}", text)
        )
    charts = re.findall(r"<div class=\"plot(?: tall)?\"[^>]*>", text)
    assert charts and all("aria-label=" in tag and "role=" in tag for tag in charts)


def test_a_page_without_runs_and_one_of_unfinished_ones(mixed, tmp_path):
    assert "There is no run" in page([], [Unreadable(tmp_path, "an empty folder.")])
    found = collect([mixed])
    text = page(found.entries, found.faults)
    assert "The oracle gave up." in text and "is not a status of cgm" in text


@pytest.mark.parametrize("assumed", [None, "radius"])
def test_it_says_what_a_bound_rests_on(tmp_path, assumed):
    run = make_run(tmp_path / "run", bound_rests_on=assumed)
    text = page(collect([run]).entries, [])
    assert ("certified, within the `radius` that was assumed" in text) == (assumed is not None)
    assert "<small>certified" in text


def test_the_command(cgm, three, tmp_path):
    code, _, err = cgm("report", three, "--html", tmp_path / "a" / "page.html")
    assert code == 0 and "wrote" in err
    assert (tmp_path / "a" / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert cgm("report", three, "--html", tmp_path)[0] == 2


@pytest.fixture(scope="module")
def page_of_many(tmp_path_factory):
    """200 runs over three parameters."""
    folder = tmp_path_factory.mktemp("many")
    return written(folder, collect([make_sweep(folder / "runs", 200)]))


def test_curves_get_thinner_the_more_runs_there_are(three, page_of_many):
    few, many = (data_of(text) for text in (page(collect([three]).entries, []), page_of_many.read_text()))
    assert len(few["runs"]) == 3 and len(many["runs"]) == 200
    assert len(json.dumps(many)) < 2_000_000
    assert few["metrics"]["gap"] == -1 and few["axes"] == ["solver.beta0"]


# ---------------------------------------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def written(folder, found):
    path = folder / "page.html"
    path.write_text(page(found.entries, found.faults), encoding="utf-8")
    return path


FIRST_PLOT = "document.querySelector('figure[data-quantity] .plot')"


def lines(driver):
    """[name, dash] of the curves of the first plot."""
    return driver.execute_script(f"return {FIRST_PLOT}.data.map((each) => [each.meta.run, each.meta.kind])")


@pytest.fixture(scope="module")
def page_of_three(three, tmp_path_factory):
    return written(tmp_path_factory.mktemp("page"), collect([three]))


@needs_browser
def test_a_comparison_of_three_runs(driver, page_of_three, tmp_path):
    open_page(driver, page_of_three)
    wait(driver, f"return {FIRST_PLOT}.data")
    assert lines(driver) == [[run, kind] for run in range(3) for kind in ("measured", "bound")]
    buttons = driver.find_elements("css selector", "#legend button")
    assert [each.text.split("\n")[-1] for each in buttons] == ["beta0.1", "beta1", "beta10"]
    buttons[1].click()
    assert buttons[1].get_attribute("aria-pressed") == "false"
    assert {run for run, _ in lines(driver)} == {0, 2}
    driver.find_element("css selector", "input[data-kind=bound]").click()
    assert lines(driver) == [[0, "measured"], [2, "measured"]]
    axes = lambda: driver.execute_script(  # noqa: E731
        f"const {{xaxis, yaxis}} = {FIRST_PLOT}._fullLayout; return [xaxis.type, yaxis.type, xaxis.title.text]"
    )
    assert axes() == ["log", "linear", "iteration k"]
    driver.find_element("css selector", "figure .scale").click()
    driver.find_element("css selector", "input[name=x][value=seconds]").click()
    driver.find_element("css selector", "input[name=logx][value=linear]").click()
    assert axes() == ["linear", "log", "seconds"]
    assert driver.execute_script(f"return {FIRST_PLOT}.data[0].x.at(-1)") == pytest.approx(4.0)
    gap = "[...document.querySelectorAll('figure[data-quantity]')][1].querySelector('.plot')"
    driver.execute_script(f"{gap}.scrollIntoView()")
    wait(driver, f"return {gap}.data")
    assert "fit" in driver.execute_script(f"return {gap}.data.map((each) => each.meta.kind)")
    keep_screenshot(driver, "three", tmp_path)
    assert errors(driver) == []


@needs_browser
def test_the_keyboard_reads_the_curves(driver, page_of_three):
    from selenium.webdriver.common.keys import Keys

    open_page(driver, page_of_three)
    wait(driver, f"return {FIRST_PLOT}.data")
    plot = driver.find_element("css selector", "figure[data-quantity] .plot")
    plot.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    said = driver.find_element("id", "announce").get_property("textContent")
    assert said.startswith("beta0.1: total, iteration 1: 1.6")
    driver.execute_script("document.body.focus()")
    driver.switch_to.active_element.send_keys(Keys.TAB)
    assert driver.switch_to.active_element is not None
    assert errors(driver) == []


@needs_browser
def test_two_hundred_runs(driver, page_of_many, tmp_path):
    open_page(driver, page_of_many)
    shown = "return [...document.querySelectorAll('#runs tbody tr')].filter((row) => !row.hidden)"
    assert driver.execute_script(f"{shown}.length") == 200
    box = driver.find_element("id", "filter")
    box.send_keys("beta0 < 1 step=classic")
    expected = driver.execute_script(
        "const fits = (values) => values['solver.beta0'] < 1 && values['solver.step'] === 'classic';"
        "return data.runs.filter((run) => fits(run.values)).length"
    )
    assert driver.execute_script(f"{shown}.length") == expected > 0
    assert driver.find_element("id", "count").text == f"{expected} of 200 runs"
    header = driver.find_element("css selector", "th[data-key=gap]")
    for order, sign in (("ascending", 1), ("descending", -1)):
        driver.execute_script("arguments[0].querySelector('button').click()", header)
        assert header.get_attribute("aria-sort") == order
        gaps = driver.execute_script(f"{shown}.map((row) => data.runs[row.dataset.run].values.gap)")
        assert gaps == sorted(gaps, key=lambda gap: sign * gap)
    driver.find_element("id", "plot-first").click()
    assert len(driver.find_elements("css selector", "#legend button")) == 8
    assert len(driver.find_elements("css selector", "#legend-more button")) == min(expected, 32) - 8
    styles = "new Set(line.filter((each) => each.meta.kind === 'measured').map((each) => each.line.color)).size"
    wait(driver, f"return {FIRST_PLOT}.data")
    assert driver.execute_script(f"const line = {FIRST_PLOT}.data; return {styles}") == 9  # the last of them grey
    box.clear()
    box.send_keys("nope<1")
    assert "there is no single column called nope" in driver.find_element("id", "count").text
    box.clear()
    box.send_keys(" ")
    driver.execute_script("document.getElementById('heat-plot').scrollIntoView()")
    wait(
        driver,
        "return document.getElementById('heat-plot').rows.length && document.getElementById('parallel-plot').data",
    )
    cells = driver.execute_script(
        "return [...document.getElementById('heat-plot').rows].map((row) => row.cells.length)"
    )
    assert cells == [8] * 4  # seven values of beta0, three steps, and their headings
    best = driver.find_element("css selector", "#heat-plot caption").text
    gaps = driver.execute_script("return data.runs.map((run) => run.values.gap)")
    assert float(re.search(r"Best: ([^ ]+) at beta0 1, step line-search", best)[1]) == pytest.approx(
        min(gaps), rel=1e-5
    )
    keep_screenshot(driver, "sweep", tmp_path)
    assert errors(driver) == []


@needs_browser
def test_dark_and_light(driver, page_of_three):
    open_page(driver, page_of_three)
    wait(driver, f"return {FIRST_PLOT}.data")
    colours = {}
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        script = f"return [getComputedStyle(document.body).backgroundColor, {FIRST_PLOT}.data[0].line.color]"
        wait(driver, f"return dark.matches === {str(scheme == 'dark').lower()}")
        wait(driver, f"return {FIRST_PLOT}.data[0].line.color === colour(0)")
        colours[scheme] = driver.execute_script(script)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert colours["light"][0] == "rgb(255, 255, 255)" and colours["dark"][0] == "rgb(20, 23, 27)"
    assert colours["light"][1] != colours["dark"][1]


@needs_browser
def test_nothing_that_a_name_holds_is_run(driver, evil, tmp_path):
    open_page(driver, written(tmp_path, evil))
    wait(driver, f"return {FIRST_PLOT}.data")
    # An alert would make every call fail from then on.
    assert driver.find_elements("css selector", "img[src=x]") == []
    assert EVIL in driver.find_element("css selector", "#legend button").get_attribute("title")
    names = driver.execute_script("return [...document.querySelectorAll('#runs tbody th')].map((each) => each.title)")
    assert EVIL in names[0]
    driver.execute_script(f"Plotly.Fx.hover({FIRST_PLOT}, [{{curveNumber: 0, pointNumber: 5}}])")
    hover = driver.execute_script(f"return {FIRST_PLOT}.querySelector('.hoverlayer').textContent")
    assert "<script>alert(1)" in hover
    assert errors(driver) == []


@needs_browser
def test_one_run_with_its_picture(driver, three, tmp_path):
    found = collect([three / "beta1"])
    open_page(driver, written(tmp_path, found))
    assert driver.find_element("tag name", "h1").text == "beta1"
    plot = "document.querySelector('.plot[data-picture]')"
    driver.execute_script(f"{plot}.scrollIntoView()")
    wait(driver, f"return {plot}.data")
    assert driver.execute_script(f"return {plot}.data[0].type") == "bar"
    assert errors(driver) == []


@needs_browser
def test_on_paper_there_is_every_plot_in_dark_ink(driver, page_of_three):
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    open_page(driver, page_of_three)
    driver.execute_script("addEventListener('beforeprint', () => { window.ink = css('--ink') + colour(0); })")
    driver.execute_cdp_cmd("Page.printToPDF", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert driver.execute_script("return figures.every((figure) => figure.dataset.drawn)")
    assert driver.execute_script("return window.ink.endsWith(LIGHT[0])")
    assert errors(driver) == []


@needs_browser
def test_seconds_to_an_accuracy_are_bars(driver, page_of_three):
    open_page(driver, page_of_three)
    cells = driver.find_elements("css selector", "table.race tbody td")
    # The gap is 4 / (k + 2) in the second run, and 4 / (1 + (k + 1)^1.3) in the third; a step takes 10 ms.
    assert [each.text for each in cells] == ["not reached", "3.98s", "1.00s"]
    widths = [each.size["width"] for each in driver.find_elements("css selector", "table.race .bar")]
    assert widths[1] / widths[0] == pytest.approx(1.0 / 3.98, rel=0.1)
