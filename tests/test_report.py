"""The report tells what the evidence says, of the labels that were looked at, and lets no text run."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibkit import AnswerPair, HandSet, InputError, PairSet, Scores, calibrate, load_pairs
from calibkit.mistakes import compare, worst_mistakes
from calibkit.pairs import Remark
from calibkit.report import calibration_report, save_figures, text_report
from calibkit.store import atomic_writer
from calibkit.testing import HashEmbedder

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
VOID = {"meta"}


class Given:
    """Scores that the pairs bring along."""

    name, version = "given", 1

    def score(self, pairs):
        values = np.array([pair.meta["score"] for pair in pairs], dtype=float)
        return Scores(values, tuple("not given" if np.isnan(value) else None for value in values), "given", 1)


def answer(name, score, acceptable, *, exact=False, **fields):
    reference = f"reference {name}"
    fields = {"references": (reference,), "candidate": reference if exact else f"other {name}", **fields}
    return AnswerPair(
        name, question=f"question {name}", labelled=True, acceptable=acceptable, meta={"score": score}, **fields
    )


def calibrated(pairs, **options):
    return calibrate(PairSet(pairs, "desk"), scorer=Given(), **{"development": 0.0, "now": NOW, **options})


def many(n_right=150, n_wrong=50, exact=0):
    """Right answers ranked above wrong ones; the last ones are exact."""
    total = n_right + n_wrong
    pairs = [answer(f"p{at}", 1 - at / total, at < n_right) for at in range(total)]
    return [*pairs, *(answer(f"e{at}", 1, True, exact=True) for at in range(exact))]


class Page(HTMLParser):
    """Reads a page, minding that every tag is closed in its order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag not in VOID, f"{tag} is not closed"
        self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), "an attribute stands twice"
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def text(self, tag=None):
        return " ".join(data for inside, data in self.texts if tag in (None, inside) and inside != "style")


def words(text):
    return " ".join(text.replace("\u00a0", " ").split())


@pytest.fixture(scope="module")
def certified():
    return calibrated(many(exact=12), precision=0.9, drawn="random")


@pytest.fixture(scope="module")
def page(certified):
    return calibration_report(certified)


@pytest.fixture
def refused(tmp_path):
    """A second configuration where one was planned."""
    pairs = PairSet(many(exact=12), "desk")
    options = {"scorer": Given(), "ledger": tmp_path / "ledger.jsonl"}
    calibrate(pairs, precision=0.9, **options)
    return calibrate(pairs, precision=0.8, **options)


# --- what it says -----------------------------------------------------------------------------------


def test_the_promise_is_the_headline_and_the_badge_says_certified_in_words(certified, page):
    read = Page(page)
    assert words(read.text("h1")) == certified.policy.evidence.sentence
    assert words(read.text("strong")) == "certified"
    assert "✓" in read.text("i")
    assert read.text("title") == "desk: certified"
    assert text_report(certified).startswith("Calibration of desk: CERTIFIED\n\nWith 90 % confidence fewer than 10 %")


def test_the_counts_are_those_of_the_evidence(certified, page):
    passes, labels = certified.policy.evidence.pass_, certified.policy.evidence.labels
    assert passes.by_stage["exact"] == (12, 0)
    n, k = passes.by_stage["bands"]
    left = labels.certifying - passes.above
    share = 100 * passes.rejects / passes.above
    rows = [
        f"Passed {passes.above} ({passes.above / 2.12:.1f} %) {passes.rejects} ({share:.1f} %) not acceptable",
        f"– by the score {n} ({n / 2.12:.1f} %) {k} ({100 * k / n:.1f} %) not acceptable",
        "– as exact match 12 (5.7 %) 0 (0.0 %) not acceptable",
        "Failed 0 (0.0 %) –",
        f"Left to review {left} ({left / 2.12:.1f} %) –",
        "All 212",
    ]
    plain, html = words(text_report(certified)), words(Page(page).text())
    for row in rows:
        assert row in plain
        assert row in html
    right = passes.above - passes.rejects
    assert certified.policy.evidence.curve.recall == right / 162
    assert f"Of 162 acceptable answers {right} ({100 * right / 162:.1f} %) pass (recall)." in plain


def test_the_fails_have_their_counts_and_their_badge():
    found = calibrated(many(), precision=0.9, fail_precision=0.7)
    fails, plain = found.policy.evidence.fail, words(text_report(found))
    assert fails.certified is True
    share = 100 * fails.accepts / fails.below
    assert f"Failed {fails.below} ({fails.below / 2:.1f} %) {fails.accepts} ({share:.1f} %) acceptable" in plain
    assert plain.startswith("Calibration of desk: PASSES CERTIFIED, FAILS CERTIFIED")
    assert "none of them fails" not in plain


def test_fails_set_by_hand_are_not_covered(certified):
    found = calibrated(many(), precision=0.9, hand_set=HandSet(fail_below=0.1, set_by="kim", because="they are rude"))
    plain = words(text_report(found))
    assert plain.startswith("Calibration of desk: PASSES CERTIFIED, FAILS NOT CERTIFIED")
    assert "- Fails: the threshold (fail below 0.1) is not certified." in plain
    assert "What is not certified, and why" in plain
    assert "Fail below: 0.1, set by kim: they are rude" in re.sub(r"(Fail below)\s+", r"\1: ", text_report(found))


def test_limits_follow_from_the_facts():
    plain = words(text_report(calibrated(many(), kind="constructed")))
    assert "Your own agent: the pool desk (200 questions) is constructed" in plain
    assert "nobody has said how the labelled answers were drawn" in plain
    assert "provided that these 200 labelled answers are a random sample of it, which nobody has said" in words(
        Page(calibration_report(calibrated(many()))).text("figcaption")
    )
    declared = words(text_report(calibrated(many(), drawn="random")))
    assert "Other answers: all this is about the pool desk (200 questions)." in declared
    assert "nobody has said" not in declared
    drawn = calibrated(many(), drawn="random")
    labels = drawn.policy.evidence.labels.model_copy(update={"drawn": "region", "region": 0.2})
    evidence = drawn.policy.evidence.model_copy(update={"labels": labels})
    of_region = replace(drawn, policy=drawn.policy.model_copy(update={"evidence": evidence}))
    assert "Scores outside the region" in words(text_report(of_region))
    left_out = PairSet(many(), "desk", filters=("improper=true",))
    assert "Questions where improper=true: they were left out." in words(
        text_report(calibrate(left_out, scorer=Given()))
    )


def test_answers_that_nobody_can_judge_count_against():
    pairs = [answer("a", 0.9, None), answer("b", 0.8, None), answer("c", 0.7, True), answer("d", 0.6, False)]
    plain = words(text_report(calibrated(pairs)))
    assert "2 answers that a person could not judge: on either side counted as wrong." in plain
    assert "1 acceptable, 1 not acceptable, 2 cannot say" in plain
    assert "label: cannot say" in plain


def test_the_provenance_names_what_was_used(certified):
    evidence, plain = certified.policy.evidence, words(text_report(certified))
    for told in (
        evidence.pool.fingerprint,
        evidence.labels.fingerprint,
        "desk: 212 answers to 212 questions",
        "212 certifying, 0 for exploring; one for each question",
        "162 acceptable, 50 not acceptable, 0 cannot say",
        "random, as declared",
        "given, version 1",
        "exact match, rung 4, normaliser version",
        "precision 0.9, confidence 0.9",
        "look 1 of 1 planned, 1 configuration, 1 side; risk 0.1 in all, 0.1 for each certificate",
        "calibkit 0.1.0",
        "2026-01-02 03:04:05 UTC",
    ):
        assert told in plain
    low = evidence.pass_.intervals[0][0]
    assert f"above {low:.10g}" in plain


def test_the_provenance_names_model_remarks_and_what_was_left_out():
    pairs = PairSet(
        many(30, 10), "desk", remarks=[Remark("/home/kim/a.csv:7", "candidate is null", outcome="left out")] * 3
    )
    found = calibrate(pairs, scorer="cosine", embedder=HashEmbedder(), development=0)
    plain = words(text_report(found))
    assert "Model HashEmbedder, revision not given" in plain
    assert "Model fingerprint hash-embedder:256" in plain
    assert "Left out 3 rows where candidate is null" in plain
    assert "/home/kim" not in plain


# --- where nothing is certified ---------------------------------------------------------------------


def test_too_few_labels_say_how_many_are_missing():
    found = calibrated(many(25, 0), precision=0.95)
    passes, plain = found.policy.evidence.pass_, words(text_report(found))
    assert passes.labels_needed == 86
    assert plain.startswith("Calibration of desk: NOT CERTIFIED Nothing is certified for desk")
    assert f"Why nothing is certified ======================== Passes: {passes.reason}." in plain
    assert (
        "86 certifying labels of answers with a score, drawn at random, may do. There are 25: 61 are missing." in plain
    )
    assert "The pool has only 25 questions" in plain
    read = Page(calibration_report(found))
    assert words(read.text("strong")) == "not certified"
    assert "✗" in read.text("i")


def test_what_to_do_depends_on_the_looks_that_are_left(tmp_path):
    pairs = [*many(25, 0), *(replace(answer(f"u{at}", 0.5, None), labelled=False) for at in range(100))]
    used = words(text_report(calibrated(pairs)))
    assert "a new plan (--new-plan) and 86 fresh questions are due" in used
    assert "Looks left in the plan: 2." in words(text_report(calibrated(pairs, looks=3)))
    some = words(text_report(calibrate(PairSet(pairs, "desk"), scorer=Given(), development=0.4)))
    assert re.search(r"for \d\d % of the questions are kept for exploring", some)


def test_a_hopeless_score_is_not_sent_for_more_labels():
    found = calibrated([answer(f"p{at}", at, at % 2 == 0) for at in range(200)])
    plain = words(text_report(found))
    assert found.policy.evidence.pass_.labels_needed is None
    assert "More labels alone will hardly help; a better scorer, or a lower target, may." in plain
    assert "certifying labels, drawn at random" not in plain


def test_a_threshold_outside_an_empty_certified_set():
    found = calibrated(many(20, 20), hand_set=HandSet(pass_at=0.7, set_by="kim"))
    plain = words(text_report(found))
    assert "0.7 was set by hand and lies outside the certified set (which is empty)" in plain
    assert "More labels" not in plain
    outside = calibrated(many(), precision=0.9, hand_set=HandSet(pass_at=0.01))
    (low, high), *_ = outside.policy.evidence.pass_.intervals
    assert f"Certified would be: above {low:.10g} up to {high:.10g}." in words(text_report(outside))
    caption = Page(calibration_report(found)).text("figcaption")
    assert "No zone is marked, for no threshold is certified." in caption
    assert "Hatched: the certified thresholds." in Page(calibration_report(calibrated(many()))).text("figcaption")


def test_a_refused_look_shows_the_development_part_only(refused):
    evidence = refused.policy.evidence
    assert evidence.accounting is None
    page, plain = calibration_report(refused), text_report(refused)
    assert "No look at the certifying labels was taken: the ledger plans 1 configuration" in words(plain)
    assert "Key figures, on the development part (labels kept for exploring)" in plain
    assert f"All {evidence.labels.development} " in words(plain) + " "
    assert "no look was granted" in plain
    shown = set(re.findall(r"<li><bdi>([pe]\d+)</bdi>", page))
    assert shown
    assert shown <= {refused.pairs[at].id for at in refused.ranked}
    assert len(refused.ranked) == evidence.labels.development
    assert "acceptable, " not in words(plain).partition("Where this comes from")[2]


def test_a_granted_look_shows_no_label_of_the_development_part():
    found = calibrate(PairSet(many(), "desk"), scorer=Given(), precision=0.9)
    shown = set(re.findall(r"<li><bdi>(p\d+)</bdi>", calibration_report(found)))
    assert shown
    assert shown <= {found.pairs[at].id for at in found.ranked}
    assert len(found.ranked) == found.policy.evidence.labels.certifying < 200


@pytest.mark.parametrize(
    "pairs",
    [
        [answer("a", np.nan, True)],
        [answer("a", 0.5, True)],
        [answer(f"p{at}", 0.5, at % 2 == 0) for at in range(6)],
        [answer(f"p{at}", at, False) for at in range(6)],
        [answer(f"e{at}", 1, True, exact=True) for at in range(60)],
        [answer("a", 0.5, True, exact=True), answer("b", 0.4, None, references=())],
    ],
    ids=["nothing scored", "one label", "all equal", "none acceptable", "exact only", "no reference"],
)
def test_odd_sets_have_a_report(pairs):
    found = calibrated(pairs)
    assert Page(calibration_report(found))
    plain = words(text_report(found))
    assert ("No labelled answer that may be shown has a score." in plain) == (found.curve is None)


def test_ranked_says_where_the_ranking_stands_in_the_set():
    found = calibrated([answer("a", 0.3, True), answer("b", np.nan, True), answer("c", 0.1, False, exact=True)])
    by_id = {found.pairs[at].id: place for at, place in zip(found.ranked, found.ranking.place.tolist(), strict=True)}
    assert by_id == {"a": 0.3, "c": np.inf}


# --- mistakes ---------------------------------------------------------------------------------------


def ids(calibration, side):
    return [calibration.pairs[calibration.ranked[at]].id for at in side.at]


def small():
    pairs = [answer("exact-wrong", 1, False, exact=True), answer("exact-right", 1, True, exact=True)]
    labels = {0.9: True, 0.8: False, 0.7: None, 0.6: True, 0.5: False, 0.4: True, 0.3: None, 0.2: True, 0.1: False}
    return [*pairs, *(answer(str(score), score, label) for score, label in labels.items())]


def test_false_passes_and_false_fails_at_the_exported_thresholds():
    found = calibrated(small(), hand_set=HandSet(pass_at=0.65, fail_below=0.35))
    high, low = worst_mistakes(found)
    assert ids(found, high) == ["exact-wrong", "0.8", "0.7"]
    assert ids(found, low) == ["0.2", "0.3"]
    assert (high.title, low.title) == ("False passes: 3", "False fails: 2")
    assert [len(side.at) for side in worst_mistakes(found, most=1)] == [1, 1]
    assert worst_mistakes(found, most=2)[0].title == "False passes: the worst 2 of 3"


def test_where_nothing_fails_the_list_says_so():
    found = calibrated(small(), hand_set=HandSet(pass_at=0.65))
    low = worst_mistakes(found)[1]
    assert ids(found, low) == ["0.2", "0.4", "0.6", "0.9", "exact-right"]
    assert low.title == "Acceptable, but ranked low: 5"
    assert low.lead == "There is no fail threshold: no answer fails by its score."


def test_without_thresholds_the_lists_hold_the_nearest_answers():
    found = calibrated(small()[1:])
    high, low = worst_mistakes(found)
    assert ids(found, high) == ["0.8", "0.7", "0.5", "0.3", "0.1"]
    assert ids(found, low)[:2] == ["0.2", "0.4"]
    assert high.title == "Not acceptable, but ranked high: 5"
    assert "no answer passes by its score" in high.lead
    clean = calibrated(small()[1:], hand_set=HandSet(pass_at=0.85, fail_below=0.15))
    high, low = worst_mistakes(clean)
    assert "No false pass" in high.lead
    assert "No false fail" in low.lead
    assert ids(clean, high)[0] == "0.8"


def test_an_example_shows_texts_score_fate_tags_and_the_difference():
    pairs = [
        answer(
            "refund",
            0.91,
            False,
            references=("Whoever asks", "The refund takes 14 days.", "a", "b", "c", "d", "e", "f"),
            candidate="The refund takes 41 days, always.",
            tags=("wrong_number", "policy"),
        )
    ]
    found = calibrated(pairs, hand_set=HandSet(pass_at=0.9))
    page, plain = calibration_report(found), text_report(found)
    assert '<dd dir="auto">The refund takes <del>14</del> days.</dd>' in page
    assert '<dd dir="auto">The refund takes <ins>41</ins> days, <ins>always.</ins></dd>' in page
    assert " 1. refund; score 0.91, passes; label: not acceptable; tags: wrong_number, policy" in plain
    assert "Struck through: words that only the reference has." in page
    assert "[-So-]: words that only the reference has." in plain
    assert "Reference: The refund takes [-14-] days." in plain
    assert "Answer: The refund takes {+41+} days, {+always.+}" in plain
    assert "Also accepted: Whoever asks | a | b | c | d and 2 more" in words(plain)


@given(st.text(), st.text())
def test_a_comparison_keeps_both_texts_whole(reference, candidate):
    left, right = compare(reference, candidate)
    assert "".join(text for text, _ in left) == reference
    assert "".join(text for text, _ in right) == candidate
    assert [odd for _, odd in compare(candidate, candidate)[1]] in ([], [False])


@pytest.mark.parametrize(
    ("reference", "candidate", "odd"),
    [
        ("It is 5 °C.", "It is -5 °C.", ["-5"]),
        ("costs 0.5 crowns", "costs .5 crowns", [".5"]),
        ("Order FW-48213 is packed", "order fw-48213, is packed!", []),
        ("on 12 March 2026", "on 13 April 2026", ["13 April"]),
        ("河流很长", "河流很短", ["短"]),
        ("", "whatever", ["whatever"]),
    ],
)
def test_words_that_differ_are_marked(reference, candidate, odd):
    assert [text for text, differs in compare(reference, candidate)[1] if differs] == odd


# --- the page ---------------------------------------------------------------------------------------

NASTY = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;"


def test_no_text_of_a_user_runs():
    fields = {
        "references": (NASTY, f"{NASTY} two"),
        "candidate": f"{NASTY} candidate",
        "tags": (NASTY,),
        "group": NASTY,
    }
    pairs = [
        replace(answer("a", 0.9, False, **fields), id=NASTY, question=NASTY),
        answer("b", 0.1, True),
    ]
    nasty = PairSet(pairs, NASTY, filters=(NASTY,), remarks=[Remark("a:1", NASTY, outcome="left out")])
    found = calibrate(
        nasty, scorer=Given(), development=0, name=NASTY, hand_set=HandSet(pass_at=0.5, set_by=NASTY, because=NASTY)
    )
    page = calibration_report(found)
    read = Page(page)
    assert "<script" not in page
    assert "script" not in read.tags
    assert "img" not in read.tags
    assert not [name for _, name, _ in read.attributes if name.startswith("on")]
    assert read.text().count("alert(1)") >= 12
    assert read.text("title").startswith(NASTY[:80])
    assert "&amp;amp;" in page


def test_the_page_loads_nothing(page):
    read = Page(page)
    assert not {"script", "link", "iframe", "object", "embed", "base", "img", "form"} & set(read.tags)
    assert all(value.startswith("#") for _, name, value in read.attributes if name in ("href", "src", "xlink:href"))
    assert "http://" not in page
    assert "https://" not in page
    assert "@import" not in page
    assert set(re.findall(r"url\((.)", page)) <= {"#"}
    assert ("meta", "content", "default-src 'none'; style-src 'unsafe-inline'") in read.attributes


def test_the_page_is_accessible(page):
    read = Page(page)
    assert page.startswith("<!DOCTYPE html>")
    assert ("html", "lang", "en") in read.attributes
    assert ("meta", "name", "viewport") in read.attributes
    names = [value for _, name, value in read.attributes if name == "id"]
    assert len(names) == len(set(names)) > 20
    targets = {value[1:] for _, name, value in read.attributes if name == "href"} | set(
        re.findall(r"url\(#([^)]+)\)", page)
    )
    assert targets <= set(names)
    levels = [int(tag[1]) for tag in read.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    drawings = [
        name for tag, name, value in read.attributes if tag == "svg" and name in ("role", "aria-label") and value
    ]
    assert sorted(drawings) == ["aria-label", "aria-label", "role", "role"]
    assert read.tags.count("figcaption") == 2
    assert {value for tag, name, value in read.attributes if tag == "th" and name == "scope"} == {"row", "col"}
    assert read.tags.count("th") == sum(tag == "th" and name == "scope" for tag, name, _ in read.attributes)


def luminance(colour):
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def test_the_colours_have_contrast_by_day_and_by_night(page):
    palettes = re.findall(r":root \{([^}]*)\}", page)
    for palette in palettes[:2]:
        found = dict(re.findall(r"--(\w+): (#\w{3,6})", palette))
        found = {name: c if len(c) == 7 else "#" + "".join(2 * digit for digit in c[1:]) for name, c in found.items()}
        for ink, paper in (
            ("ink", "paper"),
            ("soft", "paper"),
            ("yes", "paper"),
            ("no", "paper"),
            ("ink", "ins"),
            ("ink", "del"),
        ):
            bright, dark = sorted((luminance(found[ink]), luminance(found[paper])), reverse=True)
            assert (bright + 0.05) / (dark + 0.05) >= 4.5, (ink, paper)


def test_long_texts_are_cut_with_a_note():
    long = "word " * 2_000_000
    pairs = [answer("a", 0.9, False, candidate=long, references=(long, "short", "other")), answer("b", 0.1, True)]
    found = calibrated(pairs)
    page = calibration_report(found)
    assert len(page) < 300_000
    assert "… (the first 600 of 10,000,000 characters)" in page
    assert len(text_report(found)) < 20_000


def test_right_to_left_texts_stand_in_their_own_direction():
    pairs = [answer("a", 0.9, False, candidate="التسليم \u202eيوم الاثنين\x00", references=("التسليم غدا",))]
    page = calibration_report(calibrated(pairs))
    assert '<dd dir="auto">التسليم <ins>' in page
    assert "\u202e" not in page
    assert "\x00" not in page
    assert "\N{REPLACEMENT CHARACTER}" in page


def test_the_same_calibration_gives_the_same_page(certified, page):
    assert calibration_report(certified) == page


def test_plain_text_keeps_to_its_width(certified):
    lines = text_report(certified).splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)


# --- files ------------------------------------------------------------------------------------------


def test_figures_are_written_as_png_and_svg(certified, tmp_path):
    paths = save_figures(certified, tmp_path / "new" / "folder")
    assert [path.name for path in paths] == ["curve.png", "curve.svg", "histogram.png", "histogram.svg"]
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == sorted(path.name for path in paths)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths if path.suffix == ".png")
    assert all("<svg" in path.read_text() for path in paths if path.suffix == ".svg")


def test_figures_that_cannot_be_written_are_told(certified, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        save_figures(certified, tmp_path / "file")


def test_bytes_are_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "image"
    with atomic_writer(path, binary=True) as file:
        file.write(b"\r\n\x00\xff")
    with pytest.raises(TypeError), atomic_writer(path, binary=True) as file:
        file.write("text")
    assert path.read_bytes() == b"\r\n\x00\xff"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_pairs_has_its_report(write_pairs, clear_cut):
    found = calibrate(load_pairs(write_pairs(clear_cut)), precision=0.9, development=0, now=NOW)
    read = Page(calibration_report(found))
    assert words(read.text("h1")) == found.policy.evidence.sentence
    assert "Passed 80 (80.0 %) 0 (0.0 %) not acceptable" in words(read.text())
