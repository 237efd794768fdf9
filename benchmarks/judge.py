"""What the stages before a judge cost in agreement with people, and what they save in calls.

    python -m benchmarks.judge PAIRS --judge-column COLUMN [--reply yes_no] [--map KEY=COLUMN]... [--figure curve.svg]

PAIRS holds answers that people labelled and, in a column, the recorded replies of a judge to all of them. The cascade
is: exact answers pass, the hard rules fail, a scorer's bands decide, and the gray zone is the judge's. Over random
halves of the questions the two thresholds are chosen on one half: of all pairs of thresholds that leave at most the
wanted share of its answers to the judge, the one whose cascade agrees best with people. The other half is graded, and
the judge alone grades it, too; a cell shows by how many points the cascade agrees more often (+) or less (-), and which
share of the answers it asked the judge about. Nothing is chosen on the half that is graded.

The halves share their questions, so that their spread says little about other questions. The standard errors are those
of a bootstrap: questions are drawn with replacement, and all is done anew, choice of thresholds included. (The copies
of a question stay in one half.)

A scorer A+B is the mean of two. "learned" (--train FILE: labelled answers to other questions) is no scorer of the
package, but one that could be registered: gradient boosting over all scorers, the lengths of the texts, whether they
hold digits, and the word that asks. "chosen" takes, for each half, the scorer that agrees best on the half that is not
graded. A reply that cannot be read passes nothing, in the cascade and alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from calibkit import AnswerPair, Cascade, Columns, InputError, Policy, load_embedder, load_pairs, score_pairs
from calibkit.normalize import normalize
from calibkit.policy import SCHEMA, ExactStage, RulesStage
from calibkit.replies import Opinion, ReplyForm, read_reply
from calibkit.rules import DEFAULT_RULES, RULE_NAMES
from calibkit.scorers import EMBEDDING_SCORERS, LEXICAL_SCORERS

SCORERS = (
    "contains",
    "token_recall",
    "token_recall_f1",
    "token_f1",
    "rougeL_stemmed",
    "cosine",
    "cosine_question",
    "token_recall+cosine_question",
)
SHARES = (0.0, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.63)

_ASKING = ("who", "when", "where", "how many", "how long", "what", "which")

_MOST_CUTS = 100
_DRAWS = 200
_HALVES_A_DRAW = 20

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Answers:
    """What people and the judge say, and which question each answer belongs to; shape (n_answers,) each."""

    acceptable: Bools
    judged: Bools
    """Whether the judge passes the answer."""
    question: NDArray[np.int64]

    @property
    def judge_is_right(self) -> Floats:
        """1 where the judge says what people say."""
        return np.asarray(self.judged == self.acceptable, dtype=np.float64)


class Ranked:
    """The answers in the order of a scorer; those that an earlier stage decided stand at its ends.

    Parameters
    ----------
    place
        Shape (n_answers,): the score; infinite where an earlier stage passes or fails; NaN, unscored, is the judge's.
    answers
        The answers.
    """

    def __init__(self, place: Floats, answers: Answers) -> None:
        finite = np.unique(place[np.isfinite(place)])
        if not len(finite):
            raise InputError("a scorer scores none of the answers that the stages before it leave")
        if len(finite) > _MOST_CUTS:
            finite = np.unique(np.quantile(place[np.isfinite(place)], np.linspace(0, 1, _MOST_CUTS)))
        # Midway between scores, and beyond both ends.
        cuts = np.concatenate([finite[:1], (finite[1:] + finite[:-1]) / 2, finite[-1:] + 1])
        self.n_cuts = len(cuts)
        self._level = np.searchsorted(cuts, place, side="right")  # the number of cuts at or below
        self._unscored = np.isnan(place)
        scored = (~self._unscored).astype(float)
        self._if_failed = scored * (~answers.acceptable - answers.judge_is_right)
        self._if_passed = scored * (answers.acceptable - answers.judge_is_right)

    def _below(self, values: Floats) -> Floats:
        """Sums over the answers below each cut."""
        return np.asarray(np.cumsum(np.bincount(self._level, values, self.n_cuts + 1))[:-1], dtype=np.float64)

    def choose(self, weights: Floats, shares: Sequence[float]) -> list[tuple[int, int, float]]:
        """For each share the cuts (fail below, pass at or above) of best agreement, and that beyond the judge's.

        `weights` has the shape (n_answers,): how often each answer counts.
        """
        failed = self._below(weights * self._if_failed)
        passed = (weights * self._if_passed).sum() - self._below(weights * self._if_passed)
        below, unscored = self._below(weights * ~self._unscored), (weights * self._unscored).sum()
        gray = below[None, :] - below[:, None] + unscored
        gain = failed[:, None] + passed[None, :] - 1e-6 * gray  # of equals, the one with fewer calls
        gain[np.tril_indices(self.n_cuts, -1)] = -np.inf
        found = []
        for share in shares:
            # Without unscored answers there always is one: no gray zone at all.
            allowed = np.where(gray <= max(share * weights.sum(), unscored) + 1e-9, gain, -np.inf)
            low, high = np.unravel_index(int(np.argmax(allowed)), allowed.shape)
            found.append((int(low), int(high), float(allowed[low, high])))
        return found

    def grade(self, low: int, high: int) -> tuple[Floats, Bools]:
        """For each answer how much more often than the judge it is decided rightly (-1 to 1), and who is asked."""
        failed, passed = self._level <= low, self._level > high
        failed, passed = failed & ~self._unscored, passed & ~self._unscored
        return failed * self._if_failed + passed * self._if_passed, ~failed & ~passed


@dataclass(frozen=True)
class Curve:
    """One scorer's cells, one for each share."""

    scorer: str
    difference: Floats
    """In agreement, cascade minus judge alone."""
    standard_error: Floats
    """By question."""
    spread: Floats
    """Standard deviation over halves."""
    asked: Floats
    """Share of answers that the judge was asked about."""


def over_halves(
    ranked: Mapping[str, Ranked],
    question: NDArray[np.int64],
    halves: NDArray[np.bool_],
    counts: Floats,
    shares: Sequence[float],
) -> dict[str, tuple[Floats, Floats]]:
    """Differences and shares of calls, shape (n_halves, n_shares) each, by scorer, and for the chosen one.

    Parameters
    ----------
    ranked
        The scorers.
    question
        Shape (n_answers,): the question of each answer.
    halves
        Shape (n_halves, n_questions): which questions thresholds are chosen on.
    counts
        Shape (n_questions,): how often each question counts.
    shares
        The wanted shares.
    """
    found = {name: (np.empty((len(halves), len(shares))), np.empty((len(halves), len(shares)))) for name in ranked}
    found["chosen"] = (np.empty((len(halves), len(shares))), np.empty((len(halves), len(shares))))
    for at, half in enumerate(halves):
        tuning, grading = (counts * half)[question], (counts * ~half)[question]
        best = np.full(len(shares), -np.inf)
        for name, scorer in ranked.items():
            for column, (low, high, gain) in enumerate(scorer.choose(tuning, shares)):
                difference, asked = scorer.grade(low, high)
                cell = (grading @ difference / grading.sum(), grading @ asked / grading.sum())
                for part, value in zip(found[name], cell, strict=True):
                    part[at, column] = value
                if gain > best[column]:
                    best[column] = gain
                    for part, value in zip(found["chosen"], cell, strict=True):
                        part[at, column] = value
    return found


def measure(ranked: Mapping[str, Ranked], answers: Answers, shares: Sequence[float], n_halves: int) -> list[Curve]:
    """The curves of all scorers."""
    rng = np.random.default_rng(2026)
    n = int(answers.question.max()) + 1
    halves = np.array([rng.permutation(n) % 2 == 0 for _ in range(n_halves)])
    main = over_halves(ranked, answers.question, halves, np.ones(n), shares)
    drawn: dict[str, list[Floats]] = {name: [] for name in main}
    for _ in range(_DRAWS):
        counts = rng.multinomial(n, np.full(n, 1 / n)).astype(float)
        some = halves[rng.choice(n_halves, min(_HALVES_A_DRAW, n_halves), replace=False)]
        for name, (difference, _asked) in over_halves(ranked, answers.question, some, counts, shares).items():
            drawn[name].append(difference.mean(axis=0))
    return [
        Curve(name, difference.mean(axis=0), np.std(drawn[name], axis=0, ddof=1), difference.std(axis=0, ddof=1),
              asked.mean(axis=0))
        for name, (difference, asked) in main.items()
    ]  # fmt: skip


def early(pairs: Sequence[AnswerPair], rung: int, rules: Sequence[str], locale: str | None) -> Floats:
    """Infinite where the deterministic stages pass or fail, else NaN."""
    stages: list[ExactStage | RulesStage] = [ExactStage(stage="exact", rung=rung)] if rung else []
    if rules:
        stages.append(RulesStage(stage="rules", rules=list(rules)))  # type: ignore[arg-type]
    if not stages:
        return np.full(len(pairs), np.nan)
    verdicts = Cascade(Policy(schema=SCHEMA, name="benchmark", locale=locale, stages=list(stages))).decide_early(pairs)
    return np.array([np.nan if v is None else np.inf if v.outcome == "pass" else -np.inf for v in verdicts])


def score(pairs: Sequence[AnswerPair], name: str) -> Floats:
    """The scores of a scorer, or the mean of several."""
    embedder = load_embedder() if any(part in EMBEDDING_SCORERS for part in name.split("+")) else None
    values = [score_pairs(pairs, part, embedder=embedder).values for part in name.split("+")]
    return np.asarray(np.mean(values, axis=0))


def features(pairs: Sequence[AnswerPair]) -> Floats:
    """What a learned scorer sees of an answer; shape (n_answers, n_features)."""
    embedder = load_embedder()
    scores = [score_pairs(pairs, name, embedder=embedder).values for name in (*LEXICAL_SCORERS, *EMBEDDING_SCORERS)]
    texts = [
        [
            len(pair.candidate.split()),
            min(len(text.split()) for text in pair.references),
            any(map(str.isdigit, pair.candidate)),
            all(any(map(str.isdigit, text)) for text in pair.references),
            *(word in pair.question.casefold() for word in _ASKING),
        ]
        for pair in pairs
    ]
    return np.column_stack([*scores, np.array(texts, dtype=float)])


def learn(path: Path, columns: Columns, most: int, pairs: Sequence[AnswerPair]) -> Floats:
    """Score pairs as people labelled the answers of another file, those to none of the same questions."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    same = {normalize(pair.question, 2) for pair in pairs}
    other = [pair for pair in load_pairs(path, columns) if pair.labelled and not pair.cannot_say and pair.references]
    other = [pair for pair in other if normalize(pair.question, 2) not in same]
    chosen = np.random.default_rng(2026).permutation(len(other))[:most]
    model = HistGradientBoostingClassifier(max_iter=80, learning_rate=0.06, max_leaf_nodes=8, random_state=0)
    model.fit(features([other[at] for at in chosen]), np.array([other[at].acceptable for at in chosen]))
    print(f"learned from {len(chosen)} answers of {path.name}\n")
    return np.asarray(model.predict_proba(features(pairs))[:, 1])


def judge(pairs: Sequence[AnswerPair], column: str, reply: ReplyForm) -> tuple[Bools, int]:
    """Whether the recorded replies pass, and how many cannot be read."""
    if column not in pairs[0].extra:
        raise InputError(f"there is no column {column!r}; there are {', '.join(pairs[0].extra)}")
    opinions = [read_reply(str(pair.extra[column]), reply) for pair in pairs]
    passes = np.array([isinstance(said, Opinion) and said.verdict == "pass" for said in opinions])
    return passes, sum(not isinstance(said, Opinion) for said in opinions)


def table(curves: Sequence[Curve], shares: Sequence[float]) -> str:
    """The curves as a table of markdown."""
    lines = ["| scorer | " + " | ".join(f"up to {share:.0%}" for share in shares) + " | spread over halves |"]
    lines.append("|---" * (len(shares) + 2) + "|")
    for curve in curves:
        cells = [
            f"{100 * d:+.1f} ± {100 * e:.1f} ({asked:.0%})"
            for d, e, asked in zip(curve.difference, curve.standard_error, curve.asked, strict=True)
        ]
        lines.append(f"| {curve.scorer} | " + " | ".join(cells) + f" | {100 * curve.spread.mean():.1f} |")
    return "\n".join(lines)


def draw(curves: Sequence[Curve], title: str, path: Path) -> None:
    """Draw the differences over the shares of calls."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for at, curve in enumerate(curves):
        chosen = curve.scorer == "chosen"
        axes.errorbar(
            100 * curve.asked,
            100 * curve.difference,
            100 * curve.standard_error if chosen else None,
            label=curve.scorer,
            marker="osD^vP*X"[at % 8],
            markersize=4,
            color="black" if chosen else None,
            linewidth=2 if chosen else 1.2,
            capsize=3,
        )
    axes.axhline(0, color="gray", linewidth=0.8)
    axes.axhline(-1, color="gray", linewidth=0.8, linestyle=":")
    axes.set_xlabel("answers that the judge is asked about (%)")
    axes.set_ylabel("agreement with people, minus the judge's (points)")
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    figure.savefig(path)
    plt.close(figure)


def conditions(leave_out: Sequence[str] | None) -> list[tuple[str, str]]:
    """Columns and values of the rows that are left out."""
    return [(left, right) for left, _, right in (part.partition("=") for part in leave_out or ())]


def main(
    pairs: Annotated[Path, typer.Argument(help="A file of labelled answers with a judge's replies.")],
    judge_column: Annotated[str, typer.Option(help="The column of the recorded replies.")],
    reply: Annotated[str, typer.Option(help="How they are read: json or yes_no.")] = "yes_no",
    scorer: Annotated[list[str] | None, typer.Option(help="Scorers, or A+B for the mean of two.")] = None,
    share: Annotated[list[float] | None, typer.Option(help="Shares of answers that may be left to the judge.")] = None,
    halves: Annotated[int, typer.Option(help="How many random halves.")] = 200,
    exact_rung: Annotated[int, typer.Option(help="0 for no exact stage.")] = 3,
    rules: Annotated[str, typer.Option(help="default, none, or names of rules.")] = "default",
    locale: Annotated[str | None, typer.Option(help="Of the texts, as in en_US.")] = None,
    map_: Annotated[list[str] | None, typer.Option("--map", help="KEY=COLUMN.")] = None,
    split_references: Annotated[str | None, typer.Option()] = None,
    leave_out: Annotated[list[str] | None, typer.Option(help="COLUMN=VALUE.")] = None,
    train: Annotated[Path | None, typer.Option(help="Labelled answers to learn a scorer from.")] = None,
    train_leave_out: Annotated[list[str] | None, typer.Option(help="COLUMN=VALUE.")] = None,
    train_most: Annotated[int, typer.Option(help="How many of them.")] = 2200,
    figure: Annotated[Path | None, typer.Option(help="Draw the curves to this PNG or SVG.")] = None,
) -> None:
    """Print the table."""
    if reply not in ("json", "yes_no") or halves < 2:
        raise InputError("--reply is json or yes_no, and there are two halves at least")
    columns = Columns(dict(part.split("=", 1) for part in map_ or ()), split_references, conditions(leave_out))
    loaded = load_pairs(pairs, columns)
    labelled = [pair for pair in loaded if pair.labelled]  # "cannot say" counts as not acceptable
    passes, unread = judge(labelled, judge_column, reply)  # type: ignore[arg-type]
    answers = Answers(
        np.array([pair.acceptable is True for pair in labelled]),
        passes,
        np.unique([pair.group_key for pair in labelled], return_inverse=True)[1],
    )
    named = {"default": DEFAULT_RULES, "none": ()}.get(rules, [name for name in RULE_NAMES if name in rules.split(",")])
    decided = early(labelled, exact_rung, named, locale)
    shares = tuple(share or SHARES)
    scores = {name: score(labelled, name) for name in scorer or SCORERS}
    if train is not None:
        scores["learned"] = learn(train, Columns(leave_out=conditions(train_leave_out)), train_most, labelled)
    ranked = {name: Ranked(np.where(np.isnan(decided), values, decided), answers) for name, values in scores.items()}
    curves = measure(ranked, answers, shares, halves)
    rate, right = answers.judge_is_right.mean(), answers.acceptable == np.isposinf(decided)
    print(
        f"{loaded.name}: {len(labelled)} answers to {answers.question.max() + 1} questions, {halves} halves. The judge "
        f"alone agrees with people on {rate:.1%} ({unread} replies unreadable)."
    )
    for what, where in (("exact passes", np.isposinf(decided)), ("the rules fail", np.isneginf(decided))):
        if where.any():
            alone = answers.judge_is_right[where].mean()
            print(f"{what} {where.mean():.1%}, rightly {right[where].mean():.1%} of them (the judge: {alone:.1%}).")
    print(f"\n{table(curves, shares)}\n")
    for curve in curves:
        enough = np.flatnonzero(curve.difference > -0.01)
        told = f"from {curve.asked[enough[0]]:.0%} of the calls on" if len(enough) else "at none of these shares"
        print(f"- {curve.scorer}: less than 1 point below the judge {told}")
    if figure is not None:
        draw(curves, f"{loaded.name}: the cascade against its judge alone ({rate:.1%}), {halves} halves", figure)
        print(f"\ndrawn to {figure}")


if __name__ == "__main__":
    typer.run(main)
