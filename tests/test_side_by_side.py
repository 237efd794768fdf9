"""Scorers side by side: levels by their own cuts, and the questions on which they part."""

import numpy as np
import pytest

from calibkit import AnswerPair, InputError, Scores
from calibkit.bands import Bands
from calibkit.side_by_side import LEVELS, compare_scorers


class Given:
    """Scores that the pairs bring along."""

    version = 1

    def __init__(self, name):
        self.name = name

    def score(self, pairs):
        values = np.array([pair.meta.get(self.name, np.nan) for pair in pairs], dtype=float)
        return Scores(values, tuple("not given" if np.isnan(value) else None for value in values), self.name, 1)


def answer(name, group=None, **scores):
    return AnswerPair(name, ("4",), "four", question=f"question {group or name}", meta=scores)


def levels(found, scorer):
    return [mark.level for mark in found.marks[scorer]]


CUTS = Bands(0.8, 0.3)


def test_levels_follow_the_cuts():
    pairs = [answer(str(at), s=score) for at, score in enumerate([0.8, 0.79999, 0.3, 0.29999])] + [answer("u")]
    found = compare_scorers(pairs, [Given("s")], {"s": CUTS})
    assert levels(found, "s") == ["success", "partial", "partial", "failed", "unscored"]
    assert found.marks["s"][4].reason == "not given"
    assert found.marks["s"][4].score is None
    assert found.counts("s") == dict(zip(LEVELS, (1, 2, 1, 1), strict=True))


@pytest.mark.parametrize(
    ("cuts", "due"),
    [(Bands(0.8, None), ["success", "partial"]), (Bands(None, 0.8), ["partial", "failed"]),
     (Bands(None, None), ["partial", "partial"])],
)  # fmt: skip
def test_a_side_without_a_cut_decides_nothing(cuts, due):
    found = compare_scorers([answer("a", s=0.9), answer("b", s=0.1)], [Given("s")], {"s": cuts})
    assert levels(found, "s") == due


def test_a_scorer_without_cuts_tells_its_scores_only():
    pairs = [answer("a", s=0.9, t=0.1)]
    found = compare_scorers(pairs, [Given("s"), Given("t")], {"s": CUTS})
    assert (levels(found, "t"), found.marks["t"][0].score) == ([None], 0.1)
    assert sum(found.counts("t").values()) == 0
    assert found.disagreements == ()


def test_the_most_disagreeing_questions_come_first():
    pairs = [
        answer("a", s=0.9, t=0.9, u=0.9),
        answer("b", s=0.9, t=0.5, u=0.9),
        answer("c1", "c", s=0.9, t=0.9, u=0.9),
        answer("c2", "c", s=0.9, t=0.1, u=0.1),
        answer("c3", "c", s=0.5, t=0.9, u=0.9),
        answer("d", s=0.9, t=0.1),
    ]
    found = compare_scorers(pairs, map(Given, "stu"), dict.fromkeys("stu", CUTS))
    assert [(each.question, each.at) for each in found.disagreements] == [
        ("question d", (5,)),
        ("question c", (3, 4)),
        ("question b", (1,)),
    ]
    assert [each.amount for each in found.disagreements] == pytest.approx([1, 2 / 3, 1 / 3])


def test_an_unscored_answer_disagrees_with_nobody():
    found = compare_scorers([answer("a", s=0.9)], [Given("s"), Given("t")], dict.fromkeys("st", CUTS))
    assert levels(found, "t") == ["unscored"]
    assert found.disagreements == ()


def test_what_does_not_fit_is_told():
    with pytest.raises(InputError, match="the scorer 's' is given 2 times; give each once"):
        compare_scorers([], [Given("s"), Given("s")])
    with pytest.raises(InputError, match="cuts are given for 't', which is none of the scorers: s"):
        compare_scorers([], [Given("s")], {"t": CUTS})
