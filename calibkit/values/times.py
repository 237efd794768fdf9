"""Times of day, with or without a zone: 14:30, 2:30 PM, half past two, 14 h 30, 14.30 Uhr, 14:30+02:00.

A clock reading that may be before or after noon has both readings: "2:30" where the locale's clock has
twelve hours, and where no locale is given. What is written for 24 hours ("02:30", "14:30", "T02:30") has one.
A time with a zone is told in UTC.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from calibkit.characters import unify
from calibkit.values.reading import LONGEST, Reading, Value, parse_locale, unreadable

# --- tables -------------------------------------------------------------------------------------

# Minutes east of UTC; several where zones share the abbreviation, or where it leaves summer time open.
_ZONES: Final[Mapping[str, tuple[int, ...]]] = (
    {"Z": (0,), "UTC": (0,), "GMT": (0,), "UT": (0,), "WET": (0,), "WEST": (60,), "CET": (60,), "CEST": (120,)}
    | {"MEZ": (60,), "MESZ": (120,), "EET": (120,), "EEST": (180,), "MSK": (180,), "TRT": (180,), "SAST": (120,)}
    | {"CAT": (120,), "EAT": (180,), "WAT": (60,), "PKT": (300,), "NPT": (345,), "ICT": (420,), "WIB": (420,)}
    | {"HKT": (480,), "SGT": (480,), "PHT": (480,), "AWST": (480,), "JST": (540,), "KST": (540,), "ACST": (570,)}
    | {"ACDT": (630,), "AEST": (600,), "AEDT": (660,), "NZST": (720,), "NZDT": (780,), "BRT": (-180,)}
    | {"ART": (-180,), "EST": (-300,), "EDT": (-240,), "MDT": (-360,), "PST": (-480,), "PDT": (-420,)}
    | {"AKST": (-540,), "AKDT": (-480,), "HST": (-600,), "IST": (60, 120, 330), "CST": (-360, -300, 480)}
    | {"CDT": (-300, -240), "BST": (60, 360, 660), "AST": (-240, 180), "ADT": (-180, 240), "MST": (-420, 390, 480)}
    | {"GST": (-120, 240), "SST": (-660, 480), "NST": (-210, 345), "WST": (60, 480, 780), "ECT": (-300, -240)}
    | {"AMT": (-240, 240), "ACT": (-300, 480), "ET": (-300, -240), "CT": (-360, -300), "MT": (-420, -360)}
    | {"PT": (-480, -420)}
)
_IN_AUSTRALIA: Final = {"EST": (-300, 600), "EDT": (-240, 660)}
# CLDR's zones whose long names are read, in the language's words: standard and summer time.
_NAMED_ZONES: Final[Mapping[str, tuple[int, ...]]] = (
    {"GMT": (0,), "British": (0, 60), "Europe_Western": (0, 60), "Europe_Central": (60, 120), "Moscow": (180,)}
    | {"Europe_Eastern": (120, 180), "India": (330,), "China": (480,), "Singapore": (480,), "Japan": (540,)}
    | {"Korea": (540,), "Australia_Eastern": (600, 660), "New_Zealand": (720, 780), "America_Eastern": (-300, -240)}
    | {"America_Central": (-360, -300), "America_Mountain": (-420, -360), "America_Pacific": (-480, -420)}
)

# What CLDR lacks, by language, as sources of regexes.
AT: Final[Mapping[str, str]] = {
    "en": "at",
    "de": "um|gegen",
    "fr": "à",
    "es": "a las?",
    "it": "alle",
    "pt": "às?",
    "nl": "om",
    "pl": "o",
} | {"ru": "в", "cs": "ve?", "fa": "ساعت", "ar": "الساعة"}
"""What may stand before a time."""
TO: Final[Mapping[str, str]] = (
    {"en": "to|until|till|through|thru", "de": "bis(?: zum)?", "fr": "à|au|jusqu'au", "es": "al?|hasta(?: el)?"}
    | {"it": "al?|alle|fino al", "pt": "até|a|às", "nl": "tot|t/m", "sv": "till", "da": "til", "nb": "til"}
    | {"pl": "do", "cs": "do|až", "ru": "по|до"}
)
"""What may stand between the ends of a span."""
FROM: Final[Mapping[str, tuple[str, str, str]]] = {
    "en": ("from", "between", "and"),
    "de": ("von|vom", "zwischen(?: dem)?", "und(?: dem)?"),
    "fr": ("du|de", "entre(?: le)?", "et(?: le)?"),
    "es": ("del?|desde(?: el)?", "entre(?: el)?", "y(?: el)?"),
    "it": ("dalle|dal?", "tra(?: il)?|fra(?: il)?", "e(?: il)?"),
    "pt": ("de", "entre", "e"),
    "nl": ("van", "tussen", "en"),
}
"""What may stand before a span, before one with "and", and that "and"."""
# After these, and before those, 14.30 is a time.
_CLOCK: Final[Mapping[str, str]] = {
    "sv": r"klockan|kl\.?",
    "da": r"klokken|kl\.?",
    "nb": r"klokken|kl\.?",
    "fi": r"kello|klo\.?",
    "it": "ore",
} | {"pl": r"godzinie|godzina|godz\.?", "id": "pukul"}
_UNITS: Final = {"de": "Uhr", "nl": "uur", "cs": r"hod\.?", "bg": r"ч\.?", "th": r"น\.?"}
# Languages that write 14 h for a time; 14h30 is read in all.
_WITH_H: Final = frozenset({"fr", "pt", "ca", "es", "gl", "oc"})
# Languages in which "am" is a word: there only "AM" and "a.m." are read.
_AM_IS_A_WORD: Final = frozenset({"de", "lb", "gsw", "ro", "ga", "gd", "tr", "pt"})
_NOON: Final = {"en": {"noon": "noon", "midday": "noon", "midnight": "midnight"}}

_COUNTS: Final = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
} | {"eleven": 11, "twelve": 12}
_MINUTES: Final = {"five": 5, "ten": 10, "quarter": 15, "a quarter": 15, "twenty": 20, "twenty-five": 25, "half": 30}
# The hours that a day period of CLDR may stand with.
_HOURS: Final[Mapping[str, frozenset[int]]] = {
    "morning": frozenset(range(12)),
    "afternoon": frozenset(range(12, 24)),
    "evening": frozenset(range(12, 24)),
    "night": frozenset([*range(6), *range(18, 24)]),
    "noon": frozenset({12}),
    "midnight": frozenset({0}),
}
_PERIODS: Final = ("am", "pm", *_HOURS)

CJK: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
STARTS: Final = rf"(?<![^\W{CJK}])(?<![年년月월第:/$€£#^-])(?<![\d:][.,])"
"""Not within a word or a number; the scripts without spaces may stand before."""
ENDS: Final = rf"(?![^\W{CJK}])(?![-:/.,]\d)(?! ?[%‰°])"
"""Not within a word or a number, and no number of something else."""
NO_LETTER: Final = r"(?![^\W\d_])"
_NO_WORD: Final = r"(?![^\W_])"


@dataclass(frozen=True, slots=True)
class Clock:
    """What a clock shows."""

    hour: int
    """0 to 24."""
    minute: int = 0
    second: str = ""
    """Two digits and the decimals that were written; empty: not given."""
    offset: int | None = None
    """Minutes east of UTC; None: no zone was given."""
    certain: bool = True
    """False where it may be before or after noon."""

    @property
    def minutes(self) -> int:
        """Minutes since midnight, in UTC where a zone was given; they may be on another day."""
        return self.hour * 60 + self.minute - (self.offset or 0)

    @property
    def text(self) -> str:
        """The canonical text.

        >>> Clock(24).text, Clock(0, 30, "05", 120).text
        ('T00:00', 'T22:30:05Z')
        """
        hour, minute = divmod(self.minutes % 1440, 60)
        second = f":{self.second}" if self.second else ""
        return f"T{hour:02}:{minute:02}{second}{'' if self.offset is None else 'Z'}"


# --- texts and regexes --------------------------------------------------------------------------


def fold(text: str) -> str:
    """Fold the case as regexes do that ignore it: "I" and "ı" are "i" too."""
    return text.casefold().replace("i\u0307", "i").replace("ı", "i")


def one_of(words: Iterable[str]) -> str:
    """The source of a regex for any of some words, which takes the longest and shares beginnings.

    >>> one_of(["mar", "march", "may"]), one_of([])
    ('ma(?:r(?:ch)?|y)', '(?!)')
    """
    return _tree(sorted(set(words))) or "(?!)"


def _tree(words: list[str]) -> str:
    tails: dict[str, list[str]] = {}
    for word in words:
        tails.setdefault(word[:1], []).append(word[1:])
    optional = tails.pop("", None) is not None
    branches = [re.escape(first) + _tree(rest) for first, rest in tails.items()]
    if len(branches) == 1 and not optional:
        return branches[0]
    return f"(?:{'|'.join(branches)}){'?' * optional}" if branches else ""


class Forms:
    """Some forms of one thing as one regex that ignores case, whose groups are told by their roles.

    Groups of the same role may stand in several forms, and, with digits behind the role, twice in one.

    >>> forms = Forms(["(?P<hour>[0-9]+)h", "at (?P<hour>[0-9]+)(?P<zone>Z)?"])
    >>> forms.read("7h"), forms.read("at 7Z"), forms.read("7")
    ({'hour': '7'}, {'hour': '7', 'zone': 'Z'}, None)
    """

    __slots__ = ("_match", "_parts", "source")

    def __init__(self, forms: Iterable[str], *, before: str = "", behind: str = "") -> None:
        numbered = (re.sub(r"(\(\?P[<=]\w+)", rf"\1_{place}", form) for place, form in enumerate(forms))
        self.source = f"{before}(?:{'|'.join(numbered)}){behind}"
        pattern = re.compile(self.source, re.IGNORECASE)
        self._match = pattern.fullmatch
        # By the last group that holds something: which groups may, those of its form and those around the forms.
        self._parts: dict[int, tuple[tuple[int, ...], tuple[str, ...]]] = {}
        for last, index in pattern.groupindex.items():
            form = last.partition("_")[2]
            names = [name for name in pattern.groupindex if not form or name.partition("_")[2] in ("", form)]
            roles = tuple(name.partition("_")[0].rstrip("0123456789") for name in names)
            self._parts[index] = tuple(pattern.groupindex[name] for name in names), roles

    def read(self, text: str, start: int = 0) -> dict[str, str] | None:
        """What each role holds in a text, from `start` on, that has one of the forms."""
        match = self._match(text, start)
        if match is None:
            return None
        indices, roles = self._parts[match.lastindex or 1]
        if len(indices) == 1:
            return {roles[0]: match[indices[0]]}
        return {role: part for role, part in zip(roles, match.group(*indices), strict=True) if part is not None}


def without_groups(pattern: str) -> str:
    """Make the named groups of a regex plain ones, so that it can stand in another one twice."""
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)


def tidy(text: str) -> str:
    """Strip what surrounds a value, and write its digits in ASCII."""
    text = text.strip(" \"'").rstrip(" .,;:!")
    return text if text.isascii() else re.sub(r"\d", lambda digit: str(unicodedata.digit(digit[0])), text)


def language_of(locale: str | None) -> str:
    """The language whose words are read: English without a locale."""
    language = parse_locale(locale).language if locale else "en"
    return "nb" if language in ("no", "nn") else language


def told_apart(values: Iterable[Value], otherwise: str) -> Reading:
    """Make values a reading, whose reason tells them where there are several.

    >>> told_apart([Value("time", "T02:30"), Value("time", "T14:30")], "no such time").reason
    'may be T02:30 or T14:30'
    """
    distinct = list(dict.fromkeys(values))
    if not distinct:
        return unreadable(otherwise)
    return Reading.of(distinct, "may be " + " or ".join(value.canonical for value in distinct[:4]))


# --- reading ------------------------------------------------------------------------------------


def read_time(text: str, locale: str | None) -> Reading | None:
    """Read a whole text as a time of day, or as a span of two.

    Examples
    --------
    >>> [read_time(text, "en_US").value.canonical for text in ("2:30 PM", "12 AM", "14:30+02:00", "2-4 pm")]
    ['T14:30', 'T00:00', 'T12:30Z', 'T14:00..T16:00']
    >>> read_time("2:30", "en_US").reason, read_time("2:30", "de_DE").value.canonical
    ('may be T02:30 or T14:30', 'T02:30')
    >>> read_time("25:00", None).outcome, read_time("2.30", None)
    ('unreadable', None)
    """
    if not 0 < len(text) <= LONGEST:
        return None
    text = tidy(text)
    text = text[_words(locale).opening.match(text).end() :]  # type: ignore[union-attr]
    found = clocks(text, locale)
    spans = _spans(text, locale) if found is None or _MAYBE_SPAN.search(text) else None
    if found is None and spans is None:
        return None
    texts = [*(clock.text for clock in found or ()), *(spans or ())]
    return told_apart((Value("time", canonical) for canonical in texts), "no clock shows such a time")


def clocks(text: str, locale: str | None, *, plain: bool = False) -> list[Clock] | None:
    """Every reading of a whole text as one time of day.

    Parameters
    ----------
    plain
        Whether the hours are known to run to 24.

    Returns
    -------
    None where the text is no time; nothing where it looks like one that no clock shows.
    """
    words = _words(locale)
    parts = words.one.read(text)
    if parts is None:
        return None
    zone, second, written = parts.get("z"), parts.get("s", "").replace(",", ".").zfill(2), parts.get("h", "")
    if zone and zone[0] == "-" and len(zone) == 3 and not parts.keys() & {"s", "t"}:
        return None  # 14:30-16
    offsets = (None,) if zone is None else words.offsets(zone)
    if "word" in parts:
        hours, minute = [12] if words.periods[_key(parts["word"])] == "noon" else [0, 24], 0
    else:
        minute = int(parts.get("m", 30 if "half" in parts else 0))
        if told := parts.get("past") or parts.get("to"):
            told = fold(told).removesuffix(" minutes")
            minute = _MINUTES.get(told) or _COUNTS.get(told) or int(told)
        known = plain or written[0] == "0" or bool(parts.keys() & {"t", "unit"})
        known = known or (zone is not None and len(written) == 2 and zone[0] in "Z+-U")
        known = known or not (words.twelve or parts.keys() & {"past", "to", "clock"})
        hours = words.hours(_COUNTS.get(fold(written)) or int(written), parts.get("p"), known=known)
    if minute > 59 or second[:2] > "59":
        return []
    if "to" in parts:
        hours, minute = [(hour - 1) % 24 for hour in hours], 60 - minute
    if "." in second:
        second = second.rstrip("0").rstrip(".")
    return [
        Clock(hour, minute, second if "s" in parts else "", offset, len(hours) == 1 or "word" in parts)
        for hour in hours
        if hour < 24 or (hour == 24 and minute == 0 and not second.strip("0"))
        for offset in offsets
    ]


# 09:00-11:00 may be a time eleven hours west, "ten to three p.m." be 14:50.
_MAYBE_SPAN: Final = re.compile(r"(?<!T\d\d)(?<!:\d\d):\d\d-\d{1,2}:\d\d$|(?:five|ten) to ", re.I)
_FULL_DAY: Final = re.compile(r"(?<!\d)0\d:")
_BARE_HOUR: Final = re.compile(rf"(\d{{1,2}}|{one_of(_COUNTS)})(?:[.:](\d{{2}}))?", re.I)
_TO_LAST_DIGIT: Final = re.compile(r".*\d")


def _spans(text: str, locale: str | None) -> list[str] | None:
    plain = _FULL_DAY.search(text) is not None
    for left, right, joined in splits(text, locale):
        ends = clocks(right, locale, plain=plain)
        hour = _BARE_HOUR.fullmatch(left) if ends else None
        if hour:  # 2-4 pm, 9-17 Uhr; but 10-2 pm
            digits = _TO_LAST_DIGIT.match(right)
            starts = clocks(left + right[digits.end() if digits else right.find(" ") :], locale, plain=plain)
            if starts and not any(before(start, end) for start in starts for end in ends or ()):
                starts = clocks(f"{_COUNTS.get(fold(hour[1]), hour[1])}:{hour[2] or '00'}", locale, plain=plain)
        else:
            starts = clocks(left, locale, plain=plain) if ends else None
        if starts is not None and ends is not None:
            return span(starts, ends) if joined else []
    return None


def before(start: Clock, end: Clock) -> bool:
    """Whether one time comes before another on one day."""
    return (start.minutes, start.second) < (end.minutes, end.second)


def span(starts: Iterable[Clock], ends: Iterable[Clock]) -> list[str]:
    """Every span between two times, of which each may have several readings; over midnight only where both are sure."""
    pairs = []
    for end in ends:
        for start in starts:
            if start.offset is None and end.offset is not None:
                start = replace(start, offset=end.offset)
            if (start.offset is None) == (end.offset is None):
                pairs.append((start, end))
    rising = [pair for pair in pairs if before(*pair)]
    if not rising and all(start.certain and end.certain and before(end, start) for start, end in pairs):
        rising = pairs
    return [f"{start.text}..{end.text}" for start, end in rising]


def splits(text: str, locale: str | None) -> Iterator[tuple[str, str, bool]]:
    """Every way to part a text where the two ends of a span may meet.

    Yields
    ------
    The two sides, and whether they make a span (else they are two values joined by "and").
    """
    start, between, joint = _joints(locale)
    among = between.match(text)
    begin = (among or start.match(text)).end()  # type: ignore[union-attr]
    for match in joint.finditer(text, begin):
        yield text[begin : match.start()], text[match.end() :], among is not None or match["and"] is None


@lru_cache(maxsize=64)
def _joints(locale: str | None) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    start, between, _ = FROM.get(language_of(locale), ("(?!)",) * 3)
    return re.compile(f"(?:(?:{start}) )?", re.I), re.compile(f"(?:{between}) ", re.I), re.compile(joint(locale), re.I)


def joint(locale: str | None) -> str:
    """The source of a regex for what stands between the ends of a span, or between two values."""
    language = language_of(locale)
    together = FROM.get(language, ("", "", "and"))[2]
    return rf" (?P<and>{together}|&|and|or) | (?:-|{TO.get(language, '-')}) ?|\.\.|/(?=\d{{4}}-)|-"


# --- a locale's words and patterns ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Words:
    periods: Mapping[str, str]
    """CLDR's key of a day period (am, pm, morning1, ...) by `_key` of its name."""
    zones: Mapping[str, tuple[int, ...]]
    """Offsets by abbreviation, and by folded long name."""
    twelve: bool
    """Whether 2:30 may be after noon."""
    from_zero: bool
    """Whether the hours of half a day run from 0 to 11."""
    opening: re.Pattern[str]
    """What may stand before a time."""
    one: Forms
    """One time, for a whole text."""
    loose: str
    """One time, as the source of a regex without groups."""
    strict: str
    """The same, but for times that are as likely a number, an amount or a duration."""
    spelling: re.Pattern[str]
    triggers: frozenset[str]

    def offsets(self, zone: str) -> tuple[int, ...]:
        """The minutes east of UTC that a zone may mean."""
        named = self.zones.get(zone) or self.zones.get(fold(zone))
        if named:
            return named
        match = _OFFSET.search(zone)
        hours, minutes = (int(match["h"]), int(match["m"] or 0)) if match else (99, 0)
        east = -1 if match and match["sign"] == "-" else 1
        return (east * (hours * 60 + minutes),) if hours <= (12 if east < 0 else 14) and minutes < 60 else ()

    def hours(self, hour: int, period: str | None, *, known: bool) -> list[int]:
        """The hours of the day that an hour may be, by the day period that stands with it."""
        both = [hour % 12, hour % 12 + 12] if 1 <= hour <= 12 else [hour]
        if period is None:
            return [hour] if known else both
        key = self.periods[_key(period)]
        if key not in ("am", "pm"):
            return [hour for hour in both if hour in _HOURS[key.rstrip("12")]]
        half = 12 * (key == "pm")
        if self.from_zero and hour in (0, 12):
            return [half] if hour == 0 else both
        return [hour % 12 + half] if 1 <= hour <= 12 or (hour == 0 and half == 0) else []


_OFFSET: Final = re.compile(r"(?P<sign>[+-])(?P<h>\d{1,2}):?(?P<m>\d{2})?$")
_SECOND: Final = r"\d{2}(?:[.,]\d{1,9})?"


def _key(name: str) -> str:
    return re.sub("[ .]", "", fold(name))


@lru_cache(maxsize=64)
def _words(locale: str | None) -> _Words:
    known, language = parse_locale(locale or "en"), language_of(locale)
    names, zones = _period_names(locale), _zone_offsets(locale)
    loose, strict = _forms(locale, names, zones, loose=True), _forms(locale, names, zones, loose=False).source
    strict = without_groups(strict)
    start, between, together = FROM.get(language, ("(?!)",) * 3)
    hour = rf"(?:\d{{1,2}}(?:[.:]\d{{2}})?(?!\d)|{one_of(_COUNTS if language == 'en' else ())})"
    left, to = f"(?:{strict}|{hour})", TO.get(language, "(?!)")
    span = rf"(?:(?:(?:{start}) )?{left}(?: ?- ?|\.\.| (?:{to}) )|(?:{between}) {left} (?:{together}) )?{strict}"
    sayings = [name for name, key in names.items() if key in ("noon", "midnight")]
    sayings += re.split(r"[|(?]", "|".join((start, between, _CLOCK.get(language, ""))))
    sayings += [*_COUNTS, *_MINUTES] if language == "en" else ()
    return _Words(
        periods={_key(name): key for name, key in names.items()},
        zones=zones,
        twelve=locale is None or str(known.time_formats["short"].pattern).strip("aB \u202f\xa0")[0] in "hK",
        from_zero=language == "ja",
        opening=re.compile(rf"(?:(?:{AT.get(language, '(?!)')}) )?", re.I),
        one=loose,
        loose=without_groups(loose.source),
        strict=strict,
        spelling=re.compile(f"{STARTS}{span}{ENDS}", re.I),
        triggers=frozenset(fold(word) for name in sayings for word in re.findall(r"[^\W\d_]+", name)[:1]),
    )


def _forms(locale: str | None, names: Mapping[str, str], zones: Mapping[str, object], *, loose: bool) -> Forms:
    """The forms of one time; loose: also those that may be a number, an amount or a duration."""
    known, language = parse_locale(locale or "en"), language_of(locale)
    short, full = (str(known.time_formats[width].pattern) for width in ("short", "full"))
    behind = _any_period(names, locale, () if loose else ("am", "pm"))
    unit, count = _UNITS.get(language, "(?!)"), one_of(_COUNTS if language == "en" else ())
    noon = one_of(name for name, key in names.items() if key in ("noon", "midnight"))
    space, h = (" ?", "h") if language in _WITH_H else ("", "(?!)")
    forms = [
        rf"(?P<t>(?-i:T))?(?P<h>\d{{1,2}}):(?P<m>\d{{2}})(?::(?P<s>{_SECOND}))?(?P<unit> ?(?:{unit}|{h}){NO_LETTER})?",
        rf"(?P<t>(?-i:T))(?P<h>\d{{2}})(?P<m>\d{{2}})(?P<s>{_SECOND})?",
        rf"(?P<h>\d{{1,2}}|{count})(?:\.(?P<m>\d{{2}})(?:\.(?P<s>\d{{2}}))?)?(?= ?{behind})",
        r"(?P<h>\d{1,2}) ?[時时点點시](?![間间間])"
        r"(?: ?(?P<m>\d{1,2}) ?[分분](?: ?(?P<s>\d{1,2}) ?[秒초])?| ?(?P<half>[半반]))?",
        rf"(?:12(?::00)? ?)?(?P<word>{noon}){NO_LETTER}",
        rf"(?P<h>\d{{1,2}})(?P<unit>{space}h){space}(?P<m>\d{{2}})(?:{space}min)?(?: ?(?P<s>{_SECOND}) ?s)?{_NO_WORD}",
        rf"(?P<h>\d{{1,2}})(?:\.(?P<m>\d{{2}})(?:\.(?P<s>\d{{2}}))?)?(?P<unit> ?{unit}){NO_LETTER}",
    ]
    if loose:
        forms.append(rf"(?P<h>\d{{1,2}})(?P<unit> ?(?:{unit} (?P<m>\d{{2}})|{h}){NO_LETTER})")
        if "." in short.rstrip(".น"):
            forms.append(rf"(?P<h>\d{{1,2}})\.(?P<m>\d{{2}})(?:\.(?P<s>{_SECOND}))?")
    if language in _CLOCK:
        forms.append(rf"(?P<unit>{_CLOCK[language]}) (?P<h>\d{{1,2}})(?:[.:](?P<m>\d{{2}}))?(?!\d)")
    if language == "en":
        hour, some = rf"(?:{count}|\d{{1,2}})", rf"(?:{one_of({*_COUNTS, *_MINUTES})}|\d{{1,2}})"
        past = f"{some}(?: minutes)?) (?:past|after" if loose else f"{one_of(_MINUTES)}(?: minutes)?) (?:past"
        to = f"(?:a )?quarter|{some} minutes" if loose else "(?:a )?quarter"
        forms += [
            rf"(?P<past>{past}) (?P<h>{hour})(?: o'clock)?",
            rf"(?P<to>{to}) (?:to|before|till) (?P<h>{hour})(?: o'clock)?",
            rf"(?P<to>{one_of(_MINUTES)}(?: minutes)?) to (?P<h>{hour})(?= o'clock| ?{behind})(?: o'clock)?",
            rf"(?P<h>{hour})(?P<clock> o'clock)",
        ]
    hours = (short, str(known.datetime_skeletons["hm"]))
    first = f"(?:(?P<p1>{_any_period(names, locale)}) ?)?" if any(shape[0] in "aB" for shape in hours) else ""
    zone, long_zone = _zone(zones, ",?" * (", z" in full))
    if full.startswith("z"):
        first = f"(?:(?P<z1>UTC|{long_zone}) )?{first}"
    return Forms(forms, before=first, behind=rf"(?: ?(?P<p2>{_any_period(names, locale)}))?(?:{zone})?")


def _period_names(locale: str | None) -> dict[str, str]:
    """CLDR's key of a day period by its name, as rung 1 writes it."""
    known = parse_locale(locale or "en")
    found = [
        (_PERIODS.index(key.rstrip("12")), key, unify(str(name)))
        for widths in known.day_periods.values()
        for width in ("abbreviated", "wide")
        for key, name in widths.get(width, {}).items()
    ]
    names = {name: name[0] + "m" for name in ("am", "pm", "a.m.", "p.m.", "a. m.", "p. m.")}
    for _, key, name in sorted(found, key=lambda row: row[0]):
        if len(_key(name)) > 1 or key in ("am", "pm"):
            names.setdefault(name, key)
    return names | _NOON.get(known.language, {})


def _any_period(names: Mapping[str, str], locale: str | None, keys: tuple[str, ...] = ()) -> str:
    """Any name of some day periods; Latin am and pm as they are written where "am" may be a word."""
    chosen = [name for name, key in names.items() if not keys or key in keys]
    chosen += [name.rstrip(".") for name in chosen]
    halves = {name for name in chosen if _key(name) in ("am", "pm")}
    other = one_of(name for name in chosen if name not in halves)
    if language_of(locale) == "en":
        return f"(?:{one_of(halves)}|{other}){NO_LETTER}"
    if language_of(locale) in _AM_IS_A_WORD:
        halves -= {"am", "pm"}
    return f"(?:(?-i:{one_of({*halves, 'AM', 'PM'})})|{other}){NO_LETTER}"


def _zone_offsets(locale: str | None) -> dict[str, tuple[int, ...]]:
    """Minutes east of UTC by abbreviation, and by folded long name."""
    known = parse_locale(locale or "en")
    zones = dict(_ZONES) | (_IN_AUSTRALIA if known.territory == "AU" else {})
    named: list[tuple[Mapping[str, Mapping[str, object]], tuple[int, ...]]] = [
        (known.time_zones.get("Etc/UTC", {}), (0,)),
    ]
    named += [(known.meta_zones.get(zone, {}), offsets) for zone, offsets in _NAMED_ZONES.items()]
    for names, offsets in named:
        for width in ("long", "short"):
            for season, name in names.get(width, {}).items():
                text = unify(str(name))
                meant = {"standard": offsets[:1], "daylight": offsets[1:]}.get(season, offsets)
                if meant:
                    zones.setdefault(text if _is_short(text) else fold(text), meant)
    return zones


def _is_short(zone: str) -> bool:
    return zone.isascii() and zone.isupper()


def _zone(zones: Iterable[str], comma: str) -> tuple[str, str]:
    """What stands behind a time for its zone, and any long name of a zone, as sources of regexes."""
    short, long = (one_of(zone for zone in zones if _is_short(zone) is kind and zone != "Z") for kind in (True, False))
    name = rf"(?:{long}|(?:UTC|GMT)(?: ?[+-]\d{{1,2}}(?::?\d{{2}})?(?!\d))?|(?-i:{short})){NO_LETTER}"
    offset = r"[+-]\d{2}:?\d{2}(?!\d)"
    near, far = rf"{offset}|[+-]\d{{2}}(?![\d:])|(?-i:Z){NO_LETTER}", rf"{offset}|(?-i:Z){NO_LETTER}"
    return rf"(?:(?P<z2>{near})| (?P<z3>{far})|{comma} ?[(\[]?(?P<z4>{name})[)\]]?)(?: \([^()]{{2,40}}\))?", long


def inner_spelling(locale: str | None, *, loose: bool) -> str:
    """One time next to a date, as the source of a regex without groups; loose: also what is likely no time alone."""
    return _words(locale).loose if loose else _words(locale).strict


def spelling(locale: str | None) -> re.Pattern[str]:
    """Times in running text, but for those that are as likely a number, an amount or a duration.

    >>> spelling("en_US").match("at 2:30 p.m. on Monday", 3)[0], spelling(None).match("2.30")
    ('2:30 p.m.', None)
    """
    return _words(locale).spelling


def trigger_words(locale: str | None) -> frozenset[str]:
    """The folded words that may begin a time in running text.

    >>> sorted(trigger_words("en_US") & {"noon", "half", "march"})
    ['half', 'noon']
    """
    return _words(locale).triggers
