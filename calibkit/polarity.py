"""Polarity: whether a statement says that something is so, or that it is not.

`compare_polarity` fails a candidate only where it surely says the opposite of the reference: the same words
but for one negation or antonym, or "no" where the reference says "yes". All else is undecided; nothing passes.
Texts are levelled to rung 1 (`calibkit.normalize`), whose apostrophes are of one kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Literal, NamedTuple, TypeVar

from calibkit.normalize import normalize
from calibkit.pairs import InputError

Kind = Literal["negation", "antonym", "yes_no"]
_T = TypeVar("_T")

LONGEST: Final = 200
"""Words and marks of a text that is compared; a longer one is undecided."""

_ENDS: Final = frozenset(".!?;…")
_PAUSES: Final = frozenset(",:()[]{}\"'-*")
_MARKS: Final = _ENDS | _PAUSES
_AROUND: Final = "".join(sorted(_MARKS))

# --- tables: what a language says ----------------------------------------------------------------
# Words are lower case; a slash sets each word left of it against each right of it.


@dataclass(frozen=True)
class _Tables:
    """The words of a language that carry polarity."""

    negators: str
    """What negates a statement where it is put in."""
    negative: str
    """Further words that make a statement negative."""
    negations: str
    """A negative word / what it denies."""
    prefixed: str
    """A prefix / the words that are negative with it."""
    reversing: str
    """A prefix / the words that it turns around, though the result is not negative ("unlocked")."""
    antonyms: str
    """Words whose exchange turns a statement around."""
    undone: str
    """What a negation before it makes a plain yes ("cannot be denied")."""
    companions: str
    """What comes with a negation ("not ... any") / what stands there without; "-" is nothing."""
    read_as: Mapping[str, str]
    """Phrases that count as one word, under the word that they are read as."""
    set_phrases: str
    """Phrases that negate nothing and are compared as they are; "#" is a number."""
    company: str
    """What makes the word before it a name ("Not Ltd")."""
    fillers: str
    """Words whose presence changes nothing."""
    shields: str
    """Words beside which a statement and its negation may both hold ("some are", "some are not")."""
    conditions: str
    """Words beside which two negations may cancel ("if you don't pay, you can't enter")."""
    retractions: str
    """Words of a further sentence that may take back the one before it."""
    hedges: str
    """Words that bound a yes or a no."""
    yes: str
    no: str
    opposite_answers: str
    """The same, as words in a sentence ("the answer is no")."""
    plain: str
    """Those of yes and no that need no mark behind them."""
    verdicts: str
    """Those that judge a statement."""
    auxiliaries: str
    pronouns: str
    contractions: str
    """A short form / written out."""
    contractions_after_pronouns: str
    """The same, where it is a word of its own elsewhere ("wont")."""
    asking: str
    """What begins a question that wants more than yes or no."""
    leading: str
    """What leads into such a question ("can you tell me what ...")."""
    turning: str
    """What makes "yes" a refusal ("do you mind ...")."""
    forms: str
    """A form / its word, beside the regular -s."""
    pasts: str
    """A verb / its past, beside the regular -ed."""


_TABLES: Final = {
    "en": _Tables(
        negators="not never no neither hardly scarcely rarely seldom",
        negative="nor barely nope",
        negations="""
            no none neither / some all every each both any several many either
            nobody / somebody everybody anybody, nothing / something everything anything
            nowhere / somewhere everywhere anywhere, never rarely seldom / always often usually frequently
            never / sometimes ever, without / with only_with, lack / have, lacked / had, lacking / having
        """,
        prefixed="""
            un / able acceptable affected allowed altered answered approved assigned authorised authorized available
            un / aware believable certain changed clear comfortable common confirmed damaged defined deniable desirable
            un / documented employed encrypted equal equipped even expected fair familiar finished fit friendly happy
            un / harmed healthy helpful important insured intended interested invited justified known lawful licensed
            un / likely limited lucky married modified necessary occupied official opened paid planned popular prepared
            un / predictable protected proven qualified readable realistic reasonable registered related reliable safe
            un / restricted satisfactory secure signed specified stable successful successfully suitable supported sure
            un / tested true usable used usual verified wanted welcome willing wise
            in / ability accessible accurate active adequate admissible applicable appropriate capable compatible
            in / complete consistent convenient correct curable definite dependent direct edible effective efficient
            in / eligible exact flexible frequent operable secure sensitive soluble sufficient valid visible voluntary
            im / mature mobile moral mortal mutable patient perfect permissible polite possible practical precise
            im / probable proper, il / legal legible legitimate logical, dis / abled allowed honest loyal obedient
            ir / rational recoverable redeemable regular relevant replaceable responsible reversible
            dis / qualified satisfied similar
            non non- / returnable refundable existent compliant toxic transferable negotiable essential flammable
            non non- / taxable binding working renewable alcoholic exempt
        """,
        reversing="""
            dis / agree agreed appear appeared approve approved connect connected continued obey obeyed prove proved
            un / block blocked install installed lock locked mute muted plug plugged resolved sealed
            un / subscribe subscribed, in de / activate activated, non non- / member smoker
        """,
        antonyms="""
            unless / if, allow permit / forbid prohibit ban disallow, allowed permitted / forbidden prohibited banned
            enable / disable, enabled / disabled, accept / reject refuse decline, accepted / rejected refused declined
            approve / reject deny decline, approved / rejected denied declined, grant / deny refuse
            granted / denied refused, pass succeed / fail, passed succeeded / failed, open / close closed shut
            opened / closed, include / exclude, included / excluded, including / excluding, increase / decrease
            increased / decreased, true right correct / false wrong, start begin / stop end
            started began / stopped ended, win / lose, won / lost, alive living / dead, present / absent
            guilty / innocent, required mandatory compulsory / optional, full / empty, same / different
            safe / dangerous, online / offline, more / less fewer, higher / lower, larger bigger greater / smaller
            faster / slower, older / younger, better / worse, earlier / later, turn_on / turn_off
        """,
        undone="deny denied denying doubt doubted disputed",
        companions="""
            any / - some all every each both, either / - both each, anybody / somebody everybody
            anything / something everything, anywhere / somewhere everywhere, nor / and or
        """,
        read_as={
            "not": "no longer, not at all, by no means, in no way, at no time, on no account, anything but",
            "not do": "do not, does not, fail to, fails to",
            "not did": "did not, failed to",
            "never": "not ever, under no circumstances",
            "nobody": "no one",
            "everybody": "every one",
            "still": "any longer, any more, at all, as well, of course",
            "only_with": "only with",
            "turn_on": "turn on, turns on, turned on, switch on, switches on, switched on",
            "turn_off": "turn off, turns off, turned off, switch off, switches off, switched off",
        },
        set_phrases="""
            no . #, no matter, no doubt, no question, no wonder, no problem, no problems, no worries, never mind
            no later than, no earlier than, no sooner, no more than, no less than, no fewer than, no other than
            none other than, no end of, in no time, nothing but, nothing less than, nothing short of, not only, not just
            not merely, not simply, not to mention, not least, not for nothing, not to worry, or not, if not, why not
            believe it or not, more often than not, as often as not, without doubt, without a doubt, without question
            without fail, without exception, can not but, could not agree more, could not care less, could care less
            more or less, with or without, no less
        """,
        company="ltd limited inc llc gmbh plc corp co ag",
        fillers="""
            a the still currently please already yet anymore also too actually really indeed even ever now just simply
            kindly unfortunately sadly fortunately sorry but however well so notably therefore
        """,
        shields="""
            some several many few sometimes occasionally might maybe perhaps possibly partly partially half
            whether until till wonder surprised almost nearly
        """,
        conditions="""
            if unless when whenever until without with only_with because since so then while
            think believe expect suppose want seem appear feel say
        """,
        retractions="""
            but however unless except although though otherwise instead actually fact meant sorry correction contrary
            true false wrong untrue incorrect myth yes no
        """,
        hedges="""
            but however although though unless except if provided depending before after until within without when
            mostly partly partially usually generally sometimes
        """,
        yes="""
            yes, yep, yeah, yup, sure, of course, certainly, definitely, absolutely, indeed, correct, true, affirmative
            that is correct, that is right, that is true
        """,
        no="""
            no, nope, nah, not at all, of course not, certainly not, definitely not, absolutely not, unfortunately not
            sadly not, by no means, not yet, no way, incorrect, false, that is incorrect, that is wrong, that is false
            untrue, not true, not correct, that is not true, that is not correct
        """,
        opposite_answers="yes / no",
        plain="yes yep yeah yup no nope nah",
        verdicts="correct true affirmative incorrect false",
        auxiliaries="""
            is are am was were be do does did have has had can could will would shall should may might must need ought
        """,
        pronouns="i you he she it we they this that these those there",
        contractions="""
            can't / can not, cannot / can not, won't / will not, shan't / shall not, ain't / is not, i'm / i am
            dont / do not, doesnt / does not, didnt / did not, isnt / is not, arent / are not, wasnt / was not
            werent / were not, hasnt / has not, havent / have not, hadnt / had not, couldnt / could not
            wouldnt / would not, shouldnt / should not, isn't / is not, aren't / are not, wasn't / was not
            weren't / were not, don't / do not, doesn't / does not, didn't / did not, hasn't / has not
            haven't / have not, hadn't / had not, couldn't / could not, wouldn't / would not, needn't / need not
            shouldn't / should not, mightn't / might not, mustn't / must not, oughtn't / ought not
            it's / it is, he's / he is, she's / she is, that's / that is, there's / there is, here's / here is
            what's / what is, who's / who is, you're / you are, we're / we are, they're / they are
            i've / i have, you've / you have, we've / we have, they've / they have, i'll / i will
            you'll / you will, he'll / he will, she'll / she will, it'll / it will, we'll / we will
            they'll / they will, i'd / i would, you'd / you would, we'd / we would, they'd / they would
        """,
        contractions_after_pronouns="cant / can not, wont / will not",
        asking="what which who whom whose when where why how",
        leading="tell know say explain remember show name list describe",
        turning="mind object objection problem matter",
        forms="""
            am are / is, were / was, has / have, does / do, goes / go, an / a, no-one / nobody
            everyone / everybody, someone / somebody, anyone / anybody
        """,
        pasts="""
            become / became, begin / began, break / broke, bring / brought, build / built, buy / bought, choose / chose
            come / came, cost / cost, cut / cut, do / did, find / found, get / got, give / gave, go / went, grow / grew
            have / had, hold / held, keep / kept, know / knew, leave / left, lose / lost, make / made, meet / met
            pay / paid, put / put, read / read, run / ran, say / said, see / saw, sell / sold, send / sent, set / set
            speak / spoke, spend / spent, take / took, tell / told, think / thought, win / won, write / wrote
        """,
    )
}


def _rows(table: str) -> list[tuple[str, str]]:
    """The two sides of each row."""
    rows = (row.split("/") for row in table.replace("\n", ",").split(",") if row.strip())
    return [(left.strip(), right.strip()) for left, right in rows]


def _pairs(table: str) -> list[tuple[str, str]]:
    """Each word left of a slash with each right of it."""
    return [(one, other) for left, right in _rows(table) for one in left.split() for other in right.split()]


def _phrases(table: str) -> list[tuple[str, ...]]:
    return [tuple(phrase.split()) for phrase in table.replace("\n", ",").split(",") if phrase.strip()]


def _by_first_word(phrases: Mapping[tuple[str, ...], _T]) -> dict[str, list[tuple[tuple[str, ...], _T]]]:
    """Phrases to try at a word, the longest first."""
    table: dict[str, list[tuple[tuple[str, ...], _T]]] = {}
    for phrase in sorted(phrases, key=len, reverse=True):
        table.setdefault(phrase[0], []).append((phrase, phrases[phrase]))
    return table


class _Language:
    """The tables of a language, made ready for looking up."""

    def __init__(self, tables: _Tables) -> None:
        self.forms = dict(_pairs(tables.forms))
        self.pasts = dict(_pairs(tables.pasts))
        self.contractions = {short: long.split() for short, long in _rows(tables.contractions)}
        self.contractions_after_pronouns = {
            short: long.split() for short, long in _rows(tables.contractions_after_pronouns)
        }
        prefixed = {self.level(prefix + word): self.level(word) for prefix, word in _pairs(tables.prefixed)}
        reversing = {self.level(prefix + word): self.level(word) for prefix, word in _pairs(tables.reversing)}
        negations = self._levelled(tables.negations)
        self.opposites: dict[tuple[str, str], Kind] = {}
        for one, other in self._levelled(tables.antonyms):
            self.opposites[one, other] = self.opposites[other, one] = "antonym"
        denied = [("not do", "do"), ("not did", "did")]
        for one, other in [*negations, *prefixed.items(), *reversing.items(), *denied]:
            self.opposites[one, other] = self.opposites[other, one] = "negation"
        for one, other in _pairs(tables.opposite_answers):
            self.opposites[one, other] = self.opposites[other, one] = "yes_no"
        self.prefixed = frozenset(prefixed)
        self.negators = self._set(tables.negators) | {"not do", "not did"}
        self.denials = self.negators | {one for one, _ in negations} - {"without", "lack"} | self._set(tables.negative)
        self.negative = self.denials | self.prefixed | {one for one, _ in negations}
        self.companions: dict[str, set[str]] = {}
        for one, other in self._levelled(tables.companions):
            self.companions.setdefault(one, set()).add(other)
        self.undone, self.company, self.fillers, self.shields = map(
            self._set, (tables.undone, tables.company, tables.fillers, tables.shields)
        )
        self.conditions, self.retractions, self.hedges = map(
            self._set, (tables.conditions, tables.retractions, tables.hedges)
        )
        self.plain, self.verdicts = frozenset(tables.plain.split()), frozenset(tables.verdicts.split())
        self.auxiliaries, self.pronouns = frozenset(tables.auxiliaries.split()), frozenset(tables.pronouns.split())
        self.asking, self.leading, self.turning = (
            frozenset(words.split()) for words in (tables.asking, tables.leading, tables.turning)
        )
        contracted = {**self.contractions, **self.contractions_after_pronouns}
        self.denying = self.negators | {short for short, long in contracted.items() if "not" in long}
        self.polar = (
            self.denials
            | {word for pair in self.opposites for word in pair}
            | {self.level(word) for phrases in tables.read_as.values() for word in phrases.replace(",", " ").split()}
            | {self.level(phrase[0]) for phrase in _phrases(tables.no)}
        )
        read_as = {phrase: "_".join(phrase) for phrase in _phrases(tables.set_phrases)}
        for word, phrases in tables.read_as.items():
            read_as |= dict.fromkeys(_phrases(phrases), word)
        self.phrases = _by_first_word(read_as)
        self.turnings = _MARKS | {"but", "and"} | set(self.phrases)
        self.subjects = self.auxiliaries | self.pronouns
        self.answers = _by_first_word(
            dict.fromkeys(_phrases(tables.yes), True) | dict.fromkeys(_phrases(tables.no), False)
        )

    def level(self, word: str) -> str:
        """The word without its inflection in -s; what that levels too far is told apart by the words around it."""
        if len(word) < 4 or word[-1] != "s" or word in self.forms or word[-2] in "siu'":
            return self.forms.get(word, word)
        if word.endswith("ies"):
            return word[:-3] + "y"
        return word[:-2] if word.endswith(("ches", "shes", "sses", "xes")) else word[:-1]

    def is_past(self, past: str, verb: str) -> bool:
        """Whether one word is the past of the other."""
        if verb in self.pasts:
            return past == self.pasts[verb]
        return past in (verb + "ed", verb + "d", verb[:-1] + "ied", verb + verb[-1:] + "ed")

    def is_telling(self, word: str) -> bool:
        """Whether a word, with the marks that cling to it, may turn a statement around."""
        word = word.strip(_AROUND) or word
        return self.level(word) in self.polar or word in self.denying

    def _set(self, words: str) -> frozenset[str]:
        return frozenset(map(self.level, words.split()))

    def _levelled(self, table: str) -> list[tuple[str, str]]:
        return [(self.level(one), self.level(other)) for one, other in _pairs(table)]


@cache
def _language(code: str) -> _Language:
    return _Language(_TABLES[code])


def _code(locale: str | None) -> str:
    return "en" if locale is None else locale.replace("-", "_").partition("_")[0].casefold()


def supports(locale: str | None) -> bool:
    """Whether there are tables for the locale's language; None is English.

    >>> supports(None), supports("en_GB"), supports("de_DE")
    (True, True, False)
    """
    return _code(locale) in _TABLES


def check_language(locale: str | None) -> None:
    """Refuse a locale whose language has no tables.

    Raises
    ------
    InputError
        Naming the language and those that there are.
    """
    if not supports(locale):
        known = ", ".join(sorted(_TABLES))
        raise InputError(
            f"locale {locale!r}: negation is not known for the language {_code(locale)!r}; "
            f"leave the rule negation out, or use one of the languages: {known}"
        )


# --- reading -------------------------------------------------------------------------------------

_TOKEN = re.compile(r"(?:(?<!\w)-(?=\d))?\w++(?:['./:,\-]\w++)*+|[^\w\s]")


@dataclass(slots=True)
class _Words:
    """One sentence, word for word."""

    keys: list[str] = field(default_factory=list)
    """The words as they are compared: levelled, set phrases as one."""
    shown: list[str] = field(default_factory=list)
    """The words as they were written; "" for the "not" of a contraction."""
    clauses: list[int] = field(default_factory=list)
    """The clause that each is in."""
    asks: bool = False


@dataclass(frozen=True, slots=True)
class _Statement:
    """A text, taken apart."""

    opening: str
    """The words that answer yes or no at the beginning; "" where there are none."""
    answer: bool | None
    """What they answer, or what an elliptic "they are" or "it isn't" does; None for neither."""
    alone: bool
    """Whether the opening is a sentence of its own."""
    elliptic: str
    """The auxiliary of an elliptic answer."""
    sentences: list[_Words]
    """All but the opening."""


def _spell(text: str, language: _Language) -> tuple[list[str], list[str]]:
    """Words in lower case, contractions written out; and what was written for each."""
    tokens = _TOKEN.findall(text if text.isascii() else normalize(text, 1))
    words: list[str] = []
    shown: list[str] = []
    for place, token in enumerate(tokens):
        word = token.casefold()
        long = language.contractions.get(word)
        if long is None and word in language.contractions_after_pronouns and words and words[-1] in language.pronouns:
            long = language.contractions_after_pronouns[word]
        if long is None:
            if word in language.negative and _is_name(tokens, place, language):
                word += "'"
            words.append(word)
            shown.append(token)
        else:
            words += long
            shown += [token] + [""] * (len(long) - 1)
    return words, shown


def _is_name(tokens: list[str], place: int, language: _Language) -> bool:
    # "about Not Ltd", "Chanel No 5"; but "is NOT", and "Was Not Accepted" in the style of a title.
    before, token, after = tokens[place - 1 : place], tokens[place], tokens[place + 1 : place + 2]
    if not token[0].isupper() or token[1:].isupper() or not after:
        return False
    if after[0].casefold() in language.company:
        return True
    return bool(before) and (
        (before[0][0].islower() and after[0][0].isupper()) or (before[0][0].isalpha() and after[0][0].isdigit())
    )


def _matches(phrase: tuple[str, ...], words: list[str], start: int) -> bool:
    if start + len(phrase) > len(words):
        return False
    for place, word in enumerate(phrase, start):
        if words[place] != word and not (word == "#" and words[place][0].isdigit()):
            return False
    return True


def _read(text: str, language: _Language) -> _Statement:
    words, shown = _spell(text, language)
    start, answer = _opening(words, language)
    elliptic = ""
    if not start and answer is None:
        elliptic, answer = _elliptic(words, language)
    opening = " ".join(filter(None, shown[:start])).rstrip(" ,.;:!-*")
    alone = 0 < start < len(words) and words[start - 1] in _ENDS
    return _Statement(opening, answer, alone, elliptic, _sentences(words, shown, start, language))


def _opening(words: list[str], language: _Language) -> tuple[int, bool | None]:
    """Where the statement begins behind "yes", "no" and their like, and which of the two it was."""
    start, answer, place = 0, None, 0
    while place < len(words):
        if words[place] in language.fillers or words[place] in _PAUSES:
            place += 1
            continue
        found = [
            (place + len(phrase), said)
            for phrase, said in language.answers.get(words[place], ())
            if _matches(phrase, words, place) and _stands_apart(words, place, place + len(phrase), language)
        ]
        if not found:
            break
        end, said = found[0]
        if answer is not None and said is not answer:
            return 0, None
        answer = said
        while end < len(words) and words[end] in _MARKS:
            end += 1
        start = place = end
    return start, answer


def _stands_apart(words: list[str], start: int, end: int, language: _Language) -> bool:
    # "No fees apply", "Correct the address" and "No. 5" answer nothing.
    if end == len(words):
        return True
    after = words[end]
    if after in _MARKS:
        return not (after == "." and end + 1 < len(words) and words[end + 1][0].isdigit())
    return words[start] in language.plain and (after in language.pronouns or after in ("please", "sorry"))


def _elliptic(words: list[str], language: _Language) -> tuple[str, bool | None]:
    # "They are, provided ..."; "It doesn't."; "Of course you can!"
    phrases = language.answers.get(words[0], ()) if words else ()
    start = next((len(phrase) for phrase, said in phrases if said and _matches(phrase, words, 0)), 0)
    pronoun, auxiliary = " ".join(words[start : start + 1]), " ".join(words[start + 1 : start + 2])
    if pronoun not in language.pronouns or auxiliary not in language.auxiliaries:
        return "", None
    denied = words[start + 2 : start + 3] == ["not"]
    after = words[start + 2 + denied : start + 3 + denied]
    return ("", None) if after and after[0] not in _MARKS else (auxiliary, not denied)


def _sentences(words: list[str], shown: list[str], start: int, language: _Language) -> list[_Words]:
    sentences = []
    sentence, clause, place = _Words(), 0, start
    while place < len(words):
        word = words[place]
        key, width = language.level(word), 1
        if word in language.turnings:
            for phrase, read_as in language.phrases.get(word, ()):
                if _matches(phrase, words, place):
                    key, width = read_as, len(phrase)
                    break
            else:
                after = words[place + 1] if place + 1 < len(words) else ""
                if word in _ENDS:
                    sentence.asks = word == "?"
                    if sentence.keys:
                        sentences.append(sentence)
                    sentence, clause, key = _Words(), 0, ""
                elif word in _PAUSES:
                    clause, key = clause + 1, ""
                elif word == "but" or (word == "and" and after in language.subjects):
                    clause += 1
        if key:
            sentence.keys.append(key)
            sentence.shown.append(shown[place] if width == 1 else " ".join(filter(None, shown[place : place + width])))
            sentence.clauses.append(clause)
        place += width
    if sentence.keys:
        sentences.append(sentence)
    return sentences


def read_polarity(text: str, locale: str | None) -> Literal["negative", "positive"]:
    """Whether a statement says that something is not so.

    Parameters
    ----------
    text
        One statement.
    locale
        Its locale; None is English.

    Raises
    ------
    InputError
        For a language without tables.

    Examples
    --------
    >>> read_polarity("The parcel isn't insured.", None), read_polarity("The parcel is uninsured.", None)
    ('negative', 'negative')
    >>> read_polarity("It isn't unlikely.", None), read_polarity("Not only was it fast, it was free.", None)
    ('positive', 'positive')
    >>> read_polarity("No.", None), read_polarity("No, it is accurate.", None)
    ('negative', 'positive')
    """
    check_language(locale)
    language = _language(_code(locale))
    statement = _read(text, language)
    if statement.opening and not any(_substance(sentence, language) for sentence in statement.sentences):
        return "positive" if statement.answer else "negative"
    return "negative" if any(_is_negative(words, language) for words in statement.sentences) else "positive"


def _substance(words: _Words, language: _Language) -> list[str]:
    return [key for key in words.keys if key not in language.fillers]


def _is_negative(words: _Words, language: _Language) -> bool:
    keys, clauses = words.keys, words.clauses
    if words.asks and len(keys) > 3 and keys[-2] == "not" and clauses[-3] > clauses[-4]:
        keys = keys[:-3]  # "..., isn't it?"
    standing: list[int] = []  # the places of negations that nothing has cancelled
    for place, key in enumerate(keys):
        weak = key in language.undone or (key in language.negative and key not in language.denials)
        reach = 3 if weak else key in language.denials  # "isn't at all unlikely"; "can't not go"
        if standing and place - standing[-1] <= reach and clauses[place] == clauses[standing[-1]]:
            standing.pop()
        elif key in language.negative:
            standing.append(place)
    return bool(standing)


# --- comparing -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Polarity:
    """Whether a candidate surely says the opposite of a reference.

    Examples
    --------
    >>> compare_polarity("Fishing is allowed.", "Fishing is forbidden.", "", None).reason
    'the candidate says "forbidden" where the reference says "allowed"'
    """

    outcome: Literal["fail", "undecided"]
    reason: str
    """Names both words of a fail; else why nothing is decided."""
    kind: Kind | None = None
    """What turned the statement around; None where nothing is decided."""


_UNKNOWN: Final = Polarity("undecided", "the language has no tables of negations")
_LONG: Final = Polarity("undecided", f"a text is longer than {LONGEST} words")
_ALIKE: Final = Polarity("undecided", "no negation or antonym tells the texts apart")
_APART: Final = Polarity("undecided", "the wording differs by more than one negation or antonym")
_UNSURE: Final = Polarity("undecided", "yes and no may be meant otherwise here")


class _Flip(NamedTuple):
    """Where one text says the opposite of the other."""

    kind: Kind
    said: tuple[str, str]
    """The words of the first text and of the second."""
    put_in: tuple[int, int] | None = None
    """For a negator that only one text has: which text, and where."""
    clause: int = 0


def compare_polarity(reference: str, candidate: str, question: str, locale: str | None) -> Polarity:
    """Whether the candidate surely says the opposite of the reference.

    Parameters
    ----------
    reference, candidate
        The texts; each way round gives the same outcome.
    question
        What they answer; "" where it is not known.
    locale
        Their locale; None is English. Any other language is undecided (see `supports`).

    Examples
    --------
    >>> compare_polarity("The lid is waterproof.", "The lid isn't waterproof.", "", None).outcome
    'fail'
    >>> compare_polarity("Yes.", "No, only in spring.", "Can I visit the garden in winter?", None).kind
    'yes_no'
    >>> compare_polarity("You can resign.", "You can resign, but not after June.", "", None).outcome
    'undecided'
    """
    code = _code(locale)
    if code not in _TABLES:
        return _UNKNOWN
    if reference == candidate:
        return _ALIKE
    if len(reference) > 40 * LONGEST or len(candidate) > 40 * LONGEST:
        return _LONG
    language = _language(code)
    ours, theirs = frozenset(reference.casefold().split()), frozenset(candidate.casefold().split())
    near = _may_be_near(ours, theirs)
    if not (near or (_may_answer(reference, language) and _may_answer(candidate, language))):
        return _APART
    if language.denying.isdisjoint(ours & theirs) and not any(map(language.is_telling, ours ^ theirs)):
        return _ALIKE
    one, other = _read(reference, language), _read(candidate, language)
    if any(sum(len(words.keys) for words in text.sentences) > LONGEST for text in (one, other)):
        return _LONG
    flips = _turned(one.sentences, other.sentences, language) if near else None
    if flips and flips[0].kind != "yes_no":
        return _fail(flips[0].kind, *flips[0].said)
    if flips or (flips is None and None is not one.answer is not other.answer is not None):
        words, auxiliary = _asked(question, language)
        if flips and (auxiliary or not words):
            return _fail("yes_no", *flips[0].said)
        if not flips and _answers_oppose(one, other, words, auxiliary, language):
            return _fail("yes_no", _said(one), _said(other))
        return _UNSURE
    return _APART if flips is None else _ALIKE


def _fail(kind: Kind, reference: str, candidate: str) -> Polarity:
    return Polarity("fail", f'the candidate says "{candidate}" where the reference says "{reference}"', kind)


def _said(text: _Statement) -> str:
    if text.opening:
        return text.opening
    words = text.sentences[0]
    return " ".join(
        shown for shown, clause in zip(words.shown[:3], words.clauses, strict=False) if shown and not clause
    )


def _may_be_near(one: frozenset[str], other: frozenset[str]) -> bool:
    # The cheap look: near-identical texts share most words, whatever marks cling to some.
    fewer = min(len(one), len(other))
    missing = fewer - len(one & other)
    return missing <= 2 + fewer // 3 and (missing < fewer or len(one) + len(other) < 8)


def _may_answer(text: str, language: _Language) -> bool:
    # The cheap look: an opening, or a mark within the first few words.
    words = text[:80].casefold().split(maxsplit=3)[:3]
    return any(word[-1] in _MARKS or word in language.answers for word in words) or len(words) < 3


def _turned(one: list[_Words], other: list[_Words], language: _Language) -> list[_Flip] | None:
    """The flips that surely turn one text into the other's opposite; [] for the same text, None for any other."""
    if len(one) == len(other) and one:
        found: list[_Flip] = []
        for ours, theirs in zip(one, other, strict=True):
            flips = _sure(ours, theirs, language)
            if flips is None or (flips and found):
                return None
            found += flips
        return found
    if len(one) == 1 < len(other):
        return _turned_once(one[0], other, language)
    if len(other) == 1 < len(one):
        turned = _turned_once(other[0], one, language)
        return turned and [flip._replace(said=flip.said[::-1]) for flip in turned]
    return None


def _turned_once(single: _Words, many: list[_Words], language: _Language) -> list[_Flip] | None:
    # One sentence of the longer text is the opposite, and no other repeats the statement or takes it back.
    found = None
    for words in many:
        flips = _sure(single, words, language)
        if flips == [] or (flips and found):
            return None
        if flips:
            found = flips
        elif words.asks or not language.retractions.isdisjoint(words.keys):
            return None
    return found


def _sure(one: _Words, other: _Words, language: _Language) -> list[_Flip] | None:
    """The flips between two sentences, as `_turned` gives them."""
    flips = _align(one, other, language)
    if flips is None:
        flips = _swapped_contrast(one, other, language)
    if not flips:
        return flips
    unsure = one.asks or other.asks or not language.shields.isdisjoint(set(one.keys) & set(other.keys))
    return None if unsure or (len(flips) > 1 and not _moved_contrast(flips, (one, other), language)) else flips


def _align(one: _Words, other: _Words, language: _Language) -> list[_Flip] | None:
    """Walk through two sentences; [] where they say the same, None where more than polarity differs."""
    ours, theirs = one.keys, other.keys
    if abs(len(ours) - len(theirs)) > 8:
        return None
    flips: list[_Flip] = []
    negative = (False, False)  # which text has denied something that the other has not
    past = (False, False)  # which has done so with "did"
    i = j = 0
    while i < len(ours) or j < len(theirs):
        x = ours[i] if i < len(ours) else ""
        y = theirs[j] if j < len(theirs) else ""
        if x == y:
            i, j = i + 1, j + 1
        elif kind := language.opposites.get((x, y)):
            flips.append(_Flip(kind, (one.shown[i] or x, other.shown[j] or y)))
            negative = (negative[0] or x in language.negative, negative[1] or y in language.negative)
            i, j = i + 1, j + 1
        elif x in language.fillers:
            i += 1
        elif y in language.fillers:
            j += 1
        elif x in language.negators and y in language.negators:
            i, j = i + 1, j + 1
        elif x in language.negators:
            flips.append(_Flip("negation", _put_in(one, i, other, j), (0, i), one.clauses[i]))
            negative, past = (True, negative[1]), (x == "not did", False)
            i += 1
        elif y in language.negators:
            flips.append(_Flip("negation", _put_in(other, j, one, i)[::-1], (1, j), other.clauses[j]))
            negative, past = (negative[0], True), (False, y == "not did")
            j += 1
        elif (past[0] and language.is_past(y, x)) or (past[1] and language.is_past(x, y)):
            past = (False, False)
            i, j = i + 1, j + 1
        elif negative[0] and not language.companions.get(x, _NOTHING).isdisjoint(("-", y)):
            i, j = i + 1, j + (y in language.companions[x])
        elif negative[1] and not language.companions.get(y, _NOTHING).isdisjoint(("-", x)):
            i, j = i + (x in language.companions[y]), j + 1
        else:
            return None
    return flips


_NOTHING: Final = frozenset[str]()


def _put_in(denied: _Words, i: int, plain: _Words, j: int) -> tuple[str, str]:
    """How the text with the negation at i says it, and the one without."""
    if not denied.shown[i] and i and j:  # written with the word before it: "can't"
        return denied.shown[i - 1], plain.shown[j - 1]
    said = " ".join(filter(None, denied.shown[i : i + 2]))
    return said, " ".join(plain.shown[j : j + 1]) or " ".join(plain.shown[-1:])


def _moved_contrast(flips: list[_Flip], texts: tuple[_Words, _Words], language: _Language) -> bool:
    # "counts as wear and is not covered" against "does not count as wear and is covered": each clause is turned.
    # But "is not, I fear, valid" says the same as "is, I fear, not valid".
    first, second = flips if len(flips) == 2 else (flips[0], flips[0])
    if first.put_in is None or second.put_in is None or first.put_in[0] == second.put_in[0]:
        return False
    if first.clause == second.clause or any(not language.conditions.isdisjoint(text.keys) for text in texts):
        return False
    side, place = second.put_in
    denied, plain = texts[side], texts[1 - side]
    beginning = denied.clauses.index(denied.clauses[place])
    return not language.auxiliaries.isdisjoint(denied.keys[beginning:place]) or "but" in plain.keys


def _swapped_contrast(one: _Words, other: _Words, language: _Language) -> list[_Flip] | None:
    # "on Monday, not on Tuesday" against "on Tuesday, not on Monday"
    ours, theirs = _substance(one, language), _substance(other, language)
    if len(ours) != len(theirs) or ours.count("not") != 1 or theirs.count("not") != 1:
        return None
    middle = ours.index("not")
    first = 2 * middle + 1 - len(ours)
    if first < 0 or theirs.index("not") != middle or middle + 1 == len(ours) or ours[:first] != theirs[:first]:
        return None
    if ours[first:middle] != theirs[middle + 1 :] or ours[middle + 1 :] != theirs[first:middle]:
        return None
    return [_Flip("negation", (" ".join(ours[first:]), " ".join(theirs[first:])))]


def _answers_oppose(one: _Statement, other: _Statement, words: list[str], auxiliary: str, language: _Language) -> bool:
    """Whether a yes and a no answer the question (its words, and the auxiliary that asks) and mean what they say."""
    judging = {one.opening.casefold(), other.opening.casefold()} <= language.verdicts
    if words and not (auxiliary or judging):
        return False
    for text in (one, other):
        if text.elliptic and language.level(text.elliptic) != language.level(auxiliary):
            return False
    if _hedged(one, language) and _hedged(other, language):
        return False
    asked = frozenset(map(language.level, words))
    return not any(_takes_back(text, language) or _contradicts_itself(text, asked, language) for text in (one, other))


def _asked(question: str, language: _Language) -> tuple[list[str], str]:
    """The question's words; and the auxiliary, if one part of it alone wants yes or no, in the affirmative, else ""."""
    if len(question) > 40 * LONGEST:
        return ["?"], ""
    words = _spell(question, language)[0]
    sentences: list[list[str]] = [[]]
    for word in words:
        sentences[-1].append(word)
        if word in _ENDS:
            sentences.append([])
    asked = [sentence for sentence in sentences if sentence[-1:] == ["?"]] or [s for s in sentences if s][-1:]
    found = [auxiliary for auxiliary in (_auxiliary(sentence, language) for sentence in asked) if auxiliary is not None]
    return words, found[0] if len(found) == 1 else ""


def _auxiliary(asked: list[str], language: _Language) -> str | None:
    # None: asks for more than yes or no, so that no yes or no answers it.
    leads = next((place for place, word in enumerate(asked) if word in language.leading), len(asked))
    if not language.asking.isdisjoint(asked[leads:]):
        return ""
    for place, word in enumerate(asked):
        if word in language.asking:
            return None
        before = asked[place - 1] if place else ","
        if word in language.auxiliaries and (before in _PAUSES or before in language.fillers or before == "and"):
            turned = "or" in asked or not (language.denials | language.turning).isdisjoint(asked)
            return "" if turned else word
    return ""


def _hedged(text: _Statement, language: _Language) -> bool:
    # "Yes, if ...": in the first clause or at the beginning of a further one.
    if not text.sentences:
        return False
    keys, clauses = text.sentences[0].keys, text.sentences[0].clauses
    return any(
        key in language.hedges and (place == 0 or (not text.alone and (not clause or clause > clauses[place - 1])))
        for place, (key, clause) in enumerate(zip(keys, clauses, strict=True))
    )


def _takes_back(text: _Statement, language: _Language) -> bool:
    # "Yes, but ..."
    first = text.sentences[0].keys[0] if text.sentences else ""
    return first in language.hedges and first in language.retractions


def _contradicts_itself(text: _Statement, asked: frozenset[str], language: _Language) -> bool:
    # "No, it is accurate", asked whether it is: that no answers something else.
    if not (text.opening and text.sentences):
        return False
    stated = set(_substance(text.sentences[0], language))
    news = stated - asked - language.pronouns - language.auxiliaries - language.denials
    return bool(stated) and not news and _is_negative(text.sentences[0], language) is text.answer
