"""Characters: one spelling of each, which is rung 1 of the ladder, and letters without their accents."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby

import regex

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
_LATIN_ACCENTS = regex.compile(r"(?<=[\p{Latin}])\p{Mn}+")
_UNDECOMPOSED = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "ŧ": "t"})


def unify(text: str) -> str:
    """Rung 1: one spelling of each character, white space as single spaces.

    >>> unify("\u201c1½\u00a0l\u201d \u2212 ＡＢ")
    '"1 1/2 l" - AB'
    """
    return " ".join(rewrite(text).split())


def rewrite(text: str) -> str:
    """As `unify`, but for the white space."""
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


def strip_accents(text: str) -> str:
    """Remove the accents of Latin letters; other scripts keep their marks, which tell words apart.

    >>> strip_accents("łódź, ærø, हिन्दी")
    'lodz, aero, हिन्दी'
    """
    apart = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", _LATIN_ACCENTS.sub("", apart)).translate(_UNDECOMPOSED)
