import math
import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from calibkit.agreement import Resolved
from calibkit.cascade import Verdict
from calibkit.ledger import Configuration, Ledger, Planned, SetMade
from calibkit.pairs import AnswerPair, InputError, PairSet, draw
from calibkit.review import (
    MOST_ADDED,
    Pool,
    Queue,
    ReferenceAdded,
    Region,
    add_reference,
    by_band,
    by_model,
    by_tag,
    certifying,
    certifying_prefix,
    expired,
    find_triggers,
    grow_references,
    grown_groups,
)

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
ACCEPTED = Resolved(True, "unanimous")


def pool_of(questions, answers=2, salt="s", **more):
    pairs = [
        AnswerPair(f"q{q}-{a}", (f"ref {q}",), f"answer {q} {a}", question=f"question {q}")
        for q in range(questions)
        for a in range(answers)
    ]
    return Pool(PairSet(pairs), salt, **more)


def after(queue, **more):
    return replace(queue, **more)


def found(pool, queues, labels, **more):
    return certifying(pool.pairs, queues, set(labels), salt=pool.salt, **more)


# --- random ------------------------------------------------------------------------------------------


def test_one_pair_a_question_and_it_is_the_one_that_would_speak():
    pool = pool_of(50, answers=3)
    queue = pool.random(50, at=NOW)
    everything = PairSet([replace(pair, labelled=True) for pair in pool.pairs])
    speakers = {everything[at].id for at in draw(everything, "s", 0).certifying}
    assert set(queue.ids) == speakers
    assert (queue.kind, queue.planned, queue.salt, queue.at) == ("random", 50, "s", NOW)


def test_the_order_follows_from_the_salt_alone():
    pool = pool_of(30)
    backwards = Pool(PairSet(pool.pairs.pairs[::-1]), "s")
    assert pool.random(9, at=NOW).ids == backwards.random(9, at=NOW + timedelta(days=1)).ids
    assert pool.random(9, at=NOW).ids == pool.random(20, at=NOW).ids[:9]
    assert pool.random(9, at=NOW).ids != Pool(pool.pairs, "t").random(9, at=NOW).ids


def test_the_first_of_the_queue_are_not_those_that_are_kept_for_exploring():
    pool = pool_of(400)
    queue = pool.random(100, at=NOW)
    labelled = PairSet([replace(pair, labelled=pair.id in queue.ids) for pair in pool.pairs])
    part = draw(labelled, pool.salt, 0.25)
    assert len(part.certifying) + len(part.development) == 100
    assert 12 <= len(part.development) <= 40


def test_questions_with_many_answers_do_not_come_first():
    pairs = [
        AnswerPair(f"{q}-{a}", ("r",), "c", question=f"question {q}")
        for q in range(400)
        for a in range(8 if q < 200 else 1)
    ]
    first = Pool(PairSet(pairs), "s").random(100, at=NOW).ids
    many = sum(int(name.split("-")[0]) < 200 for name in first)
    assert 35 <= many <= 65


def test_a_further_queue_goes_on_where_the_first_ends():
    pool = pool_of(20)
    first = pool.random(5, at=NOW)
    second = after(pool, earlier=(first,)).random(30, at=NOW)
    assert (*first.ids, *second.ids) == pool.random(20, at=NOW).ids
    assert (second.planned, len(second.ids)) == (30, 15)
    with pytest.raises(InputError, match=r"pairs: nothing is left to draw \(random\); finish the queues") as error:
        after(pool, earlier=(first, second)).random(1, at=NOW)
    assert "\n" not in str(error.value)
    assert first.uid != second.uid


@pytest.mark.parametrize("n", [0, -1])
def test_a_queue_of_nothing_is_refused(n):
    with pytest.raises(InputError, match=f"a queue needs at least 1 pair, not {n}"):
        pool_of(3).random(n, at=NOW)


def test_retired_groups_are_not_drawn():
    pool = pool_of(10)
    gone = {pool.pairs[0].group_key, pool.pairs[2].group_key}
    drawn = after(pool, retired=gone).random(99, at=NOW).ids
    assert len(drawn) == 8
    assert not {"q0", "q1"} & {name.split("-")[0] for name in drawn}


# --- the completed prefix ----------------------------------------------------------------------------


@given(st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)))
def test_the_prefix_ends_before_the_first_pair_without_a_label(labelled, skipped):
    queue = pool_of(12).random(12, at=NOW)
    labels = {queue.ids[at]: None for at in labelled}  # "cannot say" is a label
    skip = {queue.ids[at] for at in skipped}
    prefix = certifying_prefix(queue, labels, skip)
    missing = next((at for at in range(12) if at not in labelled | skipped), 12)
    assert prefix == tuple(name for name in queue.ids[:missing] if name not in skip)


@pytest.mark.parametrize("kind", ["stratified", "trigger", "uncertainty"])
def test_queues_that_find_faults_certify_nothing(kind):
    pool = pool_of(6)
    reasons = {pair.id: "error" for pair in pool.pairs}
    queue = {
        "stratified": lambda: pool.stratified(4, {"all": set(reasons)}, at=NOW),
        "trigger": lambda: pool.trigger(4, reasons, at=NOW),
        "uncertainty": lambda: pool.uncertainty(4, dict.fromkeys(reasons, 0.5), [0.4], at=NOW),
    }[kind]()
    assert (queue.kind, len(queue.ids)) == (kind, 4)
    assert certifying_prefix(queue, set(queue.ids)) == ()
    assert found(pool, [queue], queue.ids) == type(found(pool, [], []))(())


def test_each_random_queue_certifies_its_own_prefix():
    pool = pool_of(20)
    first = pool.random(5, at=NOW)
    second = after(pool, earlier=(first,)).random(5, at=NOW)
    labels = {*first.ids[:3], first.ids[4], *second.ids[:2]}
    assert found(pool, [first, second], labels).ids == (*first.ids[:3], *second.ids[:2])
    # Recorded on two machines, the same queue counts once.
    assert found(pool, [first, first.model_copy(update={"uid": "x"})], labels).ids == first.ids[:3]


def test_labels_of_a_person_s_own_choice_do_not_certify():
    pool = pool_of(8)
    queue = pool.random(2, at=NOW)
    labels = {pair.id for pair in pool.pairs}
    assert found(pool, [queue], labels).ids == queue.ids
    assert found(pool, [], labels).ids == ()


def test_a_queue_by_another_salt_is_not_heard():
    pool = pool_of(8)
    queue = Pool(pool.pairs, "shopped").random(3, at=NOW)
    result = found(pool, [queue], queue.ids)
    assert result.ids == ()
    assert result.notes == (
        "the random queue of 2026-03-04 05:06 certifies nothing: it was drawn by another salt than the set's",
    )


def test_a_pool_that_grew_is_drawn_again_and_labels_that_are_there_count():
    small, large = pool_of(10), pool_of(20)
    queue = small.random(10, at=NOW)
    result = found(large, [queue], queue.ids)
    assert result.ids == ()
    assert "pairs or groups of the set changed since; draw again, labels that are there count" in result.notes[0]
    again = after(large, earlier=(queue,)).random(20, at=NOW)
    assert len(again.ids) == 20  # the first queue's pairs are not passed over
    reach = found(large, [queue, again], queue.ids).ids
    assert reach == tuple(name for name in again.ids[: len(reach)])


@pytest.mark.parametrize(
    "edit",
    [
        lambda q: {"ids": q.ids[::-1], "answers": q.answers[::-1]},
        lambda q: {"ids": (*q.ids[:2], q.ids[2].replace("-0", "-x").replace("-1", "-0").replace("-x", "-1"))},
        lambda q: {"ids": (*q.ids[:2], "nobody")},
        lambda q: {"ids": (q.ids[0], *q.ids)},
        lambda q: {"answers": q.answers[:1]},
    ],
    ids=["other order", "another pair of the group", "no pair", "twice", "answers short"],
)
def test_an_edited_queue_is_not_heard(edit):
    pool = pool_of(8)
    queue = pool.random(3, at=NOW)
    broken = queue.model_copy(update=edit(queue))
    result = found(pool, [broken], {pair.id for pair in pool.pairs})
    assert result.ids == ()
    assert result.notes[0].endswith("its pairs do not stand in the set's order; restore draws.jsonl")


@pytest.mark.parametrize(
    "change",
    [{"references": ("ref", "an accepted answer")}, {"candidate": "another answer"}, {"references": ()}],
    ids=["references grew", "answer changed", "references gone"],
)
def test_a_question_that_changed_certifies_no_more(change):
    pool = pool_of(8)
    queue = pool.random(4, at=NOW)
    changed = PairSet([replace(p, **change) if p.id == queue.ids[1] else p for p in pool.pairs])
    result = certifying(changed, [queue], set(queue.ids), salt="s")
    assert result.ids == (queue.ids[0], *queue.ids[2:])
    assert result.retired == (queue.ids[1],)
    assert result.notes == (
        f"1 labelled question (first: {queue.ids[1]!r}) certifies no more: references or answer changed after it was "
        "drawn",
    )
    # A changed one that has no label is not waited for.
    result = certifying(changed, [queue], {queue.ids[0], *queue.ids[2:]}, salt="s")
    assert (result.ids, result.retired) == ((queue.ids[0], *queue.ids[2:]), ())


def test_questions_of_an_earlier_look_are_left_out_of_the_next_queue():
    pool = pool_of(10)
    queue = pool.random(4, at=NOW)
    at = {pair.id: pair for pair in pool.pairs}
    ledger = Ledger([SetMade(name="x", salt="s", development=0)])
    configuration = Configuration(scorer="a", scorer_version=1, normalizer_version=1, precision=0.9)
    seen = [replace(at[name], labelled=True, acceptable=True) for name in queue.ids]
    events, _ = ledger.look(configuration, seen, delta=0.1)
    ledger = Ledger([*ledger.events, *events, Planned(looks=1, configurations=1)])
    retired = {pair.group_key for pair in pool.pairs if not ledger.fresh([pair])}
    further = after(pool, earlier=(queue,), retired=retired).random(99, at=NOW)
    assert len(further.ids) == 6
    result = found(pool, [queue, further], {*queue.ids, *further.ids}, retired=retired)
    assert (result.ids, result.retired) == (further.ids, queue.ids)


# --- regions -----------------------------------------------------------------------------------------


def ranked(pool, seed=1):
    chance = random.Random(seed)
    return {pair.id: round(chance.random(), 3) for pair in pool.pairs}


@pytest.mark.parametrize(("side", "cut"), [("pass", 0.6), ("fail", 0.4)])
def test_a_region_queue_holds_the_speakers_that_rank_in_it(side, cut):
    pool = pool_of(60)
    place = ranked(pool) | {"q0-0": math.inf, "q0-1": math.inf, "q1-0": -math.inf, "q1-1": -math.inf}
    place |= {"q2-0": math.nan, "q2-1": math.nan}
    del place["q3-0"], place["q3-1"]
    region = Region(ranking="key", cut=cut, side=side)
    queue = pool.region(99, region, place, at=NOW)
    speakers = pool.random(60, at=NOW).ids
    inside = [n for n in speakers if region.holds(place.get(n, math.nan))]
    assert list(queue.ids) == inside
    assert 15 < len(inside) < 35
    groups = {name.split("-")[0] for name in queue.ids}
    assert ("q0" in groups, "q1" in groups) == (side == "pass", side == "fail")
    assert not {"q2", "q3"} & groups
    assert queue.region == region
    assert found(pool, [queue], queue.ids, region=region, place=place).ids == queue.ids
    assert found(pool, [queue], queue.ids).ids == ()  # of the whole pool it is no sample


def test_random_labels_in_the_region_count_and_are_not_drawn_again():
    pool = pool_of(60)
    place = ranked(pool)
    region = Region(ranking="key", cut=0.5)
    first = pool.random(20, at=NOW)
    second = after(pool, earlier=(first,)).region(10, region, place, at=NOW)
    assert not set(first.ids) & set(second.ids)
    labels = {*first.ids, *second.ids}
    result = found(pool, [first, second], labels, region=region, place=place)
    inside = tuple(name for name in first.ids if place[name] >= 0.5)
    assert result.ids == (*inside, *second.ids)
    # Together they are the first of the region in the pool's order.
    assert result.ids == pool.region(len(result.ids), region, place, at=NOW).ids


def test_a_random_queue_after_a_region_one_passes_over_nothing():
    # Or what is left would hold too few answers of the region.
    pool = pool_of(40)
    place = ranked(pool)
    region = pool.region(10, Region(ranking="key", cut=0.5), place, at=NOW)
    assert after(pool, earlier=(region,)).random(40, at=NOW).ids == pool.random(40, at=NOW).ids


def test_a_wider_region_serves_a_narrower_one_and_not_the_reverse():
    pool = pool_of(80)
    place = ranked(pool)
    wide, narrow = Region(ranking="key", cut=0.4), Region(ranking="key", cut=0.7)
    assert narrow.within(wide)
    assert not wide.within(narrow)
    of_wide = pool.region(12, wide, place, at=NOW)
    then_narrow = after(pool, earlier=(of_wide,)).region(6, narrow, place, at=NOW)
    labels = {*of_wide.ids, *then_narrow.ids}
    inside = tuple(name for name in of_wide.ids if place[name] >= 0.7)
    both = found(pool, [of_wide, then_narrow], labels, region=narrow, place=place).ids
    assert both == (*inside, *then_narrow.ids) == pool.region(len(both), narrow, place, at=NOW).ids
    # The narrow one is no sample of the wide region: nothing of it counts there, and its pairs are drawn again.
    of_narrow = pool.region(6, narrow, place, at=NOW)
    then_wide = after(pool, earlier=(of_narrow,)).region(30, wide, place, at=NOW)
    assert then_wide.ids == pool.region(30, wide, place, at=NOW).ids
    assert found(pool, [of_narrow], of_narrow.ids, region=wide, place=place).ids == ()


@pytest.mark.parametrize("other", [{"ranking": "other"}, {"side": "fail"}], ids=str)
def test_a_region_of_another_ranking_or_side_is_another_region(other):
    pool = pool_of(30)
    place = ranked(pool)
    region = Region(ranking="key", cut=0.5)
    queue = pool.region(9, region, place, at=NOW)
    elsewhere = region.model_copy(update=other)
    assert found(pool, [queue], queue.ids, region=elsewhere, place=place).ids == ()


@pytest.mark.parametrize("cut", [math.inf, -math.inf, math.nan])
def test_a_region_needs_a_finite_cut(cut):
    with pytest.raises((InputError, ValidationError)):
        pool_of(3).region(1, Region(ranking="key", cut=cut), {}, at=NOW)
    with pytest.raises(InputError, match="the region's cut must be a finite score"):
        pool_of(3).region(1, Region.model_construct(ranking="key", cut=cut, side="pass"), {}, at=NOW)


def test_an_empty_region_is_told():
    with pytest.raises(InputError, match=r"nothing is left to draw \(region\)"):
        pool_of(3).region(5, Region(ranking="key", cut=2.0), dict.fromkeys(["q0-0"], 1.0), at=NOW)


def test_the_prefix_of_a_region_is_a_fair_sample_of_it():
    # Whatever the salt, an answer of the region is as likely as another to come early.
    place = ranked(pool_of(40))
    region = Region(ranking="key", cut=0.5)
    early, inside = Counter(), Counter()
    for salt in range(150):
        pool = pool_of(40, salt=f"salt {salt}")
        whole = pool.region(99, region, place, at=NOW).ids
        inside.update(whole)
        early.update(whole[: len(whole) // 2])
    shares = [early[name] / inside[name] for name in inside if inside[name] >= 50]
    assert len(shares) > 20
    assert 0.3 < min(shares) < max(shares) < 0.7


# --- finding faults ----------------------------------------------------------------------------------


def test_strata_take_turns_and_a_question_comes_once_in_each():
    pairs = PairSet(
        [
            AnswerPair(f"{model}{q}-{a}", ("r",), "c", question=f"q{q}", meta={"model": model})
            for model, questions in (("m", 30), ("n", 2))
            for q in range(questions)
            for a in range(2)
        ]
    )
    queue = Pool(pairs, "s").stratified(6, by_model(pairs), at=NOW, by="model")
    assert [name[0] for name in queue.ids] == ["m", "n", "m", "n", "m", "m"]
    assert len({name.split("-")[0] for name in queue.ids}) == 6
    assert queue.parameters == {"by": "model", "strata": ["m", "n"]}
    # A pair that stands in both strata comes once.
    assert len(Pool(pairs, "s").stratified(99, {"x": {"m0-0"}, "y": {"m0-0", "m1-0"}}, at=NOW).ids) == 2


def test_labelled_pairs_are_not_asked_for_again():
    pool = pool_of(4, answers=1)
    pairs = PairSet([replace(pair, labelled=pair.id == "q1-0") for pair in pool.pairs])
    ids = {pair.id for pair in pairs}
    labelled = Pool(pairs, "s")
    assert set(labelled.stratified(9, {"all": ids}, at=NOW).ids) == ids - {"q1-0"}
    assert set(labelled.trigger(9, dict.fromkeys(ids, "error"), at=NOW).ids) == ids - {"q1-0"}
    assert set(labelled.uncertainty(9, dict.fromkeys(ids, 0.1), [0.5], at=NOW).ids) == ids - {"q1-0"}
    # A random queue asks for whom the order names; a label that is there counts.
    assert set(labelled.random(9, at=NOW).ids) == ids


def test_strata_by_tag_model_and_band():
    pairs = [
        AnswerPair("a", (), "x", tags=("date", "money"), meta={"model": "m"}),
        AnswerPair("b", (), "x", tags=("date",)),
        AnswerPair("c", (), "x"),
    ]
    assert by_tag(pairs) == {"date": {"a", "b"}, "money": {"a"}, "no tag": {"c"}}
    assert by_model(pairs) == {"m": {"a"}, "no model": {"b", "c"}}
    places = {"a": -math.inf, "b": 0.5, "c": math.inf, "d": 0.79, "e": math.nan}
    assert by_band(places, [0.8, 0.5]) == {"below 0.5": {"a"}, "0.5 to 0.8": {"b", "d"}, "0.8 or above": {"c"}}
    for edges in ([], [math.nan]):
        with pytest.raises(InputError, match="score bands need one edge or more"):
            by_band(places, edges)


def test_triggers_are_told_by_the_gravest():
    pairs = [
        AnswerPair("a", (), "x", meta={"complaint": True}),
        AnswerPair("b", (), "x", meta={"complaint": "no"}),
        AnswerPair("c", (), "x", meta={"complaint": "the sum is wrong"}),
        AnswerPair("d", (), "x", meta={"complaint": False}),
    ]
    verdicts = [
        Verdict("a", "review", None, 0.5, ""),
        Verdict("e", "error", None, None, ""),
        Verdict("f", "fail", "rule:number", None, ""),
        Verdict("g", "fail", "bands", 0.1, ""),
        Verdict("h", "review", None, 0.5, ""),
        Verdict("i", "pass", "bands", 0.9, ""),
        Verdict("j", "pass", "exact", None, ""),
    ]
    second = [
        Verdict("f", "pass", "judge", 1.0, ""),
        Verdict("g", "pass", "judge", 1.0, ""),
        Verdict("h", "pass", "judge", 1.0, ""),
        Verdict("i", "review", None, None, ""),
        Verdict("j", "pass", "judge", 1.0, ""),
        Verdict("k", "fail", "judge", 0.0, ""),
    ]
    assert find_triggers(pairs, verdicts, second) == {
        "a": "complaint",
        "c": "complaint",
        "e": "error",
        "f": "judge disagreement",
        "g": "judge disagreement",
        "h": "gray zone",
    }


def test_a_trigger_queue_begins_with_the_gravest():
    pool = pool_of(4, answers=1)
    reasons = {"q0-0": "gray zone", "q1-0": "complaint", "q2-0": "gray zone", "q3-0": "rule failure", "gone": "error"}
    queue = pool.trigger(3, reasons, at=NOW)
    assert queue.ids[:2] == ("q1-0", "q3-0")
    assert len(queue.ids) == 3
    assert queue.parameters == {"reasons": {"complaint": 1, "gray zone": 2, "rule failure": 1}}


def test_uncertainty_goes_by_the_distance_to_the_nearest_threshold():
    pool = pool_of(5)
    scores = {"q0-0": 0.9, "q0-1": 0.5, "q1-0": 0.79, "q1-1": 0.1, "q2-0": 0.31, "q3-0": math.nan, "q4-0": math.inf}
    queue = pool.uncertainty(9, scores, [0.3, 0.8], at=NOW)
    # 0.01 apart twice: by the order of the set; then q0 by its nearer answer.
    assert set(queue.ids[:2]) == {"q1-0", "q2-0"}
    assert queue.ids[2:] == ("q0-0",)
    for thresholds in ([], [math.nan]):
        with pytest.raises(InputError, match="uncertainty is the distance to a threshold; give one or more"):
            pool.uncertainty(9, scores, thresholds, at=NOW)


# --- a queue as an event -----------------------------------------------------------------------------


def test_a_queue_survives_its_line():
    pool = pool_of(12)
    place = ranked(pool)
    reasons = {pair.id: "error" for pair in pool.pairs}
    for queue in (
        pool.random(5, at=NOW),
        pool.region(3, Region(ranking="key", cut=0.25, side="fail"), place, at=NOW),
        pool.trigger(3, reasons, at=NOW),
    ):
        again = Queue.model_validate_json(queue.model_dump_json())
        assert again == queue
        assert pool.in_order(again) or not again.certifies


# --- references that grow ----------------------------------------------------------------------------


def support():
    return PairSet(
        [
            AnswerPair("a1", ("ref",), "fine", question="Who pays?"),
            AnswerPair("a2", ("ref",), "also fine", question="who  pays?"),
            AnswerPair("b1", ("other",), "elsewhere", question="When?"),
            AnswerPair("g1", ("x",), "y", question="One?", group="topic"),
            AnswerPair("g2", ("x",), "z", question="Two?", group="topic"),
            AnswerPair("n1", ("m",), "k"),
            AnswerPair("n2", ("m",), "l"),
        ]
    )


def added(pair_id, text, n=0, **more):
    return ReferenceAdded(uid=f"r{pair_id}{n}", seq=n, at=NOW, pair_id=pair_id, text=text, by="zoe", **more)


def test_an_accepted_answer_joins_the_references_of_its_question_alone():
    pairs = support()
    event = add_reference(pairs, (), {"a1": ACCEPTED}, "a1", by="zoe", at=NOW, expires=date(2027, 1, 1))
    assert (event.text, event.by, event.at, event.expires) == ("fine", "zoe", NOW, date(2027, 1, 1))
    grown = {pair.id: pair.references for pair in grow_references(pairs, [event])}
    assert grown["a1"] == grown["a2"] == ("ref", "fine")
    assert grown["b1"] == ("other",)
    one_group = {pair.id: pair.references for pair in grow_references(pairs, [added("g1", "new")])}
    assert (one_group["g1"], one_group["g2"]) == (("x", "new"), ("x",))
    by_references = {pair.id: pair.references for pair in grow_references(pairs, [added("n1", "new")])}
    assert by_references["n1"] == by_references["n2"] == ("m", "new")
    assert grow_references(pairs, [added("gone", "new")]) is pairs


@pytest.mark.parametrize(
    ("labels", "name", "message"),
    [
        ({}, "a1", "the answer 'a1' was not accepted by a person; label it first"),
        ({"a1": Resolved(None, "split")}, "a1", "the answer 'a1' was not accepted by a person; label it first"),
        ({"a1": Resolved(False, "unanimous")}, "a1", "the answer 'a1' was not accepted by a person; label it first"),
        ({}, "zz", "there is no pair 'zz'; name one of the set"),
    ],
)
def test_only_accepted_answers_of_the_set_become_references(labels, name, message):
    with pytest.raises(InputError, match=message) as error:
        add_reference(support(), (), labels, name, by="zoe", at=NOW)
    assert "\n" not in str(error.value)


def test_a_reference_is_added_once():
    with pytest.raises(InputError, match="the answer 'a1' is a reference of its question already"):
        add_reference(support(), [added("a2", "fine")], {"a1": ACCEPTED}, "a1", by="zoe", at=NOW)
    same = PairSet([AnswerPair("a", ("ref",), "ref", question="q")])
    with pytest.raises(InputError, match="is a reference of its question already"):
        add_reference(same, (), {"a": ACCEPTED}, "a", by="zoe", at=NOW)


def test_a_question_takes_in_so_many_and_no_more():
    many = [added("a2", f"text {n}", n) for n in range(MOST_ADDED)]
    with pytest.raises(InputError, match="20 references were added to the question of 'a1' already; undo one"):
        add_reference(support(), many, {"a1": ACCEPTED}, "a1", by="zoe", at=NOW)
    assert add_reference(support(), many, {"b1": ACCEPTED}, "b1", by="zoe", at=NOW).text == "elsewhere"
    # Two people who add at once cannot get round it.
    grown = grow_references(support(), [*many, added("a1", "one more", 99)])
    assert len(grown[0].references) == 1 + MOST_ADDED
    assert "one more" not in grown[0].references


def test_a_group_whose_references_grew_certifies_no_more():
    pairs = support()
    pool = Pool(pairs, "s")
    queue = pool.random(99, at=NOW)
    labels = set(queue.ids)
    retired = grown_groups(pairs, [added("a2", "new"), added("gone", "new")])
    assert retired == {pairs[0].group_key}
    result = certifying(pairs, [queue], labels, salt="s", retired=retired)
    assert {pair.group_key for pair in pairs if pair.id in result.ids} == {p.group_key for p in pairs} - retired
    assert len(result.retired) == 1


def test_references_that_held_until_yesterday_are_reported():
    events = [
        added("a1", "old", expires=date(2026, 3, 3)),
        added("a1", "today", 1, expires=date(2026, 3, 4)),
        added("b1", "always", 2),
    ]
    assert expired(events, date(2026, 3, 4)) == [
        "the reference 'old' of 'a1', added by zoe, held until 2026-03-03; undo it, or add it again with a later day"
    ]


@pytest.mark.parametrize("text", ["", "  "])
def test_a_blank_text_is_no_reference(text):
    with pytest.raises(ValidationError):
        added("a1", text)
