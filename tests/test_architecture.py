"""Who may import whom: the rooms of the design, held by the import graph."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "calibkit"
CORE = (
    "characters", "values", "normalize", "pairs", "polarity", "abstention", "rules", "checks", "structured", "scorers", "curve",
    "certificate", "ledger", "bands", "replies", "judge", "policy", "asking", "cascade", "rates", "grading", "gates", "side_by_side", "blend", "planning", "promises", "review", "agreement",
)  # fmt: skip
EDGES = (
    "store", "event_log", "label_log", "formats", "model_files", "vector_cache", "embedding", "judge_client", "collect",
    "calibration",
)  # fmt: skip
ON_TOP = (
    "plots", "mistakes", "pages", "report", "grading_report", "labelling", "tuning", "widgets", "lab", "testing", "pytest_plugin",
    "cli", "__init__", "__main__",
)  # fmt: skip
GROUP = {name: rank for rank, names in enumerate((CORE, EDGES, ON_TOP)) for name in names}
MODULES = sorted(
    [path.stem for path in PACKAGE.glob("*.py")] + [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
)
FOREIGN_TO_CORE = {"matplotlib", "ipywidgets", "torch", "sentence_transformers", "pathlib", "os", "tempfile", "sqlite3"}


def nodes(module: str) -> Iterator[ast.AST]:
    """The code of a module, or of all files of a package."""
    folder = PACKAGE / module
    for path in sorted(folder.glob("*.py")) if folder.is_dir() else [PACKAGE / f"{module}.py"]:
        yield from ast.walk(ast.parse(path.read_text()))


def imports(module: str) -> set[str]:
    """Dotted names that a module imports, anywhere in its code."""
    found = set()
    for node in nodes(module):
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
    return names & set(MODULES) - {module}


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


@pytest.mark.parametrize("module", sorted({*CORE} & {*MODULES}))
def test_the_core_touches_no_file_model_or_screen(module):
    assert not {name.split(".")[0] for name in imports(module)} & FOREIGN_TO_CORE
    calls = [node.func for node in nodes(module) if isinstance(node, ast.Call)]
    called = {function.id for function in calls if isinstance(function, ast.Name)}
    assert "open" not in called


def test_heavy_packages_are_not_imported_with_the_package(run_python):
    heavy = "torch, sentence_transformers, transformers, matplotlib, sklearn, IPython, pyarrow, nltk, openai"
    out = run_python(f"import sys, calibkit.cli; print([m for m in '{heavy}'.split(', ') if m in sys.modules])")
    assert out.strip() == "[]"
