import json
import random
import threading
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from conftest import SUPPORT_DESK
from hypothesis import given, settings
from hypothesis import strategies as st

from calibkit import calibrate, load_pairs
from calibkit.label_log import DecisionLog, LabelLog, append_queue, read_rule, read_set_labels
from calibkit.labelling import (
    LONGEST,
    RUBRIC,
    LabelSession,
    Progress,
    open_adjudication,
    open_pairs,
    open_queue,
    show,
    start_set,
)
from calibkit.pairs import AnswerPair, InputError, PairSet
from calibkit.review import Pool, certifying, certifying_prefix

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def pairs(n):
    return [AnswerPair(f"p{at}", (f"{at} crowns",), f"{at + 1} crowns", f"price {at}?") for at in range(n)]


def label(uid, pair_id="p0", acceptable=True, **more):
    return {"kind": "label", "uid": uid, "pair_id": pair_id, "acceptable": acceptable, **more}


def event(seq, what, first=0, client="c"):
    return {"type": "event", "client": client, "seq": seq, "first": first, "event": what}


def kinds(replies):
    return [(reply["type"], reply["seq"]) for reply in replies]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def log(tmp_path):
    with LabelLog(tmp_path, "zoe") as opened:
        yield opened


@pytest.fixture
def session(log):
    return LabelSession(pairs(5), [f"p{at}" for at in range(5)], log, rule="Be fair.", rubric=RUBRIC)


@pytest.fixture
def made_set(tmp_path):
    """A set of six pairs without labels, with a rule."""
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "README.md").write_text(
        "# Prices\n\n## Labelling rule\nOnly the price\ncounts.\n\n## Licence\nCC0\n"
    )
    folder = start_set(PairSet(pairs(6), source=str(tmp_path / "from")), tmp_path / "set")
    return folder


# --- what comes back --------------------------------------------------------------------------------


def test_a_label_is_acknowledged_when_it_is_on_the_disk(session, log):
    said = label(
        "u1", acceptable=None, at=1772600767123.9, seconds=2.5, comment="hm", flag=True, rubric={"accuracy": 4}
    )
    replies = session.receive(event(0, said))
    assert kinds(replies) == [("saved", 0)]
    assert lines(log.path) == [
        {
            "pair_id": "p0",
            "acceptable": None,
            "seconds": 2.5,
            "comment": "hm",
            "flag": True,
            "rubric": {"accuracy": 4},
            "at": "2026-03-04T05:06:07.123000Z",
            "uid": "u1",
            "seq": 1,
        }
    ]
    assert session.current == "p1"


def test_what_comes_too_early_waits_for_its_turn(session, log):
    assert session.receive(event(1, label("u1", "p1"))) == []
    assert session.receive(event(3, label("u3", "p3"))) == []
    assert kinds(session.receive(event(0, label("u0", "p0")))) == [("saved", 0), ("saved", 1)]
    assert kinds(session.receive(event(2, {"kind": "undo", "uid": "u2", "of": "u1"}))) == [("saved", 2), ("saved", 3)]
    assert [one["uid"] for one in lines(log.path)] == ["u0", "u1", "u2", "u3"]
    assert session.current == "p1"


def test_what_was_saved_is_acknowledged_again_and_not_written(session, log):
    first = session.receive(event(0, label("u0")))
    assert kinds(session.receive(event(0, label("u0")))) == kinds(first) == [("saved", 0)]
    assert len(log.events) == 1


def test_a_new_session_goes_on_at_the_number_that_a_screen_has_reached(session, log):
    session.receive(event(0, label("u0")))
    again = LabelSession(pairs(5), session.ids, log)
    assert again.receive(event(2, label("u2", "p2"), first=1)) == []
    assert kinds(again.receive(event(1, label("u1", "p1"), first=1))) == [("saved", 1), ("saved", 2)]
    assert again.current == "p3"


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_labels_stand_in_the_order_in_which_they_were_given_whatever_the_way_does(data, tmp_path_factory):
    said = [
        {"kind": "undo", "uid": f"u{at}", "of": f"u{at - 1}"}
        if at % 4 == 3
        else label(f"u{at}", f"p{at % 5}", data.draw(st.sampled_from([True, False, None])))
        for at in range(data.draw(st.integers(1, 12)))
    ]
    with LabelLog(tmp_path_factory.mktemp("set"), "zoe") as log:
        session = LabelSession(pairs(5), ["p0", "p1"], log)
        pending = dict(enumerate(said))
        for _ in range(50):
            if not pending:
                break
            on_the_way = data.draw(st.lists(st.sampled_from(list(pending)), max_size=8))
            for seq in on_the_way or list(pending):
                known = session.receive(event(seq, said[seq], first=min(pending, default=seq)))
                for reply in known if data.draw(st.booleans()) else ():
                    pending.pop(reply["seq"], None)
            if data.draw(st.integers(0, 5)) == 0:
                session = LabelSession(pairs(5), ["p0", "p1"], log)  # the kernel was restarted
        for seq in list(pending):
            session.receive(event(seq, said[seq], first=min(pending)))
        assert [one.uid for one in sorted(log.events, key=lambda one: one.seq)] == [one["uid"] for one in said]


def test_messages_may_come_on_several_threads(log):
    ids = [f"p{at}" for at in range(60)]
    session = LabelSession(pairs(60), ids, log)
    messages = [event(at, label(f"u{at}", name)) for at, name in enumerate(ids)] * 2
    random.Random(3).shuffle(messages)
    replies = []
    threads = [
        threading.Thread(
            target=lambda part: replies.extend(r for m in part for r in session.receive(m)), args=[messages[at::4]]
        )
        for at in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one["pair_id"] for one in lines(log.path)] == ids
    assert {reply["seq"] for reply in replies} == set(range(60))


@pytest.mark.parametrize(
    "message",
    [
        None, "label", [], {}, {"type": "event"}, {"type": "show", "ids": "p0"}, event(-1, label("u")), event(0.5, label("u")),
        event(True, label("u")), event(0, "label"), event(0, label("u"), client=7), event(0, label("u"), first=None),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_message_is_not_answered(session, log, message):
    assert session.receive(message) == []
    assert log.events == ()


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        (label("u", "gone"), "the set holds no pair 'gone' any more, so its label was not saved; restore the pair"),
        (label("u", ["p0"]), "the set holds no pair ['p0'] any more, so its label was not saved; restore the pair"),
        (label("u", acceptable="yes"), "this is no label: acceptable: Input should be a valid boolean; mend it"),
        (label("u", seconds=-1), "this is no label: seconds: Input should be greater than or equal to 0; mend it"),
        (label("u", comment=7), "a comment is a text, not 7; reload the page"),
        (label("u", rubric={"speed": 3}), f"the rubric's dimensions are {', '.join(RUBRIC)}; reload the page"),
        (label("u", rubric={"accuracy": 6}), "this is no label: rubric.accuracy: Input should be less than or equal to 5; mend it"),
        (label(""), "an event needs a uid, not ''; reload the page"),
        (label(7), "an event needs a uid, not 7; reload the page"),
        ({"kind": "label", "uid": "u", "pair_id": "p0"}, "this is neither a label nor an undo; reload the page"),
        ({"kind": "undo", "uid": "u"}, "this is neither a label nor an undo; reload the page"),
        ({"kind": "undo", "uid": "u", "of": ""}, "there is no label '' to take back; label again instead"),
        ({"kind": "undo", "uid": "u", "of": "nothing"}, "there is no label 'nothing' to take back; label again instead"),
    ],
    ids=str,
)  # fmt: skip
def test_what_can_never_be_saved_is_refused_and_holds_up_nothing(session, log, what, reason):
    session.receive(event(0, label("before", "p4")))
    [reply] = session.receive(event(1, what))
    assert (reply["type"], reply["seq"], reply["uid"]) == ("refused", 1, what["uid"])
    assert reply["reason"].endswith(reason)
    assert "\n" not in reply["reason"]
    assert kinds(session.receive(event(2, label("u2")))) == [("saved", 2)]
    assert len(log.events) == 2


def test_a_uid_that_stands_for_another_label_is_refused(session):
    session.receive(event(0, label("u0")))
    [reply] = session.receive(event(1, label("u0", "p1")))
    assert reply["type"] == "refused"
    assert "stands for another event already" in reply["reason"]


def test_a_fault_that_may_pass_keeps_what_comes_after_it_waiting(session, log, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("calibkit.event_log.EventFile._put", full)
        assert session.receive(event(1, label("u1", "p1"))) == []
        [reply] = session.receive(event(0, label("u0")))
        assert (reply["type"], reply["seq"]) == ("trouble", 0)
        assert "No space left on device" in reply["reason"]
    assert log.events == ()
    assert kinds(session.receive(event(0, label("u0")))) == [("saved", 0), ("saved", 1)]


@pytest.mark.parametrize("at", [None, "now", float("nan"), 1e300, -1e18])
def test_a_time_that_is_none_becomes_now(session, log, at):
    session.receive(event(0, label("u0", at=at)))
    assert abs((datetime.now(UTC) - log.events[0].at).total_seconds()) < 60


# --- where it stands --------------------------------------------------------------------------------


def test_progress_counts_pairs_and_takes_the_pace_from_the_last_labels(session):
    assert session.progress == Progress(planned=5, done=0, pace=None)
    assert session.progress.left is None
    for at, seconds in enumerate([3.0, 600.0, 5.0]):  # once, somebody had lunch
        session.receive(event(at, label(f"u{at}", f"p{at}", seconds=seconds)))
    session.receive(event(2, label("u2", "p2", seconds=5.0)))  # sent again
    assert session.progress == Progress(planned=5, done=3, pace=5.0)
    assert session.progress.left == 10.0
    assert LabelSession(pairs(5), session.ids, session.log).progress == session.progress


def test_a_pair_that_is_taken_back_is_the_next_one(session):
    session.receive(event(0, label("u0", "p0", flag=True)))
    session.receive(event(1, label("u1", "p1")))
    assert session.flagged == ("p0",)
    session.receive(event(2, {"kind": "undo", "uid": "u2", "of": "u0"}))
    assert (session.current, session.flagged, session.progress.done) == ("p0", (), 1)


def test_labels_from_elsewhere_count_only_for_the_pairs_that_are_asked_for(log):
    log.label("p3", True)
    log.label("p1", True)
    session = LabelSession(pairs(5), ["p0", "p1", "p2"], log)
    assert (session.current, session.progress.done) == ("p0", 1)
    assert [one["pair_id"] for one in session.start()["said"]] == ["p1"]


def test_what_was_flagged_can_be_asked_for_again(session, log):
    session.receive(event(0, label("u0", "p0", flag=True)))
    session.receive(event(1, label("u1", "p1")))
    again = LabelSession(pairs(5), session.flagged, log, again=True)
    assert (again.current, again.progress.done, again.start()["said"]) == ("p0", 0, [])
    again.receive(event(0, label("v0", "p0", acceptable=False), client="d"))
    assert (again.current, again.flagged) == (None, ())
    assert log.labels["p0"].acceptable is False


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"ids": []}, "there is no pair to label; name some, or draw a queue"),
        ({"ids": ["p0", "gone"]}, "the set holds no pair 'gone'; name pairs of the set"),
        (
            {"rubric": ["accuracy", " "]},
            "the rubric's dimension ' ' is blank or stands twice; give each a name of its own",
        ),
        ({"rubric": ["a", "a"]}, "the rubric's dimension 'a' is blank or stands twice; give each a name of its own"),
    ],
)
def test_a_session_that_cannot_be_is_refused_in_a_line(log, arguments, reason):
    with pytest.raises(InputError) as error:
        LabelSession(pairs(2), **{"ids": ["p0"], "log": log, **arguments})
    assert str(error.value) == reason


# --- what is seen -----------------------------------------------------------------------------------


def test_the_screen_learns_nothing_but_texts_and_its_own_labels(tmp_path):
    secret = AnswerPair(
        "p0", ("4 crowns",), "5 crowns", "price?", labelled=True, acceptable=False, tags=("wrong_number",),
        fields={"amount": "secret-field"}, checks={"max_length": 777}, meta={"score": 0.8765}, extra={"x": "secret-extra"},
    )  # fmt: skip
    with LabelLog(tmp_path, "bob") as other, LabelLog(tmp_path, "zoe") as own:
        other.label("p0", False, comment="secret-comment")
        own.label("p0", True, comment="mine")
        start = LabelSession([secret, *pairs(3)[1:]], ["p0", "p1"], own).start()
    assert set(start) == {"key", "annotator", "ids", "said", "items", "rule", "rubric", "flags", "pace"}
    assert [set(item) for item in start["items"]] == [{"id", "question", "references", "candidate"}] * 2
    [said] = start["said"]
    assert (said["pair_id"], said["acceptable"], said["comment"]) == ("p0", True, "mine")
    text = json.dumps(start)
    for hidden in ("secret", "wrong_number", "777", "8765", "bob"):
        assert hidden not in text


def test_words_that_only_one_text_has_are_marked_in_the_nearest_reference_which_comes_first():
    seen = show(AnswerPair("a", ("Ask support.", "Within 90 minutes."), "Within 30 minutes."))
    assert seen["references"] == [[("Within ", False), ("90", True), (" minutes.", False)], [("Ask support.", False)]]
    assert seen["candidate"] == [("Within ", False), ("30", True), (" minutes.", False)]
    assert show(AnswerPair("a", (), "I cannot know."))["references"] == []


def test_what_cannot_be_seen_or_turns_the_direction_is_replaced():
    seen = show(AnswerPair("a", ("x\u202ey\u2066",), "a\x00b\r\nc\td", question="\u200fשלום\u200e"))
    assert seen["references"] == [[("x\ufffdy\ufffd", True)]]
    assert seen["candidate"][0][0] == "a\ufffdb\nc\td"
    assert seen["question"] == "\u200fשלום\u200e"


def test_long_texts_are_shown_to_a_length_and_cost_no_time(log):
    long = "no 1,234 " * 1_200_000
    items = [AnswerPair(f"p{at}", (long, "short"), long, question=long) for at in range(3)]
    session = LabelSession(items, ["p0", "p1", "p2"], log)
    items = session.start()["items"]
    assert [item["id"] for item in items] == ["p0"]  # the others are asked for when they are near
    [[text, marked]] = items[0]["candidate"]
    assert (text.startswith(long[:1000]), marked) == (True, False)
    assert text.endswith(f" … (the first {LONGEST:,} of {len(long):,} characters)")
    [reply] = session.receive({"type": "show", "ids": ["p2", "p1", "gone", None]})
    assert [item["id"] for item in reply["items"]] == ["p2"]


def test_of_very_many_references_the_first_are_shown():
    seen = show(AnswerPair("a", tuple(f"{at} " + "x" * 1000 for at in range(300)), "7"))
    assert len(seen["references"]) < 110
    assert seen["references"][-1][0][0].endswith("further references)")


def test_the_first_pairs_come_at_once_and_the_last_labelled_ones_too(log):
    everything = pairs(300)
    for at in range(20):
        log.label(f"p{at}", True)
    start = LabelSession(everything, [pair.id for pair in everything], log).start()
    assert [item["id"] for item in start["items"]] == [f"p{at}" for at in (*range(20, 120), 19, 18, 17)]


# --- sessions on a set ------------------------------------------------------------------------------


def test_a_set_begins_with_what_has_no_label_yet(tmp_path):
    shipped = load_pairs(SUPPORT_DESK)
    folder = start_set(shipped, tmp_path / "mine")
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "pairs.jsonl"]
    begun = load_pairs(folder)
    assert list(begun) == [pair for pair in shipped if not pair.labelled]
    assert [pair.meta for pair in begun] == [pair.meta for pair in shipped if not pair.labelled]
    (folder / "pairs.jsonl").write_text("mine")
    assert start_set(shipped, folder) == folder
    assert (folder / "pairs.jsonl").read_text() == "mine"
    with pytest.raises(InputError, match="pairs: every pair has a label already; collect further answers"):
        start_set(PairSet([replace(pair, labelled=True) for pair in pairs(2)]), tmp_path / "none")


def test_a_queue_is_drawn_recorded_and_gone_on_with(made_set):
    session = open_queue(made_set, "zoe", n=4)
    assert session.rule == "Only the price counts."
    [queue] = read_set_labels(made_set).queues
    assert (queue.kind, queue.planned, queue.ids) == ("random", 4, session.ids)
    session.log.label(session.ids[0], True)
    again = open_queue(made_set, "zoe", n=3)
    assert (again.ids, again.current) == (session.ids, session.ids[1])
    other = open_queue(made_set, "bob")  # the same pairs, from their beginning
    assert (other.ids, other.current) == (session.ids, session.ids[0])
    for name in session.ids:
        session.log.label(name, True)
    following = open_queue(made_set, "zoe")
    assert set(following.ids).isdisjoint(session.ids)
    assert len(following.ids) == 2
    for name in following.ids:
        session.log.label(name, False)
    with pytest.raises(InputError, match=r"nothing is left to draw \(random\)"):
        open_queue(made_set, "zoe")
    known = read_set_labels(made_set)
    assert [certifying_prefix(queue, known.resolve()) for queue in known.queues] == [session.ids, following.ids]


def test_the_salt_is_the_one_that_a_ledger_has_or_would_begin_with(made_set):
    open_queue(made_set, "zoe", n=2).log.close()
    known = read_set_labels(made_set)
    copy = made_set.parent / "copy.jsonl"
    copy.write_text(
        "".join(json.dumps(record | {"acceptable": True}) + "\n" for record in lines(made_set / "pairs.jsonl"))
    )
    calibrate(load_pairs(copy), scorer="token_f1")
    ledger = lines(copy.parent / "copy.jsonl.ledger.jsonl")
    assert ledger[0]["salt"] == known.queues[0].salt
    own = PairSet(pairs(6), name="set")
    assert certifying(own, known.queues, known.queues[0].ids, salt=ledger[0]["salt"]).ids == known.queues[0].ids
    (made_set / "ledger.jsonl").write_text(json.dumps(ledger[0] | {"salt": "another"}) + "\n")
    open_queue(made_set, "bob", n=3)
    assert [queue.salt for queue in read_set_labels(made_set).queues] == [known.queues[0].salt, "another"]


def test_queues_of_another_kind_are_opened_by_their_pairs(made_set):
    pool = Pool(PairSet(pairs(6)), "salt")
    queue = append_queue(made_set, pool.trigger(2, {"p1": "error", "p4": "complaint"}, at=NOW))
    session = open_pairs(made_set, "zoe", queue.ids, rubric=RUBRIC)
    assert (session.ids, session.rubric) == (("p4", "p1"), RUBRIC)


@pytest.mark.parametrize("folder", ["", "gone"])
def test_what_is_no_set_is_refused_in_a_line(tmp_path, folder):
    with pytest.raises(InputError, match=r"this is no set, for it holds no pairs.jsonl; make one: start_set") as error:
        open_queue(tmp_path / folder, "zoe")
    assert "\n" not in str(error.value)


def test_disagreements_are_decided_without_seeing_who_said_what(made_set):
    with LabelLog(made_set, "ann") as ann, LabelLog(made_set, "bob") as bob:
        for name, first, second in (("p0", True, True), ("p1", True, False), ("p2", None, True), ("p3", False, True)):
            ann.label(name, first, comment="because")
            bob.label(name, second)
    session = open_adjudication(made_set, by="zoe")
    assert session.ids == ("p1", "p2", "p3")
    start = session.start()
    assert (start["said"], start["flags"]) == ([], False)
    assert "because" not in json.dumps(start)
    replies = session.receive(
        event(0, label("u0", "p1", acceptable=False, seconds=2.0, flag=False, comment="the price"))
    )
    replies += session.receive(event(1, label("u1", "p2")))
    replies += session.receive(event(2, {"kind": "undo", "uid": "u2", "of": "u1"}))
    assert kinds(replies) == [("saved", 0), ("saved", 1), ("saved", 2)]
    assert session.current == "p2"
    known = read_set_labels(made_set)
    assert known.decided == {"p1": False}
    assert (known.adjudications["p1"].by, known.adjudications["p1"].comment) == ("zoe", "the price")
    assert open_adjudication(made_set, by="zoe").ids == ("p2", "p3")
    [reply] = session.receive(event(3, {"kind": "undo", "uid": "u3", "of": "never"}))
    assert (reply["type"], "there is no decision 'never' to take back" in reply["reason"]) == ("refused", True)
    for name in ("p2", "p3"):
        DecisionLog(made_set, "zoe").label(name, None)
    with pytest.raises(
        InputError, match="there is no disagreement to decide; let a second person label the same queue"
    ):
        open_adjudication(made_set, by="zoe")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("# Set\n\n## Labelling rule\nOne\nline.\n\nTwo.\n\n### Cases\n- a\n- b\n\n## Licence\nx", "One line.\n\nTwo.\n\n### Cases\n- a\n- b"),
        ("# The labeling rule we use\n\nAll of it.\n", "All of it."),
        ("## Labelling rule\n\n## Licence\n", None),
        ("# Set\nNo labelling rule here.\n", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_rule_is_the_section_of_the_readme_that_is_headed_so(tmp_path, text, rule):
    assert read_rule(tmp_path) is None
    (tmp_path / "README.md").write_text(text)
    assert read_rule(tmp_path) == rule


# --- the widget -------------------------------------------------------------------------------------


def test_the_pad_hands_messages_to_the_session_and_begins_anew_where_it_stands(session, monkeypatch):
    widgets = pytest.importorskip("calibkit.widgets")
    pad = widgets.LabelPad(session)
    sent = []
    monkeypatch.setattr(pad, "send", sent.append)
    assert pad.get_state()["_start"]["said"] == []
    pad._handle_custom_msg(event(1, label("u1", "p1")), [])
    pad._handle_custom_msg(event(0, label("u0")), [])
    assert kinds(sent) == [("saved", 0), ("saved", 1)]
    assert [one["uid"] for one in pad.get_state()["_start"]["said"]] == ["u0", "u1"]
    json.dumps(pad.get_state("_start"))
