"""The normalisation ladder: how far two texts are levelled before they are compared.

==== ======================================================================================
rung what it does, on top of the rung below
==== ======================================================================================
1    one spelling of each character: vulgar fractions and superscripts written out, NFKC,
     dashes, quotation marks and white space of one kind, invisible characters removed
2    case folded (NFKC, casefold, NFKC: Unicode's caseless matching)
3    punctuation that carries no value, English articles and Latin accents removed
4    values (numbers, dates, ...) in canonical form: not built yet
==== ======================================================================================

Each rung is idempotent, and no rung makes a text that says something empty: where rung 3 would
leave nothing ("The The", "?!"), it keeps what it would have removed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Final

import regex

NORMALIZER_VERSION: Final = 1
"""Raised with every change that lets two texts compare differently; policies record it."""

RUNGS: Final = (1, 2, 3)
"""The rungs that are built."""

_FRACTION = re.compile("[\u00bc-\u00be\u2150-\u215f\u2189]")
_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", strict=True))
_SUPERSCRIPT_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
_LONG_MARKS = regex.compile(r"\p{M}{32,}")


def _one_of(characters: Iterable[str]) -> re.Pattern[str]:
    return re.compile("[" + "".join(map(re.escape, characters)) + "]")


def _span(first: str, last: str) -> str:
    return "".join(map(chr, range(ord(first), ord(last) + 1)))


_BEFORE_NFKC = {
    # Format characters that show nothing: soft hyphen, zero-width and directional marks, BOM.
    **dict.fromkeys("\u00ad\u061c\u180e\ufeff", ""),
    **dict.fromkeys(_span("\u200b", "\u200f") + _span("\u202a", "\u202e"), ""),
    **dict.fromkeys(_span("\u2060", "\u2064") + _span("\u2066", "\u206f"), ""),
    # What NFKC would turn into a space and a combining mark.
    **dict.fromkeys("\u00b4\u1ffd", "'"),
    # Double primes, which it would take apart.
    **dict.fromkeys("\u2033\u2036", '"'),
}
_AFTER_NFKC = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63", "-"),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a\u2032\u2035\u02b9\u02bb\u02bc\u02bd", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u301d\u301e\u301f", '"'),
    **dict.fromkeys("\u2044\u2215", "/"),
}
_ONE_BEFORE_NFKC, _ONE_AFTER_NFKC = _one_of(_BEFORE_NFKC), _one_of(_AFTER_NFKC)
_ONE_REWRITTEN = _one_of(_BEFORE_NFKC | _AFTER_NFKC)

# Rung 3. Marks that carry a value stay: between digits, a sign or an exponent before a digit, a number
# alone in brackets (-5, .5, 3.5, 12:30, 3/4, 2026-03-12, 10^3, (5)); so do all symbols (<, +, $, ...).
_WITHIN_WORD = regex.compile(r"['.](?<=\p{L}\p{M}*['.])(?=\p{L})")
_KEPT_MARK = "|".join(
    (
        r"(?<=\p{Nd})[.,:/\-](?=\p{Nd})",
        r"(?<![\p{L}\p{Nd}])[-.](?=[\p{Sc}.]?\p{Nd})",
        r"(?<=[\p{L}\p{Nd}])\^(?=[-+]?\p{Nd})",
        r"(?<=\^)-(?=\p{Nd})",
        r"[%‰&@/]",
        r"(?<=\p{L})\#|\#(?=\p{Nd})",
        r"^\((?=[\p{Sc}\p{Nd}.,% ]+\)[.!?]*$)|\)(?=[.!?]*$)(?<=^\([\p{Sc}\p{Nd}.,% ]+\))",
    )
)
_MARK = regex.compile(rf"(?:{_KEPT_MARK})(*SKIP)(*FAIL)|[\p{{P}}`^|]")
# "a" may be the name of something (vitamin A; A, B and C): only before a longer word at the beginning.
_ARTICLE = regex.compile(r"(?<!\S)(?:the|an)(?= \S)|^a(?= \p{L}{3})")
_LATIN_ACCENTS = regex.compile(r"(?<=[\p{Latin}])\p{Mn}+")
_UNDECOMPOSED = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "ŧ": "t"})


def normalize(text: str, rung: int) -> str:
    r"""Level `text` up to `rung`.

    Parameters
    ----------
    text
        Any text.
    rung
        1, 2 or 3 (see the module's table).

    Raises
    ------
    ValueError
        For a rung that is not built.

    Examples
    --------
    >>> normalize("\u201c1½\u00a0l\u201d \u2212 ＡＢ", 1)
    '"1 1/2 l" - AB'
    >>> normalize("The U.S. price: $1,299.00!", 3)
    'us price $1,299.00'
    >>> normalize("Kraków", 3), normalize("The The", 3), normalize("-5", 3), normalize("?!", 3)
    ('krakow', 'the', '-5', '?!')
    """
    if rung not in RUNGS:
        raise ValueError(f"rung must be 1, 2 or 3, not {rung!r}; rung 4 (values) is not built yet")
    for build in _LADDER[:rung]:
        text = build(text)
    return text


def _unify(text: str) -> str:
    return " ".join(_rewrite(text).split())


def _rewrite(text: str) -> str:
    # A removed or replaced character may let its neighbours compose, hence until nothing is left to do.
    while not (text.isascii() or (unicodedata.is_normalized("NFKC", text) and not _ONE_REWRITTEN.search(text))):
        text = _ONE_BEFORE_NFKC.sub(lambda match: _BEFORE_NFKC[match[0]], text)
        text = _write_out_fractions(text)
        text = _SUPERSCRIPT_RUN.sub(_write_out_exponent, text)
        text = _LONG_MARKS.sub(_in_canonical_order, text)
        text = unicodedata.normalize("NFKC", text)
        text = _ONE_AFTER_NFKC.sub(lambda match: _AFTER_NFKC[match[0]], text)
    return text


def _write_out_fractions(text: str) -> str:
    # NFKC alone would read 1½ as 11⁄2.
    def spaced(match: re.Match[str]) -> str:
        whole = unicodedata.normalize("NFKC", match.group())
        before = " " if match.start() and text[match.start() - 1].isnumeric() else ""
        complete = match.group() != "\u215f"  # "⅟", which a denominator follows
        after = " " if complete and match.end() < len(text) and text[match.end()].isdigit() else ""
        return before + whole + after

    return _FRACTION.sub(spaced, text)


def _write_out_exponent(match: re.Match[str]) -> str:
    # NFKC alone would read 10² as 102.
    return "^" + "".join(_SUPERSCRIPTS[character] for character in match.group())


def _in_canonical_order(marks: regex.Match[str]) -> str:
    # NFKC does this too, but in time that grows with the square of the number of marks.
    apart = "".join(unicodedata.normalize("NFD", mark) for mark in marks.group())
    runs = groupby(apart, key=lambda mark: unicodedata.combining(mark) > 0)
    return "".join(mark for _, run in runs for mark in sorted(run, key=unicodedata.combining))


def _fold_case(text: str) -> str:
    return " ".join(_fold_lines(text).split())


def _strip_marks(text: str) -> str:
    previous = None
    while text != previous:  # what is removed may bring others together
        previous = text
        bare = _MARK.sub(" ", _WITHIN_WORD.sub("", text))
        bare = " ".join(_ARTICLE.sub("", " ".join(bare.split())).split())
        if not bare.isascii():
            bare = strip_accents(bare)
        text = bare or text
    return text


def strip_accents(text: str) -> str:
    """Remove the accents of Latin letters; other scripts keep their marks, which tell words apart.

    >>> strip_accents("łódź, ærø, हिन्दी")
    'lodz, aero, हिन्दी'
    """
    apart = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", _LATIN_ACCENTS.sub("", apart)).translate(_UNDECOMPOSED)


_LADDER = (_unify, _fold_case, _strip_marks)

# --- tokens: what overlap scorers count ----------------------------------------------------------
# Texts are levelled together, one a line: a thousand short calls cost more than one long one.

# Scripts written without spaces: one token a character (with its marks).
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_UNSPACED_CHARACTER = regex.compile(rf"([{_UNSPACED}]\p{{M}}*)")
_NO_WORD = regex.compile(r"[^\p{L}\p{M}\p{N}\n]")
_PUNCTUATION = regex.compile(r"[\p{P}$+<=>^`|~]")
_ASCII_PUNCTUATION = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_ASCII_WORDS = bytes(ord(chr(c).lower()) if c < 128 and chr(c).isalnum() else 10 if c == 10 else 32 for c in range(256))
_SQUAD_ARTICLES = frozenset({"a", "an", "the"})


def rouge_tokens(texts: Sequence[str]) -> list[list[str]]:
    """Runs of letters and digits, case folded: the tokens of ROUGE, for all scripts.

    For ASCII text these are the tokens of Google's `rouge-score` package without its stemmer.

    >>> rouge_tokens(["Don't pay $1,299", "pay 河流 हिन्दी", ""])
    [['don', 't', 'pay', '1', '299'], ['pay', '河', '流', 'हिन्दी'], []]
    """

    def ascii_words(text: str) -> str:
        return text.encode().translate(_ASCII_WORDS).decode()

    def words(text: str) -> str:
        return _UNSPACED_CHARACTER.sub(r" \1 ", _NO_WORD.sub(" ", _fold_lines(text)))

    return [line.split() for line in _level_together(texts, ascii_words, words)]


def squad_tokens(texts: Sequence[str]) -> list[list[str]]:
    """Words without punctuation and articles, case folded: the tokens of SQuAD's F1, for all scripts.

    For ASCII text these are the tokens of SQuAD's evaluation script, but for a text of nothing else
    than articles or punctuation: it keeps them, so that no text that says something is empty.

    >>> squad_tokens(["The well-known U.S. price, $1,299!"])
    [['wellknown', 'us', 'price', '1299']]
    >>> squad_tokens(["A", "The The", "?!", "  ", "河流"])
    [['a'], ['the', 'the'], ['?!'], [], ['河', '流']]
    """

    def ascii_words(text: str) -> str:
        return text.lower().encode().translate(None, _ASCII_PUNCTUATION).decode()

    def words(text: str) -> str:
        return _UNSPACED_CHARACTER.sub(r" \1 ", _PUNCTUATION.sub("", _fold_lines(text)))

    tokens = []
    for text, line in zip(texts, _level_together(texts, ascii_words, words), strict=True):
        kept = line.split() or normalize(text, 2).split()
        tokens.append([word for word in kept if word not in _SQUAD_ARTICLES] or kept)
    return tokens


def _level_together(texts: Sequence[str], of_ascii: Callable[[str], str], of_other: Callable[[str], str]) -> list[str]:
    levelled = [""] * len(texts)
    for level, ascii_only in ((of_ascii, True), (of_other, False)):
        places = [place for place, text in enumerate(texts) if text.isascii() is ascii_only]
        if places:
            lines = level("\n".join([texts[place].replace("\n", " ") for place in places])).split("\n")
            for place, line in zip(places, lines, strict=True):
                levelled[place] = line
    return levelled


def _fold_lines(text: str) -> str:
    # Folding takes some letters apart that NFKC puts together again (ΐ): the two together settle.
    # Neither makes or moves a line break.
    text = _rewrite(text)
    while (folded := _rewrite(text.casefold())) != text:
        text = folded
    return text
