"""The report in a real browser: from a file, without a network, in light and dark, wide and narrow."""

from __future__ import annotations

import pytest
from tests.dashboard.browser import Visit, chromium
from tests.report import synthetic, synthetic_games

import evolute
from evolute.cli.report import report as write_report

pytestmark = pytest.mark.slow(reason="the report in a real Chromium, offline, wide and narrow, light and dark")


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    write_report(synthetic.synthetic(place / "run", members=8, turns=12, bayesian=True), place / "run.html")
    return place / "run.html"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 390])
def test_the_report_opens_offline_without_errors(browser, report, theme, width):
    with Visit(browser, color_scheme=theme, offline=True, viewport={"width": width, "height": 900}) as visit:
        visit.page.goto(report.as_uri())
        visit.page.wait_for_selector(".chart canvas")
        keys = visit.page.eval_on_selector_all(".chart", "all => all.map(chart => chart.dataset.key)")
        assert {"curves-by-line", "curves-by-member", "family", "hparam-lr", "importance", "diversity", "predictions"} <= set(
            keys
        )
        assert all(visit.inked(key) > 0.005 for key in keys)
        assert visit.fits()
        background = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(255, 255, 255)" if theme == "light" else "rgb(20, 24, 30)")
        assert visit.errors == []
        assert {address.split(":")[0] for address in visit.asked} <= {"file", "data"}


def test_every_plot_is_below_the_heading_that_it_was_given(browser, report):
    with Visit(browser, offline=True) as visit:
        visit.page.goto(report.as_uri())
        visit.page.wait_for_selector(".chart canvas")
        data = visit.page.evaluate("JSON.parse(document.getElementById('data').textContent)")
        under = "all => all.map(chart => [chart.dataset.key, chart.parentElement.previousElementSibling.textContent])"
        shown = visit.page.eval_on_selector_all(".chart", under)
        assert shown == [[chart["key"], chart["section"]] for chart in data["charts"]]
        assert len({section for _, section in shown}) == 6


def test_hovering_tells_the_value_that_the_journal_has(browser, report):
    with Visit(browser, offline=True) as visit:
        visit.page.goto(report.as_uri())
        canvas = visit.page.locator('[data-key="importance"] canvas')
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        visit.page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + box["height"] * 0.5)
        tip = visit.page.locator('[data-key="importance"] .tip')
        tip.wait_for(state="visible")
        assert "share of gains explained (%)" in tip.inner_text()
        data = visit.page.evaluate("JSON.parse(document.getElementById('data').textContent)")
        bars = next(chart for chart in data["charts"] if chart["key"] == "importance")
        shown = float(tip.inner_text().rsplit(":", 1)[1])
        assert any(shown == pytest.approx(value, rel=1e-3) for value in bars["series"][0]["y"])
        visit.page.mouse.move(0, 0)
        tip.wait_for(state="hidden")


def test_the_members_table_sorts_by_any_column(browser, report):
    with Visit(browser, offline=True) as visit:
        visit.page.goto(report.as_uri())
        scores = [float(text.replace(",", "")) for text in visit.column(".members", 2)]
        assert scores == sorted(scores, reverse=True)
        visit.page.get_by_role("button", name="member", exact=True).click()
        assert visit.column(".members", 1) == [str(slot) for slot in range(8)]
        visit.page.get_by_role("button", name="member", exact=True).click()
        assert visit.column(".members", 1) == [str(slot) for slot in reversed(range(8))]


def test_hostile_names_and_values_do_nothing(browser, tmp_path):
    write_report(synthetic.hostile(tmp_path), tmp_path / "evil.html")
    with Visit(browser, offline=True) as visit:
        visit.page.goto((tmp_path / "evil.html").as_uri())
        visit.page.wait_for_selector(".chart canvas")
        assert visit.errors == []
        assert visit.page.locator("img").count() == 0
        assert synthetic.EVIL in visit.page.inner_text("body")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 390])
def test_each_member_has_a_page(browser, report, theme, width):
    with Visit(browser, color_scheme=theme, offline=True, viewport={"width": width, "height": 900}) as visit:
        visit.page.goto(report.as_uri())
        best = visit.column(".members", 1)[0]
        visit.page.locator(".members tbody a").first.click()
        visit.page.get_by_role("heading", name=f"member {best}", exact=True).wait_for()
        assert "the best of the run" in visit.page.inner_text("main")
        keys = visit.page.eval_on_selector_all("main > div:not([hidden]) .chart", "all => all.map(chart => chart.dataset.key)")
        assert keys[0] == "curve"
        assert {"metric-loss", "hparam-lr"} <= set(keys)
        assert visit.inked("curve") > 0.005
        assert visit.fits()
        visit.page.get_by_role("link", name="← the run").click()
        visit.page.locator('[data-key="curves-by-line"] canvas').wait_for(state="visible")
        assert visit.page.get_by_role("heading", name=f"member {best}", exact=True).count() == 0
        assert visit.errors == []


def test_numbers_keep_their_digits(browser, report):
    """Counts are whole, and small values are not rounded away."""
    with Visit(browser, offline=True) as visit:
        visit.page.goto(report.as_uri())
        shown = visit.page.evaluate("[201728, 0.0010642, 1613824, 123.456, 1e-7, null].map(Charts.number)")
        assert shown == ["201,728", "0.0010642", "1,613,824", "123.46", "1e-7", "–"]


@pytest.fixture(scope="module")
def league(tmp_path_factory):
    place = tmp_path_factory.mktemp("league")
    write_report(synthetic_games.league(place / "run", members=6, turns=12), place / "run.html")
    return place / "run.html"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 390])
def test_the_games_of_a_run_are_drawn_and_tell_their_numbers(browser, league, theme, width):
    with Visit(browser, color_scheme=theme, offline=True, viewport={"width": width, "height": 900}) as visit:
        visit.page.goto(league.as_uri())
        visit.page.wait_for_selector('[data-key="payoff"] canvas')
        assert all(visit.inked(key) > 0.005 for key in ("ratings", "payoff", "mixture", "pool"))
        assert visit.fits()
        data = visit.page.evaluate("JSON.parse(document.getElementById('data').textContent)")
        (payoff,) = (chart for chart in data["charts"] if chart["key"] == "payoff")
        told = payoff["series"][0]["texts"]
        canvas = visit.page.locator('[data-key="payoff"] canvas')
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        visit.page.mouse.move(box["x"] + box["width"] * 0.88, box["y"] + box["height"] * 0.1)
        tip = visit.page.locator('[data-key="payoff"] .tip')
        tip.wait_for(state="visible")
        assert tip.inner_text() in told
        assert tip.inner_text().startswith("member 5 won ")  # the best is on top
        assert visit.errors == []


def test_clicking_a_point_of_the_front_tells_its_line_of_descent(browser, tmp_path):
    run = evolute.run(preset="tradeoff", population=8, stop={"turns": 6}, folder=tmp_path / "run", display="none")
    write_report(run.folder, tmp_path / "run.html")
    with Visit(browser, offline=True) as visit:
        visit.page.goto((tmp_path / "run.html").as_uri())
        canvas = visit.page.locator('[data-key="front-0-1"] canvas')
        canvas.wait_for()
        story = visit.page.locator('[data-key="front-0-1"] .story')
        assert not story.is_visible()
        box, low, high = canvas.bounding_box(), run.front[0], run.front[-1]
        canvas.hover(position={"x": box["width"] - 20, "y": box["height"] - 50})  # where the last of the front is
        tip = visit.page.locator('[data-key="front-0-1"] .tip')
        tip.wait_for(state="visible")
        assert f"member {high.member}, turn 5: w={high.hparams['w']:.4g}" in tip.inner_text()
        canvas.click(position={"x": box["width"] - 20, "y": box["height"] - 50})
        assert f"member {high.member} after turn 5; line of descent of" in story.inner_text()
        assert low.member != high.member
        story.locator("a").click()
        heading = visit.page.locator("h1", has_text=f"member {high.member}")
        heading.wait_for(state="visible")
        assert visit.errors == []
