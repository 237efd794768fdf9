import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import unicodedata
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibkit.event_log import EventFile, Undone, live
from calibkit.label_log import (
    Labelled,
    LabelLog,
    append_event,
    append_queue,
    check_annotator,
    read_set_labels,
    replay,
)
from calibkit.pairs import AnswerPair, InputError, PairSet
from calibkit.review import Adjudicated, Pool, ReferenceAdded

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def one_line(error):
    return "\n" not in str(error.value)


def labelled(uid, pair_id="a", acceptable=True, seq=1, at=NOW, **more):
    return Labelled(uid=uid, pair_id=pair_id, acceptable=acceptable, seq=seq, at=at, **more)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def said(folder):
    return {name: dict(given) for name, given in read_set_labels(folder).votes.items()}


@pytest.fixture
def log(tmp_path):
    with LabelLog(tmp_path, "zoe") as opened:
        yield opened


# --- labels -----------------------------------------------------------------------------------------


def test_a_label_stands_in_the_file_as_the_design_says(log):
    log.label("a", True, uid="u1", at=NOW, seconds=2.5, comment="ok\n", flag=True, rubric={"accuracy": 4})
    log.label("b", None, uid="u2", at=NOW)
    log.label("c", False, uid="u3", at=NOW)
    log.undo("u3", uid="u4", at=NOW)
    at = "2026-03-04T05:06:07Z"
    assert lines(log.path) == [
        {
            "uid": "u1",
            "seq": 1,
            "at": at,
            "pair_id": "a",
            "acceptable": True,
            "seconds": 2.5,
            "comment": "ok\n",
            "flag": True,
            "rubric": {"accuracy": 4},
        },
        {"uid": "u2", "seq": 2, "at": at, "pair_id": "b", "acceptable": None, "flag": False},
        {"uid": "u3", "seq": 3, "at": at, "pair_id": "c", "acceptable": False, "flag": False},
        {"uid": "u4", "seq": 4, "at": at, "event": "undo", "of": "u3"},
    ]
    assert list(lines(log.path)[0])[:2] == ["pair_id", "acceptable"]  # what a person looks for comes first
    assert said(log.path.parents[1]) == {"zoe": {"a": True, "b": None}}


def test_the_last_label_of_a_pair_counts_and_undoing_it_brings_the_former_back(log):
    log.label("a", True, uid="u1")
    log.label("a", False, uid="u2")
    assert log.labels["a"].acceptable is False
    assert log.undo().of == "u2"
    assert log.labels["a"].acceptable is True
    assert log.undo().of == "u1"
    assert log.labels == {}
    with pytest.raises(InputError, match="there is no label '' to take back; label again instead") as error:
        log.undo()
    assert one_line(error)
    assert len(lines(log.path)) == 4


def test_the_clock_may_run_backwards(log):
    log.label("a", True, at=NOW)
    log.label("a", False, at=NOW - timedelta(hours=1))
    assert log.labels["a"].acceptable is False


def test_what_is_sent_again_is_acknowledged_and_not_written(log):
    first = log.label("a", True, uid="u1", at=NOW, seconds=2.0)
    undone = log.undo(uid="u2", at=NOW)
    size = log.path.stat().st_size
    assert log.label("a", True, uid="u1", at=NOW + timedelta(seconds=9), seconds=11.0) == first
    assert log.undo(uid="u2") == log.undo("u1", uid="u2") == log.undo("u1", uid="u9") == undone
    assert log.path.stat().st_size == size
    # Nor does an undo sent again take back one more.
    log.label("b", True, uid="u3")
    assert log.undo(uid="u2") == undone
    assert set(log.labels) == {"b"}


@pytest.mark.parametrize("other", [{"acceptable": False}, {"pair_id": "b"}, {"comment": "x"}], ids=str)
def test_a_uid_never_stands_for_two_labels(log, other):
    log.label("a", True, uid="u1")
    with pytest.raises(InputError, match="the uid 'u1' stands for another event already; give each its own") as error:
        log.label(**{"pair_id": "a", "acceptable": True, "uid": "u1", **other})
    assert one_line(error)
    assert len(lines(log.path)) == 1


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"acceptable": "yes"}, "acceptable: Input should be a valid boolean"),
        ({"acceptable": 1}, "acceptable: Input should be a valid boolean"),
        ({"pair_id": ""}, "pair_id: String should have at least 1 character"),
        (
            {"pair_id": "\ud83d"},
            "pair_id: Input should be a valid string, unable to parse raw data as a unicode string",
        ),
        ({"seconds": -1}, "seconds: Input should be greater than or equal to 0"),
        ({"seconds": float("nan")}, "seconds: Input should be a finite number"),
        ({"rubric": {"accuracy": 6}}, "rubric.accuracy: Input should be less than or equal to 5"),
        ({"at": datetime(2026, 1, 1)}, "at: Input should have timezone info"),
        ({"uid": "u" * 201}, "uid: String should have at most 200 characters"),
    ],
)
def test_a_label_that_is_none_is_refused_in_a_line(log, values, said):
    with pytest.raises(InputError, match="this is no label: " + re.escape(said)) as error:
        log.label(**{"pair_id": "a", "acceptable": True, **values})
    assert one_line(error)
    assert log.events == ()


def test_half_a_character_in_a_comment_loses_no_label(log):
    log.label("a", True, comment="broken \ud83d here, whole \U0001f600, \u2028 line")
    assert read_set_labels(log.path.parents[1]).labels["zoe"]["a"].comment == (
        "broken \ufffd here, whole \U0001f600, \u2028 line"
    )


# --- laws -------------------------------------------------------------------------------------------

EVENTS = st.lists(
    st.one_of(
        st.builds(
            Labelled,
            uid=st.sampled_from([f"u{n}" for n in range(8)]),
            seq=st.integers(0, 5),
            at=st.just(NOW),
            pair_id=st.sampled_from("abc"),
            acceptable=st.sampled_from([True, False, None]),
        ),
        st.builds(
            Undone,
            uid=st.sampled_from([f"v{n}" for n in range(4)]),
            seq=st.integers(0, 5),
            at=st.just(NOW),
            of=st.sampled_from([f"u{n}" for n in range(8)]),
        ),
    ),
    max_size=12,
)


@given(EVENTS, st.data())
def test_any_order_and_any_doubling_of_events_gives_the_same_labels(events, data):
    doubled = events + data.draw(st.lists(st.sampled_from(events), max_size=6) if events else st.just([]))
    assert replay(data.draw(st.permutations(doubled))) == replay(events)


@given(EVENTS)
def test_what_counts_was_not_taken_back_and_is_the_last_of_its_pair(events):
    events = list({event.uid: event for event in events}.values())
    gone = {event.of for event in events if isinstance(event, Undone)}
    kept = live(events)
    assert {event.uid for event in kept} == {e.uid for e in events if isinstance(e, Labelled)} - gone
    for pair_id, event in replay(events).items():
        assert event.order == max(other.order for other in kept if other.pair_id == pair_id)


STORIES = st.lists(
    st.tuples(
        st.sampled_from("abé"), st.sampled_from([True, False, None]), st.sampled_from(["", "x", "\u2028é", '"}'])
    ),
    min_size=1,
    max_size=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(STORIES, st.data())
def test_a_tear_at_any_byte_loses_the_torn_line_alone(tmp_path, stories, data):
    folder = tmp_path / "torn"
    shutil.rmtree(folder, ignore_errors=True)
    with LabelLog(folder, "zoe") as log:
        for number, (pair_id, acceptable, comment) in enumerate(stories):
            log.label(pair_id, acceptable, uid=f"u{number}", comment=comment)
    whole = log.path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    log.path.write_bytes(whole[:cut])
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    complete = sum(end - 1 <= cut for end in ends)  # the line break alone is no loss
    expected = replay(log_events(whole)[:complete])

    found = read_set_labels(folder)
    assert dict(found.labels["zoe"]) == expected
    torn = cut not in (0, *ends) and cut + 1 not in ends
    assert (len(found.remarks), found.intact) == (int(torn), True)
    assert log.path.read_bytes() == whole[:cut]  # reading mends nothing

    with LabelLog(folder, "zoe") as log:
        assert dict(log.labels) == expected
        log.label("new", True, uid="new")
        aside = sorted(log.path.parent.glob("*.torn-*"))
        kept = b"".join(part.read_bytes() for part in aside)
        assert len(aside) == len(log.remarks) == int(torn)
        assert log.path.read_bytes().startswith(whole[:cut].removesuffix(kept))
        if torn:
            assert log.remarks[-1].place == f"{log.path}:{complete + 1}"
            assert log.remarks[-1].reason.endswith("it was not acknowledged and now stands in zoe.jsonl.torn-1")
    assert dict(read_set_labels(folder).labels["zoe"]) == {**expected, "new": log_events(log.path.read_bytes())[-1]}
    log._file.remarks.clear()


def log_events(raw):
    return [Labelled.model_validate_json(line) for line in raw.splitlines() if line]


# --- a file that others touch ------------------------------------------------------------------------


def merged(tmp_path, *arguments):
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    command = ["git", "merge-file", "-p", *arguments, "ours", "base", "theirs"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True).stdout


@pytest.mark.parametrize("style", [["--union"], [], ["--diff3"]], ids=["union", "marks", "diff3"])
def test_two_copies_of_a_log_merge(tmp_path, style):
    folder = tmp_path / "set"
    with LabelLog(folder, "zoe") as log:
        log.label("a", True, uid="u1")
        base = log.path.read_bytes()
        log.label("b", False, uid="u2")
        log.undo("u1", uid="u3")
        ours = log.path.read_bytes()
        log.path.write_bytes(base)
        log.label("c", None, uid="v2")
        theirs = log.path.read_bytes()
        for name, content in (("ours", ours), ("base", base), ("theirs", theirs)):
            (tmp_path / name).write_bytes(content)
        log.path.write_bytes(merged(tmp_path, *style))
        found = read_set_labels(folder)
        assert found.votes == {"zoe": {"b": False, "c": None}}
        assert found.intact
        marks = {"--union": 0, "--diff3": 4}.get("".join(style), 3)
        assert [remark.reason for remark in found.remarks] == [
            "the marks of a merge stand between the lines; take them out"
        ] * marks
        # And labelling goes on.
        log.label("d", True)
        assert set(log.labels) == {"b", "c", "d"}


def test_people_write_their_own_files(tmp_path):
    with LabelLog(tmp_path, "zoe") as zoe, LabelLog(tmp_path, "bob") as bob:
        zoe.label("a", True)
        bob.label("a", False)
        bob.label("b", None)
    assert said(tmp_path) == {"bob": {"a": False, "b": None}, "zoe": {"a": True}}
    assert {name: (one.label, one.how) for name, one in read_set_labels(tmp_path).resolve().items()} == {
        "a": (None, "split"),
        "b": (None, "unanimous"),
    }


def test_a_file_put_in_place_of_an_open_one_is_where_labels_go(log, tmp_path):
    log.label("a", True, uid="u1")
    other = tmp_path / "pulled"
    other.write_text(log.path.read_text() + log.path.read_text().replace("u1", "u7").replace('"a"', '"z"'))
    other.replace(log.path)  # as a pull or a checkout does
    log.label("b", True, uid="u2")
    assert said(tmp_path) == {"zoe": {"a": True, "z": True, "b": True}}
    assert lines(log.path)[-1]["uid"] == "u2"
    log.path.unlink()
    log.label("c", True)
    assert said(tmp_path) == {"zoe": {"c": True}}


def test_a_line_break_that_an_editor_took_away_comes_back(log, tmp_path):
    log.label("a", True, uid="u1")
    log.path.write_bytes(b"\xef\xbb\xbf" + log.path.read_bytes().strip().replace(b"\n", b"\r\n"))
    log.label("b", True, uid="u2")
    assert said(tmp_path) == {"zoe": {"a": True, "b": True}}
    assert read_set_labels(tmp_path).remarks == ()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "Invalid JSON: EOF while parsing an object at line 1 column 1"),
        (b"\xff", "Invalid JSON: expected value at line 1 column 1"),
        (b"null", "Input should be an object"),
        (b"[" * 5000, "Invalid JSON: recursion limit exceeded at line 1 column"),
        (b'{"uid": "x", "at": "2026-01-01T00:00:00Z", "pair_id": "a"}', "acceptable: Field required"),
        (
            b'{"uid": "x", "at": "2026-01-01T00:00:00Z", "pair_id": "a", "acceptable": "yes"}',
            "acceptable: Input should be a valid boolean",
        ),
        (
            b'{"uid": "x", "at": "2026-01-01T00:00:00Z", "pair_id": "a", "acceptable": true, "x": 1}',
            "x: Extra inputs are not permitted",
        ),
        (
            b'{"uid": "x", "at": "yesterday", "pair_id": "a", "acceptable": true}',
            "at: Input should be a valid datetime",
        ),
        (b'{"event": "relabel", "uid": "x"}', "this is neither a label nor an undo"),
        (
            b'{"event": {}, "uid": "x", "at": "2026-01-01T00:00:00Z", "pair_id": "a", "acceptable": true}',
            "event: Input should be 'label'",
        ),
        (b'{"event": "undo", "uid": "x", "at": "2026-01-01T00:00:00Z"}', "of: Field required"),
    ],
    ids=lambda value: value[:50],
)
def test_a_bad_line_is_named_and_the_others_count(log, tmp_path, line, reason):
    log.label("a", True)
    log.path.write_bytes(line + b"\n" + log.path.read_bytes())
    found = read_set_labels(tmp_path)
    assert found.votes == {"zoe": {"a": True}}
    assert not found.intact
    (remark,) = found.remarks
    assert (remark.place, remark.outcome) == (f"{log.path}:1", "left out")
    assert remark.reason.startswith(reason)
    assert remark.reason.endswith("; restore the line from your version control")
    assert "\n" not in remark.reason


def test_one_uid_for_two_events_is_told(log, tmp_path):
    log.label("a", True, uid="u1")
    log.path.write_text(
        log.path.read_text() + log.path.read_text().replace("true", "false").replace('"seq": 1', '"seq": 2')
    )
    found = read_set_labels(tmp_path)
    assert found.votes == {"zoe": {"a": True}}
    assert not found.intact
    assert [(remark.place, remark.reason) for remark in found.remarks] == [
        (f"{log.path}:2", "the uid 'u1' names another event, too; the earlier one counts, remove the other")
    ]


def test_a_copy_of_a_log_is_no_second_voice(log, tmp_path):
    log.label("a", True)
    shutil.copy(log.path, log.path.with_name("zoe (1).jsonl"))
    shutil.copy(log.path, log.path.with_name("zoe2.jsonl"))
    shutil.copy(log.path, log.path.with_name("._zoe.jsonl"))
    found = read_set_labels(tmp_path)
    assert found.votes == {"zoe": {"a": True}, "zoe2": {}}
    assert not found.intact
    assert [(remark.place.rsplit("/")[-1], remark.reason) for remark in found.remarks] == [
        (
            "zoe (1).jsonl",
            "no annotator has this name; if it is a copy, bring its lines into the log that it was made from",
        ),
        ("zoe2.jsonl", "1 of its events stand in the log of 'zoe', too; remove the copies"),
    ]


# --- saving that fails -------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_label_that_cannot_be_saved_leaves_no_trace_and_can_be_sent_again(log, tmp_path, monkeypatch, call):
    log.label("a", True, uid="u1")
    before = log.path.read_bytes()
    real = os.write

    def full(handle, data=b""):
        if call == "write":
            real(handle, data[:5])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        with pytest.raises(InputError, match=r"could not be saved \(No space left on device\); make room") as error:
            log.label("b", True, uid="u2")
    assert one_line(error)
    assert log.path.read_bytes() == before
    assert set(log.labels) == {"a"}
    log.label("b", True, uid="u2")
    assert said(tmp_path) == {"zoe": {"a": True, "b": True}}


def test_a_place_that_is_no_folder_is_told(tmp_path):
    (tmp_path / "labels").write_text("")
    with pytest.raises(InputError, match=r"zoe.jsonl: cannot be opened \(.*\); mend that and try again") as error:
        LabelLog(tmp_path, "zoe")
    assert one_line(error)


def test_a_log_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "labels" / "zoe.jsonl").mkdir(parents=True)
    with pytest.raises(InputError, match=r"zoe.jsonl: cannot be read \(.*\); mend that and try again"):
        read_set_labels(tmp_path)


def test_a_set_without_logs_has_no_labels(tmp_path):
    found = read_set_labels(tmp_path)
    assert (found.labels, found.queues, found.added, found.remarks, found.intact) == ({}, (), (), (), True)
    assert list(tmp_path.iterdir()) == []


# --- several at once ---------------------------------------------------------------------------------


def test_a_second_process_for_the_same_annotator_is_told(log, tmp_path, run_python):
    log.label("a", True)
    code = f"""
from calibkit.label_log import LabelLog
for name in ("zoe", "bob"):
    try:
        with LabelLog({str(tmp_path)!r}, name) as log:
            log.label("a", False)
            print(name, len(log.events))
    except ValueError as error:
        print(error)
"""
    assert run_python(code).splitlines() == [
        f"{log.path}: somebody labels as 'zoe' in another process; close that one, or take another name",
        "bob 1",
    ]
    log.close()
    assert run_python(code).splitlines() == ["zoe 2", "bob 2"]
    log.label("b", True)  # takes the lock again, and has read what came in between
    assert [line["seq"] for line in lines(log.path)] == [1, 2, 3]


def test_two_pads_of_one_process_share_the_log(log, tmp_path):
    again = LabelLog(tmp_path, "zoe")

    def work(which, name):
        for number in range(40):
            which.label(f"{name}{number}", True)

    threads = [threading.Thread(target=work, args=pair) for pair in ((log, "a"), (again, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line["seq"] for line in lines(log.path)] == list(range(1, 81))
    assert log.events == again.events


# Imports once, then forks a labelling process for each order that comes in; says its number, what it saved, its death.
SERVER = """
import os, sys
from calibkit.label_log import LabelLog
for order in sys.stdin:
    folder, first = order.split()
    child = os.fork()
    if not child:
        os.write(1, b"child %d\\n" % os.getpid())
        log = LabelLog(folder, "zoe")
        for number in range(int(first), 10**6):
            comment = "x" * (number % 50 if number % 8 else 200_000)
            log.label(f"p{number}", (True, False, None)[number % 3], uid=f"u{number}", comment=comment)
            os.write(1, b"saved %d\\n" % number)
    os.waitpid(child, 0)
    os.write(1, b"dead 0\\n")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and killed by signal")
def test_a_hundred_kills_lose_no_acknowledged_label_and_double_none(tmp_path):
    chance = random.Random(6)
    saved = 0
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as server:
        for kill in range(100):
            # What was not acknowledged is sent again, as a browser would.
            server.stdin.write(f"{tmp_path} {saved}\n")
            awaited = "saved" if kill % 2 else "child"
            child = None
            for word, number in map(str.split, server.stdout):
                if word == "child":
                    child = int(number)
                if word == "saved":
                    saved = int(number) + 1
                if word == awaited:
                    time.sleep(chance.uniform(0, 0.02))
                    os.kill(child, signal.SIGKILL)
                    awaited = "nothing more"
                if word == "dead":
                    break
            found = read_set_labels(tmp_path)
            assert found.intact
            known = list(found.votes.get("zoe", {}))
            assert known == [f"p{number}" for number in range(len(known))]
            assert saved <= len(known) <= saved + 1
        server.stdin.close()
    assert saved >= 50
    with LabelLog(tmp_path, "zoe") as log:
        events = log.events
    assert [event.uid for event in events] == [f"u{number}" for number in range(len(events))]
    assert [event.acceptable for event in events] == [(True, False, None)[n % 3] for n in range(len(events))]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert len(lines(log.path)) == len(events)  # none twice, not even as a line
    for part in log.path.parent.glob("*.torn-*"):
        assert b"\n" not in part.read_bytes()


# --- names -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["zoe", "Zoë", "山田", "anna.k-2", "a@b.example", "1", "x" * 64, "Zoe\u0308"])
def test_names_that_can_name_a_file(name):
    assert check_annotator(name) == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        "/etc/x",
        ".hidden",
        "-rf",
        "a b",
        "con",
        "NUL",
        "com1.x",
        "a.",
        "a\0b",
        "a\nb",
        "a:b",
        "x" * 65,
        "é" * 33,
        "a*",
        "C:x",
        "\u202ea",
        "\ud83d",
        "~",
    ],
)
def test_names_that_cannot_name_a_file_are_refused_with_one_that_can(tmp_path, name):
    with pytest.raises(InputError, match="cannot name a file; use letters") as error:
        LabelLog(tmp_path, name)
    assert one_line(error)
    assert list(tmp_path.iterdir()) == []
    cure = str(error.value).rsplit("as in ")[-1].strip("'")
    assert check_annotator(cure) == cure


@given(st.text(max_size=20))
def test_every_name_is_a_plain_file_name_or_refused(name):
    try:
        good = check_annotator(name)
    except InputError:
        return
    assert Path(good).name == good == good.strip()
    assert check_annotator(good) == good


def test_names_that_differ_in_capitals_only_are_refused(log, tmp_path):
    with pytest.raises(InputError, match="the annotator 'Zoe' differs from this log's in capitals only") as error:
        LabelLog(tmp_path, "Zoe")
    assert one_line(error)
    assert "label as 'zoe'" in str(error.value)


# --- queues and the set's events ----------------------------------------------------------------------

PAIRS = PairSet([AnswerPair(f"a{n}", ("4",), "four", question=f"q{n}") for n in range(6)])


def decided(uid, pair_id, acceptable, at=NOW):
    return Adjudicated(uid=uid, at=at, pair_id=pair_id, acceptable=acceptable, by="zoe")


def test_queues_and_events_come_back_as_they_went(tmp_path):
    first = append_queue(tmp_path, Pool(PAIRS, "s").random(2, at=NOW))
    second = append_queue(tmp_path, Pool(PAIRS, "s", (first,)).random(9, at=NOW))
    assert append_queue(tmp_path, second) == second
    append_event(tmp_path, decided("e1", "a1", True))
    append_event(tmp_path, decided("e2", "a1", None))
    append_event(tmp_path, decided("e3", "a2", True))
    append_event(tmp_path, Undone(uid="e4", at=NOW, of="e3"))
    for uid in ("r1", "r2"):
        append_event(
            tmp_path, ReferenceAdded(uid=uid, at=NOW, pair_id="a3", text=f"text {uid}", by="bob", expires="2027-01-01")
        )
    append_event(tmp_path, Undone(uid="r3", at=NOW, of="r1"))
    found = read_set_labels(tmp_path)
    assert found.queues == (first, second)
    assert (len(first.ids), len(second.ids)) == (2, 4)
    assert found.decided == {"a1": None}
    assert [(event.text, str(event.expires)) for event in found.added] == [("text r2", "2027-01-01")]
    assert [event.text for event in found.ever_added] == ["text r1", "text r2"]
    assert found.remarks == ()
    assert [line["event"] for line in lines(tmp_path / "events.jsonl")][:4] == ["adjudicated"] * 3 + ["undo"]
    assert lines(tmp_path / "draws.jsonl")[0]["kind"] == "random"


@pytest.mark.parametrize(
    ("file", "line", "reason"),
    [
        ("draws.jsonl", '{"event": "draw", "uid": "x", "kind": "lottery"}', "at: Field required"),
        (
            "events.jsonl",
            '{"event": "adjudicated", "uid": "x", "at": "2026-01-01T00:00:00Z"}',
            "pair_id: Field required",
        ),
        ("events.jsonl", '{"event": "undone", "uid": "x"}', "Input tag 'undone'"),
        ("events.jsonl", '{"uid": "x"}', "Unable to extract tag"),
    ],
)
def test_bad_lines_of_queues_and_events_are_told(tmp_path, file, line, reason):
    (tmp_path / file).write_text(line + "\n")
    found = read_set_labels(tmp_path)
    assert not found.intact
    (remark,) = found.remarks
    assert remark.place == f"{tmp_path / file}:1"
    assert remark.reason.startswith(reason)


def test_a_file_system_without_locks_is_told(tmp_path, monkeypatch):
    def refuse(handle):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("calibkit.event_log._try_lock", refuse)
    with pytest.raises(InputError, match=r"cannot be opened \(No locks available\); mend that and try again"):
        LabelLog(tmp_path, "zoe")


def test_a_busy_file_is_waited_for_and_then_told(tmp_path, log):
    log.label("a", True)
    second = EventFile(log.path, log._file._adapter, "taken", wait=0.05)
    with pytest.raises(InputError, match="zoe.jsonl: taken"):
        second.events()
    threading.Timer(0.1, log.close).start()
    patient = EventFile(log.path, log._file._adapter, "taken", wait=5)
    assert len(patient.events()) == 1
    patient.close()


def test_labels_of_pairs_that_are_not_there_are_listed(tmp_path):
    with LabelLog(tmp_path, "zoe") as log:
        log.label("a1", True)
        log.label("gone", True)
    append_event(tmp_path, decided("e1", "lost", True))
    assert read_set_labels(tmp_path).strays(PAIRS) == ("gone", "lost")
