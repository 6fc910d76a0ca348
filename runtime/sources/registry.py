"""From the connector of a source to what reads it. What connectors are stands in `ghcm.spg.connectors`."""

from collections.abc import Callable
from pathlib import Path
from typing import assert_never

from ghcm.errors import GhcmError
from ghcm.runtime.formats.file_pieces import FIRST_PIECE
from ghcm.runtime.sources.files import FilesSource, FollowSource
from ghcm.runtime.sources.memory import GenerateSource, RowsSource
from ghcm.runtime.sources.source import Source
from ghcm.runtime.sources.sql import SqlSource
from ghcm.runtime.sources.table import TableSource
from ghcm.runtime.sources.tail import TailSource
from ghcm.runtime.sources.tcp import SocketSource
from ghcm.spg.connectors import Connector, Files, Generate, Kafka, Memory, Socket, SourceConnector, SqlQuery, Table
from ghcm.tables.database import Database
from ghcm.types import Struct


def open_source(
    connector: Connector,
    schema: Struct,
    name: str,
    base: Path,
    piece: int = FIRST_PIECE,
    database: Callable[[str], Database] | None = None,
) -> Source:
    """The source of a task of this name; `piece`: bytes of a file that are read first; `database` gives that of a
    connection's name. GhcmError if it is no source.
    """
    if not isinstance(connector, SourceConnector):
        raise GhcmError(f'source "{name}" cannot be read: it is a sink', code="GHCM-301")
    match connector:
        case Files(tail=True):
            return TailSource(connector, schema, name, base)
        case Files(follow=True):
            return FollowSource(connector, schema, name, base, piece)
        case Files():
            return FilesSource(connector, schema, name, base, piece)
        case Table():
            return TableSource(connector, schema, name, base)
        case Socket():
            return SocketSource(connector, schema, name)
        case Memory(rows=rows):
            return RowsSource(lambda: rows, schema, name)
        case Generate():
            return GenerateSource(connector, schema, name)
        case SqlQuery():
            assert database is not None, "an engine knows its databases"
            return SqlSource(connector, schema, name, database(connector.connection))
        case Kafka():
            raise GhcmError(f'source "{name}" cannot be read: Kafka is not supported yet', code="GHCM-501")
        case _:
            assert_never(connector)
