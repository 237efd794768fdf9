"""From a pile of answers to labels that certify, on the command line."""

import json
from datetime import UTC, datetime

import pytest

from calibkit.calibration import calibrate
from calibkit.label_log import LabelLog, append_event, read_set_labels
from calibkit.review import Adjudicated, add_reference
from calibkit.store import load_pairs


@pytest.fixture
def pile(tmp_path):
    """A set of 60 answers to 60 questions, without a label."""
    folder = tmp_path / "pile"
    folder.mkdir()
    rows = [
        {"id": f"a{n}", "question": f"q{n}?", "references": [f"gate {n}"], "candidate": f"the gate {n}", "tags": ["even" if n % 2 == 0 else "odd"]}
        for n in range(60)
    ]  # fmt: skip
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_a_random_queue_certifies_its_completed_beginning(calibkit, pile):
    status, out, _ = calibkit("queue", pile, "--n", "40")
    assert status == 0
    assert "40 pairs drawn (random), 40 without a label" in out
    (queue,) = read_set_labels(pile).queues
    with LabelLog(pile, "zoe") as log:
        for name in [*queue.ids[:30], *queue.ids[31:33]]:
            log.label(name, True)
    found = calibrate(load_pairs(pile), scorer="token_recall")
    labels = found.policy.evidence.labels
    assert (labels.drawn, labels.certifying <= 30, labels.certifying > 15) == ("random", True, True)
    assert any("stand in no completed random queue" in note for note in found.notes)
    assert "provided that" not in found.policy.evidence.sentence


def test_labels_of_a_queue_by_tag_certify_nothing(calibkit, pile):
    status, out, _ = calibkit("queue", pile, "--n", "20", "--by", "tags")
    assert "it finds faults and certifies nothing" in out
    (queue,) = read_set_labels(pile).queues
    with LabelLog(pile, "zoe") as log:
        for name in queue.ids:
            log.label(name, True)
    found = calibrate(load_pairs(pile), scorer="token_recall")
    assert (status, found.policy.evidence.labels.certifying) == (0, 0)
    assert not found.policy.certified


def test_several_annotators_agreement_and_what_counts(calibkit, pile):
    with LabelLog(pile, "zoe") as one, LabelLog(pile, "max") as other:
        for n in range(10):
            one.label(f"a{n}", n != 3)
            other.label(f"a{n}", n not in (3, 4))
    status, out, _ = calibkit("agreement", pile, "--json")
    told = json.loads(out)
    assert (status, told["pairs"], told["disagreed"]) == (0, 10, ["a4"])
    pairs = {pair.id: pair for pair in load_pairs(pile)}
    assert (pairs["a3"].acceptable, pairs["a4"].acceptable, pairs["a4"].labelled) == (False, None, True)
    decision = Adjudicated(pair_id="a4", acceptable=True, by="ina", at=datetime(2026, 1, 1, tzinfo=UTC), uid="x", seq=1)
    append_event(pile, decision)
    assert {pair.id: pair for pair in load_pairs(pile)}["a4"].acceptable is True


def test_labels_come_in_from_another_tool(calibkit, pile, tmp_path):
    tasks = [
        {
            "id": n,
            "data": {"id": f"a{n}", "question": f"q{n}?", "references": [f"gate {n}"], "candidate": f"the gate {n}"},
            "annotations": [
                {"completed_by": 1, "result": [{"type": "choices", "from_name": "acceptable", "value": {"choices": ["yes"]}}]}
            ],
        }
        for n in range(5)
    ]  # fmt: skip
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    status, out, err = calibkit("import", tmp_path / "export.json", "--from", "label-studio", "--to", pile)
    assert status == 0, err
    assert "5 labels of 1 annotator" in out
    assert sum(pair.acceptable is True for pair in load_pairs(pile)) == 5
    calibkit("import", tmp_path / "export.json", "--from", "label-studio", "--to", pile)
    assert sum(len(given) for given in read_set_labels(pile).labels.values()) == 5
    status, _, err = calibkit("import", tmp_path / "export.json", "--from", "label-stdio", "--to", pile)
    assert status == 2
    assert "label-studio" in err


def test_a_torn_log_is_told_and_a_broken_one_certifies_nothing(calibkit, pile):
    with LabelLog(pile, "zoe") as log:
        log.label("a1", True)
    (path,) = (pile / "labels").glob("*.jsonl")
    path.write_text(path.read_text() + "{broken}\n" + path.read_text().replace("a1", "a2"))
    status, _, err = calibkit("calibrate", pile)
    assert status == 2
    assert "cannot be read" in err


def test_a_queue_needs_a_set(calibkit, write_pairs):
    write_pairs([{"id": "a", "references": ["x"], "candidate": "x"}])
    status, _, err = calibkit("queue", "pairs.jsonl")
    assert status == 2
    assert "need a set" in err


def test_a_region_certifies_inside_itself_alone(calibkit, tmp_path):
    folder = tmp_path / "big"
    folder.mkdir()
    rows = [
        {
            "id": f"a{n}",
            "question": f"q{n}?",
            "references": ["one two three four five six seven eight nine ten"],
            "candidate": " ".join(
                ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"][: n % 10 + 1]
            )
            + " or so",
        }
        for n in range(300)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    region = ("--scorer", "token_recall", "--rules", "none")
    status, out, err = calibkit("queue", folder, "--by", "region", "--at", "0.45", "--n", "150", *region)
    assert status == 0, err
    assert "its completed beginning certifies" in out
    (queue,) = read_set_labels(folder).queues
    assert all(int(name[1:]) % 10 >= 4 for name in queue.ids)
    with LabelLog(folder, "zoe") as log:
        for name in queue.ids:
            log.label(name, int(name[1:]) % 10 >= 5)
    calibrate_it = ("calibrate", folder, "--precision", "0.9", "--out", "p.yaml", "--json", "--region")
    status, _, err = calibkit(*calibrate_it, "0.2", *region)
    assert (status, "no region queue of this ranking begins at 0.2" in err) == (2, True)
    status, _, err = calibkit(*calibrate_it, "0.45", "--scorer", "rouge1", "--rules", "none")
    assert (status, "no region queue of this ranking begins at" in err) == (2, True)
    status, out, err = calibkit(*calibrate_it, "0.45", *region)
    assert status == 0, err
    told = json.loads(out)["policy"]["evidence"]
    assert told["labels"]["drawn"] == "region"
    assert told["labels"]["region"] == 0.45
    assert told["pass"]["certified"]
    assert all(low is not None and low >= 0.45 - 1e-9 for low, _ in told["pass"]["intervals"])
    assert told["curve"] is None


def test_a_region_is_not_claimed_of_a_bare_file(calibkit, write_pairs, clear_cut):
    write_pairs(clear_cut)
    status, _, err = calibkit("calibrate", "pairs.jsonl", "--region", "0.5")
    assert status == 2
    assert "make it a set" in err


def test_references_that_grew_certify_nothing_with_or_without_a_queue(pile):
    with LabelLog(pile, "zoe") as log:
        for n in range(60):
            log.label(f"a{n}", n % 2 == 0)
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    for n in range(0, 60, 2):
        append_event(
            pile,
            add_reference(load_pairs(pile), (), read_set_labels(pile).resolve(), f"a{n}", by="zoe", at=moment),
        )
    found = calibrate(load_pairs(pile), scorer="token_recall", development=0, rules=())
    assert found.policy.evidence.labels.certifying == 30
    assert any("whose references grew" in note for note in found.notes)
