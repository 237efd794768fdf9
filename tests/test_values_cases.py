"""The hard inputs that stand beside the project: read right or refused, never a wrong value."""

import json

import pytest
from conftest import SHARED

from calibkit.cascade import Cascade
from calibkit.normalize import normalize
from calibkit.pairs import AnswerPair, read_pair
from calibkit.polarity import read_polarity
from calibkit.policy import Policy
from calibkit.rules import check_rules
from calibkit.values import READERS, find_values

CASES = SHARED / "cases"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason="the cases are not here")

KINDS = {"id": ("identifier",), "unit": ("quantity",), "datetime": ("date", "time")}
RULES = {"id": ("identifier",), "unit": ("quantity",), "datetime": ("time", "date"), "number": ("number",)}


def cases(name):
    path = CASES / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def read(case):
    """What the readers of a class make of a text: its canonical form, REFUSE or NONE."""
    text, locale = normalize(case["text"], 1), case["locale"] or None
    if case["class"] == "negation":
        return {"negative": "NEG", "positive": "POS"}[read_polarity(text, locale)]
    for kind in KINDS.get(case["class"], (case["class"],)):
        reading = READERS[kind](text, locale)
        if reading is not None:
            return reading.value.canonical if reading.value else "REFUSE"
    return "NONE"


def test_values_are_read_right_and_none_is_wrong():
    results = [(case, read(case)) for case in cases("values.jsonl")]
    wrong = [(case, got) for case, got in results if got not in ("REFUSE", "NONE", case["canonical"])]
    missed = [(case, got) for case, got in results if got != case["canonical"]]
    assert not wrong
    assert len(missed) <= 0.03 * len(results), missed


def compare(case):
    """The outcome of the rules of a field."""
    pair = AnswerPair("a", (case["reference"],), case["candidate"])
    rules = RULES.get(case["field"], (case["field"],))
    results = check_rules(pair, rules, locale=case["locale"] or None)
    outcomes = [result.outcome for result in results if result.outcome != "not_applicable"] or ["not_applicable"]
    return "fail" if "fail" in outcomes else outcomes[0]


def test_pairs_of_one_value_never_fail_and_of_two_never_pass():
    results = [(case, compare(case)) for case in cases("value_pairs.jsonl")]
    assert not [(case, got) for case, got in results if got == ("fail" if case["same"] else "pass")]
    values = [(case, got) for case, got in results if case["field"] != "negation"]
    unsure = [(case, got) for case, got in values if case["same"] and got != "pass"]
    assert len(unsure) <= 0.03 * len(values), unsure


def test_answers_graded_by_exact_and_rules_alone():
    for locale in (None, "en_US"):
        policy = Policy.model_validate(
            {
                "schema": "calibkit/policy/1",
                "name": "cases",
                "locale": locale,
                "stages": [
                    {"stage": "exact", "rung": 4},
                    {"stage": "rules", "rules": ["abstention", "identifier", "date", "time", "money", "percent",
                                                 "quantity", "number", "negation"]},
                ],
            }
        )  # fmt: skip
        records = cases("answers.jsonl")
        verdicts = list(Cascade(policy).grade_all([read_pair(record, with_label=False) for record in records]))
        wrong = [
            (record, verdict)
            for record, verdict in zip(records, verdicts, strict=True)
            if verdict.outcome == ("fail" if record["acceptable"] else "pass") or verdict.outcome == "error"
        ]
        assert not wrong


@pytest.mark.parametrize("locale", [None, "en_US", "de_DE"])
def test_every_text_of_the_cases_goes_through_finding_and_rung_four(locale):
    for case in cases("values.jsonl"):
        levelled = normalize(case["text"], 1)
        for found in find_values(levelled, locale):
            assert 0 <= found.start < found.end <= len(levelled)
        once = normalize(case["text"], 4, locale)
        assert normalize(once, 4, locale) == once
