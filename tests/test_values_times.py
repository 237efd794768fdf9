from datetime import time

import pytest
from babel import Locale
from babel.dates import format_time
from hypothesis import given, settings
from hypothesis import strategies as st

from calibkit.normalize import normalize
from calibkit.values.times import Clock, read_time, spelling, trigger_words

REFUSED = "refused"
_LOCALES = (
    "en_US en_GB en_IN de_DE de_CH fr_FR fr_CA es_ES it_IT pt_BR nl_NL sv_SE pl_PL ru_RU ja_JP ar_EG hi_IN ko_KR "
    "zh_CN zh_TW da_DK fi_FI el_GR hu_HU"
)
LOCALES = _LOCALES.split()


def canonical(text, locale=None):
    """The canonical text, REFUSED, or None where a text is no time."""
    reading = read_time(normalize(text, 1), locale)
    if reading is None:
        return None
    assert reading.value or reading.reason
    return reading.value.canonical if reading.value else REFUSED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("14:30", "T14:30"),
        ("02:30", "T02:30"),
        ("00:30", "T00:30"),
        ("2:30 PM", "T14:30"),
        ("2:30 p.m.", "T14:30"),
        ("2:30pm", "T14:30"),
        ("2.30 pm", "T14:30"),
        ("2 pm", "T14:00"),
        ("2:30 AM", "T02:30"),
        ("12 AM", "T00:00"),
        ("12 pm", "T12:00"),
        ("12:30 a.m.", "T00:30"),
        ("at 2:30 PM", "T14:30"),
        ("noon", "T12:00"),
        ("12 noon", "T12:00"),
        ("midday", "T12:00"),
        ("midnight", "T00:00"),
        ("24:00", "T00:00"),
        ("14:30:05", "T14:30:05"),
        ("14:30:05.250", "T14:30:05.25"),
        ("14:30:05.000", "T14:30:05"),
        ("T14:30", "T14:30"),
        ("14h30", "T14:30"),
        # Before or after noon.
        ("2:30", REFUSED),
        ("12:30", REFUSED),
        ("2 o'clock", REFUSED),
        ("half past two", REFUSED),
        ("quarter to five", REFUSED),
        ("half past two in the afternoon", "T14:30"),
        ("a quarter to five in the morning", "T04:45"),
        ("ten minutes to three p.m.", "T14:50"),
        ("quarter to one p.m.", "T12:45"),
        ("two o'clock in the afternoon", "T14:00"),
        ("10 at night", "T22:00"),
        ("2 at night", "T02:00"),
        ("12 at night", "T00:00"),
        ("seven in the evening", "T19:00"),
        ("14:30 in the afternoon", "T14:30"),
        # No clock shows these.
        ("14:30 in the morning", REFUSED),
        ("25:00", REFUSED),
        ("24:30", REFUSED),
        ("14:60", REFUSED),
        ("14:30:60", REFUSED),
        ("13:00 PM", REFUSED),
        ("0:30 PM", REFUSED),
        # Zones.
        ("14:30Z", "T14:30Z"),
        ("14:30 UTC", "T14:30Z"),
        ("14:30 (UTC)", "T14:30Z"),
        ("2:30 PM GMT", "T14:30Z"),
        ("14:30+02:00", "T12:30Z"),
        ("14:30 -0500", "T19:30Z"),
        ("14:30+05:45", "T08:45Z"),
        ("23:30-01:00", REFUSED),
        ("23:30:00-01:00", "T00:30:00Z"),
        ("14:30 UTC+2", "T12:30Z"),
        ("14:30 GMT-5", "T19:30Z"),
        ("14:30 CEST", "T12:30Z"),
        ("2:30 PM PDT", "T21:30Z"),
        ("2:30 PM Pacific Standard Time", "T22:30Z"),
        ("2:30 PM IST", REFUSED),
        ("2:30 PM CST", REFUSED),
        ("2:30 PM BST", REFUSED),
        ("2:30 PM ET", REFUSED),
        ("2:30 PM Pacific Time", REFUSED),
        ("14:30+15:00", REFUSED),
        ("14:30+02:75", REFUSED),
        # Spans.
        ("2-4 pm", "T14:00..T16:00"),
        ("2 to 4 pm", "T14:00..T16:00"),
        ("from 2:15 to 4 p.m.", "T14:15..T16:00"),
        ("between two and four p.m.", "T14:00..T16:00"),
        ("10-2 pm", "T10:00..T14:00"),
        ("9-5 pm", "T09:00..T17:00"),
        ("9 am - 5 pm", "T09:00..T17:00"),
        ("9:00-17:00", "T09:00..T17:00"),
        ("09:00 - 11:00", "T09:00..T11:00"),
        ("2-4 pm UTC", "T14:00Z..T16:00Z"),
        ("22:00 - 06:00", "T22:00..T06:00"),
        ("T22:00..T06:00", "T22:00..T06:00"),
        ("09:00-11:00", REFUSED),
        ("ten to three p.m.", REFUSED),
        ("2 and 4 pm", REFUSED),
        ("4 pm - 4 pm", REFUSED),
        # Not times.
        ("2.30", None),
        ("14.30", None),
        ("2:1", None),
        ("3:2", None),
        ("16:9", None),
        ("1:234", None),
        ("7", None),
        ("five to ten", None),
        ("ten to three", None),
        ("9-17", None),
        ("am", None),
        ("2 h", None),
        ("14 Uhr", None),
        ("10:20:30:40", None),
        ("", None),
    ],
)
def test_english(text, expected):
    assert canonical(text, "en_US") == expected
    assert canonical(text) == expected


@pytest.mark.parametrize(
    ("text", "locale", "expected"),
    [
        ("2:30", "en_GB", "T02:30"),
        ("2:30", "de_DE", "T02:30"),
        ("12:30", "fr_FR", "T12:30"),
        ("2:30", "en_IN", REFUSED),
        ("2:30", "ko_KR", REFUSED),
        ("14 Uhr", "de_DE", "T14:00"),
        ("14.30 Uhr", "de_DE", "T14:30"),
        ("14 Uhr 30", "de_DE", "T14:30"),
        ("um 8 Uhr abends", "de_DE", "T20:00"),
        ("8 Uhr", "de_DE", "T08:00"),
        ("9-17 Uhr", "de_DE", "T09:00..T17:00"),
        ("10 am", "de_DE", None),
        ("10 AM", "de_DE", "T10:00"),
        ("14:30 MEZ", "de_DE", "T13:30Z"),
        ("14:30 Mitteleuropäische Sommerzeit", "de_DE", "T12:30Z"),
        ("14 h", "fr_FR", "T14:00"),
        ("14 h 30", "fr_FR", "T14:30"),
        ("à 14h30", "fr_FR", "T14:30"),
        ("14 h 30 min 05 s", "fr_CA", "T14:30:05"),
        ("midi", "fr_FR", "T12:00"),
        ("2:30 de la tarde", "es_ES", "T14:30"),
        ("kl. 14.30", "sv_SE", "T14:30"),
        ("14.30", "fi_FI", "T14:30"),
        ("14.30", "de_DE", None),
        ("ore 14.30", "it_IT", "T14:30"),
        ("14時30分05秒", "ja_JP", "T14:30:05"),
        ("午後2時", "ja_JP", "T14:00"),
        ("午後0時30分", "ja_JP", "T12:30"),
        ("午後12時30分", "ja_JP", REFUSED),
        ("2時間", "ja_JP", None),
        ("下午2点半", "zh_CN", "T14:30"),
        ("오후 2시 30분", "ko_KR", "T14:30"),
        ("2:30 م", "ar_EG", "T14:30"),
        ("٢:٣٠ م", "ar_EG", "T14:30"),
        ("2:30 PM EST", "en_AU", REFUSED),
        ("2:30 PM EST", "en_US", "T19:30Z"),
        ("14:30 est", "fr_FR", None),
    ],
)
def test_languages(text, locale, expected):
    assert canonical(text, locale) == expected


def test_other_readings_are_told():
    assert read_time("2:30", None).reason == "may be T02:30 or T14:30"
    assert {value.canonical for value in read_time("2:30 PM IST", None).values} == {"T13:30Z", "T12:30Z", "T09:00Z"}
    assert read_time("25:00", None).reason == "no clock shows such a time"


def test_a_clock_knows_the_day_it_is_on_elsewhere():
    assert Clock(23, 30, offset=-300).minutes // 1440 == 1
    assert Clock(0, 30, offset=330).minutes // 1440 == -1
    assert Clock(24).minutes // 1440 == 1


@pytest.mark.parametrize(
    ("text", "at", "locale", "expected"),
    [
        ("at 2:30 p.m. on Monday", 3, "en_US", "2:30 p.m."),
        ("at 2 pm.", 3, "en_US", "2 pm"),
        ("at 14:30 UTC, we", 3, "en_US", "14:30 UTC"),
        ("2:30 in the afternoon", 0, "en_US", "2:30 in the afternoon"),
        ("from 2 to 4 pm we", 0, "en_US", "from 2 to 4 pm"),
        ("half past two.", 0, "en_US", "half past two"),
        ("At 10 am I went", 3, "en_US", "10 am"),
        ("um 14.30 Uhr im", 3, "de_DE", "14.30 Uhr"),
        ("um 8 am Bahnhof", 3, "de_DE", None),
        ("à 14h30 il", 2, "fr_FR", "14h30"),
        ("durée 14 h", 6, "fr_FR", None),
        ("kl. 14.30", 0, "da_DK", "kl. 14.30"),
        ("14.30", 0, "da_DK", None),
        ("3 in the morning", 0, "en_US", None),
        ("5 after 3 weeks", 0, "en_US", None),
        ("five to ten people", 0, "en_US", None),
        ("10 minutes to 2 hours", 0, "en_US", None),
        ("2:1 ratio", 0, "en_US", None),
        ("10:20:30:40", 0, "en_US", None),
        ("10:20:30:40", 3, "en_US", None),
        ("1.12:30", 2, "en_US", None),
        ("x12:30", 1, "en_US", None),
        ("12:30x", 0, "en_US", None),
    ],
)
def test_spelling_in_running_text(text, at, locale, expected):
    match = spelling(locale).match(normalize(text, 1), at)
    assert (match and match[0]) == expected


def test_trigger_words():
    assert {"noon", "midnight", "half", "quarter", "ten", "from", "between"} <= trigger_words("en_US")
    assert {"mitternacht", "von"} <= trigger_words("de_DE")
    assert "kl" in trigger_words("sv_SE")
    assert not {"at", "past", "march"} & trigger_words("en_US")


@given(st.times(), st.sampled_from(LOCALES), st.sampled_from(["short", "medium", "long", "full"]))
@settings(max_examples=300, deadline=None)
def test_what_babel_writes_is_read(clock, locale, width):
    text = normalize(format_time(clock, width, locale=locale), 1)
    expected = f"T{clock:%H:%M}" + (f":{clock:%S}" if width != "short" else "") + "Z" * (width in ("long", "full"))
    assert [value.canonical for value in read_time(text, locale).values] == [expected], text


@given(st.times().map(lambda clock: clock.replace(microsecond=0)), st.sampled_from([None, *LOCALES]))
@settings(max_examples=200, deadline=None)
def test_canonical_texts_are_fixed_points(clock, locale):
    for text in (f"T{clock:%H:%M}", f"T{clock:%H:%M:%S}Z", f"T{clock:%H:%M}..T{clock:%H:%M:%S}"):
        if clock.second or ".." not in text:
            assert canonical(text, locale) == text


@given(st.integers(1, 12), st.integers(0, 59))
def test_a_bare_time_has_two_readings_where_the_clock_has_twelve_hours(hour, minute):
    text = f"{hour}:{minute:02}"
    for locale in ("en_US", "en_GB", "de_DE", "hi_IN"):
        twelve = "h" in str(Locale.parse(locale).time_formats["short"].pattern)
        both = {f"T{hour % 12 + half:02}:{minute:02}" for half in (0, 12)}
        found = {value.canonical for value in read_time(text, locale).values}
        assert found == (both if twelve else {time(hour, minute).strftime("T%H:%M")})
