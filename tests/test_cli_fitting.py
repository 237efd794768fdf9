"""A scorer fitted on other questions, and planning, on the command line."""

import json
import re

import pytest


def rows(first, n):
    return [
        {
            "id": f"a{at}",
            "question": f"question {at}",
            "references": [f"part{at} costs {at} crowns"],
            "candidate": f"part{at} it costs {at} crowns" if at % 5 else "something else altogether",
            "acceptable": bool(at % 5),
        }
        for at in range(first, first + n)
    ]


@pytest.fixture
def fitted(calibkit, tmp_path, write_pairs):
    write_pairs(rows(1000, 60), "other.jsonl")
    write_pairs(rows(0, 120), "own.jsonl")
    status, out, err = calibkit("fit", "other.jsonl", "--out", "blend.json")
    assert status == 0, err
    assert "fitted on 60 answers to 60 questions" in out
    return tmp_path


def test_a_blend_certifies_on_other_questions_and_grades(calibkit, fitted):
    status, _, err = calibkit(
        "calibrate", "own.jsonl", "--blend", "blend.json", "--precision", "0.9", "--out", "p.yaml", "--drawn", "random"
    )
    assert status == 0, err
    text = (fitted / "p.yaml").read_text()
    assert "fitted_on" in text
    status, _, err = calibkit("grade", "own.jsonl", "--policy", "p.yaml", "--out", "v.jsonl")
    assert status == 0, err
    found = [json.loads(line) for line in (fitted / "v.jsonl").read_text().splitlines()]
    assert all((verdict["outcome"] == "pass") == (at % 5 != 0) for at, verdict in enumerate(found))
    # Its weights are part of what is certified.
    edited, n = re.subn(r"intercept: -?[0-9.]+", "intercept: 0.5", text)
    assert n == 1
    (fitted / "edited.yaml").write_text(edited)
    status, _, err = calibkit("grade", "own.jsonl", "--policy", "edited.yaml")
    assert (status, "the evidence belongs to other stages" in err) == (2, True)


def test_a_blend_certifies_nothing_on_the_questions_that_fitted_it(calibkit, fitted, write_pairs):
    write_pairs([row | {"id": f"x{row['id']}"} for row in rows(1000, 60)], "again.jsonl")
    status, _, err = calibkit("calibrate", "again.jsonl", "--blend", "blend.json")
    assert status == 2
    assert "used to fit the blend" in err
    assert not (fitted / "again.jsonl.ledger.jsonl").exists()  # no look was spent


def test_a_plan_names_labels_and_spends_nothing(calibkit, fitted):
    status, out, err = calibkit("plan", "own.jsonl", "--precision", "0.9", "--figure", "plan.svg")
    assert status == 0, err
    assert "best region" in (fitted / "plan.svg").read_text()
    assert "pass 0.9:" in out
    assert "look" not in (fitted / "own.jsonl.ledger.jsonl").read_text().replace('"looks"', "")
    for row in (bare := rows(0, 120)):
        del row["acceptable"]
    (fitted / "bare.jsonl").write_text("".join(json.dumps(row) + "\n" for row in bare))
    status, out, err = calibkit("plan", "bare.jsonl", "--fails", "--json")
    assert status == 0, err
    assert any(line.startswith("fail ") for line in json.loads(out)["lines"])
