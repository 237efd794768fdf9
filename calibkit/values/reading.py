"""What reading a value gives: exactly one value, several (ambiguous), or none that makes sense (unreadable)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal

from babel import Locale
from babel.core import UnknownLocaleError

Kind = Literal["number", "ordinal", "range", "percent", "money", "date", "time", "quantity", "identifier"]

LONGEST: Final = 200
"""Characters that a value may be written in; longer runs are unreadable."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value, exactly."""

    kind: Kind
    canonical: str
    """The value as text: the same value has the same text, and reading it gives the same value."""
    low: Fraction | None = None
    """The magnitude in `unit` (a range: its lower end); None for dates, times and identifiers."""
    high: Fraction | None = None
    """The upper end of a range; else as `low`."""
    unit: str | None = None
    """The currency (ISO 4217), "%", or the base unit of a quantity."""
    stated: Fraction | None = None
    """The magnitude in the unit that was written: 36 for 36 yards."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Every distinct value that a text may stand for.

    Examples
    --------
    >>> Reading.of([Value("date", "2026-03-04"), Value("date", "2026-04-03")], "day or month first").outcome
    'ambiguous'
    """

    values: tuple[Value, ...]
    reason: str = ""
    """Why there is not exactly one."""

    @classmethod
    def of(cls, values: Iterable[Value], reason: str = "") -> Reading:
        """The distinct ones of some values, in their order."""
        distinct = tuple(dict.fromkeys(values))
        return cls(distinct, "" if len(distinct) == 1 else reason)

    @property
    def outcome(self) -> Literal["value", "ambiguous", "unreadable"]:
        """Whether there is one value, several, or none."""
        return "value" if len(self.values) == 1 else "ambiguous" if self.values else "unreadable"

    @property
    def value(self) -> Value | None:
        """The value; None where there is not exactly one."""
        return self.values[0] if len(self.values) == 1 else None


def unreadable(reason: str) -> Reading:
    """A text of the right shape that no value can have."""
    return Reading((), reason)


@lru_cache(maxsize=64)
def parse_locale(name: str) -> Locale:
    """Look a locale up by its name, as in en_US or de-CH.

    Raises
    ------
    ValueError
        For a name that CLDR does not know.
    """
    try:
        return Locale.parse(name.replace("-", "_"))
    except (UnknownLocaleError, ValueError, TypeError):
        raise ValueError(f"there is no locale {name!r}; a locale is written as in en_US, de_DE, fr") from None


@lru_cache(maxsize=64)
def language_of(locale: str | None) -> str:
    """The language whose words count: that of the locale, else English.

    >>> language_of("de_CH"), language_of(None)
    ('de', 'en')
    """
    return "en" if locale is None else parse_locale(locale).language


def decimal_text(number: Fraction, digits: int | None = None) -> str:
    """Write a fraction as a plain decimal where that is exact, else as n/d, or to so many significant digits.

    >>> decimal_text(Fraction(5, 4)), decimal_text(Fraction(-2, 3)), decimal_text(Fraction(250, 9), 12)
    ('1.25', '-2/3', '27.7777777778')
    """
    rest, twos, fives = number.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        if digits is None:
            return f"{number.numerator}/{number.denominator}"
        whole = len(str(abs(number.numerator) // number.denominator)) if abs(number) >= 1 else 0
        places = max(digits - whole, 0)
        while whole == 0 and abs(number) * 10**places < 10 ** (digits - 1):
            places += 1
        return decimal_text(Fraction(round(number * 10**places), 10**places))
    places = max(twos, fives)
    scaled = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    text = f"{scaled[:-places]}.{scaled[-places:]}" if places else scaled
    return f"-{text}" if number < 0 else text
