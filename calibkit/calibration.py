"""Labelled pairs and a configuration -> scores -> certified bands -> policy: the rooms strung together."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from calibkit import store
from calibkit.bands import (
    Bands,
    FailEvidence,
    PassEvidence,
    Ranking,
    choose_bands,
    explain_missing,
    fail_intervals,
    promise,
    unbounded,
)
from calibkit.blend import Blend, refuse_mixing
from calibkit.cascade import Cascade
from calibkit.certificate import Certificate
from calibkit.curve import Curve, compute_curve
from calibkit.embedding import Embedding, load_embedder
from calibkit.judge import Judge
from calibkit.label_log import append_queue, read_set_labels
from calibkit.ledger import (
    DEFAULT_DEVELOPMENT,
    Accounting,
    Configuration,
    Ledger,
    LedgerEvent,
    Planned,
    Refusal,
    SetMade,
)
from calibkit.normalize import NORMALIZER_VERSION
from calibkit.pairs import InputError, PairSet, counted, draw, fingerprint
from calibkit.policy import (
    SCHEMA,
    TOOL,
    AccountingEvidence,
    BandsStage,
    CurveEvidence,
    Evidence,
    ExactStage,
    FieldsStage,
    Histogram,
    LabelEvidence,
    ModelReference,
    Policy,
    PoolEvidence,
    RulesStage,
    ScorerReference,
    Stage,
    fingerprint_stages,
)
from calibkit.promises import certify_region
from calibkit.review import Pool, Queue, Region, grown_groups
from calibkit.review import certifying as queued
from calibkit.rules import DEFAULT_RULES, RuleName, faults_of_references
from calibkit.scorers import (
    EMBEDDING_SCORERS,
    LEXICAL_SCORERS,
    CosineScorer,
    Embedder,
    Scorer,
    Scores,
    find_scorer,
    score_pairs,
)

Drawn = Literal["random", "region", "assumed"]
_BINS = 20


@dataclass(frozen=True)
class HandSet:
    """Thresholds that a person sets instead of the certified choice."""

    pass_at: float | None = None
    fail_below: float | None = None
    set_by: str | None = None
    because: str | None = None


@dataclass(frozen=True)
class Calibration:
    """What calibrating found."""

    policy: Policy
    pairs: PairSet
    scores: Scores
    """Of all pairs of the set, in its order."""
    ranking: Ranking
    """The labelled answers that the figures are about: the certifying ones, or the development part where
    no look was granted."""
    ranked: tuple[int, ...]
    """Positions of the ranking's answers in `pairs`, in the ranking's order."""
    shown: tuple[int, ...]
    """Positions in `pairs` of the labelled answers that may be shown, unscored ones too."""
    curve: Curve | None
    """Of this ranking; None where nothing in it has a score."""
    pass_certificate: Certificate | None
    """None where no look was granted."""
    fail_certificate: Certificate | None
    """None where the fail side was not asked for, or no look was granted."""
    notes: Sequence[str] = field(default_factory=tuple)
    """What else a person should know, a line each."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy, whole or not at all."""
        store.write_text(path, self.policy.to_yaml())


def calibrate(
    pairs: PairSet,
    *,
    scorer: str | Scorer = "token_recall",
    precision: float = 0.95,
    fail_precision: float | None = None,
    confidence: float = 0.9,
    drawn: Drawn = "assumed",
    region: float | None = None,
    exact_rung: Literal[1, 2, 3, 4] | None = 4,
    rules: RulesStage | Sequence[RuleName] = DEFAULT_RULES,
    fields: FieldsStage | None = None,
    locale: str | None = None,
    hand_set: HandSet | None = None,
    development: float | None = None,
    kind: Literal["collected", "constructed"] | None = None,
    looks: int | None = None,
    configurations: int | None = None,
    new_plan: bool = False,
    explore: bool = False,
    ledger: str | os.PathLike[str] | None = None,
    name: str | None = None,
    embedder: Embedder | None = None,
    now: datetime | None = None,
) -> Calibration:
    """Certify bands for one configuration on labelled answers, and make them a policy.

    Parameters
    ----------
    pairs
        Labelled answers.
    scorer
        The scorer, by name or itself.
    precision
        The share of passes that a person must accept: 1 - alpha.
    fail_precision
        The share of fails that a person must reject; None: nothing fails by its score. Both sides are
        promised jointly.
    confidence
        1 - delta.
    drawn
        How the labelled answers were drawn from the pool; "assumed" where nobody can say, and the promise
        then begins with that condition.
    region
        The score from which on the set's region queue was drawn (`region_queue`): its labels, and random ones in the
        region, certify thresholds in it. Only the pass side has one here.
    exact_rung
        The rung of the stage `exact` before the bands; None for none.
    rules
        The hard rules before the bands, by name or as a stage with settings; empty for none.
    fields
        How structured answers (JSON) are compared, before the rules; None: as texts.
    locale
        Of the texts, as in en_US: how their numbers and dates are read. None: what has two readings decides nothing.
    hand_set
        Thresholds to export instead of the certified choice; certified where they lie in the certified set.
    development
        The share of the questions kept for exploring; fixed with the first calibration (default .25).
    kind
        Whether the answers were collected or written for the set; fixed with the first calibration.
    looks, configurations
        The plan over which the risk is shared; fixed before the first look (default 1 and 1).
    new_plan
        Begin a new plan: only questions that no look has used certify from now on.
    explore
        Look at the development part only: nothing is declared, no look is taken, nothing is certified.
    ledger
        The ledger's file, where it does not stand beside the pairs.
    name
        The policy's name (default: the set's).
    embedder
        The model for scorers that embed (default: the pinned one).
    now
        The time to note (default: the clock's).

    Returns
    -------
    Calibration
        With a policy whatever the outcome; where nothing could be certified the policy says so and why.

    Raises
    ------
    InputError
        Where no pair has a label, or an argument or a file is wrong.
    """
    for what, share in (("precision", precision), ("fail_precision", fail_precision), ("confidence", confidence)):
        if share is not None and not 0 < round(1 - share, 12) < 1:
            raise InputError(f"{what} must lie between 0 and 1 (both excluded), not {share}")
    if (region is not None) != (drawn == "region") or (region is not None and fail_precision is not None):
        raise InputError("a region is given with drawn='region', and for the pass side alone; mend the call")
    hand_set = hand_set or HandSet()
    Bands(hand_set.pass_at, hand_set.fail_below)  # refuses crossed ones before a look is spent
    labelled = [pair for pair in pairs if pair.labelled]
    if not labelled:
        raise InputError(
            f"{pairs.source or pairs.name}: none of the {len(pairs)} pairs has a label, and a threshold cannot be "
            "calibrated without; fill the key 'acceptable', or name the column that holds it (--map acceptable=COLUMN)"
        )
    now = (now or datetime.now(UTC)).replace(microsecond=0)
    path = Path(ledger) if ledger is not None else store.ledger_path(pairs)
    book = _open_ledger(pairs, path, development, kind, looks, configurations, new_plan, now)
    events: list[LedgerEvent] = [*book.unwritten]

    if isinstance(scorer, str):
        if scorer in EMBEDDING_SCORERS and embedder is None:
            embedder = load_embedder()
        scorer = find_scorer(scorer, embedder)
    elif not isinstance(scorer, CosineScorer | Blend) and LEXICAL_SCORERS.get(scorer.name, scorer) != scorer:
        raise InputError(f"the name {scorer.name!r} belongs to a built-in scorer; give yours another")
    stage = _bands_stage(scorer)
    early, rules = _early_stages(exact_rung, rules, fields)
    configuration = Configuration(
        scorer=scorer.name,
        scorer_version=scorer.version,
        model=stage.model.fingerprint if stage.model else getattr(scorer, "fingerprint", None),
        exact_rung=exact_rung,
        rules=tuple(rules.rules),
        stages=_stages_key(early, stage, locale),
        normalizer_version=NORMALIZER_VERSION,
        precision=precision,
        fail_precision=fail_precision,
        filters=tuple(pairs.filters),
        region=region,
    )
    draft = _draft(name or book.ledger.set.name, locale, [*early, stage])
    scores = score_pairs(pairs, scorer)  # shown to nobody before the ledger holds the look
    places: dict[str, float] = {}
    if region is not None:
        places = _places(draft, scorer, embedder, pairs, scores)

    chosen = draw(pairs, book.ledger.set.salt, book.ledger.set.development)
    certifying = [at for at in chosen.certifying if book.ledger.fresh([pairs[at]])]
    within = Region(ranking=fingerprint_stages(draft.stages, locale), cut=region) if region is not None else None
    drawn, certifying, queue_notes = _drawn_by_queue(
        pairs, book.ledger.set.salt, drawn, certifying, within=within, places=places
    )
    if new_plan and not certifying and not explore:
        raise InputError(
            f"{path or 'the ledger'}: no label is fresh: all {len(chosen.certifying)} certifying questions stood in an "
            "earlier look, and a new plan would retire them; label other questions first"
        )
    granted: Accounting | Refusal = Refusal("explored on the development part, not declared")
    if not explore:
        look_events, granted = book.ledger.look(
            configuration, [pairs[at] for at in certifying], delta=round(1 - confidence, 12), at=now
        )
        events += look_events

    if isinstance(scorer, Blend) and not explore:
        refuse_mixing(scorer.definition, [pairs[at] for at in certifying])
    # From here on nothing is shown before the ledger holds it.
    looked_at = certifying if isinstance(granted, Accounting) else list(chosen.development)
    ranking, ranked = _rank(draft, scorer, embedder, pairs, scores, looked_at)  # a bad pair must cost no look
    if path is not None:
        if explore:  # the parts are fixed before anything is shown; a plan is not made in passing
            events = [event for event in events if isinstance(event, SetMade)]
        store.append_events(path, events, after=book.n_written)
    outcome = _decide(ranking, granted, precision, fail_precision, confidence, hand_set, region)
    stages = fingerprint_stages(draft.stages, locale)
    evidence = _evidence(
        stages, pairs, book.ledger, scores, drawn, certifying, chosen.development, granted, ranking, outcome, region
    )
    policy = Policy(
        schema=SCHEMA,
        name=draft.name,
        created=now,
        tool=TOOL,
        locale=locale,
        stages=[
            *early,
            stage.model_copy(
                update={"pass_at_or_above": outcome.bands.pass_at_or_above, "fail_below": outcome.bands.fail_below}
            ),
        ],
        evidence=evidence,
    )
    curve = compute_curve(ranking.place, ~ranking.rejected) if len(ranking.place) else None
    notes = (
        *_notes(ranking, scores, embedder, granted, ruled=bool(rules.rules)),
        *_reference_notes(pairs, rules.rules, locale),
        *queue_notes,
        *_ledger_notes(path, book),
    )
    return Calibration(
        policy,
        pairs,
        scores,
        ranking,
        ranked,
        tuple(looked_at),
        curve,
        outcome.pass_certificate,
        outcome.fail_certificate,
        notes,
    )


def begin_set(
    pairs: PairSet,
    *,
    development: float | None = None,
    kind: Literal["collected", "constructed"] | None = None,
    now: datetime | None = None,
) -> str:
    """Fix what must be fixed before any pair is drawn or label seen, and give the set's salt.

    What was fixed before stays.

    Raises
    ------
    InputError
        For pairs that no folder holds, and for other choices than were made.
    """
    path = store.ledger_path(pairs)
    if path is None:
        raise InputError("pairs made in Python have no ledger; save them as a set first")
    book = _open_ledger(pairs, path, development, kind, None, None, False, now or datetime.now(UTC))
    events = [event for event in book.unwritten if isinstance(event, SetMade)]
    if events:
        store.append_events(path, events, after=book.n_written)
    return book.ledger.set.salt


def load_cascade(
    policy: str | os.PathLike[str] | Policy,
    *,
    model_folder: str | os.PathLike[str] | None = None,
    device: str = "cpu",
    judge: Judge | Callable[[str], str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Cascade:
    """Make a policy ready to grade, with the model that it names.

    Parameters
    ----------
    policy
        The policy or its file.
    model_folder
        Where the model lies, for models that neither a package nor the hub can give.
    device
        Where the model runs.
    judge
        Who is asked about what is left (see `calibkit.judge_client.open_judge`), or a function from prompt to reply.
    progress
        Called with (done, total) while texts are embedded.

    Raises
    ------
    InputError
        For a policy that cannot be read, and for a model that is not here or is another one.
    """
    if not isinstance(policy, Policy):
        policy = store.load_policy(policy)
    stage = policy.bands_stage
    embedder = None
    if stage is not None and stage.model is not None:
        embedder = load_embedder(
            stage.model.name,
            revision=stage.model.revision,
            folder=model_folder,
            dtype=stage.model.dtype,
            max_tokens=stage.model.max_tokens,
            device=device,
            progress=progress,
        )
    return Cascade(policy, embedder=embedder, judge=judge)


# --- the ledger -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Book:
    ledger: Ledger
    unwritten: Sequence[SetMade | Planned]
    n_written: int
    """Events that the ledger's file held when it was read."""


def _open_ledger(
    pairs: PairSet,
    path: Path | None,
    development: float | None,
    kind: Literal["collected", "constructed"] | None,
    looks: int | None,
    configurations: int | None,
    new_plan: bool,
    now: datetime,
) -> _Book:
    """The set's ledger, begun where there is none, with the plan that is asked for."""
    found = store.load_ledger(path) if path is not None else None
    n_written = len(found.events) if found else 0
    unwritten: list[SetMade | Planned] = []
    if found is None:
        share = DEFAULT_DEVELOPMENT if development is None else development
        if not 0 <= share < 1:
            raise InputError(f"development must be at least 0 and below 1, not {share}")
        # The salt follows from the content: a deleted ledger or a renamed copy draws the same pairs again.
        salt = _salt_of_queues(pairs) or hashlib.sha256(fingerprint(pairs).encode()).hexdigest()[:16]
        unwritten.append(
            SetMade(
                name=pairs.name,
                kind=kind or "collected",
                salt=salt,
                development=share,
                grouping=pairs.grouping,
                at=now,
            )
        )
        found = Ledger(unwritten)
    made = found.set
    for what, asked, fixed in (("development", development, made.development), ("kind", kind, made.kind)):
        if asked is not None and asked != fixed:
            raise InputError(
                f"{path or 'the ledger'}: {what} was fixed at {fixed} when the set was made, and {asked} is asked for; "
                f"leave --{what} out"
            )
    if made.grouping is not None and pairs.grouping is not None and made.grouping != pairs.grouping:
        raise InputError(
            f"{path or 'the ledger'}: answers were grouped by {made.grouping} when the set was made, and by "
            f"{pairs.grouping} now; give the same --map group as then"
        )
    plan = Planned(looks=looks or found.plan.looks, configurations=configurations or found.plan.configurations, at=now)
    changed = (plan.looks, plan.configurations) != (found.plan.looks, found.plan.configurations)
    if changed and found.looks and not new_plan:
        raise InputError(
            f"{path or 'the ledger'}: the plan was {found.plan.looks} look(s) and {found.plan.configurations} "
            "configuration(s) before the first look, and cannot be changed now; leave --looks and --configurations "
            "out, or begin a new plan on fresh labels (--new-plan)"
        )
    if new_plan or changed or not found.is_planned:
        unwritten.append(plan)
        found = Ledger([*found.events, plan])
    return _Book(found, unwritten, n_written)


def _early_stages(
    exact_rung: Literal[1, 2, 3, 4] | None,
    rules: RulesStage | Sequence[RuleName],
    fields: FieldsStage | None = None,
) -> tuple[list[ExactStage | FieldsStage | RulesStage], RulesStage]:
    """The deterministic stages before the bands, and the rules among them or left out as empty."""
    early: list[ExactStage | FieldsStage | RulesStage] = []
    if exact_rung:
        early.append(ExactStage(stage="exact", rung=exact_rung))
    if fields is not None:
        early.append(fields)
    if not isinstance(rules, RulesStage):
        rules = RulesStage(stage="rules", rules=list(rules))
    if rules.rules or rules.checks:
        early.append(rules)
    return early, rules


def _stages_key(early: Sequence[Stage], bands: BandsStage, locale: str | None) -> str | None:
    """What a configuration must name beside scorer, model and rung, so that another one is another."""
    if bands.blend is not None:
        return fingerprint_stages([*early, bands], locale)
    if locale is not None or any(not isinstance(stage, ExactStage) for stage in early):
        return fingerprint_stages(early, locale)
    return None


def _drawn_by_queue(
    pairs: PairSet,
    salt: str,
    drawn: Drawn,
    certifying: list[int],
    *,
    within: Region | None,
    places: Mapping[str, float],
) -> tuple[Drawn, list[int], Sequence[str]]:
    """Of a set whose queues say how its labels were drawn: the completed beginning of its random queues.

    Of a region: that of the region queues of this ranking, and the random ones in it.
    """
    if pairs.source is None or not Path(pairs.source).is_dir():
        if within is not None:
            raise InputError(f"{pairs.source or pairs.name}: region labels are drawn by a set's queue; make it a set")
        return drawn, certifying, ()
    logs = read_set_labels(pairs.source)
    if not logs.intact:
        raise InputError(
            f"{pairs.source}: a line of its label logs cannot be read, so that a label may be wrong; mend what the "
            "remarks name, then calibrate"
        )
    # A region's cut is fixed when its queue is drawn, before its labels: another cut, or labels that were seen before,
    # would be chosen by what they say.
    own = [queue for queue in logs.queues if queue.kind == "region" and queue.region == within]
    if within is not None and not own:
        raise InputError(
            f"{pairs.source}: no region queue of this ranking begins at {within.cut:g}; draw one first "
            "(calibkit queue --by region), with the same scorer, rules and locale"
        )
    retired = grown_groups(pairs.original or pairs, logs.ever_added)
    grown = [at for at in certifying if pairs[at].group_key in retired]
    certifying = [at for at in certifying if pairs[at].group_key not in retired]
    told = [f"{counted(len(grown), 'question')} whose references grew certify nothing"] if grown else []
    asked = pairs.original or pairs
    if not any(queue.certifies for queue in logs.queues):
        # What was picked by tag or doubt, and labelled then, is no sample; other labels of the set are what they were.
        picked = {name for queue in logs.queues for name in queue.ids}
        picked &= {name for given in logs.labels.values() for name in given}
        kept = [at for at in certifying if pairs[at].id not in picked]
        if left := len(certifying) - len(kept):
            told.append(f"{counted(left, 'labelled question')} were picked to find faults and certify nothing")
        return drawn, kept, told
    labelled = {pair.id for pair in asked if pair.labelled}
    queues = logs.queues if within is None else own
    found = queued(asked, queues, labelled, salt=salt, retired=retired, region=within, place=places)
    kept = [at for at in certifying if pairs[at].id in found.ids]
    left = len(certifying) - len(kept)
    notes = [*told, *found.notes]
    if left:
        what = "random" if within is None else "region"
        notes.append(f"{counted(left, 'labelled question')} stand in no completed {what} queue and certify nothing")
    return "random" if within is None else "region", kept, notes


def _places(
    draft: Policy, scorer: Scorer, embedder: Embedder | None, pairs: PairSet, scores: Scores
) -> dict[str, float]:
    """Where each answer of the pool ranks: inf for a deterministic pass, -inf for such a fail, else its score."""
    early = Cascade(draft, embedder=embedder, scorer=scorer).decide_early(list(pairs))
    ends = {"pass": np.inf, "fail": -np.inf}
    return {
        pair.id: value if verdict is None else ends.get(verdict.outcome, np.nan)
        for pair, verdict, value in zip(pairs, early, scores.values.tolist(), strict=True)
    }


def region_queue(
    pairs: PairSet,
    n: int,
    cut: float,
    *,
    scorer: str | Scorer = "token_recall",
    exact_rung: Literal[1, 2, 3, 4] | None = 4,
    rules: RulesStage | Sequence[RuleName] = DEFAULT_RULES,
    locale: str | None = None,
    embedder: Embedder | None = None,
    now: datetime | None = None,
) -> Queue:
    """Draw answers to label among those that rank at or above a cut, and note it in the set.

    The cut must be fixed without the labels that shall certify; the other arguments are those of `calibrate`, which
    takes the labels with `drawn="region", region=cut`.

    Raises
    ------
    InputError
        For pairs that no folder holds, and where nothing is left to draw.
    """
    if pairs.source is None or not Path(pairs.source).is_dir():
        raise InputError(f"{pairs.source or pairs.name}: queues need a set; put the file as pairs.jsonl into a folder")
    if isinstance(scorer, str):
        if scorer in EMBEDDING_SCORERS and embedder is None:
            embedder = load_embedder()
        scorer = find_scorer(scorer, embedder)
    early, _ = _early_stages(exact_rung, rules)
    draft = _draft("region", locale, [*early, _bands_stage(scorer)])
    places = _places(draft, scorer, embedder, pairs, score_pairs(pairs, scorer))
    asked = pairs.original or pairs
    logs = read_set_labels(pairs.source)
    pool = Pool(asked, begin_set(asked), logs.queues, grown_groups(asked, logs.ever_added))
    place = Region(ranking=fingerprint_stages(draft.stages, locale), cut=cut)
    moment = (now or datetime.now(UTC)).replace(microsecond=0)
    return append_queue(pairs.source, pool.region(n, place, places, at=moment))


def _draft(name: str, locale: str | None, stages: Sequence[Stage]) -> Policy:
    """The policy without thresholds and evidence; refuses what no policy may hold before a look is spent."""
    try:
        return Policy(schema=SCHEMA, name=name, locale=locale, stages=list(stages))
    except ValidationError as error:
        raise InputError(str(error.errors()[0]["ctx"]["error"])) from None


def _salt_of_queues(pairs: PairSet) -> str | None:
    """The salt by which the set's first queue was drawn."""
    if pairs.source is None or not Path(pairs.source).is_dir():
        return None
    queues = read_set_labels(pairs.source).queues
    return queues[0].salt if queues else None


# --- ranking, deciding ------------------------------------------------------------------------------


def _bands_stage(scorer: Scorer) -> BandsStage:
    reference = ScorerReference(
        name=scorer.name, version=scorer.version, text=scorer.text if isinstance(scorer, CosineScorer) else None
    )
    model = None
    embedder = scorer.embedder if isinstance(scorer, CosineScorer | Blend) else None
    if embedder is not None:
        model = (
            ModelReference(
                name=embedder.name,
                revision=embedder.revision,
                fingerprint=embedder.fingerprint,
                dtype=embedder.dtype,
                max_tokens=embedder.max_tokens,
                device=embedder.device,
            )
            if isinstance(embedder, Embedding)
            else ModelReference(name=type(embedder).__name__, fingerprint=embedder.fingerprint, max_tokens=0)
        )
    blend = scorer.definition if isinstance(scorer, Blend) else None
    return BandsStage(stage="bands", scorer=reference, model=model, blend=blend, pass_at_or_above=None, fail_below=None)


def _rank(
    draft: Policy,
    scorer: Scorer,
    embedder: Embedder | None,
    pairs: PairSet,
    scores: Scores,
    positions: Sequence[int],
) -> tuple[Ranking, tuple[int, ...]]:
    """Rank labelled pairs as the policy will: the cascade's own deterministic stages, then the score.

    Also the positions, in `pairs`, of those that stand in the ranking: the others are unscored.
    """
    chosen = [pairs[at] for at in positions]
    early = Cascade(draft, embedder=embedder, scorer=scorer).decide_early(chosen)
    place = scores.values[list(positions)].copy() if positions else np.empty(0)
    stage = ["bands"] * len(chosen)
    for at, verdict in enumerate(early):
        if verdict is not None:
            place[at] = {"pass": np.inf, "fail": -np.inf}.get(verdict.outcome, np.nan)
            stage[at] = verdict.stage or "bands"
    ranked = tuple(at for at, value in zip(positions, place.tolist(), strict=True) if not np.isnan(value))
    return Ranking.of(chosen, place, stage), ranked


@dataclass(frozen=True)
class _Outcome:
    bands: Bands
    passes: PassEvidence
    fails: FailEvidence
    pass_certificate: Certificate | None
    fail_certificate: Certificate | None


def _decide(
    ranking: Ranking,
    granted: Accounting | Refusal,
    precision: float,
    fail_precision: float | None,
    confidence: float,
    hand: HandSet,
    region: float | None,
) -> _Outcome:
    pass_certificate = fail_certificate = None
    bands, pass_certified, fail_certified = Bands(hand.pass_at, hand.fail_below), False, False
    if isinstance(granted, Accounting):
        alpha = round(1 - precision, 12)
        pass_certificate = (
            ranking.certify_pass(alpha, granted.delta_each)
            if region is None
            else certify_region(ranking.place, ranking.rejected, region, alpha, granted.delta_each)
        )
        if fail_precision is not None:
            fail_certificate = ranking.certify_fail(round(1 - fail_precision, 12), granted.delta_each)
        bands, pass_certified, fail_certified = choose_bands(
            ranking, pass_certificate, fail_certificate, pass_at=hand.pass_at, fail_below=hand.fail_below
        )
    passes_inside, fails_inside = ranking.passes(bands), ranking.fails(bands)
    looked = isinstance(granted, Accounting)
    pass_reason, pass_needed = _why_not(granted, pass_certified, pass_certificate, hand.pass_at)
    passes = PassEvidence(
        certified=pass_certified,
        target=precision,
        confidence=confidence,
        above=int(passes_inside.sum()) if looked else None,
        rejects=int(ranking.rejected[passes_inside].sum()) if looked else None,
        by_stage=ranking.counts(passes_inside, ranking.rejected) if looked else None,
        intervals=unbounded(pass_certificate.intervals) if pass_certificate else None,
        reason=pass_reason,
        labels_needed=pass_needed,
        set_by=hand.set_by if hand.pass_at is not None else None,
        because=hand.because if hand.pass_at is not None else None,
    )
    if fail_precision is None and hand.fail_below is None:
        fails = FailEvidence(certified=False, reason="not asked for")
        if looked and fails_inside.any():  # the rules fail answers all the same
            fails = fails.model_copy(
                update={
                    "below": int(fails_inside.sum()),
                    "accepts": int(ranking.accepted[fails_inside].sum()),
                    "by_stage": ranking.counts(fails_inside, ranking.accepted),
                }
            )
        return _Outcome(bands, passes, fails, pass_certificate, None)
    fail_reason, fail_needed = _why_not(granted, fail_certified, fail_certificate, hand.fail_below)
    fails = FailEvidence(
        certified=fail_certified,
        target=fail_precision,
        confidence=confidence,
        below=int(fails_inside.sum()) if looked else None,
        accepts=int(ranking.accepted[fails_inside].sum()) if looked else None,
        by_stage=ranking.counts(fails_inside, ranking.accepted) if looked else None,
        intervals=unbounded(fail_intervals(fail_certificate)) if fail_certificate else None,
        reason=fail_reason,
        labels_needed=fail_needed,
        set_by=hand.set_by if hand.fail_below is not None else None,
        because=hand.because if hand.fail_below is not None else None,
    )
    return _Outcome(bands, passes, fails, pass_certificate, fail_certificate)


def _why_not(
    granted: Accounting | Refusal, certified: bool, certificate: Certificate | None, hand_set: float | None
) -> tuple[str | None, int | None]:
    if certified:
        return None, None
    if isinstance(granted, Refusal):
        return granted.reason, None
    if certificate is None:
        return "set by hand; a certificate for this side was not asked for", None
    if hand_set is not None:
        where = "which is empty" if not certificate.intervals else "see intervals"
        return f"{hand_set:g} was set by hand and lies outside the certified set ({where})", None
    return explain_missing(certificate)


# --- evidence ---------------------------------------------------------------------------------------


def _evidence(
    stages: str,
    pairs: PairSet,
    ledger: Ledger,
    scores: Scores,
    drawn: Drawn,
    certifying: Sequence[int],
    development: Sequence[int],
    granted: Accounting | Refusal,
    ranking: Ranking,
    outcome: _Outcome,
    region: float | None,
) -> Evidence:
    labels = [pairs[at] for at in certifying]
    looked = isinstance(granted, Accounting)
    return Evidence(
        stages=stages,
        pool=PoolEvidence(
            name=ledger.set.name,
            kind=ledger.set.kind,
            fingerprint=fingerprint(pairs),
            groups=len({pair.group_key for pair in pairs}),
            left_out=list(pairs.filters) or None,
            unscored=int((~scores.scored).sum()),
            histogram=_histogram(scores.values[scores.scored]),
        ),
        labels=LabelEvidence(
            fingerprint=fingerprint(labels, labels=True),
            drawn=drawn,
            region=region,
            certifying=len(labels),
            development=len(development),
            acceptable=sum(pair.acceptable is True for pair in labels) if looked else None,
            cannot_say=sum(pair.cannot_say for pair in labels) if looked else None,
        ),
        accounting=(AccountingEvidence.model_validate(asdict(granted)) if isinstance(granted, Accounting) else None),
        **{"pass": outcome.passes},
        fail=outcome.fails,
        # Of labels of a region, shares of all answers are not known.
        curve=_at_bands(ranking, outcome.bands) if looked and len(ranking.place) and region is None else None,
        sentence=promise(
            pool=ledger.set.name,
            constructed=ledger.set.kind == "constructed",
            drawn=drawn,
            left_out=pairs.filters,
            passes=outcome.passes,
            fails=outcome.fails,
            bands=outcome.bands,
        ),
    )


def _histogram(values: NDArray[np.float64]) -> Histogram | None:
    if not len(values):
        return None
    counts, edges = np.histogram(values, bins=_BINS, range=(min(0.0, values.min()), max(1.0, values.max())))
    return Histogram(edges=[round(edge, 6) for edge in edges.tolist()], counts=counts.tolist())


def _at_bands(ranking: Ranking, bands: Bands) -> CurveEvidence:
    passes, fails = ranking.passes(bands), ranking.fails(bands)
    acceptable = ~ranking.rejected
    right = int((passes & acceptable).sum())
    return CurveEvidence(
        precision=right / int(passes.sum()) if passes.any() else None,
        recall=right / int(acceptable.sum()) if acceptable.any() else None,
        review_share=int((~passes & ~fails).sum()) / len(passes),
    )


def _reference_notes(pairs: PairSet, rules: Sequence[str], locale: str | None) -> list[str]:
    """Tell which references no rule can hold answers to, the first few by name."""
    faults = [fault for pair in pairs for fault in faults_of_references(pair, rules, locale)]
    cure = "" if locale else "; give the texts' locale (--locale en_US), or mend the references"
    distinct = list({fault.partition(": ")[2]: fault for fault in reversed(faults)}.values())[::-1]
    if not distinct:
        return []
    what = f"{counted(len(distinct), 'reference')} with a value that cannot be read in one way{cure}"
    return [f"{what}: {'; '.join(distinct[:3])}"]


def _ledger_notes(path: Path | None, book: _Book) -> list[str]:
    if path is None:
        return ["no ledger is kept for pairs made in Python: what else was tried on these labels is not counted"]
    if not book.n_written:
        return [f"the ledger {path} begins with this run: what was tried on these labels before is not counted"]
    return []


def _notes(
    ranking: Ranking, scores: Scores, embedder: Embedder | None, granted: Accounting | Refusal, ruled: bool
) -> tuple[str, ...]:
    notes = []
    if isinstance(granted, Refusal):
        notes.append("the figures are those of the development part")
    unscored = int((~scores.scored).sum())
    if unscored:
        why = next(reason for reason in scores.reasons if reason)
        rest = "what no rule decides of them goes" if ruled else "they go"
        notes.append(f"{unscored} of {len(scores.values)} pairs are unscored ({why}); {rest} to review")
    if len(ranking.place):
        if ranking.rejected.all() or not ranking.rejected.any():
            label = "not acceptable" if ranking.rejected.all() else "acceptable"
            notes.append(f"all {len(ranking.place)} labelled answers are {label}: a curve needs both kinds")
        finite = ranking.place[np.isfinite(ranking.place)]
        if len(finite) and finite.min() == finite.max():
            notes.append(f"all scores are equal ({finite[0]:g}): no threshold can tell answers apart")
    return (*notes, *model_notes(embedder))


def model_notes(embedder: Embedder | None) -> list[str]:
    """Tell what a model did not read, and what went wrong with its cache, a line each."""
    if not isinstance(embedder, Embedding):
        return []
    notes = list(embedder.notes)
    if embedder.truncated:
        notes.append(
            f"{counted(embedder.truncated, 'text')} longer than the model's {embedder.max_tokens} tokens; what lies "
            "beyond was not read"
        )
    if embedder.dtype == "bfloat16":
        notes.append("scores in bfloat16 depend on the texts computed beside them, by up to 0.002 or so")
    return notes
