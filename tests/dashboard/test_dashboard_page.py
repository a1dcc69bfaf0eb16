"""The dashboard in a real browser: live during a run, sorted, compared, downloaded from."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from tests.dashboard.browser import Visit, chromium
from tests.report import synthetic

pytestmark = pytest.mark.slow(reason="the live pages in a real Chromium")
EVOLUTE = [sys.executable, "-m", "evolute"]
SLOW = """
import time

def train(state, hparams, steps, seed):
    time.sleep(0.05)
    total = (0.0 if state is None else state) + hparams["h"]
    return total, {"score": total}
"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("dashboard")
    for seed in range(2):
        synthetic.synthetic(place / "runs" / f"pbt-{seed}", members=6, turns=8, seed=seed)
        synthetic.synthetic(place / "runs" / f"other-{seed}", members=6, turns=10, seed=seed, strategy="other")
    synthetic.synthetic(place / "runs" / "with-policy", members=2, turns=2, policy_suffix=".zip")
    synthetic.hostile(place / "runs")
    (place / "own.py").write_text(SLOW)
    return place


@pytest.fixture(scope="module")
def address(place):
    served = subprocess.Popen([*EVOLUTE, "dashboard", "--port", "0"], cwd=place, stdout=subprocess.PIPE, text=True)
    yield re.search(r"http://127\.0\.0\.1:\d+/", served.stdout.readline())[0]
    served.terminate()
    served.wait(timeout=20)
    served.stdout.close()


def test_a_page_follows_a_run_while_it_trains(browser, address, place):
    settings = ["learner=own:train", "train.h=[0,1]", "population=4", "stop.turns=400", "name=live"]
    running = subprocess.Popen([*EVOLUTE, "run", "-m", *settings], cwd=place, stdout=subprocess.DEVNULL)
    try:
        with Visit(browser) as visit:
            visit.page.goto(address)
            visit.page.get_by_role("link", name="live-1").click()
            visit.page.wait_for_selector('[data-key="family"] canvas')
            turns = visit.page.locator(".facts div", has_text="turns").first.locator("dd")
            before = int(turns.inner_text().replace(",", ""))
            visit.page.wait_for_function(
                "before => Number([...document.querySelectorAll('.facts div')]"
                ".find(div => div.firstChild.textContent === 'turns').lastChild.textContent.replace(',', '')) > before + 20",
                arg=before,
            )
            assert visit.page.locator(".status").first.inner_text() == "running"
            assert visit.errors == []
            running.kill()
            running.wait()
            visit.page.wait_for_selector(".status.unfinished")
    finally:
        running.kill()
        running.wait()


def test_the_list_sorts_and_chosen_runs_are_compared(browser, address):
    with Visit(browser) as visit:
        visit.page.goto(address)
        visit.page.get_by_role("button", name="best score").click()
        visit.page.get_by_role("button", name="best score").click()
        scores = [float(text.replace(",", "")) for text in visit.column(".runs", 4)]
        assert scores == sorted(scores, reverse=True)
        for name in ("pbt-0", "pbt-1", "other-0", "other-1"):
            visit.page.get_by_label(f"compare {name}", exact=True).check()
        visit.page.get_by_role("button", name="compare the chosen runs").click()
        visit.page.wait_for_selector('[data-key="progress"] canvas')
        visit.page.wait_for_function("document.querySelectorAll('main table').length === 2")
        assert visit.inked("comparison") > 0.005
        assert {"pbt", "other"} == set(visit.column("main .scroll:nth-of-type(1)", 1)[:2])
        assert visit.errors == []


def test_a_schedule_is_downloaded(browser, address):
    with Visit(browser) as visit:
        visit.page.goto(f"{address}#/run/pbt-0")
        with visit.page.expect_download() as download:
            visit.page.get_by_role("link", name="schedule.csv").click()
        assert download.value.path().read_text().startswith("turn,from_step,steps,score,lr")
        assert download.value.suggested_filename == "pbt-0-schedule.csv"


@pytest.mark.parametrize(("run", "files"), [("with-policy", ["policy.zip"]), ("pbt-0", [])])
def test_the_page_offers_the_policy_that_the_learner_exports(browser, address, run, files):
    with Visit(browser) as visit:
        visit.page.goto(f"{address}#/run/{run}")
        visit.page.wait_for_selector(".downloads a")
        assert visit.page.locator(".downloads a").all_inner_texts() == ["schedule.yaml", "schedule.csv", *files]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_view_fits_a_narrow_screen(browser, address, theme):
    with Visit(browser, color_scheme=theme, viewport={"width": 390, "height": 800}) as visit:
        for path in ("", "#/run/other-0", "#/compare/pbt-0,other-0"):
            visit.page.goto(f"{address}{path}")
            visit.page.wait_for_selector("main table")
            assert visit.fits(), path
        assert visit.errors == []


def test_a_hostile_run_does_nothing_and_an_unknown_one_gives_a_sentence(browser, address):
    with Visit(browser) as visit:
        visit.page.goto(address)
        visit.page.get_by_role("link", name="<img src=x onerror=alert(2)>").click()
        visit.page.wait_for_selector('[data-key="family"] canvas')
        assert visit.page.locator("img").count() == 0
        assert visit.errors == []
        visit.page.goto(f"{address}#/run/..%2F..%2Fetc")
        visit.page.wait_for_selector(".error")


def test_a_run_is_steered_from_its_page(browser, place):
    settings = ["learner=own:train", "train.h=[0,1]", "population=3", "stop.turns=2000", "name=steered"]
    running = subprocess.Popen([*EVOLUTE, "run", "-m", *settings], cwd=place, stdout=subprocess.DEVNULL)
    command = [*EVOLUTE, "dashboard", "--port", "0", "--token", "secret"]
    served = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, text=True)
    try:
        with Visit(browser) as visit:
            visit.page.goto(re.search(r"http://\S+", served.stdout.readline())[0])
            visit.page.get_by_role("link", name="steered-1").click()
            visit.page.get_by_label("request", exact=True).select_option("bounds")
            visit.page.get_by_label("values", exact=True).fill("h=[0.2, 0.3]")
            visit.page.get_by_role("button", name="ask").click()
            visit.page.get_by_text(re.compile(r"taken by decision \d+: bounds h=\[0.2, 0.3\]")).wait_for()
            visit.page.get_by_text(re.compile(r"steering, decision \d+: bounds")).wait_for()
            assert visit.errors == []
            assert visit.fits()
    finally:
        for process in (running, served):
            process.terminate()
            process.wait(timeout=30)
        served.stdout.close()
