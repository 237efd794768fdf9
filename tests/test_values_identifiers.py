"""Identifiers: one canonical text for each, and none where a text is something else."""

import builtins
import json
import re
import string
import time
from fractions import Fraction

import pytest
from conftest import SHARED
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calibkit.normalize import normalize
from calibkit.values.identifiers import read_identifier, spelling, trigger_words
from calibkit.values.reading import LONGEST

REFUSE, NONE = "refuse", None
LOCALES = (None, "en_US", "en_GB", "de_DE", "fr_FR", "es_ES", "ja_JP")
unhurried = settings(deadline=None, max_examples=150)


def read(text, locale=None):
    """The canonical text, "refuse" where it can be no one identifier, None for no identifier."""
    reading = read_identifier(normalize(text, 1), locale)
    if reading is None:
        return NONE
    assert bool(reading.reason) is (reading.value is None)
    return reading.value.canonical if reading.value else REFUSE


def find(text, locale=None):
    """What spelling and reader make of running text: (place, canonical) from left to right."""
    text, found, end = normalize(text, 1), [], 0
    for token in re.finditer(r"[^\W\d_]+|\d+|[^\w\s]", text):
        word = token.group()
        near = text[text.rfind(" ", 0, token.start()) + 1 : (text.find(" ", token.start()) + 1 or len(text) + 1) - 1]
        hot = re.search(r"[\d@#]|://|www\.|-$", near)
        if token.start() < end or not (hot or word.casefold() in trigger_words(locale)):
            continue
        match = spelling(locale).match(text, token.start())
        reading = match and read_identifier(match.group(), locale)
        if reading:
            found.append((match.group(), reading.value.canonical if reading.value else REFUSE))
            end = match.end()
    return found


# --- codes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # case and separators between letters and digits tell nothing
        ("B-2071", "B2071"),
        ("b-2071", "B2071"),
        ("b 2071", "B2071"),
        ("B2071", "B2071"),
        ("B_2071", "B2071"),
        ("B/2071", "B2071"),
        ("B.2071", "B2071"),
        ("B - 2071", "B2071"),
        ("B–2071", "B2071"),
        ("Ｂ－２０７１", "B2071"),
        ("FW-48213", "FW48213"),
        ("FW 48213", "FW48213"),
        ("B-2071.", "B2071"),
        ("covid-19", "COVID19"),
        ("COVID-19", "COVID19"),
        ("1Z999AA10123456784", "1Z999AA10123456784"),
        ("GR24x7", "GR24X7"),
        ("PM2.5", "PM2_5"),
        ("T20", "T20"),
        # digits tell everything
        ("B-02071", "B02071"),
        ("B-2O71", "B2O71"),
        ("B-2l71", "B2L71"),
        # separators between digits, or between letters, stay
        ("B-20-71", "B20_71"),
        ("B-207-1", "B207_1"),
        ("B20/71", "B20_71"),
        ("B20_71", "B20_71"),
        ("AB-CD-12", "AB_CD12"),
        ("ABC-D-12", "ABC_D12"),
        ("B-2071-C", "B2071C"),
        ("B-2071-C-9", "B2071C9"),
        # a year is as long in all of them
        ("ORD/2025/117", "ORD2025117"),
        ("ORD-2025-117", "ORD2025117"),
        ("ORD2025117", "ORD2025117"),
        ("ORD-2025-117-3", "ORD2025117_3"),
        ("ORD-2025117", "ORD2025117"),
        ("ORD-1789-117", "ORD1789_117"),
        ("10-2025-117", NONE),
        # words in front
        ("order B-2071", "B2071"),
        ("Order #B-2071", "B2071"),
        ("the order B-2071", "B2071"),
        ("invoice no. ORD/2025/117", "ORD2025117"),
        ("ref: B-2071", "B2071"),
        ("Ticket ID: b2071", "B2071"),
        ("flight LH 117", "LH117"),
        ("flight LH117", "LH117"),
        ("LH 117", "LH117"),
        ("ISBN", NONE),
        # not of one script
        ("В-2071", REFUSE),
        ("Β-2071", REFUSE),
        ("order В-2071", REFUSE),
        ("B-207١", NONE),
        # several
        ("B-2071 and B-2072", REFUSE),
        ("B-2071, B-2072", REFUSE),
        ("B-2071 or B-2072", REFUSE),
        ("B-2071/B-2072", REFUSE),
        # postcodes
        ("EC1A 1BB", "EC1A1BB"),
        ("EC1A1BB", "EC1A1BB"),
        ("M1 1AE", "M11AE"),
        ("K1A 0B1", "K1A0B1"),
        # prefixes
        ("FW-", "FW-"),
        ("FW", NONE),
        ("fw-", NONE),
    ],
)
def test_codes(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("5-year", "24-hour", "3D", "4K", "B2B", "P2P", "1990s", "3rd", "21st", "mp3", "MP4", "10am", "5kg", "20GB", "2x4"),
        *("24x7", "1e5", "14h30", "5km", "12V", "37C", "100th", "90-minute", "3-bedroom", "5ft", "1h30m", "3-5-day", "10-42kg"),
        *("mid-2026", "pre-2020", "top-10", "under-18", "page-2", "Page2", "type-2", "x2", "X10", "UTC-5", "GMT+1"),
        *("Nov-2026", "MAR-12", "JAN2026", "sept-5", "May 2026", "MAY2026", "Q1", "H2", "FY2026", "KW11", "AD79"),
        *("USD5", "EUR 100", "CHF-50", "Rs500", "RM20", "m2", "km2", "cm3", "ft2"),
        *("3-5", "1/2", "2026-03-12", "12-03-2026", "12/03/2026", "12.03.2026", "2026/3/2", "14:30", "14:30:00", "2026-W11-4"),
        *("hello", "", "-", "order", "order number", "no", "a", "the 3", "top 10", "in 2026", "was 100", "5 km", "5 A"),
        *("20260312T143000Z", "2026Q1", "-5", "+7", "1,234", "1.234,5", "(5)", "5%", "$5", "½", "Order of 5", "#", "##5"),
        *("order 2026-03-12", "order 12/03/2026", "order 3.5", "order 1,000", "No 5 people", "4111 1111 1111 1111"),
    ],
)  # fmt: skip
def test_what_is_no_identifier(text):
    assert read(text) is NONE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("order 42", "42"),
        ("Order 0042", "0042"),
        ("orders 42", "42"),
        ("#42", "42"),
        ("# 42", "42"),
        ("order #42", "42"),
        ("order number 42", "42"),
        ("order number: 42", "42"),
        ("order no. 42", "42"),
        ("order id=42", "42"),
        ("order number is 42", "42"),
        ("Case No.: 42", "42"),
        ("room 42", "42"),
        ("flight 42", "42"),
        ("No. 42", "42"),
        ("ref. 42", "42"),
        ("ID 42", "42"),
        ("42", "42"),
        ("0042", "0042"),
        ("order 10-42", "10_42"),
        ("order 104/2", "104_2"),
        ("10_42", "10_42"),
        ("seat 12A", "12A"),
        ("purchase order 42", "42"),
        ("seat 12K", "#12K"),
        ("#12K", "#12K"),
        ("gate 5a", "5A"),
        ("order 5kg", NONE),
        ("order 3rd", NONE),
        ("order MAR-12", "#MAR12"),
    ],
)
def test_digits_behind_a_cue(text, expected):
    assert read(text) == expected


def test_digits_alone_can_be_compared_with_a_number():
    assert read_identifier("order 0042", None).value.stated == Fraction(42)
    assert read_identifier("A-42", None).value.stated is None


@pytest.mark.parametrize(
    ("locale", "text", "expected"),
    [
        ("de_DE", "Bestellung 42", "42"),
        ("de_DE", "Rechnungs-Nr. B-2071", "B2071"),
        ("de_DE", "Bestellnummer: 42", "42"),
        ("fr_FR", "commande n° 42", "42"),
        ("fr_FR", "numéro de commande 42", "42"),
        ("fr_FR", "facture B-2071", "B2071"),
        ("es_ES", "pedido 42", "42"),
        ("es_ES", "número de pedido 42", "42"),
        ("es_ES", "habitación 12", "12"),
        ("ja_JP", "order 42", "42"),
        ("en_US", "Bestellung 42", NONE),
        ("de_DE", "MAI-2026", NONE),
        ("de_DE", "Dez-26", NONE),
    ],
)
def test_cues_and_months_of_a_language(locale, text, expected):
    assert read(text, locale) == expected


# --- versions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.0", "2.0"),
        ("2.0.0", "2.0"),
        ("v2", "2.0"),
        ("V2", "2.0"),
        ("v.2", "2.0"),
        ("version 2", "2.0"),
        ("release 2.0.0", "2.0"),
        ("2.10", "2.10"),
        ("2.10.0", "2.10"),
        ("v2.10.0.0", "2.10"),
        ("2.01", "2.1"),
        ("2.1", "2.1"),
        ("3.11.12", "3.11.12"),
        ("10.0.19041.1237", "10.0.19041.1237"),
        ("2.0rc1", "2.0rc1"),
        ("2.0-RC.1", "2.0rc1"),
        ("2.0c1", "2.0rc1"),
        ("2.0.0-alpha", "2.0a0"),
        ("2.0 beta 2", "2.0b2"),
        ("2.0b2", "2.0b2"),
        ("2.0.post1", "2.0.post1"),
        ("2.0.dev3", "2.0.dev3"),
        ("2.0+Ubuntu-1", "2.0+ubuntu.1"),
        ("V-1042", "V1042"),
        ("v1042", "V1042"),
        ("version 1042", "1042.0"),
        # addresses and dates, where no "v" says otherwise
        ("1.2.3.4", "1.2.3.4"),
        ("v1.2.3.4", "v1.2.3.4"),
        ("v1.2.3.0", "1.2.3"),
        ("1.2.3.400", REFUSE),
        ("v1.2.3.400", "v1.2.3.400"),
        ("12.06.1994", NONE),
        ("version 12.06.1994", "v12.6.1994"),
        ("2024.1.0", "2024.1"),
        ("1.5b", NONE),
        ("1.2M", NONE),
        ("2.", "2"),
        ("v", NONE),
    ],
)
def test_versions(text, expected):
    assert read(text) == expected


# --- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{3F2504E0-4F89-11D3-9A0C-0305E82C3301}", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
        ("3f2504e04f8911d39a0c0305e82c3301", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
        ("urn:uuid:3F2504E0-4F89-11D3-9A0C-0305E82C3301", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
        ("{3F2504E0-4F89-11D3-9A0C-0305E82C3301", NONE),
        ("10.0.0.1", "10.0.0.1"),
        ("10.0.0.01", REFUSE),
        ("10.0.0.256", REFUSE),
        ("10.0.0.1:8080", "10.0.0.1:8080"),
        ("10.0.0.1:99999", REFUSE),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.0.0.0/33", REFUSE),
        ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("::", "::"),
        ("::1", "::1"),
        ("fe80::/10", "fe80::/10"),
        ("fe80::/129", REFUSE),
        ("1::2::3", REFUSE),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.1"),
        ("::ffff:a00:1", "::ffff:10.0.0.1"),
        ("00:1A:2B:3C:4D:5E", "00:1a:2b:3c:4d:5e"),
        ("00-1a-2b-3c-4d-5e", "00:1a:2b:3c:4d:5e"),
        ("001a.2b3c.4d5e", "00:1a:2b:3c:4d:5e"),
        ("HTTPS://Example.COM/", "https://example.com"),
        ("https://example.com:443", "https://example.com"),
        ("http://example.com:443/", "http://example.com:443"),
        ("https://example.com/A?b=C#d", "https://example.com/A?b=C#d"),
        ("https://example.com/a/", "https://example.com/a/"),
        ("http://www.example.com", "http://www.example.com"),
        ("www.Example.com/", "www.example.com"),
        ("https://example.com.", "https://example.com"),
        ("https://en.example.org/x_(y)", "https://en.example.org/x_(y)"),
        ("https://exam_ple.com", "https://exam_ple.com"),
        ("https://-example.com", NONE),
        ("https://example.com:99999", REFUSE),
        ("https://ехample.com", REFUSE),
        ("Bob.Smith+x@Example.COM", "bob.smith+x@example.com"),
        ("mailto:bob@example.com", "bob@example.com"),
        ("bob..smith@example.com", REFUSE),
        (".bob@example.com", REFUSE),
        ("bob@example.c", REFUSE),
        ("bob@-example.com", NONE),
        ("bоb@example.com", REFUSE),
        ("bob@localhost", NONE),
        ("@bob", NONE),
    ],
)
def test_addresses(text, expected):
    assert read(text) == expected


# --- numbers with check digits --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("978-3-16-148410-0", "9783161484100"),
        ("978 3 16 148410 0", "9783161484100"),
        ("9783161484100", "9783161484100"),
        ("3-16-148410-X", "9783161484100"),
        ("ISBN 316148410X", "9783161484100"),
        ("ISBN-13: 978-3-16-148410-0", "9783161484100"),
        ("ISBN 9783161484100", "9783161484100"),
        ("978-3-16-148410-1", REFUSE),
        ("3-16-148410-0", REFUSE),
        ("ISBN 9783161484101", REFUSE),
        ("ISBN 12345", REFUSE),
        ("9783161484101", "9783161484101"),
        ("FR14 2004 1010 0505 0001 3M02 606", "FR1420041010050500013M02606"),
        ("fr1420041010050500013m02606", "FR1420041010050500013M02606"),
        ("IBAN: NO93 8601 1117 947", "NO9386011117947"),
        ("FR15 2004 1010 0505 0001 3M02 606", REFUSE),
        ("FR1520041010050500013M02606", REFUSE),
        ("FR14 2004 1010 0505 0001 3M02", REFUSE),
        ("IBAN FR14", REFUSE),
        ("card 4012 8888 8888 1881", "4012888888881881"),
        ("Visa card number: 4012888888881881", "4012888888881881"),
        ("card number: 4012888888881881", "4012888888881881"),
        ("card 4012 8888 8888 1882", REFUSE),
    ],
)
def test_check_digits(text, expected):
    assert read(text) == expected


# --- phone numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("locale", "text", "expected"),
    [
        (None, "+44 20 7946 0018", "+442079460018"),
        (None, "+44 (0)20 7946 0018", "+442079460018"),
        (None, "+1 415-555-2671", "+14155552671"),
        (None, "+44 20 7946 0018 ext. 12", "+442079460018;ext=12"),
        (None, "call +44 20 7946 0018", "+442079460018"),
        (None, "020 7946 0018", REFUSE),
        ("en", "020 7946 0018", REFUSE),
        ("en_GB", "020 7946 0018", "+442079460018"),
        ("en_GB", "(020) 7946 0018", "+442079460018"),
        ("en_GB", "02079460018", "+442079460018"),
        ("en_GB", "tel. 020 7946 0018", "+442079460018"),
        ("en_GB", "call us on 020 7946 0018", "+442079460018"),
        ("en_GB", "020 7946 00", REFUSE),
        ("en_GB", "order 02079460018", "#02079460018"),
        ("en_US", "(415) 555-2671", "+14155552671"),
        ("en_US", "415-555-2671", "+14155552671"),
        ("en_US", "415.555.2671", "+14155552671"),
        ("en_US", "4155552671", "4155552671"),
        ("en_US", "123-45-6789", NONE),
        (None, "415-555-2671", REFUSE),
        ("en_US", "call 555", NONE),
        ("fr_FR", "01 42 68 53 00", "+33142685300"),
        ("fr_FR", "12 345 678", NONE),
        ("de_DE", "030 901820", "+4930901820"),
        ("de_DE", "0044 20 7946 0018", "+442079460018"),
        (None, "+5 000 000", NONE),
        (None, "+999 123 4567 8901", REFUSE),
    ],
)
def test_phone_numbers(locale, text, expected):
    pytest.importorskip("phonenumbers")
    assert read(text, locale) == expected


def test_a_phone_number_without_the_package_says_what_to_install(monkeypatch):
    def no_phonenumbers(name, *arguments):
        if name == "phonenumbers":
            raise ImportError(name)
        return imported(name, *arguments)

    imported = builtins.__import__
    monkeypatch.setattr("calibkit.values.identifiers.import_module", no_phonenumbers)
    reading = read_identifier("+44 20 7946 0018", None)
    assert reading.outcome == "unreadable"
    assert "pip install 'calibkit[phone]'" in reading.reason
    assert read_identifier("02079460018", "en_GB").value.canonical == "02079460018"


# --- finding --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Order B-2071 ships.", [("B-2071", "B2071")]),
        ("B-2071's owner, B-2071-C (ORD/2025/117).", [("B-2071", "B2071"), ("B-2071-C", "B2071C"), ("ORD/2025/117", "ORD2025117")]),
        ("B-2071/B-2072", [("B-2071", "B2071"), ("B-2072", "B2072")]),
        ("orders 52 and 60", [("orders 52", "52")]),
        ("Order no. 4471, order number is 14471.", [("Order no. 4471", "4471"), ("order number is 14471", "14471")]),
        ("Order #4471: shipped", [("Order #4471", "4471")]),
        ("room 12, flight 714 or flight LH 117, seat 12K", [("room 12", "12"), ("flight 714", "714"), ("flight LH 117", "LH117"), ("seat 12K", "#12K")]),
        ("order 5 kg, ticket 5% off, order 1,000 units, order 12:30, order 3.5 l", []),
        ("seat 5 minutes, room 12m2, order 5th, case 2026-03-12", []),
        ("No. 5 were denied", []),
        ("see no. 5", [("no. 5", "5")]),
        ("#### 48", []),
        ("COVID-19 and Covid-19 in A4", [("COVID-19", "COVID19"), ("Covid-19", "COVID19"), ("A4", "A4")]),
        ("a 1042 of 1042", []),
        ("a 5-year plan, 24-hour service, 3D, B2B, 1990s, 3rd, mp3, 10am, 5kg, 20GB, 2x4", []),
        ("3-5 on 2026-03-12, 12-03-2026, 12/03/2026 at 14:30:00 or T14:30", []),
        ("UTC-5 USD5 EUR100 Q1 2026 FY26 mid-2026 top-10 Nov-2026", []),
        ("x=5, n-1, 1e-5, 10^-5, 2026-W11-4, 20260312T143000Z", []),
        ("report2026.pdf covid-19-related F-16s A-10-year", []),
        ("Python 3.11.4, v2, v1.10.0-rc1, version 2.0", [("3.11.4", "3.11.4"), ("v2", "2.0"), ("v1.10.0-rc1", "1.10rc1"), ("version 2.0", "2.0")]),
        ("chapter 1.1 and 3.14", []),
        ("12.06.1994", []),
        ("see https://en.example.org/x_(y), (http://x.example/a). www.example.com!", [
            ("https://en.example.org/x_(y)", "https://en.example.org/x_(y)"),
            ("http://x.example/a", "http://x.example/a"),
            ("www.example.com", "www.example.com"),
        ]),
        ("mail bob@example.com.", [("bob@example.com", "bob@example.com")]),
        ("at 10.0.0.1:8080, ::1 or fe80::1/64.", [("10.0.0.1:8080", "10.0.0.1:8080"), ("::1", "::1"), ("fe80::1/64", "fe80::1/64")]),
        ("ISBN 978-3-16-148410-0; 3-16-148410-X.", [("ISBN 978-3-16-148410-0", "9783161484100"), ("3-16-148410-X", "9783161484100")]),
        ("IBAN NO93 8601 1117 947 from", [("IBAN NO93 8601 1117 947", "NO9386011117947")]),
        ("card 4012 8888 8888 1881 ends", [("card 4012 8888 8888 1881", "4012888888881881")]),
        ("В-2071 is forged", [("В-2071", REFUSE)]),
        ("starts with FW- always; PRE- and POST-42", [("FW-", "FW-")]),
        ("London EC1A 1BB now", [("EC1A 1BB", "EC1A1BB")]),
        ("commit a1b2c3d4e5 or 9f86d081", [("a1b2c3d4e5", "A1B2C3D4E5"), ("9f86d081", "9F86D081")]),
        ("{3F2504E0-4F89-11D3-9A0C-0305E82C3301}.", [("{3F2504E0-4F89-11D3-9A0C-0305E82C3301}", "3f2504e0-4f89-11d3-9a0c-0305e82c3301")]),
        ("+15 000 000 visits, 555-0199, 020 7946 0018", []),
        ("+44 20 7946 0018 (24 hours)", [("+44 20 7946 0018", "+442079460018")]),
    ],
)  # fmt: skip
def test_finding(text, expected):
    assert find(text) == expected


@pytest.mark.parametrize(
    ("locale", "text", "expected"),
    [
        ("de_DE", "Version vom 3.11.12", []),
        (None, "vom 3.11.12", []),
        ("en_US", "Python 3.11.12", [("3.11.12", "3.11.12")]),
        ("de_DE", "Bestellung 42, Rechnungs-Nr. B-5", [("Bestellung 42", "42"), ("B-5", "B5")]),
        ("fr_FR", "n° 5 et commande n° 42", [("n° 5", "5"), ("commande n° 42", "42")]),
        ("en_GB", "call 020 7946 0018 now", [("call 020 7946 0018", "+442079460018")]),
        ("en_US", "phone: (415) 555-2671", [("phone: (415) 555-2671", "+14155552671")]),
        ("ru_RU", "поезд А-12", []),
    ],
)
def test_finding_in_a_locale(locale, text, expected):
    pytest.importorskip("phonenumbers")
    assert find(text, locale) == expected


# --- laws -----------------------------------------------------------------------------------------

_PIECES = [
    "A",
    "b",
    "FW",
    "v",
    "order ",
    "# ",
    "#",
    "no. ",
    "19",
    "2026",
    "0",
    "07",
    "978",
    "-",
    "/",
    "_",
    ".",
    " ",
    ":",
    "x",
    "km",
    "@",
    "e",
]
texts = st.one_of(
    st.text(max_size=30),
    st.text(alphabet=string.ascii_letters + string.digits + "-/_.: #@+()", max_size=24),
    st.lists(st.sampled_from(_PIECES), max_size=9).map("".join),
)
locales = st.sampled_from(LOCALES)


@given(texts, locales)
@example("order 02079460018", "en_GB")
@example("A-0" * 12 + "F", None)
@unhurried
def test_a_canonical_text_reads_as_itself(text, locale):
    reading = read_identifier(normalize(text, 1), locale)
    if reading and reading.value:
        assert normalize(reading.value.canonical, 1) == reading.value.canonical
        assert read_identifier(reading.value.canonical, locale) == reading


@given(texts, locales)
@unhurried
def test_a_spelling_ends_where_a_word_ends(text, locale):
    text = normalize(text, 1)
    for place in range(len(text)):
        match = spelling(locale).match(text, place)
        if match:
            assert match.end() > place
            before, behind = text[place - 1 : place], text[match.end() : match.end() + 1]
            assert not (before.isalnum() and text[place].isalnum())
            assert not (behind.isalnum() and text[match.end() - 1].isalnum())


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
@unhurried
def test_codes_differ_where_their_groups_do(first, second, third):
    one, other = read(f"AB-{first}-{second}"), read(f"AB-{first}{second}")
    assert (one == other) is (1900 <= first < 2100)
    assert (read(f"AB-{first}") == read(f"AB-{third}")) is (first == third)


@pytest.mark.skipif(not SHARED.exists(), reason="the hard inputs are not at hand")
def test_the_hard_inputs():
    pytest.importorskip("phonenumbers")
    expected = {"REFUSE": REFUSE, "NONE": NONE}
    rows = [json.loads(line) for line in (SHARED / "cases" / "values.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["class"] == "id"]
    assert rows
    for row in rows:
        assert read(row["text"], row["locale"] or None) == expected.get(row["canonical"], row["canonical"]), row


@pytest.mark.parametrize(
    "piece", ["5", "'", "km ", "A-", "A-1", "a1", "1.", "1 ", "order ", "::", "a.", "(5)", "+4 ", "1/", "а-1"]
)
def test_long_runs_take_linear_time(piece):
    text = piece * (10**6 // len(piece))
    start = time.perf_counter()
    for locale in (None, "de_DE"):
        spelling(locale).match(text)
        reading = read_identifier(text, locale)
        assert reading is None or reading.value is None
        for place in range(2000):
            spelling(locale).match(text, place, place + LONGEST)
    assert time.perf_counter() - start < 5
