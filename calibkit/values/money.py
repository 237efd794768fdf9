"""Amounts of money in texts: a number and a currency, exact to the last cent.

A sign or name that several currencies share ("$", "kr", "pesos") is read as the locale does; without one of its own
among them, and without a locale, it is ambiguous. Abroad, the dollar is that of the United States, as in CLDR.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import Final

from babel.core import get_global
from babel.numbers import get_currency_name, get_territory_currencies

from calibkit.characters import unify
from calibkit.values.numbers import (
    around,
    around_amounts,
    brackets_negate,
    ends_sentence,
    joined,
    range_amounts,
    range_ends,
)
from calibkit.values.numbers import trigger_words as number_triggers
from calibkit.values.numerals import (
    BEFORE,
    BOUND,
    Style,
    amount,
    distinct,
    magnitudes,
    numeral_spelling,
    reading_of,
    several_spelling,
    without_bound,
)
from calibkit.values.reading import LONGEST, Reading, language_of, parse_locale, unreadable
from calibkit.values.words import WORD_ENDS, any_of, minus_spelling

# --- currencies -----------------------------------------------------------------------------------

_CODES: Final = """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP
    CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF
    IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK
    MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR
    SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND
    VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
"""
CODES: Final = frozenset(_CODES.split())
"""ISO 4217: the currencies in use, and a few that were until lately."""
# Codes that no other word is written like, so that small letters do as well.
_UNMISTAKABLE: Final = "aud brl chf cny czk dkk eur gbp hkd huf inr jpy krw mxn nok nzd pln sek sgd usd zar"
# Codes that are English words: money in a text of their own, not in running text.
_WORDLIKE: Final = "ALL BAM COP CUP GEL MAD MOP PEN RON SOS TOP TRY"
# Those whose names are taken from CLDR.
_NAMED: Final = """
    AED ARS AUD BDT BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KES KRW KWD LKR MXN MYR NGN NOK
    NZD PHP PKR PLN QAR RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR
"""

_DOLLARS: Final = "USD CAD AUD NZD HKD SGD TWD BBD BMD BND BSD BZD FJD GYD JMD KYD LRD NAD SBD SRD TTD XCD"
_PESOS: Final = "MXN ARS CLP COP CUP DOP PHP UYU"
_RUPEES: Final = "INR PKR LKR NPR MUR"
# What may be meant by some signs.
_SIGNS: Final[tuple[tuple[str, str], ...]] = (
    (f"{_DOLLARS} {_PESOS}", "$"),
    ("USD", "US$|US $|U.S.$|U.S. $"),
    ("CAD", "C$|CA$|Can$|CDN$"),
    ("AUD", "A$|AU$"),
    ("NZD", "NZ$"),
    ("HKD", "HK$"),
    ("SGD", "S$|SG$"),
    ("TWD", "NT$|圓"),
    ("MXN", "MX$"),
    ("BRL", "R$"),
    ("JMD", "J$"),
    ("XCD", "EC$"),
    ("TTD", "TT$"),
    ("DOP", "RD$"),
    ("EUR", "€"),
    ("GBP", "£"),
    ("JPY CNY", "¥"),
    ("JPY", "JP¥|円"),
    ("CNY", "CN¥|RMB"),
    ("CNY TWD", "元"),
    ("SEK NOK DKK ISK", "kr|kr."),
    (_RUPEES, "Rs|Rs."),
    ("CHF", "SFr."),
    ("PLN", "zł"),
    ("CZK", "Kč"),
    ("HUF", "Ft"),
    ("AZN", "₼"),
    ("BDT", "৳"),
    ("CRC", "₡"),
    ("GEL", "₾"),
    ("GHS", "₵"),
    ("ILS", "₪"),
    ("INR", "₹"),
    ("KZT", "₸"),
    ("LAK", "₭"),
    ("MNT", "₮"),
    ("NGN", "₦"),
    ("PHP", "₱"),
    ("PYG", "₲"),
    ("RUB", "₽"),
    ("THB", "฿"),
    ("TRY", "₺"),
    ("UAH", "₴"),
    ("VND", "₫"),
    ("KRW", "₩|원"),
)
# What may be meant by some names, by language; the longer names are CLDR's.
_NAMES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "en": (
        (_DOLLARS, "dollar|dollars"),
        ("USD", "US dollar|U.S. dollar|U.S. dollars|American dollar|American dollars"),
        ("EUR", "euro|euros"),
        ("GBP", "pound sterling|pounds sterling|sterling|quid"),
        ("GBP EGP LBP SDG SYP", "pound|pounds"),
        ("JPY", "yen"),
        ("CNY", "yuan|renminbi"),
        (_RUPEES, "rupee|rupees"),
        (_PESOS, "peso|pesos"),
        ("CHF XAF XOF", "franc|francs"),
        ("SEK", "krona|kronor"),
        ("NOK DKK", "krone|kroner"),
        ("RUB", "ruble|rubles|rouble|roubles"),
        ("KRW", "won"),
        ("ZAR", "rand"),
        ("PLN", "zloty|zlotys"),
        ("THB", "baht"),
        ("MYR", "ringgit"),
        ("ILS", "shekel|shekels"),
        ("HUF", "forint|forints"),
    ),
    "de": ((_DOLLARS, "Dollar"), ("EUR", "Euro"), ("GBP", "Pfund Sterling|Pfund"), ("CHF", "Franken"), ("JPY", "Yen")),
    "fr": (
        (_DOLLARS, "dollar|dollars"),
        ("EUR", "euro|euros"),
        ("GBP", "livre sterling|livres sterling"),
        ("CHF XAF XOF", "franc|francs"),
    ),
    "es": (
        (_DOLLARS, "dólar|dólares"),
        ("EUR", "euro|euros"),
        ("GBP", "libra esterlina|libras esterlinas"),
        (_PESOS, "peso|pesos"),
    ),
    "it": ((_DOLLARS, "dollaro|dollari"), ("EUR", "euro"), ("GBP", "sterlina|sterline")),
    "pt": (
        (_DOLLARS, "dólar|dólares"),
        ("EUR", "euro|euros"),
        ("GBP", "libra esterlina|libras esterlinas"),
        ("BRL", "real|reais"),
    ),
    "nl": ((_DOLLARS, "dollar|dollars"), ("EUR", "euro|euro's"), ("GBP", "pond sterling")),
    "sv": ((_DOLLARS, "dollar"), ("SEK", "krona|kronor")),
    "da": ((_DOLLARS, "dollar"), ("DKK", "krone|kroner")),
    "nb": ((_DOLLARS, "dollar"), ("NOK", "krone|kroner")),
    "pl": ((_DOLLARS, "dolar|dolary|dolarów"), ("PLN", "złoty|złote|złotych")),
    "ru": ((_DOLLARS, "доллар|доллара|долларов"), ("EUR", "евро"), ("RUB", "рубль|рубля|рублей|руб.|руб|р.")),
    "ja": ((_DOLLARS, "ドル"), ("EUR", "ユーロ"), ("GBP", "ポンド")),
    "hi": ((_DOLLARS, "डॉलर"), ("INR", "रुपये|रुपया|रुपए|रु.")),
}
# The same for a hundredth.
_HUNDREDTHS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "en": (
        (f"EUR {_DOLLARS}", "cent|cents|¢"),
        ("GBP", "penny|pence"),
        ("GBP USD", "pennies"),
        ("INR PKR", "paisa|paise"),
        ("EUR CHF", "centime|centimes"),
        ("RUB", "kopeck|kopecks"),
    ),
    "de": (("EUR", "Cent|Cents|ct"), ("CHF", "Rappen")),
    "fr": (("EUR CHF", "centime|centimes"),),
    "es": (("EUR", "céntimo|céntimos"),),
    "it": (("EUR", "centesimo|centesimi"),),
    "pt": (("BRL", "centavo|centavos"),),
    "nl": (("EUR", "cent"),),
    "sv": (("SEK", "öre"),),
    "da": (("DKK", "øre"),),
    "nb": (("NOK", "øre"),),
    "pl": (("PLN", "grosz|grosze|groszy"),),
    "ru": (("RUB", "копейка|копейки|копеек|коп."),),
    "hi": (("INR", "पैसे|पैसा"),),
}
# Behind a sign, and only there: "$5 US".
_NATIONS: Final = {"US": "USD", "U.S.": "USD", "Cdn": "CAD", "Can": "CAD", "AU": "AUD", "NZ": "NZD"}
# Words for money that mean something else as well: money in running text where it is one's own.
_UNSURE: Final = {"won": "KRW", "Ft": "HUF", "rand": "ZAR", "K": "ZMW", "R": "ZAR"}
# Words that mean something else even there.
_WEIGHTS: Final = frozenset({"pound", "pounds", "p"})
# "€ 5,-"
_NO_CENTS: Final = r"(?:[.,]--?)?+"
# Which currency a country has is asked of CLDR for one day, so that a value does not change with the calendar.
_IN_FORCE: Final = date(2026, 1, 1)


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is meant by a sign or a name: one of some currencies, or the hundredth part of one."""

    codes: tuple[str, ...]
    part: int = 1
    family: frozenset[str] = frozenset()
    """All that it stands for anywhere: "$5 CAD" is no contradiction."""


@dataclass(frozen=True, slots=True)
class _Tables:
    """What reading money needs of one locale."""

    units: Mapping[str, _Unit]
    """By sign, code and case-folded name."""
    amount: re.Pattern[str]
    spelling: re.Pattern[str]
    triggers: frozenset[str]

    def unit(self, text: str) -> _Unit:
        """What a sign, a code or a name stands for."""
        return self.units.get(text) or self.units[text.casefold()]


@lru_cache(maxsize=64)
def _own_currency(locale: str | None) -> str | None:
    if locale is None:
        return None
    known = parse_locale(locale)
    territory = known.territory or get_global("likely_subtags").get(known.language, "").rpartition("_")[2]
    used = get_territory_currencies(territory, start_date=_IN_FORCE) if territory else []
    return str(used[0]) if used else None


def _meant(codes: str, locale: str | None, part: int = 1) -> _Unit:
    every = codes.split()
    own = _own_currency(locale)
    if own in every:
        every = [own]
    elif locale is not None and every[0] == "USD":  # abroad, the dollar is that of the United States
        every = ["USD"]
    return _Unit(tuple(every), part, frozenset(codes.split()))


def _signs(locale: str | None) -> dict[str, _Unit]:
    signs = {sign: _meant(codes, locale) for codes, some in _SIGNS for sign in some.split("|")}
    if locale is not None:
        own = _own_currency(locale)
        for code, sign in parse_locale(locale).currency_symbols.items():
            sign = unify(sign)
            if code in CODES and sign != code and (code == own or signs.get(sign, _Unit(())).codes != (own,)):
                signs[sign] = _Unit((code,), family=signs[sign].family | {code} if sign in signs else frozenset({code}))
    return signs


def _names(locale: str | None) -> dict[str, _Unit]:
    names = {}
    for code in _NAMED.split():
        for count in (0, 1, 2, 3, 11, 100, 1.5):  # all plural forms
            name = unify(get_currency_name(code, count, locale or "en"))
            names[name] = names[name.casefold()] = _Unit((code,), family=frozenset({code}))
    language = language_of(locale)
    for part, table in ((1, _NAMES), (100, _HUNDREDTHS)):
        for codes, some in table.get(language, ()):
            names |= {name.casefold(): _meant(codes, locale, part) for name in some.split("|")}
    if language == "en" and _own_currency(locale) == "GBP":
        names["p"] = _Unit(("GBP",), 100, frozenset({"GBP"}))
    return names


@lru_cache(maxsize=64)
def _tables(locale: str | None) -> _Tables:
    signs, names = _signs(locale), _names(locale)
    codes = {code: _Unit((code,), family=frozenset({code})) for code in CODES}
    small = {code: codes[code.upper()] for code in _UNMISTAKABLE.split()}
    numeral = numeral_spelling(locale, of_money=True)

    def unit(signs: Iterable[str], codes: Iterable[str], names: Iterable[str]) -> str:
        return rf"(?:{any_of((*signs, *codes))}|(?i:{any_of((*names, *small))}))"

    nation = rf"{any_of(_NATIONS)}{WORD_ENDS}"

    def written(leading: str, trailing: str) -> str:
        first = rf"(?:{leading}(?: ?{leading})?)"
        return rf"(?:{first} ?{numeral}{_NO_CENTS}(?: ?(?:{trailing}|{nation}))?|{numeral}{_NO_CENTS} ?{trailing})"

    leading, trailing = unit(signs, codes, ()), rf"{unit(signs, codes, names)}{WORD_ENDS}"
    whole = (
        rf"(?P<sign>[-+]|{minus_spelling(locale)})?(?P<before>{leading})?(?: ?(?P<also>{leading}))? ?"
        rf"(?P<number>{numeral}){_NO_CENTS} ?(?P<after>{trailing}|(?(before){nation}|(?!)))?"
    )
    unsure = {name for name, code in _UNSURE.items() if code != _own_currency(locale)}
    leading = unit(signs.keys() - unsure, CODES.difference(_WORDLIKE.split()), ())
    trailing = rf"{unit(signs.keys() - unsure, CODES, names.keys() - unsure - _WEIGHTS)}{WORD_ENDS}"
    one = written(leading, trailing)
    hundredths = any_of(name for name in names.keys() - _WEIGHTS if names[name].part == 100)
    parted = rf"(?:(?:,? and|,)? {numeral} ?(?i:{hundredths}){WORD_ENDS})?"
    end = rf"(?:{leading} ?)?{numeral}{_NO_CENTS}(?: ?{trailing})?"
    sign = rf"(?:[-+]|{minus_spelling(locale)})?"
    running = rf"{BEFORE}{BOUND}?+{sign}(?:{joined(locale, end, end)}|{one}{parted})(?!\d|[.,:/^]\d)"
    return _Tables(
        signs | codes | small | names | {name: codes[code] for name, code in _NATIONS.items()},
        re.compile(whole),
        re.compile(running),
        frozenset(small) | {word[0].casefold() for sign in signs if (word := _FIRST_WORD.match(sign))},
    )


_FIRST_WORD = re.compile(r"[^\W\d_]+")


# --- reading --------------------------------------------------------------------------------------

_BRACKETED = re.compile(r"([^()\d]{0,6})\(([^()]*)\)")
_PARTED = re.compile(r"(?P<whole>.+?),?(?: (?:and|und|et|y|e|en|och|og))? (?P<part>\S+ \S+|\S+¢)")


@dataclass(frozen=True, slots=True)
class _Amount:
    """A number with what stands for its currency, where anything does."""

    number: str
    magnitudes: Mapping[Style, Fraction]
    unit: _Unit | None


def read_money(text: str, locale: str | None) -> Reading | None:
    """Read a text that is one amount of money, or a range of amounts.

    Examples
    --------
    >>> [read_money(text, "en_US").value.canonical for text in ("$3.5M", "75 cents", "($8.00)", "NZ$8", "$6-8")]
    ['USD 3500000', 'USD 0.75', 'USD -8', 'NZD 8', 'USD 6..8']
    >>> read_money("€ 2.750,40", "de_DE").value.canonical, read_money("$8", None).outcome, read_money("8", None)
    ('EUR 2750.4', 'ambiguous', None)
    """
    if len(text) > LONGEST:
        starts = _tables(locale).amount.match(text[:LONGEST])
        return unreadable(f"longer than {LONGEST} characters") if starts and starts["before"] else None
    written = _amount(text, locale)
    if written is None:
        found = _read_range(text, locale) or _read_parted(text, locale) or _refuse(text, locale)
        return read_money(text[:-1], locale) if found is None and ends_sentence(text) else found
    if written.unit is None:
        return None
    if not written.magnitudes:
        return unreadable(f"{text!r} is not written as amounts of money are" + (f" in {locale}" if locale else ""))
    numbers = [value / written.unit.part for value in distinct(written.magnitudes)]
    return _reading(((number, None) for number in numbers), written.unit, text)


def _reading(ends: Iterable[tuple[Fraction, Fraction | None]], unit: _Unit, text: str) -> Reading:
    if not unit.codes:
        return unreadable(f"{text!r} names two currencies")
    return reading_of([amount("money", low, high, code) for low, high in ends for code in unit.codes], text)


def _amount(text: str, locale: str | None) -> _Amount | None:
    tables = _tables(locale)
    bracketed = _BRACKETED.fullmatch(text)
    if not (match := tables.amount.fullmatch("".join(bracketed.groups()) if bracketed else text)):
        return None
    sign, before, also, number, after = match.groups()
    unit = _agreed([tables.unit(name) for name in (before, also, after) if name])
    found = magnitudes(number, locale, of_money=True)
    if sign or bracketed:
        if (sign and bracketed) or (bracketed and not brackets_negate(locale)) or number[0] in "+-":
            found = {}
        elif sign != "+":
            found, number = {style: -value for style, value in found.items()}, f"-{number}"
    return _Amount(number, found, unit)


def _agreed(units: Sequence[_Unit]) -> _Unit | None:
    if len(units) < 2:
        return units[0] if units else None
    one, other = units[0], _agreed(units[1:]) or units[0]
    common = (
        [code for code in one.codes if code in other.codes]
        or [code for code in other.codes if code in one.family]
        or [code for code in one.codes if code in other.family]
    )
    return _Unit(tuple(common) if one.part == other.part else (), one.part, one.family & other.family)


def _read_range(text: str, locale: str | None) -> Reading | None:
    if ends := around(text):
        find = around_amounts
    elif ends := range_ends(text, locale):
        find = range_amounts
    else:
        return None
    low, high = (_amount(end, locale) for end in ends)
    if not (low and high):
        return None
    unit = _agreed([end.unit for end in (low, high) if end.unit])
    if unit is None:
        return None
    pairs = find((low.number, high.number), locale, of_money=True)
    if not pairs:
        return unreadable(f"{text!r} does not rise from one amount to another")
    return _reading(((low / unit.part, high / unit.part) for low, high in pairs), unit, text)


def _read_parted(text: str, locale: str | None) -> Reading | None:
    if not (match := _PARTED.fullmatch(text)):
        return None
    whole, part = (_amount(match[name], locale) for name in ("whole", "part"))
    if not (whole and part and whole.unit and part.unit) or (whole.unit.part, part.unit.part) != (1, 100):
        return None
    sums = [
        one + Fraction(other, 100)
        for style, one in whole.magnitudes.items()
        if (other := part.magnitudes.get(style)) is not None
        and one.denominator == other.denominator == 1
        and one >= 0
        and 0 <= other < 100
    ]
    if not sums:
        return unreadable(f"{text!r} is not one amount of money")
    codes = tuple(code for code in whole.unit.codes if code in part.unit.family)
    return _reading(((value, None) for value in sums), _Unit(codes), text)


def _refuse(text: str, locale: str | None) -> Reading | None:
    if (bare := without_bound(text, locale)) != text and read_money(bare, locale):
        return unreadable(f"{text!r} is a bound or a guess, not one amount")
    amounts = [_amount(part, locale) for part in re.split(several_spelling(locale), text)]
    if len(amounts) > 1 and all(amounts) and any(one.unit for one in amounts if one):
        return unreadable(f"{text!r} holds several amounts")
    return None


@lru_cache(maxsize=64)
def spelling(locale: str | None) -> re.Pattern[str]:
    """What may be an amount of money, in running text."""
    return _tables(locale).spelling


@lru_cache(maxsize=64)
def trigger_words(locale: str | None) -> frozenset[str]:
    """The words, case folded, that an amount of money can begin with, besides number words."""
    return _tables(locale).triggers | number_triggers(locale)
