"""The only reader and writer of a user's own files: pairs, ledgers, policies, verdicts."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

from pydantic import ValidationError

from calibkit.agreement import label_pairs, resolve
from calibkit.cascade import Fault
from calibkit.label_log import read_set_labels
from calibkit.ledger import Ledger, LedgerEvent, SetMade, read_event
from calibkit.pairs import (
    KNOWN_KEYS,
    AnswerPair,
    InputError,
    PairSet,
    Remark,
    RowFault,
    UnknownLabel,
    counted,
    read_pair,
)
from calibkit.policy import Policy, RulesStage
from calibkit.review import ReferenceAdded, expired, grow_references

_SHOWN: Final = 10
"""How many bad rows a message spells out."""


@dataclass(frozen=True)
class Columns:
    """How a foreign file's columns become the keys of a pair."""

    map: Mapping[str, str] = field(default_factory=dict)
    """Key of a pair -> column of the file."""
    split_references: str | None = None
    """The text that stands between references in one cell."""
    leave_out: Sequence[tuple[str, str]] = ()
    """(column, value): rows with that value are left out."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Label words of the file -> "yes", "no" or "cannot say"."""

    def __post_init__(self) -> None:
        if unknown := [key for key in self.map if key not in KNOWN_KEYS]:
            raise InputError(
                f"--map {unknown[0]}=...: {unknown[0]!r} is no key of a pair; there are {', '.join(KNOWN_KEYS)}"
            )

    @property
    def filters(self) -> list[str]:
        """The conditions of `leave_out`, as policies record them."""
        return sorted({f"{column}={value.casefold()}" for column, value in self.leave_out})

    def leaves_out(self, record: Mapping[str, Any]) -> bool:
        """Whether the row is left out on request.

        Raises
        ------
        InputError
            For a condition on the labels: what it leaves would be no sample.
        """
        for column, value in self.leave_out:
            if column == self.map.get("acceptable", "acceptable"):
                raise InputError(f"--leave-out {column}={value}: rows may not be left out by their label")
            if column not in record:
                raise RowFault(column, f"is missing, by which rows are left out ({column}={value})", malformed=True)
            if str(record[column]).strip().casefold() == value.casefold():
                return True
        return False

    def arrange(self, record: dict[str, Any]) -> dict[str, Any]:
        """Rename the columns, split the references."""
        arranged = {key: value for key, value in record.items() if key not in self.map.values()}
        for key, column in self.map.items():
            if column not in record:
                raise RowFault(
                    column, f"is no column of this row (mapped to {key}); it has {', '.join(record)}", malformed=True
                )
            arranged[key] = record[column]
        references = arranged.get("references")
        if self.split_references and isinstance(references, str) and references.strip():
            arranged["references"] = [part.strip() for part in references.split(self.split_references) if part.strip()]
            arranged["references"] = arranged["references"] or ""  # separators alone: blank, not "no answer"
        return arranged


# --- rows of a file ---------------------------------------------------------------------------------

Row = tuple[int, dict[str, Any] | RowFault]
"""Line (or row, for files without lines) and its record, or what is wrong with it."""


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if number == 1:
                if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
                    raise InputError(f"{path}:1: the file is UTF-16; save it as UTF-8")
                while raw.startswith(b"\xef\xbb\xbf"):
                    raw = raw[3:]
            try:
                yield number, raw.decode()
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path}:{number}: byte {error.start + 1} of the line (0x{raw[error.start]:02x}) is not UTF-8; "
                    f"save the file as UTF-8 (iconv -f latin1 -t utf-8, if that is what it is)"
                ) from None


def _jsonl_rows(path: Path) -> Iterator[Row]:
    for number, line in _lines(path):
        if line.strip():
            yield number, _record(line.rstrip("\r\n"))  # or the fault of a cut line would stand on the next


def _record(text: str) -> dict[str, Any] | RowFault:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        return RowFault("the row", f"is no JSON ({error.msg} at column {error.colno})", malformed=True)
    except (RecursionError, ValueError) as error:  # nested too deeply; an integer of thousands of digits
        return RowFault("the row", f"cannot be read as JSON ({error})", malformed=True)
    if not isinstance(record, dict):
        return RowFault("the row", f"is a {type(record).__name__}, not an object", malformed=True)
    return record


def _json_rows(path: Path) -> Iterator[Row]:
    text = "".join(line for _, line in _lines(path))
    try:
        records = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}:{error.lineno}: this is no JSON ({error.msg} at column {error.colno}); mend it, or name the file "
            ".jsonl if it holds one object a line"
        ) from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"{path}:1: this cannot be read as JSON ({error}); mend it") from None
    if not isinstance(records, list):
        raise InputError(f"{path}:1: a JSON file of pairs is an array of objects, this is a {type(records).__name__}")
    for number, record in enumerate(records, start=1):
        yield number, record if isinstance(record, dict) else RowFault("the row", "is no object", malformed=True)


def _table_rows(path: Path, **dialect: Any) -> Iterator[Row]:
    csv.field_size_limit(2**31 - 1)  # as much as a C long holds everywhere
    reader = csv.reader((line for _, line in _lines(path)), **dialect)
    number = 1  # the line on which a row begins; its cells may hold line breaks
    try:
        header = next(reader, None)
        if header is None:
            return
        header = [name.strip() for name in header]
        if twice := sorted({name for name in header if header.count(name) > 1}):
            raise InputError(f"{path}:1: the column {twice[0]!r} stands twice; rename one")
        number = reader.line_num + 1
        for cells in reader:
            if len(cells) == len(header):
                yield number, dict(zip(header, cells, strict=True))
            elif cells:
                fault = f"has {counted(len(cells), 'cell')}, the header {len(header)}"
                yield number, RowFault("the row", fault, malformed=True)
            number = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}:{number}: this row is no CSV ({error}); put a cell with quotes, commas or line breaks between "
            "quotes, and write each quote in it twice"
        ) from None


def _csv_rows(path: Path) -> Iterator[Row]:
    # Where a comma parts decimals, spreadsheets part cells by semicolons.
    header = next(_lines(path), (1, ""))[1]
    return _table_rows(path, strict=True, delimiter=";" if ";" in header and "," not in header else ",")


def _tsv_rows(path: Path) -> Iterator[Row]:
    # Tab-separated values know no quoting (IANA's text/tab-separated-values): a quote is a quote.
    return _table_rows(path, delimiter="\t", quoting=csv.QUOTE_NONE)


_NULLABLE = ("references", "candidate", "question")


def _parquet_rows(path: Path) -> Iterator[Row]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise InputError(f"{path}: Parquet files need pyarrow: pip install 'calibkit[parquet]'") from None
    number = 0
    try:
        for batch in parquet.ParquetFile(path).iter_batches(batch_size=1024):
            for record in batch.to_pylist():
                number += 1
                # A column has no other way to say that there is no label.
                yield number, {key: value for key, value in record.items() if value is not None or key in _NULLABLE}
    except (ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(
            f"{path}: this is no Parquet file ({' '.join(str(error).split())}); name it by what it holds"
        ) from None


_READERS: Final[dict[str, Callable[[Path], Iterator[Row]]]] = {
    ".jsonl": _jsonl_rows,
    ".ndjson": _jsonl_rows,
    ".json": _json_rows,
    ".csv": _csv_rows,
    ".tsv": _tsv_rows,
    ".parquet": _parquet_rows,
}


def _rows(path: Path) -> Iterator[Row]:
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: unknown kind of file; name it {', '.join(_READERS)}, by what it holds")
    with _reading(path):
        yield from reader(path)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; mend the path") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); mend that and try again") from None


# --- pairs ------------------------------------------------------------------------------------------


def _pairs_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    if not (path / "pairs.jsonl").exists():
        raise InputError(f"{path}: this folder is no set, for it holds no pairs.jsonl; name a set or a file of pairs")
    return path / "pairs.jsonl"


def load_pairs(path: str | os.PathLike[str], columns: Columns | None = None) -> PairSet:
    """Load labelled answers from a file (JSONL, JSON, CSV, TSV, Parquet) or a set's folder.

    Rows without a usable candidate or reference are left out, labels that say nothing are not used; the set's
    remarks name them by reason and line.

    Parameters
    ----------
    path
        The file or folder.
    columns
        How a foreign file's columns become the keys of a pair.

    Raises
    ------
    InputError
        For a file that cannot be read, with all malformed rows named by line and field; for label words that
        are not known, with all of them.
    """
    path = Path(path)
    file = _pairs_file(path)
    columns = columns or Columns()
    pairs: list[AnswerPair] = []
    remarks: list[Remark] = []
    malformed: dict[str, list[int]] = {}
    header: list[str] = []
    unknown: dict[str, list[int]] = {}
    lines_of: dict[str, list[int]] = {}
    given: set[str] = set()
    for number, record in _rows(file):
        try:
            if isinstance(record, RowFault):
                raise record
            if columns.leaves_out(record):
                remarks.append(Remark(f"{file}:{number}", _filter_reason(columns, record), outcome="left out"))
                continue
            arranged = columns.arrange(record)
            pair = _read_with_remark(arranged, columns, f"{file}:{number}", remarks)
            if columns.split_references is None and isinstance(arranged.get("references"), str):
                remarks += _looks_like_several(arranged["references"], f"{file}:{number}")
            if _has_id(arranged):
                given.add(pair.id)
            pairs.append(_with_own_id(pair, _has_id(arranged), number, lines_of))
        except UnknownLabel as fault:
            unknown.setdefault(fault.value, []).append(number)
        except RowFault as fault:
            if fault.malformed:
                malformed.setdefault(str(fault), []).append(number)
                header = header or (list(record) if isinstance(record, dict) else [])
            else:
                remarks.append(Remark(f"{file}:{number}", str(fault), outcome="left out"))
    if malformed:
        raise InputError(f"{file}:{_first(malformed)}: {_bad_rows(malformed, header)}")
    if unknown:
        raise InputError(f"{file}:{_first(unknown)}: {_unknown_labels(unknown)}")
    _refuse_repeated_ids(lines_of, given, file)
    name = path.resolve().name if path.is_dir() else path.stem
    grouping = _grouping(pairs, columns)
    loaded = PairSet(tuple(pairs), name, str(path), tuple(remarks), tuple(columns.filters), grouping)
    return _with_logs(loaded, path) if path.is_dir() else loaded


def _with_logs(pairs: PairSet, folder: Path) -> PairSet:
    """The pairs with the labels of the set's logs, and the references that were added."""
    logs = read_set_labels(folder)
    own = {pair.id: pair.acceptable for pair in pairs if pair.labelled}
    votes = {**logs.votes, **({"pairs.jsonl": own} if own else {})}
    notices = [*pairs.remarks, *logs.remarks]
    strays = [f"{name!r} is no pair of the set" for name in logs.strays(pairs)]
    notices += [Remark(str(folder / "labels"), told, "left out") for told in strays]
    events = folder / "events.jsonl"
    notices += [Remark(str(events), told, "worth a look") for told in expired(logs.added, datetime.now(UTC).date())]
    labelled = replace(label_pairs(pairs, resolve(votes, logs.decided)), remarks=tuple(notices))
    grown = grow_references(labelled, logs.added)
    return replace(grown, original=labelled) if logs.added else labelled


def _grouping(pairs: Sequence[AnswerPair], columns: Columns) -> str:
    if any(pair.group is not None for pair in pairs):
        return f"column {columns.map.get('group', 'group')}"
    return "question" if any(pair.question.strip() for pair in pairs) else "references"


def _looks_like_several(references: str, place: str) -> list[Remark]:
    if " | " not in references:
        return []
    return [Remark(place, "references holds ' | ' (--split-references ' | ', if that parts them)", "worth a look")]


def _filter_reason(columns: Columns, record: Mapping[str, Any]) -> str:
    return next(f"{c} is {v}" for c, v in columns.leave_out if str(record[c]).strip().casefold() == v.casefold())


def _read_with_remark(record: Mapping[str, Any], columns: Columns, place: str, remarks: list[Remark]) -> AnswerPair:
    words = {word.strip().casefold(): meaning for word, meaning in columns.labels.items()}
    try:
        return read_pair(record, label_words=words)
    except UnknownLabel:
        raise
    except RowFault as fault:
        if fault.malformed or fault.field != "acceptable":
            raise
        remarks.append(Remark(place, str(fault), outcome="label not used"))
        return read_pair(record, with_label=False)


def _first(lines: Mapping[str, Sequence[int]]) -> int:
    return min(map(min, lines.values()))


def _bad_rows(malformed: Mapping[str, Sequence[int]], header: Sequence[str]) -> str:
    """All bad rows in a line, those with the same fault together."""
    faults = []
    for fault, lines in malformed.items():
        shown = ", ".join(map(str, lines[:_SHOWN])) + (
            f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
        )
        faults.append(f"{fault} ({'line' if len(lines) == 1 else 'lines'} {shown})")
    missing = {"references is missing", "candidate is missing"} & malformed.keys()
    cure = (
        f"name the columns that hold them: --map references=COLUMN --map candidate=COLUMN; it has {', '.join(header)}"
        if missing and header
        else "mend them; a number goes in quotes"
        if any(" is int, not text" in fault or " is float, not text" in fault for fault in malformed)
        else "mend them"
    )
    return f"{counted(sum(map(len, malformed.values())), 'bad row')}: {'; '.join(faults)}; {cure}"


def _unknown_labels(unknown: Mapping[str, Sequence[int]]) -> str:
    seen = [f"{value[:30]!r} (line {lines[0]}, {len(lines)} in all)" for value, lines in unknown.items()]
    more = f" and {len(seen) - _SHOWN} more" if len(seen) > _SHOWN else ""
    example = ",".join(f"{word}=..." for word in dict.fromkeys(value.strip().casefold()[:30] for value in unknown))
    return (
        f"the label column holds {counted(len(seen), 'value')} not known: {', '.join(seen[:_SHOWN])}{more}; known are "
        f"yes/no, true/false, 1/0 and 'cannot say'; say what each of the others means, yes, no or cannot say, "
        f"beside those given: --labels '{example}'"
    )


def _has_id(record: Mapping[str, Any]) -> bool:
    return record.get("id") is not None and bool(str(record["id"]).strip())


def _with_own_id(pair: AnswerPair, given: bool, number: int, lines_of: dict[str, list[int]]) -> AnswerPair:
    lines = lines_of.setdefault(pair.id, [])
    lines.append(number)
    # Pairs without an id are named by their texts; equal ones are told apart by their order.
    return pair if given or len(lines) == 1 else replace(pair, id=f"{pair.id}-{len(lines)}")


def _refuse_repeated_ids(lines_of: Mapping[str, Sequence[int]], given: set[str], file: Path) -> None:
    repeated = {name: lines for name, lines in lines_of.items() if len(lines) > 1 and name in given}
    for name, lines in repeated.items():
        raise InputError(
            f"{file}:{lines[1]}: the id {name!r} stands on line {lines[0]} already "
            f"({counted(len(repeated), 'such id')}); give each answer its own id, or map the "
            "column to group if it names the question (--map group=COLUMN)"
        )


def iter_answers(
    path: str | os.PathLike[str], columns: Columns | None = None, *, labels: bool = False
) -> Iterator[AnswerPair | Fault]:
    """Read answers one by one, for grading; a row that is no pair becomes a Fault in its place.

    Labels are read where they are asked for; one that is no label is none.

    Raises
    ------
    InputError
        For a file that cannot be read.
    """
    file = _pairs_file(Path(path))
    columns = columns or Columns()
    added = read_set_labels(path).added if Path(path).is_dir() else ()
    lines_of: dict[str, list[int]] = {}
    for number, record in _rows(file):
        try:
            if isinstance(record, RowFault):
                raise record
            if not columns.leaves_out(record):
                arranged = columns.arrange(record)
                answer = _read_answer(arranged, columns, labels)
                yield _grown(added, _with_own_id(answer, _has_id(arranged), number, lines_of))
        except RowFault as fault:
            yield Fault(_given_id(record, columns) or f"{file.name}:{number}", f"{file}:{number}: {fault}")


def _grown(added: Sequence[ReferenceAdded], pair: AnswerPair) -> AnswerPair:
    return grow_references(PairSet((pair,)), added)[0] if added else pair


def _read_answer(record: Mapping[str, Any], columns: Columns, labels: bool) -> AnswerPair:
    try:
        return read_pair(record, with_label=labels, label_words=columns.labels)
    except RowFault as fault:
        if not labels or fault.field != "acceptable":
            raise
    return read_pair(record, with_label=False)


def _given_id(record: dict[str, Any] | RowFault, columns: Columns) -> str | None:
    column = columns.map.get("id", "id" if "id" not in columns.map.values() else None)
    name = record.get(column) if isinstance(record, dict) and column else None
    usable = isinstance(name, (str, int)) and str(name).strip() and str(name).isprintable()
    return str(name) if usable else None


# --- writing ----------------------------------------------------------------------------------------


@contextmanager
def atomic_writer(path: str | os.PathLike[str], binary: bool = False) -> Iterator[IO[Any]]:
    """Write a whole file or nothing: it appears under its name when all of it is on the disk.

    Parameters
    ----------
    path
        The file.
    binary
        Whether bytes will be written, not text.

    Raises
    ------
    InputError
        Where it cannot be written.
    """
    path = Path(path)
    temporary: str | None = None
    encoding, newline = (None, None) if binary else ("utf-8", "\n")
    try:
        if path.exists() and not path.is_file():  # a device or a pipe is written to, never replaced
            with path.open("wb" if binary else "w", encoding=encoding, newline=newline) as stream:
                yield stream
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        with os.fdopen(handle, "wb" if binary else "w", encoding=encoding, newline=newline) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
        temporary = None
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); nothing was changed") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file whole or not at all."""
    with atomic_writer(path) as file:
        file.write(text)


def write_records(file: IO[str], records: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object a line."""
    for record in records:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


# --- policies and ledgers ---------------------------------------------------------------------------


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy file.

    Raises
    ------
    InputError
        With file, line, what is wrong and the cure.
    """
    return Policy.from_yaml(read_text(Path(path)), str(path))


def load_rules(path: str | os.PathLike[str]) -> RulesStage:
    """Read a rules stage from a file of its own.

    Raises
    ------
    InputError
        With file, line, what is wrong and the cure.
    """
    return RulesStage.from_yaml(read_text(Path(path)), str(path))


def read_text(path: Path) -> str:
    """Read a text file.

    Raises
    ------
    InputError
        Where it cannot be read.
    """
    with _reading(path):
        return "".join(line for _, line in _lines(path))


def ledger_path(pairs: PairSet) -> Path | None:
    """Where the ledger of a set stands: in its folder, beside its file, or nowhere for pairs made in Python."""
    if pairs.source is None:
        return None
    source = Path(pairs.source)
    return source / "ledger.jsonl" if source.is_dir() else source.with_name(source.name + ".ledger.jsonl")


def load_ledger(path: Path) -> Ledger | None:
    """Read a ledger; None where there is none yet.

    Raises
    ------
    InputError
        For a line that is no event.
    """
    if not path.exists():
        return None
    events: list[LedgerEvent] = []
    with _reading(path):
        for number, record in _jsonl_rows(path):
            try:
                if isinstance(record, RowFault):
                    raise record
                events.append(read_event(record))
            except (RowFault, ValidationError) as fault:
                what = fault if isinstance(fault, RowFault) else f"is no event of a ledger ({fault.errors()[0]['msg']})"
                raise InputError(
                    f"{path}:{number}: {what}; restore the ledger from your version control (a torn last line may go)"
                ) from None
    if not any(isinstance(event, SetMade) for event in events):
        raise InputError(f"{path}:1: a ledger begins with the event 'set'; restore it from your version control")
    return Ledger(events)


def append_events(path: Path, events: Sequence[LedgerEvent], *, after: int | None = None) -> None:
    """Append events to a ledger, whole and on the disk before this returns.

    Parameters
    ----------
    path
        The ledger's file.
    events
        What to append.
    after
        How many events the file must hold: what was decided on fewer may no longer be so.

    Raises
    ------
    InputError
        Where it cannot be written, or another run has written to it meanwhile.
    """
    if not events:
        return
    text = "".join(event.model_dump_json(exclude_none=True) + "\n" for event in events)
    if after is not None:
        now = load_ledger(path)
        if (len(now.events) if now else 0) != after:
            raise InputError(f"{path}: another run has written to the ledger meanwhile; run this again")
    try:
        with path.open("a+b") as file:
            length = file.seek(0, os.SEEK_END)
            if length and file.seek(-1, os.SEEK_END) and file.read() != b"\n":
                text = "\n" + text  # an editor took the last line break away
            try:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                with suppress(OSError):
                    file.truncate(length)  # no part of a line stays
                raise
    except OSError as error:
        raise InputError(
            f"{path}: the ledger cannot be written ({error.strerror}), and without it nothing may be certified; copy "
            "the pairs to a folder of your own, or name another ledger (--ledger)"
        ) from None
