"""Tuning by eye: what every threshold does and promises, computed once, so that moving a handle is looking up a row.

Free of any widget: whoever shows it, or tests it, sets a handle and reads the figures.
"""

from calibkit.tuning.figures import Figures, Prices, Step
from calibkit.tuning.kinds import KINDS, Mistake, Mistakes, tell_kind
from calibkit.tuning.session import Setup, Tuning
from calibkit.tuning.table import TuningTable

__all__ = ["KINDS", "Figures", "Mistake", "Mistakes", "Prices", "Setup", "Step", "Tuning", "TuningTable", "tell_kind"]
