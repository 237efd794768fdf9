"""Numbers and ordinals in words, and the words that multiply a number (million, Mrd., lakh).

English is read by a grammar of its own, which says what may stand together, and the other languages by word
lists with a few refusals; the sums are text2num's. A language without a table here has no number words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final

from text_to_num import alpha2digit, text2num

from calibkit.characters import unify
from calibkit.values.reading import language_of, parse_locale

WORD_ENDS: Final = r"(?![^\W\u2e80-\uffdc])"
"""The source of a regex for the end of a word; a script without spaces may follow."""


def any_of(words: Iterable[str]) -> str:
    """The source of a regex for any of some words, the longest first.

    >>> any_of(["hundred", "thousand", "hundred"])
    '(?:thousand|hundred)'
    """
    ordered = sorted(set(words), key=lambda word: (-len(word), word))
    return "(?:" + "|".join(map(re.escape, ordered)) + ")" if ordered else "(?!)"


# --- words that multiply ------------------------------------------------------------------------

# What CLDR's compact forms lack.
_MULTIPLIERS: Final[Mapping[str, Mapping[int, str]]] = {
    "en": {2: "hundred", 3: "k K thousand", 5: "lakh lakhs lac lacs", 6: "M mn mln million millions", 7: "crore crores"}
    | {9: "B bn bln billion billions", 12: "T tn trn trillion trillions", 15: "quadrillion", 18: "quintillion"},
    "de": {3: "Tsd Tsd. tausend", 6: "Mio Mill. Million", 9: "Mrd Milliarde", 12: "Bio Billion"},
    "fr": {6: "million Mio", 9: "milliard Mrd", 12: "billion"},
    "es": {6: "millón mill mill.", 12: "billón"},
    "it": {3: "mila", 6: "milione mln mln.", 9: "miliardo mld mld."},
    "pt": {6: "milhão", 9: "bilhão", 12: "trilhão bilião"},
    "nl": {6: "mln mln. miljoen", 9: "mld mld. mrd mrd. miljard"},
    "sv": {6: "miljon milj milj.", 9: "miljard"},
    "da": {6: "mio million", 9: "mia mia. milliard"},
    "pl": {3: "tys tysięcy", 6: "milionów", 9: "miliardów"},
    "ru": {3: "тыс тысяч", 6: "миллионов", 9: "миллиардов"},
}
# A letter that is a unit as well (metre, tonne, litre) multiplies nothing but money.
_UNIT_LETTERS: Final = frozenset("mtLbg")
_OF_MONEY: Final[Mapping[int, str]] = {6: "m MM mm mil", 9: "b", 12: "t"}
_CLDR_COMPACT = re.compile(r"^[^0]*?(0+)( ?)([^0¤]+)$")


@dataclass(frozen=True, slots=True)
class Multipliers:
    """The words that multiply a number in a locale."""

    factors: Mapping[str, int]
    """By spelling; those of three and more letters are case folded."""
    spelling: str
    """The source of a regex for a multiplier behind a number, with the space before it."""

    def factor(self, word: str) -> int | None:
        """The factor that a word stands for."""
        return self.factors.get(word if len(word) < 3 else word.casefold())


@lru_cache(maxsize=128)
def multipliers(locale: str | None, *, of_money: bool = False) -> Multipliers:
    """The multipliers of a locale: those of CLDR's compact forms and a few more.

    >>> multipliers("de_DE").factor("Mio."), multipliers(None).factor("bn"), multipliers("en_US").factor("m")
    (1000000, 1000000000, None)
    >>> multipliers("en_US", of_money=True).factor("m")
    1000000
    """
    language = language_of(locale)
    tables: list[Mapping[int, str]] = [{3: "k K", 6: "M"}, _MULTIPLIERS.get(language, {})]
    if of_money and language == "en":
        tables.append(_OF_MONEY)
    factors = {word: 10**power for table in tables for power, words in table.items() for word in words.split()}
    if language == "en":
        factors["dozen"] = 12
    spaced: set[str] = set()
    by_cldr: dict[str, set[int]] = {}
    known = parse_locale(locale or "en")
    for width in ("long", "short"):
        for forms in known.compact_decimal_formats[width].values():
            for power, pattern in forms.items():
                if shape := _CLDR_COMPACT.match(unify(str(pattern.pattern).replace("'", ""))):
                    zeros, space, word = shape.groups()
                    by_cldr.setdefault(word, set()).add(10 ** (len(power) - len(zeros)))
                    if space:
                        spaced.add(word)
    # In a few languages CLDR gives one word two factors.
    factors |= {word: found.pop() for word, found in by_cldr.items() if len(found) == 1}
    if not of_money:
        factors = {word: factor for word, factor in factors.items() if word not in _UNIT_LETTERS}
    factors = {word if len(word) < 3 else word.casefold(): factor for word, factor in factors.items()}
    for word in [word for word in factors if len(word) == 2 and word[1].islower()]:
        factors.setdefault(word.upper(), factors[word])
        factors.setdefault(word.capitalize(), factors[word])
    letters = [word for word in factors if len(word) == 1]
    # "5 K" is kelvin or thousand: a letter stands close to its number unless the locale writes it otherwise.
    behind_space = [word for word in factors if len(word) == 2 or (word in letters and (of_money or word in spaced))]
    kinds = [rf"[ -]?(?i:{any_of(word for word in factors if len(word) > 2)})", any_of(letters)]
    kinds += [f" ?{any_of(behind_space)}"] if behind_space else []
    return Multipliers(factors, rf"(?:{'|'.join(kinds)}){WORD_ENDS}")


# --- English ------------------------------------------------------------------------------------

_UNITS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TEENS: Final = (
    *("ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_SMALL: Final = (*_UNITS, *_TEENS, *_TENS, "zero")
# The largest first: what text2num does not know is split there.
_BEYOND_TEXT2NUM: Final = ("quintillion", "quadrillion", "trillion", "crore", "lakh", "dozen")
_BIG: Final = ("hundred", "thousand", "million", "billion", *_BEYOND_TEXT2NUM)
_PARTS: Final = (
    {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8}
    | {"ninth": 9, "tenth": 10, "twelfth": 12, "sixteenth": 16, "twentieth": 20, "hundredth": 100, "thousandth": 1000}
    | {"millionth": 10**6}
)
_IRREGULAR: Final = {"first": "one", "second": "two", "third": "three", "fifth": "five", "eighth": "eight"} | (
    {"ninth": "nine", "twelfth": "twelve"}
)
_ORDINALS: Final[Mapping[str, str]] = (
    {f"{word}th": word for word in (*_UNITS[3:], *_TEENS, *_BIG[:4], "trillion") if word not in _IRREGULAR.values()}
    | {f"{word[:-1]}ieth": word for word in _TENS}
    | _IRREGULAR
)

_SMALL_WORD = rf"{any_of(_SMALL)}\b"
_BIG_WORD = rf"{any_of(_BIG)}\b"
# "and" and a comma join only behind a hundred or a scale: "forty and two" is no number.
_GROUP_AHEAD = rf"(?=(?:a|{_SMALL_WORD}(?:[ -]{_SMALL_WORD})?) {_BIG_WORD})"
_BIG_STEP = rf"{_BIG_WORD}(?:(?: and |-and-){_SMALL_WORD}|, {_GROUP_AHEAD}{_SMALL_WORD})?+"
_CARDINAL = rf"(?:{_SMALL_WORD}|(?:a )?{_BIG_STEP})(?:[ -](?:{_SMALL_WORD}|{_BIG_STEP})){{0,40}}+"
_ONE_PART = rf"(?:a|one)[ -]{any_of(_PARTS)}\b"
_MANY_PARTS = any_of(f"{part}s" if part != "half" else "halves" for part in _PARTS)
_PART = rf"(?:{_ONE_PART}|{_SMALL_WORD}(?:[ -]{_SMALL_WORD})?[ -]{_MANY_PARTS}\b)"
_POINT = rf" point(?: {_SMALL_WORD}){{1,40}}+"
_TIMES = rf"(?: {_BIG_WORD}){{0,2}}+"
# "A third" counts a part where it ends or "of" follows; "a third person" is another matter.
_PART_AHEAD = r"(?= of\b|[^\w-]*$|[^\w\s-])"
_ENGLISH = (
    r"(?i:(?:"
    rf"half (?:of )?a {_BIG_WORD}|"
    rf"{_PART} of an? {_BIG_WORD}|{_ONE_PART}{_PART_AHEAD}|(?!{_ONE_PART}){_PART}|"
    rf"{_CARDINAL}(?:{_POINT}| and {_PART})?+{_TIMES}"
    r"))\b"
)
_ENGLISH_SHAPE = re.compile(
    rf"(?P<some>half|{_PART})(?: (?:of )?an? (?P<of>{_BIG_WORD}(?: {_BIG_WORD})?))?|"
    rf"(?P<whole>{_CARDINAL})(?: point(?P<digits>(?: {_SMALL_WORD})+)| and (?P<part>{_PART}))?(?P<times>{_TIMES})"
)
_ENGLISH_ORDINAL = rf"(?:a (?=hundred|thousand|million))?+(?:{_SMALL_WORD}[ -]|{_BIG_WORD}(?: and |-and-|[ -])){{0,40}}"
_ENGLISH_ORDINAL += rf"{any_of(_ORDINALS)}\b"


def _read_english(text: str) -> Fraction | None:
    shape = _ENGLISH_SHAPE.fullmatch(text)
    if not shape:
        return None
    if some := shape["some"]:
        return _part(some) * _product(shape["of"] or "")
    whole = _cardinal(re.split("[ -]", shape["whole"].replace(",", "")), "en")
    if whole is None:
        return None
    value = Fraction(whole)
    if digits := shape["digits"]:
        figures = [_cardinal([word], "en") for word in digits.split()]
        if any(figure is None or figure > 9 for figure in figures):
            return None
        value += Fraction(int("".join(map(str, figures))), 10 ** len(figures))
    if part := shape["part"]:
        if shape["whole"].endswith(_BIG):  # a million and a half
            return None
        value += _part(part)
    return value * _product(shape["times"])


def _part(text: str) -> Fraction:
    *count, part = text.replace("-", " ").split()
    part = part if part in _PARTS else part.replace("halves", "halfs").removesuffix("s")
    return Fraction(1 if count in ([], ["a"]) else _cardinal(count, "en") or 0, _PARTS[part])


def _product(words: str) -> int:
    product = 1
    for word in words.split():
        product *= multipliers(None).factors[word]
    return product


# --- the sum of some words ------------------------------------------------------------------------


def _cardinal(words: Sequence[str], language: str) -> int | None:
    words = words[1:] if len(words) > 1 and words[0] in ("a", "and") else words
    if len(words) > 1 and _ZERO[language] in words:
        return None
    if language == "en" and (scale := next((scale for scale in _BEYOND_TEXT2NUM if scale in words), None)):
        return _split_cardinal(words, scale)
    if not _descends(words, language):
        return None
    try:
        return int(text2num(" ".join(words), language))
    except ValueError:
        return None


def _split_cardinal(words: Sequence[str], scale: str) -> int | None:
    place, factor = words.index(scale), multipliers(None).factors[scale]
    above = _cardinal(words[:place], "en") if place else 1
    below = _cardinal(words[place + 1 :], "en") if words[place + 1 :] else 0
    if above is None or below is None or below >= factor or (below and scale == "dozen"):
        return None
    return above * factor + below


def _descends(words: Sequence[str], language: str) -> bool:
    # "Six thousand two million" has a sum, and nobody says it.
    runs: list[int] = []
    running = False
    for word in words:
        factor = multipliers(language).factor(word) or 0
        if factor < 1000:
            running = False
        elif running:
            runs[-1] *= factor
        else:
            runs.append(factor)
            running = True
    return all(one > following for one, following in pairwise(runs))


# --- other languages ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Table:
    """The number words of a language."""

    words: str
    """The words, or what they are put together from."""
    within: str | None = None
    """What else stands within a word, where words are written in one."""
    joins: str = r"(?!)"
    """The source of a regex for "and" where it joins two words to one number, and none where it lists two."""
    unsure: str = ""
    """Words that count only beside another number word: articles above all."""
    half: str = r"(?!)"
    """The source of a regex for "and a half"."""


_ZERO: Final = {
    "en": "zero",
    "de": "null",
    "fr": "zéro",
    "es": "cero",
    "it": "zero",
    "pt": "zero",
    "nl": "nul",
    "da": "nul",
}
_TABLES: Final[Mapping[str, _Table]] = {
    "de": _Table(
        "null eins eine ein zwei zwo drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn"
        " sechzehn siebzehn achtzehn neunzehn zwanzig dreissig vierzig fünfzig sechzig siebzig achtzig neunzig hundert"
        " tausend millionen million milliarden milliarde billionen billion",
        within="und",
        unsure="ein eine",
        half=r" ?und ein(?:e[rmn]?)? halbe?",
    ),
    "fr": _Table(
        "zéro un une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize vingt vingts"
        " trente quarante cinquante soixante septante huitante octante nonante cent cents mille million millions"
        " milliard milliards billion billions",
        joins=r" et (?=une?\b|onze\b)",
        unsure="un une neuf",
        half=r" et demie?",
    ),
    "es": _Table(
        "cero un uno una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis"
        " diecisiete dieciocho diecinueve veinte veintiuno veintiún veintiuna veintidós veintitrés veinticuatro"
        " veinticinco veintiséis veintisiete veintiocho veintinueve treinta cuarenta cincuenta sesenta setenta ochenta"
        " noventa cien ciento doscientos doscientas trescientos trescientas cuatrocientos cuatrocientas quinientos"
        " quinientas seiscientos seiscientas setecientos setecientas ochocientos ochocientas novecientos novecientas"
        " mil millón millones billón billones",
        joins=r"(?<=nta) y ",
        unsure="un uno una",
        half=r" y medi[oa]",
    ),
    "it": _Table(
        "zero uno una un due tre tré quattro cinque sei sette otto nove dieci undici dodici tredici quattordici"
        " quindici sedici diciassette diciotto diciannove venti trenta quaranta cinquanta"
        " sessanta settanta ottanta novanta cento mille mila milione milioni"
        " miliardo miliardi",
        within="vent trent quarant cinquant sessant settant ottant novant cent",
        joins=r"(?:(?<=ion[ei])|(?<=iard[oi])) e ",
        unsure="un uno una sei",
        half=r" e mezz[oa]",
    ),
    "pt": _Table(
        "zero um uma dois duas três quatro cinco seis sete oito nove dez onze doze treze catorze quatorze quinze"
        " dezesseis dezasseis dezessete dezassete dezoito dezenove dezanove vinte trinta quarenta cinquenta sessenta"
        " setenta oitenta noventa cem cento duzentos duzentas trezentos trezentas quatrocentos quatrocentas quinhentos"
        " quinhentas seiscentos seiscentas setecentos setecentas oitocentos oitocentas novecentos novecentas mil milhão"
        " milhões bilhão bilhões trilhão trilhões",
        joins=r"(?:(?<=nta|nte|nto)|(?<=nt[ao]s)|(?<=mil|hão)|(?<=hões)) e ",
        unsure="um uma",
        half=r" e mei[oa]",
    ),
    "nl": _Table(
        "nul een één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien twintig dertig veertig"
        " vijftig zestig zeventig tachtig negentig honderd duizend miljoen miljard biljoen",
        within="en ën",
        unsure="een",
        half=r" en een hal(?:f|ve)",
    ),
    "da": _Table(
        "nul en et to tre fire fem seks syv otte ni ti elleve tolv tretten fjorten femten seksten sytten atten nitten"
        " tyve tredive fyrre halvtreds tres halvfjerds firs halvfems hundrede tusinde tusind million millioner milliard"
        " milliarder",
        within="og",
        unsure="en et ti",
        half=r" og en halv",
    ),
}


@lru_cache(maxsize=16)
def _word_of(language: str) -> str:
    table = _TABLES[language]
    if table.within is None:
        return rf"{any_of(table.words.split())}\b"
    within = table.within.split()
    return rf"(?!{any_of(within)}\b){any_of((*table.words.split(), *within))}++\b"


@lru_cache(maxsize=16)
def _cardinal_of(language: str) -> str:
    word, table = _word_of(language), _TABLES[language]
    more = rf"(?:(?:[ -]|{table.joins}){word})"
    return rf"(?i:(?!{any_of(table.unsure.split())}\b(?!{more})){word}{more}{{0,40}}+(?:{table.half}\b)?+)"


@lru_cache(maxsize=16)
def _other_shape(language: str) -> re.Pattern[str]:
    word, table = _word_of(language), _TABLES[language]
    return re.compile(rf"(?P<whole>{word}(?:(?:[ -]|{table.joins}){word})*+)(?P<half>{table.half})?")


def _read_other(text: str, language: str) -> Fraction | None:
    shape = _other_shape(language).fullmatch(text)
    if not shape:
        return None
    words = shape["whole"].replace("-", " ").split() if language != "fr" else shape["whole"].split()
    if language == "de" and words[0] == "eine":
        words[0] = "ein"
    whole = _cardinal(words, language)
    if whole is None or (shape["half"] and whole >= 100):  # um milhão e meio
        return None
    return whole + (Fraction(1, 2) if shape["half"] else Fraction(0))


_MINUS: Final[Mapping[str, tuple[str, ...]]] = {
    "en": ("minus", "negative"),
    "fr": ("moins",),
    "it": ("meno",),
    "nl": ("min",),
    **dict.fromkeys(("es", "pt"), ("menos",)),
    **dict.fromkeys(("de", "sv", "da"), ("minus",)),
}


# --- what the readers use -----------------------------------------------------------------------


@lru_cache(maxsize=64)
def word_spelling(locale: str | None) -> str:
    """The source of a regex for a number in words; it matches nothing in a language without a table.

    >>> bool(re.fullmatch(word_spelling(None), "two hundred and fifty"))
    True
    """
    language = language_of(locale)
    return _ENGLISH if language == "en" else _cardinal_of(language) if language in _TABLES else r"(?!)"


@lru_cache(maxsize=64)
def minus_spelling(locale: str | None) -> str:
    """The source of a regex for the word, and the space behind it, that makes a number negative."""
    return rf"(?i:{any_of(_MINUS.get(language_of(locale), ()))} )"


@lru_cache(maxsize=64)
def part_spelling(locale: str | None) -> str:
    """The source of a regex for "and a half" and its like behind a number in digits."""
    language = language_of(locale)
    if language == "en":
        return rf"(?i: and {_PART})"
    return rf"(?i:{_TABLES[language].half}\b)" if language in _TABLES else r"(?!)"


def read_part(text: str, locale: str | None) -> Fraction:
    """The fraction that a text of `part_spelling` says.

    >>> read_part(" and three quarters", "en_GB")
    Fraction(3, 4)
    """
    return _part(text.casefold().removeprefix(" and ")) if language_of(locale) == "en" else Fraction(1, 2)


def read_words(text: str, locale: str | None) -> Fraction | None:
    """The number that some words say; None where they say none.

    >>> read_words("twelve hundred", "en_US"), read_words("Two and a half million", None)
    (Fraction(1200, 1), Fraction(2500000, 1))
    >>> read_words("zweiundvierzig", "de_DE"), read_words("forty and two", "en_US"), read_words("zero five", None)
    (Fraction(42, 1), None, None)
    """
    language = language_of(locale)
    if language == "en":
        return _read_english(text.casefold())
    return _read_other(text.casefold(), language) if language in _TABLES else None


@lru_cache(maxsize=64)
def ordinal_word_spelling(locale: str | None) -> str:
    """The source of a regex for an ordinal in words; English only, other languages are read as whole texts."""
    if language_of(locale) != "en":
        return r"(?!)"
    # A second is a time as well.
    time = r"(?:(?<!\ba )(?<!\bper )(?<!\bone )(?<!\beach )(?<!\bevery )(?<!split )|(?!second\b))"
    return rf"(?i:{time}{_ENGLISH_ORDINAL})"


_ENGLISH_ORDINAL_SHAPE = re.compile(_ENGLISH_ORDINAL)
_COUNTED = re.compile(r"(\d{1,15})\D{1,4}")


def read_ordinal_words(text: str, locale: str | None) -> int | None:
    """The place that an ordinal in words names; None where it names none.

    >>> read_ordinal_words("hundred and tenth", None), read_ordinal_words("dritte", "de_DE")
    (110, 3)
    >>> read_ordinal_words("two thirds", None), read_ordinal_words("thirty and third", None)
    (None, None)
    """
    language, text = language_of(locale), text.casefold()
    if language == "en":
        if not _ENGLISH_ORDINAL_SHAPE.fullmatch(text):
            return None
        *before, last = re.split("[ -]", text)
        return _cardinal([*before, _ORDINALS[last]], "en")
    if language not in _TABLES or not text.replace(" ", "").replace("-", "").isalpha() or len(text.split()) > 8:
        return None
    counted = _COUNTED.fullmatch(alpha2digit(text, language, 0))
    return int(counted[1]) if counted else None


@lru_cache(maxsize=64)
def first_words(locale: str | None) -> frozenset[str]:
    """The words, case folded, that a number or an ordinal in words can begin with."""
    language = language_of(locale)
    if language == "en":
        return frozenset((*_SMALL, *_ORDINALS, *_MINUS["en"], "a", "half"))
    if language not in _TABLES:
        return frozenset(_MINUS.get(language, ()))
    table = _TABLES[language]
    words = table.words.split()
    if table.within is not None:  # the words of two pieces, and what may join them
        pieces = (*words, *table.within.split())
        joins = {""} | {"und", "en", "ën", "og"}.intersection(pieces)
        joined = {one + join + other for one in pieces for other in pieces for join in joins}
        words += [word for word in joined if _read_other(word, language) is not None]
    return frozenset((*words, *_MINUS[language]))
