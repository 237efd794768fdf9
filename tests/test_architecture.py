"""Who may import whom: the rooms of the design, held by the import graph."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "calibkit"
CORE = ("normalize", "pairs", "scorers", "curve", "certificate", "ledger", "bands", "policy", "cascade")
EDGES = ("store", "model_files", "vector_cache", "embedding", "calibration")
ON_TOP = ("plots", "mistakes", "report", "lab", "testing", "cli", "__init__", "__main__")
GROUP = {name: rank for rank, names in enumerate((CORE, EDGES, ON_TOP)) for name in names}
MODULES = sorted(path.stem for path in PACKAGE.glob("*.py"))
FOREIGN_TO_CORE = {"matplotlib", "ipywidgets", "torch", "sentence_transformers", "pathlib", "os", "tempfile", "sqlite3"}


def imports(module: str) -> set[str]:
    """Dotted names that a module imports, anywhere in its code."""
    found = set()
    for node in ast.walk(ast.parse((PACKAGE / f"{module}.py").read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {f"calibkit.{name}" for name in MODULES}
            found |= (names & modules) if node.module == "calibkit" and names <= modules else {str(node.module)}
    return found


def own(module: str) -> set[str]:
    names = {name.split(".")[1] for name in imports(module) if name.startswith("calibkit.")}
    return names & set(MODULES)


def test_every_module_has_its_room():
    assert set(MODULES) <= set(GROUP)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_no_later_group(module):
    assert all(GROUP[name] <= GROUP[module] for name in own(module))


@pytest.mark.parametrize("module", MODULES)
def test_nobody_imports_the_package_itself_or_its_way_in(module):
    if module not in ("__init__", "__main__"):
        assert "calibkit" not in imports(module)
        assert not own(module) & {"cli", "__main__"}


def test_there_are_no_cycles():
    graph = {module: own(module) for module in MODULES if module != "__init__"}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"cycle: {error.args[1]}")
    assert order.index("normalize") < order.index("cascade") < order.index("store") < order.index("cli")


@pytest.mark.parametrize("module", CORE)
def test_the_core_touches_no_file_model_or_screen(module):
    assert not {name.split(".")[0] for name in imports(module)} & FOREIGN_TO_CORE
    tree = ast.parse((PACKAGE / f"{module}.py").read_text())
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert "open" not in called


def test_heavy_packages_are_not_imported_with_the_package(run_python):
    heavy = "torch, sentence_transformers, transformers, matplotlib, sklearn, IPython, pyarrow, nltk"
    out = run_python(f"import sys, calibkit.cli; print([m for m in '{heavy}'.split(', ') if m in sys.modules])")
    assert out.strip() == "[]"
