import json
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibkit.policy
from calibkit.pairs import InputError
from calibkit.policy import Policy, fingerprint_stages

BY_HAND = """\
schema: calibkit/policy/1
name: by-hand
stages:
  - {stage: exact, rung: 3}
  - stage: bands
    scorer: {name: rouge1, version: 1}
    pass_at_or_above: 0.8
    fail_below: null
"""

FULL = """\
schema: calibkit/policy/1
name: support-desk
created: 2026-11-29T12:00:00Z
tool: calibkit 0.1.0
locale: en_US
stages:
  - {stage: exact, rung: 3, version: 1}
  - {stage: rules, rules: [number, date, identifier, negation], version: 1}
  - stage: bands
    scorer: {name: cosine, version: 1, text: answer}
    model:
      name: sentence-transformers/all-MiniLM-L6-v2
      revision: c9745ed1
      fingerprint: sha256:00
      dtype: float32
      max_tokens: 256
    pass_at_or_above: 0.831
    fail_below: null
  - {stage: judge, pass_at_or_above: 0.8, votes: 3}
evidence:
  stages: STAGES
  pool: {name: support-desk, kind: collected, fingerprint: "sha256:1", groups: 2100, unscored: 0, histogram: {edges: [0, 0.5, 1], counts: [3, 4]}}
  labels: {fingerprint: "sha256:2", drawn: random, certifying: 200, development: 66, acceptable: 131, cannot_say: 2}
  accounting: {delta: 0.1, looks: 1, planned_looks: 1, configurations: 1, sides: 1}
  pass: {certified: true, target: 0.95, confidence: 0.9, above: 118, rejects: 1, by_stage: {exact: [31, 0], bands: [87, 1]}, intervals: [[0.8297, 0.8312475], [0.84, null]]}
  fail: {certified: false, reason: "too few", labels_needed: 180}
  curve: {precision: 0.99, recall: 0.9, review_share: 0.41}
  sentence: "With 90 % confidence."
"""

FULL = FULL.replace("STAGES", fingerprint_stages(Policy.from_yaml(FULL.partition("evidence:")[0]).stages, "en_US"))


def refusal(text):
    with pytest.raises(InputError) as caught:
        Policy.from_yaml(text, "policy.yaml")
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("policy.yaml: ")
    return message.removeprefix("policy.yaml: ")


def test_a_policy_written_by_hand_is_uncertified():
    policy = Policy.from_yaml(BY_HAND)
    assert policy.certified is False
    assert policy.standing == "The policy 'by-hand' is uncertified: it carries no evidence."
    assert policy.bands_stage.pass_at_or_above == 0.8
    assert policy.bands_stage.fail_below is None


def test_a_full_policy_is_read_and_written_back():
    policy = Policy.from_yaml(FULL)
    assert policy.certified is True
    assert policy.created == datetime(2026, 11, 29, 12, tzinfo=UTC)
    assert policy.evidence.pass_.by_stage == {"exact": (31, 0), "bands": (87, 1)}
    assert policy.evidence.pass_.intervals == [(0.8297, 0.8312475), (0.84, None)]
    written = policy.to_yaml()
    assert Policy.from_yaml(written) == policy
    assert "created: 2026-11-29T12:00:00Z\n" in written
    assert "    pass_at_or_above: 0.831\n    fail_below: null\n" in written
    assert "  pass:\n    certified: true\n" in written


def test_a_fail_side_that_is_not_certified_makes_the_policy_uncertified():
    assert Policy.from_yaml(FULL.replace("fail_below: null", "fail_below: 0.1")).certified is False


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(min_value=0, allow_nan=False, allow_infinity=False))
def test_floats_survive_to_the_bit(low, above):
    policy = Policy.from_yaml(BY_HAND)
    stage = policy.bands_stage.model_copy(update={"pass_at_or_above": low + above, "fail_below": low})
    if abs(low + above) == float("inf"):
        return
    policy = policy.model_copy(update={"stages": [stage]})
    read = Policy.from_yaml(policy.to_yaml()).bands_stage
    assert (read.pass_at_or_above.hex(), read.fail_below.hex()) == ((low + above).hex(), low.hex())


@pytest.mark.parametrize("text", ["no", "yes", "on", "1.0", "0x10", "2026-11-29", "null", "~", "a: b", "#x", "é\u2028"])
def test_texts_stay_texts(text):
    policy = Policy.from_yaml(BY_HAND).model_copy(update={"name": text})
    assert Policy.from_yaml(policy.to_yaml()).name == text


def test_yaml_is_1_2_where_no_is_a_text():
    assert Policy.from_yaml(BY_HAND.replace("by-hand", "no")).name == "no"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "pass_at_or_above",
            "pas_at",
            "line 5: missing key 'pass_at_or_above' (stages.1.pass_at_or_above); add it (and 1 more)",
        ),
        (
            "{stage: exact, rung: 3}",
            "{stage: exact, rung: 3, loud: 1}",
            "line 4: unknown key 'loud' (stages.0.loud); remove it or mend its spelling",
        ),
        ("    fail_below: null\n", "", "line 5: missing key 'fail_below' (stages.1.fail_below); add it"),
        (
            "fail_below: null",
            "fail_below: 0.9",
            "line 5: stages.1: pass_at_or_above 0.8 is below fail_below 0.9: an answer between them would pass and fail; raise the one or lower the other",
        ),
        (
            "policy/1",
            "policy/2",
            "line 1: the schema 'calibkit/policy/2' is newer than this calibkit, which reads calibkit/policy/1; update calibkit",
        ),
        (
            "calibkit/policy/1",
            "other",
            "line 1: the schema 'other' is not known; this calibkit reads calibkit/policy/1",
        ),
        (
            "name: by-hand",
            "name: by-hand\nname: twice",
            'line 3: found duplicate key "name" with value "twice" (original value: "by-hand"); mend the YAML',
        ),
        ("0.8", "high", "line 7: stages.1.pass_at_or_above is 'high': input should be a valid number"),
        ("0.8", ".nan", "line 7: stages.1.pass_at_or_above is nan: input should be a finite number"),
        ("0.8", "true", "line 7: stages.1.pass_at_or_above is True: input should be a valid number"),
        (
            "stage: exact",
            "stage: exakt",
            "line 4: stages.0: unknown stage exakt; a stage is one of 'exact', 'fields', 'rules', 'bands', 'judge'",
        ),
        ("rung: 3", "rung: 5", "line 4: stages.0.rung is 5: input should be less than or equal to 4"),
        (
            "name: rouge1, version: 1",
            "name: rouge1, version: 7",
            "line 5: stages.1: the policy was made with version 7 of the scorer rouge1, this calibkit has version 1; calibrate again, or install the calibkit that made it",
        ),
        (
            "rung: 3}",
            "rung: 3, version: 9}",
            "line 4: stages.0: the policy was made with version 9 of the normaliser, this calibkit has version 1; calibrate again, or install the calibkit that made it",
        ),
        (
            "name: rouge1",
            "name: cosine",
            "line 5: stages.1: the scorer cosine needs the key 'model' beside it, with name and fingerprint",
        ),
        ("version: 1}", "version: 1", "line 7: expected ',' or '}', but got ':'; mend the YAML"),
    ],
)
def test_each_fault_has_its_line_and_its_cure(old, new, expected):
    text = BY_HAND.replace(old, new, 1)
    assert text != BY_HAND
    assert refusal(text) == expected


@pytest.mark.parametrize("text", ["", "just words", "- a\n- b", "\x00", "a: [", "&a [*a]", "{" * 5000])
def test_what_is_no_policy_is_refused_in_one_line(text):
    assert refusal(text)


def test_stages_stand_once_and_in_order():
    bands = "  - {stage: bands, scorer: {name: exact, version: 1}, pass_at_or_above: 1, fail_below: null}\n"
    head = "schema: calibkit/policy/1\nname: x\nstages:\n"
    assert "in the order exact, bands" in refusal(head + bands + "  - {stage: exact}\n")
    assert "each may stand once" in refusal(head + bands + bands)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "pass_at_or_above: 0.831",
            "pass_at_or_above: 0.1",
            "pass_at_or_above 0.1 is called certified and lies outside",
        ),
        ("pass_at_or_above: 0.831", "pass_at_or_above: 0.8297", "pass_at_or_above 0.8297 is called certified and lies"),
        ("[0.84, null]", "[0.84, 0.9]", None),
        ("pass_at_or_above: 0.831", "pass_at_or_above: 0.8312475", None),
        ("pass_at_or_above: 0.831", "pass_at_or_above: 7", None),
        ("stage: exact, rung: 3", "stage: exact, rung: 2", "the evidence belongs to other stages than these"),
        ("fingerprint: sha256:00", "fingerprint: sha256:01", "the evidence belongs to other stages than these"),
        ("votes: 3", "votes: 5", None),
    ],
)
def test_a_certificate_holds_for_what_it_was_made_for_alone(old, new, expected):
    text = FULL.replace(old, new, 1)
    assert text != FULL
    if expected is None:
        assert Policy.from_yaml(text).certified is True
    else:
        assert expected in refusal(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%YAML 1.1\n---\n" + BY_HAND, "line 2: a policy takes no YAML directives (%); remove them"),
        (BY_HAND.replace("name: by-hand", "name: &x by-hand"), "line 2: a policy takes no anchors, aliases and tags"),
        (
            BY_HAND.replace("name: by-hand", "name: !!str by-hand"),
            "line 2: a policy takes no anchors, aliases and tags",
        ),
        (BY_HAND.replace("rung: 3", "<<: {rung: 1}"), "line 4: a policy takes no merge keys (<<); write it out"),
        ("a: " + "[" * 50 + "]" * 50, "line 1: nested more than 12 deep; mend the YAML"),
        (BY_HAND.replace("by-hand", "x" * 1_000_000), "characters are too many for a policy"),
        (BY_HAND.replace("rung: 3", "rung: true"), "line 4: stages.0.rung is True: input should be a valid integer"),
        (BY_HAND.replace("rung: 3", "rung: 3.0"), "line 4: stages.0.rung is 3.0: input should be a valid integer"),
    ],
)
def test_what_makes_yaml_mean_something_else_is_refused(text, expected):
    assert expected in refusal(text)


def test_text_of_an_embedding_scorer_follows_its_name():
    assert "embeds the text 'answer'" in refusal(FULL.replace("text: answer", "text: question + answer"))


def test_the_published_schema_is_the_one_that_reads():
    path = Path(calibkit.policy.__file__).with_name("policy.schema.json")
    assert json.loads(path.read_text()) == Policy.json_schema()


def test_the_published_schema_agrees_with_reading():
    validator = jsonschema.Draft202012Validator(Policy.json_schema())
    for text in (BY_HAND, FULL):
        document = Policy.from_yaml(text).model_dump(mode="json", by_alias=True)
        assert list(validator.iter_errors(document)) == []
        document["loud"] = 1
        assert [error.validator for error in validator.iter_errors(document)] == ["additionalProperties"]
        del document["loud"], document["stages"]
        assert [error.validator for error in validator.iter_errors(document)] == ["required"]
