"""calibkit: certified pass/fail thresholds for graded answers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibkit.calibration import Calibration, HandSet, calibrate, load_cascade
    from calibkit.cascade import Cascade, Verdict
    from calibkit.certificate import boundary, certify
    from calibkit.curve import compute_curve
    from calibkit.embedding import load_embedder
    from calibkit.judge_client import open_judge
    from calibkit.pairs import AnswerPair, InputError, PairSet
    from calibkit.policy import Policy
    from calibkit.scorers import Scorer, Scores, score_pairs
    from calibkit.store import Columns, load_pairs, load_policy

__version__ = "0.1.0"

_ROOMS = {
    "calibration": ("Calibration", "HandSet", "calibrate", "load_cascade"),
    "cascade": ("Cascade", "Verdict"),
    "certificate": ("boundary", "certify"),
    "curve": ("compute_curve",),
    "embedding": ("load_embedder",),
    "judge_client": ("open_judge",),
    "pairs": ("AnswerPair", "InputError", "PairSet"),
    "policy": ("Policy",),
    "scorers": ("Scorer", "Scores", "score_pairs"),
    "store": ("Columns", "load_pairs", "load_policy"),
}

__all__ = [
    "AnswerPair",
    "Calibration",
    "Cascade",
    "Columns",
    "HandSet",
    "InputError",
    "PairSet",
    "Policy",
    "Scorer",
    "Scores",
    "Verdict",
    "boundary",
    "calibrate",
    "certify",
    "compute_curve",
    "load_cascade",
    "load_embedder",
    "load_pairs",
    "load_policy",
    "open_judge",
    "score_pairs",
]


def __getattr__(name: str) -> Any:
    """Import a room when something of it is first asked for: pytest loads the package for its plug-in in every run."""
    for room, names in _ROOMS.items():
        if name in names:
            return getattr(import_module(f"calibkit.{room}"), name)
    raise AttributeError(f"module 'calibkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
