"""The grading report tells what the verdicts add up to, names what must not be averaged away, and lets no text run."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from conftest import SUPPORT_DESK
from hypothesis import given, settings
from hypothesis import strategies as st

from calibkit import AnswerPair, Cascade, Policy, Verdict, load_pairs
from calibkit.bands import Bands
from calibkit.gates import check_gates, parse_gates
from calibkit.grading import add_up, compare
from calibkit.grading_report import grading_record, grading_report, text_grading_report
from calibkit.scorers import find_scorer
from calibkit.side_by_side import compare_scorers

POLICY = Policy.from_yaml("""
schema: calibkit/policy/1
name: by-hand
stages:
  - {stage: exact, rung: 3}
  - {stage: bands, scorer: {name: token_recall, version: 1}, pass_at_or_above: 0.8, fail_below: 0.3}
""")
NASTY = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\u202e\x00"


class Reading(HTMLParser):
    """Reads a page, minding that every tag is closed in its order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag != "meta", "it is not closed"
        self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def text(self, tag=None):
        return words(" ".join(data for inside, data in self.texts if tag in (None, inside) and inside != "style"))


def words(text):
    return " ".join(text.replace("\u00a0", " ").split())


def told(grading, **parts):
    """The words of the page and of the text, which say the same."""
    return Reading(grading_report(grading, **parts)).text(), words(text_grading_report(grading, **parts))


def pair(name="a", **fields):
    return AnswerPair(
        **{"id": name, "references": ("4",), "candidate": "four", "question": f"question {name}", **fields}
    )


def verdict(name="a", outcome="pass", stage=None, score=None, reason="", **details):
    return Verdict(name, outcome, stage, score, reason, details)


def graded(*outcomes, **fields):
    pairs = [pair(str(at), **fields) for at in range(len(outcomes))]
    return add_up(pairs, [verdict(str(at), outcome) for at, outcome in enumerate(outcomes)])


@pytest.fixture(scope="module")
def desk():
    """The set that ships with the project, graded by a policy written by hand, with all that a report can tell."""
    pairs = list(load_pairs(SUPPORT_DESK / "pairs.jsonl"))
    pairs = [replace(each, extra={"critical": at % 50 == 0}) for at, each in enumerate(pairs)]
    verdicts = list(Cascade(POLICY).grade_all(pairs))
    verdicts[3] = replace(verdicts[3], outcome="error", stage=None, score=None, reason="no reply within 30 s")
    told_by_judge = {
        "judge": {"calls": 3, "prompt_tokens": 900, "completion_tokens": 60, "unstable": True, "model": "jury"}
    }
    verdicts[5] = replace(verdicts[5], outcome="fail", stage="judge", details=told_by_judge)
    before = [replace(each, outcome="pass", stage="exact") if at < 9 else each for at, each in enumerate(verdicts[2:])]
    grading = add_up(pairs, verdicts, price_in=1.0, price_out=5.0)
    scorers = [find_scorer(name) for name in ("token_recall", "token_precision", "rouge1")]
    parts = {
        "name": "support desk",
        "policy": POLICY,
        "comparison": compare(before, verdicts, {each.id: each.group_key for each in pairs}),
        "gates": check_gates(grading, parse_gates({"pass_rate": 0.1, "max_errors": 0, "critical": "all"})),
        "scorers": compare_scorers(pairs, scorers, dict.fromkeys(["token_recall", "token_precision"], Bands(0.8, 0.3))),
    }
    return grading, parts


# --- what it says -----------------------------------------------------------------------------------


def test_the_headline_is_the_pass_rate_with_its_interval():
    grading = graded(*["pass"] * 9, "fail", "review", "review", "error")
    low, high = grading.total.pass_rate.interval
    due = (
        f"9 of 12 answers pass: 75.0 % ({100 * low:.1f} to {100 * high:.1f}); 1 fail, 2 are left to review; besides, "
        "1 answer brought an error."
    )
    page = Reading(grading_report(grading, name="sums"))
    assert page.text("h1") == due
    assert page.text("title") == "sums"
    assert words(text_grading_report(grading, name="sums")).startswith(f"Grading of sums {due}")
    for text in told(grading):
        assert "Of the 10 answers that were decided 9 pass: 90.0 %" in text
        assert "Errors are no verdicts: 1 (7.7 %) of all answers stand in no share of passes." in text


@pytest.mark.parametrize("outcomes", [(), ("error",), ("error", "error")])
def test_where_nothing_was_graded_no_share_is_told(outcomes):
    for text in told(graded(*outcomes)):
        assert "No answer was graded" in text
        assert "intervals, in percent" not in text


def test_no_share_short_of_all_is_written_as_100():
    found = graded(*["pass"] * 2999, "fail")
    assert "2999 of 3000 answers pass: 99.97 %" in Reading(grading_report(found, most_cases=1)).text("h1")


def test_outcomes_stand_by_stage():
    verdicts = [
        verdict("a", "pass", "exact"), verdict("b", "fail", "rule:number"), verdict("c", "fail", "rule:number"),
        verdict("d", "review"), verdict("e", "error"),
    ]  # fmt: skip
    for text in told(add_up([pair(name) for name in "abcde"], verdicts)):
        assert "rule:number – 2 – – 2 (40.0 %)" in text
        assert "nobody: left to review – – 1 – 1 (20.0 %)" in text
        assert "All 1 2 1 1 5" in text


def test_tags_and_models_have_their_shares():
    pairs = [pair(str(at), tags=("refund",), meta={"model": "agent-2"}) for at in range(4)]
    for text in told(add_up(pairs, [verdict(str(at), "pass" if at else "fail") for at in range(4)])):
        assert "refund 4 3 75.0 % (30.1 to 95.4) 1 – –" in text
        assert "agent-2 4 3 75.0 % (30.1 to 95.4) 1 – –" in text


def test_gates_are_told_and_make_the_badge():
    grading = graded("pass", "fail")
    missed = check_gates(grading, parse_gates({"pass_rate": 0.9, "max_errors": 0}))
    page = Reading(grading_report(grading, gates=missed))
    assert page.text("strong") == "1 of 2 gates missed"
    assert "pass_rate at least 0.9 ✗ missed 0.5 (1 of 2 answers without error)" in page.text()
    assert "max_errors at most 0 ✓ held 0 (0 of 2 answers)" in page.text()
    held = check_gates(grading, parse_gates({"max_errors": 0}))
    assert Reading(grading_report(grading, gates=held)).text("strong") == "gates held"
    assert "GATES HELD" in text_grading_report(grading, gates=held)


def test_each_critical_case_that_does_not_pass_is_shown_however_many_answers_there_are():
    pairs = [pair(f"case {at}", extra={"critical": at < 30}) for at in range(400)]
    grading = add_up(pairs, [verdict(f"case {at}", "fail" if at < 25 else "pass") for at in range(400)])
    for text in told(grading, most_cases=0):
        assert "5 of 30 critical cases pass. Each stands for itself." in text
        assert all(re.search(rf"case {at}\W+fail", text) for at in range(25))
    assert Reading(grading_report(grading)).text("strong") == "25 of 30 critical cases not passed"


def test_labels_are_laid_beside_the_verdicts_with_what_the_correction_rests_on():
    pairs = [pair(str(at), labelled=at < 40, acceptable=at % 2 == 0 if at < 40 else None) for at in range(100)]
    verdicts = [verdict(str(at), "fail" if at % 2 and at != 3 else "pass", "bands") for at in range(100)]
    grading = add_up(pairs, verdicts)
    corrected = grading.people.corrected
    for text in told(grading):
        assert (
            "40 answers have labels. On 40 of them both the policy and a person decided: they agree on 97.5 %" in text
        )
        assert "bands 20 1 19 – 97.5 % –" in text
        assert "Provided that the labelled answers are a random sample of the graded ones, people would accept" in text
        assert f"{100 * corrected.value:.1f} %" in text
    assert "Beside people" not in text_grading_report(graded("pass"))


def test_what_changed_is_told():
    pairs = [pair(str(at)) for at in range(20)]
    before = [verdict(str(at), "pass", "bands", reason="alike") for at in range(20)] + [verdict("gone")]
    after = [verdict(str(at), "fail" if at < 6 else "pass", "rule:number" if at < 6 else "bands") for at in range(20)]
    comparison = compare(before, after)
    low, high = (100 * limit for limit in comparison.difference.interval)
    for text in told(add_up(pairs, after), comparison=comparison):
        assert f"The pass rate changed by -30.0 points ({low:+.1f} to {high:+.1f}) over the 20" in text
        assert "0 pass only now, 6 passed only before" in text
        assert "Jumps, larger than chance would make them: rule:number from 0 to 6; bands from 20 to 14." in text
        assert "Only in the earlier run, and in none of these figures: 1 (gone)." in text
        assert "New fails: 6" in text
        assert "before: pass by bands" in text
        assert "bands rule:number 6" in text
        assert "alike" in text


def test_flips_judge_and_scorers_are_told():
    pairs = [pair(str(at), question="How long?", meta={"model": "m", "run": at}) for at in range(2)]
    counts = {"calls": 1200, "cached": 200, "prompt_tokens": 1_000_000, "completion_tokens": 10, "unstable": True}
    verdicts = [verdict("0", "pass", "judge", judge={**counts, "model": "jury"}), verdict("1", "fail", "bands")]
    grading = add_up(pairs, verdicts, price_in=2.0, price_out=1.0)
    scorers = [find_scorer("token_recall"), find_scorer("exact"), find_scorer("rouge1")]
    side_by_side = compare_scorers(pairs, scorers, {"token_recall": Bands(0.8, 0.3), "exact": Bands(-1.0, None)})
    for text in told(grading, scorers=side_by_side):
        assert "The outcome of 1 (100.0 %) is not the same in all of them." in text
        assert "How long? m 0: pass; 1: fail" in text
        assert "Judge jury" in text
        assert "Calls 1,200, 200 of them answered from earlier calls" in text
        assert "Cost 2.0000 in the currency of the prices" in text
        assert "Votes disagree on 1 (100.0 %) of these answers" in text
        assert "token_recall 0.8 0.3 – – 2 – 0, 0, 0" in text
        assert "A scorer without thresholds has scores only." in text
        assert "They disagree on 2 answers to 1 question." in text
        assert re.search(r"token_recall: failed 0\W+exact: success 0\W+rouge1: 0", text)


def test_errors_and_fails_come_first_and_what_is_left_out_is_told():
    pairs = [pair(name) for name in ("passes", "waits", "fails", "breaks")]
    outcomes = {"passes": "pass", "waits": "review", "fails": "fail", "breaks": "error"}
    verdicts = [verdict(name, outcome, reason=f"why {name}") for name, outcome in outcomes.items()]
    for text in told(add_up(pairs, verdicts)):
        places = [text.index(f"why {name}") for name in ("breaks", "fails", "waits", "passes")]
        assert places == sorted(places)
        assert "left out here" not in text
    for text in told(add_up(pairs, verdicts), most_cases=1):
        assert "why breaks" in text
        assert "why fails" not in text
        assert "Fail: 1 (none is shown)" in text
        assert "3 answers of 4 are left out here." in text


def test_a_case_shows_texts_reason_and_what_differs():
    one = pair(
        "refund", question="How long does the refund take?", references=("The refund takes 14 days.",),
        candidate="The refund takes 41 days.", tags=("number",), labelled=True, acceptable=False, meta={"model": "m"},
    )  # fmt: skip
    grading = add_up([one], [verdict("refund", "fail", "rule:number", reason="41 is not 14")])
    page, plain = grading_report(grading), text_grading_report(grading)
    assert '<dd dir="auto">The refund takes <del>14</del> days.</dd>' in page
    assert '<dd dir="auto">The refund takes <ins>41</ins> days.</dd>' in page
    assert "refund; fail by rule:number; label: not acceptable; model: m; tags: number" in plain
    assert "Why: 41 is not 14" in plain
    assert "Reference: The refund takes [-14-] days." in plain


def test_an_answer_to_a_question_without_answer_is_not_marked():
    page = grading_report(add_up([pair(references=())], [verdict()]))
    assert "<small>(none)</small>" in page
    assert "<ins>" not in page


# --- the page ---------------------------------------------------------------------------------------


def test_no_text_of_a_user_runs():
    nasty = pair(
        NASTY, question=NASTY, references=(NASTY, f"{NASTY} two"), candidate=f"{NASTY} candidate", group=NASTY,
        tags=(NASTY, "critical"), meta={"model": NASTY, "run": NASTY}, labelled=True, acceptable=False,
    )  # fmt: skip
    again = replace(nasty, id="b", meta={"model": NASTY, "run": "b"})
    said = {"judge": {"calls": 1, "model": NASTY}}
    verdicts = [Verdict(NASTY, "fail", NASTY, 0.1, NASTY, said), Verdict("b", "pass", "judge", 1.0, NASTY)]
    faults = [Verdict(f"{NASTY} row", "error", None, None, NASTY)]
    grading = add_up([nasty, again], verdicts + faults)
    before = [Verdict(NASTY, "pass", f"{NASTY} before", None, NASTY), Verdict(f"{NASTY} gone", "pass", None, None, "")]
    scorer, other = find_scorer("token_recall"), find_scorer("exact")
    parts = {
        "name": NASTY,
        "comparison": compare(before, verdicts),
        "gates": check_gates(grading, parse_gates({"tags": {NASTY: {"pass_rate": 1}}, "critical": "all"})),
        "scorers": compare_scorers(
            [nasty], [scorer, other], {"token_recall": Bands(0.5, 0.4), "exact": Bands(2.0, 1.0)}
        ),
    }
    page = grading_report(grading, **parts)
    read = Reading(page)
    assert "<script" not in page
    assert not {"script", "img", "link", "iframe", "form", "input", "a"} & set(read.tags)
    assert not [name for _, name, _ in read.attributes if name.startswith("on") or name in ("src", "href")]
    assert read.text().count("alert(1)") >= 20
    assert "&amp;amp;" in page
    assert "\u202e" not in page
    assert "\x00" not in page
    assert "\x00" not in text_grading_report(grading, **parts)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(min_size=1), min_size=6, max_size=6))
def test_any_text_is_data(texts):
    name, question, reference, candidate, tag, reason = texts
    one = pair(name, question=question, references=(reference,), candidate=candidate, tags=(tag,), meta={"model": tag})
    grading = add_up([one], [verdict(name, "fail", "bands", 0.2, reason)])
    read = Reading(grading_report(grading, name=name))
    shape = Reading(
        grading_report(add_up([pair("a", tags=("a",), meta={"model": "m"})], [verdict("a", "fail", "bands", 0.2)]))
    )
    assert set(read.tags) - {"ins", "del", "h3", "small"} <= set(shape.tags) | {"small"}
    assert isinstance(text_grading_report(grading, name=name), str)


def test_the_page_loads_nothing_and_is_accessible(desk):
    grading, parts = desk
    page = grading_report(grading, **parts)
    read = Reading(page)
    assert page.startswith("<!DOCTYPE html>")
    assert ("html", "lang", "en") in read.attributes
    assert ("meta", "name", "viewport") in read.attributes
    assert ("meta", "content", "default-src 'none'; style-src 'unsafe-inline'") in read.attributes
    assert not {"script", "link", "iframe", "object", "img", "form"} & set(read.tags)
    assert "http" not in re.sub(r"http-equiv", "", page)
    levels = [int(tag[1]) for tag in read.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert {value for tag, name, value in read.attributes if tag == "th" and name == "scope"} == {"row", "col"}
    assert len(read.tags) > 1000


def test_page_and_text_tell_the_same_sections(desk):
    grading, parts = desk
    page, plain = Reading(grading_report(grading, **parts)), text_grading_report(grading, **parts)
    titles = [words(data) for tag, data in page.texts if tag == "h2"]
    assert len(titles) == 13 - (grading.stability is None)
    for title in titles:
        assert re.search(rf"^{re.escape(title)}$", plain, re.MULTILINE)
    lines = plain.splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)


def test_long_texts_are_cut():
    long = "word " * 200_000
    grading = add_up(
        [pair("a", question=long, references=(long,), candidate=long, tags=(long,), meta={"model": long})],
        [verdict("a", "fail", "bands", 0.1, long)],
    )
    assert len(grading_report(grading)) < 40_000
    assert "… (the first 600 of 1,000,000 characters)" in grading_report(grading)
    assert len(text_grading_report(grading)) < 20_000


# --- plain values -----------------------------------------------------------------------------------


def test_the_record_is_plain_and_says_what_the_report_says(desk):
    grading, parts = desk
    record = json.loads(json.dumps(grading_record(grading, **parts), allow_nan=False))
    total, comparison = grading.total, parts["comparison"]
    assert (record["answers"], record["passed"], record["error"]) == (total.answers, total.passed, 1)
    assert record["pass_rate"]["value"] == total.pass_rate.value
    assert record["pass_rate"]["interval"] == list(total.pass_rate.interval)
    assert record["of_decided"]["whole"] == total.passed + total.failed
    assert sum(sum(counts.values()) for counts in record["by_stage"].values()) == total.answers
    assert record["by_model"].keys() == {"agent-v1", "agent-v2"}
    assert record["people"]["corrected_pass_rate"]["value"] == grading.people.corrected.value
    assert record["people"]["corrected_pass_rate"]["assumption"].startswith("the labelled answers are a random sample")
    assert record["against"]["new_fails"] == [change.id for change in comparison.new_fails]
    assert record["against"]["pass_rate"]["value"] == comparison.difference.value
    assert record["critical"]["cases"] == len(grading.critical) == 11
    assert {each["id"] for each in record["critical"]["not_passed"]} == set(record["gates"][-1]["cases"])
    assert [gate["held"] for gate in record["gates"]] == [gate.held for gate in parts["gates"]]
    assert record["judge"]["calls"] == 3
    assert record["judge"]["cost"] == pytest.approx(0.0012)
    assert record["scorers"]["counts"]["token_recall"]["success"] > 0
    assert record["scorers"]["disagreements"][0]["amount"] == 1


def test_what_there_is_nothing_of_is_none():
    record = grading_record(graded("pass"))
    assert [key for key, value in record.items() if value is None] == [
        "policy", "people", "against", "stability", "judge", "scorers"
    ]  # fmt: skip
    assert record["gates"] == []
