"""The policy: what the cascade does and what is known about it, as one YAML text.

Reading is strict: YAML 1.2 (`no` is a text), no duplicate, unknown or missing keys, no other schema, no other
versions of normaliser and scorer. The models below are the schema; `policy.schema.json` is made from them.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    NodeEvent,
    ScalarEvent,
)
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode
from ruamel.yaml.representer import RoundTripRepresenter

from calibkit.bands import Bands, FailEvidence, PassEvidence
from calibkit.blend import BlendDefinition
from calibkit.checks import parse_checks
from calibkit.judge import Aggregate, PromptKind, build_prompt, prompt_hash
from calibkit.normalize import NORMALIZER_VERSION
from calibkit.pairs import AnswerPair, InputError
from calibkit.replies import PASS_AT, Criterion, ReplyForm
from calibkit.rules import RULES_VERSION, RuleName, RuleSettings, check_languages
from calibkit.scorers import EMBEDDING_SCORERS, LEXICAL_SCORERS, CosineScorer
from calibkit.structured import FIELDS_VERSION, parse_strategies, parse_strategy
from calibkit.values.reading import parse_locale

SCHEMA: Final = "calibkit/policy/1"
TOOL: Final = "calibkit 0.1.0"

_Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ScorerReference(_Part):
    """Which scorer, in which version."""

    name: str
    version: int
    text: Literal["answer", "question + answer"] | None = None
    """What an embedding scorer embeds; follows from the name."""


class ModelReference(_Part):
    """Which embedding model, to the bit."""

    name: str
    revision: str | None = None
    fingerprint: str
    dtype: Literal["float32", "bfloat16"] = "float32"
    max_tokens: int
    device: str | None = None
    """Where the scores of the calibration were computed; not part of the fingerprint."""


class ExactStage(_Part):
    """Passes answers whose normal form is a reference's."""

    stage: Literal["exact"]
    rung: Annotated[int, Field(ge=1, le=4)] = 3
    version: int = NORMALIZER_VERSION
    """Of the normaliser."""

    @model_validator(mode="after")
    def _check(self) -> ExactStage:
        _check_version("normaliser", self.version, NORMALIZER_VERSION)
        return self


class FieldsStage(_Part):
    """Compares structured answers (JSON) with structured references, field by field."""

    stage: Literal["fields"]
    fields: dict[str, Any] = {}
    """How fields are compared, by JSON Pointer, as in {/total: number}; a pair's own come on top."""
    default: Any = None
    """How all others are; None: numbers as numbers, all else exactly."""
    extra: Literal["allowed", "forbidden"] = "allowed"
    """Whether an answer may hold more fields than the reference."""
    pass_at_or_above: Annotated[float, Field(ge=0, le=1)] = 1.0
    """The weighted score of the soft fields from which an answer passes whose hard fields all do."""
    version: int = FIELDS_VERSION

    @model_validator(mode="after")
    def _check(self) -> FieldsStage:
        _check_version("fields", self.version, FIELDS_VERSION)
        parse_strategies(self.fields, "fields")
        if self.default is not None:
            parse_strategy(self.default, "default")
        return self


class RulesStage(_Part):
    """Fails answers whose values, polarity or form contradict the reference; passes abstentions where they are due."""

    stage: Literal["rules"]
    rules: list[RuleName]
    settings: RuleSettings = RuleSettings()
    """What the value rules do where texts differ in something else than the value."""
    checks: dict[str, Any] = {}
    """Plain checks of every case, as in {max_length: 200}; a pair's own come on top."""
    abstentions: list[str] = []
    """Further texts by which an answer says that it is not known."""
    version: int = RULES_VERSION

    @model_validator(mode="after")
    def _check(self) -> RulesStage:
        _check_version("rules", self.version, RULES_VERSION)
        if twice := [name for name, count in Counter(self.rules).items() if count > 1]:
            raise ValueError(f"the rule {twice[0]!r} stands twice; remove one")
        parse_checks(self.checks, "checks")
        return self

    @classmethod
    def from_yaml(cls, text: str, place: str = "rules") -> RulesStage:
        """Read the stage alone, as it stands in a policy; the key `stage` may be left out.

        Raises
        ------
        InputError
            With place, line, what is wrong and the cure.
        """
        content = {"stage": "rules"} | read_yaml(text, place, "this is no rules stage; it begins with 'rules: [...]'")
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise InputError(f"{place}: {_explain(error, text)}") from None


class BandsStage(_Part):
    """Passes, fails or passes on by the score."""

    stage: Literal["bands"]
    scorer: ScorerReference
    model: ModelReference | None = None
    """Required by embedding scorers."""
    blend: BlendDefinition | None = None
    """Required by the scorer blend: its weights, and on which answers it was fitted."""
    pass_at_or_above: _Finite | None
    fail_below: _Finite | None

    @model_validator(mode="after")
    def _check(self) -> BandsStage:
        Bands(self.pass_at_or_above, self.fail_below)  # refuses crossed cuts
        name = self.scorer.name
        if (name == "blend") != (self.blend is not None):
            told = (
                "needs the key 'blend' beside it, as calibkit fit writes it" if name == "blend" else "takes no 'blend'"
            )
            raise ValueError(f"the scorer {name} {told}")
        if name in LEXICAL_SCORERS:
            _check_version(f"scorer {name}", self.scorer.version, LEXICAL_SCORERS[name].version)
        if name in EMBEDDING_SCORERS:
            _check_version(f"scorer {name}", self.scorer.version, CosineScorer.version)
            text = "answer" if name == "cosine" else "question + answer"
            if self.scorer.text not in (None, text):
                raise ValueError(
                    f"the scorer {name} embeds the text {text!r}, not {self.scorer.text!r}; mend one of them"
                )
            if self.model is None:
                raise ValueError(f"the scorer {name} needs the key 'model' beside it, with name and fingerprint")
        return self

    @property
    def bands(self) -> Bands:
        """The two cuts."""
        return Bands(self.pass_at_or_above, self.fail_below)


class JudgeCriterion(_Part):
    """One thing that a rubric judge scores."""

    name: str
    text: str
    weight: _Finite = 1.0


class JudgeStage(_Part):
    """Asks a judge about what is left."""

    stage: Literal["judge"]
    model: str | None = None
    """The judge that the threshold was set for; None: any."""
    prompt: PromptKind = "equivalence"
    prompt_hash: str | None = None
    """Of the prompt's text: reading refuses another one."""
    criteria: list[JudgeCriterion] = []
    """What a rubric scores."""
    reply: ReplyForm = "json"
    pass_at_or_above: Annotated[float, Field(gt=0, le=1)] = PASS_AT
    votes: Annotated[int, Field(ge=1, le=99)] = 1
    retries: Annotated[int, Field(ge=0, le=9)] = 1
    """How often a reply that cannot be read is asked for again."""
    aggregate: Aggregate = "majority"

    @model_validator(mode="after")
    def _check(self) -> JudgeStage:
        if self.prompt_hash not in (None, prompt_hash(self.prompt)):
            raise ValueError(
                f"the policy was made with another prompt {self.prompt!r} ({self.prompt_hash}) than this calibkit has "
                f"({prompt_hash(self.prompt)}); measure the judge again, or install the calibkit that made it"
            )
        build_prompt(AnswerPair("a", ("a",), "a"), self.prompt, self.rubric, reply=self.reply)  # refuses what cannot be
        return self

    @property
    def rubric(self) -> list[Criterion]:
        """The criteria, as the judge takes them."""
        return [Criterion(each.name, each.text, each.weight) for each in self.criteria]


Stage = Annotated[ExactStage | FieldsStage | RulesStage | BandsStage | JudgeStage, Field(discriminator="stage")]


class Histogram(_Part):
    """Scores of the pool; bin i holds edges[i] <= score < edges[i + 1], the last bin its upper edge too."""

    edges: list[_Finite]
    counts: list[int]


class PoolEvidence(_Part):
    """What the certificate speaks about."""

    name: str
    kind: Literal["collected", "constructed"]
    fingerprint: str
    groups: int
    """Questions."""
    left_out: list[str] | None = None
    """Conditions under which rows were left out."""
    unscored: int = 0
    histogram: Histogram | None = None


class LabelEvidence(_Part):
    """Which labels were used, and for what."""

    fingerprint: str
    drawn: Literal["random", "region", "assumed"]
    """How they were drawn; "assumed": nobody said."""
    region: _Finite | None = None
    """Where the region begins that they were drawn from: nothing is known below."""
    certifying: int
    development: int
    acceptable: int | None = None
    """Among the certifying; None where no look at them was granted."""
    cannot_say: int | None = None


class AccountingEvidence(_Part):
    """delta / (planned_looks * configurations * sides) is the risk that each certificate was given."""

    delta: float
    looks: int
    planned_looks: int
    configurations: int
    sides: int


class CurveEvidence(_Part):
    """The chosen bands on the certifying labels, for orientation."""

    precision: float | None
    recall: float | None
    review_share: float


class Evidence(_Part):
    """What is known about the bands."""

    stages: str
    """Fingerprint of the stages before a judge, but their thresholds: the evidence is theirs alone."""
    pool: PoolEvidence
    labels: LabelEvidence
    accounting: AccountingEvidence | None = None
    """None where no look was granted."""
    pass_: PassEvidence = Field(alias="pass")
    fail: FailEvidence
    curve: CurveEvidence | None = None
    sentence: str


class Policy(_Part):
    """Stages in order, and the evidence for them.

    Examples
    --------
    >>> policy = Policy.from_yaml(\"\"\"
    ... schema: calibkit/policy/1
    ... name: copied
    ... stages:
    ...   - {stage: exact, rung: 3}
    ...   - {stage: bands, scorer: {name: rouge1, version: 1}, pass_at_or_above: 0.8, fail_below: null}
    ... \"\"\")
    >>> policy.certified, policy.bands_stage.bands.decide(0.9)
    (False, 'pass')
    >>> Policy.from_yaml("schema: calibkit/policy/9")
    Traceback (most recent call last):
    calibkit.pairs.InputError: policy: line 1: the schema 'calibkit/policy/9' is newer than this calibkit, \
which reads calibkit/policy/1; update calibkit
    """

    schema_: Literal["calibkit/policy/1"] = Field(alias="schema")
    name: str
    created: datetime | None = None
    tool: str | None = None
    locale: str | None = None
    stages: list[Stage] = Field(min_length=1)
    evidence: Evidence | None = None

    @model_validator(mode="after")
    def _check(self) -> Policy:
        names = [stage.stage for stage in self.stages]
        order = [name for name in ("exact", "fields", "rules", "bands", "judge") if name in names]
        if names != order:
            raise ValueError(f"the stages are {', '.join(names)}; each may stand once, in the order {', '.join(order)}")
        if self.locale is not None:
            parse_locale(self.locale)
        if (stage := self.rules_stage) is not None:
            check_languages(stage.rules, self.locale)
        if self.evidence is not None:
            self._check_evidence(self.evidence)
        return self

    def _check_evidence(self, evidence: Evidence) -> None:
        if evidence.stages != fingerprint_stages(self.stages, self.locale):
            raise ValueError("the evidence belongs to other stages than these; calibrate again, or remove the evidence")
        bands = self.bands_stage.bands if self.bands_stage else Bands(None, None)
        sides: list[tuple[str, PassEvidence | FailEvidence, float | None, int]] = [
            ("pass_at_or_above", evidence.pass_, bands.pass_at_or_above, 1),
            ("fail_below", evidence.fail, bands.fail_below, 0),
        ]
        for name, side, cut, open_end in sides:
            intervals = side.intervals or []
            inside = (
                any((low is None or cut > low) and (high is None or cut <= high) for low, high in intervals)
                if cut is not None
                else any(interval[open_end] is None for interval in intervals)
            )
            if side.certified and not inside:
                raise ValueError(
                    f"{name} {'null' if cut is None else cut} is called certified and lies outside the certified "
                    "intervals; restore it, or say certified: false"
                )

    @property
    def bands_stage(self) -> BandsStage | None:
        """The bands, where the policy has any."""
        return next((stage for stage in self.stages if isinstance(stage, BandsStage)), None)

    @property
    def fields_stage(self) -> FieldsStage | None:
        """How structured answers are compared, where the policy says so."""
        return next((stage for stage in self.stages if isinstance(stage, FieldsStage)), None)

    @property
    def rules_stage(self) -> RulesStage | None:
        """The hard rules, where the policy has any."""
        return next((stage for stage in self.stages if isinstance(stage, RulesStage)), None)

    @property
    def judge_stage(self) -> JudgeStage | None:
        """The judge, where the policy asks one."""
        return next((stage for stage in self.stages if isinstance(stage, JudgeStage)), None)

    @property
    def certified(self) -> bool:
        """Whether all that passes or fails before a judge is certified."""
        if self.evidence is None or not self.evidence.pass_.certified:
            return False
        stage = self.bands_stage
        return self.evidence.fail.certified or stage is None or stage.fail_below is None

    @property
    def standing(self) -> str:
        """What to say of the policy wherever it is used."""
        if self.evidence is None:
            return f"The policy {self.name!r} is uncertified: it carries no evidence."
        return self.evidence.sentence

    @classmethod
    def from_yaml(cls, text: str, place: str = "policy") -> Policy:
        """Read a policy.

        Parameters
        ----------
        text
            The YAML text.
        place
            Where it came from, for error messages.

        Raises
        ------
        InputError
            With place, line, what is wrong and the cure.
        """
        content = read_yaml(text, place, f"this is no policy; a policy begins with 'schema: {SCHEMA}'")
        schema = content.get("schema")
        if isinstance(schema, str) and schema != SCHEMA:
            raise InputError(f"{place}: line {_line(text, ('schema',))}: {_other_schema(schema)}")
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise InputError(f"{place}: {_explain(error, text)}") from None

    def to_yaml(self) -> str:
        """Write the policy; reading it gives an equal one, floats to the bit."""
        content = self.model_dump(by_alias=True, exclude_none=True)
        content["stages"] = [
            # A missing threshold would be an unknown one: null says that there is none.
            stage.model_dump(exclude_none=True, exclude=_unset(stage)) | _thresholds(stage)
            for stage in self.stages
        ]
        if self.evidence is not None:
            for side in ("pass", "fail"):
                part = getattr(self.evidence, "pass_" if side == "pass" else side)
                if part.intervals is not None:
                    content["evidence"][side]["intervals"] = [list(interval) for interval in part.intervals]
            if self.evidence.curve is not None:
                content["evidence"]["curve"] = self.evidence.curve.model_dump()
        stream = io.StringIO()
        _yaml("rt").dump(_laid_out(content), stream)
        return stream.getvalue()

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of the format."""
        schema = cls.model_json_schema(by_alias=True)
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        schema["title"] = "calibkit policy, version 1"
        return schema


def fingerprint_stages(stages: Sequence[Stage], locale: str | None = None) -> str:
    """Hash what the stages before a judge do, in which locale, but for their thresholds.

    >>> one = ExactStage(stage="exact", rung=3)
    >>> fingerprint_stages([one]) == fingerprint_stages([one.model_copy(update={"rung": 2})])
    False
    """
    content: list[Any] = [] if locale is None else [locale]
    for stage in stages:
        if not isinstance(stage, JudgeStage):
            record = stage.model_dump()
            if isinstance(stage, BandsStage):
                del record["pass_at_or_above"], record["fail_below"]
            if record.get("model"):
                del record["model"]["device"]
            content.append(record)
    return "sha256:" + hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _thresholds(stage: Any) -> dict[str, float | None]:
    if not isinstance(stage, BandsStage):
        return {}
    return {"pass_at_or_above": stage.pass_at_or_above, "fail_below": stage.fail_below}


def _unset(stage: Any) -> set[str]:
    """What need not be written, since nobody set it."""
    kept = {"stage", "rules", "version", "pass_at_or_above", "votes"}
    if not isinstance(stage, FieldsStage | RulesStage | JudgeStage):
        return set()
    fields = type(stage).model_fields.items()
    return {name for name, field in fields if getattr(stage, name) == field.default} - kept


def _check_version(what: str, written: int, current: int) -> None:
    if written != current:
        raise ValueError(
            f"the policy was made with version {written} of the {what}, this calibkit has version {current}; "
            "calibrate again, or install the calibkit that made it"
        )


# --- YAML: layout and lines -------------------------------------------------------------------------


class _Representer(RoundTripRepresenter):
    """Writes null as such (round-trip YAML leaves it blank) and times in UTC."""

    def null(self, _none: None) -> Any:
        return self.represent_scalar("tag:yaml.org,2002:null", "null")

    def time(self, moment: datetime) -> Any:
        written = moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
        return self.represent_scalar("tag:yaml.org,2002:timestamp", written)


_Representer.add_representer(type(None), _Representer.null)
_Representer.add_representer(datetime, _Representer.time)


def _yaml(kind: Literal["safe", "rt"]) -> YAML:
    yaml = YAML(typ=kind, pure=True)
    if kind == "rt":
        yaml.Representer = _Representer
    yaml.width = 1_000_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def read_yaml(text: str, place: str, what_else: str) -> dict[str, Any]:
    """Read a mapping, as strictly as a policy.

    Raises
    ------
    InputError
        With place, line, what is wrong and the cure; `what_else` says what the text should be where it is no mapping.
    """
    _refuse_what_no_policy_needs(text, place)
    try:
        content = _yaml("safe").load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        what = " ".join(str(error.problem or error).split())
        raise InputError(f"{place}: {line}{what}; mend the YAML") from None
    except (YAMLError, ValueError, RecursionError) as error:
        what = " ".join(str(error).split())
        raise InputError(f"{place}: this is no YAML text: {what}") from None
    if not isinstance(content, dict):
        raise InputError(f"{place}: {what_else}")
    return content


_LONGEST: Final = 1_000_000
_DEEPEST: Final = 12


def _refuse_what_no_policy_needs(text: str, place: str) -> None:
    """Anchors, tags, merge keys, directives, depth and size: they make a text mean what it does not seem to say."""
    if len(text) > _LONGEST:
        raise InputError(
            f"{place}: {len(text):,} characters are too many for a policy, {_LONGEST:,} may be; mend the file"
        )
    depth = 0
    try:
        for event in _yaml("safe").parse(text):
            line = event.start_mark.line + 1
            depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            if depth > _DEEPEST:
                raise InputError(f"{place}: line {line}: nested more than {_DEEPEST} deep; mend the YAML")
            if isinstance(event, DocumentStartEvent) and (event.version or event.tags):
                raise InputError(f"{place}: line {line}: a policy takes no YAML directives (%); remove them")
            if isinstance(event, NodeEvent) and (event.anchor or getattr(event, "tag", None)):
                raise InputError(f"{place}: line {line}: a policy takes no anchors, aliases and tags; write it out")
            if isinstance(event, ScalarEvent) and event.value == "<<":
                raise InputError(f"{place}: line {line}: a policy takes no merge keys (<<); write it out")
    except InputError:
        raise
    except (YAMLError, ValueError, RecursionError):
        return  # loading says what is wrong


def _laid_out(value: Any) -> Any:
    """Blocks for what holds blocks, one line for what holds scalars or short lists of scalars."""
    if isinstance(value, dict):
        laid: Any = CommentedMap((key, _laid_out(part)) for key, part in value.items())
        parts = list(value.values())
        one_line = all(_is_scalar(part) or _is_scalar_list(part) for part in parts) and len(repr(value)) < 160
    elif isinstance(value, (list, tuple)):
        laid = CommentedSeq(_laid_out(part) for part in value)
        one_line = all(_is_scalar(part) or _is_scalar_list(part) for part in value)
    else:
        return value
    if one_line:
        laid.fa.set_flow_style()
    return laid


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, (dict, list, tuple))


def _is_scalar_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_scalar, value))


def _line(text: str, path: tuple[int | str, ...]) -> int:
    """The line (from 1) on which a part of the text stands, or the nearest part round it."""
    node: Node | None = _yaml("safe").compose(text)
    line = 1
    for step in path:
        if isinstance(node, MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == str(step)), None)
            if found is None:
                continue  # a step that only the models know, such as the kind of a stage
            line, node = found[0].start_mark.line + 1, found[1]
        elif isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
    return line


def _other_schema(schema: str) -> str:
    name, _, number = schema.rpartition("/")
    if name == SCHEMA.rpartition("/")[0] and number.isdecimal() and int(number) > int(SCHEMA.rpartition("/")[2]):
        return f"the schema {schema!r} is newer than this calibkit, which reads {SCHEMA}; update calibkit"
    return f"the schema {schema!r} is not known; this calibkit reads {SCHEMA}"


def _explain(error: ValidationError, text: str) -> str:
    """The first fault in one line: where, what and the cure."""
    faults = error.errors()
    fault = faults[0]
    path = tuple(fault["loc"])
    where = (
        ".".join(str(step) for step in path if step not in ("exact", "fields", "rules", "bands", "judge"))
        or "the policy"
    )
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    match fault["type"]:
        case "extra_forbidden":
            what = f"unknown key {path[-1]!r} ({where}); remove it or mend its spelling"
        case "missing":
            what = f"missing key {path[-1]!r} ({where}); add it"
        case "value_error":
            what = f"{where}: {fault['ctx']['error']}"
        case "union_tag_invalid":
            what = f"{where}: unknown stage {fault['ctx']['tag']}; a stage is one of {fault['ctx']['expected_tags']}"
        case "union_tag_not_found":
            what = f"{where}: missing key 'stage'; add it"
        case _:
            shown = fault["input"]
            shown = f"{shown:g}" if isinstance(shown, float) and not math.isfinite(shown) else repr(shown)
            what = f"{where} is {shown[:60]}: {fault['msg'][:1].lower() + fault['msg'][1:]}"
    return f"line {_line(text, path)}: {what}{more}"
