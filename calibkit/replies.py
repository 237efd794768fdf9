"""How a judge's reply is read: it says one thing, or it is unparsed.

What a judge repeats of the candidate's words may hold a verdict that the candidate forged. No place in a reply is
trusted above another, therefore: all that it states must agree.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

from calibkit.pairs import InputError

ReplyForm = Literal["json", "yes_no"]

PASS_AT: Final = 0.8
"""The score from which an answer passes, where nobody says otherwise: "partly right" (0.5) does not pass."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing that a rubric judge scores from 0 to 1.

    Raises
    ------
    InputError
        For a blank name or text, a name of several lines, or a weight that is out of bounds.
    """

    name: str
    text: str
    """What is asked for, in words."""
    weight: float = 1.0
    """Its share in the mean, relative to the other weights; from 0.000001 to 1,000,000."""

    def __post_init__(self) -> None:
        if not self.name.strip() or len(self.name.splitlines()) > 1:
            raise InputError(f"a criterion is called {self.name!r}; give it a name of one line")
        if not self.text.strip():
            raise InputError(f"the criterion {self.name!r} has no text; say what it asks for")
        if not 1e-6 <= self.weight <= 1e6:
            raise InputError(f"the criterion {self.name!r} has the weight {self.weight}; give 0.000001 to 1000000")


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a judge said."""

    verdict: Literal["pass", "fail"]
    score: float
    """From 0 to 1; where the judge gave a verdict and no score, 1 for a pass and 0 for a fail."""
    reason: str = ""
    """In the judge's words."""
    scores: tuple[tuple[str, float], ...] = ()
    """Each criterion's."""


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A reply that does not say one thing."""

    reason: str


def read_reply(
    text: str | None, reply: ReplyForm = "json", pass_at: float = PASS_AT, criteria: Sequence[Criterion] = ()
) -> Opinion | Unparsed:
    """Read what a judge replied, or say why it says no one thing.

    A JSON reply may be fenced, have prose round it, and follow a block of reasoning (``<think>``). What stands at the
    top of an object counts; what stands deeper in it, and a plain verdict in the prose ("Verdict: fail"), cannot
    decide, but contradict. Text within a JSON string says nothing.

    Parameters
    ----------
    text
        The reply.
    reply
        "json": an object with a verdict, a score or both (with criteria: an object of scores for all of them).
        "yes_no": the leading word.
    pass_at
        The score from which the answer passes, above 0 and up to 1.
    criteria
        The criteria that the prompt named; the score is their weighted mean.

    Raises
    ------
    InputError
        For a `pass_at` outside (0, 1], two criteria of a name, or criteria with "yes_no"; for no text of a reply.

    Examples
    --------
    >>> read_reply('Here you are: {"reason": "another city", "score": 0.0}')
    Opinion(verdict='fail', score=0.0, reason='another city', scores=())
    >>> read_reply('{"verdict": "pass"} or rather {"verdict": "fail"}')
    Unparsed(reason='two different verdicts')
    >>> read_reply("**Yes**, both name the same year.", "yes_no").verdict
    'pass'
    """
    if not 0 < pass_at <= 1:
        raise InputError(f"pass_at_or_above of a judge is {pass_at}; give a number above 0 and up to 1")
    if reply not in ("json", "yes_no") or (criteria and reply == "yes_no"):
        raise InputError(f"a reply {'to criteria ' if criteria else ''}cannot be read as {reply!r}; use reply: json")
    check_criteria(criteria)
    try:
        said, reasoned = _without_reasoning(text or "", reply)
        if not said:
            raise _Unclear("the reply is empty")
        return _leading_word(said) if reply == "yes_no" else _in_json(said, reasoned, pass_at, criteria)
    except _Unclear as unclear:
        return Unparsed(str(unclear))


def check_criteria(criteria: Sequence[Criterion]) -> None:
    """Refuse criteria that a reply could not tell apart.

    Raises
    ------
    InputError
        For two of the same name, whatever the case.
    """
    twice = [name for name, count in Counter(_plain(each.name) for each in criteria).items() if count > 1]
    if twice:
        raise InputError(f"two criteria are called {twice[0]!r}; give each its own name")


class _Unclear(Exception):
    """Why a reply is unparsed."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """A statement in a reply: a verdict, or else a score."""

    verdict: bool | None
    score: float = math.nan

    def passes(self, pass_at: float) -> bool:
        return self.score >= pass_at if self.verdict is None else self.verdict


def _agreed(claims: Sequence[_Claim], pass_at: float) -> tuple[bool, float]:
    """What the claims state together: whether the answer passes, and its score."""
    scores = {claim.score for claim in claims if claim.verdict is None}
    verdicts = {claim.verdict for claim in claims if claim.verdict is not None}
    if len(scores) > 1 or len(verdicts) > 1:
        raise _Unclear(f"two different {'scores' if len(scores) > 1 else 'verdicts'}")
    sides = {claim.passes(pass_at) for claim in claims}
    if len(sides) > 1:
        raise _Unclear(f"the verdict contradicts the score {scores.pop():g}")
    passes = sides.pop()
    return passes, scores.pop() if scores else float(passes)


# --- Words and numbers -------------------------------------------------------------------------------

_ADJECTIVES = ("correct", "valid", "acceptable", "accepted", "equivalent")
_PASS_WORDS = frozenset({"pass", "passed", "passes", "yes", "true", "accept", *_ADJECTIVES})
_BAD_ADJECTIVES = ("incorrect", "invalid", "unacceptable", "rejected", "inequivalent", "wrong")
_FAIL_WORDS = frozenset({"fail", "failed", "fails", "no", "false", "reject", *_BAD_ADJECTIVES}) | {
    f"not {word}" for word in (*_ADJECTIVES, "pass", "passed")
}
_BLANK = " \t\r\n\v\f\u00a0\ufeff"
_MARKUP = _BLANK + "*_~`\"'“”‘’#>()[]"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _word(text: str) -> bool | None:
    """Whether a verdict passes; None for a text that is no verdict."""
    word = _plain(text.strip(_MARKUP + ".!").replace("_", " ").replace("-", " "))
    return True if word in _PASS_WORDS else False if word in _FAIL_WORDS else None


def _verdict(value: object, name: str) -> bool:
    passes = _word(value) if isinstance(value, str) else value
    if passes in (False, True):  # 0 and 1 as well
        return bool(passes)
    raise _Unclear(f"the {name} is no pass or fail")


def _score(value: object, name: str) -> float:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if not isinstance(value, float):
        raise _Unclear(f"the {name} is no number")
    if not 0 <= value <= 1:  # nor is NaN
        raise _Unclear(f"the {name} is {value:g}, outside 0 to 1")
    return abs(value)  # no negative zero


# --- A leading word ----------------------------------------------------------------------------------

_TAG_NAMES = "think|thinking|thought|reasoning|reflection"
_REASONING = re.compile(f"<({_TAG_NAMES})>", re.IGNORECASE)
_REASONING_TAG = re.compile(f"<(/?)(?:{_TAG_NAMES})>", re.IGNORECASE)


def _without_reasoning(text: str, reply: ReplyForm) -> tuple[str, bool]:
    """The reply proper, and whether reasoning stood before it."""
    text = text.strip(_BLANK)
    if opening := _REASONING.match(text):
        closing = re.compile(f"</{opening[1]}>", re.IGNORECASE).search(text, opening.end())
        if closing is None:
            raise _Unclear("the reasoning does not end")
        return text[closing.end() :].strip(_BLANK), True
    closing = _REASONING_TAG.search(text)
    if closing and closing[1] and reply == "json" and not _OBJECT_BEGINS.search(text, 0, closing.start()):
        return text[closing.end() :].strip(_BLANK), True  # its beginning stood in the prompt
    return text, False


_LEADING = re.compile(
    rf"(?P<word>yes|no)(?![\w-])(?P<close>[{re.escape(_MARKUP.strip())}]*+)"
    r"[^\S\n]*+(?:$|[.,:;!—–\n(]|-(?!\w)|(?<=\s)(?P<next>[^\W\d_]++))",
    re.IGNORECASE,
)
# "No doubt about it" is no "no": where no punctuation follows, it must be a word that begins a sentence.
_BEGINNINGS = frozenset(
    {"a", "an", "and", "answer", "as", "because", "both", "but", "candidate", "he", "i", "in", "it", "its", "neither"}
    | {"one", "reference", "she", "since", "that", "the", "there", "these", "they", "this", "those", "we", "while"}
)
_YES_AND_NO = re.compile(r"(yes|no)\b[\W_]{0,20}+(?:(?:and|or|but)\b[\W_]{0,20}+)?(?!\1\b)(?:yes|no)\b", re.IGNORECASE)


def _leading_word(said: str) -> Opinion:
    if tag := _REASONING_TAG.search(said):
        raise _Unclear(f"a stray {tag[0]}")
    said = said.lstrip(_MARKUP)
    found = _LEADING.match(said)
    if found is None or _YES_AND_NO.match(said):
        raise _Unclear("the reply does not begin with yes or no")
    passes = found["word"].casefold() == "yes"
    if not passes and found["next"] and found["next"].casefold() not in _BEGINNINGS:
        raise _Unclear(f"{found[0]!r} may not mean no")
    rest = said[found.end("close") :].strip(_MARKUP + ".,:;!—–-")
    _agreed([_Claim(passes), *_in_prose(rest)], PASS_AT)
    return Opinion("pass" if passes else "fail", float(passes), rest)


# --- Objects -----------------------------------------------------------------------------------------


class _Pairs(list[tuple[str, Any]]):
    """A JSON object; a key may come twice."""


_SCORE_KEYS = frozenset({"score", "final score", "overall score", "total score"})
_VERDICT_KEYS = frozenset({"verdict", "decision", "judgement", "judgment", "outcome", "result", "grade", "label"})
_GOOD_KEYS = frozenset({"pass", "passed", "passes", *_ADJECTIVES})
_BAD_KEYS = frozenset({"fail", "failed", "fails", *_BAD_ADJECTIVES})
_REASON_KEYS = frozenset({"reason", "reasoning", "explanation", "rationale", "justification"})
_KEY_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def _in_json(said: str, reasoned: bool, pass_at: float, criteria: Sequence[Criterion]) -> Opinion:
    objects, prose = _objects(said)
    if not objects:
        raise _Unclear("no JSON object")
    if reasoned and prose[-1].strip(_MARKUP):
        # The end of the reasoning may have been quoted in it, with the object.
        raise _Unclear("more text behind reasoning and object")
    deciding = [claim for pairs in objects for claim in _claims(pairs)]
    others = [claim for piece in prose for claim in _in_prose(piece)]
    scores: tuple[tuple[str, float], ...] = ()
    if criteria:
        scores = _criterion_scores(objects, criteria)
        # A judge's own total need not be the exact mean; it must not lie on the other side.
        others = [_Claim(claim.passes(pass_at)) for claim in deciding + others]
        deciding = [_Claim(None, _mean(scores, criteria))]
    else:
        others += [claim for pairs in objects for _, value in pairs for claim in _deeper(value)]
    if not deciding:
        raise _Unclear("no verdict and no score")
    passes, score = _agreed(deciding + others, pass_at)
    found = (value for pairs in objects for key, value in pairs if _plain(key) in _REASON_KEYS)
    reason = next((value.strip() for value in found if isinstance(value, str)), "")
    return Opinion("pass" if passes else "fail", score, reason, scores)


def _claims(pairs: _Pairs) -> Iterator[_Claim]:
    """What an object states at its top."""
    for key, value in pairs:
        words = [word.casefold() for word in _KEY_WORD.findall(key[:200])]
        name, last = " ".join(words), words[-1] if words else ""
        if name in _SCORE_KEYS:
            yield _Claim(None, _score(value, name))
        elif name.removeprefix("final ").removeprefix("overall ") in _VERDICT_KEYS:
            yield _Claim(_verdict(value, name))
        elif last in _BAD_KEYS or (last in _GOOD_KEYS and "not" in words):
            # "incorrect": "incorrect" does not state the opposite.
            if isinstance(value, str) and _plain(value) not in ("true", "false", "yes", "no"):
                raise _Unclear(f"the {name} is no yes or no")
            yield _Claim((not _verdict(value, name)) ^ (last in _BAD_KEYS and "not" in words))
        elif last in _GOOD_KEYS:
            yield _Claim(_verdict(value, name))


def _deeper(value: Any) -> Iterator[_Claim]:
    if isinstance(value, _Pairs):
        yield from _claims(value)
    if isinstance(value, list):
        for part in value:
            yield from _deeper(part[1] if isinstance(value, _Pairs) else part)


def _criterion_scores(objects: Iterable[_Pairs], criteria: Sequence[Criterion]) -> tuple[tuple[str, float], ...]:
    """The scores in the order of the criteria: for each one, for no other, for none in two ways."""
    names = {_plain(each.name): each.name for each in criteria}
    found: dict[str, float] = {}
    for value in (value for pairs in objects for key, value in pairs if _plain(key) == "scores"):
        if not isinstance(value, _Pairs):
            raise _Unclear("the scores are no object")
        for key, score in value:
            name = names.get(_plain(key))
            if name is None:
                raise _Unclear(f"a score for {key[:60]!r}, which is no criterion")
            number = _score(score, f"score for {name!r}")
            if found.setdefault(name, number) != number:
                raise _Unclear(f"two different scores for {name!r}")
    if missing := [name for name in names.values() if name not in found]:
        raise _Unclear(f"no score for {missing[0]!r}")
    return tuple((name, found[name]) for name in names.values())


def _mean(scores: Iterable[tuple[str, float]], criteria: Sequence[Criterion]) -> float:
    # In decimals as they were written, so that the mean of 1 and 0.6 reaches a threshold of 0.8.
    weights = [Fraction(str(float(each.weight))) for each in criteria]
    total = sum(weight * Fraction(str(score)) for weight, (_, score) in zip(weights, scores, strict=True))
    return float(total / sum(weights))


# What begins like an object and is none makes the reply unparsed: what stands in it or behind it may be quoted.
# Other braces are prose.
_STRING = r"""(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')"""
_OBJECT_BEGINS = re.compile(rf"\{{\s*+(?:{_STRING}|[^\W\d]\w*+)\s*+:", re.DOTALL)
_TOKEN = re.compile(rf"\s*+(?:([{{}}\[\]:,])|({_STRING})|([^\s{{}}\[\]:,\"']++))", re.DOTALL)
_CONSTANTS: Final = dict(
    zip(
        ("true", "false", "null", "True", "False", "None", "NaN", "Infinity", "-Infinity"),
        (True, False, None, True, False, None, math.nan, math.inf, -math.inf),
        strict=True,
    )
)
_DEEPEST: Final = 30
_BROKEN: Final = "a broken JSON object"


def _objects(text: str) -> tuple[list[_Pairs], list[str]]:
    """The objects of a text, and the prose before, between and behind them."""
    objects: list[_Pairs] = []
    prose: list[str] = []
    at = depth = 0
    while begin := _OBJECT_BEGINS.search(text, at):
        value, end = _read_value(text, begin.start(), 0)
        before = text[at : begin.start()]
        doubled = before.rstrip().endswith("{") and text[end : end + 99].lstrip().startswith("}")
        depth += before.count("{") - before.count("}")
        if not 0 <= depth <= doubled:
            raise _Unclear("an object within other braces")
        objects.append(value)
        prose.append(before)
        at = end
    prose.append(text[at:])
    if depth + prose[-1].count("{") < prose[-1].count("}"):
        raise _Unclear("a brace that closes nothing")  # the object round this one may have lost its beginning
    for piece in prose:
        if tag := _REASONING_TAG.search(piece):
            raise _Unclear(f"a stray {tag[0]}")
    return objects, prose


def _read_value(text: str, at: int, depth: int) -> tuple[Any, int]:
    """Read JSON, and what models write for it: trailing commas, single quotes, Python's constants, open line ends."""
    if depth > _DEEPEST:
        raise _Unclear("JSON nested too deeply")
    kind, token, at = _token(text, at)
    if kind == "string":
        return _unquoted(token), at
    if kind == "bare":
        return _bare(token), at
    if token not in "{[":
        raise _Unclear(_BROKEN)
    values: list[Any] = _Pairs() if token == "{" else []
    close = "}" if token == "{" else "]"
    while True:
        kind, token, end = _token(text, at)
        if (kind, token) == ("mark", close):
            return values, end
        if close == "}":
            key, at = _read_key(text, at)
            value, at = _read_value(text, at, depth + 1)
            values.append((key, value))
        else:
            value, at = _read_value(text, at, depth + 1)
            values.append(value)
        kind, token, end = _token(text, at)
        if kind != "mark" or token not in (",", close):
            raise _Unclear(_BROKEN)
        at = end if token == "," else at


def _read_key(text: str, at: int) -> tuple[str, int]:
    kind, key, at = _token(text, at)
    _, colon, at = _token(text, at)
    if kind != "string" or colon != ":":
        raise _Unclear(_BROKEN)
    return _unquoted(key), at


def _token(text: str, at: int) -> tuple[Literal["mark", "string", "bare"], str, int]:
    found = _TOKEN.match(text, at)
    if found is None:
        raise _Unclear("a JSON object that does not end")
    return "mark" if found[1] else "string" if found[2] else "bare", found[0].lstrip(), found.end()


def _unquoted(token: str) -> str:
    if token[0] == '"':
        try:
            return str(json.loads(token, strict=False))
        except ValueError:
            pass  # an escape that JSON does not know
    return token[1:-1].replace("\\'", "'")


def _bare(token: str) -> float | None:
    if token in _CONSTANTS:
        return _CONSTANTS[token]
    if _NUMBER.fullmatch(token):
        return float(token)
    raise _Unclear(_BROKEN)


# --- Verdicts in prose -------------------------------------------------------------------------------

_SENTENCE_END = re.compile(r"(?<![.!?;])[.!?;]++(?=\s|$)|\n")
_WORDS = "|".join(word.replace(" ", r"[\s_-]") for word in sorted(_PASS_WORDS | _FAIL_WORDS, key=len, reverse=True))
_PREDICATES = "|".join((rf"(?:not\s)?(?:{'|'.join(_ADJECTIVES)})", *_BAD_ADJECTIVES))
_STATED = re.compile(
    r"(?:(?:so|thus|therefore|hence|overall|finally|in (?:short|summary|conclusion)),?\s)?"
    r"(?:(?:(?:the|my|final|overall)\s){0,3}(?:verdict|score|decision|judge?ment|result|outcome|grade|conclusion)\b"
    rf"[\s*_`\"':=–—-]{{1,9}}+(?:is\b[\s*_`\"':]{{0,9}}+)?(?P<labelled>(?:{_WORDS})\b|[0-9][0-9.]{{0,30}}+)"
    r"|(?:(?:the|this|candidate(?:'s)?|model(?:'s)?)\s){0,3}(?:answer|candidate|response|it|this)"
    rf"\s(?:is|was)\s[*_`\"']{{0,4}}(?P<predicate>(?:{_PREDICATES})\b)"
    rf"|(?P<alone>(?:{_WORDS})\b))"
    r"[*_`\"')]{0,4}(?:\s*+(?:$|[:(–—]|-\s|,(?!\s(?:but|though|although|however|except|yet)\b))|\s(?:because|since)\b)",
    re.IGNORECASE,
)


def _in_prose(text: str) -> Iterator[_Claim]:
    """Verdicts as plain as "FAIL", "Score: 0.5", "No, it is not", or that the answer is wrong."""
    for sentence in _SENTENCE_END.split(text):
        found = _STATED.match(sentence.strip(_MARKUP + "-•").replace("’", "'"))
        if found is None:
            continue
        said = found["labelled"] or found["predicate"] or found["alone"]
        if not said[0].isdigit():
            yield _Claim(_word(said))
        elif _NUMBER.fullmatch(said) and float(said) <= 1:
            yield _Claim(None, float(said))
