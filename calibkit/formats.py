"""Other tools' files: read as records of pairs with people's labels, and tasks written for Label Studio.

Only what a person said is a label. What a machine said (predictions, judges, metrics, pass or fail of an assertion) is
none, and neither is what a person took back.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from calibkit.agreement import Label, resolve
from calibkit.pairs import AnswerPair, InputError, Remark, RowFault, read_label, read_pair

LABEL_STUDIO_CONFIG: Final = """<View>
  <Header value="Question"/>
  <Text name="question" value="$question"/>
  <Header value="Accepted answers"/>
  <Text name="references" value="$references_text"/>
  <Header value="Answer to judge"/>
  <Text name="candidate" value="$candidate"/>
  <Choices name="acceptable" toName="candidate" choice="single" showInline="true">
    <Choice value="acceptable" hotkey="1"/>
    <Choice value="not acceptable" hotkey="2"/>
    <Choice value="cannot say" hotkey="3"/>
  </Choices>
</View>
"""
"""The labelling interface for the tasks that `label_studio_tasks` makes."""

_WORDS: Final = {"acceptable": "yes", "not acceptable": "no"}

_QUESTION: Final = ("question", "query", "input", "prompt")
_REFERENCES: Final = (
    "references",
    "reference",
    "expected_output",
    "expectedOutput",
    "expected_answer",
    "expected",
    "ideal",
    "gold_answers",
    "gold",
)
_CANDIDATE: Final = ("candidate", "output", "response", "model_answer", "completion")


@dataclass(frozen=True)
class Foreign:
    """What another tool's file holds."""

    records: tuple[dict[str, Any], ...]
    """For `read_pair`; `acceptable` is what the labels of a pair come to, where there are any."""
    labels: Mapping[str, Mapping[str, Label]] = field(default_factory=dict)
    """Annotator -> pair id -> label; those of pairs that the file does not hold, too."""
    remarks: tuple[Remark, ...] = ()


def read_foreign(
    path: str | os.PathLike[str],
    kind: str,
    *,
    map: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    predictions: str | os.PathLike[str] | None = None,
) -> Foreign:
    """Read another tool's file.

    Parameters
    ----------
    path
        The file.
    kind
        "label-studio" (its JSON export), "promptfoo" (output.json or .jsonl), "adk" (an eval set's result), "langfuse"
        (traces with their scores, or scores alone) or "squad".
    map
        Key of a pair -> name in the file, where it is none of the usual ones: a variable of a prompt, a field of a
        task, an input's key; for `acceptable` the name of the score or of the choices.
    labels
        Label words of the file -> "yes", "no" or "cannot say".
    predictions
        For "squad": the file with the answers, {question id: text}.

    Raises
    ------
    InputError
        For a file that is not of this kind, for label words that are not known, and where nothing in it is a pair.
    """
    wanted = re.sub(r"[\s_]+", "-", kind.strip().casefold())
    if wanted not in KINDS:
        near = get_close_matches(wanted, KINDS, n=1, cutoff=0.5)
        hint = f", did you mean {near[0]}?" if near else ";"
        raise InputError(
            f"--from {_short(kind)}: there is no such kind of file{hint} known are {', '.join(KINDS)}; anything else "
            "is read by naming its columns (--map)"
        )
    if predictions is not None and wanted != "squad":
        raise InputError(f"{predictions}: a file of predictions belongs to --from squad, not to {wanted}")
    words = {word.strip().casefold(): meaning for word, meaning in (labels or {}).items()}
    reader = _Reader(
        wanted, Path(path), dict(map or {}), {**_WORDS, **words}, Path(predictions) if predictions else None
    )
    try:
        return reader.gather(KINDS[wanted])
    except RecursionError:
        raise InputError(f"{path}: its objects are nested too deeply to be read; mend it") from None


def label_studio_tasks(pairs: Iterable[AnswerPair]) -> list[dict[str, Any]]:
    """Make tasks to import into Label Studio; nobody's label, score or verdict is in them.

    Examples
    --------
    >>> pair = AnswerPair("a1", ("12 March",), "On March 12th", question="When?", labelled=True, acceptable=True)
    >>> label_studio_tasks([pair])[0]["data"]["references_text"], "acceptable" in str(label_studio_tasks([pair]))
    ('12 March', False)
    """
    tasks = []
    for pair in pairs:
        data: dict[str, Any] = {
            "pair_id": pair.id,
            "question": pair.question,
            "references": list(pair.references),
            "references_text": "\n".join(pair.references) or "(the question has no answer)",
            "candidate": pair.candidate,
        }
        if pair.group is not None:
            data["group"] = pair.group
        if pair.tags:
            data["tags"] = list(pair.tags)
        tasks.append({"data": data})
    return tasks


# --- what the kinds have in common --------------------------------------------------------------------

_Json = Any
_Said = tuple[str, str | bool]
"""Who said it, and the word."""


@dataclass
class _Case:
    """One answer as a reader found it."""

    place: str
    record: dict[str, Any]
    """Without what the file does not hold."""
    said: Sequence[_Said] = ()
    fault: str | None = None
    """Why it is no pair."""
    remark: str | None = None
    """Why a label of it is none."""
    label_only: bool = False
    """Whether it names a pair that stands elsewhere."""


@dataclass
class _Reader:
    kind: str
    path: Path
    map: dict[str, str]
    words: dict[str, str]
    predictions: Path | None

    def gather(self, cases: Callable[[_Reader], Iterator[_Case]]) -> Foreign:
        records: list[dict[str, Any]] = []
        remarks: list[Remark] = []
        labels: dict[str, dict[str, Label]] = {}
        unknown: dict[str, str] = {}
        names: dict[str, Iterator[int]] = {}
        seen = 0
        for case in cases(self):
            seen += 1
            place = f"{self.path}: {_short(case.place)}"
            if case.remark is not None:
                remarks.append(Remark(place, case.remark, "label not used"))
            if case.fault is not None:
                remarks.append(Remark(place, case.fault, "left out"))
                continue
            name = str(case.record.get("id", ""))
            if not case.label_only:
                try:
                    given = name = read_pair(case.record).id
                except RowFault as fault:
                    remarks.append(Remark(place, str(fault), "left out"))
                    continue
                while name in names:  # the same case run again
                    name = f"{given}-{next(names[given])}"
                names[name] = itertools.count(2)
                records.append({**case.record, "id": name})
            for who, word in case.said:
                try:
                    labelled, label = (True, word) if isinstance(word, bool) else read_label(word, self.words)
                except RowFault:
                    unknown.setdefault(str(word), place)
                    continue
                if labelled:
                    labels.setdefault(who, {})[name] = label
        if unknown:
            raise InputError(self._unknown_words(unknown))
        if not records and not labels:
            first = (
                f" (first: {remarks[0].place.removeprefix(f'{self.path}: ')}: {remarks[0].reason})" if remarks else ""
            )
            raise InputError(
                f"{self.path}: none of its {seen} answers is a pair{first}; name what holds them with --map"
            )
        counting = resolve(labels)
        for record in records:
            if record["id"] in counting:
                record["acceptable"] = counting[record["id"]].label
        return Foreign(tuple(records), labels, tuple(remarks))

    def _unknown_words(self, unknown: Mapping[str, str]) -> str:
        words = [_short(word) for word in unknown]
        shown = ", ".join(repr(word) for word in words[:10]) + (f" and {len(words) - 10} more" if words[10:] else "")
        example = ",".join(f"{word.casefold()}=..." for word in words[:10])
        return (
            f"{next(iter(unknown.values()))}: the label words {shown} are not known; say what each means, yes, no or "
            f"cannot say: --labels '{example}'"
        )

    def load(self, path: Path | None = None) -> _Json:
        """The JSON of a file; of one with an object a line, their list."""
        path = path or self.path
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            raise InputError(f"{path}: there is no such file; mend the path") from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); mend that and try again") from None
        if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(f"{path}:1: the file is UTF-16; save it as UTF-8")
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: byte {error.start + 1} is not UTF-8; save the file as UTF-8") from None
        if path.suffix.lower() in (".jsonl", ".ndjson"):
            lines = enumerate(text.split("\n"), start=1)
            return [_parse(line, path, number) for number, line in lines if line.strip()]
        return _parse(text, path)

    def wrong(self, expected: str) -> InputError:
        """The error for a file of another shape."""
        return InputError(f"{self.path}: this is no file of {self.kind}: {expected}; say what it is (--from)")

    def one_name(self, names: Iterable[object], what: str) -> str | None:
        """The name of the scores or choices that hold the labels; where several might, only the map can tell."""
        found = sorted({name for name in names if isinstance(name, str)})
        named = self.map.get("acceptable", "acceptable" if "acceptable" in found else None)
        shown = ", ".join(map(_short, found))
        if named is not None and found and named not in found:
            raise InputError(f"{self.path}: no {what} are named {_short(named)!r}; there are {shown}")
        if named is None and len(found) > 1:
            raise InputError(
                f"{self.path}: people's labels stand under several {what}: {shown}; say which one tells whether an "
                "answer is acceptable (--map acceptable=NAME)"
            )
        return named or next(iter(found), None)

    def pick(self, key: str, usual: Sequence[str], values: Mapping[str, _Json]) -> _Json:
        """The value of a key of a pair among named values: by the map, else by the usual names; None for none."""
        if key in self.map:
            return values.get(self.map[key])
        return next((values[name] for name in usual if values.get(name) is not None), None)


def _parse(text: str, path: Path, first_line: int = 1) -> _Json:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        raise InputError(
            f"{path}:{line}: this is no JSON ({error.msg} at column {error.colno}); export it again"
        ) from None
    except (RecursionError, ValueError) as error:  # nested too deeply; an integer of thousands of digits
        raise InputError(f"{path}: this cannot be read as JSON ({_short(error)}); export it again") from None


def _objects(value: _Json) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _object(value: _Json) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _put(record: dict[str, Any], **values: _Json) -> dict[str, Any]:
    """Add what there is; None says that the file holds nothing."""
    return record | {key: value for key, value in values.items() if value is not None and value != {}}


def _text(value: _Json) -> str | None:
    """A text as it is; anything else as JSON."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _texts(value: _Json) -> list[str] | str | None:
    """References: a list of texts stays one, `[]` included."""
    if isinstance(value, list):
        return [text for text in map(_text, value) if text is not None]
    return _text(value)


_Dated = tuple[str, str, str | bool]
"""When, who, and the word."""


def _latest(said: Iterable[_Dated]) -> list[_Said]:
    """What everyone said last."""
    return list({who: word for _, who, word in sorted(said, key=lambda one: one[0])}.items())


def _distinct(values: Iterable[_Json]) -> list[_Json]:
    """Each value once, in order; a list or an object, where a text belongs, is no key of a dict."""
    return list({json.dumps(value): value for value in values}.values())


def _get(record: Mapping[str, Any], name: str) -> _Json:
    """The value of a key that is written in snake_case or in camelCase."""
    first, *others = name.split("_")
    return record.get(name, record.get(first + "".join(map(str.capitalize, others))))


def _short(value: object) -> str:
    """Something of the file's own, fit to stand in a message."""
    return " ".join(str(value).encode("utf-8", "replace").decode().split())[:60]


# --- Label Studio -------------------------------------------------------------------------------------


def _label_studio(reader: _Reader) -> Iterator[_Case]:
    tasks = reader.load()
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise reader.wrong("Label Studio's export as JSON is a list of tasks")
    if tasks and not any("data" in task for task in tasks):
        raise reader.wrong("its tasks have no 'data'; export as JSON (not JSON_MIN), or read it by --map")
    choices = [result for task in tasks for annotation in _annotations(task) for result in _choices(annotation)]
    wanted = reader.one_name((result.get("from_name") for result in choices), "choices")
    for number, task in enumerate(tasks, start=1):
        data = _object(task.get("data"))
        name = reader.pick("id", ("pair_id", "id"), data)
        record = _put(
            {key: data[key] for key in ("tags", "fields", "meta") if data.get(key) is not None},
            id=_text(task.get("id") if name is None else name),
            group=_text(reader.pick("group", ("group",), data)),
            question=_text(reader.pick("question", _QUESTION, data)),
            references=_texts(reader.pick("references", _REFERENCES, data)),
            candidate=_text(reader.pick("candidate", _CANDIDATE, data)),
        )
        case = _Case(f"task {task.get('id', number)}", record)
        said: list[_Dated] = []
        for annotation in _annotations(task):
            chosen = [
                _object(result.get("value")).get("choices")
                for result in _choices(annotation)
                if result.get("from_name") == wanted
            ]
            match chosen:
                case []:
                    pass
                case [[str(word)]]:
                    when = annotation.get("updated_at") or annotation.get("created_at")
                    said.append((str(when or ""), _annotator(annotation.get("completed_by")), word))
                case _:
                    case_said = json.dumps(chosen, ensure_ascii=False)
                    case.remark = f"an annotation says {_short(case_said)}, not one thing"
        case.said = _latest(said)
        yield case


def _annotations(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What people submitted and did not cancel; predictions and drafts stand under other keys."""
    found = _objects(task.get("annotations", task.get("completions")))
    return [annotation for annotation in found if not annotation.get("was_cancelled")]


def _choices(annotation: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [result for result in _objects(annotation.get("result")) if result.get("type") == "choices"]


def _annotator(completed_by: _Json) -> str:
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("email") or completed_by.get("id")
    return completed_by if isinstance(completed_by, str) else f"user-{completed_by}"


# --- promptfoo ----------------------------------------------------------------------------------------

_REFERENCE_ASSERTIONS: Final = frozenset(
    {"equals", "similar", "similar:cosine", "similar:dot", "similar:euclidean", "factuality", "model-graded-factuality"}
    | {"levenshtein", "rouge-n", "bleu", "gleu", "meteor"}
)
"""Assertions whose value is an answer that would be right."""

_VARIABLE: Final = re.compile(r"\{\{\s*+([\w.-]++)\s*+\}\}")


def _promptfoo(reader: _Reader) -> Iterator[_Case]:
    found = reader.load()
    while isinstance(found, dict) and "results" in found:
        found = found["results"]
    if not any("vars" in result or "testCase" in result for result in _objects(found)):
        raise reader.wrong("promptfoo's output (promptfoo eval --output results.json) lists results with their vars")
    for number, result in enumerate(_objects(found), start=1):
        test = _object(result.get("testCase"))
        variables = {**_object(test.get("vars")), **_object(result.get("vars"))}
        response, provider = _object(result.get("response")), _object(result.get("provider"))
        question = reader.pick("question", _QUESTION, variables)
        if question is None and len(variables) == 1 and "question" not in reader.map:
            (question,) = variables.values()
        references = reader.pick("references", _REFERENCES, variables)
        if references is None and "references" not in reader.map:
            references = _expected(test, variables)
        place = f"{result.get('testIdx', number)}-{result.get('promptIdx', 0)}"
        record = _put(
            {"id": str(result.get("id") or f"test-{place}")},
            group=_text(reader.pick("group", (), variables)),
            question=_text(question),
            references=_texts(references),
            candidate=_text(response.get("output")),
            meta=_put(
                {}, model=provider.get("label") or provider.get("id"), prompt=_object(result.get("prompt")).get("label")
            ),
        )
        case = _Case(f"result {number}", record)
        if response.get("output") is None:
            case.fault = f"gave no answer ({_short(result.get('error') or response.get('error') or 'no output')})"
        elif (grade := _human_grade(result)) is not None:
            if isinstance(grade, bool):
                case.said = [("promptfoo", grade)]
            else:
                case.remark = f"a person's grade is {_short(grade)}, neither pass nor fail"
        yield case


def _human_grade(result: Mapping[str, Any]) -> _Json:
    """A person's grade is a component of its own, gone once it is cleared; the overall pass may be a machine's."""
    manual = _object(_object(_object(result.get("metadata")).get("__promptfoo")).get("manualRating"))
    if manual.get("status") == "cleared":
        return None
    grading = _object(result.get("gradingResult"))
    for part in (*_objects(grading.get("componentResults")), grading):
        if _object(part.get("assertion")).get("type") == "human":
            return "empty" if part.get("pass") is None else part["pass"]
    return None


def _expected(test: Mapping[str, Any], variables: Mapping[str, Any]) -> list[str] | None:
    """What the test's assertions give as a right answer, their variables filled in."""
    texts: list[str | None] = []
    for assertion in _objects(test.get("assert")):
        for one in _objects(assertion.get("assert")) if assertion.get("type") == "assert-set" else [assertion]:
            if str(one.get("type")) in _REFERENCE_ASSERTIONS:
                value = one.get("value")
                texts += [_filled(text, variables) for text in (value if isinstance(value, list) else [value])]
    return _distinct(text for text in texts if text is not None) or None


def _filled(text: _Json, variables: Mapping[str, Any]) -> str | None:
    """The text with its variables; None for what only promptfoo can work out."""
    if not isinstance(text, str) or text.startswith("file://"):
        return None
    if not all(isinstance(variables.get(name), (str, int, float)) for name in _VARIABLE.findall(text)):
        return None
    rest = _VARIABLE.sub("", text)
    filled = _VARIABLE.sub(lambda found: str(variables[found[1]]), text)
    return None if "{{" in rest or "{%" in rest or not filled.strip() else filled


# --- Agent Development Kit ----------------------------------------------------------------------------


def _adk(reader: _Reader) -> Iterator[_Case]:
    found = reader.load()
    if isinstance(found, str):  # before 1.22 the result's JSON was written as a JSON text
        try:
            found = json.loads(found)
        except ValueError as error:
            raise reader.wrong(f"its text is no JSON ({_short(error)})") from None
    eval_cases = _get(_object(found), "eval_case_results")
    if not isinstance(eval_cases, list):
        raise reader.wrong("an eval set's result (.evalset_result.json) has eval_case_results")
    for eval_case in _objects(eval_cases):
        name = str(_get(eval_case, "eval_id") or "case")
        turns = _objects(_get(eval_case, "eval_metric_result_per_invocation"))
        for number, turn in enumerate(turns, start=1):
            actual, expected = (_object(_get(turn, f"{which}_invocation")) for which in ("actual", "expected"))
            candidate, reference = (_part_text(_get(one, "final_response")) for one in (actual, expected))
            record = _put(
                # The turns of a conversation are no questions apart from each other.
                {"id": name if len(turns) == 1 else f"{name}-{number}", "group": name},
                question=_part_text(_get(actual, "user_content")) or _part_text(_get(expected, "user_content")),
                references=None if reference is None else [reference],
                candidate=candidate,
                meta=_put({}, eval_set=_get(eval_case, "eval_set_id"), metrics=_metrics(turn)),
            )
            case = _Case(f"eval case {name}, turn {number}", record)
            if candidate is None:
                case.fault = "the agent's final response has no text"
            elif reference is None:
                case.fault = "no expected final response is given, so there is no reference"
            yield case


def _part_text(content: _Json) -> str | None:
    """The text of a content's parts, without thoughts and function calls."""
    parts = _objects(_object(content).get("parts"))
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought")]
    return "\n".join(text for text in texts if text.strip()) or None


def _metrics(turn: Mapping[str, Any]) -> dict[str, Any] | None:
    """The tool's own scores, for the eye; they are nobody's label."""
    found = _objects(_get(turn, "eval_metric_results"))
    return {str(_get(one, "metric_name")): one["score"] for one in found if one.get("score") is not None} or None


# --- Langfuse -----------------------------------------------------------------------------------------


def _langfuse(reader: _Reader) -> Iterator[_Case]:
    found = reader.load()
    if isinstance(found, dict):
        found = found["data"] if isinstance(found.get("data"), list) else [found]
    items = _objects(found)
    if not any("output" in item or "source" in item for item in items):
        raise reader.wrong("Langfuse's traces have input, output and scores; its scores have a trace and a source")
    alone = all("source" in item and "output" not in item for item in items)  # scores without their traces
    scores = items if alone else [score for item in items for score in _objects(item.get("scores"))]
    wanted = reader.one_name((score.get("name") for score in scores if _by_person(score)), "scores")
    if alone:
        by_trace: dict[str, list[dict[str, Any]]] = {}
        for score in scores:
            subject = _object(score.get("subject"))
            trace = _get(score, "trace_id") or _get(subject, "trace_id") or subject.get("id")
            by_trace.setdefault(str(trace), []).append(score)
        for trace, of_trace in by_trace.items():
            yield _people_said(_Case(f"trace {trace}", {"id": trace}, label_only=True), of_trace, wanted)
        return
    for number, item in enumerate(items, start=1):
        # What was expected stands beside the trace of a dataset's item, or in what the user noted.
        noted = {**_object(item.get("metadata")), **item}
        record = _put(
            {"id": str(item.get("id") or f"trace-{number}")},
            group=_text(reader.pick("group", (), noted)),
            question=_spoken(reader, "question", _QUESTION, item.get("input"), "user"),
            references=_texts(reader.pick("references", _REFERENCES, noted)),
            candidate=_spoken(reader, "candidate", ("answer", *_CANDIDATE), item.get("output"), "assistant"),
            tags=item.get("tags"),
        )
        case = _Case(f"trace {item.get('id', number)}", record)
        if isinstance(item.get("scores"), list) and any(isinstance(score, str) for score in item["scores"]):
            case.remark = "its scores are ids alone; export the trace with all details, or its scores"
        yield _people_said(case, _objects(item.get("scores")), wanted)


def _by_person(score: Mapping[str, Any]) -> bool:
    return score.get("source") == "ANNOTATION"


def _people_said(case: _Case, scores: Iterable[Mapping[str, Any]], wanted: str | None) -> _Case:
    """Add the annotations of a trace to its case: the words, for a number says nothing without its scale."""
    said: list[_Dated] = []
    for score in scores:
        if _by_person(score) and score.get("name") == wanted:
            word = _get(score, "string_value")
            if not word and isinstance(score.get("value"), (bool, str)):  # version 3 of its API
                word = score.get("value")
            if isinstance(word, (bool, str)) and word != "":
                when = _get(score, "updated_at") or score.get("timestamp")
                said.append((str(when or ""), str(_get(score, "author_user_id") or "langfuse"), word))
            else:
                case.remark = (
                    f"the annotation {_short(wanted)!r} is the number {_short(score.get('value'))}, not a word"
                )
    case.said = _latest(said)
    return case


def _spoken(reader: _Reader, key: str, usual: Sequence[str], value: _Json, role: str) -> str | None:
    """The text of an input or output: a text, a message of the role, a usual key, else the whole as JSON."""
    messages = value
    if isinstance(value, dict):
        if (named := reader.pick(key, usual, value)) is not None:
            return _text(named)
        messages = value["messages"] if isinstance(value.get("messages"), list) else [value]
    texts = [one.get("content") for one in _objects(messages) if one.get("role") == role]
    return next((text for text in reversed(texts) if isinstance(text, str)), _text(value))


# --- SQuAD --------------------------------------------------------------------------------------------


def _squad(reader: _Reader) -> Iterator[_Case]:
    if reader.predictions is None:
        raise InputError(
            f"{reader.path}: a SQuAD file holds questions only; give the answers, too (--predictions FILE)"
        )
    articles = _object(reader.load()).get("data")
    if not isinstance(articles, list):
        raise reader.wrong("a SQuAD file has 'data', a list of articles with paragraphs")
    predictions = reader.load(reader.predictions)
    if not isinstance(predictions, dict):
        raise InputError(f"{reader.predictions}: a file of predictions is an object, question id to text")
    left = dict(predictions)
    for article in _objects(articles):
        for paragraph in _objects(article.get("paragraphs")):
            for question in _objects(paragraph.get("qas")):
                name = str(question.get("id"))
                texts = _distinct(answer.get("text") for answer in _objects(question.get("answers")))
                answer = left.pop(name, None)
                record = _put(
                    {"id": name},
                    question=_text(question.get("question")),
                    references=[] if question.get("is_impossible") is True else texts,
                    candidate=answer,
                    meta=_put({}, title=article.get("title")),
                )
                case = _Case(f"question {name}", record)
                if name not in predictions:
                    case.fault = "has no prediction"
                elif not isinstance(answer, str):
                    case.fault = f"its prediction is {type(answer).__name__}, not text"
                elif not answer.strip():
                    case.fault = "its prediction is that there is no answer, and an empty text cannot be graded"
                elif not texts and question.get("is_impossible") is not True:
                    case.fault = "has no answers and is not marked impossible"
                yield case
    for name in left:
        yield _Case(f"prediction {name}", {}, fault="there is no such question")


KINDS: Final[Mapping[str, Callable[[_Reader], Iterator[_Case]]]] = {
    "label-studio": _label_studio,
    "promptfoo": _promptfoo,
    "adk": _adk,
    "langfuse": _langfuse,
    "squad": _squad,
}
"""The kinds of files that `read_foreign` knows."""
