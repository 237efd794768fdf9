"""What two thresholds do, and how it is written.

Shares are written from whole numbers, halves up: a browser that follows the same rule shows the same digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from calibkit.bands import Bands
from calibkit.pairs import InputError

Side = Literal["pass", "fail"]
SIDES: Final[tuple[Side, Side]] = ("pass", "fail")
MICRO: Final = 10**6
"""Prices are counted in millionths."""


def percent(part: int, whole: int) -> str:
    r"""Write a share to a tenth of a percent.

    >>> percent(1, 8), percent(1, 16), percent(0, 0)
    ('12.5\xa0%', '6.3\xa0%', '–')
    """
    return f"{_rounded(1000 * part, whole, 1)}\u00a0%" if whole else "–"


def share(part: int, whole: int) -> str:
    r"""Write a count with its share.

    >>> share(1, 8)
    '1 of 8 (12.5\xa0%)'
    """
    return f"{part} of {whole} ({percent(part, whole)})" if whole else "–"


def amount(units: int, whole: int) -> str:
    """Write a sum to a hundredth.

    >>> amount(2, 3), amount(5, 0)
    ('0.67', '–')
    """
    return _rounded(100 * units, whole, 2) if whole else "–"


def _rounded(part: int, whole: int, places: int) -> str:
    digits = str((2 * part + whole) // (2 * whole)).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def span(low: float, high: float) -> str:
    r"""Write an interval of shares.

    >>> span(0.9012, 1.0)
    '90.1 to 100.0\xa0%'
    """
    return f"{100 * low:.1f} to {100 * high:.1f}\u00a0%"


def cut_text(threshold: float | None) -> str:
    """Write a threshold."""
    return "none" if threshold is None else f"{threshold:.10g}"


@dataclass(frozen=True, slots=True)
class Prices:
    """What calls and mistakes cost, in any one currency."""

    call: float = 0.01
    """A call of the judge, or a person's look at an answer."""
    false_pass: float = 1.0
    false_fail: float = 0.1
    votes: int = 1
    """Calls for each answer that is left to review."""

    def __post_init__(self) -> None:
        for name in ("call", "false_pass", "false_fail"):
            price = getattr(self, name)
            if isinstance(price, bool) or not isinstance(price, int | float) or not 0 <= price <= MICRO:
                raise InputError(f"the price {name} is {price!r}; give a number from 0 to a million")
        if isinstance(self.votes, bool) or not isinstance(self.votes, int) or not 1 <= self.votes <= 99:
            raise InputError(f"votes is {self.votes!r}; give a whole number from 1 to 99")

    def in_millionths(self) -> dict[str, int]:
        """The price of a false pass, of a false fail, and of the review of an answer, as whole numbers."""
        names = {"false_pass": self.false_pass, "false_fail": self.false_fail, "review": self.call}
        prices = {name: round(price * MICRO) for name, price in names.items()}
        return {**prices, "review": prices["review"] * self.votes, "votes": self.votes}


@dataclass(frozen=True, slots=True)
class Step:
    """What one place of one handle does by itself."""

    cut: float | None
    """The threshold that is shown and exported; None: the score decides nothing on this side."""
    decided: int
    """Labelled answers that it passes (fails), with those decided before the score."""
    wrong: int
    """Those among them that a person rejects (accepts), or cannot say."""
    findable: int
    """All acceptable labelled answers (all that are not acceptable)."""
    right_band: tuple[float, float] | None
    """Band of the share of the decided that is right: a picture, no promise. None where nothing is decided."""
    found_band: tuple[float, float] | None
    """Band of the share of the findable that is found: a picture, no promise."""
    pool: int
    """Answers of the whole pool that it passes (fails)."""
    certified: bool
    why: str
    """What makes it certified, or keeps it from being so, in counts."""
    reason: str
    """What a policy's evidence says of it where it is not certified."""
    slices: tuple[str, ...]
    """Tags whose answers miss the target while all together meet it, in counts."""

    @property
    def right(self) -> int:
        """Labelled answers that it decides as a person does."""
        return self.decided - self.wrong

    @property
    def standing(self) -> str:
        """How it stands, as far as the words of the promise depend on it."""
        return ("certified" if self.certified else "uncertified") + (" early" if self.cut is None else "")

    def texts(self) -> dict[str, str]:
        """Its figures as they are shown: the share that is right, the share that is found, the wrong ones."""
        right, found, wrong = "–", "–", f"{self.wrong} of {self.decided}"
        if self.right_band is not None:
            low, high = self.right_band
            right = f"{percent(self.right, self.decided)} ({span(low, high)})"
            wrong += f" ({percent(self.wrong, self.decided)}; {span(1 - high, 1 - low)})"
        if self.found_band is not None:
            found = f"{percent(self.right, self.findable)} ({span(*self.found_band)})"
        return {"cut": cut_text(self.cut), "right": right, "found": found, "wrong": wrong, "why": self.why}


@dataclass(frozen=True)
class Figures:
    """What both handles do together."""

    passes: Step
    fails: Step
    labelled: int
    """Labelled answers that are shown, those without a score among them."""
    pool: int
    """All answers of the pool, labelled or not."""
    sentence: str
    """The promise, as an exported policy would hold it."""
    prices: Prices

    @property
    def bands(self) -> Bands:
        """The two thresholds."""
        return Bands(self.passes.cut, self.fails.cut)

    @property
    def review(self) -> int:
        """Labelled answers that neither side decides."""
        return self.labelled - self.passes.decided - self.fails.decided

    @property
    def pool_review(self) -> int:
        """Answers of the pool that neither side decides."""
        return self.pool - self.passes.pool - self.fails.pool

    @property
    def precision(self) -> float | None:
        """Share of the labelled passes that a person accepts."""
        return self.passes.right / self.passes.decided if self.passes.decided else None

    @property
    def recall(self) -> float | None:
        """Share of the acceptable labelled answers that pass."""
        return self.passes.right / self.passes.findable if self.passes.findable else None

    def texts(self) -> dict[str, str]:
        """Every figure as it is shown."""
        passes, fails, price = self.passes, self.fails, self.prices.in_millionths()
        errors = price["false_pass"] * passes.wrong + price["false_fail"] * fails.wrong
        return {
            **{f"pass_{name}": text for name, text in passes.texts().items()},
            **{f"fail_{name}": text for name, text in fails.texts().items()},
            "passed": share(passes.decided, self.labelled),
            "failed": share(fails.decided, self.labelled),
            "review": share(self.review, self.labelled),
            "pool_passed": share(passes.pool, self.pool),
            "pool_failed": share(fails.pool, self.pool),
            "pool_review": share(self.pool_review, self.pool),
            "judge_calls": amount(1000 * self.pool_review * price["votes"], self.pool),
            "judge_cost": amount(1000 * self.pool_review * price["review"], self.pool * MICRO),
            "expected_cost": amount(1000 * (errors + self.review * price["review"]), self.labelled * MICRO),
            "sentence": self.sentence,
        }
