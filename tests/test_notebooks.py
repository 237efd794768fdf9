"""The notebooks are stored clean, hold prose and calls, and run from top to bottom."""

import ast
import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from calibkit.lab import prepare_lab

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.ipynb"))


def test_there_are_notebooks():
    assert "02_scores_and_curves.ipynb" in NOTEBOOKS


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_stored_without_outputs_and_defines_nothing(name):
    notebook = nbformat.read(FOLDER / name, as_version=4)
    assert notebook.cells[0].cell_type == "markdown"
    assert all(word in notebook.cells[0].source for word in ("**Question:**", "**Input:**", "**Output:**"))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
            kinds = {type(node) for node in ast.walk(ast.parse(cell.source))}
            assert not kinds & {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda}


@pytest.mark.filterwarnings("default")  # what Jupyter's own machinery warns of is not ours
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs(name, tmp_path, monkeypatch):
    for variable in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(variable, str(tmp_path / "jupyter"))
    lab = tmp_path / "lab"
    prepare_lab(lab)
    notebook = nbformat.read(lab / name, as_version=4)
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(lab)}})
    client.execute(env={**os.environ})
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.text
    shown = [mime for cell in notebook.cells for output in cell.get("outputs", ()) for mime in output.get("data", ())]
    assert shown.count("image/png") == notebook.metadata.get("calibkit", {}).get("figures", 0)
    for state in client.widget_state.values():
        outputs = state.get("state", {}).get("outputs", ())
        assert all(output.get("output_type") != "error" for output in outputs)
    for path in notebook.metadata["calibkit"].get("writes", ["policy.yaml"]):
        assert (lab / path).exists()


def test_copies_are_the_users_own(tmp_path):
    assert [line.split()[-1] for line in prepare_lab(tmp_path / "lab")][-1] == "copied"
    notebook = tmp_path / "lab" / "02_scores_and_curves.ipynb"
    notebook.write_text("mine")
    lines = prepare_lab(tmp_path / "lab")
    assert all(line.endswith("kept as it was") for line in lines)
    assert notebook.read_text() == "mine"


def test_a_set_of_ones_own_stands_in_the_notebook(tmp_path):
    own = tmp_path / 'my "own" answers.jsonl'
    own.touch()
    prepare_lab(tmp_path / "lab", own)
    notebook = nbformat.read(tmp_path / "lab" / "02_scores_and_curves.ipynb", as_version=4)
    source = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    [value] = [
        node.value.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SET"
    ]
    assert value == str(own.resolve())
    assert not (tmp_path / "lab" / "support_desk").exists()
