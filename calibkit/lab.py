"""The notebooks: copied into a folder of the user's own, with the shipped set, and opened in JupyterLab."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from calibkit.pairs import InputError

SHIPPED_SET: Final = "support_desk"


def _shipped(kind: str) -> Path:
    """The folder of notebooks or sets: in the installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    for folder in (package / "share" / kind, package.parent / kind):
        if folder.is_dir():
            return folder
    raise InputError(f"{package}: the {kind} did not come with this installation; install calibkit again")


def prepare_lab(folder: Path, own_set: Path | None = None) -> list[str]:
    """Copy the notebooks, and the shipped set where none is given; what is there already stays.

    Returns
    -------
    list of str
        What was done, a line each.

    Raises
    ------
    InputError
        Where the folder cannot be written, or the given set is not there.
    """
    if own_set is not None and not own_set.exists():
        raise InputError(f"{own_set}: there is no such set; mend the path")
    lines = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for notebook in sorted(_shipped("notebooks").glob("*.ipynb")):
            target = folder / notebook.name
            lines.append(f"{target} {'kept as it was' if target.exists() else 'copied'}")
            if not target.exists():
                text = notebook.read_text(encoding="utf-8")
                if own_set is not None:  # a JSON string within a JSON string
                    text = text.replace(f'\\"{SHIPPED_SET}\\"', json.dumps(json.dumps(str(own_set.resolve())))[1:-1])
                target.write_text(text, encoding="utf-8")
        if own_set is None:
            target = folder / SHIPPED_SET
            lines.append(f"{target} {'kept as it was' if target.exists() else 'copied'}")
            if not target.exists():
                shutil.copytree(_shipped("labelled_pairs") / SHIPPED_SET, target)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); name another folder (--folder)") from None
    return lines


def open_lab(folder: Path) -> int:
    """Run JupyterLab on the folder until it is closed; gives its exit status.

    Raises
    ------
    InputError
        Where JupyterLab is not installed.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise InputError("the notebooks need JupyterLab: pip install 'calibkit[notebooks]'")
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder.resolve()}"]
    return subprocess.run(command, check=False).returncode
