import hashlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibkit.pairs import (
    AnswerPair,
    InputError,
    PairSet,
    Remark,
    RowFault,
    UnknownLabel,
    counted,
    draw,
    fingerprint,
    read_label,
    read_pair,
)

unhurried = settings(deadline=None, max_examples=200)
RECORD = {"id": "q1-a", "question": "2 + 2?", "references": ["4", "four"], "candidate": "Four."}


def record(**changes):
    return {key: value for key, value in {**RECORD, **changes}.items() if value is not ...}


def labelled(id, group=None, acceptable=True, **fields):
    return AnswerPair(id, ("4",), "four", group=group, labelled=True, acceptable=acceptable, **fields)


# --- labels ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "acceptable"),
    [
        *[(value, True) for value in (True, 1, 1.0, "1", "1.0", "yes", "Yes", "YES", " yes ", "true", "True", "TRUE")],
        *[(value, False) for value in (False, 0, 0.0, "0", "0.0", "no", "No", "NO\n", "false", "False", "FALSE")],
        *[(value, None) for value in (None, "cannot say", "Cannot Say", "cannot_say", "cannot-say ")],
    ],
)
def test_label_words(value, acceptable):
    assert read_label(value) == (True, acceptable)


@pytest.mark.parametrize("value", ["", " ", "\t\n"])
def test_a_blank_label_cell_is_no_label(value):
    assert read_label(value) == (False, None)


@pytest.mark.parametrize("value", ["nan", "NaN", float("nan"), "NA", "n/a", "None", "none", "null", " NULL "])
def test_a_label_that_says_nothing_is_unusable_but_not_malformed(value):
    with pytest.raises(RowFault) as caught:
        read_label(value)
    assert not isinstance(caught.value, UnknownLabel)
    assert caught.value.malformed is False
    assert str(caught.value) == f"acceptable is the text {str(value)!r}"


@pytest.mark.parametrize("value", ["maybe", "2", 2, -1, 0.5, "yes!", "y", "correct", "truth", [], {"yes": 1}])
def test_a_label_word_that_no_list_knows_is_named(value):
    with pytest.raises(UnknownLabel) as caught:
        read_label(value)
    assert caught.value.malformed is True
    assert caught.value.value == str(value)
    assert str(caught.value) == f"acceptable {value!r} is no known label"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Good", (True, True)),
        (" bad ", (True, False)),
        ("unsure", (True, None)),
        (3, (True, True)),
        ("nan", (True, None)),
        ("yes", (True, False)),
        ("no", (True, False)),
        ("", (False, None)),
    ],
)
def test_own_label_words_go_before_the_known_ones(value, expected):
    words = {"good": "yes", "bad": "no", "unsure": "cannot say", "3": "yes", "nan": "cannot say", "yes": "no"}
    assert read_label(value, words) == expected


def test_own_label_words_leave_others_unknown():
    with pytest.raises(UnknownLabel, match="'fine' is no known label"):
        read_label("fine", {"good": "yes"})


@pytest.mark.parametrize(
    ("is_labelled", "acceptable", "cannot_say", "rejected", "accepted"),
    [
        (True, True, False, False, True),
        (True, False, False, True, False),
        (True, None, True, True, True),  # counts against the promise on either side
        (False, None, False, False, False),
    ],
)
def test_what_a_label_counts_as(is_labelled, acceptable, cannot_say, rejected, accepted):
    pair = AnswerPair("a", ("4",), "four", labelled=is_labelled, acceptable=acceptable)
    assert pair.cannot_say is cannot_say
    assert pair.counts_as_rejected is rejected
    assert pair.counts_as_accepted is accepted


# --- records -----------------------------------------------------------------------------------------


def test_a_full_record_becomes_a_pair():
    pair = read_pair(
        record(
            group="q1",
            acceptable="cannot say",
            tags=["negation"],
            fields={"amount": "4"},
            meta={"model": "m"},
            improper=False,
        )
    )
    assert pair == AnswerPair(
        id="q1-a",
        references=("4", "four"),
        candidate="Four.",
        question="2 + 2?",
        group="q1",
        labelled=True,
        acceptable=None,
        tags=("negation",),
    )
    assert (dict(pair.fields), dict(pair.meta), dict(pair.extra)) == (
        {"amount": "4"},
        {"model": "m"},
        {"improper": False},
    )


@pytest.mark.parametrize(
    ("changes", "name", "value"),
    [
        ({"references": "4"}, "references", ("4",)),
        ({"references": []}, "references", ()),
        ({"references": ["4", "5", "4"]}, "references", ("4", "5")),
        ({"references": (" 4 ",)}, "references", (" 4 ",)),
        ({"candidate": " two\nlines "}, "candidate", " two\nlines "),
        ({"candidate": "𝄞 河"}, "candidate", "𝄞 河"),
        ({"question": ...}, "question", ""),
        ({"question": None}, "question", ""),
        ({"id": 7}, "id", "7"),
        ({"id": 0}, "id", "0"),
        ({"group": 3}, "group", "3"),
        ({"group": None}, "group", None),
        ({"group": " "}, "group", None),
        ({"tags": None}, "tags", ()),
        ({"tags": ""}, "tags", ()),
        ({"tags": "negation, date,"}, "tags", ("negation", "date")),
        ({"fields": ""}, "fields", {}),
        ({"meta": None}, "meta", {}),
        ({}, "labelled", False),
        ({"acceptable": ""}, "labelled", False),
        ({"acceptable": None}, "labelled", True),
        ({"acceptable": "no"}, "acceptable", False),
    ],
)
def test_what_a_record_may_hold(changes, name, value):
    assert getattr(read_pair(record(**changes)), name) == value


@pytest.mark.parametrize(
    ("changes", "field", "reason", "malformed"),
    [
        ({"references": ...}, "references", "is missing", True),
        ({"candidate": ...}, "candidate", "is missing", True),
        ({"references": None}, "references", "is null", False),
        ({"candidate": None}, "candidate", "is null", False),
        ({"references": ["4", None]}, "references", "holds a null", False),
        ({"references": " "}, "references", "is blank", False),
        ({"candidate": ""}, "candidate", "is blank", False),
        ({"candidate": "\u00a0\n"}, "candidate", "is blank", False),
        ({"references": ["4", "\t"]}, "references", "holds a blank text", False),
        ({"references": [""]}, "references", "holds a blank text", False),
        ({"references": 4}, "references", "is int, not text", True),
        ({"references": {"text": "4"}}, "references", "is dict, not text", True),
        ({"references": ["4", 4]}, "references", "is int, not text", True),
        ({"candidate": 4.0}, "candidate", "is float, not text", True),
        ({"candidate": ["four"]}, "candidate", "is list, not text", True),
        ({"candidate": True}, "candidate", "is bool, not text", True),
        ({"question": 7}, "question", "is int, not text", True),
        ({"id": 1.5}, "id", "is float, not text", True),
        ({"id": True}, "id", "is bool, not text", True),
        ({"group": ["q1"]}, "group", "is list, not text", True),
        ({"tags": 5}, "tags", "is no list of texts", True),
        ({"tags": ["date", 5]}, "tags", "is no list of texts", True),
        ({"fields": "amount"}, "fields", "is str, not an object", True),
        ({"meta": ["model"]}, "meta", "is list, not an object", True),
        *[
            ({name: value}, name, "holds half of a surrogate pair, which is no character", True)
            for name, value in [
                ("candidate", "\ud83d!"),
                ("references", "\ude00"),
                ("references", ["4", "x\udfff"]),
                ("question", "\ud800?"),
                ("id", "a\udc00"),
                ("group", "\udbff"),
            ]
        ],
    ],
)
def test_the_fault_of_a_record_names_the_field_and_what_is_wrong(changes, field, reason, malformed):
    with pytest.raises(RowFault) as caught:
        read_pair(record(**changes))
    fault = caught.value
    assert (fault.field, fault.reason, fault.malformed) == (field, reason, malformed)
    assert str(fault) == f"{field} {reason}"


def test_a_label_of_no_use_may_be_left_unread():
    pair = read_pair(record(acceptable="nan"), with_label=False)
    assert (pair.labelled, pair.acceptable) == (False, None)
    with pytest.raises(RowFault, match="acceptable is the text 'nan'"):
        read_pair(record(acceptable="nan"))


@pytest.mark.parametrize("id", [..., None, "", "  "])
def test_a_pair_without_an_id_is_named_by_its_texts(id):
    name = read_pair(record(id=id)).id
    assert re.fullmatch("[0-9a-f]{16}", name)
    assert read_pair(record(id=id, group="other", acceptable="yes")).id == name
    for change in ({"question": "2 + 3?"}, {"references": ["4"]}, {"references": ["four", "4"]}, {"candidate": "4"}):
        assert read_pair(record(id=id, **change)).id != name


# --- groups ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "key"),
    [
        (AnswerPair("a", ("4",), "four", question="2 + 2?", group="g 1"), "group:g 1"),
        (AnswerPair("a", ("4",), "four", question="  ＷＨＡＴ  is\u00a02 + 2? "), "question:what is 2 + 2?"),
        (AnswerPair("a", ("Four", "4"), "four"), 'references:["4", "four"]'),
        (AnswerPair("a", ("Four", "4"), "four", question=" \n"), 'references:["4", "four"]'),
        (AnswerPair("a", ("4",), "four", question="\ufeff\u200b"), 'references:["4"]'),
        (AnswerPair("a", (), "four"), "references:[]"),
        (AnswerPair("a", ("4",), "four", question="2 + 2?", group=""), "group:"),
    ],
)
def test_the_group_is_the_group_else_the_question_else_the_references(pair, key):
    assert pair.group_key == key


def test_a_group_is_never_taken_for_a_question_of_the_same_text():
    one = AnswerPair("a", ("4",), "four", group="2 + 2?")
    other = AnswerPair("b", ("4",), "four", question="2 + 2?")
    assert one.group_key != other.group_key


# --- sets --------------------------------------------------------------------------------------------


def test_a_set_is_a_sequence_of_its_pairs_in_order():
    pairs = PairSet([labelled("b"), labelled("a")])
    assert (len(pairs), [pair.id for pair in pairs], pairs[1].id) == (2, ["b", "a"], "a")


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ("aba", "desk: the id 'a' names 2 pairs (1 such id); give each pair its own, or map the column to group"),
        ("abcbacb", "desk: the id 'a' names 2 pairs (3 such ids); give each pair its own, or map the column to group"),
    ],
)
def test_repeated_ids_are_refused(ids, message):
    with pytest.raises(InputError) as caught:
        PairSet([labelled(name) for name in ids], name="desk")
    assert str(caught.value) == message
    with pytest.raises(InputError, match=r"^pairs: the id 'a' names 2 pairs"):
        PairSet([labelled("a"), labelled("a")])


def test_the_summary_counts_pairs_questions_and_labels():
    pairs = PairSet(
        [
            labelled("a", "g"),
            labelled("b", "g"),
            labelled("c", "h", acceptable=False),
            labelled("d", "i", acceptable=None),
            AnswerPair("e", ("4",), "four", question="2 + 2?"),
        ]
    )
    assert pairs.summary() == ("5 pairs of 4 questions: 2 acceptable, 1 not acceptable, 1 cannot say, 1 without label")


def test_remarks_are_told_by_reason_with_their_number_and_first_place():
    remarks = [
        Remark("p.csv:2", "candidate is blank", outcome="left out"),
        Remark("p.csv:4", "acceptable is the text 'nan'", outcome="label not used"),
        Remark("p.csv:5", "candidate is blank", outcome="left out"),
    ]
    assert PairSet([], remarks=remarks).remark_lines() == [
        "left out: 2 rows where candidate is blank (first: p.csv:2)",
        "label not used: 1 row where acceptable is the text 'nan' (first: p.csv:4)",
    ]


@pytest.mark.parametrize(("number", "text"), [(0, "0 pairs"), (1, "1 pair"), (2, "2 pairs")])
def test_a_number_with_its_noun(number, text):
    assert counted(number, "pair") == text


# --- fingerprint -------------------------------------------------------------------------------------

some_pairs = st.lists(
    st.builds(
        AnswerPair,
        id=st.text(max_size=4),
        references=st.lists(st.text(max_size=4), max_size=3).map(tuple),
        candidate=st.text(max_size=4),
        question=st.text(max_size=4),
        group=st.none() | st.text(max_size=4),
        labelled=st.just(True),
        acceptable=st.sampled_from([True, False, None]),
    ),
    max_size=6,
)


@unhurried
@given(some_pairs, st.randoms(use_true_random=False), st.booleans())
def test_the_fingerprint_does_not_hang_on_any_order(pairs, random, labels):
    shuffled = [
        AnswerPair(
            pair.id,
            tuple(random.sample(pair.references, len(pair.references))),
            pair.candidate,
            pair.question,
            pair.group,
            pair.labelled,
            pair.acceptable,
        )
        for pair in random.sample(pairs, len(pairs))
    ]
    assert fingerprint(shuffled, labels=labels) == fingerprint(pairs, labels=labels)


@pytest.mark.parametrize(
    "change",
    [
        {"id": "b"},
        {"group": "2 + 2?"},
        {"question": "2 + 2"},
        {"references": ("4",)},
        {"references": ("4", "four", "IV")},
        {"references": ("4four",)},
        {"candidate": "Four"},
    ],
    ids=str,
)
def test_the_fingerprint_tells_of_a_change_in_each_field(change):
    fields = {"id": "a", "group": None, "question": "2 + 2?", "references": ("4", "four"), "candidate": "Four."}
    other = AnswerPair("z", ("5",), "five")
    before = fingerprint([AnswerPair(**fields), other])
    assert re.fullmatch("sha256:[0-9a-f]{64}", before)
    assert fingerprint([AnswerPair(**{**fields, **change}), other]) != before


def test_the_fingerprint_tells_of_a_missing_and_of_a_repeated_pair():
    one, other = labelled("a"), labelled("b")
    assert len({fingerprint(pairs) for pairs in ([], [one], [other], [one, other], [one, one])}) == 5


def test_the_fingerprint_holds_labels_on_request_alone():
    kinds = [
        labelled("a", acceptable=True),
        labelled("a", acceptable=False),
        labelled("a", acceptable=None),
        AnswerPair("a", ("4",), "four"),
    ]
    assert len({fingerprint([pair]) for pair in kinds}) == 1
    assert len({fingerprint([pair], labels=True) for pair in kinds}) == 4


# --- draw --------------------------------------------------------------------------------------------


def ids(pairs, positions):
    return [pairs[position].id for position in positions]


def first_64_bits(*parts):
    return int(hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16], 16)


def test_the_draw_follows_from_the_hashes_of_ids_and_groups():
    pairs = PairSet([labelled(f"{group}-{n}", f"g{group}") for group in range(40) for n in range(3)])
    found = draw(pairs, "salt", 0.3)
    chosen = sorted(
        (
            min((f"{group}-{n}" for n in range(3)), key=lambda name: first_64_bits("salt", "pair", name))
            for group in range(40)
        ),
        key=lambda name: first_64_bits("salt", "pair", name),
    )
    exploring = [
        name for name in chosen if first_64_bits("salt", "group", f"group:g{name.split('-')[0]}") < 0.3 * 2**64
    ]
    assert 0 < len(exploring) < 40
    assert ids(pairs, found.development) == exploring
    assert ids(pairs, found.certifying) == [name for name in chosen if name not in exploring]


group_sizes = st.lists(st.integers(1, 4), min_size=1, max_size=12)
salts = st.text(max_size=5)
shares = st.sampled_from([0.0, 0.25, 0.5, 0.9])


def grouped(sizes):
    return [labelled(f"{group}-{n}", f"g{group}") for group, size in enumerate(sizes) for n in range(size)]


@unhurried
@given(group_sizes, salts, shares)
def test_one_pair_is_drawn_for_each_group(sizes, salt, share):
    pairs = PairSet(grouped(sizes))
    found = draw(pairs, salt, share)
    groups = [pairs[position].group for position in (*found.certifying, *found.development)]
    assert sorted(groups) == sorted({pair.group for pair in pairs})


@unhurried
@given(group_sizes, salts, shares, st.randoms(use_true_random=False))
def test_the_draw_does_not_hang_on_the_order_of_lines(sizes, salt, share, random):
    pairs = PairSet(grouped(sizes))
    shuffled = PairSet(random.sample(pairs.pairs, len(pairs)))
    one, other = draw(pairs, salt, share), draw(shuffled, salt, share)
    assert ids(pairs, one.certifying) == ids(shuffled, other.certifying)
    assert ids(pairs, one.development) == ids(shuffled, other.development)


@unhurried
@given(group_sizes, salts, shares, st.data())
def test_no_label_has_a_say_in_the_draw(sizes, salt, share, data):
    pairs = grouped(sizes)
    labels = data.draw(
        st.lists(st.sampled_from([True, False, None]), min_size=len(pairs), max_size=len(pairs)), label="labels"
    )
    relabelled = [labelled(pair.id, pair.group, label) for pair, label in zip(pairs, labels, strict=True)]
    assert draw(PairSet(relabelled), salt, share) == draw(PairSet(pairs), salt, share)


@unhurried
@given(group_sizes, salts, shares)
def test_the_draw_of_a_group_does_not_hang_on_other_groups(sizes, salt, share):
    pairs = PairSet(grouped(sizes))
    together = draw(pairs, salt, share)
    for group in {pair.group for pair in pairs}:
        own = PairSet([pair for pair in pairs if pair.group == group])
        alone = draw(own, salt, share)
        for part in ("certifying", "development"):
            drawn = [pairs[position] for position in getattr(together, part)]
            assert ids(own, getattr(alone, part)) == [pair.id for pair in drawn if pair.group == group]


def test_pairs_without_a_label_are_not_drawn():
    pairs = PairSet([AnswerPair("a", ("4",), "four", group="g"), labelled("b", "g"), AnswerPair("c", ("4",), "four")])
    assert draw(pairs, "salt", 0) == draw(pairs, "pepper", 0)
    assert draw(pairs, "salt", 0).certifying == (1,)
    assert draw(PairSet([]), "salt", 0.5).certifying == ()


def test_pairs_that_cannot_say_are_drawn_like_others():
    assert draw(PairSet([labelled("a", acceptable=None)]), "salt", 0).certifying == (0,)


def test_questions_make_groups_where_none_is_named():
    pairs = [
        AnswerPair(name, ("4",), "four", question=question, labelled=True, acceptable=True)
        for name, question in [("a", "2 + 2?"), ("b", " 2  + 2?"), ("c", "1 + 3?")]
    ]
    assert len(draw(PairSet(pairs), "salt", 0).certifying) == 2


def test_another_salt_draws_other_pairs():
    pairs = PairSet(grouped([4] * 50))
    assert set(draw(pairs, "one", 0).certifying) != set(draw(pairs, "two", 0).certifying)
    assert draw(pairs, "one", 0) == draw(pairs, "one", 0)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_the_development_share_is_about_right_on_ten_thousand_groups(share):
    pairs = PairSet([labelled(str(n), f"group {n}") for n in range(10_000)])
    found = draw(pairs, "a salt", share)
    assert len(found.certifying) + len(found.development) == 10_000
    # Within four standard deviations of a binomial share.
    assert abs(len(found.development) / 10_000 - share) < 4 * (share * (1 - share) / 10_000) ** 0.5


def test_no_development_share_leaves_all_groups_to_certify():
    pairs = PairSet(grouped([2] * 100))
    found = draw(pairs, "salt", 0)
    assert (len(found.certifying), found.development) == (100, ())


@pytest.mark.parametrize("share", [1, 1.5, -0.1, float("nan")])
def test_a_development_share_outside_its_range_is_refused(share):
    with pytest.raises(InputError, match=rf"development must be at least 0 and below 1, not {share}"):
        draw(PairSet([labelled("a")]), "salt", share)
