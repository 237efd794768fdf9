"""Numbers, ordinals, ranges and percentages in texts.

What is refused rather than guessed, besides what numerals.py refuses: bounds ("<65", "5+"), several numbers ("7 or 8"),
Roman numerals that are words as well ("MIX", "CD", "I"), a range whose upper end alone names a multiplier ("3-5
million"), percentage points.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

from calibkit.values.numerals import (
    AFTER,
    BEFORE,
    BOUND,
    OTHER_DIGITS,
    amount,
    distinct,
    is_numeral,
    magnitudes,
    numeral_spelling,
    read_magnitude,
    reading_of,
    refused_numeral,
    several_spelling,
    without_bound,
)
from calibkit.values.reading import LONGEST, Reading, language_of, parse_locale, unreadable
from calibkit.values.words import (
    WORD_ENDS,
    first_words,
    multipliers,
    ordinal_word_spelling,
    read_ordinal_words,
    read_words,
)

__all__ = [
    "around",
    "around_amounts",
    "brackets_negate",
    "joined",
    "number_spelling",
    "numeral_spelling",
    "ordinal_spelling",
    "percent_spelling",
    "range_amounts",
    "range_ends",
    "range_spelling",
    "read_magnitude",
    "read_number",
    "read_ordinal",
    "read_percent",
    "read_range",
    "trigger_words",
]

# --- numbers --------------------------------------------------------------------------------------

_ROMAN: Final = r"(?=[IVX]{2})(?!XXX?\b)X{0,3}(?:IX|IV|V?I{0,3})\b"
_ROMAN_SHAPE = re.compile(_ROMAN)
_ROMAN_OR_WORD = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_ROMAN_FIGURES: Final = {"I": 1, "V": 5, "X": 10}
# Digits that a number could be made of, and is not: 1_000, 1,,000, - 5.
_ILL_FORMED = re.compile(r"[-+]?(?: (?=\d))?[.,'٫٬]?\d(?:(?!\.\.)[\d.,'٫٬_])*")
_BRACKETED = re.compile(r"\( ?([^()]*?) ?\)")


@lru_cache(maxsize=64)
def brackets_negate(locale: str | None) -> bool:
    """Whether accounts write negative amounts in brackets there.

    >>> brackets_negate("en_US"), brackets_negate("de_DE")
    (True, False)
    """
    if locale is None:
        return True
    formats = parse_locale(locale).currency_formats
    return "accounting" in formats and "(" in str(formats["accounting"].pattern)


@lru_cache(maxsize=64)
def _several(locale: str | None) -> re.Pattern[str]:
    numeral = numeral_spelling(locale)
    return re.compile(rf"{numeral}(?:{several_spelling(locale)}{numeral})++")


def read_number(text: str, locale: str | None) -> Reading | None:
    """Read a text that is one number.

    Examples
    --------
    >>> [read_number(text, "en_US").value.canonical for text in ("2,750.40", "(8)", "4.5 x 10^3", "two dozen", "XIV")]
    ['2750.4', '-8', '4500', '24', '14']
    >>> [read_number(text, None).outcome for text in ("2,750", "<18", "7 or 8", "1/0")]
    ['ambiguous', 'unreadable', 'unreadable', 'unreadable']
    >>> print(read_number("24.12.2025", "de_DE"), read_number("none", None))
    None None
    """
    if found := magnitudes(text, locale):
        return reading_of([amount("number", value) for value in distinct(found)], text)
    if refused := refused_numeral(text, locale):
        return unreadable(refused[1])
    if len(text) > LONGEST or OTHER_DIGITS.fullmatch(text):
        return None
    if bracketed := _BRACKETED.fullmatch(text):
        return _read_bracketed(bracketed[1], locale)
    if ends_sentence(text) and language_of(locale) not in _DOTTED_ORDINALS:
        return read_number(text[:-1], locale)
    if roman := _read_roman(text):
        return roman
    if (bare := without_bound(text, locale)) != text and is_numeral(bare, locale):
        return unreadable(f"{text!r} is a bound or a guess, not one number")
    if _ILL_FORMED.fullmatch(text):
        return unreadable(f"{text!r} is not written as numbers are")
    return unreadable(f"{text!r} holds several numbers") if _several(locale).fullmatch(text) else None


def ends_sentence(text: str) -> bool:
    """Whether a text ends in a full stop, and in one alone.

    >>> ends_sentence("$5."), ends_sentence("and so on ..."), ends_sentence(".")
    (True, False, False)
    """
    return text.endswith(".") and text[-2:-1] not in ("", ".", " ")


def _read_bracketed(text: str, locale: str | None) -> Reading | None:
    found = magnitudes(text, locale) if text[:1].isdecimal() else {}
    if not found:
        return None
    if not brackets_negate(locale):
        return unreadable(f"brackets around a number do not say whether it is negative in {locale}")
    return reading_of([amount("number", -value) for value in distinct(found)], text)


def _read_roman(text: str) -> Reading | None:
    if _ROMAN_SHAPE.fullmatch(text):
        figures = [_ROMAN_FIGURES[letter] for letter in text]
        pairs = zip(figures, [*figures[1:], 0], strict=True)
        total = sum(-figure if figure < following else figure for figure, following in pairs)
        return reading_of([amount("number", Fraction(total))], text)
    if len(text) > 1 and _ROMAN_OR_WORD.fullmatch(text):
        return unreadable(f"{text!r} is a Roman number or a word")
    return None


@lru_cache(maxsize=64)
def number_spelling(locale: str | None) -> re.Pattern[str]:
    """What may be a number, in running text."""
    return re.compile(rf"{BEFORE}{BOUND}?+(?:{numeral_spelling(locale)}(?:\+(?!\w))?+|{_ROMAN}){AFTER}")


# --- ordinals -------------------------------------------------------------------------------------

_DOTTED: Final = "bs cs da de et eu fi fo hr hu is lb lv nb nn no pl se sk sl sr tr"
_DOTTED_ORDINALS: Final = frozenset(_DOTTED.split())
_ROMANCE_ENDING: Final = r"\.?(?:[oaºª]|er)"
_ENDINGS: Final = {
    "en": "(?:st|nd|rd|th)",
    "fr": "(?:i?[èe]me|[èe]re|re|er|nde|nd|de|d|e)",
    **dict.fromkeys(("es", "pt", "it", "gl"), _ROMANCE_ENDING),
    "nl": "(?:ste|de|e)",
    "sv": ":[ae]",
    **dict.fromkeys(("ru", "uk", "bg"), "-?(?:[йяе]|ый|ая|ое|го|му|ий|ой)"),
    **dict.fromkeys(_DOTTED_ORDINALS, r"\."),
}
_FIGURES: Final = r"\d{1,3}(?:,\d{3})+|\d{1,9}"


@lru_cache(maxsize=64)
def _counted(locale: str | None) -> re.Pattern[str]:
    return re.compile(rf"(?P<figures>{_FIGURES})(?P<ending>{_ENDINGS.get(language_of(locale), '(?!)')})", re.IGNORECASE)


def read_ordinal(text: str, locale: str | None) -> Reading | None:
    """Read a text that is one place in a row; a bare number counts as one, since the canonical form is.

    >>> [read_ordinal(text, "en_US").value.canonical for text in ("2nd", "forty-first", "hundred and tenth", "41")]
    ['2', '41', '110', '41']
    >>> read_ordinal("3th", "en_US").outcome, read_ordinal("3.", "de_DE").value.canonical, read_ordinal("3.", None)
    ('unreadable', '3', None)
    """
    if len(text) > LONGEST:
        return None
    if text.isdecimal() and text.isascii():
        place: int | None = int(text) if len(text) < 10 and (text == "0" or text[0] != "0") else None
    elif counted := _counted(locale).fullmatch(text):
        place = int("".join(filter(str.isdecimal, counted["figures"])))
        if language_of(locale) == "en" and counted["ending"].casefold() != _english_ending(place):
            return unreadable(f"{text!r} has the ending of another number")
    else:
        if _ORDINAL_OR_PART.fullmatch(text) and language_of(locale) == "en":
            return unreadable(f"{text!r} is a place or a fraction")
        place = read_ordinal_words(text, locale)
    return None if place is None else reading_of([amount("ordinal", Fraction(place))], text)


_ORDINAL_OR_PART = re.compile(r"(?:a|one)[ -](?:hundred|thousand|million)th", re.IGNORECASE)


def _english_ending(place: int) -> str:
    return "th" if place // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")


@lru_cache(maxsize=64)
def ordinal_spelling(locale: str | None) -> re.Pattern[str]:
    """What may be an ordinal, in running text."""
    language = language_of(locale)
    ending = rf"(?i:{_ENDINGS.get(language, '(?!)')})"
    if language in _DOTTED_ORDINALS:  # a sentence may end in a number
        ending += "(?= [a-zß-öø-ÿœšžčřěąęłćńśź])"
    return re.compile(rf"{BEFORE}(?:(?:{_FIGURES}){ending}|{ordinal_word_spelling(locale)}){WORD_ENDS}(?!\d)")


# --- ranges ---------------------------------------------------------------------------------------

# What joins two ends: "between" and its "and", "from", and the words for "to".
_JOINS: Final[dict[str, tuple[str, str, str, str]]] = {
    "en": ("between", "and", "from", "to|through"),
    "de": ("zwischen", "und", "von", "bis"),
    "fr": ("entre", "et", "de", "à"),
    "es": ("entre", "y", "de", "a"),
    "it": ("tra|fra", "e", "da", "a"),
    "pt": ("entre", "e", "de", "a"),
    "nl": ("tussen", "en", "van", "tot"),
    "sv": ("mellan", "och", "från", "till"),
    "da": ("mellem", "og", "fra", "til"),
    "nb": ("mellom", "og", "fra", "til"),
    "pl": ("między", "a", "od", "do"),
    "ru": ("между", "и", "от", "до"),
}
_EITHER_SIDE: Final = r" ?(?:±|\+/-| plus or minus ) ?"


@lru_cache(maxsize=64)
def joined(locale: str | None, first: str, second: str) -> str:
    """The source of a regex for two texts that are joined to a range; to stand once in a pattern."""
    both, between, since, until = _JOINS.get(language_of(locale), ("(?!)",) * 4)
    dash = r"\.\.|-| - | ?[~〜] ?|から" if language_of(locale) in ("ja", "zh", "ko") else r"\.\.|-| - "
    return (
        rf"(?:(?P<between>(?i:{both}) )|(?i:{since}) )?+{first}"
        rf"(?:{dash}|(?(between) (?i:{between}|{until}) | (?i:{until}) )){second}"
    )


@lru_cache(maxsize=64)
def _ends(locale: str | None) -> re.Pattern[str]:
    sign = r"(?:(?! )[^\W\d_]{0,4}\.?[^\w\s()+,.<>=/&-]? ?)"
    unit = r"(?:\D{0,40}?[^\s\d])??"
    numeral = numeral_spelling(locale, of_money=True)
    first, second = (rf"(?P<{end}>{sign}?{numeral}{unit})" for end in ("low", "high"))
    return re.compile(joined(locale, first, second))


def range_ends(text: str, locale: str | None) -> tuple[str, str] | None:
    """Split a text at what joins its two ends; None where it is no range.

    >>> range_ends("between 6 and 8 days", "en_US"), range_ends("$6-8", "en_US"), range_ends("6-8-10", "en_US")
    (('6', '8 days'), ('$6', '8'), None)
    """
    if len(text) > LONGEST or not (match := _ends(locale).fullmatch(text)):
        return None
    return match["low"].strip(), match["high"].strip()


def around(text: str) -> tuple[str, str] | None:
    """Split a text into a middle and its margin; None where there is no margin.

    >>> around("7 ± 0.2"), around("7")
    (('7', '0.2'), None)
    """
    halves = re.split(_EITHER_SIDE, text)
    return (halves[0], halves[1]) if len(halves) == 2 and all(halves) else None


@lru_cache(maxsize=64)
def _multiplied(locale: str | None, of_money: bool) -> re.Pattern[str]:
    return re.compile(rf".*?(?P<times>{multipliers(locale, of_money=of_money).spelling})$", re.DOTALL)


def range_amounts(
    ends: tuple[str, str], locale: str | None, *, of_money: bool = False
) -> list[tuple[Fraction, Fraction]] | None:
    """Every rising range between two numerals; None where one of them is no numeral.

    Both are read in one style. A multiplier at the upper end alone may count for the lower one too.

    >>> [(str(low), str(high)) for low, high in range_amounts(("3", "5 million"), None)]
    [('3', '5000000'), ('3000000', '5000000')]
    >>> range_amounts(("5", "3"), None), range_amounts(("3", "x"), None)
    ([], None)
    """
    if not all(is_numeral(end, locale, of_money=of_money) for end in ends):
        return None
    if any(_SERIAL.match(end) for end in ends):
        return []
    lows, highs = (magnitudes(end, locale, of_money=of_money) for end in ends)
    factors = [1]
    ending, (low_text, high_text) = _multiplied(locale, of_money), ends
    if (shared := ending.match(high_text)) and not ending.match(low_text):
        factors.append(multipliers(locale, of_money=of_money).factor(shared["times"].strip(" -")) or 1)
    pairs = [(lows[style] * factor, highs[style]) for style in lows if style in highs for factor in factors]
    return list(dict.fromkeys((low, high) for low, high in pairs if low < high))


# Days of months, parts of a number that names something.
_SERIAL = re.compile(r"0\d")


def around_amounts(
    ends: tuple[str, str], locale: str | None, *, of_money: bool = False
) -> list[tuple[Fraction, Fraction]] | None:
    """Every range that a middle and a margin span; None where one of them is no numeral.

    >>> [(str(low), str(high)) for low, high in around_amounts(("5", "1/2"), None)]
    [('9/2', '11/2')]
    """
    if not all(is_numeral(end, locale, of_money=of_money) for end in ends):
        return None
    middles, margins = (magnitudes(end, locale, of_money=of_money) for end in ends)
    pairs = [(middles[style], margins[style]) for style in middles if style in margins]
    return list(dict.fromkeys((middle - margin, middle + margin) for middle, margin in pairs if margin > 0))


def read_range(text: str, locale: str | None) -> Reading | None:
    """Read a text that is one range of numbers.

    >>> [read_range(text, None).value.canonical for text in ("6-8", "between 6 and 8", "7 ± 0.2", "6..8")]
    ['6..8', '6..8', '6.8..7.2', '6..8']
    >>> read_range("1998-99", None).outcome, read_range("6-8-10", None)
    ('unreadable', None)
    """
    if len(text) > LONGEST:
        return None
    if ends := around(text):
        pairs = around_amounts(ends, locale)
    else:
        ends = range_ends(text, locale)
        pairs = range_amounts(ends, locale) if ends else None
    if pairs is None:
        return read_range(text[:-1], locale) if ends_sentence(text) else None
    if not pairs:
        return unreadable(f"{text!r} does not rise from one number to another")
    return reading_of([amount("range", low, high) for low, high in pairs], text)


@lru_cache(maxsize=64)
def range_spelling(locale: str | None) -> re.Pattern[str]:
    """What may be a range, in running text."""
    numeral = numeral_spelling(locale)
    return re.compile(rf"{BEFORE}(?:{joined(locale, numeral, numeral)}|{numeral}{_EITHER_SIDE}{numeral}){AFTER}")


# --- percentages ----------------------------------------------------------------------------------

_PERCENT_WORDS: Final[dict[str, str]] = {
    "en": r"percent|per cent|pct\.?",
    "de": r"prozent|v\. ?h\.",
    "fr": r"pour ?cent",
    "es": r"por ciento",
    "it": r"per ?cento",
    "pt": r"por cento",
    "nl": r"procent",
    "sv": r"procent",
    "da": r"procent|pct\.?",
    "nb": r"prosent",
    "pl": r"procenta|procent",
    "ru": r"процент(?:а|ов)?",
    "hi": r"प्रतिशत",
    "ja": r"パーセント",
}
_POINTS: Final[dict[str, str]] = {
    "en": r"percentage points?|percent points?|pp|p\.p\.|%[ -]?points?|basis points?|bps?",
    "de": r"prozentpunkte?n?|basispunkte?n?",
    "fr": r"points? de pourcentage|points? de base",
    "es": r"puntos? porcentual(?:es)?|puntos? básicos?",
    "it": r"punt[oi] percentual[ei]|punt[oi] base",
    "pt": r"pontos? percentua(?:l|is)|pontos?[- ]base",
    "nl": r"procentpunt(?:en)?|basispunt(?:en)?",
    "sv": r"procentenhet(?:er)?",
    "da": r"procentpoint",
    "pl": r"punkt(?:y|ów)? procentow(?:y|e|ych)",
    "ru": r"процентн(?:ый|ых|ого) пункт(?:а|ов)?",
}
_PER_MILLE: Final = r"‰|؉"
_PER_MILLE_WORDS: Final = r"per ?mille|per mil|permil|promille"


@lru_cache(maxsize=64)
def _signs(locale: str | None) -> tuple[str, str, str]:
    language = language_of(locale)
    words, points = _PERCENT_WORDS.get(language), _POINTS.get(language, _POINTS["en"])
    percent = rf"[%٪]|(?i:{words}){WORD_ENDS}" if words else "[%٪]"
    return percent, rf"{_PER_MILLE}|(?i:{_PER_MILLE_WORDS}){WORD_ENDS}", rf"(?i:{points}){WORD_ENDS}"


@lru_cache(maxsize=64)
def _sign_leads(locale: str | None) -> bool:
    return locale is None or str(parse_locale(locale).percent_formats[None].pattern).startswith("%")


@lru_cache(maxsize=64)
def _percent(locale: str | None) -> re.Pattern[str]:
    percent, mille, points = _signs(locale)
    behind = rf"(?P<body>.*?) ?(?:(?P<points>{points})|(?P<percent>{percent})|(?P<mille>{mille}))"
    return re.compile(rf"{behind}|(?P<sign>-?)% ?(?P<led>.*)" if _sign_leads(locale) else behind, re.DOTALL)


@lru_cache(maxsize=64)
def _percent_end(locale: str | None) -> re.Pattern[str]:
    return re.compile(rf" ?(?:{_signs(locale)[0]})$")


_OF_ONE = re.compile(r" (?:of )?(?:a|one)$", re.IGNORECASE)
_ANY_SIGN = re.compile("[%٪‰؉]")


def read_percent(text: str, locale: str | None) -> Reading | None:
    """Read a text that is one percentage, or a range of them; per mille are tenths.

    >>> [read_percent(text, "en_US").value.canonical for text in ("12.50 percent", "forty per cent", "7‰", "10-20%")]
    ['12.5%', '40%', '0.7%', '10..20%']
    >>> read_percent("7 percentage points", "en_US").outcome, read_percent("7", None)
    ('unreadable', None)
    """
    if len(text) > LONGEST:
        return None
    match = _percent(locale).fullmatch(text)
    pairs = _percent_amounts(match, locale) if match else None
    if pairs is None:
        return _refuse_percent(text, locale) if match or _ANY_SIGN.search(text) else None
    if match and match["points"]:
        return unreadable(f"{text!r} counts percentage points, not percent")
    if not pairs:
        return unreadable(f"{text!r} is not one percentage")
    scale = Fraction(1, 10) if match and match["mille"] else Fraction(1)
    values = [amount("percent", low * scale, None if high is None else high * scale, unit="%") for low, high in pairs]
    return reading_of(values, text)


def _percent_amounts(match: re.Match[str], locale: str | None) -> list[tuple[Fraction, Fraction | None]] | None:
    parts = match.groupdict()
    body = parts["body"] if parts["body"] is not None else parts["sign"] + parts["led"]
    found = magnitudes(body, locale)
    if not found and parts["percent"] and language_of(locale) == "en" and (part := _OF_ONE.sub("", body)) != body:
        found = magnitudes(part, locale) if read_words(part, locale) else {}
    if found:
        return [(value, None) for value in distinct(found)]
    if is_numeral(body, locale):
        return []
    if ends := around(body):
        middle = _percent_end(locale).sub("", ends[0])
        # "5 ± 1%" may be a hundredth of five.
        return list(around_amounts((middle, ends[1]), locale) or ()) if middle != ends[0] else []
    if ends := range_ends(body, locale):
        low = _percent_end(locale).sub("", ends[0]) if parts["percent"] else ends[0]
        pairs = range_amounts((low, ends[1]), locale)
        return None if pairs is None else list(pairs)
    return None


def _refuse_percent(text: str, locale: str | None) -> Reading | None:
    if (bare := without_bound(text, locale)) != text and read_percent(bare, locale):
        return unreadable(f"{text!r} is a bound or a guess, not one percentage")
    parts = re.split(several_spelling(locale), text)
    if len(parts) > 1 and all(is_numeral(_percent_end(locale).sub("", part), locale) for part in parts):
        return unreadable(f"{text!r} holds several percentages")
    if (bracketed := _BRACKETED.fullmatch(text)) and read_percent(bracketed[1], locale):
        return unreadable(f"brackets around a percentage do not say whether it is negative: {text!r}")
    return read_percent(text[:-1], locale) if ends_sentence(text) else None


@lru_cache(maxsize=64)
def percent_spelling(locale: str | None) -> re.Pattern[str]:
    """What may be a percentage, in running text."""
    percent, mille, points = _signs(locale)
    sign = rf"(?> ?(?:{points}|{percent}|{mille}))"
    numeral = numeral_spelling(locale)
    leading = rf"|[-+]?% ?{numeral}" if _sign_leads(locale) else ""
    ranges = joined(locale, rf"{numeral}{sign}?+", rf"{numeral}{sign}")
    part = rf"(?i:half (?:a|of one)){sign}|" if language_of(locale) == "en" else ""
    margin = rf"{numeral}{sign}?+{_EITHER_SIDE}{numeral}{sign}"
    return re.compile(rf"{BEFORE}{BOUND}?+(?:{part}{ranges}|{margin}|{numeral}\+?{sign}{leading})(?!\d)")


# --- words that begin one -------------------------------------------------------------------------


@lru_cache(maxsize=64)
def trigger_words(locale: str | None) -> frozenset[str]:
    """The words, case folded, that a number, an ordinal, a percentage or a range can begin with."""
    both, _, since, _ = _JOINS.get(language_of(locale), ("",) * 4)
    openers = {*both.split("|"), since} - {""}
    units = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
    roman = {tens + unit for tens in ("", "x", "xx", "xxx") for unit in units}
    return first_words(locale) | openers | roman - {"", "i", "v", "x", "xx", "xxx"}
