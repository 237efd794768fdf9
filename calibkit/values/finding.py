"""Finding values in running text, apart from reading them.

At each place where a value may begin, the kinds are tried in one order, and the first that makes sense of what
stands there takes it whole: the year inside a date is no number of its own, an order number no quantity.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from calibkit.values import dates, identifiers, money, numbers, quantities, times
from calibkit.values.reading import LONGEST, Kind, Reading, Value, parse_locale, unreadable

Reader = Callable[[str, str | None], Reading | None]

_KINDS: Final[tuple[tuple[Kind, Callable[[str | None], re.Pattern[str]], Reader], ...]] = (
    ("identifier", identifiers.spelling, identifiers.read_identifier),
    ("date", dates.spelling, dates.read_date),
    ("time", times.spelling, times.read_time),
    ("money", money.spelling, money.read_money),
    ("percent", numbers.percent_spelling, numbers.read_percent),
    ("quantity", quantities.spelling, quantities.read_quantity),
    ("range", numbers.range_spelling, numbers.read_range),
    ("ordinal", numbers.ordinal_spelling, numbers.read_ordinal),
    ("number", numbers.number_spelling, numbers.read_number),
)

# Where a value may begin: a word, a run of digits, a sign or a symbol before either.
_START: Final = re.compile(r"[^\W\d_]++|\d++|[^\w\s]")
_CHUNK: Final = re.compile(r"\S++")
# A run without spaces that holds one of these may hold a value at any of its places; any other only at a trigger word.
_HOT: Final = re.compile(r"[\d@$€£¥₹₽₩%‰°#±]|://|(?i:www\.)|[A-Z]-(?=\s|$)")
_ARTICLE_UNIT: Final = re.compile(
    r"\ban? (?:hour|day|week|fortnight|month|year|decade|century|mile|minute|kilo|pound|lit|half|quarter)",
    re.IGNORECASE,
)
_TIMES: Final = {"once": 1, "twice": 2, "thrice": 3}
_WORD: Final = re.compile(r"[^\W\d_]++")

# Words that count nothing where they stand with these ("no one", "one of the", "first of all", "at first").
_IDIOM: Final = re.compile(
    r"\b(?:no|any|every|some|each|which|this|that|another|the|only|(?:the|a|an) \w{1,20}+) one\b"
    r"|\bone(?:'s| of| another| day| or more)\b|\bon (?:the )?one hand\b"
    r"|\bfirst(?: of all|ly)\b|\bat first\b|\bsecond to none\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Found:
    """A place in a text (at rung 1) that holds a value, or what should be one."""

    start: int
    end: int
    kind: Kind
    reading: Reading


_Try = tuple[Kind, Callable[[str, int, int], re.Match[str] | None], Reader]


@dataclass(frozen=True, slots=True)
class _Tables:
    """What finding needs of one locale."""

    all: tuple[_Try, ...]
    """What is tried at digits and symbols, in order."""
    by_word: dict[str, tuple[_Try, ...]]
    """What is tried at a word (case folded), in order."""
    of_codes: tuple[_Try, ...]
    """What is tried at any other word that digits or symbols stand beside."""
    of_articles: tuple[_Try, ...]
    """What is tried at an article, as in "a fortnight"."""
    openers: frozenset[str]
    """Words that begin a value only with another of the words, or a digit, behind them ("a dozen", "from 3 to 5")."""
    strong: frozenset[str]
    """Words that begin a value by themselves."""
    alone: dict[str, Value]
    """Words that are a value, in texts where they begin no other."""


@lru_cache(maxsize=64)
def _tables(locale: str | None) -> _Tables:
    tries: tuple[_Try, ...] = tuple((kind, spelling(locale).match, reader) for kind, spelling, reader in _KINDS)
    words = {
        "identifier": identifiers.trigger_words(locale),
        "date": dates.trigger_words(locale),
        "time": times.trigger_words(locale),
        "money": money.trigger_words(locale),
        "quantity": quantities.trigger_words(locale),
    }
    numeral = numbers.trigger_words(locale)
    alone = {word: Value("date", day) for word, day in _weekdays(locale).items()}
    if parse_locale(locale or "en").language == "en":
        alone |= {word: Value("number", str(n), Fraction(n), Fraction(n)) for word, n in _TIMES.items()}
    by_word = {
        word: tries if word in numeral else tuple(each for each in tries if word in words.get(each[0], ()))
        for word in numeral.union(alone, *words.values())
    }
    openers = (words["identifier"] | words["money"]) - words["date"] - words["time"] - numeral
    openers |= {word for word in by_word if len(word) < 3} | {"from", "between"}
    of_codes = tuple(each for each in tries if each[0] in ("identifier", "money"))
    of_articles = tuple(each for each in tries if each[0] == "quantity")
    strong = frozenset(by_word) - openers
    return _Tables(tries, by_word, of_codes, of_articles, openers, strong, alone)


@lru_cache(maxsize=64)
def _weekdays(locale: str | None) -> dict[str, str]:
    """Names of weekdays (and English plurals) with their ISO form, "-W-4" for Thursday."""
    language = parse_locale(locale or "en")
    names = {}
    for context in ("format", "stand-alone"):
        for day, name in language.days[context]["wide"].items():
            names[name.casefold()] = f"-W-{day + 1}"
    if language.language == "en":
        names |= {f"{name}s": day for name, day in names.items()}
    return names


def find_values(text: str, locale: str | None = None) -> tuple[Found, ...]:
    """Find all values in a text, from left to right, none inside another.

    Parameters
    ----------
    text
        A text at rung 1: case is kept, since units need it.
    locale
        As in en_US; None: the numeric conventions of all locales, English words.

    Examples
    --------
    >>> text = "Order A-1042 ships on March 12th, 2026, at a cost of $1,299."
    >>> [(text[found.start : found.end], found.reading.value.canonical) for found in find_values(text, "en_US")]
    [('A-1042', 'A1042'), ('March 12th, 2026', '2026-03-12'), ('$1,299', 'USD 1299')]
    """
    tables = _tables(locale)
    found: list[Found] = []
    if (
        _HOT.search(text) is None
        and tables.strong.isdisjoint(_WORD.findall(text.casefold()))
        and _ARTICLE_UNIT.search(text) is None
    ):
        return ()
    if text[:1] == "(" and text[-1:] == ")":  # alone in brackets: a loss, as accountants write it
        for kind, _, read in _KINDS:
            reading = read(text, locale) if kind in ("number", "money") else None
            if reading is not None and reading.values:
                return (Found(0, len(text), kind, reading),)
    idioms = [match.span() for match in _IDIOM.finditer(text)]
    hot_places = [match.start() for match in _HOT.finditer(text)]
    hot_places.append(len(text))
    next_hot = end = 0
    for chunk in _CHUNK.finditer(text):
        start, stop = chunk.span()
        if stop <= end:
            continue
        while hot_places[next_hot] < start:
            next_hot += 1
        hot = hot_places[next_hot] < stop
        if not hot and (word := chunk.group().strip(_MARKS)).isalpha() and word.casefold() not in tables.by_word:
            continue
        if stop - start > _LONGEST_WORD and chunk.group().isascii():
            continue  # no text
        for token in _START.finditer(text, max(start, end), stop):
            if token.start() < end:
                continue
            tries = _tries(text, token, hot, tables)
            place = _find_at(text, token.start(), locale, tries, tables.alone) if tries is not None else None
            if place is not None:
                end = place.end if place.end - place.start < LONGEST else max(place.end, stop)
                if not any(low <= place.start and end <= high for low, high in idioms):
                    found.append(place)
    return tuple(found)


_LONGEST_WORD: Final = 2_000
_MARKS: Final = ".,;:!?\"'()[]"


def _tries(text: str, token: re.Match[str], hot: bool, tables: _Tables) -> tuple[_Try, ...] | None:
    """The kinds that a token may begin."""
    word = token.group()
    if not word[0].isalpha():
        return tables.all if hot else None
    word = word.casefold()
    tries = tables.by_word.get(word)
    if tries is not None and word in tables.openers and not _opened(text, token.end(), word, tables):
        tries = tables.of_articles if word in _ARTICLES else None
    return tries if not hot else tables.of_codes if tries is None else tables.all


_AHEAD: Final = 24
_DIGIT: Final = re.compile(r"[\d#]")
_ARTICLES: Final = frozenset({"a", "an"})


def _opened(text: str, end: int, word: str, tables: _Tables) -> bool:
    """Whether a word that alone begins nothing has a digit, or another of the words, behind it."""
    if _DIGIT.search(text, end, end + (_AHEAD if len(word) > 2 else 4)):
        return True
    ahead = _WORD.search(text, end, end + _AHEAD)
    if ahead is None or (word not in _ARTICLES and len(word) < 3):
        return False
    if (behind := ahead.group().casefold()) in tables.by_word and behind not in tables.openers:
        return True
    return behind == "the" and word in ("from", "between")


def _find_at(
    text: str, start: int, locale: str | None, tries: tuple[_Try, ...], alone: dict[str, Value]
) -> Found | None:
    limit = start + LONGEST
    for kind, match_at, read in tries:
        match = match_at(text, start, limit)
        if match is None or match.end() <= start:
            continue
        if match.end() == limit < len(text):  # cut off, so that long runs take linear time
            return Found(start, limit, kind, unreadable(f"longer than {LONGEST} characters"))
        reading = read(match.group(), locale)
        if reading is not None:
            if not reading.values and (code := _DIGIT_CODE.search(match.group())):
                return Found(
                    start, match.end(), "identifier", Reading((Value("identifier", code.group().replace("-", "_")),))
                )
            if kind == "ordinal" and reading.value and (century := _CENTURY.match(text, match.end())):
                number = int(reading.value.low or 0)
                span = Value("date", f"{100 * number - 99:04}..{100 * number:04}")
                return Found(start, century.end(), "date", Reading((span,) if 0 < number < 31 else (), "no century"))
            if kind == "number":
                reading = _or_code(reading, match.group(), text[max(start - 40, 0) : start])
            return Found(start, match.end(), kind, reading)
    word = _WORD.match(text, start)
    value = alone.get(word.group().casefold()) if word else None
    return Found(start, word.end(), value.kind, Reading((value,))) if word and value else None


_CENTURY: Final = re.compile(r"[ -]century\b", re.IGNORECASE)
# What no range, date or telephone number can be, yet names something: 555-0173.
_DIGIT_CODE: Final = re.compile(r"(?<![\w.-])\d{3,}-\d{3,}$")
_CODE: Final = re.compile(r"0\d+|\d{1,3}\.\d{1,3}")
_NAME_BEFORE: Final = re.compile(r"(?<=[^.!?:;\s] )\p{Lu}[\w+#]* $".replace(r"\p{Lu}", "[A-Z]"))


def _or_code(reading: Reading, written: str, before: str) -> Reading:
    """Numerals that may be codes: zeros that lead may count, and "Python 3.10" is not 3.1."""
    if not _CODE.fullmatch(written) or ("." in written and not _NAME_BEFORE.search(f"x {before}"[-41:])):
        return reading
    if written.startswith("0."):
        return reading
    return Reading.of([*reading.values, Value("identifier", written)], "a number, or a code?")
