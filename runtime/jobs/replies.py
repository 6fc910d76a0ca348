"""The rows of small replies, in the store beside the answers of their calls: one transaction has both, so that one sync
brings both to disk.

Larger ones rest in Redis (`ghcm.runtime.sinks.reply`): whoever writes here has all other writers of the store wait.
Instructions and feedback never hold rows.
"""

import sqlite3

from ghcm.runtime.jobs.database import Database

LARGEST = 64 << 10
"""Characters of the JSON text of the rows."""

_FORGOTTEN_AT_ONCE = 1000


class ReplyStore:
    """The replies of the calls of a Supervisor, each in the order in which the calls have ended."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, call: str, ended: int | None) -> str | None:
        """The JSON text of the rows of the call that has ended then; None where they are not here (any more)."""
        rows = self._database.rows("SELECT rows FROM replies WHERE ended = ? AND call = ?", ended, call)
        return str(rows[0]["rows"]) if rows else None

    def forget(self, ended_before: int) -> None:
        """Remove those of calls that have ended before this moment (microseconds), in steps between which others
        write.
        """
        oldest = f"SELECT ended, call FROM replies WHERE ended < ? ORDER BY ended LIMIT {_FORGOTTEN_AT_ONCE}"
        statement = f"DELETE FROM replies WHERE (ended, call) IN ({oldest})"
        while self._database.change(statement, ended_before) == _FORGOTTEN_AT_ONCE:
            pass


def keep_reply(connection: sqlite3.Connection, call: str, ended: int, rows: str) -> None:
    """Keep the rows of a call, within the transaction that ends it."""
    connection.execute("INSERT INTO replies (ended, call, rows) VALUES (?, ?, ?)", (ended, call, rows))
