import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibkit.formats import LABEL_STUDIO_CONFIG, label_studio_tasks, read_foreign
from calibkit.pairs import AnswerPair, InputError, read_pair


@pytest.fixture
def write(tmp_path):
    def write(content, name="file.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def by_id(foreign):
    return {record["id"]: record for record in foreign.records}


def told(foreign):
    return [(remark.place.split(": ", 1)[1], remark.outcome, remark.reason) for remark in foreign.remarks]


def refusal(path, kind, **more):
    with pytest.raises(InputError) as error:
        read_foreign(path, kind, **more)
    assert "\n" not in str(error.value)
    assert "Traceback" not in str(error.value)
    return str(error.value)


# --- any kind ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "hint"),
    [("promtfoo", ", did you mean promptfoo?"), ("labelstudio", ", did you mean label-studio?"), ("xyzzy", ";")],
)
def test_an_unknown_kind_is_told_with_the_nearest(write, kind, hint):
    assert refusal(write([]), kind) == (
        f"--from {kind}: there is no such kind of file{hint} known are label-studio, promptfoo, adk, langfuse, squad; "
        "anything else is read by naming its columns (--map)"
    )


def test_kinds_are_named_as_people_write_them(write):
    path = write([task("a", [annotation("acceptable")])])
    assert (
        read_foreign(path, "Label Studio") == read_foreign(path, "label_studio") == read_foreign(path, "label-studio")
    )


KINDS = ("label-studio", "promptfoo", "adk", "langfuse")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", "null", "3", '"text"', '[{"x": 1}]', "[[]]", "[" * 100_000, "9" * 5000, '"\\ud800"', "[NaN]"],
    ids=lambda text: text[:12],
)
def test_what_is_no_such_file_is_refused_in_a_line(write, kind, content):
    assert refusal(write(content), kind).startswith(str(write(content)))


def outcome(path, kind, **more):
    """The records, or the one line that says why there are none."""
    try:
        return read_foreign(path, kind, **more).records
    except InputError as error:
        return str(error)


def nested(depth):
    return '{"a":' * depth + "1" + "}" * depth


@pytest.mark.parametrize("depth", [200, 600, 900])
def test_deep_objects_are_read_or_refused(write, depth):
    output = nested(depth)
    contents = {
        "promptfoo": f'{{"results": [{{"vars": {{"q": "x", "expected": "y"}}, "response": {{"output": {output}}}}}]}}',
        "langfuse": f'[{{"id": "t", "input": "q", "output": {output}, "metadata": {{"expected": "y"}}}}]',
        "adk": f'{{"evalCaseResults": [{output}]}}',
        "label-studio": f'[{{"data": {{"question": "q", "candidate": {output}, "references": ["r"]}}}}]',
    }
    for kind, content in contents.items():
        assert outcome(write(content), kind)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"\xff\xfe[\x00", ":1: the file is UTF-16; save it as UTF-8"),
        (b'["\xff"]', ": byte 3 is not UTF-8; save the file as UTF-8"),
    ],
)
def test_files_in_other_encodings_are_told(tmp_path, raw, said):
    (tmp_path / "x.json").write_bytes(raw)
    assert refusal(tmp_path / "x.json", "adk") == f"{tmp_path / 'x.json'}{said}"


def test_a_file_that_is_not_there_is_told(tmp_path):
    assert refusal(tmp_path / "no.json", "adk") == f"{tmp_path / 'no.json'}: there is no such file; mend the path"
    assert "cannot be read" in refusal(tmp_path, "adk")


# --- Label Studio ------------------------------------------------------------------------------------


def annotation(*choices, who=1, name="acceptable", at="2026-01-01T00:00:00Z", **more):
    result = [
        {
            "id": "Dx",
            "from_name": name,
            "to_name": "candidate",
            "type": "choices",
            "origin": "manual",
            "value": {"choices": list(choices)},
        }
    ]
    return {
        "id": 7,
        "completed_by": who,
        "result": result,
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": at,
        "updated_at": at,
        "lead_time": 4.2,
        **more,
    }


def task(name, annotations, **data):
    texts = {"pair_id": name, "question": f"question {name}", "references": ["ref"], "candidate": f"answer {name}"}
    return {
        "id": 100,
        "data": {**texts, **data},
        "annotations": annotations,
        "drafts": [annotation("not acceptable", who=9)],
        "predictions": [{"model_version": "m", "score": 0.9, "result": annotation("not acceptable")["result"]}],
    }


def test_label_studio_tasks_come_back_with_labels(write):
    pairs = [
        AnswerPair("a", ("12 March", "March 12"), "On <b>12</b> March", question="When?", group="g", tags=("date",)),
        AnswerPair("b", (), "nobody knows", labelled=True, acceptable=True),
        AnswerPair("c", ("x",), "y"),
    ]
    tasks = label_studio_tasks(pairs)
    tasks[0]["annotations"] = [annotation("acceptable")]
    tasks[1]["annotations"] = [annotation("cannot say")]
    found = read_foreign(write(tasks), "label-studio")
    for pair, record in zip(pairs, found.records, strict=True):
        again = read_pair(record)
        assert (again.id, again.references, again.candidate) == (pair.id, pair.references, pair.candidate)
        assert (again.question, again.group, again.tags) == (pair.question, pair.group, pair.tags)
    assert [record.get("acceptable", "no label") for record in found.records] == [True, None, "no label"]
    assert found.remarks == ()


TEXTS = st.text(min_size=1, max_size=20).filter(lambda text: text.strip() and text.isprintable())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=3, unique=True), TEXTS), min_size=1, max_size=3))
def test_any_pair_survives_label_studio(tmp_path, texts):
    pairs = [AnswerPair(f"p{n}", tuple(refs), answer, question=asked) for n, (asked, refs, answer) in enumerate(texts)]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(label_studio_tasks(pairs)))
    assert [read_pair(record) for record in read_foreign(path, "label-studio").records] == pairs


def test_the_interface_asks_for_what_the_reader_reads(write):
    from xml.etree import ElementTree

    root = ElementTree.fromstring(LABEL_STUDIO_CONFIG)
    shown = {node.get("value").removeprefix("$") for node in root.iter("Text")}
    assert shown <= set(label_studio_tasks([AnswerPair("a", (), "x")])[0]["data"])
    (choices,) = root.iter("Choices")
    words = [choice.get("value") for choice in choices]
    path = write([task(word, [annotation(word, name=choices.get("name"))]) for word in words])
    assert [record["acceptable"] for record in read_foreign(path, "label-studio").records] == [True, False, None]


def test_cancelled_annotations_drafts_and_predictions_are_no_labels(write):
    tasks = [
        task("a", [annotation("acceptable", was_cancelled=True), annotation(was_cancelled=True, result=[])]),
        task("b", []),
        task("c", [annotation("acceptable", was_cancelled=True), annotation("not acceptable", who=2)]),
    ]
    found = read_foreign(write(tasks), "label-studio")
    assert ["acceptable" in record for record in found.records] == [False, False, True]
    assert found.labels == {"user-2": {"c": False}}


def test_several_annotators_keep_their_own_labels(write):
    tasks = [
        task(
            "a",
            [
                annotation("acceptable", who={"id": 1, "email": "zoe@example.org"}),
                annotation("not acceptable", who={"id": 2}),
                annotation("acceptable", who=3),
            ],
        ),
        task("b", [annotation("acceptable", who=3), annotation("not acceptable", who=2)]),
    ]
    found = read_foreign(write(tasks), "label-studio")
    assert found.labels == {
        "zoe@example.org": {"a": True},
        "user-2": {"a": False, "b": False},
        "user-3": {"a": True, "b": True},
    }
    assert [record["acceptable"] for record in found.records] == [True, None]  # majority; split


def test_the_last_annotation_of_a_person_counts(write):
    early, late = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
    for annotations in (
        [annotation("acceptable", at=early), annotation("not acceptable", at=late)],
        [annotation("not acceptable", at=late), annotation("acceptable", at=early)],
    ):
        assert read_foreign(write([task("a", annotations)]), "label-studio").labels == {"user-1": {"a": False}}


@pytest.mark.parametrize("choices", [["acceptable", "not acceptable"], [], [None], [{"x": 1}]], ids=str)
def test_choices_that_are_not_one_thing_are_no_label(write, choices):
    found = read_foreign(write([task("a", [annotation(*choices)])]), "label-studio")
    assert "acceptable" not in found.records[0]
    assert told(found) == [("task 100", "label not used", f"an annotation says [{json.dumps(choices)}], not one thing")]


def test_other_words_have_to_be_explained(write):
    path = write([task("a", [annotation("Good")]), task("b", [annotation("Bad")]), task("c", [annotation("Meh")])])
    assert refusal(path, "label-studio") == (
        f"{path}: task 100: the label words 'Good', 'Bad', 'Meh' are not known; say what each means, yes, no or cannot "
        "say: --labels 'good=...,bad=...,meh=...'"
    )
    found = read_foreign(path, "label-studio", labels={"Good": "yes", "bad": "no", "meh": "cannot say"})
    assert [record["acceptable"] for record in found.records] == [True, False, None]


def test_of_several_choices_the_map_tells_which_holds_the_label(write):
    both = annotation("Yes", name="correct")
    both["result"] += annotation("No", name="polite")["result"]
    both["result"].append({"from_name": "why", "type": "textarea", "value": {"text": ["because"]}})
    path = write([task("a", [both])])
    assert refusal(path, "label-studio") == (
        f"{path}: people's labels stand under several choices: correct, polite; say which one tells whether an answer is "
        "acceptable (--map acceptable=NAME)"
    )
    assert read_foreign(path, "label-studio", map={"acceptable": "polite"}).records[0]["acceptable"] is False
    assert refusal(path, "label-studio", map={"acceptable": "kind"}) == (
        f"{path}: no choices are named 'kind'; there are correct, polite"
    )


def test_fields_of_other_names_are_mapped(write):
    path = write(
        [
            {
                "id": 5,
                "data": {"frage": "When?", "soll": ["now"], "ist": "later", "nr": 17},
                "annotations": [annotation("yes")],
            }
        ]
    )
    assert "none of its 1 answers is a pair (first: task 5: references is missing)" in refusal(path, "label-studio")
    found = read_foreign(
        path, "label-studio", map={"question": "frage", "references": "soll", "candidate": "ist", "id": "nr"}
    )
    assert found.records == (
        {"id": "17", "question": "When?", "references": ["now"], "candidate": "later", "acceptable": True},
    )


def test_a_flat_export_is_told_apart(write):
    assert "export as JSON (not JSON_MIN)" in refusal(write([{"id": 1, "acceptable": "yes"}]), "label-studio")


# --- promptfoo ---------------------------------------------------------------------------------------


def graded(*parts, **more):
    return {"pass": True, "score": 1, "reason": "All assertions passed", "componentResults": list(parts), **more}


def person(verdict, **more):
    reason = "Manual result (overrides all other grading results)"
    return {"pass": verdict, "score": int(verdict is True), "reason": reason, "assertion": {"type": "human"}, **more}


MACHINE = {"pass": True, "score": 1, "reason": "ok", "assertion": {"type": "equals", "value": "4"}}


def result(number=0, output="four", grading=None, **more):
    return {
        "promptIdx": 0,
        "testIdx": number,
        "testCase": {
            "vars": {"question": f"{number} + 2?", "expected": "4"},
            "assert": [{"type": "equals", "value": "4"}],
        },
        "promptId": "abc",
        "provider": {"id": "openai:m", "label": ""},
        "prompt": {"raw": "Answer: 2 + 2?", "label": "plain"},
        "vars": {"question": f"{number} + 2?", "expected": "4"},
        "response": {"output": output, "tokenUsage": {}},
        "success": True,
        "score": 1,
        "gradingResult": grading,
        "namedScores": {},
        **more,
    }


def promptfoo(*results):
    return {
        "evalId": "eval-1",
        "results": {
            "version": 3,
            "timestamp": "2026-01-01T00:00:00Z",
            "prompts": [],
            "results": list(results),
            "stats": {},
        },
        "config": {},
        "shareableUrl": None,
    }


def test_promptfoo_results_become_records(write):
    found = read_foreign(write(promptfoo(result(grading=graded(MACHINE)))), "promptfoo")
    assert found.records == (
        {
            "id": "test-0-0",
            "question": "0 + 2?",
            "references": "4",
            "candidate": "four",
            "meta": {"model": "openai:m", "prompt": "plain"},
        },
    )
    assert (found.labels, found.remarks) == ({}, ())  # the machine's pass is nobody's label


@pytest.mark.parametrize(
    ("grading", "label"),
    [
        (graded(MACHINE, person(True)), True),
        (graded(MACHINE, person(False), **{"pass": False}), False),
        (graded(person(False)), False),
        ({**graded(MACHINE), "assertion": {"type": "human"}, "pass": False}, False),
        (graded(MACHINE), "none"),
        (graded(MACHINE, reason="Manual score override", score=0.3), "none"),
        ({"pass": False, "score": 0, "reason": "no parts"}, "none"),
        ({"pass": True, "componentResults": None, "assertion": None}, "none"),
        (graded(None, {"pass": True}, {"assertion": "human", "pass": True}), "none"),
        (None, "none"),
    ],
)
def test_only_a_person_s_component_is_a_label(write, grading, label):
    (record,) = read_foreign(write(promptfoo(result(grading=grading))), "promptfoo").records
    assert record.get("acceptable", "none") is label or record.get("acceptable", "none") == label == "none"


def test_a_cleared_rating_is_no_label(write):
    manual = {"version": 1, "status": "cleared", "original": {"success": True, "score": 1, "failureReason": 0}}
    cleared = result(0, grading=graded(MACHINE), metadata={"__promptfoo": {"manualRating": manual}})
    left = result(1, grading=graded(person(True)), metadata={"__promptfoo": {"manualRating": manual}})
    kept = result(
        2, grading=graded(person(True)), metadata={"__promptfoo": {"manualRating": {**manual, "status": "active"}}}
    )
    found = read_foreign(write(promptfoo(cleared, left, kept)), "promptfoo")
    assert found.labels == {"promptfoo": {"test-2-0": True}}


def test_a_grade_that_is_neither_is_told(write):
    found = read_foreign(write(promptfoo(result(grading=graded(person(None))))), "promptfoo")
    assert told(found) == [("result 1", "label not used", "a person's grade is empty, neither pass nor fail")]


@pytest.mark.parametrize(
    ("output", "text"),
    [({"answer": 4, "unit": "é"}, '{"answer": 4, "unit": "é"}'), (["a", "b"], '["a", "b"]'), (4, "4"), ("é", "é")],
)
def test_outputs_may_be_objects(write, output, text):
    (record,) = read_foreign(write(promptfoo(result(output=output))), "promptfoo").records
    assert record["candidate"] == text
    assert read_pair(record).candidate == text


def test_errors_and_missing_outputs_are_left_out(write):
    broken = result(1, error="API error:\n 429", response=None)
    found = read_foreign(write(promptfoo(result(), broken, result(2, output=""), result(3, output=None))), "promptfoo")
    assert list(by_id(found)) == ["test-0-0"]
    assert told(found) == [
        ("result 2", "left out", "gave no answer (API error: 429)"),
        ("result 3", "left out", "candidate is blank"),
        ("result 4", "left out", "gave no answer (no output)"),
    ]


@pytest.mark.parametrize(
    ("assertions", "references"),
    [
        ([{"type": "equals", "value": "4"}], ["4"]),
        (
            [{"type": "similar", "value": ["4", "four"]}, {"type": "factuality", "value": "It is {{ n }}."}],
            ["4", "four", "It is 4."],
        ),
        ([{"type": "assert-set", "assert": [{"type": "equals", "value": "4"}]}], ["4"]),
        ([{"type": "contains", "value": "4"}], None),
        ([{"type": "not-equals", "value": "5"}], None),
        ([{"type": "equals", "value": "file://x.txt"}], None),
        ([{"type": "equals", "value": "{{ n | upper }}"}], None),
        ([{"type": "equals", "value": "{{ gone }}"}], None),
        ([{"type": "equals", "value": {"a": 1}}], None),
        ([], None),
        (None, None),
    ],
)
def test_references_out_of_assertions(write, assertions, references):
    case = {"vars": {"question": "2 + 2?", "n": 4}, "assert": assertions}
    path = write(promptfoo(result(vars=case["vars"], testCase=case)))
    if references is None:
        assert "references is missing" in refusal(path, "promptfoo")  # and not "the question has no answer"
    else:
        assert read_foreign(path, "promptfoo").records[0]["references"] == references


def test_variables_of_other_names_are_mapped(write):
    case = {
        "vars": {"frage": "2 + 2?", "soll": ["4"], "kapitel": "sums"},
        "assert": [{"type": "equals", "value": "no"}],
    }
    path = write(promptfoo(result(vars=case["vars"], testCase=case)))
    names = {"question": "frage", "references": "soll", "group": "kapitel"}
    (record,) = read_foreign(path, "promptfoo", map=names).records
    assert (record["question"], record["references"], record["group"]) == ("2 + 2?", ["4"], "sums")


def test_promptfoo_lines_and_older_files_are_read(write):
    lines = "\n".join(json.dumps(result(n)) for n in range(3)) + "\n"
    assert len(read_foreign(write(lines, "out.jsonl"), "promptfoo").records) == 3
    old = result()
    del old["testCase"]
    found = read_foreign(write({"results": {"version": 2, "results": [old], "table": {}}}), "promptfoo")
    assert found.records[0]["references"] == "4"
    bad = refusal(write('{"vars": {}}\n{', "bad.jsonl"), "promptfoo")
    assert "bad.jsonl:2: this is no JSON" in bad


def test_the_same_test_run_again_gets_an_id_of_its_own(write):
    other = result(1, id="test-0-0-3")
    again = [result(grading=graded(person(False))), result()]
    found = read_foreign(write(promptfoo(other, result(), *again)), "promptfoo")
    assert [record["id"] for record in found.records] == ["test-0-0-3", "test-0-0", "test-0-0-2", "test-0-0-4"]
    assert found.labels == {"promptfoo": {"test-0-0-2": False}}
    assert [record.get("acceptable") for record in found.records] == [None, None, False, None]


# --- Agent Development Kit ---------------------------------------------------------------------------


def content(*texts, role="model"):
    return {"parts": [{"text": text} if isinstance(text, str) else text for text in texts], "role": role}


def invocation(asked, answered):
    return {
        "invocation_id": "e-1",
        "user_content": content(asked, role="user"),
        "final_response": answered,
        "intermediate_data": {"tool_uses": []},
    }


def eval_case(name="case", turns=1, actual="It is 4.", expected="4"):
    def turn(n):
        return {
            "actual_invocation": invocation(
                f"{n} + 2?", actual if isinstance(actual, dict) or actual is None else content(actual)
            ),
            "expected_invocation": invocation(f"{n} + 2?", content(expected) if expected else None),
            "eval_metric_results": [
                {"metric_name": "response_match_score", "threshold": 0.8, "score": 0.5, "eval_status": 2}
            ],
        }

    return {
        "eval_set_file": "",
        "eval_set_id": "sums",
        "eval_id": name,
        "final_eval_status": 1,
        "eval_metric_results": [],
        "overall_eval_metric_results": [],
        "eval_metric_result_per_invocation": [turn(n) for n in range(turns)],
        "session_id": "s",
        "user_id": "u",
    }


def adk(*cases):
    return {
        "eval_set_result_id": "x",
        "eval_set_id": "sums",
        "eval_case_results": list(cases),
        "creation_timestamp": 1.0,
    }


def camel(value):
    if isinstance(value, dict):
        return {k.split("_")[0] + "".join(map(str.capitalize, k.split("_")[1:])): camel(v) for k, v in value.items()}
    return [camel(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "written",
    [lambda r: r, lambda r: json.dumps(json.dumps(r)), camel, lambda r: json.dumps(json.dumps(camel(r)))],
    ids=["snake", "double-encoded", "camel", "double-encoded camel"],
)
def test_adk_results_become_records_without_a_label(write, written):
    found = read_foreign(write(written(adk(eval_case()))), "adk")
    assert found.records == (
        {
            "id": "case",
            "group": "case",
            "question": "0 + 2?",
            "references": ["4"],
            "candidate": "It is 4.",
            "meta": {"eval_set": "sums", "metrics": {"response_match_score": 0.5}},
        },
    )
    assert (found.labels, found.remarks) == ({}, ())


def test_parts_are_joined_without_thoughts_and_calls(write):
    answer = content(
        {"text": "let me see", "thought": True}, "It is", {"function_call": {"name": "sum"}}, "4.", {"text": None}
    )
    (record,) = read_foreign(write(adk(eval_case(actual=answer))), "adk").records
    assert record["candidate"] == "It is\n4."


def test_turns_of_a_conversation_share_a_group(write):
    found = read_foreign(write(adk(eval_case("a", turns=2), eval_case("b"))), "adk")
    assert [(r["id"], r["group"], r["question"]) for r in found.records] == [
        ("a-1", "a", "0 + 2?"),
        ("a-2", "a", "1 + 2?"),
        ("b", "b", "0 + 2?"),
    ]


def test_runs_of_a_case_keep_its_group(write):
    found = read_foreign(write(adk(eval_case("a"), eval_case("a"))), "adk")
    assert [(r["id"], r["group"]) for r in found.records] == [("a", "a"), ("a-2", "a")]


def test_turns_without_an_answer_or_a_reference_are_left_out(write):
    silent = content({"function_call": {"name": "sum"}})
    found = read_foreign(write(adk(eval_case("a", actual=silent), eval_case("b", expected=""), eval_case("c"))), "adk")
    assert list(by_id(found)) == ["c"]
    assert told(found) == [
        ("eval case a, turn 1", "left out", "the agent's final response has no text"),
        ("eval case b, turn 1", "left out", "no expected final response is given, so there is no reference"),
    ]


def test_a_text_that_is_no_result_is_told(write):
    assert "its text is no JSON" in refusal(write('"not json"'), "adk")
    assert "has eval_case_results" in refusal(write('"[1]"'), "adk")


# --- Langfuse ----------------------------------------------------------------------------------------


def score(word, source="ANNOTATION", name="correct", **more):
    return {
        "id": "s",
        "traceId": "t1",
        "name": name,
        "source": source,
        "timestamp": "2026-01-01T00:00:00Z",
        "authorUserId": "zoe",
        "dataType": "CATEGORICAL",
        "value": 0,
        "stringValue": word,
        "comment": None,
        **more,
    }


def trace(name="t1", scores=(), **more):
    return {
        "id": name,
        "name": "chat",
        "input": "When?",
        "output": "On 12 March",
        "metadata": {"expected_output": "12 March"},
        "tags": ["prod"],
        "scores": list(scores),
        **more,
    }


def test_langfuse_traces_become_records(write):
    scores = [
        score("yes"),
        score("no", source="EVAL"),
        score("no", source="API"),
        score("no", source="EVAL", name="correct", authorUserId="judge"),
    ]
    found = read_foreign(write({"data": [trace(scores=scores), trace("t2")], "meta": {}}), "langfuse")
    assert found.records == (
        {
            "id": "t1",
            "question": "When?",
            "references": "12 March",
            "candidate": "On 12 March",
            "tags": ["prod"],
            "acceptable": True,
        },
        {"id": "t2", "question": "When?", "references": "12 March", "candidate": "On 12 March", "tags": ["prod"]},
    )
    assert found.labels == {"zoe": {"t1": True}}


@pytest.mark.parametrize(
    ("given", "label"),
    [
        (score("True", dataType="BOOLEAN", value=1), True),
        (score("False", dataType="BOOLEAN", value=0), False),
        (score(None, dataType="BOOLEAN", value=True), True),
        (score(None, value="no"), False),
        ({"name": "correct", "source": "ANNOTATION", "string_value": "yes", "author_user_id": "zoe"}, True),
    ],
)
def test_the_word_counts_and_not_the_number(write, given, label):
    assert read_foreign(write([trace(scores=[given])]), "langfuse").labels == {"zoe": {"t1": label}}


def test_a_number_is_no_label(write):
    found = read_foreign(write([trace(scores=[score(None, dataType="NUMERIC", value=0.9)])]), "langfuse")
    assert "acceptable" not in found.records[0]
    assert told(found) == [("trace t1", "label not used", "the annotation 'correct' is the number 0.9, not a word")]
    found = read_foreign(write([trace(scores=["score-1"])]), "langfuse")
    assert "its scores are ids alone" in told(found)[0][2]


def test_of_several_scores_the_map_tells_which_holds_the_label(write):
    path = write([trace(scores=[score("no", name="tone"), score("yes"), score("x", name="judge", source="EVAL")])])
    assert "several scores: correct, tone; say which" in refusal(path, "langfuse")
    assert read_foreign(path, "langfuse", map={"acceptable": "tone"}).labels == {"zoe": {"t1": False}}


@pytest.mark.parametrize(
    ("given", "output", "question", "candidate"),
    [
        ({"question": "When?"}, {"answer": "now"}, "When?", "now"),
        (
            [{"role": "system", "content": "be brief"}, {"role": "user", "content": "When?"}],
            {"role": "assistant", "content": "now"},
            "When?",
            "now",
        ),
        (
            {"messages": [{"role": "user", "content": "Hi"}, {"role": "user", "content": "When?"}]},
            {"messages": [{"role": "assistant", "content": "now"}, {"role": "tool", "content": "x"}]},
            "When?",
            "now",
        ),
        ({"a": 1, "b": 2}, ["now"], '{"a": 1, "b": 2}', '["now"]'),
    ],
)
def test_inputs_and_outputs_may_be_messages_or_objects(write, given, output, question, candidate):
    (record,) = read_foreign(write([trace(input=given, output=output)]), "langfuse").records
    assert (record["question"], record["candidate"]) == (question, candidate)


def test_the_expected_output_stands_beside_a_trace_or_in_what_was_noted(write):
    beside = trace(expectedOutput=["a", "b"], metadata=None)
    assert read_foreign(write([beside]), "langfuse").records[0]["references"] == ["a", "b"]
    assert "references is missing" in refusal(write([trace(metadata={})]), "langfuse")
    mapped = read_foreign(write([trace(metadata={"soll": "x"})]), "langfuse", map={"references": "soll"})
    assert mapped.records[0]["references"] == "x"


def test_scores_alone_are_labels_for_pairs_that_stand_elsewhere(write):
    scores = [
        score("yes"),
        score("no", timestamp="2026-02-01T00:00:00Z"),
        score("no", source="EVAL", traceId="t2"),
        score("yes", traceId="t3", authorUserId=None),
        {"name": "correct", "source": "ANNOTATION", "subject": {"kind": "trace", "id": "t4"}, "value": True},
    ]
    found = read_foreign(write({"data": scores}), "langfuse")
    assert found.records == ()
    assert found.labels == {"zoe": {"t1": False}, "langfuse": {"t3": True, "t4": True}}


# --- SQuAD -------------------------------------------------------------------------------------------


def squad(*questions):
    return {
        "version": "v2.0",
        "data": [{"title": "Normans", "paragraphs": [{"context": "...", "qas": list(questions)}]}],
    }


def asked(name, *answers, **more):
    return {"id": name, "question": f"{name}?", "answers": [{"text": a, "answer_start": 0} for a in answers], **more}


def read_squad(write, questions, predictions):
    return read_foreign(write(squad(*questions)), "squad", predictions=write(predictions, "predictions.json"))


def test_squad_with_predictions(write):
    found = read_squad(
        write,
        [
            asked("q1", "France", "in France", "France", is_impossible=False),
            asked("q2", is_impossible=True, plausible_answers=[{"text": "Rome", "answer_start": 3}]),
            asked("q3", "x"),  # version 1.1 does not say
        ],
        {"q1": "France", "q2": "Rome", "q3": "y"},
    )
    meta = {"title": "Normans"}
    assert found.records == (
        {"id": "q1", "question": "q1?", "references": ["France", "in France"], "candidate": "France", "meta": meta},
        {"id": "q2", "question": "q2?", "references": [], "candidate": "Rome", "meta": meta},
        {"id": "q3", "question": "q3?", "references": ["x"], "candidate": "y", "meta": meta},
    )
    assert (found.labels, found.remarks) == ({}, ())


def test_what_squad_leaves_open_is_left_out(write):
    questions = [
        asked("a", "x"),
        asked("b", "x"),
        asked("c", "x"),
        asked("d"),
        asked("e", "x"),
        asked("f", is_impossible=True),
    ]
    found = read_squad(write, questions, {"a": "x", "c": "", "d": "x", "e": ["x"], "f": " ", "z": "x"})
    assert list(by_id(found)) == ["a"]
    assert [(place, reason) for place, _, reason in told(found)] == [
        ("question b", "has no prediction"),
        ("question c", "its prediction is that there is no answer, and an empty text cannot be graded"),
        ("question d", "has no answers and is not marked impossible"),
        ("question e", "its prediction is list, not text"),
        ("question f", "its prediction is that there is no answer, and an empty text cannot be graded"),
        ("prediction z", "there is no such question"),
    ]


def test_squad_needs_its_predictions(write, tmp_path):
    path = write(squad(asked("a", "x")))
    assert "give the answers, too (--predictions FILE)" in refusal(path, "squad")
    predictions = write([1], "predictions.json")
    assert refusal(path, "squad", predictions=predictions) == (
        f"{predictions}: a file of predictions is an object, question id to text"
    )
    assert "belongs to --from squad, not to adk" in refusal(path, "adk", predictions=predictions)
    assert "is a list of tasks" not in refusal(write([]), "squad", predictions=write({}, "p.json"))
    path = write(squad(asked("a", "x")))
    assert "there is no such file" in refusal(path, "squad", predictions=tmp_path / "no.json")


# --- whatever a file holds ---------------------------------------------------------------------------

WHOLE = {
    "label-studio": [task("a", [annotation("acceptable")]), task("b", [annotation("cannot say", who={"id": 2})])],
    "promptfoo": promptfoo(
        result(grading=graded(MACHINE, person(True))),
        result(
            vars={"question": "2 + 2?", "n": 4},
            testCase={
                "assert": [{"type": "assert-set", "assert": [{"type": "similar", "value": ["{{ n }}", "four"]}]}]
            },
            metadata={"__promptfoo": {"manualRating": {"status": "active"}}},
        ),
    ),
    "adk": adk(eval_case(turns=2)),
    "langfuse": {"data": [trace(scores=[score("yes")]), trace("t2", input=[{"role": "user", "content": "When?"}])]},
    "squad": squad(asked("q1", "x"), asked("q2", is_impossible=True)),
}
ODD = [None, True, 0, -1.5, "", " ", "x", "a\nb", "\ud800", [], [[]], [None], {}, {"a": 1}, ["x", 1], {"x": []}]


def places(value, path=()):
    """Where the values of a JSON value stand."""
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def put(value, path, new):
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


def read_or_refused(tmp_path, kind, content, answers):
    path, predictions = tmp_path / "any.json", tmp_path / "other.json"
    path.write_text(json.dumps(content))
    predictions.write_text(json.dumps(answers))
    found = outcome(path, kind, predictions=predictions if kind == "squad" else None)
    if isinstance(found, str):
        assert "\n" not in found
    else:
        for record in found:
            read_pair(record)


@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_with_anything_in_one_place_is_read_or_refused_in_a_line(tmp_path, kind):
    for path in places(WHOLE[kind]):
        for odd in (None, True, "", "\ud800", [[]], {"a": []}):
            read_or_refused(tmp_path, kind, put(WHOLE[kind], path, odd), {"q1": "x", "q2": "y"})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_a_file_with_anything_in_several_places_is_too(tmp_path, kind, data):
    content = WHOLE[kind]
    for _ in range(3):
        content = put(content, data.draw(st.sampled_from(list(places(content)))), data.draw(st.sampled_from(ODD)))
    read_or_refused(tmp_path, kind, content, data.draw(st.sampled_from([{"q1": "x"}, {"q1": ["x"]}, []])))
