import csv
import errno
import io
import json
import os
import re
import stat
import sys
from collections import Counter
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibkit.cascade import Fault
from calibkit.label_log import LabelLog
from calibkit.ledger import Configuration, Declared, Looked, Planned, SetMade
from calibkit.pairs import AnswerPair, InputError, PairSet
from calibkit.store import (
    Columns,
    append_events,
    atomic_writer,
    iter_answers,
    ledger_path,
    load_ledger,
    load_pairs,
    load_policy,
    write_records,
    write_text,
)

DATA = Path(__file__).parents[2] / "shared" / "data"

RECORDS = [
    {
        "id": "refund-1",
        "group": "refund",
        "question": "How long\ndo refunds take?",
        "references": ["14 days"],
        "candidate": 'He said "14 days", or so.',
        "acceptable": "yes",
        "tags": "negation, date",
        "author": "kb",
    },
    {
        "id": "refund-2",
        "group": "refund",
        "question": "",
        "references": ["2 tygodnie", "dwa tygodnie"],
        "candidate": "Kraków; 河流\u2028\U0001d11e",
        "acceptable": "no",
        "tags": "",
        "author": "",
    },
    {
        "id": "refund-3",
        "group": "",
        "question": "Who pays?",
        "references": ["we do"],
        "candidate": "Nobody can say",
        "acceptable": "cannot say",
        "tags": "",
        "author": "kb",
    },
    {
        "id": "refund-4",
        "group": "",
        "question": "Who pays?",
        "references": ["we do"],
        "candidate": " we do, ",
        "acceptable": "",
        "tags": "",
        "author": "kb",
    },
]
PAIRS = (
    AnswerPair(
        "refund-1",
        ("14 days",),
        'He said "14 days", or so.',
        "How long\ndo refunds take?",
        "refund",
        True,
        True,
        ("negation", "date"),
    ),
    AnswerPair("refund-2", ("2 tygodnie", "dwa tygodnie"), "Kraków; 河流\u2028\U0001d11e", "", "refund", True, False),
    AnswerPair("refund-3", ("we do",), "Nobody can say", "Who pays?", None, True, None),
    AnswerPair("refund-4", ("we do",), " we do, ", "Who pays?", None, False, None),
)
SPLIT = Columns(split_references=" | ")


def put(path, content):
    """Write text (as UTF-8) or bytes; gives the path."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def jsonl(records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def flat(records):
    return [{**record, "references": " | ".join(record["references"])} for record in records]


def as_csv(records, **dialect):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), **dialect)
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def refusal(call, *arguments):
    """The message of the InputError, which is one line."""
    with pytest.raises(InputError) as caught:
        list(call(*arguments))  # some are iterators
    message = str(caught.value)
    assert "\n" not in message
    return message


# --- each kind of file -------------------------------------------------------------------------------


def write_parquet(path, records):
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), path, row_group_size=2)
    return path


KINDS = {
    "jsonl": lambda folder: put(folder / "p.jsonl", jsonl(RECORDS)),
    "jsonl with a mark, blank lines and no last line break": lambda folder: put(
        folder / "p.jsonl", "\ufeff" + jsonl(RECORDS).replace("\n", "\r\n\n").rstrip()
    ),
    "ndjson": lambda folder: put(folder / "p.ndjson", jsonl(RECORDS)),
    "capitals": lambda folder: put(folder / "P.JSONL", jsonl(RECORDS)),
    "json array": lambda folder: put(folder / "p.json", "\ufeff" + json.dumps(RECORDS, indent=2)),
    "csv": lambda folder: put(folder / "p.csv", as_csv(flat(RECORDS))),
    "csv with a mark": lambda folder: put(folder / "p.csv", "\ufeff" + as_csv(flat(RECORDS), lineterminator="\n")),
    "csv, all quoted": lambda folder: put(folder / "p.csv", as_csv(flat(RECORDS), quoting=csv.QUOTE_ALL)),
    "parquet": lambda folder: write_parquet(folder / "p.parquet", RECORDS),
    "parquet, references in one cell": lambda folder: write_parquet(folder / "p.parquet", flat(RECORDS)),
    "set": lambda folder: put(folder / "pairs.jsonl", jsonl(RECORDS)).parent,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_gives_the_same_pairs(kind, tmp_path):
    path = KINDS[kind](tmp_path)
    pairs = load_pairs(path, SPLIT)
    assert pairs.pairs == PAIRS
    assert [dict(pair.extra) for pair in pairs] == [{"author": author} for author in ("kb", "", "kb", "kb")]
    assert (pairs.source, pairs.remarks, pairs.filters) == (str(path), (), ())
    assert pairs.name == (tmp_path.name if kind == "set" else path.stem)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_gives_the_same_answers_to_grade(kind, tmp_path):
    answers = list(iter_answers(KINDS[kind](tmp_path), SPLIT))
    assert [(answer.id, answer.references, answer.candidate) for answer in answers] == [
        (pair.id, pair.references, pair.candidate) for pair in PAIRS
    ]
    assert not any(answer.labelled for answer in answers)


cells = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12).filter(
    str.strip
)
FIELDS = ("question", "references", "candidate")


def rows_of(min_size=1):
    return st.lists(st.fixed_dictionaries(dict.fromkeys(FIELDS, cells)), min_size=min_size, max_size=4)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows_of(), newline=st.sampled_from(["\n", "\r\n"]))
def test_any_text_survives_jsonl_and_csv(tmp_path, rows, newline):
    expected = [(row["question"], (row["references"],), row["candidate"]) for row in rows]
    files = {"p.jsonl": jsonl(rows), "p.csv": as_csv(rows, lineterminator=newline, quoting=csv.QUOTE_ALL)}
    for name, text in files.items():
        pairs = load_pairs(put(tmp_path / name, text))
        assert [(pair.question, pair.references, pair.candidate) for pair in pairs] == expected


def test_in_tab_separated_values_a_quote_is_a_quote(tmp_path):
    path = put(tmp_path / "p.tsv", 'id\treferences\tcandidate\na\t"Oslo\t5" pipe, or 5\'\nb\t\\n | "\t""\n')
    pairs = load_pairs(path)
    assert [(pair.id, pair.references, pair.candidate) for pair in pairs] == [
        ("a", ('"Oslo',), "5\" pipe, or 5'"),
        ("b", ('\\n | "',), '""'),
    ]


def test_white_space_round_the_name_of_a_column_is_no_part_of_it(tmp_path):
    assert load_pairs(put(tmp_path / "p.csv", "references , candidate\n4, 4\n"))[0].candidate == " 4"


def test_line_breaks_within_cells_are_kept(tmp_path):
    path = put(tmp_path / "p.csv", 'references,candidate\r\n"one\r\ntwo","three\nfour"\r\n')
    assert load_pairs(path)[0].references == ("one\r\ntwo",)
    assert load_pairs(path)[0].candidate == "three\nfour"


def test_values_of_parquet_keep_their_types(tmp_path):
    records = [
        {"id": 7, "references": ["4"], "candidate": "4", "acceptable": True, "meta": {"model": "m"}},
        {"id": 8, "references": [], "candidate": "5", "acceptable": None, "meta": None},
    ]
    pairs = load_pairs(write_parquet(tmp_path / "p.parquet", records))
    assert [(pair.id, pair.references, pair.labelled, pair.acceptable, dict(pair.meta)) for pair in pairs] == [
        ("7", ("4",), True, True, {"model": "m"}),
        ("8", (), False, None, {}),  # a column has no other way to say that there is no label
    ]


def test_more_rows_of_parquet_than_are_read_at_once(tmp_path):
    records = [{"references": "4", "candidate": str(n)} for n in range(2_500)]
    pairs = load_pairs(write_parquet(tmp_path / "p.parquet", records))
    assert [pair.candidate for pair in pairs] == [str(n) for n in range(2_500)]


def test_a_row_of_parquet_is_named_by_its_number(tmp_path):
    records = [{"references": "4", "candidate": "4" if n else " "} for n in range(3)]
    path = write_parquet(tmp_path / "p.parquet", records)
    assert [remark.place for remark in load_pairs(path).remarks] == [f"{path}:1"]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv"])
def test_an_answer_of_ten_megabytes_is_loaded(suffix, tmp_path):
    long = "word and " * 1_200_000
    assert len(long) > 10_000_000
    row = {"id": "long", "references": "a word", "candidate": long}
    text = jsonl([row]) if suffix == "jsonl" else as_csv([row], delimiter="," if suffix == "csv" else "\t")
    pairs = load_pairs(put(tmp_path / f"p.{suffix}", text))
    same = pairs[0].candidate == long
    assert same


@pytest.mark.parametrize(
    ("name", "text"), [("p.jsonl", ""), ("p.csv", ""), ("p.csv", "references,candidate\n"), ("p.json", "[]")]
)
def test_a_file_without_rows_has_no_pairs(name, text, tmp_path):
    assert len(load_pairs(put(tmp_path / name, text))) == 0


# --- foreign columns ---------------------------------------------------------------------------------

FOREIGN = [
    {"id": "q1", "gold": "14 days|2 weeks", "answer": "two weeks", "verdict": "good", "split": "test"},
    {"id": "q1", "gold": "14 days|2 weeks", "answer": "a month", "verdict": "bad", "split": "test"},
    {"id": "q2", "gold": "yes", "answer": "maybe", "verdict": "unsure", "split": " TRAIN "},
]
MAPPED = {"references": "gold", "candidate": "answer", "acceptable": "verdict"}
LABELS = {"Good": "yes", "bad ": "no", "unsure": "cannot say"}


def test_columns_are_mapped_references_split_and_label_words_read(tmp_path):
    columns = Columns(map={**MAPPED, "group": "id"}, split_references="|", labels=LABELS)
    pairs = load_pairs(put(tmp_path / "p.csv", as_csv(FOREIGN)), columns)
    assert [(pair.group, pair.references, pair.candidate, pair.labelled, pair.acceptable) for pair in pairs] == [
        ("q1", ("14 days", "2 weeks"), "two weeks", True, True),
        ("q1", ("14 days", "2 weeks"), "a month", True, False),
        ("q2", ("yes",), "maybe", True, None),
    ]
    assert [dict(pair.extra) for pair in pairs] == [{"split": "test"}, {"split": "test"}, {"split": " TRAIN "}]


def test_mapping_the_column_id_to_group_frees_the_id(tmp_path):
    path = put(tmp_path / "p.csv", as_csv(FOREIGN))
    columns = Columns(map={**MAPPED, "group": "id"}, labels=LABELS)
    names = [pair.id for pair in load_pairs(path, columns)]
    assert len(set(names)) == 3
    assert all(re.fullmatch("[0-9a-f]{16}", name) for name in names)
    assert "the id 'q1'" in refusal(load_pairs, path, Columns(map=MAPPED, labels=LABELS))


def test_a_mapped_column_goes_before_one_of_the_keys_own_name(tmp_path):
    row = {"references": "4", "candidate": "old", "answer": "new", "id": "a", "key": "k"}
    pairs = load_pairs(put(tmp_path / "p.jsonl", jsonl([row])), Columns(map={"candidate": "answer", "id": "key"}))
    assert (pairs[0].candidate, pairs[0].id) == ("new", "k")


def test_a_mapped_column_that_is_missing_is_named_with_those_there_are(tmp_path):
    path = put(tmp_path / "p.csv", as_csv(FOREIGN))
    message = refusal(load_pairs, path, Columns(map={"references": "golden", "candidate": "answer"}))
    assert message.startswith(f"{path}:2: 3 bad rows: ")
    assert "golden is no column of this row (mapped to references); it has id, gold, answer, verdict, split" in message


def test_needed_columns_that_are_missing_ask_for_a_map(tmp_path):
    path = put(tmp_path / "p.csv", as_csv(FOREIGN))
    message = refusal(load_pairs, path)
    assert message.startswith(f"{path}:2: 3 bad rows: references is missing (lines 2, 3, 4); ")
    assert "--map references=COLUMN --map candidate=COLUMN" in message
    assert "id, gold, answer, verdict, split" in message


@pytest.mark.parametrize(
    ("cell", "references"),
    [("a | b", ("a", "b")), ("a", ("a",)), (" a |  | b | a | ", ("a", "b")), ("a|b", ("a|b",))],
)
def test_references_in_one_cell_are_split_and_trimmed(cell, references, tmp_path):
    path = put(tmp_path / "p.jsonl", jsonl([{"references": cell, "candidate": "x"}]))
    assert load_pairs(path, SPLIT)[0].references == references
    assert load_pairs(path)[0].references == (cell,)


@pytest.mark.parametrize("cell", [" | ", " |  | ", "  "])
def test_a_cell_of_separators_alone_is_blank_and_not_a_question_without_answer(cell, tmp_path):
    pairs = load_pairs(put(tmp_path / "p.jsonl", jsonl([{"references": cell, "candidate": "x"}])), SPLIT)
    assert len(pairs) == 0
    assert pairs.remark_lines() == [f"left out: 1 row where references is blank (first: {tmp_path / 'p.jsonl'}:1)"]


def test_references_that_are_a_list_are_not_split(tmp_path):
    path = put(tmp_path / "p.jsonl", jsonl([{"references": ["a | b"], "candidate": "x"}]))
    assert load_pairs(path, SPLIT)[0].references == ("a | b",)


def test_rows_are_left_out_on_request_and_counted(tmp_path):
    path = put(tmp_path / "p.csv", as_csv(FOREIGN))
    columns = Columns(
        map={**MAPPED, "group": "id"}, labels=LABELS, leave_out=[("split", "train"), ("answer", "A MONTH")]
    )
    pairs = load_pairs(path, columns)
    assert [pair.candidate for pair in pairs] == ["two weeks"]
    assert pairs.filters == ("answer=a month", "split=train")
    assert pairs.remark_lines() == [
        f"left out: 1 row where answer is A MONTH (first: {path}:3)",
        f"left out: 1 row where split is train (first: {path}:4)",
    ]
    assert [answer.candidate for answer in iter_answers(path, columns)] == ["two weeks"]


def test_rows_may_not_be_left_out_by_their_label(tmp_path):
    path = put(tmp_path / "p.csv", as_csv(FOREIGN))
    message = refusal(load_pairs, path, Columns(map=MAPPED, leave_out=[("verdict", "bad")]))
    assert message == "--leave-out verdict=bad: rows may not be left out by their label"


def test_semicolons_separate_where_the_header_has_no_comma(tmp_path):
    path = put(tmp_path / "p.csv", 'references;candidate;acceptable\n4,5;"four; a half";yes\n')
    [pair] = load_pairs(path)
    assert (pair.references, pair.candidate, pair.acceptable) == (("4,5",), "four; a half", True)


def test_cells_that_look_like_several_references_are_told(tmp_path):
    path = put(tmp_path / "p.csv", "references,candidate\n4 | four,4\n5,5\n")
    told = load_pairs(path).remark_lines()
    assert told == [
        f"worth a look: 1 row where references holds ' | ' (--split-references ' | ', if that parts them) (first: {path}:2)"
    ]
    assert load_pairs(path, Columns(split_references=" | ")).remark_lines() == []


@pytest.mark.parametrize(("value", "left"), [(True, 0), (False, 1), ("TRUE ", 0), (None, 1), (1, 1)])
def test_rows_are_left_out_by_values_that_are_no_text_too(value, left, tmp_path):
    path = put(tmp_path / "p.jsonl", jsonl([{"references": "4", "candidate": "4", "improper": value}]))
    assert len(load_pairs(path, Columns(leave_out=[("improper", "true")]))) == left


def test_a_row_without_the_column_to_leave_it_out_by_is_malformed(tmp_path):
    path = put(tmp_path / "p.jsonl", jsonl([{"references": "4", "candidate": "4"}]))
    message = refusal(load_pairs, path, Columns(leave_out=[("improper", "true")]))
    assert "improper is missing, by which rows are left out (improper=true)" in message


# --- unusable rows, which are left out and counted ---------------------------------------------------


def test_unusable_rows_and_labels_are_left_out_and_told_by_reason(tmp_path):
    good = {"references": ["4"], "candidate": "4", "acceptable": True}
    path = put(
        tmp_path / "p.jsonl",
        jsonl(
            [
                {**good, "id": "a"},
                {**good, "id": "b", "candidate": None},
                {**good, "id": "c", "candidate": " "},
                {**good, "id": "d", "acceptable": "nan"},
                {**good, "id": "e", "references": None},
                {**good, "id": "f", "candidate": "\n"},
                {**good, "id": "g", "references": ["4", ""]},
                {**good, "id": "h", "references": []},
                {**good, "id": "i", "acceptable": float("nan")},
            ]
        ),
    )
    pairs = load_pairs(path)
    assert [(pair.id, pair.labelled) for pair in pairs] == [("a", True), ("d", False), ("h", True), ("i", False)]
    assert pairs.remark_lines() == [
        f"left out: 1 row where candidate is null (first: {path}:2)",
        f"left out: 2 rows where candidate is blank (first: {path}:3)",
        f"label not used: 2 rows where acceptable is the text 'nan' (first: {path}:4)",
        f"left out: 1 row where references is null (first: {path}:5)",
        f"left out: 1 row where references holds a blank text (first: {path}:7)",
    ]
    assert [remark.place for remark in pairs.remarks][-1] == f"{path}:9"


# --- bad input: one line, where and the cure ---------------------------------------------------------

LINE = {"id": "a", "references": "4", "candidate": "4"}


def lines(count, **changed):
    """Good rows with ids of their own; keyword l7 replaces line 7."""
    texts = [json.dumps({**LINE, "id": f"a{number}"}) for number in range(1, count + 1)]
    for key, text in changed.items():
        texts[int(key[1:]) - 1] = text
    return "\n".join(texts) + "\n"


@pytest.mark.parametrize(
    ("name", "content", "where", "what", "cure"),
    [
        (
            "p.jsonl",
            lines(9, l7='{"id": "a7", "references": '),
            ":7",
            r"is no JSON \(Expecting value at column 28\)",
            "mend",
        ),
        ("p.jsonl", lines(3, l2='["4", "4"]'), ":2", "the row is a list, not an object", "mend"),
        ("p.jsonl", lines(2, l2="[" * 100_000), ":2", "the row cannot be read as JSON", "mend"),
        ("p.jsonl", lines(2, l2='{"id": ' + "1" * 5_000 + "}"), ":2", "the row cannot be read as JSON", "mend"),
        ("p.jsonl", lines(2, l2='{"candidate": "4"}'), ":2", r"references is missing \(line 2\)", "--map references="),
        ("p.jsonl", lines(2, l2='{"references": "4", "candidate": 4}'), ":2", "candidate is int, not text", "mend"),
        ("p.jsonl", lines(2, l2=r'{"references": "4", "candidate": "\ud800"}'), ":2", "half of a surrogate", "mend"),
        (
            "p.jsonl",
            lines(4).encode() + '{"références"'.encode("latin-1"),
            ":5",
            r"byte 4 .*\(0xe9\) is not UTF-8",
            "iconv",
        ),
        ("p.csv", "references,candidate\nCaf\u00e9,x\n".encode("latin-1"), ":2", r"byte 4 .*0xe9", "as UTF-8"),
        ("p.jsonl", lines(2).encode("utf-16"), ":1", "is UTF-16", "save it as UTF-8"),
        ("p.csv", "references,candidate\n4,4\n".encode("utf-16"), ":1", "is UTF-16", "save it as UTF-8"),
        ("p.tsv", b"\xfe\xff\x00a", ":1", "is UTF-16", "save it as UTF-8"),
        ("p.jsonl", lines(3, l3=lines(1).strip()), ":3", "the id 'a1' stands on line 1 already", "--map group="),
        ("p.csv", "references,candidate\n4,4\n4\n5,5\n", ":3", "has 1 cell, the header 2", "mend"),
        ("p.tsv", "references\tcandidate\n4\t4\n4\t4\t4\n", ":3", "has 3 cells, the header 2", "mend"),
        (
            "p.csv",
            'references,candidate\n4,4\n5,"5\n6,6\n7,7\n',
            ":3",
            "this row is no CSV",
            "write each quote in it twice",
        ),
        ("p.csv", 'references,"candidate\n4,4\n', ":1", "this row is no CSV", "write each quote in it twice"),
        ("p.csv", 'references,candidate\n4,"4" pipes\n', ":2", "this row is no CSV", "write each quote in it twice"),
        ("p.csv", "references,candidate,candidate\n4,4,4\n", ":1", "the column 'candidate' stands twice", "rename one"),
        ("p.json", '[\n{"references": "4"},\n{]', ":3", "this is no JSON", "or name the file .jsonl"),
        ("p.json", '{"references": "4", "candidate": "4"}', ":1", "an array of objects, this is a dict", "array"),
        ("p.json", "[" * 100_000, ":1", "cannot be read as JSON", "mend"),
        ("p.json", '[{"references": "4", "candidate": "4"}, 5]', ":2", "the row is no object", "mend"),
        ("p.xlsx", b"PK", "", "unknown kind of file", "name it .jsonl, .ndjson, .json, .csv, .tsv, .parquet"),
        ("pairs", "", "", "unknown kind of file", "by what it holds"),
        ("p.parquet", "references,candidate\n4,4\n", "", "this is no Parquet file", "name it by what it holds"),
        ("p.parquet", b"PAR1" + b"\x00" * 20 + b"PAR1", "", "this is no Parquet file", "name it by what it holds"),
        ("p.parquet", b"", "", "this is no Parquet file", "name it by what it holds"),
    ],
    ids=lambda value: str(value[:12]),
)
def test_bad_input_is_refused_in_one_line_with_place_and_cure(name, content, where, what, cure, tmp_path):
    path = put(tmp_path / name, content)
    message = refusal(load_pairs, path)
    assert message.startswith(f"{path}{where}: ")
    assert re.search(what, message)
    assert cure in message


def test_a_missing_file_is_refused(tmp_path):
    path = tmp_path / "nowhere.jsonl"
    for reader in (load_pairs, iter_answers, load_policy):
        assert refusal(reader, path) == f"{path}: there is no such file; mend the path"


def test_a_folder_without_pairs_is_no_set(tmp_path):
    told = f"{tmp_path}: this folder is no set, for it holds no pairs.jsonl; name a set or a file of pairs"
    assert refusal(load_pairs, tmp_path) == told
    assert refusal(iter_answers, tmp_path) == told


def test_label_logs_of_a_set_are_not_passed_over(tmp_path):
    put(tmp_path / "pairs.jsonl", jsonl(RECORDS))
    assert load_pairs(tmp_path, SPLIT).pairs == PAIRS
    with LabelLog(tmp_path, "ada") as log:
        log.label(PAIRS[0].id, None)
        log.label("nobody", True)
    loaded = load_pairs(tmp_path, SPLIT)
    assert loaded[0].cannot_say
    assert any("'nobody' is no pair of the set" in line for line in loaded.remark_lines())
    put(tmp_path / "labels" / "ada.jsonl", "{}\n")
    assert any("ada.jsonl" in remark.place for remark in load_pairs(tmp_path, SPLIT).remarks)


def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    path = put(tmp_path / "p.jsonl", lines(1))

    def denied(*_arguments, **_options):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", denied)
    assert refusal(load_pairs, path) == f"{path}: cannot be read (Permission denied); mend that and try again"


def test_all_malformed_rows_are_reported_and_not_the_first_alone(tmp_path):
    path = put(
        tmp_path / "p.jsonl",
        lines(
            9,
            l2="{",
            l3='{"references": "4", "candidate": 4}',
            l5='{"references": 4, "candidate": "4"}',
            l6='{"references": "4", "candidate": 5}',
            l8='{"references": "4", "candidate": "4", "tags": 1}',
            l9='{"references": "4", "candidate": " "}',  # unusable, not malformed
        ),
    )
    message = refusal(load_pairs, path)
    assert message.startswith(f"{path}:2: 5 bad rows: ")
    for fault in (
        r"the row is no JSON \(.*\) \(line 2\)",
        r"candidate is int, not text \(lines 3, 6\)",
        r"references is int, not text \(line 5\)",
        r"tags is no list of texts \(line 8\)",
    ):
        assert re.search(fault, message)
    assert "line 9" not in message


def test_many_rows_with_one_fault_are_counted(tmp_path):
    path = put(tmp_path / "p.jsonl", '{"references": "4", "candidate": 4}\n' * 25)
    shown = ", ".join(str(number) for number in range(1, 11))
    assert refusal(load_pairs, path) == (
        f"{path}:1: 25 bad rows: candidate is int, not text (lines {shown} and 15 more); mend them; a number goes in quotes"
    )


def test_all_unknown_label_values_are_reported_with_their_lines(tmp_path):
    words = ["good", "bad", "yes", "unsure", "good", "fine", "poor" * 20]
    path = put(tmp_path / "p.jsonl", jsonl([{**LINE, "id": str(n), "acceptable": w} for n, w in enumerate(words)]))
    message = refusal(load_pairs, path)
    assert message.startswith(f"{path}:1: ")
    for value in (
        "'good' (line 1, 2 in all)",
        "'bad' (line 2, 1 in all)",
        "'unsure' (line 4, 1 in all)",
        "'fine' (line 6, 1 in all)",
        "'poorpoorpoorpoorpoorpoorpoorpo' (line 7, 1 in all)",
    ):
        assert value in message
    assert "'yes' (line" not in message
    assert "--labels 'good=...,bad=...,unsure=...,fine=..." in message  # no meaning is put into the user's mouth


def test_of_many_unknown_label_values_ten_are_shown(tmp_path):
    records = [{**LINE, "id": str(n), "acceptable": f"word {n}"} for n in range(13)]
    message = refusal(load_pairs, put(tmp_path / "p.jsonl", jsonl(records)))
    assert "the label column holds 13 values not known: 'word 0' (line 1, 1 in all), " in message
    assert "'word 9' (line 10, 1 in all) and 3 more; known are yes/no" in message


def test_repeated_ids_are_counted(tmp_path):
    path = put(tmp_path / "p.csv", "id,references,candidate\n" + "x,4,4\ny,4,4\n" * 3)
    message = refusal(load_pairs, path)
    assert message.startswith(f"{path}:4: the id 'x' stands on line 2 already (2 such ids); ")


@pytest.mark.parametrize("name", [0, "0"])
def test_an_id_of_nought_is_an_id(name, tmp_path):
    path = put(tmp_path / "p.jsonl", jsonl([{**LINE, "id": name}, {**LINE, "id": name}]))
    assert "the id '0' stands on line 1 already" in refusal(load_pairs, path)


@pytest.mark.parametrize("name", [None, "", "  "])
def test_equal_answers_without_an_id_are_told_apart(name, tmp_path):
    path = put(tmp_path / "p.jsonl", jsonl([{**LINE, "id": name}] * 3 + [{**LINE, "id": name, "candidate": "5"}]))
    names = [pair.id for pair in load_pairs(path)]
    assert names[1:3] == [f"{names[0]}-2", f"{names[0]}-3"]
    assert len(set(names)) == 4


def test_a_row_of_several_lines_is_named_by_its_first(tmp_path):
    path = put(tmp_path / "p.csv", 'references,candidate\n"4\n5\n6",\n\n"7\n8",\n9,9\n')
    assert [remark.place for remark in load_pairs(path).remarks] == [f"{path}:2", f"{path}:6"]


def test_without_pyarrow_parquet_names_the_cure(tmp_path, monkeypatch):
    path = write_parquet(tmp_path / "p.parquet", flat(RECORDS))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refusal(load_pairs, path) == f"{path}: Parquet files need pyarrow: pip install 'calibkit[parquet]'"


# --- answers to grade --------------------------------------------------------------------------------


def test_a_bad_answer_becomes_a_fault_in_its_place_and_reading_goes_on(tmp_path):
    path = put(
        tmp_path / "p.jsonl",
        lines(
            8,
            l2="{",
            l3='{"id": "null", "references": ["4"], "candidate": null}',
            l4='{"id": 4, "references": "4"}',
            l5='{"id": " ", "references": "4", "candidate": 5}',
            l6=r'{"id": "\ud800", "references": "4", "candidate": "4"}',
            l7='{"id": "labelled", "references": "4", "candidate": "4", "acceptable": "whatever"}',
        ),
    )
    answers = list(iter_answers(path))
    assert [type(answer) for answer in answers] == [
        AnswerPair,
        Fault,
        Fault,
        Fault,
        Fault,
        Fault,
        AnswerPair,
        AnswerPair,
    ]
    assert [answer.id for answer in answers] == [
        "a1",
        "p.jsonl:2",
        "null",
        "4",
        "p.jsonl:5",
        "p.jsonl:6",
        "labelled",
        "a8",
    ]
    assert answers[1].reason.startswith(f"{path}:2: the row is no JSON")
    assert [answer.reason for answer in answers[2:6]] == [
        f"{path}:3: candidate is null",
        f"{path}:4: candidate is missing",
        f"{path}:5: candidate is int, not text",
        f"{path}:6: id holds half of a surrogate pair, which is no character",
    ]


def test_a_fault_of_a_foreign_file_is_named_by_the_column_of_the_id(tmp_path):
    path = put(tmp_path / "p.csv", "id,key,gold,answer\nq1,k1,4,\nq1,k2,4,4\n")
    mapped = {"references": "gold", "candidate": "answer"}
    named = list(iter_answers(path, Columns(map={**mapped, "id": "key"})))
    assert [answer.id for answer in named] == ["k1", "k2"]
    freed = list(iter_answers(path, Columns(map={**mapped, "group": "id"})))
    assert freed[0] == Fault("p.csv:2", f"{path}:2: candidate is blank")


def test_answers_are_read_one_by_one(tmp_path):
    answers = iter_answers(put(tmp_path / "p.jsonl", lines(2).encode() + b"\xff\n"))
    assert next(answers).id == "a1"
    assert next(answers).id == "a2"
    with pytest.raises(InputError, match=r"p\.jsonl:3: byte 1 "):
        next(answers)


# --- writing whole files -----------------------------------------------------------------------------


def only_file(folder):
    (path,) = folder.iterdir()
    return path


def test_a_text_is_written_as_utf_8_with_plain_line_breaks(tmp_path):
    path = tmp_path / "new" / "folder" / "out.jsonl"
    with atomic_writer(path) as file:
        write_records(file, [{"id": "Kraków", "score": None}, {"id": "河"}])
        assert not path.exists()
    assert path.read_bytes() == '{"id": "Kraków", "score": null}\n{"id": "河"}\n'.encode()
    assert only_file(path.parent) == path


def test_bytes_are_written_as_they_are(tmp_path):
    with atomic_writer(tmp_path / "out.bin", binary=True) as file:
        file.write(b"\xff\r\n\x00")
    assert only_file(tmp_path).read_bytes() == b"\xff\r\n\x00"


def test_an_old_file_is_replaced_and_keeps_its_permissions(tmp_path):
    path = put(tmp_path / "out.yaml", "old and longer\n")
    path.chmod(0o640)
    write_text(path, "new\n")
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_new_files_have_the_permissions_of_any_other(tmp_path):
    for name in ("one", "two"):
        write_text(tmp_path / name, "")
        put(tmp_path / f"plain {name}", "")
    assert len({path.stat().st_mode for path in tmp_path.iterdir()}) == 1


def test_paths_may_be_texts(tmp_path):
    write_text(f"{tmp_path}/p.jsonl", jsonl(RECORDS))
    write_text(f"{tmp_path}/policy.yaml", POLICY)
    assert load_pairs(f"{tmp_path}/p.jsonl", SPLIT).pairs == PAIRS
    assert next(iter(iter_answers(f"{tmp_path}/p.jsonl", SPLIT))).id == "refund-1"
    assert load_policy(f"{tmp_path}/policy.yaml").name == "desk"


class Stop(Exception):
    pass


@pytest.mark.parametrize("old", [None, "old\n"])
def test_nothing_is_half_written_where_the_writing_code_fails(old, tmp_path):
    path = tmp_path / "out.jsonl"
    if old is not None:
        put(path, old)

    def half():
        yield {"id": "a"}
        assert sorted(tmp_path.iterdir()) != ([path] if old else [])  # the part is there
        raise Stop

    with pytest.raises(Stop), atomic_writer(path) as file:
        write_records(file, half())
    assert {entry.name: entry.read_text() for entry in tmp_path.iterdir()} == ({"out.jsonl": old} if old else {})


def test_nothing_is_half_written_where_a_text_cannot_be_encoded(tmp_path):
    path = put(tmp_path / "out.txt", "old\n")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "fine, then \ud800")
    assert only_file(tmp_path).read_text() == "old\n"


def full_disk(*_arguments, **_options):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("old", [None, "old\n"])
def test_a_full_disk_leaves_what_there_was(call, old, tmp_path, monkeypatch):
    path = tmp_path / "out.yaml"
    if old is not None:
        put(path, old)
    monkeypatch.setattr(os, call, full_disk)
    message = refusal(write_text, path, "new\n")
    monkeypatch.undo()
    assert message == f"{path}: cannot be written ({os.strerror(errno.ENOSPC)}); nothing was changed"
    assert {entry.name: entry.read_text() for entry in tmp_path.iterdir()} == ({"out.yaml": old} if old else {})


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_disk_that_fills_while_text_is_written_leaves_what_there_was(tmp_path, monkeypatch):
    path = put(tmp_path / "out.yaml", "old\n")

    def on_full_device(dir, prefix, suffix):
        return os.open("/dev/full", os.O_WRONLY), str(put(Path(dir) / f"{prefix}x{suffix}", ""))

    monkeypatch.setattr("tempfile.mkstemp", on_full_device)
    message = refusal(write_text, path, "new\n" * 100_000)
    assert message == f"{path}: cannot be written ({os.strerror(errno.ENOSPC)}); nothing was changed"
    assert only_file(tmp_path).read_text() == "old\n"


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    put(tmp_path / "file", "")
    assert re.search(r"out\.yaml: cannot be written \(.+\)", refusal(write_text, tmp_path / "file" / "out.yaml", "x"))
    (tmp_path / "folder").mkdir()
    assert "folder: cannot be written" in refusal(write_text, tmp_path / "folder", "x")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]


# --- policies ----------------------------------------------------------------------------------------

POLICY = """\
schema: calibkit/policy/1
name: desk
stages:
  - {stage: exact, rung: 3}
"""


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_policy_is_read(mark, tmp_path):
    policy = load_policy(put(tmp_path / "policy.yaml", mark + POLICY))
    assert (policy.name, policy.stages[0].stage, policy.stages[0].rung) == ("desk", "exact", 3)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (POLICY.replace("name: desk", "nmae: desk"), ""),
        (POLICY + "  - [", ": line 5"),
        (POLICY.encode().replace(b"desk", b"d\xe9sk"), ":2"),
        (POLICY.encode("utf-16"), ":1"),
    ],
)
def test_a_bad_policy_is_refused_in_one_line_with_its_place(content, place, tmp_path):
    path = put(tmp_path / "policy.yaml", content)
    assert refusal(load_policy, path).startswith(f"{path}{place}:")


# --- ledgers -----------------------------------------------------------------------------------------

MADE = SetMade(name="desk", kind="constructed", salt="s", development=0.25)
PLANNED = Planned(looks=2, configurations=3)
CONFIGURATION = Configuration(
    scorer="token_recall",
    scorer_version=1,
    exact_rung=None,
    normalizer_version=1,
    precision=0.95,
    filters=("improper=true",),
)
DECLARED = Declared(configuration=CONFIGURATION)
LOOKED = Looked(labels="sha256:0", configuration=CONFIGURATION.key, groups=("a", "b"))


def test_a_ledger_is_read_as_it_was_appended(tmp_path):
    path = tmp_path / "ledger.jsonl"
    assert load_ledger(path) is None
    append_events(path, [])
    assert not path.exists()
    append_events(path, [MADE, PLANNED])
    append_events(path, [])
    before = path.read_bytes()
    append_events(path, [DECLARED, LOOKED])
    assert path.read_bytes().startswith(before)
    assert load_ledger(path).events == (MADE, PLANNED, DECLARED, LOOKED)
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()] == ["set", "plan", "declare", "look"]


def test_events_go_on_a_line_of_their_own_after_an_editor_took_the_last_line_break(tmp_path):
    path = tmp_path / "ledger.jsonl"
    append_events(path, [MADE])
    put(path, path.read_bytes().rstrip(b"\n"))
    append_events(path, [PLANNED])
    assert load_ledger(path).events == (MADE, PLANNED)
    assert path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"event": "plan", "loo', "the row is no JSON"),
        ("[]", "the row is a list, not an object"),
        ('{"event": "glance"}', "is no event of a ledger"),
        ('{"looks": 1}', "is no event of a ledger"),
        ('{"event": "plan", "looks": 0, "configurations": 1}', "greater than or equal to 1"),
        ('{"event": "plan", "looks": 1, "configurations": 1, "why": "more"}', "Extra inputs are not permitted"),
        ('{"event": "set", "name": "desk"}', "Field required"),
    ],
)
def test_a_line_of_a_ledger_that_is_no_event_is_refused_with_its_place(line, what, tmp_path):
    path = tmp_path / "ledger.jsonl"
    append_events(path, [MADE, PLANNED])
    with path.open("a") as file:
        file.write(line + "\n")
    message = refusal(load_ledger, path)
    assert message.startswith(f"{path}:3: ")
    assert what in message
    assert "restore the ledger from your version control" in message


@pytest.mark.parametrize("events", [[], [PLANNED]])
def test_a_ledger_without_its_beginning_is_refused(events, tmp_path):
    path = put(tmp_path / "ledger.jsonl", "")
    append_events(path, events)
    assert refusal(load_ledger, path).startswith(f"{path}:1: a ledger begins with the event 'set'; restore it")


def test_a_ledger_that_cannot_be_written_is_refused_with_the_cure(tmp_path):
    path = tmp_path / "nowhere" / "ledger.jsonl"
    message = refusal(append_events, path, [MADE])
    assert message.startswith(f"{path}: the ledger cannot be written (No such file or directory), and without it")
    assert message.endswith("or name another ledger (--ledger)")


def test_a_ledger_is_on_the_disk_before_appending_returns(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", full_disk)
    message = refusal(append_events, tmp_path / "ledger.jsonl", [MADE])
    assert os.strerror(errno.ENOSPC) in message


def test_where_a_ledger_stands(tmp_path):
    file = put(tmp_path / "pairs.jsonl", jsonl(RECORDS))
    assert ledger_path(load_pairs(tmp_path, SPLIT)) == tmp_path / "ledger.jsonl"
    assert ledger_path(load_pairs(file, SPLIT)) == tmp_path / "pairs.jsonl.ledger.jsonl"
    assert ledger_path(PairSet(PAIRS)) is None


# --- real files --------------------------------------------------------------------------------------


def real(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the real labelled answers ({name}) are not here")
    return path


def says_something(text):
    return isinstance(text, str) and bool(text.strip())


@pytest.mark.parametrize(("name", "kept"), [("evouna_nq.jsonl", 7_600), ("evouna_tq.jsonl", 4_690)])
def test_the_proper_rows_of_evouna(name, kept):
    path = real(name)
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    proper = [row for row in rows if row["improper"] is not True]
    assert len(proper) == kept
    usable = [
        row
        for row in proper
        if says_something(row["candidate"]) and row["references"] and all(map(says_something, row["references"]))
    ]
    labels = Counter(repr(row["acceptable"]) for row in usable)

    pairs = load_pairs(path, Columns(leave_out=[("improper", "true")]))

    assert [pair.id for pair in pairs] == [row["id"] for row in usable]
    found = Counter((pair.labelled, pair.acceptable) for pair in pairs)
    assert (found[True, True], found[True, False]) == (labels["True"], labels["False"])
    assert (found[True, None], found[False, None]) == (labels["None"], labels["'nan'"])
    assert len({pair.group_key for pair in pairs}) == len({row["group"] for row in usable})
    assert sum(remark.outcome == "left out" for remark in pairs.remarks) == len(rows) - len(usable)


def test_evouna_with_its_improper_rows():
    path = real("evouna_tq.jsonl")
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    said_nothing = sum(row["acceptable"] == "nan" for row in rows)
    assert said_nothing > 0
    pairs = load_pairs(path)
    assert (
        sum(remark.outcome == "label not used" and "'nan'" in remark.reason for remark in pairs.remarks) == said_nothing
    )
    assert sum(not pair.labelled for pair in pairs) == said_nothing


def test_nq301_with_its_columns_mapped():
    path = real("nq301.tsv")
    header, *lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    rows = [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]
    assert any('"' in row["model_answer"] for row in rows)
    columns = Columns(
        map={"references": "gold_answers", "candidate": "model_answer", "group": "id"}, split_references=" | "
    )

    pairs = load_pairs(path, columns)

    assert [pair.candidate for pair in pairs] == [row["model_answer"] for row in rows]
    assert [set(pair.references) for pair in pairs] == [set(row["gold_answers"].split(" | ")) for row in rows]
    assert [pair.acceptable for pair in pairs] == [row["acceptable"] == "Yes" for row in rows]
    assert all(pair.labelled for pair in pairs)
    assert [pair.group for pair in pairs] == [row["id"] for row in rows]
    assert pairs.remarks == ()
    assert "annotator1" in pairs[0].extra
