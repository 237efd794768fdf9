"""Dates, also with a time: 2026-03-12, 12 March 2026, 03/04/2026, Q1 2026, July 4, 12 March 2026 14:30 UTC.

The canonical text is ISO 8601's, as precise as what was written: 2026-03-12, 2026-03, 2026-Q1, 2026,
--07-04 (no year), 2026-03-12T14:30, 2026-03-12T12:30Z (a zone was given), -0043 (44 BC),
2026-05-10..2026-05-12 (a span). Under a locale its order of day, month and year is the only one; without
one both orders are read, and 03/04/2026 stays open. A year of two digits is of either century.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Final, Literal

from calibkit.characters import strip_accents, unify
from calibkit.values.reading import LONGEST, Reading, Value, parse_locale, unreadable
from calibkit.values.times import (
    AT,
    CJK,
    ENDS,
    FROM,
    NO_LETTER,
    STARTS,
    TO,
    Clock,
    Forms,
    clocks,
    fold,
    inner_spelling,
    language_of,
    one_of,
    splits,
    tidy,
    told_apart,
    without_groups,
)
from calibkit.values.times import before as earlier
from calibkit.values.times import trigger_words as time_triggers

Precision = Literal["year", "quarter", "month", "day", "minute", "second", "yearless"]

# Without a locale, months are read in these languages too, and in English under every locale.
_OTHERS: Final = (
    *("de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "fi", "pl", "cs", "sk", "hu", "ro", "hr", "sl", "bg"),
    *("uk", "ru", "el", "tr", "ar", "he", "fa", "hi", "bn", "id", "ca", "lt", "lv", "et"),
)
# Names of months elsewhere that are English words.
_ENGLISH_WORDS: Final = frozenset({"mars", "mart", "mayo"})
_MORE_WEEKDAYS: Final = {"tues": (1,), "weds": (2,), "thur": (3,), "thurs": (3,)}
# What may stand before a date, by language.
_ON: Final[Mapping[str, str]] = {
    "en": "in|on|by|since|the|of|year|month|dated",
    "de": "am|im|in|den|dem|der|seit|vom|jahre?|monat",
    "fr": "en|le|au|depuis|l'année|du",
    "es": "en|el|desde|de|año|día",
    "it": "nel|in|il|dal|l'|anno|del",
    "pt": "em|no|desde|de|ano|dia|o",
    "nl": "in|op|sinds|de|het|jaar",
    "sv": "den|i|år|sedan",
    "da": "den|i|år|siden",
    "nb": "den|i|år|siden",
    "pl": "w|od|dnia|roku",
    "ru": "в|с",
}


def _ordinals() -> dict[str, int]:
    units = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh"]
    teens = ["twelfth", *(f"{unit}teenth" for unit in ("thir", "four", "fif", "six", "seven", "eigh", "nine"))]
    words = dict(zip((*units, *teens, "twentieth"), range(1, 21), strict=True)) | {"thirtieth": 30}
    for ten, number in (("twenty", 20), ("thirty", 30)):
        for unit in units[: 9 if number == 20 else 1]:
            words |= {f"{ten}{joint}{unit}": number + words[unit] for joint in "- "}
    return words


_ORDINALS: Final = _ordinals()
# What follows a day's number, by language.
_SUFFIXES: Final[Mapping[str, str]] = {
    "en": "st|nd|rd|th|er|o",
    "fr": "er|re|e",
    "es": "er|o|a",
    "it": "o",
    "pt": "o",
    "nl": "ste|de|e",
    "sv": ":a|:e",
} | {"ca": "r|n|t|è", "ru": "-го|-е|го"}
# The years in which a calendar other than the Gregorian is likely meant, by language.
_ELSEWHERE: Final = {"th": range(2400, 2700), "fa": range(1200, 1500), "ps": range(1200, 1500)}
_QUARTERS: Final = {"first quarter": 1, "second quarter": 2, "third quarter": 3, "fourth quarter": 4, "last quarter": 4}
_AFTER_CHRIST: Final = (0, 1)
_BEFORE_CHRIST: Final = (1, -1)
_ERAS: Final = {
    **dict.fromkeys(("AD", "CE", "A.D", "C.E"), _AFTER_CHRIST),
    **dict.fromkeys(("BC", "BCE", "B.C", "B.C.E"), _BEFORE_CHRIST),
}
_MORE_ERAS: Final[Mapping[str, dict[str, tuple[int, int]]]] = {
    "ja": {"令和": (2018, 1), "平成": (1988, 1), "昭和": (1925, 1), "大正": (1911, 1), "明治": (1867, 1)},
    "th": {"พ.ศ": (-543, 1)},
}


@dataclass(frozen=True, slots=True)
class _Day:
    """What was said of a date; a span may leave more open than a date."""

    year: int | None = None
    """Astronomical: 44 BC is -43."""
    month: int | None = None
    day: int | None = None
    quarter: int | None = None

    @property
    def whole(self) -> bool:
        """Whether it is a date of its own."""
        return self.year is not None or (self.month is not None and self.day is not None)

    def filled(self, other: _Day) -> _Day:
        """Take what is missing from the other end of a span."""
        month = other.month if self.month is None and (self.day or self == _Day()) else self.month
        day, quarter = (other.day, other.quarter) if self == _Day() else (self.day, self.quarter)
        return _Day(other.year if self.year is None else self.year, month, day, quarter)


_Moment = tuple[_Day, Clock | None]


# --- reading ------------------------------------------------------------------------------------


def read_date(text: str, locale: str | None) -> Reading | None:
    """Read a whole text as a date, a date with a time, or a span of two.

    Examples
    --------
    >>> [read_date(text, "en_US").value.canonical for text in ("March 12th, 2026", "03/04/2026", "July 4", "Q1 2026")]
    ['2026-03-12', '2026-03-04', '--07-04', '2026-Q1']
    >>> read_date("2026-03-12 14:30+02:00", None).value.canonical, read_date("May 10-12, 2026", None).value.canonical
    ('2026-03-12T12:30Z', '2026-05-10..2026-05-12')
    >>> read_date("03/04/2026", None).reason, read_date("13/04/2026", "en_US").outcome, read_date("tomorrow", None)
    ('may be 2026-04-03 or 2026-03-04', 'unreadable', None)
    """
    if not 0 < len(text) <= LONGEST:
        return None
    tables = _tables(locale)
    text = tidy(text)
    moments = _moments(text, tables)
    spans = _spans(text, tables) if moments is None or _MAYBE_SPAN.search(text) else None
    if moments is None and spans is None:
        return unreadable("a month without a day or a year") if fold(text) in tables.alone else None
    canonicals = [canonical for moment in moments or () for canonical in _canonicals(*moment)]
    return told_apart((_value(canonical) for canonical in (*canonicals, *(spans or ()))), "there is no such date")


# 2026-03-12 09:00-11:00 may be a time eleven hours west.
_MAYBE_SPAN: Final = re.compile(r"(?<!T\d\d)(?<!:\d\d):\d\d-\d{1,2}:\d\d(?!\d)")
_ISO_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")


def _value(canonical: str) -> Value:
    return Value("date", canonical, stated=Fraction(canonical) if len(canonical) == 4 else None)


def _moments(text: str, tables: _Tables) -> list[_Moment] | None:
    """Every reading of a text as one date, with or without a time; None where it is none."""
    days = _dated(text, tables)
    if days is not None:
        return [(day, None) for day in days]
    for match in tables.time.finditer(text):
        ahead, behind = tables.joiner.sub("", text[: match.start()]), text[match.end() :].lstrip(" ,;)")
        days = _dated(f"{ahead} {behind}".strip(), tables)
        if days is not None:
            time = match["time"]
            to_24 = time[:2].isdigit() and _ISO_DAY.fullmatch(ahead) is not None
            times = clocks(time, tables.locale, plain=to_24)
            if times is not None:
                return [(day, clock) for day in days if day.day for clock in times]
    return None


def _dated(text: str, tables: _Tables) -> list[_Day] | None:
    """Every reading of a text as one date, with or without a weekday before and behind."""
    days = _days(text, tables)
    if days is not None:
        return days
    ahead = None if text[:1].isdigit() else tables.weekday_first.match(text)
    behind = None if text[-1:].isdigit() else tables.weekday_last.search(text)
    for first, last in ((ahead, None), (None, behind), (ahead, behind)):
        if first or last:
            days = _days(text[first.end() if first else 0 : last.start() if last else None], tables)
            if days is not None:
                named = [tables.weekdays.get(fold(match["w"]), ()) for match in (first, last) if match]
                return [day for day in days if day.day and all(_falls_on(day, weekdays) for weekdays in named)]
    return None


def _falls_on(day: _Day, weekdays: Iterable[int]) -> bool:
    if day.year is None or day.month is None or day.day is None:
        return True
    weekday = date(2000 + day.year % 400, day.month, day.day).weekday()  # the calendar repeats after 400 years
    century = (day.year - (day.month < 3)) // 100
    julian = (weekday + century - century // 4 - 2) % 7  # in use in places until 1923
    return weekday in weekdays or (day.year < 1924 and julian in weekdays)


def _days(text: str, tables: _Tables) -> list[_Day] | None:
    """Every reading of a text as one date and nothing else; none that is in no calendar."""
    opening = tables.opening.match(text)
    parts = tables.date.read(text, opening.end() if opening else 0)
    if parts is None:
        return None
    if "a" in parts:
        return _of_three(text, (parts["a"], parts["b"], parts["c"]), tables)
    years = _years(parts, tables)
    if not years:
        return None
    if "week" in parts or "yday" in parts:
        return _of_iso(years[0] or 0, parts)
    if "q" in parts:
        return [_Day(year, quarter=quarter) for quarter in tables.quarter(parts["q"]) for year in years]
    months: tuple[int | None, ...] = tables.month(parts["m"]) if "m" in parts else (None,)
    if "n" in parts:
        months = (int(parts["n"]),)
    number = (_ORDINALS.get(fold(parts["d"])) or int(parts["d"])) if "d" in parts else None
    days = [_Day(year, month, number) for month in months for year in years]
    if "open" in parts:  # Mar-26 may be a day, or a month of some year
        number = int(parts["open"])
        days = [
            day
            for month in months
            for day in (_Day(None, month, number), _Day(1900 + number, month), _Day(2000 + number, month))
        ]
    if any(day.year in tables.elsewhere for day in days) and "e" not in parts and not _CANONICAL.fullmatch(text):
        return []
    days = [day for day in days if _exists(day)]
    return days or (None if "unsure" in parts or not months else [])


def _years(parts: Mapping[str, str], tables: _Tables) -> list[int | None]:
    """The years that are meant: None where there is none, nothing where it cannot be one."""
    if "y" not in parts:
        return [None]
    text = parts["y"].lstrip("'")
    year = int(text)
    if "e" in parts:
        base, step = tables.eras.get(fold(parts["e"]).rstrip("."), (0, 1))
        return [base + step * year] if year and base + step * year < 3000 else []
    if "minus" in parts:
        return [-year]
    return [year] if len(text) > 2 else [1900 + year, 2000 + year] if len(text) == 2 else []


def _of_three(text: str, texts: tuple[str, str, str], tables: _Tables) -> list[_Day] | None:
    """Read three numbers in the orders that their lengths and the locale allow."""
    first, last = len(texts[0]), len(texts[2])
    if first == 4 and last < 3:
        orders: tuple[str, ...] = ("ymd",)
    elif first < 3 and last in (2, 4):
        orders = tables.orders or (("dmy", "mdy") if last == 4 or first == 1 else ("dmy", "mdy", "ymd"))
    elif first == 2 and last == 1 and not tables.orders:
        orders = ("ymd",)
    else:
        return None
    numbers = tuple(map(int, texts))
    days = []
    for order in orders:
        role = dict(zip(order, numbers, strict=True))
        centuries = (1900, 2000) if len(texts[order.index("y")]) == 2 else (0,)
        days += [_Day(century + role["y"], role["m"], role["d"]) for century in centuries]
    if any(day.year in tables.elsewhere for day in days) and not _CANONICAL.fullmatch(text):
        return []
    likely = 4 in (first, last) or any(
        1 <= numbers[order.index("m")] <= 12 and 1 <= numbers[order.index("d")] <= 31 for order in ("dmy", "mdy", "ymd")
    )
    return [day for day in days if _exists(day)] if likely else None


def _of_iso(year: int, parts: Mapping[str, str]) -> list[_Day]:
    """Read a day of an ISO week or of the year; a week alone is no date."""
    try:
        if "yday" in parts:
            found = date(year, 1, 1) + timedelta(int(parts["yday"]) - 1)
            return [_Day(year, found.month, found.day)] if found.year == year else []
        found = date.fromisocalendar(year, int(parts["week"]), int(parts.get("wday", 0)))
    except (ValueError, OverflowError):
        return []
    return [_Day(found.year, found.month, found.day)]


def _exists(day: _Day) -> bool:
    if day.month is None or not 1 <= day.month <= 12:
        return day.month is None
    year = 2000 if day.year is None else 2000 + day.year % 400
    following = date(year + day.month // 12, day.month % 12 + 1, 1)
    return day.day is None or 1 <= day.day <= (following - timedelta(1)).day


def _canonicals(day: _Day, clock: Clock | None) -> list[str]:
    """The canonical text; two where a zone moves a date without a year over the end of February."""
    shift = clock.minutes // 1440 if clock else 0
    if clock is None or not shift or day.month is None or day.day is None:
        return [_date_text(day) + (clock.text if clock else "")]
    texts = []
    for year in (2000, 2001) if day.year is None else (2000 + day.year % 400,):
        if _exists(replace(day, year=year)):
            moved = date(year, day.month, day.day) + timedelta(shift)
            later = None if day.year is None else day.year + moved.year - year
            if later is None or later <= 9999:
                texts.append(_date_text(_Day(later, moved.month, moved.day)) + clock.text)
    return texts


def _date_text(day: _Day) -> str:
    year = "-" if day.year is None else f"{'-' * (day.year < 0)}{abs(day.year):04}"
    if day.quarter is not None:
        return f"{year}-Q{day.quarter}"
    return year + "".join(f"-{number:02}" for number in (day.month, day.day) if number is not None)


def _spans(text: str, tables: _Tables) -> list[str] | None:
    """Every reading of a text as a span between two dates; nothing for two dates that are no span."""
    for left, right, joined in splits(text, tables.locale):
        whole = _moments(left, tables), _moments(right, tables)
        if whole == (None, None):
            continue
        starts = whole[0] if whole[0] is not None else _partial(left, right, tables)
        ends = whole[1] if whole[1] is not None else _partial(right, left, tables)
        if starts is None or ends is None:
            continue
        pairs = [_matched(start, end) for start, end in product(starts, ends)]
        fitting = [pair for pair in pairs if pair is not None]
        if fitting or None not in whole or not (starts and ends):
            rising = [(start, end) for start, end in fitting if joined and _before(start, end)]
            canonicals = [product(_canonicals(*start), _canonicals(*end)) for start, end in rising]
            return [f"{low}..{high}" for ends in canonicals for low, high in ends]
    return None


def _partial(text: str, other: str, tables: _Tables) -> list[_Moment] | None:
    """Read one end of a span that leaves to the other what both have in common: "10", "10, 2026", "March", "14:30"."""
    parts = tables.part.read(text)
    if parts is None:
        times = clocks(text, tables.locale)
        return None if times is None else [(_Day(), clock) for clock in times]
    if "q" in parts:
        return [(_Day(quarter=quarter), None) for quarter in tables.quarter(parts["q"])]
    if "m" in parts:
        return [(_Day(month=month), None) for month in tables.month(parts["m"])]
    if not _LETTER.search(other):
        return None
    day = _ORDINALS.get(fold(parts["d"])) or int(parts["d"])
    return [(_Day(year, day=day), None) for year in _years(parts, tables)]


_LETTER: Final = re.compile(r"[^\W\d_]")


def _matched(start: _Moment, end: _Moment) -> tuple[_Moment, _Moment] | None:
    """Complete both ends of a span from each other; None where they are not of one kind."""
    (first, opens), (last, closes) = start, end
    first, last = first.filled(last), last.filled(first)
    alike = all((ours is None) == (theirs is None) for ours, theirs in zip(_fields(first), _fields(last), strict=True))
    if not alike or not first.whole or not _exists(first) or not _exists(last) or (opens is None) != (closes is None):
        return None
    if opens and closes and opens.offset is None:
        opens = replace(opens, offset=closes.offset)
    if opens and closes and (opens.offset is None) != (closes.offset is None):
        return None
    return (first, opens), (last, closes)


def _fields(day: _Day) -> tuple[int | None, ...]:
    return day.year, day.quarter, day.month, day.day


def _before(start: _Moment, end: _Moment) -> bool:
    (first, opens), (last, closes) = start, end
    low, high = (tuple(number or 0 for number in _fields(day)) for day in (first, last))
    if low == high:
        return opens is not None and closes is not None and earlier(opens, closes)
    return low < high or first.year is None  # 30 December to 2 January


# --- comparing canonical texts ------------------------------------------------------------------

_CANONICAL: Final = re.compile(
    r"(?P<year>-?\d{4})?(?:-Q(?P<quarter>[1-4])|--?(?P<month>\d\d)(?:-(?P<day>\d\d))?)?"
    r"(?P<time>T\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?P<zone>Z)?"
)


def precision_of(canonical: str) -> Precision:
    """How precise a canonical date or time is; a span is as precise as its ends.

    >>> [precision_of(text) for text in ("2026", "2026-Q1", "2026-03-12", "--07-04", "T14:30", "2026-03-12T14:30:05Z")]
    ['year', 'quarter', 'day', 'yearless', 'minute', 'second']
    """
    match = _CANONICAL.fullmatch(canonical.partition("..")[0])
    if match is None or (match["year"] is None and match["time"] is None) or canonical.startswith("--"):
        return "yearless"
    if match["time"]:
        return "minute" if len(match["time"]) == 6 else "second"
    return "day" if match["day"] else "month" if match["month"] else "quarter" if match["quarter"] else "year"


def contains(coarse: str, fine: str) -> bool:
    """Whether one canonical date or time is another, told less precisely.

    >>> contains("2026-03", "2026-03-12"), contains("--03-12", "2026-03-12"), contains("2026", "2026-Q1")
    (True, True, True)
    >>> contains("2026-03-12", "2026-03"), contains("2026-03-12T12:30", "2026-03-12T12:30Z")
    (False, False)
    """
    if coarse == fine:
        return True
    low, _, high = fine.partition("..")
    if high:
        return coarse[:2] not in ("--", "-W") and contains(coarse, low) and contains(coarse, high)
    low, _, high = coarse.partition("..")
    if high:
        return len(low) == len(high) and _shape(low) == _shape(fine[: len(low)]) and low <= fine[: len(low)] <= high
    whole, part = _CANONICAL.fullmatch(coarse), _CANONICAL.fullmatch(fine)
    if part is None:
        return False
    if whole is None:
        return (
            coarse.startswith("-W-")
            and part["year"] is not None
            and part["day"] is not None
            and coarse == _weekday(part)
        )
    month = part["month"]
    quarter = part["quarter"] or (str((int(month) + 2) // 3) if month else None)
    return (
        all(whole[role] in (None, part[role]) for role in ("year", "month", "day"))
        and whole["quarter"] in (None, quarter)
        and (part["time"] or "").startswith(whole["time"] or "")
        and (whole["time"] is None or whole["zone"] == part["zone"])
    )


def _shape(canonical: str) -> str:
    return re.sub(r"\d", "0", canonical)


def _weekday(match: re.Match[str]) -> str:
    return f"-W-{date(2000 + int(match['year']) % 400, int(match['month']), int(match['day'])).weekday() + 1}"


def differs_in_zone_only(one: str, other: str) -> bool:
    """Whether two canonical times may be the same, of which one was given without its zone.

    >>> differs_in_zone_only("2026-03-12T14:30", "2026-03-12T12:30Z")
    True
    >>> differs_in_zone_only("T14:30", "T12:37Z"), differs_in_zone_only("T14:30", "T14:30")
    (False, False)
    """
    first, second = _CANONICAL.fullmatch(one), _CANONICAL.fullmatch(other)
    if not first or not second or not first["time"] or not second["time"] or first["zone"] == second["zone"]:
        return False
    local, utc = (second, first) if first["zone"] else (first, second)
    if local["time"][6:] != utc["time"][6:] or any((local[role] is None) != (utc[role] is None) for role in _DATE):
        return False
    east = _minutes(local) - _minutes(utc)
    if local["year"] is None:  # the day, or the year, goes round
        around = 1440 if local["day"] is None else 1440 * 366
        east = (east + around // 2) % around - around // 2
        return east % 15 == 0 and (local["day"] is None or -720 <= east <= 840)
    return east % 15 == 0 and -720 <= east <= 840


_DATE: Final = ("year", "month", "day")


def _minutes(match: re.Match[str]) -> int:
    year = int(match["year"] or 2000)
    day = date(2000 + year % 400, int(match["month"] or 1), int(match["day"] or 1)).toordinal() + year // 400 * 146097
    return day * 1440 + int(match["time"][1:3]) * 60 + int(match["time"][4:6])


# --- a locale's words and patterns ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Tables:
    locale: str | None
    months: Mapping[str, tuple[int, ...]]
    """By folded name, without its dot; several where languages differ."""
    weekdays: Mapping[str, tuple[int, ...]]
    """0 is Monday."""
    quarters: Mapping[str, int]
    eras: Mapping[str, tuple[int, int]]
    """The year before an era's first, and the step from one to the next."""
    orders: tuple[str, ...]
    """The orders of a numeric date whose year comes last; none: the locale has no such dates."""
    elsewhere: range
    """Years of another calendar."""
    alone: frozenset[str]
    """Folded names of months, of which none is a date alone."""
    opening: re.Pattern[str]
    """What may stand before a date."""
    date: Forms
    part: Forms
    """What one end of a span may be, apart from a date."""
    time: re.Pattern[str]
    joiner: re.Pattern[str]
    """What may stand between a date and a time."""
    weekday_first: re.Pattern[str]
    weekday_last: re.Pattern[str]
    spelling: re.Pattern[str]
    triggers: frozenset[str]

    def month(self, name: str) -> tuple[int, ...]:
        """The months of a name."""
        return self.months.get(fold(name), ())

    def quarter(self, name: str) -> tuple[int, ...]:
        """The quarter of a name."""
        number = self.quarters.get(fold(name))
        return () if number is None else (number,)


_NO_WORD: Final = r"(?![^\W_])"
_OF: Final = r"(?:(?:day )?(?:of|de|del|do|di) (?:the )?|d'|ב)?"
_DAY_TO_MONTH: Final = rf"(?:\.?,? {_OF}|[-/.])"
_MONTH_TO_DAY: Final = r"(?:[.॰] ?| )(?:the )?"
_DAY_TO_YEAR: Final = rf"(?: ?, ?| ){_OF}"
_MONTH_TO_YEAR: Final = rf"[.॰]?(?:(?: ?, ?| ){_OF}|[-/.])"
_QUARTER_TO_YEAR: Final = r"(?:(?: ?, ?| )(?:of |de |in )?(?:the )?|[-/]|)"
_YEAR_MARK: Final = rf"(?: ?(?:года?|г|року|р|r|m|gada|ж|年|년){NO_LETTER}\.?)?"
_AFTER_WEEKDAY: Final = r"(?:\.?[,،]? |\.?, ?)(?:(?:the|den|dem|le|el|il) )?"
_NUMERIC: Final = (
    rf"(?P<a>\d{{1,4}})(?P<sep>[-/.]|\. | )(?P<b>\d{{1,2}})(?P=sep)(?P<c>\d{{1,4}}){_YEAR_MARK}",
    r"(?P<y>\d{4})[-/](?P<n>\d{1,2})",
    r"(?P<unsure>)(?P<n>\d{1,2})[-/](?P<y>\d{4})",
    r"(?P<y>\d{4})-?(?-i:W)(?P<week>\d{2})(?:-?(?P<wday>[1-7]))?",
    r"(?P<y>\d{4})-(?P<yday>\d{3})",
    r"(?P<unsure>)(?P<y>19\d\d|20\d\d|2100)(?P<n>\d\d)(?P<d>\d\d)",
    r"--(?P<n>\d\d)-(?P<d>\d\d)",
    r"(?P<minus>-)(?P<y>\d{4})(?:-(?P<n>\d\d)(?:-(?P<d>\d\d))?)?",
    r"(?P<y>\d{4}|\d\d)[年년] ?(?P<n>\d{1,2})[月월](?: ?(?P<d>\d{1,2})[日号號일])?",
    r"(?P<n>\d{1,2})[月월] ?(?P<d>\d{1,2})[日号號일]",
    rf"(?P<y>[012]\d{{3}}){_YEAR_MARK}",
)
# In running text there are no bare years, no eight digits, no days of the year (2016-679), no seasons (2011-12).
_SEASON: Final = rf"\d\d(?:{'|'.join(f'{year:02}[-/]{year + 1:02}' for year in range(12))})(?!\d)"
_MONTH_NUMBER: Final = r"(?:0?[1-9]|1[0-2])"
_NUMERIC_RUNNING: Final = (
    r"\d{4}-\d{1,2}-\d{1,2}|\d{4}/\d{1,2}/\d{1,2}|\d{4}\.\d{2}\.\d{2}|\d{4}\. \d{1,2}\. \d{1,2}",
    r"\d{1,2}-\d{1,2}-(?:\d{4}|\d\d)|\d{1,2}/\d{1,2}/(?:\d{4}|\d\d)|\d{1,2}\.\d{1,2}\.\d{4}|\d{1,2}\. \d{1,2}\. \d{4}",
    rf"(?!{_SEASON})\d{{4}}[-/]{_MONTH_NUMBER}|{_MONTH_NUMBER}/\d{{4}}|\d{{4}}-?(?-i:W)\d{{2}}-?[1-7]",
    r"\d{4}[年년] ?\d{1,2}[月월](?: ?\d{1,2}[日号號일])?|\d{1,2}[月월] ?\d{1,2}[日号號일]",
)
_SHORT_DOTTED: Final = r"\d{1,2}\.\d{1,2}\.\d\d|\d\d\. \d{1,2}\. \d{1,2}"
# What makes the number after a month no day: "in May 10 million people", "in March 5% more".
_COUNTED: Final = r"(?! ?(?:%|percent|per cent|hundred|thousand|million|billion|trillion)\b)"
_NEVER: Final = "(?!)"


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Sources of regexes that dates are made of."""

    day: str
    month: str
    quarter: str
    era: str
    eras: str
    """Names of eras other than before and after Christ, without more."""
    words: tuple[str, ...]
    """Months whose names are read in whole dates only."""
    wide_days: str
    short_days: str
    """Names of weekdays, by their length."""


@lru_cache(maxsize=64)
def _tables(locale: str | None) -> _Tables:
    language = language_of(locale)
    own = _names("months", locale, "wide", "abbreviated") | ({"sept": (9,)} if language == "en" else {})
    months = dict(own)
    for other in ("en",) if locale else _OTHERS:
        for name, numbers in _names("months", other, "wide").items():
            if name not in own and name != "nisan":  # a Hebrew month too
                months[name] = tuple(dict.fromkeys((*months.get(name, ()), *numbers)))
    words = tuple(name for name in months if name not in own and name in _ENGLISH_WORDS)
    weekdays = _names("days", locale, "wide", "abbreviated") | (_MORE_WEEKDAYS if language == "en" else {})
    wide_days = _names("days", locale, "wide")
    quarters, eras = _quarters(locale), _eras(locale)
    ordinals = _ORDINALS if language == "en" else ()
    suffix = rf"(?:(?:{_SUFFIXES.get(language, _NEVER)}){NO_LETTER})?"
    long_eras = one_of(name for name in eras if name not in map(fold, _ERAS))
    pieces = _Pieces(
        day=rf"(?P<d>\d{{1,2}}(?!\d)|{one_of(ordinals)}{NO_LETTER}){suffix}",
        month=rf"(?P<m>{one_of(name for name in months if name not in words)}){_NO_WORD}",
        quarter=rf"(?P<q>{one_of(quarters)}){_NO_WORD}",
        era=rf"(?:(?-i:{one_of(_ERAS)})|{long_eras})\.?{_NO_WORD}",
        eras=one_of(_MORE_ERAS.get(language, {})),
        words=words,
        wide_days=one_of(wide_days),
        short_days=one_of(name for name in weekdays if name not in wide_days),
    )
    at, (start, between, _) = AT.get(language, _NEVER), FROM.get(language, (_NEVER,) * 3)
    weekday = f"(?P<w>{one_of(weekdays)})"
    time = f"(?P<time>{inner_spelling(locale, loose=True)})"
    sayings = [*months, *weekdays, *quarters, *ordinals, *re.split(r"[|(?]", f"{start}|{between}"), "ad", "ce"]
    return _Tables(
        locale=locale,
        months=months,
        weekdays=weekdays,
        quarters=quarters,
        eras=eras,
        orders=_orders(locale),
        elsewhere=_ELSEWHERE.get(language, range(0)),
        alone=frozenset(_names("months", locale, "wide")),
        opening=re.compile(f"(?:(?:{_ON.get(language, _NEVER)}) ){{0,3}}", re.I),
        date=Forms((*_NUMERIC, *_by_name(pieces), *([r"(?P<n>\d{2})\.(?P<y>\d{4})"] if _dotted(locale) else ()))),
        part=Forms((rf"{pieces.day}\.?(?:{_DAY_TO_YEAR}(?P<y>\d{{4}}))?", rf"{pieces.month}[.॰]?", pieces.quarter)),
        time=re.compile(rf"(?:(?<=\d)(?=(?-i:T)\d)|(?<![^\W{CJK}])(?<!\d[-.:/,])){time}(?![^\W{CJK}])(?![:.]\d)", re.I),
        joiner=re.compile(rf"(?:[ .,،;@(-]|(?<![^\W_])(?:{at}))+$", re.I),
        weekday_first=re.compile(f"{weekday}{_NO_WORD}{_AFTER_WEEKDAY}", re.I),
        weekday_last=re.compile(rf"[ ,،]*\(?(?<![^\W{CJK}]){weekday}\.?\)?$", re.I),
        spelling=re.compile(_running(locale, pieces), re.I),
        triggers=time_triggers(locale).union(word for name in sayings for word in re.findall(r"[^\W\d_]+", name)[:1]),
    )


def _by_name(pieces: _Pieces) -> tuple[str, ...]:
    """The forms of a whole text that name a month, a quarter or an era."""
    day, month, quarter, era = pieces.day, pieces.month, pieces.quarter, pieces.era
    year = rf"(?:(?P<e1>{era}) )?(?P<y>'?\d{{1,4}})(?!\d){_YEAR_MARK}(?: ?(?P<e2>{era}))?"
    long_year = rf"(?P<y1>\d{{4}}|'\d\d)(?!\d){_YEAR_MARK}(?: ?(?P<e1>{era}))?|(?P<y2>\d{{1,4}}) ?(?P<e2>{era})"
    return (
        rf"{day}{_DAY_TO_MONTH}?{month}(?:{_MONTH_TO_YEAR}{year})?[.॰]?",
        rf"{month}{_MONTH_TO_DAY}{day}(?:{_DAY_TO_YEAR}{year})?",
        rf"{month}[-/.]{day}[-/.]{year}",
        rf"{month}-(?P<open>\d\d)",
        rf"{month}{_MONTH_TO_YEAR}(?:{long_year})",
        rf"(?P<y>\d{{4}}){_YEAR_MARK}(?:[.,]? |[-/.]){month}(?:(?:[.॰]? |[-/.]){day}(?: d)?)?[.॰]?",
        r"(?P<d>\d{1,2})(?P<m>[^\W\d_]{3,10})(?P<y>\d{4}|\d\d)",
        rf"{quarter}{_QUARTER_TO_YEAR}(?P<y>\d{{4}}|'\d\d)",
        rf"(?P<y>\d{{4}})[年년]?[ -]?{quarter}",
        rf"(?P<y>\d{{1,4}}) ?(?P<e>{era})",
        rf"(?P<e>{era}) (?P<y>\d{{1,4}})",
        rf"(?P<e>{pieces.eras}) ?(?P<y>\d{{1,2}})年(?:(?P<n>\d{{1,2}})月(?:(?P<d>\d{{1,2}})日)?)?",
        rf"{day}{_DAY_TO_MONTH}(?P<m>{one_of(pieces.words)}){_MONTH_TO_YEAR}(?P<y>\d{{4}})",
    )


def _running(locale: str | None, pieces: _Pieces) -> str:
    """What may be a date in running text, as the source of a regex."""
    language = language_of(locale)
    day, month, quarter, era = map(without_groups, (pieces.day, pieces.month, pieces.quarter, pieces.era))
    year = rf"(?:\d{{4}}(?!\d){_YEAR_MARK}(?: ?{era})?|'\d\d(?!\d)|\d{{1,4}} ?{era}|{era} \d{{1,4}})"
    # Without a year, a short name has to look like a name: "12 may", "5 pro" and "3 set" may be words.
    wide, short = (_names("months", locale, width) for width in ("wide", "abbreviated"))
    words = sorted({*short} - {*wide} | ({"march", "may"} if language == "en" else set()))
    name = "(?:(?=[.॰])|" + "".join(rf"(?<!(?-i:\b{re.escape(word)}))" for word in words) + ")"
    alone = "" if _year_first(locale) else _NEVER
    by_name = (
        rf"{day}{_DAY_TO_MONTH}{month}(?:{_MONTH_TO_YEAR}{year}|-\d\d(?!\d)|{name})",
        rf"{month}(?:{_MONTH_TO_DAY}{day}(?:{_DAY_TO_YEAR}{year}| \d\d:\d\d(?::\d\d)?(?: (?-i:[A-Z]{{3,4}}))? \d{{4}})"
        rf"|{_MONTH_TO_YEAR}{year}|[-/.]{day}[-/.](?:\d{{4}}|\d\d)"
        rf"|{name}(?:{_MONTH_TO_DAY}{day}{_COUNTED}|-\d\d(?!\d)))",
        rf"\d{{4}}{_YEAR_MARK}(?:\.? |[-/.]){month}(?:(?:[.॰]? |[-/.]){day}(?: d\b)?|{alone})",
        rf"{quarter}{_QUARTER_TO_YEAR}(?:\d{{4}}|'\d\d)|\d{{4}}[年년]?[ -]?{quarter}",
        rf"\d{{1,4}} ?{era}|{era} \d{{1,4}}|{pieces.eras} ?\d{{1,2}}年(?:\d{{1,2}}月(?:\d{{1,2}}日)?)?",
        rf"{day}{_DAY_TO_MONTH}(?:{one_of(pieces.words)}){_MONTH_TO_YEAR}\d{{4}}",
    )
    dates = "|".join((*by_name, *_NUMERIC_RUNNING, *([_SHORT_DOTTED] if _dotted(locale) else ())))
    ahead, time = (f"(?:{inner_spelling(locale, loose=loose)})" for loose in (False, True))
    to = f"(?: ?- ?| (?:{TO.get(language, _NEVER)}) )"
    weekday = f"(?:{pieces.wide_days}|(?-i:{_as_names(locale)})){_NO_WORD}{_AFTER_WEEKDAY}"
    weekday_last = rf"\.?[,،]? ?(?:\((?:{pieces.wide_days}|{pieces.short_days})\.?\)|(?:{pieces.wide_days}){_NO_WORD})"
    one = (
        rf"(?:{ahead}(?:,? (?:{_ON.get(language, _NEVER)}) (?:the )?|,? ))?(?:{weekday})?"
        rf"(?:{dates})(?!\d){_YEAR_MARK}(?:{weekday_last})?"
        rf"(?:\.?[,،]? ?(?:- |(?:{AT.get(language, _NEVER)}) )?{time}(?:{to}{time})?)?"
    )
    start, between, both = FROM.get(language, (_NEVER,) * 3)
    end = rf"(?:(?>{one})|{day}\.?|{month}|{quarter})"
    to = rf"(?:{to}|\.\.|/(?=\d{{4}}-))"
    before = rf"(?:(?P<among>(?:{between}) )|(?:(?:{start}) )?){end}(?(among) (?:{both}) |{to})"
    before += f"|{day} (?:{both}|and|or|&) "
    two_days = rf"{month}{_MONTH_TO_DAY}{day}{to}{day}(?![-:/.]?\d| ?[ap]\.?m\b)(?:{_DAY_TO_YEAR}{year})?"
    return f"{STARTS}(?:{two_days}|(?:{before})?{one}){ENDS}"


def _as_names(locale: str | None) -> str:
    """Short names of weekdays, written as names: "Wed" is one, "wed" may be a word."""
    short = {*_names("days", locale, "abbreviated"), *(_MORE_WEEKDAYS if language_of(locale) == "en" else ())}
    words = [name for name in short if len(name) > 1]
    own = [] if language_of(locale) in ("en", "de") else words
    return one_of([*own, *map(str.title, words), *map(str.upper, words)])


def _names(kind: Literal["months", "days"], locale: str | None, *widths: str) -> dict[str, tuple[int, ...]]:
    """Numbers by folded name, without its dot, in the words of a locale and of its language."""
    own = parse_locale(locale or "en")
    found: dict[str, tuple[int, ...]] = {}
    for known, width in product(dict.fromkeys((own, parse_locale(own.language))), widths):
        for names in (known.months, known.days)[kind == "days"].values():
            for number, name in names[width].items():
                text = unify(str(name)).casefold().rstrip(".॰")
                if kind == "days" or not (text[:1].isdigit() or text[-1:] in "月월"):
                    for spelled in (text, fold(text), strip_accents(fold(text))):
                        found[spelled] = tuple(dict.fromkeys((*found.get(spelled, ()), number)))
    return found


def _eras(locale: str | None) -> dict[str, tuple[int, int]]:
    """The year before an era's first and its step, by its folded name without a last dot."""
    known = parse_locale(locale or "en").eras
    names = _ERAS | _MORE_ERAS.get(language_of(locale), {})
    for width in ("wide", "abbreviated"):
        names |= {unify(str(name)): _AFTER_CHRIST if era else _BEFORE_CHRIST for era, name in known[width].items()}
    return {fold(name).rstrip("."): count for name, count in names.items()}


def _quarters(locale: str | None) -> dict[str, int]:
    """The quarter of a year by its folded name."""
    known = parse_locale(locale or "en").quarters["format"]
    names = {name: number for number in range(1, 5) for name in (f"q{number}", f"{number}q")}
    for width in ("abbreviated", "wide"):
        names |= {fold(unify(str(name))).rstrip("."): number for number, name in known[width].items()}
    return names | (_QUARTERS if language_of(locale) == "en" else {})


def _orders(locale: str | None) -> tuple[str, ...]:
    """The orders of CLDR's numeric dates whose year comes last."""
    patterns = [_pattern(locale, width) for width in ("short", "medium")] if locale else []
    letters = [re.sub(r"'[^']*'|[^dMy]", "", pattern) for pattern in patterns if "MMM" not in pattern]
    orders = [re.sub(r"(.)\1+", r"\1", order).lower() for order in letters]
    return tuple(dict.fromkeys(order for order in orders if order in ("dmy", "mdy")))


def _pattern(locale: str, width: str) -> str:
    return str(parse_locale(locale).date_formats[width].pattern)


def _dotted(locale: str | None) -> bool:
    return locale is not None and _pattern(locale, "short").count(".") > 1


def _year_first(locale: str | None) -> bool:
    return locale is not None and _pattern(locale, "long")[0] == "y"


def spelling(locale: str | None) -> re.Pattern[str]:
    """Dates in running text, but for bare years, which are numbers there.

    >>> spelling("en_US").match("on March 12th, 2026.", 3)[0], spelling(None).match("2026")
    ('March 12th, 2026', None)
    """
    return _tables(locale).spelling


def trigger_words(locale: str | None) -> frozenset[str]:
    """The folded words that may begin a date in running text.

    >>> sorted(trigger_words("en_US") & {"march", "twelfth", "order"})
    ['march', 'twelfth']
    """
    return _tables(locale).triggers
