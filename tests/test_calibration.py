import json
from datetime import UTC, datetime

import numpy as np
import pytest

from calibkit import (
    Columns,
    HandSet,
    InputError,
    PairSet,
    calibrate,
    load_cascade,
    load_pairs,
    load_policy,
    score_pairs,
)
from calibkit.calibration import Calibration
from calibkit.pairs import draw, read_pair
from calibkit.policy import FieldsStage, RulesStage
from calibkit.store import ledger_path, load_ledger
from calibkit.testing import HashEmbedder

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def memory(records):
    return PairSet(tuple(read_pair(record) for record in records), "desk")


@pytest.fixture
def certified(write_pairs, clear_cut) -> Calibration:
    return calibrate(load_pairs(write_pairs(clear_cut)), precision=0.9, development=0, drawn="random", now=NOW)


def test_clear_cut_answers_are_certified(certified):
    evidence = certified.policy.evidence
    assert certified.policy.certified is True
    # All 80 acceptable answers hold all the reference's words; the rest none.
    assert (evidence.pass_.above, evidence.pass_.rejects, evidence.pass_.by_stage) == (80, 0, {"bands": (80, 0)})
    assert evidence.pass_.intervals == [(0.0, 1.0)]
    assert certified.policy.bands_stage.pass_at_or_above == 0.5
    assert certified.policy.bands_stage.fail_below is None
    assert (evidence.labels.certifying, evidence.labels.acceptable, evidence.labels.development) == (100, 80, 0)
    assert (evidence.curve.precision, evidence.curve.recall, evidence.curve.review_share) == (1.0, 1.0, 0.2)
    assert (evidence.accounting.delta, evidence.accounting.sides) == (0.1, 1)
    assert evidence.sentence == (
        "With 90 % confidence fewer than 10 % of the answers that this policy passes by itself would be rejected by a "
        "person, for a random answer to a random question of pairs; this holds for every certified threshold at once."
    )


def test_an_unstated_draw_is_a_condition_of_the_promise(clear_cut):
    found = calibrate(memory(clear_cut), precision=0.9, development=0)
    assert found.policy.evidence.sentence.startswith(
        "Provided that the labelled answers are a random sample of desk, with 90 % confidence"
    )
    assert found.policy.evidence.labels.drawn == "assumed"


def test_a_constructed_set_is_named_as_one(clear_cut):
    found = calibrate(memory(clear_cut), precision=0.9, development=0, kind="constructed", drawn="random")
    assert "question of desk (a set written for the purpose, no traffic);" in found.policy.evidence.sentence


def test_the_policy_grades_as_it_was_calibrated(certified, tmp_path, clear_cut):
    certified.save(tmp_path / "out" / "policy.yaml")
    policy = load_policy(tmp_path / "out" / "policy.yaml")
    assert policy == certified.policy
    verdicts = load_cascade(tmp_path / "out" / "policy.yaml").grade_all(memory(clear_cut))
    assert [v.outcome for v in verdicts] == ["pass" if n % 5 else "review" for n in range(100)]


def test_exact_answers_stand_before_the_score(write_pairs, clear_cut):
    for record in clear_cut[:10]:
        record["candidate"] = record["references"][0]
    found = calibrate(load_pairs(write_pairs(clear_cut)), precision=0.9, development=0)
    # Of the first ten two are labelled not acceptable (0 and 5): two rejects among the exact ones.
    assert found.policy.evidence.pass_.by_stage["exact"] == (10, 2)
    assert np.isinf(found.ranking.place).sum() == 10
    alone = calibrate(memory(clear_cut), precision=0.9, development=0, exact_rung=None)
    assert [stage.stage for stage in alone.policy.stages] == ["rules", "bands"]
    assert np.isfinite(alone.ranking.place).all()


def test_the_development_part_is_by_question_and_certifies_nothing(write_pairs, clear_cut):
    found = calibrate(load_pairs(write_pairs(clear_cut)), precision=0.9, development=0.4)
    labels = found.policy.evidence.labels
    assert labels.certifying + labels.development == 100
    assert 25 <= labels.development <= 55
    assert len(found.ranking.place) == labels.certifying


def test_several_answers_to_a_question_count_once(write_pairs, clear_cut):
    for n, record in enumerate(clear_cut):
        record["question"] = f"question {n // 5}"
    found = calibrate(load_pairs(write_pairs(clear_cut)), development=0)
    assert found.policy.evidence.labels.certifying == 20
    assert found.policy.evidence.pool.groups == 20


def test_cannot_say_counts_against_on_both_sides(write_pairs, clear_cut):
    for record in (clear_cut[0], clear_cut[1]):
        record["acceptable"] = None
    found = calibrate(load_pairs(write_pairs(clear_cut)), precision=0.9, fail_precision=0.5, development=0)
    evidence = found.policy.evidence
    assert (evidence.pass_.above, evidence.pass_.rejects) == (80, 1)  # pair 1 scores 1 and cannot be judged
    assert (evidence.fail.below, evidence.fail.accepts) == (20, 1)  # pair 0 scores 0
    assert evidence.labels.cannot_say == 2
    assert evidence.accounting.sides == 2


# --- accounting ---


def test_the_same_again_is_the_same_look(write_pairs, clear_cut):
    path = write_pairs(clear_cut)
    first = calibrate(load_pairs(path), precision=0.9, now=NOW)
    events = ledger_path(first.pairs).read_text()
    assert [json.loads(line)["event"] for line in events.splitlines()] == ["set", "plan", "declare", "look"]
    again = calibrate(load_pairs(path), precision=0.9, now=NOW)
    assert again.policy == first.policy
    assert ledger_path(first.pairs).read_text() == events


def test_reordering_the_file_is_no_new_look(write_pairs, clear_cut):
    first = calibrate(load_pairs(write_pairs(clear_cut)), precision=0.9, now=NOW)
    again = calibrate(load_pairs(write_pairs(clear_cut[::-1])), precision=0.9, now=NOW)
    assert again.policy == first.policy


def test_another_configuration_needs_a_plan(write_pairs, clear_cut):
    path = write_pairs(clear_cut)
    calibrate(load_pairs(path), precision=0.9)
    second = calibrate(load_pairs(path), precision=0.9, scorer="rouge1")
    evidence = second.policy.evidence
    assert second.policy.certified is False
    assert second.pass_certificate is None
    assert (
        "the ledger plans 1 configuration and has declared it (token_recall, precision 0.9, rules: 10)"
        in evidence.pass_.reason
    )
    assert (evidence.pass_.above, evidence.labels.acceptable, evidence.curve) == (None, None, None)
    assert len(second.ranking.place) == evidence.labels.development
    assert second.policy.bands_stage.pass_at_or_above is None


def test_planned_configurations_share_the_risk(write_pairs, clear_cut):
    path = write_pairs(clear_cut)
    one = calibrate(load_pairs(path), precision=0.9, configurations=2, looks=2, development=0)
    two = calibrate(load_pairs(path), precision=0.9, scorer="rouge1")
    for found in (one, two):
        assert found.pass_certificate.delta == pytest.approx(0.1 / 4)
    with pytest.raises(InputError, match=r"the plan was 2 look\(s\) and 2 configuration\(s\).*--new-plan"):
        calibrate(load_pairs(path), precision=0.9, configurations=3)


def test_relabelling_is_another_look(write_pairs, clear_cut):
    calibrate(load_pairs(write_pairs(clear_cut)), precision=0.9, development=0)
    clear_cut[0]["acceptable"] = True
    found = calibrate(load_pairs(write_pairs(clear_cut)), precision=0.9)
    assert found.policy.certified is False
    assert "the 1 planned look of this configuration (token_recall, precision 0.9, rules: 10) is used" in (
        found.policy.evidence.pass_.reason
    )


def test_a_new_plan_certifies_on_fresh_questions_only(write_pairs, clear_cut):
    calibrate(load_pairs(write_pairs(clear_cut)), precision=0.9, development=0)
    fresh = [{**record, "id": f"b{n}", "question": f"new {n}"} for n, record in enumerate(clear_cut)]
    found = calibrate(load_pairs(write_pairs(clear_cut + fresh)), precision=0.9, scorer="rouge1", new_plan=True)
    assert found.policy.evidence.labels.certifying == 100
    assert {found.pairs[at].id[0] for at in range(100, 200)} == {"b"}
    assert found.policy.certified is True
    ledger = load_ledger(ledger_path(found.pairs))
    assert len(ledger.looks) == 1
    assert len(ledger.spent) == 200  # groups and texts


def test_a_deleted_ledger_or_a_renamed_copy_draws_the_same_pairs(write_pairs, clear_cut):
    for n, record in enumerate(clear_cut):
        record["question"] = f"question {n // 2}"
    first = load_pairs(write_pairs(clear_cut))
    calibrate(first)
    salt = load_ledger(ledger_path(first)).set.salt
    ledger_path(first).unlink()
    copy = load_pairs(write_pairs(clear_cut, "copy.jsonl"))
    calibrate(copy)
    assert load_ledger(ledger_path(copy)).set.salt == salt
    assert draw(copy, salt, 0.25) == draw(first, salt, 0.25)


def test_what_was_fixed_with_the_set_stays_fixed(write_pairs, clear_cut):
    path = write_pairs(clear_cut)
    calibrate(load_pairs(path))
    for argument, message in (
        ({"development": 0}, "development was fixed at 0.25"),
        ({"kind": "constructed"}, "kind was fixed at collected"),
    ):
        with pytest.raises(InputError, match=message):
            calibrate(load_pairs(path), **argument)


def test_a_ledger_that_cannot_be_written_certifies_nothing(write_pairs, clear_cut, tmp_path):
    with pytest.raises(InputError, match="the ledger cannot be written"):
        calibrate(load_pairs(write_pairs(clear_cut)), ledger=tmp_path / "no" / "such" / "folder.jsonl")


def test_exploring_spends_nothing(write_pairs, clear_cut):
    path = write_pairs(clear_cut)
    found = calibrate(load_pairs(path), precision=0.9, explore=True)
    # The parts are fixed before anything is shown; nothing is declared and no look is taken.
    assert [json.loads(line)["event"] for line in ledger_path(found.pairs).read_text().splitlines()] == ["set"]
    assert found.policy.certified is False
    assert found.policy.evidence.pass_.reason == "explored on the development part, not declared"
    assert len(found.ranking.place) == found.policy.evidence.labels.development > 0
    later = calibrate(load_pairs(path), precision=0.9)
    assert later.policy.certified is True
    # What was explored certifies nothing: the two parts are those of the ledger.
    assert not set(later.ranked) & set(found.ranked)


def test_what_was_explored_stays_out_of_the_certifying_part(write_pairs, clear_cut):
    path = write_pairs(clear_cut)
    calibrate(load_pairs(path), precision=0.9, explore=True, development=0.9)
    with pytest.raises(InputError, match=r"development was fixed at 0.9 when the set was made, and 0 is asked for"):
        calibrate(load_pairs(path), precision=0.9, development=0)


def test_another_grouping_is_refused(write_pairs, clear_cut):
    for n, record in enumerate(clear_cut):
        record["topic"] = f"t{n % 50}"
    path = write_pairs(clear_cut)
    calibrate(load_pairs(path), precision=0.9)
    regrouped = load_pairs(path, Columns(map={"group": "topic"}))
    with pytest.raises(InputError, match="grouped by question when the set was made, and by column topic now"):
        calibrate(regrouped, precision=0.9, new_plan=True)


def test_another_name_or_group_makes_no_label_fresh(write_pairs, clear_cut):
    calibrate(load_pairs(write_pairs(clear_cut)), precision=0.9, development=0)
    renamed = [{**record, "id": f"b{n}", "question": record["question"]} for n, record in enumerate(clear_cut)]
    path = write_pairs(renamed)
    before = ledger_path(load_pairs(path)).read_text()
    with pytest.raises(InputError, match="no label is fresh: all 100 certifying questions stood in an earlier look"):
        calibrate(load_pairs(path), precision=0.9, new_plan=True)
    assert ledger_path(load_pairs(path)).read_text() == before


def test_another_run_meanwhile_makes_the_run_start_again(write_pairs, clear_cut):
    path = write_pairs(clear_cut)

    class Meanwhile:
        name, version = "meanwhile", 1

        def score(self, pairs):
            if not ledger_path(load_pairs(path)).exists():
                calibrate(load_pairs(path), precision=0.9)
            return score_pairs(pairs, "token_recall")

    with pytest.raises(InputError, match="another run has written to the ledger meanwhile; run this again"):
        calibrate(load_pairs(path), scorer=Meanwhile(), precision=0.9)


def test_a_refused_call_spends_nothing(write_pairs, clear_cut):
    path = write_pairs(clear_cut)
    for bad in ({"precision": 1 - 1e-14}, {"hand_set": HandSet(float("nan"))}, {"hand_set": HandSet(float("inf"))}):
        with pytest.raises(InputError):
            calibrate(load_pairs(path), **bad)
    assert not ledger_path(load_pairs(path)).exists()


def test_a_scorer_may_not_take_the_name_of_a_built_in_one(clear_cut):
    class Fake:
        name, version = "token_recall", 1

        def score(self, pairs):
            return score_pairs(pairs, "token_recall")

    with pytest.raises(InputError, match="the name 'token_recall' belongs to a built-in scorer"):
        calibrate(memory(clear_cut), scorer=Fake())


def test_a_certificate_without_a_ledger_says_so(clear_cut):
    assert "no ledger is kept for pairs made in Python" in calibrate(memory(clear_cut)).notes[-1]


# --- thresholds set by hand ---


def test_a_threshold_set_by_hand_is_certified_where_it_lies_in_the_certified_set(write_pairs, clear_cut):
    path = write_pairs(clear_cut)
    inside = calibrate(load_pairs(path), precision=0.9, development=0, hand_set=HandSet(0.75, set_by="kim"))
    assert inside.policy.certified is True
    assert inside.policy.bands_stage.pass_at_or_above == 0.75
    assert inside.policy.evidence.pass_.set_by == "kim"
    outside = calibrate(load_pairs(path), precision=0.9, hand_set=HandSet(0.0, 0.0, "kim", "everybody does"))
    evidence = outside.policy.evidence
    assert outside.policy.certified is False
    assert (evidence.pass_.certified, evidence.pass_.because) == (False, "everybody does")
    assert evidence.pass_.reason == "0 was set by hand and lies outside the certified set (see intervals)"
    assert (evidence.pass_.above, evidence.pass_.rejects) == (100, 20)
    assert evidence.fail.certified is False
    assert evidence.fail.reason == "set by hand; a certificate for this side was not asked for"


def test_the_certified_side_makes_room_for_a_threshold_set_by_hand(clear_cut):
    # Unacceptable answers score 0, acceptable ones 1: both sides are certified at every cut between.
    alone = calibrate(memory(clear_cut), precision=0.9, fail_precision=0.5, development=0)
    assert (alone.policy.bands_stage.pass_at_or_above, alone.policy.bands_stage.fail_below) == (0.5, 0.5)
    by_hand = calibrate(
        memory(clear_cut), precision=0.9, fail_precision=0.5, development=0, hand_set=HandSet(pass_at=0.0)
    )
    assert by_hand.policy.bands_stage.pass_at_or_above == 0.0
    assert by_hand.policy.bands_stage.fail_below is None
    assert (by_hand.policy.evidence.pass_.certified, by_hand.policy.evidence.fail.certified) == (False, False)


def test_crossed_thresholds_are_refused(clear_cut):
    with pytest.raises(InputError, match=r"pass_at_or_above 0.2 is below fail_below 0.4"):
        calibrate(memory(clear_cut), hand_set=HandSet(0.2, 0.4))


# --- hard sets ---


@pytest.mark.parametrize("label", [True, False])
def test_one_class_only(clear_cut, label):
    for record in clear_cut:
        record["acceptable"] = label
    found = calibrate(memory(clear_cut), precision=0.9, development=0)
    word = "acceptable" if label else "not acceptable"
    assert f"all 100 labelled answers are {word}: a curve needs both kinds" in found.notes
    assert found.policy.certified is label
    if label:  # everything passes, and rightly so: below the lowest score too
        assert found.policy.evidence.pass_.intervals == [(None, 1.0)]
        assert found.policy.bands_stage.pass_at_or_above < 0


def test_all_scores_equal(clear_cut):
    for record in clear_cut:
        record["candidate"] = "no such words"
    found = calibrate(memory(clear_cut), development=0)
    assert found.policy.certified is False
    assert "all scores are equal (0): no threshold can tell answers apart" in found.notes
    assert found.policy.evidence.pass_.intervals == []


def test_one_pair(clear_cut):
    found = calibrate(memory(clear_cut[:1]), development=0)
    assert found.policy.evidence.sentence == (
        "Nothing is certified for desk: 1 label can tell too little: without any wrong answer among them at least 45 are due; "
        "about 86 random labels in all may do."
    )


def test_no_label_at_all(clear_cut):
    for record in clear_cut:
        del record["acceptable"]
    with pytest.raises(InputError, match="none of the 100 pairs has a label.*--map acceptable=COLUMN"):
        calibrate(memory(clear_cut))


@pytest.mark.parametrize("share", [0, 1, -0.5, 95])
@pytest.mark.parametrize("name", ["precision", "fail_precision", "confidence"])
def test_shares_lie_between_0_and_1(clear_cut, name, share):
    with pytest.raises(InputError, match=f"{name} must lie between 0 and 1"):
        calibrate(memory(clear_cut), **{name: share})


def test_unscored_pairs_stand_in_no_ranking_and_are_told(clear_cut):
    for record in clear_cut[:7]:
        record["references"] = []
    found = calibrate(memory(clear_cut), precision=0.9, development=0, rules=())
    assert len(found.ranking.place) == 93
    assert found.pass_certificate.n == 93
    assert found.policy.evidence.pool.unscored == 7
    assert "7 of 100 pairs are unscored (no references); they go to review" in found.notes


def test_an_answer_to_a_question_without_one_is_decided_by_a_rule(clear_cut):
    for record in clear_cut[:7]:
        record["references"] = []
    found = calibrate(memory(clear_cut), precision=0.9, development=0)
    assert len(found.ranking.place) == 100
    assert found.ranking.stage.count("rule:abstention") == 7
    assert np.isneginf(found.ranking.place).sum() == 7
    told = "7 of 100 pairs are unscored (no references); what no rule decides of them goes to review"
    assert told in found.notes
    # That rules fail answers is told, and is not promised.
    assert found.policy.evidence.fail.by_stage == {"rule:abstention": (7, 5)}
    assert "What it fails is not certified: not asked for" in found.policy.evidence.sentence


def test_an_embedding_policy_names_its_model(clear_cut, tmp_path):
    found = calibrate(memory(clear_cut), scorer="cosine", precision=0.9, development=0, embedder=HashEmbedder())
    stage = found.policy.bands_stage
    assert (stage.scorer.text, stage.model.fingerprint) == ("answer", "hash-embedder:256")


def test_filters_are_part_of_the_claim(write_pairs, clear_cut):
    for n, record in enumerate(clear_cut):
        record["improper"] = n < 3
    found = calibrate(
        load_pairs(write_pairs(clear_cut), Columns(leave_out=[("improper", "true")])), precision=0.9, development=0
    )
    assert found.policy.evidence.pool.left_out == ["improper=true"]
    assert found.policy.evidence.labels.certifying == 97
    assert "pairs without the rows where improper=true" in found.policy.evidence.sentence


def test_what_checks_read_is_part_of_the_answer(write_pairs, clear_cut):
    rules = RulesStage(stage="rules", rules=[], checks={"max_latency": 5})
    for record in clear_cut:
        record["meta"] = {"latency": 1}
    path = write_pairs(clear_cut)
    assert calibrate(load_pairs(path), rules=rules, precision=0.9).policy.evidence.accounting is not None
    for record in clear_cut:
        record["meta"] = {"latency": 1 if record["acceptable"] else 9}
    again = calibrate(load_pairs(write_pairs(clear_cut)), rules=rules, precision=0.9)
    assert again.policy.evidence.accounting is None  # other answers: another look, and none is planned


def test_a_bad_check_costs_no_look(write_pairs, clear_cut):
    clear_cut[3]["checks"] = {"max_lenght": 5}
    path = write_pairs(clear_cut)
    with pytest.raises(InputError, match="there is no check 'max_lenght'"):
        calibrate(load_pairs(path), precision=0.9, development=0)
    del clear_cut[3]["checks"]
    assert calibrate(load_pairs(write_pairs(clear_cut)), precision=0.9, development=0).policy.evidence.accounting


def test_structured_answers_are_ranked_by_their_fields(clear_cut):
    for n, record in enumerate(clear_cut):
        record["references"] = [f'{{"total": {n}, "day": "2026-03-12"}}']
        record["candidate"] = f'{{"day": "12 March 2026", "total": {n if record["acceptable"] else n + 1}}}'
    fields = FieldsStage(stage="fields", fields={"/total": "number", "/day": "date"})
    found = calibrate(memory(clear_cut), precision=0.9, development=0, fields=fields, locale="en_US")
    assert [stage.stage for stage in found.policy.stages] == ["exact", "fields", "rules", "bands"]
    assert found.policy.evidence.pass_.by_stage == {"fields": (80, 0)}
    assert found.policy.evidence.fail.by_stage == {"field:/total": (20, 0)}
    assert found.policy.certified
