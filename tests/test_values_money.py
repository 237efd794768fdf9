"""Amounts of money: the right currency and the exact amount, or a refusal."""

from decimal import Decimal
from fractions import Fraction

import pytest
from babel.numbers import format_compact_currency, format_currency, get_currency_name
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calibkit.normalize import normalize
from calibkit.values import money
from calibkit.values.reading import LONGEST, decimal_text

REFUSE, NONE = "refuse", None
_LOCALES = "en_US en_GB en_IN de_DE de_CH fr_FR es_ES it_IT pt_BR nl_NL sv_SE pl_PL ru_RU ja_JP ar_EG hi_IN"
LOCALES = _LOCALES.split()
unhurried = settings(deadline=None, max_examples=150)


def read(text, locale):
    """The canonical text, "refuse" for several values or none that makes sense, None for no money."""
    reading = money.read_money(normalize(text, 1), locale)
    if reading is None:
        return NONE
    assert bool(reading.reason) is (reading.value is None)
    return reading.value.canonical if reading.value else REFUSE


@pytest.mark.parametrize(
    ("locale", "text", "expected"),
    [
        # signs before and behind, with and without space
        ("en_US", "$1,299.00", "USD 1299"),
        ("en_US", "$ .50", "USD 0.5"),
        ("en_US", "5$", "USD 5"),
        ("en_US", "$1/2", "USD 0.5"),
        ("en_US", "$1,23", REFUSE),
        ("en_US", "€ 1 000", REFUSE),
        ("en_US", "$1.234,5", REFUSE),
        ("de_DE", "1.234,50 €", "EUR 1234.5"),
        ("de_DE", "€1,234.50", REFUSE),
        ("de_DE", "€ 5,-", "EUR 5"),
        ("de_DE", "5,— €", "EUR 5"),
        ("de_CH", "CHF 1’234.50", "CHF 1234.5"),
        ("de_CH", "CHF 5.-", "CHF 5"),
        ("fr_FR", "1 234,50 €", "EUR 1234.5"),
        ("pt_BR", "R$ 1.234,56", "BRL 1234.56"),
        ("pl_PL", "5,99 zł", "PLN 5.99"),
        ("ru_RU", "1 234,50 ₽", "RUB 1234.5"),
        ("ru_RU", "5 руб.", "RUB 5"),
        ("ja_JP", "￥1,500", "JPY 1500"),
        ("ja_JP", "1.2万円", "JPY 12000"),
        ("ar_EG", "١٢٫٥ ج.م.", "EGP 12.5"),
        ("hi_IN", "₹१,२३,४५६", "INR 123456"),
        ("en_IN", "Rs. 5,00,000", "INR 500000"),
        # which dollar, which crown
        (None, "$5", REFUSE),
        (None, "5 dollars", REFUSE),
        (None, "5 kr", REFUSE),
        (None, "¥500", REFUSE),
        (None, "€5", "EUR 5"),
        (None, "A$5", "AUD 5"),
        (None, "US $5", "USD 5"),
        (None, "U.S. $5", "USD 5"),
        (None, "NT$ 500", "TWD 500"),
        (None, "$5 CAD", "CAD 5"),
        (None, "USD$5", "USD 5"),
        ("en_US", "$5 CAD", "CAD 5"),
        ("en_CA", "$5 US", "USD 5"),
        ("en_CA", "5 US", NONE),
        ("en_US", "€5 US", REFUSE),
        ("en_US", "$20 dollars", "USD 20"),
        ("en_US", "€5 USD", REFUSE),
        ("en_US", "£5 dollars", REFUSE),
        ("en_CA", "$5", "CAD 5"),
        ("en_CA", "US$5", "USD 5"),
        ("en_AU", "$5", "AUD 5"),
        ("es_MX", "$5", "MXN 5"),
        ("es_MX", "5 pesos", "MXN 5"),
        ("en_US", "5 pesos", REFUSE),
        ("en_GB", "$5", "USD 5"),
        ("de_DE", "5 $", "USD 5"),
        ("sv_SE", "5 kr", "SEK 5"),
        ("nb_NO", "5 kr", "NOK 5"),
        ("zh_CN", "¥500", "CNY 500"),
        ("en_US", "¥500", "JPY 500"),
        ("en_US", "5 rupees", REFUSE),
        ("en_IN", "5 rupees", "INR 5"),
        # codes
        (None, "USD 5", "USD 5"),
        (None, "5USD", "USD 5"),
        (None, "usd 5", "USD 5"),
        (None, "5 eur", "EUR 5"),
        (None, "TRY 5", "TRY 5"),
        (None, "5 try", NONE),
        (None, "5 all", NONE),
        (None, "ABC 5", NONE),
        (None, "XUSD 5", NONE),
        # names
        ("en_US", "five dollars", "USD 5"),
        ("en_US", "a million dollars", "USD 1000000"),
        ("en_US", "half a million euros", "EUR 500000"),
        ("en_US", "5 U.S. dollars", "USD 5"),
        ("en_US", "5 Swiss francs", "CHF 5"),
        ("en_GB", "5 pounds", "GBP 5"),
        ("en_US", "5 pounds", REFUSE),
        (None, "5 pounds sterling", "GBP 5"),
        ("de_DE", "5 US-Dollar", "USD 5"),
        ("de_DE", "fünf Euro", "EUR 5"),
        ("ru_RU", "5 долларов США", "USD 5"),
        ("en_US", "dollars", NONE),
        # hundredths
        ("en_US", "99¢", "USD 0.99"),
        ("en_US", "0.5 cents", "USD 0.005"),
        ("en_US", "-99 cents", "USD -0.99"),
        ("en_IE", "75 cents", "EUR 0.75"),
        ("en_GB", "75 cents", REFUSE),
        (None, "75 cents", REFUSE),
        (None, "fifty pence", "GBP 0.5"),
        ("en_GB", "50p", "GBP 0.5"),
        ("en_US", "50p", NONE),
        ("de_DE", "99 Cent", "EUR 0.99"),
        ("de_CH", "50 Rappen", "CHF 0.5"),
        ("en_US", "5 dollars and 20 cents", "USD 5.2"),
        ("en_US", "five dollars, twenty cents", "USD 5.2"),
        ("en_US", "5 euros 20 cents", "EUR 5.2"),
        ("de_DE", "5 Euro und 20 Cent", "EUR 5.2"),
        ("en_US", "5 dollars and 120 cents", REFUSE),
        ("en_US", "5 dollars and 20 pence", REFUSE),
        ("en_US", "5.50 dollars and 20 cents", REFUSE),
        # multipliers
        ("en_US", "$5k", "USD 5000"),
        ("en_US", "$5m", "USD 5000000"),
        ("en_US", "$5 m", "USD 5000000"),
        ("en_US", "$1.5-million", "USD 1500000"),
        ("en_US", "$5MM", "USD 5000000"),
        ("en_US", "$1.5bn", "USD 1500000000"),
        ("en_US", "$5 billion USD", "USD 5000000000"),
        ("en_US", "5 million dollars", "USD 5000000"),
        ("en_IN", "₹5 lakh", "INR 500000"),
        ("de_DE", "5 Mio. €", "EUR 5000000"),
        ("fr_FR", "1,5 M€", "EUR 1500000"),
        # negative
        ("en_US", "-$8.00", "USD -8"),
        ("en_US", "$-5", "USD -5"),
        ("en_US", "−5 USD", "USD -5"),
        ("en_US", "$(5.00)", "USD -5"),
        ("en_US", "minus $5", "USD -5"),
        ("en_US", "minus 5 dollars", "USD -5"),
        ("en_US", "(USD 5)", "USD -5"),
        ("fr_FR", "(5 €)", "EUR -5"),
        ("de_DE", "(5 €)", REFUSE),
        ("en_US", "-$-5", REFUSE),
        ("en_US", "-($5)", REFUSE),
        # ranges
        ("en_US", "$3-$5", "USD 3..5"),
        ("en_US", "3–5 dollars", "USD 3..5"),
        ("en_US", "between $3 and $5", "USD 3..5"),
        ("en_US", "$3 to 5", "USD 3..5"),
        ("en_US", "$3M-$5M", "USD 3000000..5000000"),
        ("en_US", "10-20 cents", "USD 0.1..0.2"),
        ("en_US", "$5 ± 0.10", "USD 4.9..5.1"),
        ("en_US", "$5 ± $1", "USD 4..6"),
        ("en_US", "$3-5 million", REFUSE),
        ("en_US", "$5-3", REFUSE),
        ("en_US", "$3-€5", REFUSE),
        ("de_DE", "3 bis 5 Euro", "EUR 3..5"),
        ("en_US", "3-5", NONE),
        ("en_US", "$3-5%", NONE),
        # bounds, several amounts, no money
        ("en_US", "<$5", REFUSE),
        ("en_US", "about $5", REFUSE),
        ("en_US", "$5+", REFUSE),
        ("en_US", "$5 or more", REFUSE),
        ("en_US", "$5 or $6", REFUSE),
        ("en_US", "$5, €6", REFUSE),
        ("en_US", "$5.", "USD 5"),
        ("en_US", "5", NONE),
        ("en_US", "$", NONE),
        ("en_US", "$abc", NONE),
        ("en_US", "$5/month", NONE),
        ("en_US", "5 apples", NONE),
        ("en_US", "(5)", NONE),
        ("en_US", "", NONE),
    ],
)
def test_money(locale, text, expected):
    assert read(text, locale) == expected


def test_every_currency_that_a_sign_may_mean_is_given():
    reading = money.read_money("$5", None)
    assert {"USD 5", "CAD 5", "MXN 5"} <= {value.canonical for value in reading.values}
    reading = money.read_money("€1,234", None)
    assert {value.canonical for value in reading.values} == {"EUR 1234", "EUR 1.234"}


def test_an_amount_has_its_magnitude_in_the_currency():
    value = money.read_money("75 cents", "en_US").value
    assert (value.kind, value.low, value.high, value.stated, value.unit) == ("money", *[Fraction(75, 100)] * 3, "USD")
    value = money.read_money("$3-5", "en_US").value
    assert (value.low, value.high, value.stated, value.unit) == (3, 5, None, "USD")


@pytest.mark.parametrize(
    ("locale", "text", "expected"),
    [
        ("en_US", "$1,299.00, due", "$1,299.00"),
        ("en_US", "$5.", "$5"),
        ("en_US", "-$5 off", "-$5"),
        ("en_US", "$5/month", "$5"),
        ("en_US", "$3-5 each", "$3-5"),
        ("en_US", "<$5", "<$5"),
        ("en_US", "USD 5 million.", "USD 5 million"),
        ("en_US", "five dollars and twenty cents for", "five dollars and twenty cents"),
        ("en_US", "5 dollars and 3 euros", "5 dollars"),
        ("en_US", "US $5", "US $5"),
        ("en_US", "minus $5", "minus $5"),
        ("en_US", "$5 000 or so", "$5 000"),
        ("en_US", "5 USDA", None),
        ("en_US", "5 won", None),
        ("ko_KR", "5원", "5원"),
        ("en_GB", "5 pounds", None),
        ("en_US", "TOP 5", None),
        ("en_US", "5 people", None),
        ("ja_JP", "1,500円です", "1,500円"),
    ],
)
def test_spelling_takes_the_whole_of_it(locale, text, expected):
    match = money.spelling(locale).match(normalize(text, 1))
    assert (match and match.group()) == expected


def test_triggers():
    assert {"usd", "eur", "us", "five", "between"} <= money.trigger_words(None)
    assert not {"all", "try", "top"} & money.trigger_words("en_US")


# --- laws -----------------------------------------------------------------------------------------

amounts = st.decimals(-(10**7), 10**7, places=3).map(lambda number: number.normalize() + 0)
locales = st.sampled_from(LOCALES)
named = st.sampled_from(
    ["USD", "EUR", "GBP", "JPY", "CNY", "INR", "CHF", "SEK", "PLN", "BRL", "RUB", "EGP", "CAD", "KWD"]
)
currencies = st.one_of(named, st.sampled_from(sorted(money.CODES)))
fragments = st.lists(
    st.one_of(
        st.sampled_from("0123456789.,'-+/()$€£¥¢ kmMB±"),
        st.sampled_from([" dollars", " cents", "USD", " eur", "US$", "kr", " and ", " to ", "between ", "five", ",-"]),
    ),
    max_size=10,
).map("".join)


@unhurried
@given(amounts, currencies, locales, st.sampled_from(["standard", "accounting"]), st.sampled_from(["default", "latn"]))
def test_what_babel_formats_reads_back(number, currency, locale, form, system):
    text = format_currency(
        number, currency, locale=locale, format_type=form, currency_digits=False, decimal_quantization=False,
        numbering_system=system,
    )  # fmt: skip
    value = money.read_money(normalize(text, 1), locale).value
    assert (value.low, value.unit) == (Fraction(number), currency)


@unhurried
@given(amounts, named, locales)
def test_names_read_back(number, currency, locale):
    text = f"{number:f} {get_currency_name(currency, number, 'en_US')}"
    value = money.read_money(normalize(text, 1), "en_US").value
    assert (value.low, value.unit) == (Fraction(number), currency)
    text = format_currency(number, currency, locale=locale, format_type="name", decimal_quantization=False)
    value = money.read_money(normalize(text, 1), locale).value
    assert (value.low, value.unit) == (Fraction(number), currency)


@pytest.mark.parametrize("locale", LOCALES)
def test_compact_forms_read_back(locale):
    for power in range(3, 15):
        text = format_compact_currency(15 * 10**power, "EUR", locale=locale, fraction_digits=2)
        value = money.read_money(normalize(text, 1), locale).value
        assert (value.low, value.unit) == (15 * 10**power, "EUR"), text


@unhurried
@given(
    st.fractions(-(10**6), 10**6, max_denominator=500),
    st.sampled_from(sorted(money.CODES)),
    st.sampled_from([None, "en_US"]),
)
def test_canonical_texts_read_back(number, currency, locale):
    text = f"{currency} {decimal_text(number)}"
    reading = money.read_money(text, "en_US")
    assert reading.value is None or (reading.value.canonical, reading.value.low) == (text, number)
    if number.denominator in (1, 2, 4, 5, 10, 20):
        assert reading.value is not None


@settings(deadline=None, max_examples=400)
@given(st.one_of(fragments, st.text(max_size=30)), st.sampled_from([None, "en_US", "en_GB", "de_DE", "fr_FR", "ar_EG"]))
@example("1/3 cents", "en_US")
def test_any_text_reads_or_not_and_a_value_reads_back(text, locale):
    text = normalize(text, 1)
    reading = money.read_money(text, locale)
    for place in range(len(text)):
        money.spelling(locale).match(text, place)
    if reading is not None:
        assert bool(reading.reason) is (reading.value is None)
        for value in reading.values:
            assert len(value.canonical) <= LONGEST
            assert money.read_money(value.canonical, "en_US").value == value


@pytest.mark.parametrize("locale", [None, "en_US", "fr_FR"])
@pytest.mark.parametrize(
    "piece", ["9", "$", "$1,", "1,", "1 ", "111 ", "-", "(", "five ", "USD ", "$5 ", "$5-", "5 cents ", "€", " "]
)
def test_long_texts(piece, locale):
    text = piece * (10**6 // len(piece))
    money.spelling(locale).match(text)
    reading = money.read_money(text, locale)
    assert reading is None or reading.value is None


def test_amounts_are_exact():
    assert money.read_money("$0.10", "en_US").value.low == Fraction(Decimal("0.1"))
