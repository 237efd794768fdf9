"""Vectors kept between runs: one SQLite file for each model, safe under several processes."""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Row:
    """One vector, and how long its text was."""

    vector: bytes
    """Little-endian float32."""
    n_tokens: int
    """Tokens of the text; for one that was cut, of the part that was read, which is more than the window."""

    def checksum(self, key: bytes) -> int:
        """Tells a damaged row."""
        return zlib.crc32(b"%d" % self.n_tokens, zlib.crc32(self.vector, zlib.crc32(key)))


class VectorCache:
    """Vectors of one model in one SQLite file.

    The cache saves time and may never cost a run: a damaged row counts as missing, a damaged file is set aside, and
    without a usable file everything goes on uncached; `notes` says so.
    """

    def __init__(self, path: Path) -> None:
        self._path: Path | None = path
        self.notes: list[str] = []

    def read(self, keys: Sequence[bytes]) -> dict[bytes, Row]:
        """The rows that are there and whole."""

        def select(connection: sqlite3.Connection) -> dict[bytes, Row]:
            rows = {}
            for start in range(0, len(keys), 500):
                part = keys[start : start + 500]
                places = ",".join("?" * len(part))
                found = connection.execute(
                    f"SELECT key, vector, n_tokens, checksum FROM vectors WHERE key IN ({places})", part
                )
                for key, vector, n_tokens, checksum in found:
                    if isinstance(vector, bytes) and isinstance(n_tokens, int):
                        row = Row(vector, n_tokens)
                        if checksum == row.checksum(key):
                            rows[key] = row
            return rows

        return self._try(select) or {}

    def write(self, rows: Mapping[bytes, Row]) -> None:
        """Keep rows; they are on the disk when this returns."""
        values = [(key, row.vector, row.n_tokens, row.checksum(key)) for key, row in rows.items()]
        self._try(
            lambda connection: connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", values)
        )

    def _try(self, action: Callable[[sqlite3.Connection], _T]) -> _T | None:
        """Run an action in a transaction; None where the cache cannot be used.

        Each action opens the file anew, so that threads and forks share no connection.
        """
        for tries_left in reversed(range(5)):
            if self._path is None:
                break
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with closing(_open(self._path)) as connection, connection:
                    return action(connection)
            except (sqlite3.DatabaseError, OSError) as error:
                code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
                if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                    self._set_aside(self._path, error)
                elif code == sqlite3.SQLITE_BUSY and tries_left:
                    time.sleep(
                        0.1
                    )  # two processes begin the file at once, for which SQLite's own timeout does not wait
                else:
                    self._give_up(self._path, error)
        return None

    def _set_aside(self, path: Path, error: Exception) -> None:
        damaged = path.with_name(path.name + ".damaged")
        try:
            for suffix in ("-wal", "-shm"):  # what they hold belongs to the damaged file
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            path.replace(damaged)
        except OSError as refusal:
            self._give_up(path, refusal)
        else:
            self.notes.append(f"the cache file {path} was damaged ({error}); it is set aside as {damaged.name}")

    def _give_up(self, path: Path, error: Exception) -> None:
        self._path = None
        self.notes.append(
            f"vectors are not cached: {path} cannot be used ({error}); set CALIBKIT_CACHE to a folder with room"
        )


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10)
    try:
        connection.text_factory = bytes  # a damaged row may claim to hold text
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS vectors "
            "(key BLOB PRIMARY KEY, vector BLOB NOT NULL, n_tokens INTEGER NOT NULL, checksum INTEGER NOT NULL)"
        )
    except BaseException:
        connection.close()
        raise
    return connection
