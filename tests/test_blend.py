import json
import math
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from conftest import SHARED
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import calibkit.blend
from calibkit.blend import (
    DEFAULT_FEATURES,
    FEATURES,
    Blend,
    BlendDefinition,
    FittedOn,
    compute_features,
    fit_blend,
    letter_triples,
    pairs_it_was_fitted_on,
    refuse_mixing,
)
from calibkit.certificate import certify
from calibkit.normalize import normalize, squad_tokens
from calibkit.pairs import AnswerPair, InputError, SetupError
from calibkit.rules import RULE_NAMES, check_rules
from calibkit.scorers import CosineScorer, score_pairs
from calibkit.store import Columns, load_pairs
from calibkit.testing import HashEmbedder, check_scorer

unhurried = settings(deadline=None, max_examples=60)
NO_RULES = [name for name in DEFAULT_FEATURES if not name.startswith("rule:")]
words = st.sampled_from(
    ["the", "river", "Vistula", "in", "Kraków", "12", "March", "2026", "?!", "河流", "don't", "not"]
)
texts = st.lists(words, min_size=1, max_size=8).map(" ".join)
answer_pairs = st.builds(
    AnswerPair,
    id=st.just("a"),
    references=st.lists(texts, min_size=1, max_size=3, unique=True).map(tuple),
    candidate=texts,
    question=texts | st.just(""),
)


def labelled_pairs(n=120, first=0):
    """Answers in other words than the reference's, every third of them wrong in a word or a number."""
    return [
        AnswerPair(
            f"a{at}",
            (f"{at} crowns for ticket{at} to Kraków",),
            f"It costs {at if at % 3 else at + 1} crowns, ticket{at if at % 6 else at + 1} to Krakow.",
            question=f"What does ticket{at} cost?",
            labelled=True,
            acceptable=at % 3 > 0 if at % 7 else at % 2 > 0,
        )
        for at in range(first, first + n)
    ]


@pytest.fixture(scope="module")
def fitted():
    return fit_blend(labelled_pairs())


# --- features ---------------------------------------------------------------------------------------


@unhurried
@given(answer_pairs)
def test_features_are_what_their_table_says(pair):
    (question, answer), references = squad_tokens([pair.question, pair.candidate]), squad_tokens(pair.references)

    def triples(text):
        form = f" {normalize(text, 3)} "
        return Counter(form[at : at + 3] for at in range(len(form) - 2))

    def recall(reference):
        mine, theirs = triples(pair.candidate), triples(reference)
        return (mine & theirs).total() / max(theirs.total(), 1)

    def new_recall(tokens):
        wanted = set(tokens) - set(question) or set(tokens)
        return len(wanted & set(answer)) / max(len(wanted), 1)

    known = {*question, *(word for tokens in references for word in tokens)}
    expected = {
        "letters_recall": max(map(recall, pair.references)),
        "new_recall": max(map(new_recall, references)),
        "log_answer": math.log1p(len(answer)),
        "log_reference": math.log1p(min(map(len, references))),
        "log_further": math.log1p(sum(word not in known for word in answer)),
        "log_references": math.log(len(references)),
    }
    found = compute_features([pair], list(expected))
    assert {name: values.tolist() for name, values in found.items()} == {
        name: [pytest.approx(value)] for name, value in expected.items()
    }


def test_triples_are_characters_of_any_script():
    assert letter_triples(["ab", "AB!", "b"])[0] == letter_triples(["ab", "AB!", "b"])[1]
    assert len({*letter_triples(["河流𝔸"])[0]}) == 3
    assert letter_triples(["\ud800"])  # half of a pair, as a text made in Python may hold


@unhurried
@given(answer_pairs)
def test_rule_features_are_the_outcomes_of_the_rules(pair):
    outcomes = {result.rule: result.outcome for result in check_rules(pair, RULE_NAMES, locale="en_US")}
    names = [name for name in FEATURES if name.startswith("rule:")]
    found = {name: values[0] for name, values in compute_features([pair], names, locale="en_US").items()}
    unsure = {"undecided", "ambiguous", "unreadable"}
    for rule, outcome in outcomes.items():
        assert found[f"rule:{rule}=fail"] == (outcome == "fail")
        assert found[f"rule:{rule}=pass"] == (outcome == "pass")
        assert found[f"rule:{rule}=unsure"] == (outcome in unsure)
    values = {outcome for rule, outcome in outcomes.items() if rule not in ("abstention", "negation", "swapped")}
    assert found["rule:value=fail"] == ("fail" in values)
    assert found["rule:value=unsure"] == bool(unsure & values)


def test_the_locale_reaches_the_rules():
    pair = AnswerPair("a", ("3 April 2026",), "04/03/2026")
    assert compute_features([pair], ["rule:date=unsure"])["rule:date=unsure"] == [1]
    assert compute_features([pair], ["rule:date=pass"], locale="en_US")["rule:date=pass"] == [1]


@pytest.mark.parametrize(
    ("name", "message"),
    [("rouge9", "there is no feature 'rouge9'"), ("cosine", "the feature 'cosine' needs an embedder")],
)
def test_features_that_cannot_be_computed_are_refused(name, message):
    with pytest.raises(InputError, match=message):
        compute_features(labelled_pairs(3), [name])


# --- the scorer -------------------------------------------------------------------------------------


def test_a_blend_follows_the_protocol(fitted):
    check_scorer(fitted)
    check_scorer(fit_blend(labelled_pairs(), ["token_f1", "cosine", "cosine_question"], embedder=HashEmbedder()))
    assert (fitted.name, fitted.version) == ("blend", calibkit.blend.BLEND_VERSION)


def test_any_language_can_compute_the_score(fitted):
    # From the definition's numbers and the features alone, by the formula.
    content = json.loads(fitted.definition.to_json())
    pairs = labelled_pairs(30, first=500)
    features = compute_features(pairs, list(content["weights"]))
    for at, value in enumerate(fitted.score(pairs).values):
        total = content["intercept"] + sum(w * float(features[name][at]) for name, w in content["weights"].items())
        assert value == pytest.approx(1 / (1 + math.exp(-total)), abs=1e-6)
        assert value == round(value, 6)


def test_pairs_without_references_are_unscored(fitted):
    scores = score_pairs([AnswerPair("a", (), "nobody knows"), *labelled_pairs(1)], fitted)
    assert scores.reasons == ("no references", None)
    assert score_pairs([], fitted).values.shape == (0,)


def test_a_blend_with_cosines_needs_its_own_model():
    blend = fit_blend(labelled_pairs(), ["token_recall", "cosine"], embedder=HashEmbedder())
    assert blend.definition.model == HashEmbedder().fingerprint
    with pytest.raises(InputError, match="and none is given; pass that one"):
        Blend(blend.definition)
    with pytest.raises(InputError, match="and this one is hash-embedder:16; pass that one"):
        Blend(blend.definition, HashEmbedder(16))
    pairs = labelled_pairs(5, first=900)
    weights = {"cosine": 1.0}
    alone = Blend(blend.definition.model_copy(update={"weights": weights, "intercept": 0.0}), HashEmbedder())
    cosine = score_pairs(pairs, CosineScorer(HashEmbedder())).values
    assert alone.score(pairs).values.tolist() == pytest.approx((1 / (1 + np.exp(-cosine))).tolist(), abs=1e-6)


def test_a_long_text_takes_no_long_time(fitted):
    pair = AnswerPair("a", ("12 March",), "12 March, " * 10_000, question="when? " * 1000)
    assert fitted.score([pair]).reasons == (None,)


# --- fitting ----------------------------------------------------------------------------------------


def test_plain_weights_say_what_the_standardised_regression_says():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pairs, names = labelled_pairs(), ["letters_recall", "token_f1", "log_answer", "rule:value=fail"]
    matrix = np.column_stack(list(compute_features(pairs, names).values()))
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8, max_iter=1000))
    model.fit(matrix, [pair.acceptable for pair in pairs])
    scores = fit_blend(pairs, names).score(pairs).values
    assert scores.tolist() == pytest.approx(model.predict_proba(matrix)[:, 1].tolist(), abs=1e-4)


def test_the_order_of_pairs_is_no_matter(fitted):
    assert fit_blend(reversed(labelled_pairs())).definition == fitted.definition


def test_what_is_known_by_nobody_fits_nothing(fitted):
    more = [
        AnswerPair("x", ("a",), "b", question="x", labelled=True),  # cannot say
        AnswerPair("y", (), "b", question="y", labelled=True, acceptable=True),  # no references
        AnswerPair("z", ("a",), "b", question="z"),  # no label
    ]
    assert fit_blend([*labelled_pairs(), *more]).definition == fitted.definition


def test_a_feature_that_never_differs_gets_no_weight(fitted):
    assert "log_references" not in fitted.definition.weights  # one reference each
    assert set(fitted.definition.weights) < set(DEFAULT_FEATURES)


def test_with_a_model_the_cosines_come_on_top():
    weights = fit_blend(labelled_pairs(), embedder=HashEmbedder()).definition.weights
    assert {"cosine", "cosine_question"} <= set(weights)


@pytest.mark.parametrize(
    ("pairs", "features", "message"),
    [
        ([], None, "of the 0 usable ones none has one; label more"),
        ([pair for pair in labelled_pairs() if pair.acceptable], None, "all have the same; label more"),
        (labelled_pairs(), [], "features must be one name or more, each once"),
        (labelled_pairs(), ["token_f1", "token_f1"], "features must be one name or more, each once"),
        (labelled_pairs(), ["log_references"], "none of the features log_references differs between the answers"),
    ],
)
def test_what_cannot_be_fitted_is_refused(pairs, features, message):
    with pytest.raises(InputError, match=message):
        fit_blend(pairs, features)


def test_too_many_questions_are_refused(monkeypatch):
    monkeypatch.setattr(calibkit.blend, "MOST_QUESTIONS", 100)
    with pytest.raises(InputError, match="at most 100 questions, not on 120; give it a part of them"):
        fit_blend(labelled_pairs())


def test_without_scikit_learn_the_cure_is_named(monkeypatch, fitted):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(SetupError, match=r"pip install 'calibkit\[fit\]'"):
        fit_blend(labelled_pairs())
    assert fitted.score(labelled_pairs(2)).reasons == (None, None)  # scoring needs none


def test_scikit_learn_is_imported_only_to_fit(run_python):
    assert run_python("import sys, calibkit.blend; print('sklearn' in sys.modules)").strip() == "False"


# --- the definition ---------------------------------------------------------------------------------


def test_a_definition_reads_as_it_was_written(fitted):
    text = fitted.definition.to_json()
    again = BlendDefinition.from_json(text)
    assert again == fitted.definition
    assert again.fingerprint == fitted.definition.fingerprint
    pairs = labelled_pairs(20, first=300)
    assert np.array_equal(Blend(again).score(pairs).values, fitted.score(pairs).values)


def test_two_blends_have_two_fingerprints(fitted):
    one = fitted.definition
    others = [
        one.model_copy(update={"intercept": one.intercept + 1e-3}),
        one.model_copy(update={"locale": "de_DE"}),
        one.model_copy(update={"weights": one.weights | {"token_f1": 0.1}}),
        one.model_copy(update={"fitted_on": one.fitted_on.model_copy(update={"marks": ""})}),
    ]
    assert len({each.fingerprint for each in [one, *others]}) == 5


def change(definition, **fields):
    return json.dumps(json.loads(definition.to_json()) | fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"weights": {"token_f2": 1.0}}, "blend: there is no feature 'token_f2'; fit the blend again"),
        ({"weights": {}}, "blend: weights: Dictionary should have at least 1 item"),
        ({"weights": {"token_f1": "1"}}, r"blend: weights\.token_f1: Input should be a valid number"),
        ({"weights": {"token_f1": math.nan}}, r"blend: weights\.token_f1: Input should be a finite number"),
        ({"intercept": 10**400}, "blend: intercept: "),
        ({"version": 99}, "with version 99 of the blend, this calibkit has version 1; fit it again"),
        ({"normalizer": 99}, "with version 99 of the normaliser"),
        ({"rules": 99}, "with version 99 of the rules"),
        ({"rules": None}, "with version None of the rules"),
        ({"locale": "xx_YY"}, "blend: "),
        ({"model": "sha256:1"}, "names the fingerprint of its model where it weighs a cosine, and only there"),
        ({"secret": 1}, "blend: secret: Extra inputs are not permitted"),
    ],
)
def test_other_definitions_are_refused(fitted, fields, message):
    with pytest.raises(InputError, match=message) as caught:
        BlendDefinition.from_json(change(fitted.definition, **fields))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "null", '{"version": 1, "version": 1}', "[" * 100_000, "9" * 5000, '{"a\\nb": 1}']
)
def test_what_is_no_definition_is_refused_in_one_line(text):
    with pytest.raises(InputError, match=r"^mine\.json: ") as caught:
        BlendDefinition.from_json(text, "mine.json")
    assert "\n" not in str(caught.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@unhurried
@given(st.dictionaries(st.sampled_from(["version", "weights", "intercept", "fitted_on", "locale"]), json_values))
def test_no_content_raises_anything_else(content):
    with pytest.raises(InputError):
        BlendDefinition.from_json(json.dumps(content))


def test_it_names_its_questions_by_hash_only(fitted):
    fitted_on = fitted.definition.fitted_on
    assert (fitted_on.pairs, fitted_on.questions, len(fitted_on.marks)) == (120, 120, 120 * 12)
    assert "ticket" not in fitted.definition.to_json()
    with pytest.raises(ValidationError):
        FittedOn(pairs=1, questions=1, fingerprint="", marks=["What does ticket1 cost?"])


# --- fitted on one, certified on others --------------------------------------------------------------


def test_other_questions_may_certify(fitted):
    refuse_mixing(fitted.definition, labelled_pairs(100, first=1000))


@pytest.mark.parametrize(
    "disguise",
    [
        lambda pair: pair,
        lambda pair: replace(pair, id="another"),
        lambda pair: replace(pair, group="another"),
        lambda pair: replace(pair, question=pair.question.upper() + "  "),
        lambda pair: replace(pair, candidate="another answer", acceptable=True),
        lambda pair: replace(pair, references=("another",), group="another"),
    ],
    ids=["itself", "another id", "another group", "other letters", "another answer", "other references"],
)
def test_no_disguise_lets_a_fitted_question_certify(fitted, disguise):
    pair = disguise(labelled_pairs()[7])
    assert pairs_it_was_fitted_on(fitted.definition, [pair]) == [pair]
    message = rf"1 certifying question of 2 \(first: '{pair.id}'\) was used to fit the blend, .* on another set"
    with pytest.raises(InputError, match=message):
        refuse_mixing(fitted.definition, [labelled_pairs(1, first=1000)[0], pair])


def test_a_group_that_fitted_certifies_with_none_of_its_questions():
    grouped = [replace(pair, group=f"g{at // 2}") for at, pair in enumerate(labelled_pairs())]
    definition = fit_blend(grouped, ["token_f1"]).definition
    assert definition.fitted_on.questions == 60
    other = AnswerPair("b", ("x",), "y", question="a question of its own", group="g3")
    assert pairs_it_was_fitted_on(definition, [other, replace(other, group="g300")]) == [other]


def test_without_questions_texts_are_known_again():
    bare = [replace(pair, question="", group=f"g{at}") for at, pair in enumerate(labelled_pairs())]
    definition = fit_blend(bare, ["token_f1"]).definition
    copy = replace(bare[3], id="copy", group="renamed")
    other = replace(copy, candidate="something else")
    assert pairs_it_was_fitted_on(definition, [copy, other]) == [copy]


# --- real answers -----------------------------------------------------------------------------------


def load(name):
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip("the real answers (EVOUNA) are no part of this repository")
    columns = Columns(leave_out=(("improper", "true"),))
    return [pair for pair in load_pairs(path, columns) if pair.labelled and pair.references]


def test_real_answers_need_fewer_labels():
    # Fitted on TriviaQA, certified on Natural Questions. The whole table: benchmarks/fewer_labels.py.
    blend = fit_blend(load("evouna_tq.jsonl"), NO_RULES)
    answers = load("evouna_nq.jsonl")
    refuse_mixing(blend.definition, answers)
    place, rejected = blend.score(answers).values, np.array([pair.counts_as_rejected for pair in answers])
    question = np.unique([pair.group_key for pair in answers], return_inverse=True)[1]
    members = np.argsort(question, kind="stable")
    sizes = np.bincount(question)
    starts = sizes.cumsum() - sizes
    rng, ranked = np.random.default_rng(20), np.sort(place)
    for alpha, n, least in ((0.05, 200, 0.54), (0.02, 500, 0.3)):
        shares = []
        for _ in range(600):
            chosen = rng.choice(len(sizes), n, replace=False)
            drawn = members[starts[chosen] + rng.integers(0, sizes[chosen])]
            found = certify(place[drawn], rejected[drawn], alpha, 0.1).threshold
            shares.append(0.0 if found is None else 1 - np.searchsorted(ranked, found) / len(ranked))
        assert np.mean(shares) - 3 * np.std(shares) / 600**0.5 >= least
