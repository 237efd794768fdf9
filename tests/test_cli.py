import csv
import json
import sys

import pytest
from conftest import SHARED

from calibkit import load_policy

BY_HAND = """\
schema: calibkit/policy/1
name: by-hand
stages:
  - {stage: exact, rung: 3}
  - stage: bands
    scorer: {name: token_recall, version: 1}
    pass_at_or_above: 0.8
    fail_below: null
"""


def one_line(stderr):
    lines = stderr.strip().splitlines()
    assert len(lines) == 1, stderr
    assert lines[0].startswith("calibkit: ")
    return lines[0].removeprefix("calibkit: ")


def test_calibrate_then_grade(calibkit, write_pairs, clear_cut, tmp_path):
    write_pairs(clear_cut)
    status, out, err = calibkit(
        "calibrate", "pairs.jsonl", "--precision", "0.9", "--development", "0", "--drawn", "random", "--out", "out/p.yaml"
    )  # fmt: skip
    assert status == 0
    assert err == "100 pairs of 100 questions: 80 acceptable, 20 not acceptable, 0 cannot say, 0 without label\n"
    assert out.splitlines() == [
        "scorer            token_recall version 1",
        "labels            100 certifying, 0 for exploring; one for each question; 80 of the certifying acceptable, "
        "0 cannot say",
        "accounting        look 1 of 1, 1 configuration, 1 side",
        "pass at or above  0.5, certified",
        "fail below        none",
        "on these labels   80 pass with 0 rejected (80 by bands with 0 rejected), 20 to review",
        "note: the ledger pairs.jsonl.ledger.jsonl begins with this run: what was tried on these labels before is not "
        "counted",
        load_policy(tmp_path / "out/p.yaml").evidence.sentence,
        "policy written to out/p.yaml",
    ]
    status, out, err = calibkit("grade", "pairs.jsonl", "--policy", "out/p.yaml", "--out", "out/v.jsonl")
    assert (status, err) == (0, "")
    rows = [line.split() for line in out.splitlines()[:3]]
    assert rows == [
        ["outcome", "stage", "answers", "share"],
        ["pass", "bands", "80", "80.0%"],
        ["review", "-", "20", "20.0%"],
    ]
    verdicts = [json.loads(line) for line in (tmp_path / "out/v.jsonl").read_text().splitlines()]
    assert [v["id"] for v in verdicts] == [record["id"] for record in clear_cut]
    assert verdicts[1] == {
        "id": "a1", "outcome": "pass", "stage": "bands", "score": 1.0, "reason": "token_recall 1 is at or above 0.5"
    }  # fmt: skip


def test_json_is_one_object_and_nothing_else(calibkit, write_pairs, clear_cut, tmp_path):
    write_pairs(clear_cut)
    (tmp_path / "p.yaml").write_text(BY_HAND)
    _, out, _ = calibkit("calibrate", "pairs.jsonl", "--precision", "0.9", "--json")
    found = json.loads(out)
    assert found["certified"] is True
    assert found["policy"]["evidence"]["pass"]["rejects"] == 0
    _, out, err = calibkit("grade", "pairs.jsonl", "--policy", "p.yaml", "--json")
    graded = json.loads(out)
    assert graded["outcomes"] == {"pass": 80, "fail": 0, "review": 20, "error": 0}
    assert graded["standing"] == "The policy 'by-hand' is uncertified: it carries no evidence."
    assert err == ""


def test_verdicts_go_to_standard_output_where_no_file_is_named(calibkit, write_pairs, clear_cut, tmp_path):
    write_pairs(clear_cut[:3])
    (tmp_path / "p.yaml").write_text(BY_HAND)
    status, out, err = calibkit("grade", "pairs.jsonl", "--policy", "p.yaml")
    assert status == 0
    assert [json.loads(line)["outcome"] for line in out.splitlines()] == ["review", "pass", "pass"]
    assert "is uncertified" in err


def test_score_writes_one_column_a_scorer_to_the_bit(calibkit, write_pairs, tmp_path):
    write_pairs([
        {"id": "a", "references": ["one two three"], "candidate": "one", "acceptable": True},
        {"id": "b", "references": [], "candidate": "one"},
    ])  # fmt: skip
    status, _, _ = calibkit("score", "pairs.jsonl", "--scorer", "token_recall", "--scorer", "exact", "--out", "s.csv")
    rows = list(csv.reader((tmp_path / "s.csv").read_text().splitlines()))
    assert status == 0
    assert rows == [["id", "token_recall", "exact"], ["a", repr(1 / 3), "0.0"], ["b", "", ""]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["calibrate", "no.jsonl"], "no.jsonl: there is no such file; mend the path"),
        (["calibrate", "pairs.jsonl", "--scorer", "cosin"], "there is no scorer 'cosin'; the nearest: cosine"),
        (["calibrate", "pairs.jsonl", "--precision", "95"], "precision must lie between 0 and 1"),
        (["calibrate", "pairs.jsonl", "--precision", "high"], "Invalid value for '--precision': Input should be a valid number"),
        (["calibrate", "pairs.jsonl", "--drawn", "hand"], "Invalid value for '--drawn'"),
        (["calibrate", "pairs.jsonl", "--colour"], "No such option: --colour"),
        (["calibrate"], "Missing argument 'pairs'; see calibkit calibrate --help"),
        (["calibrate", "pairs.jsonl", "--map", "candidate"], "--map candidate: due is KEY=COLUMN"),
        (["calibrate", "pairs.jsonl", "--map", "candidate=reply"], "reply is no column of this row (mapped to candidate)"),
        (["calibrate", "pairs.jsonl", "--labels", "good=maybe"], "--labels: good=maybe: a word means yes, no or"),
        (["calibrate", "pairs.jsonl", "--because", "I like it"], "--because gives the reason of a threshold set by hand"),
        (["calibrate", "pairs.jsonl", "--pass-at", "0.1", "--fail-below", "0.2"], "pass_at_or_above 0.1 is below"),
        (["calibrate", "latin.csv"], "latin.csv:2: byte 6 of the line (0xe9) is not UTF-8; save the file as UTF-8"),
        (["calibrate", "broken.jsonl"], "broken.jsonl:7: 1 bad row: the row is no JSON (Expecting value at column 1) (line 7)"),
        (["calibrate", "kinds.jsonl"], "the label column holds 5 values not known: 'good' (line 1, 1 in all)"),
        (["calibrate", "unlabelled.jsonl"], "none of the 3 pairs has a label"),
        (["calibrate", "empty.jsonl"], "empty.jsonl: there is no usable pair in this file"),
        (["grade", "pairs.jsonl", "--policy", "no.yaml"], "no.yaml: there is no such file"),
        (["grade", "pairs.jsonl", "--policy", "future.yaml"], "future.yaml: line 1: the schema 'calibkit/policy/9' is newer"),
        (["grade", "empty.jsonl", "--policy", "p.yaml"], "empty.jsonl: there is no answer in this file"),
        (["grade", "kinds.csv", "--policy", "p.yaml", "--out", "v.jsonl"], "none of the 1 answers could be graded; the first: kinds.csv:2: "),
        (["grade", "pairs.jsonl", "--policy", "p.yaml", "--out", "/dev/null/v"], "/dev/null/v: cannot be written"),
        (["unknown"], "No such command 'unknown'; see calibkit --help"),
    ],
)  # fmt: skip
def test_a_users_mistake_is_told_in_one_line(calibkit, write_pairs, clear_cut, tmp_path, arguments, message):
    write_pairs(clear_cut)
    (tmp_path / "latin.csv").write_bytes("references,candidate,acceptable\nbon,né,yes\n".encode("latin-1"))
    (tmp_path / "broken.jsonl").write_text("\n" * 6 + "oops\n")
    write_pairs(
        [{**clear_cut[n], "acceptable": word} for n, word in enumerate(("good", "ok", "bad", "3", "x"))], "kinds.jsonl"
    )
    write_pairs(
        [{k: v for k, v in record.items() if k != "acceptable"} for record in clear_cut[:3]], "unlabelled.jsonl"
    )
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "kinds.csv").write_text("a,b\n1,2\n")
    (tmp_path / "p.yaml").write_text(BY_HAND)
    (tmp_path / "future.yaml").write_text("schema: calibkit/policy/9\nstages: later\n")
    before = {path.name for path in tmp_path.iterdir()}
    status, out, err = calibkit(*arguments)
    assert status == 2
    assert out == ""
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err
    assert {path.name for path in tmp_path.iterdir()} == before


def test_nothing_certified_is_no_error_unless_it_is_required(calibkit, write_pairs, clear_cut):
    write_pairs(clear_cut[:20])
    status, out, _ = calibkit("calibrate", "pairs.jsonl", "--out", "p.yaml")
    assert status == 0
    assert "Nothing is certified for pairs: 1" in out
    status, _, _ = calibkit("calibrate", "pairs.jsonl", "--require-certified")
    assert status == 1


def test_hand_set_thresholds_name_who_and_why(calibkit, write_pairs, clear_cut, tmp_path):
    write_pairs(clear_cut)
    status, out, _ = calibkit(
        "calibrate", "pairs.jsonl", "--pass-at", "0", "--because", "a test", "--out", "p.yaml"
    )  # fmt: skip
    assert status == 0
    assert "pass at or above  0, not certified (set by hand)" in out
    side = load_policy(tmp_path / "p.yaml").evidence.pass_
    assert (side.certified, side.because) == (False, "a test")
    assert side.set_by


def test_without_arguments_it_shows_what_it_can_do(calibkit):
    status, out, _ = calibkit()
    assert status == 0
    assert all(command in out for command in ("calibrate", "grade", "score"))


def test_it_tells_its_version(calibkit):
    assert calibkit("--version") == (0, "calibkit 0.1.0\n", "")


def test_a_report_that_cannot_be_drawn_is_refused_before_a_look_is_spent(calibkit, write_pairs, clear_cut, monkeypatch):
    path = write_pairs(clear_cut)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, _, err = calibkit("calibrate", "pairs.jsonl", "--report", "r.html")
    assert status == 2
    assert one_line(err) == "figures need matplotlib: pip install 'calibkit[notebooks]'"
    assert not path.with_name("pairs.jsonl.ledger.jsonl").exists()


def test_exploring_shows_a_scorer_and_makes_no_policy(calibkit, write_pairs, clear_cut, tmp_path):
    write_pairs(clear_cut)
    status, out, _ = calibkit("calibrate", "pairs.jsonl", "--explore")
    assert status == 0
    assert "average precision 1.000; agrees best with people at 1: 100.0%" in out
    status, _, err = calibkit("calibrate", "pairs.jsonl", "--explore", "--out", "p.yaml")
    assert (status, one_line(err)) == (2, "--out p.yaml: exploring makes no policy; leave it out")


def test_a_refused_scorer_replaces_no_policy(calibkit, write_pairs, clear_cut, tmp_path):
    write_pairs(clear_cut)
    calibkit("calibrate", "pairs.jsonl", "--precision", "0.9", "--out", "p.yaml")
    before = (tmp_path / "p.yaml").read_text()
    status, out, _ = calibkit("calibrate", "pairs.jsonl", "--scorer", "rouge1", "--out", "p.yaml")
    assert status == 0
    assert "no policy written to p.yaml: there is nothing to put into it" in out
    assert (tmp_path / "p.yaml").read_text() == before


def test_ten_megabytes_in_one_answer(calibkit, write_pairs, clear_cut, tmp_path):
    clear_cut[3]["candidate"] = "word " * 2_000_000
    write_pairs(clear_cut)
    (tmp_path / "p.yaml").write_text(BY_HAND)
    status, out, _ = calibkit("grade", "pairs.jsonl", "--policy", "p.yaml", "--json")
    assert status == 0
    assert json.loads(out)["answers"] == 100


@pytest.mark.skipif(not SHARED.exists(), reason="the real labelled answers are not beside this checkout")
def test_a_foreign_table_becomes_a_policy_in_one_command(calibkit, tmp_path):
    (tmp_path / "nq301.tsv").write_bytes((SHARED / "data" / "nq301.tsv").read_bytes())
    status, out, err = calibkit(
        "calibrate", "nq301.tsv", "--map", "references=gold_answers", "--map", "candidate=model_answer", "--map",
        "group=id", "--split-references", " | ", "--out", "p.yaml",
    )  # fmt: skip
    assert status == 0
    assert err.startswith("788 pairs of 158 questions: 438 acceptable, 350 not acceptable")
    assert load_policy(tmp_path / "p.yaml").evidence.labels.certifying == 117
    assert "Nothing is certified for nq301" in out
