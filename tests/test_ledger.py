import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from calibkit.ledger import (
    Accounting,
    Configuration,
    Declared,
    Ledger,
    Looked,
    Planned,
    Refusal,
    SetMade,
    group_hash,
    read_event,
)
from calibkit.pairs import AnswerPair

MADE = SetMade(name="desk", salt="s", development=0.25)
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RECALL = Configuration(scorer="token_recall", scorer_version=1, exact_rung=4, normalizer_version=1, precision=0.95)
ROUGE = RECALL.model_copy(update={"scorer": "rouge1"})


def labels(first, last):
    return [
        AnswerPair(f"a{n}", (f"r{n}",), "c", question=f"question {n}", labelled=True, acceptable=n % 3 > 0)
        for n in range(first, last)
    ]


def planned(looks=1, configurations=1):
    return Ledger([MADE, Planned(looks=looks, configurations=configurations)])


def look(ledger, configuration, pairs, delta=0.1):
    """Take a look; gives the ledger after it, the kinds of its new events, and what was granted."""
    events, granted = ledger.look(configuration, pairs, delta=delta, at=NOW)
    return Ledger([*ledger.events, *events]), [event.event for event in events], granted


# --- the formula ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("looks", "configurations", "fail_precision", "delta", "each"),
    [(1, 1, None, 0.1, 0.1), (1, 1, 0.9, 0.1, 0.05), (2, 3, None, 0.06, 0.01), (2, 3, 0.95, 0.12, 0.01)],
)
def test_the_risk_is_shared_by_looks_configurations_and_sides(looks, configurations, fail_precision, delta, each):
    configuration = RECALL.model_copy(update={"fail_precision": fail_precision})
    _, _, granted = look(planned(looks, configurations), configuration, labels(0, 9), delta)
    assert isinstance(granted, Accounting)
    assert (granted.planned_looks, granted.configurations) == (looks, configurations)
    assert granted.sides == (1 if fail_precision is None else 2)
    assert granted.delta_each == pytest.approx(each, rel=1e-12)


def test_without_a_plan_there_is_one_look_at_one_configuration():
    ledger = Ledger([MADE])
    assert not ledger.is_planned
    assert (ledger.plan.looks, ledger.plan.configurations) == (1, 1)
    assert planned().is_planned


# --- looks ------------------------------------------------------------------------------------------


def test_the_same_look_twice_is_free():
    ledger, kinds, first = look(planned(), RECALL, labels(0, 9))
    assert kinds == ["declare", "look"]
    ledger, kinds, again = look(ledger, RECALL, labels(0, 9)[::-1])  # in whatever order
    assert kinds == []
    assert again == first == Accounting(0.1, 1, 1, 1, 1)
    # With another confidence too: the certified sets are nested.
    _, kinds, stricter = look(ledger, RECALL, labels(0, 9), delta=0.01)
    assert (kinds, stricter.delta_each) == ([], 0.01)


@pytest.mark.parametrize(
    "other",
    [labels(0, 10), labels(0, 8), [*labels(0, 8), replace(labels(8, 9)[0], acceptable=None)], labels(20, 29)],
    ids=["one more", "one fewer", "another label", "other questions"],
)
def test_other_labels_need_a_planned_look(other):
    ledger, _, _ = look(planned(looks=1), RECALL, labels(0, 9))
    ledger, kinds, granted = look(ledger, RECALL, other)
    assert kinds == []
    assert isinstance(granted, Refusal)
    assert granted.reason == (
        "the 1 planned look of this configuration (token_recall, precision 0.95) is used, on other labels than these; "
        "only fresh labels certify now, under a new plan (--new-plan)"
    )
    ledger, _, _ = look(planned(looks=2), RECALL, labels(0, 9))
    ledger, kinds, granted = look(ledger, RECALL, other)
    assert kinds == ["look"]
    assert (granted.looks, granted.planned_looks, granted.delta_each) == (2, 2, 0.05)
    # The first look stays free, a third one is refused.
    assert look(ledger, RECALL, labels(0, 9))[1:] == ([], Accounting(0.1, 2, 2, 1, 1))
    assert "the 2 planned looks of this configuration" in look(ledger, RECALL, labels(0, 7))[2].reason


@pytest.mark.parametrize(
    "change",
    [
        {"scorer": "rouge1"},
        {"scorer_version": 2},
        {"model": "sha256:0"},
        {"exact_rung": None},
        {"exact_rung": 2},
        {"normalizer_version": 2},
        {"precision": 0.9},
        {"fail_precision": 0.9},
        {"filters": ("topic=x",)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_configuration_needs_a_planned_one(change):
    other = RECALL.model_copy(update=change)
    assert other.key != RECALL.key
    ledger, _, _ = look(planned(configurations=1), RECALL, labels(0, 9))
    _, kinds, granted = look(ledger, other, labels(0, 9))
    assert kinds == []
    assert isinstance(granted, Refusal)
    assert granted.reason.startswith(
        "the ledger plans 1 configuration and has declared it (token_recall, precision 0.95); this one ("
    )
    assert granted.reason.endswith("certifies only on fresh labels under a new plan (--new-plan)")
    ledger, _, _ = look(planned(configurations=2), RECALL, labels(0, 9))
    ledger, kinds, granted = look(ledger, other, labels(0, 9))
    assert kinds == ["declare", "look"]
    assert (granted.looks, granted.configurations) == (1, 2)
    assert (
        "plans 2 configurations and has declared them"
        in look(ledger, ROUGE.model_copy(update=change | {"precision": 0.8}), labels(0, 9))[2].reason
    )


def test_each_configuration_has_its_own_looks():
    ledger, _, _ = look(planned(looks=1, configurations=2), RECALL, labels(0, 9))
    ledger, kinds, granted = look(ledger, ROUGE, labels(0, 12))
    assert kinds == ["declare", "look"]
    assert granted.delta_each == 0.05
    assert isinstance(look(ledger, RECALL, labels(0, 12))[2], Refusal)


def test_nothing_is_seen_of_no_labels():
    ledger, kinds, granted = look(planned(), RECALL, [])
    assert kinds == ["declare"]
    assert isinstance(granted, Accounting)
    _, kinds, granted = look(ledger, RECALL, labels(0, 9))
    assert kinds == ["look"]
    assert granted.looks == 1


@pytest.mark.parametrize("looks", [1, 2])
@pytest.mark.parametrize("change", [{"references": ("r3", "another")}, {"candidate": "d"}, {"id": "b3"}])
def test_references_changed_after_a_look_certify_no_more(looks, change):
    # Accepted answers added to the references once the labels are known: whatever is certified then is false.
    changed = [replace(pair, **change) if pair.id == "a3" else pair for pair in labels(0, 9)]
    ledger, _, _ = look(planned(looks=looks, configurations=2), RECALL, labels(0, 9))
    _, kinds, granted = look(ledger, ROUGE, changed)
    assert kinds == []
    assert isinstance(granted, Refusal)
    assert granted.reason.startswith("1 question of an earlier look (first: ")
    assert "now has other references or another answer" in granted.reason
    assert isinstance(look(ledger, RECALL, changed)[2], Refusal)
    # Under a new plan its group is spent, whatever stands in it.
    fresh = Ledger([*ledger.events, Planned(looks=1, configurations=1)]).fresh([*changed, *labels(20, 22)])
    assert [pair.id for pair in fresh] == ["a20", "a21"]
    # Unchanged labels, and more of them, are what a second look is for.
    assert isinstance(look(ledger, ROUGE, labels(0, 12))[2], Accounting)


def test_a_ledger_from_before_answers_were_noted_is_read():
    old = {"event": "look", "labels": "sha256:0", "configuration": RECALL.key, "groups": [group_hash(labels(0, 1)[0])]}
    ledger = Ledger([MADE, Planned(looks=2, configurations=1), Declared(configuration=RECALL), read_event(old)])
    assert isinstance(look(ledger, RECALL, labels(0, 9))[2], Accounting)


# --- a new plan -------------------------------------------------------------------------------------


def test_a_new_plan_opens_only_fresh_questions():
    ledger, _, _ = look(planned(), RECALL, labels(0, 9))
    assert ledger.fresh(labels(0, 12)) == labels(0, 12)  # the present plan may look at its own labels again
    ledger = Ledger([*ledger.events, Planned(looks=1, configurations=1)])
    assert ledger.fresh(labels(0, 12)) == labels(9, 12)
    # Another answer to a question that was used is no fresh label.
    assert ledger.fresh([replace(labels(0, 1)[0], id="other", candidate="d")]) == []
    ledger, kinds, granted = look(ledger, ROUGE, labels(9, 12))
    assert kinds == ["declare", "look"]
    assert granted.looks == 1
    # Plans add up.
    ledger = Ledger([*ledger.events, Planned(looks=1, configurations=1)])
    assert ledger.fresh(labels(0, 14)) == labels(12, 14)


def test_a_plan_before_any_look_spends_nothing():
    ledger = Ledger(
        [MADE, Planned(looks=1, configurations=1), Declared(configuration=RECALL), Planned(looks=3, configurations=2)]
    )
    assert ledger.fresh(labels(0, 9)) == labels(0, 9)
    assert (ledger.plan.looks, ledger.declared) == (3, {})


# --- events -----------------------------------------------------------------------------------------

texts = st.text(max_size=8)
times = st.none() | st.datetimes(timezones=st.just(UTC)).map(lambda time: time.replace(microsecond=0))
shares = st.floats(0.01, 0.99)
configurations = st.builds(
    Configuration,
    scorer=texts,
    scorer_version=st.integers(1, 9),
    model=st.none() | texts,
    exact_rung=st.none() | st.integers(1, 3),
    normalizer_version=st.integers(1, 9),
    precision=shares,
    fail_precision=st.none() | shares,
    filters=st.lists(texts, max_size=2).map(tuple),
)
lists = st.lists(texts, max_size=3).map(tuple)
kinds = st.sampled_from(("collected", "constructed"))
events = st.one_of(
    st.builds(SetMade, name=texts, kind=kinds, salt=texts, development=shares, at=times),
    st.builds(Planned, looks=st.integers(1, 9), configurations=st.integers(1, 9), at=times),
    st.builds(Declared, configuration=configurations, at=times),
    st.builds(Looked, labels=texts, configuration=texts, groups=lists, answers=lists, at=times),
)


@given(events)
def test_events_survive_their_file(event):
    # As a ledger's file holds them: without what is None.
    back = read_event(json.loads(event.model_dump_json(exclude_none=True)))
    assert back == event
    if isinstance(event, Declared):
        assert back.configuration.key == event.configuration.key


@given(configurations, configurations)
def test_configurations_have_one_key_for_one_content(one, other):
    assert (one.key == other.key) is (one == other)


def test_a_ledger_read_back_grants_the_same():
    ledger, _, _ = look(planned(looks=2), RECALL, labels(0, 9))
    back = Ledger(read_event(json.loads(event.model_dump_json(exclude_none=True))) for event in ledger.events)
    assert back.events == ledger.events
    assert look(back, RECALL, labels(0, 9))[1:] == look(ledger, RECALL, labels(0, 9))[1:]
    assert look(back, RECALL, labels(0, 12))[1:] == look(ledger, RECALL, labels(0, 12))[1:]


@pytest.mark.parametrize(
    "record",
    [
        {"event": "glance"},
        {"event": "plan", "looks": 0, "configurations": 1},
        {"event": "plan", "looks": 1, "configurations": 1, "seed": 7},
        {"event": "set", "name": "desk", "salt": "s", "development": 1.0},
        {"event": "look", "labels": "sha256:0"},
        7,
    ],
)
def test_what_is_no_event(record):
    with pytest.raises(ValidationError):
        read_event(record)


def test_a_ledger_begins_with_its_set():
    with pytest.raises(ValueError, match="a ledger begins with the event 'set'"):
        Ledger([Planned(looks=1, configurations=1)])
