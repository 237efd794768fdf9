"""One append-only file of events: read whole, written a line at a time, merged by having all lines of both copies.

An event is on the disk before it is acknowledged, the same one again is not written again, and no line is rewritten.
What the lines come to follows from the events alone, not from their order in the file.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Annotated, Final, Generic, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from calibkit.pairs import InputError, Remark
from calibkit.review import Event


class Refused(InputError):
    """An event that will not be saved however often it is sent; any other fault may pass."""


class Undone(Event):
    """Takes an earlier event back; to take that back, label again."""

    event: Literal["undo"] = "undo"
    of: Annotated[str, Field(min_length=1)]
    """The uid of the event."""


_E = TypeVar("_E", bound=Event)


def live(events: Iterable[_E | Undone]) -> list[_E]:
    """The events that nobody took back, the earliest first, each once, whatever their order."""
    distinct = list(_by_uid(events).values())
    gone = {event.of for event in distinct if isinstance(event, Undone)}
    return sorted(
        (event for event in distinct if not isinstance(event, Undone) and event.uid not in gone),
        key=lambda event: event.order,
    )


def _by_uid(events: Iterable[_E]) -> dict[str, _E]:
    found: dict[str, _E] = {}
    for event in events:
        known = found.setdefault(event.uid, event)
        if known != event and (event.order, _line(event)) < (known.order, _line(known)):
            found[event.uid] = event
    return found


_MERGE_MARKS: Final = re.compile(rb"(?:<{7}|>{7}|\|{7})(?: |$)|={7}$")
_TORN: Final = "the last line is torn, or being written"


def _line(event: Event) -> str:
    values = event.model_dump(mode="json")
    own = values.keys() - Event.model_fields.keys()
    record = {
        key: values[key]
        for key in ("event", *(key for key in values if key in own), "at", "uid", "seq")
        if (values[key] is not None or key == "acceptable") and (key, values[key]) != ("event", "label")
    }
    return dumps(record, ensure_ascii=False) + "\n"


def _same(one: Event, other: Event) -> bool:
    """Whether an event is another one sent again; the times of its sending may differ."""
    apart = {"seq", "at", "seconds"}
    return type(one) is type(other) and one.model_dump(exclude=apart) == other.model_dump(exclude=apart)


@dataclass(frozen=True)
class Content(Generic[_E]):
    """What a file of events holds."""

    events: Mapping[str, _E]
    """By uid."""
    remarks: Sequence[Remark]
    intact: bool
    """Whether every line but a torn last one could be read."""
    keep: int
    """Bytes before a torn last line."""
    ends: bool
    """Whether the last event's line has its line break."""


def parse_events(raw: bytes, path: Path, adapter: TypeAdapter[_E]) -> Content[_E]:
    """Read all events of a file; what is no event becomes a remark."""
    events: list[tuple[int, _E]] = []
    remarks: list[Remark] = []
    lines = raw.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    intact, keep = True, len(raw)
    for number, line in enumerate(lines, start=1):
        is_last = number == len(lines)
        place = f"{path}:{number}"
        if not line.strip(b"\r \t"):
            continue
        if _MERGE_MARKS.match(line.rstrip(b"\r")):
            remarks.append(Remark(place, "the marks of a merge stand between the lines; take them out", "worth a look"))
            continue
        try:
            events.append((number, adapter.validate_json(line)))
        except ValidationError as fault:
            if is_last:
                keep = len(raw) - len(line)
                remarks.append(Remark(place, f"{_TORN}; it was not acknowledged", "left out"))
            else:
                intact = False
                remarks.append(
                    Remark(place, f"{tell_fault(fault)}; restore the line from your version control", "left out")
                )
    by_uid = _by_uid(event for _, event in events)
    for number, event in events:
        if not _same(event, by_uid[event.uid]):
            intact = False
            reason = f"the uid {event.uid[:40]!r} names another event, too; the earlier one counts, remove the other"
            remarks.append(Remark(f"{path}:{number}", reason, "left out"))
    return Content(by_uid, remarks, intact, keep, not lines[-1] or keep < len(raw))


_TAGS: Final = ("label", "undo", "adjudicated", "reference_added")
"""Steps that pydantic's paths take through a union of events; they name no field of a line."""


def tell_fault(fault: ValidationError) -> str:
    """Say in a line what is wrong with an event."""
    first = fault.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"] if part not in _TAGS)
    return f"{where + ': ' if where else ''}{' '.join(first['msg'].split())}"


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> None:
        # Far behind the end: what is locked there keeps nobody from reading.
        os.lseek(handle, 2**62, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


class EventFile(Generic[_E]):
    """One append-only file, locked against other processes while it is open here.

    Parameters
    ----------
    path
        The file; made with the first use.
    adapter
        Reads an event.
    busy
        What to tell where another process holds the file.
    wait
        Seconds to wait for it.
    """

    def __init__(self, path: Path, adapter: TypeAdapter[_E], busy: str, wait: float) -> None:
        self.path = path
        self.remarks: list[Remark] = []
        """What opening it had to mend."""
        self._adapter = adapter
        self._busy = busy
        self._wait = wait
        self._handle: int | None = None
        self._seen: tuple[int, int, int] | None = None
        self._events: dict[str, _E] = {}
        self._mutex = threading.RLock()  # widgets write from several threads

    def events(self) -> tuple[_E, ...]:
        """What the file holds now, each event once."""
        with self._mutex:
            self._refresh()
            return tuple(self._events.values())

    def append(self, make: Callable[[tuple[_E, ...]], _E]) -> _E:
        """Write the event that is made of those there are; the same one again is only acknowledged."""
        with self._mutex:
            self._refresh()
            event = make(tuple(self._events.values()))
            known = self._events.get(event.uid)
            if known is not None:
                if not _same(known, event):
                    raise Refused(
                        f"{self.path}: the uid {event.uid[:40]!r} stands for another event already; give each its own"
                    )
                return known
            last = max((event.seq for event in self._events.values()), default=0)
            event = event.model_copy(update={"seq": last + 1})
            self._write(_line(event).encode())
            self._events[event.uid] = event
            return event

    def close(self) -> None:
        """Give up the lock; the next use takes it again."""
        with self._mutex:
            if self._handle is not None:
                os.close(self._handle)  # gives the lock back
            self._handle = self._seen = None

    def _refresh(self) -> None:
        try:
            self._open_where_it_lies()
            assert self._handle is not None
            if self._signature() == self._seen:
                return
            raw = self.path.read_bytes()
            content = parse_events(raw, self.path, self._adapter)
            if content.keep < len(raw):
                self._set_aside(raw[content.keep :], content)
            elif not content.ends:
                self._put(b"\n")
            self._events = dict(content.events)
            self._seen = self._signature()
        except OSError as error:
            self.close()
            raise InputError(f"{self.path}: cannot be opened ({error.strerror}); mend that and try again") from None

    def _open_where_it_lies(self) -> None:
        """Open and lock the file that has the name now: a merge or a checkout puts another one there."""
        deadline = time.monotonic() + self._wait
        while not self._is_in_place():
            self.close()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not self.path.exists()
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._handle = os.open(self.path, flags, 0o666)
            try:
                _try_lock(self._handle)
            except (BlockingIOError, PermissionError):
                self.close()
                if time.monotonic() >= deadline:
                    raise InputError(f"{self.path}: {self._busy}") from None
                time.sleep(0.02)
                continue
            if is_new:
                _sync_folder(self.path.parent)

    def _is_in_place(self) -> bool:
        try:
            return self._handle is not None and os.path.samestat(os.fstat(self._handle), self.path.stat())
        except FileNotFoundError:
            return False

    def _signature(self) -> tuple[int, int, int]:
        assert self._handle is not None
        now = os.fstat(self._handle)
        return now.st_ino, now.st_size, now.st_mtime_ns

    def _set_aside(self, torn: bytes, content: Content[_E]) -> None:
        """Move what a kill left of a line out of the way; it was never acknowledged, and nothing is lost."""
        assert self._handle is not None
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.torn-{number}")).exists():
            number += 1
        with aside.open("xb") as file:
            file.write(torn)
            file.flush()
            os.fsync(file.fileno())
        os.ftruncate(self._handle, content.keep)
        os.fsync(self._handle)
        reason = f"the last line was torn; it was not acknowledged and now stands in {aside.name}"
        self.remarks.append(Remark(content.remarks[-1].place, reason, "left out"))

    def _write(self, line: bytes) -> None:
        assert self._handle is not None
        length = os.fstat(self._handle).st_size
        try:
            self._put(line)
            self._seen = self._signature()
        except OSError as error:
            self._seen = None
            with suppress(OSError):
                os.ftruncate(self._handle, length)  # no part of a line stays
            raise InputError(
                f"{self.path}: the event could not be saved ({error.strerror}); make room or mend that, and try again"
            ) from None

    def _put(self, line: bytes) -> None:
        assert self._handle is not None
        while line:
            line = line[os.write(self._handle, line) :]
        os.fsync(self._handle)


def _sync_folder(folder: Path) -> None:
    """Put a new file's name on the disk, too; not all systems can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
