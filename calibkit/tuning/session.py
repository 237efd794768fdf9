"""A person at work on the thresholds: which labels may be shown, where the handles stand, what is written down."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibkit import store
from calibkit.bands import Bands, short_decimal
from calibkit.calibration import Calibration, HandSet, _stages_key, calibrate, load_cascade
from calibkit.cascade import Cascade, Verdict
from calibkit.embedding import load_embedder
from calibkit.grading import Comparison, compare
from calibkit.ledger import Configuration, Ledger, Planned
from calibkit.normalize import NORMALIZER_VERSION
from calibkit.pairs import InputError, PairSet, counted
from calibkit.policy import BandsStage, Evidence, ExactStage, JudgeStage, Policy, RulesStage, fingerprint_stages
from calibkit.rules import DEFAULT_RULES, RuleName
from calibkit.scorers import EMBEDDING_SCORERS, Scorer, find_scorer
from calibkit.tuning import goals
from calibkit.tuning.figures import Figures, Prices, Side
from calibkit.tuning.goals import Place
from calibkit.tuning.kinds import Mistake, Mistakes, tell_kind
from calibkit.tuning.table import TuningTable, fewest_labels, tell_promise


@dataclass(frozen=True)
class Setup:
    """A configuration: all that shapes the ranking or the claim, but the thresholds."""

    scorer: str | Scorer = "token_recall"
    precision: float = 0.95
    fail_precision: float | None = None
    """None: no certificate for the fails is asked for."""
    confidence: float = 0.9
    exact_rung: Literal[1, 2, 3, 4] | None = 4
    rules: RulesStage | Sequence[RuleName] = DEFAULT_RULES
    locale: str | None = None
    tag: str | None = None
    """The slice: only answers with this tag; None: all."""

    def __post_init__(self) -> None:
        if not isinstance(self.rules, RulesStage):
            object.__setattr__(self, "rules", RulesStage(stage="rules", rules=list(self.rules)))

    @property
    def scorer_name(self) -> str:
        """What the scorer is called."""
        return self.scorer if isinstance(self.scorer, str) else self.scorer.name


_SETUP = tuple(each.name for each in fields(Setup))


class Tuning:
    """A set of labelled answers, one configuration at a time, and two handles.

    A configuration that the set's ledger knows as declared, and looked at on these very labels, is shown on the
    certifying labels. Any other is shown on the development part, which spends nothing and certifies nothing.

    Parameters
    ----------
    pairs
        The answers.
    prices
        What calls and mistakes cost.
    options
        The fields of `Setup`, and what else `calibrate` takes (drawn, kind, development, looks, configurations,
        ledger, embedder, name).

    Examples
    --------
    >>> from calibkit import AnswerPair
    >>> pairs = PairSet([
    ...     AnswerPair(f"a{n}", (f"part {n}",), f"part {n}" if n % 9 else "none", question=f"q{n}", labelled=True,
    ...                acceptable=bool(n % 9)) for n in range(300)])
    >>> tuning = Tuning(pairs, scorer="token_recall", exact_rung=None, rules=(), precision=0.9)
    >>> tuning.declared, tuning.declare().declared
    (False, True)
    >>> tuning.bands, tuning.figures.passes.why
    (Bands(pass_at_or_above=0.5, fail_below=None), 'certified: 0 of 196 passes are wrong, 11 may be')
    >>> tuning.move(pass_step=0).figures.passes.why
    'not certified: 27 of 223 passes are wrong, no more than 13 may be'
    """

    def __init__(self, pairs: PairSet, *, prices: Prices | None = None, **options: Any) -> None:
        for name in ("explore", "hand_set", "new_plan", "now"):
            if name in options:
                raise InputError(f"the tuner sees to {name!r} itself; leave it out")
        self.all_pairs = pairs
        self.prices = prices or Prices()
        self._options = {name: value for name, value in options.items() if name not in _SETUP}
        self._declared: set[str] = set()
        """Keys of what was declared where no ledger is kept."""
        self._kinds: dict[tuple[str, str, str | None], tuple[str, str]] = {}
        self.place = Place(0, 0)
        self._open(Setup(**{name: value for name, value in options.items() if name in _SETUP}))

    # --- what is shown ---

    @property
    def declared(self) -> bool:
        """Whether the configuration is declared, and its figures those of the certifying labels."""
        return self._evidence.accounting is not None

    @property
    def figures(self) -> Figures:
        """What the handles do where they stand."""
        return self.table.figures(self.place.pass_step, self.place.fail_step, self.prices)

    @property
    def bands(self) -> Bands:
        """Where the handles stand."""
        return self.figures.bands

    @property
    def _evidence(self) -> Evidence:
        assert self.calibration.policy.evidence is not None
        return self.calibration.policy.evidence

    @property
    def _stage(self) -> BandsStage:
        assert self.calibration.policy.bands_stage is not None
        return self.calibration.policy.bands_stage

    @property
    def standing(self) -> str:
        """Which labels are shown, and what declaring the configuration would cost where it is not."""
        if self.declared:
            return (
                f"Declared: shown on the {counted(self.table.labelled, 'certifying label')}. Only the thresholds are "
                "free now, and the promise holds for every certified one, wherever you drag."
            )
        return (
            f"Not declared: shown on the development part, {counted(self.table.labelled, 'labelled answer')} kept for "
            "exploring. Nothing is certified here. "
            + (f"No look was granted: {self._refusal}." if self._refusal else self.cost_of_declaring())
        )

    @property
    def tags(self) -> dict[str, int]:
        """Tags of the labelled answers with their numbers, the commonest first."""
        return dict(Counter(tag for pair in self.all_pairs if pair.labelled for tag in pair.tags).most_common())

    @property
    def notes(self) -> Sequence[str]:
        """What else a person should know, a line each."""
        return self.calibration.notes

    def cost_of_declaring(self) -> str:
        """Say what declaring this configuration takes, and what room for one more would do to every certificate."""
        plan, declared, n = self._plan, self._declared_so_far(), self._evidence.labels.certifying
        text = f"The plan has room for {counted(plan.configurations, 'configuration')}"
        if len(declared) < plan.configurations:
            text += (
                f" ({len(declared)} declared so far): declaring this one takes a place, and a look at "
                f"{counted(n, 'certifying label')}."
            )
        else:
            text += (
                f", and it is taken ({'; '.join(declared)}): this one certifies only on fresh labels, under a new plan."
            )
        sides = 1 if self.setup.fail_precision is None else 2
        delta, alpha = round(1 - self.setup.confidence, 12), round(1 - self.setup.precision, 12)
        risks = [delta / (plan.looks * places * sides) for places in (plan.configurations, plan.configurations + 1)]
        due = [fewest_labels(alpha, risk, n) for risk in risks]
        cost = f": without a wrong one {due[1]} passes instead of {due[0]} are due" if due[0] != due[1] else ""
        return (
            f"{text} Room for one more, planned before the first look, lowers the risk of each certificate from "
            f"{risks[0]:.3g} to {risks[1]:.3g}{cost}."
        )

    # --- moving ---

    def move(self, pass_step: int | None = None, fail_step: int | None = None) -> Tuning:
        """Put one handle or both at a step of the table; a handle stops at the other one."""
        for step in (pass_step, fail_step):
            if step is not None and (type(step) is not int or not 0 <= step <= self.table.last):
                raise InputError(f"a handle stands at a step from 0 to {self.table.last}, not {step!r}")
        if pass_step is None:
            pass_step = self.place.pass_step
        elif fail_step is None:
            pass_step = max(pass_step, self.place.fail_step)
        self.place = Place(pass_step, min(self.place.fail_step if fail_step is None else fail_step, pass_step))
        return self

    def set(self, bands: Bands) -> Tuning:
        """Put the handles at thresholds, exactly."""
        self.table = TuningTable.of(self.calibration, self._pool, bands)
        steps = self.table.step_of("pass", bands.pass_at_or_above), self.table.step_of("fail", bands.fail_below)
        self.place = Place(*steps)
        return self

    def aim(self, goal: Literal["smallest_pass", "largest_fail", "lowest_cost", "review"], most: float = 0.25) -> str:
        """Put the handles where a goal is met, among certified thresholds where there are any.

        Parameters
        ----------
        goal
            "smallest_pass": the smallest certified pass threshold. "largest_fail": the largest certified fail
            threshold. "lowest_cost": by the prices. "review": at most a share `most` of the pool is left to review.

        Returns
        -------
        str
            What was reached, in a sentence.
        """
        table, now, explored = self.table, self.place, not self.declared
        match goal:
            case "smallest_pass":
                self.place, said = goals.smallest_pass(table, now)
            case "largest_fail":
                self.place, said = goals.largest_fail(table, now)
            case "lowest_cost":
                self.place, said = goals.lowest_cost(table, now, self.prices, explored)
            case "review":
                self.place, said = goals.review_at_most(table, now, most, explored)
            case _:
                raise InputError(f"there is no goal {goal!r}; give smallest_pass, largest_fail, lowest_cost or review")
        return said

    # --- configurations ---

    def switch(self, **changes: Any) -> Tuning:
        """Show another configuration.

        Parameters
        ----------
        changes
            The fields of `Setup` that change.
        """
        if unknown := sorted(changes.keys() - set(_SETUP)):
            raise InputError(f"a configuration has no {unknown[0]!r}; it has {', '.join(_SETUP)}")
        setup = replace(self.setup, **changes)
        if setup != self.setup:
            self._open(setup)
        return self

    def declare(self) -> Tuning:
        """Declare the configuration and look at the certifying labels, as far as the plan grants it."""
        if self.declared:
            return self
        if self._ledger is None and len(self._declared) >= self._plan.configurations:
            self._refusal = "one configuration was declared already, and without a ledger no more can be counted"
            return self
        found = self._calibrate(self.setup, explore=False)
        evidence = found.policy.evidence
        assert evidence is not None
        if evidence.accounting is None:
            self._refusal = evidence.pass_.reason or ""
        else:
            self._declared.add(str(self.configuration))
            self._show(self.setup, found)
        return self

    def _open(self, setup: Setup) -> None:
        self._show(setup, self._calibrate(setup, explore=True))
        # The same labels again are the same look; any other one is for the person to ask for.
        key, labels = self.configuration.key, self._evidence.labels.fingerprint
        looks = self._ledger.looks if self._ledger else []
        if any((look.configuration, look.labels) == (key, labels) for look in looks) or (
            self._ledger is None and str(self.configuration) in self._declared
        ):
            self._show(setup, self._calibrate(setup, explore=False))

    def _show(self, setup: Setup, found: Calibration) -> None:
        """Put the handles where calibrating chose; while exploring, where the labels shown meet the target."""
        self.setup, self.calibration, self._refusal = setup, found, ""
        self._pool = self._places(found)
        self.set(self._stage.bands)
        if not self.declared:
            alpha = round(1 - setup.precision, 12)
            meets = (at for at, step in enumerate(self.table.passes) if step.wrong < alpha * step.decided)
            self.move(pass_step=next(meets, self.table.last))

    def _calibrate(self, setup: Setup, *, explore: bool, hand_set: HandSet | None = None) -> Calibration:
        asked = {name: getattr(setup, name) for name in _SETUP if name != "tag"}
        if setup.scorer_name in EMBEDDING_SCORERS and isinstance(setup.scorer, str):
            asked["embedder"] = self._embedder
        return calibrate(self._slice(setup.tag), **{**self._options, **asked}, explore=explore, hand_set=hand_set)

    def _slice(self, tag: str | None) -> PairSet:
        if tag is None:
            return self.all_pairs
        if self._ledger is None:
            raise InputError(
                "a slice needs the set's ledger, which keeps certifying questions apart; load a file or set"
            )
        some = tuple(pair for pair in self.all_pairs if tag in pair.tags)
        if not any(pair.labelled for pair in some):
            raise InputError(f"no labelled answer has the tag {tag!r}; there are {', '.join(self.tags) or 'none'}")
        return replace(self.all_pairs, pairs=some, filters=(*self.all_pairs.filters, f"tags lack {tag}"))

    @cached_property
    def _embedder(self) -> Any:
        return self._options.get("embedder") or load_embedder()

    @staticmethod
    def _places(found: Calibration) -> NDArray[np.float64]:
        """The place of every answer of the pool in the ranking."""
        place = found.scores.values.copy()
        early = [stage for stage in found.policy.stages if not isinstance(stage, BandsStage)]
        if early:
            cascade = Cascade(found.policy.model_copy(update={"stages": early, "evidence": None}))
            for at, verdict in enumerate(cascade.decide_early(found.pairs.pairs)):
                if verdict is not None:
                    place[at] = {"pass": np.inf, "fail": -np.inf}.get(verdict.outcome, np.nan)
        return place

    @property
    def _ledger(self) -> Ledger | None:
        given = self._options.get("ledger")
        path = Path(given) if given is not None else store.ledger_path(self.all_pairs)
        return store.load_ledger(path) if path is not None else None

    @property
    def _plan(self) -> Planned:
        ledger = self._ledger
        if ledger is not None and ledger.is_planned:
            return ledger.plan
        return Planned(looks=self._options.get("looks") or 1, configurations=self._options.get("configurations") or 1)

    def _declared_so_far(self) -> list[str]:
        return list(map(str, self._ledger.declared.values())) if self._ledger else sorted(self._declared)

    @property
    def configuration(self) -> Configuration:
        """The configuration, as the ledger writes it."""
        policy, stage, setup = self.calibration.policy, self._stage, self.setup
        early = [each for each in policy.stages if not isinstance(each, BandsStage)]
        return Configuration(
            scorer=stage.scorer.name,
            scorer_version=stage.scorer.version,
            model=stage.model.fingerprint if stage.model else None,
            exact_rung=setup.exact_rung,
            rules=tuple(policy.rules_stage.rules) if policy.rules_stage else (),
            stages=_stages_key(early, stage, policy.locale),
            normalizer_version=NORMALIZER_VERSION,
            precision=setup.precision,
            fail_precision=setup.fail_precision,
            filters=tuple(self.calibration.pairs.filters),
        )

    # --- mistakes ---

    def mistakes(self, side: Side, most: int = 12) -> Mistakes:
        """Find the mistakes nearest to a handle; where there are none, the answers that come nearest to one.

        Parameters
        ----------
        side
            "pass": passes that a person does not accept. "fail": fails that a person accepts.
        most
            How many to list.
        """
        ranking, bands = self.calibration.ranking, self.bands
        inside, wrong = ranking.passes(bands), ranking.rejected
        outward = np.argsort(ranking.place, kind="stable")
        if side == "fail":
            inside, wrong, outward = ranking.fails(bands), ranking.accepted, outward[::-1]
        found = outward[(inside & wrong)[outward]]
        what, total = f"False {'passes' if side == 'pass' else 'fails'}", len(found)
        title = f"{what}: {total}" + (f", the nearest {most}" if total > most else "")
        if not total:
            inward = outward[::-1]
            found = inward[(~inside & wrong & np.isfinite(ranking.place))[inward]]
            title = f"{what}: none; the next ones would be" if len(found) else f"{what}: none"
        return Mistakes(side, title, total, tuple(map(self._mistake, found[:most].tolist())))

    def _mistake(self, at: int) -> Mistake:
        pair, stage = self.calibration.pairs[self.calibration.ranked[at]], self.calibration.ranking.stage[at]
        key = pair.id, stage, self.setup.locale
        if key not in self._kinds:
            self._kinds[key] = tell_kind(pair, self.setup.locale, stage)
        return Mistake(pair, float(self.calibration.ranking.place[at]), stage, *self._kinds[key])

    # --- policies ---

    @property
    def moved(self) -> bool:
        """Whether the handles stand elsewhere than calibrating put them."""
        return self.bands != self._stage.bands

    def policy(self, *, because: str | None = None, set_by: str | None = None) -> Policy:
        """The policy with these thresholds and the evidence for them; no further look is taken.

        Parameters
        ----------
        because
            Why the thresholds stand where they do; due where a person moved them.
        set_by
            Who moved them.

        Raises
        ------
        InputError
            For thresholds that were moved without a reason.
        """
        because, set_by = (" ".join((text or "").split()) or None for text in (because, set_by))
        if because is None:
            if self.moved:
                raise InputError("the thresholds were moved: say why (because), for whoever finds them in the policy")
            return self.calibration.policy
        bands, own = self.bands, self._stage.bands
        edges = [-np.inf, *self.table.scores.tolist(), np.inf]
        # Calibrating takes "none" for "choose one": where it would, it is told the threshold that decides no label.
        pass_at, fail_below = bands.pass_at_or_above, bands.fail_below
        if pass_at is None and own.pass_at_or_above is not None:
            pass_at = short_decimal(*edges[-2:])
        if fail_below is None and own.fail_below is not None:
            fail_below = short_decimal(*edges[:2])
        hand_set = HandSet(pass_at, fail_below, set_by, because)
        policy = self._calibrate(self.setup, explore=not self.declared, hand_set=hand_set).policy
        return policy if (pass_at, fail_below) == (bands.pass_at_or_above, bands.fail_below) else self._without(policy)

    def _without(self, policy: Policy) -> Policy:
        """Take the threshold away again that stood for none."""
        evidence, bands = policy.evidence, self.bands
        assert evidence is not None
        passes, fails = evidence.pass_, evidence.fail
        if bands.pass_at_or_above is None and not passes.certified:
            passes = passes.model_copy(update={"reason": self.figures.passes.reason})
        if bands.fail_below is None and not fails.certified:
            fails = fails.model_copy(update={"reason": self.figures.fails.reason})
        sentence = tell_promise(evidence, passes, fails, bands)
        evidence = evidence.model_copy(update={"pass_": passes, "fail": fails, "sentence": sentence})
        return self._at_the_handles(policy).model_copy(update={"evidence": evidence})

    def _at_the_handles(self, policy: Policy) -> Policy:
        cuts = {"pass_at_or_above": self.bands.pass_at_or_above, "fail_below": self.bands.fail_below}
        stages = [each.model_copy(update=cuts) if isinstance(each, BandsStage) else each for each in policy.stages]
        return policy.model_copy(update={"stages": stages})

    def export(self, path: str | os.PathLike[str], *, because: str | None = None, set_by: str | None = None) -> Policy:
        """Write the policy with its evidence, whole or not at all; see `policy`."""
        policy = self.policy(because=because, set_by=set_by)
        store.write_text(path, policy.to_yaml())
        return policy

    def load(self, policy: Policy | str | os.PathLike[str]) -> Tuning:
        """Show a policy's configuration, and put the handles where its thresholds are.

        Raises
        ------
        InputError
            For a policy with stages that calibrating does not make, or with another model.
        """
        policy = policy if isinstance(policy, Policy) else store.load_policy(policy)
        stage = policy.bands_stage
        if stage is None or policy.fields_stage is not None:
            what = "no bands" if stage is None else "a stage 'fields'"
            raise InputError(f"the policy {policy.name!r} has {what}; the tuner shows exact, rules and bands")
        exact = next((each for each in policy.stages if isinstance(each, ExactStage)), None)
        setup = replace(
            self.setup,
            scorer=self.setup.scorer if stage.scorer.name == self.setup.scorer_name else stage.scorer.name,
            exact_rung=exact.rung if exact else None,  # type: ignore[arg-type]
            rules=policy.rules_stage or (),
            locale=policy.locale,
        )
        if (evidence := policy.evidence) is not None:
            setup = replace(
                setup,
                precision=evidence.pass_.target or setup.precision,
                fail_precision=evidence.fail.target,
                confidence=evidence.pass_.confidence or setup.confidence,
            )
        before = self.setup
        if setup != before:
            self._open(setup)
        own = self.calibration.policy
        if fingerprint_stages(own.stages, own.locale) != fingerprint_stages(policy.stages, policy.locale):
            self._open(before)
            raise InputError(f"the policy {policy.name!r} was made with another model or scorer; calibrate again")
        return self.set(stage.bands)

    def compare(self, other: Policy | str | os.PathLike[str]) -> Comparison:
        """What becomes of these answers by another policy (before) and by the handles (after); no judge is asked."""
        other = other if isinstance(other, Policy) else store.load_policy(other)
        groups = {pair.id: pair.group_key for pair in self.calibration.pairs}
        before, after = self._grade(other), self._grade(self._at_the_handles(self.calibration.policy))
        return compare(before, after, groups)

    def _grade(self, policy: Policy) -> Iterator[Verdict]:
        stages = [stage for stage in policy.stages if not isinstance(stage, JudgeStage)]
        bare = policy.model_copy(update={"stages": stages, "evidence": None})
        scorer, stage = self.setup.scorer, bare.bands_stage
        if stage is None or stage.scorer.name != self.setup.scorer_name:
            cascade = load_cascade(bare)
        elif stage.model is not None and isinstance(scorer, str):
            cascade = Cascade(bare, embedder=self._embedder)
        else:
            cascade = Cascade(bare, scorer=find_scorer(scorer) if isinstance(scorer, str) else scorer)
        return cascade.grade_all(self.calibration.pairs)
