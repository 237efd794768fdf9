"""From a pile of answers to labels that certify, on the command line."""

import json

import pytest

from calibkit.calibration import calibrate
from calibkit.label_log import LabelLog, append_event, read_set_labels
from calibkit.review import Adjudicated
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
    from datetime import UTC, datetime

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
