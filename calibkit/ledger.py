"""The accounting that keeps a certificate honest: what was declared, what was looked at, what risk is left.

    delta_each = delta / (planned looks * configurations * sides)

A ledger is an append-only list of events beside the labels. Notebook, widget and command line share it.

- A configuration is all that shapes the ranking or the claim: everything but the threshold. It is declared
  before its figures on certifying labels are shown.
- A look is a distinct (certifying labels, configuration). The same again is the same look.
- Once the planned looks are used, only fresh labels certify: those of questions that no look has used. A new
  plan opens them.
- A question whose references or answer changed after a look certifies no more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from calibkit.pairs import AnswerPair, counted, fingerprint

DEFAULT_DEVELOPMENT: Final = 0.25
"""The share of a set's questions that is kept for exploring, unless the set says otherwise."""


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Configuration(_Event):
    """All that shapes the ranking or the claim, but the threshold."""

    scorer: str
    scorer_version: int
    model: str | None = None
    """Fingerprint of the embedding model, for scorers that use one."""
    exact_rung: int | None = None
    """The rung of the stage `exact`; None for none."""
    rules: tuple[str, ...] = ()
    """The hard rules before the bands."""
    stages: str | None = None
    """Fingerprint of the deterministic stages and their locale, where there are more than `exact` without a locale."""
    normalizer_version: int
    precision: float
    """1 - alpha on the pass side."""
    fail_precision: float | None = None
    """1 - alpha on the fail side; None: nothing is to fail by its score."""
    filters: tuple[str, ...] = ()
    """The conditions under which rows were left out."""
    region: float | None = None
    """Where the region begins that the labels were drawn from; None: they are of the whole pool."""

    @property
    def key(self) -> str:
        """A short hash of the content."""
        # What is not set is no part of the content: a configuration of an older calibkit keeps its key.
        added = {name for name in ("rules", "stages") if not getattr(self, name)}
        added |= {"region"} if self.region is None else set()
        content = json.dumps(self.model_dump(exclude=added), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    @property
    def sides(self) -> int:
        """How many sides are promised jointly."""
        return 1 if self.fail_precision is None else 2

    def __str__(self) -> str:
        fail = "" if self.fail_precision is None else f", fail precision {self.fail_precision:g}"
        rung = "" if self.exact_rung == 4 else f", exact rung {self.exact_rung or 'none'}"
        names = ", ".join(self.rules) if len(self.rules) < 5 else f"{len(self.rules)}"
        rules = f", rules: {names}" if self.rules else ""
        region = f", region from {self.region:g}" if self.region is not None else ""
        return f"{self.scorer}, precision {self.precision:g}{fail}{rung}{rules}{region}"


class SetMade(_Event):
    """What is fixed when a set is made, before any label is seen."""

    event: Literal["set"] = "set"
    name: str
    kind: Literal["collected", "constructed"] = "collected"
    """Whether the answers were collected or written for the set."""
    salt: str
    development: float = Field(ge=0, lt=1)
    grouping: str | None = None
    """Where the groups come from, as in "column topic" or "question"."""
    at: datetime | None = None


class Planned(_Event):
    """How many looks and configurations share the risk; after a look, opens fresh labels only."""

    event: Literal["plan"] = "plan"
    looks: int = Field(ge=1)
    configurations: int = Field(ge=1)
    at: datetime | None = None


class Declared(_Event):
    """A configuration, before its figures on certifying labels were shown."""

    event: Literal["declare"] = "declare"
    configuration: Configuration
    at: datetime | None = None


class Looked(_Event):
    """A look at the certifying labels."""

    event: Literal["look"] = "look"
    labels: str
    """Fingerprint of the certifying labels."""
    configuration: str
    """Key of the configuration."""
    groups: tuple[str, ...]
    """Short hashes of the questions that were used."""
    answers: tuple[str, ...] = ()
    """Short hashes of the pairs that spoke for them, without labels, in the same order."""
    texts: tuple[str, ...] = ()
    """Short hashes of their questions and answers alone: another id or group makes no label fresh."""
    at: datetime | None = None


LedgerEvent = Annotated[SetMade | Planned | Declared | Looked, Field(discriminator="event")]
_EVENT: TypeAdapter[LedgerEvent] = TypeAdapter(LedgerEvent)


def read_event(record: Any) -> LedgerEvent:
    """Read one event from its JSON object; pydantic's ValidationError where it is none."""
    return _EVENT.validate_python(record)


@dataclass(frozen=True)
class Accounting:
    """What one certificate may spend of the risk."""

    delta: float
    looks: int
    """Looks used so far, this one included."""
    planned_looks: int
    configurations: int
    sides: int

    @property
    def delta_each(self) -> float:
        """The risk of one certificate: delta / (J * S * sides)."""
        return self.delta / (self.planned_looks * self.configurations * self.sides)


@dataclass(frozen=True)
class Refusal:
    """Why a configuration may not be certified on these labels, with the cure."""

    reason: str


class Ledger:
    """Reads the events of one set and says what they still allow.

    Examples
    --------
    >>> ledger = Ledger([SetMade(name="desk", salt="s", development=0.25), Planned(looks=1, configurations=1)])
    >>> recall = Configuration(
    ...     scorer="token_recall", scorer_version=1, exact_rung=3, normalizer_version=1, precision=0.95
    ... )
    >>> pair = AnswerPair("a", ("4",), "four", question="2 + 2?", labelled=True, acceptable=True)
    >>> events, accounting = ledger.look(recall, [pair], delta=0.1)
    >>> [event.event for event in events], accounting.delta_each
    (['declare', 'look'], 0.1)
    >>> ledger = Ledger([*ledger.events, *events])
    >>> ledger.look(recall, [pair], delta=0.1)[0]
    []
    >>> ledger.look(recall.model_copy(update={"scorer": "rouge1"}), [pair], delta=0.1)[1].reason[:57]
    'the ledger plans 1 configuration and has declared it (tok'
    """

    def __init__(self, events: Iterable[LedgerEvent]) -> None:
        self.events = tuple(events)
        made = [event for event in self.events if isinstance(event, SetMade)]
        if not made:
            raise ValueError("a ledger begins with the event 'set'")
        self.set = made[0]
        self.plan = Planned(looks=1, configurations=1)
        self.declared: dict[str, Configuration] = {}
        self.looks: list[Looked] = []
        self.spent: set[str] = set()
        """Short hashes of the groups and texts that looks before the present plan have used."""
        for event in self.events:
            match event:
                case Planned():
                    self.spent.update(used for look in self.looks for used in (*look.groups, *look.texts))
                    self.plan, self.declared, self.looks = event, {}, []
                case Declared():
                    self.declared[event.configuration.key] = event.configuration
                case Looked():
                    self.looks.append(event)

    @property
    def is_planned(self) -> bool:
        """Whether a plan was written down."""
        return any(isinstance(event, Planned) for event in self.events)

    def fresh(self, pairs: Iterable[AnswerPair]) -> list[AnswerPair]:
        """The pairs of questions that no look before the present plan has used."""
        return [pair for pair in pairs if not {group_hash(pair), _text_hash(pair)} & self.spent]

    def look(
        self,
        configuration: Configuration,
        certifying: Sequence[AnswerPair],
        *,
        delta: float,
        at: datetime | None = None,
    ) -> tuple[list[LedgerEvent], Accounting | Refusal]:
        """Ask for one look.

        Parameters
        ----------
        configuration
            What is to be certified.
        certifying
            The labelled pairs that certify, one for each question.
        delta
            The risk of the whole promise.
        at
            The time that the events note.

        Returns
        -------
        The events to append (none for a look that was taken before) and what the look may spend, or a refusal.
        """
        events: list[LedgerEvent] = []
        key = configuration.key
        if key not in self.declared:
            if len(self.declared) >= self.plan.configurations:
                return [], Refusal(
                    f"the ledger plans {counted(self.plan.configurations, 'configuration')} and has declared "
                    f"{'it' if self.plan.configurations == 1 else 'them'} "
                    f"({'; '.join(map(str, self.declared.values()))}); this one ({configuration}) may be explored on "
                    "the development part, and certifies only on fresh labels under a new plan (--new-plan)"
                )
            events.append(Declared(configuration=configuration, at=at))
        labels = fingerprint(certifying, labels=True)
        taken = [look for look in self.looks if look.configuration == key]
        used = len({look.labels for look in taken} | {labels})
        if all(look.labels != labels for look in taken):
            if used > self.plan.looks:
                return [], Refusal(
                    f"the {counted(self.plan.looks, 'planned look')} of this configuration ({configuration}) "
                    f"{'is' if self.plan.looks == 1 else 'are'} used, on other labels than these; only fresh labels "
                    "certify now, under a new plan (--new-plan)"
                )
            if changed := self._changed(certifying):
                return [], Refusal(
                    f"{counted(len(changed), 'question')} of an earlier look (first: {changed[0].id!r}) now "
                    f"{'has' if len(changed) == 1 else 'have'} other references or another answer, chosen when the "
                    "labels were known; restore them, or certify on fresh labels under a new plan (--new-plan)"
                )
            if certifying:  # nothing is seen of no labels
                pairs = sorted(certifying, key=group_hash)
                groups, answers = tuple(map(group_hash, pairs)), tuple(map(_answer_hash, pairs))
                texts = tuple(map(_text_hash, pairs))
                events.append(
                    Looked(labels=labels, configuration=key, groups=groups, answers=answers, texts=texts, at=at)
                )
        return events, Accounting(delta, used, self.plan.looks, self.plan.configurations, configuration.sides)

    def _changed(self, pairs: Iterable[AnswerPair]) -> list[AnswerPair]:
        """The pairs that are not what a look of the present plan saw of their question."""
        seen: dict[str, str] = {}
        for look in self.looks:
            seen |= dict(zip(look.groups, look.answers, strict=False))
            seen |= dict(zip(look.texts, look.answers, strict=False))
        return [
            pair
            for pair in pairs
            if any(
                seen.get(key, _answer_hash(pair)) != _answer_hash(pair) for key in (group_hash(pair), _text_hash(pair))
            )
        ]


def group_hash(pair: AnswerPair) -> str:
    """A short hash of what makes the pair dependent on others."""
    return hashlib.sha256(pair.group_key.encode()).hexdigest()[:12]


def _text_hash(pair: AnswerPair) -> str:
    return hashlib.sha256(json.dumps(["texts", pair.question, pair.candidate]).encode()).hexdigest()[:12]


def _answer_hash(pair: AnswerPair) -> str:
    return fingerprint([pair]).removeprefix("sha256:")[:12]
