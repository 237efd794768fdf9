"""Numerals: numbers as they are written, in digits or words, with every reading that a locale allows.

What is refused rather than guessed: separators with several readings, groups of the wrong size, digits of several
scripts, ratios that are no fractions in lowest terms ("120/80", "10/10"), seasons ("2024/25").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from calibkit.values.reading import LONGEST, Kind, Reading, Value, decimal_text, language_of, parse_locale, unreadable
from calibkit.values.words import (
    WORD_ENDS,
    minus_spelling,
    multipliers,
    part_spelling,
    read_part,
    read_words,
    word_spelling,
)

# --- how a locale separates digits ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Style:
    """One way to separate the digits of a number; told apart by identity, which is fast."""

    group: str
    decimal: str
    sizes: tuple[int, int] = (3, 3)
    """How many digits stand in the last group and in those before."""

    @property
    def spelling(self) -> str:
        """The source of a regex for an unsigned decimal, its parts as groups `whole` and `decimals`."""
        last, others = self.sizes
        group, decimal = re.escape(self.group), re.escape(self.decimal)
        grouped = rf"[1-9]\d{{0,{others - 1}}}(?:{group}\d{{{others}}})*{group}\d{{{last}}}"
        return rf"(?P<whole>{grouped}|\d+|(?={decimal}\d))(?:{decimal}(?P<decimals>\d+))?"


# Those of all locales in CLDR, with its marks levelled as rung 1 does.
_ARABIC: Final = Style("٬", "٫")
_STYLES: Final = (
    *(Style(",", "."), Style(".", ","), Style(" ", ","), Style(" ", "."), Style("'", "."), Style("'", ",")),
    *(Style(",", ".", (3, 2)), _ARABIC),
)


@lru_cache(maxsize=64)
def styles(locale: str | None) -> tuple[Style, ...]:
    """The ways in which a locale separates digits; without a locale, all that there are.

    >>> [(style.group, style.decimal) for style in styles("de_CH")]
    [("'", '.'), ('٬', '٫')]
    """
    if locale is None:
        return _STYLES
    known = parse_locale(locale)
    sizes = known.decimal_formats[None].grouping
    found: dict[tuple[str, str, tuple[int, int]], Style] = {}
    for system in (known.default_numbering_system, "latn"):
        symbols = known.number_symbols.get(system, {})
        if "decimal" not in symbols:
            continue
        group, decimal = symbols["group"], symbols["decimal"]
        group = " " if group.isspace() else "'" if group == "’" else group
        of_money = symbols.get("currencyGroup", group), symbols.get("currencyDecimal", decimal)
        marks = [(group, decimal, sizes), (*of_money, sizes)]
        if sizes == (3, 2):
            marks.append((group, decimal, (3, 3)))
        found |= {mark: Style(*mark) for mark in marks if mark not in found}
    return (*found.values(), _ARABIC)


# --- numerals -------------------------------------------------------------------------------------

_EXPONENT: Final = r"(?:[eE]|أس| ?[x×*·⋅] ?10\^)[-+]?\d{1,9}"
_SEPARATOR = re.compile(r"[.,'٫٬](?=\d)")
# A date, a version, an address: digits that are no number at all.
OTHER_DIGITS = re.compile(r"\d{1,4}([.-])\d{1,2}\1\d{1,4}|(?!\d{1,3}(?:\.\d{3})+$)\d+(?:\.\d+){2,}")


@lru_cache(maxsize=64)
def numeral_spelling(locale: str | None, *, of_money: bool = False) -> str:
    r"""The source of a regex for a numeral in running text: it matches the whole of it, or nothing.

    Sign, separators, fraction, exponent, multiplier and number words belong to it; whether it can be
    read is for `read_magnitude` to say.

    >>> spelling = re.compile(numeral_spelling("en_US"))
    >>> [spelling.match(text)[0] for text in ("2,750.40 km", "1 1/4 cups", "3.5M", "1.6 x 10^19", "two dozen eggs")]
    ['2,750.40', '1 1/4', '3.5M', '1.6 x 10^19', 'two dozen']
    >>> [spelling.match(text)[0] for text in ("5 MB", "5 m")]
    ['5', '5']
    """
    # A space may group anywhere: whether it does in this locale is for the reader to say.
    spaced = rf"\d{{1,3}}(?: \d{{3}}(?![\d/']){WORD_ENDS})++(?:[.,]\d++)?+"
    separated = r"(?:(?<![\w.,])[.,٫])?\d++(?:[.,٫٬]\d++|'\d{3}(?!\d))*+"
    plain = rf"(?:{spaced}|{separated})(?:{_EXPONENT}(?!\d))?+"
    mixed = r"\d{1,9}+ \d{1,2}/\d{1,3}(?!\d)"
    fraction = r"\d{1,15}/\d{1,15}(?!\d)"
    power = r"10\^[-+]?\d{1,9}(?!\d)"
    times = multipliers(locale, of_money=of_money).spelling
    part = part_spelling(locale)
    digits = rf"(?>{mixed}|{fraction}|{power}|{plain})(?![:/^]\d)(?:{part})?+(?:{times}){{0,2}}+(?!{part})"
    # "5 minus 3" takes away, "minus 3" is a number.
    sign = rf"(?:[-+]|(?<!\d )(?<!\) ){minus_spelling(locale)})"
    return rf"(?>(?:{sign}?+{digits}|(?:(?<!\d ){minus_spelling(locale)})?+{word_spelling(locale)})(?!_))"


@lru_cache(maxsize=64)
def _shape(locale: str | None, of_money: bool) -> re.Pattern[str]:
    return re.compile(numeral_spelling(locale, of_money=of_money))


def is_numeral(text: str, locale: str | None, *, of_money: bool = False) -> bool:
    """Whether a text has the shape of a numeral, readable or not.

    >>> is_numeral("12,34", "en_US"), is_numeral("twelve", "en_US"), is_numeral("12 km", "en_US")
    (True, True, False)
    """
    return _shape(locale, of_money).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _numeral(locale: str | None, style: Style, of_money: bool) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<sign>[-+]|{minus_spelling(locale)})?"
        r"(?:(?:(?P<units>\d{1,9}) (?=[1-9]\d?/))?(?P<over>\d{1,15})/(?P<under>\d{1,15})"
        rf"|{style.spelling}(?:(?:[eE]|أس| ?[x×*·⋅] ?10\^)(?P<power>[-+]?\d{{1,9}}))?"
        r"|10\^(?P<ten>[-+]?\d{1,9}))"
        rf"(?P<part>{part_spelling(locale)})?"
        rf"(?P<times>(?:{multipliers(locale, of_money=of_money).spelling}){{0,2}})"
    )


@lru_cache(maxsize=64)
def _multiplier(locale: str | None, of_money: bool) -> re.Pattern[str]:
    return re.compile(multipliers(locale, of_money=of_money).spelling)


@lru_cache(maxsize=64)
def _minus(locale: str | None) -> re.Pattern[str]:
    return re.compile(minus_spelling(locale))


def _latin_digits(text: str) -> str | None:
    # None: digits of several scripts.
    scripts, written = set(), []
    for character in text:
        if character.isdecimal():
            figure = unicodedata.decimal(character)
            scripts.add(ord(character) - figure)
            character = str(figure)
        written.append(character)
    return "".join(written) if len(scripts) < 2 else None


def magnitudes(text: str, locale: str | None, *, of_money: bool = False) -> dict[Style, Fraction]:
    """The number that a numeral stands for in each style in which it can be read.

    >>> [(style.group, str(value)) for style, value in magnitudes("1.234,5", None).items()]
    [('.', '2469/2')]
    """
    if len(text) > LONGEST:
        return {}
    if text.isascii():
        if text.isdecimal():
            return dict.fromkeys(styles(locale), Fraction(int(text)))
    elif (latin := _latin_digits(text)) is not None:
        text = latin
    else:
        return {}
    minus = _minus(locale).match(text)
    if (said := read_words(text[minus.end() :] if minus else text, locale)) is not None:
        return dict.fromkeys(styles(locale), -said if minus else said)
    found: dict[Style, Fraction] = {}
    separators = frozenset(_SEPARATOR.findall(text))
    same = not separators and " " not in text
    for style in styles(locale):
        if not separators <= {style.group, style.decimal}:
            continue
        match = _numeral(locale, style, of_money).fullmatch(text)
        value = _evaluate(match, locale, of_money) if match else None
        if value is not None:
            if same:
                return dict.fromkeys(styles(locale), value)
            found[style] = value
    return found


def _evaluate(match: re.Match[str], locale: str | None, of_money: bool) -> Fraction | None:
    sign, units, over, under, whole, decimals, power, ten, part, times = match.groups()
    if whole is not None:
        decimals = decimals or ""
        value = Fraction(int("".join(filter(str.isdecimal, whole)) + decimals), 10 ** len(decimals))
    elif under:
        fraction = _fraction(int(over), int(under), mixed=units is not None)
        if fraction is None or part:
            return None
        value = fraction + int(units or 0)
    else:
        value = Fraction(1)
    if power := power or ten:
        if abs(int(power)) > LONGEST or part or times:
            return None
        value *= Fraction(10) ** int(power)
    if part:
        if decimals:
            return None
        value += read_part(part, locale)
    if times:
        before = 1
        for word in _multiplier(locale, of_money).findall(times):
            factor = multipliers(locale, of_money=of_money).factor(word.strip(" -")) or 0
            if factor <= before:
                return None
            value, before = value * factor, factor
    return -value if sign and sign != "+" else value


def _fraction(over: int, under: int, *, mixed: bool = False) -> Fraction | None:
    if under == 0 or (mixed and not over < under < 1000):
        return None
    value = Fraction(over, under)
    # A season is no fraction, nor are ratings and ratios (10/10, 120/80).
    season = over > 1000 and (under == over + 1 or under == (over + 1) % 100)
    return None if season or (over >= under and value.denominator != under) else value


def distinct(found: Mapping[Style, Fraction]) -> list[Fraction]:
    """The numbers that were found, each once."""
    one = next(iter(found.values()))
    if all(value is one for value in found.values()):
        return [one]
    return list(dict.fromkeys(found.values()))


def read_magnitude(text: str, locale: str | None) -> tuple[tuple[Fraction, ...], str] | None:
    """Every number that a bare numeral, or number words, may stand for.

    Returns
    -------
    (magnitudes, reason)
        The distinct ones, and why there is not exactly one; None where the text is no numeral.

    Examples
    --------
    >>> read_magnitude("2,750.50", None)
    ((Fraction(5501, 2),), '')
    >>> read_magnitude("2,750", None)
    ((Fraction(2750, 1), Fraction(11, 4)), "the separators of '2,750' have several readings")
    >>> read_magnitude("7.50", "de_DE")
    ((), "'7.50' is not written as numbers are in de_DE")
    >>> print(read_magnitude("apples", None))
    None
    """
    if read := magnitudes(text, locale):
        found = tuple(distinct(read))
        return found, "" if len(found) == 1 else f"the separators of {text!r} have several readings"
    return refused_numeral(text, locale)


def refused_numeral(text: str, locale: str | None) -> tuple[tuple[()], str] | None:
    """No numbers, and why, for a text of a numeral's shape that is none; None for any other text."""
    if len(text) > LONGEST:
        return ((), f"longer than {LONGEST} characters") if text.lstrip("+-")[:1].isdecimal() else None
    if OTHER_DIGITS.fullmatch(text) or not is_numeral(text, locale):
        return None
    return (), f"{text!r} is not written as numbers are" + (f" in {locale}" if locale else " anywhere")


# --- amounts ---------------------------------------------------------------------------------------


def amount(kind: Kind, low: Fraction, high: Fraction | None = None, unit: str | None = None) -> Value:
    """A number, a percentage or money; with `high`, a range of them.

    >>> amount("percent", Fraction(5), unit="%").canonical, amount("money", Fraction(3), Fraction(5), "EUR").canonical
    ('5%', 'EUR 3..5')
    """
    figures = decimal_text(low) if high is None else f"{decimal_text(low)}..{decimal_text(high)}"
    canonical = f"{figures}%" if unit == "%" else f"{unit} {figures}" if unit else figures
    return Value(kind, canonical, low, low if high is None else high, unit, low if high is None else None)


def reading_of(values: Iterable[Value], text: str) -> Reading:
    """The reading of a text that may stand for some amounts: unreadable where one of them cannot be written."""
    found = {value.canonical: value for value in values}
    if not all(_fits(value.low) and (value.high is value.low or _fits(value.high)) for value in found.values()):
        return unreadable(f"{text!r} is too large, too small or too odd to be written out")
    return Reading(tuple(found.values()), "" if len(found) == 1 else f"{text!r} has several readings")


def _fits(number: Fraction | None) -> bool:
    # Canonical texts must read back.
    if not number:
        return True
    over, under = abs(number.numerator), number.denominator
    if max(over, under) >= _HUGE:
        return False
    written_out = under == 1 or "/" not in decimal_text(number)
    return written_out or (max(over, under) < 10**15 and _fraction(over, under) is not None)


_HUGE: Final = 10 ** (LONGEST // 2 - 10)


# --- beside a number ------------------------------------------------------------------------------

BEFORE: Final = (
    r"(?<![^\W\u2e80-\uffdc])(?<![\^$€£¥%‰<>≤≥≈~±×])(?<!\d[.,:/'+-])(?<!\w-)(?<![<>≤≥≈~±] )(?<![<>]=)(?<![<>]= )"
)
"""The source of a regex for where a value may begin: not within a word or a number, nor behind a bound."""
AFTER: Final = rf"{WORD_ENDS}(?![-.,:/^×]?\d)"
"""The source of a regex for where a value may end."""
BOUND: Final = r"(?:(?:[<>]=?|[≤≥≈~±]) ?)"
"""The source of a regex for the signs that make a number a bound or a guess."""


_BOUND_SIGN = re.compile(rf"^{BOUND}|(?<=[\w%])\+$")
_BOUND_WORDS = re.compile(
    r"(?:about|around|approx(?:\.|imately)?|circa|ca\.?|roughly|nearly|almost|over|under|above|below|(?:more|less|fewer)"
    r" than|at (?:least|most)|no (?:more|less|fewer) than|up to|min(?:\.|imum)?|max(?:\.|imum)?) (?P<behind>.*)"
    r"|(?P<before>.*?)(?: or (?:more|less|fewer|over|under|older|younger|higher|lower|above|below)"
    r"| (?:and|&) (?:up|over|older|above|more)| at (?:least|most)|ish|-ish)",
    re.IGNORECASE | re.DOTALL,
)


def without_bound(text: str, locale: str | None) -> str:
    """The text without the sign or words that make what it holds a bound or a guess.

    >>> [without_bound(text, None) for text in ("<65", "about 5", "5 or more", "65")]
    ['65', '5', '5', '65']
    """
    bare = _BOUND_SIGN.sub("", text, count=1)
    if bare == text and language_of(locale) == "en" and (worded := _BOUND_WORDS.fullmatch(text)):
        bare = worded["behind"] or worded["before"]
    return bare


@lru_cache(maxsize=64)
def several_spelling(locale: str | None) -> str:
    """The source of a regex for what stands between two of several values: "5 or 6", "5; 6"."""
    return r"(?:,? (?i:and|or|et|ou|und|oder|y|o|e|en|of) |,? & |[,;]? |/)"
