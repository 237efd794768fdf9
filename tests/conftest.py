import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from calibkit.cli import main

settings.register_profile("calibkit", deadline=None)  # no test asserts a time
settings.load_profile("calibkit")

SHARED = Path(__file__).parents[2] / "shared"
SUPPORT_DESK = Path(__file__).parents[1] / "labelled_pairs" / "support_desk"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    """No test reads or fills the user's cache of vectors; the tests share one of their own."""
    monkeypatch.setenv("CALIBKIT_CACHE", str(tmp_path_factory.getbasetemp() / "vectors"))


@pytest.fixture
def run_python():
    """Run code in a fresh interpreter; gives its standard output."""

    def run(code: str) -> str:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
        return done.stdout

    return run


@pytest.fixture
def calibkit(tmp_path, monkeypatch, capsys):
    """Run the command line in a folder of its own; gives (exit status, standard output, standard error)."""

    def run(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["calibkit", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def write_pairs(tmp_path):
    """Write records as JSONL; gives the path."""

    def write(records, name="pairs.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    return write


@pytest.fixture
def clear_cut():
    """A hundred questions, answered in the reference's words (accepted) but for every fifth (rejected)."""
    return [
        {
            "id": f"a{n}",
            "question": f"question {n}",
            "references": [f"part{n} costs {n} crowns"],
            "candidate": f"part{n} it costs {n} crowns" if n % 5 else "something else altogether",
            "acceptable": bool(n % 5),
        }
        for n in range(100)
    ]
