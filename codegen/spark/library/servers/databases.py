"""Tables and queries of databases: each part is read in a Python worker, as the native engine reads it."""

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame

from ghcm.codegen.spark.library.files.records import Found, read_files
from ghcm.codegen.spark.library.job import Job, Step, refusal
from ghcm.codegen.spark.library.types import record_type
from ghcm.errors import GhcmError
from ghcm.formats.database_rows import DatabaseRows
from ghcm.tables.database import Database, connection_url
from ghcm.tables.queries import Query


def read_sql(
    job: Job, step: Step, connection: str, *, table: str = "", query: str = "", split: str = "", parts: int = 1
) -> DataFrame:
    """The records of a table or a query; what does not fit is a dead letter. Passwords that the URL leaves to the
    environment are looked up by the workers.
    """
    job.at = step
    struct, base = record_type(step.input), Path(job.where("."))

    def opened() -> tuple[Query, DatabaseRows, Database]:
        reader, database = DatabaseRows(struct), Database(connection, url, base)
        return Query(database, table, query, split, parts, reader.choose), reader, database

    try:
        url = connection_url(job.context.get("sql") or {}, connection)
        asked, _, database = opened()
        cuts = asked.cuts()
        asked.check()
        database.close()
    except GhcmError as error:
        raise refusal(error) from None
    names = [asked.name] if not cuts else [f"{asked.name} [{part}]" for part in range(len(cuts) + 1)]

    def read(name: str, _: str) -> Iterator[Found]:
        asked, reader, database = opened()
        number = 0
        try:
            for columns, rows in asked.read(names.index(name), 0, cuts):
                values = zip(*map(reader.values, columns, zip(*rows, strict=True)), strict=True)
                for number, row in enumerate(values, number + 1):  # noqa: B020
                    yield number, *reader.record(columns, row)
        except GhcmError as error:
            raise refusal(error, task=step.task, origin=step.origin) from None
        finally:
            database.close()

    return read_files(job, step, names, read, lambda _name, _path: iter(()))
