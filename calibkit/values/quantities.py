"""Quantities in texts: a number with a unit, exactly, in the base unit of what it measures.

================== ======= ======================================================================================
measure            base    remarks
================== ======= ======================================================================================
length, area       m, m^2  miles are statute miles
volume             m^3     gallon, pint, quart, fluid ounce: US or imperial by the country, ambiguous without one
mass               kg      a ton is three things, so ambiguous; "pounds" may be money in Britain, so refused there
time               s       a day has 24 hours
months, years      month   they are no number of days
temperature        K       a difference of temperatures is not told from a temperature; "5 degrees" is ambiguous
data               B, bit  kB and KB are 1000 B, KiB is 1024 B; "kb" may be either kind, so ambiguous
speed, rates       m/s     and any other base unit by another: kg/m^3, bit/s, m^3/s
others             W, J    V, A, Ah, Hz, Pa, N, ohm, mol, lm, lx, deg
================== ======= ======================================================================================

Case counts in symbols (mW, MW; Mb, MB), but for slips that can mean one thing alone (Kg, KM, Hrs). A range of
quantities is a quantity with two ends: "3-5 days" is 259200..432000 s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from babel.units import format_unit

from calibkit.characters import strip_accents, unify
from calibkit.values.numbers import numeral_spelling, read_magnitude
from calibkit.values.reading import LONGEST, Reading, Value, decimal_text, language_of, parse_locale, unreadable


class Unit(NamedTuple):
    """How many of its base unit a unit is; a temperature has an offset, too."""

    base: str
    factor: Fraction
    offset: Fraction = Fraction(0)


# --- the units of all languages, and English words ------------------------------------------------

_PREFIXES: Final = {
    "p": ("pico", Fraction(1, 10**12)),
    "n": ("nano", Fraction(1, 10**9)),
    "μ": ("micro", Fraction(1, 10**6)),
    "m": ("milli", Fraction(1, 1000)),
    "c": ("centi", Fraction(1, 100)),
    "d": ("deci", Fraction(1, 10)),
    "h": ("hecto", Fraction(100)),
    "k": ("kilo", Fraction(1000)),
    "M": ("mega", Fraction(10**6)),
    "G": ("giga", Fraction(10**9)),
    "T": ("tera", Fraction(10**12)),
    "P": ("peta", Fraction(10**15)),
    "Ki": ("kibi", Fraction(1024)),
    "Mi": ("mebi", Fraction(1024**2)),
    "Gi": ("gibi", Fraction(1024**3)),
    "Ti": ("tebi", Fraction(1024**4)),
}
# Base unit, factor, symbols, English words ("-": a hyphen or a space), prefixes.
_PREFIXED: Final = (
    ("m", "1", "m", "metre meter", "n μ m c d k"),
    ("kg", "0.001", "g", "gram gramme", "n μ m k"),
    ("s", "1", "s", "second", "p n μ m"),
    ("m^3", "0.001", "L l", "litre liter", "μ m c d h"),
    ("W", "1", "W", "watt", "μ m k M G T"),
    ("V", "1", "V", "volt", "μ m k M"),
    ("A", "1", "A", "ampere amp", "n μ m k"),
    ("Ah", "1", "Ah", "ampere-hour amp-hour", "m k"),
    ("Hz", "1", "Hz", "hertz", "k M G T"),
    ("Pa", "1", "Pa", "pascal", "h k M G"),
    ("Pa", "100000", "bar", "bar", "m"),
    ("N", "1", "N", "newton", "m k M"),
    ("J", "1", "J", "joule", "m k M G T"),
    ("J", "3600", "Wh", "watt-hour", "m k M G T"),
    ("J", "1.602176634e-19", "eV", "electronvolt", "m k M G T"),
    ("ohm", "1", "Ω ohm", "ohm", "m k M"),
    ("mol", "1", "mol", "", "n μ m"),
    ("B", "1", "B", "byte", "k M G T P Ki Mi Gi Ti"),
    ("bit", "1", "bit", "bit", "k M G T P Ki Mi Gi Ti"),
    ("bit", "1", "b", "", "M G T Ki Mi Gi Ti"),
    ("bit/s", "1", "bps", "", "k M G T"),
    ("B/s", "1", "Bps", "", "k M G"),
)
# Base unit, factor, symbols, symbols whose case tells nothing, English words.
_OTHERS: Final = (
    ("m", "1609.344", "mi", "", "mile"),
    ("m", "0.9144", "yd yds", "", "yard"),
    ("m", "0.3048", "ft", "", "foot feet"),
    ("m", "0.0254", "in", "", "inch inches"),
    ("m", "1852", "nmi", "", "nautical-mile"),
    ("m", "9460730472580800", "ly", "", "light-year"),
    ("m", "1e-6", "um", "", "micron"),
    ("m", "1000", "", "km kms", ""),
    ("m", "0.01", "", "cm cms", ""),
    ("kg", "1", "", "kg kgs", ""),
    ("kg", "1000", "t", "", "tonne metric-ton metric-tonne"),
    ("kg", "907.18474", "", "", "short-ton US-ton"),
    ("kg", "1016.0469088", "", "", "long-ton imperial-ton"),
    ("kg", "0.45359237", "", "lb lbs", ""),
    ("kg", "0.028349523125", "", "oz", "ounce"),
    ("kg", "6.35029318", "st", "", "stone"),
    ("kg", "0.001", "gm gms", "", ""),
    ("kg", "1e-9", "mcg ug", "", ""),
    ("s", "1", "", "", "sec secs"),
    ("s", "60", "", "min", "mins minute"),
    ("s", "3600", "h", "", "hr hrs hour"),
    ("s", "86400", "d", "", "day"),
    ("s", "604800", "", "", "wk wks week"),
    ("s", "1209600", "", "", "fortnight"),
    ("month", "1", "", "", "mo mos mth mths month"),
    ("month", "12", "", "", "yr yrs year"),
    ("month", "120", "", "", "decade"),
    ("month", "1200", "", "", "century centuries"),
    ("K", "1", "K", "", "kelvin"),
    ("m^2", "10000", "ha", "", "hectare"),
    ("m^2", "4046.8564224", "ac", "", "acre"),
    ("m^3", "1e-6", "cc ccm", "", ""),
    ("m^3", "1e-9", "uL ul", "", ""),
    ("m^3", "0.001", "", "ltr ltrs", ""),
    ("m/s", "0.44704", "", "mph", ""),
    ("m/s", "1/3.6", "", "kph kmph kmh", ""),
    ("m/s", "1852/3600", "kn kts", "", "knot"),
    ("Pa", "101325", "", "atm", "atmosphere"),
    ("Pa", "101325/760", "", "torr", ""),
    ("Pa", "133.322387415", "", "mmhg", ""),
    ("Pa", "4.4482216152605/0.00064516", "", "psi", ""),
    ("J", "4.184", "cal", "", ""),
    ("J", "4184", "Cal", "kcal", "kilocalorie"),
    ("lm", "1", "lm", "", "lumen"),
    ("lx", "1", "lx", "", "lux"),
    ("deg", "1", "deg", "", ""),
    ("V", "1", "v", "", ""),
    ("Hz", "1", "", "hz", ""),
    ("B", "1000", "KB", "", ""),
    ("bit/s", "1000000", "mbps", "", ""),
    ("bit/s", "1000000000", "gbps", "", ""),
)
# Spellings that may be either of two units, since their case tells nothing.
_EITHER: Final = (
    ("kb Kb", "bit:1000 B:1000"),
    ("mb", "bit:1000000 B:1000000"),
    ("gb", "bit:1000000000 B:1000000000"),
    ("tb", "bit:1000000000000 B:1000000000000"),
    ("KBPS MBPS GBPS", "bit/s:1 B/s:1"),
    *(
        (symbol, f"{base}:0.001 {base}:1000000")
        for base, symbol in (("W", "mw"), ("V", "mv"), ("A", "ma"), ("Pa", "mpa"))
    ),
    *((symbol, f"{base}:0.001 {base}:1000000") for base, symbol in (("Hz", "mhz"), ("J", "mj"), ("N", "mn"))),
    ("mwh", "J:3.6 J:3600000000"),
    ("Mg MG", "kg:0.000001 kg:1000"),
    ("Ml ML", "m^3:0.000001 m^3:1000"),
    ("hp HP", "W:745.69987158227022 W:735.49875"),
    ("° degree degrees", "deg:1 °C:1 °F:1"),
)
_EITHER_IN_ENGLISH: Final = (
    ("ton", "kg:907.18474 kg:1016.0469088 kg:1000"),
    ("horsepower", "W:745.69987158227022 W:735.49875"),
    ("calorie", "J:4.184 J:4184"),
)
# US gallon, imperial gallon, and how many of each measure they hold.
_GALLONS: Final = (("gallon gal", 1, 1), ("quart qt", 4, 4), ("pint", 8, 8), ("fluid-ounce fl-oz", 128, 160))
_GALLON_US, _GALLON_IMPERIAL = Fraction("0.003785411784"), Fraction("0.00454609")
_TEMPERATURES: Final = {
    "C": Unit("K", Fraction(1), Fraction("273.15")),
    "F": Unit("K", Fraction(5, 9), Fraction("459.67") * 5 / 9),
}
_NO_PLURAL: Final = re.compile(r".*s|feet|foot|inch|century|hertz|lux|horsepower|hr|wk|sec|mo|mth|yr|gal|qt|.*oz")
_NUMBER_IN_NAME: Final = re.compile(r"\d+(?:[.,٫]\d+)*")
_HOLDS_DIGIT: Final = re.compile(r"(?<!\^)\d")
_LENGTHS: Final = ("mm", "cm", "dm", "m", "km", "ft", "in", "yd", "mi")
_COUNTRIES_OF_POUNDS: Final = frozenset(("GB", "GG", "JE", "IM", "GI", "FK", "SH"))


def _exactly(text: str) -> Fraction:
    over, _, under = text.partition("/")
    return Fraction(over) / Fraction(under or 1)


def _unit(text: str) -> Unit:
    base, factor = text.split(":")
    return _TEMPERATURES[base[1:]] if base[0] == "°" else Unit(base, _exactly(factor))


def _spellings(words: str) -> Iterator[str]:
    """Singular and plural of each word, with a hyphen and with a space."""
    for word in words.split():
        forms = (word,) if _NO_PLURAL.fullmatch(word) else (word, f"{word}s")
        for form in forms:
            yield form
            if "-" in form:
                yield form.replace("-", " ")


# --- the units of a locale ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Table:
    """The spellings of the units in a locale."""

    symbols: Mapping[str, tuple[Unit, ...]]
    """By their exact spelling."""
    words: Mapping[str, tuple[Unit, ...]]
    """Case folded."""
    per: re.Pattern[str]
    """What stands between the units of a rate."""
    amounts: Mapping[str, Fraction]
    """Words for a number in front of a unit that are no number elsewhere."""
    endings: Mapping[str, Fraction]
    """What adds to a quantity from behind: "and a half"."""


# Words by language: between the units of a rate, in front of a unit, behind a quantity; further units.
_PER: Final = {
    "en": (" per ", " an? ", " each "),
    "de": (" pro ", " je ", " in der ", " am "),
    "fr": (" par ", " à l'", " à la "),
    "es": (" por ", " al ", " a la "),
}
_AMOUNTS: Final = {
    "en": {
        "1": "a|an",
        "1/2": "half|a half|half a|half an|half of a|half of an",
        "1/4": "quarter|quarter of a|quarter of an|a quarter of a|a quarter of an",
        "3/4": "three quarters of a|three quarters of an|three-quarters of a|three-quarters of an",
        "1/3": "a third of a|a third of an",
    },
    "de": {
        "1": "ein|eine|einen|einem|einer",
        "1/2": "halbe|ein halbes|eine halbe|einen halben|ein halber|einer halben",
        "3/2": "anderthalb|eineinhalb|ein einhalb",
        "5/2": "zweieinhalb",
        "3/4": "eine dreiviertel",
        "1/4": "eine viertel",
    },
    "fr": {"1": "un|une", "1/2": "un demi|une demi|demi"},
    "es": {"1": "un|una", "1/2": "medio|media"},
}
_ENDINGS: Final = {
    "en": {"1/2": " and a half", "1/4": " and a quarter", "3/4": " and three quarters"},
    "fr": {"1/2": " et demi| et demie", "1/4": " et quart"},
    "es": {"1/2": " y medio| y media", "1/4": " y cuarto"},
}
_MORE_WORDS: Final = {
    "de": {
        "m/s:1/3.6": "stundenkilometer",
        "s:900": "viertelstunde|viertelstunden",
        "m^2:1": "qm",
        "m^2:1000000": "qkm",
        "m^3:1": "cbm",
        "°C:1": "celsius",
    },
    "fr": {"°C:1": "celsius", "m/s:1/3.6": "kilomètre-heure|kilomètres-heure", "kg:1": "kilo|kilos"},
    "es": {"°C:1": "celsius", "kg:1": "kilo|kilos"},
}


def _turned(table: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((text, key) for key, texts in table.items() for text in texts.split("|"))


@lru_cache(maxsize=1)
def _universal() -> tuple[dict[str, tuple[Unit, ...]], dict[str, tuple[Unit, ...]], dict[str, tuple[Unit, ...]]]:
    """Symbols, symbols whose case tells nothing, and English words."""
    symbols: dict[str, tuple[Unit, ...]] = {}
    caseless: dict[str, tuple[Unit, ...]] = {}
    english: dict[str, tuple[Unit, ...]] = {}
    for base, factor, its_symbols, words, prefixes in _PREFIXED:
        for prefix in ("", *prefixes.split()):
            name, times = _PREFIXES.get(prefix, ("", Fraction(1)))
            unit = (Unit(base, _exactly(factor) * times),)
            for symbol in its_symbols.split():
                if prefix or symbol != "b":
                    symbols[prefix + symbol] = unit
                if prefix == "k" and symbol not in ("B", "N"):
                    symbols[f"K{symbol}"] = unit
                if symbol in ("W", "Wh", "Hz", "Pa", "J", "V"):
                    if prefix in ("h", "k", "G", "T"):
                        caseless[(prefix + symbol).casefold()] = unit
                    elif prefix == "M":
                        symbols[f"M{symbol.upper()}"] = symbols[f"M{symbol.lower()}"] = unit
            english |= dict.fromkeys(_spellings(" ".join(name + word for word in words.split())), unit)
    for base, factor, its_symbols, its_caseless, words in _OTHERS:
        unit = (Unit(base, _exactly(factor)),)
        symbols |= dict.fromkeys(its_symbols.split(), unit)
        caseless |= dict.fromkeys(its_caseless.split(), unit)
        english |= dict.fromkeys(_spellings(words.casefold()), unit)
    for texts, units in _EITHER:
        symbols |= dict.fromkeys(texts.split(), tuple(map(_unit, units.split())))
    for texts, units in _EITHER_IN_ENGLISH:
        english |= dict.fromkeys(_spellings(texts), tuple(map(_unit, units.split())))
    for letter, name in (("C", "celsius"), ("F", "fahrenheit"), ("K", "kelvin")):
        unit = (_TEMPERATURES.get(letter, Unit("K", Fraction(1))),)
        # Rung 1 writes the ordinal sign, which some take for a degree sign, as "o".
        symbols |= dict.fromkeys((f"°{letter}", f"° {letter}", f"deg {letter}", f"deg. {letter}", f"o{letter}"), unit)
        english |= dict.fromkeys((name, *(f"{sign} {name}" for sign in ("degree", "degrees", "deg", "°"))), unit)
        english |= dict.fromkeys((f"degree {letter.lower()}", f"degrees {letter.lower()}"), unit)
    centigrade = (_TEMPERATURES["C"],)
    english |= dict.fromkeys(("centigrade", "degrees centigrade", "degree centigrade"), centigrade)
    for length in _LENGTHS:
        base_unit = (symbols.get(length) or caseless[length])[0]
        for power, short in ((2, "sq"), (3, "cu")):
            spellings = (
                f"{length}^{power}",
                f"{length}{power}",
                f"{short} {length}",
                f"{short}. {length}",
                short + length,
            )
            symbols |= dict.fromkeys(spellings, (Unit(f"m^{power}", base_unit.factor**power),))
    for word in [
        word for word, units in english.items() if units[0].base == "m" and len(units) == 1 and " " not in word
    ]:
        for power, name in ((2, "square"), (3, "cubic")):
            english[f"{name} {word}"] = (Unit(f"m^{power}", english[word][0].factor ** power),)
    return symbols, caseless, english


@lru_cache(maxsize=64)
def _table(locale: str | None) -> _Table:
    language = language_of(locale)
    country = parse_locale(locale).territory if locale else None
    symbols, caseless, english = map(dict, _universal())
    gallons = {"US": (_GALLON_US,), None: (_GALLON_US, _GALLON_IMPERIAL)}.get(country, (_GALLON_IMPERIAL,))
    if language == "en":
        for names, in_us, in_imperial in _GALLONS:
            us, imperial = _GALLON_US / in_us, _GALLON_IMPERIAL / in_imperial
            several = [Unit("m^3", us if gallon == _GALLON_US else imperial) for gallon in gallons]
            for name in _spellings(names):
                english[name] = tuple(several)
                english |= {f"us {name}": (Unit("m^3", us),), f"u.s. {name}": (Unit("m^3", us),)}
                english |= {f"{word} {name}": (Unit("m^3", imperial),) for word in ("imperial", "imp", "imp.", "uk")}
        if country and country not in _COUNTRIES_OF_POUNDS:
            english |= dict.fromkeys(("pound", "pounds"), caseless["lb"])
    words = english if language == "en" else {}
    words |= {word: (_unit(unit),) for word, unit in _turned(_MORE_WORDS.get(language, {}))}
    if language != "en":
        _add_names(locale or "en", symbols, caseless, words)
    return _Table(
        symbols=symbols,
        words=caseless | words,
        per=re.compile(rf" ?/ ?|(?i:{'|'.join(_PER.get(language, ('(?!)',)))})"),
        amounts={text: _exactly(amount) for text, amount in _turned(_AMOUNTS.get(language, {}))},
        endings={text: _exactly(amount) for text, amount in _turned(_ENDINGS.get(language, {}))},
    )


def _add_names(
    locale: str,
    symbols: dict[str, tuple[Unit, ...]],
    caseless: dict[str, tuple[Unit, ...]],
    words: dict[str, tuple[Unit, ...]],
) -> None:
    """Add the names and abbreviations that CLDR has for units in a language."""
    _, _, english = _universal()
    known = parse_locale(locale)
    for name in known.unit_display_names:
        english_name = str(name).partition("-")[2].replace("-", " ")
        units = english.get(english_name) or english.get(english_name.replace(" ", "-"))
        if units is None or len(units) > 1:
            continue
        for length in ("long", "short"):
            for amount in (1, 2, 5, 100, 1.5):
                written = unify(format_unit(amount, name, length, locale=known))  # type: ignore[arg-type]
                text = _NUMBER_IN_NAME.sub("", written).strip()
                if not text or _HOLDS_DIGIT.search(text) or text in ("a", "M"):
                    continue
                if length == "long":
                    for form in _forms(text.casefold(), known.language):
                        words[form] = tuple(dict.fromkeys((*words.get(form, ()), *units)))
                else:
                    # What CLDR abbreviates like something else is ambiguous: J, Joule or Jahr.
                    before = symbols.get(text) or caseless.get(text.casefold(), ())
                    symbols[text] = tuple(dict.fromkeys((*before, *units)))


def _forms(name: str, language: str) -> set[str]:
    forms = {name, strip_accents(name)}
    if language == "de" and name.endswith(("e", "er")):  # 3 bis 5 Tagen, Metern
        forms.add(f"{name}n")
    return forms


@lru_cache(maxsize=4096)
def _units(text: str, locale: str | None) -> tuple[Unit, ...]:
    """Every unit that a spelling may stand for."""
    found = _single(text, locale)
    if not found and (between := _table(locale).per.search(text)):
        over, under = text[: between.start()], text[between.end() :]
        times = 100 if under.startswith("100") else 1  # litres per 100 km
        under = under.removeprefix("100").lstrip() if times > 1 else under
        squared = re.fullmatch(r"(s|sec|second)(?:\^?2| squared)", under)
        bottom = (Unit("s^2", Fraction(1)),) if squared else _single(under, locale)
        found = tuple(
            Unit(f"{top.base}/{low.base}", top.factor / low.factor / times)
            for top in _single(over, locale)
            for low in bottom
            if not top.offset and not low.offset
        )
    return found


def _single(text: str, locale: str | None) -> tuple[Unit, ...]:
    table = _table(locale)
    found: dict[Unit, None] = {}
    for spelling in (text, text[:-1]) if text.endswith(".") else (text,):
        found |= dict.fromkeys(table.symbols.get(spelling) or table.words.get(spelling.casefold(), ()))
    return tuple(found)


# --- reading --------------------------------------------------------------------------------------

# Where a unit may begin: behind a space or a hyphen, or where a digit is followed by something else.
_BOUNDARY: Final = re.compile(r"(?<=\S)[ -](?=[^\W\d_]|°)|(?<=\d)(?=[^\W\d_]|°)")
_FEET: Final = re.compile(
    r"(?P<feet>\d{1,4})(?:'| ?(?:ft\.?|foot|feet))[ -]?"
    r"(?P<inches>\d{1,2}(?:\.\d{1,4})?)(?P<part> \d{1,2}/\d{1,3})?(?:\"|''| ?(?:in\.?|inch(?:es)?))?"
)
_MARKED: Final = re.compile(r"(?P<number>[\d.,/ ]*\d)(?P<mark>'|\"|'')")
_TENS: Final = re.compile(r".*(?:ty|hundred|thousand|million|billion)")
_ALONE: Final = {
    "C": "'C' alone is no unit: degrees are written °C",
    "F": "'F' alone is no unit: degrees are written °F",
}


class _Part(NamedTuple):
    """A number with its unit, each with all that they may stand for."""

    amounts: tuple[Fraction, ...]
    units: tuple[Unit, ...]
    unit_text: str
    reason: str = ""


def read_quantity(text: str, locale: str | None) -> Reading | None:
    """Read a text that is one quantity, or a range of one.

    Parameters
    ----------
    text
        A whole text at rung 1.
    locale
        Decides separators, words, and which gallon; None: separators of all locales, English words.

    Examples
    --------
    >>> [read_quantity(text, "en_US").value.canonical for text in ("5 km", "37 °C", "1 h 30 min", "5-year", "5 ft 11")]
    ['5000 m', '310.15 K', '5400 s', '60 month', '1.8034 m']
    >>> read_quantity("3-5 days", "en_US").value.low, read_quantity("5 kb", "en_US").reason
    (Fraction(259200, 1), "'kb' may be bit or B")
    >>> print(read_quantity("42", "en_US"))
    None
    """
    if len(text) > LONGEST:
        tail = text[-40:].rpartition(" ")[2]
        return (
            unreadable(f"longer than {LONGEST} characters") if text[:1].isdecimal() and _units(tail, locale) else None
        )
    part = _read_part(text, locale)
    if isinstance(part, str):
        return unreadable(part)
    if part is not None:
        return _of_part(part)
    return _read_feet(text, locale) or _read_range(text, locale) or _read_compound(text, locale)


def _read_part(text: str, locale: str | None) -> _Part | str | None:
    """Read a number with one unit; a text says why there is none."""
    for boundary in _BOUNDARY.finditer(text):
        unit_text, number = text[boundary.end() :], text[: boundary.start()]
        refusal = _refusal(unit_text, boundary.group(), number, locale)
        units = _units(unit_text, locale)
        if not units and not refusal:
            continue
        amount = _table(locale).amounts.get(number.casefold())
        read = ((amount,), "") if amount is not None else read_magnitude(number, locale)
        if read is not None and refusal is not None:
            return refusal or None
        if read is not None:
            return _Part(read[0], units, unit_text, read[1])
    for ending, more in _table(locale).endings.items():
        if text.casefold().endswith(ending):
            part = _read_part(text[: -len(ending)], locale)
            if isinstance(part, _Part) and all(amount.denominator == 1 for amount in part.amounts):
                return part._replace(amounts=tuple(amount + more for amount in part.amounts))
    return None


def _refusal(unit: str, gap: str, number: str, locale: str | None) -> str | None:
    """Why what looks like a unit is none, or "" where it belongs to something else altogether."""
    english = language_of(locale) == "en"
    attached = gap == "" and number[-1:].isdecimal()
    if unit in _ALONE:
        return _ALONE[unit]
    if (attached and unit in ("K", "B", "M")) or (gap == "-" and len(unit) == 1 and unit.isupper()):
        return ""
    if attached and unit == "m" and english:
        return "'m' behind a number may be metres or millions"
    if attached and unit == "s" and re.fullmatch(r"'?\d0|(?:1\d|20)\d0", number):
        return f"{number + unit!r} may be seconds or a decade"
    if attached and unit == "d" and number in ("2", "3"):
        return f"{number + unit!r} may be days or dimensions"
    if unit == "second" and not number[-1:].isdecimal() and number.casefold() not in ("one", "a"):
        # "twenty-second" is the ordinal.
        return "" if gap == " " or _TENS.fullmatch(number.casefold()) else None
    if english and unit.casefold() in ("pound", "pounds") and not _units(unit, locale):
        return "pounds may be of money or of mass"
    return None


def _of_part(part: _Part) -> Reading:
    values, reason = [], part.reason
    for amount in part.amounts:
        for unit in part.units:
            values.append(_value(amount * unit.factor + unit.offset, unit.base, amount))
    if len(part.units) > 1:
        reason = _several(part)
    possible = [value for value in values if value is not None]
    return Reading.of(possible, reason) if possible else unreadable(reason or "there is no such quantity")


def _several(part: _Part) -> str:
    if any(unit.offset for unit in part.units):
        return f"{part.unit_text!r} may be of an angle, °C or °F"
    bases = dict.fromkeys(unit.base for unit in part.units)
    sizes = [f"{decimal_text(unit.factor, 6)} {unit.base}" for unit in part.units]
    return f"{part.unit_text!r} may be " + " or ".join(bases if len(bases) == len(sizes) else sizes)


def _value(low: Fraction, base: str, stated: Fraction | None, high: Fraction | None = None) -> Value | None:
    if base == "K" and low < 0:
        return None
    ends = (low,) if high is None else (low, high)
    canonical = "..".join(decimal_text(end, 12) for end in ends) + f" {base}"
    if len(canonical) > LONGEST:
        return None
    return Value("quantity", canonical, low, low if high is None else high, base, stated)


def _read_feet(text: str, locale: str | None) -> Reading | None:
    english = language_of(locale) == "en"
    if match := _FEET.fullmatch(text):
        if not english and "'" in text:
            return unreadable(f"{text!r} may be feet and inches or minutes and seconds")
        inches = Fraction(match["inches"]) + (_exactly(match["part"].strip()) if match["part"] else 0)
        if inches >= 12:
            return unreadable(f"{text!r}: a foot has 12 inches")
        value = _value((int(match["feet"]) * 12 + inches) * Fraction("0.0254"), "m", None)
        return Reading((value,)) if value else None
    if match := _MARKED.fullmatch(text):
        if match["mark"] == "'" and not english:
            return unreadable(f"{text!r} may be feet or minutes")
        read = read_magnitude(match["number"], locale)
        units = _units("ft" if match["mark"] == "'" else "in", locale)
        return _of_part(_Part(read[0], units, match["mark"], read[1])) if read else None
    return None


_RANGE_LEAD: Final = re.compile(r"(?i:between|from|zwischen|von|entre|desde) ")
_RANGE_MARK: Final = re.compile(
    r"(?P<mark> ?(?:±|\+/-) ?)|(?i: (?P<and>and|und|et|y) )"
    r"|(?i: ?- ?|\.\.| (?:to|through|bis|à|a|hasta) )(?=[-+.\w])"
)


def _read_range(text: str, locale: str | None) -> Reading | None:
    lead = _RANGE_LEAD.match(text)
    for mark in _RANGE_MARK.finditer(text, lead.end() if lead else 0):
        if mark["and"] and not lead:
            continue
        first, second = text[lead.end() if lead else 0 : mark.start()], text[mark.end() :]
        high = _read_part(second, locale)
        if not isinstance(high, _Part):
            continue
        low = _read_part(first, locale)
        if low is None and (amount := read_magnitude(first, locale)):
            low = _Part(amount[0], (), high.unit_text, amount[1])
        if isinstance(low, _Part):
            return _of_range(low, high, around=bool(mark["mark"]))
    return None


def _of_range(low: _Part, high: _Part, *, around: bool) -> Reading:
    pairs = [(one, other) for one in low.units for other in high.units if one.base == other.base]
    values = []
    for one, other in pairs or [(unit, unit) for unit in high.units if not low.units]:
        for begin in low.amounts:
            for end in high.amounts:
                bottom, top = begin * one.factor + one.offset, end * other.factor + other.offset
                if around:
                    bottom, top = bottom - end * other.factor, bottom + end * other.factor
                if bottom < top:
                    values.append(_value(bottom, one.base, None, top))
    possible = [value for value in values if value is not None]
    reason = low.reason or high.reason or _several(high)
    return (
        Reading.of(possible, reason) if possible else unreadable(reason if high.reason else "the range does not rise")
    )


_JOINT: Final = re.compile(r",? (?:and|und|et|y|e) |, |(?<=[^\W\d_.°'\"])\.? (?=\d)|(?<=[^\W\d_])(?=\d)", re.IGNORECASE)
_OR: Final = re.compile(r",? (?:or|oder|ou|o|and|und|et|y) | ?/ ?", re.IGNORECASE)
_LETTER: Final = re.compile(r"(\d++(?:\.\d++)?) ?([msd])")


def _read_compound(text: str, locale: str | None) -> Reading | None:
    """Read one quantity in several units: 5 ft 11 in, 1 h 30 min."""
    pieces = _JOINT.split(text, maxsplit=4)
    if len(pieces) > 1:
        # Beside other units, a letter is no million and no decade; "m" is minutes beside seconds or hours.
        parts = [_read_part(_LETTER.sub(r"\1 \2", piece), locale) for piece in pieces]
        bases = {part.units[0].base for part in parts if isinstance(part, _Part) and part.unit_text != "m"}
        known = [
            part._replace(units=(Unit("s", Fraction(60)),)) if part.unit_text == "m" and bases == {"s"} else part
            for part in parts
            if isinstance(part, _Part)
        ]
        if len(known) == len(parts):
            return _add(known) or unreadable(f"{text!r} are several quantities")
    several = _OR.split(text, maxsplit=1)
    if len(several) == 2 and isinstance(_read_part(several[1], locale), _Part):
        first = _read_part(several[0], locale) or read_magnitude(several[0], locale)
        return unreadable(f"{text!r} are several quantities") if first else None
    return None


def _add(parts: list[_Part]) -> Reading | None:
    total, above = Fraction(0), None
    for part in parts:
        if len(part.amounts) != 1 or len(part.units) != 1 or part.units[0].offset:
            return None
        (amount,), (unit,) = part.amounts, part.units
        if above is not None:
            before, larger = above
            in_order = before.denominator == 1 and 0 <= amount * unit.factor < larger.factor
            if unit.base != larger.base or not in_order:
                return None
        total += abs(amount) * unit.factor
        above = amount, unit
    value = _value(-total if parts[0].amounts[0] < 0 else total, parts[0].units[0].base, None)
    return Reading((value,)) if value else None


# --- finding --------------------------------------------------------------------------------------

# Units that are another word, or part of another sign, too often in running text.
_NOT_IN_TEXT: Final = frozenset(("in", "st", "bars", "stones", "degree", "degrees", "°"))
_LEADS: Final = {"en": "between|from", "de": "zwischen|von", "fr": "entre", "es": "entre|desde"}
_TO: Final = {"en": "to|through", "de": "bis", "fr": "à", "es": "a|hasta"}
_AND: Final = {"en": "and", "de": "und", "fr": "et", "es": "y"}
# Units that say one quantity together, the larger first.
_CHAINS: Final = (
    (r"years?|yrs?", r"months?|mths?"),
    (
        r"weeks?|wks?|Wochen?|semaines?|semanas?",
        r"d|days?|Tagen?|Tage|jours?|días?",
        r"h|hrs?|hours?|Stunden?|Std\.?|heures?|horas?",
        r"m|mins?|minutes?|Minuten?|Min\.?|minutos?",
        r"s|secs?|seconds?|Sekunden?|Sek\.?|secondes?|segundos?",
    ),
    (r"ft|feet|foot", r"in|inch(?:es)?"),
    (r"st|stones?", r"lbs?|pounds?", r"oz|ounces?"),
    (r"km|kilomet(?:re|er)s?", r"m|met(?:re|er)s?", r"cm|centimet(?:re|er)s?"),
)
_ENDS: Final = (
    r"(?!\w)(?!\^\w)(?!/(?:\d|\w{1,2}(?!\w)))(?!['\"][^\W_])(?!-(?!(?:old|long|wide|high|tall|deep|thick)\b)\w)(?!\.\d)"
)
# Single letters are units in few places only: "5 A students", "5K", "the 90s", "5G", "3D".
_LETTERS: Final = (
    r"[ -]?[hlLVWJ]|[ -][gms]|(?<!(?<![\d.,])[2-6])g|(?<=[1-9])s|(?<=(?<!\d)\d\d0)s| [dt]|(?<=\.\d) ?A"
    r"|(?: K|(?<=\d\d\d) B)(?=[,;.)]|$| (?:and|to|or|at)\b)"
    r"|(?<=\d)in| in(?= (?:x|by|wide|long|tall|high)\b)| in(?=[,;)]|\.?$)"
)


def _any_of(words: Iterable[str]) -> str:
    """The source of a regex for any of many words, as a tree: trying one after the other takes long."""
    rests: dict[str, set[str]] = {}
    for word in words:
        rests.setdefault(word[:1], set()).add(word[1:])
    optional = rests.pop("", None) is not None
    branches = [re.escape(first) + _any_of(rests[first]) for first in sorted(rests)]
    return f"(?:{'|'.join(branches)}){'?' if optional else ''}" if branches else ""


@lru_cache(maxsize=64)
def spelling(locale: str | None) -> re.Pattern[str]:
    """What a quantity or a range of quantities may look like in running text.

    >>> find = spelling("en_US").match
    >>> [find(text)[0] for text in ("5 km.", "3-5 days later", "5-year-old", "5 ft 11 in", "1 h 30 min", "60 km/h")]
    ['5 km', '3-5 days', '5-year', '5 ft 11 in', '1 h 30 min', '60 km/h']
    >>> [find(text) for text in ("5 A students", "5K", "5 in the", "1990s", "5 apples")]
    [None, None, None, None, None]
    """
    table, language = _table(locale), language_of(locale)
    number = numeral_spelling(locale)
    not_here = _NOT_IN_TEXT if language == "en" else _NOT_IN_TEXT | {"mi"}
    symbols = {re.sub(r"^(?:sq|cu)\.? ?|\^?[23]$", "", text) for text in table.symbols} - not_here
    words = [text for text in table.words if text not in not_here and not text.startswith(("square ", "cubic "))]
    words += ["pound", "pounds"] if language == "en" else []  # refused, where they may be of money
    below = [text for text, units in table.words.items() if units and units[0].base in ("s", "month", "m^3", "kg")]
    under = rf"(?:{_any_of(symbols)}(?:\^?[23])?|(?i:{_any_of(below)}))(?![^\W_])"
    rate = rf"(?: ?/ ?(?:100 ?)?{under}|(?!\S)(?:{table.per.pattern})(?:100 )?(?i:{_any_of(below)}))"
    several = (
        rf"(?:sq\.? ?|cu\.? ?)?(?:{_any_of(text for text in symbols if len(text) > 1)}|m(?=\^|[23]))(?:\^?[23])?"
        rf"|(?i:(?:square |cubic )?{_any_of(words)})"
    )
    letters = _LETTERS + ("" if language == "en" else r"|(?<=\d)m") + (r"| [jo]" if language == "fr" else "")
    unit = rf"(?:[ -]?(?:{several}|[A-Za-z](?=/\w)){rate}?|{letters}){_ENDS}"
    amounts = _any_of(amount for amount in table.amounts if " " in amount or table.amounts[amount] != 1)
    endings = _any_of(table.endings)
    rising = rf" (?i:{_TO.get(language, '(?!)')}) |(?(lead) (?i:{_AND.get(language, '(?!)')}) |(?!))"
    to = rf"(?: ?[^\W\d_]{{1,12}})?(?: ?- ?|\.\.| ?(?:±|\+/-) ?|{rising})"
    chains = "|".join(
        rf" ?(?i:{larger})(?:{_JOINT_IN_TEXT}(?i:{'|'.join(chain[place + 1 :])})(?![^\W\d_])){{1,3}}+"
        for chain in _CHAINS
        for place, larger in enumerate(chain[:-1])
    )
    one = rf"(?:(?:{number}{to})?{number}|(?i:{amounts or '(?!)'})){unit}(?i:{endings or '(?!)'})?"
    articles = rf"|{_ARTICLES}" if language == "en" else ""
    return re.compile(
        rf"(?<!\w)(?<!\w[-./:^'])(?<!\d,)(?!(?<=\d )\d{{3}}(?!\d))(?:{_FEET_IN_TEXT}|{number}(?:{chains}){_ENDS}"
        rf"|(?P<lead>(?i:{_LEADS.get(language, '(?!)')}) )?{one}{articles})"
    )


_FEET_IN_TEXT: Final = r"\d{1,3}'[ -]?\d{1,2}(?:\.\d{1,4})?(?: \d{1,2}/\d{1,3})?(?:\"|''|(?!['\d]))(?!\w)"
_JOINT_IN_TEXT: Final = (
    r"(?:,? (?i:and|und|et|y|e) |, ?| )?(?:\d{1,6}(?:[.,]\d{1,6})?|(?i:one|two|three|four|five|six|seven|eight|nine|ten"
    r"|eleven|twelve|fifteen|(?:twenty|thirty|forty|fifty)(?:-five)?)) ?"
)
_PERIOD: Final = "(?:hour|day|week|fortnight|month|year|decade|century)"
_ARTICLES: Final = (
    rf"(?i:an? (?:{_PERIOD}|mile|minute|kilomet(?:re|er)|kilogram|pound|lit(?:re|er))"
    r" and (?:a half|a quarter|three quarters)(?!\w)|a fortnight(?!\w)"
    rf"|(?:(?<=in )|(?<=for )|(?<=within )|(?<=takes )|(?<=after )|(?<=about )|(?<=than )|(?<=lasts )|(?<=over ))"
    rf"an? {_PERIOD}(?![\w-])(?! and )|(?<![\s\S])an? {_PERIOD}(?=[.!]?$))"
)


@lru_cache(maxsize=64)
def trigger_words(locale: str | None) -> frozenset[str]:
    """The words, case folded, with which a quantity in running text may begin, beside number words.

    >>> sorted(trigger_words("en_US"))
    ['a', 'an', 'between', 'from', 'half', 'quarter', 'three']
    """
    language = language_of(locale)
    first = {
        re.split("[ -]", amount)[0] for amount, value in _table(locale).amounts.items() if " " in amount or value != 1
    }
    leads = set(_LEADS[language].split("|")) if language in _LEADS else set()
    return frozenset(first | leads | ({"a", "an"} if language == "en" else set()))
