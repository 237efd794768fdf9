"""Quantities: the right magnitude in the base unit, or a refusal."""

import json
import re
import time
from fractions import Fraction

import pytest
from babel.units import format_unit
from conftest import SHARED
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calibkit.normalize import normalize
from calibkit.values.quantities import read_quantity, spelling, trigger_words
from calibkit.values.reading import LONGEST

REFUSE, NONE = "refuse", None
LOCALES = (None, "en_US", "en_GB", "de_DE", "fr_FR", "es_ES", "ja_JP")
unhurried = settings(deadline=None, max_examples=150)


def read(text, locale="en_US"):
    """The canonical text, "refuse" for several quantities or none that makes sense, None for no quantity."""
    reading = read_quantity(normalize(text, 1), locale)
    if reading is None:
        return NONE
    assert bool(reading.reason) is (reading.value is None)
    if reading.value is None:
        return REFUSE
    value = reading.value
    assert value.kind == "quantity"
    assert value.low <= value.high
    assert value.canonical.endswith(f" {value.unit}")
    return value.canonical


def find(text, locale="en_US"):
    """What spelling and reader make of running text, from left to right."""
    text, found, end = normalize(text, 1), [], 0
    starts = trigger_words(locale) | {"one", "two", "ten", "twenty", "five"}
    for token in re.finditer(r"[^\W\d_]+|\d+|[^\w\s]", text):
        if token.start() < end or not (token.group()[0] in "+-0123456789" or token.group().casefold() in starts):
            continue
        match = spelling(locale).match(text, token.start())
        reading = match and read_quantity(match.group(), locale)
        if reading:
            found.append((match.group(), reading.value.canonical if reading.value else REFUSE))
            end = match.end()
    return found


# --- units ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # length, area, volume
        ("7 km", "7000 m"),
        ("7km", "7000 m"),
        ("7 kilometres", "7000 m"),
        ("7 kilometers", "7000 m"),
        ("7 kilometre", "7000 m"),
        ("seven kilometres", "7000 m"),
        ("7 m", "7 m"),
        ("7 mm", "0.007 m"),
        ("7 µm", "0.000007 m"),
        ("7 nm", "0.000000007 m"),
        ("2 miles", "3218.688 m"),
        ("2 nautical miles", "3704 m"),
        ("3/4 mile", "1207.008 m"),
        ("12 in", "0.3048 m"),
        ("12 inches", "0.3048 m"),
        ("6 feet", "1.8288 m"),
        ("6 foot", "1.8288 m"),
        ("6'", "1.8288 m"),
        ('27"', "0.6858 m"),
        ("2 light years", "18921460945161600 m"),
        ("7 m²", "7 m^2"),
        ("7 m2", "7 m^2"),
        ("7 sq m", "7 m^2"),
        ("7 square metres", "7 m^2"),
        ("2 km²", "2000000 m^2"),
        ("100 sq. ft", "9.290304 m^2"),
        ("100 square feet", "9.290304 m^2"),
        ("2 ha", "20000 m^2"),
        ("1 acre", "4046.8564224 m^2"),
        ("7 l", "0.007 m^3"),
        ("7 L", "0.007 m^3"),
        ("70 cl", "0.0007 m^3"),
        ("250 mL", "0.00025 m^3"),
        ("7 litres", "0.007 m^3"),
        ("7 cubic meters", "7 m^3"),
        ("7 cm³", "0.000007 m^3"),
        ("7 cc", "0.000007 m^3"),
        # mass
        ("7 kg", "7 kg"),
        ("250 g", "0.25 kg"),
        ("250g", "0.25 kg"),
        ("7 mg", "0.000007 kg"),
        ("7 mcg", "0.000000007 kg"),
        ("7 t", "7000 kg"),
        ("7 tonnes", "7000 kg"),
        ("7 metric tons", "7000 kg"),
        ("7 short tons", "6350.29318 kg"),
        ("10 lbs", "4.5359237 kg"),
        ("16 oz", "0.45359237 kg"),
        ("11 stone", "69.85322498 kg"),
        # time
        ("90 s", "90 s"),
        ("45s", "45 s"),
        ("90 seconds", "90 s"),
        ("90 min", "5400 s"),
        ("90 mins", "5400 s"),
        ("1.5 h", "5400 s"),
        ("3 hrs", "10800 s"),
        ("3 days", "259200 s"),
        ("3 weeks", "1814400 s"),
        ("250 ms", "0.25 s"),
        ("a fortnight", "1209600 s"),
        ("18 months", "18 month"),
        ("1.5 years", "18 month"),
        ("2 decades", "240 month"),
        # temperature
        ("20 °C", "293.15 K"),
        ("20°C", "293.15 K"),
        ("20℃", "293.15 K"),
        ("20 ºC", "293.15 K"),
        ("20 degrees Celsius", "293.15 K"),
        ("20 degrees C", "293.15 K"),
        ("68 °F", "293.15 K"),
        ("68 degrees Fahrenheit", "293.15 K"),
        ("-40°F", "233.15 K"),
        ("300 K", "300 K"),
        ("-273.15 °C", "0 K"),
        # data
        ("7 MB", "7000000 B"),
        ("7 KB", "7000 B"),
        ("7 kB", "7000 B"),
        ("7 KiB", "7168 B"),
        ("7 GiB", "7516192768 B"),
        ("7 Mb", "7000000 bit"),
        ("7 Mbit", "7000000 bit"),
        ("7 megabytes", "7000000 B"),
        ("64 bits", "64 bit"),
        ("7 Mbps", "7000000 bit/s"),
        ("7 Mbit/s", "7000000 bit/s"),
        ("7 MB/s", "7000000 B/s"),
        # others and rates
        ("90 km/h", "25 m/s"),
        ("90 kph", "25 m/s"),
        ("90 kilometres per hour", "25 m/s"),
        ("50 mph", "22.352 m/s"),
        ("50 miles an hour", "22.352 m/s"),
        ("9.81 m/s²", "9.81 m/s^2"),
        ("10 knots", "5.14444444444 m/s"),
        ("7.8 g/cm³", "7800 kg/m^3"),
        ("6 l/100 km", "0.00000006 m^3/m"),
        ("3 kW", "3000 W"),
        ("3 MW", "3000000 W"),
        ("2 kWh", "7200000 J"),
        ("200 kcal", "836800 J"),
        ("12V", "12 V"),
        ("500 mA", "0.5 A"),
        ("5000 mAh", "5 Ah"),
        ("2.4 GHz", "2400000000 Hz"),
        ("1 atm", "101325 Pa"),
        ("2 bar", "200000 Pa"),
        ("1013 hPa", "101300 Pa"),
        ("10 N", "10 N"),
        ("4.7 kΩ", "4700 ohm"),
        ("30 deg", "30 deg"),
        # slips of case and a full stop that can mean one thing alone
        ("7 Kg", "7 kg"),
        ("7 KG", "7 kg"),
        ("7 KM", "7000 m"),
        ("7 Hrs", "25200 s"),
        ("7 KWH", "25200000 J"),
        ("7 khz", "7000 Hz"),
        ("7 MHZ", "7000000 Hz"),
        ("7 KMH", "1.94444444444 m/s"),
        ("7 ft.", "2.1336 m"),
        ("7 KILOMETRES", "7000 m"),
    ],
)
def test_units(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7 kb", REFUSE),
        ("7 Kb", REFUSE),
        ("7 mb", REFUSE),
        ("7 gb/s", REFUSE),
        ("7 mw", REFUSE),
        ("7 mhz", REFUSE),
        ("7 ML", REFUSE),
        ("7 MG", REFUSE),
        ("7 tons", REFUSE),
        ("7 hp", REFUSE),
        ("200 calories", REFUSE),
        ("90 degrees", REFUSE),
        ("90°", REFUSE),
        ("20 C", REFUSE),
        ("20C", REFUSE),
        ("70 F", REFUSE),
        ("-300 °C", REFUSE),
        ("7m", REFUSE),
        ("90s", REFUSE),
        ("1990s", REFUSE),
        ("3d", REFUSE),
        ("5'13\"", REFUSE),
        ("25.00.0 km", NONE),
        ("1,23 km", REFUSE),
        ("7K", NONE),
        ("7B", NONE),
        ("7M", NONE),
        ("7 M", NONE),
        ("7 MM", NONE),
        ("7-A", NONE),
        ("7", NONE),
        ("seven", NONE),
        ("km", NONE),
        ("7 apples", NONE),
        ("7 business days", NONE),
        ("7%", NONE),
        ("$7", NONE),
        ("7 per day", NONE),
        ("7 °C/min", NONE),
        ("7 km/7", NONE),
        ("7 km/h/s", NONE),
        ("7 words per minute", NONE),
        ("twenty-second", NONE),
        ("twenty second", NONE),
        ("hundred second", NONE),
        ("about 7 km", NONE),
        ("<7 km", NONE),
        ("7 km m", NONE),
        ("", NONE),
        ("-", NONE),
        ("a", NONE),
    ],
)
def test_what_is_refused_or_no_quantity(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 h 30 min", "5400 s"),
        ("1h30m", "5400 s"),
        ("1h 30m", "5400 s"),
        ("2m 30s", "150 s"),
        ("1 hour and 30 minutes", "5400 s"),
        ("1 hour, 30 minutes", "5400 s"),
        ("one hour and thirty minutes", "5400 s"),
        ("2 days, 4 hours and 5 minutes", "187500 s"),
        ("1 year 6 months", "18 month"),
        ("5'11\"", "1.8034 m"),
        ("5’ 11”", "1.8034 m"),
        ("5'11", "1.8034 m"),
        ("5 ft 11 in", "1.8034 m"),
        ("5 ft 11", "1.8034 m"),
        ("5 feet 11 1/2 inches", "1.8161 m"),
        ("5'0\"", "1.524 m"),
        ("10 st 5 lb", "65.77089365 kg"),
        ("5 lb 3 oz", "2.353010419375 kg"),
        ("5 km 300 m", "5300 m"),
        ("5m 30cm", "5.3 m"),
        ("-1 h 30 min", "-5400 s"),
        # not larger and smaller
        ("1 h 90 min", REFUSE),
        ("30 min 1 h", REFUSE),
        ("1.5 h 10 min", REFUSE),
        ("5 km and 3 km", REFUSE),
        ("5 km and 3 kg", REFUSE),
        ("1 year 2 weeks", REFUSE),
        ("3 or 4 days", REFUSE),
        ("1 m 80", NONE),
        # words in front and behind
        ("an hour", "3600 s"),
        ("a mile", "1609.344 m"),
        ("half an hour", "1800 s"),
        ("half a mile", "804.672 m"),
        ("a quarter of an hour", "900 s"),
        ("three quarters of an hour", "2700 s"),
        ("an hour and a half", "5400 s"),
        ("two hours and a half", "9000 s"),
        ("two and a half hours", "9000 s"),
        ("2 1/2 hours", "9000 s"),
        ("a dozen km", "12000 m"),
        ("1.5 million km", "1500000000 m"),
        ("1.2M km", "1200000000 m"),
        ("2.5 hours and a half", NONE),
        # hyphens
        ("90-minute", "5400 s"),
        ("45-litre", "0.045 m^3"),
        ("five-year", "60 month"),
        ("ten-second", "10 s"),
        ("20-second", "20 s"),
        ("one second", "1 s"),
    ],
)
def test_several_units_and_words(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3-5 days", "259200..432000 s"),
        ("3–5 days", "259200..432000 s"),
        ("3 to 5 days", "259200..432000 s"),
        ("three to five days", "259200..432000 s"),
        ("between 3 and 5 days", "259200..432000 s"),
        ("from 3 to 5 days", "259200..432000 s"),
        ("3-5-day", "259200..432000 s"),
        ("3 days to 5 weeks", "259200..3024000 s"),
        ("3 km - 5 km", "3000..5000 m"),
        ("20-25 °C", "293.15..298.15 K"),
        ("-5 to 5 °C", "268.15..278.15 K"),
        ("-10--5 °C", "263.15..268.15 K"),
        ("5 ± 0.1 kg", "4.9..5.1 kg"),
        ("20 ± 5 °C", "288.15..298.15 K"),
        ("36-72 km/h", "10..20 m/s"),
        ("5-3 days", REFUSE),
        ("5-5 days", REFUSE),
        ("3-5 kb", REFUSE),
        ("3 km to 5 kg", REFUSE),
        ("3 and 5 days", REFUSE),
        ("3-5-7 days", NONE),
        ("3-5", NONE),
    ],
)
def test_ranges(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("locale", "text", "expected"),
    [
        ("de_DE", "1.500 m", "1500 m"),
        ("de_DE", "1,5 m", "1.5 m"),
        ("de_DE", "1.50 m", REFUSE),
        (None, "1,500 m", REFUSE),
        (None, "1.5 m", "1.5 m"),
        ("fr_FR", "1 500 m", "1500 m"),
        ("de_DE", "5m", "5 m"),
        ("de_DE", "2 Stunden", "7200 s"),
        ("de_DE", "2 Std.", "7200 s"),
        ("de_DE", "eine halbe Stunde", "1800 s"),
        ("de_DE", "anderthalb Stunden", "5400 s"),
        ("de_DE", "3 bis 5 Tage", "259200..432000 s"),
        ("de_DE", "zwischen 3 und 5 Tagen", "259200..432000 s"),
        ("de_DE", "90 Kilometer pro Stunde", "25 m/s"),
        ("de_DE", "90 Stundenkilometer", "25 m/s"),
        ("de_DE", "5 Quadratmeter", "5 m^2"),
        ("de_DE", "5 J", REFUSE),
        ("de_DE", "5 Pfund", NONE),
        ("de_DE", "2 hours", NONE),
        ("fr_FR", "2 heures", "7200 s"),
        ("fr_FR", "une heure et demie", "5400 s"),
        ("fr_FR", "une demi-heure", "1800 s"),
        ("fr_FR", "5 Mo", "5000000 B"),
        ("fr_FR", "5 jours", "432000 s"),
        ("fr_FR", "5 m.", REFUSE),
        ("fr_FR", "3 à 5 kilomètres", "3000..5000 m"),
        ("es_ES", "2 horas", "7200 s"),
        ("es_ES", "media hora", "1800 s"),
        ("es_ES", "una hora y media", "5400 s"),
        ("es_ES", "5 dias", "432000 s"),
        ("es_ES", "5 M", NONE),
        ("en_US", "1 gallon", "0.003785411784 m^3"),
        ("en_GB", "1 gallon", "0.00454609 m^3"),
        (None, "1 gallon", REFUSE),
        (None, "1 US gallon", "0.003785411784 m^3"),
        ("en_US", "1 pint", "0.000473176473 m^3"),
        ("en_GB", "1 pint", "0.00056826125 m^3"),
        ("en_GB", "1 fl oz", "0.0000284130625 m^3"),
        ("en_US", "5 pounds", "2.26796185 kg"),
        ("en_GB", "5 pounds", REFUSE),
        (None, "5 pounds", REFUSE),
        ("en_GB", "5 lb", "2.26796185 kg"),
        ("fr_FR", "5'11\"", REFUSE),
        ("ja_JP", "5 km", "5000 m"),
        ("ar_EG", "٥ km", "5000 m"),
    ],
)
def test_locales(locale, text, expected):
    assert read(text, locale) == expected


def test_the_magnitude_as_it_was_written_is_kept():
    value = read_quantity("36 yards", "en_US").value
    assert (value.stated, value.low, value.unit) == (36, Fraction("32.9184"), "m")
    assert read_quantity("3-5 days", "en_US").value.stated is None


def test_values_are_exact_where_their_text_is_not():
    assert read_quantity("100 km/h", "en_US").value.low == Fraction(250, 9)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("5 kb", "'kb' may be bit or B"),
        ("5 tons", "'tons' may be 907.18474 kg or 1016.0469088 kg or 1000 kg"),
        ("5 degrees", "'degrees' may be of an angle, °C or °F"),
        ("5-3 days", "the range does not rise"),
        ("5 C", "'C' alone is no unit: degrees are written °C"),
        ("5m", "'m' behind a number may be metres or millions"),
        ("5 km and 3 kg", "'5 km and 3 kg' are several quantities"),
    ],
)
def test_a_refusal_says_why(text, reason):
    assert read_quantity(text, "en_US").reason == reason


# --- finding --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is 7 km away, 3-5 days by foot.", [("7 km", "7000 m"), ("3-5 days", "259200..432000 s")]),
        ("at 90 km/h, not 50 mph.", [("90 km/h", "25 m/s"), ("50 mph", "22.352 m/s")]),
        ("a 5-year-old and a 90-minute film", [("5-year", "60 month"), ("90-minute", "5400 s")]),
        ("a 10-15 km-long way", [("10-15 km", "10000..15000 m")]),
        ("5 A students in Section 5 B, plan 3 A; 5K users; the 90s, 1990s; 3D, 5G, 5g", []),
        ("5 in 10 people, 5 in the box, 5 or 6, 3.5 stars, 20-30%", []),
        ("5 in x 3 in, it is 5 in.", [("5 in", "0.127 m"), ("3 in", "0.0762 m"), ("5 in", "0.127 m")]),
        ("He is 5'11\" tall, 5 ft 11 in.", [("5'11\"", "1.8034 m"), ("5 ft 11 in", "1.8034 m")]),
        ("1 h 30 min; 1h30m; one hour and thirty minutes", [("1 h 30 min", "5400 s"), ("1h30m", "5400 s"), ("one hour and thirty minutes", "5400 s")]),
        ("5 minutes and 3 hours", [("5 minutes", "300 s"), ("3 hours", "10800 s")]),
        ("half an hour, an hour and a half, a fortnight", [("half an hour", "1800 s"), ("an hour and a half", "5400 s"), ("a fortnight", "1209600 s")]),
        ("in a week, twice a day, a bit, a second", [("a week", "604800 s")]),
        ("20-25 °C and -40 °C", [("20-25 °C", "293.15..298.15 K"), ("-40 °C", "233.15 K")]),
        ("between 3 and 5 days, from 5 to 10 km", [("between 3 and 5 days", "259200..432000 s"), ("from 5 to 10 km", "5000..10000 m")]),
        ("5 ± 0.1 kg, 3 km to 5 km", [("5 ± 0.1 kg", "4.9..5.1 kg"), ("3 km to 5 km", "3000..5000 m")]),
        ("12V 5W 2.5A 5A 300 K, 100 K users", [("12V", "12 V"), ("5W", "5 W"), ("2.5A", "2.5 A"), ("300 K", "300 K")]),
        ("5 m² or 5 m2, 500 square feet, 500 sq ft", [("5 m^2", "5 m^2"), ("5 m2", "5 m^2"), ("500 square feet", "46.45152 m^2"), ("500 sq ft", "46.45152 m^2")]),
        ("10 GB, 5 MiB, 5 kb, 64-bit", [("10 GB", "10000000000 B"), ("5 MiB", "5242880 B"), ("5 kb", REFUSE), ("64-bit", "64 bit")]),
        ("5 kg per day, 5 kg per person, 5 kg/person", [("5 kg per day", "0.0000578703703704 kg/s"), ("5 kg", "5 kg"), ("5 kg", "5 kg")]),
        ("5 per day, 5 apples, 90 degrees, 5m users", []),
        ("a twenty-second round of ten seconds", [("ten seconds", "10 s")]),
        ("A-5 km, 1.5.2 km, 2/3/4 km, x5 km", []),
        ("1,000,000 km", [("1,000,000 km", "1000000000 m")]),
        ("5 bars, 5 stones, 3 degrees", []),
        ("15g, 5 g and 120s", [("15g", "0.015 kg"), ("5 g", "0.005 kg"), ("120s", "120 s")]),
    ],
)  # fmt: skip
def test_finding(text, expected):
    assert find(text) == expected


def test_a_piece_of_a_longer_number_is_not_found():
    text = "1 000 000 km"
    assert not any(spelling("en_US").match(text, place) for place in (2, 3, 6, 7))


@pytest.mark.parametrize(
    ("locale", "text", "expected"),
    [
        ("de_DE", "5.000 m in 2,5 Stunden.", [("5.000 m", "5000 m"), ("2,5 Stunden", "9000 s")]),
        ("de_DE", "3 bis 5 Tage, eine halbe Stunde", [("3 bis 5 Tage", "259200..432000 s"), ("eine halbe Stunde", "1800 s")]),
        ("fr_FR", "3 à 5 jours, une heure et demie, 5 j.", [("3 à 5 jours", "259200..432000 s"), ("5 j", "432000 s")]),
        ("es_ES", "de 3 a 5 días, media hora", [("3 a 5 días", "259200..432000 s"), ("media hora", "1800 s")]),
        ("en_GB", "5 pounds, 2 gallons", [("5 pounds", REFUSE), ("2 gallons", "0.00909218 m^3")]),
    ],
)  # fmt: skip
def test_finding_in_a_locale(locale, text, expected):
    assert find(text, locale) == expected


# --- laws -----------------------------------------------------------------------------------------

_PIECES = [
    "5",
    "1",
    "0.5",
    "1,234",
    "-",
    "3",
    " ",
    "km",
    "m",
    "h",
    "min",
    "'",
    '"',
    "ft",
    " in",
    " lb",
    "°C",
    "°",
    "°F",
    "/",
    "per ",
    "and ",
    "half ",
    "an ",
    "hour",
    " to ",
    "..",
    "±",
    "1e5",
    "10^",
    "K",
    "MB",
    "kb",
    "square ",
    "^2",
    "s",
    "d",
    "second",
    "twenty",
    "five ",
    "between ",
    "year",
    "gallon",
    "5.",
]
texts = st.one_of(st.text(max_size=30), st.lists(st.sampled_from(_PIECES), max_size=9).map("".join))


@given(texts)
@example("100 km/h")
@example("1e150 km")
@example("5 l/100 km")
@unhurried
def test_a_canonical_text_reads_as_itself(text):
    canonical = read(text)
    if canonical not in (NONE, REFUSE):
        assert normalize(canonical, 1) == canonical
        assert read(canonical) == canonical


@given(texts, st.sampled_from(LOCALES))
@unhurried
def test_no_text_raises_and_a_spelling_ends_where_a_word_ends(text, locale):
    read(text, locale)
    text = normalize(text, 1)
    for place in range(len(text)):
        match = spelling(locale).match(text, place)
        if match:
            before, behind = text[place - 1 : place], text[match.end() : match.end() + 1]
            assert not (before.isalnum() and text[place].isalnum())
            assert not (behind.isalnum() and text[match.end() - 1].isalnum())


_FORMATTED = {
    "length-kilometer": ("m", "1000", 0),
    "length-meter": ("m", "1", 0),
    "length-foot": ("m", "0.3048", 0),
    "mass-gram": ("kg", "0.001", 0),
    "mass-kilogram": ("kg", "1", 0),
    "duration-second": ("s", "1", 0),
    "duration-minute": ("s", "60", 0),
    "duration-hour": ("s", "3600", 0),
    "duration-day": ("s", "86400", 0),
    "duration-month": ("month", "1", 0),
    "duration-year": ("month", "12", 0),
    "volume-liter": ("m^3", "0.001", 0),
    "area-square-meter": ("m^2", "1", 0),
    "temperature-celsius": ("K", "1", "273.15"),
    "digital-megabyte": ("B", "1000000", 0),
    "digital-kilobit": ("bit", "1000", 0),
    "speed-kilometer-per-hour": ("m/s", "5/18", 0),
    "power-megawatt": ("W", "1000000", 0),
    "power-milliwatt": ("W", "0.001", 0),
    "energy-joule": ("J", "1", 0),
}


@pytest.mark.parametrize("locale", ["en_US", "en_GB", "de_DE", "fr_FR", "es_ES", "it_IT", "pl_PL", "ru_RU"])
@given(
    st.sampled_from(sorted(_FORMATTED)),
    st.sampled_from(["long", "short"]),
    st.one_of(st.integers(0, 10**7), st.decimals(0, 10**5, places=2)),
)
@unhurried
def test_what_cldr_writes_is_read_right_or_refused(locale, unit, length, amount):
    base, factor, offset = _FORMATTED[unit]
    text = normalize(format_unit(amount, unit, length, format="#,##0.##", locale=locale), 1)
    reading = read_quantity(text, locale)
    if reading is not None and reading.value is not None:
        assert reading.value.unit == base
        assert reading.value.low == Fraction(amount) * Fraction(factor) + Fraction(offset)
    elif length == "long":
        assert reading is not None or locale not in ("en_US", "en_GB", "de_DE", "fr_FR", "es_ES")


@pytest.mark.skipif(not SHARED.exists(), reason="the hard inputs are not at hand")
def test_the_hard_inputs():
    expected = {"REFUSE": REFUSE, "NONE": NONE}
    rows = [json.loads(line) for line in (SHARED / "cases" / "values.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["class"] == "unit"]
    assert rows
    for row in rows:
        assert read(row["text"], row["locale"] or None) == expected.get(row["canonical"], row["canonical"]), row


@pytest.mark.parametrize(
    "piece", ["5", "'", "km ", "5 km ", "5'", "5-", "five ", "half an ", "3 to ", "5..", "±5", "1h"]
)
def test_long_runs_take_linear_time(piece):
    text = piece * (10**6 // len(piece))
    start = time.perf_counter()
    for locale in (None, "de_DE"):
        spelling(locale).match(text)
        reading = read_quantity(text, locale)
        assert reading is None or reading.value is None
        for place in range(1000):
            spelling(locale).match(text, place, place + LONGEST)
    assert time.perf_counter() - start < 5
