"""How fast the band tuner follows: from a move of the pointer to the painted frame, in JupyterLab in Chromium.

    python -m benchmarks.tuner

Needs `calibkit[notebooks]`, playwright and a chromium. Two times are told of each move: until everything is drawn
(figures looked up, texts set, canvas painted), and until the browser has finished that frame (style, layout, paint).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import nbformat
import numpy as np

MOVES = 300
SECONDS = 300
CELL = """
import numpy as np
from calibkit import AnswerPair, PairSet, Scores
from calibkit.tuning import Tuning
from calibkit.widgets.band_tuner import BandTuner

class Given:
    name, version = "given", 1
    def score(self, pairs):
        return Scores(np.array([pair.meta["score"] for pair in pairs]), (None,) * len(pairs), "given", 1)

rng = np.random.default_rng(7)
scores = rng.random({scores}).tolist()
right = (rng.random({scores}) < 0.5 + 0.5 * np.array(scores)).tolist()
pairs = PairSet([
    AnswerPair(str(at), ("reference",), "answer", question=str(at), labelled=at < {labelled},
               acceptable=right[at] if at < {labelled} else None, tags=(f"tag {{at % 20}}",), meta={{"score": score}})
    for at, score in enumerate(scores)
])
options = {{"scorer": Given(), "rules": (), "exact_rung": None, "development": 0.0}}
tuner = BandTuner(Tuning(pairs, precision=0.9, fail_precision=0.4, **options).declare())
tuner
"""
# What asks for a frame while a pointermove is dispatched is the tuner.
WATCH = """() => {
    const times = (window.times = []);
    let [start, inside] = [null, false];
    addEventListener("pointermove", () => { start = performance.now(); inside = true; }, true);
    addEventListener("pointermove", () => { inside = false; });
    const ask = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (callback) => {
        if (!inside) return ask(callback);
        return ask((now) => {
            callback(now);
            const [from, drawn, after] = [start, performance.now(), new MessageChannel()];
            after.port1.onmessage = () => times.push([drawn - from, performance.now() - from]);
            after.port2.postMessage(null);
        });
    };
}"""


def start_lab(home: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start a server in folders of its own; gives its process and address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folders = {name: str(home / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={port}"]
    command += ["--ServerApp.port_retries=0", "--IdentityProvider.token=t", f"--ServerApp.root_dir={home}"]
    command += ["--LabApp.expose_app_in_browser=True"]
    environment = {**os.environ, **folders, "IPYTHONDIR": str(home / "ipython")}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{url}/api/status?token=t").close()
            return process, url
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    process.kill()
    raise SystemExit("JupyterLab did not start")


def measure(page: Any, url: str, home: Path, scores: int, labelled: int) -> dict[str, Any]:
    """Times of a drag over the whole picture and back, on so many scores."""
    name = f"tuner_{scores}.ipynb"
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(CELL.format(scores=scores, labelled=labelled))]
    )
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, home / name)
    page.goto(f"{url}/lab/tree/{name}?token=t&reset")
    idle = "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
    page.wait_for_function(idle)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    tuner = page.locator(".calibkit-tuner")
    tuner.locator(".mistakes h3").first.wait_for()
    tuner.locator(".stage").scroll_into_view_if_needed()
    page.evaluate(WATCH)
    stage, grip = tuner.locator(".stage").bounding_box(), tuner.locator(".handle.pass b").bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    places = stage["x"] + stage["width"] * (0.5 + 0.4 * np.cos(np.linspace(0, 4 * np.pi, MOVES)))
    for place in places.tolist():
        page.mouse.move(place, y)
        page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    page.mouse.up()
    times = np.array(page.evaluate("window.times"))
    quantiles = np.quantile(times, [0.5, 0.95], axis=0).round(1)
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_timeout(1000)
    return {
        "scores": scores,
        "labelled": labelled,
        "moves": len(times),
        "drawn": quantiles[:, 0].tolist(),
        "frame": quantiles[:, 1].tolist(),
        "notebook": (home / name).stat().st_size,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    asked = parser.parse_args()
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("there is no chromium (apt-get install chromium)")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder)
        process, url = start_lab(home)
        try:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1280, "height": 1200})
            page.set_default_timeout(SECONDS * 1000)
            if not asked.json:
                print("| scores | labelled | moves | drawn: median, p95 | frame: median, p95 | saved notebook |")
                print("|---|---|---|---|---|---|")
            for scores, labelled in ((1000, 1000), (100_000, 1000), (100_000, 5000)):
                found = measure(page, url, home, scores, labelled)
                if asked.json:
                    print(json.dumps(found), flush=True)
                    continue
                times = [" / ".join(f"{value:.1f} ms" for value in found[name]) for name in ("drawn", "frame")]
                size = f"{found['notebook'] / 1000:.0f} kB"
                print(
                    "|",
                    " | ".join([f"{scores:,}", f"{labelled:,}", str(found["moves"]), *times, size]),
                    "|",
                    flush=True,
                )
            browser.close()
        finally:
            process.terminate()
            process.wait(timeout=20)


if __name__ == "__main__":
    main()
