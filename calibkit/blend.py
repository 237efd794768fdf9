"""Blends: a scorer fitted on labelled answers to OTHER questions, written down as plain weights.

    score = 1 / (1 + exp(-(intercept + sum of weight * feature)))        rounded to 6 decimals

Each feature is one number a pair, of the texts and the rules alone (or of a pinned model), so any language can compute
the score from its definition. What a blend was fitted on is written down, too: the questions that fitted it certify
nothing with it. The score looks like a probability; only a certificate makes a promise of it.

====================================  ==================================================================================
feature                               what it is
====================================  ==================================================================================
the name of a lexical scorer          its score
`letters_recall`, `_precision`, `_f1` token overlap, with triples of characters for tokens: of the normal form at rung 3
                                      between two spaces
`new_recall`                          share of the reference's distinct tokens, without those of the question, that the
                                      answer holds; of a reference that holds no others, of all its tokens
`log_answer`, `log_reference`         ln(1 + tokens) of the answer, of the shortest reference
`log_further`                         ln(1 + tokens of the answer that neither the question nor a reference holds)
`log_references`                      ln(references)
`rule:RULE=OUTCOME`                   1 where the rule has the outcome, else 0; RULE is a rule or `value` (any rule over
                                      values), OUTCOME is pass, fail or unsure
`cosine`, `cosine_question`           the scores of these names, by the model that the definition names
====================================  ==================================================================================
Tokens are SQuAD's (`squad_tokens`). The best reference counts, each feature for itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from scipy import special

from calibkit.normalize import NORMALIZER_VERSION, normalize, squad_tokens
from calibkit.pairs import AnswerPair, InputError, SetupError, counted, fingerprint
from calibkit.rules import RULE_NAMES, RULES_VERSION, RuleName, check_rules
from calibkit.scorers import (
    EMBEDDING_SCORERS,
    LEXICAL_SCORERS,
    Embedder,
    Floats,
    Measure,
    OverlapScorer,
    Scorer,
    Scores,
    Tokens,
)
from calibkit.values.reading import parse_locale

BLEND_VERSION: Final = 1
"""Raised with every change of a feature; definitions and policies record it."""

MOST_QUESTIONS: Final = 20_000
"""How many questions may fit a blend: its definition names each of them, and stands in the policy."""

_DECIMALS: Final = 6
_SIGNIFICANT: Final = 6
"""Digits that a weight is written with: the weights in use are the written ones."""


# --- features ---------------------------------------------------------------------------------------


def letter_triples(texts: Sequence[str]) -> Tokens:
    """Triples of characters of the normal form at rung 3, between two spaces; each as one integer.

    >>> [len(tokens) for tokens in letter_triples(["Kraków", "a", ""])]
    [6, 1, 0]
    """
    triples = []
    for text in texts:
        padded = f" {normalize(text, 3)} ".encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(padded, dtype="<u4").astype(np.int64)
        triples.append((codes[:-2] << 42 | codes[1:-1] << 21 | codes[2:]).tolist())
    return triples


_MEASURES: Final[tuple[Measure, ...]] = ("recall", "precision", "f1")
_TEXT_SCORERS: Final[Mapping[str, Scorer]] = LEXICAL_SCORERS | {
    f"letters_{measure}": OverlapScorer(f"letters_{measure}", letter_triples, measure) for measure in _MEASURES
}
_TOKEN_FEATURES: Final = ("new_recall", "log_answer", "log_reference", "log_further", "log_references")
_VALUE_RULES: Final[tuple[RuleName, ...]] = tuple(
    name for name in RULE_NAMES if name not in ("abstention", "negation", "swapped")
)
_OUTCOMES: Final[Mapping[str, frozenset[str]]] = {
    "pass": frozenset({"pass"}),
    "fail": frozenset({"fail"}),
    "unsure": frozenset({"undecided", "ambiguous", "unreadable"}),
}
_RULES_OF: Final[Mapping[str, tuple[RuleName, ...]]] = {name: (name,) for name in RULE_NAMES} | {"value": _VALUE_RULES}
_RULE_FEATURES: Final = {
    f"rule:{name}={outcome}": (rules, outcomes)
    for name, rules in _RULES_OF.items()
    for outcome, outcomes in _OUTCOMES.items()
}
FEATURES: Final = (*_TEXT_SCORERS, *_TOKEN_FEATURES, *_RULE_FEATURES, *EMBEDDING_SCORERS)
"""The names of all features."""

DEFAULT_FEATURES: Final = (
    "letters_recall", "token_recall", "new_recall", "log_answer", "log_reference", "log_further", "log_references",
    "rule:value=pass", "rule:value=fail", "rule:value=unsure", "rule:abstention=fail", "rule:negation=fail",
)  # fmt: skip
"""What a blend is fitted on without a model; with one, the two cosines come on top."""


def compute_features(
    pairs: Sequence[AnswerPair], names: Sequence[str], *, locale: str | None = None, embedder: Embedder | None = None
) -> dict[str, Floats]:
    """Compute features of pairs that have references.

    Parameters
    ----------
    pairs
        The pairs, each with one reference or more.
    names
        Which features.
    locale
        Of the texts, for the rules.
    embedder
        The model, for the cosines.

    Returns
    -------
    dict of arrays, shape (n_pairs,) each
        In the order of the names.

    Raises
    ------
    InputError
        For an unknown name, and for a cosine without a model.

    Examples
    --------
    >>> pair = AnswerPair("a", ("the Vistula",), "The river Vistula.", question="Which river runs through Kraków?")
    >>> found = compute_features([pair], ["letters_recall", "new_recall", "log_further"])
    >>> {name: values.round(3).tolist() for name, values in found.items()}
    {'letters_recall': [1.0], 'new_recall': [1.0], 'log_further': [0.0]}
    """
    if unknown := [name for name in names if name not in FEATURES]:
        raise InputError(f"there is no feature {unknown[0]!r}; there are {', '.join(FEATURES)}")
    tokens = _token_features(pairs) if any(name in _TOKEN_FEATURES for name in names) else {}
    rules = _rule_features(pairs, [name for name in names if name in _RULE_FEATURES], locale)
    found: dict[str, Floats] = {}
    for name in names:
        if name in _TEXT_SCORERS:
            found[name] = _TEXT_SCORERS[name].score(pairs).values
        elif name in EMBEDDING_SCORERS:
            if embedder is None:
                raise InputError(f"the feature {name!r} needs an embedder; pass embedder=calibkit.load_embedder()")
            found[name] = EMBEDDING_SCORERS[name](embedder).score(pairs).values
        else:
            found[name] = tokens[name] if name in tokens else rules[name]
    return found


def _token_features(pairs: Sequence[AnswerPair]) -> dict[str, Floats]:
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.question, pair.candidate, *pair.references)))
    tokens = dict(zip(texts, squad_tokens(texts), strict=True))
    rows = np.empty((len(pairs), len(_TOKEN_FEATURES)))
    for row, pair in zip(rows, pairs, strict=True):
        answer = tokens[pair.candidate]
        asked, held = frozenset(tokens[pair.question]), frozenset(answer)
        references = [tokens[text] for text in pair.references]
        new = [frozenset(words) - asked or frozenset(words) for words in references]
        known = asked.union(*references)
        row[:] = (
            max(len(words & held) / max(len(words), 1) for words in new),
            np.log1p(len(answer)),
            np.log1p(min(map(len, references))),
            np.log1p(sum(word not in known for word in answer)),
            np.log(len(references)),
        )
    return dict(zip(_TOKEN_FEATURES, np.ascontiguousarray(rows.T), strict=True))


def _rule_features(pairs: Sequence[AnswerPair], names: Sequence[str], locale: str | None) -> dict[str, Floats]:
    found = {name: np.zeros(len(pairs)) for name in names}
    needed = [rule for rule in RULE_NAMES if any(rule in _RULE_FEATURES[name][0] for name in names)]
    for at, pair in enumerate(pairs if needed else ()):
        outcomes = {result.rule: result.outcome for result in check_rules(pair, needed, locale=locale)}
        for name in names:
            rules, wanted = _RULE_FEATURES[name]
            found[name][at] = any(outcomes[rule] in wanted for rule in rules)
    return found


# --- the definition ---------------------------------------------------------------------------------

_Finite = Annotated[float, Field(allow_inf_nan=False)]
_MARK: Final = 12
"""Hex digits of a mark."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class FittedOn(_Part):
    """Which labelled answers fitted a blend."""

    pairs: Annotated[int, Field(ge=1)]
    questions: Annotated[int, Field(ge=1)]
    fingerprint: str
    """Of these pairs, labels included."""
    marks: Annotated[str, Field(pattern=rf"^([0-9a-f]{{{_MARK}}})*$")]
    """Short hashes by which their questions are known again, one behind the other: one text is read fast."""

    def knows(self, pair: AnswerPair) -> bool:
        """Whether an answer to the pair's question, or to one of its group, fitted the blend."""
        return not self._known.isdisjoint(_marks(pair))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.marks[at : at + _MARK] for at in range(0, len(self.marks), _MARK))


class BlendDefinition(_Part):
    """A blend as it stands in a policy or in a file of its own."""

    version: int = BLEND_VERSION
    normalizer: int = NORMALIZER_VERSION
    rules: int | None = None
    """Version of the rules; None where no feature is a rule's."""
    locale: str | None = None
    """Of the texts, as the rules read them."""
    model: str | None = None
    """Fingerprint of the embedding model; None where no feature needs one."""
    intercept: _Finite
    weights: Annotated[dict[str, _Finite], Field(min_length=1)]
    """Feature -> weight; the features of the module's table, as they are."""
    fitted_on: FittedOn

    @model_validator(mode="after")
    def _check(self) -> BlendDefinition:
        if unknown := [name for name in self.weights if name not in FEATURES]:
            raise ValueError(f"there is no feature {unknown[0]!r}; fit the blend again with this calibkit")
        uses_rules = any(name in _RULE_FEATURES for name in self.weights)
        for what, written, current in (
            ("blend", self.version, BLEND_VERSION),
            ("normaliser", self.normalizer, NORMALIZER_VERSION),
            ("rules", self.rules, RULES_VERSION if uses_rules else None),
        ):
            if written != current:
                raise ValueError(
                    f"the blend was fitted with version {written} of the {what}, this calibkit has version {current}; "
                    "fit it again, or install the calibkit that fitted it"
                )
        if self.locale is not None:
            parse_locale(self.locale)
        if (self.model is not None) != any(name in EMBEDDING_SCORERS for name in self.weights):
            raise ValueError("a blend names the fingerprint of its model where it weighs a cosine, and only there")
        return self

    @property
    def fingerprint(self) -> str:
        """Hash of all that decides a score or says what fitted it; two blends are two configurations."""
        content = json.dumps(self.model_dump(), sort_keys=True)
        return "sha256:" + hashlib.sha256(content.encode()).hexdigest()

    def to_json(self) -> str:
        """Write the definition as a file of its own; reading it gives an equal one."""
        return json.dumps(self.model_dump(exclude_none=True), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, place: str = "blend") -> BlendDefinition:
        """Read a definition.

        Parameters
        ----------
        text
            The JSON text.
        place
            Where it came from, for error messages.

        Raises
        ------
        InputError
            With the place and what is wrong with the text.

        Examples
        --------
        >>> BlendDefinition.from_json('{"weights": {}}')
        Traceback (most recent call last):
        calibkit.pairs.InputError: blend: intercept: Field required; fit the blend again (fit_blend)
        """
        try:
            content = json.loads(text, object_pairs_hook=_refuse_duplicates)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{place}: this is no JSON object of a blend ({error}); fit it again (fit_blend)"
            ) from None
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            fault = error.errors()[0]
            where = " ".join(".".join(map(str, fault["loc"])).split())
            what = fault["msg"].removeprefix("Value error, ")
            cure = "" if fault["type"] == "value_error" else "; fit the blend again (fit_blend)"
            raise InputError(f"{place}: {where and where + ': '}{what}{cure}") from None


def _refuse_duplicates(items: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(items)
    if len(content) < len(items):
        raise ValueError("a key stands twice")
    return content


# --- the scorer -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Blend:
    """The scorer of a definition.

    Raises
    ------
    InputError
        Where the definition weighs a cosine and the model is missing, or is another one.

    Examples
    --------
    >>> definition = BlendDefinition(
    ...     intercept=-2.0,
    ...     weights={"letters_recall": 6.0, "log_further": -0.5},
    ...     fitted_on=FittedOn(pairs=1, questions=1, fingerprint="sha256:", marks=""),
    ... )
    >>> Blend(definition).score([AnswerPair("a", ("12 March",), "On 12 March."), AnswerPair("b", (), "no")]).values
    array([0.974752,      nan])
    """

    definition: BlendDefinition
    embedder: Embedder | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        wanted = self.definition.model
        if wanted is not None and (self.embedder is None or self.embedder.fingerprint != wanted):
            found = "none is given" if self.embedder is None else f"this one is {self.embedder.fingerprint}"
            raise InputError(f"the blend was fitted with the embedding model {wanted}, and {found}; pass that one")

    @property
    def name(self) -> str:
        """`blend`; which one, its definition's fingerprint says."""
        return "blend"

    @property
    def version(self) -> int:
        """The version of the definition."""
        return self.definition.version

    def score(self, pairs: Sequence[AnswerPair]) -> Scores:
        """Score each pair from 0 to 1."""
        values = np.full(len(pairs), np.nan)
        reasons = tuple(None if pair.references else "no references" for pair in pairs)
        scored = [at for at, reason in enumerate(reasons) if reason is None]
        if scored:
            weights, locale = self.definition.weights, self.definition.locale
            chosen = [pairs[at] for at in scored]
            features = compute_features(chosen, list(weights), locale=locale, embedder=self.embedder)
            total = np.full(len(scored), self.definition.intercept)
            for name, weight in weights.items():  # one by one: a pair's sum is the same beside any others
                total += weight * features[name]
            values[scored] = np.round(special.expit(total), _DECIMALS)
        return Scores(values, reasons, self.name, self.version)


# --- fitting ----------------------------------------------------------------------------------------


def fit_blend(
    pairs: Iterable[AnswerPair],
    features: Sequence[str] | None = None,
    *,
    locale: str | None = None,
    embedder: Embedder | None = None,
) -> Blend:
    """Fit a blend: a logistic regression on standardised features, written as weights of the plain ones.

    The questions that it is fitted on certify nothing with it: fit it on the development part, or on another set.

    Parameters
    ----------
    pairs
        Labelled answers. Those without references, and those on which a person could not say, are left out.
    features
        Which features (default: `DEFAULT_FEATURES`, and the cosines where there is a model).
    locale
        Of the texts, as in en_US.
    embedder
        The model, for the cosines.

    Raises
    ------
    InputError
        Where all answers have one label, or an argument is wrong.
    SetupError
        Where scikit-learn is missing.

    Examples
    --------
    >>> pairs = [
    ...     AnswerPair(f"a{n}", (f"{n} crowns",), f"It is {n + n % 2} crowns.", f"q{n}", labelled=True,
    ...                acceptable=n % 2 == 0)
    ...     for n in range(40)
    ... ]
    >>> blend = fit_blend(pairs, ["token_recall", "rule:value=fail"])
    >>> blend.score([AnswerPair("b", ("81 crowns",), "81 crowns it is")]).values[0].round(2)
    np.float64(0.96)
    >>> [pair.id for pair in pairs_it_was_fitted_on(blend.definition, [pairs[3], AnswerPair("c", ("4",), "4", "q")])]
    ['a3']
    """
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise SetupError("fitting a blend needs scikit-learn: pip install 'calibkit[fit]'") from None
    names = list(features) if features is not None else [*DEFAULT_FEATURES, *(EMBEDDING_SCORERS if embedder else ())]
    if not names or len(set(names)) < len(names):
        raise InputError(f"features must be one name or more, each once, not {names}")
    # In order of their ids: the same pairs give the same weights in whatever order they come.
    used = sorted((pair for pair in pairs if pair.acceptable is not None and pair.references), key=lambda pair: pair.id)
    if len({pair.acceptable for pair in used}) < 2:
        raise InputError(
            f"a blend needs answers of both labels, with references, and of the {len(used)} usable ones "
            f"{'all have the same' if used else 'none has one'}; label more"
        )
    questions = {pair.group_key for pair in used}
    if len(questions) > MOST_QUESTIONS:
        raise InputError(
            f"a blend is fitted on at most {MOST_QUESTIONS} questions, not on {len(questions)}; give it a part of them"
        )
    columns = compute_features(used, names, locale=locale, embedder=embedder)
    matrix = np.column_stack(list(columns.values()))
    centre, spread = matrix.mean(axis=0), matrix.std(axis=0)
    varies = spread > 1e-9  # a feature that is the same everywhere tells nothing, and gets no weight
    if not varies.any():
        raise InputError(f"none of the features {', '.join(names)} differs between the answers; choose others")
    model = LogisticRegression(C=1.0, tol=1e-8, max_iter=10_000)
    model.fit(((matrix - centre) / np.where(varies, spread, 1))[:, varies], [pair.acceptable for pair in used])
    slopes = model.coef_[0] / spread[varies]
    weights = {
        name: weight
        for name, slope in zip(np.array(names)[varies].tolist(), slopes.tolist(), strict=True)
        if (weight := _written(slope)) != 0
    }
    definition = BlendDefinition(
        rules=RULES_VERSION if any(name in _RULE_FEATURES for name in weights) else None,
        locale=locale,
        model=embedder.fingerprint if embedder and any(name in EMBEDDING_SCORERS for name in weights) else None,
        intercept=_written(float(model.intercept_[0]) - float(slopes @ centre[varies])),
        weights=weights,
        fitted_on=FittedOn(
            pairs=len(used),
            questions=len(questions),
            fingerprint=fingerprint(used, labels=True),
            marks="".join(sorted({mark for pair in used for mark in _marks(pair)})),
        ),
    )
    return Blend(definition, embedder if definition.model else None)


def _written(value: float) -> float:
    return float(f"{value:.{_SIGNIFICANT}g}")


# --- fitted on one, certified on others -------------------------------------------------------------


def _marks(pair: AnswerPair) -> set[str]:
    """Short hashes of the pair's group and of its texts, so that another group or id hides no question.

    Where there is no question, what is known again is the references with the answer.
    """
    keys = {pair.group_key}
    if normalize(pair.question, 2):
        keys.add(replace(pair, group=None).group_key)
    else:
        texts = sorted(normalize(text, 2) for text in pair.references)
        keys.add("answer:" + json.dumps([*texts, normalize(pair.candidate, 2)]))
    return {hashlib.sha256(key.encode()).hexdigest()[:_MARK] for key in keys}


def pairs_it_was_fitted_on(definition: BlendDefinition, pairs: Iterable[AnswerPair]) -> list[AnswerPair]:
    """The pairs to whose question (or group) an answer fitted the blend, under whatever id."""
    return [pair for pair in pairs if definition.fitted_on.knows(pair)]


def refuse_mixing(definition: BlendDefinition, certifying: Sequence[AnswerPair]) -> None:
    """Refuse to certify a blend on questions that fitted it.

    Raises
    ------
    InputError
        With the number of such questions and the first of them.
    """
    if mixed := pairs_it_was_fitted_on(definition, certifying):
        raise InputError(
            f"{counted(len(mixed), 'certifying question')} of {len(certifying)} (first: {mixed[0].id!r}) "
            f"{'was' if len(mixed) == 1 else 'were'} used to fit the blend, which knows the answers to them; fit it on "
            "the development part or on another set"
        )
