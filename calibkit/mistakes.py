"""The worst mistakes of a calibration, and what in their words differs from the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np
import regex
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq

from calibkit.calibration import Calibration
from calibkit.pairs import AnswerPair

LONGEST: Final = 600
"""Characters of a text that are shown."""


@dataclass(frozen=True)
class Mistakes:
    """Labelled answers on the wrong side of a threshold, or nearest to it, worst first."""

    title: str
    """What they are; says so where they are no mistakes."""
    lead: str
    """What becomes of them."""
    at: Sequence[int]
    """Positions in the ranking."""


def worst_mistakes(calibration: Calibration, most: int = 10) -> tuple[Mistakes, Mistakes]:
    """Find the highest-ranked answers that are not acceptable, and the lowest-ranked acceptable ones.

    Parameters
    ----------
    calibration
        The calibration; only the answers of its ranking are looked at.
    most
        How many of either kind.

    Returns
    -------
    (high, low)
        False passes and false fails of the policy; where it has none, the answers that come nearest to it.
    """
    stage, ranking = calibration.policy.bands_stage, calibration.ranking
    assert stage is not None  # every calibration makes one
    falling = np.argsort(-ranking.place, kind="stable")

    def find(what: str, wrong: NDArray[np.bool_], order: NDArray[np.int64], lead: str) -> Mistakes:
        found = order[wrong[order]].tolist()
        count = f"the worst {most} of {len(found)}" if len(found) > most else f"{len(found) or 'none'}"
        return Mistakes(f"{what}: {count}", lead, found[:most])

    wrong = ranking.passes(stage.bands) & ranking.rejected
    high = find("False passes", wrong, falling, "The policy passes these; a person does not accept them.")
    if not high.at:
        lead = "No false pass is among these labels. The following come nearest to one."
        if stage.pass_at_or_above is None:
            lead = "There is no pass threshold: no answer passes by its score."
        high = find("Not acceptable, but ranked high", ranking.rejected, falling, lead)
    wrong = ranking.fails(stage.bands) & ranking.accepted
    low = find("False fails", wrong, falling[::-1], "The policy fails these; a person accepts them.")
    if not low.at:
        lead = "No false fail is among these labels. The following come nearest to one."
        if stage.fail_below is None:
            lead = "There is no fail threshold: no answer fails by its score."
        low = find("Acceptable, but ranked low", ~ranking.rejected, falling[::-1], lead)
    return high, low


# Scripts without spaces are compared letter by letter, all others word by word.
_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_PIECES: Final = regex.compile(rf"\s+|[{_UNSPACED}]\p{{M}}*|[^\s{_UNSPACED}]+")
# Control characters are no part of HTML, and those that turn the writing direction could mislead.
_UNSHOWN: Final = regex.compile(r"[[\p{Cc}\p{Cs}\p{Bidi_Control}]--[\n\t]]", flags=regex.V1)

Segments = Sequence[tuple[str, bool]]
"""Pieces of a text in order, each with whether the other text lacks it."""


def compare(reference: str, candidate: str) -> tuple[Segments, Segments]:
    """Mark the words that only one of two texts has, by their longest common subsequence.

    Case and the marks round a word make no difference.

    >>> compare("Within 90 minutes.", "within 30 minutes, always")[1]
    [('within ', False), ('30', True), (' minutes, ', False), ('always', True)]
    """
    texts = [_PIECES.findall(text) for text in (reference, candidate)]
    places = [[at for at, piece in enumerate(pieces) if not piece.isspace()] for pieces in texts]
    odd = [[False] * len(pieces) for pieces in texts]
    for step in LCSseq.opcodes(_words(reference), _words(candidate)):
        if step.tag != "equal":
            for side, (start, end) in enumerate(((step.src_start, step.src_end), (step.dest_start, step.dest_end))):
                for at in places[side][start:end]:
                    odd[side][at] = True
    for flags, pieces in zip(odd, texts, strict=True):
        for at in range(1, len(pieces) - 1):  # the space between two marked words
            flags[at] |= pieces[at].isspace() and flags[at - 1] and flags[at + 1]
    left, right = (
        [("".join(piece for piece, _ in run), flag) for flag, run in groupby(zip(*text, strict=True), lambda x: x[1])]
        for text in zip(texts, odd, strict=True)
    )
    return left, right


def _words(text: str) -> list[str]:
    return [
        piece.casefold().strip("\"'“”‘’«»()[]").rstrip(".,;:!?…") or piece
        for piece in _PIECES.findall(text)
        if not piece.isspace()
    ]


def nearest_reference(pair: AnswerPair) -> int:
    """The reference of which the largest share stands in the candidate, in its order."""
    words = _words(cut(pair.candidate)[0])

    def shared(at: int) -> tuple[float, int]:
        own = _words(cut(pair.references[at])[0])
        common = LCSseq.similarity(own, words)
        return common / max(len(own), 1), common

    return max(range(min(len(pair.references), 50)), key=shared)


def cut(text: str, most: int = LONGEST) -> tuple[str, str]:
    """The beginning of a text, and a note where that is not all of it."""
    shown = _UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", text[:most].replace("\r\n", "\n"))
    return shown, f"… (the first {most} of {len(text):,} characters)" if len(text) > most else ""
