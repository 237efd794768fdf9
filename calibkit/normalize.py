"""The normalisation ladder: how far two texts are levelled before they are compared.

==== ======================================================================================
rung what it does, on top of the rung below
==== ======================================================================================
1    one spelling of each character: vulgar fractions and superscripts written out, NFKC,
     dashes, quotation marks and white space of one kind, invisible characters removed
2    case folded (NFKC, casefold, NFKC: Unicode's caseless matching)
3    punctuation that carries no value, English articles and Latin accents removed
4    values (numbers, dates, ...) in canonical form, as in "order ⟦A1042⟧ ships on ⟦2026-03-12⟧"
==== ======================================================================================

Each rung is idempotent, and no rung makes a text that says something empty: where rung 3 would
leave nothing ("The The", "?!"), it keeps what it would have removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from typing import Final

import regex

from calibkit.characters import rewrite, strip_accents, unify
from calibkit.values import find_values

NORMALIZER_VERSION: Final = 1
"""Raised with every change that lets two texts compare differently; policies record it."""

RUNGS: Final = (1, 2, 3, 4)
"""The rungs of the ladder."""

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


def normalize(text: str, rung: int, locale: str | None = None) -> str:
    r"""Level `text` up to `rung`.

    Parameters
    ----------
    text
        Any text.
    rung
        1 to 4 (see the module's table).
    locale
        For rung 4, as in en_US; None: what another locale reads otherwise stays as it is written.

    Raises
    ------
    ValueError
        For a rung that there is not, and at rung 4 for a locale that CLDR does not know.

    Examples
    --------
    >>> normalize("\u201c1½\u00a0l\u201d \u2212 ＡＢ", 1)
    '"1 1/2 l" - AB'
    >>> normalize("The U.S. price: $1,299.00!", 3)
    'us price $1,299.00'
    >>> normalize("Kraków", 3), normalize("The The", 3), normalize("-5", 3), normalize("?!", 3)
    ('krakow', 'the', '-5', '?!')
    >>> normalize("Order A-1042 ships on 12 March 2026.", 4), normalize("On 03/04/2026", 4)
    ('order ⟦A1042⟧ ships on ⟦2026-03-12⟧', 'on ⟦03/04/2026⟧')
    """
    if rung not in RUNGS:
        raise ValueError(f"rung must be 1, 2, 3 or 4, not {rung!r}")
    if rung == 4:
        return _write_values(text, locale)
    for build in _LADDER[:rung]:
        text = build(text)
    return text


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


_LADDER = (unify, _fold_case, _strip_marks)

# A value in canonical form is written in brackets that keep it whole: "1.234" alone would read as 1234 elsewhere. So is
# what is no one value, as it stands: folding case would make milligrams of megagrams.
_WRITTEN_VALUE = re.compile("(⟦[^⟦⟧]*⟧)")
_VALUE_MARK = "\U0010fffd"
# What stands behind a number and may be a unit: mSv and MSv, mL and ML.
_MAY_BE_UNIT = regex.compile(r" ?(?=\p{L}{1,6}(?![\p{L}\p{Nd}]))(?:\p{Lu}\p{L}?(?!\p{L})|\p{L}+\p{Lu}\p{L}*)")
_FEET_OR_INCHES = regex.compile(r"['\"](?![\p{L}\p{Nd}'\"])")
# Words with digits, and marks that rung 3 would take though they say something: a != b, -x, A-, Cl-.
_UNREAD = regex.compile(
    r"[\p{L}\p{Nd}^_]*\p{Nd}[\p{L}\p{Nd}^_]*|!=|(?<![\p{L}\p{Nd})])-(?:\p{L}(?![\p{L}\p{Nd}'])|∞)"
    r"|(?<![\p{L}\p{Nd}'-])\p{Lu}\p{L}?-(?![\p{L}\p{Nd}-])"
)


def _write_values(text: str, locale: str | None) -> str:
    text = unify(text).replace(_VALUE_MARK, "\ufffd")
    pieces, values = [], []
    if "⟦" in text:  # written before: what stands between is read no more, for its case is gone
        for at, part in enumerate(_WRITTEN_VALUE.split(text)):
            pieces.append(_VALUE_MARK if at % 2 else part)
            if at % 2:
                values.append(part)
    else:
        end = 0
        for found in find_values(text, locale):
            if found.start < end:
                continue
            value = found.reading.value
            _keep_unread(text[end : found.start], pieces, values)
            pieces.append(_VALUE_MARK)
            end = found.end
            unit = _MAY_BE_UNIT.match(text, found.end) if value is not None and found.kind == "number" else None
            if unit is None and text[max(found.start - 1, 0) : found.start] not in ("'", '"'):
                unit = _FEET_OR_INCHES.match(text, found.end)
            if value is not None and found.kind == "number" and unit is not None:
                end = unit.end()
                values.append(f"⟦{value.canonical} {unit.group().strip()}⟧")
            else:
                values.append(f"⟦{value.canonical if value is not None else text[found.start : found.end]}⟧")
        _keep_unread(text[end:], pieces, values)
    levelled = _strip_marks(_fold_case(" ".join(pieces))).split(_VALUE_MARK)
    return "".join(chain.from_iterable(zip_longest(levelled, values, fillvalue="")))


def _keep_unread(text: str, pieces: list[str], values: list[str]) -> None:
    """Keep words with digits that are no value as they stand: with their case, and so that nobody reads them later."""
    end = 0
    for match in _UNREAD.finditer(text):
        pieces += [text[end : match.start()], _VALUE_MARK]
        values.append(f"⟦{match.group()}⟧")
        end = match.end()
    pieces.append(text[end:])


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
    text = rewrite(text)
    while (folded := rewrite(text.casefold())) != text:
        text = folded
    return text
