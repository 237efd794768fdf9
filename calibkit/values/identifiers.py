"""Identifiers in texts: codes, addresses, versions, phone and account numbers, each in one canonical spelling.

=================== ==================== ================================================================
kind                canonical            what is the same
=================== ==================== ================================================================
code                A1042, A10_42        case; separators between letters and digits: "a 1042", "A-1042"
digits behind a cue 0042                 the cue ("order 0042", "#0042"); zeros count
version             1.10, 2.0rc1         as in PEP 440, with two numbers at least: "v1.10.0"
UUID, MAC           lower case           braces, hyphens, colons, case
IP address          2001:db8::1          the ways to shorten an IPv6 address
web address         https://example.com  case of scheme and host, the usual port, the slash of a bare host
e-mail address      lower case           case, also before the "@" (few servers tell it apart)
ISBN                13 digits            ISBN-10 and its ISBN-13
IBAN, card number   no spaces            spaces
phone number        +442079460958        national and international form
=================== ==================== ================================================================

In a code, "_" stands between two groups of digits (or of letters) that were apart: A-10-42 is not A-104-2. Only a year
behind letters runs together with the number that follows (INV/2026/0042 is INV20260042): it always has four digits, so
no two ways to part them meet. What only its cue makes an identifier keeps a mark: "room 12K" is #12K, v1.2.3.4 its "v".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from itertools import pairwise
from typing import Final

from babel import Locale

from calibkit.values.reading import LONGEST, Reading, Value, language_of, parse_locale, unreadable
from calibkit.values.words import any_of


def _one(canonical: str, stated: str | None = None) -> Reading:
    return Reading((Value("identifier", canonical, stated=None if stated is None else Fraction(int(stated))),))


# --- addresses -----------------------------------------------------------------------------------

# Brackets that an address itself opened belong to it; marks at its end belong to the sentence.
_WEB: Final = (
    r"(?i:https?://|ftp://|www\.)(?=[^\W_])"
    r"(?:[.,;:!?'*]*+(?:[^\s()<>\[\]{}\"'.,;:!?*]|\([^\s()<>]*+\)))++"
)
_EMAIL: Final = r"(?i:mailto:)?[\w.%+-]{1,64}+@[^\W_][\w-]*+(?:\.[\w-]++)++"
_UUID: Final = (
    r"(?i:(?P<open>\{)?(?:urn:uuid:)?[0-9a-f]{8}(?P<dash>-?)"
    r"[0-9a-f]{4}(?P=dash)[0-9a-f]{4}(?P=dash)[0-9a-f]{4}(?P=dash)[0-9a-f]{12}(?(open)\}))"
)
_MAC: Final = r"(?i:[0-9a-f]{2}(?P<pair>[:-])(?:[0-9a-f]{2}(?P=pair)){4}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4})"
_IPV4: Final = r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?::[0-9]{1,5}|/[0-9]{1,2})?"
_IPV6: Final = r"(?i:(?=(?:[0-9a-f]*:){2})[0-9a-f:]{2,40}(?:(?<=:)[0-9]{1,3}(?:\.[0-9]{1,3}){3})?)(?:/[0-9]{1,3})?"
_HOST: Final = re.compile(r"(?:[^\W_](?:[\w-]*[^\W_])?\.)*[^\W_](?:[\w-]*[^\W_])?\.?(?P<port>:[0-9]{1,5})?")
_LOCAL_PART: Final = re.compile(r"[\w%+-]++(?:\.[\w%+-]++)*+")
_TOP_LEVEL: Final = re.compile(r"\.(?:[^\W\d_]{2,}|xn--[a-z0-9-]+)$")
_PORTS: Final = {"http": ":80", "https": ":443", "ftp": ":21"}


def _web(text: str, locale: str | None) -> Reading | None:
    scheme, mark, rest = text.partition("://") if "://" in text else ("", "", text)
    scheme = scheme.lower()
    host, path = re.fullmatch(r"([^/?#]*)(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr]
    user, at, host = host.rpartition("@")
    host = host.lower().rstrip(".")
    name = _HOST.fullmatch(host)
    if name is None or int((name["port"] or ":0")[1:]) > 65535:
        return unreadable(f"{host!r} is no name of a host")
    if name["port"] and name["port"] == _PORTS.get(scheme):
        host = host.removesuffix(name["port"])
    return _strange(host) or _one(f"{scheme}{mark}{user}{at}{host}{'' if path == '/' else path}")


def _email(text: str, locale: str | None) -> Reading | None:
    address = text.lower().removeprefix("mailto:")
    user, _, host = address.partition("@")
    if not (_LOCAL_PART.fullmatch(user) and _HOST.fullmatch(host) and _TOP_LEVEL.search(host)):
        return unreadable(f"{address!r} is no e-mail address")
    return _strange(address) or _one(address)


def _uuid(text: str, locale: str | None) -> Reading | None:
    figures = re.sub("[{}-]", "", text.lower().replace("urn:uuid:", ""))
    if figures.isdecimal() and "-" not in text:
        return None
    return _one("-".join((figures[:8], figures[8:12], figures[12:16], figures[16:20], figures[20:])))


def _mac(text: str, locale: str | None) -> Reading | None:
    figures = re.sub("[:.-]", "", text.lower())
    if "." in text and figures.isdecimal():
        return None
    return _one(":".join(figures[at : at + 2] for at in range(0, 12, 2)))


def _ipv4(text: str, locale: str | None) -> Reading | None:
    address, mark, behind = re.fullmatch(r"([0-9.]+)([:/]?)(.*)", text).groups()  # type: ignore[union-attr]
    if re.search(r"(?<![0-9])0[0-9]", address):
        return unreadable(f"{address!r} has a number with a leading zero, which some programs read as octal")
    try:
        IPv4Address(address)
    except AddressValueError:
        return unreadable(f"{address!r} is no IP address: its numbers go up to 255")
    if int(behind or 0) > {":": 65535, "/": 32, "": 0}[mark]:
        return unreadable(f"{text!r} is no IP address: there is no {mark}{behind}")
    return _one(f"{address}{mark}{int(behind)}" if mark else address)


def _ipv6(text: str, locale: str | None) -> Reading | None:
    address, mark, size = text.partition("/")
    try:
        number = IPv6Address(address)
    except AddressValueError:
        # 14:30:00 is a time.
        return unreadable(f"{address!r} is no IPv6 address") if "::" in address or address.count(":") > 5 else None
    if int(size or 0) > 128:
        return unreadable(f"{text!r} is no IPv6 address: there is no /{size}")
    inner = number.ipv4_mapped  # versions of Python differ in how they write it
    return _one((f"::ffff:{inner}" if inner else str(number)) + (f"/{int(size)}" if mark else ""))


# --- numbers with check digits --------------------------------------------------------------------

_ISBN: Final = (
    r"(?:97[89][ -]?)?[0-9]{1,5}(?P<part>[ -])[0-9]{1,7}(?P=part)[0-9]{1,6}(?P=part)[0-9Xx]|97[89]-?[0-9]{10}"
)
_IBAN: Final = r"[A-Z]{2}[0-9]{2}(?P<gap> ?)[A-Z0-9]{4}(?:(?P=gap)[A-Z0-9]{4}){1,7}(?:(?P=gap)[A-Z0-9]{1,3})?"
_IBAN_LENGTHS: Final = {
    country: length
    for length, countries in (
        *((15, "NO"), (16, "BE"), (18, "DK FI FK FO GL NL SD"), (19, "MK SI"), (20, "AT BA EE KZ LT LU MN XK")),
        *((21, "CH HR LI LV"), (22, "BG BH CR DE GB GE IE ME RS VA"), (23, "AE GI IL IQ OM SO TL")),
        *((24, "AD CZ ES MD PK RO SA SE SK TN VG"), (25, "LY PT ST"), (26, "IS TR"), (27, "BI DJ FR GR IT MC MR SM")),
        *((28, "AL AZ BY CY DO GT HN HU LB NI PL SV"), (29, "BR EG PS QA UA"), (30, "JO KW MU YE"), (31, "MT SC")),
        *((32, "LC"), (33, "RU")),
    )
    for country in countries.split()
}


def _isbn(text: str, locale: str | None) -> Reading | None:
    figures = re.sub("[ -]", "", text).upper()
    if len(figures) == 10:
        right = sum((10 - place) * int(c.replace("X", "10")) for place, c in enumerate(figures)) % 11 == 0
        isbn = _with_check_digit("978" + figures[:9])
    elif len(figures) == 13 and figures.isdecimal() and figures[:3] in ("978", "979"):
        right = _with_check_digit(figures[:12]) == figures
        isbn = figures
        if not right and figures == text:
            return None  # these may be the digits of something else
    else:
        return None
    return _one(isbn, isbn) if right else unreadable(f"{text!r} is no ISBN: its check digit is wrong")


def _with_check_digit(figures: str) -> str:
    return figures + str(-sum(int(c) * (3 if place % 2 else 1) for place, c in enumerate(figures)) % 10)


def _iban(text: str, locale: str | None) -> Reading | None:
    account = text.replace(" ", "").upper()
    length = _IBAN_LENGTHS.get(account[:2])
    if length is None or (length != len(account) and account == text):
        return None
    if length != len(account):
        return unreadable(f"{account!r} is no IBAN: those of {account[:2]} have {length} characters")
    if int("".join(str(int(c, 36)) for c in account[4:] + account[:4])) % 97 != 1:
        return unreadable(f"{account!r} is no IBAN: its check digits are wrong")
    return _one(account)


def _card(text: str, locale: str | None) -> Reading | None:
    figures = re.sub("[ -]", "", text)
    if not re.fullmatch("[0-9]{13,19}", figures):
        return None
    doubled = (int(c) * (1 + place % 2) for place, c in enumerate(reversed(figures)))
    if sum(number - 9 if number > 9 else number for number in doubled) % 10:
        return unreadable(f"{text!r} is no card number: its check digit is wrong")
    return _one(figures, figures)


# --- phone numbers --------------------------------------------------------------------------------

_EXTENSION: Final = r"(?:(?: ?ext\.?| ?x|;ext=) ?[0-9]{1,6})?"
_GROUPS: Final = rf"(?: ?\([0-9]{{1,5}}\))?(?:(?:(?<=\)) ?| - |[ ./-])[0-9]++){{0,8}}{_EXTENSION}"
_PHONE: Final = rf"(?:\+ ?)?(?:[0-9]++|\([0-9]++\)){_GROUPS}"
_ABROAD: Final = rf"\+ ?(?=(?:[ ()./-]{{0,3}}[0-9]){{7}})[0-9]++{_GROUPS}"
_AMERICAN: Final = re.compile(r"(?:1[-. ])?[0-9]{3}[-. ][0-9]{3}[-. ][0-9]{4}")
_THOUSANDS: Final = re.compile(r"\+?[0-9]{1,3}(?:[ .][0-9]{3})+")
_DATE: Final = re.compile(
    r"[0-9]{4}(?P<ymd>[-/.])(?:0?[1-9]|1[0-2])(?P=ymd)(?:0?[1-9]|[12][0-9]|3[01])"
    r"|(?:0?[1-9]|[12][0-9]|3[01])(?P<dmy>[-/.])(?:0?[1-9]|[12][0-9]|3[01])(?P=dmy)[0-9]{4}"
    r"|(?:0?[1-9]|[12][0-9]|3[01])(?P<dm>[-/])(?:0?[1-9]|[12][0-9]|3[01])(?P=dm)[0-9]{2}"
)


def _phone(text: str, locale: str | None, *, cued: bool = False) -> Reading | None:
    groups = re.findall("[0-9]+", re.split("[ex;]", text)[0])
    count = sum(map(len, groups))
    if not 7 <= count <= 17 or _DATE.fullmatch(text):
        return None
    sure = cued or text[0] in "+(" or (text[0] == "0" and len(groups) > 1) or _AMERICAN.fullmatch(text)
    maybe = len(groups) > 2 or (text[0] == "0" and count > 8)
    found = _dialled(text, locale) if sure or maybe else None
    if found is None or found.values:
        return found
    # +5 000 000 is a number, too.
    return found if sure and (cued or not _THOUSANDS.fullmatch(text)) else None


def _dialled(text: str, locale: str | None) -> Reading:
    country = parse_locale(locale).territory if locale else None
    if country is None and text[0] != "+":
        return unreadable(f"{text!r} is a phone number without a country: set a locale (en_GB), or write +44 ...")
    try:
        phonenumbers = import_module("phonenumbers")
    except ImportError:
        return unreadable("reading phone numbers needs a package: pip install 'calibkit[phone]'")
    try:
        number = phonenumbers.parse(text, country)
    except phonenumbers.NumberParseException:
        return unreadable(f"{text!r} is no phone number")
    if not phonenumbers.is_valid_number(number):
        return unreadable(f"{text!r} is no phone number" + (f" of {country}" if text[0] != "+" else ""))
    written = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return _one(f"{written};ext={number.extension}" if number.extension else written)


# --- versions -------------------------------------------------------------------------------------

_VERSION: Final = (
    r"(?i:(?P<v>v ?[-_./]? ?)?(?P<numbers>[0-9]++(?:\.[0-9]++)*)"
    r"(?:[-_.]?(?P<letter>[abc])[-_.]?(?P<count>[0-9]+)"
    r"|[-_. ]?(?P<word>alpha|beta|rc|preview|pre)[-_. ]?(?P<of>[0-9]*))?"
    r"(?:[-_.]?post[-_.]?(?P<post>[0-9]*))?(?:[-_.]?dev[-_.]?(?P<dev>[0-9]*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?)"
)
# Numbers with dots that are addresses, phone numbers or dates where no "v" stands in front.
_OTHER_DOTTED: Final = re.compile(
    rf"[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}|[0-9]{{3}}\.[0-9]{{3}}\.[0-9]{{4}}|0[0-9]+(?:\.[0-9]{{2,4}}){{2,4}}"
    rf"|{_DATE.pattern}"
)
_PRE: Final = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}


def _version(text: str, locale: str | None, *, cued: bool = False) -> Reading | None:
    match = _VERSIONS.fullmatch(text)
    if match is None:
        return None
    numbers = match["numbers"]
    if not cued and match["v"] is None and ("." not in numbers or _OTHER_DOTTED.fullmatch(numbers)):
        return None
    if not cued and "." not in numbers and len(numbers) > 3:
        return None
    release = [str(int(number)) for number in numbers.split(".")]
    while len(release) > 2 and release[-1] == "0":
        release.pop()
    canonical = ".".join(release if len(release) > 1 else [*release, "0"])
    if _OTHER_DOTTED.fullmatch(canonical):
        canonical = f"v{canonical}"
    if name := match["letter"] or match["word"]:
        canonical += _PRE.get(name.lower(), name.lower()) + str(int(match["count"] or match["of"] or 0))
    for part in ("post", "dev"):
        if match[part] is not None:
            canonical += f".{part}{int(match[part] or 0)}"
    if match["local"]:
        canonical += "+" + re.sub("[-_]", ".", match["local"].lower())
    return _one(canonical)


_VERSIONS: Final = re.compile(_VERSION)

# --- codes ----------------------------------------------------------------------------------------

_CODE: Final = (
    r"(?:[A-Z]{1,5} (?=[0-9])|[a-z] (?=[0-9]{3}))?(?=[A-Za-z0-9 ./_-]*[0-9])[A-Za-z0-9]++(?: ?[-/_.] ?[A-Za-z0-9]++)*"
)
_POSTCODE: Final = r"[A-Z]{1,2}[0-9][A-Z0-9]? [0-9][A-Z]{2}|[A-Z][0-9][A-Z] [0-9][A-Z][0-9]"
_PREFIX: Final = r"[A-Z]{2,5}-"
# What stands before a number without making it a code: "top-10", "mid-2026", "UTC-5", "page2".
_NO_CODE: Final = re.compile(
    "(?:ABOVE|ABOUT|AD|AFTER|AGED?|AND|APPROX|ARE|AROUND|AT|BC|BCE|BELOW|BEFORE|BY|CA|CE|CHAPTER|CIRCA|CLASS|CY|DAY|EARLY"
    "|EST|EVERY|FIG|FIGURE|FIRST|FOR|FROM|FY|GMT|GRADE|GROUP|HAS|HOUR|IN|IS|KW|LAST|LATE|LEVEL|LINE|MAX|MID|MIN|MINUS"
    "|MONTH|NEXT|NO|NON|NOS|NR|NUM|NUMBER|OF|ON|ONE|ONLY|OR|OVER|PAGE|PAR|PART|PER|PHASE|PLUS|POST|PP|PRE|ROUND|RULE"
    "|SECTION|SEMI|SIZE|STAGE|STEP|SUB|THAN|THE|TIER|TIMES|TO|TOP|TYPE|UNDER|UTC|VERSUS|VOL|VS|WAS|WEEK|WK|X|YEAR|YR|ZONE"
    # Money in letters that are no code of ISO 4217.
    "|KR|RS|RM|RP|SFR|KSH|TSH|USH|ZL|LEI)[0-9]+"
    "|MP[34]|[KCMD]?M[23]|FT[23]|IN[23]|Q[1-4]|H[12]"
)
# What stands behind a number without making it a code: "5V", "3rd", "2x4", "14h30".
_MEASURE: Final = re.compile(
    "[VWKMGTXEHSDLCF]|ST|ND|RD|TH|AM|PM|[KM]G|[KCMDN]M|[MCD]L|[KMGTP]B|HZ|[KM][VW]|MA|HR|[MBT]N|FT|IN|LB|OZ|YD|MI|P[XT]"
    "|HP|HA|SQ|CC"
)


def _code(text: str, locale: str | None) -> Reading | None:
    if re.search(r"[0-9]/[A-Za-z]+[-_.]?[0-9]", text):
        return unreadable(f"{text!r} are two identifiers")
    groups = re.findall("[A-Z]+|[0-9]+", text.upper())
    if groups[0].isdecimal() and len(groups) == 1:
        return _one(groups[0], groups[0])
    if all(map(str.isdecimal, groups)):  # 10-42 may be a range
        return _one(text) if "_" in text and re.fullmatch("[0-9_]+", text) else None
    if groups[0].isdecimal() and "." in text:  # 1.5b
        return None
    return None if _is_word(groups, locale) else _written(groups)


def _written(groups: list[str]) -> Reading:
    canonical = groups[0]
    for place, (before, group) in enumerate(pairwise(groups)):
        alike = before.isdecimal() == group.isdecimal()
        year = place > 0 and alike and re.fullmatch("(?:19|20)[0-9]{2}", before) and groups[place - 1].isalpha()
        canonical += f"_{group}" if alike and not year else group
    return _check(canonical) or _one(canonical)


def _check(canonical: str) -> Reading | None:
    # The separators of a code may have hidden what it is.
    for shape, read in ((_UUID, _uuid), (_IBAN, _iban)):
        if re.fullmatch(shape, canonical):
            return read(canonical, None)
    return None


def _is_word(groups: list[str], locale: str | None) -> bool:
    if groups[0].isdecimal():
        letters = [group for group in groups if group.isalpha()]
        return (
            (len(letters) == 1 and len(groups[-1]) > 2 and groups[-1].isalpha())
            or (len(groups[0]) in (4, 8) and letters[0] in ("Q", "W", "T"))
            or (len(groups) < 5 and all(map(_MEASURE.fullmatch, letters)))
        )
    word, *rest = groups
    if not all(map(str.isdecimal, rest)):
        return len(groups) == 3 and len(word) == 1 and rest[0] in ("2", "4") and len(rest[1]) == 1
    return (
        word in _currencies()
        or _NO_CODE.fullmatch(word + rest[0]) is not None
        or (word in _months(locale) and len(rest) < 3 and all(len(group) in (1, 2, 4) for group in rest))
    )


@lru_cache(maxsize=1)
def _currencies() -> frozenset[str]:
    return frozenset(Locale("en").currencies)


@lru_cache(maxsize=64)
def _months(locale: str | None) -> frozenset[str]:
    known = [Locale("en"), *([parse_locale(locale)] if locale else [])]
    widths = [one.months["format"][width] for one in known for width in ("abbreviated", "wide")]
    return frozenset(name.strip(".").upper() for names in widths for name in names.values()) | {"SEPT"}


def _strange(text: str) -> Reading | None:
    """Letters that look like those of another script."""
    for character in text:
        if not character.isascii() and character.isalpha():
            name = unicodedata.name(character, "")
            if name.startswith(("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")):
                return unreadable(f"{text!r} holds {character!r} ({name}), which looks like another letter")
    return None


# --- words in front -------------------------------------------------------------------------------

_CUES: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "thing": "order invoice ticket case claim booking reservation confirmation ref reference account acct customer "
        "serial sku po policy contract transaction incident shipment parcel batch lot model licence license passport "
        "permit employee room flight gate seat bus platform apartment apt suite zip postcode extension pin id rma",
        # Things that a number counts as often as it names one: a cue together with a number word alone.
        "counted": "part item product article client member membership tracking issue bug job request code document "
        "file purchase building route train track desk locker table box record user student patient",
        "number": "number no nr num id code ref reference",
        "phone": "phone telephone tel mobile cell cellphone fax call dial ring",
        "version": "version ver release",
        "card": "card visa mastercard amex",
    },
    "de": {
        "thing": "bestellung bestellnummer bestell-nr auftrag auftragsnummer auftrags-nr rechnung rechnungsnummer "
        "rechnungs-nr ticketnummer ticket-nr kundennummer kunden-nr artikelnummer artikel-nr vorgang vorgangsnummer "
        "aktenzeichen sendungsnummer kontonummer buchungsnummer zimmer zimmernummer flug gleis nr",
        "number": "nummer nr",
        "phone": "telefon telefonnummer handy rufnummer",
        "card": "karte kartennummer",
    },
    "fr": {
        "thing": "commande facture billet dossier référence réf chambre vol porte quai siège compte contrat",
        "counted": "client article",
        "number": "numéro n° num",
        "phone": "téléphone tél portable",
        "card": "carte",
    },
    "es": {
        "thing": "pedido factura billete boleto referencia expediente habitación vuelo puerta asiento andén cuenta "
        "contrato",
        "counted": "cliente artículo",
        "number": "número núm n° nro",
        "phone": "teléfono tfno móvil",
        "version": "versión",
        "card": "tarjeta",
    },
}


@lru_cache(maxsize=64)
def _words(locale: str | None) -> Mapping[str, tuple[str, ...]]:
    tables = [_CUES["en"], *([_CUES.get(language_of(locale), {})])]
    return {name: tuple(" ".join(table.get(name, "") for table in tables).split()) for name in _CUES["en"]}


def _number_word(locale: str | None) -> str:
    return rf"[ :]{{0,2}}(?:d[eu] |d')?{any_of(_words(locale)['number'])}(?![\w-])\.?(?: (?:is|was)(?= ))?"


_THEN: Final = r"(?: (?:us|me|back)(?= ))?(?: (?:is|was|at|on)(?= ))?(?: ?[:=])? ?"


@lru_cache(maxsize=64)
def _cues(locale: str | None) -> re.Pattern[str]:
    words = _words(locale)
    thing = any_of((*words["thing"], *words["counted"], *words["number"]))
    then = rf"(?:{_number_word(locale)}){{0,2}}{_THEN}(?:# ?)?"
    kinds = [rf"(?P<{kind}>{any_of(words[kind])})(?![\w-])\.?{then}" for kind in ("phone", "version", "card")]
    checked = rf"(?P<isbn>isbn)(?:-1[03])?(?![\w-]){then}|(?P<iban>iban)(?!\w){then}"
    things = rf"{thing}s?(?![\w-])\.?(?: (?:d[eu] |d')?{thing}(?![\w-])\.?){{0,2}}{then}"
    before = r"(?:(?:the|your|our|my|this) )?(?:(?:credit|debit|visa|purchase|sales|support) )?"
    return re.compile(rf"(?i:{before}(?:{'|'.join(kinds)}|{checked}|{things})|# ?)")


@lru_cache(maxsize=64)
def trigger_words(locale: str | None) -> frozenset[str]:
    """The words, case folded, with which an identifier in running text may begin.

    >>> sorted(trigger_words("fr_FR") - trigger_words("en_US"))[:3]
    ['billet', 'billets', 'carte']
    """
    words = {re.split("[-°]", word)[0].casefold() for kind in _words(locale).values() for word in kind}
    words |= {f"{word}s" for kind in ("thing", "counted") for word in _words(locale)[kind]}
    return frozenset(words | {"isbn", "iban", "http", "https", "ftp", "www", "mailto"})


# What may not stand around an identifier in running text.
_BEFORE: Final = r"(?<!\w)(?<!\w[-.@+'])(?<![^0-9]/)(?<![#&\\])"
_BEHIND: Final = r"(?!\w)(?![-.+@_]\w)(?![/:,][0-9])"
_BEHIND_DIGITS: Final = (
    rf"{_BEHIND}(?! ?[%‰°€$£¥^])(?!-)(?!'[0-9])(?! (?:per ?cent|thousand|million|billion|hundred|dozen|times|of|years?|"
    r"months?|weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|[ckm]?m|[mk]?g|kilo\w*|met(?:er|re)s?|miles?|"
    r"pounds?|lbs?|oz|dollars?|euros?|cents?|[KMGT]i?B|people|persons?|stars?)(?!\w))"
)
_UPPER_CODE: Final = (
    r"(?=[A-Z][A-Z/_-]{0,19}[0-9])[A-Z]{1,12}(?:[-_]?[A-Z0-9]++|(?<=[A-Z])/[A-Z0-9]++|/[0-9][A-Z0-9]*+"
    r"|(?<=[0-9])\.[0-9]++)*+(?:(?<=[0-9])x[0-9]++)?(?:(?<=[0-9])[a-rt-z])?"
)
_ANY_CODE: Final = (
    r"(?:(?:[A-Z]|[A-Za-z]{2,12})[-_]?[0-9]|[a-z][-_]?[0-9]{3})[0-9]*+(?:[-_/][0-9]++)*+[a-rt-z]?"
    r"|[A-Za-z]{1,5}/[0-9]++(?:/[0-9]++)++"
)
_DIGITS_FIRST: Final = r"[0-9]++(?:[-_]?[A-Z]{2,20}+[-_]?[0-9]++|[A-Z][0-9]++[A-Z]++)[A-Z0-9]*+"
_HASH: Final = r"(?=[0-9]*+[a-f]++[0-9]++[a-f])[0-9a-f]{7,64}"
_MIXED_SCRIPT: Final = r"(?=[A-Z]{0,3}[^\W\d_a-zA-Z])[A-ZͰ-ϿЀ-ӿ]{1,4}[-_]?[0-9]++(?:[-_/][0-9]++)*+"
# In the languages that write dates so.
_SHORT_DATE: Final = r"(?!(?:0?[1-9]|[12][0-9]|3[01])\.(?:0?[1-9]|1[0-2])\.[0-9]{2}(?![0-9.]))"


def _dates_have_no_dots(locale: str | None) -> bool:
    return locale is not None and "." not in parse_locale(locale).date_formats["short"].pattern


@lru_cache(maxsize=64)
def spelling(locale: str | None) -> re.Pattern[str]:
    """What an identifier may look like in running text; digits alone are one only behind a cue.

    >>> find = spelling(None).match
    >>> [find(text)[0] for text in ("A-1042, then", "order no. 4471 was", "https://example.com/a).", "FW- and")]
    ['A-1042', 'order no. 4471', 'https://example.com/a', 'FW-']
    >>> [find(text) for text in ("1042", "1.1", "a 1042", "3-5", "2026-03-12", "5-year")]
    [None, None, None, None, None, None]
    """
    words = _words(locale)
    number = _number_word(locale)
    things, counted = any_of(words["thing"]), any_of(words["counted"])
    named = (
        rf"(?i:(?:{things}s?(?![\w-])(?:\.?{number}){{0,2}}|{counted}s?(?![\w-])(?:\.?{number}){{1,2}}"
        # "No." at the beginning of a sentence is an answer rather than a cue.
        rf"|(?<=[\w,;:(] )no(?=\.)|(?:nr|num|núm|numéro|número|n°)(?![\w-])\.?(?: d[eu] (?:{things}|{counted})(?!\w))?)"
        r"\.?:? ?#?)"
    )
    # A code that is one by itself needs no cue: these two would be words or quantities.
    code = rf"(?:[A-Z]{{1,5}} [0-9]++|[0-9]++[A-Za-z]|(?<=#)[A-Za-z]++[-_]?[0-9]++)(?:[-/_]?[A-Z0-9]++)*+{_BEHIND}"
    digits = rf"[0-9]++(?:[-/_][0-9]++)*+{_BEHIND_DIGITS}"
    cued = [
        rf"(?:{named}|#)(?:{digits}|{code})",
        rf"(?i:{any_of(words['version'])})s?(?:\.|(?i:{number}))?[ :]{{1,2}}{_plain(_VERSION)}(?![\w+])(?!\.[0-9])",
        rf"(?i:{any_of(words['phone'])})(?!\w)\.?(?i:(?:{number}){{0,2}}{_THEN}){_PHONE}(?!\w)",
        rf"(?i:{any_of(words['card'])})(?!\w)(?i:(?:{number}){{0,2}}{_THEN})[0-9]{{4}}(?:[ -]?[0-9]{{2,7}}){{2,4}}"
        r"(?!\w)",
        r"(?i:isbn(?:-1[03])?[ :]{1,2})[0-9][0-9 -]{8,15}[0-9Xx](?!\w)",
        r"(?i:iban[ :]{1,2})[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)",
    ]
    dotted = ("" if _dates_have_no_dots(locale) else _SHORT_DATE) + r"[0-9]++(?:\.[0-9]++){2}"
    alone = [
        *(_WEB, rf"{_EMAIL}(?![\w@])", rf"(?:{_UUID}|{_MAC}|{_IPV4}){_BEHIND}"),
        rf"(?=[A-Fa-f:]*[0-9]){_IPV6}(?![\w:])",
        rf"(?:{_IBAN}|{_ISBN}|{_ABROAD}){_BEHIND}",
        rf"(?i:v\.? ?(?=[0-9])|(?={dotted})){_plain(_VERSION)}(?![\w+])(?!\.[0-9])(?![-/:][0-9])",
        rf"(?:{_POSTCODE}|{_UPPER_CODE}|{_ANY_CODE}|{_DIGITS_FIRST}|{_HASH}){_BEHIND}",
        rf"{_PREFIX}(?!\S)(?! (?:and|or|to|&|und|oder|et|ou|y|o) )",
    ]
    if language_of(locale) not in ("ru", "uk", "be", "bg", "sr", "mk", "kk", "ky", "mn", "tg", "el", "hy"):
        alone.append(rf"{_MIXED_SCRIPT}{_BEHIND}")
    return re.compile(rf"{_BEFORE}(?:{'|'.join([*cued, *alone])})")


def _plain(source: str) -> str:
    """The source of a regex without names for its groups, so that it can stand in another regex twice."""
    return re.sub(r"\(\?P<\w+>", "(?:", source)


# --- reading --------------------------------------------------------------------------------------

_SHAPES: Final = tuple(
    (re.compile(shape), read)
    for shape, read in (
        *((_WEB, _web), (_EMAIL, _email), (_UUID, _uuid), (_MAC, _mac), (_IPV4, _ipv4), (_IPV6, _ipv6)),
        *((_ISBN, _isbn), (_VERSION, _version), (f"(?i:{_IBAN})", _iban), (_PHONE, _phone), (_CODE, _code)),
        (_POSTCODE, lambda text, locale: _one(text.replace(" ", ""))),
        (_PREFIX, lambda text, locale: _one(text)),
    )
)
_HINT: Final = re.compile(r"[0-9@]|::|//|-$|www\.", re.IGNORECASE)
_END_OF_SENTENCE: Final = re.compile(r"(?:[.,;!?]|(?<!:):(?!:))+$")
_DIGITS: Final = re.compile(r"[0-9]++(?:[-/_][0-9]++)*")
_JOINED: Final = re.compile(r",? (?:and|or|und|oder|et|ou|y|o) |, ")
_CHECKED: Final = {"isbn": (rf"{_ISBN}|[0-9]{{9}}[0-9Xx]", _isbn), "iban": (f"(?i:{_IBAN})", _iban)}


def read_identifier(text: str, locale: str | None) -> Reading | None:
    """Read a text that is one identifier, alone or behind a word such as "order".

    Parameters
    ----------
    text
        A whole text at rung 1.
    locale
        Its country is that of a phone number without one; its language adds cues to the English ones.

    Examples
    --------
    >>> [read_identifier(text, None).value.canonical for text in ("order A-1042", "#0042", "v1.10.0", "INV/2026/0042")]
    ['A1042', '0042', '1.10', 'INV20260042']
    >>> read_identifier("978-0-306-40615-8", None).reason
    "'978-0-306-40615-8' is no ISBN: its check digit is wrong"
    >>> print(read_identifier("24-hour", None), read_identifier("mid-2026", None))
    None None
    """
    if _HINT.search(text) is None:
        return None
    if len(text) > LONGEST:
        return unreadable(f"longer than {LONGEST} characters") if text.isprintable() and " " not in text else None
    text = _END_OF_SENTENCE.sub("", text) or text
    cue = _cues(locale).match(text)
    found = _read_cued(cue, locale) if cue else None
    if found is None:
        found = _read_bare(text, locale)
    if found is None and len(parts := _JOINED.split(text)) > 1:
        several = all(part and read_identifier(part, locale) for part in parts)
        return unreadable(f"{text!r} are several identifiers") if several and not text[0].isdecimal() else None
    return found or _in_another_script(text[cue.end() :] if cue else text)


def _read_bare(text: str, locale: str | None) -> Reading | None:
    for shape, read in _SHAPES:
        if shape.fullmatch(text) and (found := read(text, locale)) is not None:
            return found
    return None


def _read_cued(cue: re.Match[str], locale: str | None) -> Reading | None:
    text = cue.string[cue.end() :]
    if cue.lastgroup == "phone" and re.fullmatch(_PHONE, text):
        return _phone(text, locale, cued=True)
    if cue.lastgroup == "version":
        return _version(text, locale, cued=True)
    if cue.lastgroup == "card" and (found := _card(text, locale)):
        return found
    if cue.lastgroup in _CHECKED:
        shape, read = _CHECKED[cue.lastgroup]
        found = read(text, locale) if re.fullmatch(shape, text) else None
        return found or unreadable(f"{text!r} is no {cue.lastgroup.upper()}")
    if _DATE.fullmatch(text) or re.fullmatch(r"[0-9]+\.[0-9]+", text):
        return None
    if _DIGITS.fullmatch(text):
        figures = re.split("[-/_]", text)
        found = _one("_".join(figures), text if len(figures) == 1 else None)
    else:
        found = _read_bare(text, locale)
        if found is None and re.fullmatch(_CODE, text):
            groups = re.findall("[A-Z]+|[0-9]+", text.upper())
            if groups[0].isalpha() or (len(groups) == 2 and len(groups[1]) == 1 and text.isupper()):
                found = _written(groups)
    if found is None or found.value is None:
        return found
    canonical = found.value.canonical
    if _read_bare(canonical, locale) == found:
        return found
    return _one(f"#{canonical}", canonical if canonical.isdecimal() else None)


def _in_another_script(text: str) -> Reading | None:
    if text.isascii() or len(text) > 40:
        return None
    latin = "".join(c if c.isascii() or not c.isalpha() else "A" if c.isupper() else "a" for c in text)
    return _strange(text) if re.fullmatch(_CODE, latin) else None
