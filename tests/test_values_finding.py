"""Finding values in running text: each whole, none inside another, in time that grows with the text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibkit.normalize import normalize
from calibkit.values import READERS, find_values


def found(text, locale="en_US"):
    text = normalize(text, 1)
    return [
        (text[each.start : each.end], each.reading.value.canonical if each.reading.value else each.reading.outcome)
        for each in find_values(text, locale)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It ships on May 3rd, 2027, at a cost of $2,150.", [("May 3rd, 2027", "2027-05-03"), ("$2,150", "USD 2150")]),
        ("Order B-2071 of 5 June", [("B-2071", "B2071"), ("5 June", "--06-05")]),
        ("boards of 2 x 4", [("2", "2"), ("4", "4")]),
        ("no one knows which one of the two", [("two", "2")]),
        ("the first of all in the 19th century", [("19th century", "1801..1900")]),
        ("closed on Mondays, twice a year", [("Mondays", "-W-1"), ("twice", "2")]),
        ("write to desk@example.org or call", [("desk@example.org", "desk@example.org")]),
        ("it starts with KX- followed by a digit", [("KX-", "KX-")]),
        ("see room 555-0199, or 555-0142", [("room 555-0199", "555_0199"), ("555-0142", "555_0142")]),
        ("from 3 to 5 days, within a week", [("from 3 to 5 days", "259200..432000 s"), ("a week", "604800 s")]),
        ("Ruby 3.10 costs 3.50", [("3.10", "ambiguous"), ("3.50", "3.5")]),
        ("(12)", [("(12)", "-12")]),
        ("a model of an agent can order a cell", []),
        ("x" * 500, []),
        ("", []),
    ],
)
def test_values_are_found_whole(text, expected):
    assert found(text) == expected


def test_what_two_countries_read_differently_is_ambiguous_without_a_locale():
    assert found("on 03/04/2026", None) == [("03/04/2026", "ambiguous")]
    assert found("on 03/04/2026", "en_GB") == [("03/04/2026", "2026-04-03")]
    assert found("on 31/02/2026", "en_GB") == [("31/02/2026", "unreadable")]


@pytest.mark.parametrize("unit", ["7", ",", "1,", "not ", "five ", "$", "march ", "a-1 ", "(", "5'", "x@y.z ", "⟦1⟧"])
def test_long_runs_go_through(unit):
    text = unit * (20_000 // len(unit))
    find_values(normalize(text, 1), "en_US")
    normalize(text, 4, "en_US")


pieces = st.sampled_from(
    ["12", "3.5", "1,234", "March", "2026", "$", "€5", "5 km", "%", "twenty", "one", "A-1", "12:30", "pm", "to", "and",
     "between", "the", "-", "/", ".", "(", ")", "½", "3rd", "#4", "v1.2", "Monday", "half", "a", "dozen", "⟦5⟧"]
)  # fmt: skip


@settings(deadline=None, max_examples=80)
@given(st.lists(pieces, max_size=8).map(" ".join) | st.text(max_size=40), st.sampled_from([None, "en_US", "de_DE"]))
def test_places_are_in_order_and_rung_four_is_idempotent(text, locale):
    text = normalize(text, 1)
    places = find_values(text, locale)
    ends = [0, *(each.end for each in places)]
    assert all(end <= each.start < each.end <= len(text) for end, each in zip(ends, places, strict=False))
    once = normalize(text, 4, locale)
    assert normalize(once, 4, locale) == once


@settings(deadline=None, max_examples=60)
@given(st.lists(pieces, max_size=6).map(" ".join))
def test_canonical_forms_are_fixed_points(text):
    for each in find_values(normalize(text, 1), "en_US"):
        if (value := each.reading.value) is not None and each.kind != "identifier" and value.canonical[:2] != "-W":
            again = READERS[value.kind](normalize(value.canonical, 1), "en_US")
            assert again is not None
            assert again.value is not None
            assert again.value.canonical == value.canonical
