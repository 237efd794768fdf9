"""Abstentions: whether an answer as a whole says that it is not known.

A text is taken apart into clauses. Each abstains ("I could not find that"), is courtesy ("Sorry", "please ask the
shop"), goes on with the one before, or says something. A text abstains where some clause does and none says
something: "I don't know exactly, but it is 5 euros" hedges, and is an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

import regex

from calibkit.normalize import normalize
from calibkit.values.reading import language_of

LONGEST: Final = 1_000
"""Characters that an abstention may have; longer texts say something, too."""

Stance = Literal["abstains", "hedges", "answers"]


def supports(locale: str | None) -> bool:
    """Whether the abstentions of a language are known; of others, only the phrases that are given.

    >>> supports("de_AT"), supports("fi"), supports(None)
    (True, False, True)
    """
    return language_of(locale) in _LANGUAGES


def is_abstention(text: str, locale: str | None, phrases: Sequence[str] = ()) -> bool:
    """Whether an answer as a whole says that it is not known or cannot be answered.

    Parameters
    ----------
    text
        An answer, or a reference.
    locale
        Of the text, as in en_US; None: English.
    phrases
        Further texts or clauses that abstain, compared at rung 3.

    Raises
    ------
    ValueError
        For a locale that does not exist.

    Examples
    --------
    >>> is_abstention("Not stated: the leaflet names no fee.", "en_US")
    True
    >>> is_abstention("I don't know exactly, but it is 5 euros.", "en_US")
    False
    >>> is_abstention("En tiedä.", "fi", phrases=["en tiedä"])
    True
    """
    return stance(text, locale, phrases) == "abstains"


def stance(text: str, locale: str | None, phrases: Sequence[str] = ()) -> Stance:
    """What an answer does: abstain, abstain and say something beside it (hedge), or answer.

    Takes what `is_abstention` takes.

    Examples
    --------
    >>> stance("I'm not sure, maybe Oslo.", None), stance("Oslo", None)
    ('hedges', 'answers')
    """
    grammar = _grammar_of(language_of(locale))
    text = text.strip()
    if len(text) > LONGEST:
        return "answers"
    known = {normalize(phrase, 3) for phrase in phrases} - {""}
    form = normalize(text, 3)
    if form in known:
        return "abstains"
    if not known and not grammar.hint.search(form):
        return "answers"
    kinds: list[_Kind] = []
    behind = ""
    for clause in _clauses(text, grammar):
        last = kinds[-1] if kinds else "courtesy"
        kinds.append("abstains" if clause.form in known else grammar.classify(clause, last, behind))
        behind = clause.form
    if "abstains" not in kinds and "abstains from" not in kinds:
        return "answers"
    # What stands between commas is a list only where "or" or "and" ends it: else it may be the answer.
    listed = any(kind == "lists" and "goes on" not in kinds[place:] for place, kind in enumerate(kinds))
    return "hedges" if listed or "says" in kinds else "abstains"


# --- clauses ------------------------------------------------------------------------------------------

_Kind = Literal["abstains", "abstains from", "goes on", "lists", "courtesy", "says"]
"""What a clause does; "abstains from" names something, which the next clause may go on naming."""


@dataclass(frozen=True, slots=True)
class _Clause:
    joint: str
    """The mark or word that joins it to the clause before."""
    form: str
    """At rung 3."""
    ends: str
    """The mark behind it."""


_QUOTED = regex.compile(r"""(?<!\w)(?:"([^"]*+)"|'([^']*+)')(?!\w)""")
_SAYS = regex.compile(r"[\p{L}\p{N}\p{S}]")
_PARAGRAPH = regex.compile(r"\n\s*+\n")
# A full stop ends no clause behind an initial or within a number.
_MARK = regex.compile(r"(?:(?<!(?:^|[\s.])\p{L})\.|[!?;:…])+(?=\s|\p{P}|$)|[()\[\]{}<>|]|,(?=\s)|(?<=\s)-+(?=\s)")


def _clauses(text: str, grammar: _Grammar) -> Iterator[_Clause]:
    text = normalize(". ".join(_PARAGRAPH.split(text)), 2)
    if whole := _QUOTED.fullmatch(text):
        text = whole[1] or whole[2] or ""
    text = _QUOTED.sub(_named, text)
    start, before = 0, "."
    for mark in [*_MARK.finditer(text), None]:
        piece = text[start : mark.start() if mark else len(text)]
        form = normalize(piece, 3) if _SAYS.search(piece) else ""
        after = mark[0][:1] if mark else "."
        parts = grammar.joining.split(form)
        for place in range(0, len(parts), 2):
            joint = parts[place - 1] if place else before
            if part := parts[place].strip():
                yield _Clause(joint, part, after if place + 1 == len(parts) else "")
        # A joining word keeps its say over a mark behind it: "However, ...".
        before = joint if form and not part and after == "," else after if form or before == "." else before
        start = mark.end() if mark else len(text)


def _named(quoted: regex.Match[str]) -> str:
    """What is quoted is a name, whatever it says."""
    inside = quoted[1] or quoted[2] or ""
    return "quoted" + (inside[-1] if inside.endswith(tuple(".!?,;:")) else "")


@dataclass(frozen=True, slots=True)
class _Grammar:
    """How a language abstains, as patterns at rung 3."""

    joining: regex.Pattern[str]
    """Words between clauses; one group."""
    lists: frozenset[str]
    """Those that join the members of a list."""
    before: regex.Pattern[str]
    """What may stand before any clause and says nothing."""
    hint: regex.Pattern[str]
    """What every clause that abstains holds."""
    abstains: regex.Pattern[str]
    """The group `tail` is what it abstains from."""
    courtesy: regex.Pattern[str]
    asked: regex.Pattern[str]
    """How a clause begins that is what is not known."""
    led: regex.Pattern[str]
    """How a clause begins that goes on with the one before."""
    verb: regex.Pattern[str]
    """A verb with something behind it, by which a clause stands alone."""
    guess: regex.Pattern[str]
    unfinished: regex.Pattern[str]
    """A clause in a clause that still lacks its verb."""

    def classify(self, clause: _Clause, last: _Kind, behind: str) -> _Kind:
        """What a clause does, behind another one."""
        form = self.before.sub("", clause.form, count=1)
        if not form:
            return "courtesy"
        if self.hint.search(form) and (found := self.abstains.fullmatch(form)):
            return "abstains from" if found["tail"] else "abstains"
        if not _DIGIT.search(_YEAR.sub("", form)) and self.courtesy.fullmatch(form):
            return "courtesy"
        if clause.joint == "(" and _YEAR.fullmatch(form) and last != "abstains":
            return last
        if _DIGIT.search(form) or self.guess.search(form):
            return "says"
        is_plain = not self.verb.search(form)
        if clause.ends == ":" and is_plain and last == "courtesy":
            return "courtesy"  # a label: "Price: unknown"
        if clause.joint == "," and last.startswith("abstains") and self.asked.match(form):
            return "goes on"
        if last not in ("abstains from", "goes on", "lists"):
            return "goes on" if last == "abstains" and clause.joint == "nor" and is_plain else "says"
        goes_on = is_plain or bool(self.led.match(form))
        if clause.joint in self.lists and (goes_on or self.verb.match(form) or self.unfinished.search(behind)):
            return "goes on"
        if clause.joint == ")" and goes_on:
            return "goes on"
        if clause.joint in (",", "(") and self.led.match(form):
            return "goes on"
        return "lists" if clause.joint == "," and is_plain else "says"


_DIGIT = regex.compile(r"\p{Nd}")
_YEAR = regex.compile(r"\b(?:19|20)\d\d\b")


def _grammar(
    *,
    joining: str,
    lists: str,
    before: str,
    hint: str,
    abstains: Sequence[str],
    courtesy: Sequence[str],
    asked: str,
    led: str,
    verb: str,
    guess: str,
) -> _Grammar:
    return _Grammar(
        joining=regex.compile(rf"(?:^| )({joining})(?= |$)"),
        lists=frozenset(lists.split("|")),
        before=regex.compile(rf"\A(?:(?:{before})(?: |$))++"),
        hint=regex.compile(rf"\b(?:{hint})\b"),
        abstains=regex.compile("|".join(abstains)),
        courtesy=regex.compile("|".join(courtesy)),
        asked=regex.compile(rf"(?:{asked})(?: |$)"),
        led=regex.compile(rf"(?:{asked}|{led})(?: |$)"),
        verb=regex.compile(rf"\b(?:{verb}) "),
        guess=regex.compile(rf"\b(?:{guess})\b"),
        unfinished=regex.compile(rf" (?:{asked}|{led})(?: (?!(?:{verb})\b)\S++)++$"),
    )


_NO_GRAMMAR = _grammar(
    joining="(?!)", lists="", before="(?!)", hint="(?!)", abstains=["(?!)(?P<tail>)"], courtesy=["(?!)"], asked="(?!)",
    led="(?!)", verb="(?!)", guess="(?!)",
)  # fmt: skip


def _tail(guess: str) -> str:
    """What a clause abstains from: nothing, or words that are no guess at the answer."""
    return rf"(?P<tail>(?: (?!(?:{guess})\b)\S++)*+)"


# --- English ------------------------------------------------------------------------------------------
# At rung 3: no articles ("the", "an"), apostrophes and accents.


def _english() -> _Grammar:
    guess = (
        "maybe|perhaps|possibly|probably|presumably|likely|i (?:think|believe|guess|suppose|assume|found)|my guess|"
        "except|besides|other than|apart from|aside from|unless|until|instead"
    )
    tail = _tail(guess)
    asked = "who|whom|whose|what|which|when|where|why|how|if|whether"
    adverb = (
        "really|honestly|just|simply|currently|yet|still|unfortunately|sadly|actually|truly|exactly|entirely|"
        "completely|quite|fully|certainly|definitively|accurately|reliably|directly|personally|specifically|also|"
        "too|absolutely|presently|at present|right now|explicitly|clearly|100%|even|now|confidently|so far"
    )
    some = rf"(?:(?:{adverb}) )*+"
    cannot = f"(?:cannot|can not|cant|could not|couldnt|(?:will|would) not be able to|wont be able to|failed to) {some}"
    unable = (
        f"(?:{some}(?:am |are |was |were )?{some}(?:unable|not {some}(?:able|allowed|permitted|in a position))|"
        f"wasnt able|werent able|(?:ive |have )been unable|(?:havent|have not) been able) to {some}"
    )
    i_cannot = rf"(?:(?:i )?{some}|im {some})(?:{cannot}|{unable})"
    we_cannot = rf"(?:(?:we |i |one )?{some}|(?:im|were) {some})(?:{cannot}|{unable})"
    do_not = rf"(?:dont|do not|didnt|did not) {some}"
    kind_of = (
        "(?:(?:any|a|enough|sufficient|adequate|specific|detailed|further|more|exact|current|up to date|real time|"
        "reliable|precise|relevant|such|official|additional|internal|public|personal|direct|definite|definitive|"
        "clear|concrete|that|this|these|those|your|necessary|required|requested|latest|full|complete|other|single|"
        "useful|background|live|particular|verified) )*+"
    )
    facts = (
        "(?:information|info|details?|data|figures?|statistics|stats|answers?|knowledge|specifics|facts|records?|"
        "mention)"
    )
    of_it = (
        "(?=$| (?:on|about|of|for|to (?:answer|say|tell|go on|give|share|offer|that|this|it|your|question)|"
        "regarding|concerning|as to|in|from|that|which|there|here|available|given|provided|beyond|past|after|yet|at|"
        rf"because|as|whatsoever|relating|{asked})\b)"
    )
    holds = (
        "(?:context|texts?|passages?|paragraphs?|documents?|documentation|docs|articles?|knowledge base|brochure|"
        "manual|handbook|guide|help (?:pages?|center|centre|articles?)|faqs?|records|sources?|information|"
        "materials?|transcripts?|excerpts?|snippets?|search results|training data|leaflet|catalogu?e|data ?sheet)"
    )
    tells = (
        f"(?:{holds}|data|database|reports?|pages?|websites?|notes?|letters?|listing|tables?|poem|story|book|novel|"
        "film|movie|question)"
    )
    mine = (
        f"(?:.* )?(?:{tells}|(?:anything|everything|place|sources?|.*) (?:that )?(?:i|we) (?:have|can|"
        r"could)\b.*)(?: .*)?"
    )
    here = rf"(?: anywhere| to (?:me|us)|(?: anywhere)? (?:in|by|on|within|from|of|at|among) {mine})"
    closing = (
        f"(?: (?:yet|here|at present|currently|for now|so far|with|at this time)|{here}| (?:based on|given|"
        f"for) {mine})*+"
    )
    not_be = (
        "(?:(?:is|are|was|were|has been|have been) not|isnt|arent|wasnt|werent|(?:has|have) not been|hasnt been|"
        "havent been)"
    )
    subject = r"(?:\S+ )+?"
    is_ = rf"(?:{subject}(?:is|are|was|were|remains?)|thats|its|theyre) {some}"
    is_not = rf"(?:{subject}{not_be}|{subject}remains? not|(?:thats|its|theyre) not) {some}"
    found = (
        "(?:given|provided|listed|covered|recorded|documented|included|shown|found|available|contained|described|"
        "noted|published|indicated|explained|addressed|discussed|present|part of)"
    )
    known = "(?:known|mentioned|stated|specified|disclosed|revealed|answerable|determined|established)"
    the_source, the_teller = (rf"(?:\S+ ){{0,4}}?{noun}\b(?: \S+){{0,6}}? " for noun in (holds, tells))
    does_not = rf"(?:does not|doesnt|do not|dont|did not|didnt|fails? to|never) {some}"
    plain = r"(?: (?!(?:is|are|was|were|has|have|will|can|could|may)\b)\S++)*+"
    turn = (
        "(?:contact|check|ask|get in touch|try again|call|consult|refer to|provide|clarify|specify|visit|reach out|"
        "let me|rephrase|speak|write|email|verify|wait|review|forgive|give me|share|tell me|see our|look (?:at|"
        r"up))\w*\b.*"
    )
    say = "(?:say|tell|answer|respond|determine|know|judge|establish|be (?:sure|certain))"
    return _grammar(
        joining="but|and|or|nor|however|although|though|whereas|while|so|because|yet(?= i[ts])",
        lists="and|or|nor",
        before=(
            r"so|(?:because|as|since)(?= (?:i|we|im|its?|that|this|theres?|no|none|nothing)\b)|well|hm+|um+|uh|oh|ah|"
            "ok|okay|hi|hello|unfortunately|sadly|regrettably|apologies|(?:m |(?:im|i am|we are|"
            f"were) )?{some}(?:very |so |really |truly )?sorry(?: about that)?|(?:(?:im|i am|were|"
            r"we are) )?afraid(?: that(?= (?:i|we|there|it|its)\b))?|to be honest|honestly|frankly|therefore|thus|"
            "hence|currently|at present|right now|for now|that said|(?:thats |that is |"
            "its )?(?:a )?(?:very )?(?:good|great|interesting) question|(?:final |short )?answer(?: is)?|a(?=$)|"
            "it (?:seems|appears|looks like)(?: that)?|i (?:must|have to|will) (?:say|admit)(?: that)?|"
            "i confess(?: that)?|thanks|thank you|additionally|also|in addition"
        ),
        hint=(
            r"no|not|nothing|nobody|neither|never|n/a|idk|dunno|fails?|failed|insufficient|silent|\w+nt|un\w+|cannot|"
            "beats|who knows|hard|difficult|impossible|need|more|further|ive|weve|none|lack|outside|beyond|wish|"
            "mystery|drawing|guess|leaves?|missing"
        ),
        abstains=[
            # The bare word.
            "unknown|unanswerable|undetermined|unspecified|unclear|unsure|uncertain|no answer|n/a|dunno|idk|i dunno",
            "(?:i have |ive )?no (?:idea|clue)|(?:cannot|cant|hard to) say|who knows|beats me|"
            "(?:theres )?no telling|im drawing a blank|your guess is as good as mine",
            f"not (?:{known}|given|clear|certain|sure|found)|not (?:{found}|{known}){here}",
            f"(?:no|insufficient|not enough) {kind_of}(?:{facts}|context)(?: available| found| provided|"
            rf" given)?(?:{closing}| (?:about|on|regarding|as to)\b{tail})",
            f"{facts} (?:not (?:found|available|provided|given)|unavailable)",
            # I don't know, I'm not sure, I can't say.
            f"(?:i|we|one) {some}{do_not}(?:know|recall|remember|understand (?:question|what))(?! (?:by|is|was|it is|"
            rf"thats|song)\b){tail}",
            rf"{do_not}know(?=$| (?:about|exactly|answer|for sure|yet|that|this|it)\b){tail}",
            f"(?:(?:im|i am|were|we are) )?{some}(?:not {some}(?:sure|certain|familiar with|privy to|informed)|"
            "unsure|uncertain)(?:(?<=with|to)|(?=$| (?:about|on|as to|exactly|yet|here|of (?:that|this|it|answer|"
            rf"exact|precise)|{asked})\b)){tail}",
            f"{we_cannot}(?:{say}(?: you)?(?: anything| more| much| exactly| for (?:sure|certain)|"
            " definitively)?)(?=$| (?:about|on|of|as to|from|based|that|this|these|those|your|it|questions?|because|"
            rf"as|here|at|how|which|{asked})\b){tail}",
            rf"{i_cannot}(?:identify|look into|confirm|verify|find out|access|comment|advise|speak to)(?=$| \S){tail}",
            f"{i_cannot}(?:answer|determine|know|judge|establish|infer|work out){tail}",
            rf"{i_cannot}(?:help|assist)(?: you)?(?=$| (?:with|on|in|here|there|at|about|regarding)\b){tail}",
            f"{we_cannot}(?:help|assist|advise)(?: you)?(?: with| on)? (?:that|this|it){tail}",
            rf"{i_cannot}(?:find|locate|see) (?:any|anything|that|this|it|such|exact|specific|{facts}|{asked})\b{tail}",
            f"{we_cannot}(?:find|locate|see) {kind_of}(?:anything|that|this|it|{facts}|answer){of_it}{tail}",
            f"{we_cannot}(?:find|locate|see) (?:.* )?(?:in|on|among) {mine}",
            f"{we_cannot}(?:provide|give|offer|share|supply)(?: you)?(?: with)? {kind_of}(?:{facts}|names?|advice|"
            f"response|estimate){of_it}{tail}",
            f"{i_cannot}(?:provide|give|offer|share|supply)(?: you)?(?: with)? (?:a|any|exact|current|specific|"
            "precise|definitive|reliable|accurate|latest|real time|up to date|names?|dates?) (?!discount|"
            rf"refund)\S+{tail}",
            f"(?:i|we) (?:can|could) neither (?:confirm|say|tell|verify){tail}",
            f"(?:(?:i|we) (?:have )?|(?:ive|weve) )?(?:could find|found|find|see) (?:no {kind_of}(?:{facts}|trace|"
            f"reference)|nothing){of_it}{tail}",
            f"(?:i|we) {some}{do_not}(?:find|see) (?:.* )?(?:in|on|among) {mine}",
            f"(?:i|we) {some}{do_not}(?:find|see) {kind_of}(?:{facts}|anything|that|it|this){of_it}{tail}",
            rf"{is_}(?:something|things) (?:that |which )?(?:i|we) {some}(?:{cannot}|do not |dont )\S+{tail}",
            f"{is_not}(?:something|things) (?:that |which )?(?:i|we) {some}(?:can|could|know|have|am able to){tail}",
            f"(?:that|this|it) (?:is something )?(?:i|we) {some}(?:{cannot}|dont |do not ){some}(?:{say}|find|"
            f"confirm){tail}",
            rf"i wish i knew\b.*|(?:i|we) (?:havent|have not) {some}been (?:told|informed|given)\b{tail}",
            # I have nothing on that; there is no information.
            rf"(?:our|my) (?:\S+ ){{1,3}}?(?:has|have|holds?|contains?|shows?) no {kind_of}{facts}(?= (?:on|about|for|"
            rf"of)\b){tail}",
            f"(?:(?:i|we) {some}(?:have|possess|hold|got)|ive|weve) {some}(?:got )?no {kind_of}(?:{facts}|idea|clue|"
            f"evidence|way of knowing){of_it}{tail}",
            f"(?:i|we) {some}(?:{do_not}|havent |have not ){some}(?:have|possess|hold|got) {kind_of}(?:{facts}|idea|"
            f"clue|evidence|way of knowing){of_it}{tail}",
            f"i {some}(?:have no|{do_not}have|dont possess) {kind_of}(?:access|numbers?|names?|dates?|rankings|"
            f"ability to){of_it}{tail}",
            f"i {some}(?:have no|{do_not}have) {kind_of}(?:access|ability) to{tail}",
            f"(?:i (?:have|know|could find|found)|we (?:have|know|could find|found)|ive|weve) {some}nothing (?:on|"
            rf"about|regarding)\b{tail}",
            f"(?:.* )?there {some}(?:is|are|was|were|s|isnt|arent|wasnt) {some}(?:no |not )?{kind_of}(?:information|"
            rf"info|details?|data|answers?|mention)(?<=\b(?:no|not|\w+nt)\b.*){of_it}{tail}",
            f"theres {some}(?:no|not) {kind_of}(?:information|info|details?|data|answers?|mention){of_it}{tail}",
            rf"(?:theres|there (?:is|was|are|were)) (?:no|not|nothing)\b.* (?:in|on|among|from) {mine}",
            f"(?:theres|there (?:is|was)) nothing (?:about|regarding|(?:that )?(?:i|we) (?:can|could)){tail}",
            f"no {kind_of}(?:{facts})(?: (?:on|about|of|for|regarding|concerning|as to){plain})?(?: (?:is|are|was|"
            f"were|has been|have been|could be|can be) {some}(?:given|available|provided|found|known))?(?:{closing}|"
            rf" (?:about|on|regarding|as to)\b{tail})",
            rf"no {kind_of}{facts} (?:on|about|regarding|as to) (?:{asked})\b{tail}",
            rf"no \S+ (?:on|about|of|for) .* (?:in|among|from) {mine}",
            "(?:(?:there (?:is|was)|i have|we have) )?(?:not enough|insufficient|"
            rf"too little) {kind_of}(?:information|data|context|details)(?=$| (?:to|in|is|was|for|about)\b){tail}",
            rf"nothing (?:that )?(?:(?:i|we) (?:can|could|have)|in (?:\S+ )*?{tells})\b.* (?:mentions?|says?|states?|"
            rf"covers?|answers?|tells?)\b{tail}",
            f"(?:nobody|no one) (?:really )?knows(?=$| (?:{asked}|for (?:sure|certain)|exactly|yet|exact|precise|"
            rf"answer)\b){tail}",
            rf"(?:nobody|no one) .*\b(?:i|we) (?:can|could) (?:look|find|see|read|check){tail}",
            f"nothing is known (?:about|of|on){tail}|nothing (?:on|about|regarding) .* (?:in|from) {mine}",
            # The source does not say.
            f"{the_source}{does_not}(?:give|provide|contain|include|list|show|have|name|hold|offer|cover|"
            rf"note)\b{tail}",
            f"{the_teller}{does_not}(?:say|mention|state|specify|tell|indicate|reveal|disclose|discuss|address|"
            rf"answer|describe|explain|define|refer|speak|go into|touch on)s?\b{tail}",
            rf"{the_teller}(?:says?|said|tells?|mentions?) nothing\b{tail}",
            rf"{the_teller}(?:gives?|gave|provides?|mentions?|states?|specif(?:y|ies)|names?|makes?) no\b{tail}",
            f"{the_source}(?:has|have|contains?|includes?|lists?|shows?|holds?) (?:no {kind_of}{facts}|"
            rf"nothing)\b{tail}",
            rf"{the_teller}(?:is|are) silent\b{tail}|{the_teller}leaves? (?:.* )?open|(?:does not|doesnt) (?:mention|"
            f"state|specify){tail}",
            rf"{is_}missing from (?:\S+ )*?{holds}\b.*",
            f"none of {the_teller}(?:mentions?|says?|states?|specif(?:y|ies)|gives?|covers?|contains?|answers?|"
            rf"tells?)\b{tail}",
            f"(?:(?:it|this|that|they) )?{does_not}(?:say|mention|state|specify)(?=$| (?:so|that|this|it|anything|"
            rf"{asked})\b){tail}",
            # It is not known, it is not stated, it cannot be determined.
            rf"(?:{is_not}|{subject}(?:not|never) ){known}(?! (?:for|as|to)\b){closing}",
            f"(?:{is_not}|{not_be} ){found}{here}",
            rf"(?:{is_not}|not )(?:in|within|among|part of) (?:\S+ )*?{holds}\b.*",
            f"{is_not}(?:something|anything) (?:that )?{the_source}(?:covers?|mentions?|says?|tells?|answers?|"
            r"discuss(?:es)?)\b.*",
            "(?:reason|answer|name|date|number|amount|cause|author|age|location|year|price) (?:is not|isnt|was not|"
            f"wasnt) given{closing}",
            f"{subject}remains? (?:a )?mystery",
            f"(?:{kind_of}{facts}(?: (?:on|about|of|for|regarding) {subject[:-2]})?|this|that) (?:{not_be}|(?:cannot|"
            f"could not|couldnt) be) {some}(?:available|given|provided|found|known){closing}",
            f"{is_}(?:unknown|unclear|unspecified|undetermined|unstated|undisclosed|unanswerable){closing}",
            f"it(?:s| is| was| remains) {some}(?:not {some}(?:known|clear|certain|specified|stated|mentioned)|"
            rf"unknown|unclear|uncertain)(?: (?:from|based on|in) .*?)? (?:{asked})\b{tail}",
            f"(?:its|it is|it was) {some}(?:impossible|not possible|hard|difficult) to {say}{tail}|"
            f"it isnt possible to {say}{tail}",
            f"(?:{subject})?(?:cannot|can not|cant|could not|couldnt) be {some}(?:determined|answered|inferred|known|"
            rf"ascertained|deduced|concluded|established)\b{tail}",
            # It is beyond me; more is needed.
            rf"{is_}(?:outside|beyond) (?:of )?(?:scope of )?(?:my|our|what i)\b.*|it(?:s| is) {some}not clear{here}|"
            rf"it (?:has not|hasnt) been {known} (?:{asked})\b{tail}",
            f"(?:i|we) {some}lack {kind_of}(?:{facts}|context|access){of_it}{tail}",
            f"(?:(?:im|i am|were|we are) )?{some}(?:unaware|not {some}aware) of (?:answer|{kind_of}{facts}|"
            rf"{asked})\b{tail}",
            f"i (?:would )?need {kind_of}(?:information|context|details){tail}",
            "(?:more|further|additional) (?:information|context|details) (?:is|are) (?:needed|required|"
            f"necessary) to (?:answer|help|assist|respond){tail}",
        ],
        courtesy=[
            "(?:very |so |really )?sorry.*|apologies.*|my (?:apologies|mistake)|(?:i|we) apologi[sz]e.*|(?:to hear|"
            "for) .*",
            r"(?:as )?(?:an? )?(?:ai|assistant|artificial|large|language|virtual|automated)\b.*|(?:i am|im) (?:just |"
            r"only )?(?:an? )?(?:\S+ )?(?:ai|language|assistant)\b.*",
            r"as of my(?: (?!(?:is|are|was|were|had|has)\b)\S++)*|my (?:knowledge|training|last)\b.*|i hope .*|"
            "i (?:dont|do not)",
            r"(?:(?:i|we) (?:have )?|ive |weve )(?:looked|searched|checked)\b.*",
            f"(?:based on|according to|from|in|within|given|per|on|as for|regarding|about) (?:{mine}|that|this|it|"
            "your question)",
            r"(?:shall|should|can|could|may) (?:i|you)\b.*|(?:do|would) you .*|let me (?:know|check|see|find|look|"
            r"pass|forward|ask)\b.*|is there (?:any|some).*|how else can i .*",
            r"if you (?:can|could|have|want|like|need|would|d|provide|give|tell|share|let|wish)\b.*|feel free.*|"
            "(?:please|kindly)",
            rf"(?:(?:please|kindly) )?(?:contact|ask|consult|refer to|get in touch)\b.*|(?:please|kindly) {turn}",
            "(?:you (?:may|might|could|can|should|would need to|will need to|d need to|need to|will have to|"
            "would have to)|youd need to|youd have to|youll need to) (?:(?:want|wish|try|have) to |try |also |"
            f"always )*+{turn}",
            f"(?:i|we|id) (?:would )?(?:recommend|suggest|advise) (?:(?:that )?you |to )*+{turn}|it(?:s| is| may be|"
            f" might be| would be) (?:best|recommended|advisable|worth|better) (?:to )?{turn}",
            r"(?:\S+ )*?(?:colleagues?|team|shop|staff|someone|support|they|desk|department)(?: \S+)*? (?:may|might|"
            r"could|can|will|should|would) (?:be able to )?(?:know|help|tell|assist|answer|advise|confirm|check)\b.*",
            r"(?:.* )?(?:not|only|dont want to|have to|wont|without|instead of|than) (?:\S+ ){0,2}?(?:guess|"
            r"guessing|speculat\w+|invent|mislead|make (?:something|it|anything) up)(?: (?:here|you|about (?:it|that|"
            "this)))?|(?:i|we) prefer not to|(?:any|an?) (?:answer|reply) would (?:only )?be a guess",
            "(?:ill|i will|we will|i can|we can|i could|id|i would|i have|ive)? ?(?:also |gladly |happily |like to |"
            "love to |be (?:happy|glad) to (?:try to )?)*+(?:pass|forward|ask|check|look|find out|escalate|get back|"
            r"connect|transfer|help you|assist you|passed|forwarded|asked|put you)\b.*",
            f"{the_teller}(?:is|are) about .*|{the_teller}(?:only|just|merely|solely) (?:covers?|deals? with|"
            r"describes?|discuss(?:es)?|talks? about|focus(?:es)? on|concerns?)\b.*",
        ],
        asked=asked,
        led="that|in|at|on|by|from|during|after|before|including|such as|called|named|let alone|for|of|with|to|being",
        verb=(
            "is|are|was|were|has|have|had|will|would|can|could|costs?|does|do|did|its|theyre|hes|shes|thats|means|"
            "takes|should|must|may|might|won|wins|wrote|plays?|played"
        ),
        guess=guess,
    )


# --- German: "ß" is "ss", "ä" is "a" ------------------------------------------------------------------


def _german() -> _Grammar:
    guess = (
        "vielleicht|moglicherweise|wahrscheinlich|vermutlich|eventuell|wohl|etwa|ausser|ich (?:glaube|denke|vermute|"
        "schatze|meine|tippe)"
    )
    tail = _tail(guess)
    asked = "wer|wen|wem|wessen|was|welche[rsnm]?|wann|wo|wohin|woher|warum|wieso|wie|ob|dass|wozu|womit|worauf"
    some = (
        "(?:(?:leider|derzeit|aktuell|momentan|noch|auch|dazu|daruber|hierzu|hieruber|davon|das|es|ihnen|dir|mir|"
        "uns|genau|sicher|wirklich|bisher|jetzt|im moment|zur zeit|eindeutig|mit sicherheit|zuverlassig|hier|also|"
        "einfach) )*+"
    )
    kind_of = (
        "(?:(?:genau|weiter|naher|konkret|ausreichend|verlasslich|aktuell|entsprechend|dies|solch|passend|"
        "gesichert)e[rnms]? |(?:ausreichend|genug|genugend|die|den|das) )*+"
    )
    facts = (
        "(?:information(?:en)?|infos?|angaben?|daten|details|auskunft|auskunfte|hinweise?|antwort|kenntnis(?:se)?|"
        "zahlen)"
    )
    source = (
        "(?:text|kontext|dokument(?:en?|s)?|dokumentation|unterlagen|artikel|abschnitt|wissensdatenbank|"
        "wissensbasis|broschure|handbuch|anleitung|hilfeseiten?|quellen?|datenbank|bericht|(?:web)?seiten?|passage|"
        "prospekt|auszug|informationen|katalog|datenblatt|leitfaden|merkblatt|bedienungsanleitung|frage)"
    )
    the_source = rf"(?:\S+ ){{0,4}}?{source}\b(?: \S+){{0,6}}? "
    i, no = "(?:ich|wir|man)", "(?:nicht|nichts|keine(?:rlei|[nr])?|kein)"
    closing = rf"(?: (?:in|im|aus|laut|durch|anhand) (?:\S+ )*?{source}\b.*)?"
    known = (
        "(?:bekannt|angegeben|erwahnt|genannt|beantwortbar|spezifiziert|ersichtlich|bestimmbar|festgelegt im .*|"
        "zu entnehmen)"
    )
    tell = "(?:sagen|beantworten|angeben|mitteilen|beurteilen|ermitteln|bestimmen|feststellen|entnehmen)"
    return _grammar(
        joining="aber|und|oder|jedoch|allerdings|doch|sondern|obwohl|weil|denn",
        lists="und|oder",
        before=(
            "leider|entschuldigung|sorry|(?:es )?tut mir (?:sehr )?leid|bedaure|bedauerlicherweise|hm+|also|nun|"
            "ehrlich gesagt|gute frage|antwort(?: lautet| ist)?|daher|deshalb|deswegen|somit|derzeit|aktuell|"
            r"momentan|guten tag|hallo|danke|ich furchte|da(?= (?:ich|wir|mir|uns|es|im|in|keine)\b)"
        ),
        hint=r"nicht|nichts|kein\w*|un\w+|niemand|n/a|ka|k|unmoglich|schweigt|schweigen|wenig|mehr|weitere",
        abstains=[
            f"unbekannt|unklar|unbeantwortbar|n/a|k a|ka|weiss (?:ich )?nicht|nicht (?:{known}|gefunden|"
            f"sicher){closing}",
            f"keine (?:ahnung|antwort){tail}|(?:zu wenig|nicht genugend|nicht genug|"
            f"keine) {kind_of}{facts}(?: verfugbar| vorhanden| gefunden)?{closing}",
            rf"keine {kind_of}{facts} (?:zu|zum|zur|uber|dazu|daruber)\b{tail}",
            # Not known, not sure.
            f"(?:(?:das|dies|es|daruber|davon) )?(?:{i} {some}(?:weiss|wissen)|(?:weiss|wissen) {i}) {some}(?:nicht|"
            f"nichts){tail}",
            f"{i} {some}(?:es |das )?nicht (?:weiss|wissen)",
            rf"{i} {some}(?:kenne|kennen) (?:\S+ ){{1,5}}?nicht",
            f"(?:ich bin|wir sind|bin) {some}(?:nicht {some}sicher|unsicher){tail}|bin mir nicht sicher{tail}",
            "(?:{subject}|)(?:mir|uns) (?:ist|sind)"
            rf" (?:\S+ )*?nicht bekannt{tail}".replace("{subject}", r"(?:\S+ ){1,4}"),
            f"(?:.* )?(?:ist|sind) (?:mir|uns) {some}(?:nicht bekannt|unbekannt){tail}",
            rf"niemand weiss(?=$| (?:{asked}|es|das|genau)\b){tail}",
            # Not to be told, not found, no information.
            rf"(?:.* )?(?:kann|konnen|konnte|konnten) {i} (?:\S+ )*?(?:nicht|nichts) (?:\S+ )*?{tell}(?: .*)?",
            rf"{i} (?:kann|konnen|konnte|konnten) (?:\S+ )*?(?:nicht|nichts) (?:\S+ )*?{tell}(?: .*)?",
            r"(?:.* )?(?:kann|konnte) ich (?:\S+ )*?(?:nicht|nichts|nicht weiter) (?:\S+ )*?(?:helfen|finden|"
            "bestatigen)(?: .*)?",
            r"ich (?:kann|konnte) (?:\S+ )*?(?:nicht|nichts|nicht weiter) (?:\S+ )*?(?:helfen|finden|"
            "bestatigen)(?: .*)?",
            f"(?:.* )?(?:{i} (?:kann|konnen|konnte|konnten)|(?:kann|konnen|konnte|"
            rf"konnten) {i}) (?:\S+ )*?keine {kind_of}{facts} (?:\S+ )*?(?:geben|finden|machen|nennen|"
            "erteilen)(?: .*)?",
            rf"(?:.* )?(?:lasst|lassen) sich (?:\S+ )*?(?:nicht|nichts) (?:\S+ )*?{tell}(?: .*)?",
            rf"(?:.* )?(?:habe|finde|fand) ich (?:\S+ )*?(?:nichts|keine {kind_of}{facts})(?: .*)?|ich (?:habe|finde|"
            rf"fand) (?:\S+ )*?nichts(?: gefunden| finden konnen)?{closing}",
            f"{i} {some}(?:habe|haben) {some}(?:keine|nicht genug|nicht genugend) {kind_of}(?:{facts}|ahnung|"
            rf"zugriff)\b{tail}",
            rf"(?:.* )?(?:liegen|liegt) (?:\S+ )*?keine {kind_of}{facts}\b.* vor|"
            rf"(?:.* )?keine {kind_of}{facts}\b.* vorliegen",
            rf"(?:es gibt|gibt es|.* gibt es) {some}keine {kind_of}{facts}\b{tail}",
            # The source does not say.
            f"{the_source}(?:sagt|sagen|nennt|nennen|erwahnt|erwahnen|gibt|geben|macht|machen|steht|stehen|findet|"
            rf"finden|beantwortet|geht|gehen|wird|werden|ist|sind) (?:\S+ ){{0,6}}?{no}\b{tail}",
            rf"{the_source}(?:enthalt|enthalten|liefert|liefern|bietet|bieten) (?:\S+ ){{0,4}}?(?:nichts|"
            rf"keine {kind_of}{facts})\b{tail}",
            rf"{the_source}(?:schweigt|schweigen)\b{tail}",
            r"(?:.* )?(?:steht|findet sich|finde ich|geht) (?:\S+ )*?(?:nichts|nicht) (?:\S+ )*?(?:in|im|"
            rf"aus) (?:\S+ )*?{source}(?: hervor)?",
            # It is not known.
            r"(?:\S+ )+?(?:ist|sind|war|waren|bleibt|bleiben|wird|werden|wurde|"
            rf"wurden) (?:\S+ ){{0,6}}?(?:nicht (?:\S+ )?{known}|unbekannt|unklar){closing}",
        ],
        courtesy=[
            "entschuldigung.*|(?:es )?tut mir (?:sehr )?leid.*|verzeihung.*|danke.*|vielen dank.*",
            r"als (?:ki|sprachmodell|assistent|kunstliche)\b.*",
            "kann ich .*|(?:konnen|konnten|mochten) sie .*|(?:soll|darf) ich .*|(?:ich|wir) (?:leite|leiten|gebe|"
            r"geben|frage|fragen) .*\b(?:weiter|nach)",
            "(?:(?:bitte|am besten|gern|gerne|ich (?:empfehle|rate)(?: ihnen)?) )*+(?:(?:sie )?(?:konnen|konnten|"
            r"sollten) (?:sie )?)?(?:fragen|wenden|kontaktieren|prufen|rufen|schreiben|informieren|besuchen)\b.*|"
            "(?:bitte|sie (?:konnen|konnten|sollten)) .*(?:fragen|wenden|kontaktieren|prufen|nachfragen|erkundigen|"
            "nachsehen)",
            r"(?:\S+ )*?(?:kollegen?|kollegin|team|kundendienst|support|laden)(?: \S+)*? (?:kann|konnen|konnte|"
            r"konnten|weiss|hilft)\b(?: .*)?(?:wissen|helfen|weiterhelfen|sagen|beantworten|mehr|weiter)",
            "(?:.* )?(?:nicht|nur|nichts) (?:raten|spekulieren|mutmassen|erfinden)|das ware (?:nur )?(?:geraten|"
            "spekulation|spekuliert)",
            rf"(?:laut|gemass|in|im|aus|nach|anhand|basierend auf) (?:\S+ )*?{source}(?: .*)?",
        ],
        asked=asked,
        led="in|im|bei|von|vom|aus|mit|zu|zum|zur|uber|nach|vor|fur|auf|wahrend|namens",
        verb="ist|sind|war|waren|hat|haben|wird|werden|wurde|kostet|kosten|kann|konnen|betragt|heisst|liegt|gilt|muss|darf",
        guess=guess,
    )


# --- French: "n'est" is "nest", "précisé" is "precise" -------------------------------------------------


def _french() -> _Grammar:
    guess = "peut etre|probablement|sans doute|environ|sauf|excepte|hormis|je (?:pense|crois|suppose|dirais)"
    tail = _tail(guess)
    asked = "qui|que|quoi|quel(?:le)?s?|quand|comment|pourquoi|si|sil|sils|quil|quelle|combien|lequel|laquelle"
    facts = (
        "(?:(?:d|l|cette |assez d|suffisamment d|plus d)?informations?|(?:de |les |ces )?(?:details?|donnees?|"
        "precisions?|reponses?)|(?:la )?reponse)"
    )
    source = (
        "(?:texte|contexte|documents?|documentation|article|passage|base de connaissances|brochure|manuel|guide|"
        "notice|sources?|rapport|pages?|extrait|informations|donnees|catalogue|fiche|site|question)"
    )
    the_source = rf"(?:\S+ ){{0,4}}?(?:[ld](?=[aeiou]))?{source}\b(?: \S+){{0,6}}? "
    closing = (
        rf"(?: (?:dans|par|sur|a partir d\S*|avec) (?:\S+ )*?(?:[ld])?{source}\b.*| (?:ici|actuellement|pour linstant|"
        "a ce jour))*+"
    )
    known = "(?:connu|precise|mentionne|indique|specifie|communique|renseigne|determine|enonce)e?s?"
    some = "(?:(?:malheureusement|actuellement|pas|vraiment|vous|te|y|en|le|la|rien|encore|exactement|plus) )*+"
    tell = "(?:repondre|dire|determiner|confirmer|indiquer|preciser|savoir|aider|trouver)"
    return _grammar(
        joining="mais|et|ou|ni|cependant|toutefois|neanmoins|pourtant|car|donc|alors|parce que|puisque",
        lists="et|ou|ni",
        before=(
            "malheureusement|desolee?|je (?:suis|regrette)(?: vraiment)? desolee?|je regrette|helas|euh|bonjour|"
            "merci|bonne question|(?:la )?reponse(?: est)?|honnetement|actuellement|pour linstant|a ce jour|"
            "je crains que"
        ),
        hint=r"ne|n\w+|non|pas|aucune?|inconnue?s?|sans|impossible|\w*ignor\w+|n/a|rien",
        abstains=[
            "inconnue?s?|n/a|sans reponse|aucune? (?:idee|information|reponse|donnee)s?(?: (?:nest )?(?:disponible|"
            f"donnee|fournie|{known}))?{closing}|(?:non|pas) {known}{closing}",
            rf"aucune? (?:information|donnee|precision)s? (?:sur|concernant|a propos)\b{tail}|pas (?:de|assez|"
            f"d)? ?{facts}{tail}",
            f"(?:je|nous|on) (?:ne )?(?:le )?(?:sais|savons|sait) (?:pas|rien|malheureusement pas){tail}|(?:jignore|"
            f"nous ignorons|on ignore|je lignore){tail}",
            f"je ne suis (?:pas|pas vraiment|pas tout a fait) (?:sure?|certaine?){tail}|pas sure?",
            rf"(?:je|nous|on) ne (?:peux|puis|pouvons|peut|saurais|pourrais) {some}{tell}\b{tail}",
            rf"je ne (?:peux|puis) {some}(?:fournir|donner|communiquer) (?:\S+ )?{facts}{tail}",
            rf"il (?:nest pas possible|est impossible|mest impossible) (?:de |d){tell}\b{tail}|impossible (?:de |d|"
            rf"a ){tell}\b{tail}",
            f"(?:je|nous) (?:nai|navons|ne dispose|ne disposons|ne possede|ne possedons) {some}(?:pas |"
            rf"d?aucune? )?(?:d |de )?(?:{facts}|idee|acces)\b{tail}",
            rf"(?:je|nous) (?:nai|navons) (?:rien trouve|pas trouve|pas pu trouver|trouve aucune?|rien)\b{tail}|"
            rf"je ne trouve (?:pas|rien|aucune?)\b{tail}",
            rf"il ny a (?:pas |aucune? ){facts}?(?:information|mention)?s?\b{tail}",
            rf"{the_source}(?:ne|n(?:indique|evoque|aborde)(?:nt)?)\b(?: (?:dit|disent|(?:mentionne|precise|indique|"
            "specifie|donne|parle)(?:nt)?|fournit|fournissent|contient|contiennent|repond|repondent|"
            rf"permet(?:tent)?))? (?:pas|rien|aucune?|nulle part)\b{tail}",
            rf"(?:\S+ )+?(?:nest|ne sont|netait|netaient) (?:\S+ )?{known}{closing}|(?:\S+ )+?(?:na|"
            f"nont) pas ete {known}{closing}",
            rf"(?:\S+ )+?(?:est|sont|reste|restent|demeure|etait) inconnue?s?{closing}",
            "(?:(?:cette|ces|l|d)? ?informations?|cela|ce) (?:nest|ne sont) pas (?:disponible|fournie?|indiquee?|"
            f"precisee?|mentionnee?)s?{closing}",
            rf"personne ne sait(?=$| (?:{asked})\b){tail}",
        ],
        courtesy=[
            "desolee?.*|je (?:suis|regrette) .*desolee?.*|excusez.*|merci.*",
            r"(?:nhesitez|puis je|souhaitez vous|voulez vous|pouvez vous|pourriez vous)\b.*|"
            "je prefere ne pas (?:deviner|speculer)",
            "(?:(?:veuillez|vous (?:pouvez|pourriez|devriez)|je vous (?:conseille|recommande|invite|"
            "suggere)) (?:de |d|a )?)?(?:contacte|consulte|verifie|demande|adresse|appele|vous (?:adresse|"
            r"renseigne)|reformule|precise)[rz]\b.*",
            r"en tant qu\S*.*",
            rf"(?:selon|dapres|dans|sur la base d\S*) (?:\S+ )*?(?:[ld])?{source}(?: .*)?",
        ],
        asked=asked,
        led="dans|de|du|des|pour|sur|avec|par|en|a|au|aux|chez|pendant|avant|apres|nomme",
        verb="est|sont|etait|a|ont|sera|coute|coutent|peut|peuvent|cest|il|elle",
        guess=guess,
    )


# --- Spanish: "sé" is "se" ------------------------------------------------------------------------------


def _spanish() -> _Grammar:
    guess = (
        "quizas?|tal vez|probablemente|posiblemente|seguramente|salvo|excepto|menos|(?:creo|pienso|supongo|"
        "diria) que|yo diria"
    )
    tail = _tail(guess)
    asked = "quien|quienes|que|cual|cuales|cuando|donde|como|por que|si|cuanto|cuanta|cuantos|cuantas"
    facts = "(?:informacion|informaciones|datos?|detalles?|respuesta|constancia|conocimiento)"
    kind_of = "(?:(?:ningun|ninguna|la|esa|ese|esta|este|esos|suficiente|suficientes|mas|de|con|el) )*+"
    source = (
        "(?:texto|contexto|documentos?|documentacion|articulo|pasaje|base de conocimientos?|folleto|manual|guia|"
        "fuentes?|informe|paginas?|fragmento|informacion|datos|catalogo|ficha|sitio|pregunta)"
    )
    the_source = rf"(?:\S+ ){{0,4}}?{source}\b(?: \S+){{0,6}}? "
    closing = (
        rf"(?: (?:en|por|con|segun|a partir de) (?:\S+ )*?{source}\b.*| (?:aqui|todavia|aun|actualmente|por ahora))*+"
    )
    known = "(?:conocid|especificad|mencionad|indicad|precisad|determinad)[oa]s?"
    say = "(?:dicen?|mencionan?|especifican?|indican?|precisan?|aclaran?|detallan?|conocen?|saben?)"
    tell = (
        "(?:responder|contestar|decir|saber|determinar|confirmar|ayudar|indicar|precisar|encontrar)(?:te|le|les|lo|"
        "la|selo)?"
    )
    me = "(?:(?:te|le|les|os|me|lo) )?"
    return _grammar(
        joining="pero|y|e|o|u|ni(?! idea)|sin embargo|no obstante|aunque|sino|porque|pues|por lo que|asi que",
        lists="y|e|o|u|ni",
        before=(
            "lo siento(?: mucho)?|lamentablemente|desafortunadamente|por desgracia|disculpe|disculpa|perdon|hola|"
            "gracias|buena pregunta|(?:la )?respuesta(?: es)?|sinceramente|actualmente|por ahora|me temo que|"
            "lo lamento|pues"
        ),
        hint=r"no|ni|sin|nada|nadie|\w*desco\w+|ignor\w+|imposible|n/a",
        abstains=[
            f"desconocid[oa]s?|n/a|sin (?:respuesta|informacion|datos)|no (?:hay )?respuesta|no consta{closing}|"
            f"no {known}{closing}|no disponible|ni idea|no (?:lo )?se|no lo sabemos",
            f"(?:yo )?no (?:lo )?se(?: (?:exactamente|con certeza|nada|bien))*(?: (?:{asked}|la respuesta|de|"
            rf"sobre)\b{tail})?(?P<tail>)",
            f"no (?:lo )?sabemos{tail}|(?:lo )?(?:desconozco|desconocemos|ignoro|ignoramos){tail}|"
            rf"se desconocen?{tail}|nadie (?:lo )?sabe(?=$| (?:{asked})\b){tail}",
            f"no (?:estoy|estamos) (?:muy |del todo |completamente )?segur[oa]s?{tail}",
            f"(?:.* )?no {me}(?:puedo|podemos|podria|pude|pudimos|he podido|es posible|se puede|"
            rf"puede ser) {me}(?:{tell}|ser (?:respondida|determinad[oa]))\b{tail}",
            rf"es imposible {tell}\b{tail}|imposible {tell}\b{tail}",
            rf"no {me}(?:puedo|podemos) (?:proporcionar|dar|ofrecer)(?:te|le|les)? {kind_of}{facts}\b{tail}",
            rf"no (?:tengo|tenemos|dispongo|disponemos|cuento|contamos|poseo) {kind_of}(?:{facts}|acceso)\b{tail}|"
            f"no tengo (?:ni )?idea{tail}",
            rf"no (?:hay|existen?) {kind_of}{facts}\b{tail}",
            f"no (?:he encontrado|hemos encontrado|encontre|encontramos|encuentro) (?:nada|{kind_of}{facts}|esa|eso|"
            rf"la|ningun\w*)\b{tail}",
            rf"{the_source}no (?:\S+ )?(?:{say}|proporcionan?|contienen?|dan?|incluyen?|responden?|ofrecen?|"
            rf"hablan?)\b{tail}",
            rf"(?:.* )?no se (?:{say}|proporcionan?|dan?)\b{tail}",
            rf"(?:\S+ )+?no (?:es|son|esta|estan|ha sido|han sido|fue|era) {known}{closing}",
            rf"(?:\S+ )+?(?:es|son|era|sigue siendo|permanece) desconocid[oa]s?{closing}|"
            rf"(?:\S+ )+?se desconocen?{closing}",
            rf"(?:esa|esta|la|dicha) informacion no (?:esta|se encuentra|aparece)\b{tail}",
        ],
        courtesy=[
            r"lo (?:siento|lamento).*|disculp\w+.*|perdon\w*.*|gracias.*|por favor.*",
            "(?:por favor )?(?:(?:puedes?|podrias?|deberias?|(?:te|le|les) (?:recomiendo|sugiero|"
            r"aconsejo)) )?(?:consult|contact|pregunt|verifi|llam|revis|proporcion|acud|dirij|dirig|pong)\w+\b.*",
            "(?:hay algo mas|desea|quieres?|no dudes?|prefiero no (?:adivinar|especular)|si (?:necesitas?|quieres?|"
            r"deseas?|tienes?))\b.*",
            r"como (?:ia|asistente|modelo|una? (?:ia|inteligencia|modelo|asistente))\b.*",
            rf"(?:segun|en|de acuerdo con|con base en|basandome en) (?:\S+ )*?{source}(?: .*)?",
        ],
        asked=asked,
        led="en|de|del|para|sobre|con|por|a|al|durante|antes|despues|llamad[oa]",
        verb="es|son|era|fue|esta|estan|tiene|tienen|cuesta|cuestan|puede|pueden|hay|sera",
        guess=guess,
    )


_LANGUAGES: Final = {"en": _english, "de": _german, "fr": _french, "es": _spanish}


@cache
def _grammar_of(language: str) -> _Grammar:
    return _LANGUAGES[language]() if language in _LANGUAGES else _NO_GRAMMAR
