"""The folder without a server: off a disk with the network off, and live in the visitor's tab.

In the tab a stand-in takes Pyodide's place: page, worker and policy are those that are shipped, and
`Tab.answer` runs in this process.
"""

from __future__ import annotations

import functools
import json
import re
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from axe_playwright_python.sync_playwright import Axe

from dpcore.experiments.pca import RunSpec, run
from dpcore.experiments.published_folder import PYODIDE, PublishedGrid, add_live_page, publish
from dpcore.experiments.summaries import percent
from dpcore.experiments.tab import Tab


@pytest.fixture(scope="module")
def first_page(tmp_path_factory) -> str:
    grid = PublishedGrid(datasets=("digits",), components=(5, 10), repetitions=2)
    return publish(tmp_path_factory.mktemp("site"), grid, progress=lambda _: None).as_uri()


@pytest.fixture
def open_offline(browser):
    contexts = []

    def open_(address: str, width: int, height: int, *, dark: bool = False):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            offline=True,
        )
        contexts.append(context)
        page = context.new_page()
        page.faults = []
        page.on("console", lambda m: m.type == "error" and page.faults.append(m.text))
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on(
            "request",
            lambda r: not r.url.startswith(("file:", "data:")) and page.faults.append(r.url),
        )
        page.goto(address)
        page.wait_for_function("document.getElementById('number').textContent.includes('%')")
        return page

    yield open_
    for context in contexts:
        context.close()


@pytest.mark.parametrize(
    ("width", "height", "dark"),
    [(1920, 1080, False), (1440, 900, True), (390, 844, False), (390, 844, True)],
)
def test_it_answers_from_a_disk_and_is_clean(first_page, open_offline, width, height, dark):
    page = open_offline(first_page, width, height, dark=dark)
    for name in ("#people", "#number", "#epsilon"):
        box = page.locator(name).bounding_box()
        assert box["y"] + box["height"] <= height, name
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.faults == []  # axe itself asks for the style sheet, which a disk does not give
    assert Axe().run(page).response["violations"] == []


def test_slider_pickers_and_article_move_the_figure(first_page, open_offline):
    page = open_offline(first_page, 1440, 900)
    before = page.locator("#number").inner_text()
    page.locator("#epsilon").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    assert page.locator("#value").inner_text() == "ε = 0.05"
    assert page.locator("#number").inner_text() != before
    page.locator("#sites").select_option("10")
    page.locator("#components").select_option("5")
    page.get_by_text("Where this number comes from").click()
    assert "--sites 10 --components 5" in page.locator("#command").inner_text()
    page.get_by_role("heading", name="A common choice").click()
    assert page.locator("#value").inner_text() == "ε = 1"
    assert page.locator("#number").inner_text() == before
    assert page.faults == []


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_figure_answers_beside_the_article(first_page, open_offline, width, height):
    page = open_offline(first_page, width, height)
    told = page.locator("article section.told")
    for name in ("One site alone", "Add up in secret"):
        page.get_by_role("heading", name=name).scroll_into_view_if_needed()
        place = page.get_by_role("heading", name=name).bounding_box()["y"]
        page.evaluate(f"scrollBy(0, {place - (0.6 if width <= 896 else 0.45) * height})")
        page.wait_for_function(
            "(name) => document.querySelector('article section.told h3')?.textContent === name",
            arg=name,
        )
        assert page.locator("#number").inner_text() == told.locator("[data-said]").inner_text()
        box, heading = page.locator("#shown").bounding_box(), told.locator("h3").bounding_box()
        assert box["y"] >= 0
        assert width > 896 or box["y"] + box["height"] <= heading["y"]
    assert page.faults == []


def test_people_as_they_are_stand_beside_what_is_rebuilt(first_page, open_offline):
    page = open_offline(first_page, 1440, 900)
    assert "rebuilt" in page.locator("#people").get_attribute("aria-label")
    page.get_by_label("As they are").check()
    assert "as they are" in page.locator("#people").get_attribute("aria-label")


def test_it_prints_the_figure_and_the_whole_article(first_page, open_offline):
    page = open_offline(first_page, 1440, 900)
    page.emulate_media(media="print")
    for name in ("#people", "#number", "#curve", "article"):
        assert page.locator(name).is_visible()
    assert not page.locator("#epsilon").is_visible()
    assert page.locator("#shown").evaluate("(it) => getComputedStyle(it).position") == "static"


STAND_IN = """
export const version = "%s";
class Tab {
  answer(question) {
    const request = new XMLHttpRequest();
    request.open("POST", new URL("answer", import.meta.url), false);
    request.send(question);
    return request.responseText;
  }
}
export async function loadPyodide() {
  const python = {
    loadedPackages: {},
    unpackArchive: (content) => { if (!content.byteLength) throw new Error("an empty archive"); },
    loadPackage: async (names) => names.forEach((name) => (python.loadedPackages[name] = "here")),
    pyimport: () => ({ Tab: () => new Tab() }),
  };
  return python;
}
"""


@pytest.fixture
def live_page(tmp_path, monkeypatch):
    """Address of the live page on a server that answers questions, and what it was asked."""
    monkeypatch.setattr(
        "dpcore.experiments.published_folder.copy_pyodide",
        lambda _, target: (target.mkdir(), (target / "pyodide.mjs").write_text(STAND_IN % PYODIDE)),
    )
    folder = tmp_path / "site"
    folder.mkdir()
    add_live_page(folder, str(tmp_path))
    tab, asked = Tab(), []

    class Handler(SimpleHTTPRequestHandler):
        extensions_map = SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript"}

        def do_POST(self) -> None:
            question = self.rfile.read(int(self.headers["Content-Length"])).decode()
            asked.append(json.loads(question))
            answer = tab.answer(question).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments) -> None:
            pass

    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))
    )
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/live.html", asked
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def live_tab(browser, live_page):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(live_page[0])
    yield page
    context.close()


def run_it(page) -> str:
    page.locator("#run").click()
    page.wait_for_function("!document.getElementById('run').disabled", timeout=120_000)
    return page.locator("#status").inner_text()


def test_a_setting_runs_in_the_tab_as_on_the_command_line(live_tab):
    live_tab.locator("#sites").fill("3")
    live_tab.locator("#repetitions").fill("2")
    assert "Done" in run_it(live_tab)
    assert live_tab.locator("#people").is_visible()
    assert not live_tab.locator("#own").is_visible()
    spec = RunSpec(
        dataset="mnist-small", protocols=("dpdis",), delta=1e-5, sites=3, components=20,
        repetitions=2,
    )  # fmt: skip
    ratios = [row["energy_ratio"] for row in run(spec)]
    assert live_tab.locator("#number").inner_text() == percent(sum(ratios) / 2)
    assert "--sites 3" in live_tab.locator("#command").inner_text()
    assert Axe().run(live_tab).response["violations"] == []
    live_tab.locator("#components").fill("9999")
    assert re.search("components .*n_features=196", run_it(live_tab))


def test_an_own_table_runs_within_limits_and_says_whose_they_are(live_tab, live_page, tmp_path):
    text = "age,height,name\n" + "".join(f"{20 + n % 50},{150 + n % 40},N\n" for n in range(200))
    (tmp_path / "table.csv").write_text(text)
    live_tab.locator("#dataset").select_option("own")
    assert "Open a table first" in run_it(live_tab)
    live_tab.locator("#file").set_input_files(tmp_path / "table.csv")
    live_tab.get_by_text("200 rows, 2 columns of numbers.").wait_for()
    live_tab.locator("#components").fill("1")
    live_tab.get_by_label("age, lower limit").fill("0")
    assert "age needs both of its limits" in run_it(live_tab)
    live_tab.get_by_label("age, upper limit").fill("120")
    live_tab.get_by_label("height, lower limit").fill("50")
    live_tab.get_by_label("height, upper limit").fill("250")
    assert "Done" in run_it(live_tab)
    assert live_page[1][-1]["limits"] == {"age": [0, 120], "height": [50, 250]}
    assert "right at most" in live_tab.locator("#odds").inner_text()
    assert not live_tab.locator("#command").is_visible()
    live_tab.locator("#from-rows").click()
    assert "Done" in run_it(live_tab)
    assert "protects nobody" in live_tab.locator("#odds").inner_text()
    assert not live_tab.locator("#people").is_visible()
    live_tab.set_viewport_size({"width": 390, "height": 844})
    live_tab.emulate_media(color_scheme="dark")
    assert live_tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert Axe().run(live_tab).response["violations"] == []


def test_the_page_and_its_worker_reach_no_other_host(live_tab):
    live_tab.locator("#repetitions").fill("1")
    run_it(live_tab)
    (worker,) = live_tab.workers
    for here in (live_tab, worker):
        ask = "fetch('http://127.0.0.2:1/').then(() => 'sent', (error) => String(error))"
        reported = "new Promise((done) => addEventListener('securitypolicyviolation', done))"
        found = here.evaluate(
            f"Promise.race([{reported}.then((event) => event.effectiveDirective), "
            f"{ask}.then(() => new Promise(() => {{}}))])"
        )
        assert found == "connect-src"


def test_off_a_disk_the_live_page_says_what_it_needs(browser, tmp_path, monkeypatch):
    monkeypatch.setattr("dpcore.experiments.published_folder.copy_pyodide", lambda *_: None)
    add_live_page(tmp_path, str(tmp_path))
    page = browser.new_page()
    page.goto((tmp_path / "live.html").as_uri())
    assert "python -m http.server" in page.locator("#status").inner_text()
    assert page.locator("#run").is_disabled()
    page.close()
