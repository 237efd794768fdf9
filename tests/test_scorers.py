import json
import re
import string
from collections import Counter
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

import calibkit.scorers
from calibkit.normalize import rouge_tokens, squad_tokens
from calibkit.pairs import AnswerPair, InputError
from calibkit.scorers import (
    EMBEDDING_SCORERS,
    LEXICAL_SCORERS,
    CosineScorer,
    NormalFormScorer,
    Overlap,
    Scorer,
    Scores,
    find_scorer,
    score_pairs,
    scorer_names,
    stemmed_rouge_tokens,
)

EVOUNA_NQ = Path(__file__).parents[2] / "shared" / "data" / "evouna_nq.jsonl"
unhurried = settings(deadline=None, max_examples=100)
brief = settings(deadline=None, max_examples=20)  # for a law that is tried on every scorer

_WORDS = [
    "the",
    "The",
    "a",
    "cat",
    "cats",
    "running",
    "12",
    "3.5",
    "well-known",
    "U.S.",
    "don't",
    "_x_",
    "?!",
    "relational",
]
overlapping = st.lists(st.sampled_from(_WORDS), max_size=8).map(" ".join)
ascii_texts = st.one_of(overlapping, st.text(alphabet=string.printable, max_size=40))
foreign_texts = st.lists(
    st.sampled_from(
        [
            "河流",
            "很长",
            "हिन्दी",
            "भाषा",
            "Kraków",
            "KRAKÓW",
            "e\u0301té",
            "カタ",
            "ที่นี่",
            "été",
            "Σ",
            "２",
            "½",
            "\n",
            "।",
        ]
    ),
    max_size=8,
).map(" ".join)
any_texts = st.one_of(ascii_texts, foreign_texts, st.text(max_size=20))


def pair(references, candidate, question="", id="a"):
    return AnswerPair(id, (references,) if isinstance(references, str) else tuple(references), candidate, question)


def score(scorer, references, candidate, **kwargs):
    """The score of one pair."""
    return score_pairs([pair(references, candidate)], scorer, **kwargs).values[0]


class TableEmbedder:
    """Vectors by text, as a table gives them; remembers what it was asked for."""

    fingerprint = "table"

    def __init__(self, vectors):
        self.vectors = vectors
        self.asked = []

    def embed(self, texts):
        self.asked.append(list(texts))
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


class NoiseEmbedder:
    """A vector for any text, drawn by the text itself."""

    fingerprint = "noise"

    def embed(self, texts):
        return np.array(
            [np.random.default_rng(list(text.encode())).normal(size=24) for text in texts], dtype=np.float32
        )


@pytest.fixture(scope="module")
def real_ascii_pairs():
    if not EVOUNA_NQ.exists():
        pytest.skip("the real labelled answers (evouna_nq.jsonl) are not here")
    with EVOUNA_NQ.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file][::10]
    pairs = [
        AnswerPair(row["id"], tuple(row["references"]), row["candidate"])
        for row in rows
        if row["references"]
        and row["candidate"]
        and all(text.isascii() for text in (*row["references"], row["candidate"]))
    ]
    assert len(pairs) > 700
    return pairs


# --- ROUGE, against the reference implementation -----------------------------------------------------

ROUGE = [("", RougeScorer(["rouge1", "rouge2", "rougeL"]))]
ROUGE.append(("_stemmed", RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)))


def best_rouge(reference_scorer, pair):
    scores = [reference_scorer.score(reference, pair.candidate) for reference in pair.references]
    return {name: max(score[name].fmeasure for score in scores) for name in ("rouge1", "rouge2", "rougeL")}


@pytest.mark.parametrize(("suffix", "reference_scorer"), ROUGE, ids=["plain", "stemmed"])
def test_rouge_of_real_answers_is_that_of_the_reference_implementation(suffix, reference_scorer, real_ascii_pairs):
    expected = [best_rouge(reference_scorer, pair) for pair in real_ascii_pairs]
    for name in ("rouge1", "rouge2", "rougeL"):
        found = score_pairs(real_ascii_pairs, name + suffix).values.tolist()
        assert found == [scores[name] for scores in expected]


@pytest.mark.parametrize(("suffix", "reference_scorer"), ROUGE, ids=["plain", "stemmed"])
@unhurried
@given(references=st.lists(ascii_texts, min_size=1, max_size=3), candidate=ascii_texts)
@example(references=["relational running cats"], candidate="relate run cat")
@example(references=["the cat"], candidate="")
@example(references=["?!"], candidate="?!")
def test_rouge_of_ascii_texts_is_that_of_the_reference_implementation(suffix, reference_scorer, references, candidate):
    one = pair(references, candidate)
    expected = best_rouge(reference_scorer, one)
    found = {name: score_pairs([one], name + suffix).values[0] for name in expected}
    assert found == expected


class OwnTokens:
    """Our tokens, for the reference implementation."""

    def tokenize(self, text):
        return rouge_tokens([text])[0]


@unhurried
@given(st.one_of(foreign_texts, st.text(max_size=30)), st.one_of(foreign_texts, st.text(max_size=30)))
@example("河流很长", "河流长")
@example("हिन्दी भाषा", "भाषा हिन्दी")
def test_rouge_of_other_scripts_is_the_reference_implementation_with_our_tokens(reference, candidate):
    scores = RougeScorer(["rouge1", "rouge2", "rougeL"], tokenizer=OwnTokens()).score(reference, candidate)
    for name, expected in scores.items():
        assert score(name, reference, candidate) == expected.fmeasure


@pytest.mark.parametrize(
    ("name", "reference", "candidate", "expected"),
    [
        ("rouge1", "the cat sat", "the cat ran", Fraction(2, 3)),
        ("rouge2", "the cat sat", "the cat ran", Fraction(1, 2)),
        ("rougeL", "a b c d", "d b x c", Fraction(1, 2)),
        ("rouge1", "b b c", "b", Fraction(1, 2)),
        ("rouge1", "cats running", "cat run", Fraction(0)),
        ("rouge1_stemmed", "cats running", "cat run", Fraction(1)),
        ("rouge2_stemmed", "cats running fast", "cat run slowly", Fraction(1, 2)),
        ("rougeL_stemmed", "running cats", "cat run", Fraction(1, 2)),
        ("rouge1", "河流很长", "河流长", Fraction(6, 7)),
        ("rouge1", "Kraków", "KRAKÓW", Fraction(1)),
        ("rouge2", "yes", "yes", Fraction(0)),
    ],
)
def test_rouge_worked_by_hand(name, reference, candidate, expected):
    assert score(name, reference, candidate) == pytest.approx(float(expected), abs=1e-15)


def test_words_of_up_to_three_letters_are_not_stemmed():
    assert stemmed_rouge_tokens(["Its relational cats was agreed"]) == [["its", "relat", "cat", "was", "agre"]]


def test_stemming_without_its_package_names_the_cure(run_python):
    told = run_python(
        "import sys; sys.modules['nltk.stem.porter'] = None\n"
        "from calibkit.pairs import AnswerPair, InputError\n"
        "from calibkit.scorers import score_pairs\n"
        "try: score_pairs([AnswerPair('a', ('x',), 'x')], 'rouge1_stemmed')\n"
        "except InputError as error: print(error)"
    )
    assert told == "stemmed ROUGE needs NLTK's Porter stemmer: pip install 'calibkit[stem]'\n"


# --- token overlap, against SQuAD's definition -------------------------------------------------------


def squad_words(text):
    bare = "".join(character for character in text.lower() if character not in set(string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", bare).split()


def squad_overlap(reference, candidate, kind):
    """(precision, recall, F1) in the operations of SQuAD's evaluation script; `kind` is Counter, or set."""
    in_reference, in_candidate = kind(reference), kind(candidate)
    common = in_reference & in_candidate
    shared = sum(common.values()) if kind is Counter else len(common)
    if shared == 0:
        return 0.0, 0.0, 0.0
    size = (lambda bag: sum(bag.values())) if kind is Counter else len
    precision = 1.0 * shared / size(in_candidate)
    recall = 1.0 * shared / size(in_reference)
    return precision, recall, (2 * precision * recall) / (precision + recall)


TOKEN_SCORERS = [
    ("token_precision", Counter, 0),
    ("token_recall", Counter, 1),
    ("token_f1", Counter, 2),
    ("token_set_precision", set, 0),
    ("token_set_recall", set, 1),
    ("token_set_f1", set, 2),
]


@pytest.mark.parametrize(("name", "kind", "measure"), TOKEN_SCORERS)
def test_token_overlap_of_real_answers_is_squads(name, kind, measure, real_ascii_pairs):
    pairs = [pair for pair in real_ascii_pairs if all(map(squad_words, (*pair.references, pair.candidate)))]
    assert len(pairs) > 700
    expected = [
        max(squad_overlap(squad_words(text), squad_words(pair.candidate), kind)[measure] for text in pair.references)
        for pair in pairs
    ]
    assert score_pairs(pairs, name).values.tolist() == expected


@pytest.mark.parametrize(("name", "kind", "measure"), TOKEN_SCORERS)
@unhurried
@given(reference=any_texts, candidate=any_texts)
@example(reference="b b b c", candidate="b b d")
@example(reference="The The", candidate="the")
def test_token_overlap_is_squads_over_our_tokens(name, kind, measure, reference, candidate):
    expected = squad_overlap(*squad_tokens([reference, candidate]), kind)[measure]
    assert score(name, reference, candidate) == expected


@pytest.mark.parametrize(
    ("name", "reference", "candidate", "expected"),
    [
        ("token_precision", "12 March 2026", "It ships on 12 March", Fraction(2, 5)),
        ("token_recall", "12 March 2026", "It ships on 12 March", Fraction(2, 3)),
        ("token_f1", "12 March 2026", "It ships on 12 March", Fraction(1, 2)),
        ("token_precision", "b b c", "b b b", Fraction(2, 3)),
        ("token_set_precision", "b b c", "b b b", Fraction(1)),
        ("token_recall", "b b c", "b", Fraction(1, 3)),
        ("token_set_recall", "b b c", "b", Fraction(1, 2)),
        ("token_set_f1", "b b c", "b", Fraction(2, 3)),
        ("token_f1", "A", "A", Fraction(1)),
        ("token_f1", "A", "B", Fraction(0)),
        ("token_f1", "The The", "Oasis", Fraction(0)),
        ("token_recall", "河流很长", "河流长", Fraction(3, 4)),
        ("token_recall", "ＡＢ－２０７１", "AB-2071", Fraction(1)),
    ],
)
def test_token_overlap_worked_by_hand(name, reference, candidate, expected):
    assert score(name, reference, candidate) == pytest.approx(float(expected), abs=1e-15)


@st.composite
def overlaps(draw):
    """(shared, in reference, in candidate), the reference of up to 100 tokens."""
    in_reference = draw(st.integers(1, 100))
    in_candidate = draw(st.integers(1, 2_000))
    return draw(st.integers(0, min(in_reference, in_candidate))), in_reference, in_candidate


@settings(deadline=None, max_examples=500)
@given(overlaps(), overlaps())
@example((1, 100, 1), (1, 99, 2_000))  # recalls as close as they come, F1 the other way round
@example((50, 100, 50), (1, 2, 2_000))
@example((99, 100, 99), (98, 99, 98))
def test_recall_f1_orders_by_recall_and_then_by_f1(one, other):
    value = Overlap(*np.array([one, other], dtype=np.int64).T).recall_f1
    recall = [Fraction(shared, in_reference) for shared, in_reference, _ in (one, other)]
    f1 = [Fraction(2 * shared, in_reference + in_candidate) for shared, in_reference, in_candidate in (one, other)]
    if recall[0] != recall[1]:
        assert (value[0] < value[1]) == (recall[0] < recall[1])
    elif f1[0] != f1[1]:
        assert (value[0] < value[1]) == (f1[0] < f1[1])
    else:
        assert value[0] == pytest.approx(value[1], abs=1e-15)


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("12 March", "March 12", 1),
        ("12 March", "10 April", 0),
        # recall 2/3 and F1 1/2
        ("12 March 2026", "It ships on 12 March", (Fraction(2, 3) + Fraction(1, 20_000)) / Fraction(10_001, 10_000)),
    ],
)
def test_recall_f1_worked_by_hand(reference, candidate, expected):
    assert score("token_recall_f1", reference, candidate) == pytest.approx(float(expected), abs=1e-15)


# --- exact and contains ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("12", "It is 12.", 1),
        ("12", "12", 1),
        ("12", "312", 0),
        ("12", "123", 0),
        ("12", "12.5", 0),
        ("12", "12,000", 0),
        ("5", "It is -5", 0),
        ("4471", "Order 14471", 0),
        ("New York", "in New York, USA", 1),
        ("New York", "York, New", 0),
        ("new", "Newark", 0),
        ("Kraków", "She lives in KRAKOW!", 1),
        ("in New York", "New York", 0),
        ("The The", "Oasis", 0),
        ("?!", "what?!", 0),
    ],
)
def test_contains_looks_for_whole_words(reference, candidate, expected):
    assert score("contains", reference, candidate) == expected


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("The Hague", "hague.", 1),
        ("ＡＢ－２０７１", "ab-2071", 1),
        ("?!", "?!", 1),
        ("4", "4.0", 0),
        ("65", "<65", 0),
        ("12", "It is 12.", 0),
    ],
)
def test_exact_compares_normal_forms(reference, candidate, expected):
    assert score("exact", reference, candidate) == expected


def test_exact_at_a_lower_rung_levels_less():
    assert score(NormalFormScorer("exact", rung=2), "Kraków.", "kraków.") == 1
    assert score(NormalFormScorer("exact", rung=2), "Kraków.", "krakow") == 0


# --- what holds for all ------------------------------------------------------------------------------

EVERY = [*LEXICAL_SCORERS, *EMBEDDING_SCORERS]


@pytest.mark.parametrize("name", EVERY)
@brief
@given(references=st.lists(any_texts, min_size=1, max_size=4), candidate=any_texts)
def test_the_best_reference_counts(name, references, candidate):
    embedder = NoiseEmbedder()
    each = [score(name, reference, candidate, embedder=embedder) for reference in references]
    assert score(name, references, candidate, embedder=embedder) == max(each)


@pytest.mark.parametrize("name", LEXICAL_SCORERS)
def test_the_right_reference_wins_wherever_it_stands(name):
    for references in (["Oslo it is", "twelve grey cats"], ["twelve grey cats", "Oslo it is"]):
        assert score(name, references, "Oslo it is") == 1


@pytest.mark.parametrize("name", EVERY)
def test_a_pair_without_references_is_unscored_with_its_reason(name):
    pairs = [pair([], "four"), pair("four", "four"), pair([], "")]
    scores = score_pairs(pairs, name, embedder=NoiseEmbedder())
    assert np.isnan(scores.values).tolist() == [True, False, True]
    assert scores.reasons == ("no references", None, "no references")
    assert scores.scored.tolist() == [False, True, False]
    assert score_pairs(pairs[::2], name, embedder=NoiseEmbedder()).scored.tolist() == [False, False]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    ("reference", "candidate"),
    [("", ""), ("", "x"), ("x", ""), (" \n", " \n"), ("four", "\t"), ("", "\u00a0")],
    ids=ascii,
)
def test_a_blank_text_matches_nothing_not_even_another(name, reference, candidate):
    scores = score_pairs([pair(reference, candidate, question="Which?")], name, embedder=NoiseEmbedder())
    assert scores.values.tolist() == [0]
    assert scores.reasons == (None,)


@pytest.mark.parametrize("name", [name for name in LEXICAL_SCORERS if name.startswith("rouge")])
@pytest.mark.parametrize("text", ["?!", "...", "👍", "_"])
def test_texts_without_a_word_do_not_match_under_rouge(name, text):
    assert score(name, text, text) == 0


@pytest.mark.parametrize("name", [name for name in LEXICAL_SCORERS if name.startswith("token")])
@pytest.mark.parametrize("text", ["?!", "A", "The The", "河流", "…"])
def test_a_short_text_that_says_something_matches_itself(name, text):
    assert score(name, text, text) == 1


@pytest.mark.parametrize("name", EVERY)
@brief
@given(texts=st.lists(st.tuples(st.lists(any_texts, max_size=3), any_texts, overlapping), max_size=5))
def test_the_score_of_a_pair_does_not_hang_on_the_pairs_beside_it(name, texts):
    pairs = [AnswerPair(str(n), tuple(r), c, question) for n, (r, c, question) in enumerate(texts)]
    together = score_pairs(pairs, name, embedder=NoiseEmbedder())
    alone = [score_pairs([one], name, embedder=NoiseEmbedder()) for one in pairs]
    assert np.array_equal(together.values, np.array([one.values[0] for one in alone]), equal_nan=True)
    assert together.reasons == tuple(one.reasons[0] for one in alone)


@pytest.mark.parametrize("name", LEXICAL_SCORERS)
@brief
@given(reference=any_texts, candidate=any_texts)
def test_lexical_scores_lie_from_0_to_1(name, reference, candidate):
    assert 0 <= score(name, reference, candidate) <= 1


@pytest.mark.parametrize("name", EVERY)
def test_every_scorer_follows_the_protocol_under_its_own_name(name):
    scorer = find_scorer(name, NoiseEmbedder())
    assert isinstance(scorer, Scorer)
    assert (scorer.name, scorer.version) == (name, 1)
    scores = score_pairs([pair("four", "four")], name, embedder=NoiseEmbedder())
    assert (scores.scorer, scores.version, scores.values.dtype) == (name, 1, np.float64)


def test_no_pairs_have_no_scores():
    for name in EVERY:
        scores = score_pairs([], name, embedder=NoiseEmbedder())
        assert (scores.values.shape, scores.reasons) == ((0,), ())


def test_pairs_may_come_from_an_iterator():
    assert score_pairs(iter([pair("four", "four")]), "exact").values.tolist() == [1]


# --- cosine ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vector", "expected"),
    [
        ((3, 4), 0.6),
        ((1, 2), 0.447214),  # 1 / √5 = 0.44721359...
        ((1, 1), 0.707107),  # 1 / √2 = 0.70710678...
        ((7, 0), 1.0),
        ((-2, 0), -1.0),
        ((0, 5), 0.0),
        ((-1, 1e9), 0.0),  # -0.000000001, and 0 has no sign
        ((0, 0), 0.0),
        ((1, 1e-4), 1.0),  # 0.999999995
    ],
)
def test_cosine_is_rounded_to_six_decimals(vector, expected):
    value = score("cosine", "axis", "other", embedder=TableEmbedder({"axis": (1, 0), "other": vector}))
    assert value == expected
    assert not np.signbit(value) or expected < 0


@unhurried
@given(
    st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=400).filter(lambda row: max(map(abs, row)) > 1e-3),
    st.floats(0.125, 8, width=32),
)
@example([0.1] * 384, 3.0)
def test_equal_texts_and_parallel_vectors_have_cosine_exactly_1(vector, factor):
    row = np.array(vector, dtype=np.float32)
    embedder = TableEmbedder({"text": row, "parallel": row * np.float32(factor), "against": -row})
    assert score("cosine", "text", "text", embedder=embedder) == 1
    assert score("cosine", "text", "parallel", embedder=embedder) == 1
    assert score("cosine", "text", "against", embedder=embedder) == -1


def test_cosine_embeds_each_distinct_text_once():
    embedder = TableEmbedder({"p": (1, 0), "q": (0, 1), "r": (3, 4)})
    pairs = [pair(["p", "q"], "r"), pair("p", "p"), pair("r", "q")]
    assert score_pairs(pairs, "cosine", embedder=embedder).values.tolist() == [0.8, 1.0, 0.8]
    assert [sorted(texts) for texts in embedder.asked] == [["p", "q", "r"]]


def test_cosine_of_more_rows_than_are_multiplied_at_once():
    embedder = TableEmbedder({"p": (1, 0), "q": (0, 1), "r": (3, 4)})
    count = 65_536 + 3
    pairs = [pair(["p", "q"][n % 2], "r") for n in range(count)]
    values = score_pairs(pairs, CosineScorer(embedder)).values
    assert values.tolist() == [[0.6, 0.8][n % 2] for n in range(count)]


def test_cosine_question_embeds_the_question_a_line_break_and_the_text():
    embedder = TableEmbedder({"Q?\np": (1, 0), "Q?\nr": (3, 4), "S?\np": (0, 1), "S?\nr": (3, 4)})
    pairs = [pair("p", "r", question="Q?"), pair("p", "r", question="S?")]
    assert score_pairs(pairs, "cosine_question", embedder=embedder).values.tolist() == [0.6, 0.8]
    assert score_pairs(pairs, CosineScorer(embedder, "question + answer")).scorer == "cosine_question"


def test_cosine_asks_the_model_for_nothing_where_there_are_no_references():
    embedder = TableEmbedder({})
    assert score_pairs([pair([], "r")], "cosine", embedder=embedder).reasons == ("no references",)
    assert embedder.asked == []


# --- holding a scorer to its protocol ----------------------------------------------------------------


class Canned:
    """Returns what it was given."""

    name, version = "canned", 3

    def __init__(self, values=(0.5,), reasons=(None,)):
        self.values, self.reasons = values, reasons

    def score(self, pairs):
        return Scores(np.array(self.values, dtype=float), tuple(self.reasons), self.name, self.version)


TWO = [pair("x", "x", id="first"), pair("x", "x", id="second")]


def test_a_scorer_of_ones_own_is_taken_as_it_is():
    scores = score_pairs(TWO, Canned([-7.5, np.nan], [None, "too long"]))
    assert scores.values[0] == -7.5
    assert (scores.reasons, scores.scorer, scores.version) == ((None, "too long"), "canned", 3)


@pytest.mark.parametrize(
    ("values", "reasons", "shape"),
    [
        ([0.5], [None, None], r"\(1,\)"),
        ([0.5, 0.5], [None], r"\(2,\)"),
        ([0.5, 0.5, 0.5], [None] * 3, r"\(3,\)"),
        ([[0.5, 0.5]], [None, None], r"\(1, 2\)"),
        ([], [], r"\(0,\)"),
    ],
)
def test_another_number_of_scores_than_pairs_is_refused(values, reasons, shape):
    with pytest.raises(InputError, match=rf"the scorer 'canned' returned {shape} values for 2 pairs; one each is due"):
        score_pairs(TWO, Canned(values, reasons))


@pytest.mark.parametrize(
    ("value", "reason"),
    [(np.inf, None), (-np.inf, None), (np.inf, "overflow"), (np.nan, None), (0.5, "no references")],
)
def test_a_score_that_is_neither_finite_nor_explained_is_refused(value, reason):
    told = re.escape(f"the scorer 'canned' gave the pair 'second' the value {value} with the reason {reason!r}; due is")
    with pytest.raises(InputError, match=told):
        score_pairs(TWO, Canned([0.5, value], [None, reason]))


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("token_recal", "token_recall"), ("rouge-l", "rougeL"), ("cosin", "cosine"), ("Exact", "exact")],
)
def test_an_unknown_scorer_is_refused_with_the_nearest_names(name, nearest):
    with pytest.raises(InputError) as caught:
        score_pairs(TWO, name)
    told, _, names = str(caught.value).partition("; the nearest: ")
    assert told == f"there is no scorer {name!r}"
    assert nearest in names.split(", ")


@pytest.mark.parametrize("name", EMBEDDING_SCORERS)
def test_an_embedding_scorer_without_a_model_is_refused_with_the_cure(name):
    with pytest.raises(InputError, match=rf"'{name}' needs an embedder; pass embedder=calibkit\.load_embedder\(\)"):
        score_pairs(TWO, name)


@pytest.fixture
def register(monkeypatch):
    """Register objects as installed packages would."""

    def register(**scorers):
        points = [
            SimpleNamespace(name=name, value=f"package:{name}", load=lambda scorer=scorer: scorer)
            for name, scorer in scorers.items()
        ]
        monkeypatch.setattr(
            calibkit.scorers, "entry_points", lambda *, group: points if group == "calibkit.scorers" else []
        )

    return register


def test_a_registered_scorer_is_found_be_it_a_class_or_an_object(register):
    half = Canned([0.25])
    half.name = "half"
    register(canned=Canned, half=half, mine=Canned)
    assert score_pairs(TWO[:1], "canned").values.tolist() == [0.5]
    assert score_pairs(TWO[:1], "half").values.tolist() == [0.25]
    assert scorer_names() == [*LEXICAL_SCORERS, *EMBEDDING_SCORERS, "canned", "half", "mine"]
    with pytest.raises(InputError, match=r"the registered scorer 'mine' \(package:mine\) lacks this name"):
        find_scorer("mine")


def test_a_registered_scorer_is_offered_as_a_near_name(register):
    register(canned=Canned)
    with pytest.raises(InputError, match="there is no scorer 'caned'; the nearest: canned"):
        find_scorer("caned")


@pytest.mark.parametrize(
    "scorer", [lambda pairs: [1.0], SimpleNamespace(name="odd", version=1), SimpleNamespace(score=len), object]
)
def test_a_registered_object_that_is_no_scorer_is_refused(register, scorer):
    register(odd=scorer)
    with pytest.raises(
        InputError, match=r"the registered scorer 'odd' \(package:odd\) lacks this name, a version or score"
    ):
        find_scorer("odd")


def test_a_registered_scorer_takes_no_built_in_name(register):
    register(exact=Canned)
    assert find_scorer("exact") is LEXICAL_SCORERS["exact"]
