"""calibkit: certified pass/fail thresholds for graded answers."""

from calibkit.calibration import Calibration, HandSet, calibrate, load_cascade
from calibkit.cascade import Cascade, Verdict
from calibkit.certificate import boundary, certify
from calibkit.curve import compute_curve
from calibkit.embedding import load_embedder
from calibkit.pairs import AnswerPair, InputError, PairSet
from calibkit.policy import Policy
from calibkit.scorers import Scorer, Scores, score_pairs
from calibkit.store import Columns, load_pairs, load_policy

__version__ = "0.1.0"

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
    "score_pairs",
]
