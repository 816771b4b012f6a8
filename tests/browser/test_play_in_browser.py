"""What people do on Play and around it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from statistics import fmean

from tests.browser.conftest import ROOT, settle


def headline(page) -> str:
    """The epsilon, the number of it and what that means."""
    control = page.locator(".control label").inner_text()
    return "\n".join((control, page.locator(".answer").inner_text())).replace("\u00a0", " ")


def test_the_first_thing_shown_is_a_result_that_keys_and_clicks_change(server, open_page):
    page, watched = open_page(server, until_full=False)
    assert "of the pattern survives" in headline(page)
    page.locator(".curve .mean").nth(2).wait_for()
    slider = page.get_by_role("slider", name="ε")
    slider.focus()
    slider.press("ArrowRight")
    settle(page, until_full=False)
    assert "ε = 2" in headline(page)
    assert "epsilon=2" in page.url
    box = page.locator(".curve .tick").nth(6).bounding_box()
    page.mouse.click(box["x"], box["y"] - 40)
    page.locator(".control output", has_text="0.1").wait_for()
    settle(page, until_full=False)
    assert "ε = 0.1\n" in headline(page)
    assert "epsilon=0.1" in page.url
    watched.assert_quiet()


def test_a_deep_link_works_on_a_server_nobody_has_visited(fresh_server, open_page):
    page, watched = open_page(f"{fresh_server}/eigen_images?delta=0.001&sites=7")
    assert page.get_by_role("heading", name="Play", level=1).is_visible()
    assert page.get_by_role("link", name="Decide").is_visible()
    assert page.get_by_text("Page not found").count() == 0
    assert page.get_by_role("slider", name="Sites").input_value() == "7"
    watched.assert_quiet()


def test_rows_script_and_notebook_give_the_numbers_on_the_page(server, open_page, tmp_path):
    page, _ = open_page(f"{server}/?dataset=digits&epsilon=2&sites=3&repetitions=2&seed=5")
    saved = {}
    for label, name in (
        ("Rows (CSV)", "rows.csv"),
        ("Script (Python)", "run.py"),
        ("Notebook", "run.ipynb"),
    ):
        with page.expect_download() as download:
            page.get_by_role("button", name=label).click()
        saved[name] = tmp_path / name
        download.value.save_as(saved[name])
    rows = list(csv.DictReader(io.StringIO(saved["rows.csv"].read_text())))
    mean = fmean(float(r["energy_ratio"]) for r in rows if r["protocol"] == "dpdis")
    assert f"{mean:.4f}" in _output_of(saved["run.py"])
    cells = json.loads(saved["run.ipynb"].read_text())["cells"]
    code = "\n".join("".join(c["source"]) for c in cells[:-1] if c["cell_type"] == "code")
    as_script = tmp_path / "notebook.py"
    as_script.write_text(code)
    assert f"{mean:.4f}" in _output_of(as_script)


def _output_of(script: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_story_hides_the_answer_until_somebody_guesses_and_gives_the_controls_back(
    server, open_page
):
    page, watched = open_page(f"{server}/?dataset=digits&epsilon=0.5&sites=7&repetitions=2")
    before = headline(page)
    page.get_by_role("button", name="Stories").click()
    page.get_by_role("menuitem", name="Free energy").click()
    page.get_by_role("button", name="More than 8 points more").wait_for()
    settle(page)
    assert page.locator(".number").count() == 0
    assert "story=free-energy" in page.url
    page.get_by_role("button", name="More than 8 points more").click()
    page.locator(".number").wait_for()
    settle(page)
    assert "10 of 10 runs" in page.locator(".st-key-story_card").inner_text()
    page.get_by_role("button", name="Back to my own settings").click()
    page.locator(".st-key-story_card").wait_for(state="detached")
    settle(page)
    assert headline(page) == before
    assert "sites=7" in page.url and "story" not in page.url
    watched.assert_quiet()


def test_an_absent_data_set_says_where_its_files_go_and_the_rest_goes_on(server, open_page):
    page, watched = open_page(f"{server}/?dataset=mnist")
    main = page.locator("[data-testid=stMain]")
    assert "train-images-idx3-ubyte" in main.inner_text()
    assert page.locator("[data-testid=stException]").count() == 0
    page.goto(f"{server}/?dataset=synthetic-2012&repetitions=2")
    settle(page)
    assert "of the pattern" in headline(page)
    watched.assert_quiet()


def test_an_address_out_of_range_falls_back_to_defaults(server, open_page):
    query = "epsilon=-1&sites=9999&dataset=nope&components=abc"
    page, watched = open_page(f"{server}/?{query}", until_full=False)
    assert "ε = 1\n" in headline(page) and "5 sites" in headline(page)
    watched.assert_quiet()
