"""A real browser on a real Jupyter server, with all that either writes in folders of its own.

Set CALIBKIT_SCREENSHOTS to a folder to have `screenshot` write its pictures there.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import nbformat
import pytest

SECONDS = 60
"""How long anything here may take, on a busy machine."""
TOKEN = "browser-test"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="module")  # no longer: while Playwright runs, no other test can run asyncio
def browser():
    """Chromium, in a user-data folder of its own."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed (pip install playwright)"
    )
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium (apt-get install chromium)")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=chromium, args=list(FLAGS), timeout=SECONDS * 1000)
        yield running
        running.close()


@pytest.fixture
def new_page(browser):
    """Open a fresh page; errors of widgets in it fail the test. Keywords go to the page's context."""
    contexts, errors = [], []

    def open_page(**options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(SECONDS * 1000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(f"{error.message} {error.stack}"))
        return page

    yield open_page
    for context in contexts:
        context.close()
    # A widget's code has no address of its own in Jupyter; what goes wrong in Jupyter's code is not ours.
    assert [text for text in errors if "blob:" in text or ".test/" in text] == []


# --- Jupyter ----------------------------------------------------------------------------------------


@dataclass
class Server:
    """A Jupyter server that offers JupyterLab and Notebook 7."""

    url: str
    root: Path

    def fetch(self, path, **options):
        request = urllib.request.Request(f"{self.url}{path}", headers={"Authorization": f"token {TOKEN}"}, **options)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            error.close()
            raise

    def stop_kernels(self):
        for kernel in json.loads(self.fetch("/api/kernels")):
            with suppress(urllib.error.HTTPError):  # it may have gone by itself
                self.fetch(f"/api/kernels/{kernel['id']}", method="DELETE")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory):
    """One server for all tests; JupyterLab under /lab/tree, Notebook 7 under /notebooks."""
    pytest.importorskip("jupyterlab", reason="JupyterLab is not installed")
    home = tmp_path_factory.mktemp("jupyter")
    root = home / "root"
    root.mkdir()
    # No question about news over the page.
    settings = home / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    folders = {
        "HOME": home,
        "IPYTHONDIR": home / "ipython",
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
    }
    environment = {**os.environ, **{name: str(folder) for name, folder in folders.items()}}
    port = free_port()
    command = [
        sys.executable, "-m", "jupyterlab", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={root}", "--allow-root",
        "--no-browser", "--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
    ]  # fmt: skip
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=root, stdout=log, stderr=log)
        server = Server(f"http://127.0.0.1:{port}", root)
        try:
            wait_for_server(server, process, home / "server.log")
            yield server
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=10)


def wait_for_server(server, process, log):
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            server.fetch("/api/status")
            return
        except (urllib.error.URLError, ConnectionError):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"Jupyter did not start: {log.read_text()[-2000:]}")
            time.sleep(0.1)


class NotebookPage:
    """A notebook open in JupyterLab ("lab") or Notebook 7 ("notebook").

    `page` is Playwright's; `folder` is where the notebook stands.
    """

    def __init__(self, page, server, folder, app):
        self.page = page
        self.folder = folder
        at = quote(str((folder / "test.ipynb").relative_to(server.root)))
        # A workspace of its own, or JupyterLab opens what earlier tests had open.
        path = f"/lab/workspaces/{folder.name}/tree/{at}" if app == "lab" else f"/notebooks/{at}"
        page.goto(f"{server.url}{path}?token={TOKEN}", timeout=SECONDS * 1000)
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        self._wait_for_kernel()

    def run_all(self):
        """Run the notebook; does not wait for it."""
        self.page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")

    def await_restart(self):
        """Accept what Jupyter tells of a kernel that died, and wait for the next one; no cell is run."""
        self.page.get_by_role("dialog").get_by_role("button", name="Ok").click()
        self._wait_for_kernel()

    def set_theme(self, name):
        """Change to "JupyterLab Light" or "JupyterLab Dark"."""
        self.page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", name)
        self.page.wait_for_function("theme => document.body.dataset.jpThemeName === theme", arg=name)

    def cells(self):
        """Kind and source of every cell, as the notebook holds them now."""
        return self.page.evaluate(
            "window.jupyterapp.shell.currentWidget.content.model.toJSON()"
            ".cells.map(cell => [cell.cell_type, [].concat(cell.source).join('')])"
        )

    def _wait_for_kernel(self):
        self.page.wait_for_function(
            "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
        )


@pytest.fixture
def open_notebook(new_page, jupyter, tmp_path):
    """Write cells (sources) as a notebook in a folder of its own, and open it in "lab" or "notebook"."""

    def open_it(app, cells, files=(), **options):
        if app == "notebook":
            pytest.importorskip("notebook", reason="Notebook 7 is not installed (pip install notebook)")
        folder = jupyter.root / tmp_path.name
        folder.mkdir()
        for path in files:
            (shutil.copytree if path.is_dir() else shutil.copy)(path, folder / path.name)
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, folder / "test.ipynb")
        return NotebookPage(new_page(**options), jupyter, folder, app)

    yield open_it
    jupyter.stop_kernels()


# --- looking at it ----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The source of axe-core, which finds faults of accessibility."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm to fetch axe-core with (apt-get install npm)")
    folder = tmp_path_factory.mktemp("axe")
    command = [npm, "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund", "axe-core@4"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS, cwd=folder)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"npm could not fetch axe-core: {error}")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.fixture
def find_violations(axe):
    """Serious faults of accessibility within what a selector finds, a line each."""

    def find(page, selector):
        page.evaluate(axe)
        found = page.evaluate("selector => axe.run(selector).then(found => found.violations)", selector)
        return [
            f"{fault['id']}: {node['html'][:200]} {node['failureSummary']}"
            for fault in found
            if fault["impact"] in ("serious", "critical")
            for node in fault["nodes"]
        ]

    return find


@pytest.fixture
def screenshot():
    """Take a picture of what a locator finds, where CALIBKIT_SCREENSHOTS names a folder."""

    def take(locator, name):
        folder = os.environ.get("CALIBKIT_SCREENSHOTS")
        if folder:
            locator.screenshot(path=Path(folder) / name)

    return take
