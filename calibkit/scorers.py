"""Scorers: pairs in, one finite number a pair out, or "unscored" with the reason.

The best reference counts: a pair's score is the largest over its references. A text that holds no token
overlaps with nothing (0, never a match of two empties); a pair without references is unscored.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import entry_points
from itertools import chain, count, pairwise
from typing import Any, Final, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq
from scipy import sparse

from calibkit.normalize import normalize, rouge_tokens, squad_tokens
from calibkit.pairs import AnswerPair, InputError, SetupError

ENTRY_POINTS: Final = "calibkit.scorers"
"""The entry-point group in which packages register scorers; each entry names a scorer without arguments."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Tokens = Sequence[Sequence[Hashable]]
"""The tokens of each text."""
Tokenizer = Callable[[Sequence[str]], Tokens]


@dataclass(frozen=True)
class Scores:
    """What a scorer says about pairs.

    Examples
    --------
    >>> scores = Scores(np.array([0.5, np.nan]), (None, "no references"), "token_recall", 1)
    >>> scores.scored.tolist()
    [True, False]
    """

    values: Floats
    """Shape (n_pairs,); NaN where unscored."""
    reasons: tuple[str | None, ...]
    """Why a pair is unscored; None where it is scored."""
    scorer: str
    version: int

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Shape (n_pairs,): where there is a score."""
        return ~np.isnan(self.values)


@runtime_checkable
class Scorer(Protocol):
    """Anything with a name, a version and `score`."""

    @property
    def name(self) -> str:
        """One name for one definition."""

    @property
    def version(self) -> int:
        """Raised with every change that can change a score; policies record it."""

    def score(self, pairs: Sequence[AnswerPair]) -> Scores:
        """Score each pair, in order."""


class Embedder(Protocol):
    """What an embedding scorer needs of a model."""

    @property
    def fingerprint(self) -> str:
        """Hash of all that decides a vector; policies record it."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed distinct texts; shape (n_texts, n_dimensions)."""


# --- references laid out flat: one row for each pair and reference ---------------------------------


@dataclass(frozen=True)
class _Flat:
    """All (reference, candidate) combinations, over distinct texts."""

    texts: list[str]
    candidate: Ints
    """Shape (n_rows,): the candidate's position in `texts`."""
    reference: Ints
    """Shape (n_rows,): the reference's position in `texts`."""
    pair: Ints
    """Shape (n_rows,): whose row it is."""
    n_pairs: int

    @classmethod
    def of(
        cls,
        pairs: Sequence[AnswerPair],
        of_text: Callable[[AnswerPair, str], str] = lambda _pair, text: text,
    ) -> _Flat:
        places: dict[str, int] = {}
        candidate, reference, owner = [], [], []
        for position, pair in enumerate(pairs):
            own = places.setdefault(of_text(pair, pair.candidate), len(places))
            for text in pair.references:
                candidate.append(own)
                reference.append(places.setdefault(of_text(pair, text), len(places)))
                owner.append(position)
        columns = [np.array(column, dtype=np.int64) for column in (candidate, reference, owner)]
        return cls(list(places), columns[0], columns[1], columns[2], len(pairs))

    def best(self, values: Floats, name: str, version: int) -> Scores:
        """The largest value over the references of each pair."""
        best = np.full(self.n_pairs, np.nan)
        np.fmax.at(best, self.pair, values)
        reasons = tuple("no references" if missing else None for missing in np.isnan(best).tolist())
        return Scores(best, reasons, name, version)


# --- exact and contains -----------------------------------------------------------------------------


@dataclass(frozen=True)
class NormalFormScorer:
    """1 where a reference's normal form is (exact), or stands in (contains), the candidate's, else 0."""

    name: Literal["exact", "contains"]
    rung: int = 3
    version: int = 1

    def score(self, pairs: Sequence[AnswerPair]) -> Scores:
        """Score each pair 0 or 1."""
        flat = _Flat.of(pairs)
        forms = [normalize(text, self.rung) for text in flat.texts]
        if self.name == "contains":
            # Spaces round both: on word boundaries only, so that 12 is not in 312.
            forms = [f" {form} " for form in forms]
            hits = [forms[r] in forms[c] for r, c in zip(flat.reference, flat.candidate, strict=True)]
        else:
            hits = [forms[r] == forms[c] for r, c in zip(flat.reference, flat.candidate, strict=True)]
        filled = np.array([bool(form.strip()) for form in forms], dtype=bool)
        values = np.array(hits, dtype=float) * filled[flat.reference]  # two empties are no match
        return flat.best(values, self.name, self.version)


# --- token overlap ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Overlap:
    """Counts of shared tokens, one for each (reference, candidate) row; shape (n_rows,) each."""

    shared: Ints
    in_reference: Ints
    in_candidate: Ints

    @cached_property
    def precision(self) -> Floats:
        """Share of the candidate's tokens that the reference holds."""
        return self.shared / np.maximum(self.in_candidate, 1)

    @cached_property
    def recall(self) -> Floats:
        """Share of the reference's tokens that the candidate holds."""
        return self.shared / np.maximum(self.in_reference, 1)

    @cached_property
    def f1(self) -> Floats:
        """Harmonic mean of precision and recall, in the operations and order of the published scripts."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / np.where(total > 0, total, 1)

    @cached_property
    def recall_f1(self) -> Floats:
        """Recall, its ties broken by F1.

        (recall + w F1) / (1 + w) with w = 1e-4: two recalls of references with up to 100 tokens differ by more
        than w, so that F1 decides among equals only; 1 where both are.
        """
        return (self.recall + 1e-4 * self.f1) / (1 + 1e-4)


Measure = Literal["precision", "recall", "f1", "recall_f1"]


@dataclass(frozen=True)
class OverlapScorer:
    """A measure of the tokens that reference and candidate share."""

    name: str
    tokenize: Tokenizer
    measure: Measure
    distinct: bool = False
    """Count each token once (sets), not as often as both hold it (clipped counts)."""
    in_order: bool = False
    """Count the longest common subsequence instead of the tokens."""
    version: int = 1

    def score(self, pairs: Sequence[AnswerPair]) -> Scores:
        """Score each pair from 0 to 1."""
        flat = _Flat.of(pairs)
        tokens = self.tokenize(flat.texts)
        overlap = _subsequences(flat, tokens) if self.in_order else _bags(flat, tokens, self.distinct)
        return flat.best(getattr(overlap, self.measure), self.name, self.version)


def _bags(flat: _Flat, tokens: Tokens, distinct: bool) -> Overlap:
    counts = _count_matrix(tokens)
    if distinct:
        counts.data[:] = 1
    sizes = np.asarray(counts.sum(axis=1), dtype=np.int64).ravel()
    shared = counts[flat.reference].minimum(counts[flat.candidate]).sum(axis=1)
    return Overlap(np.asarray(shared, dtype=np.int64).ravel(), sizes[flat.reference], sizes[flat.candidate])


def _count_matrix(tokens: Tokens) -> Any:
    """Token counts, shape (n_texts, n_distinct_tokens)."""
    vocabulary: dict[Hashable, int] = defaultdict(count().__next__)
    starts = np.cumsum([0, *map(len, tokens)], dtype=np.int32)
    columns = np.fromiter(map(vocabulary.__getitem__, chain.from_iterable(tokens)), np.int32, starts[-1])
    matrix = sparse.csr_array(
        (np.ones(len(columns), dtype=np.int32), columns, starts), shape=(len(tokens), max(len(vocabulary), 1))
    )
    matrix.sum_duplicates()
    return matrix


def _subsequences(flat: _Flat, tokens: Tokens) -> Overlap:
    sizes = np.array([len(text) for text in tokens], dtype=np.int64)
    shared = [LCSseq.similarity(tokens[r], tokens[c]) for r, c in zip(flat.reference, flat.candidate, strict=True)]
    return Overlap(np.array(shared, dtype=np.int64), sizes[flat.reference], sizes[flat.candidate])


def _bigrams(tokenize: Tokenizer) -> Tokenizer:
    return lambda texts: [list(pairwise(tokens)) for tokens in tokenize(texts)]


def stemmed_rouge_tokens(texts: Sequence[str]) -> Tokens:
    """ROUGE's tokens, those of more than three letters cut to their stem (Porter, as `rouge-score` does).

    Raises
    ------
    InputError
        Where NLTK, which holds the stemmer, is not installed.
    """
    stem = _stemmer()
    return [[stem(token) if len(token) > 3 else token for token in tokens] for tokens in rouge_tokens(texts)]


@lru_cache(maxsize=1)
def _stemmer() -> Callable[[str], str]:
    try:
        from nltk.stem.porter import PorterStemmer
    except ImportError:
        raise SetupError("stemmed ROUGE needs NLTK's Porter stemmer: pip install 'calibkit[stem]'") from None
    return lru_cache(maxsize=100_000)(PorterStemmer().stem)


# --- cosine of embeddings ---------------------------------------------------------------------------


@dataclass(frozen=True)
class CosineScorer:
    """Cosine of the embeddings of reference and candidate.

    Clipped to [-1, 1] and rounded to 6 decimals by definition: float32 noise would otherwise split equal
    texts and move with the batch that a text stood in.
    """

    embedder: Embedder
    text: Literal["answer", "question + answer"] = "answer"
    """What is embedded: the text alone, or the question, a line break and the text."""
    version: int = 1

    @property
    def name(self) -> str:
        """`cosine`, or `cosine_question` where the question is embedded too."""
        return "cosine" if self.text == "answer" else "cosine_question"

    def score(self, pairs: Sequence[AnswerPair]) -> Scores:
        """Score each pair from -1 to 1."""
        if self.text == "answer":
            flat = _Flat.of(pairs)
        else:
            flat = _Flat.of(pairs, lambda pair, text: f"{pair.question}\n{text}" if text.strip() else "")
        if not len(flat.pair):
            return flat.best(np.empty(0), self.name, self.version)
        vectors = self.embedder.embed(flat.texts).astype(np.float64)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float64).tiny)
        cosine = np.empty(len(flat.pair))
        for rows in _slices(len(cosine), 65_536):  # the products of all rows at once would fill the memory
            cosine[rows] = np.einsum("ij,ij->i", vectors[flat.reference[rows]], vectors[flat.candidate[rows]])
        filled = np.array([bool(text.strip()) for text in flat.texts], dtype=bool)
        cosine *= filled[flat.reference] & filled[flat.candidate]  # two blanks are no match
        rounded = np.asarray(np.round(np.clip(cosine, -1, 1), 6) + 0.0, dtype=np.float64)  # no -0.0
        return flat.best(rounded, self.name, self.version)


def _slices(length: int, step: int) -> Iterable[slice]:
    return (slice(start, start + step) for start in range(0, length, step))


# --- the table of scorers ---------------------------------------------------------------------------


def _overlap_scorers() -> dict[str, Scorer]:
    measures: tuple[Measure, ...] = ("precision", "recall", "f1")
    scorers = [OverlapScorer(f"token_{measure}", squad_tokens, measure) for measure in measures]
    scorers += [OverlapScorer(f"token_set_{m}", squad_tokens, m, distinct=True) for m in measures]
    scorers.append(OverlapScorer("token_recall_f1", squad_tokens, "recall_f1"))
    for suffix, tokenize in (("", rouge_tokens), ("_stemmed", stemmed_rouge_tokens)):
        scorers += [
            OverlapScorer(f"rouge1{suffix}", tokenize, "f1"),
            OverlapScorer(f"rouge2{suffix}", _bigrams(tokenize), "f1"),
            OverlapScorer(f"rougeL{suffix}", tokenize, "f1", in_order=True),
        ]
    return {scorer.name: scorer for scorer in scorers}


LEXICAL_SCORERS: Final[dict[str, Scorer]] = {
    "exact": NormalFormScorer("exact"),
    "contains": NormalFormScorer("contains"),
    **_overlap_scorers(),
}
"""The scorers that need nothing but the texts, by name."""

EMBEDDING_SCORERS: Final[dict[str, Callable[[Embedder], Scorer]]] = {
    "cosine": CosineScorer,
    "cosine_question": lambda embedder: CosineScorer(embedder, "question + answer"),
}
"""The scorers that need a model, by name."""


def scorer_names() -> list[str]:
    """The names of all scorers: the built-in ones, then those that installed packages register."""
    registered = [point.name for point in entry_points(group=ENTRY_POINTS)]
    return [*LEXICAL_SCORERS, *EMBEDDING_SCORERS, *sorted(registered)]


def find_scorer(name: str, embedder: Embedder | None = None) -> Scorer:
    """Look a scorer up by name.

    Raises
    ------
    InputError
        For an unknown name (with the nearest ones), for an embedding scorer without an embedder, and for a
        registered scorer that does not follow the protocol.

    Examples
    --------
    >>> find_scorer("token_recall").version
    1
    >>> find_scorer("token_recal")
    Traceback (most recent call last):
    calibkit.pairs.InputError: there is no scorer 'token_recal'; the nearest: token_recall, token_recall_f1
    """
    if name in LEXICAL_SCORERS:
        return LEXICAL_SCORERS[name]
    if name in EMBEDDING_SCORERS:
        if embedder is None:
            raise InputError(f"the scorer {name!r} needs an embedder; pass embedder=calibkit.load_embedder()")
        return EMBEDDING_SCORERS[name](embedder)
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name:
            scorer = point.load()
            scorer = scorer() if isinstance(scorer, type) else scorer
            if not isinstance(scorer, Scorer) or scorer.name != name:
                raise InputError(f"the registered scorer {name!r} ({point.value}) lacks this name, a version or score")
            return scorer
    nearest = difflib.get_close_matches(name, scorer_names(), n=2, cutoff=0) or scorer_names()
    raise InputError(f"there is no scorer {name!r}; the nearest: {', '.join(nearest)}")


def score_pairs(pairs: Iterable[AnswerPair], scorer: str | Scorer, *, embedder: Embedder | None = None) -> Scores:
    """Score pairs and hold the scorer to its protocol.

    Parameters
    ----------
    pairs
        The pairs.
    scorer
        A scorer or the name of one.
    embedder
        The model for scorers that need one.

    Raises
    ------
    InputError
        For an unknown scorer, and for one that returns another number of values, an infinite one, or a NaN
        without a reason.

    Examples
    --------
    >>> pair = AnswerPair("a", ("12 March 2026",), "It ships on 12 March.")
    >>> score_pairs([pair], "token_recall").values.round(3).tolist()
    [0.667]
    """
    pairs = tuple(pairs)
    if isinstance(scorer, str):
        scorer = find_scorer(scorer, embedder)
    scores = scorer.score(pairs)
    if scores.values.shape != (len(pairs),) or len(scores.reasons) != len(pairs):
        raise InputError(
            f"the scorer {scorer.name!r} returned {scores.values.shape} values for {len(pairs)} pairs; one each is due"
        )
    explained = np.array([reason is not None for reason in scores.reasons], dtype=bool)
    wrong = np.flatnonzero(np.isinf(scores.values) | (np.isnan(scores.values) != explained))
    if len(wrong):
        at = wrong[0]
        raise InputError(
            f"the scorer {scorer.name!r} gave the pair {pairs[at].id!r} the value {scores.values[at]} with the reason "
            f"{scores.reasons[at]!r}; due is a finite value without a reason, or NaN with one"
        )
    return scores
