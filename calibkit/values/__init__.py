"""Values in texts: read exactly, or refused; one file a kind.

A reader gives every reading that the locale allows. Exactly one is a value, several are ambiguous, none is
unreadable; it never guesses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from calibkit.values.dates import read_date
from calibkit.values.finding import Found, find_values
from calibkit.values.identifiers import read_identifier
from calibkit.values.money import read_money
from calibkit.values.numbers import read_number, read_ordinal, read_percent, read_range
from calibkit.values.quantities import read_quantity
from calibkit.values.reading import Kind, Reading, Value
from calibkit.values.times import read_time

VALUES_VERSION: Final = 1
"""Raised with every change by which a text reads differently; policies record it."""

READERS: Final[dict[Kind, Callable[[str, str | None], Reading | None]]] = {
    "number": read_number,
    "ordinal": read_ordinal,
    "range": read_range,
    "percent": read_percent,
    "money": read_money,
    "date": read_date,
    "time": read_time,
    "quantity": read_quantity,
    "identifier": read_identifier,
}
"""Readers of whole texts (at rung 1) by kind: (text, locale) -> Reading; None where the text is no such value."""

__all__ = ["READERS", "VALUES_VERSION", "Found", "Kind", "Reading", "Value", "find_values"]
