"""The mistakes beside a handle, by what is wrong with them: where a value differs, no threshold is the cure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from calibkit.mistakes import Segments, compare, cut, nearest_reference
from calibkit.pairs import AnswerPair, counted
from calibkit.rules import RULE_NAMES, RuleName, RuleSettings, check_languages, check_rules
from calibkit.tuning.figures import Side

KINDS: Final = ("negation", "number", "date", "identifier", "short answer", "long answer", "other")
_KIND_OF_RULE: Final[Mapping[str, str]] = {
    "negation": "negation", "number": "number", "money": "number", "percent": "number", "quantity": "number",
    "date": "date", "time": "date", "identifier": "identifier",
}  # fmt: skip
_STRICT: Final = RuleSettings(
    missing_value="fail", precision_mismatch="fail", missing_unit="fail", missing_zone="fail",
    extra_values="contradicting",
)  # fmt: skip
"""What a rule would say if it had to decide: tells which values differ, whatever the settings let pass."""
_LONG: Final = 20
"""Words from which an answer may be called long."""


@dataclass(frozen=True)
class Mistake:
    """A labelled answer on the wrong side of a handle, or nearest to it."""

    pair: AnswerPair
    place: float
    """Its score; infinite where it was decided before."""
    stage: str
    """What decided: "bands" for the score."""
    kind: str
    """One of `KINDS`."""
    why: str
    """What differs, where that can be told."""

    def texts(self) -> tuple[Segments, Segments]:
        """The nearest reference and the answer, each with what only it has marked."""
        candidate = cut(self.pair.candidate)[0]
        if not self.pair.references:
            return [("(none)", False)], [(candidate, False)]
        return compare(cut(self.pair.references[nearest_reference(self.pair)])[0], candidate)


@dataclass(frozen=True)
class Mistakes:
    """The mistakes of one side."""

    side: Side
    title: str
    """What they are; says so where they are none."""
    total: int
    """How many mistakes there are; 0 where those listed only come nearest to one."""
    nearest: tuple[Mistake, ...]
    """Nearest to the threshold first."""

    def by_kind(self) -> dict[str, tuple[Mistake, ...]]:
        """Those listed, by kind, in the order of `KINDS`."""
        groups = {kind: tuple(one for one in self.nearest if one.kind == kind) for kind in KINDS}
        return {kind: some for kind, some in groups.items() if some}


def tell_kind(pair: AnswerPair, locale: str | None = None, stage: str = "bands") -> tuple[str, str]:
    """Say in what an answer differs from its references, by the rules' own reading of the texts.

    Parameters
    ----------
    pair
        The answer.
    locale
        Of the texts.
    stage
        What decided about it: a rule has said already what differs.

    Returns
    -------
    (kind, why)
        One of `KINDS`, and what differs, where that can be told.

    Examples
    --------
    >>> tell_kind(AnswerPair("a", ("It ships on 12 March 2026.",), "It ships on 13 March 2026."))[0]
    'date'
    >>> tell_kind(AnswerPair("a", ("Lorries may enter the yard.",), "Lorries may not enter the yard."))[0]
    'negation'
    >>> tell_kind(AnswerPair("a", ("The parcel comes by lorry in the morning.",), "By lorry."))
    ('short answer', '2 words for 8')
    """
    decided = _KIND_OF_RULE.get(stage.removeprefix("rule:"))
    names: list[RuleName] = [name for name in RULE_NAMES if name in _KIND_OF_RULE]
    try:
        check_languages(names, locale)
    except ValueError:  # a language whose negations nobody has written down
        names.remove("negation")
    for result in check_rules(pair, names, locale=locale, settings=_STRICT):
        kind = _KIND_OF_RULE[result.rule]
        if result.outcome == "fail" and kind == (decided or kind):
            return kind, result.reason
    if decided:
        return decided, ""
    if not pair.references:
        return "other", "the question has no answer"
    words, due = len(pair.candidate.split()), len(pair.references[nearest_reference(pair)].split())
    if 2 * words <= due:
        return "short answer", f"{counted(words, 'word')} for {due}"
    if words >= max(_LONG, 3 * due):
        return "long answer", f"{counted(words, 'word')} for {due}"
    return "other", ""


_CURES: Final[Mapping[str, str]] = {
    "negation": "No threshold tells a sentence from its denial: the rule negation does.",
    "number": "No threshold tells one amount from another: the rules number, money, percent and quantity do.",
    "date": "No threshold tells one day from another: the rules date and time do.",
    "identifier": "No threshold tells one code from another: the rule identifier does.",
    "short answer": "Fewer words than the reference: scorers of recall and F1 count what is left out.",
    "long answer": "Many more words than the reference: scorers of precision and F1 count them.",
}


def tell_cure(kind: str, rules_on: bool) -> str:
    """Say what helps against mistakes of a kind better than another threshold; empty where nothing is known to.

    >>> tell_cure("date", rules_on=False)
    'No threshold tells one day from another: the rules date and time do. Switch rules on.'
    """
    cure = _CURES.get(kind, "")
    if not cure or kind not in _KIND_OF_RULE.values():
        return cure
    if rules_on:
        return f"{cure} They are on and left these undecided: their settings, or a reference in more forms, may decide."
    return f"{cure} Switch rules on."
