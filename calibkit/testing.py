"""What tests and authors of scorers need: a model that works offline, and a check of the scorer protocol."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calibkit.normalize import normalize
from calibkit.pairs import AnswerPair
from calibkit.scorers import Scorer, score_pairs


class HashEmbedder:
    """An embedder without a model: letter triples, hashed into a vector.

    Deterministic on every machine. Texts alike in letters are alike; it knows nothing of meaning.

    Examples
    --------
    >>> vectors = HashEmbedder().embed(["refund", "refunds", "lorry"])
    >>> bool(vectors[0] @ vectors[1] > 0.7 > 0.3 > vectors[0] @ vectors[2])
    True
    """

    def __init__(self, dimensions: int = 256) -> None:
        self.dimensions = dimensions
        self.embedded = 0
        """Texts embedded so far."""

    @property
    def fingerprint(self) -> str:
        """Depends on the number of dimensions only."""
        return f"hash-embedder:{self.dimensions}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts; shape (n_texts, dimensions), of length 1 or, for blank texts, 0."""
        self.embedded += len(texts)
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            padded = f" {normalize(text, 2)} "
            for start in range(len(padded) - 2):
                digest = hashlib.sha256(padded[start : start + 3].encode()).digest()
                vector[int.from_bytes(digest[:4]) % self.dimensions] += 1 if digest[4] % 2 else -1
            vector /= max(float(np.linalg.norm(vector)), 1e-12)
        return vectors


_HARD_PAIRS = (
    AnswerPair("plain", ("12 March 2026",), "It ships on 12 March."),
    AnswerPair("equal", ("12 March 2026",), "12 March 2026"),
    AnswerPair("two references", ("yes", "it does"), "It does."),
    AnswerPair("no reference", (), "Nobody knows."),
    AnswerPair("marks only", ("?!",), "..."),
    AnswerPair("unspaced script", ("河流很长",), "河流"),
    AnswerPair("long", ("a b c",), "word " * 5_000),
)


def check_scorer(scorer: Scorer) -> None:
    """Hold a scorer to the protocol, on a few hard pairs.

    Raises
    ------
    AssertionError
        Where two runs differ, or a pair's score depends on the pairs beside it.
    InputError
        Where the result is not one finite value, or NaN with a reason, for each pair.

    Examples
    --------
    >>> from calibkit.scorers import find_scorer
    >>> check_scorer(find_scorer("token_f1"))
    """
    assert isinstance(scorer, Scorer), "a scorer has name, version and score(pairs)"
    together = score_pairs(_HARD_PAIRS, scorer)
    again = score_pairs(_HARD_PAIRS, scorer)
    assert np.array_equal(together.values, again.values, equal_nan=True), "two runs differ"
    for at, pair in enumerate(_HARD_PAIRS):
        alone = score_pairs([pair], scorer).values
        assert np.array_equal(alone, together.values[at : at + 1], equal_nan=True), (
            f"the pair {pair.id!r} scores {alone[0]} alone and {together.values[at]} among others"
        )
